//! The rules of each word.

use crate::{form, plain_machine, run};
use latch_simulator::{Closed, Design, Machine, Scheme, Sleep, State, Time};

const fn constant(gap: f64, hold: f64) -> Closed {
    Closed { gets: 1, gap: Time::Constant(gap), hold: Time::Constant(hold), latches: 1, writes: 1.0, lines: 0.0 }
}

fn exponential(gap: f64, hold: f64) -> Closed {
    form(Time::Exponential(gap), Time::Exponential(hold))
}

/// Exponential gaps, so that sessions do not fall in step, and constant holds.
fn mixed(gap: f64, hold: f64) -> Closed {
    form(Time::Exponential(gap), Time::Constant(hold))
}

#[test]
fn a_latch_alone_costs_its_two_own_operations() {
    let f = run(&plain_machine(2), constant(900.0, 100.0), Design::EXCLUSIVE, 2, 1, 10_000);
    assert!((1e9 / f.rate() - 1_008.0).abs() < 0.2, "{}", 1e9 / f.rate());
    assert_eq!((f.total().misses, f.handovers), (0, 0));
}

#[test]
fn the_line_and_the_data_move_when_the_last_holder_was_another_core() {
    // Far apart in time, so that no get waits: each pays 50 - 4 for the line and 3 x 50 for the data, half of the time.
    let alone = run(&plain_machine(2), constant(1e6, 100.0), Design::EXCLUSIVE, 2, 1, 4_000);
    let times = Closed { lines: 3.0, ..exponential(1e6, 100.0) };
    let two = run(&plain_machine(2), times, Design::EXCLUSIVE, 2, 2, 40_000);
    let hold = |f: &latch_simulator::Figures| f.time_ps[State::Hold as usize] as f64 / f.calls as f64 / 1e3;
    let line = |f: &latch_simulator::Figures| f.time_ps[State::Line as usize] as f64 / f.calls as f64 / 1e3;
    assert!(
        (hold(&alone) - 100.0).abs() < 1.0 && (line(&alone) - 4.0).abs() < 0.1,
        "{} {}",
        hold(&alone),
        line(&alone)
    );
    assert!((hold(&two) - 175.0).abs() < 4.0, "{}", hold(&two));
    assert!((line(&two) - 27.0).abs() < 1.0, "{}", line(&two));
}

#[test]
fn a_hand_over_takes_the_machines_curve() {
    // The latch is always wanted, so the time of a get is hold + H(k) with k = 3 spinners.
    let mut machine = Machine::ideal(4);
    let times = constant(10.0, 100.0);
    let at = |machine: &Machine| 1e9 / run(machine, times, Design::EXCLUSIVE, 4, 4, 20_000).rate();
    assert!((at(&machine) - 100.0).abs() < 0.5, "{}", at(&machine));
    machine.handover_ns.insert("exclusive".into(), vec![0.0, 20.0, 30.0, 70.0]);
    assert!((at(&machine) - 170.0).abs() < 0.5, "{}", at(&machine));
    machine.handover_ns.insert("shared".into(), vec![0.0, 999.0, 999.0, 999.0]);
    assert!((at(&machine) - 170.0).abs() < 0.5, "the curve of another design: {}", at(&machine));
}

#[test]
fn without_a_curve_the_bounds_are_two_moves_and_four_more_a_spinner() {
    use latch_simulator::{Bound, Cell, Workload};
    let (machine, workload) = (plain_machine(4), Workload::closed(constant(60.0, 100.0)).unwrap());
    let time = |bound| {
        let designs = [Design::EXCLUSIVE];
        let (cpus, sessions, seed, calls, slowdown) = (4, 4, 1, 20_000, 1.0);
        let f = Cell {
            machine: &machine,
            workload: &workload,
            designs: &designs,
            cpus,
            sessions,
            seed,
            calls,
            slowdown,
            bound,
        };
        let f = f.run().unwrap();
        assert!(f.handovers_beyond == f.handovers && f.handovers > 0);
        1e9 / f.rate()
    };
    assert!((time(Bound::Lower) - 200.0).abs() < 2.0, "{}", time(Bound::Lower));
    assert!((time(Bound::Upper) - 600.0).abs() < 8.0, "{}", time(Bound::Upper));
}

