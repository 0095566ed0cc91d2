//! Tests of queues, modes, time-outs, deadlocks and death.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use process::testing::{EVERY_STEP, attach, instance, kill_at_every_step, kill_children, run_threads};
use process::{Cancel, Process, Processes};

use super::*;

fn setup(processes: u32, locks: u32) -> (&'static Processes, Enqueues) {
    let config = EnqueueConfig { processes, resources: locks, locks, chains: 4, holders: 2 };
    let (all, layout) = instance(processes, |b| EnqueueLayout::reserve(b, &config));
    (all, Enqueues::create(all, &layout))
}

const SECOND: Timeout = Timeout::After(Duration::from_secs(60));

fn get(e: &Enqueues, p: &Process, id: u64, mode: LockMode, timeout: Timeout) -> Result<LockId, EnqueueError> {
    e.get(p, EnqueueType::Tx, id, 0, mode, timeout)
}

#[test]
fn modes_go_together_as_the_manual_says() {
    // Rows and columns: N SS SX S SSX X.
    let table = ["yyyyyy", "yyyyyn", "yyynnn", "yynynn", "yynnnn", "ynnnnn"];
    for (a, row) in LockMode::ALL[1..].iter().zip(table) {
        for (b, c) in LockMode::ALL[1..].iter().zip(row.chars()) {
            assert_eq!(a.goes_with(*b), c == 'y', "{a:?} {b:?}");
        }
    }
    assert_eq!(LockMode::SubExclusive.union(LockMode::Share), LockMode::ShareSubExclusive);
    assert_eq!(LockMode::SubShare.union(LockMode::Share), LockMode::Share);
}

#[test]
fn what_is_owned_is_busy_to_others_and_free_after_release() {
    let (all, e) = setup(4, 16);
    let (a, b) = (attach(all, "a"), attach(all, "b"));
    let lock = get(&e, &a, 7, LockMode::Exclusive, Timeout::NoWait).unwrap();
    assert_eq!(get(&e, &b, 7, LockMode::Share, Timeout::NoWait), Err(EnqueueError::Busy));
    assert_eq!(get(&e, &b, 7, LockMode::Share, Timeout::After(Duration::from_millis(5))), Err(EnqueueError::TimedOut));
    assert_eq!(Ora::from(EnqueueError::Busy).code(), 54);
    assert_eq!(get(&e, &a, 7, LockMode::Share, Timeout::NoWait), Ok(lock), "its own");
    assert_eq!(e.held(&a, EnqueueType::Tx, 7, 0), LockMode::Exclusive);
    e.release(&a, lock);
    let lock = get(&e, &b, 7, LockMode::Share, Timeout::NoWait).unwrap();
    e.release(&b, lock);
    assert!(e.locks().is_empty());
    assert_eq!(b.stats().get(Stat::EnqueueTimeouts), 2, "not to wait is to wait for no time");
}

#[test]
fn requests_are_granted_in_order_and_shares_together() {
    let (all, e) = setup(8, 32);
    let holder = attach(all, "holder");
    let lock = get(&e, &holder, 1, LockMode::Exclusive, SECOND).unwrap();
    let order = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let mut started = Vec::new();
        for (n, mode) in
            [LockMode::Share, LockMode::Share, LockMode::Exclusive, LockMode::Share].into_iter().enumerate()
        {
            let order = &order;
            started.push(scope.spawn(move || {
                let p = attach(all, "waiter");
                let lock = get(&e, &p, 1, mode, SECOND).unwrap();
                let place = order.fetch_add(1, Ordering::SeqCst);
                os::clock::sleep(Duration::from_millis(5));
                e.release(&p, lock);
                place
            }));
            while e.locks().iter().filter(|l| l.requested != LockMode::None).count() != n + 1 {
                os::clock::sleep(Duration::from_millis(1));
            }
        }
        assert!(e.locks().iter().any(|l| l.blocks && l.sid == holder.sid()));
        e.release(&holder, lock);
        let places: Vec<u64> = started.into_iter().map(|t| t.join().unwrap()).collect();
        assert!(places[0] < 2 && places[1] < 2, "{places:?}: the first two share");
        assert_eq!((places[2], places[3]), (2, 3), "the last share stays behind the exclusive request");
    });
}

