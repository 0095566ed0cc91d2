//! The connection pool of the database (DRCP).

use crate::unproved::{Kept, until};
use crate::{code, number, python, run_script, start, sysdba};
use client::{Client, ClientError, Ephemeral, NetAddress, NetSession, Query};
use os::signal::SIGKILL;
use types::Value;

fn rows(c: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let all = c.query(sql, &[]).and_then(Query::all).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |value: &Value| match value {
        Value::Text(text) => text.to_string(),
        Value::Number(n) => n.to_string(),
        Value::Null => String::new(),
        other => panic!("{other:?}"),
    };
    all.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn row(c: &mut Client, sql: &str) -> String {
    rows(c, sql).concat().join(" ")
}

fn run(c: &mut Client, sql: &str) {
    c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

#[test]
fn a_pool_is_configured_started_and_stopped() {
    let (instance, at) = start(&[]);
    let mut owner = sysdba(&instance);
    let info = "select status, minsize, maxsize, incrsize, session_cached_cursors, inactivity_timeout, max_think_time, \
        max_use_session, max_lifetime_session, num_cbrok, maxconn_cbrok, max_txn_think_time from dba_cpool_info \
        where connection_pool = 'SYS_DEFAULT_CONNECTION_POOL'";
    let defaults = "4 40 2 20 300 120 500000 86400 1 40000 0";
    assert_eq!(row(&mut owner, info), format!("INACTIVE {defaults}"));
    assert_eq!(row(&mut owner, "select count(*) from v$cpool_stats"), "0");
    let refused = || NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self").map(drop).map_err(|e| code(&e));
    assert_eq!(refused(), Err(12520));
    for (call, error) in [
        ("start_pool('NOSUCH')", 56500),
        ("stop_pool('NOSUCH')", 56500),
        ("configure_pool('NOSUCH')", 56500),
        ("restore_defaults('NOSUCH')", 56500),
        ("alter_param(param_name => 'NOSUCH', param_value => '1')", 56504),
        ("alter_param(param_name => 'MAXSIZE', param_value => 'x')", 56505),
        ("alter_param(param_name => 'MAXSIZE', param_value => '3')", 56505),
        ("alter_param('NOSUCH', 'MAXSIZE', '7')", 56500),
        ("configure_pool(minsize => 5, maxsize => 4)", 56507),
        ("configure_pool(incrsize => null)", 56507),
    ] {
        let outcome = owner.execute(&format!("begin dbms_connection_pool.{call}; end;"), &[]);
        assert_eq!(outcome.map(drop).map_err(|e| code(&e)), Err(error), "{call}");
    }
    assert_eq!(row(&mut owner, info), format!("INACTIVE {defaults}"), "nothing of that is kept");
    run(&mut owner, "begin dbms_connection_pool.start_pool; end;");
    assert_eq!(row(&mut owner, info), format!("ACTIVE {defaults}"));
    assert_eq!(row(&mut owner, "select count(*) from v$cpool_stats"), "1");
    run(
        &mut owner,
        "begin dbms_connection_pool.configure_pool(minsize => 1, maxsize => 7, max_think_time => 60); end;",
    );
    run(
        &mut owner,
        "begin dbms_connection_pool.alter_param('', 'inactivity_timeout', '9'); exception when others then \
        dbms_connection_pool.alter_param(param_name => 'inactivity_timeout', param_value => '9'); end;",
    );
    assert_eq!(row(&mut owner, info), "ACTIVE 1 7 2 20 9 60 500000 86400 1 40000 0");
    run(&mut owner, "begin dbms_connection_pool.stop_pool; end;");
    assert_eq!(refused(), Err(12520));
    run(&mut owner, "begin dbms_connection_pool.restore_defaults; end;");
    assert_eq!(row(&mut owner, info), format!("INACTIVE {defaults}"));
    // Only a privileged user may do this.
    let mut u = instance.connect(&client::Credentials::password("u", "Tiger1")).unwrap();
    let outcome = u.execute("begin dbms_connection_pool.start_pool; end;", &[]);
    assert_eq!(outcome.map(drop).map_err(|e| code(&e)), Err(6550));
    let count = u.query("select count(*) from dba_cpool_info", &[]).and_then(Query::all);
    assert_eq!(count.map(|rows| number(&rows)).map_err(|e| code(&e)), Err(942));
}

/// An instance with a started pool; `settings` by name.
fn pool(params: &[(&str, &str)], settings: &str) -> (Ephemeral, NetAddress, Client) {
    let (instance, at) = start(params);
    let mut owner = sysdba(&instance);
    for sql in [
        "create user v identified by Tiger2",
        "create role r1",
        "grant create session, select any dictionary to v",
        "grant select any dictionary to u",
        "create or replace package u.kept is procedure put(x number); function get return number; end;",
        "create or replace package body u.kept is v number := 1;
         procedure put(x number) is begin v := x; end; function get return number is begin return v; end; end;",
        "grant execute on u.kept to v",
        "create global temporary table u.temporary (n number) on commit preserve rows",
        &format!("begin dbms_connection_pool.configure_pool({settings}); dbms_connection_pool.start_pool; end;"),
    ] {
        run(&mut owner, sql);
    }
    (instance, at, owner)
}

fn connect(at: &NetAddress, class: &str, purity: &str) -> NetSession {
    NetSession::connect_pooled(at, "u", "Tiger1", class, purity).unwrap_or_else(|e| panic!("a session opens: {e}"))
}

fn texts(s: &mut NetSession, sql: &str) -> Result<String, ClientError> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.to_string(),
        Value::Number(n) => n.to_string(),
        _ => String::new(),
    };
    Ok(s.query(sql)?.iter().flatten().map(text).collect::<Vec<_>>().join(" "))
}

