//! How much a guest may write to files and how many it may make: wasmtime-wasi counts nothing, so
//! this does.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

/// How much may be written and made, and how much was. Shared by all streams of one call and by
/// the tools it calls: asking another tool to write is no way to write more.
pub(crate) struct Quota {
    limit: u64,
    used: AtomicU64,
    refused: AtomicBool,
    most_files: u64,
    files: AtomicU64,
}

impl Quota {
    pub(crate) fn new(limit: u64, most_files: u64) -> Self {
        Self { limit, used: AtomicU64::new(0), refused: AtomicBool::new(false), most_files, files: AtomicU64::new(0) }
    }

    /// Takes some of what is left, or nothing.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let take = |used: u64| used.checked_add(bytes).filter(|total| *total <= self.limit);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        if !taken {
            self.refused.store(true, Ordering::Relaxed);
        }
        taken
    }

    /// Counts one more file; gives the limit if there may be no more.
    pub(crate) fn make_file(&self) -> Result<(), u64> {
        let make = |made: u64| (made < self.most_files).then_some(made + 1);
        let made = self.files.fetch_update(Ordering::Relaxed, Ordering::Relaxed, make);
        made.map(drop).map_err(|_| self.most_files)
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn was_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

/// A stream to a file that counts.
pub(crate) struct Metered {
    pub(crate) inner: DynOutputStream,
    pub(crate) quota: Arc<Quota>,
}

impl Metered {
    fn spend(&self, bytes: usize) -> StreamResult<()> {
        if self.quota.take(bytes as u64) {
            return Ok(());
        }
        let full = io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
        Err(StreamError::LastOperationFailed(full.into()))
    }
}

#[async_trait::async_trait]
impl OutputStream for Metered {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.spend(bytes.len())?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.inner.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        self.inner.check_write()
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.spend(bytes.len())?;
        self.inner.blocking_write_and_flush(bytes).await
    }

    fn write_zeroes(&mut self, count: usize) -> StreamResult<()> {
        self.spend(count)?;
        self.inner.write_zeroes(count)
    }

    async fn write_ready(&mut self) -> StreamResult<usize> {
        self.inner.write_ready().await
    }

    async fn cancel(&mut self) {
        self.inner.cancel().await;
    }
}

#[async_trait::async_trait]
impl Pollable for Metered {
    async fn ready(&mut self) {
        self.inner.ready().await;
    }
}
