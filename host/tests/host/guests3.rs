//! What guests of 0.3 may do wrong, and how one instance serves many.

use crate::client::Client;
use crate::support::{Running, config, misbehave3};
use std::time::Duration;

fn start() -> Running {
    Running::serve(misbehave3(), config())
}

/// How a response looks from outside.
enum Seen {
    Whole(u16, &'static str),
    Host(u16),
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
            let id = reply.header("x-request-id").expect("an id");
            assert!(text.contains(id) && !text.contains("secret"), "{path}: {text}");
            assert!(running.log().contains(id), "{path}: {id} is not in the log");
        }
        Cut(begin) => {
            assert_eq!((reply.status, text.as_str()), (200, begin), "{path}");
            assert!(!reply.complete, "{path} looks complete: {reply:?}");
            assert!(client.is_closed(), "{path}: the connection is still open");
        }
    }
    // The host lives on.
    let after = Client::connect(running.server.addr()).get("/early");
    assert_eq!((after.status, after.text().as_str()), (200, "early"), "after {path}");
}

#[test]
fn misdeeds_of_guests() {
    let running = start();
    for (path, wanted) in [
        ("/trap", Host(500)),
        ("/trap-later?20", Host(500)),
        ("/panic", Host(500)),
        ("/trap-after-head", Cut("begun")),
        ("/never", Host(504)),
        ("/never-after-head", Cut("begun")),
        ("/busy", Host(504)),
        ("/error", Host(500)),
        ("/refused", Host(502)),
        ("/status?101", Host(500)),
        ("/status?299", Whole(299, "")),
        ("/status-body?204", Whole(204, "")),
        ("/status-body?404", Whole(404, "a body")),
        ("/slow-chunks?3", Whole(200, "tick\ntick\ntick\n")),
        (
            "/sockets",
            Whole(200, "Err(ErrorCode::AccessDenied),Err(ErrorCode::AccessDenied),Err(ErrorCode::AccessDenied)"),
        ),
        ("/late-after-end?0", Whole(200, "whole")),
        ("/forbidden", Whole(200, "forbidden,forbidden,forbidden,forbidden,forbidden,forbidden")),
    ] {
        check(&running, path, &wanted);
    }
    for path in ["/too-short", "/too-long"] {
        let mut client = Client::connect(running.server.addr());
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let reply = client.send(request).read_reply(false);
        // How much was sent before the fault was seen is a matter of time, but it is never whole.
        let whole = reply.as_ref().is_some_and(|reply| reply.status == 200 && reply.complete);
        assert!(!whole || reply.as_ref().is_some_and(|reply| reply.body.len() == 3), "{path}: {reply:?}");
    }
}

#[test]
fn guests_are_told_the_truth_about_the_request() {
    let running = start();
    let mut client = Client::connect(running.server.addr());
    let reply = client.send("GET /x?y HTTP/1.1\r\nHost: a.org:81\r\nX-A: 1\r\n\r\n").reply();
    assert_eq!(reply.text(), "Method::Get Some(Scheme::Http) Some(\"a.org:81\") Some(\"/x?y\")\nx-a: 1\n");
}

