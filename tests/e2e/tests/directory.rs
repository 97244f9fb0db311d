//! A folder that the server grants, served by a component: `wasi:filesystem` under `tabi serve` and `wasmtime serve`.

use e2e::{Server, release};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};
use tabi_corpus::{Answer, Request};
use tabi_toolchain::Options;

const TAG: &str = "\"6-1751364000.737000000\"";
const DATE: &str = "Tue, 01 Jul 2025 10:00:00 GMT";
const LARGE: usize = 20 << 20;

/// The versions of WASI that the component exports to: in each it comes to its files in another way.
const LANES: [&[&str]; 3] = [&["p2"], &["p3"], &["p2", "p3"]];

/// Returns the app of `tests/costs` that has `Directory::new("files")` at `/files/{*path}`.
fn components() -> &'static [PathBuf] {
    static BUILT: OnceLock<Vec<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| LANES.iter().map(|versions| build(versions)).collect())
}

fn build(versions: &[&str]) -> PathBuf {
    let root = xtask::root();
    let features = versions.iter().chain(&["directory"]).map(|name| (*name).to_owned()).collect();
    let options = Options {
        release: true,
        features,
        no_default_features: true,
        quiet: true,
        target_dir: Some(root.join("target/guests").join(versions.concat())),
        ..Options::default()
    };
    let built = tabi_toolchain::build_component(&root.join("tests/costs"), &options, &mut |line| eprintln!("{line}"));
    built.unwrap_or_else(|error| panic!("{error}"))
}

/// The servers.
#[derive(Clone, Copy, Debug)]
enum Host {
    Tabi,
    Wasmtime,
}

/// Runs a test with each of the components under each of the servers, and a room of its own for each.
fn lanes(name: &str, test: impl Fn(&Room)) {
    for (versions, component) in LANES.iter().zip(components()) {
        for host in [Host::Tabi, Host::Wasmtime] {
            eprintln!("{versions:?} {host:?}");
            test(&Room::new(&[name, &versions.concat()].concat(), component, host));
        }
    }
}

