//! UPDATE and DELETE over full scans: by batches and row by row they change the same rows and raise the same errors.

mod common;

use common::{Instance, Names, Session};
use heap::{HeapTable, Scan};
use std::rc::Rc;
use types::row::RowReader;

/// A table whose rows end early, have NULLs, long values, and rows of several pieces; with indexes.
const SETUP: [&str; 6] = [
    "create table t (id number not null, n number, m number(5,2), txt varchar2(4000), d date, last varchar2(4000))",
    "create index t_n on t (n, id)",
    "create index t_m on t (m desc, d)",
    "insert into t (id, n, m, txt) select level, mod(level, 17), mod(level, 7) / 4, 'row ' || level from dual
     connect by level <= 900",
    "insert into t (id, n, d, last) select 1000 + level, case when mod(level, 3) > 0 then level end,
     date '2026-01-01' + level, rpad('x', level * 13, 'y') from dual connect by level <= 290",
    "insert into t (id, txt, last) select 2000 + level, rpad('p', 3900, 'q'), rpad('r', 3950, 's') from dual
     connect by level <= 12",
];

/// Statements that change many rows; some of them fail at a row in the middle.
const CHANGES: [&str; 35] = [
    "update t set m = m + 0.25",
    "update t set m = m * 2 where n > 3",
    "update t set n = n + 1",
    "update t set n = n + 1, txt = txt || '+', m = null where mod(id, 5) = 0",
    "update t set id = id + 10000 where id < 50",
    "update t set m = 1000 where id = 880",
    "update t set m = case when id = 851 then 1000 else 3 end",
    "update t set id = case when id = 700 then null else id end",
    "update t set m = 1 / (id - 400)",
    "update t set m = 1 / (id - 400) where id > 390 and id < 400",
    "update t set d = d + 1, last = 'z'",
    "update t set last = null where id > 1200",
    "update t set last = rpad('grown', 200, '-') where mod(id, 40) = 1",
    "update t set last = rpad('chained', 3999, '=') where mod(id, 97) = 1",
    "update t set txt = rpad(nvl(txt, 't'), 4001, '!') where id > 2006",
    "update t set txt = substr(txt, 1, 3)",
    "update t set txt = to_char(id), n = length(txt)",
    "update t set n = -n, m = -m",
    "update t set n = n / 3 where mod(id, 2) = 0",
    "update t set n = 123456789012345678901234567890 where mod(id, 11) = 0",
    "update t set n = '77' where mod(id, 13) = 0",
    "update t set n = n * n where id between 100 and 300",
    "update t set n = n, m = m",
    "update t set txt = rowid where id = 5000",
    "update t set n = n + 1 where rowid > 'AAAAAAAAAAAAAAAAAA'",
    "update t set n = (select count(*) from t x where x.id < 20) where id < 30",
    "update t set n = id where 10 / (id - 500) > 0",
    "update t set m = 2 where m is null",
    "update t set d = date '2026-02-03' where d is null and mod(id, 9) = 0",
    "delete from t where mod(id, 10) = 3",
    "delete from t where 10 / (id - 600) > 5",
    "delete from t where n is null",
    "delete from t where id > 2005",
    "update t set n = n + 0.5, txt = 'end ' || id",
    "delete from t where mod(id, 3) = 1",
];

fn lines(s: &mut Session<'_>, query: &str) -> Vec<String> {
    s.run(query).unwrap().iter().map(|row| format!("{row:?}")).collect()
}

/// The outcome of each statement, and what the table and its indexes hold after some of them.
fn history(batches: bool) -> Vec<String> {
    let (instance, names) = (Instance::new(), Rc::new(Names::default()));
    let mut s = Session::new(&instance, &names);
    s.state.options.batches = batches;
    SETUP.iter().for_each(|text| drop(s.run(text).unwrap()));
    s.run("commit").unwrap();
    let mut seen = Vec::new();
    for (n, change) in CHANGES.iter().enumerate() {
        // Each statement is also rolled back once.
        for again in [false, true] {
            seen.push(match s.run_with(change, &[]) {
                Ok((_, rows)) => format!("{change}: {rows} rows"),
                Err(e) => format!("{change}: {e}"),
            });
            seen.extend(lines(&mut s, "select * from t order by id"));
            seen.extend(lines(&mut s, "select /*+ index(t t_n) */ n, id from t where n > -1000 order by n, id"));
            seen.extend(lines(&mut s, "select /*+ index(t t_m) */ m, d, id from t where m > -1000 order by m, d, id"));
            match again {
                false => drop(s.run("rollback").unwrap()),
                true if n % 4 == 3 => drop(s.run("commit").unwrap()),
                true => {}
            }
        }
    }
    seen
}

#[test]
fn batches_change_what_single_rows_change() {
    let (batches, rows) = (history(true), history(false));
    for (a, b) in batches.iter().zip(&rows) {
        assert_eq!(a, b);
    }
    assert_eq!(batches.len(), rows.len());
    let failed = CHANGES.iter().filter(|c| rows.iter().any(|line| line.starts_with(&format!("{c}: ORA-")))).count();
    assert!(failed >= 6, "{failed} statements fail");
}

/// Rows of more than 64 KB: statements that change columns behind the first 64 KB.
const CHANGES_OF_WIDE_ROWS: [&str; 8] = [
    "update w set c18 = rpad('same length', 4000, '-')",
    "update w set c18 = 'shorter'",
    "update w set c18 = rpad('longer', 3999, '+') where id > 2",
    "update w set c17 = 'a', c18 = 'b'",
    "update w set c1 = 'first', c18 = 'last'",
    "update w set c2 = null, c17 = rpad('z', 4000, 'z')",
    "update w set c18 = c1 || c18 where mod(id, 2) = 0",
    "delete from w where id = 3",
];

