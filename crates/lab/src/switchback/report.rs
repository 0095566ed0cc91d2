//! The tables of a switchback.

use std::fmt::Write as _;

use super::conduct::{Comparison, Contrasts};
use super::inference::{moments, quads_needed, sign_flip, t_half};
use super::plan::Plan;
use crate::error::LabError;

/// A logarithm of a ratio as per cent.
fn percent(log: f64) -> f64 {
    100.0 * log.exp_m1()
}

fn signed(log: f64) -> String {
    if log.is_finite() { format!("{:+.2}", percent(log)) } else { "?".into() }
}

/// `+1.25 (+0.40 to +2.10)`, by Student's t.
fn estimate(d: &[f64]) -> String {
    let (mean, half) = (moments(d).0, t_half(d));
    match d.len() {
        0 => "-".into(),
        _ => format!("{} ({} to {})", signed(mean), signed(mean - half), signed(mean + half)),
    }
}

/// A line of the live table.
pub fn line(so_far: &Comparison) -> String {
    format!(
        "{:6.1} s {:5} quads   operations/s {:32} CPU/operation {:32} A against A {}",
        so_far.seconds,
        so_far.against_b.rate.len(),
        estimate(&so_far.against_b.rate),
        estimate(&so_far.against_b.cpu),
        estimate(&so_far.against_itself.rate)
    )
}

/// The run so far in the 64 characters of a session's CLIENT_INFO.
pub fn brief(so_far: &Comparison, plan: &Plan) -> String {
    let [a, b] = &plan.designs;
    let d = &so_far.against_b.rate;
    let (low, high) = (moments(d).0 - t_half(d), moments(d).0 + t_half(d));
    let text = format!("{a} over {b}: {} to {} % after {} quads", signed(low), signed(high), d.len());
    text.chars().take(64).collect()
}

fn rows(out: &mut String, of: &Contrasts, seed: u64) {
    for (title, d) in [("operations/s", &of.rate), ("CPU/operation", &of.cpu)] {
        if d.is_empty() {
            continue;
        }
        let flip = sign_flip(d, seed);
        let (mean, deviation) = moments(d);
        let _ = writeln!(
            out,
            "  {title:14} {:>8} %   {:>8} to {:>8} %   p {:.4}   {} quads, deviation {:.2} %",
            signed(mean),
            signed(flip.interval.0),
            signed(flip.interval.1),
            flip.p,
            d.len(),
            percent(deviation)
        );
    }
}

/// The tables at the end; the last line has the answer.
pub fn summary(it: &Comparison, plan: &Plan) -> String {
    let [a, b] = &plan.designs;
    let mut out = format!("\n{}: {a} (A) over {b} (B), 95 % intervals by sign flips\n", plan.structure.name());
    rows(&mut out, &it.against_b, plan.seed);
    let _ = writeln!(out, "A over A");
    rows(&mut out, &it.against_itself, plan.seed);
    let rate = &it.against_b.rate;
    let deviation = moments(rate).1;
    if let Some(test) = &it.sequential {
        let (low, high) = test.interval();
        let _ = write!(
            out,
            "valid at every look, behind the pilot: p {:.4}, {} to {} % exact",
            test.p(),
            signed(low),
            signed(high)
        );
        if let Some((low, high)) = test.asymptotic() {
            let _ = write!(out, ", {} to {} % asymptotic", signed(low), signed(high));
        }
        out.push('\n');
    }
    let burn_in = plan.burn_in.as_millis();
    let _ = writeln!(
        out,
        "operations/s behind {burn_in} ms {} %, behind {} ms {} %",
        estimate(rate),
        2 * burn_in,
        estimate(&it.against_b.later)
    );
    let _ = writeln!(out, "{}", it.settling.line());
    let _ = writeln!(
        out,
        "{} quads left out because sessions came or went, {} with a period in which nothing was done; a switch took \
         {:.0} us; a difference of 2 % needs {} quads",
        it.void,
        it.idle,
        it.switch_us,
        quads_needed(deviation, 0.02)
    );
    if let Some(objection) = it.objection(plan) {
        let _ = writeln!(out, "No answer: {objection}");
        return out;
    }
    let (rates, cpus) = (sign_flip(rate, plan.seed).interval, sign_flip(&it.against_b.cpu, plan.seed).interval);
    let _ = writeln!(
        out,
        "{a} over {b}: operations/s {} to {} %, CPU/operation {} to {} %",
        signed(rates.0),
        signed(rates.1),
        signed(cpus.0),
        signed(cpus.1)
    );
    out
}

/// The contrasts of all quads.
pub fn json(it: &Comparison, plan: &Plan) -> Result<String, LabError> {
    let of = |c: &Contrasts| serde_json::json!({ "rate": c.rate, "cpu": c.cpu, "later": c.later });
    let (low, high) = sign_flip(&it.against_b.rate, plan.seed).interval;
    let value = serde_json::json!({
        "structure": plan.structure.name(),
        "a": plan.designs[0],
        "b": plan.designs[1],
        "seed": plan.seed,
        "seconds": it.seconds,
        "void": it.void,
        "idle": it.idle,
        "switch_us": it.switch_us,
        "settling": it.settling.curve().iter().map(|(age, effect, half)| [*age as f64, *effect, *half]).collect::<Vec<_>>(),
        "interval": [low.exp_m1(), high.exp_m1()],
        "against_b": of(&it.against_b),
        "against_itself": of(&it.against_itself),
    });
    serde_json::to_string_pretty(&value).map_err(|e| LabError::new(e.to_string()))
}
