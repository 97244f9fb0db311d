//! Bodies on their way in and out, each with its limits.

use crate::Limits;
use crate::coded::{Coded, Next};
use crate::dispatch::{AnswerBody, Failure};
use crate::exchange::Exchange;
use crate::file_body::FileBody;
use crate::metrics::Refused;
use crate::patience::{self, Asked};
use crate::trace::{Tap, Trace};
use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use tokio::time::Sleep;
use wasmtime_wasi_http::Error;

/// What became of a request body; nothing is kept for a request without one.
#[derive(Clone, Default)]
pub(crate) struct BodyState(Option<Arc<Progress>>);

#[derive(Default)]
struct Progress {
    fault: AtomicU8,
    received: AtomicU64,
    wanted: AtomicBool,
}

const TOO_LARGE: u8 = 1;
const TOO_SLOW: u8 = 2;
const BROKEN: u8 = 3;

impl BodyState {
    /// What went wrong, with the status that explains it, for the answer that follows.
    pub(crate) fn fault(&self) -> Option<(StatusCode, Refused, &'static str)> {
        match self.0.as_ref()?.fault.load(Relaxed) {
            TOO_LARGE => Some((StatusCode::PAYLOAD_TOO_LARGE, Refused::BodyBytes, "the request body is too large")),
            BROKEN => Some((StatusCode::BAD_REQUEST, Refused::BodyMalformed, "the request body is malformed")),
            TOO_SLOW => Some((StatusCode::REQUEST_TIMEOUT, Refused::BodyTimeout, "the request body stalled")),
            _ => None,
        }
    }

    /// Whether the guest has asked for the body, of which nothing is there yet.
    pub(crate) fn is_awaited(&self) -> bool {
        let awaited = |progress: &Arc<Progress>| progress.wanted.load(Relaxed) && progress.received.load(Relaxed) == 0;
        self.0.as_ref().is_some_and(awaited)
    }

    /// The bytes that the guest has read.
    pub(crate) fn received(&self) -> u64 {
        self.0.as_ref().map_or(0, |progress| progress.received.load(Relaxed))
    }
}

/// A request body that ends with an error when it is too large or too slow.
pub(crate) struct RequestBody {
    inner: hyper::body::Incoming,
    limits: Arc<Limits>,
    left: u64,
    sleep: Option<Pin<Box<Sleep>>>,
    state: BodyState,
    tap: Option<Box<Tap>>,
}

impl RequestBody {
    pub(crate) fn new(inner: hyper::body::Incoming, limits: &Arc<Limits>) -> Self {
        let progress = if inner.is_end_stream() { None } else { Some(Arc::default()) };
        let (limits, left) = (limits.clone(), limits.body_bytes);
        Self { inner, limits, left, sleep: None, state: BodyState(progress), tap: None }
    }

    /// Has `trace` show what the guest reads.
    pub(crate) fn show(&mut self, trace: &Trace) {
        self.tap = Some(Box::new(trace.request_body()));
    }

    /// A view of what becomes of it.
    pub(crate) fn state(&self) -> BodyState {
        self.state.clone()
    }

