//! From a destination to a connection: the name, the address that may be used, TCP, TLS.

use super::address::is_private;
use super::failure;
use super::rules::{Leave, Name, Target};
use crate::networks::Networks;
use rustls::ClientConfig;
use rustls::pki_types::{DnsName, ServerName};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use wasmtime_wasi_http::Error;

/// Looks up names; tests have one of their own.
pub(crate) trait Resolve: Send + Sync {
    /// The addresses of `name`.
    fn resolve<'a>(
        &'a self,
        name: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;
}

/// The resolver of the system.
pub(crate) struct System;

impl Resolve for System {
    fn resolve<'a>(
        &'a self,
        name: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, port)).await?.collect()) })
    }
}

/// Finds the addresses of `target` that may be connected to, and only those.
///
/// What is connected to is one of these very addresses: a name that leads elsewhere a moment later
/// is not asked again.
///
/// # Errors
/// `DestinationIpProhibited` when there is none left, and what looking the name up ended with.
pub(crate) async fn addresses(
    resolver: &dyn Resolve,
    target: &Target,
    leave: Leave,
    private: &Networks,
) -> Result<Vec<SocketAddr>, Error> {
    let mut found = match &target.host {
        Name::Ip(ip) => vec![SocketAddr::new(*ip, target.port)],
        Name::Dns(name) => match resolver.resolve(name, target.port).await {
            Ok(found) if !found.is_empty() => found,
            // The system tells no code; its text is for the log and not for the guest.
            Ok(_) | Err(_) => return Err(Error::DnsError { rcode: None, info_code: None }),
        },
    };
    found.retain(|addr| may_reach(addr.ip(), leave, private));
    if found.is_empty() { Err(Error::DestinationIpProhibited) } else { Ok(found) }
}

fn may_reach(ip: IpAddr, leave: Leave, private: &Networks) -> bool {
    match leave {
        Leave::Literal => return true,
        Leave::Localhost if ip.to_canonical().is_loopback() => return true,
        Leave::Localhost | Leave::Public => {}
    }
    !is_private(ip) || private.contain_ip(ip)
}

/// Connects to the first of `addresses` that answers.
///
/// # Errors
/// What the last attempt ended with.
pub(crate) async fn tcp(addresses: &[SocketAddr], end: Instant) -> Result<TcpStream, Error> {
    let mut failed = Error::ConnectionTimeout;
    for (at, addr) in addresses.iter().enumerate() {
        // One that swallows packets must leave time for the others.
        let left = u32::try_from(addresses.len() - at).unwrap_or(u32::MAX);
        let now = Instant::now();
        let share = now + end.saturating_duration_since(now) / left;
        match timeout_at(share, TcpStream::connect(addr)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => failed = failure::of_connect(&error),
            Err(_) => failed = Error::ConnectionTimeout,
        }
    }
    Err(failed)
}

/// Secures a connection to `target`.
///
/// # Errors
/// What the handshake ended with.
pub(crate) async fn tls(
    tcp: TcpStream,
    target: &Target,
    config: &Arc<ClientConfig>,
    end: Instant,
) -> Result<TlsStream<TcpStream>, Error> {
    let name = match &target.host {
        Name::Ip(ip) => ServerName::from(*ip),
        Name::Dns(name) => match DnsName::try_from(name.clone()) {
            Ok(name) => ServerName::DnsName(name),
            Err(_) => return Err(Error::HttpRequestUriInvalid),
        },
    };
    match timeout_at(end, TlsConnector::from(config.clone()).connect(name, tcp)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(failure::of_tls(&error)),
        Err(_) => Err(Error::ConnectionTimeout),
    }
}

/// A connection whose other side has to take what is written within a time.
pub(crate) struct Wire {
    inner: Inner,
    patience: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
}

enum Inner {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Wire {
    pub(crate) fn plain(stream: TcpStream, patience: Duration) -> Self {
        Self { inner: Inner::Plain(stream), patience, stuck: None }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, patience: Duration) -> Self {
        Self { inner: Inner::Tls(Box::new(stream)), patience, stuck: None }
    }

    fn watch<T>(&mut self, cx: &mut Context<'_>, polled: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.stuck = None;
            return polled;
        }
        let patience = self.patience;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        stuck.as_mut().poll(cx).map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Inner::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let polled = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Inner::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        self.watch(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Inner::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        self.watch(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.inner {
            Inner::Plain(stream) => stream.is_write_vectored(),
            Inner::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Inner::Tls(stream) => Pin::new(stream).poll_flush(cx),
        };
        self.watch(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Inner::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        };
        self.watch(cx, polled)
    }
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
