//! What one guest may use up.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one guest may use up in one call. There is no default and no builder: whoever makes one
/// names every limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Linear memory of all its instances together, in bytes.
    pub memory: usize,
    /// Elements of all its tables together.
    pub table_elements: usize,
    /// Core instances, and likewise memories and tables.
    pub instances: usize,
    /// Bytes of stack. One engine has one stack size, so this cannot be lower than the engine's.
    pub stack: usize,
    /// Time from start to end, spent computing or waiting.
    pub call_time: Duration,
    /// Bytes of the result, and likewise of each of standard output and standard error.
    pub output: usize,
    /// Bytes that one host call may hand over.
    pub host_call: usize,
    /// Handles of any kind: files, streams, pollables.
    pub handles: usize,
    /// Files and directories open at the same time.
    pub open_files: usize,
    /// Bytes written to files.
    pub written: u64,
    /// Files, directories and links created.
    pub created: u64,
    /// Tools that call tools that call tools.
    pub depth: u32,
    /// Requests over the network.
    pub requests: u32,
    /// Bytes of the headers of one request, and likewise of one answer.
    pub header: usize,
    /// Bytes of the bodies of all requests together.
    pub sent: u64,
    /// Bytes of the bodies of all answers together.
    pub received: u64,
    /// Time until there is a connection, and likewise until an answer begins and between two pieces of it.
    pub request_time: Duration,
}

impl Limits {
    /// What a tool of a trusted catalogue gets unless its agent says less.
    pub const STANDARD: Self = Self {
        memory: 256 << 20,
        table_elements: 60_000,
        instances: 64,
        stack: 512 << 10,
        call_time: Duration::from_secs(30),
        output: 1 << 20,
        host_call: 16 << 20,
        handles: 256,
        open_files: 64,
        written: 64 << 20,
        created: 1_000,
        depth: 4,
        requests: 64,
        header: 32 << 10,
        sent: 4 << 20,
        received: 16 << 20,
        request_time: Duration::from_secs(15),
    };

    /// The lower of both, limit by limit.
    pub fn narrow(&self, other: &Self) -> Self {
        Self {
            memory: self.memory.min(other.memory),
            table_elements: self.table_elements.min(other.table_elements),
            instances: self.instances.min(other.instances),
            stack: self.stack.min(other.stack),
            call_time: self.call_time.min(other.call_time),
            output: self.output.min(other.output),
            host_call: self.host_call.min(other.host_call),
            handles: self.handles.min(other.handles),
            open_files: self.open_files.min(other.open_files),
            written: self.written.min(other.written),
            created: self.created.min(other.created),
            depth: self.depth.min(other.depth),
            requests: self.requests.min(other.requests),
            header: self.header.min(other.header),
            sent: self.sent.min(other.sent),
            received: self.received.min(other.received),
            request_time: self.request_time.min(other.request_time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_takes_the_lower_of_each() {
        let small = Limits { memory: 1, created: 2, ..Limits::STANDARD };
        let short = Limits { call_time: Duration::from_millis(5), ..Limits::STANDARD };
        let both = Limits { memory: 1, created: 2, call_time: Duration::from_millis(5), ..Limits::STANDARD };
        assert_eq!(small.narrow(&short), both);
        assert_eq!(short.narrow(&small), both);
    }
}
