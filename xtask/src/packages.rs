//! Programs that some tests run and that are not built here: which Debian package each comes from.

use std::path::PathBuf;
use std::process::Command;

use crate::run::run;

/// A program, and the Debian package that has it.
type Program = (&'static str, &'static str);

/// The programs that tests run. A test asks for its program with [`program`], so that a missing one
/// is a failure that says what helps.
const PROGRAMS: [Program; 9] = [
    ("curl", "curl"),
    ("h2load", "nghttp2-client"),
    ("nghttp", "nghttp2-client"),
    ("nginx", "nginx-light"),
    ("node", "nodejs"),
    ("openssl", "openssl"),
    ("prlimit", "util-linux"),
    ("redis-server", "redis-server"),
    (PYTHON_H2, "python3-h2"),
];

/// HTTP/2 for the Python of the system, `/usr/bin/python3`: a library, which counts as a program here.
pub const PYTHON_H2: &str = "/usr/lib/python3/dist-packages/h2/__init__.py";

/// Installs the packages of missing programs, where the system is Debian's and this is root.
///
/// # Errors
/// When a program is missing and can't be installed, with the command that would install it.
pub fn ensure() -> Result<(), String> {
    let packages = missing(&PROGRAMS, |name| find(name).is_some());
    if packages.is_empty() {
        return Ok(());
    }
    let by_hand = || format!("as root: apt-get install {}", packages.join(" "));
    if !is_root() || find("apt-get").is_none() {
        return Err(format!("tests need programs that are missing; install them, {}", by_hand()));
    }
    let install = || {
        let mut command = Command::new("apt-get");
        command.args(["install", "--yes", "--no-install-recommends"]).args(&packages);
        run(command.env("DEBIAN_FRONTEND", "noninteractive"))
    };
    // The lists of packages may be there already, and getting them takes longer than most packages.
    install().or_else(|_| run(Command::new("apt-get").arg("update")).and_then(|()| install()))
}

/// Returns where a program is that a test runs.
///
/// # Panics
/// When it is not installed, with the package to install; and when [`ensure`] doesn't know it.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let known = PROGRAMS.iter().find(|(program, _)| *program == name);
    let Some((_, package)) = known else { panic!("{name} is not in the list of {}", file!()) };
    find(name).unwrap_or_else(|| panic!("this test needs {name}: apt-get install {package}"))
}

/// The packages of the programs that are not there, each once.
fn missing(programs: &[Program], is_there: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let mut packages: Vec<_> =
        programs.iter().filter(|(name, _)| !is_there(name)).map(|(_, package)| *package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Looks for a program where the shell would, and where Debian has those for servers.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(programs: &[Program], there: &[&str], wanted: &[&str]) {
        assert_eq!(missing(programs, |name| there.contains(&name)), wanted);
    }

    #[test]
    fn only_what_is_missing_is_installed() {
        let programs = [("nghttp", "nghttp2-client"), ("h2load", "nghttp2-client"), ("curl", "curl")];
        check(&programs, &["nghttp", "h2load", "curl"], &[]);
        check(&programs, &["nghttp", "curl"], &["nghttp2-client"]);
        check(&programs, &[], &["curl", "nghttp2-client"]);
    }

    #[test]
    fn programs_are_found_where_the_shell_finds_them() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program").is_none());
    }

    #[test]
    #[should_panic(expected = "is not in the list")]
    fn a_test_runs_no_program_that_ci_does_not_install() {
        let _ = program("no-such-program");
    }
}
