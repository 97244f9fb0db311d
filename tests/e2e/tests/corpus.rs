//! The corpus against components under real servers.

use e2e::{Server, apps, component, corpus_of};
use std::path::Path;

fn run(lane: &str, start: impl Fn(&Path) -> Server) {
    for app in apps() {
        let Some(corpus) = corpus_of(&app) else { continue };
        let server = start(&component(&app));
        tabi_corpus::check(corpus, lane, |request| tabi_corpus::exchange(&server.address, request));
    }
}

#[test]
fn tabi() {
    match std::env::var("TABI_SERVER") {
        Ok(line) => run("other", |component| Server::custom(&line, component)),
        Err(_) => run("tabi", Server::tabi),
    }
}

#[test]
fn wasmtime() {
    if std::env::var_os("TABI_SERVER").is_none() {
        run("wasmtime", Server::wasmtime);
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
