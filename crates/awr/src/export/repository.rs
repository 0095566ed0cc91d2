//! Export of the workload repository: every `dba_hist_` view, snapshot by snapshot.

use super::field::{Column, Field, Kind, moment_us, wrong};
use super::lake::{Lake, Part};
use std::collections::BTreeMap;
use std::{fmt, io};
use types::{DataType, Value};

/// Why an export failed.
#[derive(Debug)]
pub enum ExportError {
    /// The file system, or a value that does not fit its column.
    Files(io::Error),
    /// An error of the instance, as text.
    Source(String),
}

impl From<io::Error> for ExportError {
    fn from(e: io::Error) -> ExportError {
        ExportError::Files(e)
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportError::Files(e) => e.fmt(f),
            ExportError::Source(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ExportError {}

/// Runs queries for an export; all queries see the database as of one moment.
pub trait Rows {
    /// Names and types of a query's columns.
    ///
    /// # Errors
    /// Those of the query.
    fn columns(&mut self, sql: &str) -> Result<Vec<(String, DataType)>, ExportError>;

    /// Passes each row of a query to `take`.
    ///
    /// # Errors
    /// Those of the query and of `take`.
    fn each(
        &mut self,
        sql: &str,
        binds: &[Value],
        take: &mut dyn FnMut(Vec<Value>) -> io::Result<()>,
    ) -> Result<(), ExportError>;
}

/// The part of the repository to export.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The first and the last snapshot; without them all.
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// The name of the run; without it, a run is one start of the instance.
    pub run: Option<String>,
}

/// Columns with fractions: view and column. All other numbers must be whole, or are refused.
const REAL: &[(&str, &str)] = &[
    ("OSSTAT", "VALUE"),
    ("DB_CACHE_ADVICE", "SIZE_FACTOR"),
    ("DB_CACHE_ADVICE", "SIZE_FOR_ESTIMATE"),
    ("SYSMETRIC_HISTORY", "VALUE"),
    ("PGASTAT", "VALUE"),
    ("PGA_TARGET_ADVICE", "PGA_TARGET_FACTOR"),
    ("PGA_TARGET_ADVICE", "ESTD_PGA_CACHE_HIT_PERCENTAGE"),
    ("SHARED_POOL_ADVICE", "SHARED_POOL_SIZE_FOR_ESTIMATE"),
    ("SHARED_POOL_ADVICE", "SHARED_POOL_SIZE_FACTOR"),
    ("SHARED_POOL_ADVICE", "ESTD_LC_SIZE"),
    ("SHARED_POOL_ADVICE", "ESTD_LC_TIME_SAVED"),
    ("SHARED_POOL_ADVICE", "ESTD_LC_TIME_SAVED_FACTOR"),
    ("SHARED_POOL_ADVICE", "ESTD_LC_LOAD_TIME"),
    ("SHARED_POOL_ADVICE", "ESTD_LC_LOAD_TIME_FACTOR"),
    ("SGA_TARGET_ADVICE", "SGA_SIZE_FACTOR"),
];

/// Views whose figures another view has in other units.
const LEFT_OUT: &[&str] = &["EVENT_HISTOGRAM"];

const PREFIX: &str = "DBA_HIST_";

struct View {
    /// The view's name without the prefix.
    name: String,
    columns: Vec<Column>,
    has_snapshots: bool,
}

impl View {
    fn table(&self) -> String {
        format!("{PREFIX}{}", self.name).to_lowercase()
    }
}

struct Snapshot {
    id: i64,
    dbid: i64,
}

/// Exports the wanted part that is not exported yet. A snapshot never changes, so its files are written once.
///
/// # Errors
/// Those of the source and the files. Files that were complete by then stay.
pub fn repository(source: &mut dyn Rows, lake: &mut Lake, wanted: &Wanted) -> Result<(), ExportError> {
    let views = views(source)?;
    let parts = parts(source, wanted)?;
    let mut instances: Vec<String> = Vec::new();
    for ((run, instance, day), snapshots) in &parts {
        let part = Part::of_day(run, instance, day);
        for view in &views {
            if view.has_snapshots {
                by_snapshots(source, lake, view, &part, snapshots)?;
            } else if view.name == "SQLTEXT" {
                texts(source, lake, view, &part, snapshots)?;
            }
        }
        if !instances.contains(instance) {
            instances.push(instance.clone());
        }
    }
    for view in views.iter().filter(|view| !view.has_snapshots && view.name != "SQLTEXT") {
        for instance in &instances {
            let sql = format!("select w.* from {PREFIX}{} w", view.name);
            put(source, lake, view, &Part::of_instance(instance), "all", &[(sql, Vec::new())])?;
        }
    }
    Ok(())
}

fn text(v: &Value) -> String {
    match v {
        Value::Text(t) => t.clone(),
        Value::Number(n) => n.to_string(),
        _ => String::new(),
    }
}

fn integer(v: &Value) -> i64 {
    if let Value::Number(n) = v { n.to_i64().unwrap_or(0) } else { 0 }
}

fn views(source: &mut dyn Rows) -> Result<Vec<View>, ExportError> {
    let mut names = Vec::new();
    let sql = "select object_name from dba_objects where owner = 'SYS' and object_type = 'VIEW' and object_name like 'DBA\\_HIST\\_%' escape '\\' order by object_name";
    source.each(sql, &[], &mut |row| {
        names.extend(row.first().map(text));
        Ok(())
    })?;
    let mut views = Vec::new();
    for name in names.iter().filter_map(|name| name.strip_prefix(PREFIX)).filter(|name| !LEFT_OUT.contains(name)) {
        let described = source.columns(&format!("select w.* from {PREFIX}{name} w"))?;
        let has_snapshots = described.iter().any(|(column, _)| column == "SNAP_ID");
        let columns: io::Result<Vec<Column>> = described.iter().map(|(column, of)| kind(name, column, of)).collect();
        views.push(View { name: name.to_string(), columns: columns?, has_snapshots });
    }
    Ok(views)
}

/// The column of a file for a column of a view.
fn kind(view: &str, column: &str, of: &DataType) -> io::Result<Column> {
    // Metrics are quotients, so their statistics have fractions.
    let of_metric = || {
        view == "SYSMETRIC_SUMMARY"
            && ["MINVAL", "MAXVAL", "AVERAGE", "STANDARD_DEVIATION", "SUM_SQUARES"].contains(&column)
    };
    let is_real = || of_metric() || REAL.iter().any(|(v, c)| *v == view && *c == column);
    let name = column.to_lowercase();
    Ok(match of {
        DataType::Number { .. } if is_real() => Column::new(name, Kind::Real),
        DataType::Number { .. } => Column::new(name, Kind::Int),
        DataType::BinaryDouble | DataType::BinaryFloat | DataType::Float { .. } => Column::new(name, Kind::Real),
        DataType::Date | DataType::Timestamp { .. } => Column::new(name, Kind::Moment),
        DataType::IntervalDs { .. } => Column::new(format!("{name}_us"), Kind::Micros),
        DataType::Raw { .. } => Column::new(name, Kind::Bytes),
        DataType::Varchar2 { .. } | DataType::Char { .. } | DataType::Clob | DataType::Null => {
            Column::new(name, Kind::Text)
        }
        other => return Err(wrong(format!("{PREFIX}{view}.{column}: no file has a column of {other:?}"))),
    })
}

/// A value in the form of its column.
fn field(value: Value, column: &Column) -> io::Result<Field> {
    let misfit =
        |what: &dyn fmt::Debug| wrong(format!("{}: {what:?} is not of kind {}", column.name, column.kind.name()));
    Ok(match (value, column.kind) {
        (Value::Null, _) => Field::Null,
        (Value::Number(n), Kind::Int) if n.is_integer() => Field::Int(n.to_i64().map_err(|_| misfit(&n))?),
        (Value::Number(n), Kind::Int) => return Err(misfit(&n)),
        (Value::Number(n), Kind::Real) => Field::Real(n.to_f64()),
        (Value::Double(value), Kind::Real) => Field::Real(value),
        (Value::Float(value), Kind::Real) => Field::Real(f64::from(value)),
        (Value::Text(t), Kind::Text) => Field::Text(t),
        (Value::Date(d), Kind::Moment) => Field::Int(moment_us(&d, 0)),
        (Value::Timestamp(t), Kind::Moment) => Field::Int(moment_us(&t.own_date(), t.nanos)),
        (Value::IntervalDs(d), Kind::Micros) => Field::Int(i64::try_from(d.to_nanos() / 1000).map_err(|_| misfit(&d))?),
        (Value::Raw(bytes), Kind::Bytes) => Field::Bytes(bytes),
        (other, _) => return Err(misfit(&other)),
    })
}

/// Run, instance and day of snapshots.
type Days = BTreeMap<(String, String, String), Vec<Snapshot>>;

fn parts(source: &mut dyn Rows, wanted: &Wanted) -> Result<Days, ExportError> {
    let sql = "select s.snap_id, s.dbid, to_char(s.startup_time, 'YYYYMMDD\"T\"HH24MISS'), \
               to_char(s.end_interval_time, 'YYYY-MM-DD'), lower(nvl(i.instance_name, 'unknown')) \
               from dba_hist_snapshot s, dba_hist_database_instance i where s.snap_id between :1 and :2 \
               and i.dbid(+) = s.dbid and i.startup_time(+) = s.startup_time order by s.snap_id";
    let bind = |n: i64| Value::Number(n.into());
    let binds = [bind(wanted.from.unwrap_or(0)), bind(wanted.to.unwrap_or(i64::from(i32::MAX)))];
    let mut parts = Days::new();
    source.each(sql, &binds, &mut |row| {
        let snapshot = Snapshot { id: integer(&row[0]), dbid: integer(&row[1]) };
        let run = wanted.run.clone().unwrap_or_else(|| text(&row[2]));
        let instance = format!("{}-{}", text(&row[4]), snapshot.dbid);
        parts.entry((run, instance, text(&row[3]))).or_default().push(snapshot);
        Ok(())
    })?;
    Ok(parts)
}

/// The snapshots without a file, in ranges without an existing file between them.
fn missing<'a>(snapshots: &'a [Snapshot], there: &[(i64, i64)]) -> Vec<Vec<&'a Snapshot>> {
    let mut all: Vec<Vec<&Snapshot>> = Vec::new();
    let mut is_open = false;
    for snapshot in snapshots {
        if there.iter().any(|(from, to)| (*from..=*to).contains(&snapshot.id)) {
            is_open = false;
            continue;
        }
        match all.last_mut().filter(|_| is_open) {
            Some(last) => last.push(snapshot),
            None => all.push(vec![snapshot]),
        }
        is_open = true;
    }
    all
}

