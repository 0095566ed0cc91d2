//! Processes: forking, waiting for children, killing, and ending with the parent.

use std::os::fd::OwnedFd;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, WaitStatus};

use crate::{OsError, OsResult};

/// The side of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fork {
    /// The old process, with the child's process id.
    Parent(i32),
    /// The new process.
    Child,
}

/// The end of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this status.
    Exited(i32),
    /// A signal killed it.
    Killed(i32),
}

/// This process's id.
#[must_use]
pub fn own_id() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// Gives the program that `command` starts its own session and process group: a signal to the starter's group, or from
/// the terminal, does not reach it.
///
/// A group alone is not enough. When the starter exits, its child's group is orphaned, and if one of its processes is
/// stopped at that moment, the kernel sends SIGHUP to all of them (POSIX, `_exit`). The group of a session leader is
/// orphaned from the beginning, so it never becomes so.
pub fn in_own_session(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    let call = || rustix::process::setsid().map(drop).map_err(Into::into);
    // SAFETY: between fork and exec only `setsid` runs, which is async-signal-safe; nothing is allocated.
    unsafe { command.pre_exec(call) };
}

/// The id of the parent process; 0 for a parent outside this container.
#[must_use]
pub fn parent_id() -> i32 {
    rustix::process::getppid().map_or(0, Pid::as_raw_pid)
}

/// Forks this process.
///
/// The child has only the calling thread: a program that runs more threads must not hold a lock of theirs here, the
/// memory allocator's included, so the supervisor stays single-threaded. Test harnesses fork from a threaded parent;
/// glibc makes its allocator usable in the child, and such children leave by [`exit_now`].
///
/// # Errors
/// No process or memory is available (`EAGAIN`, `ENOMEM`).
pub fn fork() -> OsResult<Fork> {
    // SAFETY: no memory is passed; the caller's duty above concerns liveness, not memory: the child's copy is
    // consistent.
    match unsafe { libc::fork() } {
        -1 => Err(OsError::last("fork", "")),
        0 => {
            crate::heap::forget_in_child();
            Ok(Fork::Child)
        }
        child => Ok(Fork::Parent(child)),
    }
}

/// Forks this process as a sibling: the copy's parent is the parent of this process, which reaps it.
///
/// The copy's PDEATHSIG, once set, refers to that parent too, so it outlives this process. As for [`fork`], the caller
/// has one thread. Handlers of `pthread_atfork` do not run; the C library's own state needs none in a process of one
/// thread.
///
/// # Errors
/// No process or memory is available (`EAGAIN`, `ENOMEM`).
pub fn fork_sibling() -> OsResult<Fork> {
    let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: no stack, no thread area and no place for an id are passed: the child goes on with a copy of this stack,
    // as after fork. The arguments after the flags are all zero, so their order, which differs between machines, does
    // not matter.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) } {
        -1 => Err(OsError::last("clone", "")),
        0 => {
            crate::heap::forget_in_child();
            Ok(Fork::Child)
        }
        child => Ok(Fork::Parent(child as i32)),
    }
}

/// Raises the limit of open descriptors of this process to its hard limit, and returns it.
#[must_use]
pub fn raise_descriptor_limit() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // If it is refused the old limit stays.
    let is_raised = limit.current != limit.maximum && rustix::process::setrlimit(Resource::Nofile, raised).is_ok();
    (if is_raised { raised } else { limit }).current.unwrap_or(u64::MAX)
}

/// Ends the process at once, without destructors or exit handlers: a forked child must end in this way.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: never returns; no code of ours runs afterwards.
    unsafe { libc::_exit(status) }
}

/// A child that has ended, if there is one. It is not reaped, so its resource usage can still be read.
#[must_use]
pub fn ended_child() -> Option<i32> {
    // SAFETY: an all-zero `siginfo_t` is a valid value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: `info` is valid to write to.
    let rc = unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) };
    // SAFETY: filled in by `waitid`, or still zero.
    let child = unsafe { info.si_pid() };
    (rc == 0 && child > 0).then_some(child)
}

/// Reaps one ended child, if there is one: its id and its end.
#[must_use]
pub fn wait_any_nohang() -> Option<(i32, Ended)> {
    reap(None, WaitOptions::NOHANG)
}

/// Waits until this child has ended; `None` when it is not a child of this process.
#[must_use]
pub fn wait(child: i32) -> Option<Ended> {
    reap(Some(Pid::from_raw(child)?), WaitOptions::empty()).map(|(_, how)| how)
}

fn reap(which: Option<Pid>, options: WaitOptions) -> Option<(i32, Ended)> {
    let (child, status) = rustix::io::retry_on_intr(|| rustix::process::waitpid(which, options)).ok()??;
    Some((child.as_raw_pid(), ended(status)))
}

/// Stopped children are not asked for, so a child that did not exit was killed.
fn ended(status: WaitStatus) -> Ended {
    match status.exit_status() {
        Some(code) => Ended::Exited(code),
        None => Ended::Killed(status.terminating_signal().unwrap_or(0)),
    }
}

