//! Connections to other servers: in use, and kept for the next request.

use super::Client;
use super::body::RequestBody;
use super::rules::Target;
use hyper::client::conn::http1::SendRequest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use wasmtime_wasi_http::Error;

/// An open connection, on which one request at a time is under way.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<RequestBody>,
    /// Ends the task that moves its bytes.
    pub(crate) cut: Arc<Notify>,
}

/// A connection in use. Dropped without a word it is cut, as nobody knows what comes over it next.
pub(crate) struct Link {
    connection: Option<Connection>,
    call: Call,
}

/// What the log and the pool know a request by.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) client: Arc<Client>,
    pub(crate) target: Target,
    pub(crate) method: hyper::Method,
    pub(crate) id: u64,
}

impl Call {
    /// Writes into the log why the request failed.
    pub(crate) fn report(&self, error: &Error) {
        self.client.report(self, error);
    }
}

impl Link {
    pub(crate) fn new(connection: Connection, call: Call) -> Self {
        Self { connection: Some(connection), call }
    }

    /// What requests are sent by.
    pub(crate) fn sender(&mut self) -> Option<&mut SendRequest<RequestBody>> {
        self.connection.as_mut().map(|connection| &mut connection.sender)
    }

    /// Writes into the log why the exchange failed.
    pub(crate) fn report(&self, error: &Error) {
        self.call.report(error);
    }

    /// Closes the connection at once, whatever is under way.
    pub(crate) fn cut(self) {
        drop(self);
    }

    /// Keeps the connection for the next request, if it may serve one.
    pub(crate) fn keep(mut self) {
        if let Some(connection) = self.connection.take() {
            self.call.client.pool.put(&self.call.target, connection);
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.cut.notify_one();
        }
    }
}

/// Connections without a request, the last used on top.
pub(crate) struct Pool {
    idle: Mutex<Idle>,
    most: usize,
    patience: Duration,
}

#[derive(Default)]
struct Idle {
    count: usize,
    by_target: HashMap<Target, Vec<(Connection, Instant)>>,
}

impl Pool {
    pub(crate) fn new(most: usize, patience: Duration) -> Self {
        Self { idle: Mutex::default(), most, patience }
    }

    /// Takes a connection to `target` that is ready for a request.
    pub(crate) fn take(&self, target: &Target) -> Option<Connection> {
        let mut idle = self.lock();
        let Idle { count, by_target } = &mut *idle;
        let waiting = by_target.get_mut(target)?;
        let mut found = None;
        while let Some((connection, since)) = waiting.pop() {
            *count -= 1;
            // One that is still busy with a request's body is of no use to anybody.
            if connection.sender.is_ready() && since.elapsed() < self.patience {
                found = Some(connection);
                break;
            }
        }
        if waiting.is_empty() {
            by_target.remove(target);
        }
        found
    }

    fn put(&self, target: &Target, connection: Connection) {
        if connection.sender.is_closed() {
            return;
        }
        let mut idle = self.lock();
        if idle.count >= self.most {
            idle.forget_oldest();
        }
        if self.most > 0 {
            idle.count += 1;
            idle.by_target.entry(target.clone()).or_default().push((connection, Instant::now()));
        }
    }

    /// Lets go of connections that waited for too long, or that the other side has closed.
    pub(crate) fn expire(&self) {
        let mut idle = self.lock();
        if idle.count == 0 {
            return;
        }
        let fresh = |(connection, since): &(Connection, Instant)| {
            !connection.sender.is_closed() && since.elapsed() < self.patience
        };
        idle.by_target.retain(|_, waiting| {
            waiting.retain(fresh);
            !waiting.is_empty()
        });
        idle.count = idle.by_target.values().map(Vec::len).sum();
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        crate::lock::lock(&self.idle)
    }
}

impl Idle {
    fn forget_oldest(&mut self) {
        let oldest = self.by_target.iter().filter_map(|(target, waiting)| Some((waiting.first()?.1, target)));
        let Some((_, target)) = oldest.min_by_key(|(since, _)| *since) else { return };
        let target = target.clone();
        if let Some(waiting) = self.by_target.get_mut(&target) {
            waiting.remove(0);
            self.count -= 1;
            if waiting.is_empty() {
                self.by_target.remove(&target);
            }
        }
    }
}
