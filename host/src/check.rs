//! `tabi check`: what a component is, and which hosts serve it.

use crate::cli::Target;
use crate::env;
use crate::subject::{Subject, component};
use std::path::Path;
use tabi_host::{Answer, App, Host, Log, Outline, StartError, json, verdicts};

/// Loads the component as `serve` would, and prints what it is and where it runs.
///
/// # Errors
/// When the configuration or the component can't be used here. The other hosts are told all the same,
/// as far as the component can be read.
pub fn check(args: &Target, as_json: bool) -> Result<(), StartError> {
    let config = args.settings.resolve(args.folder(), env)?;
    let log = Log::stderr();
    let path = match Subject::of(args.path.as_deref(), &config, &log) {
        Subject::One(path) => component(&path, &args.build)?,
        several @ Subject::Apps(_) => return apps(&several.load(config, &args.build, &log)?, as_json),
    };
    let outline = Outline::open(&path)?;
    let loaded = Host::load(&path, config, log).and_then(|host| host.check().map(|()| host));
    let apps = loaded.as_ref().map(Host::apps).unwrap_or_default();
    let hints: Vec<String> = apps.iter().flat_map(App::hints).cloned().collect();
    let refusal = loaded.err();
    if as_json {
        say!("{}", object(&path, &outline, refusal.as_ref()));
        // The object says everything.
        return refusal.map_or(Ok(()), |_| Err(StartError::new(format!("{} can't be served here", path.display()))));
    }
    let name = path.display();
    match &refusal {
        None => say!("{name} is fine: it exports {}", handlers(&outline).join(" and ")),
        Some(_) => say!("{name} exports {}", handlers(&outline).join(" and ")),
    }
    if let Some(origin) = &outline.origin {
        say!(
            "it was compiled by {} for {}; of hosts, what is said below is about the component",
            origin.by,
            origin.target
        );
    }
    let short = refusal.as_ref().map(|_| "see below");
    for verdict in verdicts(&outline, short) {
        say!("  {:<17} {}", verdict.host, verdict.answer);
    }
    for hint in hints {
        say!("{hint}, if it needs any");
    }
    refusal.map_or(Ok(()), Err)
}

/// Prints what the apps of the configuration are, all of which have been loaded.
fn apps(host: &Host, as_json: bool) -> Result<(), StartError> {
    host.check()?;
    for app in host.apps() {
        let outline = Outline::open(app.path())?;
        if as_json {
            say!("{}", object(app.path(), &outline, None));
            continue;
        }
        let (name, path, exports) = (app.name(), app.path().display(), handlers(&outline).join(" and "));
        say!("app {name:?} ({path}) is fine: it exports {exports}");
        for hint in app.hints() {
            say!("{hint}, if it needs any");
        }
    }
    Ok(())
}

/// The handlers among the exports.
fn handlers(outline: &Outline) -> Vec<&str> {
    outline.exports.iter().map(String::as_str).filter(|name| name.starts_with("wasi:http/")).collect()
}

/// The same for programs, in one line.
fn object(path: &Path, outline: &Outline, refusal: Option<&StartError>) -> String {
    let list = |names: &[String]| names.iter().map(|name| json(name)).collect::<Vec<_>>().join(",");
    let refusal = refusal.map(ToString::to_string);
    let hosts: Vec<_> = verdicts(outline, refusal.as_deref())
        .iter()
        .map(|verdict| {
            let mut text = format!(r#"{{"host":{},"answer":"{}""#, json(verdict.host), verdict.answer.word());
            match &verdict.answer {
                Answer::Runs => {}
                Answer::With(what, why) => text.push_str(&format!(r#","with":{},"why":{}"#, json(what), json(why))),
                Answer::Depends(why) | Answer::Refuses(why) => text.push_str(&format!(r#","why":{}"#, json(why))),
            }
            text + "}"
        })
        .collect();
    let origin = outline.origin.as_ref().map(|origin| format!(r#""compiled_by":{},"#, json(&origin.by)));
    format!(
        r#"{{"component":{},{}"exports":[{}],"imports":[{}],"hosts":[{}]}}"#,
        json(&path.display().to_string()),
        origin.unwrap_or_default(),
        list(&outline.exports),
        list(&outline.imports),
        hosts.join(",")
    )
}
