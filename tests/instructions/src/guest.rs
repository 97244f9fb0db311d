//! Runs a component, and counts.

use std::path::Path;
use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView, p2, p3};

use crate::calls::{self, Calls};
use crate::rows::Ask;

/// What one request costs.
#[derive(Clone, Default)]
pub struct Cost {
    /// Instructions of the guest.
    pub instructions: u64,
    /// Calls to the host.
    pub calls: Calls,
}

/// What a component costs.
#[derive(Clone, Default)]
pub struct Costs {
    /// The first request of an instance, with the making of the instance.
    pub first: Cost,
    /// One that follows.
    pub next: Cost,
    /// Bytes of memory after the first request.
    pub memory: usize,
    /// Pages of 4 KiB that the first request writes to, from the making of the instance.
    pub written: usize,
}

/// Requests of an instance before the one that stands for all that follow: by then its heap has what they need.
const WARM: usize = 3;

/// What a guest has.
pub struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Hooks,
    pub(crate) table: ResourceTable,
}

struct Hooks;

impl WasiHttpHooks for Hooks {}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}

/// What runs components.
pub struct Host {
    engine: Engine,
    linker: Linker<State>,
    runtime: tokio::runtime::Runtime,
}

type Response = hyper::Response<p2::body::HyperOutgoingBody>;

impl Host {
    /// Makes what runs components.
    pub fn new() -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.consume_fuel(true).wasm_component_model_async(true);
        // Only a debugger sees the memory of an instance that does not export it.
        config.guest_debug(true);
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        p2::add_only_http_to_linker_async(&mut linker)?;
        wasmtime_wasi::p3::add_to_linker(&mut linker)?;
        p3::add_to_linker(&mut linker)?;
        calls::add_drops_to_linker(&mut linker)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { engine, linker, runtime })
    }

    /// Runs the component, and returns what the requests cost it.
    ///
    /// # Errors
    /// When it traps, or does not answer as it should.
    pub fn measure(&self, file: &Path, ask: &Ask) -> wasmtime::Result<Costs> {
        self.runtime.block_on(async {
            let component = Component::from_file(&self.engine, file)?;
            let mut store = Store::new(&self.engine, state());
            store.set_fuel(u64::MAX)?;
            calls::take();
            let mut left = u64::MAX;
            let guest = Guest::new(&self.linker, &component, &mut store).await?;
            let image = memory(&mut store);
            let mut costs = Costs::default();
            for number in 0..=WARM {
                guest.ask(&mut store, ask).await?;
                let fuel = store.get_fuel()?;
                costs.next = Cost { instructions: left - fuel, calls: calls::take() };
                left = fuel;
                if number == 0 {
                    let now = memory(&mut store);
                    costs.first = costs.next.clone();
                    costs.memory = now.len();
                    costs.written = written(&image, &now);
                }
            }
            Ok(costs)
        })
    }
}

fn state() -> State {
    State { wasi: WasiCtx::builder().build(), http: WasiHttpCtx::new(), hooks: Hooks, table: ResourceTable::new() }
}

/// An instance.
enum Guest {
    P2(p2::bindings::Proxy),
    P3(p3::bindings::Service),
}

impl Guest {
    async fn new(linker: &Linker<State>, component: &Component, store: &mut Store<State>) -> wasmtime::Result<Self> {
        let pre = linker.instantiate_pre(component)?;
        if let Ok(pre) = p2::bindings::ProxyPre::new(pre.clone()) {
            return Ok(Self::P2(pre.instantiate_async(store).await?));
        }
        Ok(Self::P3(p3::bindings::ServicePre::new(pre)?.instantiate_async(store).await?))
    }

    async fn ask(&self, store: &mut Store<State>, ask: &Ask) -> wasmtime::Result<()> {
        let request = ask.request();
        let (status, body) = match self {
            Self::P2(proxy) => {
                let slot: Arc<Mutex<Option<Response>>> = Arc::default();
                let out = slot.clone();
                let mut view = store.data_mut().http();
                let request = view.new_incoming_request(Scheme::Http, request)?;
                let out = view.new_response_outparam_from_callback(move |answer| {
                    *out.lock().unwrap() = answer.ok();
                })?;
                proxy.wasi_http_incoming_handler().call_handle(store, request, out).await?;
                let response = slot.lock().unwrap().take();
                let (head, body) = response.expect("an answer").into_parts();
                (head.status, body.collect().await.expect("a whole body").to_bytes())
            }
            Self::P3(service) => {
                let (request, _) = p3::Request::from_http(&mut Hooks, request);
                store
                    .run_concurrent(async |store| -> wasmtime::Result<_> {
                        let response = service.handle(store, request).await?.expect("an answer");
                        let done = async { Ok(()) };
                        let response = store.with(|store| response.into_http(store, done))?;
                        let (head, body) = response.into_parts();
                        Ok((head.status, body.collect().await.expect("a whole body").to_bytes()))
                    })
                    .await??
            }
        };
        assert_eq!((status.as_u16(), &body[..]), (200, ask.answer.as_bytes()), "{}", ask.target);
        Ok(())
    }
}

/// Returns a copy of all memory of the instances in a store.
fn memory(store: &mut Store<State>) -> Vec<u8> {
    let mut all = Vec::new();
    let mut known = Vec::new();
    for instance in store.debug_all_instances() {
        let Some(memory) = instance.debug_memory(&mut *store, 0) else { continue };
        if !known.contains(&memory.debug_index_in_store()) {
            known.push(memory.debug_index_in_store());
            all.extend_from_slice(memory.data(&*store));
        }
    }
    all
}

/// Returns how many pages are not what they were.
fn written(before: &[u8], after: &[u8]) -> usize {
    const PAGE: usize = 4096;
    let mut zeroes = before.to_vec();
    zeroes.resize(after.len(), 0);
    zeroes.chunks(PAGE).zip(after.chunks(PAGE)).filter(|(before, after)| before != after).count()
}
