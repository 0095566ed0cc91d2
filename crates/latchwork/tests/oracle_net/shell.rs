//! The shell over the network: it works as over the local socket, and resolves connect names.

use crate::encrypted::Wallets;
use crate::{PATIENCE, number, start, sysdba};
use client::{Client, ConnectOptions, Credentials, NetAddress, Route};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// A folder that is removed.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let dir = std::env::temp_dir().join(format!("latchwork-shell-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        files.iter().for_each(|(file, text)| std::fs::write(dir.join(file), text).unwrap());
        Folder(dir)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of a shell with no names and no instance except those in its arguments.
fn shell(logon: &[&str], dir: &Path, env: &[(&str, &str)], script: &str) -> Output {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_latchwork"));
    shell.args(["sql", "-s", "-L", "--dir"]).arg(dir).args(logon);
    for name in ["TNS_ADMIN", "ORACLE_HOME", "TWO_TASK", "LOCAL", "HOME", "LATCHWORK_HOME"] {
        shell.env_remove(name);
    }
    shell.envs(env.iter().copied());
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A shell that has not logged on reads nothing.
    let _ = shell.stdin.take().unwrap().write_all(script.as_bytes());
    shell.wait_with_output().unwrap()
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

const SCRIPT: &str = r#"
set serveroutput on size unlimited
create table t (n number(5,2) not null, i integer, f float, t varchar2(20 char), c char(3), d date, r raw(4),
  ts timestamp(3), tz timestamp with time zone, ym interval year to month, ds interval day to second, nv nvarchar2(7));
desc t
insert into t (n, i, t, c, d, r, ts, ym, ds, nv) values (1.25, 7, 'grün', 'x', date '2026-11-23', 'ff01',
  timestamp '2026-11-23 10:11:12.345', interval '1-2' year to month, interval '1 2:3:4' day to second, 'ж');
select * from t;
select level l, rpad('x', 30, 'x') x from dual connect by level <= 40;
select rowid from t where 1 = 0;
variable v varchar2(20)
variable n number
exec :v := 'abc'; :n := 41
begin :n := :n + 1; :v := upper(:v); end;
/
print v n
select :v, :n, :v || :n from dual;
insert into t (n, t) values (2, 'k') returning t || 'l', n * 10 into :v, :n;
print n v
update t set i = nvl(i, 0) + 1;
select count(*) from t where i > 0 and n = :n / 10;
begin
  dbms_output.put_line('one');
  dbms_output.put_line(null);
  dbms_output.put_line('  two: 3:x');
  for i in 1 .. 5 loop dbms_output.put_line(rpad('y', 20000, 'y')); end loop;
  dbms_output.put_line('last');
end;
/
begin dbms_output.put_line('before the error'); raise_application_error(-20001, 'mine'); end;
/
select n from t where nosuch = 1;
select 1 / 0 from dual;
select 1
from dual where x y;
insert into t (n) values (null);
create or replace procedure p is begin nosuch; end;
/
show errors
exec p
alter session set nls_date_format = 'YYYY-MM-DD HH24:MI:SS';
select d from t where d is not null;
alter session set current_schema = sys;
select sys_context('userenv', 'current_schema') from dual;
select user from dual;
alter session set current_schema = u;
commit;
savepoint a;
rollback to a;
select 'it''s' q, q'[:x]' w from dual;
select * from t where n = :undeclared;
explain plan for select * from t where n = 1;
drop table t;
drop procedure p;
select sum(n) from w;
whenever sqlerror exit 7
select * from nosuch;
"#;

#[test]
fn a_script_prints_the_same_over_the_network_and_over_the_local_socket() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    for sql in ["grant create table, create procedure, alter session to u", "grant select any dictionary to u"] {
        c.execute(sql, &[]).unwrap();
    }
    let local = shell(&["u/Tiger1"], instance.dir(), &[], SCRIPT);
    let place = format!("u/Tiger1@127.0.0.1:{}/latchwrk", at.port);
    let net = shell(&[&place], Path::new("/nonexistent"), &[], SCRIPT);
    let (local_text, net_text) = (text(&local), text(&net));
    for (n, (l, r)) in local_text.lines().zip(net_text.lines()).enumerate() {
        assert_eq!(r, l, "line {n} over the network\n{net_text}");
    }
    assert_eq!(net_text, local_text);
    assert_eq!((local.status.code(), net.status.code()), (Some(7), Some(7)));
    for part in ["before the error", "ORA-20001: mine", "Warning: Procedure created with compilation errors.", "grün"]
    {
        assert!(net_text.contains(part), "{part}\n{net_text}");
    }
}

