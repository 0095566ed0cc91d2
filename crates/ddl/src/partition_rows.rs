//! The rows of partitions in the dictionary, and their segments.

use crate::partition_bounds::BOUND_BYTES_MAX;
use crate::partition_interval;
use crate::work::{Target, Work, by};
use block::SegmentKind;
use dictionary::base::{Base, indpart, obj, partobj, tabpart};
use dictionary::image::{partition_columns, property};
use dictionary::rows::{Row, blank, int, text};
use dictionary::*;
use types::{ObjectId, Ora, Rdba, Result, Value};

/// The table or index that partitions belong to, for their rows in OBJ$.
pub fn target_of(owner: UserId, owner_name: &str, name: &str) -> Target {
    Target { owner, owner_name: owner_name.to_owned(), name: name.to_owned(), pos: 0 }
}

/// A partition to be made: its name, its bound, HIGH_VALUE.
pub struct NewPartition {
    pub name: Option<String>,
    pub bound: PartitionBound,
    pub high_value: String,
    pub tablespace: u32,
    pub pctfree: u8,
    pub initrans: u8,
}

/// Makes the segment of a partition.
pub fn make(work: &mut Work<'_>, new: NewPartition) -> Result<PartitionDef> {
    work.host.parts().p.check_cancel()?;
    let too_long = new.high_value.len().max(new.bound.to_bytes().len()) > BOUND_BYTES_MAX;
    if too_long {
        return Err(Ora::with(14116, &[&new.name.unwrap_or_default()]));
    }
    let object = work.new_object();
    let NewPartition { name, bound, high_value, tablespace, pctfree, initrans } = new;
    let header = work.make_segment(tablespace, SegmentKind::Table, object)?;
    let segment = SegmentRef { tablespace, header, data_object: object, pctfree, initrans };
    Ok(PartitionDef { object, name: name.unwrap_or_else(|| format!("SYS_P{object}")), segment, high_value, bound })
}

/// Enters a partitioned table's partitions.
pub fn enter_table(work: &mut Work<'_>, table: &TableDef, of: &Partitioning, tablespace: u32) -> Result<()> {
    let mut row = blank(Base::Partobj);
    row[partobj::OBJ] = int(table.object.0);
    row[partobj::PARTTYPE] = int(of.method as u8);
    row[partobj::PARTKEYCOLS] = int(of.columns.len() as i64);
    row[partobj::KEYCOLS] = partition_columns(&of.columns);
    row[partobj::DEFTS] = int(tablespace);
    row[partobj::FLAGS] = int(0);
    partition_interval::set_columns(&mut row, of.interval.as_ref());
    work.change().insert(Base::Partobj, &row)?;
    for (place, p) in of.partitions.iter().enumerate() {
        work.host.parts().p.check_cancel()?;
        enter(work, table, place, p)?;
    }
    Ok(())
}

/// Enters a partition of a table. `place` orders the partitions of lists and hashes.
pub fn enter(work: &mut Work<'_>, table: &TableDef, place: usize, p: &PartitionDef) -> Result<()> {
    let target = target_of(table.owner_id, &table.owner, &table.name);
    insert_object(work, &target, p.object, p.segment.data_object, &p.name, ObjectKind::TablePartition)?;
    let mut row = blank(Base::Tabpart);
    row[tabpart::OBJ] = int(p.object.0);
    row[tabpart::BO] = int(table.object.0);
    row[tabpart::PART] = int(place as i64);
    row[tabpart::NAME] = text(p.name.as_str());
    row[tabpart::HIBOUNDLEN] = int(p.high_value.len() as i64);
    row[tabpart::HIBOUNDVAL] = text(p.high_value.as_str());
    row[tabpart::BHIBOUNDVAL] = Value::Raw(p.bound.to_bytes());
    row[tabpart::PCTFREE] = int(p.segment.pctfree);
    row[tabpart::INITRANS] = int(p.segment.initrans);
    row[tabpart::FLAGS] = int(partition_interval::flags_of(&p.bound));
    set_segment(&mut row, &p.segment);
    work.change().insert(Base::Tabpart, &row)
}

fn set_segment(row: &mut Row, s: &SegmentRef) {
    row[tabpart::DATAOBJ] = int(s.data_object.0);
    row[tabpart::TS] = int(s.tablespace);
    row[tabpart::FILE] = int(s.header.file());
    row[tabpart::BLOCK] = int(s.header.block());
}

fn insert_object(
    work: &mut Work<'_>,
    target: &Target,
    object: ObjectId,
    data: ObjectId,
    name: &str,
    kind: ObjectKind,
) -> Result<()> {
    work.insert_object(object, Some(data), target, kind)?;
    work.change().update_by(Base::Obj, by(obj::OBJ, object), &mut |row| row[obj::SUBNAME] = text(name)).map(drop)
}

/// Gives a partition of a table another segment.
pub fn moved(work: &mut Work<'_>, p: &PartitionDef, segment: &SegmentRef) -> Result<()> {
    work.change().update_by(Base::Tabpart, by(tabpart::OBJ, p.object), &mut |row| set_segment(row, segment))?;
    let data = segment.data_object.0;
    work.update_object(p.object, &mut |row| row[obj::DATAOBJ] = int(data))
}

/// Makes a new, empty segment for a partition of a table.
pub fn new_segment(work: &mut Work<'_>, p: &PartitionDef, tablespace: u32) -> Result<SegmentRef> {
    let data_object = work.new_object();
    let header = work.make_segment(tablespace, SegmentKind::Table, data_object)?;
    Ok(SegmentRef { tablespace, header, data_object, ..p.segment })
}

