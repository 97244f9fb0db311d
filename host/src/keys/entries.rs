//! The keys of what stands in double brackets: `[[apps]]`, `[[static]]` and `[[redirects]]`.

use super::{Key, list, nearest, parse_count, parse_list, quote};
use crate::site::{AppEntry, FolderEntry, RedirectEntry, Site};
use crate::{Config, file};
use toml::{Table, Value};

/// The names of the lists.
pub const LISTS: [&str; 3] = ["apps", "static", "redirects"];

/// A key of an entry.
pub struct Field<T> {
    /// Its name in the entry.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub doc: &'static str,
    get: fn(&T) -> String,
    set: fn(&mut T, &str) -> Result<(), String>,
}

macro_rules! fields {
    ($list:ident $of:ident $($name:literal $kind:ident $field:ident $doc:literal;)*) => {
        /// The keys of an entry, in the order of the documentation.
        pub static $list: &[Field<$of>] = &[$(Field {
            name: $name,
            doc: $doc,
            get: |entry| get!($kind, entry.$field),
            set: |entry, text| {
                entry.$field = set!($kind, text)?;
                Ok(())
            },
        }),*];
    };
}

fields! { APP AppEntry
    "name" line name "What log and metrics call the app; by default the name of its file.";
    "path" path path "The component, or the folder of a crate that builds one.";
    "hosts" list hosts "The hosts that it answers for, such as \"example.org\" or \"*.example.org\"; none for any.";
    "prefix" line prefix "Where its paths begin.";
    "strip_prefix" switch strip_prefix "Give the app its paths without the prefix, and that in x-forwarded-prefix: on or off.";
}

fields! { FOLDER FolderEntry
    "path" path path "The folder whose files are served.";
    "hosts" list hosts "The hosts that it is for; none for any.";
    "prefix" line prefix "Where its paths begin.";
    "index" line index "The file that stands for its folder; empty for none.";
    "fallback" line fallback "The file for paths that are no file and have no dot in their last part; empty for 404.";
    "cache_control" line cache_control "The Cache-Control of its files; empty for none.";
    "precompressed" switch precompressed "Send app.js.br or app.js.gz for app.js to clients that take it: on or off.";
}

fields! { REDIRECT RedirectEntry
    "from" line from "The path that has moved, or with /{*rest} at its end all paths below it.";
    "hosts" list hosts "The hosts that it is for; none for any.";
    "to" line to "Where it is now: a path or a URL, with {rest} for what followed.";
    "status" count status "301, 302, 303, 307 or 308.";
}

/// Reads the list `name`, which takes the place of what was in `site` before.
///
/// # Errors
/// When an entry has a key or a value that means nothing, or lacks one that it needs.
pub(crate) fn read(config: &mut Config, name: &str, value: &Value) -> Result<(), String> {
    let wrong = || format!("{name} must be a list of tables, each with [[{name}]] above it");
    let Value::Array(values) = value else { return Err(wrong()) };
    let tables = values.iter().map(|value| value.as_table().ok_or_else(wrong)).collect::<Result<Vec<_>, _>>()?;
    let numbered = tables.into_iter().enumerate();
    let at = |number: usize, why: String| format!("{name} number {}: {why}", number + 1);
    match name {
        "apps" => {
            let read = |(number, table)| app(config, table).map_err(|why| at(number, why));
            config.site.apps = numbered.map(read).collect::<Result<_, _>>()?;
        }
        "static" => {
            let read = |(number, table)| entry(FOLDER, table, &["path"]).map_err(|why| at(number, why));
            config.site.folders = numbered.map(read).collect::<Result<_, _>>()?;
        }
        _ => {
            let read = |(number, table)| entry(REDIRECT, table, &["from", "to"]).map_err(|why| at(number, why));
            config.site.redirects = numbered.map(read).collect::<Result<_, _>>()?;
        }
    }
    Ok(())
}

