//! What the compiler learns from when it builds the server a second time: which way requests take through its code.
//!
//! The server is built with counters first, serves the apps of this repository to `h2load` in every way that it has, and
//! what was counted becomes the file that the second build is given (`rustc -C profile-use`).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::run::{output, run, text};
use crate::{apps, packages, root};

/// Requests of each kind.
const REQUESTS: u32 = 20_000;

/// A request: where to, and of which type its body is, if it has one.
type Asked = (&'static str, Option<(&'static str, &'static [u8])>);

/// An app, flags of cargo for it, flags of `tabi serve`, and what it is asked.
type Served = (&'static str, &'static [&'static str], &'static [&'static str], &'static [Asked]);

const P3: &[&str] = &["--no-default-features", "--features", "p3"];

const API: &[Asked] = &[
    ("/v1/days/2026-01-01", None),
    ("/v1/months/2026/11", None),
    ("/v1/intervals", Some(("application/json", br#"{"from":"2026-01-01","to":"2026-02-01"}"#))),
];

const STREAMS: &[Asked] = &[("/echo", Some(("text/plain", &[b'x'; 20_000])))];

/// Nothing that the bench measures, so that its numbers are those of apps that the compiler has not seen.
const SERVED: [Served; 7] = [
    ("api", &[], &[], API),
    ("api", &[], &["--reuse", "10000"], API),
    ("api", &[], &["--set", "instances.restore=off"], API),
    ("api", P3, &[], API),
    ("streams", &[], &[], STREAMS),
    ("streams", P3, &[], STREAMS),
    ("static", &[], &["--reuse", "10000"], &[("/", None), ("/static/css/app.css", None)]),
];

/// The protocols: whether in TLS, and what `h2load` is told.
const SPOKEN: [(bool, &[&str]); 3] = [
    (false, &["--h1", "--clients=50"]),
    (true, &["--h1", "--clients=20"]),
    (true, &["--clients=10", "--max-concurrent-streams=5"]),
];

/// Has the server that `counting` builds, with what it counts going to the folder that it is given, serve all of that, and
/// returns the file for `-C profile-use`. It has another name whenever its content is another, so that cargo sees it.
///
/// # Errors
/// When something can't be built, `h2load` or `llvm-profdata` is missing, or a request has no answer.
pub fn train(
    folder: &Path,
    triple: &str,
    counting: impl FnOnce(&Path) -> Result<PathBuf, String>,
) -> Result<PathBuf, String> {
    let profdata = profdata(triple)?;
    packages::find("h2load").ok_or("h2load is missing; on Debian, as root: apt-get install nghttp2-client")?;
    let raw = folder.join("raw");
    let _ = fs::remove_dir_all(&raw);
    let program = counting(&raw)?;
    // What build scripts and macros have counted while they were run.
    let _ = fs::remove_dir_all(&raw);
    for (app, flags, options, asked) in SERVED {
        let mut built = apps::options(flags)?;
        built.release = true;
        let component = apps::build(&root().join("apps").join(app), &built)?;
        let server = Server::start(&program, &component, options)?;
        for asked in asked {
            server.load(folder, asked)?;
        }
        server.stop()?;
    }
    let merged = folder.join("merged.profdata");
    run(Command::new(profdata).arg("merge").arg("--output").arg(&merged).arg(&raw))?;
    let mut hasher = DefaultHasher::new();
    fs::read(&merged).map_err(text)?.hash(&mut hasher);
    let named = folder.join(format!("{:016x}.profdata", hasher.finish()));
    fs::rename(&merged, &named).map_err(text)?;
    Ok(named)
}

/// A server that is stopped when it is done with.
struct Server {
    child: Child,
    ports: [u16; 2],
}

impl Server {
    fn start(program: &Path, component: &Path, options: &[&str]) -> Result<Self, String> {
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let ports = [free().map_err(text)?.port(), free().map_err(text)?.port()];
        let secure = format!("server.tls_port={}", ports[1]);
        let mut command = Command::new(program);
        command.arg("serve").arg(component).args(["--port", &ports[0].to_string(), "--tls-dev", "--set", &secure]);
        let child = command
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(text)?;
        let server = Self { child, ports };
        let begin = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", ports[0])).is_err() {
            if begin.elapsed() > Duration::from_secs(60) {
                return Err(format!("{} does not serve {}", program.display(), component.display()));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Sends the request over all protocols.
    fn load(&self, folder: &Path, (path, body): &Asked) -> Result<(), String> {
        for (secure, options) in SPOKEN {
            let (scheme, port) = if secure { ("https", self.ports[1]) } else { ("http", self.ports[0]) };
            let mut command = Command::new("h2load");
            command.args(["--threads=1", "--header=cookie: TEST=THISISATESTCOOKIEHEADER"]).args(options);
            command.arg(format!("--requests={REQUESTS}"));
            if let Some((kind, bytes)) = body {
                let file = folder.join("body");
                fs::write(&file, bytes).map_err(|error| error.to_string())?;
                command.arg(format!("--header=content-type: {kind}")).arg(format!("--data={}", file.display()));
            }
            let said = output(command.arg(format!("{scheme}://127.0.0.1:{port}{path}")))?;
            if !said.contains(&format!("status codes: {REQUESTS} 2xx")) {
                return Err(format!("not every request for {path} was answered well:\n{said}"));
            }
        }
        Ok(())
    }

    /// Asks it to stop, so that it writes down what it has counted.
    fn stop(mut self) -> Result<(), String> {
        run(Command::new("kill").arg(self.child.id().to_string()))?;
        let status = self.child.wait().map_err(text)?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// The program that adds profiles up: rustup's, or one of the system that is new enough for the compiler.
fn profdata(triple: &str) -> Result<PathBuf, String> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let own = Path::new(sysroot.trim()).join("lib/rustlib").join(triple).join("bin/llvm-profdata");
    // The format is that of LLVM 19 since then.
    let system = (19..=40).rev().filter_map(|number| packages::find(&format!("llvm-profdata-{number}")));
    own.is_file().then_some(own).into_iter().chain(system).next().ok_or_else(|| {
        "llvm-profdata is missing: rustup component add llvm-tools, or on Debian, as root: apt-get install llvm-19"
            .to_owned()
    })
}
