//! Folders that the host serves itself, in raw bytes.

use crate::client::{Client, Reply};
use crate::support::{Lines, Running, config, misbehave};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use tabi_host::{AccessLog, AppEntry, Config, FolderEntry, Host, Log, Site};

/// Sun, 09 Sep 2001 01:46:40 GMT.
fn then() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

const DATE: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
/// The time in the tags of all files that are from then.
const TIME: &str = "de0b6b3a7640000";

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, bytes).expect("written");
    File::options().write(true).open(path).expect("opened").set_modified(then()).expect("a time");
}

/// A folder that is gone when the test is over.
struct Temp(PathBuf);

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder with what a site has, and with what must not be seen.
fn site(name: &str) -> Temp {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    for (path, bytes) in [
        ("secret.txt", &b"secret"[..]),
        ("public/index.html", b"<p>index"),
        ("public/app.js", b"let plain;"),
        ("public/app.js.br", b"brotli"),
        ("public/app.js.gz", b"gzip"),
        ("public/style.css", b"p { }"),
        ("public/style.css.gz", b"of before"),
        ("public/image.png", b"0123456789"),
        ("public/image.png.gz", b"not looked for"),
        ("public/empty", b""),
        ("public/a bü.txt", b"letters"),
        ("public/.env", b"secret"),
        ("public/.git/config", b"secret"),
        ("public/.well-known/security.txt", b"Contact: us"),
        ("public/sub/index.html", b"<p>sub"),
        ("public/sub/page.html", b"<p>page"),
        ("public/bare/file.txt", b"file"),
    ] {
        write(&root.join(path), bytes);
    }
    let old = File::options().write(true).open(root.join("public/style.css.gz")).expect("opened");
    old.set_modified(then() - Duration::from_secs(1)).expect("a time");
    let public = root.join("public");
    symlink("app.js", public.join("link.js")).expect("a link");
    symlink("../secret.txt", public.join("out.txt")).expect("a link");
    symlink(root.join("secret.txt"), public.join("absolute.txt")).expect("a link");
    symlink("..", public.join("up")).expect("a link");
    symlink("loop", public.join("loop")).expect("a link");
    symlink("nowhere", public.join("dangling")).expect("a link");
    let fifo = std::process::Command::new("mkfifo").arg(public.join("pipe")).status();
    assert!(fifo.is_ok_and(|status| status.success()));
    Temp(root)
}

fn entry(path: &Path, prefix: &str) -> FolderEntry {
    FolderEntry { path: path.to_owned(), prefix: prefix.to_owned(), ..FolderEntry::default() }
}

fn start(config: Config) -> Running {
    let lines = Lines::default();
    let log = Log::to(lines.clone());
    let host = match Host::load_apps(config, log.clone()) {
        Ok(host) => host,
        Err(error) => panic!("it does not load: {error}"),
    };
    let server = host.bind().and_then(|listener| host.serve(listener)).expect("serves");
    Running { server, log, lines }
}

/// The usual folder, at the root.
fn usual(root: &Temp) -> Running {
    let site = Site { folders: vec![entry(&root.0.join("public"), "/")], ..Site::default() };
    start(Config { site, ..config() })
}

/// Sends `line`, such as `GET /a`, with `fields`.
#[track_caller]
fn ask(client: &mut Client, line: &str, fields: &[&str]) -> Reply {
    let fields: String = fields.iter().flat_map(|field| [*field, "\r\n"]).collect();
    client.send(format!("{line} HTTP/1.1\r\nHost: test\r\n{fields}\r\n"));
    client.read_reply(line.starts_with("HEAD")).expect("a reply")
}

/// Compares the status, the fields, of which `name:` must not be there, and the body.
#[track_caller]
fn check(client: &mut Client, line: &str, fields: &[&str], status: u16, wanted: &[&str], body: &str) {
    let reply = ask(client, line, fields);
    assert_eq!(reply.status, status, "{line} {fields:?}: {}", reply.text());
    for field in wanted {
        let (name, value) = field.split_once(':').expect("a field");
        let value = Some(value.trim()).filter(|value| !value.is_empty());
        assert_eq!(reply.header(name), value, "{line} {fields:?}: {name}");
    }
    if status < 400 {
        assert_eq!(reply.text(), body, "{line} {fields:?}");
    } else if !line.starts_with("HEAD") {
        assert!(reply.text().contains("request id: "), "{line}: {}", reply.text());
        assert!(!reply.text().contains("secret"), "{line}");
    }
}

