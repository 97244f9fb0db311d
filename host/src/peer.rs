//! Who is at the other end of a connection.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// The other end of a connection, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Something with an address.
    Ip(SocketAddr),
    /// A program of this machine, through a Unix socket.
    Unix,
}

impl Peer {
    /// Its address, where IPv4 is never written as IPv6.
    pub(crate) fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Ip(addr) => Some(addr.ip().to_canonical()),
            Self::Unix => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(addr) => addr.fmt(f),
            Self::Unix => f.write_str("unix"),
        }
    }
}
