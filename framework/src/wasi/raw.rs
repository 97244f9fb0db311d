//! The calls of `wasi:http@0.2` that every app makes, without what the bindings add to each: results, and texts in
//! errors, that nobody would read.
//!
//! The signatures are those of the interfaces, lowered as the canonical ABI says; the version is that of the bindings.

use crate::headers::Headers;
use crate::method::Method;
use alloc::string::String;
use alloc::vec::Vec;

#[link(wasm_import_module = "wasi:http/types@0.2.12")]
unsafe extern "C" {
    #[link_name = "[method]incoming-request.method"]
    fn request_method(request: u32, method: *mut Verb);
    #[link_name = "[method]incoming-request.path-with-query"]
    fn request_path_with_query(request: u32, text: *mut Text);
    #[link_name = "[static]fields.from-list"]
    fn fields_from_list(list: *const Field, length: usize, result: *mut [u32; 2]);
    #[link_name = "[constructor]outgoing-response"]
    fn outgoing_response(fields: u32) -> u32;
    #[link_name = "[method]outgoing-response.set-status-code"]
    fn outgoing_response_set_status_code(response: u32, code: u32) -> u32;
    #[link_name = "[method]outgoing-response.body"]
    fn outgoing_response_body(response: u32, result: *mut [u32; 2]);
    #[link_name = "[static]response-outparam.set"]
    fn response_outparam_set(
        out: u32,
        is_error: u32,
        response: u32,
        _: u32,
        _: u64,
        _: usize,
        _: usize,
        _: usize,
        _: u32,
    );
    #[link_name = "[method]outgoing-body.write"]
    fn outgoing_body_write(body: u32, result: *mut [u32; 2]);
    #[link_name = "[static]outgoing-body.finish"]
    fn outgoing_body_finish(body: u32, has_trailers: u32, trailers: u32, result: *mut [u64; 5]);
    #[link_name = "[resource-drop]outgoing-body"]
    fn drop_outgoing_body(body: u32);
}

#[link(wasm_import_module = "wasi:io/streams@0.2.12")]
unsafe extern "C" {
    #[link_name = "[method]output-stream.check-write"]
    fn stream_check_write(stream: u32, room: *mut Room);
    #[link_name = "[method]output-stream.write"]
    fn stream_write(stream: u32, bytes: *const u8, length: usize, result: *mut [u32; 3]);
    #[link_name = "[method]output-stream.blocking-flush"]
    fn stream_blocking_flush(stream: u32, result: *mut [u32; 3]);
    #[link_name = "[resource-drop]output-stream"]
    fn drop_stream(stream: u32);
}

#[link(wasm_import_module = "wasi:io/error@0.2.12")]
unsafe extern "C" {
    #[link_name = "[resource-drop]error"]
    fn drop_error(error: u32);
}

#[link(wasm_import_module = "wasi:cli/stderr@0.2.12")]
unsafe extern "C" {
    #[link_name = "get-stderr"]
    fn get_stderr() -> u32;
}

