//! Tables for `directory.rs`, with folders of their own.

use super::*;
use crate::Router;
use crate::testing::{Client, Reply};
use alloc::string::String;
use alloc::vec::Vec;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};
use std::{env, format, fs, process};

/// A folder of a test's own, gone when it is dropped.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Room {
        let room = env::temp_dir().join(format!("tabi-directory-{}-{name}", process::id()));
        let _ = fs::remove_dir_all(&room);
        for (name, content) in [
            ("outside.txt", "outside"),
            ("public/app.css", "body{}"),
            ("public/app.css.br", "<br>"),
            ("public/app.css.gz", "<gz>"),
            ("public/a b.txt", "space"),
            ("public/empty.txt", ""),
            ("public/.hidden", "hidden"),
            ("public/.well-known/x", "known"),
            ("public/docs/index.html", "docs"),
            ("public/bare/file", "0123456789"),
            ("public/%2F.txt", "odd"),
        ] {
            let path = room.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            let time = UNIX_EPOCH + Duration::from_millis(1_751_364_000_737);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        Room(room)
    }

    fn client(&self, change: fn(Directory) -> Directory) -> Client {
        let folder: &'static str = self.0.join("public").to_str().map(String::from).unwrap().leak();
        let handler = || change(Directory::new(folder));
        Client::new(Router::new().get("/f/{*path}", handler()).any("/all/{*path}", handler()))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn check(client: &Client, target: &str, fields: &[(&str, &str)], status: u16, content: &str) -> Reply {
    let call = fields.iter().fold(client.get(target), |call, (name, value)| call.header(name, value));
    let reply = call.send();
    assert_eq!((reply.status().code(), reply.text().as_str()), (status, content), "{target}");
    reply
}

const TAG: &str = "\"6-1751364000.737000000\"";
const DATE: &str = "Tue, 01 Jul 2025 10:00:00 GMT";

#[test]
fn files() {
    let room = Room::new("files");
    let client = room.client(|files| files);
    let reply = check(&client, "/f/app.css", &[("accept-encoding", "br")], 200, "body{}");
    for (name, value) in [
        ("content-type", Some("text/css; charset=utf-8")),
        ("content-length", Some("6")),
        ("etag", Some(TAG)),
        ("last-modified", Some(DATE)),
        ("cache-control", Some("no-cache")),
        ("accept-ranges", Some("bytes")),
        ("vary", None),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
    check(&client, "/f/a%20b.txt", &[], 200, "space");
    check(&client, "/f/empty.txt", &[], 200, "");
    check(&client, "/f/.well-known/x", &[], 200, "known");
    check(&client, "/f/docs/", &[], 200, "docs");
    assert_eq!(check(&client, "/f/docs?q", &[], 308, "").header("location"), Some("./docs/?q"));
    let reply = client.head("/f/app.css").send();
    assert_eq!((reply.status().code(), reply.header("content-length")), (200, Some("6")));
    assert_eq!(client.post("/all/app.css").send().status().code(), 405);
    let kept = room.client(|files| files.with_cache_control("max-age=60"));
    assert_eq!(check(&kept, "/f/app.css", &[], 200, "body{}").header("cache-control"), Some("max-age=60"));
}

#[test]
fn nothing_is_repaired() {
    let room = Room::new("repair");
    let client = room.client(|files| files);
    for target in [
        "/f/none",
        "/f/",
        "/f/bare",
        "/f/bare/",
        "/f/.hidden",
        "/f/../outside.txt",
        "/f/%2e%2e/outside.txt",
        "/f/docs/../app.css",
        "/f/..%2foutside.txt",
        "/f/..%5coutside.txt",
        "/f/docs%2findex.html",
        "/f/%2F.txt",
        "/f/%252F.txt",
        "/f//app.css",
        "/f/./app.css",
        "/f/docs//index.html",
        "/f/app.css/",
        "/f/app.css/x",
        "/f/C:/app.css",
        "/f/app.css::$DATA",
    ] {
        check(&client, target, &[], 404, "not found");
    }
    for target in ["/f/app.css%00", "/f/%00"] {
        assert!(matches!(client.get(target).send().status().code(), 400 | 404), "{target}");
    }
    let absolute = ["/f/", room.0.join("outside.txt").to_str().unwrap()].concat();
    check(&client, &absolute, &[], 404, "not found");
}

#[cfg(unix)]
#[test]
fn links_stay_inside() {
    let room = Room::new("links");
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, room.0.join("public").join(name)).unwrap();
    link("app.css", "inside.css");
    link("../outside.txt", "outside.txt");
    link("..", "up");
    let client = room.client(|files| files);
    check(&client, "/f/inside.css", &[], 200, "body{}");
    check(&client, "/f/outside.txt", &[], 404, "not found");
    check(&client, "/f/up/outside.txt", &[], 404, "not found");
}

#[test]
fn conditions_and_ranges() {
    let room = Room::new("ranges");
    let client = room.client(|files| files);
    let reply = check(&client, "/f/app.css", &[("if-none-match", TAG)], 304, "");
    assert_eq!((reply.header("etag"), reply.header("content-type")), (Some(TAG), None));
    // The file's time has 737 milliseconds.
    check(&client, "/f/app.css", &[("if-modified-since", DATE)], 304, "");
    check(&client, "/f/app.css", &[("if-unmodified-since", DATE)], 200, "body{}");
    check(&client, "/f/app.css", &[("if-modified-since", "Tue, 01 Jul 2025 09:59:59 GMT")], 200, "body{}");
    check(&client, "/f/app.css", &[("if-match", "\"x\"")], 412, "precondition failed");
    for (range, status, content) in [
        ("bytes=2-4", 206, "234"),
        ("bytes=-3", 206, "789"),
        ("bytes=8-", 206, "89"),
        ("bytes=0-100", 206, "0123456789"),
        ("bytes=10-", 416, "range not satisfiable"),
        ("bytes=0-1,4-5", 200, "0123456789"),
        ("bytes=x", 200, "0123456789"),
    ] {
        check(&client, "/f/bare/file", &[("range", range)], status, content);
    }
    let range = ("range", "bytes=0-0");
    check(&client, "/f/bare/file", &[range, ("if-range", DATE)], 206, "0");
    check(&client, "/f/bare/file", &[range, ("if-range", "\"x\"")], 200, "0123456789");
    check(&client, "/f/empty.txt", &[range], 416, "range not satisfiable");
}

#[test]
fn variants() {
    let room = Room::new("variants");
    let client = room.client(Directory::precompressed);
    for (accept, coding, content) in [
        ("gzip, br", Some("br"), "<br>"),
        ("gzip", Some("gzip"), "<gz>"),
        ("br;q=0.5, gzip", Some("gzip"), "<gz>"),
        ("identity, br;q=0.5", None, "body{}"),
        ("", None, "body{}"),
    ] {
        let reply = check(&client, "/f/app.css", &[("accept-encoding", accept)], 200, content);
        assert_eq!((reply.header("content-encoding"), reply.header("vary")), (coding, Some("accept-encoding")));
        assert_eq!(reply.header("content-type"), Some("text/css; charset=utf-8"));
        assert_eq!(reply.header("etag").map(|tag| tag == TAG), Some(coding.is_none()));
    }
    let reply = check(&client, "/f/docs/", &[("accept-encoding", "br")], 200, "docs");
    assert_eq!((reply.header("content-encoding"), reply.header("vary")), (None, Some("accept-encoding")));
}

#[test]
fn a_file_that_shrinks_breaks_off() {
    let room = Room::new("shrinks");
    let path = room.0.join("public/bare/file");
    let Some(Entry::File(file)) = files::find(room.0.join("public").to_str().unwrap(), "bare/file") else { panic!() };
    let mut body = file.read(0, 10).unwrap_or_default();
    fs::File::options().write(true).open(&path).unwrap().set_len(4).unwrap();
    let read = crate::testing::block_on(async {
        let mut chunks = Vec::new();
        loop {
            match body.chunk().await {
                Ok(Some(chunk)) => chunks.push(chunk),
                end => return (chunks.concat(), end.is_err()),
            }
        }
    });
    assert_eq!(read, (b"0123".to_vec(), true));
}
