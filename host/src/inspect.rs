//! What a file is, before anything is compiled: component or not, and which handler it has.

use crate::StartError;
use crate::precompiled::{self, Origin};
use std::path::Path;
#[cfg(feature = "compiler")]
use wasmparser::{Encoding, Parser, Payload};

/// The version of `wasi:http` whose handler a component exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `wasi:http/incoming-handler@0.2`.
    P2,
    /// `wasi:http/handler@0.3`.
    P3,
}

/// The outline of a component: its handler and the names of what it wants.
#[derive(Debug)]
pub struct Outline {
    /// Which handler it exports.
    pub world: World,
    /// The full names of its exports.
    pub exports: Vec<String>,
    /// The full names of its imports.
    pub imports: Vec<String>,
    /// Bytes of memory that an instance has from the start.
    pub memory: u64,
    /// Where it comes from, if it was compiled before.
    pub origin: Option<Origin>,
}

impl Outline {
    /// Reads the outline of the component in the file at `path`.
    ///
    /// # Errors
    /// When it can't be read, and as [`read`](Self::read).
    pub fn open(path: &Path) -> Result<Self, StartError> {
        Self::read(path, &crate::input::read(path)?)
    }

    /// Reads the outline of the component in `bytes`, which may have been compiled before; `path` is for the messages.
    ///
    /// # Errors
    /// When the bytes are no component or lack a handler, in words.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, StartError> {
        if precompiled::is(bytes) {
            return precompiled::read(path, bytes).map(|(outline, _)| outline);
        }
        let name = path.display();
        if bytes.is_empty() {
            return Err(StartError::new(format!("{name} is empty, not a WebAssembly component")));
        }
        if bytes.starts_with(b"\x7fELF") {
            return Err(StartError::new(format!(
                "{name} is not a WebAssembly component: if `wasmtime compile` has made it, use `tabi compile` in its place"
            )));
        }
        if !bytes.starts_with(b"\0asm") {
            return Err(StartError::new(format!(
                "{name} is not a WebAssembly component: it does not start with \\0asm"
            )));
        }
        #[cfg(not(feature = "compiler"))]
        return Err(StartError::new(format!(
            "{name} has to be compiled first, and this tabi has no compiler: run `tabi compile {name}` with one that has"
        )));
        #[cfg(feature = "compiler")]
        Self::of_component(path, bytes)
    }

    #[cfg(feature = "compiler")]
    fn of_component(path: &Path, bytes: &[u8]) -> Result<Self, StartError> {
        let name = path.display();
        let (exports, imports, memory) = names(bytes).map_err(|fault| match fault {
            Fault::CoreModule => StartError::new(format!(
                "{name} is a core module, not a component: build it with --target wasm32-wasip2, \
                 or turn it into a component with `wasm-tools component new`"
            )),
            Fault::Broken(why) => StartError::new(format!("{name} is not a valid WebAssembly component: {why}")),
        })?;
        let has = |wanted: &str| exports.iter().any(|name| name.starts_with(wanted));
        let world = if has("wasi:http/handler@0.3.") {
            World::P3
        } else if has("wasi:http/incoming-handler@0.2.") {
            World::P2
        } else {
            return Err(no_handler(path, &exports));
        };
        Ok(Self { world, exports, imports, memory, origin: None })
    }
}

#[cfg(feature = "compiler")]
enum Fault {
    CoreModule,
    Broken(String),
}

/// The names that the outermost component exports and imports, and the memory of all its modules.
#[cfg(feature = "compiler")]
fn names(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>, u64), Fault> {
    let broken = |error: wasmparser::BinaryReaderError| Fault::Broken(error.to_string());
    let (mut exports, mut imports, mut depth, mut memory) = (Vec::new(), Vec::new(), 0u32, 0u64);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(broken)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(Fault::CoreModule);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::MemorySection(section) => {
                for part in section {
                    let part = part.map_err(broken)?;
                    let page = 1u64 << part.page_size_log2.unwrap_or(16);
                    memory = memory.saturating_add(part.initial.saturating_mul(page));
                }
            }
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.push(import.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.push(export.map_err(broken)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((exports, imports, memory))
}

#[cfg(feature = "compiler")]
fn no_handler(path: &Path, exports: &[String]) -> StartError {
    let found = if exports.iter().any(|name| name.starts_with("wasi:cli/run")) {
        "it exports wasi:cli/run, so it is a command; a service is a library crate of type cdylib".to_owned()
    } else if exports.is_empty() {
        "it exports nothing".to_owned()
    } else {
        format!("it exports {}", exports.join(", "))
    };
    StartError::new(format!(
        "{} has no HTTP handler: it must export wasi:http/incoming-handler@0.2 or \
         wasi:http/handler@0.3, but {found}",
        path.display()
    ))
}
