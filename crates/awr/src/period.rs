//! The counts between two snapshots.

use crate::Source;
use crate::advice::Advice;
use crate::loader::{Ends, Loader, count, real, text};
use std::collections::BTreeMap;
use types::{Ora, Result, Value};

/// A snapshot at the beginning or end of a period.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub id: i64,
    /// The time of the snapshot, as text and in seconds since the first snapshot of the database.
    pub time: String,
    pub at_s: f64,
    pub startup: String,
}

/// A statement's figures of the period.
#[derive(Clone, Debug, Default)]
pub struct Statement {
    pub id: String,
    pub module: String,
    pub text: String,
    /// COMMAND_TYPE.
    pub command: u64,
    pub executions: u64,
    pub parse_calls: u64,
    pub rows: u64,
    pub gets: u64,
    pub reads: u64,
    pub elapsed_us: u64,
    pub cpu_us: u64,
    pub versions: u64,
    /// Waits of the class User I/O.
    pub io_us: u64,
    /// Bytes of shared memory at the last snapshot that saw it.
    pub memory: u64,
}

/// The figures of a segment.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    pub owner: String,
    pub tablespace: String,
    pub name: String,
    /// The partition, if the object has partitions.
    pub part: String,
    pub kind: String,
    /// Logical reads, busy waits, changes, physical reads and writes, read and write requests, ITL waits, row lock
    /// waits, scans.
    pub figures: [u64; 10],
}

impl Statement {
    /// Whether it is a PL/SQL block or CALL: its figures include those of the statements inside it.
    pub fn is_block(&self) -> bool {
        matches!(self.command, 47 | 170)
    }
}

/// One step of the period, between two consecutive snapshots.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub from_s: f64,
    pub to_s: f64,
    pub cpu_us: u64,
    /// `DB time`; it exceeds CPU time and waits when processes were ready to run without a CPU.
    pub db_time_us: u64,
    /// Microseconds that users waited, by class.
    pub waited: Vec<(String, u64)>,
}

/// A period, from one snapshot to another of the same instance.
#[derive(Clone, Debug, Default)]
pub struct Period {
    pub dbid: i64,
    pub db_name: String,
    pub instance: String,
    pub release: String,
    pub host: String,
    pub platform: String,
    pub begin: Snapshot,
    pub end: Snapshot,
    /// Seconds between them.
    pub elapsed_s: f64,
    pub stats: BTreeMap<String, (u64, u64)>,
    pub times: BTreeMap<String, (u64, u64)>,
    pub os: BTreeMap<String, (f64, f64)>,
    /// `[waits, timeouts, us, users' waits, users' timeouts, users' us]` by event and class.
    pub events: Vec<Ends>,
    /// Waits by event, class and the power of two in microseconds that bounds them.
    pub histogram: Vec<Ends>,
    /// `[gets, misses, sleeps, immediate gets, immediate misses, spin gets, wait us]`.
    pub latches: Vec<Ends>,
    pub latch_parents: Vec<Ends>,
    /// By name and child number.
    pub latch_children: Vec<Ends>,
    /// `[no-wait misses, sleeps, waiter sleeps]` by latch and place.
    pub latch_misses: Vec<Ends>,
    /// `[sleeps, wait us]` by type and place.
    pub mutexes: Vec<Ends>,
    /// `[gets, misses, scans, scan misses, modifications, usage]`.
    pub row_cache: Vec<Ends>,
    /// `[gets, hits, pins, pin hits, reloads, invalidations]`.
    pub library_cache: Vec<Ends>,
    /// `[requests, granted, failed, waits, wait ms]` by type and reason.
    pub enqueues: Vec<Ends>,
    /// `[waits, time cs]` by class of block.
    pub buffer_waits: Vec<Ends>,
    /// `[buffers, gets, reads, writes, free waits, write complete waits, busy waits]`.
    pub pools: Vec<Ends>,
    /// `[reads, writes, read time cs, write time cs, blocks read, blocks written, single reads]` by tablespace and
    /// file.
    pub files: Vec<Ends>,
    /// `[undo blocks, transactions, concurrency, steals, errors]` by end of interval; not totals.
    pub undo: Vec<Ends>,
    pub sga: Vec<Ends>,
    pub sga_areas: Vec<Ends>,
    /// `[processes, with memory, used, allocated, average, deviation, most, most ever]` in bytes, by category; not
    /// totals.
    pub process_memory: Vec<Ends>,
    /// `[size, least, greatest, changes]` in bytes, by component and kind of the last change.
    pub components: Vec<Ends>,
    /// Names with values at both ends.
    pub parameters: Vec<(String, String, String)>,
    pub statements: Vec<Statement>,
    pub segments: Vec<Segment>,
    pub advice: Advice,
    /// `[now, most]` by resource, initial allocation and limit; not totals.
    pub resources: Vec<Ends>,
    /// `[target MTTR, estimated MTTR, IOs, actual, target, log size, timeout, interval]`, the last five in blocks of
    /// redo; not totals.
    pub recovery: Vec<Ends>,
    pub steps: Vec<Step>,
    /// For each snapshot: its time, and the figures of the operating system.
    pub os_steps: Vec<(String, BTreeMap<String, f64>)>,
    /// Bytes of a block.
    pub block_size: u64,
    /// Log switches from the log history; `None` when the history no longer covers the period.
    pub log_switches: Option<u64>,
}

