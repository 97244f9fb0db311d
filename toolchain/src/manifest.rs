//! What cargo knows of the crate in a folder before anything is compiled.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Error;

/// The package in a folder.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name, as the user wrote it.
    pub(crate) name: String,
    /// What cargo's messages call it.
    pub(crate) id: String,
    /// Where cargo puts what it makes.
    pub(crate) target_dir: PathBuf,
    /// The folder that its sources are named from.
    pub(crate) workspace: PathBuf,
}

/// Asks cargo for the package in `dir`, which has to be a `cdylib`.
///
/// # Errors
/// One message for each way in which the folder is not one that gives a component.
pub(crate) fn package(cargo: &mut Command, dir: &Path) -> Result<Package, Error> {
    let manifest = dir.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(Error::new(format!("{} has no Cargo.toml: is it the folder of a crate?", dir.display())));
    }
    // In the folder itself, where a `rust-toolchain.toml` counts.
    cargo.current_dir(dir).args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path", "Cargo.toml"]);
    let output = cargo.output().map_err(|error| Error::new(no_cargo(&error)))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("cargo cannot make use of {}:\n{}", manifest.display(), reason.trim())));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| Error::new(format!("`cargo metadata` answered something else than JSON: {error}")))?;
    find(&metadata, &manifest).map_err(Error::new)
}

/// The words for a cargo that cannot be run.
pub(crate) fn no_cargo(error: &std::io::Error) -> String {
    format!(
        "`cargo` cannot be run: {error}\nIs Rust installed, and its folder on the PATH? `cargo --version` has to work."
    )
}

fn find(metadata: &Value, manifest: &Path) -> Result<Package, String> {
    let packages = list(metadata, "packages");
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let same = |path: &str| real(Path::new(path)) == real(manifest);
    let Some(package) = packages.iter().find(|package| same(text(package, "manifest_path"))) else {
        return Err(no_package(packages, manifest));
    };
    let name = text(package, "name");
    let is_cdylib = |target: &Value| list(target, "crate_types").iter().any(|kind| kind == "cdylib");
    if !list(package, "targets").iter().any(is_cdylib) {
        return Err(no_cdylib(name, manifest));
    }
    Ok(Package {
        name: name.to_owned(),
        id: text(package, "id").to_owned(),
        target_dir: PathBuf::from(text(metadata, "target_directory")),
        workspace: PathBuf::from(text(metadata, "workspace_root")),
    })
}

fn no_package(packages: &[Value], manifest: &Path) -> String {
    let root = manifest.parent().unwrap_or(manifest);
    let folder = |package: &Value| {
        let folder = Path::new(text(package, "manifest_path")).parent().map(Path::to_owned).unwrap_or_default();
        folder.strip_prefix(root).map(Path::to_owned).unwrap_or(folder).display().to_string()
    };
    let members: Vec<String> = packages.iter().map(folder).collect();
    format!(
        "{} is a workspace without a package of its own; name the folder of one of its members: {}",
        manifest.display(),
        if members.is_empty() { "it has none yet".to_owned() } else { members.join(", ") }
    )
}

fn no_cdylib(name: &str, manifest: &Path) -> String {
    format!(
        "the crate `{name}` does not build a component: it has to be a cdylib\n\
         Add these two lines to {}:\n    [lib]\n    crate-type = [\"cdylib\", \"rlib\"]",
        manifest.display()
    )
}

/// The text of a field, or an empty one.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The elements of a field, or none.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn metadata(packages: Value) -> Value {
        json!({ "packages": packages, "target_directory": "/w/target" })
    }

    fn member(folder: &str, kinds: &[&str]) -> Value {
        json!({ "name": "app", "id": format!("id of {folder}"), "manifest_path": format!("{folder}/Cargo.toml"),
                "targets": [{ "crate_types": ["bin"] }, { "crate_types": kinds }] })
    }

    #[track_caller]
    fn check(packages: Value, expected: Result<&str, &str>) {
        let found = find(&metadata(packages), Path::new("/w/Cargo.toml"));
        let found = found.as_ref().map(|package| package.id.as_str()).map_err(String::as_str);
        assert_eq!(found, expected);
    }

    #[test]
    fn finds_the_cdylib_of_the_folder() {
        check(json!([member("/w/a", &["cdylib"]), member("/w", &["rlib", "cdylib"])]), Ok("id of /w"));
        check(
            json!([member("/w", &["lib"])]),
            Err("the crate `app` does not build a component: it has to be a cdylib\n\
                 Add these two lines to /w/Cargo.toml:\n    [lib]\n    crate-type = [\"cdylib\", \"rlib\"]"),
        );
        check(
            json!([member("/w/apps/a", &["cdylib"]), member("/other", &["cdylib"])]),
            Err(
                "/w/Cargo.toml is a workspace without a package of its own; name the folder of one of its members: apps/a, /other",
            ),
        );
        check(
            json!([]),
            Err(
                "/w/Cargo.toml is a workspace without a package of its own; name the folder of one of its members: it has none yet",
            ),
        );
    }

    #[test]
    fn explains_folders_that_are_no_crate() {
        let error = package(&mut Command::new("cargo"), Path::new("/nowhere")).unwrap_err().to_string();
        assert_eq!(error, "/nowhere has no Cargo.toml: is it the folder of a crate?");
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = package(&mut Command::new("/nowhere/cargo"), here).unwrap_err().to_string();
        assert!(error.starts_with("`cargo` cannot be run: "), "{error}");
        let error = package(&mut Command::new("cargo"), here).unwrap_err().to_string();
        assert!(error.starts_with("the crate `tabi-toolchain` does not build a component"), "{error}");
    }
}
