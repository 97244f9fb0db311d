//! Embedded files through the public API. The table is what `tabi-assets` writes; `apps/static` tests it with a build.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails this way, helpers included")]

use serde_json::Value;
use tabi::__private::assets::{Assets, File, Variant, content_type};
use tabi::testing::{Client, Reply};
use tabi::{Request, Router};

const CSS: &[u8] = b"body { color: black; background: white }\n";

const FILES: &[File] = &[
    file("a b.txt", "a b.h0.txt", "\"t\"", b"space"),
    File {
        br: Some(Variant { etag: "\"c-br\"", bytes: b"<br>" }),
        gzip: Some(Variant { etag: "\"c-gzip\"", bytes: b"<gzip>" }),
        ..file("css/app.css", "css/app.h1.css", "\"c\"", CSS)
    },
    file("docs/index.html", "docs/index.h2.html", "\"d\"", b"<h1>docs</h1>"),
    File {
        gzip: Some(Variant { etag: "\"g-gzip\"", bytes: b"<gzip>" }),
        ..file("gzip.js", "gzip.h3.js", "\"g\"", b"gzip()")
    },
    file("index.html", "index.h4.html", "\"i\"", b"<h1>home</h1>"),
    file("x:y/index.html", "x:y/index.h5.html", "\"x\"", b"colon"),
];

const fn file(name: &'static str, fingerprinted: &'static str, etag: &'static str, bytes: &'static [u8]) -> File {
    let plain = Variant { etag, bytes };
    File { name, fingerprinted, content_type: content_type(name), plain, br: None, gzip: None }
}

static STATIC: Assets = Assets::new("/static", FILES);
static ROOT: Assets = Assets::new("/", FILES).with_base("").with_cache_control("public, max-age=60");

fn client() -> Client {
    let routes = Router::new()
        .get("/static/{*path}", &STATIC)
        .get("/style.css", STATIC.file("css/app.css"))
        .get("/tenant/{id}/{*file}", &STATIC)
        .get("/app/{*any}", async |req: Request| STATIC.respond(&req, "index.html"))
        .get("/none", async |req: Request| STATIC.respond(&req, "none.html"))
        .fallback(&ROOT);
    Client::new(routes)
}

#[track_caller]
fn check(target: &str, fields: &[(&str, &str)], status: u16, content: &[u8]) -> Reply {
    let call = fields.iter().fold(client().get(target), |call, (name, value)| call.header(name, value));
    let reply = call.send();
    assert_eq!((reply.status().code(), reply.text()), (status, String::from_utf8(content.into()).unwrap()), "{target}");
    reply
}

#[test]
fn files() {
    for (target, content) in [
        ("/static/css/app.css", CSS),
        ("/static/css/app.h1.css", CSS),
        ("/static/a%20b.txt", b"space"),
        ("/static/%63ss/app.css", CSS),
        ("/static/", b"<h1>home</h1>"),
        ("/static/docs/", b"<h1>docs</h1>"),
        ("/static/docs/index.html", b"<h1>docs</h1>"),
        ("/static/css/app.css?v=1", CSS),
        ("/tenant/7/css/app.css", CSS),
        ("/style.css", CSS),
        ("/app/any/where", b"<h1>home</h1>"),
        ("/", b"<h1>home</h1>"),
        ("/css/app.css", CSS),
        ("/a%20b.txt", b"space"),
    ] {
        check(target, &[], 200, content);
    }
}

#[test]
fn nothing_is_repaired() {
    for target in [
        "/static",
        "/static/none.css",
        "/static/css",
        "/static/css/",
        "/static//css/app.css",
        "/static/css//app.css",
        "/static/./css/app.css",
        "/static/x/../css/app.css",
        "/static/%2e%2e/static/css/app.css",
        "/static/css%2fapp.css",
        "/static/css%2Fapp.css",
        "/static/css%252fapp.css",
        "/static/css%5capp.css",
        "/static/css\\app.css",
        "/static/css/app.css/",
        "/static/CSS/app.css",
        "/static/css/app.h0.css",
        "/static/css/app..css",
        "/static/docs//",
        "/css%2fapp.css",
        "/docs%2f",
        "/%2e%2e/css/app.css",
        "//css/app.css",
        "/none",
    ] {
        check(target, &[], 404, b"not found");
    }
    for target in ["/static/css/app.css%00", "/static/css/app.css%00.png", "/css/app.css%00", "/css/%ff"] {
        assert!(matches!(client().get(target).send().status().code(), 400 | 404), "{target}");
    }
}

