//! SMON's samples of which SCN is when, and what asks for them.

use crate::core::Core;
use crate::instance::Instance;
use exec::ExecCtx;
use params::Param;
use plsql::FlashbackRequest;
use process::Process;
use txn::Moment;
use types::{Date, Number, Ora, Result, Scn, Timestamp, Value};

/// Samples that are collected before they are saved.
const SAVE_MOMENTS: usize = 20;
/// Saved samples are forgotten after this long, as far as that is looked after: once in so many saves.
const FORGET_US: u64 = 8 * 86_400 * 1_000_000;
const FORGET_EVERY: u32 = 100;

fn now_us() -> u64 {
    os::clock::wall_ns() / 1000
}

/// What SMON keeps between two looks.
#[derive(Debug, Default)]
pub struct ScnSampler {
    unsaved: Vec<Moment>,
    /// The SCN after the last save, whose own commit is no event.
    saved_scn: Scn,
    saves: u32,
}

impl ScnSampler {
    /// Takes a sample when something was committed since the last one, saves samples now and then, says how long undo
    /// is kept, and notes how many transactions and enqueues there are.
    pub fn sample(&mut self, instance: &Instance, p: &Process) {
        let storage = instance.storage();
        let times = storage.txns.times();
        let moment = Moment { time_us: now_us(), scn: storage.txns.current_scn() };
        if moment.scn != self.saved_scn && times.note(moment) {
            self.unsaved.push(moment);
        }
        let seconds = instance.params().number(Param::UndoRetention).max(0) as u64;
        times.retain(moment.time_us, seconds);
        let open = storage.txns.transactions().len() as u64;
        let tablespace = storage.txns.current_undo_tablespace();
        storage.txns.undo_intervals().note(moment.time_us / 1_000_000, undo_totals(storage), open, tablespace);
        storage.enqueues.note_usage();
        if self.unsaved.len() >= SAVE_MOMENTS {
            self.save(instance, p);
        }
    }

    /// Saves what was sampled. What fails is tried again with the next samples.
    pub fn save(&mut self, instance: &Instance, p: &Process) {
        if self.unsaved.is_empty() {
            return;
        }
        self.saves = self.saves.wrapping_add(1);
        let forget = self.saves.is_multiple_of(FORGET_EVERY).then(|| now_us().saturating_sub(FORGET_US));
        if let Ok(scn) = instance.storage().dictionary.save_moments(p, &self.unsaved, forget) {
            self.unsaved.clear();
            self.saved_scn = scn;
        }
    }
}

/// What befell undo since the instance started, and how many transactions began.
pub fn undo_totals(storage: &crate::storage::Storage) -> [u64; 6] {
    let [taken, expired, unexpired, too_old, no_space] = storage.txns.times().undo_figures();
    let tx = storage.enqueues.figures(enqueue::EnqueueType::Tx);
    [taken, expired, unexpired, too_old, no_space, tx.requests.saturating_sub(tx.waits)]
}

/// Notes at start-up which SCN is now, and that undo is kept for so long from then on.
pub fn note_start(txns: &txn::Transactions, retention_s: u64) {
    txns.times().retain(now_us(), retention_s);
    txns.times().note(Moment { time_us: now_us(), scn: txns.current_scn() });
    txns.undo_intervals().note(now_us() / 1_000_000, [0; 6], 0, txns.current_undo_tablespace());
}

impl Core {
    /// SCN_TO_TIMESTAMP: when `scn` was the newest, as the session's local time.
    ///
    /// # Errors
    /// ORA-08181 for an SCN that is not known or has not come yet.
    pub fn time_of_scn(&self, scn: Scn) -> Result<Timestamp> {
        let unknown = || Ora::new(8181);
        if scn > self.shared.txns.current_scn() {
            return Err(unknown());
        }
        let moment = self.shared.txns.times().of(scn).ok_or_else(unknown)?;
        let utc = (moment.time_us / 1_000_000) as i64;
        let date = Date::from_unix(utc + i64::from(os::clock::utc_offset_seconds(utc))).map_err(|_| unknown())?;
        Ok(Timestamp::new(date, (moment.time_us % 1_000_000 * 1000) as u32))
    }

    /// TIMESTAMP_TO_SCN, and AS OF TIMESTAMP. A time without an offset is the database server's.
    ///
    /// # Errors
    /// ORA-08180 for a time that is not known or has not come yet.
    pub fn scn_of_time(&self, time: &Timestamp) -> Result<Scn> {
        let unknown = || Ora::new(8180);
        let utc = match time.place() {
            types::Place::Nowhere => time.instant() - i64::from(os::clock::utc_offset_seconds(time.instant())),
            _ => time.instant(),
        };
        let utc = u64::try_from(utc).map_err(|_| unknown())?;
        let time_us = utc * 1_000_000 + u64::from(time.nanos / 1000);
        let now = now_us();
        if time_us > now {
            return Err(unknown());
        }
        self.shared.txns.times().at(time_us).map(|m| m.scn).ok_or_else(unknown)
    }
}

/// DBMS_FLASHBACK.
///
/// # Errors
/// ORA-08180, ORA-08181 for a moment that is none; ORA-08183 inside a transaction; ORA-08184 when the mode is on.
pub fn flashback(core: &Core, cx: &mut ExecCtx<'_>, request: &FlashbackRequest) -> Result<Value> {
    let now = core.shared.txns.current_scn();
    let at = match request {
        FlashbackRequest::CurrentScn => return Ok(Value::Number(Number::from_i128(now.0.into()))),
        FlashbackRequest::Disable => None,
        FlashbackRequest::Enable(Value::Number(n)) => Some(exec::scn_of_number(n)?),
        FlashbackRequest::Enable(Value::Timestamp(t)) => Some(core.scn_of_time(t)?),
        FlashbackRequest::Enable(Value::Date(date)) => Some(core.scn_of_time(&Timestamp::new(*date, 0))?),
        FlashbackRequest::Enable(_) => return Err(Ora::new(8181)),
    };
    if at.is_some_and(|scn| scn > now) {
        return Err(Ora::new(8181));
    }
    if at.is_some() && cx.session.txn.is_active() {
        return Err(Ora::new(8183)); // Flashback cannot be enabled in the middle of a transaction
    }
    if at.is_some() && cx.session.flashback.is_some() {
        return Err(Ora::new(8184)); // attempt to re-enable Flashback while in Flashback mode
    }
    cx.session.flashback = at;
    Ok(Value::Null)
}
