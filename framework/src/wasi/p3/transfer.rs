//! Streams of bytes, and the futures that go with them: both ends, as a request needs them.

use super::abi::{self, Outcome};
use super::wait::Pending;
use crate::limits;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::task::{Poll, ready};

/// The other end is gone.
pub(super) const DROPPED: u32 = 1;

/// The end of a stream that is read.
pub(super) struct Reader {
    pending: Pending,
    buffer: Vec<u8>,
    open: bool,
}

impl Reader {
    pub(super) fn new(stream: u32) -> Reader {
        Reader { pending: Pending::new(stream, abi::stream_cancel_read), buffer: Vec::new(), open: true }
    }

    /// Returns the next bytes, or `None` at the end.
    pub(super) fn poll_read(&mut self) -> Poll<Option<Vec<u8>>> {
        while self.open {
            let buffer = &mut self.buffer;
            let code = ready!(self.pending.poll(&mut |stream| {
                buffer.reserve_exact(limits::CHUNK);
                // SAFETY: there is room, and the buffer stays until the bytes are there or the read is taken back.
                unsafe { abi::stream_read(stream, buffer.as_mut_ptr(), limits::CHUNK) }
            }));
            self.open = code & 15 != DROPPED;
            let count = (code >> 4) as usize;
            if count > 0 {
                // SAFETY: so many bytes were written.
                unsafe { self.buffer.set_len(count) };
                let mut chunk = core::mem::take(&mut self.buffer);
                chunk.shrink_to_fit();
                return Poll::Ready(Some(chunk));
            }
        }
        Poll::Ready(None)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.pending.stop();
        abi::stream_drop_readable(self.pending.handle());
    }
}

/// A type of future: its calls for the end that is read.
pub(super) struct Read {
    read: unsafe extern "C" fn(u32, *mut Outcome) -> u32,
    cancel: extern "C" fn(u32) -> u32,
    drop: extern "C" fn(u32),
}

/// `future<result<option<trailers>, error-code>>`.
pub(super) static TRAILERS: Read =
    Read { read: abi::trailers_read, cancel: abi::trailers_cancel_read, drop: abi::trailers_drop_readable };

/// `future<result<_, error-code>>`.
pub(super) static RESULT: Read =
    Read { read: abi::result_read, cancel: abi::result_cancel_read, drop: abi::result_drop_readable };

/// The end of a future that is read.
pub(super) struct Awaited {
    pending: Pending,
    /// On the heap: the runtime writes to it, wherever the value moves meanwhile.
    outcome: Box<Outcome>,
    calls: &'static Read,
    done: bool,
}

impl Awaited {
    pub(super) fn new(future: u32, calls: &'static Read) -> Awaited {
        Awaited { pending: Pending::new(future, calls.cancel), outcome: Box::default(), calls, done: false }
    }

    /// Returns the outcome, as often as it is asked for. What it holds belongs to the first who asks.
    pub(super) fn poll(&mut self) -> Poll<&Outcome> {
        if !self.done {
            let Awaited { pending, outcome, calls, .. } = self;
            // SAFETY: the outcome stays where it is until it is there or the read is taken back.
            ready!(pending.poll(&mut |future| unsafe { (calls.read)(future, &mut **outcome) }));
            self.done = true;
        }
        Poll::Ready(&self.outcome)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.pending.stop();
        (self.calls.drop)(self.pending.handle());
    }
}

/// A type of future: its calls for the end that is written.
pub(super) struct Write {
    write: unsafe extern "C" fn(u32, *const Outcome) -> u32,
    cancel: extern "C" fn(u32) -> u32,
    drop: extern "C" fn(u32),
}

/// `future<result<option<trailers>, error-code>>`.
pub(super) static PROMISED_TRAILERS: Write =
    Write { write: abi::trailers_write, cancel: abi::trailers_cancel_write, drop: abi::trailers_drop_writable };

/// `future<result<_, error-code>>`.
pub(super) static PROMISED_RESULT: Write =
    Write { write: abi::result_write, cancel: abi::result_cancel_write, drop: abi::result_drop_writable };

/// The end of a future that is written. It has to be, so that nothing takes it back but the end of the instance.
pub(super) struct Promise {
    pending: Pending,
    outcome: Outcome,
    drop: extern "C" fn(u32),
    write: unsafe extern "C" fn(u32, *const Outcome) -> u32,
}

impl Promise {
    pub(super) fn new(future: u32, calls: &Write) -> Promise {
        let pending = Pending::new(future, calls.cancel);
        Promise { pending, outcome: [0; 5], drop: calls.drop, write: calls.write }
    }

    /// Writes the outcome, if there was none before. The promise has to be on the heap, and to stay there, until it is
    /// done.
    pub(super) fn poll(&mut self, outcome: Outcome) -> Poll<()> {
        let kept = &mut self.outcome;
        // SAFETY: the outcome stays where it is until it is read.
        let start = &mut |future| unsafe {
            *kept = outcome;
            (self.write)(future, kept)
        };
        ready!(self.pending.poll(start));
        (self.drop)(self.pending.handle());
        Poll::Ready(())
    }
}

/// Frees the text of an error that came with an outcome, and returns which error it was.
pub(super) fn settle(outcome: &Outcome) -> u32 {
    let words = outcome.map(|pair| [pair as u32, (pair >> 32) as u32]);
    let [_, [case, _], [first, second], [third, fourth], ..] = words;
    let case = case & 255;
    // `error-code`: those with a text have it first, after a number, or in a record that may be missing.
    let (has, at, length) = match case {
        1 | 24 | 27 | 30 | 31 | 32 | 38 => (first, second, third),
        14 => (second, third, fourth),
        22 if first & 255 != 0 => (second, third, fourth),
        _ => return case,
    };
    if has & 255 != 0 {
        free(at as usize, length as usize);
    }
    case
}

/// Frees a text that the runtime handed over.
pub(super) fn free(at: usize, length: usize) {
    if length > 0 {
        // SAFETY: the runtime got the memory from `cabi_realloc`, which asks Rust's allocator.
        drop(unsafe { Vec::from_raw_parts(core::ptr::with_exposed_provenance_mut::<u8>(at), length, length) });
    }
}
