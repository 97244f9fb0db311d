//! Keys in memory: gone with the process, and never more than a limit.

use super::{Change, Cursor, Page, increased, page};
use crate::lock::lock;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};

/// What an entry costs beside its bytes, roughly.
const OVERHEAD: usize = 64;

/// All buckets of one component.
pub(super) struct Memory {
    limit: usize,
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    buckets: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, content: Mutex::default() }
    }

    pub(super) fn get(&self, bucket: &str, keys: &[String], most: usize) -> Result<Vec<Option<Vec<u8>>>, String> {
        let content = self.content();
        let Some(entries) = content.buckets.get(bucket) else { return Ok(vec![None; keys.len()]) };
        let mut left = most;
        let value = |key| -> Result<Option<Vec<u8>>, String> {
            let Some(value) = entries.get(key) else { return Ok(None) };
            left = left.checked_sub(value.len()).ok_or_else(super::host::too_much)?;
            Ok(Some(value.clone()))
        };
        keys.iter().map(value).collect()
    }

    pub(super) fn exists(&self, bucket: &str, key: &str) -> bool {
        self.content().buckets.get(bucket).is_some_and(|entries| entries.contains_key(key))
    }

    pub(super) fn list(&self, bucket: &str, cursor: &Cursor, most: usize) -> Page {
        let content = self.content();
        let Some(entries) = content.buckets.get(bucket) else { return Page::default() };
        let begin = cursor.after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        page(entries.range::<str, _>((begin, Bound::Unbounded)).map(|(key, _)| key.clone()), cursor, most)
    }

    pub(super) fn change(&self, bucket: &str, change: Change) -> Result<u64, String> {
        let mut content = self.content();
        match change {
            Change::Set(entries) => {
                entries.into_iter().try_for_each(|(key, value)| content.set(bucket, key, value, self.limit))?
            }
            Change::Delete(keys) => keys.iter().for_each(|key| content.delete(bucket, key)),
            Change::Increment(key, delta) => {
                let old = content.buckets.get(bucket).and_then(|entries| entries.get(&key));
                let sum = increased(old.map(Vec::as_slice), delta)?;
                content.set(bucket, key, sum.to_string().into_bytes(), self.limit)?;
                return Ok(sum);
            }
        }
        Ok(0)
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        lock(&self.content)
    }
}

impl Content {
    fn set(&mut self, bucket: &str, key: String, value: Vec<u8>, limit: usize) -> Result<(), String> {
        let entries = self.buckets.entry(bucket.to_owned()).or_default();
        let old = entries.get(&key).map_or(0, |old| cost(&key, old));
        let bytes = self.bytes - old + cost(&key, &value);
        if bytes > limit {
            return Err("the storage is full (limits.keyvalue_memory)".to_owned());
        }
        self.bytes = bytes;
        entries.insert(key, value);
        Ok(())
    }

    fn delete(&mut self, bucket: &str, key: &str) {
        if let Some(value) = self.buckets.get_mut(bucket).and_then(|entries| entries.remove(key)) {
            self.bytes -= cost(key, &value);
        }
    }
}

fn cost(key: &str, value: &[u8]) -> usize {
    key.len() + value.len() + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let memory = Memory::new(3 * (OVERHEAD + 10));
        let set = |key: &str, length| memory.change("b", Change::Set(vec![(key.to_owned(), vec![0; length])]));
        assert_eq!((set("1", 9), set("2", 9), set("3", 9)), (Ok(0), Ok(0), Ok(0)));
        assert!(set("4", 0).is_err_and(|why| why.contains("limits.keyvalue_memory")));
        assert!(set("1", 10).is_err());
        assert_eq!(set("1", 9), Ok(0));
        assert_eq!(memory.change("b", Change::Delete(vec!["1".to_owned(), "1".to_owned()])), Ok(0));
        assert_eq!(set("4", 9), Ok(0));
        assert_eq!(memory.get("b", &["1".to_owned(), "4".to_owned()], 9), Ok(vec![None, Some(vec![0; 9])]));
        assert!(memory.get("b", &["4".to_owned(), "3".to_owned()], 17).is_err());
    }
}