#[test]
fn a_converter_goes_before_waiters_and_down_is_at_once() {
    let (all, e) = setup(4, 16);
    let (a, b) = (attach(all, "a"), attach(all, "b"));
    let la = get(&e, &a, 1, LockMode::Share, Timeout::NoWait).unwrap();
    let lb = get(&e, &b, 1, LockMode::Share, Timeout::NoWait).unwrap();
    assert_eq!(e.convert(&a, la, LockMode::Exclusive, Timeout::NoWait), Err(EnqueueError::Busy));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !e.locks().iter().any(|l| l.requested == LockMode::Exclusive) {
                os::clock::sleep(Duration::from_millis(1));
            }
            let c = attach(all, "c");
            assert_eq!(
                get(&e, &c, 1, LockMode::Share, Timeout::NoWait),
                Err(EnqueueError::Busy),
                "not past the converter"
            );
            e.convert(&b, lb, LockMode::Null, Timeout::NoWait).unwrap();
        });
        e.convert(&a, la, LockMode::Exclusive, SECOND).unwrap();
    });
    assert_eq!(e.held(&a, EnqueueType::Tx, 1, 0), LockMode::Exclusive);
    e.release(&a, la);
}

#[test]
fn one_of_a_circle_gets_the_error_and_the_others_go_on() {
    let (all, e) = setup(8, 32);
    let n = 3;
    let barrier = std::sync::Barrier::new(n as usize);
    let outcomes = run_threads(all, n as usize, |p, me| {
        let me = me as u64;
        let own = get(&e, p, me, LockMode::Exclusive, SECOND).unwrap();
        barrier.wait();
        let other = get(&e, p, (me + 1) % n, LockMode::Exclusive, SECOND);
        if let Ok(lock) = other {
            e.release(p, lock);
        }
        e.release(p, own);
        other.is_err_and(|e| e == EnqueueError::Deadlock)
    });
    assert_eq!(outcomes.iter().filter(|deadlock| **deadlock).count(), 1, "{outcomes:?}");
    assert!(e.locks().is_empty());
}

#[test]
fn running_out_of_locks_is_an_error_and_nothing_leaks() {
    let (all, e) = setup(2, 16);
    let p = attach(all, "p");
    let locks: Vec<_> = (0..16).map(|id| get(&e, &p, id, LockMode::Exclusive, Timeout::NoWait).unwrap()).collect();
    assert_eq!(get(&e, &p, 99, LockMode::Exclusive, Timeout::NoWait), Err(EnqueueError::OutOfLocks));
    assert_eq!(e.locks().len(), 16);
    e.release(&p, locks[3]);
    let again = get(&e, &p, 99, LockMode::Exclusive, Timeout::NoWait).unwrap();
    e.release(&p, again);
    e.release_all(&p, p.number());
    assert!(e.locks().is_empty());
}

#[test]
fn a_waiter_that_is_killed_or_interrupted_leaves_the_queue() {
    let (all, e) = setup(4, 16);
    let a = attach(all, "a");
    let lock = get(&e, &a, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let b = attach(all, "b");
            let first = get(&e, &b, 1, LockMode::Exclusive, Timeout::Never);
            let second = get(&e, &b, 1, LockMode::Exclusive, Timeout::Never);
            (first.map_err(|e| Ora::from(e).code()), second.map_err(|e| Ora::from(e).code()))
        });
        let wait_for_waiter = || {
            loop {
                if let Some(l) = e.locks().iter().find(|l| l.requested != LockMode::None) {
                    return l.sid;
                }
                os::clock::sleep(Duration::from_millis(1));
            }
        };
        let sid = wait_for_waiter();
        let serial = all.session(sid).unwrap().serial();
        assert!(!all.cancel(sid, serial + 1, Cancel::Break), "another serial number is another session");
        assert!(all.cancel(sid, serial, Cancel::Break));
        while all.stat_line(sid).unwrap().get(Stat::EnqueueWaits) < 2 {
            os::clock::sleep(Duration::from_millis(1));
        }
        all.cancel(sid, serial, Cancel::Killed);
        assert_eq!(waiter.join().unwrap(), (Err(1013), Err(28)));
    });
    e.release(&a, lock);
}

