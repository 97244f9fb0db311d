//! Addresses that a guest may not reach just because a name leads there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `ip` is one of this machine, of a private network, of a cloud's metadata service, or for
/// no single host of the internet at all.
///
/// The ranges are those of the registries of RFC 6890 that are not globally reachable. An address
/// that stands for one of IPv4 is judged as that.
pub(crate) fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_private_v4(ip),
        IpAddr::V6(ip) => match inner_v4(ip) {
            Some(ip) => is_private_v4(ip),
            None => is_private_v6(ip),
        },
    }
}

const V4: &[(Ipv4Addr, u8)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Azure's metadata and platform services, on an address that looks public.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Link-local, where the other clouds have their metadata.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, reserved, and the broadcast to everybody.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

const V6: &[(Ipv6Addr, u8)] = &[
    // Protocol assignments: Teredo, benchmarking, ORCHID.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// All that the internet uses of IPv6.
const GLOBAL_UNICAST: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

fn is_private_v4(ip: Ipv4Addr) -> bool {
    V4.iter().any(|&(base, bits)| within_v4(ip, base, bits))
}

fn is_private_v6(ip: Ipv6Addr) -> bool {
    !within_v6(ip, GLOBAL_UNICAST.0, GLOBAL_UNICAST.1) || V6.iter().any(|&(base, bits)| within_v6(ip, base, bits))
}

/// The address of IPv4 that packets to `ip` end up at: mapped, translated (RFC 6052) or 6to4 ones.
fn inner_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let bytes = ip.octets();
    let [.., e, f, g, h] = bytes;
    let [_, _, a, b, c, d, ..] = bytes;
    match ip.segments() {
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(Ipv4Addr::new(e, f, g, h)),
        [0x2002, ..] => Some(Ipv4Addr::new(a, b, c, d)),
        _ => None,
    }
}

fn within_v4(ip: Ipv4Addr, base: Ipv4Addr, bits: u8) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
    ip.to_bits() & mask == base.to_bits() & mask
}

fn within_v6(ip: Ipv6Addr, base: Ipv6Addr, bits: u8) -> bool {
    let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
    ip.to_bits() & mask == base.to_bits() & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ips: &[&str], private: bool) {
        for ip in ips {
            assert_eq!(is_private(ip.parse().expect("an address")), private, "{ip}");
        }
    }

    #[test]
    fn what_is_not_the_internet() {
        check(
            &["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "172.31.255.255"],
            true,
        );
        check(&["192.168.1.1", "169.254.169.254", "169.254.0.1", "100.64.0.1", "100.100.100.200", "192.0.0.192"], true);
        check(&["168.63.129.16", "198.18.0.1", "198.19.255.255", "192.0.2.1", "203.0.113.9", "198.51.100.1"], true);
        check(&["224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"], true);
        check(&["::", "::1", "::127.0.0.1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1"], true);
        check(&["2001::1", "2001:db8::1", "3fff::1", "100::1", "64:ff9b:1::a00:1", "5f00::1", "4000::1"], true);
        check(&["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"], true);
        check(&["64:ff9b::10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::1", "2002:a00:1::"], true);
    }

    #[test]
    fn what_is_the_internet() {
        check(
            &["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.0.0.1"],
            false,
        );
        check(
            &["172.15.255.255", "172.32.0.0", "192.167.0.1", "168.63.129.15", "198.17.0.1", "223.255.255.255"],
            false,
        );
        check(&["2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2001:200::1", "2400::1"], false);
        check(&["::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::1"], false);
    }
}
