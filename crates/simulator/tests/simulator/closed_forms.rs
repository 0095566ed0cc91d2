//! The simulator against forms that are known.

use crate::{form, plain_machine, run};
use latch_simulator::{
    Bound, Cell, Closed, Design, Machine, Scheme, Sleep, State, Time, Workload, closed_queue, in_parallel,
    mean_value_analysis,
};

fn near(a: f64, b: f64, relative: f64) -> bool {
    (a / b - 1.0).abs() <= relative
}

#[test]
fn the_closed_queue_comes_out_within_one_percent() {
    for (sessions, gap, hold) in [(1, 1_000.0, 100.0), (2, 1_000.0, 200.0), (6, 1_000.0, 100.0), (12, 1_000.0, 150.0)] {
        let machine = Machine::ideal(sessions);
        let times = form(Time::Exponential(gap), Time::Exponential(hold));
        // No spin ends, so nobody sleeps.
        let design = Design::Exclusive { spins: 1_000_000, sleep: Sleep::Post };
        let figures = run(&machine, times, design, sessions, sessions, 240_000 / u64::from(sessions));
        let law = closed_queue(sessions, gap, hold);
        assert!(near(figures.rate(), law.gets_per_second, 0.01), "{sessions}: {} {law:?}", figures.rate());
        assert!((figures.miss_rate() - law.miss_rate).abs() < 0.01, "{sessions}: {} {law:?}", figures.miss_rate());
        assert_eq!((figures.total().sleeps, figures.busy_ps), (0, figures.window_ps * u64::from(sessions)));
    }
}

#[test]
fn a_queue_of_sleepers_that_wake_in_no_time_has_the_same_rate() {
    let (machine, times) = (Machine::ideal(8), form(Time::Exponential(1_000.0), Time::Exponential(100.0)));
    let figures = run(&machine, times, Design::Exclusive { spins: 0, sleep: Sleep::Post }, 8, 8, 20_000);
    assert!(near(figures.rate(), closed_queue(8, 1_000.0, 100.0).gets_per_second, 0.01), "{}", figures.rate());
    assert!(figures.total().sleeps >= figures.total().misses && figures.total().spin_gets == 0);
}

#[test]
fn several_latches_come_out_as_mean_value_analysis_says() {
    let times = Closed { gets: 3, latches: 4, ..form(Time::Exponential(300.0), Time::Exponential(200.0)) };
    let figures = run(&Machine::ideal(10), times, Design::EXCLUSIVE, 10, 10, 15_000);
    let law = mean_value_analysis(10, 900.0, &[150.0; 4]);
    assert!(near(figures.rate(), law, 0.012), "{} {law}", figures.rate());
}

#[test]
fn constant_times_are_kept_to_the_nanosecond() {
    let figures =
        run(&Machine::ideal(1), form(Time::Constant(900.0), Time::Constant(100.0)), Design::EXCLUSIVE, 1, 1, 5_000);
    assert!(figures.calls.abs_diff(5_000) <= 1, "{}", figures.calls);
    let [gap, hold] = [State::Gap, State::Hold].map(|s| figures.time_ps[s as usize]);
    assert!(near(gap as f64, 9.0 * hold as f64, 1e-3), "{gap} {hold}");
    // Two in step: one always holds what the other waits for.
    let times = form(Time::Constant(100.0), Time::Constant(100.0));
    let figures = run(&Machine::ideal(3), times, Design::EXCLUSIVE, 3, 3, 5_000);
    assert!(near(figures.rate(), 1e7, 0.002), "the latch is always held: {}", figures.rate());
}

