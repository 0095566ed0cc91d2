//! Cursors that are opened in a transaction and fetched behind its COMMIT: they see what the transaction had changed
//! when they were opened, whatever it and later ones change. Rows of a cursor FOR UPDATE. And the room of pieces that
//! updates leave behind, and of changes that are rolled back.

mod support;

use client::Bind;
use support::{connect, one, run, start};
use types::{DataType, Number, Value};

/// Kinds of tables with rows 1 to 10 whose `a` is 1000.
const TABLES: [(&str, &str); 5] = [
    ("one_entry", "create table one_entry (id number, a number, v varchar2(100)) initrans 1"),
    ("entries", "create table entries (id number, a number, v varchar2(100)) initrans 3"),
    (
        "indexed",
        "create table indexed (id number primary key, a number, v varchar2(100), constraint u unique (a, id)) initrans 3",
    ),
    ("iot", "create table iot (id number primary key, a number, v varchar2(100)) organization index"),
    ("clustered", "create table clustered (id number, a number, v varchar2(100)) cluster h (id)"),
];

#[test]
fn a_cursor_fetched_behind_commits_sees_its_transaction_as_it_was_opened() {
    let instance = start(&[]);
    let c = &mut connect(&instance);
    run(c, "create cluster h (id number) single table hashkeys 10 size 400");
    run(c, "create table seen (a number, v varchar2(100))");
    for (table, create) in TABLES {
        run(c, create);
        run(c, &format!("insert into {table} select level, 1000, rpad('a', 60, 'a') from dual connect by level <= 10"));
        run(c, "commit");
        let values = "select listagg(a || substr(v, 1, 1) || length(v), ' ') within group (order by a, v) from seen";
        // Values of one length and of other lengths, by a later transaction that has committed and by one that has not.
        for (then, text, end) in [("2345", "rpad('c', 60, 'c')", "commit;"), ("7", "'q'", "commit;"), ("7", "'q'", "")]
        {
            run(c, "delete seen");
            run(c, "commit");
            run(
                c,
                &format!(
                    "declare
                       c sys_refcursor; type numbers is table of number; type texts is table of varchar2(100);
                       l_a numbers; l_v texts;
                     begin
                       update {table} set a = 1000, v = rpad('a', 60, 'a');
                       commit;
                       update {table} set a = 1001, v = 'b' || substr(v, 2) where id <= 5;
                       open c for select a, v from {table};
                       update {table} set a = 1234, v = {text};
                       commit;
                       update {table} set a = {then}, v = {text};
                       {end}
                       fetch c bulk collect into l_a, l_v;
                       close c;
                       forall i in 1 .. l_a.count insert into seen values (l_a(i), l_v(i));
                       commit;
                     end;"
                ),
            );
            let want = ["1000a60"; 5].iter().chain(&["1001b60"; 5]).copied().collect::<Vec<_>>().join(" ");
            assert_eq!(one(c, values), want, "{table}, then {then} {end}");
        }
    }
}

#[test]
fn updates_of_rows_of_several_pieces_use_the_room_of_the_pieces_they_leave() {
    let instance = start(&[]);
    let c = &mut connect(&instance);
    run(c, "create table t (id number primary key, a varchar2(4000), b varchar2(4000), c varchar2(400))");
    run(
        c,
        "insert into t select level, rpad('a', 4000, 'a'), rpad('b', 4000, 'b'), rpad('c', 300, 'c') \
         from dual connect by level <= 20",
    );
    run(c, "commit");
    let update = "begin
        for k in 1 .. 20 loop
          for i in 1 .. 20 loop
            update t set c = rpad('d', 300, chr(65 + k)) where id = i;
            commit;
          end loop;
        end loop;
      end;";
    let blocks = |c: &mut client::Client| -> u64 {
        one(c, "select to_char(blocks) from user_segments where segment_name = 'T'").parse().expect("a number")
    };
    run(c, update);
    let before = blocks(c);
    for _ in 0..3 {
        run(c, update);
    }
    let after = blocks(c);
    assert!(after <= before + 16, "{before} blocks, and {after} after 1,200 further updates");
    assert_eq!(one(c, "select to_char(count(*)) from t where c like 'dU%' and a like 'aaa%' and b like 'bbb%'"), "20");
}

#[test]
fn inserts_use_the_room_of_rows_that_updates_made_shorter() {
    let instance = start(&[]);
    let c = &mut connect(&instance);
    let updates = [
        // Row by row, and many rows of a block at once.
        "begin for i in 1 .. 360 loop update t set a = 'x' where id = i; end loop; end;",
        "update t set a = 'x'",
    ];
    for update in updates {
        run(c, "create table t (id number primary key, a varchar2(1200)) pctfree 0");
        run(c, "insert into t select level, rpad('a', 1200, 'a') from dual connect by level <= 360");
        run(c, "commit");
        run(c, update);
        run(c, "commit");
        let blocks = |c: &mut client::Client| -> u64 {
            one(c, "select to_char(blocks) from user_segments where segment_name = 'T'").parse().expect("a number")
        };
        let before = blocks(c);
        run(c, "insert into t select 360 + level, rpad('b', 500, 'b') from dual connect by level <= 700");
        run(c, "commit");
        let after = blocks(c);
        assert!(after <= before + 16, "{update}: {before} blocks, and {after} with rows for which there was room");
        assert_eq!(one(c, "select to_char(count(*)) from t"), "1060");
        run(c, "drop table t purge");
    }
}

