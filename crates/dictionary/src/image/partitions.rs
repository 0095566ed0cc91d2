//! The partitions of tables and indexes.

use super::numbers::{positions_of, segment_header};
use super::picture::Image;
use super::property;
use crate::base::*;
use crate::interval::{Interval, Width};
use crate::rows::{Row, as_i64, as_text, as_u32};
use crate::*;
use std::collections::HashMap;
use std::rc::Rc;
use types::{ObjectId, Ora, Result, Value};

impl Image {
    /// The partitions of a table.
    ///
    /// # Errors
    /// ORA-00600 for rows that no release has written.
    pub(super) fn partitioning(&self, table: ObjectId) -> Result<Partitioning> {
        let missing = || Ora::internal(format_args!("[partitions of table {table}]"));
        let row = self.rows(Base::Partobj, partobj::OBJ, table.0).pop().ok_or_else(missing)?;
        let method = as_i64(&row[partobj::PARTTYPE]).and_then(|code| PartitionMethod::from_code(code as u8));
        let columns = positions_of(as_text(&row[partobj::KEYCOLS])).ok_or_else(missing)?;
        let mut rows = self.rows(Base::Tabpart, tabpart::BO, table.0);
        rows.sort_by_key(|row| as_i64(&row[tabpart::PART]));
        let partitions = rows.iter().map(partition_of).collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        let known = method.filter(|_| !columns.is_empty() && !partitions.is_empty());
        let interval = match &row[partobj::INTERVAL_BIVAL] {
            Value::Raw(bytes) => {
                let width = Width::of_bytes(bytes).filter(|_| columns.len() == 1).ok_or_else(missing)?;
                Some(Interval { text: as_text(&row[partobj::INTERVAL_STR]).to_owned(), width })
            }
            _ => None,
        };
        Ok(Partitioning::new(known.ok_or_else(missing)?, columns, partitions).with_interval(interval))
    }

    /// Adds the partitions of a local index.
    ///
    /// # Errors
    /// ORA-00600 when they are not those of the table.
    pub(super) fn add_local(&self, index: &mut Rc<IndexDef>, of: &Partitioning) -> Result<()> {
        let bits = self.rows(Base::Ind, ind::OBJ, index.object.0).pop();
        let bits = bits.and_then(|row| as_i64(&row[ind::PROPERTY])).unwrap_or(0);
        if bits & property::IND_LOCAL == 0 {
            return Ok(());
        }
        let rows = self.rows(Base::Indpart, indpart::BO, index.object.0);
        let mut by_table: HashMap<u32, IndexPartitionDef> =
            rows.iter().map(|row| (as_u32(&row[indpart::TABPART]), index_partition_of(row))).collect();
        let all = of.partitions.iter().map(|p| by_table.remove(&p.object.0)).collect::<Option<Vec<_>>>();
        let all = all.ok_or_else(|| Ora::internal(format_args!("[partitions of index {}]", index.object)))?;
        let mut def = (**index).clone();
        def.unusable |= all.iter().all(|p| p.unusable);
        def.local = Some(Rc::new(all));
        *index = Rc::new(def);
        Ok(())
    }
}

fn partition_of(row: &Row) -> Option<PartitionDef> {
    let Value::Raw(bound) = &row[tabpart::BHIBOUNDVAL] else { return None };
    Some(PartitionDef {
        object: ObjectId(as_u32(&row[tabpart::OBJ])),
        name: as_text(&row[tabpart::NAME]).to_owned(),
        segment: SegmentRef {
            tablespace: as_u32(&row[tabpart::TS]),
            header: segment_header(row, tabpart::FILE, tabpart::BLOCK),
            data_object: ObjectId(as_u32(&row[tabpart::DATAOBJ])),
            pctfree: as_u32(&row[tabpart::PCTFREE]) as u8,
            initrans: as_u32(&row[tabpart::INITRANS]) as u8,
        },
        high_value: as_text(&row[tabpart::HIBOUNDVAL]).to_owned(),
        bound: PartitionBound::of_bytes(bound)?,
    })
}

fn index_partition_of(row: &Row) -> IndexPartitionDef {
    IndexPartitionDef {
        object: ObjectId(as_u32(&row[indpart::OBJ])),
        name: as_text(&row[indpart::NAME]).to_owned(),
        segment: SegmentRef {
            tablespace: as_u32(&row[indpart::TS]),
            header: segment_header(row, indpart::FILE, indpart::BLOCK),
            data_object: ObjectId(as_u32(&row[indpart::DATAOBJ])),
            pctfree: as_u32(&row[indpart::PCTFREE]) as u8,
            initrans: as_u32(&row[indpart::INITRANS]) as u8,
        },
        unusable: as_i64(&row[indpart::FLAGS]).unwrap_or(0) & property::IND_UNUSABLE != 0,
    }
}
