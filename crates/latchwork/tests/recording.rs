//! Recordings of latch gets: what they hold, who may make and read them, sessions that are killed in a sampled call,
//! full rings, and `lab record` with `lab predict`.

mod support;

use client::{Client, Ephemeral};
use std::path::Path;
use std::process::Command;
use support::{connect, log_on, make_user, one, refused, run, start, stops_and_deaths, until, words};
use testing::Folder;

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

/// The records of a session: kind, name, mode, begin, length, last holder, and of an end the involuntary switches.
fn recorded(c: &mut Client, sid: &str) -> Vec<Vec<String>> {
    words(
        c,
        &format!(
            "select kind, name, get_mode, to_char(begin_ns), to_char(length_ns), last_holder, to_char(preempted) \
             from x$ksl_recorded_get where sid = {sid} order by indx"
        ),
    )
}

/// The calls of a session: sampled, whole, open and lost ones.
fn calls(c: &mut Client, sid: &str) -> Vec<String> {
    let of = "select sampled_calls, whole_calls, open_calls, lost_calls from v$latch_recording where sid = ";
    words(c, &format!("{of}{sid}")).swap_remove(0)
}

/// The records of each call. A call begins with CALL; END is in no call but as its last record.
fn split(records: &[Vec<String>]) -> Vec<&[Vec<String>]> {
    assert!(records.first().is_none_or(|r| r[0] == "CALL"), "{records:?}");
    let calls: Vec<_> = records.chunk_by(|_, next| next[0] != "CALL").collect();
    for call in &calls {
        let within = &call[1..call.len().max(2) - 1];
        assert!(within.iter().all(|r| r[0] == "GET"), "{call:?}");
    }
    calls
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
        assert_eq!(calls(&mut observer, &sid), ["5", "4", "1", "0"], "{generation}: the session waits for its client");
        // The last call ends when the next begins, and that one is of no recording.
        read_result(&mut c, 5);
        let records = recorded(&mut observer, &sid);
        let of = |kind: &str| records.iter().filter(|r| r[0] == kind).count();
        assert_eq!((of("CALL"), of("END")), (5, 5), "{generation}: {records:?}");
        let of_result: Vec<_> = records.iter().filter(|r| r[1].starts_with("Result Cache")).collect();
        assert!(of_result.len() >= 5 && of_result.iter().all(|r| r[2] == mode), "{generation}: {records:?}");
        assert_eq!(calls(&mut observer, &sid), ["5", "5", "0", "0"]);
        let summary = "select is_full, running from v$latch_recording where sid = ";
        assert_eq!(words(&mut observer, &format!("{summary}{sid}")), [["NO", "NO"]]);
        // Times go on within a call, and its end is behind them. Only a get has a name, a mode and a last holder.
        for call in split(&records) {
            let time = |r: &[String], n: usize| r[n].parse::<u64>().unwrap();
            let end = call.last().unwrap();
            let length = time(end, 4);
            assert!(end[6].parse::<u64>().is_ok(), "{call:?}");
            for r in call {
                match r[0].as_str() {
                    "GET" => assert!(time(r, 3) + time(r, 4) <= length && !r[1].is_empty() && r[6].is_empty(), "{r:?}"),
                    _ => assert!(r[1].is_empty() && r[2].is_empty() && r[5].is_empty(), "{r:?}"),
                }
            }
        }
        // One session alone: it was the last holder, or nothing tells who was.
        let last: Vec<&str> = of_result.iter().map(|r| r[5].as_str()).collect();
        match mode {
            "EXCLUSIVE" => assert!(last.contains(&"SAME") && !last.contains(&"OTHER"), "{last:?}"),
            _ => assert!(last.iter().all(|last| *last == "UNKNOWN"), "{generation}: {last:?}"),
        }
    }
}

#[test]
fn versioned_reads_name_the_child_whose_get_they_avoid() {
    let instance = start(&[]);
    let (mut observer, mut c) = (connect(&instance), reader(&instance));
    switch(&mut observer, 1);
    for n in 1..=3 {
        assert_eq!(one(&mut c, &format!("select count(*) from t where n >= {n}")), (11 - n).to_string());
    }
    switch(&mut observer, 0);
    for name in ["cache buffers chains", "row cache objects"] {
        let of = format!("from x$ksl_recorded_get where get_mode = 'READ' and name = '{name}'");
        assert_ne!(one(&mut observer, &format!("select count(*) {of}")), "0", "{name}");
        let without = "object = 0 or object not in (select child# from v$latch_children where name = ";
        assert_eq!(one(&mut observer, &format!("select count(*) {of} and ({without}'{name}'))")), "0", "{name}");
    }
}

