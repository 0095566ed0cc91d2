//! The queries on an instance, and the conversion of their rows to a [`Snapshot`].
//!
//! One session reads everything, from views only, which take no latch: the observation disturbs nobody. The session
//! calls itself `latchwork top` in V$SESSION, and its own work is left out. Probes are cheap and run several times an
//! interval; counters are read once at its end. Details of a drill-down are read only while a viewer shows them.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::time::Instant;

use client::{Bind, Client, ClientResult, ConnectOptions, Credentials, Direction};
use types::Value;

use crate::sample::*;

/// The program name of the session in V$SESSION, and of its statements in V$SQLSTATS.
pub const PROGRAM: &str = "latchwork top";

/// Statistics shown as rates.
pub const FIGURES: &[&str] = &[
    "execute count",
    "session logical reads",
    "user commits",
    "user rollbacks",
    "redo size",
    "physical reads",
    "physical writes",
    "db block changes",
    "parse count (total)",
    "parse count (hard)",
    "user calls",
    "logons cumulative",
    "consistent gets",
    "db block gets",
    "consistent changes",
    "sorts (memory)",
    "sorts (disk)",
    "table scans (long tables)",
    "index fetch by key",
    "session cursor cache hits",
    "enqueue waits",
    "enqueue deadlocks",
];

/// Statements in one reading, and texts in one query.
const STATEMENTS_MAX: usize = 500;
const TEXTS_MAX: usize = 25;
const OBJECTS_MAX: usize = 10;
/// Names noted as known; the oldest are dropped and read again.
const KNOWN_MAX: usize = 4000;
const CHILDREN_MAX: usize = 100;

/// A set that drops its oldest entries.
#[derive(Default)]
struct Known<T: Ord + Clone> {
    set: BTreeSet<T>,
    order: VecDeque<T>,
}

impl<T: Ord + Clone> Known<T> {
    fn has(&self, item: &T) -> bool {
        self.set.contains(item)
    }

    fn add(&mut self, item: T) {
        if self.set.insert(item.clone()) {
            self.order.push_back(item);
        }
        if self.order.len() > KNOWN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.set.remove(&oldest);
        }
    }
}

/// Reads one instance.
pub struct Reader {
    client: Client,
    facts: Facts,
    places: Vec<(u64, String)>,
    texts: Known<String>,
    objects: Known<u64>,
    /// The time at which the facts were read.
    connected: Instant,
}

type Row = Vec<Value>;

fn text(v: &Value) -> String {
    match v {
        Value::Text(t) => t.trim_end().to_string(),
        Value::Number(n) => n.to_string(),
        Value::Raw(bytes) => bytes.iter().map(|b| format!("{b:02X}")).collect(),
        _ => String::new(),
    }
}

/// A count; NULL, negative values and text are 0.
fn count(v: &Value) -> u64 {
    match v {
        Value::Number(n) => match n.to_i64() {
            Ok(n) => u64::try_from(n).unwrap_or(0),
            Err(_) => n.to_f64().clamp(0.0, u64::MAX as f64) as u64,
        },
        _ => 0,
    }
}

fn maybe(v: &Value) -> Option<u64> {
    if v.is_null() { None } else { Some(count(v)) }
}

/// Reads the columns of a row in turn.
struct Columns<'a>(std::slice::Iter<'a, Value>);

impl<'a> Columns<'a> {
    fn of(row: &'a Row) -> Columns<'a> {
        Columns(row.iter())
    }
    fn next(&mut self) -> &'a Value {
        self.0.next().unwrap_or(&Value::Null)
    }
    fn text(&mut self) -> String {
        text(self.next())
    }
    fn count(&mut self) -> u64 {
        count(self.next())
    }
    fn maybe(&mut self) -> Option<u64> {
        maybe(self.next())
    }
    fn parameters(&mut self) -> Vec<(String, u64)> {
        let all = [0; 3].map(|_| (self.text(), self.count()));
        all.into_iter().filter(|(name, _)| !name.is_empty()).collect()
    }
}

fn input(at: usize, value: Value) -> Bind {
    Bind { name: Some(at.to_string()), direction: Direction::In, data_type: value.data_type(), value }
}

fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

