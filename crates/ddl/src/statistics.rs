//! Optimizer statistics in the dictionary: the operations of DBMS_STATS.
//!
//! A request that changes anything is a separate statement: it commits before and after itself. Every change saves the
//! previous statistics with a time stamp, for RESTORE_TABLE_STATS. Counting runs without the DD enqueue, under a TM
//! enqueue in SS.

use crate::gather::{self, Figures, IndexFigures, Sample, Wanted};
use crate::histogram::Size;
use crate::index;
use crate::method_opt::{self, Columns};
use crate::own_statistics;
use crate::system_statistics;
use crate::work::{Host, Invalidation, Outcome, Work, by};
use dictionary::base::{
    Base, col_usage, hist_head, histgrm, ind, ind_history, stat_pref, stats_extension, tab, tab_history,
};
use dictionary::rows::{Row, as_date, as_i64, as_optional_text, as_text, as_u32, blank, int, text};
use dictionary::statistics::{Endpoints, FIRST_GROUP, flags, head_row, histogram_rows};
use dictionary::statistics_request::{
    ColumnFigures, Gather, HistogramFigures, Imported, StatisticsRequest, SystemGathering, TableNamed,
};
use dictionary::*;
use std::collections::BTreeMap;
use std::rc::Rc;
use types::{DataType, Date, Number, ObjectId, Ora, Result, Timestamp, Value};

/// Default retention of the statistics history, in days.
const RETENTION_DAYS: i64 = 31;
/// Longest retention in days.
const RETENTION_MOST: i64 = 365_000;
/// The default of METHOD_OPT.
const DEFAULT_METHOD: &str = "FOR ALL COLUMNS SIZE AUTO";
/// Preferences and their defaults.
const PREFERENCES: &[(&str, &str)] = &[
    ("CASCADE", "DBMS_STATS.AUTO_CASCADE"),
    ("ESTIMATE_PERCENT", "DBMS_STATS.AUTO_SAMPLE_SIZE"),
    ("METHOD_OPT", DEFAULT_METHOD),
    ("NO_INVALIDATE", "DBMS_STATS.AUTO_INVALIDATE"),
    ("STALE_PERCENT", "10"),
];
/// The words of REPORT_COL_USAGE, in its order.
const REPORTED_USES: [(ColumnUse, &str); ColumnUse::ALL.len()] = [
    (ColumnUse::Equality, "EQ"),
    (ColumnUse::Range, "RANGE"),
    (ColumnUse::Like, "LIKE"),
    (ColumnUse::Null, "NULL"),
    (ColumnUse::Equijoin, "EQ_JOIN"),
    (ColumnUse::NonEquijoin, "NONEQ_JOIN"),
];
/// Oracle's preferences without effect here; they can be queried.
const FIXED_PREFERENCES: &[(&str, &str)] = &[
    ("AUTOSTATS_TARGET", "AUTO"),
    ("CONCURRENT", "OFF"),
    ("DEGREE", "NULL"),
    ("GLOBAL_TEMP_TABLE_STATS", "SESSION"),
    ("GRANULARITY", "AUTO"),
    ("INCREMENTAL", "FALSE"),
    ("OPTIONS", "GATHER"),
    ("PUBLISH", "TRUE"),
    ("TABLE_CACHED_BLOCKS", "1"),
];

