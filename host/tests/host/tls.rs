//! https: both protocols by ALPN, the scheme that guests see, and certificates that change.

use crate::support::{Lines, Running, config, misbehave};
use rustls::pki_types::{CertificateDer, ServerName};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tabi_host::{Config, Host, Log};

pub struct Files {
    pub cert: PathBuf,
    pub key: PathBuf,
    pub der: CertificateDer<'static>,
}

/// Writes a new certificate with its key.
pub fn certificate(name: &str) -> Files {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let path = |end: &str| {
        let name = format!("{name}-{}.{end}", std::process::id());
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
    };
    let files = Files { cert: path("cert"), key: path("key"), der: made.cert.der().clone() };
    std::fs::write(&files.cert, made.cert.pem()).expect("written");
    std::fs::write(&files.key, made.signing_key.serialize_pem()).expect("written");
    files
}

fn start(files: &Files) -> Running {
    let config = Config {
        tls_cert: vec![files.cert.display().to_string()],
        tls_key: vec![files.key.display().to_string()],
        tls_port: 0,
        ..config()
    };
    let lines = Lines::default();
    let log = Log::to(lines.clone());
    let host = Host::load(misbehave(), config, log.clone()).expect("loads");
    let server = host.serve_both(host.bind().expect("http"), host.bind_tls().expect("https")).expect("serves");
    Running { server, log, lines }
}

/// Connects, trusting `der` alone; gives the chosen protocol and the stream.
fn connect(
    addr: SocketAddr,
    der: &CertificateDer<'static>,
    alpn: &[&[u8]],
) -> std::io::Result<(Option<Vec<u8>>, impl Read + Write)> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(der.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    let name = ServerName::try_from("localhost").expect("a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut tcp = TcpStream::connect(addr)?;
    tcp.set_read_timeout(Some(Duration::from_secs(20)))?;
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp)?;
    }
    let chosen = tls.alpn_protocol().map(<[u8]>::to_vec);
    Ok((chosen, rustls::StreamOwned::new(tls, tcp)))
}

#[test]
fn the_scheme_is_https_and_the_protocol_is_agreed_on() {
    let files = certificate("scheme");
    let running = start(&files);
    let addr = running.server.tls_addr().expect("https");
    for (offered, chosen) in
        [(&[&b"h2"[..], b"http/1.1"][..], Some(&b"h2"[..])), (&[b"http/1.1"], Some(b"http/1.1")), (&[], None)]
    {
        let (got, _) = connect(addr, &files.der, offered).expect("a connection");
        assert_eq!(got.as_deref(), chosen);
    }
    let (_, mut stream) = connect(addr, &files.der, &[]).expect("a connection");
    stream.write_all(b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("sent");
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    assert!(text.contains("Some(Scheme::Https) Some(\"localhost\")"), "{text}");
    // The other listener still speaks plain HTTP, and this one does not.
    assert_eq!(crate::client::Client::connect(running.server.addr()).get("/early").text(), "early");
    let plain = crate::client::Client::connect(addr).send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").rest();
    assert!(!plain.contains("HTTP/1.1 200"), "{plain}");
}

#[test]
fn a_client_that_does_not_shake_hands_keeps_nobody_waiting() {
    let files = certificate("silent");
    let running = start(&files);
    let addr = running.server.tls_addr().expect("https");
    let _silent: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(addr).expect("connected")).collect();
    let begin = Instant::now();
    assert!(connect(addr, &files.der, &[]).is_ok());
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_new_certificate_is_used_without_a_restart() {
    let files = certificate("renewed");
    let running = start(&files);
    let addr = running.server.tls_addr().expect("https");
    assert!(connect(addr, &files.der, &[]).is_ok());
    // A broken file changes nothing but the log.
    std::fs::write(&files.key, "no key").expect("written");
    let begin = Instant::now();
    while !running.log().contains("the old certificate stays in use") {
        assert!(begin.elapsed().as_secs() < 10, "{}", running.log());
        std::thread::yield_now();
    }
    assert!(connect(addr, &files.der, &[]).is_ok());
    let fresh = certificate("renewed");
    let begin = Instant::now();
    while connect(addr, &fresh.der, &[]).is_err() {
        assert!(begin.elapsed().as_secs() < 10, "{}", running.log());
    }
    assert!(connect(addr, &files.der, &[]).is_err(), "the old one is gone");
}
