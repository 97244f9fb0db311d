//! A `wasi:http@0.2` service for tests of hosts: each path is one way to go wrong, or a plain echo
//! of what the host passed on.

mod fetch;
mod state;

use std::io::Write;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::types::{
    ErrorCode, Fields, HeaderError, IncomingBody, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasip2::io::streams::StreamError;

wasip2::http::proxy::export!(Misbehave);

struct Misbehave;

impl wasip2::exports::http::incoming_handler::Guest for Misbehave {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let target = request.path_with_query().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let number = query.parse::<u64>().unwrap_or(0);
        match path {
            "/trap" => trap(),
            "/panic" => panic!("the secret of the guest"),
            "/stack" => println!("{}", deep(number.max(1))),
            "/trap-after-head" => {
                let body = begin(out, 200, &[]);
                let stream = body.write().expect("stream");
                stream.blocking_write_and_flush(b"begun").expect("write");
                subscribe_duration(20_000_000).block();
                trap();
            }
            "/trap-after-length" => {
                let body = begin(out, 200, &[("content-length", "10")]);
                let stream = body.write().expect("stream");
                stream.blocking_write_and_flush(b"begun").expect("write");
                subscribe_duration(20_000_000).block();
                trap();
            }
            "/trap-at-once-after-head" => {
                let body = begin(out, 200, &[]);
                body.write().expect("stream").blocking_write_and_flush(b"begun").expect("write");
                trap();
            }
            "/trap-after-end" => {
                respond(out, 200, &[], b"whole");
                trap();
            }
            "/late-after-end" => {
                respond(out, 200, &[], b"whole");
                subscribe_duration(number * 1_000_000).block();
                eprintln!("late work done");
            }
            "/silent" => drop(out),
            "/leak" => std::mem::forget(out),
            "/never" => loop {
                subscribe_duration(3_600_000_000_000).block();
            },
            "/never-after-head" => {
                let body = begin(out, 200, &[]);
                body.write().expect("stream").blocking_write_and_flush(b"begun").expect("write");
                loop {
                    subscribe_duration(3_600_000_000_000).block();
                }
            }
            "/busy" => busy(),
            "/busy-after-head" => {
                let body = begin(out, 200, &[]);
                body.write().expect("stream").blocking_write_and_flush(b"begun").expect("write");
                busy();
            }
            "/endless" => {
                let body = begin(out, 200, &[]);
                let mut stream = body.write().expect("stream");
                while stream.write_all(&[b'x'; 4096]).is_ok() {}
            }
            "/forget-body" => std::mem::forget(begin(out, 200, &[])),
            "/forget-body-later" => {
                let body = begin(out, 200, &[]);
                body.write().expect("stream").blocking_write_and_flush(b"begun").expect("write");
                subscribe_duration(20_000_000).block();
                std::mem::forget(body);
            }
            "/drop-body" => drop(begin(out, 200, &[])),
            "/too-short" => respond(out, 200, &[("content-length", "10")], b"12345"),
            "/too-long" => respond(out, 200, &[("content-length", "3")], b"12345"),
            "/no-body-but-length" => {
                let response = OutgoingResponse::new(fields(&[("content-length", "10")]));
                ResponseOutparam::set(out, Ok(response));
            }
            "/status" => respond(out, number as u16, &[], b""),
            "/status-body" => respond(out, number as u16, &[], b"a body"),
            "/error" => ResponseOutparam::set(out, Err(error(number))),
            "/forbidden" => respond(out, 200, &[], forbidden().as_bytes()),
            "/huge-headers" => {
                let fields = Fields::new();
                let value = vec![b'x'; 8192];
                for n in 0..number {
                    fields.append(&format!("x-{n}"), &value).expect("append");
                }
                let response = OutgoingResponse::new(fields);
                OutgoingBody::finish(response.body().expect("body"), None).expect("finish");
                ResponseOutparam::set(out, Ok(response));
            }
            "/grow" => respond(out, 200, &[], grow(number).to_string().as_bytes()),
            "/grow-and-trap" => {
                let mut all = Vec::new();
                loop {
                    all.push(vec![1u8; 1 << 20]);
                }
            }
            "/resources" => {
                let all: Vec<_> = (0..number).map(|_| Fields::new()).collect();
                respond(out, 200, &[], all.len().to_string().as_bytes());
            }
            "/random" => {
                let bytes = wasip2::random::random::get_random_bytes(number);
                respond(out, 200, &[], bytes.len().to_string().as_bytes());
            }
            "/print" => {
                println!("to stdout");
                eprintln!("to \x1b[31mstderr");
                respond(out, 200, &[], b"printed");
            }
            "/flood" => {
                let line = "y".repeat(1000);
                for _ in 0..number {
                    println!("{line}");
                }
                respond(out, 200, &[], b"flooded");
            }
            "/trailers" => {
                let body = begin(out, 200, &[("trailer", "x-sum")]);
                body.write().expect("stream").blocking_write_and_flush(b"data").expect("write");
                OutgoingBody::finish(body, Some(fields(&[("x-sum", "4")]))).expect("finish");
            }
            "/empty-chunks" => {
                let body = begin(out, 200, &[]);
                let stream = body.write().expect("stream");
                for piece in [&b""[..], b"a", b"", b"b", b""] {
                    stream.blocking_write_and_flush(piece).expect("write");
                    subscribe_duration(5_000_000).block();
                }
                drop(stream);
                OutgoingBody::finish(body, None).expect("finish");
            }
            "/slow-chunks" => {
                let body = begin(out, 200, &[]);
                let stream = body.write().expect("stream");
                for _ in 0..number {
                    stream.blocking_write_and_flush(b"tick\n").expect("write");
                    subscribe_duration(20_000_000).block();
                }
                drop(stream);
                OutgoingBody::finish(body, None).expect("finish");
            }
            "/document" => document(&request, out, number as usize),
            "/echo" => echo(request, out),
            "/read" => match read(&request) {
                Ok(bytes) => respond(out, 200, &[], &bytes),
                Err(_) => respond(out, 400, &[], b"the guest saw a broken body"),
            },
            "/early" => respond(out, 200, &[], b"early"),
            "/state" => respond(out, 200, &[], state::read_and_spoil().as_bytes()),
            "/seeds" => respond(out, 200, &[], state::seeds().as_bytes()),
            "/print-half" => {
                print!("half a line");
                let _ = std::io::stdout().flush();
                respond(out, 200, &[], b"printed");
            }
            "/counter" => respond(out, 200, &[], count().to_string().as_bytes()),
            "/fetch" => respond(out, 200, &[], fetch::fetch(&request).as_bytes()),
            "/again" => respond(out, fetch::again(&request), &[], b""),
            "/sockets" => respond(out, 200, &[], sockets().as_bytes()),
            "/network" => respond(out, 200, &[], network().as_bytes()),
            "/sleep" => {
                subscribe_duration(number * 1_000_000).block();
                respond(out, 200, &[], b"slept");
            }
            _ => respond(out, 200, &[("content-type", "text/plain")], describe(&request).as_bytes()),
        }
    }
}