fn refused(what: String) -> Ora {
    Ora::from_text(types::Facility::Ora, 20200, what)
}

impl Period {
    /// Loads the period from snapshot `begin` to snapshot `end`.
    ///
    /// # Errors
    /// ORA-20200 when they do not exist or are in the wrong order, or when the instance was started between them.
    pub fn load(source: &mut dyn Source, begin: i64, end: i64) -> Result<Period> {
        if end <= begin {
            return Err(refused(format!("End Snapshot Id {end} must be greater than Begin Snapshot Id {begin}")));
        }
        let mut period = Period::default();
        period.snapshots(source, begin, end)?;
        period.instance_of(source)?;
        let mut l = Loader { source, ends: [begin, end], dbid: period.dbid };
        period.stats = l.named("stat_name, value", "sysstat")?;
        period.times = l.named("stat_name, value", "sys_time_model")?;
        for (at, snapshot) in [begin, end].into_iter().enumerate() {
            for row in l.rows("stat_name, value", "osstat", snapshot)? {
                let entry = period.os.entry(text(&row[0])).or_default();
                *if at == 0 { &mut entry.0 } else { &mut entry.1 } = real(&row[1]);
            }
        }
        let events = "event_name, wait_class, total_waits, total_timeouts, time_waited_micro, total_waits_fg, total_timeouts_fg, \
                      time_waited_micro_fg";
        period.events = l.ends(2, events, "system_event")?;
        let latch = "gets, misses, sleeps, immediate_gets, immediate_misses, spin_gets, wait_time";
        period.latches = l.ends(1, &format!("latch_name, {latch}"), "latch")?;
        period.latch_parents = l.ends(1, &format!("latch_name, {latch}"), "latch_parent")?;
        period.latch_children = l.ends(2, &format!("latch_name, child#, {latch}"), "latch_children")?;
        let misses = "parent_name, where_in_code, nwfail_count, sleep_count, wtr_slp_count";
        period.latch_misses = l.ends(2, misses, "latch_misses_summary")?;
        period.mutexes = l.ends(2, "mutex_type, location, sleeps, wait_time", "mutex_sleep")?;
        let row_cache = "parameter, gets, getmisses, scans, scanmisses, modifications, usage";
        period.row_cache = l.ends(1, row_cache, "rowcache_summary")?;
        let library = "namespace, gets, gethits, pins, pinhits, reloads, invalidations";
        period.library_cache = l.ends(1, library, "librarycache")?;
        let enqueues = "eq_type, req_reason, total_req#, succ_req#, failed_req#, total_wait#, cum_wait_time";
        period.enqueues = l.ends(2, enqueues, "enqueue_stat")?;
        period.buffer_waits = l.ends(1, "class, wait_count, time", "waitstat")?;
        let pools = "name, set_msize, db_block_gets + consistent_gets, physical_reads, physical_writes, free_buffer_wait, \
                     write_complete_wait, buffer_busy_wait, block_size";
        period.pools = l.ends(1, pools, "buffer_pool_stat")?;
        period.block_size = period.pools.first().and_then(|p| p.end.last().copied()).unwrap_or(8192);
        let files = "tsname, filename, phyrds, phywrts, readtim, writetim, phyblkrd, phyblkwrt, singleblkrds";
        period.files = l.ends(2, files, "filestatxs")?;
        period.sga = l.ends(1, "name, value", "sga")?;
        period.sga_areas = l.ends(2, "pool, name, bytes", "sgastat")?;
        let memory = "category, num_processes, non_zero_allocs, used_total, allocated_total, allocated_avg, allocated_stddev, \
                      allocated_max, max_allocated_max";
        period.process_memory = l.ends(1, memory, "process_mem_summary")?;
        let component = "component, last_oper_type, current_size, min_size, max_size, oper_count";
        period.components = l.ends(2, component, "mem_dynamic_comp")?;
        let resource = "resource_name, initial_allocation, limit_value, current_utilization, max_utilization";
        period.resources = l.ends(3, resource, "resource_limit")?;
        let recovery = "target_mttr, estimated_mttr, recovery_estimated_ios, actual_redo_blks, target_redo_blks, log_file_size_redo_blks, \
                        log_chkpt_timeout_redo_blks, log_chkpt_interval_redo_blks";
        period.recovery = l.ends(0, recovery, "instance_recovery")?;
        period.segments = segments(&mut l)?;
        period.advice = Advice::load(&mut l)?;
        period.parameters = parameters(&mut l)?;
        period.histogram = histogram(&mut l)?;
        period.undo = undo(&mut l)?;
        period.statements = statements(&mut l)?;
        period.steps = steps(&mut l)?;
        period.os_steps = os_steps(&mut l)?;
        period.log_switches = log_switches(&mut l)?;
        Ok(period)
    }

