//! The cache lines of the SGA that each hot operation writes, counted store by store.
//!
//! The instance and its sessions are in this process. Two sessions run the same operation on rows of their own, one
//! after the other, while `tracer` notes every instruction that touches the SGA. A line is shared when one of the two
//! writes it and the other one reads or writes it. A line that only one of them uses (its statistics, its
//! micro-undo log, its row) may stay in the cache of one processor and costs the others nothing. Each session is traced
//! three times in a row, and a line counts as written when each of the three runs writes it: the touch of a buffer and
//! the time of a cursor's last use are written once in some seconds by design.
//!
//! Of an operation that changes data only the stores are traced, since the kernel writes redo from the log buffer and
//! cannot where reading is forbidden: a line that one session writes and the other one only reads is not found there.
//!
//! Not counted is the heap of this process, `process memory`: in an instance each session's server process has a line
//! of its own there, but the sessions of this test are in one process.
//!
//! The rule of the design: in the generation `latchwork` no read path writes a shared line; a commit writes a bounded
//! number. `docs/PERFORMANCE.md` has the table, which `LATCHWORK_PRINT=1 cargo test -p latchwork --test shared_lines --
//! --nocapture` prints.
#![cfg(target_arch = "x86_64")]

#[allow(unsafe_code)] // Page protection and signal handlers.
mod tracer;

use instance::InProcess;
use net::local::{Execute, FrameBuffer, Reply, Request};
use session::Session;
use std::collections::{BTreeMap, BTreeSet};
use tracer::{Access, Tracer};

/// The writes to shared lines that an operation may make in the generation `latchwork`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Writes none.
    Read,
    /// Writes so many at most.
    Change(usize),
}

struct Operation {
    name: &'static str,
    /// The statement; `{n}` is the number of the session, 1 or 2.
    sql: &'static str,
    kind: Kind,
}

/// Each is one call of a session whose cursor is cached; the loops look up a hundred times in one call.
const OPERATIONS: &[Operation] = &[
    Operation { name: "row by primary key", sql: "select amount from rows_{n} where id = 7", kind: Kind::Read },
    Operation {
        name: "row by primary key, both sessions the same one",
        sql: "select amount from common where id = 7",
        kind: Kind::Read,
    },
    Operation {
        name: "range of 200 keys of a common table",
        sql: "select count(text) from common where id between 100 and 300",
        kind: Kind::Read,
    },
    Operation { name: "full scan of a common table", sql: "select sum(amount) from common", kind: Kind::Read },
    Operation {
        name: "100 hash-cluster look-ups in PL/SQL",
        sql: "declare r varchar2(200); begin for i in 1 .. 100 loop \
              for c in (select text from clustered where id = i) loop r := c.text; end loop; end loop; end;",
        kind: Kind::Read,
    },
    Operation {
        name: "100 hits of the result cache in PL/SQL",
        sql: "declare r number; begin for i in 1 .. 100 loop \
              for c in (select /*+ result_cache */ amount from common where id = i) loop r := c.amount; end loop; \
              end loop; end;",
        kind: Kind::Read,
    },
    Operation {
        name: "nls_database_parameters: the row cache",
        sql: "select value from nls_database_parameters where parameter = 'NLS_SORT'",
        kind: Kind::Read,
    },
    Operation {
        name: "update of a row of one's own",
        sql: "update rows_{n} set amount = amount + 1 where id = 7",
        kind: Kind::Change(4),
    },
    Operation {
        name: "update of a row of one's own, and commit",
        sql: "begin update rows_{n} set amount = amount + 1 where id = 7; commit; end;",
        kind: Kind::Change(12),
    },
    Operation {
        name: "insert into a table of one's own, and commit",
        sql: "begin insert into log_{n} values (1, 'x'); commit; end;",
        kind: Kind::Change(12),
    },
];

fn run(s: &mut Session, text: &str) {
    s.run(text).unwrap_or_else(|e| panic!("{text}: {e}"));
}

/// A call as a client makes it.
fn call(s: &mut Session, sql: &str) -> Vec<u8> {
    let execute =
        Execute { sql: sql.to_string(), binds: Vec::new(), prefetch: 10, want_output: false, tables: Vec::new() };
    let mut out = Vec::new();
    let _ = s.call(&Request::Execute(Box::new(execute)), &mut out);
    out
}

/// Panics when the answer is an error.
fn check(out: &[u8]) {
    let mut frames = FrameBuffer::new(usize::MAX);
    frames.extend(out);
    while let Some(frame) = frames.next_frame().expect("a frame") {
        if let Reply::Error(failure) = Reply::decode(frame).expect("a reply") {
            panic!("{}", failure.text);
        }
    }
}

/// The lines of one operation: which each session has read and written.
struct Lines {
    shared_written: BTreeSet<usize>,
    own_written: usize,
    shared_read: usize,
}

/// Lines of 64 bytes by what was done to them.
fn lines(accesses: &[Access], written: bool) -> BTreeSet<usize> {
    accesses.iter().filter(|a| a.is_store || !written).map(|a| a.address / 64).collect()
}

