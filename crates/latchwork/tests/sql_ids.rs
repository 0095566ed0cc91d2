//! Published SQL_IDs of statements of load generators, with the number of their executions.
//!
//! The identifier is a hash of the text, so these agree only if PL/SQL writes its static SQL exactly as Oracle does:
//! upper case, no INTO, blanks collapsed, and variables as `:Bn`, numbered so that the last one is `:B1`.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use types::Value;

fn instance() -> Ephemeral {
    let options =
        EphemeralOptions { executable: Some(env!("CARGO_BIN_EXE_latchwork").into()), ..EphemeralOptions::default() };
    Ephemeral::start_with(&options).expect("an instance starts")
}

fn run(session: &mut Client, sql: &str) {
    session.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// Text and executions of a statement, the sum over its children.
fn in_v_sql(session: &mut Client, sql_id: &str) -> Option<(String, i64)> {
    let sql = format!("select sql_text, sum(executions) from v$sql where sql_id = '{sql_id}' group by sql_text");
    let rows = session.query(&sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    assert!(rows.len() <= 1, "{sql_id} is one text: {rows:?}");
    rows.into_iter().next().map(|row| match &row[..] {
        [Value::Text(text), Value::Number(n)] => (text.clone(), n.as_i64().expect("a whole number")),
        other => panic!("{other:?}"),
    })
}

#[track_caller]
fn assert_ran(session: &mut Client, sql_id: &str, text: &str, executions: i64) {
    assert_eq!(in_v_sql(session, sql_id), Some((text.to_owned(), executions)), "{sql_id}");
}

#[test]
fn published_sql_ids_with_their_executions() {
    let instance = instance();
    let mut admin = instance.connect(&Credentials::Sysdba).expect("the owner connects");
    run(&mut admin, "create user user1 identified by user1 default tablespace users quota unlimited on users");
    run(&mut admin, "grant connect, resource to user1");
    let mut user = instance.connect(&Credentials::password("user1", "user1")).expect("user1 connects");

    // A statement of the session itself keeps its bytes: the hash is over the text without its terminator.
    for _ in 0..3 {
        run(&mut user, "select * from dual");
    }
    assert_ran(&mut admin, "a5ks9fhw2v9s1", "select * from dual", 3);
    run(&mut user, "SELECT * FROM dual");
    assert_ran(&mut admin, "a5ks9fhw2v9s1", "select * from dual", 3);

    // Sessions share the statement.
    run(&mut admin, "select * from dual");
    assert_ran(&mut admin, "a5ks9fhw2v9s1", "select * from dual", 4);

    run(&mut user, "create table cf1 (custid number(8), c2 varchar2(128))");
    run(&mut user, "insert into cf1 select level, 'X' from dual connect by level <= 600");
    run(&mut user, "commit");
    let readers = [
        // The reader of the first kit.
        (
            "custid > v_r - 256 AND custid < v_r",
            "68vu5q46nu22s",
            "SELECT COUNT(C2) FROM CF1 WHERE CUSTID > :B1 - 256 AND CUSTID < :B1 ",
        ),
        // The readers of the second kit, whose range is a variable: of 2013, and later.
        (
            "custid > ( v_r - v_scale ) AND (custid < v_r)",
            "309mwpa4tk161",
            "SELECT COUNT(C2) FROM CF1 WHERE CUSTID > ( :B1 - :B2 ) AND (CUSTID < :B1 )",
        ),
        (
            "( custid > ( v_r - v_scale ) ) AND  (custid < v_r)",
            "bhdvtsvjhgvrh",
            "SELECT COUNT(C2) FROM CF1 WHERE ( CUSTID > ( :B1 - :B2 ) ) AND (CUSTID < :B1 )",
        ),
    ];
    for (n, (range, sql_id, text)) in (1..).zip(readers) {
        let rounds = 10 * n;
        let block = format!(
            "DECLARE\n x NUMBER := 0;\n v_r PLS_INTEGER;\n v_scale PLS_INTEGER := 256;\nBEGIN\n dbms_random.initialize(UID * 7777);\n\
             FOR i IN 1..{rounds} LOOP\n v_r := dbms_random.value(257, 600);\n \
             SELECT COUNT(c2) into x FROM cf1\n where {range};\n\
             if x <> 255 then raise_application_error(-20000, x); end if;\nEND LOOP;\nEND;"
        );
        run(&mut user, &block);
        assert_ran(&mut admin, sql_id, text, rounds);
    }

    // A procedure: its cursor stays open between calls, and each execution counts.
    run(
        &mut admin,
        "create or replace procedure nls_select(p_cnt number) as\n l_val VARCHAR2 (256 Byte);\nbegin\nfor i in 1..p_cnt loop\n \
         select value into l_val from nls_database_parameters where parameter = 'NLS_CHARACTERSET';\nend loop;\nend;",
    );
    run(&mut admin, "begin nls_select(50); nls_select(50); end;");
    run(&mut admin, "begin nls_select(7); end;");
    let text = "SELECT VALUE FROM NLS_DATABASE_PARAMETERS WHERE PARAMETER = 'NLS_CHARACTERSET'";
    assert_ran(&mut admin, "7mgsfc44trnr8", text, 107);
}
