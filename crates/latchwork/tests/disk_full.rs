//! A full disk: an operation that needs space gets a clear error or waits, all others continue, and with free space
//! everything continues.
//!
//! The same work runs twice: on a small file system, if the test may mount one (in a mount namespace of its own, so
//! that it disappears with the test), and with `_disk_full`, which keeps files from growing and always runs.

mod support;

use client::{Client, ClientError};
use lab::torture::{Place, Started};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use support::run;
use types::Value;

/// Transactions that make more redo than all logs hold.
const ROUNDS: i64 = 100;

/// Tells the test, inside its own mount namespace, the path of the small file system.
const SMALL: &str = "LATCHWORK_SMALL_DISK";

/// How the disk is filled and emptied.
trait Disk {
    fn fill(&self);
    fn empty(&self);
}

/// A file system with a file that takes all its space.
struct Mounted(PathBuf);

impl Disk for Mounted {
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("ballast")).unwrap();
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![7; size]).is_ok() {}
        }
    }
    fn empty(&self) {
        std::fs::remove_file(self.0.join("ballast")).unwrap();
    }
}

/// Files that must not grow.
struct Marked(PathBuf);

impl Disk for Marked {
    fn fill(&self) {
        std::fs::write(self.0.join(faults::DISK_FULL_FILE), "").unwrap();
    }
    fn empty(&self) {
        std::fs::remove_file(self.0.join(faults::DISK_FULL_FILE)).unwrap();
    }
}

fn params(extra: &[(&str, &str)]) -> Vec<(String, String)> {
    let usual = [("db_cache_size", "4M"), ("processes", "40"), ("_log_file_size", "1M")];
    // Sorts need temporary space early.
    let more = [("sort_area_size", "64K"), ("workarea_size_policy", "MANUAL"), ("_disk_sync", "TRUE")];
    usual.iter().chain(&more).chain(extra).map(|(n, v)| (n.to_string(), v.to_string())).collect()
}

fn number(c: &mut Client, sql: &str) -> i64 {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match &rows[0][0] {
        Value::Number(n) => n.as_i64().unwrap(),
        other => panic!("{sql}: {other:?}"),
    }
}

fn refused(c: &mut Client, sql: &str) -> ClientError {
    let e = c.execute(sql, &[]).expect_err(sql);
    assert!(!e.is_fatal(), "{sql}: {e}");
    assert!(e.to_string().contains("Linux Error: 28"), "{sql} says why: {e}");
    e
}

const FILL: &str = "insert into t select :n + level, rpad('x', 3900, 'x') from dual connect by level <= 1500";

fn fill(c: &mut Client, from: i64) -> Result<(), ClientError> {
    c.execute(&FILL.replace(":n", &from.to_string()), &[]).map(drop)
}

fn alert_log(place: &Place) -> String {
    std::fs::read_to_string(place.dir().join("alert.log")).unwrap_or_default()
}

fn work(place: &mut Place, disk: &dyn Disk, extra: &[(&str, &str)]) {
    let open = |place: &mut Place| match place.start(&params(extra), None).unwrap() {
        Started::Open(_) => place.connect().unwrap(),
        Started::Died(why) => panic!("it does not start: {why}"),
    };
    let mut c = open(place);
    run(&mut c, "create table t (id number primary key, x varchar2(4000))");
    run(&mut c, "insert into t values (0, 'first')");
    c.commit().unwrap();
    disk.fill();
    extension(&mut c);
    sorting(&mut c);
    assert_eq!(refused(&mut c, "create tablespace more datafile 'more01.dbf' size 2M").code(), 1119);
    assert_eq!(refused(&mut c, "alter tablespace users add datafile 'users02.dbf' size 2M").code(), 1119);
    // Logs switch and checkpoints are made: the control file's space is reserved.
    for n in 1..=8 {
        run(&mut c, &format!("update t set x = rpad('{n}', 3000, 'y') where id = 0"));
        c.commit().unwrap();
        run(&mut c, "alter system switch logfile");
        run(&mut c, "alter system checkpoint");
    }
    // Killed and started again on the full disk.
    drop(c);
    place.kill().unwrap();
    let mut c = open(place);
    assert_eq!(number(&mut c, "select length(x) from t where id = 0"), 3000);
    disk.empty();
    fill(&mut c, 1_000_000).unwrap();
    c.commit().unwrap();
    run(&mut c, "create tablespace more datafile 'more01.dbf' size 2M");
    archiving(place, &mut c, disk);
    drop(c);
    place.stop().unwrap();
    place.verify().unwrap();
}