/// Writes all lists as a file that would make them; an empty one as a comment.
pub(crate) fn print(config: &Config, text: &mut String) {
    let Site { apps, folders, redirects } = &config.site;
    print_list(text, "apps", APP, apps, |text, app| {
        let Ok(own) = app.config(config) else { return };
        let mut table = "";
        for (key, _) in &app.own {
            let (Some((in_table, name)), Ok(key)) = (key.split_once('.'), super::find(key)) else { continue };
            if in_table != table {
                table = in_table;
                text.push_str(&format!("[apps.{table}]\n"));
            }
            text.push_str(&format!("{name} = {}\n", (key.get)(&own)));
        }
    });
    print_list(text, "static", FOLDER, folders, |_, _| {});
    print_list(text, "redirects", REDIRECT, redirects, |_, _| {});
}

/// Whether a key may be different for each app.
pub(crate) fn is_own(key: &Key) -> bool {
    // What a request meets before it is known which app it is for, and what all apps draw from, is the host's.
    const OWN: [&str; 20] = [
        "instances.requests_p2",
        "instances.requests_p3",
        "instances.concurrent_p3",
        "instances.max_age",
        "instances.max_memory",
        "limits.body_bytes",
        "limits.body_timeout",
        "limits.request_timeout",
        "limits.stream_idle_timeout",
        "limits.stream_timeout",
        "limits.post_return_timeout",
        "limits.cpu_time",
        "limits.memory",
        "limits.table_elements",
        "limits.resources",
        "limits.hostcall_bytes",
        "limits.field_bytes",
        "limits.random_bytes",
        "limits.log_line",
        "limits.log_bytes",
    ];
    key.name.starts_with("grants.") || OWN.contains(&key.name)
}

fn app(host: &Config, table: &Table) -> Result<AppEntry, String> {
    let mut own = Vec::new();
    let mut plain = Table::new();
    for (name, value) in table {
        let Value::Table(values) = value else {
            plain.insert(name.clone(), value.clone());
            continue;
        };
        for (key, value) in values {
            let full = format!("{name}.{key}");
            super::find_own(&full)?;
            own.push((full.clone(), file::bare(&file::pairs(&full, value)).map_err(|why| format!("{full}: {why}"))?));
        }
    }
    own.sort();
    let entry = AppEntry { own, ..entry(APP, &plain, &["path"])? };
    entry.config(host)?;
    Ok(entry)
}

fn entry<T: Default>(fields: &[Field<T>], table: &Table, needed: &[&str]) -> Result<T, String> {
    let mut entry = T::default();
    for (name, value) in table {
        let field = fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| match nearest(name, fields.iter().map(|field| field.name)) {
            Some(known) => format!("unknown key {name:?}; did you mean {known:?}?"),
            None => format!("unknown key {name:?}; `tabi config` lists all keys"),
        })?;
        let set = file::bare(value).and_then(|text| (field.set)(&mut entry, &text));
        set.map_err(|why| format!("{name}: {why}"))?;
    }
    match needed.iter().find(|name| !table.contains_key(**name)) {
        Some(name) => Err(format!("{name} is missing")),
        None => Ok(entry),
    }
}

fn print_list<T: Default>(
    text: &mut String,
    name: &str,
    fields: &[Field<T>],
    entries: &[T],
    more: impl Fn(&mut String, &T),
) {
    if entries.is_empty() {
        let example = T::default();
        text.push_str(&format!("\n# [[{name}]]\n"));
        for field in fields {
            text.push_str(&format!("# {} = {}  # {}\n", field.name, (field.get)(&example), field.doc));
        }
    }
    for (number, entry) in entries.iter().enumerate() {
        text.push_str(&format!("\n[[{name}]]\n"));
        for field in fields {
            if number == 0 {
                text.push_str(&format!("# {}\n", field.doc));
            }
            text.push_str(&format!("{} = {}\n", field.name, (field.get)(entry)));
        }
        more(text, entry);
    }
}
