//! HTTP/2 frame by frame: what is malformed, and what is meant to wear the host out.

use crate::client::Client;
use crate::frames::*;
use crate::support::{Running, config};
use std::time::{Duration, Instant};

const NO_ERROR: u32 = 0;
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const COMPRESSION_ERROR: u32 = 9;
const ENHANCE_YOUR_CALM: u32 = 11;

fn early() -> End {
    End::Answer(200, b"early".to_vec(), false)
}

/// Sends a request with `fields` and `body`, which no guest may see, and then a good one on the same connection.
fn malformed(running: &Running, fields: &[(&str, &str)], body: Option<&str>) -> Result<(), String> {
    let mut frames = Frames::connect(running.server.addr());
    frames.head(1, fields, if body.is_none() { END_STREAM } else { 0 });
    if let Some(body) = body {
        frames.send(DATA, END_STREAM, 1, body.as_bytes());
    }
    let bad = |text: &str| text.is_empty() || text.bytes().any(|byte| byte < b'!' || byte.is_ascii_uppercase());
    let unreadable =
        |&(name, value): &(&str, &str)| bad(name) || name == ":unknown" || value.bytes().any(|byte| byte < b' ');
    match frames.end(1) {
        End::Reset(PROTOCOL_ERROR, None) | End::Answer(400 | 413, ..) => {}
        // What h2 can't even read as fields ends the connection (RFC 9113 5.4.2 leaves it the choice).
        End::Closed(Some(PROTOCOL_ERROR)) if fields.iter().any(unreadable) => return Ok(()),
        other => return Err(format!("{fields:?} {body:?}: {other:?}")),
    }
    match frames.ask(3, "/early") {
        after if after == early() => Ok(()),
        after => Err(format!("after {fields:?} {body:?}: {after:?}")),
    }
}

