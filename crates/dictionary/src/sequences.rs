//! NEXTVAL: numbers from shared memory, refilled from SEQ$.
//!
//! A sequence in use has an entry of a few words in the SGA, under the latch `sequence cache`: the next number and how
//! many are left. When none is left, one process refills the entry under the SQ enqueue, in a separate transaction
//! whose redo is on disk before the first number of the batch is returned. No number is returned twice (D5), even when
//! the caller rolls back or the instance dies. A replaced entry loses its numbers, as in Oracle.

use crate::base::{Base, seq};
use crate::image::big_number;
use crate::layout::SEQUENCE_ENTRY_WORDS;
use crate::*;
use enqueue::{EnqueueType, LockMode, Timeout};
use latch::{LatchName, Where};
use process::{Process, Section};
use std::sync::atomic::{AtomicU64, Ordering};
use txn::{NoHook, Txn};
use types::{Number, ObjectId, Ora, Result, Value};

const OBJECT: usize = 0;
const NEXT: usize = 1;
const LEFT: usize = 3;
const STEP: usize = 4;
/// The maximum distance of an entry from its hash position.
const PROBE_MAX: usize = 8;

type Entry = [AtomicU64];

fn wide(entry: &Entry, at: usize) -> i128 {
    let (low, high) = (entry[at].load(Ordering::Relaxed), entry[at + 1].load(Ordering::Relaxed));
    (u128::from(high) << 64 | u128::from(low)) as i128
}

fn set_wide(section: &Section<'_>, entry: &Entry, at: usize, value: i128) {
    section.set(&entry[at], value as u128 as u64);
    section.set(&entry[at + 1], (value as u128 >> 64) as u64);
}

impl DictionaryShared {
    /// The possible positions of the sequence's entry.
    fn places(&self, object: ObjectId) -> impl Iterator<Item = &'static Entry> + use<> {
        let words = self.sequence_words();
        let entries = words.len() / SEQUENCE_ENTRY_WORDS;
        let first = object.0 as usize % entries;
        (0..PROBE_MAX.min(entries)).map(move |n| {
            let at = (first + n) % entries * SEQUENCE_ENTRY_WORDS;
            &words[at..at + SEQUENCE_ENTRY_WORDS]
        })
    }

    fn entry(&self, object: ObjectId) -> Option<&'static Entry> {
        self.places(object).find(|entry| entry[OBJECT].load(Ordering::Relaxed) == u64::from(object.0))
    }

    /// Takes the next cached number; `None` when there is none.
    fn cached(&self, p: &Process, object: ObjectId) -> Option<i128> {
        let section = p.lock(p.all().latch(LatchName::SequenceCache), Where::KdnNext, u64::from(object.0));
        let entry = self.entry(object)?;
        let left = entry[LEFT].load(Ordering::Relaxed);
        if left == 0 {
            return None;
        }
        let next = wide(entry, NEXT);
        section.set(&entry[LEFT], left - 1);
        set_wide(&section, entry, NEXT, next.wrapping_add(wide(entry, STEP)));
        Some(next)
    }

    fn store(&self, p: &Process, object: ObjectId, next: i128, step: i128, left: u64) {
        let section = p.lock(p.all().latch(LatchName::SequenceCache), Where::KdnStore, u64::from(object.0));
        let free = || self.places(object).find(|entry| entry[LEFT].load(Ordering::Relaxed) == 0);
        let Some(entry) = self.entry(object).or_else(free).or_else(|| self.places(object).next()) else {
            return;
        };
        section.set(&entry[OBJECT], u64::from(object.0));
        section.set(&entry[LEFT], left);
        set_wide(&section, entry, NEXT, next);
        set_wide(&section, entry, STEP, step);
    }

    /// The next cached number, without taking it; `None` when there is none.
    pub fn peek_sequence(&self, p: &Process, object: ObjectId) -> Option<i128> {
        let _section = p.lock(p.all().latch(LatchName::SequenceCache), Where::KdnNext, u64::from(object.0));
        self.entry(object).map(|entry| wide(entry, NEXT))
    }

    /// Drops the cached numbers: the sequence was altered or dropped, or the shared pool was flushed.
    pub fn forget_sequence(&self, p: &Process, object: ObjectId) {
        let section = p.lock(p.all().latch(LatchName::SequenceCache), Where::KdnStore, u64::from(object.0));
        if let Some(entry) = self.entry(object) {
            section.set(&entry[OBJECT], 0);
            section.set(&entry[LEFT], 0);
        }
    }

    /// Takes a batch of numbers from SEQ$; returns the first and leaves the rest in the cache.
    fn refill(&self, p: &Process, sequence: &SequenceDef) -> Result<i128> {
        let lock = self.enqueues.get(
            p,
            EnqueueType::Sq,
            u64::from(sequence.object.0),
            0,
            LockMode::Exclusive,
            Timeout::Never,
        )?;
        let taken = match self.cached(p, sequence.object) {
            Some(next) => Ok(next),
            None => self.refill_locked(p, sequence),
        };
        self.enqueues.release(p, lock);
        taken
    }

    fn refill_locked(&self, p: &Process, sequence: &SequenceDef) -> Result<i128> {
        let mut txn = Txn::new();
        let mut change = Change::new(self, p, &mut txn);
        let mut batch = Err(Ora::new(2289));
        let updated = change.update_by(Base::Seq, By::new(seq::OBJ, sequence.object.0), &mut |row| {
            let highwater = match &row[seq::HIGHWATER] {
                Value::Number(n) => big_number(n),
                _ => sequence.minimum,
            };
            batch = next_batch(sequence, highwater);
            if let Ok(batch) = &batch {
                row[seq::HIGHWATER] = Value::Number(Number::from_i128(batch.highwater));
            }
        });
        // An exhausted sequence changes nothing; the transaction is rolled back nevertheless.
        let ended = updated.and(batch);
        match ended {
            Ok(batch) => {
                self.txns().commit(p, &mut txn, &NoHook)?;
                // Before any number is returned: a session that takes a number from the cache has no commit to wait
                // for.
                self.txns().sync_commits(p)?;
                self.store(
                    p,
                    sequence.object,
                    batch.first.wrapping_add(sequence.increment),
                    sequence.increment,
                    batch.count - 1,
                );
                Ok(batch.first)
            }
            Err(e) => {
                self.txns().rollback(p, &mut txn)?;
                Err(e)
            }
        }
    }
}

