//! Files of the folders that the runtime grants, over `wasi:filesystem`. Not through std: its files block, and bring
//! the whole of libc's.

use super::executor;
use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::limits;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::task::{Context, Poll, ready};
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, DescriptorType, OpenFlags, PathFlags};
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{InputStream, StreamError};

/// What a name stands for.
pub(crate) enum Entry {
    File(File),
    Folder,
}

/// A file that is open.
pub(crate) struct File {
    descriptor: Descriptor,
    length: u64,
    modified: Option<(i64, u32)>,
}

/// Looks for a file in a granted folder, or in a folder below one. Names that lead out of it are for the runtime to
/// refuse; links are followed as long as they stay inside.
pub(crate) fn find(folder: &str, name: &str) -> Option<Entry> {
    let folder = plain(folder);
    let mut best: Option<(Descriptor, String)> = None;
    for (granted, path) in preopens::get_directories() {
        if let Some(inside) = below(folder, plain(&path))
            && best.as_ref().is_none_or(|(_, known)| inside.len() < known.len())
        {
            best = Some((granted, String::from(inside)));
        }
    }
    let (granted, mut path) = best?;
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
    // A look before it is opened: to open a pipe would wait for its other end.
    match granted.stat_at(PathFlags::SYMLINK_FOLLOW, &path).ok()?.type_ {
        DescriptorType::Directory => return Some(Entry::Folder),
        DescriptorType::RegularFile => {}
        _ => return None,
    }
    let descriptor =
        granted.open_at(PathFlags::SYMLINK_FOLLOW, &path, OpenFlags::empty(), DescriptorFlags::READ).ok()?;
    let stat = descriptor.stat().ok()?;
    let modified = stat.data_modification_timestamp.map(|time| (time.seconds as i64, time.nanoseconds));
    Some(Entry::File(File { descriptor, length: stat.size, modified }))
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
    pub(crate) fn read(self, offset: u64, length: u64) -> Result<Body> {
        let stream = self.descriptor.read_via_stream(offset).map_err(|_| broken())?;
        Ok(Body::from_stream(Reading { wait: None, stream, _file: self.descriptor, left: length }))
    }
}

/// A file that is being read. The order matters: what waits for a stream is dropped before it, and it before its file.
struct Reading {
    wait: Option<Rc<Pollable>>,
    stream: InputStream,
    _file: Descriptor,
    left: u64,
}

impl Stream for Reading {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        while self.left > 0 {
            if let Some(pollable) = &self.wait {
                ready!(wait(pollable));
            }
            match self.stream.read(self.left.min(limits::CHUNK as u64)) {
                Ok(chunk) if chunk.is_empty() => {
                    self.wait.get_or_insert_with(|| Rc::new(self.stream.subscribe()));
                }
                Ok(chunk) => {
                    self.wait = None;
                    self.left = self.left.saturating_sub(chunk.len() as u64);
                    return Poll::Ready(Some(Ok(chunk)));
                }
                Err(StreamError::Closed | StreamError::LastOperationFailed(_)) => {
                    self.wait = None;
                    self.left = 0;
                    return Poll::Ready(Some(Err(broken())));
                }
            }
        }
        Poll::Ready(None)
    }

    fn len(&self) -> Option<u64> {
        Some(self.left)
    }
}

/// In a request of 0.3 nobody asks what 0.2 has ready, so that it waits here, and the instance with it.
fn wait(pollable: &Rc<Pollable>) -> Poll<()> {
    #[cfg(feature = "p3")]
    if super::p3::is_running() {
        pollable.block();
        return Poll::Ready(());
    }
    executor::poll_wait(pollable)
}

#[cold]
fn broken() -> Error {
    Error::internal("a file can't be read, or has become shorter")
}

/// Returns a path without what says no more than "from here".
fn plain(path: &str) -> &str {
    let mut plain = path.as_bytes();
    while let [b'/', rest @ ..] | [b'.', b'/', rest @ ..] | [rest @ .., b'/'] = plain {
        plain = rest;
    }
    core::str::from_utf8(if plain == b"." { b"" } else { plain }).unwrap_or_default()
}

/// Returns where a folder is inside another, or `None` where it is not.
fn below<'a>(folder: &'a str, outer: &str) -> Option<&'a str> {
    match (outer, folder.strip_prefix(outer)?) {
        (_, "") => Some(""),
        ("", inside) => Some(inside),
        (_, inside) => inside.strip_prefix('/'),
    }
}
