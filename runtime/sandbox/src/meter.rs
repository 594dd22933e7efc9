//! What a guest has used up so far, and the answer when it wants more.

pub(crate) mod quota;

use wasmtime::ResourceLimiter;

use crate::Limits;

/// What a guest has used up so far.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    memory: usize,
    peak_memory: usize,
    table_elements: usize,
    refused: Option<Refused>,
}

/// The last thing a guest asked for and did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    Memory,
    Tables,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, memory: 0, peak_memory: 0, table_elements: 0, refused: None }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    pub(crate) fn peak_memory(&self) -> usize {
        self.peak_memory
    }

    pub(crate) fn refused(&self) -> Option<Refused> {
        self.refused
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.limits.memory {
            self.refused = Some(Refused::Memory);
            return Ok(false);
        }
        self.memory = total;
        self.peak_memory = self.peak_memory.max(total);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.table_elements.saturating_add(desired.saturating_sub(current));
        if total > self.limits.table_elements {
            self.refused = Some(Refused::Tables);
            return Ok(false);
        }
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.limits.instances
    }

    fn tables(&self) -> usize {
        self.limits.instances
    }

    fn memories(&self) -> usize {
        self.limits.instances
    }
}
