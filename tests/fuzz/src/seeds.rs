//! The seeds: every text of the public cases that the framework's table tests run.

use crate::Target;
use serde_json::Value;
use std::path::Path;

/// Returns the seeds of a parser.
///
/// # Panics
/// Where the case files can't be read.
#[must_use]
pub fn seeds(target: &Target) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../framework/tests/cases");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let name = |file: &Path| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for file in files.iter().filter(|file| name(file).ends_with(".json") && name(file).starts_with(target.cases)) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        collect(&value, "", &mut seeds);
    }
    seeds.sort();
    seeds.dedup();
    seeds
}

fn collect(value: &Value, key: &str, seeds: &mut Vec<Vec<u8>>) {
    match value {
        Value::String(text) if key.contains("b64") => seeds.extend(base64(text)),
        Value::String(text) if !key.contains("source") && !key.contains("title") => seeds.push(text.as_bytes().into()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, key, seeds)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| collect(value, key, seeds)),
        _ => {}
    }
}

/// Decodes base64 (RFC 4648, section 4), or returns `None`.
fn base64(text: &str) -> Option<Vec<u8>> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | LETTERS.iter().position(|known| *known == letter)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64() {
        for (text, bytes) in
            [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9vYmFy", b"foobar"), ("/+8=", b"\xff\xef")]
        {
            assert_eq!(super::base64(text).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(super::base64("a b"), None);
    }
}
