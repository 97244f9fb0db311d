//! Which files of a crate have changed, for `tabi dev`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder, or a file, as it was at the last look.
pub struct Watch {
    root: PathBuf,
    seen: (usize, Option<SystemTime>),
}

impl Watch {
    /// Takes `root` as it is now.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), seen: look(root) }
    }

    /// Whether something has changed since the last look: a file is newer, or there are others.
    pub fn changed(&mut self) -> bool {
        let now = look(&self.root);
        std::mem::replace(&mut self.seen, now) != now
    }
}

/// The number of files below `path` and the time of the newest.
fn look(path: &Path) -> (usize, Option<SystemTime>) {
    let Ok(meta) = path.symlink_metadata() else { return (0, None) };
    if !meta.is_dir() {
        return (1, meta.modified().ok());
    }
    let Ok(entries) = path.read_dir() else { return (0, None) };
    entries
        .flatten()
        // What the build makes, and what editors and version control keep, is no source.
        .filter(|entry| entry.file_name() != "target" && !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| look(&entry.path()))
        .fold((0, None), |(count, newest), (more, time)| (count + more, newest.max(time)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_seen_and_products_are_not() {
        let root = std::env::temp_dir().join(format!("tabi-watch-{}", std::process::id()));
        for dir in ["src", "target", ".git"] {
            std::fs::create_dir_all(root.join(dir)).expect("a folder");
        }
        let write = |name: &str, age: u64| {
            let file = std::fs::File::create(root.join(name)).expect("a file");
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000 - age);
            file.set_modified(time).expect("a time");
        };
        write("src/lib.rs", 100);
        let mut watch = Watch::new(&root);
        assert!(!watch.changed());
        write("target/out", 0);
        write(".git/index", 0);
        assert!(!watch.changed());
        write("src/lib.rs", 50);
        assert!(watch.changed() && !watch.changed());
        write("src/more.rs", 100);
        assert!(watch.changed() && !watch.changed());
        std::fs::remove_file(root.join("src/more.rs")).expect("removed");
        assert!(watch.changed() && !watch.changed());
        std::fs::remove_dir_all(&root).expect("removed");
    }
}
