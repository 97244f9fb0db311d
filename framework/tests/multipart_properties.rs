//! What holds for any multipart body: its pieces don't matter, little of it is kept, and a form survives the way.

use tabi::__fuzz::{Multipart, multipart};
use tabi::testing::{Client, Upload};
use tabi::{Request, Response, Result, Router};

/// Random numbers that are the same in every run (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a>(&mut self, pieces: &[&'a str]) -> &'a str {
        pieces.get(self.below(pieces.len())).copied().unwrap_or_default()
    }
}

const PIECES: [&str; 19] = [
    "--XX",
    "--XX",
    "--XX\r\n",
    "--XX--",
    "\r\n",
    "\r\n",
    "\r",
    "\n",
    "-",
    "--",
    "X",
    " ",
    "\t",
    "data",
    "\0",
    ":",
    "\"",
    "Content-Disposition: form-data; name=a\r\n\r\n",
    "Content-Disposition: form-data; name=\"b\\\"\"; filename=\"c\\",
];

/// Cuts a body into pieces of random length.
fn cut(body: &[u8], random: &mut Random, longest: usize) -> Vec<Vec<u8>> {
    let (mut chunks, mut rest) = (Vec::new(), body);
    while !rest.is_empty() {
        let (chunk, tail) = rest.split_at((1 + random.below(longest)).min(rest.len()));
        chunks.push(chunk.to_vec());
        rest = tail;
    }
    chunks
}

#[track_caller]
fn check(body: &[u8], random: &mut Random) -> Multipart {
    let (whole, _) = multipart(b"XX", [body.to_vec()]);
    let (by_byte, kept) = multipart(b"XX", body.iter().map(|byte| vec![*byte]));
    assert_eq!(by_byte, whole, "byte by byte: {:?}", body.escape_ascii().to_string());
    assert!(kept <= tabi::limits::PART_HEAD + 300, "{kept} bytes kept");
    for longest in [3, 20] {
        let chunks = cut(body, random, longest);
        assert_eq!(multipart(b"XX", chunks.clone()).0, whole, "{:?}", String::from_utf8_lossy(&chunks.join(&b"|"[..])));
    }
    whole
}

#[test]
fn pieces_do_not_matter() {
    let mut random = Random(42);
    let (mut good, mut parts) = (0, 0);
    for _ in 0..20_000 {
        let mut body = if random.below(2) == 0 {
            String::new()
        } else {
            String::from("--XX\r\nContent-Disposition: form-data; name=a\r\n\r\n")
        };
        for _ in 0..random.below(16) {
            body.push_str(random.pick(&PIECES));
        }
        if random.below(2) == 0 {
            body.push_str("\r\n--XX--");
        }
        let seen = check(body.as_bytes(), &mut random);
        good += usize::from(seen.fault.is_none());
        parts += seen.parts.len();
        assert!(seen.fault.is_none_or(|status| status == 400), "{body:?}: {:?}", seen.fault);
    }
    // Enough of them are forms, or the test would say little.
    assert!(good > 2000 && parts > 2000, "{good} {parts}");
}

async fn repeat(mut req: Request) -> Result {
    let mut form = req.multipart()?;
    let mut out = Vec::new();
    while let Some(mut field) = form.next_field().await? {
        let names = (field.name().to_owned(), field.full_file_name().map(str::to_owned));
        let content = field.bytes(1 << 20).await?;
        out.extend(format!("{names:?}{}", content.escape_ascii()).into_bytes());
    }
    Ok(Response::new(out))
}

#[test]
fn a_form_survives_the_way() {
    let client = Client::new(Router::new().post("/", repeat));
    let mut random = Random(7);
    for _ in 0..500 {
        let (mut form, mut expected) = (Upload::new(), String::new());
        for _ in 0..random.below(4) {
            let text = |random: &mut Random| -> String {
                let pieces = ["a", "\"", "\r\n", "\u{e9}", ";", "=", "%", " ", "--", "----test-boundary", "/", "."];
                (0..random.below(5)).map(|_| random.pick(&pieces)).collect()
            };
            let (name, content) = (text(&mut random), text(&mut random));
            let file_name = if random.below(2) == 0 { Some(text(&mut random)) } else { None };
            expected.push_str(&format!("{:?}{}", (&name, &file_name), content.as_bytes().escape_ascii()));
            form = match &file_name {
                Some(file_name) => form.file(&name, file_name, "text/plain", content),
                None => form.field(&name, content),
            };
        }
        let reply = client.post("/").multipart(&form).send();
        assert_eq!((reply.status().code(), reply.text()), (200, expected));
    }
}
