//! Recordings of latch gets: what they hold, who may make and read them, sessions that are killed in a sampled call,
//! full rings, and `lab record` with `lab predict`.

mod support;

use client::{Client, Ephemeral};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{connect, log_on, make_user, one, refused, run, start, stops_and_deaths, until, words};

fn switch(c: &mut Client, every: u32) {
    run(c, &format!("alter system set \"_latch_recording\" = {every}"));
}

fn sid(c: &mut Client) -> String {
    one(c, "select sys_context('userenv', 'sid') from dual")
}

/// A session with a cached result.
fn reader(instance: &Ephemeral) -> Client {
    let mut c = connect(instance);
    run(&mut c, "create table t as select level n from dual connect by level <= 10");
    read_result(&mut c, 3);
    c
}

fn read_result(c: &mut Client, times: u32) {
    for _ in 0..times {
        assert_eq!(one(c, "select /*+ result_cache */ sum(n) from t"), "55");
    }
}

/// The records of a session: kind, name, mode.
fn recorded(c: &mut Client, sid: &str) -> Vec<Vec<String>> {
    words(
        c,
        &format!(
            "select kind, nvl(name, '-'), get_mode, to_char(begin_ns), to_char(length_ns) from x$ksl_recorded_get \
             where sid = {sid} order by indx"
        ),
    )
}

#[test]
fn a_recording_has_whole_calls_with_the_gets_of_the_design_and_ends_when_it_is_switched_off() {
    // (generation, mode of the gets of a cached result)
    for (generation, mode) in [("11.2.0.1", "EXCLUSIVE"), ("11.2.0.3", "SHARED"), ("latchwork", "READ")] {
        let instance = start(&[("latch_generation", generation)]);
        let mut observer = connect(&instance);
        let mut c = reader(&instance);
        let sid = sid(&mut c);
        assert_eq!(one(&mut observer, "select count(*) from v$latch_recording"), "0");
        read_result(&mut c, 5);
        assert_eq!(one(&mut observer, "select count(*) from x$ksl_recorded_get"), "0", "nothing is recorded");
        switch(&mut observer, 1);
        read_result(&mut c, 5);
        switch(&mut observer, 0);
        // The last call ends when the next begins, and that one is of no recording.
        read_result(&mut c, 5);
        let records = recorded(&mut observer, &sid);
        let of = |kind: &str| records.iter().filter(|r| r[0] == kind).count();
        assert_eq!((of("CALL"), of("END")), (5, 5), "{generation}: {records:?}");
        let of_result: Vec<_> = records.iter().filter(|r| r[1].starts_with("Result Cache")).collect();
        assert!(of_result.len() >= 5 && of_result.iter().all(|r| r[2] == mode), "{generation}: {records:?}");
        let summary = "select sampled_calls, lost_records, running from v$latch_recording where sid = ";
        assert_eq!(words(&mut observer, &format!("{summary}{sid}")), [["5", "0", "NO"]]);
        // Times go on within a call, and its end is behind them.
        for call in records.split(|r| r[0] == "CALL").skip(1) {
            let time = |r: &[String], n: usize| r[n].parse::<u64>().unwrap();
            let length = time(call.last().unwrap(), 4);
            assert!(call.iter().all(|r| r[0] == "END" || time(r, 3) + time(r, 4) <= length), "{call:?}");
        }
    }
}

#[test]
fn one_call_in_n_is_recorded() {
    let instance = start(&[]);
    let (mut observer, mut c) = (connect(&instance), reader(&instance));
    let sid = sid(&mut c);
    switch(&mut observer, 20);
    run(
        &mut c,
        "declare n number; begin for i in 1 .. 4000 loop select /*+ result_cache */ sum(n) into n from t; end loop; end;",
    );
    let calls: u32 =
        one(&mut observer, &format!("select sampled_calls from v$latch_recording where sid = {sid}")).parse().unwrap();
    // The standard deviation of the count is 14.
    assert!((130..270).contains(&calls), "{calls}");
    switch(&mut observer, 0);
}

#[test]
fn a_full_ring_loses_records_and_is_empty_in_the_next_recording() {
    // Rings of 32 sessions, 64 records each.
    let instance = start(&[("_latch_recording_size", "32768")]);
    let (mut observer, mut c) = (connect(&instance), reader(&instance));
    let sid = sid(&mut c);
    let summary = format!("select records, capacity, lost_records from v$latch_recording where sid = {sid}");
    switch(&mut observer, 1);
    read_result(&mut c, 100);
    let of = words(&mut observer, &summary);
    assert_eq!(of[0][..2], ["64".to_owned(), "64".to_owned()], "{of:?}");
    assert_ne!(of[0][2], "0", "{of:?}");
    switch(&mut observer, 1);
    read_result(&mut c, 2);
    switch(&mut observer, 0);
    let of = words(&mut observer, &summary);
    assert!(of[0][0] != "64" && of[0][2] == "0", "{of:?}");
    // Without rings a recording records nothing, and nothing fails.
    let instance = start(&[("_latch_recording_size", "0")]);
    let (mut observer, mut c) = (connect(&instance), reader(&instance));
    switch(&mut observer, 1);
    read_result(&mut c, 5);
    assert_eq!(one(&mut observer, "select count(*) from v$latch_recording"), "0");
}

