//! Statistics of tables, columns and indexes in the dictionary: storing and deleting them.

use crate::gather::{Figures, IndexFigures};
use crate::host::Parts;
use crate::stats_preferences::changed;
use crate::work::{Work, by};
use dictionary::base::{
    Base, col_usage, head_history, hist_head, histgrm, histgrm_history, ind, ind_history, mods_all, stat_pref,
    stats_extension, tab, tab_history, tabpart,
};
use dictionary::rows::{Row, as_i64, as_u32, int};
use dictionary::statistics::flags;
use dictionary::statistics_rows::{head_row, histogram_rows};
use dictionary::{ColumnStatistics, Organization, PartitionDef, TableDef};
use types::{Number, ObjectId, Ora, Result, Value};

const TABLE_FIGURES: [usize; 5] = [tab::ROWCNT, tab::BLKCNT, tab::AVGRLN, tab::SAMPLESIZE, tab::ANALYZETIME];
const PARTITION_FIGURES: [usize; 5] =
    [tabpart::ROWCNT, tabpart::BLKCNT, tabpart::AVGRLN, tabpart::SAMPLESIZE, tabpart::ANALYZETIME];
const INDEX_FIGURES: [usize; 9] = [
    ind::BLEVEL,
    ind::LEAFCNT,
    ind::DISTKEY,
    ind::LBLKKEY,
    ind::DBLKKEY,
    ind::CLUFAC,
    ind::ROWCNT,
    ind::SAMPLESIZE,
    ind::ANALYZETIME,
];

/// Whether a table's statistics are locked.
pub fn is_locked(work: &mut Work<'_>, table: ObjectId) -> Result<bool> {
    let rows = work.select_by(Base::Tab, by(tab::OBJ, table))?;
    Ok(rows.iter().any(|row| as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED != 0))
}

/// Formatted blocks below the high-water mark.
pub fn blocks(parts: &Parts<'_>, table: &TableDef) -> Result<u64> {
    if let Some(of) = table.partitioning() {
        return of.partitions.iter().try_fold(0, |sum, p| Ok(sum + partition_blocks(parts, p)?));
    }
    let header = match &table.organization {
        Organization::HashCluster { cluster, .. } => cluster.segment.header,
        Organization::Index(segment) => segment.header,
        _ => table.heap_table().map(|heap| heap.header).ok_or_else(|| Ora::new(1702))?,
    };
    let segments = parts.storage.heap.transactions().space();
    let mut found = Vec::new();
    let object = segments.object(parts.p, header)?;
    for (n, extent) in segments.extents_of(parts.p, header, object)?.into_iter().enumerate() {
        segments.formatted_blocks(parts.p, object, extent, n as u32, &mut found)?;
    }
    Ok(found.len() as u64)
}

fn partition_blocks(parts: &Parts<'_>, p: &PartitionDef) -> Result<u64> {
    let segments = parts.storage.heap.transactions().space();
    let (header, object) = (p.segment.header, p.segment.data_object);
    let mut found = Vec::new();
    for (n, extent) in segments.extents_of(parts.p, header, object)?.into_iter().enumerate() {
        segments.formatted_blocks(parts.p, object, extent, n as u32, &mut found)?;
    }
    Ok(found.len() as u64)
}

/// Stores the figures of the partitions. The planner uses those of the table.
fn store_partitions(work: &mut Work<'_>, table: &TableDef, figures: &Figures) -> Result<()> {
    let (Some(of), now) = (table.partitioning(), work.now) else { return Ok(()) };
    for (p, (rows, bytes)) in of.partitions.iter().zip(&figures.partitions) {
        work.host.parts().p.check_cancel()?;
        let blocks = partition_blocks(&work.host.parts(), p)?;
        work.change().update_by(Base::Tabpart, by(tabpart::OBJ, p.object), &mut |row| {
            row[tabpart::ROWCNT] = int(*rows as i64);
            row[tabpart::BLKCNT] = int(blocks as i64);
            row[tabpart::AVGRLN] = int(bytes.checked_div(*rows).unwrap_or(0) as i64);
            row[tabpart::SAMPLESIZE] = int(*rows as i64);
            row[tabpart::ANALYZETIME] = Value::Date(now);
        })?;
    }
    Ok(())
}

fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

pub fn set_number(row: &mut Row, at: usize, value: Option<f64>) {
    if let Some(value) = value {
        row[at] = number(value.max(0.0).round());
    }
}

pub fn clear_index(row: &mut Row) {
    INDEX_FIGURES.iter().for_each(|at| row[*at] = Value::Null);
    row[ind::STATFLAGS] = int(0);
}

pub fn store_table(work: &mut Work<'_>, table: &TableDef, figures: &Figures, blocks: u64) -> Result<()> {
    let (object, now) = (table.object, work.now);
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        row[tab::ROWCNT] = int(figures.rows as i64);
        row[tab::BLKCNT] = int(blocks as i64);
        row[tab::AVGRLN] = int(figures.average_row_bytes as i64);
        row[tab::SAMPLESIZE] = int(figures.sample as i64);
        row[tab::ANALYZETIME] = Value::Date(now);
        row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED);
    })?;
    store_partitions(work, table, figures)?;
    let columns = figures.columns.iter().map(|(at, statistics)| (*at as u32 + 1, statistics));
    let all = columns.chain(figures.groups.iter().map(|(number, statistics)| (*number, statistics)));
    let all: Vec<(u32, &ColumnStatistics)> = all.collect();
    store_columns(work, table, &all, false)
}