#[test]
fn malformed_requests_cost_their_stream_alone() {
    let running = Running::start(config());
    let good = request("POST", "/read");
    let without = |name: &str| good.iter().filter(|field| field.0 != name).copied().collect::<Vec<_>>();
    let with = |name: &'static str, value: &'static str| [&good[..], &[(name, value)]].concat();
    let mut wrong = Vec::new();
    for fields in [
        without(":method"),
        without(":scheme"),
        without(":path"),
        with(":method", "GET"),
        with(":path", "/x"),
        with(":authority", "b.org"),
        with(":status", "200"),
        with(":unknown", "x"),
        [&[("x-before", "1")], &good[..]].concat(),
        with("host", "b.org"),
        with("connection", "close"),
        with("keep-alive", "timeout=5"),
        with("proxy-connection", "close"),
        with("transfer-encoding", "chunked"),
        with("upgrade", "h2c"),
        with("te", "gzip"),
        with("X-Upper", "1"),
        with("x y", "1"),
        with("", "1"),
        with("x", "a\r\nb: c"),
        with("x", "a\0b"),
        with("content-length", "x"),
        with("content-length", "-1"),
    ] {
        wrong.extend(malformed(&running, &fields, None).err());
    }
    let path = |path: &'static str| vec![(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", path)];
    for target in ["", "*", "x", "/a b", "/\u{1}"] {
        wrong.extend(malformed(&running, &path(target), None).err());
    }
    // RFC 9113 8.1.1: a body that is not as long as it says.
    for (length, body) in [("3", "hello"), ("10", "hello")] {
        let fields = [&good[..], &[("content-length", length)]].concat();
        wrong.extend(malformed(&running, &fields, Some(body)).err());
    }
    wrong.extend(malformed(&running, &with("content-length", "5"), None).err());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_well_formed_is_answered() {
    let running = Running::start(config());
    let good = request("POST", "/read");
    for (more, body) in [
        (&[][..], "hello"),
        (&[("content-length", "5")], "hello"),
        (&[("te", "trailers")], "hello"),
        (&[("host", "a.org")], "hello"),
        (&[("cookie", "a=1"), ("cookie", "b=2")], "hello"),
    ] {
        let mut frames = Frames::connect(running.server.addr());
        frames.head(1, &[&good[..], more].concat(), 0);
        frames.send(DATA, 0, 1, b"");
        // Five bytes of padding, of which nothing reaches the guest.
        frames.send(DATA, PADDED | END_STREAM, 1, &[&[5], body.as_bytes(), &[0; 5]].concat());
        assert_eq!(frames.end(1), End::Answer(200, body.as_bytes().to_vec(), false), "{more:?}");
    }
    // In pieces, with frames that nobody knows between two streams.
    let mut frames = Frames::connect(running.server.addr());
    let block = block(&request("GET", "/early"));
    let (first, rest) = block.split_at(7);
    frames.send(0xfa, 0xff, 0, b"unknown");
    frames.send(PRIORITY, 0, 5, &[0, 0, 0, 3, 16]);
    frames.send(HEADERS, END_STREAM, 1, first);
    frames.send(CONTINUATION, 0, 1, &rest[..5]);
    frames.send(CONTINUATION, END_HEADERS, 1, &rest[5..]);
    assert_eq!(frames.end(1), early());
}

#[test]
fn trailers_go_both_ways() {
    let running = Running::start(config());
    let mut frames = Frames::connect(running.server.addr());
    frames.head(1, &request("POST", "/echo"), 0);
    frames.send(DATA, 0, 1, b"hello");
    frames.head(1, &[("x-sum", "5")], END_STREAM);
    assert_eq!(frames.end(1), End::Answer(200, b"hello".to_vec(), false));
    assert_eq!(frames.ask(3, "/trailers"), End::Answer(200, b"data".to_vec(), true));
    // RFC 9113 8.1: trailers end the stream. (h2 drops pseudo-header fields among them.)
    let mut frames = Frames::connect(running.server.addr());
    frames.head(1, &request("POST", "/read"), 0);
    frames.send(DATA, 0, 1, b"hello");
    frames.head(1, &[("x-sum", "5")], 0);
    assert_eq!(frames.end(1), End::Reset(PROTOCOL_ERROR, None));
}

#[test]
fn answers_with_a_wrong_length_are_no_answers() {
    let running = Running::start(config());
    let mut frames = Frames::connect(running.server.addr());
    for (n, path) in ["/too-short", "/too-long", "/no-body-but-length"].into_iter().enumerate() {
        let end = frames.ask(2 * n as u32 + 1, path);
        assert!(matches!(end, End::Answer(500, ..) | End::Reset(..)), "{path}: {end:?}");
    }
    let end = frames.ask(99, "/trap-after-length");
    // Whether the head was already sent is a matter of time.
    assert!(matches!(end, End::Reset(2, Some(200)) | End::Answer(500, ..)), "{end:?}");
    assert_eq!(frames.ask(101, "/early"), early());
}

#[test]
fn a_head_that_is_too_large_is_told_so() {
    let mut config = config();
    config.limits.header_bytes = 10_000;
    config.limits.header_count = 50;
    config.limits.uri_bytes = 1000;
    let running = Running::start(config);
    let mut frames = Frames::connect(running.server.addr());
    let long = "x".repeat(12_000);
    let mut large = request("GET", "/early");
    large.push(("x-long", &long));
    frames.head(1, &large, END_STREAM);
    assert!(matches!(frames.end(1), End::Answer(431, ..)));
    let mut many = request("GET", "/early");
    many.extend([("x", "1"); 51]);
    frames.head(3, &many, END_STREAM);
    assert!(matches!(frames.end(3), End::Answer(431, ..)));
    let path = format!("/{}", &long[..1001]);
    frames.head(5, &request("GET", &path), END_STREAM);
    assert!(matches!(frames.end(5), End::Answer(414, ..)));
    assert_eq!(frames.ask(7, "/early"), early());
}

/// Sends frames that break the connection itself, and expects it to be closed with one of `codes`.
#[track_caller]
fn fatal(running: &Running, what: &str, codes: &[u32], attack: impl FnOnce(&mut Frames)) {
    let mut frames = Frames::connect(running.server.addr());
    assert_eq!(frames.ask(1, "/early"), early());
    let begin = Instant::now();
    attack(&mut frames);
    let code = frames.closed();
    assert!(code.is_some_and(|code| codes.contains(&code)), "{what}: {code:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{what}: {:?}", begin.elapsed());
    assert_eq!(Client::connect(running.server.addr()).get("/early").text(), "early", "after {what}");
}

#[test]
fn broken_frames_end_the_connection() {
    let running = Running::start(config());
    let post = block(&request("POST", "/read"));
    let fatal = |what: &str, codes: &[u32], bytes: Vec<u8>| {
        fatal(&running, what, codes, |frames| {
            frames.raw(&bytes);
        });
    };
    let (protocol, size) = (&[PROTOCOL_ERROR][..], &[1, 6][..]);
    let open = frame(HEADERS, END_HEADERS, 3, &post);
    fatal("padding longer than the frame", protocol, [&open[..], &frame(DATA, PADDED, 3, &[9, 0, 0])].concat());
    fatal("padding of a head", protocol, frame(HEADERS, END_HEADERS | PADDED, 3, &[200, 0]));
    fatal("DATA on no stream", protocol, frame(DATA, 0, 0, b"x"));
    fatal("DATA on an idle stream", protocol, frame(DATA, 0, 9, b"x"));
    fatal("HEADERS on an even stream", protocol, frame(HEADERS, END_HEADERS | END_STREAM, 2, &post));
    fatal("a stream below the last", &[1, 5], frame(HEADERS, END_HEADERS | END_STREAM, 1, &post));
    fatal("CONTINUATION without HEADERS", protocol, frame(CONTINUATION, END_HEADERS, 3, &post));
    fatal("PING between HEADERS and CONTINUATION", protocol, {
        [frame(HEADERS, 0, 3, &post), frame(PING, 0, 0, &[0; 8])].concat()
    });
    fatal("PING of seven bytes", size, frame(PING, 0, 0, &[0; 7]));
    fatal("SETTINGS of five bytes", size, frame(SETTINGS, 0, 0, &[0; 5]));
    fatal("SETTINGS on a stream", protocol, frame(SETTINGS, 0, 1, &[]));
    fatal("ACK with a payload", size, frame(SETTINGS, ACK, 0, &[0; 6]));
    fatal("RST_STREAM on an idle stream", protocol, frame(RESET, 0, 9, &[0; 4]));
    fatal("RST_STREAM of three bytes", size, frame(RESET, 0, 1, &[0; 3]));
    fatal("WINDOW_UPDATE of nothing", protocol, frame(WINDOW, 0, 0, &[0; 4]));
    fatal("PUSH_PROMISE of a client", protocol, frame(PUSH, END_HEADERS, 1, &[0, 0, 0, 2]));
    fatal("a frame above the maximum", size, frame(DATA, 0, 3, &[0; 16_385]));
    fatal(
        "an index beyond the table",
        &[PROTOCOL_ERROR, COMPRESSION_ERROR],
        frame(HEADERS, END_HEADERS | END_STREAM, 3, &[0xff, 0x7f]),
    );
    fatal("a window above 2^31", &[FLOW_CONTROL_ERROR, PROTOCOL_ERROR], {
        [frame(WINDOW, 0, 0, &[0x7f, 255, 255, 255]), frame(WINDOW, 0, 0, &[0x7f, 255, 255, 255])].concat()
    });
    fatal("an initial window above 2^31", &[FLOW_CONTROL_ERROR, PROTOCOL_ERROR], {
        frame(SETTINGS, 0, 0, &[0, 4, 255, 255, 255, 255])
    });
}

#[test]
fn a_window_of_a_stream_that_overflows_resets_the_stream() {
    let running = Running::start(config());
    let mut frames = Frames::connect(running.server.addr());
    frames.get(1, "/sleep?300");
    frames.send(WINDOW, 0, 1, &[0x7f, 255, 255, 255]);
    assert_eq!(frames.end(1), End::Reset(FLOW_CONTROL_ERROR, None));
    assert_eq!(frames.ask(3, "/early"), early());
}

#[test]
fn more_bytes_than_the_window_are_refused() {
    // The guest must not have its answer, a 504, before the flood is over.
    let mut config = config();
    config.limits.request_timeout = Duration::from_secs(60);
    let running = Running::start(config);
    let mut frames = Frames::connect(running.server.addr());
    assert_eq!(frames.ask(1, "/early"), early());
    // A guest that never reads: nothing is given back.
    frames.head(3, &request("POST", "/never"), 0);
    for _ in 0..100 {
        frames.send(DATA, 0, 3, &[0; 16_384]);
    }
    // Whose window is too small first, that of the stream or that of the connection, decides which of them ends; what is
    // still on its way to a stream that was reset may be too much for the connection, too.
    let refused = End::Closed(Some(FLOW_CONTROL_ERROR));
    match frames.end(3) {
        End::Reset(FLOW_CONTROL_ERROR, None) => {
            let after = frames.ask(5, "/early");
            assert!(after == early() || after == refused, "{after:?}");
        }
        end => assert_eq!(end, refused),
    }
    assert_eq!(Client::connect(running.server.addr()).get("/early").text(), "early");
}

#[test]
fn floods_are_stopped() {
    let running = Running::start(config());
    let calm = &[ENHANCE_YOUR_CALM][..];
    let get = block(&request("GET", "/sleep?1000"));
    fatal(&running, "rapid reset", calm, |frames| {
        for n in 1..10_000 {
            let stream = 2 * n + 1;
            let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get);
            if !frames.raw(&[head, frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()) {
                break;
            }
        }
    });
    // Four ways to be reset by the host itself, each of which a client can have as often as it likes.
    for (what, kind, payload) in [
        ("a window that overflows", WINDOW, &[0x7f, 255, 255, 255][..]),
        ("a window that grows by nothing", WINDOW, &[0; 4]),
        ("a stream that depends on itself", PRIORITY, &[]),
        ("DATA after the end", DATA, b"x"),
    ] {
        fatal(&running, what, &[ENHANCE_YOUR_CALM, PROTOCOL_ERROR, STREAM_CLOSED], |frames| {
            for n in 1..10_000_u32 {
                let stream = 2 * n + 1;
                let head = frame(HEADERS, END_HEADERS | END_STREAM, stream, &get);
                let own = [&stream.to_be_bytes()[..], &[16]].concat();
                let payload = if kind == PRIORITY { &own } else { payload };
                if !frames.raw(&[head, frame(kind, 0, stream, payload)].concat()) {
                    break;
                }
            }
        });
    }
    fatal(&running, "CONTINUATION without end", &[ENHANCE_YOUR_CALM, PROTOCOL_ERROR], |frames| {
        frames.send(HEADERS, END_STREAM, 3, &get);
        let more = block(&[("x", &"x".repeat(16_000))]);
        for _ in 0..10_000 {
            if !frames.send(CONTINUATION, 0, 3, &more) {
                break;
            }
        }
    });
    fatal(&running, "empty CONTINUATION without end", &[ENHANCE_YOUR_CALM, PROTOCOL_ERROR], |frames| {
        frames.send(HEADERS, END_STREAM, 3, &get);
        let many = frame(CONTINUATION, 0, 3, &[]).repeat(100);
        for _ in 0..1000 {
            if !frames.raw(&many) {
                break;
            }
        }
    });
    fatal(&running, "empty DATA without end", calm, |frames| {
        frames.head(3, &request("POST", "/read"), 0);
        let many = frame(DATA, 0, 3, &[]).repeat(100);
        for _ in 0..1000 {
            if !frames.raw(&many) {
                break;
            }
        }
    });
}

#[test]
fn a_client_that_only_makes_the_host_answer_is_sent_away() {
    let running = Running::start(config());
    for (what, bytes) in
        [("PING", frame(PING, 0, 0, &[7; 8])), ("SETTINGS", frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 9]))]
    {
        let mut frames = Frames::connect(running.server.addr());
        let many = bytes.repeat(1000);
        let begin = Instant::now();
        // The answers are not read, so they fill the buffers on the way, and then the host stops to read.
        while frames.raw(&many) {
            assert!(begin.elapsed() < Duration::from_secs(20), "{what}: the host takes all of it");
        }
        assert_eq!(Client::connect(running.server.addr()).get("/early").text(), "early", "after {what}");
    }
}