fn ask(s: &mut NetSession, sql: &str) -> String {
    texts(s, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn told(s: &mut NetSession, sql: &str) -> u32 {
    texts(s, sql).map(|text| panic!("{sql}: {text}")).map_err(|e: ClientError| code(&e)).unwrap_err()
}

const STATS: &str = "select num_open_servers, num_busy_servers, num_auth_servers from v$cpool_stats";
const SID: &str = "select sys_context('userenv', 'sid') from dual";

/// The traces in a fresh session.
const TRACES: [(&str, &str); 7] = [
    ("select u.kept.get from dual", "1"),
    ("select to_char(date '2026-01-02') from dual", "02-JAN-26"),
    ("select count(*) from u.temporary", "0"),
    ("select sys_context('userenv', 'current_schema') from dual", "U"),
    ("select sys_context('userenv', 'module') || sys_context('userenv', 'client_identifier') from dual", ""),
    ("select count(*) from v$lock where type = 'UL' and sid = sys_context('userenv', 'sid')", "0"),
    ("select count(*) from u.w", "0"),
];

fn leave_traces(s: &mut NetSession) {
    for sql in [
        "begin u.kept.put(42); end;",
        "alter session set nls_date_format = 'YYYY'",
        "insert into u.temporary values (1)",
        "commit",
        "alter session set current_schema = sys",
        "begin dbms_application_info.set_module('m', 'a'); dbms_session.set_identifier('i'); end;",
        "declare n number; begin n := sys.dbms_lock.request(77, 6, 0); end;",
        "insert into u.w values (1, 'not committed')",
    ] {
        s.execute(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

fn traces(s: &mut NetSession) -> Vec<String> {
    TRACES.iter().map(|(sql, _)| ask(s, sql)).collect()
}

#[test]
fn a_session_that_is_given_back_is_kept_for_its_user_and_class_alone() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 2, maxsize => 4");
    run(&mut owner, "grant execute on sys.dbms_lock to u");
    let fresh: Vec<String> = TRACES.iter().map(|(_, fresh)| fresh.to_string()).collect();
    let mut s = connect(&at, "a", "self");
    assert_eq!(ask(&mut s, "select server from v$session where sid = sys_context('userenv', 'sid')"), "POOLED");
    assert_eq!(traces(&mut s), fresh);
    leave_traces(&mut s);
    let sid = ask(&mut s, SID);
    s.release(false).unwrap();
    until("the server is free", || row(&mut owner, STATS) == "2 0 1");
    assert_eq!(row(&mut owner, "select count(*) from u.w"), "0", "its transaction is rolled back");
    let info = "select username, cclass_name, purity, connection_status from v$cpool_conn_info";
    assert_eq!(row(&mut owner, info), "U U.a SELF IDLE");
    // Another user, another class, or a request for a new session gets another session.
    let other = NetSession::connect_pooled(&at, "v", "Tiger2", "a", "self");
    let mut others = [other.unwrap(), connect(&at, "b", "self"), connect(&at, "a", "new")];
    for other in &mut others {
        assert_ne!(ask(other, SID), sid);
        assert_eq!(ask(other, TRACES[0].0), TRACES[0].1);
    }
    // The same client gets it again, and is told its number.
    assert_eq!(told(&mut s, "select * from nosuch"), 942);
    let heard = s.pooled_session().map(|(sid, _)| sid.to_string());
    assert_eq!(heard.as_ref(), Some(&sid), "also where the first call fails");
    let mut kept = traces(&mut s);
    assert_eq!(s.pooled_session(), None, "once");
    assert_eq!(ask(&mut s, SID), sid);
    assert_eq!(kept[..4], ["42", "2026", "1", "SYS"]);
    assert_eq!(kept.split_off(4), fresh[4..], "nothing of a call, and no name, is kept");
    s.release(false).unwrap();
    until("the server is free", || row(&mut owner, STATS) == "4 3 1");
    // Another client of the same user and class gets it as well; a dropped connection leaves nothing.
    drop(s);
    let mut next = connect(&at, "a", "self");
    assert_eq!((ask(&mut next, SID), ask(&mut next, TRACES[0].0)), (sid, "42".to_string()));
    drop(next);
    drop(others);
    until("all are free", || row(&mut owner, STATS) == "4 0 0");
    assert_eq!(row(&mut owner, "select count(*) from v$session where server = 'POOLED'"), "0");
    assert_eq!(row(&mut owner, "select count(*) from v$cpool_conn_info"), "0");
    let counted = "select num_requests, num_hits, num_misses, num_authentications from v$cpool_cc_stats \
        where cclass_name = 'U.a'";
    assert_eq!(row(&mut owner, counted), "4 2 2 3");
    assert_eq!(rows(&mut owner, "select cclass_name from v$cpool_cc_info order by 1").concat(), ["U.a", "U.b", "V.a"]);
}

#[test]
fn a_client_that_comes_and_goes_finds_its_session() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 2");
    let mut s = connect(&at, "a", "self");
    let sid = ask(&mut s, SID);
    s.execute("begin u.kept.put(42); end;").unwrap();
    s.release(true).unwrap();
    assert!(s.query("select 1 from dual").is_err(), "it has left the pool");
    until("the session is kept", || row(&mut owner, "select num_auth_servers from v$cpool_stats") == "1");
    let mut next = connect(&at, "a", "self");
    assert_eq!((ask(&mut next, SID), ask(&mut next, TRACES[0].0)), (sid, "42".to_string()));
    assert_eq!(row(&mut owner, "select num_requests, num_hits, num_misses from v$cpool_stats"), "2 1 1");
}

#[test]
fn a_session_that_is_new_has_nothing_of_the_one_before() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 1");
    run(&mut owner, "grant execute on sys.dbms_lock to u");
    let fresh: Vec<String> = TRACES.iter().map(|(_, fresh)| fresh.to_string()).collect();
    let mut s = connect(&at, "a", "new");
    let process = s.server_process();
    leave_traces(&mut s);
    s.release(false).unwrap();
    assert_eq!(traces(&mut s), fresh, "after a release");
    leave_traces(&mut s);
    s.release(true).unwrap();
    assert!(s.query("select 1 from dual").is_err(), "it has left the pool");
    let mut next = connect(&at, "a", "new");
    assert_eq!(next.server_process(), process, "there is one server");
    assert_eq!(traces(&mut next), fresh, "of another client");
    next.logoff().unwrap();
    let mut next = connect(&at, "a", "self");
    assert_eq!(traces(&mut next), fresh, "where none was kept");
    // The same server, for another user.
    leave_traces(&mut next);
    next.release(false).unwrap();
    let mut v = NetSession::connect_pooled(&at, "v", "Tiger2", "a", "self").unwrap();
    assert_eq!((v.server_process(), ask(&mut v, TRACES[0].0)), (process, "1".to_string()));
    assert_eq!(ask(&mut v, "select user from dual"), "V");
    v.release(false).unwrap();
    assert_eq!(ask(&mut next, "select user from dual"), "U");
    assert_eq!(ask(&mut next, TRACES[0].0), "1");
}

#[test]
fn who_may_not_log_on_any_more_gets_no_session_again() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 3");
    for (change, error, back) in [
        ("alter user u identified by Other1", 1017, "alter user u identified by Tiger1"),
        ("alter user u account lock", 28000, "alter user u account unlock"),
        ("revoke create session from u", 1045, "grant create session to u"),
        ("alter system enable restricted session", 1035, "alter system disable restricted session"),
    ] {
        for purity in ["self", "new"] {
            let mut s = connect(&at, "a", purity);
            ask(&mut s, "select 1 from dual");
            s.release(false).unwrap();
            until("the server is free", || row(&mut owner, "select num_busy_servers from v$cpool_stats") == "0");
            run(&mut owner, change);
            assert_eq!(told(&mut s, "select 1 from dual"), error, "{change}, {purity}");
            assert!(s.query("select 1 from dual").is_err(), "the connection has ended");
            run(&mut owner, back);
            assert_eq!(ask(&mut connect(&at, "a", purity), TRACES[0].0), "1", "{change}: the session is gone");
        }
    }
    // Roles are those of a fresh logon.
    let mut s = connect(&at, "a", "self");
    let roles = "select nvl(max(role), '-') from session_roles where role = 'R1'";
    assert_eq!(ask(&mut s, roles), "-");
    s.release(false).unwrap();
    run(&mut owner, "grant r1 to u");
    assert_eq!(ask(&mut s, roles), "R1");
    s.release(false).unwrap();
    run(&mut owner, "revoke r1 from u");
    assert_eq!(ask(&mut s, roles), "-");
    // A session killed while it waits for a client is not used again.
    let sid = ask(&mut s, SID);
    s.release(false).unwrap();
    until("the server is free", || row(&mut owner, "select num_auth_servers from v$cpool_stats") == "1");
    let who = row(&mut owner, &format!("select sid || ',' || serial# from v$session where sid = {sid}"));
    run(&mut owner, &format!("alter system kill session '{who}'"));
    assert_eq!(ask(&mut s, TRACES[0].0), "1");
    // A pooled session has the same restrictions as one without the pool.
    let mut sys = |sql: &str| s.execute(sql).map_err(|e| code(&e));
    assert_eq!(sys("begin dbms_connection_pool.stop_pool; end;"), Err(6550));
    run(&mut owner, "grant execute on sys.dbms_connection_pool to u");
    assert_eq!(sys("begin sys.dbms_connection_pool.stop_pool; end;"), Err(56609));
}

#[test]
fn clients_whose_password_was_changed_lock_no_account() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 0, maxsize => 2");
    run(&mut owner, "alter profile default limit failed_login_attempts 2");
    let mut parked: Vec<NetSession> = (0..6)
        .map(|i| {
            let mut s = connect(&at, "a", if i % 2 == 0 { "self" } else { "new" });
            ask(&mut s, "select 1 from dual");
            s.release(false).unwrap();
            s
        })
        .collect();
    until("all servers are free", || row(&mut owner, "select num_busy_servers from v$cpool_stats") == "0");
    run(&mut owner, "alter user u identified by Other1");
    for s in &mut parked {
        assert_eq!(told(s, "select 1 from dual"), 1017);
    }
    assert_eq!(row(&mut owner, "select account_status from dba_users where username = 'U'"), "OPEN");
    let new = NetSession::connect_pooled(&at, "u", "Other1", "a", "self");
    assert_eq!(ask(&mut new.unwrap(), "select 1 from dual"), "1");
}

