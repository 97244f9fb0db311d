//! Translates between `wasi:http@0.3` and requests and responses.
//!
//! Each request is a task that returns its answer early and goes on to write the body. Many run in one instance, by
//! turns, and share the app.

mod abi;
mod bell;
pub(super) mod clock;
mod exchange;
mod incoming;
#[cfg(not(feature = "p2"))]
mod log;
pub(super) mod outbound;
mod task;
mod transfer;
mod wait;

use crate::app::App;
use crate::router::Router;
use core::cell::Cell;

pub(crate) use exchange::streams;
pub(crate) use incoming::Head;
#[cfg(not(feature = "p2"))]
pub(super) use log::print;
#[cfg(feature = "p2")]
pub(super) use task::is_running;
pub(super) use task::later;

/// Tells whether a request of this version is being worked on: there are no others.
#[cfg(not(feature = "p2"))]
pub(super) const fn is_running() -> bool {
    true
}
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
            None => {
                let mut app = router().into_app();
                app.index();
                app.leak()
            }
        };
        self.0.set(Some(app));
        exchange::start(app, request)
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
