//! Materialized views: a table with the rows of a query, and a row of SNAP$ with the query.
//!
//! A refresh fills a new segment and puts it in the place of the old one, as MOVE does: queries read the old rows until
//! the commit, and a refresh that fails or whose session dies leaves them. Deleting and inserting the rows, as Oracle
//! does by default, was rejected: it writes undo for all of them, and no statement may change the rows otherwise.

use crate::create_table::{insert_rows_as_owner, make, set_segment};
use crate::index;
use crate::work::{Target, Work, by};
use block::SegmentKind;
use dictionary::base::{Base, obj, snap, tab};
use dictionary::image::property;
use dictionary::rows::{Row, as_i64, as_text, as_u32, blank, int, text};
use dictionary::*;
use enqueue::LockMode;
use sql::ast::{
    ColumnSpec, CreateMaterializedView, CreateTable, QueryBody, RefreshMethod, TableOrganization, TableRefKind,
};
use types::{ObjectId, Ora, Result, Value};

/// METHOD of SNAP$.
const NEVER: i64 = 0;
const COMPLETE: i64 = 1;
const FORCE: i64 = 3;
/// FLAGS of SNAP$.
const DEFERRED: i64 = 1;
const REWRITE: i64 = 2;
const BY_ROWID: i64 = 4;

/// The longest text of a query in the dictionary.
const TEXT_MAX: usize = 32_767;

/// CREATE MATERIALIZED VIEW.
///
/// # Errors
/// ORA-03001 in the schema of another user; ORA-23413 for FAST, because no table has a log; those of CREATE TABLE.
pub fn create(work: &mut Work<'_>, create: &CreateMaterializedView) -> Result<()> {
    let CreateMaterializedView {
        name,
        columns,
        options,
        deferred,
        method,
        by_rowid,
        rewrite,
        query,
        text: written,
        pos,
    } = create;
    let target = work.target(name)?;
    let own = SystemPrivilege::CreateMaterializedView;
    work.require(&target, Some(own), SystemPrivilege::CreateAnyMaterializedView)?;
    // The names of the query would belong to the other schema.
    if target.owner != work.session.user || written.len() > TEXT_MAX {
        return Err(Ora::unsupported().at(target.pos));
    }
    if *method == RefreshMethod::Fast {
        return Err(without_log(work, create, &target)?);
    }
    let empty = || sql::parse_query(&format!("select * from ({written}) where 1 = 0")).map(Box::new);
    let column = |name: &sql::ast::Ident| ColumnSpec {
        name: name.clone(),
        ty: None,
        default: None,
        generated: None,
        identity: None,
        visible: None,
        constraints: Vec::new(),
        sort: false,
    };
    let table = CreateTable {
        name: name.clone(),
        temporary: None,
        columns: columns.iter().map(column).collect(),
        constraints: Vec::new(),
        organization: TableOrganization::Heap,
        options: options.clone(),
        partitioning: None,
        as_query: Some(if *deferred { empty()? } else { query.clone() }),
        pos: *pos,
        lobs: Vec::new(),
    };
    let begin = work.now;
    let table = make(work, &table)?;
    work.change().update_by(Base::Tab, by(tab::OBJ, table), &mut |row| {
        row[tab::PROPERTY] = int(as_i64(&row[tab::PROPERTY]).unwrap_or(0) | property::TAB_MATERIALIZED);
    })?;
    let object = work.new_object();
    work.insert_object(object, None, &target, ObjectKind::MaterializedView)?;
    let flag = |on: bool, bit: i64| if on { bit } else { 0 };
    let mut row = blank(Base::Snap);
    row[snap::OBJ] = int(object.0);
    row[snap::TOBJ] = int(table.0);
    row[snap::METHOD] = int(match method {
        RefreshMethod::Never => NEVER,
        RefreshMethod::Complete => COMPLETE,
        RefreshMethod::Fast | RefreshMethod::Force => FORCE,
    });
    row[snap::FLAGS] = int(flag(*deferred, DEFERRED) | flag(*rewrite, REWRITE) | flag(*by_rowid, BY_ROWID));
    if !deferred {
        row[snap::LASTREF] = Value::Date(begin);
        row[snap::LASTEND] = Value::Date(work.host.now());
    }
    row[snap::QUERYLEN] = int(written.len() as i64);
    row[snap::QUERY] = text(written.as_str());
    work.change().insert(Base::Snap, &row)
}

/// The error of REFRESH FAST: ORA-23413 for the first table of the query, ORA-12052 without one.
fn without_log(work: &mut Work<'_>, create: &CreateMaterializedView, target: &Target) -> Result<Ora> {
    // An error of the query comes first, so its tables are visible to the session.
    work.host.describe(&create.query, None)?;
    let tables = match &create.query.body {
        QueryBody::Select(select) => &select.from[..],
        QueryBody::SetOperation { op: _, all: _, left: _, right: _, pos: _ } | QueryBody::Nested(_) => &[],
    };
    for table in tables {
        let TableRefKind::Table(table) = &table.kind else { continue };
        if let Some(Resolved::Table(def)) = work.names.relation(table.name.qualifier(), table.name.last())? {
            return Ok(Ora::with(23413, &[&def.owner, &def.name]).at(table.name.pos.0));
        }
    }
    Ok(Ora::with(12052, &[&target.owner_name, &target.name]).at(create.query.pos.0))
}

