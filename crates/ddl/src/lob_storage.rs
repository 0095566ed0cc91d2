//! `LOB (c) STORE AS …`, and the segments that it makes.
//!
//! A LOB column that a clause names gets a segment for its long values if the table is an ordinary one; values of other
//! LOB columns lie in the row. The segment lies in the tablespace of its table, so that the two are moved, dropped and
//! taken offline together. What would need more is refused.

use crate::index_rows;
use crate::tree;
use crate::work::{Target, Work, by, no_column};
use dictionary::base::{Base, icol, ind};
use dictionary::image::property;
use dictionary::rows::{blank, int};
use dictionary::{LobDef, ObjectKind, Organization, SegmentRef, TableDef};
use sql::ast::LobStorage;
use types::{Ora, Result};

/// Checks a clause for the table that it belongs to.
///
/// # Errors
/// ORA-00904 for a column that the table does not have, ORA-22853 for one that is no LOB, ORA-22850 for one that is
/// named twice; ORA-00959; ORA-03001 for COMPRESS, DEDUPLICATE and another tablespace than the table's.
fn check(work: &Work<'_>, table: &TableDef, lob: &LobStorage) -> Result<()> {
    let LobStorage { columns, name: _, stores: _, in_row: _, tablespace, unsupported, pos: _ } = lob;
    for (nth, wanted) in columns.iter().enumerate() {
        let (_, column) = table.column(&wanted.name).ok_or_else(|| no_column(wanted))?;
        if !plan::is_lob(&column.data_type) {
            return Err(Ora::new(22_853).at(wanted.pos.0));
        }
        if columns[..nth].iter().any(|other| other.name == wanted.name) {
            return Err(Ora::new(22_850).at(wanted.pos.0));
        }
    }
    if let Some(name) = tablespace {
        let number = work.tablespace_number(name)?;
        let is_here = match &table.organization {
            Organization::Heap(segment) | Organization::Index(segment) => segment.tablespace == number,
            Organization::HashCluster { cluster, key_positions: _ } => cluster.segment.tablespace == number,
            Organization::Partitioned(of) => of.partitions.iter().all(|p| p.segment.tablespace == number),
            Organization::Fixed(_) => false,
        };
        if !is_here {
            return Err(Ora::unsupported().at(name.pos.0));
        }
    }
    unsupported.map_or(Ok(()), |pos| Err(Ora::unsupported().at(pos.0)))
}

/// Checks the clauses of CREATE TABLE.
///
/// # Errors
/// As [`set`]; ORA-22850 for a column in two clauses.
pub fn check_all(work: &Work<'_>, table: &TableDef, lobs: &[LobStorage]) -> Result<()> {
    for (nth, lob) in lobs.iter().enumerate() {
        check(work, table, lob)?;
        let earlier = || lobs[..nth].iter().flat_map(|lob| &lob.columns);
        if let Some(twice) = lob.columns.iter().find(|column| earlier().any(|other| other.name == column.name)) {
            return Err(Ora::new(22_850).at(twice.pos.0));
        }
    }
    Ok(())
}

/// Does what a clause says for a table that is in the dictionary. The values that are there stay where they are.
///
/// # Errors
/// ORA-00904, ORA-22853, ORA-22850, ORA-00959, ORA-03001; ORA-00955 for the name of another segment.
pub fn set(work: &mut Work<'_>, table: &mut TableDef, lob: &LobStorage) -> Result<()> {
    check(work, table, lob)?;
    for wanted in &lob.columns {
        let Some((column, _)) = table.column(&wanted.name) else { return Err(no_column(wanted)) };
        match table.lobs.iter().position(|have| have.column == column) {
            Some(at) => set_in_row(work, &mut table.lobs[at], lob)?,
            None if lob.stores => make(work, table, column, lob)?,
            None => {}
        }
    }
    Ok(())
}