/// `option<string>`.
#[repr(C)]
struct Text {
    is_there: u8,
    text: *mut u8,
    length: usize,
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

/// `result<u64, stream-error>`, in words: reading them as such is shorter code than taking numbers of 64 bits apart.
#[repr(C, align(8))]
struct Room([u32; 4]);

/// Returns the method of a request.
pub(super) fn method(request: u32) -> Method {
    let mut verb = Verb { case: 0, name: core::ptr::null_mut(), length: 0 };
    // SAFETY: the result has this shape.
    unsafe { request_method(request, &mut verb) };
    // The cases in the order of the variant: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH.
    const CASES: [u8; 9] = [0, 1, 2, 3, 5, 6, 8, 7, 4];
    match CASES.get(usize::from(verb.case)) {
        Some(number) => Method::known(*number),
        // SAFETY: the runtime hands over UTF-8, in memory that it got from `cabi_realloc`.
        None => Method::other(unsafe { String::from_raw_parts(verb.name, verb.length, verb.length) }),
    }
}

/// Returns path and query of a request, or nothing.
pub(super) fn target(request: u32) -> String {
    let mut text = Text { is_there: 0, text: core::ptr::null_mut(), length: 0 };
    // SAFETY: the result has this shape.
    unsafe { request_path_with_query(request, &mut text) };
    match text.is_there {
        0 => String::new(),
        // SAFETY: the runtime hands over UTF-8, in memory that it got from `cabi_realloc`.
        _ => unsafe { String::from_raw_parts(text.text, text.length, text.length) },
    }
}

/// Fields that the runtime has taken.
struct Taken(u32);

/// Hands header fields over.
fn fields(headers: &Headers) -> Taken {
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
    if let [1, _] = result {
        super::log("the runtime refuses the header fields");
        // SAFETY: as above; there is nothing in the list.
        unsafe { fields_from_list(list.as_ptr(), 0, &mut result) };
    }
    Taken(result[1])
}

/// Starts a response, and returns its body.
pub(super) fn respond(out: u32, status: u16, headers: &Headers) -> Outgoing {
    let mut result = [0; 2];
    // SAFETY: all handles are ours, and given away or borrowed as the interface says; the result, 8 bytes, of the first
    // call for a body is one.
    unsafe {
        let response = outgoing_response(fields(headers).0);
        // It is 200 by itself.
        if status != 200 && outgoing_response_set_status_code(response, status.into()) != 0 {
            super::log("the runtime refuses the status");
        }
        outgoing_response_body(response, &mut result);
        response_outparam_set(out, 0, response, 0, 0, 0, 0, 0, 0);
    }
    Outgoing(result[1])
}

/// The body of a response. Where it is dropped it breaks off, and never looks complete.
pub(super) struct Outgoing(u32);

impl Outgoing {
    /// Returns where to write it.
    pub(super) fn stream(&self) -> Output {
        let mut result = [0; 2];
        // SAFETY: the result, 8 bytes, of the first call is a stream.
        unsafe { outgoing_body_write(self.0, &mut result) };
        Output(result[1])
    }

    /// Ends it as complete. The error would say that it has another length than was announced: the runtime breaks the
    /// response off by itself.
    pub(super) fn finish(self, trailers: Option<Headers>) {
        let (has_trailers, trailers) = match &trailers {
            Some(trailers) => (1, fields(trailers).0),
            None => (0, 0),
        };
        let mut result = [0; 5];
        // SAFETY: a result has 40 bytes here; both handles are given away.
        unsafe { outgoing_body_finish(self.0, has_trailers, trailers, &mut result) };
        core::mem::forget(self);
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { drop_outgoing_body(self.0) }
    }
}

/// Where bytes are written to.
pub(super) struct Output(u32);

impl Output {
    /// Returns the log.
    pub(super) fn stderr() -> Output {
        // SAFETY: the handle becomes ours.
        Output(unsafe { get_stderr() })
    }

    /// Writes all of it, as fast as it is taken, or returns `None` where nobody takes it any more.
    #[inline(never)]
    pub(super) fn write(&self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let mut room = Room([0; 4]);
            // SAFETY: a result has 16 bytes here: its case in the first, a number or an error in the last eight.
            unsafe { stream_check_write(self.0, &mut room) };
            let Room([failed, _, low, high]) = room;
            settle(failed, low, high)?;
            let room = if high == 0 { low as usize } else { usize::MAX };
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            bytes = later;
            if now.is_empty() {
                // Waits for room.
                self.flush()?;
                continue;
            }
            let mut result = [0; 3];
            // SAFETY: the bytes are borrowed for the call; a result has 12 bytes here.
            unsafe { stream_write(self.0, now.as_ptr(), now.len(), &mut result) };
            let [failed, case, error] = result;
            settle(failed, case, error)?;
        }
        Some(())
    }

    /// Waits until everything is written.
    pub(super) fn flush(&self) -> Option<()> {
        let mut result = [0; 3];
        // SAFETY: a result has 12 bytes here.
        unsafe { stream_blocking_flush(self.0, &mut result) };
        let [failed, case, error] = result;
        settle(failed, case, error)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // SAFETY: the handle is ours.
        unsafe { drop_stream(self.0) }
    }
}

/// Reads a result of a stream. Only an error of case 0 has more to it, which has to be dropped.
#[inline(never)]
fn settle(failed: u32, case: u32, error: u32) -> Option<()> {
    if failed == 0 {
        return Some(());
    }
    if case == 0 {
        // SAFETY: the handle is ours.
        unsafe { drop_error(error) };
    }
    None
}
