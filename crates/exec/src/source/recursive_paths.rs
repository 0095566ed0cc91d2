//! The state of a row of a recursive WITH query: its number, and what is needed to find cycles below it.
//!
//! With CYCLE, the state has the keys of all ancestors. Without CYCLE, a cycle is an error, and any later row of the
//! same cycle shows it as well: the state has the keys of the ancestors only in the upper levels. Below these, Brent's
//! algorithm ("An improved Monte Carlo factorization algorithm", 1980) compares each row with one ancestor, which moves
//! down at each power of two. So a chain of a million rows needs no more memory than a short one.

use crate::spill::rows::{put_part, take_part};
use types::{Ora, Result};

/// Levels whose rows know the keys of all their ancestors.
const KNOWN_LEVELS: u64 = 64;

/// Bytes of a row's number, which begins its state.
const NUMBER_BYTES: usize = 8;

/// The rule by which a row closes a cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// CYCLE: the row gets a mark.
    Mark,
    /// ORA-32044.
    Fail,
}

/// The number in a state, which is 0 until [`set_number`] sets it.
pub fn number(state: &[u8]) -> u64 {
    state.first_chunk::<NUMBER_BYTES>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub fn set_number(state: &mut [u8], number: u64) {
    if let Some(bytes) = state.first_chunk_mut::<NUMBER_BYTES>() {
        *bytes = number.to_le_bytes();
    }
}

/// The state of a row of the first level.
pub fn first(rule: Rule, key: &[u8]) -> Vec<u8> {
    let mut state = vec![0; NUMBER_BYTES];
    if rule == Rule::Fail {
        Steps { level: 0, steps: 0, power: 1 }.put(&mut state);
        put_part(key, &mut state);
    }
    put_part(key, &mut state);
    state
}

/// The state of a row below the row with the state `parent`. `None` if the row closes a cycle.
///
/// # Errors
/// ORA-32044 by [`Rule::Fail`].
pub fn below(rule: Rule, parent: &[u8], key: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut rest = parent.get(NUMBER_BYTES..).ok_or_else(|| Ora::internal("a state without a number"))?;
    let mut state = Vec::with_capacity(parent.len() + key.len() + 4);
    state.extend_from_slice(&[0; NUMBER_BYTES]);
    if rule == Rule::Mark {
        if has_part(rest, key)? {
            return Ok(None);
        }
        state.extend_from_slice(rest);
        put_part(key, &mut state);
        return Ok(Some(state));
    }
    let mut steps = Steps::take(&mut rest)?;
    let kept = take_part(&mut rest)?;
    if kept == key || has_part(rest, key)? {
        return Err(Ora::new(32044));
    }
    steps.level += 1;
    steps.steps += 1;
    let moves = steps.steps == steps.power;
    if moves {
        (steps.steps, steps.power) = (0, steps.power.saturating_mul(2));
    }
    steps.put(&mut state);
    put_part(if moves { key } else { kept }, &mut state);
    if steps.level < KNOWN_LEVELS {
        state.extend_from_slice(rest);
        put_part(key, &mut state);
    }
    Ok(Some(state))
}

fn has_part(mut parts: &[u8], key: &[u8]) -> Result<bool> {
    while !parts.is_empty() {
        if take_part(&mut parts)? == key {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The place of a row in Brent's algorithm: its level, its distance from the compared ancestor, and the distance at
/// which the ancestor moves.
struct Steps {
    level: u64,
    steps: u64,
    power: u64,
}

impl Steps {
    fn put(&self, out: &mut Vec<u8>) {
        for n in [self.level, self.steps, self.power] {
            out.extend_from_slice(&n.to_le_bytes());
        }
    }

    fn take(from: &mut &[u8]) -> Result<Steps> {
        let mut next = || {
            let (bytes, rest) =
                from.split_first_chunk::<8>().ok_or_else(|| Ora::internal("a state without its steps"))?;
            *from = rest;
            Ok::<u64, Ora>(u64::from_le_bytes(*bytes))
        };
        Ok(Steps { level: next()?, steps: next()?, power: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The level at which a chain of keys fails, or `None`.
    fn fails_at(keys: impl Iterator<Item = u64>) -> Option<u64> {
        let mut state: Option<Vec<u8>> = None;
        for (level, key) in keys.enumerate() {
            let key = key.to_le_bytes();
            state = match state {
                None => Some(first(Rule::Fail, &key)),
                Some(parent) => match below(Rule::Fail, &parent, &key) {
                    Ok(state) => state,
                    Err(_) => return Some(level as u64),
                },
            };
        }
        None
    }

    #[test]
    fn a_chain_without_a_cycle_never_fails_and_its_state_stays_short() {
        assert_eq!(fails_at(0..10_000), None);
        let mut state = first(Rule::Fail, &0u64.to_le_bytes());
        for key in 1..10_000u64 {
            state = below(Rule::Fail, &state, &key.to_le_bytes()).unwrap().unwrap();
        }
        assert!(state.len() < 100, "{}", state.len());
    }

    #[test]
    fn every_cycle_is_found() {
        for (before, length) in [(0, 1), (0, 2), (5, 3), (40, 24), (0, 64), (3, 65), (100, 1), (70, 500), (1000, 7)] {
            let keys = (0..before).chain((0..).map(|n| before + n % length));
            let found = fails_at(keys.take(100_000)).expect("a cycle");
            let exact = before + length;
            assert!(found >= exact && found <= 3 * exact + 3, "{before} {length}: {found}");
            if exact <= KNOWN_LEVELS {
                assert_eq!(found, exact);
            }
        }
    }

    #[test]
    fn a_mark_is_found_at_the_first_repetition_at_any_depth() {
        let mut state = first(Rule::Mark, &0u64.to_le_bytes());
        for key in 1..300u64 {
            state = below(Rule::Mark, &state, &key.to_le_bytes()).unwrap().unwrap();
            assert!(below(Rule::Mark, &state, &(key / 2).to_le_bytes()).unwrap().is_none());
        }
    }

    #[test]
    fn a_number_comes_back() {
        let mut state = first(Rule::Mark, b"");
        assert_eq!(number(&state), 0);
        set_number(&mut state, 77);
        assert_eq!(number(&state), 77);
    }
}
