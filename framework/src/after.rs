//! `wait_until`: work that goes on after the answer.

use alloc::boxed::Box;
use core::future::Future;

/// Has work done that the answer does not wait for, such as to tell another system. Called while a request is being
/// answered.
///
/// It begins once the answer is written. On WASI 0.3 other requests go on beside it; on 0.2 the instance has nothing else
/// to do. Either way the runtime may end it when its time is over, so that it is no place for what must not be lost. In
/// tests it is done before `send` returns.
///
/// ```
/// use tabi::{Request, Response, Router, client};
///
/// async fn order(_: Request) -> Response {
///     tabi::wait_until(async {
///         let _ = client::post("https://metrics.example/orders").send().await;
///     });
///     Response::text("thank you")
/// }
/// # assert_eq!(tabi::testing::Client::new(Router::new().get("/", order)).get("/").send().text(), "thank you");
/// ```
pub fn wait_until(work: impl Future<Output = ()> + 'static) {
    crate::wasi::after::later(Box::pin(work));
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;
    use crate::time::sleep;
    use crate::{Request, Router};
    use core::time::Duration;
    use std::cell::Cell;
    use std::thread_local;

    #[test]
    fn work_is_done_after_the_answer() {
        thread_local!(static DONE: Cell<u32> = const { Cell::new(0) });
        let router = Router::new().get("/", async |_: Request| {
            crate::wait_until(async {
                sleep(Duration::from_secs(1)).await;
                DONE.set(DONE.get() + 1);
                // Work may leave more work.
                crate::wait_until(async { DONE.set(DONE.get() + 10) });
            });
            crate::decimal(DONE.get().into())
        });
        let client = Client::new(router);
        assert_eq!(client.get("/").send().text(), "0");
        assert_eq!(client.get("/").send().text(), "11");
    }
}
