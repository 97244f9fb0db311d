//! The server killed while components store values: what was acknowledged has to be there afterwards.

use crate::Outcome;
use crate::load::Client;
use e2e::Server;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use tabi_toolchain::{Options, build_component};

const ROUNDS: usize = 5;
const WRITERS: usize = 8;
/// How long they write before the end comes.
const WHILE: Duration = Duration::from_millis(500);

/// The component of the host's tests that uses whatever it is granted.
fn guest() -> PathBuf {
    let folder = xtask::root().join("tests/guests/grants");
    let features = vec!["p2".to_owned()];
    let options = Options { release: true, quiet: true, no_default_features: true, features, ..Options::default() };
    build_component(&folder, &options, &mut |line| eprintln!("{line}")).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder that is gone with it.
struct Room(PathBuf);

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn kill() -> Outcome {
    let room = Room(std::env::temp_dir().join(format!("tabi-faults-kill-{}", std::process::id())));
    std::fs::create_dir_all(&room.0).expect("a folder");
    let setting = format!("grants.keyvalue=file:{}", room.0.join("values").display());
    let guest = guest();
    let (mut requests, mut lost, mut memory) = (0, 0, 0);
    let mut stored = Vec::new();
    for round in 0..ROUNDS {
        let (told, peak) = write_until_killed(&guest, &setting, round);
        requests += told.len() as u64;
        memory = memory.max(peak);
        stored.extend(told);
        let server = Server::tabi_with(&guest, &[&setting]);
        let mut client = Client::connect(&server.address).expect("connected");
        for key in &stored {
            if client.get_text(&format!("/keys/get/?{key}")).as_deref() != Some(key) {
                lost += 1;
            }
        }
    }
    let note = format!("{ROUNDS} kills; a request has failed if its value was acknowledged and is lost");
    Outcome { requests, failures: lost, memory, note }
}

/// Gives the keys whose storage was acknowledged before the end, and the most memory that the server had.
fn write_until_killed(guest: &Path, setting: &str, round: usize) -> (Vec<String>, u64) {
    let server = Server::tabi_with(guest, &[setting]);
    let told = Mutex::new(Vec::new());
    let mut memory = 0;
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (told, address) = (&told, server.address.clone());
            scope.spawn(move || {
                let Some(mut client) = Client::connect(&address) else { return };
                for number in 0.. {
                    let key = format!("{round}-{writer}-{number}");
                    if client.get_text(&format!("/keys/set/?{key}={key}")).as_deref() != Some("set") {
                        return;
                    }
                    told.lock().expect("no panic").push(key);
                }
            });
        }
        std::thread::sleep(WHILE);
        memory = server.peak_memory().unwrap_or(0);
        let done = Command::new("kill").args(["-9", &server.id().to_string()]).status();
        assert!(done.is_ok_and(|status| status.success()));
    });
    let told = told.into_inner().expect("no panic");
    assert!(!told.is_empty(), "nothing was stored");
    (told, memory)
}
