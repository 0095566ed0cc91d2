//! What the views of the buffer cache say of an instance at work.

use client::{Client, Credentials, Ephemeral, EphemeralOptions};
use std::path::PathBuf;
use types::Value;

fn start(params: &[(&str, &str)]) -> (Ephemeral, Client) {
    let params = params.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let options = EphemeralOptions { params, executable: Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork"))) };
    let instance = Ephemeral::start_with(&options).unwrap_or_else(|e| panic!("the instance starts: {e}"));
    let client = instance.connect(&Credentials::Sysdba).unwrap_or_else(|e| panic!("a session opens: {e}"));
    (instance, client)
}

fn run(client: &mut Client, sql: &str) {
    client.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
}

/// The first row, as text.
fn row(client: &mut Client, sql: &str) -> Vec<String> {
    let rows = client.query(sql, &[]).and_then(|q| q.all()).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let text = |v: &Value| match v {
        Value::Null => "null".into(),
        Value::Number(n) => n.to_string(),
        Value::Text(t) => t.clone(),
        other => format!("{other:?}"),
    };
    rows.first().unwrap_or_else(|| panic!("{sql}: no row")).iter().map(text).collect()
}

fn number(client: &mut Client, sql: &str) -> i64 {
    row(client, sql)[0].parse().unwrap_or_else(|_| panic!("{sql}: no number"))
}

/// 2,000 rows in about 60 blocks.
fn with_rows(client: &mut Client) {
    run(client, "create table t (id number primary key, pad varchar2(200))");
    run(client, "insert into t select level, rpad('x', 200, 'x') from dual connect by level <= 2000");
    run(client, "commit");
}

const OF_T: &str = "v$bh b, user_objects o where b.objd = o.data_object_id and o.object_name = 'T' and b.class# = 1";

#[test]
fn buffers_are_shown_with_their_blocks_and_latches() {
    let (_instance, mut c) = start(&[]);
    with_rows(&mut c);
    let seen = row(
        &mut c,
        &format!("select min(b.status), max(b.status), sign(count(*) - 50), count(distinct ts#) from {OF_T}"),
    );
    assert_eq!(seen, ["xcur", "xcur", "1", "1"]);
    let latched = "select count(distinct b.indx) - (select count(*) from x$bh) from x$bh b, v$latch_children l \
                   where l.addr = b.hladdr and l.name = 'cache buffers chains'";
    assert_eq!(number(&mut c, latched), 0);
    let same = "select count(*) - count(distinct addr), count(*) - count(distinct ba) from x$bh";
    assert_eq!(row(&mut c, same), ["0", "0"]);
    let twice = "select count(*) from (select file#, block# from v$bh where status <> 'free' \
                 group by file#, block# having count(*) > 1)";
    assert_eq!(number(&mut c, twice), 0);
    let pool = "select p.name, p.buffers - (select count(*) from v$bh), \
                p.block_size - (select value from v$parameter where name = 'db_block_size') from v$buffer_pool p";
    assert_eq!(row(&mut c, pool), ["DEFAULT", "0", "0"]);
    let classes = "select count(*), sum(sign(count)) from v$waitstat where class in ('data block', 'undo header')";
    assert_eq!(row(&mut c, classes), ["2", "0"]);
}

#[test]
fn an_emptied_cache_is_filled_by_multiblock_reads() {
    let (_instance, mut c) = start(&[]);
    with_rows(&mut c);
    assert!(number(&mut c, "select count(*) from v$bh where dirty = 'Y'") > 0);
    run(&mut c, "alter system flush buffer_cache");
    assert_eq!(number(&mut c, &format!("select count(*) from {OF_T}")), 0);
    let waits = "select nvl(sum(total_waits), 0) from v$system_event where event = 'db file scattered read'";
    let before = number(&mut c, waits);
    assert_eq!(number(&mut c, "select count(pad) from t"), 2000);
    let reads = number(&mut c, waits) - before;
    assert!((2..30).contains(&reads), "{reads} reads for 60 blocks");
    let files = "select sign(sum(phyblkrd) - sum(phyrds)), sign(sum(phyblkwrt)), sign(sum(phyrds) - sum(singleblkrds)) \
                 from v$filestat";
    assert_eq!(row(&mut c, files), ["1", "1", "1"]);
    let mine = "select sign(block_gets), sign(physical_reads) from v$sess_io where sid = sys_context('userenv', 'sid')";
    assert_eq!(row(&mut c, mine), ["1", "1"]);
    let pool = "select name, sign(buf_got), sign(physical_reads), cnum_repl + cnum_write - cnum_set \
                from v$buffer_pool_statistics";
    assert_eq!(row(&mut c, pool), ["DEFAULT", "1", "1", "0"]);
    // A session that reads one block at a time.
    run(&mut c, "alter system flush buffer_cache");
    run(&mut c, "alter session set db_file_multiblock_read_count = 1");
    let before = number(&mut c, waits);
    assert_eq!(number(&mut c, "select count(pad) from t"), 2000);
    assert_eq!(number(&mut c, waits), before);
}
