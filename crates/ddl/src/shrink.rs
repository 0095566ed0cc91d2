//! ALTER TABLE and ALTER INDEX … SHRINK SPACE: what rows and entries need and no more, the rest given back to the
//! tablespace.
//!
//! The rows go, packed, into a segment of their own size, in one transaction under the table's exclusive lock, and the
//! indexes are filled anew. Moving single rows down within the segment would need less room meanwhile, but it would
//! leave queries that began before without the rows whose old places were given away; they end with ORA-08103 or
//! ORA-01466 as after MOVE, and no query misses a row. COMPACT asks for the first half of that work only, which there
//! is none of: it does the same.

use crate::alter_table::copy_rows;
use crate::index::{rebuild, refill};
use crate::work::Work;
use dictionary::*;
use sql::ast::SegmentOptions;
use types::{DataType, Ora, Result};

/// The table is locked. ORA-10636 unless its rows may move, ORA-10635, ORA-10631 and ORA-10662 for tables that cannot
/// be shrunk.
pub fn table(work: &mut Work<'_>, table: &mut TableDef, pos: u32) -> Result<()> {
    if table.temporary.is_some() {
        return Err(Ora::new(10635).at(pos));
    }
    if let Some(rows) = table.row_index().cloned() {
        return refill(work, table, &rows, rows.segment.tablespace, &Ora::new(1452));
    }
    let Organization::Heap(segment) = table.organization else { return Err(Ora::new(10635).at(pos)) };
    if !table.options.row_movement {
        return Err(Ora::new(10636).at(pos));
    }
    if table.columns.iter().any(|c| matches!(c.data_type, DataType::Long | DataType::LongRaw)) {
        return Err(Ora::new(10662).at(pos));
    }
    if table.indexes.iter().any(|index| crate::virtual_column::is_computed(table, index)) {
        return Err(Ora::new(10631).at(pos));
    }
    let (moved, old) = crate::create_table::new_segment(work, table, segment.tablespace)?;
    copy_rows(work, table, &moved)?;
    os::crash::point("ddl-rows-moved");
    work.doom(old)?;
    for index in &table.indexes {
        // One that cannot be used is as empty as it was.
        if !index.is_usable() {
            crate::index::empty_unusable(work, index)?;
        } else {
            refill(work, &moved, index, index.segment.tablespace, &Ora::new(1452))?;
        }
    }
    *table = (*moved).clone();
    Ok(())
}

/// The index of a table that is not temporary. With COMPACT its leaves are merged and the table stays in use; else it
/// is made anew.
pub fn index(work: &mut Work<'_>, index: &IndexDef, compact: bool) -> Result<()> {
    if index.unusable {
        return Err(Ora::with(1502, &[&index.owner, &index.name]));
    }
    if compact || index.kind == IndexKind::IotTop {
        return crate::index::coalesce(work, index);
    }
    work.lock(index.table)?;
    rebuild(work, index, &SegmentOptions::default())
}
