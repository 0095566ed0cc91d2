//! DATE.
//!
//! A date is a count of seconds from midnight of Julian day 0, so arithmetic and comparison are those of integers. Days
//! up to 4 October 1582 follow the Julian calendar and the next day is 15 October, as in Oracle (V8). Years before year
//! 1 count astronomically here: `4712 BC` is year -4712, and year 0 cannot be entered.

use crate::error::{Ora, Result};
use crate::number::Number;

/// Seconds in a day.
pub const DAY_SECONDS: i64 = 86_400;
/// Julian day of 1970-01-01.
const UNIX_DAY: i64 = 2_440_588;
/// Julian day of 1582-10-15, the first of the Gregorian calendar.
const GREGORIAN_DAY: i64 = 2_299_161;
/// Julian day of -4712-01-01 and of 9999-12-31.
const FIRST_DAY: i64 = 0;
const LAST_DAY: i64 = 5_373_484;

/// Year, month, day, hour, minute, second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateFields {
    /// -4712 to 9999, negative for BC.
    pub year: i32,
    /// 1 to 12.
    pub month: u32,
    /// 1 to 31.
    pub day: u32,
    /// 0 to 23.
    pub hour: u32,
    /// 0 to 59.
    pub minute: u32,
    /// 0 to 59.
    pub second: u32,
}

/// A DATE: 4712 BC to 9999, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i64);

impl Date {
    /// Midnight of 1 January 1970.
    pub const UNIX_EPOCH: Date = Date(UNIX_DAY * DAY_SECONDS);

    /// Makes a date from its fields.
    ///
    /// # Errors
    /// ORA-01841 (year), ORA-01843 (month), ORA-01847 (day above 31), ORA-01839 (day above the month's last),
    /// ORA-01850, ORA-01851, ORA-01852 (hour, minute, second).
    pub fn new(year: i32, month: u32, day: u32, hour: u32, minute: u32, second: u32) -> Result<Date> {
        if year == 0 || !(-4712..=9999).contains(&year) {
            return Err(Ora::new(1841));
        }
        if !(1..=12).contains(&month) {
            return Err(Ora::new(1843));
        }
        if !(1..=31).contains(&day) {
            return Err(Ora::new(1847));
        }
        if day > days_in_month(year, month) {
            return Err(Ora::new(1839));
        }
        for (value, end, error) in [(hour, 24, 1850), (minute, 60, 1851), (second, 60, 1852)] {
            if value >= end {
                return Err(Ora::new(error));
            }
        }
        let mut julian = julian_day(year, month, day);
        if (year, month) == (1582, 10) && (5..15).contains(&day) {
            julian = GREGORIAN_DAY; // the ten days omitted by the reform
        }
        Ok(Date(julian * DAY_SECONDS + i64::from(hour * 3600 + minute * 60 + second)))
    }

    /// Makes midnight of a day.
    ///
    /// # Errors
    /// As [`Date::new`].
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Result<Date> {
        Date::new(year, month, day, 0, 0, 0)
    }

    /// Makes a date from seconds since the start of Julian day 0, limited to the range of dates.
    pub(crate) fn limited(seconds: i64) -> Date {
        Date(seconds.clamp(FIRST_DAY * DAY_SECONDS, (LAST_DAY + 1) * DAY_SECONDS - 1))
    }

    /// Returns seconds since the start of Julian day 0.
    pub(crate) fn since_start(&self) -> i64 {
        self.0
    }

    fn checked(seconds: i64) -> Result<Date> {
        if (FIRST_DAY * DAY_SECONDS..(LAST_DAY + 1) * DAY_SECONDS).contains(&seconds) {
            Ok(Date(seconds))
        } else {
            Err(Ora::new(1841))
        }
    }

    /// Makes a date from seconds since 1970-01-01 00:00:00; ORA-01841 outside the range.
    pub fn from_unix(seconds: i64) -> Result<Date> {
        Date::checked(seconds.saturating_add(UNIX_DAY * DAY_SECONDS))
    }

    /// Returns seconds since 1970-01-01 00:00:00.
    pub fn to_unix(&self) -> i64 {
        self.0 - UNIX_DAY * DAY_SECONDS
    }

    /// Makes a date from its Julian day number and second of the day; ORA-01854 outside the range.
    pub fn from_julian(day: i64, second: i64) -> Result<Date> {
        let seconds = day.checked_mul(DAY_SECONDS).and_then(|s| s.checked_add(second));
        seconds.and_then(|s| Date::checked(s).ok()).ok_or_else(|| Ora::new(1854))
    }

