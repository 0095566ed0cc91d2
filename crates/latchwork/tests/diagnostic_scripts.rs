//! Scripts for inspecting Oracle's latches and waits, unmodified, while sessions compete for a latch.
//!
//! They are those of the public repository tpt-oracle (Apache-2.0) that concern latches, mutexes, the buffer and row
//! caches, waits and statistics. They are not part of this repository: `./check` fetches them into
//! `target/diagnostic-scripts` where it can, and `LATCHWORK_DIAGNOSTIC_SCRIPTS` names a copy. Without them these tests
//! are skipped.

#[path = "support/absent.rs"]
mod absent;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

/// One instance at a time: the load on one would distort the sampling in the other.
static TURN: Mutex<()> = Mutex::new(());

fn folder() -> Option<PathBuf> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/diagnostic-scripts");
    let folder = std::env::var_os("LATCHWORK_DIAGNOSTIC_SCRIPTS").map_or(fetched, PathBuf::from);
    if folder.join("latchprof.sql").is_file() {
        return Some(folder);
    }
    let why = format!("{} has no scripts (git clone the public repository tpt-oracle to there)", folder.display());
    absent::left_out("diagnostic scripts", &why);
    None
}

const TABLES: &[&str] = &[
    "create table cbchammer (a int)",
    "insert into cbchammer values (1)",
    "insert into cbchammer values (2)",
    "create table lookup as select * from all_objects where rownum <= 50",
    "commit",
];

/// Jobs that never end: two read dictionary rows, one reads one block.
const LOAD: &str = "declare j number; begin
  for i in 1 .. 2 loop
    dbms_job.submit(j, 'declare v varchar2(256); begin loop \
      select value into v from nls_database_parameters where parameter = ''NLS_CHARACTERSET''; end loop; end;');
  end loop;
  dbms_job.submit(j, 'declare v number; begin loop select a into v from cbchammer where rownum = 1; end loop; end;');
  commit;
end;";

fn number(client: &mut Client, sql: &str) -> i64 {
    let rows = client.query(sql, &[]).and_then(client::Query::all).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Number(n)) => n.to_i64().expect("a whole number"),
        other => panic!("{sql}: {other:?}"),
    }
}

fn text(client: &mut Client, sql: &str) -> String {
    let rows = client.query(sql, &[]).and_then(client::Query::all).unwrap_or_else(|e| panic!("{sql}: {e}"));
    match rows.first().and_then(|row| row.first()) {
        Some(Value::Text(text)) => text.to_string(),
        other => panic!("{sql}: {other:?}"),
    }
}

