//! Cookies of requests and responses, through the public API.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on may stop there")]

mod cases;

use cases::base64;
use std::time::Duration;
use tabi::testing::Client;
use tabi::{Cookie, Date, Error, Request, Response, Result, Router, SameSite, Status};

/// An app that tells the cookies it got.
fn echo() -> Client {
    async fn echo(req: Request) -> String {
        req.cookies().map(|(name, value)| format!("[{name}|{value}]")).collect()
    }
    async fn first(req: Request) -> String {
        format!("{:?}", req.cookie("a"))
    }
    Client::new(Router::new().get("/", echo).get("/a", first))
}

#[track_caller]
fn check_parse(fields: &[&[u8]], expected: &[(&str, &str)]) {
    let call = fields.iter().fold(echo().get("/"), |call, field| call.header("cookie", field));
    let expected: String = expected.iter().map(|(name, value)| format!("[{name}|{value}]")).collect();
    assert_eq!(call.send().text(), expected, "{fields:?}");
}

#[test]
fn requests() {
    check_parse(&[], &[]);
    check_parse(&[b""], &[]);
    check_parse(&[b"a=1"], &[("a", "1")]);
    check_parse(&[b"a=1; b=hello;  c = spaced ", b"d=2"], &[("a", "1"), ("b", "hello"), ("c", "spaced"), ("d", "2")]);
    check_parse(&[b"a=1;b=2;\tc=3;;"], &[("a", "1"), ("b", "2"), ("c", "3")]);
    check_parse(&[b"a=\"x y\"; b=\""], &[("a", "\"x y\""), ("b", "\"")]);
    check_parse(&[b"a=b=c==; d="], &[("a", "b=c=="), ("d", "")]);
    check_parse(&[b"a=%41+%zz%"], &[("a", "%41+%zz%")]);
    check_parse(&[b"nameless; =x; ==; a=1"], &[("a", "1")]);
    check_parse(&[b"a=1, b=2"], &[("a", "1, b=2")]);
    check_parse(&[b"a=1; a=2"], &[("a", "1"), ("a", "2")]);
    check_parse(&[b"A=1; a=2"], &[("A", "1"), ("a", "2")]);
    check_parse(&[b"x:[]={\"k\":1}; a=1"], &[("x:[]", "{\"k\":1}"), ("a", "1")]);
    check_parse(&[b"a=\xff; \xff=b; c=\xc3\xa9; d=1", b"e=2"], &[("c", "\u{e9}"), ("d", "1"), ("e", "2")]);
}

#[test]
fn one_of_them() {
    for (field, value) in [("a=1", "Some(\"1\")"), ("b=1; a=2; a=3", "Some(\"2\")"), ("A=1", "None"), ("a", "None")] {
        assert_eq!(echo().get("/a").header("cookie", field).send().text(), value, "{field}");
    }
}

/// Checks what a response with a cookie says: the field, or a 500 that has none and tells nothing.
#[track_caller]
fn check_set(cookie: Cookie, expected: Option<&str>) {
    let kept = cookie.clone();
    let client = Client::new(Router::new().get("/", move |_| {
        let cookie = kept.clone();
        async move { Response::text("secret").with_cookie(cookie) }
    }));
    let reply = client.get("/").send();
    let fields: Vec<_> = reply.headers().get_all("set-cookie").collect();
    match expected {
        Some(field) => assert_eq!((fields.as_slice(), reply.status().code()), (&[field][..], 200)),
        None => {
            assert_eq!((fields.len(), reply.status().code(), &*reply.text()), (0, 500, "internal error"), "{cookie:?}");
        }
    }
    assert_eq!(cookie.to_http().ok().as_deref(), expected);
}

#[test]
fn every_attribute() {
    let new = || Cookie::new("a", "1");
    let plain = || Cookie::plain("a", "1");
    check_set(new(), Some("a=1; Path=/; Secure; HttpOnly; SameSite=Lax"));
    check_set(plain(), Some("a=1"));
    check_set(plain().path("/x y"), Some("a=1; Path=/x y"));
    check_set(plain().domain("Example.com"), Some("a=1; Domain=Example.com"));
    check_set(plain().max_age(Duration::from_millis(1500)), Some("a=1; Max-Age=1"));
    check_set(plain().max_age(Duration::MAX), Some("a=1; Max-Age=18446744073709551615"));
    check_set(plain().expires(Date::from_unix(784_111_777)), Some("a=1; Expires=Sun, 06 Nov 1994 08:49:37 GMT"));
    check_set(plain().secure(true), Some("a=1; Secure"));
    check_set(plain().http_only(true), Some("a=1; HttpOnly"));
    check_set(new().http_only(false).secure(false), Some("a=1; Path=/; SameSite=Lax"));
    check_set(plain().same_site(SameSite::Strict), Some("a=1; SameSite=Strict"));
    check_set(
        new().same_site(SameSite::None).partitioned(),
        Some("a=1; Path=/; Secure; HttpOnly; SameSite=None; Partitioned"),
    );
    check_set(
        plain()
            .path("/p")
            .domain("e.test")
            .max_age(Duration::ZERO)
            .secure(true)
            .http_only(true)
            .same_site(SameSite::Lax),
        Some("a=1; Path=/p; Domain=e.test; Max-Age=0; Secure; HttpOnly; SameSite=Lax"),
    );
    check_set(
        Cookie::removal("a").path("/p").domain("e.test"),
        Some(
            "a=; Path=/p; Domain=e.test; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; HttpOnly; SameSite=Lax",
        ),
    );
    check_set(plain().into_removal(), Some("a=; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT"));
}

