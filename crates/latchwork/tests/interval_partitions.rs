//! INTERVAL partitioning: partitions that sessions make for their rows, alone and at the same time, and their DDL.

mod support;

use client::Credentials;
use support::{connect, one, refused, run, start, words};

const MONTHS: &str = "create table s (d date, n number, constraint s_pk primary key (n, d) using index local) \
    partition by range (d) interval (numtoyminterval(1, 'MONTH')) \
    (partition p0 values less than (date '2020-01-01'))";

#[test]
fn inserted_rows_get_the_partitions_of_their_months() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, MONTHS);
    run(&mut c, "create index s_n on s (n)");
    run(&mut c, "insert into s values (date '2019-05-01', 1)");
    run(&mut c, "insert into s values (date '2020-03-31', 2)");
    run(
        &mut c,
        "insert into s select add_months(date '2020-01-15', mod(level, 24)), level + 10 from dual connect by level <= 480",
    );
    run(&mut c, "rollback");
    // The partitions stay when the rows go.
    let partitions =
        "select count(*), sum(decode(interval, 'YES', 1, 0)) from user_tab_partitions where table_name = 'S'";
    assert_eq!(words(&mut c, partitions), [["25", "24"]]);
    run(
        &mut c,
        "insert into s select add_months(date '2020-01-15', mod(level, 24)), level from dual connect by level <= 480",
    );
    run(&mut c, "commit");
    assert_eq!(one(&mut c, "select count(*) from s partition for (date '2020-03-01')"), "20");
    assert_eq!(one(&mut c, "select count(*) from s where d >= date '2020-03-01' and d < date '2020-06-01'"), "60");
    assert_eq!(one(&mut c, "select count(*) from s where n = 17"), "1");
    assert_eq!(
        words(
            &mut c,
            "select high_value, partition_position from user_tab_partitions where table_name = 'S' and partition_position < 3"
        ),
        [
            ["TO_DATE(' 2020-01-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')", "1"],
            ["TO_DATE(' 2020-02-01 00:00:00', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')", "2"],
        ]
    );
    assert_eq!(
        words(&mut c, "select partition_count, interval from user_part_tables where table_name = 'S'"),
        [["1048575", "NUMTOYMINTERVAL(1,'MONTH')"]]
    );
    assert_eq!(
        one(&mut c, "select count(*) from user_tab_partitions where partition_name like 'SYS\\_P%' escape '\\'"),
        "24"
    );
    for (insert, error) in [
        ("insert into s values (null, 1)", "ORA-01400"),
        ("insert into s values (date '9999-12-31', 1)", "ORA-14300"),
        ("insert into s partition (p0) values (date '2030-01-01', 1)", "ORA-14401"),
    ] {
        let e = refused(&mut c, insert);
        assert!(e.contains(error), "{insert}: {e}");
    }
    // An update moves a row into a partition that it makes.
    assert!(refused(&mut c, "update s set d = date '2031-01-01' where n = 5").contains("ORA-14402"));
    run(&mut c, "alter table s enable row movement");
    run(&mut c, "update s set d = date '2031-01-01' where n = 5");
    assert_eq!(one(&mut c, "select n from s partition for (date '2031-01-31')"), "5");
    run(&mut c, "commit");
    // A gap has no partition; a key in it is in none of the neighbours.
    assert!(refused(&mut c, "alter table s truncate partition for (date '2030-01-01')").contains("ORA-02149"));
    assert_eq!(one(&mut c, "select count(*) from s where d = date '2030-01-01'"), "0");
    run(&mut c, "insert into s values (date '2030-01-01', 7000)");
    assert_eq!(one(&mut c, "select count(*) from s partition for (date '2030-01-01')"), "1");
    run(&mut c, "commit");
}

