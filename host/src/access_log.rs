//! The access log: one line per exchange, in one of three forms.
//!
//! Clients choose what is in their requests, so everything of theirs is escaped: no request can end a
//! line, begin a field, or say something to the terminal that shows it.

use crate::AccessLog;
use crate::exchange::Outcome;
use crate::forwarded::Client;
use crate::metrics::{End, micros};
use hyper::header::{HeaderMap, HeaderName, REFERER, USER_AGENT};
use hyper::{Request, Version};
use std::time::SystemTime;

/// What a line tells of a request; the rest is known when its answer is over.
pub(crate) struct Record {
    form: AccessLog,
    time: SystemTime,
    client: Client,
    method: String,
    target: String,
    version: &'static str,
    referer: Vec<u8>,
    agent: Vec<u8>,
    /// The id that guest and client were told; empty for none.
    name: String,
}

/// Bytes of a referer or a user agent that a line has room for.
const LONGEST: usize = 1024;

impl Record {
    /// Takes down the head of `request`; `None` when the log is off.
    pub(crate) fn of<B>(form: AccessLog, client: Client, request: &Request<B>) -> Option<Self> {
        if form == AccessLog::Off {
            return None;
        }
        let headers = request.headers();
        // Lines for people are short.
        let field = |name| if form == AccessLog::Text { Vec::new() } else { field(headers, name) };
        let target = request.uri().path_and_query().map_or_else(|| request.uri().to_string(), ToString::to_string);
        Some(Self {
            form,
            time: SystemTime::now(),
            client,
            method: request.method().to_string(),
            target,
            version: version(request.version()),
            referer: field(REFERER),
            agent: field(USER_AGENT),
            name: String::new(),
        })
    }

    /// Notes who the client is, as proxies have told it.
    pub(crate) fn set_client(&mut self, client: &Client) {
        self.client = client.clone();
    }

    /// Notes the id that guest and client are told.
    pub(crate) fn set_name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// That id, where it is not the log's own.
    fn name(&self, id: u64) -> Option<&str> {
        Some(self.name.as_str()).filter(|name| !name.is_empty() && *name != format!("{id:016x}"))
    }

    /// The line, without its end.
    pub(crate) fn line(&self, outcome: &Outcome) -> String {
        match self.form {
            AccessLog::Off => String::new(),
            AccessLog::Text => self.text(outcome),
            AccessLog::Json => self.json(outcome),
            AccessLog::Combined => self.combined(outcome),
        }
    }

