//! `lab reproduce`: reruns published experiments and judges each published statement by the rule of its manifest.

mod judge;
mod measured;
mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::claims::Claim;
use crate::error::LabError;
use crate::manifest::Experiment;
use crate::run::{Plan, run};
use crate::slob::{self, HugePagesCell, HugePagesPlan, HugePagesRun, TableOptions};
use crate::stop::Stop;
use crate::{host, html};
use judge::{Judged, judge};
use measured::Measured;
pub use report::{NAME, Reproduction};

/// The statements on huge pages, whose experiment has no manifest.
const HUGE_PAGES_CLAIMS: &str = include_str!("../../../../experiments/huge-pages/claims.toml");

pub(crate) const EXAMPLES: &str = "Examples:
  latchwork lab reproduce --list
  latchwork lab reproduce S0 S4 --quick
  latchwork lab reproduce all --out reproduction

Exit codes: 0 each verdict is the one that the manifest expects, or better; 3 one is worse; 1 the run failed; 2 wrong
arguments.";

/// Arguments of `lab reproduce`.
#[derive(clap::Args, Debug)]
pub struct ReproduceArguments {
    /// Sources by their short names, such as S0, or all
    #[arg(default_value = "all")]
    sources: Vec<String>,
    /// Show the published statements with their rules, and run nothing
    #[arg(long)]
    list: bool,
    /// Shorter cells and fewer repeats
    #[arg(long)]
    quick: bool,
    /// Target duration of a cell in seconds [default: 1; with --quick 0.3]
    #[arg(long)]
    seconds: Option<f64>,
    /// Repeats of each cell; a verdict needs two at least [default: 5; with --quick 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=1000))]
    repeat: Option<u32>,
    /// Operations of each session in a cell (instead of --seconds)
    #[arg(long, conflicts_with = "seconds")]
    iterations: Option<u64>,
    /// Seed of the order of the cells
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For S1: reserve huge pages in the machine's setting vm.nr_hugepages, as root; the setting is restored afterwards
    #[arg(long)]
    reserve_huge_pages: bool,
    /// Folder to write to (default: results/reproduce-TIME)
    #[arg(long)]
    out: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// The file of the statements on huge pages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsFile {
    claim: Vec<Claim>,
}

/// An experiment that can be rerun.
enum Subject {
    Manifest(Box<Experiment>),
    HugePages,
}

/// An experiment with those of its claims that were chosen.
struct Task {
    subject: Subject,
    claims: Vec<Claim>,
}

impl Task {
    fn name(&self) -> &str {
        match &self.subject {
            Subject::Manifest(experiment) => &experiment.manifest.name,
            Subject::HugePages => slob::HUGE_PAGES,
        }
    }

    fn publication(&self) -> &str {
        match &self.subject {
            Subject::Manifest(experiment) => &experiment.manifest.source,
            Subject::HugePages => slob::SOURCE,
        }
    }
}

