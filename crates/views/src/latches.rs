//! Latches and mutexes: `v$latch` and its relatives, the holders, and the places of waits.
//!
//! Source of the columns: Database Reference, "V$LATCH" and the views named there; X$KSUPRLAT as used by latch sampling
//! scripts.

use latch::{Latch, LatchCounts, LatchName, Where};

use crate::column::{Row, Type, Type::*, address, n, t, time};
use crate::source::Source;

/// Columns of `v$latchname`.
pub const LATCHNAME: &[(&str, Type)] = &[("LATCH#", N), ("NAME", V(64)), ("HASH", N)];

/// Columns of `v$latch`.
pub const LATCH: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("LATCH#", N),
    ("LEVEL#", N),
    ("NAME", V(64)),
    ("HASH", N),
    ("GETS", N),
    ("MISSES", N),
    ("SLEEPS", N),
    ("IMMEDIATE_GETS", N),
    ("IMMEDIATE_MISSES", N),
    ("WAITERS_WOKEN", N),
    ("WAITS_HOLDING_LATCH", N),
    ("SPIN_GETS", N),
    ("SLEEP1", N),
    ("SLEEP2", N),
    ("SLEEP3", N),
    ("SLEEP4", N),
    ("SLEEP5", N),
    ("SLEEP6", N),
    ("SLEEP7", N),
    ("SLEEP8", N),
    ("SLEEP9", N),
    ("SLEEP10", N),
    ("SLEEP11", N),
    ("WAIT_TIME", N),
];

/// Columns of `v$latch_children`.
pub const LATCH_CHILDREN: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("LATCH#", N),
    ("CHILD#", N),
    ("LEVEL#", N),
    ("NAME", V(64)),
    ("HASH", N),
    ("GETS", N),
    ("MISSES", N),
    ("SLEEPS", N),
    ("IMMEDIATE_GETS", N),
    ("IMMEDIATE_MISSES", N),
    ("WAITERS_WOKEN", N),
    ("WAITS_HOLDING_LATCH", N),
    ("SPIN_GETS", N),
    ("SLEEP1", N),
    ("SLEEP2", N),
    ("SLEEP3", N),
    ("SLEEP4", N),
    ("SLEEP5", N),
    ("SLEEP6", N),
    ("SLEEP7", N),
    ("SLEEP8", N),
    ("SLEEP9", N),
    ("SLEEP10", N),
    ("SLEEP11", N),
    ("WAIT_TIME", N),
];

/// Columns of `v$latch_misses`.
pub const LATCH_MISSES: &[(&str, Type)] = &[
    ("PARENT_NAME", V(64)),
    ("WHERE", V(80)),
    ("NWFAIL_COUNT", N),
    ("SLEEP_COUNT", N),
    ("WTR_SLP_COUNT", N),
    ("LONGHOLD_COUNT", N),
    ("LOCATION", V(80)),
];

/// Columns of `v$latchholder`.
pub const LATCHHOLDER: &[(&str, Type)] = &[("PID", N), ("SID", N), ("LADDR", R(8)), ("NAME", V(64)), ("GETS", N)];

/// Columns of `x$ksuprlat`.
pub const KSUPRLAT: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("KSUPRPID", N),
    ("KSUPRSID", N),
    ("KSUPRLLV", N),
    ("KSUPRLTY", N),
    ("KSUPRLAT", R(8)),
    ("KSUPRLNM", V(64)),
    ("KSUPRLMD", V(16)),
    ("KSULAWHY", N),
    ("KSULAWHR", N),
    ("KSULAGTS", N),
];

/// Columns of `x$ksllw`.
pub const KSLLW: &[(&str, Type)] =
    &[("ADDR", R(8)), ("INDX", N), ("INST_ID", N), ("KSLLWNAM", V(80)), ("KSLLWLBL", V(80))];

/// Columns of `x$ksldesign`, Latchwork's own: the design in force of each structure that can be switched, and the
/// number of the switch that put it there.
pub const KSLDESIGN: &[(&str, Type)] = &[("INDX", N), ("STRUCTURE", V(32)), ("DESIGN", V(32)), ("EPOCH", N)];

/// Columns of `x$kslwork`, Latchwork's own: what the sessions of users have begun and used, read at one moment.
pub const KSLWORK: &[(&str, Type)] = &[
    ("SID", N),
    ("SERIAL#", N),
    ("EXECUTIONS", N),
    ("CPU_NS", N),
    ("NOW_NS", N),
    ("LATCH_MISSES", N),
    ("LATCH_SLEEPS", N),
];

