//! The file of a component, read at once, and whose it is.

use crate::{StartError, precompiled};
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::Path;

/// Reads the file at `path`, whether it is a component or one that was compiled before.
///
/// # Errors
/// When there is none, it can't be read, or it has machine code that others could have written.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, StartError> {
    let name = path.display();
    let fail = |error: std::io::Error| {
        StartError::new(match error.kind() {
            ErrorKind::NotFound => format!("{name} does not exist"),
            ErrorKind::PermissionDenied => format!("no permission to read {name}"),
            ErrorKind::IsADirectory => format!("{name} is a folder, not a component"),
            _ => format!("{name} can't be read: {error}"),
        })
    };
    let mut file = File::open(path).map_err(fail)?;
    let about = file.metadata().map_err(fail)?;
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.read_to_end(&mut bytes).map_err(fail)?;
    if precompiled::is(&bytes) && !is_private(&about, true) {
        return Err(StartError::new(format!(
            "{name} has machine code, which is run as it is: the file must belong to root or to the user who runs tabi, \
             and nobody else may write to it (chown, chmod go-w)"
        )));
    }
    Ok(bytes)
}

/// Whether nobody but the user of this program, or root if `by_root` allows it, may write to a file or folder.
#[cfg(unix)]
pub(crate) fn is_private(about: &Metadata, by_root: bool) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    (about.uid() == user || (by_root && about.uid() == 0)) && about.mode() & 0o022 == 0
}

/// Whose a file is can't be told here.
#[cfg(not(unix))]
pub(crate) fn is_private(_: &Metadata, _: bool) -> bool {
    true
}
