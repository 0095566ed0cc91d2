//! Predictions for published curves, up to their number of sessions.
//!
//! The parameters stand in the manifest: the time of a call, its gets, the hold, and the machine file. They come from
//! at most two sessions of the publication and do not change with the points that are predicted. The control, a
//! published column without the latch, has what slows sessions down besides the latch. A curve whose parameters are
//! not known has the reason in the manifest.

use latch_simulator::{Bound, Cell, Closed, Design, Machine, SHIPPED, Time, Workload, chi};

use crate::LabError;
use crate::manifest::{Frozen, Manifest, Published};
use crate::results::Foretold;

/// Calls of all sessions in a simulated point.
const CALLS: u64 = 24_000;
const SEED: u64 = 16;
/// As the simulator's rules for forecasts: (N - 1) m t / gap, and the ratio of both bounds of the hand-over.
const CHI_MOST: f64 = 0.15;
const APART_MOST: f64 = 1.5;

/// What the manifest's parameters foretell of a published curve; `None` where it has none.
///
/// # Errors
/// The manifest names a machine or a control that is not there.
pub fn of(manifest: &Manifest, curve: &Published) -> Result<Option<Foretold>, LabError> {
    match (&curve.forecast, &curve.refused) {
        (Some(frozen), _) => foretell(manifest, curve, frozen).map(Some),
        (None, Some(reason)) => {
            Ok(Some(Foretold { ops_per_s: vec![None; curve.sessions.len()], text: format!("refused: {reason}") }))
        }
        (None, None) => Ok(None),
    }
}

/// The rates of the control by sessions, over that of one session times the sessions.
fn slowdowns(manifest: &Manifest, curve: &Published, control: &str) -> Result<Vec<f64>, LabError> {
    let is_control = |p: &&Published| {
        (&p.variant[..], &p.machine, p.year, &p.sessions) == (control, &curve.machine, curve.year, &curve.sessions)
    };
    let found = manifest.published.iter().find(is_control);
    let found = found.ok_or_else(|| LabError::new(format!("no published control '{control}' of {}", curve.machine)))?;
    let one = found.ops_per_s[0] / f64::from(found.sessions[0]);
    Ok(found.sessions.iter().zip(&found.ops_per_s).map(|(n, rate)| f64::from(*n) * one / rate).collect())
}