/// Replaces the statistics of columns and column groups.
pub fn store_columns(
    work: &mut Work<'_>,
    table: &TableDef,
    all: &[(u32, &ColumnStatistics)],
    user: bool,
) -> Result<()> {
    let (object, now) = (table.object, work.now);
    let old = |col: usize| move |row: &[Value]| all.iter().any(|(number, _)| *number == as_u32(&row[col]));
    work.change().delete_by(Base::HistHead, by(hist_head::OBJ, object).and(&old(hist_head::COL)))?;
    work.change().delete_by(Base::Histgrm, by(histgrm::OBJ, object).and(&old(histgrm::COL)))?;
    let heads: Vec<Row> = all.iter().map(|(number, s)| head_row(object, *number, s, user, now)).collect();
    work.change().insert_many(Base::HistHead, &heads)?;
    let mut endpoints = Vec::new();
    for (number, statistics) in all {
        let column = (*number as usize).checked_sub(1).and_then(|at| table.columns.get(at));
        let is_text = column.is_some_and(|column| plan::class(&column.data_type) == plan::Class::Text);
        if let Some(histogram) = &statistics.histogram {
            endpoints.extend(histogram_rows(object, *number, histogram, is_text));
        }
    }
    work.change().insert_many(Base::Histgrm, &endpoints)
}

pub fn store_index(work: &mut Work<'_>, index: ObjectId, figures: &IndexFigures) -> Result<()> {
    let now = work.now;
    let (leaves_per_key, data_per_key) = figures.blocks_per_key();
    work.change().update_by(Base::Ind, by(ind::OBJ, index), &mut |row| {
        row[ind::BLEVEL] = int(i64::from(figures.levels));
        row[ind::LEAFCNT] = int(figures.leaves as i64);
        row[ind::DISTKEY] = int(figures.distinct as i64);
        row[ind::LBLKKEY] = int(leaves_per_key as i64);
        row[ind::DBLKKEY] = int(data_per_key as i64);
        row[ind::CLUFAC] = int(figures.clustering as i64);
        row[ind::ROWCNT] = int(figures.rows as i64);
        row[ind::SAMPLESIZE] = int(figures.rows as i64);
        row[ind::ANALYZETIME] = Value::Date(now);
        row[ind::STATFLAGS] = int(0);
    })?;
    Ok(())
}

/// Deletes the statistics of a table, and those of its columns and indexes if requested.
///
/// # Errors
/// Those of changing the dictionary.
pub fn delete_table(work: &mut Work<'_>, object: ObjectId, columns: bool, indexes: bool) -> Result<()> {
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        TABLE_FIGURES.iter().for_each(|at| row[*at] = Value::Null);
        row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED);
    })?;
    work.change().update_by(Base::Tabpart, by(tabpart::BO, object), &mut |row| {
        PARTITION_FIGURES.iter().for_each(|at| row[*at] = Value::Null);
    })?;
    if columns {
        forget_columns(work, object)?;
    }
    if indexes {
        work.change().update_by(Base::Ind, by(ind::BO, object), &mut clear_index)?;
    }
    changed(work, object)?;
    Ok(())
}

pub fn delete_column(work: &mut Work<'_>, object: ObjectId, column: u32, histogram_only: bool) -> Result<()> {
    let mine = |col: usize| move |row: &[Value]| as_u32(&row[col]) == column;
    work.change().delete_by(Base::Histgrm, by(histgrm::OBJ, object).and(&mine(histgrm::COL)))?;
    let is_head = mine(hist_head::COL);
    let head = by(hist_head::OBJ, object).and(&is_head);
    if histogram_only {
        work.change().update_by(Base::HistHead, head, &mut |row| {
            row[hist_head::FLAGS] = int(as_i64(&row[hist_head::FLAGS]).unwrap_or(0) & !flags::HISTOGRAM_KIND);
            row[hist_head::BUCKETS] = int(1);
            if let Some(distinct) = as_i64(&row[hist_head::DISTCNT]).filter(|distinct| *distinct > 0) {
                row[hist_head::DENSITY] = number(1.0 / distinct as f64);
            }
        })?;
    } else {
        work.change().delete_by(Base::HistHead, head)?;
    }
    changed(work, object)?;
    Ok(())
}

/// Deletes the statistics of all columns and column groups of a table.
pub fn forget_columns(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    work.change().delete_by(Base::HistHead, by(hist_head::OBJ, object))?;
    work.change().delete_by(Base::Histgrm, by(histgrm::OBJ, object)).map(drop)
}

/// Deletes all statistics of a dropped table.
pub fn forget_table(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    forget_columns(work, object)?;
    let kept = [
        (Base::StatsExtension, stats_extension::OBJ),
        (Base::ModsAll, mods_all::OBJ),
        (Base::ColUsage, col_usage::OBJ),
        (Base::StatPref, stat_pref::OBJ),
        (Base::TabHistory, tab_history::OBJ),
        (Base::IndHistory, ind_history::BO),
        (Base::HeadHistory, head_history::OBJ),
        (Base::HistgrmHistory, histgrm_history::OBJ),
    ];
    for (base, column) in kept {
        work.change().delete_by(base, by(column, object))?;
    }
    Ok(())
}
