//! LOBs in segments against vectors of bytes: two sessions change them at random, roll back to savepoints and wholly,
//! and the instance is killed.

use crate::common::{Database, eventually, number, rows, run};
use client::{Bind, Client};
use std::collections::BTreeMap;
use testing::Random;
use types::{DataType, Value};

/// Rows of each session.
const ROWS: i64 = 4;
/// The longest value.
const LONGEST: usize = 60_000;

/// The rows of a session: as its transaction sees them, as they are committed, and as of its savepoint.
#[derive(Default)]
struct Model {
    now: BTreeMap<i64, Option<Vec<u8>>>,
    committed: BTreeMap<i64, Option<Vec<u8>>>,
    saved: Option<BTreeMap<i64, Option<Vec<u8>>>>,
}

fn change(c: &mut Client, sql: &str, id: i64, bytes: Option<&[u8]>) {
    let value = bytes.map_or(Value::Null, Value::raw);
    let binds =
        [Bind::named("id", DataType::NUMBER, Value::Number(id.into())), Bind::named("b", DataType::Blob, value)];
    c.execute(sql, &binds).unwrap_or_else(|e| panic!("{sql} of {id}: {e}"));
}

/// A length that is in the row, just beside the border, or of several parts.
fn length(random: &mut Random) -> usize {
    match random.below(4) {
        0 => 1 + random.below(100_usize),
        1 => 3_990 + random.below(20_usize),
        _ => 1 + random.below(LONGEST),
    }
}

/// A value; NULL once in a while.
fn new_value(random: &mut Random) -> Option<Vec<u8>> {
    let len = length(random);
    (!random.one_in(8)).then(|| random.bytes(len))
}

/// One change of a row, in the database and in the model.
fn step(c: &mut Client, session: i64, model: &mut Model, random: &mut Random) {
    let id = session * 100 + random.below(ROWS);
    let present = model.now.get(&id).cloned();
    match (random.below(10), present) {
        (_, None) => {
            let value = new_value(random);
            change(c, "insert into l (id, b) values (:id, :b)", id, value.as_deref());
            model.now.insert(id, value);
        }
        (0, Some(_)) => {
            run(c, &[&format!("delete from l where id = {id}")]);
            model.now.remove(&id);
        }
        (1, Some(_)) => run(c, &[&format!("update l set n = nvl(n, 0) + 1 where id = {id}")]),
        (2, Some(_)) => {
            model.saved = Some(model.now.clone());
            run(c, &["savepoint s"]);
        }
        (3, Some(_)) => {
            if let Some(saved) = &model.saved {
                model.now = saved.clone();
                run(c, &["rollback to s"]);
            }
        }
        (4 | 5, Some(Some(mut value))) if !value.is_empty() => {
            let at = random.below(value.len());
            let len = 1 + random.below(2_000_usize);
            let part = random.bytes(len);
            let write = "declare l blob; begin select b into l from l where id = :id for update; \
                dbms_lob.write(l, utl_raw.length(:b), %, :b); end;";
            let write = write.replace('%', &(at + 1).to_string());
            let binds = [
                Bind::named("id", DataType::NUMBER, Value::Number(id.into())),
                Bind::named("b", DataType::Raw { len: 2_000 }, Value::raw(part.clone())),
            ];
            c.execute(&write, &binds).unwrap_or_else(|e| panic!("{write}: {e}"));
            let end = (at + part.len()).max(value.len());
            value.resize(end, 0);
            value[at..at + part.len()].copy_from_slice(&part);
            model.now.insert(id, Some(value));
        }
        (6, Some(Some(mut value))) if value.len() > 1 => {
            value.truncate(1 + random.below(value.len() - 1));
            let trim =
                "declare l blob; begin select b into l from l where id = % for update; dbms_lob.trim(l, #); end;";
            run(c, &[&trim.replace('%', &id.to_string()).replace('#', &value.len().to_string())]);
            model.now.insert(id, Some(value));
        }
        (_, Some(_)) => {
            let value = new_value(random);
            change(c, "update l set b = :b where id = :id", id, value.as_deref());
            model.now.insert(id, value);
        }
    }
    match random.below(12) {
        0 | 1 => {
            c.commit().expect("a commit");
            model.committed = model.now.clone();
            model.saved = None;
        }
        2 => {
            run(c, &["rollback"]);
            model.now = model.committed.clone();
            model.saved = None;
        }
        _ => {}
    }
}

