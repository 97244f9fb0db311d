//! `Body`: nothing, bytes, or a stream of chunks with backpressure.

use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::status::Status;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::future::poll_fn;
use core::task::{Context, Poll};

/// The content of a request or a response.
///
/// Nothing is read before somebody asks, and nothing is asked of a stream before the reader has taken what came
/// before: memory does not grow with the body.
pub struct Body(Inner);

enum Inner {
    /// Maybe none.
    Bytes(Cow<'static, [u8]>),
    Stream(Box<dyn Stream>, Drain),
}

/// How a stream is sent. Kept beside it, so that an app without streams is spared the code.
type Drain = fn(Body, &mut dyn Sink) -> Option<Option<Headers>>;

/// Where a runtime takes a body.
pub(crate) trait Sink {
    /// Writes all of it, or returns `None` where the client is gone.
    fn write(&mut self, bytes: &[u8]) -> Option<()>;
}

/// Chunks that come over time. What `futures_core::Stream` is, with the one item type that a body needs.
#[allow(clippy::len_without_is_empty, reason = "a length that is not known is neither empty nor not")]
pub trait Stream: 'static {
    /// Returns the next chunk, `None` at the end, or an error, after which nothing comes.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>>;

    /// Returns how many bytes are still to come, where that is known.
    fn len(&self) -> Option<u64> {
        None
    }

    /// Returns the trailer fields, once, after the end.
    fn poll_trailers(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        Poll::Ready(Ok(None))
    }
}

impl Body {
    /// Returns a body without content.
    pub const fn empty() -> Body {
        Body(Inner::Bytes(Cow::Borrowed(&[])))
    }

    /// Returns a body that comes from a stream.
    pub fn from_stream(stream: impl Stream) -> Body {
        crate::wasi::streams();
        Body(Inner::Stream(Box::new(stream), drain))
    }

    /// Returns how many bytes are still to come, where that is known.
    pub fn len(&self) -> Option<u64> {
        match &self.0 {
            Inner::Bytes(bytes) => Some(bytes.len() as u64),
            Inner::Stream(stream, _) => stream.len(),
        }
    }

    /// Tells whether it is known that nothing is to come.
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Returns the next chunk, or `None` at the end. A chunk is never empty.
    ///
    /// # Errors
    /// Whatever the stream reports, such as 400 where the client broke the request off.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        poll_fn(|cx| self.poll_chunk(cx)).await.transpose()
    }

    /// Reads all of it into memory.
    ///
    /// # Errors
    /// 413 where there are more than `limit` bytes; what is over the limit is not read.
    pub async fn bytes(&mut self, limit: usize) -> Result<Vec<u8>> {
        self.read(limit, 0).await
    }

    /// As [`Body::bytes`], of which there will be so many as was announced. What grows at once to what it needs is not
    /// copied so often; but a client that has sent little gets little, whatever it announces.
    pub(crate) async fn read(&mut self, limit: usize, announced: usize) -> Result<Vec<u8>> {
        if self.len().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let mut all: Vec<u8> = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > limit - all.len() {
                return Err(too_large());
            }
            if all.is_empty() {
                all = chunk;
            } else {
                let length = all.len() + chunk.len();
                let room = announced.min(length.saturating_mul(8));
                if length > all.capacity() && room > length {
                    all.reserve_exact(room - all.len());
                }
                all.extend_from_slice(&chunk);
            }
        }
        Ok(all)
    }

    /// Returns the trailer fields that follow the content, where there are any. Reads and drops what is left of it.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub async fn trailers(&mut self) -> Result<Option<Headers>> {
        while self.chunk().await?.is_some() {}
        poll_fn(|cx| self.poll_trailers(cx)).await
    }

    /// Takes the body and leaves an empty one.
    pub fn take(&mut self) -> Body {
        core::mem::take(self)
    }

    /// As [`Stream::poll_chunk`], for streams that are made from a body.
    pub fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        if let Inner::Stream(stream, _) = &mut self.0 {
            loop {
                match stream.poll_chunk(cx) {
                    Poll::Ready(Some(Ok(chunk))) if chunk.is_empty() => {}
                    other => return other,
                }
            }
        }
        let chunk = match self.take().0 {
            Inner::Bytes(bytes) => bytes.into_owned(),
            Inner::Stream(..) => Vec::new(),
        };
        Poll::Ready(if chunk.is_empty() { None } else { Some(Ok(chunk)) })
    }

    /// As [`Stream::poll_trailers`], for streams that are made from a body.
    pub fn poll_trailers(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        match &mut self.0 {
            Inner::Stream(stream, _) => stream.poll_trailers(cx),
            _ => Poll::Ready(Ok(None)),
        }
    }

    /// Returns the bytes where the whole body is in memory.
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Inner::Bytes(bytes) => Some(bytes),
            Inner::Stream(..) => None,
        }
    }

    /// Writes it out, as fast as the client takes it, and returns its trailer fields; or `None` where the client is
    /// gone or the body broke off.
    #[allow(dead_code, reason = "only runtimes need it")]
    pub(crate) fn send(self, sink: &mut dyn Sink) -> Option<Option<Headers>> {
        match &self.0 {
            Inner::Bytes(bytes) => sink.write(bytes).map(|()| None),
            Inner::Stream(_, drain) => drain(self, sink),
        }
    }
}

