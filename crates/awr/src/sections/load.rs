//! The head of the report: instance, period, load, and the top waits.

use crate::Period;
use crate::doc::{Body, Cell, Column, Section, Table, average_us, by_most, decimal, left, number, section};
use crate::text::table_text;
use std::collections::BTreeMap;

pub fn sections(p: &Period) -> Vec<Section> {
    vec![
        header(p),
        load_profile(p),
        efficiency(p),
        shared_pool(p),
        top_events(p),
        wait_classes(p),
        host_cpu(p),
        instance_cpu(p),
        io_profile(p),
        memory(p),
        time_model(p),
        os_statistics(p),
        os_detail(p),
    ]
}

/// A section of formatted text, with the same data as tables.
fn verbatim(title: &str, summary: &'static str, text: String, tables: Vec<Table>) -> Section {
    Section { title: title.into(), summary, notes: Vec::new(), body: Body::Verbatim { text, tables } }
}

fn row_table(columns: Vec<Column>, row: Vec<Cell>) -> Table {
    Table { columns, rows: vec![row] }
}

fn header(p: &Period) -> Section {
    let gb = p.os.get("PHYSICAL_MEMORY_BYTES").map_or(0.0, |(_, bytes)| bytes / f64::from(1 << 30));
    let now = |name: &str| p.os.get(name).map_or(0, |(_, end)| *end as u64);
    let database = row_table(
        vec![
            left("DB Name", 12),
            number("DB Id", 11),
            left("Instance", 12),
            number("Inst Num", 8),
            left("Startup Time", 15),
            left("Release", 11),
            left("RAC", 3),
        ],
        vec![
            Cell::text(&p.db_name),
            Cell::text(p.dbid.to_string()),
            Cell::text(&p.instance),
            Cell::Count(1),
            Cell::text(&p.end.startup),
            Cell::text(&p.release),
            Cell::text("NO"),
        ],
    );
    let host = row_table(
        vec![
            left("Host Name", 16),
            left("Platform", 32),
            number("CPUs", 4),
            number("Cores", 5),
            number("Sockets", 7),
            number("Memory(GB)", 10),
        ],
        vec![
            Cell::text(&p.host),
            Cell::text(&p.platform),
            Cell::Count(now("NUM_CPUS")),
            Cell::Count(now("NUM_CPU_CORES")),
            Cell::Count(now("NUM_CPU_SOCKETS")),
            Cell::Decimal(gb, 2),
        ],
    );
    let ends = |name: &str| p.stats.get(name).copied().unwrap_or_default();
    let (sessions, cursors) = (ends("logons current"), ends("opened cursors current"));
    let each = |cursors: u64, sessions: u64| decimal(cursors as f64 / sessions.max(1) as f64, 1);
    let snapshots = Table {
        columns: vec![
            left("", 12),
            number("Snap Id", 9),
            left("Snap Time", 19),
            number("Sessions", 8),
            number("Curs/Sess", 9),
        ],
        rows: vec![
            vec![
                Cell::text("Begin Snap:"),
                Cell::text(p.begin.id.to_string()),
                Cell::text(&p.begin.time),
                Cell::Count(sessions.0),
                Cell::text(each(cursors.0, sessions.0)),
            ],
            vec![
                Cell::text("End Snap:"),
                Cell::text(p.end.id.to_string()),
                Cell::text(&p.end.time),
                Cell::Count(sessions.1),
                Cell::text(each(cursors.1, sessions.1)),
            ],
            vec![
                Cell::text("Elapsed:"),
                Cell::Null,
                Cell::text(format!("{:>10} (mins)", decimal(p.elapsed_s / 60.0, 2))),
                Cell::Null,
                Cell::Null,
            ],
            vec![
                Cell::text("DB Time:"),
                Cell::Null,
                Cell::text(format!("{:>10} (mins)", decimal(p.db_time_us() as f64 / 60e6, 2))),
                Cell::Null,
                Cell::Null,
            ],
        ],
    };
    let mut text = String::new();
    for table in [&database, &host] {
        table_text(table, &mut text);
        text.push('\n');
    }
    text.push_str("              Snap Id      Snap Time      Sessions Curs/Sess\n");
    text.push_str("            --------- ------------------- -------- ---------\n");
    for row in &snapshots.rows {
        let [label, id, time, sessions, each] = [0, 1, 2, 3, 4].map(|n| row[n].shown());
        let line = format!("{label:>11} {id:>9} {time:<19} {sessions:>8} {each:>9}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let caches = cache_sizes(p);
    text.push_str("\nCache Sizes                       Begin        End\n");
    text.push_str("~~~~~~~~~~~                  ---------- ----------\n");
    for row in &caches.rows {
        let [label, begin, end, other, value] = [0, 1, 2, 3, 4].map(|n| row[n].shown());
        text.push_str(&format!("{:>27}: {begin:>10} {end:>10}  {:>14}: {value:>10}\n", label, other));
    }
    verbatim(
        "Workload",
        "This table displays database instance information",
        text,
        vec![database, host, snapshots, caches],
    )
}

/// `8K`, `512M`.
fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{}M", decimal(b as f64 / f64::from(1 << 20), 0)),
        b => format!("{}K", decimal(b as f64 / 1024.0, 0)),
    }
}

