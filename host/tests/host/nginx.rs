//! nginx in front of a server that tells what it was sent: another opinion on where a request ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running nginx; it ends with the value.
pub struct Nginx {
    process: Child,
    folder: PathBuf,
    pub addr: SocketAddr,
}

impl Nginx {
    /// Starts it on a free port with a configuration of its own.
    pub fn start() -> Self {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("nginx-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let behind = TcpListener::bind("127.0.0.1:0").expect("a port");
        let upstream = behind.local_addr().expect("an address");
        std::thread::spawn(move || behind.incoming().flatten().for_each(|stream| tell(&stream)));
        // nginx can't be asked for any free port, so one is looked for.
        let addr = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port");
        let dir = folder.display();
        let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {dir}/{name};\n"))
            .concat();
        let config = format!(
            "daemon off;\nmaster_process off;\npid {dir}/pid;\nerror_log {dir}/error.log;\nevents {{}}\n\
             http {{\naccess_log off;\n{temp}client_header_timeout 1s;\nclient_body_timeout 1s;\n\
             server {{\nlisten {addr};\nlocation / {{\nproxy_pass http://{upstream};\n}}\n}}\n}}\n"
        );
        std::fs::write(folder.join("nginx.conf"), config).expect("written");
        let program = ["/usr/sbin/nginx", "/usr/bin/nginx", "nginx"];
        let spawn = |program: &&str| {
            let mut command = Command::new(program);
            command.arg("-e").arg(folder.join("error.log")).arg("-p").arg(&folder).arg("-c");
            command.arg(folder.join("nginx.conf")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
        };
        let process = program.iter().find_map(spawn);
        let process = process.expect("nginx is not installed; this test compares with it: apt-get install nginx-light");
        let mut nginx = Self { process, folder, addr };
        let begin = Instant::now();
        while TcpStream::connect(addr).is_err() {
            let ended = nginx.process.try_wait().is_ok_and(|status| status.is_some());
            let why = || std::fs::read_to_string(nginx.folder.join("error.log")).unwrap_or_default();
            assert!(!ended && begin.elapsed() < Duration::from_secs(20), "nginx does not start: {}", why());
            std::thread::yield_now();
        }
        nginx
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Answers one request, which nginx has made well-formed, as the guest would: with its body where that is asked for.
fn tell(stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    let _ = reader.read_line(&mut line);
    let path = line.split(' ').nth(1).and_then(|target| target.split('?').next()).unwrap_or_default().to_owned();
    line.clear();
    while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        if !["/read", "/echo"].contains(&path.as_str()) {
            body = b"other".to_vec();
        }
        let length = body.len();
        let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let mut stream = stream;
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    }
}
