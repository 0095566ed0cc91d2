//! Torture: sessions work while they and the whole instance are killed; afterwards the database is compared to the row.
//!
//! Workers (`work`) change tables in transactions and by DDL and know the expected contents (`mind`). Sessions are
//! killed with SIGKILL at random instants or at named points of the code, and so is the instance: the supervisor with
//! all processes, or one background process, or by a power loss that discards unsynced writes. After every start
//! everything is compared (`check`): acknowledged commits are present, a transaction in flight is present as a whole or
//! absent, indexes agree with their tables, no sequence value comes twice. The order of events depends on the
//! scheduling of processes; a seed decides all the rest.

mod archive;
mod check;
mod html;
mod mind;
mod place;
mod query;
mod related;

mod relations;
mod report;
mod session;
mod undo;
mod vault;
mod vault_work;
mod work;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::Client;
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::LabError;
use archive::{Archive, Outcome, Task};
use mind::{Mind, Random};
pub use place::{Place, Started};
use query::Trouble;
pub use report::{Row, Torture};
use session::{Seat, Shared};

/// The experiment's name for `lab run`.
pub const NAME: &str = "torture";

/// Its title for `lab list` and the page.
pub const TITLE: &str = "Torture: nothing is lost, whichever process is killed";

/// A worker without progress for this long counts as hanging.
const HANG_LIMIT: Duration = Duration::from_secs(60);

/// All named points at which the code can be made to die. docs/TORTURE.md describes them.
pub const POINTS: &[&str] = &[
    "backup-marked",
    "branch-claimed",
    "branch-detached",
    "branch-detaching",
    "branch-ended",
    "branch-ending",
    "branch-locks-noted",
    "branch-named",
    "branch-not-prepared",
    "branch-prepare-logged",
    "branch-prepared",
    "branch-preparing",
    "branch-resuming",
    "branch-taken",
    "branch-unnamed",
    "cache-copies-taken",
    "cache-some-blocks",
    "cache-writes-submitted",
    "checkpoint-written",
    "checkpoint_noted",
    "control-copy-renamed",
    "control-renamed",
    "control-written",
    "cursor-planned",
    "ddl-apart",
    "ddl-committed",
    "ddl-done",
    "ddl-index-entered",
    "ddl-index-filled",
    "ddl-index-filling",
    "ddl-rows-moved",
    "ddl-segment-made",
    "dictionary-announced",
    "dictionary-committed",
    "double-write-copied",
    "double-write-full",
    "double-write-in-place",
    "double-write-restored",
    "double-write-synced",
    "file-discarded",
    "file-drafted",
    "file-emptied",
    "file-fenced",
    "file-made",
    "file-made-again",
    "file-marked-offline",
    "file-marked-online",
    "file-recovered",
    "file-rolled-forward",
    "file-stamped-online",
    "file-unlisted",
    "files-going",
    "fork-control-compared",
    "fork-file-copied",
    "fork-logs-copied",
    "fork-marked",
    "group-copied",
    "group-published",
    "group-publishing",
    "group-publishing-one",
    "group-released",
    "group-released-one",
    "group-reserved",
    "group-settled",
    "heap-block-looked-at",
    "index-split-half",
    "index-splitting",
    "library-cache-claim",
    "library-cache-image",
    "library-cache-image-final",
    "library-cache-image-written",
    "library-cache-ledger-figure",
    "library-cache-ledger-given",
    "library-cache-ledger-moved",
    "library-cache-ledger-moving",
    "library-cache-run",
    "library-cache-unit",
    "log_archived",
    "part-begun",
    "part-closed",
    "part-listed",
    "part-made",
    "part-unlisted",
    "pool-session-given-back",
    "pool-session-taken",
    "process-slot-claimed",
    "process-slot-freed",
    "px-abandoned",
    "px-begun",
    "px-granule",
    "px-job-sent",
    "px-preparing",
    "px-released",
    "px-sent",
    "px-taken",
    "record_written",
    "recovery-record",
    "recovery-redo-read",
    "recovery-rolled-forward",
    "recovery-some-blocks",
    "recovery-written",
    "redo_copied",
    "redo_header_written",
    "redo_reach_written",
    "redo_reserved",
    "redo_settling_the_dead",
    "redo_switched",
    "redo_synced",
    "redo_written",
    "scheduled-job-begun",
    "server-handed-over",
    "server-session-ended",
    "smon-dropping-index",
    "smon-round",
    "space-class-changing",
    "space-dropping-extents",
    "space-extent-taken",
    "space-file-grown",
    "space-file-shrinking",
    "space-temp-claimed",
    "space-temp-forgotten",
    "space-temp-taken",
    "switch-closed",
    "switch-empty",
    "switch-left",
    "switch-open",
    "switch-put",
    "switch-shuts",
    "tablespace-changed",
    "txn-commit-logged",
    "txn-committed",
    "txn-committing",
    "txn-rolling-back",
    "undo-end",
    "undo-ended",
    "undo-forgotten",
    "undo-note",
    "undo-segment-added",
    "undo-segment-made",
    "undo-segment-unnamed",
    "undo-switched",
    "undo-tablespace-loaded",
    "words-committed",
    "words-filled",
    "words-missing",
    "words-one-text",
    "words-segments-made",
];

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub sessions: u32,
    pub instance_kills: u64,
    pub session_kills: u64,
    /// Number of backups made under load that are restored to a moment in between; 0: the database is in NOARCHIVELOG
    /// mode.
    pub restores: u64,
    /// The run ends after this time in any case.
    pub seconds: f64,
    /// Generations, used in turn.
    pub generations: Vec<String>,
    /// Init parameters that override the run's own.
    pub params: Vec<(String, String)>,
    pub progress: bool,
    /// On request the run ends after the current life of the instance.
    pub stop: crate::Stop,
    /// The program; by default it is searched for as for an ephemeral instance.
    pub executable: Option<PathBuf>,
}

