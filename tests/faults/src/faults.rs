//! The faults, each with a server of its own.

use crate::Outcome;
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, Frames, HEADERS, RESET, WINDOW, block, frame, request,
};
use crate::load::{Client, Load};
use e2e::{Server, release};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tabi_toolchain::{Options, build_component};

const EARLY: &[(&str, u16)] = &[("/early", 200)];
const WHILE: Duration = Duration::from_secs(4);

/// The component of the host's tests that misbehaves when it is asked to.
fn guest() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("p2"))
}

fn build(world: &str) -> PathBuf {
    let folder = xtask::root().join("tests/guests").join(world);
    let options = Options { release: true, quiet: true, ..Options::default() };
    build_component(&folder, &options, &mut |line| eprintln!("{line}")).unwrap_or_else(|error| panic!("{error}"))
}

fn serve(settings: &[&str]) -> Server {
    Server::tabi_with(guest(), settings)
}

/// What ordinary clients had, with a note.
fn outcome(server: &Server, (requests, failures): (u64, u64), note: impl Into<String>) -> Outcome {
    let memory = server.peak_memory().unwrap_or(0);
    // Whatever there was, the server answers.
    let after = Client::connect(&server.address).and_then(|mut client| client.get("/early"));
    assert_eq!(after, Some(200), "the server does not answer any more");
    Outcome { requests, failures, memory, note: note.into() }
}

pub fn nothing() -> Outcome {
    let server = serve(&[]);
    let done = Load::start(&server.address, EARLY).run(WHILE);
    outcome(&server, done, "")
}

/// What a process has in memory now, in bytes.
fn resident(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}

pub fn idle() -> Outcome {
    const COUNT: usize = 9_900;
    let server = serve(&[]);
    let mut first = Client::connect(&server.address).expect("connected");
    assert_eq!(first.get("/early"), Some(200));
    let before = resident(&server);
    let mut failures = 0;
    let mut open = Vec::new();
    for _ in 0..COUNT {
        let mut client = Client::connect(&server.address).expect("more files for this program: ulimit -n 30000");
        if client.get("/early") != Some(200) {
            failures += 1;
        }
        open.push(client);
    }
    let each = resident(&server).saturating_sub(before) / COUNT as u64;
    let (more, failed) = Load::start(&server.address, EARLY).run(Duration::from_secs(2));
    let done = (more + COUNT as u64, failed + failures);
    outcome(&server, done, format!("{:.1} KiB for each connection", each as f64 / 1024.0))
}

/// Many who ask in the same moment, and again when all have their answers.
pub fn crowd() -> Outcome {
    const COUNT: usize = 9_900;
    let server = Server::tabi_with(&build("p3"), &[]);
    let connect = || Client::connect(&server.address).expect("more files for this program: ulimit -n 30000");
    let mut crowd: Vec<_> = (0..COUNT).map(|_| connect()).collect();
    let (mut requests, mut failures) = (0, 0);
    for _ in 0..3 {
        for client in &mut crowd {
            client.ask("/early");
        }
        for client in &mut crowd {
            requests += 1;
            if client.answer() != Some(200) {
                failures += 1;
            }
        }
    }
    drop(crowd);
    outcome(&server, (requests, failures), "three times all of them at once")
}