#[test]
fn what_is_no_cookie_never_splits_a_field() {
    for name in ["", " ", "a b", "a=b", "a;b", "a,b", "a\r\nb", "a\0", "\u{e9}", "\"a\"", "a:b", "u=<x>; Max-Age=9; a"]
    {
        check_set(Cookie::new(name, "1"), None);
    }
    for value in
        ["a b", "a;b", "a,b", "a\"b", "a\\b", "\"", "\"a", "a\r\nSet-Cookie: b=c", "a\nb", "a\0", "\u{e9}", "\x7f"]
    {
        check_set(Cookie::new("a", value), None);
    }
    for path in ["", "x", "/;Domain=x", "/\r\nx: y", "/\u{e9}", "/\0"] {
        check_set(Cookie::new("a", "1").path(path), None);
    }
    check_set(Cookie::new("a", "1").path(["/", &"x".repeat(1024)].concat()), None);
    for domain in ["", "a b", "a;b", "a\r\nb", "\u{e9}", "a:80", "a/b"] {
        check_set(Cookie::new("a", "1").domain(domain), None);
    }
    for value in ["", "\"\"", "\"abc\"", "a=b&c", "!#$%&'()*+-./0:<=>?@[]^_`{|}~"] {
        check_set(Cookie::plain("a", value), Some(&["a=", value].concat()));
    }
    let large = "x".repeat(4096);
    check_set(Cookie::plain("a", &large[1..]), Some(&["a=", &large[1..]].concat()));
    check_set(Cookie::plain("a", &large), None);
}

#[test]
fn what_every_browser_drops_is_refused() {
    let host = || Cookie::new("__Host-a", "1");
    check_set(host(), Some("__Host-a=1; Path=/; Secure; HttpOnly; SameSite=Lax"));
    check_set(host().path("/x"), None);
    check_set(host().domain("e.test"), None);
    check_set(host().secure(false), None);
    check_set(Cookie::plain("__HOST-a", "1").secure(true), None);
    check_set(Cookie::plain("__Secure-a", "1"), None);
    check_set(Cookie::plain("__secure-a", "1"), None);
    check_set(Cookie::plain("__Secure-a", "1").secure(true), Some("__Secure-a=1; Secure"));
    check_set(Cookie::plain("__Secur", "1"), Some("__Secur=1"));
    check_set(Cookie::plain("a", "1").same_site(SameSite::None), None);
    check_set(Cookie::plain("a", "1").partitioned(), None);
    check_set(Cookie::removal("__Host-a"), Some(&Cookie::removal("__Host-a").to_http().unwrap()));
}

#[test]
fn of_the_same_cookie_the_last_is_set() {
    async fn page(_: Request) -> Response {
        let sid = |value: &'static str| Cookie::new("sid", value);
        Response::text("")
            .with_cookie(sid("old"))
            .with_cookie(sid("other path").path("/x"))
            .with_cookie(Cookie::new("by", "cookie"))
    }
    // A value with a space makes it a 500; the page above must not hide that.
    assert_eq!(Client::new(Router::new().get("/", page)).get("/").send().status().code(), 500);
    async fn good(_: Request) -> Response {
        let sid = |value: &'static str| Cookie::plain("sid", value);
        Response::text("")
            .with_cookie(sid("old"))
            .with_cookie(sid("path").path("/x"))
            .with_cookie(sid("domain").domain("e.test"))
            .with_cookie(sid("both").path("/x").domain("e.test"))
            .with_cookie(Cookie::plain("si", "d=old"))
            .with_cookie(sid("path2").path("/x"))
            .with_cookie(sid("new").http_only(true))
    }
    let reply = Client::new(Router::new().get("/", good)).get("/").send();
    let fields: Vec<_> = reply.headers().get_all("set-cookie").collect();
    assert_eq!(
        fields,
        [
            "sid=domain; Domain=e.test",
            "sid=both; Path=/x; Domain=e.test",
            "si=d=old",
            "sid=path2; Path=/x",
            "sid=new; HttpOnly"
        ]
    );
}

