//! Export of figures for other engines: the tables of `docs/format/export.md` whose names begin with `lab_`.
//!
//! A run is identified by the experiment and its start time. Figures of the whole run are stored under the instance
//! `lab`, those of a measured cell under its generation. Rows of the tables are joined by run, instance and `cell`, the
//! number of the row in `results.json`.

use crate::counts::Count;
use crate::files::results_at;
use crate::results::{Host, Results, Row};
use crate::{LabError, slob, time_machine, torture};
use awr::export::{Column, Field, Form, Kind, Lake, Part, moment_us};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use types::Date;

/// The format of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportForm {
    Csv,
    Json,
    Parquet,
}

impl From<ExportForm> for Form {
    fn from(form: ExportForm) -> Form {
        match form {
            ExportForm::Csv => Form::Csv,
            ExportForm::Json => Form::Json,
            ExportForm::Parquet => Form::Parquet,
        }
    }
}

impl From<io::Error> for LabError {
    fn from(e: io::Error) -> LabError {
        LabError::new(e.to_string())
    }
}

/// `lab export`: the files of a run that was exported before are rewritten.
pub(crate) fn command(places: &[PathBuf], to: &Path, form: ExportForm) -> Result<(), LabError> {
    let mut lake = Lake::open(to, form.into())?;
    for place in places {
        let (file, kind) = results_at(place)?;
        let wrong = |e: serde_json::Error| LabError::new(format!("{}: {e}", file.display()));
        if crate::targets::is_in(&kind) {
            return Err(LabError::new(format!(
                "{}: the rows of a run on several engines are in results.csv beside it; lab export is for runs of Latchwork",
                file.display()
            )));
        }
        if kind["experiment"] == torture::NAME {
            tortured(&serde_json::from_value(kind).map_err(wrong)?, &mut lake)?;
        } else if kind["experiment"] == time_machine::NAME {
            let journey: time_machine::Journey = serde_json::from_value(kind).map_err(wrong)?;
            journey.runs.iter().try_for_each(|results| export(results, &mut lake))?;
        } else if kind["experiment"] == slob::HUGE_PAGES {
            let run: slob::HugePagesRun = serde_json::from_value(kind).map_err(wrong)?;
            export(&run.results(), &mut lake)?;
        } else {
            export(&serde_json::from_value(kind).map_err(wrong)?, &mut lake)?;
        }
    }
    let (files, rows) = lake.written();
    println!("{files} files of {rows} rows written to {}", to.display());
    Ok(())
}

fn columns(of: &[(&str, Kind)]) -> Vec<Column> {
    of.iter().map(|(name, kind)| Column::new(*name, *kind)).collect()
}

fn text(t: impl Into<String>) -> Field {
    Field::Text(t.into())
}

fn int(n: impl Into<i64>) -> Field {
    Field::Int(n.into())
}

/// The destination of a run's files.
struct Run<'a> {
    lake: &'a mut Lake,
    name: String,
    day: String,
}

impl Run<'_> {
    fn put(&mut self, table: &str, instance: &str, columns: &[Column], rows: Vec<Vec<Field>>) -> Result<(), LabError> {
        let part = Part::of_day(&self.name, instance, &self.day);
        let mut rows = Some(rows);
        self.lake.put::<LabError>(table, &part, "cells", columns, &mut |take| {
            Ok(rows.take().unwrap_or_default().into_iter().try_for_each(take)?)
        })?;
        Ok(())
    }
}

/// The description of a run.
struct About<'a> {
    experiment: &'a str,
    title: &'a str,
    source: &'a str,
    version: &'a str,
    host: &'a Host,
    parameters: &'a BTreeMap<String, String>,
    cells: usize,
    stopped_of: Option<usize>,
}

/// Begins a run's files: writes its description and its parameters. `started` is in seconds since 1970.
fn begin<'a>(about: &About<'_>, started: u64, lake: &'a mut Lake) -> Result<Run<'a>, LabError> {
    let seconds = i64::try_from(started).unwrap_or(0);
    let started = Date::from_unix(seconds).map_err(|e| LabError::new(e.to_string()))?;
    let f = started.fields();
    let day = format!("{:04}-{:02}-{:02}", f.year, f.month, f.day);
    let stamp = format!("{}T{:02}{:02}{:02}Z", day.replace('-', ""), f.hour, f.minute, f.second);
    let mut run = Run { lake, name: format!("{}-{stamp}", about.experiment), day };
    of_run(about, moment_us(&started, 0), &mut run)?;
    Ok(run)
}

