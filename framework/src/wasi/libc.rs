//! Keeps parts of libc out of components.
//!
//! Rust's std prints panics through libc, which brings the environment, the standard streams and their terminals: 15
//! imports of `wasi:cli` that a plain HTTP runtime does not grant, and 12 KB. Where these functions are defined here,
//! the linker never looks at libc's. A panic still prints its message. `std::env::vars` is empty and `std::io::stdin`
//! at its end; the feature `environment` of the crate brings libc's own functions back.

#![allow(non_upper_case_globals, reason = "the names are libc's")]

use super::print;
use core::ffi::{c_char, c_int, c_void};
use core::ptr;

#[unsafe(no_mangle)]
extern "C" fn getenv(_: *const c_char) -> *mut c_char {
    ptr::null_mut()
}

// What follows stands together with `__wasilibc_ensure_environ` in libc. All of it has to be here: one name that is
// left to libc brings its file, and with it the others a second time. Nothing of it is ever called or changed.

/// An empty environment.
#[repr(transparent)]
struct Environment(*mut *mut c_char);

// SAFETY: it is never written to.
unsafe impl Sync for Environment {}

#[unsafe(no_mangle)]
static __wasilibc_environ: Environment = Environment(ptr::null_mut());

#[unsafe(no_mangle)]
static environ: Environment = Environment(ptr::null_mut());

#[unsafe(no_mangle)]
static _environ: Environment = Environment(ptr::null_mut());

#[unsafe(no_mangle)]
extern "C" fn __wasilibc_ensure_environ() {}

#[unsafe(no_mangle)]
extern "C" fn __wasilibc_initialize_environ() {}

#[unsafe(no_mangle)]
extern "C" fn __wasilibc_deinitialize_environ() {}

#[unsafe(no_mangle)]
extern "C" fn __wasilibc_maybe_reinitialize_environ_eagerly() {}

/// Where libc keeps the working directory, beside `getcwd`.
#[unsafe(no_mangle)]
static __wasilibc_cwd: Environment = Environment(ptr::null_mut());

#[unsafe(no_mangle)]
extern "C" fn getcwd(_: *mut c_char, _: usize) -> *mut c_char {
    ptr::null_mut()
}

#[unsafe(no_mangle)]
extern "C" fn abort() -> ! {
    core::arch::wasm32::unreachable()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(_: c_int, bytes: *const c_void, length: usize) -> isize {
    // SAFETY: the caller of write(2) promises that the bytes are there.
    print(unsafe { core::slice::from_raw_parts(bytes.cast(), length) });
    length as isize
}

/// A piece of what is to be written: POSIX's `struct iovec`.
#[repr(C)]
struct Piece {
    bytes: *const c_void,
    length: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(file: c_int, pieces: *const Piece, count: c_int) -> isize {
    // SAFETY: the caller of writev(2) promises that the pieces are there.
    let pieces = unsafe { core::slice::from_raw_parts(pieces, count as usize) };
    // SAFETY: and that the bytes of each are.
    pieces.iter().map(|piece| unsafe { write(file, piece.bytes, piece.length) }).sum()
}
