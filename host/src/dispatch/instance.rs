//! An instance of a 0.2 component, and what makes it.

use crate::store::{Blueprint, State};
use crate::{Reuse, clock};
use std::time::{Duration, Instant};
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, InstancePre, TypedFunc};
use wasmtime_wasi_http::p2::bindings::{Proxy, ProxyIndices};

/// What all instances of a component are made from.
#[derive(Clone)]
pub(crate) struct Template {
    pre: InstancePre<State>,
    proxy: ProxyIndices,
    /// The function that sets an instance back, where requests don't share one and there is such a function.
    restore: Option<ComponentExportIndex>,
}

/// An instance and how often it was used.
pub(crate) struct Instance {
    pub(super) store: Store<State>,
    pub(super) proxy: Proxy,
    pub(super) requests: u32,
    restore: Option<Restore>,
    /// By the coarse clock.
    born: u64,
    pub(super) idle_since: Instant,
}

/// What sets an instance back to its first state.
struct Restore {
    function: TypedFunc<(), ()>,
    /// The bytes of memory that it has then.
    memory: usize,
}

impl Template {
    /// A template for instances that have `restore` called after each request.
    ///
    /// # Errors
    /// When the component is none of `wasi:http/proxy`.
    pub(crate) fn new(pre: InstancePre<State>, restore: Option<ComponentExportIndex>) -> wasmtime::Result<Self> {
        Ok(Self { proxy: ProxyIndices::new(&pre)?, pre, restore })
    }

    /// Whether an instance can be set back to its first state.
    pub(crate) fn restores(&self) -> bool {
        self.restore.is_some()
    }

    /// Makes an instance that has served nobody yet.
    pub(super) async fn instantiate(&self, blueprint: &Blueprint, id: u64) -> wasmtime::Result<Instance> {
        let mut store = State::store(blueprint, id);
        let instance = self.pre.instantiate_async(&mut store).await?;
        let proxy = self.proxy.load(&mut store, &instance)?;
        let function = self.restore.as_ref().map(|index| instance.get_typed_func(&mut store, index)).transpose()?;
        let memory = store.data_mut().memory().bytes();
        let restore = function.map(|function| Restore { function, memory });
        Ok(Instance { store, proxy, requests: 0, restore, born: clock::now_ms(), idle_since: Instant::now() })
    }
}

impl Instance {
    /// Sets it back to its first state, where it may not remember anything of the request that is over. Where that can't be
    /// done, it serves no other.
    ///
    /// It stays, as the end of a body can be told from the end of an instance only while there is one.
    pub(super) async fn restore(&mut self) {
        let Some(Restore { function, memory }) = &self.restore else { return };
        // Memory never shrinks, and a handle that was kept would be known to the next request.
        let is_whole = self.store.data_mut().memory().bytes() == *memory && self.store.data().is_clean();
        // Not the guest, but the host passes its memory now.
        self.store.set_hostcall_fuel(usize::MAX);
        if is_whole && function.call_async(&mut self.store, ()).await.is_ok() {
            self.store.data_mut().forget();
            self.requests = 0;
        }
    }

    /// Whether it is too old for another request.
    pub(super) fn is_old(&self, reuse: &Reuse) -> bool {
        Duration::from_millis(clock::now_ms().saturating_sub(self.born)) > reuse.max_age
    }

    /// Whether it may serve another request.
    pub(super) fn is_fit(&mut self, reuse: &Reuse) -> bool {
        // What is left in the table belongs to the request that is over.
        self.requests < reuse.requests_p2
            && self.store.data().is_clean()
            && self.store.data_mut().memory().bytes() <= reuse.max_memory
            && !self.is_old(reuse)
    }
}
