//! The log of the host.

use super::abi::{self, BLOCKED};
use super::transfer::DROPPED;

/// Writes to `wasi:cli/stderr`, which every HTTP world grants and which reads a stream.
#[cold]
pub(in crate::wasi) fn print(mut bytes: &[u8]) {
    let ends = abi::stream_new();
    let done = abi::stderr_write(ends as u32);
    let stream = (ends >> 32) as u32;
    while !bytes.is_empty() {
        // SAFETY: the bytes stay until they are read.
        let code = block(stream, unsafe { abi::stream_write(stream, bytes.as_ptr(), bytes.len()) });
        bytes = bytes.get((code >> 4) as usize..).unwrap_or_default();
        if code & 15 == DROPPED {
            break;
        }
    }
    abi::stream_drop_writable(stream);
    let mut outcome = [0; 2];
    // SAFETY: a result with an enum has two bytes.
    block(done, unsafe { abi::stderr_result_read(done, outcome.as_mut_ptr()) });
    abi::stderr_result_drop(done);
}

/// Waits for something without letting others go on: the code that has a message can't.
fn block(handle: u32, code: u32) -> u32 {
    if code != BLOCKED {
        return code;
    }
    let set = abi::set_new();
    abi::join(handle, set);
    let mut event = [0; 2];
    // SAFETY: an event has two numbers.
    unsafe { abi::set_wait(set, &mut event) };
    abi::join(handle, 0);
    abi::set_drop(set);
    let [_, code] = event;
    code
}
