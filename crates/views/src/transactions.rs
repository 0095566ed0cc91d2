//! Transactions, their locks, their waits and undo: `v$transaction`, `v$locked_object`, `dba_waiters`, `v$rollstat` and
//! others.

use datafile::ControlFile;
use enqueue::{EnqueueType, LockMode};
use txn::UndoSegment;
use types::{Number, Value};
use wait::Event;

use crate::column::{Row, Type, Type::*, address, date, date_of_seconds, n, t};
use crate::source::Source;

pub const TRANSACTION: &[(&str, Type)] = &[
    ("ADDR", R(8)),
    ("XIDUSN", N),
    ("XIDSLOT", N),
    ("XIDSQN", N),
    ("UBAFIL", N),
    ("UBABLK", N),
    ("UBASQN", N),
    ("UBAREC", N),
    ("STATUS", V(16)),
    ("START_TIME", V(20)),
    ("START_SCNB", N),
    ("START_SCNW", N),
    ("SES_ADDR", R(8)),
    ("FLAG", N),
    ("SPACE", V(3)),
    ("RECURSIVE", V(3)),
    ("NOUNDO", V(3)),
    ("PTX", V(3)),
    ("USED_UBLK", N),
    ("USED_UREC", N),
    ("START_DATE", D),
    ("START_SCN", N),
    ("XID", R(8)),
    ("NAME", V(256)),
    ("CON_ID", N),
];

/// The bit of FLAG for a serializable transaction.
const SERIALIZABLE: u64 = 1 << 28;

/// Transactions with changes.
pub fn transaction(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.txns.transactions().into_iter();
    rows.map(|x| {
        let wall_s = (x.start_ns / 1_000_000_000) as i64;
        let local = u64::try_from(wall_s + i64::from(os::clock::utc_offset_seconds(wall_s))).unwrap_or(0);
        let start = date(local * 1_000_000_000);
        let scn = x.start_scn.0;
        let uba = x.last_uba;
        let (file, block) = crate::space::shown(s, uba.rdba);
        vec![
            address(x.address),
            n(x.xid.usn),
            n(x.xid.slot),
            n(x.xid.sqn),
            n(file),
            n(block),
            n(uba.seq),
            n(uba.rec),
            t(x.status),
            match &start {
                Value::Date(d) => t(start_time(d)),
                _ => Value::Null,
            },
            n(scn & 0xFFFF_FFFF),
            n(scn >> 32),
            address(s.session_address(x.process)),
            n(if x.is_serializable { SERIALIZABLE } else { 0 }),
            t("NO"),
            t("NO"),
            t("NO"),
            t("NO"),
            n(x.used_undo_blocks),
            n(x.used_undo_records),
            start,
            n(scn),
            address(x.xid.to_bits()),
            s.processes.session(x.process).map_or(Value::Null, |slot| t(slot.transaction_name.get())),
            n(0u64),
        ]
    })
    .collect()
}

/// START_TIME: MM/DD/YY HH24:MI:SS.
fn start_time(d: &types::Date) -> String {
    let f = d.fields();
    format!("{:02}/{:02}/{:02} {:02}:{:02}:{:02}", f.month, f.day, f.year % 100, f.hour, f.minute, f.second)
}

pub const LOCKED_OBJECT: &[(&str, Type)] = &[
    ("XIDUSN", N),
    ("XIDSLOT", N),
    ("XIDSQN", N),
    ("OBJECT_ID", N),
    ("SESSION_ID", N),
    ("ORACLE_USERNAME", V(128)),
    ("OS_USER_NAME", V(128)),
    ("PROCESS", V(24)),
    ("LOCKED_MODE", N),
    ("CON_ID", N),
];

/// Tables locked by transactions.
pub fn locked_object(s: &Source<'_>) -> Vec<Row> {
    let open = s.shared.txns.transactions();
    let held = s.shared.enqueues.locks().into_iter().filter(|l| l.kind == EnqueueType::Tm && l.held != LockMode::None);
    held.filter_map(|l| {
        let slot = s.processes.session(l.sid)?;
        let xid = open.iter().find(|x| x.process == l.sid).map(|x| x.xid);
        Some(vec![
            n(xid.map_or(0, |x| x.usn)),
            n(xid.map_or(0, |x| x.slot)),
            n(xid.map_or(0, |x| x.sqn)),
            n(l.id1),
            n(l.sid),
            t(slot.username.get()),
            t(slot.os_user.get()),
            t(slot.client_process.get()),
            n(l.held as u64),
            n(0u64),
        ])
    })
    .collect()
}

