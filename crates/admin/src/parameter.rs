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
    // The enqueue excludes other writers of parameters; readers take nothing (invariant 2).
    let lock = a.enqueues().get(a.process(), EnqueueType::Ci, 1, 0, LockMode::Exclusive, Timeout::Never)?;
    let written = if also_in_file { a.instance().write_init_file(param, value) } else { Ok(()) };
    if written.is_ok() {
        a.instance().set_parameter(param, value);
    }
    a.enqueues().release(a.process(), lock);
    written
}
