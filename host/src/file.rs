//! `tabi.toml`: read, checked and laid over the defaults.

use crate::{Config, StartError, keys};
use std::path::Path;
use toml::{Table, Value};

/// The modes whose tables lie over the rest of the file.
pub const MODES: [&str; 2] = ["dev", "prod"];

/// Lays the file at `path` over `config`, and over that its table for `mode`.
///
/// # Errors
/// When it can't be read, is no TOML, or has a key or value that means nothing; with the place.
pub fn apply(config: &mut Config, path: &Path, mode: &str) -> Result<(), StartError> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| StartError::new(format!("{name} can't be read: {error}")))?;
    apply_text(config, &text, mode).map_err(|why| StartError::new(format!("{name}: {why}")))
}

fn apply_text(config: &mut Config, text: &str, mode: &str) -> Result<(), String> {
    let table: Table = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        format!("line {line}: {}", error.message().replace('\n', " "))
    })?;
    // Both modes are checked, so that a mistake in one does not wait for its day.
    for other in MODES.iter().filter(|name| **name != mode) {
        if let Some(overlay) = table.get(*other) {
            let mut copy = config.clone();
            apply_tables(&mut copy, other, overlay)?;
        }
    }
    let base: Table = table
        .iter()
        .filter(|(name, _)| !MODES.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    apply_tables(config, "", &Value::Table(base))?;
    match table.get(mode) {
        Some(overlay) => apply_tables(config, mode, overlay),
        None => Ok(()),
    }
}

fn apply_tables(config: &mut Config, inside: &str, tables: &Value) -> Result<(), String> {
    let at = |name: &str| if inside.is_empty() { name.to_owned() } else { format!("{inside}.{name}") };
    let Value::Table(tables) = tables else {
        return Err(format!("{inside} must be a table, such as [{inside}.limits]"));
    };
    // Entries build upon the keys of the host, so they come after them.
    let (lists, tables): (Vec<_>, Vec<_>) =
        tables.iter().partition(|(name, _)| keys::entries::LISTS.contains(&name.as_str()));
    for (name, value) in tables {
        let Value::Table(values) = value else {
            keys::find(name)?;
            return Err(format!("{} must be in a table", at(name)));
        };
        for (key, value) in values {
            let full = format!("{name}.{key}");
            let fail = |why| format!("{}: {why}", at(&full));
            let value = &pairs(&full, value);
            set(config, &full, &bare(value).map_err(fail)?).map_err(fail)?;
        }
    }
    for (name, value) in lists {
        keys::entries::read(config, name, value).map_err(|why| if inside.is_empty() { why } else { at(&why) })?;
    }
    Ok(())
}

/// Sets one key; `text` is the value without quotes.
///
/// # Errors
/// When the key is unknown or the value means nothing.
pub fn set(config: &mut Config, key: &str, text: &str) -> Result<(), String> {
    match key {
        "server.host" => {
            config.addr.set_ip(parse_host(text)?);
            Ok(())
        }
        "server.port" => {
            config.addr.set_port(parse_port(text)?);
            Ok(())
        }
        _ => (keys::find(key)?.set)(config, text),
    }
}

/// Reads an address without its port.
///
/// # Errors
/// When it is none.
pub fn parse_host(host: &str) -> Result<std::net::IpAddr, String> {
    if host == "localhost" {
        return Ok([127, 0, 0, 1].into());
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse().map_err(|_| format!("{host:?} is no IP address and not localhost"))
}

/// Reads a port.
///
/// # Errors
/// When it is none.
pub fn parse_port(port: &str) -> Result<u16, String> {
    port.parse().map_err(|_| format!("{port:?} is no port; ports go from 0 to 65535"))
}

/// Makes of the tables `[grants.env]` and `[grants.config]` the lists `NAME=value` that they stand for.
pub(crate) fn pairs(key: &str, value: &Value) -> Value {
    match value {
        Value::Table(table) if matches!(key, "grants.env" | "grants.config") => {
            let pair = |(name, value): (&String, &Value)| match bare(value) {
                Ok(value) => Value::String(format!("{name}={value}")),
                Err(_) => value.clone(),
            };
            Value::Array(table.iter().map(pair).collect())
        }
        other => other.clone(),
    }
}

/// The value as [`set`] takes it.
///
/// # Errors
/// When it is of a kind that no key has.
pub(crate) fn bare(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(yes) => Ok(yes.to_string()),
        // A line for each entry, so that entries may have commas in them.
        Value::Array(entries) => {
            let entries = entries.iter().map(|entry| match bare(entry)? {
                text if text.contains('\n') => Err("a value with several lines; put it into a file".to_owned()),
                text => Ok(text + "\n"),
            });
            entries.collect::<Result<String, String>>()
        }
        other => Err(format!("a {} is no value here", other.type_str())),
    }
}

