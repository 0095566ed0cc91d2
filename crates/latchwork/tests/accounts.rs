//! Accounts: wrong passwords that lock them, passwords that grow old, sessions that a profile limits; what the alert log says of it.

mod support;

use client::{Client, Credentials, Ephemeral};
use support::{connect, one, refused, run, start, words};

fn enter(instance: &Ephemeral, user: &str, password: &str) -> Result<Client, u32> {
    instance.connect(&Credentials::password(user, password)).map_err(|e| e.code())
}

fn refusal(instance: &Ephemeral, user: &str, password: &str) -> u32 {
    enter(instance, user, password).err().unwrap_or(0)
}

fn user(c: &mut Client, name: &str, more: &str) {
    run(c, &format!("create user {name} identified by right {more}"));
    run(c, &format!("grant create session to {name}"));
}

fn status(c: &mut Client, name: &str) -> String {
    one(c, &format!("select account_status from dba_users where username = '{name}'"))
}

/// A later moment: what is noted of logons is that much older.
fn days_pass(c: &mut Client, days: &str) {
    run(c, &format!("update sys.user_logon$ set ltime = ltime - {days}, grace_end = grace_end - {days}"));
    run(c, "commit");
}

#[test]
fn ten_wrong_passwords_lock_an_account_for_a_day() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    user(&mut c, "alice", "");
    let wrong: Vec<u32> = (0..10).map(|_| refusal(&instance, "alice", "wrong")).collect();
    assert_eq!(wrong, [1017; 10]);
    assert_eq!([refusal(&instance, "alice", "right"), refusal(&instance, "alice", "wrong")], [28000; 2]);
    assert_eq!(status(&mut c, "ALICE"), "LOCKED(TIMED)");
    assert_eq!(one(&mut c, "select count(*) from dba_users where username = 'ALICE' and lock_date > sysdate - 1"), "1");
    days_pass(&mut c, "0.9");
    assert_eq!(refusal(&instance, "alice", "right"), 28000);
    days_pass(&mut c, "0.1");
    // The count begins anew with the lock's end, whichever password comes first.
    assert_eq!([refusal(&instance, "alice", "wrong"), refusal(&instance, "alice", "right")], [1017, 0]);
    assert_eq!(status(&mut c, "ALICE"), "OPEN");
    assert_eq!(
        one(&mut c, "select nvl2(last_login, 'known', 'never') from dba_users where username = 'ALICE'"),
        "known"
    );
    // A right password forgives the wrong ones before it.
    for _ in 0..3 {
        let nine: Vec<u32> = (0..9).map(|_| refusal(&instance, "alice", "wrong")).collect();
        assert_eq!((nine, refusal(&instance, "alice", "right")), (vec![1017; 9], 0));
    }
}

#[test]
fn unlocking_voids_the_count_and_locking_is_kept() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create profile strict limit failed_login_attempts 2 password_lock_time unlimited");
    user(&mut c, "bob", "profile strict");
    assert_eq!([1, 2, 3].map(|_| refusal(&instance, "bob", "wrong")), [1017, 1017, 28000]);
    days_pass(&mut c, "1000");
    assert_eq!(refusal(&instance, "bob", "right"), 28000, "PASSWORD_LOCK_TIME UNLIMITED has no end");
    run(&mut c, "alter user bob account unlock");
    assert_eq!(status(&mut c, "BOB"), "OPEN");
    assert_eq!([refusal(&instance, "bob", "wrong"), refusal(&instance, "bob", "right")], [1017, 0]);
    run(&mut c, "alter user bob account lock");
    assert_eq!((refusal(&instance, "bob", "right"), status(&mut c, "BOB").as_str()), (28000, "LOCKED"));
    run(&mut c, "alter profile strict limit failed_login_attempts unlimited");
    run(&mut c, "alter user bob account unlock");
    assert!((0..20).all(|_| refusal(&instance, "bob", "wrong") == 1017));
    assert_eq!(refusal(&instance, "bob", "right"), 0);
}

