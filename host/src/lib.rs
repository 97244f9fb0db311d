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
pub mod activation;
mod admin;
mod answer;
mod bindings;
mod board;
mod body;
#[cfg(feature = "compiler")]
mod cache;
mod clock;
mod coded;
#[cfg(feature = "compiler")]
mod compile;
mod config;
mod conn;
mod connection;
mod dispatch;
mod encoding;
mod engine;
mod error;
mod exchange;
pub mod file;
mod file_body;
pub mod file_limit;
mod files;
mod folder;
mod forwarded;
mod grants;
mod guest_log;
mod gzip;
mod hosts;
mod imports;
mod input;
mod inspect;
pub mod keys;
mod keyvalue;
mod listener;
mod lock;
mod log;
mod media;
mod memory;
mod metrics;
mod metrics_page;
mod networks;
mod otel;
mod outbound;
mod patience;
mod peer;
mod precompiled;
mod proxy;
mod ranges;
mod redirects;
mod request;
mod request_id;
mod restore;
mod routes;
mod server;
mod service;
mod site;
mod sockets;
mod sources;
mod spelling;
mod store;
mod stream;
mod tls;
mod tls_dev;
mod trace;
mod units;
mod wasi;
mod worker;

use board::Map;
use engine::Engines;
use listener::Listener;
use metrics::Reload;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;

pub use access_log::json;
pub use admin::Admin;
#[cfg(feature = "compiler")]
pub use compile::compile;
pub use config::{AccessLog, ClientAuth, Config, Limits, PagemapScan, Reuse, Tell, TrustedFields};
pub use engine::App;
#[cfg(feature = "compiler")]
pub use engine::is_done_ahead;
pub use error::StartError;
pub use grants::Grants;
pub use hosts::{Answer, Verdict, verdicts};
pub use inspect::{Outline, World};
pub use listener::Listeners;
pub use log::Log;
pub use precompiled::Origin;
pub use server::Server;
pub use site::{AppEntry, FolderEntry, RedirectEntry, Site};

/// A loaded component, or several, ready to be served.
pub struct Host {
    apps: Vec<App>,
    /// The places of the apps, with their configurations; none for a component that answers everything.
    entries: Vec<(AppEntry, Config)>,
    engines: Engines,
    map: Arc<Map>,
    config: Config,
    sources: sources::Sources,
    log: Log,
}

impl Host {
    /// Loads and checks the component at `path`, which answers all that no folder and no redirect of the
    /// configuration is for.
    ///
    /// # Errors
    /// When it can't be served, with what is missing, or the configuration makes no sense.
    pub fn load(path: &Path, config: Config, log: Log) -> Result<Self, StartError> {
        let sources = sources::Sources::open(&config)?;
        let map = Map::around_one(path, &config.site)?;
        let mut engines = Engines::for_one(&config);
        let app = App::load(&mut engines, path, &config, &log, None)?;
        Ok(Self { apps: vec![app], entries: Vec::new(), engines, map: Arc::new(map), config, sources, log })
    }

    /// Loads and checks all apps of the configuration.
    ///
    /// # Errors
    /// When one of them can't be served, or two have the same place.
    pub fn load_apps(config: Config, log: Log) -> Result<Self, StartError> {
        let sources = sources::Sources::open(&config)?;
        let map = Map::of_all(&config.site)?;
        if config.grants != Grants::default() {
            return Err(StartError::new(
                "[grants] is for a component on the command line; each of the [[apps]] has its own in [apps.grants]",
            ));
        }
        let own = |entry: &AppEntry| {
            let fail = |why| StartError::new(format!("app {:?}: {why}", entry.name()));
            entry.config(&config).map(|own| (entry.clone(), own)).map_err(fail)
        };
        let entries = config.site.apps.iter().map(own).collect::<Result<Vec<_>, _>>()?;
        let mut engines = Engines::for_all(&config, &entries)?;
        let load = |(entry, own): &(AppEntry, Config)| App::load_entry(&mut engines, entry, own, &log, None);
        let apps = entries.iter().map(load).collect::<Result<_, _>>()?;
        Ok(Self { apps, entries, engines, map: Arc::new(map), config, sources, log })
    }

    /// Loads the component at `path` and has `server` answer all later requests with it.
    ///
    /// Requests that have begun are finished by the component that they began with.
    ///
    /// # Errors
    /// As [`load`](Self::load); the server goes on as before.
    pub fn reload(&mut self, server: &Server, path: &Path) -> Result<(), StartError> {
        let old = self.apps.first().map(|app| &*app.capabilities);
        let loaded = App::load(&mut self.engines, path, &self.config, &self.log, old);
        server.reloaded(if loaded.is_ok() { Reload::Done } else { Reload::Refused });
        let app = loaded?;
        server.replace(0, &app);
        self.apps = vec![app];
        Ok(())
    }

    /// Loads the app of this number anew from `path`, if that has changed, and says whether it has.
    ///
    /// # Errors
    /// As [`load_apps`](Self::load_apps); the server goes on as before.
    pub fn reload_app(&mut self, server: &Server, number: usize, path: &Path) -> Result<bool, StartError> {
        let (Some(app), Some((entry, own))) = (self.apps.get_mut(number), self.entries.get(number)) else {
            return Ok(false);
        };
        if app.is_made_of(path) {
            return Ok(false);
        }
        let entry = AppEntry { path: path.to_owned(), name: entry.name(), ..entry.clone() };
        let loaded = App::load_entry(&mut self.engines, &entry, own, &self.log, Some(&app.capabilities));
        server.reloaded(if loaded.is_ok() { Reload::Done } else { Reload::Refused });
        *app = loaded?;
        server.replace(number, app);
        Ok(true)
    }

    /// The components.
    #[must_use]
    pub fn apps(&self) -> &[App] {
        &self.apps
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
        if !tls::Tls::is_wanted(&self.config) {
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
        let tls = self.tls(listeners.0.iter().any(|listener| listener.secure))?;
        Server::start(listeners, tls, &self.apps, &self.map, &self.sources, self.config.clone(), self.log.clone())
    }

    /// Checks what serving needs besides the component and free ports: certificates and their keys.
    ///
    /// # Errors
    /// As [`serve_all`](Self::serve_all).
    pub fn check(&self) -> Result<(), StartError> {
        self.tls(tls::Tls::is_wanted(&self.config)).map(drop)
    }

    fn tls(&self, secure: bool) -> Result<Option<tls::Tls>, StartError> {
        let tls = secure.then(|| tls::Tls::load(&self.config, &self.log)).transpose()?;
        if self.config.https_redirect && tls.is_none() && self.config.trusted_proxies.is_empty() {
            return Err(StartError::new(
                "server.https_redirect needs https to redirect to: server.tls_cert and server.tls_key, or a proxy in \
                 server.trusted_proxies",
            ));
        }
        Ok(tls)
    }
}
