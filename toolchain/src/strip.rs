//! Leaves out the sections that only a debugger or a statistic reads.
//!
//! The linker writes names for the parts of a component that the compiler's own `strip` does not
//! know: 5 KB of a hello. A section is an id, a size (LEB128) and so many bytes, so that leaving
//! one out of a nested module changes no more than the sizes around it.

use crate::Error;

/// Names of things, and the tools that made the file. Everything else may mean something to
/// somebody: `metadata.code.*` to a compiler, `.debug_*` to whoever asked for it.
const NOBODYS: [&[u8]; 4] = [b"component-name", b"name", b"producers", b"target_features"];

const MAGIC: &[u8] = b"\0asm";
const CORE: &[u8] = &[1, 0, 0, 0];
const COMPONENT: &[u8] = &[13, 0, 1, 0];

/// How deep components are nested in components at most, in files that are no attack.
const DEPTH: u32 = 32;

/// Returns the component without its names and without the list of tools that made it, in all the
/// modules and components inside too.
///
/// # Errors
/// When `bytes` is a core module, or no WebAssembly at all.
pub fn strip_sections(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    if bytes.starts_with(MAGIC) && bytes.get(4..8) == Some(CORE) {
        return Err(Error::new("this is a core module, not a component"));
    }
    strip(bytes, DEPTH).ok_or_else(|| Error::new("this is not a component, or it is damaged"))
}

fn strip(bytes: &[u8], depth: u32) -> Option<Vec<u8>> {
    let (preamble, mut rest) = bytes.split_at_checked(8)?;
    let is_component = match preamble.split_at(4) {
        (MAGIC, COMPONENT) => true,
        (MAGIC, CORE) => false,
        _ => return None,
    };
    let mut kept = Vec::with_capacity(bytes.len());
    kept.extend_from_slice(preamble);
    while let Some((&id, after)) = rest.split_first() {
        let (size, after) = read_size(after)?;
        let (content, after) = after.split_at_checked(size)?;
        rest = after;
        match id {
            0 if is_nobodys(content) => {}
            // Ids of a component: a module, and another component.
            1 | 4 if is_component => write_section(&mut kept, id, &strip(content, depth.checked_sub(1)?)?),
            _ => write_section(&mut kept, id, content),
        }
    }
    Some(kept)
}

/// A custom section begins with its name.
fn is_nobodys(content: &[u8]) -> bool {
    let name = read_size(content).and_then(|(length, rest)| rest.get(..length));
    name.is_some_and(|name| NOBODYS.contains(&name))
}

fn write_section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    let mut size = content.len();
    while size >= 128 {
        out.push((size % 128) as u8 | 128);
        size /= 128;
    }
    out.push(size as u8);
    out.extend_from_slice(content);
}

/// Reads an unsigned 32 bit number in LEB128, and what follows it.
fn read_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 127) << (7 * index);
        if byte < 128 {
            let size = u32::try_from(value).ok()?;
            return Some((size as usize, bytes.get(index + 1..)?));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of sections, each an id and its content.
    fn file(kind: &[u8], sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = [MAGIC, kind].concat();
        sections.iter().for_each(|(id, content)| write_section(&mut bytes, *id, content));
        bytes
    }

    fn custom(name: &str, size: usize) -> (u8, Vec<u8>) {
        let mut content = vec![name.len() as u8];
        content.extend_from_slice(name.as_bytes());
        content.resize(content.len() + size, 7);
        (0, content)
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<&[u8], &str>) {
        let stripped = strip_sections(bytes).map_err(|error| error.to_string());
        assert_eq!(stripped.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn removes_names_at_every_level() {
        let code = (10, vec![1; 300]);
        let module = |more: &[(u8, Vec<u8>)]| (1, file(CORE, &[std::slice::from_ref(&code), more].concat()));
        let named = module(&[
            custom("name", 500),
            custom("producers", 1),
            custom("target_features", 0),
            custom("metadata.code.x", 9),
        ]);
        let inner = |module: (u8, Vec<u8>), more: &[(u8, Vec<u8>)]| {
            (4, file(COMPONENT, &[std::slice::from_ref(&module), more].concat()))
        };
        let whole = file(
            COMPONENT,
            &[inner(named, &[custom("component-name", 40)]), custom("component-name", 5000), (7, vec![])],
        );
        let bare = module(&[custom("metadata.code.x", 9)]);
        let expected = file(COMPONENT, &[inner(bare, &[]), (7, vec![])]);
        check(&whole, Ok(&expected));
        check(&expected, Ok(&expected));
        check(&file(COMPONENT, &[]), Ok(&file(COMPONENT, &[])));
    }

    #[test]
    fn keeps_sections_that_only_look_alike() {
        // Section 1 of a core module holds types, not a module; a custom section may be named anything.
        let module =
            file(CORE, &[(1, b"\0asm".to_vec()), custom("names", 3), custom(".debug_info", 3), (0, vec![200])]);
        let whole = file(COMPONENT, &[(1, module), (2, b"name".to_vec())]);
        check(&whole, Ok(&whole));
    }

    #[test]
    fn refuses_what_is_no_component() {
        let whole = file(COMPONENT, &[(1, file(CORE, &[(10, vec![1; 200])]))]);
        for end in 0..whole.len() {
            // A cut between two sections leaves a smaller component, which is none of our business.
            if end != 8 {
                check(whole.get(..end).unwrap(), Err("this is not a component, or it is damaged"));
            }
        }
        check(&file(CORE, &[]), Err("this is a core module, not a component"));
        check(b"\x7fELF\0\0\0\0", Err("this is not a component, or it is damaged"));
        let endless = [MAGIC, COMPONENT, &[0, 255, 255, 255, 255, 255, 255, 1]].concat();
        check(&endless, Err("this is not a component, or it is damaged"));
        let mut deep = file(COMPONENT, &[]);
        for _ in 0..=DEPTH {
            deep = file(COMPONENT, &[(4, deep)]);
        }
        check(&deep, Err("this is not a component, or it is damaged"));
    }

    #[test]
    fn reads_sizes_of_every_length() {
        for (bytes, expected) in [
            (&[0][..], Some(0)),
            (&[127], Some(127)),
            (&[0x80, 1], Some(128)),
            (&[0x80, 0x80, 0], Some(0)),
            (&[255, 255, 255, 255, 15], Some(u32::MAX as usize)),
            (&[255, 255, 255, 255, 16], None),
            (&[128, 128, 128, 128, 128, 0], None),
            (&[128], None),
            (&[], None),
        ] {
            assert_eq!(read_size(bytes).map(|(size, _)| size), expected, "{bytes:?}");
        }
    }
}