fn export(results: &Results, lake: &mut Lake) -> Result<(), LabError> {
    let about = About {
        experiment: &results.experiment,
        title: &results.title,
        source: &results.source,
        version: &results.version,
        host: &results.host,
        parameters: &results.parameters,
        cells: results.rows.len(),
        stopped_of: results.stopped_of,
    };
    let mut run = begin(&about, results.started, lake)?;
    counts(results, &mut run)?;
    let mut generations: BTreeMap<&str, Vec<(i64, &Row)>> = BTreeMap::new();
    for (at, row) in results.rows.iter().enumerate() {
        generations.entry(&row.generation).or_default().push((at as i64, row));
    }
    for (generation, rows) in &generations {
        cells(results, generation, rows, &mut run)?;
        latches(generation, rows, &mut run)?;
        latencies(generation, rows, &mut run)?;
        figures(results, generation, rows, &mut run)?;
    }
    Ok(())
}

fn of_run(about: &About<'_>, started_us: i64, run: &mut Run<'_>) -> Result<(), LabError> {
    let of_run = columns(&[
        ("experiment", Kind::Text),
        ("title", Kind::Text),
        ("source", Kind::Text),
        ("started_utc", Kind::Moment),
        ("version", Kind::Text),
        ("cpu", Kind::Text),
        ("cores", Kind::Int),
        ("memory_bytes", Kind::Int),
        ("kernel", Kind::Text),
        ("cells", Kind::Int),
        ("stopped_of", Kind::Int),
    ]);
    let planned = about.stopped_of.map_or(Ok(Field::Null), |n| Field::count(n as u64));
    let row = vec![
        text(about.experiment),
        text(about.title),
        text(about.source),
        Field::Int(started_us),
        text(about.version),
        text(&about.host.cpu),
        Field::count(about.host.cores as u64)?,
        Field::count(about.host.memory_bytes)?,
        text(&about.host.kernel),
        Field::count(about.cells as u64)?,
        planned?,
    ];
    run.put("lab_run", "lab", &of_run, vec![row])?;
    let pairs = about.parameters.iter().map(|(name, value)| vec![text(name), text(value)]).collect();
    run.put("lab_parameter", "lab", &columns(&[("name", Kind::Text), ("value", Kind::Text)]), pairs)
}

fn counts(results: &Results, run: &mut Run<'_>) -> Result<(), LabError> {
    let of_count = columns(&[
        ("workload", Kind::Text),
        ("generation", Kind::Text),
        ("title", Kind::Text),
        ("expected", Kind::Real),
        ("seen", Kind::Real),
        ("least", Kind::Real),
        ("greatest", Kind::Real),
        ("readings", Kind::Int),
        ("readings_as_expected", Kind::Int),
    ]);
    let count = |c: &Count| -> io::Result<Vec<Field>> {
        let (expected, spread) = (c.expected.map_or(Field::Null, Field::Real), c.spread());
        let agreeing = c.expected.map_or(Ok(Field::Null), |_| Field::count(c.agreeing() as u64))?;
        let mut fields = vec![text(&c.workload), text(&c.generation), text(&c.title), expected, Field::Real(c.seen)];
        fields.extend([Field::Real(spread.least), Field::Real(spread.greatest)]);
        fields.extend([Field::count(c.readings.len() as u64)?, agreeing]);
        Ok(fields)
    };
    let counts: io::Result<Vec<_>> = results.counts.iter().map(count).collect();
    run.put("lab_law", "lab", &of_count, counts?)
}

