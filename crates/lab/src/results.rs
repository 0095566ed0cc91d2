//! The results of a run: rows, as JSON and CSV.

use crate::counts::{Count, told};
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::latency::{Latency, Line, interval_log};
use crate::statistics::{Summary, summary};
use crate::window::Window;

/// Published figures of one name, by sessions.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedSection {
    pub generation: String,
    pub name: String,
    pub sessions: Vec<u32>,
    /// Operations of the run.
    pub operations: Vec<f64>,
    /// For each of the section's figures, as far as published, a number for each number of sessions.
    pub figures: Vec<Vec<f64>>,
}

/// The part of a section that the results keep, so that a report needs nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SectionHead {
    pub title: String,
    pub figures: Vec<String>,
    pub published: Vec<PublishedSection>,
}

/// Figures by name.
pub type Figures = BTreeMap<String, Vec<f64>>;

/// Figures of one latch over one cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatchFigures {
    pub gets: u64,
    pub misses: u64,
    pub sleeps: u64,
    pub spin_gets: u64,
    pub wait_time_us: u64,
}

impl LatchFigures {
    /// The difference of two readings.
    pub fn since(self, before: LatchFigures) -> LatchFigures {
        LatchFigures {
            gets: self.gets.saturating_sub(before.gets),
            misses: self.misses.saturating_sub(before.misses),
            sleeps: self.sleeps.saturating_sub(before.sleeps),
            spin_gets: self.spin_gets.saturating_sub(before.spin_gets),
            wait_time_us: self.wait_time_us.saturating_sub(before.wait_time_us),
        }
    }
}

/// One measured cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Workload and generation, `result-cache@11.1`.
    pub variant: String,
    pub workload: String,
    pub generation: String,
    pub sessions: u32,
    pub repeat: u32,
    /// Operations of all sessions, from the first start to the last end.
    pub operations: u64,
    /// Number of calls of the workers.
    #[serde(default)]
    pub calls: u64,
    /// From the first start to the last end.
    pub elapsed_s: f64,
    /// The part of the cell in which all sessions ran, for which `ops_per_s` is computed. `None`: there was no such
    /// part, or a latch was held by hand; `ops_per_s` is then `operations` by `elapsed_s`.
    #[serde(default)]
    pub window: Option<Window>,
    pub ops_per_s: f64,
    /// Percentage of the rate of one session of the same variant in the same repeat, times the number of sessions;
    /// `None` without such a cell.
    pub pct_linear: Option<f64>,
    /// With a latch held by hand: number of sessions that ended while it was held.
    #[serde(default)]
    pub passed: Option<u32>,
    /// With operations that arrive at a given rate: their latencies. `ops_per_s` is then the rate of those that were
    /// done, from the start to the last end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    pub latches: BTreeMap<String, LatchFigures>,
    /// By section and name, the increase of the figures during the cell.
    #[serde(default)]
    pub sections: BTreeMap<String, Figures>,
}

/// The machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Host {
    pub cpu: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
}

/// A published curve, kept with the results so that a report needs nothing else.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublishedCurve {
    /// Description of the work besides machine, year and release.
    pub title: String,
    #[serde(default)]
    pub machine: String,
    #[serde(default)]
    pub year: Option<u32>,
    /// The release of Oracle that was measured.
    #[serde(default)]
    pub release: String,
    pub workload: String,
    #[serde(default)]
    pub generation: Option<String>,
    pub sessions: Vec<u32>,
    pub ops_per_s: Vec<f64>,
    pub gets: Vec<u64>,
    pub misses: Vec<u64>,
    pub sleeps: Vec<u64>,
    /// Its prediction.
    #[serde(default)]
    pub foretold: Option<Foretold>,
}

/// The prediction of a published curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Foretold {
    /// Operations a second for each number of sessions; `None` where the prediction is refused.
    pub ops_per_s: Vec<Option<f64>>,
    /// The parameters and the largest error, or the reasons of the refusal.
    pub text: String,
}

