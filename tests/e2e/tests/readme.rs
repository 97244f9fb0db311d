//! The commands of the README, as somebody would type them.

use e2e::{Server, release};
use std::process::Command;

/// Returns the lines of the blocks that are for a shell.
fn commands(text: &str) -> Vec<&str> {
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.flat_map(str::lines).collect()
}

#[test]
fn commands_do_what_they_say() {
    let readme = std::fs::read_to_string(xtask::root().join("README.md")).unwrap();
    let mut server: Option<Server> = None;
    let mut said = String::new();
    for line in commands(&readme) {
        if let Some(arguments) = line.strip_prefix("cargo run --release -- ") {
            // The program that `cargo run` would start, on a free port.
            let mut command = Command::new(release("tabi"));
            command.current_dir(xtask::root()).env("TABI_PORT", "0").args(arguments.split(' '));
            server = Some(Server::start(command, None));
        } else if line.starts_with("curl ") {
            let _ = xtask::packages::program("curl");
            let address = &server.as_ref().expect("a server is started first").address;
            let line = line.replace("127.0.0.1:8080", address).replacen("curl", "curl --silent --show-error", 1);
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            said = String::from_utf8(output.stdout).unwrap();
        } else if let Some(expected) = line.strip_prefix("# ") {
            assert_eq!(said, expected);
        } else {
            assert_eq!(line, "cargo xtask test", "a command that nothing runs");
        }
    }
    assert_eq!(said, "Hello, Ada!");
}

/// The curl line that the server prints at its start works as it stands.
#[test]
fn the_printed_curl_line_works() {
    let mut command = Command::new(release("tabi"));
    command.current_dir(xtask::root()).args(["serve", "apps/hello", "--port", "0"]);
    let server = Server::start(command, None);
    let line = server.wait_for("curl ").expect("a line to try");
    let line = line.trim_start_matches(|char| char != 'c');
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("Hello from Tabi!"), "{line}");
}
