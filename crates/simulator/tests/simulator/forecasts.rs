//! Forecasts: bands, comparisons, shares, and what is refused with which reason.

use crate::files::trace;
use crate::plain_machine;
use crate::published::shipped;
use latch_simulator::trace::{Counted, Header, Window};
use latch_simulator::{
    Choice, Closed, Design, Distance, Forecast, Machine, Question, Refusal, Seen, Shard, Time, Trace, Workload, csv,
    json, table,
};

/// The plain machine with hand-over curves.
fn measured(cores: u32) -> Machine {
    let mut machine = plain_machine(cores);
    for curve in latch_simulator::CURVES {
        machine.handover_ns.insert(curve.into(), (0..cores).map(|k| 90.0 + 20.0 * f64::from(k)).collect());
    }
    machine
}

fn question<'a>(trace: &'a Trace, workload: &'a Workload, machine: &'a Machine, designs: &[&str]) -> Question<'a> {
    let choice = |name: &&str| Choice {
        name: (*name).to_owned(),
        designs: vec![Design::named(name).unwrap(); workload.latches().len()],
    };
    Question {
        workload,
        header: &trace.header,
        machine,
        choices: designs.iter().map(choice).collect(),
        cpus: vec![4],
        sessions: vec![1, 2, 4],
        seed: 7,
        draws: 24,
        calls: 2_000,
        draw_calls: 200,
        control: Vec::new(),
        seen: [0.07, 0.12, 0.2]
            .iter()
            .flat_map(|chi| [Seen { ratio: 2.0, chi: *chi, error: 0.03, fitted: false }; 3])
            .collect(),
        threads: 2,
        shard: Shard::WHOLE,
    }
}

#[test]
fn a_band_holds_its_figure_and_does_not_depend_on_threads() {
    let (trace, machine) = (trace(3_000), measured(4));
    let workload = trace.workload();
    let mut q = question(&trace, &workload, &machine, &["exclusive"]);
    let all = q.answer().unwrap();
    for f in &all {
        assert_eq!(f.refusals, [], "{f:?}");
        assert!(f.rate.low < f.rate.middle && f.rate.middle < f.rate.high && f.draws.len() == 24, "{:?}", f.rate);
        assert!(f.rate.high / f.rate.low < 1.5 && f.percent_linear <= 101.0);
        assert!(f.queue > 0.9 * f.rate.middle && f.usl.is_some());
    }
    // Line moves are 3 x 50 ns for each of two gets in 3,000 ns: 5 to 15 % for two sessions, and for four more.
    assert_eq!(all.iter().map(|f| f.residual).collect::<Vec<_>>(), [0.02, 0.03, 0.03]);
    assert!(all[0].chi == 0.0 && (all[1].chi - 0.0518).abs() < 0.002 && (all[2].chi / all[1].chi - 3.0).abs() < 1e-9);
    let residuals = |q: &Question<'_>| q.answer().unwrap().iter().map(|f| f.residual).collect::<Vec<f64>>();
    q.seen.iter_mut().for_each(|seen| seen.fitted = true);
    assert_eq!(residuals(&q), [0.02, 0.05, 0.3], "errors of what was fitted are no test");
    q.seen.iter_mut().for_each(|seen| seen.error = 0.4);
    assert_eq!(residuals(&q)[1], 0.4, "and widen a band nevertheless");
    q = question(&trace, &workload, &machine, &["exclusive"]);
    q.seen.truncate(2);
    assert_eq!(residuals(&q), [0.02, 0.05, 0.3], "two errors are too few");
    q = question(&trace, &workload, &machine, &["exclusive"]);
    q.threads = 1;
    assert_eq!(format!("{all:?}"), format!("{:?}", q.answer().unwrap()));
    q.seed = 8;
    assert_ne!(format!("{all:?}"), format!("{:?}", q.answer().unwrap()));
}

