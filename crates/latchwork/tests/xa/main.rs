//! Two-phase commit by Oracle's JDBC driver, used like a transaction manager does. Skipped with a message without Java
//! or the driver, which `LATCHWORK_OJDBC` names.

#[path = "../support/mod.rs"]
mod support;

use client::NetAddress;
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/xa/Xa.java");
const SECONDS: &str = "240";

#[test]
fn jdbc_commits_in_two_phases() {
    let driver = std::env::var_os("LATCHWORK_OJDBC").filter(|jar| Path::new(jar).is_file());
    let mut java = Command::new("java");
    java.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Some(driver) = driver.filter(|_| java.status().is_ok_and(|s| s.success())) else {
        support::absent::left_out("two-phase commit by JDBC", "Java and LATCHWORK_OJDBC are not there");
        return;
    };
    let instance = support::start(&[("local_listener", "0")]);
    let mut c = support::connect(&instance);
    support::run(&mut c, "alter user system identified by Manager1 account unlock");
    support::run(&mut c, "create table system.xa_rows (n number)");
    let at = NetAddress::of_instance(instance.dir(), "latchwrk").expect("it says where it listens");
    let mut program = Command::new("timeout");
    program.args([SECONDS, "java", PROGRAM, &at.port.to_string(), &at.service]).env("CLASSPATH", driver);
    let out = program.stdin(Stdio::null()).output().expect("the program runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(said, include_str!("expected.txt"), "{}", String::from_utf8_lossy(&out.stderr));
    let left = "declare n number; begin select count(*) into n from v$global_transaction; \
                if n > 0 then raise_application_error(-20000, n); end if; end;";
    support::run(&mut c, left);
}
