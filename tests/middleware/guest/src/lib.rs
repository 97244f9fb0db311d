//! A middleware component: it knows nothing of the app that it is put in front of, and the app nothing of it.
//!
//! Requests below `/private` need a key; the rest goes through, and each answer tells how long the app took to begin it.

wit_bindgen::generate!({
    world: "wasi:http/middleware@0.3.2",
    path: "../../../wit/p3",
    features: ["clocks-timezone"],
    generate_all
});

use exports::wasi::http::handler::Guest;
use wasi::clocks::monotonic_clock::now;
use wasi::http::handler;
use wasi::http::types::{ErrorCode, Fields, Request, Response};

struct Middleware;
export!(Middleware);

impl Guest for Middleware {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let path = request.get_path_with_query().unwrap_or_default();
        if path.starts_with("/private") && request.get_headers().get("x-key") != [b"open sesame"] {
            return Ok(refuse());
        }
        let begin = now();
        let answer = handler::handle(request).await?;
        Ok(with_field(answer, "server-timing", &format!("app;dur={:.3}", (now() - begin) as f64 / 1e6)))
    }
}

fn refuse() -> Response {
    let (_, trailers) = wit_future::new(|| Ok(None));
    let (response, _) = Response::new(Fields::new(), None, trailers);
    // 401 is a status.
    let _ = response.set_status_code(401);
    response
}

/// The fields of an answer can't be changed, so it is made anew; its body goes from one to the other without passing
/// through here.
fn with_field(answer: Response, name: &str, value: &str) -> Response {
    let status = answer.get_status_code();
    let fields = answer.get_headers().clone();
    // Refused fields are those that a component may not set, and this is none of them.
    let _ = fields.append(name, value.as_bytes());
    let (done, taken) = wit_future::new(|| Ok(()));
    let (body, trailers) = Response::consume_body(answer, taken);
    let (response, sent) = Response::new(fields, Some(body), trailers);
    let _ = response.set_status_code(status);
    // The app gets to know what became of its answer.
    wit_bindgen::spawn_local(async move {
        let _ = done.write(sent.await).await;
    });
    response
}
