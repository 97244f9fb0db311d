//! `Request`: a view of what the client sent. Nothing is fetched before it is asked for.

use crate::app::{App, Route};
use crate::body::Body;
use crate::error::{Error, OrStatus, Result};
use crate::extensions::Extensions;
use crate::headers::Headers;
use crate::limits;
use crate::method::Method;
use crate::pairs::Pairs;
use crate::status::Status;
use crate::text::{concat, find, split};
use crate::wasi::Head;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::str::FromStr;

/// A request: its method, target, header fields and body, and what the router found in its path.
pub struct Request(Box<Inner>);

struct Inner {
    method: Method,
    target: String,
    path_length: usize,
    /// Where the runtime keeps the rest of the head until somebody asks.
    head: Head,
    headers: OnceCell<Headers>,
    /// The body, once somebody has asked for it.
    body: Option<Body>,
    body_limit: usize,
    app: Option<&'static App>,
    scope: usize,
    route: Option<&'static Route>,
    extensions: Extensions,
}

impl Request {
    pub(crate) fn new(method: Method, target: String, head: Head) -> Request {
        Request(Box::new(Inner {
            method,
            path_length: find(&target, b'?'),
            target,
            head,
            headers: OnceCell::new(),
            body: None,
            body_limit: limits::BODY,
            app: None,
            scope: 0,
            route: None,
            extensions: Extensions::new(),
        }))
    }

    /// Returns the method.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// Returns the path as it came, percent-encoded and without the query.
    pub fn path(&self) -> &str {
        split(self.target(), self.0.path_length).0
    }

    /// Returns what follows the `?`, percent-encoded, or `None` where there is none.
    pub fn query_string(&self) -> Option<&str> {
        self.target().get(self.0.path_length + 1..)
    }

    /// Returns path and query as they came.
    pub fn target(&self) -> &str {
        &self.0.target
    }

    /// Returns `http` or `https`, or `None` where the runtime doesn't say.
    pub fn scheme(&self) -> Option<String> {
        self.0.head.scheme()
    }

    /// Returns host and port as the client named them, or `None` where it did not.
    pub fn authority(&self) -> Option<String> {
        self.0.head.authority().or_else(|| self.header("host").map(String::from))
    }

    /// Returns the header fields; they are fetched from the runtime once, when first asked for.
    pub fn headers(&self) -> &Headers {
        static NONE: Headers = Headers::new();
        if self.0.headers.get().is_none() {
            let _ = self.0.headers.set(self.0.head.headers());
        }
        self.0.headers.get().unwrap_or(&NONE)
    }

    /// Returns the header fields, to change them on the way to the next handler.
    pub fn headers_mut(&mut self) -> &mut Headers {
        self.headers();
        match self.0.headers.get_mut() {
            Some(headers) => headers,
            // A cell that was filled a line before is not empty.
            None => crate::wasi::fail("the header fields are gone"),
        }
    }