#[test]
fn figures_of_a_pool_tell_of_servers_from_before_its_start() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 0, maxsize => 2, incrsize => 1");
    let mut s = connect(&at, "a", "self");
    until("it counts", || row(&mut owner, STATS) == "1 1 0");
    run(&mut owner, "begin dbms_connection_pool.stop_pool; dbms_connection_pool.start_pool; end;");
    until("it is the only one yet", || row(&mut owner, STATS) == "1 1 0");
    assert_eq!(ask(&mut s, "select 1 from dual"), "1");
}

#[test]
fn a_class_with_a_long_name_is_one_class() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 2");
    let class = "x".repeat(700);
    let mut s = connect(&at, &class, "self");
    for _ in 0..3 {
        ask(&mut s, "select 1 from dual");
        s.release(false).unwrap();
    }
    ask(&mut s, "select 1 from dual");
    assert_eq!(row(&mut owner, "select count(*), max(num_requests) from v$cpool_cc_stats"), "1 4");
}

#[test]
fn a_session_of_a_proxy_is_nobodys_but_its_own() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 6");
    run(&mut owner, "alter user u grant connect through v");
    let mut own = connect(&at, "a", "self");
    own.execute("begin u.kept.put(7); end;").unwrap();
    own.release(false).unwrap();
    until("the server is free", || row(&mut owner, "select num_auth_servers from v$cpool_stats") == "1");
    let mut s = NetSession::connect_pooled(&at, "v[u]", "Tiger2", "a", "self").unwrap();
    let who = "select user || ' ' || sys_context('userenv', 'proxy_user') from dual";
    assert_eq!((ask(&mut s, who), ask(&mut s, TRACES[0].0)), ("U V".to_string(), "1".to_string()));
    s.execute("begin u.kept.put(42); end;").unwrap();
    s.release(false).unwrap();
    assert_eq!((ask(&mut s, who), ask(&mut s, TRACES[0].0)), ("U V".to_string(), "1".to_string()));
    assert_eq!((ask(&mut own, who), ask(&mut own, TRACES[0].0)), ("U ".to_string(), "7".to_string()));
    s.release(false).unwrap();
    run(&mut owner, "alter user u revoke connect through v");
    assert_eq!(told(&mut s, who), 28150);
    // A user whose name equals another user's name plus the beginning of a class has a different key.
    run(&mut owner, "create user \"U.x\" identified by Tiger3");
    run(&mut owner, "grant create session to \"U.x\"");
    run(&mut owner, "grant execute on u.kept to \"U.x\"");
    let mut s = connect(&at, "x.a", "self");
    s.execute("begin u.kept.put(42); end;").unwrap();
    s.release(false).unwrap();
    let mut other = NetSession::connect_pooled(&at, "\"U.x\"", "Tiger3", "a", "self").unwrap();
    assert_eq!((ask(&mut other, "select user from dual"), ask(&mut other, TRACES[0].0)), ("U.x".into(), "1".into()));
    assert_eq!(ask(&mut s, TRACES[0].0), "42", "it was not taken");
}

