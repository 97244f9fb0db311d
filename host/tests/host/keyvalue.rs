//! Key-value storage: the same for components over memory, a file and a Redis server, within limits, and intact after a crash.

use crate::client::Client;
use crate::redis::Redis;
use crate::support::{Room, Running, config, granted};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tabi_host::{Config, Grants, Host, Log};

fn grants(keyvalue: &str) -> Config {
    let grants =
        Grants { keyvalue: keyvalue.to_owned(), keyvalue_buckets: vec!["other".to_owned()], ..Grants::default() };
    Config { grants, ..config() }
}

#[track_caller]
fn check(running: &Running, target: &str, wanted: &str) {
    let reply = Client::connect(running.server.addr()).get(target);
    assert_eq!((reply.status, reply.text().as_str()), (200, wanted), "{target}");
}

#[track_caller]
fn fails(running: &Running, target: &str, part: &str) {
    let reply = Client::connect(running.server.addr()).get(target);
    let text = reply.text();
    assert!(reply.status == 200 && text.starts_with("Error::Other(") && text.contains(part), "{target}: {text}");
}

/// Runs a test over each kind of storage, empty, for each version of WASI.
fn everywhere(name: &str, change: impl Fn(&mut Config), test: impl Fn(&Running)) {
    let room = Room::new(name);
    let redis = Redis::start(&room, &[]);
    for (number, component) in granted().iter().enumerate() {
        let places = [
            "memory:".to_owned(),
            format!("file:{}", room.path().join(format!("{number}.redb")).display()),
            redis.url_of_socket(),
        ];
        for place in places {
            eprintln!("{place} {}", component.display());
            redis.empty();
            let mut config = grants(&place);
            change(&mut config);
            test(&Running::serve(component, config));
        }
    }
}

#[test]
fn nothing_is_stored_without_a_grant() {
    for component in granted() {
        let running = Running::serve(component, config());
        check(&running, "/keys/get/?a", "Error::AccessDenied");
        let log = running.log();
        assert!(log.contains("it imports wasi:keyvalue, and nothing is granted; storage is granted with"), "{log}");
    }
}

#[test]
fn keys_have_values() {
    everywhere(
        "keys",
        |_| {},
        |running| {
            check(running, "/keys/get/?a", "none");
            check(running, "/keys/exists/?a", "false");
            check(running, "/keys/list/", "end");
            check(running, "/keys/delete/?a", "deleted");
            check(running, "/keys/set/?a=1", "set");
            check(running, "/keys/get/?a", "1");
            check(running, "/keys/set/?a=", "set");
            check(running, "/keys/get/?a", "");
            check(running, "/keys/exists/?a", "true");
            // Both names are those of the same bucket, and no other bucket has its keys.
            check(running, "/keys/get/default?a", "");
            check(running, "/keys/get/other?a", "none");
            check(running, "/keys/set/other?b=2", "set");
            check(running, "/keys/all/", "a");
            check(running, "/keys/all/other", "b");
            check(running, "/keys/get/another?a", "Error::NoSuchStore");
            check(running, "/keys/delete/?a", "deleted");
            check(running, "/keys/get/?a", "none");
            check(running, "/keys/get/other?b", "2");
        },
    );
}

#[test]
fn numbers_are_increased() {
    everywhere(
        "numbers",
        |_| {},
        |running| {
            check(running, "/keys/increment/?n=5", "5");
            check(running, "/keys/increment/?n=0", "5");
            check(running, "/keys/increment/?n=37", "42");
            check(running, "/keys/get/?n", "42");
            check(running, "/keys/set/?n=9223372036854775806", "set");
            check(running, "/keys/increment/?n=1", "9223372036854775807");
            fails(running, "/keys/increment/?n=1", "the number would be too large");
            fails(running, "/keys/increment/?m=18446744073709551615", "the number would be too large");
            check(running, "/keys/set/?n=x", "set");
            fails(running, "/keys/increment/?n=1", "no number that can be increased");
            check(running, "/keys/get/?n", "x");
            // Nothing gets lost where many do it at once.
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        (0..25).for_each(|_| drop(Client::connect(running.server.addr()).get("/keys/increment/?c=1")))
                    });
                }
            });
            check(running, "/keys/get/?c", "200");
        },
    );
}

#[test]
fn many_keys_are_set_read_listed_and_deleted() {
    let small = |config: &mut Config| config.limits.keyvalue_keys = 100;
    everywhere("many", small, |running| {
        check(running, "/keys/set-many/?0", "set");
        check(running, "/keys/get-many/?0", "0 of 1, 0 bytes, true");
        check(running, "/keys/set-many/?100=value", "set");
        check(running, "/keys/get-many/?99", "99 of 100, 495 bytes, true");
        fails(running, "/keys/set-many/?101=value", "limits.keyvalue_keys");
        fails(running, "/keys/get-many/?100", "limits.keyvalue_keys");
        for key in ["a", "b*", "z:z", "[e]"] {
            check(running, &format!("/keys/set/?{key}=x"), "set");
        }
        let all = Client::connect(running.server.addr()).get("/keys/all/").text();
        assert_eq!(all.lines().count(), 104, "{all}");
        check(running, "/keys/clear/", "104");
        check(running, "/keys/all/", "");
    });
}

