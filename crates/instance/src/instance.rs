//! The instance: every shared structure, made once and inherited by every process.
//!
//! Opening has two phases: all areas are reserved, then the mapping is made and each structure formats its own areas
//! (invariant 1). Areas are reserved in the order of the crates, lowest first. The clean-up hooks for dead processes
//! are registered on the way, because only here all structures are known.

use crate::ash::{Ash, AshLayout};
use crate::caches::{Caches, CachesLayout, OnCommit};
use crate::fixed::MakeFixedTables;
use crate::metrics::{Metrics, MetricsLayout};
use crate::sizes::Sizes;
use crate::state::{Phase, State, StateLayout};
use crate::storage::{Database, Storage, StorageLayout};
use buffer_cache::Share;
use params::{Designs, InitParams, Param, ParamsLayout, SystemParams};
use process::{Attach, Cancel, Process, ProcessConfig, ProcessLayout, Processes};
use sga::{LargePages, Sga, SgaBuilder, Wish};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use types::{Ora, Result};

/// Blocks that a DBWn writes at a time.
const WRITE_BATCH: usize = buffer_cache::WRITES_MAX;

/// A running instance.
pub struct Instance {
    dir: PathBuf,
    ephemeral: bool,
    sizes: Sizes,
    designs: Designs,
    /// The parameters as they were given, without derived values.
    asked: InitParams,
    sga: &'static Sga,
    processes: &'static Processes,
    params: SystemParams,
    state: State,
    storage: Storage,
    caches: Caches,
    ash: Ash,
    metrics: Metrics,
    fixed: OnceLock<MakeFixedTables>,
}

