//! `Reply`: what came back, read to its end.

use super::block_on;
use crate::error::Error;
use crate::headers::Headers;
use crate::response::Response;
use crate::status::Status;
use alloc::string::String;
use alloc::vec::Vec;

/// What came back, read to its end.
pub struct Reply {
    status: Status,
    headers: Headers,
    body: Vec<u8>,
    trailers: Option<Headers>,
    broken: Option<Error>,
}

impl Reply {
    /// Reads a response to its end.
    pub(super) fn read(response: Response) -> Reply {
        let (status, headers, mut body) = response.into_parts();
        let mut reply = Reply { status, headers, body: Vec::new(), trailers: None, broken: None };
        block_on(async move {
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
        match crate::json::read(&self.body) {
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
