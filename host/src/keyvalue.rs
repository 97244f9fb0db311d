//! Key-value storage for components: `wasi:keyvalue@0.2.0-draft` over a file, memory, or a Redis server.

#[cfg(feature = "redb")]
mod file;
mod host;
mod memory;
mod redis;
mod resp;

use crate::Limits;
#[cfg(feature = "redb")]
use file::File;
use memory::Memory;
use redis::Redis;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub use host::Bucket;
pub(crate) use host::add_to_linker;

/// The bucket that is always there.
const DEFAULT: &str = "default";

/// Where the keys of one component are, and which buckets it has.
pub(crate) struct Keyvalue {
    /// What was granted, to know it again.
    grant: String,
    backend: Arc<Backend>,
    buckets: Vec<String>,
}

/// One place for keys.
enum Backend {
    Memory(Memory),
    #[cfg(feature = "redb")]
    File(Arc<File>),
    Redis(Redis),
}

/// Keys of a bucket, and where the next page of them begins.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    keys: Vec<String>,
    next: Option<u64>,
}

/// Where a page begins: after so many keys, the last of which is known if it was listed just before.
#[derive(Clone, Debug, Default)]
struct Cursor {
    skip: u64,
    after: Option<String>,
}

/// What is done to the keys of a bucket.
enum Change {
    Set(Vec<(String, Vec<u8>)>),
    Delete(Vec<String>),
    Increment(String, u64),
}

/// How many operations an instance has left for the request that it serves.
pub(crate) struct Allowance(AtomicU64);

impl Allowance {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(AtomicU64::new(limits.keyvalue_operations))
    }

    /// Begins another request.
    pub(crate) fn renew(&self, limits: &Limits) {
        self.0.store(limits.keyvalue_operations, Relaxed);
    }

    fn take(&self) -> Result<(), String> {
        let taken = self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        taken.map(|_| ()).map_err(|_| "this request has had its operations (limits.keyvalue_operations)".to_owned())
    }
}

impl Keyvalue {
    /// Opens what `grant` names, or takes it over from `old`.
    ///
    /// # Errors
    /// When the grant means nothing or can't be had; without the password in it.
    pub(crate) fn open(grant: &str, buckets: &[String], limits: &Limits, old: Option<&Self>) -> Result<Self, String> {
        let backend = match old.filter(|old| old.grant == grant) {
            Some(old) => old.backend.clone(),
            None => Arc::new(Backend::open(grant, limits)?),
        };
        Ok(Self { grant: grant.to_owned(), backend, buckets: buckets.to_vec() })
    }

    /// The full name of a bucket that a component asks for.
    fn bucket(&self, identifier: &str) -> Option<String> {
        let name = if identifier.is_empty() { DEFAULT } else { identifier };
        (name == DEFAULT || self.buckets.iter().any(|bucket| bucket == name)).then(|| name.to_owned())
    }
}

impl Backend {
    fn open(grant: &str, limits: &Limits) -> Result<Self, String> {
        match grant.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory(Memory::new(limits.keyvalue_memory))),
            #[cfg(feature = "redb")]
            Some(("file", path)) if !path.is_empty() => File::open(path.as_ref()).map(Self::File),
            #[cfg(not(feature = "redb"))]
            Some(("file", _)) => Err("this program was built without storage in files (cargo feature redb)".to_owned()),
            Some(("redis" | "redis+unix", _)) => Redis::new(grant, limits).map(Self::Redis),
            Some(("rediss", _)) => {
                Err("rediss: is not spoken; put a TLS proxy beside tabi and write redis:".to_owned())
            }
            // The rest of it may be a password.
            other => {
                let scheme = other.map_or(grant, |(scheme, _)| scheme);
                Err(format!("{scheme:?} is no storage; write file:PATH, memory: or redis://HOST:PORT/NUMBER"))
            }
        }
    }

    /// The values of keys, none for those that are not there; `most` bytes in all.
    async fn get(&self, bucket: &str, keys: Vec<String>, most: usize) -> Result<Vec<Option<Vec<u8>>>, String> {
        match self {
            Self::Memory(memory) => memory.get(bucket, &keys, most),
            #[cfg(feature = "redb")]
            Self::File(file) => file.read(move |store, bucket| store.get(bucket, &keys, most), bucket).await,
            Self::Redis(redis) => redis.get(bucket, &keys, most).await,
        }
    }

    async fn exists(&self, bucket: &str, key: String) -> Result<bool, String> {
        match self {
            Self::Memory(memory) => Ok(memory.exists(bucket, &key)),
            #[cfg(feature = "redb")]
            Self::File(file) => file.read(move |store, bucket| store.exists(bucket, &key), bucket).await,
            Self::Redis(redis) => redis.exists(bucket, &key).await,
        }
    }

    async fn list(&self, bucket: &str, cursor: Cursor, most: usize) -> Result<Page, String> {
        match self {
            Self::Memory(memory) => Ok(memory.list(bucket, &cursor, most)),
            #[cfg(feature = "redb")]
            Self::File(file) => file.read(move |store, bucket| store.list(bucket, &cursor, most), bucket).await,
            Self::Redis(redis) => redis.list(bucket, cursor.skip, most).await,
        }
    }

    /// Changes keys, and returns the new number where one was increased.
    async fn change(&self, bucket: &str, change: Change) -> Result<u64, String> {
        match self {
            Self::Memory(memory) => memory.change(bucket, change),
            #[cfg(feature = "redb")]
            Self::File(file) => file.write(bucket, change).await,
            Self::Redis(redis) => redis.change(bucket, change).await,
        }
    }
}

