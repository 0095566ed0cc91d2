//! One side of a comparison: the figures of a run by cell, from a result file or from a baseline file.
//!
//! A baseline is text of lines with fields between tabs, sorted, with six digits a figure, so that a new baseline
//! differs from the old one only in lines whose figures changed. It keeps every repeat: the comparison with a baseline
//! is the comparison with the run that wrote it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::LabError;
use crate::files::results_at;
use crate::results::{Host, Results, Row, generation_order};
use crate::{slob, targets, time_machine, torture};

/// The greatest size of a file that is read.
const BYTES_MAX: u64 = 256 << 20;

/// The figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Operations a second: more is better.
    Rate,
    /// Microseconds from the intended arrival, of operations that arrive at a given rate: less is better.
    P50,
    P99,
}

impl Figure {
    pub const ALL: [Figure; 3] = [Figure::Rate, Figure::P50, Figure::P99];

    pub fn name(self) -> &'static str {
        match self {
            Figure::Rate => "ops/s",
            Figure::P50 => "p50 us",
            Figure::P99 => "p99 us",
        }
    }

    pub fn more_is_better(self) -> bool {
        self == Figure::Rate
    }

    /// The figure of a row; `None` where the row does not have it.
    fn of(self, row: &Row) -> Option<f64> {
        match self {
            // Where the rate is given, the latency says what the system can do.
            Figure::Rate => row.latency.is_none().then_some(row.ops_per_s),
            Figure::P50 => row.latency.as_ref().map(|l| l.percentiles.p50_us),
            Figure::P99 => row.latency.as_ref().map(|l| l.percentiles.p99_us),
        }
    }
}

/// A cell's figure. Cells are in the order of the tables: by experiment, workload, age of the generation, sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub experiment: String,
    pub workload: String,
    age: usize,
    pub generation: String,
    pub figure: Figure,
    pub sessions: u32,
}

impl Key {
    pub fn new(experiment: &str, workload: &str, generation: &str, figure: Figure, sessions: u32) -> Key {
        let (experiment, workload, generation) = (plain(experiment), plain(workload), plain(generation));
        Key { age: generation_order(&generation), experiment, workload, generation, figure, sessions }
    }

    /// `result-cache@11.1`.
    pub fn variant(&self) -> String {
        format!("{}@{}", self.workload, self.generation)
    }
}

/// The circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    pub version: String,
    /// Seconds since 1970.
    pub started: u64,
    pub cpu: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
    pub parameters: BTreeMap<String, String>,
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// The circumstances, by experiment.
    pub about: BTreeMap<String, About>,
    /// The figures of all repeats.
    pub cells: BTreeMap<Key, Vec<f64>>,
    /// Remarks on the run.
    pub notes: Vec<String>,
}

/// Names come from files of anybody and are printed on terminals: control characters become spaces.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Refuses what is no ordinary file of ordinary size before it is read.
fn check_size(file: &Path) -> Result<(), LabError> {
    let wrong = |reason: String| LabError::new(format!("{}: {reason}", file.display()));
    let about = std::fs::metadata(file).map_err(|e| wrong(e.to_string()))?;
    if !about.is_file() {
        return Err(wrong("not a file".into()));
    }
    match about.len() > BYTES_MAX {
        true => Err(wrong(format!("{} bytes are too many for the results of a run", about.len()))),
        false => Ok(()),
    }
}

impl Side {
    /// Reads a run: its folder, or its results.json.
    ///
    /// # Errors
    /// When the file cannot be read, or is not the result of a run with rates.
    pub fn read(place: &Path) -> Result<Side, LabError> {
        let file = if place.is_dir() { place.join("results.json") } else { place.to_path_buf() };
        check_size(&file)?;
        let (_, value) = results_at(&file)?;
        if targets::is_in(&value) {
            return Err(LabError::new(format!(
                "{}: a run on several engines has its ratios on its own page; lab compare compares runs of Latchwork",
                file.display()
            )));
        }
        let wrong = |e: serde_json::Error| {
            LabError::new(format!("{}: not the results of a run of the laboratory: {e}", file.display()))
        };
        let runs: Vec<Results> = match value["experiment"].as_str() {
            Some(torture::NAME) => {
                let reason = "a run of torture has no rates to compare";
                return Err(LabError::new(format!("{}: {reason}", file.display())));
            }
            Some(time_machine::NAME) => {
                let journey: time_machine::Journey = serde_json::from_value(value).map_err(wrong)?;
                journey.runs
            }
            Some(slob::HUGE_PAGES) => {
                let run: slob::HugePagesRun = serde_json::from_value(value).map_err(wrong)?;
                vec![run.results()]
            }
            _ => vec![serde_json::from_value(value).map_err(wrong)?],
        };
        let mut side = Side::default();
        runs.iter().for_each(|run| side.add(run));
        match side.cells.is_empty() {
            true => Err(LabError::new(format!("{}: the run has no cell with a rate", file.display()))),
            false => Ok(side),
        }
    }

