//! The experiment `huge-pages`: the same work on pages of 4 KB and of 2 MB, with processes that touch all pages at
//! their start or not, on small and on big tables; each repeat starts a new instance.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use client::{Client, Credentials};
use serde::{Deserialize, Serialize};

use super::connect::{self, ConnectTimes};
use super::machine::{HugePages, MemInfo};
use super::rig::{self, Instance, Tables, Timing, Work};
use super::{HUGE_PAGES, TableOptions};
use crate::error::LabError;
use crate::results::{Host, Results, Row};
use crate::stop::Stop;
use crate::torture::{Place, Started};

pub const TITLE: &str = "Huge pages: page tables, connection time and logical reads on pages of 4 KB and 2 MB";

/// The configurations and the duration of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub options: TableOptions,
    pub sessions: u32,
    pub repeat: u32,
    /// Whether the machine's setting may be changed.
    pub may_reserve: bool,
    /// Seconds between two snapshots.
    pub seconds: f64,
    pub quick: bool,
    /// Parts of names of configurations (`4 KB`, `big`); empty means all.
    pub variants: Vec<String>,
    /// Init parameters that override the experiment's, `sga_target` among them.
    pub params: Vec<(String, String)>,
    pub seed: u64,
    pub progress: bool,
    pub stop: Stop,
    /// The program; `None` searches for it.
    pub executable: Option<PathBuf>,
}

/// One configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    pub huge: bool,
    pub pre_page: bool,
    pub big: bool,
}

impl Cell {
    /// All configurations, ordinary pages first.
    pub fn all() -> impl Iterator<Item = Cell> {
        let choices = [false, true];
        choices.into_iter().flat_map(move |huge| {
            choices
                .into_iter()
                .flat_map(move |pre_page| choices.into_iter().map(move |big| Cell { huge, pre_page, big }))
        })
    }

    pub fn pages(self) -> &'static str {
        if self.huge { "2 MB" } else { "4 KB" }
    }

    pub fn table(self) -> &'static str {
        if self.big { "big" } else { "small" }
    }

    /// `2 MB, pre-page, big`.
    pub fn name(self) -> String {
        let pre_page = if self.pre_page { "pre-page" } else { "no pre-page" };
        format!("{}, {pre_page}, {}", self.pages(), self.table())
    }
}

/// One repeat of a configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    pub cell: Cell,
    pub repeat: u32,
    pub reads_per_s: f64,
    pub logical_reads: u64,
    pub physical_reads: u64,
    pub executions: u64,
    pub seconds: f64,
    /// Processor seconds of the sessions between the snapshots.
    pub cpu_s: f64,
    /// Seconds from the start of the program to the open database.
    pub start_s: f64,
    pub connect: ConnectTimes,
    /// Page tables, resident shared memory and huge pages of one of the working sessions: the median, in bytes.
    pub session_page_tables: f64,
    pub session_shared: f64,
    pub session_huge: f64,
    /// Page tables of all processes of the instance, in bytes.
    pub all_page_tables: f64,
    /// Memory of the machine before the start, under load, and after the end.
    pub before: MemInfo,
    pub during: MemInfo,
    pub after: MemInfo,
}

/// All results of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HugePagesRun {
    pub experiment: String,
    pub title: String,
    /// Seconds since 1970.
    pub started: u64,
    pub host: Host,
    pub version: String,
    pub parameters: BTreeMap<String, String>,
    /// Bytes of the SGA.
    pub sga_bytes: u64,
    pub trials: Vec<Trial>,
    /// The reason why configurations are missing.
    pub missing: Option<String>,
}

