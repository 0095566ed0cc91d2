//! The short form of the search: every target with its corpus and some seeded changes of it.

use fuzzing::{TARGETS, replay, target};

/// `LATCHWORK_FUZZ_CHANGES` sets the number of changes, `LATCHWORK_FUZZ_SEED` selects others.
fn run(name: &str, changes: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let changes = number("LATCHWORK_FUZZ_CHANGES").map_or(changes, |n| n as usize);
    let seed = number("LATCHWORK_FUZZ_SEED").unwrap_or(7);
    let inputs = replay(target(name), seed, changes);
    assert!(inputs > changes, "{name} ran {inputs} inputs");
    println!("{name}: {inputs} inputs of seed {seed}");
}

#[test]
fn oracle_packets() {
    run("oracle_packets", 20_000);
}

#[test]
fn oracle_messages() {
    run("oracle_messages", 20_000);
}

#[test]
fn oracle_logon() {
    run("oracle_logon", 20_000);
}

#[test]
fn local_frames() {
    run("local_frames", 20_000);
}

#[test]
fn local_session() {
    run("local_session", 3_000);
}

#[test]
fn sql_parse() {
    run("sql_parse", 6_000);
}

#[test]
fn sql_plan() {
    run("sql_plan", 2_000);
}

#[test]
fn sql_run() {
    run("sql_run", 1_000);
}

#[test]
fn plsql_compile() {
    run("plsql_compile", 2_000);
}

#[test]
fn block() {
    run("block", 3_000);
}

#[test]
fn redo() {
    run("redo", 20_000);
}

#[test]
fn text_files() {
    run("text_files", 2_000);
}

#[test]
fn oracle_session() {
    run("oracle_session", 600);
}

#[test]
fn redo_apply() {
    run("redo_apply", 20_000);
}

#[test]
fn stored_rows() {
    run("stored_rows", 20_000);
}

#[test]
fn formats() {
    run("formats", 20_000);
}

#[test]
fn json() {
    run("json", 20_000);
}

#[test]
fn xml() {
    run("xml", 20_000);
}

#[test]
fn program_text() {
    run("program_text", 4_000);
}

#[test]
fn every_target_has_its_program_and_its_test() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let programs = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).expect("the programs' manifest");
    let tests = include_str!("targets.rs");
    for target in TARGETS {
        assert!(programs.contains(&format!("name = \"{}\"", target.name)), "{} has no program", target.name);
        assert!(tests.contains(&format!("fn {}()", target.name)), "{} has no test", target.name);
    }
}
