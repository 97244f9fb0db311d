//! `join`: waits for several things at the same time.

use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::{Context, Poll};

/// Waits for two futures at the same time, and returns what both of them return.
///
/// Two requests to others take as long as the longer one, not as long as both. For more than two, `join(a, join(b, c))`
/// or [`join_all`].
///
/// ```
/// # async fn left() -> u8 { 1 }
/// # async fn right() -> &'static str { "two" }
/// # tabi::testing::block_on(async {
/// let (number, text) = tabi::join(left(), right()).await;
/// # assert_eq!((number, text), (1, "two"));
/// # });
/// ```
pub async fn join<A, B>(first: impl Future<Output = A>, second: impl Future<Output = B>) -> (A, B) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut one, mut two) = (None, None);
    poll_fn(|cx| {
        if one.is_none()
            && let Poll::Ready(value) = first.as_mut().poll(cx)
        {
            one = Some(value);
        }
        if two.is_none()
            && let Poll::Ready(value) = second.as_mut().poll(cx)
        {
            two = Some(value);
        }
        match (one.take(), two.take()) {
            (Some(one), Some(two)) => Poll::Ready((one, two)),
            (first, second) => {
                (one, two) = (first, second);
                Poll::Pending
            }
        }
    })
    .await
}

/// Waits for many futures at the same time, and returns what they return, in their order.
///
/// ```
/// # tabi::testing::block_on(async {
/// let squares = tabi::join_all((1..4).map(async |number| number * number)).await;
/// assert_eq!(squares, [1, 4, 9]);
/// # });
/// ```
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (alloc::boxed::Box::pin(future), None)).collect();
    poll_fn(|cx: &mut Context<'_>| {
        let mut done = true;
        for (future, value) in &mut running {
            if value.is_none() {
                match future.as_mut().poll(cx) {
                    Poll::Ready(ready) => *value = Some(ready),
                    Poll::Pending => done = false,
                }
            }
        }
        if done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, value)| value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block_on;
    use crate::time::sleep;
    use core::cell::Cell;
    use core::time::Duration;

    #[test]
    fn each_is_polled_to_its_end_and_no_further() {
        let order = Cell::new(0);
        let step = async |milliseconds, mark: u32| {
            sleep(Duration::from_millis(milliseconds)).await;
            order.set(order.get() * 10 + mark);
            mark
        };
        assert_eq!(block_on(join(step(20, 1), join(step(10, 2), step(0, 3)))), (1, (2, 3)));
        assert_eq!(order.replace(0), 321);
        let all = block_on(join_all([step(5, 1), step(9, 2), step(2, 3)]));
        assert_eq!((all, order.get()), ([1, 2, 3].into(), 312));
        assert!(block_on(join_all(Vec::<core::future::Ready<()>>::new())).is_empty());
    }
}
