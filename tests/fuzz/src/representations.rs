//! Conditions, ranges, entity tags and dates.

use std::cell::RefCell;

use crate::{field_value, pieces};
use tabi::testing::Client;
use tabi::{Date, ETag, RangeFault, Ranges, Request, Response, Router, Validators};

const CONTENT: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

async fn show(req: Request) -> Response {
    Response::text(CONTENT)
        .with_header("etag", "\"v1\"")
        .with_header("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")
        .conditional(&req)
}

async fn replace(req: Request) -> Response {
    let current = Validators::new().etag(ETag::strong("v1").unwrap()).last_modified(Date::from_unix(784_111_777));
    req.conditional(&current).unwrap_or_default()
}

async fn tagged(req: Request) -> Response {
    let tag = TAG.with_borrow(|tag| tag.clone().map(|tag| tag.as_str().to_owned()));
    Response::text(CONTENT).with_header("etag", &tag.unwrap_or_default()).conditional(&req)
}

thread_local! {
    static CLIENT: Client = Client::new(Router::new().get("/", show).put("/", replace).get("/tag", tagged));
    static TAG: RefCell<Option<ETag>> = const { RefCell::new(None) };
}

/// Whatever the conditions are, the answer is one of those that the RFC has, and what is sent is what it says it is.
pub(crate) fn conditional(data: &[u8]) {
    let values: [&[u8]; 6] = pieces(data);
    let names = ["if-none-match", "if-match", "range", "if-range", "if-modified-since", "if-unmodified-since"];
    let call = |mut call: tabi::testing::Call| {
        for (name, value) in names.iter().zip(values).filter(|(_, value)| !value.is_empty()) {
            call = call.header(name, field_value(value));
        }
        call.send()
    };
    let reply = CLIENT.with(|client| call(client.get("/")));
    match reply.status().code() {
        200 => assert_eq!(reply.text(), CONTENT),
        206 => partial(&reply),
        304 | 412 => assert!(reply.header("content-range").is_none()),
        416 => assert_eq!(reply.header("content-range"), Some("bytes */36")),
        status => panic!("{status}"),
    }
    let head = CLIENT.with(|client| call(client.head("/")));
    assert!([200, 304, 412].contains(&head.status().code()) && head.bytes().is_empty());
    // HEAD says what GET says, but for ranges.
    let same = reply.status() == head.status() || [206, 416].contains(&reply.status().code());
    assert!(same, "{} and {}", reply.status().code(), head.status().code());
    let put = CLIENT.with(|client| call(client.put("/")));
    assert!([200, 412].contains(&put.status().code()), "{}", put.status().code());
}

fn partial(reply: &tabi::testing::Reply) {
    let text = reply.text();
    let Some(field) = reply.header("content-range") else {
        let kind = reply.header("content-type").unwrap_or_default();
        let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("the type of several parts");
        let parts: Vec<_> = text.split(boundary).collect();
        let (first, last) = (parts[0], parts[parts.len() - 1]);
        assert!(parts.len() >= 4 && first.trim() == "--" && last.trim() == "--", "{text}");
        for part in &parts[1..parts.len() - 1] {
            let (head, content) = part.split_once("\r\n\r\n").expect("a head");
            let field = head.lines().find_map(|line| line.strip_prefix("Content-Range: ")).expect("a range");
            part_is(field, content.strip_suffix("\r\n--").expect("a delimiter"));
        }
        return;
    };
    part_is(field, &text);
}

#[track_caller]
fn part_is(field: &str, text: &str) {
    let range = field.strip_prefix("bytes ").and_then(|field| field.strip_suffix("/36")).expect("a range");
    let (first, last) = range.split_once('-').expect("two positions");
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    assert_eq!(&CONTENT[first..=last], text);
}

/// Ranges lie within the length, and combining them loses and adds nothing.
pub(crate) fn range(data: &[u8]) {
    let [length, field] = pieces(data);
    let length = length.iter().fold(0u64, |length, byte| length.wrapping_mul(7) + u64::from(*byte)) % 200;
    let Ok(field) = std::str::from_utf8(field) else { return };
    for field in [String::from(field), ["bytes=", field].concat()] {
        let ranges = match Ranges::parse(&field, length) {
            Ok(ranges) => ranges,
            Err(RangeFault::Malformed | RangeFault::Unsatisfiable) => continue,
        };
        let list = ranges.as_slice().to_vec();
        assert!(!list.is_empty() && list.len() <= tabi::limits::RANGES, "{list:?}");
        assert!(list.iter().all(|(first, last)| first <= last && *last < length), "{list:?} of {length}");
        let combined = ranges.combined().as_slice().to_vec();
        let holds = |list: &[(u64, u64)], at: u64| list.iter().any(|(first, last)| (*first..=*last).contains(&at));
        assert!((0..length).all(|at| holds(&list, at) == holds(&combined, at)), "{list:?} {combined:?}");
        let mut sorted = combined.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0), "{combined:?}");
    }
}

/// A tag is printed as it was read, equals itself, and a list with it names it.
pub(crate) fn etag(data: &[u8]) {
    let [list, text] = pieces(data);
    let list = field_value(list);
    let Some(tag) = std::str::from_utf8(text).ok().and_then(ETag::parse) else { return };
    assert_eq!(tag.as_str().as_bytes(), text);
    assert!(tag.weak_eq(&tag) && tag.strong_eq(&tag) != tag.is_weak());
    TAG.replace(Some(tag.clone()));
    let named = |list: &[u8]| {
        CLIENT.with(|client| client.get("/tag").header("if-none-match", list).send().status().code() == 304)
    };
    assert!(named(tag.as_str().as_bytes()));
    assert!(named(&[b"\"x\", W/\"y\" , ", tag.as_str().as_bytes()].concat()));
    if named(&list) {
        let inner = tag.as_str().trim_start_matches("W/").as_bytes();
        assert!(list.trim_ascii() == b"*" || list.windows(inner.len()).any(|window| window == inner));
    }
}

/// What is read is written in 29 characters, and read again as the same.
pub(crate) fn date(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let now = Date::from_unix(1_767_225_600);
    for date in [Date::parse(text), Date::parse_at(text, now)].into_iter().flatten() {
        let written = date.to_http();
        assert_eq!((written.len(), Date::parse(&written)), (29, Some(date)), "{text}: {written}");
        assert_eq!(Date::parse_at(&written, now), Some(date), "{written}");
    }
    if let [a, b, c, d, e, ..] = *data {
        let seconds = i64::from_le_bytes([a, b, c, d, e % 64, 0, 0, 0]) - 62_167_219_200;
        let date = Date::from_unix(seconds.min(253_402_300_799));
        assert_eq!(Date::parse(&date.to_http()), Some(date), "{seconds}");
    }
}
