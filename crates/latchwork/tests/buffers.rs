//! The views of the buffer cache during a workload.

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
    // A background process may have waited for a block meanwhile, which the event counts, too.
    let classes = "select count(*), sum(count) from v$waitstat where class in ('data block', 'undo header')";
    let [classes, waits] = &row(&mut c, classes)[..] else { panic!("two columns") };
    let events = "select nvl(sum(total_waits), 0) from v$system_event \
                  where event in ('buffer busy waits', 'read by other session')";
    let counted = number(&mut c, events);
    assert_eq!(classes, "2");
    assert!(waits.parse::<i64>().unwrap() <= counted, "{waits} waits by class, {counted} by event");
}

#[test]
fn an_emptied_cache_is_filled_by_multiblock_reads() {
    let (_instance, mut c) = start(&[]);
    with_rows(&mut c);
    assert!(number(&mut c, "select count(*) from v$bh where dirty = 'Y'") > 0);
    run(&mut c, "alter system flush buffer_cache");
    assert_eq!(number(&mut c, &format!("select count(*) from {OF_T}")), 0);
    // Waits of this session only: background processes also read their tables again.
    let waits = "select nvl(sum(total_waits), 0) from v$session_event where event = 'db file scattered read' \
                 and sid = sys_context('userenv', 'sid')";
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
    // A session that reads single blocks.
    run(&mut c, "alter system flush buffer_cache");
    run(&mut c, "alter session set db_file_multiblock_read_count = 1");
    let before = number(&mut c, waits);
    assert_eq!(number(&mut c, "select count(pad) from t"), 2000);
    assert_eq!(number(&mut c, waits), before);
}

const SEGMENT: &str = "select nvl(sum(value), 0) from v$segment_statistics where owner = 'SYS' and object_name = 'T' and statistic_name = ";

#[test]
fn reads_changes_and_waits_are_counted_by_segment() {
    for generation in ["latchwork", "8.1.7", "11.1"] {
        let (instance, mut c) = start(&[("latch_generation", generation)]);
        with_rows(&mut c);
        let of = |c: &mut Client, name: &str| number(c, &format!("{SEGMENT}'{name}'"));
        assert!(of(&mut c, "db block changes") >= 60, "{generation}: a change a block at least");
        let mut reader = instance.connect(&Credentials::Sysdba).unwrap();
        let (scans, reads) = (of(&mut c, "segment scans"), of(&mut c, "logical reads"));
        for _ in 0..50 {
            number(&mut reader, "select /*+ full(t) */ count(pad) from t");
        }
        assert_eq!(of(&mut c, "segment scans") - scans, 50, "{generation}");
        // One access in sixteen is counted, with the weight sixteen.
        let read = of(&mut c, "logical reads") - reads;
        assert!((1500..8000).contains(&read), "{generation}: {read} of about 50 * 65");
        run(&mut c, "alter system flush buffer_cache");
        let cold = of(&mut c, "physical reads");
        number(&mut reader, "select /*+ full(t) */ count(pad) from t");
        let (blocks, requests) = (of(&mut c, "physical reads") - cold, of(&mut c, "physical read requests"));
        assert!(
            blocks >= 55 && requests > 0 && requests < blocks,
            "{generation}: {blocks} blocks, {requests} requests"
        );
        assert!(of(&mut c, "physical writes") >= 55, "{generation}");
        // The counts of a session remain after its end.
        let before = of(&mut c, "logical reads");
        drop(reader);
        let gone = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while number(&mut c, "select count(*) from v$session where type = 'USER'") > 1 {
            assert!(std::time::Instant::now() < gone, "the session ends");
        }
        assert!(of(&mut c, "logical reads") >= before, "{generation}");
        // A wait for a row is counted at its beginning.
        run(&mut c, "update t set pad = 'y' where id = 1");
        let mut other = instance.connect(&Credentials::Sysdba).unwrap();
        let waited = other.execute("select id from t where id = 1 for update wait 1", &[]).unwrap_err();
        assert_eq!(waited.code(), 30006);
        other.rollback().unwrap();
        assert_eq!(of(&mut c, "row lock waits"), 1, "{generation}");
        let index = "select count(*) from v$segment_statistics s, user_constraints k where s.object_name = k.index_name \
                     and k.table_name = 'T' and s.object_type = 'INDEX' and s.tablespace_name is not null";
        assert_eq!(number(&mut c, index), number(&mut c, "select count(*) from v$segstat_name"), "{generation}");
        let same =
            "select (select sum(value) from v$segstat) - (select sum(value) from v$segment_statistics) from dual";
        assert!(number(&mut c, same).abs() < 20_000, "{generation}");
        run(&mut c, "drop table t purge");
        assert_eq!(of(&mut c, "segment scans"), 0);
    }
}