#[test]
fn no_failure_is_lost_among_many_at_once() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create profile patient limit failed_login_attempts 1000");
    user(&mut c, "carol", "profile patient");
    std::thread::scope(|s| {
        for _ in 0..6 {
            s.spawn(|| (0..10).for_each(|_| assert_eq!(refusal(&instance, "carol", "wrong"), 1017)));
        }
    });
    let failures = "select l.lcount from sys.user_logon$ l, sys.user$ u where u.user# = l.user# and u.name = 'CAROL'";
    assert_eq!(one(&mut c, failures), "60");
    // Another DDL on the account does not meet the row that logons change.
    std::thread::scope(|s| {
        s.spawn(|| (0..20).for_each(|_| drop(enter(&instance, "carol", "wrong"))));
        for _ in 0..10 {
            run(&mut c, "alter user carol account unlock");
        }
    });
    assert_eq!(refusal(&instance, "carol", "right"), 0);
}

#[test]
fn names_that_nobody_has_are_counted_too_and_never_locked() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    assert!((0..12).all(|_| refusal(&instance, "nobody", "wrong") == 1017));
    assert_eq!(one(&mut c, "select lcount from sys.user_logon$ where user# = 4294967295"), "12");
    assert_eq!([refusal(&instance, "public", "x"), refusal(&instance, "dba", "x")], [1017; 2]);
}

#[test]
fn an_old_password_warns_then_expires() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    user(&mut c, "dave", "");
    let older = |c: &mut Client, days: u32| {
        run(c, &format!("update sys.user$ set ptime = sysdate - {days} where name = 'DAVE'"));
        run(c, "commit");
        // A picture of the dictionary is read again.
        run(c, "create or replace synonym something for dual");
    };
    older(&mut c, 179);
    assert_eq!((refusal(&instance, "dave", "right"), status(&mut c, "DAVE").as_str()), (0, "OPEN"));
    older(&mut c, 181);
    let warned = enter(&instance, "dave", "right").expect("the grace begins");
    assert_eq!(warned.warning(), Some("ORA-28002: the password will expire within 7 days"));
    assert_eq!(status(&mut c, "DAVE"), "EXPIRED(GRACE)");
    days_pass(&mut c, "6.5");
    let warned = enter(&instance, "dave", "right").expect("the grace goes on");
    assert_eq!(warned.warning(), Some("ORA-28002: the password will expire within 1 days"));
    days_pass(&mut c, "0.5");
    assert_eq!((refusal(&instance, "dave", "right"), refusal(&instance, "dave", "wrong")), (28001, 1017));
    assert_eq!(status(&mut c, "DAVE"), "EXPIRED");
    run(&mut c, "alter user dave identified by newer");
    let fresh = enter(&instance, "dave", "newer").expect("a new password");
    assert!(fresh.warning().is_none());
    run(&mut c, "alter user dave password expire");
    assert_eq!(refusal(&instance, "dave", "newer"), 28001);
    run(&mut c, "alter profile default limit inactive_account_time 15");
    user(&mut c, "erin", "");
    assert_eq!(refusal(&instance, "erin", "right"), 0);
    run(&mut c, "update sys.user_logon$ set last = last - interval '16' day");
    run(&mut c, "update sys.user$ set ptime = ptime - 16 where name = 'ERIN'");
    run(&mut c, "commit");
    run(&mut c, "create or replace synonym something for dual");
    assert_eq!((refusal(&instance, "erin", "right"), status(&mut c, "ERIN").as_str()), (28000, "LOCKED"));
}

