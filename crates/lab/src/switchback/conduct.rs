//! Conducting a switchback: the load, the switches, and the counts of the sessions in each period.
//!
//! A period begins when the switch has returned: the structure has drained by then. The counts are read at several ages
//! and at the end. The figures of a period are those behind the burn-in; those behind twice the burn-in are the check:
//! when the two estimates differ, the burn-in was too short. The rates by age, after switches that change the design
//! less after those that keep it, show how long the structure takes to settle (module `settling`).
//!
//! An operation counts for the period that it begins in. Its end may see the next design: that takes the same share of
//! both designs' operations, and dropping those that still run would drop long ones more often. Nor does the time
//! between the last reading and the next switch count.
//!
//! A quad in which a session came or went is left out: no design makes sessions come. A quad with a period in which
//! nothing was done cannot be left out, because the design may be the reason: such a run has no answer.
//!
//! The session that switches is the holder of the designs (`_switch_holder`): the instance puts them back when it ends,
//! be it by a second Ctrl-C or a kill of this program.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::{Bind, Client, Credentials, Ephemeral};
use types::Value;

use super::design::{Arm, Kind, Quad, Quads};
use super::inference::{QUADS_LEAST, Sequential, contrast, is_narrow_enough, moments, quads_needed, t_half};
use super::plan::{Plan, Structure};
use super::settling::Settling;
use crate::error::LabError;
use crate::manifest::Experiment;
use crate::run::{execute_worker, set_up};
use crate::stop::Stop;
use crate::workers::{CALL_S, rate_of};

/// The first contrasts tune the sequential test and are not in it.
const PILOT: usize = 10;
/// Comparisons of A with A before a run may end because its interval is narrow, and before they are looked at.
const ITSELF_LEAST: usize = 10;
/// Quads in a row without a usable figure after which the run gives up.
const VOID_MOST: u32 = 20;
/// Time between two lines of the live table.
const TELL: Duration = Duration::from_secs(2);

/// The thread of a session that works.
type Worker = JoinHandle<Result<(), LabError>>;

/// The sessions that work meanwhile.
pub struct Load {
    dir: PathBuf,
    own: Option<(Ephemeral, Vec<Worker>)>,
    stop: Arc<AtomicBool>,
}

impl Load {
    /// The load of a running instance.
    pub fn running(dir: &Path) -> Load {
        Load { dir: dir.to_path_buf(), own: None, stop: Arc::default() }
    }

    /// Starts an instance and the workers of an experiment in it.
    pub fn of_experiment(
        name: &str,
        variant: Option<&str>,
        sessions: u32,
        params: &[(String, String)],
    ) -> Result<Load, LabError> {
        let experiment = Experiment::find(name)?;
        let variants = &experiment.manifest.variants;
        let chosen = match variant {
            Some(name) => variants.iter().find(|v| v.name == name),
            None => variants.last(),
        };
        let names = || variants.iter().map(|v| v.name.as_str()).collect::<Vec<_>>().join(", ");
        let worker =
            chosen.ok_or_else(|| LabError::new(format!("the variants of {name} are {}", names())))?.worker.clone();
        let generation = params.iter().find(|(name, _)| name == "latch_generation").map_or("latchwork", |(_, g)| g);
        let (ephemeral, mut first) = set_up(&experiment, params, generation)?;
        let rate = rate_of(&mut |iterations| {
            let started = Instant::now();
            execute_worker(&mut first, &worker, iterations)?;
            Ok(started.elapsed().as_secs_f64())
        })?;
        let portion = experiment.manifest.sweep.portion;
        let each = ((rate * CALL_S) as u64).max(1).next_multiple_of(portion);
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = Vec::new();
        for _ in 0..sessions {
            let mut session = ephemeral.connect(&Credentials::Sysdba)?;
            let (stop, worker) = (Arc::clone(&stop), worker.clone());
            workers.push(std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    execute_worker(&mut session, &worker, each)?;
                }
                session.logoff(true).map_err(LabError::from)
            }));
        }
        Ok(Load { dir: ephemeral.dir().to_path_buf(), own: Some((ephemeral, workers)), stop })
    }

    /// Ends the workers that this load has started.
    pub fn end(self) -> Result<(), LabError> {
        self.stop.store(true, Ordering::Relaxed);
        let Some((_ephemeral, workers)) = self.own else { return Ok(()) };
        let ended = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(LabError::new("a worker's thread panicked".into()))));
        ended.collect()
    }
}

