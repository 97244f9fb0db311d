//! The admin listener: the numbers after known requests, and health through a host's life.

use crate::client::Client;
use crate::support::{config, misbehave, misbehave3};
use crate::watched::{Watched, ask, parse};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tabi_host::{Admin, Log};

#[track_caller]
fn check(samples: &BTreeMap<String, f64>, wanted: &[(&str, f64)]) {
    for (name, value) in wanted {
        assert_eq!(samples.get(*name), Some(value), "{name} in {samples:#?}");
    }
}

#[test]
fn every_request_is_counted_once() {
    let mut config = config();
    config.reuse.restore = false;
    let watched = Watched::start(misbehave(), config);
    let mut client = watched.client();
    for path in ["/early", "/early", "/status?404", "/trap"] {
        client.get(path);
    }
    client.send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello").reply();
    client.send("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n").reply();
    drop(client);
    let cut = watched.client().get("/trap-after-head");
    assert!(!cut.complete);
    for (line, status) in
        [("GET /x HTTP/1.1\r\nHost: a\r\nHost: b", 400), ("GET / HTTP/1.1\r\nHost: a\r\nExpect: x", 417)]
    {
        assert_eq!(watched.client().send(format!("{line}\r\n\r\n")).reply().status, status);
    }
    watched.client().send(format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(9000))).reply();
    assert!(watched.client().send("GET / HT").is_closed(), "half a head");
    let samples = watched.settled();
    check(
        &samples,
        &[
            (r#"tabi_requests_total{app="guest",world="0.2",status="2xx"}"#, 4.0),
            (r#"tabi_requests_total{app="guest",world="0.2",status="4xx"}"#, 1.0),
            (r#"tabi_requests_total{app="guest",world="0.2",status="5xx"}"#, 1.0),
            (r#"tabi_requests_total{app="",world="",status="4xx"}"#, 4.0),
            (r#"tabi_answers_total{end="complete"}"#, 9.0),
            (r#"tabi_answers_total{end="cut"}"#, 1.0),
            (r#"tabi_answers_total{end="client_gone"}"#, 0.0),
            (r#"tabi_refused_total{reason="body_bytes"}"#, 1.0),
            (r#"tabi_refused_total{reason="malformed"}"#, 1.0),
            (r#"tabi_refused_total{reason="expectation"}"#, 1.0),
            (r#"tabi_refused_total{reason="uri_bytes"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="trap"}"#, 2.0),
            (r#"tabi_guest_traps_total{cause="unreachable"}"#, 2.0),
            (r#"tabi_connection_timeouts_total{limit="header_timeout"}"#, 1.0),
            ("tabi_connections_total", 6.0),
            ("tabi_request_body_bytes_total", 5.0),
            ("tabi_instances_alive", 0.0),
            ("tabi_instances_created_total", 6.0),
            ("tabi_instance_reuses_total", 0.0),
            ("tabi_instance_restores_total", 0.0),
            ("tabi_requests_with_guests", 0.0),
            ("tabi_requests_queued", 0.0),
            ("tabi_request_duration_seconds_count", 10.0),
            (r#"tabi_request_duration_seconds_bucket{le="+Inf"}"#, 10.0),
        ],
    );
    assert!(samples["tabi_guest_cpu_seconds_total"] > 0.0);
    assert!(samples[r#"tabi_guest_seconds_total{app="guest",world="0.2"}"#] > 0.0);
    assert!(samples["tabi_request_duration_seconds_sum"] < 10.0);
    assert!(samples["process_resident_memory_bytes"] > 1e6);
}

#[test]
fn bytes_and_misdeeds_are_told_apart() {
    let watched = Watched::start(misbehave(), config());
    for path in ["/early", "/silent", "/error", "/forget-body", "/status?101", "/stack?1000000", "/never"] {
        watched.client().get(path);
    }
    let mut gone = watched.client();
    gone.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").begin();
    drop(gone);
    let samples = watched.settled();
    check(
        &samples,
        &[
            (r#"tabi_guest_failures_total{reason="no_answer"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="error_code"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="unfinished"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="invalid"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="timeout"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="trap"}"#, 1.0),
            // This guest's stack lies at the beginning of its memory, and leaves that.
            (r#"tabi_guest_traps_total{cause="memory"}"#, 1.0),
            (r#"tabi_answers_total{end="client_gone"}"#, 1.0),
        ],
    );
    assert!(samples["tabi_response_body_bytes_total"] > 5.0);
}

#[test]
fn overload_is_seen() {
    let mut config = config();
    (config.limits.requests, config.limits.queue) = (1, 1);
    config.limits.queue_timeout = Duration::from_secs(1);
    config.limits.request_timeout = Duration::from_secs(20);
    let watched = Watched::start(misbehave(), config);
    let mut first = watched.client();
    first.send("GET /sleep?3000 HTTP/1.1\r\nHost: a\r\n\r\n");
    let begin = Instant::now();
    let now = |name: &str| parse(&ask(&watched.admin, "/metrics").1)[name];
    while now("tabi_requests_with_guests") < 1.0 {
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    let mut second = watched.client();
    second.send("GET /early HTTP/1.1\r\nHost: a\r\n\r\n");
    while now("tabi_requests_queued") < 1.0 {
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(watched.client().get("/early").status, 503);
    assert_eq!((second.reply().status, first.reply().status), (503, 200));
    drop((first, second));
    check(
        &watched.settled(),
        &[
            (r#"tabi_refused_total{reason="queue"}"#, 1.0),
            (r#"tabi_refused_total{reason="queue_timeout"}"#, 1.0),
            (r#"tabi_requests_total{app="",world="",status="5xx"}"#, 2.0),
            (r#"tabi_requests_total{app="guest",world="0.2",status="2xx"}"#, 1.0),
        ],
    );
}

#[test]
fn instances_of_0_3_are_counted() {
    let mut config = config();
    config.threads = 1;
    let watched = Watched::start(misbehave3(), config);
    let mut client = watched.client();
    for path in ["/early", "/early", "/trap", "/early"] {
        client.get(path);
    }
    drop(client);
    let samples = watched.settled();
    check(
        &samples,
        &[
            (r#"tabi_requests_total{app="guest",world="0.3",status="2xx"}"#, 3.0),
            (r#"tabi_requests_total{app="guest",world="0.3",status="5xx"}"#, 1.0),
            (r#"tabi_guest_traps_total{cause="unreachable"}"#, 1.0),
            (r#"tabi_guest_failures_total{reason="trap"}"#, 1.0),
        ],
    );
    // Which instance gets a request is the server's affair; a request needs a new one or an old one.
    let (created, reused) = (samples["tabi_instances_created_total"], samples["tabi_instance_reuses_total"]);
    assert!(created >= 2.0 && created + reused >= 4.0, "{created} {reused}");
    assert_eq!(samples["tabi_instances_alive"], created - 1.0, "one has trapped");
}

#[test]
fn health_follows_the_life_of_the_host() {
    let Watched { running, admin } = Watched::start(misbehave(), config());
    assert_eq!(ask(&admin, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(ask(&admin, "/readyz"), (200, "ready\n".to_owned()));
    let mut open = Client::connect(running.server.addr());
    open.send("GET /sleep?300 HTTP/1.1\r\nHost: a\r\n\r\n");
    std::thread::park_timeout(Duration::from_millis(100));
    running.server.drain();
    assert_eq!(ask(&admin, "/readyz"), (503, "draining\n".to_owned()));
    assert_eq!(ask(&admin, "/healthz").0, 200);
    assert_eq!(open.reply().status, 200);
    running.server.wait();
    assert_eq!(ask(&admin, "/readyz").0, 503);
}

#[test]
fn the_admin_listener_knows_three_pages() {
    let Watched { admin, .. } = Watched::start(misbehave(), config());
    let mut client = Client::connect(admin.addr());
    let reply = client.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(client.is_closed(), "one request to a connection");
    assert_eq!(ask(&admin, "/").0, 404);
    let reply = Client::connect(admin.addr()).send("POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n").reply();
    assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")));
    let taken = Admin::start(admin.addr(), &Log::stderr()).map(|_| ()).expect_err("in use");
    assert!(taken.to_string().starts_with("admin.addr: can't listen on 127.0.0.1:"), "{taken}");
}
