//! Two-phase commit across deaths of the instance: prepared transactions wait for their outcome, others are rolled
//! back.

use crate::common::{Database, error, eventually, number, rows, run};
use client::{Client, Credentials};

/// Calls DBMS_XA, and expects this code.
fn xa(c: &mut Client, call: &str, code: i64) {
    if let Err(e) = try_xa(c, call, code) {
        panic!("{call}: {e}");
    }
}

fn try_xa(c: &mut Client, call: &str, code: i64) -> client::ClientResult<()> {
    let block = format!(
        "declare n pls_integer; begin n := dbms_xa.{call}; if n <> {code} then \
         raise_application_error(-20000, n || ', ORA-' || dbms_xa.xa_getlastoer); end if; end;"
    );
    c.execute(&block, &[]).map(drop)
}

/// A branch that has inserted `rows` rows with this number, and changed row 0.
fn ended(c: &mut Client, n: u32, rows: u32) {
    xa(c, &format!("xa_start(dbms_xa_xid({n}), dbms_xa.tmnoflags)"), 0);
    run(c, &[&format!("insert into t select {n}, level, rpad('x', 200, 'x') from dual connect by level <= {rows}")]);
    run(c, &[&format!("update t set b = b + 1 where n = 0 and b = -{n}")]);
    xa(c, &format!("xa_end(dbms_xa_xid({n}), dbms_xa.tmsuccess)"), 0);
}

const TABLE: &[&str] = &[
    "create table t (n number, b number, c varchar2(200))",
    "create index i on t (n, b)",
    "insert into t select 0, -level, 'before' from dual connect by level <= 9",
    "commit",
];
const PENDING: &str = "select count(*) from dba_2pc_pending where state = 'prepared'";
const KEPT: &str = "select count(*) from t where n = 0 and b < 0 and c = 'before'";

