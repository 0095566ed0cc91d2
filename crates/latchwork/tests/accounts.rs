//! Accounts: wrong passwords lock them, passwords expire, profiles limit sessions, and the alert log records it.

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

/// Simulates that days have passed: dates the stored logon data earlier.
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
    assert_eq!(refusal(&instance, "alice", "right"), 28000);
    assert_eq!(status(&mut c, "ALICE"), "LOCKED(TIMED)");
    assert_eq!(one(&mut c, "select count(*) from dba_users where username = 'ALICE' and lock_date > sysdate - 1"), "1");
    days_pass(&mut c, "0.9");
    assert_eq!(refusal(&instance, "alice", "right"), 28000);
    days_pass(&mut c, "0.1");
    // After the end of the lock the count restarts, whichever password comes first.
    assert_eq!([refusal(&instance, "alice", "wrong"), refusal(&instance, "alice", "right")], [1017, 0]);
    assert_eq!(status(&mut c, "ALICE"), "OPEN");
    assert_eq!(
        one(&mut c, "select nvl2(last_login, 'known', 'never') from dba_users where username = 'ALICE'"),
        "known"
    );
    // A right password resets the count of wrong ones.
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
    assert_eq!([1, 2].map(|_| refusal(&instance, "bob", "wrong")), [1017; 2]);
    days_pass(&mut c, "1000");
    assert_eq!(refusal(&instance, "bob", "right"), 28000, "PASSWORD_LOCK_TIME UNLIMITED has no end");
    // After further guesses on a locked account, the right password gets the same answer as a wrong one.
    assert_eq!(["wrong", "right"].map(|word| refusal(&instance, "bob", word)), [1017; 2]);
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
    // Other DDL on the account does not touch the row that logons change.
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
        // DDL makes sessions read the dictionary again.
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
    let began = std::time::Instant::now();
    for _ in 0..30 {
        refusal(&instance, "gina\nForged entry", "hunter22");
    }
    assert_eq!(refusal(&instance, "gina", "hunter22"), 1017);
    let log = std::fs::read_to_string(instance.dir().join("alert.log")).expect("the alert log");
    assert!(log.contains("Logon / AS SYSDBA: OS user "), "{log}");
    let refused: Vec<&str> = log.lines().filter(|line| line.contains("refused: ORA-01017")).collect();
    let minutes = began.elapsed().as_secs() as usize / 60 + 2;
    assert!((20..=20 * minutes).contains(&refused.len()), "{}", refused.len());
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
        // A limit that has no effect is refused.
        ("create profile p limit private_sga 100", "ORA-03001: unimplemented feature"),
        ("create profile p limit composite_limit 100", "ORA-03001: unimplemented feature"),
        ("create profile p limit password_verify_function f", "ORA-07443: function F not found"),
        ("create profile p limit cpu_per_call 0", "ORA-02377: invalid resource limit"),
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
    // Old enough, and two other passwords followed; the second is old enough, but only one followed.
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

#[test]
fn a_wrong_old_password_counts_as_one_at_a_logon() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create profile few limit failed_login_attempts 3");
    user(&mut c, "nina", "profile few");
    let mut nina = enter(&instance, "nina", "right").expect("she gets in");
    let mut change = |to: &str| nina.execute(to, &[]).map_err(|e| e.code()).map(drop);
    run(&mut c, "audit user");
    for _ in 0..2 {
        assert_eq!(change("alter user nina identified by other replace wrong"), Err(28008));
    }
    assert_eq!(status(&mut c, "NINA"), "OPEN");
    assert_eq!(change("alter user nina identified by right replace right"), Ok(()));
    assert_eq!(change("alter user nina identified by other replace wrong"), Err(28008));
    assert_eq!(status(&mut c, "NINA"), "LOCKED(TIMED)");
    assert_eq!(change("alter user nina identified by other replace right"), Err(28000));
    let noted = "select count(*) from dba_audit_trail where action_name = 'ALTER USER' and returncode = 28008 \
                 and username = 'NINA'";
    assert_eq!(one(&mut c, noted), "3");
}

