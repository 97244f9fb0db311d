//! An exchange: from the request to the last byte of the answer.

use super::clock::Timer;
use super::transfer::{self, Awaited, DROPPED, Promise};
use super::wait::Pending;
use super::{abi, incoming, task};
use crate::app::App;
use crate::body::Body;
use crate::handler::BoxFuture;
use crate::headers::Headers;
use crate::response::Response;
use crate::status::Status;
use crate::wasi::log;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, ready};

/// Starts the task of a request.
pub(super) fn start(app: &'static App, request: u32) -> u32 {
    let (head, answer) = app.start(incoming::request(request));
    task::start(Box::pin(Exchange { head, answer: Some(answer), body: None, end: None }))
}

/// By hand: an `async fn` of the same costs twice the bytes.
struct Exchange {
    head: bool,
    answer: Option<BoxFuture<Response>>,
    body: Option<Sending>,
    /// The trailer fields, with which a body ends, or what there is to say where it breaks off.
    end: Option<Promise>,
}

impl Future for Exchange {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if let Some(answer) = &mut this.answer {
            let mut response = ready!(answer.as_mut().poll(cx));
            this.answer = None;
            response.finish(this.head);
            this.give(response);
        }
        let mut outcome = WHOLE;
        if let Some(body) = &mut this.body {
            outcome = match body {
                Sending::Bytes(out, body) => ready!(out.poll(body.as_bytes().unwrap_or_default())),
                Sending::Stream(sending) => ready!(sending.as_mut().poll(cx)),
            };
            this.body = None;
        }
        if let Some(end) = &mut this.end {
            ready!(end.poll(outcome));
            this.end = None;
        }
        task::poll_left(cx)
    }
}

/// A body on its way.
enum Sending {
    /// What writes is dropped before what it writes.
    Bytes(Writer, Body),
    Stream(Pin<Box<dyn Future<Output = abi::Outcome>>>),
}

/// The end of a body that is complete and has no trailer fields.
const WHOLE: abi::Outcome = [0; 5];

/// An error without more to it, `internal-error`: the runtime breaks the response off, and it never looks complete.
pub(super) const BROKEN: abi::Outcome = [1, 38, 0, 0, 0];

impl Exchange {
    /// Gives an answer to the runtime, which takes the body while it is written.
    fn give(&mut self, mut response: Response) {
        let body = response.body().take();
        let ends = if body.is_empty() { 0 } else { abi::stream_new() };
        let trailers = abi::trailers_new();
        let mut made = [0; 2];
        // SAFETY: the handles are ours and given away; the result has two handles.
        unsafe {
            abi::response_new(fields(response.headers()), (ends != 0).into(), ends as u32, trailers as u32, &mut made);
        }
        let [message, sent] = made;
        if response.status() != Status::OK && abi::response_set_status(message, response.status().code().into()) != 0 {
            log("the runtime refuses the status");
        }
        abi::task_return(0, message, 0, 0, 0, 0, 0, 0);
        task::answered();
        self.end = Some(Promise::new((trailers >> 32) as u32, &transfer::PROMISED_TRAILERS));
        let out = || Writer::new((ends >> 32) as u32);
        if ends != 0 && body.as_bytes().is_none() {
            self.body = Some(Sending::Stream((STREAMS.0.get())(body, out(), sent)));
            return;
        }
        if ends != 0 {
            self.body = Some(Sending::Bytes(out(), body));
        }
        abi::result_drop_readable(sent);
    }
}

/// How a stream is sent. Set by the first stream that there is, so that an app without is spared the code.
struct Streams(Cell<Send>);

/// Sends a stream to its end.
type Send = fn(Body, Writer, u32) -> Pin<Box<dyn Future<Output = abi::Outcome>>>;

// SAFETY: a component has one thread.
unsafe impl Sync for Streams {}

static STREAMS: Streams = Streams(Cell::new(|_, _, _| crate::wasi::fail("there is no stream")));

/// Notes that there are bodies that are streams.
pub(crate) fn streams() {
    STREAMS.0.set(|body, out, sent| Box::pin(send(body, out, Awaited::new(sent, &transfer::RESULT))));
}

