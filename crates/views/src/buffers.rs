//! The buffer cache: `v$bh`, `x$bh`, `x$kcbwds`, `v$buffer_pool`, `v$buffer_pool_statistics`, `v$waitstat`,
//! `v$filestat`, `v$sess_io`.
//!
//! Headers are read without latches: a row shows the words of its header at the moment it was made. Consistent-read
//! clones are private memory of the reading process, so no buffer is ever in the state CR.

use buffer_cache::{BufferInfo, FileIo, SetInfo};
use std::collections::HashMap;
use types::{Result, Value};
use wait::{Event, Stat};

use crate::column::{Row, Type, Type::*, address, n, t};
use crate::source::Source;

pub const BH: &[(&str, Type)] = &[
    ("FILE#", N),
    ("BLOCK#", N),
    ("CLASS#", N),
    ("STATUS", V(10)),
    ("XNC", N),
    ("FORCED_READS", N),
    ("FORCED_WRITES", N),
    ("LOCK_ELEMENT_ADDR", R(8)),
    ("LOCK_ELEMENT_NAME", N),
    ("LOCK_ELEMENT_CLASS", N),
    ("DIRTY", V(1)),
    ("TEMP", V(1)),
    ("PING", V(1)),
    ("STALE", V(1)),
    ("DIRECT", V(1)),
    ("NEW", V(1)),
    ("OBJD", N),
    ("TS#", N),
    ("CON_ID", N),
];

pub const KCBBH: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("HLADDR", R(8)),
    ("BLSIZ", N),
    ("FLAG", N),
    ("LRU_FLAG", N),
    ("TS#", N),
    ("FILE#", N),
    ("DBARFIL", N),
    ("DBABLK", N),
    ("CLASS", N),
    ("STATE", N),
    ("MODE_HELD", N),
    ("DIRTY_QUEUE", N),
    ("SET_DS", N),
    ("OBJ", N),
    ("BA", R(8)),
    ("TCH", N),
    ("TIM", N),
];

pub const BUFFER_POOL: &[(&str, Type)] = &[
    ("ID", N),
    ("NAME", V(20)),
    ("BLOCK_SIZE", N),
    ("RESIZE_STATE", V(10)),
    ("CURRENT_SIZE", N),
    ("BUFFERS", N),
    ("TARGET_SIZE", N),
    ("TARGET_BUFFERS", N),
    ("PREV_SIZE", N),
    ("PREV_BUFFERS", N),
    ("LO_BNUM", N),
    ("HI_BNUM", N),
    ("LO_SETID", N),
    ("HI_SETID", N),
    ("SET_COUNT", N),
    ("CON_ID", N),
];

pub const BUFFER_POOL_STATISTICS: &[(&str, Type)] = &[
    ("ID", N),
    ("NAME", V(20)),
    ("BLOCK_SIZE", N),
    ("SET_MSIZE", N),
    ("CNUM_REPL", N),
    ("CNUM_WRITE", N),
    ("CNUM_SET", N),
    ("BUF_GOT", N),
    ("SUM_WRITE", N),
    ("SUM_SCAN", N),
    ("FREE_BUFFER_WAIT", N),
    ("WRITE_COMPLETE_WAIT", N),
    ("BUFFER_BUSY_WAIT", N),
    ("FREE_BUFFER_INSPECTED", N),
    ("DIRTY_BUFFERS_INSPECTED", N),
    ("DB_BLOCK_CHANGE", N),
    ("DB_BLOCK_GETS", N),
    ("CONSISTENT_GETS", N),
    ("PHYSICAL_READS", N),
    ("PHYSICAL_WRITES", N),
    ("CON_ID", N),
];

pub const WAITSTAT: &[(&str, Type)] = &[("CLASS", V(18)), ("COUNT", N), ("TIME", N), ("CON_ID", N)];

pub const FILESTAT: &[(&str, Type)] = &[
    ("FILE#", N),
    ("PHYRDS", N),
    ("PHYWRTS", N),
    ("PHYBLKRD", N),
    ("OPTIMIZED_PHYBLKRD", N),
    ("PHYBLKWRT", N),
    ("SINGLEBLKRDS", N),
    ("READTIM", N),
    ("WRITETIM", N),
    ("SINGLEBLKRDTIM", N),
    ("AVGIOTIM", N),
    ("LSTIOTIM", N),
    ("MINIOTIM", N),
    ("MAXIORTM", N),
    ("MAXIOWTM", N),
    ("CON_ID", N),
];

pub const SESS_IO: &[(&str, Type)] = &[
    ("SID", N),
    ("BLOCK_GETS", N),
    ("CONSISTENT_GETS", N),
    ("PHYSICAL_READS", N),
    ("BLOCK_CHANGES", N),
    ("CONSISTENT_CHANGES", N),
    ("OPTIMIZED_PHYSICAL_READS", N),
    ("CON_ID", N),
];

/// Bits of FLAG and LRU_FLAG.
const FLAG_DIRTY: u64 = 1;
const FLAG_TEMP: u64 = 16;
const LRU_WRITE_LIST: u64 = 4;
const LRU_HOT: u64 = 8;