/// Numbers taken from SEQ$ by one refill.
#[derive(Debug, PartialEq)]
struct Batch {
    first: i128,
    count: u64,
    highwater: i128,
}

fn next_batch(sequence: &SequenceDef, highwater: i128) -> Result<Batch> {
    let step = sequence.increment;
    let (limit, exceeds) =
        if step > 0 { (sequence.maximum, ("exceeds", "MAX")) } else { (sequence.minimum, ("goes below", "MIN")) };
    let beyond = |n: i128| if step > 0 { n > limit } else { n < limit };
    let mut first = highwater;
    if beyond(first) {
        if !sequence.cycle {
            return Err(Ora::with(8004, &[&sequence.name, &exceeds.0, &exceeds.1]));
        }
        first = if step > 0 { sequence.minimum } else { sequence.maximum };
    }
    let room = (limit - first) / step + 1;
    let count = u64::try_from(room).unwrap_or(u64::MAX).min(sequence.cache.max(1)).max(1);
    let highwater = first + step * i128::from(count);
    Ok(Batch { first, count, highwater })
}

/// The flags of a sequence, FLAGS of SEQ$.
pub mod seq_flags {
    /// SCALE: numbers begin with digits of the instance and the session.
    pub const SCALE: u32 = 1;
    /// SCALE EXTEND: those digits are before the width of MAXVALUE.
    pub const EXTEND: u32 = 2;
    /// SESSION: each session has numbers of its own.
    pub const SESSION: u32 = 4;
    pub const KEEP: u32 = 8;
}

/// The digits that SCALE puts before a number: three of the instance and three of the session.
const SCALE_DIGITS: u32 = 6;

fn digits(n: i128) -> u32 {
    n.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1)
}

