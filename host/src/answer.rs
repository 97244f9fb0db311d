//! Answers that the host itself gives: short, plain, and without a word of the guest.

use crate::body::ResponseBody;
use crate::exchange::Exchange;
use crate::request_id;
use hyper::header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, LOCATION, RETRY_AFTER};
use hyper::{Response, StatusCode, Uri, Version};

/// Says that something went wrong, with the id that the log has it under.
pub(crate) fn error(status: StatusCode, mut exchange: Exchange) -> Response<ResponseBody> {
    exchange.status(status.as_u16());
    let id = exchange.id();
    let reason = status.canonical_reason().unwrap_or("Error");
    let text = format!("{} {reason}\nrequest id: {id:016x}\n", status.as_u16());
    let mut response = Response::new(ResponseBody::full(text, exchange));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(request_id::NAME, request_id::own(id));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Sends the client to the same place on https; it keeps its method and body (RFC 9110 15.4.9).
pub(crate) fn to_https(uri: &Uri, port: Option<u16>, mut exchange: Exchange) -> Response<ResponseBody> {
    exchange.status(308);
    let port = port.filter(|port| *port != 443).map(|port| format!(":{port}")).unwrap_or_default();
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let place = format!("https://{}{port}{path}", uri.host().unwrap_or_default());
    let mut response = Response::new(ResponseBody::full("", exchange));
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    if let Ok(place) = HeaderValue::try_from(place) {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

/// Says where an address has moved to.
pub(crate) fn redirect(status: StatusCode, location: HeaderValue, mut exchange: Exchange) -> Response<ResponseBody> {
    exchange.status(status.as_u16());
    let text = format!("{} {}\n", status.as_u16(), status.canonical_reason().unwrap_or("Moved"));
    let mut response = Response::new(ResponseBody::full(text, exchange));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(LOCATION, location);
    response
}

/// Ends an HTTP/1 connection after this response.
pub(crate) fn close(response: &mut Response<ResponseBody>, version: Version) {
    if version < Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// Answers `OPTIONS *`, which is about the server and not about any resource (RFC 9110 9.3.7).
pub(crate) fn options(mut exchange: Exchange) -> Response<ResponseBody> {
    exchange.status(204);
    let mut response = Response::new(ResponseBody::full("", exchange));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let all = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE");
    response.headers_mut().insert(ALLOW, all);
    response
}
