//! The common window of a cell: from the last session's start to the first session's end, the time in which all of them
//! work.
//!
//! A worker performs its operations in many calls and notes the time at both ends of each. The operations of calls that
//! lie entirely in the window are counted in full. The two calls of a session that the ends of the window cut
//! contribute in proportion to time; their number of operations is kept, and is a few per cent of a cell of ordinary
//! length. The rate of the cell is the operations in the window divided by its seconds. A rate over the whole cell was
//! rejected: at its ends some sessions wait for the processor or have finished, and a session that ends late and alone
//! would look like contention. Leaving out the cut calls was rejected as well: long calls are cut more often than short
//! ones, so the remaining rate is too high, in the window of a short cell on a busy machine twice too high.

use serde::{Deserialize, Serialize};

/// One call of a worker, in seconds since a moment that is common to all sessions of the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    pub from_s: f64,
    pub to_s: f64,
    pub operations: u64,
}

/// The window in which all sessions of a cell ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// From the last start to the first end.
    pub seconds: f64,
    /// Operations of the calls that lie entirely in the window.
    pub counted: u64,
    /// Operations of the calls cut by the ends of the window, in proportion to the time inside.
    pub cut: f64,
}

impl Window {
    /// Operations in the window per second.
    pub fn per_second(&self) -> f64 {
        (self.counted as f64 + self.cut) / self.seconds.max(1e-9)
    }

    /// The share of the operations that was not counted but estimated by time.
    pub fn share_cut(&self) -> f64 {
        self.cut / (self.counted as f64 + self.cut).max(1e-9)
    }
}

/// The window of the sessions' calls; `None` when the sessions never ran all at once. The calls of a session follow one
/// another.
pub fn common(sessions: &[Vec<Call>]) -> Option<Window> {
    let firsts = sessions.iter().map(|calls| calls.first().map(|c| c.from_s)).collect::<Option<Vec<f64>>>()?;
    let lasts = sessions.iter().map(|calls| calls.last().map(|c| c.to_s)).collect::<Option<Vec<f64>>>()?;
    let from = firsts.into_iter().reduce(f64::max)?;
    let to = lasts.into_iter().reduce(f64::min)?;
    if to <= from {
        return None;
    }
    let mut window = Window { seconds: to - from, counted: 0, cut: 0.0 };
    for call in sessions.iter().flatten() {
        if call.from_s >= from && call.to_s <= to {
            window.counted += call.operations;
        } else {
            let within = (call.to_s.min(to) - call.from_s.max(from)).max(0.0);
            window.cut += call.operations as f64 * within / (call.to_s - call.from_s).max(1e-9);
        }
    }
    Some(window)
}

/// Seconds from the first start to the last end of all sessions.
pub fn elapsed_s(sessions: &[Vec<Call>]) -> f64 {
    let calls = || sessions.iter().flatten();
    let first = calls().map(|c| c.from_s).fold(f64::INFINITY, f64::min);
    let last = calls().map(|c| c.to_s).fold(f64::NEG_INFINITY, f64::max);
    (last - first).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consecutive calls of equal operations, which end at these moments.
    fn calls(from: f64, ends: &[f64], operations: u64) -> Vec<Call> {
        let mut from_s = from;
        let call = |to_s: &f64| {
            let call = Call { from_s, to_s: *to_s, operations };
            from_s = *to_s;
            call
        };
        ends.iter().map(call).collect()
    }

    #[test]
    fn one_session_is_its_own_window() {
        let one = [calls(1.0, &[2.0, 3.0], 50)];
        let window = common(&one).unwrap();
        assert_eq!(window, Window { seconds: 2.0, counted: 100, cut: 0.0 });
        assert_eq!((window.per_second(), window.share_cut()), (50.0, 0.0));
    }

    #[test]
    fn the_straggler_s_lonely_tail_is_not_in_the_rate() {
        // Two sessions share a processor at 50 a second each; then one continues alone at 100 a second.
        let first = calls(0.0, &[1.0, 2.0, 3.0, 4.0], 50);
        let straggler = calls(0.5, &[1.5, 2.5, 3.5, 4.5, 5.0, 5.5], 50);
        let both = [first, straggler];
        let window = common(&both).unwrap();
        // Three whole calls of each lie between 0.5 and 4; half of a call of each session as well.
        assert_eq!(window, Window { seconds: 3.5, counted: 300, cut: 50.0 });
        assert_eq!((window.per_second(), window.share_cut()), (100.0, 50.0 / 350.0));
        assert_eq!(elapsed_s(&both), 5.5);
    }

    /// One session works before the others start, one after them: their operations alone do not count.
    #[test]
    fn operations_outside_of_the_window_do_not_count() {
        let both = [calls(0.0, &[1.0, 9.0], 90), calls(8.0, &[16.0, 17.0], 90)];
        let window = common(&both).unwrap();
        assert_eq!((window.seconds, window.counted), (1.0, 0));
        assert!((window.per_second() - 2.0 * 90.0 / 8.0).abs() < 1e-9, "{window:?}");
        assert_eq!(window.share_cut(), 1.0);
    }

    #[test]
    fn sessions_that_never_ran_all_at_once_have_no_window() {
        assert_eq!(common(&[calls(0.0, &[1.0], 5), calls(1.0, &[2.0], 5)]), None);
        assert_eq!(common(&[calls(0.0, &[1.0], 5), Vec::new()]), None);
        assert_eq!(common(&[]), None);
    }
}