#[test]
fn a_listing_goes_on_in_another_request() {
    let room = Room::new("pages");
    for place in ["memory:".to_owned(), format!("file:{}", room.path().join("pages.redb").display())] {
        let mut config = grants(&place);
        config.limits.keyvalue_keys = 2;
        let running = Running::serve(&granted()[0], config);
        for key in ["a", "b", "c", "d"] {
            check(&running, &format!("/keys/set/?{key}=1"), "set");
        }
        check(&running, "/keys/list/", "a\nb\n2");
        check(&running, "/keys/list/?2", "c\nd\nend");
        check(&running, "/keys/list/?3", "d\nend");
        check(&running, "/keys/list/?4", "end");
        check(&running, "/keys/list/?18446744073709551615", "end");
    }
}

#[test]
fn limits_are_errors_in_the_guest() {
    let small = |config: &mut Config| {
        config.limits.keyvalue_key_bytes = 12;
        config.limits.keyvalue_value_bytes = 100_000;
        config.limits.keyvalue_operations = 20;
        config.limits.hostcall_bytes = 300_000;
    };
    everywhere("limits", small, |running| {
        check(running, "/keys/long/?12=100000", "set");
        fails(running, "/keys/long/?13=1", "limits.keyvalue_key_bytes");
        fails(running, "/keys/long/?1=100001", "limits.keyvalue_value_bytes");
        check(running, "/keys/often/?20", "20");
        check(running, "/keys/often/?30", "20");
        check(running, "/keys/often/?19", "19");
        // Each value is short enough, all of them together are too long.
        check(running, &format!("/keys/set-many/?30={}", "v".repeat(7000)), "set");
        check(running, "/keys/get-many/?30", "30 of 31, 210000 bytes, true");
        fails(running, "/keys/get-double/?30", "limits.hostcall_bytes");
    });
    let running = Running::serve(&granted()[0], {
        let mut config = grants("memory:");
        config.limits.keyvalue_memory = 10_000;
        config
    });
    check(&running, "/keys/long/?10=9000", "set");
    fails(&running, "/keys/long/?9=9000", "limits.keyvalue_memory");
}

#[test]
fn storage_outlives_a_reload() {
    let room = Room::new("outlives");
    for place in ["memory:".to_owned(), format!("file:{}", room.path().join("db").display())] {
        let [component, other] = granted();
        let mut host = Host::load(component, grants(&place), Log::stderr()).expect("loads");
        let server = host.bind().and_then(|listener| host.serve(listener)).expect("serves");
        let ask = |target: &str| Client::connect(server.addr()).get(target).text();
        assert_eq!(ask("/keys/set/?a=1"), "set");
        host.reload(&server, other).expect("reloads");
        assert_eq!(ask("/keys/get/?a"), "1");
        // Two hosts of a process may share a file, and not what is in memory.
        let running = Running::serve(component, grants(&place));
        check(&running, "/keys/get/?a", if place == "memory:" { "none" } else { "1" });
    }
}

/// A server in a process of its own; its output stays open.
struct Process {
    child: Child,
    addr: SocketAddr,
    _out: BufReader<ChildStdout>,
}

impl Process {
    fn start(place: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tabi"));
        command.arg("serve").arg(&granted()[0]).args([
            "--addr",
            "127.0.0.1:0",
            "--set",
            &format!("grants.keyvalue={place}"),
        ]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("tabi runs");
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("stdout"));
        out.read_line(&mut first).expect("a line");
        let addr = first.trim().strip_prefix("Serving HTTP on http://").expect("an address").trim_end_matches('/');
        Self { child, addr: addr.parse().expect("an address"), _out: out }
    }

    /// As by `kill -9`.
    fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client was told is stored is there after the process was killed while others wrote.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    let room = Room::new("kill");
    let place = format!("file:{}", room.path().join("db").display());
    let mut stored = Vec::new();
    let mut counted = 0;
    for round in 0..3 {
        let mut process = Process::start(&place);
        let addr = process.addr;
        let told = Mutex::new((Vec::new(), counted));
        let (done, wait) = mpsc::channel();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (told, done) = (&told, done.clone());
                scope.spawn(move || {
                    let mut client = Client::connect(addr);
                    for number in 0.. {
                        let key = format!("{round}-{writer}-{number}");
                        let target =
                            if writer == 0 { "/keys/increment/?n=1".into() } else { format!("/keys/set/?{key}={key}") };
                        client.send(format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n"));
                        let Some(reply) =
                            client.read_reply(false).filter(|reply| reply.complete && reply.status == 200)
                        else {
                            return;
                        };
                        let mut told = told.lock().expect("no panic");
                        match reply.text().as_str() {
                            "set" => told.0.push(key),
                            number => told.1 = number.parse::<u64>().expect("a number"),
                        }
                        let _ = done.send(());
                    }
                });
            }
            for _ in 0..300 {
                wait.recv_timeout(Duration::from_secs(60)).expect("writers write");
            }
            process.kill();
        });
        let (keys, number) = told.into_inner().expect("no panic");
        assert!(keys.len() > 100 && number > counted, "{} keys, {number}", keys.len());
        stored.extend(keys);
        counted = number;
        let process = Process::start(&place);
        let mut client = Client::connect(process.addr);
        for key in &stored {
            assert_eq!(client.get(&format!("/keys/get/?{key}")).text(), *key);
        }
        // One more may have been done than was told.
        let found: u64 = client.get("/keys/get/?n").text().parse().expect("a number");
        assert!((counted..=counted + 1).contains(&found), "{found}, and {counted} was told");
        counted = found;
    }
}

