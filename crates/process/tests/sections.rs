//! Sections, attach and detach, statistics, requests to stop.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use latch::{Latch, LatchName, Where};
use process::Whose;
use process::{Attach, Cancel, CleanupOrder, Process, Processes, SessionStatus};
use sga::SgaSlice;
use testing::{attach, instance, kill_at_every_step};
use wait::{Event, Stat, TimeStat};

type Words = (&'static Processes, &'static [AtomicU64], &'static [AtomicU32], &'static [Latch]);

fn setup() -> Words {
    let (all, (words, halves, latches)) =
        instance(4, |b| (b.reserve("words", 4), b.reserve("halves", 4), b.reserve("latches", 3)));
    let latches: SgaSlice<Latch> = latches;
    let latches = all.sga().slice(latches);
    for (n, latch) in latches.iter().enumerate() {
        latch.format(LatchName::TestUnit, n as u32 + 1, Default::default());
    }
    (all, all.sga().slice(words), all.sga().slice(halves), latches)
}

fn values(words: &[AtomicU64]) -> Vec<u64> {
    words.iter().map(|w| w.load(Ordering::Relaxed)).collect()
}

#[test]
fn an_open_section_of_a_dead_process_is_undone_newest_first() {
    let (all, words, halves, latches) = setup();
    let (pmon, dead) = (attach(all, "pmon"), attach(all, "dead"));
    {
        let s = dead.lock(&latches[0], Where::TestExclusive, 0);
        s.set(&words[0], 1);
    }
    let s = dead.lock(&latches[0], Where::TestExclusive, 0);
    s.set(&words[0], 2);
    s.set(&words[0], 3);
    s.set(&words[1], 9);
    s.set32(&halves[1], 8);
    let number = dead.number();
    let owner = all.owner(number).unwrap();
    std::mem::forget(s);
    std::mem::forget(dead);
    assert_eq!(pmon.all().cleanup(&pmon, owner).map(|c| (c.words, c.latches)), Some((4, 1)));
    assert_eq!(values(words), [1, 0, 0, 0]);
    assert_eq!(halves[1].load(Ordering::Relaxed), 0);
    assert!(!latches[0].is_held());
    assert_eq!(all.cleanup(&pmon, owner), None, "once");
    assert_eq!(all.cleanup(&pmon, all.owner(pmon.number()).unwrap()), None, "not behind itself");
}

#[test]
fn sections_end_each_for_itself_in_any_order() {
    let (all, words, _, latches) = setup();
    let (pmon, dead) = (attach(all, "pmon"), attach(all, "dead"));
    let outer = dead.lock(&latches[0], Where::TestExclusive, 0);
    outer.set(&words[0], 1);
    let inner = dead.lock(&latches[1], Where::TestSecond, 0);
    inner.set(&words[1], 1);
    outer.set(&words[2], 1);
    drop(inner); // its entry lies between two of the outer section
    let next = dead.lock(&latches[1], Where::TestSecond, 0);
    next.set(&words[3], 1);
    drop(outer); // before the section inside it
    let number = dead.number();
    let owner = all.owner(number).unwrap();
    std::mem::forget(next);
    std::mem::forget(dead);
    assert_eq!(pmon.all().cleanup(&pmon, owner).map(|c| c.words), Some(1));
    assert_eq!(values(words), [1, 1, 1, 0], "what had ended stays");
}

#[test]
fn a_checkpoint_keeps_what_came_before_it_and_sections_end_together() {
    let (all, words, _, latches) = setup();
    let (pmon, dead) = (attach(all, "pmon"), attach(all, "dead"));
    let a = dead.lock(&latches[0], Where::TestExclusive, 0);
    let b = dead.lock(&latches[1], Where::TestSecond, 0);
    a.set(&words[0], 1);
    b.set(&words[1], 1);
    a.end_with(b);
    let a = dead.lock(&latches[0], Where::TestExclusive, 0);
    a.set(&words[2], 1);
    a.checkpoint();
    a.set(&words[3], 1);
    for n in 0..5000 {
        a.set(&words[3], n);
        a.checkpoint(); // never full
    }
    a.set(&words[3], 1);
    let number = dead.number();
    let owner = all.owner(number).unwrap();
    std::mem::forget(a);
    std::mem::forget(dead);
    all.cleanup(&pmon, owner);
    assert_eq!(values(words), [1, 1, 1, 4999]);
}

