//! Bodies that take their time, as components of both versions of WASI under both servers.

use e2e::{Server, component, component_p3, release};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A server with the app in one of the versions.
struct Lane {
    name: &'static str,
    server: Server,
    is_p3: bool,
}

/// Runs a test with each server and each version.
fn lanes(test: impl Fn(&Lane)) {
    let (p2, p3) = (component("streams"), component_p3("streams"));
    for (name, file, is_p3) in [("tabi", &p2, false), ("tabi-p3", &p3, true)] {
        let mut command = Command::new(release("tabi"));
        command.arg("serve").arg(file).args(["--addr", "127.0.0.1:0", "--threads", "1"]);
        command.args(["--set", "grants.outbound=http://127.0.0.1:*"]);
        test(&Lane { name, server: Server::start(command, None), is_p3 });
    }
    for (name, file, is_p3) in [("wasmtime", &p2, false), ("wasmtime-p3", &p3, true)] {
        test(&Lane { name, server: Server::wasmtime(file), is_p3 });
    }
}

/// A connection, with what is read from it.
struct Talk {
    stream: BufReader<TcpStream>,
}

impl Lane {
    /// Connects and sends the head of a request, and whatever else stands in the text.
    fn send(&self, request: &str) -> Talk {
        let mut talk = Talk { stream: BufReader::new(tabi_corpus::connect(&self.server.address).unwrap()) };
        talk.write(request.as_bytes());
        talk
    }

    /// Sends a GET, and returns the status and the whole body, or how far it came.
    fn get(&self, target: &str) -> (String, Result<String, String>) {
        self.send(&format!("GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")).answer()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }
}

