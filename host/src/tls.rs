//! TLS: a certificate with its key, read again when the files change.

use crate::StartError;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;
use tokio_rustls::TlsAcceptor;

/// What a listener for https needs.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    store: Arc<Store>,
}

#[derive(Debug)]
struct Store {
    cert: PathBuf,
    key: PathBuf,
    current: Mutex<(Arc<CertifiedKey>, Stamp)>,
}

/// When and how long the two files were at the last look.
type Stamp = [Option<(SystemTime, u64)>; 2];

impl Tls {
    /// Reads the certificate chain and the key.
    ///
    /// # Errors
    /// When a file can't be read, is no PEM, or the key is not the certificate's.
    pub(crate) fn load(cert: &Path, key: &Path) -> Result<Self, StartError> {
        let stamp = stamp(cert, key);
        let first = read(cert, key).map_err(StartError::new)?;
        let store = Arc::new(Store {
            cert: cert.to_owned(),
            key: key.to_owned(),
            current: Mutex::new((Arc::new(first), stamp)),
        });
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| StartError::new(format!("no TLS: {error}")))?
            .with_no_client_auth()
            .with_cert_resolver(store.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), store })
    }

    /// Reads the files again if they have changed; a bad pair leaves the old one in place.
    ///
    /// # Errors
    /// When the new pair can't be used, once for each change.
    pub(crate) fn refresh(&self) -> Result<bool, String> {
        let Store { cert, key, .. } = &*self.store;
        let now = stamp(cert, key);
        if self.store.lock().1 == now {
            return Ok(false);
        }
        let fresh = read(cert, key);
        let mut current = self.store.lock();
        current.1 = now;
        current.0 = Arc::new(fresh?);
        Ok(true)
    }
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, (Arc<CertifiedKey>, Stamp)> {
        self.current.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl ResolvesServerCert for Store {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.lock().0.clone())
    }
}

fn stamp(cert: &Path, key: &Path) -> Stamp {
    [cert, key].map(|path| {
        let meta = std::fs::metadata(path).ok()?;
        Some((meta.modified().ok()?, meta.len()))
    })
}

fn read(cert: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .map_err(|error| format!("the certificate {} can't be read: {error}", cert.display()))?;
    if chain.is_empty() {
        return Err(format!("{} holds no certificate in PEM form", cert.display()));
    }
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| format!("the key {} can't be read: {error}", key.display()))?;
    CertifiedKey::from_der(chain, private, &default_provider())
        .map_err(|error| format!("{} and {} can't be used together: {error}", cert.display(), key.display()))
}
