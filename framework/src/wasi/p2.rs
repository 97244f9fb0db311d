//! Translates between `wasi:http@0.2` and requests and responses.

use super::executor;
use super::raw::{self, finish, method};
use crate::app::App;
use crate::body::{Body, Sink, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::limits;
use crate::request::Request;
use crate::response::Response;
use crate::router::Router;
use crate::status::Status;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::task::{Context, Poll, ready};
use wasip2::http::types as http;
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

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

    /// Answers a request.
    pub fn handle(&self, router: fn() -> Router, request: http::IncomingRequest, out: http::ResponseOutparam) {
        let app = match self.0.get() {
            Some(app) => app,
            None => router().into_app().leak(),
        };
        self.0.set(Some(app));
        exchange(app, request, out);
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
        };
    };
}

fn exchange(app: &'static App, request: http::IncomingRequest, out: http::ResponseOutparam) {
    let mut response = match incoming(request) {
        Some(request) => app.respond(request, |answer| executor::block_on(answer)),
        None => Response::default().with_status(Status::BAD_REQUEST),
    };
    let message = http::OutgoingResponse::new(fields(response.headers()));
    let status = response.status();
    if status != Status::OK && message.set_status_code(status.code()).is_err() {
        log("the runtime refuses the status");
    }
    let Ok(outgoing) = message.body() else { fail("no body to write to") };
    http::ResponseOutparam::set(out, Ok(message));
    let body = response.body().take();
    let end = match body.is_empty() {
        true => Some(None),
        false => outgoing.write().ok().and_then(|out| body.send(&mut Outgoing(out))),
    };
    if let Some(trailers) = end {
        finish(outgoing, trailers.map(|trailers| fields(&trailers)));
    }
    // Otherwise the body is dropped unfinished, and never looks complete.
}

fn incoming(request: http::IncomingRequest) -> Option<Request> {
    let method = method(&request)?;
    let target = request.path_with_query().filter(|target| !target.is_empty()).unwrap_or_else(|| String::from("/"));
    Some(Request::new(method, target, Head { request, body: None }))
}

/// The head of a request, which stays with the runtime until somebody asks.
pub(crate) struct Head {
    request: http::IncomingRequest,
    /// Where the body is left for its trailers. An app that reads no body is spared the code to drop one.
    body: Option<Rc<dyn Left>>,
}

/// Where a body is left.
trait Left {
    fn take(&self) -> Option<http::IncomingBody>;
}

impl Left for Cell<Option<http::IncomingBody>> {
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
        self.body = Some(left.clone());
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
struct Outgoing(OutputStream);

impl Sink for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> Option<()> {
        raw::write(&self.0, bytes)
    }

    fn wait(&mut self, done: &mut dyn FnMut(&mut Context<'_>) -> bool) {
        executor::drive(done);
    }
}

/// Hands header fields over.
fn fields(headers: &Headers) -> http::Fields {
    raw::fields(headers).unwrap_or_else(|| {
        log("the runtime refuses the header fields");
        http::Fields::new()
    })
}

/// Whether mistakes in building an app are looked for: in a release build each instance would do so again.
pub(crate) const CHECKED: bool = cfg!(debug_assertions);

/// Ends the instance with a message in the log.
#[cold]
#[track_caller]
pub(crate) fn fail(message: &str) -> ! {
    let at = core::panic::Location::caller();
    log(&crate::text::concat([message, " (", at.file(), ":", &crate::text::decimal(at.line().into()), ")"]));
    core::arch::wasm32::unreachable()
}

/// Writes a line to the log of the host.
#[cold]
#[inline(never)]
pub(crate) fn log(line: &str) {
    print(line.as_bytes());
    print(b"\n");
}

/// Writes to `wasi:cli/stderr`, which every HTTP world grants.
pub(super) fn print(bytes: &[u8]) {
    let stderr = wasip2::cli::stderr::get_stderr();
    let _ = raw::write(&stderr, bytes);
    let _ = raw::flush(&stderr);
}
