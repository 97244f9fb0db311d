//! Requests of the app itself, as the runtime that is there makes them.

use crate::body::Body;
use crate::client::Url;
use crate::headers::Headers;
use crate::method::Method;
use crate::status::Status;

#[cfg(not(all(target_family = "wasm", any(feature = "p2", feature = "p3"))))]
pub(crate) mod native;
#[cfg(all(target_family = "wasm", feature = "p2"))]
mod p2;

/// A request.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) body: Body,
}

/// What came back.
pub(crate) struct Incoming {
    pub(crate) status: Status,
    pub(crate) headers: Headers,
    pub(crate) body: Body,
}

/// Why nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It took too long.
    Timeout,
    /// The runtime does not allow it.
    Denied,
    /// There is no host of the name.
    Unknown,
    /// No connection.
    Unreachable,
    /// No connection that is secure.
    Tls,
    /// The runtime does not take the request.
    Request,
    /// The other side does not keep to the protocol.
    Broken,
    /// No stub stands for the other side.
    #[allow(dead_code, reason = "only tests have them")]
    Nobody,
}

impl Fault {
    /// Returns what an `error-code` means, given its number in the interface.
    #[allow(dead_code, reason = "only runtimes have them")]
    pub(crate) fn of(code: u32) -> Fault {
        match code {
            0 | 8..=10 | 33 => Fault::Timeout,
            4 | 15 => Fault::Denied,
            1 | 2 => Fault::Unknown,
            3 | 5..=7 | 11 => Fault::Unreachable,
            12..=14 => Fault::Tls,
            16..=24 => Fault::Request,
            _ => Fault::Broken,
        }
    }
}

/// Sends a request, and returns once the head of the answer is there.
pub(crate) async fn send(request: Outgoing) -> Result<Incoming, Fault> {
    #[cfg(all(target_family = "wasm", feature = "p2", feature = "p3"))]
    return if super::p3::is_running() { super::p3::outbound::send(request).await } else { p2::send(request).await };
    #[cfg(all(target_family = "wasm", feature = "p2", not(feature = "p3")))]
    return p2::send(request).await;
    #[cfg(all(target_family = "wasm", feature = "p3", not(feature = "p2")))]
    return super::p3::outbound::send(request).await;
    #[cfg(not(all(target_family = "wasm", any(feature = "p2", feature = "p3"))))]
    native::send(request).await
}
