//! ALTER SYSTEM SET undo_tablespace.

use crate::administrator::Administrator;
use crate::parameter;
use enqueue::{EnqueueType, LockMode, Timeout};
use instance::undo_tablespace::{missing, number_of};
use params::Param;
use types::Result;

/// ALTER SYSTEM SET undo_tablespace: transactions begin in that one from now on. The DD enqueue keeps it from being
/// dropped meanwhile.
///
/// # Errors
/// ORA-30012 when it does not exist, or is not one of undo; ORA-32001 when the parameter file is to be changed and
/// cannot be.
pub fn switch(a: &dyn Administrator, name: &str, also_in_file: bool) -> Result<()> {
    let name = name.to_uppercase();
    let enqueues = a.enqueues();
    let lock = enqueues.get(a.process(), EnqueueType::Dd, 1, 0, LockMode::Exclusive, Timeout::Never)?;
    let done = switch_held(a, &name, also_in_file);
    enqueues.release(a.process(), lock);
    done
}

fn switch_held(a: &dyn Administrator, name: &str, also_in_file: bool) -> Result<()> {
    let txns = a.instance().storage().txns;
    let number = number_of(&txns.cache().files().control()?, name)?;
    if a.tablespace_named(name)? != Some(number) {
        return Err(missing(name));
    }
    let former = txns.current_undo_tablespace();
    txns.use_undo_tablespace(number)?;
    parameter::set(a, Param::UndoTablespace, name, also_in_file).inspect_err(|_| {
        // The former tablespace still exists: the DD enqueue keeps it from being dropped.
        let _ = txns.use_undo_tablespace(former);
    })
}