fn cells(results: &Results, generation: &str, rows: &[(i64, &Row)], run: &mut Run<'_>) -> Result<(), LabError> {
    let of_cell = columns(&[
        ("cell", Kind::Int),
        ("variant", Kind::Text),
        ("workload", Kind::Text),
        ("generation", Kind::Text),
        ("sessions", Kind::Int),
        ("repeat", Kind::Int),
        ("operations", Kind::Int),
        ("elapsed_s", Kind::Real),
        ("ops_per_s", Kind::Real),
        ("pct_linear", Kind::Real),
        ("passed", Kind::Int),
        ("calls", Kind::Int),
        ("window_s", Kind::Real),
        ("window_counted_operations", Kind::Int),
        ("window_cut_operations", Kind::Real),
        ("repeats", Kind::Int),
        ("average_ops_per_s", Kind::Real),
        ("interval_95_ops_per_s", Kind::Real),
    ]);
    let cell = |(at, row): &(i64, &Row)| -> io::Result<Vec<Field>> {
        let rate = results.rate(&row.variant, row.sessions);
        let real = |figure: Option<f64>| figure.map_or(Field::Null, Field::Real);
        let counted = row.window.map_or(Ok(Field::Null), |w| Field::count(w.counted))?;
        Ok(vec![
            Field::Int(*at),
            text(&row.variant),
            text(&row.workload),
            text(&row.generation),
            int(row.sessions),
            int(row.repeat),
            Field::count(row.operations)?,
            Field::Real(row.elapsed_s),
            Field::Real(row.ops_per_s),
            real(row.pct_linear),
            row.passed.map_or(Field::Null, int),
            Field::count(row.calls)?,
            real(row.window.map(|w| w.seconds)),
            counted,
            real(row.window.map(|w| w.cut)),
            Field::count(rate.map_or(0, |s| s.count) as u64)?,
            real(rate.map(|s| s.average)),
            real(rate.and_then(|s| s.interval)),
        ])
    };
    let cells: io::Result<Vec<_>> = rows.iter().map(cell).collect();
    run.put("lab_cell", generation, &of_cell, cells?)
}

fn latches(generation: &str, rows: &[(i64, &Row)], run: &mut Run<'_>) -> Result<(), LabError> {
    let of_latch = columns(&[
        ("cell", Kind::Int),
        ("latch", Kind::Text),
        ("gets", Kind::Int),
        ("misses", Kind::Int),
        ("sleeps", Kind::Int),
        ("spin_gets", Kind::Int),
        ("wait_time_us", Kind::Int),
    ]);
    let mut all = Vec::new();
    for (at, row) in rows {
        for (name, f) in &row.latches {
            let mut fields = vec![Field::Int(*at), text(name)];
            for n in [f.gets, f.misses, f.sleeps, f.spin_gets, f.wait_time_us] {
                fields.push(Field::count(n)?);
            }
            all.push(fields);
        }
    }
    run.put("lab_latch", generation, &of_latch, all)
}

/// Latencies of cells whose operations arrive at a given rate; a run without them has no file.
fn latencies(generation: &str, rows: &[(i64, &Row)], run: &mut Run<'_>) -> Result<(), LabError> {
    let of_latency = columns(&[
        ("cell", Kind::Int),
        ("arrivals", Kind::Int),
        ("queued", Kind::Int),
        ("dropped", Kind::Int),
        ("generator_share", Kind::Real),
        ("average_latency_us", Kind::Real),
        ("p50_latency_us", Kind::Real),
        ("p90_latency_us", Kind::Real),
        ("p99_latency_us", Kind::Real),
        ("p999_latency_us", Kind::Real),
        ("max_latency_us", Kind::Real),
        ("histogram", Kind::Text),
    ]);
    let mut all = Vec::new();
    for (at, row) in rows {
        let Some(l) = &row.latency else { continue };
        let mut fields = vec![Field::Int(*at)];
        for n in [l.arrivals, l.queued, l.dropped] {
            fields.push(Field::count(n)?);
        }
        let p = &l.percentiles;
        let figures = [l.generator_share, p.average_us, p.p50_us, p.p90_us, p.p99_us, p.p999_us, p.max_us];
        fields.extend(figures.map(Field::Real));
        fields.push(text(&l.histogram));
        all.push(fields);
    }
    match all.is_empty() {
        true => Ok(()),
        false => run.put("lab_latency", generation, &of_latency, all),
    }
}