#[test]
fn shares_of_a_sweep_are_the_whole() {
    let (trace, machine) = (trace(3_000), measured(4));
    let workload = trace.workload();
    let mut q = question(&trace, &workload, &machine, &["exclusive", "versioned"]);
    q.draws = 4;
    let whole = csv(&q.answer().unwrap());
    let mut parts = Vec::new();
    for number in 1..=4 {
        q.shard = Shard { number, of: 4 };
        let text = csv(&q.answer().unwrap());
        parts.extend(text.lines().skip(1).map(str::to_owned));
    }
    parts.sort();
    let mut lines: Vec<&str> = whole.lines().skip(1).collect();
    lines.sort_unstable();
    assert_eq!(parts, lines);
    assert_eq!(lines.len(), 6);
}

#[test]
fn a_clear_difference_is_said_and_an_unclear_one_is_not() {
    let (trace, machine) = (trace(3_000), measured(4));
    let workload = trace.workload();
    let mut q = question(&trace, &workload, &machine, &["exclusive", "versioned", "mutex-1"]);
    q.sessions = vec![1, 4];
    let forecasts = q.answer().unwrap();
    let comparisons = q.compare(&forecasts);
    let of = |choice: &str, sessions| {
        comparisons.iter().find(|c| c.choice == choice && c.sessions == sessions).unwrap_or_else(|| panic!("{choice}"))
    };
    // One session alone has no contention: the mutex is the same as the latch.
    assert!(!of("mutex-1", 1).says, "{:?}", of("mutex-1", 1));
    assert!((of("mutex-1", 1).ratio.middle - 1.0).abs() < 1e-3);
    let versioned = of("versioned", 4);
    assert!(versioned.ratio.middle > 1.0, "{versioned:?}");
    let text = table(&forecasts, &comparisons);
    assert!(text.contains("mutex-1 against exclusive, 4 cpus, 1 sessions") && text.contains("cannot say"), "{text}");
    assert!(text.lines().next().unwrap().starts_with("design"), "{text}");
}

/// The only reason for which a cell is refused.
fn only(q: &Question<'_>) -> Refusal {
    let all = q.answer().unwrap();
    let refusals: Vec<&Refusal> = all.iter().flat_map(|f: &Forecast| &f.refusals).collect();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    assert!(table(&all, &[]).contains("refused: ") && csv(&all).contains(&refusals[0].to_string()));
    assert!(json(&all).contains("\"refused\":[\"") && all[0].rate.low.is_nan() == all[0].draws.is_empty());
    refusals[0].clone()
}

#[test]
fn every_reason_to_refuse_is_named() {
    let (good, machine) = (trace(3_000), measured(4));
    let workload = good.workload();
    let ask = |trace: &Trace, workload: &Workload, machine: &Machine, sessions: u32, cpus: u32| {
        let mut q = question(trace, workload, machine, &["exclusive"]);
        (q.cpus, q.sessions, q.draws) = (vec![cpus], vec![sessions], 8);
        only(&q)
    };

    let mut no_rate = good.clone();
    no_rate.header.call_ns = None;
    assert_eq!(ask(&no_rate, &no_rate.workload(), &machine, 2, 4), Refusal::NoOneSessionRate);

    let few = trace(1_000);
    assert_eq!(ask(&few, &few.workload(), &machine, 2, 4), Refusal::FewBlocks(125));

    // Without curves, lines of 50 ns and gets of 1,400 ns: four sessions have 31 % only with three times the transfer.
    let mut far = plain_machine(4);
    far.transfer_ns[1] = Some(100.0);
    let refusal = ask(&good, &workload, &far, 4, 4);
    assert!(
        matches!(refusal, Refusal::NoCurve { needed: 3, known: 0, curve: "exclusive", chi } if chi > 0.3),
        "{refusal:?}"
    );
    far.handover_ns.insert("exclusive".into(), vec![10.0, 250.0, 300.0]);
    let refusal = ask(&good, &workload, &far, 4, 4);
    assert!(matches!(refusal, Refusal::NoCurve { needed: 3, known: 2, .. }), "a curve one spinner short: {refusal:?}");

    let mut unknown = measured(4);
    unknown.transfer_ns[1] = None;
    assert_eq!(ask(&good, &workload, &unknown, 2, 4), Refusal::NoDistance(Distance::Die));

    let mut timeless = measured(4);
    timeless.scheduler.slice_us = None;
    let refusal = ask(&good, &workload, &timeless, 6, 4);
    assert!(matches!(refusal, Refusal::NoScheduler { .. }), "{refusal:?}");
    let mut q = question(&good, &workload, &timeless, &["exclusive"]);
    q.sessions = vec![2];
    assert_eq!(q.answer().unwrap()[0].refusals, [], "enough processors and no sleepers need no slice");
    // Sleepers do: a latch that does not spin.
    q.choices[0].designs = vec![Design::Exclusive { spins: 0, sleep: latch_simulator::Sleep::Post }; 2];
    q.sessions = vec![4];
    let refusal = only(&q);
    assert!(matches!(refusal, Refusal::NoScheduler { asleep } if asleep > 0.05), "{refusal:?}");
}

