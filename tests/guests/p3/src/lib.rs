//! A `wasi:http@0.3` service for tests of hosts: each path is one way to go wrong, or a plain echo
//! of what the host passed on.

mod fetch;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use wasip3::clocks::monotonic_clock::wait_for;
use wasip3::http::types::{ErrorCode, Fields, HeaderError, Request, Response};
use wasip3::wit_bindgen::{StreamResult, spawn_local};
use wasip3::{wit_future, wit_stream};

wasip3::http::service::export!(Misbehave);

struct Misbehave;

impl wasip3::exports::http::handler::Guest for Misbehave {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let target = request.get_path_with_query().unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let number = query.parse::<u64>().unwrap_or(0);
        match path {
            "/trap" => trap(),
            "/trap-later" => {
                millis(number).await;
                trap()
            }
            "/panic" => panic!("the secret of the guest"),
            "/trap-after-head" => Ok(streaming(200, &[], async |body| {
                body.write_all(b"begun".to_vec()).await;
                millis(20).await;
                trap()
            })),
            "/never" => loop {
                millis(3_600_000).await;
            },
            "/never-after-head" => Ok(streaming(200, &[], async |body| {
                body.write_all(b"begun".to_vec()).await;
                loop {
                    millis(3_600_000).await;
                }
            })),
            "/busy" => busy(),
            "/endless" => {
                Ok(streaming(200, &[], async |body| while body.write_all(vec![b'x'; 4096]).await.is_empty() {}))
            }
            "/too-short" => Ok(respond(200, &[("content-length", "10")], b"12345")),
            "/too-long" => Ok(respond(200, &[("content-length", "3")], b"12345")),
            "/status" => Ok(respond(number as u16, &[], b"")),
            "/status-body" => Ok(respond(number as u16, &[], b"a body")),
            "/forbidden" => Ok(respond(200, &[], forbidden().as_bytes())),
            "/sockets" => Ok(respond(200, &[], sockets().await.as_bytes())),
            "/error" => Err(ErrorCode::InternalError(Some("the secret of the guest".into()))),
            "/refused" => Err(ErrorCode::ConnectionRefused),
            "/late-after-end" => {
                spawn_local(async move {
                    millis(number).await;
                    eprintln!("late work done");
                });
                Ok(respond(200, &[], b"whole"))
            }
            "/slow-chunks" => Ok(streaming(200, &[], async move |body| {
                for _ in 0..number {
                    body.write_all(b"tick\n".to_vec()).await;
                    millis(20).await;
                }
            })),
            "/document" => {
                Ok(streaming(200, &[("content-type", "text/plain"), ("etag", "\"a\"")], async move |body| {
                    let text = (0..).flat_map(|n| format!("line {n}\n").into_bytes()).take(number as usize);
                    body.write_all(text.collect()).await;
                }))
            }
            "/text-cut" => Ok(streaming(200, &[("content-type", "text/plain")], async |body| {
                body.write_all(b"begun".to_vec()).await;
                millis(20).await;
                trap()
            })),
            "/print" => {
                println!("to stdout");
                Ok(respond(200, &[], b"printed"))
            }
            "/echo" => Ok(echo(request)),
            "/keep" => {
                let (_done, result) = wit_future::new(|| Ok(()));
                let (input, _trailers) = Request::consume_body(request, result);
                let body = input.collect().await;
                Ok(respond(200, &[], body.len().to_string().as_bytes()))
            }
            "/large" => Ok(respond(200, &[], &vec![b'x'; (number as usize) << 20])),
            "/fetch" => Ok(respond(200, &[], fetch::fetch(&request).await.as_bytes())),
            "/again" => Ok(respond(fetch::again(&request).await, &[], b"")),
            "/early" => Ok(respond(200, &[], b"early")),
            "/grow" => {
                drop(std::hint::black_box(vec![1u8; (number as usize) << 20]));
                Ok(respond(200, &[], number.to_string().as_bytes()))
            }
            "/counter" => {
                static COUNT: AtomicU32 = AtomicU32::new(0);
                let count = COUNT.fetch_add(1, Relaxed) + 1;
                Ok(respond(200, &[], count.to_string().as_bytes()))
            }
            "/concurrent" => {
                // How many requests this instance works on, itself included, after a while.
                static OPEN: AtomicU32 = AtomicU32::new(0);
                static MOST: AtomicU32 = AtomicU32::new(0);
                let open = OPEN.fetch_add(1, Relaxed) + 1;
                MOST.fetch_max(open, Relaxed);
                millis(number).await;
                OPEN.fetch_sub(1, Relaxed);
                Ok(respond(200, &[], MOST.load(Relaxed).to_string().as_bytes()))
            }
            "/full" => {
                // For good: nothing takes it back.
                wasip3::wit_bindgen::backpressure_inc();
                millis(number).await;
                Ok(respond(200, &[], b"full"))
            }
            "/sleep" => {
                millis(number).await;
                Ok(respond(200, &[], b"slept"))
            }
            _ => {
                let text = describe(&request);
                Ok(respond(200, &[("content-type", "text/plain")], text.as_bytes()))
            }
        }
    }
}

