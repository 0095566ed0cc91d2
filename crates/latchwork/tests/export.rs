//! Exported figures equal those of the views: they are read back by DuckDB if it is installed, and always by a JSON
//! reader.

mod support;

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{rows, run};
use types::{DataType, Value};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("latchwork-export-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a name in UTF-8")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start() -> Ephemeral {
    let executable = Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")));
    // A sample each ten milliseconds, to have enough of them.
    let params = [("latch_generation", "12.1"), ("_ash_sampling_interval", "10")];
    let params = params.map(|(n, v)| (n.to_string(), v.to_string()));
    let options = EphemeralOptions { params: params.to_vec(), executable };
    Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"))
}

fn text(v: &Value) -> String {
    match v {
        Value::Null => String::new(),
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        other => panic!("{other:?}"),
    }
}

fn program(arguments: &[&str]) -> (bool, String) {
    let made = Command::new(env!("CARGO_BIN_EXE_latchwork")).args(arguments).output().expect("the program runs");
    (made.status.success(), String::from_utf8_lossy(&made.stdout).into_owned() + &String::from_utf8_lossy(&made.stderr))
}

/// Runs queries with one text column and returns their rows.
fn duckdb(queries: &[String]) -> Option<Vec<String>> {
    const SCRIPT: &str = "import sys, duckdb\nfor q in sys.stdin.read().split(';\\n'):\n    if q.strip():\n        for r in duckdb.sql(q).fetchall(): print(r[0])";
    let python = std::env::var_os("LATCHWORK_DUCKDB_PYTHON").filter(|p| !p.is_empty());
    let mut command = match python {
        Some(python) => {
            let mut command = Command::new(python);
            command.args(["-c", SCRIPT]);
            command
        }
        None => {
            let mut command = Command::new("duckdb");
            command.args(["-noheader", "-list"]);
            command
        }
    };
    let mut child = match command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
        Ok(child) => child,
        Err(e) => {
            support::absent::left_out("reading by DuckDB", &format!("it is not there: {e}"));
            return None;
        }
    };
    let input = queries.join(";\n") + ";\n";
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect())
}

/// The files with this extension below a folder.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found
}

/// A view, and checksums that any reader can compute: the number of rows, and the sum of each column of whole numbers.
struct View {
    table: String,
    columns: Vec<String>,
    sums: Vec<String>,
}

/// Columns with fractions.
const REAL: [(&str, &[&str]); 7] = [
    ("DBA_HIST_PGASTAT", &["VALUE"]),
    ("DBA_HIST_PGA_TARGET_ADVICE", &["PGA_TARGET_FACTOR", "ESTD_PGA_CACHE_HIT_PERCENTAGE"]),
    (
        "DBA_HIST_SHARED_POOL_ADVICE",
        &[
            "SHARED_POOL_SIZE_FOR_ESTIMATE",
            "SHARED_POOL_SIZE_FACTOR",
            "ESTD_LC_SIZE",
            "ESTD_LC_TIME_SAVED",
            "ESTD_LC_TIME_SAVED_FACTOR",
            "ESTD_LC_LOAD_TIME",
            "ESTD_LC_LOAD_TIME_FACTOR",
        ],
    ),
    ("DBA_HIST_SGA_TARGET_ADVICE", &["SGA_SIZE_FACTOR"]),
    ("DBA_HIST_OSSTAT", &["VALUE"]),
    ("DBA_HIST_DB_CACHE_ADVICE", &["SIZE_FOR_ESTIMATE", "SIZE_FACTOR"]),
    ("DBA_HIST_SYSMETRIC_SUMMARY", &["MINVAL", "MAXVAL", "AVERAGE", "STANDARD_DEVIATION", "SUM_SQUARES"]),
];

