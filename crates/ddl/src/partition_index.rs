//! ALTER INDEX on partitions of local indexes.

use crate::index::fill_partition;
use crate::partition_rows;
use crate::work::{Work, by};
use dictionary::base::{Base, indpart, obj};
use dictionary::rows::text;
use dictionary::*;
use sql::ast::{Ident, SegmentOptions};
use types::{Ora, Result};

/// Fills a new tree for a partition of a local index.
///
/// # Errors
/// ORA-01452 for duplicate keys.
pub fn rebuild(
    work: &mut Work<'_>,
    table: &TableDef,
    index: &IndexDef,
    place: usize,
    options: &SegmentOptions,
) -> Result<()> {
    let (Some(local), Some(of)) = (&index.local, table.partitioning()) else { return Err(Ora::new(14075)) };
    let part = &local[place];
    let tablespace = match &options.tablespace {
        Some(_) => work.tablespace(options.tablespace.as_ref(), index.owner_id)?,
        None => part.segment.tablespace,
    };
    refill(work, &of.heap_table(table.object, place), index, part, tablespace).map(drop)
}

/// Gives a partition of a local index a new tree, filled from `rows`.
///
/// # Errors
/// ORA-01452 for duplicate keys.
pub fn refill(
    work: &mut Work<'_>,
    rows: &heap::HeapTable,
    index: &IndexDef,
    part: &IndexPartitionDef,
    tablespace: u32,
) -> Result<IndexPartitionDef> {
    let data_object = work.new_object();
    let header = crate::tree::create(work, tablespace, data_object)?;
    let segment = SegmentRef { tablespace, header, data_object, ..part.segment };
    fill_partition(work, rows, index, &segment, index.unique.then_some(&Ora::new(1452)))?;
    work.drop_segment_later(part.segment.header)?;
    partition_rows::moved_tree(work, part, &segment)?;
    Ok(IndexPartitionDef { segment, unusable: false, ..part.clone() })
}

/// Marks one partition, or all, of a local index as unusable.
pub fn set_unusable(work: &mut Work<'_>, index: &IndexDef, place: Option<usize>) -> Result<()> {
    let all = index.local.iter().flat_map(|local| local.iter()).enumerate();
    let chosen: Vec<IndexPartitionDef> =
        all.filter(|(n, _)| place.is_none_or(|place| place == *n)).map(|(_, part)| part.clone()).collect();
    chosen.iter().try_for_each(|part| partition_rows::set_unusable(work, part))
}

/// Renames a partition of a local index. ORA-14013 for a name that another one has.
pub fn rename(work: &mut Work<'_>, index: &IndexDef, place: usize, to: &Ident) -> Result<()> {
    let Some(local) = &index.local else { return Err(Ora::new(14075)) };
    if local.iter().any(|part| part.name == to.name) {
        return Err(Ora::new(14082).at(to.pos.0));
    }
    let object = local[place].object;
    work.change().update_by(Base::Indpart, by(indpart::OBJ, object), &mut |row| {
        row[indpart::NAME] = text(to.name.as_str());
    })?;
    work.update_object(object, &mut |row| row[obj::SUBNAME] = text(to.name.as_str()))
}
