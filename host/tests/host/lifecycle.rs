//! Stopping, clients that leave, and what is let go of.

use crate::client::Client;
use crate::support::{Lines, Running, config, misbehave, misbehave3};
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
fn a_new_component_takes_over_between_two_requests() {
    let log = tabi_host::Log::to(Lines::default());
    let mut host = tabi_host::Host::load(misbehave(), config(), log).expect("loads");
    let server = host.serve(host.bind().expect("listens")).expect("serves");
    let mut client = Client::connect(server.addr());
    assert_eq!([client.get("/counter").text(), client.get("/counter").text()], ["1", "1"]);
    let mut open = Client::connect(server.addr());
    open.send("GET /sleep?300 HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    host.reload(&server, misbehave3()).expect("loads");
    // The new one counts on; the request that had begun is finished by the old one.
    assert_eq!([client.get("/counter").text(), client.get("/counter").text()], ["1", "2"]);
    assert_eq!(open.reply().text(), "slept");
    assert!(host.reload(&server, std::path::Path::new("/no/such.wasm")).is_err());
    assert_eq!(client.get("/counter").text(), "3", "a component that does not load changes nothing");
    host.reload(&server, misbehave()).expect("loads");
    assert_eq!([client.get("/counter").text(), client.get("/counter").text()], ["1", "1"]);
}

#[test]
fn every_request_leaves_its_line() {
    for (form, wanted) in [
        (tabi_host::AccessLog::Text, [r#"127.0.0.1:"#, r#""GET /early HTTP/1.1" 200 5B guest "#, "us complete"]),
        (
            tabi_host::AccessLog::Json,
            [
                r#""target":"/early","version":"HTTP/1.1","status":200,"bytes":5"#,
                r#""end":"complete"}"#,
                r#""guest_micros":"#,
            ],
        ),
    ] {
        let mut config = config();
        config.access_log = form;
        let running = Running::start(config);
        let mut client = Client::connect(running.server.addr());
        client.get("/early");
        client.get("/trap-after-head");
        let mut gone = Client::connect(running.server.addr());
        gone.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n");
        std::thread::park_timeout(Duration::from_millis(50));
        drop(gone);
        let begin = Instant::now();
        let done = |log: &str| log.contains("/endless") && log.contains("/trap-after-head");
        while !done(&running.log()) {
            assert!(begin.elapsed().as_secs() < 10, "{}", running.log());
            std::thread::yield_now();
        }
        let log = running.log();
        let line = log.lines().find(|line| line.contains("/early")).expect("a line");
        assert!(wanted.iter().all(|part| line.contains(part)), "{line}");
        let line = |path: &str| {
            let mut lines = log.lines().filter(|line| line.contains(path));
            lines.next_back().map(str::to_owned).expect("a line")
        };
        assert!(line("/trap-after-head").contains("cut"), "{}", line("/trap-after-head"));
        assert!(line("/endless").contains("client-gone"), "{}", line("/endless"));
    }
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
    for component in [misbehave(), misbehave3()] {
        let running = Running::serve(component, config.clone());
        let mut leaves = Client::connect(running.server.addr());
        leaves.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
        std::thread::park_timeout(Duration::from_millis(100));
        drop(leaves);
        let reply = Client::connect(running.server.addr()).get("/early");
        assert_eq!(reply.text(), "early");
    }
}

#[test]
fn a_client_that_leaves_the_queue_is_not_served() {
    let mut config = config();
    config.limits.requests = 1;
    config.threads = 1;
    config.limits.queue_timeout = Duration::from_secs(10);
    let running = Running::serve(misbehave3(), config);
    let mut busy = Client::connect(running.server.addr());
    busy.send("GET /sleep?500 HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    let mut leaves = Client::connect(running.server.addr());
    leaves.send("GET /counter HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    drop(leaves);
    let reply = Client::connect(running.server.addr()).get("/counter");
    assert_eq!((reply.text().as_str(), busy.reply().text().as_str()), ("1", "slept"));
}

#[test]
fn a_busy_guest_does_not_starve_its_core() {
    let mut config = config();
    config.threads = 1;
    config.limits.cpu_time = Duration::from_secs(2);
    config.limits.request_timeout = Duration::from_secs(3);
    for component in [misbehave(), misbehave3()] {
        let running = Running::serve(component, config.clone());
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
}

/// A drain waits for what a guest does after its answer, and says nothing of guests that had no work.
#[track_caller]
fn check_late_work(component: &std::path::Path) {
    let Running { server, log, lines } = Running::serve(component, config());
    assert_eq!(Client::connect(server.addr()).get("/late-after-end?400").text(), "whole");
    server.drain();
    server.wait();
    log.flush();
    let text = lines.text();
    assert!(text.contains("late work done"), "the guest was cut off: {text}");
    assert!(!text.contains("panicked") && !text.contains("dropped"), "{text}");
}

#[test]
fn a_drain_waits_for_work_after_the_answer() {
    check_late_work(misbehave());
    check_late_work(misbehave3());
}

#[test]
fn a_drain_does_not_wait_longer_than_it_may_for_work_after_the_answer() {
    for (component, noted) in [(misbehave(), 0), (misbehave3(), 1)] {
        let mut config = config();
        config.limits.drain_timeout = Duration::from_millis(100);
        let Running { server, log, lines } = Running::serve(component, config);
        assert_eq!(Client::connect(server.addr()).get("/late-after-end?5000").text(), "whole");
        let begin = Instant::now();
        server.drain();
        server.wait();
        assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
        log.flush();
        let text = lines.text();
        assert!(text.contains("0 connections and 1 busy guests outlasted drain_timeout"), "{text}");
        assert_eq!(text.matches("the host has stopped before the guest had finished").count(), noted, "{text}");
        assert!(!text.contains("late work done"), "{text}");
    }
}