#[test]
fn the_shell_finds_its_way_by_names() {
    let (instance, at) = start(&[]);
    let other = start(&[("db_name", "OTHER"), ("instance_name", "second")]);
    let address = |port: u16| format!("(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port}))");
    let entries = format!(
        "first, alias = (DESCRIPTION={}(CONNECT_DATA=(SERVICE_NAME=latchwrk)))\n\
         # nobody listens at the first\nsafe = (DESCRIPTION=(ADDRESS_LIST={}{})(CONNECT_DATA=(SERVICE_NAME=other)))\n\
         closed = (DESCRIPTION={}(CONNECT_DATA=(SERVICE_NAME=latchwrk)))\n\
         shared = (DESCRIPTION={}(CONNECT_DATA=(SERVER=shared)(SERVICE_NAME=latchwrk)))\n\
         noservice = (DESCRIPTION={}(CONNECT_DATA=(SERVICE_NAME=nope)))\n",
        address(at.port),
        address(1),
        address(other.1.port),
        address(1),
        address(at.port),
        address(at.port),
    );
    let folder = Folder::new(
        "names",
        &[("tnsnames.ora", &entries), ("sqlnet.ora", "names.directory_path=(tnsnames, ezconnect)\n")],
    );
    let admin = folder.0.to_str().unwrap();
    let env = [("TNS_ADMIN", admin)];
    let which = "set heading off\nselect instance_name || ' ' || user from v$instance;\n";
    let nowhere = Path::new("/nonexistent");
    let ask = |place: &str, env: &[(&str, &str)]| {
        let out = shell(&[&format!("u/Tiger1{place}")], nowhere, env, which);
        (out.status.code(), text(&out).trim().to_string())
    };
    let mut c = sysdba(&instance);
    c.execute("grant select any dictionary to u", &[]).unwrap();
    sysdba(&other.0).execute("grant select any dictionary to u", &[]).unwrap();
    let first = number_name(&mut c);
    assert_eq!(ask("@first", &env), (Some(0), format!("{first} U")));
    assert_eq!(ask("@ALIAS", &env), (Some(0), format!("{first} U")));
    assert_eq!(ask("@safe", &env), (Some(0), "second U".into()));
    assert_eq!(ask("", &[("TNS_ADMIN", admin), ("TWO_TASK", "safe")]), (Some(0), "second U".into()));
    assert_eq!(ask(&format!("@//localhost:{}/other", other.1.port), &env), (Some(0), "second U".into()));
    assert_eq!(ask(&format!("@localhost:{}/latchwrk:dedicated", at.port), &[]), (Some(0), format!("{first} U")));
    for (place, error) in [
        ("@unknown", "ORA-12154: TNS:could not resolve"),
        ("@closed", "ORA-12541: TNS:no listener"),
        ("@noservice", "ORA-12514: TNS:listener does not currently know of service"),
        ("@shared", "ORA-12520: TNS:listener could not find available handler"),
        ("@//no.such.host.invalid/x", "ORA-12545"),
        ("@localhost:x/y", "ORA-12154"),
        ("@(DESCRIPTION=(CONNECT_DATA=(SID=x)))", "ORA-12533"),
    ] {
        let (status, text) = ask(place, &env);
        assert!(status != Some(0) && text.contains(error), "{place}: {status:?} {text}");
    }
    let inside = format!("connect u/Tiger1@safe\n{which}connect u/wrong@first\nconnect u/Tiger1@unknown\n");
    let out = text(&shell(&["/nolog"], nowhere, &env, &inside));
    assert!(out.contains("second U") && out.contains("ORA-01017") && out.contains("ORA-12154"), "{out}");
    let tnsping = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latchwork"));
        let out = command.args(["tnsping", name]).env("TNS_ADMIN", admin).env_remove("HOME").output().unwrap();
        (out.status.success(), text(&out) + &String::from_utf8_lossy(&out.stderr))
    };
    let (good, said) = tnsping("safe");
    assert!(good && said.matches("Attempting to contact").count() == 2 && said.contains("OK ("), "{said}");
    assert!(said.contains(&format!("(PORT={}))(CONNECT_DATA=(SERVICE_NAME=other))", other.1.port)), "{said}");
    for (name, error) in [("unknown", "TNS-03505"), ("closed", "TNS-12541")] {
        let (good, said) = tnsping(name);
        assert!(!good && said.contains(error), "{name}: {said}");
    }
}

