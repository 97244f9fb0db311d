//! Dumps of requests and responses into the log, for whoever asks for them.
//!
//! What proves who somebody is, is shortened: a log is read by more people than a password is for.

use crate::{Config, Log};
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, PROXY_AUTHORIZATION, SET_COOKIE};
use hyper::{Request, Response, Version};

/// The dump of one exchange.
#[derive(Clone)]
pub(crate) struct Trace {
    log: Log,
    id: u64,
    secrets: bool,
    limit: usize,
}

/// Which way a message goes; also how its lines are marked.
#[derive(Clone, Copy)]
enum Way {
    In,
    Out,
}

impl Trace {
    /// The dump for the exchange `id`, if the operator wants one.
    pub(crate) fn of(config: &Config, log: &Log, id: u64) -> Option<Box<Self>> {
        let Config { trace_secrets: secrets, trace_body_bytes: limit, .. } = *config;
        config.trace.then(|| Box::new(Self { log: log.clone(), id, secrets, limit }))
    }

    /// Shows the head of a request as it came.
    pub(crate) fn request<B>(&self, request: &Request<B>) {
        let version = version(request.version());
        self.line(Way::In, &shown(format!("{} {} {version}", request.method(), request.uri()).as_bytes()));
        self.fields(Way::In, request.headers());
    }

    /// Shows the head of a response as it goes.
    pub(crate) fn response<B>(&self, response: &Response<B>) {
        let status = response.status();
        self.line(Way::Out, &format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()));
        self.fields(Way::Out, response.headers());
    }

    /// Shows the beginning of the request's body, and how long it was.
    pub(crate) fn request_body(&self) -> Tap {
        Tap { trace: self.clone(), way: Way::In, kept: Vec::new(), total: 0 }
    }

    /// Shows the beginning of the response's body, and how long it was.
    pub(crate) fn response_body(&self) -> Tap {
        Tap { trace: self.clone(), way: Way::Out, kept: Vec::new(), total: 0 }
    }

    fn fields(&self, way: Way, headers: &HeaderMap) {
        for (name, value) in headers {
            let value = if self.secrets { shown(value.as_bytes()) } else { shown(&discreet(name, value.as_bytes())) };
            self.line(way, &format!("{name}: {value}"));
        }
    }

    fn line(&self, way: Way, text: &str) {
        let mark = match way {
            Way::In => '>',
            Way::Out => '<',
        };
        self.log.line(format!("trace [{:016x}] {mark} {text}", self.id));
    }
}

/// Sees a body go by, and tells of it at its end.
pub(crate) struct Tap {
    trace: Trace,
    way: Way,
    kept: Vec<u8>,
    total: u64,
}

impl Tap {
    /// Takes note of the next bytes.
    pub(crate) fn see(&mut self, bytes: &[u8]) {
        let room = self.trace.limit.saturating_sub(self.kept.len());
        self.kept.extend(bytes.iter().take(room));
        self.total += bytes.len() as u64;
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        if self.total == 0 {
            return;
        }
        let total = self.total;
        let more = if total > self.kept.len() as u64 { " …" } else { "" };
        // A cut may go through a character.
        let text = match std::str::from_utf8(&self.kept) {
            Ok(text) => Some(text),
            Err(error) if error.error_len().is_none() => {
                self.kept.get(..error.valid_up_to()).and_then(|whole| std::str::from_utf8(whole).ok())
            }
            Err(_) => None,
        };
        let text = text.map_or("(not text)".to_owned(), |text| shown(text.as_bytes()));
        self.trace.line(self.way, &format!("body of {total} bytes: {text}{more}"));
    }
}

/// A field's value without what must stay a secret: credentials, and the values of cookies.
fn discreet(name: &HeaderName, value: &[u8]) -> Vec<u8> {
    let hidden = |kept: &[u8]| [kept, "…".as_bytes()].concat();
    let of_cookie = |pair: &[u8]| match pair.iter().position(|&byte| byte == b'=') {
        Some(end) => hidden(pair.get(..=end).unwrap_or_default()),
        None => hidden(b""),
    };
    match *name {
        AUTHORIZATION | PROXY_AUTHORIZATION => match value.iter().position(|&byte| byte == b' ') {
            Some(end) => hidden(value.get(..=end).unwrap_or_default()),
            None => hidden(b""),
        },
        COOKIE => value.split(|&byte| byte == b';').map(of_cookie).collect::<Vec<_>>().join(&b';'),
        SET_COOKIE => {
            let end = value.iter().position(|&byte| byte == b';').unwrap_or(value.len());
            let (pair, attributes) = value.split_at(end);
            [of_cookie(pair), attributes.to_vec()].concat()
        }
        _ => value.to_vec(),
    }
}

/// Text for a terminal: nothing in it steers, ends a line, or turns it round.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\\' => {
                out.extend(c.escape_default());
            }
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, wanted: &str) {
        let name = HeaderName::try_from(name).expect("a name");
        assert_eq!(String::from_utf8(discreet(&name, value.as_bytes())).as_deref(), Ok(wanted));
    }

    #[test]
    fn secrets_are_shortened() {
        check("authorization", "Bearer abc.def", "Bearer …");
        check("authorization", "abcdef", "…");
        check("proxy-authorization", "Basic YTpi", "Basic …");
        check("cookie", "sid=1234; theme=dark", "sid=…; theme=…");
        check("cookie", "lonely", "…");
        check("set-cookie", "sid=1234; Path=/; HttpOnly", "sid=…; Path=/; HttpOnly");
        check("set-cookie", "sid=1=2", "sid=…");
        check("accept", "text/html", "text/html");
    }

    #[test]
    fn nothing_steers_the_terminal() {
        for (bytes, wanted) in [
            (&b"plain \xc3\xa9"[..], "plain é"),
            (b"\x1b[2J\r\n\0\x7f\\", r"\u{1b}[2J\r\n\u{0}\u{7f}\\"),
            (b"\xff", "\u{fffd}"),
            ("\u{202e}\u{9b}".as_bytes(), r"\u{202e}\u{9b}"),
        ] {
            assert_eq!(shown(bytes), wanted);
        }
    }
}