fn views(c: &mut Client) -> Vec<View> {
    let names = rows(
        c,
        "select object_name from dba_objects where object_type = 'VIEW' and object_name like 'DBA\\_HIST\\_%' escape '\\'",
    );
    let mut all = Vec::new();
    for name in names.iter().map(|row| text(&row[0])).filter(|name| name != "DBA_HIST_EVENT_HISTOGRAM") {
        let described = c.describe(&format!("select * from {name}")).unwrap();
        let is_whole = |c: &&client::Column| {
            let is_real = REAL.iter().any(|(view, columns)| name == *view && columns.contains(&c.name.as_str()));
            matches!(c.data_type, DataType::Number { .. }) && !is_real
        };
        let columns: Vec<String> = described.iter().filter(is_whole).map(|c| c.name.clone()).collect();
        let sums: Vec<String> = columns.iter().map(|c| format!("sum(\"{c}\")")).collect();
        let sums = rows(c, &format!("select count(*), {} from {name}", sums.join(", ")));
        let sums = sums[0].iter().map(text).collect();
        all.push(View {
            table: name.to_lowercase(),
            columns: columns.iter().map(|c| c.to_lowercase()).collect(),
            sums,
        });
    }
    all
}

#[test]
fn every_engine_reads_what_the_views_say() {
    let instance = start();
    let dir = instance.dir().to_str().unwrap().to_string();
    let mut c = instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"));
    run(&mut c, "create table t (n number primary key, v varchar2(100))");
    for level in ["TYPICAL", "ALL", "ALL"] {
        run(
            &mut c,
            "begin for i in 1 .. 300 loop insert into t values (seq(i), rpad('x', 100)); end loop; end;"
                .replace("seq(i)", "(select nvl(max(n), 0) + 1 from t)")
                .as_str(),
        );
        // Samples of a working session, to be saved with the snapshot.
        let kept = "declare k number; t number := dbms_utility.get_time; begin loop \
            select count(*) into k from v$active_session_history where is_awr_sample = 'Y'; \
            exit when k > 0 or dbms_utility.get_time - t > 6000; end loop; end;";
        run(&mut c, kept);
        run(&mut c, &format!("begin dbms_workload_repository.create_snapshot('{level}'); end;"));
    }
    let lake = Folder::new("lake");
    let export = |more: &[&str]| {
        let (ok, said) = program(&[&["awr", "export", "--to", lake.path(), "--dir", &dir], more].concat());
        assert!(ok, "{said}");
        said
    };
    // In two steps and once more: nothing is repeated or missing.
    for format in ["csv", "json", "parquet"] {
        export(&["--format", format, "--to-snap", "2"]);
        export(&["--format", format]);
        let table = lake.0.join("dba_hist_sysstat");
        let before = files(&table, "csv").len();
        export(&["--format", format, "--from", "1"]);
        assert_eq!(files(&table, "csv").len(), before);
    }
    let views = views(&mut c);
    assert!(views.len() > 20 && views.iter().any(|v| v.table == "dba_hist_latch_children" && v.sums[0] != "0"));
    assert!(views.iter().any(|v| v.table == "dba_hist_active_sess_history" && v.sums[0] != "0"));
    read_json(&views, &lake);
    read_duckdb(&mut c, &views, &lake);
}

/// The text of a statement may be in several files, but is counted once.
fn is_repeated(view: &View) -> bool {
    view.table == "dba_hist_sqltext"
}

fn read_json(views: &[View], lake: &Folder) {
    for view in views.iter().filter(|view| !is_repeated(view)) {
        let mut sums = vec![0i128; view.columns.len() + 1];
        for file in files(&lake.0.join(&view.table), "ndjson") {
            for line in std::fs::read_to_string(file).unwrap().lines() {
                let row: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
                sums[0] += 1;
                for (sum, column) in sums[1..].iter_mut().zip(&view.columns) {
                    *sum += i128::from(row[column].as_i64().unwrap_or(0));
                }
            }
        }
        let wanted: Vec<i128> = view.sums.iter().map(|s| s.parse().unwrap_or(0)).collect();
        assert_eq!(sums, wanted, "{} {:?}", view.table, view.columns);
    }
}

