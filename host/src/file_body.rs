//! The bytes of a file on their way to a client, a piece at a time.

use crate::dispatch::Failure;
use crate::folder::Stamp;
use hyper::body::{Bytes, Frame};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Bytes that are read in one go, and so the memory that a file takes however large it is.
pub(crate) const PIECE: usize = 64 * 1024;

/// What is sent of a file, and what stands between its parts.
pub(crate) struct FileBody {
    file: Arc<File>,
    stamp: Stamp,
    pieces: VecDeque<Piece>,
    left: u64,
    reading: Option<JoinHandle<Result<Bytes, Failure>>>,
    begin: Instant,
    limit: Duration,
}

/// A part of a body.
pub(crate) enum Piece {
    Bytes(Bytes),
    /// These bytes of the file.
    Span(Range<u64>),
}

impl FileBody {
    /// A body of `pieces` of `file`, which has to stay as `stamp` says, and for which there is `limit` in all.
    pub(crate) fn new(file: File, stamp: Stamp, pieces: VecDeque<Piece>, limit: Duration) -> Self {
        let left = pieces.iter().map(Piece::length).sum();
        Self { file: Arc::new(file), stamp, pieces, left, reading: None, begin: Instant::now(), limit }
    }

    /// The bytes that are still to come.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The next frame.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        if self.left > 0 && self.begin.elapsed() > self.limit {
            return Poll::Ready(Some(Err(Failure::File("it took longer than stream_timeout"))));
        }
        let bytes = match self.next(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(Err(failure))) => return Poll::Ready(Some(Err(failure))),
            Poll::Ready(Some(Ok(bytes))) => bytes,
        };
        self.left = self.left.saturating_sub(bytes.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            None => match self.pieces.pop_front() {
                None => return Poll::Ready(None),
                Some(Piece::Bytes(bytes)) => return Poll::Ready(Some(Ok(bytes))),
                Some(Piece::Span(span)) => {
                    let end = span.end.min(span.start.saturating_add(PIECE as u64));
                    if end < span.end {
                        self.pieces.push_front(Piece::Span(end..span.end));
                    }
                    let (file, stamp) = (self.file.clone(), self.stamp);
                    let read = move || read(&file, stamp, span.start..end);
                    self.reading.insert(tokio::task::spawn_blocking(read))
                }
            },
        };
        let done = ready!(Pin::new(reading).poll(cx));
        self.reading = None;
        Poll::Ready(Some(done.unwrap_or(Err(Failure::File("it can't be read")))))
    }
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Span(span) => span.end.saturating_sub(span.start),
        }
    }
}

/// Reads a span of a file that must not have changed: what was begun with one content is not ended with another.
pub(crate) fn read(file: &File, stamp: Stamp, span: Range<u64>) -> Result<Bytes, Failure> {
    let length = usize::try_from(span.end.saturating_sub(span.start)).unwrap_or_default();
    let mut bytes = vec![0; length];
    let same = || file.metadata().is_ok_and(|meta| Stamp::of(&meta) == stamp);
    match file.read_exact_at(&mut bytes, span.start) {
        Ok(()) if same() => Ok(bytes.into()),
        Ok(()) => Err(Failure::File("it has changed while it was sent")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Failure::File("it has become shorter while it was sent"))
        }
        Err(_) => Err(Failure::File("it can't be read")),
    }
}