#[test]
fn many_clients_share_few_servers() {
    const CLIENTS: u32 = 50;
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 4");
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let at = &at;
            scope.spawn(move || {
                let purity = if n % 2 == 0 { "self" } else { "new" };
                let mut s = connect(at, ["a", "b"][n as usize / 2 % 2], purity);
                for turn in 0..4 {
                    let key = n * 10 + turn;
                    s.execute(&format!("insert into w values ({key}, 'x')")).unwrap();
                    s.execute("commit").unwrap();
                    // Uncommitted rows are rolled back at the release.
                    s.execute(&format!("insert into w values ({key} + 10000, 'x')")).unwrap();
                    s.release(false).unwrap();
                }
                assert_eq!(ask(&mut s, &format!("select count(*) from w where trunc(n / 10) = {n}")), "4");
                s.release(true).unwrap();
            });
        }
    });
    assert_eq!(row(&mut owner, "select count(*) from u.w"), (4 * CLIENTS).to_string());
    assert_eq!(row(&mut owner, "select historic_max from v$cpool_stats"), "4");
    assert_eq!(row(&mut owner, "select num_authentications from v$cpool_stats"), CLIENTS.to_string());
    let of_all = row(&mut owner, "select num_requests - num_hits - num_misses, sign(num_waits) from v$cpool_stats");
    assert_eq!(of_all, "0 1");
    until("no client is left", || row(&mut owner, "select count(*) from v$cpool_conn_info") == "0");
    assert_eq!(row(&mut owner, "select count(*) from v$lock where type in ('TX', 'TM')"), "0");
}

