//! Named places in the code where a test has a process, or the whole instance, killed.
//!
//! A [`point`] is compiled in always: what a test proves is then true of the program that is shipped. While nothing is
//! armed it is one relaxed load of a private word that never changes; it still belongs on no read path. Points are armed
//! before the first process is forked, so all processes have the same plan; how often a point was passed is counted in
//! memory that they share. A number was preferred to a probability, so that a run can be repeated.
//!
//! A plan is `name:n`, `name:n:process`, `name:n:child` or `name:n:stop`; a name that ends with `*` stands for all that begin so. `name:n` kills the
//! instance at the n-th pass: the supervisor first, which takes every process with it, then the process itself.
//! `name:n:process` kills only the process, at every n-th pass; `name:n:child` too, and spares the process that armed it. `name:n:stop` kills
//! nobody: from the n-th pass on, who passes while the directory has the file [`STOP_FILE`] takes that away and stops until it is sent
//! SIGCONT, so that a test decides what happens between two lines of a process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{OsError, OsResult, process, signal};

/// Name of the file in which a killed process says at which point it died: one line `name pass process` for each death.
pub const DEATHS_FILE: &str = "crash_points";

/// The file that a plan `name:n:stop` waits for.
pub const STOP_FILE: &str = "crash_stop";

static ARMED: AtomicBool = AtomicBool::new(false);
static PLAN: OnceLock<Plan> = OnceLock::new();

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Process,
    /// As `Process`, but not the one that armed the plan.
    Child,
    Instance,
    /// The process, which is stopped and not killed.
    Stop,
}

#[derive(Debug)]
struct Plan {
    name: String,
    every: u64,
    scope: Scope,
    supervisor: i32,
    deaths: PathBuf,
    passes: &'static [AtomicU64],
}

/// Passes a named place; when its number has come the caller dies here and does not return.
#[inline(always)]
pub fn point(name: &'static str) {
    if ARMED.load(Ordering::Relaxed) {
        pass(name);
    }
}

/// Arms a plan for this process and those it forks later; `dir` gets the file [`DEATHS_FILE`] at a death. To be called
/// once, by the process whose death ends the instance.
///
/// # Errors
/// `EINVAL`: the text is no plan. `EALREADY`: this process has one.
pub fn arm(plan: &str, dir: &Path) -> OsResult<()> {
    let invalid = || OsError::from_errno("crash point", plan, libc::EINVAL);
    let mut parts = plan.split(':');
    let name = parts.next().filter(|n| !n.is_empty()).ok_or_else(invalid)?.to_owned();
    let every = parts.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0).ok_or_else(invalid)?;
    let scope = match parts.next() {
        None | Some("instance") => Scope::Instance,
        Some("process") => Scope::Process,
        Some("child") => Scope::Child,
        Some("stop") => Scope::Stop,
        Some(_) => return Err(invalid()),
    };
    if parts.next().is_some() {
        return Err(invalid());
    }
    let passes = crate::memory::shared_slice(1)?;
    let plan_made = Plan { name, every, scope, supervisor: process::own_id(), deaths: dir.join(DEATHS_FILE), passes };
    PLAN.set(plan_made).map_err(|_| OsError::from_errno("crash point", plan, libc::EALREADY))?;
    ARMED.store(true, Ordering::Relaxed);
    Ok(())
}

impl Plan {
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
    if !plan.means(name) || (plan.scope == Scope::Child && process::own_id() == plan.supervisor) {
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
        Scope::Process | Scope::Child => nth.is_multiple_of(plan.every),
        Scope::Stop => false,
    };
    if now {
        note(plan, name, nth);
        die(if plan.scope == Scope::Instance { plan.supervisor } else { 0 });
    }
}

/// Writes down who died where; a death that cannot be written down happens all the same.
fn note(plan: &Plan, name: &str, nth: u64) {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&plan.deaths);
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{name} {nth} {}\n", process::own_id()).as_bytes());
    }
}

/// Stops this process, if it is wanted: of several that pass at once the one does that takes the file away.
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
    use crate::process::{Ended, Fork};

    /// Arms `plan` in a child and passes `names` in a child of that; how it ended and the notes it left.
    fn child(plan: &str, names: &[&'static str]) -> (Ended, String) {
        let dir = std::env::temp_dir().join(format!("lw-os-crash-{}-{}", process::own_id(), plan.replace('*', "_")));
        std::fs::create_dir_all(&dir).unwrap();
        let ended = match process::fork().unwrap() {
            Fork::Child => {
                if arm(plan, &dir).is_err() {
                    process::exit_now(2);
                }
                match process::fork() {
                    Ok(Fork::Child) => {
                        names.iter().for_each(|n| point(n));
                        process::exit_now(0);
                    }
                    Ok(Fork::Parent(pid)) => match process::wait(pid) {
                        Some(Ended::Killed(_)) => process::exit_now(3),
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
    fn what_is_no_plan_is_refused() {
        for plan in ["", "a", "a:0", "a:x", ":1", "a:1:nobody", "a:1:process:2"] {
            assert_eq!(child(plan, &["a"]).0, Ended::Exited(2), "{plan}");
        }
        point("never armed here");
    }
}
