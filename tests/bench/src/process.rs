//! A server in a process of its own.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::load::Exchange;
use crate::reply::Reader;

/// A running server; it ends when this is dropped.
pub struct Process {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// From its start to its first right answer.
    pub cold: Duration,
}

/// Compiling a component may take a while on a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(60);

impl Process {
    /// Starts a server on a free port and waits for its first right answer.
    ///
    /// `command` makes the command for a port, and `exchange` the request for an address.
    ///
    /// # Errors
    /// When it ends before, or its answer is wrong or does not come.
    pub fn start(command: &dyn Fn(u16) -> Command, exchange: &dyn Fn(SocketAddr) -> Exchange) -> Result<Self, String> {
        // Somebody else may take a port between the moment it was found free and the start.
        let mut last = String::new();
        for _ in 0..3 {
            match Self::try_start(command, exchange) {
                Ok(process) => return Ok(process),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn try_start(command: &dyn Fn(u16) -> Command, exchange: &dyn Fn(SocketAddr) -> Exchange) -> Result<Self, String> {
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let exchange = exchange(address);
        let mut command = command(port);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begin = Instant::now();
        let child = command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let mut process = Self { child, address, cold: Duration::ZERO };
        while begin.elapsed() < PATIENCE {
            if let Ok(stream) = TcpStream::connect(address) {
                ask(stream, &exchange)?;
                process.cold = begin.elapsed();
                process.drain_errors();
                return Ok(process);
            }
            if process.child.try_wait().is_ok_and(|end| end.is_some()) {
                return Err(process.last_words());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Err("it does not listen".to_owned())
    }

    /// A pipe that nobody reads would stop the server.
    fn drain_errors(&mut self) {
        if let Some(mut errors) = self.child.stderr.take() {
            std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        }
    }

    fn last_words(&mut self) -> String {
        let mut text = String::new();
        if let Some(errors) = &mut self.child.stderr {
            let _ = errors.read_to_string(&mut text);
        }
        let text: Vec<_> = text.split_whitespace().collect();
        format!("it ended at once: {}", text.join(" "))
    }

    /// The most memory that it had in use, in bytes; `None` where the system does not tell.
    pub fn peak_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }

    /// The processor time that it has used; `None` where the system does not tell.
    pub fn cpu_time(&self) -> Option<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        // The name of the program, in parentheses, may contain blanks.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(Duration::from_millis(ticks * 10))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// One exchange, checked.
fn ask(mut stream: TcpStream, exchange: &Exchange) -> Result<(), String> {
    let text = |error: std::io::Error| format!("no answer: {error}");
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(text)?;
    stream.write_all(&exchange.request).map_err(text)?;
    let mut reader = Reader::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = stream.read(&mut buffer).map_err(text)?;
        if count == 0 {
            return Err("an answer was cut".to_owned());
        }
        let mut bytes = &buffer[..count];
        while !bytes.is_empty() {
            let Some(reply) = reader.read(&mut bytes)? else { continue };
            if (reply.status, reply.length) == (200, exchange.length) {
                return Ok(());
            }
            let wanted = exchange.length;
            return Err(format!("status {} with {} bytes, not {wanted}", reply.status, reply.length));
        }
    }
}
