//! Constraints: keys with their indexes, checks, foreign keys.

use crate::columns;
use crate::index::{self, NewIndex, column_position};
use crate::rows;
use crate::work::{Target, Work};
use dictionary::base::{Base, ccol, cdef, con};
use dictionary::image::property;
use dictionary::rows::{Row, as_u32, blank, int, text};
use dictionary::*;
use sql::ast::{self, ConstraintKind, ConstraintSpec, ConstraintState, Ident, OnDelete, SegmentOptions, UsingIndex};
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Value};

/// A table that constraints are being added to.
pub struct Subject<'t> {
    pub table: &'t mut TableDef,
    /// The table is in the dictionary already: its rows are validated and COL$ is changed.
    pub exists: bool,
}

/// Adds one constraint; its index with it.
pub fn add(work: &mut Work<'_>, on: &mut Subject<'_>, spec: &ConstraintSpec) -> Result<()> {
    if spec.state.deferrable {
        // A constraint that is checked at commit only is not there yet.
        return Err(Ora::unsupported().at(spec.pos.0));
    }
    match &spec.kind {
        ConstraintKind::Null => Ok(()),
        ConstraintKind::NotNull => Ok(()),
        ConstraintKind::PrimaryKey { columns, using } => add_key(work, on, spec, columns, using.as_deref(), true),
        ConstraintKind::Unique { columns, using } => add_key(work, on, spec, columns, using.as_deref(), false),
        ConstraintKind::Check { condition, text } => add_check(work, on, spec, condition, text),
        ConstraintKind::References { columns, table, referenced, on_delete } => {
            add_foreign_key(work, on, spec, columns, table, referenced, *on_delete)
        }
    }
}

/// The constraint of a NOT NULL column; the column's own definition says the rest.
pub fn add_not_null(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: Option<&ConstraintSpec>,
    column: usize,
) -> Result<()> {
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, spec, id)?;
    let condition = format!("\"{}\" IS NOT NULL", on.table.columns[column].name);
    let state = spec.map_or_else(ConstraintState::default, |spec| spec.state);
    let def = definition(id, name, generated, ConstraintKindDef::NotNull { column }, &state);
    enter(work, on, def, &[column], Some(&condition))
}

/// The given name, or a generated one. ORA-02264 for a name that is taken.
fn name_of(work: &Work<'_>, on: &Subject<'_>, spec: Option<&ConstraintSpec>, id: u32) -> Result<(String, bool)> {
    let Some(name) = spec.and_then(|spec| spec.name.as_ref()) else {
        return Ok((format!("SYS_C{id:06}"), true));
    };
    let taken = work.image.constraint_named(on.table.owner_id, &name.name).is_some()
        || on.table.constraints.iter().any(|constraint| constraint.name == name.name);
    if taken { Err(Ora::new(2264).at(name.pos.0)) } else { Ok((name.name.clone(), false)) }
}

fn definition(
    id: u32,
    name: String,
    generated: bool,
    kind: ConstraintKindDef,
    state: &ConstraintState,
) -> ConstraintDef {
    ConstraintDef {
        id,
        name,
        generated,
        kind,
        enabled: state.enabled,
        validated: state.enabled && state.validated,
        deferrable: state.deferrable,
        initially_deferred: state.initially_deferred,
    }
}

