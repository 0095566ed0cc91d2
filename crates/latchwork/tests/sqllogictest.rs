//! SQL by golden files: this project's own, the public suite if present, and the examples of COMPAT.md.

#[path = "support/absent.rs"]
mod absent;
mod compat;
mod slt;

use client::{Credentials, Ephemeral, EphemeralOptions};
use slt::records;
use slt::run::{Account, Run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A throw-away instance of the program under test.
fn instance() -> Ephemeral {
    let options =
        EphemeralOptions { executable: Some(env!("CARGO_BIN_EXE_latchwork").into()), ..EphemeralOptions::default() };
    Ephemeral::start_with(&options).expect("an instance starts")
}

/// Number of files run at the same time, each in a session of its own.
const SESSIONS: usize = 2;

/// Runs the files in order of size, the longest first; the results are in the order of their names.
fn run_files(files: &[PathBuf], dialects: bool) -> Account {
    let started = Instant::now();
    let instance = instance();
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&n| std::cmp::Reverse(std::fs::metadata(&files[n]).map_or(0, |m| m.len())));
    let next = AtomicUsize::new(0);
    let accounts: Mutex<BTreeMap<usize, Account>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..SESSIONS {
            scope.spawn(|| {
                while let Some(&n) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let account = run_file(&instance, n, &files[n], dialects);
                    accounts.lock().expect("no session panicked").insert(n, account);
                }
            });
        }
    });
    let mut total = Account::default();
    for account in accounts.into_inner().expect("no session panicked").into_values() {
        total.add(account);
    }
    for failure in &total.failures {
        println!("{failure}");
    }
    println!("in all: {total}, in {} s", started.elapsed().as_secs());
    for (rule, n) in &total.rules {
        println!("    {n:6} {rule}");
    }
    total
}

/// Runs a file as a user of its own, so that files do not interfere.
fn run_file(instance: &Ephemeral, n: usize, file: &Path, dialects: bool) -> Account {
    let started = Instant::now();
    let name = file.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let user = format!("slt{n}");
    let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    for sql in [
        format!("create user {user} identified by {user} default tablespace users quota unlimited on users"),
        format!("grant connect, resource, create view, create synonym, create public synonym to {user}"),
    ] {
        admin.execute(&sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let mut client = instance.connect(&Credentials::password(&user, &user)).expect("the file's user connects");
    client.set_want_output(true);
    client.execute("begin dbms_output.enable(null); end;", &[]).expect("output is kept");
    let account = Run::new(&mut client, &name, dialects).records(&records::read(file, "oracle"));
    println!("{name}: {account}, in {} s", started.elapsed().as_secs());
    account
}

/// Whether a file is selected: all are, unless `LATCHWORK_SLT` names a part of their names.
fn is_wanted(file: &Path) -> bool {
    std::env::var("LATCHWORK_SLT").map_or(true, |part| file.to_string_lossy().contains(&part))
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) && is_wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn own_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sql");
    let files = files_below(&folder, "slt");
    let account = run_files(&files, false);
    let all = std::env::var_os("LATCHWORK_SLT").is_none();
    assert!(!all || account.legal >= 1500, "only {} checks", account.legal);
    assert!(account.is_clean(), "{account}");
}

#[test]
fn public_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/acceptance/sqllogictest");
    let files = files_below(&folder, "test");
    if files.is_empty() {
        absent::left_out("the public suite of SQL", &format!("there is nothing in {}", folder.display()));
        return;
    }
    let account = run_files(&files, true);
    assert!(account.is_clean(), "{account}");
}
