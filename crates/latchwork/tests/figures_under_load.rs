//! Identities between views that always hold, while sessions connect, end and are killed, with more sessions than
//! processors.
//!
//! A view is not a consistent snapshot, so a sum is compared with two readings of the figure that it must equal: a
//! growing sum is at least the value read before it, and at most the value read after it. Nothing here depends on the
//! speed of the machine.

mod support;

use client::{Client, Ephemeral};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use support::{connect, one, run, start, until, words};

/// Figures by name.
type Figures = BTreeMap<String, Vec<i64>>;

/// The result of a query, by the text of its first column.
fn figures(c: &mut Client, sql: &str) -> Figures {
    let number = |w: &String| w.parse().unwrap_or_else(|_| panic!("{sql}: {w}"));
    words(c, sql).iter().map(|row| (row[0].clone(), row[1..].iter().map(number).collect())).collect()
}

/// Growing figures: all of `less` are in `more`, with at least the same value.
fn no_more(less: &Figures, more: &Figures, what: &str) {
    for (name, values) in less {
        let Some(others) = more.get(name) else {
            assert!(values.iter().all(|v| *v == 0), "{what}: {name} {values:?} and nothing");
            continue;
        };
        assert!(values.iter().zip(others).all(|(a, b)| a <= b), "{what}: {name} {values:?} {others:?}");
    }
}

/// A figure lies between two readings of its equal.
fn between(before: &Figures, what: &Figures, after: &Figures, named: &str) {
    no_more(before, what, named);
    no_more(what, after, named);
}

/// All growing statistics.
const STATISTICS: &str = "select name, value from v$sysstat where name not in \
                          ('logons current', 'opened cursors current', 'session cursor cache count')";
const OF_SESSIONS: &str = "select n.name, sum(s.value) from v$sesstat s, v$statname n where n.statistic# = s.statistic# \
                           and n.name not in ('logons current', 'opened cursors current', 'session cursor cache count') group by n.name";
const EVENTS: &str = "select event, total_waits, total_timeouts, time_waited_micro from v$system_event";
const TIMES: &str = "select stat_name, value from v$sys_time_model";

/// One check of all identities.
fn look(c: &mut Client, last: &mut [Figures; 3]) {
    // Nothing decreases, whichever session ends or is killed.
    let now = [STATISTICS, EVENTS, TIMES].map(|sql| figures(c, sql));
    for (now, last) in now.iter().zip(&*last) {
        no_more(last, now, "later");
    }
    // The existing sessions are a part of all sessions.
    no_more(&figures(c, OF_SESSIONS), &figures(c, STATISTICS), "sessions");
    let of_sessions = "select event, sum(total_waits), sum(total_timeouts), sum(time_waited_micro) from v$session_event group by event";
    no_more(&figures(c, of_sessions), &figures(c, EVENTS), "events of sessions");
    let of_sessions = "select stat_name, sum(value) from v$sess_time_model group by stat_name";
    no_more(&figures(c, of_sessions), &figures(c, TIMES), "times of sessions");
    // Figures of users are a part of all.
    let users = "select event, count(*) from v$system_event where total_waits_fg > total_waits or total_timeouts_fg > total_timeouts \
                 or time_waited_micro_fg > time_waited_micro group by event";
    assert_eq!(figures(c, users), Figures::new());
    let users = "select wait_class, count(*) from v$system_wait_class where total_waits_fg > total_waits or time_waited_fg > time_waited \
                 group by wait_class";
    assert_eq!(figures(c, users), Figures::new());
    // Events are the waits of their classes, of their histograms, and of statistics.
    let of_events = "select wait_class, sum(total_waits), trunc(sum(time_waited_micro) / 10000) from v$system_event group by wait_class";
    let before = figures(c, of_events);
    let classes = figures(c, "select wait_class, total_waits, time_waited from v$system_wait_class");
    between(&before, &classes, &figures(c, of_events), "classes");
    let waits = "select event, total_waits from v$system_event";
    for histogram in ["v$event_histogram", "v$event_histogram_micro"] {
        let before = figures(c, waits);
        let sums = figures(c, &format!("select event, sum(wait_count) from {histogram} group by event"));
        between(&before, &sums, &figures(c, waits), histogram);
    }
    let waits = "select 'non-idle', sum(total_waits), trunc(sum(time_waited_micro) / 10000) from v$system_event where wait_class <> 'Idle'";
    let before = figures(c, waits);
    let sums = figures(
        c,
        "select 'non-idle', sum(case when name = 'non-idle wait count' then value end), sum(case when name = 'non-idle wait time' then value end) \
         from v$sysstat",
    );
    between(&before, &sums, &figures(c, waits), "non-idle");
    // Statistics in hundredths of a second are figures of the time model, with what background processes parse.
    let times =
        "select 'times', sum(case when stat_name = 'DB time' then trunc(value / 10000) end) from v$sys_time_model";
    let before = figures(c, times);
    let sums = figures(c, "select 'times', value from v$sysstat where name = 'DB time'");
    between(&before, &sums, &figures(c, times), "times");
    let parsed =
        figures(c, "select 'parse', trunc(value / 10000) from v$sys_time_model where stat_name = 'parse time elapsed'");
    no_more(&parsed, &figures(c, "select 'parse', value from v$sysstat where name = 'parse time elapsed'"), "parses");
    // Processor time never exceeds elapsed time; the parts of user sessions never exceed DB time.
    let used = figures(c, "select 'DB time', value from v$sys_time_model where stat_name = 'DB CPU'");
    no_more(&used, &figures(c, "select stat_name, value from v$sys_time_model where stat_name = 'DB time'"), "DB CPU");
    let parts = "select 'DB time', sum(value) from v$sys_time_model where stat_name in \
                 ('sql execute elapsed time', 'parse time elapsed', 'connection management call elapsed time')";
    let parts = figures(c, parts);
    no_more(&parts, &figures(c, "select stat_name, value from v$sys_time_model where stat_name = 'DB time'"), "parts");
    *last = now;
}

