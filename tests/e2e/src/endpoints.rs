//! A server that answers as the wasi-testsuite's description of a case says: fixed answers, and echoes.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

type Fields = Vec<(String, String)>;

/// Starts a server with these endpoints, and returns its address. It ends with the process.
///
/// # Panics
/// Where no port is free.
#[must_use]
pub fn endpoints(described: &Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap_or_else(|error| panic!("no free port: {error}"));
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let endpoints = described.as_array().cloned().unwrap_or_default();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let endpoints = endpoints.clone();
            // A client that breaks off is a part of some cases.
            thread::spawn(move || answer(stream, &endpoints));
        }
    });
    address
}

/// Returns an address where nobody listens.
///
/// # Panics
/// Where no port is free.
#[must_use]
pub fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.unwrap_or_else(|error| panic!("no free port: {error}")).to_string()
}

fn answer(mut stream: TcpStream, endpoints: &[Value]) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let line = line(&mut reader)?;
    let (method, path) = line.strip_suffix(" HTTP/1.1")?.split_once(' ')?;
    let fields = fields(&mut reader)?;
    let (body, trailers) = body(&mut reader, &fields)?;
    let endpoint = endpoints.iter().find(|endpoint| endpoint["method"] == method && endpoint["path"] == path);
    let fixed = endpoint.map_or(&Value::Null, |endpoint| &endpoint["response"]);
    let mut head: Fields = Vec::new();
    let (status, body) = match endpoint.and_then(|endpoint| endpoint["mode"].as_str()) {
        Some("echo-body") => (200, body),
        Some("echo-headers") => {
            head.push(("x-request-method".into(), method.into()));
            head.push(("x-request-path".into(), path.into()));
            head.extend(fields.into_iter().map(|(name, value)| (format!("x-echo-{name}"), value)));
            head.extend(trailers.into_iter().map(|(name, value)| (format!("x-trailer-{name}"), value)));
            (200, Vec::new())
        }
        _ if endpoint.is_none() => (404, Vec::new()),
        _ => {
            head.extend(strings(&fixed["headers"]));
            (fixed["status"].as_u64()?, fixed["body"].as_str().unwrap_or_default().into())
        }
    };
    let mut bytes = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n").into_bytes();
    for (name, value) in head {
        bytes.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    match fixed["chunks"].as_array() {
        None => {
            bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
            if method != "HEAD" {
                bytes.extend(body);
            }
        }
        Some(chunks) => {
            let trailers = strings(&fixed["trailers"]);
            bytes.extend(b"transfer-encoding: chunked\r\n");
            if !trailers.is_empty() {
                let names: Vec<&str> = trailers.iter().map(|(name, _)| name.as_str()).collect();
                bytes.extend(format!("trailer: {}\r\n", names.join(", ")).into_bytes());
            }
            bytes.extend(b"\r\n");
            for chunk in chunks.iter().filter_map(Value::as_str) {
                bytes.extend(format!("{:x}\r\n{chunk}\r\n", chunk.len()).into_bytes());
            }
            bytes.extend(b"0\r\n");
            for (name, value) in trailers {
                bytes.extend(format!("{name}: {value}\r\n").into_bytes());
            }
            bytes.extend(b"\r\n");
        }
    }
    stream.write_all(&bytes).ok()
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    Some(line.strip_suffix("\r\n")?.to_owned())
}

fn fields(reader: &mut impl BufRead) -> Option<Fields> {
    let mut fields = Vec::new();
    loop {
        let line = line(reader)?;
        if line.is_empty() {
            return Some(fields);
        }
        let (name, value) = line.split_once(':')?;
        fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// Reads a body and its trailer fields; `None` is one that breaks off.
fn body(reader: &mut impl BufRead, fields: &Fields) -> Option<(Vec<u8>, Fields)> {
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let mut body = Vec::new();
    if field("transfer-encoding").is_none_or(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        body.resize(field("content-length").unwrap_or("0").parse().ok()?, 0);
        reader.read_exact(&mut body).ok()?;
        return Some((body, Vec::new()));
    }
    loop {
        let size = usize::from_str_radix(line(reader)?.split(';').next()?, 16).ok()?;
        if size == 0 {
            return Some((body, self::fields(reader)?));
        }
        let mut chunk = vec![0; size];
        reader.read_exact(&mut chunk).ok()?;
        body.extend(chunk);
        line(reader)?;
    }
}

fn strings(object: &Value) -> Fields {
    let entries = object.as_object().into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}