/// Enters the constraint in the dictionary and in the table's definition.
fn enter(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    def: ConstraintDef,
    columns: &[usize],
    condition: Option<&str>,
) -> Result<()> {
    let owner = on.table.owner_id;
    work.change().insert(Base::Con, &[int(owner.0), text(def.name.as_str()), int(def.id)])?;
    let mut row = blank(Base::Cdef);
    row[cdef::CON] = int(def.id);
    row[cdef::OBJ] = int(on.table.object.0);
    row[cdef::CONDITION] = condition.map_or(Value::Null, text);
    row[cdef::DEFER] = int(bits(&def));
    row[cdef::MTIME] = Value::Date(work.now);
    row[cdef::ENABLED] = int(i64::from(def.enabled));
    row[cdef::TYPE] = int(match &def.kind {
        ConstraintKindDef::Check { .. } => 1,
        ConstraintKindDef::PrimaryKey { .. } => 2,
        ConstraintKindDef::Unique { .. } => 3,
        ConstraintKindDef::ForeignKey { .. } => 4,
        ConstraintKindDef::NotNull { .. } => 7,
    });
    match &def.kind {
        ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } => {
            row[cdef::INDEX] = if index.0 == 0 { Value::Null } else { int(index.0) };
        }
        ConstraintKindDef::ForeignKey { table, key, on_delete, .. } => {
            row[cdef::ROBJ] = int(table.0);
            row[cdef::RCON] = int(*key);
            row[cdef::REFACT] = match on_delete {
                OnDeleteDef::Restrict => Value::Null,
                OnDeleteDef::Cascade => int(1),
                OnDeleteDef::SetNull => int(2),
            };
        }
        _ => {}
    }
    work.change().insert(Base::Cdef, &row)?;
    let rows: Vec<Row> = columns
        .iter()
        .enumerate()
        .map(|(i, column)| vec![int(def.id), int(on.table.object.0), int(*column as i64 + 1), int(i as i64 + 1)])
        .collect();
    work.change().insert_many(Base::Ccol, &rows)?;
    on.table.constraints.push(def);
    Ok(())
}

/// DEFER of CDEF$.
fn bits(def: &ConstraintDef) -> i64 {
    let all = [
        (def.deferrable, property::CON_DEFERRABLE),
        (def.initially_deferred, property::CON_INITIALLY_DEFERRED),
        (def.validated, property::CON_VALIDATED),
        (def.generated, property::CON_GENERATED),
        (!def.enabled, property::CON_DISABLED),
    ];
    all.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum()
}

fn positions(table: &TableDef, columns: &[Ident]) -> Result<Vec<usize>> {
    columns::check_names(columns.iter().map(|column| (column.name.as_str(), column.pos.0)))?;
    columns.iter().map(|column| column_position(table, column)).collect()
}

fn add_key(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: &ConstraintSpec,
    columns: &[Ident],
    using: Option<&UsingIndex>,
    primary: bool,
) -> Result<()> {
    let pos = spec.pos.0;
    let positions = positions(on.table, columns)?;
    for constraint in &on.table.constraints {
        match &constraint.kind {
            ConstraintKindDef::PrimaryKey { .. } if primary => return Err(Ora::new(2260).at(pos)),
            ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. }
                if *columns == positions =>
            {
                return Err(Ora::new(2261).at(pos));
            }
            _ => {}
        }
    }
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, Some(spec), id)?;
    if primary && spec.state.enabled {
        require_not_null(work, on, &positions, pos)?;
    }
    let index =
        if spec.state.enabled { key_index(work, on, &name, &positions, using, primary, pos)? } else { ObjectId(0) };
    let kind = if primary {
        ConstraintKindDef::PrimaryKey { columns: positions.clone(), index }
    } else {
        ConstraintKindDef::Unique { columns: positions.clone(), index }
    };
    let def = definition(id, name, generated, kind, &spec.state);
    enter(work, on, def, &positions, None)
}

