//! Extreme connections: huge statements, clients that disconnect in the middle, and calls out of order.

use crate::common::{code, eventually, number, rows, run, start, sysdba};
use client::{Client, Credentials};
use net::local::{Execute, Logon, PROTOCOL_VERSION, Request, write_frame};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

fn say(stream: &mut UnixStream, request: &Request) {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, |o| request.encode(o));
    stream.write_all(&bytes).unwrap();
}

fn logged_on(dir: &std::path::Path) -> UnixStream {
    let mut s = UnixStream::connect(dir.join(client::SOCKET_NAME)).unwrap();
    say(
        &mut s,
        &Request::Logon(Box::new(Logon {
            version: PROTOCOL_VERSION,
            as_sysdba: true,
            program: "raw".into(),
            ..Logon::default()
        })),
    );
    let mut some = [0; 64];
    assert!(s.read(&mut some).unwrap() > 0, "welcome");
    s
}

fn execute(sql: &str) -> Request {
    let (binds, tables) = (Vec::new(), Vec::new());
    Request::Execute(Box::new(Execute { sql: sql.into(), binds, prefetch: 1_000_000, want_output: false, tables }))
}

fn sessions_left(observer: &mut Client) {
    eventually("the other sessions end", || {
        number(observer, "select count(*) from v$session where type = 'USER'") == 1
    });
}

#[test]
fn oversize_statements_get_an_error_or_an_answer() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    // Long but valid.
    let list = (1..=900).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    assert_eq!(number(&mut c, &format!("select count(*) from dual where 900 in ({list})")), 1);
    let long = format!("select '{}' || length('{}') from dual", "x".repeat(3000), "y".repeat(3000));
    assert_eq!(rows(&mut c, &long)[0].len(), 3004);
    assert_eq!(code(&mut c, &format!("select '{}' from dual", "x".repeat(40_000))), 1704);
    assert_eq!(code(&mut c, &format!("select 1 from dual where 1 in ({})", vec!["1"; 1001].join(","))), 1795);
    // Endless nesting.
    for (open, close) in [("(", ")"), ("abs(", ")"), ("case when 1 = 1 then ", " end"), ("- ", ""), ("not ", "")] {
        let depth = 20_000;
        let (head, tail) = if open == "not " { ("select 1 from dual where ", "1 = 1") } else { ("select ", "1") };
        let sql = format!("{head}{}{tail}{} from dual", open.repeat(depth), close.repeat(depth));
        let _ = c.execute(&sql, &[]);
        assert_eq!(number(&mut c, "select 7 from dual"), 7, "after {open}");
    }
    let block = format!("{} null; {}", "begin ".repeat(20_000), "end; ".repeat(20_000));
    assert!(c.execute(&block, &[]).is_err());
    let unions = vec!["select 1 from dual"; 3000].join(" union all ");
    let _ = c.execute(&unions, &[]);
    let subqueries = format!("{} select 1 x from dual {}", "select * from (".repeat(3000), ")".repeat(3000));
    let _ = c.execute(&subqueries, &[]);
    let ands = format!("select 1 from dual where {}", vec!["1 = 1"; 20_000].join(" and "));
    let _ = c.execute(&ands, &[]);
    let pluses = format!("select {} from dual", vec!["1"; 20_000].join(" + "));
    let _ = c.execute(&pluses, &[]);
    assert_eq!(number(&mut c, "select 8 from dual"), 8);
    // Megabytes.
    let text = format!("select /* {} */ 9 from dual", "z".repeat(3 << 20));
    let _ = c.execute(&text, &[]);
    assert!(c.is_closed() || number(&mut c, "select 9 from dual") == 9);
    let mut d = sysdba(&instance);
    assert_eq!(number(&mut d, "select 10 from dual"), 10);
}

