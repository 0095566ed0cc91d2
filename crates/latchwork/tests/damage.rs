//! Bytes of a stopped database are changed, then it is verified, started and used: it answers or refuses, but no
//! process crashes, nothing hangs, and damage that a checksum can detect never gives a wrong row.
//!
//! The database was shut down, or killed with redo and an open transaction. There are two kinds of damage: changed
//! bytes, which the checksum must detect, and changed bytes with the block's checksum corrected, which reach the
//! readers. Every case depends only on its seed; `LATCHWORK_DAMAGE=n` runs n cases, `LATCHWORK_DAMAGE_SEED=s` begins at
//! case s.

use client::{Client, ClientError, Credentials};
use lab::torture::{Place, Started};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use testing::Random;
use types::Value;

/// Number of cases of the short form.
const CASES: u64 = 16;

/// Time limit of a case; a longer one counts as a hang.
const LIMIT: Duration = Duration::from_secs(60);

const BLOCK: usize = 8192;

const SETUP: &[&str] = &[
    "create table plain (id number primary key, v number, t varchar2(200))",
    "create index plain_v on plain (v, id)",
    "create table wide (id number primary key, a varchar2(4000), b varchar2(4000), c varchar2(4000))",
    "create table iot (id number, t varchar2(100), constraint iot_pk primary key (id)) organization index",
    "create cluster hc (id number) size 100 hashkeys 50 single table",
    "create table hct (id number, v number) cluster hc (id)",
    "create sequence s1",
    "create table parent (id number primary key)",
    "create table child (id number primary key, p number references parent, check (id > 0))",
    "insert into plain select level, mod(level * 7919, 1009), rpad('t', mod(level, 150), 't') from dual connect by level <= 1500",
    "insert into wide select level, rpad('a', 3000, 'a'), rpad('b', 3500, 'b'), rpad('c', mod(level, 3000) + 1, 'c') from dual connect by level <= 30",
    "insert into iot select level, 'row ' || level from dual connect by level <= 800",
    "insert into hct select level, level from dual connect by level <= 200",
    "insert into parent select level from dual connect by level <= 50",
    "insert into child select level, mod(level, 50) + 1 from dual connect by level <= 200",
    "commit",
    "update plain set t = rpad('u', 180, 'u') where mod(id, 10) = 0",
    "delete from plain where mod(id, 7) = 0",
    "commit",
];

/// Queries whose rows are known from the undamaged database.
const QUERIES: &[&str] = &[
    "select /*+ full(p) */ count(*), sum(id), sum(v), sum(length(t)) from plain p",
    "select /*+ index(p plain_v) */ count(*), sum(v) from plain p where v >= 0",
    "select id, v, t from plain where id in (1, 500, 1499)",
    "select count(*), sum(length(a)), sum(length(b)), sum(length(c)) from wide",
    "select count(*), sum(id), sum(length(t)) from iot",
    "select id, t from iot where id between 300 and 310",
    "select count(*), sum(v) from hct",
    "select v from hct where id = 77",
    "select count(*) from child c, parent p where c.p = p.id",
    "select object_name, object_type from user_objects order by 1, 2",
    "select table_name from user_tables order by 1",
    "select segment_name, segment_type from user_segments order by 1",
];

/// Statements that may fail, but only with an error.
const CHANGES: &[&str] = &[
    "insert into plain select 10000 + level, level, 'new' from dual connect by level <= 300",
    "update plain set v = v + 1 where id < 200",
    "delete from plain where id between 600 and 900",
    "update wide set a = 'short', c = rpad('z', 3900, 'z')",
    "insert into iot select 5000 + level, 'more' from dual connect by level <= 300",
    "delete from iot where id < 200",
    "insert into hct values (3, 3)",
    "delete from parent where id = 1",
    "rollback",
    "update plain set v = v + 1",
    "commit",
    "select s1.nextval from dual",
    "create table made as select * from plain",
    "create index made_i on made (t)",
    "truncate table child",
    "drop table wide",
    "alter system checkpoint",
];

fn place() -> Place {
    Place::new(Some(PathBuf::from(env!("CARGO_BIN_EXE_latchwork")))).expect("a directory")
}

