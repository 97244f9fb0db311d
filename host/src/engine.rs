//! From a file to something that can be instantiated in microseconds.

use crate::cache::Cache;
use crate::error::one_line;
use crate::grants::Capabilities;
use crate::inspect::{Outline, World};
use crate::store::State;
use crate::{Config, Log, PagemapScan, StartError, clock, imports};
use std::path::Path;
use std::sync::Arc;
use wasmtime::component::{Component, Linker};
use wasmtime::{Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
use wasmtime_wasi_http::{p2, p3};

/// Core instances, memories and tables that one component may consist of.
const PARTS: u32 = 16;

/// A component, compiled, linked and checked.
pub struct App {
    pub(crate) engine: Engine,
    pub(crate) pre: Pre,
    pub(crate) capabilities: Arc<Capabilities>,
    hints: Vec<String>,
}

/// What each request, or each new instance, starts from.
pub(crate) enum Pre {
    P2(p2::bindings::ProxyPre<State>),
    P3(p3::bindings::ServicePre<State>),
}

impl App {
    /// Loads the component at `path`.
    ///
    /// # Errors
    /// When there is no such file, it is no component, it has no handler, it does not compile,
    /// or it imports what this host does not offer; one line that says so.
    pub fn load(path: &Path, config: &Config, log: &Log) -> Result<Self, StartError> {
        Self::load_with(None, path, config, log)
    }

    /// Loads another component into the engine of `old`, if it is for the same world.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn load_beside(old: &Self, path: &Path, config: &Config, log: &Log) -> Result<Self, StartError> {
        Self::load_with(Some(old), path, config, log)
    }

    fn load_with(old: Option<&Self>, path: &Path, config: &Config, log: &Log) -> Result<Self, StartError> {
        let bytes = read(path)?;
        let outline = Outline::read(path, &bytes)?;
        let capabilities = Arc::new(Capabilities::open(&config.grants)?);
        let engine = match old {
            // A second pool would take as much address space as the first.
            Some(old) if old.world() == outline.world => old.engine.clone(),
            _ => {
                let engine = engine(&outline, config, log)?;
                clock::drive(&engine);
                engine
            }
        };
        let component = compile(&engine, path, &bytes, config, log)?;
        let pre = link(&engine, &component, &outline, path)?;
        // The memory image is made now, not by the first request.
        component
            .initialize_copy_on_write_image()
            .map_err(|error| StartError::new(format!("no memory image: {}", one_line(&error))))?;
        for hint in imports::ungranted(&outline, &config.grants, true) {
            log.line(format!("tabi: {}: {hint}", path.display()));
        }
        let hints = imports::ungranted(&outline, &config.grants, false);
        Ok(Self { engine, pre, capabilities, hints })
    }

    /// What the component imports and may never use, and how to grant it; a sentence each.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Which `wasi:http` the component is for.
    #[must_use]
    pub fn world(&self) -> World {
        match self.pre {
            Pre::P2(_) => World::P2,
            Pre::P3(_) => World::P3,
        }
    }
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    std::fs::read(path).map_err(|error| {
        let name = path.display();
        StartError::new(match error.kind() {
            std::io::ErrorKind::NotFound => format!("{name} does not exist"),
            std::io::ErrorKind::PermissionDenied => format!("no permission to read {name}"),
            std::io::ErrorKind::IsADirectory => format!("{name} is a folder, not a component"),
            _ => format!("{name} can't be read: {error}"),
        })
    })
}

fn compile(engine: &Engine, path: &Path, bytes: &[u8], config: &Config, log: &Log) -> Result<Component, StartError> {
    let cache = config
        .cache_dir
        .as_deref()
        .and_then(|dir| Cache::open(dir).map_err(|why| log.line(format!("tabi: no compile cache: {why}"))).ok());
    let component = match cache {
        Some(cache) => cache.load(engine, bytes).map(|(component, _)| component),
        None => Component::new(engine, bytes),
    };
    component.map_err(|error| StartError::new(format!("{} does not compile: {}", path.display(), one_line(&error))))
}

fn link(engine: &Engine, component: &Component, outline: &Outline, path: &Path) -> Result<Pre, StartError> {
    let fail = |error: wasmtime::Error| StartError::new(imports::explain(path, outline, &one_line(&error)));
    let linker = linker(engine, outline.world).map_err(fail)?;
    let pre = linker.instantiate_pre(component).map_err(fail)?;
    Ok(match outline.world {
        World::P2 => Pre::P2(p2::bindings::ProxyPre::new(pre).map_err(fail)?),
        World::P3 => Pre::P3(p3::bindings::ServicePre::new(pre).map_err(fail)?),
    })
}

/// Offers every WASI interface; what they allow is decided by the context behind them.
fn linker(engine: &Engine, world: World) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    p2::add_only_http_to_linker_async(&mut linker)?;
    // The streams of most requests touch nothing but the resource table, so they must not
    // create the context with its environment and random generators.
    linker.allow_shadowing(true);
    crate::store::add_io_to_linker(&mut linker)?;
    crate::grants::add_to_linker(&mut linker)?;
    if world == World::P3 {
        wasmtime_wasi::p3::add_to_linker(&mut linker)?;
        p3::add_to_linker(&mut linker)?;
    }
    Ok(linker)
}

fn engine(outline: &Outline, config: &Config, log: &Log) -> Result<Engine, StartError> {
    let mut settings = settings(outline.world);
    settings.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(config, outline.memory)));
    let pooled = Engine::new(&settings);
    pooled
        .or_else(|error| {
            log.line(format!(
                "tabi: instances are allocated on demand, which is slower, because address space \
                 for a pool can't be had: {}",
                one_line(&error)
            ));
            settings.allocation_strategy(InstanceAllocationStrategy::OnDemand);
            Engine::new(&settings)
        })
        .map_err(|error| StartError::new(format!("no engine: {}", one_line(&error))))
}

fn settings(world: World) -> wasmtime::Config {
    let mut settings = wasmtime::Config::new();
    settings.epoch_interruption(true);
    // Calls between host and guest cost a third when nothing has to be concurrent inside of an
    // instance, which is so for every 0.2 component.
    settings.concurrency_support(world == World::P3);
    if world == World::P3 {
        settings.wasm_component_model_async(true);
    }
    settings
}

/// From this size on, asking the kernel which pages were written is cheaper than clearing them all:
/// measured with the usual 1 MiB stack, 50 instead of 80 microseconds a request, and with a tenth of
/// it about the same as without.
const WORTH_A_SCAN: u64 = 512 * 1024;

fn pool(config: &Config, memory: u64) -> PoolingAllocationConfig {
    let limits = &config.limits;
    let instances = u32::try_from(limits.requests).unwrap_or(u32::MAX).max(1);
    // A composed component takes several core instances and memories for each request.
    let parts = instances.saturating_mul(4);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_stacks(instances)
        .total_core_instances(parts)
        .total_memories(instances)
        .total_tables(parts)
        .max_core_instances_per_component(PARTS)
        .max_memories_per_component(PARTS)
        .max_tables_per_component(PARTS)
        .max_memory_size(limits.memory)
        .table_elements(limits.table_elements)
        // Pages of a guest that ends are cleared in place: giving them back costs a system
        // call, an interrupt to every other core and a fault for each page of the next guest.
        .linear_memory_keep_resident(config.reuse.keep_resident)
        .table_keep_resident(64 * 1024)
        .async_stack_keep_resident(64 * 1024);
    if config.reuse.pagemap_scan == PagemapScan::Auto && memory >= WORTH_A_SCAN {
        pool.pagemap_scan(Enabled::Auto);
    }
    pool
}