/// Adds to a number that is kept as decimal digits, as Redis does.
fn increased(old: Option<&[u8]>, delta: u64) -> Result<u64, String> {
    let old = match old {
        None => 0,
        Some(digits) => std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
            .ok_or("the value is no number that can be increased")?,
    };
    // Redis counts with a sign, and a component must find the same everywhere.
    old.checked_add(delta)
        .filter(|&sum| i64::try_from(sum).is_ok())
        .ok_or_else(|| "the number would be too large".to_owned())
}

/// The page that begins at `cursor`, from sorted keys that begin at `cursor.after` or else at the first.
fn page(keys: impl Iterator<Item = String>, cursor: &Cursor, most: usize) -> Page {
    let skip = if cursor.after.is_some() { 0 } else { usize::try_from(cursor.skip).unwrap_or(usize::MAX) };
    let mut keys = keys.skip(skip);
    let listed: Vec<_> = keys.by_ref().take(most).collect();
    let next = keys.next().is_some().then(|| cursor.skip.saturating_add(listed.len() as u64));
    Page { keys: listed, next }
}

/// Waits for storage, but not forever.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let late = || "the storage did not answer in time (limits.keyvalue_timeout)".to_owned();
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(grant: &str, part: &str) {
        let why = Keyvalue::open(grant, &[], &Limits::default(), None).map(|_| ()).expect_err("refused");
        assert!(why.contains(part) && !why.contains("secret"), "{why}");
    }

    #[test]
    fn storage_that_means_nothing_is_refused() {
        check("", "is no storage; write file:PATH");
        check("memory", "\"memory\" is no storage");
        check("memory:x", "is no storage");
        #[cfg(feature = "redb")]
        check("file:", "is no storage");
        check("http://secret@host", "\"http\" is no storage");
        check("rediss://:secret@host", "put a TLS proxy");
        check("redis://:secret@host:99999", "port");
        #[cfg(feature = "redb")]
        check("file:/no/such/folder/db", "/no/such/folder/db can't be opened");
        #[cfg(not(feature = "redb"))]
        check("file:/no/such/folder/db", "built without storage in files");
    }

    #[test]
    fn buckets_are_named_one_by_one() {
        let open = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            Keyvalue::open("memory:", &names, &Limits::default(), None).expect("memory")
        };
        assert_eq!(open(&[]).bucket("").as_deref(), Some("default"));
        assert_eq!(open(&[]).bucket("default").as_deref(), Some("default"));
        assert_eq!(open(&[]).bucket("other"), None);
        assert_eq!(open(&["other"]).bucket("other").as_deref(), Some("other"));
    }

    #[test]
    fn numbers_are_digits() {
        assert_eq!(increased(None, 3), Ok(3));
        assert_eq!(increased(Some(b"4"), 3), Ok(7));
        assert_eq!(increased(Some(b"9223372036854775806"), 1), Ok(i64::MAX as u64));
        for (old, delta) in
            [(&b"x"[..], 1), (b"", 1), (b"-1", 1), (b"1.5", 1), (b"\xff", 1), (b"9223372036854775807", 1)]
        {
            assert!(increased(Some(old), delta).is_err(), "{old:?}");
        }
        assert!(increased(None, u64::MAX).is_err());
    }
}
