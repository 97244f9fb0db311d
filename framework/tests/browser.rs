//! The test client as a browser: which cookies it keeps, for how long, and where it sends them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on may stop there")]

mod cases;

use cases::Case;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tabi::testing::{Client, Cookies};
use tabi::{Cookie, Date, Request, Response, Router};

/// An app that sets what it is told to, and shows what it gets.
fn app() -> (Client, Rc<RefCell<Vec<String>>>) {
    let told = Rc::new(RefCell::new(Vec::<String>::new()));
    let fields = told.clone();
    let set = move |_: Request| {
        let fields = fields.take();
        async move { fields.iter().fold(Response::text(""), |page, field| page.with_appended("set-cookie", field)) }
    };
    let show = async |req: Request| {
        String::from_utf8_lossy(req.headers().get_bytes("cookie").unwrap_or_default()).into_owned()
    };
    (Client::new(Router::new().post("/{*any}", set).get("/{*any}", show)), told)
}

/// Sets fields from one URL and says what is sent to another, by the store alone and, where the fields can be sent,
/// by the client.
#[track_caller]
fn sent(from: &str, fields: &[&str], to: &str) -> String {
    let mut cookies = Cookies::new();
    for field in fields {
        cookies.set(from, field);
    }
    let alone = cookies.sent(to).join("; ");
    if !fields.iter().any(|field| field.chars().any(|char| char.is_ascii_control() && char != '\t')) {
        let (client, told) = app();
        told.replace(fields.iter().map(|field| String::from(*field)).collect());
        let parts = |url: &str| {
            let (scheme, rest) = url.split_once("://").unwrap();
            let (authority, path) = rest.split_at(rest.find('/').unwrap());
            [scheme, authority, path].map(String::from)
        };
        let [scheme, authority, path] = parts(from);
        let reply = client.post(&path).scheme(&scheme).authority(&authority).send();
        assert_eq!(reply.status().code(), 200, "{fields:?}");
        let [scheme, authority, path] = parts(to);
        let page = client.get(&path).scheme(&scheme).authority(&authority).send();
        assert_eq!(page.text(), alone, "{fields:?}");
    }
    alone
}

/// Rows of the first suite that newer browsers answer in another way, and why. That suite is of 2011 (RFC 6265).
const NEWER: [(&str, &str, &str); 15] = [
    // RFC 6265bis, section 5.6: what has no name, or no `=`, is a cookie without a name, and sent as its value.
    ("0021", "a=b; x; c=d", "nameless"),
    ("0023", "foo", "nameless"),
    ("0025", "foo", "nameless"),
    ("0027", "bar", "nameless"),
    ("CHROMIUM0009", "BLAHHH", "nameless"),
    ("MOZILLA0012", "test=\"fubar! = foo; five", "nameless"),
    ("MOZILLA0014", "six", "nameless"),
    ("MOZILLA0016", "eight", "nameless"),
    ("NAME0017", "a=bar", "nameless"),
    ("NAME0023", "foo", "nameless"),
    ("NAME0025", "==a=bar", "nameless"),
    ("NAME0031", "\"foo", "nameless"),
    ("NAME0033", "aaa", "nameless"),
    // Section 5.6, step 1: a control character makes the field void.
    ("DISABLED_CHROMIUM0022", "", "control character"),
    // Section 5.1.4: paths are compared as they are; `%6F` is not `o`.
    ("DISABLED_PATH0029", "", "escaped path"),
];

