//! The worker threads: each has a runtime of its own, and a connection stays with its worker, guests
//! included, until it ends.

use crate::board::{Board, Map, Served};
use crate::conn::Conn;
use crate::dispatch::{p2, p3, warm};
use crate::engine::{App, MAX_IDLE, Pre};
use crate::lock::lock;
use crate::metrics::{Metrics, Refused};
use crate::otel::Exporter;
use crate::outbound::Client;
use crate::peer::Peer;
use crate::sources::Sources;
use crate::store::Blueprint;
use crate::stream::Accepted;
use crate::tls::Tls;
use crate::{Config, Limits, Log, StartError, connection};
use hyper::http::uri::Authority;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore};

/// What all threads of a server share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) limits: Arc<Limits>,
    pub(crate) log: Log,
    /// The authority of requests that name none.
    pub(crate) local: Authority,
    /// The port where https is spoken.
    pub(crate) https_port: Option<u16>,
    pub(crate) sources: Sources,
    /// Places for requests in flight.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) queued: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    /// Where spans go, if anywhere.
    pub(crate) exporter: Option<Exporter>,
    /// The counters of the accepting thread.
    pub(crate) metrics: Metrics,
    per_ip: Mutex<HashMap<IpAddr, usize>>,
    /// Told when the last connection ends.
    pub(crate) empty: Notify,
}

/// One thread with its connections and its guests.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Arc<Metrics>,
    board: Mutex<Arc<Board>>,
    pub(crate) open: AtomicUsize,
    conns: Mutex<HashMap<usize, Arc<Conn>>>,
    id: AtomicU64,
}

/// How requests get to a guest.
pub(crate) enum Dispatch {
    P2(Arc<p2::Dispatcher>),
    P3(Box<p3::Dispatcher>),
}

/// A worker as the acceptor sees it.
pub(crate) struct Hand {
    pub(crate) worker: Arc<Worker>,
    pub(crate) work: UnboundedSender<(Accepted, Guard)>,
    thread: JoinHandle<()>,
}

impl Hand {
    pub(crate) fn hire(number: usize, apps: &[App], map: &Arc<Map>, shared: &Arc<Shared>) -> std::io::Result<Self> {
        let metrics = Arc::new(Metrics::new(apps.len()));
        let served = |(number, app)| Arc::new(Served::new(number, app, apps.len(), shared, &metrics));
        let apps = apps.iter().enumerate().map(served).collect();
        let worker = Arc::new(Worker {
            board: Mutex::new(Arc::new(Board { map: map.clone(), apps })),
            metrics,
            shared: shared.clone(),
            open: AtomicUsize::new(0),
            conns: Mutex::default(),
            // Ids are unique in a process and unlikely to repeat in the next.
            id: AtomicU64::new(random_id()),
        });
        let (work, queue) = unbounded_channel();
        let thread = std::thread::Builder::new().name(format!("tabi-{number}")).spawn({
            let worker = worker.clone();
            move || {
                let log = worker.shared.log.clone();
                block_on(&log, labour(worker, queue));
            }
        })?;
        Ok(Self { worker, work, thread })
    }

    pub(crate) fn dismiss(self) {
        drop(self.work);
        let _ = self.thread.join();
    }
}

impl Dispatch {
    /// How requests get to `app`, one of `count` that share what may be idle.
    pub(crate) fn new(app: &App, count: usize, shared: &Shared, metrics: &Arc<Metrics>) -> Self {
        let reuse = app.reuse;
        let blueprint = Blueprint {
            engine: app.engine.clone(),
            limits: app.limits.clone(),
            log: app.name.as_ref().map_or_else(|| shared.log.clone(), |name| shared.log.labelled(name)),
            capabilities: app.capabilities.clone(),
            metrics: metrics.clone(),
            outbound: Client::new(&app.capabilities.outbound, &shared.limits, &shared.log),
        };
        match &app.pre {
            Pre::P2(template) => Self::P2(Arc::new(p2::Dispatcher {
                blueprint,
                template: template.clone(),
                reuse,
                warm: warm::Warm::new((MAX_IDLE / count.max(1)).max(1)),
            })),
            Pre::P3(pre) => {
                let pre = pre.clone();
                Self::P3(Box::new(p3::Dispatcher::new(blueprint, pre, reuse, random_id())))
            }
        }
    }

    /// Drops the instances that waited for longer than `idle`.
    fn expire(&self, idle: Duration) {
        match self {
            Self::P2(dispatcher) => dispatcher.expire(idle),
            Self::P3(dispatcher) => dispatcher.expire(idle),
        }
    }

    /// What guests send requests of their own with.
    pub(crate) fn outbound(&self) -> &Client {
        match self {
            Self::P2(dispatcher) => &dispatcher.blueprint.outbound,
            Self::P3(dispatcher) => &dispatcher.blueprint().outbound,
        }
    }
}

pub(crate) fn block_on(log: &Log, work: impl Future<Output = ()>) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            runtime.block_on(work);
            // A guest that was waiting for a file, or a pipe that is none, does not hold up the end.
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
        Err(error) => log.line(format!("tabi: no runtime for a thread: {error}")),
    }
}

