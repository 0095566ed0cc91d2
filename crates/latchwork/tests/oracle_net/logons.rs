//! Special logons over the network, beyond a right or a wrong password.

use crate::unproved::until;
use crate::{PATIENCE, code, logon, number, start, sysdba};
use client::{Client, NetAddress, NetSession};

fn run(c: &mut Client, sql: &str) {
    c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn refusal(at: &NetAddress, user: &str, password: &str) -> u32 {
    NetSession::connect(at, user, password).err().map_or(0, |e| code(&e))
}

#[test]
fn an_old_password_warns_and_one_that_has_expired_can_be_changed() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    assert_eq!(NetSession::connect(&at, "u", "Tiger1").unwrap().warning(), None);
    run(&mut c, "update sys.user$ set ptime = sysdate - 181 where name = 'U'");
    run(&mut c, "commit");
    // DDL makes the listener read the dictionary again.
    run(&mut c, "create or replace synonym something for dual");
    let mut warned = NetSession::connect(&at, "u", "Tiger1").expect("the grace begins");
    assert_eq!(warned.warning(), Some("ORA-28002: the password will expire within 7 days"));
    assert_eq!(warned.query("select 1 from dual").unwrap().len(), 1);
    warned.logoff().unwrap();
    run(&mut c, "alter user u password expire");
    assert_eq!(refusal(&at, "u", "Tiger1"), 28001);
    run(
        &mut c,
        "create function judge (u varchar2, p varchar2, o varchar2) return boolean is begin \
        return length(p) > 4 and o = 'Tiger1'; end;",
    );
    run(&mut c, "alter profile default limit password_verify_function judge");
    let change = |old: &str, new: &str| NetSession::connect_changing(&at, "u", old, new).map_err(|e| code(&e));
    assert_eq!(change("Tiger1", "tiny").err(), Some(28003));
    assert_eq!(change("Tiger1", "with \" in it").err(), Some(988));
    assert_eq!(change("Tiger1", "").err(), Some(988));
    assert_eq!(change("wrong", "Lion22").err(), Some(1017));
    assert_eq!(refusal(&at, "u", "Tiger1"), 28001, "it is still the old one");
    let mut changed = change("Tiger1", "Lion 22").expect("a new password");
    assert_eq!(changed.query("select user from dual").unwrap().len(), 1);
    assert_eq!((refusal(&at, "u", "Tiger1"), refusal(&at, "u", "Lion 22")), (1017, 0));
    run(&mut c, "alter user u account lock");
    assert_eq!(change("Lion 22", "Other1").err(), Some(28000));
    let trail = "select count(*) from unified_audit_trail where action_name = 'ALTER USER' and sql_text like '%Lion%'";
    assert_eq!(crate::number(&c.query(trail, &[]).unwrap().all().unwrap()), 0);
}

#[test]
fn sysdba_over_the_network_is_the_password_of_sys() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    let as_sysdba =
        |user: &str, password: &str| NetSession::connect_as_sysdba(&at, user, password).map_err(|e| code(&e));
    // SYS has no password in a new database, and is authenticated by the operating system over the local socket only.
    for (user, password) in [("sys", ""), ("", ""), ("/", ""), ("sys", "change_on_install"), ("u", "Tiger1")] {
        assert_eq!(as_sysdba(user, password).err(), Some(1017), "{user}");
    }
    run(&mut c, "grant dba to u");
    assert_eq!(as_sysdba("u", "Tiger1").err(), Some(1017), "a DBA is no SYSDBA");
    run(&mut c, "alter user sys identified by \"Sys pass\" account unlock");
    assert_eq!(refusal(&at, "sys", "Sys pass"), 28009);
    assert_eq!(as_sysdba("sys", "sys pass").err(), Some(1017));
    let mut s = as_sysdba("sys", "Sys pass").expect("it is SYS");
    assert_eq!(s.query("select 1 from dual where sys_context('userenv', 'isdba') = 'TRUE'").unwrap().len(), 1);
    s.logoff().unwrap();
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).unwrap();
    assert!(log.contains("Logon sys AS SYSDBA: "), "{log}");
}

/// While a log waits for a failed archiver, the listener writes nothing that would wait with it: users with the right
/// password can log on, and wrong passwords lock the account all the same.
#[test]
fn a_failed_archiver_keeps_nobody_out() {
    let (instance, at) = start(&[("_disk_full", "TRUE"), ("_log_file_size", "1M"), ("db_cache_size", "8M")]);
    let mut c = sysdba(&instance);
    for sql in [
        "create profile three limit failed_login_attempts 3",
        "create user v identified by Right1 profile three",
        "grant create session to v",
        "create table t (x varchar2(4000))",
        "insert into t select rpad('x', 3900, 'x') from dual connect by level <= 40",
        "commit",
        "alter database archivelog",
    ] {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    logon(&at).logoff().unwrap();
    std::fs::write(instance.dir().join("disk_full"), "").unwrap();
    let mut waiter = sysdba(&instance);
    let writer = std::thread::spawn(move || {
        for n in 0..40 {
            waiter
                .execute(&format!("update t set x = rpad('{n}', 3900, chr(97 + mod({n}, 2)))"), &[])
                .expect("it goes on in the end");
            waiter.commit().expect("it goes on in the end");
        }
    });
    let waits = "select count(*) from v$session where event = 'log file switch (archiving needed)'";
    until("a session waits for the archiver", || number(&c.query(waits, &[]).unwrap().all().unwrap()) > 0);
    let (sender, refused) = std::sync::mpsc::channel();
    let there = at.clone();
    std::thread::spawn(move || {
        let attempt = |user, password| NetSession::connect(&there, user, password).map(drop).map_err(|e| code(&e));
        let wrong = [("nobody", 1), ("v", 3), ("u", 2)]
            .map(|(user, times)| (0..times).map(|_| attempt(user, "Wrong1")).collect::<Vec<_>>());
        let _ = sender.send((wrong, attempt("u", "Tiger1"), attempt("v", "Right1")));
    });
    let (wrong, right, locked) = refused.recv_timeout(PATIENCE).expect("the listener answers");
    assert!(wrong.iter().flatten().all(|e| *e == Err(1017)), "{wrong:?}");
    assert_eq!((right, locked), (Ok(()), Err(28000)));
    std::fs::remove_file(instance.dir().join("disk_full")).unwrap();
    writer.join().unwrap();
    // Held failures are written even without further logons: the lock is visible, and an administrator can release it.
    let locked = "select count(*) from dba_users where username = 'V' and account_status like 'LOCKED%'";
    until("the lock is written", || number(&c.query(locked, &[]).unwrap().all().unwrap()) == 1);
    let failures = "select lcount from sys.user_logon$ where user# = (select user# from sys.user$ where name = 'V')";
    assert_eq!(number(&c.query(failures, &[]).unwrap().all().unwrap()), 3);
    c.execute("alter user v account unlock", &[]).unwrap();
    assert_eq!(NetSession::connect(&at, "v", "Right1").map(drop).map_err(|e| code(&e)), Ok(()));
}
