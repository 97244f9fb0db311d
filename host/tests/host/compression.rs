//! Compressed answers as they are on the wire: what is compressed, for whom, and how it ends.

use crate::client::{Client, Reply};
use crate::http2::{block_on, connect};
use crate::support::{Running, config, misbehave, misbehave3};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use miniz_oxide::inflate::decompress_to_vec;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use tabi_host::keys;

fn start() -> Running {
    Running::serve(misbehave(), on())
}

fn on() -> tabi_host::Config {
    let mut config = config();
    let key = keys::find("server.compression").expect("the key");
    (key.set)(&mut config, "on").expect("a value");
    config
}

/// What the guests answer with, `length` bytes of it.
fn text(length: usize) -> String {
    let mut text = String::new();
    for n in 0.. {
        if text.len() >= length {
            break;
        }
        text.push_str(&format!("line {n}\n"));
    }
    text.truncate(length);
    text
}

/// Reads a whole gzip member, and checks its sums.
#[track_caller]
fn gunzip(bytes: &[u8]) -> String {
    assert_eq!(bytes.get(..4), Some(&[0x1f, 0x8b, 8, 0][..]), "no gzip");
    let (deflated, tail) = bytes[10..].split_at(bytes.len() - 18);
    let plain = decompress_to_vec(deflated).expect("deflate");
    assert_eq!(tail[..4], crc32fast::hash(&plain).to_le_bytes());
    assert_eq!(tail[4..], (plain.len() as u32).to_le_bytes());
    String::from_utf8(plain).expect("text")
}

/// Reads what there is of a gzip member, and tells whether that is the end.
#[derive(Default)]
struct Reader(Option<Box<InflateState>>);

impl Reader {
    fn read(&mut self, bytes: &[u8]) -> (String, bool) {
        let begin = if self.0.is_none() { 10 } else { 0 };
        let state = self.0.get_or_insert_with(|| InflateState::new_boxed(DataFormat::Raw));
        let mut plain = vec![0; 100_000];
        let result = inflate(state, &bytes[begin..], &mut plain, MZFlush::None);
        plain.truncate(result.bytes_written);
        (String::from_utf8(plain).expect("text"), result.status == Ok(MZStatus::StreamEnd))
    }
}

fn ask(running: &Running, method: &str, target: &str, fields: &[&str]) -> Reply {
    let mut head = format!("{method} {target} HTTP/1.1\r\nhost: test\r\n");
    for field in fields {
        head.push_str(&format!("{field}\r\n"));
    }
    let mut client = Client::connect(running.server.addr());
    client.send(head + "\r\n");
    if method == "HEAD" { client.reply_to_head() } else { client.reply() }
}

const GZIP: &str = "accept-encoding: gzip";
const PLAIN: &str = "answer: content-type=text/plain";

/// Asks for a document and tells whether it came compressed; it comes as a whole in any case.
#[track_caller]
fn check(running: &Running, length: usize, fields: &[&str], compressed: bool) {
    let reply = ask(running, "GET", &format!("/document?{length}"), fields);
    assert!(reply.complete, "{fields:?}: {reply:?}");
    let coding = reply.header("content-encoding");
    if compressed {
        assert_eq!(coding, Some("gzip"), "{fields:?}");
        assert_eq!(gunzip(&reply.body), text(length), "{fields:?}");
        assert!(reply.body.len() < length / 2, "{}", reply.body.len());
        assert_eq!(reply.header("vary"), Some("accept-encoding"), "{fields:?}");
    } else {
        assert_ne!(coding, Some("gzip"), "{fields:?}");
        assert_eq!(reply.text(), text(length), "{fields:?}");
    }
}

#[test]
fn answers_are_compressed_where_it_is_right() {
    let running = start();
    for length in [1024, 5000, 60_000, 70_000, 500_000] {
        check(&running, length, &[GZIP, PLAIN], true);
        check(&running, length, &[GZIP, PLAIN, &format!("answer: content-length={length}")], true);
        check(&running, length, &[PLAIN], false);
    }
    check(&running, 1023, &[GZIP, PLAIN, "answer: content-length=1023"], false);
    check(&running, 2000, &[GZIP], false);
    for (accept, compressed) in
        [("gzip;q=0", false), ("br, *", true), ("identity;q=0, gzip", true), ("br;x=\"a, gzip\"", false), ("", false)]
    {
        check(&running, 2000, &[&format!("accept-encoding: {accept}"), PLAIN], compressed);
    }
    for (answer, compressed) in [
        ("content-encoding=br", false),
        ("cache-control=no-transform", false),
        ("content-range=bytes 0-1/2", false),
        ("cache-control=no-store", true),
    ] {
        check(&running, 2000, &[GZIP, PLAIN, &format!("answer: {answer}")], compressed);
    }
    for (name, compressed) in [("text/event-stream", false), ("application/json", true), ("image/png", false)] {
        check(&running, 2000, &[GZIP, &format!("answer: content-type={name}")], compressed);
    }
    for (status, compressed) in [(206, false), (404, false), (201, true)] {
        check(&running, 2000, &[GZIP, PLAIN, &format!("status: {status}")], compressed);
    }
}

