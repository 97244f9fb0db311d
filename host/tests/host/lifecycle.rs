//! Stopping, clients that leave, and what is let go of.

use crate::client::Client;
use crate::support::{Running, config};
use std::time::{Duration, Instant};

#[test]
fn a_drain_answers_what_was_asked() {
    let Running { server, .. } = Running::start(config());
    let addr = server.addr();
    let mut idle = Client::connect(addr);
    assert_eq!(idle.get("/early").status, 200);
    let mut fresh = Client::connect(addr);
    let mut open = Client::connect(addr);
    open.send("GET /sleep?300 HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    server.drain();
    assert!(idle.is_closed(), "an idle connection is closed at once");
    assert!(fresh.is_closed(), "a connection that never spoke is closed at once");
    let reply = open.reply();
    assert_eq!((reply.text().as_str(), reply.header("connection")), ("slept", Some("close")));
    assert!(open.is_closed());
    let begin = Instant::now();
    server.wait();
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert!(std::net::TcpStream::connect(addr).is_err(), "nobody listens any more");
}

#[test]
fn a_drain_has_an_end() {
    let mut config = config();
    config.limits.request_timeout = Duration::from_secs(60);
    config.limits.drain_timeout = Duration::from_millis(200);
    let Running { server, .. } = Running::start(config);
    let mut stuck = Client::connect(server.addr());
    stuck.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    let begin = Instant::now();
    server.drain();
    server.wait();
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(150) && took < Duration::from_secs(3), "{took:?}");
    assert!(stuck.is_closed());
}

#[test]
fn an_abort_waits_for_nobody() {
    let mut config = config();
    config.limits.request_timeout = Duration::from_secs(60);
    config.limits.cpu_time = Duration::from_secs(60);
    let Running { server, .. } = Running::start(config);
    let mut stuck = Client::connect(server.addr());
    stuck.send("GET /busy HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    let begin = Instant::now();
    server.abort();
    server.wait();
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn a_client_that_leaves_frees_its_place() {
    let mut config = config();
    config.limits.requests = 1;
    config.limits.request_timeout = Duration::from_secs(60);
    config.limits.queue_timeout = Duration::from_secs(10);
    let running = Running::start(config);
    let mut leaves = Client::connect(running.server.addr());
    leaves.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    drop(leaves);
    let reply = Client::connect(running.server.addr()).get("/early");
    assert_eq!(reply.text(), "early");
}

#[test]
fn a_busy_guest_does_not_starve_its_core() {
    let mut config = config();
    config.threads = 1;
    config.limits.cpu_time = Duration::from_secs(2);
    config.limits.request_timeout = Duration::from_secs(10);
    let running = Running::start(config);
    let mut busy = Client::connect(running.server.addr());
    busy.send("GET /busy HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(50));
    let begin = Instant::now();
    for _ in 0..5 {
        assert_eq!(Client::connect(running.server.addr()).get("/early").text(), "early");
    }
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    assert_eq!(busy.reply().status, 504);
}
