//! Which answers are compressed for whom, as tables.

use super::*;
use hyper::Response;

fn map(fields: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::try_from(*name).expect("a name");
        map.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    map
}

fn head(status: u16, fields: &[(&str, &str)]) -> Parts {
    let (mut head, ()) = Response::new(()).into_parts();
    head.status = StatusCode::from_u16(status).expect("a status");
    head.headers = map(fields);
    head
}

fn offer(fields: &[(&str, &str)]) -> Offer {
    let config = Config { compression: true, ..Config::default() };
    Offer::of(&config, &map(fields)).expect("it is on")
}

#[test]
fn nothing_is_offered_unless_asked_for() {
    assert!(Offer::of(&Config::default(), &map(&[("accept-encoding", "gzip")])).is_none());
}

#[test]
fn clients_choose() {
    #[track_caller]
    fn check(lines: &[&str], wanted: bool) {
        let fields: Vec<_> = lines.iter().map(|line| ("accept-encoding", *line)).collect();
        assert_eq!(takes_gzip(&map(&fields)), wanted, "{lines:?}");
    }
    check(&[], false);
    check(&[""], false);
    check(&["gzip"], true);
    check(&["GZip"], true);
    check(&["x-gzip"], true);
    check(&["gzip, deflate, br, zstd"], true);
    check(&["br"], false);
    check(&["br", "gzip"], true);
    check(&["br,,gzip"], true);
    check(&["\tbr ,\tgzip "], true);
    check(&["gzip;q=0"], false);
    check(&["gzip;q=0.000"], false);
    check(&["gzip;q=0.001"], true);
    check(&["gzip ; Q=0.5"], true);
    check(&["gzip;q=0, *"], false);
    check(&["*;q=0, gzip"], true);
    check(&["*"], true);
    check(&["*;q=0"], false);
    check(&["*;q=0.1"], true);
    check(&["br;q=1, *;q=0.1"], true);
    check(&["identity"], false);
    check(&["identity;q=0"], false);
    check(&["identity;q=0, br"], false);
    check(&["identity;q=0, gzip;q=0.1"], true);
    check(&["identity;q=0, *"], true);
    check(&["identity;q=0.5, *;q=0.3"], false);
    check(&["identity, gzip"], true);
    check(&["identity, gzip;q=0.9"], false);
    check(&["identity;q=0.5, gzip;q=0.5"], true);
    // What is no coding, no weight or no list chooses nothing.
    check(&["gzipped"], false);
    check(&["gzip x"], false);
    check(&["\"gzip\""], false);
    check(&["br;x=\"a, gzip, b\""], false);
    check(&["br;x=\"a\\\", gzip, b\""], false);
    check(&["br;x=\"a\\\"\", gzip"], true);
    check(&["br;x=\"a, gzip"], false);
    check(&["gzip;q=\"1\""], false);
    check(&["gzip;q=2"], false);
    check(&["gzip;q=1.001"], false);
    check(&["gzip;q=0.0001"], false);
    check(&["gzip;q=-1"], false);
    check(&["gzip;q="], false);
    check(&["gzip;q=1."], true);
    check(&["gzip;level=9"], true);
}