#[test]
fn the_releaser_gets_the_word_again_from_its_own_cache() {
    // A gap shorter than a transfer wins against the spinner each time, a longer one never does.
    let barging = run(&plain_machine(2), constant(20.0, 500.0), Design::EXCLUSIVE, 2, 2, 5_000);
    assert!(barging.total().misses * 50 < barging.total().gets, "{:?}", barging.total());
    let polite = run(&plain_machine(2), constant(120.0, 500.0), Design::EXCLUSIVE, 2, 2, 5_000);
    assert!(polite.total().misses * 10 > polite.total().gets * 9, "{:?}", polite.total());
}

#[test]
fn a_latch_spins_to_its_limit_and_then_sleeps_until_posted() {
    let machine = plain_machine(2);
    // 20,000 looks of 2 ns are 40 us: a hold of 30 us ends before, one of 100 us does not.
    let short = run(&machine, mixed(50_000.0, 30_000.0), Design::EXCLUSIVE, 2, 2, 2_000);
    // A spinner that loses to the releaser's next get spins through a second hold.
    assert!(short.total().misses > 100 && short.total().sleeps * 50 < short.total().misses, "{:?}", short.total());
    let long = run(&machine, mixed(150_000.0, 100_000.0), Design::EXCLUSIVE, 2, 2, 2_000);
    let total = long.total();
    assert!(total.misses > 500 && total.sleeps > 0, "{total:?}");
    // A sleeper is posted at the release, and runs after post, wake-up and switch: no timer.
    let mean_us = total.wait_ps as f64 / 1e6 / total.sleeps as f64;
    assert!((5.0..75.0).contains(&mean_us), "{mean_us}");
    assert!(long.time_ps[State::System as usize] > 0, "posts and switches take processor time");
}

#[test]
fn a_posted_waiter_that_finds_the_latch_held_sleeps_again_without_a_spin() {
    // Eight sessions at a spin of 1 us: others take the latch while the posted one wakes up.
    let design = Design::Exclusive { spins: 500, sleep: Sleep::Post };
    let f = run(&plain_machine(8), exponential(40_000.0, 10_000.0), design, 8, 8, 5_000);
    let total = f.total();
    let (slept, spun) = (total.misses - total.spin_gets, f.time_ps[State::Spin as usize] as f64 / 1e6);
    assert!(total.sleeps as f64 > 1.2 * slept as f64, "many sleep more than once: {total:?}");
    assert!(spun <= 1.01 * total.misses as f64, "each spins once: {spun} us, {total:?}");
}

#[test]
fn waiters_are_posted_in_the_order_of_their_waits() {
    // With a wake-up in no time and no spin, a first-in first-out queue of constant holds: no wait is longer than all
    // other sessions' holds together.
    let design = Design::Exclusive { spins: 0, sleep: Sleep::Post };
    let f = run(&Machine::ideal(8), constant(50.0, 100.0), design, 8, 8, 5_000);
    let mean = f.total().wait_ps as f64 / 1e3 / f.total().gets as f64;
    assert!((mean - 650.0).abs() < 30.0, "seven holds less the gap: {mean}");
}

#[test]
fn the_latch_of_8i_sleeps_by_the_clock() {
    let machine = plain_machine(2);
    let f = run(&machine, mixed(400_000.0, 100_000.0), Design::LATCH_8I, 2, 2, 4_000);
    let total = f.total();
    assert!(total.sleeps > 0);
    // 2,000 looks of 2 ns are 4 us. The first sleep is 10 ms and its lateness.
    let mean_ms = total.wait_ps as f64 / 1e9 / total.sleeps as f64;
    assert!((10.0..12.5).contains(&mean_ms), "{mean_ms}");
    let posted = run(&machine, mixed(400_000.0, 100_000.0), Design::EXCLUSIVE, 2, 2, 4_000);
    assert!(posted.rate() > 1.02 * f.rate(), "{} {}", posted.rate(), f.rate());
}

