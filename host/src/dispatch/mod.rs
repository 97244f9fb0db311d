//! One request through one instance.
//!
//! The guest runs inside of the connection's own task: no queue, no other thread and no channel
//! is between them. Whoever polls the response drives the guest.

pub(crate) mod instance;
pub(crate) mod p2;
pub(crate) mod p3;
pub(crate) mod warm;

use crate::error::one_line;
use crate::metrics::Failed;
use hyper::StatusCode;
use hyper::body::{Bytes, Frame};
use std::collections::VecDeque;

/// The head of a guest's answer with what is known of its body.
pub(crate) struct Answer {
    pub(crate) head: hyper::http::response::Parts,
    pub(crate) body: AnswerBody,
}

/// The body of a guest's answer.
pub(crate) enum AnswerBody {
    /// All of it: the guest was done, or nearly so, when its head was seen.
    Whole(VecDeque<Frame<Bytes>>),
    /// Some of it is still to come out of a 0.2 guest.
    P2(Box<p2::Stream>),
    /// Some of it is still to come out of a 0.3 guest.
    P3(Box<p3::Stream>),
}

/// Why there is no answer, or no end to one that has begun.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The guest broke; the text is for the log.
    Trap(String),
    /// The guest returned without an answer.
    NoAnswer,
    /// The guest left its body without finishing it.
    Unfinished,
    /// The guest answered with one of the error codes of `wasi:http`.
    Code(StatusCode, String),
    /// What the guest answered is no HTTP answer.
    Invalid(String),
    /// A time limit passed.
    Timeout(&'static str),
    /// There was no room for another instance.
    Busy,
    /// A file of the host's own can't be sent to its end.
    File(&'static str),
}

impl Failure {
    /// Sorts an error of wasmtime.
    pub(crate) fn of(error: &wasmtime::Error) -> Self {
        if error.is::<wasmtime::PoolConcurrencyLimitError>() {
            return Self::Busy;
        }
        Self::Trap(one_line(error))
    }

    /// The status that the client sees when no head was sent yet.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Trap(_) | Self::NoAnswer | Self::Unfinished | Self::Invalid(_) | Self::File(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Code(status, _) => *status,
            Self::Timeout(_) => StatusCode::GATEWAY_TIMEOUT,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// What it counts as, if it is a guest's.
    pub(crate) fn kind(&self) -> Option<Failed> {
        Some(match self {
            Self::Trap(_) => Failed::Trap,
            Self::NoAnswer => Failed::NoAnswer,
            Self::Unfinished => Failed::Unfinished,
            Self::Code(..) => Failed::ErrorCode,
            Self::Invalid(_) => Failed::Invalid,
            Self::Timeout(_) => Failed::Timeout,
            Self::Busy => Failed::NoRoom,
            Self::File(_) => return None,
        })
    }

    /// What the log says.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Trap(why) => format!("the guest trapped: {why}"),
            Self::NoAnswer => "the guest returned without an answer".to_owned(),
            Self::Unfinished => "the guest did not finish the body of its answer".to_owned(),
            Self::Code(_, code) => format!("the guest answered with the error code {code}"),
            Self::Invalid(what) => format!("the guest's answer is invalid: {what}"),
            Self::Timeout(which) => format!("the guest took too long: {which}"),
            Self::File(why) => format!("the file is not sent to its end: {why}"),
            Self::Busy => "no room for another instance".to_owned(),
        }
    }
}

/// The status for an error code that a guest answered with; the names are those of `wasi:http`.
pub(crate) fn status_of_code(code: &str) -> StatusCode {
    // The payload, if any, follows the name: "DnsError(..)" or "ErrorCode::DnsError(..)".
    let name = code.rsplit("::").next().unwrap_or(code);
    let name = name.split(['(', ' ', '{']).next().unwrap_or_default();
    match name {
        "DnsTimeout"
        | "ConnectionTimeout"
        | "ConnectionReadTimeout"
        | "ConnectionWriteTimeout"
        | "HttpResponseTimeout" => StatusCode::GATEWAY_TIMEOUT,
        "DnsError"
        | "DestinationNotFound"
        | "DestinationUnavailable"
        | "DestinationIpProhibited"
        | "DestinationIpUnroutable"
        | "ConnectionRefused"
        | "ConnectionTerminated"
        | "ConnectionLimitReached"
        | "TlsProtocolError"
        | "TlsCertificateError"
        | "TlsAlertReceived"
        | "HttpResponseIncomplete"
        | "HttpResponseHeaderSectionSize"
        | "HttpResponseHeaderSize"
        | "HttpResponseBodySize"
        | "HttpResponseTrailerSectionSize"
        | "HttpResponseTrailerSize"
        | "HttpResponseTransferCoding"
        | "HttpResponseContentCoding" => StatusCode::BAD_GATEWAY,
        "HttpRequestDenied" => StatusCode::FORBIDDEN,
        "HttpRequestLengthRequired" => StatusCode::LENGTH_REQUIRED,
        "HttpRequestBodySize" => StatusCode::PAYLOAD_TOO_LARGE,
        "HttpRequestMethodInvalid" | "HttpRequestUriInvalid" => StatusCode::BAD_REQUEST,
        "HttpRequestUriTooLong" => StatusCode::URI_TOO_LONG,
        "HttpRequestHeaderSectionSize"
        | "HttpRequestHeaderSize"
        | "HttpRequestTrailerSectionSize"
        | "HttpRequestTrailerSize" => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "LoopDetected" => StatusCode::LOOP_DETECTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmtime_wasi_http::p2::bindings::http::types::{DnsErrorPayload, ErrorCode};

    #[track_caller]
    fn check(code: &ErrorCode, status: u16) {
        assert_eq!(status_of_code(&format!("{code:?}")).as_u16(), status, "{code:?}");
    }

    #[test]
    fn error_codes_have_statuses() {
        check(&ErrorCode::InternalError(Some("secret".into())), 500);
        check(&ErrorCode::ConnectionRefused, 502);
        check(&ErrorCode::DnsError(DnsErrorPayload { rcode: None, info_code: None }), 502);
        check(&ErrorCode::ConnectionReadTimeout, 504);
        check(&ErrorCode::HttpRequestBodySize(Some(1)), 413);
        check(&ErrorCode::HttpRequestHeaderSectionSize(None), 431);
        check(&ErrorCode::HttpRequestUriTooLong, 414);
        check(&ErrorCode::HttpRequestDenied, 403);
        check(&ErrorCode::LoopDetected, 508);
    }
}
