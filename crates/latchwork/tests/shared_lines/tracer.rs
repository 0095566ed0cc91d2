//! Notes every access of this thread to a range of memory: the range is protected, so each access is a fault; the
//! handler notes it, opens the page, and lets the processor execute one instruction, after which the page is closed
//! again.
//!
//! An instruction that touches two lines of one page is noted with the first one. The kernel's own accesses (a system
//! call that reads or writes the range) are no faults: they fail with EFAULT where the page is closed for them.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const PAGE: usize = 4096;
const NOTES: usize = 1 << 20;
/// The trap flag of the processor: an interrupt behind the next instruction.
const TRAP_FLAG: i64 = 0x100;
/// Bit 1 of the page fault's error code: the access was a write.
const IS_WRITE: i64 = 2;

/// An access to a line of 64 bytes.
#[derive(Clone, Copy)]
pub struct Access {
    /// The address of the line.
    pub address: usize,
    pub is_store: bool,
}

static BASE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
/// The protection of closed pages.
static CLOSED: AtomicUsize = AtomicUsize::new(0);
static IS_ON: AtomicBool = AtomicBool::new(false);
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The address of the instruction that is being executed.
static INSTRUCTION: AtomicUsize = AtomicUsize::new(0);
/// Pages that the present instruction has opened; an instruction touches few.
static OPENED: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

struct Notes(UnsafeCell<[usize; NOTES]>);
// SAFETY: written by the handler of the one thread that traces, read by it afterwards.
unsafe impl Sync for Notes {}
/// Address of the line and, in bit 63, whether the access was a store.
static TRACE: Notes = Notes(UnsafeCell::new([0; NOTES]));
const STORE: usize = 1 << 63;

fn protect(at: usize, len: usize, protection: i32) {
    // SAFETY: the range lies in the mapping that `Tracer::new` was given.
    let rc = unsafe { libc::mprotect(at as *mut libc::c_void, len, protection) };
    assert_eq!(rc, 0, "mprotect");
}

/// Notes an access, if it is one to the range and not to the line of the last note.
fn note(address: usize, is_store: bool) {
    let (base, n) = (BASE.load(Ordering::Relaxed), COUNT.load(Ordering::Relaxed));
    if address < base || address >= base + LEN.load(Ordering::Relaxed) {
        return;
    }
    let what = (address & !63) | if is_store { STORE } else { 0 };
    // SAFETY: only the thread that traces comes here, one handler at a time.
    let notes = unsafe { &mut *TRACE.0.get() };
    if n > 0 && n <= NOTES && notes[n - 1] == what {
        return;
    }
    if let Some(free) = notes.get_mut(n) {
        *free = what;
    }
    COUNT.store(n + 1, Ordering::Relaxed);
}

extern "C" fn on_fault(_: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes valid structures.
    let (address, context) = unsafe { ((*info).si_addr() as usize, &mut *context.cast::<libc::ucontext_t>()) };
    let base = BASE.load(Ordering::Relaxed);
    let is_ours = address >= base && address < base + LEN.load(Ordering::Relaxed);
    let free = OPENED.iter().find(|page| page.load(Ordering::Relaxed) == 0);
    let (true, true, Some(free)) = (IS_ON.load(Ordering::Relaxed), is_ours, free) else {
        // A fault of the program: it dies of it.
        // SAFETY: restores the default action.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    };
    let is_store = context.uc_mcontext.gregs[libc::REG_ERR as usize] & IS_WRITE != 0;
    note(address, is_store);
    INSTRUCTION.store(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize, Ordering::Relaxed);
    let page = address & !(PAGE - 1);
    // A read-only access opens the page for reading, so that an instruction that reads and then writes is noted twice.
    let open = if is_store { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    free.store(page, Ordering::Relaxed);
    protect(page, PAGE, open);
    context.uc_mcontext.gregs[libc::REG_EFL as usize] |= TRAP_FLAG;
}

extern "C" fn on_step(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let register = |n: i32| context.uc_mcontext.gregs[n as usize] as usize;
    if register(libc::REG_RIP) == INSTRUCTION.load(Ordering::Relaxed) {
        // A string instruction between two of its steps: its pages stay open.
        note(register(libc::REG_RDI), true);
        note(register(libc::REG_RSI), false);
        return;
    }
    let closed = CLOSED.load(Ordering::Relaxed) as i32;
    for opened in &OPENED {
        let page = opened.swap(0, Ordering::Relaxed);
        if page != 0 && IS_ON.load(Ordering::Relaxed) {
            protect(page, PAGE, closed);
        }
    }
    context.uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP_FLAG;
}

fn handle(signal: i32, handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void)) {
    // SAFETY: an all-zero action is valid, and is filled in below.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: a valid action with a handler of the right type.
    let rc = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    assert_eq!(rc, 0, "sigaction");
}

/// Traces one thread at a time over one range of memory.
pub struct Tracer {
    base: usize,
    len: usize,
}

impl Tracer {
    pub fn new(base: usize, len: usize) -> Tracer {
        let len = len.next_multiple_of(PAGE);
        BASE.store(base, Ordering::Relaxed);
        LEN.store(len, Ordering::Relaxed);
        handle(libc::SIGSEGV, on_fault);
        handle(libc::SIGTRAP, on_step);
        Tracer { base, len }
    }

    /// Runs `work` and returns its accesses: all of them, or the stores alone.
    pub fn trace<R>(&self, reads_too: bool, work: impl FnOnce() -> R) -> (R, Vec<Access>) {
        let closed = if reads_too { libc::PROT_NONE } else { libc::PROT_READ };
        CLOSED.store(closed as usize, Ordering::Relaxed);
        COUNT.store(0, Ordering::Relaxed);
        IS_ON.store(true, Ordering::SeqCst);
        protect(self.base, self.len, closed);
        let result = work();
        protect(self.base, self.len, libc::PROT_READ | libc::PROT_WRITE);
        IS_ON.store(false, Ordering::SeqCst);
        let count = COUNT.load(Ordering::Relaxed);
        assert!(count <= NOTES, "{count} accesses are more than the tracer notes");
        // SAFETY: tracing is off, and only this thread has traced.
        let notes = unsafe { &(&(*TRACE.0.get()))[..count] };
        let access = |note: &usize| Access { address: note & !STORE, is_store: note & STORE != 0 };
        (result, notes.iter().map(access).collect())
    }
}
