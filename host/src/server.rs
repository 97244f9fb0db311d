//! The acceptor and the worker threads: connections come in, are counted, and are handed out.
//!
//! One thread accepts and gives each connection to the worker with the fewest. Each worker has a
//! runtime of its own, and a connection stays with its worker, guests included, until it ends.

use crate::board::Map;
use crate::conn::Stop;
use crate::engine::App;
use crate::listener::{Endpoint, Listener, Listeners};
use crate::metrics::{Metrics, Reload};
use crate::peer::Peer;
use crate::sources::Sources;
use crate::stream::{SORRY, Socket};
use crate::tls::Tls;
use crate::worker::{Guard, Hand, Shared, Worker, block_on};
use crate::{Config, Log, StartError};
use hyper::http::uri::Authority;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// A listening server. Dropping it aborts what is open.
pub struct Server {
    endpoints: Vec<Endpoint>,
    tls: Option<Arc<Tls>>,
    stop: watch::Sender<Stop>,
    shared: Arc<Shared>,
    workers: Vec<Arc<Worker>>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves `apps` on `listeners` with threads of its own.
    pub(crate) fn start(
        listeners: Listeners,
        tls: Option<Tls>,
        apps: &[App],
        map: &Arc<Map>,
        sources: &Sources,
        config: Config,
        log: Log,
    ) -> Result<Self, StartError> {
        let fail = |error: std::io::Error| StartError::new(format!("can't serve: {error}"));
        let endpoints = listeners.0.iter().map(Listener::prepare).collect::<Result<Vec<_>, _>>().map_err(fail)?;
        let tls = tls.map(Arc::new);
        let secure = endpoints.iter().filter(|endpoint| endpoint.secure);
        let https_port = secure.filter_map(Endpoint::addr).map(|addr| addr.port()).next();
        let local = endpoints.iter().find_map(Endpoint::addr);
        let local = local.and_then(|addr| Authority::try_from(addr.to_string()).ok());
        let local = local.unwrap_or_else(|| Authority::from_static("localhost"));
        let shared = Arc::new(Shared::new(config, sources.clone(), log, local, https_port)?);
        let mut crew = Vec::new();
        for number in 0..shared.config.threads.max(1) {
            crew.push(Hand::hire(number, apps, map, &shared).map_err(fail)?);
        }
        let workers = crew.iter().map(|hand| hand.worker.clone()).collect();
        let common = shared.clone();
        let (stop, stopping) = watch::channel(Stop::Run);
        let doors = tls.clone();
        let acceptor = std::thread::Builder::new()
            .name("tabi-accept".into())
            .spawn(move || {
                let crew = Arc::new(crew);
                block_on(&shared.log, reception(listeners, doors, &shared, &crew, stopping));
                for hand in Arc::into_inner(crew).into_iter().flatten() {
                    hand.dismiss();
                }
            })
            .map_err(fail)?;
        Ok(Self { endpoints, tls, stop, shared: common, workers, acceptor: Some(acceptor) })
    }

    /// Where it listens for http; the port is a real one even if 0 was asked for, and 0 if it does
    /// not listen for http at all.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.port(false).unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    /// Where it listens for https, if it does.
    #[must_use]
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.port(true)
    }

    /// Everything that it listens on, as text: `http://127.0.0.1:8080/`, `http+unix:/run/tabi.sock`.
    pub fn endpoints(&self) -> impl Iterator<Item = String> {
        self.endpoints.iter().map(Endpoint::to_string)
    }

    fn port(&self, secure: bool) -> Option<SocketAddr> {
        self.endpoints.iter().filter(|endpoint| endpoint.secure == secure).find_map(Endpoint::addr)
    }

    /// What the admin listener may know of it.
    pub(crate) fn observed(&self) -> Observed {
        let metrics = self.workers.iter().map(|worker| worker.metrics.clone()).collect();
        Observed { shared: self.shared.clone(), metrics, stop: self.stop.subscribe() }
    }

    /// Counts an attempt to serve another component.
    pub(crate) fn reloaded(&self, how: Reload) {
        self.shared.metrics.reloaded(how);
    }

    /// Has every request from now on for the app of this number answered by `app`; those that have begun stay where
    /// they are.
    pub(crate) fn replace(&self, number: usize, app: &App) {
        for worker in &self.workers {
            worker.replace(number, app);
        }
    }

    /// Reads all certificates again, even if the files look as they did.
    pub fn read_certificates(&self) {
        if let Some(tls) = &self.tls {
            tls.refresh(true, &self.shared.log);
        }
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
        if let Some(exporter) = &self.shared.exporter {
            exporter.flush();
        }
    }

    /// Whether a drain or an abort is over.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.acceptor.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// A server as seen from outside: what it counts, and whether it takes requests.
