//! A form of 1 GiB streams through: the guest gets along with a few pages, and the server's memory does not grow.

use e2e::{Server, component, component_p3};
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

const HEAD: &str = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"large.bin\"\r\n\r\n";
const TAIL: &str = "\r\n--XX--\r\n";

/// Uploads a file of so many bytes, made while they are sent, and returns the answer.
fn upload(server: &Server, bytes: u64) -> String {
    let mut stream = tabi_corpus::connect(&server.address).expect("a connection");
    // The answer comes when the last byte has been read.
    stream.set_read_timeout(Some(Duration::from_secs(300))).expect("a timeout");
    let mut writer = stream.try_clone().expect("a second handle");
    let sender = thread::spawn(move || -> std::io::Result<()> {
        let length = HEAD.len() as u64 + bytes + TAIL.len() as u64;
        let head = format!(
            "POST /upload/count HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: multipart/form-data; boundary=XX\r\ncontent-length: {length}\r\n\r\n{HEAD}"
        );
        writer.write_all(head.as_bytes())?;
        // Line breaks and what looks like a boundary are what a parser has to stop at.
        let line = b"\r\n--X 0123456789abcdefghijklmnopqrstuvwxyz \r\n-- \0\xff\r";
        let chunk: Vec<u8> = line.iter().copied().cycle().take(64 * 1024).collect();
        let mut left = bytes;
        while left > 0 {
            let size = left.min(chunk.len() as u64);
            writer.write_all(&chunk[..size as usize])?;
            left -= size;
        }
        writer.write_all(TAIL.as_bytes())
    });
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let sent = sender.join().expect("a thread that ends");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(read.is_ok() && sent.is_ok(), "{read:?} {sent:?} {answer}");
    answer
}

fn check(component: &Path) {
    // Sixty-four pages for the guest: a form that was kept would not fit into them.
    let settings = ["limits.memory=4MiB", "limits.body_bytes=2GiB", "limits.request_timeout=5m", "limits.cpu_time=5m"];
    let server = Server::tabi_with(component, &settings);
    let small = upload(&server, 1 << 20);
    assert!(small.ends_with("\r\n\r\n1 parts, 1048576 bytes"), "{small}");
    let before = server.peak_memory();
    let start = Instant::now();
    let large = upload(&server, 1 << 30);
    assert!(large.starts_with("HTTP/1.1 200") && large.ends_with("\r\n\r\n1 parts, 1073741824 bytes"), "{large}");
    let after = server.peak_memory();
    eprintln!("1 GiB in {:?}; memory at most {before:?} before, {after:?} after", start.elapsed());
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after - before < 16 << 20, "the server's memory grew by {} bytes", after - before);
        assert!(after < 256 << 20, "the server had {after} bytes");
    }
}

#[test]
fn a_form_of_a_gigabyte() {
    check(&component("conformance"));
}

#[test]
fn a_form_of_a_gigabyte_p3() {
    check(&component_p3("conformance"));
}
