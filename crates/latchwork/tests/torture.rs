//! A short, seeded form of `latchwork lab run torture`: sessions are killed while they work, and nothing is lost.
//!
//! `LATCHWORK_TORTURE=instance_kills,session_kills,seconds` makes the run longer, `LATCHWORK_GENERATIONS=all` runs
//! every generation.

mod rotation;

use lab::torture::{Plan, run};
use std::path::PathBuf;

/// The length of the run: from the environment, or the given number of kills.
fn length(instance_kills: u64, session_kills: u64) -> (u64, u64, f64) {
    let given = std::env::var("LATCHWORK_TORTURE").unwrap_or_default();
    let mut numbers = given.split(',').map(|n| n.trim().parse::<u64>().ok());
    let mut next = |or: u64| numbers.next().flatten().unwrap_or(or);
    (next(instance_kills), next(session_kills), next(120) as f64)
}

fn plan(seed: u64, length: (u64, u64, f64)) -> Plan {
    Plan {
        seed,
        sessions: 5,
        instance_kills: length.0,
        session_kills: length.1,
        restores: if length.0 == 0 { 0 } else { 2.max(length.0 / 8) },
        seconds: length.2,
        generations: Vec::new(),
        params: Vec::new(),
        progress: false,
        stop: lab::Stop::default(),
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))),
    }
}

#[test]
fn killed_sessions_leave_whole_transactions() {
    let (_, session_kills, seconds) = length(0, 120);
    let result = run(&plan(11, (0, session_kills, seconds))).expect("it runs");
    assert_eq!(result.failure, None, "{}", result.table());
    assert!(result.commits() > 0 && result.session_kills() > 0, "{}", result.table());
}

#[test]
fn killed_instances_come_back_with_what_was_acknowledged() {
    let result = run(&plan(12, length(14, 40))).expect("it runs");
    assert_eq!(result.failure, None, "{}", result.table());
    assert!(result.commits() > 0 && result.instance_kills() > 0, "{}", result.table());
    assert!(result.restores > 0, "{}", result.table());
}

#[test]
fn a_run_that_is_interrupted_ends_behind_the_present_life_with_its_figures() {
    let plan = plan(14, (1_000_000, 1_000_000, 600.0));
    let stop = plan.stop.clone();
    let result = std::thread::scope(|s| {
        s.spawn(move || {
            std::thread::sleep(std::time::Duration::from_secs(2));
            stop.ask();
        });
        run(&plan).expect("it runs")
    });
    assert_eq!(result.failure, None, "{}", result.table());
    assert!(result.instance_kills() < 100, "{}", result.table());
}

#[test]
fn killed_instances_come_back_in_every_design_of_every_cache() {
    let generations = rotation::generations(4);
    let (_, _, seconds) = length(0, 0);
    let kills = generations.len() as u64;
    let result = run(&Plan { generations, ..plan(13, (kills, 8 * kills, seconds)) }).expect("it runs");
    assert_eq!(result.failure, None, "{}", result.table());
    assert!(result.instance_kills() >= kills, "{}", result.table());
}

#[test]
fn every_named_point_of_the_code_is_in_the_list() {
    let mut found = std::collections::BTreeSet::new();
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(crates).unwrap().map(|e| e.unwrap().path().join("src")).filter(|p| p.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let names = text.split("faults::point(\"").skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(names.map(str::to_owned));
            }
        }
    }
    let listed: std::collections::BTreeSet<String> = lab::torture::POINTS.iter().map(|p| (*p).to_string()).collect();
    assert_eq!(listed, found, "lab::torture::POINTS and the points in the code");
    let page = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TORTURE.md"));
    let page = page.expect("docs/TORTURE.md");
    let missing: Vec<&String> = listed.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/TORTURE.md says nothing of {missing:?}");
}