/// The contents of a snapshot.
const KEPT: [(&str, &str); 3] = [
    (
        STATISTICS,
        "select stat_name, value from dba_hist_sysstat where snap_id = :s and stat_name not in \
                  ('logons current', 'opened cursors current', 'session cursor cache count')",
    ),
    (
        EVENTS,
        "select event_name, total_waits, total_timeouts, time_waited_micro from dba_hist_system_event where snap_id = :s",
    ),
    (TIMES, "select stat_name, value from dba_hist_sys_time_model where snap_id = :s"),
];

/// Takes a snapshot: its contents are values of the views while it was taken.
fn snapshot(c: &mut Client) -> i64 {
    let before = KEPT.map(|(live, _)| figures(c, live));
    run(c, "begin dbms_workload_repository.create_snapshot; end;");
    let after = KEPT.map(|(live, _)| figures(c, live));
    let number: i64 = one(c, "select max(snap_id) from dba_hist_snapshot").parse().expect("a number");
    for (n, (_, kept)) in KEPT.iter().enumerate() {
        let kept = figures(c, &kept.replace(":s", &number.to_string()));
        between(&before[n], &kept, &after[n], KEPT[n].0);
    }
    number
}

/// A session that works, waits for locks, and changes.
fn work(instance: &Ephemeral, worker: usize) -> (Client, bool) {
    let mut s = connect(instance);
    let done = s.execute(
        &format!(
            "declare x number; begin for i in 1 .. 300 loop select /*+ load */ v into x from hot where id = {worker} + 1; end loop; \
             update hot set v = v + 1 where id = 99; dbms_lock.sleep(0.002); commit; \
             for i in 1 .. 20 loop execute immediate 'select /* dynamic */ v from hot where id = :x' into x using i; end loop; end;"
        ),
        &[],
    );
    (s, done.is_ok())
}

fn kill(s: &Client) {
    let _ = os::process::kill(s.welcome().server_process as i32, os::signal::SIGKILL);
}

