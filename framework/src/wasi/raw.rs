//! The calls of `wasi:http@0.2` that every app makes, without what the bindings add to each: results, and texts in
//! errors, that nobody would read.
//!
//! The signatures are those of the interfaces, lowered as the canonical ABI says; the version is that of the bindings.

use crate::headers::Headers;
use crate::method::Method;
use alloc::string::String;
use alloc::vec::Vec;
use wasip2::http::types as http;
use wasip2::io::streams::OutputStream;

#[link(wasm_import_module = "wasi:http/types@0.2.12")]
unsafe extern "C" {
    #[link_name = "[method]incoming-request.method"]
    fn request_method(request: u32, method: *mut Verb);
    #[link_name = "[static]fields.from-list"]
    fn fields_from_list(list: *const Field, length: usize, result: *mut [u32; 2]);
    #[link_name = "[static]outgoing-body.finish"]
    fn outgoing_body_finish(body: u32, has_trailers: u32, trailers: u32, result: *mut [u64; 5]);
}

#[link(wasm_import_module = "wasi:io/streams@0.2.12")]
unsafe extern "C" {
    #[link_name = "[method]output-stream.check-write"]
    fn stream_check_write(stream: u32, room: *mut [u64; 2]);
    #[link_name = "[method]output-stream.write"]
    fn stream_write(stream: u32, bytes: *const u8, length: usize, result: *mut [u32; 3]);
    #[link_name = "[method]output-stream.blocking-flush"]
    fn stream_blocking_flush(stream: u32, result: *mut [u32; 3]);
}

#[link(wasm_import_module = "wasi:io/error@0.2.12")]
unsafe extern "C" {
    #[link_name = "[resource-drop]error"]
    fn drop_error(error: u32);
}

/// `variant method`: which one, and the name of another.
#[repr(C)]
struct Verb {
    case: u8,
    name: *mut u8,
    length: usize,
}

/// `tuple<field-name, field-value>`, both of them lists of bytes.
#[repr(C)]
struct Field {
    name: *const u8,
    name_length: usize,
    value: *const u8,
    value_length: usize,
}

/// Returns the method of a request, or `None` where it is not a token.
pub(super) fn method(request: &http::IncomingRequest) -> Option<Method> {
    let mut verb = Verb { case: 0, name: core::ptr::null_mut(), length: 0 };
    // SAFETY: the result has this shape.
    unsafe { request_method(request.handle(), &mut verb) };
    // The cases in the order of the variant: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH.
    const CASES: [u8; 9] = [0, 1, 2, 3, 5, 6, 8, 7, 4];
    match CASES.get(usize::from(verb.case)) {
        Some(number) => Some(Method::known(*number)),
        None => {
            // SAFETY: the runtime hands over UTF-8, in memory that it got from `cabi_realloc`.
            Method::new(&unsafe { String::from_raw_parts(verb.name, verb.length, verb.length) })
        }
    }
}

/// Hands header fields over, or returns `None` where the runtime refuses them.
pub(super) fn fields(headers: &Headers) -> Option<http::Fields> {
    let list: Vec<Field> = headers
        .iter()
        .map(|(name, value)| Field {
            name: name.as_ptr(),
            name_length: name.len(),
            value: value.as_ptr(),
            value_length: value.len(),
        })
        .collect();
    let mut result = [0; 2];
    // SAFETY: the list is borrowed for the call; a result has 8 bytes here, its case in the first.
    unsafe { fields_from_list(list.as_ptr(), list.len(), &mut result) };
    match result {
        // SAFETY: the handle is ours.
        [0, handle] => Some(unsafe { http::Fields::from_handle(handle) }),
        _ => None,
    }
}

/// Ends a body as complete. The error would say that the body has another length than was announced: the runtime
/// breaks the response off by itself.
pub(super) fn finish(body: http::OutgoingBody, trailers: Option<http::Fields>) {
    let (has_trailers, trailers) = match &trailers {
        Some(trailers) => (1, trailers.take_handle()),
        None => (0, 0),
    };
    let mut result = [0; 5];
    // SAFETY: a result has 40 bytes here; both handles are given away.
    unsafe { outgoing_body_finish(body.take_handle(), has_trailers, trailers, &mut result) };
}

/// Writes all of it, as fast as it is taken, or returns `None` where nobody takes it any more.
pub(super) fn write(stream: &OutputStream, mut bytes: &[u8]) -> Option<()> {
    while !bytes.is_empty() {
        let mut room = [0; 2];
        // SAFETY: a result has 16 bytes here: its case in the first, and a number or an error in the last eight.
        unsafe { stream_check_write(stream.handle(), &mut room) };
        let [failed, room] = room;
        settle([failed as u32, room as u32, (room >> 32) as u32])?;
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        bytes = later;
        if now.is_empty() {
            // Waits for room.
            flush(stream)?;
            continue;
        }
        let mut result = [0; 3];
        // SAFETY: the bytes are borrowed for the call; a result has 12 bytes here.
        unsafe { stream_write(stream.handle(), now.as_ptr(), now.len(), &mut result) };
        settle(result)?;
    }
    Some(())
}

/// Waits until everything is written.
pub(super) fn flush(stream: &OutputStream) -> Option<()> {
    let mut result = [0; 3];
    // SAFETY: a result has 12 bytes here.
    unsafe { stream_blocking_flush(stream.handle(), &mut result) };
    settle(result)
}

/// Reads a result of a stream. Only an error of case 0 has more to it, which has to be dropped.
fn settle([failed, case, error]: [u32; 3]) -> Option<()> {
    if failed == 0 {
        return Some(());
    }
    if case == 0 {
        // SAFETY: the handle is ours.
        unsafe { drop_error(error) };
    }
    None
}
