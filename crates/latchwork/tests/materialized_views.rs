//! Materialized views: their rows are those of the query at the last refresh, whoever reads meanwhile.

mod support;

use client::{Client, Credentials, Ephemeral};
use support::{connect, one, refused, run, start, words};

fn user(instance: &Ephemeral, name: &str) -> Client {
    let mut s = connect(instance);
    run(&mut s, &format!("create user {name} identified by pw quota unlimited on users default tablespace users"));
    run(&mut s, &format!("grant create session, create table, create materialized view, create procedure to {name}"));
    instance.connect(&Credentials::password(name, "pw")).expect("a session")
}

#[test]
fn a_refresh_brings_the_rows_that_the_query_has_now() {
    let instance = start(&[]);
    let mut c = user(&instance, "mv");
    run(&mut c, "create table t (k number primary key, g varchar2(3), v number)");
    run(&mut c, "insert into t select level, 'g' || mod(level, 3), level from dual connect by level <= 300");
    run(&mut c, "commit");
    run(
        &mut c,
        "create materialized view sums (g, total) build immediate refresh complete on demand enable query rewrite \
         as select g, sum(v) from t group by g",
    );
    run(&mut c, "create unique index sums_g on sums (g)");
    let query = "select g, total from sums order by g";
    let before = [["g0", "15150"], ["g1", "14950"], ["g2", "15050"]];
    assert_eq!(words(&mut c, query), before);
    run(&mut c, "update t set v = v + 1");
    run(&mut c, "insert into t values (1000, 'new', 5)");
    assert_eq!(words(&mut c, query), before);
    // The refresh commits the changes of its session.
    run(&mut c, "begin dbms_mview.refresh('sums', 'C'); end;");
    let after = [["g0", "15250"], ["g1", "15050"], ["g2", "15150"], ["new", "5"]];
    assert_eq!(words(&mut c, query), after);
    assert_eq!(one(&mut c, "select /*+ index(s sums_g) */ total from sums s where g = 'new'"), "5");
    assert_eq!(
        words(
            &mut c,
            "select mview_name, refresh_mode, refresh_method, build_mode, rewrite_enabled, last_refresh_type, \
             nvl2(last_refresh_date, 'Y', 'N'), query from user_mviews"
        ),
        [["SUMS", "DEMAND", "COMPLETE", "IMMEDIATE", "Y", "COMPLETE", "Y", "select g, sum(v) from t group by g"]]
    );
    assert_eq!(
        words(&mut c, "select object_type from user_objects where object_name = 'SUMS' order by 1"),
        [["MATERIALIZED VIEW"], ["TABLE"]]
    );
    // A refresh that fails leaves the rows.
    run(&mut c, "create materialized view keyed refresh force as select g, v from t where k < 1000");
    run(&mut c, "alter table keyed add constraint keyed_u unique (v)");
    run(&mut c, "update t set v = 7 where k in (20, 30)");
    let e = refused(&mut c, "begin dbms_mview.refresh('keyed'); end;");
    assert!(e.contains("ORA-12008") && e.contains("ORA-00001"), "{e}");
    assert_eq!(one(&mut c, "select count(*) || ' ' || count(distinct v) from keyed"), "300 300");
    run(&mut c, "drop table t");
    let e = refused(&mut c, "begin dbms_mview.refresh('sums'); end;");
    assert!(e.contains("ORA-12008") && e.contains("ORA-00942"), "{e}");
    assert_eq!(words(&mut c, query), after);
    run(&mut c, "drop materialized view sums");
    assert!(refused(&mut c, query).contains("ORA-00942"));
    assert_eq!(one(&mut c, "select count(*) from user_objects where object_name like 'SUMS%'"), "0");
}

