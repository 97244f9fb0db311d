//! What guests may do wrong, and what the client sees of it.

use crate::client::Client;
use crate::support::{Running, config};
use std::time::Duration;

/// How a response looks from outside.
enum Seen {
    /// A complete answer with this status and text.
    Whole(u16, &'static str),
    /// An answer of the host, with a request id and nothing of the guest.
    Host(u16),
    /// An answer that began with this text and visibly broke off.
    Cut(&'static str),
}
use Seen::{Cut, Host, Whole};

#[track_caller]
fn check(running: &Running, path: &str, wanted: &Seen) {
    let mut client = Client::connect(running.server.addr());
    let reply = client.get(path);
    let text = reply.text();
    match *wanted {
        Whole(status, body) => {
            assert_eq!((reply.status, text.as_str()), (status, body), "{path}");
            assert!(reply.complete, "{path}: {reply:?}");
        }
        Host(status) => {
            assert_eq!(reply.status, status, "{path}: {reply:?}");
            assert!(reply.complete, "{path}: {reply:?}");
            assert!(!text.contains("secret"), "{path}: {text}");
            let id = reply.header("x-request-id").expect("an id");
            assert!(text.contains(id), "{path}: {text}");
            assert!(running.log().contains(id), "{path}: {id} is not in the log");
        }
        Cut(begin) => {
            assert_eq!((reply.status, text.as_str()), (200, begin), "{path}");
            assert!(!reply.complete, "{path} looks complete: {reply:?}");
            assert!(client.is_closed(), "{path}: the connection is still open");
            assert!(running.log().contains("answer cut off"), "{path}");
        }
    }
    // Whatever happened, the host lives on.
    let after = Client::connect(running.server.addr()).get("/early");
    assert_eq!((after.status, after.text().as_str()), (200, "early"), "after {path}");
}

#[test]
fn misdeeds_of_guests_over_http1() {
    let running = Running::start(config());
    for (path, wanted) in [
        ("/trap", Host(500)),
        ("/panic", Host(500)),
        ("/trap-after-head", Cut("begun")),
        ("/trap-after-length", Cut("begun")),
        // Nothing was sent yet, so the client gets a clean error.
        ("/trap-at-once-after-head", Host(500)),
        ("/trap-after-end", Whole(200, "whole")),
        ("/silent", Host(500)),
        ("/leak", Host(500)),
        ("/never", Host(504)),
        ("/never-after-head", Cut("begun")),
        ("/busy", Host(504)),
        ("/busy-after-head", Cut("begun")),
        ("/forget-body", Host(500)),
        ("/forget-body-later", Cut("begun")),
        ("/drop-body", Host(500)),
        ("/too-short", Host(500)),
        ("/too-long", Host(500)),
        ("/no-body-but-length", Host(500)),
        ("/error?0", Host(500)),
        ("/error?1", Host(502)),
        ("/error?2", Host(504)),
        ("/error?3", Host(413)),
        ("/error?4", Host(431)),
        ("/error?5", Host(414)),
        ("/error?6", Host(508)),
        ("/status?101", Host(500)),
        ("/status?103", Host(500)),
        ("/status?299", Whole(299, "")),
        ("/status?599", Whole(599, "")),
        ("/status-body?204", Whole(204, "")),
        ("/status-body?304", Whole(304, "")),
        ("/status-body?205", Whole(205, "")),
        ("/status-body?404", Whole(404, "a body")),
        ("/forbidden", Whole(200, "forbidden,forbidden,forbidden,forbidden,forbidden,forbidden")),
        ("/huge-headers?200", Host(500)),
        ("/resources?100", Whole(200, "100")),
        ("/random?1000", Whole(200, "1000")),
        ("/network", Whole(200, "ErrorCode::HttpRequestDenied")),
        ("/sockets", Whole(200, "PermissionDenied,PermissionDenied,PermissionDenied,PermissionDenied")),
        ("/empty-chunks", Whole(200, "ab")),
        ("/slow-chunks?3", Whole(200, "tick\ntick\ntick\n")),
        ("/late-after-end?0", Whole(200, "whole")),
    ] {
        check(&running, path, &wanted);
    }
}

#[test]
fn what_takes_too_much_is_a_trap() {
    let mut config = config();
    // It is long on a machine that does other things as well, and its time is not the subject.
    config.limits.cpu_time = Duration::from_secs(50);
    config.limits.request_timeout = Duration::from_secs(50);
    let running = Running::start(config);
    for path in ["/stack?1000000", "/grow-and-trap", "/resources?1000000", "/random?1000000000"] {
        check(&running, path, &Host(500));
    }
}

#[test]
fn memory_of_a_guest_is_bounded() {
    let mut config = config();
    config.limits.memory = 16 << 20;
    let running = Running::start(config);
    let reply = Client::connect(running.server.addr()).get("/grow?1000");
    let megabytes: u32 = reply.text().parse().expect("a number");
    assert!((8..16).contains(&megabytes), "{megabytes}");
}

#[test]
fn memory_is_fresh_for_each_request() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    for _ in 0..5 {
        assert_eq!(client.get("/counter").text(), "1");
    }
}

#[test]
fn memory_lives_on_where_the_operator_allows_it() {
    let mut config = config();
    config.reuse.requests_p2 = 3;
    let running = Running::start(config);
    let mut client = Client::connect(running.server.addr());
    let counts: Vec<String> = (0..7).map(|_| client.get("/counter").text()).collect();
    assert_eq!(counts, ["1", "2", "3", "1", "2", "3", "1"]);
    // An instance that broke, or kept something of its request, serves nobody again.
    for misdeed in ["/trap", "/leak", "/never", "/forget-body"] {
        client.get(misdeed);
        assert_eq!(client.get("/counter").text(), "1", "after {misdeed}");
        for _ in 0..2 {
            client.get("/counter");
        }
    }
}

#[test]
fn output_of_guests_is_logged_with_the_request_id() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    assert_eq!(client.get("/print").text(), "printed");
    let log = running.log();
    assert!(log.contains("] to stdout\n"), "{log}");
    assert!(log.contains("] to \u{fffd}[31mstderr\n"), "{log}");
    assert_eq!(client.get("/flood?2000").text(), "flooded");
    let log = running.log();
    assert!(log.len() < 400_000, "{}", log.len());
    assert!(log.contains("bytes of guest output were dropped"));
    assert_eq!(client.get("/panic").status, 500);
    assert!(running.log().contains("the secret of the guest"), "the log has the panic message");
}

