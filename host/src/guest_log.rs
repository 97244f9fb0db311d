//! Standard output and error of guests: line by line into the log, within bounds.

use crate::lock::lock;
use crate::{Limits, Log};
use hyper::body::Bytes;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError};

/// Which of the two streams a line came from.
#[derive(Clone, Copy)]
pub(crate) enum Channel {
    Stdout,
    Stderr,
}

/// The log of one instance; nothing is allocated until the guest writes.
pub(crate) struct GuestLog {
    log: Log,
    id: u64,
    line: usize,
    bytes: usize,
    shared: Mutex<Option<Arc<Shared>>>,
}

/// What the two streams of an instance share.
struct Shared {
    log: Log,
    id: AtomicU64,
    line: usize,
    left: AtomicUsize,
    dropped: AtomicU64,
    open: [Mutex<Vec<u8>>; 2],
}

impl GuestLog {
    pub(crate) fn new(log: Log, id: u64, limits: &Limits) -> Self {
        let (line, bytes) = (limits.log_line, limits.log_bytes);
        Self { log, id, line, bytes, shared: Mutex::new(None) }
    }

    pub(crate) fn set_id(&self, id: u64) {
        if let Some(shared) = lock(&self.shared).as_ref() {
            shared.id.store(id, Relaxed);
            shared.left.store(self.bytes, Relaxed);
        }
    }

    /// Ends what was written so far, as the end of an instance does.
    pub(crate) fn forget(&mut self) {
        self.shared.get_mut().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(crate) fn stream(&self, channel: Channel) -> GuestStream {
        GuestStream { shared: self.shared(), channel }
    }

    /// Writes a message of `wasi:logging`, within the same bounds.
    pub(crate) fn message(&self, level: &str, context: &str, text: &str) {
        let shared = self.shared();
        for line in text.lines() {
            shared.message(level, context, line);
        }
    }

    fn shared(&self) -> Arc<Shared> {
        let mut shared = lock(&self.shared);
        let shared = shared.get_or_insert_with(|| {
            Arc::new(Shared {
                log: self.log.clone(),
                id: AtomicU64::new(self.id),
                line: self.line,
                left: AtomicUsize::new(self.bytes),
                dropped: AtomicU64::new(0),
                open: Default::default(),
            })
        });
        shared.clone()
    }
}

impl Shared {
    fn write(&self, channel: Channel, bytes: &[u8]) {
        let left = self.left.load(Relaxed);
        let (kept, lost) = bytes.split_at(bytes.len().min(left));
        self.left.store(left - kept.len(), Relaxed);
        self.dropped.fetch_add(lost.len() as u64, Relaxed);
        let mut open = lock(&self.open[channel as usize]);
        for piece in kept.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = self.line.saturating_sub(open.len());
            open.extend_from_slice(&text[..text.len().min(room)]);
            if text.len() > room {
                self.dropped.fetch_add((text.len() - room) as u64, Relaxed);
            }
            if ends {
                self.emit(channel, &mut open);
            }
        }
    }

    fn message(&self, level: &str, context: &str, text: &str) {
        let mut line = Vec::new();
        for piece in if context.is_empty() { [text, "", ""] } else { [context, ": ", text] } {
            let room = self.line.min(self.left.load(Relaxed)).saturating_sub(line.len());
            let (kept, lost) = piece.as_bytes().split_at(piece.len().min(room));
            line.extend_from_slice(kept);
            self.dropped.fetch_add(lost.len() as u64, Relaxed);
        }
        self.left.fetch_sub(line.len(), Relaxed);
        if !line.is_empty() {
            let id = self.id.load(Relaxed);
            self.log.line(format!("{level} [{id:016x}] {}", printable(&line)));
        }
    }

