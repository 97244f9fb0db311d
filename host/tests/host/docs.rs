//! The tables of the documentation against the code.

use std::collections::BTreeSet;
use std::path::Path;
use tabi_host::{Config, keys, keys::KEYS};

/// The table of limits as it must be in `docs/limits.md`.
fn limits() -> String {
    let config = Config::default();
    let mut text = String::from("| key | default | limits | when it is reached |\n|---|---|---|---|\n");
    for key in KEYS.iter().filter(|key| key.name.starts_with("limits.")) {
        let value = (key.get)(&config);
        let doc = key.doc.trim_end_matches('.');
        let name = key.name.trim_start_matches("limits.");
        text.push_str(&format!("| `{name}` | `{}` | {doc} | {} |\n", value.trim_matches('"'), key.outcome));
    }
    text
}

/// Every other key, table by table, as it must be in `docs/configuration.md`.
fn configuration() -> String {
    let config = Config::default();
    let mut text = String::new();
    let mut table = String::new();
    let mut row = |name: &str, default: &str, doc: &str, env: &str| {
        let (in_table, key) = name.split_once('.').unwrap_or(("", name));
        if in_table != table {
            text.push_str(&format!(
                "\n### `[{in_table}]`\n\n| key | default | what it is | environment |\n|---|---|---|---|\n"
            ));
            table = in_table.to_owned();
        }
        text.push_str(&format!("| `{key}` | {default} | {} | {env} |\n", doc.trim_end_matches('.')));
    };
    row("server.host", "`127.0.0.1`", "The address to listen on.", "`TABI_HOST`");
    row("server.port", "`8080`", "The port to listen on; 0 takes a free one.", "`TABI_PORT`");
    for key in KEYS.iter().filter(|key| !key.name.starts_with("limits.")) {
        let default = match key.name {
            // These depend on the machine.
            "server.threads" => "one per core".to_owned(),
            "server.cache_dir" => "`tabi` in the user's cache folder".to_owned(),
            _ => match (key.get)(&config).trim_matches('"') {
                "" | "[]" => "none".to_owned(),
                value => format!("`{value}`"),
            },
        };
        row(key.name, &default, key.doc, &format!("`TABI_{}`", key.name.replace('.', "_").to_uppercase()));
    }
    text.push('\n');
    text
}

/// The keys of ninja-undertow, Ninja and NinjaX that are about the server: what is their twin here, where there is one,
/// and what to know of it.
const TWINS: &[(&str, &str, &str)] = &[
    ("ninja.host", "server.host", "Every address there; this machine alone here, until said otherwise."),
    ("ninja.port", "server.port", "The same default, 8080. −1 there is `server.http = \"off\"` here."),
    ("ninja.ssl.port", "server.tls_port", "Serves when there is a certificate."),
    ("ninja.ssl.keystore.uri", "server.tls_cert", "PEM files instead of a Java keystore."),
    ("ninja.ssl.keystore.password", "server.tls_key", "The permissions of the file protect the key."),
    ("ninja.ssl.truststore.uri", "server.tls_client_ca", "Whose certificates clients may have; PEM files."),
    ("ninja.ssl.truststore.password", "", "Not needed: the certificates of authorities are no secret."),
    (
        "ninja.x_forwarded_for_enabled",
        "server.trusted_proxies",
        "Everybody is believed there, and the listed networks here.",
    ),
    ("ninja.idle.timeout", "limits.idle_timeout", "30000 (ms) there; read there and never applied."),
    ("undertow.http2", "", "Always on, by ALPN and with prior knowledge."),
    ("undertow.tracing", "server.trace", "Also `--trace`; secrets are shortened here, and bodies are shown."),
    ("ninja.http.maxUploadBytes", "limits.body_bytes", "10 MiB there."),
    (
        "ninja.http.maxInMemoryBytes",
        "limits.memory",
        "Bodies are streamed; the memory of the whole instance is bounded.",
    ),
    (
        "ninja.http.maxConcurrentRequests",
        "limits.requests",
        "The same default, 1000; more wait in `limits.queue`, and are turned away only then.",
    ),
    ("ninja.http.maxRequestTimeSeconds", "limits.request_timeout", "60 s there."),
    ("ninja.http.maxResponseTimeSeconds", "limits.stream_timeout", "300 s there."),
    ("ninja.mode", "", "`--mode`, and the tables `[dev]` and `[prod]` of the file."),
    ("ninja.external.configuration", "", "`--config`."),
    ("ninja.external.reload", "", "Left out: SIGHUP loads the component anew, and settings change with a restart."),
    ("ninja.splash.display", "", "Left out: the first lines say where the server listens."),
    ("ninja.context", "", "The `prefix` of an [app](apps.md) in `[[apps]]`."),
    ("ninja.standalone.class", "", "Left out: the server is not part of the app. Any host of `wasi:http` serves it."),
    ("ninja.jetty.configuration", "", "Left out: there is one configuration."),
];

