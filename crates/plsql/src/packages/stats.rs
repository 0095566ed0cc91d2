//! DBMS_STATS.
//!
//! The package reads its arguments, looks up tables if a call is for several, and sends a request to the host for each
//! ([`dictionary::statistics_request`]).

use super::args::{Args, unquote};
use super::queries::{quoted, rows};
use super::stat_rec;
use super::stat_table::{Part, StatTable};
use crate::datum::Datum;
use crate::machine::Run;
use crate::world::World;
use dictionary::statistics_request::{
    ColumnFigures, Gather, OwnTables, StatisticsRequest, SystemGathering, TableNamed,
};
use types::{Ora, Value};

macro_rules! subprograms {
    ($($name:literal $overload:literal $variant:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Native { $($variant,)* }
        const NATIVES: &[Native] = &[$(Native::$variant,)*];
        pub(super) const SUBPROGRAMS: &[(&str, u32)] = &[$(($name, $overload),)*];
    };
}

subprograms! {
    "GATHER_TABLE_STATS" 1 GatherTable,
    "GATHER_INDEX_STATS" 1 GatherIndex,
    "GATHER_SCHEMA_STATS" 1 GatherSchema,
    "GATHER_DATABASE_STATS" 1 GatherDatabase,
    "GATHER_DICTIONARY_STATS" 1 GatherDictionary,
    "GATHER_FIXED_OBJECTS_STATS" 1 GatherFixed,
    "DELETE_DICTIONARY_STATS" 1 DeleteDictionary,
    "DELETE_FIXED_OBJECTS_STATS" 1 DeleteFixed,
    "DELETE_TABLE_STATS" 1 DeleteTable,
    "DELETE_COLUMN_STATS" 1 DeleteColumn,
    "DELETE_INDEX_STATS" 1 DeleteIndex,
    "DELETE_SCHEMA_STATS" 1 DeleteSchema,
    "DELETE_DATABASE_STATS" 1 DeleteDatabase,
    "SET_TABLE_STATS" 1 SetTable,
    "SET_COLUMN_STATS" 1 SetColumn,
    "SET_INDEX_STATS" 1 SetIndex,
    "GET_TABLE_STATS" 1 GetTable,
    "GET_COLUMN_STATS" 1 GetColumn,
    "GET_INDEX_STATS" 1 GetIndex,
    "LOCK_TABLE_STATS" 1 LockTable,
    "UNLOCK_TABLE_STATS" 1 UnlockTable,
    "LOCK_SCHEMA_STATS" 1 LockSchema,
    "UNLOCK_SCHEMA_STATS" 1 UnlockSchema,
    "RESTORE_TABLE_STATS" 1 RestoreTable,
    "RESTORE_SCHEMA_STATS" 1 RestoreSchema,
    "GET_STATS_HISTORY_AVAILABILITY" 1 Availability,
    "GET_STATS_HISTORY_RETENTION" 1 Retention,
    "PURGE_STATS" 1 Purge,
    "CREATE_EXTENDED_STATS" 1 CreateExtension,
    "SHOW_EXTENDED_STATS_NAME" 1 ShowExtension,
    "DROP_EXTENDED_STATS" 1 DropExtension,
    "SET_TABLE_PREFS" 1 SetTablePreference,
    "DELETE_TABLE_PREFS" 1 DeleteTablePreference,
    "SET_SCHEMA_PREFS" 1 SetSchemaPreference,
    "SET_GLOBAL_PREFS" 1 SetGlobalPreference,
    "GET_PREFS" 1 GetPreference,
    "FLUSH_DATABASE_MONITORING_INFO" 1 Flush,
    "REPORT_COL_USAGE" 1 ReportColumnUses,
    "CREATE_STAT_TABLE" 1 CreateStatTable,
    "DROP_STAT_TABLE" 1 DropStatTable,
    "EXPORT_TABLE_STATS" 1 ExportTable,
    "EXPORT_COLUMN_STATS" 1 ExportColumn,
    "EXPORT_INDEX_STATS" 1 ExportIndex,
    "EXPORT_SCHEMA_STATS" 1 ExportSchema,
    "IMPORT_TABLE_STATS" 1 ImportTable,
    "IMPORT_COLUMN_STATS" 1 ImportColumn,
    "IMPORT_INDEX_STATS" 1 ImportIndex,
    "IMPORT_SCHEMA_STATS" 1 ImportSchema,
    "ALTER_STATS_HISTORY_RETENTION" 1 SetRetention,
    "GATHER_SYSTEM_STATS" 1 GatherSystem,
    "SET_SYSTEM_STATS" 1 SetSystem,
    "GET_SYSTEM_STATS" 1 GetSystem,
    "DELETE_SYSTEM_STATS" 1 DeleteSystem,
    "PREPARE_COLUMN_VALUES" 1 PrepareTexts,
    "PREPARE_COLUMN_VALUES" 2 PrepareDates,
    "PREPARE_COLUMN_VALUES" 3 PrepareDoubles,
    "PREPARE_COLUMN_VALUES" 4 PrepareFloats,
    "PREPARE_COLUMN_VALUES" 5 PrepareNumbers,
    "PREPARE_COLUMN_VALUES" 6 PrepareRaws,
    "PREPARE_COLUMN_VALUES_NVARCHAR" 1 PrepareNational,
    "PREPARE_COLUMN_VALUES_ROWID" 1 PrepareRowids,
    "CONVERT_RAW_VALUE" 1 ConvertText,
    "CONVERT_RAW_VALUE" 2 ConvertDate,
    "CONVERT_RAW_VALUE" 3 ConvertNumber,
}

/// The index of NO_INVALIDATE among the arguments of a subprogram that changes statistics.
fn no_invalidate_place(native: Native) -> Option<usize> {
    let place = match native {
        Native::GatherTable => 12,
        Native::SetColumn => 13,
        Native::GatherSchema | Native::GatherDatabase | Native::GatherDictionary => 11,
        Native::GatherIndex | Native::DeleteTable => 9,
        Native::DeleteColumn => 8,
        Native::DeleteIndex | Native::ImportTable | Native::ImportColumn => 7,
        Native::DeleteSchema | Native::ImportSchema => 4,
        Native::DeleteDatabase | Native::RestoreSchema => 3,
        Native::GatherFixed | Native::DeleteDictionary | Native::DeleteFixed => 3,
        Native::SetTable => 10,
        Native::SetIndex => 14,
        Native::RestoreTable => 5,
        Native::ImportIndex => 6,
        _ => return None,
    };
    Some(place)
}

/// The index of NO_INVALIDATE of the subprogram with that name.
#[cfg(test)]
pub(super) fn no_invalidate_of(name: &str, overload: u32) -> Option<usize> {
    let at = SUBPROGRAMS.iter().position(|(n, o)| *n == name && *o == overload)?;
    no_invalidate_place(NATIVES[at])
}

/// A request with its NO_INVALIDATE.
fn invalidating(no_invalidate: Option<bool>, request: StatisticsRequest) -> StatisticsRequest {
    StatisticsRequest::Invalidating { no_invalidate, request: Box::new(request) }
}

fn owner<W: World>(w: &W, a: &Args<'_>) -> String {
    a.optional_text(0).map_or_else(|| w.schema(), |owner| unquote(&owner))
}

fn table<W: World>(w: &W, a: &Args<'_>) -> TableNamed {
    TableNamed { owner: owner(w, a), table: unquote(a.text(1)) }
}

/// STATTAB, STATID and STATOWN at these indexes; the default owner is the schema of the exported object.
fn stat_table<W: World>(w: &W, a: &Args<'_>, [table, id, owned]: [usize; 3]) -> StatTable {
    let owner = a.optional_text(owned).map_or_else(|| owner(w, a), |owner| unquote(&owner));
    StatTable::new(owner, a.text(table), a.optional_text(id))
}

/// Refuses statistics tables and partitions, which are not supported.
fn refuse(a: &Args<'_>, unsupported: &[usize]) -> Result<(), Ora> {
    let given = |at: &usize| !a.value(*at).is_null();
    if unsupported.iter().any(given) { Err(Ora::unsupported()) } else { Ok(()) }
}

fn optional_flag(a: &Args<'_>, at: usize) -> Option<bool> {
    match a.value(at) {
        Value::Boolean(is) => Some(*is),
        _ => None,
    }
}

fn double(a: &Args<'_>, at: usize) -> Option<f64> {
    a.number(at).map(|n| n.to_f64())
}

/// ESTIMATE_PERCENT, BLOCK_SAMPLE, METHOD_OPT, CASCADE and FORCE at these indexes.
fn gather(a: &Args<'_>, places: [usize; 5]) -> Gather {
    Gather {
        percent: double(a, places[0]),
        block_sample: a.flag(places[1]),
        method: a.optional_text(places[2]),
        cascade: optional_flag(a, places[3]),
        force: a.flag(places[4]),
    }
}

/// The condition for the tables that OPTIONS selects: all, those with stale statistics, those without, or both.
fn chosen(options: &str) -> Result<&'static str, Ora> {
    match options.trim().to_uppercase().as_str() {
        "GATHER" | "" => Ok("1 = 1"),
        "GATHER STALE" => Ok("s.stale_stats = 'YES'"),
        "GATHER EMPTY" => Ok("s.last_analyzed is null"),
        "GATHER AUTO" => Ok("(s.last_analyzed is null or s.stale_stats = 'YES')"),
        other => Err(Ora::user(20001, format!("Invalid value for options: {other}"))),
    }
}