/// Ends the load when the checks have ended, also by a failure.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn identities_between_views_hold_while_sessions_come_go_and_are_killed() {
    let instance = start(&[("open_cursors", "500")]);
    let mut c = connect(&instance);
    run(&mut c, "create table hot (id number primary key, v number)");
    run(&mut c, "insert into hot select level, level from dual connect by level <= 100");
    run(&mut c, "commit");
    let (over, done) = (AtomicBool::new(false), AtomicI64::new(0));
    let (over, done, instance) = (&over, &done, &instance);
    let mut last: [Figures; 3] = Default::default();
    let mut snapshots = Vec::new();
    std::thread::scope(|scope| {
        let _ends = Ends(over);
        for worker in 0..os::cpu::count() * 2 + 1 {
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let (s, is_done) = work(instance, worker);
                    done.fetch_add(i64::from(is_done), Ordering::Relaxed);
                    // Some connections are dropped without a logoff.
                    if worker % 3 == 1 {
                        kill(&s);
                    }
                }
            });
        }
        // During a call: in the middle of its work, or of a wait.
        scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let mut victim = connect(instance);
                let pid = victim.welcome().server_process as i32;
                let calls = scope.spawn(move || {
                    let _ = victim.execute(
                        "declare x number; begin loop select /* victim */ sum(v) into x from hot; update hot set v = v + 1 where id = 99; \
                         rollback; end loop; end;",
                        &[],
                    );
                });
                std::thread::sleep(Duration::from_millis(20));
                let _ = os::process::kill(pid, os::signal::SIGKILL);
                calls.join().expect("it ends");
            }
        });
        for round in 0..12 {
            look(&mut c, &mut last);
            if round % 4 == 1 {
                snapshots.push(snapshot(&mut c));
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    until("all have gone", || one(&mut c, "select count(*) from v$session where type = 'USER'") == "1");
    look(&mut c, &mut last);
    snapshots.push(snapshot(&mut c));
    // The snapshots' increases add up to the totals, also for statements that no session runs any more.
    let columns = ["executions", "fetches", "rows_processed", "buffer_gets", "elapsed_time", "cpu_time", "parse_calls"];
    let sums = |suffix: &str| columns.map(|column| format!("sum({column}{suffix})")).join(", ");
    let live =
        format!("select sql_id, {} from v$sql where sql_text like 'SELECT /*+ load */%' group by sql_id", sums(""));
    let kept = format!(
        "select sql_id, {} from dba_hist_sqlstat where sql_id in (select sql_id from v$sql where sql_text like 'SELECT /*+ load */%') \
         group by sql_id",
        sums("_delta")
    );
    let (live, kept) = (figures(&mut c, &live), figures(&mut c, &kept));
    let named = |all: &Figures| -> Vec<Vec<i64>> { all.values().map(|v| v[..4].to_vec()).collect() };
    assert!(!live.is_empty() && live.values().all(|v| v[0] > 0), "{live:?}");
    assert_eq!(named(&live), named(&kept), "{live:?} {kept:?}");
    no_more(&kept, &live, "statements");
    let executions: i64 = live.values().map(|v| v[0]).sum();
    let counted = done.load(Ordering::Relaxed);
    assert!(counted > 0 && executions >= 300 * counted, "{executions} of {counted} calls of 300 each");
    assert!(snapshots.len() >= 3, "{snapshots:?}");
}

/// The part of ended sessions in `v$sysstat`: the total, less the existing sessions. Read until two readings agree.
fn of_the_gone(c: &mut Client, names: &[&str]) -> Vec<i64> {
    let mut last = Vec::new();
    let mut found = Vec::new();
    until("the figures stand still", || {
        last = std::mem::take(&mut found);
        let list = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "select y.name, y.value - nvl((select sum(s.value) from v$sesstat s where s.statistic# = y.statistic#), 0) \
             from v$sysstat y where y.name in ({list})"
        );
        let all = figures(c, &sql);
        found = names.iter().map(|name| all[*name][0]).collect();
        found == last
    });
    found
}

#[test]
fn sessions_that_have_gone_leave_what_they_did_to_the_last_count() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table t (id number primary key, v number)");
    run(&mut c, "insert into t select level, level from dual connect by level <= 100");
    run(&mut c, "commit");
    let names = [
        "execute count",
        "parse count (total)",
        "user calls",
        "user commits",
        "user rollbacks",
        "table fetch by rowid",
        "index fetch by key",
        "logons cumulative",
        "user logouts cumulative",
        "session cursor cache hits",
    ];
    // Of all sessions, and of this one, whose query is in neither.
    let cpu = "select 'cpu', y.value, m.value from v$sysstat y, v$mystat m where y.name = 'CPU used by this session' \
               and m.statistic# = y.statistic#";
    let cpu_before = figures(&mut c, cpu);
    let before = of_the_gone(&mut c, &names);
    let (own, sessions) = (&AtomicI64::new(0), os::cpu::count() as i64 * 2 + 12);
    std::thread::scope(|scope| {
        for _ in 0..sessions {
            let mut s = connect(&instance);
            scope.spawn(move || {
                for _ in 0..5 {
                    run(&mut s, "declare x number; begin for i in 1 .. 40 loop select v into x from t where id = i; end loop; \
                                 update t set v = v where id = 7; commit; end;");
                }
                run(&mut s, "update t set v = 0 where id < 0");
                run(&mut s, "rollback");
                let cpu = one(&mut s, "select value from v$sess_time_model where sid = sys_context('userenv', 'sid') and stat_name = 'DB CPU'");
                own.fetch_add(cpu.parse::<i64>().expect("a number"), Ordering::Relaxed);
            });
        }
    });
    until("all have gone", || one(&mut c, "select count(*) from v$session where type = 'USER'") == "1");
    let after = of_the_gone(&mut c, &names);
    let added: Vec<i64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    // Each: five blocks with 41 statements, an update, a query of the fixed table. Rows by rowid: those of the queries
    // and of the updates.
    let each = [5 * 42 + 2, 5 + 2 + 2, 5 + 2 + 1, 5, 1, 5 * 41, 5 * 41, 1, 1, 2];
    let all: Vec<i64> = each.iter().map(|n| n * sessions).collect();
    assert_eq!(added[..], all[..], "{names:?} of {sessions} sessions");
    // Sessions shorter than a hundredth of a second each still add up. Both figures are truncated to hundredths.
    let own = own.load(Ordering::Relaxed);
    let cpu_after = figures(&mut c, cpu);
    let used = |n: usize| cpu_after["cpu"][n] - cpu_before["cpu"][n];
    assert!((used(0) - used(1) + 2) * 10_000 >= own, "{cpu_before:?} {cpu_after:?} {own}");
}
