//! The program and the system around it: sockets that are handed over, a service manager that wants
//! to be told, and limits on files.

use crate::client::Client;
use crate::start::{signal, tabi};
use crate::support::misbehave;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Runs the program in a shell that first does `before`, with these as standard input and error.
fn shell(before: &str, stdin: Stdio, stderr: Stdio) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{before} exec \"$0\" serve \"$1\" --port 0 --threads 1")])
        .arg(tabi().get_program())
        .arg(misbehave())
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env_remove("TABI_HOST")
        .env_remove("TABI_PORT")
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(stderr);
    command
}

/// The next `count` lines that the program prints.
fn lines(child: &mut Child, count: usize) -> Vec<String> {
    let stdout = BufReader::new(child.stdout.as_mut().expect("stdout"));
    stdout.lines().take(count).map(|line| line.expect("text")).collect()
}

#[test]
fn sockets_are_handed_over() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = tcp.local_addr().expect("bound");
    let path = std::env::temp_dir().join(format!("tabi-{}-handed", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let unix = UnixListener::bind(&path).expect("a socket");
    // A client may come before the program.
    let mut early = Client::connect(addr);
    early.send("GET /early HTTP/1.1\r\nHost: a\r\n\r\n");
    let hand_over = "exec 3<&0 4<&2 </dev/null 2>/dev/null;
        export LISTEN_PID=$$ LISTEN_FDS=2 LISTEN_FDNAMES=http:tabi.socket;";
    let mut child = shell(hand_over, OwnedFd::from(tcp).into(), OwnedFd::from(unix).into()).spawn().expect("sh runs");
    let wanted = [format!("Serving HTTP on http://{addr}/"), format!("Serving HTTP on http+unix:{}", path.display())];
    assert_eq!(lines(&mut child, 2), wanted);
    assert_eq!(early.reply().text(), "early");
    assert_eq!(Client::connect_unix(&path).get("/early").text(), "early");
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    assert!(path.exists(), "who made it removes it");
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn what_is_handed_over_has_a_meaning() {
    let run = |before: &str, socket: Stdio| {
        let output = shell(before, socket, Stdio::piped()).output().expect("sh runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let socket = || -> Stdio { OwnedFd::from(TcpListener::bind("127.0.0.1:0").expect("a port")).into() };
    let named = |name: &str| format!("exec 3<&0; export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES={name};");
    for (before, socket, part) in [
        (named("htps"), socket(), "\"htps\", number 1 of the service manager, has no known name"),
        (named("http"), Stdio::null(), "is neither a TCP nor a Unix socket"),
        (named("https"), socket(), "https needs both server.tls_cert and server.tls_key"),
    ] {
        let (code, stderr) = run(&before, socket);
        assert_eq!((code, stderr.lines().count()), (Some(1), 1), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    }
}

#[test]
fn sockets_for_another_process_are_left_alone() {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = socket.local_addr().expect("bound");
    let before = "exec 3<&0; export LISTEN_PID=1 LISTEN_FDS=1;";
    let mut child = shell(before, OwnedFd::from(socket).into(), Stdio::null()).spawn().expect("sh runs");
    let first = lines(&mut child, 1).remove(0);
    assert!(first.starts_with("Serving HTTP on http://127.0.0.1:") && !first.contains(&addr.to_string()), "{first}");
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn the_service_manager_is_told() {
    let path = std::env::temp_dir().join(format!("tabi-{}-notify", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let told = || {
        let mut bytes = [0; 200];
        let count = manager.recv(&mut bytes).expect("a message");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let mut child = shell("", Stdio::null(), Stdio::null()).env("NOTIFY_SOCKET", &path).spawn().expect("sh runs");
    assert_eq!(told().trim(), "READY=1");
    signal(&child, "-HUP");
    let reloading = told();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    assert_eq!(told().trim(), "READY=1");
    signal(&child, "-TERM");
    assert_eq!(told().trim(), "STOPPING=1");
    assert!(child.wait().expect("an end").success());
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn the_limit_of_files_is_raised_as_far_as_it_may_be() {
    // The soft limit alone would be used up by the connections of this test.
    let before = "ulimit -S -n 40; ulimit -H -n 400;";
    let mut child = shell(before, Stdio::null(), Stdio::piped()).spawn().expect("sh runs");
    let first = lines(&mut child, 1).remove(0);
    let addr = first.trim_start_matches("Serving HTTP on http://").trim_end_matches('/').parse().expect("an address");
    let mut clients: Vec<_> = (0..100).map(|_| Client::connect(addr)).collect();
    for client in &mut clients {
        assert_eq!(client.get("/early").text(), "early");
    }
    drop(clients);
    signal(&child, "-TERM");
    assert!(child.wait().expect("an end").success());
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    assert!(stderr.contains("limits.connections is 10000, but the system allows 400 open files"), "{stderr}");
}
