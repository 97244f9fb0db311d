//! One installation at a time, whole or not at all, by whichever way works.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::sysroot::{MARKER, is_whole};
use crate::{Error, TARGET, Toolchain, build_std, debian, rustup};

/// How the folders are called in which a library is made before it gets its name.
const STAGING: &str = ".tabi-staging-";

/// How often somebody who waits for another installation hears of it.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Installs the target, unless another process does so first.
pub(crate) fn install(toolchain: &Toolchain, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let lock = lock(toolchain, progress)?;
    let result = if toolchain.has_target() { Ok(()) } else { install_locked(toolchain, progress) };
    drop(lock);
    result
}

fn install_locked(toolchain: &Toolchain, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    clear_staging(&toolchain.rustlib());
    progress(&format!("the standard library for {TARGET} is missing in {}", toolchain.sysroot.display()));
    let first = match rustup::add_target(toolchain, progress) {
        Ok(()) => return Ok(()),
        Err(reason) => reason,
    };
    progress(&format!("rustup could not install it ({})", first_line(&first)));
    progress("building it from Debian's packages instead");
    match from_source(toolchain, progress) {
        Ok(()) => Ok(()),
        Err(second) => Err(Error::new(neither(toolchain, &first, &second))),
    }
}

/// The second way, in a folder that is removed whatever happens.
fn from_source(toolchain: &Toolchain, progress: &mut dyn FnMut(&str)) -> Result<(), String> {
    let work = WorkDir::new(&toolchain.rustlib()).map_err(|error| format!("no folder to work in: {error}"))?;
    let started = Instant::now();
    let parts = debian::parts(toolchain, &work.0, progress)?;
    let archives = build_std::compile(toolchain, &parts, &work.0, progress)?;
    progress(&format!("copying it into {}", toolchain.target_dir().display()));
    let staging = work.0.join("whole");
    let copied =
        stage(toolchain, &parts, &archives, &staging).and_then(|()| put_in_place(&staging, &toolchain.target_dir()));
    copied.map_err(|error| format!("{}: {error}", toolchain.rustlib().display()))?;
    if !toolchain.has_target() {
        return Err("the built library is not whole".to_owned());
    }
    progress(&format!("{TARGET} is ready after {} s", started.elapsed().as_secs()));
    Ok(())
}

/// Puts a complete target folder together at `staging`.
fn stage(toolchain: &Toolchain, parts: &debian::Parts, archives: &[PathBuf], staging: &Path) -> io::Result<()> {
    let lib = staging.join("lib");
    let own = lib.join("self-contained");
    fs::create_dir_all(&own)?;
    for file in archives {
        copy_into(file, &lib)?;
    }
    for name in ["crt1-command.o", "crt1-reactor.o", "libc.a"] {
        copy_into(&parts.libc.join(name), &own)?;
    }
    let marker = format!(
        "{}\n{}\n\nThis folder was made by tabi, because rustup could not install {TARGET}.\n\
         To have rustup's own instead: remove this folder, then `rustup target add {TARGET}`.\n",
        toolchain.marker_line(),
        parts.origin
    );
    fs::write(staging.join(MARKER), marker)
}

/// Gives a complete folder its name: a process that is killed before leaves only its work folder.
fn put_in_place(staging: &Path, target: &Path) -> io::Result<()> {
    if !is_whole(staging) {
        return Err(io::Error::other("the built library lacks files"));
    }
    if target.exists() {
        fs::remove_dir_all(target)?;
    }
    fs::rename(staging, target)
}

fn copy_into(file: &Path, folder: &Path) -> io::Result<()> {
    let name = file.file_name().ok_or_else(|| io::Error::other("a file without a name"))?;
    fs::copy(file, folder.join(name))
        .map(|_| ())
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

/// Removes what killed processes left behind. Only the holder of the lock may do this.
fn clear_staging(rustlib: &Path) {
    let entries = fs::read_dir(rustlib).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(STAGING)) {
        // What cannot be removed is in nobody's way: the next folder has another name.
        let _ = fs::remove_dir_all(entry.path());
    }
}

