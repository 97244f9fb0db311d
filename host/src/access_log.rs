//! One exchange from request head to the last byte of its answer, and the line it leaves.

use crate::conn::Conn;
use crate::dispatch::Failure;
use crate::{AccessLog, Log};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::OwnedSemaphorePermit;

/// Lives as long as its answer: holds the places that the request takes up.
pub(crate) struct Exchange {
    conn: Arc<Conn>,
    log: Log,
    id: u64,
    /// The place among the requests in flight.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    record: Option<Box<Record>>,
    bytes: u64,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Complete,
    Cut,
}

/// What a line of the access log tells.
struct Record {
    form: AccessLog,
    begin: Instant,
    method: String,
    target: String,
    status: u16,
}

impl Exchange {
    /// Begins an exchange on `conn`.
    pub(crate) fn begin(conn: &Arc<Conn>, log: &Log, id: u64) -> Self {
        conn.enter();
        Self { conn: conn.clone(), log: log.clone(), id, permit: None, record: None, bytes: 0, end: End::Open }
    }

    /// Has the access log in `form` tell about this exchange.
    pub(crate) fn record<B>(&mut self, form: AccessLog, request: &hyper::Request<B>) {
        if form != AccessLog::Off {
            self.record = Some(Box::new(Record {
                form,
                begin: Instant::now(),
                method: request.method().to_string(),
                target: request.uri().to_string(),
                status: 0,
            }));
        }
    }

    /// The number that the log and the client know this exchange by.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Notes the status of the answer.
    pub(crate) fn status(&mut self, status: u16) {
        if let Some(record) = &mut self.record {
            record.status = status;
        }
    }

    /// Notes that `bytes` of the body are on their way.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Notes that the answer is complete.
    pub(crate) fn complete(&mut self) {
        if self.end == End::Open {
            self.end = End::Complete;
        }
    }

    /// Notes why the answer ends too early.
    pub(crate) fn cut(&mut self, failure: &Failure) {
        self.end = End::Cut;
        self.fault(&format!("answer cut off: {}", failure.reason()));
    }

    /// Writes why this exchange went wrong, for the operator alone.
    pub(crate) fn fault(&self, reason: &str) {
        self.log.line(format!("tabi: [{:016x}] {reason}", self.id));
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.conn.leave();
        let Some(record) = &self.record else { return };
        let end = match self.end {
            End::Complete => "complete",
            End::Cut => "cut",
            // Dropped by the connection: the client is gone.
            End::Open => "client-gone",
        };
        let line = record.line(self.id, &self.conn.peer.to_string(), self.bytes, end);
        self.log.line(line);
    }
}

impl Record {
    fn line(&self, id: u64, peer: &str, bytes: u64, end: &str) -> String {
        let Self { method, target, status, .. } = self;
        let micros = self.begin.elapsed().as_micros();
        if self.form == AccessLog::Json {
            let (method, target) = (json(method), json(target));
            return format!(
                r#"{{"id":"{id:016x}","peer":"{peer}","method":{method},"target":{target},"status":{status},"bytes":{bytes},"micros":{micros},"end":"{end}"}}"#
            );
        }
        format!(r#"access [{id:016x}] {peer} "{method} {target}" {status} {bytes}B {micros}us {end}"#)
    }
}

/// A JSON string with everything escaped that needs it.
fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
