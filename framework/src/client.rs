//! `client`: requests that an app makes itself, with streams both ways.
//!
//! ```
//! use tabi::{Request, Response, Result, Router, client, testing};
//!
//! async fn weather(req: Request) -> Result<Response> {
//!     let city = req.raw_param("city")?;
//!     let mut reply = client::get(&["https://weather.example/now/", &city].concat()).send().await?;
//!     Ok(Response::text(["It is ", &reply.text().await?].concat()))
//! }
//!
//! // Tests stay on this machine: a router stands for the other server.
//! testing::upstream("https://weather.example", Router::new().get("/now/{city}", async |_| "sunny"));
//! let app = testing::Client::new(Router::new().get("/{city}", weather));
//! assert_eq!(app.get("/Kobe").send().text(), "It is sunny");
//! ```

mod reply;
#[cfg(test)]
mod tests;
mod url;

pub use reply::Reply;

use crate::body::Body;
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::method::Method;
use crate::status::Status;
use crate::text::concat;
use crate::time::timeout;
use crate::wasi::outbound::{self, Fault, Outgoing};
use core::time::Duration;
use reply::Patience;
pub(crate) use url::Url;

/// Begins a GET.
pub fn get(url: &str) -> Call {
    request(Method::GET, url)
}

/// Begins a HEAD.
pub fn head(url: &str) -> Call {
    request(Method::HEAD, url)
}

/// Begins a POST.
pub fn post(url: &str) -> Call {
    request(Method::POST, url)
}

/// Begins a PUT.
pub fn put(url: &str) -> Call {
    request(Method::PUT, url)
}

/// Begins a PATCH.
pub fn patch(url: &str) -> Call {
    request(Method::PATCH, url)
}

/// Begins a DELETE.
pub fn delete(url: &str) -> Call {
    request(Method::DELETE, url)
}

/// Begins a request with any method.
///
/// The URL is one of `http` or `https`, with its parts escaped as they go over the wire. One that can't be read, or has
/// a password in it, is an error of [`Call::send`].
pub fn request(method: Method, url: &str) -> Call {
    let (url, fault) = match Url::parse(url) {
        Ok(url) => (url, None),
        Err(why) => (Url::default(), Some(Error::internal(concat([why, ": ", url])))),
    };
    Call { method, url, headers: Headers::new(), body: Body::empty(), patience: None, fault }
}

/// A request that is being put together.
#[must_use = "nothing is sent before `send`"]
pub struct Call {
    method: Method,
    url: Url,
    headers: Headers,
    body: Body,
    patience: Option<Patience>,
    /// What was wrong so far.
    fault: Option<Error>,
}

impl Call {
    /// Adds a header field. One that is not well-formed is an error of [`Call::send`]; those between a client and its
    /// neighbour, such as `Host` and `Connection`, are the runtime's and left out.
    pub fn header(mut self, name: &str, value: &str) -> Call {
        if let Err(error) = self.headers.append(name, value) {
            self.fault.get_or_insert(error);
        }
        self
    }

    /// Sets the body. A stream is read as fast as the other side takes it.
    pub fn body(mut self, body: impl Into<Body>) -> Call {
        self.body = body.into();
        self
    }

    /// Sets a value as JSON for the body, and its content type.
    #[cfg(feature = "json")]
    pub fn json<T: serde::Serialize + ?Sized>(mut self, value: &T) -> Call {
        match crate::json_write::write(value) {
            Ok(text) => self.header("content-type", "application/json").body(text),
            Err(error) => {
                self.fault.get_or_insert(error.into());
                self
            }
        }
    }

    /// Sets how long to wait: for the head of the answer, and then for each piece of its body. Without, it is for the
    /// runtime to say.
    pub fn timeout(mut self, duration: Duration) -> Call {
        self.patience = Some(Patience::new(duration));
        self
    }

    /// Sends it, and returns once the head of the answer is there; the rest comes while it is read.
    ///
    /// Any status is an answer. What is left of the request's body goes on while that of the answer is read, and is
    /// taken back with it.
    ///
    /// # Errors
    /// 504 where there is no answer in time; 502 where the other side can't be reached, breaks off, or may not be asked;
    /// 500 where the request can't be made. The log has the reason, with scheme and host.
    pub async fn send(self) -> Result<Reply> {
        let Call { method, url, mut headers, body, patience, fault } = self;
        if let Some(fault) = fault {
            return Err(fault);
        }
        if let Some(length) = body.len()
            && (length > 0 || !method.is_safe())
        {
            headers.set("content-length", crate::text::decimal(length));
        }
        let place = concat([url.scheme(), "://", &url.authority]);
        let sending = outbound::send(Outgoing { method, url, headers, body });
        let answer = match &patience {
            None => Some(sending.await),
            Some(patience) => timeout(patience.duration(), sending).await,
        };
        match answer {
            Some(Ok(incoming)) => Ok(Reply::new(incoming, patience)),
            Some(Err(fault)) => Err(failed(fault, &place)),
            None => Err(failed(Fault::Timeout, &place)),
        }
    }
}

#[cold]
fn failed(fault: Fault, place: &str) -> Error {
    let (status, message, why) = match fault {
        Fault::Timeout => (Status::GATEWAY_TIMEOUT, "no answer from upstream in time", "no answer in time from "),
        Fault::Denied => (Status::BAD_GATEWAY, "upstream is out of reach", "the runtime allows no request to "),
        Fault::Unknown => (Status::BAD_GATEWAY, "upstream is out of reach", "there is no host of the name in "),
        Fault::Unreachable => (Status::BAD_GATEWAY, "upstream is out of reach", "no connection to "),
        Fault::Tls => (Status::BAD_GATEWAY, "upstream is out of reach", "no secure connection to "),
        Fault::Request => (Status::INTERNAL_SERVER_ERROR, "internal error", "the runtime refuses the request to "),
        Fault::Broken => (Status::BAD_GATEWAY, "upstream broke off", "no proper answer from "),
        Fault::Nobody => (Status::BAD_GATEWAY, "upstream is out of reach", "no `testing::upstream` stands for "),
    };
    Error::new(status, message).because(concat([why, place]))
}
