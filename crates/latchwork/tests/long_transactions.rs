//! A transaction that writes more undo blocks than sequence numbers of sixteen bits could distinguish: its first and
//! its last changes belong to it.

mod support;

use support::{connect, one, run, start};

#[test]
fn a_transaction_of_very_many_undo_blocks_sees_all_it_has_done() {
    let instance = start(&[("db_block_size", "2048"), ("db_cache_size", "128M")]);
    let (mut c, mut other) = (connect(&instance), connect(&instance));
    run(&mut c, "create table t (id number, pad varchar2(1600)) pctfree 0");
    run(&mut c, "create table i (id number primary key, v number) organization index");
    run(&mut c, "insert into t select level, rpad('a', 1600, 'a') from dual connect by level <= 200");
    run(&mut c, "insert into i select level, 1 from dual connect by level <= 10");
    run(&mut c, "commit");
    run(&mut c, "update i set v = 2 where id = 1");
    run(&mut c, "update t set pad = rpad('b', 1600, 'b') where id = 1");
    // An old version of a row in each undo block.
    run(
        &mut c,
        "begin for n in 1 .. 166 loop update t set pad = rpad(chr(98 + mod(n, 2)), 1600, chr(98 + mod(n, 2))) where id > 1; \
         end loop; end;",
    );
    run(&mut c, "update t set pad = 'b' where id > 1");
    run(&mut c, "update i set v = 3 where id = 10");
    let blocks = one(&mut c, "select to_char(used_ublk) from v$transaction");
    assert!(blocks.parse::<u32>().unwrap() > 1 << 15, "{blocks} undo blocks are too few");
    let sums = |pad: &str| format!("select count(*) || ' ' || sum(id) from t where substr(pad, 1, 1) = '{pad}'");
    let (all, none) = ("200 20100".to_string(), "0 ".to_string());
    assert_eq!((one(&mut c, &sums("b")), one(&mut c, &sums("a"))), (all.clone(), none.clone()), "its own changes");
    let rows = "select listagg(v, ' ') within group (order by id) from i";
    assert_eq!(one(&mut c, rows), "2 1 1 1 1 1 1 1 1 3");
    assert_eq!((one(&mut other, &sums("a")), one(&mut other, &sums("b"))), (all.clone(), none.clone()), "others");
    // A statement does not see its own changes, however long ago the transaction began.
    run(&mut c, "insert into t select id, 'c' from t where substr(pad, 1, 1) = 'b'");
    assert_eq!(one(&mut c, &sums("c")), all);
    run(&mut c, "rollback");
    assert_eq!((one(&mut c, &sums("a")), one(&mut c, &sums("b"))), (all, none), "rolled back");
    assert_eq!(one(&mut c, rows), "1 1 1 1 1 1 1 1 1 1");
}