impl Talk {
    fn write(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads a head and returns its status.
    fn head(&mut self) -> String {
        let status = self.line();
        while !self.line().is_empty() {}
        status.get(9..12).unwrap_or_default().to_owned()
    }

    /// Reads a chunk of a chunked body; empty is the end. An error is where it breaks off.
    fn chunk(&mut self) -> Result<Vec<u8>, String> {
        let size = self.line();
        let size = usize::from_str_radix(&size, 16).map_err(|_| format!("`{size}` is no size of a chunk"))?;
        let mut chunk = vec![0; size];
        self.stream.read_exact(&mut chunk).map_err(|error| error.to_string())?;
        if size > 0 {
            self.line();
        }
        Ok(chunk)
    }

    /// Reads chunks until there are so many bytes, or the end.
    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, String> {
        let mut all = Vec::new();
        while all.len() < length {
            match self.chunk()? {
                chunk if chunk.is_empty() => break,
                chunk => all.extend(chunk),
            }
        }
        Ok(all)
    }

    fn answer(mut self) -> (String, Result<String, String>) {
        let mut head = self.line();
        let status = head.get(9..12).unwrap_or_default().to_owned();
        let mut length = None;
        while !head.is_empty() {
            head = self.line().to_ascii_lowercase();
            length = head.strip_prefix("content-length: ").map(|length| length.parse().unwrap()).or(length);
        }
        let mut text = String::new();
        let body = match length {
            Some(length) => self.stream.take(length).read_to_string(&mut text).map(|_| text).map_err(|e| e.to_string()),
            None => self.bytes(usize::MAX).map(|bytes| String::from_utf8(bytes).unwrap()),
        };
        (status, body)
    }
}

fn post(target: &str, fields: &str) -> String {
    format!("POST {target} HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n")
}

#[test]
fn both_directions_at_the_same_time() {
    lanes(|lane| {
        let mut talk = lane.send(&post("/echo", "transfer-encoding: chunked\r\n"));
        talk.write(b"3\r\none\r\n");
        assert_eq!(talk.head(), "200", "{}", lane.name);
        assert_eq!(talk.bytes(3).as_deref(), Ok(&b"one"[..]), "{}", lane.name);
        talk.write(b"5\r\nthree\r\n");
        assert_eq!(talk.bytes(5).as_deref(), Ok(&b"three"[..]), "{}", lane.name);
        talk.write(b"0\r\n\r\n");
        assert_eq!(talk.chunk().as_deref(), Ok(&b""[..]), "{}", lane.name);

        // The answer begins before there is anything of the request's body.
        let mut talk = lane.send(&post("/early", "content-length: 10\r\n"));
        assert_eq!((talk.head().as_str(), talk.bytes(6).as_deref()), ("200", Ok(&b"begun\n"[..])), "{}", lane.name);
        talk.write(b"0123456789");
        assert_eq!(talk.bytes(2).as_deref(), Ok(&b"10"[..]), "{}", lane.name);
    });
}

#[test]
fn trailer_fields_both_ways() {
    lanes(|lane| {
        let mut talk =
            lane.send(&post("/trailers", "te: trailers\r\ntrailer: x-sum\r\ntransfer-encoding: chunked\r\n"));
        talk.write(b"3\r\none\r\n0\r\nx-sum: 7\r\n\r\n");
        assert_eq!((talk.head().as_str(), talk.bytes(3).as_deref()), ("200", Ok(&b"one"[..])), "{}", lane.name);
        assert_eq!(talk.chunk().as_deref(), Ok(&b""[..]), "{}", lane.name);
        assert_eq!(talk.line(), "x-sum: 7", "{}", lane.name);
    });
}

#[test]
fn a_slow_reader_slows_the_sender() {
    const MOST: usize = 64 << 20;
    lanes(|lane| {
        let mut talk = lane.send(&post("/echo", &format!("content-length: {MOST}\r\n")));
        talk.stream.get_mut().set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut written = 0;
        let piece = vec![b'x'; 64 << 10];
        let stopped = loop {
            match talk.stream.get_mut().write(&piece) {
                Ok(length) => written += length,
                Err(error) => break matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            }
            assert!(written < MOST, "{}: all of it was taken", lane.name);
        };
        assert!(stopped, "{}", lane.name);
        // What was sent is there as soon as somebody reads.
        assert_eq!(talk.head(), "200", "{}", lane.name);
        let back = talk.bytes(written).unwrap();
        assert!(back.iter().all(|byte| *byte == b'x') && back.len() >= written, "{}", lane.name);
    });
}

#[test]
fn a_client_that_leaves_is_noticed() {
    lanes(|lane| {
        let mut talk = lane.send("GET /ticks/1000000/5 HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert_eq!((talk.head().as_str(), talk.bytes(2).as_deref()), ("200", Ok(&b"1\n"[..])), "{}", lane.name);
        drop(talk);
        // With tabi the instance goes with the client of 0.2, and can't say anything any more.
        if lane.name != "tabi" {
            assert!(lane.server.wait_for("the ticks are over").is_some(), "{}", lane.name);
        }
        if lane.is_p3 {
            // Even where nobody writes for an hour. On 0.2 nobody would tell.
            let mut talk = lane.send("GET /silence HTTP/1.1\r\nhost: localhost\r\n\r\n");
            assert_eq!((talk.head().as_str(), talk.bytes(6).as_deref()), ("200", Ok(&b"begun\n"[..])), "{}", lane.name);
            drop(talk);
            assert!(lane.server.wait_for("the silence is over").is_some(), "{}", lane.name);
            // What was left for later is done all the same.
            let mut talk = lane.send("GET /farewell HTTP/1.1\r\nhost: localhost\r\n\r\n");
            assert_eq!((talk.head().as_str(), talk.bytes(5).as_deref()), ("200", Ok(&b"here\n"[..])), "{}", lane.name);
            drop(talk);
            assert!(lane.server.wait_for("the work after the stream is done").is_some(), "{}", lane.name);
        }
    });
}

#[test]
fn an_instance_of_0_2_ends_with_its_client() {
    // There is room for one instance, so that the second request has to wait for the end of the first.
    let settings = ["limits.requests=1", "limits.queue_timeout=60s", "server.access_log=text"];
    let server = Server::tabi_with(&component("streams"), &settings);
    let lane = Lane { name: "tabi", server, is_p3: false };
    let mut talk = lane.send("GET /ticks/1000000/5 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert_eq!((talk.head().as_str(), talk.bytes(2).as_deref()), ("200", Ok(&b"1\n"[..])));
    drop(talk);
    assert_eq!(lane.get("/ticks/1/1"), ("200".into(), Ok("1\n".into())));
    let line = lane.server.wait_for("/ticks/1000000/5").unwrap();
    assert!(line.contains("client-gone"), "{line}");
}

#[test]
fn what_breaks_off_never_looks_complete() {
    lanes(|lane| {
        let (status, body) = lane.get("/broken");
        // Servers that have sent nothing yet may say so with a status.
        assert!(status.as_str() != "200" || body.is_err(), "{}: {status} {body:?}", lane.name);
    });
}

#[test]
fn work_goes_on_after_the_answer() {
    lanes(|lane| {
        assert_eq!(lane.get("/later"), ("200".into(), Ok("now".into())), "{}", lane.name);
        assert!(lane.server.wait_for("the work is done").is_some(), "{}", lane.name);
    });
}

#[test]
fn requests_of_an_instance_wake_each_other() {
    lanes(|lane| {
        if lane.is_p3 {
            let meet = || lane.send("GET /meet HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            // A server that starts an instance meanwhile may give each of them another one, but not for ever. Which
            // instance a request gets is the server's affair: only of this one it is known that they will meet.
            let met = (0..10).any(|_| {
                let mut found = [meet(), meet()].map(|talk| talk.answer().1.unwrap());
                found.sort();
                assert!(found.iter().all(|text| ["first", "second", "alone"].contains(&text.as_str())), "{found:?}");
                found == ["first", "second"]
            });
            assert!(met || lane.name != "tabi-p3", "{}", lane.name);
        } else {
            assert_eq!(lane.get("/meet"), ("200".into(), Ok("alone".into())), "{}", lane.name);
        }
    });
}

/// Listens, takes connections, and never answers.
fn deaf() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            kept.push(stream);
        }
    });
    address
}

