//! Hello on spin-sdk.

use spin_sdk::http::{IntoResponse, Request};
use spin_sdk::http_service;

#[http_service]
async fn hello(_request: Request) -> impl IntoResponse {
    "Hello, World!"
}
