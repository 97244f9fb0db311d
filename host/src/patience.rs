//! HTTP/2 streams whose client takes nothing: they end after a while, and their guests with them.
//!
//! A client may keep the window of a stream shut and be well-behaved otherwise, so that nothing is written and no write
//! can time out. The task of each stream is watched instead: it is either waiting for the guest, which has limits of its
//! own, or for the client.

use hyper::rt::Executor;
use std::cell::Cell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// Runs the streams of a connection, each until it ends or its client has taken nothing for so long.
#[derive(Clone)]
pub(crate) struct Patient(pub(crate) Duration);

/// What became of the last question for more of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// There was more, or the end.
    Answered,
    /// The guest has yet to write it.
    Waiting,
}

thread_local! {
    /// How bodies tell the task that has just polled them.
    static ASKED: Cell<Option<Asked>> = const { Cell::new(None) };
}

/// Notes what a body has answered.
pub(crate) fn note(asked: Asked) {
    ASKED.set(Some(asked));
}

impl<F> Executor<F> for Patient
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let limit = self.0;
        tokio::spawn(async move {
            let mut stream = pin!(stream);
            let mut sleep: Option<Pin<Box<Sleep>>> = None;
            // Before the head of the answer there is nothing that the client could take.
            let mut begun = false;
            poll_fn(|cx| {
                ASKED.set(None);
                if stream.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(());
                }
                match ASKED.take() {
                    Some(Asked::Waiting) => {
                        sleep = None;
                        begun = true;
                        return Poll::Pending;
                    }
                    Some(Asked::Answered) => {
                        begun = true;
                        // What was written before has been taken.
                        if let Some(sleep) = &mut sleep {
                            sleep.as_mut().reset(Instant::now() + limit);
                        }
                    }
                    None if !begun => return Poll::Pending,
                    None => {}
                }
                sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit))).as_mut().poll(cx)
            })
            .await;
        });
    }
}