#[test]
fn what_is_prepared_survives_the_instance_and_waits_for_its_outcome() {
    let db = Database::new("prepared");
    db.start();
    let mut c = db.connect();
    run(&mut c, TABLE);
    // More undo than a block holds, and more than the logs between two checkpoints.
    for n in 1..=4 {
        ended(&mut c, n, 2000);
    }
    for n in 1..=3 {
        xa(&mut c, &format!("xa_prepare(dbms_xa_xid({n}))"), 0);
    }
    // One is not prepared, and one has an attached session.
    xa(&mut c, "xa_start(dbms_xa_xid(5), dbms_xa.tmnoflags)", 0);
    run(&mut c, &["insert into t values (5, 5, null)"]);
    assert!(error(&mut c, "commit").contains("ORA-02089"));
    assert!(error(&mut c, "rollback").contains("ORA-02074"));
    // Nor one without a coordinator, since no session could end it later.
    let mut suspended = db.connect();
    let start = |id: &str, how: u32| {
        format!("declare r raw(64); begin r := dbms_transaction.start_transaction('{id}', 1, 600, {how}); end;")
    };
    let many = "insert into t select 6, level, rpad('x', 200, 'x') from dual connect by level <= 2000";
    run(&mut suspended, &[&start("AB", 1), many, "begin dbms_transaction.suspend_transaction; end;"]);
    let mut works = db.connect();
    run(&mut works, &[&start("AC", 1), "insert into t values (6, 6, null)"]);
    db.kill();
    db.start();
    let mut c = db.connect();
    for id in ["AB", "AC"] {
        assert!(error(&mut c, &start(id, 2)).contains("ORA-26218"));
    }
    assert_eq!(number(&mut c, PENDING), 3);
    assert_eq!(number(&mut c, "select count(*) from v$global_transaction where state = 'PREPARED'"), 3);
    assert_eq!(number(&mut c, "select count(*) from t"), 9, "readers see what was before");
    assert_eq!(number(&mut c, KEPT), 9);
    let refused = error(&mut c, "update t set c = 'x' where n = 0 and b = -1");
    assert!(refused.contains("ORA-01591"), "{refused}");
    run(
        &mut c,
        &["update t set c = 'x' where n = 0 and b = -5", "rollback", "insert into t values (9, 9, null)", "rollback"],
    );
    let refused = error(&mut c, "drop table t");
    assert!(refused.contains("ORA-00054"), "{refused}");
    // It is unknown how long it would wait.
    let refused = error(&mut c, "create index j on t (c) online");
    assert!(refused.contains("ORA-01591"), "{refused}");
    let refused = error(&mut c, "alter index i rebuild online");
    assert!(refused.contains("ORA-01591"), "{refused}");
    assert_eq!(
        rows(&mut c, "select index_name || ' ' || status from user_indexes where table_name = 'T'"),
        ["I VALID"]
    );
    xa(&mut c, "xa_commit(dbms_xa_xid(4), true)", -4);
    xa(&mut c, "xa_rollback(dbms_xa_xid(5))", -4);
    // The coordinator ends the first one; the others are ended by hand, one of them in the next instance.
    xa(&mut c, "xa_commit(dbms_xa_xid(1), false)", 0);
    let local = |c: &mut Client, n: u32| {
        let global = format!("select local_tran_id from dba_2pc_pending where global_tran_id like '0.{n:08X}.%'");
        rows(c, &global).remove(0)
    };
    let (second, third) = (local(&mut c, 2), local(&mut c, 3));
    run(&mut c, &[&format!("rollback force '{second}'")]);
    assert!(error(&mut c, &format!("commit force '{second}'")).contains("ORA-02058"));
    let forced = "select state || ' ' || mixed || ' ' || nvl2(force_time, 'forced', 'not') || ' ' || db_user \
                  from dba_2pc_pending order by 1";
    assert_eq!(rows(&mut c, forced), ["forced rollback no forced SYS", "prepared no not SYS"]);
    assert_eq!(
        rows(&mut c, "select formatid, globalid, branchid from dba_pending_transactions"),
        ["0|00000003|00000001"]
    );
    xa(&mut c, "xa_commit(dbms_xa_xid(2), false)", 6);
    xa(&mut c, "xa_forget(dbms_xa_xid(2))", 0);
    others_may_end_it_with_a_privilege_only(&db, &mut c, &third);
    drop(c);
    // A prepared transaction is no damage, but is mentioned.
    let said = db.verify();
    let told: Vec<_> = said.lines().filter(|line| line.starts_with("note: transaction")).collect();
    assert_eq!(told, [format!("note: transaction {third} is prepared and waits for its outcome")]);
    db.start();
    let mut c = db.connect();
    assert_eq!(number(&mut c, PENDING), 1, "a clean stop is no outcome");
    run(&mut c, &[&format!("commit force '{third}'")]);
    let left = rows(&mut c, "select n, count(*), min(b), max(b) from t where n > 0 group by n order by n");
    assert_eq!(left, ["1|2000|1|2000", "3|2000|1|2000"]);
    assert_eq!(rows(&mut c, "select b from t where n = 0 order by b desc").join(" "), "0 -2 -2 -4 -5 -6 -7 -8 -9");
    assert_eq!(number(&mut c, "select /*+ index(t i) */ count(*) from t where n > 0"), 4000);
    db.kill();
    db.start();
    assert_eq!(number(&mut db.connect(), "select count(*) from t where n > 0"), 4000);
    assert_eq!(number(&mut db.connect(), PENDING), 0);
    db.verify();
}