#[test]
fn who_waits_is_served_when_servers_die_and_when_there_may_be_more() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 2");
    let waiting = "select count(*) from v$cpool_conn_info where connection_status = 'WAITING'";
    let hold = || {
        let mut s = connect(&at, "a", "self");
        ask(&mut s, SID);
        s
    };
    let wait = |owner: &mut Client, n: usize, free: &mut dyn FnMut(&mut Client)| {
        let served = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..n {
                scope.spawn(|| {
                    hold().release(false).unwrap();
                    served.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                });
            }
            until("they wait", || row(owner, waiting) == n.to_string());
            free(owner);
            until("they are served", || served.load(std::sync::atomic::Ordering::Relaxed) == n);
        });
    };
    let holders = [hold(), hold()];
    wait(&mut owner, 4, &mut |_| {
        for s in &holders {
            os::process::kill(s.server_process().unwrap(), SIGKILL).unwrap();
        }
    });
    let _holders = [hold(), hold()];
    wait(&mut owner, 1, &mut |owner| {
        run(owner, "begin dbms_connection_pool.alter_param(param_name => 'MAXSIZE', param_value => '3'); end;");
    });
}

#[test]
fn clients_and_servers_that_die_leave_nothing() {
    let (instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 1");
    // A client that dies in a transaction, using the only server.
    let mut s = connect(&at, "a", "self");
    s.execute("insert into w values (1, 'x')").unwrap();
    drop(s);
    let mut s = connect(&at, "a", "self");
    assert_eq!(ask(&mut s, "select count(*) from w"), "0");
    s.execute("insert into w values (1, 'x')").unwrap();
    // A server that dies.
    os::process::kill(s.server_process().unwrap(), SIGKILL).unwrap();
    assert!(s.query("select 1 from dual").is_err());
    let mut s = connect(&at, "a", "self");
    assert_eq!(ask(&mut s, "select count(*) from w"), "0");
    until("its row is free", || s.execute("insert into w values (1, 'x')").is_ok());
    s.execute("commit").unwrap();
    s.release(false).unwrap();
    until("the server is free", || row(&mut owner, STATS) == "1 0 1");
    // A server that dies while it keeps a session; its client does not notice.
    let pid =
        row(&mut owner, "select p.spid from v$process p, v$session s where s.paddr = p.addr and server = 'POOLED'");
    os::process::kill(pid.parse().unwrap(), SIGKILL).unwrap();
    until("it is gone", || row(&mut owner, "select count(*) from v$session where server = 'POOLED'") == "0");
    assert_eq!(ask(&mut s, "select count(*) from w"), "1");
    s.release(false).unwrap();
    // Stopping the pool: a waiting client sees the end, a working one does not.
    run(&mut owner, "begin dbms_connection_pool.alter_param(param_name => 'MAXSIZE', param_value => '2'); end;");
    let mut idle = connect(&at, "b", "self");
    ask(&mut idle, "select 1 from dual");
    idle.release(false).unwrap();
    assert_eq!(ask(&mut s, "select count(*) from w"), "1");
    until("one waits", || {
        row(&mut owner, "select count(*) from v$cpool_conn_info where connection_status = 'IDLE'") == "1"
    });
    run(&mut owner, "begin dbms_connection_pool.stop_pool; end;");
    assert_eq!(ask(&mut s, "select count(*) from w"), "1");
    until("the other one is gone", || idle.query("select 1 from dual").is_err());
    s.release(false).unwrap();
    assert!(s.query("select 1 from dual").is_err());
    until("all have ended", || row(&mut owner, "select count(*) from v$session where server = 'POOLED'") == "0");
    // The instance ends, with servers of both kinds.
    run(&mut owner, "begin dbms_connection_pool.start_pool; end;");
    let mut busy = connect(&at, "a", "self");
    let mut free = connect(&at, "a", "self");
    ask(&mut free, "select 1 from dual");
    free.release(false).unwrap();
    let mut stop = std::process::Command::new(env!("CARGO_BIN_EXE_latchwork"));
    stop.args(["stop", "--dir"]).arg(instance.dir());
    assert!(stop.status().unwrap().success());
    assert!(busy.query("select 1 from dual").is_err() && free.query("select 1 from dual").is_err());
}

#[test]
fn a_server_that_dies_as_it_changes_its_client_takes_that_one_along() {
    for point in ["pool-session-taken:3:process", "pool-session-given-back:2:process"] {
        let (_instance, at, mut owner) = pool(&[("_crash_point", point)], "minsize => 1, maxsize => 1");
        let mut ends = 0;
        for turn in 0..6 {
            let Ok(mut s) = NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self") else {
                ends += 1;
                continue;
            };
            s.execute(&format!("insert into w values ({turn}, 'x')")).unwrap();
            s.release(false).unwrap();
            ends += u32::from(texts(&mut s, "select 1 from dual").is_err());
        }
        assert!((1..6).contains(&ends), "{point}: {ends}");
        assert_eq!(row(&mut owner, "select count(*) from u.w"), "0");
        until("all servers are free", || row(&mut owner, "select num_busy_servers from v$cpool_stats") == "0");
        until("nothing is left", || row(&mut owner, "select count(*) from v$lock where type = 'TX'") == "0");
    }
}

