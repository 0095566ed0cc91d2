//! The verdict on a claim.

use serde::{Deserialize, Serialize};

use super::measured::Measured;
use crate::claims::{Claim, ExactCount, Expected, FigureRule, RatioRule, Side};
use crate::counts::same;
use crate::statistics::{paired_ratio, summary};

/// Whether a published statement was reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    NotTested,
    NotReproduced,
    InDirection,
    Reproduced,
}

impl Verdict {
    pub fn text(self) -> &'static str {
        match self {
            Verdict::NotTested => "not tested",
            Verdict::NotReproduced => "not reproduced",
            Verdict::InDirection => "in direction",
            Verdict::Reproduced => "reproduced",
        }
    }

    /// Whether the verdict is at least the one that the claim expects.
    fn meets(self, expected: Expected) -> bool {
        let least = match expected {
            Expected::Reproduced => Verdict::Reproduced,
            Expected::Direction => Verdict::InDirection,
            Expected::NotReproduced => Verdict::NotReproduced,
        };
        self >= least || self == Verdict::NotTested && expected == Expected::NotReproduced
    }
}

/// A claim with its verdict: all that the report needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub source: String,
    pub experiment: String,
    pub says: String,
    pub published_text: String,
    pub verdict: Verdict,
    /// Whether the verdict is the one that the manifest expects, or a better one.
    pub as_expected: bool,
    /// The reason why the claim was not tested, or the manifest's note.
    pub note: String,
    /// A ratio of two cells; else a figure.
    pub is_ratio: bool,
    /// The published figure, the range of the rule, the measured figure with its 95 % interval.
    pub published: Option<f64>,
    pub within: Option<(f64, f64)>,
    pub measured: Option<f64>,
    pub ends: Option<(f64, f64)>,
}

/// A verdict with the measured figure.
struct Outcome {
    verdict: Verdict,
    measured: Option<f64>,
    ends: Option<(f64, f64)>,
    /// The reason why the claim was not tested.
    reason: String,
}

impl Outcome {
    fn untested(reason: String) -> Outcome {
        Outcome { verdict: Verdict::NotTested, measured: None, ends: None, reason }
    }
}

fn holds((least, most): (f64, f64), figure: f64) -> bool {
    (least..=most).contains(&figure)
}

/// The cells of a repeat were measured one after the other, so figures are compared repeat by repeat. The side decides
/// alone between "in direction" and "not reproduced": the whole interval must lie on it.
fn judge_ratio(rule: &RatioRule, measured: &Measured<'_>) -> Outcome {
    let (of, to) = match (measured.figures(&rule.of), measured.figures(&rule.to)) {
        (Ok(of), Ok(to)) => (of, to),
        (Err(reason), _) | (_, Err(reason)) => return Outcome::untested(reason),
    };
    let Some(seen) = paired_ratio(&to, &of) else {
        return Outcome::untested("a figure is zero or missing in a repeat".into());
    };
    let Some((low, high)) = seen.ends else {
        return Outcome::untested("one repeat has no interval".into());
    };
    let is_on_side = match rule.side {
        Side::Above => low > 1.0,
        Side::Below => high < 1.0,
        Side::Level => false,
    };
    let is_within = match rule.side {
        Side::Level => holds(rule.within, low) && holds(rule.within, high),
        Side::Above | Side::Below => is_on_side && holds(rule.within, seen.ratio),
    };
    let verdict = match (is_within, is_on_side) {
        (true, _) => Verdict::Reproduced,
        (false, true) => Verdict::InDirection,
        (false, false) => Verdict::NotReproduced,
    };
    Outcome { verdict, measured: Some(seen.ratio), ends: seen.ends, reason: String::new() }
}

/// The whole interval must lie in the range.
fn judge_figure(rule: &FigureRule, measured: &Measured<'_>) -> Outcome {
    let figures = match measured.figures(&rule.at) {
        Ok(figures) => figures,
        Err(reason) => return Outcome::untested(reason),
    };
    let Some((seen, (low, high))) = summary(figures).and_then(|s| Some((s.average, s.ends()?))) else {
        return Outcome::untested("one repeat has no interval".into());
    };
    let verdict = match holds(rule.within, low) && holds(rule.within, high) {
        true => Verdict::Reproduced,
        false => Verdict::NotReproduced,
    };
    Outcome { verdict, measured: Some(seen), ends: Some((low, high)), reason: String::new() }
}

fn judge_count(rule: &ExactCount, measured: &Measured<'_>) -> Outcome {
    match measured.count(rule) {
        Ok(seen) => {
            let verdict = if same(seen, rule.is) { Verdict::Reproduced } else { Verdict::NotReproduced };
            Outcome { verdict, measured: Some(seen), ends: None, reason: String::new() }
        }
        Err(reason) => Outcome::untested(reason),
    }
}

/// Judges a claim of an experiment by what was measured.
pub fn judge(experiment: &str, claim: &Claim, measured: &Measured<'_>) -> Judged {
    let outcome = match (&claim.count, &claim.ratio, &claim.figure) {
        _ if claim.processors > measured.processors() => {
            Outcome::untested(format!("it needs {} processors", claim.processors))
        }
        (Some(rule), _, _) => judge_count(rule, measured),
        (_, Some(rule), _) => judge_ratio(rule, measured),
        (_, _, Some(rule)) => judge_figure(rule, measured),
        (None, None, None) => Outcome::untested("it has no rule".into()),
    };
    // A figure that a complete run on a large enough machine does not have is no excuse.
    let is_untestable = claim.processors > measured.processors() || !measured.is_complete();
    let is_excused = outcome.verdict == Verdict::NotTested && is_untestable;
    let within = claim.ratio.as_ref().map(|r| r.within).or(claim.figure.as_ref().map(|f| f.within));
    let published = claim.ratio.as_ref().map(|r| r.published).or(claim.figure.as_ref().map(|f| f.published));
    Judged {
        source: claim.source.clone(),
        experiment: experiment.to_string(),
        says: claim.says.clone(),
        published_text: claim.published.clone(),
        verdict: outcome.verdict,
        as_expected: is_excused || outcome.verdict.meets(claim.expect),
        note: if outcome.reason.is_empty() { claim.note.clone() } else { outcome.reason },
        is_ratio: claim.ratio.is_some(),
        published: published.or(claim.count.as_ref().map(|c| c.is)),
        within,
        measured: outcome.measured,
        ends: outcome.ends,
    }
}
