//! From a file to something that can be instantiated in microseconds.

#[cfg(feature = "compiler")]
use crate::cache;
#[cfg(feature = "compiler")]
use crate::cache::Cache;
use crate::dispatch::instance::Template;
use crate::error::one_line;
use crate::grants::Capabilities;
use crate::inspect::{Outline, World};
use crate::restore;
#[cfg(feature = "compiler")]
use crate::restore::Restore;
use crate::site::AppEntry;
use crate::store::State;
use crate::{Config, Limits, Log, PagemapScan, Reuse, StartError, clock, imports, input, precompiled, wasi};
use hyper::header::HeaderValue;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmtime::component::{Component, ComponentExportIndex};
use wasmtime::{Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};
use wasmtime_wasi_http::p3;

/// Core instances, memories and tables that one component may consist of.
const PARTS: u32 = 16;

/// Instances of one thread that may wait for their next request, those of all apps together.
pub(crate) const MAX_IDLE: usize = 64;

/// A component, compiled, linked and checked.
pub struct App {
    pub(crate) engine: Engine,
    pub(crate) pre: Pre,
    pub(crate) capabilities: Arc<Capabilities>,
    hints: Vec<String>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) reuse: Reuse,
    /// What the log calls it, where there are several.
    pub(crate) name: Option<Arc<str>>,
    /// The prefix that is taken off its paths.
    pub(crate) stripped: Option<HeaderValue>,
    path: PathBuf,
    digest: [u8; 32],
}

/// The engines of a host, one for each world, made when they are first needed and shared by all its apps: a pool of
/// instances takes address space for as many requests as may be in flight, whichever app they are for.
pub(crate) struct Engines {
    /// The configuration of the host, with limits that no app goes beyond.
    config: Config,
    /// The most memory that an instance of any app has from the start.
    memory: u64,
    /// Instances that may wait for their next request while others are in flight.
    idle: usize,
    p2: Option<Engine>,
    p3: Option<Engine>,
}

/// What each request, or each new instance, starts from.
pub(crate) enum Pre {
    P2(Template),
    P3(p3::bindings::ServicePre<State>),
}

impl Engines {
    /// Engines for a single app.
    pub(crate) fn for_one(config: &Config) -> Self {
        Self { config: config.clone(), memory: 0, idle: 0, p2: None, p3: None }
    }

    /// Engines for apps with these components and configurations of their own.
    ///
    /// # Errors
    /// When one of them can't be read or is no component.
    pub(crate) fn for_all(host: &Config, apps: &[(AppEntry, Config)]) -> Result<Self, StartError> {
        let mut engines = Self::for_one(host);
        let all = &mut engines.config.limits;
        for (entry, own) in apps {
            all.memory = all.memory.max(own.limits.memory);
            all.table_elements = all.table_elements.max(own.limits.table_elements);
            let outline = input::read(&entry.path).and_then(|bytes| Outline::read(&entry.path, &bytes));
            let outline = outline.map_err(|error| StartError::new(format!("app {:?}: {error}", entry.name())))?;
            engines.memory = engines.memory.max(outline.memory);
        }
        engines.idle = apps.len().max(MAX_IDLE).saturating_mul(host.threads);
        Ok(engines)
    }

    fn get(&mut self, outline: &Outline, log: &Log) -> Result<Engine, StartError> {
        let known = match outline.world {
            World::P2 => &mut self.p2,
            World::P3 => &mut self.p3,
        };
        if let Some(engine) = known {
            return Ok(engine.clone());
        }
        let memory = self.memory.max(outline.memory);
        let fresh = engine(outline.world, &pool(outline.world, &self.config, memory, self.idle), log)?;
        clock::drive(&fresh);
        Ok(known.insert(fresh).clone())
    }
}

