//! The arguments of `lab run`, the plans made from them, and the check that the program to run supports them.

use std::path::PathBuf;

use crate::arrivals::{Pattern, Rate};
use crate::manifest::Manifest;
use crate::run::Plan;
use crate::stop::Stop;
use crate::{LabError, host, results, slob, time_machine, torture};

/// Arguments of `lab run`.
#[derive(clap::Args, Debug)]
pub struct RunArguments {
    /// A shipped experiment's name, time-machine, slob, huge-pages, torture, or a folder with a manifest.toml
    #[arg(default_value = "result-cache")]
    pub(crate) experiment: String,
    /// Time machine: the experiment to run in every generation; a name, a folder, or all [default: all]
    #[arg(long = "experiment", value_name = "NAME")]
    journey: Option<String>,
    /// Numbers of sessions, as 1,2,4
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1000))]
    sessions: Vec<u32>,
    /// Operations of each session in a cell (instead of --seconds)
    #[arg(long)]
    iterations: Option<u64>,
    /// Target duration of a cell in seconds
    #[arg(long)]
    seconds: Option<f64>,
    /// Operations that arrive in a second, for all sessions together, whether or not the earlier ones have ended;
    /// latencies are counted from the intended arrival
    #[arg(long, value_name = "ARRIVALS", value_parser = arrivals_per_s, conflicts_with = "iterations")]
    rate: Option<f64>,
    /// With --rate: the distances between arrivals [default: poisson]
    #[arg(long, value_enum, requires = "rate")]
    arrivals: Option<Pattern>,
    /// Repeats of each cell; the average of two or more is shown with its 95 % interval
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: Option<u32>,
    /// Only these: a workload, a generation, or workload@generation; may be repeated
    #[arg(long, value_delimiter = ',')]
    variant: Vec<String>,
    /// Generations to run instead of the manifest's
    #[arg(long, value_delimiter = ',')]
    generation: Vec<String>,
    /// Init parameter NAME=VALUE that overrides the manifest's; may be repeated
    #[arg(long)]
    param: Vec<String>,
    /// Folder to write to (default: results/EXPERIMENT-TIME)
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
    /// Seed of the order of the cells, and of all decisions of torture [default: 1]
    #[arg(long)]
    seed: Option<u64>,
    /// Torture: number of kills of the instance [default: 20]
    #[arg(long)]
    instance_kills: Option<u64>,
    /// Torture: number of killed sessions [default: 200]
    #[arg(long)]
    session_kills: Option<u64>,
    /// Torture: number of backups made under load that are restored to a moment; 0: NOARCHIVELOG [default: an eighth of
    /// the instance kills]
    #[arg(long)]
    restores: Option<u64>,
    /// Huge pages: reserve them in the machine's setting vm.nr_hugepages, as root; the setting is restored afterwards
    #[arg(long)]
    reserve_huge_pages: bool,
    #[command(flatten)]
    slob: slob::Options,
    /// Fewer numbers of sessions, shorter cells: a run of about a minute
    #[arg(long)]
    quick: bool,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// A program of `lab run`, to decide which options it supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    /// An experiment with a manifest.
    Manifest,
    TimeMachine,
    Slob,
    HugePages,
    Torture,
}

use Program::{HugePages, Manifest as Own, Slob, TimeMachine, Torture};

impl Program {
    const ALL: [Program; 5] = [Own, TimeMachine, Slob, HugePages, Torture];

    fn of(experiment: &str) -> Program {
        match experiment {
            time_machine::NAME => TimeMachine,
            slob::NAME => Slob,
            slob::HUGE_PAGES => HugePages,
            torture::NAME => Torture,
            _ => Own,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Own => "experiments with a manifest",
            TimeMachine => time_machine::NAME,
            Slob => slob::NAME,
            HugePages => slob::HUGE_PAGES,
            Torture => torture::NAME,
        }
    }
}

