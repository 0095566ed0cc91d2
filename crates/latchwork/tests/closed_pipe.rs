//! A program whose output pipe is closed ends silently, by SIGPIPE; the end of a session's server process is still
//! reported.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_latchwork"))
}

/// Runs the program with its output closed at once or after the first line; returns the signal that ended it, and its
/// error output.
fn closed(args: &[&str], input: &str, after_a_line: bool) -> (Option<i32>, String) {
    let mut command = program();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    if after_a_line {
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        assert!(!line.is_empty());
    }
    drop(out);
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let mut complaint = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut complaint).expect("text");
    (child.wait().expect("it ends").signal(), complaint)
}

#[test]
fn a_closed_pipe_ends_programs_quietly() {
    let dir = std::env::temp_dir().join(format!("latchwork-pipe-{}", std::process::id()));
    let place = dir.to_str().expect("a name");
    let sigpipe = Some(os::signal::SIGPIPE);
    assert_eq!(closed(&["start", "--dir", place, "--param", "_disk_sync=false"], "", false), (sigpipe, String::new()));
    // The instance runs all the same.
    assert_eq!(closed(&["status", "--dir", place], "", false), (sigpipe, String::new()));
    let many = "select level from dual connect by level <= 100000;\n";
    let sql = ["sql", "-s", "--dir", place, "/", "as", "sysdba"];
    assert_eq!(closed(&sql, many, false), (sigpipe, String::new()));
    for args in [["lab", "list"], ["lab", "--help"], ["start", "--help"]] {
        let (signal, complaint) = closed(&args, "", false);
        assert!(complaint.is_empty() && (signal == sigpipe || signal.is_none()), "{args:?}: {signal:?} {complaint}");
    }
    // The end of the server process is an error of the session, not a signal.
    let mut shell = program().args(sql).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the shell runs");
    let (mut stdin, mut out) =
        (shell.stdin.take().expect("a pipe"), BufReader::new(shell.stdout.take().expect("a pipe")));
    writeln!(stdin, "prompt here").expect("it reads");
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert_eq!(
        program().args(["stop", "--mode", "abort", "--dir", place]).output().expect("it runs").status.code(),
        Some(0)
    );
    let _ = writeln!(stdin, "select 1 from dual;\nselect 2 from dual;\nexit 7");
    drop(stdin);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("text");
    let status = shell.wait().expect("it ends");
    assert_eq!(status.signal(), None, "{rest}");
    assert!(rest.contains("ORA-"), "{rest}");
    std::fs::remove_dir_all(&dir).expect("it goes");
}