    fn snapshots(&mut self, source: &mut dyn Source, begin: i64, end: i64) -> Result<()> {
        let sql = "select s.snap_id, s.dbid, to_char(s.end_interval_time, 'DD-Mon-RR HH24:MI:SS'), \
                   to_char(s.startup_time, 'DD-Mon-RR HH24:MI'), (cast(s.end_interval_time as date) - date '2020-01-01') * 86400 \
                   + to_number(to_char(s.end_interval_time, 'FF6')) / 1000000, s.startup_time \
                   from dba_hist_snapshot s, v$database d where s.dbid = d.dbid and s.snap_id in (:1, :2) order by s.snap_id";
        let rows = source.query(sql, &[Value::Number(begin.into()), Value::Number(end.into())])?;
        let found = |id: i64| rows.iter().find(|row| real(&row[0]) as i64 == id);
        let missing = |which: &str, id: i64| {
            refused(format!("{which} Snapshot Id {id} does not exist for this database/instance"))
        };
        let first = found(begin).ok_or_else(|| missing("Begin", begin))?;
        let last = found(end).ok_or_else(|| missing("End", end))?;
        if first[5] != last[5] {
            return Err(refused(format!("The instance was shutdown between snapshots {begin} and {end}")));
        }
        let snapshot =
            |id, row: &[Value]| Snapshot { id, time: text(&row[2]), at_s: real(&row[4]), startup: text(&row[3]) };
        (self.begin, self.end) = (snapshot(begin, first), snapshot(end, last));
        self.dbid = real(&last[1]) as i64;
        self.elapsed_s = (self.end.at_s - self.begin.at_s).max(1e-6);
        Ok(())
    }