#[test]
fn answers_have_to_be_worth_it() {
    #[track_caller]
    fn check(status: u16, fields: &[(&str, &str)], length: Option<u64>, wanted: bool) {
        let mut compressed = head(status, fields);
        let seen = offer(&[("accept-encoding", "gzip")]).apply(&mut compressed, length);
        assert_eq!(seen, wanted, "{status} {fields:?} {length:?}");
        // Who doesn't take it gets the same `Vary`, and nothing else that is new.
        let mut plain = head(status, fields);
        assert!(!offer(&[]).apply(&mut plain, length));
        assert_eq!(plain.headers.get(VARY), compressed.headers.get(VARY), "{fields:?}");
        plain.headers.remove(VARY);
        assert_eq!(plain.headers, map(fields));
        if !wanted {
            assert_eq!(compressed.headers, map(fields), "left alone");
        }
    }
    let text = ("content-type", "text/plain; charset=utf-8");
    check(200, &[text], None, true);
    check(200, &[text], Some(1024), true);
    check(200, &[text], Some(1023), false);
    check(200, &[text], Some(0), false);
    for (status, wanted) in [(201, true), (203, true), (204, false), (205, false), (206, false), (301, false)] {
        check(status, &[text], None, wanted);
    }
    for status in [304, 404, 416, 500] {
        check(status, &[text], None, false);
    }
    for fixed in [
        ("content-encoding", "br"),
        ("content-encoding", "identity"),
        ("content-range", "bytes 0-1/9"),
        ("content-digest", "sha-256=:AA==:"),
        ("cache-control", "no-transform"),
        ("cache-control", "max-age=1,No-Transform"),
    ] {
        check(200, &[text, fixed], None, false);
    }
    check(200, &[text, ("cache-control", "x=\"a, no-transform\"")], None, true);
    check(200, &[text, ("cache-control", "no-store")], None, true);
    check(200, &[], None, false);
    check(200, &[text, text], None, false);
    for (name, wanted) in [
        ("TEXT/HTML", true),
        ("text/css", true),
        ("text/", false),
        ("text/event-stream", false),
        ("Text/Event-Stream;charset=utf-8", false),
        ("application/json", true),
        ("application/problem+json", true),
        ("application/javascript", true),
        ("application/atom+xml", true),
        ("application/wasm", true),
        ("image/svg+xml", true),
        ("image/x-icon", true),
        ("image/png", false),
        ("font/woff2", false),
        ("font/ttf", true),
        ("application/zip", false),
        ("application/octet-stream", false),
        ("video/mp4", false),
        ("multipart/byteranges; boundary=\"text/html\"", false),
        ("json", false),
        ("", false),
    ] {
        check(200, &[("content-type", name)], None, wanted);
    }
}

#[test]
fn heads_tell_what_is_sent() {
    #[track_caller]
    fn check(name: &str, before: &[&str], after: Option<&str>) {
        let mut fields = vec![("content-type", "text/html")];
        fields.extend(before.iter().map(|value| (name, *value)));
        let mut head = head(200, &fields);
        assert!(offer(&[("accept-encoding", "gzip")]).apply(&mut head, None));
        let mut seen = head.headers.get_all(name).iter();
        assert_eq!(seen.next().map(|value| value.to_str().expect("text")), after, "{name}: {before:?}");
        assert_eq!(seen.next(), None, "{name}: {before:?}");
    }
    check("content-encoding", &[], Some("gzip"));
    check("content-length", &["5000"], None);
    check("accept-ranges", &["bytes"], None);
    check("etag", &["\"a\""], Some("W/\"a\""));
    check("etag", &["W/\"a\""], Some("W/\"a\""));
    check("etag", &["junk"], Some("junk"));
    check("etag", &[], None);
    check("vary", &[], Some("accept-encoding"));
    check("vary", &["origin"], Some("origin, accept-encoding"));
    check("vary", &["origin", "cookie"], Some("origin, cookie, accept-encoding"));
    check("vary", &["origin, Accept-Encoding"], Some("origin, Accept-Encoding"));
    check("vary", &["*"], Some("*"));
    check("vary", &[""], Some("accept-encoding"));
    check("content-type", &[], Some("text/html"));
}

#[test]
fn a_304_names_the_tag_that_the_client_has() {
    #[track_caller]
    fn check(known: &str, etag: &str, wanted: &str) {
        let mut head = head(304, &[("etag", etag)]);
        assert!(!offer(&[("accept-encoding", "gzip"), ("if-none-match", known)]).apply(&mut head, None));
        assert_eq!(head.headers[ETAG], wanted, "{known} {etag}");
        assert_eq!(head.headers.contains_key(VARY), etag != wanted, "{known} {etag}");
    }
    check("W/\"a\"", "\"a\"", "W/\"a\"");
    check("\"b\", W/\"a\"", "\"a\"", "W/\"a\"");
    check("\"a\"", "\"a\"", "\"a\"");
    check("W/\"b\"", "\"a\"", "\"a\"");
    check("*", "\"a\"", "\"a\"");
    check("W/\"a\"", "W/\"a\"", "W/\"a\"");
    check("W/\"a,b\"", "\"a,b\"", "W/\"a,b\"");
}