#[test]
fn columns_behind_the_first_64_kb_of_a_row_are_changed_at_their_place() {
    let columns: Vec<String> = (1..=18).map(|n| format!("c{n} varchar2(4000)")).collect();
    let values: Vec<String> = (1..=18).map(|n| format!("rpad(level || ' c{n} ', 4000, '{}')", n % 10)).collect();
    let history = |batches: bool| {
        let (instance, names) = (Instance::new(), Rc::new(Names::default()));
        let mut s = Session::new(&instance, &names);
        s.state.options.batches = batches;
        s.run(&format!("create table w (id number, {})", columns.join(", "))).unwrap();
        s.run(&format!("insert into w select level, {} from dual connect by level <= 5", values.join(", "))).unwrap();
        s.run("commit").unwrap();
        let mut seen = Vec::new();
        for change in CHANGES_OF_WIDE_ROWS {
            let (_, rows) = s.run_with(change, &[]).unwrap();
            seen.push(format!("{change}: {rows} rows"));
            seen.extend(lines(&mut s, "select * from w order by id"));
            s.run("commit").unwrap();
        }
        seen
    };
    let (batches, rows) = (history(true), history(false));
    for (n, (a, b)) in batches.iter().zip(&rows).enumerate() {
        assert!(a == b, "line {n}: {} and {}", &a[..a.len().min(60)], &b[..b.len().min(60)]);
    }
    assert_eq!(batches.len(), rows.len());
}

#[test]
fn a_short_row_that_becomes_longer_loses_its_padding() {
    let (instance, names) = (Instance::new(), Rc::new(Names::default()));
    let mut s = Session::new(&instance, &names);
    s.run("create table s (n number)").unwrap();
    s.run("insert into s select mod(level, 9) + 1 from dual connect by level <= 300").unwrap();
    s.run("commit").unwrap();
    let (object, segment) = names.heap_of("S");
    let table = HeapTable {
        object,
        data_object: segment.data_object,
        header: segment.header,
        pctfree: segment.pctfree,
        initrans: segment.initrans,
    };
    // The lengths of the rows, and the bytes behind their columns.
    let lengths = |s: &mut Session<'_>| {
        let cx = s.cx();
        let snapshot = cx.shared.txns.snapshot(cx.p, &cx.session.txn);
        let (mut scan, mut found) = (Scan::new(), Vec::new());
        scan.start(cx.shared.heap, cx.p, &snapshot, &table).unwrap();
        while let Some((_, bytes)) = scan.next(cx.shared.heap, cx.p).unwrap() {
            let mut row = RowReader::new(bytes).unwrap();
            for _ in 0..row.count() {
                row.next_column().unwrap();
            }
            found.push((bytes.len(), row.rest().len()));
        }
        cx.shared.txns.release(cx.p, &snapshot);
        found.sort_unstable();
        found.dedup();
        found
    };
    assert_eq!(lengths(&mut s), [(heap::BODY_BYTES_MIN, 2)]);
    s.run("update s set n = 12345678").unwrap();
    assert_eq!(lengths(&mut s), [(7, 0)]);
    assert_eq!(
        s.run("select count(*), min(n), max(n) from s").unwrap(),
        s.run("select 300, 12345678, 12345678 from dual").unwrap()
    );
}

#[test]
fn the_rows_found_are_charged_while_they_are_changed() {
    let (instance, names) = (Instance::new(), Rc::new(Names::default()));
    let mut s = Session::new(&instance, &names);
    s.run("create table c (id number, txt varchar2(4000))").unwrap();
    s.run("insert into c select level, rpad('x', 3900, 'y') from dual connect by level <= 3000").unwrap();
    s.run("commit").unwrap();
    for change in ["update c set id = id + 1", "delete from c where id > 2"] {
        s.state.options.work_area_limit_bytes = 1 << 20;
        let failed = s.run(change).unwrap_err();
        assert!(failed.is(4030), "{change}: {failed}");
        s.run("rollback").unwrap();
        // The rows are found in several batches, and only one of them is in memory.
        s.state.options.work_area_limit_bytes = 9 << 20;
        assert!(s.run_with(change, &[]).unwrap().1 >= 2998, "{change}");
    }
    s.run("commit").unwrap();
}

#[test]
fn the_rows_of_a_batch_are_charged_until_they_are_inserted() {
    let (instance, names) = (Instance::new(), Rc::new(Names::default()));
    let mut s = Session::new(&instance, &names);
    s.run("create table c (id number, txt varchar2(4000))").unwrap();
    s.run("create table d (id number, txt varchar2(4000))").unwrap();
    s.run("create table e (id number)").unwrap();
    s.run("insert into c select level, rpad('x', 3900, 'y') from dual connect by level <= 1500").unwrap();
    s.run("commit").unwrap();
    let fill = "insert into d select id, txt from c";
    s.state.options.work_area_limit_bytes = 1 << 20;
    assert!(s.run(fill).unwrap_err().is(4030));
    assert_eq!(s.run("select count(*) from d").unwrap(), s.run("select 0 from dual").unwrap());
    // Short rows need less.
    assert_eq!(s.run_with("insert into e select id from c", &[]).unwrap().1, 1500);
    // Three batches, of which only one is in memory.
    s.state.options.work_area_limit_bytes = 3 << 20;
    assert_eq!(s.run_with(fill, &[]).unwrap().1, 1500);
    s.run("commit").unwrap();
}
