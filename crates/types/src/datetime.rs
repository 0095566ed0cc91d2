//! TIMESTAMP, its local time, and intervals.

use crate::date::{DAY_SECONDS, Date};
use crate::error::{Ora, Result};
use crate::number::Number;
use crate::zone::{Moment, TimeZone};
use std::cmp::Ordering;

/// The local time of a time zone at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Local date and time.
    pub date: Date,
    /// Seconds east of UTC.
    pub offset: i32,
    /// The time zone.
    pub zone: TimeZone,
    /// The abbreviation of a region's period.
    pub abbreviation: Option<&'static str>,
}

impl Clock {
    /// Computes the local time of a time zone.
    ///
    /// # Errors
    /// ORA-01841 outside the range of dates.
    pub fn at(zone: TimeZone, utc: &Timestamp) -> Result<Clock> {
        let seconds = utc.instant();
        let (offset, abbreviation) = match zone {
            TimeZone::Offset(minutes) => (i32::from(minutes) * 60, None),
            TimeZone::Region(region) => {
                let period = region.at(seconds);
                (period.offset, Some(period.name))
            }
        };
        let date = Date::from_unix(seconds.saturating_add(offset.into()))?;
        Ok(Clock { date, offset, zone, abbreviation })
    }
}

/// The reference of a TIMESTAMP's date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// No time zone: TIMESTAMP.
    Nowhere,
    /// UTC, displayed in the time zone of the reading session: TIMESTAMP WITH LOCAL TIME ZONE.
    Session,
    /// UTC, displayed in this time zone: TIMESTAMP WITH TIME ZONE.
    In(TimeZone),
}

/// A TIMESTAMP of any kind: date, nanoseconds and place. Values with a time zone are kept in UTC, so that instants
/// compare as numbers whatever their time zones (V9).
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    clock: Date,
    /// Nanoseconds of the second, 0 to 999999999.
    pub nanos: u32,
    place: Place,
}

const _: () = assert!(size_of::<Timestamp>() == 16);

const NANOS: i64 = 1_000_000_000;

impl Timestamp {
    /// Makes a timestamp without time zone.
    #[inline]
    pub fn new(date: Date, nanos: u32) -> Timestamp {
        Timestamp::of_clock(date, nanos, Place::Nowhere)
    }

    /// Makes a timestamp from the stored clock: UTC, unless the place is [`Place::Nowhere`].
    #[inline]
    pub fn of_clock(clock: Date, nanos: u32, place: Place) -> Timestamp {
        debug_assert!(i64::from(nanos) < NANOS);
        Timestamp { clock, nanos, place }
    }

    /// Makes a timestamp with time zone from local time; for a local time that occurs twice see [`Moment`].
    ///
    /// # Errors
    /// ORA-01878 and ORA-01883 as [`TimeZone::to_utc`], ORA-01841 outside the range of dates.
    pub fn in_zone(date: Date, nanos: u32, zone: TimeZone, moment: Moment<'_>) -> Result<Timestamp> {
        let clock = Date::from_unix(zone.to_utc(date.to_unix(), moment)?)?;
        Ok(Timestamp::of_clock(clock, nanos, Place::In(zone)))
    }

    /// Makes a timestamp with time zone from local time at an offset, limited to the range of dates.
    pub fn with_offset(date: Date, nanos: u32, minutes: i16) -> Timestamp {
        let seconds = date.since_start() - i64::from(minutes) * 60;
        let clock = Date::limited(seconds);
        Timestamp::of_clock(clock, nanos, Place::In(TimeZone::Offset(minutes)))
    }

    /// Its place.
    #[inline]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Its own time zone, if it has one.
    #[inline]
    pub fn zone(&self) -> Option<TimeZone> {
        match self.place {
            Place::In(zone) => Some(zone),
            _ => None,
        }
    }

    /// The stored clock to the second: UTC, unless the place is [`Place::Nowhere`].
    #[inline]
    pub fn clock(&self) -> Date {
        self.clock
    }

