//! The heap behind C's names, so that std, which asks libc, and libc itself share it, and an app may still bring a
//! `#[global_allocator]` of its own.
//!
//! All names of libc's own allocator have to be here: one that is left to libc brings its file, and with it the others
//! a second time.

use super::heap::{ALIGN, Heap};
use super::memory::{HEAP, Linear};
use core::ffi::{c_int, c_void};
use core::ptr;

#[unsafe(no_mangle)]
extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
    if size > isize::MAX as usize - align {
        return ptr::null_mut();
    }
    HEAP.allocate(size, align).cast()
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    aligned_alloc(ALIGN, size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn free(at: *mut c_void) {
    if !at.is_null() {
        // SAFETY: the caller of free(3) promises that it came from here and is in use.
        unsafe { HEAP.free(at.expose_provenance()) }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(at: *mut c_void, size: usize) -> *mut c_void {
    if at.is_null() {
        return malloc(size);
    }
    if size > isize::MAX as usize - ALIGN {
        return ptr::null_mut();
    }
    // SAFETY: the caller of realloc(3) promises that it came from here and is in use.
    unsafe { HEAP.resize(at.cast(), ALIGN, size) }.cast()
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
    if at.is_null() {
        // wasi-libc's ENOMEM.
        return 48;
    }
    // SAFETY: the caller of posix_memalign(3) promises that there is room for the address.
    unsafe { *out = at };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn malloc_usable_size(at: *mut c_void) -> usize {
    if at.is_null() {
        return 0;
    }
    // SAFETY: the caller promises that it came from here.
    unsafe { Heap::<Linear>::room(at.cast()) }
}

#[unsafe(no_mangle)]
extern "C" fn __libc_malloc(size: usize) -> *mut c_void {
    malloc(size)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __libc_free(at: *mut c_void) {
    // SAFETY: the caller promises what that of free(3) does.
    unsafe { free(at) }
}

#[unsafe(no_mangle)]
extern "C" fn __libc_calloc(count: usize, size: usize) -> *mut c_void {
    calloc(count, size)
}
