//! Which content coding a client likes best, without the tables that negotiation in general needs.

use crate::accept::weight;
use crate::request::Request;

/// Says how much a client likes a content coding, in thousandths, by `Accept-Encoding` (RFC 9110, section 12.5.3).
///
/// It says what [`Accept::encodings`](crate::Accept::encodings) says, for a third of the bytes, which every app with
/// assets would pay.
pub(crate) fn liking(request: &Request, coding: &str) -> u16 {
    // What is not encoded is welcome unless excluded, but less than anything that is named.
    let is_identity = coding == "identity";
    let mut liked = is_identity.into();
    for field in request.headers().get_all_bytes("accept-encoding") {
        for item in field.split(|byte| *byte == b',') {
            let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let Some(weight) = parts.try_fold(1000, |known, part| match part {
                [b'q' | b'Q', b'=', digits @ ..] => weight(digits),
                _ => Some(known),
            }) else {
                continue;
            };
            if name.eq_ignore_ascii_case(coding.as_bytes())
                || (coding == "gzip" && name.eq_ignore_ascii_case(b"x-gzip"))
            {
                return weight;
            }
            if name == b"*" && !(is_identity && weight > 0) {
                liked = weight;
            }
        }
    }
    liked
}
