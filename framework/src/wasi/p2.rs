//! Translates between `wasi:http@0.2` and requests and responses.

use super::executor;
use crate::app::App;
use crate::body::{Body, Sink, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::limits;
use crate::method::Method;
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
    let (status, headers, body) = match incoming(request) {
        Some(request) => app.respond(request, |answer| executor::block_on(answer)),
        None => Response::default().with_status(Status::BAD_REQUEST),
    }
    .into_parts();
    let message = http::OutgoingResponse::new(fields(&headers));
    if status != Status::OK && message.set_status_code(status.code()).is_err() {
        log("the runtime refuses the status");
    }
    let Ok(outgoing) = message.body() else { return };
    http::ResponseOutparam::set(out, Ok(message));
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
    let method = match request.method() {
        http::Method::Get => Method::GET,
        http::Method::Head => Method::HEAD,
        http::Method::Post => Method::POST,
        http::Method::Put => Method::PUT,
        http::Method::Delete => Method::DELETE,
        http::Method::Connect => Method::CONNECT,
        http::Method::Options => Method::OPTIONS,
        http::Method::Trace => Method::TRACE,
        http::Method::Patch => Method::PATCH,
        http::Method::Other(name) => Method::new(&name)?,
    };
    let target = request.path_with_query().filter(|target| !target.is_empty()).unwrap_or_else(|| String::from("/"));
    Some(Request::new(method, target, Head { request, body: None }))
}

/// The head of a request, which stays with the runtime until somebody asks.
pub(crate) struct Head {
    request: http::IncomingRequest,
    /// Where the body is left for its trailers.
    body: Option<Rc<Cell<Option<http::IncomingBody>>>>,
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
    fn write(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let room = self.0.check_write().ok()?;
            let (now, later) = bytes.split_at_checked(room as usize).unwrap_or((bytes, &[]));
            if now.is_empty() {
                self.0.subscribe().block();
            } else {
                self.0.write(now).ok()?;
            }
            bytes = later;
        }
        Some(())
    }

    fn wait(&mut self, done: &mut dyn FnMut(&mut Context<'_>) -> bool) {
        executor::drive(done);
    }
}

/// Ends a body as complete. As `OutgoingBody::finish`, without its 1.3 KB to read an error that nobody could act upon.
fn finish(body: http::OutgoingBody, trailers: Option<http::Fields>) {
    #[link(wasm_import_module = "wasi:http/types@0.2.12")]
    unsafe extern "C" {
        #[link_name = "[static]outgoing-body.finish"]
        fn finish(body: i32, has_trailers: i32, trailers: i32, result: *mut [u64; 5]);
    }
    let (has_trailers, trailers) = match &trailers {
        Some(trailers) => (1, trailers.take_handle() as i32),
        None => (0, 0),
    };
    let mut result = [0; 5];
    // SAFETY: the signature is that of the interface; a result has 40 bytes there; both handles are given away.
    unsafe { finish(body.take_handle() as i32, has_trailers, trailers, &mut result) };
}

/// Hands header fields over.
fn fields(headers: &Headers) -> http::Fields {
    http::Fields::from_list(headers.as_raw()).unwrap_or_else(|_| {
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
    // More than 4,096 bytes at a time would be refused (`wasi:io/streams`).
    for piece in bytes.chunks(4096) {
        let _ = stderr.blocking_write_and_flush(piece);
    }
}
