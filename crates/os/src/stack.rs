//! Stacks that are large enough for deeply nested statements, and the bytes left on them.
//!
//! Statements, blocks and their trees are parsed, planned and run by recursive functions. A process runs them on a
//! stack of [`SIZE`] bytes of address space ([`run`]), of which the system provides only the used pages. The recursive
//! functions ask [`is_short`] on entry, and return their own error long before the guard pages, whose touch would end
//! the process.
//!
//! A stack is short when half of it is used. The other half is for functions that do not ask; they need less for a
//! level than the function that let the tree become so deep.
//!
//! The bounds are a thread-local value: they belong to a thread as its stack pointer does, and a function deep in a
//! parser has no other access to them. A thread that [`run`] did not start has the bounds that the C library reports.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Address space of the stack of a session: half of it is 13 KB for each of 10,000 levels.
pub const SIZE: usize = 256 << 20;

/// The least that [`run`] requests when the system refuses more.
const SIZE_MIN: usize = 16 << 20;

/// Inaccessible pages below a stack.
const GUARD: usize = 64 << 10;

/// The reserved part of a stack, for functions that do not ask: copying, comparing and dropping a tree, and the calls
/// below.
const RESERVE_PART: usize = 2;

/// The smallest stack that [`run`] makes.
const SMALLEST: usize = 1 << 20;

/// Distance below a call up to which [`give_back`] keeps used pages.
const KEPT: usize = 256 << 10;

#[derive(Clone, Copy)]
struct Bounds {
    /// The lowest byte; 0 while the bounds are unknown.
    low: usize,
    /// Below this address the stack is short.
    floor: usize,
    /// The lowest address that was seen or announced.
    deepest: usize,
    /// The pages were mapped by this module.
    is_mapped: bool,
}

const UNKNOWN: Bounds = Bounds { low: 0, floor: 0, deepest: usize::MAX, is_mapped: false };

thread_local! {
    static BOUNDS: Cell<Bounds> = const { Cell::new(UNKNOWN) };
}

impl Bounds {
    fn new(low: usize, size: usize, is_mapped: bool) -> Self {
        Self { low, floor: low + size / RESERVE_PART, deepest: usize::MAX, is_mapped }
    }

    /// The bounds of a stack that the C library or the kernel made.
    #[cold]
    fn of_thread() -> Self {
        // SAFETY: an all-zero `pthread_attr_t` is valid to be written over.
        let mut attributes: libc::pthread_attr_t = unsafe { std::mem::zeroed() };
        let (mut low, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the calling thread's own attributes, read into local places and released again.
        let known = unsafe {
            libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 && {
                let got = libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size);
                libc::pthread_attr_destroy(&raw mut attributes);
                got == 0
            }
        };
        // The main thread's stack grows up to its limit, if no other mapping is in its way; 8 MB are a safe assumption.
        let (low, size) = match (low as usize, size) {
            (low, size) if known && size <= 64 << 20 => (low, size),
            _ => (here().saturating_sub(1 << 20), 1 << 20),
        };
        Self::new(low, size, false)
    }
}

/// An address in the caller's frame, or in the one just below it.
#[inline(never)]
fn here() -> usize {
    let marker = 0u8;
    std::hint::black_box(std::ptr::from_ref(&marker)).addr()
}

/// The stack pointer, and the bounds.
fn look() -> (usize, Bounds) {
    let (at, mut bounds) = (here(), BOUNDS.get());
    if bounds.low == 0 {
        bounds = Bounds::of_thread();
    }
    if at < bounds.deepest {
        bounds.deepest = at;
        BOUNDS.set(bounds);
    }
    (at, bounds)
}

/// Whether so little is left of this thread's stack that a recursive function must return an error.
#[must_use]
pub fn is_short() -> bool {
    let (at, bounds) = look();
    at < bounds.floor
}

/// Bytes left of this thread's stack.
#[must_use]
pub fn left() -> usize {
    let (at, bounds) = look();
    at.saturating_sub(bounds.low)
}

