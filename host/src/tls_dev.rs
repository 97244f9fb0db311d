//! A certificate for development: made by the host, signed by itself, and kept, so that a browser
//! has to be told only once.

use crate::Config;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: Duration = Duration::from_secs(86_400);
/// When a new one is made; browsers want certificates that end within 825 days.
const MAX_AGE: Duration = DAY.saturating_mul(365);

/// Gives certificate and key, which are made if there are none that can still be used.
///
/// # Errors
/// When there is no folder to keep them in.
pub(crate) fn files(config: &Config) -> Result<(PathBuf, PathBuf), String> {
    let dir = config.cache_dir.as_ref().ok_or("server.tls_dev keeps its certificate in server.cache_dir; set that")?;
    let dir = dir.join("tls-dev");
    let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let ip = config.addr.ip();
    if !ip.is_unspecified() && !ip.is_loopback() {
        names.push(ip.to_string());
    }
    // Another address needs another certificate; both may stay.
    let stem = if names.len() > 3 { ip.to_string().replace(':', "-") } else { "localhost".to_owned() };
    let files = (dir.join(format!("{stem}.crt")), dir.join(format!("{stem}.key")));
    if !is_fresh(&files.0) || !is_fresh(&files.1) {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .map_err(|error| error.to_string())
            .and_then(|()| make(&files.0, &files.1, names))
            .map_err(|error| format!("no development certificate can be made in {}: {error}", dir.display()))?;
    }
    Ok(files)
}

fn is_fresh(file: &Path) -> bool {
    let modified = fs::metadata(file).and_then(|meta| meta.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < MAX_AGE))
}

fn make(cert: &Path, key: &Path, names: Vec<String>) -> Result<(), String> {
    let fail = |error: rcgen::Error| error.to_string();
    let mut params = CertificateParams::new(names).map_err(fail)?;
    params.distinguished_name.push(DnType::CommonName, "tabi development certificate");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let days = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / DAY.as_secs();
    let year = 1970 + i32::try_from(days * 100 / 36_525).unwrap_or(100);
    params.not_before = date_time_ymd(year, 1, 1);
    params.not_after = date_time_ymd(year + 2, 1, 1);
    let pair = KeyPair::generate().map_err(fail)?;
    let made = params.self_signed(&pair).map_err(fail)?;
    write(key, &pair.serialize_pem()).and_then(|()| write(cert, &made.pem())).map_err(|error| error.to_string())
}

/// Writes a file that only its owner may read, whole or not at all.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&part, path)
}