/// A primary key's columns become NOT NULL. ORA-01449 when a row has a NULL there.
fn require_not_null(work: &mut Work<'_>, on: &mut Subject<'_>, columns: &[usize], pos: u32) -> Result<()> {
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

/// The index that enforces a key: the named one, one that is there on the same columns, or a new one of the constraint's name.
fn key_index(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    name: &str,
    columns: &[usize],
    using: Option<&UsingIndex>,
    primary: bool,
    pos: u32,
) -> Result<ObjectId> {
    let keys: Vec<IndexKey> = columns.iter().map(|column| IndexKey::Column(*column)).collect();
    let fits = |index: &IndexDef| index.unique && index.columns.iter().map(|c| &c.key).eq(keys.iter());
    if let Some(UsingIndex::Existing(name)) = using {
        let target = work.target(name)?;
        let found = on.table.indexes.iter().find(|index| index.name == target.name && index.owner_id == target.owner);
        let index = found.ok_or_else(|| Ora::new(1418).at(target.pos))?;
        return if fits(index) { Ok(index.object) } else { Err(Ora::new(14196).at(target.pos)) };
    }
    if let Some(index) = on.table.indexes.iter().find(|index| fits(index)) {
        return Ok(index.object);
    }
    let full = format_args!("{}.{}", on.table.owner, name).to_string();
    let (owner, owner_name) = (on.table.owner_id, on.table.owner.clone());
    let mut target = Target { owner, owner_name, name: name.to_owned(), pos };
    let mut options = SegmentOptions::default();
    match using {
        Some(UsingIndex::Options(given)) => options = given.clone(),
        Some(UsingIndex::Create(create)) => {
            target = work.target(&create.name)?;
            options = create.options.clone();
        }
        _ => {}
    }
    work.require_new(&target, ObjectKind::Index)?;
    let (owner, constraint) = full.split_once('.').unwrap_or(("", &full));
    let duplicate = Ora::with(if primary { 2437 } else { 2299 }, &[&owner, &constraint]).at(pos);
    let iot = primary && matches!(on.table.organization, Organization::Index(_));
    let new = NewIndex {
        target,
        unique: true,
        kind: if iot { IndexKind::IotTop } else { IndexKind::Normal },
        columns: columns.iter().map(|column| (*column, false)).collect(),
        options,
        invisible: false,
        for_key: true,
        duplicate,
    };
    let index = index::make(work, on.table, new)?;
    on.table.indexes.push(index.clone());
    if iot {
        on.table.organization = Organization::Index(index.segment);
    }
    Ok(index.object)
}

fn add_check(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: &ConstraintSpec,
    condition: &ast::Expr,
    source: &str,
) -> Result<()> {
    let mut used = Vec::new();
    check_columns(on.table, condition, &mut used)?;
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, Some(spec), id)?;
    if on.exists && spec.state.enabled && spec.state.validated {
        let text = format!("select 1 from {} where not ({source}) and rownum = 1", quoted(on.table));
        if finds_row(work, &text)? {
            return Err(Ora::with(2293, &[&on.table.owner, &name]).at(spec.pos.0));
        }
    }
    let kind = ConstraintKindDef::Check { text: source.to_owned() };
    let def = definition(id, name, generated, kind, &spec.state);
    enter(work, on, def, &used, Some(source))
}

/// The columns a condition uses. ORA-00904 for an unknown one, ORA-02438-like errors for what a check may not use.
fn check_columns(table: &TableDef, expr: &ast::Expr, used: &mut Vec<usize>) -> Result<()> {
    let mut bad = None;
    sql::visit_expr(expr, &mut |expr| {
        let error = match &expr.kind {
            ast::ExprKind::Name(name) => match table.column(name.last()) {
                Some((at, _)) => {
                    if !used.contains(&at) {
                        used.push(at);
                    }
                    None
                }
                None if matches!(name.last(), "SYSDATE" | "SYSTIMESTAMP" | "USER" | "UID" | "ROWNUM" | "LEVEL") => {
                    Some(2436)
                }
                None => Some(904),
            },
            ast::ExprKind::Subquery(_) | ast::ExprKind::Exists(_) => Some(2251),
            ast::ExprKind::In { source: ast::InSource::Query(_), .. } => Some(2251),
            ast::ExprKind::Bind(_) => Some(1027),
            _ => None,
        };
        if let Some(code) = error
            && bad.is_none()
        {
            bad = Some(match (&expr.kind, code) {
                (ast::ExprKind::Name(name), 904) => {
                    Ora::with(904, &[&format_args!("\"{}\"", name.last())]).at(expr.pos.0)
                }
                _ => Ora::new(code).at(expr.pos.0),
            });
        }
    });
    bad.map_or(Ok(()), Err)
}

