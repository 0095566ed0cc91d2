//! Opening a database: its files, the structures over them, and the repairs of a start before the first session.

use crate::housekeeping::finish_drops;
use crate::instance::Instance;
use crate::startup::Told;
use crate::storage::Database;
use crate::undo_tablespace::missing;
use dictionary::base::{Base, ts};
use dictionary::rows::as_u32;
use params::{InitParams, Param};
use process::Process;
use std::path::Path;
use std::rc::Rc;
use types::Result;

impl Instance {
    /// Opens the database in `dir`, creating it when there is none.
    ///
    /// # Errors
    /// Errors of inconsistent parameters, unavailable memory and unusable files.
    pub fn open(dir: &Path, given: &InitParams, ephemeral: bool) -> Result<&'static Instance> {
        Self::open_telling(dir, given, ephemeral, &mut |_| {})
    }

    /// As [`Instance::open`]; `tell` gets the progress of recovery, if the database needs recovery.
    ///
    /// # Errors
    /// As [`Instance::open`].
    pub fn open_telling(
        dir: &Path,
        given: &InitParams,
        ephemeral: bool,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<&'static Instance> {
        let mut init = given.clone();
        let database = Database::open_or_create(dir, &mut init, ephemeral, tell)?;
        let instance = Self::make(dir, init, &database, ephemeral)?;
        if !database.is_new {
            let p = Rc::new(instance.attach_background("supervisor")?);
            settle(instance, &p)?;
            let told = finish_drops(instance, &p);
            told.iter().for_each(|line| tell(Told::Alert(line)));
        }
        Ok(instance)
    }

    /// Opens the cleanly closed database in `dir` read-only: its files are never written. Sessions of this process may
    /// query it.
    ///
    /// # Errors
    /// As [`Instance::open`]; ORA-01113 when the database must be recovered first.
    pub fn open_read_only(dir: &Path, given: &InitParams) -> Result<&'static Instance> {
        let mut init = given.clone();
        let database = Database::look_at(dir, &mut init)?;
        Self::make(dir, init, &database, true)
    }
}

/// Chooses another undo tablespace before the first session, if the dictionary does not know the current one. A
/// tablespace that the parameters name is not replaced.
///
/// # Errors
/// ORA-30012 when the parameters name the unknown tablespace, or when there is no other.
fn settle(instance: &'static Instance, p: &Process) -> Result<()> {
    let storage = instance.storage();
    let txns = storage.txns;
    let mut known = Vec::new();
    storage.dictionary.scan_once(p, Base::Ts, &mut |_, row| {
        known.push(as_u32(&row[ts::TS]));
        Ok(())
    })?;
    let control = storage.cache.files().control()?;
    let name_of = |number: u32| control.tablespace(number).map_or(String::new(), |t| t.name.clone());
    let mut current = txns.current_undo_tablespace();
    if !known.contains(&current) {
        if !instance.params().is_default(Param::UndoTablespace) {
            return Err(missing(&name_of(current)));
        }
        let mut others = txns.undo_segments().into_iter().map(|s| s.tablespace).filter(|t| known.contains(t));
        current = others.next().ok_or_else(|| missing(&name_of(current)))?;
        txns.use_undo_tablespace(current)?;
    }
    let name = name_of(current);
    if instance.params().get(Param::UndoTablespace) != name {
        instance.set_parameter(Param::UndoTablespace, &name);
    }
    Ok(())
}
