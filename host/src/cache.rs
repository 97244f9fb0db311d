//! Compiled components on disk, so that a component is compiled once and not at every start.
//!
//! An entry is found by the component's SHA-256 and everything about the compiler that the
//! machine code depends on. It carries a checksum of its own: a damaged entry is compiled anew.

use crate::restore::{self, Restore};
use sha2::{Digest, Sha256};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::Engine;
use wasmtime::component::Component;

/// The most that all entries together may take on disk.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
const CHECKSUM: usize = 32;

/// A folder of compiled components, private to its user.
#[derive(Clone, Debug)]
pub struct Cache(PathBuf);

impl Cache {
    /// Opens the folder, making it first if it is missing.
    ///
    /// # Errors
    /// When it can't be made, or when others may write to it: its content is run as machine code.
    pub fn open(dir: &Path) -> Result<Self, String> {
        let cannot = |error| format!("{} can't be used: {error}", dir.display());
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir).map_err(cannot)?;
        let about = fs::metadata(dir).map_err(cannot)?;
        if !crate::input::is_private(&about, false) {
            return Err(format!(
                "{} can't be used: it must belong to the user who runs tabi, and nobody else may write to it (chmod 700)",
                dir.display()
            ));
        }
        Ok(Self(dir.to_owned()))
    }

    /// Returns the compiled component for `bytes`, from the folder or from the compiler.
    ///
    /// It has a function that sets instances back as `restore` says, if it can have one. The second value tells whether it was
    /// compiled.
    ///
    /// # Errors
    /// When the component does not compile.
    pub fn load(&self, engine: &Engine, bytes: &[u8], restore: Restore) -> wasmtime::Result<(Component, bool)> {
        let path = self.0.join(key(engine, bytes, restore));
        if let Some(component) = read(engine, &path) {
            // The newest entries stay when the folder is full.
            if let Ok(file) = fs::File::options().append(true).open(&path) {
                let _ = file.set_modified(SystemTime::now());
            }
            return Ok((component, false));
        }
        let component = compile(engine, bytes, restore)?;
        // A cache that can't be written costs the next start some time and nothing else.
        let _ = component.serialize().map(|code| self.write(&path, &code));
        Ok((component, true))
    }

    fn write(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        let part = path.with_extension(format!("part-{}", std::process::id()));
        let written = (|| {
            let mut file = fs::File::create(&part)?;
            file.write_all(&Sha256::digest(code))?;
            file.write_all(code)?;
            file.sync_all()?;
            // Readers see the old state or the whole entry, never a part of it.
            fs::rename(&part, path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        self.shrink();
        written
    }

    /// Removes the entries that were not used for longest until the rest fits.
    fn shrink(&self) {
        let Ok(entries) = fs::read_dir(&self.0) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((meta.modified().ok()?, meta.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        for (_, len, path) in files {
            if total <= MAX_BYTES {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= len;
            }
        }
    }
}

/// Compiles the component.
///
/// # Errors
/// When it does not compile.
pub(crate) fn compile(engine: &Engine, bytes: &[u8], restore: Restore) -> wasmtime::Result<Component> {
    restore::compiled(bytes, restore, |bytes| Component::new(engine, bytes)).map(|(component, _)| component)
}

fn read(engine: &Engine, path: &Path) -> Option<Component> {
    let entry = fs::read(path).ok()?;
    let (checksum, code) = entry.split_at_checked(CHECKSUM)?;
    if Sha256::digest(code).as_slice() != checksum {
        return None;
    }
    // SAFETY: `code` came out of `Component::serialize` in this program: the folder belongs to
    // this user alone (checked by `open`), the checksum rules out damage, and wasmtime itself
    // refuses code of another version or configuration.
    unsafe { Component::deserialize(engine, code) }.ok()
}

fn key(engine: &Engine, bytes: &[u8], restore: Restore) -> String {
    struct Feed(Sha256);
    impl Hasher for Feed {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut feed = Feed(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut feed);
    feed.0.update([restore as u8, restore::VERSION]);
    feed.0.update(Sha256::digest(bytes));
    let mut name = String::with_capacity(64 + 6);
    for byte in feed.0.finalize() {
        name.push_str(&format!("{byte:02x}"));
    }
    name + ".cwasm"
}
