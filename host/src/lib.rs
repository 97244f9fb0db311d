//! A small server for `wasi:http` components.
//!
//! ```no_run
//! use std::path::Path;
//! use tabi_host::{Config, Host, Log};
//!
//! let config = Config { addr: ([127, 0, 0, 1], 0).into(), ..Config::default() };
//! let host = Host::load(Path::new("app.wasm"), config, Log::stderr())?;
//! let server = host.serve(host.bind()?)?;
//! println!("http://{}/", server.addr());
//! server.drain();
//! server.wait();
//! # Ok::<(), tabi_host::StartError>(())
//! ```

mod access_log;
mod admin;
mod answer;
mod bindings;
mod body;
mod cache;
mod clock;
mod coded;
mod config;
mod conn;
mod connection;
mod dispatch;
mod encoding;
mod engine;
mod error;
mod exchange;
pub mod file;
mod grants;
mod guest_log;
mod gzip;
mod hosts;
mod imports;
mod inspect;
pub mod keys;
mod listener;
mod log;
mod metrics;
mod metrics_page;
mod otel;
mod peer;
mod request;
mod server;
mod service;
mod store;
mod stream;
mod tls;
mod trace;
mod units;
mod worker;

use listener::Listener;
use metrics::Reload;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

pub use access_log::json;
pub use admin::Admin;
pub use config::{AccessLog, Config, Limits, PagemapScan, Reuse};
pub use engine::App;
pub use error::StartError;
pub use grants::Grants;
pub use hosts::{Answer, Verdict, verdicts};
pub use inspect::{Outline, World};
pub use listener::Listeners;
pub use log::Log;
pub use server::Server;

/// A loaded component, ready to be served.
pub struct Host {
    app: App,
    config: Config,
    log: Log,
}

impl Host {
    /// Loads and checks the component at `path`.
    ///
    /// # Errors
    /// When it can't be served, with what is missing.
    pub fn load(path: &Path, config: Config, log: Log) -> Result<Self, StartError> {
        let app = App::load(path, &config, &log)?;
        Ok(Self { app, config, log })
    }

    /// Loads the component at `path` and has `server` answer all later requests with it.
    ///
    /// Requests that have begun are finished by the component that they began with.
    ///
    /// # Errors
    /// As [`load`](Self::load); the server goes on as before.
    pub fn reload(&mut self, server: &Server, path: &Path) -> Result<(), StartError> {
        let loaded = App::load_beside(&self.app, path, &self.config, &self.log);
        server.reloaded(if loaded.is_ok() { Reload::Done } else { Reload::Refused });
        self.app = loaded?;
        server.replace(&self.app);
        Ok(())
    }

    /// The component.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Opens every socket that the configuration names.
    ///
    /// # Errors
    /// When one can't be opened: a port or a path is in use or not allowed, or an address is not one
    /// of this machine.
    pub fn listen(&self) -> Result<Listeners, StartError> {
        Listeners::open(&self.config)
    }

    /// Listens for http on the port that the configuration says.
    ///
    /// # Errors
    /// When the port is in use or not allowed, or the address is not one of this machine.
    pub fn bind(&self) -> Result<TcpListener, StartError> {
        listener::open_port(self.config.addr)
    }

    /// Listens for https as well, if the configuration has a certificate.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_tls(&self) -> Result<Option<TcpListener>, StartError> {
        if self.config.tls_cert.is_none() {
            return Ok(None);
        }
        listener::open_port(SocketAddr::new(self.config.addr.ip(), self.config.tls_port)).map(Some)
    }

    /// Serves connections of `listener` until the server is told to stop.
    ///
    /// # Errors
    /// When threads can't be started.
    pub fn serve(&self, listener: TcpListener) -> Result<Server, StartError> {
        self.serve_both(listener, None)
    }

    /// Serves http on `plain` and https on `secure`.
    ///
    /// # Errors
    /// When threads can't be started, or the certificate or its key can't be used.
    pub fn serve_both(&self, plain: TcpListener, secure: Option<TcpListener>) -> Result<Server, StartError> {
        let mut all = vec![Listener::from(plain)];
        all.extend(secure.map(|secure| Listener::from(secure).secure()));
        self.serve_all(Listeners(all))
    }

    /// Serves everything that connects to `listeners`.
    ///
    /// # Errors
    /// When threads can't be started, or the certificate or its key can't be used.
    pub fn serve_all(&self, listeners: Listeners) -> Result<Server, StartError> {
        let tls = match (&self.config.tls_cert, &self.config.tls_key) {
            _ if !listeners.0.iter().any(|listener| listener.secure) => None,
            (Some(cert), Some(key)) => Some(tls::Tls::load(cert, key)?),
            _ => return Err(StartError::new("https needs both server.tls_cert and server.tls_key")),
        };
        Server::start(listeners, tls, &self.app, self.config.clone(), self.log.clone())
    }
}