fn trap() -> ! {
    core::arch::wasm32::unreachable()
}

fn deep(left: u64) -> u64 {
    // Too deep for any stack when asked for enough; the array keeps it from becoming a loop.
    let mut page = [left; 64];
    std::hint::black_box(&mut page);
    if left == 0 { page[0] } else { deep(left - 1) + page[(left % 64) as usize] }
}

fn busy() -> ! {
    let mut n = 0u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

fn fields(entries: &[(&str, &str)]) -> Fields {
    let fields = Fields::new();
    for (name, value) in entries {
        fields.append(name, value.as_bytes()).expect("append");
    }
    fields
}

fn begin(out: ResponseOutparam, status: u16, headers: &[(&str, &str)]) -> OutgoingBody {
    begin_with(out, status, fields(headers))
}

fn begin_with(out: ResponseOutparam, status: u16, fields: Fields) -> OutgoingBody {
    let response = OutgoingResponse::new(fields);
    response.set_status_code(status).expect("status");
    let body = response.body().expect("body");
    ResponseOutparam::set(out, Ok(response));
    body
}

fn respond(out: ResponseOutparam, status: u16, headers: &[(&str, &str)], bytes: &[u8]) {
    let body = begin(out, status, headers);
    if !bytes.is_empty() {
        let _ = body.write().expect("stream").blocking_write_and_flush(bytes);
    }
    let _ = OutgoingBody::finish(body, None);
}

fn error(number: u64) -> ErrorCode {
    match number {
        0 => ErrorCode::InternalError(Some("the secret of the guest".into())),
        1 => ErrorCode::ConnectionRefused,
        2 => ErrorCode::ConnectionReadTimeout,
        3 => ErrorCode::HttpRequestBodySize(Some(1)),
        4 => ErrorCode::HttpRequestHeaderSectionSize(None),
        5 => ErrorCode::HttpRequestUriTooLong,
        _ => ErrorCode::LoopDetected,
    }
}

fn forbidden() -> String {
    ["connection", "transfer-encoding", "upgrade", "keep-alive", "host", "proxy-connection"]
        .map(|name| match Fields::new().append(name, b"x") {
            Err(HeaderError::Forbidden) => "forbidden",
            Err(_) => "other",
            Ok(()) => "allowed",
        })
        .join(",")
}

/// Grows the memory by `megabytes` and tells how many of them were had.
fn grow(megabytes: u64) -> u64 {
    (0..megabytes).take_while(|_| core::arch::wasm32::memory_grow(0, 16) != usize::MAX).count() as u64
}

fn count() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Relaxed) + 1
}

