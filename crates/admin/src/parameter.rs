//! Changes of the instance's parameters.

use crate::administrator::Administrator;
use enqueue::{EnqueueType, LockMode, Timeout};
use params::Param;
use types::Result;

/// Changes a parameter of the instance, and before that in the file that the next start reads when the change is to
/// last.
pub fn set(a: &dyn Administrator, param: Param, value: &str, also_in_file: bool) -> Result<()> {
    // Writers of parameters exclude each other; readers need nothing.
    let lock = a.enqueues().get(a.process(), EnqueueType::Ci, 1, 0, LockMode::Exclusive, Timeout::Never)?;
    let written = if also_in_file { a.instance().write_init_file(param, value) } else { Ok(()) };
    if written.is_ok() {
        a.instance().set_parameter(param, value);
    }
    a.enqueues().release(a.process(), lock);
    written
}
