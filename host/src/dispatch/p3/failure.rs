//! Why an instance of 0.3 gave no answer: what the runtime says, in the words of the host.

use super::Taken;
use crate::dispatch::{Failure, status_of_code};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use wasmtime_wasi_http::WasiBody;
use wasmtime_wasi_http::handler::{ExpirationError, InstantiationError, TrapOrPanicError};
use wasmtime_wasi_http::p3::bindings::http::types::ErrorCode;

/// Gives a request back that no instance has seen because there was no room for one.
pub(super) fn unstarted(error: wasmtime::Error) -> Result<hyper::Request<WasiBody>, wasmtime::Error> {
    let is_full = error
        .downcast_ref::<InstantiationError<Taken>>()
        .is_some_and(|error| error.error.is::<wasmtime::PoolConcurrencyLimitError>());
    if !is_full {
        return Err(error);
    }
    let error = error.downcast::<InstantiationError<Taken>>()?;
    Ok(error.request.into_inner().unwrap_or_else(PoisonError::into_inner))
}

pub(super) fn failure(error: &wasmtime::Error, taken: &Taken) -> Failure {
    if error.is::<ExpirationError>() || taken.is(|life| life.late.load(Relaxed)) {
        return Failure::Timeout("request_timeout");
    }
    if error.is::<TrapOrPanicError>() {
        return Failure::Trap("the instance broke while it served this request".to_owned());
    }
    if let Some(error) = error.downcast_ref::<InstantiationError<Taken>>() {
        if error.error.is::<tokio::time::error::Elapsed>() {
            return Failure::Timeout("request_timeout");
        }
        return Failure::of(&error.error);
    }
    if let Some(code) = error.downcast_ref::<ErrorCode>() {
        let code = format!("{code:?}");
        return Failure::Code(status_of_code(&code), code);
    }
    Failure::of(error)
}
