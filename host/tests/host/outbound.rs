//! Requests that guests send: where to, what of them arrives, and what becomes of those that fail.

use crate::client::Client;
use crate::stub::{Peer, Stub};
use crate::support::{Running, config, misbehave, misbehave3};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;
use tabi_host::Config;

/// Runs a test with the guest of each version.
fn both(test: impl Fn(&Path)) {
    test(misbehave());
    test(misbehave3());
}

/// A configuration that lets guests send requests to `outbound`.
pub fn granted(outbound: &[&str]) -> Config {
    let mut config = Config { threads: 1, ..config() };
    config.grants.outbound = outbound.iter().map(|&entry| entry.to_owned()).collect();
    config.limits.outbound_header_bytes = 16 * 1024;
    config.limits.outbound_between_bytes_timeout = Duration::from_millis(300);
    config
}

/// Every server of this machine, by its address alone.
pub const LOCAL: &[&str] = &["http://127.0.0.1:*"];

/// Has the guest send a request as `fields` say, and returns what it tells of the answer.
#[track_caller]
pub fn fetch(running: &Running, to: &str, fields: &[&str]) -> String {
    let mut request = format!("GET /fetch HTTP/1.1\r\nHost: test\r\nto: {to}\r\n");
    for field in fields {
        request.push_str(field);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    let reply = Client::connect(running.server.addr()).send(request).reply();
    assert_eq!(reply.status, 200, "{}", running.log());
    reply.text()
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const FINE: &str = "200\ncontent-length: 2\nok";

/// The lines of a head, sorted, as the order of fields means nothing.
fn lines(head: &str) -> Vec<&str> {
    let mut lines: Vec<_> = head.lines().filter(|line| !line.is_empty()).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn a_request_arrives_as_it_was_meant() {
    both(|guest| {
        let running = Running::serve(guest, granted(LOCAL));
        let stub = Stub::start(|peer| {
            while let Some(head) = peer.request() {
                let body = match &head {
                    head if head.contains("chunked") => peer.until("0\r\n\r\n"),
                    head if head.contains("content-length: 5") => peer.until("hello"),
                    _ => String::new(),
                };
                peer.say(head + &body);
                peer.write("HTTP/1.1 201 Made\r\nx-kept: 1\r\nconnection: x-hop, keep-alive\r\nx-hop: 1\r\n");
                peer.write("keep-alive: timeout=9\r\nproxy-authenticate: x\r\ntransfer-encoding: chunked\r\n\r\n");
                peer.write("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
            }
        });
        let host = stub.addr;
        let answer = "201\nx-kept: 1\nonetwo";
        assert_eq!(fetch(&running, &stub.url("/a%20b?c=d&e"), &["send: x-a=1", "send: x-a=2"]), answer);
        let seen = stub.said();
        let mark = seen.lines().find(|line| line.starts_with("cdn-loop: tabi-")).expect("a mark").to_owned();
        assert!(mark.ends_with(";hops=1"), "{mark}");
        let host = format!("host: {host}");
        assert_eq!(lines(&seen), ["GET /a%20b?c=d&e HTTP/1.1", &mark, &host, "x-a: 1", "x-a: 2"]);

        assert_eq!(fetch(&running, &stub.url("?q"), &["send: te=gzip, trailers", "send: cdn-loop=other"]), answer);
        let seen = stub.said();
        let mark = mark.replace("cdn-loop: ", "cdn-loop: other, ");
        assert_eq!(lines(&seen), ["GET /?q HTTP/1.1", &mark, "connection: te", &host, "te: trailers"]);

        assert_eq!(fetch(&running, &stub.url("/"), &["method: POST", "body: hello"]), answer);
        let seen = stub.said();
        assert!(seen.starts_with("POST / HTTP/1.1\r\n") && seen.ends_with("5\r\nhello\r\n0\r\n\r\n"), "{seen}");
        assert_eq!(fetch(&running, &stub.url("/"), &["method: POST", "body: hello", "send: content-length=5"]), answer);
        assert!(stub.said().contains("content-length: 5\r\n"));
        for method in ["DELETE", "POST", "OPTIONS", "GET", "HEAD"] {
            // A body without bytes is a body, and one of HEAD is none.
            let got = fetch(&running, &stub.url("/"), &[&format!("method: {method}"), "send: content-length=0"]);
            assert_eq!(got, if method == "HEAD" { "201\nx-kept: 1\n" } else { answer }, "{method}");
            let seen = stub.said();
            assert!(seen.starts_with(method) && seen.ends_with("\r\n\r\n"), "{seen}");
            assert!(seen.contains("content-length: 0\r\n") && !seen.contains("transfer-encoding"), "{seen}");
        }
    });
}

#[test]
fn connections_are_used_again() {
    both(|guest| {
        let running = Running::serve(guest, granted(LOCAL));
        let stub = Stub::answering(OK);
        for _ in 0..3 {
            assert_eq!(fetch(&running, &stub.url("/"), &[]), FINE);
        }
        assert_eq!(stub.connections(), 1);
        // With chunks the end is known, too.
        let stub = Stub::answering("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
        for _ in 0..3 {
            assert_eq!(fetch(&running, &stub.url("/"), &[]), "200\nok");
        }
        assert_eq!(stub.connections(), 1);
        // Nobody knows what else comes after an answer without a length, or on one that is closed.
        for answer in
            ["HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", "HTTP/1.0 200 OK\r\n\r\nok"]
        {
            let stub = Stub::start(move |peer| {
                peer.request();
                peer.write(answer);
            });
            for _ in 0..3 {
                assert!(fetch(&running, &stub.url("/"), &[]).ends_with("\nok"));
            }
            assert_eq!(stub.connections(), 3, "{answer}");
        }
    });
}

#[test]
fn a_connection_that_was_closed_meanwhile_is_replaced() {
    both(|guest| {
        let running = Running::serve(guest, granted(LOCAL));
        // Each connection serves one request, and says so only after it is gone.
        let stub = Stub::start(|peer| {
            peer.request();
            peer.write(OK);
            let _ = peer.stream.shutdown(std::net::Shutdown::Both);
            peer.say("closed");
        });
        for number in 1..=3 {
            assert_eq!(fetch(&running, &stub.url("/"), &["method: POST", "body: x"]), FINE);
            assert_eq!(stub.said(), "closed");
            assert_eq!(stub.connections(), number);
        }
    });
}

#[test]
fn idle_connections_are_few_and_do_not_stay() {
    let mut config = granted(LOCAL);
    config.limits.outbound_idle = 1;
    config.limits.outbound_idle_timeout = Duration::from_millis(200);
    config.reuse.idle = Duration::from_millis(200);
    let running = Running::serve(misbehave(), config);
    let wait = || {
        Stub::start(|peer| {
            peer.request();
            peer.write(OK);
            peer.say_how_it_ends();
        })
    };
    let (first, second) = (wait(), wait());
    assert_eq!(fetch(&running, &first.url("/"), &[]), FINE);
    assert_eq!(fetch(&running, &second.url("/"), &[]), FINE);
    // There is a place for one, and after a while for none.
    assert_eq!((first.said(), second.said()), ("closed".into(), "closed".into()));
}

#[test]
fn what_is_not_granted_is_refused_and_said_once() {
    #[track_caller]
    fn check(guest: &Path, outbound: &[&str], private: &[&str], to: &str, wanted: &str, said: &str) {
        let mut config = granted(outbound);
        config.grants.outbound_private = private.iter().map(|&entry| entry.to_owned()).collect();
        let running = Running::serve(guest, config);
        for _ in 0..2 {
            let got = fetch(&running, to, &[]);
            assert!(got == wanted || got == format!("error ErrorCode::{wanted}"), "{to}: {got}");
        }
        let log = running.log();
        let lines = log.lines().filter(|line| !said.is_empty() && line.contains(said)).count();
        assert_eq!(lines, usize::from(!said.is_empty()), "{said}: {log}");
    }
    const DENIED: &str = "HttpRequestDenied";
    const PROHIBITED: &str = "DestinationIpProhibited";
    both(|guest| {
        let stub = Stub::answering(OK);
        let (ok, port) = (stub.url("/x"), stub.addr.port());
        let named = format!("http://localhost:{port}/x");
        let grant = format!("grant it with grants.outbound = [\"http://127.0.0.1:{port}\"]");
        check(guest, &[], &[], &ok, DENIED, &grant);
        check(guest, &["https://127.0.0.1:*"], &[], &ok, DENIED, &grant);
        check(guest, &["http://127.0.0.1"], &[], &ok, DENIED, &grant);
        check(guest, &["http://127.0.0.1:*/v1/"], &[], &ok, DENIED, &grant);
        let lie = format!("http://127.0.0.1@example.org:{port}/");
        check(guest, &["*"], &[], &lie, "HttpRequestUriInvalid", "");
        check(guest, &["*"], &[], &format!("http://127.1:{port}/"), "HttpRequestUriInvalid", "");
        let public = "as its address is not public; allow the network with grants.outbound_private";
        check(guest, &["*"], &[], &ok, PROHIBITED, public);
        check(guest, &["*"], &["10.0.0.0/8"], &ok, PROHIBITED, public);
        check(guest, &["*"], &[], &format!("http://[::ffff:127.0.0.1]:{port}/"), PROHIBITED, public);
        check(guest, &["*"], &[], &named, PROHIBITED, public);
        check(guest, &["*"], &[], "http://169.254.169.254/latest/meta-data/", PROHIBITED, public);
        assert_eq!(stub.connections(), 0);
        check(guest, &["http://127.0.0.1:*/x"], &[], &ok, FINE, "");
        check(guest, &["*"], &["127.0.0.0/8"], &ok, FINE, "");
        check(guest, &["*"], &["*"], &named, FINE, "");
        check(guest, &["http://localhost:*"], &[], &named, FINE, "");
    });
}

/// A stub that reads a request and writes `answer`, and then either closes or is silent.
fn once(answer: impl Into<Vec<u8>>, silent: bool) -> Stub {
    let answer = answer.into();
    Stub::start(move |peer| {
        peer.request();
        peer.write(&answer);
        if silent {
            peer.rest();
        }
    })
}

#[test]
fn failures_have_their_own_codes() {
    #[track_caller]
    fn check(running: &Running, to: &str, wanted: &str, reason: &str) {
        let got = fetch(running, to, &["first-ms: 300"]);
        // The bindings of 0.3 write the name of the type in front.
        let got = got.replace("ErrorCode::", "");
        assert!(got.starts_with(wanted), "{to}: {got}");
        let line = format!("outbound GET {} failed: {reason}", to.trim_end_matches('/'));
        assert!(running.log().contains(&line), "{line}: {}", running.log());
    }
    both(|guest| {
        let running = Running::serve(guest, granted(LOCAL));
        let code = |answer: &[u8], silent: bool, wanted: &str, reason: &str| {
            check(&running, &once(answer, silent).url("/"), wanted, reason);
        };
        let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        check(&running, &format!("http://{nobody}/"), "error ConnectionRefused", "connection refused");
        code(b"", false, "error ConnectionTerminated", "connection terminated");
        code(b"HTTP/1.1 200 OK\r\nx-a: ", false, "error ConnectionTerminated", "connection terminated");
        code(b"", true, "error ConnectionReadTimeout", "connection read timeout");
        code(b"HTTP/1.1 100 Continue\r\n\r\n", true, "error ConnectionReadTimeout", "connection read timeout");
        code(b"SSH-2.0-OpenSSH\r\n\r\n", true, "error HttpProtocolError", "HTTP protocol error");
        code(b"HTTP/1.1 200 OK\r\nbad field\r\n\r\n", true, "error HttpProtocolError", "HTTP protocol error");
        let upgrade = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
        code(upgrade, true, "error HttpUpgradeFailed", "HTTP upgrade failed");
        let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(20_000));
        code(large.as_bytes(), true, "error HttpResponseHeaderSectionSize", "HTTP response header section size");
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: 1\r\n".repeat(200));
        code(many.as_bytes(), true, "error HttpResponseHeaderSectionSize", "HTTP response header section size");
        let begun = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegun";
        // Once there is a body, wasmtime 48 tells guests of 0.2 that it broke off and not why.
        let cut = |why: &str| match guest == misbehave() {
            true => "200\ncontent-length: 9\nbegun broken None".to_owned(),
            false => format!("200\ncontent-length: 9\nbegun broken {why}"),
        };
        code(begun, false, &cut("HttpResponseIncomplete"), "incomplete HTTP response");
        code(begun, true, &cut("ConnectionReadTimeout"), "connection read timeout");
    });
}

#[test]
fn an_answer_that_comes_in_time_is_no_failure() {
    both(|guest| {
        let mut config = granted(LOCAL);
        config.limits.outbound_first_byte_timeout = Duration::from_millis(100);
        let running = Running::serve(guest, config);
        // An interim answer is not the answer, and the guest's patience ends where the operator's does.
        let stub =
            once("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", true);
        assert_eq!(fetch(&running, &stub.url("/"), &[]), FINE);
        let got = fetch(&running, &once("", true).url("/"), &["first-ms: 60000"]);
        assert!(got.contains("ConnectionReadTimeout"), "{got}");
    });
}

#[test]
fn what_a_guest_does_not_finish_never_looks_complete() {
    both(|guest| {
        let running = Running::serve(guest, granted(LOCAL));
        for end in ["drop", "trap"] {
            let stub = Stub::start(|peer| {
                peer.request();
                let rest = peer.rest();
                peer.say(rest.unwrap_or_else(|| "still open".into()));
            });
            let request = format!(
                "GET /fetch HTTP/1.1\r\nHost: test\r\nto: {}\r\nmethod: POST\r\nbody: hello\r\nbody-end: {end}\r\n\r\n",
                stub.url("/")
            );
            let reply = Client::connect(running.server.addr()).send(request).reply();
            assert_eq!(reply.status == 200, end == "drop", "{end}: {}", reply.text());
            let seen = stub.said();
            assert!(!seen.ends_with("0\r\n\r\n"), "{end}: {seen:?}");
            assert!(seen.is_empty() || seen == "5\r\nhello\r\n", "{end}: {seen:?}");
        }
    });
}

#[test]
fn requests_end_with_the_instance_that_sent_them() {
    both(|guest| {
        let stub = Stub::start(|peer: &mut Peer| {
            peer.request();
            peer.say("begun");
            peer.say_how_it_ends();
        });
        // The host's own patience with the guest is shorter than the guest's with the other server.
        let running = Running::serve(guest, granted(LOCAL));
        let request = format!("GET /fetch HTTP/1.1\r\nHost: test\r\nto: {}\r\n\r\n", stub.url("/"));
        let mut client = Client::connect(running.server.addr());
        assert_eq!(client.send(&request).reply().status, 504);
        assert_eq!((stub.said(), stub.said()), ("begun".into(), "closed".into()));
        // A client that leaves takes its instance along, where it was the only one in it.
        if guest == misbehave() {
            let mut config = granted(LOCAL);
            config.limits.request_timeout = Duration::from_secs(60);
            let running = Running::serve(guest, config);
            let mut client = Client::connect(running.server.addr());
            client.send(&request);
            assert_eq!(stub.said(), "begun");
            drop(client);
            assert_eq!(stub.said(), "closed");
        }
    });
}

#[test]
fn an_instance_sends_so_many_at_the_same_time_and_no_more() {
    let mut config = granted(LOCAL);
    config.limits.outbound_requests_per_instance = 2;
    let running = Running::serve(misbehave(), config);
    let silent = once("", true);
    let got = fetch(&running, &silent.url("/"), &["at-once: 5", "first-ms: 200"]);
    assert_eq!(got.matches("ConnectionReadTimeout").count(), 2, "{got}");
    assert_eq!(got.matches("ConnectionLimitReached").count(), 3, "{got}");
    // The places are free again afterwards.
    assert_eq!(fetch(&running, &Stub::answering(OK).url("/"), &["at-once: 2"]), format!("{FINE}\n{FINE}"));

    let mut config = granted(LOCAL);
    config.limits.outbound_requests = 3;
    let running = Running::serve(misbehave(), config);
    let got = fetch(&running, &silent.url("/"), &["at-once: 5", "first-ms: 200"]);
    assert_eq!(got.matches("ConnectionLimitReached").count(), 2, "{got}");
}

#[test]
fn a_loop_ends() {
    both(|guest| {
        let running = Running::serve(guest, granted(LOCAL));
        let request = format!("GET /again HTTP/1.1\r\nHost: {}\r\n\r\n", running.server.addr());
        let reply = Client::connect(running.server.addr()).send(request).reply();
        let log = running.log();
        assert_eq!(reply.status, 508, "{log}");
        assert_eq!(log.matches("go round in circles").count(), 1, "{log}");
    });
}
