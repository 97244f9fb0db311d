//! What clients may send, and what becomes of it.

use crate::client::Client;
use crate::support::{Running, config};

/// Sends `request` and expects `status`, and `part` in the body.
#[track_caller]
fn check(running: &Running, request: &str, status: u16, part: &str) {
    let mut client = Client::connect(running.server.addr());
    let reply = client.send(request).reply();
    assert_eq!(reply.status, status, "{request:?}: {reply:?}");
    assert!(reply.text().contains(part), "{request:?}: {}", reply.text());
}

/// Sends `request` and expects a refusal, after which the connection is closed.
#[track_caller]
fn refused(running: &Running, request: &str, status: u16) {
    let mut client = Client::connect(running.server.addr());
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let reply = client.send(request).send(smuggled).reply();
    assert_eq!(reply.status, status, "{request:?}: {reply:?}");
    let rest = client.rest();
    assert!(!rest.contains("HTTP/1.1"), "{request:?} was followed by another answer: {rest:?}");
}

#[test]
fn guests_are_told_the_truth_about_the_request() {
    let running = Running::start(config());
    let check = |request: &str, part: &str| check(&running, request, 200, part);
    check("GET /x?y HTTP/1.1\r\nHost: a.org:81\r\n\r\n", r#"Some(Scheme::Http) Some("a.org:81") Some("/x?y")"#);
    check("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", r#"Some("[::1]:80")"#);
    check("GET http://b.org/p HTTP/1.1\r\nHost: a.org\r\n\r\n", r#"Some("b.org") Some("/p")"#);
    check("GET http://b.org HTTP/1.1\r\nHost: a.org\r\n\r\n", r#"Some("b.org") Some("/")"#);
    let local = format!("Some(\"{}\")", running.server.addr());
    check("GET / HTTP/1.0\r\n\r\n", &local);
    check("GET /%zz/../a//b HTTP/1.1\r\nHost: a\r\n\r\n", r#"Some("/%zz/../a//b")"#);
    check("PURGE / HTTP/1.1\r\nHost: a\r\n\r\n", r#"Method::Other("PURGE")"#);
    check("GET / HTTP/1.1\r\nHost: a\r\nX-Raw: \u{e9}\u{ff}\r\n\r\n", r"x-raw: \xc3\xa9\xc3\xbf");
}

#[test]
fn fields_of_the_connection_do_not_reach_guests() {
    let running = Running::start(config());
    let reply = Client::connect(running.server.addr())
        .send(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: x-hop, keep-alive\r\nX-Hop: 1\r\n\
             Keep-Alive: 5\r\nTE: gzip\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\
             Proxy-Connection: close\r\nX-End: 1\r\n\r\n",
        )
        .reply();
    assert_eq!(reply.status, 200);
    let text = reply.text();
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["x-end"], "{text}");
}

#[test]
fn requests_that_mean_two_things_are_refused() {
    let running = Running::start(config());
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n", 400),
        ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n", 417),
        // RFC 9112 6.3: the chunks count, and the connection ends.
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400),
        ("G\u{1}T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
    ] {
        refused(&running, request, status);
    }
}

#[test]
fn broken_chunks_never_become_a_body() {
    let running = Running::start(config());
    for chunks in [
        "5\r\nhelloXX0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nhello",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
    ] {
        let mut client = Client::connect(running.server.addr());
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let reply = client.send(chunks).read_reply(false);
        let fine = reply.as_ref().is_some_and(|reply| reply.status == 200 && reply.complete);
        assert!(!fine, "{chunks:?}: {reply:?}");
        let mut client = Client::connect(running.server.addr());
        client.send("POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        let reply = client.send(chunks).reply();
        assert_eq!(reply.status, 400, "{chunks:?}: {reply:?}");
        assert!(!reply.text().contains("guest"), "{chunks:?}: the host answers, not the guest");
    }
}

#[test]
fn options_of_the_server_itself() {
    let running = Running::start(config());
    let reply = Client::connect(running.server.addr()).send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").reply();
    assert_eq!(reply.status, 204);
    assert!(reply.header("allow").is_some_and(|allow| allow.contains("GET")));
    assert_eq!(reply.header("content-length"), None);
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    for (path, status, length) in [
        ("/early", 200, Some("5")),
        ("/too-short", 200, Some("10")),
        ("/no-body-but-length", 200, Some("10")),
        ("/slow-chunks?2", 200, None),
        ("/status-body?204", 204, None),
        ("/trap", 500, Some("55")),
    ] {
        let request = format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let reply = client.send(request).reply_to_head();
        assert_eq!((reply.status, reply.header("content-length")), (status, length), "{path}");
    }
    assert_eq!(client.get("/early").text(), "early", "the connection is still in step");
}

#[test]
fn bodies_come_back_as_they_were_sent() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    let reply =
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n").send("he").send("llo").reply();
    assert_eq!((reply.text().as_str(), reply.complete), ("hello", true));
    let reply = client
        .send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .send("3;ext=1\r\nabc\r\n")
        .send("2\r\nde\r\n0\r\nX-T: 1\r\n\r\n")
        .reply();
    assert_eq!((reply.text().as_str(), reply.complete), ("abcde", true));
    let big = "z".repeat(99_999);
    let reply = client.send(format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999\r\n\r\n{big}")).reply();
    assert_eq!((reply.body.len(), reply.complete), (99_999, true));
}

#[test]
fn a_client_that_asks_first_is_told_to_continue_when_the_guest_reads() {
    let running = Running::start(config());
    let ask =
        |path: &str| format!("POST {path} HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    let mut client = Client::connect(running.server.addr());
    assert_eq!(client.send(ask("/read")).reply().status, 100);
    assert_eq!(client.send("hello").reply().text(), "hello");
    // A guest that does not read has its answer sent without the body.
    let mut client = Client::connect(running.server.addr());
    assert_eq!(client.send(ask("/early")).reply().text(), "early");
}

#[test]
fn http_1_0_gets_no_chunks() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    let reply = client.send("GET /slow-chunks?2 HTTP/1.0\r\n\r\n").reply();
    assert_eq!(reply.header("transfer-encoding"), None);
    assert_eq!(reply.text(), "tick\ntick\n");
    let mut client = Client::connect(running.server.addr());
    let keep = "GET /early HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    assert_eq!(client.send(keep).reply().text(), "early");
    assert_eq!(client.send(keep).reply().text(), "early");
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    client.send(
        "GET /sleep?50 HTTP/1.1\r\nHost: a\r\n\r\nGET /early HTTP/1.1\r\nHost: a\r\n\r\n\
         GET /status?404 HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    assert_eq!(client.reply().text(), "slept");
    assert_eq!(client.reply().text(), "early");
    assert_eq!(client.reply().status, 404);
}

#[test]
fn an_early_answer_does_not_wait_for_the_upload() {
    let running = Running::start(config());
    let mut client = Client::connect(running.server.addr());
    let reply = client.send("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\nsome").reply();
    assert_eq!(reply.text(), "early");
    assert!(client.is_closed(), "a body that nobody reads must not be taken for a request");
}