const INSTANCE: &str = "select i.instance_name, i.host_name, i.version, to_char(i.startup_time, 'YYYY-MM-DD HH24:MI:SS'), \
     (sysdate - i.startup_time) * 86400, d.name from v$instance i, v$database d";

/// Active sessions and held latches. One statement: on a machine with a long run queue every round trip waits.
const PROBE: &str = "select 'A', sid, serial#, type, decode(state, 'WAITING', event), decode(state, 'WAITING', wait_class), sql_id \
     from v$session where status in ('ACTIVE', 'KILLED') and sid <> :1 \
     union all select 'H', ksuprsid, ksulawhr, ksuprlmd, ksuprlnm, ' ', ' ' from x$ksuprlat where ksuprsid <> :2";

const SESSIONS: &str = "select sid, serial#, username, type, status, program, machine, osuser, module, action, sql_id, prev_sql_id, \
     event, wait_class, state, wait_time_micro, p1text, p1, p2text, p2, p3text, p3, blocking_session, row_wait_obj#, \
     last_call_et, to_char(logon_time, 'YYYY-MM-DD HH24:MI:SS') from v$session where sid <> :1";

/// All counters at once, marked by the letter in front. `@` stands for the names of statistics; O are this session's
/// own.
const COUNTERS: &str = "select 'E', event, wait_class, total_waits, time_waited_micro, total_waits_fg, time_waited_micro_fg, 0, 0, 0 \
       from v$system_event where wait_class <> 'Idle' \
     union all select 'L', name, ' ', gets, misses, sleeps, spin_gets, immediate_gets, immediate_misses, wait_time from v$latch \
     union all select 'M', mutex_type, location, sleeps, wait_time, 0, 0, 0, 0, 0 from v$mutex_sleep \
     union all select 'T', stat_name, ' ', value, 0, 0, 0, 0, 0, 0 from v$sys_time_model where stat_name in ('DB time', 'DB CPU') \
     union all select 'U', stat_name, ' ', value, 0, 0, 0, 0, 0, 0 from v$sess_time_model \
       where sid = sys_context('userenv', 'sid') and stat_name in ('DB time', 'DB CPU') \
     union all select 'S', name, ' ', value, 0, 0, 0, 0, 0, 0 from v$sysstat where name in (@) \
     union all select 'D', structure, design, epoch, 0, 0, 0, 0, 0, 0 from x$ksldesign \
     union all select 'C', action, client_info, sid, 0, 0, 0, 0, 0, 0 from v$session where module = 'latchwork switchback' \
     union all select 'O', n.name, ' ', m.value, 0, 0, 0, 0, 0, 0 from v$mystat m, v$statname n \
       where n.statistic# = m.statistic# and n.name in (@)";

/// Statements active since the last reading, with a margin: a busy instance answers late.
const STATEMENTS: &str = "select * from (select sql_id, executions, elapsed_time, cpu_time, buffer_gets, disk_reads, \
     rows_processed from v$sqlstats where last_active_time >= sysdate - :1 / 86400 and (module is null or module <> :2) \
     order by last_active_time desc) where rownum <= 500";

impl Reader {
    /// Opens a session as the owner of the instance whose database is in `dir`.
    ///
    /// # Errors
    /// Those of [`Client::connect`] and of the first statements.
    pub fn connect(dir: &Path) -> ClientResult<Reader> {
        let options = ConnectOptions { program: PROGRAM.into(), ..ConnectOptions::default() };
        let client = Client::connect_with(dir, &Credentials::Sysdba, &options)?;
        let mut reader = Reader {
            client,
            facts: Facts::default(),
            places: Vec::new(),
            texts: Known::default(),
            objects: Known::default(),
            connected: Instant::now(),
        };
        reader.client.set_fetch_size(1000);
        let call_it = format!("begin dbms_application_info.set_module({}, null); end;", quoted(PROGRAM));
        reader.client.execute(&call_it, &[])?;
        reader.facts = reader.read_facts()?;
        let places = reader.rows("select indx, ksllwnam from x$ksllw", &[])?;
        reader.places = places.iter().map(|row| (count(&row[0]), text(&row[1]))).collect();
        Ok(reader)
    }

    fn rows(&mut self, sql: &str, binds: &[Bind]) -> ClientResult<Vec<Row>> {
        self.client.query(sql, binds)?.all()
    }