impl RunArguments {
    /// Every option with the programs that support it, and whether it was given. A new field of the arguments has to be
    /// added here.
    fn options(&self) -> Vec<(&'static str, &'static [Program], bool)> {
        let RunArguments {
            experiment: _,
            journey,
            sessions,
            iterations,
            seconds,
            rate,
            arrivals,
            repeat,
            variant,
            generation,
            param,
            out,
            seed,
            instance_kills,
            session_kills,
            restores,
            reserve_huge_pages,
            slob,
            quick,
            quiet,
        } = self;
        let mut all: Vec<(&'static str, &'static [Program], bool)> = vec![
            ("--experiment", &[TimeMachine], journey.is_some()),
            ("--sessions", &Program::ALL, !sessions.is_empty()),
            ("--iterations", &[Own, TimeMachine], iterations.is_some()),
            ("--seconds", &Program::ALL, seconds.is_some()),
            ("--rate", &[Own], rate.is_some()),
            ("--arrivals", &[Own], arrivals.is_some()),
            ("--repeat", &[Own, TimeMachine, Slob, HugePages], repeat.is_some()),
            ("--variant", &[Own, TimeMachine, Slob, HugePages], !variant.is_empty()),
            ("--generation", &[Own, TimeMachine, Torture], !generation.is_empty()),
            ("--param", &Program::ALL, !param.is_empty()),
            ("--out", &Program::ALL, out.is_some()),
            ("--seed", &[Own, TimeMachine, HugePages, Torture], seed.is_some()),
            ("--instance-kills", &[Torture], instance_kills.is_some()),
            ("--session-kills", &[Torture], session_kills.is_some()),
            ("--restores", &[Torture], restores.is_some()),
            ("--reserve-huge-pages", &[HugePages], *reserve_huge_pages),
            ("--quick", &[Own, TimeMachine, Slob, HugePages], *quick),
            ("--quiet", &Program::ALL, *quiet),
        ];
        for (name, of_huge_pages, given) in slob.given() {
            let programs: &[Program] = if of_huge_pages { &[Slob, HugePages] } else { &[Slob] };
            all.push((name, programs, given));
        }
        all
    }

    /// Refuses options that the program to run does not support.
    ///
    /// # Errors
    /// Lists each such option with the programs that support it, and the options of this program.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let program = Program::of(&self.experiment);
        let options = self.options();
        let wrong = options.iter().filter(|(_, programs, given)| *given && !programs.contains(&program));
        let lines: Vec<String> = wrong
            .map(|(name, programs, _)| {
                let of: Vec<&str> = programs.iter().map(|p| p.name()).collect();
                format!("'{}' has no option {name}: it is for {}", self.experiment, of.join(" and "))
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        let own = options.iter().filter(|(_, programs, _)| programs.contains(&program)).map(|o| o.0);
        let own: Vec<&str> = own.collect();
        Err(LabError::new(format!("{}\nIts options: {}", lines.join("\n"), own.join(" "))))
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    pub(crate) fn journey(&self) -> &str {
        self.journey.as_deref().unwrap_or("all")
    }

    fn params(&self) -> Result<Vec<(String, String)>, LabError> {
        let mut params = Vec::new();
        for pair in &self.param {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| LabError::new(format!("--param {pair} is not of the form NAME=VALUE")))?;
            params.push((name.trim().to_string(), value.trim().to_string()));
        }
        Ok(params)
    }

    pub(crate) fn torture_plan(&self, stop: &Stop) -> Result<torture::Plan, LabError> {
        Ok(torture::Plan {
            seed: self.seed(),
            sessions: self.sessions.first().copied().unwrap_or(8),
            instance_kills: self.instance_kills.unwrap_or(20),
            session_kills: self.session_kills.unwrap_or(200),
            restores: self.restores.unwrap_or(self.instance_kills.unwrap_or(20) / 8),
            seconds: self.seconds.unwrap_or(600.0),
            generations: self.generation.clone(),
            params: self.params()?,
            progress: !self.quiet,
            stop: stop.clone(),
            executable: None,
        })
    }

    fn interval_s(&self) -> Result<f64, LabError> {
        let seconds = self.seconds.unwrap_or(if self.quick { 1.0 } else { 10.0 });
        if seconds > 0.0 && seconds.is_finite() {
            return Ok(seconds);
        }
        Err(LabError::new("--seconds must be greater than 0".into()))
    }

    pub(crate) fn slob_plan(&self, stop: &Stop) -> Result<slob::Plan, LabError> {
        let sessions = match (self.sessions.is_empty(), self.quick) {
            (false, _) => self.sessions.clone(),
            (true, true) => vec![1, 2],
            (true, false) => vec![1, 2, 4, 8],
        };
        Ok(slob::Plan {
            options: self.slob.clone(),
            sessions,
            repeat: self.repeat.unwrap_or(if self.quick { 3 } else { 5 }),
            seconds: self.interval_s()?,
            quick: self.quick,
            variants: self.variant.clone(),
            params: self.params()?,
            progress: !self.quiet,
            stop: stop.clone(),
        })
    }

    pub(crate) fn huge_pages_plan(&self, stop: &Stop) -> Result<slob::HugePagesPlan, LabError> {
        let cores = host::describe().cores.max(1) as u32;
        Ok(slob::HugePagesPlan {
            options: self.slob.clone(),
            sessions: self.sessions.first().copied().unwrap_or(cores),
            repeat: self.repeat.unwrap_or(if self.quick { 5 } else { 40 }),
            may_reserve: self.reserve_huge_pages,
            seconds: self.interval_s()?,
            quick: self.quick,
            variants: self.variant.clone(),
            params: self.params()?,
            seed: self.seed(),
            progress: !self.quiet,
            stop: stop.clone(),
            executable: None,
        })
    }

    pub(crate) fn plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let sweep = &manifest.sweep;
        let sessions = match (self.sessions.is_empty(), self.quick && !sweep.quick_sessions.is_empty()) {
            (false, _) => self.sessions.clone(),
            (true, true) => sweep.quick_sessions.clone(),
            (true, false) => sweep.sessions.clone(),
        };
        let params = self.params()?;
        let seconds = self.seconds.unwrap_or(if self.quick { 0.3 } else { 2.0 });
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(LabError::new("--seconds must be greater than 0".into()));
        }
        Ok(Plan {
            sessions,
            iterations: self.iterations,
            seconds,
            rate: self.rate.map(|per_s| Rate { per_s, pattern: self.arrivals.unwrap_or(Pattern::Poisson) }),
            repeat: self.repeat.unwrap_or(if self.quick { 3 } else { 5 }),
            variants: self.variant.clone(),
            generations: if self.generation.is_empty() { sweep.generations.clone() } else { self.generation.clone() },
            params,
            seed: self.seed(),
            progress: !self.quiet,
            stop: stop.clone(),
        })
    }

    /// The plan of one experiment in a journey: all generations, with fewer repeats and numbers of sessions.
    pub(crate) fn journey_plan(&self, manifest: &Manifest, stop: &Stop) -> Result<Plan, LabError> {
        let mut plan = self.plan(manifest, stop)?;
        if self.generation.is_empty() {
            plan.generations = results::GENERATIONS.iter().map(|g| (*g).to_string()).collect();
        }
        if self.sessions.is_empty() && !self.quick {
            plan.sessions.retain(|n| [1, 2, 3, 4, 6, 8, 9, 12].contains(n));
        }
        // Each repeat of each generation starts an instance.
        plan.repeat = self.repeat.unwrap_or(if self.quick { 2 } else { 3 });
        if !self.quick {
            plan.seconds = self.seconds.unwrap_or(1.0);
        }
        Ok(plan)
    }
}

