//! The arguments of `lab run`, and the plans made from them.
//!
//! Each program of the laboratory is a subcommand with its own options. An experiment with a manifest needs no
//! subcommand: `lab run NAME`.

use std::path::PathBuf;

use crate::arrivals::{Pattern, Rate};
use crate::manifest::Manifest;
use crate::run::Plan;
use crate::stop::Stop;
use crate::targets::{self, Asked};
use crate::{LabError, host, results, slob, torture};

/// Arguments of `lab run`.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct RunArguments {
    #[command(subcommand)]
    pub(crate) program: Option<Program>,
    #[command(flatten)]
    pub(crate) own: ExperimentArguments,
}

/// The programs that are no experiment with a manifest.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Program {
    /// One experiment, or all, in every generation, as small multiples
    #[command(after_help = JOURNEY_EXAMPLES)]
    TimeMachine(Box<JourneyArguments>),
    /// SLOB's method: small and big tables, a hot spot, updates, think time
    #[command(after_help = SLOB_EXAMPLES)]
    Slob(Box<SlobArguments>),
    /// SLOB on pages of 4 KB and 2 MB, touched beforehand or not
    #[command(after_help = HUGE_PAGES_EXAMPLES)]
    HugePages(Box<HugePagesArguments>),
    /// Kill sessions and instances under load, and compare what is left
    #[command(after_help = TORTURE_EXAMPLES)]
    Torture(Box<TortureArguments>),
}

const JOURNEY_EXAMPLES: &str = "Examples:
  latchwork lab run time-machine --quick
  latchwork lab run time-machine --experiment row-cache --sessions 1,2,6 --seconds 1";

const SLOB_EXAMPLES: &str = "Examples:
  latchwork lab run slob --quick
  latchwork lab run slob --sessions 1,2,4 --variant small,updates --update-pct 10 --think-ms 1";

const HUGE_PAGES_EXAMPLES: &str = "Examples:
  latchwork lab run huge-pages --quick
  latchwork lab run huge-pages --sessions 2 --repeat 40 --param sga_target=8G";

const TORTURE_EXAMPLES: &str = "Examples:
  latchwork lab run torture --seed 7 --instance-kills 5 --session-kills 50 --seconds 120
  latchwork lab run torture --seed 7 --sessions 8 --instance-kills 500 --session-kills 5000 --seconds 3600
  latchwork lab run torture --generation 12.1,latchwork";