fn cache_sizes(p: &Period) -> Table {
    let region = |name: &str| {
        p.sga.iter().find(|e| e.name() == name).map_or((0, 0), |e| (e.begin.first().copied().unwrap_or(0), e.end[0]))
    };
    let (buffers, pool, redo) = (region("Database Buffers"), region("Variable Size"), region("Redo Buffers"));
    let row = |name: &str, ends: (u64, u64), other: &str, value: u64| {
        [name, &size(ends.0), &size(ends.1), other, &size(value)].map(Cell::text).to_vec()
    };
    Table {
        columns: vec![left("Cache Sizes", 17), number("Begin", 10), number("End", 10), left("", 15), number("", 10)],
        rows: vec![
            row("Buffer Cache", buffers, "Std Block Size", p.block_size),
            row("Shared Pool Size", pool, "Log Buffer", redo.1),
        ],
    }
}

/// The lines of the load profile: name, increase, and whether it is a time.
pub fn load_lines(p: &Period) -> Vec<(&'static str, f64, bool)> {
    let seconds_of = |us: u64| us as f64 / 1e6;
    vec![
        ("DB Time(s)", seconds_of(p.db_time_us()), true),
        ("DB CPU(s)", seconds_of(p.time_us("DB CPU")), true),
        ("Redo size", p.stat("redo size") as f64, false),
        ("Logical reads", p.stat("session logical reads") as f64, false),
        ("Block changes", p.stat("db block changes") as f64, false),
        ("Physical reads", p.stat("physical reads") as f64, false),
        ("Physical writes", p.stat("physical writes") as f64, false),
        ("User calls", p.stat("user calls") as f64, false),
        ("Parses", p.stat("parse count (total)") as f64, false),
        ("Hard parses", p.stat("parse count (hard)") as f64, false),
        ("W/A MB processed", p.advice.pga_added("bytes processed") as f64 / 1_048_576.0, false),
        ("Logons", p.stat("logons cumulative") as f64, false),
        ("Executes", p.stat("execute count") as f64, false),
        ("Rollbacks", p.stat("user rollbacks") as f64, false),
        ("Transactions", p.transactions() as f64, false),
    ]
}

