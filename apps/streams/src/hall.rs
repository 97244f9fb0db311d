//! A hall: whoever listens hears what anybody says, as server-sent events. All have to be in the same instance, which on
//! WASI 0.3 they are, and on 0.2 nobody ever is.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use tabi::{Request, Response, Result, Router, sse};

/// Returns the routes of the hall.
pub fn router() -> Router {
    Router::new().get("/", listen).post("/", say).get("/listeners", listeners)
}

/// What the requests of an instance share.
#[derive(Default)]
pub struct Hall(Rc<Inside>);

#[derive(Default)]
struct Inside {
    said: RefCell<Vec<String>>,
    ever: Cell<u32>,
    now: Cell<u32>,
    asleep: RefCell<Vec<Waker>>,
}

/// Somebody in the hall; leaves it when dropped.
struct Listener(Rc<Inside>);

impl Listener {
    fn enter(hall: &Hall) -> Self {
        let inside = hall.0.clone();
        inside.ever.set(inside.ever.get() + 1);
        inside.now.set(inside.now.get() + 1);
        Self(inside)
    }

    /// Waits for what is said after so much else.
    async fn hear(&self, before: usize) -> String {
        poll_fn(|cx| match self.0.said.borrow().get(before) {
            Some(text) => Poll::Ready(text.clone()),
            None => {
                self.0.asleep.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            }
        })
        .await
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.now.set(self.0.now.get() - 1);
    }
}

/// Tells the number of the listener, and then all that is said.
async fn listen(req: Request) -> Result {
    let listener = Listener::enter(req.state::<Hall>()?);
    let (number, mut heard) = (listener.0.ever.get(), listener.0.said.borrow().len());
    Ok(sse::stream(async move |mut events| {
        events.send(sse::Event::data(&tabi::decimal(number.into())).name("number")).await?;
        loop {
            let text = listener.hear(heard).await;
            heard += 1;
            events.send(sse::Event::data(&text)).await?;
        }
    }))
}

/// Says something to all who listen.
async fn say(mut req: Request) -> Result<String> {
    let text = req.text().await?;
    let inside = req.state::<Hall>()?.0.clone();
    inside.said.borrow_mut().push(text);
    inside.asleep.take().into_iter().for_each(Waker::wake);
    Ok(tabi::concat([&tabi::decimal(inside.now.get().into()), " listen"]))
}

/// How many listen now, and how many there ever were.
async fn listeners(req: Request) -> Result<Response> {
    let inside = &req.state::<Hall>()?.0;
    let [now, ever] = [inside.now.get(), inside.ever.get()].map(|count| tabi::decimal(count.into()));
    Ok(Response::text(tabi::concat([&now, " of ", &ever])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabi::testing::Client;

    #[test]
    fn an_empty_hall() {
        let client = Client::new(Router::new().state(Hall::default()).nest("/hall", router()));
        assert_eq!(client.post("/hall").body("hello").send().text(), "0 listen");
        assert_eq!(client.get("/hall/listeners").send().text(), "0 of 0");
    }
}
