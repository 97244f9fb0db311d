//! What a component may do besides answering its requests: nothing, unless the operator grants it.

mod folder;
mod value;

use crate::Limits;
use crate::StartError;
use crate::bindings::wasi::config::store;
use crate::bindings::wasi::logging::logging;
use crate::keyvalue::{self, Keyvalue};
use crate::outbound::Policy;
use crate::store::State;
use std::collections::BTreeMap;
use std::sync::Arc;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::filesystem::WasiFilesystemCtx;

/// What the operator grants to one component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Variables of the environment: `NAME=value`, or `NAME` for the value that the host itself has.
    pub env: Vec<String>,
    /// Values of `wasi:config`: `KEY=value`.
    pub config: Vec<String>,
    /// Folders: `FOLDER`, `FOLDER:NAME` or `FOLDER:NAME:rw`.
    pub dirs: Vec<String>,
    /// Where it may send requests of its own: `https://api.example.org`, `https://*.example.org`, or `*`.
    pub outbound: Vec<String>,
    /// Networks that it may send requests to although they are not public: `10.0.0.0/8`, or `*`.
    pub outbound_private: Vec<String>,
    /// Files with certificates of authorities that it trusts besides the public ones.
    pub outbound_ca: Vec<String>,
    /// Key-value storage: `file:PATH`, `memory:` or `redis://HOST:PORT/NUMBER`, or where that stands.
    pub keyvalue: String,
    /// Names of buckets in it, beside `default`.
    pub keyvalue_buckets: Vec<String>,
}

/// Grants that have been checked and opened, shared by all instances of one component.
pub(crate) struct Capabilities {
    /// Names and values of the environment.
    pub(crate) env: Vec<(String, String)>,
    /// Keys and values of `wasi:config`.
    config: BTreeMap<String, String>,
    /// The open folders; `None` where there are none, which is no work for an instance.
    pub(crate) folders: Option<WasiFilesystemCtx>,
    /// Where requests may be sent.
    pub(crate) outbound: Arc<Policy>,
    pub(crate) keyvalue: Option<Keyvalue>,
}

impl Capabilities {
    /// Checks what is granted and opens what has to be open, or takes it over from `old`.
    ///
    /// # Errors
    /// When a grant means nothing or can't be had, with its key.
    pub(crate) fn open(grants: &Grants, limits: &Limits, old: Option<&Self>) -> Result<Self, StartError> {
        let fail = |key: &str, why: String| StartError::new(format!("grants.{key}: {why}"));
        let host = |name: &str| std::env::var(name).ok();
        let env = grants.env.iter().map(|entry| variable(entry, host)).collect::<Result<_, _>>();
        let config = grants.config.iter().map(|entry| value::pair(entry, host)).collect::<Result<_, _>>();
        let folders = (!grants.dirs.is_empty()).then(|| folder::open(&grants.dirs)).transpose();
        let keyvalue = value::text(&grants.keyvalue, host).and_then(|place| {
            let old = old.and_then(|old| old.keyvalue.as_ref());
            let open = || Keyvalue::open(&place, &grants.keyvalue_buckets, limits, old);
            (!place.is_empty()).then(open).transpose()
        });
        Ok(Self {
            env: env.map_err(|why| fail("env", why))?,
            config: config.map_err(|why| fail("config", why))?,
            folders: folders.map_err(|why| fail("dirs", why))?,
            outbound: Arc::new(Policy::open(grants)?),
            keyvalue: keyvalue.map_err(|why| fail("keyvalue", why))?,
        })
    }
}

/// Reads a variable of the environment; a name alone has the value that `host` has for it.
fn variable(entry: &str, host: impl Fn(&str) -> Option<String>) -> Result<(String, String), String> {
    if entry.contains('=') {
        return value::pair(entry, host);
    }
    let value = host(entry).ok_or_else(|| format!("{entry:?} is not in the environment of the host"))?;
    Ok((entry.to_owned(), value))
}

/// Offers the interfaces of `host/wit`, whatever is granted: without a grant there is nothing behind them.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    logging::add_to_linker::<State, HasSelf<State>>(linker, |state| state)?;
    keyvalue::add_to_linker(linker)
}

impl store::Host for State {
    fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, store::Error>> {
        Ok(Ok(self.capabilities.config.get(&key).cloned()))
    }

    fn get_all(&mut self) -> wasmtime::Result<Result<Vec<(String, String)>, store::Error>> {
        Ok(Ok(self.capabilities.config.clone().into_iter().collect()))
    }
}

impl logging::Host for State {
    fn log(&mut self, level: logging::Level, context: String, message: String) -> wasmtime::Result<()> {
        let level = match level {
            logging::Level::Trace => "trace",
            logging::Level::Debug => "debug",
            logging::Level::Info => "info",
            logging::Level::Warn => "warn",
            logging::Level::Error => "error",
            logging::Level::Critical => "critical",
        };
        self.log.message(level, &context, &message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, wanted: Result<(&str, &str), &str>) {
        let host = |name: &str| (name == "HOME").then(|| "/home".to_owned());
        match (variable(entry, host), wanted) {
            (Ok((name, value)), Ok(wanted)) => assert_eq!((name.as_str(), value.as_str()), wanted),
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (got, _) => panic!("{entry:?}: {got:?}"),
        }
    }

    #[test]
    fn variables_are_named_one_by_one() {
        check("A=1", Ok(("A", "1")));
        check("HOME", Ok(("HOME", "/home")));
        check("A=$HOME", Ok(("A", "/home")));
        check("NOBODY", Err("\"NOBODY\" is not in the environment of the host"));
        check("=1", Err("is no name"));
        check("A=\0", Err("has a zero byte"));
    }

    #[test]
    fn a_mistake_is_told_with_its_key() {
        let list = |entry: &str| vec![entry.to_owned()];
        for (grants, part) in [
            (Grants { env: list("TABI_NOBODY"), ..Grants::default() }, "grants.env: \"TABI_NOBODY\""),
            (Grants { config: list("key"), ..Grants::default() }, "grants.config: \"key\" has no value"),
            (Grants { dirs: list("/no/such"), ..Grants::default() }, "grants.dirs: \"/no/such\""),
            (Grants { keyvalue: "disk".to_owned(), ..Grants::default() }, "grants.keyvalue: \"disk\" is no storage"),
            (Grants { keyvalue: "@/no/such".to_owned(), ..Grants::default() }, "grants.keyvalue: it wants the file"),
        ] {
            let error = Capabilities::open(&grants, &Limits::default(), None).map(|_| ()).expect_err("refused");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
