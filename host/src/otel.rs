//! OpenTelemetry: a span for each request, tied to the trace that it belongs to.
//!
//! The W3C `traceparent` of a request is read and passed on with the host's own span as parent, and the
//! spans go to a collector by OTLP over HTTP, as JSON. That is one message of fixed shape, so there is no
//! library behind it: the official ones would bring a metrics and a logging system, and a second client.

use crate::access_log::json;
use crate::worker::block_on;
use crate::{Config, Log, StartError};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Spans that may wait to be sent; more are dropped, and counted.
const QUEUE: usize = 4096;
/// Spans in one message.
const BATCH: usize = 512;
/// How long a span may wait for others to go with it.
const GATHER: Duration = Duration::from_secs(1);
/// How long a collector may take for a message.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends spans from a thread of its own, without anybody waiting.
pub(crate) struct Exporter {
    queue: Sender<Message>,
    random: RandomState,
    count: AtomicU64,
    one_in: u64,
    dropped: AtomicU64,
    log: Log,
}

enum Message {
    Span(Box<Span>),
    Flush(std::sync::mpsc::SyncSender<()>),
}

/// The place of a request in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context {
    trace: u128,
    /// The host's span.
    span: u64,
    /// The span that the request came from.
    parent: Option<u64>,
    /// Whether somebody wants to see it.
    pub(crate) sampled: bool,
}

/// What a collector gets to know of a request.
pub(crate) struct Span {
    pub(crate) context: Context,
    pub(crate) begin: SystemTime,
    pub(crate) time: Duration,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) https: bool,
    pub(crate) host: String,
    pub(crate) version: &'static str,
    pub(crate) peer: String,
    pub(crate) status: u16,
    pub(crate) id: u64,
    /// Why the answer ended too early, if it did.
    pub(crate) fault: Option<&'static str>,
}

impl Exporter {
    /// Starts to send to the collector of the configuration, if it names one.
    ///
    /// # Errors
    /// When that is no `http` URL.
    pub(crate) fn start(config: &Config, log: &Log) -> Result<Option<Self>, StartError> {
        if config.otel_endpoint.is_empty() {
            return Ok(None);
        }
        let fail = |why: &str| StartError::new(format!("otel.endpoint: {:?} {why}", config.otel_endpoint));
        let uri: Uri = config.otel_endpoint.parse().map_err(|_| fail("is no URL"))?;
        if uri.scheme_str() != Some("http") || uri.host().is_none() {
            return Err(fail("is no http URL, such as http://127.0.0.1:4318"));
        }
        let (queue, spans) = channel(QUEUE);
        let (service, thread_log) = (config.otel_service.clone(), log.clone());
        let work = move || block_on(&thread_log, send_all(spans, &uri, &service, &thread_log));
        let thread = std::thread::Builder::new().name("tabi-otel".into()).spawn(work);
        thread.map_err(|error| StartError::new(format!("no thread for traces: {error}")))?;
        Ok(Some(Self {
            queue,
            random: RandomState::new(),
            count: AtomicU64::new(0),
            one_in: config.otel_one_in,
            dropped: AtomicU64::new(0),
            log: log.clone(),
        }))
    }

    /// Finds the place of a request, and has the guest see the host as the one that it comes from.
    pub(crate) fn context(&self, headers: &mut HeaderMap) -> Context {
        let number = self.count.fetch_add(1, Relaxed);
        let random = |part: u64| self.random.hash_one((number, part)).max(1);
        let given = headers.get("traceparent").and_then(|value| parse(value.as_bytes()));
        let context = match given {
            Some((trace, parent, sampled)) => Context { trace, span: random(0), parent: Some(parent), sampled },
            None => Context {
                trace: u128::from(random(1)) << 64 | u128::from(random(2)),
                span: random(0),
                parent: None,
                sampled: number.is_multiple_of(self.one_in.max(1)),
            },
        };
        if given.is_none() {
            // What belongs to a trace that nobody can read is about nothing.
            headers.remove("tracestate");
        }
        if let Ok(value) = HeaderValue::try_from(context.traceparent()) {
            headers.insert("traceparent", value);
        }
        context
    }

    /// Hands over a span, unless too many wait already.
    pub(crate) fn send(&self, span: Box<Span>) {
        if self.queue.try_send(Message::Span(span)).is_err() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Waits until everything handed over is sent, but not for longer than a message may take.
    pub(crate) fn flush(&self) {
        let (done, wait) = std::sync::mpsc::sync_channel(1);
        if self.queue.try_send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(PATIENCE);
        }
        let dropped = self.dropped.swap(0, Relaxed);
        if dropped > 0 {
            self.log.line(format!("tabi: {dropped} spans were dropped, the collector was too slow"));
        }
    }
}

