//! SQL by golden files: this project's own, and the public suite where it is there.

mod slt;

use client::{Credentials, Ephemeral, EphemeralOptions};
use slt::records;
use slt::run::{Account, Run};
use std::path::{Path, PathBuf};

/// A throw-away instance of the program under test.
fn instance() -> Ephemeral {
    let options =
        EphemeralOptions { executable: Some(env!("CARGO_BIN_EXE_latchwork").into()), ..EphemeralOptions::default() };
    Ephemeral::start_with(&options).expect("an instance starts")
}

/// Runs each file as a user of its own, so that files do not meet.
fn run_files(files: &[PathBuf], dialects: bool) -> Account {
    let instance = instance();
    let mut total = Account::default();
    for (n, file) in files.iter().enumerate() {
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
        let account = Run::new(&mut client, &name, dialects).records(&records::read(file, "oracle"));
        println!("{name}: {account}");
        total.add(account);
    }
    for failure in &total.failures {
        println!("{failure}");
    }
    println!("in all: {total}");
    for (rule, n) in &total.rules {
        println!("    {n:6} {rule}");
    }
    total
}

fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
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
    assert!(account.legal >= 1500, "only {} checks", account.legal);
    assert!(account.is_clean(), "{account}");
}

#[test]
fn public_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/acceptance/sqllogictest");
    let files = files_below(&folder, "test");
    if files.is_empty() {
        println!("skipped: {} is not here", folder.display());
        return;
    }
    let account = run_files(&files, true);
    assert!(account.is_clean(), "{account}");
}