    fn emit(&self, channel: Channel, line: &mut Vec<u8>) {
        let name = match channel {
            Channel::Stdout => "stdout",
            Channel::Stderr => "stderr",
        };
        let id = self.id.load(Relaxed);
        self.log.line(format!("{name} [{id:016x}] {}", printable(line)));
        line.clear();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for channel in [Channel::Stdout, Channel::Stderr] {
            let mut line = std::mem::take(&mut *lock(&self.open[channel as usize]));
            if !line.is_empty() {
                self.emit(channel, &mut line);
            }
        }
        let dropped = self.dropped.load(Relaxed);
        if dropped > 0 {
            let id = self.id.load(Relaxed);
            self.log.line(format!("tabi: [{id:016x}] {dropped} bytes of guest output were dropped"));
        }
    }
}

/// Keeps a guest from steering the terminal or forging lines of the log.
fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// One of the two streams.
#[derive(Clone)]
pub(crate) struct GuestStream {
    shared: Arc<Shared>,
    channel: Channel,
}

impl IsTerminal for GuestStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for GuestStream {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl Pollable for GuestStream {
    fn ready<'life, 'future>(&'life mut self) -> Pin<Box<dyn Future<Output = ()> + Send + 'future>>
    where
        'life: 'future,
        Self: 'future,
    {
        Box::pin(async {})
    }
}

impl OutputStream for GuestStream {
    fn write(&mut self, bytes: Bytes) -> Result<(), StreamError> {
        self.shared.write(self.channel, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(64 * 1024)
    }
}

impl AsyncWrite for GuestStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        self.shared.write(self.channel, b);
        Poll::Ready(Ok(b.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            lock(&self.0).extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check(writes: &[&[u8]], wanted: &str) {
        let sink = Sink::default();
        let log = Log::to(sink.clone());
        let limits = Limits { log_line: 8, log_bytes: 20, ..Limits::default() };
        let guest = GuestLog::new(log.clone(), 7, &limits);
        let stream = guest.stream(Channel::Stdout);
        for bytes in writes {
            stream.shared.write(Channel::Stdout, bytes);
        }
        drop((guest, stream));
        log.flush();
        let text = String::from_utf8_lossy(&lock(&sink.0)).replace("[0000000000000007]", "#");
        assert_eq!(text, wanted);
    }

    #[track_caller]
    fn check_messages(messages: &[(&str, &str)], wanted: &str) {
        let sink = Sink::default();
        let log = Log::to(sink.clone());
        let limits = Limits { log_line: 8, log_bytes: 20, ..Limits::default() };
        let guest = GuestLog::new(log.clone(), 7, &limits);
        for (context, text) in messages {
            guest.message("warn", context, text);
        }
        drop(guest);
        log.flush();
        let text = String::from_utf8_lossy(&lock(&sink.0)).replace("[0000000000000007]", "#");
        assert_eq!(text, wanted);
    }

    #[test]
    fn messages_are_lines_as_well() {
        check_messages(&[("db", "slow")], "warn # db: slow\n");
        check_messages(&[("", "one\ntwo")], "warn # one\nwarn # two\n");
        check_messages(
            &[("a\nb", "\x1b[2J")],
            "warn # a\u{fffd}b: \u{fffd}[2\ntabi: # 1 bytes of guest output were dropped\n",
        );
        check_messages(
            &[("", "12345678"), ("", "12345678"), ("", "12345678")],
            "warn # 12345678\nwarn # 12345678\nwarn # 1234\ntabi: # 4 bytes of guest output were dropped\n",
        );
        check_messages(&[("", "")], "");
    }

    #[test]
    fn lines_are_whole_bounded_and_harmless() {
        check(&[b"one\n"], "stdout # one\n");
        check(&[b"on", b"e\ntw", b"o"], "stdout # one\nstdout # two\n");
        check(&[b"\x1b[2J\r\n"], "stdout # \u{fffd}[2J\u{fffd}\n");
        check(&[b"\xff\n"], "stdout # \u{fffd}\n");
        check(&[b"123456789\n"], "stdout # 12345678\ntabi: # 1 bytes of guest output were dropped\n");
        check(
            &[b"1234567\n1234567\n1234567\n"],
            "stdout # 1234567\nstdout # 1234567\nstdout # 1234\n\
             tabi: # 4 bytes of guest output were dropped\n",
        );
    }
}
