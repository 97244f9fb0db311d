//! Where connections come from: ports, Unix sockets, and what the operating system hands over.

use crate::peer::Peer;
use crate::stream::Socket;
use crate::tls::Tls;
use crate::{Config, StartError};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Open sockets that wait to be served.
#[derive(Debug, Default)]
pub struct Listeners(pub(crate) Vec<Listener>);

/// One open socket.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) door: Door,
    /// Whether https is spoken here.
    pub(crate) secure: bool,
    /// Removed when the listener is dropped.
    file: Option<SocketFile>,
}

/// The kinds of sockets that accept connections.
#[derive(Debug)]
pub(crate) enum Door {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// What clients connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) secure: bool,
    pub(crate) place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Port(SocketAddr),
    Path(PathBuf),
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

impl Listeners {
    /// Opens everything that `config` names.
    ///
    /// # Errors
    /// When one of them can't be opened, or there is none.
    pub(crate) fn open(config: &Config) -> Result<Self, StartError> {
        let mut all = Vec::new();
        if config.http {
            all.push(Listener::port(config.addr)?);
        }
        if Tls::is_wanted(config) {
            all.push(Listener::port(SocketAddr::new(config.addr.ip(), config.tls_port))?.secure());
        }
        if let Some(path) = &config.unix {
            all.push(Listener::path(path, config.unix_mode)?);
        }
        if all.is_empty() {
            return Err(StartError::new(
                "nothing to listen on: server.http is off, and there is neither a certificate nor server.unix",
            ));
        }
        Ok(Self(all))
    }
}

impl Listener {
    /// Listens for http on a port.
    ///
    /// # Errors
    /// When the port is in use or not allowed, or the address is not one of this machine.
    pub(crate) fn port(addr: SocketAddr) -> Result<Self, StartError> {
        open_port(addr).map(Into::into)
    }

    /// Listens for http on a Unix socket.
    ///
    /// # Errors
    /// When the path is taken by anything but the socket of a server that is gone.
    pub(crate) fn path(path: &Path, mode: u32) -> Result<Self, StartError> {
        make_way(path)?;
        let (socket, file) = open_path(path, mode).map_err(|error| {
            let path = path.display();
            StartError::new(match error.kind() {
                ErrorKind::NotFound => format!("server.unix: the folder of {path} does not exist"),
                ErrorKind::PermissionDenied => format!("server.unix: no permission to make {path}"),
                ErrorKind::InvalidInput => format!("server.unix: {path} is too long for the name of a socket"),
                _ => format!("server.unix: can't listen on {path}: {error}"),
            })
        })?;
        Ok(Self { door: Door::Unix(socket), secure: false, file: Some(file) })
    }

    /// Speaks https instead.
    pub(crate) fn secure(self) -> Self {
        Self { secure: true, ..self }
    }

    /// Makes the listener ready for a runtime, and tells where it is.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn prepare(&self) -> io::Result<Endpoint> {
        let place = match &self.door {
            Door::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                Place::Port(socket.local_addr()?)
            }
            Door::Unix(socket) => {
                socket.set_nonblocking(true)?;
                Place::Path(socket.local_addr()?.as_pathname().map(Path::to_owned).unwrap_or_default())
            }
        };
        Ok(Endpoint { secure: self.secure, place })
    }

    /// Has the runtime of this thread watch over the listener.
    ///
    /// # Errors
    /// When it can't.
    pub(crate) fn enter(self) -> io::Result<Entrance> {
        Ok(match self.door {
            Door::Tcp(socket) => Entrance::Tcp(tokio::net::TcpListener::from_std(socket)?),
            Door::Unix(socket) => Entrance::Unix(tokio::net::UnixListener::from_std(socket)?, self.file),
        })
    }
}

impl Endpoint {
    /// Its address, unless it is a Unix socket.
    pub(crate) fn addr(&self) -> Option<SocketAddr> {
        match self.place {
            Place::Port(addr) => Some(addr),
            Place::Path(_) => None,
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(socket: TcpListener) -> Self {
        Self { door: Door::Tcp(socket), secure: false, file: None }
    }
}

impl From<UnixListener> for Listener {
    fn from(socket: UnixListener) -> Self {
        Self { door: Door::Unix(socket), secure: false, file: None }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        match &self.place {
            Place::Port(addr) => write!(f, "{scheme}://{addr}/"),
            Place::Path(path) => write!(f, "{scheme}+unix:{}", path.display()),
        }
    }
}

/// A listener inside of a runtime.
pub(crate) enum Entrance {
    Tcp(tokio::net::TcpListener),
    /// With the file, which goes when nobody accepts any more.
    Unix(tokio::net::UnixListener, #[allow(dead_code, reason = "dropped at the end")] Option<SocketFile>),
}

impl Entrance {
    /// Waits for the next connection.
    ///
    /// # Errors
    /// When there is none to be had, at least for now.
    pub(crate) async fn accept(&self) -> io::Result<(Socket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, addr) = listener.accept().await?;
                Ok((Socket::Tcp(stream), Peer::Ip(addr)))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Socket::Unix(stream), Peer::Unix))
            }
        }
    }
}

/// The file of a Unix socket, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another server may have put its own in this place.
        let ours =
            fs::symlink_metadata(&self.path).is_ok_and(|meta| (meta.dev(), meta.ino()) == (self.device, self.inode));
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a port.
///
/// # Errors
/// When the port is in use or not allowed, or the address is not one of this machine.
pub(crate) fn open_port(addr: SocketAddr) -> Result<TcpListener, StartError> {
    let open = || {
        let domain = socket2::Domain::for_address(addr);
        let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
        // A server that was just stopped must not keep its successor from the port.
        socket.set_reuse_address(true)?;
        socket.bind(&addr.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    let (ip, port) = (addr.ip(), addr.port());
    open().map_err(|error: io::Error| {
        StartError::new(match error.kind() {
            ErrorKind::AddrInUse => format!(
                "port {port} on {ip} is in use by another program; stop it or choose another with \
             --port (0 takes a free one)"
            ),
            ErrorKind::PermissionDenied => format!(
                "no permission to listen on port {port}: ports below 1024 need privileges; choose \
             another with --port"
            ),
            ErrorKind::AddrNotAvailable => {
                format!("{ip} is not an address of this machine; choose another with --host")
            }
            _ => format!("can't listen on {addr}: {error}"),
        })
    })
}

/// Removes the socket of a server that is gone.
fn make_way(path: &Path) -> Result<(), StartError> {
    let shown = path.display();
    let Ok(meta) = fs::symlink_metadata(path) else { return Ok(()) };
    if !meta.file_type().is_socket() {
        return Err(StartError::new(format!(
            "server.unix: {shown} exists and is no socket; remove it or choose another path"
        )));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(|error| {
            StartError::new(format!("server.unix: the socket {shown} of an earlier server can't be removed: {error}"))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(StartError::new(format!("server.unix: {shown} exists and belongs to somebody else")))
        }
        _ => Err(StartError::new(format!(
            "server.unix: {shown} is in use by another program; stop it or choose another path"
        ))),
    }
}

fn open_path(path: &Path, mode: u32) -> io::Result<(UnixListener, SocketFile)> {
    let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
    socket.bind(&socket2::SockAddr::unix(path)?)?;
    let meta = fs::symlink_metadata(path)?;
    let file = SocketFile { path: path.to_owned(), device: meta.dev(), inode: meta.ino() };
    // Nobody can connect before there is a listener, so nobody slips in before the mode is set.
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    socket.listen(BACKLOG)?;
    Ok((socket.into(), file))
}
