//! What went wrong on the way to another server, in the words of `wasi:http`.

use std::error::Error as _;
use std::io::{self, ErrorKind};
use wasmtime_wasi_http::Error;

/// For what a connect to an address ended with.
pub(crate) fn of_connect(error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        ErrorKind::TimedOut => Error::ConnectionTimeout,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => {
            Error::DestinationIpUnroutable
        }
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Error::ConnectionTerminated,
        _ => Error::DestinationUnavailable,
    }
}

/// For what a TLS handshake ended with.
pub(crate) fn of_tls(error: &io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => of_rustls(error),
        None if is_cut(error.kind()) => Error::ConnectionTerminated,
        None => Error::TlsProtocolError,
    }
}

/// For an error of hyper; `begun` is whether the head of the answer has been seen.
pub(crate) fn of_hyper(error: &hyper::Error, begun: bool) -> Error {
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(error) = inner.downcast_ref::<rustls::Error>() {
            return of_rustls(error);
        }
        if let Some(error) = inner.downcast_ref::<io::Error>() {
            if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return of_rustls(error);
            }
            match error.kind() {
                // The timer of writes is the only one below hyper.
                ErrorKind::TimedOut => return Error::ConnectionWriteTimeout,
                kind if is_cut(kind) => return cut(begun),
                _ => {}
            }
        }
        cause = inner.source();
    }
    if error.is_parse_too_large() {
        return if begun {
            Error::HttpResponseTrailerSectionSize(None)
        } else {
            Error::HttpResponseHeaderSectionSize(None)
        };
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || error.is_body_write_aborted() {
        return cut(begun);
    }
    if begun && !error.is_parse() { Error::HttpResponseIncomplete } else { Error::HttpProtocolError }
}

fn of_rustls(error: &rustls::Error) -> Error {
    match error {
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => Error::TlsCertificateError,
        rustls::Error::AlertReceived(alert) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: alert.as_str().map(str::to_owned),
        },
        _ => Error::TlsProtocolError,
    }
}

fn cut(begun: bool) -> Error {
    if begun { Error::HttpResponseIncomplete } else { Error::ConnectionTerminated }
}

fn is_cut(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof
    )
}
