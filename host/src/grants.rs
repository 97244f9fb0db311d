//! What a component may do besides answering its requests: nothing, unless the operator grants it.

use crate::StartError;

/// What the operator grants to one component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Variables of the environment: `NAME=value`, or `NAME` for the value that the host itself has.
    pub env: Vec<String>,
}

/// Grants that have been checked and opened, shared by all instances of one component.
#[derive(Debug)]
pub(crate) struct Capabilities {
    /// Names and values of the environment.
    pub(crate) env: Vec<(String, String)>,
}

impl Capabilities {
    /// Checks what is granted and opens what has to be open.
    ///
    /// # Errors
    /// When a grant means nothing or can't be had, with its key.
    pub(crate) fn open(grants: &Grants) -> Result<Self, StartError> {
        let env = grants.env.iter().map(|entry| variable(entry, |name| std::env::var(name).ok()));
        Ok(Self { env: env.collect::<Result<_, _>>()? })
    }
}

/// Reads `NAME=value`, or `NAME` with the value that `host` has for it.
fn variable(entry: &str, host: impl Fn(&str) -> Option<String>) -> Result<(String, String), StartError> {
    let fail = |why: &str| StartError::new(format!("grants.env: {entry:?} {why}"));
    let (name, value) = match entry.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (entry, host(entry).ok_or_else(|| fail("is not in the environment of the host"))?),
    };
    if name.is_empty() || name.contains('\0') || value.contains('\0') {
        return Err(fail("is no variable; write NAME or NAME=value"));
    }
    Ok((name.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, wanted: Result<(&str, &str), &str>) {
        let host = |name: &str| (name == "HOME").then(|| "/home".to_owned());
        match (variable(entry, host), wanted) {
            (Ok((name, value)), Ok(wanted)) => assert_eq!((name.as_str(), value.as_str()), wanted),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, _) => panic!("{entry:?}: {got:?}"),
        }
    }

    #[test]
    fn variables_are_named_one_by_one() {
        check("A=1", Ok(("A", "1")));
        check("A=", Ok(("A", "")));
        check("A=b=c", Ok(("A", "b=c")));
        check("HOME", Ok(("HOME", "/home")));
        check("NOBODY", Err("grants.env: \"NOBODY\" is not in the environment"));
        check("=1", Err("is no variable"));
        check("A=\0", Err("is no variable"));
    }
}
