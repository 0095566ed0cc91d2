//! `lab latencies`: interval logs of HdrHistogram, of other runs and machines too, added up.
//!
//! A percentile of several runs is that of the sum of their histograms. The lines of a log are grouped by their tags;
//! the tag of a cell is `VARIANT/SESSIONS/REPEAT`, and the repeats of a cell are one group.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use crate::error::LabError;
use crate::files::write_file;
use crate::latency::{Line, Percentiles, interval_log};
use crate::text::{columns, thousands};

pub const EXAMPLES: &str = "Examples:
  latchwork lab latencies run-1 run-2
  latchwork lab latencies machine-a/latencies.hlog machine-b/latencies.hlog --to both.hlog
  latchwork lab latencies results/* --format csv > latencies.csv";

/// The arguments of `lab latencies`.
#[derive(clap::Args, Debug)]
pub struct LatenciesArguments {
    /// Folders of runs with --rate, or interval logs of HdrHistogram (V2) in nanoseconds
    #[arg(required = true)]
    places: Vec<PathBuf>,
    /// Write the sums as one interval log
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// How the percentiles are printed; the sum of all cells is in the text only
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The form of the printed percentiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Text,
    Csv,
    Json,
}

/// The histograms of a tag, added up.
#[derive(Debug)]
struct Group {
    histogram: Histogram<u64>,
    lines: u64,
    /// Since 1970.
    from: Duration,
    to: Duration,
}

impl Group {
    /// # Errors
    /// A value of the histogram is greater than the greatest value of 64 bits that a histogram can hold.
    fn add(&mut self, histogram: &Histogram<u64>, from: Duration, to: Duration) -> Result<(), LabError> {
        self.histogram.add(histogram).map_err(|e| LabError::new(format!("histograms cannot be added: {e}")))?;
        self.lines += 1;
        self.from = self.from.min(from);
        self.to = self.to.max(to);
        Ok(())
    }
}

impl Default for Group {
    fn default() -> Group {
        // Its range grows with the values of what is added.
        let histogram = Histogram::new(3).expect("three digits are allowed");
        Group { histogram, lines: 0, from: Duration::MAX, to: Duration::ZERO }
    }
}

/// The group of a line by its tag: the repeats of a cell are one.
fn group_of(tag: Option<&str>) -> &str {
    let tag = tag.unwrap_or("untagged");
    match tag.rsplit_once('/') {
        Some((cell, repeat)) if cell.contains('/') && repeat.parse::<u32>().is_ok() => cell,
        _ => tag,
    }
}

/// Adds the lines of a log to the groups.
fn read(log: &str, groups: &mut BTreeMap<String, Group>) -> Result<(), LabError> {
    let mut base = Duration::ZERO;
    // The reader of the library ends each line at its line feed.
    let log = format!("{}\n", log.trim_end());
    let line_at = |offset: usize| log[..offset].lines().count() + 1;
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        match entry {
            Ok(LogEntry::BaseTime(time)) => base = time,
            Ok(LogEntry::StartTime(_)) => {}
            Ok(LogEntry::Interval(interval)) => {
                let tag = interval.tag();
                let tag = tag.as_ref().map(|tag| tag.as_str());
                let wrong = |e: &dyn std::fmt::Display| {
                    LabError::new(format!("the histogram of {} cannot be read: {e}", tag.unwrap_or("a line")))
                };
                let bytes = BASE64.decode(interval.encoded_histogram()).map_err(|e| wrong(&e))?;
                let histogram = Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| wrong(&e))?;
                let from = base.saturating_add(interval.start_timestamp());
                let to = from.saturating_add(interval.duration());
                groups.entry(group_of(tag).to_string()).or_default().add(&histogram, from, to)?;
            }
            Err(hdrhistogram::serialization::interval_log::LogIteratorError::ParseError { offset }) => {
                return Err(LabError::new(format!("line {} is none of an interval log", line_at(offset))));
            }
        }
    }
    Ok(())
}

/// # Errors
/// A place cannot be read, has no latencies or is named twice; `--to` cannot be written.
pub fn command(arguments: &LatenciesArguments) -> Result<(), LabError> {
    let mut groups = BTreeMap::new();
    let file_of = |place: &PathBuf| if place.is_dir() { place.join("latencies.hlog") } else { place.clone() };
    let files: Vec<PathBuf> = arguments.places.iter().map(file_of).collect();
    for (at, (place, file)) in arguments.places.iter().zip(&files).enumerate() {
        let with_name = |e: String| LabError::new(format!("{}: {e}", file.display()));
        if files[..at].iter().any(|other| os::file::is_same(other, file)) {
            return Err(with_name("the log is named twice, and its latencies would count twice".into()));
        }
        let log = std::fs::read_to_string(file).map_err(|e| match place.is_dir() {
            true => with_name(format!("{e}\nOnly a run with --rate has latencies.")),
            false => with_name(e.to_string()),
        })?;
        let before: u64 = groups.values().map(|group: &Group| group.lines).sum();
        read(&log, &mut groups).map_err(|e| with_name(e.to_string()))?;
        if groups.values().map(|group| group.lines).sum::<u64>() == before {
            return Err(with_name("the log has no histogram".into()));
        }
    }
    if let Some(to) = &arguments.to {
        write_log(&groups, to)?;
    }
    print!("{}", told(groups, arguments.format)?);
    Ok(())
}

fn write_log(groups: &BTreeMap<String, Group>, to: &Path) -> Result<(), LabError> {
    let base = Duration::from_secs(groups.values().map(|group| group.from.as_secs()).min().unwrap_or_default());
    let line = |(tag, group): (&String, &Group)| {
        (tag.clone(), group.from.saturating_sub(base), group.to.saturating_sub(group.from), group.histogram.clone())
    };
    let lines: Vec<Line> = groups.iter().map(line).collect();
    write_file(to, &interval_log(base, "sums of latencies in nanoseconds, by tag", &lines)?)
}

/// The percentiles of each group, and in text those of all together where there are several.
fn told(groups: BTreeMap<String, Group>, format: Format) -> Result<String, LabError> {
    let mut lines: Vec<(String, u64, u64, Percentiles)> = Vec::new();
    let mut all = Group::default();
    for (tag, group) in groups {
        all.add(&group.histogram, group.from, group.to)?;
        all.lines += group.lines - 1;
        lines.push((tag, group.lines, group.histogram.len(), Percentiles::of(&group.histogram)));
    }
    if lines.len() > 1 && format == Format::Text {
        lines.push(("all".into(), all.lines, all.histogram.len(), Percentiles::of(&all.histogram)));
    }
    let figures = |p: &Percentiles| [p.average_us, p.p50_us, p.p90_us, p.p99_us, p.p999_us, p.max_us];
    let head = ["cell", "histograms", "operations", "average", "p50", "p90", "p99", "p99.9", "max"];
    Ok(match format {
        Format::Text => {
            let us = |us: f64| if us < 100.0 { format!("{us:.1}") } else { thousands(us) };
            let mut rows = vec![head.map(str::to_string).to_vec()];
            for (tag, histograms, operations, percentiles) in &lines {
                let mut row = vec![tag.clone(), histograms.to_string(), thousands(*operations as f64)];
                row.extend(figures(percentiles).map(us));
                rows.push(row);
            }
            format!("Latencies in microseconds\n\n{}", columns(&rows))
        }
        Format::Csv => {
            let mut out = "cell,histograms,operations,average_us,p50_us,p90_us,p99_us,p999_us,max_us\n".to_string();
            for (tag, histograms, operations, percentiles) in &lines {
                let figures = figures(percentiles).map(|us| format!("{us:.3}")).join(",");
                out.push_str(&format!("\"{}\",{histograms},{operations},{figures}\n", tag.replace('"', "\"\"")));
            }
            out
        }
        Format::Json => {
            let of = |(cell, histograms, operations, percentiles): &(String, u64, u64, Percentiles)| {
                let mut value = serde_json::to_value(percentiles).map_err(|e| LabError::new(e.to_string()))?;
                value["cell"] = cell.as_str().into();
                value["histograms"] = (*histograms).into();
                value["operations"] = (*operations).into();
                Ok(value)
            };
            let values: Result<Vec<serde_json::Value>, LabError> = lines.iter().map(of).collect();
            format!("{}\n", serde_json::Value::from(values?))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::Recorder;
    use testing::Folder;

    fn log(tags: &[(&str, std::ops::RangeInclusive<u64>)], started: u64) -> String {
        let line = |(tag, us): &(&str, std::ops::RangeInclusive<u64>)| {
            let mut recorder = Recorder::default();
            us.clone().for_each(|us| recorder.done(0, 0, us * 1000, true));
            let histogram = recorder.latency().histogram().unwrap();
            (tag.to_string(), Duration::from_secs(1), Duration::from_secs(2), histogram)
        };
        let lines: Vec<Line> = tags.iter().map(line).collect();
        interval_log(Duration::from_secs(started), "a test", &lines).unwrap()
    }

    fn groups(logs: &[String]) -> BTreeMap<String, Group> {
        let mut groups = BTreeMap::new();
        logs.iter().for_each(|log| read(log, &mut groups).unwrap());
        groups
    }

    #[test]
    fn repeats_and_runs_are_added_and_other_cells_are_not() {
        let one = log(&[("v@11.1/2/1", 1..=250), ("v@11.1/2/2", 251..=500), ("v@11.1/4/1", 7..=7)], 1000);
        let other = log(&[("v@11.1/2/1", 501..=1000)], 5000);
        let sums = groups(&[one, other]);
        assert_eq!(sums.keys().collect::<Vec<_>>(), ["v@11.1/2", "v@11.1/4"]);
        let whole = log(&[("v@11.1/2/1", 1..=1000)], 1000);
        let whole = groups(&[whole]);
        let (sum, whole) = (&sums["v@11.1/2"], &whole["v@11.1/2"]);
        assert_eq!(sum.histogram, whole.histogram);
        assert_eq!((sum.lines, sum.from.as_secs(), sum.to.as_secs()), (3, 1001, 5003));
    }

    #[test]
    fn the_sum_reads_back_as_a_log() {
        let sums = groups(&[log(&[("a/1/1", 1..=100), ("b/1/1", 5..=9)], 1000)]);
        let folder = Folder::new("merging");
        let to = folder.join("sum.hlog");
        write_log(&sums, &to).unwrap();
        let back = groups(&[std::fs::read_to_string(&to).unwrap()]);
        assert_eq!(back.keys().collect::<Vec<_>>(), ["a/1", "b/1"]);
        assert_eq!(back["a/1"].histogram, sums["a/1"].histogram);
        assert_eq!((back["a/1"].from, back["a/1"].to), (sums["a/1"].from, sums["a/1"].to));
        let text = told(sums, Format::Text).unwrap();
        let last: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(&last[..3], ["all", "2", "105"], "{text}");
        let json: serde_json::Value = serde_json::from_str(&told(back, Format::Json).unwrap()).unwrap();
        assert_eq!((&json[1]["cell"], &json[1]["operations"]), (&"b/1".into(), &5.into()));
        assert!(json[1]["max_us"].as_f64().is_some_and(|us| (9.0..9.01).contains(&us)), "{json}");
    }

    #[test]
    fn a_log_that_is_named_twice_is_refused() {
        let folder = Folder::new("merging-twice");
        let file = folder.join("latencies.hlog");
        std::fs::write(&file, log(&[("a/1/1", 1..=100)], 1000)).unwrap();
        let of = |places: Vec<PathBuf>| command(&LatenciesArguments { places, to: None, format: Format::Csv });
        assert!(of(vec![file.clone()]).is_ok());
        assert!(of(vec![file, folder.to_path_buf()]).unwrap_err().to_string().contains("named twice"));
    }

    #[test]
    fn a_tag_that_is_no_cell_is_a_group_of_its_own() {
        assert_eq!(group_of(Some("v@11.1/2/3")), "v@11.1/2");
        assert_eq!(group_of(Some("reads/7")), "reads/7");
        assert_eq!(group_of(Some("a/b/c")), "a/b/c");
        assert_eq!(group_of(None), "untagged");
    }

    #[test]
    fn damaged_logs_are_errors_with_the_line() {
        let good = log(&[("a/1/1", 1..=100)], 1000);
        let lines = good.lines().count();
        let error = read(&format!("{good}no line\n"), &mut BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains(&format!("line {}", lines + 1)), "{error}");
        let error = read(&good.replace("HISTFAAA", "AISTFAAA"), &mut BTreeMap::new()).unwrap_err().to_string();
        assert!(error.contains("a/1/1"), "{error}");
    }
}