#[test]
fn a_checkpoint_with_another_section_ends_that_one_and_goes_on() {
    let (all, words, _, latches) = setup();
    let (pmon, dead) = (attach(all, "pmon"), attach(all, "dead"));
    let outer = dead.lock(&latches[0], Where::TestExclusive, 0);
    let inner = dead.lock(&latches[1], Where::TestSecond, 0);
    outer.set(&words[0], 1);
    inner.set(&words[1], 1);
    outer.checkpoint_with(inner);
    assert!(latches[0].is_held() && !latches[1].is_held());
    outer.set(&words[2], 1);
    let owner = all.owner(dead.number()).unwrap();
    std::mem::forget(outer);
    std::mem::forget(dead);
    assert_eq!(all.cleanup(&pmon, owner).map(|c| (c.words, c.latches)), Some((1, 1)));
    assert_eq!(values(words), [1, 1, 0, 0], "what both had changed stays, and only that");
}

#[test]
fn a_panic_undoes_its_sections() {
    let (all, words, _, latches) = setup();
    let p = attach(all, "p");
    struct Tidy<'a>(&'a process::Process, &'a Latch, &'a AtomicU64);
    impl Drop for Tidy<'_> {
        fn drop(&mut self) {
            self.0.lock(self.1, Where::TestSecond, 0).set(self.2, 5);
        }
    }
    let run = std::panic::AssertUnwindSafe(|| {
        let s = p.lock(&latches[0], Where::TestExclusive, 0);
        s.set(&words[0], 7);
        let _tidy = Tidy(&p, &latches[1], &words[1]);
        panic!("half-way");
    });
    assert!(std::panic::catch_unwind(run).is_err());
    assert_eq!(values(words), [0, 5, 0, 0], "what destructors do while it unwinds is kept");
    assert!(!latches[0].is_held());
}

#[test]
fn slots_run_out_and_come_back_with_new_serial_numbers() {
    let (all, ..) = setup();
    let mut four: Vec<_> = (0..4).map(|_| attach(all, "p")).collect();
    let error = all.attach(&Attach::default()).unwrap_err();
    assert_eq!(error.code(), 20);
    let last = four.pop().unwrap();
    let (sid, serial) = (last.sid(), last.serial());
    drop(last);
    let again = attach(all, "again");
    assert_eq!((again.sid(), again.serial()), (sid, serial + 1));
    assert_eq!(again.session().program.get(), "again");
    assert_eq!(again.session().status(), SessionStatus::Active);
    assert_eq!(again.stats().get(Stat::LogonsCumulative), 1, "a session counts from nothing");
    assert_eq!(all.system_stats(&again)[Stat::LogonsCumulative as usize], 5);
    assert_eq!(all.system_stats(&again)[Stat::LogonsCurrent as usize], 4);
    assert_eq!(all.system_stats(&again)[Stat::UserLogoutsCumulative as usize], 1);
}

#[test]
fn statistics_of_the_gone_are_in_the_system_totals() {
    let (all, ..) = setup();
    let (a, b) = (attach(all, "a"), attach(all, "b"));
    b.count(Stat::UserCalls, 3);
    {
        let w = b.wait(Event::DbFileSequentialRead, 1, 2, 3);
        let seen = all.wait_slot(b.number()).unwrap().view(os::clock::now_ns()).unwrap();
        assert_eq!((seen.event, seen.p), (Event::DbFileSequentialRead, [1, 2, 3]));
        w.timed_out();
    }
    let before = all.system_event(&a, Event::DbFileSequentialRead, Whose::All);
    let number = b.number();
    b.detach();
    assert_eq!(all.stat_line(number).unwrap().get(Stat::UserCalls), 0);
    assert_eq!(all.system_stats(&a)[Stat::UserCalls as usize], 3);
    assert_eq!(all.system_event(&a, Event::DbFileSequentialRead, Whose::All), before);
    assert_eq!((before.0.waits, before.0.timeouts), (1, 1));
}

#[test]
fn a_session_is_stopped_by_the_right_error() {
    let (all, ..) = setup();
    let p = attach(all, "p");
    assert!(p.check_cancel().is_ok());
    assert!(!all.cancel(p.sid(), p.serial() + 1, Cancel::Killed));
    assert!(all.cancel(p.sid(), p.serial(), Cancel::Break));
    assert_eq!(p.check_cancel().unwrap_err().code(), 1013);
    assert!(p.check_cancel().is_ok(), "a break is taken once");
    all.cancel(p.sid(), p.serial(), Cancel::Killed);
    assert_eq!(p.check_cancel().unwrap_err().code(), 28);
    assert_eq!(p.check_cancel().unwrap_err().code(), 28);
    assert_eq!(p.session().status(), SessionStatus::Killed);
}