impl PublishedCurve {
    /// `Core i7 980X, 2010, Oracle 11.2`: distinct from all labels of Latchwork's own lines.
    pub fn label(&self) -> String {
        let year = self.year.map(|y| y.to_string());
        let release = (!self.release.is_empty()).then(|| format!("Oracle {}", self.release));
        let parts = [Some(self.machine.clone()).filter(|m| !m.is_empty()), year, release];
        let label = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        match (label.is_empty(), self.title.is_empty()) {
            (true, _) => self.title.clone(),
            (false, true) => label,
            (false, false) => format!("{label}: {}", self.title),
        }
    }
}

/// The name of a generation of Latchwork beside published figures.
pub fn design(generation: &str) -> String {
    match generation {
        "latchwork" => "Latchwork's own design".into(),
        "12.2-hot-copies" => "Latchwork as 12.2, hot copies".into(),
        _ => format!("Latchwork as {generation}"),
    }
}

/// Share of a window's operations in calls cut by its ends above which a report mentions it.
const CUT_MAX: f64 = 0.25;

/// A sentence about the rates of runs that have no window, or whose window was counted only in part.
pub(crate) fn about_windows(windows: impl Iterator<Item = Option<Window>>) -> Option<String> {
    let (mut all, mut without, mut cut) = (0, 0, 0);
    for window in windows {
        all += 1;
        without += usize::from(window.is_none());
        cut += usize::from(window.is_some_and(|w| w.share_cut() > CUT_MAX));
    }
    let mut parts = Vec::new();
    if without > 0 {
        parts.push(format!(
            "in {without} of {all} runs the sessions never ran all at once: their rates are those of the whole run"
        ));
    }
    if cut > 0 {
        parts.push(format!(
            "in {cut} the ends of the window cut calls with more than {:.0} % of its operations, which are divided in proportion to time",
            100.0 * CUT_MAX
        ));
    }
    (!parts.is_empty()).then(|| format!("Short runs: {}.", parts.join("; ")))
}

/// The summary of a cell's repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellSummary {
    pub variant: String,
    pub sessions: u32,
    pub ops_per_s: Summary,
    pub pct_linear: Option<Summary>,
}

/// All results of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    pub experiment: String,
    pub title: String,
    pub source: String,
    pub question: String,
    /// Seconds since 1970.
    pub started: u64,
    pub host: Host,
    pub version: String,
    /// Init parameters and the run's own settings.
    pub parameters: BTreeMap<String, String>,
    pub rows: Vec<Row>,
    /// Averages of the rows with their 95 % intervals, by variant and sessions; a single repeat has no interval.
    #[serde(default)]
    pub cells: Vec<CellSummary>,
    /// The measured latches, each with its names in all generations.
    #[serde(default)]
    pub latch_names: Vec<Vec<String>>,
    #[serde(default)]
    pub published: Vec<PublishedCurve>,
    #[serde(default)]
    pub sections: Vec<SectionHead>,
    /// The counts of one operation, with their expected figures.
    #[serde(default)]
    pub counts: Vec<Count>,
    /// By generation, notes for the reader.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
    /// The section that counts sleeps by place.
    #[serde(default)]
    pub sleeps: Option<String>,
    /// The requested generations, also those without any cell.
    #[serde(default)]
    pub asked: Vec<String>,
    /// For a run that was stopped: the number of planned cells.
    #[serde(default)]
    pub stopped_of: Option<usize>,
}

