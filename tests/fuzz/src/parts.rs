//! Multipart bodies, boundaries and Content-Disposition.

use tabi::{__fuzz, Disposition, Headers};

/// A body says the same however it is cut, little of it is kept, and what is wrong is the client's mistake.
pub(crate) fn multipart(data: &[u8]) {
    let (whole, _) = __fuzz::multipart(b"XX", [data.to_vec()]);
    let limit = tabi::limits::PART_HEAD + 300;
    for size in [1, 2, 3, 7, 64] {
        let (cut, kept) = __fuzz::multipart(b"XX", data.chunks(size).map(<[u8]>::to_vec));
        assert_eq!(cut, whole, "in pieces of {size}");
        assert!(kept <= limit, "{kept} bytes kept");
    }
    assert!(matches!(whole.fault, None | Some(400 | 413)), "{:?}", whole.fault);
    let content: usize = whole.parts.iter().map(|(_, _, content)| content.len()).sum();
    assert!(content <= data.len());
    // The first byte as a boundary of its own finds what is rare with the fixed one.
    if let [first, rest @ ..] = data
        && (b'!'..=b'~').contains(first)
    {
        let (whole, _) = __fuzz::multipart(&[*first], [rest.to_vec()]);
        let (cut, _) = __fuzz::multipart(&[*first], rest.chunks(1).map(<[u8]>::to_vec));
        assert_eq!(cut, whole, "boundary {}", first.escape_ascii());
    }
}

/// A boundary is one that the RFC allows, or it is 400; another type is 415.
pub(crate) fn boundary(data: &[u8]) {
    match __fuzz::boundary(data) {
        Ok(boundary) => {
            assert!((1..=70).contains(&boundary.len()) && boundary.iter().all(|byte| (b' '..=b'~').contains(byte)));
            let quoted: Vec<u8> = boundary.iter().flat_map(|byte| [b'\\', *byte]).collect();
            let again = [b"Multipart/Form-Data ; x=\";\"; BOUNDARY=\"", &quoted[..], b"\""].concat();
            assert_eq!(__fuzz::boundary(&again), Ok(boundary));
        }
        Err(status) => assert!([400, 415].contains(&status), "{status}"),
    }
    let with = [b"multipart/form-data; boundary=", data].concat();
    assert!(__fuzz::boundary(&with) != Err(415));
}

/// A file's name never leads elsewhere, and one that is sent can be read again.
pub(crate) fn disposition(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(name) = Disposition::parse(&text).file_name() {
        assert!(!name.is_empty() && !name.contains(['/', '\\']) && name != "." && name != "..", "{name}");
    }
    for sent in [Disposition::attachment(&text), Disposition::inline(&text)] {
        let field = sent.to_http();
        assert!(field.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{field}");
        assert!(Headers::new().insert("content-disposition", &field).is_ok(), "{field}");
        let read = Disposition::parse(&field);
        assert_eq!((read.kind(), read.file_name()), (sent.kind(), sent.file_name()), "{field}");
    }
}
