//! `Status`: the three digits of an answer (RFC 9110, section 15).

use core::fmt;

/// A status code, such as `Status::OK`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Status(u16);

macro_rules! statuses {
    ($($name:ident $code:literal $reason:literal;)*) => {
        impl Status {
            $(#[doc = concat!("`", stringify!($code), " ", $reason, "`.")] pub const $name: Status = Status($code);)*

            /// Returns the reason phrase that the RFCs give, such as `Not Found`, or `None` for a code they don't name.
            pub const fn reason(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($reason),)*
                    _ => None,
                }
            }
        }
    };
}

statuses! {
    CONTINUE 100 "Continue";
    SWITCHING_PROTOCOLS 101 "Switching Protocols";
    EARLY_HINTS 103 "Early Hints";
    OK 200 "OK";
    CREATED 201 "Created";
    ACCEPTED 202 "Accepted";
    NON_AUTHORITATIVE_INFORMATION 203 "Non-Authoritative Information";
    NO_CONTENT 204 "No Content";
    RESET_CONTENT 205 "Reset Content";
    PARTIAL_CONTENT 206 "Partial Content";
    MULTIPLE_CHOICES 300 "Multiple Choices";
    MOVED_PERMANENTLY 301 "Moved Permanently";
    FOUND 302 "Found";
    SEE_OTHER 303 "See Other";
    NOT_MODIFIED 304 "Not Modified";
    TEMPORARY_REDIRECT 307 "Temporary Redirect";
    PERMANENT_REDIRECT 308 "Permanent Redirect";
    BAD_REQUEST 400 "Bad Request";
    UNAUTHORIZED 401 "Unauthorized";
    PAYMENT_REQUIRED 402 "Payment Required";
    FORBIDDEN 403 "Forbidden";
    NOT_FOUND 404 "Not Found";
    METHOD_NOT_ALLOWED 405 "Method Not Allowed";
    NOT_ACCEPTABLE 406 "Not Acceptable";
    PROXY_AUTHENTICATION_REQUIRED 407 "Proxy Authentication Required";
    REQUEST_TIMEOUT 408 "Request Timeout";
    CONFLICT 409 "Conflict";
    GONE 410 "Gone";
    LENGTH_REQUIRED 411 "Length Required";
    PRECONDITION_FAILED 412 "Precondition Failed";
    CONTENT_TOO_LARGE 413 "Content Too Large";
    URI_TOO_LONG 414 "URI Too Long";
    UNSUPPORTED_MEDIA_TYPE 415 "Unsupported Media Type";
    RANGE_NOT_SATISFIABLE 416 "Range Not Satisfiable";
    EXPECTATION_FAILED 417 "Expectation Failed";
    MISDIRECTED_REQUEST 421 "Misdirected Request";
    UNPROCESSABLE_CONTENT 422 "Unprocessable Content";
    TOO_EARLY 425 "Too Early";
    UPGRADE_REQUIRED 426 "Upgrade Required";
    PRECONDITION_REQUIRED 428 "Precondition Required";
    TOO_MANY_REQUESTS 429 "Too Many Requests";
    REQUEST_HEADER_FIELDS_TOO_LARGE 431 "Request Header Fields Too Large";
    UNAVAILABLE_FOR_LEGAL_REASONS 451 "Unavailable For Legal Reasons";
    INTERNAL_SERVER_ERROR 500 "Internal Server Error";
    NOT_IMPLEMENTED 501 "Not Implemented";
    BAD_GATEWAY 502 "Bad Gateway";
    SERVICE_UNAVAILABLE 503 "Service Unavailable";
    GATEWAY_TIMEOUT 504 "Gateway Timeout";
    HTTP_VERSION_NOT_SUPPORTED 505 "HTTP Version Not Supported";
    INSUFFICIENT_STORAGE 507 "Insufficient Storage";
}

impl Status {
    /// Returns the status of this code, or `None` outside 100 to 599 (RFC 9110, section 15).
    pub const fn new(code: u16) -> Option<Status> {
        if code >= 100 && code <= 599 { Some(Status(code)) } else { None }
    }

    /// Returns the three digits as a number.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Tells whether it is 1xx.
    pub const fn is_informational(self) -> bool {
        self.0 < 200
    }

    /// Tells whether it is 2xx.
    pub const fn is_success(self) -> bool {
        self.0 >= 200 && self.0 < 300
    }

    /// Tells whether it is 3xx.
    pub const fn is_redirection(self) -> bool {
        self.0 >= 300 && self.0 < 400
    }

    /// Tells whether it is 4xx.
    pub const fn is_client_error(self) -> bool {
        self.0 >= 400 && self.0 < 500
    }

    /// Tells whether it is 5xx.
    pub const fn is_server_error(self) -> bool {
        self.0 >= 500
    }

    /// Tells whether an answer with it never has content: 1xx, 204, 304 (RFC 9110, section 6.4.1).
    pub(crate) const fn is_bodiless(self) -> bool {
        self.is_informational() || matches!(self.0, 204 | 304)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes() {
        for (code, reason) in [(200, Some("OK")), (404, Some("Not Found")), (299, None)] {
            assert_eq!(Status::new(code).and_then(Status::reason), reason, "{code}");
        }
        assert_eq!([Status::new(99), Status::new(600), Status::new(0)], [None; 3]);
    }
}