fn arrivals_per_s(text: &str) -> Result<f64, String> {
    let per_s: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    if per_s > 0.0 && per_s.is_finite() { Ok(per_s) } else { Err("a rate is above zero".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArguments,
    }

    fn arguments(line: &str) -> RunArguments {
        Line::parse_from(std::iter::once("run").chain(line.split_whitespace())).run
    }

    #[test]
    fn options_of_other_programs_are_refused_with_the_programs_that_have_them() {
        for (line, option, of) in [
            ("result-cache --instance-kills 5", "--instance-kills", "it is for torture"),
            ("slob --rate 5", "--rate", "it is for experiments with a manifest"),
            ("row-cache --think-ms 1", "--think-ms", "it is for slob"),
            ("torture --iterations 5", "--iterations", "it is for experiments with a manifest and time-machine"),
            ("torture --quick", "--quick", "slob"),
            ("slob --seed 7", "--seed", "torture"),
            ("slob --generation 11.1", "--generation", "time-machine"),
            ("huge-pages --hot-pct 50", "--hot-pct", "it is for slob"),
            ("hot-cursor --experiment row-cache", "--experiment", "it is for time-machine"),
            ("some/folder --reserve-huge-pages", "--reserve-huge-pages", "it is for huge-pages"),
        ] {
            let message = arguments(line).check().expect_err(line).to_string();
            assert!(message.contains(option) && message.contains(of), "{line}: {message}");
            assert!(message.contains("\nIts options: --"), "{message}");
        }
        let both = arguments("result-cache --restores 1 --session-kills 2").check().unwrap_err().to_string();
        assert!(both.contains("--restores") && both.contains("--session-kills"), "{both}");
    }

    #[test]
    fn each_program_has_its_own_options() {
        for line in [
            "",
            "result-cache --sessions 1,2 --iterations 5 --repeat 2 --variant a --generation 11.1 --param a=b --out o --seed 3 --quick --quiet",
            "result-cache --rate 1000 --arrivals constant --seconds 1 --sessions 2",
            "time-machine --experiment row-cache --sessions 1 --seconds 1 --generation 11.1",
            "slob --sessions 1 --small-rows 1000 --big-rows 1000 --update-pct 10 --hot-pct 10 --hot-rows 300 --think-ms 1 --writers 1 --warm-up 1",
            "huge-pages --sessions 2 --small-rows 1000 --big-rows 2000 --warm-up 1 --seed 3 --reserve-huge-pages --variant small",
            "torture --seed 7 --sessions 8 --instance-kills 5 --session-kills 5 --restores 1 --seconds 60 --generation 11.1 --quiet",
        ] {
            arguments(line).check().unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        for program in Program::ALL {
            let own =
                arguments("").options().into_iter().filter(|(_, programs, _)| programs.contains(&program)).count();
            assert!(own > 5, "{program:?} has {own} options");
        }
    }
}