    /// Returns the Julian day number.
    pub fn julian_day(&self) -> i64 {
        self.0.div_euclid(DAY_SECONDS)
    }

    /// Returns the second of the day.
    pub fn second_of_day(&self) -> u32 {
        self.0.rem_euclid(DAY_SECONDS) as u32
    }

    /// Returns year, month, day, hour, minute and second.
    pub fn fields(&self) -> DateFields {
        let (year, month, day) = civil(self.julian_day());
        let s = self.second_of_day();
        DateFields { year, month, day, hour: s / 3600, minute: s / 60 % 60, second: s % 60 }
    }

    /// Adds days and their fraction, rounded to the second.
    ///
    /// # Errors
    /// ORA-01841 outside the range.
    pub fn add_days(&self, days: &Number) -> Result<Date> {
        let seconds = match days.as_i64() {
            Some(days) => days.checked_mul(DAY_SECONDS),
            None => days.mul(&Number::from_i64(DAY_SECONDS)).and_then(|s| s.to_i64()).ok(),
        };
        self.add_seconds(seconds.ok_or_else(|| Ora::new(1841))?)
    }

    /// Returns self − other in days.
    pub fn days_since(&self, other: &Date) -> Number {
        let seconds = Number::from_i64(self.0 - other.0);
        seconds.div(&Number::from_i64(DAY_SECONDS)).expect("the divisor is not zero")
    }

    /// Returns self − other in seconds.
    pub fn seconds_since(&self, other: &Date) -> i64 {
        self.0 - other.0
    }

    /// Adds seconds; ORA-01841 outside the range.
    pub fn add_seconds(&self, seconds: i64) -> Result<Date> {
        Date::checked(self.0.saturating_add(seconds))
    }

    /// ADD_MONTHS: the last day of a month stays the last day, and a day that does not exist becomes the last.
    ///
    /// # Errors
    /// ORA-01841 outside the range.
    pub fn add_months(&self, months: i64) -> Result<Date> {
        let from = self.fields();
        let (year, month) = shift_month(&from, months)?;
        let last = days_in_month(year, month);
        let was_last = from.day == days_in_month(from.year, from.month);
        let day = if was_last { last } else { from.day.min(last) };
        Ok(Date::new(year, month, day, 0, 0, 0)?.at_second(self.second_of_day()))
    }

    /// Adds months as interval arithmetic does.
    ///
    /// # Errors
    /// ORA-01839 if the day does not exist in that month.
    pub fn add_months_strict(&self, months: i64) -> Result<Date> {
        let from = self.fields();
        let (year, month) = shift_month(&from, months)?;
        Ok(Date::new(year, month, from.day, 0, 0, 0)?.at_second(self.second_of_day()))
    }

    /// MONTHS_BETWEEN(self, other): a whole number if both are the same day of the month or the last day; otherwise
    /// with 31-day months.
    pub fn months_between(&self, other: &Date) -> Number {
        let (a, b) = (self.fields(), other.fields());
        let months = i64::from(a.year - b.year) * 12 + i64::from(a.month) - i64::from(b.month);
        let last = |f: &DateFields| f.day == days_in_month(f.year, f.month);
        if a.day == b.day || (last(&a) && last(&b)) {
            return Number::from_i64(months);
        }
        let seconds = (i64::from(a.day) - i64::from(b.day)) * DAY_SECONDS + i64::from(self.second_of_day())
            - i64::from(other.second_of_day());
        let fraction = Number::from_i64(seconds).div(&Number::from_i64(31 * DAY_SECONDS));
        fraction.and_then(|f| f.add(&Number::from_i64(months))).expect("months are few")
    }

    /// LAST_DAY: the last day of the month, at the same time of day.
    pub fn last_day(&self) -> Date {
        let f = self.fields();
        let missing = days_in_month(f.year, f.month) - f.day;
        Date(self.0 + i64::from(missing) * DAY_SECONDS)
    }

    /// Returns the first day of the month, at midnight.
    pub fn first_of_month(&self) -> Date {
        let f = self.fields();
        Date(julian_day(f.year, f.month, 1) * DAY_SECONDS)
    }

    /// Returns the first of January, at midnight.
    pub fn first_of_year(&self) -> Date {
        Date(julian_day(self.fields().year, 1, 1) * DAY_SECONDS)
    }

    /// Returns midnight of the same day.
    pub fn midnight(&self) -> Date {
        Date(self.julian_day() * DAY_SECONDS)
    }

    fn at_second(&self, second: u32) -> Date {
        Date(self.julian_day() * DAY_SECONDS + i64::from(second))
    }

