//! `Upload`: a multipart form as a browser sends it, for tests.

use super::Call;
use alloc::string::String;
use alloc::vec::Vec;

/// Fields and files to be sent with [`Call::multipart`].
///
/// ```
/// use tabi::testing::{Client, Upload};
/// use tabi::{Request, Result, Router};
///
/// async fn upload(mut req: Request) -> Result<String> {
///     let mut form = req.multipart()?;
///     let mut names = String::new();
///     while let Some(field) = form.next_field().await? {
///         names.push_str(field.file_name().unwrap_or("-"));
///     }
///     Ok(names)
/// }
///
/// let client = Client::new(Router::new().post("/", upload));
/// let form = Upload::new().field("title", "Cats").file("photo", "cat.png", "image/png", "...");
/// assert_eq!(client.post("/").multipart(&form).send().text(), "-cat.png");
/// ```
#[derive(Clone, Default)]
pub struct Upload(Vec<(String, Vec<u8>)>);

impl Upload {
    /// Returns a form without fields.
    pub fn new() -> Upload {
        Upload::default()
    }

    /// Returns it with one more field.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl Into<Vec<u8>>) -> Upload {
        self.0.push(([DISPOSITION, &escaped(name), "\"\r\n\r\n"].concat(), value.into()));
        self
    }

    /// Returns it with one more file.
    #[must_use]
    pub fn file(mut self, name: &str, file_name: &str, content_type: &str, content: impl Into<Vec<u8>>) -> Upload {
        let names = [DISPOSITION, &escaped(name), "\"; filename=\"", &escaped(file_name)].concat();
        self.0.push(([&names, "\"\r\nContent-Type: ", content_type, "\r\n\r\n"].concat(), content.into()));
        self
    }

    /// Returns the body with this boundary.
    fn body(&self, boundary: &str) -> Vec<u8> {
        let part = |(head, content): &(String, Vec<u8>)| {
            [b"--", boundary.as_bytes(), b"\r\n", head.as_bytes(), content, b"\r\n"].concat()
        };
        let mut body: Vec<u8> = self.0.iter().flat_map(part).collect();
        body.extend([b"--", boundary.as_bytes(), b"--\r\n"].concat());
        body
    }
}

impl Call {
    /// Sets the body to a form with files, with its content type.
    #[track_caller]
    pub fn multipart(self, form: &Upload) -> Call {
        let mut boundary = String::from("----test-boundary");
        let has = |boundary: &str| {
            form.0.iter().any(|(_, content)| content.windows(boundary.len()).any(|part| part == boundary.as_bytes()))
        };
        while has(&boundary) {
            boundary.push('x');
        }
        self.header("content-type", ["multipart/form-data; boundary=", &boundary].concat()).body(form.body(&boundary))
    }
}

const DISPOSITION: &str = "Content-Disposition: form-data; name=\"";

/// Escapes a name as browsers do it (HTML, section 4.10.21.8).
fn escaped(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}
