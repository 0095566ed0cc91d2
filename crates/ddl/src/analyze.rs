//! ANALYZE, and the gathering of statistics that DBMS_STATS does, too.

use crate::work::{Parts, Work, by};
use crate::{index, rows};
use dictionary::base::{
    Base, head_history, hist_head, histgrm, histgrm_history, ind, ind_history, mods_all, stat_pref, stats_extension,
    tab, tab_history,
};
use dictionary::rows::{Row, as_u32, int};
use dictionary::*;
use sql::ast::{Analyze, AnalyzeKind};
use std::collections::HashSet;
use types::{ObjectId, Ora, Result, Value};

/// Distinct values of a column are counted up to here; a column with more counts as having no two rows alike.
const DISTINCT_MAX: usize = 100_000;

pub fn analyze(work: &mut Work<'_>, statement: &Analyze) -> Result<()> {
    let target = work.target(&statement.name)?;
    let any = SystemPrivilege::AnalyzeAny;
    let first = statement.action.split(' ').next().unwrap_or("");
    let table = match statement.kind {
        AnalyzeKind::Table => work.existing_for(&target, ObjectKind::Table, 942, any)?,
        AnalyzeKind::Index => {
            let object = work.existing_for(&target, ObjectKind::Index, 1418, any)?;
            work.image.index(object)?.ok_or_else(|| Ora::new(1418).at(target.pos))?.table
        }
        AnalyzeKind::Cluster => {
            let object = work.existing_for(&target, ObjectKind::Cluster, 943, any)?;
            work.require(&target, None, any)?;
            let cluster = work.image.cluster(object)?.ok_or_else(|| Ora::new(943).at(target.pos))?;
            for table in cluster.tables.clone() {
                gather(work, table)?;
            }
            return Ok(());
        }
    };
    work.require(&target, None, any)?;
    match first {
        "DELETE" => forget(work, table),
        "COMPUTE" | "ESTIMATE" => gather(work, table),
        _ => Err(Ora::unsupported().at(statement.pos.0)),
    }
}

/// What a scan of a table counts.
struct Counts {
    rows: u64,
    bytes: u64,
    nulls: Vec<u64>,
    distinct: Vec<HashSet<u64>>,
    /// Lowest and highest stored bytes of each column, which order as the values do.
    ends: Vec<Option<(Vec<u8>, Vec<u8>)>>,
}

impl Counts {
    fn of(columns: usize) -> Counts {
        let (nulls, distinct) = (vec![0; columns], vec![HashSet::new(); columns]);
        Counts { rows: 0, bytes: 0, nulls, distinct, ends: vec![None; columns] }
    }

