//! Tests that need what may be absent: published scripts, drivers, programs. They are left out with a word, and fail
//! where `LATCHWORK_ALL=1` asks for all of them.

use std::io::Write as _;

/// Says that a test, or a part of one, is left out, and why. `LATCHWORK_LEFT_OUT` names a file that gets a line for
/// each.
///
/// # Panics
/// With `LATCHWORK_ALL=1`, where nothing may be left out.
pub fn left_out(what: &str, why: &str) {
    let all = std::env::var_os("LATCHWORK_ALL").is_some_and(|value| value == "1");
    assert!(!all, "{what}: {why}; LATCHWORK_ALL=1 asks for all tests");
    eprintln!("left out: {what}: {why}");
    let Some(file) = std::env::var_os("LATCHWORK_LEFT_OUT") else { return };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
    file.and_then(|mut file| writeln!(file, "{what}: {why}"))
        .expect("LATCHWORK_LEFT_OUT names a file that can be written");
}
