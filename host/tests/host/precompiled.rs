//! Components that were compiled before: served like others, and refused where they do not fit.

use crate::client::Client;
use crate::start::tabi;
use crate::support::{Lines, Room, Running, config, granted, misbehave, misbehave3};
use crate::watched::Watched;
use sha2::{Digest, Sha256};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tabi_host::{AppEntry, Config, Grants, Host, Log, Outline, Site};

/// Compiles a component, and gives the file and its room.
fn compiled(component: &Path, name: &str, portable: bool) -> (PathBuf, Room) {
    let room = Room::new(name);
    let file = room.path().join("app.cwasm");
    if let Err(error) = tabi_host::compile(component, &file, portable) {
        panic!("{} does not compile: {error}", component.display());
    }
    (file, room)
}

/// Nothing is compiled anew that was compiled before, so there is no cache to be found.
fn no_cache() -> Config {
    Config { cache_dir: None, ..config() }
}

#[test]
fn both_versions_are_served() {
    for (component, portable) in [(misbehave(), false), (misbehave(), true), (misbehave3(), false)] {
        let (file, _room) = compiled(component, "both", portable);
        let running = Running::serve(&file, no_cache());
        let reply = Client::connect(running.server.addr()).get("/early");
        assert_eq!((reply.status, reply.text().as_str()), (200, "early"));
    }
}

#[test]
fn instances_are_set_back() {
    let (file, _room) = compiled(misbehave(), "set-back", false);
    let watched = Watched::start(&file, Config { threads: 1, ..no_cache() });
    for _ in 0..3 {
        assert_eq!(watched.client().get("/counter").text(), "1");
    }
    assert!(watched.settled()["tabi_instance_restores_total"] >= 2.0);
}

#[test]
fn the_outline_is_that_of_the_component() {
    let (file, _room) = compiled(misbehave3(), "outline", false);
    let [before, after] = [misbehave3(), &*file].map(|path| Outline::open(path).expect("a component"));
    assert_eq!((before.world, before.memory, &before.exports), (after.world, after.memory, &after.exports));
    assert_eq!(before.imports, after.imports);
    let origin = after.origin.expect("was compiled");
    assert!(origin.by.starts_with("tabi 0") && origin.by.ends_with(" with wasmtime 48"), "{origin:?}");
    let digest: [u8; 32] = Sha256::digest(std::fs::read(misbehave3()).expect("a file")).into();
    assert_eq!(origin.component, digest);
    assert!(before.origin.is_none());
}

#[test]
fn grants_hold() {
    for component in granted() {
        let (file, _room) = compiled(component, "granted", false);
        let grants = Grants { config: vec!["key=value".to_owned()], ..Grants::default() };
        let running = Running::serve(&file, Config { grants, ..no_cache() });
        assert_eq!(Client::connect(running.server.addr()).get("/config?key").text(), "value");
        let running = Running::serve(&file, no_cache());
        running.wait_for("it imports wasi:config, and nothing is granted");
        assert_eq!(Client::connect(running.server.addr()).get("/config?key").text(), "none");
    }
}

#[test]
fn apps_and_reloads_take_either() {
    let (file, _room) = compiled(misbehave(), "apps", false);
    let app = |prefix: &str, path: &Path| AppEntry {
        prefix: prefix.to_owned(),
        path: path.to_owned(),
        strip_prefix: true,
        name: prefix.trim_matches('/').to_owned(),
        ..AppEntry::default()
    };
    let apps = vec![app("/a", &file), app("/b", misbehave())];
    let site = Site { apps, ..Site::default() };
    let mut host = Host::load_apps(Config { site, ..config() }, Log::to(Lines::default())).expect("loads");
    let server = host.serve(host.bind().expect("listens")).expect("serves");
    // Loading takes longer than an idle connection lives here.
    let twice = |target: &str| {
        let mut client = Client::connect(server.addr());
        [client.get(target).text(), client.get(target).text()]
    };
    assert_eq!([twice("/a/counter"), twice("/b/counter")].concat(), ["1", "1", "1", "1"]);
    assert!(!host.reload_app(&server, 0, &file).expect("is the same"), "nothing has changed");
    assert!(host.reload_app(&server, 0, misbehave3()).expect("loads"));
    assert_eq!(twice("/a/counter"), ["1", "2"]);
    assert!(host.reload_app(&server, 0, &file).expect("loads"));
    assert_eq!(twice("/a/counter"), ["1", "1"]);
}

