//! NOT NULL of columns, by their own constraints and by primary keys.

use crate::validation::Subject;
use crate::work::Work;
use crate::{columns, rows};
use dictionary::*;
use types::{Ora, Result};

/// The columns of a removed primary key may be NULL again, unless another constraint forbids it.
pub fn free_columns(work: &mut Work<'_>, on: &mut Subject<'_>, columns: &[usize], key: u32) -> Result<()> {
    for &column in columns {
        let says_so = |c: &ConstraintDef| match &c.kind {
            ConstraintKindDef::NotNull { column: of } => *of == column && c.enabled && c.validated && !c.deferrable,
            ConstraintKindDef::PrimaryKey { columns, .. } => c.id != key && c.enabled && columns.contains(&column),
            _ => false,
        };
        let def = &on.table.columns[column];
        if def.nullable || def.default_on_null || def.identity.is_some() || on.table.constraints.iter().any(says_so) {
            continue;
        }
        on.table.columns[column].nullable = true;
        columns::update(work, on.table.object, column, &on.table.columns[column])?;
    }
    Ok(())
}

/// Makes a primary key's columns NOT NULL. ORA-01449 when a row has a NULL there.
pub fn require_not_null(work: &mut Work<'_>, on: &mut Subject<'_>, columns: &[usize], pos: u32) -> Result<()> {
    for column in columns {
        if !on.table.columns[*column].nullable {
            continue;
        }
        if on.exists && rows::any_null(work, on.table, *column)? {
            return Err(Ora::new(1449).at(pos));
        }
        on.table.columns[*column].nullable = false;
        if on.exists {
            columns::update(work, on.table.object, *column, &on.table.columns[*column])?;
        }
    }
    Ok(())
}

/// Sets a column's own NOT NULL, which holds only if no row may have a NULL at any time.
pub fn set_nullable(work: &mut Work<'_>, on: &mut Subject<'_>, column: usize, def: &ConstraintDef) -> Result<()> {
    let in_key = |c: &ConstraintDef| match &c.kind {
        ConstraintKindDef::PrimaryKey { columns, .. } => c.enabled && columns.contains(&column),
        _ => false,
    };
    let own = &on.table.columns[column];
    let implied = own.default_on_null || own.identity.is_some();
    let strict = implied || (def.enabled && def.validated && !def.deferrable);
    let nullable = !strict && !on.table.constraints.iter().any(in_key);
    on.table.columns[column].nullable = nullable;
    if !on.exists {
        return Ok(());
    }
    columns::update(work, on.table.object, column, &on.table.columns[column])
}
