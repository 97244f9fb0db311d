//! A client for tests: runs an app natively, without a port or a runtime, in microseconds.

use crate::app::App;
use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::method::Method;
use crate::request::Request;
use crate::router::Router;
use crate::status::Status;
use crate::wasi::Head;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::{self, Vec};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::task::Wake;
use std::thread::{self, Thread};

/// Sends requests to a router. Requests take the same way as those of a runtime, up to the translation.
///
/// ```
/// use tabi::{Router, testing::Client};
///
/// let client = Client::new(Router::new().get("/", async |_| "hello"));
/// let page = client.get("/").send();
/// assert_eq!((page.status().code(), page.text().as_str()), (200, "hello"));
/// ```
pub struct Client {
    app: &'static App,
}

/// A request that is being put together.
#[must_use = "nothing happens before `send`"]
pub struct Call {
    app: &'static App,
    method: Method,
    target: String,
    head: Head,
}

/// What came back, read to its end.
pub struct Reply {
    status: Status,
    headers: Headers,
    body: Vec<u8>,
    trailers: Option<Headers>,
    broken: Option<Error>,
}

impl Client {
    /// Returns a client of this router.
    pub fn new(router: Router) -> Client {
        Client { app: router.into_app().leak() }
    }

    /// Begins a GET.
    pub fn get(&self, target: &str) -> Call {
        self.request(Method::GET, target)
    }

    /// Begins a HEAD.
    pub fn head(&self, target: &str) -> Call {
        self.request(Method::HEAD, target)
    }

    /// Begins a POST.
    pub fn post(&self, target: &str) -> Call {
        self.request(Method::POST, target)
    }

    /// Begins a PUT.
    pub fn put(&self, target: &str) -> Call {
        self.request(Method::PUT, target)
    }

    /// Begins a PATCH.
    pub fn patch(&self, target: &str) -> Call {
        self.request(Method::PATCH, target)
    }

    /// Begins a DELETE.
    pub fn delete(&self, target: &str) -> Call {
        self.request(Method::DELETE, target)
    }

    /// Begins an OPTIONS.
    pub fn options(&self, target: &str) -> Call {
        self.request(Method::OPTIONS, target)
    }

    /// Begins a request with any method.
    pub fn request(&self, method: Method, target: &str) -> Call {
        let head = Head { headers: Headers::new(), authority: Some(String::from("localhost")), body: Body::empty(), trailers: None };
        Call { app: self.app, method, target: target.into(), head }
    }
}

impl Call {
    /// Adds a header field.
    ///
    /// # Panics
    /// Where name or value are not well-formed.
    #[track_caller]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Call {
        if self.head.headers.append(name, value).is_err() {
            crate::wasi::fail("malformed header field");
        }
        self
    }

    /// Sets the host that the client means; the default is `localhost`.
    pub fn authority(mut self, authority: &str) -> Call {
        self.head.authority = Some(authority.into());
        self
    }

    /// Sets the body, with its length.
    #[track_caller]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Call {
        let body = body.into();
        self.head.headers.remove("content-length");
        let length = crate::text::decimal(body.len() as u64);
        self.head.body = body.into();
        self.header("content-length", length)
    }

    /// Sets a body that comes in pieces, without a length.
    pub fn chunks<C: Into<Vec<u8>>>(mut self, chunks: impl IntoIterator<Item = C>) -> Call {
        let chunks: Vec<Vec<u8>> = chunks.into_iter().map(Into::into).collect();
        self.head.body = Body::from_stream(Chunks(chunks.into_iter()));
        self
    }

    /// Sets a body of one's own making.
    pub fn stream(mut self, body: Body) -> Call {
        self.head.body = body;
        self
    }

    /// Sets the body to a value as JSON, with its content type.
    ///
    /// # Panics
    /// Where the value can't be JSON.
    #[cfg(feature = "json")]
    #[track_caller]
    pub fn json<T: serde::Serialize + ?Sized>(self, value: &T) -> Call {
        match serde_json::to_vec(value) {
            Ok(bytes) => self.header("content-type", "application/json").body(bytes),
            Err(_) => crate::wasi::fail("the value can't be JSON"),
        }
    }

    /// Sends it and reads the answer.
    pub fn send(self) -> Reply {
        let request = Request::new(self.method, self.target, self.head);
        let (status, headers, mut body) = self.app.respond(request, |answer| block_on(answer)).into_parts();
        block_on(async move {
            let mut reply = Reply { status, headers, body: Vec::new(), trailers: None, broken: None };
            loop {
                match body.chunk().await {
                    Ok(Some(chunk)) => reply.body.extend(chunk),
                    Ok(None) => break,
                    Err(error) => {
                        reply.broken = Some(error);
                        return reply;
                    }
                }
            }
            reply.trailers = body.trailers().await.ok().flatten();
            reply
        })
    }
}

impl Reply {
    /// Returns the status.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the header fields.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Returns the first value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Returns the body.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// Returns the body as text; what is no UTF-8 becomes U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body, read as JSON.
    ///
    /// # Panics
    /// Where it is not JSON of this shape.
    #[cfg(feature = "json")]
    #[track_caller]
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> T {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => crate::wasi::fail(&alloc::format!("{error} in {}", self.text())),
        }
    }

    /// Returns the trailer fields.
    pub fn trailers(&self) -> Option<&Headers> {
        self.trailers.as_ref()
    }

    /// Returns why the body broke off, if it did.
    pub fn broken(&self) -> Option<&Error> {
        self.broken.as_ref()
    }
}

/// Runs a future to its end on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
        thread::park();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

struct Chunks(vec::IntoIter<Vec<u8>>);

impl Stream for Chunks {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}