fn huge_pages_claims() -> Result<Vec<Claim>, String> {
    let file: ClaimsFile = toml::from_str(HUGE_PAGES_CLAIMS).map_err(|e| e.to_string())?;
    let names: Vec<String> = HugePagesCell::all().map(HugePagesCell::name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    file.claim.iter().try_for_each(|claim| claim.check(&names))?;
    Ok(file.claim)
}

/// The shipped experiments with their claims.
fn all_tasks() -> Result<Vec<Task>, LabError> {
    let huge_pages = huge_pages_claims().map_err(|e| LabError::new(format!("huge-pages: {e}")))?;
    let mut tasks = vec![Task { subject: Subject::HugePages, claims: huge_pages }];
    tasks.extend(Experiment::shipped().into_iter().map(|experiment| Task {
        claims: experiment.manifest.claims.clone(),
        subject: Subject::Manifest(Box::new(experiment)),
    }));
    Ok(tasks)
}

/// The tasks of the chosen sources.
///
/// # Errors
/// A source without any claim; the message lists the sources.
fn chosen(sources: &[String]) -> Result<Vec<Task>, LabError> {
    let mut tasks = all_tasks()?;
    let known: BTreeSet<String> = tasks.iter().flat_map(|t| t.claims.iter().map(|c| c.source.clone())).collect();
    let is_all = |asked: &String| asked.eq_ignore_ascii_case("all");
    let is_known = |asked: &String| known.iter().any(|k| k.eq_ignore_ascii_case(asked));
    if let Some(wrong) = sources.iter().find(|s| !is_all(s) && !is_known(s)) {
        let known: Vec<String> = known.into_iter().collect();
        return Err(LabError::new(format!("no source '{wrong}': there are all, {}", known.join(", "))));
    }
    let is_chosen =
        |claim: &Claim| sources.iter().any(|asked| is_all(asked) || claim.source.eq_ignore_ascii_case(asked));
    tasks.iter_mut().for_each(|task| task.claims.retain(is_chosen));
    tasks.retain(|task| !task.claims.is_empty());
    Ok(tasks)
}

/// The plan with the cells of the claims that this machine can test; `None` when it can test none.
fn plan_of(task: &Task, arguments: &ReproduceArguments, processors: usize, stop: &Stop) -> Option<Plan> {
    let mut variants: BTreeSet<String> = BTreeSet::new();
    let mut generations: Vec<String> = Vec::new();
    let mut sessions: BTreeSet<u32> = BTreeSet::from([1]);
    for claim in task.claims.iter().filter(|c| c.processors <= processors) {
        let counted = claim.count.iter().map(|c| (&c.variant, &c.generation, 1));
        let points = claim.points().into_iter().map(|p| (&p.variant, &p.generation, p.sessions));
        for (variant, generation, count) in counted.chain(points) {
            variants.insert(format!("{variant}@{generation}"));
            sessions.insert(count);
            if !generations.contains(generation) {
                generations.push(generation.clone());
            }
        }
    }
    (!variants.is_empty()).then(|| Plan {
        sessions: sessions.into_iter().collect(),
        iterations: arguments.iterations,
        seconds: arguments.seconds.unwrap_or(if arguments.quick { 0.3 } else { 1.0 }),
        rate: None,
        repeat: arguments.repeat.unwrap_or(if arguments.quick { 3 } else { 5 }),
        variants: variants.into_iter().collect(),
        generations,
        params: Vec::new(),
        seed: arguments.seed,
        progress: !arguments.quiet,
        stop: stop.clone(),
    })
}

fn huge_pages_run(arguments: &ReproduceArguments, cores: usize, stop: &Stop) -> Result<HugePagesRun, LabError> {
    slob::run_huge_pages(&HugePagesPlan {
        options: TableOptions::default(),
        sessions: cores.max(1) as u32,
        repeat: arguments.repeat.unwrap_or(if arguments.quick { 3 } else { 10 }),
        may_reserve: arguments.reserve_huge_pages,
        seconds: arguments.seconds.unwrap_or(if arguments.quick { 1.0 } else { 5.0 }),
        quick: arguments.quick,
        variants: Vec::new(),
        params: Vec::new(),
        seed: arguments.seed,
        progress: !arguments.quiet,
        stop: stop.clone(),
        executable: None,
    })
}

/// Runs a task and judges its claims. The run's own results are written to a folder of the experiment's name.
fn run_task(task: &Task, arguments: &ReproduceArguments, folder: &Path, stop: &Stop) -> Result<Vec<Judged>, LabError> {
    let host = host::describe();
    let judged = |measured: &Measured<'_>| task.claims.iter().map(|c| judge(task.name(), c, measured)).collect();
    let own = folder.join(task.name());
    if stop.is_asked() {
        return Ok(judged(&Measured::Nothing("the run was stopped", host.cores)));
    }
    match &task.subject {
        Subject::Manifest(experiment) => match plan_of(task, arguments, host.cores, stop) {
            None => Ok(judged(&Measured::Nothing("this machine has too few processors", host.cores))),
            Some(plan) => {
                let results = run(experiment, &plan)?;
                html::write(&results, &own)?;
                Ok(judged(&Measured::Run(&results)))
            }
        },
        Subject::HugePages => {
            let results = huge_pages_run(arguments, host.cores, stop)?;
            results.write(&own)?;
            Ok(judged(&Measured::HugePages(&results)))
        }
    }
}

/// Runs the command; returns the exit code.
///
/// # Errors
/// An unknown source, an instance that cannot be started, a statement of an experiment that fails.
pub fn command(arguments: &ReproduceArguments) -> Result<u8, LabError> {
    let tasks = chosen(&arguments.sources)?;
    if arguments.list {
        print!("{}", list(&tasks));
        return Ok(0);
    }
    if arguments.seconds.is_some_and(|seconds| !(seconds > 0.0 && seconds.is_finite())) {
        return Err(LabError::new("--seconds must be greater than 0".into()));
    }
    let stop = Stop::on_signals();
    let started = os::clock::wall_ns() / 1_000_000_000;
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("results/{NAME}-{started}")));
    let mut claims = Vec::new();
    for task in &tasks {
        claims.extend(run_task(task, arguments, &folder, &stop)?);
    }
    let publications = tasks.iter().map(|task| (task.name().to_string(), task.publication().to_string())).collect();
    let reproduction = Reproduction::new(started, publications, claims, stop.is_asked());
    reproduction.write(&folder)?;
    print!("{}", reproduction.text());
    println!("\nPage:    {}", folder.join("report.html").display());
    println!("Figures: {}", folder.join("results.json").display());
    if stop.is_asked() {
        return Err(LabError::new("stopped; the verdicts so far are written".into()));
    }
    Ok(if reproduction.is_as_expected() { 0 } else { 3 })
}