/// Branch 3 is prepared and belongs to SYS; `third` is its local number.
fn others_may_end_it_with_a_privilege_only(db: &Database, c: &mut Client, third: &str) {
    run(c, &["create user other identified by \"Tiger1\"", "grant create session to other"]);
    let other = || {
        let user = Credentials::password("other", "Tiger1");
        Client::connect(db.path(), &user).unwrap_or_else(|e| panic!("a session opens: {e}"))
    };
    let mut o = other();
    for call in ["xa_commit(dbms_xa_xid(3), false)", "xa_rollback(dbms_xa_xid(3))", "xa_prepare(dbms_xa_xid(3))"] {
        xa(&mut o, call, -3);
    }
    xa(&mut o, "xa_recover().count", 0);
    for granted in ["", "grant force transaction to other"] {
        run(c, &[granted].iter().copied().filter(|sql| !sql.is_empty()).collect::<Vec<_>>());
        for what in ["commit", "rollback"] {
            let refused = error(&mut other(), &format!("{what} force '{third}'"));
            assert!(refused.contains("ORA-01031"), "{refused}");
        }
    }
    run(c, &["grant force any transaction to other"]);
    // A transaction without a session belongs to its user alone.
    let start = |how: u32| {
        format!("declare r raw(64); begin r := dbms_transaction.start_transaction('AD', 1, 600, {how}); end;")
    };
    run(c, &[&start(1), "begin dbms_transaction.suspend_transaction; end;"]);
    for (how, code) in [(1, "ORA-26217"), (2, "ORA-26218")] {
        let refused = error(&mut other(), &start(how));
        assert!(refused.contains(code), "{refused}");
    }
    run(c, &[&start(2), "rollback"]);
    // A branch that is not resumed in time is rolled back.
    let brief = "declare r raw(64); begin r := dbms_transaction.start_transaction('AE', 1, 1, 1); \
                 insert into t values (7, 7, null); dbms_transaction.suspend_transaction; end;";
    run(c, &[brief]);
    eventually("it has ended", || number(c, "select count(*) from v$global_transaction where globalid = 'AE'") == 0);
    assert!(error(c, &start(2).replace("AD", "AE")).contains("ORA-26218"));
    xa(&mut other(), "xa_recover().count", 1);
    assert_eq!(number(c, PENDING), 1);
}

/// The places where the instance dies: in the call that prepares, commits or rolls back; and the possible states of the
/// branch afterwards: gone, prepared, committed.
const DEATHS: &[(&str, &str, &str)] = &[
    ("branch-locks-noted:1", "prepare", "gone"),
    ("branch-preparing:1", "prepare", "gone"),
    ("branch-prepare-logged:1", "prepare", "gone prepared"),
    ("branch-prepared:1", "prepare", "gone prepared"),
    ("branch-taken:2", "commit", "prepared"),
    ("branch-ended:1", "commit", "prepared committed"),
    ("branch-taken:2", "rollback", "prepared"),
    ("branch-not-prepared:1", "rollback", "prepared gone"),
];

#[test]
fn the_instance_may_die_at_any_step_of_both_phases() {
    let db = Database::new("prepared-steps");
    db.start();
    run(&mut db.connect(), TABLE);
    db.stop();
    for (at, (point, call, may_be)) in DEATHS.iter().enumerate() {
        let plan = format!("_crash_point={point}");
        let (code, text) = db.program(&["start", "--param", "_disk_sync=false", "--param", &plan]);
        assert_eq!(code, 0, "{text}");
        let (mut c, n) = (db.connect(), at as u32 + 10);
        ended(&mut c, n, 500);
        let prepares = *call == "prepare";
        if !prepares {
            xa(&mut c, &format!("xa_prepare(dbms_xa_xid({n}))"), 0);
        }
        let arguments = if *call == "commit" { ", false" } else { "" };
        assert!(try_xa(&mut c, &format!("xa_{call}(dbms_xa_xid({n}){arguments})"), 0).is_err(), "{point}");
        eventually("the instance is gone", || db.program(&["status"]).0 == 3);
        db.start();
        let mut c = db.connect();
        let is = match (number(&mut c, PENDING), number(&mut c, &format!("select count(*) from t where n = {n}"))) {
            (0, 0) => "gone",
            (1, 0) => "prepared",
            (0, 500) => "committed",
            other => panic!("{point} {call}: {other:?}"),
        };
        assert!(may_be.split(' ').any(|one| one == is), "{point} {call}: {is}");
        if is == "prepared" {
            xa(&mut c, &format!("xa_rollback(dbms_xa_xid({n}))"), 0);
            assert_eq!(number(&mut c, &format!("select count(*) from t where n = {n}")), 0);
        }
        xa(&mut c, &format!("xa_prepare(dbms_xa_xid({n}))"), -4);
        assert_eq!(number(&mut c, KEPT), 9);
        drop(c);
        db.verify();
    }
}

