//! A server in a process of its own, for one component.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a server may take to listen: a first run compiles the component.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server; it ends with the value.
pub struct Server {
    process: Child,
    /// Where it listens, as `host:port`.
    pub address: String,
    said: mpsc::Receiver<String>,
    heard: Vec<String>,
}

/// Returns a program that the workspace builds.
///
/// # Panics
/// Where it is not built.
#[must_use]
pub fn release(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let folder = own.ancestors().find(|folder| folder.join("deps").is_dir()).unwrap_or(&own);
    let program = folder.join(name);
    assert!(program.exists(), "{} is not built: run the tests with `cargo xtask test`", program.display());
    program
}

impl Server {
    /// Starts `tabi serve`.
    #[must_use]
    pub fn tabi(component: &Path) -> Server {
        Server::tabi_with(component, &[])
    }

    /// Starts `tabi serve` with some keys of the configuration set, each as `key=value`.
    #[must_use]
    pub fn tabi_with(component: &Path, settings: &[&str]) -> Server {
        let mut command = Command::new(release("tabi"));
        command.arg("serve").arg(component).args(["--addr", "127.0.0.1:0"]);
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
        Server::start(command, None)
    }

    /// Starts `wasmtime serve`, with nothing but the address.
    #[must_use]
    pub fn wasmtime(component: &Path) -> Server {
        let mut command = Command::new(release("wasmtime-serve"));
        command.args(["serve", "--addr", "127.0.0.1:0"]).arg(component);
        Server::start(command, None)
    }

    /// Starts the server of a command line with placeholders.
    ///
    /// # Panics
    /// Where no port is free, or the command line has no word.
    #[must_use]
    pub fn custom(line: &str, component: &Path) -> Server {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.unwrap_or_else(|error| panic!("no free port: {error}"));
        let fill = |word: &str| {
            let word = word.replace("{component}", &component.display().to_string());
            let word = word.replace("{address}", &address.to_string()).replace("{host}", "127.0.0.1");
            word.replace("{port}", &address.port().to_string())
        };
        let mut words = line.split_whitespace().map(fill);
        let mut command = Command::new(words.next().unwrap_or_else(|| panic!("TABI_SERVER is empty")));
        command.args(words);
        Server::start(command, Some(address.to_string()))
    }

    /// Starts a command, and waits until it says where it listens, or somebody listens where it should.
    ///
    /// # Panics
    /// Where it does not listen within two minutes.
    #[must_use]
    pub fn start(mut command: Command, address: Option<String>) -> Server {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (lines, said) = mpsc::channel();
        for pipe in [process.stdout.take().map(boxed), process.stderr.take().map(boxed)].into_iter().flatten() {
            let lines = lines.clone();
            thread::spawn(move || {
                // The pipe is read to its end, or the server would block on a full one.
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = lines.send(line);
                }
            });
        }
        drop(lines);
        let mut server = Server { process, address: String::new(), said, heard: Vec::new() };
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            match server.said.recv_timeout(Duration::from_millis(20)) {
                Ok(line) => {
                    let found = listening(&line).filter(|_| address.is_none());
                    server.heard.push(line);
                    if let Some(found) = found {
                        server.address = found;
                        return server;
                    }
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
            if let Some(address) = address.as_ref().filter(|address| tabi_corpus::connect(address).is_ok()) {
                server.address = address.clone();
                return server;
            }
        }
        panic!("{command:?} does not listen:\n{}", server.heard.join("\n"))
    }

    /// Returns a line of its output that has this in it, said already or within two minutes.
    #[must_use]
    pub fn wait_for(&self, text: &str) -> Option<String> {
        if let Some(line) = self.heard.iter().find(|line| line.contains(text)) {
            return Some(line.clone());
        }
        let start = Instant::now();
        while let Ok(line) = self.said.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
            if line.contains(text) {
                return Some(line);
            }
        }
        None
    }

    /// Waits for the process to end by itself.
    ///
    /// # Panics
    /// Where it takes longer than `patience`.
    pub fn end(&mut self, patience: Duration) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < patience {
            match self.process.try_wait() {
                Ok(Some(status)) => return status,
                Ok(None) => thread::park_timeout(Duration::from_millis(10)),
                Err(error) => panic!("the server is out of reach: {error}"),
            }
        }
        panic!("the server does not end within {patience:?}")
    }

    /// Returns the id of the process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns how many bytes of memory the process has had at most, or `None` where the system doesn't tell.
    #[must_use]
    pub fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn boxed(pipe: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(pipe)
}

/// Finds the address in a line such as `Serving HTTP on http://127.0.0.1:8080/`.
fn listening(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://")?;
    let address = rest.split(['/', ' ', '"']).next()?;
    address.contains(':').then(|| address.to_owned())
}
