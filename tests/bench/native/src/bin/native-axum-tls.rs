//! The workloads on axum, in HTTP/1.1 or HTTP/2 over TLS; over plain HTTP as well, so that one can see when it is there.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::serve::ListenerExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

fn main() {
    let port = std::env::args().nth(2).and_then(|text| text.parse().ok()).expect("the second argument is a port");
    SECURE.set((port, acceptor())).ok().expect("nobody else sets it");
    native::run(|listener| Box::pin(serve(listener)));
}

/// The port for https, and what shakes hands there.
static SECURE: OnceLock<(u16, TlsAcceptor)> = OnceLock::new();

/// A certificate that nobody has to trust.
fn acceptor() -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("its key");
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key);
    let mut config = config.expect("a key of the certificate");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn serve(listener: TcpListener) {
    let (port, acceptor) = SECURE.get().expect("set by main");
    let secure = native::listen(*port).expect("a free port");
    let secure = TcpListener::from_std(secure).expect("a listener");
    let app = workloads_axum::router(0);
    tokio::spawn(accept(secure, acceptor.clone(), app.clone()));
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    let _ = axum::serve(listener, app).await;
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, app: Router) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        tokio::spawn(connection(stream, acceptor.clone(), app.clone()));
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, app: Router) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let http = Builder::new(TokioExecutor::new());
    let _ = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(app)).await;
}
