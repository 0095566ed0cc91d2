//! Faults that tests inject: deaths at named points, loss of power, a full disk, a device that loses writes.
//!
//! Without the feature `inject` nothing of this is in the program: [`point`] and [`spare`] are empty, and each function
//! that arms a fault returns an error, so that a test cannot pass because its fault was ignored. With the feature,
//! faults are armed before the first process is forked. A point that no plan arms costs one relaxed load of a private
//! word, which never changes. A point still belongs on no read path.
//!
//! The functions here are the whole interface, so that a crate that calls them compiles with the feature and without
//! it. `os` knows none of the faults: it asks those that [`os::injection`] was given (`files`).

#![forbid(unsafe_code)]

mod common;
#[cfg(feature = "inject")]
mod crash;
#[cfg(feature = "inject")]
mod device;
#[cfg(feature = "inject")]
mod disk;
#[cfg(feature = "inject")]
mod files;
#[cfg(feature = "inject")]
mod power;

use std::path::Path;

use os::OsResult;

pub use common::{
    ARE_COMPILED_IN, CALM_FILE, DEATHS_FILE, DEVICE_FAILS_FILE, DISK_FULL_FILE, POWER_FOLDER, Restored, STOP_FILE,
};

/// Passes a named place. At the pass that the plan names, the caller dies here and the call does not return.
#[inline(always)]
pub fn point(name: &'static str) {
    #[cfg(feature = "inject")]
    crash::point(name);
    #[cfg(not(feature = "inject"))]
    let _ = name;
}

/// Sets whether plans for sessions spare this process, and those that it forks later.
#[inline(always)]
pub fn spare(is_spared: bool) {
    #[cfg(feature = "inject")]
    crash::spare(is_spared);
    #[cfg(not(feature = "inject"))]
    let _ = is_spared;
}

/// Arms a plan of deaths for this process and those it forks later; `dir` gets the file [`DEATHS_FILE`] at a death.
/// Called once, by the process whose death ends the instance.
///
/// # Errors
/// `EINVAL`: the text is not a plan. `EALREADY`: this process has one. `ENOSYS`: the faults are not compiled in.
pub fn arm_points(plan: &str, dir: &Path) -> OsResult<()> {
    #[cfg(feature = "inject")]
    return crash::arm(plan, dir, true);
    #[cfg(not(feature = "inject"))]
    absent("crash point", plan, dir)
}

/// As [`arm_points`], without recording the deaths.
///
/// # Errors
/// As [`arm_points`].
pub fn arm_points_quietly(plan: &str, dir: &Path) -> OsResult<()> {
    #[cfg(feature = "inject")]
    return crash::arm(plan, dir, false);
    #[cfg(not(feature = "inject"))]
    absent("crash point", plan, dir)
}

/// Arms the full disk for this process and those it forks later: files cannot grow as long as `dir` has the file
/// [`DISK_FULL_FILE`]. The first call counts.
///
/// # Errors
/// `ENOSYS`: the faults are not compiled in.
pub fn arm_full_disk(dir: &Path) -> OsResult<()> {
    #[cfg(feature = "inject")]
    {
        disk::arm(dir);
        files::inject();
        Ok(())
    }
    #[cfg(not(feature = "inject"))]
    absent("full disk", "", dir)
}

/// Arms the failing device for this process and those it forks later: the file that is named in [`DEVICE_FAILS_FILE`]
/// of `dir` loses its writes until a sync of it has failed. The first call counts.
///
/// # Errors
/// `ENOSYS`: the faults are not compiled in.
pub fn arm_failing_device(dir: &Path) -> OsResult<()> {
    #[cfg(feature = "inject")]
    {
        device::arm(dir);
        files::inject();
        Ok(())
    }
    #[cfg(not(feature = "inject"))]
    absent("failing device", "", dir)
}

/// Arms the loss of power for this process and those it forks later: power fails at the `at`-th sync, or, if that is 0,
/// when the instance is killed. Called once, by the process whose death ends the instance.
///
/// # Errors
/// The journal cannot be created: `EEXIST` when an earlier one was not restored; `EALREADY` when this process has one;
/// `ENOSYS`: the faults are not compiled in.
pub fn arm_power_loss(dir: &Path, at: u64) -> OsResult<()> {
    #[cfg(feature = "inject")]
    return power::arm(dir, at).inspect(|()| files::inject());
    #[cfg(not(feature = "inject"))]
    absent("power loss", &at.to_string(), dir)
}

/// Gives the files of `dir` contents that a device may have after the power loss, and removes the journal. Every
/// process of the instance must be dead. `None` when there is no journal. After a kill it can be run again; the outcome
/// is then another possible one.
///
/// # Errors
/// A file could not be read or written. `ENOSYS`: the faults are not compiled in.
pub fn restore_power(dir: &Path, seed: u64) -> OsResult<Option<Restored>> {
    #[cfg(feature = "inject")]
    return power::restore(dir, seed);
    #[cfg(not(feature = "inject"))]
    absent("power loss", &seed.to_string(), dir)
}

#[cfg(not(feature = "inject"))]
fn absent<R>(fault: &'static str, plan: &str, dir: &Path) -> OsResult<R> {
    let what = format!("{plan} in {}: this program is built without fault injection", dir.display());
    Err(os::OsError::from_errno(fault, what, libc::ENOSYS))
}

#[cfg(all(test, not(feature = "inject")))]
mod tests {
    use super::*;

    #[test]
    fn a_fault_that_is_not_compiled_in_is_refused() {
        let dir = std::env::temp_dir();
        point("never armed here");
        spare(true);
        let results = [
            arm_points("a:1", &dir),
            arm_points_quietly("a:1", &dir),
            arm_full_disk(&dir),
            arm_failing_device(&dir),
            arm_power_loss(&dir, 1),
            restore_power(&dir, 1).map(|_| ()),
        ];
        for result in results {
            let refused = result.unwrap_err();
            assert_eq!(refused.errno(), libc::ENOSYS, "{refused}");
            assert!(refused.to_string().contains("built without fault injection"), "{refused}");
        }
        const { assert!(!ARE_COMPILED_IN) };
    }
}
