//! HTTP/1.1 as bytes: no client library, so that nothing is mended on the way.

use crate::message::{Answer, Fields, Request};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a server may be silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Connects to `host:port`.
///
/// # Errors
/// Where nobody listens.
pub fn connect(address: &str) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).map_err(|error| format!("{address}: {error}"))?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Sends a request on a connection of its own and reads the answer.
///
/// # Errors
/// Where the connection fails, or what comes back is not HTTP.
pub fn exchange(address: &str, request: &Request) -> Result<Answer, String> {
    let mut stream = connect(address)?;
    let mut bytes = [&request.method[..], b" ", &request.target, b" HTTP/1.1\r\n"].concat();
    for (name, value) in request.headers.iter().chain([&(String::from("connection"), b"close".to_vec())]) {
        bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    bytes.extend(b"\r\n");
    bytes.extend(&request.body);
    // A server may answer and close before it has read all: what it answered counts.
    let sent = stream.write_all(&bytes);
    read(&mut BufReader::new(stream), request.method == b"HEAD").map_err(|error| match sent {
        Ok(()) => error,
        Err(sending) => format!("{error}; while sending: {sending}"),
    })
}

fn read(stream: &mut impl BufRead, head: bool) -> Result<Answer, String> {
    let (status, headers) = loop {
        let (status, headers) = read_head(stream)?;
        // Interim answers come before the one that counts.
        if status >= 200 {
            break (status, headers);
        }
    };
    let value = |name: &str| {
        let found = headers.iter().find(|(known, _): &&(String, Vec<u8>)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
    };
    let mut body = Vec::new();
    let fail = |error: std::io::Error| format!("the body breaks off: {error}");
    if head || status == 204 || status == 304 {
        return Ok(Answer { status, headers, body });
    }
    if value("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let line = read_line(stream)?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = u64::from_str_radix(size, 16).map_err(|_| format!("`{line}` is no size of a chunk"))?;
            if size == 0 {
                break;
            }
            take(stream, size, &mut body)?;
            read_line(stream)?;
        }
        while !read_line(stream)?.is_empty() {}
    } else if let Some(length) = value("content-length") {
        take(stream, length.parse().map_err(|_| format!("content-length: {length}"))?, &mut body)?;
    } else {
        stream.read_to_end(&mut body).map_err(fail)?;
    }
    Ok(Answer { status, headers, body })
}

fn read_head(stream: &mut impl BufRead) -> Result<(u16, Fields), String> {
    let line = read_line(stream)?;
    let code = line.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
    let status = code.ok_or_else(|| format!("`{line}` is no status line"))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            return Ok((status, headers));
        }
        let (name, value) = line.split_once(':').ok_or_else(|| format!("`{line}` is no header field"))?;
        headers.push((name.to_owned(), value.trim().chars().map(|char| char as u8).collect()));
    }
}

/// Reads a line, byte for byte as Latin-1, without its end.
fn read_line(stream: &mut impl BufRead) -> Result<String, String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    let line = line.strip_suffix(b"\r\n").ok_or("the connection ends, or a line without CR")?;
    Ok(line.iter().copied().map(char::from).collect())
}

fn take(stream: &mut impl BufRead, size: u64, body: &mut Vec<u8>) -> Result<(), String> {
    let read = stream.take(size).read_to_end(body).map_err(|error| format!("the body breaks off: {error}"))?;
    if read as u64 == size { Ok(()) } else { Err(format!("the body breaks off after {} bytes", body.len())) }
}