/// The way in which an instance is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ending {
    /// The supervisor is killed at a random instant.
    Kill,
    /// A background process is killed; the supervisor ends the rest.
    Background,
    /// The instance dies at a named point.
    Point(String),
    /// Processes die at named points, then the supervisor at a random instant.
    SessionPoint(String),
    /// Sessions panic at named points, then the supervisor is killed at a random instant.
    Panic(String),
    /// Power fails at a random instant.
    Power,
    /// Power fails at a sync.
    PowerAt(u64),
    /// It is shut down, then power fails.
    Stop,
}

impl Ending {
    fn choose(r: &mut Random) -> Ending {
        let chosen = match r.below(100) {
            0..20 => Ending::Kill,
            20..26 => Ending::Background,
            26..44 => Ending::Point(any_point(r, 60)),
            44..52 => Ending::SessionPoint(format!("{}:child", any_point(r, 600))),
            52..68 => Ending::Panic(format!("{}:session-panic", frequent_point(r))),
            68..80 => Ending::Power,
            80..95 => Ending::PowerAt(1 + r.below(120)),
            _ => Ending::Stop,
        };
        if faults::ARE_COMPILED_IN || chosen == Ending::Stop || chosen.params().is_empty() {
            chosen
        } else {
            Ending::Kill
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Ending::Kill => "killed",
            Ending::Background => "background process killed",
            Ending::Point(_) => "killed at a named point",
            Ending::SessionPoint(_) => "sessions killed at named points, then killed",
            Ending::Panic(_) => "sessions panicked, then killed",
            Ending::Power => "power lost",
            Ending::PowerAt(_) => "power lost at a sync",
            Ending::Stop if !faults::ARE_COMPILED_IN => "stopped",
            Ending::Stop => "stopped, then power lost",
        }
    }

    fn params(&self) -> Vec<(String, String)> {
        let one = |name: &str, value: String| vec![(name.to_string(), value)];
        match self {
            Ending::Kill | Ending::Background => Vec::new(),
            Ending::Stop if !faults::ARE_COMPILED_IN => Vec::new(),
            Ending::Point(plan) | Ending::SessionPoint(plan) | Ending::Panic(plan) => one("_crash_point", plan.clone()),
            Ending::Power | Ending::Stop => one("_power_loss", "0".into()),
            Ending::PowerAt(n) => one("_power_loss", n.to_string()),
        }
    }

    fn panics(&self) -> bool {
        matches!(self, Ending::Panic(_))
    }

    /// Whether the end comes without an action of this program.
    fn comes(&self) -> bool {
        matches!(self, Ending::Point(_) | Ending::PowerAt(_))
    }
}

