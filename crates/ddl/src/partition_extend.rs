//! The partitions of intervals that sessions make for their rows.

use crate::partition_alter::{add_local, made};
use crate::partition_bounds::computed_text;
use crate::partition_rows;
use crate::work::{Work, by};
use dictionary::base::{Base, tabpart};
use dictionary::interval::{key_of, value_of};
use dictionary::rows::as_i64;
use dictionary::{PARTITIONS_MAX, PartitionBound};
use types::{ObjectId, Ora, Result};

/// Makes the partition for a key, unless another session has made it meanwhile.
///
/// The table is not locked: the session that inserts has the table's lock for DML, which excludes other DDL on the
/// table, and the DD enqueue orders the sessions that make partitions.
///
/// # Errors
/// ORA-14300; ORA-08103 for a dropped table; those of making segments.
pub fn extend(work: &mut Work<'_>, object: ObjectId, key: &[u8]) -> Result<()> {
    let table = work.existing_table(object)?;
    let of = table.partitioning().ok_or_else(|| Ora::new(8103))?;
    let ([column], Some(interval), None) = (&of.columns[..], &of.interval, of.place_of_key(key)) else {
        return Ok(());
    };
    let ty = &table.columns[*column].data_type;
    let transition = value_of(of.transition().unwrap_or_default(), ty)?;
    let (low, high) = interval.width.around(&transition, &value_of(key, ty)?)?;
    if of.partitions.len() >= PARTITIONS_MAX {
        return Err(Ora::new(14300));
    }
    let bound = (PartitionBound::Within(key_of(&low), key_of(&high)), computed_text(&high));
    let new = made(work, &table, of, None, &bound, of.partitions.len() - 1)?;
    let p = partition_rows::make(work, new)?;
    let rows = work.select_by(Base::Tabpart, by(tabpart::BO, object))?;
    let last = rows.iter().filter_map(|row| as_i64(&row[tabpart::PART])).max().unwrap_or(0);
    partition_rows::enter(work, &table, last as usize + 1, &p)?;
    add_local(work, &table, &p, None)?;
    work.altered(object)
}