/// Writes the whole configuration as a file that would make it.
#[must_use]
pub fn print(config: &Config) -> String {
    let mut text = format!(
        "[server]\n# The address to listen on.\nhost = \"{}\"\n# The port to listen on; 0 takes a free one.\nport = {}\n",
        config.addr.ip(),
        config.addr.port()
    );
    let mut table = "server";
    for key in keys::KEYS {
        let (in_table, name) = key.name.split_once('.').unwrap_or(("", key.name));
        if in_table != table {
            table = in_table;
            text.push_str(&format!("\n[{table}]\n"));
        }
        let outcome = if key.outcome.is_empty() { String::new() } else { format!(" ({})", key.outcome) };
        text.push_str(&format!("# {}{outcome}\n{name} = {}\n", key.doc, (key.get)(config)));
    }
    keys::entries::print(config, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AppEntry, FolderEntry, RedirectEntry};

    #[track_caller]
    fn check(text: &str, mode: &str, key: &str, wanted: Result<&str, &str>) {
        let mut config = Config::default();
        match (apply_text(&mut config, text, mode), wanted) {
            (Ok(()), Ok(value)) => {
                let got = keys::find(key).map(|key| (key.get)(&config));
                assert_eq!(got, Ok(value.to_owned()), "{text}");
            }
            (Err(why), Err(part)) => assert!(why.contains(part) && !why.contains('\n'), "{text}: {why}"),
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn files_lie_over_defaults_and_modes_over_files() {
        let memory = "limits.memory";
        check("", "prod", memory, Ok("\"128MiB\""));
        check("[limits]\nmemory = \"1GiB\"", "prod", memory, Ok("\"1GiB\""));
        check("[limits]\nmemory = 1024", "prod", memory, Ok("\"1KiB\""));
        let both = "[limits]\nmemory = \"1GiB\"\n[dev.limits]\nmemory = \"2GiB\"\n";
        check(both, "dev", memory, Ok("\"2GiB\""));
        check(both, "prod", memory, Ok("\"1GiB\""));
        let env = "grants.env";
        check("[grants]\nenv = [\"A=1,2\", \"B\"]", "prod", env, Ok("[\"A=1,2\", \"B\"]"));
        check("[grants]\nenv = \"A=1, B\"", "prod", env, Ok("[\"A=1\", \"B\"]"));
        check("[grants]\nenv = []", "prod", env, Ok("[]"));
        let config = "grants.config";
        check("[grants.config]\na = \"1,2\"\nb = 3", "prod", config, Ok("[\"a=1,2\", \"b=3\"]"));
        check("[grants]\nconfig = { a = true }", "prod", config, Ok("[\"a=true\"]"));
        check("[grants]\nconfig = [\"a=@/run/a\"]", "prod", config, Ok("[\"a=@/run/a\"]"));
        let dev = "[grants.config]\na = 1\n[dev.grants.config]\nb = 2\n";
        check(dev, "prod", config, Ok("[\"a=1\"]"));
        check(dev, "dev", config, Ok("[\"b=2\"]"));
        check("[server]\naccess_log = \"json\"", "prod", "server.access_log", Ok("\"json\""));
    }

    #[test]
    fn lists_of_a_mode_take_the_place_of_those_of_the_file() {
        let file = "[limits]\ncpu_time = \"1s\"\n[[apps]]\npath = \"a\"\n[[apps]]\npath = \"b\"\n[apps.limits]\n\
                    memory = \"1MiB\"\n[[dev.apps]]\npath = \"c\"\nhosts = [\"localhost\"]\n";
        for (mode, wanted) in [("prod", &[("a", 128, 0), ("b", 1, 0)][..]), ("dev", &[("c", 128, 1)])] {
            let mut config = Config::default();
            assert_eq!(apply_text(&mut config, file, mode), Ok(()));
            let got: Vec<_> = config
                .site
                .apps
                .iter()
                .map(|app| {
                    let own = app.config(&config).expect("checked").limits;
                    assert_eq!(own.cpu_time.as_secs(), 1);
                    (app.name(), own.memory >> 20, app.hosts.len())
                })
                .collect();
            let got: Vec<_> = got.iter().map(|(name, memory, hosts)| (name.as_str(), *memory, *hosts)).collect();
            assert_eq!(got, wanted, "{mode}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let err = |text, part| check(text, "prod", "", Err(part));
        err("[limits]\nmemry = 1", "limits.memry: unknown key \"limits.memry\"; did you mean \"limits.memory\"");
        err("[dev.limits]\nmemry = 1", "dev.limits.memry");
        err("[limits]\nmemory = \"1XB\"", "limits.memory: \"1XB\" is no size");
        err("[limits]\nmemory = 1.5", "a float is no value here");
        err("[limits]\nheader_timeout = 10", "\"10\" is no time");
        err("[limits]\nrequests = 0", "whole number above 0");
        err("[grants]\nenv = [[1.5]]", "a float is no value here");
        err("[grants.config]\na = 1.5", "a float is no value here");
        err("[grants.config]\na = \"1\\n2\"", "put it into a file");
        err("[grants.dirs]\na = 1", "a table is no value here");
        err("[limits]\nrequests = -1", "whole number above 0");
        err("[server]\nport = 70000", "no port");
        err("[server]\nhost = \"nowhere\"", "no IP address");
        err("port = 1", "unknown key \"port\"");
        err("[limits]\n\nmemory =", "line 3");
        err("dev = 1", "dev must be a table");
        err("apps = 1", "apps must be a list of tables, each with [[apps]] above it");
        err("[[aps]]\npath = \"a\"", "unknown key \"aps\"; did you mean \"apps\"?");
        err("[static]\npath = \"a\"", "with [[static]] above it");
        err("[[static]]\npath = \"a\"\nindx = \"\"", "static number 1: unknown key \"indx\"; did you mean \"index\"?");
        err("[[static]]\npath = \"a\"\nindex = \"\\n\"", "control characters");
        err("[[apps]]\nname = \"a\"", "apps number 1: path is missing");
        err("[[apps]]\npath = \"\"", "apps number 1: path: it is empty");
        err(
            "[[apps]]\npath = \"a\"\n[[apps]]\npth = \"b\"",
            "apps number 2: unknown key \"pth\"; did you mean \"path\"?",
        );
        err("[[apps]]\npath = \"a\"\nstrip_prefix = \"yes\"", "strip_prefix: \"yes\" is neither on nor off");
        err("[[apps]]\npath = \"a\"\n[apps.limits]\nmemry = 1", "did you mean \"limits.memory\"");
        err("[[apps]]\npath = \"a\"\n[apps.limits]\nmemory = \"1XB\"", "limits.memory: \"1XB\" is no size");
        err(
            "[[apps]]\npath = \"a\"\n[apps.limits]\nrequests = 1",
            "limits.requests is of the whole host; write it in [limits]",
        );
        err("[[apps]]\npath = \"a\"\n[apps.server]\nthreads = 1", "server.threads is of the whole host");
        err("[[redirects]]\nfrom = \"/a\"", "redirects number 1: to is missing");
        err("[[redirects]]\nfrom = \"/a\"\nto = \"/b\"\nstatus = 0", "status: \"0\" is no count");
        err("[[dev.apps]]\nname = \"a\"", "dev.apps number 1: path is missing");
    }

    #[test]
    fn what_is_printed_can_be_read() {
        let mut config = Config::default();
        config.limits.requests = 7;
        config.grants.env = vec!["A=1,2".to_owned(), "B=\"\\".to_owned()];
        config.addr = ([0, 0, 0, 0], 99).into();
        for number in ["1", "2"] {
            config.site.apps.push(AppEntry {
                name: number.to_owned(),
                path: "a.wasm".into(),
                hosts: vec!["a.org".to_owned(), "*.a.org".to_owned()],
                prefix: ["/", number].concat(),
                strip_prefix: true,
                own: vec![
                    ("grants.env".to_owned(), "A=1,2\nB=\"\n".to_owned()),
                    ("limits.memory".to_owned(), "1MiB".to_owned()),
                ],
            });
            let (from, to) = (["/", number].concat(), "https://a.org/".to_owned());
            config.site.redirects.push(RedirectEntry { from, to, status: 301, ..RedirectEntry::default() });
            let (path, fallback) = (number.into(), "/\"\\".to_owned());
            config.site.folders.push(FolderEntry { path, fallback, ..FolderEntry::default() });
        }
        let text = print(&config);
        let mut copy = Config::default();
        assert_eq!(apply_text(&mut copy, &text, "prod"), Ok(()));
        assert_eq!(print(&copy), text);
        assert_eq!((copy.limits.requests, copy.addr), (7, config.addr));
        assert_eq!(copy.grants, config.grants);
        assert_eq!((&copy.site.folders, &copy.site.redirects), (&config.site.folders, &config.site.redirects));
        let [ours, theirs] = [&config, &copy].map(|config| {
            let own = config.site.apps.iter().map(|app| app.config(config).map(|own| (own.grants, own.limits.memory)));
            own.collect::<Vec<_>>()
        });
        assert_eq!(ours, theirs);
        assert_eq!(
            ours[0],
            Ok((
                crate::Grants { env: vec!["A=1,2".to_owned(), "B=\"".to_owned()], ..crate::Grants::default() },
                1 << 20
            ))
        );
    }
}
