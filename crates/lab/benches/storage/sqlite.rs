//! SQLite inside the client's process: WAL mode, `synchronous=FULL`, a connection for each thread.

use crate::common::{cpu_seconds, together};
use crate::{Change, Crash, Query, Recovered, Sample, Size, Target};
use rusqlite::{Connection, params};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub struct Sqlite {
    file: PathBuf,
    database: RefCell<Connection>,
}

fn open(file: &Path) -> Connection {
    let database = Connection::open(file).expect("opens");
    database.busy_timeout(Duration::from_secs(60)).expect("a setting");
    database
        .execute_batch("pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -262144")
        .expect("settings");
    database
}

impl Sqlite {
    pub fn start(folder: PathBuf, size: Size) -> Sqlite {
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("database");
        let database = open(&file);
        let columns = "grp integer, amount integer, text varchar(40)";
        database
            .execute_batch(&format!(
                "create table item (id integer primary key, {columns});
                 create index item_grp on item (grp);
                 create table journal (id integer, amount integer, text varchar(40));
                 create table bulk_plain (id integer, {columns});
                 create table bulk_keyed (id integer primary key, {columns});
                 create table bulk_indexed (id integer primary key, {columns});
                 create index bulk_indexed_grp on bulk_indexed (grp);
                 insert into item with recursive n(i) as (select 1 union all select i + 1 from n where i < {})
                   select i, i % 1000, (i * 7919) % 100003, 'row number ' || i from n;
                 analyze",
                size.rows
            ))
            .expect("tables");
        Sqlite { file, database: RefCell::new(database) }
    }

    fn timed(&self, units: f64, work: impl FnOnce(&Connection)) -> Option<Sample> {
        let database = self.database.borrow();
        let (began, cpu) = (Instant::now(), cpu_seconds("thread-self"));
        work(&database);
        let cpu = Some(cpu_seconds("thread-self") - cpu);
        Some(Sample { units, seconds: began.elapsed().as_secs_f64(), cpu })
    }

    pub fn commits(&self, sessions: u32, size: Size) -> Option<Sample> {
        let all: Vec<Connection> = (0..sessions).map(|_| open(&self.file)).collect();
        let done = std::sync::atomic::AtomicU64::new(0);
        let limit = Duration::from_secs_f64(size.seconds);
        let seconds = together(all, |database| {
            let mut insert =
                database.prepare("insert into journal values (?1, ?2, 'row of a journal')").expect("prepares");
            let began = Instant::now();
            let mut n = 0u64;
            while began.elapsed() < limit {
                insert.execute([n as i64, n as i64 * 7]).expect("inserts");
                n += 1;
            }
            done.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
        });
        Some(Sample { units: done.into_inner() as f64, seconds, cpu: None })
    }

    pub fn bulk(&self, target: Target, size: Size) -> Option<Sample> {
        let table = target.table();
        self.database.borrow().execute_batch(&format!("delete from {table}")).expect("deletes");
        self.timed(size.rows as f64, |database| {
            database.execute_batch("begin").expect("begins");
            let mut insert =
                database.prepare(&format!("insert into {table} values (?1, ?2, ?3, ?4)")).expect("prepares");
            for i in 1..=size.rows as i64 {
                insert.execute(params![i, i % 100, i * 7, format!("row number {i}")]).expect("inserts");
            }
            drop(insert);
            database.execute_batch("commit").expect("commits");
        })
    }

    pub fn scan(&self, query: Query, size: Size) -> Option<Sample> {
        let rows = query.rows(size);
        let few = 1 + 20_000 / (rows + 20);
        let once = self.timed(1.0, |database| scan(database, query, few, size))?;
        let times = (size.seconds / 2.0 / once.seconds.max(1e-6) * few as f64) as u64 + 1;
        self.timed((times * rows) as f64, |database| scan(database, query, times, size))
    }

    pub fn change(&self, change: Change, size: Size) -> Option<Sample> {
        self.bulk(change.target(), size);
        // A DELETE without WHERE empties the table without visiting its rows, which the other engines cannot do.
        let visits = if change.sql().starts_with("delete") { " where id > 0" } else { "" };
        let sql = &format!("{}{visits}", change.sql());
        self.timed(size.rows as f64, |database| {
            database.execute(sql, []).expect("changes");
        })
    }

    /// Fills the log, leaves it as a killed process would, and times opening the database and moving the log into it.
    pub fn recovery(&self, crash: Crash, size: Size) -> Option<Recovered> {
        let copy = self.file.with_file_name("killed");
        let wal = |of: &Path| PathBuf::from(format!("{}-wal", of.display()));
        let (bytes, rows) = {
            let batch = |sql: &str| self.database.borrow().execute_batch(sql).expect("a checkpoint");
            batch("pragma wal_checkpoint(truncate); pragma wal_autocheckpoint = 0");
            let length = || std::fs::metadata(wal(&self.file)).map_or(0, |m| m.len());
            let mut rows = 0;
            while length() < size.megabytes * 1_000_000 {
                self.change(Change::Update, size);
                rows += 2 * size.rows;
            }
            // A kill leaves the file and its log; the index of the log, in shared memory, is rebuilt.
            std::fs::copy(&self.file, &copy).expect("copies");
            std::fs::copy(wal(&self.file), wal(&copy)).expect("copies");
            let bytes = length();
            batch("pragma wal_autocheckpoint = 1000; pragma wal_checkpoint(truncate)");
            (bytes, rows)
        };
        crash.happens(copy.parent().expect("a folder"));
        let began = Instant::now();
        let database = Connection::open(&copy).expect("opens");
        database.execute_batch("pragma synchronous = full; pragma wal_checkpoint(truncate)").expect("a checkpoint");
        let found: i64 = database.query_row("select count(*) from bulk_indexed", [], |r| r.get(0)).expect("counts");
        let seconds = began.elapsed().as_secs_f64();
        assert_eq!(found as u64, size.rows, "every committed row is there");
        drop(database);
        let _ = std::fs::remove_file(&copy);
        Some(Recovered { megabytes: bytes as f64 / 1e6, rows, seconds })
    }
}

fn scan(database: &Connection, query: Query, times: u64, size: Size) {
    let sql = query.sql().replace("{a}", "?1").replace("{b}", "?2").replace("mod(?1, 1000)", "?1 % 1000");
    let mut statement = database.prepare(&sql).expect("prepares");
    let (wide, mut k) = (query.rows(size) as i64, 0i64);
    for _ in 0..times {
        k = (k + 7919) % (size.rows as i64 - wide).max(1) + 1;
        let found: Option<i64> = match query {
            Query::Full => statement.query_row([], |r| r.get(0)),
            Query::Key | Query::Group => statement.query_row([k], |r| r.get(0)),
            Query::Sum(_) | Query::Count(_) => statement.query_row([k, k + wide - 1], |r| r.get(0)),
        }
        .expect("finds");
        assert!(found.is_some());
    }
}