#[test]
fn the_limits_of_the_pool_hold() {
    let (_instance, at, mut owner) = pool(&[("_connection_pool_wait_time", "1")], "minsize => 0, maxsize => 1");
    let mut one = connect(&at, "a", "self");
    let late = NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self").map(drop).map_err(|e| code(&e));
    assert_eq!(late, Err(56611), "all servers are taken");
    assert_eq!(ask(&mut one, "select 1 from dual"), "1");
    one.release(false).unwrap();
    until("the server is free", || row(&mut owner, STATS) == "1 0 1");
    let mut two = connect(&at, "a", "self");
    assert_eq!(told(&mut one, "select 1 from dual"), 56611, "a client that comes back");
    assert_eq!(row(&mut owner, "select client_req_timeouts, sign(num_waits) from v$cpool_stats"), "2 1");
    let set = |owner: &mut Client, name: &str, value: u32| {
        run(
            owner,
            &format!("begin dbms_connection_pool.alter_param(param_name => '{name}', param_value => '{value}'); end;"),
        );
    };
    // A session ends after its maximum number of clients.
    set(&mut owner, "MAX_USE_SESSION", 2);
    two.execute("begin kept.put(42); end;").unwrap();
    two.release(false).unwrap();
    assert_eq!(ask(&mut two, "select kept.get from dual"), "1");
    assert_eq!(row(&mut owner, "select num_purged from v$cpool_stats"), "1");
    // A client that is idle for too long loses its connection and its uncommitted changes.
    two.execute("insert into w values (1, 'x')").unwrap();
    set(&mut owner, "MAX_THINK_TIME", 1);
    // The time is checked between calls, such as this one.
    ask(&mut two, "select 1 from dual");
    until("the session ends", || row(&mut owner, "select count(*) from v$session where server = 'POOLED'") == "0");
    assert!(two.query("select 1 from dual").is_err());
    assert_eq!(row(&mut owner, "select count(*) from u.w"), "0");
    // So does a client that has sent only a part of a call.
    let mut half = connect(&at, "a", "self");
    half.begin_call().unwrap();
    until("the session ends", || row(&mut owner, "select count(*) from v$session where server = 'POOLED'") == "0");
    // An unused server ends.
    set(&mut owner, "INACTIVITY_TIMEOUT", 1);
    until("the server ends", || row(&mut owner, "select num_open_servers from v$cpool_stats") == "0");
    set(&mut owner, "MINSIZE", 1);
    until("there is one again", || row(&mut owner, "select num_open_servers from v$cpool_stats") == "1");
}

