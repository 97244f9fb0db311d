//! Paths and patterns: what is routed where, held against a router that is as simple as it is slow.

use std::cell::RefCell;
use std::cmp::Ordering;
use tabi::testing::Client;
use tabi::{__fuzz, Request, Response, Result, Router};

const PATTERNS: [&str; 11] = [
    "/",
    "/a",
    "/a/",
    "/a/{x}",
    "/a/{x}/b",
    "/{x}",
    "/{x}/{y}",
    "/{x}/b",
    "/files/{*rest}",
    "/a/b/{*rest}",
    "/{x}/b/{*rest}",
];

thread_local! {
    static CLIENT: Client = {
        let router = PATTERNS.into_iter().fold(Router::new(), |router, pattern| router.get(pattern, show));
        Client::new(router.get("/url/of/two", url).get("/also/{x}/{y}", show).named("two"))
    };
    static FOUND: RefCell<Vec<(String, String)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps what the router has found: the pattern, then the parameters.
async fn show(req: Request) -> &'static str {
    let mut found = vec![(req.route().unwrap_or_default().into(), String::new())];
    found.extend(req.params().map(|(name, value)| (name.to_owned(), value.into_owned())));
    FOUND.replace(found);
    "shown"
}

async fn url(req: Request) -> Result {
    let (x, y) = (req.query("x").unwrap_or_default(), req.query("y").unwrap_or_default());
    Ok(Response::text(req.url("two", &[("x", &x), ("y", &y)])?))
}

/// A target gets to the route, and with the parameters, that the rules say; URLs lead back to what they were made of.
pub(crate) fn path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let target = ["/", text.trim_start_matches('/')].concat();
    check(&target);
    let segments: Vec<_> = target.split('?').next().unwrap_or_default().split('/').skip(1).collect();
    if let [x, y, ..] = segments[..]
        && let (Some(x), Some(y)) = (decode(x, "/"), decode(y, "/"))
        && ![&x, &y].iter().any(|value| value.is_empty() || value.contains('\0'))
    {
        check_url(&x, &y);
    }
}

fn check(target: &str) {
    FOUND.take();
    let status = CLIENT.with(|client| client.get(target).send().status().code());
    let found = FOUND.take();
    let path = target.split(['?']).next().unwrap_or_default();
    if path.split('/').any(|segment| decode(segment, "/").is_none()) {
        assert_eq!((status, &found[..]), (400, &[][..]), "{target}");
        return;
    }
    match expected(path) {
        Some(expected) => assert_eq!((status, found), (200, expected), "{target}"),
        None if path == "/url/of/two" || path.starts_with("/also/") => {}
        None => assert_eq!((status, &found[..]), (404, &[][..]), "{target}"),
    }
}

fn check_url(x: &str, y: &str) {
    let query = tabi::Form::new().with("x", x).with("y", y).encode();
    let reply = CLIENT.with(|client| client.get(&format!("/url/of/two?{query}")).send());
    assert_eq!(reply.status().code(), 200, "{x:?} {y:?}");
    let target = reply.text();
    assert!(target.bytes().all(|byte| byte.is_ascii_graphic()), "{target}");
    FOUND.take();
    CLIENT.with(|client| client.get(&target).send());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let found = FOUND.take();
    assert_eq!(found.get(1..), Some(&[pair("x", x), pair("y", y)][..]), "{target}");
    assert_eq!(decode(&__fuzz::segment(x), "/").as_deref(), Some(x));
}

/// Returns the pattern and the parameters of a path.
fn expected(path: &str) -> Option<Vec<(String, String)>> {
    let known = PATTERNS.into_iter().chain(["/url/of/two", "/also/{x}/{y}"]);
    let fitting = known.filter_map(|pattern| Some((pattern, params(pattern, path)?)));
    let (pattern, params) = fitting.min_by(|one, other| order(one.0, other.0))?;
    if pattern == "/url/of/two" {
        return None;
    }
    Some([vec![(pattern.to_owned(), String::new())], params].concat())
}

fn params(pattern: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (mut found, mut segments) = (Vec::new(), path.split('/'));
    for piece in pattern.split('/') {
        if let Some(name) = piece.strip_prefix("{*") {
            let rest: Vec<_> = std::iter::once(segments.next()?).chain(segments.by_ref()).collect();
            found.push((name.trim_end_matches('}').to_owned(), decode(&rest.join("/"), "%2F")?));
            continue;
        }
        let segment = segments.next()?;
        match piece.strip_prefix('{') {
            Some(_) if segment.is_empty() => return None,
            Some(name) => found.push((name.trim_end_matches('}').to_owned(), decode(segment, "/")?)),
            // An encoded slash never equals a slash, nor anything that a pattern can have.
            None if decode(segment, "\0")? != piece => return None,
            None => {}
        }
    }
    segments.next().is_none().then_some(found)
}

/// Literal before parameter before rest, from left to right.
fn order(one: &str, other: &str) -> Ordering {
    let rank = |pattern: &str| -> Vec<u8> {
        let rank = |piece: &str| if piece.starts_with("{*") { 3 } else { u8::from(piece.starts_with('{')) + 1 };
        pattern.split('/').map(rank).collect()
    };
    rank(one).cmp(&rank(other))
}

/// Decodes escapes; `None` where one is malformed or NUL, or it is no UTF-8.
fn decode(text: &str, slash: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        match u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? {
            0 => return None,
            b'/' => bytes.extend(slash.as_bytes()),
            byte => bytes.push(byte),
        }
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}

/// What is accepted as a pattern has its braces around whole segments, and no name twice.
pub(crate) fn pattern(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if __fuzz::pattern_fault(text).is_some() {
        return;
    }
    assert!(text.starts_with('/') && !text.contains(['?', '#']), "{text}");
    let mut names = Vec::new();
    let pieces: Vec<_> = text.split('/').skip(1).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let Some(inner) = piece.strip_prefix('{').and_then(|piece| piece.strip_suffix('}')) else {
            assert!(!piece.contains(['{', '}']), "{text}");
            continue;
        };
        assert!(!inner.starts_with('*') || index + 1 == pieces.len(), "{text}");
        names.push(inner.trim_start_matches('*'));
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == count && names.iter().all(|name| !name.is_empty()), "{text}");
}
