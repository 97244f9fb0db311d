//! `Validators`: whether what the client has is still current (RFC 9110, section 13): 304, 412, or the answer itself.

use crate::date::Date;
use crate::error::Error;
use crate::etag::{ETag, list_names};
use crate::method::Method;
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;

/// What is known about the current version of a resource.
///
/// For reading, [`Response::conditional`] needs no more than the header fields of the answer. This is for saving the
/// work, and for writing without losing somebody else's changes:
///
/// ```
/// use tabi::{ETag, Request, Response, Router, Validators};
///
/// async fn replace(mut req: Request) -> tabi::Result {
///     let current = Validators::new().etag(ETag::of(b"what is stored"));
///     if let Some(refusal) = req.conditional(&current) {
///         return Ok(refusal);                                     // 412: somebody was faster
///     }
///     let stored = req.bytes().await?;
///     Ok(Response::default().with_header("etag", ETag::of(&stored).as_str()))
/// }
/// # let client = tabi::testing::Client::new(Router::new().put("/", replace));
/// # assert_eq!(client.put("/").header("if-match", "\"old\"").send().status().code(), 412);
/// # let tag = ETag::of(b"what is stored");
/// # assert_eq!(client.put("/").header("if-match", tag.as_str()).send().status().code(), 200);
/// ```
#[derive(Clone, Default, Debug)]
pub struct Validators {
    missing: bool,
    etag: Option<ETag>,
    last_modified: Option<Date>,
}

impl Validators {
    /// Returns those of a resource that is there, of which nothing else is known.
    pub const fn new() -> Validators {
        Validators { missing: false, etag: None, last_modified: None }
    }

    /// Returns those of a resource that is not there yet: `If-None-Match: *` lets a PUT create it.
    pub const fn missing() -> Validators {
        Validators { missing: true, etag: None, last_modified: None }
    }

    /// Sets the entity tag.
    #[must_use]
    pub fn etag(mut self, etag: ETag) -> Validators {
        self.etag = Some(etag);
        self
    }

    /// Sets when it was last changed.
    #[must_use]
    pub fn last_modified(mut self, date: Date) -> Validators {
        self.last_modified = Some(date);
        self
    }
}

impl Request {
    /// Returns the answer where the request's conditions don't hold: 304 to GET and HEAD where the client has the
    /// current version, 412 otherwise. `None` is: go on.
    ///
    /// Ask before anything is changed. The order is that of RFC 9110, section 13.2.2: `If-Match` or else
    /// `If-Unmodified-Since`, then `If-None-Match` or else `If-Modified-Since`. A 304 has the tag, or else the date; give
    /// it the `Cache-Control` and `Vary` that the 200 would have had (section 15.4.5).
    pub fn conditional(&self, current: &Validators) -> Option<Response> {
        match judge(self, !current.missing, current.etag.as_ref(), current.last_modified) {
            Verdict::Go => None,
            Verdict::Failed => Some(failed()),
            Verdict::NotModified => {
                let mut response = Status::NOT_MODIFIED.into_response();
                if let Some(etag) = &current.etag {
                    response.headers_mut().push("etag", etag.as_str());
                } else if let Some(date) = current.last_modified {
                    response.headers_mut().push("last-modified", &date.to_http());
                }
                Some(response)
            }
        }
    }
}

impl Response {
    /// Returns it as the request's conditions and ranges want it: as 304, 412, 206 or 416, or as it is.
    ///
    /// `ETag` and `Last-Modified` of the response are what the conditions are compared with. It is for answers to GET
    /// and HEAD that are 2xx; others stay as they are. Ranges are those of [`Response::ranged`].
    ///
    /// ```
    /// use tabi::{ETag, Request, Response, Router};
    ///
    /// async fn page(req: Request) -> Response {
    ///     let text = "hello";
    ///     Response::text(text).with_header("etag", ETag::of(text.as_bytes()).as_str()).conditional(&req)
    /// }
    /// # let client = tabi::testing::Client::new(Router::new().get("/", page));
    /// # let tag = client.get("/").send().header("etag").unwrap().to_owned();
    /// # assert_eq!(client.get("/").header("if-none-match", tag).send().status().code(), 304);
    /// ```
    #[must_use]
    pub fn conditional(self, request: &Request) -> Response {
        if !self.status().is_success() || !is_read(request) {
            return self;
        }
        let etag = self.header("etag").and_then(ETag::parse);
        let modified = self.header("last-modified").and_then(Date::parse);
        match judge(request, true, etag.as_ref(), modified) {
            Verdict::Go => self.ranged(request),
            Verdict::Failed => failed(),
            Verdict::NotModified => self.not_modified(),
        }
    }

    /// Makes it a 304: what caches need of its fields stays (RFC 9110, section 15.4.5).
    pub(crate) fn not_modified(mut self) -> Response {
        let headers = self.headers_mut();
        for name in ["content-type", "content-length", "content-encoding", "content-language", "content-range"] {
            headers.remove(name);
        }
        if headers.contains("etag") {
            headers.remove("last-modified");
        }
        self.with_status(Status::NOT_MODIFIED).with_body("")
    }
}

pub(crate) enum Verdict {
    Go,
    NotModified,
    Failed,
}

/// Compares the request's conditions with what is known of the current version, if there is one.
pub(crate) fn judge(request: &Request, exists: bool, etag: Option<&ETag>, modified: Option<Date>) -> Verdict {
    // RFC 9110, section 13.2.1: these select nothing and change nothing.
    if matches!(*request.method(), Method::OPTIONS | Method::TRACE | Method::CONNECT) {
        return Verdict::Go;
    }
    let matched = match names(request, "if-match", exists, etag, true) {
        None => not_changed_since(request, "if-unmodified-since", modified),
        matched => matched,
    };
    if matched == Some(false) {
        return Verdict::Failed;
    }
    let unchanged = match names(request, "if-none-match", exists, etag, false) {
        None if is_read(request) => not_changed_since(request, "if-modified-since", modified),
        matched => matched,
    };
    match unchanged {
        Some(true) if is_read(request) => Verdict::NotModified,
        Some(true) => Verdict::Failed,
        _ => Verdict::Go,
    }
}

fn is_read(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

/// Tells whether the field names the current version; `None` where there is no such field.
fn names(request: &Request, field: &str, exists: bool, etag: Option<&ETag>, strong: bool) -> Option<bool> {
    let mut found = None;
    for list in request.headers().get_all_bytes(field) {
        let named =
            if list.trim_ascii() == b"*" { exists } else { etag.is_some_and(|etag| list_names(list, etag, strong)) };
        found = Some(named || found == Some(true));
    }
    found
}

/// Tells whether the date in the field is at or after the last change. `None` where there is no such field, where it
/// is not one date, or where the last change is not known: then it is to be ignored (RFC 9110, 13.1.3 and 13.1.4).
fn not_changed_since(request: &Request, field: &str, modified: Option<Date>) -> Option<bool> {
    let modified = modified?;
    let mut dates = request.headers().get_all(field);
    let (Some(date), None) = (dates.next(), dates.next()) else { return None };
    Some(modified <= Date::parse(date)?)
}

#[cold]
pub(crate) fn failed() -> Response {
    Error::new(Status::PRECONDITION_FAILED, "precondition failed").into_response()
}