#[test]
fn a_recording_that_is_not_what_was_counted_is_refused() {
    let (good, machine) = (trace(3_000), measured(4));
    let of = |trace: &Trace, control: &[(u32, f64)]| {
        let workload = trace.workload();
        let mut q = question(trace, &workload, &machine, &["exclusive"]);
        (q.sessions, q.draws, q.control) = (vec![2], 8, control.to_vec());
        let all = q.answer().unwrap();
        (all[0].refusals.clone(), all[0].refusals.iter().map(ToString::to_string).collect::<String>())
    };
    // Long calls are missing: nine of ten took 100 ns, and the tenth took 20 us.
    let window = Window {
        sessions: 1,
        calls: 3_000,
        missing: 40,
        recorded_ns: 100.0,
        counted_ns: 2_090.0,
        stamps_ns: 40.0,
        miss_rate: 0.0,
    };
    let with = |window: Window| {
        let mut trace = good.clone();
        trace.header.windows = vec![window];
        of(&trace, &[])
    };
    let (refusals, text) = with(window);
    assert_eq!(refusals, [Refusal::RecordedApart(window)]);
    assert!(text.contains("3000 recorded calls of 1 sessions take 100 ns") && text.contains("2090 ns"), "{text}");
    assert!(text.contains("40 sampled calls are missing"), "{text}");
    // (sessions, recorded, counted, misses, refused): spinners may use time beside the calls, calls none beside the
    // count
    for (sessions, recorded_ns, counted_ns, miss_rate, is_refused) in [
        (1, 100_000.0, 111_000.0, 0.0, false),
        (1, 100_000.0, 112_000.0, 0.0, true),
        (1, 1_000.0, 1_200.0, 0.0, false),
        (1, 1_000.0, 1_250.0, 0.0, true),
        (1, 100_000.0, 112_000.0, 0.3, true),
        (2, 100_000.0, 112_000.0, 0.0, true),
        (2, 100_000.0, 200_000.0, 0.3, false),
        (2, 112_000.0, 100_000.0, 0.3, true),
    ] {
        let window = Window { sessions, calls: 9, missing: 0, recorded_ns, counted_ns, stamps_ns: 400.0, miss_rate };
        assert_eq!(!with(window).0.is_empty(), is_refused, "{window:?}");
    }
    // Calls of two sessions are not in a workload of one alone; where the windows are not those of the calls they are.
    let beside = |calls: u64| {
        let mut trace = good.clone();
        let one = Window { sessions: 1, calls, missing: 0, recorded_ns: 2_984.0, counted_ns: 2_984.0, ..window };
        let two = Window { sessions: 2, calls: trace.tails_ns.len() as u64 - 2_000, recorded_ns: 9_000.0, ..one };
        (trace.header.sessions, trace.header.windows) = (1, vec![one, two]);
        of(&trace, &[]).0.iter().any(|refusal| matches!(refusal, Refusal::RecordedApart(window) if *window == two))
    };
    assert_eq!((beside(2_000), beside(1_999)), (false, true));
    // The counted time needs gaps of a third, or negative ones.
    for call_ns in [900.0, 150.0] {
        let mut trace = good.clone();
        trace.header.call_ns = Some(call_ns);
        assert!(matches!(of(&trace, &[]).0[..], [Refusal::GapsApart(factor)] if factor < 0.5), "{call_ns}");
    }
    let mut trace = good.clone();
    trace.header.overhead_ns = (20.0, 400.0);
    assert!(of(&trace, &[]).0.iter().any(|refusal| matches!(refusal, Refusal::LeftIn(share) if *share > 0.1)));
    let mut trace = good.clone();
    trace.header.transfer_ns = Some(1.0);
    assert!(matches!(of(&trace, &[]).0[..], [Refusal::LinesApart(lines)] if (lines - 100.0).abs() < 5.0));
    let (refusals, text) = of(&good, &[(1, 1.0), (2, 3.5)]);
    assert_eq!(refusals, [Refusal::ControlApart { sessions: 2, slowdown: 3.5 }]);
    assert!(text.contains("multiplied by 3.50"), "{text}");
}