fn load_profile(p: &Period) -> Section {
    let (seconds, transactions) = (p.elapsed_s, p.transactions() as f64);
    let (executes, calls) = (p.stat("execute count") as f64, p.stat("user calls") as f64);
    let lines = load_lines(p);
    let rows = lines.iter().map(|(name, value, is_time)| {
        let mut row = vec![
            Cell::text(format!("{name}:")),
            Cell::Decimal(value / seconds, 1),
            if *name == "Transactions" { Cell::Null } else { Cell::ratio(*value, transactions, 1) },
        ];
        let each = |of: f64| if *is_time { Cell::ratio(*value, of, 2) } else { Cell::Null };
        row.extend([each(executes), each(calls)]);
        row
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let mut text = String::from("Load Profile              Per Second    Per Transaction   Per Exec   Per Call\n");
    text.push_str("~~~~~~~~~~~~         ---------------    --------------- ---------- ----------\n");
    for row in &rows {
        let [name, second, transaction, exec, call] = [0, 1, 2, 3, 4].map(|n| row[n].shown());
        let line = format!("{name:>17} {second:>18} {transaction:>18} {exec:>10} {call:>10}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let columns = vec![
        left("", 17),
        number("Per Second", 18),
        number("Per Transaction", 18),
        number("Per Exec", 10),
        number("Per Call", 10),
    ];
    verbatim("Load Profile", "This table displays load profile", text, vec![Table { columns, rows }])
}

/// One minus a quotient, in per cent; NaN when nothing was counted: Oracle leaves the field empty then.
fn without(missed: u64, all: u64) -> f64 {
    if all == 0 { f64::NAN } else { 100.0 * (1.0 - missed as f64 / all as f64) }
}

/// The ten efficiencies: name and per cent; NaN when nothing was counted.
pub fn efficiencies(p: &Period) -> [(&'static str, f64); 10] {
    let sum = |rows: &[crate::loader::Ends], n: usize| rows.iter().map(|e| e.added(n)).sum::<u64>();
    let gets = p.stat("consistent gets from cache") + p.stat("db block gets from cache");
    let sorts = p.stat("sorts (memory)") + p.stat("sorts (disk)");
    let pins = sum(&p.library_cache, 2);
    let parses = p.stat("parse count (total)");
    let parse_cpu_us = p.time_us("parse time cpu");
    let (latch_gets, latch_misses) = (sum(&p.latches, 0), sum(&p.latches, 1));
    let parse_us = p.time_us("parse time elapsed");
    let cpu_to_elapsed = if parse_us == 0 { f64::NAN } else { 100.0 * parse_cpu_us as f64 / parse_us as f64 };
    [
        ("Buffer Nowait %", without(sum(&p.buffer_waits, 0), p.stat("session logical reads"))),
        ("Redo NoWait %", without(p.stat("redo log space requests"), p.stat("redo entries"))),
        ("Buffer  Hit   %", without(p.stat("physical reads cache"), gets)),
        ("In-memory Sort %", without(p.stat("sorts (disk)"), sorts)),
        ("Library Hit   %", without(pins - sum(&p.library_cache, 3).min(pins), pins)),
        ("Soft Parse %", without(p.stat("parse count (hard)"), parses)),
        ("Execute to Parse %", without(parses, p.stat("execute count"))),
        ("Latch Hit %", without(latch_misses, latch_gets)),
        ("Parse CPU to Parse Elapsd %", cpu_to_elapsed),
        ("% Non-Parse CPU", without(parse_cpu_us, p.time_us("DB CPU"))),
    ]
}

fn efficiency(p: &Period) -> Section {
    let all = efficiencies(p);
    let mut text =
        String::from("Instance Efficiency Percentages (Target 100%)\n~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~\n");
    let mut rows = Vec::new();
    for pair in all.chunks(2) {
        let [(a, x), (b, y)] = [pair[0], pair[1]];
        let shown = |n: f64| if n.is_nan() { String::new() } else { decimal(n, 2) };
        text.push_str(&format!("{a:>27}: {:>7}  {b:>19}: {:>7}\n", shown(x), shown(y)));
        let cell = |n: f64| if n.is_nan() { Cell::Null } else { Cell::Decimal(n, 2) };
        rows.push(vec![Cell::text(format!("{a}:")), cell(x), Cell::text(format!("{b}:")), cell(y)]);
    }
    let columns = vec![left("", 28), number("", 8), left("", 20), number("", 8)];
    let summary = "This table displays instance efficiency percentages";
    verbatim("Instance Efficiency Percentages (Target 100%)", summary, text, vec![Table { columns, rows }])
}

fn shared_pool(p: &Period) -> Section {
    let repeated = p.statements.iter().filter(|s| s.executions > 1).count();
    let share = if p.statements.is_empty() { 0.0 } else { 100.0 * repeated as f64 / p.statements.len() as f64 };
    let shown = decimal(share, 2);
    let text = format!(
        " Shared Pool Statistics          End\n                              ------\n    % SQL with executions>1:  {shown:>6}\n"
    );
    let table = row_table(
        vec![left("", 26), number("End", 8)],
        vec![Cell::text("% SQL with executions>1:"), Cell::Decimal(share, 2)],
    );
    verbatim("Shared Pool Statistics", "This table displays shared pool statistics", text, vec![table])
}

/// Foreground waits that are part of `DB time`: event, class, waits, microseconds.
pub fn foreground(p: &Period) -> Vec<(String, String, u64, u64)> {
    let busy = p.events.iter().filter(|e| e.key[1] != "Idle" && e.added(3) > 0);
    let mut rows: Vec<_> = busy.map(|e| (e.key[0].clone(), e.key[1].clone(), e.added(3), e.added(5))).collect();
    by_most(&mut rows, |r| r.3, |r| r.0.clone());
    rows
}

fn top_events(p: &Period) -> Section {
    let db_time = p.db_time_us();
    let mut all: Vec<(String, String, Option<u64>, u64)> =
        foreground(p).into_iter().map(|(event, class, waits, us)| (event, class, Some(waits), us)).collect();
    all.push(("DB CPU".into(), String::new(), None, p.time_us("DB CPU")));
    by_most(&mut all, |r| r.3, |r| r.0.clone());
    let row = |(event, class, waits, us): (String, String, Option<u64>, u64)| {
        vec![
            Cell::text(event),
            waits.map_or(Cell::Null, Cell::Count),
            Cell::Decimal(us as f64 / 1e6, 1),
            waits.map_or(Cell::Null, |waits| average_us(us, waits)),
            Cell::percent(us as f64, db_time as f64, 1),
            Cell::text(class),
        ]
    };
    let rows = all.into_iter().filter(|r| r.3 > 0).take(10).map(row).collect();
    let columns = vec![
        left("Event", 30),
        number("Waits", 11),
        number("Total Wait|Time (sec)", 10),
        number("Avg|Wait", 9),
        number("% DB|time", 6),
        left("Wait|Class", 8),
    ];
    let title = "Top 10 Foreground Events by Total Wait Time";
    section(title, "This table displays top 10 wait events by total wait time", &[], columns, rows)
}

fn wait_classes(p: &Period) -> Section {
    let mut classes: Vec<(String, u64, u64)> = Vec::new();
    for (_, class, waits, us) in foreground(p) {
        match classes.iter_mut().find(|c| c.0 == class) {
            Some(c) => (c.1, c.2) = (c.1 + waits, c.2 + us),
            None => classes.push((class, waits, us)),
        }
    }
    let mut all: Vec<(String, Option<u64>, u64)> = classes.into_iter().map(|(c, w, us)| (c, Some(w), us)).collect();
    all.push(("DB CPU".into(), None, p.time_us("DB CPU")));
    by_most(&mut all, |r| r.2, |r| r.0.clone());
    let row = |(class, waits, us): (String, Option<u64>, u64)| {
        vec![
            Cell::text(class),
            waits.map_or(Cell::Null, Cell::Count),
            Cell::Decimal(us as f64 / 1e6, 1),
            waits.map_or(Cell::Null, |waits| average_us(us, waits)),
            Cell::percent(us as f64, p.db_time_us() as f64, 1),
            Cell::Decimal(us as f64 / 1e6 / p.elapsed_s, 1),
        ]
    };
    let columns = vec![
        left("Wait Class", 16),
        number("Waits", 16),
        number("Total Wait|Time (sec)", 14),
        number("Avg|Wait", 9),
        number("% DB|time", 6),
        number("Avg Active|Sessions", 10),
    ];
    let rows = all.into_iter().filter(|r| r.2 > 0).map(row).collect();
    section(
        "Wait Classes by Total Wait Time",
        "This table displays wait class statistics ordered by total wait time",
        &[],
        columns,
        rows,
    )
}

/// A note: the processes that the columns of user time cover.
const NICED: &str = "User time is that of processes of any priority: USER_TIME and NICE_TIME";

fn host_cpu(p: &Period) -> Section {
    let all = p.os_added("BUSY_TIME") + p.os_added("IDLE_TIME") + p.os_added("IOWAIT_TIME");
    let (begin, end) = p.os.get("LOAD").copied().unwrap_or_default();
    let share = |of_all: f64| Cell::percent(of_all, all, 1);
    let columns = vec![
        number("Load Average|Begin", 12),
        number("Load Average|End", 12),
        number("%User", 9),
        number("%System", 9),
        number("%WIO", 9),
        number("%Idle", 9),
    ];
    let row = vec![
        Cell::Decimal(begin, 2),
        Cell::Decimal(end, 2),
        share(p.os_added("USER_TIME") + p.os_added("NICE_TIME")),
        share(p.os_added("SYS_TIME")),
        share(p.os_added("IOWAIT_TIME")),
        share(p.os_added("IDLE_TIME")),
    ];
    section(
        "Host CPU",
        "This table displays system load statistics",
        &[NICED],
        columns,
        if all > 0.0 { vec![row] } else { Vec::new() },
    )
}

fn instance_cpu(p: &Period) -> Section {
    let used_cs = (p.time_us("DB CPU") + p.time_us("background cpu time")) as f64 / 1e4;
    let busy = p.os_added("BUSY_TIME");
    let all = busy + p.os_added("IDLE_TIME") + p.os_added("IOWAIT_TIME");
    let columns = vec![number("%Total CPU", 12), number("%Busy CPU", 12)];
    let row = vec![Cell::percent(used_cs, all, 1), Cell::percent(used_cs, busy, 1)];
    section(
        "Instance CPU",
        "This table displays CPU usage statistics",
        &[],
        columns,
        if all > 0.0 { vec![row] } else { Vec::new() },
    )
}

/// The block size in `redo blocks written`.
const LOG_BLOCK_BYTES: u64 = 512;

fn io_profile(p: &Period) -> Section {
    let each = |n: f64, decimals| Cell::Decimal(n / p.elapsed_s, decimals);
    let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let line = |name: &str, reads: f64, writes: f64| {
        vec![Cell::text(name), each(reads + writes, 1), each(reads, 1), each(writes, 1)]
    };
    let stat = |name: &str| p.stat(name) as f64;
    let rows = vec![
        line("Total Requests:", stat("physical read total IO requests"), stat("physical write total IO requests")),
        line("Database Requests:", stat("physical read IO requests"), stat("physical write IO requests")),
        line("Redo Requests:", 0.0, stat("redo writes")),
        line("Total (MB):", mb(p.stat("physical read total bytes")), mb(p.stat("physical write total bytes"))),
        line("Database (MB):", mb(p.stat("physical read bytes")), mb(p.stat("physical write bytes"))),
        line("Redo (MB):", 0.0, mb(p.stat("redo blocks written") * LOG_BLOCK_BYTES)),
        line("Database (blocks):", stat("physical reads"), stat("physical writes")),
        line("Via Buffer Cache (blocks):", stat("physical reads cache"), stat("physical writes from cache")),
        line("Direct (blocks):", stat("physical reads direct"), stat("physical writes direct")),
    ];
    let columns = vec![
        left("", 26),
        number("Read+Write|Per Second", 15),
        number("Read|per Second", 15),
        number("Write|Per Second", 15),
    ];
    section("IO Profile", "This table displays IO profile", &[], columns, rows)
}

fn memory(p: &Period) -> Section {
    let (begin, end) = p.os.get("PHYSICAL_MEMORY_BYTES").copied().unwrap_or_default();
    let sga = |which: fn(&crate::loader::Ends) -> u64| p.sga.iter().map(which).sum::<u64>() as f64;
    let (sga_begin, sga_end) = (sga(|e| e.begin.first().copied().unwrap_or(0)), sga(|e| e.end[0]));
    let mb = |bytes: f64| Cell::Decimal(bytes / f64::from(1 << 20), 1);
    let rows = vec![
        vec![Cell::text("Host Mem (MB):"), mb(begin), mb(end)],
        vec![Cell::text("SGA use (MB):"), mb(sga_begin), mb(sga_end)],
        vec![
            Cell::text("% Host Mem used for SGA:"),
            Cell::percent(sga_begin, begin, 2),
            Cell::percent(sga_end, end, 2),
        ],
    ];
    let columns = vec![left("", 26), number("Begin", 13), number("End", 13)];
    section("Memory Statistics", "This table displays memory statistics", &[], columns, rows)
}

fn time_model(p: &Period) -> Section {
    let db_time = p.db_time_us();
    let of_users = |name: &str| !name.starts_with("background") && name != "DB time" && name != "parse time cpu";
    let mut named: Vec<(&String, u64)> = p.times.keys().map(|name| (name, p.time_us(name))).collect();
    by_most(&mut named, |r| r.1, |r| r.0.clone());
    let line = |(name, us): &(&String, u64), share: bool| {
        let share = if share { Cell::percent(*us as f64, db_time as f64, 1) } else { Cell::Null };
        vec![Cell::text(name.as_str()), Cell::Decimal(*us as f64 / 1e6, 1), share]
    };
    let mut rows: Vec<Vec<Cell>> = named.iter().filter(|r| of_users(r.0) && r.1 > 0).map(|r| line(r, true)).collect();
    for name in ["DB time", "background elapsed time", "background cpu time"] {
        rows.extend(named.iter().filter(|r| r.0 == name).map(|r| line(r, false)));
    }
    let total = format!("Total time in user calls (DB Time): {}s", decimal(db_time as f64 / 1e6, 1));
    let notes =
        [total.as_str(), "Background figures are not part of DB time", "Ordered by % of DB time desc, Statistic name"];
    let columns = vec![left("Statistic Name", 42), number("Time (s)", 18), number("% of DB Time", 12)];
    let summary =
        "This table displays different time model statistics. For each statistic, time and % of DB time are displayed";
    section("Time Model Statistics", summary, &notes, columns, rows)
}

/// The machine at each snapshot; shares are relative to the previous snapshot.
fn os_detail(p: &Period) -> Section {
    let row = |(nth, (time, now)): (usize, &(String, BTreeMap<String, f64>))| {
        let value = |of: &BTreeMap<String, f64>, name: &str| of.get(name).copied().unwrap_or(0.0);
        let mut row = vec![Cell::text(time), Cell::Decimal(value(now, "LOAD"), 1)];
        let before = nth.checked_sub(1).map(|n| &p.os_steps[n].1);
        let added = |name: &str| before.map_or(0.0, |b| (value(now, name) - value(b, name)).max(0.0));
        let all = added("BUSY_TIME") + added("IDLE_TIME") + added("IOWAIT_TIME");
        let user = added("USER_TIME") + added("NICE_TIME");
        for part in [added("BUSY_TIME"), user, added("SYS_TIME"), added("IDLE_TIME"), added("IOWAIT_TIME")] {
            row.push(if all > 0.0 { Cell::Decimal(100.0 * part / all, 1) } else { Cell::Null });
        }
        row
    };
    let columns = vec![
        left("Snap Time", 15),
        number("Load", 8),
        number("%busy", 8),
        number("%user", 8),
        number("%sys", 8),
        number("%idle", 8),
        number("%iowait", 8),
    ];
    let rows = p.os_steps.iter().enumerate().map(row).collect();
    let summary = "This table displays detailed operating systems statistics";
    section("Operating System Statistics - Detail", summary, &[NICED], columns, rows)
}

fn os_statistics(p: &Period) -> Section {
    let row = |name: &String, value: f64, end: Option<f64>, decimals: usize| {
        vec![
            Cell::text(name.as_str()),
            Cell::Decimal(value, decimals),
            end.map_or(Cell::Null, |e| Cell::Decimal(e, decimals)),
        ]
    };
    let is_total = |name: &str| name.ends_with("_TIME");
    let rows = p.os.iter().map(|(name, (begin, end))| match name.as_str() {
        name_ if is_total(name_) => row(name, (end - begin).max(0.0), None, 0),
        "LOAD" => row(name, *begin, Some(*end), 2),
        _ => row(name, *begin, Some(*end), 0),
    });
    let columns = vec![left("Statistic", 25), number("Value", 22), number("End Value", 16)];
    let notes = ["Times are increases, in hundredths of a second; others are values at both ends", "ordered by name"];
    section(
        "Operating System Statistics",
        "This table displays operating systems statistics",
        &notes,
        columns,
        rows.collect(),
    )
}
