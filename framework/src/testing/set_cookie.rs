//! Reads `Set-Cookie` fields as browsers do (RFC 6265bis, section 5.6).

use super::cookie_date;
use crate::date::Date;
use alloc::vec::Vec;

/// What a `Set-Cookie` field says.
#[derive(Default)]
pub(super) struct SetCookie {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) expires: Option<Date>,
    pub(super) max_age: Option<i64>,
    pub(super) domain: Option<Vec<u8>>,
    pub(super) path: Option<Vec<u8>>,
    pub(super) secure: bool,
    pub(super) same_site_none: bool,
}

impl SetCookie {
    /// Reads a field, or returns `None` where a browser ignores it.
    pub(super) fn parse(field: &[u8]) -> Option<SetCookie> {
        if field.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return None;
        }
        let mut parts = field.split(|byte| *byte == b';');
        let (name, value) = match halves(parts.next().unwrap_or_default()) {
            (name, Some(value)) => (name, value),
            // Without `=`, it is the value of a cookie without a name.
            (value, None) => (&[][..], value),
        };
        if (name.is_empty() && value.is_empty()) || name.len() + value.len() > 4096 {
            return None;
        }
        let mut cookie = SetCookie { name: name.to_vec(), value: value.to_vec(), ..SetCookie::default() };
        for part in parts {
            let (attribute, value) = halves(part);
            cookie.add(&attribute.to_ascii_lowercase(), value.unwrap_or_default());
        }
        Some(cookie)
    }

    fn add(&mut self, attribute: &[u8], value: &[u8]) {
        if value.len() > 1024 {
            return;
        }
        match attribute {
            b"expires" => self.expires = cookie_date::parse(value).or(self.expires),
            b"max-age" => self.max_age = seconds(value).or(self.max_age),
            b"domain" => self.domain = Some(value.strip_prefix(b".").unwrap_or(value).to_ascii_lowercase()),
            b"path" => self.path = Some(value.to_vec()),
            b"secure" => self.secure = true,
            b"samesite" => self.same_site_none = value.eq_ignore_ascii_case(b"none"),
            _ => {}
        }
    }
}

/// Reads a Max-Age; what is too large is as large as can be.
fn seconds(value: &[u8]) -> Option<i64> {
    let (digits, sign) = match value {
        [b'-', digits @ ..] => (digits, -1),
        digits => (digits, 1),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |number: i64, digit: &u8| number.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    Some(sign * digits.iter().fold(0, add))
}

fn halves(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut halves = text.splitn(2, |byte| *byte == b'=').map(<[u8]>::trim_ascii);
    (halves.next().unwrap_or_default(), halves.next())
}