#[test]
fn a_recording_of_another_load_than_the_forecast_has_is_refused() {
    let (good, machine) = (trace(3_000), measured(4));
    let of = |change: &dyn Fn(&mut Header)| {
        let mut trace = good.clone();
        change(&mut trace.header);
        let workload = trace.workload();
        let mut q = question(&trace, &workload, &machine, &["exclusive"]);
        (q.sessions, q.draws) = (vec![2], 8);
        only(&q)
    };
    // Three sessions of clients that think, on four processors; and two that sleep for latches, or more than that.
    let thinking = Counted { sessions: 3, rate: 5_000.0, miss_rate: 0.0, sleep_rate: 0.0, cpu_ns: 3_000.0 };
    let refusal = of(&|header| header.counted.push(thinking));
    assert_eq!(refusal, Refusal::SessionsWait { sessions: 3, share: 0.005 });
    let refusal = of(&|header| header.counted[1].rate = 300_000.0);
    assert!(matches!(refusal, Refusal::SessionsWait { sessions: 2, share } if (share - 0.465).abs() < 1e-9));
    // As many as the processors of the recording have.
    let full = Counted { sessions: 12, rate: 650_000.0, miss_rate: 0.0, sleep_rate: 0.0, cpu_ns: 3_000.0 };
    let refusal = of(&|header| {
        (header.cpus, header.beyond) = (Some(2), {
            header.counted.push(full);
            0.2
        })
    });
    assert_eq!(refusal, Refusal::Beyond(0.2));
    let window = Window { calls: 970, missing: 30, ..good.header.windows[0] };
    assert_eq!(of(&|header| header.windows[0] = window), Refusal::CallsMissing(window));
    let workload = good.workload();
    let mut q = question(&good, &workload, &machine, &["exclusive"]);
    (q.sessions, q.draws) = (vec![2], 8);
    q.seen.push(Seen { ratio: 64.0, chi: 0.9, error: 2f64.ln(), fitted: true });
    assert!(matches!(only(&q), Refusal::CountApart(factor) if (factor - 2.0).abs() < 1e-9), "whatever its bin");
}

#[test]
fn a_control_that_is_far_off_is_given_as_it_is() {
    let (mut trace, machine) = (trace(3_000), measured(2));
    let workload = trace.workload();
    trace.header.counted[1].cpu_ns = 90_000.0;
    let control = latch_simulator::checked_control(&workload, &trace.header, &machine, 7, 2_000).unwrap();
    assert!(control[1].1 > 10.0, "{control:?}");
}

#[test]
fn known_errors_are_kept_beside_a_control() {
    let (mut trace, machine) = (trace(3_000), measured(2));
    let workload = trace.workload();
    // The processor time of three sessions is that of two; their rate is half of what it should be.
    trace.header.counted.push(Counted { sessions: 3, rate: 320_000.0, ..trace.header.counted[1] });
    let control = latch_simulator::checked_control(&workload, &trace.header, &machine, 7, 20_000).unwrap();
    let checks = latch_simulator::check(&workload, &trace.header, &machine, &control, 7, 20_000).unwrap();
    assert_eq!(checks.iter().map(|check| check.seen.fitted).collect::<Vec<_>>(), [true; 3]);
    let cpu = checks[1].figures.cpu_ns();
    assert!((cpu / 3_100.0 - 1.0).abs() < 0.02, "the control is in it: {cpu}");
    assert!((0.5..0.9).contains(&checks[2].seen.error), "{:?}", checks[2].seen);
}

