//! Optimizer statistics in the dictionary: the operations of DBMS_STATS.
//!
//! A request that changes anything is a separate statement: it commits before and after itself. Every change saves the
//! previous statistics with a time stamp, for RESTORE_TABLE_STATS. Counting runs without the DD enqueue, under a TM
//! enqueue in SS.

use crate::gather;
use crate::host::{Host, Outcome};
use crate::own_statistics;
use crate::stats_gather::{gather_index, gather_table};
use crate::stats_groups::{column_number, drop_extension, extension};
use crate::stats_history::{available_since, purge, restore, retention, save, set_retention};
use crate::stats_preferences::{changed, preference, set_preference};
use crate::stats_store::{clear_index, delete_column, delete_table, is_locked, set_number, store_columns};
use crate::system_statistics;
use crate::work::{Invalidation, Work, by};
use dictionary::base::{Base, col_usage, ind, tab};
use dictionary::rows::{as_i64, as_u32, int, text};
use dictionary::statistics::{Endpoints, flags};
use dictionary::statistics_request::{
    ColumnFigures, HistogramFigures, Imported, StatisticsRequest, SystemGathering, TableNamed,
};
use dictionary::*;
use std::collections::BTreeMap;
use std::rc::Rc;
use types::{DataType, ObjectId, Ora, Result, Value};

/// The words of REPORT_COL_USAGE, in its order.
const REPORTED_USES: [(ColumnUse, &str); ColumnUse::ALL.len()] = [
    (ColumnUse::Equality, "EQ"),
    (ColumnUse::Range, "RANGE"),
    (ColumnUse::Like, "LIKE"),
    (ColumnUse::Null, "NULL"),
    (ColumnUse::Equijoin, "EQ_JOIN"),
    (ColumnUse::NonEquijoin, "NONEQ_JOIN"),
];

/// Executes a request of DBMS_STATS, and returns the requested value.
///
/// Waits: those of [`crate::execute`].
/// # Errors
/// ORA-20000 for missing objects or privileges, ORA-20001 and ORA-20007 for arguments, ORA-20005 for locked statistics,
/// ORA-20006 for a history that does not reach back far enough; those of reading.
pub fn request(host: &mut dyn Host, request: &StatisticsRequest) -> Result<Value> {
    if request.only_asks() {
        return Work::run_read_only(host, &mut |work| run(work, request));
    }
    let mut answer = Value::Null;
    Work::run(host, &mut |work| {
        answer = run(work, request)?;
        Ok(Outcome::default())
    })?;
    Ok(answer)
}