#[test]
fn one_call_in_n_is_recorded() {
    let instance = start(&[("_latch_recording_size", "1M")]);
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
fn a_full_ring_loses_calls_and_is_empty_in_the_next_recording() {
    // Rings of 64 records.
    let instance = start(&[("_latch_recording_size", "2048")]);
    let (mut observer, mut c) = (connect(&instance), reader(&instance));
    let sid = sid(&mut c);
    let summary = format!("select records, capacity, is_full from v$latch_recording where sid = {sid}");
    switch(&mut observer, 1);
    read_result(&mut c, 100);
    let of = words(&mut observer, &summary);
    let records: u32 = of[0][0].parse().unwrap();
    assert!((48..=64).contains(&records) && of[0][1..] == ["64", "YES"], "{of:?}");
    switch(&mut observer, 1);
    read_result(&mut c, 2);
    switch(&mut observer, 0);
    let of = words(&mut observer, &summary);
    assert!(of[0][0].parse::<u32>().unwrap() < records && of[0][2] == "NO", "{of:?}");
    // Without rings nothing can be recorded.
    let instance = start(&[("_latch_recording_size", "0")]);
    let mut observer = connect(&instance);
    let refused = refused(&mut observer, "alter system set \"_latch_recording\" = 1");
    assert!(refused.contains("ORA-00439") && refused.contains("_latch_recording_size"), "{refused}");
    switch(&mut observer, 0);
    assert_eq!(one(&mut observer, "select count(*) from v$latch_recording"), "0");
}

/// A session waits for a row in a sampled call until the recording has been switched off.
#[test]
fn a_long_call_is_recorded_up_to_its_end() {
    let instance = start(&[]);
    let (mut observer, mut c, mut locker) = (connect(&instance), reader(&instance), connect(&instance));
    let sid = sid(&mut c);
    run(&mut locker, "update t set n = n where n = 1");
    switch(&mut observer, 1);
    std::thread::scope(|scope| {
        let (c, locker) = (&mut c, &mut locker);
        scope.spawn(move || {
            run(c, "declare k number; begin update t set n = n where n = 1; select count(*) into k from t; end;");
        });
        let waits = format!("select count(*) from v$session where sid = {sid} and event like 'enq: TX%'");
        until("it waits for the row", || one(&mut observer, &waits) == "1");
        scope.spawn(move || {
            until("the recording is off", || one(locker, "select max(running) from v$latch_recording") == "NO");
            run(locker, "rollback");
        });
        switch(&mut observer, 0);
        let of = calls(&mut observer, &sid);
        assert_eq!(of[2..], ["0", "0"], "no call is open, and none lost: {of:?}");
    });
    let records = recorded(&mut observer, &sid);
    assert!(split(&records).iter().all(|call| call.last().unwrap()[0] == "END"), "{records:?}");
}

#[test]
fn every_session_is_recorded_however_many_there_are() {
    let instance = start(&[]);
    let mut observer = connect(&instance);
    let mut all: Vec<Client> = (0..40).map(|_| connect(&instance)).collect();
    switch(&mut observer, 1);
    let mut sids = Vec::new();
    for c in &mut all {
        sids.push(sid(c));
        one(c, "select 1 from dual");
    }
    switch(&mut observer, 0);
    for sid in &sids {
        assert_eq!(calls(&mut observer, sid), ["2", "1", "1", "0"], "{sids:?}");
    }
}

/// The first call of each is its last.
#[test]
fn calls_of_short_sessions_are_whole() {
    let instance = start(&[]);
    let mut observer = connect(&instance);
    drop(reader(&instance));
    switch(&mut observer, 1);
    let mut slots = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let mut c = connect(&instance);
        slots.insert(c.welcome().sid);
        read_result(&mut c, 1);
        c.logoff(true).unwrap();
    }
    let slots: Vec<String> = slots.iter().map(ToString::to_string).collect();
    let list = slots.join(", ");
    let there = format!("select count(*) from v$session where sid in ({list})");
    until("the sessions are gone", || one(&mut observer, &there) == "0");
    switch(&mut observer, 0);
    let sum = "select sum(open_calls), sum(lost_calls), count(*) from v$latch_recording where whole_calls > 0";
    assert_eq!(words(&mut observer, &format!("{sum} and sid in ({list})")), [["0", "0", &slots.len().to_string()]]);
    let reads = "select count(*) from x$ksl_recorded_get where name like 'Result Cache%' and sid in ";
    let reads: u32 = one(&mut observer, &format!("{reads}({list})")).parse().unwrap();
    assert!(reads >= 10, "{reads}");
}