/// Figures of sections, one a row, since their names differ between experiments.
fn figures(results: &Results, generation: &str, rows: &[(i64, &Row)], run: &mut Run<'_>) -> Result<(), LabError> {
    let of_figure = columns(&[
        ("cell", Kind::Int),
        ("section", Kind::Text),
        ("name", Kind::Text),
        ("figure", Kind::Text),
        ("value", Kind::Real),
    ]);
    let mut all = Vec::new();
    for (at, row) in rows {
        for (section, figures) in &row.sections {
            let head = results.sections.iter().find(|head| head.title == *section);
            for (name, values) in figures {
                for (nth, value) in values.iter().enumerate() {
                    let figure = head.and_then(|head| head.figures.get(nth)).cloned();
                    let figure = figure.unwrap_or_else(|| format!("figure {}", nth + 1));
                    all.push(vec![Field::Int(*at), text(section), text(name), text(figure), Field::Real(*value)]);
                }
            }
        }
    }
    run.put("lab_figure", generation, &of_figure, all)
}

/// A run of torture: instead of cells it has a row for each kind of death, the starts that followed, and the named
/// points.
fn tortured(result: &torture::Torture, lake: &mut Lake) -> Result<(), LabError> {
    let about = About {
        experiment: &result.experiment,
        title: &result.title,
        source: "",
        version: &result.version,
        host: &result.host,
        parameters: &result.parameters,
        cells: 0,
        stopped_of: None,
    };
    let mut run = begin(&about, result.started, lake)?;
    let of_whole = columns(&[
        ("seconds", Kind::Real),
        ("statements", Kind::Int),
        ("deadlocks", Kind::Int),
        ("restores", Kind::Int),
        ("lives_gone_back", Kind::Int),
        ("files_put_back", Kind::Int),
        ("failure", Kind::Text),
    ]);
    let mut row = vec![Field::Real(result.seconds)];
    for n in [result.statements, result.deadlocks, result.restores, result.lives_gone_back, result.files_put_back] {
        row.push(Field::count(n)?);
    }
    row.push(result.failure.as_ref().map_or(Field::Null, text));
    run.put("lab_torture", "lab", &of_whole, vec![row])?;
    deaths(result, &mut run)
}

