//! What `tabi check` says of hosts, against those that are here.

use e2e::{Server, component, component_p3, release};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tabi_toolchain::Options;

/// An app with the exports of both versions, which no app has by default.
fn component_both(app: &str) -> PathBuf {
    let options = Options {
        release: true,
        features: vec!["p3".to_owned()],
        target_dir: Some(xtask::root().join("apps/target/both")),
        ..Options::default()
    };
    xtask::apps::build(&xtask::root().join("apps").join(app), &options).unwrap()
}

/// A component that wants more of WASI than `wasi:http/proxy` has.
fn component_cli() -> PathBuf {
    let root = xtask::root();
    let options = Options { release: true, target_dir: Some(root.join("target/tmp/guests")), ..Options::default() };
    xtask::apps::build(&root.join("tests/guests/p2"), &options).unwrap()
}

/// What `tabi check` says of a component, and whether it found fault.
fn check(file: &Path, flags: &[&str]) -> (String, bool) {
    let output = Command::new(release("tabi")).arg("check").arg(file).args(flags).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text + &String::from_utf8_lossy(&output.stderr), output.status.success())
}

/// Whether `wasmtime serve` with these flags serves a component.
fn wasmtime_serves(file: &Path, flags: &[&str]) -> bool {
    let mut command = Command::new(release("wasmtime-serve"));
    command.args(["serve", "--addr", "127.0.0.1:0"]).args(flags).arg(file);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let serves = lines.any(|line| line.contains("Serving HTTP on"));
    let _ = child.kill();
    let _ = child.wait();
    serves
}

#[test]
fn what_is_said_of_hosts_is_so() {
    for (file, wasmtime, spin) in [
        (component("hello"), "runs", "runs"),
        (component("hello-no-std"), "runs", "runs"),
        (component_p3("hello"), "runs", "with"),
        (component_both("hello"), "runs", "refuses"),
        (component_cli(), "with", "runs"),
    ] {
        let name = file.display().to_string();
        let (text, fine) = check(&file, &["--json"]);
        assert!(fine, "{name}: {text}");
        let said = |host: &str, answer: &str| {
            let part = format!(r#""host":"{host}","answer":"{answer}""#);
            assert!(text.contains(&part), "{name}: {part} is not in {text}");
        };
        said("tabi", "runs");
        said("wasmtime serve 48", wasmtime);
        said("Spin 4", spin);
        assert_eq!(wasmtime_serves(&file, &[]), wasmtime == "runs", "{name}");
        if wasmtime == "with" {
            assert!(text.contains(r#""with":"-Scli","#), "{text}");
            assert!(wasmtime_serves(&file, &["-Scli"]), "{name}");
        }
        let _ = Server::tabi(&file);
    }
}

#[test]
fn people_get_a_table() {
    let (text, fine) = check(&component_both("hello"), &[]);
    assert!(fine, "{text}");
    let handlers = text.lines().next().unwrap_or_default();
    assert!(handlers.contains(" is fine: it exports wasi:http/"), "{text}");
    assert!(handlers.contains("handler@0.3.") && handlers.contains("incoming-handler@0.2."), "{text}");
    for line in ["  tabi              runs", "  Spin 4            refuses it: it wants exactly one handler"] {
        assert!(text.lines().any(|got| got.starts_with(line)), "{line:?} is not in {text}");
    }
}

#[test]
fn it_is_told_how_instances_live() {
    let once = ["wizer-initialize is done already", "wizer-initialize is done by each"];
    for (file, flags, lives, ahead) in [
        (component("hello"), &[][..], "is set back to its first state", [true, false]),
        (component("hello-no-std"), &[], "is set back to its first state", [false, false]),
        (
            component("hello"),
            &["--set", "instances.restore=off"],
            "each request has an instance of its own",
            [true, false],
        ),
        (component("hello"), &["--reuse", "7"], "serves up to 7 requests, one after the other", [true, false]),
        (component_p3("hello"), &[], "serves up to 4096 requests, 64 at a time", [false, false]),
    ] {
        let (text, fine) = check(&file, flags);
        assert!(fine && text.contains(lives), "{lives:?} is not in {text}");
        assert_eq!(once.map(|part| text.contains(part)), ahead, "{text}");
        let (text, _) = check(&file, &[flags, &["--json"]].concat());
        assert!(text.contains(r#""instances":["#) && text.contains(lives), "{text}");
    }
}

/// A component with both exports answers, by its handler of 0.3 as under `wasmtime serve`.
#[test]
fn a_component_with_both_exports_is_served() {
    let server = Server::tabi_with(&component_both("hello"), &["server.access_log=json", "admin.addr=127.0.0.1:0"]);
    let mut stream = tabi_corpus::connect(&server.address).unwrap();
    write!(stream, "GET /hello/Ada HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("Hello, Ada!"), "{text}");
    let admin = server.wait_for("Serving metrics and health on").expect("a line for the admin listener");
    let address = admin.rsplit("http://").next().unwrap_or_default().trim_end_matches('/');
    let mut stream = tabi_corpus::connect(address).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.contains("tabi_requests_total{app=\"hello\",world=\"0.3\",status=\"2xx\"} 1\n"), "{page}");
}