/// Sends a stream, and returns what stands where its trailer fields do.
pub(super) async fn send(mut body: Body, out: Writer, sent: Awaited) -> abi::Outcome {
    let mut client = Client { out, sent: Some(sent), look: None };
    loop {
        let next = poll_fn(|cx| match body.poll_chunk(cx) {
            // While the code waits for something else nobody writes, and nobody would see that the client is gone.
            Poll::Pending => client.poll_gone().map(|()| None),
            other => other.map(Some),
        });
        match next.await {
            Some(Some(Ok(chunk))) => {
                let outcome = poll_fn(|_| client.out.poll(&chunk)).await;
                if outcome != WHOLE {
                    return outcome;
                }
                client.look = None;
            }
            Some(Some(Err(error))) => {
                error.log();
                return BROKEN;
            }
            Some(None) => break,
            None => return BROKEN,
        }
    }
    drop(client);
    match poll_fn(|cx| body.poll_trailers(cx)).await {
        Ok(None) => WHOLE,
        Ok(Some(trailers)) => [0, u64::from(fields(&trailers)) << 32 | 1, 0, 0, 0],
        Err(_) => BROKEN,
    }
}

/// Who takes a stream.
struct Client {
    out: Writer,
    /// What became of the message, as far as the runtime says.
    sent: Option<Awaited>,
    /// When to look whether somebody is there.
    look: Option<Timer>,
}

/// How often it is looked, in nanoseconds: seldom enough for a thousand silent streams, often enough for what they hold.
const LOOK: u64 = 5_000_000_000;

impl Client {
    /// Is ready where the client is gone.
    fn poll_gone(&mut self) -> Poll<()> {
        if let Some(sent) = &mut self.sent
            && let Poll::Ready(outcome) = sent.poll()
        {
            let has_failed = outcome[0] & 255 != 0;
            if has_failed {
                transfer::settle(outcome);
            }
            self.sent = None;
            if has_failed {
                return Poll::Ready(());
            }
        }
        loop {
            ready!(self.look.get_or_insert_with(|| Timer::new(LOOK)).poll());
            // To write nothing waits for a reader, and tells where there is none any more.
            // SAFETY: no byte is read.
            let start = &mut |stream| unsafe { abi::stream_write(stream, NonNull::dangling().as_ptr(), 0) };
            if ready!(self.out.pending.poll(start)) & 15 == DROPPED {
                return Poll::Ready(());
            }
            self.look = None;
        }
    }
}

/// The end of a stream that is written.
pub(super) struct Writer {
    pending: Pending,
    written: usize,
}

impl Writer {
    pub(super) fn new(stream: u32) -> Writer {
        Writer { pending: Pending::new(stream, abi::stream_cancel_write), written: 0 }
    }

    /// Writes the bytes, which have to be the same until it is done, and returns with what the body would end after
    /// them. They have to stay as long as the writer, or until it is done.
    fn poll(&mut self, bytes: &[u8]) -> Poll<abi::Outcome> {
        while let Some(rest) = bytes.get(self.written..)
            && !rest.is_empty()
        {
            // SAFETY: the bytes stay until they are read or taken back.
            let start = &mut |stream| unsafe { abi::stream_write(stream, rest.as_ptr(), rest.len()) };
            let code = ready!(self.pending.poll(start));
            self.written += (code >> 4) as usize;
            if code & 15 == DROPPED {
                return Poll::Ready(BROKEN);
            }
        }
        self.written = 0;
        Poll::Ready(WHOLE)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.pending.stop();
        abi::stream_drop_writable(self.pending.handle());
    }
}

/// Hands header fields over.
pub(super) fn fields(headers: &Headers) -> u32 {
    let list: Vec<abi::Field> = headers
        .iter()
        .map(|(name, value)| abi::Field {
            name: name.as_ptr(),
            name_length: name.len(),
            value: value.as_ptr(),
            value_length: value.len(),
        })
        .collect();
    let mut result = [0; 5];
    // SAFETY: the list is borrowed for the call; a result has 20 bytes here, its case in the first.
    unsafe { abi::fields_from_list(list.as_ptr(), list.len(), &mut result) };
    if result[0] & 255 != 0 {
        refused(result);
        // SAFETY: as above; there is nothing in the list.
        unsafe { abi::fields_from_list(list.as_ptr(), 0, &mut result) };
    }
    result[1]
}

#[cold]
fn refused([_, case, other, at, length]: [u32; 5]) {
    if case & 255 == 4 && other & 255 != 0 {
        transfer::free(at as usize, length as usize);
    }
    log("the runtime refuses the header fields");
}
