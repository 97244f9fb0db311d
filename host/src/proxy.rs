//! The PROXY protocol, versions 1 and 2: who connected to a balancer that passes bytes on.
//!
//! Own code, as the crates for it take what the specification does not allow, such as ports with a
//! sign or a version 1 line of any length.

use crate::stream::Plain;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest header that is read; those of version 2 may carry more than addresses.
const MAX_HEADER: usize = 4096;
/// The longest line of version 1, with its end.
const MAX_LINE: usize = 107;
/// What a header of version 2 begins with.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
const FIXED: usize = 16;

/// How far a header is known.
#[derive(Debug, PartialEq, Eq)]
enum Header {
    /// It can't be longer than this, or not be understood with less.
    Until(usize),
    /// It has this many bytes; without a source the connection is the balancer's own.
    Whole(usize, Option<SocketAddr>),
}

/// Reads the header at the start of a connection and gives the address in it.
///
/// # Errors
/// When there is none, or the connection ends.
pub(crate) async fn read(stream: &mut Plain) -> io::Result<Option<SocketAddr>> {
    loop {
        match parse(stream.ahead()).ok_or(io::ErrorKind::InvalidData)? {
            Header::Until(total) => stream.look(total).await?,
            Header::Whole(length, source) => {
                stream.skip(length);
                return Ok(source);
            }
        }
    }
}

/// Reads as much of a header as there is; `None` if it is none.
fn parse(bytes: &[u8]) -> Option<Header> {
    let start = |with: &[u8]| bytes.iter().zip(with).all(|(a, b)| a == b);
    if start(SIGNATURE) {
        parse_v2(bytes)
    } else if start(b"PROXY ") {
        parse_v1(bytes)
    } else {
        None
    }
}

fn parse_v1(bytes: &[u8]) -> Option<Header> {
    let bounded = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let Some(end) = bounded.windows(2).position(|two| two == b"\r\n") else {
        return (bytes.len() < MAX_LINE).then_some(Header::Until(MAX_LINE));
    };
    let line = std::str::from_utf8(bounded.get(..end)?).ok()?;
    let mut words = line.strip_prefix("PROXY ")?.split(' ');
    let family = words.next()?;
    if family == "UNKNOWN" {
        return Some(Header::Whole(end + 2, None));
    }
    let mut word = || words.next();
    let (source, target) = (word()?, word()?);
    let (port, target_port) = (parse_port(word()?)?, parse_port(word()?)?);
    if word().is_some() {
        return None;
    }
    let parse = |text: &str| -> Option<IpAddr> {
        match family {
            "TCP4" => text.parse::<Ipv4Addr>().ok().map(Into::into),
            "TCP6" => text.parse::<Ipv6Addr>().ok().map(Into::into),
            _ => None,
        }
    };
    parse(target).map(|ip| (ip, target_port))?;
    Some(Header::Whole(end + 2, Some(SocketAddr::new(parse(source)?, port))))
}

/// A port is digits without a leading zero.
fn parse_port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| digits)
}