#[test]
fn a_profile_limits_sessions() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create profile few limit sessions_per_user 2");
    user(&mut c, "frank", "profile few");
    let first = enter(&instance, "frank", "right").expect("one");
    let _second = enter(&instance, "frank", "right").expect("two");
    assert_eq!(refusal(&instance, "frank", "right"), 2391);
    run(&mut c, "alter system set resource_limit = false");
    let third = enter(&instance, "frank", "right").expect("limits of resources are off");
    run(&mut c, "alter system set resource_limit = true");
    drop((first, third));
    support::until("two sessions ended", || refusal(&instance, "frank", "right") == 0);
}

#[test]
fn the_alert_log_tells_of_refusals_and_of_sysdba_and_stays_short() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    user(&mut c, "gina", "");
    for _ in 0..100 {
        refusal(&instance, "gina\nForged entry", "hunter22");
    }
    assert_eq!(refusal(&instance, "gina", "hunter22"), 1017);
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).expect("the alert log");
    assert!(log.contains("Logon / AS SYSDBA: OS user "), "{log}");
    let refused: Vec<&str> = log.lines().filter(|line| line.contains("refused: ORA-01017")).collect();
    // Two minutes may have begun.
    assert!((20..=40).contains(&refused.len()), "{}", refused.len());
    assert!(refused[0].starts_with("Logon of gina?Forged entry refused: ORA-01017"), "{}", refused[0]);
    assert!(!log.contains("hunter22") && !log.lines().any(|line| line.starts_with("Forged")));
}

#[test]
fn profiles_say_what_they_limit_and_refuse_what_nothing_obeys() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    let limits = |c: &mut Client, of: &str, more: &str| -> Vec<String> {
        let sql = format!("select resource_name, limit from dba_profiles where profile = '{of}' {more} order by 1");
        words(c, &sql).iter().map(|row| row.join(" ")).collect()
    };
    assert_eq!(
        limits(&mut c, "DEFAULT", "and resource_type = 'PASSWORD'"),
        [
            "FAILED_LOGIN_ATTEMPTS 10",
            "INACTIVE_ACCOUNT_TIME UNLIMITED",
            "PASSWORD_GRACE_TIME 7",
            "PASSWORD_LIFE_TIME 180",
            "PASSWORD_LOCK_TIME 1",
            "PASSWORD_REUSE_MAX UNLIMITED",
            "PASSWORD_REUSE_TIME UNLIMITED",
            "PASSWORD_ROLLOVER_TIME 0",
            "PASSWORD_VERIFY_FUNCTION NULL",
        ]
    );
    let kernel = limits(&mut c, "DEFAULT", "and resource_type = 'KERNEL'");
    assert!(kernel.len() == 9 && kernel.iter().all(|limit| limit.ends_with(" UNLIMITED")), "{kernel:?}");
    run(
        &mut c,
        "create profile app limit failed_login_attempts 3 password_lock_time 1/1440 idle_time 15 connect_time unlimited",
    );
    assert_eq!(
        limits(&mut c, "APP", "and limit <> 'DEFAULT'"),
        ["CONNECT_TIME UNLIMITED", "FAILED_LOGIN_ATTEMPTS 3", "IDLE_TIME 15", "PASSWORD_LOCK_TIME .0006"]
    );
    for (sql, error) in [
        ("create profile app limit idle_time 1", "ORA-02379: profile APP already exists"),
        ("alter profile nosuch limit idle_time 1", "ORA-02380: profile NOSUCH does not exist"),
        ("create profile p limit no_such_resource 1", "ORA-02376: invalid or redundant resource"),
        ("create profile p limit idle_time 1 idle_time 2", "ORA-02378: duplicate resource name IDLE_TIME"),
        ("create profile p limit idle_time 0", "ORA-02377: invalid resource limit"),
        ("create profile p limit idle_time 1.5", "ORA-02377: invalid resource limit"),
        ("create profile p limit idle_time null", "ORA-02377: invalid resource limit"),
        ("create profile p limit idle_time -1", "ORA-02377: invalid resource limit"),
        ("create profile p limit password_life_time 1/0", "ORA-02377: invalid resource limit"),
        ("create profile p limit inactive_account_time 14", "ORA-02377: invalid resource limit"),
        ("alter profile default limit idle_time default", "ORA-02377: invalid resource limit"),
        ("create profile p limit", "ORA-02376: invalid or redundant resource"),
        ("create profile p", "ORA-00905: missing keyword"),
        // A value without an effect is refused.
        ("create profile p limit cpu_per_call 100", "ORA-03001: unimplemented feature"),
        ("create profile p limit password_verify_function f", "ORA-03001: unimplemented feature"),
        ("create profile p limit password_rollover_time 1", "ORA-03001: unimplemented feature"),
        ("drop profile nosuch", "ORA-02380: profile NOSUCH does not exist"),
        ("drop profile default cascade", "ORA-02381: cannot drop PUBLIC_DEFAULT profile"),
        ("create user profiled identified by pw profile nosuch", "ORA-02380: profile NOSUCH does not exist"),
    ] {
        assert_eq!(refused(&mut c, sql).lines().next(), Some(error), "{sql}");
    }
    run(&mut c, "create profile p limit cpu_per_call unlimited password_verify_function null private_sga default");
    run(&mut c, "drop profile p");
    run(&mut c, "create user profiled identified by pw profile app account lock password expire");
    let account = "select profile, account_status, nvl2(lock_date, 'dated', ''), to_char(expiry_date - password_change_date) \
                   from dba_users where username = 'PROFILED'";
    assert_eq!(words(&mut c, account), [["APP", "EXPIRED & LOCKED", "dated", "0"]]);
    assert!(
        refused(&mut c, "drop profile app")
            .starts_with("ORA-02382: profile APP has users assigned, cannot drop without")
    );
    run(&mut c, "alter user profiled account unlock");
    assert_eq!(words(&mut c, account), [["APP", "EXPIRED", "", "0"]]);
    run(&mut c, "alter user profiled identified by pw2");
    assert_eq!(words(&mut c, account), [["APP", "OPEN", "", "180"]]);
    run(&mut c, "alter profile app limit password_life_time unlimited password_grace_time 0");
    assert_eq!(words(&mut c, account), [["APP", "OPEN", "", ""]]);
    run(&mut c, "drop profile app cascade");
    assert_eq!(words(&mut c, account), [["DEFAULT", "OPEN", "", "180"]]);
}

