//! The rows of indexes in the dictionary.

use crate::work::{Work, by};
use dictionary::base::{Base, icol, ind, obj};
use dictionary::image::property;
use dictionary::rows::{Row, blank, int};
use dictionary::{IndexColumnDef, IndexDef, IndexKey, IndexKind};
use types::{ObjectId, Rdba, Result, Value};

/// FLAGS of IND$.
pub fn flags_of(index: &IndexDef) -> i64 {
    let IndexDef { invisible, unusable, building, disabled, .. } = index;
    i64::from(*invisible) * property::IND_INVISIBLE
        + i64::from(*unusable) * property::IND_UNUSABLE
        + i64::from(*building) * property::IND_BUILDING
        + i64::from(*disabled) * property::IND_DISABLED
}

pub fn set_flags(work: &mut Work<'_>, index: ObjectId, flags: i64) -> Result<()> {
    work.change().update_by(Base::Ind, by(ind::OBJ, index), &mut |row| row[ind::FLAGS] = int(flags)).map(|_| ())
}

pub fn enter(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
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
    let is_temporary = index.segment.header.is_none() && index.local.is_none();
    let temporary = if is_temporary { property::IND_TEMPORARY } else { 0 };
    let local = if index.local.is_some() { property::IND_LOCAL } else { 0 };
    let of_key = if index.of_key { property::IND_OF_KEY } else { 0 };
    row[ind::PROPERTY] =
        int(reverse | temporary | local | of_key | if index.unique { property::IND_UNIQUE } else { 0 });
    row[ind::FLAGS] = int(flags_of(index));
    work.change().insert(Base::Ind, &row)?;
    let rows: Vec<Row> = index.columns.iter().enumerate().map(|(i, column)| column_row(index, i, column)).collect();
    work.change().insert_many(Base::Icol, &rows)
}

pub fn column_row(index: &IndexDef, i: usize, column: &IndexColumnDef) -> Row {
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

/// Disables an index on an expression whose function was replaced or dropped.
pub fn disable(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    set_flags(work, index.object, flags_of(index) | property::IND_DISABLED)
}

pub fn moved(work: &mut Work<'_>, object: ObjectId, header: Rdba, data: ObjectId, tablespace: u32) -> Result<()> {
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
    if let Some(parts) = &index.local {
        return parts.iter().try_for_each(|part| crate::partition_rows::remove_index_partition(work, part));
    }
    work.drop_segment_later(index.segment.header)?;
    Ok(())
}
