//! What has to be built before anything can be measured. What can't be built is named, and left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::java::Java;
use crate::options::Options;

/// The component target.
const WASM: &str = "wasm32-wasip2";

/// What there is to start.
#[derive(Default)]
pub struct Builds {
    components: BTreeMap<String, PathBuf>,
    java: Option<Java>,
    /// What is missing, and why.
    pub skipped: Vec<String>,
}

/// Returns the folder of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// Returns the folder for what is built here.
#[must_use]
pub fn target() -> PathBuf {
    root().join("tests/bench/target")
}

impl Builds {
    /// Builds everything, or finds what an earlier run has built.
    ///
    /// # Errors
    /// When one of this repository's own parts can't be built.
    pub fn prepare(options: &Options) -> Result<Self, String> {
        let mut all = Self::default();
        if options.builds {
            hosts(options.release)?;
            run(cargo("tests/bench").args(["build", "--release", "--package", "native"]))?;
            own_components()?;
            for (name, why) in peers() {
                all.skipped.push(format!("{name}: {why}"));
            }
        }
        let folder = target().join("components");
        for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten() {
            let path = entry.path();
            if let Some(name) = path.file_stem() {
                all.components.insert(name.to_string_lossy().into_owned(), path);
            }
        }
        match Java::prepare(options.builds && options.fetches) {
            Ok(java) => {
                all.skipped.extend(java.no_jetty.as_ref().map(|why| format!("Jetty 9.4: {why}")));
                if java.version < 21 {
                    let version = java.version;
                    all.skipped.push(format!("virtual threads: they came with JDK 21, and here is {version}"));
                }
                all.java = Some(java);
            }
            Err(why) => all.skipped.push(format!("JDK HttpServer and Jetty 9.4: {why}")),
        }
        Ok(all)
    }

    /// Returns the file of a component, if it could be built.
    pub fn component(&self, name: &str) -> Option<PathBuf> {
        self.components.get(name).cloned()
    }

    /// Returns what there is of Java.
    pub fn java(&self) -> Option<&Java> {
        self.java.as_ref()
    }
}

/// The hosts: as operators get them, with everything in view of the optimizer, as the native servers are; or as the tests of
/// the repository have them, which are there sooner.
fn hosts(release: bool) -> Result<(), String> {
    let target = host_target();
    let (tabi, wasmtime) = if release {
        // The whole workspace, so that its dependencies are those that are compiled already.
        run(cargo("").args(["build", "--release", "--workspace"]))?;
        (target.join("release/tabi"), target.join("release"))
    } else {
        run(cargo("").args(["xtask", "dist", "--pgo"]))?;
        run(cargo("").args(["build", "--profile", "dist", "--package", "wasmtime-serve"]))?;
        (distributed("tabi-pgo").ok_or("`cargo xtask dist --pgo` has left no program")?, target.join("dist"))
    };
    let programs = programs();
    fs::create_dir_all(&programs).map_err(|error| error.to_string())?;
    for (from, name) in [(tabi, "tabi"), (wasmtime.join("wasmtime-serve"), "wasmtime-serve")] {
        fs::copy(&from, programs.join(name)).map_err(|error| format!("{}: {error}", from.display()))?;
    }
    Ok(())
}

/// Returns the folder that cargo builds the hosts in.
fn host_target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Returns the folder of the hosts that are measured.
pub fn programs() -> PathBuf {
    target().join("programs")
}

/// Returns what `cargo xtask dist` has left under this name, if it has.
pub fn distributed(name: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(host_target()).ok()?;
    let files = folders.flatten().map(|folder| folder.path().join("dist/forms").join(name));
    files.into_iter().find(|file| file.is_file())
}

