//! Errors as problem documents, through the public API.

use tabi::testing::{Client, Reply};
use tabi::{Error, Next, Problems, Request, Response, Result, Router, Status};

async fn conflict(_: Request) -> Result {
    Err(Error::new(Status::CONFLICT, "field `a\"b` is\ntaken").with_header("retry-after", "5"))
}

async fn broken(_: Request) -> Result {
    let text = String::from_utf8(b"secret\xff".to_vec())?;
    Ok(Response::text(text))
}

fn client() -> Client {
    let router = Router::new().with(seen).with(Problems).get("/", async |_| "fine").get("/conflict", conflict);
    let plain = async |_: Request| Response::text("mine").with_status(Status::NOT_FOUND);
    Client::new(router.get("/broken", broken).get("/plain", plain))
}

/// What is around `Problems` still sees the error.
async fn seen(req: Request, next: Next) -> Response {
    let response = next.run(req).await;
    let seen = if response.error().is_some() { "yes" } else { "no" };
    response.with_header("x-seen", seen)
}

#[track_caller]
fn check(reply: Reply, status: u16, kind: &str, text: &str) {
    let length = text.len().to_string();
    assert_eq!((reply.status().code(), reply.header("content-type")), (status, Some(kind)));
    assert_eq!((reply.text().as_str(), reply.header("content-length")), (text, Some(length.as_str())));
}

#[test]
fn errors_are_documents() {
    let client = client();
    let json = "application/problem+json";
    for (path, status, text) in [
        ("/nowhere", 404, r#"{"type":"about:blank","title":"Not Found","status":404,"detail":"not found"}"#),
        ("/%zz", 400, r#"{"type":"about:blank","title":"Bad Request","status":400,"detail":"malformed path"}"#),
        (
            "/broken",
            500,
            r#"{"type":"about:blank","title":"Internal Server Error","status":500,"detail":"internal error"}"#,
        ),
        (
            "/conflict",
            409,
            r#"{"type":"about:blank","title":"Conflict","status":409,"detail":"field `a\"b` is\ntaken"}"#,
        ),
    ] {
        for accept in ["application/json", "application/problem+json", "*/*", "", "application/json, text/plain, */*"] {
            let reply = client.get(path).header("accept", accept).send();
            assert_eq!(
                (reply.header("vary"), reply.header("x-seen")),
                (Some("accept"), Some("yes")),
                "{path} {accept}"
            );
            check(reply, status, json, text);
        }
    }
    let reply = client.post("/conflict").send();
    assert_eq!(reply.header("allow"), Some("GET, HEAD, OPTIONS"));
    check(
        reply,
        405,
        json,
        r#"{"type":"about:blank","title":"Method Not Allowed","status":405,"detail":"method not allowed"}"#,
    );
    assert_eq!(client.get("/conflict").send().header("retry-after"), Some("5"));
    assert_eq!(client.head("/conflict").send().text(), "");
}

#[test]
fn who_likes_text_better_gets_text() {
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";
    for accept in ["text/plain", browser, "text/*", "image/png", "application/json;q=0.1, text/plain", "*/*;q=0"] {
        let reply = client().get("/nowhere").header("accept", accept).send();
        assert_eq!(reply.header("vary"), Some("accept"), "{accept}");
        check(reply, 404, "text/plain; charset=utf-8", "not found");
    }
}

#[test]
fn what_is_no_error_is_left_alone() {
    for (path, status, text) in [("/", 200, "fine"), ("/plain", 404, "mine")] {
        let reply = client().get(path).header("accept", "application/json").send();
        assert_eq!((reply.header("vary"), reply.header("x-seen")), (None, Some("no")), "{path}");
        check(reply, status, "text/plain; charset=utf-8", text);
    }
}