/// A point by name, at a pass that comes soon; or whichever point is passed next.
fn any_point(r: &mut Random, passes: u64) -> String {
    // Points of a start are left to starts, since no other point would be reached. The torture begins no branches and
    // does not use the connection pool.
    let is_passed = |name: &&str| !["recovery", "branch", "pool"].iter().any(|kind| name.starts_with(kind));
    let working: Vec<&str> = POINTS.iter().copied().filter(is_passed).collect();
    if r.chance(20) {
        return format!("group-*:{}", 1 + r.below(passes * 20));
    }
    let name = working[r.below(working.len() as u64) as usize];
    // A process passes thousands of these in each operation.
    let is_step = matches!(name, "undo-note" | "undo-end" | "undo-ended");
    let within = if is_step {
        200 * passes
    } else if r.chance(50) {
        6
    } else {
        passes
    };
    format!("{name}:{}", 1 + r.below(within))
}

/// A point that sessions pass repeatedly, at a pass that lets most of them do some work in between.
fn frequent_point(r: &mut Random) -> String {
    let (name, least) =
        [("undo-*", 4000), ("undo-note", 2500), ("group-*", 600), ("txn-*", 40), ("*", 6000)][r.below(5) as usize];
    format!("{name}:{}", least + r.below(2 * least))
}

/// Runs the torture. A loss or an invention of data is in the result's `failure`.
///
/// # Errors
/// The instance cannot be run at all, or hangs.
pub fn run(plan: &Plan) -> Result<Torture, LabError> {
    let mut run = Run::new(plan)?;
    let begun = Instant::now();
    let outcome = run.all();
    let mut result = run.result;
    result.seconds = begun.elapsed().as_secs_f64();
    result.statements = run.shared.statements.load(Ordering::Relaxed);
    result.deadlocks = run.shared.deadlocks.load(Ordering::Relaxed);
    if let Err(e) = outcome {
        run.place.keep();
        result.failure = Some(e.to_string());
    }
    run.bar.finish_and_clear();
    Ok(result)
}

