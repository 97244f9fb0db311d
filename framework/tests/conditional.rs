//! Conditions and ranges through the public API, judged by public cases.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails this way, helpers included")]

use serde_json::Value;
use std::fs;
use tabi::testing::{Client, Reply};
use tabi::{Date, ETag, Method, RangeFault, Ranges, Request, Response, Router, Status, Validators};

fn cases(file: &str) -> Value {
    let path = [env!("CARGO_MANIFEST_DIR"), "/tests/cases/", file].concat();
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Answers with these fields and this content, as the request wants it.
fn resource(fields: Vec<(String, String)>, content: Vec<u8>) -> Client {
    Client::new(Router::new().state(Resource(fields, content)).any("/r", show))
}

struct Resource(Vec<(String, String)>, Vec<u8>);

async fn show(req: Request) -> tabi::Result {
    let Resource(fields, content) = req.state()?;
    let response = Response::new(content.clone());
    let response = fields.iter().fold(response, |response, (name, value)| response.with_header(name, value));
    // Both ways have to say the same.
    let early = req.conditional(&validators(&response));
    let late = response.conditional(&req);
    Ok(match early {
        Some(early) if late.status().is_success() => early,
        Some(early) => {
            assert_eq!(early.status(), late.status());
            late
        }
        None => late,
    })
}

fn validators(response: &Response) -> Validators {
    let mut validators = Validators::new();
    if let Some(etag) = response.header("etag").and_then(ETag::parse) {
        validators = validators.etag(etag);
    }
    if let Some(date) = response.header("last-modified").and_then(Date::parse) {
        validators = validators.last_modified(date);
    }
    validators
}

/// Sends a request that is written as `GET /r` and one field a line.
fn send(client: &Client, written: &str) -> Reply {
    let mut lines = written.split('\n');
    let (method, target) = lines.next().unwrap().split_once(' ').unwrap();
    let mut call = client.request(Method::new(method).unwrap(), target);
    for line in lines.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap();
        call = call.header(name, value.trim());
    }
    call.send()
}

fn fields(value: &Value) -> Vec<(String, String)> {
    value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().into()))
        .collect()
}

#[track_caller]
fn check(given: &[(&str, &str)], request: &str, status: u16) -> Reply {
    let given = given.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let reply = send(&resource(given, b"0123456789".to_vec()), request);
    assert_eq!(reply.status().code(), status, "{request}");
    reply
}

/// The parts of a `multipart/byteranges`: what `Content-Range` says and the bytes.
fn parts(reply: &Reply) -> Vec<(String, Vec<u8>)> {
    let boundary = reply.header("content-type").unwrap().strip_prefix("multipart/byteranges; boundary=").unwrap();
    let body = String::from_utf8(reply.bytes().to_vec()).unwrap();
    let delimiter = ["\r\n--", boundary].concat();
    let mut pieces = body.split(&*delimiter);
    assert_eq!(pieces.next(), Some(""));
    let mut parts = Vec::new();
    for piece in pieces {
        if piece == "--\r\n" {
            return parts;
        }
        let (head, content) = piece.split_once("\r\n\r\n").unwrap();
        let range = head.lines().find_map(|line| line.strip_prefix("Content-Range: bytes ")).unwrap();
        parts.push((range.into(), content.into()));
    }
    panic!("no final boundary");
}

#[test]
fn range_rows() {
    let file = cases("range-parse.json");
    for case in file["cases"].as_array().unwrap() {
        let (size, header) = (case["size"].as_u64().unwrap(), text(case, "header"));
        let parsed = Ranges::parse(header, size);
        let parsed = if case["combine"] == true { parsed.map(Ranges::combined) } else { parsed };
        match (&case["expected"], &parsed) {
            (Value::String(fault), Err(RangeFault::Malformed)) => assert_eq!(fault, "malformed", "{header}"),
            (Value::String(fault), Err(RangeFault::Unsatisfiable)) => assert_eq!(fault, "unsatisfiable", "{header}"),
            (expected, Ok(ranges)) => {
                assert_eq!(ranges.unit(), text(expected, "unit"), "{header}");
                let list: Vec<(u64, u64)> = serde_json::from_value(expected["ranges"].clone()).unwrap();
                assert_eq!(ranges.as_slice(), list, "{header}");
            }
            other => panic!("{header}: {other:?}"),
        }
        // And over HTTP, where parts that only touch stay apart.
        let content: Vec<u8> = (0..size).map(|at| b'a' + (at % 26) as u8).collect();
        let mut call = resource(Vec::new(), content.clone()).get("/r");
        if !header.is_empty() {
            call = call.header("range", header);
        }
        let reply = call.send();
        match Ranges::parse(header, size) {
            Err(RangeFault::Malformed) => assert_eq!((reply.status(), reply.bytes()), (Status::OK, &*content)),
            Err(RangeFault::Unsatisfiable) => {
                assert_eq!(reply.status(), Status::RANGE_NOT_SATISFIABLE, "{header}");
                assert_eq!(reply.header("content-range").unwrap(), format!("bytes */{size}"));
            }
            Ok(ranges) if ranges.unit() != "bytes" => assert_eq!(reply.status(), Status::OK, "{header}"),
            Ok(ranges) => {
                assert_eq!(reply.status(), Status::PARTIAL_CONTENT, "{header}");
                let expected = |(first, last): &(u64, u64)| {
                    (format!("{first}-{last}/{size}"), content[*first as usize..=*last as usize].to_vec())
                };
                let found = match reply.header("content-range") {
                    Some(range) => vec![(range.strip_prefix("bytes ").unwrap().into(), reply.bytes().to_vec())],
                    None => parts(&reply),
                };
                assert_eq!(found, ranges.as_slice().iter().map(expected).collect::<Vec<_>>(), "{header}");
            }
        }
    }
}

