//! Clients that other people wrote, each against `tabi` with both versions of WASI: what they think of its HTTP.

use e2e::{Server, component, component_p3};
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use xtask::packages;

/// A server with http and https, for each version of WASI.
fn servers(test: impl Fn(&Addresses)) {
    let (cert, key) = certificate();
    let (cert, key) = (format!("server.tls_cert={}", cert.display()), format!("server.tls_key={}", key.display()));
    for file in [component("streams"), component_p3("streams")] {
        // The key takes no 0, so a free port is looked for.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        let port = format!("server.tls_port={}", free.port());
        let settings = [cert.as_str(), key.as_str(), port.as_str()];
        let server = Server::tabi_with(&file, &settings);
        let line = server.wait_for("https://").expect("the line with the address for https");
        let secure = line.rsplit("https://").next().unwrap_or_default().trim_end_matches('/').to_owned();
        test(&Addresses { plain: server.address.clone(), secure });
    }
}

struct Addresses {
    plain: String,
    secure: String,
}

impl Addresses {
    /// The address for https under the name that the certificate has.
    fn localhost(&self) -> String {
        self.secure.replace("127.0.0.1", "localhost")
    }
}

/// A certificate for localhost and its key, made once.
fn certificate() -> &'static (PathBuf, PathBuf) {
    static MADE: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    MADE.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (cert, key) = (dir.join("clients.cert"), dir.join("clients.key"));
        let mut command = Command::new(packages::program("openssl"));
        command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
        command.args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]);
        command.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        output(command.arg("-keyout").arg(&key).arg("-out").arg(&cert), b"");
        (cert, key)
    })
}

/// Runs a command with an input, and gives its output; it must end well.
#[track_caller]
fn output(command: &mut Command, input: &[u8]) -> String {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("an input");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let done = child.wait_with_output().expect("an end");
    let _ = writer.join();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}: {}\n{out}\n{err}", done.status);
    out.into_owned()
}

#[test]
fn curl() {
    let (cert, _) = certificate();
    servers(|at| {
        let curl = |arguments: &[&str], url: &str, input: &str| {
            let mut command = Command::new(packages::program("curl"));
            command.args(["--silent", "--show-error", "--fail", "--max-time", "60", "--cacert"]).arg(cert);
            command.args(arguments).arg(url);
            output(&mut command, input.as_bytes())
        };
        let (plain, secure) = (format!("http://{}", at.plain), format!("https://{}", at.localhost()));
        let big = "0123456789".repeat(100_000);
        for (arguments, base, version) in [
            (&["--http1.0"][..], &plain, "1.0"),
            (&["--http1.1"], &plain, "1.1"),
            (&["--http2-prior-knowledge"], &plain, "2"),
            // An upgrade that is asked for is not made, and the answer comes all the same.
            (&["--http2"], &plain, "1.1"),
            (&["--http1.1"], &secure, "1.1"),
            (&["--http2"], &secure, "2"),
        ] {
            let with = |more: &[&'static str]| [arguments, more].concat();
            let ticks = curl(&with(&["--write-out", "%{http_version}"]), &format!("{base}/ticks/3/1"), "");
            // curl writes 1.0 as 1.
            let said = version.trim_end_matches(".0");
            assert!(ticks.starts_with("1\n2\n3\n") && ticks[6..] == *said, "{arguments:?}: {ticks}");
            // With a length, and without one: curl sends chunks, or frames, from its input.
            let echo = format!("{base}/echo");
            assert!(curl(&with(&["--data-binary", "@-"]), &echo, &big) == big, "{arguments:?}: with a length");
            if version != "1.0" {
                let upload = with(&["--request", "POST", "--upload-file", "-"]);
                assert!(curl(&upload, &echo, &big) == big, "{arguments:?}: in chunks");
            }
            let head = curl(&with(&["--head"]), &format!("{base}/ticks/1/1"), "");
            assert!(head.contains("200"), "{arguments:?}: {head}");
        }
    });
}

#[test]
fn nghttp() {
    servers(|at| {
        let (plain, secure) = (format!("http://{}", at.plain), format!("https://{}", at.localhost()));
        for base in [&plain, &secure] {
            let mut command = Command::new(packages::program("nghttp"));
            let urls: Vec<String> = (1..=5).map(|count| format!("{base}/ticks/{count}/1")).collect();
            let text = output(command.arg("--no-verify-peer").args(&urls), b"");
            assert_eq!(text.lines().count(), 1 + 2 + 3 + 4 + 5, "{text}");
            let mut command = Command::new(packages::program("h2load"));
            command.args(["--requests", "2000", "--clients", "10", "--max-concurrent-streams", "20"]);
            let text = output(command.arg(format!("{base}/ticks/2/0")), b"");
            assert!(text.contains("2000 succeeded, 0 failed, 0 errored, 0 timeout"), "{text}");
        }
    });
}

/// Two streams at once on one connection, one of them with trailers both ways, and a ping.
const PYTHON: &str = r#"
import socket, sys, h2.connection, h2.config, h2.events
host, port = sys.argv[1].rsplit(":", 1)
link = socket.create_connection((host, int(port)), timeout=60)
conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
conn.initiate_connection()
def head(method, path):
    return [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path)]