/// Returns an address where nobody listens.
fn nobody() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

#[test]
fn other_servers() {
    let (deaf, nobody) = (deaf(), nobody());
    lanes(|lane| {
        let ticks = lane.url("/ticks/3/5");
        let check = |target: String, status: &str, text: &str| {
            assert_eq!(lane.get(&target), (status.into(), Ok(text.into())), "{}: {target}", lane.name);
        };
        check(format!("/proxy?url={ticks}"), "200", "1\n2\n3\n");
        check(format!("/proxy?url={}", lane.url("/none")), "404", "not found");
        check(format!("/both?first={ticks}&second={}", lane.url("/later")), "200", "1\n2\n3\n and now");
        check(format!("/patience/5000?url={ticks}"), "200", "1\n2\n3\n");
        check(format!("/patience/50?url=http://{deaf}/"), "504", "no answer from upstream in time");
        check(format!("/proxy?url=http://{nobody}/"), "502", "upstream is out of reach");
        check("/proxy?url=http://u:p@localhost/".into(), "500", "internal error");
    });
}

#[test]
fn a_request_that_is_not_granted_is_explained() {
    for (file, version) in [(component("streams"), "0.2"), (component_p3("streams"), "0.3")] {
        let server = Server::tabi_with(&file, &["grants.outbound=https://api.example.org,*"]);
        let lane = Lane { name: version, server, is_p3: version == "0.3" };
        // The client hears nothing of where the app wanted to go; the log has it in two voices.
        let refused = || ("502".to_owned(), Ok("upstream is out of reach".to_owned()));
        assert_eq!(lane.get("/proxy?url=http://127.0.0.1:9/secret"), refused(), "{version}");
        let said = lane.server.wait_for("as its address is not public").expect("a line of the host");
        assert!(said.contains("http://127.0.0.1:9, ") && !said.contains("secret"), "{said}");
        assert!(lane.server.wait_for("the runtime allows no request to http://127.0.0.1:9").is_some(), "{version}");

        let server = Server::tabi(&file);
        let lane = Lane { name: version, server, is_p3: version == "0.3" };
        assert_eq!(lane.get("/proxy?url=https://api.example.org/"), refused(), "{version}");
        let said = "grant it with grants.outbound = [\"https://api.example.org\"]";
        assert!(lane.server.wait_for(said).is_some(), "{version}");
        assert!(
            lane.server.wait_for("the runtime allows no request to https://api.example.org").is_some(),
            "{version}"
        );
    }
}

/// Answers two requests that are there at the same time, and no single one.
fn pair() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let accept = || listener.accept().map(|(stream, _)| Talk { stream: BufReader::new(stream) });
        while let (Ok(mut one), Ok(mut two)) = (accept(), accept()) {
            for talk in [&mut one, &mut two] {
                while !talk.line().is_empty() {}
            }
            for (talk, name) in [(&mut one, "first"), (&mut two, "other")] {
                talk.write(
                    format!("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n{name}").as_bytes(),
                );
            }
        }
    });
    address
}

#[test]
fn two_requests_at_once_take_the_time_of_one() {
    let pair = pair();
    lanes(|lane| {
        let (status, text) = lane.get(&format!("/both?first=http://{pair}/&second=http://{pair}/"));
        let text = text.unwrap();
        assert_eq!(status, "200", "{}: {text}", lane.name);
        assert!(["first and other", "other and first"].contains(&text.as_str()), "{}: {text}", lane.name);
    });
}

#[test]
fn a_proxy_streams_both_ways() {
    const LENGTH: usize = 24 << 20;
    lanes(|lane| {
        let target = format!("/proxy?url={}", lane.url("/echo"));
        let mut talk = lane.send(&post(&target, &format!("content-length: {LENGTH}\r\n")));
        let mut out = talk.stream.get_ref().try_clone().unwrap();
        let (sent, done) = mpsc::channel();
        thread::spawn(move || {
            let piece: Vec<u8> = (0..=250).collect();
            let all: Vec<u8> = piece.iter().copied().cycle().take(LENGTH).collect();
            let _ = sent.send(out.write_all(&all).map(|()| all));
        });
        assert_eq!(talk.head(), "200", "{}", lane.name);
        let back = talk.bytes(LENGTH).unwrap();
        let sent = done.recv().unwrap().unwrap();
        assert!(back == sent, "{}: {} bytes came back", lane.name, back.len());
        assert_eq!(talk.chunk().as_deref(), Ok(&b""[..]), "{}", lane.name);
    });
}