/// The tablespaces by file.
type Files = HashMap<u32, Tablespace>;

#[derive(Clone, Copy)]
struct Tablespace {
    number: u32,
    is_temporary: bool,
    is_bigfile: bool,
}

fn files(s: &Source<'_>) -> Result<Files> {
    let control = crate::space::control(s)?;
    let of = |number: u32| {
        let of = control.tablespace(number);
        let is_temporary = of.is_some_and(|t| t.contents == datafile::Contents::Temporary);
        Tablespace { number, is_temporary, is_bigfile: of.is_some_and(|t| t.is_bigfile) }
    };
    Ok(control.files.iter().map(|f| (f.file, of(f.tablespace))).collect())
}

/// The columns about a buffer's block; zeros for a free buffer.
struct Block {
    file: u64,
    relative: u64,
    number: u64,
    class: u64,
    obj: u64,
    tablespace: Value,
    temporary: bool,
}

fn block_of(s: &Source<'_>, b: &BufferInfo, files: &Files) -> Block {
    let Some(at) = b.block else {
        return Block { file: 0, relative: 0, number: 0, class: 0, obj: 0, tablespace: Value::Null, temporary: false };
    };
    let (tablespace, (file, block)) = (files.get(&at.file()), crate::space::shown(s, at));
    Block {
        file: file.into(),
        relative: if tablespace.is_some_and(|t| t.is_bigfile) { crate::space::BIGFILE_RELATIVE } else { file }.into(),
        number: block.into(),
        class: b.class,
        obj: b.obj.0.into(),
        tablespace: tablespace.map_or(Value::Null, |t| n(t.number)),
        temporary: tablespace.is_some_and(|t| t.is_temporary),
    }
}

fn buffers<'a>(s: &Source<'a>) -> impl Iterator<Item = BufferInfo> + use<'a> {
    let cache = s.shared.txns.cache();
    (0..cache.buffers()).filter_map(move |number| cache.info(number))
}

pub fn bh(s: &Source<'_>) -> Result<Vec<Row>> {
    let files = files(s)?;
    let flag = |on: bool| t(if on { "Y" } else { "N" });
    let row = |b: BufferInfo| {
        let of = block_of(s, &b, &files);
        let (no, none) = (flag(false), || n(0u64));
        vec![
            n(of.file),
            n(of.number),
            n(of.class),
            t(b.status),
            none(),
            none(),
            none(),
            address(0),
            Value::Null,
            Value::Null,
            flag(b.dirty),
            flag(of.temporary),
            no.clone(),
            no.clone(),
            no.clone(),
            no,
            n(of.obj),
            of.tablespace,
            none(),
        ]
    };
    Ok(buffers(s).map(row).collect())
}

/// `x$bh`: HLADDR is ADDR of the child latch in `v$latch_children`.
pub fn kcbbh(s: &Source<'_>) -> Result<Vec<Row>> {
    let (files, size) = (files(s)?, s.shared.txns.cache().block_size());
    let row = |b: BufferInfo| {
        let of = block_of(s, &b, &files);
        let state: u64 = match b.status {
            "free" => 0,
            "read" => 4,
            _ => 1,
        };
        let held: u64 = if b.owner.is_some() { 2 } else { u64::from(b.shared_pins > 0) };
        vec![
            address(b.address),
            n(b.number as u64),
            n(1u64),
            n(0u64),
            address(b.latch_address),
            n(size as u64),
            n(u64::from(b.dirty) * FLAG_DIRTY + u64::from(of.temporary) * FLAG_TEMP),
            n(u64::from(b.hot) * LRU_HOT + u64::from(b.to_be_written) * LRU_WRITE_LIST),
            of.tablespace,
            n(of.file),
            n(of.relative),
            n(of.number),
            n(of.class),
            n(state),
            n(held),
            n(u64::from(b.queued)),
            n(b.set as u64 + 1),
            n(of.obj),
            address(b.frame_address),
            n(b.touches),
            n(b.touched_s),
        ]
    };
    Ok(buffers(s).map(row).collect())
}

/// The working sets. LOW_RBA, ANUM_USED and NUM_QUEUED are Latchwork's own.
pub const KCBWDS: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("SET_ID", N),
    ("POOL_ID", N),
    ("DBWR_NUM", N),
    ("BLK_SIZE", N),
    ("SET_LATCH", R(8)),
    ("CKPT_LATCH", R(8)),
    ("START_BUF#", N),
    ("END_BUF#", N),
    ("CNUM_SET", N),
    ("CNUM_REPL", N),
    ("ANUM_REPL", N),
    ("CNUM_WRITE", N),
    ("HBUFS", N),
    ("ANUM_USED", N),
    ("NUM_QUEUED", N),
    ("LOW_RBA", N),
    ("BUF_GOT", N),
    ("SUM_WRT", N),
    ("SUM_SCN", N),
    ("FBWAIT", N),
    ("FBINSP", N),
    ("DBINSP", N),
];