/// Columns of `v$mutex_sleep`.
pub const MUTEX_SLEEP: &[(&str, Type)] = &[("MUTEX_TYPE", V(32)), ("LOCATION", V(80)), ("SLEEPS", N), ("WAIT_TIME", N)];

fn names(s: &Source<'_>) -> impl Iterator<Item = LatchName> + use<> {
    let generation = s.generation();
    LatchName::all().filter(move |name| name.exists_in(generation))
}

/// The latch names in views with counts: without latches that nothing gets.
fn got(s: &Source<'_>) -> impl Iterator<Item = LatchName> + use<> {
    names(s).filter(|name| name.is_got())
}

pub fn latchname(s: &Source<'_>) -> Vec<Row> {
    let g = s.generation();
    names(s).map(|name| vec![n(name.number(g)), t(name.name_in(g)), n(name.hash(g))]).collect()
}

/// The columns from GETS on.
fn figures(counts: &LatchCounts) -> Vec<Row> {
    let mut row = vec![
        n(counts.gets),
        n(counts.misses),
        n(counts.sleeps),
        n(counts.immediate_gets),
        n(counts.immediate_misses),
        n(counts.waiters_woken),
        n(counts.waits_holding_latch),
        n(counts.spin_gets),
    ];
    // SLEEP1 … SLEEP11 are 0 since 10.2; the histogram of the event replaces them.
    row.extend((0..11).map(|_| n(0u64)));
    row.push(n(counts.wait_ns / 1000));
    vec![row]
}

fn latch_row(s: &Source<'_>, latch: &Latch, child: Option<u32>, counts: &LatchCounts) -> Row {
    let g = s.generation();
    let name = latch.name();
    let mut row = vec![address(latch.address()), n(name.number(g))];
    row.extend(child.map(n));
    row.extend([n(name.level()), t(name.name_in(g)), n(name.hash(g))]);
    row.extend(figures(counts).remove(0));
    row
}

pub fn latch(s: &Source<'_>) -> Vec<Row> {
    got(s).map(|name| latch_row(s, s.processes.latch(name), None, &s.processes.latch_counts(name))).collect()
}

pub fn latch_parent(s: &Source<'_>) -> Vec<Row> {
    let counts = |name: LatchName| {
        // A latch without children has all counts of its name; a parent latch is rarely got itself.
        if s.processes.children(name).is_empty() {
            s.processes.latch_counts(name)
        } else {
            s.processes.latch(name).counts()
        }
    };
    got(s).map(|name| latch_row(s, s.processes.latch(name), None, &counts(name))).collect()
}

pub fn latch_children(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for name in got(s) {
        for set in s.processes.children(name) {
            for child in set.iter() {
                rows.push(latch_row(s, child, Some(child.child()), &child.counts()));
            }
        }
    }
    rows
}

pub fn latch_misses(s: &Source<'_>) -> Vec<Row> {
    let g = s.generation();
    let mut rows = Vec::new();
    for counts in s.processes.domain().places() {
        if let latch::Owner::Latch(name) = counts.place.owner()
            && name.is_got()
            && name.exists_in(g)
        {
            rows.push(vec![
                t(name.name_in(g)),
                t(counts.place.name()),
                n(counts.no_wait_failures),
                n(counts.sleeps),
                n(counts.waiter_sleeps),
                n(counts.long_holds),
                t(counts.place.name()),
            ]);
        }
    }
    rows
}

pub fn mutex_sleep(s: &Source<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for counts in s.processes.domain().places() {
        if let latch::Owner::Mutex(kind) = counts.place.owner()
            && counts.mutex_sleeps > 0
        {
            let wait_us = counts.mutex_wait_ns / 1000;
            rows.push(vec![t(kind.name()), t(counts.place.name()), n(counts.mutex_sleeps), n(wait_us)]);
        }
    }
    rows
}

pub fn latchholder(s: &Source<'_>) -> Vec<Row> {
    let g = s.generation();
    let domain = s.processes.domain();
    let held = domain.holders().filter_map(|hold| {
        let name = hold.name?;
        Some(vec![n(hold.number), n(hold.number), address(hold.address), t(name.name_in(g)), n(hold.gets)])
    });
    held.collect()
}

