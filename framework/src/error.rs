//! `Error`: a status and a message for the client, and a cause that only the log sees.

use crate::body::Body;
use crate::headers::Headers;
use crate::response::Response;
use crate::status::Status;
use crate::text::append;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::error::Error as StdError;
use core::fmt;

/// What a handler returns: a response or an [`Error`].
pub type Result<T = Response, E = Error> = core::result::Result<T, E>;

/// Why a request is not answered as asked: a status, a message that the client may read, and a cause for the log.
///
/// `?` turns any error into one: status 500, message "internal error", the error as its cause. The client never sees
/// the text of a cause.
///
/// ```
/// use tabi::{Error, Request, Result, Status};
///
/// async fn year(req: Request) -> Result<String> {
///     let year: i32 = req.param("year")?;                     // 400 by itself
///     if year < 0 {
///         return Err(Error::new(Status::NOT_FOUND, "nothing before year 0"));
///     }
///     let text = core::str::from_utf8(&[0x32, 0x30])?;        // would be a 500, the cause in the log only
///     Ok(text.into())
/// }
/// ```
pub struct Error(Box<Inner>);

struct Inner {
    status: Status,
    message: Cow<'static, str>,
    source: Option<Source>,
    headers: Headers,
}

/// The cause.
enum Source {
    /// A text of our own.
    Reason(Reason),
    /// Somebody's error, and how to print it: only an app that has such errors links the printing.
    Error(Box<dyn StdError>, fn(&dyn StdError) -> String),
}

impl Error {
    /// Returns an error with this status and message. The message is for the client: lower case, no full stop,
    /// the name of what is wrong and never its value.
    #[cold]
    #[inline(never)]
    pub fn new(status: Status, message: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Inner { status, message: message.into(), source: None, headers: Headers::new() }))
    }

    /// Returns a 500 whose reason only the log sees.
    #[cold]
    #[inline(never)]
    pub(crate) fn internal(reason: impl Into<Cow<'static, str>>) -> Error {
        let mut error = Error::new(Status::INTERNAL_SERVER_ERROR, "internal error");
        error.0.source = Some(Source::Reason(Reason(reason.into())));
        error
    }

    /// Adds a reason that only the log sees.
    #[cold]
    #[inline(never)]
    pub(crate) fn because(mut self, reason: String) -> Error {
        self.0.source = Some(Source::Reason(Reason(reason.into())));
        self
    }

    /// Adds the cause, for the log.
    #[cold]
    #[inline(never)]
    pub fn with_source(mut self, source: impl StdError + 'static) -> Error {
        self.0.source = Some(Source::Error(Box::new(source), |error| error.to_string()));
        self
    }

    /// Adds a header field to the answer, such as `WWW-Authenticate` to a 401.
    /// A field that is not well-formed is left out.
    #[cold]
    #[inline(never)]
    pub fn with_header(mut self, name: &str, value: &str) -> Error {
        let _ = self.0.headers.append(name, value);
        self
    }

    /// Returns the status.
    pub fn status(&self) -> Status {
        self.0.status
    }

    /// Returns what the client may see.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the cause, which only the log should see.
    pub fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self.0.source.as_ref()? {
            Source::Reason(reason) => Some(reason),
            Source::Error(error, _) => Some(&**error),
        }
    }

    /// Returns the cause and leaves the rest.
    pub fn into_source(self) -> Option<Box<dyn StdError>> {
        match self.0.source? {
            Source::Reason(reason) => Some(Box::new(reason)),
            Source::Error(error, _) => Some(error),
        }
    }

    /// Writes the cause to the log, if there is one.
    #[cold]
    #[inline(never)]
    pub(crate) fn log(&self) {
        match &self.0.source {
            None => {}
            Some(Source::Reason(reason)) => crate::wasi::log(&reason.0),
            Some(Source::Error(error, print)) => crate::wasi::log(&print(&**error)),
        }
    }

    /// Returns the message as a body.
    pub(crate) fn text(&self) -> Body {
        let mut text = String::new();
        append(&mut text, &self.0.message);
        text.into()
    }

    /// Takes the fields for the answer.
    pub(crate) fn take_headers(&mut self) -> Headers {
        core::mem::take(&mut self.0.headers)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("status", &self.0.status)
            .field("message", &self.0.message)
            .field("source", &self.source())
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

// `Error` is no `core::error::Error` itself: that makes this blanket conversion, and with it `?`, possible.
impl<E: StdError + 'static> From<E> for Error {
    #[cold]
    #[inline(never)]
    fn from(source: E) -> Error {
        Error::new(Status::INTERNAL_SERVER_ERROR, "internal error").with_source(source)
    }
}

/// A cause that is no more than a text.
pub(crate) struct Reason(pub(crate) Cow<'static, str>);

// Not derived: text in quotes brings tables of Unicode into a component.
impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Reason {}

/// Gives what is missing or failed a status: `users.get(id).or_status(Status::NOT_FOUND, "no such user")?`.
pub trait OrStatus<T> {
    /// Returns the value, or an error with this status and message; a cause is kept for the log.
    ///
    /// # Errors
    /// The given one, where there is no value.
    fn or_status(self, status: Status, message: &'static str) -> Result<T>;
}

impl<T> OrStatus<T> for Option<T> {
    fn or_status(self, status: Status, message: &'static str) -> Result<T> {
        self.ok_or_else(|| Error::new(status, message))
    }
}

impl<T, E: StdError + 'static> OrStatus<T> for core::result::Result<T, E> {
    fn or_status(self, status: Status, message: &'static str) -> Result<T> {
        self.map_err(|source| Error::new(status, message).with_source(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails() -> Result<()> {
        String::from_utf8([0xff].into())?;
        Ok(())
    }

    #[test]
    fn the_client_sees_no_cause() {
        let error = fails().unwrap_err();
        assert_eq!((error.status(), error.message()), (Status::INTERNAL_SERVER_ERROR, "internal error"));
        assert!(error.source().is_some_and(|source| source.to_string().contains("utf-8")));
    }

    #[test]
    fn or_status() {
        let missing: Option<u8> = None;
        let error = missing.or_status(Status::NOT_FOUND, "no such user").unwrap_err();
        assert_eq!(
            (error.status(), error.message(), error.source().is_none()),
            (Status::NOT_FOUND, "no such user", true)
        );
        let parsed = "x".parse::<u8>().or_status(Status::BAD_REQUEST, "not a number").unwrap_err();
        assert_eq!((parsed.status(), parsed.into_source().is_some()), (Status::BAD_REQUEST, true));
        assert_eq!(core::mem::size_of::<Error>(), core::mem::size_of::<usize>());
    }
}
