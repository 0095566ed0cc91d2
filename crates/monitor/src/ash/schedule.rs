//! The times at which samples are due, and the length of time that each sample stands for.

/// A sample stands for so many intervals at most: it says nothing about a time long before it.
const STANDS_FOR_MOST: u64 = 10;

/// The moments of samples, in monotonic nanoseconds. Moments that were missed are not made up for; the sample behind
/// them stands for their time, too, so that what samples stand for adds up to the time in which they were taken.
#[derive(Debug, Default)]
pub struct Schedule {
    /// When the next one is due; 0 before the first.
    next_ns: u64,
    /// When the last one was; 0 before the first.
    last_ns: u64,
}

impl Schedule {
    /// The nanoseconds that a sample taken now stands for, if one is due.
    pub fn take(&mut self, now: u64, interval: u64) -> Option<u64> {
        self.next_ns = self.next_ns.min(now + interval);
        if now < self.next_ns {
            return None;
        }
        let due = if self.next_ns == 0 { now } else { self.next_ns };
        let since = if self.last_ns == 0 { interval } else { due - self.last_ns };
        let next = due + interval;
        (self.last_ns, self.next_ns) = (due, if next > now { next } else { now + interval });
        Some(since.min(interval * STANDS_FOR_MOST))
    }

    /// The nanoseconds until the next one.
    pub fn left(&self, now: u64) -> u64 {
        self.next_ns.saturating_sub(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_samples_stand_for_is_the_time_between_them() {
        let mut schedule = Schedule::default();
        assert_eq!((schedule.take(1000, 10), schedule.left(1003), schedule.take(1003, 10)), (Some(10), 7, None));
        // In time, and a little late: the grid stays.
        assert_eq!([1010, 1024, 1030].map(|now| schedule.take(now, 10)), [Some(10); 3]);
        // Moments are missed: the next sample stands for them, too.
        assert_eq!([1067, 1070, 1077, 1087].map(|now| schedule.take(now, 10)), [Some(10), None, Some(37), Some(10)]);
        // Another interval counts from the next sample on.
        assert_eq!([1088, 1092, 1093].map(|now| schedule.take(now, 5)), [None, None, Some(6)]);
        let stood = 4 * 10 + 10 + 37 + 10 + 6;
        assert_eq!(stood, 10 + 1093 - 1000);
        // No sample was taken for a long time.
        assert_eq!([5000, 5005].map(|now| schedule.take(now, 5)), [Some(5), Some(50)]);
    }
}