#[test]
fn a_real_driver_uses_the_pool() {
    let Some(python) = python() else {
        return;
    };
    let (instance, at, _owner) = pool(&[], "minsize => 1, maxsize => 3");
    run_script(&python, "pooled.py", &instance, &at);
}

#[test]
fn node_oracledb_uses_the_pool() {
    let mut has_driver = std::process::Command::new("node");
    has_driver.args(["-e", "require('oracledb')"]).stderr(std::process::Stdio::null());
    if !has_driver.status().is_ok_and(|status| status.success()) {
        super::absent::left_out("the pool by node-oracledb", "it is not there");
        return;
    }
    let (instance, at, _owner) = pool(&[], "minsize => 1, maxsize => 3");
    run_script(std::path::Path::new("node"), "pooled.js", &instance, &at);
}

#[test]
fn a_pool_stays_as_it_is_over_a_restart() {
    let dir = std::env::temp_dir().join(format!("lw-pool-{}", std::process::id()));
    let owner = || Client::connect(&dir, &client::Credentials::Sysdba).expect("the owner connects");
    let (first, at) = Kept::start(&dir, "0");
    let mut c = owner();
    for sql in [
        "create user u identified by Tiger1",
        "grant create session to u",
        "begin dbms_connection_pool.configure_pool(minsize => 1, maxsize => 3); end;",
        "begin dbms_connection_pool.start_pool; end;",
    ] {
        run(&mut c, sql);
    }
    drop(c);
    let mut s = connect(&at, "a", "self");
    ask(&mut s, "select 1 from dual");
    s.release(false).unwrap();
    first.stop(&dir);
    assert!(s.query("select 1 from dual").is_err());
    let (second, at) = Kept::start(&dir, "0");
    assert_eq!(ask(&mut connect(&at, "a", "self"), "select user from dual"), "U");
    let mut c = owner();
    assert_eq!(row(&mut c, "select status, minsize, maxsize from dba_cpool_info"), "ACTIVE 1 3");
    assert_eq!(row(&mut c, "select num_authentications from v$cpool_stats"), "1");
    run(&mut c, "begin dbms_connection_pool.stop_pool; end;");
    drop(c);
    second.stop(&dir);
    let (third, at) = Kept::start(&dir, "0");
    let refused = NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self").map(drop).map_err(|e| code(&e));
    third.stop(&dir);
    let _ = std::fs::remove_dir_all(&dir);
    assert_eq!(refused, Err(12520));
}

