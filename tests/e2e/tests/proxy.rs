//! 1 GiB goes through an app to another server and back: the guest gets along with a few pages, and the server's memory
//! does not grow.

use e2e::{Server, component, component_p3};
use std::io::{BufRead, BufReader, Error, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Sends back what it gets, as it comes, and returns where it listens.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

const BUFFER: usize = 256 * 1024;

/// The chunk at the end of a body; what is sent here has nothing like it inside.
const END: &[u8] = b"0\r\n\r\n";

/// Answers one request with its own chunks, which are those of a response as well.
fn answer(stream: TcpStream) -> Result<()> {
    let mut out = stream.try_clone()?;
    let mut input = BufReader::with_capacity(BUFFER, stream);
    head(&mut input)?;
    out.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let mut last = Vec::new();
    while !last.ends_with(END) {
        let piece = input.fill_buf()?;
        let count = piece.len();
        if count == 0 {
            break;
        }
        out.write_all(piece)?;
        last.extend_from_slice(piece.get(count.saturating_sub(END.len())..).unwrap_or_default());
        last.drain(..last.len().saturating_sub(END.len()));
        input.consume(count);
    }
    Ok(())
}

/// Reads a head and returns its first line.
fn head(input: &mut impl BufRead) -> Result<String> {
    let first = line(input)?;
    while !line(input)?.is_empty() {}
    Ok(first)
}

fn line(input: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

/// The bytes 0 to 250 again and again: none of them has neighbours like its own nearby, so that nothing is lost or
/// doubled unseen.
fn pattern(length: usize) -> Vec<u8> {
    (0..=250u8).cycle().take(length).collect()
}

/// Sends so many bytes through the app, compares what comes back, and returns the status line.
fn through(server: &Server, far: &str, bytes: u64) -> Result<String> {
    let stream = tabi_corpus::connect(&server.address).map_err(Error::other)?;
    stream.set_read_timeout(Some(Duration::from_secs(300)))?;
    let mut writer = stream.try_clone()?;
    let request = format!(
        "POST /proxy?url=http://{far}/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {bytes}\r\n\r\n"
    );
    let sender = thread::spawn(move || -> Result<()> {
        writer.write_all(request.as_bytes())?;
        let piece = pattern(251 * 256);
        let mut left = bytes;
        while left > 0 {
            let size = left.min(piece.len() as u64);
            writer.write_all(&piece[..size as usize])?;
            left -= size;
        }
        Ok(())
    });
    let mut input = BufReader::with_capacity(BUFFER, stream);
    let status = head(&mut input)?;
    if status.starts_with("HTTP/1.1 200") {
        assert_eq!(compare(&mut input)?, bytes, "what came back ends too early or too late");
        sender.join().expect("a thread that ends")?;
    }
    Ok(status)
}

/// Reads a chunked body and returns its length.
fn compare(input: &mut impl BufRead) -> Result<u64> {
    let wanted = pattern(251 + BUFFER);
    let mut total = 0u64;
    loop {
        let mut left = usize::from_str_radix(&line(input)?, 16).map_err(Error::other)?;
        let last = left == 0;
        while left > 0 {
            let piece = input.fill_buf()?;
            let count = piece.len().min(left);
            let offset = (total % 251) as usize;
            assert!(count > 0, "the body breaks off after {total} bytes");
            assert!(piece[..count] == wanted[offset..offset + count], "something else came back after {total} bytes");
            input.consume(count);
            total += count as u64;
            left -= count;
        }
        line(input)?;
        if last {
            return Ok(total);
        }
    }
}

fn check(component: &Path) {
    let settings = [
        "grants.outbound=http://127.0.0.1:*",
        "limits.memory=4MiB",
        "limits.body_bytes=2GiB",
        "limits.request_timeout=5m",
        "limits.cpu_time=5m",
    ];
    let server = Server::tabi_with(component, &settings);
    let far = echo();
    assert_eq!(through(&server, &far, 8 << 20).expect("8 MiB and back"), "HTTP/1.1 200 OK");
    let before = server.peak_memory();
    let start = Instant::now();
    assert_eq!(through(&server, &far, 1 << 30).expect("1 GiB and back"), "HTTP/1.1 200 OK");
    let after = server.peak_memory();
    eprintln!("1 GiB there and back in {:?}; memory at most {before:?} before, {after:?} after", start.elapsed());
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after - before < 16 << 20, "the server's memory grew by {} bytes", after - before);
        assert!(after < 256 << 20, "the server had {after} bytes");
    }
}

#[test]
fn a_gigabyte_there_and_back() {
    check(&component("streams"));
}

#[test]
fn a_gigabyte_there_and_back_p3() {
    check(&component_p3("streams"));
}
