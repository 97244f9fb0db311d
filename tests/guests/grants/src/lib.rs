//! A service that uses what a host may grant, and tells what came of it: each path is one use, and the query is what it
//! is used on.

mod keys;
#[cfg(feature = "p2")]
mod p2;
#[cfg(feature = "p3")]
mod p3;

mod bindings {
    wit_bindgen::generate!({ path: "../../../host/wit", world: "tabi:host/grants", generate_all });
}

use bindings::wasi::config::store as config;
use bindings::wasi::logging::logging::{self, Level};
use std::fs;

/// Does what the target of the request says.
fn answer(target: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (name, value) = query.split_once('=').unwrap_or((query, ""));
    match path {
        "/env" => lines(std::env::vars().map(|(name, value)| format!("{name}={value}"))),
        "/config" => told(config::get(name).map(|value| value.unwrap_or_else(|| "none".to_owned()))),
        "/config-all" => {
            told(config::get_all().map(|all| lines(all.into_iter().map(|(key, value)| format!("{key}={value}")))))
        }
        "/log" => {
            logging::log(Level::Warn, name, value);
            "logged".to_owned()
        }
        "/read" => told(fs::read_to_string(name).map_err(|error| error.kind())),
        "/write" => told(fs::write(name, value).map(|()| "written".to_owned()).map_err(|error| error.kind())),
        "/remove" => told(fs::remove_file(name).map(|()| "removed".to_owned()).map_err(|error| error.kind())),
        "/folder" => told(fs::create_dir(name).map(|()| "made".to_owned()).map_err(|error| error.kind())),
        "/rename" => told(fs::rename(name, value).map(|()| "renamed".to_owned()).map_err(|error| error.kind())),
        "/list" => match fs::read_dir(name) {
            Ok(entries) => lines(entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned())),
            Err(error) => format!("{:?}", error.kind()),
        },
        _ if path.starts_with("/keys/") => told(keys::answer(path, name, value)),
        _ => "no such use".to_owned(),
    }
}

fn told<E: std::fmt::Debug>(result: Result<String, E>) -> String {
    result.unwrap_or_else(|error| format!("{error:?}"))
}

fn lines(entries: impl Iterator<Item = String>) -> String {
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries.join("\n")
}