conn.send_headers(1, head("POST", "/trailers") + [("te", "trailers")])
conn.send_data(1, b"hello ")
conn.send_headers(3, head("GET", "/ticks/3/10"), end_stream=True)
conn.send_data(1, b"world", pad_length=7)
conn.send_headers(1, [("x-sum", "11")], end_stream=True)
conn.ping(b"tabitabi")
link.sendall(conn.data_to_send())
bodies, ended, seen = {1: b"", 3: b""}, set(), {}
while len(ended) < 2 or "pong" not in seen:
    data = link.recv(65536)
    assert data, "the connection ended"
    for event in conn.receive_data(data):
        if isinstance(event, h2.events.ResponseReceived):
            seen[event.stream_id] = dict(event.headers)[":status"]
        elif isinstance(event, h2.events.DataReceived):
            bodies[event.stream_id] += event.data
            conn.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            seen["trailers"] = event.headers
        elif isinstance(event, h2.events.PingAckReceived):
            seen["pong"] = event.ping_data
        elif isinstance(event, h2.events.StreamEnded):
            ended.add(event.stream_id)
        elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
            raise SystemExit(f"unexpected: {event}")
    link.sendall(conn.data_to_send())
print(bodies[1].decode(), bodies[3].decode().split(), seen[1], seen[3], seen["pong"].decode(), list(map(tuple, seen["trailers"])))
"#;

#[test]
fn python_h2() {
    // The library of Debian belongs to Debian's Python, which need not be the first in the path.
    let _ = packages::program(packages::PYTHON_H2);
    let python = "/usr/bin/python3";
    servers(|at| {
        let text = output(Command::new(python).args(["-c", PYTHON, &at.plain]), b"");
        assert_eq!(text, "hello world ['1', '2', '3'] 200 200 tabitabi [('x-sum', '11')]\n");
    });
}

/// The same with HTTP/1 on a kept connection and with HTTP/2 over TLS, as node speaks them.
const NODE: &str = r#"
const http = require("node:http"), http2 = require("node:http2"), fs = require("node:fs");
const [plain, secure, cert] = process.argv.slice(1);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const ports = new Set();
function ask(method, path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(`http://${plain}${path}`, { method, agent }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve(`${response.statusCode} ${text.trim().replaceAll("\n", ",")}`));
      response.on("error", reject);
    });
    request.on("socket", (socket) => socket.on("connect", () => ports.add(socket.localPort)));
    request.on("error", reject);
    // Two writes without a length: chunks.
    if (body) { request.write(body); request.end(body); } else { request.end(); }
  });
}
function stream(session, path, body) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": body ? "POST" : "GET", ":path": path });
    let status, text = "";
    stream.on("response", (headers) => (status = headers[":status"]));
    stream.on("data", (chunk) => (text += chunk));
    stream.on("end", () => resolve(`${status} ${text.trim().replaceAll("\n", ",")}`));
    stream.on("error", reject);
    if (body) { stream.write(body); stream.end(body); } else { stream.end(); }
  });
}
(async () => {
  const all = [await ask("POST", "/echo", "abc"), await ask("GET", "/ticks/3/5"), `${ports.size} connection`];
  for (const session of [http2.connect(`https://${secure}`, { ca: fs.readFileSync(cert) }), http2.connect(`http://${plain}`)]) {
    session.on("error", (error) => { throw error; });
    all.push(...(await Promise.all([stream(session, "/ticks/3/5"), stream(session, "/echo", "abc")])));
    await new Promise((done) => session.close(done));
  }
  console.log(all.join("; "));
  agent.destroy();
})().catch((error) => { console.error(error); process.exit(1); });
"#;

#[test]
fn node() {
    let (cert, _) = certificate();
    servers(|at| {
        let mut command = Command::new(packages::program("node"));
        command.args(["-e", NODE, "--", &at.plain, &at.localhost()]).arg(cert);
        let text = output(&mut command, b"");
        let pair = "200 1,2,3; 200 abcabc";
        assert_eq!(text.trim(), format!("200 abcabc; 200 1,2,3; 1 connection; {pair}; {pair}"));
    });
}
