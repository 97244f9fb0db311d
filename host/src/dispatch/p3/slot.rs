//! Where the head of an answer passes from the instance to the request that waits for it.

use super::life::Life;
use crate::dispatch::{Failure, status_of_code};
use crate::lock::lock;
use crate::request::Incoming;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use wasmtime_wasi_http::WasiBody;
use wasmtime_wasi_http::p3::bindings::http::types::ErrorCode;

pub(super) type Response = hyper::Response<WasiBody>;

/// A request on its way to an instance.
pub(super) struct Job {
    pub(super) request: Incoming,
    pub(super) ticket: Ticket,
}

/// What an instance owes: whoever drops it unused says that there is no answer.
pub(super) struct Ticket {
    slot: Arc<Slot>,
    life: Arc<Life>,
}

/// The place for one answer.
pub(super) struct Slot {
    /// By the coarse clock.
    pub(super) asked: u64,
    /// Whether the guest has begun with it.
    begun: AtomicBool,
    state: Mutex<State>,
}

enum State {
    Waiting(Option<Waker>),
    /// The client has left; the guest does not know.
    Left,
    Settled(Box<Outcome>),
    /// Nobody waits any more.
    Over,
}

/// What becomes of a request.
pub(super) enum Outcome {
    Answer(Response),
    Failed(Failure),
    /// The instance has not begun with it, and will not soon.
    Returned(Incoming),
}

impl Slot {
    pub(super) fn new(asked: u64) -> Arc<Self> {
        Arc::new(Self { asked, begun: AtomicBool::new(false), state: Mutex::new(State::Waiting(None)) })
    }

    /// A claim on this place.
    pub(super) fn ticket(self: &Arc<Self>, life: &Arc<Life>) -> Ticket {
        Ticket { slot: self.clone(), life: life.clone() }
    }

    /// Gives the outcome, once.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = lock(&self.state);
        match &mut *state {
            State::Waiting(waker) => {
                if !waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
                    *waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
            state => match std::mem::replace(state, State::Over) {
                State::Settled(outcome) => Poll::Ready(*outcome),
                _ => Poll::Ready(Outcome::Failed(Failure::NoAnswer)),
            },
        }
    }

    /// Notes that the client has left.
    pub(super) fn leave(&self) {
        let mut state = lock(&self.state);
        let after = if matches!(*state, State::Waiting(_)) { State::Left } else { State::Over };
        let before = std::mem::replace(&mut *state, after);
        // There may be more to drop than should be under a lock.
        drop(state);
        drop(before);
    }

    /// Whether an answer is still owed.
    pub(super) fn is_owed(&self) -> bool {
        matches!(*lock(&self.state), State::Waiting(_) | State::Left)
    }

    /// Settles what is owed; `false` if nothing is.
    pub(super) fn settle(&self, life: &Life, outcome: Outcome) -> bool {
        let mut state = lock(&self.state);
        match &mut *state {
            State::Waiting(waker) => {
                let waker = waker.take();
                *state = State::Settled(Box::new(outcome));
                drop(state);
                life.settled(self.begun.load(Relaxed));
                if let Some(waker) = waker {
                    waker.wake();
                }
                true
            }
            State::Left => {
                *state = State::Over;
                drop(state);
                life.settled(self.begun.load(Relaxed));
                true
            }
            State::Settled(_) | State::Over => false,
        }
    }
}

impl Ticket {
    /// Notes that the guest begins with it.
    pub(super) fn begin(&self) {
        self.slot.begun.store(true, Relaxed);
        self.life.running.fetch_add(1, Relaxed);
    }

    /// Gives the answer.
    pub(super) fn give(self, answer: wasmtime::Result<Response>) {
        self.slot.settle(
            &self.life,
            match answer {
                Ok(response) => Outcome::Answer(response),
                Err(error) => Outcome::Failed(failure(&error)),
            },
        );
    }
}

impl Job {
    /// Gives a request back that was not begun.
    pub(super) fn give_back(self) {
        let Self { request, ticket } = self;
        ticket.slot.settle(&ticket.life, Outcome::Returned(request));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.slot.is_owed() {
            let failure = if self.life.late.load(Relaxed) {
                Failure::Timeout("request_timeout")
            } else {
                Failure::Trap("the instance broke while it served this request".to_owned())
            };
            self.slot.settle(&self.life, Outcome::Failed(failure));
        }
    }
}

fn failure(error: &wasmtime::Error) -> Failure {
    match error.downcast_ref::<ErrorCode>() {
        Some(code) => {
            let code = format!("{code:?}");
            Failure::Code(status_of_code(&code), code)
        }
        None => Failure::of(error),
    }
}
