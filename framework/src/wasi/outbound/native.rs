//! The twin for tests: routers stand for other servers.

use super::{Fault, Incoming, Outgoing};

#[cfg(feature = "std")]
mod stubs {
    use crate::app::App;
    use alloc::string::String;
    use alloc::vec::Vec;
    use core::cell::RefCell;

    std::thread_local! {
        /// Scheme and authority, and who answers there.
        pub(super) static STUBS: RefCell<Vec<(String, &'static App)>> = const { RefCell::new(Vec::new()) };
    }
}

/// Has an app answer what this thread sends to an origin. One that was there before goes.
#[cfg(feature = "std")]
pub(crate) fn stand_for(origin: &str, app: &'static crate::app::App) {
    stubs::STUBS.with_borrow_mut(|stubs| {
        stubs.retain(|(known, _)| known != origin);
        stubs.push((origin.into(), app));
    });
}

#[cfg(feature = "std")]
pub(super) async fn send(request: Outgoing) -> Result<Incoming, Fault> {
    use crate::request::Request;
    use crate::wasi::Head;
    let Outgoing { method, url, headers, body } = request;
    let origin = crate::text::concat([url.scheme(), "://", &url.authority]);
    let find = |stubs: &std::vec::Vec<(std::string::String, _)>| {
        stubs.iter().find(|(known, _)| *known == origin).map(|(_, app)| *app)
    };
    let app = stubs::STUBS.with_borrow(find).ok_or(Fault::Nobody)?;
    let head =
        Head { headers, scheme: Some(url.scheme().into()), authority: Some(url.authority), body, trailers: None };
    let (is_head, answer) = app.start(Request::new(method, url.target, head));
    let mut response = answer.await;
    response.finish(is_head);
    let (status, headers, body) = response.into_parts();
    Ok(Incoming { status, headers, body })
}

/// Without std there are no tests.
#[cfg(not(feature = "std"))]
pub(super) async fn send(request: Outgoing) -> Result<Incoming, Fault> {
    drop(request);
    Err(Fault::Broken)
}
