//! The published way to load a processor with a single block: the counts of each design of the cache, and of each
//! algorithm of CONNECT BY; and the search for the block.

mod support;

use client::Client;
use std::collections::BTreeMap;
use std::time::Duration;
use support::{connect, run, start};
use types::Value;

fn rows(c: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        other => format!("{other:?}"),
    };
    rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn number(c: &mut Client, sql: &str) -> u64 {
    rows(c, sql)[0][0].parse().unwrap_or_else(|_| panic!("{sql}: no number"))
}

const ROWS: u32 = 12;
/// Rows of the hierarchy, half of which have no child.
const NODES: u64 = 1 << (ROWS - 1);

fn with_table(c: &mut Client, name: &str) {
    run(
        c,
        &format!(
            "create table {name} (n primary key) organization index as select rownum n from all_objects where rownum <= {ROWS}"
        ),
    );
}

fn old_algorithm(c: &mut Client, on: bool) {
    run(c, &format!("alter session set \"_old_connect_by_enabled\" = {on}"));
}

fn kill_cpu(c: &mut Client, table: &str) {
    let sql = format!("select count(*) x from {table} connect by n > prior n start with n = 1");
    assert_eq!(number(c, &sql), NODES);
}

/// The session's own statistics.
fn stats(c: &mut Client) -> BTreeMap<String, u64> {
    let all = rows(c, "select n.name, m.value from v$mystat m, v$statname n where n.statistic# = m.statistic#");
    all.into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap_or(0))).collect()
}

fn latch_gets(c: &mut Client) -> u64 {
    number(c, "select gets from v$latch where name = 'cache buffers chains'")
}

/// The increase by another run of the query: consistent gets, those on the fast path, revisits of pinned buffers, latch
/// gets. Other processes get latches, too, but not during each of several runs.
fn cost(c: &mut Client) -> [u64; 4] {
    kill_cpu(c, "kc"); // compiled, and the block is cached
    stats(c);
    let runs = [(); 5].map(|()| cost_of_one(c));
    std::array::from_fn(|n| runs.iter().map(|run| run[n]).min().expect("some runs"))
}

fn cost_of_one(c: &mut Client) -> [u64; 4] {
    let (before, latches) = (stats(c), latch_gets(c));
    kill_cpu(c, "kc");
    let (gets, after) = (latch_gets(c) - latches, stats(c));
    let of = |name: &str| after[name] - before[name];
    [of("consistent gets"), of("consistent gets from cache (fastpath)"), of("buffer is pinned count"), gets]
}

/// Equal up to the counts that other processes and the queries on the views may add.
fn about(seen: u64, expected: u64) {
    assert!((expected..expected + expected / 10 + 60).contains(&seen), "{seen} where {expected} are expected");
}

#[test]
fn each_design_makes_the_published_number_of_gets() {
    for (generation, consistent, fast, pinned, latches) in [
        ("8.1.7", NODES, 0, 0, 2 * NODES),
        ("9.2", NODES, 0, 0, 2 * NODES),
        ("11.1", NODES / 2, NODES / 2, NODES / 2, NODES / 2),
        ("12.2", NODES / 2, NODES / 2, NODES / 2, NODES / 2),
        ("latchwork", NODES, 0, 0, NODES),
    ] {
        let instance = start(&[("latch_generation", generation)]);
        let mut c = connect(&instance);
        with_table(&mut c, "kc");
        old_algorithm(&mut c, true);
        let seen = cost(&mut c);
        for (seen, expected) in seen.into_iter().zip([consistent, fast, pinned, latches]) {
            about(seen, expected);
        }
        // The new algorithm searches for the children of each row once.
        old_algorithm(&mut c, false);
        let seen = cost(&mut c);
        assert!(seen[0] <= u64::from(ROWS) + 20, "{generation}: {seen:?}");
    }
}

#[test]
fn a_hot_block_is_found_by_its_latch() {
    let instance = start(&[("latch_generation", "9.2")]);
    let mut c = connect(&instance);
    with_table(&mut c, "kc");
    old_algorithm(&mut c, true);
    (0..4).for_each(|_| kill_cpu(&mut c, "kc"));
    let hottest = "select o.object_name, b.dbablk, l.gets from x$bh b, v$latch_children l, dba_objects o \
                   where l.addr = b.hladdr and l.name = 'cache buffers chains' and o.data_object_id = b.obj \
                   and o.owner = user and b.class = 1 order by l.gets desc, b.tch desc fetch first 1 row only";
    let found = rows(&mut c, hottest);
    let index = rows(&mut c, "select index_name from user_indexes where table_name = 'KC'");
    assert_eq!(found[0][0], index[0][0], "an index-organised table is its index");
    assert!(found[0][2].parse::<u64>().unwrap() >= 8 * NODES, "{found:?}");
}

#[test]
fn processor_time_comes_out_per_session() {
    let instance = start(&[]);
    let (mut a, mut b) = (connect(&instance), connect(&instance));
    with_table(&mut a, "kc");
    old_algorithm(&mut a, true);
    let cpu = "select m.value from v$mystat m, v$statname n where n.statistic# = m.statistic# and n.name = 'CPU used by this session'";
    let mut spent = 0;
    for _ in 0..400 {
        kill_cpu(&mut a, "kc");
        spent = number(&mut a, cpu);
        if spent >= 3 {
            break;
        }
    }
    assert!(spent >= 3, "{spent} hundredths of a second");
    let sid = number(&mut a, "select sys_context('userenv', 'sid') from dual");
    let seen = number(
        &mut b,
        &format!(
            "select s.value from v$sesstat s, v$statname n where n.statistic# = s.statistic# and n.name = 'CPU used by this session' and s.sid = {sid}"
        ),
    );
    assert!(seen >= spent, "{seen} after {spent}");
    assert!(number(&mut b, cpu) < seen);
}

#[test]
fn a_hierarchy_without_end_is_cancelled() {
    let instance = start(&[]);
    for old in [true, false] {
        let (mut a, mut b) = (connect(&instance), connect(&instance));
        old_algorithm(&mut a, old);
        let me = rows(
            &mut a,
            "select s.sid || ',' || s.serial# from v$session s where s.sid = sys_context('userenv', 'sid')",
        );
        let endless = "select count(*) from (select level n from dual connect by level <= 60) connect by n > prior n start with n = 1";
        std::thread::scope(|scope| {
            let at_work = scope.spawn(move || a.query(endless, &[]).and_then(|q| q.all()).unwrap_err().to_string());
            std::thread::sleep(Duration::from_millis(100));
            run(&mut b, &format!("alter system kill session '{}' immediate", me[0][0]));
            let ended = at_work.join().unwrap();
            assert!(ended.contains("ORA-00028") || ended.contains("ORA-03113") || ended.contains("ended"), "{ended}");
        });
    }
}
