//! `Bell`: how a request wakes another one of the same instance.

use super::abi;
use core::cell::Cell;

/// How one task wakes another, which sleeps in the runtime: a stream with a reader in one and a writer in the other.
#[derive(Default)]
pub(super) struct Bell {
    /// The reader in the lower half, as the runtime returns both; none yet where it is 0.
    ends: Cell<u64>,
    listening: Cell<bool>,
}

impl Bell {
    pub(super) fn listen(&self, set: u32) {
        if self.listening.replace(true) {
            return;
        }
        if self.ends.get() == 0 {
            self.ends.set(abi::stream_new());
        }
        let reader = self.ends.get() as u32;
        let room: *mut u8 = ROOM.0.as_ptr();
        // SAFETY: there is room for a byte for as long as the component lives.
        unsafe { abi::stream_read(reader, room, 1) };
        abi::join(reader, set);
    }

    pub(super) fn ring(&self) {
        if self.listening.get() {
            // SAFETY: the byte is read at once, as somebody is listening.
            unsafe { abi::stream_write((self.ends.get() >> 32) as u32, ROOM.0.as_ptr(), 1) };
        }
    }

    /// Tells whether this is the bell that has rung.
    pub(super) fn is(&self, handle: u32) -> bool {
        let rung = self.listening.get() && self.ends.get() as u32 == handle;
        if rung {
            self.listening.set(false);
        }
        rung
    }

    pub(super) fn stop(&self) {
        let ends = self.ends.take();
        if ends == 0 {
            return;
        }
        let reader = ends as u32;
        if self.listening.replace(false) {
            abi::join(reader, 0);
            abi::stream_cancel_read(reader);
        }
        abi::stream_drop_readable(reader);
        abi::stream_drop_writable((ends >> 32) as u32);
    }
}

struct Byte(Cell<u8>);

// SAFETY: a component has one thread.
unsafe impl Sync for Byte {}

static ROOM: Byte = Byte(Cell::new(0));
