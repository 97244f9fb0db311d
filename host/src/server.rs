//! The acceptor and the worker threads: connections come in, are counted, and are handed out.
//!
//! One thread accepts and gives each connection to the worker with the fewest. Each worker has a
//! runtime of its own, and a connection stays with its worker, guests included, until it ends.

use crate::conn::{Conn, Stop};
use crate::dispatch::{p2, p3};
use crate::engine::{App, Pre};
use crate::tls::Tls;
use crate::{Config, Limits, Log, StartError, connection};
use hyper::http::uri::Authority;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore, watch};

/// What all threads of a server share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) limits: Arc<Limits>,
    pub(crate) log: Log,
    /// The authority of requests that name none.
    pub(crate) local: Authority,
    /// Places for requests in flight.
    pub(crate) places: Arc<Semaphore>,
    pub(crate) queued: AtomicUsize,
    connections: AtomicUsize,
    per_ip: Mutex<HashMap<IpAddr, usize>>,
    /// Told when the last connection ends.
    empty: Notify,
}

/// One thread with its connections and its guests.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) dispatch: Dispatch,
    open: AtomicUsize,
    conns: Mutex<HashMap<usize, Arc<Conn>>>,
    id: AtomicU64,
}

/// How requests get to a guest.
pub(crate) enum Dispatch {
    P2(Arc<p2::Dispatcher>),
    P3(p3::Dispatcher),
}

/// A listening server. Dropping it aborts what is open.
pub struct Server {
    addrs: Vec<SocketAddr>,
    stop: watch::Sender<Stop>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `app` on `listeners` with threads of its own.
    pub(crate) fn start(
        listeners: Vec<(TcpListener, Option<Tls>)>,
        app: &App,
        config: Config,
        log: Log,
    ) -> Result<Self, StartError> {
        let fail = |error: std::io::Error| StartError::new(format!("can't serve: {error}"));
        let mut addrs = Vec::new();
        for (listener, _) in &listeners {
            listener.set_nonblocking(true).map_err(fail)?;
            addrs.push(listener.local_addr().map_err(fail)?);
        }
        let limits = Arc::new(config.limits.clone());
        let local = addrs.first().and_then(|addr| Authority::try_from(addr.to_string()).ok());
        let shared = Arc::new(Shared {
            places: Arc::new(Semaphore::new(limits.requests.min(Semaphore::MAX_PERMITS))),
            local: local.unwrap_or_else(|| Authority::from_static("localhost")),
            config,
            limits,
            log,
            queued: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            per_ip: Mutex::default(),
            empty: Notify::new(),
        });
        let mut crew = Vec::new();
        for number in 0..shared.config.threads.max(1) {
            crew.push(Hand::hire(number, app, &shared).map_err(fail)?);
        }
        let (stop, stopping) = watch::channel(Stop::Run);
        let acceptor = std::thread::Builder::new()
            .name("tabi-accept".into())
            .spawn(move || {
                let crew = Arc::new(crew);
                block_on(&shared.log, reception(listeners, &shared, &crew, stopping));
                for hand in Arc::into_inner(crew).into_iter().flatten() {
                    hand.dismiss();
                }
            })
            .map_err(fail)?;
        Ok(Self { addrs, stop, acceptor: Some(acceptor) })
    }

    /// Where it listens for http; the port is a real one even if 0 was asked for.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addrs[0]
    }

    /// Where it listens for https, if it does.
    #[must_use]
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.addrs.get(1).copied()
    }

    /// Accepts no more, answers what was asked, and closes; after `drain_timeout` it aborts.
    pub fn drain(&self) {
        self.stop.send_replace(Stop::Drain);
    }

    /// Closes everything now.
    pub fn abort(&self) {
        self.stop.send_replace(Stop::Abort);
    }

    /// Waits until a drain or an abort is over.
    pub fn wait(mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }

    /// Whether a drain or an abort is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.acceptor.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            self.abort();
            let _ = acceptor.join();
        }
    }
}