pub(crate) struct Observed {
    pub(crate) shared: Arc<Shared>,
    /// Of each worker.
    pub(crate) metrics: Vec<Arc<Metrics>>,
    stop: watch::Receiver<Stop>,
}

impl Observed {
    /// Whether new connections are taken.
    pub(crate) fn is_open(&self) -> bool {
        *self.stop.borrow() == Stop::Run
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

/// The acceptor's life: all doors at once, and when they are closed, everybody is seen off.
async fn reception(
    listeners: Listeners,
    tls: Option<Arc<Tls>>,
    shared: &Arc<Shared>,
    crew: &Arc<Vec<Hand>>,
    stopping: watch::Receiver<Stop>,
) {
    let doors: Vec<_> = listeners
        .0
        .into_iter()
        .map(|listener| {
            let tls = tls.clone().filter(|_| listener.secure);
            let door = door(listener, tls, shared.clone(), crew.clone(), stopping.clone());
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
    listener: Listener,
    tls: Option<Arc<Tls>>,
    shared: Arc<Shared>,
    crew: Arc<Vec<Hand>>,
    mut stopping: watch::Receiver<Stop>,
) {
    let entrance = match listener.enter() {
        Ok(entrance) => entrance,
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
            _ = look.tick(), if tls.is_some() => {
                if let Some(tls) = &tls {
                    tls.refresh(false, &shared.log);
                }
            }
            accepted = entrance.accept() => match accepted {
                Ok((socket, peer)) => {
                    complained = false;
                    hand_out(socket, peer, tls.as_ref(), &shared, &crew);
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

fn hand_out(socket: Socket, peer: Peer, tls: Option<&Arc<Tls>>, shared: &Shared, crew: &[Hand]) {
    let Some(hand) = crew.iter().min_by_key(|hand| hand.worker.open.load(Relaxed)) else { return };
    let Some(guard) = Guard::admit(&hand.worker, peer, tls) else {
        if tls.is_none() {
            socket.try_write(SORRY);
        }
        return;
    };
    match socket.leave() {
        Ok(accepted) => {
            let _ = hand.work.send((accepted, guard));
        }
        Err(error) => shared.log.line(format!("tabi: a connection was lost: {error}")),
    }
}

/// How often a drain looks whether guests still work.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

async fn see_off(shared: &Shared, crew: &[Hand], mut stopping: watch::Receiver<Stop>) {
    let tell = |how| {
        for hand in crew {
            for conn in hand.worker.conns().values() {
                conn.stop(how);
            }
        }
    };
    let mut abort = *stopping.borrow() == Stop::Abort;
    if !abort {
        tell(Stop::Drain);
        let deadline = tokio::time::sleep(shared.limits.drain_timeout);
        tokio::pin!(deadline);
        let mut look = tokio::time::interval(DRAIN_LOOK);
        // Guests may have work left when their connections are gone.
        let busy = || crew.iter().map(|hand| hand.worker.metrics.busy()).sum::<u64>();
        while (shared.connections.load(Relaxed) > 0 || busy() > 0) && !abort {
            tokio::select! {
                () = shared.empty.notified() => {}
                _ = look.tick() => {}
                () = &mut deadline => {
                    let (left, busy) = (shared.connections.load(Relaxed), busy());
                    shared.log.line(format!("tabi: {left} connections and {busy} busy guests outlasted drain_timeout"));
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