#[test]
fn freshness_rows() {
    // RFC 9110, section 13.2.2, has no place for the request's Cache-Control: it speaks to caches on the way
    // (RFC 9111, section 5.2.1), so the origin still says 304.
    let left_out = [("cache-control", "if-modified-since")];
    let file = cases("freshness.json");
    let mut skipped = 0;
    for case in file["cases"].as_array().unwrap() {
        let request = &case["request"];
        if left_out.iter().any(|(one, two)| request.get(one).is_some() && request.get(two).is_some()) {
            skipped += 1;
            continue;
        }
        let mut call = resource(fields(&case["response"]), b"content".to_vec()).get("/r");
        for (name, value) in fields(request) {
            call = call.header(&name, value.trim());
        }
        let reply = call.send();
        assert_eq!(reply.status().code(), if case["fresh"] == true { 304 } else { 200 }, "{case}");
    }
    assert_eq!(skipped, 1);
}

/// Tells whether a reply is what a row of the reports wants.
fn fits(reply: &Reply, expected: &Value) -> bool {
    if let Some(any) = expected["any_of"].as_array() {
        return any.iter().any(|one| fits(reply, one));
    }
    let status = match &expected["status"] {
        Value::String(class) => class == "2xx" && reply.status().is_success(),
        code => code.as_u64() == Some(reply.status().code().into()),
    };
    let field = |key: &str, name: &str| expected.get(key).is_none_or(|value| reply.header(name) == value.as_str());
    let have = fields(&expected["must_have"]);
    status
        && expected.get("body").is_none_or(|body| reply.text() == *body)
        && field("content_range", "content-range")
        && expected
            .get("content_length")
            .and_then(Value::as_u64)
            .is_none_or(|length| reply.bytes().len() as u64 == length)
        && have.iter().all(|(name, value)| reply.header(name) == Some(value))
}

#[test]
fn reported_rows() {
    let rows = cases("reports-conditional.json");
    let mut count = 0;
    for row in rows.as_array().unwrap() {
        let given = &row["given"];
        let mut set = fields(&given["response_fields_of_200"]);
        for (key, name) in [("etag", "etag"), ("last_modified", "last-modified")] {
            set.extend(given[key].as_str().map(|value| (name.into(), value.into())));
        }
        if given.get("mtime").is_some() {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_751_364_000_737);
            set.push(("last-modified".into(), Date::from(time).to_http()));
        }
        let content = given["body"].as_str().unwrap_or("content");
        let client = resource(set, content.as_bytes().to_vec());
        let input = text(row, "input").replace("\\n", "\n");
        let expected = &row["expected"];
        for (at, request) in input.split("\n---\n").enumerate() {
            let expected = expected.get("responses").map_or(expected, |list| &list[at]);
            let reply = send(&client, request);
            assert!(fits(&reply, expected), "{}: {request}: {} {}", row["id"], reply.status(), reply.text());
        }
        count += 1;
    }
    assert_eq!(count, 10);
}

const TAG: &[(&str, &str)] = &[("etag", "\"v1\""), ("last-modified", "Tue, 01 Jul 2025 10:00:00 GMT")];