#[test]
fn work_after_the_answer_is_finished() {
    let running = Running::start(config());
    let reply = Client::connect(running.server.addr()).get("/late-after-end?50");
    assert_eq!(reply.text(), "whole");
    let begin = std::time::Instant::now();
    while !running.log().contains("late work done") {
        assert!(begin.elapsed().as_secs() < 10, "the guest was cut off: {}", running.log());
        std::thread::yield_now();
    }
}

#[test]
fn an_endless_body_ends_with_its_processor_time() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    let reply = client.get("/endless");
    assert!(!reply.complete);
    assert!(reply.body.len() > 100_000, "{}", reply.body.len());
    assert!(running.log().contains("cpu_time"), "{}", running.log());
}

#[test]
fn answers_are_whole_whatever_their_length() {
    let mut config = config();
    // The guest makes its text first, which takes a while on a busy machine.
    let limits = &mut config.limits;
    [limits.cpu_time, limits.stream_idle_timeout, limits.stream_timeout] = [Duration::from_secs(60); 3];
    let running = Running::start(config);
    let mut client = Client::connect(running.server.addr());
    // A task of the runtime may do so much in a turn; one of these ends when it has done just that.
    for pieces in 48..58 {
        let length = pieces * 64 * 1024 + 1;
        let reply = client.get(&format!("/document?{length}"));
        assert_eq!((reply.body.len(), reply.complete), (length, true), "{}", running.log());
    }
}

#[test]
fn trailers_reach_clients_that_ask_for_them() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    let reply = client.send("GET /trailers HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n").reply();
    assert_eq!((reply.text().as_str(), reply.complete), ("data", true));
    assert_eq!(reply.trailers, [("x-sum".to_owned(), "4".to_owned())]);
    let plain = client.get("/trailers");
    assert_eq!((plain.text().as_str(), plain.trailers.len()), ("data", 0));
}
