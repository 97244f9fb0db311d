//! The site as clients see it: the build put every file where it belongs.

use super::{FILES, router};
use tabi::testing::{Client, Reply};

#[track_caller]
fn check(target: &str, accept: &str, status: u16, fields: &[(&str, Option<&str>)]) -> Reply {
    let reply = Client::new(router()).get(target).header("accept-encoding", accept).send();
    assert_eq!(reply.status().code(), status, "{target}");
    for (name, value) in fields {
        assert_eq!(reply.header(name), *value, "{target}: {name}");
    }
    reply
}

#[test]
fn files_are_found_with_their_types() {
    for (name, kind) in [
        ("css/app.css", "text/css; charset=utf-8"),
        ("js/app.mjs", "text/javascript; charset=utf-8"),
        ("img/tabi.svg", "image/svg+xml"),
        ("guide/index.html", "text/html; charset=utf-8"),
        ("robots.txt", "text/plain; charset=utf-8"),
        (".well-known/security.txt", "text/plain; charset=utf-8"),
    ] {
        let target = ["/static/", name].concat();
        let reply = check(&target, "", 200, &[("content-type", Some(kind)), ("cache-control", Some("no-cache"))]);
        let path = [env!("CARGO_MANIFEST_DIR"), "/static/", name].concat();
        assert_eq!(reply.bytes(), std::fs::read(path).unwrap(), "{name}");
        let kept = [("cache-control", Some("public, max-age=31536000, immutable")), ("content-type", Some(kind))];
        assert_eq!(check(&FILES.url(name), "", 200, &kept).bytes(), reply.bytes());
    }
    assert_eq!(FILES.files().len(), 6, "the file that starts with a dot is left out");
    check("/static/.hidden", "", 404, &[]);
    check("/robots.txt", "", 200, &[("content-type", Some("text/plain; charset=utf-8"))]);
    check("/static/guide", "", 308, &[("location", Some("./guide/"))]);
    check("/static/guide/", "", 200, &[]);
}

#[test]
fn variants_are_smaller_and_have_their_own_tags() {
    let plain = check("/static/css/app.css", "", 200, &[("content-encoding", None)]);
    let gzip = check("/static/css/app.css", "gzip", 200, &[("content-encoding", Some("gzip"))]);
    let br = check("/static/css/app.css", "gzip, br", 200, &[("content-encoding", Some("br"))]);
    assert!(br.bytes().len() < gzip.bytes().len() && gzip.bytes().len() < plain.bytes().len());
    assert_eq!(gzip.bytes().get(..3), Some(&[0x1f, 0x8b, 8][..]));
    let tags = [&plain, &gzip, &br].map(|reply| reply.header("etag").unwrap().to_owned());
    assert!(tags[0] != tags[1] && tags[1] != tags[2] && tags[0] != tags[2], "{tags:?}");
    let client = Client::new(router());
    let again = client.get("/static/css/app.css").header("accept-encoding", "br").header("if-none-match", &tags[2]);
    assert_eq!(again.send().status().code(), 304);
    // Too short to gain anything, so nobody has to be told that it varies.
    check("/static/robots.txt", "gzip, br", 200, &[("content-encoding", None), ("vary", None)]);
}

#[test]
fn the_page_names_files_that_are_there() {
    let page = Client::new(router()).get("/").send().text();
    let urls: Vec<&str> = page.split(['"']).filter(|piece| piece.starts_with("/static/")).collect();
    assert_eq!(urls.len(), 4, "{page}");
    for url in urls {
        check(url, "", 200, &[]);
    }
}

#[test]
fn corpus() {
    tabi_corpus::native("static", router());
}
