//! Changes of the instance's parameters.

use crate::administrator::Administrator;
use enqueue::{EnqueueType, LockMode, Timeout};
use params::Param;
use types::{Ora, Result};

/// Changes a parameter of the instance; with `also_in_file`, first in the parameter file of the next start.
///
/// # Errors
/// Those of the enqueue; ORA-32001 when the file cannot be written: the parameter is then unchanged.
pub fn set(a: &dyn Administrator, param: Param, value: &str, also_in_file: bool) -> Result<()> {
    change(a, param, value, also_in_file, || Ok(()))
}

/// Sets `_switch_holder`: the designs that the named session switches from now on are put back when it ends, however it
/// ends. Without a name the designs stay as they are.
///
/// # Errors
/// ORA-00026 for a malformed name, ORA-00030 for an unknown session, ORA-00054 while another session holds designs.
pub fn hold(a: &dyn Administrator, value: &str) -> Result<()> {
    change(a, Param::SwitchHolder, value, false, || {
        if value.is_empty() {
            a.instance().state().set_design_holder(None);
            return Ok(());
        }
        let (sid, serial) = session_named(value)?;
        a.instance().hold_designs(a.process(), sid, serial)
    })
}

/// The session that `sid,serial#` names.
///
/// # Errors
/// ORA-00026.
pub(crate) fn session_named(text: &str) -> Result<(u32, u64)> {
    let mut parts = text.split(',').map(str::trim);
    let sid: Option<u32> = parts.next().and_then(|t| t.parse().ok());
    let serial: Option<u64> = parts.next().and_then(|t| t.parse().ok());
    sid.zip(serial).ok_or_else(|| Ora::new(26))
}

/// As [`set`], for a parameter that switches the design of a structure: the new design is in force when this returns,
/// and no session is inside by the former one.
///
/// # Errors
/// ORA-00051 when sessions stay inside for seconds: the parameter is then unchanged. ORA-32001 when the file cannot be
/// written: the design is switched, and the parameter shows the former one.
pub fn switch(a: &dyn Administrator, param: Param, value: &str, also_in_file: bool) -> Result<()> {
    change(a, param, value, also_in_file, || a.instance().switch_by_session(a.process(), param, value))
}

/// Sets `_latch_recording`: a recording of this session begins, or the one that runs ends. After the end this waits for
/// the calls that are recorded, for two seconds at most; a longer call is recorded up to its end all the same, and
/// `v$latch_recording` shows that it is open.
///
/// # Errors
/// ORA-00439 without rings; ORA-00054 while another session records; ORA-00028 and ORA-01013 during the wait: the
/// recording has ended then.
pub fn record(a: &dyn Administrator, value: &str, also_in_file: bool) -> Result<()> {
    let every = value.parse().unwrap_or(0);
    let (instance, p) = (a.instance(), a.process());
    change(a, Param::LatchRecording, value, also_in_file, || instance.prepare_recording(p, every))?;
    if every == 0 { p.until_sampled_calls_end() } else { Ok(()) }
}

fn change(
    a: &dyn Administrator,
    param: Param,
    value: &str,
    also_in_file: bool,
    first: impl FnOnce() -> Result<()>,
) -> Result<()> {
    // The enqueue excludes other writers of parameters; readers take nothing (invariant 2).
    let lock = a.enqueues().get(a.process(), EnqueueType::Ci, 1, 0, LockMode::Exclusive, Timeout::Never)?;
    let done = first().and_then(|()| if also_in_file { a.instance().write_init_file(param, value) } else { Ok(()) });
    if done.is_ok() {
        a.instance().set_parameter(param, value);
    }
    a.enqueues().release(a.process(), lock);
    done
}