fn compare(c: &mut Client, session: i64, wanted: &BTreeMap<i64, Option<Vec<u8>>>) {
    let sql = format!("select id, b from l where id between {} and {} order by id", session * 100, session * 100 + 99);
    let rows = c.query(&sql, &[]).unwrap_or_else(|e| panic!("{e}")).all().unwrap_or_else(|e| panic!("{e}"));
    let mut found = BTreeMap::new();
    for row in &rows {
        let Value::Number(id) = row[0] else { panic!("{:?}", row[0]) };
        let value = match row[1].content() {
            Value::Null => None,
            Value::Raw(bytes) => Some(bytes.clone()),
            other => panic!("{other:?}"),
        };
        found.insert(id.as_i64().expect("a whole number"), value);
    }
    assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>(), "rows of session {session}");
    for (id, value) in wanted {
        assert!(found[id] == *value, "row {id} has {:?} bytes", found[id].as_ref().map(Vec::len));
    }
}

#[test]
fn lobs_in_segments_are_those_of_the_committed_transactions() {
    let db = Database::new("lobs");
    db.start();
    run(&mut db.connect(), &["create table l (id number primary key, b blob, n number) lob (b) store as l_b"]);
    let mut random = Random::new(4711);
    let mut models = [Model::default(), Model::default()];
    for round in 0..4 {
        let mut sessions = [db.connect(), db.connect()];
        for _ in 0..60 {
            let who = random.below(2_usize);
            step(&mut sessions[who], who as i64, &mut models[who], &mut random);
            if random.one_in(6) {
                compare(&mut sessions[who], who as i64, &models[who].now);
                // The other session does not see what is not committed.
                compare(&mut sessions[1 - who], who as i64, &models[who].committed);
            }
        }
        if round % 2 == 0 {
            db.kill();
            db.start();
        } else {
            drop(sessions);
        }
        let mut c = db.connect();
        for (who, model) in models.iter_mut().enumerate() {
            model.now = model.committed.clone();
            model.saved = None;
            compare(&mut c, who as i64, &model.committed);
        }
    }
    let text = db.verify();
    assert!(!text.contains("L_B"), "{text}");
    db.start();
    let mut c = db.connect();
    run(&mut c, &["delete from l", "commit"]);
    assert_eq!(number(&mut c, "select count(*) from l"), 0);
    drop(c);
    db.verify();
}

#[test]
fn sessions_that_change_one_lob_wait_for_each_other() {
    let db = Database::new("lob-rows");
    db.start();
    let mut c = db.connect();
    let set = "update l set c = to_clob(rpad('%', 4000, '%')) || rpad('%', 4000, '%')";
    let check = "select dbms_lob.substr(c, 1, 1) || dbms_lob.substr(c, 1, length(c)) || length(c) from l";
    run(
        &mut c,
        &["create table l (id number primary key, c clob) lob (c) store as l_c", "insert into l (id) values (1)"],
    );
    run(&mut c, &[&set.replace('%', "a"), "commit"]);
    let scn = number(&mut c, "select current_scn from v$database");
    run(&mut c, &[&set.replace('%', "b")]);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut other = db.connect();
            assert_eq!(rows(&mut other, check), ["aa8000"]);
            run(&mut other, &[&set.replace('%', "d"), "commit"]);
            // The statement started again after the commit of the first session.
            assert_eq!(rows(&mut other, check), ["dd8000"]);
        });
        let blocked = "select count(*) from v$session where event = 'enq: TX - row lock contention'";
        let mut watch = db.connect();
        eventually("the second session waits", || number(&mut watch, blocked) == 1);
        assert_eq!(rows(&mut c, check), ["bb8000"]);
        run(&mut c, &["update l set c = c || 'e'", "commit"]);
        other.join().expect("the second session ends");
    });
    assert_eq!(rows(&mut c, check), ["dd8000"]);
    assert_eq!(rows(&mut c, &check.replace("from l", &format!("from l as of scn {scn}"))), ["aa8000"]);
    drop(c);
    db.verify();
}
