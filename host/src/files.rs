//! Answers with files: conditions, parts, and what the head says.

use crate::answer;
use crate::body::ResponseBody;
use crate::encoding::{self, Offer};
use crate::exchange::Exchange;
use crate::file_body::{FileBody, PIECE, Piece, read};
use crate::folder::{Folder, Found, Look};
use crate::ranges::{self, Parts};
use crate::worker::Worker;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderValue, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED,
    RANGE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Answers a request for a path in a folder; `rest` is where in the path that begins.
pub(crate) async fn serve(
    worker: &Worker,
    folder: &Arc<Folder>,
    rest: usize,
    request: Request<hyper::body::Incoming>,
    mut exchange: Exchange,
) -> Response<ResponseBody> {
    let shared = &worker.shared;
    let (parts, _) = request.into_parts();
    let head_only = match parts.method {
        Method::GET => false,
        Method::HEAD => true,
        Method::OPTIONS => return allow(answer::options(exchange)),
        _ => return allow(answer::error(StatusCode::METHOD_NOT_ALLOWED, exchange)),
    };
    match crate::service::place(worker).await {
        Ok(permit) => exchange.permit = Some(permit),
        Err(why) => {
            exchange.refuse(why, "no place for the request among limits.requests");
            return answer::error(StatusCode::SERVICE_UNAVAILABLE, exchange);
        }
    }
    let offer = Offer::of(&shared.config, &parts.headers);
    let (uri, limit) = (parts.uri.clone(), shared.limits.stream_timeout);
    let work = tokio::task::spawn_blocking({
        let folder = folder.clone();
        move || {
            let path = parts.uri.path().get(rest..).unwrap_or_default();
            for _ in 0..TRIES {
                let answer = match folder.look(path, &parts.headers)? {
                    Look::File(found) => head(&folder, found, &parts.headers, head_only, limit),
                    Look::NoSlash => return Ok(Done::NoSlash),
                    Look::Missing => return Ok(Done::Missing),
                };
                if let Some(answer) = answer {
                    return Ok(Done::Answer(answer));
                }
            }
            Err(std::io::Error::other("it changes faster than it can be read"))
        }
    });
    let done = match tokio::time::timeout(shared.limits.request_timeout, work).await {
        Ok(Ok(Ok(done))) => done,
        Ok(Ok(Err(error))) => {
            exchange.fault(&format!("a file can't be opened: {error}"));
            return answer::error(StatusCode::SERVICE_UNAVAILABLE, exchange);
        }
        Ok(Err(_)) => return answer::error(StatusCode::INTERNAL_SERVER_ERROR, exchange),
        Err(_) => {
            exchange.fault("the disk took longer than request_timeout");
            return answer::error(StatusCode::GATEWAY_TIMEOUT, exchange);
        }
    };
    let (mut response, body) = match done {
        Done::Answer(answer) => answer,
        Done::Missing => return answer::error(StatusCode::NOT_FOUND, exchange),
        Done::NoSlash => {
            let query = uri.query().map_or_else(String::new, |query| ["?", query].concat());
            return match HeaderValue::try_from([uri.path(), "/", &query].concat()) {
                Ok(location) => answer::redirect(StatusCode::PERMANENT_REDIRECT, location, exchange),
                Err(_) => answer::error(StatusCode::NOT_FOUND, exchange),
            };
        }
    };
    let status = response.status();
    if status.is_client_error() {
        let mut answer = answer::error(status, exchange);
        answer.headers_mut().extend(std::mem::take(response.headers_mut()));
        return answer;
    }
    exchange.status(status.as_u16());
    let (mut head, ()) = response.into_parts();
    let length = body
        .as_ref()
        .map(Content::length)
        .or_else(|| head.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()));
    let coded = offer.is_some_and(|offer| offer.apply(&mut head, length));
    let mut body = match body {
        None => ResponseBody::full("", exchange),
        Some(Content::Whole(bytes)) => ResponseBody::full(bytes, exchange),
        Some(Content::File(body)) => ResponseBody::file(body, exchange),
    };
    if coded && !head_only {
        body.compress();
    }
    Response::from_parts(head, body)
}

/// How often a file is opened anew that changes between two looks at it.
const TRIES: usize = 3;

enum Done {
    Answer((Response<()>, Option<Content>)),
    NoSlash,
    Missing,
}

/// What a body is made of.
enum Content {
    /// A small file, read at once.
    Whole(Bytes),
    File(Box<FileBody>),
}

impl Content {
    fn length(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::File(body) => body.left(),
        }
    }
}

fn allow(mut response: Response<ResponseBody>) -> Response<ResponseBody> {
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, OPTIONS"));
    response
}