pub fn ksuprlat(s: &Source<'_>) -> Vec<Row> {
    let g = s.generation();
    let domain = s.processes.domain();
    let held = domain.holders().filter_map(|hold| Some((hold.name?, hold)));
    held.enumerate()
        .map(|(at, (name, hold))| {
            vec![
                address(hold.address),
                n(at as u64),
                n(1u64),
                n(hold.number),
                n(hold.number),
                n(name.level()),
                n(name.class() as u64),
                address(hold.address),
                t(name.name_in(g)),
                t(hold.mode.text()),
                n(hold.why),
                n(hold.place as u64),
                n(hold.gets),
            ]
        })
        .collect()
}

/// `x$ksldesign`.
pub fn ksldesign(s: &Source<'_>) -> Vec<Row> {
    let designs = s.instance.designs_in_force();
    let row =
        |(at, (structure, design, epoch)): (usize, (&str, String, u32))| vec![n(at), t(structure), t(design), n(epoch)];
    designs.into_iter().enumerate().map(row).collect()
}

/// `x$kslwork`: an execution counts when it begins, in the session's own line. The processor time is that of the
/// session's process. Misses and sleeps are those of latches, mutexes and versioned reads of all sessions that the
/// process slot has had.
pub fn kslwork(s: &Source<'_>) -> Vec<Row> {
    let now = os::clock::now_ns();
    let row = |(number, slot): (u32, &process::ProcessSlot)| {
        let line = s.processes.stat_line(number)?;
        let cpu_ns = os::clock::process_cpu_ns(slot.state().1)?;
        let session = s.processes.session(number)?;
        let executions = line.get(wait::Stat::ExecuteCount);
        let (misses, sleeps) = s.processes.domain().waits_of(number)?;
        Some(vec![n(number), n(session.serial()), n(executions), n(cpu_ns), n(now), n(misses), n(sleeps)])
    };
    s.processes.live().filter(|(_, slot)| !slot.is_background()).filter_map(row).collect()
}

/// `x$ksllw`: the code locations that get latches of the generation or mutexes. INDX is the number of the location.
pub fn ksllw(s: &Source<'_>) -> Vec<Row> {
    let g = s.generation();
    let is_there = |place: Where| match place.owner() {
        latch::Owner::Latch(name) => name.exists_in(g),
        latch::Owner::Mutex(_) => true,
    };
    let places = Where::all().enumerate().filter(|(_, place)| is_there(*place));
    places.map(|(at, place)| vec![address(0), n(at as u64), n(1u64), t(place.name()), t(place.label())]).collect()
}

pub const MUTEX_SLEEP_HISTORY: &[(&str, Type)] = &[
    ("MUTEX_IDENTIFIER", N),
    ("SLEEP_TIMESTAMP", S),
    ("MUTEX_TYPE", V(32)),
    ("GETS", N),
    ("SLEEPS", N),
    ("REQUESTING_SESSION", N),
    ("BLOCKING_SESSION", N),
    ("LOCATION", V(80)),
    ("MUTEX_VALUE", R(8)),
    ("P1", N),
    ("P1RAW", R(8)),
    ("P2", N),
    ("P3", N),
    ("P4", N),
    ("P5", V(64)),
    ("CON_ID", N),
];

/// `v$mutex_sleep_history`: the last waits with sleeps, one row each.
pub fn mutex_sleep_history(s: &Source<'_>) -> Vec<Row> {
    let kind = |place: Where| match place.owner() {
        latch::Owner::Mutex(kind) => t(kind.name()),
        latch::Owner::Latch(_) => types::Value::Null,
    };
    let rows = s.processes.domain().mutex_history().into_iter();
    rows.map(|w| {
        vec![
            n(w.idn),
            time(w.wall_ns),
            kind(w.place),
            n(w.gets),
            n(w.sleeps),
            n(w.requester),
            n(w.blocker),
            t(w.place.name()),
            address(w.value),
            n(w.address),
            address(w.address),
            n(0u64),
            n(0u64),
            n(0u64),
            types::Value::Null,
            n(0u64),
        ]
    })
    .collect()
}

pub const X_MUTEX_SLEEP: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("CON_ID", N),
    ("MUTEX_TYPE", V(32)),
    ("LOCATION_ID", N),
    ("LOCATION", V(80)),
    ("SLEEPS", N),
    ("WAIT_TIME", N),
];