#[test]
fn numbers_days_and_timestamps_have_intervals() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(
        &mut c,
        "create table t (k number, v number) partition by range (k) interval (10) (partition p values less than (0))",
    );
    run(&mut c, "insert into t select level * 3.5, level from dual connect by level <= 100");
    assert_eq!(one(&mut c, "select count(*) from user_tab_partitions where table_name = 'T'"), "37");
    assert_eq!(one(&mut c, "select count(*) from t partition for (14)"), "3");
    assert_eq!(one(&mut c, "select count(*) from t"), "100");
    assert!(refused(&mut c, "insert into t values (null, 1)").contains("ORA-14400"));
    run(&mut c, "insert into t values (-5, 1)");
    run(
        &mut c,
        "create table ts (at timestamp, v number) partition by range (at) interval (numtodsinterval(7, 'DAY')) \
         (partition p values less than (timestamp '2021-01-04 00:00:00'))",
    );
    run(&mut c, "insert into ts values (timestamp '2021-01-10 23:59:59.999999', 1)");
    run(&mut c, "insert into ts values (timestamp '2021-01-11 00:00:00', 2)");
    assert_eq!(
        words(
            &mut c,
            "select high_value from user_tab_partitions where table_name = 'TS' and interval = 'YES' order by partition_position"
        ),
        [["TIMESTAMP' 2021-01-11 00:00:00'"], ["TIMESTAMP' 2021-01-18 00:00:00'"]]
    );
    run(
        &mut c,
        "create table dd (d date) partition by range (d) interval (interval '1' day) \
         (partition p values less than (to_date('2021-01-01', 'YYYY-MM-DD')))",
    );
    run(&mut c, "insert into dd values (date '2021-01-05' + 0.5)");
    assert_eq!(one(&mut c, "select count(*) from dd partition for (date '2021-01-05')"), "1");
}

#[test]
fn clauses_that_have_no_intervals_are_refused() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    for (by, error) in [
        ("range (d, n) interval (1) (partition p values less than (date '2020-01-01', 1))", "ORA-14750"),
        ("range (v) interval (1) (partition p values less than ('a'))", "ORA-14751"),
        ("range (d) interval (1) (partition p values less than (date '2020-01-01'))", "ORA-14752"),
        ("range (n) interval (0) (partition p values less than (1))", "ORA-14752"),
        ("range (n) interval (n) (partition p values less than (1))", "ORA-14752"),
        ("range (n) interval (1) (partition p values less than (maxvalue))", "ORA-14761"),
        (
            "range (d) interval (numtoyminterval(1, 'MONTH')) (partition p values less than (date '2020-01-31'))",
            "ORA-14767",
        ),
    ] {
        let e = refused(&mut c, &format!("create table t (d date, n number, v varchar2(9)) partition by {by}"));
        assert!(e.contains(error), "{by}: {e}");
    }
    let as_query =
        "create table t partition by range (n) interval (1) (partition p values less than (1)) as select 5 n from dual";
    assert!(refused(&mut c, as_query).contains("ORA-03001"));
    run(
        &mut c,
        "create table t (n number) partition by range (n) interval (10) \
         (partition a values less than (10), partition b values less than (20))",
    );
    run(&mut c, "insert into t values (25)");
    run(&mut c, "insert into t values (45)");
    run(&mut c, "commit");
    for (change, error) in [
        ("add partition c values less than (90)", "ORA-14760"),
        ("drop partition b", "ORA-14758"),
        ("split partition for (25) at (22)", "ORA-03001"),
    ] {
        let e = refused(&mut c, &format!("alter table t {change}"));
        assert!(e.contains(error), "{change}: {e}");
    }
    run(&mut c, "alter table t rename partition for (45) to p45");
    run(&mut c, "alter table t drop partition for (25)");
    run(&mut c, "alter table t drop partition a");
    run(&mut c, "alter table t truncate partition p45");
    run(&mut c, "insert into t values (26)");
    run(&mut c, "commit");
    // Without an interval, the partitions become ranges.
    run(&mut c, "alter table t set interval ()");
    assert!(refused(&mut c, "insert into t values (99)").contains("ORA-14400"));
    run(&mut c, "insert into t values (35)");
    assert_eq!(one(&mut c, "select n from t partition (p45)"), "35");
    assert!(refused(&mut c, "alter table t set interval ()").contains("ORA-14757"));
    run(&mut c, "alter table t set interval (100)");
    run(&mut c, "insert into t values (149)");
    assert_eq!(
        words(
            &mut c,
            "select high_value, interval from user_tab_partitions where table_name = 'T' order by partition_position"
        ),
        [["20", "NO"], ["30", "NO"], ["50", "NO"], ["150", "YES"]]
    );
}