#[test]
fn precedence() {
    let date = "Tue, 01 Jul 2025 10:00:00 GMT";
    let before = "Tue, 01 Jul 2025 09:59:59 GMT";
    for (request, status) in [
        ("PUT /r\nIf-Match: \"v1\"".into(), 200),
        ("PUT /r\nIf-Match: \"v0\", \"v1\"".into(), 200),
        ("PUT /r\nIf-Match: \"v0\"\nIf-Match: \"v1\"".into(), 200),
        ("PUT /r\nIf-Match: W/\"v1\"".into(), 412),
        ("PUT /r\nIf-Match: *".into(), 200),
        ("PUT /r\nIf-None-Match: *".into(), 412),
        ("PUT /r\nIf-None-Match: W/\"v1\"".into(), 412),
        ("PUT /r\nIf-None-Match: \"v0\"".into(), 200),
        (format!("PUT /r\nIf-Unmodified-Since: {date}"), 200),
        (format!("PUT /r\nIf-Unmodified-Since: {before}"), 412),
        (format!("PUT /r\nIf-Match: \"v1\"\nIf-Unmodified-Since: {before}"), 200),
        (format!("PUT /r\nIf-Match: \"v0\"\nIf-Unmodified-Since: {date}"), 412),
        ("PUT /r\nIf-Unmodified-Since: yesterday".into(), 200),
        (format!("PUT /r\nIf-Modified-Since: {date}"), 200),
        (format!("GET /r\nIf-Modified-Since: {date}"), 304),
        (format!("HEAD /r\nIf-Modified-Since: {date}"), 304),
        (format!("GET /r\nIf-Modified-Since: {before}"), 200),
        (format!("GET /r\nIf-Modified-Since: {date}\nIf-Modified-Since: {date}"), 200),
        ("GET /r\nIf-Modified-Since: Tuesday, 01-Jul-25 10:00:00 GMT".into(), 304),
        ("GET /r\nIf-Modified-Since: Tue Jul  1 10:00:00 2025".into(), 304),
        (format!("GET /r\nIf-None-Match: \"v0\"\nIf-Modified-Since: {date}"), 200),
        (format!("GET /r\nIf-None-Match: \"v1\"\nIf-Modified-Since: {before}"), 304),
        ("GET /r\nIf-Match: \"v0\"\nIf-None-Match: \"v1\"".into(), 412),
        ("GET /r\nIf-Match: \"v1\"\nIf-None-Match: \"v1\"".into(), 304),
        ("GET /r\nIf-Match: \"v0\"".into(), 412),
        ("GET /r\nIf-None-Match: \"v1\"\nRange: bytes=0-1".into(), 304),
        ("OPTIONS /r\nIf-Match: \"v0\"".into(), 200),
    ] {
        check(TAG, &request, status);
    }
    // Without a date, conditions on dates are ignored; without a tag, no tag matches.
    check(&[], &format!("PUT /r\nIf-Unmodified-Since: {before}"), 200);
    check(&[], &format!("GET /r\nIf-Modified-Since: {date}"), 200);
    check(&[], "PUT /r\nIf-Match: \"v1\"", 412);
    check(&[], "GET /r\nIf-None-Match: \"v1\"", 200);
    check(&[], "GET /r\nIf-None-Match: *", 304);
}

#[test]
fn a_missing_resource() {
    let client = Client::new(Router::new().put("/r", async |req: Request| {
        req.conditional(&Validators::missing()).unwrap_or(Response::default().with_status(Status::CREATED))
    }));
    for (field, value, status) in [
        ("if-none-match", "*", 201),
        ("if-match", "*", 412),
        ("if-match", "\"v1\"", 412),
        ("if-none-match", "\"a\"", 201),
    ] {
        assert_eq!(client.put("/r").header(field, value).send().status().code(), status, "{field}: {value}");
    }
}

#[test]
fn errors_have_no_conditions() {
    let client = Client::new(Router::new().get("/r", async |req: Request| {
        let response = Response::text("gone").with_status(Status::GONE).with_header("etag", "\"v1\"");
        response.conditional(&req)
    }));
    let reply = client.get("/r").header("if-none-match", "\"v1\"").header("range", "bytes=0-1").send();
    assert_eq!((reply.status(), reply.text().as_str()), (Status::GONE, "gone"));
}

#[test]
fn not_modified_keeps_what_caches_need() {
    let given = [("etag", "\"v1\""), ("last-modified", "Tue, 01 Jul 2025 10:00:00 GMT"), ("expires", "0")];
    let given = [&given[..], &[("content-type", "text/css"), ("content-location", "/x"), ("vary", "accept")]].concat();
    let reply = check(&given, "GET /r\nIf-None-Match: *", 304);
    for (name, there) in [
        ("etag", true),
        ("expires", true),
        ("vary", true),
        ("content-location", true),
        ("content-type", false),
        ("content-length", false),
        ("last-modified", false),
    ] {
        assert_eq!(reply.header(name).is_some(), there, "{name}");
    }
    assert!(reply.bytes().is_empty());
}