    fn instance_of(&mut self, source: &mut dyn Source) -> Result<()> {
        let sql = "select i.db_name, i.instance_name, i.version, i.host_name, i.platform_name from dba_hist_database_instance i, \
                   dba_hist_snapshot s where s.snap_id = :1 and s.dbid = i.dbid and i.startup_time = s.startup_time";
        if let Some(row) = source.query(sql, &[Value::Number(self.end.id.into())])?.first() {
            let mut texts = row.iter().map(text);
            let mut next = || texts.next().unwrap_or_default();
            (self.db_name, self.instance) = (next(), next());
            (self.release, self.host, self.platform) = (next(), next(), next());
        }
        Ok(())
    }

    /// The increase of a statistic.
    pub fn stat(&self, name: &str) -> u64 {
        self.stats.get(name).map_or(0, |(begin, end)| end.saturating_sub(*begin))
    }

    /// The increase of a figure of the time model, in microseconds.
    pub fn time_us(&self, name: &str) -> u64 {
        self.times.get(name).map_or(0, |(begin, end)| end.saturating_sub(*begin))
    }

    /// The increase of a figure of the operating system.
    pub fn os_added(&self, name: &str) -> f64 {
        self.os.get(name).map_or(0.0, |(begin, end)| (end - begin).max(0.0))
    }

    /// The number of commits and rollbacks.
    pub fn transactions(&self) -> u64 {
        self.stat("user commits") + self.stat("user rollbacks")
    }

    /// `DB time`, microseconds.
    pub fn db_time_us(&self) -> u64 {
        self.time_us("DB time")
    }
}

fn parameters(l: &mut Loader<'_>) -> Result<Vec<(String, String, String)>> {
    let [begin, end] = l.ends;
    let columns = "parameter_name, value, isdefault, ismodified";
    let before: BTreeMap<String, String> =
        l.rows(columns, "parameter", begin)?.iter().map(|row| (text(&row[0]), text(&row[1]))).collect();
    let mut all = Vec::new();
    for row in l.rows(columns, "parameter", end)? {
        let (name, value) = (text(&row[0]), text(&row[1]));
        let old = before.get(&name).cloned().unwrap_or_default();
        if text(&row[2]) != "TRUE" || old != value {
            all.push((name, old, value));
        }
    }
    all.sort();
    Ok(all)
}

fn histogram(l: &mut Loader<'_>) -> Result<Vec<Ends>> {
    let ends = l.ends;
    let sql = "select h.event_name, h.wait_class, h.wait_time_micro, h.wait_count from dba_hist_event_histogram_micro h \
               where h.snap_id = :1 and h.dbid = :2";
    let mut all: BTreeMap<Vec<String>, Ends> = BTreeMap::new();
    for (at, snapshot) in ends.into_iter().enumerate() {
        let rows = l.source.query(sql, &[Value::Number(snapshot.into()), Value::Number(l.dbid.into())])?;
        for row in rows {
            let key: Vec<String> = row[..3].iter().map(text).collect();
            let entry = all.entry(key.clone()).or_insert(Ends { key, begin: vec![0], end: vec![0] });
            *if at == 0 { &mut entry.begin[0] } else { &mut entry.end[0] } = count(&row[3]);
        }
    }
    Ok(all.into_values().filter(|e| e.added(0) > 0).collect())
}

fn undo(l: &mut Loader<'_>) -> Result<Vec<Ends>> {
    let [begin, end] = l.ends;
    let sql = "select to_char(end_time, 'DD-Mon HH24:MI'), undoblks, txncount, maxconcurrency, unxpstealcnt + expstealcnt, \
               ssolderrcnt, nospaceerrcnt from dba_hist_undostat where snap_id > :1 and snap_id <= :2 order by end_time desc";
    let rows = l.source.query(sql, &[Value::Number(begin.into()), Value::Number(end.into())])?;
    let row = |row: Vec<Value>| Ends {
        key: vec![text(&row[0])],
        begin: Vec::new(),
        end: row[1..].iter().map(count).collect(),
    };
    Ok(rows.into_iter().map(row).collect())
}