#[test]
fn files_and_what_their_heads_say() {
    let root = site("heads");
    let running = usual(&root);
    let client = &mut Client::connect(running.server.addr());
    let tag = |length: u64| format!("etag: \"{TIME}-{length:x}\"");
    let date = format!("last-modified: {DATE}");
    let usual = ["accept-ranges: bytes", "x-content-type-options: nosniff", "cache-control: no-cache", &date];
    for (line, kind, length, body) in [
        ("GET /", "text/html; charset=utf-8", 8, "<p>index"),
        ("GET /?query", "text/html; charset=utf-8", 8, "<p>index"),
        ("GET /index.html", "text/html; charset=utf-8", 8, "<p>index"),
        ("HEAD /index.html", "text/html; charset=utf-8", 8, ""),
        ("GET /app.js", "text/javascript; charset=utf-8", 10, "let plain;"),
        ("GET /%61pp.js", "text/javascript; charset=utf-8", 10, "let plain;"),
        ("GET /app.js.br", "application/octet-stream", 6, "brotli"),
        ("GET /link.js", "text/javascript; charset=utf-8", 10, "let plain;"),
        ("GET /image.png", "image/png", 10, "0123456789"),
        ("GET /empty", "application/octet-stream", 0, ""),
        ("HEAD /empty", "application/octet-stream", 0, ""),
        ("GET /a%20b%C3%BC.txt", "text/plain; charset=utf-8", 7, "letters"),
        ("GET /.well-known/security.txt", "text/plain; charset=utf-8", 11, "Contact: us"),
        ("GET /sub/", "text/html; charset=utf-8", 6, "<p>sub"),
        ("GET /sub/page.html", "text/html; charset=utf-8", 7, "<p>page"),
        ("GET /bare/file.txt", "text/plain; charset=utf-8", 4, "file"),
    ] {
        let own = [format!("content-type: {kind}"), tag(length), format!("content-length: {length}")];
        let wanted: Vec<&str> = own.iter().map(String::as_str).chain(usual).collect();
        check(client, line, &[], 200, &wanted, body);
    }
    check(client, "OPTIONS /app.js", &[], 204, &["allow: GET, HEAD, OPTIONS"], "");
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"] {
        let line = format!("{method} /app.js");
        check(client, &line, &["Content-Length: 0"], 405, &["allow: GET, HEAD, OPTIONS"], "");
    }
    check(client, "GET /sub", &[], 308, &["location: /sub/"], "308 Permanent Redirect\n");
    check(client, "GET /sub?a=b", &[], 308, &["location: /sub/?a=b"], "308 Permanent Redirect\n");
    check(client, "HEAD /%73ub", &[], 308, &["location: /%73ub/"], "");
}

#[test]
fn what_must_not_be_seen() {
    let root = site("hidden");
    let running = usual(&root);
    for path in [
        "/nothing",
        "/app.js/",
        "/app.js/x",
        "/index.html/",
        "/bare",
        "/bare/",
        "/sub/nothing",
        "/.env",
        "/.git/config",
        "/.git/",
        "/%2eenv",
        "/sub/.well-known/x",
        "/out.txt",
        "/absolute.txt",
        "/up/secret.txt",
        "/up",
        "/up/",
        "/loop",
        "/dangling",
        "/pipe",
        "//",
        "//app.js",
        "/sub//page.html",
        "/sub/%2e%2e%2fapp.js",
        "/%2fsecret.txt",
        "/..%2fsecret.txt",
        "/..%5csecret.txt",
        "/..\\secret.txt",
        "/app.js%00",
        "/%00",
        "/app.js%",
        "/%zz",
        "/a%20b",
        "/APP.JS",
        "/sub%2fpage.html",
        "/...",
        "/.well-known/",
        "/.well-known",
        "/up/public/app.js",
    ] {
        let reply = ask(&mut Client::connect(running.server.addr()), &format!("GET {path}"), &[]);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        assert!(!reply.text().contains("secret"), "{path}");
    }
    for path in
        ["/..", "/../secret.txt", "/sub/../app.js", "/%2e%2e/secret.txt", "/.%2E/secret.txt", "/./app.js", "/sub/.."]
    {
        let reply = ask(&mut Client::connect(running.server.addr()), &format!("GET {path}"), &[]);
        assert_eq!(reply.status, 400, "{path}");
    }
    let long = format!("GET /{}", "a".repeat(5000));
    assert_eq!(ask(&mut Client::connect(running.server.addr()), &long, &[]).status, 404);
}