#[test]
fn clients_that_vanish_leave_nothing_behind() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &[
            "create table t as select level n, rpad('x', 1000, 'x') v from dual connect by level <= 3000",
            "create table w (n number)",
        ],
    );
    // In the middle of a result of megabytes, with some of it read or none.
    for take in [0, 1000, 100_000] {
        let mut s = logged_on(instance.dir());
        say(&mut s, &execute("select a.n, a.v from t a, t b where b.n < 20"));
        let mut some = vec![0; take];
        s.read_exact(&mut some).unwrap();
        drop(s);
    }
    // In the middle of a message, with a transaction open.
    let mut s = logged_on(instance.dir());
    say(&mut s, &execute("insert into w values (1)"));
    let mut whole = Vec::new();
    write_frame(&mut whole, |o| execute("commit").encode(o));
    s.write_all(&whole[..whole.len() - 1]).unwrap();
    drop(s);
    // In the middle of a call that sleeps, waits for a lock, or computes.
    run(&mut c, &["lock table w in exclusive mode"]);
    for sql in [
        "begin insert into t values (-1, null); dbms_lock.sleep(1000); end;",
        "insert into w values (2)",
        "begin loop null; end loop; end;",
        "select count(*) from t a, t b, t c where a.v < b.v || c.v",
    ] {
        let mut s = logged_on(instance.dir());
        say(&mut s, &execute(sql));
        eventually("it runs", || {
            number(&mut c, "select count(*) from v$session where program = 'raw' and status = 'ACTIVE'") > 0
        });
        drop(s);
        sessions_left(&mut c);
    }
    run(&mut c, &["commit"]);
    sessions_left(&mut c);
    assert_eq!(number(&mut c, "select count(*) from w"), 0);
    assert_eq!(number(&mut c, "select count(*) from t where n = -1"), 0);
    crate::common::assert_quiet(&mut c);
}

#[test]
fn a_client_that_does_not_read_can_be_killed() {
    let instance = start(&[]);
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &[
            "create table t as select level n, rpad('x', 1000, 'x') v from dual connect by level <= 3000",
            "create table w (n number)",
        ],
    );
    let mut s = logged_on(instance.dir());
    say(&mut s, &execute("insert into w values (1)"));
    say(&mut s, &execute("select a.n, a.v from t a, t b where b.n < 20"));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let who = rows(&mut c, "select sid || ',' || serial# from v$session where program = 'raw'");
    run(&mut c, &[&format!("alter system kill session '{}'", who[0])]);
    sessions_left(&mut c);
    run(&mut c, &["lock table w in exclusive mode nowait", "commit"]);
    drop(s);
}

#[test]
fn only_the_owner_may_connect_and_passwords_are_not_stored() {
    let instance = start(&[]);
    let mode = |name: &str| std::fs::metadata(instance.dir().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(client::SOCKET_NAME), 0o600);
    assert_eq!(mode("") & 0o077, 0, "the directory is the owner's");
    let mut c = sysdba(&instance);
    run(
        &mut c,
        &[
            "create user u identified by \"Tiger-4711\"",
            "create user v identified by \"Tiger-4711\"",
            "grant create session to u, v",
            "alter system checkpoint",
        ],
    );
    drop(c);
    instance.connect(&Credentials::password("u", "Tiger-4711")).unwrap();
    assert_eq!(instance.connect(&Credentials::password("u", "tiger-4711")).err().map(|e| e.code()), Some(1017));
    let without = instance.connect(&Credentials::password("u", "")).err().map(|e| e.code());
    assert!(matches!(without, Some(1005 | 1017)), "{without:?}");
    // No file of the database has the password.
    for file in std::fs::read_dir(instance.dir()).unwrap() {
        let path = file.unwrap().path();
        if path.is_file() && path.extension().is_some() {
            let bytes = std::fs::read(&path).unwrap_or_default();
            assert!(!bytes.windows(10).any(|w| w == b"Tiger-4711"), "{}", path.display());
        }
    }
    let mut c = sysdba(&instance);
    let verifiers = rows(&mut c, "select spare4 from sys.user$ where name in ('U', 'V')");
    assert!(verifiers.len() == 2 && verifiers[0] != verifiers[1], "salted: {verifiers:?}");
}