    fn add(&mut self, run: &Results) {
        let Host { cpu, cores, memory_bytes, kernel } = &run.host;
        let about = About {
            version: plain(&run.version),
            started: run.started,
            cpu: plain(cpu),
            cores: *cores,
            memory_bytes: *memory_bytes,
            kernel: plain(kernel),
            parameters: run.parameters.iter().map(|(n, v)| (plain(n), plain(v))).collect(),
        };
        self.about.insert(plain(&run.experiment), about);
        // The rate of a cell with a latch held by hand is that of the hand.
        for row in run.rows.iter().filter(|r| r.passed.is_none()) {
            for figure in Figure::ALL {
                let key = Key::new(&run.experiment, &row.workload, &row.generation, figure, row.sessions);
                if let Some(value) = figure.of(row) {
                    self.cells.entry(key).or_default().push(value);
                }
            }
        }
        let named = |text: String| format!("{}: {text}", plain(&run.experiment));
        self.notes.extend(run.warning().map(named));
        self.notes.extend(run.about_windows().map(named));
        let broken = run.broken_laws().len();
        self.notes.extend((broken > 0).then(|| named(format!("{broken} laws did not hold"))));
    }

    /// Keeps the cells of one generation, under a name that both sides use.
    pub fn only(&mut self, generation: &str, name: &str) {
        let all = std::mem::take(&mut self.cells);
        let own = all.into_iter().filter(|(key, _)| key.generation == generation);
        self.cells = own.map(|(k, v)| (Key::new(&k.experiment, &k.workload, name, k.figure, k.sessions), v)).collect();
    }
}

const HEAD: &str = "latchwork lab baseline 1";

/// The text of a baseline file.
pub fn baseline_of(side: &Side) -> String {
    let mut out = format!("{HEAD}\n");
    let mut line = |fields: &[&str]| out.push_str(&format!("{}\n", fields.join("\t")));
    for (experiment, about) in &side.about {
        let (cores, memory) = (about.cores.to_string(), about.memory_bytes.to_string());
        line(&["run", experiment, &about.version, &about.started.to_string()]);
        line(&["machine", experiment, &about.cpu, &cores, &memory, &about.kernel]);
        for (name, value) in &about.parameters {
            line(&["parameter", experiment, name, value]);
        }
    }
    for (key, figures) in &side.cells {
        let (sessions, name) = (key.sessions.to_string(), key.figure.name());
        let figures: Vec<String> = figures.iter().map(|f| format!("{f:.5e}")).collect();
        line(&["cell", &key.experiment, &key.workload, &key.generation, &sessions, name, &figures.join(" ")]);
    }
    // Without it a file that was cut at the end of a line, or within a number, could not be told from a whole one.
    line(&["end", &side.cells.len().to_string()]);
    out
}

/// Reads a baseline file.
///
/// # Errors
/// Names the file and the line.
pub fn read_baseline(file: &Path) -> Result<Side, LabError> {
    check_size(file)?;
    let text = std::fs::read_to_string(file).map_err(|e| LabError::new(format!("{}: {e}", file.display())))?;
    parse_baseline(&text).map_err(|e| LabError::new(format!("{}: {e}", file.display())))
}

fn parse_baseline(text: &str) -> Result<Side, String> {
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(head, _)| head != HEAD) {
        return Err(format!(
            "not a baseline: its first line is not '{HEAD}'. `lab compare RUN --baseline FILE --update` \
                            writes one"
        ));
    }
    let mut side = Side::default();
    let mut is_whole = false;
    for (line, number) in lines {
        if is_whole {
            return Err(format!("line {number} comes after the end"));
        }
        if let Some(cells) = line.strip_prefix("end\t") {
            is_whole = cells.parse() == Ok(side.cells.len());
            continue;
        }
        take_line(&mut side, line).ok_or_else(|| format!("line {number} is not one of a baseline"))?;
    }
    match (is_whole, side.cells.is_empty()) {
        (false, _) => Err("its last line is not the number of its cells: the file was cut or changed".into()),
        (true, true) => Err("the baseline has no cell".into()),
        (true, false) => Ok(side),
    }
}