/// The counts of all sessions but the conductor's at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counts {
    /// Executions that have begun.
    executions: u64,
    cpu_ns: u64,
    now_ns: u64,
    /// Differs when a session has come or gone.
    sessions: u64,
}

/// The reason why a period has no figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacks {
    /// A session came or went.
    Sessions,
    /// Nothing was done.
    Work,
}

/// The figures of a period: operations per second, and processor time per operation, both as logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub rate: f64,
    pub cpu: f64,
}

/// The figures of a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// Behind the burn-in.
    pub figures: Figures,
    /// Behind twice the burn-in.
    pub later: Figures,
}

/// The figures between two readings.
pub fn figures(from: Counts, to: Counts) -> Result<Figures, Lacks> {
    let of = |counts: Counts| [counts.executions, counts.now_ns, counts.cpu_ns];
    let [from_all, to_all] = [from, to].map(of);
    if from.sessions != to.sessions || from_all.iter().zip(&to_all).any(|(from, to)| from > to) {
        return Err(Lacks::Sessions);
    }
    let [operations, ns, cpu_ns] = [0, 1, 2].map(|at| (to_all[at] - from_all[at]) as f64);
    if operations == 0.0 || ns == 0.0 || cpu_ns == 0.0 {
        return Err(Lacks::Work);
    }
    Ok(Figures { rate: (operations / ns * 1e9).ln(), cpu: (cpu_ns / operations).ln() })
}

/// The contrasts of one comparison.
#[derive(Clone, Debug, Default)]
pub struct Contrasts {
    /// Of operations per second.
    pub rate: Vec<f64>,
    /// Of processor time per operation.
    pub cpu: Vec<f64>,
    /// Those of `rate` after twice the burn-in.
    pub later: Vec<f64>,
}

/// A run so far.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub against_b: Contrasts,
    pub against_itself: Contrasts,
    /// The exact sequential test, over the contrasts behind the pilot.
    pub sequential: Option<Sequential>,
    /// The rates by age.
    pub settling: Settling,
    /// Quads in which a session came or went.
    pub void: u32,
    /// Quads with a period in which nothing was done.
    pub idle: u32,
    pub seconds: f64,
    /// The average length of a switch.
    pub switch_us: f64,
}

impl Comparison {
    /// The reason why the run does not support an answer.
    pub fn objection(&self, plan: &Plan) -> Option<String> {
        if self.idle > 0 {
            return Some(format!(
                "nothing was done in a period of {} quads, and the design may be the reason: use a longer --period",
                self.idle
            ));
        }
        if let Some(age) = self.settling.unsettled_ms(plan.burn_in) {
            return Some(format!(
                "a change of design still has an effect {age} ms after it: use a --burn-in of more than {age} ms"
            ));
        }
        let moved: Vec<f64> =
            self.against_b.rate.iter().zip(&self.against_b.later).map(|(first, later)| first - later).collect();
        let burn_in = plan.burn_in.as_millis();
        if moved.len() >= QUADS_LEAST && moments(&moved).0.abs() > t_half(&moved) && moments(&moved).0.abs() > 0.002 {
            return Some(format!(
                "the estimate after {burn_in} ms of burn-in differs from that after {} ms by {:.2} %: use a longer one",
                2 * burn_in,
                100.0 * moments(&moved).0.exp_m1()
            ));
        }
        let itself = &self.against_itself.rate;
        // At 1 %: this look would otherwise refuse one sound run in twenty.
        if itself.len() >= ITSELF_LEAST && moments(itself).0.abs() > 1.35 * t_half(itself) {
            return Some(format!(
                "A differs from A by {:.2} %: something follows the periods",
                100.0 * moments(itself).0.exp_m1()
            ));
        }
        None
    }
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    NarrowEnough,
    TimeOver,
    /// By Ctrl-C.
    Asked,
}

