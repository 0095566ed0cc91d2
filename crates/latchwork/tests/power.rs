//! Power fails at the n-th sync of a scripted piece of work, for every n: acknowledged steps are present, the step in
//! flight is present as a whole or absent, and `latchwork verify` finds nothing.
//!
//! The script has commits, index splits, rows wider than a block, checkpoints, log switches with archiving, growing,
//! added and dropped files, a backup, a change of the undo tablespace, and DDL. After every other power loss power
//! fails again while the instance recovers. The short form takes some n; `LATCHWORK_POWER=all` takes every one,
//! `LATCHWORK_POWER=n` only that one, `LATCHWORK_POWER_SEED` selects other random decisions; `LATCHWORK_EXE` names
//! another program.

use client::{Client, ClientError};
use lab::torture::{Place, Started};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use types::Value;

/// Number of syncs in the short form.
const SHORT: u64 = 7;

/// The contents of the database after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// Rows of `t`: a changing number, and the length of a text.
    rows: BTreeMap<i64, (i64, i64)>,
    /// Tables created by DDL, with their rows, and whether they have an index.
    made: BTreeMap<String, (i64, bool)>,
    /// Data files of USERS, and of a tablespace that is created and dropped with its table.
    files: i64,
    extra: i64,
    /// Undo tablespaces.
    undo: Vec<String>,
}