    fn own_sid(&self) -> Bind {
        input(1, Value::Number(types::Number::from(i64::from(self.client.sid()))))
    }

    fn read_facts(&mut self) -> ClientResult<Facts> {
        let rows = self.rows(INSTANCE, &[])?;
        let mut facts = Facts::default();
        if let Some(row) = rows.first() {
            let mut c = Columns::of(row);
            (facts.instance, facts.host, facts.version, facts.started) = (c.text(), c.text(), c.text(), c.text());
            (facts.up_seconds, facts.database) = (c.count(), c.text());
        }
        for row in self.rows("select value from v$parameter where name = 'latch_generation'", &[])? {
            facts.generation = text(&row[0]);
        }
        for row in self.rows("select value from v$osstat where stat_name = 'NUM_CPUS'", &[])? {
            facts.cpus = count(&row[0]);
        }
        for row in self.rows("select sum(value) from v$sga", &[])? {
            facts.sga_bytes = count(&row[0]);
        }
        Ok(facts)
    }

    /// One probe of active sessions and held latches.
    ///
    /// # Errors
    /// Those of the server, or that it is gone.
    pub fn probe(&mut self) -> ClientResult<Probe> {
        let me = self.own_sid();
        let also = Bind { name: Some("2".into()), ..me.clone() };
        let mut probe = Probe::default();
        for row in self.rows(PROBE, &[me, also])? {
            let mut c = Columns::of(&row);
            match c.text().as_str() {
                "A" => probe.active.extend(active_of(&mut c)),
                _ => probe.holds.push(self.hold_of(&mut c)),
            }
        }
        Ok(probe)
    }

    fn hold_of(&self, c: &mut Columns<'_>) -> Hold {
        let (sid, place, mode, latch) = (c.count(), c.count(), c.text(), c.text());
        let place = self.places.iter().find(|(number, _)| *number == place).map(|(_, name)| name.clone());
        Hold { latch, sid, mode, place: place.unwrap_or_default() }
    }

    /// The counters at the end of an interval of `seconds`, with its probes and the requested details.
    ///
    /// # Errors
    /// Those of the server, or that it is gone.
    pub fn snapshot(&mut self, probes: Vec<Probe>, seconds: f64, wanted: &[Wanted]) -> ClientResult<Snapshot> {
        let mut s = Snapshot { probes, ..Snapshot::default() };
        let me = self.own_sid();
        s.sessions = self.rows(SESSIONS, &[me])?.iter().map(session_of).collect();
        self.read_counters(&mut s)?;
        s.statements = self.read_statements(seconds)?;
        s.texts = self.read_texts(&s)?;
        s.objects = self.read_objects(&s)?;
        for wanted in wanted {
            let found = self.read_detail(wanted)?;
            s.details.push(Detail { wanted: wanted.clone(), found });
        }
        s.facts = self.facts.clone();
        s.facts.up_seconds += self.connected.elapsed().as_secs();
        Ok(s)
    }

    fn read_statements(&mut self, seconds: f64) -> ClientResult<Vec<StatementCount>> {
        let back = (seconds.ceil() as i64 + 3).clamp(4, 600);
        let binds = [input(1, Value::Number(types::Number::from(back))), input(2, Value::text(PROGRAM))];
        let rows = self.rows(STATEMENTS, &binds)?;
        Ok(rows.iter().take(STATEMENTS_MAX).map(statement_of).collect())
    }

