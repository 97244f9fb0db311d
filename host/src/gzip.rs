//! Gzip (RFC 1952) piece by piece: the bytes of an answer on their way out.

use miniz_oxide::deflate::core::{CompressorOxide, TDEFLFlush, compress_to_output, create_comp_flags_from_zip_params};
use std::cell::RefCell;

/// Half the time of level 6 for 2 percent more bytes.
const LEVEL: i32 = 4;
/// Encoders that each worker keeps: their tables are a third of a megabyte.
const KEPT: usize = 4;
/// Deflate, no flags, no time, no hint at the effort, an unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

thread_local! {
    static POOL: RefCell<Vec<Box<CompressorOxide>>> = const { RefCell::new(Vec::new()) };
}

/// An encoder for one answer. What was written comes out when there is enough of it, or with
/// [`flush`](Self::flush).
pub(crate) struct Gzip {
    /// Taken out only when the encoder goes back to the pool.
    deflate: Option<Box<CompressorOxide>>,
    crc: crc32fast::Hasher,
    length: u32,
    begun: bool,
    held: bool,
}

impl Gzip {
    pub(crate) fn new() -> Self {
        let kept = POOL.with_borrow_mut(Vec::pop);
        let flags = create_comp_flags_from_zip_params(LEVEL, 0, 0);
        let deflate = kept.unwrap_or_else(|| Box::new(CompressorOxide::new(flags)));
        Self { deflate: Some(deflate), crc: crc32fast::Hasher::new(), length: 0, begun: false, held: false }
    }

    /// Takes `data`, and appends to `out` what is ready.
    pub(crate) fn write(&mut self, data: &[u8], out: &mut Vec<u8>) {
        if data.is_empty() {
            return;
        }
        self.crc.update(data);
        // RFC 1952 2.3.1: the size is modulo 2^32.
        self.length = self.length.wrapping_add(data.len() as u32);
        self.held = true;
        self.deflate(data, TDEFLFlush::None, out);
    }

    /// Appends everything that was taken so far, in a form that a client can read at once.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.held) {
            self.deflate(&[], TDEFLFlush::Sync, out);
        }
    }

    /// Appends the rest and the mark of the end.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) {
        self.deflate(&[], TDEFLFlush::Finish, out);
        out.extend(self.crc.clone().finalize().to_le_bytes());
        out.extend(self.length.to_le_bytes());
    }

    fn deflate(&mut self, data: &[u8], flush: TDEFLFlush, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            out.extend(HEAD);
        }
        if let Some(deflate) = &mut self.deflate {
            // All of the input is taken, because the output is never full.
            compress_to_output(deflate, data, flush, |bytes| {
                out.extend_from_slice(bytes);
                true
            });
        }
    }
}

impl Drop for Gzip {
    fn drop(&mut self) {
        let Some(mut deflate) = self.deflate.take() else { return };
        // A thread that ends has no pool any more, and the encoder goes with it.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < KEPT {
                deflate.reset();
                pool.push(deflate);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::inflate::decompress_to_vec;

    #[track_caller]
    fn check(pieces: &[&[u8]], flush: bool) {
        let (mut gzip, mut out) = (Gzip::new(), Vec::new());
        for piece in pieces {
            gzip.write(piece, &mut out);
            if flush {
                gzip.flush(&mut out);
            }
        }
        gzip.finish(&mut out);
        let plain = pieces.concat();
        let (head, rest) = out.split_at(10);
        let (deflated, tail) = rest.split_at(rest.len() - 8);
        assert_eq!(head, HEAD);
        assert_eq!(decompress_to_vec(deflated).expect("deflate"), plain);
        assert_eq!(tail[..4], crc32fast::hash(&plain).to_le_bytes());
        assert_eq!(tail[4..], (plain.len() as u32).to_le_bytes());
    }

    #[test]
    fn pieces_make_one_whole() {
        let mixed: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for flush in [false, true] {
            check(&[], flush);
            check(&[b""], flush);
            check(&[b"a"], flush);
            check(&[b"a", b"", b"b"], flush);
            check(&[&[b'x'; 100_000], &mixed, b"end"], flush);
        }
        // More than are kept, at once and after each other.
        let open: Vec<Gzip> = (0..2 * KEPT).map(|_| Gzip::new()).collect();
        drop(open);
        assert_eq!(POOL.with_borrow(Vec::len), KEPT);
        check(&[&mixed], false);
    }

    #[test]
    fn what_was_flushed_can_be_read() {
        use miniz_oxide::inflate::stream::{InflateState, inflate};
        use miniz_oxide::{DataFormat, MZFlush};
        let (mut gzip, mut out) = (Gzip::new(), Vec::new());
        gzip.flush(&mut out);
        assert!(out.is_empty(), "nothing was written");
        gzip.write(b"tick", &mut out);
        gzip.flush(&mut out);
        let mut plain = [0; 100];
        let mut state = InflateState::new_boxed(DataFormat::Raw);
        let result = inflate(&mut state, &out[10..], &mut plain, MZFlush::None);
        assert_eq!(&plain[..result.bytes_written], b"tick");
        let length = out.len();
        gzip.flush(&mut out);
        assert_eq!(out.len(), length, "a second flush has nothing to say");
    }
}