struct Run<'a> {
    plan: &'a Plan,
    place: Place,
    minds: Vec<Mind>,
    shared: Shared,
    result: Torture,
    r: Random,
    bar: ProgressBar,
    begun: Instant,
    cycle: u64,
    armed_power: bool,
    archive: Archive,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Result<Run<'a>, LabError> {
        let mut parameters = std::collections::BTreeMap::new();
        for (name, value) in [
            ("seed", plan.seed.to_string()),
            ("sessions", plan.sessions.to_string()),
            ("requested instance kills", plan.instance_kills.to_string()),
            ("requested session kills", plan.session_kills.to_string()),
            ("restores wanted", plan.restores.to_string()),
            ("generations", plan.generations.join(", ")),
        ] {
            parameters.insert(name.to_string(), value);
        }
        if !faults::ARE_COMPILED_IN {
            let text = "not in this build: no death at a named point, no loss of power";
            parameters.insert("fault injection".into(), text.into());
        }
        parameters.extend(plan.params.iter().cloned());
        Ok(Run {
            plan,
            place: Place::new(plan.executable.clone())?,
            minds: (0..plan.sessions as usize).map(Mind::new).collect(),
            shared: Shared::default(),
            result: Torture {
                experiment: NAME.into(),
                title: TITLE.into(),
                started: os::clock::wall_ns() / 1_000_000_000,
                host: crate::host::describe(),
                version: env!("CARGO_PKG_VERSION").into(),
                parameters,
                ..Torture::default()
            },
            r: Random::new(plan.seed, 0),
            bar: progress_bar(plan),
            begun: Instant::now(),
            cycle: 0,
            armed_power: false,
            archive: Archive::default(),
        })
    }

    fn time_is_over(&self) -> bool {
        self.begun.elapsed().as_secs_f64() > self.plan.seconds
    }

    fn is_done(&self) -> bool {
        self.result.instance_kills() >= self.plan.instance_kills
            && self.result.session_kills() >= self.plan.session_kills
            || self.time_is_over()
            || self.plan.stop.is_asked()
    }

    fn all(&mut self) -> Result<(), LabError> {
        self.start(&[], None)?;
        let mut c = self.place.connect()?;
        check::set_up(&mut c, self.minds.len())?;
        if self.plan.restores > 0 {
            archive::SETUP.iter().try_for_each(|sql| c.execute(sql, &[]).map(drop))?;
        }
        drop(c);
        self.place.stop()?;
        let mut last = "first start".to_string();
        while !self.is_done() {
            last = self.one_life(&last)?;
            self.cycle += 1;
            let done = self.result.instance_kills() + self.result.session_kills() / 10;
            self.bar.set_position(done);
            self.bar.set_message(last.clone());
        }
        self.start(&[], Some(&last))?;
        self.compare(true)?;
        self.place.stop()?;
        self.place.verify()?;
        self.start(&[], None)?;
        self.compare(true)?;
        self.place.stop()?;
        self.place.verify()
    }

    /// Starts the instance, compares, works, ends it. Returns the way it ended.
    fn one_life(&mut self, last: &str) -> Result<String, LabError> {
        let ending = match self.plan.instance_kills {
            0 => Ending::Stop,
            _ => Ending::choose(&mut self.r),
        };
        if self.plan.instance_kills > 0 && self.r.chance(15) {
            self.die_while_starting(last)?;
        }
        let opened = self.start(&ending.params(), Some(last))?;
        if opened {
            if self.compare(false)? {
                self.begin_life()?;
            }
            self.work(&ending)?;
        }
        if ending == Ending::Stop && !self.place.has_ended() {
            self.place.stop()?;
            self.after_death(false)?;
            self.place.verify()?;
        } else {
            self.place.kill()?;
            let deaths = self.after_death(true)?;
            self.result.panics += if ending.panics() { deaths } else { 0 };
        }
        let row = self.result.row(ending.kind());
        row.instance_kills += u64::from(ending != Ending::Stop);
        self.go_back()?;
        Ok(ending.kind().to_string())
    }

    /// Starts the instance; false when it died before it was open, as an armed fault may cause. `after` is the row that
    /// gets the time of the start.
    fn start(&mut self, extra: &[(String, String)], after: Option<&str>) -> Result<bool, LabError> {
        let params = self.params(extra);
        match self.place.start(&params, None)? {
            Started::Open(time) => {
                if let Some(kind) = after {
                    self.result.row(kind).start_ms.push(time.as_secs_f64() * 1000.0);
                }
                Ok(true)
            }
            Started::Died(text) if text.is_empty() && !extra.is_empty() => Ok(false),
            Started::Died(text) => Err(LabError::new(format!("the instance does not start: {text}"))),
        }
    }

    fn params(&mut self, extra: &[(String, String)]) -> Vec<(String, String)> {
        let generations = &self.plan.generations;
        let mut params = vec![
            ("processes".to_string(), (self.plan.sessions + 44).to_string()),
            ("db_cache_size".to_string(), ["2M", "4M", "16M"][self.r.below(3) as usize].to_string()),
            ("_db_block_lru_latches".to_string(), ["0", "5", "64"][self.r.below(3) as usize].to_string()),
            ("db_writer_processes".to_string(), (1 + self.r.below(4)).to_string()),
            (
                "filesystemio_options".to_string(),
                ["none", "asynch", "directIO", "setall"][self.r.below(4) as usize].to_string(),
            ),
            // Small logs, so that they are switched and reused.
            ("_log_file_size".to_string(), "2M".to_string()),
            ("_bigfile_part_blocks".to_string(), "64".to_string()),
        ];
        if !generations.is_empty() {
            let generation = &generations[self.cycle as usize % generations.len()];
            params.push(("latch_generation".to_string(), generation.clone()));
        }
        // The user's own faults are for the lives with work; if one of them happens, it is accepted.
        let is_fault = |name: &str| matches!(name, "_crash_point" | "_power_loss");
        let given = self.plan.params.iter().filter(|(name, _)| !extra.is_empty() || !is_fault(name));
        params.extend(given.cloned());
        params.extend(extra.iter().cloned());
        self.armed_power = params.iter().any(|(name, _)| name == "_power_loss");
        params
    }

    /// Kills the instance while it recovers, at a random instant, at a named point or by a power loss.
    fn die_while_starting(&mut self, last: &str) -> Result<(), LabError> {
        let extra = match self.r.below(3) {
            _ if !faults::ARE_COMPILED_IN => Vec::new(),
            0 => Vec::new(),
            1 => {
                let all = ["recovery-record", "recovery-redo-read", "recovery-some-blocks", "recovery-written", "*"];
                let name = all[self.r.below(5) as usize];
                let within = if matches!(name, "recovery-record" | "*") { 600 } else { 2 };
                Ending::Point(format!("{name}:{}", 1 + self.r.below(within))).params()
            }
            _ => Ending::PowerAt(1 + self.r.below(12)).params(),
        };
        let params = self.params(&extra);
        let within = Duration::from_micros(self.r.below(150_000));
        let within = if extra.is_empty() { within } else { Duration::from_millis(600) };
        match self.place.start(&params, Some(within))? {
            Started::Died(text) if text.is_empty() => {
                self.result.row("killed while starting").instance_kills += 1;
            }
            Started::Died(text) => return Err(LabError::new(format!("the instance does not start: {text}"))),
            Started::Open(time) => {
                self.result.row(last).start_ms.push(time.as_secs_f64() * 1000.0);
                self.place.kill()?;
                self.result.row("killed").instance_kills += 1;
            }
        }
        self.after_death(true).map(drop)
    }

    /// Performs the power loss and collects the notes of processes that died at named points; `died`: the instance was
    /// not shut down. Returns the number of such deaths.
    fn after_death(&mut self, died: bool) -> Result<u64, LabError> {
        let mut deaths = 0;
        if self.armed_power {
            faults::restore_power(self.place.dir(), self.r.next()).map_err(|e| LabError::new(e.to_string()))?;
        }
        let file = self.place.dir().join(faults::DEATHS_FILE);
        if let Ok(text) = std::fs::read_to_string(&file) {
            for name in text.lines().filter_map(|line| line.split(' ').next()) {
                deaths += 1;
                *self.result.points.entry(name.to_string()).or_default() += 1;
            }
            let _ = std::fs::remove_file(&file);
        }
        for mind in &mut self.minds {
            mind.lost_process = None;
            mind.instance_died |= died;
        }
        Ok(deaths)
    }

    /// The part of the archive's work that must precede the workers'.
    fn begin_life(&mut self) -> Result<(), LabError> {
        if self.plan.restores == 0 {
            return Ok(());
        }
        let Ok(mut c) = self.place.connect() else { return Ok(()) };
        match self.archive.begin_life(&mut c, &mut self.minds, &mut self.r) {
            Ok(()) | Err(Trouble::Gone) => Ok(()),
            Err(Trouble::Wrong(text)) => Err(LabError::new(text)),
        }
    }

    /// Whether another restore is due: restores are spread over the run.
    fn wants_restore(&self) -> bool {
        let lives = self.plan.instance_kills.max(1);
        let due = self.plan.restores * (self.result.instance_kills() + lives / 4) / lives;
        self.result.restores < self.plan.restores.min(due.max(1))
    }

    /// After the end of the instance: restores a backup to a noted moment, or replaces a data file by the one in the
    /// backup.
    fn go_back(&mut self) -> Result<(), LabError> {
        let params = self.params(&[]);
        match self.archive.restore(&self.place, &params) {
            Ok(Some((mut other, minds))) => {
                self.result.restores += 1;
                if self.r.chance(35) {
                    std::mem::swap(&mut self.place, &mut other);
                    self.go_on_from(minds);
                }
            }
            Ok(None) if self.r.chance(15) => {
                self.result.files_put_back += u64::from(self.archive.put_back_a_file(self.place.dir(), &mut self.r)?);
            }
            Ok(None) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// The run continues from an earlier moment: sequence numbers that were returned after it may be returned again.
    fn go_on_from(&mut self, minds: Vec<Mind>) {
        self.archive.forget();
        self.result.lives_gone_back += 1;
        self.shared.numbers =
            std::sync::Mutex::new(minds.iter().flat_map(|m| m.state.numbers.iter().copied()).collect());
        for (mind, then) in self.minds.iter_mut().zip(minds) {
            let Mind { commits, kept, lost, unwaited_lost, .. } = *mind;
            *mind = Mind { commits, kept, lost, unwaited_lost, ..then };
        }
    }

    /// Compares everything with the workers' minds; the end of the session is an error only when no fault is armed.
    /// False when the session ended.
    fn compare(&mut self, must_last: bool) -> Result<bool, LabError> {
        let outcome = match self.place.connect() {
            Ok(mut c) => check::everything(&mut c, &mut self.minds),
            Err(_) => Err(Trouble::Gone),
        };
        match outcome {
            Ok(()) => Ok(true),
            Err(Trouble::Gone) if !must_last => Ok(false),
            Err(Trouble::Gone) => Err(LabError::new("the session that compares has ended".into())),
            Err(Trouble::Wrong(text)) => Err(LabError::new(text)),
        }
    }

    /// Lets the workers work until the instance has ended, or is to be ended.
    fn work(&mut self, ending: &Ending) -> Result<(), LabError> {
        let lives = self.plan.instance_kills.saturating_sub(self.result.instance_kills()).max(1);
        let kills_left = self.plan.session_kills.saturating_sub(self.result.session_kills());
        let quota = if self.plan.instance_kills == 0 { kills_left } else { kills_left.div_ceil(lives) };
        let before: Vec<(u64, u64, u64)> = self.minds.iter().map(|m| (m.commits, m.kept, m.lost)).collect();
        self.shared.over = AtomicBool::new(false);
        let seats: Vec<Seat> = self.minds.iter().map(|_| Seat::default()).collect();
        let killed = AtomicU64::new(0);
        // A session lives long enough to get some work done.
        let lasting = match self.plan.instance_kills {
            0 => Duration::from_millis(15 * quota),
            _ => Duration::from_micros(20_000 + self.r.below(600_000)),
        };
        let (seed, cycle, dir) = (self.plan.seed, self.cycle, self.place.dir().to_path_buf());
        let mut killer = Random::new(seed, (cycle << 20) | 0xfffff);
        let task = if self.plan.restores > 0 { self.archive.task(self.wants_restore()) } else { Task::Nothing };
        let folder = self.archive.folder(&dir);
        let (executable, pause) =
            (self.place.executable().to_path_buf(), lasting.mul_f64(self.r.below(80) as f64 / 100.0));
        let outcome = (std::sync::Mutex::new(Outcome::default()), AtomicBool::new(task == Task::Nothing));
        let (shared, minds, place, bar) = (&self.shared, &mut self.minds, &mut self.place, &self.bar);
        let until = if self.plan.instance_kills == 0 { self.plan.seconds } else { lasting.as_secs_f64() + 5.0 };
        let stopped = std::thread::scope(|scope| {
            for (at, (mind, seat)) in minds.iter_mut().zip(&seats).enumerate() {
                let mut r = Random::new(seed, (cycle << 20) | (at as u64 + 1));
                let dir = &dir;
                scope.spawn(move || work::work(dir, mind, seat, &mut r, shared));
            }
            if task != Task::Nothing {
                scope.spawn(|| archive::work(task, (&dir, &executable), &folder, pause, shared, &outcome));
            }
            scope.spawn(|| kill_sessions(&seats, quota, lasting, &mut killer, shared, &killed));
            let watch =
                Watch { seats: &seats, shared, killed: &killed, quota, lasting, until, archived: &outcome.1, bar };
            let stopped = watch.until_the_end(place, ending);
            shared.over.store(true, Ordering::Release);
            stopped
        });
        self.archive.end_life(outcome.0.into_inner().unwrap_or_default(), &dir);
        let row = self.result.row(ending.kind());
        row.session_kills += killed.load(Ordering::Relaxed);
        for (mind, (commits, kept, lost)) in self.minds.iter().zip(before) {
            row.commits += mind.commits - commits;
            row.in_flight_kept += mind.kept - kept;
            row.in_flight_lost += mind.lost - lost;
        }
        stopped?;
        match self.shared.failure.lock().unwrap_or_else(|e| e.into_inner()).take() {
            Some(text) => Err(LabError::new(text)),
            None => Ok(()),
        }
    }
}

/// The thread that waits for the end of an instance while others work.
struct Watch<'a> {
    seats: &'a [Seat],
    shared: &'a Shared,
    killed: &'a AtomicU64,
    quota: u64,
    lasting: Duration,
    until: f64,
    /// Set when the archive has completed its task in this life.
    archived: &'a AtomicBool,
    bar: &'a ProgressBar,
}

