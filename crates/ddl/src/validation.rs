//! The table of constraints that are added or changed, and the search for its rows that violate a constraint.

use crate::work::Work;
use dictionary::*;
use sql::ast::{ConstraintSpec, Name};
use std::rc::Rc;
use types::{Ora, Result};

/// A table that gets constraints.
pub struct Subject<'t> {
    pub table: &'t mut TableDef,
    /// The table is in the dictionary already: its rows are validated and COL$ is changed.
    pub exists: bool,
    /// The statement that creates the table has inserted rows.
    pub filled: bool,
}

impl<'t> Subject<'t> {
    /// A table of the dictionary.
    pub fn of(table: &'t mut TableDef) -> Subject<'t> {
        Subject { table, exists: true, filled: false }
    }

    /// Checks the rows for a constraint that is to be validated.
    ///
    /// # Errors
    /// Those of [`validate`]; ORA-02290 when the statement itself has inserted the violating row.
    pub fn validate(&self, work: &mut Work<'_>, def: &ConstraintDef, spec: Option<&ConstraintSpec>) -> Result<()> {
        if !def.validated || !(self.exists || self.filled) {
            return Ok(());
        }
        let exceptions = spec.and_then(|spec| spec.exceptions.as_ref());
        let done = validate(work, self.table, def, exceptions, spec.map_or(0, |spec| spec.pos.0));
        match done {
            Err(e) if self.filled && (e.is(2293) || e.is(2296)) => {
                Err(Ora::with(2290, &[&self.table.owner, &def.name]))
            }
            done => done,
        }
    }
}

/// The rows that violate a constraint.
struct Violations {
    /// A query that returns a row if there is one.
    any: String,
    /// A query that returns their rowids.
    rowids: String,
    code: u32,
}

/// Checks the table's rows for a constraint (L9). With `exceptions`, the violating rows are noted there after the
/// statement has failed.
///
/// # Errors
/// ORA-02293, ORA-02296, ORA-02298, ORA-02299, ORA-02437.
pub fn validate(
    work: &mut Work<'_>,
    table: &TableDef,
    def: &ConstraintDef,
    exceptions: Option<&Name>,
    pos: u32,
) -> Result<()> {
    let Some(violations) = violations(work, table, def)? else { return Ok(()) };
    let enforcing = match &def.kind {
        ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => {
            table.indexes.iter().find(|i| i.object == *index)
        }
        _ => None,
    };
    let found = match enforcing {
        Some(index) => !index.unique && crate::tree::has_repeats(&work.host.parts(), table, index)?,
        None => finds_row(work, table, &violations.any)?,
    };
    if !found {
        return Ok(());
    }
    note(work, table, &def.name, &violations.rowids, exceptions);
    Err(Ora::with(violations.code, &[&table.owner, &def.name]).at(pos))
}

fn violations(work: &Work<'_>, table: &TableDef, def: &ConstraintDef) -> Result<Option<Violations>> {
    let simple = |condition: &str, code| Violations {
        any: format!("select 1 from {} where {condition} and rownum = 1", quoted(table)),
        rowids: format!("select rowid r from {} where {condition}", quoted(table)),
        code,
    };
    Ok(Some(match &def.kind {
        ConstraintKindDef::PrimaryKey { columns, .. } => of_key(table, columns, 2437),
        ConstraintKindDef::Unique { columns, .. } => of_key(table, columns, 2299),
        ConstraintKindDef::Check { text } => simple(&format!("not ({text})"), 2293),
        ConstraintKindDef::NotNull { column } => simple(&format!("{} is null", name(table, *column)), 2296),
        ConstraintKindDef::ForeignKey { columns, table: parent, key, .. } => {
            let other = if *parent == table.object { None } else { Some(work.existing_table(*parent)?) };
            let parent = other.as_deref().unwrap_or(table);
            let key = parent.constraints.iter().find(|c| c.id == *key);
            let Some(ConstraintKindDef::PrimaryKey { columns: to, .. } | ConstraintKindDef::Unique { columns: to, .. }) =
                key.map(|key| &key.kind)
            else {
                return Ok(None);
            };
            let orphans = orphans(table, columns, parent, to);
            Violations {
                any: format!("select 1 {orphans} and rownum = 1"),
                rowids: format!("select c.rowid r {orphans}"),
                code: 2298,
            }
        }
    }))
}

fn name(table: &TableDef, column: usize) -> String {
    format!("\"{}\"", table.columns[column].name)
}

/// Rows with duplicate keys. A key of only NULLs may be repeated.
fn of_key(table: &TableDef, columns: &[usize], code: u32) -> Violations {
    let names: Vec<String> = columns.iter().map(|c| name(table, *c)).collect();
    let given: Vec<String> = names.iter().map(|n| format!("{n} is not null")).collect();
    let (list, given, of) = (names.join(", "), given.join(" or "), quoted(table));
    Violations {
        any: format!(
            "select 1 from (select 1 from {of} where {given} group by {list} having count(*) > 1) where rownum = 1"
        ),
        rowids: format!(
            "select r from (select rowid r, count(*) over (partition by {list}) n, {list} from {of}) \
             where n > 1 and ({given})"
        ),
        code,
    }
}

/// The rows of a child without a parent, as a text from FROM on.
fn orphans(child: &TableDef, columns: &[usize], parent: &TableDef, parent_columns: &[usize]) -> String {
    let given: Vec<String> = columns.iter().map(|c| format!("c.{} is not null", name(child, *c))).collect();
    let equal: Vec<String> = columns
        .iter()
        .zip(parent_columns)
        .map(|(c, p)| format!("p.{} = c.{}", name(parent, *p), name(child, *c)))
        .collect();
    format!(
        "from {} c where {} and not exists (select 1 from {} p where {})",
        quoted(child),
        given.join(" and "),
        quoted(parent),
        equal.join(" and ")
    )
}

/// Notes the rows whose keys prevent an index, if `e` is that error.
pub fn noted(
    work: &mut Work<'_>,
    table: &TableDef,
    constraint: &str,
    columns: &[usize],
    exceptions: Option<&Name>,
    e: Ora,
) -> Ora {
    if e.is(2437) || e.is(2299) {
        note(work, table, constraint, &of_key(table, columns, 0).rowids, exceptions);
    }
    e
}

/// EXCEPTIONS INTO: the INSERT to run once the statement has been undone.
fn note(work: &mut Work<'_>, table: &TableDef, constraint: &str, rowids: &str, exceptions: Option<&Name>) {
    let Some(into) = exceptions else { return };
    let literal = |s: &str| format!("'{}'", s.replace('\'', "''"));
    work.exceptions = Some(format!(
        "insert into {into} select r, {}, {}, {} from ({rowids})",
        literal(&table.owner),
        literal(&table.name),
        literal(constraint)
    ));
}

/// Whether a query of the DDL statement on a table, as the statement defines it, returns a row.
fn finds_row(work: &mut Work<'_>, table: &TableDef, text: &str) -> Result<bool> {
    let query = sql::parse_query(text)?;
    let mut found = false;
    work.host.rows_ahead(&query, &Rc::new(table.clone()), &mut |_, _| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}

fn quoted(table: &TableDef) -> String {
    format!("\"{}\".\"{}\"", table.owner, table.name)
}