/// Figures and texts are read apart: a join with the texts, which may be gone, would read the figures of all snapshots.
fn statements(l: &mut Loader<'_>) -> Result<Vec<Statement>> {
    let [begin, end] = l.ends;
    let binds = [begin, end, l.dbid].map(|n| Value::Number(n.into()));
    let of_period = "from dba_hist_sqlstat q where q.snap_id > :1 and q.snap_id <= :2 and q.dbid = :3";
    let sql = format!(
        "select q.sql_id, max(q.module), sum(q.executions_delta), sum(q.parse_calls_delta), sum(q.rows_processed_delta), \
         sum(q.buffer_gets_delta), sum(q.disk_reads_delta), sum(q.elapsed_time_delta), sum(q.cpu_time_delta), max(q.version_count), \
         sum(q.iowait_delta), max(q.sharable_mem) {of_period} group by q.sql_id"
    );
    let rows = l.source.query(&sql, &binds)?;
    let sql = format!(
        "select t.sql_id, t.sql_text, t.command_type from dba_hist_sqltext t where t.sql_id in (select q.sql_id {of_period}) and t.dbid = :3"
    );
    let mut texts: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for row in l.source.query(&sql, &binds)? {
        texts.insert(text(&row[0]), (text(&row[1]), count(&row[2])));
    }
    let mut row = |row: Vec<Value>| {
        let id = text(&row[0]);
        let (text_of, command) = texts.remove(&id).unwrap_or_default();
        Statement {
            module: text(&row[1]),
            executions: count(&row[2]),
            parse_calls: count(&row[3]),
            rows: count(&row[4]),
            gets: count(&row[5]),
            reads: count(&row[6]),
            elapsed_us: count(&row[7]),
            cpu_us: count(&row[8]),
            versions: count(&row[9]),
            io_us: count(&row[10]),
            memory: count(&row[11]),
            text: text_of,
            command,
            id,
        }
    };
    Ok(rows.into_iter().map(&mut row).collect())
}

fn segments(l: &mut Loader<'_>) -> Result<Vec<Segment>> {
    const FIGURES: [&str; 10] = [
        "logical_reads",
        "buffer_busy_waits",
        "db_block_changes",
        "physical_reads",
        "physical_writes",
        "physical_read_requests",
        "physical_write_requests",
        "itl_waits",
        "row_lock_waits",
        "table_scans",
    ];
    let [begin, end] = l.ends;
    let sums = FIGURES.map(|name| format!("sum(s.{name}_delta)")).join(", ");
    let names = "o.owner, o.tablespace_name, o.object_name, o.subobject_name, o.object_type";
    let sql = format!(
        "select {names}, {sums} from dba_hist_seg_stat s, dba_hist_seg_stat_obj o where s.snap_id > :1 and s.snap_id <= :2 \
         and s.dbid = :3 and o.dbid = s.dbid and o.dataobj# = s.dataobj# and o.obj# = s.obj# group by {names}"
    );
    let rows = l.source.query(&sql, &[begin, end, l.dbid].map(|n| Value::Number(n.into())))?;
    let row = |row: Vec<Value>| Segment {
        owner: text(&row[0]),
        tablespace: text(&row[1]),
        name: text(&row[2]),
        part: text(&row[3]),
        kind: text(&row[4]),
        figures: std::array::from_fn(|n| row.get(5 + n).map_or(0, count)),
    };
    Ok(rows.into_iter().map(row).collect())
}