fn deaths(result: &torture::Torture, run: &mut Run<'_>) -> Result<(), LabError> {
    let of_kind = columns(&[
        ("kind", Kind::Text),
        ("instance_kills", Kind::Int),
        ("session_kills", Kind::Int),
        ("commits", Kind::Int),
        ("in_flight_kept", Kind::Int),
        ("in_flight_lost", Kind::Int),
    ]);
    let (mut kinds, mut starts, mut points) = (Vec::new(), Vec::new(), Vec::new());
    for row in &result.rows {
        let mut fields = vec![text(&row.kind)];
        for n in [row.instance_kills, row.session_kills, row.commits, row.in_flight_kept, row.in_flight_lost] {
            fields.push(Field::count(n)?);
        }
        kinds.push(fields);
        let start = |(nth, ms): (usize, &f64)| vec![text(&row.kind), Field::Int(nth as i64 + 1), Field::Real(*ms)];
        starts.extend(row.start_ms.iter().enumerate().map(start));
    }
    for (point, n) in &result.points {
        points.push(vec![text(point), Field::count(*n)?]);
    }
    run.put("lab_torture_death", "lab", &of_kind, kinds)?;
    let of_start = columns(&[("kind", Kind::Text), ("nth", Kind::Int), ("start_ms", Kind::Real)]);
    run.put("lab_torture_start", "lab", &of_start, starts)?;
    run.put("lab_torture_point", "lab", &columns(&[("point", Kind::Text), ("deaths", Kind::Int)]), points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Count;
    use crate::torture::Torture;

    /// One file of a table that a test exported, as lines of JSON.
    fn lines_of(lake: &Path, table: &str, instance: &str) -> Vec<serde_json::Value> {
        let place =
            lake.join(table).join(format!("run=e-19700101T000000Z/instance={instance}/day=1970-01-01/cells.ndjson"));
        let text = std::fs::read_to_string(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()));
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    #[test]
    fn windows_intervals_and_readings_are_exported() {
        let folder = std::env::temp_dir().join(format!("latchwork-window-export-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut results = crate::results::tests::results();
        results.rows[2].window = None;
        results.counts = vec![Count {
            workload: "b".into(),
            generation: "11.1".into(),
            title: "gets".into(),
            expected: Some(2.0),
            seen: 2.0,
            readings: vec![2.0, 3.0, 2.0],
        }];
        std::fs::write(folder.join("results.json"), serde_json::to_string(&results).expect("JSON")).expect("a file");
        let lake = folder.join("lake");
        command(std::slice::from_ref(&folder), &lake, ExportForm::Json).expect("it is exported");
        let cells = lines_of(&lake, "lab_cell", "latchwork");
        assert_eq!((&cells[0]["window_s"], &cells[0]["window_counted_operations"]), (&9.0.into(), &890.into()));
        assert_eq!((&cells[0]["repeats"], &cells[0]["average_ops_per_s"]), (&2.into(), &110.0.into()));
        assert!((cells[0]["interval_95_ops_per_s"].as_f64().unwrap() - 127.06).abs() < 1e-6);
        let null = serde_json::Value::Null;
        assert_eq!((&cells[2]["window_s"], &cells[2]["interval_95_ops_per_s"]), (&null, &null));
        let law = &lines_of(&lake, "lab_law", "lab")[0];
        assert_eq!((&law["least"], &law["greatest"]), (&2.0.into(), &3.0.into()));
        assert_eq!((&law["readings"], &law["readings_as_expected"]), (&3.into(), &2.into()));
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }

    #[test]
    fn latencies_are_exported_with_their_histograms() {
        let folder = std::env::temp_dir().join(format!("latchwork-latency-export-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let results = crate::results::tests::with_latencies();
        std::fs::write(folder.join("results.json"), serde_json::to_string(&results).expect("JSON")).expect("a file");
        let lake = folder.join("lake");
        command(std::slice::from_ref(&folder), &lake, ExportForm::Json).expect("it is exported");
        let rows = lines_of(&lake, "lab_latency", "latchwork");
        assert_eq!((rows.len(), &rows[1]["cell"], &rows[1]["arrivals"]), (2, &1.into(), &201.into()));
        assert_eq!(rows[1]["histogram"], results.rows[1].latency.as_ref().unwrap().histogram);
        assert!(rows[0]["p50_latency_us"].as_f64().is_some_and(|us| us > 40.0), "{rows:?}");
        assert!(!lake.join("lab_latency/run=e-19700101T000000Z/instance=11.1").exists());
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }

    #[test]
    fn torture_is_exported_by_run_and_day() {
        let folder = std::env::temp_dir().join(format!("latchwork-torture-export-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut result = Torture { experiment: torture::NAME.into(), started: 1_795_341_600, ..Torture::default() };
        result.statements = (1 << 40) + 1;
        result.parameters.insert("seed".into(), "11".into());
        result.points.insert("log-write".into(), 3);
        let row = result.row("kill -9");
        (row.instance_kills, row.commits, row.start_ms) = (2, 900, vec![12.5, 20.0]);
        std::fs::write(folder.join("results.json"), serde_json::to_string(&result).expect("JSON")).expect("a file");
        let lake = folder.join("lake");
        command(std::slice::from_ref(&folder), &lake, ExportForm::Json).expect("it is exported");
        let lines = |table: &str| -> Vec<serde_json::Value> {
            let place = lake.join(table).join("run=torture-20261122T100000Z/instance=lab/day=2026-11-22/cells.ndjson");
            let text = std::fs::read_to_string(&place).unwrap_or_else(|e| panic!("{}: {e}", place.display()));
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
        };
        assert_eq!(lines("lab_torture")[0]["statements"], (1u64 << 40) + 1);
        assert_eq!(lines("lab_torture_death")[0]["commits"], 900);
        assert_eq!(lines("lab_torture_start")[1]["start_ms"], 20.0);
        assert_eq!(lines("lab_torture_point")[0]["point"], "log-write");
        assert_eq!(lines("lab_run")[0]["experiment"], torture::NAME);
        assert_eq!(lines("lab_parameter")[0]["value"], "11");
        // Exports the run again, over its existing files.
        command(std::slice::from_ref(&folder), &lake, ExportForm::Json).expect("it is exported again");
        std::fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
