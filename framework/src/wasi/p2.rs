//! Translates between `wasi:http@0.2` and requests and responses.

use super::executor;
use super::raw::{self, Output};
use crate::app::App;
use crate::body::{Body, Sink, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::limits;
use crate::request::Request;
use crate::router::Router;
use crate::status::Status;
use crate::text::append;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::task::{Context, Poll, ready};
use wasip2::http::types as http;
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{InputStream, StreamError};

pub use wasip2;

/// The app of an instance: built at its first request, kept for those that follow.
pub struct Instance(Cell<Option<&'static App>>);

// SAFETY: a component of WASI 0.2 has one thread.
unsafe impl Sync for Instance {}

impl Instance {
    /// Returns an instance without an app.
    #[allow(clippy::new_without_default, reason = "a static needs a const fn")]
    pub const fn new() -> Instance {
        Instance(Cell::new(None))
    }

    /// Builds the app ahead of all requests. Only what needs nothing of the host can be done ahead; where that is not
    /// all, the first request builds it.
    #[cfg(feature = "ahead")]
    pub fn initialize(&self, router: fn() -> Router) {
        wit_bindgen::rt::run_ctors_once();
        self.build(router, true);
    }

    /// Answers a request.
    pub fn handle(&self, router: fn() -> Router, request: http::IncomingRequest, out: http::ResponseOutparam) {
        let app = match self.0.get() {
            Some(app) => app,
            None => self.build(router, false),
        };
        exchange(app, request, out);
        super::after::finish();
    }

    /// Builds the app, and what is worth the work if it is there for many requests.
    #[cfg_attr(feature = "ahead", inline(never))]
    fn build(&self, router: fn() -> Router, ahead: bool) -> &'static App {
        let mut app = router().into_app();
        if ahead {
            app.index();
        }
        let app = app.leak();
        self.0.set(Some(app));
        app
    }
}

/// Exports the app for 0.2.
#[doc(hidden)]
#[macro_export]
macro_rules! __serve_p2 {
    ($router:path) => {
        const _: () = {
            struct Component;
            static INSTANCE: $crate::__private::p2::Instance = $crate::__private::p2::Instance::new();
            impl $crate::__private::p2::wasip2::exports::http::incoming_handler::Guest for Component {
                fn handle(
                    request: $crate::__private::p2::wasip2::http::types::IncomingRequest,
                    out: $crate::__private::p2::wasip2::http::types::ResponseOutparam,
                ) {
                    INSTANCE.handle($router, request, out);
                }
            }
    $crate::__private::p2::wasip2::http::proxy::export!(Component with_types_in $crate::__private::p2::wasip2);
            $crate::__ahead!(INSTANCE, $router);
        };
    };
}

/// Exports what can be done ahead, under the name that tools know: `world { export wizer-initialize: func(); }`, as
/// `wit_component::metadata::encode` writes it.
#[cfg(feature = "ahead")]
#[doc(hidden)]
#[macro_export]
macro_rules! __ahead {
    ($instance:ident, $router:path) => {
        #[unsafe(export_name = "wizer-initialize")]
        extern "C" fn initialize() {
            $instance.initialize($router);
        }
        #[unsafe(link_section = "component-type:tabi:ahead")]
        static WORLD: [u8; 88] = *b"\x00asm\r\x00\x01\x00\x00\x19\x16wit-component-encoding\x04\x00\
            \x07*\x01A\x02\x01A\x02\x01@\x00\x01\x00\x04\x00\x10wizer-initialize\x01\x00\
            \x04\x00\x05a:a/a\x04\x00\x0b\x07\x01\x00\x01a\x03\x00\x00";
    };
}

/// Without the feature, there is nothing to export.
#[cfg(not(feature = "ahead"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __ahead {
    ($instance:ident, $router:path) => {};
}

fn exchange(app: &'static App, request: http::IncomingRequest, out: http::ResponseOutparam) {
    let out = {
        // The handle is given away with the answer.
        let out = core::mem::ManuallyDrop::new(out);
        out.handle()
    };
    let mut response = app.respond(incoming(request), executor::block_on);
    let outgoing = raw::respond(out, response.status().code(), response.headers());
    let body = response.body().take();
    let end = match body.is_empty() {
        true => Some(None),
        false => body.send(&mut outgoing.stream()),
    };
    if let Some(trailers) = end {
        outgoing.finish(trailers);
    }
}

