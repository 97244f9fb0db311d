//! The heads of outbound messages: made fit for the wire, and cleared of what was for one connection.

use crate::request::strip_connection_fields;
use hyper::HeaderMap;
use hyper::header::{CONNECTION, CONTENT_LENGTH, HeaderValue, TE};
use hyper::http::request::Parts;
use hyper::{Uri, Version};
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, Error};

/// Makes the head of a guest's request one of HTTP/1.1 to a server that is no proxy.
///
/// # Errors
/// When its target is none.
pub(crate) fn prepare(head: &mut Parts) -> Result<(), Error> {
    // RFC 9112 3.2.1: the server gets path and query, and `Host` has the rest.
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let target = match target {
        query if query.starts_with('?') => Uri::try_from(format!("/{query}")),
        target => Uri::try_from(target),
    };
    head.uri = target.map_err(|_| Error::HttpRequestUriInvalid)?;
    head.version = Version::HTTP_11;
    strip_connection_fields(&mut head.headers);
    if head.headers.contains_key(TE) {
        // RFC 9110 10.1.4: it is for the next neighbour alone, who is told so.
        head.headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    Ok(())
}

/// Takes the fields out of an answer that were for the connection alone.
pub(crate) fn strip(headers: &mut HeaderMap) {
    strip_connection_fields(headers);
    for name in DEFAULT_FORBIDDEN_HEADERS {
        headers.remove(name);
    }
}

/// The length that a request promises of its body.
pub(crate) fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
