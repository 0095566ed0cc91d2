//! Processors: how many there are, spinning politely, and barriers that reach the others.

use rustix::thread::{MembarrierCommand, membarrier};

/// Tells the processor that this is a spin loop.
#[inline]
pub fn relax() {
    std::hint::spin_loop();
}

/// Fetches the cache line of `place` ahead of its use, so that misses of several lines overlap.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that has no effect but on caches, on any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// The time-stamp counter: the cheapest clock, in ticks of unknown length. For short intervals within a process,
/// calibrated against a clock over longer ones; where the processors' counters disagree it may go back.
#[inline(always)]
#[must_use]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register; user programs may on Linux unless they disabled it for themselves.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    crate::clock::now_ns()
}

/// The nanoseconds of `count` dependent additions, `count` a multiple of 16; `None` on processors without such a loop
/// here. An addition of registers takes one cycle, so this measures the length of a cycle.
#[must_use]
pub fn additions_ns(count: u64) -> Option<u64> {
    assert!(count > 0 && count.is_multiple_of(16), "whole rounds");
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let begun = crate::clock::now_ns();
        add_registers(count / 16);
        Some(crate::clock::now_ns() - begun)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// Adds one sixteen times in each of `rounds` rounds, which must be above zero.
#[cfg(target_arch = "x86_64")]
fn add_registers(mut rounds: u64) {
    // SAFETY: changes only the registers that it names, and flags; the loop ends when the count is 0, which it is not
    // at first.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "add {sum}, {one}",
            ".endr",
            "sub {rounds}, 1",
            "jnz 2b",
            sum = inout(reg) 0u64 => _,
            one = in(reg) 1u64,
            rounds = inout(reg) rounds,
            options(nomem, nostack),
        );
    }
    debug_assert_eq!(rounds, 0);
}

/// Adds one sixteen times in each of `rounds` rounds, which must be above zero.
#[cfg(target_arch = "aarch64")]
fn add_registers(mut rounds: u64) {
    // SAFETY: as that for x86_64.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "add {sum}, {sum}, {one}",
            ".endr",
            "subs {rounds}, {rounds}, #1",
            "b.ne 2b",
            sum = inout(reg) 0u64 => _,
            one = in(reg) 1u64,
            rounds = inout(reg) rounds,
            options(nomem, nostack),
        );
    }
    debug_assert_eq!(rounds, 0);
}

/// Gives the processor away to another runnable thread.
pub fn yield_now() {
    rustix::thread::sched_yield();
}

/// The number of processors this process may run on, at least 1.
#[must_use]
pub fn count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The number of processors that this process's affinity allows, at least 1: one system call, where [`count`] also
/// reads files.
#[must_use]
pub fn allowed() -> usize {
    rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count() as usize).max(1)
}

/// Registers this process as a receiver of [`barrier_in_all`]. True when the kernel can do it.
///
/// A forked child inherits the registration; calling it again does no harm.
#[must_use]
pub fn join_barriers() -> bool {
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// Runs a full memory barrier on every processor that runs a thread of a registered process; takes some microseconds.
///
/// It pairs with a compiler barrier in the other process: the cheap side of an asymmetric fence. Returns false where
/// the kernel cannot do it; the caller then needs a time-out instead.
#[must_use]
pub fn barrier_in_all() -> bool {
    membarrier(MembarrierCommand::GlobalExpedited).is_ok()
}

/// The figures of `getrusage` for the calling process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Microseconds in user mode.
    pub user_us: u64,
    /// Microseconds in the kernel.
    pub system_us: u64,
    /// The largest resident set, in kilobytes.
    pub max_resident_kb: u64,
    /// Page faults that needed no read.
    pub minor_faults: u64,
    /// Page faults that needed a read.
    pub major_faults: u64,
    /// Times the process gave the processor away.
    pub voluntary_switches: u64,
    /// Times the processor was taken away.
    pub involuntary_switches: u64,
}

/// The resources that the calling process has used so far.
#[must_use]
pub fn usage() -> Usage {
    // SAFETY: an all-zero `rusage` is a valid value.
    let mut r: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `r` is valid to write to.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut r) };
    let us = |t: libc::timeval| (t.tv_sec as u64) * 1_000_000 + t.tv_usec as u64;
    Usage {
        user_us: us(r.ru_utime),
        system_us: us(r.ru_stime),
        max_resident_kb: r.ru_maxrss as u64,
        minor_faults: r.ru_minflt as u64,
        major_faults: r.ru_majflt as u64,
        voluntary_switches: r.ru_nvcsw as u64,
        involuntary_switches: r.ru_nivcsw as u64,
    }
}
