//! `Reply`: what another server answered.

use crate::body::{Body, Stream};
use crate::error::{Error, OrStatus, Result};
use crate::headers::Headers;
use crate::limits;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::time::Deadline;
use crate::wasi::outbound::Incoming;
use alloc::string::String;
use alloc::vec::Vec;
use core::task::{Context, Poll};
use core::time::Duration;

/// What another server answered. Returned from a handler it goes on to the client as it comes, body and trailer fields
/// and all, without the fields that were for this connection.
///
/// ```
/// use tabi::{Request, Result, Router, client, testing};
///
/// async fn proxy(mut req: Request) -> Result<client::Reply> {
///     let url = ["http://inner.example", req.target()].concat();
///     client::request(req.method().clone(), &url).body(req.body().take()).send().await
/// }
///
/// let inner = Router::new().post("/echo", async |mut req: Request| req.text().await);
/// testing::upstream("http://inner.example", inner);
/// let outer = testing::Client::new(Router::new().any("/{*path}", proxy));
/// assert_eq!(outer.post("/echo").body("through").send().text(), "through");
/// assert_eq!(outer.get("/other").send().status().code(), 404);
/// ```
pub struct Reply {
    status: Status,
    headers: Headers,
    body: Body,
}

impl Reply {
    pub(super) fn new(incoming: Incoming, patience: Option<Patience>) -> Reply {
        let Incoming { status, headers, body } = incoming;
        let body = match patience {
            Some(patience) => (patience.watch)(body, patience.duration),
            None => body,
        };
        Reply { status, headers, body }
    }

    /// Returns the status.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the header fields.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Returns the first value of a header field, or `None` where it is absent or not UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Returns the body, to be read by chunk, without a limit.
    pub fn body(&mut self) -> &mut Body {
        &mut self.body
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// 502 where it is larger than 2 MiB ([`limits::BODY`](crate::limits::BODY)) or breaks off; with
    /// [`Body::bytes`] the limit is another. 504 where it stays away for longer than [`Call`](super::Call) waits.
    pub async fn bytes(&mut self) -> Result<Vec<u8>> {
        match self.body.bytes(limits::BODY).await {
            // It is not our client who has sent too much.
            Err(error) if error.status() == Status::CONTENT_TOO_LARGE => {
                Err(Error::new(Status::BAD_GATEWAY, "the answer from upstream is too large"))
            }
            other => other,
        }
    }

    /// Reads the whole body as UTF-8.
    ///
    /// # Errors
    /// As [`Reply::bytes`], and 502 where it is not UTF-8.
    pub async fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes().await?).or_status(Status::BAD_GATEWAY, "the answer from upstream is not UTF-8")
    }

    /// Reads the whole body as JSON, whatever its content type.
    ///
    /// # Errors
    /// As [`Reply::bytes`], and 502 where it is no JSON or of another shape; the log says where.
    #[cfg(feature = "json")]
    pub async fn json<T: serde::de::DeserializeOwned>(&mut self) -> Result<T> {
        let bytes = self.bytes().await?;
        crate::json::read(&bytes).map_err(|error| {
            let what = String::from(error.message());
            Error::new(Status::BAD_GATEWAY, "the answer from upstream is not as expected").because(what)
        })
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(self.body).with_status(self.status);
        let headers = response.headers_mut();
        for (name, value) in self.headers.iter() {
            // Those between neighbours are left out here.
            let _ = headers.append(name, value);
        }
        response
    }
}

/// How long to wait, and how. The latter is a pointer, so that apps that wait as long as it takes are spared it.
pub(super) struct Patience {
    duration: Duration,
    watch: fn(Body, Duration) -> Body,
}

impl Patience {
    pub(super) fn new(duration: Duration) -> Patience {
        Patience { duration, watch: |body, patience| Body::from_stream(Watched { body, patience, deadline: None }) }
    }

    pub(super) fn duration(&self) -> Duration {
        self.duration
    }
}

/// A body of which each piece has to come in time.
struct Watched {
    body: Body,
    patience: Duration,
    deadline: Option<Deadline>,
}

impl Stream for Watched {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        let next = self.body.poll_chunk(cx);
        if next.is_ready() {
            self.deadline = None;
            return next;
        }
        let deadline = self.deadline.get_or_insert_with(|| Deadline::after(self.patience));
        if deadline.poll().is_ready() {
            self.body = Body::empty();
            return Poll::Ready(Some(Err(Error::new(Status::GATEWAY_TIMEOUT, "no answer from upstream in time"))));
        }
        Poll::Pending
    }

    fn len(&self) -> Option<u64> {
        self.body.len()
    }

    fn poll_trailers(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        self.body.poll_trailers(cx)
    }
}
