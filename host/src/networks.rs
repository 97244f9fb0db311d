//! Lists of networks: whom the operator trusts to speak for others.

use crate::StartError;
use crate::peer::Peer;
use ipnet::IpNet;
use std::net::IpAddr;

/// Networks, and maybe whoever comes through a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Networks {
    nets: Vec<IpNet>,
    unix: bool,
}

impl Networks {
    /// Reads the entries of `key`: `10.0.0.0/8`, `::1`, `unix`.
    ///
    /// # Errors
    /// When one is something else, or has bits set behind its prefix.
    pub(crate) fn parse(key: &str, entries: &[String]) -> Result<Self, StartError> {
        let mut networks = Self::default();
        for entry in entries {
            if entry == "unix" {
                networks.unix = true;
                continue;
            }
            let net = entry.parse::<IpNet>().or_else(|_| entry.parse::<IpAddr>().map(IpNet::from));
            let net = net.map_err(|_| {
                StartError::new(format!(
                    "{key}: {entry:?} is no network; write an address, a network such as 10.0.0.0/8, or unix"
                ))
            })?;
            // A slip of the pen here would trust strangers.
            if net.addr() != net.network() {
                return Err(StartError::new(format!("{key}: {entry:?} is no network; did you mean {}?", net.trunc())));
            }
            networks.nets.push(net);
        }
        Ok(networks)
    }

    /// Whether there is nobody in them.
    pub(crate) fn is_empty(&self) -> bool {
        self.nets.is_empty() && !self.unix
    }

    /// Whether `peer` is in one of them.
    pub(crate) fn contain(&self, peer: Peer) -> bool {
        match peer.ip() {
            Some(ip) => self.contain_ip(ip),
            None => self.unix,
        }
    }

    /// Whether `ip` is in one of them; an IPv4 address in the form of IPv6 is an IPv4 address.
    pub(crate) fn contain_ip(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.nets.iter().any(|net| net.contains(&ip))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Networks, String> {
        let entries: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        Networks::parse("the.key", &entries).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(list: &str, inside: &[&str], outside: &[&str]) {
        let networks = parse(list).expect("networks");
        let contain = |text: &&str| networks.contain_ip(text.parse().expect("an address"));
        assert!(inside.iter().all(contain), "{list}");
        assert!(!outside.iter().any(contain), "{list}");
    }

    #[test]
    fn addresses_are_inside_or_outside() {
        check("", &[], &["127.0.0.1", "::1"]);
        check("192.0.2.1", &["192.0.2.1", "::ffff:192.0.2.1"], &["192.0.2.2", "::1"]);
        check("10.0.0.0/8 2001:db8::/32", &["10.255.0.1", "2001:db8:1::1"], &["11.0.0.0", "2001:db9::"]);
        check("0.0.0.0/0", &["1.2.3.4", "255.255.255.255"], &["::1"]);
        check("::/0", &["::1", "fe80::1"], &["1.2.3.4"]);
        assert!(parse("unix").expect("a list").contain(Peer::Unix));
        assert!(!parse("0.0.0.0/0 ::/0").expect("a list").contain(Peer::Unix));
    }

    #[test]
    fn mistakes_are_named() {
        for (wrong, part) in [
            ("10.0.0.1/8", "did you mean 10.0.0.0/8"),
            ("10.0.0.0/33", "the.key: \"10.0.0.0/33\" is no network"),
            ("localhost", "is no network"),
            ("10.0.0", "is no network"),
        ] {
            let why = parse(wrong).expect_err("no network");
            assert!(why.contains(part), "{why}");
        }
    }
}
