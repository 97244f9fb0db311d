//! Translates between `wasi:http@0.3` and requests and responses.
//!
//! Each request is a task that returns its answer early and goes on to write the body. Many run in one instance, by
//! turns, and share the app.

mod abi;
mod incoming;
#[cfg(not(feature = "p2"))]
mod log;
mod task;
mod transfer;

use crate::app::App;
use crate::body::Body;
use crate::headers::Headers;
use crate::router::Router;
use crate::status::Status;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::poll_fn;
use core::task::Poll;

use super::{fail, log};
use transfer::{Awaited, Writer};

pub(crate) use incoming::Head;
#[cfg(not(feature = "p2"))]
pub(super) use log::print;
pub use wasip3;

/// The app of an instance: built at its first request, kept for those that follow.
pub struct Instance(Cell<Option<&'static App>>);

// SAFETY: a component has one thread.
unsafe impl Sync for Instance {}

impl Instance {
    /// Returns an instance without an app.
    #[allow(clippy::new_without_default, reason = "a static needs a const fn")]
    pub const fn new() -> Instance {
        Instance(Cell::new(None))
    }

    /// Starts the task of a request.
    pub fn handle(&self, router: fn() -> Router, request: u32) -> u32 {
        let app = match self.0.get() {
            Some(app) => app,
            None => router().into_app().leak(),
        };
        self.0.set(Some(app));
        task::start(Box::pin(exchange(app, request)))
    }
}

/// What [`serve!`](crate::serve) makes.
pub trait Service {
    /// Starts the task of a request, given its handle.
    fn handle(request: u32) -> u32;
}

/// Where the macro of the bindings looks for what an export does. It brings the names of the exports, and the types of
/// the component.
#[doc(hidden)]
pub mod exports {
    pub mod wasi {
        pub mod http {
            pub mod handler {
                pub use wasip3::exports::http::handler::__export_wasi_http_handler_0_3_2_cabi;

                /// Starts the task of a request.
                #[allow(non_snake_case, reason = "the macro names it")]
                pub fn _export_handle_cabi<T: crate::wasi::p3::Service>(request: i32) -> i32 {
                    wasip3::wit_bindgen::rt::run_ctors_once();
                    T::handle(request as u32) as i32
                }

                /// Goes on with the task of a request.
                #[allow(non_snake_case, reason = "the macro names it")]
                pub fn __callback_handle(event: u32, handle: u32, code: u32) -> u32 {
                    crate::wasi::p3::task::resume(event, handle, code)
                }
            }
        }
    }
}

/// Exports the app for 0.3.
#[doc(hidden)]
#[macro_export]
macro_rules! __serve_p3 {
    ($router:path) => {
        const _: () = {
            struct Component;
            static INSTANCE: $crate::__private::p3::Instance = $crate::__private::p3::Instance::new();
            impl $crate::__private::p3::Service for Component {
                fn handle(request: u32) -> u32 {
                    INSTANCE.handle($router, request)
                }
            }
    $crate::__private::p3::wasip3::http::service::export!(Component with_types_in $crate::__private::p3);
        };
    };
}

async fn exchange(app: &'static App, request: u32) {
    let (head, answer) = app.start(incoming::request(request));
    let mut response = answer.await;
    response.finish(head);
    let body = response.body().take();
    let ends = if body.is_empty() { 0 } else { abi::stream_new() };
    let trailers = abi::trailers_new();
    let mut made = [0; 2];
    // SAFETY: the handles are ours and given away; the result has two handles.
    unsafe {
        abi::response_new(fields(response.headers()), (ends != 0).into(), ends as u32, trailers as u32, &mut made);
    }
    let [message, sent] = made;
    if response.status() != Status::OK && abi::response_set_status(message, response.status().code().into()) != 0 {
        log("the runtime refuses the status");
    }
    drop(response);
    let sent = Awaited::new(sent, &transfer::RESULT);
    abi::task_return(0, message, 0, 0, 0, 0, 0, 0);
    task::answered();
    let outcome = match ends {
        0 => [0; 5],
        _ => send(body, Writer::new((ends >> 32) as u32), sent).await,
    };
    transfer::keep((trailers >> 32) as u32, &transfer::PROMISED_TRAILERS, outcome).await;
    task::finish().await;
}

/// Writes a body, and returns what stands where its trailer fields do.
async fn send(mut body: Body, mut out: Writer, mut sent: Awaited) -> abi::Outcome {
    /// An error without more to it, `internal-error`: the runtime breaks the response off, and it never looks complete.
    const BROKEN: abi::Outcome = [1, 38, 0, 0, 0];
    if let Some(bytes) = body.as_bytes() {
        return if out.write(bytes).await.is_some() { [0; 5] } else { BROKEN };
    }
    loop {
        // Nobody writes while the code waits for something else: that the client is gone is known from the outcome.
        let next = poll_fn(|cx| match body.poll_chunk(cx) {
            Poll::Pending if sent.poll().is_ready() => Poll::Ready(Err(())),
            other => other.map(Ok),
        });
        match next.await {
            Ok(Some(Ok(chunk))) => {
                if out.write(&chunk).await.is_none() {
                    break;
                }
            }
            Ok(Some(Err(error))) => {
                error.log();
                break;
            }
            Ok(None) => {
                drop(out);
                return match poll_fn(|cx| body.poll_trailers(cx)).await {
                    Ok(None) => [0; 5],
                    Ok(Some(trailers)) => [0, u64::from(fields(&trailers)) << 32 | 1, 0, 0, 0],
                    Err(_) => BROKEN,
                };
            }
            Err(()) => break,
        }
    }
    if let Poll::Ready(outcome) = sent.poll() {
        transfer::settle(outcome);
    }
    BROKEN
}

/// Hands header fields over.
fn fields(headers: &Headers) -> u32 {
    let list: Vec<abi::Field> = headers
        .iter()
        .map(|(name, value)| abi::Field {
            name: name.as_ptr(),
            name_length: name.len(),
            value: value.as_ptr(),
            value_length: value.len(),
        })
        .collect();
    let mut result = [0; 5];
    // SAFETY: the list is borrowed for the call; a result has 20 bytes here, its case in the first.
    unsafe { abi::fields_from_list(list.as_ptr(), list.len(), &mut result) };
    let [failed, handle, other, at, length] = result;
    if failed & 255 == 0 {
        return handle;
    }
    if handle & 255 == 4 && other & 255 != 0 {
        transfer::free(at as usize, length as usize);
    }
    log("the runtime refuses the header fields");
    // SAFETY: as above; there is nothing in the list.
    unsafe { abi::fields_from_list(list.as_ptr(), 0, &mut result) };
    result[1]
}
