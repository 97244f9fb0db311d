//! What the operator can have written down: dumps, request ids, and spans for a collector.

use crate::client::{Client, Reply};
use crate::support::{Running, config, misbehave, misbehave3};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tabi_host::Config;

/// Waits until the log has `text` in it.
#[track_caller]
fn log_with(running: &Running, text: &str) -> String {
    let begin = Instant::now();
    loop {
        let log = running.log();
        if log.contains(text) {
            return log;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "{text:?} is not in {log}");
        std::thread::yield_now();
    }
}

/// The lines of the dump, without their ids.
fn dump(log: &str) -> Vec<String> {
    let lines = log.lines().filter_map(|line| line.strip_prefix("trace ["));
    lines.filter_map(|line| Some(line.split_once("] ")?.1.to_owned())).collect()
}

#[test]
fn a_dump_has_heads_and_the_beginnings_of_bodies() {
    for component in [misbehave(), misbehave3()] {
        let mut config = config();
        (config.trace, config.trace_body_bytes) = (true, 8);
        let running = Running::serve(component, config);
        let request = "POST /echo?a=b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\nCookie: sid=secret; b=c\r\n\
                       Content-Length: 12\r\n\r\nhello\nworld!";
        let reply = Client::connect(running.server.addr()).send(request).reply();
        assert_eq!(reply.text(), "hello\nworld!");
        let log = log_with(&running, "< body of 12 bytes");
        let lines = dump(&log);
        for line in [
            "> POST /echo?a=b HTTP/1.1",
            "> host: a",
            "> authorization: Bearer …",
            "> cookie: sid=…; b=…",
            r"> body of 12 bytes: hello\nwo …",
            "< 200 OK",
            r"< body of 12 bytes: hello\nwo …",
        ] {
            assert!(lines.iter().any(|got| got == line), "{line:?} is not in {lines:#?}");
        }
        assert!(!log.contains("secret"), "{log}");
    }
}

#[test]
fn a_dump_has_secrets_when_asked_for() {
    let mut config = config();
    (config.trace, config.trace_secrets) = (true, true);
    let running = Running::start(config);
    Client::connect(running.server.addr()).send("GET /early HTTP/1.1\r\nHost: a\r\nCookie: a=secret\r\n\r\n").reply();
    assert!(log_with(&running, "> cookie: a=secret").contains("> GET /early HTTP/1.1"));
}

#[test]
fn refused_requests_are_in_the_dump_too() {
    let mut config = config();
    config.trace = true;
    let running = Running::start(config);
    Client::connect(running.server.addr()).send("GET /\x7f HTTP/1.1\r\n\r\n").read_reply(false);
    Client::connect(running.server.addr()).send("GET /x HTTP/1.1\r\n\r\n").reply();
    let lines = dump(&log_with(&running, "< 400 Bad Request"));
    assert!(lines.contains(&"> GET /x HTTP/1.1".to_owned()), "{lines:?}");
}

/// Starts a host that tells ids, and asks for what its guest was told.
fn told(config: Config, field: &str, request: &str) -> (Reply, String, Running) {
    let running = Running::start(config);
    let reply = Client::connect(running.server.addr()).send(request).reply();
    let seen = reply.text();
    let seen = seen.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default().trim().to_owned();
    (reply, seen, running)
}

#[test]
fn guest_client_and_log_know_a_request_by_the_same_id() {
    let mut config = config();
    (config.request_id, config.access_log) = (true, tabi_host::AccessLog::Text);
    let request = "GET /fields HTTP/1.1\r\nHost: a\r\nX-Request-Id: forged\r\n\r\n";
    let (reply, seen, running) = told(config, "x-request-id:", request);
    let id = reply.header("x-request-id").expect("an id");
    assert_eq!((id.len(), seen.as_str()), (16, id));
    log_with(&running, &format!("access [{id}] "));
    let refused = Client::connect(running.server.addr()).send("GET / HTTP/1.1\r\n\r\n").reply();
    assert!(refused.header("x-request-id").is_some_and(|id| refused.text().contains(id)));
    assert_eq!(refused.headers.iter().filter(|(name, _)| name == "x-request-id").count(), 1);
}

#[test]
fn the_id_of_a_trusted_proxy_is_kept() {
    for (form, wanted) in
        [(tabi_host::AccessLog::Text, " complete as abc-1"), (tabi_host::AccessLog::Json, r#","request_id":"abc-1","#)]
    {
        let mut config = config();
        (config.request_id, config.access_log) = (true, form);
        config.trusted_proxies = vec!["127.0.0.0/8".to_owned()];
        let request = "GET /fields HTTP/1.1\r\nHost: a\r\nX-Request-Id: abc-1\r\n\r\n";
        let (reply, seen, running) = told(config, "x-request-id:", request);
        assert_eq!((reply.header("x-request-id"), seen.as_str()), (Some("abc-1"), "abc-1"));
        log_with(&running, wanted);
    }
}

#[test]
fn ids_are_told_to_nobody_by_default() {
    let request = "GET /fields HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\n\r\n";
    let (reply, seen, _) = told(config(), "x-request-id:", request);
    assert_eq!((reply.header("x-request-id"), seen.as_str()), (None, "mine"));
}

/// A collector that takes what it is sent, and answers with `status`.
fn collector(status: u16) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
    let url = format!("http://{}/otlp/", listener.local_addr().expect("an address"));
    let (heard, messages) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (mut text, mut buffer) = (String::new(), [0; 4096]);
            let whole = |text: &str| {
                let (head, body) = text.split_once("\r\n\r\n")?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
                (body.len() >= length.parse().ok()?).then(|| (head.to_owned(), body.to_owned()))
            };
            while whole(&text).is_none() {
                match stream.read(&mut buffer) {
                    Ok(count) if count > 0 => text.push_str(&String::from_utf8_lossy(&buffer[..count])),
                    _ => break,
                }
            }
            let _ = write!(stream, "HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
            let Some(message) = whole(&text) else { continue };
            if heard.send(message).is_err() {
                return;
            }
        }
    });
    (url, messages)
}