pub const WAITERS: &[(&str, Type)] = &[
    ("WAITING_SESSION", N),
    ("HOLDING_SESSION", N),
    ("LOCK_TYPE", V(26)),
    ("MODE_HELD", V(40)),
    ("MODE_REQUESTED", V(40)),
    ("LOCK_ID1", N),
    ("LOCK_ID2", N),
];

fn mode_name(mode: LockMode) -> &'static str {
    match mode {
        LockMode::None => "None",
        LockMode::Null => "Null",
        LockMode::SubShare => "Row-S (SS)",
        LockMode::SubExclusive => "Row-X (SX)",
        LockMode::Share => "Share",
        LockMode::ShareSubExclusive => "S/Row-X (SSX)",
        LockMode::Exclusive => "Exclusive",
    }
}

/// Waiting sessions, each with a session that blocks it.
pub fn waiters(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.enqueues.waits().into_iter();
    rows.map(|(w, h)| {
        let kind = match w.kind {
            EnqueueType::Tx => "Transaction",
            EnqueueType::Tm => "DML",
            EnqueueType::Ul => "PL/SQL User Lock",
            other => other.letters(),
        };
        vec![n(w.sid), n(h.sid), t(kind), t(mode_name(h.held)), t(mode_name(w.requested)), n(w.id1), n(w.id2)]
    })
    .collect()
}

pub const BLOCKERS: &[(&str, Type)] = &[("HOLDING_SESSION", N), ("CON_ID", N)];

/// Sessions that block others and do not wait themselves.
pub fn blockers(s: &Source<'_>) -> Vec<Row> {
    let waits = s.shared.enqueues.waits();
    let mut holders: Vec<u32> = waits.iter().map(|(_, h)| h.sid).collect();
    holders.retain(|sid| waits.iter().all(|(w, _)| w.sid != *sid));
    holders.sort_unstable();
    holders.dedup();
    holders.into_iter().map(|sid| vec![n(sid), n(0u64)]).collect()
}

pub const LOCK_TYPE: &[(&str, Type)] = &[
    ("TYPE", V(64)),
    ("NAME", V(64)),
    ("ID1_TAG", V(64)),
    ("ID2_TAG", V(64)),
    ("IS_USER", V(3)),
    ("IS_RECYCLE", V(3)),
    ("DESCRIPTION", V(4000)),
];

/// The meaning of the two numbers of a lock, and the purpose of its type.
fn tags(kind: EnqueueType) -> (&'static str, &'static str, &'static str) {
    match kind {
        EnqueueType::Tx => {
            ("usn<<16 | slot", "sequence", "Lock held by a transaction to allow other transactions to wait for it")
        }
        EnqueueType::Tm => ("object #", "table/partition", "Synchronizes accesses to an object"),
        EnqueueType::Ul => ("id", "0", "Lock used by user applications"),
        _ => ("id1", "id2", ""),
    }
}

/// Types of enqueues.
pub fn lock_type(_: &Source<'_>) -> Vec<Row> {
    EnqueueType::all()
        .map(|kind| {
            let (id1, id2, about) = tags(kind);
            let user = matches!(kind, EnqueueType::Tx | EnqueueType::Tm | EnqueueType::Ul);
            vec![t(kind.letters()), t(kind.name()), t(id1), t(id2), crate::column::yes(user), t("NO"), t(about)]
        })
        .collect()
}

pub const ENQUEUE_STATISTICS: &[(&str, Type)] = &[
    ("EQ_NAME", V(64)),
    ("EQ_TYPE", V(2)),
    ("REQ_REASON", V(64)),
    ("TOTAL_REQ#", N),
    ("TOTAL_WAIT#", N),
    ("SUCC_REQ#", N),
    ("FAILED_REQ#", N),
    ("CUM_WAIT_TIME", N),
    ("REQ_DESCRIPTION", V(4000)),
    ("EVENT#", N),
    ("CON_ID", N),
];

/// Types of enqueues by the reason of the wait, which is an event. Requests are counted by type: when a type has
/// several reasons, the figures of requests are NULL. Waits and their milliseconds are those of the event.
pub fn enqueue_statistics(s: &Source<'_>) -> Vec<Row> {
    let reasons = |kind: EnqueueType| {
        let start = format!("enq: {} - ", kind.letters());
        Event::all().filter_map(move |event| Some((event, event.name().strip_prefix(start.as_str())?)))
    };
    let mut rows = Vec::new();
    for kind in EnqueueType::all() {
        let figures = s.shared.enqueues.figures(kind);
        let alone = reasons(kind).count() == 1;
        let counted = |figure: u64| if alone { n(figure) } else { Value::Null };
        for (event, reason) in reasons(kind) {
            let (waits, waited_ms) = if alone {
                (figures.waits, figures.waited_ns / 1_000_000)
            } else {
                let (process::EventSums { waits, us, .. }, _) =
                    s.processes.system_event(s.p, event, process::Whose::All);
                (waits, us / 1000)
            };
            rows.push(vec![
                t(kind.name()),
                t(kind.letters()),
                t(reason),
                counted(figures.requests),
                n(waits),
                counted(figures.requests.saturating_sub(figures.failures)),
                counted(figures.failures),
                n(waited_ms),
                t(tags(kind).2),
                n(event.number()),
                n(0u64),
            ]);
        }
    }
    rows
}

