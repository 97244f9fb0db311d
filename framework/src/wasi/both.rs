//! The head of a request in a component with both exports.

use crate::body::Body;
use crate::error::Result;
use crate::headers::Headers;
use alloc::string::String;

/// The head of a request, which stays with the runtime until somebody asks.
pub(crate) enum Head {
    P2(super::p2::Head),
    P3(super::p3::Head),
}

impl From<super::p2::Head> for Head {
    fn from(head: super::p2::Head) -> Head {
        Head::P2(head)
    }
}

impl From<super::p3::Head> for Head {
    fn from(head: super::p3::Head) -> Head {
        Head::P3(head)
    }
}

impl Head {
    pub(crate) fn headers(&self) -> Headers {
        match self {
            Head::P2(head) => head.headers(),
            Head::P3(head) => head.headers(),
        }
    }

    pub(crate) fn scheme(&self) -> Option<String> {
        match self {
            Head::P2(head) => head.scheme(),
            Head::P3(head) => head.scheme(),
        }
    }

    pub(crate) fn authority(&self) -> Option<String> {
        match self {
            Head::P2(head) => head.authority(),
            Head::P3(head) => head.authority(),
        }
    }

    pub(crate) fn body(&mut self) -> Body {
        match self {
            Head::P2(head) => head.body(),
            Head::P3(head) => head.body(),
        }
    }

    pub(crate) async fn trailers(&mut self) -> Result<Option<Headers>> {
        match self {
            Head::P2(head) => head.trailers().await,
            Head::P3(head) => head.trailers().await,
        }
    }
}
