//! The allocator of a component: 0.8 KB in place of libc's 12.
//!
//! Blocks come in classes, four to each doubling of the size, so at most a quarter of one is unused. A block that is
//! freed waits in the list of its class; what no list has is cut from the end of the heap. Nothing is ever joined:
//! an instance lives for some requests, whose blocks are of the same classes. All of it takes constant time.
//!
//! It stands behind C's names, so that std, `#![no_std]` apps and libc itself share it, and an app may still bring a
//! `#[global_allocator]` of its own.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::ptr;

/// What stands before each block that is in use.
#[repr(C)]
struct Header {
    /// Where the block starts; an alignment may have moved the header away from there.
    start: usize,
    /// Where the block ends.
    end: usize,
}

const HEADER: usize = size_of::<Header>();
const PAGE: usize = 65536;
/// The least room in a block: shifts below 2 would make blocks that can't hold the link to the next one.
const LEAST: usize = 16;

struct Heap {
    /// The first free block of each class; a free block holds the address of the next.
    free: [Cell<usize>; 128],
    /// What is not cut yet.
    top: Cell<usize>,
    end: Cell<usize>,
}

// SAFETY: a component has one thread.
unsafe impl Sync for Heap {}

static HEAP: Heap = Heap { free: [const { Cell::new(0) }; 128], top: Cell::new(0), end: Cell::new(0) };

unsafe extern "C" {
    /// Where the linker has put the end of the data.
    static __heap_base: u8;
}

/// Returns the class of a size, and the size of its blocks.
fn class(size: usize) -> (usize, usize) {
    let size = size.max(LEAST);
    let shift = (usize::BITS - 3 - (size - 1).leading_zeros()) as usize;
    let steps = (size - 1 >> shift) + 1;
    (shift * 4 + steps - 4, steps << shift)
}

/// Makes room up to an address; false where the host grants no more memory.
fn reach(to: usize) -> bool {
    let end = HEAP.end.get();
    if to <= end {
        return true;
    }
    let pages = (to - end).div_ceil(PAGE);
    if core::arch::wasm32::memory_grow::<0>(pages) == usize::MAX {
        return false;
    }
    HEAP.end.set(end + pages * PAGE);
    true
}

/// Returns a block with this much room, or 0, and the end of the block.
fn take(size: usize) -> (usize, usize) {
    let (class, length) = class(size);
    let Some(list) = HEAP.free.get(class) else { return (0, 0) };
    let block = list.get();
    if block != 0 {
        // SAFETY: a free block holds the next one's address.
        list.set(unsafe { *ptr::with_exposed_provenance::<usize>(block) });
        return (block, block + length);
    }
    if HEAP.top.get() == 0 {
        HEAP.top.set((&raw const __heap_base).addr().next_multiple_of(LEAST));
        HEAP.end.set(core::arch::wasm32::memory_size::<0>() * PAGE);
    }
    let block = HEAP.top.get();
    match block.checked_add(length) {
        Some(end) if reach(end) => {
            HEAP.top.set(end);
            (block, end)
        }
        _ => (0, 0),
    }
}

/// Returns the header of what was handed out.
///
/// # Safety
/// The address must have come from here.
unsafe fn header(at: *mut c_void) -> *mut Header {
    at.wrapping_byte_sub(HEADER).cast()
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    let align = align.max(HEADER);
    // So much fits always, whatever the alignment: a block starts at a multiple of 4 at the least.
    let Some(need) = size.checked_add(align + HEADER).filter(|need| *need < isize::MAX as usize) else {
        return ptr::null_mut();
    };
    let (start, end) = take(need);
    if start == 0 {
        return ptr::null_mut();
    }
    let at = ptr::with_exposed_provenance_mut::<c_void>((start + HEADER).next_multiple_of(align));
    // SAFETY: the block is at least a header and the alignment larger than what is asked for.
    unsafe { *header(at) = Header { start, end } };
    at
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    aligned_alloc(HEADER, size)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn free(at: *mut c_void) {
    if at.is_null() {
        return;
    }
    // SAFETY: the caller of free(3) promises that it came from here and is in use.
    let Header { start, end } = unsafe { ptr::read(header(at)) };
    if let Some(list) = HEAP.free.get(class(end - start).0) {
        // SAFETY: the block is no longer in use, and room for an address is in each.
        unsafe { *ptr::with_exposed_provenance_mut::<usize>(start) = list.get() };
        list.set(start);
    }
}

/// Gives what was handed out more room, where it is or elsewhere.
///
/// # Safety
/// It must have come from here and be in use.
pub(super) unsafe fn resize(at: *mut c_void, align: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller promises it.
    let old = unsafe { &mut *header(at) };
    let room = old.end - at.addr();
    if size <= room {
        return at;
    }
    if old.end == HEAP.top.get() && size < isize::MAX as usize {
        // The last block can grow where it is.
        let end = old.start + class(size + (at.addr() - old.start)).1;
        if reach(end) {
            HEAP.top.set(end);
            old.end = end;
            return at;
        }
    }
    let new = aligned_alloc(align, size);
    if !new.is_null() {
        // SAFETY: both are in use and apart, and the new one is the larger.
        unsafe {
            ptr::copy_nonoverlapping(at.cast::<u8>(), new.cast(), room);
            free(at);
        }
    }
    new
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(at: *mut c_void, size: usize) -> *mut c_void {
    if at.is_null() {
        return malloc(size);
    }
    // SAFETY: the caller of realloc(3) promises that it came from here and is in use.
    unsafe { resize(at, HEADER, size) }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(length) = count.checked_mul(size) else { return ptr::null_mut() };
    let at = malloc(length);
    if !at.is_null() {
        // SAFETY: that much was asked for.
        unsafe { ptr::write_bytes(at.cast::<u8>(), 0, length) };
    }
    at
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(out: *mut *mut c_void, align: usize, size: usize) -> c_int {
    let at = aligned_alloc(align, size);
    // SAFETY: the caller of posix_memalign(3) promises that there is room for the address.
    unsafe { *out = at };
    // 48 is wasi-libc's ENOMEM.
    if at.is_null() { 48 } else { 0 }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    // SAFETY: the caller promises that it came from here.
    unsafe { (*header(at)).end - at.addr() }
}