#[test]
fn bounds_and_bands_that_are_too_wide_are_refused() {
    // Few line moves a gap, but many spinners while the word is held: the bounds of the hand-over are far apart.
    let good = trace(3_000);
    let form = Closed {
        gets: 1,
        gap: Time::Exponential(3_000.0),
        hold: Time::Exponential(150.0),
        latches: 2,
        writes: 1.0,
        lines: 1.0,
    };
    let workload = Workload::closed(form).unwrap();
    let mut machine = plain_machine(64);
    machine.transfer_ns[1] = Some(4.0);
    let mut q = question(&good, &workload, &machine, &["exclusive"]);
    (q.cpus, q.sessions, q.calls) = (vec![64], vec![64], 1_000);
    let all = q.answer().unwrap();
    let apart = all[0].refusals.iter().find(|r| matches!(r, Refusal::BoundsApart(_)));
    assert!(apart.is_some() && all[0].upper.is_some(), "{:?}", all[0].refusals);
    // A residual seen in this bin makes the band too wide.
    let trace_workload = good.workload();
    let machine = measured(4);
    let mut q = question(&good, &trace_workload, &machine, &["exclusive"]);
    q.sessions = vec![1];
    assert_eq!(q.answer().unwrap()[0].refusals, []);
    q.seen = vec![Seen { ratio: 2.0, chi: 0.0, error: 0.6, fitted: false }];
    let refusal = only(&q);
    assert!(matches!(refusal, Refusal::BandApart(ratio) if ratio > 1.5), "{refusal:?}");
    q.seen = vec![Seen { ratio: 2.0, chi: 0.2, error: 0.6, fitted: false }];
    assert_eq!(q.answer().unwrap()[0].refusals, [], "an error in another bin");
}

#[test]
fn the_row_cache_of_12_1_is_refused_without_a_curve() {
    // 60 lookups of three gets in an execution of 97.3 us; the processors were six, of an unknown kind.
    let form = Closed {
        gets: 180,
        gap: Time::Exponential(541.0 - 29.0),
        hold: Time::Exponential(29.0),
        latches: 1,
        writes: 1.0,
        lines: 1.0,
    };
    let (good, workload, machine) = (trace(3_000), Workload::closed(form).unwrap(), shipped("broadwell-e5-2680v4"));
    let mut q = question(&good, &workload, &machine, &["exclusive"]);
    (q.cpus, q.sessions, q.calls) = (vec![6], vec![2, 3, 4, 6], 200);
    for f in q.answer().unwrap() {
        let is_named = f.refusals.iter().any(|r| matches!(r, Refusal::NoCurve { curve: "exclusive", .. }));
        assert!(is_named, "{} sessions: {:?}", f.sessions, f.refusals);
    }
}

#[test]
fn counted_figures_are_simulated_on_the_recorded_machine() {
    let (mut trace, machine) = (trace(3_000), measured(2));
    let workload = trace.workload();
    // One session takes what was counted: the operations on the words are not in the gaps.
    trace.header.counted[0].rate = 1e9 / 3_000.0;
    let checks = latch_simulator::check(&workload, &trace.header, &machine, &[], 1, 200_000).unwrap();
    assert!(checks[0].seen.error < 0.003 && checks[0].seen.chi == 0.0, "{:?}", checks[0].seen);
    assert_eq!(checks[1].seen.error, (checks[1].rate / 640_000.0).ln().abs().max(checks[1].seen.error));
    assert!(checks[1].figures.miss_rate() > 0.01 && checks[1].rate > 1.8 * checks[0].rate);
    let text = latch_simulator::checks(&checks);
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("640000") && text.contains("5.00"), "{text}");
}

