//! The clause of interval partitioning, and its effect on other DDL.

use crate::partition_bounds::interval_value;
use crate::work::{Work, by};
use dictionary::base::{Base, partobj, tabpart};
use dictionary::interval::{Interval, Width, value_of};
use dictionary::rows::{int, text};
use dictionary::*;
use sql::ast::Expr;
use types::{DataType, Ora, Result, Value};

/// The interval of a table with these range partitions.
///
/// # Errors
/// ORA-14750, ORA-14751, ORA-14752, ORA-14761, ORA-14767.
pub fn interval(
    work: &mut Work<'_>,
    of: &Partitioning,
    columns: &[ColumnDef],
    width: &Expr,
    pos: u32,
) -> Result<Interval> {
    let [column] = &of.columns[..] else { return Err(Ora::new(14750).at(pos)) };
    let ty = &columns[*column].data_type;
    if !matches!(ty, DataType::Number { .. } | DataType::Date | DataType::Timestamp { .. }) {
        return Err(Ora::new(14751).at(pos));
    }
    let value = interval_value(work, width)?;
    let wrong = || Ora::new(14752).at(width.pos.0);
    let interval =
        Interval { text: width.to_string().replace(", ", ","), width: Width::of(&value, ty).ok_or_else(wrong)? };
    // MAXVALUE has no value.
    let transition = of.transition().ok_or_else(|| Ora::internal("[no range partitions]"))?;
    let transition = value_of(transition, ty).map_err(|_| Ora::new(14761).at(pos))?;
    match interval.width.fits(&transition) {
        true => Ok(interval),
        false => Err(Ora::new(14767).at(width.pos.0)),
    }
}

/// Sets the columns of PARTOBJ$ for the interval.
pub fn set_columns(row: &mut [Value], interval: Option<&Interval>) {
    row[partobj::INTERVAL_STR] = interval.map_or(Value::Null, |interval| text(interval.text.as_str()));
    row[partobj::INTERVAL_BIVAL] = interval.map_or(Value::Null, |interval| Value::Raw(interval.width.to_bytes()));
}

/// FLAGS of a partition made by an interval.
pub fn flags_of(bound: &PartitionBound) -> i64 {
    i64::from(matches!(bound, PartitionBound::Within(..)))
}

/// ALTER TABLE … SET INTERVAL: partitions that an interval has made become ranges, which have no gaps between them.
///
/// # Errors
/// ORA-14759 for other methods, ORA-14757 when there is no interval to end; those of [`interval`].
pub fn set_interval(
    work: &mut Work<'_>,
    table: &TableDef,
    of: &Partitioning,
    width: Option<&Expr>,
    pos: u32,
) -> Result<Partitioning> {
    if of.method != PartitionMethod::Range {
        return Err(Ora::new(14759).at(pos));
    }
    if width.is_none() && of.interval.is_none() {
        return Err(Ora::new(14757).at(pos));
    }
    let mut partitions = of.partitions.clone();
    for p in &mut partitions {
        let PartitionBound::Within(_, high) = &p.bound else { continue };
        p.bound = PartitionBound::Below(high.clone());
        let bytes = p.bound.to_bytes();
        work.change().update_by(Base::Tabpart, by(tabpart::OBJ, p.object), &mut |row| {
            row[tabpart::BHIBOUNDVAL] = Value::Raw(bytes.clone());
            row[tabpart::FLAGS] = int(0);
        })?;
    }
    let new = Partitioning::new(of.method, of.columns.clone(), partitions);
    let interval = match width {
        Some(width) => Some(interval(work, &new, &table.columns, width, pos)?),
        None => None,
    };
    work.change().update_by(Base::Partobj, by(partobj::OBJ, table.object), &mut |row| {
        set_columns(row, interval.as_ref());
    })?;
    Ok(new.with_interval(interval))
}

/// ORA-14758 when all range partitions would go: the interval partitions begin above the last one.
pub fn require_transition(of: &Partitioning, places: &[usize], pos: u32) -> Result<()> {
    let highest = of.partitions.iter().rposition(|p| matches!(p.bound, PartitionBound::Below(_)));
    match of.interval.is_some() && highest.is_some_and(|place| places.contains(&place)) {
        true => Err(Ora::new(14758).at(pos)),
        false => Ok(()),
    }
}

/// ORA-03001 for a SPLIT or MERGE of partitions that an interval has made.
pub fn require_ranges(of: &Partitioning, places: &[usize], pos: u32) -> Result<()> {
    match places.iter().any(|place| of.partitions[*place].low().is_some()) {
        true => Err(Ora::unsupported().at(pos)),
        false => Ok(()),
    }
}