fn number_name(c: &mut Client) -> String {
    let rows = c.query("select instance_name from v$instance", &[]).unwrap().all().unwrap();
    match &rows[0][0] {
        types::Value::Text(name) => name.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sysdba_and_new_passwords_travel_over_the_network() {
    let (instance, at) = start(&[]);
    let mut c = sysdba(&instance);
    for sql in ["alter user sys identified by Secret1 account unlock", "alter user u password expire"] {
        c.execute(sql, &[]).unwrap();
    }
    let route = Route::to(&at);
    let connect = |credentials: &Credentials| Client::connect_net(&route, credentials, &ConnectOptions::default());
    let sys = Credentials::SysdbaPassword { user: "sys".into(), password: "Secret1".into() };
    let mut s = connect(&sys).expect("SYS over the network");
    assert_eq!((s.welcome().user.as_str(), s.schema()), ("SYS", "SYS"));
    assert_eq!(
        number(
            &s.query("select count(*) from v$session where sid = sys_context('userenv', 'sid')", &[])
                .unwrap()
                .all()
                .unwrap()
        ),
        1
    );
    s.logoff(true).unwrap();
    assert_eq!(connect(&Credentials::password("u", "Tiger1")).map(drop).map_err(|e| e.code()), Err(28001));
    let change = Credentials::Change { user: "u".into(), password: "Tiger1".into(), new_password: "Lion22".into() };
    connect(&change).expect("a new password").logoff(true).unwrap();
    let mut s = connect(&Credentials::password("u", "Lion22")).unwrap();
    assert!(!s.welcome().banner.is_empty() && s.warning().is_none());
    s.execute("insert into w values (1, 'x')", &[]).unwrap();
    assert!(s.in_transaction());
    s.logoff(false).unwrap();
    assert_eq!(number(&c.query("select count(*) from u.w", &[]).unwrap().all().unwrap()), 0, "it is rolled back");
    assert_eq!(connect(&Credentials::Sysdba).map(drop).map_err(|e| e.code()), Err(1017));
}

/// A break ends the running call, over TLS too, and one that comes too late has no effect.
fn breaks_of(at: &NetAddress) {
    let route = Route::to(at);
    let mut s = Client::connect_net(&route, &Credentials::password("u", "Tiger1"), &ConnectOptions::default()).unwrap();
    for n in 1..=3 {
        let (handle, (sender, ended)) = (s.break_handle(), std::sync::mpsc::channel::<()>());
        let thread = std::thread::spawn(move || {
            // Repeated until the call has ended: the first break may come before it has begun.
            while ended.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                handle.send().unwrap();
            }
            handle.send().unwrap();
        });
        let began = std::time::Instant::now();
        let outcome = s.execute("begin loop null; end loop; end;", &[]).map(drop).map_err(|e| e.code());
        assert!(began.elapsed() < PATIENCE);
        drop(sender);
        thread.join().unwrap();
        assert_eq!(outcome, Err(1013));
        assert_eq!(number(&s.query(&format!("select {n} from dual"), &[]).unwrap().all().unwrap()), n);
    }
    s.logoff(true).unwrap();
}

#[test]
fn a_call_over_the_network_is_broken_and_the_session_goes_on() {
    let wallets = Wallets::new("breaks");
    let (_instance, plain, encrypted) = wallets.start();
    breaks_of(&plain);
    breaks_of(&encrypted);
}

/// Arrays work through the listener as through the local socket, with the same results for their rows.
#[test]
fn arrays_over_the_network_are_those_of_the_local_socket() {
    use client::{ArrayError, ArrayOptions, ArrayOutcome};
    use net::local::{Bind, Direction};
    use types::{DataType, Number, Value};
    let (instance, at) = start(&[]);
    let mut local = sysdba(&instance);
    for sql in ["create table u.a (id number primary key, t varchar2(10))", "grant select on u.a to public"] {
        local.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let user = Credentials::Password { user: "u".into(), password: "Tiger1".into() };
    let route = Route::to(&at);
    let mut net = Client::connect_net(&route, &user, &ConnectOptions::default()).expect("a session over the network");
    let mut local = instance.connect(&user).expect("a local session");
    let n = |n: i64| Value::Number(Number::from_i64(n));
    let pair = [
        Bind { data_type: DataType::NUMBER, ..Bind::named("ID", DataType::NUMBER, Value::Null) },
        Bind::named("T", DataType::TEXT, Value::Null),
    ];
    let out = |name: &str| Bind { direction: Direction::Out, ..Bind::named(name, DataType::TEXT, Value::Null) };
    let rows = |ids: &[i64], wide: usize| -> Vec<Vec<Value>> {
        ids.iter().map(|id| vec![n(*id), Value::text(format!("{id}{}", "x".repeat(wide)))]).collect()
    };
    let returning = [pair.to_vec(), vec![out("R")]].concat();
    let with_null = |rows: Vec<Vec<Value>>| -> Vec<Vec<Value>> {
        rows.into_iter().map(|row| [row, vec![Value::Null]].concat()).collect()
    };
    let (batch, counts) = (
        ArrayOptions { batch_errors: true, row_counts: false },
        ArrayOptions { batch_errors: false, row_counts: true },
    );
    let both = ArrayOptions { batch_errors: true, row_counts: true };
    let insert = "insert into a values (:id, :t)";
    let block = "begin insert into a values (:id, :t) returning t || '!' into :r; end;";
    let many: Vec<i64> = (1000..9000).collect();
    type Case<'c> = (&'c str, &'c [Bind], Vec<Vec<Value>>, ArrayOptions);
    let cases: Vec<Case<'_>> = vec![
        (insert, &pair, rows(&[1, 2, 3], 0), ArrayOptions::default()),
        (insert, &pair, rows(&[4], 0), counts),
        (insert, &pair, rows(&[5, 1, 6], 0), counts),
        (insert, &pair, rows(&[7, 1, 8, 2, 9], 0), batch),
        (insert, &pair, rows(&[10, 11], 20), both),
        ("update a set t = :t where id >= :id", &pair, rows(&[9, 1, 99], 0), counts),
        (
            "merge into a using dual on (id = :id) when matched then update set t = :t",
            &pair,
            rows(&[1, 77, 2], 0),
            both,
        ),
        ("delete from a where id = :id and t is not null and :t is not null", &pair, rows(&[1, 1, 3], 0), counts),
        (
            "insert into a values (:id, :t) returning t || id into :r",
            &returning,
            with_null(rows(&[20, 21, 2, 22], 0)),
            batch,
        ),
        (
            "update a set t = :t where id > :id returning to_char(id) into :r",
            &returning,
            with_null(rows(&[20, 500], 0)),
            counts,
        ),
        (block, &returning, with_null(rows(&[30, 31], 0)), ArrayOptions::default()),
        (block, &returning, with_null(rows(&[32, 30, 33], 0)), ArrayOptions::default()),
        (insert, &pair, rows(&many, 3), counts),
        ("insert into none values (:id, :t)", &pair, rows(&[1, 2], 0), counts),
    ];
    let shown = |outcome: Result<ArrayOutcome, ArrayError>| {
        let (outcome, error) = match outcome {
            Ok(o) => (o, 0),
            // Values returned by executions before a failing one are not sent with its error.
            Err(e) => (ArrayOutcome { returned: Vec::new(), ..*e.done }, e.error.code()),
        };
        let errors: Vec<_> = outcome.errors.iter().map(|(n, e)| (*n, e.code, e.text.clone())).collect();
        (error, outcome.executions, outcome.rows, outcome.counts, errors, outcome.returned)
    };
    for (sql, binds, rows, options) in &cases {
        let found = shown(local.execute_many(sql, binds, rows, *options));
        local.execute("rollback", &[]).expect("a rollback");
        let before = rows.len();
        // The remaining rows are those of the cases before.
        let again = shown(net.execute_many(sql, binds, rows, *options));
        assert_eq!(again, found, "{sql}, {before} rows");
        net.execute("commit", &[]).expect("a commit");
    }
    assert_eq!(
        number(&local.query("select count(*) from a where id >= 1000", &[]).and_then(|q| q.all()).unwrap()),
        8000
    );
    net.logoff(true).expect("the session ends");
}
