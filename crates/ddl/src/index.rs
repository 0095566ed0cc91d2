//! Building an index over existing rows, and giving it another segment.

use crate::columns;
use crate::entries::Entries;
use crate::index_rows::{disable, enter, flags_of, moved, set_flags};
use crate::partition_rows;
use crate::rows;
use crate::virtual_column;
use crate::work::{Target, Work};
use dictionary::image::property;
use dictionary::*;
use enqueue::LockMode;
use sql::ast::{PartitionSpec, PartitionValues, SegmentOptions};
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Rdba, Result};

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
    /// LOCAL: a partition for each of the table's, with these descriptions if they are listed.
    pub local: Option<Vec<PartitionSpec>>,
    /// It is dropped with the key that it is made for (L8).
    pub of_key: bool,
    /// The error for duplicate keys.
    pub duplicate: Ora,
}

/// Makes an index, fills it from the table's rows and inserts it into the dictionary.
pub fn make(work: &mut Work<'_>, table: &TableDef, new: NewIndex) -> Result<Rc<IndexDef>> {
    let index = define(work, table, &new, false)?;
    // The key of an index-organised table is made before there are rows.
    if index.kind != IndexKind::IotTop {
        let distinct = new.unique || new.distinct;
        fill(work, table, &index, distinct.then_some(&new.duplicate))?;
    }
    let data = index.local.is_none().then_some(index.object);
    work.insert_object(index.object, data, &new.target, ObjectKind::Index)?;
    enter(work, &index)?;
    if let Some(of) = table.partitioning() {
        partition_rows::enter_local(work, &index, of)?;
    }
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
pub fn define(work: &mut Work<'_>, table: &TableDef, new: &NewIndex, building: bool) -> Result<IndexDef> {
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
    if let Some(listed) = &new.local {
        return define_local(work, table, new, (object, tablespace), listed);
    }
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
        local: None,
        statistics: None,
    })
}

