//! What a request waits for: streams, futures and calls that the runtime reports about.

use super::abi::{self, BLOCKED};
use super::task::current;
use alloc::vec::Vec;
use core::cell::Cell;
use core::task::Poll;

/// Something that the runtime was asked for, and that may take a while. Taken back where it is dropped before.
pub(super) struct Pending {
    handle: u32,
    started: bool,
    cancel: extern "C" fn(u32) -> u32,
}

impl Pending {
    pub(super) fn new(handle: u32, cancel: extern "C" fn(u32) -> u32) -> Pending {
        Pending { handle, started: false, cancel }
    }

    pub(super) fn handle(&self) -> u32 {
        self.handle
    }

    /// Starts it where it is not under way, and returns what comes of it.
    pub(super) fn poll(&mut self, start: &mut dyn FnMut(u32) -> u32) -> Poll<u32> {
        if !self.started {
            let code = start(self.handle);
            if code != BLOCKED {
                return Poll::Ready(code);
            }
            self.started = true;
        }
        let result = wait(self.handle);
        self.started = result.is_pending();
        result
    }

    /// Takes it back where it is under way.
    pub(super) fn stop(&mut self) {
        if self.started {
            self.started = false;
            let slot = SLOTS.replace(self.handle, Slot::default());
            if slot.code.is_none() {
                let link = current();
                if slot.set == link.set.get() {
                    link.waits.update(|count| count.saturating_sub(1));
                }
                abi::join(self.handle, 0);
                (self.cancel)(self.handle);
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A call that goes on in the runtime. Cancelled where it is dropped before it has returned.
pub(super) struct Call {
    /// Nothing where it has returned at once.
    pending: Option<Pending>,
    /// Whether it has come to an end with what it should return.
    returned: bool,
}

impl Call {
    /// Takes what the call said when it was started.
    pub(super) fn new(status: u32) -> Call {
        let returned = status & 15 == RETURNED;
        // Not made where it is not needed: it would be taken back.
        let pending = || Pending { handle: status >> 4, started: true, cancel: abi::subtask_cancel };
        Call { pending: (!returned).then(pending), returned }
    }

    /// Tells whether it has returned, rather than been cancelled.
    pub(super) fn poll(&mut self) -> Poll<bool> {
        while let Some(pending) = &mut self.pending {
            let status = match wait(pending.handle) {
                Poll::Ready(status) => status,
                Poll::Pending => return Poll::Pending,
            };
            // It may say first that it has begun.
            if status >= RETURNED {
                self.returned = status == RETURNED;
                pending.started = false;
                abi::subtask_drop(pending.handle);
                self.pending = None;
            }
        }
        Poll::Ready(self.returned)
    }
}

const RETURNED: u32 = 2;

impl Drop for Call {
    fn drop(&mut self) {
        if self.poll().is_pending()
            && let Some(pending) = &mut self.pending
        {
            pending.stop();
            abi::subtask_drop(pending.handle);
        }
    }
}

/// Returns what was reported, or sees to it that it is reported to the task that asks.
fn wait(handle: u32) -> Poll<u32> {
    let link = current();
    let set = link.set();
    let slot = SLOTS.replace(handle, Slot { set, code: None });
    if let Some(code) = slot.code {
        SLOTS.replace(handle, Slot::default());
        return Poll::Ready(code);
    }
    if slot.set != set {
        link.waits.update(|count| count + 1);
        abi::join(handle, set);
    }
    Poll::Pending
}

/// What is known of a stream, a future or a call that somebody waits for.
#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    /// The set that it is in.
    pub(super) set: u32,
    /// What the runtime reported.
    pub(super) code: Option<u32>,
}

/// The slots, by handle: handles are small numbers that are used again.
pub(super) struct Slots(Cell<Vec<Slot>>);

// SAFETY: a component has one thread.
unsafe impl Sync for Slots {}

pub(super) static SLOTS: Slots = Slots(Cell::new(Vec::new()));

impl Slots {
    /// Puts another slot in place, and returns the one before.
    pub(super) fn replace(&self, handle: u32, slot: Slot) -> Slot {
        let mut slots = self.0.take();
        let index = handle as usize;
        if index >= slots.len() {
            slots.resize(index + 1, Slot::default());
        }
        let before = slots.get_mut(index).map(|known| core::mem::replace(known, slot));
        self.0.set(slots);
        before.unwrap_or_default()
    }

    /// Empties a set.
    #[cold]
    pub(super) fn leave(&self, set: u32) {
        let mut slots = self.0.take();
        for (handle, slot) in slots.iter_mut().enumerate() {
            if slot.set == set {
                slot.set = 0;
                abi::join(handle as u32, 0);
            }
        }
        self.0.set(slots);
    }
}
