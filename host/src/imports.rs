//! Missing imports in words: which interface, what it is for, and what would grant it.

use crate::inspect::Outline;
use std::path::Path;

/// Packages of 0.2 and 0.3 that every component may import.
const OFFERED: &[&str] =
    &["wasi:io/", "wasi:clocks/", "wasi:random/", "wasi:cli/", "wasi:http/", "wasi:filesystem/", "wasi:sockets/"];

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
        "wasi:keyvalue" => "key-value storage, which this host can't grant yet",
        "wasi:config" => "configuration values, which this host can't grant yet",
        "wasi:logging" => "logging; print to standard error instead",
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
        let outline = Outline { world: World::P2, imports: vec![import.to_owned()], memory: 0 };
        let text = explain(Path::new("app.wasm"), &outline, "reason");
        assert!(text.contains(wanted), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }

    #[test]
    fn missing_imports_are_explained() {
        check("wasi:keyvalue/store@0.2.0-draft", "wasi:keyvalue/store@0.2.0-draft (key-value");
        check("wasi:http/types@0.3.0-rc-2025", "not one of its stable versions");
        check("acme:db/query", "wac plug");
        check("wasi:nn/graph@0.2.0-rc", "machine learning");
        check("wasi:http/types@0.2.4", "can't be linked: reason");
    }
}
