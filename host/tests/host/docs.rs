//! The table of limits in the documentation against the code.

use std::path::Path;
use tabi_host::{Config, keys::KEYS};

/// The table as it must be in `docs/limits.md`.
fn table() -> String {
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

#[test]
fn the_table_of_limits_is_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/limits.md");
    let text = std::fs::read_to_string(&path).expect("docs/limits.md");
    let (begin, end) = ("<!-- table of limits -->\n", "<!-- end of table -->");
    let (before, rest) = text.split_once(begin).expect("the begin mark");
    let (found, after) = rest.split_once(end).expect("the end mark");
    if found == table() {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{}{end}{after}", table())).expect("written");
        return;
    }
    panic!(
        "docs/limits.md is not what the code does; run this test with BLESS=1 and read the difference:\n{}",
        table()
    );
}
