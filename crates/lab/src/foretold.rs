//! Predictions for published curves, up to their number of sessions.
//!
//! The parameters stand in the manifest: the time of a call, its gets, the hold, and the machine file. They come from
//! the rates of one and two sessions of the curve and from the misses of two, and do not change with the points that
//! are predicted. A control, the whole published column of the same machine without the latch, has what slows sessions
//! down besides the latch. A hash of these figures stands beside the parameters and is checked before the prediction. A
//! curve whose parameters are not known has the reason in the manifest.

use latch_simulator::{Bound, Cell, Closed, Design, Machine, SHIPPED, Time, Workload, chi};
use sha2::{Digest, Sha256};

use crate::LabError;
use crate::manifest::{Frozen, Manifest, Published};
use crate::results::Foretold;

/// Gets of all sessions in a simulated point.
const GETS: u64 = 48_000;
const SEED: u64 = 16;
/// As the simulator's rules for forecasts: (N - 1) m t / gap, and the ratio of both bounds of the hand-over.
const CHI_MOST: f64 = 0.15;
const APART_MOST: f64 = 1.5;
/// The parameters come from points of up to so many sessions, which are no test of them.
const FITTED: u32 = 2;

/// The prediction of a published curve by the manifest's parameters; `None` where it has none.
///
/// # Errors
/// The manifest names a machine or a control that is not there; the parameters are not those that were frozen; a curve
/// without a rate of one session or more.
pub fn of(manifest: &Manifest, curve: &Published) -> Result<Option<Foretold>, LabError> {
    match (&curve.forecast, &curve.refused) {
        (Some(frozen), _) => foretell(manifest, curve, frozen).map(Some),
        (None, Some(reason)) => {
            Ok(Some(Foretold { ops_per_s: vec![None; curve.sessions.len()], text: format!("refused: {reason}") }))
        }
        (None, None) => Ok(None),
    }
}

/// The rate of one session by the first point of a curve.
fn rate_of_one(curve: &Published) -> Result<f64, LabError> {
    match (curve.sessions.first(), curve.ops_per_s.first()) {
        (Some(sessions), Some(rate)) if *sessions > 0 && *rate > 0.0 => Ok(rate / f64::from(*sessions)),
        _ => Err(LabError::new(format!(
            "the published curve '{}' of {} has no rate: nothing can be predicted of it",
            curve.variant, curve.machine
        ))),
    }
}

fn control<'m>(manifest: &'m Manifest, curve: &Published, name: &str) -> Result<&'m Published, LabError> {
    let is_control = |p: &&Published| {
        (&p.variant[..], &p.machine, p.year, &p.sessions) == (name, &curve.machine, curve.year, &curve.sessions)
    };
    let found = manifest.published.iter().find(is_control);
    found.ok_or_else(|| LabError::new(format!("no published control '{name}' of {}", curve.machine)))
}

/// The rates of the control by sessions, over that of one session times the sessions.
fn slowdowns(control: &Published) -> Result<Vec<f64>, LabError> {
    let one = rate_of_one(control)?;
    let all: Vec<f64> =
        control.sessions.iter().zip(&control.ops_per_s).map(|(n, rate)| f64::from(*n) * one / rate).collect();
    match all.iter().all(|slowdown| slowdown.is_finite() && *slowdown > 0.0) {
        true => Ok(all),
        false => {
            Err(LabError::new(format!("the control '{}' of {} has a rate of zero", control.variant, control.machine)))
        }
    }
}

fn machine_file(frozen: &Frozen) -> Result<&'static str, LabError> {
    let found = SHIPPED.iter().find(|(name, _)| *name == frozen.machine);
    found
        .map(|(_, text)| *text)
        .ok_or_else(|| LabError::new(format!("no machine file '{}' is shipped", frozen.machine)))
}

