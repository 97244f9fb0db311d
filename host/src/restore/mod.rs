//! Puts an instance back into its first state, which is quicker than making another one.
//!
//! What an instance can remember of a request is in its memories, its mutable globals, its tables and its handles. A
//! component in which all of that can be found, and set back, gets one more core module: it has the first content of all
//! memories and the first values of all globals, and a function, [`EXPORT`], that writes them. The modules of the
//! component stay as they are, but for exporting these memories and globals to the new one. Where the kernel knows which
//! pages were written to, the function asks the host for them ([`PAGES`]), and leaves the others alone.
//!
//! [`prepare`] refuses whatever it does not know to be safe; such a component gets a new instance for each request.

#[cfg(feature = "compiler")]
mod ahead;
#[cfg(feature = "compiler")]
mod component;
#[cfg(feature = "compiler")]
mod image;
#[cfg(feature = "compiler")]
mod module;
mod pages;
#[cfg(feature = "compiler")]
mod tell;
#[cfg(feature = "compiler")]
mod write;

use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, WasmList};

/// The function that a prepared component exports in addition.
pub(crate) const EXPORT: &str = "tabi-restore";

/// The function that it may import in addition.
const PAGES: &str = "tabi-pages";

/// The function that a component may export: it does what has to be done once in every instance.
#[cfg(feature = "compiler")]
const INITIALIZE: &str = "wizer-initialize";

/// What a component imports while it is asked what it has become.
#[cfg(feature = "compiler")]
const NUMBER: &str = "tabi-number";

/// The most bytes of memory, of all memories of a component together, that are written after each request. Beyond, a new
/// instance costs less, as only those of its pages are cleared that were written to.
#[cfg(feature = "compiler")]
const MAX_FILLED: u64 = 512 * 1024;

/// The same where only parts are written that the guest has written to; the parts get larger with the memory.
#[cfg(feature = "compiler")]
const MAX_SCANNED: u64 = 4 * 1024 * 1024;

/// Changes whenever [`prepare`] makes something else of a component, so that nothing older is run; not 0.
pub(crate) const VERSION: u8 = 3;

/// How a component's instances are set back.
#[cfg(feature = "compiler")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restore {
    /// Not at all.
    Never = 0,
    /// By writing all of their memory.
    Fill = 1,
    /// By writing what the kernel says they have written to.
    Scan = 2,
}

#[cfg(feature = "compiler")]
impl Restore {
    /// The quickest way here; `scan` is whether the kernel may be asked.
    pub(crate) fn best(scan: bool) -> Self {
        if scan && pages::are_known() { Self::Scan } else { Self::Fill }
    }
}

/// What `compile` makes of the component as [`prepare`] leaves it, or of the component as it is where that cannot be had;
/// and whether it was prepared.
#[cfg(feature = "compiler")]
pub(crate) fn compiled<T, E>(
    bytes: &[u8],
    how: Restore,
    compile: impl Fn(&[u8]) -> Result<T, E>,
) -> Result<(T, bool), E> {
    match prepare(bytes, how).and_then(|prepared| compile(&prepared).ok()) {
        Some(made) => Ok((made, true)),
        None => Ok((compile(bytes)?, false)),
    }
}

/// The component with a function that restores it, and after what it does once in each instance; `None` where neither can be
/// had.
#[cfg(feature = "compiler")]
fn prepare(bytes: &[u8], how: Restore) -> Option<Vec<u8>> {
    let component = component::Component::read(bytes)?;
    let Some(ahead) = ahead::initialized(bytes, &component) else { return restorable(bytes, &component, how) };
    let restored = component::Component::read(&ahead).and_then(|component| restorable(&ahead, &component, how));
    restored.or(Some(ahead))
}

/// Whether what the component offers to do once is done when it is compiled; `None` where it offers nothing.
#[cfg(feature = "compiler")]
pub(crate) fn is_done_ahead(bytes: &[u8]) -> Option<bool> {
    let component = component::Component::read(bytes)?;
    component.initializes.then(|| ahead::initialized(bytes, &component).is_some())
}

/// The component with a function that restores it, or `None` where it is not known how to.
#[cfg(feature = "compiler")]
fn restorable(bytes: &[u8], component: &component::Component<'_>, how: Restore) -> Option<Vec<u8>> {
    let (most, task) = match how {
        Restore::Never => return None,
        Restore::Fill => (MAX_FILLED, write::Task::Fill),
        Restore::Scan => (MAX_SCANNED, write::Task::Scan),
    };
    write::component(bytes, component, &component.state(most)?, task)
}

/// Offers what a prepared component imports in addition; `scan` is whether the kernel may be asked.
pub(crate) fn add_to_linker<T: 'static>(linker: &mut Linker<T>, scan: bool) -> wasmtime::Result<()> {
    linker.root().func_wrap(PAGES, move |store: StoreContextMut<'_, T>, (memory,): (WasmList<u8>,)| {
        Ok((if scan { pages::written(memory.as_le_slice(&store)) } else { u64::MAX },))
    })
}

#[cfg(all(test, feature = "compiler"))]
mod ahead_tests;
#[cfg(all(test, feature = "compiler"))]
mod tests;
