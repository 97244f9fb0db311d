//! What CI checks, and the test command that it shares with the README.

use crate::run::{Steps, cargo, run, text};
use crate::{apps, costs, dependencies, fuzz, instructions, packages, root, sizes};

/// The sets of the framework's features that have to build, natively and for wasm: a list, since
/// all combinations of them would be thousands.
const FEATURES: [&str; 11] = [
    "",
    "std",
    "runtime",
    "p2,runtime",
    "p2,runtime,json",
    "p2,std,json",
    "p2,std,environment",
    "p2,runtime,panic-messages",
    "p3,runtime,json",
    "p3,std,json",
    "p2,p3,std,runtime,json,panic-messages,environment",
];

/// Builds the components and runs the tests of both workspaces.
///
/// The arguments go to `cargo test`. Those that name a package concern the root workspace alone.
///
/// # Errors
/// When something does not build, or a test fails.
pub fn test(arguments: &[&str]) -> Result<(), String> {
    tabi_toolchain::ensure_wasm_target(&mut crate::say).map_err(text)?;
    apps::build_all()?;
    let release = ["test", "--release"];
    if arguments.iter().any(|word| *word == "-p" || word.starts_with("--package")) {
        return run(cargo().args(release).args(arguments));
    }
    // The programs too: a test of one package is not given those of another.
    run(cargo().args(["build", "--release", "--workspace"]))?;
    run(cargo().args(release).arg("--workspace").args(arguments))?;
    run(cargo().current_dir(root().join("apps")).args(["test", "--workspace"]).args(arguments))
}

/// Runs every check, each of them even when one before has failed.
///
/// # Errors
/// When one of them failed.
pub fn all() -> Result<(), String> {
    let mut steps = Steps::default();
    steps.step("wasm target", || tabi_toolchain::ensure_wasm_target(&mut crate::say).map_err(text));
    steps.step("packages", packages::ensure);
    steps.step("format", || both(&["fmt", "--all", "--check"], &[]));
    steps.step("tidy", || run(cargo().args(["test", "--package", "xtask"])));
    steps.step("dependencies", dependencies::check);
    steps.step("feature sets", || FEATURES.iter().try_for_each(|set| features(set)));
    steps.step("lints", lints);
    steps.step("docs", docs);
    steps.step("components", || apps::build_all().map(|_| ()));
    steps.step("sizes", sizes::print);
    steps.step("costs", costs::print);
    steps.step("fuzz targets", fuzz::check);
    steps.step("tests (cargo xtask test)", || run(cargo().args(["xtask", "test"])));
    // After the tests, which have compiled wasmtime.
    steps.step("instructions", instructions::print);
    steps.step("bench", bench);
    steps.finish()
}

/// Runs a command in the root workspace, where the second arguments go too, and in that of the apps.
fn both(arguments: &[&str], root_only: &[&str]) -> Result<(), String> {
    run(cargo().args(arguments).args(root_only))?;
    run(cargo().current_dir(root().join("apps")).args(arguments))
}

fn lints() -> Result<(), String> {
    let strict = ["--", "-D", "warnings"];
    // The root workspace is built with `--release` throughout, so that its dependencies are
    // compiled once; that costs the most time of all.
    run(cargo().args(["clippy", "--release", "--workspace", "--all-targets"]).args(strict))?;
    let apps = root().join("apps");
    run(cargo().current_dir(&apps).args(["clippy", "--workspace", "--all-targets"]).args(strict))?;
    let wasm = ["clippy", "--release", "--target", tabi_toolchain::TARGET];
    run(cargo().current_dir(&apps).args(wasm).arg("--workspace").args(strict))
}

fn docs() -> Result<(), String> {
    let doc = ["doc", "--no-deps", "--workspace"];
    run(cargo().args(doc).arg("--release").env("RUSTDOCFLAGS", "-D warnings"))?;
    let apps = root().join("apps");
    run(cargo().current_dir(apps).args(doc).env("RUSTDOCFLAGS", "-D warnings"))
}

/// What measures is code as well, in a workspace of its own; nothing is measured here.
fn bench() -> Result<(), String> {
    let commands: [&[&str]; 3] = [
        &["fmt", "--all", "--check"],
        &["clippy", "--release", "--package", "bench", "--package", "native", "--all-targets", "--", "-D", "warnings"],
        &["test", "--release", "--package", "bench"],
    ];
    commands.iter().try_for_each(|arguments| run(cargo().current_dir(root().join("tests/bench")).args(*arguments)))
}

/// Without `std` there are no native tests, and without an export no requests: what such a set does
/// not use is dead code, but it has to compile.
fn features(set: &str) -> Result<(), String> {
    let has = |name| set.split(',').any(|feature| feature == name);
    let wasm = ["--target", tabi_toolchain::TARGET];
    for (target, is_whole) in [(&[][..], has("std")), (&wasm, has("p2") || has("p3"))] {
        let package = ["--release", "--package", "tabi", "--no-default-features", "--features", set];
        let (check, strict): (_, &[&str]) =
            if is_whole { ("clippy", &["--", "-D", "warnings"]) } else { ("check", &[]) };
        run(cargo().arg(check).args(package).args(target).args(strict))?;
    }
    Ok(())
}
