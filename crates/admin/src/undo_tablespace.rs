//! ALTER SYSTEM SET undo_tablespace.

use crate::administrator::Administrator;
use crate::parameter;
use enqueue::{EnqueueType, LockMode, Timeout};
use instance::undo_tablespace::{missing, number_of};
use params::Param;
use types::Result;

/// ALTER SYSTEM SET undo_tablespace: new transactions use the tablespace from now on. The DD enqueue protects it from
/// being dropped during the switch (invariant 5).
///
/// # Errors
/// ORA-30012 when the tablespace does not exist, or is no undo tablespace; ORA-32001 when the parameter file cannot be
/// written: the switch is then undone.
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
        // The former tablespace still exists, because this process holds the DD enqueue.
        let _ = txns.use_undo_tablespace(former);
    })
}