fn ends(stretch: &[&Snapshot]) -> (i64, i64) {
    let of = |s: Option<&&Snapshot>| s.map_or(0, |s| s.id);
    (of(stretch.first()), of(stretch.last()))
}

fn by_snapshots(
    source: &mut dyn Rows,
    lake: &mut Lake,
    view: &View,
    part: &Part,
    snapshots: &[Snapshot],
) -> Result<(), ExportError> {
    let there = lake.ranges(&view.table(), part, "snaps")?;
    for stretch in missing(snapshots, &there) {
        let (from, to) = ends(&stretch);
        let sql = format!("select w.* from {PREFIX}{} w where w.snap_id = :1 and w.dbid = :2", view.name);
        let binds = |s: &&Snapshot| vec![Value::Number(s.id.into()), Value::Number(s.dbid.into())];
        let queries: Vec<_> = stretch.iter().map(|s| (sql.clone(), binds(s))).collect();
        put(source, lake, view, part, &format!("snaps-{from}-{to}"), &queries)?;
    }
    Ok(())
}

/// The texts of the statements of the same snapshots, so that every file is self-contained.
fn texts(
    source: &mut dyn Rows,
    lake: &mut Lake,
    view: &View,
    part: &Part,
    snapshots: &[Snapshot],
) -> Result<(), ExportError> {
    let there = lake.ranges(&view.table(), part, "snaps")?;
    for stretch in missing(snapshots, &there) {
        let (from, to) = ends(&stretch);
        let sql = "select w.* from dba_hist_sqltext w where w.dbid = :1 and (w.sql_id in \
                   (select q.sql_id from dba_hist_sqlstat q where q.snap_id between :2 and :3 and q.dbid = :4) or w.sql_id in \
                   (select h.sql_id from dba_hist_active_sess_history h where h.snap_id between :5 and :6 and h.dbid = :7))";
        let dbid = stretch.first().map_or(0, |s| s.dbid);
        let binds = [dbid, from, to, dbid, from, to, dbid].map(|n| Value::Number(n.into())).to_vec();
        put(source, lake, view, part, &format!("snaps-{from}-{to}"), &[(sql.to_string(), binds)])?;
    }
    Ok(())
}