/// Options of every program.
#[derive(clap::Args, Debug)]
pub(crate) struct Common {
    /// Init parameter NAME=VALUE that overrides the experiment's; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Folder to write to (default: results/EXPERIMENT-TIME)
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

impl Common {
    fn params(&self) -> Result<Vec<(String, String)>, LabError> {
        params_of(&self.param)
    }
}

/// The sweep of an experiment with a manifest.
#[derive(clap::Args, Debug)]
pub(crate) struct SweepArguments {
    /// Numbers of sessions, as 1,2,4
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Vec<u32>,
    /// Operations of each session in a cell (instead of --seconds)
    #[arg(long)]
    iterations: Option<u64>,
    /// Target duration of a cell in seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// Repeats of each cell; the average of two or more is shown with its 95 % interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Only these: a workload, a generation, or workload@generation; may be repeated
    #[arg(long, value_delimiter = ',')]
    variant: Vec<String>,
    /// Generations to run instead of the manifest's
    #[arg(long, value_delimiter = ',')]
    generation: Vec<String>,
    /// Seed of the order of the cells [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Fewer numbers of sessions, shorter cells: a run of about a minute
    #[arg(long)]
    quick: bool,
}

/// Arguments of an experiment with a manifest.
#[derive(clap::Args, Debug)]
pub(crate) struct ExperimentArguments {
    /// A shipped experiment's name, or a folder with a manifest.toml
    #[arg(default_value = "result-cache")]
    pub(crate) experiment: String,
    #[command(flatten)]
    sweep: SweepArguments,
    /// Operations that arrive in a second, for all sessions together, whether or not the earlier ones have ended;
    /// latencies are counted from the intended arrival
    #[arg(long, value_name = "ARRIVALS", value_parser = arrivals_per_s, conflicts_with = "iterations")]
    rate: Option<f64>,
    /// With --rate: the distances between arrivals [default: poisson]
    #[arg(long, value_enum, requires = "rate")]
    arrivals: Option<Pattern>,
    #[command(flatten)]
    targets: TargetsArguments,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The engines of a run.
#[derive(clap::Args, Debug)]
pub(crate) struct TargetsArguments {
    /// Engines to compare, one awake at a time, in rounds: latchwork, latchwork@GENERATION, postgresql, mariadb,
    /// sqlite, duckdb, or NAME=URL for a database of yours (postgresql://, mariadb://, oracle://; env:VARIABLE has it)
    #[arg(long, value_delimiter = ',', value_name = "ENGINE")]
    targets: Vec<String>,
}

impl TargetsArguments {
    fn asked(&self) -> Result<Vec<Asked>, LabError> {
        self.targets.iter().map(|text| text.parse()).collect()
    }
}

/// Arguments of the time machine.
#[derive(clap::Args, Debug)]
pub(crate) struct JourneyArguments {
    /// The experiment to run in every generation; a name, a folder, or all
    #[arg(long, value_name = "NAME", default_value = "all")]
    pub(crate) experiment: String,
    #[command(flatten)]
    sweep: SweepArguments,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of `slob`.
#[derive(clap::Args, Debug)]
pub(crate) struct SlobArguments {
    /// Numbers of sessions, as 1,2,4
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Vec<u32>,
    #[command(flatten)]
    interval: IntervalArguments,
    /// Only these workloads: small, big, hot-spot, updates; may be repeated
    #[arg(long, value_delimiter = ',')]
    variant: Vec<String>,
    #[command(flatten)]
    options: slob::Options,
    #[command(flatten)]
    targets: TargetsArguments,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Measurements between two snapshots.
#[derive(clap::Args, Debug)]
pub(crate) struct IntervalArguments {
    /// Seconds between two snapshots [default: 10; with --quick 1]
    #[arg(long)]
    seconds: Option<f64>,
    /// Repeats of each cell; the average of two or more is shown with its 95 % interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Smaller tables, shorter and fewer measurements
    #[arg(long)]
    quick: bool,
}

impl IntervalArguments {
    fn seconds(&self) -> Result<f64, LabError> {
        above_zero(self.seconds.unwrap_or(if self.quick { 1.0 } else { 10.0 }))
    }
}

/// Arguments of `huge-pages`.
#[derive(clap::Args, Debug)]
pub(crate) struct HugePagesArguments {
    /// Number of sessions [default: the cores of this machine]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Option<u32>,
    #[command(flatten)]
    interval: IntervalArguments,
    /// Only configurations whose names contain one of these, as '4 KB' or big; may be repeated
    #[arg(long, value_delimiter = ',')]
    variant: Vec<String>,
    /// Seed of the order of the configurations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Reserve them in the machine's setting vm.nr_hugepages, as root; the setting is restored afterwards
    #[arg(long)]
    reserve_huge_pages: bool,
    #[command(flatten)]
    options: slob::TableOptions,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Arguments of the torture.
#[derive(clap::Args, Debug)]
pub(crate) struct TortureArguments {
    /// Seed of all decisions
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of workers
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: u32,
    /// Number of kills of the instance
    #[arg(long, default_value_t = 20)]
    instance_kills: u64,
    /// Number of killed sessions
    #[arg(long, default_value_t = 200)]
    session_kills: u64,
    /// Number of backups made under load that are restored to a moment; 0: NOARCHIVELOG [default: an eighth of the
    /// instance kills]
    #[arg(long)]
    restores: Option<u64>,
    /// The run ends after this many seconds, with whatever number of kills
    #[arg(long, default_value_t = 600.0)]
    seconds: f64,
    /// Generations, one life of the instance each in turn [default: latchwork]
    #[arg(long, value_delimiter = ',')]
    generation: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

fn arrivals_per_s(text: &str) -> Result<f64, String> {
    let per_s: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    if per_s > 0.0 && per_s.is_finite() { Ok(per_s) } else { Err("a rate is above zero".into()) }
}

fn above_zero(seconds: f64) -> Result<f64, LabError> {
    match seconds > 0.0 && seconds.is_finite() {
        true => Ok(seconds),
        false => Err(LabError::new("--seconds must be greater than 0".into())),
    }
}

impl TortureArguments {
    pub(crate) fn plan(&self, stop: &Stop) -> Result<torture::Plan, LabError> {
        Ok(torture::Plan {
            seed: self.seed,
            sessions: self.sessions,
            instance_kills: self.instance_kills,
            session_kills: self.session_kills,
            restores: self.restores.unwrap_or(self.instance_kills / 8),
            seconds: self.seconds,
            generations: self.generation.clone(),
            params: self.common.params()?,
            progress: !self.common.quiet,
            stop: stop.clone(),
            executable: None,
        })
    }
}

impl SlobArguments {
    /// The plan of a run on several engines; `None` without `--targets`.
    pub(crate) fn targets_plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Option<targets::Plan>, LabError> {
        let targets = self.targets.asked()?;
        if targets.is_empty() {
            return Ok(None);
        }
        if !self.variant.is_empty() || !self.options.is_default() {
            return Err(LabError::new(
                "--targets runs the reads of small tables: --variant and the options of tables and work do not fit"
                    .into(),
            ));
        }
        let quick = self.interval.quick;
        let sessions = match (self.sessions.is_empty(), quick) {
            (false, _) => self.sessions.clone(),
            (true, true) => manifest.sweep.quick_sessions.clone(),
            (true, false) => manifest.sweep.sessions.clone(),
        };
        Ok(Some(targets::Plan {
            targets,
            sessions,
            rounds: self.interval.repeat.unwrap_or(targets::ROUNDS_LEAST),
            seconds: above_zero(self.interval.seconds.unwrap_or(if quick { 0.3 } else { 0.5 }))?,
            iterations: None,
            variants: Vec::new(),
            params: self.common.params()?,
            seed: 1,
            progress: !self.common.quiet,
            stop: stop.clone(),
        }))
    }