#[test]
fn time_is_conserved_in_every_design() {
    let machine = plain_machine(6);
    let designs = [
        Design::LATCH_8I,
        Design::EXCLUSIVE,
        Design::Exclusive { spins: 10, sleep: Sleep::Post },
        Design::SHARED,
        Design::MUTEX,
        Design::Mutex { spins: 20, scheme: Scheme::Yield },
        Design::Mutex { spins: 20, scheme: Scheme::Fixed { ms: 1 } },
        Design::HotCopies { copies: 3, spins: 255, scheme: Scheme::Exponential { longest_ms: 10 } },
        Design::VERSIONED,
    ];
    for design in designs {
        for (cpus, sessions) in [(1, 1), (6, 6), (2, 9), (6, 40)] {
            let times = Closed { writes: 0.3, lines: 2.0, ..form(Time::Exponential(700.0), Time::Exponential(150.0)) };
            let f = run(&machine, times, design, cpus, sessions, 2_000);
            let all: u64 = f.time_ps.iter().sum();
            assert_eq!(all, f.window_ps * u64::from(sessions), "{design:?} {cpus} {sessions}");
            let running: u64 = State::ALL.iter().filter(|s| s.is_running()).map(|s| f.time_ps[*s as usize]).sum();
            assert_eq!(running, f.busy_ps, "{design:?} {cpus} {sessions}: who runs has a processor");
            assert!(f.busy_ps <= f.window_ps * u64::from(cpus) && f.calls > 0);
            let total = f.total();
            assert!(total.misses >= total.spin_gets && total.gets >= total.misses, "{design:?} {total:?}");
            assert!(total.spin_gets + total.sleeps >= total.misses, "{design:?} {total:?}");
            // A processor is idle only when no session is ready.
            if sessions > cpus && f.time_ps[State::Asleep as usize] == 0 {
                assert_eq!(f.busy_ps, f.window_ps * u64::from(cpus), "{design:?}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_figures_on_any_thread() {
    let machine = plain_machine(4);
    let workload =
        Workload::closed(Closed { writes: 0.2, ..form(Time::Exponential(500.0), Time::Exponential(100.0)) }).unwrap();
    let designs = [Design::VERSIONED, Design::MUTEX, Design::EXCLUSIVE, Design::SHARED];
    let cell = |n: usize| Cell {
        machine: &machine,
        workload: &workload,
        designs: &designs[n % 4..n % 4 + 1],
        cpus: 4,
        sessions: 1 + n as u32 / 4,
        seed: 9,
        calls: 1_000,
        slowdown: 1.0,
        bound: Bound::Upper,
    };
    let bytes = |threads| format!("{:?}", in_parallel(32, threads, |n| cell(n).run().unwrap()));
    assert_eq!(bytes(1), bytes(3));
    let other = Cell { seed: 10, ..cell(12) }.run().unwrap();
    assert_ne!(other, cell(12).run().unwrap(), "another seed gives other figures");
}

#[test]
fn designs_share_the_gaps_and_holds_of_a_seed() {
    // One session never waits, so that equal draws give equal times.
    let times = form(Time::Exponential(500.0), Time::Exponential(100.0));
    let of = |design| run(&Machine::ideal(1), times, design, 1, 1, 3_000).time_ps;
    assert_eq!(of(Design::EXCLUSIVE), of(Design::MUTEX));
    assert_eq!(of(Design::EXCLUSIVE), of(Design::LATCH_8I));
}

#[test]
fn a_second_thread_of_a_core_slows_the_first_holds_included() {
    let mut machine = Machine::ideal(1);
    (machine.threads, machine.smt_throughput) = (2, vec![1.0, 1.2]);
    let times = Closed { latches: 100, ..form(Time::Exponential(500.0), Time::Exponential(500.0)) };
    let one = run(&machine, times, Design::EXCLUSIVE, 2, 1, 20_000);
    let two = run(&machine, times, Design::EXCLUSIVE, 2, 2, 20_000);
    assert!(near(two.rate() / one.rate(), 1.2, 0.015), "{}", two.rate() / one.rate());
    let hold = |f: &latch_simulator::Figures| f.time_ps[State::Hold as usize] as f64 / f.calls as f64;
    assert!(near(hold(&two) / hold(&one), 2.0 / 1.2, 0.02), "{} {}", hold(&two), hold(&one));
    // The rest of a preempted session is work, not time.
    machine.scheduler.slice_us = Some(1.0);
    let four = run(&machine, times, Design::EXCLUSIVE, 2, 4, 20_000);
    assert!(near(four.rate() / one.rate(), 1.2, 0.015), "{}", four.rate() / one.rate());
    (machine.cores, machine.threads, machine.turbo) = (2, 1, vec![1.0, 0.9]);
    let two = run(&machine, times, Design::EXCLUSIVE, 2, 2, 20_000);
    assert!(near(two.rate() / one.rate(), 1.8, 0.015), "turbo: {}", two.rate() / one.rate());
}

#[test]
fn a_thread_goes_on_at_full_speed_while_its_sibling_sleeps() {
    // Two threads do the work of one, so the core does a call every 10 ms whoever sleeps meanwhile.
    let mut machine = Machine::ideal(1);
    (machine.threads, machine.smt_throughput) = (2, vec![1.0, 1.0]);
    let times = form(Time::Exponential(5e6), Time::Exponential(5e6));
    let design = Design::Mutex { spins: 255, scheme: Scheme::Fixed { ms: 1 } };
    let figures = run(&machine, times, design, 2, 2, 5_000);
    assert!(figures.total().sleeps > 1_000 && near(figures.rate(), 100.0, 0.04), "{}", figures.rate());
}

#[test]
fn a_session_that_wakes_up_waits_for_a_slice_and_not_for_a_phase() {
    // The holder computes for 20 ms in one piece; the other looks at the mutex after each sleep of 1 ms and a slice.
    let mut machine = plain_machine(1);
    machine.scheduler.slice_us = Some(1_000.0);
    let design = Design::Mutex { spins: 255, scheme: Scheme::Fixed { ms: 1 } };
    let figures = run(&machine, form(Time::Exponential(1e6), Time::Constant(2e7)), design, 1, 2, 100);
    let total = figures.total();
    assert!(total.sleeps > 4 * total.misses && total.misses > 50, "{total:?}");
}

#[test]
fn a_woken_session_takes_the_processor_where_the_scheduler_lets_it() {
    // As above; the one that wakes up finds the mutex held and sleeps again, and the holder goes on at once.
    let mut machine = plain_machine(1);
    let design = Design::Mutex { spins: 255, scheme: Scheme::Fixed { ms: 1 } };
    let times = form(Time::Exponential(1e6), Time::Constant(2e7));
    let ready = |machine: &Machine| {
        let figures = run(machine, times, design, 1, 2, 100);
        (figures.time_ps[State::Ready as usize] as f64 / figures.window_ps as f64, figures.total().sleeps)
    };
    let (turn, _) = ready(&machine);
    machine.scheduler.wake_preempt_us = Some(5.0);
    let (taken, sleeps) = ready(&machine);
    assert!(turn > 0.3 && taken < 0.2 * turn && sleeps > 1_000, "{turn} {taken} {sleeps}");
    machine.scheduler.wake_preempt_us = Some(900.0);
    assert_eq!(ready(&machine).0, turn, "a wake-up that is as slow as a turn is one");
}

#[test]
fn sessions_share_processors_by_slices_and_idle_ones_steal() {
    let mut machine = plain_machine(2);
    machine.scheduler.switch_us = 0.0;
    let times = Closed { latches: 50, ..form(Time::Exponential(2_000.0), Time::Exponential(1.0)) };
    let three = run(&machine, times, Design::EXCLUSIVE, 2, 3, 30_000);
    let two = run(&machine, times, Design::EXCLUSIVE, 2, 2, 30_000);
    assert!(near(three.rate(), two.rate(), 0.01), "three on two processors do the work of two");
    assert_eq!(three.busy_ps, 2 * three.window_ps);
    assert!(near(three.time_ps[State::Ready as usize] as f64, three.window_ps as f64, 0.01), "one of three is ready");
}
