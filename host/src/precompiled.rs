//! Components that were compiled before: one file with the machine code and what a host wants to know of it.
//!
//! `tabi compile` writes it. Whoever can write such a file decides what the host runs, without the walls around
//! WebAssembly: so it is taken only from its user or from root, as the compile cache is.

use crate::error::one_line;
use crate::inspect::{Outline, World};
use crate::{StartError, restore};
use sha2::{Digest, Sha256};
use std::path::Path;
use wasmtime::component::Component;
use wasmtime::{Engine, ModuleVersionStrategy};

/// How such a file begins. A text editor and a line-by-line transfer would damage it, and so be noticed.
const MAGIC: &[u8; 8] = b"\x7ftabi\r\n\x1a";
/// The arrangement of the rest; a host takes no other.
const FORMAT: u8 = 1;
/// Magic, format, [`restore::VERSION`] or 0, checksum.
const HEAD: usize = MAGIC.len() + 2 + 32;

/// What a file says of where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The program that compiled it, and the compiler.
    pub by: String,
    /// The processor and system that the code is for.
    pub target: String,
    /// The SHA-256 of the component.
    pub component: [u8; 32],
}

/// Whether these are the first bytes of such a file.
pub(crate) fn is(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Makes the content of a file; `prepared` is [`restore::VERSION`] if the code was prepared by that, and otherwise 0.
#[cfg_attr(not(feature = "compiler"), allow(dead_code, reason = "a program without compiler only reads"))]
pub(crate) fn write(outline: &Outline, origin: &Origin, prepared: u8, code: &[u8]) -> Vec<u8> {
    let mut rest = Vec::with_capacity(code.len() + 1024);
    let text = |rest: &mut Vec<u8>, text: &str| {
        rest.extend_from_slice(&(text.len() as u32).to_le_bytes());
        rest.extend_from_slice(text.as_bytes());
    };
    text(&mut rest, &origin.by);
    text(&mut rest, &origin.target);
    rest.extend_from_slice(&origin.component);
    rest.push(match outline.world {
        World::P2 => 2,
        World::P3 => 3,
    });
    rest.extend_from_slice(&outline.memory.to_le_bytes());
    for list in [&outline.exports, &outline.imports] {
        rest.extend_from_slice(&(list.len() as u32).to_le_bytes());
        list.iter().for_each(|name| text(&mut rest, name));
    }
    rest.extend_from_slice(code);
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&[FORMAT, prepared]);
    file.extend_from_slice(&Sha256::digest(&rest));
    file.extend(rest);
    file
}

/// Reads a file: what its component exports and imports, where it comes from, and the code.
///
/// # Errors
/// When it is of another format, or damaged.
pub(crate) fn read<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Outline, &'a [u8]), StartError> {
    let fail = |why: &str| StartError::new(format!("{} {why}; compile the component again", path.display()));
    let head = bytes.get(MAGIC.len()..MAGIC.len() + 2);
    let [format, prepared] = head.and_then(|head| head.try_into().ok()).ok_or_else(|| fail("is cut off"))?;
    if format != FORMAT || ![0, restore::VERSION].contains(&prepared) {
        return Err(fail("was written by another version of tabi, in a form that this one does not know"));
    }
    let (checksum, rest) = bytes
        .split_at_checked(HEAD)
        .and_then(|(head, rest)| Some((head.get(HEAD - 32..)?, rest)))
        .ok_or_else(|| fail("is cut off"))?;
    if Sha256::digest(rest).as_slice() != checksum {
        return Err(fail("is damaged: its checksum is another"));
    }
    // Nothing below fails in a file that `write` has made.
    fields(rest).ok_or_else(|| fail("is not what its checksum says"))
}