    /// Returns 1 for Sunday to 7 for Saturday.
    pub fn day_of_week(&self) -> u32 {
        (self.julian_day() + 1).rem_euclid(7) as u32 + 1
    }

    /// Returns 1 to 366.
    pub fn day_of_year(&self) -> u32 {
        (self.julian_day() - self.first_of_year().julian_day()) as u32 + 1
    }

    /// Returns the year and week of ISO 8601.
    pub fn iso_week(&self) -> (i32, u32) {
        // The week belongs to the year of its Thursday.
        let monday_based = (self.day_of_week() + 5) % 7;
        let thursday = Date(self.0 + (3 - i64::from(monday_based)) * DAY_SECONDS);
        (thursday.fields().year, (thursday.day_of_year() - 1) / 7 + 1)
    }

    /// Returns the seven bytes of the stored form: century plus 100, year of the century plus 100, month, day, hour
    /// plus 1, minute plus 1, second plus 1.
    pub fn to_bytes(&self) -> [u8; 7] {
        let f = self.fields();
        // Truncating division, as in Oracle's format: 4712 BC is 53, 88.
        let (century, year) = (f.year / 100, f.year % 100);
        let byte = |n: i32| (n + 100) as u8;
        [
            byte(century),
            byte(year),
            f.month as u8,
            f.day as u8,
            f.hour as u8 + 1,
            f.minute as u8 + 1,
            f.second as u8 + 1,
        ]
    }

    /// Reads [`Date::to_bytes`]; `None` when a field is out of range.
    pub fn from_bytes(bytes: &[u8; 7]) -> Option<Date> {
        let [century, year, month, day, hour, minute, second] = *bytes;
        let year = (i32::from(century) - 100) * 100 + i32::from(year) - 100;
        let (hour, minute, second) = (hour.checked_sub(1)?, minute.checked_sub(1)?, second.checked_sub(1)?);
        let (month, day) = (u32::from(month), u32::from(day));
        if !(-4712..=9999).contains(&year) || !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month)
        {
            return None;
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let time = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        Some(Date(julian_day(year, month, day) * DAY_SECONDS + time))
    }
}

/// Returns the length of a month.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year <= 1582 || year % 100 != 0 || year % 400 == 0)
}

fn shift_month(from: &DateFields, months: i64) -> Result<(i32, u32)> {
    let index = (i64::from(from.year) * 12 + i64::from(from.month) - 1).saturating_add(months);
    let year = i32::try_from(index.div_euclid(12)).map_err(|_| Ora::new(1841))?;
    Ok((year, index.rem_euclid(12) as u32 + 1))
}

/// The Julian day of a calendar day (Richards, "Explanatory Supplement to the Astronomical Almanac", chapter 15).
fn julian_day(year: i32, month: u32, day: u32) -> i64 {
    let (y, m, d) = (i64::from(year), i64::from(month), i64::from(day));
    let a = (14 - m) / 12;
    let (y, m) = (y + 4800 - a, m + 12 * a - 3);
    let julian = d + (153 * m + 2) / 5 + 365 * y + y.div_euclid(4) - 32083;
    if (year, month, day) < (1582, 10, 15) {
        return julian;
    }
    d + (153 * m + 2) / 5 + 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) - 32045
}