fn foretell(manifest: &Manifest, curve: &Published, frozen: &Frozen) -> Result<Foretold, LabError> {
    let wrong = |e: latch_simulator::Error| LabError::new(e.to_string());
    let text = SHIPPED.iter().find(|(name, _)| *name == frozen.machine);
    let text = text.ok_or_else(|| LabError::new(format!("no machine file '{}' is shipped", frozen.machine)))?;
    let mut machine = Machine::parse(text.1).map_err(wrong)?;
    let slowdowns = match &frozen.control {
        Some(control) => {
            // Turbo and threads of a core are in the control.
            (machine.smt_throughput, machine.turbo) = ((1..=machine.threads).map(f64::from).collect(), vec![1.0]);
            slowdowns(manifest, curve, control)?
        }
        None => vec![1.0; curve.sessions.len()],
    };
    let gap_us = frozen.call_us / f64::from(frozen.gets.max(1)) - frozen.hold_us;
    let workload = Workload::closed(Closed {
        gets: frozen.gets,
        gap: Time::Exponential(gap_us * 1e3),
        hold: Time::Exponential(frozen.hold_us * 1e3),
        latches: 1,
        writes: 1.0,
        lines: 1.0,
    })
    .map_err(wrong)?;
    let designs = [Design::EXCLUSIVE];
    let rate = |sessions: u32, slowdown: f64, bound| {
        let (machine, workload, designs, calls) = (&machine, &workload, &designs, CALLS / u64::from(sessions).max(1));
        Cell { machine, workload, designs, cpus: machine.cpus(), sessions, seed: SEED, calls, slowdown, bound }
            .run()
            .map(|figures| figures.rate())
            .map_err(wrong)
    };
    // The published rate of one session scales the curve: the call has the operations of the latch in it.
    let one = rate(1, 1.0, Bound::Lower)?;
    let scale = curve.ops_per_s[0] / f64::from(curve.sessions[0]) / one;
    let (mut rates, mut reasons) = (Vec::new(), Vec::new());
    for (sessions, slowdown) in curve.sessions.iter().zip(slowdowns) {
        let [low, high] = [rate(*sessions, slowdown, Bound::Upper)?, rate(*sessions, slowdown, Bound::Lower)?];
        let share = chi(&workload, &machine, &designs, machine.cpus(), *sessions);
        let reason = match () {
            () if share > CHI_MOST => Some(format!("line moves take {:.0} % of a gap", share * 100.0)),
            () if high / low > APART_MOST => Some(format!("the bounds differ by a factor of {:.2}", high / low)),
            () => None,
        };
        rates.push(reason.is_none().then(|| (low * high).sqrt() * scale));
        reasons.extend(reason.map(|reason| format!("{sessions} sessions refused: {reason}")));
    }
    let error = |(rate, published): (&Option<f64>, &f64)| rate.map(|rate| (rate / published - 1.0) * 100.0);
    let errors: Vec<f64> = rates.iter().zip(&curve.ops_per_s).filter_map(error).collect();
    let worst = errors.iter().copied().fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
    let mut text = format!(
        "predicted with parameters frozen beforehand: machine file {}, call {} µs, {} gets, hold {} µs{}; the largest \
         error is {worst:+.1} %",
        frozen.machine,
        frozen.call_us,
        frozen.gets,
        frozen.hold_us,
        frozen.control.as_ref().map_or(String::new(), |control| format!(", control {control}")),
    );
    for more in frozen.assumed.iter().chain(&reasons) {
        text.push_str(&format!("; {more}"));
    }
    Ok(Foretold { ops_per_s: rates, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Experiment;

    #[test]
    fn the_published_result_cache_is_foretold_within_what_the_simulator_states() {
        let manifest = Experiment::find("result-cache").unwrap().manifest;
        let mut found = 0;
        for curve in manifest.published.iter().filter(|curve| curve.forecast.is_some()) {
            let foretold = of(&manifest, curve).unwrap().unwrap();
            assert_eq!(foretold, of(&manifest, curve).unwrap().unwrap(), "the same seed gives the same curve");
            for (rate, published) in foretold.ops_per_s.iter().zip(&curve.ops_per_s) {
                let error = rate.expect("no point is refused") / published - 1.0;
                assert!(error.abs() < 0.06, "{}: {error}", curve.machine);
            }
            assert!(foretold.text.contains("frozen") && foretold.text.contains("control hash-cluster"));
            found += 1;
        }
        assert_eq!(found, 2);
    }

    #[test]
    fn every_published_curve_is_foretold_or_has_a_reason_or_is_a_control() {
        for experiment in Experiment::shipped() {
            let manifest = &experiment.manifest;
            for curve in &manifest.published {
                let is_control = manifest.published.iter().any(|other| {
                    other.forecast.as_ref().and_then(|frozen| frozen.control.as_ref()) == Some(&curve.variant)
                });
                if curve.forecast.is_none() && !is_control {
                    let foretold = of(manifest, curve).unwrap().unwrap_or_else(|| panic!("{}", curve.machine));
                    assert!(foretold.text.starts_with("refused: ") && foretold.ops_per_s.iter().all(Option::is_none));
                }
            }
        }
    }

    #[test]
    fn a_point_is_refused_where_line_moves_take_too_much_of_a_gap() {
        let mut manifest = Experiment::find("result-cache").unwrap().manifest;
        let at = manifest.published.iter().position(|curve| curve.forecast.is_some()).unwrap();
        let frozen = manifest.published[at].forecast.as_mut().unwrap();
        (frozen.call_us, frozen.hold_us) = (4.0, 0.05);
        let foretold = of(&manifest, &manifest.published[at]).unwrap().unwrap();
        assert!(foretold.ops_per_s[0].is_some() && foretold.ops_per_s[11].is_none(), "{foretold:?}");
        assert!(foretold.text.contains("12 sessions refused: line moves take"), "{}", foretold.text);
    }
}