#[test]
fn jdbc_uses_the_pool() {
    let driver = std::env::var_os("LATCHWORK_OJDBC").filter(|jar| std::path::Path::new(jar).is_file());
    let Some(driver) = driver else {
        super::absent::left_out("the pool by JDBC", "LATCHWORK_OJDBC names no driver");
        return;
    };
    let (_instance, at, _owner) = pool(&[], "minsize => 1, maxsize => 3");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle_net/Pooled.java");
    let mut command = std::process::Command::new("timeout");
    command.args(["600", "java", "-cp"]).arg(driver).arg(program).arg(at.port.to_string()).arg(&at.service);
    let out = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(said.contains("all done"), "{said}\n{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn a_connection_that_is_to_be_encrypted_is_none_of_the_pools() {
    let (_instance, at, mut owner) = pool(&[("encryption_server", "required")], "minsize => 1, maxsize => 3");
    let refused = NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self").map(drop).map_err(|e| code(&e));
    assert_eq!(refused, Err(12520));
    assert_eq!(row(&mut owner, "select num_authentications from v$cpool_stats"), "0");
}

#[test]
fn so_many_clients_and_no_more() {
    let (_instance, at, mut owner) = pool(&[], "minsize => 1, maxsize => 3");
    run(&mut owner, "begin dbms_connection_pool.alter_param(param_name => 'MAXCONN_CBROK', param_value => '1'); end;");
    let mut s = connect(&at, "a", "self");
    ask(&mut s, "select 1 from dual");
    s.release(false).unwrap();
    let more = || NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self").map(drop).map_err(|e| code(&e));
    until("it counts", || row(&mut owner, "select count(*) from v$cpool_conn_info") == "1");
    assert_eq!(more(), Err(12520));
    assert_eq!(ask(&mut s, "select 1 from dual"), "1");
    assert_eq!(more(), Err(12520));
    drop(s);
    until("there is room again", || more().is_ok());
    // Their number is the same when all of them connect before one is counted.
    let came: Vec<_> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| NetSession::connect_pooled(&at, "u", "Tiger1", "a", "self").map_err(|e| code(&e))))
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(came.iter().filter(|one| one.is_ok()).count() <= 1, "one at most is there");
    assert!(came.iter().all(|one| one.as_ref().map_or_else(|e| *e == 12520, |_| true)));
}