/// Tables that the session may analyze, of the owner or of all users except SYS, that meet a condition.
fn tables<W: World>(w: &mut W, owner: Option<&str>, condition: &str) -> Result<Vec<TableNamed>, Ora> {
    let whose = match owner {
        Some(owner) => format!("s.owner = {}", quoted(owner)),
        None => "s.owner <> 'SYS'".to_owned(),
    };
    let query = format!(
        "select s.owner, s.table_name from sys.all_tab_statistics s, sys.all_tables t where t.owner = s.owner \
         and t.table_name = s.table_name and t.temporary = 'N' and {whose} and {condition} order by 1, 2"
    );
    let named = |row: Vec<Value>| match row.as_slice() {
        [Value::Text(owner), Value::Text(table), ..] => Some(TableNamed { owner: owner.clone(), table: table.clone() }),
        _ => None,
    };
    Ok(rows(w, &query)?.into_iter().filter_map(named).collect())
}

/// ORA-20000 for a missing schema.
fn require_schema<W: World>(w: &mut W, owner: &str) -> Result<(), Ora> {
    let known = format!("select 1 from sys.all_users where username = {}", quoted(owner));
    if rows(w, &known)?.is_empty() {
        let text = format!("Schema \"{owner}\" does not exist or insufficient privileges");
        return Err(Ora::user(20000, text));
    }
    Ok(())
}