fn read_duckdb(c: &mut Client, views: &[View], lake: &Folder) {
    let mut queries = Vec::new();
    let mut wanted = Vec::new();
    for view in views.iter().filter(|view| !is_repeated(view) && view.sums[0] != "0") {
        let sums: Vec<String> = view
            .columns
            .iter()
            .map(|column| format!("coalesce(sum(try_cast(\"{column}\" as hugeint))::hugeint::varchar, '')"))
            .collect();
        for (reader, extension) in [("parquet", "parquet"), ("csv", "csv"), ("json", "ndjson")] {
            let place = format!("{}/{}/**/*.{extension}", lake.path(), view.table);
            queries.push(format!(
                "select concat_ws('|', '{} {reader}', count(*)::varchar, {}) from read_{reader}('{place}', hive_partitioning = true, \
                 union_by_name = true)",
                view.table,
                sums.join(", ")
            ));
            wanted.push(format!("{} {reader}|{}", view.table, view.sums.join("|")));
        }
    }
    // Texts, timestamps, numbers with a fraction, and folders.
    let place = |table: &str| format!("read_parquet('{}/{table}/**/*.parquet', hive_partitioning = true)", lake.path());
    queries.push(format!(
        "select string_agg(strftime(end_interval_time, '%Y-%m-%d %H:%M:%S.%f') || ' ' || day::varchar, ',' order by snap_id) from {}",
        place("dba_hist_snapshot")
    ));
    let sql = "select listagg(to_char(end_interval_time, 'YYYY-MM-DD HH24:MI:SS.FF6') || ' ' || to_char(end_interval_time, 'YYYY-MM-DD'), ',') \
               within group (order by snap_id) l from dba_hist_snapshot";
    wanted.push(text(&rows(c, sql)[0][0]));
    queries.push(format!("select count(distinct sql_id || md5(sql_text))::varchar from {}", place("dba_hist_sqltext")));
    wanted.push(text(&rows(c, "select count(*) from dba_hist_sqltext")[0][0]));
    queries.push(format!("select round(sum(value) * 100)::hugeint::varchar from {}", place("dba_hist_osstat")));
    wanted.push(text(&rows(c, "select round(sum(value) * 100) from dba_hist_osstat")[0][0]));
    // A typical query: executions by statement, with the text.
    queries.push(format!(
        "select sum(executions_delta)::varchar from {} s where sql_id in (select sql_id from {} where upper(sql_text) like 'INSERT INTO T VALUES%')",
        place("dba_hist_sqlstat"),
        place("dba_hist_sqltext")
    ));
    wanted.push("900".into());
    if let Some(found) = duckdb(&queries) {
        assert_eq!(found, wanted);
    }
}

#[test]
fn runs_of_the_laboratory_are_tables_too() {
    let (results, lake) = (Folder::new("results"), Folder::new("lab"));
    let run = ["run", "result-cache", "--sessions", "1,2", "--iterations", "300", "--repeat", "2", "--quiet"];
    let (ok, said) =
        program(&[&["lab"], &run[..], &["--generation", "11.1,latchwork", "--out", results.path()]].concat());
    assert!(ok, "{said}");
    for format in ["json", "parquet"] {
        let (ok, said) = program(&["lab", "export", results.path(), "--to", lake.path(), "--format", format]);
        assert!(ok, "{said}");
    }
    let figures: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(results.0.join("results.json")).unwrap()).unwrap();
    let of = |row: &serde_json::Value, figure: &str| {
        row["latches"].as_object().unwrap().values().map(|l| l[figure].as_i64().unwrap()).sum::<i64>()
    };
    let cells = figures["rows"].as_array().unwrap();
    let operations: i64 = cells.iter().map(|row| row["operations"].as_i64().unwrap()).sum();
    let gets: i64 = cells.iter().map(|row| of(row, "gets")).sum();
    let lines = |table: &str| -> Vec<serde_json::Value> {
        let files = files(&lake.0.join(table), "ndjson");
        let texts = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
        texts.flat_map(|t| t.lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<_>>()).collect()
    };
    let sum = |table: &str, column: &str| lines(table).iter().map(|row| row[column].as_i64().unwrap()).sum::<i64>();
    assert_eq!(lines("lab_cell").len(), cells.len());
    assert_eq!((sum("lab_cell", "operations"), sum("lab_latch", "gets")), (operations, gets));
    assert_eq!(lines("lab_run")[0]["experiment"], "result-cache");
    let place = |table: &str| format!("read_parquet('{}/{table}/**/*.parquet', hive_partitioning = true)", lake.path());
    let joined = format!(
        "select concat_ws('|', sum(l.gets)::varchar, count(distinct c.instance)::varchar) from {} c join {} l using (run, instance, cell)",
        place("lab_cell"),
        place("lab_latch")
    );
    if let Some(found) = duckdb(&[joined]) {
        assert_eq!(found, [format!("{gets}|2")]);
    }
    let (ok, said) = program(&["lab", "export", lake.path(), "--to", lake.path()]);
    assert!(!ok && said.contains("results.json"), "{said}");
}
