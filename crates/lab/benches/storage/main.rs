//! Latchwork, PostgreSQL and SQLite writing and reading the same rows in the same run, each durable on the same disk.
//!
//!     cargo build --release && cargo bench -p lab --features peers --bench storage
//!         [-- --rounds 5 --seconds 2 --rows 100000 --only commits|bulk|scans|changes|recovery --megabytes 256 --dir
//!         DIR --json FILE]
//!
//! Every engine syncs its log before it answers a commit: Latchwork with its defaults, PostgreSQL with `fsync` and
//! `synchronous_commit` on, SQLite in WAL mode with `synchronous=FULL`. All keep their files in one folder, which must
//! not be in memory. Buffers are 256 MB each. Clients work like ordinary users of the engine: Latchwork and PostgreSQL
//! through a local socket with statements parsed once (`pgbench -M prepared`), SQLite inside the client's process, one
//! thread and connection a session. Loops inside the engine are written in its own language, PL/SQL and PL/pgSQL, or
//! are loops of prepared statements for SQLite.
//!
//! Rounds are interleaved: each kind of work is done once by every engine before any engine repeats it. The output has
//! medians by the clock, the ratio to the better of the peers, and the CPU time of one unit where a single process does
//! all of it, for a busy machine. An engine that is not installed is skipped with a message.

#[path = "../common/mod.rs"]
mod common;
#[path = "../peer.rs"]
mod peer;

mod latchwork;
mod postgres;
mod report;
mod sqlite;

use common::{argument, text_argument};
use latchwork::Latchwork;
use postgres::PostgresEngine;
use report::Report;
use sqlite::Sqlite;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The amount of work.
#[derive(Clone, Copy)]
pub struct Size {
    /// Seconds of one measurement of commits or scans.
    pub seconds: f64,
    /// Rows of the tables.
    pub rows: u64,
    /// Megabytes of redo to recover from.
    pub megabytes: u64,
}

/// The result of one measurement: units, seconds by the clock, CPU seconds where they are known.
pub struct Sample {
    pub units: f64,
    pub seconds: f64,
    pub cpu: Option<f64>,
}

/// The end from which an engine recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Its processes are killed. What they wrote through the operating system's cache is still there: all of SQLite's
    /// log, nothing of Latchwork's.
    Kill,
    /// As after a loss of power: nothing of its files is cached.
    Power,
}

impl Crash {
    const ALL: [Crash; 2] = [Crash::Kill, Crash::Power];

    fn what(self) -> &'static str {
        match self {
            Crash::Kill => "recovery after a kill",
            Crash::Power => "recovery, nothing cached",
        }
    }

    /// Called between the end of an engine and its start: `folder` has its files.
    pub fn happens(self, folder: &Path) {
        if self == Crash::Kill {
            return;
        }
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.happens(&path);
            } else if path.is_file() {
                // Only pages that are on the device leave the cache.
                std::fs::File::open(&path).and_then(|file| file.sync_all()).expect("syncs");
                let from = format!("if={}", path.display());
                let done = Command::new("dd").args([&from, "iflag=nocache", "count=0"]).stderr(Stdio::null()).status();
                assert!(done.is_ok_and(|status| status.success()), "dd drops {} from the cache", path.display());
            }
        }
    }
}

/// A start after a kill: the amount written since the last checkpoint, and the time until the first answer.
pub struct Recovered {
    /// Millions of bytes of log.
    pub megabytes: f64,
    /// Rows inserted and updated, all of them committed.
    pub rows: u64,
    pub seconds: f64,
}

/// A table to insert many rows into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Plain,
    Keyed,
    Indexed,
}

impl Target {
    pub const ALL: [Target; 3] = [Target::Plain, Target::Keyed, Target::Indexed];

    pub fn table(self) -> &'static str {
        match self {
            Target::Plain => "bulk_plain",
            Target::Keyed => "bulk_keyed",
            Target::Indexed => "bulk_indexed",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Target::Plain => "no index",
            Target::Keyed => "primary key",
            Target::Indexed => "primary key and an index",
        }
    }
}

/// A query that is executed repeatedly with different keys. The table `item` has `rows` rows: `id` from 1 (primary
/// key), `grp` of a thousand values (index), `amount`, `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// One row by its key.
    Key,
    /// Sum over a range of keys; the rows are read.
    Sum(u64),
    /// Count of a range of keys, answered from the index alone.
    Count(u64),
    /// Sum over one value of the second index, whose rows are spread over the table.
    Group,
    /// Sum over the whole table with a filter.
    Full,
}

