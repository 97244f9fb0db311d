//! A component put together by hand, made shorter.

use super::bytes::{Reader, push_name, push_section};
use super::read::COMPONENT;
use super::*;

const CORE: &[u8] = b"\0asm\x01\0\0\0";

/// A module or a component of sections.
fn file(preamble: &[u8], sections: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = preamble.to_vec();
    sections.iter().for_each(|(id, content)| push_section(&mut bytes, *id, content));
    bytes
}

/// Bytes from numbers and texts: a text comes with its length.
macro_rules! bytes {
    ($($part:expr),* $(,)?) => {{
        let mut out: Vec<u8> = Vec::new();
        $(Part::push(&$part, &mut out);)*
        out
    }};
}

trait Part {
    fn push(&self, out: &mut Vec<u8>);
}

impl Part for i32 {
    fn push(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(*self).unwrap());
    }
}

impl Part for &str {
    fn push(&self, out: &mut Vec<u8>) {
        push_name(out, self.as_bytes());
    }
}

/// What differs from case to case.
struct Parts {
    /// The body of the function in between.
    forward: Vec<u8>,
    /// The type of the function that hands out memory: 1 is right.
    realloc: i32,
    data: Vec<u8>,
    /// What a custom section of the component says.
    custom: Option<&'static str>,
}

impl Default for Parts {
    fn default() -> Parts {
        let forward = bytes![0, 0x20, 0, 0x41, 0, 0x11, 0, 0, 0x0b];
        Parts { forward, realloc: 1, data: bytes![1, 0, 0x41, 8, 0x0b, "data"], custom: None }
    }
}

/// A component as wit-component makes it, of an app that calls `get: func() -> string` of `host` in its `run: func()`.
fn component(parts: &Parts) -> Vec<u8> {
    let main = file(
        CORE,
        &[
            // From a number to nothing, from four to one, and from nothing to nothing.
            (1, bytes![3, 0x60, 1, 0x7f, 0, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 0]),
            (2, bytes![1, "host", "get", 0, 0]),
            (3, bytes![2, 2, parts.realloc]),
            (4, bytes![1, 0x70, 1, 2, 2]),
            (5, bytes![1, 0, 1]),
            (7, bytes![4, "memory", 2, 0, "run", 0, 1, "cabi_realloc", 0, 2, "nobody's", 0, 1]),
            (9, bytes![1, 0, 0x41, 1, 0x0b, 1, 1]),
            (10, bytes![2, 6, 0, 0x41, 0, 0x10, 0, 0x0b, 4, 0, 0x41, 16, 0x0b]),
            (11, parts.data.clone()),
        ],
    );
    let mut code = bytes![1];
    push_name(&mut code, &parts.forward);
    let between = file(
        CORE,
        &[
            (1, bytes![1, 0x60, 1, 0x7f, 0]),
            (3, bytes![1, 0]),
            (4, bytes![1, 0x70, 1, 1, 1]),
            (7, bytes![2, "0", 0, 0, "$imports", 1, 0]),
            (10, code),
        ],
    );
    let filler = file(
        CORE,
        &[
            (1, bytes![1, 0x60, 1, 0x7f, 0]),
            (2, bytes![2, "", "0", 0, 0, "", "$imports", 1, 0x70, 1, 1, 1]),
            (9, bytes![1, 0, 0x41, 0, 0x0b, 1, 0]),
        ],
    );
    let mut sections = vec![
        // The type of `host`: a function without parameters that returns a text.
        (7, bytes![1, 0x42, 2, 1, 0x40, 0, 0, 0x73, 4, 0, "get", 1, 0]),
        (10, bytes![1, 0, "host", 5, 0]),
        (1, main),
        (1, between),
        (1, filler),
        (2, bytes![1, 0, 1, 0]),
        (6, bytes![1, 0, 0, 1, 0, "0"]),
        (2, bytes![1, 1, 1, "get", 0, 0]),
        (2, bytes![1, 0, 0, 1, "host", 0x12, 1]),
        (6, bytes![4, 0, 2, 1, 2, "memory", 0, 1, 1, 0, "$imports", 1, 0, 0, "get", 0, 0, 1, 2, "cabi_realloc"]),
        (8, bytes![1, 1, 0, 0, 3, 3, 0, 4, 1, 0]),
        (2, bytes![2, 1, 2, "$imports", 1, 0, "0", 0, 2, 0, 2, 1, "", 0x12, 3]),
        (7, bytes![1, 0x40, 0, 1, 0]),
        (6, bytes![1, 0, 0, 1, 2, "run"]),
        (8, bytes![1, 0, 0, 3, 0, 1]),
        (11, bytes![1, 0, "run", 1, 1, 0]),
    ];
    sections.extend(parts.custom.map(|text| (0, bytes![text, 7])));
    file(COMPONENT, &sections)
}

