//! Pipelines: calls that a real driver sends without waiting for their answers.

use super::*;

#[test]
fn a_driver_says_calls_without_waiting_for_answers() {
    let Some(python) = python() else {
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
    run_script(&python, "pipeline.py", &instance, &at);
}