    fn add(&mut self, row: &[u8]) -> Result<()> {
        self.rows += 1;
        self.bytes += row.len() as u64;
        for column in 0..self.nulls.len() {
            let Some(bytes) = rows::stored(row, column)? else {
                self.nulls[column] += 1;
                continue;
            };
            if self.distinct[column].len() < DISTINCT_MAX {
                self.distinct[column].insert(hash(bytes));
            }
            match &mut self.ends[column] {
                None => self.ends[column] = Some((bytes.to_vec(), bytes.to_vec())),
                Some((low, _)) if bytes < &low[..] => *low = bytes.to_vec(),
                Some((_, high)) if bytes > &high[..] => *high = bytes.to_vec(),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn statistics(&self, table: &TableDef, at: usize) -> ColumnStatistics {
        let seen = self.distinct[at].len();
        let distinct = if seen >= DISTINCT_MAX { self.rows - self.nulls[at] } else { seen as u64 };
        let place = |bytes: &[u8]| statistics::place_of_stored(bytes, &table.columns[at]);
        let ends = self.ends[at].as_ref();
        let range = ends.and_then(|(low, high)| place(low).zip(place(high)));
        ColumnStatistics {
            ends: ends.map(|(low, high)| (statistics::cut(low).into(), statistics::cut(high).into())),
            sample: self.rows - self.nulls[at],
            ..ColumnStatistics::new(distinct, self.nulls[at], range)
        }
    }
}

/// Counts rows, blocks and the values of each column of a table, and enters them.
///
/// # Errors
/// Those of reading.
pub fn gather(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let table = index::existing_table(work, object)?;
    // Everybody has other rows in it.
    if table.temporary.is_some() {
        return Ok(());
    }
    let mut counts = Counts::of(table.columns.len());
    // Others may define meanwhile, but not this table.
    work.keep_table(object)?;
    work.apart(&mut |work| rows::scan(work, &table, &mut |_, row| counts.add(row).map(|()| true)))?;
    let blocks = blocks(&work.host.parts(), &table)?;
    let now = work.now;
    let average = counts.bytes.checked_div(counts.rows).unwrap_or(0);
    work.change().update(Base::Tab, &by(tab::OBJ, object), &mut |row| {
        row[tab::ROWCNT] = int(counts.rows as i64);
        row[tab::BLKCNT] = int(blocks as i64);
        row[tab::AVGRLN] = int(average as i64);
        row[tab::ANALYZETIME] = Value::Date(now);
    })?;
    forget_columns(work, object)?;
    let heads: Vec<Row> = (0..table.columns.len())
        .map(|at| statistics::head_row(object, at as u32 + 1, &counts.statistics(&table, at), false, now))
        .collect();
    work.change().insert_many(Base::HistHead, &heads)?;
    work.change().update(Base::Ind, &by(ind::BO, object), &mut |row| {
        let of = table.indexes.iter().find(|index| index.object.0 == as_u32(&row[ind::OBJ]));
        row[ind::DISTKEY] = of.map_or(Value::Null, |index| int(distinct_keys(index, &counts) as i64));
    })?;
    work.touch(object);
    Ok(())
}

/// How many different keys an index has, by what is known of its columns: no more than rows, nor than their values
/// combined.
fn distinct_keys(index: &IndexDef, counts: &Counts) -> u64 {
    let values = |key: &IndexKey| match key {
        IndexKey::Column(at) if counts.distinct[*at].len() < DISTINCT_MAX => counts.distinct[*at].len() as u64,
        IndexKey::Column(at) => counts.rows - counts.nulls[*at],
        IndexKey::Expression { .. } => counts.rows,
    };
    let combined = index.columns.iter().map(|c| values(&c.key).max(1)).fold(1u64, u64::saturating_mul);
    combined.min(counts.rows)
}

/// Formatted blocks below the high-water mark.
fn blocks(parts: &Parts<'_>, table: &TableDef) -> Result<u64> {
    let header = match &table.organization {
        Organization::HashCluster { cluster, .. } => cluster.segment.header,
        Organization::Index(segment) => segment.header,
        _ => table.heap_table().map(|heap| heap.header).ok_or_else(|| Ora::new(1702))?,
    };
    let segments = parts.storage.heap.transactions().cache().segments();
    let mut found = Vec::new();
    let object = segments.object(parts.p, header)?;
    for (n, extent) in segments.extents_of(parts.p, header, object)?.into_iter().enumerate() {
        segments.formatted_blocks(parts.p, object, extent, n as u32, &mut found)?;
    }
    Ok(found.len() as u64)
}

fn forget(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    work.change().update(Base::Tab, &by(tab::OBJ, object), &mut |row| {
        for column in [tab::ROWCNT, tab::BLKCNT, tab::AVGRLN, tab::ANALYZETIME] {
            row[column] = Value::Null;
        }
    })?;
    forget_columns(work, object)?;
    work.touch(object);
    Ok(())
}

/// Forgets the statistics of all columns and column groups of a table.
pub fn forget_columns(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    work.change().delete(Base::HistHead, &by(hist_head::OBJ, object))?;
    work.change().delete(Base::Histgrm, &by(histgrm::OBJ, object)).map(drop)
}

/// A table is dropped, and all that is kept of its statistics with it.
pub fn forget_table(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    forget_columns(work, object)?;
    let kept = [
        (Base::StatsExtension, stats_extension::OBJ),
        (Base::ModsAll, mods_all::OBJ),
        (Base::StatPref, stat_pref::OBJ),
        (Base::TabHistory, tab_history::OBJ),
        (Base::IndHistory, ind_history::BO),
        (Base::HeadHistory, head_history::OBJ),
        (Base::HistgrmHistory, histgrm_history::OBJ),
    ];
    for (base, column) in kept {
        work.change().delete(base, &by(column, object))?;
    }
    Ok(())
}

/// FNV-1a: enough to tell values apart for a count.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