fn params() -> Vec<(String, String)> {
    [("db_cache_size", "4M"), ("processes", "40"), ("_log_file_size", "2M")]
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .to_vec()
}

type Rows = Vec<Vec<Value>>;

fn rows(c: &mut Client, sql: &str) -> Result<Rows, ClientError> {
    c.query(sql, &[])?.all()
}

fn start(place: &mut Place) {
    assert!(matches!(place.start(&params(), None), Ok(Started::Open(_))));
}

/// A stopped database that has executed these statements.
fn stopped_with(statements: &[&str]) -> Place {
    let mut place = place();
    start(&mut place);
    let mut c = place.connect().unwrap();
    statements.iter().for_each(|sql| drop(c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"))));
    drop(c);
    place.stop().unwrap();
    place
}

/// The same database, killed with redo to roll forward and a transaction to roll back.
fn crashed(from: &Path) -> Place {
    let mut place = place();
    copy(from, place.dir());
    start(&mut place);
    let mut c = place.connect().unwrap();
    for sql in CHANGES.iter().filter(|sql| !sql.starts_with("alter system")) {
        // Some of them are rightly refused.
        assert!(!c.execute(sql, &[]).is_err_and(|e| e.is_fatal()), "{sql}");
    }
    let mut open = place.connect().unwrap();
    open.execute("update plain set t = rpad('o', 190, 'o'), v = v + 7", &[]).unwrap();
    // A commit puts the open transaction's redo on disk as well.
    c.execute("insert into iot values (999999, 'last')", &[]).and_then(|_| c.commit()).unwrap();
    place.kill().unwrap();
    place
}

/// The undamaged database, stopped, and the answers of the queries.
fn sound() -> (Place, Vec<Rows>) {
    let mut place = place();
    start(&mut place);
    let mut c = place.connect().unwrap();
    for sql in SETUP {
        c.execute(sql, &[]).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let answers = QUERIES.iter().map(|sql| rows(&mut c, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))).collect();
    drop(c);
    place.stop().unwrap();
    place.verify().unwrap();
    (place, answers)
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// The files to damage, sorted by name so that a seed selects the same file on every machine.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| !matches!(p.file_name().and_then(|n| n.to_str()), Some("alert.log" | "latchwork.pid")))
        .filter(|p| std::fs::metadata(p).is_ok_and(|m| m.is_file() && m.len() > 0))
        .collect();
    all.sort();
    all
}

/// Changes some bytes of some blocks; with `sealed` the checksums are corrected. Returns a description.
fn damage(dir: &Path, r: &mut Random, sealed: bool) -> String {
    let all = files(dir);
    let data: Vec<&PathBuf> = all.iter().filter(|p| p.extension().is_some_and(|e| e == "dbf")).collect();
    let mut said = String::new();
    for _ in 0..=r.below(3) {
        let whole = if sealed || r.below(4) > 0 {
            data[r.below(data.len() as u64) as usize]
        } else {
            &all[r.below(all.len() as u64) as usize]
        };
        let mut bytes = std::fs::read(whole).unwrap();
        let blocks: Vec<usize> = (0..bytes.len().div_ceil(BLOCK))
            .filter(|n| bytes[n * BLOCK..].iter().take(BLOCK).any(|b| *b != 0))
            .collect();
        if blocks.is_empty() {
            continue; // a log that was never used
        }
        let at = blocks[r.below(blocks.len() as u64) as usize] * BLOCK;
        let end = (at + BLOCK).min(bytes.len());
        let what = change(&mut bytes[at..end], r);
        if sealed && end - at == BLOCK {
            block::seal(&mut bytes[at..end]);
        }
        if !sealed && r.below(12) == 0 {
            bytes.truncate(end - r.below((end - at) as u64) as usize);
        }
        std::fs::write(whole, &bytes).unwrap();
        said.push_str(&format!("{} block {}: {what}; ", whole.file_name().unwrap().display(), at / BLOCK));
    }
    said
}

fn change(block: &mut [u8], r: &mut Random) -> &'static str {
    let len = block.len() as u64;
    match r.below(6) {
        0 => {
            for _ in 0..=r.below(8) {
                block[r.below(len) as usize] ^= 1 << r.below(8);
            }
            "bits flipped"
        }
        1 => {
            // The first bytes are the block's head and its directory.
            let part = len.min(120);
            for _ in 0..=r.below(6) {
                block[r.below(part) as usize] = r.below(256) as u8;
            }
            "head bytes changed"
        }
        2 => {
            let (from, n) = (r.below(len) as usize, 1 + r.below(400) as usize);
            block[from..(from + n).min(len as usize)].fill([0, 0xff, r.below(256) as u8][r.below(3) as usize]);
            "a stretch filled"
        }
        3 => {
            let word = r.below(len / 2) as usize * 2;
            block[word..(word + 2).min(len as usize)].fill(0xff);
            "a word at its greatest"
        }
        4 => {
            let (from, to) = (r.below(len) as usize, r.below(len) as usize);
            let n = (1 + r.below(200) as usize).min(len as usize - from.max(to));
            block.copy_within(from..from + n, to);
            "a stretch moved"
        }
        _ => {
            let from = r.below(len) as usize;
            block[from..].iter_mut().for_each(|b| *b = r.below(256) as u8);
            "the tail is noise"
        }
    }
}

/// An answer that a sound instance never gives.
fn is_crash(e: &ClientError) -> bool {
    !matches!(e, ClientError::Server(f) if !f.fatal || f.code == 1012)
}

/// Counts of the cases.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Databases that verify found damaged, or could not check.
    damaged: u64,
    /// Starts that were refused.
    refused: u64,
    /// Statements that failed.
    errors: u64,
}

