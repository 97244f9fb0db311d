//! Several apps in one host, and addresses that have moved.

use crate::client::{Client, Reply};
use crate::support::{Lines, Running, config, misbehave, misbehave3};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tabi_host::{AccessLog, AppEntry, Config, Host, Log, RedirectEntry, Site};

fn app(name: &str, hosts: &[&str], prefix: &str) -> AppEntry {
    AppEntry {
        name: name.to_owned(),
        path: misbehave().to_owned(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        prefix: prefix.to_owned(),
        ..AppEntry::default()
    }
}

fn redirect(from: &str, to: &str) -> RedirectEntry {
    RedirectEntry { from: from.to_owned(), to: to.to_owned(), ..RedirectEntry::default() }
}

fn with(site: Site) -> Config {
    Config { site, access_log: AccessLog::Text, ..config() }
}

fn load(config: Config) -> (Host, Running) {
    let lines = Lines::default();
    let log = Log::to(lines.clone());
    let host = match Host::load_apps(config, log.clone()) {
        Ok(host) => host,
        Err(error) => panic!("the apps do not load: {error}"),
    };
    let server = host.bind().and_then(|listener| host.serve(listener)).expect("serves");
    (host, Running { server, log, lines })
}

fn get(running: &Running, host: &str, target: &str, more: &str) -> Reply {
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
    Client::connect(running.server.addr()).send(request).reply()
}

/// The line of the access log about `target`, once it is there.
#[track_caller]
fn line(running: &Running, target: &str) -> String {
    let begin = Instant::now();
    loop {
        let log = running.log();
        if let Some(line) = log.lines().find(|line| line.starts_with("access") && line.contains(target)) {
            return line.to_owned();
        }
        assert!(begin.elapsed().as_secs() < 10, "{log}");
        std::thread::yield_now();
    }
}

#[test]
fn requests_find_their_app() {
    let mut api = app("api", &[], "/api");
    api.path = misbehave3().to_owned();
    let site = Site {
        apps: vec![
            app("rest", &[], "/"),
            api,
            app("shop", &["shop.example.org", "*.shop.example.org"], "/"),
            app("shop-admin", &["shop.example.org"], "/admin"),
        ],
        ..Site::default()
    };
    let (_, running) = load(with(site));
    for (number, (host, path, status, name)) in [
        ("example.org", "/x", 200, "rest"),
        ("example.org", "/api", 200, "api"),
        ("example.org", "/api/x", 200, "api"),
        ("example.org:81", "/%61pi/x", 200, "api"),
        ("example.org", "/apis", 200, "rest"),
        ("example.org", "//api", 200, "rest"),
        ("shop.example.org", "/api", 200, "shop"),
        ("SHOP.example.org.", "/admin/", 200, "shop-admin"),
        ("shop.example.org:8443", "/administration", 200, "shop"),
        ("eu.shop.example.org", "/admin", 200, "shop"),
        ("[::1]:80", "/", 200, "rest"),
        ("example.org", "/api/../x", 400, "complete"),
        ("example.org", "/%2E%2e/api", 400, "complete"),
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("{path}?number={number}.");
        let reply = get(&running, host, &target, "");
        assert_eq!(reply.status, status, "{host}{target}");
        if status == 200 {
            assert!(reply.text().contains(&format!("Some(\"{target}\")")), "the app sees {}", reply.text());
        }
        let line = line(&running, &target);
        assert!(line.ends_with(&format!(" {name}")), "{host}{target}: {line}");
    }
    // The authority of an absolute target counts, and not Host.
    let reply = Client::connect(running.server.addr())
        .send("GET http://shop.example.org/absolute HTTP/1.1\r\nHost: example.org\r\n\r\n")
        .reply();
    assert_eq!(reply.status, 200);
    assert!(line(&running, "/absolute").ends_with(" shop"));
    let options = Client::connect(running.server.addr()).send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").reply();
    assert_eq!(options.status, 204);
}

#[test]
fn what_is_for_nobody_is_not_found() {
    let site = Site { apps: vec![app("a", &["a.org"], "/a")], ..Site::default() };
    let (_, running) = load(with(site));
    for (host, target) in [("a.org", "/"), ("a.org", "/b"), ("a.org", "//a"), ("b.org", "/a"), ("x.a.org", "/a")] {
        let reply = get(&running, host, target, "");
        assert_eq!(reply.status, 404, "{host}{target}");
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
        assert!(reply.text().starts_with("404 Not Found\nrequest id: "), "{}", reply.text());
    }
    assert_eq!(get(&running, "a.org", "/a", "").status, 200);
    // The connection lives on, and so does its next request with another host.
    let mut client = Client::connect(running.server.addr());
    assert_eq!(client.get("/a").status, 404);
    assert_eq!(client.send("GET /a HTTP/1.1\r\nHost: a.org\r\n\r\n").reply().status, 200);
}

#[test]
fn a_prefix_is_taken_off_where_that_is_wanted() {
    let mut stripped = app("stripped", &[], "/s/t/");
    stripped.strip_prefix = true;
    let site = Site { apps: vec![stripped, app("whole", &[], "/w")], ..Site::default() };
    let (_, running) = load(with(site));
    #[track_caller]
    fn check(running: &Running, target: &str, seen: &str, prefix: Option<&str>) {
        let reply = get(running, "a.org", target, "X-Forwarded-Prefix: /mine\r\n");
        let text = reply.text();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].ends_with(&format!("Some(\"{seen}\")")), "{target}: {text}");
        assert!(lines[0].contains("Some(\"a.org\")"), "{target}: {text}");
        let got = lines.iter().filter_map(|line| line.strip_prefix("x-forwarded-prefix: ")).collect::<Vec<_>>();
        assert_eq!(got, prefix.into_iter().collect::<Vec<_>>(), "{target}: {text}");
    }
    for (target, seen) in [
        ("/s/t", "/"),
        ("/s/t?a=/b", "/?a=/b"),
        ("/s/t/", "/"),
        ("/s/t/x%20y/?", "/x%20y/?"),
        ("/%73/%74/x", "/x"),
        ("/s/t//x", "//x"),
        ("/s/t/s/t", "/s/t"),
    ] {
        check(&running, target, seen, Some("/s/t"));
    }
    // What a client says of a prefix is not to be believed.
    check(&running, "/w/x", "/w/x", None);
}