    fn fail(&self, fault: u8) {
        if let Some(progress) = &self.state.0 {
            progress.fault.store(fault, Relaxed);
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                if let Some(progress) = &self.state.0 {
                    progress.wanted.store(true, Relaxed);
                }
                let limit = self.limits.body_timeout;
                let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                ready!(sleep.as_mut().poll(cx));
                self.fail(TOO_SLOW);
                return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
            }
        };
        self.sleep = None;
        match frame {
            None => Poll::Ready(None),
            Some(Err(error)) => {
                self.fail(BROKEN);
                Poll::Ready(Some(Err(error.into())))
            }
            Some(Ok(frame)) => {
                let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                if length > self.left {
                    self.left = 0;
                    self.fail(TOO_LARGE);
                    let limit = self.limits.body_bytes;
                    return Poll::Ready(Some(Err(Error::HttpRequestBodySize(Some(limit)))));
                }
                self.left -= length;
                if let (Some(tap), Some(data)) = (&mut self.tap, frame.data_ref()) {
                    tap.see(data);
                }
                if let Some(progress) = &self.state.0 {
                    progress.received.fetch_add(length, Relaxed);
                }
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// What is compressed in one go.
const AT_ONCE: usize = 64 * 1024;

/// A response body: from the host, or from a guest that may still be running.
pub(crate) struct ResponseBody {
    kind: Kind,
    exchange: Exchange,
    tap: Option<Box<Tap>>,
}

enum Kind {
    Full(Bytes),
    Frames(VecDeque<Frame<Bytes>>, Option<u64>),
    File(Box<FileBody>),
    /// A running guest, and the bytes that it has promised and not yet sent.
    Guest(Option<AnswerBody>, Option<u64>),
    /// A body that is compressed on its way.
    Coded(Box<(Kind, Coded)>),
}

impl ResponseBody {
    /// A body that is there as a whole.
    pub(crate) fn full(bytes: impl Into<Bytes>, exchange: Exchange) -> Self {
        Self { kind: Kind::Full(bytes.into()), exchange, tap: None }
    }

    /// A body that is read from a file.
    pub(crate) fn file(body: Box<FileBody>, exchange: Exchange) -> Self {
        Self { kind: Kind::File(body), exchange, tap: None }
    }

    /// The body of a guest's answer.
    ///
    /// `promised` is the content-length in the head, which a running guest is held to.
    pub(crate) fn guest(body: AnswerBody, promised: Option<u64>, exchange: Exchange) -> Self {
        let kind = match body {
            AnswerBody::Whole(mut frames) if frames.len() <= 1 => match frames.pop_front() {
                None => Kind::Full(Bytes::new()),
                Some(frame) => match frame.into_data() {
                    Ok(data) => Kind::Full(data),
                    Err(trailers) => Kind::Frames(VecDeque::from([trailers]), None),
                },
            },
            AnswerBody::Whole(frames) => {
                let length = length_of(&frames);
                Kind::Frames(frames, length)
            }
            running => Kind::Guest(Some(running), promised),
        };
        Self { kind, exchange, tap: None }
    }

    /// Has `trace` show what the client gets.
    pub(crate) fn show(&mut self, trace: &Trace) {
        self.tap = Some(Box::new(trace.response_body()));
    }

    /// Turns the body, of which nothing was read yet, into its compressed form.
    pub(crate) fn compress(&mut self) {
        let kind = std::mem::replace(&mut self.kind, Kind::Full(Bytes::new()));
        self.kind = match kind {
            // Not worth a turn of its own, and so the length is known.
            Kind::Full(bytes) if bytes.len() <= AT_ONCE => Kind::Full(Coded::whole(&bytes)),
            kind => Kind::Coded(Box::new((kind, Coded::new()))),
        };
    }

    /// The length, when it is known and no trailers follow.
    pub(crate) fn length(&self) -> Option<u64> {
        match &self.kind {
            Kind::Full(bytes) => Some(bytes.len() as u64),
            Kind::Frames(_, length) => *length,
            Kind::File(file) => Some(file.left()),
            Kind::Guest(_, promised) => *promised,
            Kind::Coded(_) => None,
        }
    }
}

impl Kind {
    /// The next frame, and the guest's leave to go on by itself after the last.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let frame = match self {
            Self::Full(bytes) if bytes.is_empty() => None,
            Self::Full(bytes) => Some(Ok(Frame::data(std::mem::take(bytes)))),
            Self::Frames(frames, length) => {
                let frame = frames.pop_front();
                *length = length_of(frames);
                frame.map(Ok)
            }
            Self::File(file) => ready!(file.poll(cx)),
            Self::Guest(None, _) | Self::Guest(Some(AnswerBody::Whole(_)), _) => None,
            Self::Guest(Some(AnswerBody::P2(stream)), promised) => {
                keep_promise(promised, ready!(stream.poll_frame(cx)))
            }
            Self::Guest(Some(AnswerBody::P3(stream)), promised) => {
                keep_promise(promised, ready!(stream.poll_frame(cx)))
            }
            Self::Coded(both) => {
                let (plain, coded) = &mut **both;
                return coded.poll(cx, |cx| plain.poll(cx));
            }
        };
        if frame.is_none()
            && let Self::Guest(body, _) = self
            && let Some(AnswerBody::P2(stream)) = body.take()
        {
            stream.linger();
        }
        Poll::Ready(frame)
    }

    fn is_end(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Frames(frames, _) => frames.is_empty(),
            Self::File(file) => file.left() == 0,
            Self::Guest(body, promised) => body.is_none() || *promised == Some(0),
            Self::Coded(both) => both.1.is_end(),
        }
    }
}

/// Holds a guest to its content-length: neither more bytes nor fewer.
fn keep_promise(promised: &mut Option<u64>, frame: Next) -> Next {
    let Some(left) = promised else { return frame };
    match &frame {
        Some(Ok(data)) => {
            let length = data.data_ref().map_or(0, Bytes::len) as u64;
            if length > *left {
                return Some(Err(Failure::Invalid("more bytes than its content-length".into())));
            }
            *left -= length;
            frame
        }
        None if *left > 0 => Some(Err(Failure::Invalid("fewer bytes than its content-length".into()))),
        _ => frame,
    }
}

/// The bytes of all frames, unless trailers are among them.
fn length_of(frames: &VecDeque<Frame<Bytes>>) -> Option<u64> {
    frames.iter().map(|frame| Some(frame.data_ref()?.len() as u64)).sum()
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = this.kind.poll(cx) else {
            patience::note(Asked::Waiting);
            return Poll::Pending;
        };
        patience::note(Asked::Answered);
        match frame {
            Some(Ok(frame)) => {
                if let (Some(tap), Some(data)) = (&mut this.tap, frame.data_ref()) {
                    tap.see(data);
                }
                this.exchange.sent(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(failure)) => {
                this.exchange.cut(&failure);
                this.kind = Kind::Guest(None, None);
                Poll::Ready(Some(Err(Cut(failure))))
            }
            None => {
                this.exchange.complete();
                Poll::Ready(None)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.kind.is_end()
    }

    fn size_hint(&self) -> SizeHint {
        match self.length() {
            Some(length) => SizeHint::with_exact(length),
            None => SizeHint::default(),
        }
    }
}

impl Drop for ResponseBody {
    fn drop(&mut self) {
        // The last frame of a known length is not followed by a question for more.
        if self.is_end_stream() {
            self.exchange.complete();
        }
    }
}

/// A body that ends too early. The connection is cut, so that nobody takes it for complete.
#[derive(Debug)]
pub(crate) struct Cut(Failure);

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.reason())
    }
}

impl std::error::Error for Cut {}