/// Waits until no other process installs into this toolchain. The system gives the lock back when
/// its holder dies.
fn lock(toolchain: &Toolchain, progress: &mut dyn FnMut(&str)) -> Result<File, Error> {
    let path = toolchain.rustlib().join(".tabi-lock");
    let file = File::create(&path).map_err(|error| Error::new(not_writable(toolchain, &error)))?;
    let started = Instant::now();
    let mut last = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                return Err(Error::new(format!("{}: {error}", path.display())));
            }
        }
        if last.is_none_or(|last: Instant| last.elapsed() >= HEARTBEAT) {
            last = Some(Instant::now());
            progress(&format!(
                "waiting for another process that installs {TARGET} ({} s)",
                started.elapsed().as_secs()
            ));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn not_writable(toolchain: &Toolchain, error: &io::Error) -> String {
    format!(
        "the standard library for {TARGET} is missing, and {} cannot be written: {error}\n\
         As the owner of that folder, type:\n    {}",
        toolchain.rustlib().display(),
        rustup::command_line(toolchain)
    )
}

/// The last word: both reasons, and what to type for either way.
fn neither(toolchain: &Toolchain, first: &str, second: &str) -> String {
    format!(
        "the standard library for {TARGET} (rustc {}) could not be installed\n  \
         by rustup: {first}\n  \
         from Debian's packages: {second}\n\
         Type one of these:\n    {}\n    {}",
        toolchain.release,
        rustup::command_line(toolchain),
        debian::command_line(toolchain)
    )
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A folder of this process alone, gone with the value. It lies in the toolchain, where it can be
/// moved from in one step, and where the next process finds what a killed one has left.
struct WorkDir(PathBuf);

impl WorkDir {
    fn new(rustlib: &Path) -> io::Result<Self> {
        let path = rustlib.join(format!("{STAGING}{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for WorkDir {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next process that installs something.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// A folder for one test, laid out like a toolchain's.
    pub(crate) struct Scratch(PathBuf);

    impl Scratch {
        pub(crate) fn new(name: &str) -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("tabi-toolchain-test-{name}-{}-{count}", std::process::id()));
            fs::create_dir_all(path.join("lib/rustlib")).unwrap();
            Self(path)
        }

        pub(crate) fn path(&self) -> &Path {
            &self.0
        }

        pub(crate) fn toolchain(&self, release: &str, commit: &str) -> Toolchain {
            Toolchain {
                sysroot: self.0.clone(),
                release: release.into(),
                commit: commit.into(),
                dir: self.0.clone(),
                rustc: "rustc".into(),
            }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    /// Archives and C library as the two steps before leave them.
    fn inputs(scratch: &Scratch) -> (debian::Parts, Vec<PathBuf>) {
        let libc = scratch.path().join("libc");
        fs::create_dir_all(&libc).unwrap();
        let names = ["libstd-1.rlib", "libcore-1.rlib", "libc.a", "crt1-command.o", "crt1-reactor.o"];
        names.iter().for_each(|name| fs::write(libc.join(name), *name).unwrap());
        let archives = ["libstd-1.rlib", "libcore-1.rlib"].map(|name| libc.join(name)).to_vec();
        (debian::Parts { library: "/src".into(), libc, origin: "from here".into() }, archives)
    }

    #[test]
    fn replaces_a_half_installed_library_at_last() {
        let scratch = Scratch::new("replace");
        let toolchain = scratch.toolchain("1.95.0", "598");
        let (parts, archives) = inputs(&scratch);
        let staging = toolchain.rustlib().join(format!("{STAGING}1"));
        fs::create_dir_all(toolchain.target_dir().join("lib")).unwrap();
        fs::write(toolchain.target_dir().join("lib/libstd-old.rlib"), "").unwrap();
        assert!(!toolchain.has_target());

        stage(&toolchain, &parts, &archives, &staging).unwrap();
        assert!(!toolchain.has_target(), "nothing may be in place before the last step");
        put_in_place(&staging, &toolchain.target_dir()).unwrap();
        assert!(toolchain.has_target());
        assert!(!toolchain.target_dir().join("lib/libstd-old.rlib").exists());
        let marker = fs::read_to_string(toolchain.target_dir().join(MARKER)).unwrap();
        assert!(marker.starts_with("rustc 1.95.0 (598)\nfrom here\n"), "{marker}");

        // A later compiler does not take it for its own.
        assert!(!scratch.toolchain("1.96.0", "77").has_target());
    }

    #[test]
    fn leaves_no_half_library_when_a_file_is_missing() {
        let scratch = Scratch::new("half");
        let toolchain = scratch.toolchain("1.95.0", "598");
        let (parts, mut archives) = inputs(&scratch);
        let staging = toolchain.rustlib().join(format!("{STAGING}1"));
        archives.pop();
        stage(&toolchain, &parts, &archives, &staging).unwrap();
        let error = put_in_place(&staging, &toolchain.target_dir()).unwrap_err().to_string();
        assert_eq!(error, "the built library lacks files");
        archives.push(scratch.path().join("nowhere.rlib"));
        let error = stage(&toolchain, &parts, &archives, &staging).unwrap_err().to_string();
        assert!(error.contains("nowhere.rlib: "), "{error}");
        assert!(!toolchain.target_dir().exists());
        clear_staging(&toolchain.rustlib());
        assert!(!staging.exists());
    }

    #[test]
    fn lets_one_process_install_at_a_time() {
        let scratch = Scratch::new("lock");
        let toolchain = scratch.toolchain("1.95.0", "598");
        let held = lock(&toolchain, &mut |line| panic!("{line}")).unwrap();
        let (sender, waits) = std::sync::mpsc::channel();
        let other = toolchain.clone();
        let second = std::thread::spawn(move || {
            // The file was locked when this began, so the first line says that it waits.
            lock(&other, &mut |line| sender.send(line.to_owned()).unwrap()).map(drop)
        });
        assert_eq!(waits.recv().unwrap(), "waiting for another process that installs wasm32-wasip2 (0 s)");
        drop(held);
        second.join().unwrap().unwrap();
    }

    #[test]
    fn says_what_to_type() {
        let toolchain = Scratch::new("words").toolchain("1.95.0", "598");
        let text = neither(&toolchain, "`rustup` is not installed", "this machine has no apt source");
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "the standard library for wasm32-wasip2 (rustc 1.95.0) could not be installed",
                "  by rustup: `rustup` is not installed",
                "  from Debian's packages: this machine has no apt source",
                "Type one of these:",
                "    rustup target add wasm32-wasip2",
                "    apt-get update && apt-get install -t trixie-backports 'rust-src=1.95.0*' wasi-libc   \
             (with trixie-backports, or sid, among the apt sources), then the same command again",
            ]
        );
        // A toolchain folder that is gone stands for every one that cannot be written.
        let text = lock(&toolchain, &mut |line| panic!("{line}")).unwrap_err().to_string();
        assert!(text.starts_with("the standard library for wasm32-wasip2 is missing, and "), "{text}");
        assert!(text.ends_with("type:\n    rustup target add wasm32-wasip2"), "{text}");
    }
}
