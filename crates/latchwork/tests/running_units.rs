//! Calls keep the stored units that they run, and DDL that redefines such a unit waits: `library cache pin`.

mod support;

use client::{Client, Ephemeral};
use std::thread::{JoinHandle, spawn};
use support::{connect, one, refused, run, text, until, words};

/// An instance with a table that tells running units when they may end, and a procedure that waits for it.
fn instance() -> (Ephemeral, Client) {
    let instance = support::start(&[]);
    let mut dba = connect(&instance);
    run(&mut dba, "create table gate (open number)");
    run(&mut dba, "insert into gate values (0)");
    run(&mut dba, "create table said (what varchar2(40))");
    run(&mut dba, "commit");
    run(&mut dba, &procedure("p", "", "old"));
    (instance, dba)
}

/// A procedure that prints a text when the gate is open.
fn procedure(name: &str, first: &str, says: &str) -> String {
    format!(
        "create or replace procedure {name} as
  o number;
begin
  loop
    select open into o from gate;
    exit when o = 1;
    dbms_session.sleep(0.02);
  end loop;
  {first}
  insert into said (what) values ('{says}');
  commit;
end;"
    )
}

/// Runs a statement in a session of its own; returns the session's number, and its outcome.
fn aside(instance: &Ephemeral, sql: &str) -> (String, JoinHandle<Result<(), String>>) {
    let mut session = connect(instance);
    let sid = one(&mut session, "select sys_context('USERENV', 'SID') from dual");
    let sql = sql.to_owned();
    let done = spawn(move || session.execute(&sql, &[]).map(|_| ()).map_err(|e| e.to_string()));
    (sid, done)
}

fn open_gate(dba: &mut Client) {
    run(dba, "update gate set open = 1");
    run(dba, "commit");
}

/// Waits until a session runs the loop of [`procedure`].
fn runs(dba: &mut Client, sid: &str) {
    let event = format!("select event from v$session where sid = {sid}");
    until("the procedure runs", || one(dba, &event) == "PL/SQL lock timer");
}

/// Waits until a session waits for a unit used by another.
fn waits(dba: &mut Client, sid: &str, blocker: &str) {
    let seen = format!("select event, blocking_session from v$session where sid = {sid} and state = 'WAITING'");
    until("a wait for the unit", || words(dba, &seen) == [["library cache pin".to_owned(), blocker.to_owned()]]);
}

fn end(done: JoinHandle<Result<(), String>>) -> Result<(), String> {
    done.join().expect("the session ends")
}

fn said(dba: &mut Client) -> String {
    one(dba, "select listagg(what, ' ') within group (order by what) from said")
}

#[test]
fn ddl_waits_for_calls_that_run_the_unit_and_later_calls_wait_for_ddl() {
    for ddl in [&procedure("p", "", "new"), "alter procedure p compile", "drop procedure p"] {
        let (instance, mut dba) = instance();
        let (first, call) = aside(&instance, "begin p; end;");
        runs(&mut dba, &first);
        let (definer, defined) = aside(&instance, ddl);
        waits(&mut dba, &definer, &first);
        let (_, later) = {
            let (sid, later) = aside(&instance, "begin p; end;");
            waits(&mut dba, &sid, &definer);
            (sid, later)
        };
        let who = "select p3 from v$session_wait where event = 'library cache pin' order by p3";
        assert_eq!(words(&mut dba, who), [["201"], ["301"]], "{ddl}: share and exclusive");
        let hang = support::hang(&instance);
        assert!(hang.contains(", which it runs") && hang.contains(", which it defines"), "{ddl}: {hang}");
        open_gate(&mut dba);
        assert_eq!(end(call), Ok(()), "{ddl}");
        assert_eq!(end(defined), Ok(()), "{ddl}");
        let later = end(later);
        match ddl {
            "drop procedure p" => assert!(later.is_err_and(|e| e.contains("ORA-06508"))),
            _ => assert_eq!(later, Ok(()), "{ddl}"),
        }
        let expected = match ddl {
            "drop procedure p" => "old",
            "alter procedure p compile" => "old old",
            _ => "new old",
        };
        assert_eq!(said(&mut dba), expected, "{ddl}");
        let waited = "select total_waits > 1 from v$system_event where event = 'library cache pin'";
        let waited = waited.replace("total_waits > 1", "case when total_waits > 1 then 'yes' end");
        assert_eq!(one(&mut dba, &waited), "yes", "{ddl}");
    }
}