impl Watch<'_> {
    /// Waits until the instance has ended by itself or its time is up, then performs the kill.
    fn until_the_end(&self, place: &mut Place, ending: &Ending) -> Result<(), LabError> {
        let begun = Instant::now();
        let mut steps = 0;
        let mut moved = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(1));
            if place.has_ended() || self.shared.has_failed() {
                return Ok(());
            }
            let now = self.seats.iter().map(|s| s.steps.load(Ordering::Relaxed)).sum::<u64>();
            if now != steps {
                (steps, moved) = (now, Instant::now());
            }
            if moved.elapsed() > HANG_LIMIT {
                let text = format!("no session makes progress\n{}{}", waits(place), place.stacks());
                place.keep();
                place.kill()?;
                return Err(LabError::new(text));
            }
            let elapsed = begun.elapsed();
            let killed = self.killed.load(Ordering::Relaxed);
            if self.until > 60.0 {
                self.bar.set_position(killed / 10);
            }
            let done = killed >= self.quota && self.archived.load(Ordering::Acquire);
            let enough = elapsed > self.lasting && done && !ending.comes();
            if enough || elapsed.as_secs_f64() > self.until {
                break;
            }
        }
        match ending {
            Ending::Background => kill_background(place),
            Ending::Stop => return Ok(()),
            _ => {}
        }
        if *ending == Ending::Background && place.wait_for_own_end(Duration::from_secs(20)) {
            return Ok(());
        }
        place.kill()
    }
}

