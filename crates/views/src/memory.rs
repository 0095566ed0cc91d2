//! Memory: the division and the pages of the SGA, the memory of each process, and the times of its connection.
//!
//! The allocator of a process counts its heap; `v$process` and the limits use that count. The operating system's
//! figures (`x$ksmpp`) are read from `/proc` at the moment of the query. `x$ksmpw` walks over every page of every
//! process, which takes seconds for many gigabytes on small pages; the others cost some microseconds a process.

use os::proc::{ProcessMemory, memory_of, walk_pages_of};
use params::Param;
use process::{Pga, ProcessSlot};
use types::Value;

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const SGAINFO: &[(&str, Type)] = &[("NAME", V(32)), ("BYTES", N), ("RESIZEABLE", V(3)), ("CON_ID", N)];

pub const SGA_DYNAMIC_COMPONENTS: &[(&str, Type)] = &[
    ("COMPONENT", V(64)),
    ("CURRENT_SIZE", N),
    ("MIN_SIZE", N),
    ("MAX_SIZE", N),
    ("USER_SPECIFIED_SIZE", N),
    ("OPER_COUNT", N),
    ("LAST_OPER_TYPE", V(13)),
    ("LAST_OPER_MODE", V(9)),
    ("LAST_OPER_TIME", D),
    ("GRANULE_SIZE", N),
    ("CON_ID", N),
];

pub const PROCESS_MEMORY: &[(&str, Type)] = &[
    ("PID", N),
    ("SERIAL#", N),
    ("CATEGORY", V(15)),
    ("ALLOCATED", N),
    ("USED", N),
    ("MAX_ALLOCATED", N),
    ("CON_ID", N),
];

/// The first columns of each table of processes.
const OF_PROCESS: [(&str, Type); 6] =
    [("ADDR", R(8)), ("INDX", N), ("INST_ID", N), ("CON_ID", N), ("SPID", V(24)), ("SERIAL#", N)];

