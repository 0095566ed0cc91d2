//! The times of SYSDATE, CURRENT_DATE, CURRENT_TIMESTAMP and LOCALTIMESTAMP, derived from the time of the statement
//! (F3).

use types::{Date, Nls, Place, Timestamp};

/// CURRENT_TIMESTAMP: the local time in the session's time zone.
pub fn session_now(now: &Timestamp, nls: &Nls) -> Timestamp {
    now.moved(Place::In(nls.zone))
}

/// SYSDATE: the local date and time of the instance.
pub fn sysdate(now: &Timestamp) -> Date {
    now.own_date()
}

/// CURRENT_DATE.
pub fn current_date(now: &Timestamp, nls: &Nls) -> Date {
    session_now(now, nls).own_date()
}

/// LOCALTIMESTAMP: the local time of the session without its time zone.
pub fn local_timestamp(now: &Timestamp, nls: &Nls) -> Timestamp {
    let now = session_now(now, nls);
    Timestamp::new(now.own_date(), now.nanos)
}
