//! The calls of the component model and of `wasi:http@0.3` that a request costs.
//!
//! The signatures are those of the interfaces, lowered as the canonical ABI says. Not through the runtime of the
//! bindings: it starts a task for each request and ends it with the answer, so that a body could only be written by a
//! second task, for which it brings 17 crates and more bytes than all of an app.

use core::ffi::c_void;

/// What a call says that is not done.
pub(super) const BLOCKED: u32 = u32::MAX;

/// What `future<result<.., error-code>>` carries: the case, and a value or an error in the last 32 bytes.
pub(super) type Outcome = [u64; 5];

/// `tuple<field-name, field-value>`, both of them lists of bytes.
#[repr(C)]
pub(super) struct Field {
    pub(super) name: *const u8,
    pub(super) name_length: usize,
    pub(super) value: *const u8,
    pub(super) value_length: usize,
}

#[link(wasm_import_module = "$root")]
unsafe extern "C" {
    #[link_name = "[context-get-0]"]
    pub(super) fn context_get() -> *mut c_void;
    #[link_name = "[context-set-0]"]
    pub(super) fn context_set(value: *mut c_void);
    #[link_name = "[waitable-set-new]"]
    pub(super) safe fn set_new() -> u32;
    #[link_name = "[waitable-set-drop]"]
    pub(super) safe fn set_drop(set: u32);
    #[link_name = "[waitable-join]"]
    pub(super) safe fn join(waitable: u32, set: u32);
    #[cfg(not(feature = "p2"))]
    #[link_name = "[waitable-set-wait]"]
    pub(super) fn set_wait(set: u32, event: *mut [u32; 2]) -> u32;
    #[link_name = "[waitable-set-poll]"]
    pub(super) fn set_poll(set: u32, event: *mut [u32; 2]) -> u32;
    #[link_name = "[subtask-drop]"]
    pub(super) safe fn subtask_drop(subtask: u32);
    #[link_name = "[subtask-cancel]"]
    pub(super) safe fn subtask_cancel(subtask: u32) -> u32;
}

#[link(wasm_import_module = "[export]$root")]
unsafe extern "C" {
    #[link_name = "[task-cancel]"]
    pub(super) safe fn task_cancel();
}

#[link(wasm_import_module = "[export]wasi:http/handler@0.3.2")]
unsafe extern "C" {
    #[link_name = "[task-return]handle"]
    pub(super) safe fn task_return(failed: u32, response: u32, _: u32, _: u64, _: usize, _: usize, _: usize, _: u32);
}