/// Every list is whole, and says the same as every other.
fn check(e: &Enqueues) {
    let mut linked = 0;
    for chain in e.chains {
        let mut n = chain.load(Ordering::Relaxed);
        while n != 0 {
            let r = e.resource(n);
            assert!(!r.is_unused(), "an unused resource is freed");
            for list in [&r.owners, &r.converters, &r.waiters] {
                let mut previous = 0;
                for lock in e.walk(list) {
                    let slot = e.lock(lock);
                    assert_eq!(slot.previous.load(Ordering::Relaxed), previous);
                    assert_eq!(slot.resource.load(Ordering::Relaxed), n);
                    assert_ne!(slot.process.load(Ordering::Relaxed), 0);
                    previous = lock;
                    linked += 1;
                }
                assert_eq!(list.last.load(Ordering::Relaxed), previous);
            }
            n = r.next.load(Ordering::Relaxed);
        }
    }
    let owned: usize = (1..=e.owners.len() as u32).map(|n| e.own_locks(n).count()).sum();
    let free = std::iter::successors(Some(e.free.lock.load(Ordering::Relaxed)), |n| {
        (*n != 0).then(|| e.lock(*n).next.load(Ordering::Relaxed))
    });
    let free = free.take_while(|n| *n != 0).count();
    assert_eq!(owned, linked, "the lists of processes and of resources hold the same locks");
    assert_eq!(linked + free, e.free.locks_used.load(Ordering::Relaxed) as usize, "no lock is lost");
}

#[test]
fn killed_processes_leave_whole_queues_and_nobody_hangs() {
    let (all, e) = setup(12, 64);
    let pmon = attach(all, "pmon");
    let time =
        std::env::var("LATCHWORK_KILL_SECONDS").ok().and_then(|s| s.parse().ok()).map_or(1500, |s: u64| s * 1000);
    let kills = kill_children(&pmon, 4, Duration::from_millis(time), 11, |p, seed| {
        let mut random = seed | 1;
        loop {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let mode = LockMode::ALL[2 + (random >> 33) as usize % 5];
            let Ok(lock) = get(&e, p, random >> 40 & 3, mode, Timeout::After(Duration::from_millis(20))) else {
                continue;
            };
            if random >> 50 & 1 == 0 {
                let other = get(&e, p, random >> 45 & 3, LockMode::Exclusive, Timeout::After(Duration::from_millis(5)));
                if let Ok(other) = other
                    && other != lock
                {
                    e.release(p, other);
                }
            }
            e.release(p, lock);
        }
    });
    assert!(kills.killed > 100, "{kills:?}");
    check(&e);
    assert!(e.locks().is_empty(), "{:?}", e.locks());
}

/// Puts a request into its queue without waiting for it.
fn ask(e: &Enqueues, p: &Process, id: u64, mode: LockMode) -> (u32, bool) {
    e.request(p, EnqueueType::Tx, id, 0, mode, Timeout::Never).unwrap()
}

/// More than one section's changes of words could grant at once.
const CROWD: u32 = 310;

fn crowd() -> (&'static Processes, Enqueues, Process, Vec<Process>) {
    let (all, e) = setup(CROWD + 4, 1000);
    let holder = attach(all, "holder");
    (all, e, holder, (0..CROWD).map(|_| attach(all, "waiter")).collect())
}