/// The apps, and hellos on raw bindings.
fn own_components() -> Result<(), String> {
    let p3 = ["--no-default-features", "--features", "p3"];
    for (name, app, flags) in [
        ("hello-p3", "hello", &p3[..]),
        ("hello", "hello", &[]),
        ("hello-no-std", "hello-no-std", &[]),
        ("bench-p3", "bench", &p3),
    ] {
        app_component(name, app, flags, 0)?;
    }
    for routes in crate::tables::ROUTES {
        app_component(&format!("bench-{routes}"), "bench", &[], routes)?;
    }
    // The defaults come last, so that what lies in the target folder of the apps is what belongs there.
    app_component("bench", "bench", &[], 0)?;
    let raw = ["build", "--profile", "component", "--target", WASM, "--package", "raw", "--package", "raw3"];
    run(cargo("tests/bench").args(raw))?;
    let built = target().join(WASM).join("component");
    keep(&built.join("raw.wasm"), "raw")?;
    keep(&built.join("raw3.wasm"), "raw-p3")?;
    // The same with the linker's options of an app made from the template.
    let small = target().join("small");
    let flags = app_flags()?;
    run(cargo("tests/bench").args(raw).arg("--target-dir").arg(&small).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
    keep(&small.join(WASM).join("component/raw.wasm"), "raw-small")?;
    keep(&small.join(WASM).join("component/raw3.wasm"), "raw-small-p3")
}

/// Builds an app as `tabi build` does.
fn app_component(name: &str, app: &str, flags: &[&str], routes: usize) -> Result<(), String> {
    let mut command = cargo("");
    command.args(["xtask", "component", &format!("apps/{app}"), "--release"]).args(flags);
    if routes > 0 {
        command.env("TABI_BENCH_ROUTES", routes.to_string());
    }
    let file = output(&mut command)?;
    keep(Path::new(file.trim()), name)
}

/// The options that the apps are compiled with, as cargo's variable has them.
fn app_flags() -> Result<String, String> {
    let file = root().join("apps/.cargo/config.toml");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let list = text.split_once("rustflags = [").and_then(|(_, rest)| rest.split_once(']'));
    let (list, _) = list.ok_or("apps/.cargo/config.toml has no rustflags")?;
    Ok(list.split('"').skip(1).step_by(2).collect::<Vec<_>>().join("\x1f"))
}

/// Builds what other frameworks make; gives the names of those that can't be built, with the reason.
fn peers() -> Vec<(&'static str, String)> {
    let peers = root().join("tests/peers/target").join(WASM).join("release");
    let own = target().join(WASM).join("component");
    let mut failed = Vec::new();
    for (name, folder, profile, package, file) in [
        ("wstd", "tests/peers", "release", "peer-wstd", peers.join("peer-wstd.wasm")),
        ("wstd-axum", "tests/peers", "release", "peer-wstd-axum", peers.join("peer-wstd-axum.wasm")),
        ("spin-sdk", "tests/peers", "release", "peer-spin-sdk", peers.join("peer_spin_sdk.wasm")),
        ("bench-wstd-axum", "tests/bench", "component", "workloads-wstd-axum", own.join("workloads-wstd-axum.wasm")),
        ("bench-spin-sdk", "tests/bench", "component", "workloads-spin-sdk", own.join("workloads_spin_sdk.wasm")),
    ] {
        let build = ["build", "--profile", profile, "--target", WASM, "--package", package];
        if let Err(why) = run(cargo(folder).args(build)).and_then(|()| keep(&file, name)) {
            failed.push((name, why));
        }
    }
    failed
}

/// Copies a component to where an earlier run is looked for.
fn keep(file: &Path, name: &str) -> Result<(), String> {
    let folder = target().join("components");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    fs::copy(file, folder.join(name).with_extension("wasm"))
        .map(|_| ())
        .map_err(|error| format!("{}: {error}", file.display()))
}

fn cargo(folder: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root().join(folder));
    command
}

/// Runs a command that builds something.
///
/// # Errors
/// When it can't be started, or fails.
pub fn run(command: &mut Command) -> Result<(), String> {
    output(command.stderr(Stdio::inherit())).map(|_| ())
}

fn output(command: &mut Command) -> Result<String, String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let shown = words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    eprintln!("$ {shown}");
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{shown}` ended with {}", output.status))
    }
}