/// The calendar day of a Julian day.
fn civil(julian: i64) -> (i32, u32, u32) {
    let mut f = julian + 1401;
    if julian >= GREGORIAN_DAY {
        f += (((4 * julian + 274_277) / 146_097) * 3) / 4 - 38;
    }
    let e = 4 * f + 3;
    let g = e.rem_euclid(1461) / 4;
    let h = 5 * g + 2;
    let day = (h % 153) / 5 + 1;
    let month = (h / 153 + 2) % 12 + 1;
    let year = e.div_euclid(1461) - 4716 + (14 - month) / 12;
    (year as i32, month as u32, day as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn d(y: i32, m: u32, day: u32) -> Date {
        Date::from_ymd(y, m, day).unwrap()
    }

    #[test]
    fn julian_days() {
        assert_eq!(d(2000, 1, 1).julian_day(), 2_451_545);
        assert_eq!(d(1970, 1, 1).julian_day(), UNIX_DAY);
        assert_eq!(d(1582, 10, 15).julian_day(), GREGORIAN_DAY);
        assert_eq!(d(1582, 10, 4).julian_day(), GREGORIAN_DAY - 1);
        assert_eq!(d(9999, 12, 31).julian_day(), LAST_DAY);
        assert_eq!(d(-4712, 1, 1).julian_day(), FIRST_DAY);
        assert_eq!(d(2024, 2, 29).day_of_week(), 5);
        assert_eq!(d(2024, 12, 31).day_of_year(), 366);
        assert_eq!(Date::UNIX_EPOCH, d(1970, 1, 1));
    }

    #[test]
    fn every_day_round_trips() {
        let mut last = (-5000, 0, 0);
        for julian in FIRST_DAY..=LAST_DAY {
            let now = civil(julian);
            assert!(now > last);
            assert_eq!(julian_day(now.0, now.1, now.2), julian);
            last = now;
        }
    }

    #[test]
    fn fields_are_checked() {
        for (y, m, day, h, mi, s, error) in [
            (0, 1, 1, 0, 0, 0, 1841),
            (10000, 1, 1, 0, 0, 0, 1841),
            (2024, 13, 1, 0, 0, 0, 1843),
            (2024, 0, 1, 0, 0, 0, 1843),
            (2024, 1, 32, 0, 0, 0, 1847),
            (2023, 2, 29, 0, 0, 0, 1839),
            (2024, 4, 31, 0, 0, 0, 1839),
            (2024, 1, 1, 24, 0, 0, 1850),
            (2024, 1, 1, 0, 60, 0, 1851),
            (2024, 1, 1, 0, 0, 60, 1852),
        ] {
            assert!(Date::new(y, m, day, h, mi, s).unwrap_err().is(error), "{error}");
        }
        assert!(Date::new(1900, 2, 29, 0, 0, 0).is_err());
        assert!(Date::new(1500, 2, 29, 0, 0, 0).is_ok());
    }

    #[test]
    fn months() {
        assert_eq!(d(2024, 1, 31).add_months(1).unwrap(), d(2024, 2, 29));
        assert_eq!(d(2023, 2, 28).add_months(1).unwrap(), d(2023, 3, 31));
        assert_eq!(d(2024, 3, 15).add_months(-3).unwrap(), d(2023, 12, 15));
        assert!(d(2024, 1, 31).add_months_strict(1).unwrap_err().is(1839));
        assert!(d(9999, 12, 1).add_months(1).unwrap_err().is(1841));
        assert_eq!(d(2024, 3, 31).months_between(&d(2024, 2, 29)).to_string(), "1");
        // The example of the SQL Language Reference.
        assert_eq!(
            d(1995, 2, 2).months_between(&d(1995, 1, 1)).to_string(),
            "1.03225806451612903225806451612903225806"
        );
        assert_eq!(d(2024, 2, 10).last_day(), d(2024, 2, 29));
    }

    #[test]
    fn arithmetic_in_days() {
        let noon = Date::new(2024, 1, 1, 12, 0, 0).unwrap();
        assert_eq!(noon.days_since(&d(2024, 1, 1)).to_string(), ".5");
        assert_eq!(d(2024, 1, 1).add_days(&".5".parse().unwrap()).unwrap(), noon);
        assert_eq!(d(2024, 2, 28).add_days(&Number::from(2)).unwrap(), d(2024, 3, 1));
        assert!(d(9999, 12, 31).add_days(&Number::ONE).unwrap_err().is(1841));
        let third = Number::ONE.div(&Number::from(86400)).unwrap();
        assert_eq!(noon.add_days(&third).unwrap().fields().second, 1);
    }

    #[test]
    fn iso_weeks() {
        for (date, year, week) in [
            (d(2021, 1, 3), 2020, 53),
            (d(2021, 1, 4), 2021, 1),
            (d(2024, 12, 30), 2025, 1),
            (d(2026, 12, 31), 2026, 53),
        ] {
            assert_eq!(date.iso_week(), (year, week));
        }
    }

    proptest! {
        #[test]
        fn stored_form_round_trips(s in 0i64..(LAST_DAY + 1) * DAY_SECONDS) {
            let date = Date(s);
            prop_assert_eq!(Date::from_bytes(&date.to_bytes()), Some(date));
            let f = date.fields();
            if f.year != 0 {
                prop_assert_eq!(Date::new(f.year, f.month, f.day, f.hour, f.minute, f.second).unwrap(), date);
            }
        }

        #[test]
        fn stored_form_orders(a in 1_721_424i64..LAST_DAY, b in 1_721_424i64..LAST_DAY, s in 0i64..DAY_SECONDS) {
            let (a, b) = (Date(a * DAY_SECONDS + s), Date(b * DAY_SECONDS));
            prop_assert_eq!(a.to_bytes().cmp(&b.to_bytes()), a.cmp(&b));
        }
    }
}
