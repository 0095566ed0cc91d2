//! CREATE and ALTER INDEX, and building an index over existing rows.

use crate::columns;
use crate::entries::Entries;
use crate::rows;
use crate::virtual_column;
use crate::work::{Target, Work, by, no_column};
use dictionary::base::{Base, icol, ind, obj};
use dictionary::image::property;
use dictionary::rows::{Row, blank, int};
use dictionary::*;
use enqueue::LockMode;
use sql::ast::{
    AlterIndex, AlterIndexAction, CreateIndex, Expr, ExprKind, Ident, IndexColumn, IndexTarget, SegmentOptions,
};
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Rdba, Result, Value, Zone};

/// The most columns of an index.
const COLUMNS_MAX: usize = 32;

/// The definition of a new index.
pub struct NewIndex {
    pub target: Target,
    pub unique: bool,
    /// No duplicate keys when it is made, though the index may allow them later.
    pub distinct: bool,
    pub kind: IndexKind,
    pub columns: Vec<(usize, bool)>,
    pub options: SegmentOptions,
    pub invisible: bool,
    /// The index of a key: allowed beside a non-unique one on the same columns that cannot enforce the key.
    pub for_key: bool,
    /// It is dropped with the key that it is made for (L8).
    pub of_key: bool,
    /// The error for duplicate keys.
    pub duplicate: Ora,
}

pub fn create(work: &mut Work<'_>, create: &CreateIndex) -> Result<()> {
    let CreateIndex {
        unique: _,
        bitmap,
        name: _,
        target: _,
        options: _,
        reverse,
        invisible: _,
        online: _,
        other,
        pos: _,
    } = create;
    let index = work.target(&create.name)?;
    crate::online::clean_up(work, Some(&index))?;
    let IndexTarget::Table { table, columns } = &create.target else {
        return Err(Ora::unsupported().at(create.pos.0));
    };
    if other.is_some() {
        return Err(Ora::unsupported().at(create.pos.0));
    }
    if *bitmap {
        return Err(Ora::with(439, &[&"Bit-mapped indexes"]).at(create.pos.0));
    }
    let table_target = work.target(table)?;
    let object = work.existing_for(&table_target, ObjectKind::Table, 942, SystemPrivilege::CreateAnyIndex)?;
    require_index_privilege(work, &index, &table_target, object)?;
    work.require_new(&index, ObjectKind::Index)?;
    let mut table = (*existing_table(work, object)?).clone();
    work.require_unused(&table)?;
    if create.online && table.temporary.is_some() {
        return Err(Ora::new(14451).at(table_target.pos));
    }
    let mut positions = Vec::new();
    let mut computed = false;
    for IndexColumn { expr, text: _, descending } in columns {
        let instant = instant_key(&table, expr)?;
        let key = instant.as_ref().unwrap_or(expr);
        let ExprKind::Name(name) = &key.kind else {
            if *reverse || matches!(table.organization, Organization::HashCluster { .. }) {
                return Err(Ora::unsupported().at(expr.pos.0));
            }
            if !create.online {
                work.lock(object)?;
            }
            positions.push((virtual_column::for_key(work, &mut table, key)?, *descending));
            computed = true;
            continue;
        };
        let ident = Ident { name: name.last().to_owned(), pos: name.pos };
        let position = column_position(&table, &ident)?;
        computed |= table.columns[position].virtual_text.is_some();
        positions.push((position, *descending));
    }
    let new = NewIndex {
        target: index,
        unique: create.unique,
        distinct: create.unique,
        kind: match (*reverse, computed) {
            (true, _) => IndexKind::Reverse,
            (_, true) => IndexKind::FunctionBased,
            _ => IndexKind::Normal,
        },
        columns: positions,
        options: create.options.clone(),
        invisible: create.invisible,
        for_key: false,
        of_key: false,
        duplicate: Ora::new(1452),
    };
    if create.online {
        return crate::online::create(work, &table, new);
    }
    work.lock(object)?;
    let index = define(work, &table, &new, false)?;
    if table.temporary.is_none() {
        work.hold_tablespace(index.segment.tablespace, LockMode::Share)?;
    }
    // The table is locked, so neither it nor its indexes change meanwhile; its owner's other objects may.
    work.apart(&mut |work| fill(work, &table, &index, index.unique.then_some(&new.duplicate)))?;
    work.require_owner(&new.target)?;
    work.require_new(&new.target, ObjectKind::Index)?;
    work.insert_object(index.object, Some(index.object), &new.target, ObjectKind::Index)?;
    enter(work, &index)?;
    work.touch(object);
    Ok(())
}

