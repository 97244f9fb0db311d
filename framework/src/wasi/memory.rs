//! The memory of a component, and the heap in it.

use super::heap::{ALIGN, Heap, Memory};

pub(super) static HEAP: Heap<Linear> = Heap::new();

/// The memory that WebAssembly grows. Others may grow it too, such as an allocator in C.
pub(super) struct Linear;

const PAGE: usize = 65536;

unsafe extern "C" {
    /// Where the linker has put everything; what is left of the last page belongs to nobody.
    safe static __heap_base: u8;
}

impl Memory for Linear {
    fn more(bytes: usize, end: usize) -> (usize, usize) {
        if end == 0 {
            // Enough for most requests, so that no memory has to be grown for them.
            let start = (&raw const __heap_base).expose_provenance().next_multiple_of(ALIGN);
            let end = core::arch::wasm32::memory_size::<0>() * PAGE;
            if start + bytes <= end {
                return (start, end);
            }
        }
        let pages = bytes.div_ceil(PAGE);
        match core::arch::wasm32::memory_grow::<0>(pages) {
            usize::MAX => (end, end),
            // The last page ends where addresses do.
            page => (page * PAGE, (page * PAGE).saturating_add(pages * PAGE)),
        }
    }
}
