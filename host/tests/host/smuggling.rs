//! HTTP/1 that could mean two things: the same bytes to the host and to nginx, and bytes that were never meant at all.

use crate::client::Client;
use crate::nginx::Nginx;
use crate::support::{Running, config};
use std::net::SocketAddr;

/// What follows each case: if it is answered, everything before it was a whole number of requests.
const LAST: &str = "GET /read HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n";

/// Sends `bytes`, and tells the statuses and bodies of all final answers; the bodies of errors are left out.
fn answers(addr: SocketAddr, bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut client = Client::connect(addr);
    client.send([bytes, LAST.as_bytes()].concat());
    let mut all = Vec::new();
    while let Some(reply) = client.read_reply(false) {
        if reply.status >= 200 {
            all.push((reply.status, if reply.status < 300 { reply.body } else { Vec::new() }));
        }
    }
    all
}

/// What two servers make of the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opinion {
    /// Both see the same requests with the same bodies.
    Same,
    /// Both refuse the first request.
    Refused,
    /// The host refuses what nginx takes; the reason stands beside the case.
    Stricter,
    /// The host takes what nginx refuses; the reason stands beside the case.
    Looser,
}
use Opinion::{Looser, Refused, Same, Stricter};

/// Compares what the host and nginx make of `bytes`; an error tells of both.
fn compare(host: SocketAddr, nginx: SocketAddr, bytes: &[u8], wanted: Opinion) -> Result<(), String> {
    let (ours, theirs) = (answers(host, bytes), answers(nginx, bytes));
    let whole = |answers: &[(u16, Vec<u8>)]| !answers.is_empty() && answers.iter().all(|(status, _)| *status == 200);
    let refused = |answers: &[(u16, Vec<u8>)]| answers.first().is_none_or(|(status, _)| *status >= 400);
    let got = match () {
        () if whole(&ours) && ours == theirs => Some(Same),
        () if refused(&ours) && refused(&theirs) => Some(Refused),
        () if refused(&ours) => Some(Stricter),
        () if refused(&theirs) => Some(Looser),
        () => None,
    };
    // Whoever refuses must not go on to find another request in what was refused.
    let ended = !refused(&ours) || ours.len() <= 1;
    if got == Some(wanted) && ended {
        return Ok(());
    }
    Err(format!("{:?}: {got:?} {ours:?}, and nginx {theirs:?}", String::from_utf8_lossy(bytes)))
}

