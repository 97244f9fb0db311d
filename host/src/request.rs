//! A request as guests get it: checked, with scheme and authority, and a bounded body.

use crate::Limits;
use crate::body::RequestBody;
use crate::exchange::Exchange;
use crate::forwarded::Origin;
use crate::metrics::Refused;
use hyper::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, TE, TRANSFER_ENCODING};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{HeaderMap, Method, StatusCode, Uri, Version};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A request that a guest may see.
pub(crate) struct Incoming {
    pub(crate) inner: hyper::Request<RequestBody>,
    pub(crate) id: u64,
    pub(crate) https: bool,
    /// Where a guest of 0.2 counts its microseconds on the processor, if anybody reads them.
    pub(crate) cpu: Option<Arc<AtomicU64>>,
    /// How often its forerunners were here: requests that a guest sent because of another.
    pub(crate) hops: u32,
}

/// A request that no guest gets to see, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) reason: &'static str,
}

impl Refusal {
    /// What it counts as.
    pub(crate) fn kind(&self) -> Refused {
        match self.status {
            StatusCode::URI_TOO_LONG => Refused::UriBytes,
            StatusCode::EXPECTATION_FAILED => Refused::Expectation,
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => Refused::HeaderCount,
            StatusCode::NOT_IMPLEMENTED if self.reason == CODING => Refused::Coding,
            StatusCode::NOT_IMPLEMENTED => Refused::Connect,
            StatusCode::PAYLOAD_TOO_LARGE => Refused::BodyBytes,
            _ => Refused::Malformed,
        }
    }
}

const fn refuse<T>(status: StatusCode, reason: &'static str) -> Result<T, Refusal> {
    Err(Refusal { status, reason })
}

/// Checks the head of a request and makes its target absolute.
///
/// # Errors
/// 400 for a request that could mean two things, 414, 417, 431 and 501 as their names say.
pub(crate) fn check_head<B>(
    request: &mut hyper::Request<B>,
    limits: &Limits,
    origin: &Origin,
    local: &Authority,
) -> Result<(), Refusal> {
    if request.method() == Method::CONNECT {
        return refuse(StatusCode::NOT_IMPLEMENTED, "this host is no proxy");
    }
    // HTTP/1 heads were counted when they were read.
    if request.headers().len() > limits.header_count {
        return refuse(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "too many header fields");
    }
    let asked = authority(request, local)?;
    let authority = origin.authority.clone().unwrap_or(asked);
    let path = request.uri().path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    if path.as_str().len() > limits.uri_bytes {
        return refuse(StatusCode::URI_TOO_LONG, "the request target is too long");
    }
    if path.as_str() == "*" && request.method() != Method::OPTIONS {
        return refuse(StatusCode::BAD_REQUEST, "the target * is for OPTIONS alone");
    }
    check_expectation(request.headers())?;
    check_coding(request.headers())?;
    strip_connection_fields(request.headers_mut());
    let mut parts = hyper::http::uri::Parts::default();
    parts.scheme = Some(if origin.https { Scheme::HTTPS } else { Scheme::HTTP });
    parts.authority = Some(authority);
    parts.path_and_query = Some(path);
    match Uri::from_parts(parts) {
        Ok(uri) => *request.uri_mut() = uri,
        Err(_) => return refuse(StatusCode::BAD_REQUEST, "the request target is malformed"),
    }
    Ok(())
}

/// Finds out which host a request is for.
fn authority<B>(request: &hyper::Request<B>, local: &Authority) -> Result<Authority, Refusal> {
    let mut hosts = request.headers().get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return refuse(StatusCode::BAD_REQUEST, "more than one Host");
    }
    let host = match host {
        Some(host) => Some(parse_host(host)?),
        None => None,
    };
    if let Some(target) = request.uri().authority() {
        // RFC 9112 3.2.3: the form without a scheme is for CONNECT alone; "GET path" is no path of a host "path".
        if request.uri().scheme().is_none() {
            return refuse(StatusCode::BAD_REQUEST, "the request target is neither a path nor a URL");
        }
        if target.as_str().contains('@') {
            return refuse(StatusCode::BAD_REQUEST, "user information in the request target");
        }
        // RFC 9113 8.3.1: a Host that differs from :authority makes the request malformed.
        let differs = matches!(&host, Some(Some(host)) if host != target);
        if request.version() == Version::HTTP_2 && differs {
            return refuse(StatusCode::BAD_REQUEST, "Host differs from :authority");
        }
        // RFC 9112 3.2.2: the target's authority counts, whatever Host says.
        return Ok(target.clone());
    }
    match host {
        Some(Some(host)) => Ok(host),
        Some(None) => Ok(local.clone()),
        // RFC 9112 3.2: HTTP/1.1 without Host is an error; HTTP/1.0 had no such field.
        None if request.version() == Version::HTTP_10 => Ok(local.clone()),
        None => refuse(StatusCode::BAD_REQUEST, "no Host"),
    }
}