impl Results {
    /// Computes the derived values: `pct_linear` of each row, and the summaries of the cells.
    pub fn fill(&mut self) {
        let key = |r: &Row| (r.variant.clone(), r.repeat);
        // A given rate is the same with any number of sessions.
        let one = self.rows.iter().filter(|r| r.sessions == 1 && r.ops_per_s > 0.0 && r.latency.is_none());
        let base: BTreeMap<(String, u32), f64> = one.map(|r| (key(r), r.ops_per_s)).collect();
        for row in &mut self.rows {
            let one = base.get(&key(row));
            let one = one.filter(|_| row.latency.is_none());
            row.pct_linear = one.map(|one| 100.0 * row.ops_per_s / (one * f64::from(row.sessions)));
        }
        let mut cells = Vec::new();
        for variant in self.variants() {
            for sessions in self.sessions() {
                let Some(ops_per_s) = self.rate(&variant, sessions) else { continue };
                let pct_linear = self.linear(&variant, sessions);
                cells.push(CellSummary { variant: variant.clone(), sessions, ops_per_s, pct_linear });
            }
        }
        self.cells = cells;
    }

    /// The start of the run: `2026-11-29 19:50 UTC`; empty when the file does not have it.
    pub fn date(&self) -> String {
        date_of(self.started)
    }

    /// Operations per second of a cell.
    pub fn rate(&self, variant: &str, sessions: u32) -> Option<Summary> {
        summary(self.cell(variant, sessions).map(|r| r.ops_per_s))
    }

    /// Percent of linear of a cell. One session is 100 % of itself by definition and has no interval.
    pub fn linear(&self, variant: &str, sessions: u32) -> Option<Summary> {
        let summary = summary(self.cell(variant, sessions).filter_map(|r| r.pct_linear))?;
        Some(Summary { interval: summary.interval.filter(|_| sessions > 1), ..summary })
    }

    /// A sentence that explains the run's intervals.
    pub fn about_intervals(&self) -> String {
        let repeats = |c: &CellSummary| c.ops_per_s.count;
        let (least, most) = (self.cells.iter().map(repeats).min(), self.cells.iter().map(repeats).max());
        match (least.unwrap_or(0), most.unwrap_or(0)) {
            (_, 0 | 1) => "One repeat of each cell: there is no interval, and a difference may be chance.".into(),
            (least, most) if least == most => {
                format!("Averages of {most} repeats; ± is half of the 95 % interval (Student's t).")
            }
            (least, most) => {
                format!("Averages of {least} to {most} repeats; ± is half of the 95 % interval (Student's t).")
            }
        }
    }

    /// A sentence about cells whose rate is not that of a window in which all sessions ran, or was counted only in
    /// part.
    pub fn about_windows(&self) -> Option<String> {
        let free = self.rows.iter().filter(|r| r.passed.is_none() && r.latency.is_none());
        about_windows(free.map(|r| r.window))
    }

    pub fn has_latencies(&self) -> bool {
        self.rows.iter().any(|r| r.latency.is_some())
    }

