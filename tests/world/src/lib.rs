//! What the components of the apps import and export.
#![cfg(test)]

use std::collections::BTreeSet;
use wit_component::DecodedWasm;
use wit_parser::{Resolve, WorldItem};

/// Returns the name and the bytes of each app's release component.
fn components() -> Vec<(String, Vec<u8>)> {
    let built = xtask::apps::build_all().unwrap();
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
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(xtask::root().join("wit/p2")).unwrap();
    let world = resolve.select_world(&[package], Some("app")).unwrap();
    for (app, bytes) in components() {
        if let Err(error) = wit_component::targets(&resolve, world, &bytes) {
            panic!("{app}: {error:?}");
        }
    }
}

/// A component imports what it uses and nothing else, also where its own code can panic: no flag has to grant it more
/// than HTTP. `wasi:cli/stderr` is for the message of a panic.
#[test]
fn imports_are_the_least() {
    let always = ["wasi:cli/stderr", "wasi:http/types", "wasi:io/error", "wasi:io/streams"];
    for (app, bytes) in components() {
        let found = imports(&bytes);
        let extra: Vec<_> =
            found.iter().filter(|name| !always.contains(&name.as_str()) && *name != "wasi:io/poll").collect();
        assert!(extra.is_empty(), "{app} imports {extra:?}");
        assert!(found.contains("wasi:http/types"), "{app} imports {found:?}");
    }
}
