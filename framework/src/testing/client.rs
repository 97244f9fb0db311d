//! `Client` and `Call`: requests to a router, put together and sent.

use super::cookies::{Cookies, Url};
use super::{Reply, block_on};
use crate::app::App;
use crate::body::{Body, Stream};
use crate::date::Date;
use crate::error::Result;
use crate::method::Method;
use crate::request::Request;
use crate::router::Router;
use crate::wasi::Head;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::{self, Vec};
use core::cell::RefCell;
use core::task::{Context, Poll};
use core::time::Duration;

/// Sends requests to a router. Requests take the same way as those of a runtime, up to the translation.
///
/// ```
/// use tabi::{Router, testing::Client};
///
/// let client = Client::new(Router::new().get("/", async |_| "hello"));
/// let page = client.get("/").send();
/// assert_eq!((page.status().code(), page.text().as_str()), (200, "hello"));
/// ```
///
/// It is a browser with one user: it keeps the cookies that it gets and sends them back where they belong
/// ([`Cookies`] says how). Its clock stands still until it is told otherwise.
pub struct Client {
    app: &'static App,
    cookies: Rc<RefCell<Cookies>>,
}

/// A request that is being put together.
#[must_use = "nothing happens before `send`"]
pub struct Call {
    app: &'static App,
    method: Method,
    target: String,
    head: Head,
    cookies: Rc<RefCell<Cookies>>,
}

impl Client {
    /// Returns a client of this router.
    pub fn new(router: Router) -> Client {
        Client { app: router.into_app().leak(), cookies: Rc::default() }
    }

    /// Returns another user of the same app, without cookies.
    pub fn fresh(&self) -> Client {
        Client { app: self.app, cookies: Rc::default() }
    }

    /// Returns the value of a cookie that is kept, of whatever host and path.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.borrow().get(name)
    }

    /// Sets the time by which cookies end; it begins with 2026.
    pub fn set_time(&self, now: Date) {
        self.cookies.borrow_mut().set_time(now);
    }

    /// Lets time pass.
    pub fn wait(&self, time: Duration) {
        let mut cookies = self.cookies.borrow_mut();
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        let now = Date::from_unix(cookies.time().unix().saturating_add(seconds));
        cookies.set_time(now);
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
        let head = Head { authority: Some(String::from("localhost")), ..Head::default() };
        Call { app: self.app, method, target: target.into(), head, cookies: self.cookies.clone() }
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

    /// Sets the scheme that the client came by; the default is `http`.
    pub fn scheme(mut self, scheme: &str) -> Call {
        self.head.scheme = Some(scheme.into());
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
        match crate::json_write::write(value) {
            Ok(bytes) => self.header("content-type", "application/json").body(bytes),
            Err(_) => crate::wasi::fail("the value can't be JSON"),
        }
    }

    /// Sends it, with the cookies that belong to it, and reads the answer.
    ///
    /// A `Cookie` field that was set by hand goes alone.
    pub fn send(mut self) -> Reply {
        let scheme = self.head.scheme().unwrap_or_default();
        let authority = self.head.authority().unwrap_or_default();
        let url = Url::new(&scheme, &authority, &self.target);
        let cookies = self.cookies.borrow().field(&url);
        if !cookies.is_empty() && !self.head.headers.contains("cookie") {
            // What was kept has no control characters.
            let _ = self.head.headers.append("cookie", cookies);
        }
        let request = Request::new(self.method, self.target, self.head);
        let reply = Reply::read(self.app.respond(request, block_on));
        crate::wasi::after::finish();
        for field in reply.headers().get_all_bytes("set-cookie") {
            self.cookies.borrow_mut().keep(&url, field);
        }
        reply
    }
}

struct Chunks(vec::IntoIter<Vec<u8>>);

impl Stream for Chunks {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        Poll::Ready(self.0.next().map(Ok))
    }
}