impl App {
    /// Loads the component at `path`.
    ///
    /// What `old` has open is taken over where the same is granted.
    ///
    /// # Errors
    /// When there is no such file, it is no component, it has no handler, it does not compile,
    /// or it imports what this host does not offer; one line that says so.
    pub(crate) fn load(
        engines: &mut Engines,
        path: &Path,
        config: &Config,
        log: &Log,
        old: Option<&Capabilities>,
    ) -> Result<Self, StartError> {
        let bytes = input::read(path)?;
        let outline = Outline::read(path, &bytes)?;
        let capabilities = Arc::new(Capabilities::open(&config.grants, &config.limits, old)?);
        let engine = engines.get(&outline, log)?;
        let component = match outline.origin {
            Some(_) => precompiled::load(&engine, path, &bytes)?,
            None => anew(&engine, path, &bytes, &outline, config, log)?,
        };
        // A component that was compiled before has it whether it is wanted here or not.
        let restore = can_be_restored(&outline).then(|| component.get_export_index(None, restore::EXPORT)).flatten();
        let pre = link(&engine, &component, &outline, restore, config, path)?;
        // The memory image is made now, not by the first request.
        component
            .initialize_copy_on_write_image()
            .map_err(|error| StartError::new(format!("no memory image: {}", one_line(&error))))?;
        for hint in imports::ungranted(&outline, &config.grants, true) {
            log.line(format!("tabi: {}: {hint}", path.display()));
        }
        Ok(Self {
            engine,
            pre,
            capabilities,
            hints: imports::ungranted(&outline, &config.grants, false),
            limits: Arc::new(config.limits.clone()),
            reuse: config.reuse,
            name: None,
            stripped: None,
            path: path.to_owned(),
            digest: Sha256::digest(&bytes).into(),
        })
    }

    /// Loads one app of several.
    ///
    /// # Errors
    /// As [`load`](Self::load), with its name.
    pub(crate) fn load_entry(
        engines: &mut Engines,
        entry: &AppEntry,
        config: &Config,
        log: &Log,
        old: Option<&Capabilities>,
    ) -> Result<Self, StartError> {
        let name = entry.name();
        let fail = |why: String| StartError::new(format!("app {name:?}: {why}"));
        let mut app = Self::load(engines, &entry.path, config, log, old).map_err(|error| fail(error.to_string()))?;
        let prefix = entry.prefix.trim_end_matches('/');
        if entry.strip_prefix && !prefix.is_empty() {
            let value = HeaderValue::from_str(prefix).ok().filter(|_| prefix.is_ascii());
            app.stripped =
                Some(value.ok_or_else(|| fail("a prefix that is stripped must be percent-encoded".to_owned()))?);
        }
        app.name = Some(name.into());
        Ok(app)
    }

    /// Whether the file at `path` is what this was made of.
    pub(crate) fn is_made_of(&self, path: &Path) -> bool {
        std::fs::read(path).is_ok_and(|bytes| self.digest == <[u8; 32]>::from(Sha256::digest(&bytes)))
    }

    /// What the component imports and may never use, and how to grant it; a sentence each.
    #[must_use]
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// What the log calls it, where there are several; empty for a single one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Its name, or that of its file.
    #[must_use]
    pub fn display_name(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }

    /// The file that it was loaded from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How long an instance lives, in a few words.
    #[must_use]
    pub fn lifetime(&self) -> String {
        let Reuse { requests_p2, requests_p3, concurrent_p3, .. } = self.reuse;
        match &self.pre {
            Pre::P2(template) if template.restores() => {
                "an instance is set back to its first state after each request".to_owned()
            }
            Pre::P2(_) if requests_p2 <= 1 => "each request has an instance of its own".to_owned(),
            Pre::P2(_) => format!("an instance serves up to {requests_p2} requests, one after the other"),
            Pre::P3(_) => format!("an instance serves up to {requests_p3} requests, {concurrent_p3} at a time"),
        }
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

/// Whether what the component at `path` offers to do once, its `wizer-initialize`, is done when it is compiled, and not by each
/// of its instances; `None` where it offers nothing, or can't be read.
#[cfg(feature = "compiler")]
#[must_use]
pub fn is_done_ahead(path: &Path) -> Option<bool> {
    restore::is_done_ahead(&input::read(path).ok()?)
}

/// Whether the kernel may be asked which pages were written to.
fn asks_kernel(config: &Config) -> bool {
    config.reuse.pagemap_scan == PagemapScan::Auto
}

/// Whether instances are set back after each request if they can be.
fn is_restored(config: &Config) -> bool {
    config.reuse.restore && config.reuse.requests_p2 <= 1
}

/// Whether a component may get the function that sets its instances back.
pub(crate) fn can_be_restored(outline: &Outline) -> bool {
    // What has the name of that function gets none.
    outline.world == World::P2 && !outline.exports.iter().any(|name| name == restore::EXPORT)
}

/// Compiles what is not compiled yet, or finds it in the cache.
#[cfg(feature = "compiler")]
fn anew(
    engine: &Engine,
    path: &Path,
    bytes: &[u8],
    outline: &Outline,
    config: &Config,
    log: &Log,
) -> Result<Component, StartError> {
    let restore = match can_be_restored(outline) && is_restored(config) {
        true => Restore::best(asks_kernel(config)),
        false => Restore::Never,
    };
    let cache = config
        .cache_dir
        .as_deref()
        .and_then(|dir| Cache::open(dir).map_err(|why| log.line(format!("tabi: no compile cache: {why}"))).ok());
    let component = match cache {
        Some(cache) => cache.load(engine, bytes, restore).map(|(component, _)| component),
        None => cache::compile(engine, bytes, restore),
    };
    component.map_err(|error| StartError::new(format!("{} does not compile: {}", path.display(), one_line(&error))))
}

/// Never called: the outline of what is not compiled can't be had either, and says why.
#[cfg(not(feature = "compiler"))]
fn anew(_: &Engine, path: &Path, _: &[u8], _: &Outline, _: &Config, _: &Log) -> Result<Component, StartError> {
    Err(StartError::new(format!("{} is not compiled", path.display())))
}

fn link(
    engine: &Engine,
    component: &Component,
    outline: &Outline,
    restore: Option<ComponentExportIndex>,
    config: &Config,
    path: &Path,
) -> Result<Pre, StartError> {
    let fail = |error: wasmtime::Error| StartError::new(imports::explain(path, outline, &one_line(&error)));
    let mut linker = wasi::linker(engine, component, outline.world).map_err(fail)?;
    if restore.is_some() {
        restore::add_to_linker(&mut linker, asks_kernel(config)).map_err(fail)?;
    }
    let pre = linker.instantiate_pre(component).map_err(fail)?;
    Ok(match outline.world {
        World::P2 => Pre::P2(Template::new(pre, restore.filter(|_| is_restored(config))).map_err(fail)?),
        World::P3 => Pre::P3(p3::bindings::ServicePre::new(pre).map_err(fail)?),
    })
}

fn engine(world: World, pool: &PoolingAllocationConfig, log: &Log) -> Result<Engine, StartError> {
    let mut settings = settings(world);
    settings.allocation_strategy(InstanceAllocationStrategy::Pooling(pool.clone()));
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

pub(crate) fn settings(world: World) -> wasmtime::Config {
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

/// From this size on, asking the kernel which pages were written is cheaper than clearing them all for a new instance:
/// measured with the usual 1 MiB stack, 50 instead of 80 microseconds a request, and with a tenth of
/// it about the same as without.
const WORTH_A_SCAN: u64 = 512 * 1024;

fn pool(world: World, config: &Config, memory: u64, idle: usize) -> PoolingAllocationConfig {
    let limits = &config.limits;
    let requests = limits.requests.saturating_add(idle);
    // A guest may go on after its answer, when its place is already another's.
    let instances = requests.saturating_add(requests / 4).saturating_add(16);
    let instances = u32::try_from(instances).unwrap_or(u32::MAX);
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
        .linear_memory_keep_resident(match world {
            // Pages of a guest that ends are cleared in place: giving them back costs a system
            // call, an interrupt to every other core and a fault for each page of the next guest.
            World::P2 => config.reuse.keep_resident,
            // An instance that serves thousands of requests ends so seldom that its pages are better given back:
            // clearing would make all pages of every place resident that had an instance in a crowd.
            World::P3 => 0,
        })
        .table_keep_resident(64 * 1024)
        .async_stack_keep_resident(64 * 1024);
    // Clearing makes all pages of a place resident, and for the kernel resident pages are pages that were written to: the
    // next instance there would have all of them to restore after each of its requests.
    let is_worth_it = memory >= WORTH_A_SCAN || (world == World::P2 && is_restored(config));
    if asks_kernel(config) && is_worth_it {
        pool.pagemap_scan(Enabled::Auto);
    }
    pool
}
