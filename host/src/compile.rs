//! From a component to a file that needs no compiler any more.

use crate::error::one_line;
use crate::inspect::Outline;
use crate::precompiled::{self, Origin};
use crate::restore::{self, Restore};
use crate::{StartError, engine, input};
use sha2::{Digest, Sha256};
use std::fs;
use std::io::Write;
use std::path::Path;
use wasmtime::Engine;

/// Compiles the component at `from` and writes the file at `to`, whole or not at all.
///
/// The code is for processors that can do what this one can, or if it is to be `portable`, for all of this architecture.
///
/// # Errors
/// When it is no component with a handler, does not compile, or the file can't be written.
pub fn compile(from: &Path, to: &Path, portable: bool) -> Result<(), StartError> {
    let name = from.display();
    let bytes = input::read(from)?;
    let outline = Outline::read(from, &bytes)?;
    if outline.origin.is_some() {
        return Err(StartError::new(format!("{name} is compiled already; give the component that it was made of")));
    }
    let fail = |error: wasmtime::Error| StartError::new(format!("{name} does not compile: {}", one_line(&error)));
    let mut settings = engine::settings(outline.world);
    let target = format!("{}-unknown-{}-gnu", std::env::consts::ARCH, std::env::consts::OS);
    if portable {
        // A target that is named is taken for what all such machines have in common.
        settings.target(&target).map_err(fail)?;
    }
    let engine = Engine::new(&settings).map_err(fail)?;
    // As at the start of a host: what can't be set back is compiled as it is.
    let precompile = |bytes: &[u8]| engine.precompile_component(bytes);
    let (code, prepared) = if engine::can_be_restored(&outline) {
        restore::compiled(&bytes, Restore::Scan, precompile).map_err(fail)?
    } else {
        (precompile(&bytes).map_err(fail)?, false)
    };
    let version = if prepared { restore::VERSION } else { 0 };
    let origin = Origin { by: precompiled::this(), target, component: Sha256::digest(&bytes).into() };
    write(to, &precompiled::write(&outline, &origin, version, &code))
        .map_err(|error| StartError::new(format!("{} can't be written: {error}", to.display())))
}

/// Writes a file that only its owner may write to: others would not be believed.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    let written = (|| {
        let mut file = options.open(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}