/// A worker as the acceptor sees it.
struct Hand {
    worker: Arc<Worker>,
    work: UnboundedSender<(std::net::TcpStream, Guard)>,
    thread: JoinHandle<()>,
}

impl Hand {
    fn hire(number: usize, app: &App, shared: &Arc<Shared>) -> std::io::Result<Self> {
        // Ids are unique in a process and unlikely to repeat in the next.
        let first = RandomState::new().hash_one(number) & !0xffff_ffff;
        let worker = Arc::new(Worker {
            dispatch: Dispatch::new(app, shared, first | 1 << 31),
            shared: shared.clone(),
            open: AtomicUsize::new(0),
            conns: Mutex::default(),
            id: AtomicU64::new(first),
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

    fn dismiss(self) {
        drop(self.work);
        let _ = self.thread.join();
    }
}

impl Dispatch {
    fn new(app: &App, shared: &Arc<Shared>, first_id: u64) -> Self {
        let (engine, limits) = (app.engine.clone(), shared.limits.clone());
        let (log, reuse) = (shared.log.clone(), shared.config.reuse);
        match &app.pre {
            Pre::P2(pre) => Self::P2(Arc::new(p2::Dispatcher {
                engine,
                pre: pre.clone(),
                limits,
                log,
                reuse: reuse.requests_p2,
                warm: p2::Warm::default(),
            })),
            Pre::P3(pre) => {
                let pre = pre.clone();
                Self::P3(p3::Dispatcher::new(engine, pre, limits, log, reuse, first_id))
            }
        }
    }
}

fn block_on(log: &Log, work: impl Future<Output = ()>) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => log.line(format!("tabi: no runtime for a thread: {error}")),
    }
}

/// A worker's life: take connections, and now and then let go of idle instances.
async fn labour(worker: Arc<Worker>, mut queue: UnboundedReceiver<(std::net::TcpStream, Guard)>) {
    let idle = worker.shared.config.reuse.idle;
    let mut sweep = tokio::time::interval(idle.max(Duration::from_millis(100)) / 2);
    loop {
        tokio::select! {
            next = queue.recv() => match next {
                None => return,
                Some((stream, guard)) => {
                    let Ok(stream) = TcpStream::from_std(stream) else { continue };
                    tokio::spawn(connection::run(worker.clone(), stream, guard));
                }
            },
            _ = sweep.tick() => {
                if let Dispatch::P2(dispatcher) = &worker.dispatch {
                    dispatcher.expire(idle);
                }
            }
        }
    }
}

/// The acceptor's life: all doors at once, and when they are closed, everybody is seen off.
async fn reception(
    listeners: Vec<(TcpListener, Option<Tls>)>,
    shared: &Arc<Shared>,
    crew: &Arc<Vec<Hand>>,
    stopping: watch::Receiver<Stop>,
) {
    let doors: Vec<_> = listeners
        .into_iter()
        .map(|(listener, tls)| {
            let door = door(listener, tls.map(Arc::new), shared.clone(), crew.clone(), stopping.clone());
            tokio::spawn(door)
        })
        .collect();
    for door in doors {
        let _ = door.await;
    }
    see_off(shared, crew, stopping).await;
}

/// How often the files of a certificate are looked at.
const CERTIFICATE_LOOK: Duration = Duration::from_secs(1);

/// Hands out the connections of one listener until told to stop.
async fn door(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    shared: Arc<Shared>,
    crew: Arc<Vec<Hand>>,
    mut stopping: watch::Receiver<Stop>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return shared.log.line(format!("tabi: can't listen: {error}")),
    };
    let mut look = tokio::time::interval(CERTIFICATE_LOOK);
    let mut complained = false;
    loop {
        tokio::select! {
            biased;
            changed = stopping.changed() => {
                if changed.is_err() || *stopping.borrow() != Stop::Run {
                    return;
                }
            }
            _ = look.tick(), if tls.is_some() => match tls.as_ref().map(|tls| tls.refresh()) {
                Some(Ok(true)) => shared.log.line("tabi: the certificate has changed and is used from now on"),
                Some(Err(why)) => shared.log.line(format!("tabi: the old certificate stays in use: {why}")),
                Some(Ok(false)) | None => {}
            },
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    complained = false;
                    hand_out(stream, peer, tls.as_ref(), &shared, &crew);
                }
                // The client was faster at leaving than this thread at greeting.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    // Out of files, most likely: the connections that end will free some.
                    if !std::mem::replace(&mut complained, true) {
                        shared.log.line(format!("tabi: can't accept connections: {error}"));
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }
}

fn hand_out(stream: TcpStream, peer: SocketAddr, tls: Option<&Arc<Tls>>, shared: &Shared, crew: &[Hand]) {
    let Some(hand) = crew.iter().min_by_key(|hand| hand.worker.open.load(Relaxed)) else { return };
    let Some(guard) = Guard::admit(&hand.worker, peer, tls) else {
        // One try without waiting: a client that can't take this many bytes gets none.
        let sorry =
            b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        if tls.is_none() {
            let _ = stream.try_write(sorry);
        }
        return;
    };
    let _ = stream.set_nodelay(true);
    match stream.into_std() {
        Ok(stream) => {
            let _ = hand.work.send((stream, guard));
        }
        Err(error) => shared.log.line(format!("tabi: a connection was lost: {error}")),
    }
}

async fn see_off(shared: &Shared, crew: &[Hand], mut stopping: watch::Receiver<Stop>) {
    let tell = |how| {
        for hand in crew {
            for conn in hand.worker.lock().values() {
                conn.stop(how);
            }
        }
    };
    let mut abort = *stopping.borrow() == Stop::Abort;
    if !abort {
        tell(Stop::Drain);
        let deadline = tokio::time::sleep(shared.limits.drain_timeout);
        tokio::pin!(deadline);
        while shared.connections.load(Relaxed) > 0 && !abort {
            tokio::select! {
                () = shared.empty.notified() => {}
                () = &mut deadline => {
                    let left = shared.connections.load(Relaxed);
                    shared.log.line(format!("tabi: {left} connections outlasted drain_timeout"));
                    abort = true;
                }
                changed = stopping.changed() => {
                    abort = changed.is_err() || *stopping.borrow() == Stop::Abort;
                }
            }
        }
    }
    tell(Stop::Abort);
    // A task notices its stop at its next poll, which is at most a slice away.
    let end = tokio::time::sleep(Duration::from_secs(1));
    tokio::pin!(end);
    while shared.connections.load(Relaxed) > 0 {
        tokio::select! {
            () = shared.empty.notified() => {}
            () = &mut end => return,
        }
    }
}

impl Worker {
    /// The id for the next request.
    pub(crate) fn next_id(&self) -> u64 {
        self.id.fetch_add(1, Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Arc<Conn>>> {
        self.conns.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
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
    fn admit(worker: &Arc<Worker>, peer: SocketAddr, tls: Option<&Arc<Tls>>) -> Option<Self> {
        let shared = &worker.shared;
        if shared.connections.load(Relaxed) >= shared.limits.connections {
            return None;
        }
        // What connects from this very machine is a proxy or a test, and speaks for many.
        let ip = Some(peer.ip().to_canonical()).filter(|ip| !ip.is_loopback());
        if let Some(ip) = ip {
            let mut per_ip = shared.per_ip();
            let count = per_ip.entry(ip).or_default();
            if *count >= shared.limits.connections_per_ip {
                return None;
            }
            *count += 1;
        }
        shared.connections.fetch_add(1, Relaxed);
        worker.open.fetch_add(1, Relaxed);
        let conn = Conn::new(peer.to_string(), tls.is_some());
        worker.lock().insert(Arc::as_ptr(&conn) as usize, conn.clone());
        Some(Self { worker: worker.clone(), conn, tls: tls.cloned(), ip })
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
        self.worker.lock().remove(&(Arc::as_ptr(&self.conn) as usize));
        self.worker.open.fetch_sub(1, Relaxed);
        if shared.connections.fetch_sub(1, Relaxed) == 1 {
            shared.empty.notify_one();
        }
    }
}

impl Shared {
    fn per_ip(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.per_ip.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