/// The key for a column with time zone: its instant, because instants are compared.
fn instant_key(table: &TableDef, key: &Expr) -> Result<Option<Expr>> {
    let ExprKind::Name(name) = &key.kind else { return Ok(None) };
    let column = table.column(name.last()).map(|(_, column)| column);
    match column {
        Some(c) if matches!(c.data_type, DataType::Timestamp { zone: Zone::WithTimeZone, .. }) => {
            let mut expr = sql::parse_expression(&format!("SYS_EXTRACT_UTC(\"{}\")", c.name))?;
            expr.pos = key.pos;
            Ok(Some(expr))
        }
        _ => Ok(None),
    }
}

fn require_index_privilege(work: &Work<'_>, index: &Target, table: &Target, object: ObjectId) -> Result<()> {
    work.require(index, None, SystemPrivilege::CreateAnyIndex)?;
    let on_table = table.owner == work.session.user
        || (table.owner != UserId::SYS && work.names.has(SystemPrivilege::CreateAnyIndex))
        || work.names.allowed(object, table.owner, ObjectPrivilege::Index)?;
    if on_table { Ok(()) } else { Err(Ora::new(1031).at(table.pos)) }
}

/// The table with that number in the dictionary.
pub fn existing_table(work: &Work<'_>, object: ObjectId) -> Result<Rc<TableDef>> {
    work.image.table(object)?.ok_or_else(|| Ora::internal(format_args!("[no tab$ row of {object}]")))
}

/// The position of a visible column. ORA-00904.
pub fn column_position(table: &TableDef, column: &Ident) -> Result<usize> {
    table.column(&column.name).map(|(at, _)| at).ok_or_else(|| no_column(column))
}

/// Makes an index, fills it from the table's rows and inserts it into the dictionary.
pub fn make(work: &mut Work<'_>, table: &TableDef, new: NewIndex) -> Result<Rc<IndexDef>> {
    let index = define(work, table, &new, false)?;
    // The key of an index-organised table is made before there are rows.
    if index.kind != IndexKind::IotTop {
        let distinct = new.unique || new.distinct;
        fill(work, table, &index, distinct.then_some(&new.duplicate))?;
    }
    work.insert_object(index.object, Some(index.object), &new.target, ObjectKind::Index)?;
    enter(work, &index)?;
    Ok(Rc::new(index))
}

/// Inserts an empty index, to be built while the table is in use.
pub fn enter_building(work: &mut Work<'_>, table: &TableDef, new: NewIndex) -> Result<Rc<IndexDef>> {
    let index = define(work, table, &new, true)?;
    enter_new(work, index, new)
}

/// Inserts an empty tree, to replace that of an index while the table is in use.
pub fn enter_rebuilding(work: &mut Work<'_>, table: &TableDef, new: NewIndex, tablespace: u32) -> Result<Rc<IndexDef>> {
    let index = define_in(work, table, &new, true, tablespace)?;
    enter_new(work, index, new)
}

fn enter_new(work: &mut Work<'_>, index: IndexDef, new: NewIndex) -> Result<Rc<IndexDef>> {
    work.insert_object(index.object, Some(index.object), &new.target, ObjectKind::Index)?;
    enter(work, &index)?;
    Ok(Rc::new(index))
}

