//! The log: lines from the host and from guests, written by one thread.
//!
//! A line is handed over without waiting. When the reader of the log is slower than its
//! writers, lines are dropped and counted, and no request waits for a terminal or a disk.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Lines that may wait for the writing thread.
const QUEUE: usize = 4096;

/// A cheap handle to the log.
#[derive(Clone)]
pub struct Log {
    lines: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
    /// Stands before every line of this handle.
    label: Option<Arc<str>>,
}

enum Message {
    Line(String),
    Flush(SyncSender<()>),
}

impl Log {
    /// Writes to standard error.
    #[must_use]
    pub fn stderr() -> Self {
        Self::to(std::io::stderr())
    }

    /// Writes to `sink`, from a thread of its own that ends with the last handle.
    pub fn to(sink: impl Write + Send + 'static) -> Self {
        let (lines, queue) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let lost = dropped.clone();
        // Without a thread the lines are dropped, which is what a full log does as well.
        let _ = std::thread::Builder::new().name("tabi-log".into()).spawn(move || write_lines(sink, &queue, &lost));
        Self { lines, dropped, label: None }
    }

    /// A handle to the same log that has the name of an app before every line.
    pub(crate) fn labelled(&self, label: &Arc<str>) -> Self {
        Self { label: Some(label.clone()), ..self.clone() }
    }

    /// Hands over one line, without its line end.
    pub fn line(&self, line: impl Into<String>) {
        let line = match &self.label {
            Some(label) => format!("{label}: {}", line.into()),
            None => line.into(),
        };
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Message::Line(line)) {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    /// Waits until all lines handed over before are written.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if self.lines.send(Message::Flush(done)).is_ok() {
            let _ = wait.recv();
        }
    }
}

fn write_lines(mut sink: impl Write, queue: &Receiver<Message>, dropped: &AtomicU64) {
    while let Ok(message) = queue.recv() {
        match message {
            // A log that can't be written has no place to say so.
            Message::Line(mut line) => {
                line.push('\n');
                let _ = sink.write_all(line.as_bytes());
            }
            Message::Flush(done) => {
                let _ = sink.flush();
                let _ = done.send(());
            }
        }
        let lost = dropped.swap(0, Relaxed);
        if lost > 0 {
            let _ = writeln!(sink, "tabi: {lost} log lines were dropped, the log was too slow");
        }
    }
}