#[test]
fn what_the_client_has_is_not_sent_again() {
    let root = site("conditions");
    let running = usual(&root);
    let client = &mut Client::connect(running.server.addr());
    let tag = format!("\"{TIME}-a\"");
    let fields = [&format!("etag: {tag}"), "content-type:", "content-length:", "cache-control: no-cache"];
    for (name, value) in [
        ("If-None-Match", tag.as_str()),
        ("If-None-Match", &format!("\"x\", W/{tag}")),
        ("If-None-Match", "*"),
        ("If-Modified-Since", DATE),
        ("If-Modified-Since", "Sun, 09 Sep 2035 01:46:40 GMT"),
    ] {
        check(client, "GET /image.png", &[&format!("{name}: {value}")], 304, &fields, "");
        check(client, "HEAD /image.png", &[&format!("{name}: {value}")], 304, &fields, "");
    }
    let none_match = format!("If-None-Match: \"{TIME}-b\"");
    for field in
        ["If-None-Match: \"x\"", &none_match, "If-Modified-Since: Sun, 09 Sep 2001 01:46:39 GMT", "If-Match: *"]
    {
        check(client, "GET /image.png", &[field], 200, &[], "0123456789");
    }
    check(client, "GET /image.png", &["If-Match: \"x\""], 412, &["etag:"], "");
    check(client, "GET /image.png", &["If-Unmodified-Since: Sun, 09 Sep 2001 01:46:39 GMT"], 412, &[], "");
    // Of the two forms each has a tag of its own.
    let other = format!("If-None-Match: \"{TIME}-6-br\"");
    check(client, "GET /app.js", &["Accept-Encoding: br", &other], 304, &["vary: accept-encoding"], "");
    check(client, "GET /app.js", &[&other], 200, &["vary: accept-encoding"], "let plain;");
    // What has just been written may be written again within the same tick.
    fs::write(root.0.join("public/new.txt"), "new").expect("written");
    let reply = ask(client, "GET /new.txt", &[]);
    let tag = reply.header("etag").expect("a tag").to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    check(client, "GET /new.txt", &[&format!("If-None-Match: {tag}")], 304, &[], "");
    check(client, "GET /new.txt", &["Range: bytes=0-0", &format!("If-Range: {tag}")], 200, &[], "new");
}

#[test]
fn parts() {
    let root = site("parts");
    let running = usual(&root);
    let client = &mut Client::connect(running.server.addr());
    let mut one = |range: &str, content_range: &str, body: &str| {
        let length = format!("content-length: {}", body.len());
        let range = format!("Range: {range}");
        let content_range = format!("content-range: bytes {content_range}");
        check(client, "GET /image.png", &[&range], 206, &[&content_range, &length, "content-type: image/png"], body);
    };
    one("bytes=0-0", "0-0/10", "0");
    one("bytes=2-4", "2-4/10", "234");
    one("bytes=5-", "5-9/10", "56789");
    one("bytes=-3", "7-9/10", "789");
    one("bytes=8-99", "8-9/10", "89");
    one("bytes=-99", "0-9/10", "0123456789");
    one("bytes=1-1,20-30", "1-1/10", "1");
    for range in ["bytes=4-2", "bytes=x", "lines=1-2", "bytes=0-9,0-9", ""] {
        check(client, "GET /image.png", &[&format!("Range: {range}")], 200, &["content-range:"], "0123456789");
    }
    for range in ["bytes=10-", "bytes=-0"] {
        let wanted = ["content-range: bytes */10", "content-type: text/plain; charset=utf-8"];
        check(client, "GET /image.png", &[&format!("Range: {range}")], 416, &wanted, "");
    }
    check(client, "GET /empty", &["Range: bytes=0-"], 416, &["content-range: bytes */0"], "");
    check(client, "HEAD /image.png", &["Range: bytes=0-0"], 200, &["content-length: 10", "content-range:"], "");
    let tag = format!("If-Range: \"{TIME}-a\"");
    for (field, status) in [
        (tag.as_str(), 206),
        (&format!("If-Range: {DATE}"), 206),
        ("If-Range: \"x\"", 200),
        ("If-Range: Sun, 09 Sep 2001 01:46:39 GMT", 200),
    ] {
        let body = if status == 206 { "01" } else { "0123456789" };
        check(client, "GET /image.png", &["Range: bytes=0-1", field], status, &[], body);
    }
    check(client, "GET /image.png", &["Range: bytes=0-1", &tag.replace("If-Range", "If-None-Match")], 304, &[], "");
    let reply = ask(client, "GET /image.png", &["Range: bytes=0-1, -2 ,4-4"]);
    let kind = reply.header("content-type").expect("a type").to_owned();
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("several parts");
    let part = |range: &str, bytes: &str| {
        format!("\r\n--{boundary}\r\ncontent-type: image/png\r\ncontent-range: bytes {range}/10\r\n\r\n{bytes}")
    };
    let wanted = [part("0-1", "01"), part("8-9", "89"), part("4-4", "4"), format!("\r\n--{boundary}--\r\n")].concat();
    assert_eq!((reply.status, reply.text(), reply.complete), (206, wanted.clone(), true));
    assert_eq!(reply.header("content-length"), Some(wanted.len().to_string().as_str()));
    // The part of a coded form is one of its bytes.
    let fields = ["content-encoding: br", "content-range: bytes 1-2/6"];
    check(client, "GET /app.js", &["Accept-Encoding: br", "Range: bytes=1-2"], 206, &fields, "ro");
}

