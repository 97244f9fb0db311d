//! Several certificates, those of clients, one for development, and new ones without a restart.

use crate::client::Client;
use crate::start::{signal, tabi};
use crate::support::{Running, config, misbehave};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tabi_host::{ClientAuth, Config};

/// A certificate with its key, and the files that they are in.
struct Made {
    cert: String,
    key: String,
    der: CertificateDer<'static>,
    private: PrivateKeyDer<'static>,
}

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

/// Puts a file into its place at once, always of one length and one age.
fn put(path: &Path, text: &str) {
    let part = path.with_extension("part");
    std::fs::write(&part, format!("{text:\n<4000}")).expect("written");
    let file = std::fs::File::options().append(true).open(&part).expect("opened");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)).expect("a time");
    std::fs::rename(part, path).expect("moved");
}

fn save(name: &str, cert: &rcgen::Certificate, key: &KeyPair) -> Made {
    let (cert_file, key_file) = (path(&format!("{name}.cert")), path(&format!("{name}.key")));
    put(&key_file, &key.serialize_pem());
    put(&cert_file, &cert.pem());
    Made {
        cert: cert_file.display().to_string(),
        key: key_file.display().to_string(),
        der: cert.der().clone(),
        private: PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key"),
    }
}

/// A certificate for `names` that is its own authority.
fn server(name: &str, names: &[&str]) -> Made {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
    save(name, &made.cert, &made.signing_key)
}

/// An authority, and a client's certificate from it.
fn client(name: &str) -> (Made, Made) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let cert = CertificateParams::new(["ada".to_owned()]).and_then(|params| params.signed_by(&key, &authority));
    let client = save(&format!("{name}-client"), &cert.expect("a certificate"), &key);
    let ca = save(&format!("{name}-ca"), authority.as_ref(), authority.key());
    (ca, client)
}

fn with(certs: &[&Made]) -> Config {
    Config {
        tls_cert: certs.iter().map(|made| made.cert.clone()).collect(),
        tls_key: certs.iter().map(|made| made.key.clone()).collect(),
        tls_port: 0,
        ..config()
    }
}

type Secured = rustls::StreamOwned<rustls::ClientConnection, TcpStream>;

/// Shakes hands over `tcp`, trusting `roots`, as a client that wants `name`.
fn shake(
    mut tcp: TcpStream,
    roots: &[&CertificateDer<'static>],
    name: &str,
    client: Option<&Made>,
) -> std::io::Result<Secured> {
    let mut store = rustls::RootCertStore::empty();
    for root in roots {
        store.add((*root).clone()).expect("a root");
    }
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(store);
    let config = match client {
        None => config.with_no_client_auth(),
        Some(made) => config.with_client_auth_cert(vec![made.der.clone()], made.private.clone_key()).expect("a pair"),
    };
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).expect("a client");
    tcp.set_read_timeout(Some(Duration::from_secs(20)))?;
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp)?;
    }
    Ok(rustls::StreamOwned::new(tls, tcp))
}

fn dial(addr: SocketAddr, roots: &[&CertificateDer<'static>], name: &str) -> std::io::Result<Secured> {
    shake(TcpStream::connect(addr)?, roots, name, None)
}

fn presented(stream: &Secured) -> &CertificateDer<'static> {
    &stream.conn.peer_certificates().expect("a certificate")[0]
}

#[test]
fn the_certificate_is_the_one_for_the_name() {
    let first = server("sni-1", &["a.test", "127.0.0.1", "other.test"]);
    let second = server("sni-2", &["b.test", "*.c.test"]);
    let running = Running::listen(with(&[&first, &second]));
    let addr = running.server.tls_addr().expect("https");
    let roots = [&first.der, &second.der];
    for (name, wanted) in [
        ("a.test", &first),
        ("b.test", &second),
        ("x.c.test", &second),
        ("other.test", &first),
        // Without a name, the first.
        ("127.0.0.1", &first),
    ] {
        let stream = dial(addr, &roots, name).expect("a connection");
        assert_eq!(presented(&stream), &wanted.der, "{name}");
        assert_eq!(Client::over(stream).get("/early").text(), "early");
    }
    // A name that nobody has gets the first, which the client does not take.
    assert!(dial(addr, &roots, "nobody.test").is_err());
    assert!(dial(addr, &roots, "x.y.c.test").is_err());
}