/// One step of the script.
enum Step {
    /// A transaction: its effect on the model, and its statements.
    Work(Vec<String>, Box<dyn Fn(&mut State)>),
    /// A statement that commits by itself.
    Ddl(String, Box<dyn Fn(&mut State)>),
    /// A statement that changes no rows.
    Admin(&'static str),
}

fn insert(from: i64, n: i64, wide: i64) -> Step {
    let sql = format!(
        "insert into t select {from} + level, mod(({from} + level) * 7919, 10007), rpad('x', {wide} + mod(level, 9), 'x')
           from dual connect by level <= {n}"
    );
    Step::Work(
        vec![sql],
        Box::new(move |s| {
            for level in 1..=n {
                s.rows.insert(from + level, ((from + level) * 7919 % 10_007, wide + level % 9));
            }
        }),
    )
}

fn update(every: i64) -> Step {
    let sql = vec![format!("update t set v = mod(v + 5003, 10007) where mod(id, {every}) = 0")];
    Step::Work(
        sql,
        Box::new(move |s| {
            s.rows.iter_mut().filter(|(id, _)| *id % every == 0).for_each(|(_, r)| r.0 = (r.0 + 5003) % 10_007);
        }),
    )
}

fn delete(from: i64, to: i64) -> Step {
    Step::Work(
        vec![format!("delete from t where id between {from} and {to}")],
        Box::new(move |s| s.rows.retain(|id, _| !(from..=to).contains(id))),
    )
}

fn space(sql: &str, change: impl Fn(&mut State) + 'static) -> Step {
    Step::Ddl(sql.into(), Box::new(change))
}

fn ddl(sql: &str, change: impl Fn(&mut BTreeMap<String, (i64, bool)>) + 'static) -> Step {
    Step::Ddl(sql.into(), Box::new(move |s| change(&mut s.made)))
}

fn script() -> Vec<Step> {
    let made = |m: &mut BTreeMap<String, (i64, bool)>| {
        m.insert("MADE".into(), (50, false));
    };
    vec![
        insert(0, 100, 20),
        Step::Admin("alter system checkpoint"),
        insert(1000, 300, 20),
        update(7),
        ddl("create table made as select level id from dual connect by level <= 50", made),
        ddl("create index made_i on made (id)", |m| m.get_mut("MADE").expect("made").1 = true),
        space("alter tablespace users add datafile 'users02.dbf' size 256K autoextend on next 128K", |s| s.files += 1),
        insert(2000, 30, 3900),
        Step::Admin("alter system switch logfile"),
        delete(50, 1100),
        space("create tablespace extra datafile 'extra01.dbf' size 256K autoextend on", |s| s.extra = 1),
        Step::Admin("alter database begin backup"),
        ddl("create table away tablespace extra as select level id from dual connect by level <= 3000", |m| {
            m.insert("AWAY".into(), (3000, false));
        }),
        insert(5000, 60, 3000),
        update(3),
        space("create undo tablespace undo2 datafile 'undo2.dbf' size 1536K autoextend on", |s| {
            s.undo.push("UNDO2".into())
        }),
        ddl("truncate table made", |m| m.get_mut("MADE").expect("made").0 = 0),
        // The file has 4 MB at first, so it grows.
        insert(10_000, 700, 3900),
        Step::Admin("alter system switch logfile"),
        Step::Admin("alter system set undo_tablespace = undo2"),
        delete(10_100, 10_500),
        space("drop tablespace undo including contents and datafiles", |s| s.undo.retain(|name| name != "UNDO")),
        Step::Admin("alter system archive log current"),
        Step::Admin("alter database end backup"),
        update(2),
        Step::Admin("alter system checkpoint"),
        ddl("drop table away", |m| {
            m.remove("AWAY");
        }),
        Step::Admin("alter database datafile 'extra01.dbf' resize 256K"),
        space("drop tablespace extra including contents and datafiles", |s| {
            s.extra = 0;
            s.made.remove("AWAY");
        }),
        ddl("drop table made", |m| m.clear()),
        insert(20_000, 200, 100),
        delete(0, 3000),
    ]
}

fn params(extra: &[(&str, String)]) -> Vec<(String, String)> {
    let usual = [("db_cache_size", "2M"), ("processes", "40"), ("_log_file_size", "2M")];
    let usual = usual.iter().map(|(n, v)| (n.to_string(), v.to_string()));
    usual.chain(extra.iter().map(|(n, v)| (n.to_string(), v.clone()))).collect()
}

fn place() -> Place {
    let given = std::env::var_os("LATCHWORK_EXE").map(PathBuf::from);
    Place::new(Some(given.unwrap_or_else(|| env!("CARGO_BIN_EXE_latchwork").into()))).expect("a directory")
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// An empty table with two indexes, in a stopped database.
fn base() -> Place {
    let mut place = place();
    assert!(matches!(place.start(&params(&[]), None), Ok(Started::Open(_))));
    let mut c = place.connect().unwrap();
    c.execute("alter database archivelog", &[]).unwrap();
    c.execute("create table t (id number primary key, v number not null, x varchar2(4000))", &[]).unwrap();
    c.execute("create index t_v on t (v, id)", &[]).unwrap();
    drop(c);
    place.stop().unwrap();
    place
}

fn is_gone(e: &ClientError) -> bool {
    e.is_fatal() || matches!(e.code(), 1092 | 1089 | 3113 | 470 | 471 | 449)
}

/// The contents that must be present, and those that may be present instead.
#[derive(Clone, Debug)]
struct Known {
    acknowledged: State,
    in_flight: Option<State>,
}

/// Runs the script until its end or the end of the instance.
fn run(c: &mut Client, known: &mut Known) -> Result<(), String> {
    for step in script() {
        let mut next = known.acknowledged.clone();
        let (statements, last) = match &step {
            Step::Work(sql, change) => {
                change(&mut next);
                (sql.clone(), "commit".to_string())
            }
            Step::Ddl(sql, change) => {
                change(&mut next);
                (Vec::new(), sql.clone())
            }
            Step::Admin(sql) => match c.execute(sql, &[]) {
                Err(e) if is_gone(&e) => return Ok(()),
                Err(e) => return Err(format!("{sql}: {e}")),
                Ok(_) => continue,
            },
        };
        for sql in statements {
            match c.execute(&sql, &[]) {
                Err(e) if is_gone(&e) => return Ok(()),
                Err(e) => return Err(format!("{sql}: {e}")),
                Ok(_) => {}
            }
        }
        known.in_flight = Some(next);
        match c.execute(&last, &[]) {
            Err(e) if is_gone(&e) => return Ok(()),
            Err(e) => return Err(format!("{last}: {e}")),
            Ok(_) => known.acknowledged = known.in_flight.take().expect("just set"),
        }
    }
    Ok(())
}

fn numbers(c: &mut Client, sql: &str) -> Result<Vec<Vec<i64>>, String> {
    let rows = c.query(sql, &[]).and_then(|q| q.all()).map_err(|e| format!("{sql}: {e}"))?;
    let number = |v: &Value| match v {
        Value::Number(n) => n.as_i64().unwrap_or(i64::MIN),
        _ => 0,
    };
    Ok(rows.iter().map(|row| row.iter().map(number).collect()).collect())
}

fn seen(c: &mut Client) -> Result<State, String> {
    let rows = numbers(c, "select id, v, length(x) from t")?;
    let rows: BTreeMap<i64, (i64, i64)> = rows.iter().map(|r| (r[0], (r[1], r[2]))).collect();
    let by_index = numbers(c, "select /*+ index(t t_v) */ count(*), sum(v) from t where v >= 0")?;
    let want = vec![rows.len() as i64, rows.values().map(|r| r.0).sum()];
    if by_index[0] != want {
        return Err(format!("the index leads to {:?}, the table has {want:?}", by_index[0]));
    }
    let mut made = BTreeMap::new();
    for name in ["MADE", "AWAY"] {
        if numbers(c, &format!("select count(*) from user_tables where table_name = '{name}'"))?[0][0] > 0 {
            let n = numbers(c, &format!("select count(*) from {name}"))?[0][0];
            let index = format!("select count(*) from user_indexes where index_name = '{name}_I'");
            made.insert(name.into(), (n, numbers(c, &index)?[0][0] > 0));
        }
    }
    let files = |c: &mut Client, of: &str| {
        numbers(c, &format!("select count(*) from dba_data_files where tablespace_name = '{of}'")).map(|r| r[0][0])
    };
    let extra = files(c, "EXTRA")?;
    if numbers(c, "select count(*) from dba_tablespaces where tablespace_name = 'EXTRA'")?[0][0] != extra {
        return Err("dictionary and control file disagree about EXTRA".into());
    }
    let files = files(c, "USERS")?;
    Ok(State { rows, made, files, extra, undo: undo(c)? })
}

/// The undo tablespaces; dictionary, control file and transaction table must agree.
fn undo(c: &mut Client) -> Result<Vec<String>, String> {
    let mut names = |sql: &str| -> Result<Vec<String>, String> {
        let rows = c.query(sql, &[]).and_then(|q| q.all()).map_err(|e| format!("{sql}: {e}"))?;
        Ok(rows
            .iter()
            .map(|row| row[0].to_text(&types::Nls::default()).ok().flatten().unwrap_or_default().into_owned())
            .collect())
    };
    let known = names("select tablespace_name from dba_tablespaces where contents = 'UNDO' order by 1")?;
    let listed =
        names("select distinct tablespace_name from dba_data_files where file_name like '%/undo%' order by 1")?;
    let loaded = names("select distinct tablespace_name from dba_rollback_segs order by 1")?;
    if known == listed && known == loaded { Ok(known) } else { Err(format!("undo: {known:?}, {listed:?}, {loaded:?}")) }
}

/// Performs one power loss at the n-th sync (0: at the end, after a shutdown). Returns the number of syncs.
fn lose_power(from: &Path, n: u64, seed: u64) -> Result<u64, String> {
    let mut place = place();
    copy(from, place.dir());
    let mut known =
        Known { acknowledged: State { files: 1, undo: vec!["UNDO".into()], ..State::default() }, in_flight: None };
    let text = |e: lab::LabError| e.to_string();
    if let Started::Open(_) = place.start(&params(&[("_power_loss", n.to_string())]), None).map_err(text)? {
        if let Ok(mut c) = place.connect() {
            run(&mut c, &mut known)?;
        }
        if n == 0 {
            place.stop().map_err(text)?;
        }
    }
    place.kill().map_err(text)?;
    let restored = faults::restore_power(place.dir(), seed ^ n).map_err(|e| e.to_string())?.ok_or("no journal")?;
    if n % 2 == 1 {
        // Again, while it recovers.
        let again = params(&[("_power_loss", (1 + n / 2 % 7).to_string())]);
        place.start(&again, Some(std::time::Duration::from_secs(20))).map_err(text)?;
        place.kill().map_err(text)?;
        faults::restore_power(place.dir(), seed ^ (n << 20)).map_err(|e| e.to_string())?.ok_or("no journal")?;
    }
    let outcome = compare(&mut place, &known);
    if outcome.is_err() && std::env::var_os("LATCHWORK_POWER_KEEP").is_some() {
        place.keep();
    }
    outcome.map(|()| restored.syncs).map_err(|e| format!("power lost at sync {n} (seed {seed}), {restored:?}: {e}"))
}

fn compare(place: &mut Place, known: &Known) -> Result<(), String> {
    let text = |e: lab::LabError| e.to_string();
    if let Started::Died(why) = place.start(&params(&[]), None).map_err(text)? {
        return Err(format!("the instance does not start: {why}"));
    }
    let mut c = place.connect().map_err(|e| e.to_string())?;
    let seen = seen(&mut c)?;
    if seen != known.acknowledged && Some(&seen) != known.in_flight.as_ref() {
        let rows = |s: &State| {
            let sum = s.rows.values().map(|r| r.0).sum::<i64>();
            (s.rows.len(), sum, s.made.clone(), s.files, s.extra, s.undo.clone())
        };
        return Err(format!(
            "the database has {:?}; acknowledged is {:?}, in flight {:?}",
            rows(&seen),
            rows(&known.acknowledged),
            known.in_flight.as_ref().map(rows)
        ));
    }
    c.execute("insert into t values (-1, 0, 'works')", &[]).and_then(|_| c.commit()).map_err(|e| e.to_string())?;
    drop(c);
    place.stop().map_err(text)?;
    place.verify().map_err(text)
}

#[test]
fn power_may_fail_at_any_sync() {
    let base = base();
    let seed = std::env::var("LATCHWORK_POWER_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    let syncs = lose_power(base.dir(), 0, seed).unwrap_or_else(|e| panic!("{e}"));
    assert!(syncs > 20, "the script syncs: {syncs}");
    let given = std::env::var("LATCHWORK_POWER").unwrap_or_default();
    let which: Vec<u64> = match (given.as_str(), given.parse::<u64>()) {
        ("all", _) => (1..=syncs).collect(),
        (_, Ok(n)) => vec![n],
        _ => (0..SHORT).map(|i| 1 + i * (syncs - 1) / SHORT + (i * 5) % 3).collect(),
    };
    let failures: Vec<String> = which.iter().filter_map(|n| lose_power(base.dir(), *n, seed).err()).collect();
    println!("{} of {syncs} syncs", which.len());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), which.len(), failures.join("\n"));
}