#[test]
fn a_break_that_comes_behind_the_end_of_its_call_does_not_reach_the_next_call() {
    let (all, ..) = setup();
    let p = attach(all, "p");
    p.session().begin_client_call();
    // The break of call 1 arrives after the call has ended and the next one has begun.
    p.session().begin_client_call();
    p.session().clear_break();
    assert!(all.break_call(p.sid(), p.serial(), 1));
    assert!(p.check_cancel().is_ok(), "call 2 goes on");
    assert!(all.break_call(p.sid(), p.serial(), 2));
    assert_eq!(p.check_cancel().unwrap_err().code(), 1013);
    assert!(p.check_cancel().is_ok(), "a break is taken once");
}

#[test]
fn a_break_that_comes_before_its_call_interrupts_that_call_and_no_other() {
    let (all, ..) = setup();
    let p = attach(all, "p");
    p.session().begin_client_call();
    assert!(all.break_call(p.sid(), p.serial(), 2));
    assert!(p.check_cancel().is_ok(), "call 1 goes on");
    // The client sends call 2 and breaks it at once, and the break arrives first.
    assert!(all.break_call(p.sid(), p.serial(), 2));
    p.session().begin_client_call();
    p.session().clear_break();
    assert_eq!(p.check_cancel().unwrap_err().code(), 1013);
    // A break of any call, and one of another call, are forgotten.
    for call in [None, Some(3)] {
        assert!(match call {
            None => all.cancel(p.sid(), p.serial(), Cancel::Break),
            Some(call) => all.break_call(p.sid(), p.serial(), call),
        });
        p.session().clear_break();
        assert!(p.check_cancel().is_ok(), "{call:?}");
    }
}