/// Executes a request of DBMS_STATS, and returns the requested value.
///
/// Waits: those of [`crate::execute`].
/// # Errors
/// ORA-20000 for missing objects or privileges, ORA-20001 and ORA-20007 for arguments, ORA-20005 for locked statistics,
/// ORA-20006 for a history that does not reach back far enough; those of reading.
pub fn request(host: &mut dyn Host, request: &StatisticsRequest) -> Result<Value> {
    if request.only_asks() {
        return Work::look(host, &mut |work| run(work, request));
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

/// Invalidates the cursors that depend on a table whose statistics, or those of its columns or indexes, have changed,
/// as requested or preferred.
pub fn changed(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let invalidation = match work.invalidation {
        Invalidation::Preference => match preference(work, object, "NO_INVALIDATE")?.as_str() {
            "TRUE" => Invalidation::Never,
            "FALSE" => Invalidation::Now,
            _ => Invalidation::Rolling,
        },
        set => set,
    };
    match invalidation {
        Invalidation::Now => work.touch(object),
        Invalidation::Rolling => work.roll_out(object),
        Invalidation::Never | Invalidation::Preference => {}
    }
    Ok(())
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

/// Whether a table's statistics are locked.
pub fn is_locked(work: &mut Work<'_>, table: ObjectId) -> Result<bool> {
    let rows = work.select_by(Base::Tab, by(tab::OBJ, table))?;
    Ok(rows.iter().any(|row| as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED != 0))
}

fn require_unlocked(work: &mut Work<'_>, table: ObjectId, force: bool) -> Result<()> {
    if !force && is_locked(work, table)? {
        return Err(Ora::user(20005, "object statistics are locked (stattype = ALL)"));
    }
    Ok(())
}

/// The number of a column, or INTCOL# of a column group.
fn column_number(work: &Work<'_>, table: ObjectId, name: &str) -> Result<u32> {
    let def = index::existing_table(work, table)?;
    if let Some((at, _)) = def.column(name) {
        return Ok(at as u32 + 1);
    }
    let group = work.image.column_groups(table).iter().find(|(_, group, _)| group == name);
    let failed = || Ora::user(20000, format!("column {name} does not exist or insufficient privileges"));
    group.map(|(number, ..)| *number).ok_or_else(failed)
}

// Gathering.

/// Gathers the statistics of a table according to the preferences and the request.
///
/// # Errors
/// Those of reading; ORA-20000 for an invalid METHOD_OPT, ORA-20001 for a percentage out of range.
pub fn gather_table(work: &mut Work<'_>, object: ObjectId, options: &Gather) -> Result<()> {
    let table = index::existing_table(work, object)?;
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
        Some((number, statistics::group_columns(&row[stats_extension::COLUMNS]), size))
    });
    let groups = groups.collect();
    let wanted = Wanted { sample, columns, groups };
    // Other sessions may run DDL meanwhile, but not on this table.
    work.keep_table(object)?;
    let (figures, indexes) = work.apart(&mut |work| {
        let figures = gather::table(work, &table, &wanted)?;
        let parts = work.host.parts();
        let mut indexes = Vec::new();
        for index in table.indexes.iter().filter(|index| cascade && index.is_usable() && !index.building) {
            indexes.push((index.object, gather::index(&parts, &table, index)?));
        }
        Ok((figures, indexes))
    })?;
    let blocks = crate::analyze::blocks(&work.host.parts(), &table)?;
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

/// A numbered line for each column used in predicates, by name; `None` without any. Uses that are not in COL_USAGE$ yet
/// are included, so that the report does not change the table.
fn column_uses(work: &mut Work<'_>, object: ObjectId) -> Result<Option<String>> {
    let table = index::existing_table(work, object)?;
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

fn no_column(name: &str) -> Ora {
    Ora::with(904, &[&format_args!("\"{name}\"")])
}

fn store_table(work: &mut Work<'_>, table: &TableDef, figures: &Figures, blocks: u64) -> Result<()> {
    let (object, now) = (table.object, work.now);
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        row[tab::ROWCNT] = int(figures.rows as i64);
        row[tab::BLKCNT] = int(blocks as i64);
        row[tab::AVGRLN] = int(figures.average_row_bytes as i64);
        row[tab::SAMPLESIZE] = int(figures.sample as i64);
        row[tab::ANALYZETIME] = Value::Date(now);
        row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED);
    })?;
    let columns = figures.columns.iter().map(|(at, statistics)| (*at as u32 + 1, statistics));
    let all = columns.chain(figures.groups.iter().map(|(number, statistics)| (*number, statistics)));
    let all: Vec<(u32, &ColumnStatistics)> = all.collect();
    store_columns(work, table, &all, false)
}