#[test]
fn apps_have_limits_and_grants_of_their_own() {
    let own = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let mut small = app("small", &[], "/small");
    small.own = own(&[("limits.body_bytes", "10"), ("limits.memory", "4MiB"), ("limits.request_timeout", "200ms")]);
    let mut large = app("large", &[], "/large");
    large.own = own(&[("limits.body_bytes", "1MiB"), ("limits.memory", "300MiB"), ("instances.requests_p2", "100")]);
    for entry in [&mut small, &mut large] {
        entry.strip_prefix = true;
    }
    let site = Site { apps: vec![small, large, app("usual", &[], "/")], ..Site::default() };
    let (_, running) = load(Config { threads: 1, ..with(site) });
    let body = |path: &str, length: usize| {
        let request =
            format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{}", "x".repeat(length));
        Client::connect(running.server.addr()).send(request).reply().status
    };
    for (path, length, status) in [
        ("/small/echo", 10, 200),
        ("/small/echo", 11, 413),
        ("/large/echo", 200_000, 200),
        ("/echo", 100_000, 200),
        ("/echo", 100_001, 413),
    ] {
        assert_eq!(body(path, length), status, "{path} {length}");
    }
    let grown = |path: &str| get(&running, "a", path, "").text().parse::<u32>().expect("a number");
    assert!(grown("/small/grow?1000") < 4);
    assert!((128..300).contains(&grown("/large/grow?1000")));
    assert!((64..128).contains(&grown("/grow?1000")));
    assert_eq!(get(&running, "a", "/small/never", "").status, 504);
    let counts = |path: &str| [0, 1].map(|_| get(&running, "a", path, "").text());
    assert_eq!(counts("/counter"), ["1", "1"]);
    let [one, two] = counts("/large/counter").map(|text| text.parse::<u32>().expect("a number"));
    assert_eq!(two, one + 1, "an instance is used again where that was asked for");
    // What a guest writes is under the name of its app.
    assert_eq!(get(&running, "a", "/large/print", "").status, 200);
    let begin = Instant::now();
    while !running.log().contains("large: stdout [") {
        assert!(begin.elapsed().as_secs() < 10, "{}", running.log());
        std::thread::yield_now();
    }
}