impl Instance {
    /// Makes the shared structures over the files of a database, and opens them.
    ///
    /// # Errors
    /// Errors of inconsistent parameters, unavailable memory and unusable files.
    pub(crate) fn make(
        dir: &Path,
        mut init: InitParams,
        database: &Database,
        ephemeral: bool,
    ) -> Result<&'static Instance> {
        let asked = init.clone();
        let mut sizes = Sizes::derive(&mut init)?;
        let designs = Designs::of(&init);
        let given = init.clone();
        sizes.fill_target(&mut init, &|sizes| reserve(sizes, &designs, &given).0.len_bytes());
        let (builder, layouts) = reserve(&sizes, &designs, &init);
        let sga = builder.create_as(wish(&init)).map_err(|e| sga_error(&e))?;
        let processes = Processes::create(sga, &layouts.processes);
        tune(processes, &init, &designs);
        let params = SystemParams::create(sga, &layouts.params, &init);
        let state = State::create(sga, &layouts.state);
        let storage = Storage::create(processes, &layouts.storage, database)?;
        if !database.files.is_read_only() && !database.is_new {
            storage.mark_open(database.standing.scn)?;
        }
        storage.redo.set_archive_place(Box::new(move || archive_place(&params)));
        let dir = dir.to_path_buf();
        let caches = Caches::create(processes, &layouts.caches, storage.txns);
        let instance = Instance {
            dir,
            ephemeral,
            sizes,
            designs,
            asked,
            sga,
            processes,
            params,
            state,
            storage,
            caches,
            ash: Ash::create(sga, &layouts.ash),
            metrics: Metrics::create(sga, &layouts.metrics),
            fixed: OnceLock::new(),
        };
        let instance: &'static Instance = Box::leak(Box::new(instance));
        instance.advise_work_areas();
        instance.limit_memory();
        caches.servers.set_wake(|| instance.wake_supervisor());
        storage.cache.set_writer(Box::new(|_, set| instance.post_writers(set)));
        let p = instance.attach_background("supervisor")?;
        let retention_s = params.number(Param::UndoRetention).max(0) as u64;
        storage.open(&p, database, retention_s)?;
        Ok(instance)
    }

    /// Closes the database: cleans up behind every dead process, writes every dirty block and marks the control file as
    /// clean. The supervisor calls it after all other processes have ended or died. Their unfinished changes in the SGA
    /// are repaired first, so a database survives the death of any process but the supervisor.
    ///
    /// # Errors
    /// A failed write; the control file is then not marked as clean, and the next start recovers the database.
    pub fn close(&'static self) -> Result<()> {
        // The DBWn have ended, too. Rolling back may need more buffers than are clean, so this process writes dirty
        // ones.
        self.state.clear_writers();
        let p = self.attach_background("supervisor")?;
        self.processes.sweep(&p);
        self.storage.shut_down(&p)
    }

    /// The newest SCN.
    pub fn current_scn(&self) -> types::Scn {
        self.storage.txns.current_scn()
    }

    /// Files, blocks, transactions and rows.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Library cache and result cache.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// The metrics of the last intervals.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The active session history.
    pub fn ash(&self) -> &Ash {
        &self.ash
    }

    /// The hook of every commit.
    pub fn on_commit(&'static self) -> OnCommit {
        OnCommit {
            results: self.caches.results,
            rows: self.storage.rows,
            state: &self.state,
            processes: self.processes,
        }
    }

    /// The database directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the database is removed with the instance.
    pub fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// The sizes in force.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The sizes with another `sga_target`, in bytes.
    ///
    /// # Errors
    /// ORA-00068 when a cache would be too small.
    pub fn sizes_with_target(&self, sga_target: u64) -> Result<Sizes> {
        let mut init = self.asked.clone();
        init.derive(Param::SgaTarget, sga_target);
        let mut sizes = Sizes::derive(&mut init)?;
        let given = init.clone();
        sizes.fill_target(&mut init, &|sizes| reserve(sizes, &self.designs, &given).0.len_bytes());
        Ok(sizes)
    }

    /// The designs in force.
    pub fn designs(&self) -> &Designs {
        &self.designs
    }

    /// The shared memory.
    pub fn sga(&self) -> &'static Sga {
        self.sga
    }

    /// The processes of the instance.
    pub fn processes(&self) -> &'static Processes {
        self.processes
    }

    /// The parameters in force.
    pub fn params(&self) -> &SystemParams {
        &self.params
    }

    /// Whether 11G verifiers of passwords are made and accepted.
    pub fn accepts_11g(&self) -> bool {
        self.params.get(Param::AllowedLogonVersionServer) != "12a"
    }

    /// Phase, job slaves and keys.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The most processes, background processes included.
    pub fn max_processes(&self) -> usize {
        self.sizes.processes
    }

    /// Whether the instance is closing.
    pub fn is_closing(&self) -> bool {
        self.state.phase() == Phase::Closing
    }

    /// Posts the process in `slot`, which is its number minus one.
    pub fn post(&self, slot: usize) {
        self.processes.post(slot as u32 + 1);
    }

    /// The number of DBWn processes.
    pub fn db_writers(&self) -> usize {
        self.sizes.db_writers
    }

    /// Whether a DBWn begins the writes of a batch together.
    pub fn writes_asynchronously(&self) -> bool {
        let options = self.params.get(Param::FilesystemioOptions);
        self.params.flag(Param::DiskAsynchIo) && matches!(options.as_str(), "asynch" | "setall")
    }

    /// The working sets that DBWn number `n` writes for.
    pub fn share_of_writer(&self, n: usize) -> Share {
        Share { first: n, of: self.sizes.db_writers }
    }

    /// Posts the DBWn of a working set, or all DBWn; false if there is none.
    fn post_writers(&self, set: Option<usize>) -> bool {
        let writers = match set {
            Some(set) => set % self.sizes.db_writers..set % self.sizes.db_writers + 1,
            None => 0..self.sizes.db_writers,
        };
        let there = writers.filter_map(|n| self.state.writer(n));
        there.map(|slot| self.post(slot)).count() > 0
    }

    /// Notes that the child with this process id has ended, and wakes PMON if it left a slot behind.
    pub fn process_ended(&self, os_pid: i32) {
        let Some(owner) = self.processes.owner_by_os_pid(os_pid) else { return };
        self.state.mark_dead(owner);
        if let Some(pmon) = self.state.pmon() {
            self.post(pmon);
        }
    }

    /// Asks the background process with this process id to finish its work and end.
    pub fn ask_to_end(&self, os_pid: i32) {
        if let Some(number) = self.processes.by_os_pid(os_pid) {
            self.state.ask_to_end(number as usize - 1, true);
            self.processes.post(number);
        }
    }

    /// Kills every user's session: its call ends with ORA-00028.
    pub fn kill_all_sessions(&self) {
        for (number, slot) in self.processes.live() {
            if !slot.is_named()
                && let Some(session) = self.processes.session(number)
            {
                self.processes.cancel(number, session.serial(), Cancel::Killed);
            }
        }
    }

    /// Kills the session of the server process with this process id, because its client is gone.
    pub fn client_gone(&self, os_pid: i32) {
        let all = self.processes;
        let Some(number) = all.by_os_pid(os_pid) else { return };
        let Some(serial) = all.session(number).map(|s| s.serial()) else { return };
        // The serial number belongs to this process only if the process still owns the slot.
        if all.slot(number).is_some_and(|slot| slot.state().1 == os_pid) {
            all.cancel(number, serial, Cancel::Killed);
        }
    }

    /// Breaks the current call of a session, if `key` is the key that its logon received.
    pub fn cancel(&self, sid: u32, serial: u32, key: u64) {
        if sid > 0 && self.state.is_cancel_key(sid as usize - 1, key) {
            self.processes.cancel(sid, serial.into(), Cancel::Break);
        }
    }

    /// As [`Self::cancel`], if the session still runs call number `call` of its client.
    pub fn cancel_call(&self, sid: u32, serial: u32, key: u64, call: u64) {
        if sid > 0 && self.state.is_cancel_key(sid as usize - 1, key) {
            self.processes.break_call(sid, serial.into(), call);
        }
    }

    /// Changes a parameter for the whole instance. The caller holds the parameter enqueue.
    pub fn set_parameter(&self, param: Param, value: &str) {
        self.params.set(param, value);
        let n = value.parse::<u32>().unwrap_or(0);
        match param {
            Param::SpinCount => self.processes.domain().tunables().set_spin_count(n),
            Param::MutexSpinCount => self.processes.domain().tunables().set_mutex_spin_count(n),
            Param::MutexWaitScheme => self.processes.domain().tunables().set_mutex_wait_scheme(n),
            Param::MutexWaitTime => self.processes.domain().tunables().set_mutex_wait_time(n),
            Param::LatchRecording => self.processes.domain().record(n),
            Param::JobQueueProcesses => self.wake_job_queue(),
            Param::ParallelMaxServers => self.caches.servers.set_limit(n as usize),
            Param::PgaAggregateTarget => {
                self.advise_work_areas();
                if self.params.is_default(Param::PgaAggregateLimit) {
                    self.params.derive(Param::PgaAggregateLimit, self.pga_limit_by_default());
                }
                self.limit_memory();
            }
            Param::PgaAggregateLimit | Param::PgaMaxSize => self.limit_memory(),
            Param::AshEnable
            | Param::AshSamplingInterval
            | Param::MetricInterval
            | Param::DbCacheAdvice
            | Param::StatisticsLevel => {
                self.advise_work_areas();
                self.wake_sampler();
            }
            _ => {}
        }
    }

    /// The default of `pga_aggregate_limit`, and the least value that ALTER SYSTEM may set.
    pub fn pga_limit_by_default(&self) -> u64 {
        self.sizes.pga_limit(self.params.number(Param::PgaAggregateTarget) as u64)
    }

    /// Sets the memory limits of the processes.
    fn limit_memory(&self) {
        let bytes = |param| self.params.number(param).max(0) as u64;
        let (instance, process) = (bytes(Param::PgaAggregateLimit), bytes(Param::PgaMaxSize));
        self.processes.set_pga_limits(process::PgaLimits { instance, process });
    }

    /// Sets the target for the advice about work areas. With BASIC nothing is counted for it.
    fn advise_work_areas(&self) {
        let is_on = !self.params.get(Param::StatisticsLevel).eq_ignore_ascii_case("BASIC");
        self.caches.areas.set_target(is_on.then(|| self.params.number(Param::PgaAggregateTarget) as u64));
    }

    /// Wakes MMNL, which may have to sample more often.
    fn wake_sampler(&self) {
        let all = self.processes.live();
        for (number, _) in all.filter(|(_, slot)| slot.is_background() && slot.name() == "MMNL") {
            self.processes.post(number);
        }
    }

    /// Wakes CJQ0, because the job queue may have changed.
    pub fn wake_job_queue(&self) {
        self.state.note_job_change();
        if let Some(slot) = self.state.job_coordinator() {
            self.post(slot);
        }
    }

    /// Whether the session belongs to a server of parallel queries.
    pub fn is_parallel_server(&self, sid: u32) -> bool {
        self.caches.servers.list().iter().any(|seen| seen.process == sid)
    }

    /// Wakes the supervisor, as the end of a child does.
    pub fn wake_supervisor(&self) {
        // In a test that has no supervisor the process itself ignores this.
        let _ = os::process::kill(self.state.supervisor() as i32, os::signal::SIGCHLD);
    }

    /// Writes a parameter into the init file that the next start reads.
    ///
    /// # Errors
    /// ORA-32001 for a throw-away database, or when the file cannot be written.
    pub fn write_init_file(&self, param: Param, value: &str) -> Result<()> {
        let no_file = || Ora::new(32001);
        if self.ephemeral {
            return Err(no_file());
        }
        let path = self.dir.join("init.ora");
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let is_other = |line: &&str| {
            let name = line.split('=').next().unwrap_or("").trim();
            !name.eq_ignore_ascii_case(param.name())
        };
        let mut text: String = old.lines().filter(is_other).map(|l| format!("{l}\n")).collect();
        text.push_str(&format!("{} = \"{value}\"\n", param.name()));
        std::fs::write(&path, text).map_err(|_| no_file())
    }

    /// Wakes the server process of a killed session, which may be waiting for its client.
    pub fn wake_server(&self, sid: u32) {
        let Some(slot) = self.processes.slot(sid) else { return };
        // The process may have ended already.
        let _ = os::process::kill(slot.state().1, os::signal::SIGTERM);
    }

    /// Sets the function that makes the fixed tables of sessions. Called before the first session.
    pub fn set_fixed_tables(&self, make: MakeFixedTables) {
        let _ = self.fixed.set(make);
    }

    /// The function that makes the fixed tables of a session.
    pub fn make_fixed_tables(&self) -> Option<MakeFixedTables> {
        self.fixed.get().copied()
    }

    /// Joins the instance as a background process.
    ///
    /// # Errors
    /// ORA-00020 when all process slots are taken.
    pub fn attach_background(&self, name: &str) -> Result<Process> {
        self.attach_named(name, false)
    }

    /// Joins the instance as a background process or, to run jobs, as a slave.
    pub fn attach_named(&self, name: &str, is_slave: bool) -> Result<Process> {
        let process = self.processes.attach(&Attach {
            background: Some(name),
            is_slave,
            program: name,
            os_user: &os::process::user_name(),
            machine: &os::process::host_name(),
            terminal: "UNKNOWN",
            client_process: &os::process::own_id().to_string(),
            // Job slaves do not take the slots of the owner (invariant 4).
            within: is_slave.then(|| self.max_processes()),
        })?;
        let slot = process.number() as usize - 1;
        self.state.ask_to_end(slot, false);
        self.state.set_cancel_key(slot, 0);
        self.pre_page();
        Ok(process)
    }

    /// Touches every page of the SGA if the parameters ask each process to do so; returns whether they do.
    pub fn pre_page(&self) -> bool {
        let wanted = self.params.flag(Param::PrePageSga) && self.params.get(Param::PrePageSgaAt) == "process";
        if wanted {
            self.sga.pre_page();
        }
        wanted
    }

    /// Tries again to roll back transactions of dead processes that could not be rolled back before.
    ///
    /// # Errors
    /// The error of the first transaction that still cannot be rolled back; the next call tries it again.
    pub fn retry_rollbacks(&self, p: &Process) -> Result<()> {
        self.storage.txns.end_idle_branches(p, false);
        self.storage.txns.recover(p).map(drop)
    }

    /// Ends a round of a background process: releases the pins of its reads before it sleeps.
    pub fn end_round(&self, p: &Process) {
        self.storage.cache.end_call(p);
        p.tell_heap();
    }

    /// Writes the dirty blocks of a share that keep sessions from finding free buffers.
    ///
    /// # Errors
    /// A failed write.
    pub fn write_for_free_buffers(&self, p: &Process, share: Share) -> Result<()> {
        while self.storage.cache.write_replaced(p, share, WRITE_BATCH)? == WRITE_BATCH {}
        Ok(())
    }

    /// Writes the blocks of a share that were changed before `rba`, or all its dirty blocks if `rba` is 0, as without
    /// redo. Requests for free buffers are served first.
    ///
    /// # Errors
    /// A failed write.
    pub fn write_older(&self, p: &Process, share: Share, rba: redo::Rba) -> Result<()> {
        let rba = if rba.0 == 0 { redo::Rba(u64::MAX) } else { rba };
        let mut posts = p.posts();
        loop {
            let written = self.storage.cache.write_older(p, share, rba, WRITE_BATCH)?;
            p.count(wait::Stat::DbwrCheckpointBuffersWritten, written as u64);
            if written == 0 {
                return Ok(());
            }
            if p.posts() != posts {
                posts = p.posts();
                self.write_for_free_buffers(p, share)?;
            }
        }
    }

    /// Makes a checkpoint.
    ///
    /// # Errors
    /// A failed write; the last checkpoint stays valid.
    pub fn checkpoint(&self, p: &Process) -> Result<()> {
        p.count(wait::Stat::BackgroundCheckpointsStarted, 1);
        self.storage.checkpoint(p)?;
        p.count(wait::Stat::BackgroundCheckpointsCompleted, 1);
        Ok(())
    }

    /// Whether a checkpoint is due: one was requested, or the last one is too old by time or by redo. A throw-away
    /// database makes checkpoints on request only.
    pub fn is_checkpoint_due(&self) -> bool {
        let (redo, params) = (self.storage.redo, &self.params);
        if redo.wants_checkpoint() {
            return true;
        }
        if self.ephemeral || redo.redo_since_checkpoint() == 0 {
            return false;
        }
        let age_s = (os::clock::wall_ns() / 1_000_000_000).saturating_sub(redo.checkpoint().time_s.into());
        let (timeout_s, blocks) =
            (params.number(Param::LogCheckpointTimeout), params.number(Param::LogCheckpointInterval));
        let limit = blocks as u64 * redo::LOG_BLOCK_BYTES;
        (timeout_s > 0 && age_s >= timeout_s as u64) || (limit > 0 && redo.redo_since_checkpoint() >= limit)
    }

    /// Writes every dirty block.
    ///
    /// # Errors
    /// A failed write.
    pub fn write_all(&self, p: &Process) -> Result<()> {
        self.storage.cache.flush(p)
    }

    /// The SGA's pages and areas, for the alert log.
    pub fn memory_report(&self) -> String {
        let report = self.sga.page_report();
        let mut text = format!("Total System Global Area {} bytes\n{report}\nAreas:", self.sga.len_bytes());
        let mut areas: Vec<(&str, u64)> = Vec::new();
        for area in self.sga.areas() {
            match areas.iter_mut().find(|(name, _)| *name == area.name) {
                Some((_, bytes)) => *bytes += area.bytes,
                None => areas.push((area.name, area.bytes)),
            }
        }
        for (name, bytes) in areas {
            text.push_str(&format!("\n  {name:<36}{bytes:>16}"));
        }
        text
    }
}

