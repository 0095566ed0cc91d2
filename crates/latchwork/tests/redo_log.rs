//! The redo log of a running instance: commits that wait or not, logs that switch and are archived, deaths of the
//! processes that write them, and a log that cannot be written.

mod support;

use client::{Client, Credentials};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::run;
use types::Value;

fn latchwork(args: &[&str], dir: &Path) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    let out = command.args(args).arg("--dir").arg(dir).output().expect("the program runs");
    let text = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8_lossy(&text).into_owned())
}

struct Database(PathBuf);

impl Database {
    fn new(name: &str) -> Database {
        let dir = std::env::temp_dir().join(format!("latchwork-log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Database(dir)
    }

    fn start(&self, params: &[&str]) -> Client {
        let mut args = vec!["start", "--param", "_log_file_size=1M", "--param", "db_cache_size=8M"];
        params.iter().for_each(|p| args.extend(["--param", p]));
        let (ok, text) = latchwork(&args, &self.0);
        assert!(ok, "{text}");
        self.connect()
    }

    fn connect(&self) -> Client {
        Client::connect(&self.0, &Credentials::Sysdba).expect("a session opens")
    }

    fn supervisor(&self) -> u32 {
        std::fs::read_to_string(self.0.join("latchwork.pid")).unwrap().trim().parse().unwrap()
    }

    fn alert_log(&self) -> String {
        std::fs::read_to_string(self.0.join("alert.log")).unwrap_or_default()
    }

    fn wait_until_gone(&self) {
        let start = Instant::now();
        while !latchwork(&["status"], &self.0).1.contains("No Latchwork instance") {
            assert!(start.elapsed() < Duration::from_secs(60), "the instance ends: {}", self.alert_log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let _ = latchwork(&["stop", "--mode", "abort"], &self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn texts(c: &mut Client, sql: &str) -> Vec<String> {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Text(t) => t.clone(),
        Value::Number(n) => n.to_string(),
        other => format!("{other:?}"),
    };
    rows.iter().map(|r| r.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

fn number(c: &mut Client, sql: &str) -> i64 {
    texts(c, sql)[0].parse().unwrap_or_else(|_| panic!("{sql}: no number"))
}

fn statistic(c: &mut Client, name: &str) -> i64 {
    number(
        c,
        &format!("select value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = '{name}'"),
    )
}

fn child_named(parent: u32, name: &str) -> i32 {
    let is_it = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let (head, tail) = stat.rsplit_once(')').unwrap_or_default();
        let ppid = tail.split_whitespace().nth(1).and_then(|p| p.parse::<u32>().ok());
        head.split_once('(').is_some_and(|(_, n)| n == name) && ppid == Some(parent)
    };
    // A process has the name of its parent until it has run.
    for _ in 0..2_000 {
        let all = std::fs::read_dir("/proc").unwrap();
        let mut pids = all.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
        if let Some(found) = pids.find(is_it) {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{name} runs");
}

#[test]
fn commits_are_waited_for_unless_told_otherwise() {
    for generation in ["latchwork", "12.2"] {
        let db = Database::new(&format!("commit-{generation}"));
        let mut c = db.start(&[&format!("latch_generation={generation}")]);
        run(&mut c, "create table t (n number)");
        let waits = |c: &mut Client, commit: &str| {
            run(c, "insert into t values (1)");
            let before = statistic(c, "redo synch writes");
            run(c, commit);
            statistic(c, "redo synch writes") - before
        };
        for (commit, waited) in [
            ("commit", 1),
            ("commit write nowait", 0),
            ("commit write batch nowait", 0),
            ("commit write immediate wait", 1),
            ("begin commit; insert into t values (2); commit; end;", 1),
            ("begin commit; insert into t values (2); commit write nowait; end;", 1),
            ("select count(*) from t", 0),
        ] {
            assert_eq!(waits(&mut c, commit), waited, "{generation}: {commit}");
        }
        run(&mut c, "alter session set commit_wait = nowait");
        assert_eq!(waits(&mut c, "commit"), 0);
        assert_eq!(waits(&mut c, "commit write wait"), 1);
        run(&mut c, "alter session set commit_wait = force_wait");
        assert_eq!(waits(&mut c, "commit write nowait"), 1);
        run(&mut c, "commit");
        let commits = statistic(&mut c, "user commits");
        run(&mut c, "insert into t values (3)");
        run(&mut c, "commit");
        assert_eq!(statistic(&mut c, "user commits"), commits + 1);
        let before = statistic(&mut c, "redo synch writes");
        run(&mut c, "commit");
        assert_eq!(statistic(&mut c, "redo synch writes"), before, "nothing was changed");
        let syncs = number(
            &mut c,
            "select total_waits from v$session_event where event = 'log file sync' and sid = sys_context('userenv', 'sid')",
        );
        assert!(syncs > 0);
        if generation != "latchwork" {
            let writes = "select total_waits from v$system_event where event = 'log file parallel write'";
            assert!(number(&mut c, writes) > 0, "LGWR has written");
        }
    }
}

#[test]
fn logs_switch_are_archived_and_are_shown() {
    let db = Database::new("archive");
    let mut c = db.start(&[]);
    assert_eq!(texts(&mut c, "select log_mode from v$database"), ["NOARCHIVELOG"]);
    assert!(c.execute("alter system archive log current", &[]).unwrap_err().to_string().contains("ORA-00258"));
    run(&mut c, "alter database archivelog");
    run(&mut c, "create table t (n number, v varchar2(1000))");
    let first = number(&mut c, "select sequence# from v$log where status = 'CURRENT'");
    // Several times the redo that all logs hold together.
    for _ in 0..12 {
        run(&mut c, "insert into t select level, rpad('x', 900, 'x') from dual connect by level <= 500");
        run(&mut c, "commit");
    }
    run(&mut c, "alter system switch logfile");
    run(&mut c, "alter system archive log current");
    let current = number(&mut c, "select sequence# from v$log where status = 'CURRENT'");
    assert!(current >= first + 6, "from {first} to {current}");
    let archived = number(&mut c, "select count(*) from v$archived_log");
    assert_eq!(archived, current - 1, "every sequence before the current one");
    for name in texts(&mut c, "select name from v$archived_log") {
        assert!(Path::new(&name).is_file(), "{name}");
    }
    assert_eq!(number(&mut c, "select count(*) from v$log_history"), current - 1);
    let gaps = "select count(*) from v$log_history a where a.sequence# > 1 and not exists (select 1 from v$log_history b where b.sequence# = a.sequence# - 1)";
    assert_eq!(number(&mut c, gaps), 0);
    assert_eq!(
        texts(&mut c, "select count(*) || ' ' || min(bytes) || ' ' || max(members) from v$log"),
        ["3 1048576 1"]
    );
    assert_eq!(number(&mut c, "select count(*) from v$logfile where type = 'ONLINE'"), 3);
    run(&mut c, "alter system checkpoint");
    assert_eq!(number(&mut c, "select count(*) from v$log where status = 'ACTIVE'"), 0);
    let behind = "select current_scn - checkpoint_change# from v$database";
    assert!((0..=10).contains(&number(&mut c, behind)), "the checkpoint is near");
    assert!(number(&mut c, "select count(*) from t") == 6000);
    assert!(db.alert_log().contains("Thread 1 advanced to log sequence"));
    let kind = c.execute("alter database noarchivelog", &[]).expect("the mode changes").done.kind;
    assert_eq!(kind, net::StatementKind::ALTER_DATABASE, "and it is said of the database");
    assert_eq!(texts(&mut c, "select log_mode from v$database"), ["NOARCHIVELOG"]);
}

#[test]
fn what_was_committed_outlives_those_who_write_it() {
    let db = Database::new("deaths");
    let mut rows = 0;
    for name in ["lw_lgwr", "lw_ckpt", "lw_dbw0", "lw_arc0"] {
        let mut c = db.start(&[]);
        if rows == 0 {
            run(&mut c, "create table t (n number)");
        }
        assert_eq!(number(&mut c, "select count(*) from t"), rows);
        run(&mut c, "insert into t select level from dual connect by level <= 100");
        run(&mut c, "commit");
        rows += 100;
        run(&mut c, "insert into t values (0)");
        os::process::kill(child_named(db.supervisor(), name), os::signal::SIGKILL).unwrap();
        db.wait_until_gone();
        assert!(db.alert_log().contains("process terminated with error"), "{name}");
    }
    assert_eq!(number(&mut db.start(&[]), "select count(*) from t"), rows);
}

#[test]
fn a_log_that_cannot_be_written_ends_the_instance_and_loses_nothing() {
    let db = Database::new("full");
    let mut c = db.start(&[]);
    run(&mut c, "create table t (n number)");
    run(&mut c, "insert into t values (1)");
    run(&mut c, "commit");
    // The next log is on a device that is always full.
    let (next, kept) = (db.0.join("redo02.log"), db.0.join("redo02.kept"));
    std::fs::rename(&next, &kept).unwrap();
    std::os::unix::fs::symlink("/dev/full", &next).unwrap();
    let failed = c.execute("alter system switch logfile", &[]);
    db.wait_until_gone();
    assert!(failed.is_err());
    let alert = db.alert_log();
    for what in ["ORA-00345", "redo02.log", "ORA-00470: LGWR process terminated with error"] {
        assert!(alert.contains(what), "no {what} in {alert}");
    }
    std::fs::rename(&kept, &next).unwrap();
    let mut c = db.start(&[]);
    assert_eq!(number(&mut c, "select count(*) from t"), 1);
}

#[test]
fn log_groups_come_and_go() {
    let db = Database::new("groups");
    let mut c = db.start(&[]);
    run(&mut c, "create table t (n number, v varchar2(1000))");
    run(&mut c, "alter database add logfile group 7 ('more.log') size 2M");
    run(&mut c, "alter database add logfile size 1024K");
    assert_eq!(
        texts(&mut c, "select group# || ' ' || bytes || ' ' || status from v$log where group# > 3"),
        ["4 1048576 UNUSED", "7 2097152 UNUSED"]
    );
    for (sql, error) in [
        ("alter database add logfile group 7 size 1M", "ORA-01184"),
        ("alter database add logfile group 9 'more.log' size 1M", "ORA-01577"),
        ("alter database add logfile group 9 size 100K", "ORA-00336"),
        ("alter database add logfile group 99 size 1M", "ORA-01185"),
        ("alter database drop logfile group 9", "ORA-01514"),
    ] {
        let e = c.execute(sql, &[]).unwrap_err().to_string();
        assert!(e.contains(error), "{sql}: {e}");
    }
    let current = number(&mut c, "select group# from v$log where status = 'CURRENT'");
    assert!(
        c.execute(&format!("alter database drop logfile group {current}"), &[])
            .unwrap_err()
            .to_string()
            .contains("ORA-01623")
    );
    for _ in 0..14 {
        run(&mut c, "insert into t select level, rpad('x', 900, 'x') from dual connect by level <= 500");
        run(&mut c, "commit");
    }
    assert_eq!(number(&mut c, "select count(*) from v$log where sequence# = 0"), 0, "all have been used");
    run(&mut c, "alter system switch logfile");
    run(&mut c, "alter system checkpoint");
    let mut left = 5;
    for group in texts(&mut c, "select group# from v$log where status = 'INACTIVE' order by group#") {
        match c.execute(&format!("alter database drop logfile group {group}"), &[]) {
            Ok(_) => left -= 1,
            Err(e) => assert!(left == 2 && e.to_string().contains("ORA-01567"), "{e}"),
        }
    }
    assert_eq!(left, 2);
    run(&mut c, "insert into t select level, 'y' from dual connect by level <= 100");
    run(&mut c, "commit");
    os::process::kill(db.supervisor() as i32, os::signal::SIGKILL).unwrap();
    db.wait_until_gone();
    let mut c = db.start(&[]);
    assert_eq!(number(&mut c, "select count(*) from t"), 7100);
    assert_eq!(number(&mut c, "select count(*) from v$log"), 2);
}

/// Processes with the file open would continue to write to it, and the redo would be lost in a crash without an earlier
/// sign.
#[test]
fn a_log_that_is_removed_or_replaced_is_made_again_and_loses_nothing() {
    let db = Database::new("unlinked");
    let mut c = db.start(&["_log_files=2"]);
    run(&mut c, "create table t (n number)");
    let member = |c: &mut Client, condition: &str| {
        let sql = "select f.member from v$log l, v$logfile f where f.group# = l.group# and l.status";
        PathBuf::from(&texts(c, &format!("{sql} {condition}"))[0])
    };
    let is_replaced = |c: &mut Client, path: &Path| {
        support::until("the group has another file", || {
            let members = texts(c, "select member from v$logfile");
            members.len() == 2 && members.iter().all(|m| Path::new(m) != path && Path::new(m).is_file())
        });
    };
    for n in 0..3 {
        run(&mut c, &format!("insert into t values ({n})"));
        run(&mut c, "commit");
        // A log in use is removed; then another file takes the place of a log that is not in use.
        let path = member(&mut c, if n == 1 { "<> 'CURRENT'" } else { "= 'CURRENT'" });
        std::fs::remove_file(&path).unwrap();
        if n == 1 {
            std::fs::write(&path, "somebody's notes").unwrap();
        }
        run(&mut c, "insert into t values (10)");
        run(&mut c, "commit");
        is_replaced(&mut c, &path);
    }
    support::until("the alert log says so", || db.alert_log().matches("nothing is lost").count() == 3);
    let alert = db.alert_log();
    assert_eq!(alert.matches("ORA-00313").count(), 3, "{alert}");
    os::process::kill(db.supervisor() as i32, os::signal::SIGKILL).unwrap();
    db.wait_until_gone();
    let mut c = db.start(&[]);
    assert_eq!(number(&mut c, "select count(*) from t"), 6);
    drop(c);
    let (ok, text) = latchwork(&["stop"], &db.0);
    assert!(ok, "{text}");
}

#[test]
fn a_transaction_shows_its_name_as_long_as_it_lives() {
    let db = Database::new("name");
    let mut c = db.start(&[]);
    run(&mut c, "create table t (x number)");
    let names = "select t.name from v$transaction t, v$session s where s.taddr = t.addr and s.sid = sys_context('USERENV', 'SID')";
    for end in ["commit", "rollback"] {
        run(&mut c, "set transaction name 'pay day'");
        run(&mut c, "insert into t values (1)");
        assert_eq!(texts(&mut c, names), ["pay day"]);
        run(&mut c, end);
        run(&mut c, "insert into t values (2)");
        assert_eq!(texts(&mut c, "select nvl(name, '-') from v$transaction"), ["-"]);
        run(&mut c, "rollback");
    }
    // A wait of DBW0 is not a commit.
    run(&mut c, "alter system checkpoint");
    let waits =
        "select count(*) from v$session_event e, v$session s, v$process p where e.sid = s.sid and s.paddr = p.addr
        and p.pname in ('DBW0', 'CKPT') and e.event = 'log file sync'";
    assert_eq!(number(&mut c, waits), 0);
}

/// A session that waits for a log which cannot be archived for want of space can be killed or cancelled, and does not
/// prevent a shutdown.
#[test]
fn a_wait_for_a_log_can_be_cancelled() {
    let db = Database::new("cancel");
    let mut c = db.start(&["_disk_full=TRUE"]);
    run(&mut c, "create table t (x varchar2(4000))");
    run(&mut c, "insert into t select rpad('x', 3900, 'x') from dual connect by level <= 40");
    run(&mut c, "commit");
    run(&mut c, "alter database archivelog");
    std::fs::write(db.0.join("disk_full"), "").unwrap();
    let mut waiter = db.connect();
    let sid = number(&mut waiter, "select sys_context('USERENV', 'SID') from dual");
    let serial = number(&mut c, &format!("select serial# from v$session where sid = {sid}"));
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let end = (0..1000).find_map(|n| {
            let sql = format!("update t set x = rpad('{n}', 3900, chr(97 + mod({n}, 2)))");
            waiter.execute(&sql, &[]).and_then(|_| waiter.commit()).err()
        });
        let _ = sender.send(end);
    });
    let begun = Instant::now();
    let waits =
        format!("select count(*) from v$session where sid = {sid} and event = 'log file switch (archiving needed)'");
    while number(&mut c, &waits) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "it waits: {}", db.alert_log());
        std::thread::sleep(Duration::from_millis(20));
    }
    run(&mut c, &format!("alter system kill session '{sid},{serial}' immediate"));
    let end = ended.recv_timeout(Duration::from_secs(60)).expect("the killed session ends").expect("with an error");
    assert!(end.is_fatal() || end.code() == 28, "{end}");
    // Other sessions read, and PMON still works: ended sessions are cleaned up. The owner can log on, however little
    // room the log has, and the alert log reports that the trail has no record.
    for _ in 0..40 {
        drop(db.connect());
    }
    let begun = Instant::now();
    while !db.alert_log().contains("could not be written (ORA-00257)") {
        assert!(begun.elapsed() < Duration::from_secs(60), "it is told: {}", db.alert_log());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::remove_file(db.0.join("disk_full")).unwrap();
    run(&mut c, "update t set x = 'free'");
    run(&mut c, "commit");
    assert_eq!(number(&mut c, "select count(*) from t where x = 'free'"), 40, "its rows are free again");
}
