//! The files of a folder, in the order of their names.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders within folders; more is a link that leads back.
const DEPTH: usize = 32;

/// Returns name and path of each file; names have `/` between folders.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let mut files = Vec::new();
    collect(folder, "", DEPTH, &mut files)?;
    files.sort();
    Ok(files)
}

fn collect(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<(String, PathBuf)>) -> Result<(), String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    if depth == 0 {
        return Err(format!("{}: more than {DEPTH} folders deep", folder.display()));
    }
    for entry in fs::read_dir(folder).map_err(|error| failed(folder, error))? {
        let path = entry.map_err(|error| failed(folder, error))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))?;
        if name.starts_with('.') && name != ".well-known" {
            continue;
        }
        // These could not be asked for: see `tabi::Assets`.
        if name.contains('\\') || name.chars().any(char::is_control) || name.to_ascii_lowercase().contains("%2f") {
            return Err(format!("{}: the name can't be that of an asset", path.display()));
        }
        let full = [prefix, name].concat();
        if fs::metadata(&path).map_err(|error| failed(&path, error))?.is_dir() {
            collect(&path, &[&full, "/"].concat(), depth - 1, files)?;
        } else {
            files.push((full, path));
        }
    }
    Ok(())
}
