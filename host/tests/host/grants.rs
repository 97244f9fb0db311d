//! What a component may do besides answering: nothing that is not granted, and what is, under 0.2 and 0.3.

use crate::client::Client;
use crate::support::{Room, Running, config, granted};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use tabi_host::{Config, Grants, Host, Log};

/// A grant of a folder under the name `/data`.
fn grant(room: &Room, mode: &str) -> Grants {
    Grants { dirs: vec![format!("{}:/data{mode}", room.path().display())], ..Grants::default() }
}

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

/// Serves the guest for each version of WASI, with these grants.
fn lanes(grants: &Grants, test: impl Fn(&Running)) {
    for component in granted() {
        eprintln!("{}", component.display());
        test(&Running::serve(component, Config { grants: grants.clone(), ..config() }));
    }
}

#[track_caller]
fn check(running: &Running, target: &str, wanted: &str) {
    let reply = Client::connect(running.server.addr()).get(target);
    assert_eq!((reply.status, reply.text().as_str()), (200, wanted), "{target}");
}

#[test]
fn the_environment_is_what_is_granted() {
    // The host's own environment has PATH at least.
    assert!(std::env::var_os("PATH").is_some());
    lanes(&Grants::default(), |running| check(running, "/env", ""));
    let path = std::env::var("PATH").expect("text");
    let grants = Grants { env: list(&["B=2,3", "A=", "PATH", "WAY=$PATH"]), ..Grants::default() };
    lanes(&grants, |running| check(running, "/env", &format!("A=\nB=2,3\nPATH={path}\nWAY={path}")));
}

#[test]
fn configuration_values_are_what_is_granted() {
    lanes(&Grants::default(), |running| {
        check(running, "/config?key", "none");
        check(running, "/config-all", "");
        let log = running.log();
        assert!(log.contains("it imports wasi:config, and nothing is granted; values are granted"), "{log}");
    });
    let room = Room::new("config");
    let secret = room.write("secret", "of the file\n");
    let file = format!("secret=@{secret}");
    let grants = Grants { config: list(&["key=value", "empty=", &file]), ..Grants::default() };
    lanes(&grants, |running| {
        check(running, "/config?key", "value");
        check(running, "/config?empty", "");
        check(running, "/config?secret", "of the file");
        check(running, "/config?other", "none");
        check(running, "/config-all", "empty=\nkey=value\nsecret=of the file");
        assert!(!running.log().contains("wasi:config"), "nothing is missing");
    });
}

#[test]
fn values_of_files_are_read_again_at_a_reload() {
    let room = Room::new("reload");
    let secret = room.write("secret", "one");
    let config = Config { grants: Grants { config: vec![format!("key=@{secret}")], ..Grants::default() }, ..config() };
    let [component, _] = granted();
    let mut host = Host::load(component, config, Log::stderr()).expect("loads");
    let server = host.bind().and_then(|listener| host.serve(listener)).expect("serves");
    let ask = || Client::connect(server.addr()).get("/config?key").text();
    assert_eq!(ask(), "one");
    room.write("secret", "two");
    assert_eq!(ask(), "one");
    host.reload(&server, component).expect("reloads");
    assert_eq!(ask(), "two");
    // What can't be had leaves the host with what it had.
    fs::remove_file(&secret).expect("removed");
    let why = host.reload(&server, component).expect_err("no file").to_string();
    assert!(why.contains("grants.config: \"key\" wants the file"), "{why}");
    assert_eq!(ask(), "two");
}

#[test]
fn messages_go_to_the_log_without_a_grant() {
    lanes(&Grants::default(), |running| {
        check(running, "/log?orders=late", "logged");
        let log = running.log();
        let line = log.lines().find(|line| line.starts_with("warn [")).unwrap_or_else(|| panic!("no line: {log}"));
        assert!(line.ends_with("] orders: late"), "{line}");
    });
}