#[test]
fn http_state() {
    for case in cases::read("cookie-http-state.json") {
        let fields: Vec<_> = case.list("set_cookie").iter().map(|field| field.as_str().unwrap()).collect();
        let to = match case.get("sent_to").as_str() {
            None => String::from("http://home.example.org:8888/cookie-parser-result?x"),
            Some(path) if path.starts_with('/') => format!("http://home.example.org:8888{path}"),
            Some(url) => url.into(),
        };
        let expected = case.list("expected").iter();
        let expected = expected.map(|pair| format!("{}={}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()));
        let old = expected.collect::<Vec<_>>().join("; ");
        let newer = NEWER.iter().find(|(id, _, _)| *id == case.text("id"));
        let expected = newer.map_or(old.as_str(), |(_, sent, _)| sent);
        assert_eq!(sent("http://home.example.org:8888/cookie-parser?x", &fields, &to), expected, "{}", case.text("id"));
    }
}

#[test]
fn web_platform_tests() {
    for case in cases::read("cookie-wpt.json") {
        let (file, what) = case.text("id").split_once(": ").unwrap();
        let is_https = file.contains(".https.") && !what.contains("over HTTP") || needs_https(&case);
        let url =
            if is_https { "https" } else { "http" }.to_owned() + "://web-platform.test/cookies/attributes/" + file;
        let fields: Vec<_> = case.list("set_cookie").iter().map(|field| field.as_str().unwrap()).collect();
        assert_eq!(sent(&url, &fields, &url), case.text("expected_cookie_field"), "{}", case.text("id"));
    }
}

/// These files have no `https` in their names, but are about cookies that only a safe page can set.
fn needs_https(case: &Case) -> bool {
    ["httponly.html", "samesite.html"].iter().any(|file| case.text("id").starts_with(file))
}

#[test]
fn dates() {
    for case in cases::read("cookie-dates.json") {
        let field = format!("a=b; Expires={}", case.text("input"));
        let mut cookies = Cookies::new();
        let url = "http://example.org/";
        let Some(expected) = case.get("expected").as_str() else {
            // What is no date sets no end.
            cookies.set(url, field);
            cookies.set_time(Date::from_unix(i64::MAX));
            assert_eq!(cookies.sent(url), ["a=b"], "{}", case.text("input"));
            continue;
        };
        let end = Date::parse(expected).unwrap().unix();
        cookies.set_time(Date::from_unix(end - 10));
        cookies.set(url, field);
        for (time, sent) in [(end - 10, true), (end - 1, true), (end, false)] {
            cookies.set_time(Date::from_unix(time));
            assert_eq!(!cookies.sent(url).is_empty(), sent, "{} at {time}", case.text("input"));
        }
    }
}

#[test]
fn odd_dates() {
    for (date, is_one) in [
        ("Wed, 31 Feb 2026 00:00:00 GMT", false),
        ("29 Feb 2028 00:00:00", true),
        ("29 Feb 2027 00:00:00", false),
        ("1 Jan 1600 00:00:00", false),
        ("1 Jan 2027 24:00:00", false),
        ("1 Jan 2027 00:60:00", false),
        ("1 Jan 2027 00:00:60", false),
        ("1 Jan 2027 0:0:0", true),
        ("1 Jan 2027", false),
        ("00:00:00 2027 1", false),
        ("0 Jan 2027 00:00:00", false),
        ("32 Jan 2027 00:00:00", false),
        ("1 Jan 2027 00:00:00x", true),
        ("1 JANUARY 27 00:00:00", true),
        ("1 Jan 20270 00:00:00", false),
        ("1 Jan 202 00:00:00", false),
        ("", false),
    ] {
        let mut cookies = Cookies::new();
        cookies.set("http://e.test/", format!("a=b; Expires={date}"));
        cookies.set_time(Date::from_unix(i64::MAX));
        assert_eq!(cookies.sent("http://e.test/").is_empty(), is_one, "{date}");
    }
}

#[test]
fn refusals() {
    let https = "https://www.e.test/a/b";
    for (from, field, to, expected) in [
        (https, "__Secure-a=1", https, ""),
        (https, "__Secure-a=1; Secure", https, "__Secure-a=1"),
        (https, "__Host-a=1; Secure; Path=/", https, "__Host-a=1"),
        (https, "__host-a=1; Secure", https, ""),
        (https, "__Host-a=1; Path=/", https, ""),
        (https, "__Host-a=1; Secure; Path=/a", https, ""),
        (https, "__Host-a=1; Secure; Path=/; Domain=www.e.test", https, ""),
        (https, "__Host-a; Secure; Path=/", https, ""),
        (https, "=__Secure-a=1; Secure", https, ""),
        (https, "a=1; SameSite=None", https, ""),
        (https, "a=1; SameSite=None; Secure", https, "a=1"),
        (https, "a=1; SameSite=None; SameSite=Lax", https, "a=1"),
        (https, "a=1; SameSite=whatever", https, "a=1"),
        (https, "a=1; Secure", "http://www.e.test/a/b", ""),
        (https, "a=1", "http://www.e.test/a/b", "a=1"),
        ("http://localhost:80/", "a=1; Secure", "http://localhost/", "a=1"),
        ("http://127.0.0.1/", "a=1; Secure", "http://127.0.0.1/", "a=1"),
        ("http://[::1]:8080/", "a=1; Secure", "http://[::1]/", "a=1"),
        ("http://x.localhost/", "a=1; Secure", "http://x.localhost/", "a=1"),
        ("http://127.evil.test/", "a=1; Secure", "http://127.evil.test/", ""),
        ("http://1.2.3.4/", "a=1; Domain=3.4", "http://1.2.3.4/", ""),
        ("http://1.2.3.4/", "a=1; Domain=1.2.3.4", "http://1.2.3.4/", "a=1"),
        (https, "a=1; Domain=e.test", "https://E.TEST/a/x", "a=1"),
        (https, "a=1; Domain=te.test", https, ""),
        (https, "a=1; Domain=b.www.e.test", https, ""),
        (https, "a=1; Domain=\u{e9}.test", https, ""),
        (https, "a=1", "https://e.test/a/b", ""),
        (https, "a=1", "https://www.e.test/a", "a=1"),
        (https, "a=1", "https://www.e.test/ab", ""),
        (https, "a=1; Path=/a/", "https://www.e.test/a", ""),
        (https, "a=1\tb", https, "a=1\tb"),
        (https, "a=1\u{7f}", https, ""),
        (https, "a=1; x=\u{1}", https, ""),
        (https, "a=1; Max-Age=+5", https, "a=1"),
        (https, "a=1; Max-Age=-", https, "a=1"),
        (https, "a=1; Max-Age=99999999999999999999", https, "a=1"),
        (https, "a=1; Max-Age=-99999999999999999999", https, ""),
        (https, "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=5", https, "a=1"),
    ] {
        assert_eq!(sent(from, &[field], to), expected, "{field} from {from} to {to}");
    }
    let long = |length: usize| format!("a={}", "x".repeat(length - 1));
    assert_eq!(sent(https, &[&long(4096)], https).len(), 4097);
    assert_eq!(sent(https, &[&long(4097)], https), "");
    let path = |length: usize| format!("a=1; Path=/{}", "x".repeat(length - 1));
    assert_eq!(sent(https, &[&path(1024)], https), "");
    assert_eq!(sent(https, &[&path(1025)], https), "a=1", "an attribute that is too long is ignored");
}

#[test]
fn what_came_safely_stays() {
    let (https, http) = ("https://e.test/", "http://e.test/");
    for (field, expected) in
        [("a=2", "a=1"), ("a=2; Domain=e.test", "a=1"), ("a=2; Path=/x", "a=1"), ("b=2", "a=1; b=2")]
    {
        let mut cookies = Cookies::new();
        cookies.set(https, "a=1; Secure; Path=/");
        cookies.set(http, field);
        assert_eq!(cookies.sent(https).join("; "), expected, "{field}");
    }
}

#[test]
fn time() {
    let (client, told) = app();
    told.replace(vec!["a=1; Max-Age=60".into(), "b=2; Max-Age=99999999".into(), "c=3".into()]);
    client.post("/x").send();
    let now = || client.get("/x").send().text();
    assert_eq!(now(), "a=1; b=2; c=3");
    client.wait(Duration::from_secs(59));
    assert_eq!((now(), client.cookie("a")), ("a=1; b=2; c=3".into(), Some("1".into())));
    client.wait(Duration::from_secs(1));
    assert_eq!((now(), client.cookie("a")), ("b=2; c=3".into(), None));
    // No cookie lives longer than 400 days (RFC 6265bis, section 5.5).
    client.wait(Duration::from_secs(400 * 86_400 - 61));
    assert_eq!(now(), "b=2; c=3");
    client.wait(Duration::from_secs(1));
    assert_eq!(now(), "c=3");
    client.set_time(Date::from_unix(i64::MAX));
    assert_eq!(now(), "c=3");
}

#[test]
fn a_client_is_one_user() {
    async fn page(req: Request) -> Response {
        let visits = req.cookie("visits").and_then(|visits| visits.parse().ok()).unwrap_or(0) + 1;
        Response::text(tabi::decimal(visits)).with_cookie(Cookie::new("visits", tabi::decimal(visits)))
    }
    async fn leave(_: Request) -> Response {
        Response::text("").with_cookie(Cookie::removal("visits"))
    }
    let client = Client::new(Router::new().get("/", page).post("/", leave));
    assert_eq!([client.get("/").send().text(), client.get("/").send().text()], ["1", "2"]);
    assert_eq!(client.fresh().get("/").send().text(), "1", "somebody else");
    assert_eq!(client.get("/").header("cookie", "visits=7").send().text(), "8", "a field by hand goes alone");
    assert_eq!(client.get("/").send().text(), "9");
    // `Secure` by default: not kept of a page over plain http.
    assert_eq!(client.get("/").authority("e.test").send().text(), "1");
    assert_eq!(client.get("/").authority("e.test").send().text(), "1");
    assert_eq!(client.get("/").authority("e.test").scheme("https").send().text(), "1");
    assert_eq!(client.get("/").authority("e.test").scheme("https").send().text(), "2");
    client.post("/").send();
    assert_eq!(client.get("/").send().text(), "1", "the removal removes");
}

/// Random numbers that are the same in every run (xorshift).
fn below(seed: &mut u64, limit: usize) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed % limit as u64) as usize
}