impl HugePagesRun {
    /// The logical reads as rows of an ordinary run, for comparisons between runs: each configuration is a workload.
    pub fn results(&self) -> Results {
        let sessions = self.parameters.get("sessions").and_then(|n| n.parse().ok()).unwrap_or(1);
        let row = |t: &Trial| Row {
            variant: format!("{}@latchwork", t.cell.name()),
            workload: t.cell.name(),
            generation: "latchwork".into(),
            sessions,
            repeat: t.repeat,
            operations: t.logical_reads,
            calls: 0,
            elapsed_s: t.seconds,
            window: Some(super::between(t.logical_reads, t.seconds)),
            ops_per_s: t.reads_per_s,
            pct_linear: None,
            passed: None,
            latency: None,
            latches: BTreeMap::new(),
            sections: BTreeMap::new(),
        };
        Results {
            experiment: self.experiment.clone(),
            title: self.title.clone(),
            source: String::new(),
            question: String::new(),
            started: self.started,
            host: self.host.clone(),
            version: self.version.clone(),
            parameters: self.parameters.clone(),
            rows: self.trials.iter().map(row).collect(),
            cells: Vec::new(),
            latch_names: Vec::new(),
            published: Vec::new(),
            sections: Vec::new(),
            counts: Vec::new(),
            notes: BTreeMap::new(),
            sleeps: None,
            asked: vec!["latchwork".into()],
            stopped_of: None,
        }
    }
}

fn wanted_cells(plan: &Plan) -> impl Iterator<Item = Cell> {
    let is_wanted =
        |cell: &Cell| plan.variants.is_empty() || plan.variants.iter().any(|v| cell.name().contains(v.as_str()));
    Cell::all().filter(is_wanted)
}

/// Runs the experiment.
///
/// # Errors
/// When the instance cannot be started, or a statement fails. Unavailable huge pages are no error: the other
/// configurations are run.
pub fn run(plan: &Plan) -> Result<HugePagesRun, LabError> {
    if wanted_cells(plan).next().is_none() {
        let names: Vec<String> = Cell::all().map(Cell::name).collect();
        return Err(LabError::new(format!("no configuration fits --variant: there are {}", names.join("; "))));
    }
    let mut place = Place::named("huge-pages", plan.executable.clone())?;
    let tables = |name: &str, rows| Tables { name: name.into(), users: plan.sessions, rows };
    let (small, big) = (tables("small", plan.options.small()), tables("big", plan.options.big(plan.quick)));
    let params = parameters(plan, &small, &big);
    say(plan, "making the tables");
    let (sga_bytes, wanted) = set_up(&mut place, &params, &[&small, &big])?;
    let mut out = HugePagesRun {
        experiment: HUGE_PAGES.into(),
        title: TITLE.into(),
        started: os::clock::wall_ns() / 1_000_000_000,
        host: crate::host::describe(),
        version: env!("CARGO_PKG_VERSION").into(),
        parameters: described(plan, &params, &small, &big),
        sga_bytes,
        trials: Vec::new(),
        missing: None,
    };
    let mut pages = HugePages::look(plan.may_reserve);
    for repeat in 1..=plan.repeat {
        // The page sizes alternate once a repeat, and so does their order.
        let first = repeat % 2 == 0;
        for huge in [first, !first] {
            let mut cells: Vec<Cell> = wanted_cells(plan).filter(|c| c.huge == huge).collect();
            if cells.is_empty() {
                continue;
            }
            if huge {
                if out.missing.is_some() {
                    continue;
                }
                if let Err(e) = pages.have_free(wanted) {
                    say(plan, &e.to_string());
                    out.missing = Some(e.to_string());
                    continue;
                }
            }
            crate::run::shuffle(&mut cells, plan.seed.wrapping_mul(1000).wrapping_add(u64::from(repeat)));
            for cell in cells {
                if plan.stop.is_asked() {
                    return stopped(out, plan);
                }
                let tables = if cell.big { &big } else { &small };
                let trial = trial(plan, &mut place, &params, tables, cell, repeat)?;
                let per_s = crate::text::thousands(trial.reads_per_s);
                say(
                    plan,
                    &format!("{}, repeat {repeat} of {}: {per_s} logical reads a second", cell.name(), plan.repeat),
                );
                out.trials.push(trial);
            }
            if huge {
                pages.restore();
            }
        }
    }
    Ok(out)
}