#[test]
fn precompressed_forms() {
    let root = site("coded");
    let running = usual(&root);
    let client = &mut Client::connect(running.server.addr());
    for (accept, coding, body) in [
        ("", "", "let plain;"),
        ("br", "br", "brotli"),
        ("gzip", "gzip", "gzip"),
        ("x-gzip", "gzip", "gzip"),
        ("gzip, br", "br", "brotli"),
        ("gzip;q=0.9, br;q=0.8", "gzip", "gzip"),
        ("br;q=0, gzip", "gzip", "gzip"),
        ("br;q=0", "", "let plain;"),
        ("br;q=0.5, identity", "", "let plain;"),
        ("*", "br", "brotli"),
        ("*, br;q=0", "gzip", "gzip"),
        ("deflate, zstd", "", "let plain;"),
        ("BR", "br", "brotli"),
    ] {
        let field = format!("Accept-Encoding: {accept}");
        let fields = if accept.is_empty() { &[][..] } else { &[field.as_str()] };
        let dash = if coding.is_empty() { "" } else { "-" };
        let wanted = [
            format!("content-encoding: {coding}"),
            format!("etag: \"{TIME}-{:x}{dash}{coding}\"", body.len()),
            "vary: accept-encoding".to_owned(),
            "content-type: text/javascript; charset=utf-8".to_owned(),
        ];
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        check(client, "GET /app.js", fields, 200, &wanted, body);
    }
    let head = ["content-encoding: br", "content-length: 6"];
    check(client, "HEAD /app.js", &["Accept-Encoding: br"], 200, &head, "");
    // What is older than the file is of an older file; what does not get smaller is not looked for.
    check(
        client,
        "GET /style.css",
        &["Accept-Encoding: gzip"],
        200,
        &["content-encoding:", "vary: accept-encoding"],
        "p { }",
    );
    check(client, "GET /image.png", &["Accept-Encoding: gzip"], 200, &["content-encoding:", "vary:"], "0123456789");
    let mut off = entry(&root.0.join("public"), "/off");
    off.precompressed = false;
    let site = Site { folders: vec![off, entry(&root.0.join("public"), "/on")], ..Site::default() };
    let running = start(Config { site, compression: true, compression_min_bytes: 1, ..config() });
    let client = &mut Client::connect(running.server.addr());
    // What the host compresses itself has the weak tag of what it was made of.
    let reply = ask(client, "GET /off/app.js", &["Accept-Encoding: gzip, br"]);
    assert_eq!((reply.status, reply.header("content-encoding")), (200, Some("gzip")));
    assert_eq!(reply.header("etag"), Some(format!("W/\"{TIME}-a\"").as_str()));
    assert!(reply.body.starts_with(b"\x1f\x8b"));
    let tag = format!("If-None-Match: W/\"{TIME}-a\"");
    check(client, "GET /off/app.js", &["Accept-Encoding: gzip", &tag], 304, &[], "");
    check(
        client,
        "GET /off/app.js",
        &["Accept-Encoding: gzip", "Range: bytes=0-2"],
        206,
        &["content-encoding:"],
        "let",
    );
    check(client, "GET /on/app.js", &["Accept-Encoding: gzip, br"], 200, &["content-encoding: br"], "brotli");
}

