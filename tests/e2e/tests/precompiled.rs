//! The corpus against components that were compiled before.
//!
//! With `TABI_NO_COMPILER`, the path of the program that `cargo xtask dist --no-compiler` builds, that one serves them.

use e2e::{Server, apps, component, component_p3, corpus_of, release};
use std::path::{Path, PathBuf};
use std::process::Command;

fn compiled(component: &Path) -> PathBuf {
    let file = component.with_extension("cwasm");
    let output =
        Command::new(release("tabi")).arg("compile").arg(component).arg("--output").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

fn run(lane: &str, component: fn(&str) -> PathBuf) {
    let program = std::env::var_os("TABI_NO_COMPILER").map_or_else(|| release("tabi"), PathBuf::from);
    for app in apps() {
        let Some(corpus) = corpus_of(&app) else { continue };
        let mut command = Command::new(&program);
        command.arg("serve").arg(compiled(&component(&app))).args(["--addr", "127.0.0.1:0"]);
        // Nothing is left to compile, so it does without a place for what is compiled.
        command.env_remove("XDG_CACHE_HOME").env_remove("HOME");
        let server = Server::start(command, None);
        tabi_corpus::check(corpus, lane, |request| tabi_corpus::exchange(&server.address, request));
    }
}

#[test]
fn p2() {
    run("tabi", component);
}

#[test]
fn p3() {
    run("tabi-p3", component_p3);
}
