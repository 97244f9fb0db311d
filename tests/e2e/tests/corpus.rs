//! The corpus against components under real servers.

use e2e::{Server, apps, component, component_p3, corpus_of};
use std::path::{Path, PathBuf};

fn run(lane: &str, component: fn(&str) -> PathBuf, start: impl Fn(&Path) -> Server) {
    for app in apps() {
        let Some(corpus) = corpus_of(&app) else { continue };
        let server = start(&component(&app));
        tabi_corpus::check(corpus, lane, |request| tabi_corpus::exchange(&server.address, request));
    }
}

#[test]
fn tabi() {
    match std::env::var("TABI_SERVER") {
        Ok(line) => run("other", component, |component| Server::custom(&line, component)),
        Err(_) => run("tabi", component, Server::tabi),
    }
}

#[test]
fn wasmtime() {
    if std::env::var_os("TABI_SERVER").is_none() {
        run("wasmtime", component, Server::wasmtime);
    }
}

/// The same apps as components for WASI 0.3.
#[test]
fn tabi_p3() {
    if std::env::var_os("TABI_SERVER").is_none() {
        run("tabi-p3", component_p3, Server::tabi);
    }
}

#[test]
fn wasmtime_p3() {
    if std::env::var_os("TABI_SERVER").is_none() {
        run("wasmtime-p3", component_p3, Server::wasmtime);
    }
}

/// The variable that points the corpus at another server, tried on one that is here.
#[test]
fn any_server() {
    let line = format!("{} serve --addr {{address}} {{component}}", e2e::release("wasmtime-serve").display());
    let server = Server::custom(&line, &component("hello"));
    tabi_corpus::check("hello", "other", |request| tabi_corpus::exchange(&server.address, request));
}

/// A folder of `apps/` that no exchange is written for would never run as a component.
#[test]
fn each_app_has_exchanges() {
    for app in apps() {
        assert!(corpus_of(&app).is_some(), "tests/corpus/cases has no folder for apps/{app}");
    }
}
