//! Tests of queues, modes, time-outs, deadlocks and death.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use types::Ora;
use wait::Stat;

use process::{Cancel, Process, Processes};
use testing::{EVERY_STEP, Random, attach, instance, kill_at_every_step, kill_children, run_threads};

use super::*;
use crate::modes::Modes;

mod circles;
mod free_lists;

fn setup(processes: u32, locks: u32) -> (&'static Processes, Enqueues) {
    setup_with(processes, locks, locks, 4)
}

fn setup_with(processes: u32, locks: u32, resources: u32, chains: u32) -> (&'static Processes, Enqueues) {
    let config = EnqueueConfig { processes, resources, locks, chains, holders: 2 };
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
fn counted_modes_answer_as_a_look_at_every_owner() {
    let mut random = Random::new(7);
    for _ in 0..2000 {
        let mut owned: Vec<LockMode> = Vec::new();
        let mut modes = Modes(0);
        for _ in 0..random.below(40) {
            let mode = LockMode::ALL[random.below(LockMode::ALL.len())];
            let goes = |owned: &[LockMode]| owned.iter().all(|o| o.goes_with(mode));
            if random.one_in(4) && !owned.is_empty() {
                let gone = owned.swap_remove(random.below(owned.len()));
                modes = modes.without(gone);
            } else if goes(&owned) {
                owned.push(mode);
                modes = modes.with(mode);
            }
            LockMode::ALL.into_iter().for_each(|m| {
                assert_eq!(modes.go_with(m), owned.iter().all(|o| o.goes_with(m)), "{m:?} and {owned:?}");
            });
        }
        owned.into_iter().for_each(|mode| modes = modes.without(mode));
        assert_eq!(modes, Modes(0));
    }
    let many = (0..120_000).fold(Modes(0), |modes, _| modes.with(LockMode::SubShare));
    assert!(many.go_with(LockMode::ShareSubExclusive) && !many.go_with(LockMode::Exclusive));
}

#[test]
fn requests_are_counted_by_type_whoever_made_them() {
    let (all, e) = setup(4, 32);
    let (a, b) = (attach(all, "a"), attach(all, "b"));
    let lock = get(&e, &a, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
    assert_eq!(get(&e, &b, 1, LockMode::Share, Timeout::NoWait), Err(EnqueueError::Busy));
    let short = Timeout::After(Duration::from_millis(2));
    assert_eq!(get(&e, &b, 1, LockMode::Share, short), Err(EnqueueError::TimedOut));
    let _ = e.get(&b, EnqueueType::Tm, 5, 0, LockMode::SubExclusive, Timeout::NoWait).unwrap();
    e.release(&a, lock);
    let tx = e.figures(EnqueueType::Tx);
    assert_eq!((tx.requests, tx.waits, tx.failures), (3, 1, 2));
    assert!(tx.waited_ns > 0);
    assert_eq!(e.figures(EnqueueType::Tm), TypeFigures { requests: 1, ..TypeFigures::default() });
    let last = EnqueueType::all().last().unwrap();
    assert_eq!(e.figures(last), TypeFigures::default());
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

/// Checks that every list is whole and that the lists agree: invariants 1 to 3, 8, 12 and 13.
fn assert_invariants(e: &Enqueues) {
    let mut locks = Vec::new();
    let mut resources = Vec::new();
    for chain in e.chains {
        let mut n = chain.first.load(Ordering::Relaxed);
        while n != 0 {
            let r = e.resource(n);
            assert!(!r.is_unused(), "an unused resource is freed");
            let mut modes = Modes(0);
            for list in [&r.owners, &r.converters, &r.waiters] {
                let mut previous = 0;
                for lock in e.walk(list) {
                    let slot = e.lock(lock);
                    assert_eq!(slot.previous.load(Ordering::Relaxed), previous);
                    assert_eq!(slot.resource.load(Ordering::Relaxed), n);
                    let process = slot.process.load(Ordering::Relaxed);
                    assert_ne!(process, 0);
                    let is_asked_for = e.owner(process).request.load(Ordering::Relaxed) == lock;
                    assert_eq!(is_asked_for, !std::ptr::eq(list, &r.owners), "who waits, and for what");
                    assert_eq!(is_asked_for, slot.requested() != LockMode::None);
                    modes = modes.with(slot.held());
                    previous = lock;
                    locks.push(lock);
                }
                assert_eq!(list.last.load(Ordering::Relaxed), previous);
            }
            assert_eq!(r.modes(), modes, "each owned mode is counted");
            resources.push(n);
            n = r.next.load(Ordering::Relaxed);
        }
    }
    let mut owned: Vec<u32> = (1..=e.owners.len() as u32).flat_map(|n| e.own(n)).collect();
    for list in [&mut owned, &mut locks] {
        list.sort_unstable();
    }
    assert_eq!(owned, locks, "the lists of processes and of resources hold the same locks");
    for n in 1..=e.owners.len() as u32 {
        let request = e.owner(n).request.load(Ordering::Relaxed);
        assert!(request == 0 || e.own(n).any(|lock| lock == request), "a process waits for a lock of its own");
    }
    locks.extend(e.chains.iter().flat_map(|c| e.locks.of_chain(&c.locks)).chain(e.locks.of_pool()));
    resources.extend(e.chains.iter().flat_map(|c| e.resources.of_chain(&c.resources)).chain(e.resources.of_pool()));
    for (list, all) in [(&mut locks, e.locks.all.len()), (&mut resources, e.resources.all.len())] {
        list.sort_unstable();
        let every: Vec<u32> = (1..=all as u32).collect();
        assert_eq!(*list, every, "each is in one place");
    }
    let is_marked = |n: &u32| e.lock(*n).process.load(Ordering::Relaxed) != 0;
    assert_eq!((1..=e.locks.all.len() as u32).filter(is_marked).count(), owned.len(), "free locks have no process");
}

#[test]
fn killed_processes_leave_whole_queues_and_nobody_hangs() {
    let (all, e) = setup(12, 64);
    let pmon = attach(all, "pmon");
    let time =
        std::env::var("LATCHWORK_KILL_SECONDS").ok().and_then(|s| s.parse().ok()).map_or(1500, |s: u64| s * 1000);
    let kills = kill_children(&pmon, 4, Duration::from_millis(time), 11, |p, seed| {
        let mut numbers = Random::new(seed);
        loop {
            let random = numbers.next();
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
    assert!(kills.in_a_section > 0, "{kills:?}");
    assert_invariants(&e);
    assert!(e.locks().is_empty(), "{:?}", e.locks());
}

/// Puts a request into its queue without waiting for it.
fn ask(e: &Enqueues, p: &Process, id: u64, mode: LockMode) -> (u32, bool) {
    e.request(p, EnqueueType::Tx, id, 0, mode, Timeout::Never).unwrap()
}

/// More requests than the micro-undo log of one section could grant.
const CROWD: u32 = 310;

fn crowd(waiters: u32) -> (&'static Processes, Enqueues, Process, Vec<Process>) {
    let (all, e) = setup(waiters + 4, waiters * 2);
    let holder = attach(all, "holder");
    (all, e, holder, (0..waiters).map(|_| attach(all, "waiter")).collect())
}

#[test]
fn a_release_grants_any_number_of_requests() {
    let (_, e, holder, waiters) = crowd(1000);
    let lock = get(&e, &holder, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
    let asked: Vec<_> = waiters.iter().map(|p| ask(&e, p, 1, LockMode::Share)).collect();
    assert!(asked.iter().all(|(_, granted)| !granted));
    // A conversion to a weaker mode also grants the waiting requests.
    e.convert(&holder, lock, LockMode::Share, Timeout::NoWait).unwrap();
    assert!(waiters.iter().all(|p| e.held(p, EnqueueType::Tx, 1, 0) == LockMode::Share));
    assert_invariants(&e);
    waiters.iter().for_each(|p| e.release_all(p, p.number()));
    e.convert(&holder, lock, LockMode::Exclusive, Timeout::NoWait).unwrap();
    assert!(waiters.iter().all(|p| !ask(&e, p, 1, LockMode::SubExclusive).1));
    e.release(&holder, lock);
    assert!(waiters.iter().all(|p| e.held(p, EnqueueType::Tx, 1, 0) == LockMode::SubExclusive));
    assert_invariants(&e);
}

#[test]
fn a_releaser_that_is_killed_between_two_grants_has_its_work_finished() {
    let (all, e, holder, waiters) = crowd(CROWD);
    // The child releases; the holder and the cleaner are other processes.
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
            assert_invariants(&e);
            assert!(waiters.iter().all(|p| e.held(p, EnqueueType::Tx, 1, 0) == LockMode::Share));
        },
    );
    assert!(killed > u64::from(CROWD), "{killed}: a step for each grant");
    assert_eq!(all.live().count() as u32, CROWD + 1);
}

/// Runs the enqueue calls of a child that is killed at each step; requests of other processes are queued before.
#[test]
fn a_process_killed_at_any_step_leaves_whole_queues() {
    let (all, e) = setup(12, 64);
    let pmon = attach(all, "pmon");
    let others: Vec<_> = (0..5).map(|_| attach(all, "other")).collect();
    type Body<'a> = &'a dyn Fn(&Process, &dyn Fn());
    let modes = [LockMode::Share, LockMode::Share, LockMode::SubExclusive, LockMode::Share, LockMode::Exclusive];
    let queue = || assert!(others.iter().zip(modes).all(|(p, mode)| ask(&e, p, 1, mode).0 > 0));
    let holder = e.holder(0).expect("two holders");
    let bodies: [(&str, Body<'_>); 7] = [
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
        ("hand over and take back", &|p, arm| {
            let _ = get(&e, p, 1, LockMode::Exclusive, Timeout::NoWait).unwrap();
            let _ = get(&e, p, 2, LockMode::Share, Timeout::NoWait).unwrap();
            queue();
            arm();
            e.hand_over(p, p.number(), holder, EnqueueType::Tx);
            e.hand_over(p, holder, p.number(), EnqueueType::Tx);
        }),
    ];
    for (what, body) in bodies {
        let killed = kill_at_every_step(
            &pmon,
            EVERY_STEP,
            || (),
            |p, arm| body(p, arm),
            || {
                assert_invariants(&e);
                // The dead block nobody: every waiter waits for a live owner.
                let is_held = |l: &LockView| e.locks().iter().any(|o| o.id1 == l.id1 && o.held != LockMode::None);
                let waits = |l: &LockView| l.requested != LockMode::None;
                assert!(e.locks().iter().filter(|l| waits(l)).all(is_held), "{what}: {:?}", e.locks());
                others.iter().map(Process::number).chain([holder]).for_each(|n| e.release_all(&pmon, n));
                assert!(e.locks().is_empty(), "{what}: {:?}", e.locks());
                assert_invariants(&e);
            },
        );
        assert!(killed > 10, "{what}: {killed}");
    }
}

#[test]
fn a_waiter_looks_for_deadlocks_less_and_less_often() {
    let mut looks = crate::get::Looks::default();
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
