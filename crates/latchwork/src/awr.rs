//! `latchwork awr`.

use crate::instance::Place;
use ::awr::export::{ExportError, Lake, Rows, Wanted};
use ::awr::{Format, Source};
use clap::{Args, Subcommand};
use client::{Bind, Client, ClientError, Credentials, Direction};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::{DataType, Ora, Value};

/// Exit code: no instance runs.
const EXIT_STATE: u8 = 3;

const EXAMPLES: &str = "\
Examples:
  latchwork awr snapshot                          take one now, before the load
  latchwork awr snapshot                          and one after it
  latchwork awr list                              which there are
  latchwork awr report 1 2                        what happened between them, as text
  latchwork awr report 1 2 --html --out load.html the same as a page with plots
  latchwork awr diff 1 2 7 8                      what differs between two periods
  latchwork awr ash --minutes 5                   what sessions did in the last five minutes, as sampled
  latchwork awr export --to lake                  every snapshot as Parquet; again later: what came since";

#[derive(Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Print a report of the workload between two snapshots
    Report(Report),
    /// Compare two periods, each from one snapshot to another
    Diff(Diff),
    /// Print the sampled activity of sessions in the last minutes
    Ash(Ash),
    /// Take a snapshot now and print its number
    Snapshot(Snapshot),
    /// List the snapshots
    List(List),
    /// Write snapshots as Parquet, CSV or JSON for other engines; snapshots of an earlier export are skipped
    Export(Export),
}

#[derive(Args)]
pub struct Export {
    /// The folder to write to; it is created if necessary
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[arg(long, value_enum, default_value_t = lab::ExportForm::Parquet)]
    format: lab::ExportForm,
    /// The first snapshot [default: the oldest]
    #[arg(long, value_name = "SNAPSHOT")]
    from: Option<i64>,
    /// The last snapshot [default: the newest]
    #[arg(long, value_name = "SNAPSHOT")]
    to_snap: Option<i64>,
    /// The run's name in the folders [default: the time when the instance was started]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    #[command(flatten)]
    place: Place,
}