/// Has `tabi` refuse a file with one line that has these parts.
#[track_caller]
fn refused(file: &Path, parts: &[&str]) {
    let output = tabi().args(["serve", "--port", "0"]).arg(file).output().expect("tabi runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{stderr}");
    for part in parts.iter().chain(&[&*file.display().to_string()]) {
        assert!(stderr.contains(part), "{part:?}: {stderr}");
    }
}

/// Where the checksum is, over all that follows it.
const CHECKSUM: std::ops::Range<usize> = 10..42;

#[test]
fn what_does_not_fit_is_refused() {
    let (file, room) = compiled(misbehave(), "refused", false);
    let whole = std::fs::read(&file).expect("a file");
    let write = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        let path = room.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let sign = |bytes: &mut Vec<u8>| {
        let checksum = Sha256::digest(&bytes[CHECKSUM.end..]);
        bytes[CHECKSUM].copy_from_slice(&checksum);
    };
    let find = |part: &[u8]| whole.windows(part.len()).position(|window| window == part).expect("is in it");

    refused(&write("cut.cwasm", &|bytes| bytes.truncate(20)), &["is cut off", "compile the component again"]);
    refused(&write("short.cwasm", &|bytes| bytes.truncate(bytes.len() - 1)), &["is damaged"]);
    refused(&write("bit.cwasm", &|bytes| *bytes.last_mut().expect("some") ^= 1), &["is damaged"]);
    refused(&write("newer.cwasm", &|bytes| bytes[8] = 200), &["written by another version of tabi"]);
    refused(&write("features.cwasm", &|bytes| bytes[9] = 128), &["written by another version of tabi"]);
    // What wasmtime says of code from a version before.
    let version = find(b"\0\x0248");
    let other = write("version.cwasm", &|bytes| {
        bytes[version + 3] = b'7';
        sign(bytes);
    });
    refused(&other, &["was compiled by tabi 0", "can't be used by tabi 0", "incompatible version '47'"]);
    let nothing = write("nothing.cwasm", &|bytes| {
        bytes.truncate(find(b"\x7fELF"));
        sign(bytes);
    });
    refused(&nothing, &["can't be used by tabi"]);
    // Wasmtime's own form says too little to be served.
    let bare = write("bare.cwasm", &|bytes| drop(bytes.drain(..find(b"\x7fELF"))));
    refused(&bare, &["is not a WebAssembly component", "tabi compile"]);

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o664)).expect("mine");
    refused(&file, &["has machine code", "chmod go-w"]);
}

#[test]
fn the_program_compiles_and_checks() {
    let room = Room::new("compile");
    let component = room.path().join("app.wasm");
    std::fs::copy(misbehave(), &component).expect("copied");
    let run = |args: &[&str]| {
        let output = tabi().args(args).current_dir(room.path()).output().expect("tabi runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(run(&["compile", "app.wasm"]), (Some(0), "app.cwasm\n".to_owned(), String::new()));
    let mode = std::fs::metadata(room.path().join("app.cwasm")).expect("written").permissions().mode();
    assert_eq!(mode & 0o133, 0, "{mode:o}");
    assert_eq!(run(&["compile", "app.wasm", "-o", "other", "--portable"]).1, "other\n");
    let (code, _, stderr) = run(&["compile", "app.cwasm"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("is compiled already"), "{stderr}");
    for file in ["app.cwasm", "other"] {
        let (code, stdout, stderr) = run(&["check", file]);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{stdout}");
        assert!(stdout.contains(" is fine: it exports wasi:http/incoming-handler@0.2"), "{stdout}");
        assert!(stdout.contains("it was compiled by tabi 0"), "{stdout}");
    }
    let (code, stdout, _) = run(&["check", "app.cwasm", "--json"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains(r#""compiled_by":"tabi 0"#), "{stdout}");
}