#[test]
fn a_control_from_the_counts_gives_the_simulation_the_counted_processor_time() {
    let (mut trace, machine) = (trace(3_000), measured(2));
    let workload = trace.workload();
    (trace.header.counted[0].cpu_ns, trace.header.counted[1].cpu_ns) = (4_000.0, 4_500.0);
    // More sessions than processors show the scheduler, too: no control.
    trace.header.counted.push(Counted { sessions: 3, ..trace.header.counted[1] });
    let control = latch_simulator::checked_control(&workload, &trace.header, &machine, 7, 20_000).unwrap();
    assert_eq!(control.iter().map(|point| point.0).collect::<Vec<_>>(), [1, 2]);
    assert!((control[0].1 - 4.0 / 3.0).abs() < 0.02, "{control:?}");
    let mut q = question(&trace, &workload, &machine, &["exclusive"]);
    q.choices = vec![Choice { name: "recorded".into(), designs: trace.designs() }];
    (q.cpus, q.sessions, q.draws, q.calls, q.control) = (vec![2], vec![1, 2], 2, 20_000, control);
    for (f, counted) in q.answer().unwrap().iter().zip(&trace.header.counted) {
        let cpu_ns = f.figures.cpu_ns();
        assert!((cpu_ns / counted.cpu_ns - 1.0).abs() < 0.02, "{cpu_ns} {}", counted.cpu_ns);
    }
}

#[test]
fn a_control_replaces_turbo_and_threads_of_a_core() {
    let (trace, mut machine) = (trace(3_000), measured(4));
    machine.turbo = vec![1.0, 0.5];
    let workload = trace.workload();
    let mut q = question(&trace, &workload, &machine, &["versioned"]);
    (q.sessions, q.draws) = (vec![2, 3, 4], 2);
    let turbo = q.answer().unwrap();
    assert!((turbo[0].percent_linear - 50.0).abs() < 3.0, "{}", turbo[0].percent_linear);
    q.control = vec![(1, 1.0), (2, 1.1), (4, 1.3)];
    let control = q.answer().unwrap();
    for (f, slowdown) in control.iter().zip([1.1, 1.2, 1.3]) {
        assert!((f.percent_linear * slowdown - 100.0).abs() < 6.0, "{} {slowdown}", f.percent_linear);
    }
}

#[test]
fn a_question_that_cannot_be_asked_is_an_error() {
    let (trace, machine) = (trace(3_000), measured(4));
    let workload = trace.workload();
    let with = |change: &dyn Fn(&mut Question<'_>)| {
        let mut q = question(&trace, &workload, &machine, &["exclusive"]);
        change(&mut q);
        q.answer().unwrap_err().to_string()
    };
    assert!(with(&|q| q.cpus = vec![5]).contains("5 processors asked for; plain has 1 to 4"));
    assert!(with(&|q| q.cpus = vec![0]).contains("0 processors"));
    assert!(with(&|q| q.sessions = vec![0]).contains("0 sessions"));
    assert!(with(&|q| q.sessions = Vec::new()).contains("no cell"));
    assert!(with(&|q| q.choices.clear()).contains("no cell"));
    assert!(with(&|q| q.choices[0].designs.truncate(1)).contains("1 designs for 2 latches"));
    assert!(with(&|q| q.calls = 0).contains("no calls"));
    assert!(with(&|q| q.control = vec![(1, -1.0)]).contains("a slowdown of -1"));
}

#[cfg(feature = "parquet")]
#[test]
fn forecasts_are_written_as_parquet() {
    use latch_simulator::parquet::{Values, read_table, write_forecasts};
    let (trace, machine) = (trace(3_000), measured(4));
    let workload = trace.workload();
    let mut q = question(&trace, &workload, &machine, &["exclusive"]);
    q.draws = 2;
    let all = q.answer().unwrap();
    let file = read_table(&write_forecasts(&all)).unwrap();
    let sessions = file.columns.iter().find(|(name, _)| name == "sessions").unwrap();
    assert_eq!(sessions.1, Values::Real(vec![Some(1.0), Some(2.0), Some(4.0)]));
    assert_eq!(file.columns.len(), csv(&all).lines().next().unwrap().split(',').count());
}