#[test]
fn tables_that_a_prepared_transaction_has_locked_are_locked_after_a_start() {
    let db = Database::new("prepared-locks");
    db.start();
    let mut c = db.connect();
    let iot = |name: &str| format!("create table {name} (n number primary key, c varchar2(200)) organization index");
    for name in ["one", "two", "three"] {
        run(&mut c, &[&iot(name), &format!("insert into {name} select level, 'x' from dual connect by level <= 10")]);
    }
    // More locks than one record can list.
    let each = |what: &str| format!("begin for i in 1 .. 250 loop execute immediate '{what}'; end loop; end;");
    run(&mut c, &["commit", "create table shared (n number)", &each("create table l' || i || ' (n number)")]);
    xa(&mut c, "xa_start(dbms_xa_xid(1), dbms_xa.tmnoflags)", 0);
    for name in ["one", "two", "three"] {
        run(&mut c, &[&format!("update {name} set c = 'p' where n = 1")]);
        run(
            &mut c,
            &[&format!("insert into {name} select 100 + level, rpad('y', 150) from dual connect by level < 99")],
        );
    }
    run(&mut c, &["lock table shared in share mode", &each("lock table l' || i || ' in row share mode")]);
    xa(&mut c, "xa_end(dbms_xa_xid(1), dbms_xa.tmsuccess)", 0);
    xa(&mut c, "xa_prepare(dbms_xa_xid(1))", 0);
    let refused = [
        "drop table one purge",
        "truncate table two",
        "alter table three move",
        "lock table three in share mode nowait",
        "lock table shared in row exclusive mode nowait",
        "lock table l1 in exclusive mode nowait",
        "lock table l130 in exclusive mode nowait",
        "lock table l250 in exclusive mode nowait",
    ];
    let goes = ["lock table shared in share mode nowait", "lock table l250 in row exclusive mode nowait", "rollback"];
    let locks = "select count(*) from v$lock where type = 'TM' and lmode in (2, 3, 4)";
    for start in 0..3 {
        for sql in refused {
            let text = error(&mut c, sql);
            assert!(text.contains("ORA-00054"), "{start} {sql}: {text}");
        }
        run(&mut c, &goes);
        assert_eq!(number(&mut c, locks), 254);
        if start == 0 {
            db.kill();
        } else {
            db.stop();
        }
        db.start();
        c = db.connect();
    }
    xa(&mut c, "xa_commit(dbms_xa_xid(1), false)", 0);
    assert_eq!(number(&mut c, locks), 0);
    for name in ["one", "two", "three"] {
        assert_eq!(number(&mut c, &format!("select count(*) from {name} where n > 100 or c = 'p'")), 99);
    }
    run(&mut c, &["drop table one purge", "truncate table two", "alter table three move", "drop table l250"]);
    drop(c);
    db.verify();
}

/// A branch that the session has left after these statements.
fn left_with(c: &mut Client, n: u32, statements: &[&str]) {
    xa(c, &format!("xa_start(dbms_xa_xid({n}), dbms_xa.tmnoflags)"), 0);
    run(c, statements);
    xa(c, &format!("xa_end(dbms_xa_xid({n}), dbms_xa.tmsuccess)"), 0);
}

