//! Tests of the counts, of the order of waiters and of recovery after a dead holder.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wait::{Event, Waiter};

use crate::*;

fn domain(generation: Generation) -> Domain {
    Domain::anonymous(16, generation).expect("memory")
}

fn client(domain: Domain) -> Client {
    Client::join_any(domain, Waiter::private()).expect("a slot")
}

fn place(domain: Domain, at: Where) -> PlaceCounts {
    domain.places().find(|p| p.place == at).expect("every place is listed")
}

/// Waits until `count` processes sleep on the latch.
fn until_asleep(domain: Domain, latch: &Latch, count: usize) {
    let lies_down =
        |number: u32| domain.used()[number as usize - 1].sleeping.load(Ordering::SeqCst) == crate::waiting::ASLEEP;
    while domain.latch_waits().filter(|w| w.1 == latch.address() && lies_down(w.0)).count() != count {
        std::thread::yield_now();
    }
    // A process that has announced its wait is a few instructions from sleeping.
    os::clock::sleep(Duration::from_millis(40));
}

/// Lets another thread meet a latch that is held for a while. On a busy machine the thread may arrive when the latch is
/// free again; the hold is then repeated for longer, until `meets` returns true.
fn until_met(mut meets: impl FnMut(Duration) -> bool) {
    assert!((5..13).any(|n| meets(Duration::from_millis(1 << n))), "nobody came while it was held");
}

#[test]
fn an_uncontended_get_counts_one_get_and_nothing_else() {
    let d = domain(Generation::default());
    let c = client(d);
    let latch = Latch::new(LatchName::TestUnit, 1);
    {
        let _held = c.get(&latch, Where::TestExclusive, 42);
        let seen: Vec<_> = d.holders().collect();
        assert_eq!(seen.len(), 1);
        let h = seen[0];
        assert_eq!((h.number, h.address, h.name, h.child), (1, latch.address(), Some(LatchName::TestUnit), 1));
        assert_eq!((h.mode, h.place, h.why, h.gets), (Mode::Exclusive, Where::TestExclusive, 42, 1));
    }
    assert_eq!(d.holders().count(), 0);
    assert_eq!(latch.counts(), LatchCounts { gets: 1, ..LatchCounts::default() });
}

#[test]
fn no_wait_gets_count_apart() {
    let d = domain(Generation::default());
    let (a, b) = (client(d), client(d));
    let latch = Latch::new(LatchName::TestUnit, 1);
    let held = a.try_get(&latch, Where::TestExclusive, 0).unwrap();
    assert!(b.try_get(&latch, Where::TestSecond, 0).is_none());
    assert_eq!(b.held_count(), 0);
    drop(held);
    let expected = LatchCounts { immediate_gets: 1, immediate_misses: 1, ..LatchCounts::default() };
    assert_eq!(latch.counts(), expected);
    assert_eq!(place(d, Where::TestSecond).no_wait_failures, 1);
    assert_eq!(place(d, Where::TestExclusive).no_wait_failures, 0);
}

#[test]
fn a_miss_counts_only_after_the_get_and_wait_time_is_sleep() {
    let d = domain(Generation::default());
    d.tunables().set_class_spin(0, 10);
    let a = client(d);
    let latch = Latch::new(LatchName::TestUnit, 1);
    let held = a.get(&latch, Where::TestExclusive, 0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let b = client(d);
            drop(b.get(&latch, Where::TestSecond, 7));
            b.waiter()
        });
        until_asleep(d, &latch, 1);
        assert_eq!(latch.counts(), LatchCounts { gets: 1, ..LatchCounts::default() }, "a waiter is in no counter");
        let waits: Vec<_> = d.latch_waits().collect();
        assert_eq!((waits[0].1, waits[0].2, waits[0].3), (latch.address(), Where::TestSecond, 7));
        drop(held);
        let waiter = waiter.join().unwrap();
        let c = latch.counts();
        assert_eq!((c.gets, c.misses, c.spin_gets), (2, 1, 0));
        assert!(c.sleeps >= 1 && c.wait_ns >= 10_000_000, "{c:?}");
        let total = waiter.totals.of(Event::LatchFree);
        assert_eq!(total.waits(), c.sleeps);
        let rounded = c.wait_ns / 1000 - total.time_us();
        assert!(rounded <= c.sleeps, "each sleep is cut to a microsecond: {rounded}");
        assert_eq!(place(d, Where::TestSecond).waiter_sleeps, c.sleeps, "charged to who waits");
        assert_eq!(place(d, Where::TestExclusive).sleeps, c.sleeps, "charged to who holds");
    });
    assert_eq!(d.latch_waits().count(), 0);
    assert_eq!(d.unmarked_counts(LatchName::TestUnit).waiters_woken, 1);
}

#[test]
fn a_spinner_that_gets_in_counts_a_spin_get() {
    until_met(|time| {
        let d = domain(Generation::default());
        d.tunables().set_class_spin(0, u32::MAX);
        let a = client(d);
        let latch = Latch::new(LatchName::TestUnit, 1);
        let held = a.get(&latch, Where::TestExclusive, 0);
        std::thread::scope(|scope| {
            let spinner = scope.spawn(|| drop(client(d).get(&latch, Where::TestSecond, 0)));
            os::clock::sleep(time);
            drop(held);
            spinner.join().unwrap();
        });
        let missed = latch.counts().misses;
        let expected = LatchCounts { gets: 2, misses: missed, spin_gets: missed, ..LatchCounts::default() };
        assert_eq!(latch.counts(), expected);
        missed == 1
    });
}

