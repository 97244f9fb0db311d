//! A folder whose files the host serves: from a path to an open file.
//!
//! Nothing here waits: all of it runs on threads for what blocks.

use crate::site::FolderEntry;
use crate::{StartError, encoding, media};
use cap_primitives::fs::{FollowSymlinks, OpenOptions, OpenOptionsExt};
use hyper::header::{HeaderMap, HeaderValue};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A folder as the configuration has it, checked.
pub(crate) struct Folder {
    path: PathBuf,
    index: Option<PathBuf>,
    fallback: Option<PathBuf>,
    pub(crate) cache_control: Option<HeaderValue>,
    precompressed: bool,
}

/// What is at a path.
pub(crate) enum Look {
    File(Found),
    /// A folder with an index, asked for without the slash at its end.
    NoSlash,
    Missing,
}

/// An open file and how it is sent.
pub(crate) struct Found {
    pub(crate) file: File,
    pub(crate) stamp: Stamp,
    pub(crate) kind: &'static str,
    /// The coding that the bytes of the file are in.
    pub(crate) coding: Option<&'static str>,
    /// Whether another client may get other bytes.
    pub(crate) varies: bool,
}

/// What changes when a file does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) length: u64,
    pub(crate) modified: SystemTime,
}

/// Precompressed forms, the better one first.
const CODINGS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

impl Folder {
    /// Checks an entry.
    ///
    /// # Errors
    /// When there is no such folder, or a file in it can't have the name that is asked for.
    pub(crate) fn new(entry: &FolderEntry) -> Result<Self, StartError> {
        let name = entry.path.display();
        let fail = |why: String| StartError::new(format!("the folder {name}: {why}"));
        let is_dir =
            std::fs::metadata(&entry.path).map_err(|error| fail(format!("it can't be read: {error}")))?.is_dir();
        if !is_dir {
            return Err(fail("it is a file; path must be the folder that it is in".to_owned()));
        }
        File::open(&entry.path).map_err(|error| fail(format!("it can't be read: {error}")))?;
        let inside = |key: &str, text: &str| -> Result<Option<PathBuf>, StartError> {
            if text.is_empty() {
                return Ok(None);
            }
            let path = text.strip_prefix('/').unwrap_or(text);
            let plain = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
            if plain { Ok(Some(path.into())) } else { Err(fail(format!("{key} = {text:?} names no file in it"))) }
        };
        let index = inside("index", &entry.index)?;
        if index.as_ref().is_some_and(|index| index.components().count() > 1) {
            return Err(fail(format!("index = {:?} must be a name and no path", entry.index)));
        }
        let fallback = inside("fallback", &entry.fallback)?;
        let cache_control = match entry.cache_control.as_str() {
            "" => None,
            text => {
                let value = HeaderValue::try_from(text).ok().filter(|_| text.is_ascii());
                Some(value.ok_or_else(|| fail(format!("cache_control = {text:?} is no field value")))?)
            }
        };
        let (path, precompressed) = (entry.path.clone(), entry.precompressed);
        Ok(Self { path, index, fallback, cache_control, precompressed })
    }

    /// Opens what is at `path`, which begins with a slash or is empty and is still encoded.
    ///
    /// # Errors
    /// When the system can't say, for lack of files or by a fault of the disk.
    pub(crate) fn look(&self, path: &str, headers: &HeaderMap) -> io::Result<Look> {
        // Opened anew each time, so that a link to it can be set to another folder.
        let root = File::open(&self.path)?;
        let found = match names(path) {
            Some((names, slash)) => self.at(&root, &names, slash, headers)?,
            None => return Ok(Look::Missing),
        };
        let is_page = || !path.rsplit('/').next().unwrap_or_default().contains('.');
        match (found, &self.fallback) {
            (Look::Missing, Some(fallback)) if is_page() => {
                let file = self.file(&root, fallback, headers)?;
                Ok(file.map_or(Look::Missing, Look::File))
            }
            (found, _) => Ok(found),
        }
    }

    fn at(&self, root: &File, names: &Path, slash: bool, headers: &HeaderMap) -> io::Result<Look> {
        if !slash && let Some(found) = self.file(root, names, headers)? {
            return Ok(Look::File(found));
        }
        let Some(index) = &self.index else { return Ok(Look::Missing) };
        let Some(found) = self.file(root, &names.join(index), headers)? else { return Ok(Look::Missing) };
        Ok(if slash { Look::File(found) } else { Look::NoSlash })
    }