/// The number of a sequence with SCALE: the digits of instance and session, then the number. The result has the width
/// of the limit, with EXTEND six digits more.
fn scaled(sequence: &SequenceDef, n: i128, session: u32) -> Result<Number> {
    let width = digits(sequence.maximum).max(digits(sequence.minimum));
    let extend = sequence.flags & seq_flags::EXTEND != 0;
    let room = if extend { width } else { width.saturating_sub(SCALE_DIGITS) };
    if digits(n) > room {
        let lacking = digits(n) + SCALE_DIGITS - width;
        return Err(Ora::with(64603, &[&sequence.name, &lacking]));
    }
    let before = i128::from(101 * 1000 + session % 1000);
    let value = before * 10i128.pow(room) + n.abs();
    Ok(Number::from_i128(if n < 0 { -value } else { value }))
}

fn shown(p: &Process, sequence: &SequenceDef, n: i128) -> Result<Number> {
    if sequence.flags & seq_flags::SCALE != 0 { scaled(sequence, n, p.sid()) } else { Ok(Number::from_i128(n)) }
}

impl Dictionary {
    /// NEXTVAL of a sequence.
    ///
    /// Latches: gets `sequence cache` once. Waits: `enq: SQ - contention` when the cache is being refilled.
    /// # Errors
    /// ORA-08004 when there are no more numbers, ORA-02289 when the sequence was dropped, ORA-64603 when the digits of
    /// SCALE leave no room for the number.
    pub fn next_value(&self, p: &Process, sequence: &SequenceDef) -> Result<Number> {
        let next = match self.shared().cached(p, sequence.object) {
            Some(next) => next,
            None => self.shared().refill(p, sequence)?,
        };
        shown(p, sequence, next)
    }

    /// NEXTVAL of a sequence of which each session has numbers of its own; `next` is the session's next number, which
    /// is replaced by the one after it. Nothing shared is written.
    ///
    /// # Errors
    /// ORA-08004 when there are no more numbers, ORA-64603 as [`Dictionary::next_value`].
    pub fn next_of_session(p: &Process, sequence: &SequenceDef, next: &mut i128) -> Result<Number> {
        let one = next_batch(sequence, *next)?;
        *next = one.first + sequence.increment;
        shown(p, sequence, one.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(increment: i128, minimum: i128, maximum: i128, cycle: bool, cache: u64) -> SequenceDef {
        SequenceDef {
            object: ObjectId(1),
            owner_id: UserId(0),
            owner: "O".into(),
            name: "S".into(),
            increment,
            minimum,
            maximum,
            cycle,
            order: false,
            cache,
            start: minimum,
            flags: 0,
            epoch: 0,
        }
    }

    #[test]
    fn scaled_numbers_begin_with_the_instance_and_the_session() {
        let with = |maximum, flags| SequenceDef { flags, ..sequence(1, 1, maximum, false, 20) };
        let text = |s: &SequenceDef, n, sid| scaled(s, n, sid).map(|n| n.to_string());
        let (inside, outside) = (with(9_999_999, 1), with(999, 3));
        assert_eq!(text(&inside, 7, 1042).unwrap(), "1010427");
        assert_eq!(
            text(&inside, 12, 42).unwrap_err().to_string(),
            "ORA-64603: NEXTVAL cannot be instantiated for S. Widen the sequence by 1 digits or alter sequence with \
             SCALE EXTEND."
        );
        assert_eq!(text(&outside, 7, 1).unwrap(), "101001007");
    }

    #[test]
    fn batches_end_at_the_limit() {
        let up = sequence(1, 1, 25, false, 20);
        assert_eq!(next_batch(&up, 1).unwrap(), Batch { first: 1, count: 20, highwater: 21 });
        assert_eq!(next_batch(&up, 21).unwrap(), Batch { first: 21, count: 5, highwater: 26 });
        let error = next_batch(&up, 26).unwrap_err();
        assert_eq!(error.to_string(), "ORA-08004: sequence S.NEXTVAL exceeds MAXVALUE and cannot be instantiated");
        let cycle = sequence(-2, -5, 5, true, 0);
        assert_eq!(next_batch(&cycle, -7).unwrap(), Batch { first: 5, count: 1, highwater: 3 });
    }
}