fn add_foreign_key(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    spec: &ConstraintSpec,
    columns: &[Ident],
    parent: &ast::Name,
    referenced: &[Ident],
    on_delete: OnDelete,
) -> Result<()> {
    let positions = positions(on.table, columns)?;
    let target = work.target(parent)?;
    let itself = target.owner == on.table.owner_id && target.name == on.table.name;
    let parent_table: Rc<TableDef> = if itself {
        Rc::new(on.table.clone())
    } else {
        let object = work.existing(&target, ObjectKind::Table, 942)?;
        if !work.names.allowed(object, target.owner, ObjectPrivilege::References)? {
            return Err(Ora::new(1031).at(target.pos));
        }
        index::existing_table(work, object)?
    };
    let (key, parent_columns) = referenced_key(&parent_table, referenced, target.pos)?;
    if parent_columns.len() != positions.len() {
        return Err(Ora::new(2256).at(target.pos));
    }
    let class = |ty: &DataType| plan_class(ty);
    for (child, parent) in positions.iter().zip(&parent_columns) {
        let (a, b) = (&on.table.columns[*child].data_type, &parent_table.columns[*parent].data_type);
        if class(a) != class(b) {
            return Err(Ora::new(2267).at(spec.pos.0));
        }
    }
    let same = |constraint: &ConstraintDef| {
        matches!(&constraint.kind, ConstraintKindDef::ForeignKey { columns, table, .. }
            if *columns == positions && *table == parent_table.object)
    };
    if on.table.constraints.iter().any(same) {
        return Err(Ora::new(2275).at(spec.pos.0));
    }
    let id = work.host.parts().dict.shared().next_constraint();
    let (name, generated) = name_of(work, on, Some(spec), id)?;
    if on.exists && spec.state.enabled && spec.state.validated {
        let text = orphan_query(on.table, &positions, &parent_table, &parent_columns);
        if finds_row(work, &text)? {
            return Err(Ora::with(2298, &[&on.table.owner, &name]).at(spec.pos.0));
        }
    }
    let on_delete = match on_delete {
        OnDelete::Restrict => OnDeleteDef::Restrict,
        OnDelete::Cascade => OnDeleteDef::Cascade,
        OnDelete::SetNull => OnDeleteDef::SetNull,
    };
    let kind = ConstraintKindDef::ForeignKey { columns: positions.clone(), table: parent_table.object, key, on_delete };
    work.touch(parent_table.object);
    let def = definition(id, name, generated, kind, &spec.state);
    enter(work, on, def, &positions, None)
}

/// Types whose values compare without conversion.
fn plan_class(ty: &DataType) -> u8 {
    match ty {
        _ if ty.is_numeric() => 1,
        _ if ty.is_text() => 2,
        _ if ty.is_datetime() => 3,
        DataType::Raw { .. } => 4,
        _ => 5,
    }
}

/// The key that a foreign key refers to: the primary key, or the key on the named columns. ORA-02268, ORA-02270.
fn referenced_key(parent: &TableDef, columns: &[Ident], pos: u32) -> Result<(u32, Vec<usize>)> {
    let wanted = if columns.is_empty() { None } else { Some(positions(parent, columns)?) };
    for constraint in &parent.constraints {
        match (&constraint.kind, &wanted) {
            (ConstraintKindDef::PrimaryKey { columns, .. }, None) => return Ok((constraint.id, columns.clone())),
            (
                ConstraintKindDef::PrimaryKey { columns, .. } | ConstraintKindDef::Unique { columns, .. },
                Some(wanted),
            ) if columns == wanted => {
                return Ok((constraint.id, columns.clone()));
            }
            _ => {}
        }
    }
    Err(Ora::new(if wanted.is_none() { 2268 } else { 2270 }).at(pos))
}

fn orphan_query(child: &TableDef, columns: &[usize], parent: &TableDef, parent_columns: &[usize]) -> String {
    let name = |table: &TableDef, column: &usize| format!("\"{}\"", table.columns[*column].name);
    let given: Vec<String> = columns.iter().map(|c| format!("c.{} is not null", name(child, c))).collect();
    let equal: Vec<String> = columns
        .iter()
        .zip(parent_columns)
        .map(|(c, p)| format!("p.{} = c.{}", name(parent, p), name(child, c)))
        .collect();
    format!(
        "select 1 from {} c where {} and not exists (select 1 from {} p where {}) and rownum = 1",
        quoted(child),
        given.join(" and "),
        quoted(parent),
        equal.join(" and ")
    )
}

fn quoted(table: &TableDef) -> String {
    format!("\"{}\".\"{}\"", table.owner, table.name)
}

