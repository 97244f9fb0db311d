//! JSON in and out, through serde (RFC 8259).

use crate::body::Body;
use crate::error::{Error, Result};
use crate::json_read;
use crate::json_write;
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::stream::Sender;
use crate::text::{concat, decimal};
use alloc::vec::Vec;
use core::future::Future;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value to be answered as JSON, where a handler returns nothing else: `async fn list(_: Request) -> Json<Vec<Todo>>`
/// or `-> Result<Json<Todo>>`. What can't be JSON is a 500.
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        Response::json(&self.0).into_response()
    }
}

impl Request {
    /// Reads the body as JSON.
    ///
    /// A byte-order mark in front is ignored, as RFC 8259, section 8.1, permits; a charset in the content type means
    /// nothing, as its section 11 says: JSON is UTF-8, and what isn't is malformed. Lists and objects may stand in each
    /// other 127 deep. Duplicate and unknown fields are what serde makes of them: a field twice is refused, one that
    /// is unknown is left out unless the type says `#[serde(deny_unknown_fields)]`.
    ///
    /// # Errors
    /// 415 where the content type is not one of JSON (`application/json`, `text/json` or with the suffix `+json`); 413
    /// where the body is over the limit; 400 where it is no JSON; 422 where it is JSON of another shape than asked for.
    /// The message names line and column, and a field that is missing; neither it nor the log repeats the body.
    pub async fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let body = self.json_bytes().await?;
        read(&body)
    }

    async fn json_bytes(&mut self) -> Result<Vec<u8>> {
        if !self.content_type().is_some_and(|kind| is_json(kind.as_bytes())) {
            return Err(Error::new(Status::UNSUPPORTED_MEDIA_TYPE, "expected application/json"));
        }
        self.bytes().await
    }
}

impl Response {
    /// Returns a 200 with a value as JSON.
    ///
    /// # Errors
    /// 500 where the value can't be JSON, such as a map whose keys are no strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Response> {
        Ok(Response::content("application/json", json_write::write(value)?))
    }

    /// Returns a 200 with values as lines of JSON (NDJSON), each written when the reader wants more, as
    /// [`Body::stream`] does it: however many there are, one is in memory.
    ///
    /// ```
    /// use tabi::{Request, Response};
    ///
    /// async fn squares(_: Request) -> Response {
    ///     Response::ndjson(async |mut lines| {
    ///         for number in 1..=3u32 {
    ///             lines.send(&[number, number * number]).await?;
    ///         }
    ///         Ok(())
    ///     })
    /// }
    /// # let page = tabi::testing::Client::new(tabi::Router::new().get("/", squares)).get("/").send();
    /// # assert_eq!((page.text().as_str(), page.header("content-type")), ("[1,1]\n[2,4]\n[3,9]\n", Some("application/x-ndjson")));
    /// ```
    pub fn ndjson<F, C>(code: C) -> Response
    where
        C: FnOnce(Lines) -> F,
        F: Future<Output = Result<()>> + 'static,
    {
        Response::content("application/x-ndjson", Body::stream(|out| code(Lines(out))))
    }
}

/// Where the code behind [`Response::ndjson`] sends its values.
pub struct Lines(Sender);

impl Lines {
    /// Sends a value as a line; returns once there is room for it.
    ///
    /// # Errors
    /// 500 where the value can't be JSON: pass it on with `?`, and the answer breaks off.
    pub async fn send<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let mut line = json_write::write(value)?;
        line.push('\n');
        self.0.send(line).await;
        Ok(())
    }
}

/// Tells whether a media type is one of JSON (WHATWG MIME Sniffing, section 4.6; RFC 6839, section 3.1).
fn is_json(kind: &[u8]) -> bool {
    matches!(kind, b"application/json" | b"text/json") || (kind.ends_with(b"+json") && kind.contains(&b'/'))
}

/// Reads JSON in UTF-8.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    json_read::read(text(bytes)?).map_err(|(fault, line, column)| bad_json(&fault, line, column))
}

fn text(bytes: &[u8]) -> Result<&str> {
    core::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
        .map_err(|_| Error::new(Status::BAD_REQUEST, "malformed JSON: not UTF-8"))
}

#[cold]
#[inline(never)]
fn bad_json(fault: &json_read::Fault, line: usize, column: usize) -> Error {
    let (status, what) = match fault.malformed {
        true => (Status::BAD_REQUEST, "malformed JSON at line "),
        false => (Status::UNPROCESSABLE_CONTENT, "JSON of another shape than expected at line "),
    };
    let (open, close) = if fault.field.is_empty() { ("", "") } else { (" `", "`") };
    let (line, column) = (decimal(line as u64), decimal(column as u64));
    let place = concat([what, &line, ", column ", &column, ": ", fault.what]);
    Error::new(status, concat([&place, open, fault.field, close]))
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
