//! Missing imports in words: which interface, what it is for, and what would grant it.

use crate::Grants;
use crate::inspect::Outline;
use std::path::Path;

/// Packages of 0.2 and 0.3 that every component may import.
const OFFERED: &[&str] =
    &["wasi:io/", "wasi:clocks/", "wasi:random/", "wasi:cli/", "wasi:http/", "wasi:filesystem/", "wasi:sockets/"];

/// Interfaces that are offered in one version only, because they are not stable yet.
const DRAFTS: &[(&str, &str)] =
    &[("wasi:config/", "0.2.0-rc.1"), ("wasi:keyvalue/", "0.2.0-draft"), ("wasi:logging/", "0.1.0-draft")];

/// Says which imports have nothing behind them until the operator grants something, and how to grant it.
///
/// A component means what it imports of `needed` interfaces; others come with the library that it was built on.
pub(crate) fn ungranted(outline: &Outline, grants: &Grants, needed: bool) -> Vec<String> {
    let hints = [
        (true, "wasi:config/", grants.config.is_empty(), "values are granted in the table [grants.config]"),
        (true, "wasi:keyvalue/", grants.keyvalue.is_empty(), "storage is granted with grants.keyvalue"),
        (false, "wasi:cli/environment", grants.env.is_empty(), "variables are granted with grants.env"),
        (false, "wasi:filesystem/", grants.dirs.is_empty(), "folders are granted with grants.dirs"),
    ];
    let imported = |package: &str| outline.imports.iter().any(|name| name.starts_with(package));
    let hints = hints.iter().filter(|(of, package, missing, _)| *of == needed && *missing && imported(package));
    hints
        .map(|(_, package, _, how)| {
            format!("it imports {}, and nothing is granted; {how}", package.trim_end_matches('/'))
        })
        .collect()
}

/// Explains in one line why a component can't be linked; `reason` is the linker's own word.
pub(crate) fn explain(path: &Path, outline: &Outline, reason: &str) -> String {
    let missing: Vec<String> =
        outline.imports.iter().filter(|name| !offered(name)).map(|name| describe(name)).collect();
    let name = path.display();
    if missing.is_empty() {
        return format!("{name} can't be linked: {reason}");
    }
    format!("{name} imports what this host does not offer: {}", missing.join("; "))
}

fn offered(import: &str) -> bool {
    if let Some((_, version)) = DRAFTS.iter().find(|(package, _)| import.starts_with(package)) {
        return import.rsplit_once('@').is_some_and(|(_, found)| found == *version);
    }
    let version_ok = match import.rsplit_once('@') {
        Some((_, version)) => !version.contains('-') && (version.starts_with("0.2.") || version.starts_with("0.3.")),
        None => false,
    };
    version_ok && OFFERED.iter().any(|package| import.starts_with(package))
}

fn describe(import: &str) -> String {
    let what = match import.split(['/', '@']).next().unwrap_or_default() {
        package if OFFERED.iter().any(|known| known.trim_end_matches('/') == package) => {
            "not one of its stable versions, which are 0.2 and 0.3"
        }
        "wasi:keyvalue" => "not the version of it that this host offers, which is 0.2.0-draft",
        "wasi:config" => "not the version of it that this host offers, which is 0.2.0-rc.1",
        "wasi:logging" => "not the version of it that this host offers, which is 0.1.0-draft",
        "wasi:blobstore" => "object storage, which no setting grants",
        "wasi:nn" => "machine learning, which no setting grants",
        "wasi:tls" => "TLS from inside of the guest, which no setting grants",
        "wasi_snapshot_preview1" | "wasi:snapshot-preview1" => "WASI 0.1; wrap the module with the preview1 adapter",
        package if package.starts_with("wasi:") => "an unstable WASI proposal",
        _ => "an interface of another component; compose them with `wac plug`",
    };
    format!("{import} ({what})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::World;

    #[track_caller]
    fn check(import: &str, wanted: &str) {
        let outline = Outline {
            world: World::P2,
            exports: Vec::new(),
            imports: vec![import.to_owned()],
            memory: 0,
            origin: None,
        };
        let text = explain(Path::new("app.wasm"), &outline, "reason");
        assert!(text.contains(wanted), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[track_caller]
    fn check_ungranted(imports: &[&str], grants: &Grants, wanted: [&[&str]; 2]) {
        let imports = imports.iter().map(|name| (*name).to_owned()).collect();
        let outline = Outline { world: World::P2, exports: Vec::new(), imports, memory: 0, origin: None };
        for (needed, wanted) in [(true, wanted[0]), (false, wanted[1])] {
            let hints = ungranted(&outline, grants, needed);
            assert_eq!(hints.len(), wanted.len(), "{hints:?}");
            assert!(hints.iter().zip(wanted).all(|(hint, part)| hint.contains(part)), "{hints:?}");
        }
    }

    #[test]
    fn what_is_not_granted_is_told() {
        let imports = ["wasi:config/store@0.2.0-rc.1", "wasi:filesystem/types@0.2.6", "wasi:filesystem/preopens@0.2.6"];
        let list = || vec!["a=b".to_owned()];
        check_ungranted(&[], &Grants::default(), [&[], &[]]);
        check_ungranted(&imports, &Grants::default(), [&["wasi:config, and nothing"], &["folders"]]);
        check_ungranted(&imports, &Grants { config: list(), ..Grants::default() }, [&[], &["folders"]]);
        check_ungranted(&imports, &Grants { dirs: list(), config: list(), ..Grants::default() }, [&[], &[]]);
    }

    #[test]
    fn missing_imports_are_explained() {
        check("wasi:keyvalue/store@0.2.0-draft2", "wasi:keyvalue/store@0.2.0-draft2 (not the version");
        check("wasi:http/types@0.3.0-rc-2025", "not one of its stable versions");
        check("acme:db/query", "wac plug");
        check("wasi:nn/graph@0.2.0-rc", "machine learning");
        check("wasi:config/store@0.2.0-draft", "which is 0.2.0-rc.1");
        check("wasi:logging/logging", "which is 0.1.0-draft");
        check("wasi:http/types@0.2.4", "can't be linked: reason");
    }
}