pub fn slow_heads() -> Outcome {
    let server = serve(&["limits.header_timeout=2s"]);
    let load = Load::start(&server.address, EARLY);
    let mut slow: Vec<_> = (0..1000).filter_map(|_| Client::connect(&server.address)).collect();
    let begin = Instant::now();
    while begin.elapsed() < WHILE {
        for client in &mut slow {
            client.send(b"X");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let done = load.stop();
    let closed = slow.iter_mut().filter_map(|client| client.is_closed().then_some(())).count();
    outcome(&server, done, format!("{closed} of {} were closed", slow.len()))
}

pub fn slow_readers() -> Outcome {
    // The buffers on the way take megabytes, which the guests have to write first.
    let server = serve(&["limits.write_timeout=1s", "limits.cpu_time=1m"]);
    let load = Load::start(&server.address, EARLY);
    let mut slow: Vec<_> = (0..50).filter_map(|_| Client::connect(&server.address)).collect();
    for client in &mut slow {
        client.send(b"GET /endless HTTP/1.1\r\nHost: test\r\n\r\n");
    }
    let done = load.run(WHILE);
    let closed = slow.iter_mut().filter_map(|client| client.is_closed().then_some(())).count();
    outcome(&server, done, format!("{closed} of {} were cut off", slow.len()))
}

pub fn few_files() -> Outcome {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -n 64 && exec \"$0\" serve \"$1\" --addr 127.0.0.1:0"])
        .arg(release("tabi"))
        .arg(guest());
    let server = Server::start(command, None);
    let load = Load::start(&server.address, EARLY);
    std::thread::sleep(Duration::from_millis(300));
    let many: Vec<_> = (0..300).filter_map(|_| Client::connect(&server.address)).collect();
    let done = load.run(WHILE);
    drop(many);
    // The places become free as the server sees that the others are gone.
    let begin = Instant::now();
    let fresh = || Client::connect(&server.address).and_then(|mut client| client.get("/early"));
    while fresh() != Some(200) {
        assert!(begin.elapsed() < Duration::from_secs(10), "nobody gets in any more");
    }
    outcome(&server, done, "newcomers wait; they get in once others leave")
}

pub fn full_log() -> Outcome {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    // The shell keeps the two streams apart: the address is still told.
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" serve \"$1\" --addr 127.0.0.1:0 --set server.access_log=text 2>/dev/full"]);
    command.arg(release("tabi")).arg(guest()).stdin(Stdio::null());
    drop(full);
    let server = Server::start(command, None);
    let done = Load::start(&server.address, &[("/early", 200), ("/print", 200), ("/trap", 500)]).run(WHILE);
    outcome(&server, done, "lines of the log are lost")
}

pub fn full_cache() -> Outcome {
    let folder = std::env::temp_dir().join(format!("tabi-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"]).arg(&folder).status();
    let setting = format!("server.cache_dir={}", folder.display());
    let server = serve(&[&setting]);
    let done = Load::start(&server.address, EARLY).run(Duration::from_secs(1));
    let note = match mount {
        Ok(status) if status.success() => {
            let _ = Command::new("umount").arg("--lazy").arg(&folder).status();
            "on a file system of 64 KiB; it compiles at every start"
        }
        _ => "not shown: only root can mount a small file system",
    };
    let _ = std::fs::remove_dir_all(&folder);
    outcome(&server, done, note)
}

pub fn traps() -> Outcome {
    let server = serve(&[]);
    let done = Load::start(&server.address, &[("/early", 200), ("/trap", 500)]).run(WHILE);
    outcome(&server, done, "half of them are answered with 500, as they should be")
}

pub fn reloads() -> Outcome {
    let server = serve(&[]);
    let load = Load::start(&server.address, EARLY);
    let begin = Instant::now();
    let mut count = 0;
    while begin.elapsed() < WHILE {
        std::thread::sleep(Duration::from_millis(500));
        let done = Command::new("kill").args(["-HUP", &server.id().to_string()]).status();
        assert!(done.is_ok_and(|status| status.success()));
        let seen = server.wait_for("is served from now on");
        assert!(seen.is_some(), "the component was not loaded again");
        count += 1;
    }
    let done = load.stop();
    outcome(&server, done, format!("{count} reloads"))
}

