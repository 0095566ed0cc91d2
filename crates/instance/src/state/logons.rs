//! The words of logons in the state of the instance: keys that break calls, limits, refusals, times.

use super::words::State;
use std::sync::atomic::Ordering;

/// The bit in `idle_limits` that marks a session as sniped; the other bits are then its serial number.
const SNIPED: u64 = 1 << 63;

/// The most refused logons that are listed in a minute.
const REFUSALS_LISTED: u64 = 20;

/// The most internal errors of all sessions that are written in an hour.
const INCIDENTS_WRITTEN: u64 = 60;

/// The times of the parts of a connection in nanoseconds, as its server process measured them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectTimes {
    /// From the accept of the supervisor to the first instruction of the new process.
    pub fork_ns: u64,
    /// The set-up of the process before it listens to the client.
    pub set_up_ns: u64,
    /// Taking a process slot and making the session.
    pub attach_ns: u64,
    /// Touching every page of the SGA; 0 if the parameters do not ask processes for it.
    pub pre_page_ns: u64,
    pub authenticate_ns: u64,
    /// The first call, up to its answer; 0 before that.
    pub first_call_ns: u64,
}

impl ConnectTimes {
    fn words(self) -> [u64; 6] {
        [self.fork_ns, self.set_up_ns, self.attach_ns, self.pre_page_ns, self.authenticate_ns, self.first_call_ns]
    }
}