#[test]
fn a_package_is_kept_by_its_functions_in_sql_and_by_its_variables() {
    let (instance, mut dba) = instance();
    run(&mut dba, "create package k as v number := 1; function f return number; end;");
    let body = "create or replace package body k as function f return number is o number; begin loop select open into \
                o from gate; exit when o = 1; dbms_session.sleep(0.02); end loop; return 1; end; end;";
    run(&mut dba, body);
    let (query, rows) = aside(&instance, "declare n number; begin select k.f into n from dual; end;");
    runs(&mut dba, &query);
    let (variable, read) = aside(&instance, "begin k.v := 7; p; if k.v <> 7 then raise program_error; end if; end;");
    runs(&mut dba, &variable);
    let (definer, defined) = aside(&instance, &body.replace("return 1;", "return 2;"));
    until("the body waits", || {
        one(&mut dba, &format!("select event from v$session where sid = {definer}")) == "library cache pin"
    });
    // DDL on a table that the units read does not wait.
    run(&mut dba, "alter table said add (more number)");
    run(&mut dba, "create or replace procedure another as begin null; end;");
    open_gate(&mut dba);
    for done in [rows, read, defined] {
        assert_eq!(end(done), Ok(()));
    }
    assert_eq!(one(&mut dba, "select k.f from dual"), "2");
}

#[test]
fn ddl_that_is_not_to_wait_or_is_broken_off_changes_nothing() {
    let (instance, mut dba) = instance();
    let (caller, call) = aside(&instance, "begin p; end;");
    runs(&mut dba, &caller);
    let mut hasty = connect(&instance);
    run(&mut hasty, "alter session set \"_kgl_time_to_wait_for_locks\" = 0");
    let told = refused(&mut hasty, "drop procedure p");
    assert!(told.contains("ORA-04021: timeout occurred while waiting to lock object SYS.P"), "{told}");
    // The claim ends with a cancelled statement: others run the unit meanwhile.
    let (definer, defined) = aside(&instance, "drop procedure p");
    waits(&mut dba, &definer, &caller);
    let serial = one(&mut dba, &format!("select serial# from v$session where sid = {definer}"));
    run(&mut dba, &format!("alter system kill session '{definer},{serial}'"));
    assert!(end(defined).is_err_and(|e| e.contains("ORA-00028")));
    open_gate(&mut dba);
    run(&mut hasty, "begin p; end;");
    assert_eq!(end(call), Ok(()));
    assert_eq!(said(&mut dba), "old old");
    assert_eq!(text(&mut dba, "select status from user_objects where object_name = 'P'"), "VALID");
}

#[test]
fn who_dies_with_a_unit_or_a_claim_is_waited_for_no_more() {
    let (instance, mut dba) = instance();
    let kill = |dba: &mut Client, sid: &str| {
        let spid = "select p.spid from v$process p, v$session s where p.addr = s.paddr and s.sid = ";
        let pid: i32 = one(dba, &format!("{spid}{sid}")).parse().expect("a process");
        assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().is_ok_and(|s| s.success()));
    };
    let (caller, call) = aside(&instance, "begin p; end;");
    runs(&mut dba, &caller);
    let (definer, defined) = aside(&instance, &procedure("p", "", "new"));
    waits(&mut dba, &definer, &caller);
    let (later, waiting) = aside(&instance, "begin p; end;");
    waits(&mut dba, &later, &definer);
    kill(&mut dba, &definer);
    assert!(end(defined).is_err());
    runs(&mut dba, &later);
    let (definer, defined) = aside(&instance, &procedure("p", "", "newer"));
    until("the second waits", || {
        one(&mut dba, &format!("select event from v$session where sid = {definer}")) == "library cache pin"
    });
    kill(&mut dba, &caller);
    kill(&mut dba, &later);
    assert!(end(call).is_err() && end(waiting).is_err());
    assert_eq!(end(defined), Ok(()));
    open_gate(&mut dba);
    run(&mut dba, "begin p; end;");
    assert_eq!(said(&mut dba), "newer");
}