#[test]
fn rows_of_temporary_tables_share_the_fate_of_their_branch() {
    let db = Database::new("prepared-temporary");
    db.start();
    let (mut c, mut other) = (db.connect(), db.connect());
    run(
        &mut c,
        &[
            "create table t (n number)",
            "create global temporary table kept (n number primary key) on commit preserve rows",
            "create global temporary table passing (n number) on commit delete rows",
            "insert into kept values (9)",
            "commit",
        ],
    );
    let kept = |c: &mut Client| rows(c, "select n from kept order by n").join(" ");
    let change = &["insert into kept select level from dual connect by level < 3", "delete from kept where n = 9"];
    // The session ends it itself: a prepared one, one that is not, and one whose rows were deleted when the session
    // left it.
    left_with(&mut c, 1, change);
    xa(&mut c, "xa_rollback(dbms_xa_xid(1))", 0);
    assert_eq!(kept(&mut c), "9");
    left_with(&mut c, 2, &[change[0], change[1], "insert into passing values (1)", "insert into t values (1)"]);
    xa(&mut c, "xa_prepare(dbms_xa_xid(2))", 0);
    xa(&mut c, "xa_rollback(dbms_xa_xid(2))", 0);
    assert_eq!(kept(&mut c), "9");
    left_with(&mut c, 3, change);
    xa(&mut c, "xa_start(dbms_xa_xid(3), dbms_xa.tmresume)", 0);
    assert_eq!(kept(&mut c), "1 2");
    xa(&mut c, "xa_end(dbms_xa_xid(3), dbms_xa.tmsuccess)", 0);
    xa(&mut c, "xa_rollback(dbms_xa_xid(3))", 0);
    assert_eq!(kept(&mut c), "9");
    run(&mut c, &["insert into kept values (1)", "rollback"]);
    // Another session ends it: its new rows are present, those that it deleted are not.
    left_with(&mut c, 4, change);
    xa(&mut other, "xa_commit(dbms_xa_xid(4), true)", 0);
    assert_eq!(kept(&mut c), "1 2");
    left_with(&mut c, 5, &["insert into kept values (3)"]);
    xa(&mut other, "xa_rollback(dbms_xa_xid(5))", 0);
    assert_eq!(kept(&mut c), "", "nobody could put them back");
    run(&mut c, &["insert into kept values (3)", "commit"]);
    assert_eq!(kept(&mut c), "3");
    // The session has begun to change them again.
    left_with(&mut c, 6, &["insert into kept values (4)"]);
    run(&mut c, &["insert into kept values (5)"]);
    xa(&mut other, "xa_rollback(dbms_xa_xid(6))", 0);
    let refused = error(&mut c, "select n from kept");
    assert!(refused.contains("ORA-14450"), "{refused}");
    run(&mut c, &["rollback"]);
    assert_eq!(kept(&mut c), "");
    // The rows were deleted in between, and new ones were added in the branch.
    left_with(&mut c, 8, &["insert into kept values (1)"]);
    run(&mut c, &["truncate table kept", "insert into kept values (2)", "commit"]);
    xa(&mut c, "xa_rollback(dbms_xa_xid(8))", 0);
    assert_eq!(kept(&mut c), "2");
    left_with(&mut c, 9, &["insert into kept values (1)"]);
    run(&mut c, &["truncate table kept"]);
    xa(&mut c, "xa_start(dbms_xa_xid(9), dbms_xa.tmresume)", 0);
    run(&mut c, &["insert into kept values (3)"]);
    xa(&mut c, "xa_end(dbms_xa_xid(9), dbms_xa.tmsuccess)", 0);
    xa(&mut c, "xa_rollback(dbms_xa_xid(9))", 0);
    assert_eq!(kept(&mut c), "");
    // Another session leaves rows of its own in the branch.
    run(&mut other, &["insert into kept values (7)", "commit"]);
    left_with(&mut c, 7, &["insert into kept values (1)"]);
    xa(&mut other, "xa_start(dbms_xa_xid(7), dbms_xa.tmresume)", 0);
    run(&mut other, &["insert into kept values (2)"]);
    xa(&mut other, "xa_end(dbms_xa_xid(7), dbms_xa.tmsuccess)", 0);
    xa(&mut c, "xa_rollback(dbms_xa_xid(7))", 0);
    assert_eq!((kept(&mut c), kept(&mut other)), (String::new(), String::new()));
    drop((c, other));
    db.verify();
}

#[test]
fn a_rollback_that_was_answered_stays_one() {
    let db = Database::new("prepared-rolled-back");
    db.start();
    let mut c = db.connect();
    run(&mut c, TABLE);
    for n in 1..=2 {
        ended(&mut c, n, 2);
        xa(&mut c, &format!("xa_prepare(dbms_xa_xid({n}))"), 0);
        let local = rows(&mut c, "select local_tran_id from dba_2pc_pending").remove(0);
        match n {
            1 => xa(&mut c, "xa_rollback(dbms_xa_xid(1))", 0),
            _ => run(&mut c, &[&format!("rollback force '{local}'")]),
        }
        db.kill();
        db.start();
        c = db.connect();
        assert_eq!(number(&mut c, PENDING), 0);
        assert_eq!(number(&mut c, KEPT), 9);
    }
    drop(c);
    db.verify();
}
