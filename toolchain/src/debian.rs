//! The parts of the second way that Debian packages: the source of the standard library and the C
//! library beneath it, fetched by an apt with a state of its own, so that the machine's is untouched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Step;
use crate::sources::{self, Source};
use crate::{TARGET, Toolchain};

/// Suites that keep several versions of the compiler side by side, smallest package list first.
const SUITES: [&str; 2] = ["trixie-backports", "sid"];

/// apt itself gives up a mirror after 20 s; unpacking a list is quicker than that.
const PATIENCE: u64 = 90;

/// The two inputs of the build, and where they come from.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The folder `library` of the compiler's source.
    pub(crate) library: PathBuf,
    /// The folder with `libc.a` and the two start files.
    pub(crate) libc: PathBuf,
    /// A line that tells where both come from.
    pub(crate) origin: String,
}

/// Finds the parts on the machine, or fetches what is missing into `work`.
///
/// # Errors
/// The reason in half a sentence or a few lines.
pub(crate) fn parts(toolchain: &Toolchain, work: &Path, progress: &mut dyn FnMut(&str)) -> Result<Parts, String> {
    let mut library = installed_source(toolchain);
    let mut libc = installed_libc(Path::new("/"));
    let mut wanted = Vec::new();
    let mut origin = Vec::new();
    match &library {
        Some(library) => origin.push(library.display().to_string()),
        None => wanted.push(Wanted { name: "rust-src", upstream: Some(&toolchain.release) }),
    }
    match &libc {
        Some(libc) => origin.push(libc.display().to_string()),
        None => wanted.push(Wanted { name: "wasi-libc", upstream: None }),
    }
    if !wanted.is_empty() {
        let (root, versions) = Apt { work }.fetch(&wanted, &toolchain.release, progress)?;
        library = library.or_else(|| debian_source(&root, &toolchain.release));
        libc = libc.or_else(|| installed_libc(&root));
        origin.extend(versions);
    }
    let release = &toolchain.release;
    let library = library.ok_or_else(|| format!("rust-src holds no source of rustc {release}"))?;
    let libc = libc.ok_or_else(|| format!("wasi-libc holds nothing for {TARGET}"))?;
    Ok(Parts { library, libc, origin: format!("made from {}", origin.join(" and ")) })
}

/// What to type for this way: with the packages installed, nothing has to be fetched.
pub(crate) fn command_line(toolchain: &Toolchain) -> String {
    let suite = SUITES.first().copied().unwrap_or_default();
    format!(
        "apt-get update && apt-get install -t {suite} 'rust-src={}*' wasi-libc   (with {suite}, or sid, among the apt sources), then the same command again",
        toolchain.release
    )
}

/// The source on the machine: rustup's component, or Debian's package.
fn installed_source(toolchain: &Toolchain) -> Option<PathBuf> {
    let component = toolchain.rustlib().join("src").join("rust").join("library");
    if component.join("std").join("Cargo.toml").is_file() {
        return Some(component);
    }
    debian_source(Path::new("/"), &toolchain.release)
}

fn debian_source(root: &Path, release: &str) -> Option<PathBuf> {
    let library = root.join("usr").join("src").join(format!("rustc-{release}")).join("library");
    library.join("std").join("Cargo.toml").is_file().then_some(library)
}

fn installed_libc(root: &Path) -> Option<PathBuf> {
    let folder = root.join("usr").join("lib").join(TARGET);
    folder.join("libc.a").is_file().then_some(folder)
}

/// A package, and the version that its upstream part has to be.
struct Wanted<'a> {
    name: &'static str,
    upstream: Option<&'a str>,
}

/// An apt whose lists, caches and sources live in `work`.
struct Apt<'a> {
    work: &'a Path,
}

