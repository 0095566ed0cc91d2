//! `lab record` of running instances: calls that are longer than a round of a recording, and several sessions.

mod support;

use client::{Client, Ephemeral};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{connect, run, start};
use testing::Folder;

fn lab(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_latchwork")).arg("lab").args(arguments).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

/// Records sessions that repeat a block until the recording is over; returns what `lab record` says.
fn recorded(instance: &Ephemeral, sessions: usize, block: &str, sample: &str, trace: &Path) -> String {
    let mut clients: Vec<Client> = (0..sessions).map(|_| connect(instance)).collect();
    let stop = AtomicBool::new(false);
    let (ok, out) = std::thread::scope(|scope| {
        for client in &mut clients {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    run(client, block);
                }
            });
        }
        let (dir, trace) = (instance.dir().to_str().unwrap(), trace.to_str().unwrap());
        let how = ["record", "--machine", "cascade-lake-6242", "--sample", sample, "--seconds", "1"];
        let done = lab(&[&how[..], &["--dir", dir, "--out", trace]].concat());
        stop.store(true, Ordering::Relaxed);
        done
    });
    assert!(ok, "{out}");
    out
}

/// The number before these words.
fn number_before(out: &str, words: &str) -> f64 {
    let found = out.split(words).next().and_then(|before| before.split_whitespace().last());
    found.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number before '{words}' in {out}"))
}

/// A round of a recording has 25 ms. Of eleven calls one takes longer than that; without the wait for its end no trace
/// has such a call, and the mean is that of the short ones.
#[test]
fn a_recording_has_the_calls_that_are_longer_than_a_round() {
    let folder = Folder::new("predictions-long");
    let instance = start(&[("_latch_recording_size", "1048576")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t as select level n from dual connect by level <= 10");
    let block = "declare n number; begin for i in 1 .. 9 loop select sum(n) into n from t; end loop; \
                 select count(*) into n from (select level a from dual connect by level <= 4000000); end;";
    let out = recorded(&instance, 1, block, "1", &folder.join("load.parquet"));
    let mean_ns = number_before(&out, " ns on average");
    assert!(mean_ns > 1e6, "short calls take some microseconds, and one in eleven takes some hundred thousand: {out}");
}

#[test]
fn several_sessions_of_a_running_instance_give_a_trace_that_predicts() {
    let folder = Folder::new("predictions-several");
    let instance = start(&[("_latch_recording_size", "262144"), ("latch_generation", "11.2.0.1")]);
    let mut c = connect(&instance);
    run(&mut c, "create table t as select level n from dual connect by level <= 10");
    let block = "declare n number; begin for i in 1 .. 500 loop \
                 select /*+ result_cache */ sum(n) into n from t; end loop; end;";
    let trace = folder.join("load.parquet");
    let out = recorded(&instance, 3, block, "4", &trace);
    // The session that made the table has executed nothing meanwhile.
    assert!(out.contains("3 sessions: ") && out.contains("3 sessions, one call in 4 recorded: "), "{out}");
    let how = ["--sessions", "1,2", "--draws", "4", "--calls", "1000", "--format", "csv"];
    let (ok, out) = lab(&[&["predict", "--trace", trace.to_str().unwrap()][..], &how].concat());
    assert!(ok && out.lines().count() >= 3, "{out}");
    assert!(!out.contains("no processor time of a call at one session"), "{out}");
}