impl Query {
    pub const ALL: [Query; 7] = [
        Query::Key,
        Query::Sum(100),
        Query::Sum(10_000),
        Query::Count(100),
        Query::Count(10_000),
        Query::Group,
        Query::Full,
    ];

    /// Number of rows that one execution reads.
    pub fn rows(self, size: Size) -> u64 {
        match self {
            Query::Key => 1,
            Query::Sum(n) | Query::Count(n) => n,
            Query::Group => size.rows / 1000,
            Query::Full => size.rows,
        }
    }

    /// Name of the procedure or function that loops over the query.
    pub fn procedure(self) -> &'static str {
        match self {
            Query::Key => "scan_key",
            Query::Sum(_) => "scan_sum",
            Query::Count(_) => "scan_count",
            Query::Group => "scan_group",
            Query::Full => "scan_full",
        }
    }

    /// The statement, with `{a}` and `{b}` for the limits of the range.
    pub fn sql(self) -> &'static str {
        match self {
            Query::Key => "select amount from item where id = {a}",
            Query::Sum(_) => "select sum(amount) from item where id between {a} and {b}",
            Query::Count(_) => "select count(*) from item where id between {a} and {b}",
            Query::Group => "select sum(amount) from item where grp = mod({a}, 1000)",
            Query::Full => "select sum(amount) from item where amount < 50000",
        }
    }

    fn what(self) -> String {
        match self {
            Query::Key => "row by primary key".into(),
            Query::Sum(n) => format!("sum over {n} keys, rows read"),
            Query::Count(n) => format!("count of {n} keys"),
            Query::Group => "sum over a value of another index".into(),
            Query::Full => "full scan, filter and sum".into(),
        }
    }
}

/// A change of every row of a table, with its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Update,
    UpdateIndexed,
    /// Of a table without indexes.
    DeletePlain,
    Delete,
    /// As [`Change::Delete`]; PostgreSQL, which leaves the entries of the indexes to VACUUM, does this, too.
    DeleteVacuum,
}

impl Change {
    pub const ALL: [Change; 5] =
        [Change::Update, Change::UpdateIndexed, Change::DeletePlain, Change::Delete, Change::DeleteVacuum];

    pub fn target(self) -> Target {
        if self == Change::DeletePlain { Target::Plain } else { Target::Indexed }
    }

    /// The statement, over the table of [`Change::target`].
    pub fn sql(self) -> &'static str {
        match self {
            Change::Update => "update bulk_indexed set amount = amount + 1",
            Change::UpdateIndexed => "update bulk_indexed set grp = grp + 1",
            Change::DeletePlain => "delete from bulk_plain",
            Change::Delete | Change::DeleteVacuum => "delete from bulk_indexed",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Change::Update => "update of every row",
            Change::UpdateIndexed => "update of an indexed column",
            Change::DeletePlain => "delete of every row, no index",
            Change::Delete => "delete of every row",
            Change::DeleteVacuum => "delete, with PostgreSQL's VACUUM",
        }
    }
}

/// A way to send work to Latchwork and PostgreSQL; SQLite has only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A statement, then `COMMIT`: two calls.
    TwoCalls,
    /// One call that inserts and commits.
    OneCall,
    /// A loop in the engine's own language.
    Inside,
    /// One statement that makes the rows.
    Select,
    /// Arrays: FORALL, COPY.
    Array,
    /// Arrays sent by a client, a thousand rows a call.
    Client,
}

fn commits(r: &mut Report, e: &Engines, size: Size) {
    for sessions in [1u32, 4, 16] {
        let what = |way: &str| format!("{way}, {sessions} session{}", if sessions == 1 { "" } else { "s" });
        let client = what("insert and commit, client");
        r.measure(&client, "Latchwork, two calls", || e.latchwork.commits(sessions, Way::TwoCalls, size));
        r.measure(&client, "Latchwork, one call", || e.latchwork.commits(sessions, Way::OneCall, size));
        if let Some(pg) = &e.postgres {
            r.measure(&client, "PostgreSQL", || pg.commits(sessions, Way::OneCall, size));
        }
        r.measure(&client, "SQLite", || e.sqlite.commits(sessions, size));
        let inside = what("insert and commit, loop inside");
        r.measure(&inside, "Latchwork", || e.latchwork.commits(sessions, Way::Inside, size));
        if let Some(pg) = &e.postgres {
            r.measure(&inside, "PostgreSQL", || pg.commits(sessions, Way::Inside, size));
        }
        r.measure(&inside, "SQLite", || e.sqlite.commits(sessions, size));
    }
}