#[test]
fn each_certificate_is_renewed_by_itself() {
    let first = server("renew-1", &["a.test"]);
    let second = server("renew-2", &["b.test"]);
    let running = Running::listen(with(&[&first, &second]));
    let addr = running.server.tls_addr().expect("https");
    std::fs::write(&first.key, "no key").expect("written");
    let log = running.wait_for("the old certificate stays in use");
    assert!(log.contains("renew-1.key"), "{log}");
    // The second is renewed while the first is broken.
    std::fs::remove_file(&second.cert).expect("removed");
    let fresh = server("renew-2", &["b.test"]);
    std::fs::File::options().append(true).open(&fresh.cert).expect("opened").write_all(b"\n").expect("written");
    let begin = Instant::now();
    while dial(addr, &[&fresh.der], "b.test").is_err() {
        assert!(begin.elapsed().as_secs() < 10, "{}", running.log());
    }
    assert!(dial(addr, &[&second.der], "b.test").is_err(), "the old one is gone");
    assert!(dial(addr, &[&first.der], "a.test").is_ok(), "the other is as it was");
}

#[test]
fn clients_prove_who_they_are() {
    let own = server("clients", &["a.test"]);
    let (ca, ada) = client("clients");
    let (_, stranger) = client("strangers");
    let start = |auth| {
        let config = Config { tls_client_ca: Some(ca.cert.clone().into()), tls_client_auth: auth, ..with(&[&own]) };
        Running::listen(config)
    };
    /// What the guest sees, or nothing.
    fn seen(running: &Running, own: &Made, client: Option<&Made>) -> Option<String> {
        let tcp = TcpStream::connect(running.server.tls_addr().expect("https")).expect("connected");
        // With TLS 1.3 the client has shaken hands before it hears what the server thinks of it.
        let mut stream = shake(tcp, &[&own.der], "a.test", client).ok()?;
        let request = "GET /x HTTP/1.1\r\nHost: a.test\r\nClient-Cert: :AA==:\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).ok()?;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).expect("text");
        text.starts_with("HTTP/1.1 200").then_some(text)
    }
    // RFC 9440: the DER in base64 between colons, here from the lines of the PEM.
    let pem = std::fs::read_to_string(&ada.cert).expect("read");
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let field = format!("client-cert: :{base64}:\n");

    let running = start(ClientAuth::Required);
    assert!(seen(&running, &own, Some(&ada)).is_some_and(|text| text.contains(&field)));
    assert_eq!(seen(&running, &own, None), None);
    assert_eq!(seen(&running, &own, Some(&stranger)), None);
    let running = start(ClientAuth::Optional);
    assert!(seen(&running, &own, Some(&ada)).is_some_and(|text| text.contains(&field)));
    assert!(seen(&running, &own, None).is_some_and(|text| !text.contains("client-cert")));
    assert_eq!(seen(&running, &own, Some(&stranger)), None);
    let running = start(ClientAuth::Off);
    assert!(seen(&running, &own, Some(&ada)).is_some_and(|text| !text.contains("client-cert")));
}