    /// Events, latches, mutexes, times and statistics; the last two without this session's own share.
    fn read_counters(&mut self, s: &mut Snapshot) -> ClientResult<()> {
        let names = FIGURES.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        // The time of the counters is that of their own statement: the duration of the statements around it varies.
        let began_ns = os::clock::now_ns();
        let rows = self.rows(&COUNTERS.replace('@', &names), &[])?;
        let took_ns = os::clock::now_ns() - began_ns;
        s.clock_us = (began_ns + took_ns / 2) / 1000;
        s.wall_ms = (os::clock::wall_ns() - took_ns / 2) / 1_000_000;
        let (mut own, mut own_time) = (Vec::new(), (0, 0));
        for row in &rows {
            let mut c = Columns::of(row);
            match c.text().as_str() {
                "E" => s.events.push(event_of(&mut c)),
                "L" => s.latches.push(latch_of(&mut c)),
                "M" => s.mutexes.push(mutex_of(&mut c)),
                "T" => match (c.text().as_str(), c.next(), c.count()) {
                    ("DB time", _, us) => s.db_time_us = us,
                    (_, _, us) => s.db_cpu_us = us,
                },
                "U" => match (c.text().as_str(), c.next(), c.count()) {
                    ("DB time", _, us) => own_time.0 = us,
                    (_, _, us) => own_time.1 = us,
                },
                "S" => s.figures.push(figure_of(&mut c)),
                "D" => {
                    let (structure, design, switches) = (c.text(), c.text(), c.count());
                    s.figures.push((crate::sample::switches_of(&structure), switches));
                    s.designs.push(DesignNow { structure, design });
                }
                "C" => {
                    let (structure, so_far, sid) = (c.text(), c.text(), c.count());
                    s.comparisons.push(Comparison { sid, structure, so_far });
                }
                _ => own.push(figure_of(&mut c)),
            }
        }
        s.db_time_us = s.db_time_us.saturating_sub(own_time.0);
        s.db_cpu_us = s.db_cpu_us.saturating_sub(own_time.1);
        for (name, total) in &mut s.figures {
            let mine = own.iter().find(|(n, _)| n == name).map_or(0, |(_, mine)| *mine);
            *total = total.saturating_sub(mine);
        }
        Ok(())
    }

    /// Texts of statements that have not been read yet.
    fn read_texts(&mut self, s: &Snapshot) -> ClientResult<Vec<(String, String)>> {
        let of_sessions = s.sessions.iter().map(|session| &session.sql_id);
        let of_probes = s.probes.iter().flat_map(|p| p.active.iter().map(|a| &a.sql_id));
        let mut busiest: Vec<&StatementCount> = s.statements.iter().collect();
        busiest.sort_by_key(|statement| std::cmp::Reverse(statement.elapsed_us));
        let ids = of_sessions.chain(of_probes).chain(busiest.into_iter().map(|statement| &statement.sql_id));
        let mut unknown: Vec<String> = Vec::new();
        for id in ids {
            if unknown.len() < TEXTS_MAX && !id.is_empty() && !self.texts.has(id) && !unknown.contains(id) {
                unknown.push(id.clone());
            }
        }
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let list = unknown.iter().map(|id| quoted(id)).collect::<Vec<_>>().join(", ");
        let rows = self
            .rows(&format!("select sql_id, substr(sql_text, 1, 240) from v$sqlstats where sql_id in ({list})"), &[])?;
        let found: Vec<(String, String)> = rows.iter().map(|row| (text(&row[0]), text(&row[1]))).collect();
        for (id, _) in &found {
            self.texts.add(id.clone());
        }
        Ok(found)
    }

    /// Names of the objects that sessions wait for.
    fn read_objects(&mut self, s: &Snapshot) -> ClientResult<Vec<(u64, String)>> {
        let mut unknown: Vec<u64> = Vec::new();
        for object in s.sessions.iter().filter_map(|session| session.object) {
            if unknown.len() < OBJECTS_MAX && !self.objects.has(&object) && !unknown.contains(&object) {
                unknown.push(object);
            }
        }
        if unknown.is_empty() {
            return Ok(Vec::new());
        }
        let list = unknown.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let sql = format!("select object_id, owner || '.' || object_name from dba_objects where object_id in ({list})");
        let found: Vec<(u64, String)> =
            self.rows(&sql, &[])?.iter().map(|row| (count(&row[0]), text(&row[1]))).collect();
        for object in unknown {
            self.objects.add(object);
        }
        Ok(found)
    }

    fn read_detail(&mut self, wanted: &Wanted) -> ClientResult<Found> {
        match wanted {
            Wanted::Latch(name) => self.read_latch(name),
            Wanted::Statement(sql_id) => self.read_statement(sql_id),
            Wanted::Event(name) => self.read_event(name),
            Wanted::Session(sid, serial) => self.read_session(*sid, *serial),
        }
    }