    /// Opens a file, or a precompressed form of it that the client likes.
    fn file(&self, root: &File, path: &Path, headers: &HeaderMap) -> io::Result<Option<Found>> {
        let Some((file, stamp)) = open(root, path)? else { return Ok(None) };
        let kind = media::content_type(&path.file_name().unwrap_or_default().to_string_lossy());
        let varies = self.precompressed && encoding::is_smaller_coded(kind);
        let mut found = Found { file, stamp, kind, coding: None, varies };
        if !varies {
            return Ok(Some(found));
        }
        let identity = encoding::liking(headers, &[b"identity"]).unwrap_or(0);
        let liked = CODINGS.map(|(coding, end)| {
            let names: &[&[u8]] = if coding == "gzip" { &[b"gzip", b"x-gzip"] } else { &[coding.as_bytes()] };
            (encoding::liking(headers, names).or(encoding::liking(headers, &[b"*"])).unwrap_or(0), coding, end)
        });
        let mut liked: Vec<_> = liked.into_iter().filter(|(weight, ..)| *weight > 0 && *weight >= identity).collect();
        // A stable sort: of those that are liked the same the better one stays first.
        liked.sort_by_key(|(weight, ..)| std::cmp::Reverse(*weight));
        for (_, coding, end) in liked {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            // One that is older than the file is of what the file was before.
            if let Some((file, stamp)) =
                open(root, Path::new(&name))?.filter(|(_, own)| own.modified >= found.stamp.modified)
            {
                found = Found { file, stamp, coding: Some(coding), ..found };
                break;
            }
        }
        Ok(Some(found))
    }
}

/// Opens a file below `root`; links are followed as long as they stay there.
fn open(root: &File, path: &Path) -> io::Result<Option<(File, Stamp)>> {
    let mut options = OpenOptions::new();
    // A pipe would have its opener wait for a writer.
    options.read(true)._cap_fs_ext_follow(FollowSymlinks::Yes).custom_flags(libc::O_NONBLOCK);
    // An empty name is the folder itself.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match cap_primitives::fs::open(root, path, &options) {
        Ok(file) => {
            let meta = file.metadata()?;
            Ok(meta.is_file().then(|| (file, Stamp::of(&meta))))
        }
        Err(error) if is_shortage(&error) => Err(error),
        // Not there, not allowed, or outside: to the client it is all the same.
        Err(_) => Ok(None),
    }
}

/// Whether an error says nothing about the file that was asked for.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EIO | libc::ESTALE))
}

impl Stamp {
    /// Reads the stamp of a file.
    pub(crate) fn of(meta: &std::fs::Metadata) -> Self {
        Self { length: meta.len(), modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH) }
    }
}

/// Decodes a path into names, and tells whether it ends with a slash; `None` for what no file here can be called.
fn names(path: &str) -> Option<(PathBuf, bool)> {
    let Some(rest) = path.strip_prefix('/') else { return path.is_empty().then(|| (PathBuf::new(), false)) };
    let (rest, slash) = match rest.strip_suffix('/') {
        Some(rest) => (rest, true),
        None => (rest, rest.is_empty()),
    };
    let mut names = PathBuf::new();
    if rest.is_empty() {
        // Two slashes have an empty name between them.
        return (path == "/").then_some((names, true));
    }
    for (number, segment) in rest.split('/').enumerate() {
        let name = decode(segment)?;
        // RFC 8615: what is well known is meant to be seen, other names with a dot are not.
        let hidden = name.first() == Some(&b'.') && !(number == 0 && name == b".well-known");
        if name.is_empty() || hidden || name.iter().any(|byte| matches!(byte, b'/' | b'\\' | 0)) {
            return None;
        }
        names.push(OsString::from_vec(name));
    }
    Some((names, slash))
}

fn decode(segment: &str) -> Option<Vec<u8>> {
    let mut name = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            name.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        name.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[track_caller]
    fn check(path: &str, wanted: Option<(&[u8], bool)>) {
        let got = names(path);
        let got = got.as_ref().map(|(path, slash)| (path.as_os_str().as_bytes(), *slash));
        assert_eq!(got, wanted, "{path}");
    }

    #[test]
    fn paths_are_names_or_nothing() {
        check("", Some((b"", false)));
        check("/", Some((b"", true)));
        check("/a", Some((b"a", false)));
        check("/a/", Some((b"a", true)));
        check("/a/b.c", Some((b"a/b.c", false)));
        check("/a%20b/%C3%BC", Some(("a b/ü".as_bytes(), false)));
        check("/%ff", Some((b"\xff", false)));
        check("/a+b", Some((b"a+b", false)));
        check("/.well-known/x", Some((b".well-known/x", false)));
        for path in [
            "a",
            "//",
            "//a",
            "/a//b",
            "/a//",
            "/..",
            "/../a",
            "/a/..",
            "/.",
            "/%2e%2e/a",
            "/.%2e",
            "/a/%2e%2e%2fb",
            "/a%2fb",
            "/a%5cb",
            "/a\\b",
            "/..\\a",
            "/a%00",
            "/%00",
            "/.git/config",
            "/a/.env",
            "/%2egit",
            "/a/.well-known/x",
            "/.well-known/.x",
            "/a%",
            "/a%2",
            "/a%zz",
            "/%%32",
            "/.../a",
        ] {
            check(path, None);
        }
    }
}
