//! The states of constraints: enabled, validated, deferred, RELY.
//!
//! A constraint keeps its number through all changes of state, because foreign keys refer to it by that number.

use crate::constraint::{bits, key_index, release_index, require_no_rows_in};
use crate::not_null::{free_columns, require_not_null, set_nullable};
use crate::validation::{Subject, noted, validate};
use crate::work::Work;
use dictionary::base::{Base, cdef};
use dictionary::rows::int;
use dictionary::*;
use sql::ast::{KeyIndex, Name, StateClause, UsingIndex};
use types::{ObjectId, Ora, Result, Value};

/// The options of ALTER TABLE besides the state.
#[derive(Default)]
pub struct StateOptions<'a> {
    /// Foreign keys that reference the key are disabled with it.
    pub cascade: bool,
    pub index: KeyIndex,
    pub using: Option<&'a UsingIndex>,
    pub exceptions: Option<&'a Name>,
}

/// Changes the state of an existing constraint: ENABLE, DISABLE and MODIFY CONSTRAINT.
///
/// # Errors
/// ORA-02447, ORA-25188, ORA-02297, ORA-02270; ORA-02293, ORA-02296, ORA-02298, ORA-02299, ORA-02437 when rows violate
/// it.
pub fn change(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    old: &ConstraintDef,
    clause: &StateClause,
    options: &StateOptions<'_>,
    pos: u32,
) -> Result<()> {
    let StateClause { enabled, validated, deferrable: _, initially_deferred, rely } = clause;
    let mut def = old.clone();
    def.enabled = enabled.unwrap_or(old.enabled);
    def.validated = validated.unwrap_or(if enabled.is_some() { def.enabled } else { old.validated });
    def.rely = rely.unwrap_or(old.rely);
    def.initially_deferred = initially_deferred.unwrap_or(old.initially_deferred);
    if def.initially_deferred && !def.deferrable {
        return Err(Ora::new(2447).at(pos));
    }
    if !def.enabled {
        require_no_rows_in(on.table, &def, pos)?;
    }
    match (old.enabled, def.enabled) {
        (false, true) => enable(work, on, &mut def, options, pos)?,
        (true, false) => disable(work, on, &mut def, options, pos)?,
        _ => {}
    }
    if def.validated && !(old.validated && old.enabled == def.enabled) {
        validate(work, on.table, &def, options.exceptions, pos)?;
    }
    if let ConstraintKindDef::NotNull { column } = def.kind {
        set_nullable(work, on, column, &def)?;
    }
    if let ConstraintKindDef::ForeignKey { table, .. } = def.kind {
        work.touch(table);
    }
    store(work, &def)?;
    if let Some(have) = on.table.constraints.iter_mut().find(|have| have.id == def.id) {
        *have = def;
    }
    Ok(())
}

fn enable(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    def: &mut ConstraintDef,
    options: &StateOptions<'_>,
    pos: u32,
) -> Result<()> {
    match &mut def.kind {
        ConstraintKindDef::PrimaryKey { columns, index } => {
            require_not_null(work, on, columns, pos)?;
            let made =
                key_index(work, on, &def.name, columns, options.using, (true, def.deferrable, def.validated), pos);
            *index = made.map_err(|e| noted(work, on.table, &def.name, columns, options.exceptions, e))?;
        }
        ConstraintKindDef::Unique { columns, index } => {
            let made =
                key_index(work, on, &def.name, columns, options.using, (false, def.deferrable, def.validated), pos);
            *index = made.map_err(|e| noted(work, on.table, &def.name, columns, options.exceptions, e))?;
        }
        ConstraintKindDef::ForeignKey { table, key, .. } => {
            let parent = if *table == on.table.object { None } else { Some(work.existing_table(*table)?) };
            let parent = parent.as_deref().unwrap_or(on.table);
            if !parent.constraints.iter().any(|c| c.id == *key && c.enabled) {
                return Err(Ora::new(2270).at(pos));
            }
        }
        _ => {}
    }
    Ok(())
}

fn disable(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    def: &mut ConstraintDef,
    options: &StateOptions<'_>,
    pos: u32,
) -> Result<()> {
    let (ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. }) = &mut def.kind else {
        return Ok(());
    };
    let enforcing = std::mem::replace(index, ObjectId(0));
    disable_references(work, on, def, options.cascade, pos)?;
    release_index(work, on.table, enforcing, options.index)?;
    if let ConstraintKindDef::PrimaryKey { columns, .. } = &def.kind {
        free_columns(work, on, columns, def.id)?;
    }
    Ok(())
}

/// Disables the foreign keys that reference a key; ORA-02297 without CASCADE.
fn disable_references(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    key: &ConstraintDef,
    cascade: bool,
    pos: u32,
) -> Result<()> {
    let of_key = |r: &&ForeignKeyTo| r.key == key.id && r.enabled;
    let references: Vec<ForeignKeyTo> = on.table.referenced_by.iter().filter(of_key).cloned().collect();
    if !references.is_empty() && !cascade {
        return Err(Ora::with(2297, &[&on.table.owner, &key.name]).at(pos));
    }
    for reference in references {
        let own = reference.from_table == on.table.object;
        if !own {
            work.lock(reference.from_table)?;
        }
        let other = if own { None } else { Some(work.existing_table(reference.from_table)?) };
        let from = other.as_deref().unwrap_or(on.table);
        let Some(mut def) = from.constraints.iter().find(|c| c.id == reference.constraint).cloned() else { continue };
        (def.enabled, def.validated) = (false, false);
        store(work, &def)?;
        work.touch(reference.from_table);
        if let Some(have) = on.table.constraints.iter_mut().find(|have| own && have.id == def.id) {
            *have = def;
        }
    }
    on.table.referenced_by.iter_mut().filter(|r| r.key == key.id).for_each(|r| r.enabled = false);
    Ok(())
}

/// Writes a constraint's state, and the index that enforces it.
fn store(work: &mut Work<'_>, def: &ConstraintDef) -> Result<()> {
    let (id, bits, now) = (def.id, bits(def), work.now);
    let index = match &def.kind {
        ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } if index.0 != 0 => {
            int(index.0)
        }
        _ => Value::Null,
    };
    work.change().update_by(Base::Cdef, By::new(cdef::CON, id), &mut |row| {
        row[cdef::DEFER] = int(bits);
        row[cdef::ENABLED] = int(i64::from(def.enabled));
        row[cdef::INDEX] = index.clone();
        row[cdef::MTIME] = Value::Date(now);
    })?;
    Ok(())
}