#[test]
fn a_file_of_another_process_is_a_reason_not_to_start() {
    let room = Room::new("twice");
    let place = format!("file:{}", room.path().join("db").display());
    let _process = Process::start(&place);
    let error = Host::load(&granted()[0], grants(&place), Log::stderr()).map(|_| ()).expect_err("in use");
    assert!(error.to_string().contains("db can't be opened: another process has it open"), "{error}");
}

#[test]
fn a_file_that_is_no_storage_is_a_reason_not_to_start() {
    let room = Room::new("garbage");
    std::fs::write(room.path().join("db"), b"this is no storage at all".repeat(400)).expect("written");
    let place = format!("file:{}", room.path().join("db").display());
    let error = Host::load(&granted()[0], grants(&place), Log::stderr()).map(|_| ()).expect_err("garbage");
    assert!(
        error.to_string().contains("grants.keyvalue: ") && error.to_string().contains("can't be opened"),
        "{error}"
    );
}

#[test]
fn a_server_may_want_a_password_and_have_several_databases() {
    let room = Room::new("password");
    let redis = Redis::start(&room, &["--requirepass", "p@ss"]);
    let secret = room.path().join("url");
    for (number, text) in [(0, "none"), (3, "1")] {
        std::fs::write(&secret, format!("redis://:p%40ss@{}/{number}\n", redis.addr())).expect("written");
        let running = Running::serve(&granted()[0], grants(&format!("@{}", secret.display())));
        if number == 3 {
            check(&running, "/keys/set/?a=1", "set");
        }
        check(&running, "/keys/get/?a", text);
    }
    for credentials in ["", ":wrong@", "nobody:p%40ss@"] {
        let running = Running::serve(&granted()[0], grants(&format!("redis://{credentials}{}", redis.addr())));
        fails(&running, "/keys/get/?a", "the server refused: ");
        assert!(!running.log().contains("wrong"));
    }
}

#[test]
fn a_server_may_go_and_come_back() {
    let room = Room::new("away");
    let mut redis = Redis::start(&room, &[]);
    let running = Running::serve(&granted()[0], grants(&redis.url_of_socket()));
    for _ in 0..3 {
        check(&running, "/keys/set/?a=1", "set");
        redis.stop();
        fails(&running, "/keys/get/?a", "the server can't be reached");
        redis = Redis::start(&room, &[]);
        check(&running, "/keys/get/?a", "none");
    }
}

/// Whatever is at the other end: the guest gets an error, in time.
#[test]
fn servers_that_are_none_are_errors() {
    for (answer, part) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "does not speak the protocol of Redis"),
        (b"", "the connection to the server broke"),
        (b"$999999999999\r\n", "too many bytes"),
        (b"*1\r\n:1\r\n", "something else than was asked"),
        (b"+OK\r\n", "something else than was asked"),
        (b"*2\r\n$-1\r\n$-1\r\n", "something else than was asked"),
        (b"-ERR no\r\n", "the server refused: ERR no"),
        (b"*1\r\n$5\r\nab", "limits.keyvalue_timeout"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut config = grants(&format!("redis://{}", listener.local_addr().expect("an address")));
        config.limits.keyvalue_timeout = Duration::from_millis(300);
        let running = Running::serve(&granted()[0], config);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().expect("a connection");
                stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(answer);
                // Only who waits for the rest of an answer is made to wait.
                if part.starts_with("limits.") {
                    let _ = stream.read(&mut [0; 1024]);
                }
            });
            let start = Instant::now();
            fails(&running, "/keys/get/?a", part);
            assert!(start.elapsed() < Duration::from_secs(5), "{part}");
            drop(running);
        });
    }
}

#[test]
fn a_relative_file_begins_where_the_server_was_started() {
    let room = Room::new("relative");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabi"));
    command.current_dir(room.path()).arg("check").arg(&granted()[0]).args(["--set", "grants.keyvalue=file:app.redb"]);
    let output = command.output().expect("tabi runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Path::new(room.path()).join("app.redb").is_file());
}
