//! Puts an instance back into its first state, which is quicker than making another one.
//!
//! What an instance can remember of a request is in its memories, its mutable globals, its tables and its handles. A
//! component in which all of that can be found, and set back, gets one more core module: it has the first content of all
//! memories and the first values of all globals, and a function, [`EXPORT`], that writes them. The modules of the
//! component stay as they are, but for exporting these memories and globals to the new one.
//!
//! [`prepare`] refuses whatever it does not know to be safe; such a component gets a new instance for each request.

#[cfg(feature = "compiler")]
mod component;
#[cfg(feature = "compiler")]
mod image;
#[cfg(feature = "compiler")]
mod module;
#[cfg(feature = "compiler")]
mod write;

/// The function that a prepared component exports in addition.
pub(crate) const EXPORT: &str = "tabi-restore";

/// Changes whenever [`prepare`] makes something else of a component; not 0.
pub(crate) const VERSION: u8 = 1;

/// The most bytes of memory, of all memories of a component together, that are written after each request. Beyond, a new
/// instance costs less, as only those of its pages are cleared that were written to.
#[cfg(feature = "compiler")]
const MAX_MEMORY: u64 = 512 * 1024;

/// The component with a function that restores it, or `None` where it is not known how to.
#[cfg(feature = "compiler")]
pub(crate) fn prepare(bytes: &[u8]) -> Option<Vec<u8>> {
    let component = component::Component::read(bytes)?;
    let state = component.state()?;
    write::component(bytes, &component, &state)
}

#[cfg(all(test, feature = "compiler"))]
mod tests;