/// Whether a query of DDL's own has a row.
fn finds_row(work: &mut Work<'_>, text: &str) -> Result<bool> {
    let query = sql::parse_query(text)?;
    let mut found = false;
    work.host.rows(&query, None, &mut |_, _| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}

/// ORA-25188 for the key that holds a table's rows.
pub fn require_no_rows_in(table: &TableDef, constraint: &ConstraintDef, pos: u32) -> Result<()> {
    let is_primary = matches!(constraint.kind, ConstraintKindDef::PrimaryKey { .. });
    if is_primary && table.options.index_organized { Err(Ora::new(25188).at(pos)) } else { Ok(()) }
}

/// Takes a constraint out; the index with it when it was made for the key.
pub fn remove(work: &mut Work<'_>, table: &mut TableDef, constraint: &ConstraintDef, keep_index: bool) -> Result<()> {
    let mine = |column: usize| {
        let id = constraint.id;
        move |row: &[Value]| as_u32(&row[column]) == id
    };
    work.change().delete(Base::Con, &mine(con::CON))?;
    work.change().delete(Base::Cdef, &mine(cdef::CON))?;
    work.change().delete(Base::Ccol, &mine(ccol::CON))?;
    table.constraints.retain(|other| other.id != constraint.id);
    if let ConstraintKindDef::PrimaryKey { index, .. } | ConstraintKindDef::Unique { index, .. } = constraint.kind
        && !keep_index
        && let Some(at) = table.indexes.iter().position(|have| have.object == index && have.name == constraint.name)
    {
        let index = table.indexes.remove(at);
        index::remove(work, &index)?;
    }
    Ok(())
}

/// Takes out the foreign keys that refer to a key, or to any key of a table. Without `cascade`, ORA-02273 or ORA-02449.
pub fn remove_references(
    work: &mut Work<'_>,
    table: &TableDef,
    key: Option<u32>,
    cascade: bool,
    pos: u32,
) -> Result<()> {
    let references: Vec<ForeignKeyTo> = table
        .referenced_by
        .iter()
        .filter(|reference| {
            key.is_none_or(|key| reference.key == key) && (key.is_some() || reference.from_table != table.object)
        })
        .cloned()
        .collect();
    if references.is_empty() {
        return Ok(());
    }
    if !cascade {
        return Err(Ora::new(if key.is_some() { 2273 } else { 2449 }).at(pos));
    }
    for reference in references {
        let mut from = (*index::existing_table(work, reference.from_table)?).clone();
        work.lock(from.object)?;
        let found = from.constraints.iter().find(|constraint| constraint.id == reference.constraint).cloned();
        if let Some(constraint) = found {
            remove(work, &mut from, &constraint, false)?;
        }
        work.touch(from.object);
    }
    Ok(())
}

/// ENABLE or DISABLE of a constraint. Keys are checked by their index, which comes and goes with them.
pub fn set_enabled(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    constraint: &ConstraintDef,
    state: &ConstraintState,
    cascade: bool,
    pos: u32,
) -> Result<()> {
    if constraint.enabled == state.enabled && constraint.validated == (state.enabled && state.validated) {
        return Ok(());
    }
    if !state.enabled {
        require_no_rows_in(on.table, constraint, pos)?;
    }
    if !state.enabled
        && matches!(constraint.kind, ConstraintKindDef::PrimaryKey { .. } | ConstraintKindDef::Unique { .. })
    {
        let used = on.table.referenced_by.iter().any(|reference| reference.key == constraint.id && reference.enabled);
        if used && !cascade {
            return Err(Ora::with(2297, &[&on.table.owner, &constraint.name]).at(pos));
        }
        if used {
            return Err(Ora::unsupported().at(pos));
        }
    }
    let name = (!constraint.generated).then(|| Ident { name: constraint.name.clone(), pos: ast::Pos(pos) });
    let idents = |columns: &[usize]| -> Vec<Ident> {
        columns.iter().map(|c| Ident { name: on.table.columns[*c].name.clone(), pos: ast::Pos(pos) }).collect()
    };
    let kind = match &constraint.kind {
        ConstraintKindDef::PrimaryKey { columns, .. } => {
            ConstraintKind::PrimaryKey { columns: idents(columns), using: None }
        }
        ConstraintKindDef::Unique { columns, .. } => ConstraintKind::Unique { columns: idents(columns), using: None },
        ConstraintKindDef::Check { text } => {
            ConstraintKind::Check { condition: sql::parse_condition(text)?, text: text.clone() }
        }
        ConstraintKindDef::ForeignKey { .. } => return set_foreign_key(work, on, constraint, state, pos),
        ConstraintKindDef::NotNull { column } => {
            let column = *column;
            return set_not_null(work, on, constraint, column, state.enabled, pos);
        }
    };
    // The constraint is made anew under its old name.
    remove(work, on.table, constraint, false)?;
    let mut state = *state;
    state.deferrable = false;
    let spec = ConstraintSpec { name, kind, state, pos: ast::Pos(pos) };
    let freed = constraint.name.clone();
    add_replacing(work, on, &spec, &freed)
}

/// As [`add`], for a constraint whose name is still in the picture that names are checked against.
fn add_replacing(work: &mut Work<'_>, on: &mut Subject<'_>, spec: &ConstraintSpec, freed: &str) -> Result<()> {
    let mut unnamed = spec.clone();
    unnamed.name = None;
    let before = on.table.constraints.len();
    add(work, on, &unnamed)?;
    let Some(def) = on.table.constraints.get_mut(before) else {
        return Ok(());
    };
    let id = def.id;
    def.name = freed.to_owned();
    def.generated = spec.name.is_none();
    let (bits, name) = (bits(def), freed.to_owned());
    work.change().update(Base::Con, &move |row| as_u32(&row[con::CON]) == id, &mut |row| {
        row[con::NAME] = text(name.as_str());
    })?;
    work.change()
        .update(Base::Cdef, &move |row| as_u32(&row[cdef::CON]) == id, &mut |row| row[cdef::DEFER] = int(bits))?;
    Ok(())
}

fn set_foreign_key(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    constraint: &ConstraintDef,
    state: &ConstraintState,
    pos: u32,
) -> Result<()> {
    let ConstraintKindDef::ForeignKey { columns, table, key, .. } = &constraint.kind else {
        return Ok(());
    };
    if state.enabled && state.validated {
        let parent = index::existing_table(work, *table)?;
        let key = parent.constraints.iter().find(|constraint| constraint.id == *key);
        let Some(ConstraintKindDef::PrimaryKey { columns: to, .. } | ConstraintKindDef::Unique { columns: to, .. }) =
            key.map(|key| &key.kind)
        else {
            return Err(Ora::new(2270).at(pos));
        };
        let text = orphan_query(on.table, columns, &parent, to);
        if finds_row(work, &text)? {
            return Err(Ora::with(2298, &[&on.table.owner, &constraint.name]).at(pos));
        }
    }
    work.touch(*table);
    store_state(work, on, constraint, state)
}

fn store_state(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    constraint: &ConstraintDef,
    state: &ConstraintState,
) -> Result<()> {
    let mut def = constraint.clone();
    def.enabled = state.enabled;
    def.validated = state.enabled && state.validated;
    let (id, bits) = (def.id, bits(&def));
    work.change()
        .update(Base::Cdef, &move |row| as_u32(&row[cdef::CON]) == id, &mut |row| row[cdef::DEFER] = int(bits))?;
    if let Some(have) = on.table.constraints.iter_mut().find(|have| have.id == id) {
        *have = def;
    }
    Ok(())
}

fn set_not_null(
    work: &mut Work<'_>,
    on: &mut Subject<'_>,
    constraint: &ConstraintDef,
    column: usize,
    enabled: bool,
    pos: u32,
) -> Result<()> {
    if enabled && rows::any_null(work, on.table, column)? {
        return Err(Ora::with(2296, &[&on.table.owner, &constraint.name]).at(pos));
    }
    on.table.columns[column].nullable = !enabled;
    columns::update(work, on.table.object, column, &on.table.columns[column])?;
    let state = ConstraintState { enabled, validated: enabled, ..ConstraintState::default() };
    store_state(work, on, constraint, &state)
}
