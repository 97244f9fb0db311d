//! One exchange, from request head to the last byte of its answer.

use crate::access_log::{Record, label};
use crate::body::BodyState;
use crate::conn::Conn;
use crate::dispatch::Failure;
use crate::forwarded::Client;
use crate::metrics::{By, End, Refused};
use crate::otel::Span;
use crate::trace::Trace;
use crate::worker::Worker;
use hyper::header::HeaderValue;
use hyper::http::uri::Scheme;
use hyper::{Request, Version};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::OwnedSemaphorePermit;

/// Lives as long as its answer: holds the places that the request takes up.
pub(crate) struct Exchange {
    worker: Arc<Worker>,
    conn: Arc<Conn>,
    id: u64,
    /// The place among the requests in flight.
    pub(crate) permit: Option<OwnedSemaphorePermit>,
    /// What became of the body of the request.
    pub(crate) body: BodyState,
    by: By,
    status: u16,
    sent: u64,
    end: Option<End>,
    /// What takes time to note; only where somebody will read it.
    notes: Option<Box<Notes>>,
}

/// What those want to know who look closer.
struct Notes {
    begin: Instant,
    handed: Option<Instant>,
    client: Client,
    guest: Option<Duration>,
    cpu: Arc<AtomicU64>,
    record: Option<Record>,
    span: Option<Box<Span>>,
    app: Option<Arc<str>>,
}

/// The end of an exchange, as the access log tells it.
pub(crate) struct Outcome {
    pub(crate) id: u64,
    pub(crate) status: u16,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) end: End,
    /// From the head of the request to the end of the answer.
    pub(crate) total: Duration,
    /// From when the guest got the request to the head of its answer.
    pub(crate) guest: Option<Duration>,
    /// What a guest of 0.2 had of the processor.
    pub(crate) cpu: Option<Duration>,
    /// The app that answered, where there are several.
    pub(crate) app: Option<Arc<str>>,
}

impl Exchange {
    /// Begins an exchange on `conn`.
    pub(crate) fn begin<B>(worker: &Arc<Worker>, conn: &Arc<Conn>, request: &Request<B>) -> Self {
        conn.enter();
        worker.metrics.begun.add(1);
        let config = &worker.shared.config;
        let notes = config.is_observed().then(|| {
            Box::new(Notes {
                begin: Instant::now(),
                handed: None,
                client: Client::Peer(conn.peer()),
                guest: None,
                cpu: Arc::default(),
                record: Record::of(config.access_log, Client::Peer(conn.peer()), request),
                span: None,
                app: None,
            })
        });
        Self {
            worker: worker.clone(),
            conn: conn.clone(),
            id: worker.next_id(),
            permit: None,
            body: BodyState::default(),
            by: By::HOST,
            status: 0,
            sent: 0,
            end: None,
            notes,
        }
    }

    /// The number that the log and the client know this exchange by.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Notes the id that guest and client know this exchange by, in case that it is a proxy's.
    pub(crate) fn name(&mut self, id: &HeaderValue) {
        if let Some(record) = self.notes.as_mut().and_then(|notes| notes.record.as_mut()) {
            record.set_name(id.to_str().unwrap_or_default());
        }
    }

    /// Notes who the client is, as proxies have told it.
    pub(crate) fn client(&mut self, client: &Client) {
        if let Some(notes) = &mut self.notes {
            notes.client = client.clone();
            if let Some(record) = &mut notes.record {
                record.set_client(client);
            }
        }
    }

    /// Finds the trace that the request belongs to, where traces are sent anywhere.
    pub(crate) fn join_trace<B>(&mut self, request: &mut Request<B>) {
        let (Some(exporter), Some(notes)) = (&self.worker.shared.exporter, &mut self.notes) else { return };
        let context = exporter.context(request.headers_mut());
        if !context.sampled {
            return;
        }
        let uri = request.uri();
        notes.span = Some(Box::new(Span {
            context,
            begin: SystemTime::now(),
            time: Duration::ZERO,
            method: request.method().clone(),
            path: uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            https: uri.scheme() == Some(&Scheme::HTTPS),
            host: uri.host().unwrap_or_default().to_owned(),
            version: version(request.version()),
            peer: notes.client.host(),
            status: 0,
            id: self.id,
            fault: None,
        }));
    }

