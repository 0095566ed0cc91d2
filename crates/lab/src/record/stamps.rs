//! The time that the stamps of a recording add to gaps and holds, measured by empty holds of a private latch.

use latch::{Client, Domain, Generation, Latch, LatchName, RecordKind, Where};
use wait::Waiter;

use crate::LabError;

/// Gets of a call, and calls with and without a recording.
const GETS: usize = 500;
const CALLS: usize = 30;

/// Nanoseconds that a recorded get adds to the gap before it and to its hold.
///
/// # Errors
/// There is no memory for the latch.
pub fn overhead_ns() -> Result<(f64, f64), LabError> {
    let wrong = |e: os::OsError| LabError::new(format!("memory for a latch: {e}"));
    let heads = os::memory::shared_slice(1).map_err(wrong)?;
    let lines = os::memory::shared_slice(GETS + 2).map_err(wrong)?;
    let domain = Domain::anonymous(1, Generation::default()).map_err(wrong)?.with_rings(heads, lines);
    let client = Client::join_any(domain, Waiter::private()).ok_or_else(|| LabError::new("no slot".into()))?;
    let latch = Latch::new(LatchName::TestUnit, 0);
    let each = || {
        let began = os::clock::now_ns();
        (0..GETS).for_each(|_| drop(client.get(&latch, Where::TestExclusive, 0)));
        (os::clock::now_ns() - began) as f64 / GETS as f64
    };
    let (mut plain, mut recorded, mut holds) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CALLS {
        domain.record(0);
        client.begin_call();
        plain.push(each());
        domain.record(1);
        client.begin_call();
        recorded.push(each());
        client.begin_call();
        let rings = domain.recorded();
        let gets = rings.iter().flat_map(|ring| &ring.records).filter(|record| record.kind == RecordKind::Get);
        holds.extend(gets.map(|record| record.length_ns as f64));
    }
    // The least of the times was interrupted by nothing; a hold of a few nanoseconds is a multiple of the clock's step.
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    holds.sort_by(f64::total_cmp);
    let middle = &holds[holds.len() / 4..holds.len() * 3 / 4];
    let hold = middle.iter().sum::<f64>() / middle.len().max(1) as f64;
    Ok(((least(&recorded) - least(&plain) - hold).max(0.0), hold))
}

#[cfg(test)]
mod tests {
    /// No time is asserted beyond what a clock can show.
    #[test]
    fn stamps_take_some_time() {
        let (gap, hold) = super::overhead_ns().unwrap();
        assert!(gap.is_finite() && hold.is_finite() && gap >= 0.0 && hold >= 0.0, "{gap} {hold}");
        assert!(gap + hold > 0.0, "{gap} {hold}");
    }
}
