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
    /// Where it listens for https, if it does.
    pub secure: SocketAddr,
    /// From its start to its first right answer.
    pub cold: Duration,
}

/// Compiling a component may take a while on a machine that does other things as well.
const PATIENCE: Duration = Duration::from_secs(60);

impl Process {
    /// Starts a server on a free port and waits for its first right answer.
    ///
    /// `command` makes the command for a port and one for https, and `exchange` the request for an address.
    ///
    /// # Errors
    /// When it ends before, or its answer is wrong or does not come.
    pub fn start(
        command: &dyn Fn(u16, u16) -> Command,
        exchange: &dyn Fn(SocketAddr) -> Exchange,
    ) -> Result<Self, String> {
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

    fn try_start(
        command: &dyn Fn(u16, u16) -> Command,
        exchange: &dyn Fn(SocketAddr) -> Exchange,
    ) -> Result<Self, String> {
        let port = free_port().map_err(|error| format!("no free port: {error}"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let exchange = exchange(address);
        let secure = free_port().map_err(|error| format!("no free port: {error}"))?;
        let mut command = command(port, secure);
        let secure = SocketAddr::from((Ipv4Addr::LOCALHOST, secure));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let begin = Instant::now();
        let child = command.spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
        let mut process = Self { child, address, secure, cold: Duration::ZERO };
        while begin.elapsed() < PATIENCE {
            if let Ok(stream) = TcpStream::connect(address) {
                ask(&stream, &exchange)?;
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
fn ask(stream: &TcpStream, exchange: &Exchange) -> Result<(), String> {
    let text = |error: std::io::Error| format!("no answer: {error}");
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(text)?;
    std::thread::scope(|scope| {
        // An answer may begin before the request is whole, and be as long: both have to go on at once.
        let send = scope.spawn(|| { stream }.write_all(exchange.request(0)));
        let answer = receive(stream, exchange.length);
        if answer.is_err() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        let sent = send.join().map_err(|_| "no thread to send".to_owned())?;
        answer.and(sent.map_err(text))
    })
}

/// Waits for an answer with `length` bytes.
fn receive(mut stream: &TcpStream, length: u64) -> Result<(), String> {
    let mut reader = Reader::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = stream.read(&mut buffer).map_err(|error| format!("no answer: {error}"))?;
        if count == 0 {
            return Err("an answer was cut".to_owned());
        }
        let mut bytes = &buffer[..count];
        while !bytes.is_empty() {
            let Some(reply) = reader.read(&mut bytes)? else { continue };
            if (reply.status, reply.length) == (200, length) {
                return Ok(());
            }
            return Err(format!("status {} with {} bytes, not {length}", reply.status, reply.length));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a server say `answer`, after it has read `request` bytes of what it is asked.
    #[track_caller]
    fn check(request: usize, answer: &'static [u8], expected: Result<(), &str>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer).unwrap();
            let _ = stream.read_exact(&mut vec![0; request]);
        });
        let exchange = Exchange { requests: vec![vec![b'x'; request]], length: 2 };
        let found = ask(&TcpStream::connect(address).unwrap(), &exchange);
        assert_eq!(found, expected.map_err(str::to_owned));
        server.join().unwrap();
    }

    #[test]
    fn checks_the_first_answer() {
        let right = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        check(10, right, Ok(()));
        // More than the buffers of a socket hold.
        check(32 << 20, right, Ok(()));
        check(10, b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n!", Err("status 200 with 1 bytes, not 2"));
        check(10, b"HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nno", Err("status 500 with 2 bytes, not 2"));
        check(10, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no", Err("an answer was cut"));
    }
}
