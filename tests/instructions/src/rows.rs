//! What is asked of which component.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use wasmtime_wasi_http::Error;

/// A request, and the body that has to come back.
#[derive(Clone, Copy)]
pub struct Ask {
    method: &'static str,
    /// What it asks for.
    pub target: &'static str,
    /// Fields besides `Host` and `Content-Length`.
    fields: &'static [(&'static str, &'static str)],
    body: &'static str,
    /// The body of the answer.
    pub answer: &'static str,
}

impl Ask {
    /// Returns it as a host gets it.
    pub fn request(&self) -> hyper::Request<BoxBody<Bytes, Error>> {
        let uri = format!("http://127.0.0.1:8080{}", self.target);
        let mut request = hyper::Request::builder().method(self.method).uri(uri).header("host", "127.0.0.1:8080");
        for (name, value) in self.fields {
            request = request.header(*name, *value);
        }
        if !self.body.is_empty() {
            request = request.header("content-length", self.body.len());
        }
        let body = Full::new(Bytes::from_static(self.body.as_bytes()));
        request.body(body.map_err(|never| match never {}).boxed()).expect("a request")
    }
}

const fn get(target: &'static str, answer: &'static str) -> Ask {
    Ask { method: "GET", target, fields: &[], body: "", answer }
}

const HELLO: Ask = get("/", "Hello from Tabi! Try /hello/Ada");

/// The fields that the client of ninja-undertow's benchmark sends, as in `tests/bench`.
const COOKIE: (&str, &str) = ("cookie", "TEST=THISISATESTCOOKIEHEADER");
const CODING: (&str, &str) = ("accept-encoding", "gzip");
const AGENT: (&str, &str) = ("user-agent", "okhttp/3.10.0");

const PARAMS: Ask =
    Ask { fields: &[COOKIE, CODING, AGENT], ..get("/benchmark_params?a=adam&b=bob&c=charlie&d=david", "benchmark") };

const FORM: Ask = Ask {
    method: "POST",
    fields: &[COOKIE, CODING, AGENT, ("content-type", "application/x-www-form-urlencoded")],
    body: "s=sam&i=2&l=10000000&b=true",
    ..get("/benchmark_object?a=adam&b=bob", "benchmark")
};

const JSON: Ask = Ask {
    fields: &[COOKIE, CODING, AGENT, ("content-type", "application/json")],
    body: r#"{ "s":"sam", "i":2, "l":10000000, "b":true  }"#,
    ..FORM
};

/// The rows: a name, the name of the component's file, and the request.
pub const ROWS: [(&str, &str, Ask); 15] = [
    ("raw", "raw", get("/", "Hello, World!")),
    ("hello", "hello", HELLO),
    ("hello-no-std", "hello-no-std", HELLO),
    ("json", "json", get("/", r#"{"hello":"world"}"#)),
    ("health", "bench", get("/health", "healthy")),
    ("params", "bench", PARAMS),
    ("post-form", "bench", FORM),
    ("post-json", "bench", JSON),
    ("hello-p3", "hello-p3", HELLO),
    ("hello-no-std-p3", "hello-no-std-p3", HELLO),
    ("json-p3", "json-p3", get("/", r#"{"hello":"world"}"#)),
    ("health-p3", "bench-p3", get("/health", "healthy")),
    ("params-p3", "bench-p3", PARAMS),
    ("post-form-p3", "bench-p3", FORM),
    ("post-json-p3", "bench-p3", JSON),
];