#[test]
fn folders_stand_beside_apps() {
    let root = site("beside");
    let public = root.0.join("public");
    let mut spa = entry(&public, "/spa");
    (spa.fallback, spa.cache_control) = ("/sub/page.html".to_owned(), "max-age=60".to_owned());
    let mut bare = entry(&public.join("sub"), "/bare/");
    (bare.index, bare.cache_control) = (String::new(), String::new());
    let mut hosted = entry(&public.join("sub"), "/");
    hosted.hosts = vec!["files.org".to_owned()];
    let app = AppEntry { path: misbehave().to_owned(), ..AppEntry::default() };
    let site = Site { apps: vec![app], folders: vec![spa, bare, hosted], ..Site::default() };
    let running = start(Config { site, access_log: AccessLog::Text, ..config() });
    let client = &mut Client::connect(running.server.addr());
    check(client, "GET /early", &[], 200, &[], "early");
    check(client, "GET /spa", &[], 308, &["location: /spa/"], "308 Permanent Redirect\n");
    check(client, "GET /spa/", &[], 200, &["cache-control: max-age=60"], "<p>index");
    check(client, "GET /spa/some/where", &[], 200, &["content-type: text/html; charset=utf-8"], "<p>page");
    check(client, "GET /spa/bare/", &[], 200, &[], "<p>page");
    check(client, "GET /spa/nothing.js", &[], 404, &["cache-control: no-store"], "");
    check(client, "GET /spa/.env", &[], 404, &[], "");
    check(client, "GET /spa/.git/x", &[], 404, &[], "");
    check(client, "POST /spa/some/where", &["Content-Length: 0"], 405, &[], "");
    check(client, "GET /bare/page.html", &[], 200, &["cache-control:"], "<p>page");
    check(client, "GET /bare/", &[], 404, &[], "");
    check(client, "GET /bare", &[], 404, &[], "");
    check(client, "GET http://files.org/page.html", &[], 200, &[], "<p>page");
    check(client, "GET http://files.org/early", &[], 404, &[], "");
    // A body that nobody asked for does not become the next request.
    client.send(
        "GET /bare/page.html HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\n\r\nGET /early HTTP/1.1\r\nHost: x\r\n",
    );
    assert_eq!(client.reply().text(), "<p>page");
    check(client, "GET /spa/image.png", &[], 200, &[], "0123456789");
    // One component may have a folder beside it as well.
    let site = Site { folders: vec![entry(&public, "/public")], ..Site::default() };
    let running = Running::start(Config { site, ..config() });
    let client = &mut Client::connect(running.server.addr());
    check(client, "GET /early", &[], 200, &[], "early");
    check(client, "GET /public/image.png", &[], 200, &[], "0123456789");
}

#[test]
fn a_folder_may_be_set_to_another() {
    let root = site("switch");
    let (link, fresh) = (root.0.join("current"), root.0.join("fresh"));
    symlink("public/sub", &link).expect("a link");
    let site = Site { folders: vec![entry(&link, "/")], ..Site::default() };
    let running = start(Config { site, ..config() });
    let client = &mut Client::connect(running.server.addr());
    check(client, "GET /", &[], 200, &[], "<p>sub");
    symlink("public", &fresh).expect("a link");
    fs::rename(&fresh, &link).expect("renamed");
    check(client, "GET /", &[], 200, &[], "<p>index");
    fs::remove_file(&link).expect("removed");
    assert_eq!(ask(client, "GET /", &[]).status, 503);
    assert!(running.log().contains("a file can't be opened"), "{}", running.log());
}

const LARGE: u64 = 64 << 20;

/// Longer than a test takes on a busy machine.
const PATIENT: Duration = Duration::from_secs(60);

/// A server with a file that is larger than what the system keeps for a connection.
fn large(name: &str, write_timeout: Duration) -> (Temp, Running, PathBuf) {
    let root = site(name);
    let path = root.0.join("public/large.bin");
    File::create(&path).expect("a file").set_len(LARGE).expect("long");
    let site = Site { folders: vec![entry(&root.0.join("public"), "/")], ..Site::default() };
    let mut config = Config { site, access_log: AccessLog::Text, ..config() };
    config.limits.write_timeout = write_timeout;
    (root, start(config), path)
}