    pub(crate) fn plan(&self, stop: &Stop) -> Result<slob::Plan, LabError> {
        let quick = self.interval.quick;
        let sessions = match (self.sessions.is_empty(), quick) {
            (false, _) => self.sessions.clone(),
            (true, true) => vec![1, 2],
            (true, false) => vec![1, 2, 4, 8],
        };
        Ok(slob::Plan {
            options: self.options.clone(),
            sessions,
            repeat: self.interval.repeat.unwrap_or(if quick { 3 } else { 5 }),
            seconds: self.interval.seconds()?,
            quick,
            variants: self.variant.clone(),
            params: self.common.params()?,
            progress: !self.common.quiet,
            stop: stop.clone(),
        })
    }
}

impl HugePagesArguments {
    pub(crate) fn plan(&self, stop: &Stop) -> Result<slob::HugePagesPlan, LabError> {
        let cores = host::describe().cores.max(1) as u32;
        let quick = self.interval.quick;
        Ok(slob::HugePagesPlan {
            options: self.options.clone(),
            sessions: self.sessions.unwrap_or(cores),
            repeat: self.interval.repeat.unwrap_or(if quick { 5 } else { 40 }),
            may_reserve: self.reserve_huge_pages,
            seconds: self.interval.seconds()?,
            quick,
            variants: self.variant.clone(),
            params: self.common.params()?,
            seed: self.seed,
            progress: !self.common.quiet,
            stop: stop.clone(),
            executable: None,
        })
    }
}

impl SweepArguments {
    fn plan(&self, common: &Common, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let sweep = &manifest.sweep;
        let sessions = match (self.sessions.is_empty(), self.quick && !sweep.quick_sessions.is_empty()) {
            (false, _) => self.sessions.clone(),
            (true, true) => sweep.quick_sessions.clone(),
            (true, false) => sweep.sessions.clone(),
        };
        Ok(Plan {
            sessions,
            iterations: self.iterations,
            seconds: above_zero(self.seconds.unwrap_or(if self.quick { 0.3 } else { 2.0 }))?,
            rate: None,
            repeat: self.repeat.unwrap_or(if self.quick { 3 } else { 5 }),
            variants: self.variant.clone(),
            generations: if self.generation.is_empty() { sweep.generations.clone() } else { self.generation.clone() },
            params: common.params()?,
            seed: self.seed.unwrap_or(1),
            progress: !common.quiet,
            stop: stop.clone(),
        })
    }
}

impl ExperimentArguments {
    /// The plan of a run on several engines; `None` without `--targets`.
    pub(crate) fn targets_plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Option<targets::Plan>, LabError> {
        let targets = self.targets.asked()?;
        if targets.is_empty() {
            return Ok(None);
        }
        let refused = [(self.rate.is_some(), "--rate"), (!self.sweep.generation.is_empty(), "--generation")];
        if let Some((_, option)) = refused.into_iter().find(|(is_there, _)| *is_there) {
            return Err(LabError::new(format!(
                "{option} is not possible with --targets; latchwork@11.1 names a generation"
            )));
        }
        let plan = self.sweep.plan(&self.common, manifest, stop)?;
        let rounds = self.sweep.repeat.unwrap_or(targets::ROUNDS_LEAST);
        let seconds = if self.sweep.seconds.is_none() && !self.sweep.quick { 0.5 } else { plan.seconds };
        // More sessions than twice the cores show the scheduler, not the engines.
        let few = 2 * host::describe().cores.max(1) as u32;
        let own = self.sweep.sessions.is_empty();
        let sessions = plan.sessions.into_iter().filter(|n| !own || *n <= few).collect();
        Ok(Some(targets::Plan {
            targets,
            sessions,
            rounds,
            seconds,
            iterations: plan.iterations,
            variants: plan.variants,
            params: plan.params,
            seed: plan.seed,
            progress: plan.progress,
            stop: stop.clone(),
        }))
    }