#[test]
fn waiters_get_in_first_come_first_served() {
    let d = domain(Generation::default());
    d.tunables().set_class_spin(0, 0);
    d.tunables().set_watchdog_ms(60_000);
    let a = client(d);
    let latch = Latch::new(LatchName::TestUnit, 1);
    let held = a.get(&latch, Where::TestExclusive, 0);
    let order = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let mut waiters = Vec::new();
        for n in 0..5 {
            let (latch, order) = (&latch, &order);
            waiters.push(scope.spawn(move || {
                let c = client(d);
                let _held = c.get(latch, Where::TestSecond, n);
                order.fetch_add(1, Ordering::SeqCst)
            }));
            until_asleep(d, latch, n as usize + 1);
        }
        drop(held);
        let places: Vec<_> = waiters.into_iter().map(|w| w.join().unwrap()).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
    });
}

#[test]
fn shared_holders_go_together_and_a_waiting_writer_stops_new_ones() {
    let d = domain(Generation::default());
    d.tunables().set_spin_count(1);
    let (a, b, c) = (client(d), client(d), client(d));
    let latch = Latch::new(LatchName::TestShared, 1);
    assert!(latch.is_shared_capable());
    let first = a.get_shared(&latch, Where::TestShare, 0);
    let second = b.get_shared(&latch, Where::TestShare, 0);
    assert!(first.is_shared() && c.try_get(&latch, Where::TestExclusive, 0).is_none());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| drop(client(d).get(&latch, Where::TestExclusive, 0)));
        until_asleep(d, &latch, 1);
        assert!(c.try_get_shared(&latch, Where::TestShare, 0).is_none(), "the latch is blocking");
        let reader = scope.spawn(|| drop(client(d).get_shared(&latch, Where::TestShare, 0)));
        until_asleep(d, &latch, 2);
        drop(first);
        drop(second);
        writer.join().unwrap();
        reader.join().unwrap();
    });
    assert!(!latch.is_held());
    let counts = latch.counts();
    assert_eq!(counts.spin_gets, 0, "an S request that meets a writer does not spin");
    assert_eq!((counts.gets, counts.misses, counts.immediate_misses), (4, 2, 2), "a child counts its shared gets");
    assert_eq!(d.unmarked_counts(LatchName::TestShared).gets, 0);
}

#[test]
fn a_shared_waiter_at_the_front_does_not_keep_a_blocking_writer_asleep() {
    let d = domain(Generation::default());
    d.tunables().set_spin_count(0);
    d.tunables().set_watchdog_ms(3_600_000);
    let (a, b) = (client(d), client(d));
    let latch = Latch::new(LatchName::TestShared, 1);
    let held = a.get(&latch, Where::TestExclusive, 0);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| drop(client(d).get_shared(&latch, Where::TestShare, 0)));
        until_asleep(d, &latch, 1);
        let writer = scope.spawn(|| drop(client(d).get(&latch, Where::TestExclusive, 0)));
        until_asleep(d, &latch, 2);
        // As if a third process had got the latch between the release and the reader's waking, and the writer had
        // looked at that moment: the oldest waiter is shared, and the word is blocking.
        latch.word.0.store(1 | crate::word::BLOCKING, Ordering::SeqCst);
        std::mem::forget(held);
        b.note(latch.address(), Mode::Shared, latch.identity(), Where::TestShare, 0);
        assert!(latch.word.free_shared());
        b.post_waiters(&latch);
        writer.join().unwrap();
        reader.join().unwrap();
    });
}

#[test]
fn a_latch_that_was_slept_on_is_settled_and_stays_what_it_is() {
    let d = domain(Generation::default());
    let a = client(d);
    let latch = Latch::new(LatchName::TestShared, (1 << 21) - 1);
    let is = || (latch.name(), latch.child(), latch.is_shared_capable(), latch.has_waiters());
    for _ in 0..2 {
        assert_eq!(is(), (LatchName::TestShared, (1 << 21) - 1, true, false));
        let held = a.get(&latch, Where::TestExclusive, 0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| drop(client(d).get(&latch, Where::TestExclusive, 0)));
            until_asleep(d, &latch, 1);
            assert!(latch.has_waiters());
            drop(held);
            waiter.join().unwrap();
        });
        drop(a.get(&latch, Where::TestExclusive, 0)); // finds no waiter and clears the mark
        let marks = latch.identity() & (crate::word::SLEPT_ON | crate::word::SETTLED);
        let settled = if os::cpu::barrier_in_all() { crate::word::SETTLED } else { 0 };
        assert_eq!(marks, crate::word::SLEPT_ON | settled);
    }
    let hold = a.get(&latch, Where::TestExclusive, 7);
    let holders: Vec<LatchName> = d.holders().filter_map(|h| h.name).collect();
    assert_eq!(holders, [LatchName::TestShared]);
    drop(hold);
}

#[test]
fn a_latch_without_shared_mode_is_got_exclusively() {
    let d = domain(Generation::default());
    let (a, b) = (client(d), client(d));
    let latch = Latch::new(LatchName::TestUnit, 1);
    let held = a.get_shared(&latch, Where::TestExclusive, 0);
    assert!(!held.is_shared() && b.try_get_shared(&latch, Where::TestExclusive, 0).is_none());
    drop(held);
    assert_eq!(latch.counts().gets, 1);
}

#[test]
fn back_off_sleeps_by_the_clock_and_posts_nobody() {
    until_met(|time| {
        let d = domain(Generation::V8_1_7);
        assert_eq!(d.tunables().sleep_algorithm(), SleepAlgorithm::ExponentialBackOff);
        let a = client(d);
        let latch = Latch::new(LatchName::TestUnit, 1);
        let held = a.get(&latch, Where::TestExclusive, 0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| drop(client(d).get(&latch, Where::TestSecond, 0)));
            os::clock::sleep(time);
            drop(held);
            waiter.join().unwrap();
        });
        let counts = d.counts(LatchName::TestUnit, [&latch]);
        assert_eq!(counts.waiters_woken, 0);
        assert!(counts.wait_ns >= counts.sleeps * 10_000_000, "{counts:?}");
        counts.sleeps >= 1
    });
}