/// A worker's life: take connections, and now and then let go of idle instances.
async fn labour(worker: Arc<Worker>, mut queue: UnboundedReceiver<(Accepted, Guard)>) {
    let idle = worker.shared.config.reuse.idle;
    let mut sweep = tokio::time::interval(idle.max(Duration::from_millis(100)) / 2);
    loop {
        tokio::select! {
            next = queue.recv() => match next {
                None => return,
                Some((accepted, guard)) => {
                    let Ok(stream) = accepted.enter() else { continue };
                    tokio::spawn(connection::run(worker.clone(), stream, guard));
                }
            },
            _ = sweep.tick() => {
                for app in &worker.board().apps {
                    app.dispatch.expire(idle);
                    app.dispatch.outbound().expire();
                }
            }
        }
    }
}

impl Worker {
    /// The id for the next request.
    pub(crate) fn next_id(&self) -> u64 {
        self.id.fetch_add(1, Relaxed)
    }

    /// What is served at this moment.
    pub(crate) fn board(&self) -> Arc<Board> {
        lock(&self.board).clone()
    }

    /// Sends all later requests for the app of this number to `app`.
    pub(crate) fn replace(&self, number: usize, app: &App) {
        let mut board = lock(&self.board);
        let fresh = Arc::new(Served::new(number, app, board.apps.len(), &self.shared, &self.metrics));
        *board = Arc::new(board.with(number, fresh));
    }

    /// The open connections.
    pub(crate) fn conns(&self) -> MutexGuard<'_, HashMap<usize, Arc<Conn>>> {
        lock(&self.conns)
    }
}

/// A counted connection; dropping it gives its place back.
pub(crate) struct Guard {
    worker: Arc<Worker>,
    pub(crate) conn: Arc<Conn>,
    pub(crate) tls: Option<Arc<Tls>>,
    ip: Option<IpAddr>,
}

impl Guard {
    pub(crate) fn admit(worker: &Arc<Worker>, peer: Peer, tls: Option<&Arc<Tls>>) -> Option<Self> {
        let shared = &worker.shared;
        shared.metrics.connections.add(1);
        if shared.connections.load(Relaxed) >= shared.limits.connections {
            shared.metrics.refused(Refused::Connections);
            return None;
        }
        // Who is behind a balancer is known, and counted, when its header is here.
        let ip = if shared.sources.balancers.contain(peer) { None } else { shared.count_ip(peer)? };
        shared.connections.fetch_add(1, Relaxed);
        worker.open.fetch_add(1, Relaxed);
        let conn = Conn::new(peer, tls.is_some(), &worker.metrics);
        worker.conns().insert(Arc::as_ptr(&conn) as usize, conn.clone());
        Some(Self { worker: worker.clone(), conn, tls: tls.cloned(), ip })
    }

    /// Counts the connection as that of `peer`, who is behind the balancer that has connected; `false`
    /// if there are too many of them.
    pub(crate) fn is_of(&mut self, peer: Peer) -> bool {
        self.conn.set_peer(peer);
        let counted = self.worker.shared.count_ip(peer);
        self.ip = counted.flatten();
        counted.is_some()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let shared = &self.worker.shared;
        if let Some(ip) = self.ip {
            let mut per_ip = shared.per_ip();
            if let Some(count) = per_ip.get_mut(&ip) {
                *count -= 1;
                if *count == 0 {
                    per_ip.remove(&ip);
                }
            }
        }
        self.worker.conns().remove(&(Arc::as_ptr(&self.conn) as usize));
        self.worker.open.fetch_sub(1, Relaxed);
        if shared.connections.fetch_sub(1, Relaxed) == 1 {
            shared.empty.notify_one();
        }
    }
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        sources: Sources,
        log: Log,
        local: Authority,
        https_port: Option<u16>,
    ) -> Result<Self, StartError> {
        let limits = Arc::new(config.limits.clone());
        Ok(Self {
            exporter: Exporter::start(&config, &log)?,
            places: Arc::new(Semaphore::new(limits.requests.min(Semaphore::MAX_PERMITS))),
            local,
            https_port,
            sources,
            config,
            limits,
            log,
            queued: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            metrics: Metrics::default(),
            per_ip: Mutex::default(),
            empty: Notify::new(),
        })
    }

    /// Counts a connection of `peer`, and gives its address if it counts; `None` when it is one too
    /// many.
    fn count_ip(&self, peer: Peer) -> Option<Option<IpAddr>> {
        // What connects from this very machine is a proxy or a test, and speaks for many.
        let ip = peer.ip().filter(|ip| !ip.is_loopback() && !self.sources.trust.proxies.contain_ip(*ip));
        let Some(ip) = ip else { return Some(None) };
        let mut per_ip = self.per_ip();
        let count = per_ip.entry(ip).or_default();
        if *count >= self.limits.connections_per_ip {
            self.metrics.refused(Refused::ConnectionsPerIp);
            return None;
        }
        *count += 1;
        Some(Some(ip))
    }

    fn per_ip(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        lock(&self.per_ip)
    }
}

/// A number to count ids from.
fn random_id() -> u64 {
    RandomState::new().hash_one(0) & !0xffff_ffff
}