impl Apt<'_> {
    /// Downloads and unpacks the packages. Returns the folder that stands for `/`, and their names
    /// and versions.
    fn fetch(
        &self,
        wanted: &[Wanted<'_>],
        release: &str,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(PathBuf, Vec<String>), String> {
        if self.command("apt-get").arg("--version").output().is_err() {
            return Err("`apt-get` is not installed: this is no Debian machine".to_owned());
        }
        let archives = sources::configured(Path::new("/etc/apt"));
        if archives.is_empty() {
            return Err("this machine has no apt source of Debian's main archive".to_owned());
        }
        let mut reasons = Vec::new();
        for archive in &archives {
            for suite in SUITES {
                match self.choose(archive, suite, wanted, progress) {
                    Ok(versions) => return Ok((self.download(&versions, release, progress)?, versions)),
                    Err(reason) => reasons.push(format!("{suite}: {reason}")),
                }
            }
        }
        Err(reasons.join("\n    "))
    }

    /// The versions of the packages in one suite, as `name=version`.
    fn choose(
        &self,
        archive: &Source,
        suite: &str,
        wanted: &[Wanted<'_>],
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>, String> {
        self.prepare(&archive.with_suite(suite)).map_err(|error| error.to_string())?;
        let what = format!("reading Debian's package list of {suite}");
        let updated = Step::new(&what, PATIENCE).run(self.command("apt-get").arg("update"), progress);
        updated.map_err(|failure| failure.explain("apt-get update"))?;
        let mut versions = Vec::new();
        for package in wanted {
            let what = format!("looking for {}", package.name);
            let listed =
                Step::new(&what, PATIENCE).run(self.command("apt-cache").args(["madison", package.name]), progress);
            let listed = listed.map_err(|failure| failure.explain("apt-cache"))?;
            let version = pick(&listed, package.upstream).ok_or_else(|| missing(package))?;
            versions.push(format!("{}={version}", package.name));
        }
        Ok(versions)
    }

    fn download(&self, versions: &[String], release: &str, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
        let debs = self.work.join("debs");
        let root = self.work.join("root");
        for folder in [&debs, &root] {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let what = format!("downloading {}", versions.join(" and "));
        let archives = || folder_size(&debs);
        let mut step = Step::new(&what, PATIENCE);
        step.activity = &archives;
        let mut command = self.command("apt-get");
        command.arg("download").args(versions).current_dir(&debs);
        step.run(&mut command, progress).map_err(|failure| failure.explain("apt-get download"))?;
        let entries = fs::read_dir(&debs).map_err(|error| error.to_string())?;
        for deb in entries.flatten().map(|entry| entry.path()) {
            unpack(&deb, &root, release, progress)?;
        }
        Ok(root)
    }

    /// Empties the private state and writes the one source.
    fn prepare(&self, source: &str) -> std::io::Result<()> {
        let apt = self.work.join("apt");
        if apt.exists() {
            fs::remove_dir_all(&apt)?;
        }
        for folder in ["lists/partial", "cache/archives/partial", "sources.d"] {
            fs::create_dir_all(apt.join(folder))?;
        }
        fs::write(apt.join("status"), "")?;
        fs::write(apt.join("sources.d").join("suite.sources"), source)
    }

    fn command(&self, program: &str) -> Command {
        let apt = self.work.join("apt");
        let path = |name: &str| apt.join(name).display().to_string();
        let options = [
            format!("Dir::State={}", path("")),
            format!("Dir::State::Lists={}", path("lists")),
            format!("Dir::State::status={}", path("status")),
            format!("Dir::Cache={}", path("cache")),
            "Dir::Etc::sourcelist=/dev/null".to_owned(),
            format!("Dir::Etc::sourceparts={}", path("sources.d")),
            // The list is read once: nobody needs translations, nor the index of files.
            "Acquire::Languages=none".to_owned(),
            "Acquire::Retries=1".to_owned(),
            "Acquire::http::Timeout=20".to_owned(),
            "Acquire::https::Timeout=20".to_owned(),
            // apt's own user may not enter a private folder.
            "APT::Sandbox::User=".to_owned(),
        ];
        let mut command = Command::new(program);
        command.env("LC_ALL", "C").args(options.iter().flat_map(|option| ["-o", option]));
        command
    }
}

/// Unpacks the one folder of a package that is used: the compiler's source has 70,000 files, of
/// which the library is a twentieth.
fn unpack(deb: &Path, root: &Path, release: &str, progress: &mut dyn FnMut(&str)) -> Result<(), String> {
    let name = deb.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = if name.starts_with("rust-src") {
        format!("./usr/src/rustc-{release}/library")
    } else {
        format!("./usr/lib/{TARGET}")
    };
    let mut command = Command::new("sh");
    command.args(["-c", "dpkg-deb --fsys-tarfile \"$1\" | tar -x -C \"$2\" \"$3\"", "unpack"]);
    command.arg(deb).arg(root).arg(folder);
    let unpacked = Step::new(&format!("unpacking {name}"), PATIENCE).run(&mut command, progress);
    unpacked.map(|_| ()).map_err(|failure| failure.explain("dpkg-deb | tar"))
}

/// The newest version in the output of `apt-cache madison`, of the upstream release that is asked for.
fn pick<'a>(madison: &'a str, upstream: Option<&str>) -> Option<&'a str> {
    let versions = madison.lines().filter_map(|line| line.split('|').nth(1)).map(str::trim);
    let fits = |version: &&str| upstream.is_none_or(|release| upstream_of(version) == release);
    versions.filter(|version| !version.is_empty()).find(fits)
}

/// `1.95.0+dfsg1-2~bpo13+1` is the release 1.95.0.
fn upstream_of(version: &str) -> &str {
    version.split(['+', '-', '~']).next().unwrap_or(version)
}

fn missing(package: &Wanted<'_>) -> String {
    match package.upstream {
        Some(release) => format!("there is no {} {release}", package.name),
        None => format!("there is no {}", package.name),
    }
}

fn folder_size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    const MADISON: &str = "  rust-src | 1.97.1+dfsg1-1~bpo13+1 | http://m.test/debian trixie-backports/main amd64 Packages\n\
                           \u{20}rust-src | 1.95.0+dfsg1-2~bpo13+1 | http://m.test/debian trixie-backports/main amd64 Packages\n\
                           \u{20}rust-src | 1.95.0+dfsg1-1 | http://m.test/debian trixie-backports/main amd64 Packages\n";

    #[track_caller]
    fn check(madison: &str, upstream: Option<&str>, expected: Option<&str>) {
        assert_eq!(pick(madison, upstream), expected, "{upstream:?} in {madison}");
    }

    #[test]
    fn picks_the_very_release_of_the_compiler() {
        check(MADISON, Some("1.95.0"), Some("1.95.0+dfsg1-2~bpo13+1"));
        check(MADISON, Some("1.97.1"), Some("1.97.1+dfsg1-1~bpo13+1"));
        check(MADISON, Some("1.95"), None);
        check(MADISON, Some("1.95.1"), None);
        check(MADISON, Some("1.97.1-nightly"), None);
        check(MADISON, None, Some("1.97.1+dfsg1-1~bpo13+1"));
        check(" wasi-libc | 0.0~git20260423.161b319-2 | x\n", None, Some("0.0~git20260423.161b319-2"));
        check("N: Unable to locate package rust-src\n", Some("1.95.0"), None);
        check("", None, None);
    }

    #[test]
    fn takes_the_rustup_component_for_the_source() {
        let scratch = Scratch::new("source");
        let toolchain = scratch.toolchain("0.0.1", "598");
        assert_eq!(installed_source(&toolchain), None);
        let library = scratch.path().join("lib/rustlib/src/rust/library");
        fs::create_dir_all(library.join("std")).unwrap();
        fs::write(library.join("std/Cargo.toml"), "").unwrap();
        assert_eq!(installed_source(&toolchain), Some(library));
    }

    #[test]
    fn finds_the_parts_of_unpacked_packages() {
        let scratch = Scratch::new("parts");
        let root = scratch.path();
        assert!(debian_source(root, "1.95.0").is_none() && installed_libc(root).is_none());
        for file in ["usr/src/rustc-1.95.0/library/std/Cargo.toml", "usr/lib/wasm32-wasip2/libc.a"] {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        assert_eq!(debian_source(root, "1.95.0"), Some(root.join("usr/src/rustc-1.95.0/library")));
        assert_eq!(debian_source(root, "1.95.1"), None);
        assert_eq!(installed_libc(root), Some(root.join("usr/lib/wasm32-wasip2")));
    }
}