#[test]
fn the_function_of_a_profile_judges_passwords() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table seen (who varchar2(30), p varchar2(30), o varchar2(30))");
    run(
        &mut c,
        "create function judge (username varchar2, password varchar2, old_password varchar2) return boolean is begin \
         insert into seen values \
         (sys_context('userenv', 'current_user') || ' for ' || username, password, old_password); \
         if length(password) < 6 then raise_application_error(-20001, 'Password length less than 6'); end if; \
         return password <> 'null_is_no' and nullif(password, 'unknown') is not null; end;",
    );
    run(&mut c, "create function two (u varchar2, p varchar2) return boolean is begin return true; end;");
    for (function, error) in [("two", "ORA-28004"), ("no_such", "ORA-07443")] {
        let sql = format!("create profile strict limit password_verify_function {function}");
        assert!(refused(&mut c, &sql).starts_with(error), "{function}");
    }
    run(&mut c, "create profile strict limit password_verify_function judge");
    let limit =
        "select limit from dba_profiles where profile = 'STRICT' and resource_name = 'PASSWORD_VERIFY_FUNCTION'";
    assert_eq!(one(&mut c, limit), "JUDGE");
    let short = refused(&mut c, "create user vera identified by short profile strict");
    assert!(
        short.starts_with("ORA-28003: password verification for the specified password failed\nORA-20001: "),
        "{short}"
    );
    assert!(refused(&mut c, "create user vera identified by null_is_no profile strict").starts_with("ORA-28003"));
    user(&mut c, "wim", "");
    run(&mut c, "create user vera identified by first_one profile strict");
    run(&mut c, "grant create session, alter session to vera");
    let mut vera = enter(&instance, "vera", "first_one").expect("she gets in");
    let mut change = |to: &str| vera.execute(to, &[]).map_err(|e| e.code()).map(drop);
    run(&mut c, "delete from seen");
    run(&mut c, "commit");
    assert_eq!(change("alter user vera identified by second_one"), Err(28221));
    assert_eq!(change("alter user vera identified by second_one replace wrong"), Err(28008));
    assert_eq!(change("alter user wim identified by second_one"), Err(1031));
    assert_eq!(one(&mut c, "select count(*) from seen"), "0", "nothing is judged that is refused anyway");
    assert_eq!(change("alter user vera identified by short replace first_one"), Err(28003));
    assert_eq!(
        change("begin execute immediate 'alter user vera identified by tiny replace first_one'; end;"),
        Err(28003)
    );
    assert_eq!(change("alter user vera identified by second_one replace first_one"), Ok(()));
    assert_eq!(
        words(&mut c, "select * from seen where p = 'second_one'"),
        [["SYS for VERA", "second_one", "first_one"]],
        "it runs as SYS"
    );
    assert!(refused(&mut c, "grant create session to vera identified by weak").starts_with("ORA-28003"));
    run(&mut c, "alter user vera identified by third_one");
    assert_eq!((refusal(&instance, "vera", "second_one"), refusal(&instance, "vera", "third_one")), (1017, 0));
    run(&mut c, "drop function judge");
    assert_eq!(
        refused(&mut c, "alter user vera identified by fourth_one"),
        "ORA-28003: password verification for the specified password failed\nORA-07443: function JUDGE not found"
    );
    assert_eq!(one(&mut c, limit), "JUDGE");
    run(
        &mut c,
        "create function judge (u varchar2, p varchar2, o varchar2) return boolean is begin return p = 'fifth_one'; end;",
    );
    assert!(refused(&mut c, "alter user vera identified by fourth_one").starts_with("ORA-28003"));
    run(&mut c, "alter user vera identified by fifth_one");
    run(&mut c, "drop function judge");
    run(&mut c, "alter profile strict limit password_verify_function null");
    run(&mut c, "alter user vera identified by weak");
}