/// Tries to send a request; the answer is the error.
fn network() -> String {
    use wasip2::http::outgoing_handler::{OutgoingRequest, handle};
    let request = OutgoingRequest::new(Fields::new());
    request.set_authority(Some("127.0.0.1:1")).expect("authority");
    request.set_path_with_query(Some("/")).expect("path");
    match handle(request, None) {
        Err(error) => format!("{error:?}"),
        Ok(future) => {
            future.subscribe().block();
            match future.get() {
                Some(Ok(Err(error))) => format!("{error:?}"),
                _ => "sent".to_owned(),
            }
        }
    }
}

/// Tries to get at the network past the host's client, by all ways that std has.
fn sockets() -> String {
    use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
    [
        TcpStream::connect("127.0.0.1:1").map(drop),
        TcpListener::bind("127.0.0.1:0").map(drop),
        UdpSocket::bind("127.0.0.1:0").map(drop),
        ("localhost", 1).to_socket_addrs().map(drop),
    ]
    .map(|done| done.map_or_else(|error| format!("{:?}", error.kind()), |()| "done".to_owned()))
    .join(",")
}

/// Reads the request body to its end.
fn read(request: &IncomingRequest) -> Result<Vec<u8>, StreamError> {
    let body = request.consume().expect("body");
    let input = body.stream().expect("stream");
    let mut all = Vec::new();
    loop {
        match input.blocking_read(4096) {
            Ok(bytes) => all.extend(bytes),
            Err(StreamError::Closed) => return Ok(all),
            Err(error) => return Err(error),
        }
    }
}

/// The values of a request field.
fn values(request: &IncomingRequest, name: &str) -> Vec<String> {
    request.headers().get(name).into_iter().map(|value| String::from_utf8_lossy(&value).into_owned()).collect()
}

/// The fields that the request asks for, each as `answer: name=value`.
fn asked(request: &IncomingRequest) -> Fields {
    let wanted = values(request, "answer");
    fields(&wanted.iter().filter_map(|field| field.split_once('=')).collect::<Vec<_>>())
}

/// Answers with `length` bytes of text and the fields that the request asks for; with 304 to who has
/// their tag, strong or weak; and breaks off before the end when `end` is `trap`.
fn document(request: &IncomingRequest, out: ResponseOutparam, length: usize) {
    let fields = asked(request);
    let tag = fields.get("etag").into_iter().next();
    let known = values(request, "if-none-match");
    let status = match values(request, "status").first().map(|status| status.parse()) {
        Some(Ok(status)) => status,
        _ if known.first().is_some_and(|known| Some(known.trim_start_matches("W/").as_bytes()) == tag.as_deref()) => {
            304
        }
        _ => 200,
    };
    let body = begin_with(out, status, fields);
    let mut stream = body.write().expect("stream");
    let text = (0..).flat_map(|n| format!("line {n}\n").into_bytes()).take(length).collect::<Vec<u8>>();
    let _ = stream.write_all(&text);
    drop(stream);
    if values(request, "end").iter().any(|end| end == "trap") {
        subscribe_duration(20_000_000).block();
        trap();
    }
    let trailers = values(request, "end").iter().any(|end| end == "trailers");
    let _ = OutgoingBody::finish(body, trailers.then(|| self::fields(&[("x-sum", "4")])));
}

/// Copies the request body to the response, piece by piece.
fn echo(request: IncomingRequest, out: ResponseOutparam) {
    let incoming: IncomingBody = request.consume().expect("body");
    let input = incoming.stream().expect("stream");
    let body = begin_with(out, 200, asked(&request));
    let mut output = body.write().expect("stream");
    loop {
        match input.blocking_read(4096) {
            Ok(bytes) => output.write_all(&bytes).expect("write"),
            Err(StreamError::Closed) => break,
            // The body broke off, so the answer must not look complete.
            Err(StreamError::LastOperationFailed(_)) => return,
        }
    }
    drop((input, output));
    OutgoingBody::finish(body, None).expect("finish");
}

/// What the host told about the request.
fn describe(request: &IncomingRequest) -> String {
    let mut text = format!(
        "{:?} {:?} {:?} {:?}\n",
        request.method(),
        request.scheme(),
        request.authority(),
        request.path_with_query()
    );
    let mut entries = request.headers().entries();
    entries.sort();
    for (name, value) in entries {
        text.push_str(&format!("{name}: {}\n", value.escape_ascii()));
    }
    text
}