    pub(crate) fn plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let pattern = self.arrivals.unwrap_or(Pattern::Poisson);
        let rate = self.rate.map(|per_s| Rate { per_s, pattern });
        Ok(Plan { rate, ..self.sweep.plan(&self.common, manifest, stop)? })
    }

    /// # Errors
    /// The name of a program, which is no experiment with a manifest: an option stood before it.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let programs = <Program as clap::Subcommand>::augment_subcommands(clap::Command::new("run"));
        match programs.find_subcommand(&self.experiment) {
            Some(_) => Err(LabError::new(format!(
                "'{0}' has options of its own, which come behind its name: latchwork lab run {0} --help",
                self.experiment
            ))),
            None => Ok(()),
        }
    }
}

impl JourneyArguments {
    /// The plan of one experiment in a journey: all generations, with fewer repeats and numbers of sessions.
    pub(crate) fn plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let sweep = &self.sweep;
        let mut plan = sweep.plan(&self.common, manifest, stop)?;
        if sweep.generation.is_empty() {
            plan.generations = results::GENERATIONS.iter().map(|g| (*g).to_string()).collect();
        }
        if sweep.sessions.is_empty() && !sweep.quick {
            plan.sessions.retain(|n| [1, 2, 3, 4, 6, 8, 9, 12].contains(n));
        }
        // Each repeat of each generation starts an instance.
        plan.repeat = sweep.repeat.unwrap_or(if sweep.quick { 2 } else { 3 });
        if !sweep.quick {
            plan.seconds = sweep.seconds.unwrap_or(1.0);
        }
        Ok(plan)
    }
}

/// The init parameters of `--param`.
pub(crate) fn params_of(pairs: &[String]) -> Result<Vec<(String, String)>, LabError> {
    let mut params = Vec::new();
    for pair in pairs {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| LabError::new(format!("--param {pair} is not of the form NAME=VALUE")))?;
        params.push((name.trim().to_string(), value.trim().to_string()));
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_machine;
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArguments,
    }

    fn parsed(line: &str) -> Result<RunArguments, clap::Error> {
        Line::try_parse_from(std::iter::once("run").chain(line.split_whitespace())).map(|line| line.run)
    }

    #[test]
    fn the_definitions_are_right_and_the_programs_have_their_names() {
        Line::command().debug_assert();
        let command = Line::command();
        let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, [time_machine::NAME, slob::NAME, slob::HUGE_PAGES, torture::NAME]);
        for program in command.get_subcommands() {
            let help = program.clone().render_help().to_string();
            assert!(help.contains("Examples:\n  latchwork lab run "), "{help}");
        }
    }