fn run(work: &mut Work<'_>, request: &StatisticsRequest) -> Result<Value> {
    use StatisticsRequest::*;
    match request {
        Gather(table, gather) => {
            let object = analyzed(work, table)?;
            require_unlocked(work, object, gather.force)?;
            gather_table(work, object, gather)?;
        }
        GatherIndex { owner, index, force, .. } => {
            let index = index_named(work, owner, index)?;
            require_unlocked(work, index.table, *force)?;
            gather_index(work, &index)?;
        }
        DeleteTable { table, columns, indexes, force } => {
            let object = analyzed(work, table)?;
            require_unlocked(work, object, *force)?;
            save(work, object)?;
            delete_table(work, object, *columns, *indexes)?;
        }
        DeleteColumn { table, column, histogram_only, force } => {
            let object = analyzed(work, table)?;
            require_unlocked(work, object, *force)?;
            let number = column_number(work, object, column)?;
            save(work, object)?;
            delete_column(work, object, number, *histogram_only)?;
        }
        DeleteIndex { owner, index, force } => {
            let index = index_named(work, owner, index)?;
            require_unlocked(work, index.table, *force)?;
            save(work, index.table)?;
            work.change().update_by(Base::Ind, by(ind::OBJ, index.object), &mut clear_index)?;
            changed(work, index.table)?;
        }
        SetTable { table, rows, blocks, average, force } => {
            let object = named(work, table, |t| format!("Unable to set values for table {t}"))?;
            require_unlocked(work, object, *force)?;
            save(work, object)?;
            let now = work.now;
            let set = [(tab::ROWCNT, rows), (tab::BLKCNT, blocks), (tab::AVGRLN, average)];
            work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
                for (at, value) in set {
                    if row[at].is_null() {
                        row[at] = int(0);
                    }
                    set_number(row, at, *value);
                }
                set_number(row, tab::SAMPLESIZE, *rows);
                row[tab::ANALYZETIME] = Value::Date(now);
                row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) | flags::USER);
            })?;
            changed(work, object)?;
        }
        SetColumn { table, column, figures, force } => {
            let object = named(work, table, |t| format!("Unable to set values for table {t}"))?;
            require_unlocked(work, object, *force)?;
            let number = column_number(work, object, column)?;
            save(work, object)?;
            set_column(work, object, number, figures)?;
        }
        SetIndex { owner, index, figures, force } => {
            let index = index_named(work, owner, index)?;
            require_unlocked(work, index.table, *force)?;
            save(work, index.table)?;
            set_index(work, &index, figures)?;
        }
        Lock(table, locked) => {
            let object = named(work, table, |t| format!("Unable to lock or unlock statistics of table {t}"))?;
            work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
                let other = as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & !flags::LOCKED;
                row[tab::STATFLAGS] = int(other | if *locked { flags::LOCKED } else { 0 });
            })?;
        }
        Restore { table, as_of, force } => {
            let object = named(work, table, |t| format!("Unable to restore statistics of table {t}"))?;
            require_unlocked(work, object, *force)?;
            restore(work, object, as_of)?;
        }
        Extension { table, columns, create } => {
            let object = named(work, table, |t| format!("Unable to create extension: table {t}"))?;
            return extension(work, object, columns, *create).map(text);
        }
        DropExtension { table, columns } => {
            let object = named(work, table, |t| format!("Unable to drop extension: table {t}"))?;
            drop_extension(work, object, columns)?;
        }
        SetPreference { table, name, value } => {
            let object = preference_object(work, table.as_ref())?;
            set_preference(work, object, name, value.as_deref())?;
        }
        Preference { table, name } => {
            let object = table.as_ref().map_or(Ok(ObjectId(0)), |table| seen(work, table))?;
            return preference(work, object, name).map(text);
        }
        Flush { asked } => {
            if *asked {
                require_any(work)?;
            }
            let now = work.now;
            work.change().flush_monitoring(now)?;
            work.change().flush_column_uses(now)?;
        }
        ColumnUses(table) => {
            let object = analyzed(work, table)?;
            return column_uses(work, object).map(|lines| lines.map_or(Value::Null, Value::text));
        }
        GatherOwn { tables, empty_only, gather } => {
            own_statistics::gather(work, *tables, *empty_only, gather)?;
        }
        DeleteOwn(tables) => own_statistics::delete(work, *tables)?,
        GatherSystem(how) => {
            system_statistics::require_role(work)?;
            match how {
                SystemGathering::Device => system_statistics::device(work)?,
                SystemGathering::Start => system_statistics::start(work)?,
                SystemGathering::Stop => system_statistics::stop(work)?,
            }
        }
        SetSystem { name, value } => {
            system_statistics::require_role(work)?;
            system_statistics::set(work, name, *value)?;
        }
        System(name) => {
            system_statistics::require_role(work)?;
            return system_statistics::get(work, name);
        }
        DeleteSystem => {
            system_statistics::require_role(work)?;
            system_statistics::delete(work)?;
        }
        Invalidating { no_invalidate, request } => {
            work.invalidation = match no_invalidate {
                Some(true) => Invalidation::Never,
                Some(false) => Invalidation::Now,
                None => Invalidation::Preference,
            };
            return run(work, request);
        }
        Purge(before) => {
            require_any(work)?;
            purge(work, before.as_ref())?;
        }
        Availability => return available_since(work).map(Value::Timestamp),
        Retention => return retention(work).map(int),
        SetRetention(days) => {
            require_any(work)?;
            set_retention(work, *days)?;
        }
        Import { table, imported, force } => {
            let object = named(work, table, |t| format!("Unable to import statistics of table {t}"))?;
            require_unlocked(work, object, *force)?;
            import(work, object, imported)?;
        }
    }
    Ok(Value::Null)
}

// Privileges for objects.

fn require_any(work: &Work<'_>) -> Result<()> {
    let may = work.names.has(SystemPrivilege::AnalyzeAny) || work.names.is_sysdba();
    if may { Ok(()) } else { Err(Ora::user(20000, "Insufficient privileges")) }
}

/// Whether the session may analyze objects of another owner; those of SYS need a separate privilege.
fn may_analyze(work: &Work<'_>, owner: UserId) -> bool {
    match owner {
        UserId::SYS => own_statistics::may_analyze(work),
        _ => work.names.has(SystemPrivilege::AnalyzeAny),
    }
}

/// The table with that name, if the session may analyze it.
fn find(work: &Work<'_>, table: &TableNamed) -> Option<ObjectId> {
    let space = ObjectKind::Table.namespace();
    let any = SystemPrivilege::AnalyzeAny;
    let def = work.names.object_for(Some(&table.owner), &table.table, space, any)?;
    let may = def.owner_id == work.session.user || may_analyze(work, def.owner_id);
    let is_table = def.kind == ObjectKind::Table && def.object.0 >= FIRST_USER_OBJECT;
    (may && is_table).then_some(def.object)
}