/// Kills one background process; the instance must end by itself.
fn kill_background(place: &Place) {
    let Ok(mut c) = place.connect() else { return };
    let sql = "select spid from v$process where background is not null order by dbms_random.value";
    let Ok(rows) = c.query(sql, &[]).and_then(|q| q.all()) else { return };
    let pids = rows.iter().filter_map(|row| match &row[0] {
        types::Value::Text(text) => text.trim().parse::<i32>().ok(),
        _ => None,
    });
    if let Some(pid) = pids.rev().find(|pid| Some(*pid) != place.supervisor()) {
        // A process that has ended meanwhile needs no kill.
        let _ = os::process::kill(pid, os::signal::SIGKILL);
    }
}

/// The waits of the sessions, if the instance still answers.
fn waits(place: &Place) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    let dir = place.dir().to_path_buf();
    std::thread::spawn(move || {
        let ask = || -> client::ClientResult<String> {
            let mut c = Client::connect(&dir, &client::Credentials::Sysdba)?;
            let sql = "select sid, event, p1, p2, p3, state, seconds_in_wait, blocking_session from v$session";
            let rows = c.query(sql, &[])?.all()?;
            Ok(rows.iter().map(|row| format!("{row:?}\n")).collect())
        };
        // The receiver is gone when the answer comes too late.
        let _ = sender.send(ask().unwrap_or_else(|e| e.to_string()));
    });
    receiver.recv_timeout(Duration::from_secs(10)).unwrap_or_else(|_| "v$session does not answer\n".into())
}