#[test]
fn a_password_does_not_come_back_before_its_time() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create profile careful limit password_reuse_max 2 password_reuse_time 1");
    user(&mut c, "ivy", "profile careful");
    let change = |c: &mut Client, to: &str| {
        c.execute(&format!("alter user ivy identified by {to}"), &[]).map_err(|e| e.code()).map(drop)
    };
    assert_eq!(change(&mut c, "right"), Err(28007));
    assert_eq!([change(&mut c, "second"), change(&mut c, "right")], [Ok(()), Err(28007)]);
    assert_eq!([change(&mut c, "third replace wrong"), change(&mut c, "third replace second")], [Err(28008), Ok(())]);
    run(&mut c, "update sys.user_history$ set password_date = password_date - 1");
    run(&mut c, "commit");
    // Old enough, and two others came since; the second is old enough, and one came since.
    assert_eq!([change(&mut c, "second"), change(&mut c, "right")], [Err(28007), Ok(())]);
    run(&mut c, "alter profile careful limit password_reuse_time unlimited");
    run(&mut c, "update sys.user_history$ set password_date = password_date - 100");
    run(&mut c, "commit");
    assert_eq!(change(&mut c, "second"), Err(28007), "with one limit alone a password never comes back");
    run(&mut c, "drop user ivy");
    let left = "select (select count(*) from sys.user_history$), \
                (select count(*) from sys.user_logon$ where user# between 101 and 4294967294) from dual";
    assert_eq!(words(&mut c, left), [["0", "0"]]);
}
