//! The helper that skips tests with missing requirements, or fails them: run like a test.

#[path = "support/absent.rs"]
mod absent;

use std::process::{Command, Output};

/// Set for the child process that skips something.
const CHILD: &str = "LATCHWORK_LEFT_OUT_CHILD";

#[test]
fn something_is_absent() {
    if std::env::var_os(CHILD).is_some() {
        absent::left_out("the example", "it needs what nobody has");
    }
}

fn child(all: &str, record: &std::path::Path) -> Output {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "something_is_absent", "--nocapture"]).env(CHILD, "1");
    command.env("LATCHWORK_ALL", all).env("LATCHWORK_LEFT_OUT", record).output().expect("it runs")
}

#[test]
fn a_test_that_is_left_out_passes_with_a_word_and_fails_where_all_are_asked_for() {
    let record = std::env::temp_dir().join(format!("latchwork-left-out-{}", std::process::id()));
    let _ = std::fs::remove_file(&record);
    for _ in 0..2 {
        let out = child("0", &record);
        assert!(out.status.success(), "{out:?}");
        assert!(String::from_utf8_lossy(&out.stderr).contains("left out: the example: it needs what nobody has"));
    }
    let lines = std::fs::read_to_string(&record).expect("a record");
    let out = child("1", &record);
    let _ = std::fs::remove_file(&record);
    assert_eq!(lines, "the example: it needs what nobody has\n".repeat(2));
    assert!(!out.status.success(), "{out:?}");
    assert!(String::from_utf8_lossy(&out.stderr).contains("LATCHWORK_ALL=1 asks for all tests"));
}
