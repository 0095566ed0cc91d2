//! The undo tablespace of new transactions after a start.
//!
//! A start takes the undo tablespace that the parameters name; without a name it takes UNDO, or else the first one. The
//! dictionary decides whether a tablespace exists: a session that died after the commit of DROP TABLESPACE leaves the
//! dropped tablespace in the control file.

use datafile::{Contents, ControlFile, CreateDatabase, tablespace};
use params::{InitParams, Param};
use types::{Ora, Result};

/// The name from the parameters; `None` for the default.
fn given(init: &InitParams) -> Option<String> {
    let name = init.get(Param::UndoTablespace).to_uppercase();
    (!init.is_default(Param::UndoTablespace) && !name.is_empty()).then_some(name)
}

/// ORA-30012.
pub fn missing(name: &str) -> Ora {
    Ora::with(30012, &[&name])
}

/// Gives the undo tablespace of a new database its name from the parameters.
///
/// # Errors
/// ORA-30012 for an invalid name and for the name of another tablespace.
pub fn name(spec: &mut CreateDatabase, init: &mut InitParams) -> Result<()> {
    let Some(name) = given(init) else { return Ok(()) };
    let is_letter = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '$' | '#');
    let is_name = name.len() <= 30 && name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_letter);
    let is_taken = |t: &datafile::TablespaceSpec| t.number != tablespace::UNDO && t.name == name;
    if !is_name || spec.tablespaces.iter().any(is_taken) {
        return Err(missing(&name));
    }
    init.derive(Param::UndoTablespace, &name);
    spec.tablespaces.iter_mut().filter(|t| t.number == tablespace::UNDO).for_each(|t| t.name.clone_from(&name));
    Ok(())
}

/// The number of the undo tablespace that the parameters name.
///
/// # Errors
/// ORA-30012 when it does not exist or is no undo tablespace.
pub fn named(control: &ControlFile, init: &mut InitParams) -> Result<Option<u32>> {
    let Some(name) = given(init) else { return Ok(None) };
    let number = number_of(control, &name)?;
    init.derive(Param::UndoTablespace, &name);
    Ok(Some(number))
}

/// The number of the undo tablespace with this name.
///
/// # Errors
/// ORA-30012 when it does not exist or is no undo tablespace.
pub fn number_of(control: &ControlFile, name: &str) -> Result<u32> {
    let found = control.tablespace_named(name).filter(|t| t.contents == Contents::Undo);
    found.map(|t| t.number).ok_or_else(|| missing(name))
}
