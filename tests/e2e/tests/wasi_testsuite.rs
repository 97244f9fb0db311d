//! The HTTP cases of the public wasi-testsuite, under `tabi` and under `wasmtime serve`.

use e2e::{Server, endpoints, nobody, release};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What fails under `wasmtime serve`, and why; all but `http-request` are in the suite's own list for wasmtime. A case that
/// passes one day is to be taken out.
const WASMTIME_FAILS: [(&str, &str); 4] =
    [NO_PATH, NEVER_SENT, RELATIVE_PATH, ("http-service-uri", "a request comes without scheme and authority")];

/// What fails under `tabi`: what its bindings of `wasi:http`, which are wasmtime's, do by themselves.
const TABI_FAILS: [(&str, &str); 3] = [NO_PATH, NEVER_SENT, RELATIVE_PATH];

const NO_PATH: (&str, &str) = ("http-client-path-none", "a request without a path is refused where it is sent");
const NEVER_SENT: (&str, &str) =
    ("http-client-sent", "the transmission of a request that was never sent is reported as a success");
const RELATIVE_PATH: (&str, &str) =
    ("http-request", "the library for URLs under the bindings knows no path without a slash");

/// Builds the cases, and returns the folder with their descriptions and the components by their names.
fn cases() -> (PathBuf, BTreeMap<String, PathBuf>) {
    let folder = xtask::root().join("tests/wasi-http");
    let target = folder.join("target");
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.args(["build", "--release", "--quiet", "--examples", "--target", tabi_toolchain::TARGET, "--target-dir"]);
    let built = cargo.arg(&target).current_dir(&folder).status();
    assert!(built.is_ok_and(|status| status.success()), "the cases do not build");
    let components = target.join(tabi_toolchain::TARGET).join("release/examples");
    let files = std::fs::read_dir(folder.join("cases")).unwrap().flatten().map(|entry| entry.path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let names = sources.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    let found = names.map(|name| (name.clone(), components.join(format!("{}.wasm", name.replace('-', "_")))));
    (folder.join("cases"), found.collect())
}

/// Starts the servers that a case talks to, and returns the variables that tell where they are.
fn upstreams(case: &str, description: &Value) -> Vec<String> {
    let described = description["servers"].as_array().into_iter().flatten();
    described
        .map(|server| {
            let name = server["name"].as_str().unwrap_or_else(|| panic!("{case}: a server without a name"));
            let address = match server["kind"].as_str() {
                None | Some("endpoints") => endpoints(&server["endpoints"]),
                Some("closed") => nobody(),
                Some(other) => panic!("{case}: the kind {other} of a server is unknown"),
            };
            format!("HTTP_SERVER_{}={address}", name.to_uppercase())
        })
        .collect()
}

/// Does one operation of a case, and returns what is wrong with the answer.
fn operate(server: &Server, operation: &Value) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().as_bytes().to_vec();
    match operation["type"].as_str().unwrap_or_default() {
        // The server runs already, and ends with its value.
        "run" | "kill" | "wait" => return Ok(()),
        "request" => {}
        other => return Err(format!("the operation {other} is unknown")),
    }
    let body = text(&operation["body"]);
    let mut headers = vec![("host".to_owned(), server.address.clone().into_bytes())];
    if !body.is_empty() || operation["method"] == "POST" {
        headers.push(("content-length".to_owned(), body.len().to_string().into_bytes()));
    }
    let fields = operation["headers"].as_object().into_iter().flatten();
    headers.extend(fields.map(|(name, value)| (name.clone(), text(value))));
    let (method, target) = (text(&operation["method"]), text(&operation["path"]));
    let answer = tabi_corpus::exchange(&server.address, &tabi_corpus::Request { method, target, headers, body })?;
    let wanted = &operation["response"];
    if wanted["status"] != answer.status {
        return Err(format!("the status is {}", answer.status));
    }
    for (name, value) in wanted["headers"].as_object().into_iter().flatten() {
        if !answer.values(name).any(|found| *value == *found) {
            return Err(format!("{name} is {:?}", answer.values(name).collect::<Vec<_>>()));
        }
    }
    if answer.body != text(&wanted["body"]) {
        return Err(format!("the body is {:?}", String::from_utf8_lossy(&answer.body)));
    }
    Ok(())
}

/// Runs the cases with the server that `start` makes of a component and its environment, and compares what fails.
fn check(expected: &[(&str, &str)], start: impl Fn(&Path, &[String]) -> Server) {
    let (folder, cases) = cases();
    assert_eq!(cases.len(), 18, "{:?}", cases.keys());
    let mut failures = BTreeMap::new();
    for (case, component) in &cases {
        let description = std::fs::read_to_string(folder.join(format!("{case}.json"))).unwrap();
        let description: Value = serde_json::from_str(&description).unwrap();
        let server = start(component, &upstreams(case, &description));
        let operations = description["operations"].as_array().cloned().unwrap_or_default();
        // A command has no request of its own: the first runs it.
        let run = serde_json::json!({"type": "request", "method": "GET", "path": "/", "response": {"status": 200}});
        let is_command = operations.iter().all(|operation| operation["type"] != "request");
        for operation in operations.iter().chain(is_command.then_some(&run)) {
            if let Err(fault) = operate(&server, operation) {
                failures.entry(case.as_str()).or_insert(format!("{operation}: {fault}"));
            }
        }
    }
    let expected: Vec<&str> = expected.iter().map(|(case, _)| *case).collect();
    assert_eq!(failures.keys().copied().collect::<Vec<_>>(), expected, "{failures:#?}");
}

#[test]
fn under_tabi() {
    check(&TABI_FAILS, |component, env| {
        let mut command = Command::new(release("tabi"));
        command.arg("serve").arg(component).args(["--addr", "127.0.0.1:0"]);
        command.args(["--set", &format!("grants.env={}", env.join(","))]);
        command.args(["--set", "grants.outbound=*", "--set", "grants.outbound_private=127.0.0.0/8"]);
        Server::start(command, None)
    });
}

#[test]
fn under_wasmtime() {
    check(&WASMTIME_FAILS, |component, env| {
        let mut command = Command::new(release("wasmtime-serve"));
        command.args(["serve", "-Scli", "--addr", "127.0.0.1:0"]);
        command.args(env.iter().flat_map(|variable| ["--env", variable])).arg(component);
        Server::start(command, None)
    });
}
