//! What one component may do outside: its grants, checked and opened.

use super::hops::Mark;
use super::rules::{self, Leave, Rule, Target};
use crate::lock::lock;
use crate::networks::Networks;
use crate::{Grants, Log, StartError};
use rustls::ClientConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

/// The grants of a component for requests of its own, shared by all of its instances.
pub(crate) struct Policy {
    rules: Vec<Rule>,
    pub(crate) private: Networks,
    /// What servers are trusted; there is none where nothing is granted.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) mark: Mark,
    /// Requests under way.
    pub(crate) open: Arc<AtomicUsize>,
    said: Mutex<HashSet<String>>,
}

/// Destinations that the log is told about; a guest may think of any number of them.
const MOST_SAID: usize = 100;

impl Policy {
    /// Reads the grants and the certificates that they name.
    ///
    /// # Errors
    /// When an entry means nothing or a file can't be read, with its key.
    pub(crate) fn open(grants: &Grants) -> Result<Self, StartError> {
        let rules = grants.outbound.iter().map(|entry| {
            Rule::parse(entry).map_err(|why| StartError::new(format!("grants.outbound: {entry:?} {why}")))
        });
        let rules: Vec<Rule> = rules.collect::<Result<_, _>>()?;
        let private = networks(&grants.outbound_private)?;
        let tls = if rules.is_empty() { None } else { Some(trust(&grants.outbound_ca)?) };
        let (open, said) = (Arc::default(), Mutex::default());
        Ok(Self { rules, private, tls, mark: Mark::new(), open, said })
    }

    /// Whether the component may send anything at all.
    pub(crate) fn is_granted(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Whether a request to `target` with this path is granted, and how far.
    pub(crate) fn leave(&self, target: &Target, path: &str) -> Option<Leave> {
        rules::find(&self.rules, target, path)
    }

    /// Writes `line` into the log, unless it was there before.
    pub(crate) fn say_once(&self, log: &Log, id: u64, line: String) {
        let mut said = lock(&self.said);
        if said.len() > MOST_SAID || said.contains(&line) {
            return;
        }
        log.line(format!("tabi: [{id:016x}] {line}"));
        if said.len() == MOST_SAID {
            log.line("tabi: further refusals of requests to other servers are not logged".to_owned());
        }
        said.insert(line);
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy").field("rules", &self.rules).field("private", &self.private).finish_non_exhaustive()
    }
}

/// Reads the entries of `grants.outbound_private`.
fn networks(entries: &[String]) -> Result<Networks, StartError> {
    const KEY: &str = "grants.outbound_private";
    if entries.iter().any(|entry| entry == "unix") {
        return Err(StartError::new(format!("{KEY}: \"unix\" is no network; requests go over TCP")));
    }
    if entries.iter().any(|entry| entry == "*") {
        return Networks::parse(KEY, &["0.0.0.0/0".to_owned(), "::/0".to_owned()]);
    }
    Networks::parse(KEY, entries)
}

/// Trusts the authorities that browsers trust, and those of `files`.
fn trust(files: &[String]) -> Result<Arc<ClientConfig>, StartError> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for file in files {
        let fail = |why: String| StartError::new(format!("grants.outbound_ca: {file}: {why}"));
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(Path::new(file))
            .and_then(Iterator::collect)
            .map_err(|error| fail(format!("can't be read: {error}")))?;
        if certificates.is_empty() {
            return Err(fail("holds no certificate in PEM form".to_owned()));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|error| fail(format!("holds a certificate of no use: {error}")))?;
        }
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| StartError::new(format!("no TLS: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(outbound: &[&str], private: &[&str], ca: &[&str], wanted: Result<bool, &str>) {
        let own = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let (outbound, outbound_private, outbound_ca) = (own(outbound), own(private), own(ca));
        let grants = Grants { outbound, outbound_private, outbound_ca, ..Grants::default() };
        match (Policy::open(&grants), wanted) {
            (Ok(policy), Ok(granted)) => assert_eq!(policy.is_granted(), granted),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, _) => panic!("{got:?}"),
        }
    }

    #[test]
    fn grants_are_checked_at_the_start() {
        check(&[], &[], &[], Ok(false));
        check(&["https://a.example"], &["10.0.0.0/8", "*", "::1"], &[], Ok(true));
        check(&["a.example"], &[], &[], Err("grants.outbound: \"a.example\" has no scheme"));
        check(&["*"], &["10.0.0.0/99"], &[], Err("grants.outbound_private: \"10.0.0.0/99\" is no network"));
        check(&["*"], &["unix"], &[], Err("grants.outbound_private: \"unix\" is no network"));
        check(&["*"], &["10.0.0.1/8"], &[], Err("did you mean 10.0.0.0/8"));
        check(&["*"], &[], &["/nowhere.pem"], Err("grants.outbound_ca: /nowhere.pem: can't be read"));
        check(&["*"], &[], &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")], Err("holds no certificate"));
    }

    #[test]
    fn a_refusal_is_said_once_and_a_hundred_at_most() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        struct Sink(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for Sink {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().expect("no panic while writing").extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let log = Log::to(Sink(lines.clone()));
        let policy = Policy::open(&Grants::default()).expect("no grants");
        for number in 0..300 {
            policy.say_once(&log, 7, format!("to {}", number / 2));
        }
        log.flush();
        let text = String::from_utf8_lossy(&lines.lock().expect("no panic while writing")).into_owned();
        assert_eq!(text.lines().count(), MOST_SAID + 2, "{text}");
        assert!(text.starts_with("tabi: [0000000000000007] to 0\ntabi: [0000000000000007] to 1\n"), "{text}");
        assert!(text.ends_with("are not logged\n"), "{text}");
    }
}