/// Reads a Host field; it may be empty (RFC 9112 3.2).
///
/// # Errors
/// 400 when it is malformed.
pub(crate) fn parse_host(host: &HeaderValue) -> Result<Option<Authority>, Refusal> {
    if host.is_empty() {
        return Ok(None);
    }
    let bad = refuse(StatusCode::BAD_REQUEST, "Host is malformed");
    match Authority::try_from(host.as_bytes()) {
        Ok(name) if !name.as_str().contains('@') && !name.host().is_empty() => {
            let port = name.as_str().strip_prefix(name.host()).unwrap_or_default();
            let digits = port.strip_prefix(':').unwrap_or(port);
            if digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.is_empty() || digits.parse::<u16>().is_ok())
            {
                Ok(Some(name))
            } else {
                bad
            }
        }
        _ => bad,
    }
}

fn check_expectation(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(EXPECT) {
        None => Ok(()),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"100-continue") => Ok(()),
        Some(_) => refuse(StatusCode::EXPECTATION_FAILED, "unknown expectation"),
    }
}

const CODING: &str = "a transfer coding that is not chunked alone";

/// Refuses bodies in a coding that nobody here undoes: the guest would take it for the body (RFC 9112 6.1).
fn check_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(TRANSFER_ENCODING) {
        return Ok(());
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let first = codings.next().map(|coding| coding.as_bytes().trim_ascii());
    match (first, codings.next()) {
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => refuse(StatusCode::NOT_IMPLEMENTED, CODING),
    }
}

/// Takes out the fields that were for this connection alone (RFC 9110 7.6.1).
pub(crate) fn strip_connection_fields(headers: &mut HeaderMap) {
    if headers.contains_key(TE) {
        let trailers = headers.get_all(TE).iter().any(|value| {
            let tokens = value.as_bytes().split(|&byte| byte == b',');
            tokens.map(<[u8]>::trim_ascii).any(|token| token.eq_ignore_ascii_case(b"trailers"))
        });
        headers.remove(TE);
        if trailers {
            headers.insert(TE, HeaderValue::from_static("trailers"));
        }
    }
    if !headers.contains_key(CONNECTION) {
        return;
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|&byte| byte == b','))
        .filter_map(|token| HeaderName::from_bytes(token.trim_ascii()).ok())
        // These are about the whole message; naming them must not make them vanish.
        .filter(|name| ![HOST, CONTENT_LENGTH, TE, EXPECT].contains(name))
        .collect();
    for name in named {
        headers.remove(name);
    }
    headers.remove(CONNECTION);
}

/// Takes the prefix, which goes to `rest`, off the path, and tells the guest of it.
///
/// # Errors
/// When what is left is no path.
pub(crate) fn strip_prefix<B>(
    request: &mut hyper::Request<B>,
    rest: usize,
    prefix: &HeaderValue,
) -> Result<(), hyper::http::Error> {
    let uri = request.uri();
    let path = uri.path().get(rest..).unwrap_or_default();
    let slash = if path.is_empty() { "/" } else { "" };
    let query = uri.query().map_or_else(String::new, |query| ["?", query].concat());
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from([slash, path, &query].concat())?);
    *request.uri_mut() = Uri::from_parts(parts)?;
    let headers = request.headers_mut();
    // What is still there is of a proxy that is trusted, and which has taken off something itself.
    let outer = headers.get(X_FORWARDED_PREFIX).map(HeaderValue::as_bytes).unwrap_or_default();
    let outer = outer.strip_suffix(b"/").unwrap_or(outer);
    let whole = HeaderValue::from_bytes(&[outer, prefix.as_bytes()].concat());
    headers.insert(X_FORWARDED_PREFIX, whole.unwrap_or_else(|_| prefix.clone()));
    Ok(())
}

