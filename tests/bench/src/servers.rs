//! The servers, and how each is started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builds::{self, Builds, target};

/// A server that can be started.
#[derive(Clone)]
pub struct Server {
    /// The program.
    pub host: String,
    /// What it serves.
    pub app: &'static str,
    /// How instances are used.
    pub mode: &'static str,
    /// The row of `wasmtime serve` with the same version of WASI, if that is a comparison to make.
    pub base: Option<&'static str>,
    /// Whether it serves https as well.
    is_secure: bool,
    start: Start,
}

/// How to start it.
#[derive(Clone)]
enum Start {
    Native(&'static str),
    Tabi(PathBuf, &'static [&'static str]),
    /// The same component as any number of apps.
    Apps(PathBuf, &'static [&'static str]),
    Wasmtime(PathBuf, &'static [&'static str]),
    Java(PathBuf, String, &'static str, &'static str),
}

/// The host of this repository.
pub const TABI: &str = "tabi serve";
/// The name of the limit.
pub const HYPER: &str = "hyper, native";
/// The name of the native server with the workloads.
pub const AXUM: &str = "axum, native";
/// The name of the row that components for 0.2 are compared with.
pub const WASMTIME: &str = "wasmtime serve, raw, fresh";
/// The name of the row that components for 0.3 are compared with.
pub const WASMTIME_P3: &str = "wasmtime serve, raw 0.3, its defaults";

/// How the row of Jetty begins.
pub const JETTY: &str = "Jetty 9.4";
/// How the row of virtual threads ends.
pub const VIRTUAL: &str = "virtual threads";

const FRESH: (&str, &[&str]) = ("fresh", &[]);
const REUSE: (&str, &[&str]) = ("reuse 10000", &["--reuse", "10000"]);
/// Each request has an instance that is made for it, and not one that was set back to its first state.
const NEW: (&str, &[&str]) = ("new instances", &["--set", "instances.restore=off"]);
const SHARED: (&str, &[&str]) = ("its defaults", &[]);
/// A stack and linker options as in an app made from the template.
const RAW_SMALL: &str = "raw, small stack";