#[test]
fn nothing_is_compressed_by_default() {
    let running = Running::start(config());
    check(&running, 5000, &[GZIP, PLAIN], false);
    assert_eq!(ask(&running, "GET", "/document?5000", &[GZIP, PLAIN]).header("vary"), None);
}

#[test]
fn the_least_length_can_be_chosen() {
    let mut config = on();
    config.compression_min_bytes = 100;
    let running = Running::start(config);
    check(&running, 400, &[GZIP, PLAIN, "answer: content-length=400"], true);
    check(&running, 99, &[GZIP, PLAIN, "answer: content-length=99"], false);
}

#[test]
fn what_can_be_compressed_varies_for_all() {
    let running = start();
    let vary = |fields: &[&str]| ask(&running, "GET", "/document?5000", fields).header("vary").map(ToOwned::to_owned);
    assert_eq!(vary(&[PLAIN]).as_deref(), Some("accept-encoding"));
    assert_eq!(vary(&[PLAIN, "answer: vary=origin"]).as_deref(), Some("origin, accept-encoding"));
    assert_eq!(vary(&[PLAIN, "answer: cache-control=no-transform"]), None);
    assert_eq!(vary(&["answer: content-type=image/png"]), None);
}

#[test]
fn lengths_are_those_of_what_is_sent() {
    let running = start();
    let fields = [GZIP, PLAIN, "answer: content-length=5000", "answer: accept-ranges=bytes"];
    let reply = ask(&running, "GET", "/document?5000", &fields);
    match reply.header("content-length") {
        Some(length) => assert_eq!(length, reply.body.len().to_string()),
        None => assert_eq!(reply.header("transfer-encoding"), Some("chunked")),
    }
    assert_eq!(reply.header("accept-ranges"), None);
}

#[test]
fn head_gets_the_fields_of_get() {
    let running = start();
    for fields in [
        &[GZIP, PLAIN][..],
        &[GZIP, PLAIN, "answer: content-length=5000"],
        &[GZIP, PLAIN, "answer: content-length=500000", "answer: etag=\"a\""],
        &[GZIP, PLAIN, "answer: cache-control=no-transform"],
        &[PLAIN, "answer: etag=\"a\""],
    ] {
        let length = if fields.iter().any(|field| field.ends_with("500000")) { 500_000 } else { 5000 };
        let target = format!("/document?{length}");
        let get = ask(&running, "GET", &target, fields);
        let head = ask(&running, "HEAD", &target, fields);
        for name in ["content-encoding", "vary", "etag", "content-type", "accept-ranges"] {
            assert_eq!(head.header(name), get.header(name), "{name} for {fields:?}");
        }
        if let Some(length) = head.header("content-length") {
            assert_eq!(Some(length), get.header("content-length"), "{fields:?}");
        }
    }
}

#[test]
fn tags_are_weak_and_go_on_to_work() {
    let running = start();
    let fields = [GZIP, PLAIN, "answer: etag=\"a\""];
    let ask = |more: &[&str]| ask(&running, "GET", "/document?5000", &[&fields[..], more].concat());
    assert_eq!(ask(&[]).header("etag"), Some("W/\"a\""));
    let reply = ask(&["if-none-match: W/\"a\""]);
    assert_eq!((reply.status, reply.header("etag")), (304, Some("W/\"a\"")));
    assert_eq!((reply.header("content-encoding"), reply.header("vary")), (None, Some("accept-encoding")));
    let reply = ask(&["if-none-match: \"a\""]);
    assert_eq!((reply.status, reply.header("etag"), reply.header("vary")), (304, Some("\"a\""), None));
    let reply = ask(&["if-none-match: W/\"b\""]);
    assert_eq!((reply.status, gunzip(&reply.body)), (200, text(5000)));
    assert_eq!(ask(&["answer: cache-control=no-transform"]).header("etag"), Some("\"a\""));
}

#[test]
fn streams_come_when_the_guest_writes() {
    let running = start();
    let mut client = Client::connect(running.server.addr());
    let head = "POST /echo HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n";
    client.send(format!("{head}{GZIP}\r\n{PLAIN}\r\n\r\n"));
    let mut reader = Reader::default();
    // The guest has the next piece only after this one has come back.
    for (at, piece) in ["one", "two", "three"].into_iter().enumerate() {
        client.send(format!("{:x}\r\n{piece}\r\n", piece.len()));
        if at == 0 {
            let head = client.begin();
            assert_eq!((head.status, head.header("content-encoding")), (200, Some("gzip")));
        }
        let mut seen = String::new();
        while seen.len() < piece.len() {
            let (more, end) = reader.read(&client.chunk());
            assert!(!end, "{more}");
            seen.push_str(&more);
        }
        assert_eq!(seen, piece);
    }
    client.send("0\r\n\r\n");
    assert_eq!(reader.read(&client.chunk()), (String::new(), true));
    assert_eq!(client.chunk(), b"", "the last chunk");
}

