//! Pipelines: calls that a real driver says without waiting for their answers.

use super::*;

#[test]
fn a_driver_says_calls_without_waiting_for_answers() {
    let Some(python) = python() else {
        println!("python-oracledb is not there: left out");
        return;
    };
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    for sql in [
        "create table u.piped (n number, t varchar2(2000))",
        "grant select on v_$session to u",
        "grant select on v_$mystat to u",
        "grant select on v_$statname to u",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle_net/pipeline.py");
    let mut command = Command::new("timeout");
    command.arg("240").arg(python).arg(script).arg(at.port.to_string()).arg(&at.service);
    let out = command.output().expect("the script runs");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && text.contains("all done"), "{text}\n{}", String::from_utf8_lossy(&out.stderr));
}
