//! Changes of the instance's parameters.

use crate::administrator::Administrator;
use enqueue::{EnqueueType, LockMode, Timeout};
use params::Param;
use types::Result;

/// Changes a parameter of the instance; with `also_in_file`, first in the parameter file of the next start.
///
/// # Errors
/// Those of the enqueue; ORA-32001 when the file cannot be written: the parameter is then unchanged.
pub fn set(a: &dyn Administrator, param: Param, value: &str, also_in_file: bool) -> Result<()> {
    change(a, param, value, also_in_file, || Ok(()))
}

/// As [`set`], for a parameter that switches the design of a structure: the new design is in force when this returns,
/// and whoever was inside by the former one has left.
///
/// # Errors
/// ORA-00051 when sessions stay inside for seconds: the parameter is then unchanged. ORA-32001 when the file cannot be
/// written: the design is switched, and the parameter shows the former one.
pub fn switch(a: &dyn Administrator, param: Param, value: &str, also_in_file: bool) -> Result<()> {
    change(a, param, value, also_in_file, || a.instance().switch_design(a.process(), param, value))
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
