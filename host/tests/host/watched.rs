//! A host and its numbers.

use crate::client::Client;
use crate::support::Running;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tabi_host::{Admin, Config};

/// A running host that is watched.
pub(crate) struct Watched {
    pub(crate) running: Running,
    pub(crate) admin: Admin,
}

impl Watched {
    pub(crate) fn start(component: &Path, mut config: Config) -> Self {
        config.admin_addr = Some(([127, 0, 0, 1], 0).into());
        let running = Running::serve(component, config);
        let admin = Admin::start(([127, 0, 0, 1], 0).into(), &running.log).expect("listens");
        assert_eq!(ask(&admin, "/readyz"), (503, "loading\n".to_owned()));
        assert_eq!(ask(&admin, "/metrics").0, 503);
        admin.watch(&running.server, &["guest"]);
        Self { running, admin }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.running.server.addr())
    }

    /// The samples once no request is open any more.
    #[track_caller]
    pub(crate) fn settled(&self) -> BTreeMap<String, f64> {
        let begin = Instant::now();
        loop {
            let samples = parse(&ask(&self.admin, "/metrics").1);
            if samples["tabi_requests_in_flight"] == 0.0 && samples["tabi_connections_open"] == 0.0 {
                return samples;
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{samples:?}");
            std::thread::yield_now();
        }
    }
}

/// The status and the text at a path of the admin listener.
pub(crate) fn ask(admin: &Admin, path: &str) -> (u16, String) {
    let reply = Client::connect(admin.addr()).get(path);
    (reply.status, reply.text())
}

/// Reads a page, and holds it to the format: each sample belongs to the family above it, and none is there twice.
#[track_caller]
pub(crate) fn parse(page: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut family) = (BTreeMap::new(), "");
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            family = name;
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a sample");
        let rest = name.strip_prefix(family).unwrap_or_else(|| panic!("{name} is not of {family}"));
        let rest = ["_bucket", "_sum", "_count"].iter().find_map(|end| rest.strip_prefix(end)).unwrap_or(rest);
        assert!(rest.is_empty() || rest.starts_with('{') && rest.ends_with('}'), "{line}");
        let value = value.parse().expect("a number");
        assert_eq!(samples.insert(name.to_owned(), value), None, "{name} is there twice");
    }
    samples
}
