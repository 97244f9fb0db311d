//! A Redis server of a test's own.

use crate::support::Room;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running server without anything in it; it ends with the value.
pub struct Redis {
    process: Child,
    socket: PathBuf,
    addr: String,
}

impl Redis {
    /// Starts a server in a folder, with these options.
    pub fn start(room: &Room, options: &[&str]) -> Self {
        // The port may be taken by somebody else in between.
        (0..5).find_map(|_| Self::try_start(room, options)).expect("a redis-server that starts")
    }

    fn try_start(room: &Room, options: &[&str]) -> Option<Self> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        // The path of a socket has to be short.
        let socket = std::env::temp_dir().join(format!("{}.sock", room.name()));
        let _ = std::fs::remove_file(&socket);
        let mut command = Command::new(xtask::packages::program("redis-server"));
        command.args(["--bind", "127.0.0.1", "--port", &free.port().to_string(), "--save", "", "--appendonly", "no"]);
        command.arg("--unixsocket").arg(&socket).arg("--dir").arg(room.path()).args(options);
        let mut process = command.stdout(Stdio::piped()).spawn().expect("redis-server runs");
        let out = BufReader::new(process.stdout.take().expect("stdout"));
        let redis = Self { process, socket, addr: free.to_string() };
        let mut lines = out.lines().map_while(Result::ok);
        let ready = lines.any(|line| line.contains("ready to accept connections at"));
        // The pipe is read to its end, or the server would block on a full one.
        std::thread::spawn(move || lines.for_each(drop));
        ready.then_some(redis)
    }

    /// Where it listens, as `host:port`.
    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// The URL of its Unix socket.
    pub fn url_of_socket(&self) -> String {
        format!("redis+unix://{}", self.socket.display())
    }

    /// Deletes everything.
    pub fn empty(&self) {
        let mut stream = UnixStream::connect(&self.socket).expect("the server accepts");
        stream.write_all(b"FLUSHALL\r\n").expect("sent");
        let mut reply = [0; 5];
        stream.read_exact(&mut reply).expect("a reply");
        assert_eq!(&reply, b"+OK\r\n");
    }

    /// Ends the server.
    pub fn stop(self) {}
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.socket);
    }
}