#[test]
fn only_the_privileged_switch_recordings_and_read_them() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    let mut u = log_on(&instance, "u");
    assert!(refused(&mut u, "alter system set \"_latch_recording\" = 1").contains("ORA-01031"));
    for view in ["v$latch_recording", "x$ksl_recorded_get"] {
        assert!(refused(&mut u, &format!("select * from {view}")).contains("ORA-00942"), "{view}");
    }
    run(&mut dba, "grant select_catalog_role, alter system to u");
    let mut u = log_on(&instance, "u");
    switch(&mut u, 1);
    assert_eq!(one(&mut u, "select min(running) from v$latch_recording"), "YES");
    // The gets of all sessions are for the owner alone.
    assert!(refused(&mut u, "select * from x$ksl_recorded_get").contains("ORA-00942"));
    switch(&mut u, 0);
}

/// Sessions die between the words of a record and the count of records: with a latch held at most passes.
#[test]
fn a_session_that_is_killed_in_a_sampled_call_leaves_nothing_that_a_reader_takes() {
    for generation in ["11.2.0.1", "12.2", "latchwork"] {
        let mut instance = start(&[("_crash_point", "record_written:40:session"), ("latch_generation", generation)]);
        let (calm, deaths) = (instance.dir().join(faults::CALM_FILE), stops_and_deaths(&instance).1);
        std::fs::write(&calm, "").unwrap();
        let mut observer = connect(&instance);
        drop(reader(&instance));
        switch(&mut observer, 1);
        std::fs::remove_file(&calm).unwrap();
        let died = || std::fs::read_to_string(&deaths).unwrap_or_default().lines().count();
        for _ in 0..500 {
            let mut c = connect(&instance);
            while c.query("select /*+ result_cache */ sum(n) from t", &[]).and_then(|q| q.all()).is_ok() && died() < 4 {
            }
            if died() >= 4 {
                break;
            }
        }
        std::fs::write(&calm, "").unwrap();
        assert!(died() >= 4, "{generation}: nobody died");
        let mut observer = connect(&instance);
        until("the dead are cleaned up", || one(&mut observer, "select count(*) from v$latchholder") == "0");
        let mut c = connect(&instance);
        read_result(&mut c, 5);
        switch(&mut observer, 0);
        read_result(&mut c, 1);
        let sid = sid(&mut c);
        let records = recorded(&mut observer, &sid);
        // The last begin of a call is that of this session, or follows calls that have ended.
        assert!(records.iter().filter(|r| r[0] == "END").count() >= 5, "{generation}: {records:?}");
        assert!(records.iter().all(|r| ["CALL", "GET", "END"].contains(&r[0].as_str())), "{records:?}");
        assert!(instance.is_running(), "{generation}");
    }
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lab(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("lab").args(arguments).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_laboratory_records_an_experiment_and_predicts_from_the_trace() {
    let folder = Folder(std::env::temp_dir().join(format!("latchwork-recording-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let trace = folder.0.join("load.parquet");
    let of = ["record", "--experiment", "result-cache", "--variant", "result-cache", "--generation", "11.2.0.1"];
    let how = ["--sample", "4", "--seconds", "1", "--calls", "2000", "--out", text(&trace)];
    let (ok, out) = lab(&[&of[..], &how].concat());
    assert!(ok && !out.contains("Result Cache") && out.contains("2 sessions:"), "{out}");
    let (ok, out) = lab(&[
        "predict",
        "--trace",
        text(&trace),
        "--machine",
        "cascade-lake-6242",
        "--cores",
        "4",
        "--sessions",
        "1,4",
        "--design",
        "versioned",
        "--draws",
        "4",
        "--calls",
        "1000",
        "--format",
        "csv",
    ]);
    assert!(ok && out.lines().count() >= 5, "{out}");
    // The machine of the recording is beside the trace.
    let (ok, out) = lab(&["predict", "--trace", text(&trace), "--sessions", "1,2", "--draws", "4", "--calls", "1000"]);
    assert!(ok && out.contains("counted sessions"), "{out}");
    // Damage is an error, wherever it is.
    let bytes = std::fs::read(&trace).unwrap();
    for cut in [5, bytes.len() / 2, bytes.len() - 1] {
        let damaged = folder.0.join("damaged.parquet");
        std::fs::write(&damaged, &bytes[..cut]).unwrap();
        let (ok, out) = lab(&["predict", "--trace", text(&damaged), "--machine", "power7", "--sessions", "1"]);
        assert!(!ok && out.contains("damaged.parquet"), "{cut}: {out}");
    }
}

#[test]
fn the_laboratory_records_a_running_instance() {
    let folder = Folder(std::env::temp_dir().join(format!("latchwork-recording-dir-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).unwrap();
    let trace = folder.0.join("load.parquet");
    let instance = start(&[]);
    let dir = instance.dir().to_owned();
    let how = |trace: &Path| {
        ["record", "--dir", text(&dir), "--sample", "1", "--seconds", "1", "--calls", "2000", "--out"]
            .iter()
            .map(|word| (*word).to_owned())
            .chain([text(trace).to_owned()])
            .collect::<Vec<_>>()
    };
    let (ok, out) = lab(&how(&trace).iter().map(String::as_str).collect::<Vec<_>>());
    assert!(!ok && out.contains("no other session"), "{out}");
    let mut c = reader(&instance);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let (ok, out) = std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                read_result(&mut c, 20);
            }
        });
        let done = lab(&how(&trace).iter().map(String::as_str).collect::<Vec<_>>());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        done
    });
    assert!(ok && trace.is_file(), "{out}");
    let mut observer = connect(&instance);
    assert_eq!(one(&mut observer, "select nvl(max(running), 'NO') from v$latch_recording"), "NO");
}