#[test]
fn working_sets_are_divided_among_the_writers() {
    let given = [("_db_block_lru_latches", "64"), ("db_writer_processes", "3"), ("db_block_buffers", "2100")];
    let (_instance, mut c) = start(&given);
    let processes = "select listagg(name || ' ' || description, ', ') within group (order by name) from v$bgprocess \
                     where name like 'DBW%'";
    let named = "DBW0 db writer process 0, DBW1 db writer process 1, DBW2 db writer process 2";
    assert_eq!(row(&mut c, processes), [named]);
    let sets = "select count(*), sum(cnum_set), count(distinct set_latch), max(set_id), count(distinct dbwr_num), \
                max(end_buf# - start_buf# + 1 - cnum_set) from x$kcbwds";
    assert_eq!(row(&mut c, sets), ["64", "2100", "64", "64", "3", "0"]);
    let latches = "select count(*) from x$kcbwds w, v$latch_children l where l.addr = w.ckpt_latch \
                   and l.name = 'checkpoint queue latch' and l.child# = w.set_id";
    assert_eq!(number(&mut c, latches), 64);
    let by_set = "select count(*) from (select set_ds, count(*) n from x$bh group by set_ds) b, x$kcbwds w \
                  where b.set_ds = w.set_id and b.n = w.cnum_set";
    assert_eq!(number(&mut c, by_set), 64);
    let used = "select sum(anum_used), sum(cnum_repl + cnum_write - cnum_set), min(sign(anum_used)) from x$kcbwds";
    run(&mut c, "create table t (id number primary key, pad varchar2(1000))");
    // More than there are buffers: they are written to make room, and every set has its part.
    for _ in 0..6 {
        let sql = "insert into t select nvl((select max(id) from t), 0) + level, rpad('x', 1000, 'x') from dual \
                   connect by level <= 3000";
        run(&mut c, sql);
        run(&mut c, "commit");
    }
    assert_eq!(row(&mut c, used), ["2100", "0", "1"]);
    let written = "select count(*), min(sign(sum_wrt)) from (select dbwr_num, sum(sum_wrt) sum_wrt from x$kcbwds \
                   group by dbwr_num)";
    assert_eq!(row(&mut c, written), ["3", "1"]);
    let by_writers = "select count(distinct p.pname) from v$process p, v$session s, v$session_event e \
                      where p.addr = s.paddr and e.sid = s.sid and p.pname like 'DBW%' \
                      and e.event = 'db file parallel write'";
    assert_eq!(number(&mut c, by_writers), 3, "each writer has written");
    assert_eq!(number(&mut c, "select count(pad) + max(id) from t"), 36_000);
    run(&mut c, "update t set pad = 'y' where id <= 100");
    run(&mut c, "commit");
    let newest = number(&mut c, "select max(low_rba) from x$kcbwds where num_queued > 0");
    run(&mut c, "alter system checkpoint");
    let oldest = number(&mut c, &format!("select nvl(min(low_rba), {newest} + 1) from x$kcbwds where num_queued > 0"));
    assert!(oldest > newest, "{oldest:#x} is no newer than {newest:#x}");
}
