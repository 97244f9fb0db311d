//! The memory of a component, and the heap in it.

use super::heap::{Heap, Memory};
use core::cell::UnsafeCell;

pub(super) static HEAP: Heap<Linear> = Heap::new();

/// The memory that WebAssembly grows. Others may grow it too, such as an allocator in C.
pub(super) struct Linear;

const PAGE: usize = 65536;

/// Where the heap starts: enough for most requests, so that no memory has to be grown for them.
const START: usize = 48 * 1024;

#[repr(align(16))]
struct Room(UnsafeCell<[u8; START]>);

// SAFETY: a component has one thread, and only the heap uses it.
unsafe impl Sync for Room {}

static ROOM: Room = Room(UnsafeCell::new([0; START]));

impl Memory for Linear {
    fn more(bytes: usize, end: usize) -> (usize, usize) {
        if end == 0 && bytes <= START {
            let start = ROOM.0.get().expose_provenance();
            return (start, start + START);
        }
        let pages = bytes.div_ceil(PAGE);
        match core::arch::wasm32::memory_grow::<0>(pages) {
            usize::MAX => (end, end),
            // The last page ends where addresses do.
            page => (page * PAGE, (page * PAGE).saturating_add(pages * PAGE)),
        }
    }
}