    fn read_latch(&mut self, name: &str) -> ClientResult<Found> {
        let name = [input(1, Value::text(name))];
        let children = "select * from (select child#, addr, gets, misses, sleeps, spin_gets, wait_time from v$latch_children \
             where name = :1 order by sleeps desc, misses desc, gets desc) where rownum <= 100";
        let children = self.rows(children, &name)?;
        let places = "select \"WHERE\", sleep_count, wtr_slp_count, nwfail_count, longhold_count from v$latch_misses where parent_name = :1 \
             and sleep_count + nwfail_count + longhold_count > 0";
        let places = self.rows(places, &name)?;
        let child = |row: &Row| {
            let mut c = Columns::of(row);
            ChildCount {
                child: c.count(),
                address: c.text(),
                gets: c.count(),
                misses: c.count(),
                sleeps: c.count(),
                spin_gets: c.count(),
                wait_us: c.count(),
            }
        };
        let place = |row: &Row| {
            let mut c = Columns::of(row);
            PlaceCount {
                place: c.text(),
                sleeps: c.count(),
                waiter_sleeps: c.count(),
                no_wait_misses: c.count(),
                long_holds: c.count(),
            }
        };
        Ok(Found::Latch {
            children: children.iter().take(CHILDREN_MAX).map(child).collect(),
            places: places.iter().map(place).collect(),
        })
    }

    fn read_statement(&mut self, sql_id: &str) -> ClientResult<Found> {
        let id = [input(1, Value::text(sql_id))];
        let cursors = "select child_number, plan_hash_value, parsing_schema_name, module, executions, loads, invalidations, \
             elapsed_time, buffer_gets, users_executing, sql_fulltext from v$sql where sql_id = :1 and rownum <= 20";
        let cursors = self.rows(cursors, &id)?;
        let Some(first) = cursors.first() else { return Ok(Found::Gone) };
        let whole = text(first.last().unwrap_or(&Value::Null));
        let plan = "select * from (select child_number, id, depth, operation || ' ' || options, object_name, cardinality \
             from v$sql_plan where sql_id = :1 order by child_number, id) where rownum <= 200";
        let plan = self.rows(plan, &id)?;
        let cursor = |row: &Row| {
            let mut c = Columns::of(row);
            CursorFacts {
                child: c.count(),
                plan_hash: c.count(),
                schema: c.text(),
                module: c.text(),
                executions: c.count(),
                loads: c.count(),
                invalidations: c.count(),
                elapsed_us: c.count(),
                gets: c.count(),
                users_executing: c.count(),
            }
        };
        let line = |row: &Row| {
            let mut c = Columns::of(row);
            PlanLine {
                child: c.count(),
                id: c.count(),
                depth: c.count(),
                operation: c.text(),
                object: c.text(),
                rows: c.maybe(),
            }
        };
        Ok(Found::Statement {
            text: whole,
            cursors: cursors.iter().map(cursor).collect(),
            plan: plan.iter().map(line).collect(),
        })
    }

    fn read_event(&mut self, name: &str) -> ClientResult<Found> {
        let sql =
            "select wait_time_micro, wait_count from v$event_histogram_micro where event = :1 order by wait_time_micro";
        let rows = self.rows(sql, &[input(1, Value::text(name))])?;
        Ok(Found::Event { buckets: rows.iter().map(|row| (count(&row[0]), count(&row[1]))).collect() })
    }

    fn read_session(&mut self, sid: u64, serial: u64) -> ClientResult<Found> {
        let binds = [sid, serial].map(|n| Value::Number(types::Number::from_u64(n)));
        let [sid, serial] = binds;
        let there = "select count(*) from v$session where sid = :1 and serial# = :2";
        let there = self.rows(there, &[input(1, sid.clone()), input(2, serial)])?;
        if there.first().is_none_or(|row| count(&row[0]) == 0) {
            return Ok(Found::Gone);
        }
        let sid = [input(1, sid)];
        let events = "select event, wait_class, total_waits, time_waited_micro from v$session_event where sid = :1";
        let events = self.rows(events, &sid)?;
        let last = "select event, wait_time_micro, time_since_last_wait_micro, p1text, p1, p2text, p2, p3text, p3 \
             from v$session_wait_history where sid = :1 order by seq#";
        let last = self.rows(last, &sid)?;
        let wait = |row: &Row| {
            let mut c = Columns::of(row);
            LastWait { event: c.text(), wait_us: c.count(), gap_us: c.count(), parameters: c.parameters() }
        };
        Ok(Found::Session {
            events: events.iter().map(|row| event_of(&mut Columns::of(row))).collect(),
            last: last.iter().map(wait).collect(),
        })
    }