    #[test]
    fn options_of_other_programs_are_refused() {
        for (line, option) in [
            ("result-cache --instance-kills 5", "--instance-kills"),
            ("row-cache --think-ms 1", "--think-ms"),
            ("torture --iterations 5", "--iterations"),
            ("torture --quick", "--quick"),
            ("torture --repeat 3", "--repeat"),
            ("slob --seed 7", "--seed"),
            ("slob --generation 11.1", "--generation"),
            ("slob --rate 5", "--rate"),
            ("time-machine --rate 5", "--rate"),
            ("time-machine --targets sqlite", "--targets"),
            ("huge-pages --targets sqlite", "--targets"),
            ("huge-pages --hot-pct 50", "--hot-pct"),
            ("hot-cursor --experiment row-cache", "--experiment"),
            ("some/folder --reserve-huge-pages", "--reserve-huge-pages"),
        ] {
            let message = parsed(line).expect_err(line).to_string();
            assert!(message.contains(&format!("unexpected argument '{option}'")), "{line}: {message}");
        }
        let behind = parsed("--quick torture").map(|run| run.own.check().unwrap_err().to_string());
        assert!(behind.is_ok_and(|message| message.contains("lab run torture --help")));
    }

    #[test]
    fn a_run_on_several_engines_has_ten_rounds_and_refuses_what_it_cannot_do() {
        let experiment = crate::Experiment::find("result-cache").unwrap();
        let plan = |line: &str| {
            let own = parsed(line).unwrap().own;
            own.targets_plan(&experiment.manifest, &Stop::default()).map_err(|e| e.to_string())
        };
        assert!(plan("result-cache").unwrap().is_none());
        let targets = plan("result-cache --targets latchwork,sqlite").unwrap().unwrap();
        assert_eq!((targets.rounds, targets.targets.len()), (10, 2));
        assert!(!targets.sessions.is_empty());
        for (line, reason) in [
            ("result-cache --targets latchwork --rate 5", "--rate"),
            ("result-cache --targets latchwork --generation 11.1", "latchwork@11.1"),
            ("result-cache --targets db2", "no engine db2"),
        ] {
            let message = plan(line).unwrap_err();
            assert!(message.contains(reason), "{line}: {message}");
        }
        let Some(Program::Slob(slob)) = parsed("slob --targets sqlite --update-pct 5").unwrap().program else {
            panic!()
        };
        assert!(slob.targets_plan(&crate::Experiment::slob().manifest, &Stop::default()).is_err());
    }

    /// The lines that README, docs, tests and the help of earlier versions name.
    #[test]
    fn each_program_has_its_own_options() {
        for line in [
            "",
            "--quick",
            "result-cache --sessions 1,2 --iterations 5 --repeat 2 --variant a --generation 11.1 --param a=b --out o --seed 3 --quick --quiet",
            "result-cache --rate 1000 --arrivals constant --seconds 1 --sessions 2",
            "my-experiment/",
            "kill-cpu --targets latchwork,latchwork@9.2,postgresql,own=postgres://u:p@h/db --sessions 1,2 --repeat 10",
            "slob --targets latchwork,sqlite --sessions 1 --seconds 1 --repeat 10",
            "time-machine --quick",
            "time-machine --experiment row-cache --sessions 1 --seconds 1 --generation 11.1 --iterations 3 --seed 3",
            "slob --sessions 1 --small-rows 1000 --big-rows 1000 --update-pct 10 --hot-pct 10 --hot-rows 300 --think-ms 1 --writers 1 --warm-up 1",
            "huge-pages --sessions 2 --small-rows 1000 --big-rows 2000 --warm-up 1 --seed 3 --reserve-huge-pages --variant small",
            "huge-pages --quick --sessions 2 --param sga_target=16G",
            "torture --seed 7 --sessions 8 --instance-kills 5 --session-kills 5 --restores 1 --seconds 60 --generation 11.1 --quiet",
            "torture --sessions 300 --param processes=400 --param result_cache_max_size=1M",
        ] {
            let run = parsed(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            run.own.check().unwrap_or_else(|e| panic!("{line}: {e}"));
            let first = line.split(' ').next().unwrap_or_default();
            let is_program = ["time-machine", "slob", "huge-pages", "torture"].contains(&first);
            assert_eq!(run.program.is_some(), is_program, "{line}");
        }
        assert_eq!(parsed("").unwrap().own.experiment, "result-cache");
        assert_eq!(parsed("my-experiment/").unwrap().own.experiment, "my-experiment/");
        let Some(Program::Torture(torture)) = parsed("torture --instance-kills 80").unwrap().program else { panic!() };
        let plan = torture.plan(&Stop::default()).unwrap();
        assert_eq!((plan.seed, plan.sessions, plan.restores, plan.session_kills), (1, 8, 10, 200));
    }
}