/// Makes the empty tree of an index.
fn define(work: &mut Work<'_>, table: &TableDef, new: &NewIndex, building: bool) -> Result<IndexDef> {
    check_columns(table, new)?;
    let tablespace = match table.heap().filter(|_| table.temporary.is_some()) {
        Some(segment) => segment.tablespace,
        None => work.tablespace(new.options.tablespace.as_ref(), new.target.owner)?,
    };
    define_in(work, table, new, building, tablespace)
}

/// Like [`define`], in a given tablespace.
fn define_in(
    work: &mut Work<'_>,
    table: &TableDef,
    new: &NewIndex,
    building: bool,
    tablespace: u32,
) -> Result<IndexDef> {
    let object = work.new_object();
    // Each session makes its own tree of an index on a temporary table.
    let header = match table.temporary {
        Some(_) => Rdba::NONE,
        None => crate::tree::create(work, tablespace, object)?,
    };
    Ok(IndexDef {
        object,
        owner_id: new.target.owner,
        owner: new.target.owner_name.clone(),
        name: new.target.name.clone(),
        table: table.object,
        segment: SegmentRef {
            tablespace,
            header,
            data_object: object,
            pctfree: new.options.pctfree.unwrap_or(10) as u8,
            initrans: new.options.initrans.unwrap_or(2).clamp(1, 255) as u8,
        },
        unique: new.unique,
        columns: new
            .columns
            .iter()
            .map(|(column, descending)| IndexColumnDef { key: IndexKey::Column(*column), descending: *descending })
            .collect(),
        invisible: new.invisible,
        unusable: building,
        building,
        disabled: false,
        of_key: new.of_key,
        kind: new.kind,
        statistics: None,
    })
}

fn check_columns(table: &TableDef, new: &NewIndex) -> Result<()> {
    if new.columns.len() > COLUMNS_MAX {
        return Err(Ora::new(1793).at(new.target.pos));
    }
    let names = new.columns.iter().map(|(column, _)| (table.columns[*column].name.as_str(), new.target.pos));
    columns::check_names(names)?;
    for (column, _) in &new.columns {
        match table.columns[*column].data_type {
            DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Bfile => {
                return Err(Ora::with(2327, &[&"datatype", &"LOB"]).at(new.target.pos));
            }
            DataType::Long | DataType::LongRaw => {
                return Err(Ora::with(2327, &[&"datatype", &"LONG"]).at(new.target.pos));
            }
            DataType::Named(_) => return Err(Ora::with(2327, &[&"datatype", &"ADT"]).at(new.target.pos)),
            _ => {}
        }
    }
    let same = |index: &Rc<IndexDef>| {
        let have = index.columns.iter().map(|column| (&column.key, column.descending));
        let want: Vec<_> = new.columns.iter().map(|(c, d)| (IndexKey::Column(*c), *d)).collect();
        have.eq(want.iter().map(|(key, descending)| (key, *descending)))
    };
    if !new.for_key && table.indexes.iter().any(same) { Err(Ora::new(1408).at(new.target.pos)) } else { Ok(()) }
}

/// FLAGS of IND$.
fn flags_of(index: &IndexDef) -> i64 {
    let IndexDef { invisible, unusable, building, disabled, .. } = index;
    i64::from(*invisible) * property::IND_INVISIBLE
        + i64::from(*unusable) * property::IND_UNUSABLE
        + i64::from(*building) * property::IND_BUILDING
        + i64::from(*disabled) * property::IND_DISABLED
}

fn set_flags(work: &mut Work<'_>, index: ObjectId, flags: i64) -> Result<()> {
    work.change().update_by(Base::Ind, by(ind::OBJ, index), &mut |row| row[ind::FLAGS] = int(flags)).map(|_| ())
}

