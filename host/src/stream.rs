//! The bytes of a connection: over TCP or a Unix socket, in plain or under TLS.
//!
//! One type for all of them, so that the protocols above are compiled once.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// What a client hears for whom there is no room, without waiting: one who can't take this many bytes
/// at once gets none.
pub(crate) const SORRY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A connection that has just been accepted, on its way to another thread.
pub(crate) enum Accepted {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

/// A socket of either kind.
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A socket whose first bytes may have been looked at.
pub(crate) struct Plain {
    socket: Socket,
    /// What was read to be looked at, and is still to be read.
    ahead: Vec<u8>,
}

/// What HTTP is spoken over.
pub(crate) enum Stream {
    Plain(Plain),
    Tls(Box<TlsStream<Plain>>),
}

impl Accepted {
    /// Has the runtime of this thread watch over the socket.
    ///
    /// # Errors
    /// When it can't.
    pub(crate) fn enter(self) -> io::Result<Plain> {
        let socket = match self {
            Self::Tcp(stream) => Socket::Tcp(TcpStream::from_std(stream)?),
            Self::Unix(stream) => Socket::Unix(UnixStream::from_std(stream)?),
        };
        Ok(Plain { socket, ahead: Vec::new() })
    }
}

impl Socket {
    /// Takes the socket out of the runtime of this thread.
    ///
    /// # Errors
    /// When it can't.
    pub(crate) fn leave(self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(stream) => {
                let _ = stream.set_nodelay(true);
                Ok(Accepted::Tcp(stream.into_std()?))
            }
            Self::Unix(stream) => Ok(Accepted::Unix(stream.into_std()?)),
        }
    }

    /// Writes what can be written without waiting.
    pub(crate) fn try_write(&self, bytes: &[u8]) {
        // A client that takes nothing gets nothing.
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        };
    }
}

impl Plain {
    /// The bytes that have been looked at and not yet read.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.ahead
    }

    /// Reads on until `total` bytes can be looked at, or fewer when fewer come at once.
    ///
    /// # Errors
    /// When the connection breaks, or ends.
    pub(crate) async fn look(&mut self, total: usize) -> io::Result<()> {
        let have = self.ahead.len();
        self.ahead.resize(total.max(have + 1), 0);
        let more = self.ahead.get_mut(have..).unwrap_or_default();
        let count = match &mut self.socket {
            Socket::Tcp(stream) => stream.read(more).await,
            Socket::Unix(stream) => stream.read(more).await,
        };
        self.ahead.truncate(have + *count.as_ref().unwrap_or(&0));
        if count? == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Drops the first `count` of the bytes that have been looked at.
    pub(crate) fn skip(&mut self, count: usize) {
        self.ahead.drain(..count.min(self.ahead.len()));
    }

    /// Writes what can be written without waiting.
    pub(crate) fn try_write(&self, bytes: &[u8]) {
        self.socket.try_write(bytes);
    }

    /// Moves the bytes that were looked at to `buf`; `false` if there are none.
    fn take_ahead(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        if self.ahead.is_empty() {
            return false;
        }
        let count = self.ahead.len().min(buf.remaining());
        buf.put_slice(self.ahead.get(..count).unwrap_or_default());
        self.ahead.drain(..count);
        if self.ahead.is_empty() {
            self.ahead = Vec::new();
        }
        true
    }
}

impl AsyncRead for Plain {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.take_ahead(buf) {
            return Poll::Ready(Ok(()));
        }
        match &mut self.socket {
            Socket::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Socket::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

/// Writing is handed through to whichever stream it is.
macro_rules! write_through {
    ($name:ty, |$this:ident| $target:expr, $first:path, $second:path) => {
        impl AsyncWrite for $name {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                let $this = self.get_mut();
                match &mut $target {
                    $first(stream) => Pin::new(stream).poll_write(cx, buf),
                    $second(stream) => Pin::new(stream).poll_write(cx, buf),
                }
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let $this = self.get_mut();
                match &mut $target {
                    $first(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
                    $second(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
                }
            }

            fn is_write_vectored(&self) -> bool {
                let $this = self;
                match &$target {
                    $first(stream) => stream.is_write_vectored(),
                    $second(stream) => stream.is_write_vectored(),
                }
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = self.get_mut();
                match &mut $target {
                    $first(stream) => Pin::new(stream).poll_flush(cx),
                    $second(stream) => Pin::new(stream).poll_flush(cx),
                }
            }

            fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = self.get_mut();
                match &mut $target {
                    $first(stream) => Pin::new(stream).poll_shutdown(cx),
                    $second(stream) => Pin::new(stream).poll_shutdown(cx),
                }
            }
        }
    };
}

write_through!(Plain, |this| this.socket, Socket::Tcp, Socket::Unix);
write_through!(Stream, |this| *this, Stream::Plain, Stream::Tls);
