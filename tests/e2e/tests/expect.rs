//! `Expect: 100-continue`: the go-ahead comes when the guest wants the body, and not before; with both versions of WASI
//! under both servers.

use e2e::{Server, component, component_p3};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

struct Lane {
    name: &'static str,
    server: Server,
}

fn lanes(test: impl Fn(&Lane)) {
    let (p2, p3) = (component("streams"), component_p3("streams"));
    for (name, server) in [
        ("tabi", Server::tabi(&p2)),
        ("tabi-p3", Server::tabi(&p3)),
        ("wasmtime", Server::wasmtime(&p2)),
        ("wasmtime-p3", Server::wasmtime(&p3)),
    ] {
        test(&Lane { name, server });
    }
}

struct Talk(BufReader<TcpStream>);

impl Talk {
    /// Sends a head that announces five bytes.
    fn announce(lane: &Lane, target: &str, expectation: &str) -> Self {
        let mut stream = tabi_corpus::connect(&lane.server.address).unwrap();
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 5\r\n\
             expect: {expectation}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// Reads a head and returns its status.
    fn status(&mut self) -> String {
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| !line.trim_end().is_empty()) {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "the connection ends in {lines:?}");
            lines.push(line);
        }
        lines[0].get(9..12).unwrap_or_default().to_owned()
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Reads to the end of the connection.
    fn rest(mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).unwrap();
        rest
    }
}

#[test]
fn the_body_is_sent_for_when_the_guest_reads_it() {
    lanes(|lane| {
        let check = |target: &str, expectation: &str, answer: &str| {
            let mut talk = Talk::announce(lane, target, expectation);
            assert_eq!(talk.status(), "100", "{}: {target}", lane.name);
            talk.send(b"12345");
            assert_eq!(talk.status(), "200", "{}: {target}", lane.name);
            let rest = talk.rest();
            assert!(rest.contains(answer), "{}: {target}: {rest}", lane.name);
        };
        check("/hall", "100-continue", "0 listen");
        check("/hall", "100-Continue", "0 listen");
        if lane.name.starts_with("tabi") {
            // One that begins its answer while it reads. `wasmtime serve` sends the head first, and no go-ahead after it.
            check("/echo", "100-continue", "12345");
        }
    });
}

#[test]
fn an_answer_without_the_body_comes_without_the_go_ahead() {
    lanes(|lane| {
        let mut talk = Talk::announce(lane, "/none", "100-continue");
        assert_eq!(talk.status(), "404", "{}", lane.name);
        // Nor does it come later: the connection ends with the answer.
        let rest = talk.rest();
        assert!(!rest.contains("100 Continue"), "{}: {rest}", lane.name);
    });
}

#[test]
fn what_else_is_expected_is_refused() {
    lanes(|lane| {
        let mut talk = Talk::announce(lane, "/none", "a-cake");
        // `wasmtime serve` lets the guest have it, which knows nothing of cakes either.
        let wanted = if lane.name.starts_with("tabi") { "417" } else { "404" };
        assert_eq!(talk.status(), wanted, "{}", lane.name);
    });
}

#[test]
fn curl_waits_for_the_go_ahead() {
    let file = std::env::temp_dir().join(format!("tabi-expect-{}.bin", std::process::id()));
    let content: Vec<u8> = (0..=250).cycle().take(3 << 20).collect();
    std::fs::write(&file, &content).unwrap();
    lanes(|lane| {
        let mut curl = Command::new(xtask::packages::program("curl"));
        // It would send the body unasked after a while, which is not to be mistaken for the go-ahead.
        curl.args(["--verbose", "--silent", "--show-error", "--expect100-timeout", "60", "--request", "POST"]);
        curl.arg("--upload-file").arg(&file).arg(format!("http://{}/echo", lane.server.address));
        let output = curl.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", lane.name);
        assert!(said.contains("< HTTP/1.1 100 Continue"), "{}: {said}", lane.name);
        assert!(output.stdout == content, "{}: {} bytes came back", lane.name, output.stdout.len());
    });
    let _ = std::fs::remove_file(file);
}
