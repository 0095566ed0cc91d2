//! The states of constraints: enabled, validated, deferred, RELY; and the search for rows that violate a constraint.
//!
//! A constraint keeps its number through all changes of state, because foreign keys refer to it by that number.

use crate::columns;
use crate::constraint::Subject;
use crate::constraint::{bits, key_index, quoted, release_index, require_no_rows_in};
use crate::index;
use crate::rows;
use crate::work::Work;
use dictionary::base::{Base, cdef};
use dictionary::rows::int;
use dictionary::*;
use sql::ast::{KeyIndex, Name, StateClause, UsingIndex};
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

/// The options of ALTER TABLE besides the state.
#[derive(Default)]
pub struct Ways<'a> {
    /// Foreign keys that reference the key are disabled with it.
    pub cascade: bool,
    pub index: KeyIndex,
    pub using: Option<&'a UsingIndex>,
    pub exceptions: Option<&'a Name>,
}

/// The rows that violate a constraint.
struct Against {
    /// A query that returns a row if there is one.
    any: String,
    /// A query that returns their rowids.
    rowids: String,
    code: u32,
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
    ways: &Ways<'_>,
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
        (false, true) => enable(work, on, &mut def, ways, pos)?,
        (true, false) => disable(work, on, &mut def, ways, pos)?,
        _ => {}
    }
    if def.validated && !(old.validated && old.enabled == def.enabled) {
        validate(work, on.table, &def, ways.exceptions, pos)?;
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

fn enable(work: &mut Work<'_>, on: &mut Subject<'_>, def: &mut ConstraintDef, ways: &Ways<'_>, pos: u32) -> Result<()> {
    match &mut def.kind {
        ConstraintKindDef::PrimaryKey { columns, index } => {
            require_not_null(work, on, columns, pos)?;
            let made = key_index(work, on, &def.name, columns, ways.using, (true, def.deferrable, def.validated), pos);
            *index = made.map_err(|e| noted(work, on.table, &def.name, columns, ways.exceptions, e))?;
        }
        ConstraintKindDef::Unique { columns, index } => {
            let made = key_index(work, on, &def.name, columns, ways.using, (false, def.deferrable, def.validated), pos);
            *index = made.map_err(|e| noted(work, on.table, &def.name, columns, ways.exceptions, e))?;
        }
        ConstraintKindDef::ForeignKey { table, key, .. } => {
            let parent = if *table == on.table.object { None } else { Some(index::existing_table(work, *table)?) };
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
    ways: &Ways<'_>,
    pos: u32,
) -> Result<()> {
    let (ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. }) = &mut def.kind else {
        return Ok(());
    };
    let enforcing = std::mem::replace(index, ObjectId(0));
    disable_references(work, on, def, ways.cascade, pos)?;
    release_index(work, on.table, enforcing, ways.index)?;
    if let ConstraintKindDef::PrimaryKey { columns, .. } = &def.kind {
        free_columns(work, on, columns, def.id)?;
    }
    Ok(())
}

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
        let other = if own { None } else { Some(index::existing_table(work, reference.from_table)?) };
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
    let Some(against) = against(work, table, def)? else { return Ok(()) };
    let enforcing = match &def.kind {
        ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => {
            table.indexes.iter().find(|i| i.object == *index)
        }
        _ => None,
    };
    let found = match enforcing {
        Some(index) => !index.unique && crate::tree::has_repeats(&work.host.parts(), table, index)?,
        None => finds_row(work, table, &against.any)?,
    };
    if !found {
        return Ok(());
    }
    note(work, table, &def.name, &against.rowids, exceptions);
    Err(Ora::with(against.code, &[&table.owner, &def.name]).at(pos))
}

fn against(work: &Work<'_>, table: &TableDef, def: &ConstraintDef) -> Result<Option<Against>> {
    let simple = |condition: &str, code| Against {
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
            let other = if *parent == table.object { None } else { Some(index::existing_table(work, *parent)?) };
            let parent = other.as_deref().unwrap_or(table);
            let key = parent.constraints.iter().find(|c| c.id == *key);
            let Some(ConstraintKindDef::PrimaryKey { columns: to, .. } | ConstraintKindDef::Unique { columns: to, .. }) =
                key.map(|key| &key.kind)
            else {
                return Ok(None);
            };
            let orphans = orphans(table, columns, parent, to);
            Against {
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
fn of_key(table: &TableDef, columns: &[usize], code: u32) -> Against {
    let names: Vec<String> = columns.iter().map(|c| name(table, *c)).collect();
    let given: Vec<String> = names.iter().map(|n| format!("{n} is not null")).collect();
    let (list, given, of) = (names.join(", "), given.join(" or "), quoted(table));
    Against {
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