#[test]
fn broken_answers_stay_broken() {
    let running = start();
    for length in [2000, 500_000] {
        for more in ["answer: x-length=none", "answer: content-length=600000"] {
            let reply = ask(&running, "GET", &format!("/document?{length}"), &[GZIP, PLAIN, "end: trap", more]);
            assert_eq!((reply.status, reply.header("content-encoding")), (200, Some("gzip")), "{more}");
            assert!(!reply.complete, "{more} looks complete");
            assert!(running.log().contains("answer cut off"), "{more}");
            let mut reader = Reader::default();
            let (seen, end) = reader.read(&reply.body);
            assert!(!end && text(length).starts_with(&seen) && seen.len() >= length.min(2000), "{}", seen.len());
        }
    }
    // Fewer bytes than the guest promised, though compressed nobody could count them.
    let fields = [GZIP, PLAIN, "answer: content-length=600000"];
    let reply = ask(&running, "GET", "/document?500000", &fields);
    assert!(!reply.complete);
}

#[test]
fn trailers_follow_the_compressed_form() {
    let running = start();
    let fields = [GZIP, PLAIN, "te: trailers", "connection: te", "end: trailers", "answer: trailer=x-sum"];
    let reply = ask(&running, "GET", "/document?5000", &fields);
    assert_eq!((gunzip(&reply.body), reply.complete), (text(5000), true));
    assert_eq!(reply.trailers, [("x-sum".to_owned(), "4".to_owned())]);
}

#[test]
fn connections_are_used_again() {
    let running = start();
    let mut client = Client::connect(running.server.addr());
    for length in [1024, 500_000, 5000] {
        let target = format!("/document?{length}");
        client.send(format!("GET {target} HTTP/1.1\r\nhost: test\r\n{GZIP}\r\n{PLAIN}\r\n\r\n"));
        assert_eq!(gunzip(&client.reply().body), text(length));
        client.send(format!("HEAD {target} HTTP/1.1\r\nhost: test\r\n{GZIP}\r\n{PLAIN}\r\n\r\n"));
        assert_eq!(client.reply_to_head().header("content-encoding"), Some("gzip"));
    }
    assert_eq!(client.get("/early").text(), "early");
}

#[test]
fn guests_of_0_3_are_compressed_too() {
    let running = Running::serve(misbehave3(), on());
    for length in [5000, 500_000] {
        let reply = ask(&running, "GET", &format!("/document?{length}"), &[GZIP]);
        assert_eq!((reply.header("etag"), reply.complete), (Some("W/\"a\""), true));
        assert_eq!(gunzip(&reply.body), text(length));
        let plain = ask(&running, "GET", &format!("/document?{length}"), &[]);
        assert_eq!((plain.header("etag"), plain.text()), (Some("\"a\""), text(length)));
    }
    let reply = ask(&running, "GET", "/text-cut", &[GZIP]);
    assert!(!reply.complete, "{reply:?}");
    assert_eq!(Reader::default().read(&reply.body), ("begun".to_owned(), false));
}

/// Asks over HTTP/2; tells the coding, the body, and whether the stream came to a proper end.
async fn ask_h2(running: &Running, method: &str, target: &str, end: &str) -> (Option<String>, Vec<u8>, bool) {
    let request = Request::builder()
        .method(method)
        .uri(format!("http://test{target}"))
        .header("accept-encoding", "gzip")
        .header("answer", "content-type=text/plain")
        .header("end", end);
    let request = request.body(Full::<Bytes>::default()).expect("a request");
    let mut sender = connect(running.server.addr()).await;
    let response = sender.send_request(request).await.expect("a response");
    let coding = response.headers().get("content-encoding").map(|value| value.to_str().expect("text").to_owned());
    let (mut body, mut all) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => all.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
            Err(_) => return (coding, all, false),
        }
    }
    (coding, all, true)
}

#[test]
fn http_2_has_the_same() {
    let running = start();
    block_on(async {
        for length in [5000, 500_000] {
            let target = format!("/document?{length}");
            let (coding, body, whole) = ask_h2(&running, "GET", &target, "").await;
            assert_eq!((coding.as_deref(), whole), (Some("gzip"), true));
            assert_eq!(gunzip(&body), text(length));
            let (coding, body, whole) = ask_h2(&running, "HEAD", &target, "").await;
            assert_eq!((coding.as_deref(), body.len(), whole), (Some("gzip"), 0, true));
            let (coding, body, whole) = ask_h2(&running, "GET", &target, "trap").await;
            assert_eq!((coding.as_deref(), whole), (Some("gzip"), false));
            let (seen, end) = Reader::default().read(&body);
            assert!(!end && text(length).starts_with(&seen), "{}", seen.len());
        }
        let short = ask_h2(&running, "GET", "/document?100", "").await;
        assert_eq!(short, (None, text(100).into_bytes(), true));
    });
}