/// Takes a line into a side; `None` if it is none of a baseline.
fn take_line(side: &mut Side, line: &str) -> Option<()> {
    let fields: Vec<&str> = line.split('\t').collect();
    match fields[..] {
        ["run", experiment, version, started] => {
            let about = side.about.entry(plain(experiment)).or_default();
            (about.version, about.started) = (plain(version), started.parse().ok()?);
        }
        ["machine", experiment, cpu, cores, memory, kernel] => {
            let about = side.about.entry(plain(experiment)).or_default();
            (about.cpu, about.kernel) = (plain(cpu), plain(kernel));
            (about.cores, about.memory_bytes) = (cores.parse().ok()?, memory.parse().ok()?);
        }
        ["parameter", experiment, name, value] => {
            side.about.entry(plain(experiment)).or_default().parameters.insert(plain(name), plain(value));
        }
        ["cell", experiment, workload, generation, sessions, figure, figures] => {
            let figure = Figure::ALL.into_iter().find(|f| f.name() == figure)?;
            let key = Key::new(experiment, workload, generation, figure, sessions.parse().ok()?);
            let figures = figures.split(' ').map(|f| f.parse().ok().filter(|f: &f64| f.is_finite()));
            let figures: Option<Vec<f64>> = figures.collect();
            // A cell that stands twice would leave open which of its lines counts.
            if side.cells.insert(key, figures?).is_some() {
                return None;
            }
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side() -> Side {
        let mut side = Side::default();
        let mut results = crate::results::tests::results();
        results.parameters.insert("_spin_count".into(), "100".into());
        results.experiment = "an\texperiment".into();
        side.add(&results);
        side
    }

    #[test]
    fn a_run_becomes_cells_with_the_figures_of_all_repeats() {
        let side = side();
        assert_eq!(side.cells.len(), 4);
        let key = Key::new("an experiment", "b", "latchwork", Figure::Rate, 1);
        assert_eq!(side.cells[&key], [100.0, 120.0]);
        let order: Vec<String> = side.cells.keys().map(|k| format!("{} {}", k.variant(), k.sessions)).collect();
        assert_eq!(order, ["a@11.1 2", "b@11.1 1", "b@latchwork 1", "b@latchwork 2"]);
    }

    #[test]
    fn cells_with_a_given_rate_are_compared_by_their_latencies() {
        let mut side = Side::default();
        side.add(&crate::results::tests::with_latencies());
        let of = |figure| side.cells.get(&Key::new("e", "b", "latchwork", figure, 1)).cloned();
        assert_eq!((of(Figure::Rate), of(Figure::P99).map(|f| f.len())), (None, Some(2)));
        assert_eq!(parse_baseline(&baseline_of(&side)).unwrap().cells.len(), side.cells.len());
    }

    #[test]
    fn a_baseline_reads_back_as_it_was_written_and_is_stable() {
        let side = side();
        let text = baseline_of(&side);
        let back = parse_baseline(&text).unwrap();
        assert_eq!((&back.about, &back.cells), (&side.about, &side.cells));
        assert_eq!(baseline_of(&back), text);
        assert!(text.contains("\ncell\tan experiment\tb\tlatchwork\t1\tops/s\t1.00000e2 1.20000e2\n"), "{text}");
    }

    #[test]
    fn what_is_no_baseline_is_refused_with_its_line() {
        let text = baseline_of(&side());
        assert!(parse_baseline("").unwrap_err().contains("--update"));
        assert!(parse_baseline("{\"experiment\": 1}").unwrap_err().contains("not a baseline"));
        assert!(parse_baseline(&format!("{HEAD}\nend\t0\n")).unwrap_err().contains("no cell"));
        let cells: Vec<&str> = text.lines().filter(|l| !l.starts_with("end")).collect();
        let twice = format!("{}\n{}\n", cells.join("\n"), cells.last().unwrap());
        for (text, line) in [
            (twice, cells.len() + 1),
            (format!("{text}cell\te"), text.lines().count() + 1),
            (format!("{HEAD}\ncell\te\tw\tg\t1\tops/s\t1e999"), 2),
            (format!("{HEAD}\ncell\te\tw\tg\t1\tops/s\t"), 2),
            (format!("{HEAD}\ncell\te\tw\tg\t99999999999\tops/s\t1"), 2),
            (format!("{HEAD}\ncell\te\tw\tg\t1\tmiles\t1"), 2),
            (format!("{HEAD}\ncell\te\tw"), 2),
            (format!("{HEAD}\n\n"), 2),
        ] {
            let message = parse_baseline(&text).unwrap_err();
            assert!(message.contains(&format!("line {line} ")), "{message}");
        }
        for end in 0..text.len() - 1 {
            assert!(parse_baseline(&text[..end]).is_err(), "{:?}", &text[..end]);
        }
        let fewer = text.replacen(cells.last().unwrap(), "", 1).replace("\n\n", "\n");
        assert!(parse_baseline(&fewer).unwrap_err().contains("cut"), "{fewer}");
    }

    #[test]
    fn one_generation_is_compared_under_another_name() {
        let mut side = side();
        side.only("latchwork", "11.1 and latchwork");
        let names: Vec<String> = side.cells.keys().map(Key::variant).collect();
        assert_eq!(names, ["b@11.1 and latchwork", "b@11.1 and latchwork"]);
    }
}