fn measure(home: &InProcess, tracer: &Tracer, sessions: &mut [Session; 2], operation: &Operation) -> Lines {
    let is_read = operation.kind == Kind::Read;
    let texts: Vec<String> = (1..=2).map(|n| operation.sql.replace("{n}", &n.to_string())).collect();
    // The cursor is in the session's own cache behind the third parse call, its blocks and results are in memory.
    for _ in 0..6 {
        for (s, text) in sessions.iter_mut().zip(&texts) {
            check(&call(s, text));
        }
    }
    let mut traces: Vec<Vec<Access>> = Vec::new();
    for (s, text) in sessions.iter_mut().zip(&texts) {
        for _ in 0..3 {
            if is_read {
                // A line that is written once in some seconds is written now, not in the traced call.
                check(&call(s, text));
            }
            // The kernel writes redo from the log buffer, and cannot where reading is forbidden.
            let (out, trace) = tracer.trace(is_read, || call(s, text));
            check(&out);
            traces.push(trace);
            if !is_read {
                run(s, "commit");
            }
        }
    }
    let each_time = |runs: &[Vec<Access>], written: bool| {
        let all = runs.iter().map(|run| lines(run, written));
        all.reduce(|a, b| a.intersection(&b).copied().collect()).expect("three runs")
    };
    let (a, b) = traces.split_at(3);
    let (written_a, written_b) = (each_time(a, true), each_time(b, true));
    let (touched_a, touched_b) = (each_time(a, false), each_time(b, false));
    let mut shared_written: BTreeSet<usize> = written_a.intersection(&touched_b).copied().collect();
    shared_written.extend(written_b.intersection(&touched_a));
    Lines {
        own_written: written_a.difference(&shared_written).count(),
        shared_read: touched_a.intersection(&touched_b).count(),
        shared_written: shared_written.into_iter().filter(|line| area_of(home, *line) != "process memory").collect(),
    }
}

/// The name of the SGA's area that a line lies in.
fn area_of(home: &InProcess, line: usize) -> &'static str {
    let sga = home.instance().sga();
    let offset = (line * 64 - sga.base_address()) as u64;
    let before = sga.areas().iter().filter(|area| area.offset <= offset);
    before.max_by_key(|area| area.offset).expect("the first area begins the SGA").name
}

/// Names of the SGA's areas with the number of lines in each.
fn by_area(home: &InProcess, lines: &BTreeSet<usize>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    lines.iter().for_each(|line| *counts.entry(area_of(home, *line)).or_default() += 1);
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}

fn prepare(s: &mut Session) {
    for text in [
        "create table common (id number primary key, amount number, text varchar2(100))",
        "insert into common select level, level * 7, rpad('x', 100, 'x') from dual connect by level <= 2000",
        "create cluster c_hash (id number) size 220 single table hashkeys 200",
        "create table clustered (id number, text varchar2(200)) cluster c_hash (id)",
        "insert into clustered select level, rpad('x', 200, 'x') from dual connect by level <= 100",
    ] {
        run(s, text);
    }
    for n in 1..=2 {
        for text in [
            format!("create table rows_{n} (id number primary key, amount number, text varchar2(100))"),
            format!("insert into rows_{n} select level, 0, rpad('x', 100, 'x') from dual connect by level <= 100"),
            format!("create table log_{n} (n number, text varchar2(100))"),
        ] {
            run(s, &text);
        }
    }
    run(s, "commit");
}

/// Prints the table of a generation and returns the operations that break the rule of the design.
///
/// An operation that seems to break the rule is measured up to `again` times more: on a busy machine a traced call
/// takes seconds, so that all its runs may contain lines that are written once in some seconds. The lines that the
/// operation itself writes are found each time.
fn table(generation: &str, again: usize) -> Vec<String> {
    let home = InProcess::start(&[("latch_generation", generation), ("db_cache_size", "32M")]).expect("an instance");
    home.instance().set_fixed_tables(views::make);
    let mut sessions = [(); 2].map(|()| Session::in_process(home.instance()).expect("a session"));
    prepare(&mut sessions[0]);
    let sga = home.instance().sga();
    let tracer = Tracer::new(sga.base_address(), sga.len_bytes() as usize);
    let mut broken = Vec::new();
    let prints = std::env::var_os("LATCHWORK_PRINT").is_some();
    if prints {
        println!(
            "\ngeneration {generation}: operation | own lines written | shared lines read | shared lines written | where"
        );
    }
    for operation in OPERATIONS {
        let most = if let Kind::Change(most) = operation.kind { most } else { 0 };
        let mut found = measure(&home, &tracer, &mut sessions, operation);
        for _ in 0..again {
            if found.shared_written.len() <= most {
                break;
            }
            found = measure(&home, &tracer, &mut sessions, operation);
        }
        let (shared, areas) = (found.shared_written.len(), by_area(&home, &found.shared_written));
        if prints {
            let read = if operation.kind == Kind::Read { found.shared_read.to_string() } else { "-".to_string() };
            println!("| {} | {} | {read} | {shared} | {areas} |", operation.name, found.own_written);
        }
        assert!(found.own_written > 0, "{}: a session counts what it does", operation.name);
        if shared > most {
            broken.push(format!("{}: {shared} shared lines written, {most} allowed: {areas}", operation.name));
        }
    }
    for s in sessions {
        s.end();
    }
    home.instance().close().expect("closes");
    broken
}

#[test]
fn reads_write_no_shared_line_and_changes_a_bounded_number() {
    let broken = table("latchwork", 3);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    // The tracer sees shared lines where there are some: a latch of the period is one.
    let older = table("11.1", 0);
    assert!(older.iter().any(|line| line.starts_with("row by primary key")), "{}", older.join("\n"));
}