#[test]
fn a_window_that_stays_shut_gives_its_place_back() {
    let mut config = config();
    config.limits.requests = 1;
    config.limits.cpu_time = Duration::from_secs(60);
    config.limits.queue_timeout = Duration::from_secs(10);
    for component in [crate::support::misbehave(), crate::support::misbehave3()] {
        let running = Running::serve(component, config.clone());
        // Room for no byte of any answer.
        let mut frames = Frames::connect_with(running.server.addr(), &[(1, 0), (4, 0)]);
        frames.get(1, "/endless");
        let begin = Instant::now();
        let reply = Client::connect(running.server.addr()).get("/early");
        assert_eq!(reply.text(), "early");
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        let end = frames.end(1);
        assert!(matches!(end, End::Reset(_, Some(200))), "{end:?}");
        assert_eq!(frames.ask(3, "/status?404"), End::Answer(404, Vec::new(), false), "the connection lives on");
    }
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let mut config = config();
    config.limits.h2_streams = 4;
    let running = Running::start(config);
    let mut frames = Frames::connect(running.server.addr());
    for n in 0..8 {
        frames.get(2 * n + 1, "/sleep?300");
    }
    let ends: Vec<End> = (4..8).map(|n| frames.end(2 * n + 1)).collect();
    // RFC 9113 5.1.2: REFUSED_STREAM, so that the client may ask again.
    assert!(ends.iter().all(|end| *end == End::Reset(7, None)), "{ends:?}");
    assert_eq!(frames.end(1), End::Answer(200, b"slept".to_vec(), false));
}

#[test]
fn a_drain_names_the_last_stream() {
    let running = Running::start(config());
    let mut frames = Frames::connect(running.server.addr());
    assert_eq!(frames.ask(1, "/early"), early());
    frames.get(3, "/sleep?300");
    frames.send(PING, 0, 0, &[1; 8]);
    while frames.read().is_some_and(|frame| frame.kind != PING) {}
    running.server.drain();
    assert_eq!(frames.end(3), End::Answer(200, b"slept".to_vec(), false));
    assert_eq!(frames.closed(), Some(NO_ERROR));
    assert_eq!(frames.goodbye, Some((NO_ERROR, 3)));
}

#[test]
fn a_preface_that_is_none_is_refused() {
    let running = Running::start(config());
    for bytes in [
        &b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x01\x05\x00\x00\x00\x01",
        b"PRI * HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let text = Client::connect(running.server.addr()).send(bytes).rest();
        assert!(!text.contains("HTTP/1.1 2"), "{bytes:?}: {text}");
    }
}