#[test]
fn nothing_is_lost_under_contention_of_all_kinds() {
    for (generation, spins) in [(Generation::default(), 20_000), (Generation::default(), 0), (Generation::V8_1_7, 2000)]
    {
        let d = domain(generation);
        d.tunables().set_class_spin(0, spins);
        d.tunables().set_spin_count(spins.min(2000));
        let latch = Latch::new(LatchName::TestShared, 0);
        let data = [AtomicU64::new(0), AtomicU64::new(0)];
        let (threads, rounds) = (4, 3000);
        std::thread::scope(|scope| {
            for t in 0..threads {
                let (latch, data) = (&latch, &data);
                scope.spawn(move || {
                    let c = client(d);
                    for n in 0..rounds {
                        if (n + t) % 3 == 0 {
                            let _held = c.get_shared(latch, Where::TestShare, 0);
                            assert_eq!(data[0].load(Ordering::Relaxed), data[1].load(Ordering::Relaxed));
                        } else {
                            let _held = c.get(latch, Where::TestExclusive, 0);
                            for word in data {
                                word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        });
        let counts = d.counts(LatchName::TestShared, [&latch]);
        assert_eq!(counts.gets, threads * rounds, "{generation:?}");
        assert_eq!(data[0].load(Ordering::Relaxed), latch.counts().gets);
        assert!(counts.misses >= counts.spin_gets && counts.misses <= counts.gets);
        assert!(counts.spin_gets + counts.sleeps >= counts.misses, "recurrent sleeps are never negative: {counts:?}");
    }
}

#[test]
fn a_versioned_read_is_a_get_and_a_failed_check_a_miss() {
    let d = domain(Generation::default());
    let (reader, writer) = (client(d), client(d));
    let v = Versioned::new(LatchName::TestShared, 1);
    let data = AtomicU64::new(1);
    let look = || data.load(Ordering::Relaxed);
    assert_eq!(reader.read(&v, Where::TestVersioned, look), 1);
    assert_eq!(d.unmarked_counts(LatchName::TestShared), LatchCounts { gets: 1, ..LatchCounts::default() });
    let mut runs = 0;
    let seen = reader.read(&v, Where::TestVersioned, || {
        runs += 1;
        if runs == 1 {
            let _held = writer.write(&v, Where::TestVersioned, 0);
            data.store(2, Ordering::Relaxed);
        }
        look()
    });
    assert_eq!((seen, runs), (2, 2));
    let expected = LatchCounts { gets: 2, misses: 1, spin_gets: 1, ..LatchCounts::default() };
    assert_eq!(d.unmarked_counts(LatchName::TestShared), expected);
    assert_eq!(v.latch().counts().gets, 1);
}

#[test]
fn a_versioned_read_that_never_succeeds_gets_the_latch() {
    let d = domain(Generation::default());
    let (reader, writer) = (client(d), client(d));
    let v = Versioned::new(LatchName::TestShared, 1);
    let tries = d.tunables().versioned_tries();
    let mut runs = 0;
    reader.read(&v, Where::TestVersioned, || {
        runs += 1;
        if runs <= tries + 1 {
            drop(writer.write(&v, Where::TestVersioned, 0));
        } else {
            assert!(v.latch().is_held(), "the last run is under the latch");
        }
    });
    assert_eq!(runs, tries + 2);
    let (counts, written) = (d.counts(LatchName::TestShared, [v.latch()]), u64::from(tries) + 1);
    assert_eq!(
        (counts.gets - written, counts.misses, counts.fallbacks),
        (1, 1, 1),
        "one read is one get, and one miss"
    );
}

#[test]
fn mutexes_count_sleeps_and_show_their_holder() {
    until_met(|time| mutex_met(time) > 0);
}

/// The sleeps of a process that wants a mutex while another holds it for `time`.
fn mutex_met(time: Duration) -> u64 {
    let d = domain(Generation::default());
    let a = client(d);
    let mutex = Mutex::default();
    let held = a.mutex(&mutex, MutexKind::RowCache, Where::KqrMutexFind, 15);
    assert_eq!(mutex.value() >> 32, u64::from(a.number()));
    assert!(!a.examine(&mutex) && client(d).try_mutex(&mutex, Where::KqrMutexFind, 15).is_none());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let b = client(d);
            drop(b.mutex(&mutex, MutexKind::RowCache, Where::KqrMutexReget, 15));
            b.waiter()
        });
        os::clock::sleep(time);
        drop(held);
        let waiter = waiter.join().unwrap();
        assert_eq!(waiter.totals.of(Event::RowCacheMutex).waits(), mutex.sleeps());
    });
    let history = d.mutex_history();
    let slept: u64 = history.iter().map(|wait| wait.sleeps).sum();
    assert!(history.iter().all(|w| w.place == Where::KqrMutexReget && w.idn == 15 && w.blocker == a.number()));
    assert_eq!(slept, mutex.sleeps());
    let at = place(d, Where::KqrMutexReget);
    assert_eq!(at.mutex_sleeps, mutex.sleeps());
    assert_eq!(at.mutex_wait_ns > 0, mutex.sleeps() > 0);
    let (b, c) = (client(d), client(d));
    let (one, two) = (
        b.mutex_shared(&mutex, MutexKind::CursorPin, Where::KksExecute, 1),
        c.mutex_shared(&mutex, MutexKind::CursorPin, Where::KksExecute, 1),
    );
    assert_eq!(mutex.value(), 2);
    drop((one, two));
    assert_eq!((mutex.value(), mutex.gets()), (0, 4));
    mutex.sleeps()
}

#[test]
#[cfg(debug_assertions)]
fn a_get_against_the_levels_is_an_internal_error() {
    let d = domain(Generation::default());
    let c = client(d);
    let low = Latch::new(LatchName::CacheBuffersChains, 1);
    let high = Latch::new(LatchName::CacheBuffersLruChain, 1);
    let sibling = Latch::new(LatchName::CacheBuffersChains, 2);
    drop((c.get(&low, Where::KcbGetCurrent, 0), c.get(&high, Where::KcbLruAllocate, 0)));
    assert_eq!(c.held_count(), 0);
    {
        let _first = c.get(&low, Where::KcbGetCurrent, 0);
        drop(c.get(&sibling, Where::KcbGetCurrent, 0));
    }
    let refused = |first: &Latch, second: &Latch| {
        let _first = c.get(first, Where::KcbGetCurrent, 0);
        assert!(c.try_get(second, Where::KcbGetCurrent, 0).is_some(), "a no-wait get may break the order");
        let run = std::panic::AssertUnwindSafe(|| drop(c.get(second, Where::KcbGetCurrent, 0)));
        let panic = std::panic::catch_unwind(run).unwrap_err();
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(text.contains("[504]"), "{text}");
    };
    refused(&high, &low);
    refused(&sibling, &low);
    assert_eq!(c.held_count(), 0, "all is free after the panics");
}

#[test]
fn what_a_dead_process_held_is_freed_and_the_next_goes_on() {
    let d = domain(Generation::default());
    let (survivor, dead) = (client(d), client(d));
    // In leaked memory, so that recovery may read it.
    let v: &'static Versioned = Box::leak(Box::new(Versioned::new(LatchName::TestShared, 1)));
    let latch: &'static Latch = Box::leak(Box::new(Latch::new(LatchName::TestUnit, 1)));
    let mutex: &'static Mutex = Box::leak(Box::default());
    let number = dead.number();
    std::mem::forget(dead.get(latch, Where::TestExclusive, 0));
    std::mem::forget(dead.write(v, Where::TestVersioned, 0));
    std::mem::forget(dead.mutex(mutex, MutexKind::RowCache, Where::KqrMutexFind, 0));
    assert!(v.version().is_odd());
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| drop(client(d).get(latch, Where::TestSecond, 0)));
        until_asleep(d, latch, 1);
        let known = Known { is_shared: &|_, _| true, is_alive: &|n| n != number };
        assert_eq!(d.recover(number, known), Recovered { freed: 3, versions: 1 });
        assert_eq!(d.recover(number, known), Recovered::default(), "once");
        waiter.join().unwrap();
    });
    assert!(!v.version().is_odd() && !latch.is_held() && mutex.value() == 0);
    drop(survivor.write(v, Where::TestVersioned, 0));
    std::mem::forget(dead);
}

