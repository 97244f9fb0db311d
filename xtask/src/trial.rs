//! The earnest trial of the target's installation: copies of the toolchain without the target, in
//! which it is installed both ways, at once by two processes, and after one was killed midway.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tabi_toolchain::{TARGET, Toolchain};

use crate::run::{Steps, run, text};
use crate::{apps, root, say};

const MANIFEST: &str = "[package]\nname = \"trial_NAME\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[lib]\ncrate-type = [\"cdylib\"]\n\n\
                        [profile.dev]\npanic = \"abort\"\n\n[profile.release]\nlto = true\nopt-level = \"s\"\npanic = \"abort\"\n\n[workspace]\n";
const STD: &str = "#[unsafe(no_mangle)]\npub extern \"C\" fn greet() {\n    for (name, value) in std::env::vars() {\n        println!(\"{name:?}={value}\");\n    }\n}\n";
const NO_STD: &str = "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! {\n    loop {}\n}\n\
                      #[unsafe(no_mangle)]\npub extern \"C\" fn add(a: u32, b: u32) -> u32 {\n    a.wrapping_add(b)\n}\n";

/// Installs the target both ways in scratch copies of the active toolchain, and builds with it.
///
/// # Errors
/// When one of the ways fails, or what it installed does not build a component.
pub fn check() -> Result<(), String> {
    let scratch = root().join("target").join("toolchain-check");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(text)?;
    }
    let mut steps = Steps::default();
    steps.step("by rustup", || Trial::new(&scratch.join("rustup"), None)?.by_rustup());
    // A port that was free a moment ago: nobody answers there, as where rustup's server is out of reach.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map_err(text)?;
    let server = format!("http://{port}");
    steps.step("from Debian's packages", || Trial::new(&scratch.join("debian"), Some(server))?.by_source());
    fs::remove_dir_all(&scratch).map_err(text)?;
    steps.finish()
}

/// A copy of the toolchain, alone in a rustup folder of its own.
struct Trial {
    home: PathBuf,
    name: String,
    server: Option<String>,
}

impl Trial {
    fn new(home: &Path, server: Option<String>) -> Result<Self, String> {
        let active = Toolchain::of(&root()).map_err(text)?;
        let name = active.sysroot.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let copy = home.join("toolchains").join(&name);
        say(&format!("copying {} to {}", active.sysroot.display(), copy.display()));
        copy_tree(&active.sysroot, &copy).map_err(text)?;
        if let Some(rustup) = active.sysroot.parent().and_then(Path::parent) {
            for file in ["settings.toml", "update-hashes"] {
                copy_tree(&rustup.join(file), &home.join(file)).map_err(text)?;
            }
        }
        let trial = Self { home: home.to_owned(), name, server };
        // Fails for a target that is not rustup's; the folder is gone after the next line anyway.
        let _ = run(trial.command("rustup").args(["target", "remove", TARGET, "--toolchain", &trial.name]));
        let target = trial.target();
        if target.exists() {
            fs::remove_dir_all(target).map_err(text)?;
        }
        Ok(trial)
    }

    fn by_rustup(&self) -> Result<(), String> {
        self.install_twice_at_once()?;
        say("taking a file away from what rustup installed");
        fs::remove_file(self.target().join("lib/self-contained/libc.a")).map_err(text)?;
        run(&mut self.ensure())?;
        if self.target().join("made-by-tabi.txt").exists() {
            return Err("rustup's server cannot be reached: the other way was taken".to_owned());
        }
        self.build_crates()
    }

    fn by_source(&self) -> Result<(), String> {
        self.kill_midway()?;
        // What a process leaves that dies while it copies.
        fs::create_dir_all(self.target().with_file_name(".tabi-staging-0").join("lib")).map_err(text)?;
        self.install_twice_at_once()?;
        let rustlib = self.target().with_file_name(".tabi-staging-0");
        if rustlib.exists() || !self.target().join("made-by-tabi.txt").exists() {
            return Err("the library was not made from source, or remains were left".to_owned());
        }
        self.build_crates()
    }

    /// Both have to end well, and one of them has to find the work done.
    fn install_twice_at_once(&self) -> Result<(), String> {
        let spawn = || self.ensure().spawn().map_err(text);
        for mut child in [spawn()?, spawn()?] {
            let status = child.wait().map_err(text)?;
            if !status.success() {
                return Err(format!("one of two installations at once ended with {status}"));
            }
        }
        run(&mut self.ensure())
    }

    fn kill_midway(&self) -> Result<(), String> {
        let mut child = self.ensure().stderr(Stdio::piped()).spawn().map_err(text)?;
        let output = child.stderr.take().map(BufReader::new).ok_or("no output")?;
        for line in output.lines() {
            let line = line.map_err(text)?;
            say(&line);
            if line.starts_with("compiling") {
                say("killing it now");
                child.kill().map_err(text)?;
                break;
            }
        }
        if child.wait().map_err(text)?.success() { Err("it was not killed midway".to_owned()) } else { Ok(()) }
    }

    /// Small crates with std and without, and the project's apps, in debug and in release.
    fn build_crates(&self) -> Result<(), String> {
        let mut folders = apps::folders().unwrap_or_default();
        for (name, source) in [("std", STD), ("no_std", NO_STD)] {
            let folder = self.home.join("crates").join(name);
            fs::create_dir_all(folder.join("src")).map_err(text)?;
            fs::write(folder.join("Cargo.toml"), MANIFEST.replace("NAME", name)).map_err(text)?;
            fs::write(folder.join("src/lib.rs"), source).map_err(text)?;
            folders.push(folder);
        }
        for folder in folders {
            for profile in [None, Some("--release")] {
                let mut command = self.command(&std::env::current_exe().map_err(text)?);
                command.arg("component").arg(&folder).args(profile);
                run(command.env("CARGO_TARGET_DIR", self.home.join("target")))?;
            }
        }
        Ok(())
    }

    fn ensure(&self) -> Command {
        let mut command = self.command(std::env::current_exe().unwrap_or_default());
        command.arg("ensure");
        command
    }

    /// A program that knows only the copy.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for name in ["CARGO", "RUSTC", "LD_LIBRARY_PATH", "RUSTUP_DIST_SERVER"] {
            command.env_remove(name);
        }
        command.env("RUSTUP_HOME", &self.home).env("RUSTUP_TOOLCHAIN", &self.name);
        command.envs(self.server.iter().map(|server| ("RUSTUP_DIST_SERVER", server)));
        command
    }

    fn target(&self) -> PathBuf {
        self.home.join("toolchains").join(&self.name).join("lib/rustlib").join(TARGET)
    }
}

/// Copies files and folders, links as links. The manuals stay behind: they are half of it.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.ends_with("share/doc") || !from.exists() {
        return Ok(());
    }
    if !from.is_dir() || from.is_symlink() {
        return copy_file(from, to);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_tree(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

#[cfg(unix)]
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(from)?, to);
    }
    fs::copy(from, to).map(|_| ())
}

#[cfg(not(unix))]
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to).map(|_| ())
}
