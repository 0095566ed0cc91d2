//! Tests with optional requirements: published scripts, drivers, programs. Without them a test is skipped with a
//! message, and fails if `LATCHWORK_ALL=1` requires all tests.

use std::io::Write as _;

/// Reports that a test, or a part of one, is skipped, with the reason. `LATCHWORK_LEFT_OUT` names a file that gets a
/// line for each.
///
/// # Panics
/// If `LATCHWORK_ALL=1` forbids skipping.
pub fn left_out(what: &str, why: &str) {
    let all = std::env::var_os("LATCHWORK_ALL").is_some_and(|value| value == "1");
    assert!(!all, "{what}: {why}; LATCHWORK_ALL=1 asks for all tests");
    eprintln!("left out: {what}: {why}");
    let Some(file) = std::env::var_os("LATCHWORK_LEFT_OUT") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    file.and_then(|mut file| writeln!(file, "{what}: {why}"))
        .expect("LATCHWORK_LEFT_OUT names a file that can be written");
}