/// The areas of all structures.
struct Layouts {
    processes: ProcessLayout,
    params: ParamsLayout,
    state: StateLayout,
    storage: StorageLayout,
    caches: CachesLayout,
    ash: AshLayout,
    metrics: MetricsLayout,
}

/// Reserves the areas of all structures, lowest crate first (invariant 1).
fn reserve(sizes: &Sizes, designs: &Designs, init: &InitParams) -> (SgaBuilder, Layouts) {
    let generation = designs.generation;
    let processes = ProcessConfig { processes: sizes.slots() as u32, generation };
    let mut builder = SgaBuilder::new();
    let layouts = Layouts {
        processes: ProcessLayout::reserve(&mut builder, &processes)
            .with_recording(&mut builder, init.number(Param::LatchRecordingSize).max(0) as u64),
        params: ParamsLayout::reserve(&mut builder),
        state: StateLayout::reserve(&mut builder, sizes.slots()),
        storage: StorageLayout::reserve(&mut builder, sizes, designs, generation),
        caches: CachesLayout::reserve(&mut builder, sizes, designs, init),
        ash: AshLayout::reserve(&mut builder, crate::ash::ring_bytes(init)),
        metrics: MetricsLayout::reserve(&mut builder),
    };
    (builder, layouts)
}

/// The place of archived logs: `log_archive_dest_1 = 'LOCATION=/path'`, or the directory alone.
fn archive_place(params: &SystemParams) -> redo::ArchivePlace {
    let mut place = redo::ArchivePlace::default();
    let text = params.get(Param::LogArchiveDest1);
    let text = text.trim();
    let is_location = text.get(..9).is_some_and(|head| head.eq_ignore_ascii_case("LOCATION="));
    let named = if is_location { text[9..].split_whitespace().next().unwrap_or("") } else { text };
    if !named.is_empty() {
        place.directory = named.into();
    }
    let format = params.get(Param::LogArchiveFormat);
    if !format.is_empty() {
        place.format = format;
    }
    place
}