    /// Seconds of the stored clock since 1970.
    #[inline]
    pub fn instant(&self) -> i64 {
        self.clock.to_unix()
    }

    /// Returns the same instant in UTC without a zone; a timestamp without time zone is unchanged.
    pub fn utc(&self) -> Timestamp {
        Timestamp { place: Place::Nowhere, ..*self }
    }

    /// Returns the same instant in another place. A timestamp without time zone is taken as UTC.
    pub fn moved(&self, place: Place) -> Timestamp {
        Timestamp { place, ..*self }
    }

    /// Returns it for display in a session's time zone: a timestamp with local time zone gets that zone.
    pub fn seen_in(&self, session: TimeZone) -> Timestamp {
        match self.place {
            Place::Session => Timestamp { place: Place::In(session), ..*self },
            _ => *self,
        }
    }

    /// The local time at its place, for a session in a time zone.
    ///
    /// # Errors
    /// ORA-01841 outside the range of dates.
    pub fn wall(&self, session: TimeZone) -> Result<Clock> {
        match self.place {
            Place::Nowhere => {
                let offset = session.seconds_at(self.instant());
                Ok(Clock { date: self.clock, offset, zone: session, abbreviation: None })
            }
            Place::Session => Clock::at(session, self),
            Place::In(zone) => Clock::at(zone, self),
        }
    }

    /// The local date and time at its place, for a session in a time zone.
    ///
    /// # Errors
    /// ORA-01841 outside the range of dates.
    #[inline]
    pub fn date(&self, session: TimeZone) -> Result<Date> {
        let zone = match self.place {
            Place::Nowhere => return Ok(self.clock),
            Place::Session => session,
            Place::In(zone) => zone,
        };
        self.clock.add_seconds(zone.seconds_at(self.instant()).into())
    }

    /// The local date and time in its own time zone, or the stored clock without one; limited to the range of dates.
    pub fn own_date(&self) -> Date {
        let offset = self.zone().map_or(0, |zone| zone.seconds_at(self.instant()));
        Date::limited(self.clock.since_start() + i64::from(offset))
    }

    /// Adds an interval; ORA-01841 outside the range. Instants move by that much time, whatever the local clock does.
    pub fn add_ds(&self, interval: &IntervalDs) -> Result<Timestamp> {
        let nanos = i64::from(self.nanos) + i64::from(interval.nanos);
        let clock = self.clock.add_seconds(interval.seconds.saturating_add(nanos / NANOS))?;
        Ok(Timestamp { clock, nanos: (nanos % NANOS) as u32, place: self.place })
    }

    /// Adds an interval; ORA-01839 if the day does not exist. Instants move in the calendar of UTC.
    pub fn add_ym(&self, interval: &IntervalYm) -> Result<Timestamp> {
        Ok(Timestamp { clock: self.clock.add_months_strict(interval.months.into())?, ..*self })
    }

    /// Returns self − other.
    pub fn since(&self, other: &Timestamp) -> IntervalDs {
        let nanos = i64::from(self.nanos) - i64::from(other.nanos);
        IntervalDs {
            seconds: self.clock.seconds_since(&other.clock) + nanos.div_euclid(NANOS),
            nanos: nanos.rem_euclid(NANOS) as u32,
        }
    }

    /// Rounds half up to fractional digits; truncates at the end of the range.
    pub fn round(&self, digits: u8) -> Timestamp {
        let unit = 10u32.pow(9 - u32::from(digits.min(9)));
        let rounded = (self.nanos + unit / 2) / unit * unit;
        if i64::from(rounded) < NANOS {
            return Timestamp { nanos: rounded, ..*self };
        }
        match self.clock.add_seconds(1) {
            Ok(clock) => Timestamp { clock, nanos: 0, place: self.place },
            Err(_) => Timestamp { nanos: self.nanos / unit * unit, ..*self },
        }
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Timestamp) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Timestamp) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    /// Compares instants and ignores time zones.
    fn cmp(&self, other: &Timestamp) -> Ordering {
        (self.clock, self.nanos).cmp(&(other.clock, other.nanos))
    }
}

