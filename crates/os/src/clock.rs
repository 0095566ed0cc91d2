//! Clocks. Times are plain numbers of nanoseconds, so that they can lie in shared memory and be compared by any
//! process.

use rustix::time::{ClockId, Timespec};
use std::time::Duration;

#[inline]
fn read(clock: ClockId) -> u64 {
    let t = rustix::time::clock_gettime(clock);
    (t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64
}

/// Nanoseconds since boot, never going back, the same in every process of the machine.
#[inline]
#[must_use]
pub fn now_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// The same clock to the last timer tick (1 to 4 ms), a few nanoseconds to read.
#[inline]
#[must_use]
pub fn coarse_ns() -> u64 {
    read(ClockId::MonotonicCoarse)
}

/// Nanoseconds since 1970-01-01 00:00:00 UTC.
#[must_use]
pub fn wall_ns() -> u64 {
    read(ClockId::Realtime)
}

/// The UTC offset of the machine's time zone in seconds, east positive, at the given wall time (seconds since 1970).
#[must_use]
pub fn utc_offset_seconds(wall_s: i64) -> i32 {
    // SAFETY: an all-zero `tm` is a valid value.
    let mut tm: libc::tm = unsafe { std::mem::zeroed() };
    let t: libc::time_t = wall_s;
    // SAFETY: both point to valid values; the reentrant form keeps no state of ours.
    if unsafe { libc::localtime_r(&raw const t, &raw mut tm) }.is_null() { 0 } else { tm.tm_gmtoff as i32 }
}

/// Nanoseconds of processor time that the calling thread has used.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// Nanoseconds of processor time that all threads of the calling process have used: [`process_cpu_ns`] of it.
#[must_use]
pub fn own_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// Nanoseconds of processor time that all threads of a process of this machine have used; `None` when it is gone.
#[must_use]
pub fn process_cpu_ns(process: i32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // Linux has no process ids beyond 2^22, and the clock's number would not hold them.
    // SAFETY: `clock` is a valid place to write to.
    if !(1..=1 << 22).contains(&process) || unsafe { libc::clock_getcpuclockid(process, &raw mut clock) } != 0 {
        return None;
    }
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec to write to; the clock of a process that is gone gives an error.
    let rc = unsafe { libc::clock_gettime(clock, &raw mut t) };
    (rc == 0).then(|| (t.tv_sec as u64) * 1_000_000_000 + t.tv_nsec as u64)
}

/// Sleeps for at least this long; a signal may end it early.
pub fn sleep(time: Duration) {
    let _ = rustix::thread::nanosleep(&timespec_of(time));
}

pub(crate) fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}

/// Times beyond 584 years count as that long.
pub(crate) fn timespec_of(time: Duration) -> Timespec {
    timespec(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back_and_sleep_passes_time() {
        let before = now_ns();
        sleep(Duration::from_millis(2));
        let after = now_ns();
        assert!(after - before >= 2_000_000, "slept {} ns", after - before);
        assert!(wall_ns() > 1_600_000_000 * 1_000_000_000);
        assert!(thread_cpu_ns() > 0);
        assert!(process_cpu_ns(crate::process::own_id()).is_some_and(|ns| ns >= thread_cpu_ns() / 2));
        assert_eq!(process_cpu_ns(i32::MAX), None);
    }
}