/// Makes the empty trees of a local index.
///
/// # Errors
/// ORA-14016, ORA-14024, ORA-14039.
fn define_local(
    work: &mut Work<'_>,
    table: &TableDef,
    new: &NewIndex,
    (object, tablespace): (ObjectId, u32),
    listed: &[PartitionSpec],
) -> Result<IndexDef> {
    let pos = new.target.pos;
    let of = table.partitioning().ok_or_else(|| Ora::new(14016).at(pos))?.clone();
    let is_in = |column: &usize| new.columns.iter().any(|(have, _)| have == column);
    if new.unique && !of.columns.iter().all(is_in) {
        return Err(Ora::new(14039).at(pos));
    }
    if !matches!(new.kind, IndexKind::Normal | IndexKind::Reverse) {
        return Err(Ora::unsupported().at(pos));
    }
    if !listed.is_empty() && listed.len() != of.partitions.len() {
        return Err(Ora::new(14024).at(pos));
    }
    let in_one = new.options.tablespace.as_ref().map(|_| tablespace);
    let mut local = Vec::new();
    for (n, p) in of.partitions.iter().enumerate() {
        let spec = listed.get(n);
        if let Some(spec) = spec.filter(|spec| spec.values != PartitionValues::None) {
            return Err(Ora::new(14009).at(spec.pos.0));
        }
        let place = match spec.and_then(|spec| spec.options.tablespace.as_ref()) {
            Some(name) => Some(work.tablespace(Some(name), new.target.owner)?),
            None => in_one,
        };
        crate::quota::reserve(work, place.unwrap_or(p.segment.tablespace), new.target.owner)?;
        let mut part = partition_rows::make_index_partition(work, p, place)?;
        let own = spec.map(|spec| &spec.options);
        let pctfree = own.and_then(|own| own.pctfree).or(new.options.pctfree);
        let initrans = own.and_then(|own| own.initrans).or(new.options.initrans);
        part.segment.pctfree = pctfree.unwrap_or(10) as u8;
        part.segment.initrans = initrans.unwrap_or(2).clamp(1, 255) as u8;
        if let Some(name) = spec.and_then(|spec| spec.name.as_ref()) {
            part.name = name.name.clone();
        }
        local.push(part);
    }
    let columns = new.columns.iter();
    let column = |(column, descending): &(usize, bool)| IndexColumnDef {
        key: IndexKey::Column(*column),
        descending: *descending,
    };
    Ok(IndexDef {
        object,
        owner_id: new.target.owner,
        owner: new.target.owner_name.clone(),
        name: new.target.name.clone(),
        table: table.object,
        segment: partition_rows::no_segment(tablespace, 10, 2),
        unique: new.unique,
        columns: columns.map(column).collect(),
        invisible: new.invisible,
        unusable: false,
        building: false,
        disabled: false,
        of_key: new.of_key,
        kind: new.kind,
        local: Some(Rc::new(local)),
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
            DataType::Named(_) | DataType::Xml => {
                return Err(Ora::with(2327, &[&"datatype", &"ADT"]).at(new.target.pos));
            }
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

/// Fills the index's empty segment from the table's rows.
///
/// # Errors
/// `duplicate`, if given, for duplicate keys.
pub fn fill(work: &mut Work<'_>, table: &TableDef, index: &IndexDef, duplicate: Option<&Ora>) -> Result<()> {
    // No session has rows in a temporary table whose indexes change.
    if table.temporary.is_some() {
        return Ok(());
    }
    if let (Some(local), Some(of)) = (index.local.clone(), table.partitioning().cloned()) {
        for (place, part) in local.iter().enumerate() {
            fill_partition(work, &of.heap_table(table.object, place), index, &part.segment, duplicate)?;
        }
        return Ok(());
    }
    let several = table.partitioning().is_some();
    let mut entries = Entries::default();
    if virtual_column::is_computed(table, index) {
        // A table that is being created has no rows.
        if let Some(known) = work.image.table(table.object)? {
            let segments = |t: &TableDef| match t.partitioning() {
                Some(of) => of.partitions.iter().map(|p| p.segment.data_object).collect::<Vec<_>>(),
                None => t.heap_table().map(|h| h.data_object).into_iter().collect(),
            };
            let is_moved = segments(&known) != segments(table);
            entries = virtual_column::entries(work, table, index, is_moved)?;
        }
        return load(work, table, index, entries, duplicate);
    }
    let mut key = Vec::new();
    rows::scan(work, table, &mut |at, row| {
        key.clear();
        // A row whose key parts are all NULL has no entry.
        if rows::key_of(index, row, &mut key)? {
            entries.push(&key, &at.locator(several), &mut || Ok(()))?;
        }
        Ok(true)
    })?;
    load(work, table, index, entries, duplicate)
}

/// Fills the empty tree of a local index's partition from the rows of the table's partition.
///
/// # Errors
/// `duplicate`, if given, for duplicate keys.
pub fn fill_partition(
    work: &mut Work<'_>,
    rows: &heap::HeapTable,
    index: &IndexDef,
    tree: &SegmentRef,
    duplicate: Option<&Ora>,
) -> Result<()> {
    let (mut entries, mut key) = (Entries::default(), Vec::new());
    rows::scan_partition(work, rows, &mut |at, row| {
        key.clear();
        if rows::key_of(index, row, &mut key)? {
            entries.push(&key, &at.locator(false), &mut || Ok(()))?;
        }
        Ok(true)
    })?;
    let parts = work.host.parts();
    entries.sort(&mut || parts.p.check_cancel())?;
    if let Some(duplicate) = duplicate
        && entries.has_repeats()
    {
        return Err(duplicate.clone());
    }
    crate::tree::load_partition(&parts, (tree, rows.data_object), index, &entries)
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

/// Merges sparse leaves. Others may use the index meanwhile.
pub fn coalesce(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    if index.unusable {
        return Err(Ora::with(1502, &[&index.owner, &index.name]));
    }
    work.keep_table(index.table)?;
    work.without_dd(&mut |work| {
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
    let table = work.existing_table(index.table)?;
    work.hold_tablespace(tablespace, LockMode::Share)?;
    refill(work, &table, index, tablespace, &Ora::new(1452))
}

/// Gives an index a new, empty segment and stores it: TRUNCATE.
pub fn empty(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    if let Some(local) = &index.local {
        return local.iter().try_for_each(|part| partition_rows::empty_tree(work, part).map(drop));
    }
    let tablespace = index.segment.tablespace;
    let data_object = work.new_object();
    let header = crate::tree::create(work, tablespace, data_object)?;
    work.drop_segment_later(index.segment.header)?;
    moved(work, index.object, header, data_object, tablespace)?;
    // Without rows the functions of its key have not been called.
    if index.disabled { disable(work, index) } else { Ok(()) }
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
        rows::scan(work, table, &mut |at, row| rows.push(&at.locator(false), row, &mut || Ok(())).map(|()| true))?;
        crate::tree::load_rows(&work.host.parts(), &new, &rows)?;
    } else {
        // The table is locked exclusively.
        work.without_dd(&mut |work| fill(work, table, &new, index.unique.then_some(duplicate)))?;
    }
    work.drop_segment_later(index.segment.header)?;
    moved(work, index.object, header, data_object, tablespace)
}