pub const ENQUEUE_STAT: &[(&str, Type)] = &[
    ("INST_ID", N),
    ("EQ_TYPE", V(2)),
    ("TOTAL_REQ#", N),
    ("TOTAL_WAIT#", N),
    ("SUCC_REQ#", N),
    ("FAILED_REQ#", N),
    ("CUM_WAIT_TIME", N),
];

/// Requests by type of enqueue; CUM_WAIT_TIME is in milliseconds.
pub fn enqueue_stat(s: &Source<'_>) -> Vec<Row> {
    let figures = EnqueueType::all().map(|kind| (kind, s.shared.enqueues.figures(kind)));
    figures
        .filter(|(_, f)| f.requests > 0)
        .map(|(kind, f)| {
            vec![
                n(1u64),
                t(kind.letters()),
                n(f.requests),
                n(f.waits),
                n(f.requests.saturating_sub(f.failures)),
                n(f.failures),
                n(f.waited_ns / 1_000_000),
            ]
        })
        .collect()
}

pub const ROLLNAME: &[(&str, Type)] = &[("USN", N), ("NAME", V(30)), ("CON_ID", N)];

/// Undo segments in which transactions begin or are still open.
fn online(s: &Source<'_>) -> impl Iterator<Item = UndoSegment> + use<> {
    s.shared.txns.undo_segments().into_iter().filter(|segment| segment.status() != "OFFLINE")
}

pub fn rollname(s: &Source<'_>) -> Vec<Row> {
    online(s).map(|segment| vec![n(segment.usn), t(segment.name()), n(0u64)]).collect()
}

pub const ROLLSTAT: &[(&str, Type)] = &[
    ("USN", N),
    ("LATCH", N),
    ("EXTENTS", N),
    ("RSSIZE", N),
    ("WRITES", N),
    ("XACTS", N),
    ("GETS", N),
    ("WAITS", N),
    ("OPTSIZE", N),
    ("HWMSIZE", N),
    ("STATUS", V(15)),
    ("CON_ID", N),
];

/// Undo segments that are online. Figures that are not counted by segment are 0.
pub fn rollstat(s: &Source<'_>) -> Vec<Row> {
    let txns = s.shared.txns;
    let block = txns.cache().block_size() as u64;
    online(s)
        .map(|segment| {
            let usn = segment.usn;
            let extents = txns.space().extents(s.p, segment.header).unwrap_or_default();
            let size = extents.iter().map(|e| u64::from(e.blocks)).sum::<u64>() * block;
            vec![
                n(usn),
                n(usn),
                n(extents.len() as u64),
                n(size),
                n(segment.written),
                n(segment.open as u64),
                n(segment.gets),
                n(0u64),
                Value::Null,
                n(size),
                t(segment.status()),
                n(0u64),
            ]
        })
        .collect()
}

pub const ROLLBACK_SEGS: &[(&str, Type)] = &[
    ("SEGMENT_NAME", V(30)),
    ("OWNER", V(6)),
    ("TABLESPACE_NAME", V(30)),
    ("SEGMENT_ID", N),
    ("FILE_ID", N),
    ("BLOCK_ID", N),
    ("STATUS", V(16)),
    ("INSTANCE_NUM", V(40)),
    ("RELATIVE_FNO", N),
];

/// The name of a segment's tablespace, when the control file can be read.
fn tablespace_name(control: Option<&ControlFile>, segment: &UndoSegment) -> Value {
    control.and_then(|c| c.tablespace(segment.tablespace)).map_or(Value::Null, |entry| t(&entry.name))
}

