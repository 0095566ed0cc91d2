//! Named places in the code where a test can kill a process or the whole instance.
//!
//! All processes have the same plan; passes are counted in memory that they share. A pass number was preferred to a
//! probability, so that a run can be repeated.
//!
//! A plan is `name:n`, or `name:n:` followed by one of the words below. A name that ends with `*` stands for all names
//! with that beginning. `name:n` kills the instance at the n-th pass: the supervisor first, which takes every process
//! with it, then the process itself. `process` kills only the process, at every n-th pass; `child` does too, but spares
//! the process that armed the plan; `session` also spares the processes that called [`spare`]. `panic` and
//! `session-panic` make the processes panic that `child` and `session` would kill. `stop` kills no process: from the
//! n-th pass on, a process that passes while the directory has the file [`STOP_FILE`] removes the file and stops until
//! SIGCONT, so that a test controls events between two lines of a process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use os::{OsError, OsResult, process, signal};

use crate::common::{CALM_FILE, DEATHS_FILE, STOP_FILE};

static ARMED: AtomicBool = AtomicBool::new(false);
static PLAN: OnceLock<Plan> = OnceLock::new();
/// True in a process that serves no session.
static SPARED: AtomicBool = AtomicBool::new(false);

/// The processes that a plan applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Process,
    /// As `Process`, but not the process that armed the plan.
    Child,
    /// As `Child`, but not spared processes.
    Session,
    Instance,
    /// The process, which is stopped instead of killed.
    Stop,
}

#[derive(Debug)]
struct Plan {
    name: String,
    every: u64,
    scope: Scope,
    panics: bool,
    notes: bool,
    supervisor: i32,
    deaths: PathBuf,
    passes: &'static [AtomicU64],
}

/// Passes a named place.
#[inline(always)]
pub(crate) fn point(name: &'static str) {
    if ARMED.load(Ordering::Relaxed) {
        pass(name);
    }
}

/// Arms a plan; `notes`: deaths are recorded.
pub(crate) fn arm(plan: &str, dir: &Path, notes: bool) -> OsResult<()> {
    let invalid = || OsError::from_errno("crash point", plan, libc::EINVAL);
    let mut parts = plan.split(':');
    let name = parts.next().filter(|n| !n.is_empty()).ok_or_else(invalid)?.to_owned();
    let every = parts.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).ok_or_else(invalid)?;
    let (scope, panics) = match parts.next() {
        None | Some("instance") => (Scope::Instance, false),
        Some("process") => (Scope::Process, false),
        Some("child") => (Scope::Child, false),
        Some("session") => (Scope::Session, false),
        Some("panic") => (Scope::Child, true),
        Some("session-panic") => (Scope::Session, true),
        Some("stop") => (Scope::Stop, false),
        Some(_) => return Err(invalid()),
    };
    if parts.next().is_some() {
        return Err(invalid());
    }
    let passes = os::memory::shared_slice(1)?;
    let plan_made = Plan {
        name,
        every,
        scope,
        panics,
        notes,
        supervisor: process::own_id(),
        deaths: dir.join(DEATHS_FILE),
        passes,
    };
    PLAN.set(plan_made).map_err(|_| OsError::from_errno("crash point", plan, libc::EALREADY))?;
    ARMED.store(true, Ordering::Relaxed);
    Ok(())
}

/// Sets whether plans for sessions spare this process.
pub(crate) fn spare(is_spared: bool) {
    SPARED.store(is_spared, Ordering::Relaxed);
}

impl Plan {
    fn spares_this_process(&self) -> bool {
        let is_child_only = matches!(self.scope, Scope::Child | Scope::Session);
        (is_child_only && process::own_id() == self.supervisor)
            || (self.scope == Scope::Session && SPARED.load(Ordering::Relaxed))
    }

    fn means(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == self.name,
        }
    }
}

#[cold]
fn pass(name: &'static str) {
    let Some(plan) = PLAN.get() else { return };
    if !plan.means(name) || plan.spares_this_process() {
        return;
    }
    let nth = plan.passes[0].fetch_add(1, Ordering::Relaxed) + 1;
    if plan.scope == Scope::Stop {
        if nth >= plan.every {
            stop(plan, name, nth);
        }
        return;
    }
    let now = match plan.scope {
        Scope::Instance => nth == plan.every,
        Scope::Process | Scope::Child | Scope::Session => nth.is_multiple_of(plan.every),
        Scope::Stop => false,
    };
    if now && !plan.deaths.with_file_name(CALM_FILE).exists() {
        note(plan, name, nth);
        assert!(!plan.panics, "crash point {name}, pass {nth}");
        die(if plan.scope == Scope::Instance { plan.supervisor } else { 0 });
    }
}

