//! `Response`: what goes back, and `IntoResponse`, what can become one.

use crate::body::Body;
use crate::error::Error;
use crate::headers::Headers;
use crate::status::Status;
use crate::text::decimal;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// A response: status, header fields and body.
///
/// On the heap: it is handed on many times on its way, which costs a component less with one word than with ten.
pub struct Response(Box<Inner>);

struct Inner {
    status: Status,
    headers: Headers,
    body: Body,
    error: Option<Error>,
}

impl Default for Response {
    fn default() -> Response {
        Response::with(Body::empty())
    }
}

impl Default for Status {
    fn default() -> Status {
        Status::OK
    }
}

impl Response {
    /// Returns a 200 with this body and no header fields.
    pub fn new(body: impl Into<Body>) -> Response {
        Response::with(body.into())
    }

    #[inline(never)]
    fn with(body: Body) -> Response {
        Response(Box::new(Inner { status: Status::OK, headers: Headers::new(), body, error: None }))
    }

    /// Returns a 200 with a body of this content type.
    pub fn content(content_type: &str, body: impl Into<Body>) -> Response {
        Response::new(body).with_header("content-type", content_type)
    }

    /// Returns a 200 with plain text.
    pub fn text(text: impl Into<Body>) -> Response {
        Response::of("text/plain; charset=utf-8", text.into())
    }

    /// Returns a 200 with an HTML page.
    pub fn html(html: impl Into<Body>) -> Response {
        Response::of("text/html; charset=utf-8", html.into())
    }

    /// As [`Response::content`] for a type that needs no check.
    pub(crate) fn of(content_type: &'static str, body: Body) -> Response {
        let mut response = Response::new(body);
        response.0.headers.push_static("content-type", content_type);
        response
    }

    /// Returns a 303: look there, with GET (RFC 9110, section 15.4.4). The usual answer to a form.
    pub fn redirect(location: &str) -> Response {
        Status::SEE_OTHER.into_response().with_header("location", location)
    }

    /// Returns a 307: ask there, this time, with the same method and body.
    pub fn redirect_temporary(location: &str) -> Response {
        Status::TEMPORARY_REDIRECT.into_response().with_header("location", location)
    }

    /// Returns a 308: ask there, from now on, with the same method and body.
    pub fn redirect_permanent(location: &str) -> Response {
        Status::PERMANENT_REDIRECT.into_response().with_header("location", location)
    }

    /// Returns it with another status.
    #[must_use]
    pub fn with_status(mut self, status: Status) -> Response {
        self.0.status = status;
        self
    }

    /// Returns it with a header field that replaces those of the same name.
    ///
    /// A name that is no token, or a value with a control character such as CR or LF, makes it a 500 with the reason
    /// in the log: such a field could split the message.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Response {
        match self.0.headers.insert(name, value) {
            Ok(()) => self,
            Err(error) => error.into_response(),
        }
    }

    /// Returns it with one more header field. As [`Response::with_header`] otherwise.
    #[must_use]
    pub fn with_appended(mut self, name: &str, value: &str) -> Response {
        match self.0.headers.append(name, value) {
            Ok(()) => self,
            Err(error) => error.into_response(),
        }
    }

    /// Returns it with another body.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<Body>) -> Response {
        self.0.body = body.into();
        self
    }

    /// Returns the status.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// Returns the header fields.
    pub fn headers(&self) -> &Headers {
        &self.0.headers
    }

    /// Returns the header fields, to change them.
    pub fn headers_mut(&mut self) -> &mut Headers {
        &mut self.0.headers
    }

    /// Returns the first value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name)
    }

    /// Returns the body.
    pub fn body(&mut self) -> &mut Body {
        &mut self.0.body
    }

    /// Returns the error that it was made from, for middleware that renders errors or counts them.
    pub fn error(&self) -> Option<&Error> {
        self.0.error.as_ref()
    }

    /// Makes it ready for the wire, whatever a handler did: see the comments.
    pub(crate) fn finish(&mut self, head: bool) {
        if let Some(error) = self.error() {
            error.log();
        }
        if self.status().is_informational() {
            // RFC 9110, section 15.2: an interim status is no answer.
            crate::wasi::log("a handler answered with an interim status (1xx)");
            *self = Response::refusal(Status::INTERNAL_SERVER_ERROR, "internal error");
        }
        let Inner { status, headers, body, .. } = &mut *self.0;
        if !headers.contains("x-content-type-options") {
            headers.push_static("x-content-type-options", "nosniff");
        }
        if status.is_bodiless() {
            if *status != Status::NOT_MODIFIED {
                // RFC 9110, section 8.6: no Content-Length with 1xx or 204; with 304 it may tell the length of a 200.
                headers.remove(LENGTH);
            }
        } else if let Some(length) = body.len()
            && !(head && length == 0 && headers.contains(LENGTH))
        {
            headers.set(LENGTH, decimal(length));
        }
        if head || status.is_bodiless() {
            *body = Body::empty();
        }
    }

    /// Returns what an error with this status and message becomes.
    #[cold]
    #[inline(never)]
    pub(crate) fn refusal(status: Status, message: &'static str) -> Response {
        Error::new(status, message).into_response()
    }

    #[allow(dead_code, reason = "not every runtime takes it apart")]
    pub(crate) fn into_parts(self) -> (Status, Headers, Body) {
        (self.0.status, self.0.headers, self.0.body)
    }
}

const LENGTH: &str = "content-length";

/// What a handler may return.
#[diagnostic::on_unimplemented(
    message = "a handler can't return `{Self}`",
    label = "this is no response",
    note = "return text, bytes, a `Status`, a `Response`, or a `Result` of these; for JSON, `Response::json(&value)`"
)]
pub trait IntoResponse {
    /// Makes a response of it.
    fn into_response(self) -> Response;
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

impl IntoResponse for Status {
    fn into_response(self) -> Response {
        Response::default().with_status(self)
    }
}

/// Nothing is 204.
impl IntoResponse for () {
    fn into_response(self) -> Response {
        Status::NO_CONTENT.into_response()
    }
}

impl IntoResponse for &'static str {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

impl IntoResponse for String {
    fn into_response(self) -> Response {
        Response::text(self)
    }
}

impl IntoResponse for Cow<'static, str> {
    fn into_response(self) -> Response {
        match self {
            Cow::Borrowed(text) => Response::text(text),
            Cow::Owned(text) => Response::text(text),
        }
    }
}

impl IntoResponse for Vec<u8> {
    fn into_response(self) -> Response {
        Response::of("application/octet-stream", self.into())
    }
}

impl IntoResponse for &'static [u8] {
    fn into_response(self) -> Response {
        Response::of("application/octet-stream", self.into())
    }
}

/// A plain text with the message; the cause stays with the response for middleware and the log.
impl IntoResponse for Error {
    fn into_response(mut self) -> Response {
        let mut response = Response::new(self.text()).with_status(self.status());
        response.0.headers = self.take_headers();
        response.0.headers.push_static("content-type", "text/plain; charset=utf-8");
        response.0.error = Some(self);
        response
    }
}

impl<T: IntoResponse, E: Into<Error>> IntoResponse for Result<T, E> {
    fn into_response(self) -> Response {
        match self {
            Ok(value) => value.into_response(),
            Err(error) => error.into().into_response(),
        }
    }
}