fn incoming(request: http::IncomingRequest) -> Request {
    let method = raw::method(request.handle());
    let mut target = raw::target(request.handle());
    if target.is_empty() {
        append(&mut target, "/");
    }
    #[allow(clippy::useless_conversion, reason = "with both versions of WASI a head is of either")]
    Request::new(method, target, Head { request, body: None }.into())
}

/// The head of a request, which stays with the runtime until somebody asks.
pub(crate) struct Head {
    request: http::IncomingRequest,
    /// Where the body is left for its trailers. An app that reads no body is spared the code to drop one, and a box is
    /// dropped by less code than what is counted.
    body: Option<Box<dyn Left>>,
}

/// Where a body is left.
trait Left {
    fn take(&self) -> Option<http::IncomingBody>;
}

impl Left for Rc<Cell<Option<http::IncomingBody>>> {
    fn take(&self) -> Option<http::IncomingBody> {
        Cell::take(self)
    }
}

impl Head {
    pub(crate) fn headers(&self) -> Headers {
        Headers::from_raw(self.request.headers().entries())
    }

    pub(crate) fn scheme(&self) -> Option<String> {
        Some(match self.request.scheme()? {
            http::Scheme::Http => String::from("http"),
            http::Scheme::Https => String::from("https"),
            http::Scheme::Other(name) => name,
        })
    }

    pub(crate) fn authority(&self) -> Option<String> {
        self.request.authority()
    }

    /// Returns the body, at the first call.
    pub(crate) fn body(&mut self) -> Body {
        let Ok(body) = self.request.consume() else { return Body::empty() };
        let Ok(stream) = body.stream() else { return Body::empty() };
        let left = Rc::new(Cell::new(None));
        self.body = Some(Box::new(left.clone()));
        Body::from_stream(Incoming { wait: None, stream: Some(stream), body: Some(body), left })
    }

    /// Returns the trailer fields, once the body is at its end.
    pub(crate) async fn trailers(&mut self) -> Result<Option<Headers>> {
        let Some(body) = self.body.as_ref().and_then(|left| left.take()) else { return Ok(None) };
        let future = http::IncomingBody::finish(body);
        loop {
            match future.get() {
                Some(Ok(Ok(Some(trailers)))) => return Ok(Some(Headers::from_raw(trailers.entries()))),
                Some(Ok(Ok(None)) | Err(())) => return Ok(None),
                Some(Ok(Err(_))) => return Err(broken()),
                None => executor::wait(future.subscribe()).await,
            }
        }
    }
}

/// The body of a request. The order matters: a stream has to be dropped before the body that it belongs to, and what
/// waits for it before the stream.
struct Incoming {
    wait: Option<Rc<Pollable>>,
    stream: Option<InputStream>,
    body: Option<http::IncomingBody>,
    left: Rc<Cell<Option<http::IncomingBody>>>,
}

impl Stream for Incoming {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        let Some(stream) = &self.stream else { return Poll::Ready(None) };
        loop {
            if let Some(pollable) = &self.wait {
                ready!(executor::poll_wait(pollable));
            }
            match stream.read(limits::CHUNK as u64) {
                Ok(chunk) if chunk.is_empty() => {
                    self.wait.get_or_insert_with(|| Rc::new(stream.subscribe()));
                }
                Ok(chunk) => {
                    // Most often there is more at once: to ask is cheaper than to wait.
                    self.wait = None;
                    return Poll::Ready(Some(Ok(chunk)));
                }
                Err(end) => {
                    self.wait = None;
                    self.stream = None;
                    self.left.set(self.body.take());
                    return Poll::Ready(match end {
                        StreamError::Closed => None,
                        StreamError::LastOperationFailed(_) => Some(Err(broken())),
                    });
                }
            }
        }
    }
}

#[cold]
fn broken() -> Error {
    Error::new(Status::BAD_REQUEST, "the body broke off")
}

/// Where a body goes.
impl Sink for Output {
    fn write(&mut self, bytes: &[u8]) -> Option<()> {
        Output::write(self, bytes)
    }
}

/// Writes to `wasi:cli/stderr`, which every HTTP world grants.
#[inline(never)]
pub(super) fn print(bytes: &[u8]) {
    let stderr = Output::stderr();
    // There is nobody to be told where even the log fails.
    let _ = stderr.write(bytes).and_then(|()| stderr.flush());
}
