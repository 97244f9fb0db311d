//! The admin listener: metrics and health, on an address of its own, for the operator alone.

use crate::metrics_page::{TYPE, page};
use crate::server::{Observed, Server};
use crate::worker::block_on;
use crate::{Log, StartError};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::sync::oneshot;

/// A listener that tells how a [`Server`] is. It ends with the value.
pub struct Admin {
    addr: SocketAddr,
    state: Arc<State>,
    /// Ends the thread when it is dropped.
    _stop: oneshot::Sender<()>,
}

#[derive(Default)]
struct State {
    /// The server, once there is one.
    watched: OnceLock<(Observed, Vec<String>)>,
}

/// Connections at the same time; a scraper and a probe need one each.
const CONNECTIONS: usize = 32;
/// How long one connection may take, request and answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Admin {
    /// Listens on `addr`, with a thread of its own: a host whose workers are all busy still answers here.
    ///
    /// # Errors
    /// When the address can't be listened on.
    pub fn start(addr: SocketAddr, log: &Log) -> Result<Self, StartError> {
        let fail = |error| StartError::new(format!("admin.addr: can't listen on {addr}: {error}"));
        let listener = std::net::TcpListener::bind(addr).map_err(fail)?;
        listener.set_nonblocking(true).map_err(fail)?;
        let addr = listener.local_addr().map_err(fail)?;
        let state = Arc::new(State::default());
        let (stop, stopped) = oneshot::channel();
        let log = log.clone();
        let shared = state.clone();
        let work = move || block_on(&log, serve(listener, shared, stopped));
        std::thread::Builder::new().name("tabi-admin".into()).spawn(work).map_err(fail)?;
        Ok(Self { addr, state, _stop: stop })
    }

    /// Tells about `server`, whose apps have these names, from now on; before that, nothing is ready.
    pub fn watch(&self, server: &Server, apps: &[&str]) {
        let apps = apps.iter().map(|name| (*name).to_owned()).collect();
        let _ = self.state.watched.set((server.observed(), apps));
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

async fn serve(listener: std::net::TcpListener, state: Arc<State>, mut stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of files, most likely.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let state = state.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(PATIENCE, connection(stream, &state)).await;
            drop(place);
        });
    }
}

/// One request, so that nobody can keep a place.
async fn connection(stream: TcpStream, state: &State) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = answer(request.method(), request.uri().path(), state);
        async { Ok::<_, Infallible>(answer) }
    });
    let mut builder = http1::Builder::new();
    builder.keep_alive(false).header_read_timeout(None);
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

fn answer(method: &Method, path: &str, state: &State) -> Response<Full<Bytes>> {
    let text = |status, text: &str| (status, "text/plain; charset=utf-8", format!("{text}\n"));
    let watched = state.watched.get();
    let (status, kind, body) = match path {
        _ if method != Method::GET && method != Method::HEAD => text(StatusCode::METHOD_NOT_ALLOWED, "GET or HEAD"),
        "/healthz" => text(StatusCode::OK, "ok"),
        "/readyz" => match watched {
            None => text(StatusCode::SERVICE_UNAVAILABLE, "loading"),
            Some((observed, _)) if observed.is_open() => text(StatusCode::OK, "ready"),
            Some(_) => text(StatusCode::SERVICE_UNAVAILABLE, "draining"),
        },
        "/metrics" => match watched {
            None => text(StatusCode::SERVICE_UNAVAILABLE, "loading"),
            Some((observed, apps)) => {
                let apps: Vec<&str> = apps.iter().map(String::as_str).collect();
                (StatusCode::OK, TYPE, page(observed, &apps))
            }
        },
        _ => text(StatusCode::NOT_FOUND, "/metrics, /healthz or /readyz"),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
