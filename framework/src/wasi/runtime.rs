//! What std would bring, for `#![no_std]` apps: an allocator and a panic handler.

use alloc::string::String;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt::Write;

#[link(name = "c")]
unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(at: *mut c_void);
    fn realloc(at: *mut c_void, size: usize) -> *mut c_void;
    fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
}

/// libc's allocator, which comes with the target.
struct Libc;

#[global_allocator]
static ALLOCATOR: Libc = Libc;

// SAFETY: libc's functions keep what the trait asks for; a larger alignment than malloc's goes through aligned_alloc.
unsafe impl GlobalAlloc for Libc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises a size above 0.
        unsafe {
            if layout.align() <= 8 { malloc(layout.size()) } else { aligned_alloc(layout.align(), layout.size()) }
        }
        .cast()
    }

    unsafe fn dealloc(&self, at: *mut u8, _: Layout) {
        // SAFETY: the caller promises that it came from here.
        unsafe { free(at.cast()) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= 8 {
            // SAFETY: as above.
            return unsafe { realloc(at.cast(), size) }.cast();
        }
        // SAFETY: as above; the new block is no smaller than what is copied.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                core::ptr::copy_nonoverlapping(at, new, layout.size().min(size));
                self.dealloc(at, layout);
            }
            new
        }
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    let mut message = String::new();
    let _ = write!(message, "{info}");
    super::p2::log(&message);
    core::arch::wasm32::unreachable()
}
