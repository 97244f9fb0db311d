//! JSON in and out, through serde.

use crate::error::{Error, Result};
use crate::request::Request;
use crate::response::Response;
use crate::status::Status;
use crate::text::{concat, decimal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

impl Request {
    /// Reads the body as JSON.
    ///
    /// # Errors
    /// 415 where the content type is neither `application/json` nor one with the suffix `+json`; 413 where the body
    /// is over the limit; 400 where it is no JSON; 422 where it is JSON of another shape than asked for. The message
    /// names line and column and never repeats the body.
    pub async fn json<T: DeserializeOwned>(&mut self) -> Result<T> {
        let body = self.json_bytes().await?;
        serde_json::from_slice(&body).map_err(bad_json)
    }

    async fn json_bytes(&mut self) -> Result<alloc::vec::Vec<u8>> {
        let is_json =
            |kind: &str| kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
        if !self.content_type().is_some_and(|kind| is_json(&kind)) {
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
}

#[cold]
fn bad_json(error: serde_json::Error) -> Error {
    let (status, what) = match error.classify() {
        Category::Data => (Status::UNPROCESSABLE_CONTENT, "JSON of another shape than expected at line "),
        _ => (Status::BAD_REQUEST, "malformed JSON at line "),
    };
    let place = concat([what, &decimal(error.line() as u64), ", column ", &decimal(error.column() as u64)]);
    Error::new(status, place).with_source(error)
}
