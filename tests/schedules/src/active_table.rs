//! Work that goes on: it ends once, its result is given once, and whoever cancels all reaches all.

use shuttle::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    active::{Active, Piece},
    in_many_orders,
};

type Handle = Arc<AtomicBool>;

fn piece(task: &str, background: bool) -> Piece<Handle> {
    Piece {
        task: task.to_owned(),
        tenant: "t".to_owned(),
        parent: "parent".to_owned(),
        call: String::new(),
        agent: String::new(),
        session: String::new(),
        description: String::new(),
        background,
        handle: Arc::new(AtomicBool::new(false)),
    }
}

/// How many results there were to take.
fn taken(active: &Active<Handle>) -> usize {
    active.finished_of("t", "parent").iter().filter(|piece| active.settle(&piece.task)).count()
}

/// S1, H25
#[test]
fn work_ends_exactly_once() {
    in_many_orders(|| {
        let active = Arc::new(Active::keeping(8));
        active.start(piece("a", true));
        let ends = Arc::new(AtomicUsize::new(0));
        let finish = || {
            let (active, ends) = (Arc::clone(&active), Arc::clone(&ends));
            thread::spawn(move || {
                if active.finish("a") {
                    ends.fetch_add(1, Ordering::SeqCst);
                }
            })
        };
        for thread in [finish(), finish(), finish()] {
            thread.join().unwrap();
        }
        assert_eq!(ends.load(Ordering::SeqCst), 1);
        assert!(active.is_idle());
    });
}

/// J10: a wait that is over while the work ends loses no result and gives none twice.
#[test]
fn a_result_is_given_to_exactly_one() {
    in_many_orders(|| {
        let active = Arc::new(Active::keeping(8));
        active.start(piece("a", false));
        let given = Arc::new(AtomicUsize::new(0));
        let worker = thread::spawn({
            let active = Arc::clone(&active);
            move || assert!(active.finish("a"))
        });
        let waiter = thread::spawn({
            let (active, given) = (Arc::clone(&active), Arc::clone(&given));
            move || {
                // Whoever cannot leave it has the result at hand.
                if !active.leave("a") {
                    given.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        let take = || {
            let (active, given) = (Arc::clone(&active), Arc::clone(&given));
            thread::spawn(move || {
                given.fetch_add(taken(&active), Ordering::SeqCst);
                assert!(active.finished_of("t", "somebody else").is_empty());
                assert!(active.finished_of("another", "parent").is_empty());
            })
        };
        for thread in [take(), take(), worker, waiter] {
            thread.join().unwrap();
        }
        let rest = taken(&active);
        assert_eq!(given.load(Ordering::SeqCst) + rest, 1);
    });
}

/// DEL-07: what was started before everything is cancelled is cancelled, and what was not found is over.
#[test]
fn whoever_cancels_all_reaches_all_that_had_started() {
    in_many_orders(|| {
        let active = Arc::new(Active::keeping(8));
        let started = [piece("a", true), piece("b", true)];
        let handles = started.clone().map(|piece| piece.handle);
        for piece in started {
            active.start(piece);
        }
        let worker = |task: &'static str, handle: Handle| {
            let active = Arc::clone(&active);
            thread::spawn(move || {
                // Works until it is told, or is done after a while.
                for _ in 0..3 {
                    if handle.load(Ordering::SeqCst) {
                        break;
                    }
                    thread::yield_now();
                }
                assert!(active.finish(task));
                handle.load(Ordering::SeqCst)
            })
        };
        let [first, second] = handles;
        let workers = [worker("a", first), worker("b", second)];
        let reached = active.running();
        for piece in &reached {
            piece.handle.store(true, Ordering::SeqCst);
        }
        let over: Vec<Piece<Handle>> = ["a", "b"].iter().filter_map(|task| active.find(task, "t", "parent")).collect();
        assert_eq!(over.len(), 2, "running or finished, it can be found");
        for worker in workers {
            worker.join().unwrap();
        }
        assert!(active.is_idle());
        assert_eq!(taken(&active), 2);
    });
}