fn bulk(r: &mut Report, e: &Engines, size: Size) {
    for target in Target::ALL {
        let what = format!("insert of many rows, {}", target.what());
        r.measure(&what, "Latchwork, select", || e.latchwork.bulk(target, Way::Select, size));
        r.measure(&what, "Latchwork, FORALL", || e.latchwork.bulk(target, Way::Array, size));
        r.measure(&what, "Latchwork, arrays of 1000", || e.latchwork.bulk(target, Way::Client, size));
        if let Some(pg) = &e.postgres {
            r.measure(&what, "PostgreSQL, select", || pg.bulk(target, Way::Select, size));
            r.measure(&what, "PostgreSQL, COPY", || pg.bulk(target, Way::Array, size));
        }
        r.measure(&what, "SQLite", || e.sqlite.bulk(target, size));
    }
}

fn scans(r: &mut Report, e: &Engines, size: Size) {
    for query in Query::ALL {
        let what = query.what();
        r.measure(&what, "Latchwork", || e.latchwork.scan(query, size));
        if let Some(pg) = &e.postgres {
            r.measure(&what, "PostgreSQL", || pg.scan(query, size));
        }
        r.measure(&what, "SQLite", || e.sqlite.scan(query, size));
    }
}

fn changes(r: &mut Report, e: &Engines, size: Size) {
    for change in Change::ALL {
        let what = change.what();
        r.measure(what, "Latchwork", || e.latchwork.change(change, size));
        if let Some(pg) = &e.postgres {
            r.measure(what, "PostgreSQL", || pg.change(change, size));
        }
        r.measure(what, "SQLite", || e.sqlite.change(change, size));
    }
}

/// One recovery, two figures. The same work writes more log in one engine than in another, so megabytes a second
/// measure how fast a log is read, and rows a second how soon the work is available again.
fn recovery(r: &mut Report, e: &Engines, size: Size) {
    for crash in Crash::ALL {
        let mut note = |engine: &str, done: Option<Recovered>| {
            let Some(done) = done else { return };
            let sample = |units: f64| Some(Sample { units, seconds: done.seconds, cpu: None });
            r.measure(&format!("{}, megabytes of redo", crash.what()), engine, || sample(done.megabytes));
            r.measure(&format!("{}, rows changed", crash.what()), engine, || sample(done.rows as f64));
        };
        note("Latchwork", e.latchwork.recovery(crash, size));
        if let Some(pg) = &e.postgres {
            note("PostgreSQL", pg.recovery(crash, size));
        }
        note("SQLite", e.sqlite.recovery(crash, size));
    }
}

struct Engines {
    latchwork: Latchwork,
    postgres: Option<PostgresEngine>,
    sqlite: Sqlite,
}

/// A part of the benchmark.
type Part = fn(&mut Report, &Engines, Size);

/// The folder of all databases: on a disk, and removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Folder {
        let base = text_argument("--dir").map_or_else(std::env::temp_dir, PathBuf::from);
        let kind = file_system(&base);
        assert!(kind != "tmpfs" && kind != "ramfs", "{} is in memory: give --dir", base.display());
        let folder = base.join(format!("latchwork-storage-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        // The PostgreSQL server runs as another user.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&folder, open).expect("a folder of our own");
        println!("databases in {} ({kind})", folder.display());
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The type of the file system that a folder lies in.
fn file_system(at: &Path) -> String {
    let at = at.canonicalize().expect("a folder");
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let found = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(mounted, _)| at.starts_with(mounted))
        .max_by_key(|(mounted, _)| mounted.len());
    found.map_or_else(String::new, |(_, kind)| kind.to_string())
}

fn main() {
    let rounds = argument("--rounds", 5.0) as usize;
    let size = Size {
        seconds: argument("--seconds", 2.0),
        rows: argument("--rows", 100_000.0) as u64,
        megabytes: argument("--megabytes", 256.0) as u64,
    };
    let folder = Folder::make();
    let engines = Engines {
        latchwork: Latchwork::start(folder.0.join("latchwork"), size),
        postgres: PostgresEngine::start(folder.0.join("postgresql"), size),
        sqlite: Sqlite::start(folder.0.join("sqlite"), size),
    };
    if engines.postgres.is_none() {
        println!("PostgreSQL is not installed (Debian: postgresql) or could not be started: left out");
    }
    let mut report = Report::default();
    let only = text_argument("--only");
    let parts: [(&str, Part); 5] =
        [("commits", commits), ("bulk", bulk), ("scans", scans), ("changes", changes), ("recovery", recovery)];
    for round in 0..rounds {
        for (name, part) in parts {
            if only.as_deref().is_none_or(|o| o == name) {
                part(&mut report, &engines, size);
            }
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    report.print();
    let json = text_argument("--json")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/storage.json"), PathBuf::from);
    report.write_json(&json);
    println!("\nall samples: {}", json.display());
}