/// The error of a failed mapping. Its text begins with the number, which is cut off because [`Ora`] prints it.
fn sga_error(e: &sga::SgaError) -> Ora {
    let text = e.to_string();
    let bare =
        text.split_once(": ").filter(|(head, _)| head.starts_with("ORA-")).map_or(text.as_str(), |(_, rest)| rest);
    Ora::from_text(types::Facility::Ora, e.ora(), bare)
}

/// The memory that the parameters ask for.
fn wish(init: &InitParams) -> Wish {
    let pages = match init.get(Param::UseLargePages) {
        "TRUE" => LargePages::True,
        "FALSE" => LargePages::False,
        "ONLY" => LargePages::Only,
        _ => LargePages::Auto,
    };
    let touch = init.flag(Param::PrePageSga) && init.get(Param::PrePageSgaAt) == "instance";
    Wish { pages, lock: init.flag(Param::LockSga), touch }
}

/// Puts the latch parameters into force.
fn tune(processes: &Processes, init: &InitParams, designs: &Designs) {
    let t = processes.domain().tunables();
    let n = |p| init.number(p).clamp(0, i64::from(u32::MAX)) as u32;
    t.set_sleep_algorithm(crate::designs::sleep(designs.sleep));
    t.set_spin_count(n(Param::SpinCount));
    t.set_max_exponential_sleep_cs(n(Param::MaxExponentialSleep));
    t.set_max_sleep_holding_latch_cs(n(Param::MaxSleepHoldingLatch));
    t.set_mutex_spin_count(n(Param::MutexSpinCount));
    // Up to 11.1 a waiter for a mutex yields; from 11.2 on it sleeps.
    let yields = init.is_default(Param::MutexWaitScheme) && designs.generation <= latch::Generation::V11_1;
    t.set_mutex_wait_scheme(if yields { 0 } else { n(Param::MutexWaitScheme) });
    t.set_mutex_wait_time(n(Param::MutexWaitTime));
    if n(Param::LatchRecording) != 0 {
        processes.domain().record(n(Param::LatchRecording));
    }
}