#[test]
fn readers_of_a_shared_latch_hold_it_together_and_pay_two_line_moves() {
    let machine = plain_machine(4);
    let times = Closed { writes: 0.0, ..exponential(2_000.0, 5_000.0) };
    let shared = run(&machine, times, Design::SHARED, 4, 4, 10_000);
    let alone = run(&machine, times, Design::SHARED, 4, 1, 10_000);
    assert!(shared.rate() > 3.8 * alone.rate(), "{} {}", shared.rate(), alone.rate());
    assert_eq!(shared.total().sleeps, 0);
    let line = shared.time_ps[State::Line as usize] as f64 / 1e3 / shared.calls as f64;
    assert!((60.0..110.0).contains(&line), "two moves of 50 ns, of which some find the line at home: {line}");
    // The line is all that readers share: at saturation two moves a get.
    let times = Closed { writes: 0.0, ..constant(10.0, 10.0) };
    let full = run(&machine, times, Design::SHARED, 4, 4, 50_000);
    assert!((80.0..112.0).contains(&(1e9 / full.rate())), "{}", 1e9 / full.rate());
    assert!(full.total().misses * 2 > full.total().gets, "the count changes between look and exchange");
}

#[test]
fn a_reader_that_meets_a_writer_sleeps_at_once_and_a_writer_spins() {
    let machine = plain_machine(4);
    let times = Closed { writes: 0.05, ..exponential(20_000.0, 10_000.0) };
    let f = run(&machine, times, Design::SHARED, 4, 4, 10_000);
    assert!(f.total().sleeps > 200, "{:?}", f.total());
    // Readers never spin: the spinning is that of writers, up to 8 us each.
    let writers = f.total().gets as f64 * 0.05;
    assert!(f.time_ps[State::Spin as usize] as f64 / 1e6 <= writers * 8.2, "{:?}", f.time_ps);
    let only = run(&machine, Closed { writes: 1.0, ..times }, Design::SHARED, 4, 4, 10_000);
    assert!(only.time_ps[State::Spin as usize] > 4 * f.time_ps[State::Spin as usize]);
}

#[test]
fn a_waiting_writer_keeps_new_readers_out() {
    // Readers hold it all the time; without the mark a writer would never get it.
    let machine = plain_machine(8);
    let times = Closed { writes: 0.02, ..exponential(1_000.0, 50_000.0) };
    let f = run(&machine, times, Design::SHARED, 8, 8, 3_000);
    let share = f.time_ps[State::Asleep as usize] as f64 / (8.0 * f.window_ps as f64);
    assert!(f.calls > 5_000 && share < 0.95, "{} {share}", f.calls);
    assert!(f.total().sleeps > 100);
}

#[test]
fn a_mutex_waits_by_its_scheme() {
    let machine = plain_machine(2);
    let times = mixed(150_000.0, 100_000.0);
    let of = |scheme| run(&machine, times, Design::Mutex { spins: 255, scheme }, 2, 2, 4_000);
    let mean_us = |f: &latch_simulator::Figures| f.total().wait_ps as f64 / 1e6 / f.total().sleeps as f64;
    let yields = of(Scheme::Yield);
    assert!(mean_us(&yields) < 15.0, "99 yields of 0.5 us to one sleep of 1 ms: {}", mean_us(&yields));
    assert!(yields.time_ps[State::Asleep as usize] == 0 || mean_us(&yields) > 0.5);
    let fixed = of(Scheme::Fixed { ms: 3 });
    assert!((3_000.0..3_200.0).contains(&mean_us(&fixed)), "{}", mean_us(&fixed));
    let exponential = of(Scheme::Exponential { longest_ms: 10 });
    assert!(
        (300.0..1_600.0).contains(&mean_us(&exponential)),
        "two yields, then 1 ms, 2 ms: {}",
        mean_us(&exponential)
    );
    // A mutex posts no one: its sleepers pay the timer, a latch's do not.
    let latch = run(&machine, times, Design::Exclusive { spins: 255, sleep: Sleep::Post }, 2, 2, 4_000);
    assert!(latch.rate() > fixed.rate() && mean_us(&latch) < 150.0);
}

