//! Gathering the statistics of tables and indexes according to the preferences and the request.

use crate::gather::{self, Sample, Wanted};
use crate::histogram::Size;
use crate::method_opt::{self, Columns};
use crate::stats_groups::{column_number, group_number, make_group, no_column, positions};
use crate::stats_history::save;
use crate::stats_preferences::{changed, preference};
use crate::stats_store::{self, is_locked, store_index, store_table};
use crate::work::{Work, by};
use dictionary::base::{Base, col_usage, stats_extension};
use dictionary::rows::{Row, as_i64, as_u32};
use dictionary::statistics_request::Gather;
use dictionary::{ColumnUse, IndexDef, IndexKey, TableDef, column_use, statistics_rows};
use types::{ObjectId, Ora, Result};

/// Gathers the statistics of a table according to the preferences and the request.
///
/// # Errors
/// Those of reading; ORA-20000 for an invalid METHOD_OPT, ORA-20001 for a percentage out of range.
pub fn gather_table(work: &mut Work<'_>, object: ObjectId, options: &Gather) -> Result<()> {
    let table = work.existing_table(object)?;
    let method = match &options.method {
        Some(method) => method.clone(),
        None => preference(work, object, "METHOD_OPT")?,
    };
    let sample = sample(work, object, options)?;
    let cascade = match options.cascade {
        Some(cascade) => cascade,
        None => preference(work, object, "CASCADE")? != "FALSE",
    };
    let mut columns: Vec<Option<Size>> = vec![None; table.columns.len()];
    let mut groups: Vec<(u32, Size)> = Vec::new();
    for (clause, size) in method_opt::parse(&method)? {
        choose(work, &table, &clause, size, &mut columns, &mut groups)?;
    }
    if columns.contains(&Some(Size::Auto)) {
        let used = used_columns(work, object)?;
        for (at, size) in columns.iter_mut().enumerate() {
            if *size == Some(Size::Auto) && !used.contains(&(at as u32 + 1)) {
                *size = Some(Size::Buckets(1));
            }
        }
    }
    // Its rows differ between sessions.
    if table.temporary.is_some() {
        return Ok(());
    }
    // Groups that the clauses have made are missing in the dictionary image of the statement's beginning.
    let known = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, object))?;
    let groups = known.iter().filter_map(|row| {
        let number = as_u32(&row[stats_extension::COL]);
        // The last clause that names a group counts. By AUTO a group has no histogram.
        let (_, size) = groups.iter().rev().find(|(group, _)| *group == number)?;
        let size = if *size == Size::Auto { Size::Buckets(1) } else { *size };
        Some((number, statistics_rows::group_columns(&row[stats_extension::COLUMNS]), size))
    });
    let groups = groups.collect();
    let wanted = Wanted { sample, columns, groups };
    // Other sessions may run DDL meanwhile, but not on this table.
    work.keep_table(object)?;
    let (figures, indexes) = work.without_dd(&mut |work| {
        let figures = gather::table(work, &table, &wanted)?;
        let parts = work.host.parts();
        let mut indexes = Vec::new();
        for index in table.indexes.iter().filter(|index| cascade && index.is_usable() && !index.building) {
            indexes.push((index.object, gather::index(&parts, &table, index)?));
        }
        Ok((figures, indexes))
    })?;
    let blocks = stats_store::blocks(&work.host.parts(), &table)?;
    save(work, object)?;
    store_table(work, &table, &figures, blocks)?;
    for (index, figures) in indexes {
        store_index(work, index, &figures)?;
    }
    let now = work.now;
    work.change().flush_monitoring(now)?;
    work.change().forget_monitoring(object)?;
    changed(work, object)?;
    Ok(())
}