fn enter(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    let mut row = blank(Base::Ind);
    row[ind::OBJ] = int(index.object.0);
    row[ind::DATAOBJ] = int(index.segment.data_object.0);
    row[ind::TS] = int(index.segment.tablespace);
    row[ind::FILE] = int(index.segment.header.file());
    row[ind::BLOCK] = int(index.segment.header.block());
    row[ind::BO] = int(index.table.0);
    row[ind::COLS] = int(index.columns.len() as i64);
    row[ind::PCTFREE] = int(index.segment.pctfree);
    row[ind::INITRANS] = int(index.segment.initrans);
    row[ind::TYPE] = int(match index.kind {
        IndexKind::Bitmap => 2,
        IndexKind::IotTop => 4,
        _ => 1,
    });
    let reverse = match index.kind {
        IndexKind::Reverse => property::IND_REVERSE,
        IndexKind::FunctionBased => property::IND_FUNCTION_BASED,
        _ => 0,
    };
    // Only the indexes of temporary tables have no segment.
    let temporary = if index.segment.header.is_none() { property::IND_TEMPORARY } else { 0 };
    let of_key = if index.of_key { property::IND_OF_KEY } else { 0 };
    row[ind::PROPERTY] = int(reverse | temporary | of_key | if index.unique { property::IND_UNIQUE } else { 0 });
    row[ind::FLAGS] = int(flags_of(index));
    work.change().insert(Base::Ind, &row)?;
    let rows: Vec<Row> = index.columns.iter().enumerate().map(|(i, column)| column_row(index, i, column)).collect();
    work.change().insert_many(Base::Icol, &rows)
}

fn column_row(index: &IndexDef, i: usize, column: &IndexColumnDef) -> Row {
    let mut row = blank(Base::Icol);
    row[icol::OBJ] = int(index.object.0);
    row[icol::BO] = int(index.table.0);
    row[icol::POS] = int(i as i64 + 1);
    row[icol::DESCENDING] = int(i64::from(column.descending));
    row[icol::COL] = match &column.key {
        IndexKey::Column(position) => int(*position as i64 + 1),
        IndexKey::Expression { .. } => int(0),
    };
    row
}

/// Fills the index's empty segment from the table's rows.
///
/// # Errors
/// `duplicate`, if given, for duplicate keys.
pub fn fill(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, duplicate: Option<&Ora>) -> Result<()> {
    // No session has rows in a temporary table whose indexes change.
    if table.temporary.is_some() {
        return Ok(());
    }
    let mut entries = Entries::default();
    if virtual_column::is_computed(table, index) {
        // A table that is being created has no rows.
        if let Some(known) = work.image.table(table.object)? {
            let segment = |t: &TableDef| t.heap_table().map(|h| h.data_object);
            let is_moved = segment(&known) != segment(table);
            entries = virtual_column::entries(work, table, index, is_moved)?;
        }
        return load(work, table, index, entries, duplicate);
    }
    let mut key = Vec::new();
    rows::scan(work, table, &mut |at, row| {
        key.clear();
        // A row whose key parts are all NULL has no entry.
        if rows::key_of(index, row, &mut key)? {
            entries.push(&key, &at.locator(), &mut || Ok(()))?;
        }
        Ok(true)
    })?;
    load(work, table, index, entries, duplicate)
}

fn load(
    work: &mut Work<'_>,
    table: &TableDef,
    index: &IndexDef,
    mut entries: Entries,
    duplicate: Option<&Ora>,
) -> Result<()> {
    let parts = work.host.parts();
    entries.sort(&mut || parts.p.check_cancel())?;
    if let Some(duplicate) = duplicate
        && entries.has_repeats()
    {
        return Err(duplicate.clone());
    }
    crate::tree::load(&parts, table, index, &entries)
}