#[test]
fn bodies_come_back_as_they_were_sent() {
    let running = start();
    let mut client = Client::connect(running.server.addr());
    let big = "z".repeat(99_999);
    let reply = client.send(format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n{big}")).reply();
    assert_eq!((reply.body.len(), reply.complete), (99_999, true));
}

#[test]
fn one_instance_serves_many_requests_at_a_time() {
    let mut config = config();
    config.threads = 1;
    let running = Running::serve(misbehave3(), config);
    let mut client = Client::connect(running.server.addr());
    let counts: Vec<String> = (0..4).map(|_| client.get("/counter").text()).collect();
    assert_eq!(counts, ["1", "2", "3", "4"]);
    let mut open: Vec<Client> = (0..8).map(|_| Client::connect(running.server.addr())).collect();
    for client in &mut open {
        client.send("GET /concurrent?200 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    let most = open.iter_mut().filter_map(|client| client.reply().text().parse::<u32>().ok()).max();
    assert!(most > Some(1), "{most:?}");
}

#[test]
fn an_instance_is_replaced_after_its_share() {
    let mut config = config();
    config.threads = 1;
    config.reuse.requests_p3 = 2;
    let running = Running::serve(misbehave3(), config);
    let mut client = Client::connect(running.server.addr());
    let counts: Vec<String> = (0..5).map(|_| client.get("/counter").text()).collect();
    assert_eq!(counts, ["1", "2", "1", "2", "1"]);
}

#[test]
fn an_instance_that_wants_no_more_calls_keeps_nobody_waiting() {
    let mut config = config();
    config.threads = 1;
    let running = Running::serve(misbehave3(), config);
    let counts = || Client::connect(running.server.addr()).get("/counter").text();
    assert_eq!((counts(), counts()), ("1".to_owned(), "2".to_owned()));
    // One that has nothing else to do.
    assert_eq!(Client::connect(running.server.addr()).get("/full?0").text(), "full");
    assert_eq!((counts(), counts()), ("1".to_owned(), "2".to_owned()));
    // One that is at work: those that come later have another, and it ends what it has.
    let mut full = Client::connect(running.server.addr());
    full.send("GET /full?300 HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut later: Vec<Client> = (0..8).map(|_| Client::connect(running.server.addr())).collect();
    for client in &mut later {
        client.send("GET /sleep?1 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for client in &mut later {
        assert_eq!(client.reply().text(), "slept");
    }
    assert_eq!(full.reply().text(), "full");
}

#[test]
fn who_is_turned_away_by_all_guests_is_told_to_come_again() {
    let mut config = config();
    config.threads = 1;
    let running = Running::serve(misbehave3(), config);
    let mut clients: Vec<Client> = (0..30).map(|_| Client::connect(running.server.addr())).collect();
    for client in &mut clients {
        client.send("GET /full?50 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for client in &mut clients {
        let reply = client.reply();
        // Each instance takes one; who was turned away by all that were asked is told to come again.
        assert!(
            reply.text() == "full" || (reply.status == 503 && reply.header("retry-after") == Some("1")),
            "{reply:?}"
        );
    }
}

#[test]
fn a_trap_is_told_to_all_who_shared_the_instance_and_to_nobody_else() {
    let mut config = config();
    config.threads = 1;
    let running = Running::serve(misbehave3(), config);
    assert_eq!(Client::connect(running.server.addr()).get("/early").status, 200);
    let mut streaming = Client::connect(running.server.addr());
    streaming.send("GET /slow-chunks?1000 HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    assert_eq!(Client::connect(running.server.addr()).get("/trap-later?1").status, 500);
    let cut = streaming.reply();
    assert!(cut.text().starts_with("tick\n") && !cut.complete, "{cut:?}");
    assert_eq!(Client::connect(running.server.addr()).get("/counter").text(), "1");
}

#[test]
fn work_after_the_answer_is_finished() {
    let running = start();
    let reply = Client::connect(running.server.addr()).get("/late-after-end?50");
    assert_eq!(reply.text(), "whole");
    let begin = std::time::Instant::now();
    while !running.log().contains("late work done") {
        assert!(begin.elapsed().as_secs() < 10, "the guest was cut off: {}", running.log());
        std::thread::yield_now();
    }
}

#[test]
fn requests_that_are_refused_harm_no_instance() {
    let mut config = config();
    config.threads = 1;
    let running = Running::serve(misbehave3(), config);
    assert_eq!(Client::connect(running.server.addr()).get("/counter").text(), "1");
    for head in
        ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: \u{e9}\r\n\r\n", "GET x HTTP/1.1\r\nHost: a\r\n\r\n"]
    {
        assert_eq!(Client::connect(running.server.addr()).send(head).reply().status, 400, "{head:?}");
    }
    assert_eq!(Client::connect(running.server.addr()).get("/counter").text(), "2");
}

#[test]
fn a_crowd_finds_room_for_its_instances() {
    let mut config = config();
    config.limits.requests = 4;
    config.limits.queue_timeout = Duration::from_secs(10);
    config.limits.post_return_timeout = Duration::from_millis(500);
    let running = Running::serve(misbehave3(), config);
    // Each works on after its answer, so that there are more instances than requests.
    let mut crowd: Vec<Client> = (0..100).map(|_| Client::connect(running.server.addr())).collect();
    for client in &mut crowd {
        client.send("GET /late-after-end?20 HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for client in &mut crowd {
        assert_eq!(client.reply().text(), "whole", "{}", running.log());
    }
}

/// Sends the same request over 12 connections at once to an app whose instances have room for a few of them.
#[track_caller]
fn check_crowd(request: &[u8], length: usize) {
    let mut config = config();
    config.threads = 1;
    config.limits = tabi_host::Limits { memory: 40 << 20, ..Default::default() };
    let running = Running::serve(misbehave3(), config);
    let addr = running.server.addr();
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(move || {
                let mut client = Client::connect(addr);
                for _ in 0..2 {
                    let reply = client.send(request).reply();
                    assert_eq!(
                        (reply.status, reply.body.len(), reply.complete),
                        (200, length, true),
                        "{}",
                        reply.text()
                    );
                }
            });
        }
    });
    assert!(!running.log().contains("dropped"), "{}", running.log());
}

#[test]
fn large_bodies_do_not_crowd_an_instance() {
    let body = "x".repeat(5 << 20);
    check_crowd(format!("POST /keep HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", 5 << 20).as_bytes(), 7);
    let head = "POST /keep HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    check_crowd(format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", 5 << 20).as_bytes(), 7);
    check_crowd(b"GET /large?5 HTTP/1.1\r\nHost: a\r\n\r\n", 5 << 20);
}