fn stopped(mut out: HugePagesRun, plan: &Plan) -> Result<HugePagesRun, LabError> {
    if out.trials.is_empty() {
        return Err(LabError::new("stopped before the first measurement".into()));
    }
    let all = wanted_cells(plan).count() * plan.repeat as usize;
    out.missing = Some(format!("Stopped: {} of {all} repeats were run.", out.trials.len()));
    Ok(out)
}

fn say(plan: &Plan, text: &str) {
    if plan.progress {
        eprintln!("{text}");
    }
}

fn parameters(plan: &Plan, small: &Tables, big: &Tables) -> BTreeMap<String, String> {
    // The buffer cache gets most of the SGA.
    let target = (super::cache_bytes(&[small, big]) * 2).max(1 << 30);
    let own =
        [("processes", "200".to_string()), ("sga_target", target.to_string()), ("job_queue_processes", "0".into())];
    let mut params: BTreeMap<String, String> = own.into_iter().map(|(n, v)| (n.to_string(), v)).collect();
    params.extend(plan.params.iter().cloned());
    params
}

fn described(plan: &Plan, params: &BTreeMap<String, String>, small: &Tables, big: &Tables) -> BTreeMap<String, String> {
    let mut all = params.clone();
    for t in [small, big] {
        all.insert(format!("rows of a {} table", t.name), t.rows.to_string());
    }
    all.insert("sessions".into(), plan.sessions.to_string());
    all.insert("repeats".into(), plan.repeat.to_string());
    all.insert("seconds between snapshots".into(), plan.seconds.to_string());
    all.insert("seconds of warm-up".into(), plan.options.warm_up_s(plan.quick).to_string());
    all.insert("seed of the order".into(), plan.seed.to_string());
    all
}

fn start(place: &mut Place, params: &[(String, String)]) -> Result<Duration, LabError> {
    match place.start(params, None)? {
        Started::Open(time) => Ok(time),
        Started::Died(text) => Err(LabError::new(text)),
    }
}

/// Creates the database with its tables; returns the size of the SGA, and the number of pages of 2 MB that it needs.
fn set_up(place: &mut Place, params: &BTreeMap<String, String>, tables: &[&Tables]) -> Result<(u64, u64), LabError> {
    let mut all: Vec<(String, String)> = params.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
    all.push(("use_large_pages".into(), "FALSE".into()));
    start(place, &all)?;
    let mut session = Instance::connect(place, &Credentials::Sysdba)?;
    tables.iter().try_for_each(|t| t.make(&mut session))?;
    let needed = rig::column(&mut session, "select pages_needed from x$ksmpg where page_size = 2097152")?;
    let bytes = rig::column(&mut session, "select sum(value) from v$sga")?;
    session.logoff(true)?;
    place.stop()?;
    Ok((bytes.first().map_or(0, |b| *b as u64), needed.first().map_or(0, |n| *n as u64)))
}

