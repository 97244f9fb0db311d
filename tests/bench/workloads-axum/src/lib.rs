//! The workloads of `apps/bench` on axum, for native servers and for components alike.

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, COOKIE, HeaderMap};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Form, Json, Router};
use serde::Deserialize;

/// The limit of a body that is read whole, as in `apps/bench`.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// Returns the app, with `routes` more routes than it needs.
pub fn router(routes: usize) -> Router {
    let mut router = Router::new()
        .route("/", get(async || "Hello, World!"))
        .route("/hello/{name}", get(hello))
        .route("/health", get(async || "healthy"))
        .route("/benchmark_params", get(params))
        .route("/benchmark_object", post(object))
        .route("/headers", get(headers))
        .route("/bytes/{count}", get(bytes))
        .route("/length", post(length))
        .route("/echo", post(echo));
    for number in 0..routes {
        router = router.route(&format!("/routes/{number}/{{id}}/edit"), get(route));
    }
    router.layer(DefaultBodyLimit::max(BODY_LIMIT))
}

async fn hello(Path(name): Path<String>) -> String {
    format!("Hello, {name}!")
}

async fn route(Path(id): Path<String>) -> String {
    id
}

#[derive(Deserialize)]
struct Params {
    a: String,
    b: String,
    c: String,
    d: String,
}

#[derive(Deserialize)]
struct Short {
    a: String,
    b: String,
}

#[derive(Deserialize)]
struct Object {
    s: String,
    i: i32,
    l: i64,
    b: bool,
}

async fn params(Query(params): Query<Params>, headers: HeaderMap) -> Response {
    let is_right = params.a == "adam" && params.b == "bob" && params.c == "charlie" && params.d == "david";
    benchmark(is_right && has_cookie(&headers))
}

async fn object(Query(short): Query<Short>, headers: HeaderMap, request: Request) -> Response {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let object = if content_type.starts_with("application/json") {
        Json::<Object>::from_request(request, &()).await.map(|Json(object)| object).map_err(IntoResponse::into_response)
    } else {
        Form::<Object>::from_request(request, &()).await.map(|Form(object)| object).map_err(IntoResponse::into_response)
    };
    let object = match object {
        Ok(object) => object,
        Err(response) => return response,
    };
    let is_right = object.s == "sam" && object.i == 2 && object.l == 10_000_000 && object.b;
    benchmark(is_right && short.a == "adam" && short.b == "bob" && has_cookie(&headers))
}

fn has_cookie(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| cookie::Cookie::split_parse(line.to_owned())).flatten();
    cookies.any(|cookie| cookie.name() == "TEST" && cookie.value() == "THISISATESTCOOKIEHEADER")
}

fn benchmark(is_right: bool) -> Response {
    if is_right { Html("benchmark").into_response() } else { StatusCode::BAD_REQUEST.into_response() }
}

async fn headers(headers: HeaderMap) -> String {
    let bytes: usize =
        headers.iter().filter(|(name, _)| name.as_str().starts_with("x-bench-")).map(|(_, value)| value.len()).sum();
    bytes.to_string()
}

async fn bytes(Path(count): Path<usize>) -> Response {
    if count > BODY_LIMIT {
        return StatusCode::BAD_REQUEST.into_response();
    }
    vec![b'x'; count].into_response()
}

async fn length(body: Bytes) -> String {
    body.len().to_string()
}

async fn echo(request: Request) -> Body {
    request.into_body()
}