/// Kills `quota` server processes, spread over about `lasting`.
fn kill_sessions(seats: &[Seat], quota: u64, lasting: Duration, r: &mut Random, shared: &Shared, killed: &AtomicU64) {
    let pause = (lasting.as_micros() as u64 / quota.max(1)).clamp(200, 20_000);
    while killed.load(Ordering::Relaxed) < quota && !shared.over.load(Ordering::Acquire) {
        std::thread::sleep(Duration::from_micros(r.below(2 * pause)));
        let process = seats[r.below(seats.len() as u64) as usize].process.swap(0, Ordering::AcqRel);
        if process != 0 && os::process::kill(process as i32, os::signal::SIGKILL).is_ok() {
            killed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn progress_bar(plan: &Plan) -> ProgressBar {
    if !plan.progress {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(plan.instance_kills + plan.session_kills / 10);
    if let Ok(style) = ProgressStyle::with_template("{bar:32} {pos}/{len}  {elapsed_precise} (about {eta} left)  {msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// Writes results.json, results.csv and report.html.
///
/// # Errors
/// A file cannot be written.
pub fn write(result: &Torture, folder: &std::path::Path) -> Result<(), LabError> {
    std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
    let json = serde_json::to_string_pretty(result).map_err(|e| LabError::new(e.to_string()))?;
    crate::files::write_file(&folder.join("results.json"), &json)?;
    crate::files::write_file(&folder.join("results.csv"), &result.csv())?;
    crate::files::write_file(&folder.join("report.html"), &html::page(result))
}