impl Server {
    /// The name in tables.
    pub fn name(&self) -> String {
        let parts = [self.host.as_str(), self.app, self.mode];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Writes what it reads when it starts, as far as `count` changes that.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn prepare(&self, count: usize) -> Result<(), String> {
        let Start::Apps(component, _) = &self.start else { return Ok(()) };
        let app = |number| {
            let path = component.display();
            format!(
                "[[apps]]\nname = \"app{number}\"\npath = {:?}\nprefix = \"/app{number}\"\nstrip_prefix = \"on\"\n",
                path.to_string()
            )
        };
        fs::write(apps_file(count), (0..count).map(app).collect::<String>()).map_err(|error| error.to_string())
    }

    /// Returns the command that starts it on `port`, and on `secure` for https if it is a server for that. `count` is
    /// how many of what a table is about there are, where that is up to the server.
    pub fn command(&self, port: u16, secure: u16, count: usize) -> Command {
        let programs = builds::programs();
        let mut command = match &self.start {
            Start::Native(name) => {
                let mut command = Command::new(target().join("release").join(name));
                command.arg(port.to_string()).arg(secure.to_string()).env("BENCH_ROUTES", count.to_string());
                command
            }
            Start::Tabi(_, flags) | Start::Apps(_, flags) => {
                let mut command = Command::new(programs.join("tabi"));
                command.args(["serve", "--port", &port.to_string()]).args(*flags);
                match &self.start {
                    Start::Apps(..) => command.arg("--config").arg(apps_file(count)),
                    Start::Tabi(component, _) => command.arg(component),
                    _ => &mut command,
                };
                if self.is_secure {
                    command.args(["--tls-dev", "--set", &format!("server.tls_port={secure}")]);
                }
                // Compiled components of the benchmarks are theirs alone.
                command.env("XDG_CACHE_HOME", target().join("cache"));
                command
            }
            Start::Wasmtime(component, flags) => {
                let mut command = Command::new(programs.join("wasmtime-serve"));
                command.args(["serve", "--addr", &format!("127.0.0.1:{port}")]).args(*flags).arg(component);
                command
            }
            Start::Java(program, classes, class, executor) => {
                let mut command = Command::new(program);
                command.args(["-cp", classes, class, &port.to_string(), executor]);
                command
            }
        };
        // No configuration of the user's is found there.
        command.current_dir(target());
        command
    }
}

/// The configuration with so many apps.
fn apps_file(count: usize) -> PathBuf {
    target().join(format!("apps-{count}.toml"))
}

fn native(name: &'static str, app: &'static str) -> Server {
    let start = Start::Native(name);
    Server { host: app.to_owned(), app: "native", mode: "", base: None, is_secure: false, start }
}

/// Returns the servers of the table of hellos.
pub fn hellos(builds: &Builds) -> Vec<Server> {
    let mut all = vec![native("native-hyper", "hyper"), native("native-axum", "axum")];
    all.extend(java(builds));
    all.extend(wasmtimes(builds));
    let component = |name| builds.component(name);
    for (file, app, modes) in [
        ("raw", "raw", &[FRESH, REUSE][..]),
        ("raw-small", RAW_SMALL, &[FRESH, REUSE]),
        ("hello", "tabi", &[FRESH, NEW, REUSE]),
        ("hello-no-std", "tabi no_std", &[FRESH, REUSE]),
        ("wstd", "wstd", &[FRESH, REUSE]),
        ("wstd-axum", "wstd-axum", &[FRESH, REUSE]),
        ("raw-p3", "raw 0.3", &[SHARED]),
        ("raw-small-p3", "raw 0.3, small stack", &[SHARED]),
        ("hello-p3", "tabi 0.3", &[SHARED]),
        ("spin-sdk", "spin-sdk 0.3", &[SHARED]),
    ] {
        let base = Some(if modes.contains(&FRESH) { WASMTIME } else { WASMTIME_P3 });
        let Some(file) = component(file) else { continue };
        all.extend(modes.iter().map(|(mode, flags)| tabi(&file, app, mode, flags, base)));
    }
    all
}

fn tabi(
    file: &Path,
    app: &'static str,
    mode: &'static str,
    flags: &'static [&str],
    base: Option<&'static str>,
) -> Server {
    let start = Start::Tabi(file.to_owned(), flags);
    Server { host: TABI.to_owned(), app, mode, base, is_secure: false, start }
}

fn wasmtimes(builds: &Builds) -> Vec<Server> {
    const REUSE: &[&str] = &["--max-instance-reuse-count", "10000"];
    let mut all = Vec::new();
    for (file, app, mode, flags) in [
        ("raw", "raw", "fresh", &[][..]),
        ("raw", "raw", "reuse 10000", REUSE),
        ("hello", "tabi", "fresh", &["-Scli"]),
        ("wstd-axum", "wstd-axum", "fresh", &["-Scli"]),
        ("raw-p3", "raw 0.3", "its defaults", &["-Scli"]),
        ("hello-p3", "tabi 0.3", "its defaults", &["-Scli"]),
        ("spin-sdk", "spin-sdk 0.3", "its defaults", &["-Scli"]),
    ] {
        let base = Some(if mode == "its defaults" { WASMTIME_P3 } else { WASMTIME });
        let Some(file) = builds.component(file) else { continue };
        let start = Start::Wasmtime(file, flags);
        all.push(Server { host: "wasmtime serve".to_owned(), app, mode, base, is_secure: false, start });
    }
    all
}

fn java(builds: &Builds) -> Vec<Server> {
    let Some(java) = builds.java() else { return Vec::new() };
    let server = |host: &str, mode, class, executor| {
        let start = Start::Java(java.program.clone(), java.classes.clone(), class, executor);
        Server { host: host.to_owned(), app: "", mode, base: None, is_secure: false, start }
    };
    let jdk = format!("JDK {} HttpServer", java.version);
    let jdk = |mode, executor| server(&jdk, mode, "Server", executor);
    let mut all = vec![jdk("default executor", "default"), jdk("a thread per core", "pool")];
    // Virtual threads came with JDK 21.
    if java.version >= 21 {
        all.push(jdk(VIRTUAL, "virtual"));
    }
    if java.no_jetty.is_none() {
        all.push(server(&format!("{JETTY} on JDK {}", java.version), "", "JettyServer", ""));
    }
    all
}

/// Returns the servers of the tables of workloads.
pub fn workloads(builds: &Builds) -> Vec<Server> {
    let mut all = vec![native("native-axum", "axum")];
    for (file, app, modes) in [
        ("bench", "tabi", &[FRESH, REUSE][..]),
        ("bench-wstd-axum", "wstd-axum", &[FRESH, REUSE]),
        ("bench-p3", "tabi 0.3", &[SHARED]),
        ("bench-spin-sdk", "spin-sdk 0.3", &[SHARED]),
    ] {
        let Some(file) = builds.component(file) else { continue };
        all.extend(modes.iter().map(|(mode, flags)| tabi(&file, app, mode, flags, None)));
    }
    all
}

/// Returns the same servers, with https.
pub fn secure(builds: &Builds) -> Vec<Server> {
    let with_tls = |server: Server| match server.start {
        Start::Native(_) => Server { start: Start::Native("native-axum-tls"), is_secure: true, ..server },
        _ => Server { is_secure: true, ..server },
    };
    workloads(builds).into_iter().map(with_tls).collect()
}

/// Returns pairs of servers for the same component: `wasmtime serve`, and ours in the same mode.
pub fn pairs(builds: &Builds) -> Vec<(Server, Server)> {
    let all = hellos(builds);
    let find = |host: &str, app: &str, mode: &str| {
        let is_it = |server: &&Server| server.host == host && server.app == app && server.mode == mode;
        all.iter().find(is_it).cloned()
    };
    let pair = |(app, mode)| Some((find("wasmtime serve", app, mode)?, find(TABI, app, mode)?));
    [("raw", FRESH.0), ("raw", REUSE.0), ("raw 0.3", SHARED.0)].into_iter().filter_map(pair).collect()
}

/// Returns servers of the same component as any number of apps.
pub fn apps(builds: &Builds) -> Vec<Server> {
    let mut all = Vec::new();
    for (file, app, (mode, flags)) in
        [("hello", "tabi", FRESH), ("hello", "tabi", REUSE), ("hello-p3", "tabi 0.3", SHARED)]
    {
        let Some(file) = builds.component(file) else { continue };
        all.push(Server { start: Start::Apps(file.clone(), flags), ..tabi(&file, app, mode, flags, None) });
    }
    all
}

/// Returns the servers of the sweeps: natively, and each of our modes.
pub fn sweeps(builds: &Builds) -> Vec<Server> {
    let all = workloads(builds).into_iter();
    all.filter(|server| server.app == "native" || server.app.starts_with("tabi")).collect()
}

/// Returns the servers whose apps have `routes` more routes than they need.
pub fn with_routes(builds: &Builds, routes: usize) -> Vec<Server> {
    let mut all = vec![native("native-axum", "axum")];
    if let Some(file) = builds.component(&format!("bench-{routes}")) {
        all.extend([FRESH, REUSE].map(|(mode, flags)| tabi(&file, "tabi", mode, flags, None)));
    }
    all
}
