//! One connection: HTTP/1 or HTTP/2, until it ends, idles too long or is asked to stop.

use crate::conn::{Conn, Stop, Timed};
use crate::metrics::Silence;
use crate::patience::Patient;
use crate::peer::Peer;
use crate::stream::{Plain, SORRY, Stream};
use crate::worker::{Guard, Worker};
use crate::{Limits, proxy, service};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io::ErrorKind;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// Serves one connection to its end.
pub(crate) async fn run(worker: Arc<Worker>, mut stream: Plain, mut guard: Guard) {
    let conn = guard.conn.clone();
    let limits = worker.shared.limits.clone();
    if conn.is_from(&worker.shared.sources.balancers) && !look_behind(&worker, &mut stream, &mut guard).await {
        return;
    }
    // A client that is silent for too long, stops half way or is already gone gets nothing more.
    match &guard.tls {
        Some(tls) => {
            let shaken = tokio::time::timeout(limits.tls_timeout, tls.acceptor().accept(stream));
            match until_stopped(&conn, pin!(shaken)).await {
                Some(Ok(Ok(stream))) => {
                    let session = stream.get_ref().1;
                    let h2 = session.alpn_protocol() == Some(b"h2");
                    if let Some(cert) = session.peer_certificates().and_then(|chain| chain.first()) {
                        conn.set_client_cert(cert);
                    }
                    serve(worker, conn, Stream::Tls(Box::new(stream)), h2).await;
                }
                Some(Err(_)) => worker.metrics.silence(Silence::Tls),
                Some(Ok(Err(_))) | None => {}
            }
        }
        None => {
            let sniffed = {
                let sniff = pin!(tokio::time::timeout(limits.header_timeout, starts_like_h2(&mut stream)));
                until_stopped(&conn, sniff).await
            };
            match sniffed {
                Some(Ok(Ok(h2))) => serve(worker, conn, Stream::Plain(stream), h2).await,
                Some(Err(_)) => worker.metrics.silence(Silence::Header),
                Some(Ok(Err(_))) | None => {}
            }
        }
    }
    drop(guard);
}

/// Reads who is behind a balancer; `false` if that can't be found out, or there is no room for it.
async fn look_behind(worker: &Worker, stream: &mut Plain, guard: &mut Guard) -> bool {
    let conn = guard.conn.clone();
    let read = {
        let read = pin!(tokio::time::timeout(worker.shared.limits.header_timeout, proxy::read(stream)));
        until_stopped(&conn, read).await
    };
    match read {
        Some(Ok(Ok(None))) => true,
        Some(Ok(Ok(Some(addr)))) => {
            let room = guard.is_of(Peer::Ip(addr));
            if !room && guard.tls.is_none() {
                stream.try_write(SORRY);
            }
            room
        }
        Some(Ok(Err(error))) if error.kind() == ErrorKind::InvalidData => {
            let peer = conn.peer();
            worker.shared.log.line(format!(
                "tabi: {peer} is in server.proxy_protocol_from, but began without a header of the PROXY protocol"
            ));
            false
        }
        Some(Err(_)) => {
            worker.metrics.silence(Silence::Header);
            false
        }
        _ => false,
    }
}

async fn serve(worker: Arc<Worker>, conn: Arc<Conn>, stream: Stream, h2: bool) {
    let limits = worker.shared.limits.clone();
    let io = Timed::new(TokioIo::new(stream), conn.clone(), limits.clone());
    let answer = {
        let conn = conn.clone();
        move |request| service::serve(worker.clone(), conn.clone(), request)
    };
    // What a client does wrong ends its connection and is nobody else's business.
    if h2 {
        conn.set_h2();
        // Each stream is a task, which is moved several times before it runs: what is large about it lies still.
        let service = service_fn(move |request| Box::pin(answer(request)));
        let served = pin!(h2_builder(&limits).serve_connection(io, service));
        let _ = drive(&conn, served, |served| served.graceful_shutdown()).await;
    } else {
        let served = pin!(h1_builder(&limits).serve_connection(io, service_fn(answer)));
        let _ = drive(&conn, served, |served| served.graceful_shutdown()).await;
    }
}

fn h1_builder(limits: &Limits) -> http1::Builder {
    let mut builder = http1::Builder::new();
    // The timers are those of `Timed`, which cost nothing per request.
    builder.header_read_timeout(None);
    // hyper needs 8 KiB to work with.
    builder.max_buf_size(limits.header_bytes.max(8192)).max_header_size(limits.header_bytes);
    // Another number than hyper's own costs an allocation for each request.
    if limits.header_count != 100 {
        builder.max_headers(limits.header_count);
    }
    builder
}

fn h2_builder(limits: &Limits) -> http2::Builder<Patient> {
    let mut builder = http2::Builder::new(Patient(limits.write_timeout));
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.h2_streams)
        .initial_stream_window_size(limits.h2_stream_window)
        .initial_connection_window_size(limits.h2_connection_window)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .max_pending_accept_reset_streams(limits.h2_pending_resets)
        .max_send_buf_size(256 * 1024)
        .keep_alive_interval(limits.idle_timeout / 2)
        .keep_alive_timeout(limits.write_timeout);
    builder
}

/// Polls a connection and its stop signal together.
async fn drive<C: Future>(conn: &Conn, mut served: Pin<&mut C>, drain: impl Fn(Pin<&mut C>)) -> Option<C::Output> {
    let (mut registered, mut draining) = (false, false);
    std::future::poll_fn(|cx| {
        match conn.stopping(cx, &mut registered) {
            Stop::Run => {}
            Stop::Drain if draining => {}
            Stop::Drain => {
                draining = true;
                drain(served.as_mut());
            }
            Stop::Abort => return Poll::Ready(None),
        }
        served.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Waits for something that has no work to finish, so that any stop ends it.
async fn until_stopped<F: Future>(conn: &Conn, mut work: Pin<&mut F>) -> Option<F::Output> {
    let mut registered = false;
    std::future::poll_fn(|cx| match conn.stopping(cx, &mut registered) {
        Stop::Run => work.as_mut().poll(cx).map(Some),
        Stop::Drain | Stop::Abort => Poll::Ready(None),
    })
    .await
}

/// Looks at the first bytes for HTTP/2 with prior knowledge (RFC 9113 3.3).
async fn starts_like_h2(stream: &mut Plain) -> std::io::Result<bool> {
    // No HTTP/1 method that anybody uses starts like the preface.
    const PREFACE: &[u8] = b"PRI * HTTP/2.0";
    loop {
        let seen = stream.ahead();
        if seen.starts_with(PREFACE) {
            return Ok(true);
        }
        if !PREFACE.starts_with(seen) {
            return Ok(false);
        }
        stream.look(PREFACE.len()).await?;
    }
}
