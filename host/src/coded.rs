//! A response body under compression: a stream is flushed when the guest pauses, and one that
//! breaks off gets no end.

use crate::dispatch::Failure;
use crate::gzip::Gzip;
use hyper::body::{Bytes, Frame};
use std::task::{Context, Poll};

/// What goes through the encoder at once.
const PIECE: usize = 32 * 1024;
/// What is enough for one frame.
const ENOUGH: usize = 16 * 1024;
/// After so much of the plain form, the other connections of the thread have their turn.
const TURN: usize = 128 * 1024;

/// Frames of a body, plain or coded.
pub(crate) type Next = Option<Result<Frame<Bytes>, Failure>>;

/// The encoder of a body, and what waits around it.
pub(crate) struct Coded {
    /// `None` after the end.
    gzip: Option<Gzip>,
    /// Of the plain form.
    rest: Bytes,
    /// Trailers, or why the body broke off: for the time after the last bytes.
    tail: Next,
    /// Bytes encoded in this turn.
    turn: usize,
}

impl Coded {
    pub(crate) fn new() -> Self {
        Self { gzip: Some(Gzip::new()), rest: Bytes::new(), tail: None, turn: 0 }
    }

    /// Compresses what is there as a whole.
    pub(crate) fn whole(bytes: &[u8]) -> Bytes {
        let (mut gzip, mut out) = (Gzip::new(), Vec::new());
        gzip.write(bytes, &mut out);
        gzip.finish(&mut out);
        out.into()
    }

    /// Whether nothing follows.
    pub(crate) fn is_end(&self) -> bool {
        self.gzip.is_none() && self.tail.is_none()
    }

    /// The next coded frame, of plain ones from `next`.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mut next: impl FnMut(&mut Context<'_>) -> Poll<Next>,
    ) -> Poll<Next> {
        if self.turn >= TURN {
            self.turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut out = Vec::new();
        loop {
            let Some(gzip) = &mut self.gzip else {
                return Poll::Ready(self.tail.take());
            };
            if self.rest.is_empty() {
                match next(cx) {
                    Poll::Pending => {
                        self.turn = 0;
                        gzip.flush(&mut out);
                        return if out.is_empty() { Poll::Pending } else { data(out) };
                    }
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) => self.rest = data,
                        Err(trailers) => return self.end(Some(Ok(trailers)), out),
                    },
                    Poll::Ready(tail) => return self.end(tail, out),
                }
                continue;
            }
            let piece = self.rest.split_to(self.rest.len().min(PIECE));
            gzip.write(&piece, &mut out);
            self.turn += piece.len();
            if self.turn >= TURN {
                gzip.flush(&mut out);
            }
            if self.turn >= TURN || out.len() >= ENOUGH {
                return data(out);
            }
        }
    }

    /// Ends the coded form where the plain one ended, unless that broke off.
    fn end(&mut self, tail: Next, mut out: Vec<u8>) -> Poll<Next> {
        self.tail = tail;
        if let Some(mut gzip) = self.gzip.take() {
            match &self.tail {
                Some(Err(_)) => gzip.flush(&mut out),
                _ => gzip.finish(&mut out),
            }
        }
        if out.is_empty() { Poll::Ready(self.tail.take()) } else { data(out) }
    }
}

fn data(out: Vec<u8>) -> Poll<Next> {
    Poll::Ready(Some(Ok(Frame::data(out.into()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;
    use std::collections::VecDeque;

    /// Runs plain frames through; a `None` is a pause. Tells what comes out, a word for each.
    fn run(plain: Vec<Option<Result<Frame<Bytes>, Failure>>>) -> Vec<&'static str> {
        let mut plain = VecDeque::from(plain);
        let mut coded = Coded::new();
        let mut seen = Vec::new();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        loop {
            let frame = coded.poll(&mut cx, |_| match plain.pop_front() {
                Some(Some(frame)) => Poll::Ready(Some(frame)),
                Some(None) => Poll::Pending,
                None => Poll::Ready(None),
            });
            seen.push(match frame {
                Poll::Pending => "pause",
                Poll::Ready(None) => "end",
                Poll::Ready(Some(Err(_))) => "broken",
                Poll::Ready(Some(Ok(frame))) if frame.is_trailers() => "trailers",
                Poll::Ready(Some(Ok(_))) => "data",
            });
            if matches!(seen.last(), Some(&"end" | &"broken")) {
                assert!(coded.is_end());
                return seen;
            }
        }
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        fn text(length: usize) -> Option<Result<Frame<Bytes>, Failure>> {
            Some(Ok(Frame::data(vec![b'x'; length].into())))
        }
        let trailers = || Some(Ok(Frame::trailers(HeaderMap::new())));
        let broken = || Some(Err(Failure::Unfinished));
        assert_eq!(run(vec![]), ["data", "end"]);
        assert_eq!(run(vec![text(9), text(9)]), ["data", "end"]);
        assert_eq!(run(vec![None, text(9)]), ["pause", "data", "end"]);
        assert_eq!(run(vec![text(9), None, None, text(9)]), ["data", "pause", "data", "end"]);
        assert_eq!(run(vec![text(0), None, text(9)]), ["pause", "data", "end"]);
        assert_eq!(run(vec![text(9), trailers()]), ["data", "trailers", "end"]);
        assert_eq!(run(vec![text(9), broken()]), ["data", "broken"]);
        assert_eq!(run(vec![text(9), None, broken()]), ["data", "broken"]);
        assert_eq!(run(vec![broken()]), ["broken"]);
        // Much at once comes in turns, even when it gets tiny.
        assert_eq!(run(vec![text(TURN), text(9)]), ["data", "pause", "data", "end"]);
        assert_eq!(run(vec![text(2 * TURN)]), ["data", "pause", "data", "pause", "data", "end"]);
    }
}
