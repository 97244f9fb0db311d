//! What goes out: bodies, header fields, errors.

use std::future::ready;
use tabi::testing::Client;
use tabi::{Body, Error, IntoResponse, OrStatus, Request, Response, Result, Router, Status};

#[track_caller]
fn check(response: impl Fn() -> Response + 'static, status: u16, fields: &[(&str, Option<&str>)], text: &str) {
    let page = Client::new(Router::new().get("/", move |_: Request| ready(response()))).get("/").send();
    assert_eq!((page.status().code(), page.text().as_str()), (status, text));
    for (name, value) in fields {
        assert_eq!(page.header(name), *value, "{name}");
    }
    assert_eq!(page.headers().get_all("x-content-type-options").count(), 1);
}

#[test]
fn what_handlers_return() {
    let text = ("content-type", Some("text/plain; charset=utf-8"));
    let bytes = ("content-type", Some("application/octet-stream"));
    check(|| "a".into_response(), 200, &[text, ("content-length", Some("1"))], "a");
    check(|| String::from("é").into_response(), 200, &[text, ("content-length", Some("2"))], "é");
    check(|| b"a".as_slice().into_response(), 200, &[bytes], "a");
    check(|| vec![b'a'].into_response(), 200, &[bytes], "a");
    check(|| ().into_response(), 204, &[("content-length", None), ("content-type", None)], "");
    check(|| Status::CREATED.into_response(), 201, &[("content-length", Some("0"))], "");
    check(|| Response::html("<p>"), 200, &[("content-type", Some("text/html; charset=utf-8"))], "<p>");
    check(|| Response::redirect("/a"), 303, &[("location", Some("/a"))], "");
    check(|| Response::redirect_temporary("/a"), 307, &[("location", Some("/a"))], "");
    check(|| Response::redirect_permanent("/a"), 308, &[("location", Some("/a"))], "");
    check(|| Err::<(), _>(Error::new(Status::CONFLICT, "taken")).into_response(), 409, &[text], "taken");
    check(|| "x".parse::<u8>().map(|_| "").into_response(), 500, &[text], "internal error");
    check(|| None::<&str>.or_status(Status::NOT_FOUND, "none").into_response(), 404, &[text], "none");
}

#[test]
fn what_is_never_sent() {
    // RFC 9110, section 15.2: an interim status is no answer.
    check(|| Status::EARLY_HINTS.into_response(), 500, &[], "internal error");
    check(|| Status::SWITCHING_PROTOCOLS.into_response(), 500, &[], "internal error");
    // RFC 9110, section 6.4.1: no content with these.
    check(|| Response::text("a").with_status(Status::NO_CONTENT), 204, &[("content-length", None)], "");
    check(|| Response::text("a").with_status(Status::NOT_MODIFIED), 304, &[], "");
    // A field that would split the message makes it a 500.
    for value in ["a\r\nset-cookie: b", "a\nb", "a\0"] {
        check(
            move || Response::text("a").with_header("x", value),
            500,
            &[("x", None), ("set-cookie", None)],
            "internal error",
        );
    }
    check(|| Response::redirect("/\r\nx: y"), 500, &[("location", None), ("x", None)], "internal error");
    check(|| Response::text("a").with_header("bad name", "a"), 500, &[], "internal error");
    // Fields of the connection are the runtime's.
    for name in ["connection", "transfer-encoding", "keep-alive", "upgrade", "host", "te", "proxy-connection"] {
        check(move || Response::text("a").with_header(name, "x"), 200, &[(name, None)], "a");
    }
    // A length that is wrong is put right.
    check(|| Response::text("abc").with_header("content-length", "7"), 200, &[("content-length", Some("3"))], "abc");
    check(
        || Response::text("a").with_header("x-content-type-options", "other"),
        200,
        &[("x-content-type-options", Some("other"))],
        "a",
    );
}

#[test]
fn fields_are_replaced_or_added() {
    let response =
        || Response::text("").with_header("x", "1").with_appended("X", "2").with_header("y", "1").with_header("Y", "2");
    let page = Client::new(Router::new().get("/", move |_: Request| ready(response()))).get("/").send();
    assert_eq!(page.headers().get_all("x").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(page.headers().get_all("y").collect::<Vec<_>>(), ["2"]);
}

#[test]
fn streams() {
    async fn count(req: Request) -> Result {
        let most: u32 = req.param("most")?;
        Ok(Response::new(Body::stream(async move |mut out| {
            for number in 0..most {
                out.send(number.to_string()).await;
                out.send("").await;
            }
            if most == 13 {
                return Err(Error::new(Status::INTERNAL_SERVER_ERROR, "unlucky"));
            }
            Ok(())
        })))
    }
    async fn echo(mut req: Request) -> Response {
        Response::new(req.body().take())
    }
    let client = Client::new(Router::new().get("/{most}", count).post("/", echo));
    for (path, text, breaks) in [("/0", "", false), ("/5", "01234", false), ("/13", "0123456789101112", true)] {
        let page = client.get(path).send();
        assert_eq!(
            (page.text().as_str(), page.broken().is_some(), page.header("content-length")),
            (text, breaks, None),
            "{path}"
        );
    }
    let page = client.post("/").chunks(["a", "", "b"]).send();
    assert_eq!((page.text().as_str(), page.header("content-length")), ("ab", None));
    let page = client.head("/5").send();
    assert_eq!((page.status().code(), page.text().as_str()), (200, ""));
}

#[test]
fn causes_stay_in_the_log() {
    async fn fails(_: Request) -> Result {
        Err(std::io::Error::other("password is hunter2"))?
    }
    let page = Client::new(Router::new().get("/", fails)).get("/").send();
    assert_eq!((page.status().code(), page.text().as_str()), (500, "internal error"));
    assert!(page.headers().iter().all(|(_, value)| !String::from_utf8_lossy(value).contains("hunter2")));
}

#[test]
fn targets_are_taken_apart() {
    async fn parts(req: Request) -> String {
        format!("{}|{:?}|{:?}|{:?}", req.path(), req.query_string(), req.query("a"), req.authority())
    }
    let client = Client::new(Router::new().get("/{*path}", parts));
    for (target, expected) in [
        ("/x", "/x|None|None|Some(\"localhost\")"),
        ("/x?", "/x|Some(\"\")|None|Some(\"localhost\")"),
        ("/x?a=1&a=2", "/x|Some(\"a=1&a=2\")|Some(\"1\")|Some(\"localhost\")"),
        ("/x?a=%26+b?c", "/x|Some(\"a=%26+b?c\")|Some(\"& b?c\")|Some(\"localhost\")"),
        ("/%78?b=1", "/%78|Some(\"b=1\")|None|Some(\"localhost\")"),
    ] {
        assert_eq!(client.get(target).send().text(), expected, "{target}");
    }
}
