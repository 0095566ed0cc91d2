//! The times that SYSDATE and its kin give, from the time of the statement.

use types::{Date, Nls, Place, Timestamp};

/// CURRENT_TIMESTAMP: the time on the clock of the session's time zone.
pub fn session_now(now: &Timestamp, nls: &Nls) -> Timestamp {
    now.moved(Place::In(nls.zone))
}

/// SYSDATE: the date on the clock of the instance.
pub fn sysdate(now: &Timestamp) -> Date {
    now.own_date()
}

/// CURRENT_DATE.
pub fn current_date(now: &Timestamp, nls: &Nls) -> Date {
    session_now(now, nls).own_date()
}

/// LOCALTIMESTAMP: what the session's clock shows, without its zone.
pub fn local_timestamp(now: &Timestamp, nls: &Nls) -> Timestamp {
    let now = session_now(now, nls);
    Timestamp::new(now.own_date(), now.nanos)
}
