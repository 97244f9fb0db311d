//! The linear memory of an instance: how much it may have, and how much it has.

use crate::Limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wasmtime::{ResourceLimiter, StoreLimits, StoreLimitsBuilder};

/// The limits of one instance, and the bytes that all of its memories have together.
pub(crate) struct Memory {
    limits: StoreLimits,
    bytes: usize,
    /// What the last request for more added, should it fail after it was allowed.
    added: usize,
    told: Option<Arc<AtomicUsize>>,
}

impl Memory {
    pub(crate) fn new(limits: &Limits) -> Self {
        let limits = StoreLimitsBuilder::new().memory_size(limits.memory).table_elements(limits.table_elements).build();
        Self { limits, bytes: 0, added: 0, told: None }
    }

    /// The bytes that the instance has. Memory of WebAssembly only grows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lets somebody who can't reach the instance see what it has.
    pub(crate) fn tell(&mut self, told: Arc<AtomicUsize>) {
        told.store(self.bytes, Relaxed);
        self.told = Some(told);
    }

    fn set(&mut self, bytes: usize) {
        self.bytes = bytes;
        if let Some(told) = &self.told {
            told.store(bytes, Relaxed);
        }
    }
}

impl ResourceLimiter for Memory {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = self.limits.memory_growing(current, desired, maximum)?;
        self.added = if allowed { desired.saturating_sub(current) } else { 0 };
        self.set(self.bytes.saturating_add(self.added));
        Ok(allowed)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        let added = std::mem::take(&mut self.added);
        self.set(self.bytes.saturating_sub(added));
        self.limits.memory_grow_failed(error)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.limits.table_growing(current, desired, maximum)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        self.limits.table_grow_failed(error)
    }

    fn instances(&self) -> usize {
        self.limits.instances()
    }

    fn tables(&self) -> usize {
        self.limits.tables()
    }

    fn memories(&self) -> usize {
        self.limits.memories()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_count_and_what_is_not_had_does_not() {
        let mut memory = Memory::new(&Limits { memory: 1000, ..Limits::default() });
        let told = Arc::new(AtomicUsize::new(7));
        memory.tell(told.clone());
        for (current, desired, allowed, bytes) in
            [(0, 100, true, 100), (0, 50, true, 150), (100, 300, true, 350), (300, 1001, false, 350)]
        {
            let got = memory.memory_growing(current, desired, None).ok();
            assert_eq!((got, memory.bytes()), (Some(allowed), bytes), "{current} to {desired}");
            assert_eq!(told.load(Relaxed), bytes);
        }
        let _ = memory.memory_growing(300, 400, None);
        let _ = memory.memory_grow_failed(wasmtime::Error::msg("no pages"));
        assert_eq!((memory.bytes(), told.load(Relaxed)), (350, 350));
    }
}
