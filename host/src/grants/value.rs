//! `NAME=value` with values that need not stand in the configuration: from a file or the host's environment.

use std::path::Path;

/// The longest file that is taken for a value.
const MAX_BYTES: u64 = 64 * 1024;

/// Reads `NAME=value`; a value `@FILE` is what the file holds, and `$NAME` what `host` has for that name.
///
/// # Errors
/// When there is no name, or the value can't be had.
pub(super) fn pair(entry: &str, host: impl Fn(&str) -> Option<String>) -> Result<(String, String), String> {
    let Some((name, text)) = entry.split_once('=') else {
        return Err(format!("{entry:?} has no value; write NAME=value"));
    };
    // The value itself may be a secret, so only the name is told.
    let fail = |why: String| format!("{name:?} {why}");
    if name.is_empty() || name.contains('\0') {
        return Err(format!("{name:?} is no name; write NAME=value"));
    }
    let value = resolved(text, host).map_err(fail)?;
    if value.contains('\0') {
        return Err(fail("has a zero byte in its value".to_owned()));
    }
    Ok((name.to_owned(), value))
}

/// Reads a value that stands alone.
///
/// # Errors
/// When it can't be had.
pub(super) fn text(text: &str, host: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    resolved(text, host).map_err(|why| format!("it {why}"))
}

/// What a value stands for; an error continues "the value ".
fn resolved(text: &str, host: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    match text.as_bytes() {
        [b'@', b'@', ..] | [b'$', b'$', ..] => Ok(text.get(1..).unwrap_or_default().to_owned()),
        [b'@', ..] => file(Path::new(text.trim_start_matches('@'))),
        [b'$', ..] => {
            let variable = text.trim_start_matches('$');
            host(variable).ok_or_else(|| format!("wants {variable}, which is not in the environment of the host"))
        }
        _ => Ok(text.to_owned()),
    }
}

/// The text of a file without the end of its last line, which editors put there.
fn file(path: &Path) -> Result<String, String> {
    let name = path.display();
    let fail = |error: std::io::Error| format!("wants the file {name}, which can't be read: {error}");
    let length = std::fs::metadata(path).map_err(fail)?.len();
    if length > MAX_BYTES {
        return Err(format!("wants the file {name}, which is longer than {} KiB", MAX_BYTES / 1024));
    }
    let mut text = std::fs::read_to_string(path).map_err(fail)?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, wanted: Result<(&str, &str), &str>) {
        let host = |name: &str| (name == "HOME").then(|| "/home".to_owned());
        match (pair(entry, host), wanted) {
            (Ok((name, value)), Ok(wanted)) => assert_eq!((name.as_str(), value.as_str()), wanted),
            (Err(why), Err(part)) => assert!(why.contains(part) && !why.contains("secret"), "{why}"),
            (got, _) => panic!("{entry:?}: {got:?}"),
        }
    }

    #[test]
    fn values_are_text_files_or_variables() {
        check("A=1", Ok(("A", "1")));
        check("A=", Ok(("A", "")));
        check("A=b=c", Ok(("A", "b=c")));
        check("A=a@b$c", Ok(("A", "a@b$c")));
        check("A=@@b", Ok(("A", "@b")));
        check("A=$$b", Ok(("A", "$b")));
        check("A=$HOME", Ok(("A", "/home")));
        check("A=$NOBODY", Err("\"A\" wants NOBODY, which is not in the environment of the host"));
        check("A", Err("\"A\" has no value"));
        check("=secret", Err("is no name"));
        check("A\0=1", Err("is no name"));
        check("A=secret\0", Err("\"A\" has a zero byte"));
        check("A=@/no/such/file", Err("wants the file /no/such/file, which can't be read"));
        let path = std::env::temp_dir().join(format!("tabi-value-{}", std::process::id()));
        for (bytes, wanted) in [
            (&b"value"[..], Ok(("A", "value"))),
            (b"value\n", Ok(("A", "value"))),
            (b"a\r\nb\r\n", Ok(("A", "a\r\nb"))),
            (b"value\n\n", Ok(("A", "value\n"))),
            (b"", Ok(("A", ""))),
            (b"secret\xff", Err("can't be read")),
            (&[b'x'; 65537], Err("longer than 64 KiB")),
        ] {
            std::fs::write(&path, bytes).expect("written");
            check(&format!("A=@{}", path.display()), wanted);
        }
        let _ = std::fs::remove_file(path);
    }
}
