//! Ordinary work of application tools: each program here runs the real package against an unmodified configuration, and
//! compares the results with those of Oracle.
//!
//! `scripts/setup.sh` installs the packages. A tool that is not installed is skipped with a message.

#[path = "../support/absent.rs"]
mod absent;
mod connecting;

use client::{Client, Credentials, Ephemeral, EphemeralOptions, NetAddress};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Time limit of a program in seconds; long enough for a busy machine.
const PATIENCE_S: &str = "300";

const APP: &[&str] = &[
    "create user app identified by \"Tiger1\" quota unlimited on users",
    "grant create session, create table, create view, create sequence, create procedure, create synonym to app",
];

/// An instance with a listener, after these statements.
fn start(statements: &[&str]) -> (Ephemeral, NetAddress) {
    let options = EphemeralOptions {
        params: vec![("local_listener".into(), "0".into())],
        executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))),
    };
    let instance = Ephemeral::start_with(&options).expect("the instance starts");
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it says where it listens");
    let mut c: Client = instance.connect(&Credentials::Sysdba).expect("a local session");
    for sql in statements {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    (instance, at)
}

fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools").join(name)
}

/// Runs a program to its last line.
fn run(mut command: Command, name: &str, at: &NetAddress) {
    command.arg(at.port.to_string()).arg(&at.service);
    let out = command.output().unwrap_or_else(|e| panic!("{name}: {e}"));
    let (text, errors) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success() && text.trim_end().ends_with("all done"), "{name}:\n{text}\n{errors}");
}

/// A path from the environment.
fn given(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn in_python(name: &str) {
    let Some(python) = given("LATCHWORK_TOOLS_PYTHON") else {
        absent::left_out(name, "its packages are not there");
        return;
    };
    let (_instance, at) = start(APP);
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_S).arg(python).arg("-B").arg(program(name));
    run(command, name, &at);
}

fn in_java(name: &str) {
    let Some(jars) = given("LATCHWORK_TOOLS_JARS") else {
        absent::left_out(name, "its packages are not there");
        return;
    };
    let (_instance, at) = start(APP);
    let classes = tempdir(name);
    let path = format!("{}/*", jars.display());
    let compiled = Command::new("javac").args(["-cp", &path, "-d"]).arg(&classes).arg(program(name)).output();
    let compiled = compiled.unwrap_or_else(|e| panic!("javac: {e}"));
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
    let mut command = Command::new("timeout");
    command.arg(PATIENCE_S).args(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
    command.arg("-cp").arg(format!("{}:{path}", classes.display()));
    command.arg(name.trim_end_matches(".java"));
    run(command, name, &at);
    let _ = std::fs::remove_dir_all(&classes);
}

fn tempdir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("latchwork-tools-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

#[test]
fn sqlalchemy_reflects_and_maps() {
    in_python("sqlalchemy_day.py");
}

#[test]
fn django_migrates_and_inspects() {
    in_python("django_day.py");
}

#[test]
fn dbeaver_finds_what_it_asks_for() {
    in_python("dbeaver_queries.py");
}

#[test]
fn jdbc_tells_of_the_database() {
    in_java("JdbcMetaData.java");
}

#[test]
fn flyway_migrates_and_cleans() {
    in_java("FlywayDay.java");
}

#[test]
fn liquibase_updates_and_rolls_back() {
    in_java("LiquibaseDay.java");
}

#[test]
fn hibernate_creates_validates_and_updates() {
    in_java("HibernateDay.java");
}

#[test]
fn jooq_builds_statements() {
    in_java("JooqDay.java");
}
