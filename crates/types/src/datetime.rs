//! DATE, TIMESTAMP and intervals.

use crate::error::Result;
use crate::number::Number;

/// Year, month, day, hour, minute, second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DateFields {
    pub year: i32,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
}

/// A DATE: seconds since midnight of Julian day 0. 4712 BC to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i64);

impl Date {
    /// Makes a date; ORA-01841, ORA-01843, ORA-01847, ORA-01839, ORA-01850 … when a field is out of range.
    pub fn new(_year: i32, _month: u32, _day: u32, _hour: u32, _minute: u32, _second: u32) -> Result<Date> {
        todo!()
    }
    /// Makes midnight of a day.
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Result<Date> {
        Date::new(year, month, day, 0, 0, 0)
    }
    /// Makes a date of seconds since 1970-01-01 00:00:00.
    pub fn from_unix(_seconds: i64) -> Result<Date> {
        todo!()
    }
    /// Returns seconds since 1970-01-01 00:00:00.
    pub fn to_unix(&self) -> i64 {
        todo!()
    }
    /// Makes a date of its Julian day number and second of the day.
    pub fn from_julian(_day: i64, _second: i64) -> Result<Date> {
        todo!()
    }
    /// Returns the Julian day number.
    pub fn julian_day(&self) -> i64 {
        todo!()
    }
    /// Returns the second of the day.
    pub fn second_of_day(&self) -> u32 {
        todo!()
    }
    /// Splits it.
    pub fn fields(&self) -> DateFields {
        todo!()
    }
    /// Adds days and their fraction, to the second; ORA-01841 outside the range.
    pub fn add_days(&self, _days: &Number) -> Result<Date> {
        todo!()
    }
    /// Returns self − other in days.
    pub fn days_since(&self, _other: &Date) -> Number {
        todo!()
    }
    /// Adds seconds.
    pub fn add_seconds(&self, _seconds: i64) -> Result<Date> {
        todo!()
    }
    /// ADD_MONTHS: last day stays last day.
    pub fn add_months(&self, _months: i64) -> Result<Date> {
        todo!()
    }
    /// MONTHS_BETWEEN(self, other).
    pub fn months_between(&self, _other: &Date) -> Number {
        todo!()
    }
    /// LAST_DAY.
    pub fn last_day(&self) -> Date {
        todo!()
    }
    /// Midnight of the same day.
    pub fn midnight(&self) -> Date {
        todo!()
    }
    /// 1 = Sunday … 7 = Saturday.
    pub fn day_of_week(&self) -> u32 {
        todo!()
    }
    /// 1 … 366.
    pub fn day_of_year(&self) -> u32 {
        todo!()
    }
}

/// A TIMESTAMP: date, nanoseconds, and the offset from UTC in minutes when it has a time zone. The date is local time at that offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Timestamp {
    pub date: Date,
    pub nanos: u32,
    pub offset: Option<i16>,
}

impl Timestamp {
    /// Makes a timestamp without time zone.
    pub fn new(_date: Date, _nanos: u32) -> Timestamp {
        todo!()
    }
    /// Same instant on the clock of UTC; without a zone, itself.
    pub fn to_utc(&self) -> Result<Timestamp> {
        todo!()
    }
    /// Same instant on the clock of another offset.
    pub fn at_offset(&self, _minutes: i16) -> Result<Timestamp> {
        todo!()
    }
    /// Adds an interval.
    pub fn add_ds(&self, _interval: &IntervalDs) -> Result<Timestamp> {
        todo!()
    }
    /// Adds an interval; ORA-01839 when the day does not exist.
    pub fn add_ym(&self, _interval: &IntervalYm) -> Result<Timestamp> {
        todo!()
    }
    /// self − other.
    pub fn since(&self, _other: &Timestamp) -> IntervalDs {
        todo!()
    }
    /// Rounds to fractional digits.
    pub fn round(&self, _digits: u8) -> Timestamp {
        todo!()
    }
}
impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Timestamp) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timestamp {
    fn cmp(&self, _other: &Timestamp) -> std::cmp::Ordering {
        todo!()
    }
}

/// INTERVAL YEAR TO MONTH: months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct IntervalYm {
    pub months: i32,
}

/// INTERVAL DAY TO SECOND: seconds rounded down, and nanoseconds above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub struct IntervalDs {
    pub seconds: i64,
    pub nanos: u32,
}
