//! Hello on wstd-axum.

use axum::{Router, routing::get};

#[wstd_axum::http_server]
fn main() -> Router {
    Router::new().route("/", get(async || "Hello, World!"))
}