async fn millis(count: u64) {
    wait_for(count * 1_000_000).await;
}

fn trap() -> ! {
    core::arch::wasm32::unreachable()
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

fn forbidden() -> String {
    ["connection", "transfer-encoding", "upgrade", "keep-alive", "host", "proxy-connection"]
        .map(|name| match Fields::new().append(name, b"x") {
            Err(HeaderError::Forbidden) => "forbidden",
            Err(_) => "other",
            Ok(()) => "allowed",
        })
        .join(",")
}

/// Tries to get at the network past the host's client.
async fn sockets() -> String {
    use wasip3::sockets::ip_name_lookup::resolve_addresses;
    use wasip3::sockets::types::{IpAddressFamily, TcpSocket, UdpSocket};
    format!(
        "{:?},{:?},{:?}",
        TcpSocket::create(IpAddressFamily::Ipv4).map(drop),
        UdpSocket::create(IpAddressFamily::Ipv6).map(drop),
        resolve_addresses("localhost".to_owned()).await.map(drop)
    )
}

type Writer = wasip3::wit_bindgen::StreamWriter<u8>;

fn streaming<F>(status: u16, headers: &[(&str, &str)], write: F) -> Response
where
    F: AsyncFnOnce(&mut Writer) + 'static,
{
    let (mut body, contents) = wit_stream::new();
    let (end, trailers) = wit_future::new(|| Ok(None));
    let (response, _sent) = Response::new(fields(headers), Some(contents), trailers);
    response.set_status_code(status).expect("status");
    spawn_local(async move {
        write(&mut body).await;
        drop(body);
        let _ = end.write(Ok(None)).await;
    });
    response
}

fn respond(status: u16, headers: &[(&str, &str)], bytes: &[u8]) -> Response {
    let bytes = bytes.to_vec();
    streaming(status, headers, async move |body| {
        body.write_all(bytes).await;
    })
}

/// Copies the request body to the response, piece by piece.
fn echo(request: Request) -> Response {
    let (_done, result) = wit_future::new(|| Ok(()));
    let (mut input, _trailers) = Request::consume_body(request, result);
    streaming(200, &[], async move |body| {
        loop {
            let (status, bytes) = input.read(Vec::with_capacity(4096)).await;
            if !body.write_all(bytes).await.is_empty() || status == StreamResult::Dropped {
                return;
            }
        }
    })
}

/// What the host told about the request.
fn describe(request: &Request) -> String {
    let mut text = format!(
        "{:?} {:?} {:?} {:?}\n",
        request.get_method(),
        request.get_scheme(),
        request.get_authority(),
        request.get_path_with_query()
    );
    let mut entries = request.get_headers().copy_all();
    entries.sort();
    for (name, value) in entries {
        text.push_str(&format!("{name}: {}\n", value.escape_ascii()));
    }
    text
}