/// Starts and uses the database; returns an error for a result that must not happen.
fn use_it(place: &mut Place, answers: &[Rows], any_rows: bool, seen: &mut Seen) -> Result<(), String> {
    match place.start(&params(), None).map_err(|e| e.to_string())? {
        Started::Died(text) if text.contains("ORA-") && !text.contains("panicked") => {
            seen.refused += 1;
            return Ok(());
        }
        Started::Died(text) => return Err(format!("the start says: {text}")),
        Started::Open(_) => {}
    }
    let mut c = match place.connect() {
        Ok(c) => c,
        // A logon refused with an error of its own is no fault.
        Err(ClientError::Server(f)) if f.code != 1012 => {
            seen.errors += 1;
            return place.stop().map_err(|e| e.to_string());
        }
        Err(e) if is_crash(&e) => return Err(format!("connect: {e}")),
        Err(_) => return place.stop().map_err(|e| e.to_string()),
    };
    for (sql, want) in QUERIES.iter().zip(answers) {
        match rows(&mut c, sql) {
            Ok(rows) if any_rows || rows == *want => {}
            Ok(rows) => return Err(format!("a wrong answer: {sql}: {rows:?}, not {want:?}")),
            Err(e) if is_crash(&e) => return Err(format!("{sql}: {e}")),
            Err(_) => seen.errors += 1,
        }
    }
    for sql in CHANGES {
        match c.execute(sql, &[]) {
            Err(e) if is_crash(&e) => return Err(format!("{sql}: {e}")),
            Err(_) => seen.errors += 1,
            Ok(_) => {}
        }
    }
    drop(c);
    place.stop().map_err(|e| e.to_string())
}

/// One case in a separate thread, to detect a hang.
fn case(seed: u64, stopped: &Path, killed: &Path, answers: &[Rows], all: &mut Seen) -> Result<(), String> {
    let mut r = Random::new(seed);
    let (sealed, crashed) = (seed % 2 == 1, seed % 4 > 1);
    let mut place = place();
    copy(if crashed { killed } else { stopped }, place.dir());
    let said = damage(place.dir(), &mut r, sealed);
    let answers = answers.to_vec();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut seen = Seen::default();
        let verified = match place.verify() {
            Err(e) if e.to_string().contains("panicked") => Err(format!("verify: {e}")),
            Err(_) => {
                seen.damaged += 1;
                Ok(())
            }
            Ok(()) => Ok(()),
        };
        let outcome = verified.and_then(|()| use_it(&mut place, &answers, sealed || crashed, &mut seen));
        let alert = std::fs::read_to_string(place.dir().join("alert.log")).unwrap_or_default();
        let panics: Vec<&str> = alert.lines().filter(|l| l.contains(".rs:")).collect();
        let outcome = match (outcome, panics.is_empty()) {
            (Ok(()), false) => Err("a process panicked".to_string()),
            (other, _) => other,
        };
        if outcome.is_err() && std::env::var_os("LATCHWORK_DAMAGE_KEEP").is_some() {
            place.keep();
        }
        // The receiver is gone when the case took too long.
        let _ = sender.send((seen, outcome.map_err(|e| format!("{e}\n{}", panics.join("\n")))));
    });
    let (seen, outcome) = receiver.recv_timeout(LIMIT).unwrap_or_else(|_| (Seen::default(), Err("it hangs".into())));
    all.damaged += seen.damaged;
    all.refused += seen.refused;
    all.errors += seen.errors;
    let kind = if sealed { "sealed" } else { "as it comes" };
    outcome.map_err(|e| format!("case {seed} ({kind}{}): {said}\n{e}", if crashed { ", crashed" } else { "" }))
}

