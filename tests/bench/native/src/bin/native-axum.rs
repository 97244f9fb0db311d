//! The workloads on axum.

use axum::serve::ListenerExt;

fn main() {
    let routes = std::env::var("BENCH_ROUTES").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    ROUTES.store(routes, Relaxed);
    native::run(|listener| {
        Box::pin(async move {
            let listener = listener.tap_io(|stream| {
                let _ = stream.set_nodelay(true);
            });
            let app = workloads_axum::router(ROUTES.load(Relaxed));
            let _ = axum::serve(listener, app).await;
        })
    });
}

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many routes there are besides the workloads.
static ROUTES: AtomicUsize = AtomicUsize::new(0);