/// What guests learn a prefix from that is not in their paths.
const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// Puts a bounded body in place of the raw one.
///
/// # Errors
/// 413 when the body says itself that it is too large; it is not read then.
pub(crate) fn bound_body(
    request: hyper::Request<hyper::body::Incoming>,
    limits: &Arc<Limits>,
    exchange: &Exchange,
    https: bool,
) -> Result<Incoming, Refusal> {
    use hyper::body::Body;
    let declared = request.body().size_hint().exact();
    if declared.is_some_and(|length| length > limits.body_bytes) {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "the request body is too large");
    }
    let inner = request.map(|body| RequestBody::new(body, limits));
    Ok(Incoming { inner, id: exchange.id(), https, cpu: exchange.cpu(), hops: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the head `lines` to the check; `wanted` is a status, or scheme, authority and path.
    #[track_caller]
    fn check(version: Version, lines: &[&str], wanted: &str) {
        let (method, target) = lines[0].split_once(' ').expect("a request line");
        let mut request = hyper::Request::builder().method(method).uri(target).version(version);
        for line in &lines[1..] {
            let (name, value) = line.split_once(':').expect("a field");
            request = request.header(name, value.trim());
        }
        let mut request = request.body(()).expect("a request");
        let local = Authority::from_static("127.0.0.1:8080");
        let limits = Limits { uri_bytes: 20, ..Limits::default() };
        let peer = crate::forwarded::Client::Peer(crate::peer::Peer::Unix);
        let origin = Origin { client: peer, https: false, authority: None, relayed: false };
        let got = match check_head(&mut request, &limits, &origin, &local) {
            Ok(()) => request.uri().to_string(),
            Err(refusal) => refusal.status.as_str().to_owned(),
        };
        assert_eq!(got, wanted, "{lines:?}");
    }

    #[test]
    fn every_request_has_one_host() {
        let v1 = Version::HTTP_11;
        check(v1, &["GET /a?b", "Host: x.org"], "http://x.org/a?b");
        check(v1, &["GET /", "Host: x.org:81"], "http://x.org:81/");
        check(v1, &["GET /", "Host: x.org:80"], "http://x.org:80/");
        check(v1, &["GET /", "Host: [::1]:81"], "http://[::1]:81/");
        check(v1, &["GET /", "Host:"], "http://127.0.0.1:8080/");
        check(v1, &["GET /"], "400");
        check(Version::HTTP_10, &["GET /"], "http://127.0.0.1:8080/");
        check(v1, &["GET /", "Host: a", "Host: a"], "400");
        check(v1, &["GET /", "Host: a b"], "400");
        check(v1, &["GET /", "Host: u@a"], "400");
        check(v1, &["GET /", "Host: a:b"], "400");
        check(v1, &["GET /", "Host: a:99999"], "400");
        check(v1, &["GET /", "Host: a/b"], "400");
        check(v1, &["GET http://y.org/p", "Host: x.org"], "http://y.org/p");
        check(v1, &["GET http://u@y.org/p", "Host: y.org"], "400");
        check(v1, &["GET y.org", "Host: y.org"], "400");
        check(v1, &["GET y.org:80", "Host: y.org"], "400");
        check(Version::HTTP_2, &["GET http://y.org/p", "Host: x.org"], "400");
        check(Version::HTTP_2, &["GET http://y.org/p"], "http://y.org/p");
    }

    #[test]
    fn heads_that_no_guest_sees() {
        let v1 = Version::HTTP_11;
        check(v1, &["CONNECT a:1", "Host: a:1"], "501");
        check(v1, &["OPTIONS *", "Host: a"], "http://a*");
        check(v1, &["GET *", "Host: a"], "400");
        check(v1, &["GET /", "Host: a", "Expect: 100-Continue"], "http://a/");
        check(v1, &["GET /", "Host: a", "Expect: cake"], "417");
        check(v1, &["GET /12345678901234567890", "Host: a"], "414");
        check(v1, &[&["GET /", "Host: a"][..], &["X: 1"; 100]].concat(), "431");
        check(v1, &["POST /", "Host: a", "Transfer-Encoding: Chunked"], "http://a/");
        check(v1, &["POST /", "Host: a", "Transfer-Encoding: gzip, chunked"], "501");
        check(v1, &["POST /", "Host: a", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked"], "501");
    }

    #[test]
    fn prefixes_of_proxies_come_first() {
        for (outer, wanted) in
            [(None, "/p"), (Some("/outer"), "/outer/p"), (Some("/outer/"), "/outer/p"), (Some("/"), "/p")]
        {
            let mut request = hyper::Request::new(());
            *request.uri_mut() = Uri::from_static("http://a.org/p/x?y");
            if let Some(outer) = outer {
                request.headers_mut().insert(X_FORWARDED_PREFIX, HeaderValue::from_static(outer));
            }
            assert!(strip_prefix(&mut request, 2, &HeaderValue::from_static("/p")).is_ok());
            assert_eq!(request.uri(), "http://a.org/x?y");
            let got: Vec<_> = request.headers().get_all(X_FORWARDED_PREFIX).iter().collect();
            assert_eq!(got, [wanted]);
        }
    }

    #[test]
    fn fields_of_the_connection_stay_with_it() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "X-Hop, close, content-length"),
            ("x-hop", "1"),
            ("x-end", "2"),
            ("content-length", "3"),
            ("te", "gzip, Trailers;q=1"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        strip_connection_fields(&mut headers);
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-length", "x-end"]);
    }
}
