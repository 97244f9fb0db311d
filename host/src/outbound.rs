//! Requests that a guest makes itself: to where the operator lets it, within limits, over
//! connections that are used again.

mod address;
mod body;
mod connect;
mod failure;
mod head;
mod hops;
mod origin;
mod policy;
mod pool;
mod rules;

pub(crate) use origin::Origin;
pub(crate) use policy::Policy;

use crate::lock::lock;
use crate::{Limits, Log};
use body::{RequestBody, ResponseBody, Upload};
use connect::{Resolve, System, Wire};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use origin::Place;
use pool::{Call, Connection, Link, Pool};
use rules::{Leave, Target};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

/// What one worker thread sends the requests of one component with.
pub(crate) struct Client {
    policy: Arc<Policy>,
    limits: Arc<Limits>,
    log: Log,
    pool: Pool,
    flood: Mutex<Flood>,
    resolver: Box<dyn Resolve>,
}

/// The answer to a request, and what tells how the sending of its body ended.
pub(crate) type Sent = (Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

/// How long to wait for what.
struct Patience {
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

impl Client {
    pub(crate) fn new(policy: &Arc<Policy>, limits: &Arc<Limits>, log: &Log) -> Arc<Self> {
        Arc::new(Self {
            policy: policy.clone(),
            limits: limits.clone(),
            log: log.clone(),
            pool: Pool::new(limits.outbound_idle, limits.outbound_idle_timeout),
            flood: Mutex::new(Flood { until: std::time::Instant::now(), lines: 0 }),
            resolver: Box::new(System),
        })
    }

    /// How often the request with these fields went through this component before, if not too often.
    pub(crate) fn hops(&self, headers: &hyper::HeaderMap) -> Option<u32> {
        // Who may not send anything has no part in a loop.
        let hops = if self.policy.is_granted() { self.policy.mark.count(headers) } else { 0 };
        (hops <= self.limits.outbound_hops).then_some(hops)
    }

    /// Lets go of connections that nobody has used for a while.
    pub(crate) fn expire(&self) {
        self.pool.expire();
    }

    /// Sends a request of the instance `origin`, which `id` stands for in the log, on behalf of one
    /// that came `hops` times.
    ///
    /// # Errors
    /// Why there is no answer, in the words of `wasi:http`.
    pub(crate) async fn send(
        self: Arc<Self>,
        origin: Arc<Origin>,
        id: u64,
        hops: u32,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Sent, Error> {
        let target = Target::of(request.uri()).ok_or(Error::HttpRequestUriInvalid)?;
        if request.method() == Method::CONNECT {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let Some(leave) = self.policy.leave(&target, request.uri().path()) else {
            let line = format!(
                "the component may not send requests to {target}; grant it with grants.outbound = [\"{target}\"]"
            );
            self.policy.say_once(&self.log, id, line);
            return Err(Error::HttpRequestDenied);
        };
        let call = Call { client: self.clone(), target, method: request.method().clone(), id };
        let result = self.exchange(&call, leave, &origin, hops, request, options).await;
        if let Err(error) = &result {
            self.report(&call, error);
        }
        result
    }

    async fn exchange(
        &self,
        call: &Call,
        leave: Leave,
        origin: &Arc<Origin>,
        hops: u32,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Sent, Error> {
        let limits = &self.limits;
        let (all, each) = (limits.outbound_requests, limits.outbound_requests_per_instance);
        let place = Place::take(origin, &self.policy.open, all, each).ok_or(Error::ConnectionLimitReached)?;
        let patience = Patience::of(options, limits);
        let (mut head, inner) = request.into_parts();
        head::prepare(&mut head)?;
        self.policy.mark.set(&mut head.headers, hops);
        let upload = Upload::new();
        let length = head::length(&head.headers);
        // Whether a guest of 0.3 writes a body is seen late. Those of GET and HEAD have no meaning, and TRACE may
        // have none (RFC 9110 9.3), so there is one only where the guest says how long it is.
        let bodiless = length.is_none() && matches!(head.method, Method::GET | Method::HEAD | Method::TRACE);
        let inner = if bodiless { empty() } else { inner };
        let (body, end) = RequestBody::new(inner, length, origin, &upload);
        let request = Request::from_parts(head, body);
        let (response, link) = self.transfer(call, leave, request, &upload, &patience).await?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Error::HttpUpgradeFailed);
        }
        let (mut head, body) = response.into_parts();
        head::strip(&mut head.headers);
        let body = ResponseBody::new(body, link, upload.clone(), patience.between_bytes, place);
        let io = Box::new(async move {
            let cut = end.await.is_err();
            if cut { Err(upload.fault().unwrap_or(Error::ConnectionTerminated)) } else { Ok(()) }
        });
        Ok((Response::from_parts(head, body.boxed_unsync()), io))
    }

    /// Sends the request over a connection that is there, or else over a new one.
    async fn transfer(
        &self,
        call: &Call,
        leave: Leave,
        mut request: Request<RequestBody>,
        upload: &Upload,
        patience: &Patience,
    ) -> Result<(Response<Incoming>, Link), Error> {
        if let Some(connection) = self.pool.take(&call.target) {
            // Whether the other side has closed it meanwhile is known once the sockets were looked at.
            tokio::task::yield_now().await;
            let link = Link::new(connection, call.clone());
            match ask(link, request, upload, patience).await {
                Ok(answer) => return Ok(answer),
                Err(Unanswered::Failed(error)) => return Err(error),
                Err(Unanswered::Unsent(unsent, _)) => request = *unsent,
            }
        }
        let connection = self.connect(&call.target, leave, patience).await?;
        match ask(Link::new(connection, call.clone()), request, upload, patience).await {
            Ok(answer) => Ok(answer),
            Err(Unanswered::Failed(error) | Unanswered::Unsent(_, error)) => Err(error),
        }
    }

    async fn connect(&self, target: &Target, leave: Leave, patience: &Patience) -> Result<Connection, Error> {
        let end = Instant::now() + patience.connect;
        let private = &self.policy.private;
        let found = timeout_at(end, connect::addresses(&*self.resolver, target, leave, private)).await;
        let found = found.map_err(|_| Error::DnsTimeout)??;
        let tcp = connect::tcp(&found, end).await?;
        // Longer than the guest's patience between the bytes that come nobody waits for those that go.
        let write = self.limits.outbound_between_bytes_timeout;
        let wire = match &self.policy.tls {
            Some(config) if target.https => Wire::tls(connect::tls(tcp, target, config, end).await?, write),
            None if target.https => return Err(Error::ConfigurationError),
            _ => Wire::plain(tcp, write),
        };
        let most = self.limits.outbound_header_bytes;
        let (sender, connection) = http1::Builder::new()
            .max_headers(self.limits.header_count)
            .max_header_size(most)
            .max_buf_size(most.max(READ_BUFFER))
            .handshake(TokioIo::new(wire))
            .await
            .map_err(|error| failure::of_hyper(&error, false))?;
        let cut = Arc::new(Notify::new());
        tokio::spawn({
            let cut = cut.clone();
            async move {
                tokio::select! {
                    biased;
                    () = cut.notified() => {}
                    // What it ends with is told to those who wait for an answer.
                    _ = connection => {}
                }
            }
        });
        Ok(Connection { sender, cut })
    }

    /// Writes into the log why a request failed.
    fn report(&self, call: &Call, error: &Error) {
        let Call { target, method, id, .. } = call;
        if matches!(error, Error::DestinationIpProhibited) {
            let line = format!(
                "the component may not send requests to {target}, as its address is not public; allow the network \
                 with grants.outbound_private, or name the address itself in grants.outbound"
            );
            return self.policy.say_once(&self.log, *id, line);
        }
        let lines = lock(&self.flood).count();
        if lines < MOST_LINES {
            self.log.line(format!("tabi: [{id:016x}] outbound {method} {target} failed: {error}"));
        } else if lines == MOST_LINES {
            self.log.line("tabi: more outbound requests failed within this second".to_owned());
        }
    }
}

fn empty() -> WasiBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// What a connection keeps of what it has read, at most.
const READ_BUFFER: usize = 64 * 1024;

/// Failures that a thread logs within a second.
const MOST_LINES: u32 = 20;

/// Counts lines of the log by the second, as a guest in a loop writes many.
struct Flood {
    until: std::time::Instant,
    lines: u32,
}

impl Flood {
    fn count(&mut self) -> u32 {
        let now = std::time::Instant::now();
        if now >= self.until {
            *self = Self { until: now + Duration::from_secs(1), lines: 0 };
        }
        self.lines = self.lines.saturating_add(1);
        self.lines - 1
    }
}

impl Patience {
    /// What the guest asks for, as far as the operator goes along with it.
    fn of(options: Option<RequestOptions>, limits: &Limits) -> Self {
        let options = options.unwrap_or_default();
        let bound = |asked: Option<Duration>, limit: Duration| asked.unwrap_or(limit).min(limit);
        Self {
            connect: bound(options.connect_timeout, limits.outbound_connect_timeout),
            first_byte: bound(options.first_byte_timeout, limits.outbound_first_byte_timeout),
            between_bytes: bound(options.between_bytes_timeout, limits.outbound_between_bytes_timeout),
        }
    }
}

/// Why a connection brought no answer.
enum Unanswered {
    /// Nothing was sent, as the connection was closed already.
    Unsent(Box<Request<RequestBody>>, Error),
    Failed(Error),
}

/// Sends a request and waits for the head of its answer.
async fn ask(
    mut link: Link,
    request: Request<RequestBody>,
    upload: &Upload,
    patience: &Patience,
) -> Result<(Response<Incoming>, Link), Unanswered> {
    let Some(sender) = link.sender() else { return Err(Unanswered::Failed(Error::ConnectionTerminated)) };
    let sending = sender.try_send_request(request);
    let answer = {
        let mut sending = std::pin::pin!(sending);
        let mut late = std::pin::pin!(tokio::time::sleep(patience.first_byte));
        loop {
            tokio::select! {
                biased;
                answer = &mut sending => break answer,
                () = &mut late => {
                    // As long as the request is on its way nobody can expect an answer.
                    let silence = upload.silence();
                    if silence >= patience.first_byte {
                        return Err(Unanswered::Failed(Error::ConnectionReadTimeout));
                    }
                    late.as_mut().reset(Instant::now() + (patience.first_byte - silence));
                }
            }
        }
    };
    match answer {
        Ok(response) => Ok((response, link)),
        Err(mut failed) => {
            let unsent = failed.take_message();
            let error = upload.fault().unwrap_or_else(|| failure::of_hyper(&failed.into_error(), false));
            Err(match unsent {
                Some(request) => Unanswered::Unsent(Box::new(request), error),
                None => Unanswered::Failed(error),
            })
        }
    }
}