#[test]
fn a_circle_of_calls_and_ddl_is_found_and_a_session_does_not_wait_for_itself() {
    let (instance, mut dba) = instance();
    run(&mut dba, &procedure("one_p", "execute immediate 'alter procedure two_p compile';", "one"));
    run(&mut dba, &procedure("two_p", "execute immediate 'alter procedure one_p compile';", "two"));
    let (one_sid, one_call) = aside(&instance, "begin one_p; end;");
    let (two_sid, two_call) = aside(&instance, "begin two_p; end;");
    runs(&mut dba, &one_sid);
    runs(&mut dba, &two_sid);
    open_gate(&mut dba);
    let outcomes = [end(one_call), end(two_call)];
    let failed: Vec<&String> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert_eq!(failed.len(), 1, "{outcomes:?}");
    assert!(failed[0].contains("ORA-04020: deadlock detected while trying to lock object SYS."), "{failed:?}");
    let itself = "create or replace procedure p as begin execute immediate 'create or replace procedure p as begin \
                  insert into said values (''itself''); commit; end;'; end;";
    run(&mut dba, itself);
    run(&mut dba, "begin p; end;");
    run(&mut dba, "begin p; end;");
    assert!(said(&mut dba).starts_with("itself"), "{}", said(&mut dba));
}

#[test]
fn a_function_that_ddl_has_called_is_kept_when_the_call_runs_it_itself() {
    let (instance, mut dba) = instance();
    for sql in [
        "create table two (n number)",
        "insert into two select 1 from dual connect by level <= 2",
        "commit",
        "create function same (n number) return number deterministic is begin return n; end;",
    ] {
        run(&mut dba, sql);
    }
    let block = "declare n number; begin begin execute immediate 'create unique index two_n on two (same(n))'; \
                 n := 1 / 0; exception when zero_divide then raise; when others then null; end; n := same(1); p; end;";
    let (caller, call) = aside(&instance, block);
    runs(&mut dba, &caller);
    let (definer, defined) =
        aside(&instance, "create or replace function same (n number) return number is begin return 2; end;");
    waits(&mut dba, &definer, &caller);
    open_gate(&mut dba);
    assert_eq!((end(call), end(defined)), (Ok(()), Ok(())));
}

#[test]
fn a_user_goes_with_tables_and_units_when_the_last_call_has_ended() {
    let (instance, mut dba) = instance();
    run(&mut dba, "create user u identified by u quota unlimited on users");
    for sql in ["create table u.t (n number)", "create table u.z (n number)"] {
        run(&mut dba, sql);
    }
    run(
        &mut dba,
        &procedure("u.q", "", "of u").replace("from gate", "from sys.gate").replace("into said", "into sys.said"),
    );
    for sql in ["grant select on gate to u", "grant insert on said to u", "alter procedure u.q compile"] {
        run(&mut dba, sql);
    }
    let (caller, call) = aside(&instance, "begin u.q; end;");
    runs(&mut dba, &caller);
    let (definer, defined) = aside(&instance, "drop user u cascade");
    waits(&mut dba, &definer, &caller);
    assert_eq!(one(&mut dba, "select count(*) from all_objects where owner = 'U'"), "3", "nothing has gone yet");
    open_gate(&mut dba);
    assert_eq!((end(call), end(defined)), (Ok(()), Ok(())));
    assert_eq!(one(&mut dba, "select count(*) from all_objects where owner = 'U'"), "0");
    assert_eq!(said(&mut dba), "of u");
}

#[test]
fn a_session_that_dies_in_the_claim_leaves_none() {
    let instance = support::start(&[("_crash_point", "library-cache-claim:3:child")]);
    let mut dba = connect(&instance);
    run(&mut dba, "create function f return number is begin return 1; end;");
    let next = |n: u32| format!("create or replace function f return number is begin return {n}; end;");
    run(&mut dba, &next(2));
    run(&mut dba, &next(3));
    let mut dies = connect(&instance);
    assert!(dies.execute(&next(4), &[]).is_err(), "the process is killed");
    for n in [3, 5] {
        assert_eq!(one(&mut dba, "select f from dual"), n.to_string());
        run(&mut dba, &next(5));
    }
}