    fn text(&self, outcome: &Outcome) -> String {
        let Outcome { id, status, sent, .. } = outcome;
        let (request, peer) = (self.request(), &self.client);
        let guest = outcome.guest.map(|time| format!("guest {}us ", micros(time))).unwrap_or_default();
        let (total, end) = (micros(outcome.total), label(outcome.end));
        let name = self.name(*id).map(|name| format!(" as {}", escape(name.as_bytes()))).unwrap_or_default();
        let app = outcome.app.as_deref().map(|app| format!(" {app}")).unwrap_or_default();
        format!(r#"access [{id:016x}] {peer} "{request}" {status} {sent}B {guest}total {total}us {end}{name}{app}"#)
    }

    /// The combined form of Apache and nginx; what it has no place for is left out.
    fn combined(&self, outcome: &Outcome) -> String {
        let date = httpdate::fmt_http_date(self.time);
        // From "Mon, 30 Nov 2026 13:04:08 GMT".
        let mut words = date.split(' ').skip(1);
        let mut word = || words.next().unwrap_or_default();
        let (day, month, year, time) = (word(), word(), word(), word());
        let host = self.client.host();
        let or_dash = |bytes: &[u8]| if bytes.is_empty() { "-".to_owned() } else { escape(bytes) };
        let bytes = if outcome.sent == 0 { "-".to_owned() } else { outcome.sent.to_string() };
        format!(
            r#"{host} - - [{day}/{month}/{year}:{time} +0000] "{}" {} {bytes} "{}" "{}""#,
            self.request(),
            outcome.status,
            or_dash(&self.referer),
            or_dash(&self.agent),
        )
    }

    fn json(&self, outcome: &Outcome) -> String {
        let Self { version, .. } = self;
        let Outcome { id, status, sent, received, .. } = outcome;
        let text = |bytes: &[u8]| json(&String::from_utf8_lossy(bytes));
        let mut line = format!(
            r#"{{"time":"{}","id":"{id:016x}","peer":{},"method":{},"target":{},"version":"{version}","status":{status},"bytes":{sent},"received":{received}"#,
            rfc3339(self.time),
            json(&self.client.to_string()),
            json(&self.method),
            json(&self.target),
        );
        if let Some(name) = self.name(*id) {
            line.push_str(&format!(r#","request_id":{}"#, json(name)));
        }
        for (name, value) in [("referer", &self.referer), ("user_agent", &self.agent)] {
            if !value.is_empty() {
                line.push_str(&format!(r#","{name}":{}"#, text(value)));
            }
        }
        if let Some(app) = &outcome.app {
            line.push_str(&format!(r#","app":{}"#, json(app)));
        }
        for (name, time) in [("guest_micros", outcome.guest), ("cpu_micros", outcome.cpu)] {
            if let Some(time) = time {
                line.push_str(&format!(r#","{name}":{}"#, micros(time)));
            }
        }
        let (total, end) = (micros(outcome.total), label(outcome.end));
        line.push_str(&format!(r#","micros":{total},"end":"{end}"}}"#));
        line
    }

    fn request(&self) -> String {
        format!("{} {} {}", escape(self.method.as_bytes()), escape(self.target.as_bytes()), self.version)
    }
}

/// How an answer ended, in a word.
pub(crate) fn label(end: End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Cut => "cut",
        End::Gone => "client-gone",
    }
}

fn field(headers: &HeaderMap, name: HeaderName) -> Vec<u8> {
    let bytes = headers.get(name).map_or(&[][..], |value| value.as_bytes());
    bytes.get(..LONGEST).unwrap_or(bytes).to_vec()
}

fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        _ => "HTTP/1.1",
    }
}

/// The time as RFC 3339 has it, in UTC and to the millisecond.
pub(crate) fn rfc3339(time: SystemTime) -> String {
    let date = httpdate::fmt_http_date(time);
    let mut words = date.split(' ').skip(1);
    let mut word = || words.next().unwrap_or_default();
    let (day, month, year, clock) = (word(), word(), word(), word());
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let month = months.find(month).unwrap_or_default() / 3 + 1;
    let millis = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_millis();
    format!("{year}-{month:02}-{day}T{clock}.{millis:03}Z")
}

/// Bytes as Apache and nginx write them between quotes: what is not plain ASCII as `\xhh`.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out
}

/// Writes `text` as a JSON string, with everything escaped that would break it or mislead who reads it.
#[must_use]
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Those of Unicode end lines for some readers, and turn text round for others.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Peer;
    use std::time::Duration;

    fn line(form: AccessLog, target: &str, fields: &[(&str, &[u8])]) -> String {
        let mut request = Request::builder().uri(target);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        let mut record =
            Record::of(form, Client::Peer(Peer::Ip(([192, 0, 2, 1], 99).into())), &request).expect("a record");
        record.time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_796_043_848_007);
        record.line(&Outcome {
            app: None,
            id: 0xab,
            status: 200,
            sent: 5,
            received: 0,
            end: End::Complete,
            total: Duration::from_micros(30),
            guest: Some(Duration::from_micros(20)),
            cpu: None,
        })
    }

    #[track_caller]
    fn check(form: AccessLog, target: &str, fields: &[(&str, &[u8])], wanted: &str) {
        assert_eq!(line(form, target, fields), wanted);
    }

    #[test]
    fn lines_have_three_forms() {
        let fields: &[(&str, &[u8])] = &[("referer", b"http://a/"), ("user-agent", b"curl/8")];
        check(
            AccessLog::Text,
            "/a?b",
            fields,
            r#"access [00000000000000ab] 192.0.2.1:99 "GET /a?b HTTP/1.1" 200 5B guest 20us total 30us complete"#,
        );
        check(
            AccessLog::Combined,
            "/a?b",
            fields,
            r#"192.0.2.1 - - [30/Nov/2026:13:04:08 +0000] "GET /a?b HTTP/1.1" 200 5 "http://a/" "curl/8""#,
        );
        check(
            AccessLog::Combined,
            "http://example.org/a?b",
            &[],
            r#"192.0.2.1 - - [30/Nov/2026:13:04:08 +0000] "GET /a?b HTTP/1.1" 200 5 "-" "-""#,
        );
        check(
            AccessLog::Json,
            "/a?b",
            fields,
            concat!(
                r#"{"time":"2026-11-30T13:04:08.007Z","id":"00000000000000ab","peer":"192.0.2.1:99","method":"GET","#,
                r#""target":"/a?b","version":"HTTP/1.1","status":200,"bytes":5,"received":0,"referer":"http://a/","#,
                r#""user_agent":"curl/8","guest_micros":20,"micros":30,"end":"complete"}"#
            ),
        );
    }

    /// Every byte that a client can get into a line, in each of its places.
    #[test]
    fn a_line_stays_one_line_of_the_same_fields() {
        for byte in 0..=255u8 {
            let hostile = [b'a', byte, b'b'];
            let target = [b"/".as_slice(), &hostile].concat();
            let target = hyper::Uri::try_from(target.as_slice()).map_or("/".to_owned(), |uri| uri.to_string());
            for form in [AccessLog::Text, AccessLog::Json, AccessLog::Combined] {
                let value = hyper::header::HeaderValue::from_bytes(&hostile);
                let fields: &[(&str, &[u8])] = if value.is_ok() { &[("user-agent", &hostile)] } else { &[] };
                let line = line(form, &target, fields);
                assert!(!line.chars().any(char::is_control), "{byte:02x} {form:?}: {line:?}");
                let bare = line.replace("\\\\", "").replace("\\\"", "");
                let quotes = bare.matches('"').count();
                let usual = self::line(form, "/", if value.is_ok() { &[("user-agent", b"x")] } else { &[] });
                assert_eq!(quotes, usual.matches('"').count(), "{byte:02x} {form:?}: {line}");
            }
        }
    }

    #[test]
    fn what_clients_write_is_escaped() {
        assert_eq!(escape(b"a\"b\\c\r\n\x1b\xff"), r#"a\"b\\c\x0d\x0a\x1b\xff"#);
        assert_eq!(json("a\"\\\n\u{9b}\u{2028}\u{202e}é"), r#""a\"\\\u000a\u009b\u2028\u202eé""#);
        let long = vec![b'a'; 5000];
        assert!(line(AccessLog::Json, "/", &[("user-agent", &long)]).len() < 1400);
    }

    #[test]
    fn times_are_utc() {
        let at = |secs| rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(secs));
        assert_eq!(at(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_798_761_599), "2026-12-31T23:59:59.000Z");
    }
}