fn parse_v2(bytes: &[u8]) -> Option<Header> {
    let Some(fixed) = bytes.first_chunk::<FIXED>() else {
        return Some(Header::Until(FIXED));
    };
    let [.., command, family, high, low] = *fixed;
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    if length > MAX_HEADER || command >> 4 != 2 || command & 15 > 1 {
        return None;
    }
    let Some(rest) = bytes.get(FIXED..length) else {
        return Some(Header::Until(length));
    };
    // The balancer's own connection, such as a health check, whatever the addresses say.
    if command & 15 == 0 {
        return Some(Header::Whole(length, None));
    }
    let source = match family {
        0x11 => {
            let (ip, port) = (rest.first_chunk::<4>()?, rest.get(8..12)?.first_chunk::<2>()?);
            Some(SocketAddr::from((*ip, u16::from_be_bytes(*port))))
        }
        0x21 => {
            let (ip, port) = (rest.first_chunk::<16>()?, rest.get(32..36)?.first_chunk::<2>()?);
            Some(SocketAddr::from((*ip, u16::from_be_bytes(*port))))
        }
        // Unspecified, and Unix sockets at the balancer's side.
        0x00 => None,
        0x31 if rest.len() >= 216 => None,
        _ => return None,
    };
    Some(Header::Whole(length, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `header` and something behind it to the parser, whole and in every piece.
    #[track_caller]
    fn check(header: &[u8], wanted: Option<&str>) {
        let behind = [header, b"GET / HTTP/1.1\r\n"].concat();
        let wanted = wanted.map(|text| (header.len(), text.parse().ok()));
        for length in 0..header.len() {
            match parse(&behind[..length]) {
                Some(Header::Until(total)) => assert!(total > length && total <= MAX_HEADER, "{header:?}"),
                Some(whole) => panic!("{header:?} ends at {length}: {whole:?}"),
                None => assert_eq!(wanted, None, "{header:?} at {length}"),
            }
        }
        for length in header.len()..=behind.len() {
            let got = match parse(&behind[..length]) {
                Some(Header::Whole(length, source)) => Some((length, source)),
                Some(Header::Until(_)) | None => None,
            };
            assert_eq!(got, wanted, "{header:?} at {length}");
        }
    }

    #[test]
    fn lines_of_version_1() {
        let good = |line: &str, source: &str| check(line.as_bytes(), Some(source));
        let bad = |line: &str| check(line.as_bytes(), None);
        good("PROXY TCP4 192.0.2.1 192.0.2.2 5000 80\r\n", "192.0.2.1:5000");
        good("PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535");
        good("PROXY TCP6 2001:db8::1 ::1 5000 80\r\n", "[2001:db8::1]:5000");
        good("PROXY UNKNOWN\r\n", "none");
        good("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", "none");
        bad("PROXY TCP4 192.0.2.1 192.0.2.2 5000\r\n");
        bad("PROXY TCP4 192.0.2.1 192.0.2.2 5000 80 1\r\n");
        bad("PROXY TCP4 192.0.2.1  192.0.2.2 5000 80\r\n");
        bad("PROXY TCP4 2001:db8::1 ::1 5000 80\r\n");
        bad("PROXY TCP6 192.0.2.1 192.0.2.2 5000 80\r\n");
        bad("PROXY TCP4 192.0.2.1 192.0.2.2 +5000 80\r\n");
        bad("PROXY TCP4 192.0.2.1 192.0.2.2 05000 80\r\n");
        bad("PROXY TCP4 192.0.2.1 192.0.2.2 65536 80\r\n");
        bad("PROXY TCP4 192.0.2.01 192.0.2.2 5000 80\r\n");
        bad("PROXY UDP4 192.0.2.1 192.0.2.2 5000 80\r\n");
        bad("PROXY \r\n");
        bad("PROXY TCP4 192.0.2.1 192.0.2.2 5000 80\n\r\n");
        bad("proxy TCP4 192.0.2.1 192.0.2.2 5000 80\r\n");
        bad(&format!("PROXY UNKNOWN {}\r\n", "x".repeat(MAX_LINE)));
        good(&format!("PROXY UNKNOWN {}\r\n", "x".repeat(MAX_LINE - 16)), "none");
    }

    #[test]
    fn headers_of_version_2() {
        let header = |command: u8, family: u8, rest: &[u8]| {
            let length = u16::try_from(rest.len()).expect("short").to_be_bytes();
            [&SIGNATURE[..], &[command, family], &length, rest].concat()
        };
        let v4 = [192, 0, 2, 1, 192, 0, 2, 2, 0x13, 0x88, 0, 80];
        let v6: Vec<u8> = [&[0x20, 1, 0xd, 0xb8], &[0; 11][..], &[1], &[0; 15], &[1], &[0x13, 0x88, 0, 80]].concat();
        let extra = [4, 0, 3, 1, 2, 3];
        check(&header(0x21, 0x11, &v4), Some("192.0.2.1:5000"));
        check(&header(0x21, 0x11, &[&v4[..], &extra].concat()), Some("192.0.2.1:5000"));
        check(&header(0x21, 0x21, &v6), Some("[2001:db8::1]:5000"));
        check(&header(0x21, 0x21, &[&v6[..], &extra].concat()), Some("[2001:db8::1]:5000"));
        check(&header(0x20, 0x11, &v4), Some("none"));
        check(&header(0x20, 0, &[]), Some("none"));
        check(&header(0x20, 0xff, &extra), Some("none"));
        check(&header(0x21, 0, &extra), Some("none"));
        check(&header(0x21, 0x31, &[0; 216]), Some("none"));
        check(&header(0x21, 0x31, &[0; 215]), None);
        check(&header(0x21, 0x11, &v4[..11]), None);
        check(&header(0x21, 0x21, &v6[..35]), None);
        check(&header(0x21, 0x12, &v4), None);
        check(&header(0x22, 0x11, &v4), None);
        check(&header(0x11, 0x11, &v4), None);
        check(&header(0x20, 0, &[0; MAX_HEADER - FIXED]), Some("none"));
        check(&header(0x20, 0, &[0; MAX_HEADER - FIXED + 1]), None);
        check(b"\r\n\r\n\0\r\nQUIT\r\x21\x11\0\0", None);
        check(b"GET / HTTP/1.1\r\n", None);
        check(b"\x16\x03\x01", None);
    }
}