    /// The latencies of a cell's repeats.
    pub fn latencies<'a>(&'a self, variant: &'a str, sessions: u32) -> impl Iterator<Item = &'a Latency> + 'a {
        self.cell(variant, sessions).filter_map(|r| r.latency.as_ref())
    }

    /// The latencies as an interval log of HdrHistogram; `None` without any.
    ///
    /// # Errors
    /// When a histogram cannot be read.
    pub fn latency_log(&self) -> Result<Option<String>, LabError> {
        let mut at_s = 0.0;
        let rows = self.rows.iter().filter_map(|r| Some((r, r.latency.as_ref()?)));
        // The rows are in the order of the tables; each interval follows the one before it.
        let line = |(r, latency): (&Row, &Latency)| {
            let seconds = |s: f64| Duration::try_from_secs_f64(s).unwrap_or_default();
            let from_s = at_s;
            at_s += r.elapsed_s;
            let tag = format!("{}/{}/{}", r.variant, r.sessions, r.repeat);
            Ok((tag, seconds(from_s), seconds(r.elapsed_s), latency.histogram()?))
        };
        let lines: Vec<Line> = rows.map(line).collect::<Result<_, LabError>>()?;
        let about = "latencies in nanoseconds from the intended arrival, by variant, sessions and repeat";
        match lines.is_empty() {
            true => Ok(None),
            false => interval_log(Duration::from_secs(self.started), about, &lines).map(Some),
        }
    }

    /// Sentences on the latencies: what they are, and what the generator of the load could not do.
    pub fn about_latencies(&self) -> Vec<String> {
        let all = || self.rows.iter().filter_map(|r| r.latency.as_ref());
        if !self.has_latencies() {
            return Vec::new();
        }
        let mut out = vec![
            "Microseconds from the intended arrival to the end, all repeats together; an arrival that waits for a session counts its waiting."
                .to_string(),
        ];
        let dropped: u64 = all().map(|l| l.dropped).sum();
        if dropped > 0 {
            out.push(format!(
                "{dropped} arrivals were dropped: they had not begun when the cell ended. They count with the time that they had \
                 waited, so the true percentiles are higher: the rate is more than the sessions can do."
            ));
        }
        let slow = all().filter(|l| l.is_generator_slow()).count();
        if slow > 0 {
            out.push(format!(
                "The generator was too slow in {slow} of {} runs: more than a tenth of the latency is the time in which its \
                 sessions woke up for an arrival. Fewer sessions, a higher rate or an idle machine make it smaller.",
                all().count()
            ));
        }
        out
    }

    /// The measured latches that have figures, each with its names.
    pub fn latch_groups(&self) -> Vec<Vec<String>> {
        let seen = self.latches();
        let mut groups: Vec<Vec<String>> = self.latch_names.clone();
        groups.iter_mut().for_each(|names| names.retain(|name| seen.contains(name)));
        groups.retain(|names| !names.is_empty());
        // A file of an earlier version has no groups: each name is a latch.
        let of_none = seen.iter().filter(|name| !groups.iter().flatten().any(|n| n == *name));
        let of_none: Vec<Vec<String>> = of_none.map(|name| vec![name.clone()]).collect();
        groups.extend(of_none);
        groups
    }

    /// The variants, in the order of the first appearance of workload and generation.
    pub fn variants(&self) -> Vec<String> {
        let mut all: Vec<&Row> = self.rows.iter().collect();
        all.sort_by_key(|r| (&r.workload, generation_order(&r.generation)));
        let mut out: Vec<String> = Vec::new();
        for row in all {
            if out.last() != Some(&row.variant) {
                out.push(row.variant.clone());
            }
        }
        out
    }

    /// The generations, oldest first.
    pub fn generations(&self) -> Vec<String> {
        let mut all: Vec<String> = self.rows.iter().map(|r| r.generation.clone()).collect();
        all.sort_by_key(|name| (generation_order(name), name.clone()));
        all.dedup();
        all
    }

    /// The requested generations and those with rows, oldest first.
    pub fn all_generations(&self) -> Vec<String> {
        let mut all = self.asked.clone();
        all.extend(self.generations());
        all.sort_by_key(|name| (generation_order(name), name.clone()));
        all.dedup();
        all
    }

    /// The numbers of sessions, ascending.
    pub fn sessions(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.rows.iter().map(|r| r.sessions).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The rows of one cell.
    pub fn cell<'a>(&'a self, variant: &'a str, sessions: u32) -> impl Iterator<Item = &'a Row> + 'a {
        self.rows.iter().filter(move |r| r.variant == variant && r.sessions == sessions)
    }

    /// The names of the latches that were measured.
    pub fn latches(&self) -> Vec<String> {
        let mut all: Vec<String> = self.rows.iter().flat_map(|r| r.latches.keys().cloned()).collect();
        all.sort();
        all.dedup();
        all
    }

    /// Laws that did not hold, a line each.
    pub fn broken_laws(&self) -> Vec<String> {
        let broken = self.counts.iter().filter(|c| !c.holds());
        broken.map(|c| format!("{}@{}: {}: {}", c.workload, c.generation, c.title, told(c))).collect()
    }

    /// A line on a run that was stopped.
    pub fn warning(&self) -> Option<String> {
        let of = self.stopped_of?;
        Some(format!("Stopped: {} of {of} cells were run. Averages may have fewer repeats.", self.rows.len()))
    }

    /// Sleeps of a cell: from the section that counts them, or else those of its latches; `None` where nothing counts
    /// them.
    pub fn sleeps_of(&self, row: &Row) -> Option<f64> {
        match &self.sleeps {
            Some(section) => {
                let figures = row.sections.get(section)?;
                Some(figures.values().filter_map(|f| f.first()).sum())
            }
            None if row.latches.is_empty() => None,
            None => Some(row.latches.values().map(|f| f.sleeps as f64).sum()),
        }
    }

    /// The rows as CSV, one line for each row, with columns for the figures of each latch.
    pub fn csv(&self) -> String {
        let latches = self.latches();
        let mut out = String::from(
            "variant,workload,generation,sessions,repeat,operations,calls,elapsed_s,window_s,ops_per_s,pct_linear",
        );
        out.push_str(",repeats,average_ops_per_s,interval_95_ops_per_s,average_pct_linear,interval_95_pct_linear");
        let has_latencies = self.has_latencies();
        if has_latencies {
            out.push_str(",arrivals,queued,dropped,generator_share,average_us,p50_us,p90_us,p99_us,p999_us,max_us");
        }
        for latch in &latches {
            for figure in ["gets", "misses", "sleeps", "spin_gets", "wait_time_us"] {
                out.push_str(&format!(",\"{latch}: {figure}\""));
            }
        }
        out.push('\n');
        for r in &self.rows {
            let two = |p: Option<f64>| p.map(|p| format!("{p:.2}")).unwrap_or_default();
            let window = r.window.map(|w| format!("{:.6}", w.seconds)).unwrap_or_default();
            out.push_str(&format!(
                "{},{},{},{},{},{},{},{:.6},{window},{:.1},{}",
                r.variant,
                r.workload,
                r.generation,
                r.sessions,
                r.repeat,
                r.operations,
                r.calls,
                r.elapsed_s,
                r.ops_per_s,
                two(r.pct_linear)
            ));
            let (rate, linear) = (self.rate(&r.variant, r.sessions), self.linear(&r.variant, r.sessions));
            let repeats = rate.map_or(0, |s| s.count);
            out.push_str(&format!(",{repeats},{}", two(rate.map(|s| s.average))));
            let more = [rate.and_then(|s| s.interval), linear.map(|s| s.average), linear.and_then(|s| s.interval)];
            more.into_iter().for_each(|figure| out.push_str(&format!(",{}", two(figure))));
            match &r.latency {
                Some(l) => {
                    let p = &l.percentiles;
                    out.push_str(&format!(",{},{},{},{:.4}", l.arrivals, l.queued, l.dropped, l.generator_share));
                    let figures = [p.average_us, p.p50_us, p.p90_us, p.p99_us, p.p999_us, p.max_us];
                    figures.into_iter().for_each(|us| out.push_str(&format!(",{us:.3}")));
                }
                None if has_latencies => out.push_str(&",".repeat(10)),
                None => {}
            }
            for latch in &latches {
                match r.latches.get(latch) {
                    Some(f) => out
                        .push_str(&format!(",{},{},{},{},{}", f.gets, f.misses, f.sleeps, f.spin_gets, f.wait_time_us)),
                    None => out.push_str(",,,,,"),
                }
            }
            out.push('\n');
        }
        out
    }
}