/// Writes the rows of queries to a file.
fn put(
    source: &mut dyn Rows,
    lake: &mut Lake,
    view: &View,
    part: &Part,
    name: &str,
    queries: &[(String, Vec<Value>)],
) -> Result<(), ExportError> {
    let columns = &view.columns;
    let table = view.table();
    lake.put::<ExportError>(&table, part, name, columns, &mut |take| {
        for (sql, binds) in queries {
            source.each(sql, binds, &mut |row| {
                let fields: io::Result<Vec<Field>> = row.into_iter().zip(columns).map(|(v, c)| field(v, c)).collect();
                take(fields.map_err(|e| wrong(format!("{table}: {e}")))?)
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_snapshots_are_skipped_and_no_file_spans_another() {
        let all: Vec<Snapshot> = [1, 2, 3, 5, 6, 9, 10].map(|id| Snapshot { id, dbid: 7 }).into();
        let stretches = |there: &[(i64, i64)]| -> Vec<(i64, i64)> {
            missing(&all, there).iter().map(|stretch| ends(stretch)).collect()
        };
        assert_eq!(stretches(&[]), [(1, 10)]);
        assert_eq!(stretches(&[(2, 5)]), [(1, 1), (6, 10)]);
        assert_eq!(stretches(&[(1, 3), (9, 9)]), [(5, 6), (10, 10)]);
        assert_eq!(stretches(&[(1, 10)]), []);
    }

    #[test]
    fn a_number_with_a_fraction_is_refused_where_whole_ones_are_wanted() {
        let column = kind("SYSSTAT", "VALUE", &DataType::Number { precision: None, scale: None }).unwrap();
        let half = types::Number::from_f64(0.5).unwrap();
        assert!(
            field(Value::Number(half), &column).unwrap_err().to_string().contains("value: .5 is not of kind int64")
        );
        assert_eq!(field(Value::Number(((1i64 << 40) + 1).into()), &column).unwrap(), Field::Int((1 << 40) + 1));
        let load = kind("OSSTAT", "VALUE", &DataType::Number { precision: None, scale: None }).unwrap();
        assert_eq!(field(Value::Number(half), &load).unwrap(), Field::Real(0.5));
    }
}
