//! Reasons not to start: the program's one line and its exit code.

use crate::support::{Lines, config, misbehave};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tabi_host::{Host, Log};

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("a file");
    path
}

pub fn tabi() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabi"));
    command.env_remove("TABI_HOST").env_remove("TABI_PORT");
    command
}

#[track_caller]
fn check(args: &[&str], parts: &[&str]) {
    let output = tabi().arg("serve").args(args).output().expect("tabi runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{args:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?}: {stderr}");
    }
    assert_eq!(output.stdout, b"", "{args:?}");
}

/// A component, in binary, of the text `(component …)` with these imports and exports of instances.
fn component(import: Option<&str>, export: Option<&str>) -> Vec<u8> {
    let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
    let name = |name: &str| {
        let mut bytes = vec![0, u8::try_from(name.len()).expect("a short name")];
        bytes.extend_from_slice(name.as_bytes());
        bytes
    };
    if let Some(import) = import {
        // (type (instance)) and (import "…" (instance (type 0)))
        bytes.extend_from_slice(&[7, 3, 1, 0x42, 0]);
        let mut section = vec![1];
        section.extend(name(import));
        section.extend_from_slice(&[5, 0]);
        bytes.extend_from_slice(&[10, u8::try_from(section.len()).expect("short")]);
        bytes.extend(section);
    }
    if let Some(export) = export {
        // (instance) and (export "…" (instance …))
        let index = u8::from(import.is_some());
        bytes.extend_from_slice(&[5, 3, 1, 1, 0]);
        let mut section = vec![1];
        section.extend(name(export));
        section.extend_from_slice(&[5, index, 0]);
        bytes.extend_from_slice(&[11, u8::try_from(section.len()).expect("short")]);
        bytes.extend(section);
    }
    bytes
}

#[test]
fn reasons_not_to_start() {
    let path = |name: &str, bytes: &[u8]| file(name, bytes).display().to_string();
    let good = misbehave().display().to_string();
    let good_bytes = std::fs::read(misbehave()).expect("the guest");
    check(&["/no/such.wasm"], &["/no/such.wasm does not exist"]);
    check(&[&path("empty.wasm", b"")], &["is empty"]);
    check(&[&path("text.wasm", b"(component)")], &["is not a WebAssembly component"]);
    check(&[&path("core.wasm", b"\0asm\x01\0\0\0")], &["is a core module", "wasm32-wasip2"]);
    check(&[&path("cut.wasm", &good_bytes[..good_bytes.len() / 2])], &["is not a valid WebAssembly component"]);
    check(&[&path("nothing.wasm", &component(None, None))], &["no HTTP handler", "exports nothing"]);
    let command = component(None, Some("wasi:cli/run@0.2.0"));
    check(&[&path("command.wasm", &command)], &["no HTTP handler", "it is a command"]);
    let other = component(None, Some("acme:db/query"));
    check(&[&path("other.wasm", &other)], &["it exports acme:db/query"]);
    let hungry = component(Some("wasi:keyvalue/store@0.2.0-draft2"), Some("wasi:http/incoming-handler@0.2.0"));
    check(
        &[&path("hungry.wasm", &hungry)],
        &["imports what this host does not offer", "wasi:keyvalue/store@0.2.0-draft2", "which is 0.2.0-draft"],
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    check(&[&good, "--port", &port], &["in use", &port]);
    check(&[&good, "--addr", "192.0.2.1:0"], &["192.0.2.1 is not an address of this machine"]);
    check(&[&good, "--host", "nowhere.example"], &["no IP address"]);
}

#[test]
fn a_damaged_cache_is_compiled_anew() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cache-{}", std::process::id()));
    let config = tabi_host::Config { cache_dir: Some(dir.clone()), ..config() };
    let load = || {
        let log = Log::to(Lines::default());
        let host = Host::load(misbehave(), config.clone(), log);
        assert!(host.is_ok(), "{:?}", host.err());
    };
    let entry = || -> PathBuf {
        let entries: Vec<_> = std::fs::read_dir(&dir).expect("a folder").flatten().collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        entries[0].path()
    };
    load();
    let whole = std::fs::read(entry()).expect("an entry");
    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    for bytes in [&damaged[..], &whole[..100], b"", b"\0"] {
        std::fs::write(entry(), bytes).expect("written");
        load();
        assert!(std::fs::read(entry()).expect("an entry") == whole, "repaired");
    }
    std::fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn a_cache_that_others_may_write_to_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("open-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).expect("open to all");
    let lines = Lines::default();
    let log = Log::to(lines.clone());
    let config = tabi_host::Config { cache_dir: Some(dir.clone()), ..config() };
    assert!(Host::load(misbehave(), config, log.clone()).is_ok());
    log.flush();
    assert!(lines.text().contains("no compile cache"), "{}", lines.text());
    assert_eq!(std::fs::read_dir(&dir).expect("a folder").count(), 0);
    std::fs::remove_dir_all(&dir).expect("removed");
}

#[test]
fn check_and_config_tell_what_would_be() {
    let good = misbehave().display().to_string();
    let run = |args: &[&str]| {
        let output = tabi().args(args).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")).output().expect("tabi runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, stdout, _) = run(&["check", &good]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("is fine: it exports wasi:http/incoming-handler@0.2"), "{stdout}");
    let file = file("settings.toml", b"[limits]\nmemory = \"1GiB\"\n[dev.limits]\nmemory = \"2GiB\"\n");
    let file = file.display().to_string();
    for (args, wanted) in [
        (&["config", "--config", &file][..], "memory = \"1GiB\""),
        (&["config", "--config", &file, "--mode", "dev"], "memory = \"2GiB\""),
        (&["config", "--config", &file, "--set", "limits.memory=3GiB"], "memory = \"3GiB\""),
    ] {
        let (code, stdout, stderr) = run(args);
        assert_eq!((code, stdout.contains(wanted)), (Some(0), true), "{stdout} {stderr}");
    }
    let wrong = self::file("wrong.toml", b"[limits]\nmemry = 1\n").display().to_string();
    let (code, _, stderr) = run(&["check", &good, "--config", &wrong]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("wrong.toml: limits.memry") && stderr.contains("did you mean"), "{stderr}");
}

#[test]
fn running_out_of_files_is_survived() {
    // The program gets so few that the connections of the test use them up.
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -n 48 && exec \"$0\" serve \"$1\" --port 0 --threads 1"])
        .arg(env!("CARGO_BIN_EXE_tabi"))
        .arg(misbehave())
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let first = lines.next().expect("a line").expect("text");
    let url = first.strip_prefix("Serving HTTP on ").expect("the line for tests");
    let addr = url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    let mut first = crate::client::Client::connect(addr);
    assert_eq!(first.get("/early").text(), "early");
    let many: Vec<_> = (0..80).map(|_| crate::client::Client::connect(addr)).collect();
    assert_eq!(first.get("/early").text(), "early", "who is inside is served");
    drop(many);
    // Until the host has seen that the others are gone, it may turn newcomers away.
    let begin = std::time::Instant::now();
    let later = std::iter::repeat_with(|| {
        let request = "GET /early HTTP/1.1\r\nHost: test\r\n\r\n";
        crate::client::Client::connect(addr).send(request).read_reply(false).filter(|reply| reply.status == 200)
    });
    let later = later.take_while(|_| begin.elapsed().as_secs() < 10).flatten().next();
    assert_eq!(later.map(|reply| reply.text()).as_deref(), Some("early"), "and so is who comes later");
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    assert!(stderr.matches("can't accept connections").count() <= 3, "{stderr}");
}

