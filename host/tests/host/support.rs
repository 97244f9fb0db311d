//! Guests, and hosts that serve them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tabi_host::{Config, Host, Log, Server};
use tabi_toolchain::{Options, build_component};

/// The misbehaving guest for 0.2, built on first use.
pub fn misbehave() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("p2", &[]))
}

/// The misbehaving guest for 0.3, built on first use.
pub fn misbehave3() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("p3", &[]))
}

/// The guest that uses what is granted, for 0.2 and for 0.3.
pub fn granted() -> &'static [PathBuf; 2] {
    static BUILT: OnceLock<[PathBuf; 2]> = OnceLock::new();
    BUILT.get_or_init(|| ["p2", "p3"].map(|world| build("grants", &[world])))
}

fn build(guest: &str, features: &[&str]) -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests").join(guest);
    let options = Options {
        release: true,
        quiet: true,
        // One folder for each set of features, whose components have the same name.
        target_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests").join(features.concat())),
        features: features.iter().map(|name| (*name).to_owned()).collect(),
        no_default_features: !features.is_empty(),
        ..Options::default()
    };
    match build_component(&crate_dir, &options, &mut |line| eprintln!("{line}")) {
        Ok(component) => component,
        Err(error) => panic!("the guests do not build: {error}"),
    }
}

/// A configuration for tests: a free port, and waits that are short enough to be tested.
pub fn config() -> Config {
    let mut config = Config {
        addr: ([127, 0, 0, 1], 0).into(),
        threads: 2,
        cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled")),
        ..Config::default()
    };
    let limits = &mut config.limits;
    limits.header_timeout = Duration::from_millis(400);
    limits.idle_timeout = Duration::from_millis(800);
    limits.body_timeout = Duration::from_millis(400);
    limits.write_timeout = Duration::from_millis(600);
    limits.request_timeout = Duration::from_millis(1500);
    limits.stream_idle_timeout = Duration::from_millis(700);
    limits.cpu_time = Duration::from_millis(1000);
    limits.drain_timeout = Duration::from_millis(3000);
    limits.body_bytes = 100_000;
    limits.queue_timeout = Duration::from_millis(200);
    config
}

/// A folder of a test's own, gone when it is dropped.
pub struct Room(PathBuf);

impl Room {
    /// Makes an empty folder.
    pub fn new(name: &str) -> Self {
        let room = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tabi-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&room);
        std::fs::create_dir_all(&room).expect("a folder");
        Self(room)
    }

    /// Takes a folder that is there.
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Its name, which no other test has.
    pub fn name(&self) -> String {
        self.0.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Writes a file, and returns its path.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running host and its log.
pub struct Running {
    pub server: Server,
    pub log: Log,
    pub lines: Lines,
}

impl Running {
    /// Serves the misbehaving guest for 0.2.
    pub fn start(config: Config) -> Self {
        Self::serve(misbehave(), config)
    }

    /// Serves `component`.
    pub fn serve(component: &Path, config: Config) -> Self {
        let lines = Lines::default();
        let log = Log::to(lines.clone());
        let host = match Host::load(component, config, log.clone()) {
            Ok(host) => host,
            Err(error) => panic!("the guest does not load: {error}"),
        };
        let server = host.bind().and_then(|listener| host.serve(listener));
        match server {
            Ok(server) => Self { server, log, lines },
            Err(error) => panic!("the host does not start: {error}"),
        }
    }

    /// Serves the misbehaving guest for 0.2 on everything that `config` names.
    pub fn listen(config: Config) -> Self {
        Self::try_listen(config).unwrap_or_else(|error| panic!("the host does not start: {error}"))
    }

    /// As [`listen`](Self::listen), or the reason not to.
    pub fn try_listen(config: Config) -> Result<Self, String> {
        let lines = Lines::default();
        let log = Log::to(lines.clone());
        let host = Host::load(misbehave(), config, log.clone()).map_err(|error| error.to_string())?;
        let server = host.listen().and_then(|all| host.serve_all(all)).map_err(|error| error.to_string())?;
        Ok(Self { server, log, lines })
    }

    /// Waits until the log has `text` in it, and gives all of it.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let log = self.log();
            if log.contains(text) {
                return log;
            }
            assert!(begin.elapsed().as_secs() < 10, "{text:?} is not in the log: {log}");
            std::thread::yield_now();
        }
    }

    /// Everything in the log so far.
    pub fn log(&self) -> String {
        self.log.flush();
        self.lines.text()
    }
}

/// A log in memory.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic while writing")).into_owned()
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic while writing").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
