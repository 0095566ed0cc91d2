//! Runs a compiled expression over a text, with backtracking.

use super::parse::{Op, Regexp};
use crate::regexp::parse::{DOT_ALL, MULTI_LINE};
use types::{Ora, Result};

/// Most steps of a search from one position of the text; a pattern that needs more is ORA-12723 (F5).
const MAX_STEPS: usize = 5_000_000;

/// Steps between two checks for cancellation.
const CHECK_STEPS: usize = 1 << 16;

/// Counts the steps of a search and checks from time to time whether to continue.
pub(super) struct Steps<'a> {
    since: usize,
    check: &'a dyn Fn() -> Result<()>,
}

impl<'a> Steps<'a> {
    pub fn new(check: &'a dyn Fn() -> Result<()>) -> Self {
        Steps { since: 0, check }
    }

    #[inline]
    fn add(&mut self) -> Result<()> {
        self.since += 1;
        if self.since < CHECK_STEPS {
            return Ok(());
        }
        self.since = 0;
        (self.check)()
    }
}

const UNSET: usize = usize::MAX;

/// A match: positions of the whole and of its groups.
pub(super) struct Found {
    slots: Vec<usize>,
    groups: usize,
}

impl Found {
    /// Returns start and end of the whole match.
    pub fn whole(&self) -> (usize, usize) {
        (self.slots[0], self.slots[1])
    }

    /// Returns start and end of a group, zero being the whole match; `None` if the group took no part.
    pub fn group(&self, group: usize) -> Option<(usize, usize)> {
        if group > self.groups {
            return None;
        }
        let (start, end) = (self.slots[2 * group], self.slots[2 * group + 1]);
        (start != UNSET && end != UNSET).then_some((start, end))
    }
}

/// An entry of the backtracking stack.
enum Frame {
    Choice { at: usize, place: usize },
    Slot { slot: usize, old: usize },
}

impl Regexp {
    /// Finds the leftmost match that begins at `from` or later.
    ///
    /// # Errors
    /// ORA-12723 if the search takes too many steps; those of the check.
    pub(super) fn find(&self, s: &[char], from: usize, steps: &mut Steps<'_>) -> Result<Option<Found>> {
        let mut slots = vec![UNSET; self.slots];
        let mut stack = Vec::new();
        for start in from..=s.len() {
            slots.fill(UNSET);
            stack.clear();
            if self.run(s, start, &mut slots, &mut stack, steps)? {
                return Ok(Some(Found { slots, groups: self.groups }));
            }
        }
        Ok(None)
    }

    fn run(
        &self,
        s: &[char],
        start: usize,
        slots: &mut [usize],
        stack: &mut Vec<Frame>,
        steps: &mut Steps<'_>,
    ) -> Result<bool> {
        let (mut at, mut place, mut taken) = (0, start, 0);
        loop {
            taken += 1;
            if taken > MAX_STEPS {
                return Err(Ora::new(12723));
            }
            steps.add()?;
            let next = match &self.program[at] {
                Op::Done => return Ok(true),
                Op::Jump(to) => {
                    at = *to;
                    continue;
                }
                Op::Split(first, second) => {
                    stack.push(Frame::Choice { at: *second, place });
                    at = *first;
                    continue;
                }
                Op::Save(slot) | Op::Mark(slot) => {
                    stack.push(Frame::Slot { slot: *slot, old: slots[*slot] });
                    slots[*slot] = place;
                    Some(place)
                }
                Op::Moved(slot) => (slots[*slot] != place).then_some(place),
                op => self.step(op, s, place, slots),
            };
            match next {
                Some(next) => {
                    place = next;
                    at += 1;
                }
                None => match back(stack, slots) {
                    Some(choice) => (at, place) = choice,
                    None => return Ok(false),
                },
            }
        }
    }

    /// Matches one element; returns the position after it.
    fn step(&self, op: &Op, s: &[char], place: usize, slots: &[usize]) -> Option<usize> {
        let c = s.get(place).copied();
        let lines = self.flags & MULTI_LINE != 0;
        let matched = match op {
            Op::Char(wanted) => c.is_some_and(|c| self.same(c, *wanted)),
            Op::Any => c.is_some_and(|c| c != '\n' || self.flags & DOT_ALL != 0),
            Op::Set(set) => c.is_some_and(|c| set.holds(c, self.ignores_case())),
            Op::LineStart => return (place == 0 || (lines && s[place - 1] == '\n')).then_some(place),
            Op::LineEnd => return (place == s.len() || (lines && s[place] == '\n')).then_some(place),
            Op::TextStart => return (place == 0).then_some(place),
            Op::TextEnd => return (place == s.len() || (place + 1 == s.len() && s[place] == '\n')).then_some(place),
            Op::LastEnd => return (place == s.len()).then_some(place),
            Op::Back(group) => return self.again(s, place, slots[2 * group], slots[2 * group + 1]),
            _ => false,
        };
        matched.then_some(place + 1)
    }

    fn again(&self, s: &[char], place: usize, start: usize, end: usize) -> Option<usize> {
        if start == UNSET || end == UNSET {
            return None;
        }
        let group = &s[start..end];
        let there = s.get(place..place + group.len())?;
        there.iter().zip(group).all(|(a, b)| self.same(*a, *b)).then_some(place + group.len())
    }

    fn same(&self, a: char, b: char) -> bool {
        a == b || (self.ignores_case() && a.to_lowercase().eq(b.to_lowercase()))
    }
}

/// Undoes everything since the last choice and takes its alternative.
fn back(stack: &mut Vec<Frame>, slots: &mut [usize]) -> Option<(usize, usize)> {
    while let Some(frame) = stack.pop() {
        match frame {
            Frame::Choice { at, place } => return Some((at, place)),
            Frame::Slot { slot, old } => slots[slot] = old,
        }
    }
    None
}
