//! JSON in and out, through serde (RFC 8259).

use crate::body::Body;
use crate::error::{Error, Reason, Result};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::stream::Sender;
use crate::text::{concat, decimal};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::future::Future;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

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
        serde_json::from_slice(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&body)).map_err(bad_json)
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
        let bytes = serde_json::to_vec(value)?;
        Ok(Response::content("application/json", bytes))
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
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.0.send(line).await;
        Ok(())
    }
}

/// Tells whether a media type is one of JSON (WHATWG MIME Sniffing, section 4.6; RFC 6839, section 3.1).
fn is_json(kind: &[u8]) -> bool {
    matches!(kind, b"application/json" | b"text/json") || (kind.ends_with(b"+json") && kind.contains(&b'/'))
}

#[cold]
fn bad_json(error: serde_json::Error) -> Error {
    let (line, column) = (decimal(error.line() as u64), decimal(error.column() as u64));
    let text = error.to_string();
    let reason = text.strip_suffix(&concat([" at line ", &line, " column ", &column])).unwrap_or(&text);
    let (status, what, reason, hint) = match error.classify() {
        Category::Data => {
            let (reason, hint) = misfit(reason);
            (Status::UNPROCESSABLE_CONTENT, "JSON of another shape than expected", reason, hint)
        }
        // These texts are fixed, such as "trailing comma".
        _ => (Status::BAD_REQUEST, "malformed JSON", reason.into(), reason),
    };
    let colon = if hint.is_empty() { "" } else { ": " };
    let message = concat([what, " at line ", &line, ", column ", &column, colon, hint]);
    Error::new(status, message).with_source(Reason(reason.into()))
}

/// Returns what of serde's text about a misfit may be logged and what the client may read, since serde repeats values
/// and names that came from the client.
fn misfit(text: &str) -> (String, &str) {
    if text.starts_with("missing field `") || text.starts_with("duplicate field `") {
        // The name is the app's: the derived code has it.
        return (text.into(), text);
    }
    for kind in ["invalid type", "invalid value", "invalid length"] {
        if text.starts_with(kind) {
            // What follows the last of these is the app's, too.
            let tail = text.as_bytes().windows(11).rposition(|window| window == b", expected ");
            return (concat([kind, tail.and_then(|at| text.get(at..)).unwrap_or_default()]), "");
        }
    }
    for kind in ["unknown field", "unknown variant"] {
        if text.starts_with(kind) {
            return (kind.into(), kind);
        }
    }
    (String::from("refused by its type"), "")
}