/// Records a death; if that fails, the process dies without a record.
fn note(plan: &Plan, name: &str, nth: u64) {
    if !plan.notes {
        return;
    }
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&plan.deaths);
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{name} {nth} {}\n", process::own_id()).as_bytes());
    }
}

/// Stops this process if the stop file exists: of several processes that pass at once, the one that removes the file
/// stops.
fn stop(plan: &Plan, name: &str, nth: u64) {
    if std::fs::remove_file(plan.deaths.with_file_name(STOP_FILE)).is_ok() {
        note(plan, name, nth);
        let _ = process::kill(process::own_id(), signal::SIGSTOP);
    }
}

/// Kills the supervisor, if one is named, and this process, as by `kill -9`.
pub(crate) fn die(supervisor: i32) -> ! {
    if supervisor > 0 && supervisor != process::own_id() {
        let _ = process::kill(supervisor, signal::SIGKILL);
    }
    let _ = process::kill(process::own_id(), signal::SIGKILL);
    // A SIGKILL to oneself is delivered before the call returns; this line is for the type.
    process::exit_now(137)
}

#[cfg(test)]
mod tests {
    use super::*;
    use os::process::{Ended, Fork};

    /// Arms `plan` in a child and passes `names` in a grandchild; returns its end and the recorded deaths.
    fn child(plan: &str, names: &[&'static str]) -> (Ended, String) {
        child_of(plan, names, false)
    }

    fn child_of(plan: &str, names: &[&'static str], spared: bool) -> (Ended, String) {
        let dir =
            std::env::temp_dir().join(format!("lw-faults-crash-{}-{}", process::own_id(), plan.replace('*', "_")));
        std::fs::create_dir_all(&dir).unwrap();
        let ended = match process::fork().unwrap() {
            Fork::Child => {
                if arm(plan, &dir, true).is_err() {
                    process::exit_now(2);
                }
                match process::fork() {
                    Ok(Fork::Child) => {
                        spare(spared);
                        std::panic::set_hook(Box::new(|_| process::exit_now(101)));
                        names.iter().for_each(|n| point(n));
                        process::exit_now(0);
                    }
                    Ok(Fork::Parent(pid)) => match process::wait(pid) {
                        Some(Ended::Killed(_)) => process::exit_now(3),
                        Some(Ended::Exited(101)) => process::exit_now(5),
                        _ => process::exit_now(0),
                    },
                    Err(_) => process::exit_now(4),
                }
            }
            Fork::Parent(pid) => process::wait(pid).unwrap(),
        };
        let notes = std::fs::read_to_string(dir.join(DEATHS_FILE)).unwrap_or_default();
        std::fs::remove_dir_all(&dir).unwrap();
        (ended, notes)
    }

    #[test]
    fn the_nth_pass_of_a_point_is_the_last() {
        let (ended, notes) = child("a:2", &["a", "b", "a", "a"]);
        assert_eq!(ended, Ended::Killed(signal::SIGKILL));
        assert!(notes.starts_with("a 2 "), "{notes}");
        assert_eq!(child("a:3", &["a", "b", "a"]), (Ended::Exited(0), String::new()));
        assert_eq!(child("lo*:2:process", &["log", "b", "low"]).0, Ended::Exited(3), "only the process");
        assert_eq!(child("lo*:2:child", &["log", "b", "low"]).0, Ended::Exited(3), "only the process");
    }

    #[test]
    fn plans_for_sessions_spare_other_processes_and_some_plans_panic() {
        assert_eq!(child_of("a:1:session", &["a"], false).0, Ended::Exited(3));
        assert_eq!(child_of("a:1:session", &["a"], true).0, Ended::Exited(0));
        assert_eq!(child_of("a:2:session-panic", &["a", "a"], false).0, Ended::Exited(5));
        assert_eq!(child_of("a:1:session-panic", &["a"], true).0, Ended::Exited(0));
        assert_eq!(child_of("a:1:panic", &["a"], true).0, Ended::Exited(5));
    }

    #[test]
    fn what_is_no_plan_is_refused() {
        for plan in ["", "a", "a:0", "a:x", ":1", "a:1:nobody", "a:1:process:2"] {
            assert_eq!(child(plan, &["a"]).0, Ended::Exited(2), "{plan}");
        }
        point("never armed here");
    }
}