fn drain(mut body: Body, sink: &mut dyn Sink) -> Option<Option<Headers>> {
    let mut end = None;
    loop {
        let mut next = None;
        crate::wasi::drive(&mut |cx| match body.poll_chunk(cx) {
            Poll::Ready(chunk) => {
                next = chunk;
                true
            }
            Poll::Pending => false,
        });
        match next {
            Some(Ok(chunk)) => sink.write(&chunk)?,
            Some(Err(error)) => {
                match error.source() {
                    Some(_) => error.log(),
                    None => crate::wasi::log(error.message()),
                }
                return None;
            }
            None => break,
        }
    }
    crate::wasi::drive(&mut |cx| match body.poll_trailers(cx) {
        Poll::Ready(trailers) => {
            end = trailers.ok();
            true
        }
        Poll::Pending => false,
    });
    end
}

#[cold]
fn too_large() -> Error {
    Error::new(Status::CONTENT_TOO_LARGE, "body is too large")
}

impl Default for Body {
    fn default() -> Body {
        Body::empty()
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Body {
        Body(Inner::Bytes(Cow::Owned(bytes)))
    }
}

impl From<String> for Body {
    fn from(text: String) -> Body {
        text.into_bytes().into()
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Body {
        Body(Inner::Bytes(Cow::Borrowed(bytes)))
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Body {
        text.as_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block_on;

    struct Chunks(alloc::vec::IntoIter<Vec<u8>>);

    impl Stream for Chunks {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
            Poll::Ready(self.0.next().map(Ok))
        }
    }

    /// Reads chunks of these lengths; gives how much room was made for the bytes, or the status.
    #[track_caller]
    fn check(lengths: &[usize], limit: usize, announced: usize, expected: core::result::Result<usize, u16>) {
        let chunk = |(number, length): (usize, &usize)| alloc::vec![number as u8; *length];
        let chunks: Vec<_> = lengths.iter().enumerate().map(chunk).collect();
        let whole = chunks.concat();
        let mut body = Body::from_stream(Chunks(chunks.into_iter()));
        let read = block_on(body.read(limit, announced));
        let found = read.map(|bytes| {
            assert!(bytes == whole, "{lengths:?}");
            bytes.capacity()
        });
        assert_eq!(found.map_err(|error| error.status().code()), expected, "{lengths:?} {limit} {announced}");
    }

    #[test]
    fn a_body_gets_the_room_that_it_needs() {
        check(&[], 10, 0, Ok(0));
        check(&[10], 10, 10, Ok(10));
        check(&[10, 1], 10, 11, Err(413));
        check(&[100, 100, 100], 1000, 300, Ok(300));
        // What was announced counts only as far as something has come.
        check(&[100, 100], 1 << 20, 1 << 20, Ok(1600));
        check(&[100, 1500, 1], 1 << 20, 1 << 20, Ok(12800));
        // Announcements that are wrong, or missing.
        check(&[100, 100, 100], 1000, 1, Ok(400));
        check(&[100, 100, 100], 1000, 150, Ok(400));
        check(&[100, 100, 100], 1000, 0, Ok(400));
        check(&[100; 40], 4000, usize::MAX, Ok(13600));
    }
}
