//! ALTER TABLE and ALTER INDEX … SHRINK SPACE: packs rows and entries, and returns the free space (L5) to the
//! tablespace.
//!
//! The rows are packed into a segment of their own size, in one transaction under the table's exclusive lock, and the
//! indexes are filled again. Moving single rows within the segment would need less space, but queries that began
//! earlier would miss rows whose old places were given away; here they end with ORA-08103 or ORA-01466, as after MOVE,
//! and no query misses a row. COMPACT stands for the first half of that work, which does not exist here, so it does the
//! same.

use crate::index::{rebuild, refill};
use crate::rows::copy_rows;
use crate::work::Work;
use dictionary::*;
use sql::ast::SegmentOptions;
use types::{DataType, Ora, Result};

/// Shrinks a locked table. ORA-10636 unless its rows may move; ORA-10635, ORA-10631 and ORA-10662 for tables that
/// cannot be shrunk.
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
    faults::point("ddl-rows-moved");
    work.drop_segment_later(old)?;
    for index in &table.indexes {
        // An unusable index stays empty.
        if !index.is_usable() {
            crate::index::empty_unusable(work, index)?;
        } else {
            refill(work, &moved, index, index.segment.tablespace, &Ora::new(1452))?;
        }
    }
    *table = (*moved).clone();
    Ok(())
}

/// Shrinks an index of a permanent table. With COMPACT its leaves are merged and the table stays in use; otherwise it
/// is made again.
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