fn fields(bytes: &[u8]) -> Option<(Outline, &[u8])> {
    let mut rest = bytes;
    let by = text(&mut rest)?;
    let target = text(&mut rest)?;
    let component = take(&mut rest, 32)?.try_into().ok()?;
    let world = match take(&mut rest, 1)? {
        [2] => World::P2,
        [3] => World::P3,
        _ => return None,
    };
    let memory = u64::from_le_bytes(take(&mut rest, 8)?.try_into().ok()?);
    let exports = list(&mut rest)?;
    let imports = list(&mut rest)?;
    let origin = Some(Origin { by, target, component });
    Some((Outline { world, exports, imports, memory, origin }, rest))
}

fn list(rest: &mut &[u8]) -> Option<Vec<String>> {
    (0..number(rest)?).map(|_| text(rest)).collect()
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let length = number(rest)?;
    String::from_utf8(take(rest, length)?.to_vec()).ok()
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?)).ok()
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

/// Makes the code of the file at `path`, which `input` has found to be trusted, ready to run.
///
/// # Errors
/// When it is damaged, or was compiled for another machine or by another version of the compiler.
#[allow(unsafe_code, reason = "there is no other way to run code that was compiled before")]
pub(crate) fn load(engine: &Engine, path: &Path, bytes: &[u8]) -> Result<Component, StartError> {
    let (outline, code) = read(path, bytes)?;
    // SAFETY: the file belongs to the user of this program or to root, and nobody else may write to it: that was
    // checked when it was read. The checksum rules out damage, and wasmtime itself refuses code of another version,
    // configuration or processor.
    unsafe { Component::deserialize(engine, code) }.map_err(|error| {
        let origin = outline.origin.map(|origin| format!("{} for {}", origin.by, origin.target)).unwrap_or_default();
        StartError::new(format!(
            "{} was compiled by {origin}, and can't be used by {}: {}; compile the component again",
            path.display(),
            this(),
            one_line(&error)
        ))
    })
}

/// This program and the version of wasmtime in it, in which the code must agree.
pub(crate) fn this() -> String {
    let wasmtime = ModuleVersionStrategy::WasmtimeVersion;
    format!("tabi {} with wasmtime {}", env!("CARGO_PKG_VERSION"), wasmtime.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let outline = Outline {
            world: World::P3,
            exports: vec!["wasi:http/handler@0.3.0".to_owned()],
            imports: vec!["a".to_owned(), String::new()],
            memory: 65536,
            origin: None,
        };
        let origin = Origin { by: "tabi 1".to_owned(), target: "x86_64".to_owned(), component: [7; 32] };
        write(&outline, &origin, restore::VERSION, b"code")
    }

    #[track_caller]
    fn check(bytes: &[u8], wanted: &str) {
        let error = read(Path::new("app.cwasm"), bytes).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(error.starts_with("app.cwasm ") && error.ends_with("; compile the component again"), "{error}");
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = file();
        assert!(is(&bytes) && !is(b"\0asm") && !is(b""));
        let (outline, code) = read(Path::new("app.cwasm"), &bytes).unwrap();
        assert_eq!((outline.world, outline.memory, code), (World::P3, 65536, &b"code"[..]));
        assert_eq!(outline.exports, ["wasi:http/handler@0.3.0"]);
        assert_eq!(outline.imports, ["a", ""]);
        let origin = outline.origin.unwrap();
        assert_eq!((origin.by.as_str(), origin.target.as_str(), origin.component), ("tabi 1", "x86_64", [7; 32]));
    }

    #[test]
    fn anything_else_is_refused() {
        let whole = file();
        for length in MAGIC.len()..whole.len() {
            check(&whole[..length], if length < HEAD { "is cut off" } else { "is damaged" });
        }
        for at in MAGIC.len()..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x80;
            check(&bytes, if at < MAGIC.len() + 2 { "another version of tabi" } else { "is damaged" });
        }
        // With a checksum that is right, and content that is not.
        for length in [0, 3, 9, 40, 60] {
            let mut bytes = whole[..HEAD + length].to_vec();
            let checksum = Sha256::digest(&bytes[HEAD..]);
            bytes[HEAD - 32..HEAD].copy_from_slice(&checksum);
            check(&bytes, "not what its checksum says");
        }
    }
}