#[test]
fn reported_rows() {
    let path = [env!("CARGO_MANIFEST_DIR"), "/tests/cases/reports-assets.json"].concat();
    let rows: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for row in rows.as_array().unwrap() {
        for request in row["input"].as_str().unwrap().split("\\n---\\n") {
            let target = request.strip_prefix("GET ").unwrap();
            let reply = client().get(target).send();
            let right = row["expected"]["each"]["status_any_of"].as_array().unwrap();
            assert!(right.contains(&reply.status().code().into()), "{target}: {}", reply.status());
        }
    }
}

#[test]
fn folders_have_a_slash() {
    for (target, location) in [
        ("/static/docs", "./docs/"),
        ("/static/docs?a=b%20c", "./docs/?a=b%20c"),
        ("/static/x:y", "./x:y/"),
        ("/docs", "./docs/"),
        ("/static/d%6fcs", "./d%6fcs/"),
    ] {
        let reply = check(target, &[], 308, b"");
        assert_eq!(reply.header("location"), Some(location), "{target}");
    }
}

#[test]
fn fields() {
    let reply = check("/static/docs/", &[], 200, b"<h1>docs</h1>");
    for (name, value) in [
        ("content-type", Some("text/html; charset=utf-8")),
        ("etag", Some("\"d\"")),
        ("cache-control", Some("no-cache")),
        ("accept-ranges", Some("bytes")),
        ("content-length", Some("13")),
        ("vary", None),
        ("content-encoding", None),
        ("last-modified", None),
        ("x-content-type-options", Some("nosniff")),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
    let kept = "public, max-age=31536000, immutable";
    assert_eq!(check("/static/css/app.h1.css", &[], 200, CSS).header("cache-control"), Some(kept));
    assert_eq!(check("/css/app.css", &[], 200, CSS).header("cache-control"), Some("public, max-age=60"));
}

#[test]
fn urls() {
    for (assets, name, url) in [
        (&STATIC, "css/app.css", "/static/css/app.h1.css"),
        (&STATIC, "a b.txt", "/static/a%20b.h0.txt"),
        (&STATIC, "none.css", "/static/none.css"),
        (&ROOT, "css/app.css", "/css/app.h1.css"),
    ] {
        assert_eq!(assets.url(name), url);
    }
    let names: Vec<&str> = STATIC.files().iter().map(File::name).collect();
    assert_eq!(names.len(), FILES.len());
    let file = STATIC.get("css/app.css").unwrap();
    assert_eq!((file.bytes(), file.content_type(), file.etag().as_str()), (CSS, "text/css; charset=utf-8", "\"c\""));
}

#[test]
fn variants() {
    for (accept, content, coding, etag) in [
        (None, CSS, None, "\"c\""),
        (Some(""), CSS, None, "\"c\""),
        (Some("br"), b"<br>", Some("br"), "\"c-br\""),
        (Some("gzip, deflate, br, zstd"), b"<br>", Some("br"), "\"c-br\""),
        (Some("gzip, deflate"), b"<gzip>", Some("gzip"), "\"c-gzip\""),
        (Some("GZIP"), b"<gzip>", Some("gzip"), "\"c-gzip\""),
        (Some("x-gzip"), b"<gzip>", Some("gzip"), "\"c-gzip\""),
        (Some("br;q=0.5, gzip;q=0.9"), b"<gzip>", Some("gzip"), "\"c-gzip\""),
        (Some("br;q=0, gzip"), b"<gzip>", Some("gzip"), "\"c-gzip\""),
        (Some("br ; q=0.000, gzip;q=0"), CSS, None, "\"c\""),
        (Some("*"), b"<br>", Some("br"), "\"c-br\""),
        (Some("*;q=0.1, br;q=0"), b"<gzip>", Some("gzip"), "\"c-gzip\""),
        (Some("identity"), CSS, None, "\"c\""),
        (Some("identity, br;q=0.5"), CSS, None, "\"c\""),
        (Some("identity;q=0.5, br"), b"<br>", Some("br"), "\"c-br\""),
        (Some("identity;q=0, br;q=0.001"), b"<br>", Some("br"), "\"c-br\""),
        (Some("identity;q=1, *;q=0"), CSS, None, "\"c\""),
        (Some("identity;q=0"), CSS, None, "\"c\""),
        (Some("zstd"), CSS, None, "\"c\""),
        (Some("br;q=2"), CSS, None, "\"c\""),
        (Some("br;q=x"), CSS, None, "\"c\""),
        (Some("brotli, gzipped"), CSS, None, "\"c\""),
    ] {
        let fields: Vec<_> = accept.iter().map(|accept| ("accept-encoding", *accept)).collect();
        let reply = check("/static/css/app.css", &fields, 200, content);
        assert_eq!((reply.header("content-encoding"), reply.header("etag")), (coding, Some(etag)), "{accept:?}");
        // Whoever got none would have got another with other fields.
        assert_eq!(reply.header("vary"), Some("accept-encoding"));
        assert_eq!(reply.header("content-type"), Some("text/css; charset=utf-8"));
    }
    let fields = [("accept-encoding", "br"), ("accept-encoding", "gzip")];
    check("/static/css/app.css", &fields, 200, b"<br>");
    check("/static/gzip.js", &[("accept-encoding", "br, gzip")], 200, b"<gzip>");
}

#[test]
fn conditions() {
    let br = ("accept-encoding", "br");
    for (fields, status, etag) in [
        (&[("if-none-match", "\"c\"")][..], 304, "\"c\""),
        (&[("if-none-match", "W/\"x\", W/\"c\"")], 304, "\"c\""),
        (&[("if-none-match", "*")], 304, "\"c\""),
        (&[("if-none-match", "\"c-br\""), br], 304, "\"c-br\""),
    ] {
        let reply = check("/static/css/app.css", fields, status, b"");
        for (name, value) in
            [("etag", Some(etag)), ("vary", Some("accept-encoding")), ("cache-control", Some("no-cache"))]
        {
            assert_eq!(reply.header(name), value, "{name}");
        }
        assert_eq!((reply.header("content-type"), reply.header("content-encoding")), (None, None));
    }
    // Each variant has a tag of its own.
    check("/static/css/app.css", &[("if-none-match", "\"c\""), br], 200, b"<br>");
    check("/static/css/app.css", &[("if-match", "\"x\"")], 412, b"precondition failed");
    check("/static/css/app.css", &[("if-match", "\"c\"")], 200, CSS);
}

#[test]
fn ranges() {
    let range = |value| ("range", value);
    let reply = check("/static/css/app.css", &[range("bytes=0-3")], 206, b"body");
    assert_eq!(reply.header("content-range"), Some("bytes 0-3/41"));
    assert_eq!((reply.header("etag"), reply.header("content-length")), (Some("\"c\""), Some("4")));
    // A part of the variant that is sent (RFC 9110, section 14.1).
    let reply = check("/static/css/app.css", &[range("bytes=1-2"), ("accept-encoding", "br")], 206, b"br");
    assert_eq!((reply.header("content-range"), reply.header("etag")), (Some("bytes 1-2/4"), Some("\"c-br\"")));
    let reply = check("/static/css/app.css", &[range("bytes=41-")], 416, b"range not satisfiable");
    assert_eq!(reply.header("content-range"), Some("bytes */41"));
    check("/static/css/app.css", &[range("bytes=0-3"), ("if-range", "\"c\"")], 206, b"body");
    check("/static/css/app.css", &[range("bytes=0-3"), ("if-range", "\"x\"")], 200, CSS);
    let reply = client().get("/static/css/app.css").header("range", "bytes=0-3,-2").send();
    assert_eq!(reply.status().code(), 206);
    assert!(reply.text().contains("Content-Range: bytes 39-40/41\r\n\r\n}\n\r\n--"), "{}", reply.text());
}

#[test]
fn other_methods() {
    let client = client();
    let reply = client.head("/static/css/app.css").header("accept-encoding", "gzip").send();
    assert_eq!((reply.status().code(), reply.bytes()), (200, &b""[..]));
    assert_eq!((reply.header("content-length"), reply.header("content-encoding")), (Some("6"), Some("gzip")));
    assert_eq!(client.post("/static/css/app.css").send().status().code(), 405);
    // A fallback sees every method.
    let reply = client.post("/css/app.css").send();
    assert_eq!((reply.status().code(), reply.header("allow")), (405, Some("GET, HEAD")));
    assert_eq!(client.post("/nowhere").send().status().code(), 404);
}

#[test]
#[should_panic(expected = "there is no asset `none.css`")]
fn a_missing_file_is_found_at_the_start() {
    let _ = Router::new().get("/x", STATIC.file("none.css"));
}