/// The numbers of the columns that predicates have used in a way for which a histogram helps.
fn used_columns(work: &mut Work<'_>, object: ObjectId) -> Result<Vec<u32>> {
    let now = work.now;
    work.change().flush_column_uses(now)?;
    let is_used = |row: &&Row| {
        let counts = column_use::COUNTS.into_iter().zip(ColumnUse::ALL).filter(|(_, how)| how.wants_histogram());
        counts.into_iter().any(|(at, _)| as_i64(&row[at]).unwrap_or(0) > 0)
    };
    let rows = work.select_by(Base::ColUsage, by(col_usage::OBJ, object))?;
    Ok(rows.iter().filter(is_used).map(|row| as_u32(&row[col_usage::COL])).collect())
}

pub fn sample(work: &mut Work<'_>, object: ObjectId, options: &Gather) -> Result<Sample> {
    let percent = match options.percent {
        Some(percent) => percent,
        None => preference(work, object, "ESTIMATE_PERCENT")?.parse().unwrap_or(0.0),
    };
    if percent == 0.0 {
        return Ok(Sample::default());
    }
    if !(0.000001..=100.0).contains(&percent) {
        return Err(Ora::user(20001, format!("Illegal sample percentage: {percent}")));
    }
    Ok(Sample { share: Some(percent / 100.0), blocks: options.block_sample })
}

/// The columns that a clause of METHOD_OPT names. Makes a group that does not exist yet.
pub fn choose(
    work: &mut Work<'_>,
    table: &TableDef,
    clause: &Columns,
    size: Size,
    columns: &mut [Option<Size>],
    groups: &mut Vec<(u32, Size)>,
) -> Result<()> {
    match clause {
        Columns::All => {
            let seen = table.columns.iter().zip(columns).filter(|(column, _)| !column.hidden);
            seen.for_each(|(_, chosen)| *chosen = Some(size));
            groups.extend(work.image.column_groups(table.object).iter().map(|(number, ..)| (*number, size)));
        }
        Columns::Indexed => {
            for part in table.indexes.iter().flat_map(|index| &index.columns) {
                if let IndexKey::Column(at) = part.key {
                    columns[at] = Some(size);
                }
            }
        }
        Columns::Hidden => {
            groups.extend(work.image.column_groups(table.object).iter().map(|(number, ..)| (*number, size)));
        }
        Columns::Named(names) => match names.as_slice() {
            [name] => match table.column(name) {
                Some((at, _)) => columns[at] = Some(size),
                None => {
                    let number = column_number(work, table.object, name).map_err(|_| no_column(name))?;
                    groups.push((number, size));
                }
            },
            names => {
                let positions = positions(table, names)?;
                let number = match group_number(work, table.object, &positions)? {
                    Some(number) => number,
                    None => make_group(work, table, &positions)?.0,
                };
                groups.push((number, size));
            }
        },
    }
    Ok(())
}

pub fn gather_index(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    let table = work.existing_table(index.table)?;
    if table.temporary.is_some() {
        return Ok(());
    }
    if index.unusable || index.building {
        return Err(Ora::with(1502, &[&index.owner, &index.name]));
    }
    work.keep_table(index.table)?;
    let figures = work.without_dd(&mut |work| gather::index(&work.host.parts(), &table, index))?;
    save(work, index.table)?;
    store_index(work, index.object, &figures)?;
    changed(work, index.table)?;
    Ok(())
}

/// ANALYZE: gathers all columns without histograms, and the indexes.
///
/// # Errors
/// ORA-38029 for locked statistics; those of [`gather_table`].
pub fn analyze_table(work: &mut Work<'_>, object: ObjectId, method: &str, percent: Option<f64>) -> Result<()> {
    if is_locked(work, object)? {
        return Err(Ora::new(38029));
    }
    let options = Gather {
        percent: percent.or(Some(0.0)),
        block_sample: false,
        method: Some(method.to_owned()),
        cascade: Some(true),
        force: false,
    };
    gather_table(work, object, &options)
}

/// ANALYZE INDEX.
///
/// # Errors
/// Those of [`analyze_table`].
pub fn analyze_index(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let index = work.image.index(object)?.ok_or_else(|| Ora::new(1418))?;
    if is_locked(work, index.table)? {
        return Err(Ora::new(38029));
    }
    gather_index(work, &index)
}