/// The materialized view's object, and its row in SNAP$.
fn find(work: &mut Work<'_>, owner: UserId, name: &str) -> Result<Option<(ObjectId, Row)>> {
    let Some(object) = work.image.find(owner, ObjectKind::MaterializedView, name).map(|def| def.object) else {
        return Ok(None);
    };
    Ok(work.select_by(Base::Snap, by(snap::OBJ, object))?.pop().map(|row| (object, row)))
}

/// The table with the rows of the materialized view that a statement names. ORA-12003.
pub fn table_of(work: &mut Work<'_>, target: &Target) -> Result<ObjectId> {
    let missing = || Ora::with(12003, &[&target.owner_name, &target.name]).at(target.pos);
    let (_, row) = find(work, target.owner, &target.name)?.ok_or_else(missing)?;
    Ok(ObjectId(as_u32(&row[snap::TOBJ])))
}

/// Removes the materialized view whose rows a table has, which is dropped.
pub fn forget(work: &mut Work<'_>, table: ObjectId) -> Result<()> {
    for row in work.select_by(Base::Snap, by(snap::TOBJ, table))? {
        let object = ObjectId(as_u32(&row[snap::OBJ]));
        work.change().delete_by(Base::Snap, by(snap::OBJ, object))?;
        work.delete_object(object)?;
    }
    Ok(())
}

/// Replaces the rows of a materialized view by those that the query has now for its owner.
///
/// # Errors
/// ORA-23401, ORA-01031, ORA-12004, ORA-23538; ORA-12008 over the error of the query.
pub fn refresh(work: &mut Work<'_>, owner: &str, name: &str, fast: bool) -> Result<()> {
    let missing = || Ora::with(23401, &[&owner, &name]);
    let owner_id = work.image.user_named(owner).map(|user| user.id).ok_or_else(missing)?;
    let target = Target { owner: owner_id, owner_name: owner.to_owned(), name: name.to_owned(), pos: 0 };
    let found = find(work, owner_id, name)?;
    // Another user's view is not shown to exist.
    let allowed = work.require(&target, None, SystemPrivilege::AlterAnyMaterializedView);
    let (object, row) = found.filter(|_| allowed.is_ok()).ok_or_else(missing)?;
    if as_i64(&row[snap::METHOD]) == Some(NEVER) {
        return Err(Ora::with(23538, &[&name]));
    }
    if fast {
        return Err(Ora::with(12004, &[&owner, &name]));
    }
    let begin = work.now;
    let table = work.existing_table(ObjectId(as_u32(&row[snap::TOBJ])))?;
    let query = sql::parse_query(as_text(&row[snap::QUERY]))?;
    work.lock(table.object)?;
    fill(work, &table, &query).map_err(|e| match e.is_stop() {
        true => e,
        false => Ora::new(12008).because(e),
    })?;
    let end = work.host.now();
    work.change().update_by(Base::Snap, by(snap::OBJ, object), &mut |row| {
        row[snap::LASTREF] = Value::Date(begin);
        row[snap::LASTEND] = Value::Date(end);
    })?;
    work.altered(table.object)
}

/// Fills a new segment of the table, and its indexes.
fn fill(work: &mut Work<'_>, table: &TableDef, query: &sql::ast::Query) -> Result<()> {
    let described = work.host.describe(query, Some(table.owner_id))?;
    match described.len().cmp(&table.columns.iter().filter(|column| !column.hidden).count()) {
        std::cmp::Ordering::Less => return Err(Ora::new(947)),
        std::cmp::Ordering::Greater => return Err(Ora::new(913)),
        std::cmp::Ordering::Equal => {}
    }
    let Organization::Heap(old) = &table.organization else { return Err(Ora::new(1702)) };
    let data_object = work.new_object();
    let header = work.make_segment(old.tablespace, SegmentKind::Table, data_object)?;
    let segment = SegmentRef { header, data_object, ..*old };
    let new = TableDef { organization: Organization::Heap(segment), ..table.clone() };
    work.hold_tablespace(old.tablespace, LockMode::Share)?;
    // The table is locked, and other sessions may run DDL meanwhile.
    work.without_dd(&mut |work| insert_rows_as_owner(work, query, &new))?;
    faults::point("ddl-rows-moved");
    work.change().update_by(Base::Tab, by(tab::OBJ, table.object), &mut |row| set_segment(row, &segment))?;
    work.update_object(table.object, &mut |row| row[obj::DATAOBJ] = int(data_object.0))?;
    work.drop_segment_later(old.header)?;
    for index in table.indexes.iter().filter(|index| index.is_usable()) {
        let duplicate = Ora::with(1, &[&index.owner, &index.name]);
        index::refill(work, &new, index, index.segment.tablespace, &duplicate)?;
    }
    Ok(())
}
