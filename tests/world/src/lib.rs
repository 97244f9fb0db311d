//! What the components of the apps import and export.
#![cfg(test)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{Resolve, WorldItem};

/// Returns the name and the bytes of each app's release component.
fn components() -> Vec<(String, Vec<u8>)> {
    read(&xtask::apps::build_all().unwrap())
}

/// Returns those for WASI 0.3.
fn components_p3() -> Vec<(String, Vec<u8>)> {
    read(&xtask::apps::build_all_p3().unwrap())
}

fn read(built: &[PathBuf]) -> Vec<(String, Vec<u8>)> {
    built
        .iter()
        .map(|file| (file.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(file).unwrap()))
        .collect()
}

fn imports(bytes: &[u8]) -> BTreeSet<String> {
    let DecodedWasm::Component(resolve, world) = wit_component::decode(bytes).unwrap() else {
        panic!("not a component")
    };
    let names = resolve.worlds[world].imports.iter().map(|(key, item)| match item {
        WorldItem::Interface { id, .. } => resolve.id_of(*id).unwrap_or_default(),
        _ => resolve.name_world_key(key),
    });
    names.map(|name| name.split('@').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn each_app_satisfies_the_world() {
    check_world("wit/p2", components());
}

#[test]
fn each_app_satisfies_the_world_of_p3() {
    check_world("wit/p3", components_p3());
}

fn check_world(folder: &str, components: Vec<(String, Vec<u8>)>) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(xtask::root().join(folder)).unwrap();
    let world = resolve.select_world(&[package], Some("app")).unwrap();
    for (app, bytes) in components {
        if let Err(error) = wit_component::targets(&resolve, world, &bytes) {
            panic!("{app}: {error:?}");
        }
    }
}

/// A component imports what it uses and nothing else, also where its own code can panic: no flag has to grant it more
/// than HTTP. `wasi:cli/stderr` is for the message of a panic.
#[test]
fn imports_are_the_least() {
    let always = ["wasi:cli/stderr", "wasi:http/types", "wasi:io/error", "wasi:io/poll", "wasi:io/streams"];
    check_imports(&always, &["wasi:clocks/monotonic-clock", "wasi:http/outgoing-handler"], components());
}

/// As above; those with `types` in their names have no functions. The clock is there to look now and then whether the
/// client of a silent stream is.
#[test]
fn imports_are_the_least_of_p3() {
    let always =
        ["wasi:cli/stderr", "wasi:cli/types", "wasi:clocks/monotonic-clock", "wasi:clocks/types", "wasi:http/types"];
    check_imports(&always, &["wasi:http/client"], components_p3());
}

/// Checks the imports of all apps; `streams` has some more.
fn check_imports(always: &[&str], of_streams: &[&str], components: Vec<(String, Vec<u8>)>) {
    for (app, bytes) in components {
        let found = imports(&bytes);
        let more = if app == "streams" { of_streams } else { &[] };
        let extra: Vec<_> = found.iter().filter(|name| !always.iter().chain(more).any(|known| known == name)).collect();
        assert!(extra.is_empty(), "{app} imports {extra:?}");
        assert!(found.contains("wasi:http/types"), "{app} imports {found:?}");
        assert!(more.iter().all(|name| found.contains(*name)), "{app} imports {found:?}");
    }
}

/// `tabi build` writes a component anew, shorter: to the world it is the same.
#[test]
fn a_shorter_component_is_the_same() {
    let built = [xtask::apps::build_all().unwrap(), xtask::apps::build_all_p3().unwrap()].concat();
    for short in built {
        // Cargo's own file is one folder above.
        let long = short.parent().unwrap().parent().unwrap().join(short.file_name().unwrap());
        let (short_bytes, long_bytes) = (std::fs::read(&short).unwrap(), std::fs::read(&long).unwrap());
        assert_eq!(text(&short_bytes), text(&long_bytes), "{}", short.display());
        // Names alone are 3 KB.
        let saved = long_bytes.len() - short_bytes.len();
        assert!(saved > 5000, "{}: {saved} bytes less", short.display());
    }
}

/// Returns the WIT of a component.
fn text(bytes: &[u8]) -> String {
    let decoded = wit_component::decode(bytes).unwrap();
    let others: Vec<_> =
        decoded.resolve().packages.iter().map(|(id, _)| id).filter(|id| *id != decoded.package()).collect();
    let mut printer = WitPrinter::default();
    printer.print(decoded.resolve(), decoded.package(), &others).unwrap();
    printer.output.to_string()
}