/// The session that switches and reads.
pub struct Conductor<'a> {
    plan: &'a Plan,
    session: Client,
    /// The design in force before the run, and the value of the parameter.
    original: String,
    parameter: String,
    counts: String,
    /// The design that the last switch put into force.
    in_force: String,
    settling: Settling,
    switches: u32,
    switching: Duration,
}

impl<'a> Conductor<'a> {
    pub fn begin(load: &Load, plan: &'a Plan) -> Result<Conductor<'a>, LabError> {
        let mut session = Client::connect(&load.dir, &Credentials::Sysdba)?;
        let (sid, serial) = (session.welcome().sid, session.welcome().serial);
        let original = design_in_force(&mut session, plan.structure)?;
        let sql = format!("select ksppstvl from x$ksppi where ksppinm = '{}'", plan.structure.parameter());
        let parameter = first_text(&mut session, &sql)?.unwrap_or_default();
        let counts = format!(
            "select sum(executions), sum(cpu_ns), max(now_ns), sum(sid * 1000003 + serial#) from x$kslwork \
             where sid <> {sid}"
        );
        let structure = plan.structure.name();
        let name = format!("begin dbms_application_info.set_module('latchwork switchback', '{structure}'); end;");
        session.execute(&name, &[])?;
        let hold = format!("alter system set \"_switch_holder\" = '{sid},{serial}'");
        session.execute(&hold, &[]).map_err(|e| LabError::new(format!("{e}\nin {hold}")))?;
        let in_force = original.clone();
        let settling = Settling::new(plan.ages());
        let (switches, switching) = (0, Duration::ZERO);
        let mut it = Conductor { plan, session, original, parameter, counts, in_force, settling, switches, switching };
        // Both designs once: a wrong name fails here, and later switches find their statements parsed.
        let [a, b] = &plan.designs;
        match it.switch(b).and_then(|()| it.switch(a)).and_then(|()| it.read()) {
            Ok(_) => Ok(it),
            Err(e) => {
                let _ = it.restore();
                Err(e)
            }
        }
    }

    fn switch(&mut self, name: &str) -> Result<(), LabError> {
        let from = Instant::now();
        let design = name.replace('\'', "''");
        let value = if self.plan.structure == Structure::SpinCount { design } else { format!("'{design}'") };
        let sql = format!("alter system set \"{}\" = {value}", self.plan.structure.parameter());
        self.session.execute(&sql, &[]).map_err(|e| LabError::new(format!("{e}\nin {sql}")))?;
        self.switches += 1;
        self.switching += from.elapsed();
        self.in_force = name.to_string();
        Ok(())
    }

    /// Puts the design in force before the run and the value of the parameter back, and ends the hold on designs.
    pub fn restore(&mut self) -> Result<(), LabError> {
        let (original, parameter) = (self.original.clone(), self.parameter.clone());
        self.switch(&parameter)?;
        // The parameter may have shown another design than that in force, for example after the death of a session.
        if design_in_force(&mut self.session, self.plan.structure)? != original {
            self.switch(&original)?;
        }
        self.session.execute("alter system set \"_switch_holder\" = ''", &[])?;
        Ok(())
    }

    /// Shows the run so far as the session's CLIENT_INFO, which `latchwork top` prints.
    fn publish(&mut self, text: &str) -> Result<(), LabError> {
        let bind = Bind::named("text", Value::text(text).data_type(), Value::text(text));
        self.session.execute("begin dbms_application_info.set_client_info(:text); end;", &[bind])?;
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Counts>, LabError> {
        let rows = self.session.query(&self.counts, &[])?.all()?;
        let number = |at: usize| match rows.first().and_then(|row| row.get(at)) {
            Some(Value::Number(n)) => n.to_i64().ok().and_then(|n| u64::try_from(n).ok()),
            _ => None,
        };
        let all = [0, 1, 2, 3].map(number);
        let [Some(executions), Some(cpu_ns), Some(now_ns), Some(sessions)] = all else { return Ok(None) };
        Ok(Some(Counts { executions, cpu_ns, now_ns, sessions }))
    }

    /// One period, with its figures.
    fn period(&mut self, design: &str, seconds: f64) -> Result<Result<Period, Lacks>, LabError> {
        let changes = design != self.in_force;
        self.switch(design)?;
        let from = Instant::now();
        let ages = self.plan.ages();
        let mut readings = Vec::with_capacity(ages.len() + 1);
        for age in ages.iter().copied().chain([Duration::from_secs_f64(seconds)]) {
            std::thread::sleep(age.saturating_sub(from.elapsed()));
            let Some(counts) = self.read()? else { return Ok(Err(Lacks::Sessions)) };
            readings.push(counts);
        }
        let last = readings[ages.len()];
        let behind = |burn_in: Duration| {
            let at = ages.iter().position(|age| *age == burn_in).unwrap_or_default();
            figures(readings[at], last)
        };
        let both = behind(self.plan.burn_in).and_then(|first| Ok((first, behind(2 * self.plan.burn_in)?)));
        let (first, later) = match both {
            Ok(both) => both,
            Err(lacks) => return Ok(Err(lacks)),
        };
        let rates: Result<Vec<f64>, Lacks> =
            readings.windows(2).map(|two| figures(two[0], two[1]).map(|figures| figures.rate)).collect();
        if let Ok(rates) = rates {
            self.settling.add(changes, &rates);
        }
        Ok(Ok(Period { figures: first, later }))
    }

    /// The figures of all four periods; `None` when the user has asked to stop.
    fn quad(&mut self, quad: &Quad, stop: &Stop) -> Result<Option<Result<[Period; 4], Lacks>>, LabError> {
        let mut all = Vec::with_capacity(4);
        let mut lacks = None;
        for (arm, seconds) in quad.arms.into_iter().zip(quad.seconds) {
            if stop.is_asked() {
                return Ok(None);
            }
            let at = usize::from(arm == Arm::B && quad.kind == Kind::AgainstB);
            let design = self.plan.designs[at].clone();
            match self.period(&design, seconds)? {
                Ok(period) => all.push(period),
                // A period without work tells something about the design, whatever else happened in the quad.
                Err(Lacks::Work) => lacks = Some(Lacks::Work),
                Err(Lacks::Sessions) => lacks = lacks.or(Some(Lacks::Sessions)),
            }
        }
        Ok(Some(all.try_into().map_err(|_| lacks.unwrap_or(Lacks::Sessions))))
    }

    /// Runs quads until the interval is narrow enough, time is over, or the user asks; `tell` gets the run so far, and
    /// returns the text that the instance shows.
    pub fn conduct(
        &mut self,
        stop: &Stop,
        tell: &mut dyn FnMut(&Comparison) -> String,
    ) -> Result<(Comparison, Ended), LabError> {
        let start = Instant::now();
        let mut told = start;
        let mut so_far = Comparison {
            against_b: Contrasts::default(),
            against_itself: Contrasts::default(),
            sequential: None,
            settling: self.settling.clone(),
            void: 0,
            idle: 0,
            seconds: 0.0,
            switch_us: 0.0,
        };
        let mut void_in_a_row = 0;
        let plan = self.plan;
        for quad in Quads::new(plan.seed, plan.period.as_secs_f64()) {
            match self.quad(&quad, stop)? {
                None => {}
                Some(Ok(periods)) => {
                    void_in_a_row = 0;
                    so_far.add(&quad, &periods);
                }
                Some(Err(lacks)) => {
                    match lacks {
                        Lacks::Sessions => so_far.void += 1,
                        Lacks::Work => so_far.idle += 1,
                    }
                    void_in_a_row += 1;
                    if void_in_a_row >= VOID_MOST {
                        return Err(LabError::new("no session works in the instance, or sessions come and go".into()));
                    }
                }
            }
            so_far.seconds = start.elapsed().as_secs_f64();
            so_far.settling = self.settling.clone();
            so_far.switch_us = self.switching.as_secs_f64() * 1e6 / f64::from(self.switches.max(1));
            let rate = &so_far.against_b.rate;
            let ended = if stop.is_asked() {
                Some(Ended::Asked)
            } else if is_narrow_enough(rate, plan.width) && so_far.against_itself.rate.len() >= ITSELF_LEAST {
                Some(Ended::NarrowEnough)
            } else if start.elapsed() >= plan.limit {
                Some(Ended::TimeOver)
            } else {
                None
            };
            if let Some(ended) = ended {
                return Ok((so_far, ended));
            }
            if told.elapsed() >= TELL {
                let text = tell(&so_far);
                self.publish(&text)?;
                told = Instant::now();
            }
        }
        unreachable!("the order of quads has no end")
    }
}

/// The first column of the first row; `None` when there is no row, or no value.
fn first_text(session: &mut Client, sql: &str) -> Result<Option<String>, LabError> {
    Ok(match session.query(sql, &[])?.all()?.first().and_then(|row| row.first()) {
        Some(Value::Text(text)) => Some(text.to_string()),
        _ => None,
    })
}

fn design_in_force(session: &mut Client, structure: Structure) -> Result<String, LabError> {
    let sql = format!("select design from x$ksldesign where structure = '{}'", structure.name());
    first_text(session, &sql)?.ok_or_else(|| LabError::new(format!("the instance has no {}", structure.name())))
}

impl Comparison {
    fn add(&mut self, quad: &Quad, periods: &[Period; 4]) {
        let to = match quad.kind {
            Kind::AgainstB => &mut self.against_b,
            Kind::AgainstItself => &mut self.against_itself,
        };
        let of = |figure: &dyn Fn(&Period) -> f64| contrast(quad, periods.each_ref().map(figure));
        to.rate.push(of(&|period| period.figures.rate));
        to.cpu.push(of(&|period| period.figures.cpu));
        to.later.push(of(&|period| period.later.rate));
        if quad.kind == Kind::AgainstB {
            let rate = &self.against_b.rate;
            match &mut self.sequential {
                Some(test) => test.push(rate[rate.len() - 1]),
                None if rate.len() >= PILOT => {
                    let deviation = moments(rate).1;
                    let quads = quads_needed(deviation, 0.02).max(QUADS_LEAST);
                    self.sequential = Some(Sequential::tuned(quads, deviation));
                }
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_in_which_a_session_came_and_one_in_which_nothing_was_done_differ() {
        let counts = |executions, cpu_ns, now_ns, sessions| Counts { executions, cpu_ns, now_ns, sessions };
        let from = counts(1000, 5_000_000, 1_000_000_000, 77);
        let it = figures(from, counts(3000, 9_000_000, 1_100_000_000, 77)).unwrap();
        assert!((it.rate.exp() - 20_000.0).abs() < 1e-6 && (it.cpu.exp() - 2_000.0).abs() < 1e-6, "{it:?}");
        assert_eq!(figures(from, counts(3000, 9_000_000, 1_100_000_000, 78)), Err(Lacks::Sessions));
        assert_eq!(figures(from, counts(1000, 9_000_000, 1_100_000_000, 77)), Err(Lacks::Work));
        assert_eq!(figures(from, counts(500, 9_000_000, 1_100_000_000, 77)), Err(Lacks::Sessions));
    }

    #[test]
    fn a_run_with_a_period_without_work_has_no_answer() {
        let plan = Plan {
            structure: Structure::RowCache,
            designs: ["a".into(), "b".into()],
            period: Duration::from_millis(100),
            burn_in: Duration::from_millis(5),
            limit: Duration::from_secs(1),
            width: 0.01,
            seed: 1,
        };
        let run = |void, idle| Comparison {
            against_b: Contrasts::default(),
            against_itself: Contrasts::default(),
            sequential: None,
            settling: Settling::new(plan.ages()),
            void,
            idle,
            seconds: 1.0,
            switch_us: 1.0,
        };
        assert_eq!(run(3, 0).objection(&plan), None);
        assert!(run(0, 1).objection(&plan).is_some_and(|text| text.contains("nothing was done")));
    }
}