/// Connections that say anything at all, some of them after a proper beginning.
pub fn noise() -> Outcome {
    const BEGINNINGS: [&[u8]; 4] = [
        b"",
        b"GET /early HTTP/1.1\r\n",
        b"POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    let server = serve(&["limits.header_timeout=1s", "limits.idle_timeout=1s", "limits.body_timeout=1s"]);
    let load = Load::start(&server.address, EARLY);
    let (begin, mut count, mut state) = (Instant::now(), 0_usize, 0x9e37_79b9_7f4a_7c15_u64);
    while begin.elapsed() < WHILE {
        let Some(mut client) = Client::connect(&server.address) else { continue };
        let mut bytes = BEGINNINGS[count % BEGINNINGS.len()].to_vec();
        for _ in 0..64 {
            // xorshift: the same bytes in every run.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend(state.to_le_bytes());
        }
        client.send(&bytes);
        count += 1;
    }
    let done = load.stop();
    outcome(&server, done, format!("{count} connections"))
}

/// Ordinary clients beside one that attacks over and over, each time on a new connection.
fn beside(settings: &[&str], attack: impl Fn(SocketAddr, &AtomicU64) + Send + Sync + 'static) -> Outcome {
    let server = serve(settings);
    let address: SocketAddr = server.address.parse().expect("an address");
    let (stop, frames, connections) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let load = Load::start(&server.address, EARLY);
    let attacker = {
        let (stop, frames, connections) = (stop.clone(), frames.clone(), connections.clone());
        std::thread::spawn(move || {
            while !stop.load(Relaxed) {
                attack(address, &frames);
                connections.fetch_add(1, Relaxed);
            }
        })
    };
    let done = load.run(WHILE);
    stop.store(true, Relaxed);
    attacker.join().expect("the attacker");
    let note = format!("{} attacks, each closed after {} frames", connections.load(Relaxed), {
        frames.load(Relaxed) / connections.load(Relaxed).max(1)
    });
    outcome(&server, done, note)
}

/// Sends what `next` makes of a stream's number, until the server has had enough.
fn flood(address: SocketAddr, count: &AtomicU64, next: impl Fn(u32) -> Vec<u8>) {
    let mut frames = Frames::connect(address);
    let mut stream = 1;
    while stream < 2_000_000 && frames.raw(&next(stream)) {
        count.fetch_add(2, Relaxed);
        stream += 2;
    }
}

pub fn rapid_reset() -> Outcome {
    let head = block(&request("GET", "/sleep?1000"));
    beside(&[], move |address, count| {
        flood(address, count, |stream| {
            [frame(HEADERS, END_HEADERS | END_STREAM, stream, &head), frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
        });
    })
}

pub fn made_reset() -> Outcome {
    let head = block(&request("GET", "/sleep?1000"));
    beside(&[], move |address, count| {
        flood(address, count, |stream| {
            let overflow = frame(WINDOW, 0, stream, &[0x7f, 255, 255, 255]);
            [frame(HEADERS, END_HEADERS | END_STREAM, stream, &head), overflow].concat()
        });
    })
}

pub fn continuation() -> Outcome {
    let head = block(&request("GET", "/early"));
    let more = block(&[("x", &"x".repeat(16_000))]);
    beside(&[], move |address, count| {
        let mut frames = Frames::connect(address);
        frames.send(HEADERS, END_STREAM, 1, &head);
        while frames.send(CONTINUATION, 0, 1, &more) {
            count.fetch_add(1, Relaxed);
        }
    })
}

pub fn shut_windows() -> Outcome {
    let server = serve(&["limits.write_timeout=1s", "limits.cpu_time=1m"]);
    let address: SocketAddr = server.address.parse().expect("an address");
    let load = Load::start(&server.address, EARLY);
    let mut all: Vec<_> = (0..20).map(|_| Frames::connect_with(address, &[(1, 0), (4, 0)])).collect();
    for frames in &mut all {
        for stream in 0..100 {
            frames.get(2 * stream + 1, "/endless");
        }
    }
    let done = load.run(WHILE);
    let (mut resets, mut busy) = (0, 0);
    for frames in &mut all {
        let end = resets + busy + 100;
        while resets + busy < end {
            match frames.read() {
                Some(frame) if frame.kind == RESET => resets += 1,
                // Only answers of the server itself come to an end.
                Some(frame) if frame.kind == DATA && frame.flags & END_STREAM != 0 => busy += 1,
                Some(_) => {}
                None => break,
            }
        }
    }
    outcome(&server, done, format!("{resets} of 2,000 were reset, {busy} had a 503"))
}