#[test]
fn a_doubtful_shared_count_is_settled_by_the_living_holders() {
    let d = domain(Generation::default());
    let latch: &'static Latch = Box::leak(Box::new(Latch::new(LatchName::TestShared, 1)));
    for counted in [true, false] {
        let (living, dead) = (client(d), client(d));
        let held = living.get_shared(latch, Where::TestShare, 0);
        // Killed between the note and the count, or between the count and the mark.
        dead.note(latch.address(), Mode::Shared, latch.identity(), Where::TestShare, 0);
        if counted {
            assert!(latch.word.try_shared());
        }
        let number = dead.number();
        let known = Known { is_shared: &|_, _| true, is_alive: &|n| n != number };
        assert_eq!(d.recover(number, known).freed, u32::from(counted));
        assert_eq!(latch.word.peek(), 1, "the living holder is counted, and nothing else is in the word");
        drop(held);
        assert_eq!(latch.word.peek(), 0);
    }
}

#[test]
fn a_doubtful_shared_count_of_a_hot_mutex_is_settled_with_new_holds_kept_out() {
    let d = domain(Generation::default());
    let mutex: &'static Mutex = Box::leak(Box::default());
    let stop = AtomicU64::new(0);
    let started = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (stop, started) = (&stop, &started);
            scope.spawn(move || {
                let c = client(d);
                started.wait();
                while stop.load(Ordering::Relaxed) == 0 {
                    let held = c.mutex_shared(mutex, MutexKind::RowCache, Where::KqrMutexFind, 1);
                    assert!(mutex.value() >> 32 == 0 && mutex.value() as u32 & 0xffff <= 4, "{:#x}", mutex.value());
                    drop(held);
                    drop(c.mutex(mutex, MutexKind::RowCache, Where::KqrMutexFind, 1));
                }
            });
        }
        started.wait();
        for turn in 0..300 {
            let dead = client(d);
            dead.note(mutex.address(), Mode::MutexShared, 0xff, Where::KqrMutexFind, 0);
            // Killed between the note and the count, or between the count and the mark.
            let counted = turn % 2 == 0;
            while counted && !mutex.word().try_shared() {
                os::cpu::relax();
            }
            let number = dead.number();
            let known = Known { is_shared: &|_, _| true, is_alive: &|n| n != number };
            d.recover(number, known);
        }
        stop.store(1, Ordering::Relaxed);
    });
    assert_eq!(mutex.value(), 0, "no hold is left, and none was taken from the living");
}