fn twins() -> String {
    let mut text = String::from("| there | here | |\n|---|---|---|\n");
    for (there, here, what) in TWINS {
        let here = if here.is_empty() { "–".to_owned() } else { format!("`{here}`") };
        text.push_str(&format!("| `{there}` | {here} | {what} |\n"));
    }
    text
}

/// Holds what is between two marks of a page to `wanted`, or writes it there when `BLESS` is set.
#[track_caller]
fn check(page: &str, mark: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(page);
    let text = std::fs::read_to_string(&path).expect(page);
    let (begin, end) = (format!("<!-- {mark} -->\n"), "<!-- end of table -->");
    let (before, rest) = text.split_once(&begin).expect("the begin mark");
    let (found, after) = rest.split_once(end).expect("the end mark");
    if found == wanted {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{wanted}{end}{after}")).expect("written");
        return;
    }
    panic!("docs/{page} is not what the code does; run this test with BLESS=1 and read the difference:\n{wanted}");
}

#[test]
fn the_table_of_limits_is_the_code() {
    check("limits.md", "table of limits", &limits());
}

#[test]
fn the_tables_of_the_configuration_are_the_code() {
    check("configuration.md", "tables of keys", &configuration());
}

#[test]
fn the_twins_are_keys() {
    check("configuration.md", "twins", &twins());
    let known = |name: &str| ["server.host", "server.port"].contains(&name) || keys::find(name).is_ok();
    for (there, here, _) in TWINS {
        assert!(here.is_empty() || known(here), "{there}: {here}");
    }
    let different: BTreeSet<_> = TWINS.iter().map(|(there, ..)| there).collect();
    assert_eq!(different.len(), TWINS.len());
    let config = Config::default();
    assert_eq!((config.addr.port(), config.limits.requests), (8080, 1000), "as the table says");
}

/// The tests that a page names as `FILE::TEST` in its tables.
#[test]
fn every_behaviour_names_tests_that_exist() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(folder.join("../docs/hardening.md")).expect("docs/hardening.md");
    let table = |mark: &str| {
        let (_, rest) = page.split_once(&format!("<!-- {mark} -->")).expect("the begin mark");
        let (table, _) = rest.split_once(&format!("<!-- /{mark} -->")).expect("the end mark");
        table.lines().filter(|line| line.contains('`') && line.starts_with('|')).collect::<Vec<_>>()
    };
    let rows = table("behaviour");
    let numbers: Vec<u32> = rows.iter().filter_map(|row| row.split('|').nth(1)?.trim().parse().ok()).collect();
    assert_eq!(numbers, (1..=43).collect::<Vec<_>>());
    for row in rows.into_iter().chain(table("inside")) {
        let names: Vec<&str> = row.split('`').filter(|word| word.contains("::")).collect();
        assert!(!names.is_empty(), "{row} names no test");
        for name in names {
            let (file, test) = name.split_once("::").expect("a file");
            let code = std::fs::read_to_string(folder.join(format!("tests/host/{file}.rs"))).unwrap_or_default();
            assert!(code.contains(&format!("#[test]\nfn {test}()")), "{name} is no test");
        }
    }
}