    /// The dump of this exchange, if the operator wants one.
    pub(crate) fn trace(&self) -> Option<Box<Trace>> {
        Trace::of(&self.worker.shared.config, &self.worker.shared.log, self.id)
    }

    /// Where a guest of 0.2 counts its time on the processor, if anybody wants to know it.
    pub(crate) fn cpu(&self) -> Option<Arc<AtomicU64>> {
        self.notes.as_ref().map(|notes| notes.cpu.clone())
    }

    /// Notes which app answers.
    pub(crate) fn app(&mut self, name: &Arc<str>) {
        if let Some(notes) = &mut self.notes {
            notes.app = Some(name.clone());
        }
    }

    /// Notes that a guest has the request from now on.
    pub(crate) fn hand_over(&mut self, by: By) {
        self.by = by;
        if let Some(notes) = &mut self.notes {
            notes.handed = Some(Instant::now());
        }
    }

    /// Notes that the guest has answered, or will not.
    pub(crate) fn hand_back(&mut self) {
        if let Some(notes) = &mut self.notes {
            notes.guest = notes.handed.map(|begin| begin.elapsed());
        }
    }

    /// Notes the status of the answer.
    pub(crate) fn status(&mut self, status: u16) {
        self.status = status;
    }

    /// Notes that `bytes` of the body are on their way.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Notes that the answer is complete.
    pub(crate) fn complete(&mut self) {
        self.end.get_or_insert(End::Complete);
    }

    /// Notes why the answer ends too early.
    pub(crate) fn cut(&mut self, failure: &Failure) {
        self.end = Some(End::Cut);
        self.worker.metrics.failed(failure.kind());
        self.fault(&format!("answer cut off: {}", failure.reason()));
    }

    /// Notes that the host turned the request away.
    pub(crate) fn refuse(&self, why: Refused, reason: &str) {
        self.worker.metrics.refused(why);
        self.fault(reason);
    }

    /// Notes that the guest has no answer.
    pub(crate) fn fail(&self, failure: &Failure) {
        self.worker.metrics.failed(failure.kind());
        self.fault(&failure.reason());
    }

    /// Writes why this exchange went wrong, for the operator alone.
    pub(crate) fn fault(&self, reason: &str) {
        self.worker.shared.log.line(format!("tabi: [{:016x}] {reason}", self.id));
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.conn.leave();
        let metrics = &self.worker.metrics;
        // Dropped by the connection: the client is gone.
        let end = self.end.unwrap_or(End::Gone);
        metrics.answered(self.by, self.status, end);
        metrics.sent.add(self.sent);
        let received = self.body.received();
        if received > 0 {
            metrics.received.add(received);
        }
        let Some(notes) = self.notes.take() else { return };
        let total = notes.begin.elapsed();
        metrics.durations.add(total);
        if let Some(time) = notes.guest {
            metrics.guest(self.by, time);
        }
        let cpu = notes.cpu.load(Relaxed);
        if let (Some(exporter), Some(mut span)) = (&self.worker.shared.exporter, notes.span) {
            (span.time, span.status) = (total, self.status);
            span.fault = (end != End::Complete).then_some(label(end));
            exporter.send(span);
        }
        let Some(record) = notes.record else { return };
        let outcome = Outcome {
            id: self.id,
            status: self.status,
            sent: self.sent,
            received,
            end,
            total,
            guest: notes.guest,
            app: notes.app,
            cpu: (cpu > 0).then(|| Duration::from_micros(cpu)),
        };
        self.worker.shared.log.line(record.line(&outcome));
    }
}

/// The version as OpenTelemetry has it.
fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "1.0",
        Version::HTTP_2 => "2",
        _ => "1.1",
    }
}
