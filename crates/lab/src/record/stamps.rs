//! The time that the stamps of a recording add, measured by calls with empty holds of a private latch.
//!
//! The work of a call takes the place of the recorder's code in the nearest caches, so the measured calls do some as
//! well, and few of them are sampled. A loop of gets that are all recorded was rejected: its stamps are three times as
//! fast as those of an instance. How much faster or slower stamps are beside the work of the recorded calls is fitted
//! to the counted time of calls of one session ([`super::gets`]).

use std::hint::black_box;

use latch::{Client, Domain, Generation, Latch, LatchName, RecordKind, Versioned, Where};
use wait::Waiter;

use crate::LabError;

/// Gets of a call.
const GETS: usize = 2;
/// Calls of a measurement, and one in so many that is sampled.
const CALLS: usize = 8_000;
const SAMPLE: u32 = 8;
/// Records of the ring: more than the sampled calls have.
const RECORDS: usize = CALLS;

/// Nanoseconds that recording adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// To a call.
    pub call_ns: f64,
    /// To the time before a get.
    pub gap_ns: f64,
    /// To the hold of a get.
    pub hold_ns: f64,
    /// To the time before a versioned read or a reference, which have no hold.
    pub touch_ns: f64,
}

impl Overhead {
    /// So many times as much.
    pub fn times(&self, factor: f64) -> Self {
        let [call_ns, gap_ns, hold_ns, touch_ns] =
            [self.call_ns, self.gap_ns, self.hold_ns, self.touch_ns].map(|ns| ns * factor);
        Self { call_ns, gap_ns, hold_ns, touch_ns }
    }
}

/// Measures what recording adds.
///
/// # Errors
/// There is no memory for the latch, or no call was sampled.
pub fn overhead() -> Result<Overhead, LabError> {
    let wrong = |e: os::OsError| LabError::new(format!("memory for a latch: {e}"));
    let heads = os::memory::shared_slice(1).map_err(wrong)?;
    let lines = os::memory::shared_slice(RECORDS).map_err(wrong)?;
    let domain = Domain::anonymous(1, Generation::default()).map_err(wrong)?.with_rings(heads, lines);
    let client = Client::join_any(domain, Waiter::private()).ok_or_else(|| LabError::new("no slot".into()))?;
    let (latch, versioned) = (Latch::new(LatchName::TestUnit, 0), Versioned::new(LatchName::TestShared, 1));
    let mut work = Work::new();
    // The time that a call with these gets takes more when it is recorded, and the time of its holds.
    let mut measure = |get: &dyn Fn()| -> Result<(f64, f64), LabError> {
        let mut plain = Vec::with_capacity(CALLS);
        let mut calls = |times: Option<&mut Vec<f64>>| {
            let mut times = times;
            for _ in 0..CALLS {
                client.begin_call();
                let began = os::clock::now_ns();
                work.run();
                (0..GETS).for_each(|_| get());
                if let Some(times) = &mut times {
                    times.push((os::clock::now_ns() - began) as f64);
                }
            }
        };
        calls(Some(&mut plain));
        domain.record(SAMPLE);
        calls(None);
        domain.record(0);
        client.begin_call();
        let rings = domain.recorded();
        let of = |kind: RecordKind| -> Vec<f64> {
            let records = rings.iter().flat_map(|ring| &ring.records).filter(|record| record.kind == kind);
            records.map(|record| record.length_ns as f64).collect()
        };
        let (lengths, holds) = (of(RecordKind::End), of(RecordKind::Get));
        if lengths.is_empty() {
            return Err(LabError::new("no call was sampled to measure the stamps of a recording".into()));
        }
        Ok((middle(lengths) - middle(plain), middle(holds)))
    };
    let (call, _) = measure(&|| ())?;
    let (gets, hold) = measure(&|| drop(client.get(&latch, Where::TestExclusive, 0)))?;
    let (reads, _) = measure(&|| client.read(&versioned, Where::TestVersioned, || ()))?;
    // Where the clock does not show a difference, there is none to take out.
    let each = |of: f64| ((of - call) / GETS as f64).max(0.0);
    // Both together are what a get takes more.
    let hold_ns = hold.min(each(gets));
    Ok(Overhead { call_ns: call.max(0.0), gap_ns: each(gets) - hold_ns, hold_ns, touch_ns: each(reads) })
}

/// The mean of the middle half: a hold of a few nanoseconds is a multiple of the clock's step, and what was interrupted
/// is at the upper end.
fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let inner = &times[times.len() / 4..times.len() - times.len() / 4];
    inner.iter().sum::<f64>() / inner.len().max(1) as f64
}

/// Work of about a microsecond that takes the place of other code in the nearest caches. Much data was rejected: after
/// a system call, which a sampled call begins with, they are read more slowly, and a statement reads few.
struct Work {
    text: String,
    number: f64,
}

impl Work {
    fn new() -> Self {
        Self { text: String::with_capacity(64), number: 1.0 }
    }

    fn run(&mut self) {
        use std::fmt::Write as _;
        self.text.clear();
        let _ = write!(self.text, "{:.3} {:e}", black_box(self.number / 7.0), black_box(self.number));
        let read: f64 = self.text.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
        self.number = black_box(read) * 7.0 + 1.0;
    }
}

#[cfg(test)]
mod tests {
    /// No time is asserted beyond what a clock can show.
    #[test]
    fn stamps_take_some_time() {
        let of = super::overhead().unwrap();
        let all = [of.call_ns, of.gap_ns, of.hold_ns, of.touch_ns];
        assert!(all.iter().all(|ns| ns.is_finite() && *ns >= 0.0) && all.iter().any(|ns| *ns > 0.0), "{of:?}");
    }
}
