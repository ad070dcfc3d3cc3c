//! Work on several threads whose results come in the order of the work.

use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// Results that may wait for one before them, for each thread. It bounds the memory, and lets the others go on while one
/// thread has much to do.
const AHEAD: usize = 64;

/// One piece of work, and where its result is awaited.
type Order<T, R> = (T, SyncSender<R>);

/// Does `work` on every item, on `jobs` threads, and hands the results to `take` in the order of the items, each as soon as
/// it and those before it are there. The items are asked for on a thread of their own, and no faster than results are taken.
///
/// Where the host has no threads to give, this one does it all.
pub(crate) fn in_order<T: Send, R: Send>(
    items: impl Iterator<Item = T> + Send,
    jobs: NonZeroUsize,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R),
) {
    let items = Mutex::new(items.fuse());
    if jobs > NonZeroUsize::MIN {
        let (orders, queue) = channel();
        let (turns, in_turn) = sync_channel(jobs.get().saturating_mul(AHEAD));
        let queue = Mutex::new(queue);
        thread::scope(|scope| {
            let start = |_: &usize| Builder::new().spawn_scoped(scope, || do_orders(&queue, &work)).is_ok();
            let workers = (0..jobs.get()).take_while(start).count();
            if workers > 0 {
                // Where it does not start, `orders` and `turns` are dropped, and everything ends without a result.
                let _ = Builder::new().spawn_scoped(scope, || give_orders(&items, orders, turns));
            } else {
                drop((orders, turns));
            }
            for result in in_turn {
                let Ok(result) = result.recv() else { break }; // a worker that panicked; the scope passes it on
                take(result);
            }
        });
    }
    // All of them, where no thread has taken them.
    items.into_inner().unwrap_or_else(PoisonError::into_inner).map(work).for_each(take);
}

fn give_orders<T, R>(
    items: &Mutex<impl Iterator<Item = T>>,
    orders: Sender<Order<T, R>>,
    turns: SyncSender<Receiver<R>>,
) {
    let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
    for item in items.by_ref() {
        let (sender, receiver) = sync_channel(1);
        // The turn first: it is what waits while too many results are on their way.
        if turns.send(receiver).is_err() || orders.send((item, sender)).is_err() {
            return;
        }
    }
}

fn do_orders<T, R>(queue: &Mutex<Receiver<Order<T, R>>>, work: impl Fn(T) -> R) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((item, result)) = next else { return };
        // That nobody waits for it any more is nobody's loss.
        let _ = result.send(work(item));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Condvar, mpsc};

    use super::*;

    fn jobs(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    #[test]
    fn results_come_in_the_order_of_the_work_on_any_number_of_threads() {
        for number in [1, 2, 3, 8] {
            let mut results = Vec::new();
            let work = |item: u64| {
                // The first of every ten is the slowest.
                let rounds = if item.is_multiple_of(10) { 20_000 } else { 10 };
                (0..rounds).fold(item, |sum, round| std::hint::black_box(sum ^ round ^ round));
                item * 2
            };
            in_order(0..2000, jobs(number), work, |result| results.push(result));
            assert_eq!(results, (0..2000).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_result_is_taken_before_the_last_item_is_asked_for() {
        let (first_taken, wait) = mpsc::channel();
        let mut items = 0..2;
        // The second item does not come before the first result was taken.
        let items = std::iter::from_fn(move || {
            let item = items.next()?;
            if item == 1 {
                wait.recv().unwrap();
            }
            Some(item)
        });
        let mut taken = Vec::new();
        in_order(
            items,
            jobs(2),
            |item| item,
            |result| {
                taken.push(result);
                first_taken.send(()).ok();
            },
        );
        assert_eq!(taken, [0, 1]);
    }

    #[test]
    fn no_more_is_begun_than_may_wait_for_a_slow_one() {
        let begun = AtomicUsize::new(0);
        let items = (0..10_000).inspect(|_| {
            begun.fetch_add(1, Ordering::Relaxed);
        });
        let gate = (Mutex::new(0), Condvar::new());
        // The first item ends once the second worker has done all that it may.
        let most = 2 * AHEAD;
        let work = |item: usize| {
            let (done, changed) = &gate;
            let mut done = done.lock().unwrap();
            if item == 0 {
                while *done < most - 1 {
                    done = changed.wait(done).unwrap();
                }
                assert!(begun.load(Ordering::Relaxed) <= most + 2);
            }
            *done += 1;
            changed.notify_all();
        };
        let mut taken = 0;
        in_order(items, jobs(2), work, |()| taken += 1);
        assert_eq!(taken, 10_000);
    }
}
