//! Keys in a file that survives a crash, by `redb`.
//!
//! Reads are done by threads of the runtime. One thread of the file's own writes: it takes what waits and commits it together,
//! so that many requests share one wait for the disk. Who is told that a change is done finds it again after a crash.

use super::{Change, Cursor, Page, increased, page};
use crate::lock::lock;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError, WriteTransaction};
use std::collections::HashMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::{mpsc, oneshot};

/// Changes that may wait for the writing thread; who comes later waits for a place.
const QUEUE: usize = 1024;

/// Changes that are committed together.
const TOGETHER: usize = 256;

/// Bytes of the file that are kept in memory.
const CACHE: usize = 32 * 1024 * 1024;

/// An open file. All components of a process that are granted the same one share it.
pub(super) struct File {
    store: Arc<Store>,
    changes: mpsc::Sender<Waiting>,
}

/// The file's content.
pub(super) struct Store(Database);

/// A change, and who waits for it.
struct Waiting {
    bucket: String,
    change: Change,
    done: oneshot::Sender<Result<u64, String>>,
}

type Table<'a> = TableDefinition<'a, &'static str, &'static [u8]>;

impl File {
    /// Opens the file, and creates it where it is not there.
    pub(super) fn open(path: &Path) -> Result<Arc<Self>, String> {
        static OPEN: Mutex<Option<HashMap<PathBuf, Weak<File>>>> = Mutex::new(None);
        let name = path.display();
        let fail = |why: String| format!("{name} can't be opened: {why}");
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|error| fail(error.to_string()))?;
        let full = folder.join(path.file_name().ok_or_else(|| fail("it has no name".to_owned()))?);
        let mut open = lock(&OPEN);
        let open = open.get_or_insert_default();
        if let Some(file) = open.get(&full).and_then(Weak::upgrade) {
            return Ok(file);
        }
        let database = Database::builder().set_cache_size(CACHE).create(&full).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => fail("another process has it open".to_owned()),
            other => fail(other.to_string()),
        })?;
        let store = Arc::new(Store(database));
        let (changes, queue) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new().name("tabi-keyvalue".into());
        let writer = store.clone();
        thread.spawn(move || writer.write_all(queue)).map_err(|error| fail(error.to_string()))?;
        let file = Arc::new(Self { store, changes });
        open.insert(full, Arc::downgrade(&file));
        Ok(file)
    }

    /// Reads without holding up the thread that asks.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Store, &str) -> Result<T, redb::Error> + Send + 'static,
        bucket: &str,
    ) -> Result<T, String> {
        let (store, bucket) = (self.store.clone(), bucket.to_owned());
        let read = tokio::task::spawn_blocking(move || read(&store, &bucket));
        read.await.map_err(|_| broken())?.map_err(|error| error.to_string())
    }

    /// Changes keys; they are on the disk when it returns.
    pub(super) async fn write(&self, bucket: &str, change: Change) -> Result<u64, String> {
        let (done, wait) = oneshot::channel();
        let waiting = Waiting { bucket: bucket.to_owned(), change, done };
        self.changes.send(waiting).await.map_err(|_| broken())?;
        wait.await.map_err(|_| broken())?
    }
}

fn broken() -> String {
    "the storage is broken; the log may say why".to_owned()
}

impl Store {
    pub(super) fn get(&self, bucket: &str, keys: &[String], most: usize) -> Result<Vec<Option<Vec<u8>>>, redb::Error> {
        let Some(table) = self.table(bucket)? else { return Ok(vec![None; keys.len()]) };
        let mut left = most;
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            let value = table.get(key.as_str())?;
            let Some(value) = value else {
                values.push(None);
                continue;
            };
            let Some(rest) = left.checked_sub(value.value().len()) else {
                return Err(redb::Error::Io(std::io::Error::other(super::host::too_much())));
            };
            left = rest;
            values.push(Some(value.value().to_vec()));
        }
        Ok(values)
    }

    pub(super) fn exists(&self, bucket: &str, key: &str) -> Result<bool, redb::Error> {
        Ok(match self.table(bucket)? {
            Some(table) => table.get(key)?.is_some(),
            None => false,
        })
    }

    pub(super) fn list(&self, bucket: &str, cursor: &Cursor, most: usize) -> Result<Page, redb::Error> {
        let Some(table) = self.table(bucket)? else { return Ok(Page::default()) };
        let begin = cursor.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut broken = None;
        let keys = table.range::<&str>((begin, Bound::Unbounded))?.map_while(|entry| match entry {
            Ok((key, _)) => Some(key.value().to_owned()),
            Err(error) => {
                broken = Some(error);
                None
            }
        });
        let page = page(keys, cursor, most);
        broken.map_or(Ok(page), |error| Err(error.into()))
    }

    fn table(&self, bucket: &str) -> Result<Option<redb::ReadOnlyTable<&'static str, &'static [u8]>>, redb::Error> {
        match self.0.begin_read()?.open_table(Table::new(bucket)) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The life of the writing thread: until nobody has the file any more.
    fn write_all(&self, mut queue: mpsc::Receiver<Waiting>) {
        while let Some(first) = queue.blocking_recv() {
            let mut together = vec![first];
            while together.len() < TOGETHER {
                match queue.try_recv() {
                    Ok(next) => together.push(next),
                    Err(_) => break,
                }
            }
            let (tasks, done): (Vec<_>, Vec<_>) =
                together.into_iter().map(|waiting| ((waiting.bucket, waiting.change), waiting.done)).unzip();
            match self.write(tasks) {
                Ok(results) => done.into_iter().zip(results).for_each(|(done, result)| _ = done.send(result)),
                Err(error) => done.into_iter().for_each(|done| _ = done.send(Err(error.to_string()))),
            }
        }
    }

    /// Makes all changes or none; the results are those of each, which may be refused by itself.
    fn write(&self, tasks: Vec<(String, Change)>) -> Result<Vec<Result<u64, String>>, redb::Error> {
        let transaction = self.0.begin_write()?;
        let results = tasks.into_iter().map(|(bucket, change)| apply(&transaction, &bucket, change));
        let results = results.collect::<Result<Vec<_>, _>>()?;
        transaction.commit()?;
        Ok(results)
    }
}

fn apply(transaction: &WriteTransaction, bucket: &str, change: Change) -> Result<Result<u64, String>, redb::Error> {
    let mut table = transaction.open_table(Table::new(bucket))?;
    match change {
        Change::Set(entries) => {
            for (key, value) in entries {
                table.insert(key.as_str(), value.as_slice())?;
            }
        }
        Change::Delete(keys) => {
            for key in keys {
                table.remove(key.as_str())?;
            }
        }
        Change::Increment(key, delta) => {
            let sum = increased(table.get(key.as_str())?.as_ref().map(|old| old.value()), delta);
            if let Ok(sum) = &sum {
                table.insert(key.as_str(), sum.to_string().as_bytes())?;
            }
            return Ok(sum);
        }
    }
    Ok(Ok(0))
}