#[test]
fn nginx_agrees_on_where_requests_end() {
    let (running, nginx) = (Running::start(config()), Nginx::start());
    let compare = |bytes: &str, wanted| compare(running.server.addr(), nginx.addr, bytes.as_bytes(), wanted).err();
    let post = |fields: &str, body: &str| format!("POST /read HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}");
    let chunked = |body: &str| post("Transfer-Encoding: chunked\r\n", body);
    let get = |line: &str| format!("{line}\r\nHost: a\r\n\r\n");
    let cases = [
        (post("Content-Length: 5\r\n", "hello"), Same),
        (post("Content-Length: 0\r\n", ""), Same),
        (post("Content-Length: 005\r\n", "hello"), Same),
        (post("content-LENGTH:5\r\n", "hello"), Same),
        (post("Content-Length:  5  \r\n", "hello"), Same),
        (post("", ""), Same),
        (post("Content-Length: 3\r\n", "abc").repeat(3), Same),
        // RFC 9112 6.3: the same length twice may be taken for one.
        (post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), Looser),
        (post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), Refused),
        (post("Content-Length: 5, 5\r\n", "hello"), Refused),
        (post("Content-Length: 5 5\r\n", "hello"), Refused),
        (post("Content-Length: +5\r\n", "hello"), Refused),
        (post("Content-Length: -5\r\n", "hello"), Refused),
        (post("Content-Length: 0x5\r\n", "hello"), Refused),
        (post("Content-Length: 5.0\r\n", "hello"), Refused),
        (post("Content-Length:\r\n", ""), Refused),
        (post("Content-Length: 99999999999999999999\r\n", ""), Refused),
        // RFC 9112 6.3: the chunks count, and nothing is read after them, so there is nothing to smuggle.
        (post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), Looser),
        (post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), Looser),
        (post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: identity\r\n", ""), Refused),
        (post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: chunked;x=y\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: \u{b}chunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), Refused),
        (post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), Same),
        (post("Transfer-Encoding: CHUNKED\r\n", "5\r\nhello\r\n0\r\n\r\n"), Same),
        (post("transfer-encoding:chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"), Same),
        ("POST /read HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(), Refused),
        (chunked("05\r\nhello\r\n0\r\n\r\n"), Same),
        (chunked("A\r\n0123456789\r\n0\r\n\r\n"), Same),
        (chunked("a\r\n0123456789\r\n00\r\n\r\n"), Same),
        (chunked("5;x=y\r\nhello\r\n0\r\n\r\n"), Same),
        (chunked("5;x=\"y\"\r\nhello\r\n0;z\r\n\r\n"), Same),
        (chunked("3\r\nabc\r\n0\r\nX-Trailer: 1\r\n\r\n"), Same),
        (chunked("5\r\nhelloX\r\n0\r\n\r\n"), Refused),
        // nginx does not look at what stands after the five bytes.
        (chunked("5\r\nhell\r\n0\r\n\r\n"), Stricter),
        (chunked("-5\r\nhello\r\n0\r\n\r\n"), Refused),
        (chunked("+5\r\nhello\r\n0\r\n\r\n"), Refused),
        (chunked("0x5\r\nhello\r\n0\r\n\r\n"), Refused),
        // nginx skips everything between a size and the end of its line.
        (chunked("5 5\r\nhello\r\n0\r\n\r\n"), Stricter),
        (chunked("g\r\nhello\r\n0\r\n\r\n"), Refused),
        (chunked("\r\nhello\r\n0\r\n\r\n"), Refused),
        (chunked("fffffffffffffffff\r\nhello\r\n0\r\n\r\n"), Refused),
        (chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), Refused),
        (chunked("5\rhello\r\n0\r\n\r\n"), Refused),
        (get("GET /read HTTP/1.1"), Same),
        (get("GET http://b/read HTTP/1.1"), Same),
        (get("GET http://b:80/read HTTP/1.1"), Same),
        // RFC 9112 3: single spaces, of which nginx takes more.
        (get("GET /read  HTTP/1.1"), Stricter),
        (get("GET  /read HTTP/1.1"), Stricter),
        (get(" GET /read HTTP/1.1"), Refused),
        (get("GET /read"), Refused),
        (get("GET /read HTTP/1.1 HTTP/1.1"), Refused),
        (get("GET /read HTTP/1.1x"), Refused),
        (get("GET /read HTTP/01.1"), Refused),
        (get("GET /read HTTP/3.0"), Refused),
        (get("GET /read http/1.1"), Refused),
        (get("GET read HTTP/1.1"), Refused),
        (get("GET /re\0ad HTTP/1.1"), Refused),
        (get("GET /re\rad HTTP/1.1"), Refused),
        (get("G(T /read HTTP/1.1"), Refused),
        (get("CONNECT a:80 HTTP/1.1"), Refused),
        (get("GET /read HTTP/1.1\r\nHost: b"), Refused),
        (get("GET /read HTTP/1.1\r\nX: a\0b"), Refused),
        (get("GET /read HTTP/1.1\r\n: x"), Refused),
        // nginx leaves out a line that is no field.
        (get("GET /read HTTP/1.1\r\nX"), Stricter),
        (get("GET /read HTTP/1.1\r\n X: y"), Refused),
        ("GET /read HTTP/1.1\r\n\r\n".to_owned(), Refused),
        ("GET /read HTTP/1.1\r\nHost: a b\r\n\r\n".to_owned(), Refused),
        ("GET /read HTTP/1.1\r\nHost: a/b\r\n\r\n".to_owned(), Refused),
        ("GET /read HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_owned(), Same),
        (format!("\r\n\r\n{}", get("GET /read HTTP/1.1")), Same),
    ];
    let wrong: Vec<String> = cases.iter().filter_map(|(bytes, wanted)| compare(bytes, *wanted)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Numbers from a seed, the same in every run.
struct Dice(u64);

impl Dice {
    /// A number below `sides` (xorshift64*).
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    fn pick<'a>(&mut self, from: &[&'a [u8]]) -> &'a [u8] {
        from[self.roll(from.len())]
    }
}