#[test]
fn damaged_files_are_answered_with_errors() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let (cases, first) = (number("LATCHWORK_DAMAGE").unwrap_or(CASES), number("LATCHWORK_DAMAGE_SEED").unwrap_or(1));
    let (sound, answers) = sound();
    let crashed = crashed(sound.dir());
    let mut seen = Seen::default();
    let failures: Vec<String> = (first..first + cases)
        .filter_map(|seed| case(seed, sound.dir(), crashed.dir(), &answers, &mut seen).err())
        .collect();
    println!("{cases} cases: {seen:?}");
    assert!(seen.damaged > 0 && seen.errors > 0, "the damage is noticed: {seen:?}");
    assert!(failures.is_empty(), "{} of {cases} cases:\n{}", failures.len(), failures.join("\n\n"));
}

/// Makes the one value `from` of the data files invalid as text, and corrects the checksum of its block.
fn spoil(dir: &Path, from: &[u8]) {
    let mut found = 0;
    for file in files(dir).into_iter().filter(|p| p.extension().is_some_and(|e| e == "dbf")) {
        let mut bytes = std::fs::read(&file).unwrap();
        let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
        for at in &places {
            bytes[*at] = 0xff;
            block::seal(&mut bytes[at / BLOCK * BLOCK..(at / BLOCK + 1) * BLOCK]);
        }
        if !places.is_empty() {
            std::fs::write(&file, &bytes).unwrap();
        }
        found += places.len();
    }
    assert!(found > 0, "the value is in a data file");
}

#[test]
fn an_internal_error_is_handled_by_others_and_written_to_the_alert_log() {
    let mut place = stopped_with(&[
        "create table sick (id number, t varchar2(40))",
        "insert into sick values (1, 'well')",
        "insert into sick values (2, 'ill, and not to be read')",
        "create table result (n number, text varchar2(400))",
        "commit",
    ]);
    spoil(place.dir(), b"ill, and not to be read");
    start(&mut place);
    let alert = |place: &Place| std::fs::read_to_string(place.dir().join("alert.log")).unwrap();
    let internal = "ORA-00600: internal error code, arguments: [";
    let told = |place: &Place| alert(place).matches(internal).count();
    assert_eq!(told(&place), 0);

    // A query that fails. The session lives on.
    let mut c = place.connect().unwrap();
    let query = "select max(upper(t)) from sick";
    let failed = rows(&mut c, query).unwrap_err();
    assert!(matches!(&failed, ClientError::Server(f) if f.code == 600 && !f.fatal), "{failed}");
    assert_eq!(told(&place), 1, "{}", alert(&place));
    let text = alert(&place);
    let trace = text.lines().find_map(|l| l.strip_prefix("Errors in file ")?.split(" (session ").next()).unwrap();
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(trace.contains(internal) && trace.contains("SESSION ID:(") && trace.contains(query), "{trace}");

    // A handler catches it, a second raise of the same error is not written again.
    c.execute(
        "declare v varchar2(100); c number; e varchar2(400); begin \
         begin select max(upper(t)) into v from sick; \
         exception when others then c := sqlcode; e := sqlerrm; insert into result values (c, e); raise; end; \
         exception when others then c := sqlcode; insert into result values (c, 'outer'); end;",
        &[],
    )
    .unwrap();
    let caught = rows(&mut c, "select n, text from result").unwrap();
    assert!(caught.len() == 2 && caught.iter().all(|r| format!("{:?}", r[0]).contains("-600")), "{caught:?}");
    assert!(format!("{:?}", caught[0][1]).contains(internal), "{caught:?}");
    assert_eq!(told(&place), 2);

    // An exception of the user with that number is no internal error.
    c.execute(
        "declare e exception; pragma exception_init(e, -600); begin raise e; exception when e then null; end;",
        &[],
    )
    .unwrap();
    assert_eq!(told(&place), 2);

    // A loop over the damaged row does not fill the disk.
    c.execute(
        "declare v varchar2(100); begin for i in 1 .. 100 loop \
         begin select max(upper(t)) into v from sick; exception when others then null; end; end loop; end;",
        &[],
    )
    .unwrap();
    assert_eq!(told(&place), 5);
    drop(c);
    place.stop().unwrap();
}