/// `x$mutex_sleep`: every code location that gets mutexes, including those without sleeps.
pub fn x_mutex_sleep(s: &Source<'_>) -> Vec<Row> {
    let domain = s.processes.domain();
    let places = domain.places().filter_map(|counts| match counts.place.owner() {
        latch::Owner::Mutex(kind) => Some((kind, counts)),
        latch::Owner::Latch(_) => None,
    });
    let row = |(at, (kind, counts)): (usize, (latch::MutexKind, latch::PlaceCounts))| {
        vec![
            address(0),
            n(at as u64),
            n(1u64),
            n(0u64),
            t(kind.name()),
            n(counts.place.location()),
            t(counts.place.name()),
            n(counts.mutex_sleeps),
            n(counts.mutex_wait_ns / 1000),
        ]
    };
    places.enumerate().map(row).collect()
}

/// Columns of `v$latch_recording`.
pub const LATCH_RECORDING: &[(&str, Type)] = &[
    ("SID", N),
    ("EPOCH", N),
    ("SAMPLED_CALLS", N),
    ("WHOLE_CALLS", N),
    ("OPEN_CALLS", N),
    ("LOST_CALLS", N),
    ("RECORDS", N),
    ("IS_FULL", V(3)),
    ("CAPACITY", N),
    ("RUNNING", V(3)),
];

/// `v$latch_recording`: the sessions of the last recording of latch gets; sessions that followed each other in a
/// process slot have one row. A lost call did not fit the ring, which then takes no other one, or its session was
/// killed.
pub fn latch_recording(s: &Source<'_>) -> Vec<Row> {
    let domain = s.processes.domain();
    let running = if domain.recording().1 == 0 { "NO" } else { "YES" };
    let row = |ring: latch::RingView| {
        vec![
            n(ring.number),
            n(ring.epoch),
            n(ring.calls),
            n(ring.whole_calls()),
            n(u64::from(ring.is_open)),
            n(ring.lost_calls()),
            n(ring.records.len()),
            t(if ring.lost == 0 { "NO" } else { "YES" }),
            n(domain.ring_capacity()),
            t(running),
        ]
    };
    domain.recorded().into_iter().map(row).collect()
}

/// Columns of `x$ksl_recorded_get`.
pub const RECORDED_GET: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("INDX", N),
    ("INST_ID", N),
    ("SID", N),
    ("EPOCH", N),
    ("KIND", V(4)),
    ("NAME", V(64)),
    ("OBJECT", N),
    ("PLACE", N),
    ("GET_MODE", V(16)),
    ("CHANGES", N),
    ("BEGIN_NS", N),
    ("LENGTH_NS", N),
    ("SPUN", N),
    ("SLEPT", N),
    ("LAST_HOLDER", V(7)),
    ("PREEMPTED", N),
];

/// `x$ksl_recorded_get`: the records of the last recording, in the order of each session. INDX is the place in it. The
/// begin and the end of a call have times and no get; PREEMPTED of an end counts the involuntary switches of the call.
pub fn recorded_get(s: &Source<'_>) -> Vec<Row> {
    let g = s.generation();
    let mut rows = Vec::new();
    for ring in s.processes.domain().recorded() {
        for (at, record) in ring.records.iter().enumerate() {
            let mut row = vec![address(0), n(at), n(1u64), n(ring.number), n(ring.epoch)];
            row.extend(match record.kind {
                latch::RecordKind::Call => mark("CALL", record, types::Value::Null),
                latch::RecordKind::End => mark("END", record, n(record.object)),
                latch::RecordKind::Get => get(record, g),
            });
            rows.push(row);
        }
    }
    rows
}

/// The columns of a record from KIND on, where it is the begin or the end of a call.
fn mark(kind: &'static str, record: &latch::Record, preempted: types::Value) -> Row {
    let none = |columns| std::iter::repeat_n(types::Value::Null, columns);
    let times = [n(record.begin_ns), n(record.length_ns)];
    std::iter::once(t(kind)).chain(none(5)).chain(times).chain(none(3)).chain([preempted]).collect()
}

/// The same columns of a get.
fn get(record: &latch::Record, g: latch::Generation) -> Row {
    let name = match (record.name, record.place.map(Where::owner)) {
        (Some(name), _) => name.name_in(g),
        (None, Some(latch::Owner::Mutex(kind))) => kind.name(),
        (None, _) => "",
    };
    vec![
        t("GET"),
        t(name),
        n(record.object),
        record.place.map_or(types::Value::Null, |place| n(place as u64)),
        t(record.manner.text()),
        n(u64::from(record.place.is_some_and(Where::changes))),
        n(record.begin_ns),
        n(record.length_ns),
        n(u64::from(record.spun)),
        n(u64::from(record.slept)),
        t(record.last.text()),
        types::Value::Null,
    ]
}