/// The hash of all figures that a prediction is made from: parameters, machine file, rate of one session, control, and
/// the limits of the simulation. The simulator's code is not in it.
fn hash(manifest: &Manifest, curve: &Published, frozen: &Frozen) -> Result<String, LabError> {
    let mut text = format!(
        "call_us {} gets {} hold_us {} cpus {:?} one {} of {GETS} seed {SEED} chi {CHI_MOST} apart {APART_MOST}\nsessions",
        frozen.call_us,
        frozen.gets,
        frozen.hold_us,
        frozen.cpus,
        rate_of_one(curve)?
    );
    curve.sessions.iter().for_each(|n| text += &format!(" {n}"));
    if let Some(name) = &frozen.control {
        text += "\ncontrol";
        control(manifest, curve, name)?.ops_per_s.iter().for_each(|rate| text += &format!(" {rate}"));
    }
    text += "\nmachine\n";
    text += machine_file(frozen)?;
    let digest = Sha256::digest(text.as_bytes());
    Ok(digest[..8].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn foretell(manifest: &Manifest, curve: &Published, frozen: &Frozen) -> Result<Foretold, LabError> {
    let wrong = |e: latch_simulator::Error| LabError::new(e.to_string());
    let published_one = rate_of_one(curve)?;
    let found = hash(manifest, curve, frozen)?;
    if found != frozen.hash {
        return Err(LabError::new(format!(
            "the prediction of '{}' on {} is not made from what was frozen: the manifest has the hash {}, and its \
             parameters, the control and the machine file have {found}",
            curve.variant, curve.machine, frozen.hash
        )));
    }
    let mut machine = Machine::parse(machine_file(frozen)?).map_err(wrong)?;
    let slowdowns = match &frozen.control {
        Some(name) => {
            // Turbo and threads of a core are in the control.
            (machine.smt_throughput, machine.turbo) = ((1..=machine.threads).map(f64::from).collect(), vec![1.0]);
            slowdowns(control(manifest, curve, name)?)?
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
    let (designs, cpus) = ([Design::EXCLUSIVE], frozen.cpus.unwrap_or(machine.cpus()));
    let rate = |sessions: u32, slowdown: f64, bound| {
        let (machine, workload, designs) = (&machine, &workload, &designs);
        let calls = (GETS / u64::from(frozen.gets.max(1)) / u64::from(sessions).max(1)).max(1);
        Cell { machine, workload, designs, cpus, sessions, seed: SEED, calls, slowdown, bound }
            .run()
            .map(|figures| figures.rate())
            .map_err(wrong)
    };
    // The published rate of one session scales the curve: the call has the operations of the latch in it.
    let scale = published_one / rate(1, 1.0, Bound::Lower)?;
    let (mut rates, mut reasons) = (Vec::new(), Vec::new());
    for (sessions, slowdown) in curve.sessions.iter().zip(slowdowns) {
        let [low, high] = [rate(*sessions, slowdown, Bound::Upper)?, rate(*sessions, slowdown, Bound::Lower)?];
        let share = chi(&workload, &machine, &designs, cpus, *sessions);
        let reason = match () {
            () if share > CHI_MOST => Some(format!(
                "line moves take {:.0} % of a gap, and above {:.0} % a hand-over curve must be measured",
                share * 100.0,
                CHI_MOST * 100.0
            )),
            () if high / low > APART_MOST => Some(format!("the bounds differ by a factor of {:.2}", high / low)),
            () => None,
        };
        rates.push(reason.is_none().then(|| (low * high).sqrt() * scale));
        reasons.extend(reason.map(|reason| format!("{sessions} sessions refused: {reason}")));
    }
    let mut text = format!(
        "predicted with parameters frozen beforehand (hash {}): machine file {}, call {} µs, {} gets, hold {} µs{}; {}",
        frozen.hash,
        frozen.machine,
        frozen.call_us,
        frozen.gets,
        frozen.hold_us,
        frozen.control.as_ref().map_or(String::new(), |name| format!(", control {name} with all its points")),
        errors(curve, &rates)
    );
    for more in frozen.assumed.iter().chain(&reasons) {
        text.push_str(&format!("; {more}"));
    }
    Ok(Foretold { ops_per_s: rates, text })
}

/// The largest error, of points that the parameters do not come from.
fn errors(curve: &Published, rates: &[Option<f64>]) -> String {
    let points = || curve.sessions.iter().zip(&curve.ops_per_s).zip(rates).filter(|((n, _), _)| **n > FITTED);
    let errors = points().filter_map(|((n, published), rate)| Some((*n, ((*rate)? / published - 1.0) * 100.0)));
    let worst = errors.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    match worst {
        _ if points().next().is_none() => format!("nothing was published beyond {FITTED} sessions"),
        None => format!("every point beyond {FITTED} sessions is refused"),
        Some((n, error)) => format!("the largest error beyond {FITTED} sessions is {error:+.1} %, at {n}"),
    }
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

    /// A manifest with its first frozen curve changed, and the hash that fits unless it is to be kept.
    fn changed(keep: bool, change: impl FnOnce(&mut Published)) -> Result<Option<Foretold>, LabError> {
        let mut manifest = Experiment::find("result-cache").unwrap().manifest;
        let at = manifest.published.iter().position(|curve| curve.forecast.is_some()).unwrap();
        change(&mut manifest.published[at]);
        let curve = manifest.published[at].clone();
        let frozen = curve.forecast.as_ref().unwrap();
        if !keep && let Ok(fits) = hash(&manifest, &curve, frozen) {
            manifest.published[at].forecast.as_mut().unwrap().hash = fits;
        }
        of(&manifest, &manifest.published[at])
    }

    fn frozen(curve: &mut Published) -> &mut Frozen {
        curve.forecast.as_mut().unwrap()
    }

    #[test]
    fn a_point_is_refused_where_line_moves_take_too_much_of_a_gap() {
        let foretold = changed(false, |curve| (frozen(curve).call_us, frozen(curve).hold_us) = (4.0, 0.05));
        let foretold = foretold.unwrap().unwrap();
        assert!(foretold.ops_per_s[0].is_some() && foretold.ops_per_s[11].is_none(), "{foretold:?}");
        assert!(foretold.text.contains("12 sessions refused: line moves take"), "{}", foretold.text);
        assert!(!foretold.text.contains("largest error beyond 2 sessions is +0.0 %"), "{}", foretold.text);
    }

    #[test]
    fn a_curve_of_which_all_is_refused_says_so() {
        let foretold = changed(false, |curve| (frozen(curve).call_us, frozen(curve).hold_us) = (0.4, 0.05));
        let foretold = foretold.unwrap().unwrap();
        assert!(foretold.ops_per_s[1..].iter().all(Option::is_none), "{foretold:?}");
        assert!(foretold.text.contains("every point beyond 2 sessions is refused"), "{}", foretold.text);
        assert!(!foretold.text.contains("error"), "{}", foretold.text);
    }

    #[test]
    fn a_curve_without_points_is_an_error_and_one_of_two_sessions_shows_nothing() {
        let error = changed(false, |curve| {
            (curve.sessions, curve.ops_per_s) = (vec![], vec![]);
            frozen(curve).control = None;
        });
        assert!(error.unwrap_err().to_string().contains("has no rate: nothing can be predicted"));
        let short = changed(false, |curve| {
            (curve.sessions, curve.ops_per_s) = (vec![1, 2], vec![4_555.0, 9_124.0]);
            frozen(curve).control = None;
        });
        let text = short.unwrap().unwrap().text;
        assert!(text.contains("nothing was published beyond 2 sessions") && !text.contains("error"), "{text}");
    }

    #[test]
    fn parameters_that_were_changed_after_they_were_frozen_are_found() {
        assert!(changed(true, |_| ()).is_ok());
        let changes: [fn(&mut Published); 4] = [
            |curve| frozen(curve).hold_us += 0.01,
            |curve| frozen(curve).call_us += 0.1,
            |curve| frozen(curve).machine = "core-i7-980x".into(),
            |curve| curve.ops_per_s[0] += 1.0,
        ];
        for change in changes {
            let error = changed(true, change).unwrap_err().to_string();
            assert!(error.contains("is not made from what was frozen"), "{error}");
        }
        // The points that are predicted are not among what it is made from.
        assert!(changed(true, |curve| curve.ops_per_s[11] += 1_000.0).is_ok());
    }

    /// A refused curve has no figure that the prediction would need, or no point for it.
    #[test]
    fn the_reasons_of_refusals_fit_what_was_published() {
        for experiment in Experiment::shipped() {
            for curve in experiment.manifest.published.iter().filter(|curve| curve.refused.is_some()) {
                let reason = curve.refused.as_deref().unwrap();
                let has_misses = curve.sessions.iter().zip(&curve.misses).any(|(n, misses)| *n == 2 && *misses > 0);
                assert!(!(has_misses && reason.contains("misses were not published")), "{}: {reason}", curve.machine);
                let most = curve.sessions.iter().max().copied().unwrap_or(0);
                assert_eq!(most <= FITTED, reason.contains("beyond two sessions"), "{}: {reason}", curve.machine);
            }
        }
    }

    #[test]
    fn the_row_cache_of_12_1_is_refused_by_the_rule() {
        let manifest = Experiment::find("row-cache").unwrap().manifest;
        let curve = manifest.published.iter().find(|curve| curve.generation.as_deref() == Some("12.1")).unwrap();
        let foretold = of(&manifest, curve).unwrap().unwrap();
        assert!(foretold.ops_per_s[1..].iter().all(Option::is_none), "{foretold:?}");
        assert!(foretold.text.contains("every point beyond 2 sessions is refused"), "{}", foretold.text);
    }
}
