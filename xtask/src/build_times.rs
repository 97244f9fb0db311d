//! How long the smallest app takes to build, and to build again after a change: seconds of processor time of cargo and of
//! all that it starts, so that they depend little on how many cores there are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::instructions::put;
use crate::run::{cargo, run, text};
use crate::{root, say};

/// The apps: a name in the table, the folder to copy, and whose lock file says which versions.
const APPS: [(&str, &str, &str); 5] = [
    ("tabi", "apps/hello", "apps"),
    ("tabi, `#![no_std]`", "apps/hello-no-std", "apps"),
    ("wstd", "tests/peers/wstd", "tests/peers"),
    ("wstd-axum", "tests/peers/wstd-axum", "tests/peers"),
    ("spin-sdk", "tests/peers/spin-sdk", "tests/peers"),
];

/// The release profile of the apps.
const PROFILE: &str =
    "\n[profile.release]\nopt-level = \"s\"\nlto = \"fat\"\ncodegen-units = 1\npanic = \"abort\"\nstrip = true\n";

/// Builds all of it and prints the table; `bless` writes it into `docs/build-times.md` as well.
///
/// # Errors
/// When something can't be built or written, or the system does not tell how long processes ran.
pub fn print(bless: bool) -> Result<(), String> {
    let mut lines = vec![
        "| hello | crates | `cargo build` | after a change | `cargo build --release` | after a change |".to_owned(),
        "| --- | --: | --: | --: | --: | --: |".to_owned(),
    ];
    for (name, folder, workspace) in APPS {
        let app = copy(&root().join(folder), &root().join(workspace))?;
        // What has to be downloaded is there before.
        run(at(&app).args(["fetch", "--target", tabi_toolchain::TARGET]))?;
        let mut cells = vec![crates(&app)?.to_string()];
        for profile in [&[][..], &["--release"]] {
            let (cold, again) = times(&app, profile)?;
            cells.extend([format!("{cold:.1}"), format!("{again:.1}")]);
        }
        lines.push(format!("| {name} | {} |", cells.join(" | ")));
        say(&lines.last().cloned().unwrap_or_default());
    }
    let table = lines.join("\n");
    println!("{table}");
    if bless {
        let page = root().join("docs/build-times.md");
        let page_text = fs::read_to_string(&page).map_err(text)?;
        fs::write(page, put(&page_text, "build times", &table)?).map_err(text)?;
    }
    Ok(())
}

/// Copies an app to a place of its own, a workspace by itself, as an app of somebody else's is.
fn copy(folder: &Path, workspace: &Path) -> Result<PathBuf, String> {
    let fail = |path: &Path| format!("{} can't be copied", path.display());
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let app = root().join("target/build-times").join(&name);
    fs::create_dir_all(app.join("src")).map_err(text)?;
    fs::create_dir_all(app.join(".cargo")).map_err(text)?;
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(text)?;
    fs::write(app.join("Cargo.toml"), own_manifest(&manifest, &root())).map_err(text)?;
    fs::copy(workspace.join("Cargo.lock"), app.join("Cargo.lock")).map_err(|_| fail(workspace))?;
    // The flags of the linker that the apps have.
    fs::copy(root().join("apps/.cargo/config.toml"), app.join(".cargo/config.toml")).map_err(text)?;
    for file in ["src/lib.rs", "src/main.rs"] {
        if let Ok(source) = fs::read_to_string(folder.join(file)) {
            fs::write(app.join(file), without_tests(&source)).map_err(text)?;
        }
    }
    Ok(app)
}

/// Makes a manifest of a workspace's member one that stands alone, without what its tests need.
fn own_manifest(manifest: &str, root: &Path) -> String {
    let manifest = manifest.split("\n[dev-dependencies]").next().unwrap_or_default();
    let mut own = String::new();
    for line in manifest.lines() {
        match line.split_once(".workspace") {
            Some(("edition", _)) => own.push_str("edition = \"2024\""),
            Some(("version", _)) => own.push_str("version = \"0.1.0\""),
            Some(_) => continue,
            None => {
                let framework = root.join("framework").display().to_string();
                own.push_str(&line.replace(
                    "tabi = { workspace = true,",
                    &format!("tabi = {{ path = \"{framework}\", default-features = false,"),
                ));
            }
        }
        own.push('\n');
    }
    own + PROFILE + "\n[workspace]\n"
}

fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]").next().unwrap_or_default()
}

/// Builds an app with an empty target folder, and again after one line of it has changed. Returns seconds of the processor.
fn times(app: &Path, profile: &[&str]) -> Result<(f64, f64), String> {
    let target = app.join("target");
    if target.exists() {
        fs::remove_dir_all(&target).map_err(text)?;
    }
    let mut build = at(app);
    build.args(["build", "--quiet", "--offline", "--target", tabi_toolchain::TARGET]).args(profile);
    let cold = processor_time(|| run(&mut build))?;
    let source = ["src/lib.rs", "src/main.rs"].map(|file| app.join(file)).into_iter().find(|file| file.exists());
    let source = source.ok_or("an app without a source")?;
    let before = fs::read_to_string(&source).map_err(text)?;
    let after = before.replacen("Hello", "Hi", 1);
    if after == before {
        return Err(format!("{} does not say Hello", source.display()));
    }
    fs::write(&source, after).map_err(text)?;
    let again = processor_time(|| run(&mut build));
    fs::write(&source, before).map_err(text)?;
    Ok((cold, again?))
}

/// Returns for how many seconds of the processor the children of this process ran meanwhile, and theirs.
fn processor_time(work: impl FnOnce() -> Result<(), String>) -> Result<f64, String> {
    let ticks = || children(&fs::read_to_string("/proc/self/stat").map_err(text)?).ok_or("no times".to_owned());
    let before = ticks()?;
    work()?;
    // Linux counts in hundredths of a second here, whatever the clock of the machine.
    Ok((ticks()? - before) as f64 / 100.0)
}

/// Reads the time of all children that have ended, user and system, from `/proc/self/stat` (proc(5)).
fn children(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

/// Counts the crates that are compiled, the app among them.
fn crates(app: &Path) -> Result<usize, String> {
    let name = fs::read_to_string(app.join("Cargo.toml")).map_err(text)?;
    let name = name.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
    crate::peers::crates(app, &name)
}

fn at(app: &Path) -> Command {
    let mut command = cargo();
    command.current_dir(app).env_remove("CARGO_TARGET_DIR");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_stands_alone() {
        let manifest = "[package]\nname = \"hello\"\nversion.workspace = true\nedition.workspace = true\n\
                        license.workspace = true\n\n[dependencies]\ntabi = { workspace = true, features = [\"std\"] }\n\
                        \n[dev-dependencies]\ntabi-corpus.workspace = true\n";
        let own = own_manifest(manifest, Path::new("/r"));
        let expected = "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
                        tabi = { path = \"/r/framework\", default-features = false, features = [\"std\"] }\n";
        assert_eq!(own, format!("{expected}{PROFILE}\n[workspace]\n"));
    }

    #[test]
    fn reads_the_time_of_children() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 100 200 0 0 11 12 130 40 20 0 1 0 5 6 7";
        assert_eq!(children(stat), Some(170));
        assert_eq!(children("7"), None);
    }
}