/// A folder of a test's own, gone when it is dropped.
struct Room(PathBuf, &'static Path, Host);

impl Room {
    fn new(name: &str, component: &'static Path, host: Host) -> Room {
        let room = std::env::temp_dir().join(format!("tabi-e2e-directory-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&room);
        let room = Room(room, component, host);
        for (name, content) in [
            ("outside.txt", "outside"),
            ("public/app.css", "body{}"),
            ("public/a b.txt", "space"),
            ("public/empty.txt", ""),
            ("public/.hidden", "hidden"),
            ("public/docs/index.html", "docs"),
            ("public/docs/caf\u{e9}.json", "0123456789"),
            ("public/bare/file", "0123456789"),
        ] {
            room.write(name, content.as_bytes());
        }
        room
    }

    fn write(&self, name: &str, content: &[u8]) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let time = UNIX_EPOCH + Duration::from_millis(1_751_364_000_737);
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    }

    /// Serves with these folders of the room granted, each `folder::name`, and memory for a few chunks only.
    fn serve(&self, grants: &[&str]) -> Server {
        if let Host::Tabi = self.2 {
            let grants = grants.iter().map(|grant| {
                let (folder, name) = grant.split_once("::").unwrap();
                format!("{}:{name}", self.0.join(folder).display())
            });
            let dirs = format!("grants.dirs={}", grants.collect::<Vec<_>>().join(","));
            return Server::tabi_with(self.1, &[&dirs, "limits.memory=3MiB"]);
        }
        let mut command = Command::new(release("wasmtime-serve"));
        command.args(["serve", "-Scli", "-Wmax-memory-size=3145728", "--addr", "127.0.0.1:0"]);
        for grant in grants {
            let (folder, name) = grant.split_once("::").unwrap();
            command.arg("--dir").arg(format!("{}::{name}", self.0.join(folder).display()));
        }
        command.arg(self.1);
        Server::start(command, None)
    }

    fn public(&self) -> Server {
        self.serve(&["public::files"])
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn send(server: &Server, method: &str, target: &str, fields: &[(&str, &str)]) -> Answer {
    let fields = [("host", "localhost")].iter().chain(fields);
    let request = Request {
        method: method.into(),
        target: target.into(),
        headers: fields.map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
        body: Vec::new(),
    };
    tabi_corpus::exchange(&server.address, &request).unwrap_or_else(|error| panic!("{target}: {error}"))
}

#[track_caller]
fn check(server: &Server, target: &str, fields: &[(&str, &str)], status: u16, content: &str) -> Answer {
    let answer = send(server, "GET", target, fields);
    let text = String::from_utf8_lossy(&answer.body);
    assert_eq!((answer.status, &*text), (status, content), "{target} {fields:?}");
    answer
}

#[track_caller]
fn has(answer: &Answer, expected: &[(&str, Option<&str>)]) {
    for (name, value) in expected {
        let values: Vec<_> = answer.values(name).collect();
        assert_eq!(values, value.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn files() {
    lanes("files", |room| {
        let server = room.public();
        let fields = [
            ("content-type", Some("text/css; charset=utf-8")),
            ("content-length", Some("6")),
            ("etag", Some(TAG)),
            ("last-modified", Some(DATE)),
            ("cache-control", Some("no-cache")),
            ("accept-ranges", Some("bytes")),
        ];
        has(&check(&server, "/files/app.css", &[], 200, "body{}"), &fields);
        let head = send(&server, "HEAD", "/files/app.css", &[]);
        assert_eq!((head.status, head.body.len()), (200, 0));
        has(&head, &fields);
        check(&server, "/files/a%20b.txt?q", &[], 200, "space");
        has(&check(&server, "/files/empty.txt", &[], 200, ""), &[("content-length", Some("0"))]);
        let json = check(&server, "/files/docs/caf%C3%A9.json", &[], 200, "0123456789");
        has(&json, &[("content-type", Some("application/json"))]);
        let index = check(&server, "/files/docs/", &[], 200, "docs");
        has(&index, &[("content-type", Some("text/html; charset=utf-8"))]);
        has(&check(&server, "/files/docs?q", &[], 308, ""), &[("location", Some("./docs/?q"))]);
        has(&check(&server, "/files/none", &[], 404, "not found"), &[("etag", None), ("last-modified", None)]);
        assert_eq!(send(&server, "HEAD", "/files/none", &[]).status, 404);
        assert_eq!(send(&server, "POST", "/files/app.css", &[]).status, 405);
    });
}

#[test]
fn conditions_and_ranges() {
    lanes("ranges", |room| {
        let server = room.public();
        let reply = check(&server, "/files/app.css", &[("if-none-match", TAG)], 304, "");
        // With a tag, the date would say nothing more (RFC 9110, section 15.4.5).
        has(&reply, &[("etag", Some(TAG)), ("last-modified", None), ("content-type", None), ("content-length", None)]);
        check(&server, "/files/app.css", &[("if-modified-since", DATE)], 304, "");
        check(&server, "/files/app.css", &[("if-modified-since", "Tue, 01 Jul 2025 09:59:59 GMT")], 200, "body{}");
        check(&server, "/files/app.css", &[("if-none-match", "\"x\"")], 200, "body{}");
        check(&server, "/files/app.css", &[("if-match", "\"x\"")], 412, "precondition failed");
        for (range, status, content, place) in [
            ("bytes=2-4", 206, "234", Some("bytes 2-4/10")),
            ("bytes=-3", 206, "789", Some("bytes 7-9/10")),
            ("bytes=8-", 206, "89", Some("bytes 8-9/10")),
            ("bytes=0-100", 206, "0123456789", Some("bytes 0-9/10")),
            ("bytes=10-", 416, "range not satisfiable", Some("bytes */10")),
            ("bytes=0-1,4-5", 200, "0123456789", None),
            ("bytes=x", 200, "0123456789", None),
        ] {
            let answer = check(&server, "/files/bare/file", &[("range", range)], status, content);
            has(&answer, &[("content-range", place), ("content-length", Some(&content.len().to_string()))]);
        }
        let range = ("range", "bytes=0-0");
        check(&server, "/files/bare/file", &[range, ("if-range", DATE)], 206, "0");
        check(&server, "/files/bare/file", &[range, ("if-range", "\"x\"")], 200, "0123456789");

        // What changes while the app runs is current at the next request.
        fs::write(room.0.join("public/app.css"), "p{}").unwrap();
        let reply = check(&server, "/files/app.css", &[("if-none-match", TAG)], 200, "p{}");
        has(&reply, &[("content-length", Some("3"))]);
        fs::remove_file(room.0.join("public/app.css")).unwrap();
        check(&server, "/files/app.css", &[], 404, "not found");
    });
}

#[test]
fn nothing_leads_out() {
    lanes("out", |room| {
        let server = room.public();
        let absolute = room.0.join("outside.txt").display().to_string();
        let encoded = absolute.replace('/', "%2f");
        for target in [
            "../outside.txt",
            "%2e%2e/outside.txt",
            "%2E%2e/outside.txt",
            ".%2e/outside.txt",
            "docs/../../outside.txt",
            "docs/%2e%2e/%2e%2e/outside.txt",
            "docs/../app.css",
            "..%2foutside.txt",
            "%2e%2e%2foutside.txt",
            "%2e%2e%2Foutside.txt",
            "%252e%252e%252foutside.txt",
            "%252e%252e/outside.txt",
            "..%5coutside.txt",
            "%2e%2e%5Coutside.txt",
            "docs%5c..%5c..%5coutside.txt",
            "..",
            "../",
            "%2e%2e",
            ".../outside.txt",
            "..;/outside.txt",
            "..%20/outside.txt",
            "%e2%80%a5/outside.txt",
            "%ef%bc%8e%ef%bc%8e/outside.txt",
            "..%ef%bc%8foutside.txt",
            "..%0aoutside.txt",
            ".",
            "./app.css",
            "/app.css",
            "docs//index.html",
            "docs%2findex.html",
            "app.css/",
            "app.css/x",
            "",
            "bare",
            "bare/",
            ".hidden",
            "C:/outside.txt",
            "app.css::$DATA",
            &absolute,
            &encoded,
            &absolute[1..],
        ] {
            check(&server, &format!("/files/{target}"), &[], 404, "not found");
        }
        // Of a path that is not well-formed the app sees nothing.
        for target in
            ["app.css%00", "%00", "..%00/outside.txt", "%c0%ae%c0%ae/outside.txt", "..%c0%afoutside.txt", "%2", "%"]
        {
            assert_eq!(send(&server, "GET", &format!("/files/{target}"), &[]).status, 400, "{target}");
        }
        // Whether the server lets such a byte pass is its own affair.
        for target in
            ["..\\outside.txt", "docs\\..\\..\\outside.txt", "app.css\0", "..\0/outside.txt", "..\u{2215}outside.txt"]
        {
            let answer = send(&server, "GET", &format!("/files/{target}"), &[]);
            assert!(matches!(answer.status, 400 | 404), "{target:?}: {}", answer.status);
        }
        check(&server, "/files/app.css", &[], 200, "body{}");
    });
}

#[cfg(unix)]
#[test]
fn links_stay_inside() {
    lanes("links", |room| {
        let public = room.0.join("public");
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, public.join(name)).unwrap();
        link("app.css", "inside.css");
        link("docs", "manual");
        link("../outside.txt", "outside.txt");
        link(room.0.join("outside.txt").to_str().unwrap(), "absolute.txt");
        link("..", "up");
        link("inside.txt", "loop.txt");
        link("loop.txt", "inside.txt");
        link("outside.txt", "chain.txt");
        link("../../outside.txt", "docs/deep.txt");
        let made = Command::new("mkfifo").arg(public.join("pipe")).status().unwrap();
        assert!(made.success());
        let server = room.public();
        check(&server, "/files/inside.css", &[], 200, "body{}");
        check(&server, "/files/manual/", &[], 200, "docs");
        for name in [
            "outside.txt",
            "absolute.txt",
            "up/outside.txt",
            "up/public/app.css",
            "loop.txt",
            "chain.txt",
            "docs/deep.txt",
        ] {
            check(&server, &format!("/files/{name}"), &[], 404, "not found");
        }
        // To open it would wait for somebody who writes.
        check(&server, "/files/pipe", &[], 404, "not found");
    });
}

/// The guest has memory for less than a sixth of the file.
#[test]
fn a_large_file_is_streamed() {
    lanes("large", |room| {
        let bytes: Vec<u8> = (0..LARGE as u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        room.write("public/large.bin", &bytes);
        let server = room.public();
        check(&server, "/files/app.css", &[], 200, "body{}");
        let before = server.peak_memory();
        let answer = send(&server, "GET", "/files/large.bin", &[]);
        assert!(answer.status == 200 && answer.body == bytes, "{}: {} bytes came", answer.status, answer.body.len());
        has(&answer, &[("content-length", Some("20971520")), ("content-type", Some("application/octet-stream"))]);
        let part = send(&server, "GET", "/files/large.bin", &[("range", "bytes=70001-20000000")]);
        assert!(part.status == 206 && part.body == bytes[70_001..=20_000_000], "{} bytes came", part.body.len());
        has(&part, &[("content-range", Some("bytes 70001-20000000/20971520"))]);
        if let (Some(before), Some(after)) = (before, server.peak_memory()) {
            assert!(after - before < 12 << 20, "the server's memory grew by {} bytes", after - before);
        }
    });
}

/// The folder has its name in the app from the grant: itself, or the nearest one above it.
#[test]
fn grants() {
    lanes("grants", |room| {
        room.write("files/app.css", b"other");
        let css = "/files/app.css";
        for (grants, status, content) in [
            (&["public::files"][..], 200, "body{}"),
            (&["public::/files"], 200, "body{}"),
            (&["public::./files/"], 200, "body{}"),
            (&["::."], 200, "other"),
            (&["::/"], 200, "other"),
            (&["::/", "public::/files"], 200, "body{}"),
            (&["public::files", "::."], 200, "body{}"),
            (&["public::file"], 404, "not found"),
            (&["public::files/app"], 404, "not found"),
            (&[], 404, "not found"),
        ] {
            eprintln!("{grants:?}");
            check(&room.serve(grants), css, &[], status, content);
        }
    });
}
