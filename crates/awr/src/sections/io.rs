//! Reads and writes by purpose and by type of file.

use crate::Period;
use crate::doc::{Cell, Column, Section, left, number, section};

/// Bytes of a block of the log.
const LOG_BLOCK: f64 = 512.0;

pub fn sections(p: &Period) -> Vec<Section> {
    vec![functions(p), file_types(p)]
}

/// Requests and bytes read, requests and bytes written, waits and microseconds waited.
#[derive(Clone, Copy, Default)]
struct Io {
    reads: f64,
    read_bytes: f64,
    writes: f64,
    write_bytes: f64,
    waits: u64,
    wait_us: u64,
}

impl Io {
    fn and(self, o: Io) -> Io {
        Io {
            reads: self.reads + o.reads,
            read_bytes: self.read_bytes + o.read_bytes,
            writes: self.writes + o.writes,
            write_bytes: self.write_bytes + o.write_bytes,
            waits: self.waits + o.waits,
            wait_us: self.wait_us + o.wait_us,
        }
    }
}

/// Bytes as megabytes or a multiple, in the report's form.
fn data(bytes: f64) -> Cell {
    let (mut value, mut units) = (bytes / f64::from(1 << 20), "MGTP".chars());
    let mut unit = units.next().unwrap_or('M');
    while value >= 10_000.0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1024.0, next);
    }
    Cell::text(if !(0.05..100.0).contains(&value) { format!("{value:.0}{unit}") } else { format!("{value:.1}{unit}") })
}

fn waits(p: &Period, events: &[&str]) -> (u64, u64) {
    let named = p.events.iter().filter(|e| events.contains(&e.name()));
    named.fold((0, 0), |(waits, us), e| (waits + e.added(0), us + e.added(2)))
}

fn row(p: &Period, name: &str, io: Io, last: [Cell; 2]) -> Vec<Cell> {
    let rate = |n: f64| Cell::Decimal(n / p.elapsed_s, 1);
    let rate_mb = |bytes: f64| Cell::Decimal(bytes / p.elapsed_s / f64::from(1 << 20), 2);
    let mut row = vec![Cell::text(name), data(io.read_bytes), rate(io.reads), rate_mb(io.read_bytes)];
    row.extend([data(io.write_bytes), rate(io.writes), rate_mb(io.write_bytes)]);
    row.extend(last);
    row
}

fn columns(name: &'static str, last: [&'static str; 2]) -> Vec<Column> {
    vec![
        left(name, 18),
        number("Reads:|Data", 7),
        number("Reqs|per sec", 7),
        number("Data (MB)|per sec", 9),
        number("Writes:|Data", 7),
        number("Reqs|per sec", 7),
        number("Data (MB)|per sec", 9),
        number(last[0], 7),
        number(last[1], 7),
    ]
}

fn log(p: &Period) -> Io {
    let writes = p.stat("redo writes") as f64;
    Io { writes, write_bytes: p.stat("redo blocks written") as f64 * LOG_BLOCK, ..Io::default() }
}

fn functions(p: &Period) -> Section {
    let stat = |name: &str| p.stat(name) as f64;
    let block = p.block_size as f64;
    let with = |io: Io, events: &[&str]| {
        let (waits, wait_us) = waits(p, events);
        Io { waits, wait_us, ..io }
    };
    // Cached and direct requests are counted together; a direct request reads one block.
    let (direct_reads, direct_writes) = (stat("physical reads direct"), stat("physical writes direct"));
    let cache = Io {
        reads: (stat("physical read IO requests") - direct_reads).max(0.0),
        read_bytes: stat("physical reads cache") * block,
        ..Io::default()
    };
    let writer = Io {
        writes: (stat("physical write IO requests") - direct_writes).max(0.0),
        write_bytes: stat("physical writes from cache") * block,
        ..Io::default()
    };
    let direct = Io {
        reads: direct_reads,
        read_bytes: direct_reads * block,
        writes: direct_writes,
        write_bytes: direct_writes * block,
        ..Io::default()
    };
    let mut all = vec![
        (
            "Buffer Cache Reads",
            with(cache, &["db file sequential read", "db file scattered read", "db file parallel read"]),
        ),
        ("DBWR", with(writer, &["db file parallel write"])),
        ("LGWR", with(log(p), &["log file parallel write"])),
        (
            "Direct",
            with(direct, &["direct path read", "direct path write", "direct path read temp", "direct path write temp"]),
        ),
    ];
    finish(p, &mut all, "IOStat by Function summary", "Function Name", true)
}

fn file_types(p: &Period) -> Section {
    let stat = |name: &str| p.stat(name) as f64;
    let data_files = Io {
        reads: stat("physical read IO requests"),
        read_bytes: stat("physical read bytes"),
        writes: stat("physical write IO requests"),
        write_bytes: stat("physical write bytes"),
        ..Io::default()
    };
    let mut all = vec![("Data File", data_files), ("Log File", log(p))];
    finish(p, &mut all, "IOStat by Filetype summary", "Filetype Name", false)
}

fn finish(p: &Period, all: &mut [(&str, Io)], title: &str, name: &'static str, waited: bool) -> Section {
    all.sort_by(|a, b| {
        let bytes = |io: &Io| io.read_bytes + io.write_bytes;
        bytes(&b.1).total_cmp(&bytes(&a.1)).then(a.0.cmp(b.0))
    });
    let last = |io: &Io| match (waited, io.waits) {
        (false, _) => [Cell::Null, Cell::Null],
        (true, 0) => [Cell::Count(0), Cell::text("N/A")],
        (true, n) => [Cell::Count(n), Cell::Decimal(io.wait_us as f64 / 1e3 / n as f64, 2)],
    };
    let whole = all.iter().fold(Io::default(), |sum, (_, io)| sum.and(*io));
    let mut rows: Vec<Vec<Cell>> = all.iter().map(|(name, io)| row(p, name, *io, last(io))).collect();
    rows.push(row(p, "TOTAL:", whole, last(&whole)));
    if !waited {
        rows.iter_mut().for_each(|row| row.truncate(7));
    }
    let mut columns = columns(name, ["Waits:|Count", "Avg|Tm(ms)"]);
    columns.truncate(rows[0].len());
    let notes = ["'Data' columns are megabytes, or the unit shown", "ordered by (Data Read + Write) desc"];
    let summary = match waited {
        true => "This table displays IOStat by function",
        false => "This table displays IOStat by filetype",
    };
    section(title, summary, &notes, columns, rows)
}