#[test]
fn no_folder_without_a_grant() {
    let room = Room::new("none");
    let file = room.write("file", "text");
    lanes(&Grants::default(), |running| {
        for target in [&format!("/read?{file}"), "/read?/etc/passwd", "/read?file", "/list?/", "/list?."] {
            let reply = Client::connect(running.server.addr()).get(target);
            assert!(["NotFound", "Uncategorized"].contains(&&*reply.text()), "{target}: {}", reply.text());
        }
    });
}

#[test]
fn folders_are_read_only_unless_granted_to_write() {
    let room = Room::new("mode");
    room.write("file", "text");
    room.write("sub/deep", "deep");
    lanes(&grant(&room, ""), |running| {
        check(running, "/read?/data/file", "text");
        check(running, "/read?/data/sub/deep", "deep");
        check(running, "/read?/data/none", "NotFound");
        check(running, "/list?/data", "file\nsub");
        for target in ["/write?/data/file=other", "/write?/data/new=new", "/remove?/data/file", "/folder?/data/new"] {
            let reply = Client::connect(running.server.addr()).get(target);
            assert!(["ReadOnlyFilesystem", "PermissionDenied"].contains(&&*reply.text()), "{target}: {}", reply.text());
        }
        check(running, "/rename?/data/file=/data/new", "PermissionDenied");
        check(running, "/list?/data", "file\nsub");
        check(running, "/read?/data/file", "text");
    });
    lanes(&grant(&room, ":rw"), |running| {
        check(running, "/write?/data/new=new", "written");
        check(running, "/read?/data/new", "new");
        check(running, "/rename?/data/new=/data/newer", "renamed");
        check(running, "/folder?/data/made", "made");
        check(running, "/list?/data", "file\nmade\nnewer\nsub");
        check(running, "/remove?/data/newer", "removed");
        fs::remove_dir(room.path().join("made")).expect("a folder");
    });
}

#[test]
fn nothing_leads_out_of_a_folder() {
    let room = Room::new("out");
    room.write("outside", "secret");
    room.write("inside/file", "text");
    let inside = Room::at(room.path().join("inside"));
    let link = |to: &str, name: &str| symlink(to, inside.path().join(name)).expect("a link");
    link("file", "good");
    link("../outside", "relative");
    link(&room.path().join("outside").display().to_string(), "absolute");
    link("..", "up");
    link("loop", "loop");
    lanes(&grant(&inside, ":rw"), |running| {
        check(running, "/read?/data/good", "text");
        for target in [
            "/read?/data/relative",
            "/read?/data/absolute",
            "/read?/data/up/outside",
            "/read?/data/loop",
            "/read?/data/../outside",
            "/read?/data/../../outside",
            "/list?/data/up",
            "/write?/data/relative=x",
            "/write?/data/up/new=x",
            "/rename?/data/file=/data/up/file",
            "/remove?/data/up/outside",
        ] {
            let text = Client::connect(running.server.addr()).get(target).text();
            assert!(!["text", "secret", "written", "renamed", "removed"].contains(&&*text), "{target}: {text}");
        }
    });
    assert_eq!(fs::read_to_string(room.path().join("outside")).expect("still there"), "secret");
    let names = fs::read_dir(room.path()).expect("a folder").count();
    assert_eq!(names, 2, "nothing was put beside the folder");
}

/// Opening a pipe that nobody writes to waits; it is the one that asked who waits.
#[test]
fn a_file_that_makes_a_guest_wait_holds_up_nobody_else() {
    let room = Room::new("pipe");
    room.write("file", "text");
    let made = Command::new("mkfifo").arg(room.path().join("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    lanes(&grant(&room, ""), |running| {
        // One for each worker, and one more.
        let mut waiting: Vec<_> = (0..3).map(|_| Client::connect(running.server.addr())).collect();
        for client in &mut waiting {
            client.send("GET /read?/data/pipe HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        for _ in 0..20 {
            check(running, "/env", "");
        }
        for client in &mut waiting {
            assert_eq!(client.reply().status, 504);
        }
        let start = std::time::Instant::now();
        running.server.drain();
        assert!(start.elapsed().as_secs() < 10, "the end came late");
    });
}