#[test]
fn the_blocking_mark_of_a_dead_writer_goes_with_it() {
    let d = domain(Generation::default());
    let latch: &'static Latch = Box::leak(Box::new(Latch::new(LatchName::TestShared, 1)));
    let (reader, dead) = (client(d), client(d));
    let held = reader.get_shared(latch, Where::TestShare, 0);
    // The state that `sleep_once` leaves when the process is killed in its sleep.
    d.waiting[dead.number() as usize - 1].store(latch.address(), Ordering::Release);
    assert!(latch.word.block());
    let known = Known { is_shared: &|_, _| true, is_alive: &|_| false };
    d.recover(dead.number(), known);
    drop(client(d).get_shared(latch, Where::TestShare, 0));
    drop(held);
    assert_eq!(latch.word.peek(), 0);
}

#[test]
fn holders_can_be_read_without_end_beside_a_busy_latch() {
    let d = domain(Generation::default());
    let latch = Latch::new(LatchName::TestUnit, 9);
    let stop = AtomicU64::new(0);
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let c = client(d);
            start.wait();
            while stop.load(Ordering::Relaxed) == 0 {
                drop(c.get(&latch, Where::TestExclusive, 5));
            }
        });
        start.wait();
        for _ in 0..20_000 {
            for h in d.holders() {
                assert_eq!((h.number, h.child, h.why, h.place), (1, 9, 5, Where::TestExclusive));
            }
        }
        stop.store(1, Ordering::Relaxed);
    });
}

#[test]
fn a_latch_held_by_hand_is_a_hold_like_any_other() {
    use crate::ByHandError;
    let d = domain(Generation::default());
    let (a, b) = (client(d), client(d));
    let shared = Latch::new(LatchName::TestShared, 0);
    let exclusive = Latch::new(LatchName::TestUnit, 0);
    a.get_by_hand(&shared, true, true, Where::TestShare, 7).unwrap();
    assert!(shared.is_held() && a.held_count() == 1);
    let seen: Vec<_> = d.holders().map(|h| (h.mode, h.why)).collect();
    assert_eq!(seen, [(Mode::Shared, 7)]);
    assert!(b.try_get_shared(&shared, Where::TestShare, 0).is_some(), "others share it");
    assert_eq!(b.get_by_hand(&shared, false, false, Where::TestExclusive, 0), Err(ByHandError::Busy));
    assert_eq!(a.get_by_hand(&shared, true, true, Where::TestShare, 0), Err(ByHandError::Order));
    assert_eq!(a.get_by_hand(&exclusive, true, true, Where::TestShare, 0), Err(ByHandError::NotShared));
    assert!(!b.free_by_hand(&shared), "it is not b's");
    assert!(a.free_by_hand(&shared) && !a.free_by_hand(&shared));
    assert!(!shared.is_held() && a.held_count() == 0 && d.holders().next().is_none());
    a.get_by_hand(&exclusive, false, true, Where::TestExclusive, 0).unwrap();
    assert!(b.try_get(&exclusive, Where::TestExclusive, 0).is_none());
    assert!(a.free_by_hand(&exclusive));
    drop(b.get(&exclusive, Where::TestExclusive, 0));
    assert_eq!(exclusive.counts().gets, 2);
}

/// Without the wake-up of a switch the waiter sleeps by the list for an hour: nobody posts it under back-off.
#[test]
fn a_switch_of_the_sleep_algorithm_wakes_who_sleeps_by_the_former_one() {
    let d = domain(Generation::default());
    d.tunables().set_class_spin(0, 0);
    d.tunables().set_watchdog_ms(3_600_000);
    let a = client(d);
    let latch = Latch::new(LatchName::TestUnit, 1);
    let held = a.get(&latch, Where::TestExclusive, 0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| drop(client(d).get(&latch, Where::TestSecond, 0)));
        until_asleep(d, &latch, 1);
        d.switch_sleep(SleepAlgorithm::ExponentialBackOff);
        while !d.used().iter().any(|slot| slot.sleeping.load(Ordering::SeqCst) == crate::waiting::TIMED) {
            std::thread::yield_now();
        }
        drop(held);
        waiter.join().unwrap();
    });
    assert_eq!(latch.counts().gets, 2);
}

#[test]
fn a_switch_to_the_sleep_algorithm_in_force_wakes_nobody() {
    let d = domain(Generation::default());
    let sleeper = client(d);
    for (algorithm, stage) in [
        (SleepAlgorithm::WaitList, crate::waiting::ASLEEP),
        (SleepAlgorithm::ExponentialBackOff, crate::waiting::TIMED),
    ] {
        d.switch_sleep(algorithm);
        sleeper.slot.sleeping.store(stage, Ordering::SeqCst);
        d.switch_sleep(algorithm);
        assert_eq!(sleeper.slot.sleeping.load(Ordering::SeqCst), stage, "{algorithm:?}");
    }
}

/// A releaser must not post the process that sleeps by the clock instead of the one that waits for a post.
#[test]
fn a_sleeper_by_the_clock_is_passed_over_by_posts() {
    let d = domain(Generation::default());
    d.tunables().set_class_spin(0, 0);
    d.tunables().set_watchdog_ms(3_600_000);
    let (a, b) = (client(d), client(d));
    let latch = Latch::new(LatchName::TestUnit, 1);
    let held = a.get(&latch, Where::TestExclusive, 0);
    // As a process looks that has waited longest, by back-off.
    let slot = b.slot;
    d.waiting[b.number() as usize - 1].store(latch.address(), Ordering::SeqCst);
    slot.sleeping.store(crate::waiting::TIMED, Ordering::SeqCst);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| drop(client(d).get(&latch, Where::TestSecond, 0)));
        until_asleep(d, &latch, 1);
        drop(held);
        waiter.join().unwrap();
    });
    assert_eq!(slot.sleeping.load(Ordering::SeqCst), crate::waiting::TIMED);
    d.waiting[b.number() as usize - 1].store(0, Ordering::SeqCst);
}