pub fn rollback_segs(s: &Source<'_>) -> Vec<Row> {
    let control = crate::space::control(s).ok();
    let all = s.shared.txns.undo_segments().into_iter();
    all.map(|segment| {
        let (file, block) = crate::space::shown(s, segment.header);
        vec![
            t(segment.name()),
            t("PUBLIC"),
            tablespace_name(control.as_ref(), &segment),
            n(segment.usn),
            n(file),
            n(block),
            // A segment going offline, with open transactions, counts as online.
            t(if segment.status() == "OFFLINE" { "OFFLINE" } else { "ONLINE" }),
            Value::Null,
            crate::space::relative_in(control.as_ref(), segment.tablespace, file),
        ]
    })
    .collect()
}

pub const UNDO_EXTENTS: &[(&str, Type)] = &[
    ("OWNER", V(3)),
    ("SEGMENT_NAME", V(30)),
    ("TABLESPACE_NAME", V(30)),
    ("EXTENT_ID", N),
    ("FILE_ID", N),
    ("BLOCK_ID", N),
    ("BYTES", N),
    ("BLOCKS", N),
    ("RELATIVE_FNO", N),
    ("STATUS", V(9)),
];

/// Extents of undo segments. Those of a segment with open transactions are ACTIVE. The expiry of other extents is not
/// tracked by extent.
pub fn undo_extents(s: &Source<'_>) -> Vec<Row> {
    let txns = s.shared.txns;
    let block = txns.cache().block_size() as u64;
    let control = crate::space::control(s).ok();
    let mut rows = Vec::new();
    for segment in txns.undo_segments() {
        let status = if segment.open > 0 { "ACTIVE" } else { "UNEXPIRED" };
        for (number, e) in txns.space().extents(s.p, segment.header).unwrap_or_default().iter().enumerate() {
            let (file, first) = crate::space::shown(s, e.start);
            rows.push(vec![
                t("SYS"),
                t(segment.name()),
                tablespace_name(control.as_ref(), &segment),
                n(number as u64),
                n(file),
                n(first),
                n(u64::from(e.blocks) * block),
                n(e.blocks),
                crate::space::relative_in(control.as_ref(), segment.tablespace, file),
                t(status),
            ]);
        }
    }
    rows
}

pub const UNDOSTAT: &[(&str, Type)] = &[
    ("BEGIN_TIME", D),
    ("END_TIME", D),
    ("UNDOTSN", N),
    ("UNDOBLKS", N),
    ("TXNCOUNT", N),
    ("MAXCONCURRENCY", N),
    ("UNXPSTEALCNT", N),
    ("EXPSTEALCNT", N),
    ("SSOLDERRCNT", N),
    ("NOSPACEERRCNT", N),
    ("TUNED_UNDORETENTION", N),
    ("CON_ID", N),
];

/// One row for every ten minutes, newest first.
pub fn undostat(s: &Source<'_>) -> Vec<Row> {
    let retention = s.session_params.borrow().number(params::Param::UndoRetention);
    let totals = instance::undo_totals(s.instance.storage());
    let row = |i: &txn::UndoInterval| {
        let [blocks, expired, unexpired, too_old, no_space, transactions] = i.figures.map(n);
        vec![
            date_of_seconds(i.begin_s),
            date_of_seconds(i.end_s),
            n(i.tablespace),
            blocks,
            transactions,
            n(i.concurrency),
            unexpired,
            expired,
            too_old,
            no_space,
            Value::Number(Number::from_i64(retention)),
            n(0u64),
        ]
    };
    s.shared.txns.undo_intervals().list(os::clock::wall_ns() / 1_000_000_000, totals).iter().map(row).collect()
}

pub const SESSION_BLOCKERS: &[(&str, Type)] = &[
    ("SID", N),
    ("SESS_SERIAL#", N),
    ("WAIT_ID", N),
    ("WAIT_EVENT", N),
    ("WAIT_EVENT_TEXT", V(64)),
    ("BLOCKER_INSTANCE_ID", N),
    ("BLOCKER_SID", N),
    ("BLOCKER_SESS_SERIAL#", N),
    ("CON_ID", N),
];

/// Each session that waits for a lock, with each session that blocks it.
pub fn session_blockers(s: &Source<'_>) -> Vec<Row> {
    let rows = s.shared.enqueues.waits().into_iter();
    rows.filter_map(|(w, h)| {
        let (slot, blocker) = (s.processes.session(w.sid)?, s.processes.session(h.sid)?);
        let event = w.kind.event(w.requested);
        let wait = s.processes.wait_slot(w.sid).and_then(|slot| slot.view(os::clock::now_ns()));
        Some(vec![
            n(w.sid),
            n(slot.serial()),
            wait.map_or(Value::Null, |wait| n(wait.sequence)),
            n(event.number()),
            t(event.name()),
            n(1u64),
            n(h.sid),
            n(blocker.serial()),
            n(0u64),
        ])
    })
    .collect()
}