#[test]
fn a_recording_ends_with_its_session_and_another_session_begins_none_meanwhile() {
    let instance = start(&[]);
    let mut other = connect(&instance);
    let running = "select ksppstvl from x$ksppi where ksppinm = '_latch_recording'";
    let is_off = |c: &mut Client| {
        one(c, "select nvl(max(running), 'NO') from v$latch_recording") == "NO" && words(c, running)[0][0] == "0"
    };
    for killed in [true, false] {
        let mut c = connect(&instance);
        switch(&mut c, 8);
        // Another rate is its own affair.
        switch(&mut c, 1);
        let refused = refused(&mut other, "alter system set \"_latch_recording\" = 1");
        let me = format!("session {},{} records", c.welcome().sid, c.welcome().serial);
        assert!(refused.contains("ORA-00054") && refused.contains(&me), "{refused}");
        assert!(!is_off(&mut other));
        if killed {
            let server = c.welcome().server_process as i32;
            os::process::kill(server, os::signal::SIGKILL).unwrap();
        }
        drop(c);
        until("the recording is off", || is_off(&mut other));
        switch(&mut other, 1);
        switch(&mut other, 0);
    }
    // Each session that may change parameters may end a recording, and then begin one.
    let mut c = connect(&instance);
    switch(&mut c, 1);
    switch(&mut other, 0);
    assert!(is_off(&mut other));
    switch(&mut other, 1);
    assert!(refused(&mut c, "alter system set \"_latch_recording\" = 1").contains("ORA-00054"));
    drop(c);
    one(&mut other, "select 1 from dual");
    assert!(!is_off(&mut other), "the recording of another session goes on");
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

/// Sessions die between the words of a record and the count of records: with a latch held at most passes. Others get
/// their process slots.
#[test]
fn a_session_that_is_killed_in_a_sampled_call_leaves_nothing_that_a_reader_takes() {
    for generation in ["11.2.0.1", "12.2", "latchwork"] {
        let params = [
            ("_crash_point", "record_written:40:session"),
            ("latch_generation", generation),
            ("_latch_recording_size", "1M"),
        ];
        let mut instance = start(&params);
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
        let mut c = connect(&instance);
        read_result(&mut c, 5);
        // A call of each that died is lost; nobody but this session is in one.
        let lost = "select sum(lost_calls) from v$latch_recording";
        until("the dead are cleaned up", || one(&mut observer, lost) == died().to_string());
        assert_eq!(one(&mut observer, "select max(is_full) from v$latch_recording"), "NO");
        let own = sid(&mut c);
        c.logoff(true).unwrap();
        let there = format!("select count(*) from v$session where sid = {own}");
        until("the session is gone", || one(&mut observer, &there) == "0");
        switch(&mut observer, 0);
        let sids = words(&mut observer, "select sid from v$latch_recording order by sid");
        let mut without_end = 0;
        for sid in sids.iter().map(|row| &row[0]) {
            let records = recorded(&mut observer, sid);
            let of = split(&records);
            let whole = of.iter().filter(|call| call.last().unwrap()[0] == "END").count();
            assert_eq!(calls(&mut observer, sid)[1], whole.to_string(), "{generation}: {records:?}");
            without_end += of.len() - whole;
        }
        // A session that died in the first record of its call has no begin of it either.
        assert!(without_end <= died(), "{generation}: {without_end} calls without an end, {} died", died());
        let records = recorded(&mut observer, &own);
        assert!(records.iter().filter(|r| r[0] == "END").count() >= 5, "{generation}: {records:?}");
        assert!(instance.is_running(), "{generation}");
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
    let folder = Folder::new("recording");
    let trace = folder.join("load.parquet");
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
        let damaged = folder.join("damaged.parquet");
        std::fs::write(&damaged, &bytes[..cut]).unwrap();
        let (ok, out) = lab(&["predict", "--trace", text(&damaged), "--machine", "power7", "--sessions", "1"]);
        assert!(!ok && out.contains("damaged.parquet"), "{cut}: {out}");
    }
}

#[test]
fn the_laboratory_records_a_running_instance() {
    let folder = Folder::new("recording-dir");
    let trace = folder.join("load.parquet");
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