/// Spoils the heads of the undo of rows with this old value, in the files of undo, while the instance runs.
fn spoil_undo(dir: &Path, old: &[u8]) -> usize {
    use std::os::unix::fs::FileExt;
    let is_undo = |p: &PathBuf| p.file_name().is_some_and(|name| name.to_string_lossy().starts_with("undo"));
    let mut found = 0;
    for path in files(dir).into_iter().filter(is_undo) {
        let bytes = std::fs::read(&path).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        for at in (0..bytes.len()).filter(|at| bytes[*at..].starts_with(old)) {
            let begin = at / BLOCK * BLOCK;
            let mut block = bytes[begin..begin + BLOCK].to_vec();
            block[at - begin - 3..at - begin].fill(0xff);
            block::seal(&mut block);
            file.write_all_at(&block, begin as u64).unwrap();
            found += 1;
        }
    }
    found
}

const GATE: &[&str] = &[
    "create table gate (n number)",
    "insert into gate values (0)",
    "create table result (n number, text varchar2(400))",
    "commit",
    "create function f(i number) return varchar2 as pragma autonomous_transaction; begin \
     if i = 2000 then update gate set n = n + 1; commit; raise_application_error(-20001, 'no'); end if; \
     return 'NEW' || to_char(i, 'fm0000') || '$'; end;",
];

