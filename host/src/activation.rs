//! Sockets that the service manager has opened and hands over (systemd's socket activation).

use crate::StartError;
use crate::listener::{Listener, Listeners};
use listenfd::ListenFd;

/// Takes the sockets over that are meant for this process, if there are any.
///
/// To be called before there are other threads: it takes the variables out of the environment, so
/// that no child takes them for its own.
///
/// # Errors
/// When one of them is no socket to serve on, or has a name that says nothing.
pub fn take() -> Result<Option<Listeners>, StartError> {
    let var = |name| std::env::var(name).ok();
    // The variables are inherited by children that they are not meant for.
    if var("LISTEN_PID").and_then(|pid| pid.parse().ok()) != Some(std::process::id()) {
        return Ok(None);
    }
    let names = var("LISTEN_FDNAMES").unwrap_or_default();
    let mut names = names.split(':');
    let mut sockets = ListenFd::from_env();
    let mut all = Vec::new();
    for index in 0..sockets.len() {
        let name = names.next().unwrap_or_default();
        let listener = take_one(&mut sockets, index)
            .ok_or_else(|| fail(name, index, "is neither a TCP nor a Unix socket to listen on"))?;
        let secure = is_secure(name).ok_or_else(|| fail(name, index, "has no known name; call it http or https"))?;
        all.push(if secure { listener.secure() } else { listener });
    }
    Ok((!all.is_empty()).then_some(Listeners(all)))
}

fn take_one(sockets: &mut ListenFd, index: usize) -> Option<Listener> {
    if let Ok(Some(socket)) = sockets.take_tcp_listener(index) {
        return Some(socket.into());
    }
    sockets.take_unix_listener(index).ok().flatten().map(Into::into)
}

/// Whether https is to be spoken on a socket of this name; `None` for a name without a meaning.
fn is_secure(name: &str) -> Option<bool> {
    match name {
        "https" => Some(true),
        // Without FileDescriptorName= it is the name of the unit, or "unknown".
        "http" | "" | "unknown" => Some(false),
        unit if unit.ends_with(".socket") => Some(false),
        _ => None,
    }
}

fn fail(name: &str, index: usize, why: &str) -> StartError {
    StartError::new(format!("the socket {name:?}, number {} of the service manager, {why}", index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_spoken() {
        for (name, secure) in [
            ("http", Some(false)),
            ("https", Some(true)),
            ("tabi.socket", Some(false)),
            ("unknown", Some(false)),
            ("", Some(false)),
            ("htps", None),
        ] {
            assert_eq!(is_secure(name), secure, "{name}");
        }
    }
}