impl State {
    /// Notes that a row of the audit trail could not be written, and the error's number.
    pub fn note_lost_audit(&self, code: u32) {
        let _ = self.fixed.lost_audit.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            Some(u64::from(code) << 32 | (word & 0xFFFF_FFFF).saturating_add(1).min(0xFFFF_FFFF))
        });
    }

    /// The number of rows that could not be written since the last call, and the last error's number.
    pub fn take_lost_audit(&self) -> Option<(u64, u32)> {
        if self.fixed.lost_audit.load(Ordering::Acquire) == 0 {
            return None;
        }
        let word = self.fixed.lost_audit.swap(0, Ordering::AcqRel);
        (word != 0).then_some((word & 0xFFFF_FFFF, (word >> 32) as u32))
    }

    /// Whether only users with RESTRICTED SESSION may log on.
    pub fn is_restricted(&self) -> bool {
        self.fixed.restricted.load(Ordering::Acquire) != 0
    }

    /// Sets or clears restricted mode.
    pub fn set_restricted(&self, restricted: bool) {
        self.fixed.restricted.store(restricted.into(), Ordering::Release);
    }

    /// Sets the longest idle time of the session in `slot`, in seconds; 0 for no limit.
    pub fn set_idle_limit(&self, slot: usize, seconds: u64) {
        self.idle_limits[slot].store(seconds, Ordering::Release);
    }

    /// The longest idle time in seconds; 0 for no limit, and for a session that was ended by its limit.
    pub fn idle_limit(&self, slot: usize) -> u64 {
        let word = self.idle_limits.get(slot).map_or(0, |word| word.load(Ordering::Acquire));
        if word & SNIPED != 0 { 0 } else { word }
    }

    /// Marks the session `serial` in `slot` as idle for longer than its `limit`; false if the slot has another limit by
    /// now.
    pub fn note_sniped(&self, slot: usize, limit: u64, serial: u64) -> bool {
        let (now, then) = (Ordering::AcqRel, Ordering::Acquire);
        self.idle_limits[slot].compare_exchange(limit, SNIPED | serial, now, then).is_ok()
    }

    /// Takes the mark of [`Self::note_sniped`] back, because the slot had another session by then: its limit is valid
    /// again.
    pub fn forget_sniped(&self, slot: usize, limit: u64, serial: u64) {
        // If this fails, the new session has set its own limit already.
        let (now, then) = (Ordering::AcqRel, Ordering::Acquire);
        let _ = self.idle_limits[slot].compare_exchange(SNIPED | serial, limit, now, then);
    }

    /// Whether the session `serial` in `slot` was idle for too long.
    pub fn is_sniped(&self, slot: usize, serial: u64) -> bool {
        self.idle_limits.get(slot).is_some_and(|word| word.load(Ordering::Acquire) == SNIPED | serial)
    }

    /// Whether a refused logon gets a line of its own in the alert log; otherwise it is counted. `now_s` are seconds
    /// since 1970.
    pub fn may_list_refusal(&self, now_s: u64) -> bool {
        self.may_list(0, now_s)
    }

    /// As [`Self::may_list_refusal`], for the audit trail.
    pub fn may_note_refusal(&self, now_s: u64) -> bool {
        self.may_list(1, now_s)
    }

    /// Whether the sessions may write another internal error to the alert log in this hour, and, if so, whether it is
    /// the last one. `now_s` counts from 1970.
    pub fn may_write_incident(&self, now_s: u64) -> Option<bool> {
        let hour = now_s / 3600;
        let next = |word: u64| if word >> 32 == hour { word + 1 } else { hour << 32 | 1 };
        let number = |word: u64| next(word) & 0xFFFF_FFFF;
        let counted = self.fixed.incidents.fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            (number(word) <= INCIDENTS_WRITTEN).then(|| next(word))
        });
        counted.ok().map(|before| number(before) == INCIDENTS_WRITTEN)
    }

    fn may_list(&self, place: usize, now_s: u64) -> bool {
        let minute = now_s / 60;
        let listed = self.fixed.refusals[place].fetch_update(Ordering::AcqRel, Ordering::Acquire, |word| {
            match (word >> 32 == minute, word & 0xFFFF_FFFF) {
                (false, _) => Some(minute << 32 | 1),
                (true, count) if count < REFUSALS_LISTED => Some(word + 1),
                (true, _) => None,
            }
        });
        if listed.is_err() {
            self.fixed.unlisted_refusals[place].fetch_add(1, Ordering::AcqRel);
        }
        listed.is_ok()
    }

    /// Takes the numbers of refused logons that were not listed in the alert log and in the audit trail, after their
    /// minute is over; 0 before that.
    pub fn take_unlisted_refusals(&self, now_s: u64) -> [u64; 2] {
        [0, 1].map(|place: usize| {
            let is_over = self.fixed.refusals[place].load(Ordering::Acquire) >> 32 != now_s / 60;
            if is_over { self.fixed.unlisted_refusals[place].swap(0, Ordering::AcqRel) } else { 0 }
        })
    }

    /// Counts refusals again that were taken and could not be written to the audit trail.
    pub fn give_back_unnoted_refusals(&self, count: u64) {
        self.fixed.unlisted_refusals[1].fetch_add(count, Ordering::AcqRel);
    }

    /// Sets the key that breaks the calls of the process in `slot`; 0 removes the key.
    pub fn set_cancel_key(&self, slot: usize, key: u64) {
        self.keys[slot].store(key, Ordering::Release);
    }

    /// Whether `key` breaks the calls of the process in `slot`.
    pub fn is_cancel_key(&self, slot: usize, key: u64) -> bool {
        key != 0 && self.keys.get(slot).is_some_and(|k| k.load(Ordering::Acquire) == key)
    }

    /// Notes the times of the connection of the session `serial` in `slot`. Only the session's process may call this.
    pub fn note_connect(&self, slot: usize, serial: u64, times: ConnectTimes) {
        let connect = &self.connects[slot];
        // The serial number 0 keeps readers from the figures while they change.
        connect.serial.store(0, Ordering::Release);
        for (word, ns) in connect.times.iter().zip(times.words()) {
            word.store(ns, Ordering::Release);
        }
        connect.serial.store(serial, Ordering::Release);
    }

    /// Notes the time of the session's first call. Only the session's process may call this.
    pub fn note_first_call(&self, slot: usize, ns: u64) {
        self.connects[slot].times[5].store(ns.max(1), Ordering::Release);
    }

    /// The times of a session's connection; `None` for a session that was not made through the supervisor.
    pub fn connect_times(&self, slot: usize, serial: u64) -> Option<ConnectTimes> {
        let connect = self.connects.get(slot)?;
        if serial == 0 || connect.serial.load(Ordering::Acquire) != serial {
            return None;
        }
        let at = |n: usize| connect.times[n].load(Ordering::Acquire);
        let times = ConnectTimes {
            fork_ns: at(0),
            set_up_ns: at(1),
            attach_ns: at(2),
            pre_page_ns: at(3),
            authenticate_ns: at(4),
            first_call_ns: at(5),
        };
        (connect.serial.load(Ordering::Acquire) == serial).then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::words::tests::state;

    #[test]
    fn connect_times_are_those_of_the_session() {
        let s = state();
        assert_eq!(s.connect_times(1, 0), None);
        let times = ConnectTimes {
            fork_ns: 1,
            set_up_ns: 2,
            attach_ns: 3,
            pre_page_ns: 4,
            authenticate_ns: 5,
            first_call_ns: 0,
        };
        s.note_connect(1, 7, times);
        assert_eq!(s.connect_times(1, 7), Some(times));
        s.note_first_call(1, 6);
        assert_eq!(s.connect_times(1, 7), Some(ConnectTimes { first_call_ns: 6, ..times }));
        assert_eq!((s.connect_times(1, 8), s.connect_times(99, 7)), (None, None));
    }

    #[test]
    fn a_million_refused_logons_are_a_few_lines_and_a_count() {
        let state = state();
        let listed = (0..1_000_000).filter(|_| state.may_list_refusal(6_000)).count() as u64;
        assert_eq!((listed, state.take_unlisted_refusals(6_059)), (REFUSALS_LISTED, [0; 2]));
        assert_eq!(state.take_unlisted_refusals(6_060), [1_000_000 - REFUSALS_LISTED, 0]);
        assert_eq!(state.take_unlisted_refusals(6_060), [0; 2]);
        state.give_back_unnoted_refusals(3);
        assert_eq!(state.take_unlisted_refusals(6_060), [0, 3]);
        assert!(state.may_list_refusal(6_060));
    }

    #[test]
    fn a_million_internal_errors_are_a_few_reports_in_an_hour() {
        let state = state();
        let written: Vec<bool> = (0..1_000_000).filter_map(|_| state.may_write_incident(7_199)).collect();
        assert_eq!(written.len() as u64, INCIDENTS_WRITTEN);
        assert_eq!(written.iter().position(|is_last| *is_last), Some(written.len() - 1));
        assert_eq!(state.may_write_incident(7_200), Some(false));
    }

    #[test]
    fn a_session_that_was_sniped_is_not_found_idle_again() {
        let state = state();
        state.set_idle_limit(1, 60);
        assert_eq!((state.idle_limit(1), state.is_sniped(1, 7)), (60, false));
        assert!(state.note_sniped(1, 60, 7) && !state.note_sniped(1, 60, 7));
        assert_eq!((state.idle_limit(1), state.is_sniped(1, 7)), (0, true));
    }

    #[test]
    fn a_mark_of_a_session_that_has_ended_is_none_of_the_next_one() {
        let state = state();
        // The next session came between the check of the limit and the mark.
        state.set_idle_limit(1, 60);
        assert!(state.note_sniped(1, 60, 7));
        assert!(!state.is_sniped(1, 8));
        state.forget_sniped(1, 60, 7);
        assert_eq!((state.idle_limit(1), state.is_sniped(1, 8), state.is_sniped(1, 7)), (60, false, false));
        // Now the next session sets its limit behind the mark.
        assert!(state.note_sniped(1, 60, 7));
        state.set_idle_limit(1, 120);
        state.forget_sniped(1, 60, 7);
        assert_eq!(state.idle_limit(1), 120);
    }

    #[test]
    fn a_cancel_key_is_needed_to_break_a_call() {
        let s = state();
        assert!(!s.is_cancel_key(1, 0));
        s.set_cancel_key(1, 99);
        assert!(s.is_cancel_key(1, 99) && !s.is_cancel_key(1, 98) && !s.is_cancel_key(50, 99));
        s.set_cancel_key(1, 0);
        assert!(!s.is_cancel_key(1, 0));
    }
}