#[test]
fn if_range() {
    for (value, status) in [
        ("\"v1\"", 206),
        ("\"v0\"", 200),
        ("W/\"v1\"", 200),
        ("Tue, 01 Jul 2025 10:00:00 GMT", 206),
        ("Tue, 01 Jul 2025 10:00:01 GMT", 200),
        ("Tue, 01 Jul 2025 09:59:59 GMT", 200),
        ("Tue Jul  1 10:00:00 2025", 206),
        ("v1", 200),
        ("*", 200),
        ("\"v1\", \"v2\"", 200),
    ] {
        check(TAG, &format!("GET /r\nRange: bytes=0-3\nIf-Range: {value}"), status);
    }
    // Without Range it says nothing; with one that can't be had it lets the whole through.
    check(TAG, "GET /r\nIf-Range: \"v1\"", 200);
    check(TAG, "GET /r\nIf-Range: \"v0\"\nRange: bytes=10-", 200);
    check(TAG, "GET /r\nIf-Range: \"v1\"\nRange: bytes=10-", 416);
    check(&[], "GET /r\nIf-Range: \"v1\"\nRange: bytes=0-3", 200);
}

#[test]
fn ranges_over_http() {
    let reply = check(TAG, "GET /r\nRange: bytes=2-4", 206);
    assert_eq!((reply.text().as_str(), reply.header("content-range")), ("234", Some("bytes 2-4/10")));
    assert_eq!((reply.header("content-length"), reply.header("etag")), (Some("3"), Some("\"v1\"")));
    let reply = check(TAG, "GET /r", 200);
    assert_eq!((reply.header("accept-ranges"), reply.header("content-range")), (Some("bytes"), None));
    let reply = check(TAG, "HEAD /r\nRange: bytes=2-4", 200);
    assert_eq!((reply.header("content-length"), reply.bytes()), (Some("10"), &b""[..]));
    check(TAG, "POST /r\nRange: bytes=2-4", 200);
    check(TAG, "GET /r\nRange: bytes=0-1\nRange: bytes=2-3", 200);
    check(TAG, "GET /r\nRange: BYTES=0-1", 206);
    check(TAG, "GET /r\nRange: seconds=0-1", 200);
    let reply = check(&[("content-type", "text/x")], "GET /r\nRange: bytes=-1,0-1", 206);
    assert_eq!(parts(&reply), [("9-9/10".into(), b"9".to_vec()), ("0-1/10".into(), b"01".to_vec())]);
    assert!(reply.text().contains("\r\nContent-Type: text/x\r\n"));
    assert_eq!(reply.header("content-length").unwrap(), reply.bytes().len().to_string());
    // Overlapping ones are one; a flood is the whole.
    let reply = check(TAG, "GET /r\nRange: bytes=0-5,3-7", 206);
    assert_eq!((reply.text().as_str(), reply.header("content-range")), ("01234567", Some("bytes 0-7/10")));
    let flood = ["GET /r\nRange: bytes=0-", &",0-".repeat(5000)].concat();
    assert_eq!(check(TAG, &flood, 200).text(), "0123456789");
}

#[test]
fn streams_have_one_range() {
    let client = Client::new(
        Router::new()
            .get("/known", async |req: Request| stream(Some(10)).ranged_stream(&req))
            .get("/unknown", async |req: Request| stream(None).ranged_stream(&req)),
    );
    for (path, range, status, content) in [
        ("/known", "bytes=2-4", 206, "234"),
        ("/known", "bytes=-3", 206, "789"),
        ("/known", "bytes=0-0,9-9", 200, "0123456789"),
        ("/known", "bytes=10-", 416, "range not satisfiable"),
        ("/unknown", "bytes=2-4", 200, "0123456789"),
    ] {
        let reply = client.get(path).header("range", range).send();
        assert_eq!((reply.status().code(), reply.text().as_str()), (status, content), "{path} {range}");
    }
}

struct Digits(u8, Option<u64>);

impl tabi::Stream for Digits {
    fn poll_chunk(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Option<tabi::Result<Vec<u8>>>> {
        self.0 += 1;
        std::task::Poll::Ready(if self.0 > 10 { None } else { Some(Ok(vec![b'0' - 1 + self.0])) })
    }

    fn len(&self) -> Option<u64> {
        self.1
    }
}

fn stream(length: Option<u64>) -> Response {
    Response::new(tabi::Body::from_stream(Digits(0, length)))
}
