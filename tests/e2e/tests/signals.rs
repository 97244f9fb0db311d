//! The program under signals: to stop, to stop at once, to load a new component.

use e2e::{Server, component, component_p3, release};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// How long something that should happen may take.
const PATIENCE: Duration = Duration::from_secs(30);

fn signal(server: &Server, name: &str) {
    let done = Command::new("kill").args([name, &server.id().to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()), "kill {name}");
}

/// Sends a GET, and leaves the answer to be read.
fn ask(address: &str, target: &str) -> BufReader<TcpStream> {
    let mut stream = tabi_corpus::connect(address).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn line(stream: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn rest(mut stream: BufReader<TcpStream>) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn nobody_has_to_read_where_it_listens() {
    let socket = std::env::temp_dir().join(format!("tabi-unread-{}.sock", std::process::id()));
    let mut command = Command::new(release("tabi"));
    command.arg("serve").arg(component("hello")).args(["--set", "server.http=off", "--set"]);
    command.arg(format!("server.unix={}", socket.display())).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    drop(server.stdout.take());
    let begin = Instant::now();
    let mut stream = loop {
        match UnixStream::connect(&socket) {
            Ok(stream) => break stream,
            Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
        }
    };
    write!(stream, "GET /health HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200") && answer.ends_with("healthy"), "{answer}");
    let done = Command::new("kill").args(["-TERM", &server.id().to_string()]).status();
    assert!(done.is_ok_and(|status| status.success()));
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_drain_lets_an_answer_end_and_nobody_in() {
    for file in [component("streams"), component_p3("streams")] {
        let mut server = Server::tabi(&file);
        let address = server.address.clone();
        let mut open = ask(&address, "/ticks/20/50");
        while line(&mut open) != "2" {}
        signal(&server, "-TERM");
        server.wait_for("stopping after the open requests").expect("a line in the log");
        let begin = Instant::now();
        while TcpStream::connect(&address).is_ok() {
            assert!(begin.elapsed() < PATIENCE, "a stopping server still listens");
        }
        let rest = rest(open);
        assert!(rest.contains("20\n") && rest.ends_with("0\r\n\r\n"), "the answer is cut: {rest:?}");
        assert_eq!(server.end(PATIENCE).code(), Some(0));
    }
}

#[test]
fn a_second_signal_forces_the_end() {
    let mut server = Server::tabi(&component("streams"));
    let mut open = ask(&server.address, "/ticks/100000/20");
    while line(&mut open) != "2" {}
    for (name, wanted) in [("-TERM", "stopping after the open requests"), ("-INT", "stopping at once")] {
        signal(&server, name);
        server.wait_for(wanted).expect("a line in the log");
    }
    assert_eq!(server.end(Duration::from_secs(5)).code(), Some(0));
    assert!(!rest(open).ends_with("0\r\n\r\n"), "an answer that was cut looks complete");
}

/// Puts a component where another is served from, in one step as a deployment does.
fn deploy(from: &Path, to: &Path) {
    let beside = to.with_extension("new");
    fs::copy(from, &beside).unwrap();
    fs::rename(&beside, to).unwrap();
}

/// A folder for one test, empty.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What two clients have done so far, one that keeps its connection and one that makes a new one for each request.
#[derive(Default)]
struct Asked {
    stop: AtomicBool,
    answers: [AtomicUsize; 2],
}

impl Asked {
    fn count(&self) -> [usize; 2] {
        [self.answers[0].load(Relaxed), self.answers[1].load(Relaxed)]
    }

    /// Waits until both have had some more answers than `before`.
    fn wait_for_more(&self, before: [usize; 2]) {
        let begin = Instant::now();
        while self.count().iter().zip(before).any(|(now, before)| *now < before + 5) {
            assert!(begin.elapsed() < PATIENCE, "no answers: {before:?}, {:?}", self.count());
            thread::yield_now();
        }
    }
}

/// Asks again and again, on one connection and on new ones, and gives the failures.
fn clients(address: &str, asked: &Arc<Asked>) -> Vec<thread::JoinHandle<Vec<String>>> {
    let kept = |address: String, asked: Arc<Asked>| {
        let mut stream = BufReader::new(tabi_corpus::connect(&address).unwrap());
        while !asked.stop.load(Relaxed) {
            write!(stream.get_mut(), "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
            let status = line(&mut stream);
            let mut length = 0;
            loop {
                let field = line(&mut stream);
                if field.is_empty() {
                    break;
                }
                if let Some(value) = field.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            if status != "HTTP/1.1 200 OK" || body != b"healthy" {
                return vec![format!("{status} {}", String::from_utf8_lossy(&body))];
            }
            asked.answers[0].fetch_add(1, Relaxed);
        }
        Vec::new()
    };
    let fresh = |address: String, asked: Arc<Asked>| {
        let mut failures = Vec::new();
        while !asked.stop.load(Relaxed) {
            let mut stream = tabi_corpus::connect(&address).unwrap();
            let mut text = String::new();
            let sent = write!(stream, "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
            let read = sent.and_then(|()| stream.read_to_string(&mut text));
            if read.is_err() || !text.starts_with("HTTP/1.1 200 OK") || !text.ends_with("healthy") {
                failures.push(format!("{read:?} {text}"));
            }
            asked.answers[1].fetch_add(1, Relaxed);
        }
        failures
    };
    let (a, b) = (address.to_owned(), address.to_owned());
    let (s, t) = (asked.clone(), asked.clone());
    vec![thread::spawn(move || kept(a, s)), thread::spawn(move || fresh(b, t))]
}

#[test]
fn a_new_component_drops_no_request_and_a_broken_one_changes_nothing() {
    let folder = scratch("reload");
    let served = folder.join("app.wasm");
    let (old, new) = (component("hello"), component_p3("hello"));
    deploy(&old, &served);
    let server = Server::tabi(&served);
    let asked = Arc::new(Asked::default());
    let clients = clients(&server.address, &asked);
    let broken = folder.join("broken.wasm");
    fs::write(&broken, &fs::read(&old).unwrap()[..1000]).unwrap();
    for (file, said) in [
        (&new, "the component has changed and is served from now on"),
        (&old, "the component has changed and is served from now on"),
        (&broken, "the old component is still served: "),
        (&new, "the component has changed and is served from now on"),
    ] {
        deploy(file, &served);
        let before = asked.count();
        signal(&server, "-HUP");
        assert!(server.wait_for(said).is_some(), "{said:?} was not said");
        asked.wait_for_more(before);
    }
    asked.stop.store(true, Relaxed);
    for client in clients {
        let failures = client.join().unwrap();
        assert!(failures.is_empty(), "{} failed, such as {:?}", failures.len(), failures.first());
    }
}

/// A crate of its own, as a user's would be.
fn crate_in(folder: &Path) {
    let root = xtask::root();
    let framework = root.join("framework");
    let manifest = format!(
        "[package]\nname = \"scratch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n\n\
         [dependencies]\ntabi = {{ path = {framework:?}, features = [\"std\"] }}\n\n[workspace]\n"
    );
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root.join("apps/Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

fn write_source(folder: &Path, answer: &str) {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Relaxed);
    let text = format!(
        "//! Number {number}.\nuse tabi::Router;\nfn router() -> Router {{ Router::new().get(\"/\", async |_| {answer}) }}\ntabi::serve!(router);\n"
    );
    fs::write(folder.join("src/lib.rs"), text).unwrap();
}

#[test]
fn a_change_is_built_and_served() {
    // Not emptied: what was built once needs not be built again.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dev");
    crate_in(&folder);
    write_source(&folder, "\"one\"");
    let mut command = Command::new(release("tabi"));
    command.arg("dev").arg(&folder).args(["--port", "0", "--debug"]);
    let server = Server::start(command, None);
    let get = || {
        let mut stream = tabi_corpus::connect(&server.address).unwrap();
        write!(stream, "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let text = rest(BufReader::new(stream));
        text.rsplit("\r\n").next().unwrap_or_default().to_owned()
    };
    assert_eq!(get(), "one");
    write_source(&folder, "\"two\"");
    server.wait_for("the component has changed and is served from now on").expect("a line in the log");
    assert_eq!(get(), "two");
    write_source(&folder, "\"no end");
    server.wait_for("the old component is still served: ").expect("a line in the log");
    assert_eq!(get(), "two");
    write_source(&folder, "\"three\"");
    server.wait_for("the component has changed and is served from now on").expect("a line in the log");
    assert_eq!(get(), "three");
}
