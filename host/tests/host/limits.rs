//! Each limit, hit.

use crate::client::Client;
use crate::support::{Running, config};
use std::time::{Duration, Instant};

#[test]
fn heads_are_bounded() {
    let mut config = config();
    config.limits.header_bytes = 10_000;
    config.limits.uri_bytes = 1000;
    let running = Running::start(config);
    let long = "x".repeat(20_000);
    let many: String = (0..101).map(|n| format!("x-{n}: 1\r\n")).collect();
    for (head, status) in [
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", &long[..1001]), 414),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", &long[..900]), 200),
    ] {
        let reply = Client::connect(running.server.addr()).send(&head).reply();
        assert_eq!(reply.status, status, "{}", &head[..60]);
    }
}

#[test]
fn bodies_are_bounded() {
    let running = Running::start(config());
    // A declared length is refused before a byte of the body was sent.
    let mut client = Client::connect(running.server.addr());
    let reply = client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n").reply();
    assert_eq!(reply.status, 413);
    assert!(client.is_closed());
    // An undeclared one once it is too long; what was answered until then ends visibly.
    let mut client = Client::connect(running.server.addr());
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    for _ in 0..10 {
        client.send(&chunk);
    }
    let reply = client.read_reply(false);
    assert!(reply.is_none_or(|reply| reply.status == 413 || !reply.complete));
}

/// Measures how long the host keeps a client that has sent `bytes` and then says nothing.
#[track_caller]
fn closed_after(running: &Running, bytes: &str, wanted: Duration) -> String {
    let mut client = Client::connect(running.server.addr());
    let begin = Instant::now();
    let got = client.send(bytes).rest();
    let took = begin.elapsed();
    let slack = Duration::from_millis(50);
    assert!(took + slack >= wanted && took < wanted * 3 + slack * 10, "{bytes:?}: {took:?}");
    got
}

#[test]
fn silent_clients_are_sent_away() {
    let running = Running::start(config());
    let limits = config().limits;
    assert_eq!(closed_after(&running, "", limits.header_timeout), "");
    assert_eq!(closed_after(&running, "GET / HT", limits.header_timeout), "");
    assert_eq!(closed_after(&running, "P", limits.header_timeout), "");
    let idle = "GET /early HTTP/1.1\r\nHost: a\r\n\r\n";
    let got = closed_after(&running, idle, limits.idle_timeout);
    assert!(got.contains("early"), "{got}");
    let got = closed_after(&running, &format!("{idle}GET /"), limits.header_timeout);
    assert!(got.contains("early"), "{got}");
    let half = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n";
    let got = closed_after(&running, half, limits.body_timeout);
    assert!(got.starts_with("HTTP/1.1 408"), "{got}");
}

#[test]
fn a_head_that_trickles_in_is_too_slow() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        // One byte at a time, each well within the limit that holds for all of them.
        client.send("G");
        std::thread::park_timeout(Duration::from_millis(50));
        if begin.elapsed() > config().limits.header_timeout * 2 {
            break;
        }
    }
    assert!(client.is_closed());
}

#[test]
fn a_client_that_takes_nothing_is_sent_away() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n");
    // The buffers on the way fill up; then the host waits, but not for ever.
    let begin = Instant::now();
    while !running.log().contains("cut off") && begin.elapsed() < Duration::from_secs(4) {
        std::thread::park_timeout(Duration::from_millis(50));
    }
    let reply = client.reply();
    assert!(!reply.complete);
}

#[test]
fn overload_is_answered_at_once() {
    let mut config = config();
    config.limits.requests = 1;
    config.limits.queue = 1;
    let running = Running::start(config);
    let mut busy = Client::connect(running.server.addr());
    busy.send("GET /sleep?400 HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    let mut waits = Client::connect(running.server.addr());
    waits.send("GET /early HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(50));
    let begin = Instant::now();
    let reply = Client::connect(running.server.addr()).get("/early");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert!(begin.elapsed() < Duration::from_millis(100), "{:?}", begin.elapsed());
    // The one in the queue has had its time before the first is done.
    assert_eq!(waits.reply().status, 503);
    assert_eq!(busy.reply().text(), "slept");
}

#[test]
fn connections_are_counted() {
    let mut config = config();
    config.limits.connections = 2;
    config.limits.requests_per_connection = 3;
    let running = Running::start(config);
    let mut first = Client::connect(running.server.addr());
    assert_eq!(first.get("/early").status, 200);
    let mut second = Client::connect(running.server.addr());
    assert_eq!(second.get("/early").status, 200);
    let mut third = Client::connect(running.server.addr());
    assert_eq!(third.reply().status, 503);
    assert_eq!(first.get("/early").header("connection"), None);
    assert_eq!(first.get("/early").header("connection"), Some("close"));
    assert!(first.is_closed());
}

#[test]
fn small_writes_are_sent_at_once() {
    let running = Running::start(config());
    // With Nagle's algorithm each of the writes would wait for the acknowledgement of the one before, which a client
    // without anything to send delays by 40 ms. The best of a few is what the host does; the rest is the machine.
    let take = |_| {
        let begin = Instant::now();
        assert!(Client::connect(running.server.addr()).get("/slow-chunks?6").complete);
        begin.elapsed()
    };
    let best = (0..8).map(take).min().expect("some");
    assert!(best < Duration::from_millis(6 * 20 + 60), "{best:?}");
}