pub fn kcbwds(s: &Source<'_>) -> Vec<Row> {
    let cache = s.shared.txns.cache();
    let row = |of: SetInfo| {
        vec![
            address(of.lru_latch),
            n(of.number as u64),
            n(1u64),
            n(0u64),
            n(of.number as u64 + 1),
            n(3u64),
            n((of.number % s.instance.db_writers()) as u64),
            n(cache.block_size() as u64),
            address(of.lru_latch),
            address(of.queue_latch),
            n(of.first_buffer as u64),
            n(of.first_buffer as u64 + of.buffers - 1),
            n(of.buffers),
            n(of.buffers.saturating_sub(of.to_be_written)),
            n(of.listed),
            n(of.to_be_written),
            n(of.hot),
            n(of.used),
            n(of.dirty),
            n(of.low_rba),
            n(of.replaced),
            n(of.written),
            n(of.inspected),
            n(of.free_waits),
            n(of.inspected),
            n(of.dirty_inspected),
        ]
    };
    (0..cache.working_sets()).filter_map(|set| cache.set_info(set)).map(row).collect()
}

pub fn buffer_pool(s: &Source<'_>) -> Vec<Row> {
    let cache = s.shared.txns.cache();
    let (buffers, size) = (cache.buffers() as u64, cache.block_size() as u64);
    let megabytes = || n(buffers * size / (1 << 20));
    vec![vec![
        n(3u64),
        t("DEFAULT"),
        n(size),
        t("STATIC"),
        megabytes(),
        n(buffers),
        megabytes(),
        n(buffers),
        n(0u64),
        n(0u64),
        n(0u64),
        n(buffers - 1),
        n(1u64),
        n(cache.working_sets() as u64),
        n(cache.working_sets() as u64),
        n(0u64),
    ]]
}

pub fn buffer_pool_statistics(s: &Source<'_>) -> Vec<Row> {
    let cache = s.shared.txns.cache();
    let stats = s.processes.system_stats(s.p);
    let stat = |stat: Stat| n(stats.get(stat.number() as usize).copied().unwrap_or(0));
    let waits = |event| n(s.processes.system_event(s.p, event, process::Whose::All).0.waits);
    let (all, to_write) = (cache.buffers() as u64, cache.write_list_length());
    vec![vec![
        n(3u64),
        t("DEFAULT"),
        n(cache.block_size() as u64),
        n(all),
        n(all.saturating_sub(to_write)),
        n(to_write),
        n(all),
        stat(Stat::FreeBufferRequested),
        stat(Stat::PhysicalWritesFromCache),
        stat(Stat::FreeBufferInspected),
        waits(Event::FreeBufferWaits),
        waits(Event::WriteCompleteWaits),
        waits(Event::BufferBusyWaits),
        stat(Stat::FreeBufferInspected),
        stat(Stat::DirtyBuffersInspected),
        stat(Stat::DbBlockChanges),
        stat(Stat::DbBlockGetsFromCache),
        stat(Stat::ConsistentGetsFromCache),
        stat(Stat::PhysicalReadsCache),
        stat(Stat::PhysicalWritesFromCache),
        n(0u64),
    ]]
}

const CENTISECOND_NS: u64 = 10_000_000;

pub fn waitstat(s: &Source<'_>) -> Vec<Row> {
    let classes = s.shared.txns.cache().waits_by_class();
    classes.into_iter().map(|(class, count, ns)| vec![t(class), n(count), n(ns / CENTISECOND_NS), n(0u64)]).collect()
}

pub fn filestat(s: &Source<'_>) -> Result<Vec<Row>> {
    let mut numbers: Vec<u32> = crate::space::control(s)?.heads().map(|f| f.file).collect();
    numbers.sort_unstable();
    Ok(numbers.into_iter().map(|file| file_row(file, &s.shared.txns.cache().file_io(file))).collect())
}

fn file_row(file: u32, io: &FileIo) -> Row {
    let time = |ns: u64| n(ns / CENTISECOND_NS);
    let average = (io.read_ns + io.write_ns).checked_div(io.reads + io.writes).unwrap_or(0);
    vec![
        n(file),
        n(io.reads),
        n(io.writes),
        n(io.read_blocks),
        n(0u64),
        n(io.write_blocks),
        n(io.single_reads),
        time(io.read_ns),
        time(io.write_ns),
        time(io.single_ns),
        time(average),
        time(io.last_ns),
        time(io.shortest_ns),
        time(io.longest_read_ns),
        time(io.longest_write_ns),
        n(0u64),
    ]
}

pub fn sess_io(s: &Source<'_>) -> Vec<Row> {
    let row = |sid: u32| {
        let line = s.processes.stat_line(sid)?;
        let stat = |stat| n(line.get(stat));
        Some(vec![
            n(sid),
            stat(Stat::DbBlockGets),
            stat(Stat::ConsistentGets),
            stat(Stat::PhysicalReads),
            stat(Stat::DbBlockChanges),
            stat(Stat::ConsistentChanges),
            n(0u64),
            n(0u64),
        ])
    };
    s.processes.live().filter_map(|(sid, _)| row(sid)).collect()
}
