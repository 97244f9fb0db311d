//! `Form`: what a form holds, read from a body or to be sent (application/x-www-form-urlencoded).

use crate::error::{Error, Result};
use crate::limits;
use crate::pairs::{self, Pairs};
use crate::parameter::{Parameters, take};
use crate::request::Request;
use crate::status::Status;
use crate::text::{concat, decimal};
use alloc::string::String;
use alloc::vec::Vec;

const TYPE: &str = "application/x-www-form-urlencoded";

/// Names and values, in their order; a name may stand several times.
///
/// ```
/// use tabi::{Form, OrStatus, Request, Response, Result, Status};
///
/// async fn search(mut req: Request) -> Result {
///     let form = req.form().await?; // 415, 413 or 400 by itself
///     let words = form.get("words").or_status(Status::BAD_REQUEST, "words are missing")?;
///     let query = Form::new().with("q", words).with("page", "1").encode();
///     Ok(Response::redirect(&tabi::concat(["/results?", &query])))
/// }
/// # let client = tabi::testing::Client::new(tabi::Router::new().post("/", search));
/// # let page = client.post("/").form(&Form::new().with("words", "caf\u{e9} & more")).send();
/// # assert_eq!(page.header("location"), Some("/results?q=caf%C3%A9+%26+more&page=1"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Returns a form without fields.
    pub const fn new() -> Form {
        Form(Vec::new())
    }

    /// Returns it with one more field.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Form {
        self.append(name, value);
        self
    }

    /// Adds a field and keeps those of the same name.
    pub fn append(&mut self, name: &str, value: &str) {
        self.0.push((name.into(), value.into()));
    }

    /// Returns the first value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns each value of a field, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns all fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns how many fields there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns it as the body of a form or, after a `?`, as a query string has it.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.0 {
            pairs::push(&mut text, name, value);
        }
        text
    }
}

impl Request {
    /// Reads the body as a form.
    ///
    /// # Errors
    /// 415 where the content type is not `application/x-www-form-urlencoded`, or names a charset other than UTF-8:
    /// the standard knows no other, and text that was decoded wrongly can't be told from text that is meant so. (ASCII
    /// is a part of UTF-8 and may be named, too.) 413 where the body is over the limit; 400 where there are more than
    /// 1,000 fields ([`limits::PAIRS`]).
    pub async fn form(&mut self) -> Result<Form> {
        parse(&self.form_bytes().await?)
    }

    /// Reads the body, where it is a form.
    pub(crate) async fn form_bytes(&mut self) -> Result<Vec<u8>> {
        self.expect_form()?;
        self.bytes().await
    }

    fn expect_form(&self) -> Result<()> {
        let mut rest = self.headers().get_bytes("content-type").unwrap_or_default();
        if !take(&mut rest, b';').eq_ignore_ascii_case(TYPE.as_bytes()) {
            return Err(unsupported("expected application/x-www-form-urlencoded"));
        }
        match Parameters(rest).find(|(name, _)| name.eq_ignore_ascii_case(b"charset")) {
            Some((_, charset)) if !is_utf8(&charset) => Err(unsupported("expected a form in UTF-8")),
            _ => Ok(()),
        }
    }
}

#[cfg(all(feature = "std", not(target_family = "wasm")))]
impl crate::testing::Call {
    /// Sets the body to a form, with its content type.
    pub fn form(self, form: &Form) -> crate::testing::Call {
        self.header("content-type", TYPE).body(form.encode())
    }
}

fn parse(body: &[u8]) -> Result<Form> {
    let mut form = Form::new();
    for (name, value) in Pairs::from_bytes(body) {
        if form.len() == limits::PAIRS {
            return Err(too_many("the form", "fields"));
        }
        form.0.push((name.into_owned(), value.into_owned()));
    }
    Ok(form)
}

/// Says that a form or a query string is over the limit.
#[cold]
#[inline(never)]
pub(crate) fn too_many(what: &str, of: &str) -> Error {
    Error::new(Status::BAD_REQUEST, concat([what, " has more than ", &decimal(limits::PAIRS as u64), " ", of]))
}

#[cold]
#[inline(never)]
fn unsupported(message: &'static str) -> Error {
    Error::new(Status::UNSUPPORTED_MEDIA_TYPE, message)
}

/// Tells whether a label means UTF-8 (WHATWG Encoding, section 4.2) or a part of it.
fn is_utf8(label: &[u8]) -> bool {
    ["utf-8", "utf8", "us-ascii", "ascii"].iter().any(|known| label.trim_ascii().eq_ignore_ascii_case(known.as_bytes()))
}
