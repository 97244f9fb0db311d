//! `Sender`: a body written by a piece of code that waits for the reader.

use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

/// Where the code behind [`Body::stream`] sends its chunks.
pub struct Sender(Rc<Slot>);

/// What is between the code and the reader.
#[derive(Default)]
struct Slot {
    /// Room for one chunk: what is sent waits here until the reader takes it.
    chunk: Cell<Option<Vec<u8>>>,
    trailers: Cell<Option<Headers>>,
}

struct Writer {
    code: Option<Pin<Box<dyn Future<Output = Result<()>>>>>,
    error: Option<Error>,
    slot: Rc<Slot>,
}

impl Body {
    /// Returns a body that the given code writes, chunk by chunk, while it is being read.
    ///
    /// The code runs no further than the reader: [`Sender::send`] waits until the chunk before was taken. When the
    /// reader goes away, the code is dropped where it waits. An error breaks the body off, so that it never looks
    /// complete to the client, and goes to the log.
    ///
    /// ```
    /// use tabi::{Body, Request, Response};
    ///
    /// async fn count(_: Request) -> Response {
    ///     Response::new(Body::stream(async |mut out| {
    ///         for number in 0..3 {
    ///             out.send(tabi::decimal(number)).await;
    ///         }
    ///         Ok(())
    ///     }))
    /// }
    /// # let router = tabi::Router::new().get("/", count);
    /// # assert_eq!(tabi::testing::Client::new(router).get("/").send().text(), "012");
    /// ```
    pub fn stream<F, C>(code: C) -> Body
    where
        C: FnOnce(Sender) -> F,
        F: Future<Output = Result<()>> + 'static,
    {
        let slot = Rc::<Slot>::default();
        let code = Some(Box::pin(code(Sender(slot.clone()))) as Pin<Box<dyn Future<Output = Result<()>>>>);
        Body::from_stream(Writer { code, error: None, slot })
    }
}

impl Sender {
    /// Sends a chunk; returns once there is room for it.
    pub async fn send(&mut self, chunk: impl Into<Vec<u8>>) {
        let mut chunk = Some(chunk.into());
        poll_fn(|_| self.poll_send(&mut chunk)).await
    }

    /// Ends the body with trailer fields, which follow its content. Clients read them where they have asked for them
    /// with `TE: trailers` (RFC 9110, section 6.5), and may drop them, so nothing should depend on them.
    ///
    /// ```
    /// use tabi::{Body, Headers, Request, Response};
    ///
    /// async fn summed(_: Request) -> Response {
    ///     Response::new(Body::stream(async |mut out| {
    ///         out.send("content").await;
    ///         let mut trailers = Headers::new();
    ///         trailers.insert("x-sum", "7")?;
    ///         out.finish(trailers);
    ///         Ok(())
    ///     }))
    /// }
    /// # let page = tabi::testing::Client::new(tabi::Router::new().get("/", summed)).get("/").send();
    /// # assert_eq!(page.trailers().and_then(|trailers| trailers.get("x-sum")), Some("7"));
    /// ```
    pub fn finish(self, trailers: Headers) {
        self.0.trailers.set(Some(trailers));
    }

    fn poll_send(&mut self, chunk: &mut Option<Vec<u8>>) -> Poll<()> {
        // No waker is kept: this code is polled by the reader, each time that it wants a chunk.
        match self.0.chunk.take() {
            None => {
                self.0.chunk.set(chunk.take());
                Poll::Ready(())
            }
            waiting => {
                self.0.chunk.set(waiting);
                Poll::Pending
            }
        }
    }
}

impl Stream for Writer {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        if let Some(chunk) = self.slot.chunk.take() {
            return Poll::Ready(Some(Ok(chunk)));
        }
        if let Some(code) = &mut self.code
            && let Poll::Ready(end) = code.as_mut().poll(cx)
        {
            self.code = None;
            self.error = end.err();
        }
        // What was sent before an error comes before it.
        match self.slot.chunk.take() {
            Some(chunk) => Poll::Ready(Some(Ok(chunk))),
            None if self.code.is_none() => Poll::Ready(self.error.take().map(Err)),
            None => Poll::Pending,
        }
    }

    fn poll_trailers(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        Poll::Ready(Ok(self.slot.trailers.take()))
    }
}
