//! HTTP/2 with prior knowledge: the same promises, told in frames.

use crate::support::{Running, config, misbehave3};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;

pub type Sender = SendRequest<Full<Bytes>>;

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

pub async fn connect(addr: SocketAddr) -> Sender {
    let stream = tokio::net::TcpStream::connect(addr).await.expect("connected");
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("a handshake");
    tokio::spawn(connection);
    sender
}

/// What came back: a status, and the body, or what was there of it when the stream was reset.
async fn exchange(
    sender: &mut Sender,
    method: &str,
    path: &str,
    body: &'static str,
) -> Result<(u16, Vec<u8>, bool), String> {
    let request = Request::builder()
        .method(method)
        .version(Version::HTTP_2)
        .uri(format!("http://a.org:81{path}"))
        .body(Full::from(body))
        .expect("a request");
    sender.ready().await.map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    let status = response.status().as_u16();
    let (mut body, mut all) = (response.into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => all.extend_from_slice(frame.data_ref().map_or(&[], |data| &data[..])),
            Err(_) => return Ok((status, all, false)),
        }
    }
    Ok((status, all, true))
}

#[test]
fn misdeeds_of_guests_reset_one_stream_and_no_more() {
    let running = Running::start(config());
    block_on(async {
        let mut sender = connect(running.server.addr()).await;
        for (path, status, body, whole) in [
            ("/early", 200, "early", true),
            ("/trap-after-head", 200, "begun", false),
            ("/trap-after-length", 200, "begun", false),
            ("/never-after-head", 200, "begun", false),
            ("/forget-body-later", 200, "begun", false),
            ("/status-body?404", 404, "a body", true),
            ("/status-body?204", 204, "", true),
            ("/slow-chunks?2", 200, "tick\ntick\n", true),
        ] {
            let got = exchange(&mut sender, "GET", path, "").await.expect("an answer");
            assert_eq!(got, (status, body.as_bytes().to_vec(), whole), "{path}");
        }
        for (path, status) in [("/trap", 500), ("/never", 504), ("/busy", 504), ("/silent", 500)] {
            let (got, body, whole) = exchange(&mut sender, "GET", path, "").await.expect("an answer");
            assert!(whole && got == status, "{path}: {got}");
            assert!(String::from_utf8_lossy(&body).contains("request id"), "{path}");
        }
        // All of that was one connection, and it still works.
        let (_, body, _) = exchange(&mut sender, "GET", "/x", "").await.expect("an answer");
        let text = String::from_utf8_lossy(&body).into_owned();
        assert!(text.contains("Some(Scheme::Http) Some(\"a.org:81\") Some(\"/x\")"), "{text}");
    });
}

#[test]
fn streams_share_a_connection() {
    for component in [crate::support::misbehave(), misbehave3()] {
        let running = Running::serve(component, config());
        block_on(async {
            let sender = connect(running.server.addr()).await;
            let tasks: Vec<_> = (0..20)
                .map(|_| {
                    let mut sender = sender.clone();
                    tokio::spawn(async move { exchange(&mut sender, "GET", "/sleep?100", "").await })
                })
                .collect();
            let begin = std::time::Instant::now();
            for task in tasks {
                let (status, body, whole) = task.await.expect("no panic").expect("an answer");
                assert_eq!((status, &body[..], whole), (200, &b"slept"[..], true));
            }
            assert!(begin.elapsed().as_millis() < 1500, "{:?}", begin.elapsed());
        });
    }
}

#[test]
fn bodies_and_their_limit() {
    let running = Running::start(config());
    block_on(async {
        let mut sender = connect(running.server.addr()).await;
        let echoed = exchange(&mut sender, "POST", "/echo", "hello").await.expect("an answer");
        assert_eq!(echoed, (200, b"hello".to_vec(), true));
        let big: &'static str = "x".repeat(100_001).leak();
        let refused = exchange(&mut sender, "POST", "/read", big).await;
        assert!(refused.as_ref().is_ok_and(|(status, ..)| *status == 413), "{refused:?}");
        let head = exchange(&mut sender, "HEAD", "/early", "").await.expect("an answer");
        assert_eq!(head, (200, Vec::new(), true));
    });
}

#[test]
fn a_drain_says_goodbye() {
    let running = Running::start(config());
    block_on(async {
        let mut sender = connect(running.server.addr()).await;
        let mut later = sender.clone();
        let open = tokio::spawn(async move { exchange(&mut sender, "GET", "/sleep?300", "").await });
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        running.server.drain();
        let (status, body, whole) = open.await.expect("no panic").expect("an answer");
        assert_eq!((status, &body[..], whole), (200, &b"slept"[..], true));
        assert!(exchange(&mut later, "GET", "/early", "").await.is_err());
    });
}