#[link(wasm_import_module = "wasi:http/types@0.3.2")]
unsafe extern "C" {
    #[link_name = "[stream-new-0][static]request.new"]
    pub(super) safe fn stream_new() -> u64;
    #[link_name = "[async-lower][stream-read-0][static]request.new"]
    pub(super) fn stream_read(stream: u32, bytes: *mut u8, length: usize) -> u32;
    #[link_name = "[async-lower][stream-write-0][static]request.new"]
    pub(super) fn stream_write(stream: u32, bytes: *const u8, length: usize) -> u32;
    #[link_name = "[stream-cancel-read-0][static]request.new"]
    pub(super) safe fn stream_cancel_read(stream: u32) -> u32;
    #[link_name = "[stream-cancel-write-0][static]request.new"]
    pub(super) safe fn stream_cancel_write(stream: u32) -> u32;
    #[link_name = "[stream-drop-readable-0][static]request.new"]
    pub(super) safe fn stream_drop_readable(stream: u32);
    #[link_name = "[stream-drop-writable-0][static]request.new"]
    pub(super) safe fn stream_drop_writable(stream: u32);

    // `future<result<option<trailers>, error-code>>`.
    #[link_name = "[future-new-1][static]request.new"]
    pub(super) safe fn trailers_new() -> u64;
    #[link_name = "[async-lower][future-read-1][static]request.new"]
    pub(super) fn trailers_read(future: u32, value: *mut Outcome) -> u32;
    #[link_name = "[async-lower][future-write-1][static]request.new"]
    pub(super) fn trailers_write(future: u32, value: *const Outcome) -> u32;
    #[link_name = "[future-cancel-read-1][static]request.new"]
    pub(super) safe fn trailers_cancel_read(future: u32) -> u32;
    #[link_name = "[future-cancel-write-1][static]request.new"]
    pub(super) safe fn trailers_cancel_write(future: u32) -> u32;
    #[link_name = "[future-drop-readable-1][static]request.new"]
    pub(super) safe fn trailers_drop_readable(future: u32);
    #[link_name = "[future-drop-writable-1][static]request.new"]
    pub(super) safe fn trailers_drop_writable(future: u32);

    // `future<result<_, error-code>>`.
    #[link_name = "[future-new-2][static]request.new"]
    pub(super) safe fn result_new() -> u64;
    #[link_name = "[async-lower][future-read-2][static]request.new"]
    pub(super) fn result_read(future: u32, value: *mut Outcome) -> u32;
    #[link_name = "[async-lower][future-write-2][static]request.new"]
    pub(super) fn result_write(future: u32, value: *const Outcome) -> u32;
    #[link_name = "[future-cancel-read-2][static]request.new"]
    pub(super) safe fn result_cancel_read(future: u32) -> u32;
    #[link_name = "[future-cancel-write-2][static]request.new"]
    pub(super) safe fn result_cancel_write(future: u32) -> u32;
    #[link_name = "[future-drop-readable-2][static]request.new"]
    pub(super) safe fn result_drop_readable(future: u32);
    #[link_name = "[future-drop-writable-2][static]request.new"]
    pub(super) safe fn result_drop_writable(future: u32);

    #[link_name = "[method]request.get-method"]
    pub(super) fn request_method(request: u32, method: *mut [usize; 3]);
    #[link_name = "[method]request.get-path-with-query"]
    pub(super) fn request_target(request: u32, target: *mut [usize; 3]);
    #[link_name = "[static]request.consume-body"]
    pub(super) fn request_body(request: u32, result: u32, body: *mut [u32; 2]);
    #[link_name = "[static]fields.from-list"]
    pub(super) fn fields_from_list(list: *const Field, length: usize, result: *mut [u32; 5]);
    #[link_name = "[static]request.new"]
    pub(super) fn request_new(
        fields: u32,
        has_body: u32,
        body: u32,
        trailers: u32,
        has_options: u32,
        options: u32,
        request: *mut [u32; 2],
    );
    #[link_name = "[static]response.consume-body"]
    pub(super) fn response_body(response: u32, result: u32, body: *mut [u32; 2]);
    #[link_name = "[static]response.new"]
    pub(super) fn response_new(fields: u32, has_body: u32, body: u32, trailers: u32, response: *mut [u32; 2]);
    #[link_name = "[method]response.set-status-code"]
    pub(super) safe fn response_set_status(response: u32, status: u32) -> u32;
}

#[link(wasm_import_module = "wasi:http/client@0.3.2")]
unsafe extern "C" {
    #[link_name = "[async-lower]send"]
    pub(super) fn client_send(request: u32, result: *mut Outcome) -> u32;
}

#[link(wasm_import_module = "wasi:clocks/monotonic-clock@0.3.2")]
unsafe extern "C" {
    #[link_name = "now"]
    pub(super) safe fn monotonic_now() -> u64;
    #[link_name = "[async-lower]wait-for"]
    pub(super) safe fn wait_for(nanoseconds: u64) -> u32;
}

#[link(wasm_import_module = "wasi:clocks/system-clock@0.3.2")]
unsafe extern "C" {
    #[link_name = "now"]
    pub(super) fn system_now(instant: *mut [i64; 2]);
}

#[cfg(not(feature = "p2"))]
#[link(wasm_import_module = "wasi:cli/stderr@0.3.2")]
unsafe extern "C" {
    #[link_name = "write-via-stream"]
    pub(super) safe fn stderr_write(stream: u32) -> u32;
    #[link_name = "[async-lower][future-read-1]write-via-stream"]
    pub(super) fn stderr_result_read(future: u32, value: *mut u8) -> u32;
    #[link_name = "[future-drop-readable-1]write-via-stream"]
    pub(super) safe fn stderr_result_drop(future: u32);
}