#[test]
fn hooks_run_in_order_and_after_the_latches_are_free() {
    let (all, _, _, latches) = setup();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    for order in [CleanupOrder::Enqueues, CleanupOrder::Pins, CleanupOrder::Transaction] {
        let seen = std::sync::Arc::clone(&seen);
        all.on_death(order, "test", move |_, dead| {
            assert!(!latches[0].is_held());
            seen.lock().unwrap().push((order, dead));
        });
    }
    let (pmon, dead) = (attach(all, "pmon"), attach(all, "dead"));
    std::mem::forget(dead.lock(&latches[0], Where::TestExclusive, 0));
    let number = dead.number();
    let owner = all.owner(number).unwrap();
    std::mem::forget(dead);
    all.cleanup(&pmon, owner);
    let expected = [CleanupOrder::Pins, CleanupOrder::Transaction, CleanupOrder::Enqueues].map(|o| (o, number));
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[test]
fn every_get_is_in_the_row_of_its_name() {
    let (all, _, _, latches) = setup();
    let p = attach(all, "p");
    all.register_children(LatchName::TestUnit, process::LatchSet::Plain(latches));
    for _ in 0..7 {
        drop(p.lock(&latches[1], Where::TestExclusive, 0));
    }
    let shared = all.versioned_latch(LatchName::TestShared);
    for _ in 0..3 {
        drop(p.lock_shared(shared.latch(), Where::TestShare, 0));
        p.read_versioned(shared, Where::TestVersioned, || ());
        drop(p.write_versioned(shared, Where::TestVersioned, 0));
    }
    assert_eq!(all.latch_counts(LatchName::TestUnit).gets, 7);
    assert_eq!(all.latch_counts(LatchName::TestShared).gets, 9);
    assert_eq!(all.latch_counts(LatchName::TestShared).misses, 0);
    let number = p.number();
    drop(p);
    assert_eq!(all.latch_counts(LatchName::TestShared).gets, 9, "the counts of process {number} stay");
}

#[test]
fn a_forked_copy_of_a_handle_does_not_leave_for_its_parent() {
    let (all, ..) = setup();
    let p = attach(all, "p");
    match os::process::fork().unwrap() {
        os::process::Fork::Child => {
            drop(p);
            os::process::exit_now(0)
        }
        os::process::Fork::Parent(child) => {
            assert_eq!(os::process::wait(child), Some(os::process::Ended::Exited(0)));
        }
    }
    assert_eq!(all.live().count(), 1);
    drop(p);
    assert_eq!(all.live().count(), 0);
}

#[test]
fn a_process_that_panics_keeps_its_slot_until_it_is_cleaned_up_behind() {
    let (all, ..) = setup();
    let pmon = attach(all, "pmon");
    let mut owner = None;
    let run = std::panic::AssertUnwindSafe(|| {
        let p = attach(all, "p");
        owner = all.owner(p.number());
        panic!("on purpose");
    });
    assert!(std::panic::catch_unwind(run).is_err());
    let owner = owner.unwrap();
    assert_eq!(all.owner(owner.number()), Some(owner), "nobody gets the slot");
    assert!(all.cleanup(&pmon, owner).is_some());
    assert_eq!(all.owner(owner.number()), None);
}

#[test]
fn a_process_killed_while_it_joins_or_leaves_takes_no_slot_with_it() {
    let (all, ()) = instance(70, |_| ());
    let pmon = attach(all, "pmon");
    let body = |_: &Process, arm: &dyn Fn()| {
        arm();
        for _ in 0..2 {
            let (a, b) = (attach(all, "a"), attach(all, "b"));
            drop(a);
            drop(b);
        }
    };
    let check = || {
        all.sweep(&pmon);
        assert_eq!(all.live().count(), 1);
        let mut rest: Vec<Process> = std::iter::from_fn(|| all.attach(&Attach::default()).ok()).collect();
        assert_eq!(rest.len(), all.capacity() as usize - 1, "every slot is found");
        let numbers: Vec<u32> = rest.iter().map(Process::number).collect();
        rest.truncate(2);
        drop(rest);
        assert_eq!(numbers.iter().copied().min(), Some(2));
    };
    let killed = kill_at_every_step(&pmon, "process-slot-*", || (), body, check);
    assert_eq!(killed, 8, "four that join and four that leave");
}

#[test]
fn a_slot_that_has_changed_hands_is_not_cleaned_up() {
    let (all, words, _, latches) = setup();
    let (pmon, first) = (attach(all, "pmon"), attach(all, "first"));
    let number = first.number();
    let seen = all.owner(number).unwrap();
    drop(first);
    // The same process id in the same slot: only the count of owners distinguishes the two.
    let second = attach(all, "second");
    assert_eq!(second.number(), number);
    let section = second.lock(&latches[0], Where::TestExclusive, 0);
    section.set(&words[0], 1);
    assert_eq!(all.cleanup(&pmon, seen), None);
    drop(section);
    assert_eq!(values(words), [1, 0, 0, 0], "the new owner's change stands");
    assert!(all.owner(number).is_some());
}

#[test]
fn the_latches_of_all_the_dead_are_free_before_the_first_long_hook_runs() {
    let (all, words, _, latches) = setup();
    let mut dead: Vec<_> = Vec::new();
    let pmon = attach(all, "pmon");
    for latch in &latches[..2] {
        let p = attach(all, "dead");
        let section = p.lock(latch, Where::TestExclusive, 0);
        section.set(&words[0], 9);
        std::mem::forget(section);
        dead.push(all.owner(p.number()).unwrap());
        std::mem::forget(p);
    }
    let pins = std::sync::Arc::new(AtomicU64::new(0));
    {
        let pins = std::sync::Arc::clone(&pins);
        all.on_death(CleanupOrder::Pins, "pins", move |_, _| {
            pins.fetch_add(1, Ordering::Relaxed);
        });
    }
    all.on_death(CleanupOrder::Transaction, "rollback", move |_, _| {
        assert!(latches[..2].iter().all(|latch| !latch.is_held()));
        assert_eq!(pins.load(Ordering::Relaxed), 2, "once for each");
    });
    assert_eq!(all.cleanup_all(&pmon, &dead).len(), 2);
    assert_eq!(all.live().count(), 1);
}

#[test]
fn a_long_rollback_is_interrupted_for_those_who_die_meanwhile() {
    let (all, words, _, latches) = setup();
    let pmon = attach(all, "pmon");
    let first = attach(all, "first");
    let owner = all.owner(first.number()).unwrap();
    std::mem::forget(first);
    let ran = std::sync::Arc::new(AtomicU64::new(0));
    let inside = std::sync::Arc::clone(&ran);
    all.on_death(CleanupOrder::Transaction, "rollback", move |by, dead| {
        inside.fetch_add(1, Ordering::Relaxed);
        if dead != owner.number() {
            return;
        }
        // Another process dies, holding a latch, while this one is being cleaned up.
        let child = match os::process::fork().unwrap() {
            os::process::Fork::Child => {
                let p = attach(all, "child");
                let section = p.lock(&latches[0], Where::TestExclusive, 0);
                section.set(&words[0], 1);
                os::process::exit_now(0)
            }
            os::process::Fork::Parent(child) => child,
        };
        assert_eq!(os::process::wait(child), Some(os::process::Ended::Exited(0)));
        assert!(latches[0].is_held());
        os::clock::sleep(std::time::Duration::from_millis(60));
        by.look_for_the_dead();
        assert!(!latches[0].is_held(), "without waiting for it");
        assert_eq!(words[0].load(Ordering::Relaxed), 0);
        assert_eq!(inside.load(Ordering::Relaxed), 2, "nor does what it had locked");
        assert!(all.owner_by_os_pid(child).is_none(), "its slot is free");
    });
    assert!(all.cleanup(&pmon, owner).is_some());
    assert_eq!(ran.load(Ordering::Relaxed), 2, "once for each");
    assert_eq!(all.live().count(), 1);
}

#[test]
fn what_is_in_progress_is_in_the_time_model_once_and_nothing_of_it_shrinks() {
    let (all, ()) = instance(4, |_| ());
    let (p, other) = (attach(all, "worker"), attach(all, "reader"));
    let names = [TimeStat::DbTime, TimeStat::SqlExecute, TimeStat::Parse, TimeStat::HardParse, TimeStat::FailedParse];
    let mut last = [0; 5];
    let mut look = || {
        let (of_session, of_all) = (all.session_times(p.sid()).unwrap(), all.system_times(&other));
        let now = names.map(|stat| of_session[stat as usize]);
        assert!(now.iter().zip(last).all(|(now, last)| *now >= last), "{last:?} {now:?}");
        assert!(names.iter().zip(now).all(|(stat, now)| of_all[*stat as usize] >= now), "{of_all:?} {now:?}");
        let connected = of_session[TimeStat::Connection as usize];
        assert!(now[1] + now[2] + connected <= now[0] && now[3] <= now[2], "{now:?} {connected}");
        last = now;
        now
    };
    let mut pass = || {
        let before = look();
        os::clock::sleep(std::time::Duration::from_millis(2));
        let now = look();
        std::array::from_fn(|n| now[n] - before[n] >= 1000)
    };
    let [busy, execute, parse, hard] = [0, 1, 2, 3];
    let grows = |is: [bool; 5], which: &[usize]| assert_eq!(is, std::array::from_fn(|n| which.contains(&n)));
    p.stats().logged_on(|| p.busy_ns());
    grows(pass(), &[busy]);
    p.begin_timed_call();
    grows(pass(), &[busy, execute]);
    // A parse with a hard parse within it: all of it counts as hard.
    let outer = p.begin_parse();
    grows(pass(), &[busy, parse]);
    let inner = p.begin_parse();
    p.parse_is_hard();
    grows(pass(), &[busy, parse, hard]);
    p.end_parse(&inner, true);
    grows(pass(), &[busy, parse, hard]);
    p.end_parse(&outer, false);
    grows(pass(), &[busy, execute]);
    // Idle within a call.
    let idle = p.wait(Event::PlSqlLockTimer, 0, 0, 0);
    grows(pass(), &[]);
    drop(idle);
    let failed = p.begin_parse();
    grows(pass(), &[busy, parse]);
    p.end_parse(&failed, true);
    p.end_timed_call();
    let idle = p.wait(Event::SqlNetMessageFromClient, 0, 0, 0);
    grows(pass(), &[]);
    drop(idle);
    // A parse outside a call ends as it began.
    let logon = p.begin_parse();
    p.end_parse(&logon, false);
    grows(pass(), &[busy]);
    let last = look();
    assert!(last[4] >= 2000 && last[3] < last[2], "{last:?}");
    let sum = all.system_times(&other);
    p.begin_timed_call();
    let _parse = p.begin_parse();
    drop(p);
    // A session that ends during a call keeps all of its times.
    let gone = all.system_times(&other);
    assert!(names.iter().all(|stat| gone[*stat as usize] >= sum[*stat as usize]), "{sum:?} {gone:?}");
}
