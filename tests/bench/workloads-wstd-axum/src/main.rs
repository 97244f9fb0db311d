//! The workloads as a component, on wstd-axum.

#[wstd_axum::http_server]
fn main() -> axum::Router {
    workloads_axum::router(0)
}