/// The same component without anything in between.
fn short_component(custom: Option<&str>) -> Vec<u8> {
    let owner = file(
        CORE,
        &[
            (1, bytes![1, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f]),
            (3, bytes![1, 0]),
            (4, bytes![1, 0x70, 1, 3, 3]),
            (5, bytes![1, 0, 1]),
            (7, bytes![3, "m", 2, 0, "t", 1, 0, "r", 0, 0]),
            (10, bytes![1, 15, 0, 0x20, 0, 0x20, 1, 0x20, 2, 0x20, 3, 0x41, 2, 0x11, 0, 0, 0x0b]),
            (11, bytes![1, 0, 0x41, 8, 0x0b, "data"]),
        ],
    );
    let main = file(
        CORE,
        &[
            (1, bytes![3, 0x60, 1, 0x7f, 0, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f, 0x60, 0, 0]),
            (2, bytes![3, "", "a", 0, 0, "m", "m", 2, 0, 1, "m", "t", 1, 0x70, 1, 3, 3]),
            (3, bytes![2, 2, 1]),
            (7, bytes![1, "a", 0, 1]),
            (9, bytes![2, 0, 0x41, 1, 0x0b, 1, 1, 0, 0x41, 2, 0x0b, 1, 2]),
            (10, bytes![2, 6, 0, 0x41, 0, 0x10, 0, 0x0b, 4, 0, 0x41, 16, 0x0b]),
        ],
    );
    let mut sections = vec![
        (7, bytes![2, 0x42, 2, 1, 0x40, 0, 0, 0x73, 4, 0, "get", 1, 0, 0x40, 0, 1, 0]),
        (10, bytes![1, 0, "host", 5, 0]),
        (6, bytes![1, 1, 0, 0, "get"]),
        (1, owner),
        (1, main),
        (2, bytes![1, 0, 0, 0]),
        (6, bytes![2, 0, 2, 1, 0, "m", 0, 0, 1, 0, "r"]),
        (8, bytes![1, 1, 0, 0, 3, 3, 0, 4, 0, 0]),
        (2, bytes![2, 1, 1, "a", 0, 1, 0, 1, 2, "", 0x12, 1, "m", 0x12, 0]),
        (6, bytes![1, 0, 0, 1, 2, "a"]),
        (8, bytes![1, 0, 0, 2, 0, 1]),
        (11, bytes![1, 0, "run", 1, 1, 0]),
    ];
    sections.extend(custom.map(|text| (0, bytes![text, 7])));
    file(COMPONENT, &sections)
}

#[test]
fn nothing_stays_in_between() {
    for custom in [None, Some("somebody's")] {
        let long = component(&Parts { custom, ..Parts::default() });
        assert_eq!(shrink(&long), Some(short_component(custom)));
        assert_eq!(shrink(&short_component(custom)), Some(short_component(custom)));
    }
}

/// What is not as wit-component writes it may mean something else.
#[test]
fn what_is_not_known_stays() {
    let cases = [
        ("another place", Parts { forward: bytes![0, 0x20, 0, 0x41, 1, 0x11, 0, 0, 0x0b], ..Parts::default() }),
        ("more than a call", Parts { forward: bytes![0, 1, 0x20, 0, 0x41, 0, 0x11, 0, 0, 0x0b], ..Parts::default() }),
        ("another parameter", Parts { forward: bytes![0, 0x20, 1, 0x41, 0, 0x11, 0, 0, 0x0b], ..Parts::default() }),
        ("another function", Parts { realloc: 2, ..Parts::default() }),
    ];
    for (name, parts) in cases {
        let short = shrink(&component(&parts)).unwrap();
        let modules = Reader::sections(&short, COMPONENT).unwrap().iter().filter(|(id, _)| *id == 1).count();
        assert_eq!(modules, 3, "{name}");
    }
    // Data that is put into memory later stays with the code that does.
    let passive = bytes![1, 1, "data"];
    let short = shrink(&component(&Parts { data: passive.clone(), ..Parts::default() })).unwrap();
    let sections = Reader::sections(&short, COMPONENT).unwrap();
    let modules: Vec<_> = sections.iter().filter(|(id, _)| *id == 1).map(|(_, module)| *module).collect();
    let data = |module: &[u8]| {
        let sections = Reader::sections(module, CORE).unwrap();
        sections.iter().find(|(id, _)| *id == 11).map(|(_, content)| content.to_vec())
    };
    assert_eq!((modules.len(), data(modules[0]), data(modules[1])), (2, None, Some(passive)));
}

#[test]
fn damaged_files_do_no_harm() {
    let whole = component(&Parts::default());
    for at in 0..whole.len() {
        let _ = shrink(&whole[..at]);
        for byte in [0, 1, 0x41, 0x7f, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            let _ = shrink(&damaged);
        }
    }
    let deep = [&[1][..], &[0x42, 1, 1].repeat(100_000)].concat();
    assert_eq!(shrink(&file(COMPONENT, &[(7, deep)])), None);
}

#[test]
fn short_names_differ() {
    let names: std::collections::HashSet<Vec<u8>> = (0..10_000).map(short).collect();
    assert_eq!(
        (names.len(), short(0), short(61), short(62), short(63)),
        (10_000, b"a".into(), b"9".into(), b"aa".into(), b"ba".into())
    );
}
