//! A thousand clients that listen to one instance of a component for WASI 0.3; and what the same costs on 0.2.

use e2e::{Server, component, component_p3, release};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

const CLIENTS: u32 = 1000;

/// Somebody who listens in the hall of `apps/streams`.
struct Listener(BufReader<TcpStream>);

impl Listener {
    /// Enters, and returns with the number that the instance gives.
    fn enter(server: &Server) -> (Self, u32) {
        let mut stream = tabi_corpus::connect(&server.address).unwrap();
        // By its length a server would have to end the answer; without chunks the lines are events alone.
        stream.write_all(b"GET /hall HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
        let mut listener = Self(BufReader::new(stream));
        let status = listener.line();
        assert!(status.contains(" 200 "), "{status}");
        let mut line = status;
        while !line.is_empty() {
            line = listener.line();
        }
        assert_eq!(listener.line(), "event: number");
        let number = listener.event();
        (listener, number.parse().unwrap())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Returns the data of an event.
    fn event(&mut self) -> String {
        let data = self.line();
        assert_eq!(self.line(), "");
        data.strip_prefix("data: ").unwrap_or_else(|| panic!("{data:?}")).to_owned()
    }
}

fn ask(server: &Server, method: &str, target: &str, body: &str) -> String {
    let headers = [("host", "localhost".to_owned()), ("content-length", body.len().to_string())];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.into_bytes())).to_vec();
    let request = tabi_corpus::Request { method: method.into(), target: target.into(), headers, body: body.into() };
    let answer = tabi_corpus::exchange(&server.address, &request).unwrap();
    assert_eq!(answer.status, 200, "{method} {target}");
    String::from_utf8(answer.body).unwrap()
}

/// Lets a process have so many files open; this one has as many as the server.
fn allow_files(process: u32) {
    let mut command = Command::new(xtask::packages::program("prlimit"));
    command.args(["--pid", &process.to_string(), "--nofile=4096:"]);
    let allowed = command.status().unwrap();
    assert!(allowed.success(), "the system allows no 4096 open files");
}

fn start(component: &std::path::Path, settings: &[&str]) -> Server {
    let mut command = Command::new(release("tabi"));
    command.arg("serve").arg(component).args(["--addr", "127.0.0.1:0", "--threads", "1"]);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    let server = Server::start(command, None);
    allow_files(server.id());
    allow_files(std::process::id());
    server
}

fn mebibytes(bytes: Option<u64>) -> u64 {
    bytes.unwrap_or_default() >> 20
}

#[test]
fn a_thousand_listen_to_one_instance() {
    let server = start(&component_p3("streams"), &["limits.requests=1100", "instances.concurrent_p3=1100"]);
    assert_eq!(ask(&server, "GET", "/hall/listeners", ""), "0 of 0");
    let before = server.peak_memory();
    let begin = Instant::now();
    let mut listeners = Vec::new();
    for number in 1..=CLIENTS {
        let (listener, told) = Listener::enter(&server);
        // Whoever counts all of them is one instance.
        assert_eq!(told, number);
        listeners.push(listener);
    }
    let entered = begin.elapsed();
    for text in ["one", "two", "three"] {
        assert_eq!(ask(&server, "POST", "/hall", text), format!("{CLIENTS} listen"));
        for listener in &mut listeners {
            assert_eq!(listener.event(), text);
        }
    }
    let after = server.peak_memory();
    eprintln!(
        "{CLIENTS} listeners entered in {entered:?}, {:?} with three events for each; {} MiB before, {} MiB at most",
        begin.elapsed(),
        mebibytes(before),
        mebibytes(after),
    );
    assert!(mebibytes(after) < 256, "the server had {} MiB", mebibytes(after));
    // When they leave, the guest notices it, and nobody else gets another instance.
    drop(listeners);
    let left = Instant::now();
    let all_left = format!("0 of {CLIENTS}");
    let mut now = String::new();
    while now != all_left && left.elapsed() < Duration::from_secs(60) {
        // An instance answers so many requests and no more, so it is not asked all the time.
        std::thread::park_timeout(Duration::from_millis(100));
        now = ask(&server, "GET", "/hall/listeners", "");
    }
    assert_eq!(now, all_left);
}

#[test]
fn on_0_2_each_has_an_instance() {
    const CLIENTS: u64 = 100;
    let server = start(&component("streams"), &[]);
    let tick = || {
        let mut stream = tabi_corpus::connect(&server.address).unwrap();
        stream.write_all(b"GET /ticks/1000000/50 HTTP/1.0\r\nhost: localhost\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while line.trim_end() != "1" {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the answer ends");
        }
        lines
    };
    let first = tick();
    let before = server.peak_memory();
    let others: Vec<_> = (0..CLIENTS).map(|_| tick()).collect();
    let after = server.peak_memory();
    let each = after.zip(before).map_or(0, |(after, before)| (after - before) / CLIENTS) >> 10;
    eprintln!("{CLIENTS} streams of 0.2: {each} KiB each");
    assert!(each < 2048, "{each} KiB for each stream");
    drop((first, others));
}
