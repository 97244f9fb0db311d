//! Requests of guests over TLS: whom they trust.

use crate::outbound::{fetch, granted};
use crate::stub::Stub;
use crate::support::{Running, misbehave, misbehave3};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::path::Path;
use std::sync::Arc;

/// An authority with a file of its certificate, and a server that it vouches for as `localhost`.
fn https(name: &str) -> (String, Stub) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).expect("an authority");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.ca", std::process::id()));
    std::fs::write(&file, authority.pem()).expect("written");
    let issuer = Issuer::new(params, key);
    let own = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["localhost".into()]).expect("a name");
    let certificate = certificate.signed_by(&own, &issuer).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(own.serialize_der().into()))
        .expect("a server");
    let config = Arc::new(config);
    let stub = Stub::with(
        move |stream| Some(StreamOwned::new(ServerConnection::new(config.clone()).ok()?, stream)),
        |peer| {
            while let Some(head) = peer.request() {
                peer.say(head);
                peer.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
            }
        },
    );
    (file.display().to_string(), stub)
}

#[test]
fn a_server_is_trusted_for_its_name_alone() {
    let (ca, stub) = https("trust");
    let plain = Stub::start(|peer| {
        peer.write("HTTP/1.1 400 Bad Request\r\n\r\n");
        peer.rest();
    });
    let gone = Stub::start(|_| {});
    for guest in [misbehave(), misbehave3()] {
        let port = stub.addr.port();
        let mut config = granted(&["https://localhost:*", "https://127.0.0.1:*"]);
        config.grants.outbound_ca = vec![ca.clone()];
        let trusting = Running::serve(guest, config);
        let before = stub.connections();
        for _ in 0..2 {
            assert_eq!(fetch(&trusting, &format!("https://localhost:{port}/x"), &[]), "200\ncontent-length: 2\nok");
            let head = stub.said();
            assert!(head.starts_with(&format!("GET /x HTTP/1.1\r\nhost: localhost:{port}\r\n")), "{head}");
        }
        assert_eq!(stub.connections() - before, 1, "the connection is used again");
        let error = |running: &Running, to: String, wanted: &str| {
            let got = fetch(running, &to, &[]);
            assert!(got.starts_with("error") && got.contains(wanted), "{to}: {got}");
        };
        error(&trusting, format!("https://127.0.0.1:{port}/"), "TlsCertificateError");
        error(&trusting, format!("https://{}/", plain.addr), "TlsProtocolError");
        error(&trusting, format!("https://{}/", gone.addr), "ConnectionTerminated");
        // Without the authority's certificate its word is worth nothing.
        let wary = Running::serve(guest, granted(&["https://localhost:*"]));
        error(&wary, format!("https://localhost:{port}/"), "TlsCertificateError");
        let log = wary.log();
        assert!(log.contains(&format!("outbound GET https://localhost:{port} failed: TLS certificate error")), "{log}");
    }
}