pub fn alter(work: &mut Work<'_>, alter: &AlterIndex) -> Result<()> {
    let AlterIndex { name: _, action, pos: _ } = alter;
    crate::online::clean_up(work, None)?;
    let target = work.target(&alter.name)?;
    let object = work.existing(&target, ObjectKind::Index, 1418)?;
    work.require(&target, None, SystemPrivilege::AlterAnyIndex)?;
    let index = work.image.index(object)?.ok_or_else(|| Ora::new(1418).at(target.pos))?;
    if index.building {
        return Err(Ora::with(8104, &[&object.0]).at(target.pos));
    }
    let flags = flags_of(&index);
    let table = existing_table(work, index.table)?;
    if table.temporary.is_some() && matches!(*action, AlterIndexAction::Rebuild { .. }) {
        return Err(Ora::new(14456).at(target.pos));
    }
    work.require_unused(&table)?;
    match action {
        _ if table.temporary.is_some() && *action == AlterIndexAction::Coalesce => {}
        AlterIndexAction::Rebuild { options, online: true } if !index.disabled => {
            return crate::online::rebuild(work, &index, &target, options);
        }
        AlterIndexAction::Rebuild { options, online: _ } => {
            work.lock(index.table)?;
            virtual_column::check_keys(work, &table, &index)?;
            rebuild(work, &index, options)?;
        }
        AlterIndexAction::RenameTo(name) => {
            let new = Target { name: name.name.clone(), pos: name.pos.0, ..target };
            work.require_new(&new, ObjectKind::Index)?;
            work.update_object(object, &mut |row| row[obj::NAME] = dictionary::rows::text(new.name.as_str()))?;
        }
        AlterIndexAction::Visible(visible) => {
            let invisible = if *visible { 0 } else { property::IND_INVISIBLE };
            set_flags(work, object, flags & !property::IND_INVISIBLE | invisible)?;
        }
        AlterIndexAction::Unusable => {
            if index.kind == IndexKind::IotTop {
                return Err(Ora::new(28650).at(target.pos));
            }
            work.lock(index.table)?;
            set_flags(work, object, flags | property::IND_UNUSABLE)?;
        }
        AlterIndexAction::Coalesce => coalesce(work, &index)?,
        AlterIndexAction::Shrink { .. } if table.temporary.is_some() => return Err(Ora::new(10635).at(target.pos)),
        AlterIndexAction::Shrink { compact } => crate::shrink::index(work, &index, *compact)?,
        // Only REBUILD moves an index.
        AlterIndexAction::Options(options) => {
            // Storage clauses do not change the contents of the index.
            if let Some(name) = &options.tablespace {
                return Err(Ora::new(2243).at(name.pos.0));
            }
        }
        AlterIndexAction::Other { text, pos } => match text.as_str() {
            "MONITORING USAGE" | "NOMONITORING USAGE" | "DEALLOCATE UNUSED" => {}
            // The function may return other values now, so the entries are made again.
            "ENABLE" if index.disabled => {
                work.lock(index.table)?;
                virtual_column::check_keys(work, &table, &index)?;
                rebuild(work, &index, &SegmentOptions::default())?;
            }
            "ENABLE" if index.kind == IndexKind::FunctionBased => {}
            "DISABLE" if index.kind == IndexKind::FunctionBased => {
                work.lock(index.table)?;
                disable(work, &index)?;
            }
            _ => return Err(Ora::unsupported().at(pos.0)),
        },
    }
    work.touch(index.table);
    work.altered(object)
}

/// Merges sparse leaves. Others may use the index meanwhile.
pub fn coalesce(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    if index.unusable {
        return Err(Ora::with(1502, &[&index.owner, &index.name]));
    }
    work.keep_table(index.table)?;
    work.apart(&mut |work| {
        let parts = work.host.parts();
        let tree = parts.storage.trees.open(parts.p, index.segment.header, index.segment.data_object, index.unique)?;
        parts.storage.trees.coalesce(parts.p, &tree).map(|_| ())
    })
}

/// The tablespace for the rebuild of an index.
pub fn rebuilt_in(work: &mut Work<'_>, index: &IndexDef, options: &SegmentOptions) -> Result<u32> {
    if index.kind == IndexKind::IotTop {
        // The primary key index of an index-organised table cannot be rebuilt.
        return Err(Ora::new(28650));
    }
    match &options.tablespace {
        Some(_) => work.tablespace(options.tablespace.as_ref(), index.owner_id),
        None => Ok(index.segment.tablespace),
    }
}