/// A table that cannot grow: the statement is rolled back, the transaction and the session continue.
fn extension(c: &mut Client) {
    run(c, "insert into t values (-1, 'of the transaction')");
    let mut at = 0;
    let e = loop {
        at += 10_000;
        match fill(c, at) {
            Ok(()) => c.commit().unwrap(),
            Err(e) => break e,
        }
        assert!(at < 1_000_000, "the disk is full");
    };
    assert!(matches!(e.code(), 1653 | 1654 | 30036) && e.to_string().contains("ORA-01237"), "{e}");
    assert!(e.to_string().contains("Linux Error: 28"), "{e}");
    assert_eq!(number(c, &format!("select count(*) from t where id > {at}")), 0, "nothing of the statement is left");
    run(c, "update t set x = 'changed' where id = -1");
    c.commit().unwrap();
    assert_eq!(number(c, "select count(*) from t where x = 'changed'"), 1);
}

/// A sort without temporary space fails alone.
fn sorting(c: &mut Client) {
    let wide = "select max(x) from (select x, row_number() over (order by x desc, level) n from
        (select rpad(to_char(mod(level * 7919, 10007)), 1900, 'z') x, level from dual connect by level <= 9000)) where n > 5";
    if let Err(e) = c.query(wide, &[]).and_then(|q| q.all()) {
        assert!(e.code() == 1652, "{e}");
    }
    let sql = "select count(*) from (select /*+ no_merge */ distinct rpad(to_char(level), 3000, 'z') x from dual connect by level <= 4000)";
    let e = c.query(sql, &[]).and_then(|q| q.all()).expect_err("12 MB do not fit into the first 4");
    assert_eq!(e.code(), 1652, "{e}");
    assert!(e.to_string().contains("Linux Error: 28"), "{e}");
}

/// With logs that cannot be archived sessions wait for a log; with free space the same statement continues.
fn archiving(place: &Place, c: &mut Client, disk: &dyn Disk) {
    run(c, "alter database archivelog");
    run(c, "create table a (x varchar2(4000))");
    disk.fill();
    let mut other = place.connect().unwrap();
    let (sender, receiver) = mpsc::channel();
    let writer = std::thread::spawn(move || {
        // More than all logs hold, in committed parts that need few new extents.
        for n in 0..ROUNDS {
            // Each round changes every byte, since redo has only the changed bytes.
            let letter = if n % 2 == 0 { 'v' } else { 'w' };
            let sql = format!("update t set x = rpad('{n}', 3900, '{letter}') where id between 1000001 and 1000006");
            run(&mut other, &sql);
            other.commit().unwrap();
        }
        let _ = sender.send(number(&mut other, "select count(*) from t where x like '99w%'"));
    });
    let begun = Instant::now();
    let waits = "select count(*) from v$session where event = 'log file switch (archiving needed)'";
    while number(c, waits) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the writer waits for a log: {}", alert_log(place));
        assert!(!writer.is_finished(), "without a log nothing is written");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(number(c, "select count(*) from t where id = 0"), 1, "readers go on");
    disk.empty();
    let seen = receiver.recv_timeout(Duration::from_secs(60));
    assert_eq!(seen, Ok(6), "it goes on: {}", alert_log(place));
    run(c, "alter system archive log current");
}

#[test]
fn files_that_cannot_grow_are_told_of_and_all_goes_on_with_room() {
    let mut place = Place::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")))).unwrap();
    let disk = Marked(place.dir().to_owned());
    work(&mut place, &disk, &[("_disk_full", "TRUE")]);
}

#[test]
fn a_small_file_system_fills_up_and_all_goes_on_with_room() {
    if let Some(dir) = std::env::var_os(SMALL) {
        return on_small_disk(Path::new(&dir));
    }
    let dir = std::env::temp_dir().join(format!("latchwork-small-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let exe = std::env::current_exe().unwrap();
    let script = "mount -t tmpfs -o size=96m latchwork-small \"$1\" || exit 77
        TMPDIR=\"$1\" exec \"$2\" --exact a_small_file_system_fills_up_and_all_goes_on_with_room --nocapture";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh"]).arg(&dir).arg(&exe).env(SMALL, &dir).process_group(0);
    let ended = command.status();
    let _ = std::fs::remove_dir(&dir);
    match ended.map(|s| s.code()) {
        Ok(Some(0)) => {}
        Ok(Some(77 | 1)) | Err(_) if !can_mount(&dir) => {
            support::absent::left_out("a small file system", "this user cannot mount one");
        }
        other => panic!("on the small file system: {other:?}"),
    }
}

/// Whether a file system can be mounted.
fn can_mount(dir: &Path) -> bool {
    let _ = std::fs::create_dir_all(dir);
    let mut command = Command::new("unshare");
    let can = command.args(["-m", "mount", "-t", "tmpfs", "tmpfs"]).arg(dir).status().is_ok_and(|s| s.success());
    let _ = std::fs::remove_dir(dir);
    can
}

fn on_small_disk(dir: &Path) {
    let mut place = Place::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")))).unwrap();
    assert!(place.dir().starts_with(dir));
    let disk = Mounted(dir.to_owned());
    work(&mut place, &disk, &[]);
}
