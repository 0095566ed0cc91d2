//! The undo tablespace of new transactions after a start.
//!
//! A start takes the one that the parameters name; without a name UNDO, or the first that there is. The dictionary has
//! the last word: a session that died behind the commit of DROP TABLESPACE leaves one in the control file that is no
//! more.

use datafile::{Contents, ControlFile, CreateDatabase, tablespace};
use params::{InitParams, Param};
use types::{Ora, Result};

/// A name that was given; `None` when it was left to the database.
fn given(init: &InitParams) -> Option<String> {
    let name = init.get(Param::UndoTablespace).to_uppercase();
    (!init.is_default(Param::UndoTablespace) && !name.is_empty()).then_some(name)
}

/// ORA-30012.
pub fn missing(name: &str) -> Ora {
    Ora::with(30012, &[&name])
}

/// Gives the undo tablespace of a new database the name that the parameters have for it.
///
/// # Errors
/// ORA-30012 for a name that a tablespace cannot have.
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
/// ORA-30012 when it does not exist, or is not one of undo.
pub fn named(control: &ControlFile, init: &mut InitParams) -> Result<Option<u32>> {
    let Some(name) = given(init) else { return Ok(None) };
    let number = number_of(control, &name)?;
    init.derive(Param::UndoTablespace, &name);
    Ok(Some(number))
}

/// The number of the undo tablespace of that name.
///
/// # Errors
/// ORA-30012 when it does not exist, or is not one of undo.
pub fn number_of(control: &ControlFile, name: &str) -> Result<u32> {
    let found = control.tablespace_named(name).filter(|t| t.contents == Contents::Undo);
    found.map(|t| t.number).ok_or_else(|| missing(name))
}
