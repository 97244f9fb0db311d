//! A granted folder: `FOLDER`, `FOLDER:NAME`, and `:rw` after either for writing.

use wasmtime_wasi::filesystem::WasiFilesystemCtx;
use wasmtime_wasi::{FsPerms, WasiCtx};

/// A grant as it is written.
#[derive(Debug, PartialEq, Eq)]
struct Folder<'a> {
    /// Where it is.
    host: &'a str,
    /// What it is called in the guest.
    guest: &'a str,
    write: bool,
}

/// Opens all folders, once for all instances.
///
/// # Errors
/// When a grant means nothing, or its folder can't be opened.
pub(super) fn open(entries: &[String]) -> Result<WasiFilesystemCtx, String> {
    let mut ctx = WasiCtx::builder();
    let mut names = Vec::new();
    for entry in entries {
        let Folder { host, guest, write } = parse(entry)?;
        if names.contains(&guest) {
            return Err(format!("{entry:?}: another folder is called {guest:?} as well"));
        }
        names.push(guest);
        let path = std::path::Path::new(host);
        let found = std::fs::metadata(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{entry:?}: there is no folder {host}"),
            _ => format!("{entry:?}: {host} can't be opened: {error}"),
        })?;
        if !found.is_dir() {
            return Err(format!("{entry:?}: {host} is not a folder"));
        }
        let perms = if write { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
        ctx.preopened_dir(path, guest, perms)
            .map_err(|error| format!("{entry:?}: {host} can't be opened: {}", crate::error::one_line(&error)))?;
    }
    Ok(ctx.build().filesystem().clone())
}

fn parse(entry: &str) -> Result<Folder<'_>, String> {
    let (rest, write) = match entry.rsplit_once(':') {
        Some((rest, "rw")) => (rest, true),
        Some((rest, "ro")) => (rest, false),
        _ => (entry, false),
    };
    let (host, guest) = rest.split_once(':').unwrap_or((rest, rest));
    if host.is_empty() || guest.is_empty() || guest.contains(':') {
        return Err(format!("{entry:?} is no folder; write FOLDER, FOLDER:NAME or FOLDER:NAME:rw"));
    }
    Ok(Folder { host, guest, write })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, wanted: Option<(&str, &str, bool)>) {
        let wanted = wanted.map(|(host, guest, write)| Folder { host, guest, write });
        assert_eq!(parse(entry).ok(), wanted, "{entry:?}");
    }

    #[test]
    fn folders_have_a_name_and_a_mode() {
        check("public", Some(("public", "public", false)));
        check("/srv/data:/data", Some(("/srv/data", "/data", false)));
        check("/srv/data:/data:ro", Some(("/srv/data", "/data", false)));
        check("/srv/up:/up:rw", Some(("/srv/up", "/up", true)));
        check("up:rw", Some(("up", "up", true)));
        check("rw:rw:rw", Some(("rw", "rw", true)));
        check("a:b:c", None);
        check(":a", None);
        check("a:", None);
        check(":rw", None);
        check("", None);
    }

    #[track_caller]
    fn fails(entries: &[&str], part: &str) {
        let entries: Vec<_> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let why = open(&entries).map(|_| ()).expect_err("refused");
        assert!(why.contains(part) && !why.contains('\n'), "{why}");
    }

    #[test]
    fn folders_that_cannot_be_had_are_named() {
        let file = std::env::temp_dir().join(format!("tabi-folder-{}", std::process::id()));
        std::fs::write(&file, b"").expect("written");
        fails(&["/no/such:x"], "\"/no/such:x\": there is no folder /no/such");
        fails(&[&format!("{}:x", file.display())], "is not a folder");
        fails(&["/:x", "/tmp:x"], "another folder is called \"x\" as well");
        fails(&["a:b:c"], "write FOLDER");
        let _ = std::fs::remove_file(file);
    }
}
