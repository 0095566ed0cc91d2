//! Conversion of SCNs and times in statements, and DBMS_FLASHBACK.

use crate::core::Core;
use exec::ExecCtx;
use plsql::FlashbackRequest;
use types::{Date, Number, Ora, Result, Scn, Timestamp, Value};

impl Core {
    /// SCN_TO_TIMESTAMP: the server's local time at which `scn` was the newest SCN.
    ///
    /// # Errors
    /// ORA-08181 for an SCN that is unknown or in the future.
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

    /// TIMESTAMP_TO_SCN, and AS OF TIMESTAMP. A time without an offset is local time of the database server.
    ///
    /// # Errors
    /// ORA-08180 for a time that is unknown or in the future.
    pub fn scn_of_time(&self, time: &Timestamp) -> Result<Scn> {
        let unknown = || Ora::new(8180);
        let utc = match time.place() {
            types::Place::Nowhere => time.instant() - i64::from(os::clock::utc_offset_seconds(time.instant())),
            _ => time.instant(),
        };
        let utc = u64::try_from(utc).map_err(|_| unknown())?;
        let time_us = utc * 1_000_000 + u64::from(time.nanos / 1000);
        let now = os::clock::wall_ns() / 1000;
        if time_us > now {
            return Err(unknown());
        }
        self.shared.txns.times().at(time_us).map(|m| m.scn).ok_or_else(unknown)
    }
}

/// DBMS_FLASHBACK.
///
/// # Errors
/// ORA-08180, ORA-08181 for a moment that is unknown or in the future; ORA-08183 inside a transaction; ORA-08184 when
/// the mode is on already.
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