/// Whether functions that do not ask may use `bytes` of stack: true when that fits into half of the rest. Notes the
/// use.
#[must_use]
pub fn has_room(bytes: usize) -> bool {
    let (at, mut bounds) = look();
    bounds.deepest = bounds.deepest.min(at.saturating_sub(bytes));
    BOUNDS.set(bounds);
    bytes <= at.saturating_sub(bounds.low) / 2
}

/// Returns the pages below the caller to the system, if a call has used many of them. They are zero when used again.
/// Costs a system call only after such a call; no effect on a stack that [`run`] has not made.
pub fn give_back() {
    let (at, mut bounds) = look();
    if !bounds.is_mapped || at.saturating_sub(bounds.deepest) <= KEPT {
        return;
    }
    let end = (at - KEPT) & !4095;
    if bounds.low < end {
        // SAFETY: whole pages of the mapped stack, far below the frame of this function and of what it calls.
        unsafe { libc::madvise(bounds.low as *mut libc::c_void, end - bounds.low, libc::MADV_DONTNEED) };
    }
    bounds.deepest = at;
    BOUNDS.set(bounds);
}

/// A mapped stack with its guard pages at the low end.
struct Region {
    base: *mut libc::c_void,
    len: usize,
}

impl Region {
    fn map(size: usize) -> Option<Self> {
        let len = size.next_multiple_of(4096) + GUARD;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let region = Self { base, len };
        // A huge page would make every session two megabytes larger. The advice fails on a kernel without huge pages.
        // SAFETY: exactly our own mapping; the advice changes no contents.
        unsafe { libc::madvise(base, len, libc::MADV_NOHUGEPAGE) };
        // SAFETY: the lowest pages of our own mapping, not used yet.
        (unsafe { libc::mprotect(base, GUARD, libc::PROT_NONE) } == 0).then_some(region)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: exactly the range we mapped; the function that ran on it has returned.
        unsafe { libc::munmap(self.base, self.len) };
    }
}

