//! The twin of the runtime for tests: what a runtime would know is given.

use crate::body::Body;
use crate::error::Result;
use crate::headers::Headers;
use alloc::string::String;

/// The head of a request that did not come over the wire.
#[derive(Default)]
pub(crate) struct Head {
    pub(crate) headers: Headers,
    pub(crate) scheme: Option<String>,
    pub(crate) authority: Option<String>,
    pub(crate) body: Body,
    pub(crate) trailers: Option<Headers>,
}

impl Head {
    pub(crate) fn headers(&self) -> Headers {
        self.headers.clone()
    }

    pub(crate) fn scheme(&self) -> Option<String> {
        self.scheme.clone().or_else(|| Some(String::from("http")))
    }

    pub(crate) fn authority(&self) -> Option<String> {
        self.authority.clone()
    }

    pub(crate) fn body(&mut self) -> Body {
        self.body.take()
    }

    pub(crate) async fn trailers(&mut self) -> Result<Option<Headers>> {
        Ok(self.trailers.take())
    }
}

/// Whether mistakes in building an app are looked for.
pub(crate) const CHECKED: bool = true;

/// Ends the program with a message.
#[cold]
#[track_caller]
#[allow(clippy::panic, reason = "a mistake in building the app is to be found by the test that builds it")]
pub(crate) fn fail(message: &str) -> ! {
    panic!("{message}")
}

/// Writes a line to the log.
pub(crate) fn log(line: &str) {
    #[cfg(feature = "std")]
    std::eprintln!("{line}");
    #[cfg(not(feature = "std"))]
    let _ = line;
}
