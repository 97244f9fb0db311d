//! Brotli and gzip, as small as they get: it is done once.

/// Compresses with brotli (RFC 7932), or returns `None` where this crate was built without it.
#[cfg(feature = "compress")]
pub(crate) fn brotli(content: &[u8]) -> Option<Vec<u8>> {
    let params =
        brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, size_hint: content.len(), ..Default::default() };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut &*content, &mut compressed, &params).ok()?;
    Some(compressed)
}

/// Compresses with gzip (RFC 1952), without name and time, so that the same content gives the same bytes.
#[cfg(feature = "compress")]
pub(crate) fn gzip(content: &[u8]) -> Option<Vec<u8>> {
    let mut compressed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255];
    compressed.extend(miniz_oxide::deflate::compress_to_vec(content, 10));
    compressed.extend(crc32(content).to_le_bytes());
    compressed.extend((content.len() as u32).to_le_bytes());
    Some(compressed)
}

#[cfg(not(feature = "compress"))]
pub(crate) fn brotli(_: &[u8]) -> Option<Vec<u8>> {
    None
}

#[cfg(not(feature = "compress"))]
pub(crate) fn gzip(_: &[u8]) -> Option<Vec<u8>> {
    None
}

/// Tells whether a name says that there is nothing left to compress.
pub(crate) fn is_compressed(name: &str) -> bool {
    let extension = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    COMPRESSED.contains(&extension.as_str())
}

const COMPRESSED: [&str; 34] = [
    "png", "jpg", "jpeg", "webp", "avif", "gif", "jxl", "heic", "apng", "woff", "woff2", "mp3", "m4a", "aac", "ogg",
    "oga", "opus", "flac", "weba", "mp4", "m4v", "webm", "ogv", "mov", "mkv", "zip", "gz", "tgz", "bz2", "xz", "zst",
    "br", "7z", "docx",
];

/// The checksum of RFC 1952, section 8.
#[cfg(feature = "compress")]
fn crc32(content: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in content {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

#[cfg(all(test, feature = "compress"))]
mod tests {
    use super::*;

    #[test]
    fn both_decompress() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        for content in [&b""[..], b"a", &b"body { color: red }\n".repeat(1000)] {
            let mut plain = Vec::new();
            brotli::BrotliDecompress(&mut &*brotli(content).unwrap(), &mut plain).unwrap();
            assert_eq!(plain, content);
            let gzip = gzip(content).unwrap();
            let (head, rest) = gzip.split_at(10);
            assert_eq!(head[..4], [0x1f, 0x8b, 8, 0]);
            let (deflated, tail) = rest.split_at(rest.len() - 8);
            assert_eq!(miniz_oxide::inflate::decompress_to_vec(deflated).unwrap(), content);
            assert_eq!(tail[..4], crc32(content).to_le_bytes());
            assert_eq!(tail[4..], (content.len() as u32).to_le_bytes());
        }
    }
}