/// A moment in seconds since 1970, as `2026-11-29 19:50 UTC`; empty for one that is no date.
pub fn date_of(moment: u64) -> String {
    let Some(date) = i64::try_from(moment).ok().and_then(|s| types::Date::from_unix(s).ok()) else {
        return String::new();
    };
    let f = date.fields();
    format!("{:04}-{:02}-{:02} {:02}:{:02} UTC", f.year, f.month, f.day, f.hour, f.minute)
}

/// Every value of `latch_generation`, oldest first.
pub const GENERATIONS: &[&str] =
    &["8.1.7", "9.2", "10.2", "11.1", "11.2.0.1", "11.2.0.3", "12.1", "12.2", "12.2-hot-copies", "latchwork"];

/// The position of a generation in time.
pub fn generation_order(name: &str) -> usize {
    GENERATIONS.iter().position(|known| *known == name).unwrap_or(GENERATIONS.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(workload: &str, generation: &str, sessions: u32, repeat: u32, ops_per_s: f64) -> Row {
        let figures = LatchFigures { gets: 2001, misses: 10, sleeps: 3, spin_gets: 7, wait_time_us: 500 };
        Row {
            variant: format!("{workload}@{generation}"),
            workload: workload.into(),
            generation: generation.into(),
            sessions,
            repeat,
            operations: 1000,
            calls: u64::from(sessions),
            elapsed_s: 1000.0 / ops_per_s,
            window: Some(Window { seconds: 900.0 / ops_per_s, counted: 890, cut: 10.0 }),
            ops_per_s,
            pct_linear: None,
            passed: None,
            latency: None,
            latches: BTreeMap::from([("Result Cache: Latch".to_string(), figures)]),
            sections: BTreeMap::new(),
        }
    }

    pub(crate) fn results() -> Results {
        let mut results = Results {
            experiment: "e".into(),
            title: "An <experiment>".into(),
            source: "somebody".into(),
            question: "does it?".into(),
            started: 0,
            host: Host { cpu: "a processor".into(), cores: 2, memory_bytes: 1 << 30, kernel: "6".into() },
            version: "0".into(),
            parameters: BTreeMap::new(),
            rows: vec![
                row("b", "latchwork", 1, 1, 100.0),
                row("b", "latchwork", 1, 2, 120.0),
                row("b", "latchwork", 2, 1, 180.0),
                row("b", "11.1", 1, 1, 50.0),
                row("a", "11.1", 2, 1, 10.0),
            ],
            cells: vec![],
            latch_names: vec![vec!["Result Cache: Latch".into(), "Result Cache: RC Latch".into()]],
            published: vec![PublishedCurve {
                title: String::new(),
                machine: "a <machine>".into(),
                year: Some(2007),
                release: "11.1.0.6".into(),
                workload: "b".into(),
                generation: Some("11.1".into()),
                sessions: vec![1, 2],
                ops_per_s: vec![10.0, 19.0],
                gets: vec![],
                misses: vec![],
                sleeps: vec![],
                foretold: Some(Foretold { ops_per_s: vec![Some(10.0), None], text: "2 sessions <refused>".into() }),
            }],
            sections: vec![],
            counts: vec![],
            notes: BTreeMap::new(),
            sleeps: None,
            asked: vec!["8.1.7".into()],
            stopped_of: None,
        };
        results.fill();
        results
    }

    #[test]
    fn percent_of_linear_compares_with_one_session_of_the_same_repeat() {
        let results = results();
        let two = results.cell("b@latchwork", 2).next().unwrap();
        assert!((two.pct_linear.unwrap() - 100.0 * 180.0 / 200.0).abs() < 1e-9);
        assert_eq!(results.cell("a@11.1", 2).next().unwrap().pct_linear, None);
        assert!(results.cell("b@latchwork", 1).all(|r| r.pct_linear == Some(100.0)));
    }

    #[test]
    fn cells_have_averages_and_intervals_and_one_repeat_says_that_it_has_none() {
        let mut results = results();
        let of = |results: &Results, sessions: u32| {
            results.cells.iter().find(|c| c.variant == "b@latchwork" && c.sessions == sessions).unwrap().clone()
        };
        let one = of(&results, 1);
        assert_eq!((one.ops_per_s.count, one.ops_per_s.average), (2, 110.0));
        // 100 and 120: t for one degree of freedom is 12.706; times the deviation 14.142 over the root of two.
        assert!((one.ops_per_s.interval.unwrap() - 127.06).abs() < 1e-6, "{one:?}");
        assert_eq!(of(&results, 2).ops_per_s.interval, None);
        assert!(results.about_intervals().contains("1 to 2 repeats"));
        results.rows.retain(|r| r.repeat == 1);
        results.fill();
        assert!(results.about_intervals().contains("there is no interval"));
    }

    #[test]
    fn rates_without_a_whole_window_are_told() {
        let mut results = results();
        assert_eq!(results.about_windows(), None);
        results.rows[0].window = None;
        results.rows[1].window = Some(Window { seconds: 1.0, counted: 70, cut: 30.0 });
        let told = results.about_windows().unwrap();
        assert!(
            told.contains("in 1 of 5 runs")
                && told.contains("in 1 the ends of the window cut calls with more than 25 %"),
            "{told}"
        );
    }

    #[test]
    fn a_run_says_when_it_was() {
        let results = Results { started: 1_795_341_600, ..results() };
        assert_eq!(results.date(), "2026-11-22 10:00 UTC");
        assert!(crate::table::all(&results).contains("2026-11-22 10:00 UTC, a processor, 2 cores"));
    }

    #[test]
    fn own_and_published_lines_have_names_that_cannot_be_confused() {
        assert_eq!(design("11.1"), "Latchwork as 11.1");
        let mut curve = results().published.remove(0);
        assert_eq!(curve.label(), "a <machine>, 2007, Oracle 11.1.0.6");
        curve.title = "one table".into();
        assert_eq!(curve.label(), "a <machine>, 2007, Oracle 11.1.0.6: one table");
    }

    #[test]
    fn variants_come_by_workload_and_then_in_time() {
        assert_eq!(results().variants(), ["a@11.1", "b@11.1", "b@latchwork"]);
        assert_eq!(results().sessions(), [1, 2]);
    }

    #[test]
    fn csv_has_a_line_a_row_and_as_many_fields_as_its_head() {
        let csv = results().csv();
        let mut lines = csv.lines();
        let head = lines.next().unwrap().matches(',').count();
        assert_eq!(lines.clone().count(), 5);
        assert!(lines.all(|line| line.matches(',').count() == head));
        assert!(csv.contains("b@latchwork,b,latchwork,2,1,1000,2,"));
    }

    /// Two rows of the example with latencies.
    pub(crate) fn with_latencies() -> Results {
        let mut results = results();
        for (row, us) in results.rows.iter_mut().zip([100, 200]) {
            let mut recorder = crate::latency::Recorder::default();
            (1..=us).for_each(|us| recorder.done(0, 0, us * 1000, true));
            recorder.dropped(0, 1_000_000);
            row.latency = Some(recorder.latency());
        }
        results.fill();
        results
    }

    #[test]
    fn rows_with_latencies_read_back_and_have_no_percent_of_linear() {
        let results = with_latencies();
        let back: Results = serde_json::from_str(&serde_json::to_string(&results).unwrap()).unwrap();
        assert_eq!(back.rows[0].latency, results.rows[0].latency);
        assert_eq!(back.rows[0].pct_linear, None);
        assert!(back.rows[4].latency.is_none());
        let csv = back.csv();
        let head = csv.lines().next().unwrap();
        assert!(head.contains(",dropped,") && csv.lines().all(|l| l.matches(',').count() == head.matches(',').count()));
        let log = back.latency_log().unwrap().unwrap();
        assert!(log.contains("Tag=b@latchwork/1/1,0.000,") && log.contains("HISTFAAA"), "{log}");
        let about = back.about_latencies().join(" ");
        assert!(about.contains("2 arrivals were dropped") && !about.contains("generator"), "{about}");
        assert_eq!(
            (super::tests::results().latency_log().unwrap(), super::tests::results().about_latencies().len()),
            (None, 0)
        );
    }

    #[test]
    fn json_reads_back_as_it_was() {
        let text = serde_json::to_string(&results()).unwrap();
        let back: Results = serde_json::from_str(&text).unwrap();
        assert_eq!(back.csv(), results().csv());
        let interval = |r: &Results| r.cells[2].ops_per_s.interval.unwrap();
        assert_eq!(back.cells.len(), results().cells.len());
        assert!((interval(&back) - interval(&results())).abs() < 1e-9);
    }
}
