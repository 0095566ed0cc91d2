//! Published tables, with parameters that were fixed before the run.
//!
//! Derived from the tables by at most two processes: the time of a call c, the gets of a call, and the hold h from the
//! misses at two processes. The machine's transfers are from its file. The control is the whole published column
//! without the latch, by its own rate of one process. The README lists the errors; a change must not make them larger.

use latch_simulator::{Bound, Cell, Closed, Design, Machine, SHIPPED, Time, Usl, Workload, closed_queue};

struct Published {
    machine: &'static str,
    call_us: f64,
    hold_us: f64,
    /// Rates with the latch and without it, for 1 to 12 processes.
    rates: [f64; 12],
    control: [f64; 12],
    /// Misses a get with 12 processes.
    misses: f64,
}

const T2: Published = Published {
    machine: "ultrasparc-t2",
    call_us: 219.5,
    hold_us: 4.42,
    rates: [
        4_555.0, 9_124.0, 13_731.0, 18_179.0, 22_715.0, 27_012.0, 30_804.0, 34_910.0, 39_029.0, 43_126.0, 46_936.0,
        50_590.0,
    ],
    control: [
        4_426.0, 8_930.0, 13_465.0, 17_886.0, 22_290.0, 26_615.0, 30_659.0, 34_347.0, 38_389.0, 42_772.0, 46_840.0,
        50_667.0,
    ],
    misses: 3_019_903.0 / 6_000_012.0,
};

const I7: Published = Published {
    machine: "core-i7-980x",
    call_us: 22.96,
    hold_us: 0.464,
    rates: [
        43_554.0, 84_602.0, 127_768.0, 166_667.0, 204_583.0, 240_770.0, 244_755.0, 246_305.0, 260_718.0, 275_330.0,
        290_084.0, 293_830.0,
    ],
    control: [
        40_064.0, 78_989.0, 121_753.0, 159_490.0, 194_704.0, 229_709.0, 231_788.0, 233_918.0, 250_836.0, 267_094.0,
        280_326.0, 290_416.0,
    ],
    misses: 3_730_467.0 / 6_000_012.0,
};

pub fn shipped(name: &str) -> Machine {
    let (_, text) = SHIPPED.iter().find(|(of, _)| *of == name).unwrap();
    Machine::parse(text).unwrap()
}

impl Published {
    fn form(&self) -> Closed {
        let gap = Time::Exponential((self.call_us / 2.0 - self.hold_us) * 1e3);
        let hold = Time::Exponential(self.hold_us * 1e3);
        Closed { gets: 2, gap, hold, latches: 1, writes: 1.0, lines: 1.0 }
    }

    fn slowdown(&self, n: u32) -> f64 {
        f64::from(n) * self.control[0] / self.control[n as usize - 1]
    }

    /// Forecast over published rate less one, in percent; misses a get; and the same error of control times queue.
    fn errors(&self, n: u32) -> (f64, f64, f64) {
        let mut machine = shipped(self.machine);
        // The control has turbo, threads of a core and memory.
        (machine.smt_throughput, machine.turbo) = ((1..=machine.threads).map(f64::from).collect(), vec![1.0]);
        let workload = Workload::closed(self.form()).unwrap();
        let rate = |sessions, slowdown, bound| {
            let designs = [Design::EXCLUSIVE];
            let (cpus, calls) = (machine.cpus(), 480_000 / u64::from(sessions));
            let cell = Cell {
                machine: &machine,
                workload: &workload,
                designs: &designs,
                cpus,
                sessions,
                seed: 16,
                calls,
                slowdown,
                bound,
            };
            cell.run().unwrap()
        };
        let both = [Bound::Lower, Bound::Upper].map(|bound| rate(n, self.slowdown(n), bound));
        // By its own rate of one session: c holds the latch's operations already.
        let one = rate(1, 1.0, Bound::Lower).rate();
        let simulated = (both[0].rate() * both[1].rate()).sqrt() / one * self.rates[0];
        let (gap, hold) = ((self.call_us / 2.0 - self.hold_us) * 1e3, self.hold_us * 1e3);
        let queue = closed_queue(n, gap, hold).gets_per_second / closed_queue(1, gap, hold).gets_per_second;
        let queue = queue / self.slowdown(n) * self.rates[0];
        let error = |x: f64| (x / self.rates[n as usize - 1] - 1.0) * 100.0;
        (error(simulated), (both[0].miss_rate() + both[1].miss_rate()) / 2.0, error(queue))
    }
}

fn hold(published: &Published, limits: &[(u32, f64)]) {
    let mut text = String::new();
    let mut ok = true;
    for (n, limit) in limits {
        let (error, misses, queue) = published.errors(*n);
        text +=
            &format!("{}, {n}: {error:+.2} % (control x queue {queue:+.2} %), misses {misses:.3}\n", published.machine);
        ok &= error.abs() <= *limit && error.abs() <= queue.abs() + 1.0;
    }
    println!("{text}misses published at 12: {:.3}", published.misses);
    assert!(ok, "{text}");
}

#[test]
fn the_result_cache_on_ultrasparc_t2_is_within_what_control_times_queue_reaches() {
    hold(&T2, &[(2, 1.0), (4, 1.0), (6, 1.0), (8, 1.0), (12, 1.0)]);
}

#[test]
fn the_result_cache_on_core_i7_is_within_what_control_times_queue_reaches() {
    hold(&I7, &[(2, 2.0), (4, 4.0), (6, 3.5), (8, 2.5), (12, 5.0)]);
}

/// The row caches' executions in ten minutes, for 1 to 6 sessions.
const ROW_CACHE_12_1: [f64; 6] = [6_164_161.0, 10_848_660.0, 9_977_224.0, 8_172_259.0, 6_951_871.0, 6_890_154.0];
const ROW_CACHE_12_2: [f64; 6] = [3_174_194.0, 5_876_575.0, 8_383_434.0, 10_518_830.0, 11_688_284.0, 12_242_878.0];

#[test]
fn the_universal_scalability_law_fits_the_tables_as_other_fits_do() {
    let points = |rates: &[f64]| rates.iter().zip(1..).map(|(rate, n)| (f64::from(n), *rate)).collect::<Vec<_>>();
    let executions = |rates: &[f64]| rates.iter().map(|n| n / 600.0).collect::<Vec<_>>();
    for (rates, gamma, sigma, kappa, rms) in [
        (T2.control.to_vec(), 4_471.0, 0.0, 0.000_50, 0.007),
        (T2.rates.to_vec(), 4_580.0, 0.001_2, 0.000_58, 0.005),
        (I7.rates[..6].to_vec(), 43_331.0, 0.009_5, 0.001_0, 0.006),
        (executions(&ROW_CACHE_12_2), 5_218.0, 0.010, 0.016, 0.016),
    ] {
        let fit = Usl::fit(&points(&rates)).unwrap();
        let near = |a: f64, b: f64, within: f64| (a - b).abs() <= within;
        assert!(near(fit.gamma / gamma, 1.0, 0.002), "{fit:?} {gamma}");
        assert!(near(fit.sigma, sigma, 0.000_7 + 0.02 * sigma), "{fit:?} {sigma}");
        assert!(near(fit.kappa, kappa, 0.000_07 + 0.03 * kappa), "{fit:?} {kappa}");
        assert!(near(fit.rms / rms, 1.0, 0.15), "{fit:?} {rms}");
    }
    // No such law describes a rate that falls from two sessions on: 7 % is the least.
    let collapse = Usl::fit(&points(&executions(&ROW_CACHE_12_1))).unwrap();
    assert!((0.05..0.08).contains(&collapse.rms), "{collapse:?}");
}