/// Runs `body` on a new stack of `size` bytes, and unmaps the stack afterwards. Where the system refuses so much
/// address space (a limit on it, or strict accounting), the stack is smaller; at worst it is the caller's.
///
/// Only the stack pointer changes: thread, process id, signals and thread-local values are the caller's. A child forked
/// in `body` continues on its copy of the stack.
pub fn run<R>(size: usize, body: impl FnOnce() -> R) -> R {
    let sizes = std::iter::successors(Some(size.max(SMALLEST)), |size| (*size / 4 >= SIZE_MIN).then_some(*size / 4));
    let Some(region) = sizes.into_iter().find_map(Region::map).filter(|_| switch::CAN) else { return body() };
    let low = region.base as usize + GUARD;
    let usable = region.len - GUARD;
    let before = BOUNDS.replace(Bounds::new(low, usable, true));
    let result = switch::call(low + usable, || catch_unwind(AssertUnwindSafe(body)));
    BOUNDS.set(before);
    drop(region);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The change of the stack pointer. Rejected: the crate `psm`, which does the same, because its build needs an archive
/// writer under another licence.
mod switch {
    use std::ffi::c_void;

    // Arguments: the function to call, its argument, the new stack pointer. The frame pointer keeps the old one, and
    // the directives describe that for unwinders and debuggers.
    #[cfg(target_arch = "x86_64")]
    std::arch::global_asm!(
        ".pushsection .text.lw_call_on_stack,\"ax\",@progbits",
        ".p2align 4",
        ".globl lw_call_on_stack",
        ".hidden lw_call_on_stack",
        ".type lw_call_on_stack,@function",
        "lw_call_on_stack:",
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsp, rdx",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        ".size lw_call_on_stack, .-lw_call_on_stack",
        ".popsection",
    );

    #[cfg(target_arch = "aarch64")]
    std::arch::global_asm!(
        ".pushsection .text.lw_call_on_stack,\"ax\",@progbits",
        ".p2align 4",
        ".globl lw_call_on_stack",
        ".hidden lw_call_on_stack",
        ".type lw_call_on_stack,@function",
        "lw_call_on_stack:",
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa sp, 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa x29, 16",
        "mov x9, x0",
        "mov x0, x1",
        "mov sp, x2",
        "blr x9",
        "mov sp, x29",
        ".cfi_def_cfa sp, 16",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
        ".size lw_call_on_stack, .-lw_call_on_stack",
        ".popsection",
    );

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    unsafe extern "C" {
        fn lw_call_on_stack(f: unsafe extern "C" fn(*mut c_void), data: *mut c_void, top: usize);
    }

    /// Whether this machine's stack pointer can be changed here.
    pub const CAN: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

    /// Calls `body`, which must not panic, with the stack pointer at `top`: the end of a stack, a multiple of 16.
    pub fn call<R, F: FnOnce() -> R>(top: usize, body: F) -> R {
        struct Job<R, F> {
            body: Option<F>,
            result: Option<R>,
        }
        /// # Safety
        /// `job` is a `Job<R, F>` that no other code uses.
        unsafe extern "C" fn enter<R, F: FnOnce() -> R>(job: *mut c_void) {
            // SAFETY: by the contract above.
            let job = unsafe { &mut *job.cast::<Job<R, F>>() };
            job.result = job.body.take().map(|body| body());
        }
        let mut job = Job { body: Some(body), result: None };
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        // SAFETY: `enter` is the function of exactly this type of job, which outlives the call; an `extern "C"`
        // function aborts rather than let a panic through.
        unsafe {
            lw_call_on_stack(enter::<R, F>, (&raw mut job).cast(), top);
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        // SAFETY: as above; never called, see `CAN`.
        unsafe {
            let _ = top;
            enter::<R, F>((&raw mut job).cast());
        }
        job.result.expect("the job was done")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{self, Ended, Fork};

    /// Recurses until the stack is short, with a kilobyte or more for each call.
    fn descend(levels: u64) -> u64 {
        let frame = std::hint::black_box([levels; 128]);
        if is_short() { frame[0] } else { descend(levels + 1) + frame[1] - levels }
    }

    #[test]
    fn the_bound_is_met_before_the_end() {
        let levels = run(SIZE, || descend(0));
        assert!(levels > 50_000, "{levels}");
        // Any other thread has its own bounds.
        let small = std::thread::Builder::new().stack_size(1 << 20).spawn(|| descend(0)).unwrap().join().unwrap();
        assert!((100..1024).contains(&small), "{small}");
        // Functions that do not ask may use half of the rest.
        assert!(run(4 << 20, || has_room(1 << 20) && !has_room(3 << 20)));
        // One stack within the other.
        let (outer, inner) = run(4 << 20, || (left(), run(1 << 20, left)));
        assert!(outer > 3 << 20 && inner <= 1 << 20, "{outer} {inner}");
    }

    #[test]
    fn a_panic_goes_on_to_the_caller() {
        let caught = crate::panics::caught(|| run(1 << 20, || assert!(left() == 0, "on purpose")));
        assert_eq!(caught, None);
        assert_eq!(run(1 << 20, || 7), 7);
    }

    #[test]
    fn used_pages_are_given_back() {
        let resident = || {
            let statm = std::fs::read_to_string("/proc/thread-self/smaps").unwrap();
            let region = format!("{:x}", BOUNDS.get().low);
            let lines = statm.lines().skip_while(|l| !l.starts_with(&region));
            let rss = lines.take(12).find_map(|l| l.strip_prefix("Rss:")).expect("the stack's line");
            rss.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        run(SIZE, || {
            assert!(resident() < 512);
            descend(0);
            assert!(resident() > 100 << 10);
            give_back();
            assert!(resident() < 512);
            assert!(descend(0) > 50_000);
        });
    }

    #[test]
    fn the_whole_stack_can_be_printed() {
        let trace = run(1 << 20, || std::backtrace::Backtrace::force_capture().to_string());
        assert!(trace.matches("the_whole_stack_can_be_printed").count() >= 2, "{trace}");
    }

    #[test]
    fn a_forked_child_goes_on_with_its_copy() {
        run(SIZE, || match process::fork().unwrap() {
            Fork::Child => process::exit_now(i32::from(descend(0) < 50_000)),
            Fork::Parent(child) => assert_eq!(process::wait(child), Some(Ended::Exited(0))),
        });
    }
}
