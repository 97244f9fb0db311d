//! Requests of the guest itself, as the fields of the request that it serves say.

use crate::{fields, trap, values};
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::outgoing_handler::{OutgoingRequest, RequestOptions, handle};
use wasip2::http::types::{
    ErrorCode, FutureIncomingResponse, IncomingRequest, IncomingResponse, Method, OutgoingBody, Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;

/// Sends what `to`, `method`, `send`, `body`, `body-end` and `first-ms` say, as often as `at-once` says at the same
/// time, and tells what came back.
pub fn fetch(request: &IncomingRequest) -> String {
    let count = one(request, "at-once").and_then(|count| count.parse().ok()).unwrap_or(1);
    let calls: Vec<_> = (0..count).map(|_| start(request)).collect();
    let tell = |call: Result<FutureIncomingResponse, ErrorCode>| match call.and_then(wait) {
        Ok(response) => describe(response),
        Err(code) => format!("error {code:?}"),
    };
    calls.into_iter().map(tell).collect::<Vec<_>>().join("\n")
}

/// Sends a request to the very URL that was asked for, and returns the status of the answer.
pub fn again(request: &IncomingRequest) -> u16 {
    let out = OutgoingRequest::new(fields(&[]));
    let _ = out.set_scheme(Some(&Scheme::Http));
    let _ = out.set_authority(request.authority().as_deref());
    let _ = out.set_path_with_query(request.path_with_query().as_deref());
    handle(out, None).and_then(wait).map_or(599, |response| response.status())
}

fn one(request: &IncomingRequest, name: &str) -> Option<String> {
    values(request, name).into_iter().next()
}

fn start(request: &IncomingRequest) -> Result<FutureIncomingResponse, ErrorCode> {
    let sent = values(request, "send");
    let out = OutgoingRequest::new(fields(&sent.iter().filter_map(|field| field.split_once('=')).collect::<Vec<_>>()));
    let to = one(request, "to").expect("where to");
    let (scheme, rest) = to.split_once("://").expect("a scheme");
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let scheme = if scheme == "https" { Scheme::Https } else { Scheme::Http };
    let method = one(request, "method").map_or(Method::Get, Method::Other);
    let fits = out.set_method(&method).is_ok()
        && out.set_scheme(Some(&scheme)).is_ok()
        && out.set_authority(Some(authority)).is_ok()
        && out.set_path_with_query(Some(path)).is_ok();
    if !fits {
        return Err(ErrorCode::HttpRequestUriInvalid);
    }
    let options = RequestOptions::new();
    let first = one(request, "first-ms").and_then(|millis| millis.parse::<u64>().ok());
    options.set_first_byte_timeout(first.map(|millis| millis * 1_000_000)).expect("an option");
    let text = one(request, "body");
    let body = text.as_ref().map(|_| out.body().expect("body"));
    let future = handle(out, Some(options))?;
    if let (Some(text), Some(body)) = (text, body) {
        body.write().expect("stream").blocking_write_and_flush(text.as_bytes()).expect("write");
        match one(request, "body-end").as_deref() {
            Some("drop") => drop(body),
            Some("trap") => {
                subscribe_duration(50_000_000).block();
                trap()
            }
            _ => OutgoingBody::finish(body, None)?,
        }
    }
    Ok(future)
}

fn wait(future: FutureIncomingResponse) -> Result<IncomingResponse, ErrorCode> {
    future.subscribe().block();
    future.get().expect("ready").expect("once")
}

fn describe(response: IncomingResponse) -> String {
    let mut text = format!("{}\n", response.status());
    for (name, value) in response.headers().entries() {
        text.push_str(&format!("{name}: {}\n", value.escape_ascii()));
    }
    let body = response.consume().expect("body");
    let input = body.stream().expect("stream");
    loop {
        match input.blocking_read(4096) {
            Ok(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
            Err(StreamError::Closed) => return text,
            Err(StreamError::LastOperationFailed(error)) => {
                text.push_str(&format!(" broken {:?}", http_error_code(&error)));
                return text;
            }
        }
    }
}