#[test]
fn addresses_that_have_moved() {
    let mut old = redirect("/old/{*rest}", "https://example.org/new/{rest}");
    old.status = 301;
    let mut host = redirect("/{*rest}", "https://www.a.org/{rest}");
    host.hosts = vec!["a.org".to_owned()];
    let site = Site {
        apps: vec![app("app", &[], "/")],
        redirects: vec![redirect("/exact", "/there?x=1"), old, host],
        ..Site::default()
    };
    let (_, running) = load(with(site));
    for (method, host, target, status, location) in [
        ("GET", "b", "/exact", 308, Some("/there?x=1")),
        ("HEAD", "b", "/exact?y", 308, Some("/there?x=1&y")),
        ("POST", "b", "/exact", 308, Some("/there?x=1")),
        ("GET", "b", "/exact/", 200, None),
        ("GET", "b", "/old", 200, None),
        ("GET", "b", "/old/a//b?c=d", 301, Some("https://example.org/new/a//b?c=d")),
        ("GET", "b", "/old//evil.org", 404, None),
        ("GET", "b", "/old/..", 400, None),
        ("GET", "a.org", "/", 308, Some("https://www.a.org/")),
        ("GET", "a.org", "/exact", 308, Some("https://www.a.org/exact")),
        ("GET", "www.a.org", "/", 200, None),
    ] {
        let mut client = Client::connect(running.server.addr());
        client.send(format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n"));
        let reply = client.read_reply(method == "HEAD").expect("a reply");
        assert_eq!((reply.status, reply.header("location")), (status, location), "{host}{target}");
        assert_eq!(client.get("/").status, 200, "the connection lives on");
    }
}

#[test]
fn one_component_and_what_is_around_it() {
    let config = with(Site { redirects: vec![redirect("/old", "/new")], ..Site::default() });
    let running = Running::start(config);
    let mut client = Client::connect(running.server.addr());
    assert_eq!(client.get("/old").header("location"), Some("/new"));
    assert_eq!(client.get("/early").text(), "early");
    assert!(line(&running, "/early").ends_with(" complete"), "a single app needs no name");
}

#[test]
fn what_has_changed_is_loaded_anew() {
    let file = |name: &str| Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.wasm", std::process::id()));
    let files = ["one", "two"].map(file);
    let site = Site {
        apps: files
            .iter()
            .map(|path| {
                std::fs::copy(misbehave3(), path).expect("copied");
                let name = path.file_stem().expect("a name").to_str().expect("text");
                AppEntry { name: String::new(), path: path.clone(), ..app("", &[], &["/", &name[..3]].concat()) }
            })
            .map(|entry| AppEntry { strip_prefix: true, ..entry })
            .collect(),
        ..Site::default()
    };
    let (mut host, running) = load(Config { threads: 1, ..with(site) });
    let mut client = Client::connect(running.server.addr());
    let mut count = |path: &str| client.get(path).text();
    assert_eq!([count("/one/counter"), count("/two/counter"), count("/two/counter")], ["1", "1", "2"]);
    let mut reload = |number: usize| host.reload_app(&running.server, number, &files[number]);
    assert!(matches!((reload(0), reload(1)), (Ok(false), Ok(false))), "nothing has changed");
    assert_eq!(count("/two/counter"), "3");
    std::fs::copy(misbehave(), &files[0]).expect("copied");
    assert!(matches!((reload(0), reload(1)), (Ok(true), Ok(false))));
    // The one is of another world now, and the other goes on as if nothing had been.
    assert_eq!([count("/one/counter"), count("/one/counter"), count("/two/counter")], ["1", "1", "4"]);
    std::fs::write(&files[1], "no component").expect("written");
    let error = reload(1).map_err(|error| error.to_string()).expect_err("no component");
    assert!(error.contains("app \"two-") && error.contains("is not a WebAssembly component"), "{error}");
    assert_eq!(count("/two/counter"), "5", "what does not load changes nothing");
    std::fs::copy(misbehave3(), &files[1]).expect("copied");
    assert!(matches!(reload(1), Ok(false)), "it is again what it was");
    for path in files {
        std::fs::remove_file(path).expect("removed");
    }
}

#[test]
fn a_hundred_apps_share_one_pool() {
    let apps = (0..100).map(|number| {
        let mut app = app(&format!("app-{number}"), &[&format!("h{number}.org")], "/");
        app.path = if number % 2 == 0 { misbehave() } else { misbehave3() }.to_owned();
        app
    });
    let before = mapped();
    let (_, running) = load(with(Site { apps: apps.collect(), ..Site::default() }));
    let reserved = mapped() - before;
    // Two pools of a thousand places: more would soon be more than there is.
    assert!(reserved < 20 << 40, "{} GiB of addresses", reserved >> 30);
    let mut client = Client::connect(running.server.addr());
    for number in 0..100 {
        let request = format!("GET /n{number}. HTTP/1.1\r\nHost: h{number}.org\r\n\r\n");
        assert_eq!(client.send(request).reply().status, 200, "{number}");
        assert!(line(&running, &format!("/n{number}. ")).ends_with(&format!(" app-{number}")));
    }
}

/// The bytes of address space that this process has taken.
fn mapped() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = text.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("VmSize");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

fn file(name: &str, text: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    std::fs::write(dir.join("tabi.toml"), text).expect("written");
    dir
}

fn tabi(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabi"));
    command.current_dir(dir).args(args).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.env_remove("TABI_HOST").env_remove("TABI_PORT").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn reasons_not_to_start() {
    let wasm = misbehave().display();
    let check = |text: &str, parts: &[&str]| {
        let dir = file("wrong", text);
        let output = tabi(&dir, &["serve", "--port", "0"]).output().expect("tabi runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 1), "{text}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{text}: {stderr}");
        }
    };
    let app = |more: &str| format!("[[apps]]\npath = \"{wasm}\"\n{more}\n");
    let two = [app("name = \"a\""), app("name = \"b\"\nprefix = \"/\"")].concat();
    check(&two, &["app \"a\" (", "and app \"b\" (", "both for / on any host"]);
    let two = [app("name = \"a\""), app("name = \"a\"\nprefix = \"/a\"")].concat();
    check(&two, &["app \"a\"", "both have this name"]);
    check(&app("name = \"a b\""), &["give it a name of letters"]);
    check(&app("hosts = [\"*\"]"), &["leave hosts out for that"]);
    check(&app("prefix = \"api\""), &["does not begin with a slash"]);
    check("[[apps]]\npath = \"/no/such.wasm\"\n", &["app \"such\": /no/such.wasm does not exist"]);
    check(&[app(""), "[grants]\nenv = [\"A=1\"]\n".to_owned()].concat(), &["[apps.grants]"]);
    check(&app("[apps.grants]\nenv = [\"=1\"]"), &["app \"misbehave\": grants.env: \"\" is no name"]);
    check(
        &app("[apps.limits]\nconnections = 1"),
        &["tabi.toml: apps number 1: limits.connections is of the whole host"],
    );
    let moved = "[[redirects]]\nfrom = \"/a/{*rest}\"\nto = \"/a/b/{rest}\"\n";
    check(&[app(""), moved.to_owned()].concat(), &["the redirect from \"/a/{*rest}\" leads back to itself"]);
    let moved = "[[redirects]]\nfrom = \"/a\"\nto = \"b\"\n";
    check(moved, &["the redirect from \"/a\": to = \"b\" is neither a path nor a URL"]);
    let both = "[[redirects]]\nfrom = \"/a\"\nto = \"/b\"\n[[redirects]]\nfrom = \"/%61\"\nto = \"/c\"\n";
    check(both, &["the redirect from \"/a\" and the redirect from \"/%61\" are both for /a"]);
}

fn start(dir: &Path, args: &[&str]) -> (Child, Client, BufReader<std::process::ChildStdout>) {
    let mut child = tabi(dir, args).spawn().expect("tabi runs");
    let mut out = BufReader::new(child.stdout.take().expect("stdout"));
    let mut first = String::new();
    out.read_line(&mut first).expect("a line");
    let url = first.trim().strip_prefix("Serving HTTP on ").expect("the line for tests");
    let addr = url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    (child, Client::connect(addr), out)
}

fn stop(mut child: Child) -> String {
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.is_ok_and(|status| status.success()));
    assert!(child.wait().expect("an end").success());
    let mut stderr = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut stderr).expect("text");
    stderr
}

