//! What balancers and proxies tell of clients, who is believed, and what guests get to see of it.

use crate::client::Client;
use crate::support::{Running, config};
use crate::tls::certificate;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tabi_host::{AccessLog, Config, Tell, TrustedFields};

const GET: &str = "GET /x HTTP/1.1\r\nHost: a.org\r\n\r\n";
const V1: &[u8] = b"PROXY TCP4 192.0.2.7 192.0.2.1 5000 80\r\n";
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x12\xc0\0\x02\x07\xc0\0\x02\x01\x13\x88\0\x50\x04\0\x03abc";

fn logged() -> Config {
    Config { access_log: AccessLog::Text, ..config() }
}

/// A host whose connections from this machine begin with a header.
fn balanced() -> Config {
    Config { proxy_protocol_from: vec!["127.0.0.0/8".to_owned()], ..logged() }
}

/// A host that believes what comes from this machine.
fn trusting() -> Config {
    Config { trusted_proxies: vec!["127.0.0.1".to_owned(), "unix".to_owned()], ..logged() }
}

fn unix(name: &str) -> Option<PathBuf> {
    Some(std::env::temp_dir().join(format!("tabi-{}-{name}", std::process::id())))
}

#[test]
fn the_client_behind_a_balancer_is_known() {
    let running = Running::start(balanced());
    for header in [V1, V2] {
        let bytes = [header, GET.as_bytes()].concat();
        for piece in [1, 7, header.len() - 1, header.len(), header.len() + 3, bytes.len()] {
            let mut client = Client::connect(running.server.addr());
            for part in bytes.chunks(piece) {
                client.send(part);
            }
            let text = client.reply().text();
            assert!(text.contains("forwarded: for=192.0.2.7;host=a.org;proto=http\n"), "{piece}: {text}");
            assert!(text.contains("x-forwarded-for: 192.0.2.7\n"), "{piece}: {text}");
        }
    }
    running.wait_for("192.0.2.7:5000 \"GET /x HTTP/1.1\" 200");
    // HTTP/2 may follow as well.
    let mut client = Client::connect(running.server.addr());
    client.send([V2, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"].concat());
    assert_eq!(client.bytes(9)[3], 4);
    // The balancer's own requests are its own.
    for local in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
        let mut client = Client::connect(running.server.addr());
        let text = client.send([local, GET.as_bytes()].concat()).reply().text();
        assert!(text.contains("x-forwarded-for: 127.0.0.1\n"), "{text}");
    }
}

#[test]
fn a_balancer_that_says_nothing_is_not_served() {
    let running = Running::start(balanced());
    for bytes in [GET.as_bytes(), b"PROXY TCP4 1.1.1.1\r\n", b"PROXY \xff", b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0"] {
        assert_eq!(Client::connect(running.server.addr()).send(bytes).rest(), "", "{bytes:?}");
    }
    running.wait_for("is in server.proxy_protocol_from, but began without a header");
    for bytes in [&b""[..], &V1[..20], &V2[..20]] {
        let begin = Instant::now();
        assert_eq!(Client::connect(running.server.addr()).send(bytes).rest(), "");
        assert!(begin.elapsed() >= config().limits.header_timeout - Duration::from_millis(50), "{bytes:?}");
    }
    assert!(!running.log().contains("GET"), "{}", running.log());
}

#[test]
fn a_header_of_anybody_else_is_no_request() {
    let running = Running::start(Config { proxy_protocol_from: vec!["10.0.0.0/8".to_owned()], ..logged() });
    for header in [V1, V2] {
        let reply = Client::connect(running.server.addr()).send([header, GET.as_bytes()].concat()).rest();
        assert!(!reply.contains(" 200 "), "{reply}");
    }
    assert_eq!(Client::connect(running.server.addr()).get("/early").text(), "early");
    let wrong = Config { proxy_protocol_from: vec!["10.0.0.1/8".to_owned()], ..config() };
    let why = Running::try_listen(wrong).map(|_| ()).expect_err("no network");
    assert!(why.contains("server.proxy_protocol_from") && why.contains("10.0.0.0/8"), "{why}");
}

#[test]
fn connections_are_counted_by_address() {
    let mut config = Config { trusted_proxies: vec!["198.51.100.0/24".to_owned()], ..balanced() };
    config.limits.connections_per_ip = 2;
    let running = Running::start(config);
    let connect = |ip: &str| {
        let mut client = Client::connect(running.server.addr());
        let status = client.send(format!("PROXY TCP4 {ip} 192.0.2.1 5000 80\r\n{GET}")).reply().status;
        (client, status)
    };
    let ((first, a), (_second, b), (_third, c)) = (connect("192.0.2.7"), connect("192.0.2.7"), connect("192.0.2.7"));
    assert_eq!((a, b, c), (200, 200, 503));
    let (_other, status) = connect("192.0.2.8");
    assert_eq!(status, 200, "others have their own");
    // A trusted proxy speaks for many.
    let proxies: Vec<_> = (0..4).map(|_| connect("198.51.100.1")).collect();
    assert!(proxies.iter().all(|(_, status)| *status == 200));
    drop(first);
    let begin = Instant::now();
    while connect("192.0.2.7").1 != 200 {
        assert!(begin.elapsed().as_secs() < 10, "a place that is free again can be had");
    }
}

/// What the guest sees of a request with `fields`.
#[track_caller]
fn seen(addr: SocketAddr, fields: &str) -> String {
    let reply = Client::connect(addr).send(format!("GET /x HTTP/1.1\r\nHost: in\r\n{fields}\r\n")).reply();
    // The guest escapes what it shows.
    if reply.status == 200 { reply.text().replace('\\', "") } else { reply.status.to_string() }
}

#[test]
fn a_trusted_proxy_speaks_for_the_client() {
    let running = Running::start(trusting());
    let fields = "X-Forwarded-For: 1.1.1.1, 2001:db8::7\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a.org:81\r\n\
                  X-Forwarded-Port: 81\r\nX-Real-IP: 1.1.1.1\r\nForwarded: for=1.1.1.1\r\nX-Mine: 1\r\n";
    let wanted = "Method::Get Some(Scheme::Https) Some(\"a.org:81\") Some(\"/x\")\n\
                  forwarded: for=\"[2001:db8::7]\";host=\"a.org:81\";proto=https\n\
                  x-forwarded-for: 2001:db8::7\nx-mine: 1\n";
    assert_eq!(seen(running.server.addr(), fields), wanted);
    running.wait_for("] 2001:db8::7 \"GET /x HTTP/1.1\" 200");
    assert_eq!(seen(running.server.addr(), "X-Forwarded-For: a\r\n"), "400");
    assert_eq!(seen(running.server.addr(), "X-Forwarded-Host: a/b\r\n"), "400");

    let running = Running::start(Config { trusted_fields: TrustedFields::Forwarded, ..trusting() });
    let text =
        seen(running.server.addr(), "Forwarded: for=1.1.1.1, for=_x;proto=https\r\nX-Forwarded-For: 1.1.1.1\r\n");
    assert!(text.contains("Https) Some(\"in\")") && text.contains("forwarded: for=_x;host=in;proto=https\n"), "{text}");
    assert!(!text.contains("1.1.1.1"), "{text}");
}

#[test]
fn nobody_else_does() {
    let fields = "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Real-IP: 1.1.1.1\r\n\
                  Forwarded: for=1.1.1.1;proto=https;host=evil\r\nClient-Cert: :AA==:\r\n";
    let plain = "Method::Get Some(Scheme::Http) Some(\"in\") Some(\"/x\")\n";
    // By default nobody is trusted, and the guest is told of nobody.
    let running = Running::start(logged());
    assert_eq!(seen(running.server.addr(), fields), plain);
    running.wait_for("] 127.0.0.1:");
    let told = format!("{plain}forwarded: for=127.0.0.1;host=in;proto=http\nx-forwarded-for: 127.0.0.1\n");
    let running = Running::start(Config { trusted_proxies: vec!["10.0.0.0/8".to_owned()], ..logged() });
    assert_eq!(seen(running.server.addr(), fields), told);
    let running = Running::start(Config { forwarded: Tell::On, ..logged() });
    assert_eq!(seen(running.server.addr(), fields), told);
    let running = Running::start(Config { forwarded: Tell::Off, ..trusting() });
    assert_eq!(seen(running.server.addr(), "X-Forwarded-For: 1.1.1.1\r\n"), plain);
}

#[test]
fn what_is_not_https_is_sent_there() {
    let files = certificate("redirect");
    let secured = |config: Config| Config {
        tls_cert: vec![files.cert.display().to_string()],
        tls_key: vec![files.key.display().to_string()],
        tls_port: 0,
        unix: unix("redirect"),
        https_redirect: true,
        ..config
    };
    let running = Running::listen(secured(logged()));
    let port = running.server.tls_addr().expect("https").port();
    for (request, place) in [
        ("GET /x?y=1 HTTP/1.1\r\nHost: a.org\r\n\r\n", format!("https://a.org:{port}/x?y=1")),
        ("GET / HTTP/1.1\r\nHost: a.org:8080\r\n\r\n", format!("https://a.org:{port}/")),
        ("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", format!("https://[::1]:{port}/")),
        ("GET http://b.org/x HTTP/1.1\r\nHost: a.org\r\n\r\n", format!("https://b.org:{port}/x")),
        ("GET //evil/x HTTP/1.1\r\nHost: a.org\r\n\r\n", format!("https://a.org:{port}//evil/x")),
        ("POST / HTTP/1.1\r\nHost: a.org\r\nContent-Length: 3\r\n\r\nabc", format!("https://a.org:{port}/")),
        ("GET / HTTP/1.1\r\nHost: a.org\r\nX-Forwarded-Proto: https\r\n\r\n", format!("https://a.org:{port}/")),
    ] {
        let reply = Client::connect(running.server.addr()).send(request).reply();
        assert_eq!((reply.status, reply.header("location")), (308, Some(place.as_str())), "{request}");
        assert_eq!(reply.text(), "");
    }
    let reply = Client::connect(running.server.addr()).send("GET / HTTP/1.1\r\n\r\n").reply();
    assert_eq!(reply.status, 400, "nowhere to send it");
    // A program of this machine can go on as it is.
    assert_eq!(Client::connect_unix(&unix("redirect").expect("a path")).get("/early").text(), "early");
    drop(running);

    let running = Running::start(Config { https_redirect: true, ..trusting() });
    let reply = Client::connect(running.server.addr())
        .send("GET /x HTTP/1.1\r\nHost: a.org:8080\r\nX-Forwarded-Proto: http\r\n\r\n")
        .reply();
    assert_eq!((reply.status, reply.header("location")), (308, Some("https://a.org/x")));
    assert!(seen(running.server.addr(), "X-Forwarded-Proto: https\r\n").contains("Https"));
    let nowhere = Running::try_listen(Config { https_redirect: true, ..config() }).map(|_| ());
    assert!(nowhere.is_err_and(|why| why.contains("server.https_redirect needs https")));
}