#[test]
fn sessions_that_insert_at_the_same_time_make_one_partition() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(&mut c, MONTHS);
    const SESSIONS: u32 = 4;
    std::thread::scope(|scope| {
        for n in 0..SESSIONS {
            let instance = &instance;
            scope.spawn(move || {
                let mut c = connect(instance);
                for month in 0..12 {
                    let row = format!("insert into s values (add_months(date '2020-01-01', {month}), {n})");
                    c.execute(&row, &[]).expect("an insert");
                    if month % 3 == 0 {
                        c.execute("commit", &[]).expect("a commit");
                    }
                }
                c.execute("commit", &[]).expect("a commit");
            });
        }
    });
    assert_eq!(one(&mut c, "select count(*) from user_tab_partitions where table_name = 'S'"), "13");
    assert_eq!(one(&mut c, "select count(*) from s"), (12 * SESSIONS).to_string());
    let each = "select min(count(*)), max(count(*)) from s group by d";
    assert_eq!(words(&mut c, each), [[SESSIONS.to_string(), SESSIONS.to_string()]]);
}

#[test]
fn triggers_of_an_insert_that_makes_a_partition_fire_once() {
    let instance = start(&[]);
    let mut s = connect(&instance);
    run(&mut s, "create user iv identified by iv quota unlimited on users default tablespace users");
    run(&mut s, "grant create session, create table, create trigger to iv");
    let mut c = instance.connect(&Credentials::password("iv", "iv")).expect("a session");
    run(&mut c, "create table log (what varchar2(20))");
    run(
        &mut c,
        "create table t (n number primary key, parent number references t) \
         partition by range (n) interval (10) (partition a values less than (10))",
    );
    for (name, when) in
        [("t1", "before insert on t"), ("t2", "before insert on t for each row"), ("t3", "after insert on t")]
    {
        run(&mut c, &format!("create trigger {name} {when} begin insert into log values ('{name}'); end;"));
    }
    run(&mut c, "insert into t values (55, 55)");
    run(&mut c, "insert into t select level * 100, level * 100 from dual connect by level <= 3");
    assert_eq!(
        words(&mut c, "select what, count(*) from log group by what order by what"),
        [["t1", "2"], ["t2", "4"], ["t3", "2"]]
    );
    run(
        &mut c,
        "declare type l is table of number; x l := l(1001, 1101, 1201); \
         begin forall i in 1 .. 3 insert into t values (x(i), null); end;",
    );
    run(
        &mut c,
        "merge into t using (select 5001 n from dual) s on (t.n = s.n) when not matched then insert values (s.n, null)",
    );
    assert_eq!(one(&mut c, "select count(*) from t where n > 1000"), "4");
    run(&mut c, "commit");
    assert_eq!(one(&mut c, "select count(*) from user_tab_partitions where table_name = 'T'"), "9");
}

#[test]
fn statistics_count_the_rows_of_each_partition() {
    let instance = start(&[]);
    let mut c = connect(&instance);
    run(
        &mut c,
        "create table t (n number, v varchar2(20)) partition by range (n) interval (100) (partition p values less than (100))",
    );
    run(&mut c, "insert into t select level, 'some text' from dual connect by level <= 250");
    run(&mut c, "commit");
    let of = "select num_rows, sign(blocks), avg_row_len, sample_size from user_tab_partitions where table_name = 'T' \
              order by partition_position";
    assert_eq!(words(&mut c, of)[0][0], "");
    run(&mut c, "begin dbms_stats.gather_table_stats(user, 't'); end;");
    let found = words(&mut c, of);
    let rows: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(rows, ["99", "100", "51"]);
    assert!(found.iter().all(|row| row[1] == "1" && row[3] == row[0]), "{found:?}");
    assert_eq!(
        words(
            &mut c,
            "select object_type, sum(num_rows) from user_tab_statistics where table_name = 'T' group by object_type order by 1"
        ),
        [["PARTITION", "250"], ["TABLE", "250"]]
    );
    run(&mut c, "begin dbms_stats.delete_table_stats(user, 't'); end;");
    assert_eq!(one(&mut c, "select count(num_rows) from user_tab_partitions where table_name = 'T'"), "0");
}