fn trial(
    plan: &Plan,
    place: &mut Place,
    params: &BTreeMap<String, String>,
    tables: &Tables,
    cell: Cell,
    repeat: u32,
) -> Result<Trial, LabError> {
    let before = MemInfo::now();
    let mut all: Vec<(String, String)> = params.iter().map(|(n, v)| (n.clone(), v.clone())).collect();
    let own = [
        ("use_large_pages", if cell.huge { "ONLY" } else { "FALSE" }),
        ("pre_page_sga", if cell.pre_page { "TRUE" } else { "FALSE" }),
        ("_pre_page_sga_at", "process"),
        ("local_listener", "0"),
    ];
    all.extend(own.map(|(n, v)| (n.to_string(), v.to_string())));
    let start_s = start(place, &all)?.as_secs_f64();
    let connects = if plan.quick { 8 } else { 20 };
    let connect = connect::measure(&*place, place.dir(), place.executable(), &tables.user(1), connects)?;
    let work = Work { readers: plan.sessions, ..Work::default() };
    let timing = Timing { warm_up_s: plan.options.warm_up_s(plan.quick), interval_s: plan.seconds };
    let (mut during, mut memory) = (MemInfo::default(), Memory::default());
    let round = rig::round(&*place, tables, &work, timing, &mut |session| {
        during = MemInfo::now();
        memory = Memory::read(session)?;
        Ok(())
    })?;
    place.stop()?;
    Ok(Trial {
        cell,
        repeat,
        reads_per_s: round.reads_per_s(),
        logical_reads: round.logical_reads,
        physical_reads: round.physical_reads,
        executions: round.executions,
        seconds: round.seconds,
        cpu_s: round.cpu_s,
        start_s,
        connect,
        session_page_tables: memory.page_tables,
        session_shared: memory.shared,
        session_huge: memory.huge,
        all_page_tables: memory.all_page_tables,
        before,
        during,
        after: MemInfo::now(),
    })
}

/// Memory of the working sessions, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    page_tables: f64,
    shared: f64,
    huge: f64,
    all_page_tables: f64,
}

impl Memory {
    fn read(session: &mut Client) -> Result<Memory, LabError> {
        let mut of_workers = |figure: &str| -> Result<f64, LabError> {
            let sql = format!(
                "select median(m.{figure}) from x$ksmpp m, v$session s where m.addr = s.paddr and s.type = 'USER' and s.username <> 'SYS'"
            );
            Ok(rig::column(session, &sql)?.first().copied().unwrap_or(0.0))
        };
        let (page_tables, shared, huge) =
            (of_workers("page_tables")?, of_workers("shared")?, of_workers("huge_pages")?);
        let all = rig::column(session, "select sum(page_tables) from x$ksmpp")?;
        Ok(Memory { page_tables, shared, huge, all_page_tables: all.first().copied().unwrap_or(0.0) })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn example() -> HugePagesRun {
        let trial = |cell: Cell, repeat: u32| Trial {
            cell,
            repeat,
            reads_per_s: 1e6 * (1.0 + f64::from(repeat) / 10.0) * if cell.huge { 1.1 } else { 1.0 },
            logical_reads: 1_000_000,
            physical_reads: 0,
            executions: 4000,
            seconds: 1.0,
            cpu_s: 2.0,
            start_s: 0.5,
            connect: ConnectTimes {
                client_us: 900.0,
                program_us: 5000.0,
                listener_us: 3000.0,
                listener_parts_us: vec![210.0, 50.0, 100.0, 300.0, 180.0, 90.0],
                parts_us: vec![200.0, 50.0, 100.0, 300.0, 80.0, 90.0],
            },
            session_page_tables: 2e6,
            session_shared: 1e9,
            session_huge: 0.0,
            all_page_tables: 2e7,
            before: MemInfo::default(),
            during: MemInfo { page_tables_kb: 30_000, ..MemInfo::default() },
            after: MemInfo::default(),
        };
        HugePagesRun {
            experiment: HUGE_PAGES.into(),
            title: TITLE.into(),
            started: 0,
            host: Host::default(),
            version: "0".into(),
            parameters: BTreeMap::from([("sga_target".to_string(), "<1G>".to_string())]),
            sga_bytes: 1 << 30,
            trials: Cell::all().flat_map(|cell| (1..=3).map(move |repeat| trial(cell, repeat))).collect(),
            missing: None,
        }
    }

    #[test]
    fn every_configuration_is_there_once() {
        let mut all: Vec<Cell> = Cell::all().collect();
        assert_eq!(all.len(), 8);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 8);
        assert_eq!(all[7].name(), "2 MB, pre-page, big");
    }
}