/// Replaces the statistics of columns and column groups.
fn store_columns(work: &mut Work<'_>, table: &TableDef, all: &[(u32, &ColumnStatistics)], user: bool) -> Result<()> {
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

fn gather_index(work: &mut Work<'_>, index: &IndexDef) -> Result<()> {
    let table = index::existing_table(work, index.table)?;
    if table.temporary.is_some() {
        return Ok(());
    }
    if index.unusable || index.building {
        return Err(Ora::with(1502, &[&index.owner, &index.name]));
    }
    work.keep_table(index.table)?;
    let figures = work.apart(&mut |work| gather::index(&work.host.parts(), &table, index))?;
    save(work, index.table)?;
    store_index(work, index.object, &figures)?;
    changed(work, index.table)?;
    Ok(())
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

// Setting and deleting.

fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

fn set_number(row: &mut Row, at: usize, value: Option<f64>) {
    if let Some(value) = value {
        row[at] = number(value.max(0.0).round());
    }
}

const TABLE_FIGURES: [usize; 5] = [tab::ROWCNT, tab::BLKCNT, tab::AVGRLN, tab::SAMPLESIZE, tab::ANALYZETIME];
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

pub fn clear_index(row: &mut Row) {
    INDEX_FIGURES.iter().for_each(|at| row[*at] = Value::Null);
    row[ind::STATFLAGS] = int(0);
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
    if columns {
        crate::analyze::forget_columns(work, object)?;
    }
    if indexes {
        work.change().update_by(Base::Ind, by(ind::BO, object), &mut clear_index)?;
    }
    changed(work, object)?;
    Ok(())
}

fn delete_column(work: &mut Work<'_>, object: ObjectId, column: u32, histogram_only: bool) -> Result<()> {
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

fn set_column(work: &mut Work<'_>, object: ObjectId, column: u32, figures: &ColumnFigures) -> Result<()> {
    let table = index::existing_table(work, object)?;
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
    let table = index::existing_table(work, object)?;
    let mut columns = Vec::new();
    for (name, found) in &imported.columns {
        let Ok(number) = column_number(work, object, name) else { continue };
        let def = table.columns.get(number as usize - 1);
        let place = |bytes: &[u8]| match def {
            Some(def) => statistics::place_of_stored(bytes, def),
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

// Column groups.

fn positions(table: &TableDef, names: &[String]) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for name in names {
        let (at, column) = table.column(name).ok_or_else(|| no_column(name))?;
        if column.virtual_text.is_some() || positions.contains(&at) {
            return Err(Ora::user(20001, format!("Error when processing extension - column {name} cannot be used")));
        }
        positions.push(at);
    }
    if positions.len() < 2 {
        return Err(Ora::user(20001, "Error when processing extension - a group has at least two columns"));
    }
    Ok(positions)
}

/// The columns of an extension given as text: `(A,B)`. Expressions are ORA-03001.
fn extension_columns(table: &TableDef, columns: &str) -> Result<Vec<usize>> {
    let clauses = method_opt::parse(&format!("FOR COLUMNS {columns} SIZE 1")).map_err(|_| Ora::unsupported())?;
    match clauses.as_slice() {
        [(Columns::Named(names), _)] => positions(table, names),
        _ => Err(Ora::unsupported()),
    }
}

/// INTCOL# of the group with exactly these columns.
fn group_number(work: &mut Work<'_>, table: ObjectId, positions: &[usize]) -> Result<Option<u32>> {
    let rows = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, table))?;
    let same = |row: &&Row| {
        let columns = statistics::group_columns(&row[stats_extension::COLUMNS]);
        columns.len() == positions.len() && positions.iter().all(|position| columns.contains(position))
    };
    Ok(rows.iter().find(same).map(|row| as_u32(&row[stats_extension::COL])))
}

fn group_name(table: &TableDef, positions: &[usize]) -> String {
    const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUV";
    let names: Vec<&str> = positions.iter().map(|at| table.columns[*at].name.as_str()).collect();
    let list = names.join("\",\"");
    let halves = [crate::distinct::hash(list.as_bytes()), crate::distinct::hash(format!("({list})").as_bytes())];
    let bits = u128::from(halves[0]) << 64 | u128::from(halves[1]);
    let digit = |n: u32| char::from(DIGITS[(bits >> (5 * n) & 31) as usize]);
    format!("SYS_STU{}", (0..23).map(digit).collect::<String>())
}

fn make_group(work: &mut Work<'_>, table: &TableDef, positions: &[usize]) -> Result<(u32, String)> {
    let name = group_name(table, positions);
    let rows = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, table.object))?;
    let last = rows.iter().map(|row| as_u32(&row[stats_extension::COL])).max().unwrap_or(FIRST_GROUP - 1);
    let numbers: Vec<String> = positions.iter().map(|at| (at + 1).to_string()).collect();
    let mut row = blank(Base::StatsExtension);
    row[stats_extension::OBJ] = int(table.object.0);
    row[stats_extension::COL] = int(last + 1);
    row[stats_extension::NAME] = text(name.as_str());
    row[stats_extension::COLUMNS] = text(numbers.join(","));
    row[stats_extension::CREATOR] = text("USER");
    work.change().insert(Base::StatsExtension, &row)?;
    work.touch(table.object);
    Ok((last + 1, name))
}

fn extension(work: &mut Work<'_>, object: ObjectId, columns: &str, create: bool) -> Result<String> {
    let table = index::existing_table(work, object)?;
    let positions = extension_columns(&table, columns)?;
    let found = group_number(work, object, &positions)?;
    match (found, create) {
        (Some(_), true) => Err(Ora::user(20007, format!("extension {columns} already exists in the table"))),
        (Some(number), false) => {
            let group = work.image.column_groups(object).iter().find(|(have, ..)| *have == number);
            Ok(group.map(|(_, name, _)| name.clone()).unwrap_or_default())
        }
        (None, true) => make_group(work, &table, &positions).map(|(_, name)| name),
        (None, false) => Err(Ora::user(20000, format!("extension {columns} does not exist"))),
    }
}

fn drop_extension(work: &mut Work<'_>, object: ObjectId, columns: &str) -> Result<()> {
    let table = index::existing_table(work, object)?;
    let positions = extension_columns(&table, columns)?;
    let Some(number) = group_number(work, object, &positions)? else {
        return Err(Ora::user(20000, format!("extension {columns} does not exist")));
    };
    delete_column(work, object, number, false)?;
    let mine = |row: &[Value]| as_u32(&row[stats_extension::COL]) == number;
    work.change().delete_by(Base::StatsExtension, by(stats_extension::OBJ, object).and(&mine))?;
    Ok(())
}

/// Deletes the statistics of a dropped column, and the groups that contain it.
///
/// # Errors
/// Those of changing the dictionary.
pub fn forget_column(work: &mut Work<'_>, object: ObjectId, position: usize) -> Result<()> {
    let rows = work.select_by(Base::StatsExtension, by(stats_extension::OBJ, object))?;
    let with = |row: &&Row| statistics::group_columns(&row[stats_extension::COLUMNS]).contains(&position);
    let groups: Vec<u32> = rows.iter().filter(with).map(|row| as_u32(&row[stats_extension::COL])).collect();
    let mine = |row: &[Value]| groups.contains(&as_u32(&row[stats_extension::COL]));
    work.change().delete_by(Base::StatsExtension, by(stats_extension::OBJ, object).and(&mine))?;
    for number in groups.iter().copied().chain([position as u32 + 1]) {
        delete_column(work, object, number, false)?;
    }
    let mine = |row: &[Value]| as_u32(&row[col_usage::COL]) == position as u32 + 1;
    work.change().delete_by(Base::ColUsage, by(col_usage::OBJ, object).and(&mine))?;
    Ok(())
}

// Preferences.

fn known_preference(name: &str) -> Option<(&'static str, bool)> {
    let of = |list: &[(&'static str, &'static str)]| list.iter().find(|(have, _)| *have == name).map(|(_, is)| *is);
    of(PREFERENCES).map(|is| (is, true)).or_else(|| of(FIXED_PREFERENCES).map(|is| (is, false)))
}

/// The value of a preference for a table (or the database, object 0).
pub fn preference(work: &mut Work<'_>, object: ObjectId, name: &str) -> Result<String> {
    let Some((default, _)) = known_preference(name) else {
        return Err(Ora::user(20001, "Invalid input values for pname"));
    };
    let wanted = |row: &[Value]| {
        let of = as_u32(&row[stat_pref::OBJ]);
        (of == object.0 || of == 0) && as_text(&row[stat_pref::PNAME]) == name
    };
    let rows = work.select(Base::StatPref, &wanted)?;
    let best = rows.iter().max_by_key(|row| as_u32(&row[stat_pref::OBJ]));
    Ok(best.and_then(|row| as_optional_text(&row[stat_pref::VALUE])).unwrap_or_else(|| default.to_owned()))
}

fn set_preference(work: &mut Work<'_>, object: ObjectId, name: &str, value: Option<&str>) -> Result<()> {
    let invalid = || Ora::user(20001, "Invalid input values for pvalue");
    match known_preference(name) {
        None => return Err(Ora::user(20001, "Invalid input values for pname")),
        Some((_, false)) if value.is_some() => return Err(Ora::unsupported()),
        Some(_) => {}
    }
    let stored = match (name, value) {
        (_, None) => None,
        ("METHOD_OPT", Some(value)) => {
            method_opt::parse(value)?;
            Some(value.to_uppercase())
        }
        ("STALE_PERCENT", Some(value)) => {
            let percent = value.trim().parse::<f64>().ok().filter(|percent| *percent >= 0.0);
            percent.map(|_| Some(value.trim().to_owned())).ok_or_else(invalid)?
        }
        ("ESTIMATE_PERCENT", Some(value)) => match value.trim().to_uppercase() {
            auto if auto.ends_with("AUTO_SAMPLE_SIZE") => Some("DBMS_STATS.AUTO_SAMPLE_SIZE".to_owned()),
            number => {
                let percent = number.parse::<f64>().ok().filter(|percent| (0.000001..=100.0).contains(percent));
                percent.map(|_| Some(number)).ok_or_else(invalid)?
            }
        },
        (_, Some(value)) => match value.trim().to_uppercase() {
            word if ["TRUE", "FALSE"].contains(&word.as_str()) => Some(word),
            auto if name == "CASCADE" && auto.ends_with("AUTO_CASCADE") => Some("DBMS_STATS.AUTO_CASCADE".to_owned()),
            auto if name == "NO_INVALIDATE" && auto.ends_with("AUTO_INVALIDATE") => {
                Some("DBMS_STATS.AUTO_INVALIDATE".to_owned())
            }
            _ => return Err(invalid()),
        },
    };
    let mine = |row: &[Value]| as_u32(&row[stat_pref::OBJ]) == object.0 && as_text(&row[stat_pref::PNAME]) == name;
    work.change().delete(Base::StatPref, &mine)?;
    if let Some(value) = stored {
        let row = [int(object.0), text(name), text(value), Value::Date(work.now)];
        work.change().insert(Base::StatPref, &row)?;
    }
    Ok(())
}

// History.

/// The time of the machine's clock, to the microsecond.
fn now() -> Timestamp {
    let wall = os::clock::wall_ns();
    let utc = (wall / 1_000_000_000) as i64;
    let local = utc + i64::from(os::clock::utc_offset_seconds(utc));
    let nanos = (wall % 1_000_000_000 / 1000 * 1000) as u32;
    Timestamp::new(Date::from_unix(local).unwrap_or(Date::UNIX_EPOCH), nanos)
}

/// A moment in the time zone of the machine's clock.
fn on_the_clock(at: &Timestamp) -> Timestamp {
    if at.zone().is_none() {
        return *at;
    }
    let utc = at.utc().instant();
    let local = utc + i64::from(os::clock::utc_offset_seconds(utc));
    Timestamp::new(Date::from_unix(local).unwrap_or(Date::UNIX_EPOCH), at.nanos)
}

fn moment(value: &Value) -> Option<(i64, u32)> {
    match value {
        Value::Timestamp(at) => Some((at.instant(), at.nanos)),
        _ => None,
    }
}

/// The name of the retention among the preferences.
const RETENTION: &str = "STATS_HISTORY_RETENTION";

/// The retention in days: 0 no history, -1 unlimited.
fn retention(work: &mut Work<'_>) -> Result<i64> {
    let set = work.select(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == RETENTION)?;
    let days = set.first().and_then(|row| as_text(&row[stat_pref::VALUE]).parse().ok());
    Ok(days.unwrap_or(RETENTION_DAYS))
}

fn set_retention(work: &mut Work<'_>, days: i64) -> Result<()> {
    if !(-1..=RETENTION_MOST).contains(&days) {
        return Err(Ora::user(20001, format!("{days} is an invalid value for retention")));
    }
    work.change().delete(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == RETENTION)?;
    let row = [int(0), text(RETENTION), text(days.to_string()), Value::Date(work.now)];
    work.change().insert(Base::StatPref, &row)
}

/// The day before which nothing is kept.
fn oldest_kept(work: &mut Work<'_>) -> Result<Date> {
    let days = match retention(work)? {
        -1 => return Ok(Date::UNIX_EPOCH),
        days => days,
    };
    Ok(Date::from_unix(now().instant() - days * 86_400).unwrap_or(Date::UNIX_EPOCH))
}

/// Whether the history may have versions older than the retention: checked once a day, and at once after the retention
/// has become shorter by a day or more.
fn is_purge_due(purged: Option<Date>, oldest: Date) -> bool {
    purged.is_none_or(|purged| oldest.to_unix() - purged.to_unix() >= 86_400)
}

/// Saves the present statistics of a table, its columns and its indexes, after deleting versions older than the
/// retention.
fn save(work: &mut Work<'_>, object: ObjectId) -> Result<()> {
    let days = retention(work)?;
    if days >= 0 && is_purge_due(purged_before(work)?, oldest_kept(work)?) {
        // Without a history, versions saved in this second are deleted too.
        let before = (days == 0).then(now);
        purge(work, before.as_ref())?;
    }
    if days == 0 {
        return Ok(());
    }
    let at = Value::Timestamp(now());
    let mut saved = Vec::new();
    for row in work.select_by(Base::Tab, by(tab::OBJ, object))? {
        let mut old = blank(Base::TabHistory);
        let pairs = [
            (tab_history::OBJ, tab::OBJ),
            (tab_history::FLAGS, tab::STATFLAGS),
            (tab_history::ROWCNT, tab::ROWCNT),
            (tab_history::BLKCNT, tab::BLKCNT),
            (tab_history::AVGRLN, tab::AVGRLN),
            (tab_history::SAMPLESIZE, tab::SAMPLESIZE),
            (tab_history::ANALYZETIME, tab::ANALYZETIME),
        ];
        pairs.iter().for_each(|(to, from)| old[*to] = row[*from].clone());
        old[tab_history::SAVTIME] = at.clone();
        saved.push(old);
    }
    work.change().insert_many(Base::TabHistory, &saved)?;
    let mut saved = Vec::new();
    for row in work.select_by(Base::Ind, by(ind::BO, object))? {
        let mut old = blank(Base::IndHistory);
        INDEX_HISTORY.iter().for_each(|(to, from)| old[*to] = row[*from].clone());
        (old[ind_history::BO], old[ind_history::SAVTIME]) = (int(object.0), at.clone());
        saved.push(old);
    }
    work.change().insert_many(Base::IndHistory, &saved)?;
    for (from, column, to) in COPIED {
        let mut rows = work.select_by(from, by(column, object))?;
        rows.iter_mut().for_each(|row| row.push(at.clone()));
        work.change().insert_many(to, &rows)?;
    }
    Ok(())
}

/// Tables whose history tables have the same columns, followed by SAVTIME.
const COPIED: [(Base, usize, Base); 2] =
    [(Base::HistHead, hist_head::OBJ, Base::HeadHistory), (Base::Histgrm, histgrm::OBJ, Base::HistgrmHistory)];
const INDEX_HISTORY: [(usize, usize); 11] = [
    (ind_history::OBJ, ind::OBJ),
    (ind_history::FLAGS, ind::STATFLAGS),
    (ind_history::ROWCNT, ind::ROWCNT),
    (ind_history::BLEVEL, ind::BLEVEL),
    (ind_history::LEAFCNT, ind::LEAFCNT),
    (ind_history::DISTKEY, ind::DISTKEY),
    (ind_history::LBLKKEY, ind::LBLKKEY),
    (ind_history::DBLKKEY, ind::DBLKKEY),
    (ind_history::CLUFAC, ind::CLUFAC),
    (ind_history::SAMPLESIZE, ind::SAMPLESIZE),
    (ind_history::ANALYZETIME, ind::ANALYZETIME),
];

/// Restores the statistics of a moment: the first versions saved after it.
fn restore(work: &mut Work<'_>, object: ObjectId, as_of: &Timestamp) -> Result<()> {
    let as_of = on_the_clock(as_of);
    let since = available_since(work)?;
    if (as_of.instant(), as_of.nanos) < (since.instant(), since.nanos) {
        return Err(Ora::user(20006, "Unable to restore statistics , statistics history not available"));
    }
    let tables = work.select_by(Base::TabHistory, by(tab_history::OBJ, object))?;
    let later = |row: &&Row| moment(&row[tab_history::SAVTIME]) > Some((as_of.instant(), as_of.nanos));
    let Some(table) = tables.iter().filter(later).min_by_key(|row| moment(&row[tab_history::SAVTIME])) else {
        // Nothing has changed since then.
        return Ok(());
    };
    let at = table[tab_history::SAVTIME].clone();
    let indexes = work.select(Base::IndHistory, &|row| {
        as_u32(&row[ind_history::BO]) == object.0 && row[ind_history::SAVTIME] == at
    })?;
    let mut copied = Vec::new();
    for (to, column, from) in COPIED {
        let last = from.table().columns.len() - 1;
        let mut rows = work.select(from, &|row| as_u32(&row[column]) == object.0 && row[last] == at)?;
        rows.iter_mut().for_each(|row| row.truncate(last));
        copied.push((to, rows));
    }
    save(work, object)?;
    delete_table(work, object, true, true)?;
    work.change().update_by(Base::Tab, by(tab::OBJ, object), &mut |row| {
        row[tab::ROWCNT] = table[tab_history::ROWCNT].clone();
        row[tab::BLKCNT] = table[tab_history::BLKCNT].clone();
        row[tab::AVGRLN] = table[tab_history::AVGRLN].clone();
        row[tab::SAMPLESIZE] = table[tab_history::SAMPLESIZE].clone();
        row[tab::ANALYZETIME] = table[tab_history::ANALYZETIME].clone();
        let user = as_i64(&table[tab_history::FLAGS]).unwrap_or(0) & flags::USER;
        row[tab::STATFLAGS] = int(as_i64(&row[tab::STATFLAGS]).unwrap_or(0) & flags::LOCKED | user);
    })?;
    work.change().update_by(Base::Ind, by(ind::BO, object), &mut |row| {
        let old = indexes.iter().find(|old| old[ind_history::OBJ] == row[ind::OBJ]);
        if let Some(old) = old {
            INDEX_HISTORY.iter().for_each(|(from, to)| row[*to] = old[*from].clone());
        }
    })?;
    for (base, rows) in &copied {
        work.change().insert_many(*base, rows)?;
    }
    changed(work, object)?;
    Ok(())
}

/// The time from which the history is complete: the last purge, or the retention.
fn available_since(work: &mut Work<'_>) -> Result<Timestamp> {
    let oldest = oldest_kept(work)?;
    Ok(Timestamp::new(purged_before(work)?.map_or(oldest, |purged| purged.max(oldest)), 0))
}

/// The time before which the history has been purged.
fn purged_before(work: &mut Work<'_>) -> Result<Option<Date>> {
    let purged = work.select(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == PURGED)?;
    Ok(purged.iter().filter_map(|row| as_date(&row[stat_pref::CHANGED])).max())
}

/// The name of the last purge's time among the preferences.
const PURGED: &str = "STATS_PURGED_BEFORE";

fn purge(work: &mut Work<'_>, before: Option<&Timestamp>) -> Result<()> {
    let before = match before {
        Some(before) => on_the_clock(before),
        None => Timestamp::new(oldest_kept(work)?, 0),
    };
    for base in [Base::TabHistory, Base::IndHistory, Base::HeadHistory, Base::HistgrmHistory] {
        let at = base.table().columns.iter().position(|(name, _)| *name == "SAVTIME").unwrap_or(0);
        work.change().delete(base, &|row| moment(&row[at]) < Some((before.instant(), before.nanos)))?;
    }
    work.change().delete(Base::StatPref, &|row| as_text(&row[stat_pref::PNAME]) == PURGED)?;
    let row = [int(0), text(PURGED), Value::Null, Value::Date(before.clock())];
    work.change().insert(Base::StatPref, &row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_purged_once_a_day() {
        let at = |days: i64, seconds: i64| Date::from_unix(1_700_000_000 + days * 86_400 + seconds).expect("a date");
        // Nothing has ever been purged.
        assert!(is_purge_due(None, at(0, 0)));
        assert!(!is_purge_due(Some(at(0, 0)), at(0, 0)));
        assert!(!is_purge_due(Some(at(0, 0)), at(0, 86_399)));
        assert!(is_purge_due(Some(at(0, 0)), at(1, 0)));
        // The retention has become longer.
        assert!(!is_purge_due(Some(at(9, 0)), at(1, 0)));
    }
}
