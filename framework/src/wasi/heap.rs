//! The allocator of a component: 0.7 KB in place of libc's 12.
//!
//! Blocks come in classes, four to each doubling of the size, so at most a fifth of one is unused. A block that is
//! freed waits in the list of its class; what no list has is cut from the end of the heap. Nothing is ever joined:
//! an instance lives for some requests, whose blocks are of the same classes. All of it takes constant time.
//!
//! What class a block is of is kept before it: Rust would tell how large it is, but a component has more places that
//! free than a few bytes of code for each are worth, and to free is as frequent as to allocate.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr;

/// Where a heap takes its memory from.
pub(super) trait Memory {
    /// Returns the start and the end of at least so many bytes that nobody else uses, aligned to [`ALIGN`], or
    /// nothing. They may go on at `end`, where those before have ended; 0 is the first time.
    fn more(bytes: usize, end: usize) -> (usize, usize);
}

/// What stands before each block that is in use.
#[repr(C)]
struct Header {
    /// Where the block starts; an alignment may have moved the header away from there.
    start: usize,
    /// The class of the block, which says how large it is.
    class: usize,
}

/// What every block is aligned to: what the header is large.
pub(super) const ALIGN: usize = size_of::<Header>();

/// Classes below the least shift would make blocks that are not aligned.
const LEAST_SHIFT: u32 = ALIGN.trailing_zeros();

pub(super) struct Heap<M> {
    /// The first free block of each class, or 0; a free block holds the address of the next.
    free: [Cell<usize>; 4 * usize::BITS as usize],
    /// What is not cut yet.
    top: Cell<usize>,
    end: Cell<usize>,
    memory: PhantomData<M>,
}

// SAFETY: a component has one thread; tests use a heap by one.
unsafe impl<M> Sync for Heap<M> {}

/// Returns the class of blocks that are large enough, and how large they are.
fn class(size: usize) -> (usize, usize) {
    let last = size - 1;
    let shift = (usize::BITS - 3).saturating_sub(last.leading_zeros()).max(LEAST_SHIFT);
    let steps = (last >> shift) + 1;
    (shift as usize * 4 + steps, steps << shift)
}

/// Returns how large the blocks of a class are.
fn length(class: usize) -> usize {
    let shift = (class.wrapping_sub(5) / 4).max(LEAST_SHIFT as usize);
    class.wrapping_sub(shift * 4) << shift
}

/// Returns the header of what was handed out.
fn header(at: *mut u8) -> *mut Header {
    at.cast::<Header>().wrapping_sub(1)
}

impl<M: Memory> Heap<M> {
    pub(super) const fn new() -> Heap<M> {
        let free = [const { Cell::new(0) }; 4 * usize::BITS as usize];
        Heap { free, top: Cell::new(0), end: Cell::new(0), memory: PhantomData }
    }

    /// Returns a block with this much room, at most `isize::MAX`, or null.
    #[inline(never)]
    pub(super) fn allocate(&self, size: usize, align: usize) -> *mut u8 {
        let align = align.max(ALIGN);
        // So much fits always: a block is aligned to a header.
        let (class, length) = class(size + align);
        let Some(list) = self.free.get(class) else { return ptr::null_mut() };
        let mut start = list.get();
        if start != 0 {
            // SAFETY: a free block holds the next one's address.
            list.set(unsafe { *ptr::with_exposed_provenance::<usize>(start) });
        } else {
            if !self.reach(length) {
                return ptr::null_mut();
            }
            start = self.top.get();
            self.top.set(start + length);
        }
        let at = ptr::with_exposed_provenance_mut((start + align) & !(align - 1));
        // SAFETY: between the start of the block and what is handed out there is room for a header.
        unsafe { *header(at) = Header { start, class } };
        at
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// It must have come from here, and nobody may use it any more.
    #[inline(never)]
    pub(super) unsafe fn free(&self, at: usize) {
        // An address, since the compiler would read what a pointer points to wherever it is called.
        // SAFETY: it came from here.
        let Header { start, class } = unsafe { ptr::read(header(ptr::with_exposed_provenance_mut(at))) };
        if let Some(list) = self.free.get(class) {
            // SAFETY: the block is no longer in use, and room for an address is in each.
            unsafe { *ptr::with_exposed_provenance_mut::<usize>(start) = list.get() };
            list.set(start);
        }
    }

    /// Gives a block more room, where it is or elsewhere, or returns null and leaves it alone.
    ///
    /// # Safety
    /// It must have come from here, with this alignment, and be in use.
    pub(super) unsafe fn resize(&self, at: *mut u8, align: usize, size: usize) -> *mut u8 {
        // SAFETY: it came from here.
        let Header { start, class: old } = unsafe { ptr::read(header(at)) };
        let end = start + length(old);
        let room = end - at.addr();
        if size <= room {
            return at;
        }
        let (class, length) = class(size + (at.addr() - start));
        // A block that waits goes first: if the last one always grew, each that grew and was freed would stay behind,
        // and the next one grow after it.
        let waits = self.free.get(class).is_some_and(|list| list.get() != 0);
        if !waits && end == self.top.get() && self.reach(length) && end == self.top.get() {
            // The last block grows where it is.
            self.top.set(start + length);
            // SAFETY: as above.
            unsafe { (*header(at)).class = class };
            return at;
        }
        let new = self.allocate(size, align);
        if !new.is_null() {
            // SAFETY: both are in use and apart, and have room for this much.
            unsafe {
                ptr::copy_nonoverlapping(at, new, room);
                self.free(at.expose_provenance());
            }
        }
        new
    }

    /// Says how much room a block has.
    ///
    /// # Safety
    /// It must have come from here and be in use.
    #[allow(dead_code, reason = "only C asks")]
    pub(super) unsafe fn room(at: *mut u8) -> usize {
        // SAFETY: it came from here.
        let Header { start, class } = unsafe { ptr::read(header(at)) };
        start + length(class) - at.addr()
    }

    /// Makes sure that so many bytes are there to be cut: where the others were, or elsewhere.
    fn reach(&self, length: usize) -> bool {
        if length > self.end.get() - self.top.get() {
            let (start, end) = M::more(length, self.end.get());
            if start != self.end.get() {
                self.top.set(start);
            }
            self.end.set(end);
        }
        length <= self.end.get() - self.top.get()
    }
}

#[cfg(test)]
#[path = "heap_tests.rs"]
mod tests;