impl std::hash::Hash for Timestamp {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.clock, self.nanos).hash(state);
    }
}

/// INTERVAL YEAR TO MONTH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntervalYm {
    /// The interval in months.
    pub months: i32,
}

impl IntervalYm {
    /// Makes an interval; ORA-01873 if the years have more than nine digits.
    pub fn new(months: i64) -> Result<IntervalYm> {
        if months.abs() >= 12_000_000_000 / 12 {
            return Err(Ora::new(1873));
        }
        Ok(IntervalYm { months: months as i32 })
    }
}

/// INTERVAL DAY TO SECOND: seconds rounded down, and the remaining nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IntervalDs {
    /// Whole seconds, rounded down.
    pub seconds: i64,
    /// Nanoseconds above `seconds`, 0 to 999999999.
    pub nanos: u32,
}

impl IntervalDs {
    /// Makes an interval from nanoseconds; ORA-01873 if the days have more than nine digits.
    pub fn from_nanos(nanos: i128) -> Result<IntervalDs> {
        let seconds = nanos.div_euclid(NANOS.into());
        if seconds.abs() >= 1_000_000_000 * i128::from(DAY_SECONDS) {
            return Err(Ora::new(1873));
        }
        Ok(IntervalDs { seconds: seconds as i64, nanos: nanos.rem_euclid(NANOS.into()) as u32 })
    }

    /// Rounds half up, away from zero, to fractional digits; ORA-01873 if the result has too many days.
    pub fn round(&self, digits: u8) -> Result<IntervalDs> {
        let unit = 10i128.pow(9 - u32::from(digits.min(9)));
        let nanos = self.to_nanos();
        let rounded = (nanos.abs() + unit / 2) / unit * unit;
        IntervalDs::from_nanos(rounded * nanos.signum())
    }

    /// Whether the days have at most nine digits, which holds for every interval made here.
    pub fn is_in_range(&self) -> bool {
        self.seconds.unsigned_abs() < 1_000_000_000 * DAY_SECONDS as u64
    }

    /// Returns the interval in nanoseconds.
    pub fn to_nanos(&self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS) + i128::from(self.nanos)
    }

    /// Makes an interval from seconds and their fraction, rounded to the nanosecond.
    pub fn from_seconds(seconds: &Number) -> Result<IntervalDs> {
        let nanos = seconds.mul(&Number::from_i64(NANOS))?.round(0);
        let nanos = match nanos.as_i64() {
            Some(nanos) => i128::from(nanos),
            None => nanos.to_string().parse().map_err(|_| Ora::new(1873))?,
        };
        IntervalDs::from_nanos(nanos)
    }

    /// Returns the interval in seconds.
    pub fn to_seconds(&self) -> Number {
        Number::from_scaled(self.to_nanos(), -9).expect("an interval is in range")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_compare_as_instants() {
        let noon = Date::new(2024, 1, 1, 12, 0, 0).unwrap();
        let utc = Timestamp::with_offset(noon, 0, 0);
        let east = utc.moved(Place::In(TimeZone::Offset(120)));
        assert_eq!(utc, east);
        assert_eq!(east.own_date().fields().hour, 14);
        assert_eq!(east.utc().clock(), noon);
        assert_eq!(Timestamp::with_offset(east.own_date(), 0, 120), east);
        assert_eq!(Timestamp::new(noon, 999_999_999).round(6).clock().fields().second, 1);
        let back = Timestamp::new(noon, 5).since(&Timestamp::new(noon, 6));
        assert_eq!((back.seconds, back.nanos), (-1, 999_999_999));
        assert_eq!(back.to_seconds().to_string(), "-.000000001");
    }
}