/// Runs a statement whose last row waits for `keeper`, damages the undo of the row with the value `old` on disk, and
/// lets the statement go on. It fails with `own`, which its rollback must not hide.
fn fail_without_undo(setup: &[&str], keep: &str, statement: &str, old: &str, own: &str) -> (Place, Client) {
    let mut place = place();
    start(&mut place);
    let (mut c, mut keeper, mut other) = (place.connect().unwrap(), place.connect().unwrap(), place.connect().unwrap());
    for sql in setup.iter().chain(GATE) {
        c.execute(sql, &[]).unwrap();
    }
    // The last row of the statement waits until its undo is on disk, and damaged there.
    keeper.execute(keep, &[]).unwrap();
    let outcome = std::thread::scope(|scope| {
        let block = format!(
            "declare n number; m varchar2(400); begin begin {statement} \
             exception when others then n := sqlcode; m := sqlerrm; insert into result values (n, m); end; commit; end;"
        );
        let running = scope.spawn(move || format!("{:?}", c.execute(&block, &[]).map(drop)));
        let waiters = "select decode(count(*), 0, 'none') from v$lock where type = 'TX' and request > 0";
        while !running.is_finished() && format!("{:?}", rows(&mut other, waiters).unwrap()).contains("none") {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(!running.is_finished(), "{}", running.join().unwrap());
        other.execute("alter system checkpoint", &[]).unwrap();
        other.execute("alter system flush buffer_cache", &[]).unwrap();
        let spoiled = spoil_undo(place.dir(), old.as_bytes());
        other.execute("alter system flush buffer_cache", &[]).unwrap();
        keeper.execute("commit", &[]).unwrap();
        let outcome = running.join().unwrap();
        assert!(spoiled > 0, "the undo is in the files: {outcome}");
        outcome
    });
    let is_told = |text: &str| text.contains("ORA-00603") && text.contains(own);
    assert!(is_told(&outcome), "{statement}: {outcome}");
    let handled = format!("{:?}", rows(&mut other, "select n, text from result").unwrap());
    assert_eq!(handled, "[]", "the handler did not run");
    let alert = std::fs::read_to_string(place.dir().join("alert.log")).unwrap();
    assert!(is_told(&alert), "{statement}: {alert}");
    let trace = alert.lines().find_map(|l| l.strip_prefix("Errors in file ")?.split(" (session ").next()).unwrap();
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(is_told(&trace), "{statement}: {trace}");
    (place, other)
}

#[test]
fn a_statement_that_cannot_be_rolled_back_ends_its_session_and_no_handler_commits_a_part_of_it() {
    let setup = [
        "create table t (id number, v varchar2(30), p varchar2(100))",
        "insert into t select level, 'old' || to_char(level, 'fm0000') || '#', rpad('p', 90, 'p') \
         from dual connect by level <= 2000",
    ];
    let keep = "update gate set n = n";
    let (_place, mut other) = fail_without_undo(&setup, keep, "update t set v = f(id);", "old0100#", "ORA-20001");
    // Changes that could not be undone are not committed: a query undoes them, or ends with an error.
    let left = rows(&mut other, "select decode(count(*), 0, 'none') from t where v like 'NEW%'");
    assert!(left.is_err() || format!("{left:?}").contains("none"), "{left:?}");
}

#[test]
fn rows_that_cannot_be_unlocked_do_not_hide_the_error_of_their_query() {
    let setup = [
        "create table t (id varchar2(30) primary key, n number) organization index",
        "insert into t select 'old' || to_char(level, 'fm0000') || '#', level from dual connect by level <= 2000",
    ];
    let query = "for r in (select id from t where f(n) is not null for update) loop null; end loop;";
    fail_without_undo(&setup, "update gate set n = n", query, "old0100#", "ORA-20001");
}

#[test]
fn a_batch_that_cannot_be_rolled_back_does_not_hide_its_duplicate_key() {
    let setup =
        ["create table t (id number, v varchar2(30))", "create index a on t (v)", "create unique index b on t (id)"];
    let insert =
        "insert into t select level, 'old' || to_char(level, 'fm0000') || '#' from dual connect by level <= 2000;";
    fail_without_undo(&setup, "insert into t values (2000, 'x')", insert, "old0001#", "ORA-00001");
}

/// Changes the key `from` in each leaf of the data files, and corrects the checksum of its block. A leaf of an
/// index-organised table has the value again in the row, which stays.
fn spoil_keys(dir: &Path, from: &[u8], to: &[u8]) -> usize {
    let mut found = 0;
    for file in files(dir).into_iter().filter(|p| p.extension().is_some_and(|e| e == "dbf")) {
        let mut bytes = std::fs::read(&file).unwrap();
        for block in bytes.chunks_exact_mut(BLOCK) {
            let is_leaf = block::BlockView::of_bytes(block).kind() == Some(block::BlockKind::IndexLeaf);
            let at = block.windows(from.len()).position(|bytes| bytes == from);
            if let (true, Some(at)) = (is_leaf, at) {
                block[at..at + to.len()].copy_from_slice(to);
                block::seal(block);
                found += 1;
            }
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    found
}

#[test]
fn a_statement_does_not_start_again_for_a_key_that_is_damaged() {
    let mut place = stopped_with(&[
        "create table iot (id varchar2(20) primary key, n number) organization index",
        "create table h (id varchar2(20), n number)",
        "create index hi on h (id)",
        "insert into iot select 'k' || to_char(level, 'fm0000'), level from dual connect by level <= 2000",
        "insert into h select 'k' || to_char(level, 'fm0000'), level from dual connect by level <= 2000",
        "commit",
    ]);
    assert_eq!(spoil_keys(place.dir(), b"k0107", b"k01z7"), 2, "a leaf of the table and one of the index");
    start(&mut place);
    let mut c = place.connect().unwrap();
    for sql in [
        "delete from iot",
        "delete from iot where n between 50 and 500",
        "update iot set n = n + 1",
        "merge into iot using dual on (iot.id > 'k') when matched then update set n = 0",
        "begin for r in (select id from iot for update) loop null; end loop; end;",
        "delete from h",
        "update h set id = 'x' || id",
    ] {
        let failed = c.execute(sql, &[]).map(drop).expect_err(sql);
        assert!([600, 1578, 8102].contains(&failed.code()), "{sql}: {failed}");
    }
    drop(c);
    place.stop().unwrap();
}

#[test]
fn the_report_of_an_internal_error_has_the_statement_that_failed_and_no_forged_lines() {
    let mut place = stopped_with(&[
        "create table sick (id number, t varchar2(40))",
        "insert into sick select level, 'well' from dual connect by level <= 5000",
        "insert into sick values (0, 'ill, and not to be read')",
        "commit",
    ]);
    spoil(place.dir(), b"ill, and not to be read");
    start(&mut place);
    let mut c = place.connect().unwrap();
    let forged = "chr(10) || '*** FORGED' || chr(27) || chr(13) || chr(155)";
    c.execute(&format!("begin dbms_application_info.set_module('m' || {forged}, 'a' || {forged}); end;"), &[]).unwrap();
    c.execute(&format!("begin dbms_session.set_identifier('i' || {forged}); end;"), &[]).unwrap();
    rows(&mut c, "select 'innocent' from dual").unwrap();

    // DDL has no cursor. Neither the text nor the sql_id shows a password.
    let ddl = [
        "create index i on sick (upper(t))",
        "create index i on sick (upper(t)\n|| '\n*** FORGED\r\n----- FORGED\x1b[2J')",
        "create index i on sick (upper(t) || 'identified by geheim')",
    ];
    for sql in ddl {
        assert_eq!(c.execute(sql, &[]).map(drop).unwrap_err().code(), 600, "{sql}");
    }
    let text = std::fs::read_to_string(place.dir().join("alert.log")).unwrap();
    let notes: Vec<&str> = text.lines().filter(|line| line.starts_with("Errors in file ")).collect();
    assert_eq!(notes.len(), 3, "{text}");
    let file = notes[0].strip_prefix("Errors in file ").and_then(|rest| rest.split(" (session ").next()).unwrap();
    let trace = std::fs::read_to_string(file).unwrap();
    let first = notes[0].split(", sql_id ").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    assert_eq!(first.len(), 13, "{text}");
    assert!(trace.contains(&format!("(sql_id={first}) -----\n{}\n", ddl[0])), "{trace}");
    assert!(trace.contains("(upper(t)\n|| '\n *** FORGED\n ----- FORGED [2J')\n"), "{trace}");
    assert!(trace.contains("(sql_id=) -----\ncreate index i on sick (upper(t) || 'identified by *')\n"), "{trace}");
    assert!(!trace.contains("innocent") && !trace.contains("geheim"), "{trace}");
    for name in ["MODULE NAME:(m", "ACTION NAME:(a", "CLIENT ID:(i"] {
        assert!(trace.contains(&format!("*** {name} *** FORGED   ) ")), "{trace}");
    }
    assert!(!trace.contains(|c: char| c.is_control() && c != '\n'), "{trace:?}");

    // Dumps have the names of users.
    let name = "m\r\n*** FORGED\n----- FORGED\x1b[2J";
    c.execute(&format!("create user \"{name}\" identified by x"), &[]).unwrap();
    c.execute(&format!("grant create session to \"{name}\""), &[]).unwrap();
    let login = Credentials::Password { user: format!("\"{name}\""), password: "x".into() };
    let _forger = Client::connect(place.dir(), &login).unwrap();
    for line in ["setmypid", "dump systemstate 10", "hanganalyze 3"] {
        c.execute(&format!("oradebug {line}"), &[]).unwrap();
    }
    let trace = std::fs::read_to_string(file).unwrap();
    assert!(trace.matches("m  *** FORGED ----- FORGED [2J").count() >= 2, "{trace}");
    assert!(!trace.contains("\n*** FORGED") && !trace.contains(|c: char| c.is_control() && c != '\n'), "{trace:?}");

    // A later fetch finds the damaged row.
    let query = "select upper(t) from sick";
    assert!(rows(&mut c, query).is_err());
    let trace = std::fs::read_to_string(file).unwrap();
    assert!(trace.contains(&format!(") -----\n{query}\n")), "{trace}");
    drop(c);
    place.stop().unwrap();
}