fn named(work: &Work<'_>, table: &TableNamed, what: impl Fn(&str) -> String) -> Result<ObjectId> {
    let failed = || Ora::user(20000, format!("{}: does not exist or insufficient privileges", what(&table.table)));
    find(work, table).ok_or_else(failed)
}

fn analyzed(work: &Work<'_>, table: &TableNamed) -> Result<ObjectId> {
    let failed = || {
        let what = format!("\"{}\".\"{}\"", table.owner, table.table);
        Ora::user(20000, format!("Unable to analyze TABLE {what}, insufficient privileges or does not exist"))
    };
    find(work, table).ok_or_else(failed)
}

/// The table with that name, if the session may see it.
fn seen(work: &Work<'_>, table: &TableNamed) -> Result<ObjectId> {
    let found = work.names.object(Some(&table.owner), &table.table, ObjectKind::Table.namespace());
    match found.filter(|def| def.kind == ObjectKind::Table) {
        Some(def) => Ok(def.object),
        None => analyzed(work, table),
    }
}

fn preference_object(work: &Work<'_>, table: Option<&TableNamed>) -> Result<ObjectId> {
    match table {
        Some(table) => analyzed(work, table),
        None => require_any(work).map(|()| ObjectId(0)),
    }
}

fn index_named(work: &Work<'_>, owner: &str, name: &str) -> Result<Rc<IndexDef>> {
    let failed = || {
        let what = format!("\"{owner}\".\"{name}\"");
        Ora::user(20000, format!("Unable to analyze INDEX {what}, insufficient privileges or does not exist"))
    };
    let space = ObjectKind::Index.namespace();
    let found = work.names.object_for(Some(owner), name, space, SystemPrivilege::AnalyzeAny);
    let object = found.filter(|def| def.kind == ObjectKind::Index).map(|def| def.object).ok_or_else(failed)?;
    let index = work.image.index(object)?.ok_or_else(failed)?;
    let own = index.owner_id == work.session.user;
    if own || may_analyze(work, index.owner_id) { Ok(index) } else { Err(failed()) }
}

fn require_unlocked(work: &mut Work<'_>, table: ObjectId, force: bool) -> Result<()> {
    if !force && is_locked(work, table)? {
        return Err(Ora::user(20005, "object statistics are locked (stattype = ALL)"));
    }
    Ok(())
}

/// A numbered line for each column used in predicates, by name; `None` without any. Uses that are not in COL_USAGE$ yet
/// are included, so that the report does not change the table.
fn column_uses(work: &mut Work<'_>, object: ObjectId) -> Result<Option<String>> {
    let table = work.existing_table(object)?;
    let mut uses: BTreeMap<&str, [bool; ColumnUse::ALL.len()]> = BTreeMap::new();
    let mut add = |number: u32, counts: [bool; ColumnUse::ALL.len()]| {
        if let Some(column) = table.columns.get(number as usize - 1) {
            let known = uses.entry(column.name.as_str()).or_default();
            known.iter_mut().zip(counts).for_each(|(known, more)| *known |= more);
        }
    };
    for row in work.select_by(Base::ColUsage, by(col_usage::OBJ, object))? {
        add(as_u32(&row[col_usage::COL]), column_use::COUNTS.map(|at| as_i64(&row[at]).unwrap_or(0) > 0));
    }
    for (number, counts) in work.host.parts().dict.shared().pending_column_uses(object) {
        add(number, counts.map(|count| count > 0));
    }
    let lines = uses.iter().filter(|(_, used)| used.contains(&true)).zip(1..).map(|((name, used), n)| {
        let words = REPORTED_USES.iter().filter(|(how, _)| used[*how as usize]).map(|(_, word)| *word);
        format!("{n}. {name:<36}: {}\n", words.collect::<Vec<_>>().join(" "))
    });
    Ok(Some(lines.collect::<String>()).filter(|lines| !lines.is_empty()))
}

fn set_column(work: &mut Work<'_>, object: ObjectId, column: u32, figures: &ColumnFigures) -> Result<()> {
    let table = work.existing_table(object)?;
    let old = work.image.column_statistics(object, column).cloned().unwrap_or_default();
    let count = |value: Option<f64>, old: u64| value.map_or(old, |value| value.max(0.0).round() as u64);
    let distinct = count(figures.distinct, old.distinct);
    let density = match (figures.density, figures.distinct) {
        (Some(density), _) => density,
        (None, Some(_)) if distinct > 0 => 1.0 / distinct as f64,
        (None, _) => old.density,
    };
    let set = match &figures.histogram {
        Some(set) => Some(set_histogram(table.columns.get(column as usize - 1), set, old.sample)?),
        None => None,
    };
    // A frequency histogram contains all values of a column without earlier statistics.
    let known = set.as_ref().and_then(|set| set.histogram.as_ref()).filter(|h| h.kind == HistogramKind::Frequency);
    let (distinct, density) = match known {
        Some(histogram) if distinct == 0 && figures.distinct.is_none() => {
            (histogram.len() as u64, figures.density.unwrap_or(1.0 / histogram.len() as f64))
        }
        _ => (distinct, density),
    };
    let new = ColumnStatistics {
        distinct,
        nulls: count(figures.nulls, old.nulls),
        density,
        average_bytes: count(figures.average_bytes, old.average_bytes.into()) as u32,
        ..set.unwrap_or(old)
    };
    store_columns(work, &table, &[(column, &new)], true)?;
    changed(work, object)?;
    Ok(())
}

