//! TLS: certificates with their keys, chosen by the name that the client asks for, client
//! certificates, and all of them read again when the files change.

use crate::lock::lock;
use crate::{ClientAuth, Config, Log, StartError, tls_dev};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio_rustls::TlsAcceptor;

/// What a listener for https needs.
pub(crate) struct Tls {
    files: Mutex<Files>,
    current: Mutex<Arc<ServerConfig>>,
}

/// The files, and what was in them when they were last good.
struct Files {
    pairs: Vec<Pair>,
    clients: Option<Clients>,
}

struct Pair {
    cert: PathBuf,
    key: PathBuf,
    stamp: Stamp,
    current: Arc<CertifiedKey>,
}

/// Who vouches for clients.
struct Clients {
    file: PathBuf,
    required: bool,
    stamp: Stamp,
    current: Arc<RootCertStore>,
}

/// When and how long files were at the last look.
type Stamp = Vec<Option<(SystemTime, u64)>>;

impl Tls {
    /// Reads the certificates and keys that `config` names.
    ///
    /// # Errors
    /// When there is none, a file can't be read or is no PEM, or a key is not its certificate's.
    pub(crate) fn load(config: &Config, log: &Log) -> Result<Self, StartError> {
        let files = Files::open(config, log).map_err(StartError::new)?;
        let current = files.build().map_err(StartError::new)?;
        Ok(Self { files: Mutex::new(files), current: Mutex::new(Arc::new(current)) })
    }

    /// Whether `config` asks for https at all.
    pub(crate) fn is_wanted(config: &Config) -> bool {
        config.tls_dev || !config.tls_cert.is_empty() || !config.tls_key.is_empty()
    }

    /// What shakes hands with the next client.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(lock(&self.current).clone())
    }

    /// Reads the files that have changed, or all of them, and says in the log what came of it; what
    /// can't be used leaves the old in place.
    pub(crate) fn refresh(&self, all: bool, log: &Log) {
        match self.try_refresh(all) {
            Ok(true) if all => log.line("tabi: the certificates have been read again"),
            Ok(true) => log.line("tabi: the certificate has changed and is used from now on"),
            Ok(false) => {}
            Err(why) => log.line(format!("tabi: the old certificate stays in use: {why}")),
        }
    }

    fn try_refresh(&self, all: bool) -> Result<bool, String> {
        let mut files = lock(&self.files);
        let (mut changed, mut faults) = (false, Vec::new());
        for pair in &mut files.pairs {
            let now = stamp(&[&pair.cert, &pair.key]);
            if all || pair.stamp != now {
                pair.stamp = now;
                match read_pair(&pair.cert, &pair.key) {
                    Ok(fresh) => (pair.current, changed) = (Arc::new(fresh), true),
                    Err(why) => faults.push(why),
                }
            }
        }
        if let Some(clients) = &mut files.clients {
            let now = stamp(&[&clients.file]);
            if all || clients.stamp != now {
                clients.stamp = now;
                match read_roots(&clients.file) {
                    Ok(fresh) => (clients.current, changed) = (Arc::new(fresh), true),
                    Err(why) => faults.push(why),
                }
            }
        }
        if changed {
            // A configuration of its own, so that no session outlives what it was built on.
            let fresh = Arc::new(files.build()?);
            *lock(&self.current) = fresh;
        }
        if faults.is_empty() { Ok(changed) } else { Err(faults.join("; ")) }
    }
}

impl Files {
    fn open(config: &Config, log: &Log) -> Result<Self, String> {
        let (certs, keys) = (&config.tls_cert, &config.tls_key);
        if certs.len() != keys.len() {
            let (certs, keys) = (certs.len(), keys.len());
            return Err(format!(
                "https needs both server.tls_cert and server.tls_key, a key for each certificate; there are {certs} \
                 and {keys}"
            ));
        }
        let mut files: Vec<(PathBuf, PathBuf)> =
            certs.iter().zip(keys).map(|(cert, key)| (cert.into(), key.into())).collect();
        if files.is_empty() && config.tls_dev {
            let made = tls_dev::files(config)?;
            let cert = made.0.display();
            log.line(format!(
                "tabi: https with a certificate for development, which clients must be told to trust: {cert}"
            ));
            files.push(made);
        }
        if files.is_empty() {
            return Err("https needs both server.tls_cert and server.tls_key".to_owned());
        }
        let pairs = files.into_iter().map(|(cert, key)| {
            let stamp = stamp(&[&cert, &key]);
            let current = Arc::new(read_pair(&cert, &key)?);
            Ok(Pair { cert, key, stamp, current })
        });
        let pairs = pairs.collect::<Result<_, String>>()?;
        let clients = match (config.tls_client_auth, &config.tls_client_ca) {
            (ClientAuth::Off, _) => None,
            (_, None) => return Err("server.tls_client_auth needs server.tls_client_ca".to_owned()),
            (auth, Some(file)) => {
                let stamp = stamp(&[file]);
                let current = Arc::new(read_roots(file)?);
                Some(Clients { file: file.clone(), required: auth == ClientAuth::Required, stamp, current })
            }
        };
        Ok(Self { pairs, clients })
    }

    fn build(&self) -> Result<ServerConfig, String> {
        let fail = |error: &dyn std::fmt::Display| format!("no TLS: {error}");
        let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| fail(&error))?;
        let verifier: Arc<dyn ClientCertVerifier> = match &self.clients {
            None => WebPkiClientVerifier::no_client_auth(),
            Some(clients) => {
                let roots = clients.current.clone();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::new(default_provider()));
                let verifier = if clients.required { verifier } else { verifier.allow_unauthenticated() };
                verifier.build().map_err(|error| fail(&error))?
            }
        };
        let keys = self.pairs.iter().map(|pair| pair.current.clone()).collect();
        let mut config = builder.with_client_cert_verifier(verifier).with_cert_resolver(Arc::new(ByName(keys)));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Chooses the first certificate that is valid for the name, or else the first of all.
#[derive(Debug)]
struct ByName(Vec<Arc<CertifiedKey>>);

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().filter(|_| self.0.len() > 1);
        let name = name.and_then(|name| ServerName::try_from(name).ok());
        let fits = |key: &&Arc<CertifiedKey>| {
            let cert = key.cert.first().and_then(|cert| ParsedCertificate::try_from(cert).ok());
            cert.zip(name.as_ref()).is_some_and(|(cert, name)| rustls::client::verify_server_name(&cert, name).is_ok())
        };
        self.0.iter().find(fits).or(self.0.first()).cloned()
    }
}

fn stamp(paths: &[&PathBuf]) -> Stamp {
    let look = |path: &&PathBuf| {
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    };
    paths.iter().map(look).collect()
}

/// Reads a certificate chain with its key.
///
/// # Errors
/// When a file can't be read, is no PEM, or the key is not the certificate's.
fn read_pair(cert: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain = read_certificates(cert)?;
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("the key {} can't be read: {error}", key.display()))?;
    CertifiedKey::from_der(chain, private, &default_provider())
        .map_err(|error| format!("{} and {} can't be used together: {error}", cert.display(), key.display()))
}

fn read_roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for cert in read_certificates(file)? {
        roots.add(cert).map_err(|error| format!("{} holds what is no authority: {error}", file.display()))?;
    }
    Ok(roots)
}

fn read_certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certs: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| format!("the certificate {} can't be read: {error}", file.display()))?;
    if certs.is_empty() {
        return Err(format!("{} holds no certificate in PEM form", file.display()));
    }
    Ok(certs)
}