#[test]
fn a_profile_limits_what_calls_and_sessions_use() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, "create table work as select level id, rpad('x', 500) t from dual connect by level <= 200");
    run(&mut c, "create table marks (n number)");
    for (profile, limit) in [
        ("reader", "logical_reads_per_call 500"),
        ("thinker", "cpu_per_call 100"),
        ("long_reader", "logical_reads_per_session 2000"),
        ("long_thinker", "cpu_per_session 150"),
    ] {
        run(&mut c, &format!("create profile {profile} limit {limit}"));
        user(&mut c, profile, &format!("profile {profile}"));
        run(&mut c, &format!("grant select on work to {profile}"));
        run(&mut c, &format!("grant insert on marks to {profile}"));
    }
    let read_on = "declare n number; begin loop select count(*) into n from sys.work; end loop; end;";
    // A handler cannot continue the call.
    let read_stubbornly = "declare n number; begin loop begin select count(*) into n from sys.work; \
                           exception when others then null; end; end loop; end;";
    let think_on = "begin loop null; end loop; end;";
    let think_stubbornly = "begin for i in 1 .. 3 loop begin loop null; end loop; \
                            exception when others then null; end; end loop; end;";
    let run_as = |user: &str, sql: &str| {
        let mut u = enter(&instance, user, "right").expect("a session");
        let error = u.execute(sql, &[]).map_err(|e| e.code()).map(drop);
        (u, error)
    };
    for (user, sql, error) in [
        ("reader", read_on, 2395),
        ("reader", read_stubbornly, 2395),
        ("thinker", think_on, 2393),
        ("thinker", think_stubbornly, 2393),
    ] {
        let (mut u, found) = run_as(user, sql);
        assert_eq!(found, Err(error), "{user}: {sql}");
        assert_eq!(one(&mut u, "select count(*) from dual"), "1", "the next call begins anew");
    }
    for (user, sql, error) in [("long_reader", read_on, 2394), ("long_thinker", think_on, 2392)] {
        let mut u = enter(&instance, user, "right").expect("a session");
        u.execute("insert into sys.marks values (1)", &[]).expect("a row");
        let found = u.execute(sql, &[]).map_err(|e| e.code()).map(drop);
        assert_eq!(found, Err(error), "{user}");
        let again = u.execute("commit", &[]).map_err(|e| e.code()).map(drop);
        assert_eq!(again, Err(error), "{user}: the session is over");
        assert!(u.execute("commit", &[]).is_err());
    }
    assert_eq!(one(&mut c, "select count(*) from marks"), "0", "what was open is rolled back");
    run(&mut c, "alter system set resource_limit = false");
    let some = "declare n number; begin for i in 1 .. 200 loop select count(*) into n from sys.work; end loop; end;";
    assert_eq!(run_as("reader", some).1, Ok(()));
}

#[test]
fn sessions_end_that_are_idle_or_open_for_too_long() {
    let instance = start(&[("_resource_minute", "1")]);
    let mut c = connect(&instance);
    run(&mut c, "create table marks (n number)");
    for (profile, limit) in [("sleeper", "idle_time 1"), ("stayer", "connect_time 1")] {
        run(&mut c, &format!("create profile {profile} limit {limit}"));
        user(&mut c, profile, &format!("profile {profile}"));
        run(&mut c, &format!("grant insert on marks to {profile}"));
    }
    let mut sleeper = enter(&instance, "sleeper", "right").expect("a session");
    sleeper.execute("insert into sys.marks values (1)", &[]).expect("a row");
    let status = "select count(*) from v$session where username = 'SLEEPER' and status = 'SNIPED'";
    support::until("it is sniped", || one(&mut c, status) == "1");
    assert_eq!(sleeper.execute("commit", &[]).map_err(|e| e.code()).map(drop), Err(2396));
    let mut stayer = enter(&instance, "stayer", "right").expect("a session");
    let mut last = Ok(());
    support::until("its time is over", || {
        last = stayer.execute("insert into sys.marks values (2)", &[]).map_err(|e| e.code()).map(drop);
        last.is_err()
    });
    assert_eq!(last, Err(2399));
    assert_eq!(one(&mut c, "select count(*) from marks"), "0", "what was open is rolled back");
}
