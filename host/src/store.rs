//! What belongs to one instance: its resources, limits and rights.

use crate::grants::Capabilities;
use crate::guest_log::{Channel, GuestLog};
use crate::keyvalue::Allowance;
use crate::memory::Memory;
use crate::metrics::Metrics;
use crate::outbound::{Client, Origin, Sent};
use crate::{Limits, Log};
use std::sync::Arc;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, ForbiddenHeaderFilter, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

/// Bytes that a guest may hand over in one write to a body.
const BODY_CHUNK: usize = 64 * 1024;

/// What the instances of one component have in common.
#[derive(Clone)]
pub(crate) struct Blueprint {
    pub(crate) engine: Engine,
    pub(crate) limits: Arc<Limits>,
    pub(crate) log: Log,
    pub(crate) capabilities: Arc<Capabilities>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) outbound: Arc<Client>,
}

/// The state of one instance.
pub struct State {
    /// First, as what is sent has to know that the instance ends before its bodies seem to.
    hooks: Hooks,
    /// Made when the guest first asks for it; most requests never do.
    wasi: Option<Box<WasiCtx>>,
    http: WasiHttpCtx,
    pub(crate) table: ResourceTable,
    memory: Memory,
    pub(crate) limits: Arc<Limits>,
    pub(crate) operations: Allowance,
    pub(crate) capabilities: Arc<Capabilities>,
    pub(crate) log: GuestLog,
    _alive: Alive,
}

/// Counts an instance from its making to its end.
struct Alive(Arc<Metrics>);

impl Alive {
    fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.instances.created.add(1);
        Self(metrics.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.instances.dropped.add(1);
    }
}

impl State {
    /// Makes a store for an instance whose log lines carry `id`.
    pub(crate) fn store(blueprint: &Blueprint, id: u64) -> Store<Self> {
        let Blueprint { engine, limits, log, capabilities, metrics, outbound } = blueprint;
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.resources);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(limits.field_bytes);
        let state = Self {
            hooks: Hooks { outbound: outbound.clone(), origin: None, id, hops: 0 },
            wasi: None,
            http,
            table,
            memory: Memory::new(limits),
            limits: limits.clone(),
            operations: Allowance::new(limits),
            capabilities: capabilities.clone(),
            log: GuestLog::new(log.clone(), id, limits),
            _alive: Alive::new(metrics),
        };
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(limits.hostcall_bytes);
        store.set_max_component_handles(limits.resources);
        // A guest that computes for longer than a tick lets the other connections of its core
        // go first; whether it has had its time is decided outside of it.
        store.set_epoch_deadline(1);
        // Tokio's own yield also looks at the sockets, which a guest that wakes itself would keep
        // it from.
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))));
        store
    }

    /// Whether nothing of an earlier request is left.
    pub(crate) fn is_clean(&self) -> bool {
        self.table.is_empty()
    }

    /// The instance's memory.
    pub(crate) fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Changes the id that log lines carry, for an instance that serves another request.
    pub(crate) fn set_id(&mut self, id: u64) {
        self.log.set_id(id);
        self.hooks.id = id;
        self.renew();
    }

    /// Forgets whatever the request that is over has left here.
    pub(crate) fn forget(&mut self) {
        self.wasi = None;
        self.log.forget();
        if let Some(origin) = self.hooks.origin.take() {
            origin.leave();
        }
    }

    /// Notes how often the request that comes in was here before; `alone` is whether no other is under way.
    pub(crate) fn set_hops(&mut self, hops: u32, alone: bool) {
        // Nobody knows for which of several requests the guest sends its own, so the longest way counts.
        self.hooks.hops = if alone { hops } else { self.hooks.hops.max(hops) };
    }

    /// Gives the instance what each request may use anew.
    pub(crate) fn renew(&self) {
        self.operations.renew(&self.limits);
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self { wasi, table, log, limits, capabilities, .. } = self;
        let ctx = wasi.get_or_insert_with(|| {
            let mut ctx = WasiCtx::builder();
            ctx.stdout(log.stream(Channel::Stdout))
                .stderr(log.stream(Channel::Stderr))
                .envs(&capabilities.env)
                .max_random_size(limits.random_bytes)
                .allow_tcp(false)
                .allow_udp(false);
            let mut ctx = Box::new(ctx.build());
            if let Some(folders) = &capabilities.folders {
                *ctx.filesystem() = folders.clone();
            }
            ctx
        });
        WasiCtxView { ctx, table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}

/// What the guest may do with HTTP.
struct Hooks {
    outbound: Arc<Client>,
    /// Made with the first request that the guest sends; most never do.
    origin: Option<Arc<Origin>>,
    id: u64,
    hops: u32,
}

impl Drop for Hooks {
    fn drop(&mut self) {
        if let Some(origin) = &self.origin {
            origin.leave();
        }
    }
}

impl WasiHttpHooks for Hooks {
    fn is_forbidden_header(&mut self, name: &hyper::header::HeaderName) -> bool {
        forbidden(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(forbidden)
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK
    }

    fn p3_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK
    }

    fn send_request(
        &mut self,
        request: hyper::Request<wasmtime_wasi_http::WasiBody>,
        options: Option<wasmtime_wasi_http::RequestOptions>,
        _: Box<dyn Future<Output = Result<(), wasmtime_wasi_http::Error>> + Send>,
    ) -> Box<dyn Future<Output = wasmtime_wasi_http::Result<Sent>> + Send> {
        let origin = self.origin.get_or_insert_default().clone();
        Box::new(self.outbound.clone().send(origin, self.id, self.hops, request, options))
    }
}

/// Names that are about the connection and not about the message (RFC 9110 7.6.1).
fn forbidden(name: &hyper::header::HeaderName) -> bool {
    DEFAULT_FORBIDDEN_HEADERS.contains(name)
}

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

/// Links `wasi:io` to the resource table alone.
pub(crate) fn add_io_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    use wasmtime_wasi::p2::bindings::io;
    io::error::add_to_linker::<State, HasTable>(linker, |state| &mut state.table)?;
    io::poll::add_to_linker::<State, HasTable>(linker, |state| &mut state.table)?;
    io::streams::add_to_linker::<State, HasTable>(linker, |state| &mut state.table)?;
    Ok(())
}
