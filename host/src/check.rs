//! `tabi check`: what a component is, and which hosts serve it.

use crate::cli::Target;
use crate::env;
use crate::subject::{Subject, component};
use std::path::Path;
#[cfg(feature = "compiler")]
use tabi_host::is_done_ahead;
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
    let (host, refusal) = match Host::load(&path, config, log).and_then(|host| host.check().map(|()| host)) {
        Ok(host) => (Some(host), None),
        Err(refusal) => (None, Some(refusal)),
    };
    let apps = host.as_ref().map(Host::apps).unwrap_or_default();
    if as_json {
        say!("{}", object(&path, &outline, apps.first(), refusal.as_ref()));
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
    for line in apps.iter().flat_map(instances) {
        say!("{line}");
    }
    for hint in apps.iter().flat_map(App::hints) {
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
            say!("{}", object(app.path(), &outline, Some(app), None));
            continue;
        }
        let (name, path, exports) = (app.name(), app.path().display(), handlers(&outline).join(" and "));
        say!("app {name:?} ({path}) is fine: it exports {exports}");
        for line in instances(app) {
            say!("  {line}");
        }
        for hint in app.hints() {
            say!("{hint}, if it needs any");
        }
    }
    Ok(())
}

/// How the instances of an app live, and whether each has to do at its start what could be done once.
fn instances(app: &App) -> Vec<String> {
    let ahead = is_done_ahead(app.path()).map(|ahead| match ahead {
        true => "its wizer-initialize is done already, when it is compiled",
        false => {
            "its wizer-initialize is done by each new instance: it traps, calls the host (for random numbers, say), or does \
             what can't be kept"
        }
    });
    std::iter::once(app.lifetime()).chain(ahead.map(str::to_owned)).collect()
}

/// Without the compiler nothing is done ahead.
#[cfg(not(feature = "compiler"))]
fn is_done_ahead(_: &Path) -> Option<bool> {
    None
}

/// The handlers among the exports.
fn handlers(outline: &Outline) -> Vec<&str> {
    outline.exports.iter().map(String::as_str).filter(|name| name.starts_with("wasi:http/")).collect()
}

/// The same for programs, in one line.
fn object(path: &Path, outline: &Outline, app: Option<&App>, refusal: Option<&StartError>) -> String {
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
    let instances = app.map(|app| format!(r#""instances":[{}],"#, list(&instances(app)))).unwrap_or_default();
    let origin = outline.origin.as_ref().map(|origin| format!(r#""compiled_by":{},"#, json(&origin.by)));
    format!(
        r#"{{"component":{},{}{}"exports":[{}],"imports":[{}],"hosts":[{}]}}"#,
        json(&path.display().to_string()),
        origin.unwrap_or_default(),
        instances,
        list(&outline.exports),
        list(&outline.imports),
        hosts.join(",")
    )
}
