//! The workloads as a component for `wasi:http@0.3`, on spin-sdk, which leaves routes to axum.

use spin_sdk::http::{IntoResponse, Request};
use spin_sdk::http_service;
use tower_service::Service;

#[http_service]
async fn workloads(request: Request) -> impl IntoResponse {
    workloads_axum::router(0).call(request).await
}