/// Overwrites the end of one of this program's arguments with blanks, because every user can read arguments in the list
/// of processes. The arguments must have been copied before. No effect when it is not found.
pub fn hide_argument(end: &str) {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return };
    // The name, in parentheses, may contain any character. `arg_start` and `arg_end` are fields 48 and 49; the third
    // follows the name.
    let Some((_, fields)) = stat.rsplit_once(')') else { return };
    let mut fields = fields.split_whitespace().skip(45);
    let mut address = || fields.next().and_then(|field| field.parse::<usize>().ok()).filter(|at| *at != 0);
    let (Some(from), Some(to)) = (address(), address()) else { return };
    if end.is_empty() || to <= from || to - from > 16 << 20 {
        return;
    }
    // SAFETY: the kernel reports that the arguments lie there, and maps them readable and writable until the process
    // ends; the standard library reads them only on request, and copies them then.
    let bytes = unsafe { std::slice::from_raw_parts_mut(from as *mut u8, to - from) };
    // The first argument is the program's name.
    for argument in bytes.split_mut(|b| *b == 0).skip(1) {
        if argument.ends_with(end.as_bytes()) {
            let start = argument.len() - end.len();
            argument[start..].fill(b' ');
        }
    }
}

/// Sends a signal to one process, never to a group (invariant 5).
///
/// # Errors
/// There is no such process, or it belongs to another user.
pub fn kill(process: i32, signal: i32) -> OsResult<()> {
    let failed = |e| OsError::of("kill", process.to_string(), e);
    let target = Some(process).filter(|id| *id > 0).and_then(Pid::from_raw).ok_or_else(|| failed(Errno::SRCH))?;
    let sent = match (signal, Signal::from_named_raw(signal)) {
        (0, _) => rustix::process::test_kill_process(target),
        (_, Some(signal)) => rustix::process::kill_process(target, signal),
        (_, None) => Err(Errno::INVAL),
    };
    sent.map_err(failed)
}

/// True while a process with this id exists; an ended one that was not reaped counts as existing.
#[must_use]
pub fn exists(process: i32) -> bool {
    match kill(process, 0) {
        Ok(()) => true,
        Err(e) => e.errno() == libc::EPERM,
    }
}

/// True while a process with this id runs; an ended one that was not reaped does not.
#[must_use]
pub fn is_running(process: i32) -> bool {
    run_state(process).is_some()
}

/// The kernel's letter for the state of a process (R, S, D, T …); `None` for an ended one.
#[must_use]
pub fn run_state(process: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The state follows the name, which is in parentheses and may contain any character.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next())?;
    (!matches!(state, 'Z' | 'X' | 'x')).then_some(state)
}

/// The kernel function that a process sleeps in, where the kernel reports it; `None` for a running one.
#[must_use]
pub fn kernel_place(process: i32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{process}/wchan")).ok()?;
    (!matches!(name.trim(), "" | "0")).then(|| name.trim().to_string())
}

/// Asks the kernel to send this process `signal` when its parent dies.
///
/// Returns false when the parent is no longer `parent`: the caller should end.
#[must_use]
pub fn die_with_parent(parent: i32, signal: i32) -> bool {
    let _ = rustix::process::set_parent_process_death_signal(Signal::from_named_raw(signal));
    parent_id() == parent
}

/// A descriptor that becomes readable when the process ends.
///
/// # Errors
/// There is no such process.
pub fn open_pidfd(process: i32) -> OsResult<OwnedFd> {
    let failed = |e| OsError::of("pidfd_open", process.to_string(), e);
    let target = Some(process).filter(|id| *id > 0).and_then(Pid::from_raw).ok_or_else(|| failed(Errno::SRCH))?;
    rustix::process::pidfd_open(target, PidfdFlags::empty()).map_err(failed)
}

/// Files and directories that the process and its children create are accessible to their owner only, unless their mode
/// is set later.
pub fn make_files_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Names the process as `ps` and `top` show it (15 bytes at most).
pub fn set_name(name: &str) {
    let z = std::ffi::CString::new(name.replace('\0', "")).unwrap_or_default();
    let _ = rustix::thread::set_name(&z);
}

/// Sets the preference of the kernel for killing this process when memory runs out: from -1000 (never) to 1000 (first).
/// False, with no effect, where that is not permitted, as lowering is for most users. Children inherit it.
pub fn set_oom_score(adjust: i32) -> bool {
    std::fs::write("/proc/self/oom_score_adj", adjust.to_string()).is_ok()
}

/// The numeric user id of the process.
#[must_use]
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The user name of the process, or the number where there is no name.
#[must_use]
pub fn user_name() -> String {
    let uid = user_id();
    std::fs::read_to_string("/etc/passwd")
        .ok()
        .and_then(|text| {
            text.lines().find_map(|line| {
                let mut fields = line.split(':');
                let name = fields.next()?;
                (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
            })
        })
        .unwrap_or_else(|| uid.to_string())
}

/// The machine's name.
#[must_use]
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").map_or_else(|_| "localhost".into(), |s| s.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_leaves_and_another_is_killed() {
        match fork().unwrap() {
            Fork::Child => exit_now(7),
            Fork::Parent(child) => assert_eq!(wait(child), Some(Ended::Exited(7))),
        }
        match fork().unwrap() {
            Fork::Child => loop {
                crate::clock::sleep(std::time::Duration::from_secs(1));
            },
            Fork::Parent(child) => {
                let fd = open_pidfd(child).unwrap();
                assert!(exists(child));
                assert!(is_running(child));
                kill(child, libc::SIGKILL).unwrap();
                while is_running(child) {
                    crate::clock::sleep(std::time::Duration::from_millis(1));
                }
                assert!(exists(child), "not waited for yet");
                assert_eq!(wait(child), Some(Ended::Killed(libc::SIGKILL)));
                assert!(!exists(child));
                drop(fd);
            }
        }
        assert!(kill(0, 9).is_err(), "a group is never killed");
    }
}