/// Decides what is sent of a file, and says so; `None` if the file changes meanwhile.
fn head(
    folder: &Folder,
    found: Found,
    request: &HeaderMap,
    head_only: bool,
    limit: Duration,
) -> Option<(Response<()>, Option<Content>)> {
    let now = SystemTime::now();
    let tag = tag(&found, now);
    let mut response = Response::new(());
    let headers = response.headers_mut();
    if found.varies {
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    }
    // RFC 9110 8.8.2.1: a time that is yet to come is replaced by that of the answer.
    let modified = httpdate::fmt_http_date(found.stamp.modified.clamp(UNIX_EPOCH, now.max(UNIX_EPOCH)));
    for (name, value) in [(ETAG, &tag), (LAST_MODIFIED, &modified)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    if let Some(value) = &folder.cache_control {
        headers.insert(CACHE_CONTROL, value.clone());
    }
    if let Some(status) = precondition(request, &tag, found.stamp.modified) {
        if status != StatusCode::NOT_MODIFIED {
            headers.clear();
        }
        *response.status_mut() = status;
        return Some((response, None));
    }
    let length = found.stamp.length;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(found.kind));
    if let Some(coding) = found.coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    if head_only {
        // RFC 9110 14.2: a range is for GET alone.
        headers.insert(CONTENT_LENGTH, length.into());
        return Some((response, None));
    }
    let wanted = request.get(RANGE).filter(|_| range_holds(request, &tag, &modified));
    let parts = wanted.map_or(Parts::Whole, |field| ranges::read(field.as_bytes(), length));
    let mut span = 0..length;
    match parts {
        Parts::Whole => {}
        Parts::Outside => {
            headers.clear();
            if let Ok(value) = HeaderValue::try_from(format!("bytes */{length}")) {
                headers.insert(CONTENT_RANGE, value);
            }
            *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
            return Some((response, None));
        }
        Parts::Some(parts) => {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            if let [part] = &parts[..] {
                span = part.clone();
                if let Ok(value) = HeaderValue::try_from(content_range(part, length)) {
                    response.headers_mut().insert(CONTENT_RANGE, value);
                }
            } else {
                let body = several(found, &parts, limit, response.headers_mut());
                return Some((response, Some(Content::File(Box::new(body)))));
            }
        }
    }
    // One trip to the disk is enough for most files.
    if span.end - span.start <= PIECE as u64 {
        let bytes = read(&found.file, found.stamp, span).ok()?;
        return Some((response, Some(Content::Whole(bytes))));
    }
    let pieces = VecDeque::from([Piece::Span(span)]);
    let body = FileBody::new(found.file, found.stamp, pieces, limit);
    Some((response, Some(Content::File(Box::new(body)))))
}

/// Several parts in one body (RFC 9110, section 14.6).
fn several(found: Found, parts: &[std::ops::Range<u64>], limit: Duration, headers: &mut HeaderMap) -> FileBody {
    // Nobody who wrote the file can have known this.
    let random = RandomState::new();
    let boundary = format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1));
    let mut pieces = VecDeque::new();
    for part in parts {
        let range = content_range(part, found.stamp.length);
        let head = format!("\r\n--{boundary}\r\ncontent-type: {}\r\ncontent-range: {range}\r\n\r\n", found.kind);
        pieces.push_back(Piece::Bytes(head.into()));
        pieces.push_back(Piece::Span(part.clone()));
    }
    pieces.push_back(Piece::Bytes(format!("\r\n--{boundary}--\r\n").into()));
    if let Ok(value) = HeaderValue::try_from(format!("multipart/byteranges; boundary={boundary}")) {
        headers.insert(CONTENT_TYPE, value);
    }
    FileBody::new(found.file, found.stamp, pieces, limit)
}

fn content_range(part: &std::ops::Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", part.start, part.end.saturating_sub(1))
}

/// A tag for the very bytes that are sent.
///
/// It is weak for a file that was changed just now: it may change again within the same tick of the clock (RFC 9110,
/// section 8.8.1).
fn tag(found: &Found, now: SystemTime) -> String {
    let since = found.stamp.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = now.duration_since(found.stamp.modified).is_ok_and(|age| age >= Duration::from_secs(2));
    let (weak, coding) = (if settled { "" } else { "W/" }, found.coding.unwrap_or_default());
    let dash = if coding.is_empty() { "" } else { "-" };
    format!("{weak}\"{:x}-{:x}{dash}{coding}\"", since.as_nanos(), found.stamp.length)
}

/// The status that the conditions of a request lead to, in the order of RFC 9110, section 13.2.2.
fn precondition(request: &HeaderMap, tag: &str, modified: SystemTime) -> Option<StatusCode> {
    let weak = |tag: &[u8]| tag.strip_prefix(b"W/").unwrap_or(tag).to_vec();
    let date = |name| httpdate::parse_http_date(request.get(name)?.to_str().ok()?).ok();
    // Dates are in whole seconds.
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if request.contains_key(IF_MATCH) {
        let strong = |known: &[u8]| known == tag.as_bytes() && !known.starts_with(b"W/");
        if !lists(request, IF_MATCH, strong) {
            return Some(StatusCode::PRECONDITION_FAILED);
        }
    } else if date(IF_UNMODIFIED_SINCE).is_some_and(|date| seconds(modified) > seconds(date)) {
        return Some(StatusCode::PRECONDITION_FAILED);
    }
    if request.contains_key(IF_NONE_MATCH) {
        let same = |known: &[u8]| weak(known) == weak(tag.as_bytes());
        return lists(request, IF_NONE_MATCH, same).then_some(StatusCode::NOT_MODIFIED);
    }
    let fresh = date(IF_MODIFIED_SINCE).is_some_and(|date| seconds(modified) <= seconds(date));
    fresh.then_some(StatusCode::NOT_MODIFIED)
}

/// Whether a list of tags is `*` or has one that `fits`.
fn lists(request: &HeaderMap, name: hyper::header::HeaderName, fits: impl Fn(&[u8]) -> bool) -> bool {
    let mut items = request.get_all(name).iter().flat_map(|value| encoding::items(value.as_bytes()));
    items.any(|known| known == b"*" || fits(known))
}

/// Whether the client has parts of this very file, if it says what it has (RFC 9110, section 13.1.5).
fn range_holds(request: &HeaderMap, tag: &str, modified: &str) -> bool {
    let Some(known) = request.get(IF_RANGE) else { return true };
    let strong = !tag.starts_with("W/");
    // A date is as good as a tag only if the file can't have changed within its second.
    strong && (known == tag || known == modified)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