/// Sends a request for each table. Skips tables that were dropped meanwhile, may not be analyzed, or have locked
/// statistics.
fn each<W: World>(
    w: &mut W,
    tables: Vec<TableNamed>,
    no_invalidate: Option<bool>,
    request: impl Fn(TableNamed) -> StatisticsRequest,
) -> Result<(), Ora> {
    for table in tables {
        match w.statistics(&invalidating(no_invalidate, request(table))) {
            Err(e) if !e.is(20000) && !e.is(20005) => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

fn gather_many<W: World>(
    w: &mut W,
    owner: Option<&str>,
    options: &str,
    gather: &Gather,
    no_invalidate: Option<bool>,
) -> Result<(), Ora> {
    if let Some(owner) = owner {
        require_schema(w, owner)?;
    }
    if let Some(method) = &gather.method
        && !method.trim().to_uppercase().starts_with("FOR ALL")
    {
        return Err(Ora::user(20000, format!("Cannot parse for clause: {method}")));
    }
    let condition = chosen(options)?;
    flush(w)?;
    let all = tables(w, owner, condition)?;
    each(w, all, no_invalidate, |table| StatisticsRequest::Gather(table, gather.clone()))
}

/// The schemas of the dictionary, whose tables GATHER_DICTIONARY_STATS gathers too.
const DICTIONARY_SCHEMAS: [&str; 2] = ["SYS", "SYSTEM"];
/// The index of an argument that a subprogram does not have.
const NOT_THERE: usize = usize::MAX;

/// Flushes the monitoring counts before stale statistics are searched.
fn flush<W: World>(w: &mut W) -> Result<(), Ora> {
    w.statistics(&StatisticsRequest::Flush { asked: false }).map(drop)
}

/// The head of REPORT_COL_USAGE. Uses of column groups by filters, joins and GROUP BY are not recorded, and have no
/// line.
const USES_LEGEND: &str = "\
LEGEND:
.......

EQ         : Used in single table EQuality predicate
RANGE      : Used in single table RANGE predicate
LIKE       : Used in single table LIKE predicate
NULL       : Used in single table is (not) NULL predicate
EQ_JOIN    : Used in EQuality JOIN predicate
NONEQ_JOIN : Used in NON EQuality JOIN predicate
...............................................................................
";

/// REPORT_COL_USAGE: for a table, or for all tables of a schema with columns used in predicates.
fn report_column_uses<W: World>(w: &mut W, a: &Args<'_>) -> Result<Value, Ora> {
    let rule = "#".repeat(79);
    let mut report = format!("{USES_LEGEND}\n{rule}\n");
    let mut section = |named: &TableNamed, lines: &str| {
        let title = format!("COLUMN USAGE REPORT FOR {}.{}", named.owner, named.table);
        let underline = ".".repeat(title.chars().count());
        report.push_str(&format!("\n{title}\n{underline}\n\n{lines}{rule}\n"));
    };
    if a.optional_text(1).is_some() {
        let named = table(w, a);
        let lines = w.statistics(&StatisticsRequest::ColumnUses(named.clone()))?;
        section(&named, if let Value::Text(lines) = &lines { lines } else { "" });
        return Ok(Value::text(report));
    }
    let owner = owner(w, a);
    require_schema(w, &owner)?;
    for named in tables(w, Some(&owner), "1 = 1")? {
        match w.statistics(&StatisticsRequest::ColumnUses(named.clone())) {
            Ok(Value::Text(lines)) => section(&named, &lines),
            Err(e) if !e.is(20000) => return Err(e),
            _ => {}
        }
    }
    Ok(Value::text(report))
}

/// Sets the OUT arguments at these indexes to the columns of a query's single row; ORA-20000 without a row.
fn get<W: World, const N: usize>(
    w: &mut W,
    a: &mut Args<'_>,
    places: [usize; N],
    query: &str,
    what: &str,
) -> Result<(), Ora> {
    let Some(row) = rows(w, query)?.into_iter().next() else {
        return Err(Ora::user(20000, format!("Unable to get values for {what}")));
    };
    row.into_iter().zip(places).for_each(|(value, at)| a.set(at, value));
    Ok(())
}

/// The minimum, maximum and histogram of a column in the form of GET_COLUMN_STATS.
fn column_record<W: World>(w: &mut W, of: &TableNamed, column: &str) -> Result<Datum, Ora> {
    let query = format!(
        "select h.endpoint_number, h.endpoint_value, h.endpoint_actual_value, nvl(h.endpoint_actual_value_raw, \
         decode(h.endpoint_number, 0, s.low_value, s.high_value)), decode(s.histogram, 'HYBRID', \
         h.endpoint_repeat_count) from sys.all_tab_col_statistics s, sys.all_tab_histograms h where s.owner = {} and \
         s.table_name = {} and s.column_name = {} and h.owner = s.owner and h.table_name = s.table_name and \
         h.column_name = s.column_name order by 1, 2",
        quoted(&of.owner),
        quoted(&of.table),
        quoted(column)
    );
    let count = |value: &Value| match value {
        Value::Number(n) => n.to_i64().ok().and_then(|n| u64::try_from(n).ok()),
        _ => None,
    };
    let endpoint = |row: Vec<Value>| {
        let [cumulative, place, text, value, repeats] = row.as_slice() else { return None };
        Some(stat_rec::Endpoint {
            value: if let Value::Raw(bytes) = value { bytes.clone() } else { Vec::new() },
            place: if let Value::Number(n) = place { Some(*n) } else { None },
            text: if let Value::Text(text) = text { Some(text.clone()) } else { None },
            cumulative: count(cumulative)?,
            repeats: count(repeats),
        })
    };
    let endpoints: Vec<_> = rows(w, &query)?.into_iter().filter_map(endpoint).collect();
    Ok(stat_rec::record(&endpoints))
}

/// Runs a subprogram; OUT arguments are changed in place.
pub(super) fn run<W: World>(at: usize, w: &mut W, a: &mut Args<'_>) -> Run<Value> {
    use StatisticsRequest as Request;
    let subprogram = NATIVES[at];
    let no_invalidate = no_invalidate_place(subprogram).and_then(|at| optional_flag(a, at));
    let request = match subprogram {
        Native::GatherTable => {
            refuse(a, &[2, 9])?;
            let table = table(w, a);
            let condition = chosen(a.text(16))?;
            if condition != "1 = 1" {
                flush(w)?;
                let name = format!("{condition} and s.table_name = {}", quoted(&table.table));
                if tables(w, Some(&table.owner), &name)?.is_empty() {
                    return Ok(Value::Null);
                }
            }
            Request::Gather(table, gather(a, [3, 4, 5, 8, 14]))
        }
        Native::GatherIndex => {
            refuse(a, &[2, 4])?;
            let (owner, index) = (owner(w, a), unquote(a.text(1)));
            Request::GatherIndex { owner, index, percent: double(a, 3), force: a.flag(11) }
        }
        Native::GatherSchema => {
            refuse(a, &[7])?;
            let (owner, gather) = (owner(w, a), gather(a, [1, 2, 3, 6, 15]));
            gather_many(w, Some(&owner), a.text(9), &gather, no_invalidate)?;
            return Ok(Value::Null);
        }
        Native::GatherDatabase => {
            refuse(a, &[6])?;
            let gather = gather(a, [0, 1, 2, 5, 15]);
            gather_many(w, None, a.text(8), &gather, no_invalidate)?;
            if a.flag(13) {
                let fixed = Request::GatherOwn { tables: OwnTables::Fixed, empty_only: false, gather };
                w.statistics(&invalidating(no_invalidate, fixed))?;
            }
            return Ok(Value::Null);
        }
        Native::GatherDictionary => {
            refuse(a, &[0, 7])?;
            let (gather, options) = (gather(a, [1, 2, 3, 6, NOT_THERE]), a.text(9));
            chosen(options)?;
            let empty_only = options.trim().eq_ignore_ascii_case("GATHER EMPTY");
            let own = Request::GatherOwn { tables: OwnTables::Dictionary, empty_only, gather: gather.clone() };
            w.statistics(&invalidating(no_invalidate, own))?;
            for owner in DICTIONARY_SCHEMAS {
                gather_many(w, Some(owner), options, &gather, no_invalidate)?;
            }
            return Ok(Value::Null);
        }
        Native::GatherFixed => {
            refuse(a, &[0])?;
            Request::GatherOwn { tables: OwnTables::Fixed, empty_only: false, gather: gather(a, [NOT_THERE; 5]) }
        }
        Native::DeleteDictionary => {
            refuse(a, &[0])?;
            let force = a.flag(5);
            w.statistics(&invalidating(no_invalidate, Request::DeleteOwn(OwnTables::Dictionary)))?;
            for owner in DICTIONARY_SCHEMAS {
                let all = tables(w, Some(owner), "s.last_analyzed is not null")?;
                let delete = |table| Request::DeleteTable { table, columns: true, indexes: true, force };
                each(w, all, no_invalidate, delete)?;
            }
            return Ok(Value::Null);
        }
        Native::DeleteFixed => {
            refuse(a, &[0])?;
            Request::DeleteOwn(OwnTables::Fixed)
        }
        Native::DeleteTable => {
            refuse(a, &[2, 3])?;
            let (columns, indexes) = (a.flag(6), a.flag(7));
            Request::DeleteTable { table: table(w, a), columns, indexes, force: a.flag(11) }
        }
        Native::DeleteColumn => {
            refuse(a, &[3, 4])?;
            let histogram_only = a.text(10).eq_ignore_ascii_case("HISTOGRAM");
            Request::DeleteColumn { table: table(w, a), column: unquote(a.text(2)), histogram_only, force: a.flag(9) }
        }
        Native::DeleteIndex => {
            refuse(a, &[2, 3])?;
            Request::DeleteIndex { owner: owner(w, a), index: unquote(a.text(1)), force: a.flag(9) }
        }
        Native::DeleteSchema | Native::DeleteDatabase => {
            let schema = subprogram == Native::DeleteSchema;
            let at = usize::from(schema);
            refuse(a, &[at])?;
            let owner = schema.then(|| owner(w, a));
            if let Some(owner) = &owner {
                require_schema(w, owner)?;
            }
            let force = a.flag(at + 5);
            let all = tables(w, owner.as_deref(), "s.last_analyzed is not null")?;
            each(w, all, no_invalidate, |table| Request::DeleteTable { table, columns: true, indexes: true, force })?;
            return Ok(Value::Null);
        }
        Native::SetTable => {
            refuse(a, &[2, 3])?;
            let [rows, blocks, average] = [5, 6, 7].map(|at| double(a, at));
            Request::SetTable { table: table(w, a), rows, blocks, average, force: a.flag(13) }
        }
        Native::SetColumn => {
            refuse(a, &[3, 4])?;
            let figures = ColumnFigures {
                distinct: double(a, 6),
                density: double(a, 7),
                nulls: double(a, 8),
                average_bytes: double(a, 10),
                histogram: stat_rec::figures(a.datum(9))?,
            };
            Request::SetColumn { table: table(w, a), column: unquote(a.text(2)), figures, force: a.flag(14) }
        }
        Native::SetIndex => {
            refuse(a, &[2, 3])?;
            let figures = std::array::from_fn(|at| double(a, 5 + at));
            Request::SetIndex { owner: owner(w, a), index: unquote(a.text(1)), figures, force: a.flag(18) }
        }
        Native::GetTable => {
            refuse(a, &[2, 3])?;
            let named = table(w, a);
            let query = format!(
                "select num_rows, blocks, avg_row_len from sys.all_tab_statistics where owner = {} and table_name = {} \
                 and last_analyzed is not null",
                quoted(&named.owner),
                quoted(&named.table)
            );
            get(w, a, [5, 6, 7], &query, &format!("table {}", named.table))?;
            return Ok(Value::Null);
        }
        Native::GetColumn => {
            refuse(a, &[3, 4])?;
            let (named, column) = (table(w, a), unquote(a.text(2)));
            let query = format!(
                "select num_distinct, density, num_nulls, avg_col_len from sys.all_tab_col_statistics where owner = {} \
                 and table_name = {} and column_name = {}",
                quoted(&named.owner),
                quoted(&named.table),
                quoted(&column)
            );
            get(w, a, [6, 7, 8, 10], &query, &format!("column {column}"))?;
            let record = column_record(w, &named, &column)?;
            a.set_datum(9, record);
            return Ok(Value::Null);
        }
        Native::GetIndex => {
            refuse(a, &[2, 3])?;
            let (owner, index) = (owner(w, a), unquote(a.text(1)));
            let query = format!(
                "select num_rows, leaf_blocks, distinct_keys, avg_leaf_blocks_per_key, avg_data_blocks_per_key, \
                 clustering_factor, blevel from sys.all_ind_statistics where owner = {} and index_name = {} \
                 and last_analyzed is not null",
                quoted(&owner),
                quoted(&index)
            );
            get(w, a, [5, 6, 7, 8, 9, 10, 11], &query, &format!("index {index}"))?;
            return Ok(Value::Null);
        }
        Native::LockTable => Request::Lock(table(w, a), true),
        Native::UnlockTable => Request::Lock(table(w, a), false),
        Native::LockSchema | Native::UnlockSchema => {
            let locked = subprogram == Native::LockSchema;
            let owner = owner(w, a);
            require_schema(w, &owner)?;
            let all = tables(w, Some(&owner), "1 = 1")?;
            each(w, all, None, |table| Request::Lock(table, locked))?;
            return Ok(Value::Null);
        }
        Native::RestoreTable => {
            Request::Restore { table: table(w, a), as_of: timestamp(a.value(2))?, force: a.flag(4) }
        }
        Native::RestoreSchema => {
            let (owner, as_of, force) = (owner(w, a), timestamp(a.value(1))?, a.flag(2));
            require_schema(w, &owner)?;
            let all = tables(w, Some(&owner), "1 = 1")?;
            each(w, all, no_invalidate, |table| Request::Restore { table, as_of, force })?;
            return Ok(Value::Null);
        }
        Native::Availability => Request::Availability,
        Native::Retention => Request::Retention,
        Native::SetRetention => {
            let days = a.number(0).and_then(|n| n.to_i64().ok());
            Request::SetRetention(days.ok_or_else(|| Ora::user(20001, "Invalid or inconsistent input values"))?)
        }
        Native::CreateStatTable => {
            let table = StatTable::new(owner(w, a), a.text(1), None);
            table.create(w, a.optional_text(2), a.flag(3))?;
            return Ok(Value::Null);
        }
        Native::DropStatTable => {
            StatTable::new(owner(w, a), a.text(1), None).drop(w)?;
            return Ok(Value::Null);
        }
        Native::ExportTable => {
            refuse(a, &[2])?;
            let (to, table) = (stat_table(w, a, [3, 4, 6]), table(w, a));
            to.export(w, &table, Part::Table { indexes: a.flag(5) })?;
            w.commit()?;
            return Ok(Value::Null);
        }
        Native::ExportColumn => {
            refuse(a, &[3])?;
            let (to, table) = (stat_table(w, a, [4, 5, 6]), table(w, a));
            to.export(w, &table, Part::Column(&unquote(a.text(2))))?;
            w.commit()?;
            return Ok(Value::Null);
        }
        Native::ExportIndex => {
            refuse(a, &[2])?;
            let to = stat_table(w, a, [3, 4, 5]);
            to.export_index(w, &owner(w, a), &unquote(a.text(1)))?;
            w.commit()?;
            return Ok(Value::Null);
        }
        Native::ExportSchema => {
            let (to, owner) = (stat_table(w, a, [1, 2, 3]), owner(w, a));
            require_schema(w, &owner)?;
            for table in tables(w, Some(&owner), "s.last_analyzed is not null")? {
                to.export(w, &table, Part::Table { indexes: true })?;
            }
            w.commit()?;
            return Ok(Value::Null);
        }
        Native::ImportTable => {
            refuse(a, &[2])?;
            let (from, table) = (stat_table(w, a, [3, 4, 6]), table(w, a));
            let imported = from.read(w, &table, Part::Table { indexes: a.flag(5) })?;
            Request::Import { table, imported, force: a.flag(8) }
        }
        Native::ImportColumn => {
            refuse(a, &[3])?;
            let (from, table) = (stat_table(w, a, [4, 5, 6]), table(w, a));
            let imported = from.read(w, &table, Part::Column(&unquote(a.text(2))))?;
            Request::Import { table, imported, force: a.flag(8) }
        }
        Native::ImportIndex => {
            refuse(a, &[2])?;
            let (from, owner, index) = (stat_table(w, a, [3, 4, 5]), owner(w, a), unquote(a.text(1)));
            let Some(found) = from.read_index(w, &owner, &index)? else { return Ok(Value::Null) };
            Request::SetIndex { owner, index, figures: found.figures, force: a.flag(7) }
        }
        Native::ImportSchema => {
            let (from, owner, force) = (stat_table(w, a, [1, 2, 3]), owner(w, a), a.flag(5));
            require_schema(w, &owner)?;
            for table in tables(w, Some(&owner), "1 = 1")? {
                let imported = from.read(w, &table, Part::Table { indexes: true })?;
                match w.statistics(&invalidating(no_invalidate, Request::Import { table, imported, force })) {
                    Err(e) if !e.is(20000) && !e.is(20005) => return Err(e.into()),
                    _ => {}
                }
            }
            return Ok(Value::Null);
        }
        Native::Purge => match a.value(0) {
            Value::Null => Request::Purge(None),
            value => Request::Purge(Some(timestamp(value)?)),
        },
        Native::CreateExtension | Native::ShowExtension => {
            let create = subprogram == Native::CreateExtension;
            Request::Extension { table: table(w, a), columns: a.text(2).to_owned(), create }
        }
        Native::DropExtension => Request::DropExtension { table: table(w, a), columns: a.text(2).to_owned() },
        Native::SetTablePreference => {
            let (name, value) = (a.text(2).to_uppercase(), a.optional_text(3));
            Request::SetPreference { table: Some(table(w, a)), name, value }
        }
        Native::DeleteTablePreference => {
            Request::SetPreference { table: Some(table(w, a)), name: a.text(2).to_uppercase(), value: None }
        }
        Native::SetSchemaPreference => {
            let (owner, name, value) = (owner(w, a), a.text(1).to_uppercase(), a.optional_text(2));
            require_schema(w, &owner)?;
            for table in tables(w, Some(&owner), "1 = 1")? {
                let (name, value) = (name.clone(), value.clone());
                w.statistics(&Request::SetPreference { table: Some(table), name, value })?;
            }
            return Ok(Value::Null);
        }
        Native::SetGlobalPreference => {
            Request::SetPreference { table: None, name: a.text(0).to_uppercase(), value: a.optional_text(1) }
        }
        Native::GetPreference => {
            let owner = a.optional_text(1).map_or_else(|| w.schema(), |owner| unquote(&owner));
            let table = a.optional_text(2).map(|table| TableNamed { owner, table: unquote(&table) });
            Request::Preference { table, name: a.text(0).to_uppercase() }
        }
        Native::ReportColumnUses => return Ok(report_column_uses(w, a)?),
        Native::Flush => Request::Flush { asked: true },
        Native::GatherSystem => {
            refuse(a, &[2])?;
            match a.text(0).trim().to_uppercase().as_str() {
                "NOWORKLOAD" => Request::GatherSystem(SystemGathering::Device),
                "START" => Request::GatherSystem(SystemGathering::Start),
                "STOP" => Request::GatherSystem(SystemGathering::Stop),
                // No process here ends a workload at a later time.
                "INTERVAL" | "EXADATA" => return Err(Ora::unsupported().into()),
                _ => return Err(Ora::user(20001, "Invalid or inconsistent input values").into()),
            }
        }
        Native::SetSystem => {
            refuse(a, &[2])?;
            let value = double(a, 1).ok_or_else(|| Ora::user(20001, "Invalid or inconsistent input values"))?;
            Request::SetSystem { name: a.text(0).trim().to_uppercase(), value }
        }
        Native::GetSystem => {
            refuse(a, &[5])?;
            let value = w.statistics(&Request::System(a.text(3).trim().to_uppercase()))?;
            let status = w.statistics(&Request::System("STATUS".into()))?;
            let [from, to] =
                [w.statistics(&Request::System("DSTART".into()))?, w.statistics(&Request::System("DSTOP".into()))?];
            a.set(0, status);
            a.set(1, minute(&from));
            a.set(2, minute(&to));
            a.set(4, value);
            return Ok(Value::Null);
        }
        Native::DeleteSystem => {
            refuse(a, &[0])?;
            Request::DeleteSystem
        }
        Native::PrepareTexts
        | Native::PrepareDates
        | Native::PrepareDoubles
        | Native::PrepareFloats
        | Native::PrepareNumbers
        | Native::PrepareRaws
        | Native::PrepareNational
        | Native::PrepareRowids => {
            let values = match subprogram {
                Native::PrepareNational | Native::PrepareRowids => vec![a.value(1).clone(), a.value(2).clone()],
                _ => stat_rec::elements(a.datum(1)).unwrap_or_default(),
            };
            let record = stat_rec::prepare(a.datum(0), &values)?;
            a.set_datum(0, record);
            return Ok(Value::Null);
        }
        Native::ConvertText => {
            let text = String::from_utf8_lossy(a.raw(0)).into_owned();
            a.set(1, Value::text(text));
            return Ok(Value::Null);
        }
        Native::ConvertDate | Native::ConvertNumber => {
            let ty = match subprogram {
                Native::ConvertDate => types::DataType::Date,
                _ => types::DataType::NUMBER,
            };
            let mut value = Value::Null;
            if !a.raw(0).is_empty() {
                let unusable = |_| Ora::user(20001, "Invalid or inconsistent input values");
                types::codec::decode_into(a.raw(0), &ty, &mut value).map_err(unusable)?;
            }
            a.set(1, value);
            return Ok(Value::Null);
        }
    };
    let request =
        if no_invalidate_place(subprogram).is_some() { invalidating(no_invalidate, request) } else { request };
    Ok(w.statistics(&request)?)
}

/// A time in AUX_STATS$ (MM-DD-YYYY HH24:MI) as a date.
fn minute(value: &Value) -> Value {
    let Value::Text(text) = value else { return Value::Null };
    let fields: Vec<u32> = text.split(['-', ' ', ':']).filter_map(|field| field.parse().ok()).collect();
    let &[month, day, year, hour, minute] = fields.as_slice() else { return Value::Null };
    types::Date::new(year as i32, month, day, hour, minute, 0).map_or(Value::Null, Value::Date)
}

fn timestamp(value: &Value) -> Result<types::Timestamp, Ora> {
    match value {
        Value::Timestamp(at) => Ok(*at),
        _ => Err(Ora::user(20001, "Invalid or inconsistent input values")),
    }
}