#[test]
fn authorities_can_be_replaced() {
    let own = server("authorities", &["a.test"]);
    let (old_ca, old) = client("authority");
    let ca = PathBuf::from(&old_ca.cert);
    let auth = ClientAuth::Required;
    let running = Running::listen(Config { tls_client_ca: Some(ca), tls_client_auth: auth, ..with(&[&own]) });
    let answered = |client: &Made| {
        let tcp = TcpStream::connect(running.server.tls_addr().expect("https")).expect("connected");
        let stream = shake(tcp, &[&own.der], "a.test", Some(client));
        stream.is_ok_and(|mut stream| {
            let _ = stream.write_all(b"GET /early HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            bytes.ends_with(b"early")
        })
    };
    assert!(answered(&old));
    let (_, new) = client("authority");
    assert!(!answered(&new));
    running.server.read_certificates();
    assert!(answered(&new) && !answered(&old));
    running.wait_for("the certificates have been read again");
}

#[test]
fn what_can_not_be_used_is_named() {
    #[track_caller]
    fn refused(config: Config, part: &str) {
        let why = Running::try_listen(config).map(|_| ()).expect_err("no host");
        assert!(why.contains(part) && !why.contains('\n'), "{why}");
    }
    let (one, two) = (server("wrong-1", &["a.test"]), server("wrong-2", &["b.test"]));
    let good = with(&[&one, &two]);
    let keys = |keys: &[&String]| Config { tls_key: keys.iter().map(|key| (*key).clone()).collect(), ..good.clone() };
    refused(keys(&[&one.key]), "a key for each certificate; there are 2 and 1");
    refused(keys(&[]), "https needs both server.tls_cert and server.tls_key");
    refused(keys(&[&two.key, &one.key]), "can't be used together");
    refused(keys(&[&one.key, &"/no/such.key".to_owned()]), "the key /no/such.key can't be read");
    refused(Config { tls_cert: vec![one.key.clone(), two.cert.clone()], ..good.clone() }, "no certificate in PEM form");
    let asked = Config { tls_client_auth: ClientAuth::Optional, ..good.clone() };
    refused(asked.clone(), "server.tls_client_auth needs server.tls_client_ca");
    refused(Config { tls_client_ca: Some("/no/such.pem".into()), ..asked }, "/no/such.pem can't be read");
    refused(Config { tls_dev: true, tls_cert: vec![], tls_key: vec![], cache_dir: None, ..good }, "server.cache_dir");
}

#[test]
fn a_check_looks_at_certificates() {
    let guest = misbehave().display().to_string();
    let check = |set: &[&str]| {
        let mut command = tabi();
        command.args(["check", &guest]).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        let output = command.args(set.iter().flat_map(|set| ["--set", set])).output().expect("tabi runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, stderr) = check(&["server.tls_cert=/no/such.crt", "server.tls_key=/no/such.key"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("/no/such.crt can't be read"), "{stderr}");
    let (code, stderr) = check(&["server.https_redirect=on"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("server.https_redirect needs https"), "{stderr}");
    let (code, stderr) = check(&["server.trusted_proxies=10.0.0.1/8"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("did you mean 10.0.0.0/8"), "{stderr}");
}

#[test]
fn a_certificate_for_development_is_made_once() {
    let config = Config { tls_dev: true, tls_port: 0, ..config() };
    let dir = config.cache_dir.clone().expect("a folder").join("tls-dev");
    let _ = std::fs::remove_dir_all(&dir);
    let mut seen = Vec::new();
    for _ in 0..2 {
        let running = Running::listen(config.clone());
        let der = CertificateDer::from_pem_file(dir.join("localhost.crt")).expect("a certificate");
        for name in ["localhost", "127.0.0.1"] {
            let stream = dial(running.server.tls_addr().expect("https"), &[&der], name).expect("a connection");
            assert_eq!(Client::over(stream).get("/early").text(), "early");
        }
        let log = running.wait_for("which clients must be told to trust");
        assert!(log.contains("tls-dev/localhost.crt"), "{log}");
        seen.push(der);
    }
    assert_eq!(seen[0], seen[1], "a browser that was told once knows it");
    let mode = std::fs::metadata(dir.join("localhost.key")).expect("a key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // One that is a year old is near its end.
    let old = SystemTime::now() - Duration::from_secs(366 * 86_400);
    let file = std::fs::File::options().append(true).open(dir.join("localhost.crt")).expect("opened");
    file.set_modified(old).expect("a time");
    let _running = Running::listen(config);
    assert_ne!(CertificateDer::from_pem_file(dir.join("localhost.crt")).expect("a certificate"), seen[0]);
}

#[test]
fn a_balancer_speaks_before_the_handshake() {
    let own = server("balanced", &["a.test"]);
    let running = Running::listen(Config { proxy_protocol_from: vec!["127.0.0.1".to_owned()], ..with(&[&own]) });
    let mut tcp = TcpStream::connect(running.server.tls_addr().expect("https")).expect("connected");
    tcp.write_all(b"PROXY TCP6 2001:db8::7 2001:db8::1 5000 443\r\n").expect("sent");
    let stream = shake(tcp, &[&own.der], "a.test", None).expect("a connection");
    // The guest escapes what it shows.
    let text = Client::over(stream).get("/x").text().replace('\\', "");
    assert!(text.contains("forwarded: for=\"[2001:db8::7]\";host=test;proto=https\n"), "{text}");
    assert!(dial(running.server.tls_addr().expect("https"), &[&own.der], "a.test").is_err());
}

#[test]
fn a_hangup_reads_certificates_again() {
    let old = server("hangup", &["localhost"]);
    let mut child = tabi()
        .args(["serve", &misbehave().display().to_string(), "--port", "0", "--set", "server.tls_port=0"])
        .args(["--set", &format!("server.tls_cert={}", old.cert), "--set", &format!("server.tls_key={}", old.key)])
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tabi runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with("Serving HTTPS")).expect("https");
    let addr = line.trim_start_matches("Serving HTTPS on https://").trim_end_matches('/').parse().expect("an address");
    assert!(dial(addr, &[&old.der], "localhost").is_ok());
    // Files that look as they did: only the signal tells that they are others.
    let fresh = server("hangup", &["localhost"]);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(1500) {
        assert!(dial(addr, &[&old.der], "localhost").is_ok());
        std::thread::park_timeout(Duration::from_millis(100));
    }
    signal(&child, "-HUP");
    let begin = Instant::now();
    while dial(addr, &[&fresh.der], "localhost").is_err() {
        assert!(begin.elapsed().as_secs() < 20, "the new certificate is used");
    }
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    assert!(stderr.contains("the certificates have been read again"), "{stderr}");
}