#[test]
fn nothing_but_a_refresh_changes_the_rows() {
    let instance = start(&[]);
    let mut c = user(&instance, "mv");
    run(&mut c, "create table t (k number primary key)");
    run(&mut c, "create materialized view m build deferred as select k, k + 1 next from t");
    run(&mut c, "create materialized view never never refresh as select k from t");
    run(&mut c, "insert into t values (1)");
    run(&mut c, "commit");
    assert_eq!(one(&mut c, "select count(*) from m"), "0");
    for (statement, error) in [
        ("insert into m values (1, 2)", "ORA-01732"),
        ("update m set k = 1", "ORA-01732"),
        ("delete from m", "ORA-01732"),
        ("merge into m using t on (m.k = t.k) when matched then update set next = 0", "ORA-01732"),
        ("drop table m", "ORA-12083"),
        ("rename m to n", "ORA-32318"),
        ("alter table m rename to n", "ORA-32318"),
        ("alter table m add (x number)", "ORA-03001"),
        ("drop materialized view t", "ORA-12003"),
        ("create materialized view m as select 1 one from dual", "ORA-00955"),
        ("create materialized view f refresh fast as select k from t", "ORA-23413"),
        ("create materialized view f refresh on commit as select k from t", "ORA-03001"),
        ("create materialized view f refresh start with sysdate next sysdate + 1 as select k from t", "ORA-03001"),
        ("create materialized view f on prebuilt table as select k from t", "ORA-03001"),
        ("create materialized view f for update as select k from t", "ORA-03001"),
        ("create materialized view f sometimes as select k from t", "ORA-00905"),
        ("create materialized view f as select k + 1 from t", "ORA-00998"),
        ("create materialized view f as select x from t", "ORA-00904"),
        ("begin dbms_mview.refresh('t'); end;", "ORA-23401"),
        ("begin dbms_mview.refresh('m', 'F'); end;", "ORA-12004"),
        ("begin dbms_mview.refresh('never'); end;", "ORA-23538"),
    ] {
        let e = refused(&mut c, statement);
        assert!(e.contains(error), "{statement}: {e}");
    }
    run(&mut c, "begin dbms_mview.refresh(list => 'm, m', method => 'C?', atomic_refresh => false); end;");
    assert_eq!(words(&mut c, "select * from m"), [["1", "2"]]);
    // The query has the names and rights of the owner, and other users need a privilege.
    let mut other = user(&instance, "other");
    assert!(refused(&mut other, "begin dbms_mview.refresh('mv.m'); end;").contains("ORA-23401"));
    assert!(refused(&mut other, "drop materialized view mv.m").contains("ORA-01031"));
    assert!(refused(&mut other, "select * from mv.m").contains("ORA-00942"));
    let mut s = connect(&instance);
    run(&mut s, "insert into mv.t values (5)");
    run(&mut s, "begin dbms_mview.refresh('mv.m'); end;");
    run(&mut c, "grant select on m to other");
    assert_eq!(one(&mut other, "select sum(next) from mv.m"), "8");
    drop(c);
    drop(other);
    support::until("the sessions have ended", || s.execute("drop user mv cascade", &[]).is_ok());
    assert_eq!(one(&mut s, "select count(*) from dba_mviews"), "0");
}

#[test]
fn a_query_that_reads_during_a_refresh_sees_the_old_rows_or_fails() {
    let instance = start(&[]);
    let mut c = user(&instance, "mv");
    run(&mut c, "create table t (k number, pad varchar2(300))");
    run(&mut c, "insert into t select level, rpad('x', 300, 'x') from dual connect by level <= 2000");
    run(&mut c, "commit");
    run(&mut c, "create materialized view m as select * from t");
    let mut reader = instance.connect(&Credentials::password("mv", "pw")).expect("a session");
    reader.set_fetch_size(3);
    let mut q = reader.query("select k from m", &[]).expect("a query");
    let mut seen = 0;
    let mut failed = false;
    loop {
        match q.next_row() {
            Ok(Some(_)) => seen += 1,
            Ok(None) => break,
            Err(e) => {
                assert!(e.to_string().contains("ORA-08103"), "{e}");
                failed = true;
                break;
            }
        }
        if seen == 10 {
            run(&mut c, "delete from t where k > 5");
            run(&mut c, "begin dbms_mview.refresh('m'); end;");
        }
    }
    assert!(failed || seen == 2000, "{seen} rows");
    assert_eq!(one(&mut c, "select count(*) from m"), "5");
}