    /// Returns the first value of a header field, or `None` where it is absent or not UTF-8.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)
    }

    /// Returns what stands at `{name}` in the route's pattern, decoded and parsed.
    ///
    /// # Errors
    /// 400 where it doesn't parse; 500 where the route has no such parameter, which is a programmer's mistake.
    pub fn param<T: FromStr>(&self, name: &str) -> Result<T> {
        self.raw_param(name)?.parse().map_err(|_| bad_param(name))
    }

    /// Returns the decoded text at `{name}`.
    ///
    /// # Errors
    /// 500 where the route has no such parameter.
    pub fn raw_param(&self, name: &str) -> Result<Cow<'_, str>> {
        let mut index = 0;
        while let Some((known, value)) = self.nth_param(index) {
            if known == name {
                return Ok(value);
            }
            index += 1;
        }
        Err(no_param(self.route(), name))
    }

    /// Returns the names and decoded values of all parameters, in the order of the pattern.
    pub fn params(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        (0..).map_while(|index| self.nth_param(index))
    }

    fn nth_param(&self, index: usize) -> Option<(&str, Cow<'_, str>)> {
        self.0.route?.pattern.param(self.path(), index)
    }

    /// Returns the pattern of the route, with the prefixes of the routers around it.
    pub fn route(&self) -> Option<&'static str> {
        Some(self.0.route?.pattern.as_str())
    }

    /// Returns the first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        self.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
    }

    /// Returns all pairs of the query string, decoded, in their order.
    pub fn query_pairs(&self) -> Pairs<'_> {
        Pairs::new(self.query_string().unwrap_or_default())
    }

    /// Returns state that was put into the router, or into one around it.
    ///
    /// # Errors
    /// 500 where there is no such state, which is a programmer's mistake.
    pub fn state<T: 'static>(&self) -> Result<&'static T> {
        self.0.app.and_then(|app| app.state(self.0.scope)).ok_or_else(|| no_state(core::any::type_name::<T>()))
    }

    /// Returns what middleware handed on.
    pub fn extensions(&self) -> &Extensions {
        &self.0.extensions
    }

    /// Returns what middleware handed on, to hand on more.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.0.extensions
    }

    /// Returns the path of a named route, with the parameters filled in and escaped.
    ///
    /// # Errors
    /// 500 where there is no route of this name, or a parameter is missing, empty or has NUL in it: no path would match.
    pub fn url(&self, name: &str, params: &[(&str, &str)]) -> Result<String> {
        let route = self.0.app.and_then(|app| app.named(name));
        let path = route.and_then(|route| route.pattern.fill(params));
        path.ok_or_else(|| Error::internal(concat(["no route named `", name, "` with these parameters"])))
    }

    /// Returns the media type of the body in lower case, without its parameters.
    pub fn content_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or(value).trim().to_ascii_lowercase())
    }

    /// Returns the body, to be read by chunk: without a limit, but never more in memory than a chunk.
    pub fn body(&mut self) -> &mut Body {
        let Inner { head, body, .. } = &mut *self.0;
        body.get_or_insert_with(|| head.body())
    }

    /// Returns the trailer fields that the client sent after the body, where there are any. Reads and drops what is
    /// left of the body.
    ///
    /// # Errors
    /// 400 where the client breaks off.
    pub async fn trailers(&mut self) -> Result<Option<Headers>> {
        while self.body().chunk().await?.is_some() {}
        self.0.head.trailers().await
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// 413 where it is larger than the limit, 2 MiB or what [`BodyLimit`](crate::BodyLimit) says; the rest is not
    /// read. 400 where the client breaks off.
    pub async fn bytes(&mut self) -> Result<Vec<u8>> {
        let limit = self.0.body_limit;
        // A length that is announced is enough to refuse: RFC 9110, section 15.5.14.
        let announced = self.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        if announced > limit as u64 {
            return Err(Error::new(Status::CONTENT_TOO_LARGE, "body is too large"));
        }
        self.body().read(limit, announced as usize).await
    }

    /// Reads the whole body as UTF-8.
    ///
    /// # Errors
    /// As [`Request::bytes`], and 400 where it is not UTF-8.
    pub async fn text(&mut self) -> Result<String> {
        String::from_utf8(self.bytes().await?).or_status(Status::BAD_REQUEST, "body is not UTF-8")
    }

    /// Returns how many bytes of the body may be read into memory.
    pub fn body_limit(&self) -> usize {
        self.0.body_limit
    }

    pub(crate) fn set_body_limit(&mut self, limit: usize) {
        self.0.body_limit = limit;
    }

    /// Says which app answers the request, and by which route, if there is one.
    pub(crate) fn set_app(&mut self, app: &'static App, route: Option<&'static Route>) {
        self.0.app = Some(app);
        self.0.route = route;
    }

    pub(crate) fn set_scope(&mut self, scope: usize) {
        self.0.scope = scope;
    }
}

#[cold]
fn bad_param(name: &str) -> Error {
    Error::new(Status::BAD_REQUEST, concat(["bad path parameter `", name, "`"]))
}

#[cold]
fn no_param(route: Option<&str>, name: &str) -> Error {
    Error::internal(concat(["no parameter `", name, "` in route ", route.unwrap_or_default()]))
}

#[cold]
fn no_state(name: &str) -> Error {
    Error::internal(concat(["the router has no state of type `", name, "`"]))
}