impl Context {
    fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Reads a `traceparent`: trace, span and whether it is sampled (W3C Trace Context, 3.2).
fn parse(value: &[u8]) -> Option<(u128, u64, bool)> {
    let text = std::str::from_utf8(value).ok()?;
    let mut parts = text.split('-');
    let mut hex = |length: usize| {
        let part = parts.next()?;
        let lower = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (part.len() == length && lower).then_some(part)
    };
    let (version, trace, span, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    // Later versions may have more parts, and this one has not.
    if version == "ff" || version == "00" && parts.next().is_some() {
        return None;
    }
    let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
    let flags = u8::from_str_radix(flags, 16).ok()?;
    (trace != 0 && span != 0).then_some((trace, span, flags & 1 == 1))
}

/// The thread's life: gather, send, complain once.
async fn send_all(mut queue: Receiver<Message>, endpoint: &Uri, service: &str, log: &Log) {
    let mut complained = false;
    let mut spans = Vec::new();
    loop {
        let mut flushed = None;
        let Some(first) = queue.recv().await else { return };
        let mut next = Some(first);
        let end = tokio::time::sleep(GATHER);
        tokio::pin!(end);
        loop {
            match next.take() {
                Some(Message::Span(span)) => spans.push(span),
                Some(Message::Flush(done)) => {
                    flushed = Some(done);
                    break;
                }
                None => break,
            }
            if spans.len() >= BATCH {
                break;
            }
            tokio::select! {
                () = &mut end => break,
                message = queue.recv() => next = message,
            }
        }
        if !spans.is_empty() {
            let sent = tokio::time::timeout(PATIENCE, post(endpoint, message(service, &spans))).await;
            let failure = match sent {
                Ok(Ok(())) => None,
                Ok(Err(why)) => Some(why),
                Err(_) => Some("it takes too long".to_owned()),
            };
            match failure {
                Some(why) if !complained => {
                    log.line(format!("tabi: the collector at {endpoint} does not take spans: {why}"));
                    complained = true;
                }
                Some(_) => {}
                None => complained = false,
            }
            spans.clear();
        }
        if let Some(done) = flushed {
            let _ = done.send(());
        }
    }
}

async fn post(endpoint: &Uri, body: String) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let (host, port) = (endpoint.host().unwrap_or_default(), endpoint.port_u16().unwrap_or(80));
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, port)).await.map_err(|error| text(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| text(&error))?;
    tokio::spawn(connection);
    // The path of OTLP over HTTP lies below that of the endpoint.
    let path = format!("{}/v1/traces", endpoint.path().trim_end_matches('/'));
    let authority = endpoint.authority().map_or("", |authority| authority.as_str());
    let request = Request::post(path)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(CONNECTION, "close")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| text(&error))?;
    let response = sender.send_request(request).await.map_err(|error| text(&error))?;
    let status = response.status();
    let _ = Limited::new(response.into_body(), 64 * 1024).collect().await;
    if status.is_success() { Ok(()) } else { Err(format!("it answers {status}")) }
}

/// The message for a batch of spans: `ExportTraceServiceRequest` as JSON.
fn message(service: &str, spans: &[Box<Span>]) -> String {
    let spans: Vec<_> = spans.iter().map(|span| span.json()).collect();
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{}]}},"scopeSpans":[{{"scope":{{"name":"tabi","version":"{}"}},"spans":[{}]}}]}}]}}"#,
        text("service.name", service),
        env!("CARGO_PKG_VERSION"),
        spans.join(",")
    )
}

impl Span {
    fn json(&self) -> String {
        let Context { trace, span, parent, .. } = self.context;
        let parent = parent.map(|parent| format!(r#""parentSpanId":"{parent:016x}","#)).unwrap_or_default();
        let begin = self.begin.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let (begin, end) = (begin.as_nanos(), (begin + self.time).as_nanos());
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let mut attributes = vec![
            text("http.request.method", self.method.as_str()),
            text("url.path", path),
            text("url.scheme", if self.https { "https" } else { "http" }),
            text("server.address", &self.host),
            text("client.address", &self.peer),
            text("network.protocol.version", self.version),
            text("tabi.request_id", &format!("{:016x}", self.id)),
            format!(r#"{{"key":"http.response.status_code","value":{{"intValue":"{}"}}}}"#, self.status),
        ];
        if !query.is_empty() {
            attributes.push(text("url.query", query));
        }
        // The client's mistakes are no errors of a server.
        let error = self.fault.map(str::to_owned).or_else(|| (self.status >= 500).then(|| self.status.to_string()));
        let status = if error.is_some() { r#"{"code":2}"# } else { "{}" };
        attributes.extend(error.map(|error| text("error.type", &error)));
        format!(
            r#"{{"traceId":"{trace:032x}","spanId":"{span:016x}",{parent}"name":{},"kind":2,"startTimeUnixNano":"{begin}","endTimeUnixNano":"{end}","attributes":[{}],"status":{status}}}"#,
            json(self.method.as_str()),
            attributes.join(",")
        )
    }
}

/// An attribute with a text.
fn text(key: &str, value: &str) -> String {
    format!(r#"{{"key":"{key}","value":{{"stringValue":{}}}}}"#, json(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, wanted: Option<(u128, u64, bool)>) {
        assert_eq!(parse(value.as_bytes()), wanted, "{value}");
    }

    #[test]
    fn traceparents_are_read_by_the_letter() {
        let (trace, span) = (0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7);
        let whole = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        check(whole, Some((trace, span, true)));
        check(&whole.replace("-01", "-00"), Some((trace, span, false)));
        check(&whole.replace("-01", "-03"), Some((trace, span, true)));
        check(&format!("cc{}-what-else", &whole[2..]), Some((trace, span, true)));
        for wrong in [
            "",
            "00",
            "garbage",
            &format!("{whole}-00"),
            &whole.replace("00-4", "ff-4"),
            &whole.to_uppercase(),
            &whole.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &whole.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &whole.replace("-01", "-1"),
            &whole.replace('f', "+"),
        ] {
            check(wrong, None);
        }
    }
}
