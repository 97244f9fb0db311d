//! Bodies of outbound exchanges: what a guest sends, and what comes back.

use super::failure;
use super::origin::{Origin, Place};
use super::pool::Link;
use crate::lock::lock;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::Sleep;
use wasmtime_wasi_http::{Error, WasiBody};

/// How the body of a request fares, for those who wait for its answer.
pub(crate) struct Upload {
    begin: Instant,
    /// When the last piece was handed over, in milliseconds after the begin.
    last: AtomicU64,
    fault: Mutex<Option<Error>>,
}

impl Upload {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { begin: Instant::now(), last: AtomicU64::new(0), fault: Mutex::default() })
    }

    /// How long nothing has been sent.
    pub(crate) fn silence(&self) -> Duration {
        self.begin.elapsed().saturating_sub(Duration::from_millis(self.last.load(Relaxed)))
    }

    /// Why the guest's own body broke off, if it did.
    pub(crate) fn fault(&self) -> Option<Error> {
        lock(&self.fault).take()
    }

    fn note(&self) {
        self.last.store(u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    fn fail(&self, error: Error) {
        *lock(&self.fault) = Some(error);
    }
}

/// The body of a request, as long as the guest is there.
pub(crate) struct RequestBody {
    inner: WasiBody,
    origin: Arc<Origin>,
    upload: Arc<Upload>,
    /// Bytes that the head has promised and that are still to come.
    left: Option<u64>,
    done: Option<oneshot::Sender<()>>,
    ended: bool,
}

impl RequestBody {
    /// Watches over `inner`; the receiver hears of its end, or is dropped with it when it was cut.
    pub(crate) fn new(
        inner: WasiBody,
        left: Option<u64>,
        origin: &Arc<Origin>,
        upload: &Arc<Upload>,
    ) -> (Self, oneshot::Receiver<()>) {
        let (done, end) = oneshot::channel();
        // What promises no bytes is not asked for any.
        let ended = inner.is_end_stream() || left == Some(0);
        let (origin, upload) = (origin.clone(), upload.clone());
        (Self { inner, origin, upload, left, done: Some(done), ended }, end)
    }

    fn break_off(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        self.upload.fail(error);
        Poll::Ready(Some(Err(Broken)))
    }
}

/// The guest's own body broke off; why is with the [`Upload`].
#[derive(Debug)]
pub(crate) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the guest did not finish the body of its request")
    }
}

impl std::error::Error for Broken {}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
            Some(Ok(frame)) => {
                this.upload.note();
                let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                this.left = this.left.map(|left| left.saturating_sub(length));
                this.ended = frame.is_trailers() || this.left == Some(0) || this.inner.is_end_stream();
                Poll::Ready(Some(Ok(frame)))
            }
            Some(Err(error)) => this.break_off(error),
            // The body of a guest that is gone ends like one that was finished, and must not look so.
            None if this.origin.is_gone() => this.break_off(Error::ConnectionTerminated),
            None => {
                this.ended = true;
                Poll::Ready(None)
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

impl Drop for RequestBody {
    fn drop(&mut self) {
        if let Some(done) = self.done.take().filter(|_| self.ended) {
            let _ = done.send(());
        }
    }
}

/// The body of an answer, with the connection that it comes over.
pub(crate) struct ResponseBody {
    inner: Incoming,
    link: Option<Link>,
    upload: Arc<Upload>,
    patience: Duration,
    sleep: Option<Pin<Box<Sleep>>>,
    /// Held as long as the exchange lasts.
    place: Option<Place>,
}

impl ResponseBody {
    pub(crate) fn new(inner: Incoming, link: Link, upload: Arc<Upload>, patience: Duration, place: Place) -> Self {
        Self { inner, link: Some(link), upload, patience, sleep: None, place: Some(place) }
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        if let Some(link) = self.link.take() {
            link.report(&error);
            link.cut();
        }
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                let patience = this.patience;
                let sleep = this.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
                ready!(sleep.as_mut().poll(cx));
                return this.fail(Error::ConnectionReadTimeout);
            }
        };
        this.sleep = None;
        match frame {
            Some(Ok(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Err(error)) => {
                let error = this.upload.fault().unwrap_or_else(|| failure::of_hyper(&error, true));
                this.fail(error)
            }
            None => {
                this.place = None;
                if let Some(link) = this.link.take() {
                    link.keep();
                }
                Poll::Ready(None)
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

impl Drop for ResponseBody {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        // The last piece of a known length is not followed by a question for more.
        if self.inner.is_end_stream() { link.keep() } else { link.cut() }
    }
}
