//! Unix sockets beside ports, or instead of them.

use crate::client::Client;
use crate::support::{Running, config};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tabi_host::{AccessLog, Config};

/// A path that no other test has.
fn path(name: &str) -> PathBuf {
    // The name of a socket is short, and the folder of a build may be deep.
    let path = std::env::temp_dir().join(format!("tabi-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn unix(path: &Path) -> Config {
    Config { unix: Some(path.to_owned()), access_log: AccessLog::Text, ..config() }
}

#[test]
fn a_unix_socket_is_served_beside_a_port() {
    let path = path("beside");
    let running = Running::listen(unix(&path));
    assert_eq!(Client::connect(running.server.addr()).get("/early").text(), "early");
    let mut client = Client::connect_unix(&path);
    assert_eq!(client.get("/early").text(), "early");
    assert_eq!(client.get("/early").text(), "early");
    running.wait_for("] unix \"GET /early HTTP/1.1\" 200");
    let mode = std::fs::metadata(&path).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let endpoints: Vec<_> = running.server.endpoints().collect();
    let wanted = [format!("http://{}/", running.server.addr()), format!("http+unix:{}", path.display())];
    assert_eq!(endpoints, wanted);
    running.server.drain();
    running.server.wait();
    assert!(client.is_closed());
    assert!(!path.exists(), "the socket goes with its server");
}

#[test]
fn a_unix_socket_can_be_all_there_is() {
    let path = path("alone");
    let running = Running::listen(Config { http: false, unix_mode: 0o600, ..unix(&path) });
    assert_eq!(running.server.addr().port(), 0);
    assert_eq!(std::fs::metadata(&path).expect("a socket").permissions().mode() & 0o777, 0o600);
    // RFC 9112 3.2: who names no host gets one that means this machine.
    let reply = Client::connect_unix(&path).send("GET /x HTTP/1.1\r\nHost:\r\n\r\n").reply();
    assert!(reply.text().contains("Some(\"localhost\")"), "{}", reply.text());
    let nothing = Running::try_listen(Config { http: false, ..config() }).map(|_| ());
    assert!(nothing.is_err_and(|why| why.contains("nothing to listen on")));
}

#[test]
fn http2_with_prior_knowledge_works_whatever_the_pieces() {
    let path = path("h2");
    let running = Running::listen(unix(&path));
    let hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for split in [1, 5, 13, 14, 15, 24, hello.len()] {
        for mut client in [Client::connect_unix(&path), Client::connect(running.server.addr())] {
            client.send(&hello[..split]);
            std::thread::park_timeout(std::time::Duration::from_millis(20));
            client.send(&hello[split..]);
            let head = client.bytes(9);
            assert_eq!(head[3], 4, "the host answers with SETTINGS: {head:?}");
        }
    }
    // What only begins like the preface is HTTP/1.
    let mut client = Client::connect_unix(&path);
    assert_eq!(client.send("PRI / HTTP/1.1\r\nHost: a\r\n\r\n").reply().status, 200);
}

#[test]
fn a_socket_that_is_left_over_is_replaced_and_one_in_use_is_not() {
    let stale = path("stale");
    drop(UnixListener::bind(&stale).expect("a socket"));
    assert!(stale.exists());
    let running = Running::listen(unix(&stale));
    assert_eq!(Client::connect_unix(&stale).get("/early").text(), "early");

    #[track_caller]
    fn refused(path: &Path, part: &str) {
        match Running::try_listen(unix(path)) {
            Ok(_) => panic!("{} is served", path.display()),
            Err(why) => assert!(why.contains(part) && why.contains("server.unix"), "{why}"),
        }
    }
    refused(&stale, "is in use by another program");
    assert_eq!(Client::connect_unix(&stale).get("/early").text(), "early", "and stays so");
    let file = path("file");
    std::fs::write(&file, "precious").expect("written");
    refused(&file, "is no socket");
    assert_eq!(std::fs::read(&file).expect("still there"), b"precious");
    refused(&file.with_file_name("no-such-folder/tabi.sock"), "does not exist");
    refused(&path(&"x".repeat(120)), "too long");

    // A successor's socket in the same place is not this server's to remove.
    std::fs::remove_file(&stale).expect("removed");
    let successor = UnixListener::bind(&stale).expect("a socket");
    running.server.drain();
    running.server.wait();
    assert!(stale.exists());
    drop(successor);
    for path in [stale, file] {
        std::fs::remove_file(path).expect("removed");
    }
}