#[track_caller]
fn next(messages: &Receiver<(String, String)>) -> (String, String) {
    messages.recv_timeout(Duration::from_secs(10)).expect("a message")
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn spans_reach_the_collector() {
    let (url, messages) = collector(200);
    let mut config = config();
    (config.otel_endpoint, config.otel_service) = (url, "shop \"1\"".to_owned());
    let request = format!("GET /fields?a=b HTTP/1.1\r\nHost: example.org\r\ntraceparent: {PARENT}\r\n\r\n");
    let (_, seen, running) = told(config, "traceparent:", &request);
    Client::connect(running.server.addr()).get("/trap");
    running.server.drain();
    running.server.wait();
    let mut spans = String::new();
    let mut heads = String::new();
    while spans.matches("traceId").count() < 2 {
        let (head, body) = next(&messages);
        heads.push_str(&head);
        spans.push_str(&body);
    }
    assert!(heads.starts_with("POST /otlp/v1/traces HTTP/1.1"), "{heads}");
    assert!(heads.contains("content-type: application/json"), "{heads}");
    let own = seen.split('-').nth(2).unwrap_or_default();
    assert!(seen.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-") && seen.ends_with("-01"), "{seen}");
    assert_ne!(own, "00f067aa0ba902b7", "the guest's parent is the host");
    for part in [
        r#"{"key":"service.name","value":{"stringValue":"shop \"1\""}}"#,
        &format!(
            r#""traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"{own}","parentSpanId":"00f067aa0ba902b7","name":"GET","kind":2"#
        ),
        r#"{"key":"url.path","value":{"stringValue":"/fields"}}"#,
        r#"{"key":"url.query","value":{"stringValue":"a=b"}}"#,
        r#"{"key":"server.address","value":{"stringValue":"example.org"}}"#,
        r#"{"key":"http.response.status_code","value":{"intValue":"200"}}"#,
        r#"{"key":"http.response.status_code","value":{"intValue":"500"}}"#,
        r#"{"key":"error.type","value":{"stringValue":"500"}}"#,
        r#""status":{"code":2}"#,
    ] {
        assert!(spans.contains(part), "{part} is not in {spans}");
    }
    assert_eq!(spans.matches("\"code\":2").count(), 1);
}

#[test]
fn what_nobody_wants_to_see_is_not_sent() {
    let (url, messages) = collector(200);
    let mut config = config();
    config.otel_endpoint = url;
    let not = PARENT.replace("-01", "-00");
    let request = format!("GET /fields HTTP/1.1\r\nHost: a\r\ntraceparent: {not}\r\n\r\n");
    let (_, seen, running) = told(config, "traceparent:", &request);
    assert!(seen.ends_with("-00"), "{seen}");
    Client::connect(running.server.addr())
        .send("GET /early HTTP/1.1\r\nHost: a\r\ntraceparent: nonsense\r\ntracestate: a=b\r\n\r\n")
        .reply();
    running.server.drain();
    running.server.wait();
    let (_, body) = next(&messages);
    assert_eq!((body.matches("traceId").count(), body.contains("parentSpanId")), (1, false), "{body}");
    assert!(body.contains("/early"), "{body}");
}

#[test]
fn a_collector_that_fails_is_named_once_and_delays_nobody() {
    let (url, messages) = collector(500);
    let mut config = config();
    config.otel_endpoint = url;
    let running = Running::start(config);
    for _ in 0..2 {
        assert_eq!(Client::connect(running.server.addr()).get("/early").status, 200);
        next(&messages);
    }
    running.server.drain();
    let begin = Instant::now();
    let Running { server, log, lines } = running;
    server.wait();
    assert!(begin.elapsed() < Duration::from_secs(8), "{:?}", begin.elapsed());
    log.flush();
    let text = lines.text();
    assert_eq!(text.matches("does not take spans: it answers 500").count(), 1, "{text}");
}

#[test]
fn an_endpoint_that_can_be_none_is_refused() {
    for endpoint in ["https://collector:4318", "collector:4318", "http://", "ftp://a"] {
        let mut config = config();
        config.otel_endpoint = endpoint.to_owned();
        let log = tabi_host::Log::to(std::io::sink());
        let host = tabi_host::Host::load(Path::new(misbehave()), config, log).expect("loads");
        let error = host.bind().and_then(|listener| host.serve(listener)).map(|_| ()).expect_err(endpoint);
        assert!(error.to_string().starts_with("otel.endpoint: "), "{error}");
    }
}
