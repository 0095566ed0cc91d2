//! The time that the stamps of a recording add to gaps and holds, measured by empty holds of a private latch and by
//! versioned reads of nothing.

use latch::{Client, Domain, Generation, Latch, LatchName, RecordKind, Versioned, Where};
use wait::Waiter;

use crate::LabError;

/// Gets of a call, and calls with and without a recording.
const GETS: usize = 500;
const CALLS: usize = 30;

/// Nanoseconds that recording adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// To the time before a get.
    pub gap_ns: f64,
    /// To the hold of a get.
    pub hold_ns: f64,
    /// To the time before a versioned read or a reference, which have no hold.
    pub touch_ns: f64,
}

/// Measures what recording adds.
///
/// # Errors
/// There is no memory for the latch.
pub fn overhead() -> Result<Overhead, LabError> {
    let wrong = |e: os::OsError| LabError::new(format!("memory for a latch: {e}"));
    let heads = os::memory::shared_slice(1).map_err(wrong)?;
    let lines = os::memory::shared_slice(GETS + 2).map_err(wrong)?;
    let domain = Domain::anonymous(1, Generation::default()).map_err(wrong)?.with_rings(heads, lines);
    let client = Client::join_any(domain, Waiter::private()).ok_or_else(|| LabError::new("no slot".into()))?;
    let (latch, versioned) = (Latch::new(LatchName::TestUnit, 0), Versioned::new(LatchName::TestShared, 1));
    // What a get takes more when it is recorded, and the lengths of the recorded holds.
    let measure = |get: &dyn Fn()| {
        let each = || {
            let began = os::clock::now_ns();
            (0..GETS).for_each(|_| get());
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
        domain.record(0);
        // The least of the times was interrupted by nothing. Where it is less than that without a recording, the clock
        // does not show what a recording adds.
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        ((least(&recorded) - least(&plain)).max(0.0), holds)
    };
    let (both, mut holds) = measure(&|| drop(client.get(&latch, Where::TestExclusive, 0)));
    let (touch_ns, _) = measure(&|| client.read(&versioned, Where::TestVersioned, || ()));
    // A hold of a few nanoseconds is a multiple of the clock's step.
    holds.sort_by(f64::total_cmp);
    let middle = &holds[holds.len() / 4..holds.len() * 3 / 4];
    let hold = middle.iter().sum::<f64>() / middle.len().max(1) as f64;
    // Both together are what a get takes more.
    let hold_ns = hold.min(both);
    Ok(Overhead { gap_ns: both - hold_ns, hold_ns, touch_ns })
}

#[cfg(test)]
mod tests {
    /// No time is asserted beyond what a clock can show.
    #[test]
    fn stamps_take_some_time() {
        let of = super::overhead().unwrap();
        assert!([of.gap_ns, of.hold_ns, of.touch_ns].iter().all(|ns| ns.is_finite() && *ns >= 0.0), "{of:?}");
        assert!(of.gap_ns + of.hold_ns > 0.0 && of.touch_ns > 0.0, "{of:?}");
    }
}
