//! PARTITION BY of CREATE TABLE.

use crate::partition_bounds::{Bound, KeyColumns};
use crate::partition_interval;
use crate::partition_rows::{NewPartition, make};
use crate::quota;
use crate::work::{Work, no_column};
use dictionary::*;
use sql::ast::{
    HashPartitions, Ident, PartitionBy, PartitionMethod as By, PartitionSpec, PartitionValues, SegmentOptions,
};
use types::{DataType, Ora, Result};

/// Makes the partitions of a new table.
///
/// # Errors
/// ORA-03001 for methods that are not supported; those of the clauses.
pub fn partitioning(
    work: &mut Work<'_>,
    by: &PartitionBy,
    columns: &[ColumnDef],
    (owner, options): (UserId, &SegmentOptions),
) -> Result<Partitioning> {
    let PartitionBy { columns: named, method, pos } = by;
    let pos = pos.0;
    let key = key_columns(named, columns, pos)?;
    let of = KeyColumns { all: columns, key: &key };
    let mut new = Vec::new();
    let method = match method {
        By::Other => return Err(Ora::unsupported().at(pos)),
        By::Range { interval: _, store_in, partitions } => {
            if let Some(tablespace) = store_in.first() {
                return Err(Ora::unsupported().at(tablespace.pos.0));
            }
            for spec in partitions {
                let bound = of.bound(work, &spec.values, true, spec.pos.0)?;
                new.push(described(work, spec, bound, owner, options)?);
            }
            require_ascending(&new, partitions)?;
            PartitionMethod::Range
        }
        By::List { partitions } => {
            for (n, spec) in partitions.iter().enumerate() {
                let bound = of.bound(work, &spec.values, false, spec.pos.0)?;
                if bound.0 == PartitionBound::Default && n + 1 < partitions.len() {
                    return Err(Ora::new(14318).at(spec.pos.0));
                }
                let made = described(work, spec, bound, owner, options)?;
                require_new_values(&new, &made, spec.pos.0)?;
                new.push(made);
            }
            PartitionMethod::List
        }
        By::Hash(HashPartitions::Listed(partitions)) => {
            for spec in partitions {
                if spec.values != PartitionValues::None {
                    return Err(Ora::new(14261).at(spec.pos.0));
                }
                new.push(described(work, spec, (PartitionBound::Hash, String::new()), owner, options)?);
            }
            PartitionMethod::Hash
        }
        By::Hash(HashPartitions::Count { count, store_in, pos }) => {
            if *count == 0 || *count as usize > PARTITIONS_MAX {
                return Err(Ora::new(14152).at(pos.0));
            }
            for n in 0..*count as usize {
                let mut own = options.clone();
                if !store_in.is_empty() {
                    own.tablespace = Some(store_in[n % store_in.len()].clone());
                }
                let bound = (PartitionBound::Hash, String::new());
                let no_name = SegmentOptions::default();
                let spec = PartitionSpec { name: None, values: PartitionValues::None, options: no_name, pos: *pos };
                new.push(described(work, &spec, bound, owner, &own)?);
            }
            PartitionMethod::Hash
        }
    };
    new.iter().try_for_each(|new| quota::reserve(work, new.tablespace, owner))?;
    let partitions = new.into_iter().map(|new| make(work, new)).collect::<Result<Vec<_>>>()?;
    for (n, p) in partitions.iter().enumerate() {
        if partitions[..n].iter().any(|other| other.name == p.name) {
            return Err(Ora::new(14013).at(pos));
        }
    }
    let made = Partitioning::new(method, key, partitions);
    match &by.method {
        By::Range { interval: Some(width), store_in: _, partitions: _ } => {
            let interval = partition_interval::interval(work, &made, columns, width, pos)?;
            Ok(made.with_interval(Some(interval)))
        }
        _ => Ok(made), // not a clause: the other methods have no interval
    }
}

/// The positions of the columns of a partitioning key. ORA-00904, ORA-00957, ORA-14014, ORA-14135.
fn key_columns(named: &[Ident], columns: &[ColumnDef], pos: u32) -> Result<Vec<usize>> {
    let mut key: Vec<usize> = Vec::new();
    for name in named {
        let at = columns.iter().position(|column| column.name == name.name).ok_or_else(|| no_column(name))?;
        if key.contains(&at) {
            return Err(Ora::new(957).at(name.pos.0));
        }
        match columns[at].data_type {
            DataType::Clob | DataType::Nclob | DataType::Blob | DataType::Bfile | DataType::Xml => {
                return Err(Ora::new(14135).at(name.pos.0));
            }
            DataType::Number { .. }
            | DataType::Float { .. }
            | DataType::Varchar2 { .. }
            | DataType::Nvarchar2 { .. }
            | DataType::Char { .. }
            | DataType::Nchar { .. }
            | DataType::Date
            | DataType::Raw { .. }
            | DataType::Timestamp { zone: types::Zone::None, .. }
                if columns[at].virtual_text.is_none() => {}
            // Other types, and values that are not stored.
            _ => return Err(Ora::unsupported().at(name.pos.0)),
        }
        key.push(at);
    }
    match key.len() > PARTITION_COLUMNS_MAX {
        true => Err(Ora::new(14014).at(pos)),
        false => Ok(key),
    }
}

/// A partition as a clause describes it; what the clause omits is that of the table.
pub fn described(
    work: &mut Work<'_>,
    spec: &PartitionSpec,
    (bound, high_value): Bound,
    owner: UserId,
    table: &SegmentOptions,
) -> Result<NewPartition> {
    // The bound comes from the values.
    let PartitionSpec { name, values: _, options: own, pos: _ } = spec;
    Ok(NewPartition {
        name: name.as_ref().map(|name| name.name.clone()),
        bound,
        high_value,
        tablespace: work.tablespace(own.tablespace.as_ref().or(table.tablespace.as_ref()), owner)?,
        pctfree: own.pctfree.or(table.pctfree).unwrap_or(10) as u8,
        initrans: own.initrans.or(table.initrans).unwrap_or(1).clamp(1, 255) as u8,
    })
}

/// ORA-14037 unless each bound is above the one before it.
fn require_ascending(new: &[NewPartition], specs: &[PartitionSpec]) -> Result<()> {
    for (n, pair) in new.windows(2).enumerate() {
        let (PartitionBound::Below(a), PartitionBound::Below(b)) = (&pair[0].bound, &pair[1].bound) else { continue };
        if a >= b {
            let name = pair[0].name.clone().unwrap_or_default();
            return Err(Ora::with(14037, &[&name]).at(specs[n].pos.0));
        }
    }
    Ok(())
}

/// ORA-14312 for a value that another partition of the list has.
fn require_new_values(have: &[NewPartition], new: &NewPartition, pos: u32) -> Result<()> {
    let PartitionBound::Keys(keys) = &new.bound else { return Ok(()) };
    for other in have {
        let PartitionBound::Keys(listed) = &other.bound else { continue };
        if keys.iter().any(|key| listed.contains(key)) {
            let name = other.name.clone().unwrap_or_default();
            return Err(Ora::with(14312, &[&new.high_value, &name]).at(pos));
        }
    }
    Ok(())
}