fn set_in_row(work: &mut Work<'_>, have: &mut LobDef, lob: &LobStorage) -> Result<()> {
    let Some(in_row) = lob.in_row else { return Ok(()) };
    have.in_row = in_row;
    let bits = int(property_of(have));
    work.touch(have.object);
    work.change().update_by(Base::Ind, by(ind::OBJ, have.object), &mut |row| row[ind::PROPERTY] = bits.clone())?;
    Ok(())
}

fn property_of(lob: &LobDef) -> i64 {
    property::IND_UNIQUE | if lob.in_row { 0 } else { property::IND_LOB_NOT_IN_ROW }
}

/// Makes the segment of a column; none for a table that is temporary, partitioned, clustered or index-organised.
fn make(work: &mut Work<'_>, table: &mut TableDef, column: usize, lob: &LobStorage) -> Result<()> {
    let Organization::Heap(of_table) = &table.organization else { return Ok(()) };
    if table.temporary.is_some() {
        return Ok(());
    }
    let tablespace = of_table.tablespace;
    let (name, pos) = match &lob.name {
        Some(name) => (name.name.clone(), name.pos.0),
        None => (format!("SYS_LOB{:010}C{:05}$$", table.object.0, column + 1), lob.pos.0),
    };
    let target = Target { owner: table.owner_id, owner_name: table.owner.clone(), name, pos };
    work.require_new(&target, ObjectKind::Lob)?;
    let object = work.new_object();
    let header = tree::create(work, tablespace, object)?;
    let segment = SegmentRef { tablespace, header, data_object: object, pctfree: 0, initrans: 2 };
    let def = LobDef { object, name: target.name.clone(), column, segment, in_row: lob.in_row != Some(false) };
    work.insert_object(object, Some(object), &target, ObjectKind::Lob)?;
    let mut row = blank(Base::Ind);
    row[ind::OBJ] = int(object.0);
    row[ind::DATAOBJ] = int(object.0);
    row[ind::TS] = int(tablespace);
    row[ind::FILE] = int(header.file());
    row[ind::BLOCK] = int(header.block());
    row[ind::BO] = int(table.object.0);
    row[ind::COLS] = int(1);
    row[ind::PCTFREE] = int(segment.pctfree);
    row[ind::INITRANS] = int(segment.initrans);
    row[ind::TYPE] = int(property::IND_TYPE_LOB);
    row[ind::PROPERTY] = int(property_of(&def));
    row[ind::FLAGS] = int(0);
    work.change().insert(Base::Ind, &row)?;
    let mut row = blank(Base::Icol);
    row[icol::OBJ] = int(object.0);
    row[icol::BO] = int(table.object.0);
    row[icol::POS] = int(1);
    row[icol::DESCENDING] = int(0);
    row[icol::COL] = int(column as i64 + 1);
    work.change().insert(Base::Icol, &row)?;
    table.lobs.push(def);
    Ok(())
}

/// Removes the segment of a dropped table's column from the dictionary and marks it for the drop.
pub fn remove(work: &mut Work<'_>, lob: &LobDef) -> Result<()> {
    work.change().delete_by(Base::Ind, by(ind::OBJ, lob.object))?;
    work.change().delete_by(Base::Icol, by(icol::OBJ, lob.object))?;
    work.delete_object(lob.object)?;
    work.drop_segment_later(lob.segment.header)
}

/// Gives a truncated table's column a new, empty segment.
pub fn empty(work: &mut Work<'_>, lob: &LobDef) -> Result<()> {
    let data_object = work.new_object();
    let header = tree::create(work, lob.segment.tablespace, data_object)?;
    work.drop_segment_later(lob.segment.header)?;
    index_rows::moved(work, lob.object, header, data_object, lob.segment.tablespace)
}

/// Refuses what would separate the table from the segments of its LOBs.
///
/// # Errors
/// ORA-03001.
pub fn require_none(table: &TableDef, pos: u32) -> Result<()> {
    if table.lobs.is_empty() { Ok(()) } else { Err(Ora::unsupported().at(pos)) }
}