/// Removes a partition of a table, and marks its segment for the drop.
pub fn remove(work: &mut Work<'_>, p: &PartitionDef) -> Result<()> {
    work.change().delete_by(Base::Tabpart, by(tabpart::OBJ, p.object))?;
    work.delete_object(p.object)?;
    work.drop_segment_later(p.segment.header)
}

/// Removes all partitions of a table.
pub fn remove_table(work: &mut Work<'_>, table: ObjectId, of: &Partitioning) -> Result<()> {
    of.partitions.iter().try_for_each(|p| remove(work, p))?;
    work.change().delete_by(Base::Partobj, by(partobj::OBJ, table)).map(drop)
}

/// Makes the empty tree of a local index for a partition of its table.
pub fn make_index_partition(
    work: &mut Work<'_>,
    p: &PartitionDef,
    tablespace: Option<u32>,
) -> Result<IndexPartitionDef> {
    let object = work.new_object();
    let tablespace = tablespace.unwrap_or(p.segment.tablespace);
    let header = crate::tree::create(work, tablespace, object)?;
    let segment = SegmentRef { tablespace, header, data_object: object, pctfree: 10, initrans: 2 };
    Ok(IndexPartitionDef { object, name: p.name.clone(), segment, unusable: false })
}

/// Enters the partitions of a local index.
pub fn enter_local(work: &mut Work<'_>, index: &IndexDef, of: &Partitioning) -> Result<()> {
    let Some(parts) = index.local.clone() else { return Ok(()) };
    parts.iter().zip(&of.partitions).try_for_each(|(part, p)| enter_index_partition(work, index, part, p.object))
}

/// Enters a partition of a local index.
pub fn enter_index_partition(
    work: &mut Work<'_>,
    index: &IndexDef,
    part: &IndexPartitionDef,
    of: ObjectId,
) -> Result<()> {
    let target = target_of(index.owner_id, &index.owner, &index.name);
    insert_object(work, &target, part.object, part.segment.data_object, &part.name, ObjectKind::IndexPartition)?;
    let mut row = blank(Base::Indpart);
    row[indpart::OBJ] = int(part.object.0);
    row[indpart::BO] = int(index.object.0);
    row[indpart::TABPART] = int(of.0);
    row[indpart::NAME] = text(part.name.as_str());
    row[indpart::PCTFREE] = int(part.segment.pctfree);
    row[indpart::INITRANS] = int(part.segment.initrans);
    row[indpart::FLAGS] = int(if part.unusable { property::IND_UNUSABLE } else { 0 });
    set_tree(&mut row, &part.segment);
    work.change().insert(Base::Indpart, &row)
}

fn set_tree(row: &mut Row, s: &SegmentRef) {
    row[indpart::DATAOBJ] = int(s.data_object.0);
    row[indpart::TS] = int(s.tablespace);
    row[indpart::FILE] = int(s.header.file());
    row[indpart::BLOCK] = int(s.header.block());
}

/// Gives a partition of an index another tree, which is usable.
pub fn moved_tree(work: &mut Work<'_>, part: &IndexPartitionDef, segment: &SegmentRef) -> Result<()> {
    work.change().update_by(Base::Indpart, by(indpart::OBJ, part.object), &mut |row| {
        set_tree(row, segment);
        row[indpart::FLAGS] = int(0);
    })?;
    let data = segment.data_object.0;
    work.update_object(part.object, &mut |row| row[obj::DATAOBJ] = int(data))
}

/// Gives a partition of an index a new, empty tree.
pub fn empty_tree(work: &mut Work<'_>, part: &IndexPartitionDef) -> Result<IndexPartitionDef> {
    let data_object = work.new_object();
    let header = crate::tree::create(work, part.segment.tablespace, data_object)?;
    let segment = SegmentRef { header, data_object, ..part.segment };
    work.drop_segment_later(part.segment.header)?;
    moved_tree(work, part, &segment)?;
    Ok(IndexPartitionDef { segment, unusable: false, ..part.clone() })
}

/// Marks a partition of an index as unusable.
pub fn set_unusable(work: &mut Work<'_>, part: &IndexPartitionDef) -> Result<()> {
    work.change().update_by(Base::Indpart, by(indpart::OBJ, part.object), &mut |row| {
        row[indpart::FLAGS] = int(property::IND_UNUSABLE);
    })?;
    Ok(())
}

/// Removes a partition of an index, and marks its segment for the drop.
pub fn remove_index_partition(work: &mut Work<'_>, part: &IndexPartitionDef) -> Result<()> {
    work.change().delete_by(Base::Indpart, by(indpart::OBJ, part.object))?;
    work.delete_object(part.object)?;
    work.drop_segment_later(part.segment.header)
}

/// Gives partitions the new name of their table or index.
pub fn rename(work: &mut Work<'_>, objects: &[ObjectId], to: &str) -> Result<()> {
    objects.iter().try_for_each(|object| work.update_object(*object, &mut |row| row[obj::NAME] = text(to)))
}

/// The objects of a table's partitions.
pub fn objects_of(table: &TableDef) -> Vec<ObjectId> {
    table.partitioning().map_or(Vec::new(), |of| of.partitions.iter().map(|p| p.object).collect())
}

/// Stands for the segment of a table or index whose partitions have the segments.
pub fn no_segment(tablespace: u32, pctfree: u8, initrans: u8) -> SegmentRef {
    SegmentRef { tablespace, header: Rdba::NONE, data_object: ObjectId(0), pctfree, initrans }
}
