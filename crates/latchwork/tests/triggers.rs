//! Triggers of statements that other sessions hold up.

mod support;

use std::thread::spawn;
use support::{connect, log_on, make_user, one, run, start, until, words};

#[test]
fn a_statement_that_begins_again_fires_its_triggers_again() {
    let instance = start(&[]);
    let mut dba = connect(&instance);
    make_user(&mut dba, "u");
    run(&mut dba, "grant create trigger to u");
    let mut first = log_on(&instance, "u");
    for sql in [
        "create table t (id number primary key, a number)",
        "create table log (what varchar2(40))",
        "create table tried (what varchar2(40))",
        "insert into t values (1, 1)",
        "create procedure noted (text varchar2) is
           pragma autonomous_transaction;
         begin
           insert into tried values (text);
           commit;
         end;",
        "create trigger t_s before update on t begin noted('statement'); end;",
        "create trigger t_r before update on t for each row
         begin
           noted('row ' || :old.a);
           insert into log values (:old.a || '>' || :new.a);
         end;",
        "update t set a = a + 1",
    ] {
        run(&mut first, sql);
    }
    let mut second = log_on(&instance, "u");
    let sid = one(&mut second, "select sys_context('USERENV', 'SID') from dual");
    let waiting = spawn(move || {
        run(&mut second, "update t set a = a + 10 where id = 1");
        run(&mut second, "commit");
    });
    let event = format!("select event from v$session where sid = {sid} and state = 'WAITING'");
    until("a wait for the row", || words(&mut dba, &event) == [["enq: TX - row lock contention"]]);
    run(&mut first, "commit");
    waiting.join().expect("the second session ends");
    assert_eq!(one(&mut first, "select a from t"), "12");
    // The work of the first attempt is undone, except in autonomous transactions.
    let list =
        |column: &str, of: &str| format!("select listagg({column}, ' ') within group (order by {column}) from {of}");
    assert_eq!(one(&mut first, &list("what", "log")), "1>2 2>12");
    assert_eq!(one(&mut first, &list("what", "tried")), "row 1 row 1 row 2 statement statement statement");
}
