//! Hello on hyper alone: the limit of what a server in Rust can do here.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

fn main() {
    native::run(|listener| Box::pin(serve(listener)));
}

async fn serve(listener: TcpListener) {
    // Connections stay on the thread that accepted them, so nothing has to be `Send`.
    let tasks = tokio::task::LocalSet::new();
    tasks.run_until(accept(listener)).await;
}

async fn accept(listener: TcpListener) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        tokio::task::spawn_local(async move {
            let http = hyper::server::conn::http1::Builder::new();
            let _ = http.serve_connection(TokioIo::new(stream), service_fn(hello)).await;
        });
    }
}

async fn hello(_: Request<hyper::body::Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, World!")));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(response)
}