/// The minimum, the maximum and the histogram that SET_COLUMN_STATS gives a column, or a column group if there is no
/// definition.
///
/// # Errors
/// ORA-20001 for values that are not of the column's type, and for endpoints out of order.
fn set_histogram(column: Option<&ColumnDef>, set: &HistogramFigures, sample: u64) -> Result<ColumnStatistics> {
    let of_group = ColumnDef::new("", DataType::NUMBER);
    let column = column.unwrap_or(&of_group);
    let inconsistent = || Ora::user(20001, "Invalid or inconsistent input values");
    let value = |bytes: &[u8]| gather::as_endpoint(column, bytes).ok_or_else(inconsistent);
    let ends = (value(&set.ends.0)?, value(&set.ends.1)?);
    if ends.0 > ends.1 {
        return Err(inconsistent());
    }
    let mut endpoints = Endpoints::default();
    for endpoint in &set.endpoints {
        let value = value(&endpoint.value)?;
        endpoints.push(&value, gather::place_in(column, &value), endpoint.cumulative, endpoint.repeats);
    }
    let histogram = endpoints.finish(set.kind);
    let is_of_rows = set.kind != HistogramKind::HeightBalanced;
    Ok(ColumnStatistics {
        range: Some((gather::place_in(column, &ends.0), gather::place_in(column, &ends.1))),
        // Height-balanced buckets do not contain a number of rows.
        sample: histogram.as_ref().filter(|_| is_of_rows).map_or(sample, |histogram| histogram.total()),
        ends: Some((ends.0.into(), ends.1.into())),
        histogram,
        ..ColumnStatistics::default()
    })
}

fn set_index(work: &mut Work<'_>, index: &IndexDef, figures: &[Option<f64>; 7]) -> Result<()> {
    let now = work.now;
    let places = [ind::ROWCNT, ind::LEAFCNT, ind::DISTKEY, ind::LBLKKEY, ind::DBLKKEY, ind::CLUFAC, ind::BLEVEL];
    work.change().update_by(Base::Ind, by(ind::OBJ, index.object), &mut |row| {
        for (at, value) in places.into_iter().zip(figures) {
            if row[at].is_null() {
                row[at] = int(0);
            }
            set_number(row, at, *value);
        }
        row[ind::ANALYZETIME] = Value::Date(now);
        row[ind::STATFLAGS] = int(flags::USER);
    })?;
    changed(work, index.table)?;
    Ok(())
}

/// Imports the statistics of a table from a statistics table. Missing columns are skipped.
fn import(work: &mut Work<'_>, object: ObjectId, imported: &Imported) -> Result<()> {
    save(work, object)?;
    let now = work.now;
    if let Some(figures) = &imported.table {
        work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
            let places = [tab::ROWCNT, tab::BLKCNT, tab::AVGRLN, tab::SAMPLESIZE];
            for (at, value) in places.into_iter().zip(figures) {
                row[at] = int(0);
                set_number(row, at, *value);
            }
            row[tab::ANALYZETIME] = Value::Date(now);
            row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED | flags::USER);
        })?;
    }
    let table = work.existing_table(object)?;
    let mut columns = Vec::new();
    for (name, found) in &imported.columns {
        let Ok(number) = column_number(work, object, name) else { continue };
        let def = table.columns.get(number as usize - 1);
        let place = |bytes: &[u8]| match def {
            Some(def) => statistics::place_of_stored(bytes, &def.data_type),
            None => Some(statistics::place_of_bytes(bytes)),
        };
        let range = found.ends.as_ref().and_then(|(low, high)| place(low).zip(place(high)));
        columns.push((number, ColumnStatistics { range, ..found.clone() }));
    }
    let columns: Vec<(u32, &ColumnStatistics)> = columns.iter().map(|(number, found)| (*number, found)).collect();
    store_columns(work, &table, &columns, true)?;
    for found in &imported.indexes {
        let index = index_named(work, &found.owner, &found.index)?;
        if index.table == object {
            set_index(work, &index, &found.figures)?;
        }
    }
    changed(work, object)?;
    Ok(())
}