/// Rebuilds the index in a new segment.
pub fn rebuild(work: &mut Work<'_>, index: &IndexDef, options: &SegmentOptions) -> Result<()> {
    let tablespace = rebuilt_in(work, index, options)?;
    let table = existing_table(work, index.table)?;
    work.hold_tablespace(tablespace, LockMode::Share)?;
    refill(work, &table, index, tablespace, &Ora::new(1452))
}

/// Gives an index a new, empty segment and stores it: TRUNCATE.
pub fn empty(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    let tablespace = index.segment.tablespace;
    let data_object = work.new_object();
    let header = crate::tree::create(work, tablespace, data_object)?;
    work.doom(index.segment.header)?;
    moved(work, index.object, header, data_object, tablespace)?;
    // Without rows the functions of its key have not been called.
    if index.disabled { disable(work, index) } else { Ok(()) }
}

/// Disables an index on an expression whose function was replaced or dropped.
pub fn disable(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    set_flags(work, index.object, flags_of(index) | property::IND_DISABLED)
}

/// Like [`empty`], and the index becomes unusable until a rebuild.
pub fn empty_unusable(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    empty(work, index)?;
    set_flags(work, index.object, flags_of(index) | property::IND_UNUSABLE)
}

/// Gives the index a new segment filled from `table`, and stores it.
pub fn refill(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, tablespace: u32, duplicate: &Ora) -> Result<()> {
    let data_object = work.new_object();
    let header = crate::tree::create(work, tablespace, data_object)?;
    let mut new = index.clone();
    new.segment = SegmentRef { tablespace, header, data_object, ..index.segment };
    if index.kind == IndexKind::IotTop {
        let mut rows = Entries::default();
        rows::scan(work, table, &mut |at, row| rows.push(&at.locator(), row, &mut || Ok(())).map(|()| true))?;
        crate::tree::load_rows(&work.host.parts(), &new, &rows)?;
    } else {
        // The table is locked exclusively.
        work.apart(&mut |work| fill(work, table, &new, index.unique.then_some(duplicate)))?;
    }
    work.doom(index.segment.header)?;
    moved(work, index.object, header, data_object, tablespace)
}

fn moved(work: &mut Work<'_>, object: ObjectId, header: Rdba, data: ObjectId, tablespace: u32) -> Result<()> {
    work.change().update_by(Base::Ind, by(ind::OBJ, object), &mut |row| {
        row[ind::DATAOBJ] = int(data.0);
        row[ind::TS] = int(tablespace);
        row[ind::FILE] = int(header.file());
        row[ind::BLOCK] = int(header.block());
        // The index becomes usable and enabled. An index that is being built, or was by a session that died, keeps its
        // mark until the end.
        let flags = dictionary::rows::as_i64(&row[ind::FLAGS]).unwrap_or(0);
        if flags & property::IND_BUILDING == 0 {
            row[ind::FLAGS] = int(flags & !(property::IND_UNUSABLE | property::IND_DISABLED));
        }
    })?;
    work.update_object(object, &mut |row: &mut Vec<Value>| row[obj::DATAOBJ] = int(data.0))
}

/// Keeps an index that was made for a key when the key is removed.
pub fn forget_key(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    work.change().update_by(Base::Ind, by(ind::OBJ, object), &mut |row| {
        let bits = dictionary::rows::as_i64(&row[ind::PROPERTY]).unwrap_or(0);
        row[ind::PROPERTY] = int(bits & !property::IND_OF_KEY);
    })?;
    Ok(())
}

/// Removes an index from the dictionary and marks its segment for the drop.
pub fn remove(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    work.change().delete_by(Base::Ind, by(ind::OBJ, index.object))?;
    work.change().delete_by(Base::Icol, by(icol::OBJ, index.object))?;
    work.delete_object(index.object)?;
    work.doom(index.segment.header)?;
    Ok(())
}
