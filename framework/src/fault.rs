//! `Fault`: why a form or a query does not fit the type that it is read into.

use crate::error::Error;
use crate::status::Status;
use crate::text::concat;
use alloc::string::String;
use core::fmt;
use serde::de::{self, Expected, Unexpected};

/// Why something does not fit. Nothing in it comes from a value.
#[derive(Debug)]
pub(crate) struct Fault {
    field: Option<String>,
    what: &'static str,
}

pub(crate) const UNEXPECTED: &str = "has an unexpected value";

impl Fault {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(what: &'static str) -> Fault {
        Fault { field: None, what }
    }

    /// Says whose value it was, where that isn't known yet. A name of unusual length is the client's, not the app's.
    #[cold]
    #[inline(never)]
    pub(crate) fn of(mut self, name: String) -> Fault {
        if self.field.is_none() && name.len() <= 64 {
            self.field = Some(name);
        }
        self
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn into_error(self, status: Status, kind: &str) -> Error {
        let message = match &self.field {
            Some(name) => concat([kind, " `", name, "` ", self.what]),
            None => concat(["a ", kind, " ", self.what]),
        };
        Error::new(status, message)
    }
}

// Texts of serde are left alone: they repeat values.
impl de::Error for Fault {
    fn custom<T: fmt::Display>(_: T) -> Fault {
        Fault::new(UNEXPECTED)
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Fault {
        Fault::new(UNEXPECTED)
    }

    fn invalid_value(_: Unexpected<'_>, _: &dyn Expected) -> Fault {
        Fault::new(UNEXPECTED)
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Fault {
        Fault::new("has an unexpected number of values")
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Fault {
        Fault::new(UNEXPECTED)
    }

    fn unknown_field(_: &str, _: &'static [&'static str]) -> Fault {
        Fault::new("is unknown")
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::new("is missing").of(field.into())
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault::new("is given more than once").of(field.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl core::error::Error for Fault {}