#[test]
fn jars() {
    async fn page(req: Request) -> Result {
        let mut jar = req.jar();
        let seen = |jar: &tabi::Jar| format!("{:?} {:?} {:?};", jar.get("a"), jar.get("b"), jar.get("c"));
        let mut log = seen(&jar);
        jar.insert(Cookie::new("b", "new"));
        jar.remove("a");
        jar.insert(Cookie::new("c", "1"));
        jar.insert(Cookie::new("c", "2"));
        jar.insert(Cookie::removal("d").path("/app").domain("example.test"));
        log.push_str(&seen(&jar));
        assert_eq!(jar.changes().len(), 4);
        Ok(Response::text(log).with_jar(jar))
    }
    let reply = Client::new(Router::new().get("/", page)).get("/").header("cookie", "a=1; b=2; e=3").send();
    assert_eq!(reply.text(), "Some(\"1\") Some(\"2\") None;None Some(\"new\") Some(\"2\");");
    let attributes = "Path=/; Secure; HttpOnly; SameSite=Lax";
    let removal = "Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; HttpOnly; SameSite=Lax";
    let fields: Vec<_> = reply.headers().get_all("set-cookie").collect();
    let expected = [
        format!("b=new; {attributes}"),
        format!("a=; Path=/; {removal}"),
        format!("c=2; {attributes}"),
        format!("d=; Path=/app; Domain=example.test; {removal}"),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn an_untouched_jar_sets_nothing() {
    async fn page(req: Request) -> Response {
        let jar = req.jar();
        Response::text("").with_jar(jar)
    }
    let reply = Client::new(Router::new().get("/", page)).get("/").header("cookie", "a=1").send();
    assert!(!reply.headers().contains("set-cookie"));
}

#[test]
fn an_error_after_the_cookie_keeps_none_of_it() {
    async fn page(_: Request) -> Result {
        let page = Response::text("").with_cookie(Cookie::new("a", "1"));
        if page.status() == Status::OK { Err(Error::new(Status::FORBIDDEN, "no")) } else { Ok(page) }
    }
    let reply = Client::new(Router::new().get("/", page)).get("/").send();
    assert_eq!((reply.status().code(), reply.headers().contains("set-cookie")), (403, false));
}

#[test]
fn bug_reports() {
    for case in cases::read("reports-cookies.json") {
        let input = base64(case.text("input_b64"));
        match case.text("id") {
            "CK-11" => {
                let removal = Cookie::removal("sid").path("/app").domain("example.test").to_http().unwrap();
                for piece in ["sid=; ", "; Path=/app; ", "; Domain=example.test; ", "; Max-Age=0; ", "Jan 1970"] {
                    assert!(removal.contains(piece), "{removal}");
                }
            }
            "CK-13" => check_set(Cookie::plain("u=<x>; Max-Age=9; a", "t"), None),
            "CK-15" => {
                check_set(Cookie::plain("a", "1").same_site(SameSite::None), None);
                check_set(Cookie::plain("__Host-s", "1").secure(true).path("/").domain("e.test"), None);
                check_set(Cookie::plain("__Host-s", "1").secure(true).path("/x"), None);
                check_set(Cookie::plain("__Secure-x", "1"), None);
            }
            "CK-17" => {
                let page = Response::text("");
                let page = page.with_cookie(Cookie::plain("sid", "old").path("/"));
                let page =
                    page.with_cookie(Cookie::plain("sid", "new").path("/")).with_cookie(Cookie::plain("other", "1"));
                let fields: Vec<_> = page.headers().get_all("set-cookie").collect();
                let expected = case.get("expected")["set_cookie_fields"].as_array().unwrap().iter();
                assert_eq!(fields, expected.map(|field| field.as_str().unwrap()).collect::<Vec<_>>());
            }
            id => {
                assert_eq!(case.get("given")["operation"], "parse Cookie request field(s)", "{id}");
                let fields = input.split(|byte| *byte == b'\n');
                let call = fields.fold(echo().get("/"), |call, field| call.header("cookie", field));
                let reply = call.send();
                assert_eq!(reply.status().code(), 200, "{id}");
                let show = |name: &str, value: &str| format!("[{name}|{value}]");
                let expected = case.get("expected");
                if let Some(cookies) = expected["cookies"].as_array() {
                    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
                    let all: String = cookies.iter().map(|pair| show(&text(&pair[0]), &text(&pair[1]))).collect();
                    assert_eq!(reply.text(), all, "{id}");
                }
                for (name, value) in expected["get"].as_object().into_iter().flatten() {
                    assert!(reply.text().contains(&show(name, value.as_str().unwrap())), "{id}");
                }
            }
        }
    }
}
