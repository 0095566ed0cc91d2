//! Trace files and the alert log: the deadlocks and internal errors of a session, and the dumps of ORADEBUG.
//!
//! The graph of a deadlock goes to the session's trace file in the database directory, a note about it to the alert
//! log. Each text is one `write` on a file opened for appending, so the texts of several processes do not mix
//! (invariant 7). A failed write is ignored: the text is lost.

use crate::administrator::Administrator;
use enqueue::{DeadlockWait, LockMode};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use types::Ora;
use types::escape::{lines, one_line};

fn append(path: &Path, text: &str) {
    if let Ok(mut file) = OpenOptions::new().create(true).append(true).mode(0o600).open(path) {
        let _ = file.write_all(text.as_bytes());
    }
}

fn letters(mode: LockMode) -> &'static str {
    match mode {
        LockMode::None => "",
        LockMode::Null => "N",
        LockMode::SubShare => "SS",
        LockMode::SubExclusive => "SX",
        LockMode::Share => "S",
        LockMode::ShareSubExclusive => "SSX",
        LockMode::Exclusive => "X",
    }
}

/// The path of the session's trace file.
pub fn file(a: &dyn Administrator) -> std::path::PathBuf {
    a.instance().dir().join(format!("ora_{}.trc", os::process::own_id()))
}

fn time() -> String {
    let f = instance::local_time_at(os::clock::wall_ns()).own_date().fields();
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", f.year, f.month, f.day, f.hour, f.minute, f.second)
}

/// Appends a text to the session's trace file.
pub fn write(a: &dyn Administrator, text: &str) {
    append(&file(a), &format!("*** {}\n{}\n", time(), lines(text)));
}

/// Writes the deadlocks that the session has found since the last call to the trace file and the alert log.
pub fn deadlocks(a: &dyn Administrator) {
    for graph in a.enqueues().take_graphs(a.process()) {
        let (time, file) = (time(), file(a));
        append(&file, &format!("*** {time}\n{}", graph_text(a, &graph)));
        let note = format!("{time}\nORA-00060: Deadlock detected. More info in file {}.\n", file.display());
        append(&a.instance().dir().join("alert.log"), &note);
    }
}

/// Writes the error of a trigger on a schema or the database, which nobody else gets, to the session's trace file, and
/// a note about it to the alert log.
pub fn failed_trigger(a: &dyn Administrator, error: &Ora) {
    let (time, file) = (time(), file(a));
    append(&file, &format!("*** {time}\n{}\n", lines(&error.to_string())));
    let note = format!("{time}\nErrors in file {}:\n{}\n", file.display(), headlines(error));
    append(&a.instance().dir().join("alert.log"), &note);
}

/// Writes an internal error, with its arguments, the session and the current statement, to the session's trace file,
/// and a note about it to the alert log. `text` is the statement of the call, for a call that has ended its cursor;
/// without it the statement is the session's current cursor.
pub fn incident(a: &dyn Administrator, error: &Ora, text: Option<&str>, more: &str) {
    let (time, file, sid) = (time(), file(a), a.process().number());
    let slot = a.process().session();
    let (sql_id, text) = statement_of(a, text);
    let trace = format!(
        "*** {time}\n*** SESSION ID:({sid}.{}) {time}\n*** CLIENT ID:({}) {time}\n*** MODULE NAME:({}) {time}\n\
         *** ACTION NAME:({}) {time}\n\n{}\n\n\
         ----- Current SQL Statement for this session (sql_id={sql_id}) -----\n{}\n\n",
        slot.serial(),
        one_line(&slot.client_identifier.get()),
        one_line(&slot.module.get()),
        one_line(&slot.action.get()),
        lines(&error.to_string()),
        lines(&text),
    );
    append(&file, &trace);
    let note = format!(
        "{time}\nErrors in file {} (session {sid},{}, user {}, sql_id {sql_id}):\n{}\n{more}",
        file.display(),
        slot.serial(),
        one_line(&slot.username.get()),
        headlines(error),
    );
    append(&a.instance().dir().join("alert.log"), &note);
}

/// The error and those stacked under it, without places in PL/SQL, each in one line.
fn headlines(error: &Ora) -> String {
    let causes = error.context().iter().filter(|e| !e.is(6512)).map(|e| format!("\n{}", headlines(e)));
    one_line(&error.headline()) + &causes.collect::<String>()
}

/// The `sql_id` and the text of the statement of an internal error; both are empty where there is none. The previous
/// cursor of the session is no substitute: DDL has no cursor.
fn statement_of(a: &dyn Administrator, text: Option<&str>) -> (String, String) {
    if let Some(text) = text {
        return match sql::mask_passwords(text) {
            Cow::Borrowed(text) => (sql::sql_id(text), text.to_owned()),
            // The sql_id is a hash of the text: guesses of the password could be checked against it.
            Cow::Owned(masked) => (String::new(), masked),
        };
    }
    let library = &a.instance().caches().library;
    let Some(cursor) = library.session_cursors(a.process().number()).0 else { return Default::default() };
    let text = library.statement(cursor.digest).map(|found| found.text.to_string());
    (cursor.digest.sql_id(), text.unwrap_or_default())
}

/// The text of a graph in the form of Oracle's trace files: a line for each resource, with its blocker and its waiter.
fn graph_text(a: &dyn Administrator, graph: &[DeadlockWait]) -> String {
    let mut text = String::from(
        "DEADLOCK DETECTED ( ORA-00060 )\n\nDeadlock graph:\n\
         Resource Name          process session holds waits  process session holds waits\n",
    );
    for (i, w) in graph.iter().enumerate() {
        let blocker = &graph[(i + 1) % graph.len()];
        let name = format!("{}-{:08X}-{:08X}", w.kind.letters(), w.id1, w.id2);
        let held = a.enqueues().locks().into_iter().find(|l| {
            l.sid == blocker.process && (l.kind, l.id1, l.id2) == (w.kind, w.id1, w.id2) && l.held != LockMode::None
        });
        let holds = letters(held.map_or(LockMode::None, |l| l.held));
        let _ = writeln!(
            text,
            "{name:<22} {:>7} {:>7} {holds:>5} {:>5}  {:>7} {:>7} {:>5} {:>5}",
            blocker.process,
            blocker.process,
            "",
            w.process,
            w.process,
            letters(w.held),
            letters(w.requested)
        );
    }
    text.push('\n');
    for w in graph {
        if let Some(slot) = a.instance().processes().session(w.process) {
            let (executes, _) = a.instance().caches().library.session_cursors(w.process);
            let _ = writeln!(
                text,
                "session {}: user {}, program {}, sql_id {}",
                w.process,
                one_line(&slot.username.get()),
                one_line(&slot.program.get()),
                executes.map_or_else(String::new, |cursor| cursor.digest.sql_id())
            );
        }
    }
    text.push('\n');
    text
}