/// The statements with their rules.
fn list(tasks: &[Task]) -> String {
    let mut out = String::new();
    for task in tasks {
        out.push_str(&format!("{}: {}\n", task.name(), task.publication()));
        for claim in &task.claims {
            out.push_str(&format!("  {}  {}\n      published: {}\n", claim.source, claim.says, claim.published));
            out.push_str(&format!("      rule: {}\n", report::rule_text(claim)));
            if claim.processors > 0 {
                out.push_str(&format!("      tested from {} processors on\n", claim.processors));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::judge::Verdict;
    use super::*;
    use crate::results::Results;

    fn arguments() -> ReproduceArguments {
        ReproduceArguments {
            sources: vec!["all".into()],
            list: false,
            quick: true,
            seconds: None,
            repeat: None,
            iterations: None,
            seed: 1,
            reserve_huge_pages: false,
            out: None,
            quiet: true,
        }
    }

    #[test]
    fn every_source_has_claims_and_an_unknown_one_is_refused() {
        for source in ["S0", "S1", "S2", "S3", "S4"] {
            let tasks = chosen(&[source.to_string()]).unwrap();
            assert!(tasks.iter().flat_map(|t| &t.claims).all(|c| c.source == source), "{source}");
            assert!(tasks.iter().map(|t| t.claims.len()).sum::<usize>() >= 3, "{source}");
        }
        let wrong = chosen(&["S9".to_string()]).map(drop).unwrap_err().to_string();
        assert!(wrong.contains("S0, S1, S2, S3, S4"), "{wrong}");
        let lower = chosen(&["s4".to_string()]).unwrap();
        assert_eq!(lower.len(), 1, "case does not matter");
    }

    #[test]
    fn a_plan_has_the_cells_of_the_claims_that_the_machine_can_test() {
        let tasks = chosen(&["S4".to_string()]).unwrap();
        let stop = Stop::default();
        let (small, large) = [2, 12].map(|n| plan_of(&tasks[0], &arguments(), n, &stop).unwrap()).into();
        assert!(small.sessions.iter().all(|n| *n <= 2) && large.sessions.contains(&6), "{small:?} {large:?}");
        assert!(small.variants.contains(&"read-parameter@12.1".to_string()));
    }

    /// A run with the given rates: for each cell its repeats.
    fn results(cells: &[(&str, u32, &[f64])]) -> Results {
        let rows: Vec<serde_json::Value> = cells
            .iter()
            .flat_map(|(variant, sessions, rates)| {
                let (workload, generation) = variant.split_once('@').unwrap();
                rates.iter().zip(1..).map(move |(rate, repeat): (&f64, u32)| {
                    serde_json::json!({"variant": variant, "workload": workload, "generation": generation,
                        "sessions": sessions, "repeat": repeat, "operations": 1000, "elapsed_s": 1.0,
                        "ops_per_s": rate, "pct_linear": null,
                        "latches": {"the latch": {"gets": 2000, "misses": repeat, "sleeps": 0, "spin_gets": 0, "wait_time_us": 0}}})
                })
            })
            .collect();
        let run = serde_json::json!({"experiment": "e", "title": "t", "source": "", "question": "", "started": 1,
            "host": {"cpu": "a processor", "cores": 2, "memory_bytes": 1u64 << 30, "kernel": "6"}, "version": "0",
            "parameters": {}, "rows": rows, "latch_names": [["the latch", "its other name"]],
            "counts": [{"workload": "a", "generation": "11.1", "title": "gets", "expected": 2.0, "seen": 2.0}]});
        serde_json::from_value(run).unwrap()
    }

    fn claim(rule: &str) -> Claim {
        let text = format!("[[claim]]\nsource = \"S0\"\nsays = \"it is so\"\npublished = \"so\"\n{rule}");
        toml::from_str::<ClaimsFile>(&text).unwrap_or_else(|e| panic!("{e}")).claim.remove(0)
    }

    fn verdict(rule: &str, results: &Results) -> Verdict {
        let claim = claim(rule);
        claim.check(&["a", "b"]).unwrap_or_else(|e| panic!("{rule}: {e}"));
        judge("e", &claim, &Measured::Run(results)).verdict
    }

    #[test]
    fn a_ratio_is_reproduced_in_its_range_in_direction_outside_it_and_not_without_its_side() {
        let run = results(&[
            ("a@11.1", 1, &[100.0, 101.0, 99.0]),
            ("a@11.1", 2, &[180.0, 181.0, 179.0]),
            ("b@11.1", 1, &[100.5, 99.5, 100.0]),
            ("b@11.1", 2, &[60.0, 180.0, 100.0]),
        ]);
        let rule = |of: &str, to: &str, rest: &str| {
            let point = |(variant, sessions): (&str, &str)| {
                format!("{{ variant = \"{variant}\", generation = \"11.1\", sessions = {sessions} }}")
            };
            let [of, to] = [of, to].map(|p| point(p.split_once(' ').unwrap()));
            format!("ratio = {{ of = {of}, to = {to}, {rest} }}")
        };
        let of = |of: &str, to: &str, rest: &str| verdict(&rule(of, to, rest), &run);
        assert_eq!(of("a 2", "a 1", "published = 1.9, side = \"above\", within = [1.7, 2.1]"), Verdict::Reproduced);
        assert_eq!(of("a 2", "a 1", "published = 3, side = \"above\", within = [2.5, 4]"), Verdict::InDirection);
        assert_eq!(of("a 2", "a 1", "published = 0.5, side = \"below\", within = [0.1, 0.9]"), Verdict::NotReproduced);
        assert_eq!(of("b 1", "a 1", "published = 1.1, side = \"above\", within = [0.9, 1.2]"), Verdict::NotReproduced);
        assert_eq!(of("b 1", "a 1", "published = 1, side = \"level\", within = [0.9, 1.1]"), Verdict::Reproduced);
        // The average is within, the interval is not: the run cannot say.
        assert_eq!(of("b 2", "a 1", "published = 1, side = \"level\", within = [0.8, 1.3]"), Verdict::NotReproduced);
        assert_eq!(of("a 4", "a 1", "published = 1.9, side = \"above\", within = [1.7, 2.1]"), Verdict::NotTested);
        let more = format!(
            "processors = 12\n{}",
            rule("a 2", "a 1", "published = 1.9, side = \"above\", within = [1.7, 2.1]")
        );
        assert_eq!(verdict(&more, &run), Verdict::NotTested);
    }

    #[test]
    fn counts_and_figures_of_latches_are_judged() {
        let run = results(&[("a@11.1", 1, &[100.0, 101.0, 99.0])]);
        let count =
            |is: f64| format!("count = {{ variant = \"a\", generation = \"11.1\", law = \"gets\", is = {is} }}");
        assert_eq!(verdict(&count(2.0), &run), Verdict::Reproduced);
        assert_eq!(verdict(&count(3.0), &run), Verdict::NotReproduced);
        let figure = |figure: &str, within: &str| {
            format!(
                "figure = {{ at = {{ variant = \"a\", generation = \"11.1\", figure = \"{figure}\", \
                 of = \"its other name\" }}, published = 0.1, within = {within} }}"
            )
        };
        // 1, 2 and 3 misses of 2,000 gets.
        assert_eq!(verdict(&figure("misses", "[0, 0.1]"), &run), Verdict::Reproduced);
        assert_eq!(verdict(&figure("misses", "[0.1, 0.2]"), &run), Verdict::NotReproduced);
        assert_eq!(verdict(&figure("wait", "[0, 1]"), &run), Verdict::NotTested);
    }

    #[test]
    fn wrong_claims_are_refused_with_the_reason() {
        let ratio = "ratio = { of = { variant = \"a\" }, to = { variant = \"b\" }, published = 2, side = \"above\", within = [1, 3] }";
        let good = claim(ratio);
        assert_eq!(good.check(&["a", "b"]), Ok(()));
        for (from, to, reason) in [
            ("published = 2", "published = 5", "not within"),
            ("published = 2", "published = 1", "other side"),
            ("[1, 3]", "[3, 1]", "least"),
            ("variant = \"b\"", "variant = \"c\"", "no variant 'c'"),
            ("variant = \"b\"", "variant = \"b\", generation = \"7.3\"", "no generation '7.3'"),
            ("variant = \"b\"", "variant = \"b\", figure = \"misses\"", "the name of a latch"),
        ] {
            let message = claim(&ratio.replacen(from, to, 1)).check(&["a", "b"]).unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
        assert!(claim("").check(&["a"]).unwrap_err().contains("one of count, ratio and figure"));
    }

    #[test]
    fn a_worse_verdict_than_expected_is_found_and_an_untested_claim_says_nothing() {
        let run = results(&[("a@11.1", 1, &[100.0, 101.0, 99.0]), ("a@11.1", 2, &[100.0, 101.0, 99.0])]);
        let rule = "ratio = { of = { variant = \"a\", generation = \"11.1\", sessions = 2 }, \
                    to = { variant = \"a\", generation = \"11.1\" }, published = 2, side = \"above\", within = [1.5, 3] }";
        let of = |text: &str| {
            let judged = judge("e", &claim(text), &Measured::Run(&run));
            Reproduction::new(1, Default::default(), vec![judged], false)
        };
        assert!(!of(rule).is_as_expected());
        assert!(of(&format!("expect = \"not-reproduced\"\n{rule}")).is_as_expected());
        assert!(of(&format!("processors = 64\n{rule}")).is_as_expected());
        // A count that a complete run does not have any more is found.
        let lost = "count = { variant = \"a\", generation = \"11.1\", law = \"no such law\", is = 2 }";
        assert!(!of(lost).is_as_expected());
        let hostile = claim(&format!("note = \"<script>\"\nexpect = \"not-reproduced\"\n{rule}"));
        let judged = judge("e", &hostile, &Measured::Run(&run));
        let page = Reproduction::new(1, Default::default(), vec![judged], false).page();
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
    }
}