#[test]
fn the_room_of_changes_that_were_rolled_back_is_used_again() {
    let instance = start(&[]);
    let c = &mut connect(&instance);
    run(c, "create table i (id number, v varchar2(100))");
    run(c, "create table u (id number, a varchar2(4000), b varchar2(4000), c varchar2(4000))");
    run(c, "insert into u select level, 'a', 'b', 'c' from dual connect by level <= 40");
    run(c, "commit");
    // Rows that fit into a block, and rows of several pieces.
    let changes = [
        ("I", "insert into i select level, rpad('x', 100, 'x') from dual connect by level <= 1000"),
        ("U", "update u set a = rpad('x', 4000, 'x'), b = rpad('y', 4000, 'y'), c = rpad('z', 4000, 'z')"),
    ];
    for (table, change) in changes {
        let blocks = format!("select to_char(blocks) from user_segments where segment_name = '{table}'");
        let blocks = |c: &mut client::Client| -> u64 { one(c, &blocks).parse().expect("a number") };
        let rounds = |c: &mut client::Client, n: u32| {
            for _ in 0..n {
                run(c, change);
                run(c, "rollback");
            }
        };
        rounds(c, 4);
        let before = blocks(c);
        rounds(c, 16);
        assert_eq!(blocks(c), before, "blocks of {table} after 16 further rounds");
        run(c, change);
        run(c, "commit");
        assert_eq!(blocks(c), before, "blocks of {table} with rows for which there was room");
    }
    assert_eq!(one(c, "select count(*) || ' ' || sum(length(v)) from i"), "1000 100000");
    assert_eq!(one(c, "select count(*) || ' ' || sum(length(a) + length(c)) from u where b like 'yy%'"), "40 320000");
}

/// A table whose first blocks are full for good. The changes that are rolled back take several extents behind them.
#[test]
fn a_large_table_uses_the_room_of_large_changes_again() {
    let instance = start(&[("db_cache_size", "32M")]);
    let c = &mut connect(&instance);
    run(c, "create table i (id number, v varchar2(2000))");
    run(c, "insert into i select level, rpad('k', 1500, 'k') from dual connect by level <= 3000");
    run(c, "commit");
    let blocks = |c: &mut client::Client| -> u64 {
        one(c, "select to_char(blocks) from user_segments where segment_name = 'I'").parse().expect("a number")
    };
    let round = |c: &mut client::Client| {
        run(c, "insert into i select level, rpad('x', 1500, 'x') from dual connect by level <= 3000");
        run(c, "rollback");
    };
    (0..3).for_each(|_| round(c));
    let before = blocks(c);
    (0..12).for_each(|_| round(c));
    let after = blocks(c);
    assert!(after <= before + 256, "{before} blocks, {after} after twelve further rounds");
}

/// A block without room for a long row still takes short ones.
#[test]
fn short_rows_fill_the_blocks_that_long_rows_leave() {
    let instance = start(&[]);
    let c = &mut connect(&instance);
    let inserts = [
        "begin for i in 1 .. 2100 loop
           insert into i values (i, rpad('x', case mod(i, 21) when 0 then 3500 else 50 end, 'x'));
         end loop; end;",
        "insert into i select level, rpad('x', case mod(level, 21) when 0 then 3500 else 50 end, 'x')
         from dual connect by level <= 2100",
    ];
    for insert in inserts {
        run(c, "create table i (id number, v varchar2(4000))");
        run(c, insert);
        run(c, "commit");
        assert_eq!(one(c, "select count(*) || ' ' || sum(length(v)) from i"), "2100 450000");
        let blocks = one(c, "select to_char(blocks) from user_segments where segment_name = 'I'");
        assert!(blocks.parse::<u32>().expect("a number") <= 80, "{blocks} blocks: {insert}");
        run(c, "drop table i purge");
    }
}

#[test]
fn binds_of_the_caller_may_stand_before_where_current_of() {
    let instance = start(&[]);
    let c = &mut connect(&instance);
    run(c, "create table t (id number, a number, b varchar2(9))");
    run(c, "insert into t select level, 0, 'x' from dual connect by level <= 3");
    let binds = [
        Bind::named("i", DataType::NUMBER, Value::Number(Number::from(7))),
        Bind::named("v", DataType::TEXT, Value::text("y".to_string())),
    ];
    c.execute(
        "declare
           cursor c is select id from t where id > 1 for update;
         begin
           for x in c loop update t set a = :i + x.id, b = :v where current of c; end loop;
         end;",
        &binds,
    )
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(one(c, "select listagg(a || b, ' ') within group (order by id) from t"), "0x 9y 10y");
}
