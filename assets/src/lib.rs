//! For the build script of a Tabi app: prepares the files of a folder to be compiled into the component.
//!
//! ```no_run
//! // The whole `main` of build.rs; it needs the folder that Cargo gives to build scripts, hence `no_run`.
//! tabi_assets::embed("static");
//! ```
//!
//! and in the app: `static FILES: tabi::Assets = tabi::assets!("static");`.
//!
//! A build script it is, and no macro that reads the folder by itself, because only a build script is run again when a
//! file is added. Names, tags, content types and compressed variants are fixed here, so the component has no code for
//! any of it.

#![allow(clippy::indexing_slicing, reason = "it runs in builds; what can go wrong here ends one")]

mod compress;
mod folder;
mod sha256;

use std::fs;
use std::path::{Path, PathBuf};

/// Prepares all files of a folder, named from the crate's own, with variants for brotli and gzip.
///
/// Names that start with a dot are left out, except `.well-known`.
///
/// # Panics
/// Where there is no such folder or a file can't be had, which ends the build with the reason.
pub fn embed(folder: &str) {
    Embed::new(folder).run();
}

/// A folder to prepare, with settings.
///
/// ```no_run
/// // For a build script, as `embed`.
/// tabi_assets::Embed::new("static").without_gzip().run();
/// ```
#[derive(Clone, Debug)]
pub struct Embed {
    folder: String,
    brotli: bool,
    gzip: bool,
}

impl Embed {
    /// Returns the settings of [`embed`] for a folder.
    pub fn new(folder: &str) -> Embed {
        Embed { folder: folder.into(), brotli: true, gzip: true }
    }

    /// Leaves the brotli variants out: the component is smaller, what goes over the wire is larger.
    #[must_use]
    pub fn without_brotli(mut self) -> Embed {
        self.brotli = false;
        self
    }

    /// Leaves the gzip variants out. Browsers take brotli over TLS only.
    #[must_use]
    pub fn without_gzip(mut self) -> Embed {
        self.gzip = false;
        self
    }

    /// Prepares the files.
    ///
    /// # Panics
    /// As [`embed`].
    #[allow(clippy::panic, reason = "this is how a build script ends a build")]
    pub fn run(self) {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        let (Some(from), Some(to)) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR")) else {
            panic!("tabi_assets is for build scripts, which Cargo runs");
        };
        println!("cargo::rerun-if-changed={}", self.folder);
        if let Err(reason) = self.write(&from, &to) {
            panic!("{reason}");
        }
    }

    /// Writes the source for `tabi::assets!`.
    fn write(&self, from: &Path, to: &Path) -> Result<(), String> {
        let folder = self.folder.trim_end_matches('/');
        let room = to.join("tabi-assets");
        let variants = room.join([folder, ".variants"].concat());
        fs::create_dir_all(&variants).map_err(|error| failed(&variants, error))?;
        let mut used = Vec::new();
        let mut source = String::from("{\nconst FILES: &[tabi_assets_room::File] = &[\n");
        for (name, path) in folder::files(&from.join(folder))? {
            let content = fs::read(&path).map_err(|error| failed(&path, error))?;
            let hash = &sha256::hex(&content)[..32];
            let mut file = vec![
                format!("name: {name:?}"),
                format!("fingerprinted: {:?}", fingerprinted(&name, &hash[..16])),
                format!("content_type: tabi_assets_room::content_type({name:?})"),
                format!("plain: {}", variant(hash, "", &path)?),
            ];
            for (field, wanted, compress) in
                [("br", self.brotli, compress::brotli as Compress), ("gzip", self.gzip, compress::gzip)]
            {
                let at = variants.join([hash, ".", field].concat());
                let is_smaller = wanted && !compress::is_compressed(&name) && keep(&content, &at, compress)?;
                used.push(at.clone());
                file.push(match is_smaller {
                    true => format!("{field}: Some({})", variant(hash, field, &at)?),
                    false => format!("{field}: None"),
                });
            }
            source.push_str(&format!("tabi_assets_room::File {{ {} }},\n", file.join(", ")));
        }
        let base = folder.rsplit('/').next().unwrap_or(folder);
        source.push_str(&format!("];\ntabi_assets_room::Assets::new({:?}, FILES)\n}}\n", ["/", base].concat()));
        for entry in fs::read_dir(&variants).map_err(|error| failed(&variants, error))?.flatten() {
            if !used.contains(&entry.path()) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let source_file = room.join([folder, ".rs"].concat());
        fs::write(&source_file, source).map_err(|error| failed(&source_file, error))
    }
}

type Compress = fn(&[u8]) -> Option<Vec<u8>>;

/// Sees to it that the variant of a content is there, from this build or an earlier one; tells whether it is worth
/// its bytes, which are in the component, too: a twentieth has to be saved.
fn keep(content: &[u8], at: &Path, compress: Compress) -> Result<bool, String> {
    let length = match fs::metadata(at) {
        Ok(known) => known.len(),
        Err(_) => {
            let Some(compressed) = compress(content) else { return Ok(false) };
            fs::write(at, &compressed).map_err(|error| failed(at, error))?;
            compressed.len() as u64
        }
    };
    Ok(length * 20 <= content.len() as u64 * 19)
}

fn variant(hash: &str, coding: &str, path: &Path) -> Result<String, String> {
    let path = fs::canonicalize(path).map_err(|error| failed(path, error))?;
    let path = path.to_str().ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
    let dash = if coding.is_empty() { "" } else { "-" };
    let etag = format!("\"{hash}{dash}{coding}\"");
    Ok(format!("tabi_assets_room::Variant {{ etag: {etag:?}, bytes: include_bytes!({path:?}) }}"))
}

/// Returns the name with a hash before its extension, so that the type can still be seen.
fn fingerprinted(name: &str, hash: &str) -> String {
    let start = name.rfind('/').map_or(0, |slash| slash + 1);
    match name[start..].rfind('.') {
        Some(dot) if dot > 0 => [&name[..start + dot], ".", hash, &name[start + dot..]].concat(),
        _ => [name, ".", hash].concat(),
    }
}

fn failed(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests;
