//! `Choice`: what a request and a handler's offers have agreed on.

use crate::accept::Accept;
use crate::error::{Error, Result};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use alloc::string::String;

/// What a request and an offer have agreed on.
///
/// [`Choice::respond`] says so in the answer; it is a text otherwise: `match &*choice { "text/html" => … }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice<'o> {
    offer: &'o str,
    /// The field that was looked at, and the one that tells what came of it.
    field: &'static str,
    tells: &'static str,
}

impl<'o> Choice<'o> {
    /// Returns the offer that was chosen.
    pub fn as_str(self) -> &'o str {
        self.offer
    }

    /// Returns an answer with what was looked at in `Vary`, so that no cache gives it to a client that chooses
    /// something else, and with what was chosen in `Content-Type`, `Content-Language` or `Content-Encoding`.
    pub fn respond(self, response: impl IntoResponse) -> Response {
        let response = response.into_response().with_vary(self.field);
        // An error is in the language and the type of the framework. Nor is `identity` ever told.
        if self.tells.is_empty() || self.offer == "identity" || response.error().is_some() {
            return response;
        }
        response.with_header(self.tells, self.offer)
    }
}

impl core::ops::Deref for Choice<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.offer
    }
}

impl Request {
    /// Chooses what media type to answer with, by `Accept`.
    ///
    /// ```
    /// use tabi::{Request, Response, Result};
    ///
    /// async fn page(req: Request) -> Result {
    ///     let kind = req.accepts(&["text/html; charset=utf-8", "application/json"])?;
    ///     Ok(kind.respond(match &*kind {
    ///         "application/json" => "{\"hello\":\"world\"}",
    ///         _ => "<p>hello world",
    ///     }))
    /// }
    /// # let client = tabi::testing::Client::new(tabi::Router::new().get("/", page));
    /// # let reply = client.get("/").header("accept", "application/*").send();
    /// # assert_eq!((reply.header("content-type"), reply.header("vary")), (Some("application/json"), Some("accept")));
    /// # assert_eq!(client.get("/").send().header("content-type"), Some("text/html; charset=utf-8"));
    /// # assert_eq!(client.get("/").header("accept", "image/*").send().status().code(), 406);
    /// ```
    ///
    /// # Errors
    /// 406 where the client accepts none of the offers.
    pub fn accepts<'o>(&self, offers: &[&'o str]) -> Result<Choice<'o>> {
        choose(Accept::media_types(self.headers()).best(offers), offers, "accept", "content-type")
    }

    /// Chooses what charset to answer with, by `Accept-Charset`. Clients have stopped to send it, and all of them
    /// understand UTF-8 (RFC 9110, section 12.5.2).
    ///
    /// # Errors
    /// 406 where the client accepts none of the offers.
    pub fn accepts_charset<'o>(&self, offers: &[&'o str]) -> Result<Choice<'o>> {
        choose(Accept::charsets(self.headers()).best(offers), offers, "accept-charset", "")
    }

    /// Chooses what language to answer in, by `Accept-Language`. Where the client accepts none of the offers, it is the
    /// first: somebody may still be able to read it (RFC 9110, section 12.5.4).
    pub fn accepts_language<'o>(&self, offers: &[&'o str]) -> Choice<'o> {
        let best = Accept::languages(self.headers()).best(offers);
        let offer = best.or_else(|| offers.first().copied()).unwrap_or_default();
        Choice { offer, field: "accept-language", tells: if offer.is_empty() { "" } else { "content-language" } }
    }

    /// Chooses how to encode an answer, by `Accept-Encoding`: one of the offers, or `identity`, which is no coding.
    pub fn accepts_encoding<'o>(&self, offers: &[&'o str]) -> Choice<'o> {
        let offer = Accept::encodings(self.headers()).best(offers).unwrap_or("identity");
        Choice { offer, field: "accept-encoding", tells: "content-encoding" }
    }
}

fn choose<'o>(
    best: Option<&'o str>,
    offers: &[&'o str],
    field: &'static str,
    tells: &'static str,
) -> Result<Choice<'o>> {
    best.map(|offer| Choice { offer, field, tells }).ok_or_else(|| not_acceptable(field, offers))
}

/// RFC 9110, section 15.5.7: the answer tells what there is.
#[cold]
fn not_acceptable(field: &str, offers: &[&str]) -> Error {
    let mut message = String::from("not acceptable; there is ");
    for (index, offer) in offers.iter().enumerate() {
        message.push_str(if index > 0 { ", " } else { "" });
        message.push_str(offer);
    }
    Error::new(Status::NOT_ACCEPTABLE, message).with_header("vary", field)
}
