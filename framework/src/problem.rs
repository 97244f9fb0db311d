//! `Problems`: errors as documents that programs can read (RFC 9457).

use crate::accept::Accept;
use crate::handler::BoxFuture;
use crate::middleware::{Middleware, Next};
use crate::quote::push_json_string;
use crate::request::Request;
use crate::response::Response;
use crate::text::decimal;
use crate::vary;
use alloc::boxed::Box;
use alloc::string::String;

/// Middleware that answers errors with `application/problem+json`, for clients that accept JSON.
///
/// An error is a plain text otherwise, and stays one for who likes that or HTML better: a browser. The 404 and 405 of
/// the router are errors like those of handlers. Header fields of the error stay; the cause goes to the log, as ever.
///
/// ```
/// use tabi::{Error, Problems, Request, Result, Router, Status};
///
/// async fn book(_: Request) -> Result {
///     Err(Error::new(Status::CONFLICT, "the room is taken"))
/// }
///
/// let router = Router::new().with(Problems).post("/book", book);
/// # let client = tabi::testing::Client::new(router);
/// # let reply = client.post("/book").header("accept", "application/json").send();
/// # assert_eq!(reply.header("content-type"), Some("application/problem+json"));
/// # let text = r#"{"type":"about:blank","title":"Conflict","status":409,"detail":"the room is taken"}"#;
/// # assert_eq!((reply.status().code(), reply.text().as_str()), (409, text));
/// ```
///
/// It is the example of how to render errors, too: there is no other hook than middleware that looks at
/// [`Response::error`]. Pages for people go like this:
///
/// ```
/// use tabi::{Next, Request, Response, Router};
///
/// async fn error_pages(req: Request, next: Next) -> Response {
///     let response = next.run(req).await;
///     let Some(error) = response.error() else { return response };
///     let page = tabi::concat(["<!doctype html><title>", error.status().reason().unwrap_or("Error"), "</title>"]);
///     response.with_header("content-type", "text/html; charset=utf-8").with_body(page)
/// }
///
/// let router = Router::new().with(error_pages);
/// # let reply = tabi::testing::Client::new(router).get("/nowhere").send();
/// # assert_eq!((reply.status().code(), reply.text().as_str()), (404, "<!doctype html><title>Not Found</title>"));
/// ```
pub struct Problems;

const TYPE: &str = "application/problem+json";

impl Middleware for Problems {
    fn call(&'static self, request: Request, next: Next) -> BoxFuture<Response> {
        let kinds = [TYPE, "application/json", "text/plain", "text/html"];
        // Asked for before the request is gone, though mostly for nothing: it costs a look at one field.
        let json = Accept::media_types(request.headers()).best(&kinds).is_some_and(|kind| kind.ends_with("json"));
        Box::pin(async move { render(next.run(request).await, json) })
    }
}

fn render(mut response: Response, json: bool) -> Response {
    let Some(error) = response.error() else { return response };
    let document = json.then(|| document(response.status().reason(), response.status().code(), error.message()));
    vary::add(response.headers_mut(), "accept");
    match document {
        Some(document) => response.with_header("content-type", TYPE).with_body(document),
        None => response,
    }
}

fn document(title: Option<&str>, status: u16, detail: &str) -> String {
    let mut out = String::from("{\"type\":\"about:blank\"");
    // RFC 9457, section 4.2.1: with this type the title is the phrase of the status.
    if let Some(title) = title {
        out.push_str(",\"title\":");
        push_json_string(&mut out, title);
    }
    out.push_str(",\"status\":");
    out.push_str(&decimal(status.into()));
    out.push_str(",\"detail\":");
    push_json_string(&mut out, detail);
    out.push('}');
    out
}