#[test]
fn what_is_set_comes_back_or_is_refused() {
    let (mut seed, mut set) = (11, 0);
    let pieces =
        ["a", "B", "1", "=", "==", ";", ",", " ", "\"", "\\", "%", "\r\n", "\t", "\0", "\u{e9}", "__Host-", "-"];
    for _ in 0..5000 {
        let mut text = || (0..below(&mut seed, 4)).map(|_| pieces[below(&mut seed, pieces.len())]).collect::<String>();
        let (name, value) = (text(), text());
        let mut cookies = Cookies::new();
        let Ok(field) = Cookie::new(&name, &value).to_http() else { continue };
        set += 1;
        assert!(field.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '), "{field:?}");
        cookies.set("https://e.test/x", &field);
        let sent = cookies.sent("https://e.test/").concat();
        assert_eq!(tabi::__fuzz::cookies(sent.as_bytes()), [(name.as_str(), value.as_str())], "{field:?}");
    }
    assert!(set > 200, "{set}");
}

#[test]
fn any_field_is_read_without_harm() {
    let (mut seed, mut kept) = (12, 0);
    let pieces = [
        "a",
        "=",
        ";",
        "; ",
        ",",
        "\"",
        "\u{7f}",
        "\u{e9}",
        "Path=/",
        "Domain=e.test",
        "Secure",
        "Max-Age=",
        "-",
        "99999999999",
        "Expires=",
        "Thu, 01 Jan 2027 00:00:00 GMT",
        "SameSite=None",
        "__Secure-",
        " ",
        "\t",
    ];
    for _ in 0..20_000 {
        let field: String = (0..below(&mut seed, 10)).map(|_| pieces[below(&mut seed, pieces.len())]).collect();
        let mut cookies = Cookies::new();
        cookies.set("https://e.test/a/b", &field);
        let sent = cookies.sent("https://e.test/a/b");
        kept += sent.len();
        for cookie in sent {
            assert!(!cookie.contains([';', '\u{7f}']) && cookie.len() <= field.len(), "{field:?}");
        }
        for (name, value) in tabi::__fuzz::cookies(field.as_bytes()) {
            assert!(!name.is_empty() && !name.contains(['=', ';']) && !value.contains(';'), "{field:?}");
        }
    }
    assert!(kept > 5000, "{kept}");
}
