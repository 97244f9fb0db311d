//! `cargo xtask <command>`: reads the command and runs it.

use std::process::ExitCode;

use xtask::{
    apps, build_times, ci, costs, dependencies, dist, encoders, fuzz, instructions, packages, peers, run, say, sizes,
    trial,
};

const USAGE: &str = "cargo xtask <command>

  test [argument…]   everything that is tested: both workspaces, with the components they need
  ci                 formats, lints, docs, feature sets, apps and the tests; a table of the times
  build              the components of all apps, in release
  sizes              the sizes of the components beside their budgets (sizes.toml)
  sizes --peers      the sizes of the same hello on other frameworks (some minutes)
  bench [option…]    the servers under load, side by side, for docs/benchmarks.md (bench --help)
  costs              what each convenience costs in a component, against tests/costs/costs.toml;
                     --bless writes it, and docs/costs.md
  instructions       what requests cost guests: instructions, calls to the host and memory, against
                     tests/instructions/instructions.toml; --bless writes it, and docs/instructions.md
  build-times        how long the smallest app takes to build, here and on other frameworks; --bless writes
                     docs/build-times.md (some minutes)
  dist [--pgo]       the server with everything linked into it, as one small file for other machines; built twice, the
                     second time with what is learned from the first at work
  dist --no-compiler [--redb]
                     the same without the compiler, for components that `tabi compile` has compiled
  encoders           what compressing in a component would cost: the table of docs/compression.md
  dependencies       versions with advisories, licences and sources of what the server is made of (deny.toml)
  faults [name…]     the server under faults and attacks, while others ask on; --bless writes docs/hardening.md
  fuzz [target|all] [seconds]
                     runs the fuzz targets, led by coverage; 60 seconds each
  packages           installs the Debian packages of programs that tests run (as root)
  toolchain-check    installs the wasm target in scratch copies of the toolchain, both ways (3 minutes)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test", rest @ ..] => ci::test(rest),
        ["ci"] => ci::all(),
        ["build"] => apps::build_all().map(|_| ()),
        ["sizes"] => sizes::print(),
        ["sizes", "--peers"] => peers::print(),
        // A workspace of its own, so that native servers share no feature with the host.
        ["bench", rest @ ..] => {
            let folder = xtask::root().join("tests/bench");
            run::run(run::cargo().current_dir(folder).args(["run", "--release", "--quiet", "--"]).args(rest))
        }
        ["costs"] => costs::print(),
        ["dist", flags @ ..] => dist::build(flags),
        ["dependencies"] => dependencies::check(),
        ["faults", rest @ ..] => {
            let faults = ["run", "--release", "--quiet", "--package", "faults", "--"];
            run::run(run::cargo().args(["build", "--release", "--package", "tabi-host"]))
                .and_then(|()| run::run(run::cargo().args(faults).args(rest)))
        }
        ["costs", "--bless"] => costs::bless(),
        ["build-times"] => build_times::print(false),
        ["build-times", "--bless"] => build_times::print(true),
        ["instructions"] => instructions::print(),
        ["instructions", "--bless"] => instructions::bless(),
        ["encoders"] => encoders::print(),
        ["fuzz"] => fuzz::all("all", "60"),
        ["fuzz", name] => fuzz::all(name, "60"),
        ["fuzz", name, seconds] => fuzz::all(name, seconds),
        ["packages"] => packages::ensure(),
        ["toolchain-check"] => trial::check(),
        ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            Ok(())
        }
        // What the trial runs with the environment of a scratch toolchain.
        ["ensure"] => tabi_toolchain::ensure_wasm_target(&mut say).map_err(run::text),
        ["component", folder, rest @ ..] => apps::build_one(folder, rest),
        _ => Err(format!("no such command\n\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