fn with_process(columns: &[(&'static str, Type)]) -> Vec<(&'static str, Type)> {
    OF_PROCESS.iter().chain(columns).copied().collect()
}

/// The columns of `x$ksmpp`: memory of processes, in bytes.
pub fn ksmpp_columns() -> Vec<(&'static str, Type)> {
    with_process(&[
        ("PAGE_TABLES", N),
        ("RESIDENT", N),
        ("PRIVATE", N),
        ("SHARED", N),
        ("HUGE_PAGES", N),
        ("VIRTUAL", N),
    ])
}

/// The columns of `x$ksmpw`: results of a walk over the pages, in bytes.
pub fn ksmpw_columns() -> Vec<(&'static str, Type)> {
    with_process(&[("PROPORTIONAL", N), ("TRANSPARENT", N), ("PRIVATE_DIRTY", N)])
}

/// The columns of `x$ksuct`: times of the parts of a connection, in microseconds.
pub fn ksuct_columns() -> Vec<(&'static str, Type)> {
    with_process(&[
        ("FORK_US", N),
        ("SET_UP_US", N),
        ("ATTACH_US", N),
        ("PRE_PAGE_US", N),
        ("AUTHENTICATE_US", N),
        ("FIRST_CALL_US", N),
    ])
}

pub const KSMPG: &[(&str, Type)] = &[
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("PAGE_SIZE", N),
    ("PAGES_NEEDED", N),
    ("PAGES_FREE", N),
    ("PAGES_OBTAINED", N),
    ("ERROR", N),
    ("PAGES_TO_RESERVE", N),
    ("TRANSPARENT", V(3)),
    ("LOCKED", V(3)),
];

fn page_bytes(s: &Source<'_>) -> u64 {
    s.p.sga().page_report().pages.bytes() as u64
}

pub fn sgainfo(s: &Source<'_>) -> Vec<Row> {
    let parts = crate::database::parts(s);
    let lines = [
        ("Fixed SGA Size", parts.fixed()),
        ("Redo Buffers", parts.redo),
        ("Buffer Cache Size", parts.buffers),
        ("In-Memory Area Size", 0),
        ("Shared Pool Size", parts.pools),
        ("Large Pool Size", 0),
        ("Java Pool Size", 0),
        ("Streams Pool Size", 0),
        ("Shared IO Pool Size", 0),
        ("Data Transfer Cache Size", 0),
        ("Granule Size", page_bytes(s)),
        ("Maximum SGA Size", parts.total),
        ("Startup overhead in Shared Pool", 0),
        ("Free SGA Memory Available", 0),
    ];
    lines.into_iter().map(|(name, bytes)| vec![t(name), n(bytes), t("No"), n(0u64)]).collect()
}

pub fn sga_dynamic_components(s: &Source<'_>) -> Vec<Row> {
    let parts = crate::database::parts(s);
    let params = s.instance.params();
    let given = |param: Param| if params.is_default(param) { 0 } else { params.number(param) as u64 };
    let components = [
        ("shared pool", parts.pools, given(Param::SharedPoolSize)),
        ("large pool", 0, 0),
        ("java pool", 0, 0),
        ("streams pool", 0, 0),
        ("DEFAULT buffer cache", parts.buffers, given(Param::DbCacheSize)),
        ("KEEP buffer cache", 0, 0),
        ("RECYCLE buffer cache", 0, 0),
    ];
    let row = |(name, bytes, given): (&str, u64, u64)| {
        let mut row = vec![t(name), n(bytes), n(bytes), n(bytes), n(given), n(0u64), t("STATIC")];
        row.extend([Value::Null, Value::Null, n(page_bytes(s)), n(0u64)]);
        row
    };
    components.into_iter().map(row).collect()
}

/// The processes that still exist, each with the result of `read`.
fn of_each<T>(s: &Source<'_>, read: fn(i32) -> Option<T>) -> Vec<(u32, &'static ProcessSlot, T)> {
    let live = s.processes.live();
    live.filter_map(|(number, slot)| Some((number, slot, read(slot.state().1)?))).collect()
}

fn process_head(s: &Source<'_>, number: u32, slot: &ProcessSlot) -> Row {
    let pid = t(slot.state().1.to_string());
    vec![address(s.process_address(number)), n(number), n(1u64), n(0u64), pid, n(slot.serial())]
}

fn kb(kilobytes: u64) -> Value {
    n(kilobytes << 10)
}

/// Private memory of a process: used, allocated, freeable, and the maximum: the last four columns of `v$process`.
pub fn pga_of(s: &Source<'_>, number: u32) -> [Value; 4] {
    tell_own(s);
    let pga = s.processes.pga(number);
    [n(pga.used), n(pga.used), n(0u64), n(pga.most)]
}

/// Publishes the heap size of the reading process; other processes publish theirs when it changes.
fn tell_own(s: &Source<'_>) {
    s.p.tell_heap();
}

/// Memory of all processes in bytes, present and maximum, and the number of processes.
pub fn private_memory(s: &Source<'_>) -> (Pga, u64) {
    tell_own(s);
    (s.processes.pga_total(), s.processes.live().count() as u64)
}

pub fn process_memory(s: &Source<'_>) -> Vec<Row> {
    tell_own(s);
    let mut rows = Vec::new();
    for (number, slot, memory) in of_each(s, memory_of) {
        let (pga, tables) = (s.processes.pga(number), memory.page_tables_kb << 10);
        for (category, bytes, most) in [("Other", pga.used, n(pga.most)), ("Page tables", tables, Value::Null)] {
            rows.push(vec![n(number), n(slot.serial()), t(category), n(bytes), n(bytes), most, n(0u64)]);
        }
    }
    rows
}

pub fn ksmpp(s: &Source<'_>) -> Vec<Row> {
    let row = |(number, slot, m): (u32, &ProcessSlot, ProcessMemory)| {
        let mut row = process_head(s, number, slot);
        let figures = [m.page_tables_kb, m.resident_kb, m.anonymous_kb, m.shared_kb, m.huge_kb, m.virtual_kb];
        row.extend(figures.map(kb));
        row
    };
    of_each(s, memory_of).into_iter().map(row).collect()
}

pub fn ksmpw(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, slot, walk) in of_each(s, walk_pages_of) {
        let mut row = process_head(s, number, slot);
        row.extend([walk.proportional_kb, walk.transparent_kb, walk.private_dirty_kb].map(kb));
        rows.push(row);
    }
    rows
}

pub fn ksuct(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, slot) in s.processes.live() {
        let serial = s.processes.session(number).map_or(0, |session| session.serial());
        let Some(c) = s.instance.state().connect_times(number as usize - 1, serial) else { continue };
        let mut row = process_head(s, number, slot);
        let parts = [c.fork_ns, c.set_up_ns, c.attach_ns, c.pre_page_ns, c.authenticate_ns];
        row.extend(parts.map(|ns| n(ns / 1000)));
        // NULL until the call has ended.
        row.push(if c.first_call_ns == 0 { Value::Null } else { n(c.first_call_ns / 1000) });
        rows.push(row);
    }
    rows
}

pub fn ksmpg(s: &Source<'_>) -> Vec<Row> {
    let report = s.p.sga().page_report();
    let yes = |on: bool| t(if on { "YES" } else { "NO" });
    let row = |(at, line): (usize, &sga::PageLine)| {
        let is_used = line.size == report.pages;
        vec![
            n(at as u64),
            n(1u64),
            n(0u64),
            n(line.size.bytes() as u64),
            n(line.wanted),
            line.free.map_or(Value::Null, n),
            n(line.got),
            n(line.errno as u64),
            if line.size == sga::PageSize::Small { Value::Null } else { n(line.reserve) },
            yes(is_used && report.transparent),
            yes(is_used && report.wish.lock),
        ]
    };
    report.lines.iter().enumerate().map(row).collect()
}