#[test]
fn nothing_is_lost_while_sleep_algorithms_and_spins_are_switched() {
    let d = domain(Generation::default());
    d.tunables().set_class_spin(0, 50);
    // A lost post is not made up for by the watchdog.
    d.tunables().set_watchdog_ms(3_600_000);
    let latch = Latch::new(LatchName::TestUnit, 0);
    let (data, over) = ([AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0));
    let rounds: u64 = std::thread::scope(|scope| {
        let work = || {
            let c = client(d);
            let mut rounds = 0;
            while over.load(Ordering::Relaxed) == 0 || rounds < 100 {
                rounds += 1;
                let _held = c.get(&latch, Where::TestExclusive, 0);
                for word in &data {
                    word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
                // Off the processor with the latch: the others sleep.
                std::thread::yield_now();
            }
            rounds
        };
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for n in 0..300 {
            let back_off = n % 2 == 0;
            d.switch_sleep(if back_off { SleepAlgorithm::ExponentialBackOff } else { SleepAlgorithm::WaitList });
            d.tunables().set_class_spin(0, n % 100);
            std::thread::yield_now();
        }
        // Under back-off no releaser posts a process that sleeps by the list: the switch has to wake it.
        d.switch_sleep(SleepAlgorithm::WaitList);
        d.tunables().set_class_spin(0, 0);
        while !d.used().iter().any(|slot| slot.sleeping.load(Ordering::SeqCst) == crate::waiting::ASLEEP) {
            std::thread::yield_now();
        }
        d.switch_sleep(SleepAlgorithm::ExponentialBackOff);
        over.store(1, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(data.iter().all(|word| word.load(Ordering::Relaxed) == rounds));
    assert!(!latch.is_held());
}

/// A process that is inside keeps a structure closed, and new entries wait until it has left.
#[test]
fn a_closed_structure_opens_when_everyone_has_left() {
    let d = domain(Generation::default());
    let word = d.design(Structure::LibraryCache);
    word.format(1);
    let (a, b) = (client(d), client(d));
    let inside = a.enter(Structure::LibraryCache, word);
    let closed = b.close(Structure::LibraryCache, 2).expect("nobody else switches");
    assert!(!closed.is_empty() && b.close(Structure::LibraryCache, 3).is_none());
    // Entered by the design that the outer entry began with, although the word is closed.
    assert_eq!(a.enter(Structure::LibraryCache, word).code(), 1);
    assert_eq!((word.now().code(), word.now().epoch(), word.now().is_closed()), (1, 1, true));
    std::thread::scope(|scope| {
        let late = scope.spawn(|| client(d).enter(Structure::LibraryCache, word).code());
        drop(inside);
        while !closed.is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(closed.open().map(InForce::code), Some(2));
        assert_eq!(late.join().unwrap(), 2);
    });
    assert_eq!((word.now().epoch(), word.now().is_closed()), (2, false));
    // Given up: the former design, and another epoch.
    drop(b.close(Structure::LibraryCache, 7));
    assert_eq!((word.now().code(), word.now().epoch(), word.now().is_closed()), (2, 3, false));
}

/// As when the switching process is stopped by a signal: a process that wants to enter ends the switch, and the late
/// switch has no effect.
#[test]
fn a_structure_that_stays_closed_is_opened_by_a_process_that_waits_for_it() {
    let d = domain(Generation::default());
    let word = d.design(Structure::LibraryCache);
    word.format(1);
    let (a, b) = (client(d), client(d));
    let closed = a.close(Structure::LibraryCache, 2).expect("nobody else switches");
    let inside = b.enter(Structure::LibraryCache, word);
    assert_eq!((inside.code(), word.now().code(), word.now().is_closed()), (1, 1, false));
    assert_eq!(closed.open(), None);
    assert_eq!((word.now().code(), word.now().epoch()), (1, 2));
    drop(inside);
    // Another switch has closed the structure meanwhile: the late one does not open it.
    let late = a.close(Structure::LibraryCache, 2).expect("nobody else switches");
    word.reopen(word.now());
    let closed = b.close(Structure::LibraryCache, 3).expect("nobody else switches");
    drop(late);
    assert!(word.now().is_closed());
    assert_eq!(closed.open().map(InForce::code), Some(3));
}

/// Two designs protect two words by two latches. Without the marks, or without the barrier, both latches are held at
/// once, and the words differ.
#[test]
fn designs_that_exclude_each_other_are_never_inside_together() {
    let d = domain(Generation::default());
    let word = d.design(Structure::RowCache);
    word.format(0);
    let latches = [Latch::new(LatchName::TestUnit, 1), Latch::new(LatchName::TestUnit, 2)];
    let (data, over) = ([AtomicU64::new(0), AtomicU64::new(0)], AtomicU64::new(0));
    let rounds: u64 = std::thread::scope(|scope| {
        let work = || {
            let c = client(d);
            let mut rounds = 0;
            while over.load(Ordering::Relaxed) == 0 || rounds < 100 {
                rounds += 1;
                let inside = c.enter(Structure::RowCache, word);
                let _held = c.get(&latches[inside.code() as usize], Where::TestExclusive, 0);
                let seen = data[0].load(Ordering::Relaxed);
                assert_eq!(seen, data[1].load(Ordering::Relaxed));
                // Off the processor while inside: the switch has to wait.
                std::thread::yield_now();
                data.iter().for_each(|word| word.store(seen + 1, Ordering::Relaxed));
            }
            rounds
        };
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(work)).collect();
        let c = client(d);
        for n in 0..300u32 {
            let closed = c.close(Structure::RowCache, (n % 2) as u8).expect("nobody else switches");
            while !closed.is_empty() {
                std::thread::yield_now();
            }
            assert!(closed.open().is_some());
            // The workers run between two switches.
            std::thread::yield_now();
        }
        over.store(1, Ordering::Relaxed);
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(data.iter().all(|word| word.load(Ordering::Relaxed) == rounds), "{data:?} of {rounds}");
}

/// A domain with rings of so many records.
fn recording_domain(lines: usize) -> Domain {
    let heads = os::memory::shared_slice(16).expect("memory");
    domain(Generation::default()).with_rings(heads, os::memory::shared_slice(16 * lines).expect("memory"))
}

fn gets_of(view: &RingView) -> Vec<Record> {
    view.records.iter().copied().filter(|record| record.kind == RecordKind::Get).collect()
}

/// Sampled calls of a ring: all, whole, open and lost ones.
fn calls_of(view: &RingView) -> [u64; 4] {
    [view.calls, view.whole_calls(), u64::from(view.is_open), view.lost_calls()]
}

#[test]
fn a_sampled_call_has_its_gets_in_order_and_other_calls_none() {
    let d = recording_domain(64);
    let (a, b) = (client(d), client(d));
    // At different places of the table in which a recorder remembers gets.
    let latches: &'static [Latch] = os::memory::shared_slice(3).expect("memory");
    let (latch, shared) = (&latches[1], &latches[2]);
    latch.format(LatchName::TestUnit, 7, Generation::default());
    shared.format(LatchName::TestShared, 0, Generation::default());
    let versioned = &os::memory::shared_slice::<Versioned>(2).expect("memory")[1];
    versioned.format(LatchName::TestShared, 3, Generation::default());
    let mutex = &os::memory::shared_slice::<Mutex>(1).expect("memory")[0];
    let work = |c: &Client| {
        c.begin_call();
        drop(c.get(latch, Where::TestExclusive, 0));
        {
            let _outer = c.get_shared(shared, Where::TestShare, 0);
            drop(c.mutex(mutex, MutexKind::RowCache, Where::KqrMutexFind, 9));
        }
        c.read(versioned, Where::TestVersioned, || ());
        drop(c.write(versioned, Where::TestVersioned, 0));
        c.count_read(LatchName::CacheBuffersChains, false, || 12);
    };
    work(&a);
    assert_eq!((d.recording(), d.recorded().len()), ((0, 0), 0));
    d.record(1);
    work(&a);
    work(&b);
    work(&a);
    d.record(0);
    assert_eq!(d.open_calls().collect::<Vec<_>>(), [1, 2]);
    a.begin_call();
    b.begin_call();
    work(&a);
    assert_eq!((d.recording(), d.open_calls().count()), ((1, 0), 0));
    let rings = d.recorded();
    let of = |ring: &RingView| (ring.number, calls_of(ring), ring.lost);
    assert_eq!(rings.iter().map(of).collect::<Vec<_>>(), [(1, [2, 2, 0, 0], 0), (2, [1, 1, 0, 0], 0)]);
    let of_a = &rings[0].records;
    let kinds: Vec<RecordKind> = of_a.iter().map(|r| r.kind).collect();
    use RecordKind::{Call, End, Get};
    let call = [Call, Get, Get, Get, Get, Get, Get, End];
    assert_eq!(kinds, [call, call].concat());
    let gets: Vec<_> = gets_of(&rings[0])[..6].iter().map(|r| (r.manner, r.name, r.object, r.place)).collect();
    let (test, mutexes) = (Some(LatchName::TestShared), std::ptr::from_ref(mutex) as u64 >> 3);
    assert_eq!(
        gets,
        [
            (Manner::Exclusive, Some(LatchName::TestUnit), 7, Some(Where::TestExclusive)),
            (Manner::MutexExclusive, None, mutexes & ((1 << 36) - 1), Some(Where::KqrMutexFind)),
            (Manner::Shared, test, 0, Some(Where::TestShare)),
            (Manner::Read, test, 3, Some(Where::TestVersioned)),
            (Manner::Writing, test, 3, Some(Where::TestVersioned)),
            (Manner::Read, Some(LatchName::CacheBuffersChains), 12, None),
        ]
    );
    // The hold of the mutex lies in that of the latch.
    assert!(of_a[3].begin_ns <= of_a[2].begin_ns);
    assert!(of_a[2].begin_ns + of_a[2].length_ns <= of_a[3].begin_ns + of_a[3].length_ns);
    assert!(of_a[7].length_ns >= of_a[5].begin_ns + of_a[5].length_ns);
    // `b` has got the latch between the two calls of `a`. Nothing tells who was the last to hold it before the first
    // call, or to hold shared a latch whose shared gets it does not count.
    let last = |n: usize| (of_a[n].last, of_a[n + 8].last);
    use LastHolder::{Other, Unknown};
    assert_eq!((last(1), last(2), last(3)), ((Unknown, Other), (Unknown, Other), (Unknown, Unknown)));
    assert!(of_a.iter().all(|r| !r.spun && !r.slept));
}

#[test]
fn a_recorded_miss_is_marked_and_its_wait_is_in_no_gap() {
    let d = recording_domain(64);
    let latch = Latch::new(LatchName::TestUnit, 1);
    let mut before = (0, 0);
    until_met(|hold| {
        let (a, b) = (client(d), client(d));
        let started = Barrier::new(2);
        d.record(1);
        std::thread::scope(|scope| {
            let held = a.get(&latch, Where::TestExclusive, 0);
            let (latch, started) = (&latch, &started);
            scope.spawn(move || {
                b.begin_call();
                started.wait();
                drop(b.get(latch, Where::TestExclusive, 0));
                b.begin_call();
            });
            started.wait();
            os::clock::sleep(hold);
            drop(held);
        });
        d.record(0);
        let rings = d.recorded();
        let records = &rings.iter().find(|ring| ring.number == 2).expect("its ring").records;
        assert_eq!(records[1].kind, RecordKind::Get);
        let now = d.waits_of(2).expect("its slot");
        let was = std::mem::replace(&mut before, now);
        assert_eq!(records[1].spun, now.0 > was.0, "the slot counts the misses of its process");
        assert_eq!(records[1].slept, now.1 > was.1, "and its sleeps");
        let waits = records[1].spun && records[1].slept;
        // The call took at least as long as the hold, its own clock did not.
        waits && u128::from(records[2].length_ns) < hold.as_nanos()
    });
    assert_eq!(d.waits_of(1), Some((0, 0)), "the holder has not waited");
}

#[test]
fn a_call_that_does_not_fit_its_ring_is_lost_as_a_whole() {
    let d = recording_domain(7);
    let c = client(d);
    let latch = Latch::new(LatchName::TestUnit, 1);
    d.record(1);
    for _ in 0..4 {
        c.begin_call();
        drop(c.get(&latch, Where::TestExclusive, 0));
        drop(c.get(&latch, Where::TestExclusive, 0));
    }
    d.record(0);
    c.begin_call();
    let ring = &d.recorded()[0];
    assert_eq!((ring.records.len(), calls_of(ring), ring.lost), (4, [2, 1, 0, 1], 1), "{ring:?}");
    // A new recording begins with an empty ring.
    d.record(1);
    c.begin_call();
    c.begin_call();
    let ring = &d.recorded()[0];
    assert_eq!((ring.epoch, ring.lost, ring.records.len()), (2, 0, 2));
}

/// Its next gets are of no call of the new recording, and disturb nobody.
#[test]
fn a_process_that_is_in_a_call_of_an_earlier_recording_writes_into_none_of_the_new_one() {
    let d = recording_domain(64);
    let (late, c) = (client(d), client(d));
    let latch = Latch::new(LatchName::TestUnit, 1);
    d.record(1);
    late.begin_call();
    d.record(1);
    c.begin_call();
    (0..2).for_each(|_| drop(late.get(&latch, Where::TestExclusive, 0)));
    c.begin_call();
    let rings = d.recorded();
    assert_eq!(rings.iter().map(|ring| ring.number).collect::<Vec<_>>(), [c.number()]);
    assert!(gets_of(&rings[0]).is_empty(), "{rings:?}");
    assert_eq!(d.open_calls().collect::<Vec<_>>(), [c.number()]);
    // From its next call on it records.
    late.begin_call();
    drop(late.get(&latch, Where::TestExclusive, 0));
    late.begin_call();
    let of_late = &d.recorded()[0];
    assert_eq!((of_late.number, gets_of(of_late).len(), calls_of(of_late)), (late.number(), 1, [2, 1, 1, 0]));
}

#[test]
fn every_process_has_a_ring() {
    let d = Domain::anonymous(50, Generation::default()).expect("memory");
    let memory = (os::memory::shared_slice(50).expect("memory"), os::memory::shared_slice(50 * 8).expect("memory"));
    let d = d.with_rings(memory.0, memory.1);
    let latch = Latch::new(LatchName::TestUnit, 1);
    d.record(1);
    let all: Vec<Client> = (0..50).map(|_| client(d)).collect();
    for c in &all {
        c.begin_call();
        drop(c.get(&latch, Where::TestExclusive, 0));
    }
    let numbers: Vec<u32> = d.recorded().iter().map(|ring| ring.number).collect();
    assert_eq!(numbers, (1..=50).collect::<Vec<_>>());
    all.iter().for_each(Client::end_call);
    assert!(d.recorded().iter().all(|ring| gets_of(ring).len() == 1));
}

/// The next process of the slot records behind it.
#[test]
fn a_call_of_a_process_that_died_in_it_is_lost_and_no_longer_open() {
    let d = recording_domain(64);
    let latch = Latch::new(LatchName::TestUnit, 1);
    d.record(1);
    let dead = client(d);
    let number = dead.number();
    dead.begin_call();
    drop(dead.get(&latch, Where::TestExclusive, 0));
    std::mem::forget(dead);
    assert_eq!(calls_of(&d.recorded()[0]), [1, 0, 1, 0]);
    d.recover(number, Known { is_shared: &|_, _| false, is_alive: &|_| false });
    assert_eq!(calls_of(&d.recorded()[0]), [1, 0, 0, 1]);
    let next = Client::join(d, number, Waiter::private());
    for _ in 0..2 {
        next.begin_call();
        drop(next.get(&latch, Where::TestExclusive, 0));
    }
    next.end_call();
    let ring = &d.recorded()[0];
    assert_eq!((ring.number, calls_of(ring)), (number, [3, 2, 0, 1]));
    use RecordKind::{Call, End, Get};
    let kinds: Vec<RecordKind> = ring.records.iter().map(|r| r.kind).collect();
    assert_eq!(kinds, [Call, Get, End, Call, Get, End]);
    // The next process knows nothing of the latches that the dead one held last.
    assert_eq!(gets_of(ring)[0].last, LastHolder::Unknown);
}

#[test]
fn the_only_call_of_a_session_ends_with_the_session() {
    let d = recording_domain(512);
    let latch = Latch::new(LatchName::TestUnit, 1);
    d.record(1);
    for _ in 0..100 {
        let c = client(d);
        c.begin_call();
        drop(c.get(&latch, Where::TestExclusive, 0));
    }
    let ring = &d.recorded()[0];
    assert_eq!((calls_of(ring), gets_of(ring).len()), ([100, 100, 0, 0], 100));
}