/// The snapshots from the first to the last, with the increases between consecutive ones.
fn steps(l: &mut Loader<'_>) -> Result<Vec<Step>> {
    let [begin, end] = l.ends;
    let binds = [begin, end, l.dbid].map(|n| Value::Number(n.into()));
    let sql = "select s.snap_id, (cast(s.end_interval_time as date) - date '2020-01-01') * 86400 \
               + to_number(to_char(s.end_interval_time, 'FF6')) / 1000000, t.value, d.value \
               from dba_hist_snapshot s, dba_hist_sys_time_model t, dba_hist_sys_time_model d \
               where s.snap_id between :1 and :2 and s.dbid = :3 \
               and t.snap_id = s.snap_id and t.dbid = s.dbid and t.stat_name = 'DB CPU' \
               and d.snap_id = s.snap_id and d.dbid = s.dbid and d.stat_name = 'DB time' order by s.snap_id";
    let snapshots = l.source.query(sql, &binds)?;
    let sql = "select e.snap_id, e.wait_class, sum(e.time_waited_micro_fg) from dba_hist_system_event e \
               where e.snap_id between :1 and :2 and e.dbid = :3 and e.wait_class <> 'Idle' group by e.snap_id, e.wait_class";
    let mut waited: BTreeMap<(i64, String), u64> = BTreeMap::new();
    for row in l.source.query(sql, &binds)? {
        waited.insert((real(&row[0]) as i64, text(&row[1])), count(&row[2]));
    }
    let mut classes: Vec<String> = waited.keys().map(|(_, class)| class.clone()).collect();
    classes.sort_unstable();
    classes.dedup();
    let step = |pair: &[Vec<Value>]| {
        let (from, to) = (&pair[0], &pair[1]);
        let at = |snapshot: &[Value], class: &String| {
            waited.get(&(real(&snapshot[0]) as i64, class.clone())).copied().unwrap_or(0)
        };
        let by_class = |class: &String| (class.clone(), at(to, class).saturating_sub(at(from, class)));
        Step {
            from_s: real(&from[1]),
            to_s: real(&to[1]),
            cpu_us: count(&to[2]).saturating_sub(count(&from[2])),
            db_time_us: count(&to[3]).saturating_sub(count(&from[3])),
            waited: classes.iter().map(by_class).collect(),
        }
    };
    Ok(snapshots.windows(2).map(step).collect())
}

/// Figures of the operating system at every snapshot.
fn os_steps(l: &mut Loader<'_>) -> Result<Vec<(String, BTreeMap<String, f64>)>> {
    let [begin, end] = l.ends;
    let sql = "select s.snap_id, to_char(s.end_interval_time, 'DD-Mon HH24:MI:SS'), o.stat_name, o.value \
               from dba_hist_snapshot s, dba_hist_osstat o where s.snap_id between :1 and :2 and s.dbid = :3 \
               and o.snap_id = s.snap_id and o.dbid = s.dbid order by s.snap_id";
    let mut steps: Vec<(i64, String, BTreeMap<String, f64>)> = Vec::new();
    for row in l.source.query(sql, &[begin, end, l.dbid].map(|n| Value::Number(n.into())))? {
        let id = real(&row[0]) as i64;
        if steps.last().is_none_or(|step| step.0 != id) {
            steps.push((id, text(&row[1]), BTreeMap::new()));
        }
        if let Some(step) = steps.last_mut() {
            step.2.insert(text(&row[2]), real(&row[3]));
        }
    }
    Ok(steps.into_iter().map(|(_, time, figures)| (time, figures)).collect())
}

/// Log switches between the snapshots; each has its time, so none is counted twice.
fn log_switches(l: &mut Loader<'_>) -> Result<Option<u64>> {
    let sql = "select count(*) from v$log_history h, dba_hist_snapshot b, dba_hist_snapshot e where b.snap_id = :1 and e.snap_id = :2 \
               and b.dbid = :3 and e.dbid = :3 and h.first_time > cast(b.end_interval_time as date) \
               and h.first_time <= cast(e.end_interval_time as date)";
    let [begin, end] = l.ends;
    let rows = l.source.query(sql, &[begin, end, l.dbid].map(|n| Value::Number(n.into())))?;
    Ok(rows.first().map(|row| count(&row[0])))
}