#[test]
fn a_large_file_comes_in_pieces() {
    let (_root, running, path) = large("large", PATIENT);
    let mut client = Client::connect(running.server.addr());
    let reply = client.get("/large.bin");
    assert_eq!((reply.status, reply.complete, reply.body.len() as u64), (200, true, LARGE));
    write(&path, &(0..200_000u32).flat_map(u32::to_be_bytes).collect::<Vec<_>>());
    let mut client = Client::connect(running.server.addr());
    let reply = ask(&mut client, "GET /large.bin", &["Range: bytes=65533-199999, 700000-"]);
    let all: Vec<u8> = (0..200_000u32).flat_map(u32::to_be_bytes).collect();
    let find = |part: &[u8]| reply.body.windows(part.len()).any(|window| window == part);
    assert_eq!((reply.status, reply.complete), (206, true));
    assert!(find(&all[65533..200_000]) && find(&all[700_000..]));
}

#[test]
fn a_file_that_changes_is_cut_off() {
    for (number, change) in [
        (
            0,
            Box::new(|path: &Path| File::options().write(true).open(path).and_then(|file| file.set_len(1000)))
                as Box<dyn Fn(&Path) -> std::io::Result<()>>,
        ),
        (1, Box::new(|path: &Path| fs::write(path, vec![1; usize::try_from(LARGE).expect("fits")]))),
    ] {
        let (_root, running, path) = large(&format!("change-{number}"), PATIENT);
        let mut client = Client::connect(running.server.addr());
        client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = client.begin();
        assert_eq!(head.header("content-length"), Some(LARGE.to_string().as_str()));
        change(&path).expect("changed");
        let rest = client.rest();
        assert!((rest.len() as u64) < LARGE, "{number}");
        assert!(!rest.contains('\u{1}'), "nothing of the new content follows the old");
        let begin = Instant::now();
        while !running.log().contains("while it was sent") {
            assert!(begin.elapsed().as_secs() < 10, "{}", running.log());
            std::thread::yield_now();
        }
    }
    // A file that is replaced as a whole is sent to its end.
    let (root, running, path) = large("replaced", PATIENT);
    let mut client = Client::connect(running.server.addr());
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client.begin();
    fs::write(root.0.join("fresh"), "fresh").expect("written");
    fs::rename(root.0.join("fresh"), &path).expect("renamed");
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let rest = client.rest();
    assert!(rest.len() as u64 > LARGE && rest.ends_with("fresh"), "{}", rest.len());
}

#[test]
fn a_client_that_reads_nothing_is_let_go() {
    let (_root, running, _) = large("stuck", Duration::from_millis(600));
    let mut client = Client::connect(running.server.addr());
    client.send("GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    let begin = Instant::now();
    while !running.log().contains("/large.bin HTTP/1.1\" 200") {
        assert!(begin.elapsed().as_secs() < 20, "{}", running.log());
        std::thread::yield_now();
    }
    assert!((client.rest().len() as u64) < LARGE);
}

#[test]
fn reasons_not_to_start() {
    let root = site("wrong");
    let public = root.0.join("public");
    let check = |change: &dyn Fn(&mut FolderEntry), part: &str| {
        let mut entry = entry(&public, "/");
        change(&mut entry);
        let site = Site { folders: vec![entry], ..Site::default() };
        let error = Host::load_apps(Config { site, ..config() }, Log::to(Lines::default())).err().expect("an error");
        assert!(error.to_string().contains(part), "{error}");
    };
    check(&|entry| entry.path = "/no/such".into(), "the folder /no/such: it can't be read");
    check(&|entry| entry.path = public.join("app.js"), "it is a file");
    check(&|entry| entry.prefix = "x".to_owned(), "does not begin with a slash");
    check(&|entry| entry.index = "a/b".to_owned(), "must be a name and no path");
    check(&|entry| entry.index = "..".to_owned(), "names no file in it");
    check(&|entry| entry.fallback = "/../x".to_owned(), "names no file in it");
    check(&|entry| entry.cache_control = "ü".to_owned(), "is no field value");
    let site = Site { folders: vec![entry(&public, "/a"), entry(&public, "/a/")], ..Site::default() };
    let error = Host::load_apps(Config { site, ..config() }, Log::to(Lines::default())).err().expect("an error");
    assert!(error.to_string().contains("are both for /a on any host"), "{error}");
}
