//! What std would bring, for `#![no_std]` apps: an allocator and a panic handler.

use super::memory::HEAP;
use alloc::alloc::{alloc, realloc};
use core::alloc::{GlobalAlloc, Layout};

// What the compiler calls by itself, such as memcmp, comes from libc.
#[link(name = "c")]
unsafe extern "C" {}

struct Heap;

#[global_allocator]
static ALLOCATOR: Heap = Heap;

// SAFETY: the heap keeps what the trait asks for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP.allocate(layout.size(), layout.align())
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: the caller promises that it came from here.
        unsafe { HEAP.free(at.expose_provenance()) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that it came from here.
        unsafe { HEAP.resize(at, layout.align(), size) }
    }
}

/// Where the runtime puts what it hands over: strings and lists that the app will own, so Rust's allocator has them.
#[unsafe(no_mangle)]
unsafe extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    if size == 0 {
        return core::ptr::without_provenance_mut(align);
    }
    // SAFETY: the canonical ABI promises an alignment that is a power of two, and what it got from here.
    let new = unsafe {
        match old_size {
            0 => alloc(Layout::from_size_align_unchecked(size, align)),
            _ => realloc(old, Layout::from_size_align_unchecked(old_size, align), size),
        }
    };
    if new.is_null() {
        core::arch::wasm32::unreachable();
    }
    new
}

/// Says where, and not what: a message comes as pieces to be formatted, also where it is one fixed text, and reading it
/// links the formatting, which the feature `panic-messages` is for. Inlined, the pieces themselves are left out of the
/// component, too.
#[cfg(not(feature = "panic-messages"))]
#[panic_handler]
#[allow(unused_attributes, reason = "the attribute is not ignored: it is worth 2 KB")]
#[inline(always)]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    super::message::end("panicked", info.location())
}

/// Says where and what.
#[cfg(feature = "panic-messages")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let mut message = alloc::string::String::new();
    let _ = core::fmt::Write::write_fmt(&mut message, format_args!("{info}"));
    super::message::end(&message, None)
}