/// The format and destination of a report.
#[derive(Args)]
struct Written {
    /// A self-contained page with plots instead of text
    #[arg(long)]
    html: bool,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
pub struct Report {
    /// The snapshot that begins the period
    begin: i64,
    /// The snapshot that ends it
    end: i64,
    #[command(flatten)]
    written: Written,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub struct Diff {
    /// The snapshot that begins the first period
    first_begin: i64,
    /// The snapshot that ends it
    first_end: i64,
    /// The snapshot that begins the second period
    second_begin: i64,
    /// The snapshot that ends it
    second_end: i64,
    #[command(flatten)]
    written: Written,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub struct Ash {
    /// Minutes to look back
    #[arg(long, default_value_t = 15.0, value_name = "N", value_parser = minutes)]
    minutes: f64,
    /// Only this session
    #[arg(long, value_name = "SID")]
    sid: Option<i64>,
    /// Only this statement; a pattern of LIKE
    #[arg(long, value_name = "SQL_ID")]
    sql_id: Option<String>,
    #[command(flatten)]
    written: Written,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub struct Snapshot {
    /// TYPICAL, or ALL, which includes single latches
    #[arg(long, default_value = "TYPICAL")]
    level: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Args)]
pub struct List {
    /// Print comma-separated values
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    place: Place,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.0..=1e7).contains(&minutes) => Ok(minutes),
        _ => Err("give the minutes as a number, 0 or more".into()),
    }
}

/// Runs `latchwork awr`.
pub fn run(command: &Command) -> ExitCode {
    let done = match command {
        Command::Report(a) => {
            let make = |query: &mut dyn Source, format| ::awr::report(query, a.begin, a.end, format);
            report(&a.place, &a.written, &make)
        }
        Command::Diff(a) => {
            let (first, second) = ((a.first_begin, a.first_end), (a.second_begin, a.second_end));
            let make = |query: &mut dyn Source, format| ::awr::compare(query, first, second, format);
            report(&a.place, &a.written, &make)
        }
        Command::Ash(a) => {
            let filter = ::awr::Filter { sid: a.sid, sql_id: a.sql_id.clone(), ..::awr::Filter::default() };
            let make = |query: &mut dyn Source, format| {
                let sql = "select sysdate - :1 / 1440, sysdate from dual";
                let minutes = types::Number::from_f64(a.minutes).map_or(Value::Null, Value::Number);
                match query.query(sql, &[minutes])?.first().map(Vec::as_slice) {
                    Some([begin, end]) => ::awr::ash_report(query, begin, end, &filter, format),
                    _ => Err(Ora::internal("[no date]")),
                }
            };
            report(&a.place, &a.written, &make)
        }
        Command::Snapshot(a) => snapshot(a),
        Command::List(a) => list(a),
        Command::Export(a) => export(a),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::NotRunning(dir)) => {
            eprintln!("No Latchwork instance runs in {}.", dir.display());
            ExitCode::from(EXIT_STATE)
        }
        Err(Failure::Other(text)) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    NotRunning(PathBuf),
    Other(String),
}

fn connect(dir: &Path) -> Result<Client, Failure> {
    Client::connect(dir, &Credentials::Sysdba).map_err(|e| match e {
        ClientError::NotRunning(_) => Failure::NotRunning(dir.to_path_buf()),
        e => Failure::Other(e.to_string()),
    })
}

fn numbered(binds: &[Value]) -> Vec<Bind> {
    let bind = |(at, value): (usize, &Value)| Bind {
        name: Some((at + 1).to_string()),
        direction: Direction::In,
        data_type: value.data_type(),
        value: value.clone(),
    };
    binds.iter().enumerate().map(bind).collect()
}

fn rows(c: &mut Client, sql: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>, ClientError> {
    c.query(sql, &numbered(binds))?.all()
}

fn other(e: impl std::fmt::Display) -> Failure {
    Failure::Other(e.to_string())
}

/// Makes a report by the queries that its argument runs.
type Make<'a> = &'a dyn Fn(&mut dyn Source, Format) -> types::Result<String>;

fn report(place: &Place, written: &Written, make: Make<'_>) -> Result<(), Failure> {
    let mut c = connect(&place.dir())?;
    let format = if written.html { Format::Html } else { Format::Text };
    // A message of the instance or the connection is printed unchanged.
    let mut failed = None;
    let mut query =
        |sql: &str, binds: &[Value]| rows(&mut c, sql, binds).map_err(|e| Ora::internal(failed.insert(e.to_string())));
    let made = make(&mut query, format);
    let text = made.map_err(|e| Failure::Other(failed.unwrap_or_else(|| e.to_string())))?;
    match &written.out {
        Some(file) => {
            std::fs::write(file, text).map_err(|e| Failure::Other(format!("{}: {e}", file.display())))?;
            eprintln!("Report written to {}", file.display());
        }
        None => print!("{text}"),
    }
    Ok(())
}

fn snapshot(args: &Snapshot) -> Result<(), Failure> {
    let mut c = connect(&args.place.dir())?;
    let sql = "select dbms_workload_repository.create_snapshot(:1) from dual";
    let taken = rows(&mut c, sql, &[Value::text(args.level.as_str())]).map_err(other)?;
    match taken.first().and_then(|row| row.first()) {
        Some(Value::Number(n)) => println!("{n}"),
        _ => return Err(other("The instance returned no snapshot number.")),
    }
    Ok(())
}

fn list(args: &List) -> Result<(), Failure> {
    let mut c = connect(&args.place.dir())?;
    let sql = "select s.snap_id, to_char(s.end_interval_time, 'YYYY-MM-DD HH24:MI:SS'), to_char(s.startup_time, 'YYYY-MM-DD HH24:MI:SS'), \
               decode(s.snap_level, 2, 'ALL', 'TYPICAL'), (select max(b.baseline_name) from dba_hist_baseline b \
               where s.snap_id between b.start_snap_id and b.end_snap_id) from dba_hist_snapshot s order by s.snap_id";
    let all = rows(&mut c, sql, &[]).map_err(other)?;
    if all.is_empty() && !args.csv {
        println!("There is no snapshot yet: `latchwork awr snapshot` takes one.");
        return Ok(());
    }
    let text = |v: &Value| match v {
        Value::Null => String::new(),
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        other => format!("{other:?}"),
    };
    let quoted = |field: String| {
        if field.contains([',', '"', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
    };
    if args.csv {
        println!("snap_id,taken,startup,level,baseline");
    } else {
        println!("{:>8}  {:<19}  {:<19}  {:<7}  BASELINE", "SNAP_ID", "TAKEN", "INSTANCE STARTED", "LEVEL");
    }
    for row in &all {
        let fields: Vec<String> = row.iter().map(text).collect();
        if args.csv {
            println!("{}", fields.into_iter().map(quoted).collect::<Vec<_>>().join(","));
        } else {
            let line =
                format!("{:>8}  {:<19}  {:<19}  {:<7}  {}", fields[0], fields[1], fields[2], fields[3], fields[4]);
            println!("{}", line.trim_end());
        }
    }
    Ok(())
}

/// Runs the queries of an export in one read-only transaction.
struct Exporting(Client);

fn asked(e: ClientError) -> ExportError {
    ExportError::Source(e.to_string())
}

impl Rows for Exporting {
    fn columns(&mut self, sql: &str) -> Result<Vec<(String, DataType)>, ExportError> {
        Ok(self.0.describe(sql).map_err(asked)?.into_iter().map(|c| (c.name, c.data_type)).collect())
    }

    fn each(
        &mut self,
        sql: &str,
        binds: &[Value],
        take: &mut dyn FnMut(Vec<Value>) -> std::io::Result<()>,
    ) -> Result<(), ExportError> {
        let mut rows = self.0.query(sql, &numbered(binds)).map_err(asked)?;
        while let Some(row) = rows.next_row().map_err(asked)? {
            take(row)?;
        }
        Ok(())
    }
}

fn export(args: &Export) -> Result<(), Failure> {
    let mut c = connect(&args.place.dir())?;
    c.execute("set transaction read only", &[]).map_err(other)?;
    let mut lake = Lake::open(&args.to, args.format.into()).map_err(other)?;
    let wanted = Wanted { from: args.from, to: args.to_snap, run: args.run.clone() };
    ::awr::export::repository(&mut Exporting(c), &mut lake, &wanted).map_err(other)?;
    let (files, rows) = lake.written();
    println!("{files} files of {rows} rows written to {}", args.to.display());
    Ok(())
}
