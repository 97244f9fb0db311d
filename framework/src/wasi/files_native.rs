//! The twin for tests: files of a folder through std. So it is in a component for 0.3 alone, too, where std asks 0.2 for
//! them and waits for each chunk.

use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::limits;
use alloc::vec::Vec;
use core::task::{Context, Poll};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What a name stands for.
pub(crate) enum Entry {
    File(File),
    Folder,
}

/// A file that is open.
pub(crate) struct File {
    file: fs::File,
    length: u64,
    modified: Option<(i64, u32)>,
}

/// Looks for a file in a folder. Links are followed as long as they stay inside.
pub(crate) fn find(folder: &str, name: &str) -> Option<Entry> {
    let path = inside(Path::new(folder), name)?;
    let found = fs::metadata(&path).ok()?;
    if found.is_dir() {
        return Some(Entry::Folder);
    }
    // To open a pipe would wait for its other end.
    if !found.is_file() {
        return None;
    }
    let file = fs::File::open(&path).ok()?;
    let since = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = since.map(|since| (since.as_secs() as i64, since.subsec_nanos()));
    Some(Entry::File(File { file, length: found.len(), modified }))
}

#[cfg(not(target_family = "wasm"))]
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let path = folder.join(name).canonicalize().ok()?;
    path.starts_with(&folder).then_some(path)
}

/// Names that lead out of a granted folder are for the runtime to refuse: it has no names for what is outside.
#[cfg(target_family = "wasm")]
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(name))
}

impl File {
    /// Returns how many bytes there are.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns when it was changed: seconds since 1970, and nanoseconds.
    pub(crate) fn modified(&self) -> Option<(i64, u32)> {
        self.modified
    }

    /// Returns a part as a body.
    pub(crate) fn read(mut self, offset: u64, length: u64) -> Result<Body> {
        self.file.seek(SeekFrom::Start(offset))?;
        Ok(Body::from_stream(Reading { file: self.file, left: length }))
    }
}

struct Reading {
    file: fs::File,
    left: u64,
}

impl Stream for Reading {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut chunk = Vec::new();
        let read = (&mut self.file).take(self.left.min(limits::CHUNK as u64)).read_to_end(&mut chunk);
        if read.is_err() || chunk.is_empty() {
            self.left = 0;
            return Poll::Ready(Some(Err(Error::internal("a file can't be read, or has become shorter"))));
        }
        self.left -= chunk.len() as u64;
        Poll::Ready(Some(Ok(chunk)))
    }

    fn len(&self) -> Option<u64> {
        Some(self.left)
    }
}
