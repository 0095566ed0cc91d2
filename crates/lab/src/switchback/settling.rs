//! The time that a structure takes to settle after a switch, from the rates by age.
//!
//! The figure of an age is the rate at that age less the rate at the end of the same period, so that neither the design
//! nor the level of the machine is in it. What is left in periods after a change of the design, and is not there in
//! periods after a switch to the same design, is the effect of the change. The same order of quads gives both kinds.

use std::fmt::Write as _;
use std::time::Duration;

use super::inference::difference;

/// The effect at an age that does not matter: the structure has settled.
const SETTLED: f64 = 0.002;

/// The rates by age of the periods so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Settling {
    /// The begin of each age.
    ages: Vec<Duration>,
    /// For each age but the last, the figures of periods after a change, and of those after none.
    figures: Vec<[Vec<f64>; 2]>,
}

impl Settling {
    pub fn new(ages: Vec<Duration>) -> Settling {
        let figures = vec![[Vec::new(), Vec::new()]; ages.len().saturating_sub(1)];
        Settling { ages, figures }
    }

    /// Adds a period with the logarithm of the rate at each age.
    pub fn add(&mut self, changes: bool, rates: &[f64]) {
        let Some((last, before)) = rates.split_last() else { return };
        for (figures, rate) in self.figures.iter_mut().zip(before) {
            figures[usize::from(!changes)].push(rate - last);
        }
    }

    /// For each age, its begin in milliseconds, the effect of a change and half of its 95 % interval, as logarithms.
    pub fn curve(&self) -> Vec<(u128, f64, f64)> {
        let at = |(age, [changed, kept]): (&Duration, &[Vec<f64>; 2])| {
            difference(changed, kept).map(|(effect, half)| (age.as_millis(), effect, half))
        };
        self.ages.iter().zip(&self.figures).filter_map(at).collect()
    }

    /// The age from which the whole interval of the effect lies within 0.2 %; `None` when no interval is so narrow.
    pub fn settled_ms(&self) -> Option<u128> {
        self.curve().into_iter().find(|(_, effect, half)| effect.abs() + half <= SETTLED).map(|(age, ..)| age)
    }

    /// The last age, from the burn-in on, at which a change of the design surely has an effect that matters: the whole
    /// interval lies beyond 0.2 %. An interval that is only wide says nothing: short stretches of time have wide ones.
    pub fn unsettled_ms(&self, burn_in: Duration) -> Option<u128> {
        let is_moved =
            |(age, effect, half): &(u128, f64, f64)| *age >= burn_in.as_millis() && effect.abs() - half > SETTLED;
        self.curve().into_iter().rev().find(is_moved).map(|(age, ..)| age)
    }

    /// The line of the report.
    pub fn line(&self) -> String {
        let curve = self.curve();
        if curve.is_empty() {
            return "rate by age since a change of design: too few periods".into();
        }
        let mut out = String::from("rate by age since a change of design, against the end of the period:");
        for (age, effect, half) in curve {
            let _ = write!(out, "  {age} ms {:+.2} +- {:.2} %", 100.0 * effect.exp_m1(), 100.0 * half);
        }
        match self.settled_ms() {
            Some(age) => {
                let _ = write!(out, "; within 0.2 % from {age} ms");
            }
            None => out += "; no interval lies within 0.2 %",
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effect_of_a_change_by_age_is_free_of_level_and_of_what_every_switch_does() {
        let mut it = Settling::new([0, 5, 20].map(Duration::from_millis).to_vec());
        assert_eq!((it.curve(), it.settled_ms()), (vec![], None));
        for n in 0..40 {
            // Every switch costs 1 % at first; a change costs 5 % more at first, and nothing later.
            let (level, noise) = (f64::from(n % 7), 1e-4 * f64::from(n % 3));
            it.add(true, &[level - 0.06 + noise, level + noise, level]);
            it.add(false, &[level - 0.01 + noise, level + noise, level]);
        }
        let curve = it.curve();
        assert_eq!(curve.len(), 2);
        assert!((curve[0].1 + 0.05).abs() < 1e-9 && curve[1].1.abs() < 1e-9, "{curve:?}");
        assert_eq!(it.settled_ms(), Some(5));
        assert_eq!([0, 5].map(|ms| it.unsettled_ms(Duration::from_millis(ms))), [Some(0), None]);
        assert!(it.line().ends_with("within 0.2 % from 5 ms"), "{}", it.line());
    }
}
