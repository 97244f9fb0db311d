//! The content type of a file by its name.

/// Returns the content type that a file's extension stands for, with `charset=utf-8` where it is text.
/// Case doesn't count; an unknown extension is `application/octet-stream`.
///
/// ```
/// assert_eq!(tabi::content_type("css/app.css"), "text/css; charset=utf-8");
/// assert_eq!(tabi::content_type("font.WOFF2"), "font/woff2");
/// ```
pub const fn content_type(name: &str) -> &'static str {
    let extension = extension(name.as_bytes());
    let mut table = TABLE;
    while let [(known, kind), rest @ ..] = table {
        if extension.eq_ignore_ascii_case(known.as_bytes()) {
            return kind;
        }
        table = rest;
    }
    "application/octet-stream"
}

/// Returns what follows the last dot of the last segment, or nothing.
const fn extension(name: &[u8]) -> &[u8] {
    let mut rest = name;
    while let [before @ .., last] = rest {
        match last {
            b'.' => return name.split_at(rest.len()).1,
            b'/' => return &[],
            _ => rest = before,
        }
    }
    &[]
}

/// Extensions and types as IANA has them, the usual ones first; RFC 9239 for JavaScript, RFC 8081 for fonts.
const TABLE: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("cjs", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("gif", "image/gif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("woff2", "font/woff2"),
    ("woff", "font/woff"),
    ("wasm", "application/wasm"),
    ("txt", "text/plain; charset=utf-8"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("xml", "application/xml"),
    ("htm", "text/html; charset=utf-8"),
    ("xhtml", "application/xhtml+xml"),
    ("md", "text/markdown; charset=utf-8"),
    ("markdown", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("tsv", "text/tab-separated-values; charset=utf-8"),
    ("ics", "text/calendar; charset=utf-8"),
    ("vcf", "text/vcard; charset=utf-8"),
    ("vtt", "text/vtt; charset=utf-8"),
    ("srt", "application/x-subrip"),
    ("log", "text/plain; charset=utf-8"),
    ("ini", "text/plain; charset=utf-8"),
    ("conf", "text/plain; charset=utf-8"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("jsonld", "application/ld+json"),
    ("geojson", "application/geo+json"),
    ("ndjson", "application/x-ndjson"),
    ("json5", "application/json5"),
    ("rss", "application/rss+xml"),
    ("atom", "application/atom+xml"),
    ("xsl", "application/xslt+xml"),
    ("xslt", "application/xslt+xml"),
    ("wsdl", "application/wsdl+xml"),
    ("mathml", "application/mathml+xml"),
    ("gpx", "application/gpx+xml"),
    ("kml", "application/vnd.google-earth.kml+xml"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("ttc", "font/collection"),
    ("eot", "application/vnd.ms-fontobject"),
    ("apng", "image/apng"),
    ("bmp", "image/bmp"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("jxl", "image/jxl"),
    ("jp2", "image/jp2"),
    ("cur", "image/vnd.microsoft.icon"),
    ("mp3", "audio/mpeg"),
    ("m4a", "audio/mp4"),
    ("aac", "audio/aac"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("flac", "audio/flac"),
    ("wav", "audio/wav"),
    ("weba", "audio/webm"),
    ("mid", "audio/midi"),
    ("midi", "audio/midi"),
    ("mp4", "video/mp4"),
    ("m4v", "video/mp4"),
    ("webm", "video/webm"),
    ("ogv", "video/ogg"),
    ("mov", "video/quicktime"),
    ("avi", "video/x-msvideo"),
    ("mkv", "video/matroska"),
    ("mpg", "video/mpeg"),
    ("mpeg", "video/mpeg"),
    ("ts", "video/mp2t"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("mpd", "application/dash+xml"),
    ("pdf", "application/pdf"),
    ("epub", "application/epub+zip"),
    ("rtf", "application/rtf"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xls", "application/vnd.ms-excel"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("ppt", "application/vnd.ms-powerpoint"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    ("odp", "application/vnd.oasis.opendocument.presentation"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tgz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("bz2", "application/x-bzip2"),
    ("xz", "application/x-xz"),
    ("zst", "application/zstd"),
    ("br", "application/octet-stream"),
    ("7z", "application/x-7z-compressed"),
    ("rar", "application/vnd.rar"),
    ("jar", "application/java-archive"),
    ("apk", "application/vnd.android.package-archive"),
    ("glb", "model/gltf-binary"),
    ("gltf", "model/gltf+json"),
    ("stl", "model/stl"),
    ("obj", "model/obj"),
    ("usdz", "model/vnd.usdz+zip"),
    ("pem", "application/x-pem-file"),
    ("asc", "application/pgp-signature"),
    ("sql", "application/sql"),
    ("sh", "application/x-sh"),
    ("wit", "text/plain; charset=utf-8"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types() {
        // In a const, as embedded assets have it.
        const CSS: &str = content_type("a.css");
        assert_eq!(CSS, "text/css; charset=utf-8");
        for (name, kind) in [
            ("index.html", "text/html; charset=utf-8"),
            ("a/b.min.JS", "text/javascript; charset=utf-8"),
            ("x.mjs", "text/javascript; charset=utf-8"),
            ("x.wasm", "application/wasm"),
            ("x.woff2", "font/woff2"),
            ("x.webp", "image/webp"),
            ("x.avif", "image/avif"),
            ("archive.tar.gz", "application/gzip"),
            ("LICENSE", "application/octet-stream"),
            ("a.css/LICENSE", "application/octet-stream"),
            ("css", "application/octet-stream"),
            ("x.", "application/octet-stream"),
            ("", "application/octet-stream"),
            (".css", "text/css; charset=utf-8"),
        ] {
            assert_eq!(content_type(name), kind, "{name}");
        }
    }

    #[test]
    fn the_table_is_sound() {
        for (index, (extension, kind)) in TABLE.iter().enumerate() {
            assert!(extension.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()), "{extension}");
            assert!(!TABLE.iter().skip(index + 1).any(|(other, _)| other == extension), "{extension} stands twice");
            // A charset belongs to text and to nothing else.
            assert_eq!(kind.starts_with("text/"), kind.ends_with("; charset=utf-8"), "{kind}");
        }
    }
}