#[test]
fn a_release_grants_any_number_of_requests() {
    let (_, e, holder, waiters) = crowd();
    let lock = get(&e, &holder, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
    let asked: Vec<_> = waiters.iter().map(|p| ask(&e, p, 1, LockMode::Share)).collect();
    assert!(asked.iter().all(|(_, granted)| !granted));
    // One that converts to less lets them in, too.
    e.convert(&holder, lock, LockMode::Share, Timeout::NoWait).unwrap();
    assert!(waiters.iter().all(|p| e.held(p, EnqueueType::Tx, 1, 0) == LockMode::Share));
    check(&e);
    waiters.iter().for_each(|p| e.release_all(p, p.number()));
    e.convert(&holder, lock, LockMode::Exclusive, Timeout::NoWait).unwrap();
    assert!(waiters.iter().all(|p| !ask(&e, p, 1, LockMode::SubExclusive).1));
    e.release(&holder, lock);
    assert!(waiters.iter().all(|p| e.held(p, EnqueueType::Tx, 1, 0) == LockMode::SubExclusive));
    check(&e);
}

#[test]
fn a_releaser_that_is_killed_between_two_grants_has_its_work_finished() {
    let (all, e, holder, waiters) = crowd();
    // The holder and the cleaner are others: it is a child that releases.
    let before = || {
        waiters.iter().for_each(|p| e.release_all(p, p.number()));
        assert!(e.locks().is_empty());
    };
    let killed = kill_at_every_step(
        &holder,
        "undo-ended",
        before,
        |p, arm| {
            let lock = get(&e, p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
            assert!(waiters.iter().all(|w| !ask(&e, w, 1, LockMode::Share).1));
            arm();
            e.release(p, lock);
        },
        || {
            check(&e);
            assert!(waiters.iter().all(|p| e.held(p, EnqueueType::Tx, 1, 0) == LockMode::Share));
        },
    );
    assert!(killed > u64::from(CROWD), "{killed}: a step for each grant");
    assert_eq!(all.live().count() as u32, CROWD + 1);
}

/// What a child does with enqueues, step by step; the others' requests are in the queue before.
#[test]
fn a_process_killed_at_any_step_leaves_whole_queues() {
    let (all, e) = setup(12, 64);
    let pmon = attach(all, "pmon");
    let others: Vec<_> = (0..5).map(|_| attach(all, "other")).collect();
    type Body<'a> = &'a dyn Fn(&Process, &dyn Fn());
    let modes = [LockMode::Share, LockMode::Share, LockMode::SubExclusive, LockMode::Share, LockMode::Exclusive];
    let queue = || assert!(others.iter().zip(modes).all(|(p, mode)| ask(&e, p, 1, mode).0 > 0));
    let bodies: [(&str, Body<'_>); 6] = [
        ("get and release", &|p, arm| {
            arm();
            let lock = get(&e, p, 2, LockMode::Exclusive, Timeout::NoWait).unwrap();
            e.release(p, lock);
        }),
        ("release to a queue", &|p, arm| {
            let lock = get(&e, p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
            queue();
            arm();
            e.release(p, lock);
        }),
        ("convert down and up", &|p, arm| {
            let lock = get(&e, p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
            queue();
            arm();
            e.convert(p, lock, LockMode::Share, Timeout::NoWait).unwrap();
            assert_eq!(
                e.convert(p, lock, LockMode::Exclusive, Timeout::After(Duration::from_millis(1))),
                Err(EnqueueError::TimedOut)
            );
        }),
        ("wait in vain", &|p, arm| {
            queue();
            arm();
            assert_eq!(
                get(&e, p, 1, LockMode::Exclusive, Timeout::After(Duration::from_millis(1))),
                Err(EnqueueError::TimedOut)
            );
        }),
        ("release all", &|p, arm| {
            let _ = get(&e, p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
            let _ = get(&e, p, 2, LockMode::Exclusive, Timeout::NoWait).unwrap();
            let _ = get(&e, p, 3, LockMode::Exclusive, Timeout::NoWait).unwrap();
            queue();
            arm();
            e.release_all(p, p.number());
        }),
        ("a deadlock", &|p, arm| {
            let _ = get(&e, p, 2, LockMode::Exclusive, Timeout::NoWait).unwrap();
            let _ = ask(&e, &others[0], 1, LockMode::Exclusive);
            let _ = ask(&e, &others[0], 2, LockMode::Exclusive);
            arm();
            assert_eq!(get(&e, p, 1, LockMode::Exclusive, SECOND), Err(EnqueueError::Deadlock));
        }),
    ];
    for (what, body) in bodies {
        let killed = kill_at_every_step(
            &pmon,
            EVERY_STEP,
            || (),
            |p, arm| body(p, arm),
            || {
                check(&e);
                // The dead keep nobody out: who waits, waits for somebody who is there.
                let is_held = |l: &LockView| e.locks().iter().any(|o| o.id1 == l.id1 && o.held != LockMode::None);
                let waits = |l: &LockView| l.requested != LockMode::None;
                assert!(e.locks().iter().filter(|l| waits(l)).all(is_held), "{what}: {:?}", e.locks());
                others.iter().for_each(|p| e.release_all(&pmon, p.number()));
                assert!(e.locks().is_empty(), "{what}: {:?}", e.locks());
                check(&e);
            },
        );
        assert!(killed > 10, "{what}: {killed}");
    }
}

#[test]
fn a_waiter_looks_for_deadlocks_less_and_less_often() {
    let mut looks = crate::Looks::default();
    let mut at = Vec::new();
    for second in 0..300 {
        if looks.is_due() {
            at.push(second);
            assert!(!looks.is_due(), "once for each sleep");
        }
        looks.slept();
    }
    assert_eq!(at, [0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256]);
}
