//! The requests of the benchmarks, and how long their answers are.

use std::net::SocketAddr;

use crate::load::Exchange;

/// A kind of request.
#[derive(Clone)]
pub struct Ask {
    method: &'static str,
    /// What is asked for, one after the other.
    targets: Vec<String>,
    /// Whole lines, each with its end.
    fields: String,
    body: Vec<u8>,
    length: u64,
}

/// What every request of ninja-undertow's benchmark carries, as its client sends it.
const NINJA: &str = "Cookie: TEST=THISISATESTCOOKIEHEADER\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip\r\n\
                     User-Agent: okhttp/3.10.0\r\n";

impl Ask {
    /// A GET whose answer has `length` bytes.
    pub fn get(target: &str, length: u64) -> Self {
        Self::gets(vec![target.to_owned()], length)
    }

    /// GETs of several targets in turns, whose answers have `length` bytes each.
    pub fn gets(targets: Vec<String>, length: u64) -> Self {
        Self { method: "GET", targets, fields: String::new(), body: Vec::new(), length }
    }

    /// A POST of `body` whose answer has `length` bytes.
    pub fn post(target: &str, body: Vec<u8>, length: u64) -> Self {
        Self { method: "POST", body, ..Self::get(target, length) }
    }

    /// The same with more header fields.
    pub fn with(self, fields: &str) -> Self {
        Self { fields: [&self.fields, fields].concat(), ..self }
    }

    /// The bytes for a server, and what has to come back.
    pub fn exchange(&self, server: SocketAddr) -> Exchange {
        let requests = self.targets.iter().map(|target| self.request(server, target)).collect();
        Exchange { requests, length: self.length }
    }

    fn request(&self, server: SocketAddr, target: &str) -> Vec<u8> {
        let mut request = format!("{} {target} HTTP/1.1\r\nHost: {server}\r\n{}", self.method, self.fields);
        if self.method == "POST" {
            request.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        let mut request = (request + "\r\n").into_bytes();
        request.extend_from_slice(&self.body);
        request
    }

    /// The first target.
    pub fn target(&self) -> &str {
        self.targets.first().map_or("/", String::as_str)
    }

    /// The fields besides those that every request has, a line each.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.lines()
    }

    /// The body of a POST.
    pub fn body(&self) -> Option<&[u8]> {
        (self.method == "POST").then_some(&self.body)
    }

    /// The bytes of the body of an answer.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// NinjaX's health check and the three workloads of ninja-undertow, with their names.
pub fn workloads() -> Vec<(&'static str, Ask)> {
    let query = "?a=adam&b=bob";
    let (form, json) = ("s=sam&i=2&l=10000000&b=true", r#"{ "s":"sam", "i":2, "l":10000000, "b":true  }"#);
    let object = |kind: &str, body: &str| {
        let ask = Ask::post(&format!("/benchmark_object{query}"), body.into(), 9);
        ask.with(NINJA).with(&format!("Content-Type: {kind}\r\n"))
    };
    vec![
        ("health", Ask::get("/health", 7)),
        ("get with parameters", Ask::get(&format!("/benchmark_params{query}&c=charlie&d=david"), 9).with(NINJA)),
        ("post form", object("application/x-www-form-urlencoded", form)),
        ("post json", object("application/json", json)),
    ]
}

/// A request with `count` header fields besides those that it needs, whose values the app adds up.
pub fn headers(count: usize) -> Ask {
    let fields: String = (0..count).map(|index| format!("x-bench-{index}: a value of 24 letters..\r\n")).collect();
    let sum = (count * 24).to_string();
    Ask::get("/headers", sum.len() as u64).with(&fields)
}

/// A request whose answer has a body of `bytes`.
pub fn download(bytes: usize) -> Ask {
    Ask::get(&format!("/bytes/{bytes}"), bytes as u64)
}

/// A request with a body of `bytes`, which the app reads whole.
pub fn upload(bytes: usize) -> Ask {
    Ask::post("/length", vec![b'x'; bytes], bytes.to_string().len() as u64)
        .with("Content-Type: application/octet-stream\r\n")
}

/// A request with a body of `bytes` that comes back.
pub fn echo(bytes: usize) -> Ask {
    Ask::post("/echo", vec![b'x'; bytes], bytes as u64).with("Content-Type: application/octet-stream\r\n")
}

/// A request for the last of `count` routes.
pub fn route(count: usize) -> Ask {
    Ask::get(&format!("/routes/{}/seven/edit", count - 1), 5)
}

/// Requests for `count` apps in turns.
pub fn apps(count: usize) -> Ask {
    Ask::gets((0..count).map(|number| format!("/app{number}/hello/World")).collect(), 13)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_lengths_that_ninja_undertow_sends() {
        let server = SocketAddr::from(([127, 0, 0, 1], 80));
        for ((name, ask), length) in workloads().into_iter().zip([0, 0, 27, 45]) {
            let request = ask.exchange(server).requests.remove(0);
            let head = request.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
            assert_eq!(request.len() - head, length, "{name}");
            assert_eq!(
                length > 0,
                String::from_utf8(request).unwrap().contains(&format!("Content-Length: {length}\r\n"))
            );
        }
    }
}