#[test]
fn hot_copies_part_the_readers_and_cost_the_writers() {
    let machine = plain_machine(8);
    let scheme = Scheme::Exponential { longest_ms: 10 };
    let copies = |copies| Design::HotCopies { copies, spins: 255, scheme };
    let times = Closed { writes: 0.0, lines: 1.0, ..exponential(400.0, 100.0) };
    let one = run(&machine, times, Design::MUTEX, 8, 8, 10_000);
    let eight = run(&machine, times, copies(8), 8, 8, 10_000);
    assert_eq!(eight.total().misses, 0, "every session has its own copy");
    assert!(eight.rate() > 3.0 * one.rate(), "{} {}", eight.rate(), one.rate());
    let writing = run(&machine, Closed { writes: 1.0, ..times }, copies(8), 8, 1, 10_000);
    assert!(writing.total().gets.abs_diff(8 * writing.calls) < 16, "a writer visits all: {:?}", writing.total());
    assert_eq!(
        run(&machine, times, copies(1), 8, 8, 2_000).rate(),
        run(&machine, times, Design::MUTEX, 8, 8, 2_000).rate()
    );
}

#[test]
fn versioned_readers_share_nothing_until_a_writer_comes() {
    let machine = plain_machine(8);
    let times = Closed { writes: 0.0, lines: 1.0, ..exponential(300.0, 50.0) };
    let alone = run(&machine, times, Design::VERSIONED, 8, 1, 20_000);
    let all = run(&machine, times, Design::VERSIONED, 8, 8, 20_000);
    assert!(all.rate() > 7.95 * alone.rate(), "{} {}", all.rate(), alone.rate());
    assert_eq!((all.repeats, all.total().misses, all.time_ps[State::Line as usize]), (0, 0, 0));
    let written = run(&machine, Closed { writes: 0.05, ..times }, Design::VERSIONED, 8, 8, 20_000);
    assert!(written.repeats > 100 && written.total().misses > 100, "{} {:?}", written.repeats, written.total());
    assert!(written.rate() < 0.98 * all.rate(), "transfers after writes");
    // Reads that take longer than the time between writes fall back to a get after their tries.
    let slow = Closed { writes: 0.2, ..exponential(100.0, 2_000.0) };
    let fallen = run(&machine, slow, Design::Versioned { tries: 2, spins: 4_000 }, 8, 8, 5_000);
    assert!(fallen.fallbacks > 100, "{}", fallen.fallbacks);
    let never = run(&machine, slow, Design::Versioned { tries: 0, spins: 4_000 }, 8, 8, 5_000);
    assert!(never.fallbacks > fallen.fallbacks && never.repeats == 0, "{} {}", never.fallbacks, never.repeats);
}

#[test]
fn a_holder_that_loses_its_processor_stops_all_others() {
    // Four on two processors, and holds of a tenth of a slice.
    let machine = plain_machine(2);
    let f = run(&machine, exponential(1_000_000.0, 100_000.0), Design::EXCLUSIVE, 2, 4, 3_000);
    assert!(f.preempted_holds > 20, "{}", f.preempted_holds);
    assert!(f.total().sleeps > 20, "spinners give up after 40 us");
    let enough = run(&plain_machine(4), exponential(1_000_000.0, 100_000.0), Design::EXCLUSIVE, 4, 4, 3_000);
    assert_eq!(enough.preempted_holds, 0);
}