    /// Ends a user's session.
    ///
    /// # Errors
    /// ORA-00029 for a background process, ORA-00030 when the session has ended.
    pub fn kill(&mut self, sid: u64, serial: u64) -> ClientResult<()> {
        self.client.execute(&format!("alter system kill session '{sid},{serial}' immediate"), &[]).map(drop)
    }
}

/// A row of a probe; idle sessions are not active.
fn active_of(c: &mut Columns<'_>) -> Option<Active> {
    let (sid, serial, kind, event, class, sql_id) = (c.count(), c.count(), c.text(), c.text(), c.text(), c.text());
    if class == "Idle" {
        return None;
    }
    let class = if event.is_empty() { "CPU".to_string() } else { class };
    Some(Active { sid, serial, background: kind == "BACKGROUND", event, class, sql_id })
}

fn session_of(row: &Row) -> Session {
    let mut c = Columns::of(row);
    Session {
        sid: c.count(),
        serial: c.count(),
        user: c.text(),
        background: c.text() == "BACKGROUND",
        status: c.text(),
        program: c.text(),
        machine: c.text(),
        os_user: c.text(),
        module: c.text(),
        action: c.text(),
        sql_id: c.text(),
        previous_sql_id: c.text(),
        event: c.text(),
        class: c.text(),
        waiting: c.text() == "WAITING",
        wait_us: c.count(),
        parameters: c.parameters(),
        blocker: c.maybe(),
        // -1 and 0 are no object.
        object: c.maybe().filter(|object| *object != 0),
        since_call_s: c.count(),
        logon: c.text(),
    }
}

fn event_of(c: &mut Columns<'_>) -> EventCount {
    EventCount {
        name: c.text(),
        class: c.text(),
        waits: c.count(),
        time_us: c.count(),
        waits_fg: c.count(),
        time_us_fg: c.count(),
    }
}

fn figure_of(c: &mut Columns<'_>) -> (String, u64) {
    let (name, _) = (c.text(), c.next());
    (name, c.count())
}

fn latch_of(c: &mut Columns<'_>) -> LatchCount {
    let (name, _) = (c.text(), c.next());
    LatchCount {
        name,
        gets: c.count(),
        misses: c.count(),
        sleeps: c.count(),
        spin_gets: c.count(),
        immediate_gets: c.count(),
        immediate_misses: c.count(),
        wait_us: c.count(),
    }
}

fn mutex_of(c: &mut Columns<'_>) -> MutexCount {
    MutexCount { kind: c.text(), place: c.text(), sleeps: c.count(), wait_us: c.count() }
}

fn statement_of(row: &Row) -> StatementCount {
    let mut c = Columns::of(row);
    StatementCount {
        sql_id: c.text(),
        executions: c.count(),
        elapsed_us: c.count(),
        cpu_us: c.count(),
        gets: c.count(),
        reads: c.count(),
        rows: c.count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_bounded_and_the_oldest_are_dropped() {
        let mut known = Known::default();
        for n in 0..=KNOWN_MAX as u64 {
            known.add(n);
            known.add(n);
        }
        assert!(!known.has(&0) && known.has(&1) && known.has(&(KNOWN_MAX as u64)));
        assert_eq!(known.set.len(), KNOWN_MAX);
    }

    #[test]
    fn an_idle_wait_is_no_activity_and_no_event_is_the_processor() {
        let row = |event: &str, class: &str| {
            let n = |n: i64| Value::Number(types::Number::from(n));
            vec![n(9), n(2), Value::text("USER"), Value::text(event), Value::text(class), Value::text("abc")]
        };
        let active = |event: &str, class: &str| active_of(&mut Columns::of(&row(event, class)));
        assert_eq!(active("PL/SQL lock timer", "Idle"), None);
        assert_eq!(active("", "").unwrap().class, "CPU");
        assert_eq!(active("log file sync", "Commit").unwrap().class, "Commit");
    }

    #[test]
    fn invalid_numbers_count_as_zero() {
        let minus = Value::Number(types::Number::from(-1i64));
        assert_eq!((count(&minus), maybe(&Value::Null), count(&Value::Null)), (0, None, 0));
        assert_eq!(count(&Value::Number(types::Number::from_u64(u64::MAX))), u64::MAX);
    }
}