#[test]
fn the_program_serves_the_apps_of_its_file() {
    let wasm = misbehave3().display();
    let dir = file("apps", "");
    std::fs::copy(misbehave3(), dir.join("two.wasm")).expect("copied");
    let text = format!(
        "[[apps]]\nname = \"one\"\npath = \"{wasm}\"\nprefix = \"/one\"\nstrip_prefix = \"on\"\n\
         [[apps]]\npath = \"two.wasm\"\nprefix = \"/two\"\nstrip_prefix = \"on\"\n\
         [[redirects]]\nfrom = \"/\"\nto = \"/one\"\nstatus = 302\n"
    );
    std::fs::write(dir.join("tabi.toml"), text).expect("written");
    let (child, mut client, _out) = start(&dir, &["serve", "--port", "0", "--threads", "1"]);
    assert_eq!(client.get("/").header("location"), Some("/one"));
    assert_eq!(client.get("/three").status, 404);
    assert_eq!([client.get("/one/counter").text(), client.get("/two/counter").text()], ["1", "1"]);
    std::fs::copy(misbehave(), dir.join("two.wasm")).expect("copied");
    let hangup = Command::new("kill").args(["-HUP", &child.id().to_string()]).status();
    assert!(hangup.is_ok_and(|status| status.success()));
    // The new one counts from the start with each request.
    let begin = Instant::now();
    while [client.get("/two/counter").text(), client.get("/two/counter").text()] != ["1", "1"] {
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
    assert_eq!(client.get("/one/counter").text(), "2", "what has not changed goes on");
    let stderr = stop(child);
    assert!(stderr.contains("app \"two\" has changed and is served from now on"), "{stderr}");
    assert!(!stderr.contains("\"one\""), "{stderr}");
    let output = tabi(&dir, &["check"]).output().expect("tabi runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("app \"one\" (") && text.contains("is fine: it exports wasi:http/handler@0.3"), "{text}");
    assert!(text.contains("app \"two\" (two.wasm) is fine: it exports wasi:http/incoming-handler@0.2"), "{text}");
    // A component on the command line stands for itself, with what is around it.
    let (child, mut client, _out) = start(&dir, &["serve", "two.wasm", "--port", "0"]);
    assert_eq!([client.get("/one/early").status, client.get("/early").status], [200, 200]);
    assert_eq!(client.get("/").header("location"), Some("/one"));
    assert!(stop(child).contains("the [[apps]] of the configuration are left out"));
    std::fs::remove_dir_all(&dir).expect("removed");
}