/// A request that was good once.
fn mutated(dice: &mut Dice) -> Vec<u8> {
    let start: [&[u8]; 6] = [
        b"GET /read HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n",
        b"POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world",
        b"POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-T: 1\r\n\r\n",
        b"GET http://a.org:80/read?x=%20 HTTP/1.1\r\nHost: a.org\r\nConnection: keep-alive, TE\r\nTE: trailers\r\n\r\n",
        b"POST /echo HTTP/1.0\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi",
        b"OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
    ];
    let pieces: [&[u8]; 30] = [
        b"\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"\t",
        b":",
        b";",
        b",",
        b"\xff",
        b"\x80",
        b"0",
        b"5",
        b"ffffffffffffffff",
        b"99999999999999999999",
        b"-1",
        b"chunked",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: x\r\n",
        b"Host: b\r\n",
        b"Host",
        b"\r\n\r\n",
        b" HTTP/1.1",
        b"HTTP/2.0",
        b"PRI * ",
        b"%00",
        b"..",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
    ];
    let mut bytes = dice.pick(&start).to_vec();
    for _ in 0..1 + dice.roll(3) {
        let at = dice.roll(bytes.len() + 1);
        let end = at + dice.roll(4).min(bytes.len() - at);
        match dice.roll(5) {
            0 => drop(bytes.splice(at..at, dice.pick(&pieces).iter().copied())),
            1 => drop(bytes.splice(at..end, dice.pick(&pieces).iter().copied())),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let more = bytes[at..(at + 20).min(bytes.len())].to_vec();
                bytes.splice(at..at, more);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = dice.roll(256) as u8;
                }
            }
        }
        if bytes.is_empty() {
            bytes.push(b'G');
        }
    }
    bytes
}

#[test]
fn mutated_requests_are_no_fault_of_the_host() {
    const CASES: u64 = 6000;
    const THREADS: u64 = 12;
    let mut config = config();
    // Heads and bodies that are not whole are waited for; here nothing more comes.
    config.limits.header_timeout = std::time::Duration::from_millis(60);
    config.limits.body_timeout = std::time::Duration::from_millis(60);
    config.limits.idle_timeout = std::time::Duration::from_millis(60);
    let running = Running::start(config);
    let addr = running.server.addr();
    let run = &|seed: u64| {
        let mut statuses = std::collections::BTreeMap::new();
        for case in 0..CASES / THREADS {
            let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (seed << 32 | case) << 8);
            let bytes = mutated(&mut dice);
            for (status, _) in answers(addr, &bytes) {
                // 501 is about methods and codings that a client may choose.
                let fine = matches!(status, 200..=499 | 501);
                assert!(fine, "{status} for {:?} ({})", String::from_utf8_lossy(&bytes), running.log());
                *statuses.entry(status).or_insert(0) += 1;
            }
        }
        statuses
    };
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(move || run(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no fault")).collect()
    });
    // The generator is worth something only if it makes both what is taken and what is refused.
    let count = |status: u16| all.iter().filter_map(|statuses| statuses.get(&status)).sum::<u64>();
    assert!(count(200) > CASES / 10 && count(400) > CASES / 10, "{all:?}");
    assert_eq!(Client::connect(addr).get("/early").text(), "early");
    assert!(!running.log().contains("trapped"), "{}", running.log());
}

#[test]
fn nginx_agrees_on_mutated_requests() {
    let (running, nginx) = (Running::start(config()), Nginx::start());
    let (host, nginx) = (running.server.addr(), nginx.addr);
    let run = &|seed: u64| {
        let mut agreed = 0;
        for case in 0..40_u64 {
            let mut dice = Dice(0x2545_f491_4f6c_dd1d ^ (seed << 32 | case) << 8);
            let bytes = mutated(&mut dice);
            let (ours, theirs) = (answers(host, &bytes), answers(nginx, &bytes));
            let whole = |answers: &[(u16, Vec<u8>)]| answers.iter().all(|(status, _)| *status == 200);
            if !whole(&ours) || !whole(&theirs) {
                continue;
            }
            // What both take they must take for the same; one may end the connection where the other goes on.
            for ((_, ours), (_, theirs)) in ours.iter().zip(&theirs) {
                let ours: &[u8] = if ours.starts_with(b"Method::") { b"other" } else { ours };
                assert_eq!(ours, theirs, "{:?}", String::from_utf8_lossy(&bytes));
                agreed += 1;
            }
        }
        agreed
    };
    let agreed: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..12).map(|seed| scope.spawn(move || run(seed))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no difference")).sum()
    });
    assert!(agreed > 100, "{agreed}");
}
