//! The interfaces as components call them: limits first, then the storage.

use super::{Backend, Change, Cursor, Keyvalue, within};
use crate::Limits;
use crate::bindings::wasi::keyvalue::store::{self, Error, KeyResponse};
use crate::bindings::wasi::keyvalue::{atomics, batch};
use crate::store::State;
use std::sync::Arc;
use wasmtime::component::{HasSelf, Linker, Resource};

/// A bucket that a component has opened.
pub struct Bucket {
    name: String,
    backend: Arc<Backend>,
    /// The end of the page that was listed last: its cursor, and its last key.
    listed: Option<(u64, String)>,
}

type Answer<T> = wasmtime::Result<Result<T, Error>>;

/// Offers the interfaces; without a grant there is no bucket.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    atomics::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    batch::add_to_linker::<State, HasSelf<State>>(linker, |state| state)
}

/// What is said when values are too long to be handed over.
pub(super) fn too_much() -> String {
    "these are too many bytes for one call (limits.hostcall_bytes)".to_owned()
}

impl State {
    /// The storage behind a bucket, for an operation on these keys.
    fn storage<'a>(
        &mut self,
        bucket: &Resource<Bucket>,
        keys: impl IntoIterator<Item = &'a String>,
    ) -> wasmtime::Result<Result<(Arc<Backend>, String), Error>> {
        let Bucket { name, backend, .. } = self.table.get(bucket)?;
        let storage = (backend.clone(), name.clone());
        let allowed = self.operations.take().and_then(|()| within_limits(&self.limits, keys));
        Ok(allowed.map(|()| storage).map_err(Error::Other))
    }
}

fn within_limits<'a>(limits: &Limits, keys: impl IntoIterator<Item = &'a String>) -> Result<(), String> {
    let mut count = 0;
    for key in keys {
        count += 1;
        if key.len() > limits.keyvalue_key_bytes {
            return Err("a key is too long (limits.keyvalue_key_bytes)".to_owned());
        }
    }
    if count > limits.keyvalue_keys {
        return Err("these are too many keys for one call (limits.keyvalue_keys)".to_owned());
    }
    Ok(())
}

impl store::Host for State {
    async fn open(&mut self, identifier: String) -> Answer<Resource<Bucket>> {
        let Some(Keyvalue { backend, .. }) = &self.capabilities.keyvalue else { return Ok(Err(Error::AccessDenied)) };
        let bucket = self.capabilities.keyvalue.as_ref().and_then(|keyvalue| keyvalue.bucket(&identifier));
        let Some(name) = bucket else { return Ok(Err(Error::NoSuchStore)) };
        Ok(Ok(self.table.push(Bucket { name, backend: backend.clone(), listed: None })?))
    }
}

impl store::HostBucket for State {
    async fn get(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<Option<Vec<u8>>> {
        let (backend, name) = match self.storage(&bucket, [&key])? {
            Ok(storage) => storage,
            Err(error) => return Ok(Err(error)),
        };
        let got = within(self.limits.keyvalue_timeout, backend.get(&name, vec![key], self.limits.hostcall_bytes)).await;
        Ok(got.map(|values| values.into_iter().next().flatten()).map_err(Error::Other))
    }

    async fn set(&mut self, bucket: Resource<Bucket>, key: String, value: Vec<u8>) -> Answer<()> {
        batch::Host::set_many(self, bucket, vec![(key, value)]).await
    }

    async fn delete(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<()> {
        batch::Host::delete_many(self, bucket, vec![key]).await
    }

    async fn exists(&mut self, bucket: Resource<Bucket>, key: String) -> Answer<bool> {
        let (backend, name) = match self.storage(&bucket, [&key])? {
            Ok(storage) => storage,
            Err(error) => return Ok(Err(error)),
        };
        Ok(within(self.limits.keyvalue_timeout, backend.exists(&name, key)).await.map_err(Error::Other))
    }

    async fn list_keys(&mut self, bucket: Resource<Bucket>, cursor: Option<u64>) -> Answer<KeyResponse> {
        let (backend, name) = match self.storage(&bucket, [])? {
            Ok(storage) => storage,
            Err(error) => return Ok(Err(error)),
        };
        let skip = cursor.unwrap_or(0);
        let listed = self.table.get_mut(&bucket)?.listed.take();
        let after = listed.filter(|(cursor, _)| *cursor == skip).map(|(_, key)| key);
        let page = backend.list(&name, Cursor { skip, after }, self.limits.keyvalue_keys);
        let page = match within(self.limits.keyvalue_timeout, page).await {
            Ok(page) => page,
            Err(why) => return Ok(Err(Error::Other(why))),
        };
        // So that a listing goes on where it was, whatever is deleted meanwhile.
        if let (Some(next), Some(last)) = (page.next, page.keys.last()) {
            self.table.get_mut(&bucket)?.listed = Some((next, last.clone()));
        }
        Ok(Ok(KeyResponse { keys: page.keys, cursor: page.next }))
    }

    async fn drop(&mut self, bucket: Resource<Bucket>) -> wasmtime::Result<()> {
        self.table.delete(bucket)?;
        Ok(())
    }
}

impl atomics::Host for State {
    async fn increment(&mut self, bucket: Resource<Bucket>, key: String, delta: u64) -> Answer<u64> {
        let (backend, name) = match self.storage(&bucket, [&key])? {
            Ok(storage) => storage,
            Err(error) => return Ok(Err(error)),
        };
        let change = backend.change(&name, Change::Increment(key, delta));
        Ok(within(self.limits.keyvalue_timeout, change).await.map_err(Error::Other))
    }
}

impl batch::Host for State {
    async fn get_many(
        &mut self,
        bucket: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Answer<Vec<Option<(String, Vec<u8>)>>> {
        let (backend, name) = match self.storage(&bucket, &keys)? {
            Ok(storage) if !keys.is_empty() => storage,
            Ok(_) => return Ok(Ok(Vec::new())),
            Err(error) => return Ok(Err(error)),
        };
        let values = backend.get(&name, keys.clone(), self.limits.hostcall_bytes);
        let values = match within(self.limits.keyvalue_timeout, values).await {
            Ok(values) => values,
            Err(why) => return Ok(Err(Error::Other(why))),
        };
        Ok(Ok(keys.into_iter().zip(values).map(|(key, value)| Some((key, value?))).collect()))
    }

    async fn set_many(&mut self, bucket: Resource<Bucket>, entries: Vec<(String, Vec<u8>)>) -> Answer<()> {
        let (backend, name) = match self.storage(&bucket, entries.iter().map(|(key, _)| key))? {
            Ok(storage) if !entries.is_empty() => storage,
            Ok(_) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        if entries.iter().any(|(_, value)| value.len() > self.limits.keyvalue_value_bytes) {
            return Ok(Err(Error::Other("a value is too long (limits.keyvalue_value_bytes)".to_owned())));
        }
        let change = backend.change(&name, Change::Set(entries));
        Ok(within(self.limits.keyvalue_timeout, change).await.map(|_| ()).map_err(Error::Other))
    }

    async fn delete_many(&mut self, bucket: Resource<Bucket>, keys: Vec<String>) -> Answer<()> {
        let (backend, name) = match self.storage(&bucket, &keys)? {
            Ok(storage) if !keys.is_empty() => storage,
            Ok(_) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let change = backend.change(&name, Change::Delete(keys));
        Ok(within(self.limits.keyvalue_timeout, change).await.map(|_| ()).map_err(Error::Other))
    }
}