pub fn signal(child: &Child, name: &str) {
    let done = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()));
}

/// Starts the program, gives its URL to `talk`, and expects a clean end after one signal.
#[track_caller]
fn serves(name: &str) {
    let mut child = tabi()
        .args(["serve", &misbehave().display().to_string(), "--port", "0"])
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tabi runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let first = lines.next().expect("a line").expect("text");
    let url = first.strip_prefix("Serving HTTP on ").expect("the line for tests");
    let second = lines.next().expect("a line").expect("text");
    assert_eq!(second, format!("Try: curl {url}"));
    let addr = url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    let mut client = crate::client::Client::connect(addr);
    assert_eq!(client.get("/early").text(), "early");
    signal(&child, name);
    let status = child.wait().expect("an end");
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    assert!(status.success(), "{status}: {stderr}");
    assert!(client.is_closed());
}

#[test]
fn signals_end_the_program_cleanly() {
    serves("-TERM");
    serves("-INT");
}

/// Of a component that can't be served here, the other hosts are told all the same.
#[test]
fn check_tells_who_else_takes_a_component() {
    let bytes = component(Some("acme:db/query"), Some("wasi:http/incoming-handler@0.2.0"));
    let path = file("needs-db.wasm", &bytes).display().to_string();
    let run = |args: &[&str]| {
        let output = tabi().arg("check").arg(&path).args(args).output().expect("tabi runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(output.status.code(), Some(1));
        (text(&output.stdout), text(&output.stderr))
    };
    let (stdout, stderr) = run(&[]);
    assert!(stdout.starts_with(&format!("{path} exports wasi:http/incoming-handler@0.2.0\n")), "{stdout}");
    for line in [
        "  tabi              refuses it: see below",
        "  wasmtime serve 48 refuses it: it does not know acme:db/query",
        "  Spin 4            depends on its plugins: it must have acme:db/query",
    ] {
        assert!(stdout.lines().any(|got| got == line), "{line:?} is not in {stdout}");
    }
    assert!(
        stderr.contains("acme:db/query (an interface of another component") && stderr.lines().count() == 1,
        "{stderr}"
    );
    let (stdout, stderr) = run(&["--json"]);
    assert_eq!((stdout.lines().count(), stderr.lines().count()), (1, 1), "{stdout} {stderr}");
    for part in [r#""imports":["acme:db/query"]"#, r#"{"host":"tabi","answer":"refuses","why":""#] {
        assert!(stdout.contains(part), "{part} is not in {stdout}");
    }
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let mut child = tabi()
        .args(["serve", &misbehave().display().to_string(), "--port", "0", "--set", "limits.request_timeout=10m"])
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tabi runs");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let first = lines.next().expect("a line").expect("text");
    let url = first.strip_prefix("Serving HTTP on ").expect("the line for tests");
    let addr = url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    let mut stuck = crate::client::Client::connect(addr);
    stuck.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut errors = BufReader::new(child.stderr.take().expect("stderr")).lines();
    std::thread::park_timeout(std::time::Duration::from_millis(200));
    signal(&child, "-TERM");
    // The first waits for the request, and says so.
    let line = errors.find_map(|line| line.ok().filter(|line| line.contains("once more to stop now")));
    assert!(line.is_some());
    let begin = std::time::Instant::now();
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    assert!(stuck.is_closed());
}