/// An instance of a generation with the running jobs, each of which has got latches or waited at least once.
fn under_load(generation: &str) -> (Ephemeral, Client) {
    let options = EphemeralOptions {
        params: vec![("latch_generation".into(), generation.into()), ("job_queue_processes".into(), "8".into())],
        executable: Some(env!("CARGO_BIN_EXE_latchwork").into()),
    };
    let instance = Ephemeral::start_with(&options).expect("an instance starts");
    let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    for sql in TABLES.iter().chain([&LOAD]) {
        admin.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let sleeps =
        "select (select nvl(sum(sleeps), 0) from v$latch where name in ('row cache objects', 'cache buffers chains'))
                    + (select nvl(sum(sleeps), 0) from v$mutex_sleep) from dual";
    let give_up = Instant::now() + Duration::from_secs(60);
    while number(&mut admin, sleeps) == 0 || number(&mut admin, "select count(*) from dba_jobs_running") < 3 {
        assert!(Instant::now() < give_up, "three jobs ran for a minute and none of them slept");
        std::thread::sleep(Duration::from_millis(50));
    }
    (instance, admin)
}

/// Types lines into the shell after `@init` and returns the output of each.
fn run(folder: &Path, instance: &Ephemeral, lines: &[String]) -> Vec<String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_latchwork"))
        .args(["sql", "-s", "--dir"])
        .arg(instance.dir())
        .args(["/", "as", "sysdba"])
        .current_dir(folder)
        .env("SQLPATH", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the shell starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut typed = String::from("@init\nspool off\n");
    for line in lines {
        typed.push_str(&format!("prompt #### {line}\n{line}\n"));
    }
    let writer = std::thread::spawn(move || input.write_all(typed.as_bytes()));
    let output = child.wait_with_output().expect("the shell ends");
    writer.join().expect("the writer ends").expect("the shell reads all");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut parts = text.split("#### ");
    let before = parts.next().unwrap_or("").to_string();
    assert!(before.trim().is_empty(), "init has termout off: {before}");
    let parts: Vec<String> = parts.map(str::to_string).collect();
    assert_eq!(parts.len(), lines.len(), "{text}");
    for part in &parts {
        assert!(!["ORA-", "PLS-", "SP2-"].iter().any(|mark| part.contains(mark)), "{part}");
    }
    parts
}

/// Number of rows below the first line of dashes.
fn rows(part: &str) -> usize {
    part.lines()
        .skip_while(|line| !line.starts_with('-') || line.starts_with("-- "))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .count()
}

#[test]
fn latches_under_load_show_in_every_script() {
    let Some(folder) = folder() else {
        return;
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (instance, mut admin) = under_load("12.1");
    let child = text(&mut admin, "select rawtohex(addr) from v$latch_children where rownum = 1");
    let hot = "select rawtohex(hladdr) from x$bh where obj = (select data_object_id from dba_objects where object_name = 'CBCHAMMER') \
               and rownum = 1";
    let hot = text(&mut admin, hot);
    let job = number(&mut admin, "select min(sid) from dba_jobs_running");
    let users = "\"select sid from v$session where type = 'USER'\"";
    // Each script, and whether the load guarantees a row.
    let scripts: Vec<(String, bool)> = [
        ("@l \"row cache\"", true),
        ("@lc \"cache buffers\"", true),
        ("@ln 1,2,3", true),
        ("@lh %", false),
        (&format!("@la {child}"), true),
        ("@lm row", true),
        ("@lr 1", true),
        ("@ksllw 1", true),
        ("@lrc %", true),
        ("@latchprofx sid,name,func,hmode % % 100000", true),
        ("@lhp % % 100000", true),
        ("@lhpx % % 100000", true),
        (&format!("@waitprof print {job} e 100000"), true),
        (&format!("@bhla {hot}"), true),
        ("@bhobjects", true),
        ("@rowcache dba_objects", true),
        ("@hash", true),
        ("@aot/hash %nls%", true),
        ("@sed row", true),
        (&format!("@sw {users}"), true),
        ("@swa", true),
        (&format!("@s {users}"), true),
        (&format!("@ses {users} %"), true),
        ("@sys reads", true),
        ("@sye %", true),
        ("@mys logical", true),
        ("@i", true),
        ("@lotslios 10000", true),
        ("@ash/ashtop username,sql_id,event2 1=1 sysdate-1/24 sysdate", true),
        ("@latchprof name % % 100000", true),
    ]
    .into_iter()
    .map(|(line, sure)| (line.to_string(), sure))
    .collect();
    let lines: Vec<String> = scripts.iter().map(|(line, _)| line.clone()).collect();
    let printed = run(&folder, &instance, &lines);
    for ((line, sure), part) in scripts.iter().zip(&printed) {
        assert!(!sure || rows(part) > 0, "{line} shows nothing:\n{part}");
    }
    // The latch that two sessions use is held most, in at most as many samples as were taken.
    let profile = printed.last().expect("the last script");
    let held: Vec<(String, u64)> = profile
        .lines()
        .filter_map(|line| {
            let at = line.find(|c: char| c.is_ascii_digit())?;
            let count = line[at..].split_whitespace().next()?.parse().ok()?;
            Some((line[..at].trim().to_string(), count))
        })
        .filter(|(name, _)| !name.is_empty() && !name.starts_with("--") && !name.starts_with('@'))
        .collect();
    let most = held.iter().max_by_key(|(_, count)| *count).expect("a latch");
    assert_eq!(most.0, "row cache objects", "{profile}");
    assert!(held.iter().all(|(_, count)| *count <= 100_000), "{profile}");
}

#[test]
fn mutexes_under_load_show_in_the_profile_of_their_sleeps() {
    let Some(folder) = folder() else {
        return;
    };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let (instance, mut admin) = under_load("12.2");
    let give_up = Instant::now() + Duration::from_secs(60);
    while number(&mut admin, "select count(*) from v$mutex_sleep_history where mutex_type = 'Row Cache'") == 0 {
        assert!(Instant::now() < give_up, "no mutex sleep for a minute");
        std::thread::sleep(Duration::from_millis(50));
    }
    let printed = run(&folder, &instance, &["@mutexprof loc 1=1".into(), "@mutexprof id,ts,loc,req,blk 1=1".into()]);
    for part in printed {
        assert!(rows(&part) > 0 && part.contains("kqr"), "{part}");
    }
}
