//! The calendar syntax of DBMS_SCHEDULER: `FREQ=MONTHLY;BYDAY=-1FRI;BYHOUR=18`.
//!
//! A calendar is a predicate over local times to the second. [`Calendar::next`] walks the days from a date on and makes
//! the times of a day from the lists of hours, minutes and seconds. The clauses that are absent take their values from
//! the start date, from the frequency downwards. Source: Database PL/SQL Packages and Types Reference, DBMS_SCHEDULER,
//! "Calendaring Syntax".

use types::{Date, Ora, Result};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Freq {
    Yearly,
    Monthly,
    Weekly,
    Daily,
    Hourly,
    Minutely,
    Secondly,
}

const FREQS: &[(&str, Freq)] = &[
    ("YEARLY", Freq::Yearly),
    ("MONTHLY", Freq::Monthly),
    ("WEEKLY", Freq::Weekly),
    ("DAILY", Freq::Daily),
    ("HOURLY", Freq::Hourly),
    ("MINUTELY", Freq::Minutely),
    ("SECONDLY", Freq::Secondly),
];
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
/// In the order of [`Day::weekday`].
const WEEKDAYS: [&str; 7] = ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
const INTERVAL_MAX: i64 = 999;
/// The days after the start of a search within which a date is looked for.
const DAYS_MAX: i64 = 1000 * 366;
/// The times that a search tries.
const TIMES_MAX: u64 = 20_000_000;
const DAY: i64 = 86_400;

/// A parsed calendar. Empty lists are absent clauses.
#[derive(Clone, PartialEq, Debug)]
pub struct Calendar {
    freq: Freq,
    interval: i64,
    months: Vec<i64>,
    weeks: Vec<i64>,
    year_days: Vec<i64>,
    month_days: Vec<i64>,
    /// Ordinal, or 0 for each, and the weekday from 0 for Monday.
    days: Vec<(i64, i64)>,
    /// Year, or 0 for each, month and day.
    dates: Vec<(i64, i64, i64)>,
    hours: Vec<i64>,
    minutes: Vec<i64>,
    seconds: Vec<i64>,
    positions: Vec<i64>,
}

/// Whether a repeat interval is a calendar, and not an expression of PL/SQL.
pub fn is_calendar(text: &str) -> bool {
    let first = text.split(['=', ';']).next().unwrap_or_default().trim().to_ascii_uppercase();
    text.contains('=')
        && (matches!(&*first, "FREQ" | "INTERVAL" | "EXCLUDE" | "INCLUDE" | "INTERSECT" | "PERIODS")
            || first.starts_with("BY"))
}

fn syntax() -> Ora {
    Ora::new(27418)
}

fn bad_value() -> Ora {
    Ora::new(27414)
}

/// The numbers of a list within `-max..=max` without 0, or within `0..=max` when `least` is 0.
fn numbers(values: &str, least: i64, max: i64, signed: bool) -> Result<Vec<i64>> {
    let number = |text: &str| {
        let text = text.trim();
        let digits = text.trim_start_matches(['-', '+']);
        let is_number = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_number || text.len() > digits.len() + 1 {
            return Err(syntax());
        }
        let n: i64 = digits.parse().map_err(|_| bad_value())?;
        let is_minus = text.starts_with('-');
        if n < least || n > max || (is_minus && !signed) { Err(bad_value()) } else { Ok(if is_minus { -n } else { n }) }
    };
    values.split(',').map(number).collect()
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort_unstable();
    list.dedup();
    list
}

fn weekday_of(text: &str) -> Result<(i64, i64)> {
    let text = text.trim();
    let at = text.len().checked_sub(3).filter(|at| text.is_char_boundary(*at)).ok_or_else(|| Ora::new(27416))?;
    let (ordinal, name) = text.split_at(at);
    let day = WEEKDAYS.iter().position(|day| *day == name).ok_or_else(|| Ora::new(27416))?;
    let ordinal = if ordinal.trim().is_empty() { 0 } else { numbers(ordinal, 1, 53, true)?[0] };
    Ok((ordinal, day as i64))
}

fn date_of(text: &str) -> Result<(i64, i64, i64)> {
    let text = text.trim();
    if !text.bytes().all(|b| b.is_ascii_digit()) || !matches!(text.len(), 4 | 8) {
        return Err(bad_value());
    }
    let number = |part: &str| part.parse::<i64>().map_err(|_| bad_value());
    let (year, rest) = text.split_at(text.len() - 4);
    let year = if year.is_empty() { 0 } else { number(year)? };
    if year == 0 && text.len() == 8 {
        return Err(bad_value());
    }
    let (month, day) = (number(&rest[..2])?, number(&rest[2..])?);
    // 2000 is a leap year.
    Date::from_ymd(if year == 0 { 2000 } else { year as i32 }, month as u32, day as u32).map_err(|_| bad_value())?;
    Ok((year, month, day))
}

impl Calendar {
    /// Parses a calendar.
    ///
    /// # Errors
    /// ORA-27412, ORA-27414 to ORA-27418; ORA-03001 for clauses with other schedules and for periods.
    pub fn parse(text: &str) -> Result<Calendar> {
        let upper = text.to_ascii_uppercase();
        let mut calendar: Option<Calendar> = None;
        let mut seen: Vec<String> = Vec::new();
        let clauses = upper.trim().trim_end_matches(';');
        for clause in clauses.split(';') {
            let (name, values) = clause.split_once('=').ok_or_else(syntax)?;
            let (name, values) = (name.trim(), values.trim());
            if seen.iter().any(|n| n == name) || values.is_empty() {
                return Err(syntax());
            }
            seen.push(name.to_owned());
            let Some(c) = &mut calendar else {
                if name != "FREQ" {
                    return Err(Ora::new(27415));
                }
                let freq = FREQS.iter().find(|(word, _)| *word == values).map(|(_, freq)| *freq);
                let freq = freq.ok_or_else(|| Ora::with(27412, &[&values]))?;
                calendar = Some(Calendar::of(freq));
                continue;
            };
            match name {
                "INTERVAL" => match numbers(values, 1, INTERVAL_MAX, false)?[..] {
                    [interval] => c.interval = interval,
                    _ => return Err(syntax()),
                },
                "BYMONTH" => {
                    let month = |text: &str| match MONTHS.iter().position(|month| *month == text.trim()) {
                        Some(at) => Ok(at as i64 + 1),
                        None => Ok(numbers(text, 1, 12, false)?[0]),
                    };
                    c.months = sorted(values.split(',').map(month).collect::<Result<_>>()?);
                }
                "BYWEEKNO" if c.freq != Freq::Yearly => return Err(Ora::new(27417)),
                "BYWEEKNO" => c.weeks = sorted(numbers(values, 1, 53, true)?),
                "BYYEARDAY" => c.year_days = sorted(numbers(values, 1, 366, true)?),
                "BYMONTHDAY" => c.month_days = sorted(numbers(values, 1, 31, true)?),
                "BYDAY" => c.days = sorted(values.split(',').map(weekday_of).collect::<Result<_>>()?),
                "BYDATE" => c.dates = sorted(values.split(',').map(date_of).collect::<Result<_>>()?),
                "BYHOUR" => c.hours = sorted(numbers(values, 0, 23, false)?),
                "BYMINUTE" => c.minutes = sorted(numbers(values, 0, 59, false)?),
                "BYSECOND" => c.seconds = sorted(numbers(values, 0, 59, false)?),
                "BYSETPOS" if c.freq > Freq::Monthly => return Err(syntax()),
                "BYSETPOS" => c.positions = sorted(numbers(values, 1, 9999, true)?),
                "INCLUDE" | "EXCLUDE" | "INTERSECT" | "PERIODS" | "BYPERIOD" => return Err(Ora::unsupported()),
                other => return Err(Ora::with(27412, &[&other])),
            }
        }
        let calendar = calendar.ok_or_else(syntax)?;
        if calendar.freq > Freq::Monthly && calendar.days.iter().any(|(ordinal, _)| *ordinal != 0) {
            return Err(Ora::new(27416));
        }
        Ok(calendar)
    }

    fn of(freq: Freq) -> Calendar {
        let none = Vec::new;
        Calendar {
            freq,
            interval: 1,
            months: none(),
            weeks: none(),
            year_days: none(),
            month_days: none(),
            days: Vec::new(),
            dates: Vec::new(),
            hours: none(),
            minutes: none(),
            seconds: none(),
            positions: none(),
        }
    }

    /// Whether the frequency is less than a day.
    pub fn is_within_days(&self) -> bool {
        self.freq > Freq::Daily
    }

    /// The calendar with the clauses that it takes from the start date.
    fn filled(&self, start: &Day, second: i64) -> Calendar {
        let mut c = self.clone();
        let no_days = c.year_days.is_empty() && c.month_days.is_empty() && c.days.is_empty() && c.dates.is_empty();
        match c.freq {
            Freq::Yearly if no_days && !c.weeks.is_empty() => c.days = vec![(0, start.weekday)],
            Freq::Yearly if no_days => {
                if c.months.is_empty() {
                    c.months = vec![start.month];
                }
                c.month_days = vec![start.day];
            }
            Freq::Monthly if no_days => c.month_days = vec![start.day],
            Freq::Weekly if no_days => c.days = vec![(0, start.weekday)],
            _ => {}
        }
        let own = |list: &mut Vec<i64>, freq: Freq, value: i64, end: i64| {
            if list.is_empty() {
                *list = if self.freq < freq { vec![value] } else { (0..end).collect() };
            }
        };
        own(&mut c.hours, Freq::Hourly, second / 3600, 24);
        own(&mut c.minutes, Freq::Minutely, second / 60 % 60, 60);
        own(&mut c.seconds, Freq::Secondly, second % 60, 60);
        c
    }

    /// The first time from `start` on that is later than `after`: seconds of local time since 1970. `None`: no date
    /// was found, or none exists before the end of the range.
    pub fn next(&self, start: i64, after: i64) -> Option<i64> {
        let first = Day::at(start.div_euclid(DAY))?;
        let c = self.filled(&first, start.rem_euclid(DAY));
        let least = start.max(after.saturating_add(1));
        if !c.positions.is_empty() {
            return c.next_of_positions(&first, least);
        }
        let mut tried = 0;
        let begin = least.div_euclid(DAY);
        for number in begin..begin.saturating_add(DAYS_MAX) {
            let day = Day::at(number)?;
            if !c.has_day(&day, &first) {
                continue;
            }
            for second in c.times() {
                let time = number * DAY + second;
                if time < least {
                    continue;
                }
                tried += 1;
                if tried > TIMES_MAX {
                    return None;
                }
                if c.has_time(time, start) {
                    return Some(time);
                }
            }
        }
        None
    }

    /// The seconds of a day, ascending.
    fn times(&self) -> impl Iterator<Item = i64> {
        let minutes = self.hours.iter().flat_map(|h| self.minutes.iter().map(move |m| h * 3600 + m * 60));
        minutes.flat_map(|m| self.seconds.iter().map(move |s| m + s))
    }

    /// INTERVAL of the frequencies below a day.
    fn has_time(&self, time: i64, start: i64) -> bool {
        let unit = match self.freq {
            Freq::Hourly => 3600,
            Freq::Minutely => 60,
            Freq::Secondly => 1,
            _ => return true,
        };
        (time.div_euclid(unit) - start.div_euclid(unit)) % self.interval == 0
    }

    fn has_day(&self, day: &Day, first: &Day) -> bool {
        let periods = match self.freq {
            Freq::Yearly if !self.weeks.is_empty() => day.week_year - first.week_year,
            Freq::Yearly => day.year - first.year,
            Freq::Monthly => (day.year - first.year) * 12 + day.month - first.month,
            Freq::Weekly => (day.number - day.weekday - (first.number - first.weekday)) / 7,
            Freq::Daily => day.number - first.number,
            _ => 0,
        };
        let among = |list: &[i64], value: i64, of: i64| {
            list.is_empty() || list.iter().any(|n| *n == value || *n == value - of - 1)
        };
        periods % self.interval == 0
            && (self.months.is_empty() || self.months.contains(&day.month))
            && among(&self.weeks, day.week, day.weeks)
            && among(&self.year_days, day.year_day, day.year_days)
            && among(&self.month_days, day.day, day.month_days)
            && (self.days.is_empty() || self.days.iter().any(|(ordinal, weekday)| self.is_nth(day, *ordinal, *weekday)))
            && (self.dates.is_empty()
                || [0, day.year].iter().any(|year| self.dates.binary_search(&(*year, day.month, day.day)).is_ok()))
    }

    fn is_nth(&self, day: &Day, ordinal: i64, weekday: i64) -> bool {
        let (at, of) = match self.freq {
            Freq::Yearly => (day.year_day, day.year_days),
            _ => (day.day, day.month_days),
        };
        let (nth, from_end) = ((at - 1) / 7 + 1, (of - at) / 7 + 1);
        day.weekday == weekday && (ordinal == 0 || ordinal == nth || ordinal == -from_end)
    }

    /// BYSETPOS: the times of a month or year by their position. They are counted as days by times of a day.
    fn next_of_positions(&self, first: &Day, least: i64) -> Option<i64> {
        let times: Vec<i64> = self.times().collect();
        let per_day = times.len() as i64;
        let mut day = Day::at(least.div_euclid(DAY))?;
        let end = day.number.saturating_add(DAYS_MAX);
        while day.number < end {
            let (begin, length) = match self.freq {
                Freq::Yearly => (day.number - day.year_day + 1, day.year_days),
                _ => (day.number - day.day + 1, day.month_days),
            };
            let days: Vec<i64> =
                (begin..begin + length).filter(|n| Day::at(*n).is_some_and(|day| self.has_day(&day, first))).collect();
            let count = days.len() as i64 * per_day;
            let at = |position: &i64| if *position > 0 { position - 1 } else { count + position };
            let places = self.positions.iter().map(at).filter(|at| (0..count).contains(at));
            let found = places.map(|at| days[(at / per_day) as usize] * DAY + times[(at % per_day) as usize]);
            let found = found.filter(|time| *time >= least).min();
            if found.is_some() {
                return found;
            }
            day = Day::at(begin + length)?;
        }
        None
    }
}

/// A day and its places in month, year and week.
struct Day {
    /// Days since 1970.
    number: i64,
    year: i64,
    month: i64,
    day: i64,
    month_days: i64,
    year_day: i64,
    year_days: i64,
    /// 0 for Monday.
    weekday: i64,
    /// The week of ISO 8601, the number of weeks of its year, and that year.
    week: i64,
    weeks: i64,
    week_year: i64,
}

impl Day {
    /// `None` outside the range of dates.
    fn at(number: i64) -> Option<Day> {
        let date = Date::from_unix(number.checked_mul(DAY)?).ok()?;
        let fields = date.fields();
        let (week_year, week) = date.iso_week();
        // 28 December is always in the last week of its year.
        let weeks = Date::from_ymd(week_year, 12, 28).ok()?.iso_week().1;
        let last = Date::from_ymd(fields.year, 12, 31).ok()?;
        Some(Day {
            number,
            year: fields.year.into(),
            month: fields.month.into(),
            day: fields.day.into(),
            month_days: date.last_day().fields().day.into(),
            year_day: date.day_of_year().into(),
            year_days: last.day_of_year().into(),
            weekday: i64::from((date.day_of_week() + 5) % 7),
            week: week.into(),
            weeks: weeks.into(),
            week_year: week_year.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> i64 {
        let part = |at: usize, len: usize| text[at..at + len].parse::<u32>().expect("digits");
        let time = if text.len() > 10 { (part(11, 2), part(14, 2), part(17, 2)) } else { (0, 0, 0) };
        Date::new(part(0, 4) as i32, part(5, 2), part(8, 2), time.0, time.1, time.2).expect("a date").to_unix()
    }

    fn shown(time: i64) -> String {
        let f = Date::from_unix(time).expect("in range").fields();
        format!("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", f.year, f.month, f.day, f.hour, f.minute, f.second)
    }

    /// The dates of a calendar from a start on.
    fn check(text: &str, start: &str, expected: &[&str]) {
        let calendar = Calendar::parse(text).expect(text);
        let (start, mut after) = (seconds(start), i64::MIN);
        for wanted in expected {
            let time = calendar.next(start, after).map(|time| {
                after = time;
                shown(time)
            });
            assert_eq!(time.as_deref(), Some(*wanted), "{text}");
        }
    }

    #[test]
    fn calendars_of_the_documentation() {
        check(
            "freq=daily",
            "2024-01-30 10:00:00",
            &["2024-01-30 10:00:00", "2024-01-31 10:00:00", "2024-02-01 10:00:00"],
        );
        check("FREQ=MONTHLY", "2024-01-31 10:00:00", &["2024-01-31 10:00:00", "2024-03-31 10:00:00"]);
        check("FREQ=MONTHLY; BYMONTHDAY=-1", "2024-01-31", &["2024-01-31 00:00:00", "2024-02-29 00:00:00"]);
        check("FREQ=WEEKLY; BYDAY=MON,FRI; BYHOUR=7", "2024-05-01", &["2024-05-03 07:00:00", "2024-05-06 07:00:00"]);
        check("FREQ=WEEKLY;INTERVAL=2;BYDAY=FRI", "2024-05-03", &["2024-05-03 00:00:00", "2024-05-17 00:00:00"]);
        check("FREQ=MONTHLY;BYDAY=-1FRI", "2024-05-01", &["2024-05-31 00:00:00", "2024-06-28 00:00:00"]);
        check("FREQ=MONTHLY;BYDAY=2WED", "2024-05-01", &["2024-05-08 00:00:00", "2024-06-12 00:00:00"]);
        check("FREQ=YEARLY;BYMONTH=MAR;BYMONTHDAY=10", "2024-05-01", &["2025-03-10 00:00:00"]);
        check("FREQ=YEARLY;BYYEARDAY=60", "2024-01-01", &["2024-02-29 00:00:00", "2025-03-01 00:00:00"]);
        check(
            "FREQ=YEARLY;BYDATE=0331,0630,20241231",
            "2024-05-01",
            &["2024-06-30 00:00:00", "2024-12-31 00:00:00", "2025-03-31 00:00:00"],
        );
        check("FREQ=YEARLY;BYWEEKNO=1;BYDAY=MON", "2024-06-01", &["2024-12-30 00:00:00", "2025-12-29 00:00:00"]);
        check("FREQ=HOURLY;INTERVAL=10", "2024-05-01 22:30:00", &["2024-05-01 22:30:00", "2024-05-02 08:30:00"]);
        check(
            "FREQ=MINUTELY;INTERVAL=30",
            "2024-05-01 23:10:05",
            &["2024-05-01 23:10:05", "2024-05-01 23:40:05", "2024-05-02 00:10:05"],
        );
        check(
            "FREQ=DAILY;BYHOUR=1,0;BYMINUTE=30;BYSECOND=0",
            "2024-05-01 00:31:00",
            &["2024-05-01 01:30:00", "2024-05-02 00:30:00"],
        );
        check(
            "FREQ=MONTHLY;BYDAY=MON,TUE,WED,THU,FRI;BYSETPOS=-1",
            "2024-06-01",
            &["2024-06-28 00:00:00", "2024-07-31 00:00:00"],
        );
        check("FREQ=YEARLY", "2024-02-29", &["2024-02-29 00:00:00", "2028-02-29 00:00:00"]);
    }

    #[test]
    fn a_date_that_never_comes_is_found_missing_in_bounded_time() {
        for never in [
            "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
            "FREQ=YEARLY;BYDATE=20010101",
            "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
            "FREQ=SECONDLY;INTERVAL=60;BYSECOND=1",
            "FREQ=MONTHLY;BYSETPOS=9999",
        ] {
            assert_eq!(Calendar::parse(never).expect(never).next(seconds("2024-01-01"), 0), None, "{never}");
        }
        let end = Calendar::parse("FREQ=DAILY").expect("a calendar");
        assert_eq!(end.next(seconds("9999-12-31"), seconds("9999-12-31")), None);
    }

    #[test]
    fn what_is_no_calendar_is_refused() {
        for (text, code) in [
            ("", 27418),
            ("FREQ", 27418),
            ("FREQ=", 27418),
            ("FREQ=OFTEN", 27412),
            ("BYHOUR=3", 27415),
            ("FREQ=DAILY;WHEN=NOW", 27412),
            ("FREQ=DAILY;BYHOUR=24", 27414),
            ("FREQ=DAILY;BYHOUR=x", 27418),
            ("FREQ=DAILY;BYHOUR=1;BYHOUR=2", 27418),
            ("FREQ=DAILY;INTERVAL=0", 27414),
            ("FREQ=DAILY;INTERVAL=1,2", 27418),
            ("FREQ=DAILY;BYDAY=XYZ", 27416),
            ("FREQ=DAILY;BYDAY=1MON", 27416),
            ("FREQ=DAILY;BYDAY=é", 27416),
            ("FREQ=DAILY;BYWEEKNO=1", 27417),
            ("FREQ=MONTHLY;BYMONTHDAY=0", 27414),
            ("FREQ=DAILY;BYSETPOS=1", 27418),
            ("FREQ=YEARLY;BYDATE=0230", 27414),
            ("FREQ=YEARLY;BYDATE=20230229", 27414),
            ("FREQ=DAILY;EXCLUDE=holidays", 3001),
            ("FREQ=DAILY;BYHOUR=99999999999999999999", 27418),
        ] {
            assert_eq!(Calendar::parse(text).map_err(|e| e.code()), Err(code), "{text}");
        }
        assert!(
            is_calendar("freq=daily")
                && is_calendar(" BYHOUR=3")
                && !is_calendar("sysdate + 1")
                && !is_calendar("f(x => 1)")
        );
    }

    /// Every time from the start on is tried, and the clauses are read once more from the text.
    fn naive(text: &str, start: i64, after: i64, step: i64, until: i64) -> Option<i64> {
        let upper = text.to_uppercase();
        let clause = |name: &str| {
            upper.split(';').find_map(|c| c.split_once('=').filter(|(n, _)| *n == name).map(|(_, v)| v.to_owned()))
        };
        let list = |name: &str| -> Option<Vec<i64>> {
            clause(name).map(|v| v.split(',').map(|n| n.parse().expect("a number")).collect())
        };
        let fields = |time: i64| Date::from_unix(time).expect("in range").fields();
        let date = |time: i64| Date::from_unix(time).expect("in range");
        let freq = clause("FREQ").expect("a frequency");
        let interval = list("INTERVAL").map_or(1, |l| l[0]);
        let s = fields(start);
        let lists =
            ["BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYHOUR", "BYMINUTE", "BYSECOND"].map(|name| (name, list(name)));
        let days = clause("BYDAY");
        let rank = FREQS.iter().position(|(name, _)| *name == freq).expect("a frequency");
        let no_days = clause("BYMONTHDAY").is_none() && clause("BYDAY").is_none() && clause("BYYEARDAY").is_none();
        let mut time = start;
        while time < until {
            let f = fields(time);
            let day = time.div_euclid(DAY);
            let weekday = (day + 3).rem_euclid(7);
            let monday = |t: i64| t.div_euclid(DAY) - (t.div_euclid(DAY) + 3).rem_euclid(7);
            let distance = match rank {
                0 => i64::from(f.year - s.year),
                1 => i64::from((f.year - s.year) * 12) + i64::from(f.month) - i64::from(s.month),
                2 => (monday(time) - monday(start)) / 7,
                3 => day - start.div_euclid(DAY),
                4 => time.div_euclid(3600) - start.div_euclid(3600),
                5 => time.div_euclid(60) - start.div_euclid(60),
                _ => time - start,
            };
            let own = |at: usize, now: u32, then: u32| rank >= at || now == then;
            let given = |name: &str, now: u32, end: u32, or: bool| match &lists
                .iter()
                .find(|(n, _)| *n == name)
                .expect("a list")
                .1
            {
                Some(l) => {
                    l.iter().any(|n| *n == i64::from(now) || (*n < 0 && *n + i64::from(end) + 1 == i64::from(now)))
                }
                None => or,
            };
            let month_end = date(time).last_day().fields().day;
            let year_end = if f.year % 4 == 0 && (f.year % 100 != 0 || f.year % 400 == 0) { 366 } else { 365 };
            let by_day = days.as_ref().is_none_or(|v| v.split(',').any(|d| WEEKDAYS[weekday as usize] == d));
            let ok = distance % interval == 0
                && given("BYMONTH", f.month, 12, !(rank == 0 && no_days) || f.month == s.month)
                && given("BYMONTHDAY", f.day, month_end, !(rank <= 1 && no_days) || f.day == s.day)
                && given("BYYEARDAY", date(time).day_of_year(), year_end, true)
                && by_day
                && (rank != 2 || !no_days || weekday == (start.div_euclid(DAY) + 3).rem_euclid(7))
                && given("BYHOUR", f.hour, 24, own(4, f.hour, s.hour))
                && given("BYMINUTE", f.minute, 60, own(5, f.minute, s.minute))
                && given("BYSECOND", f.second, 60, own(6, f.second, s.second));
            if ok && time > after {
                return Some(time);
            }
            time += step;
        }
        None
    }

    #[test]
    fn next_dates_equal_those_of_a_naive_search() {
        // A small generator: the runs are the same each time.
        let mut state = 0x1234_5678_9ABC_DEF1u64;
        let mut random = move |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % below as u64) as i64
        };
        for _ in 0..60 {
            let freq = FREQS[random(7) as usize].0;
            let mut text = format!("FREQ={freq};INTERVAL={}", random(4) + 1);
            let mut add = |name: &str, low: i64, count: i64, random: &mut dyn FnMut(i64) -> i64| {
                if random(4) == 0 {
                    let values: Vec<String> = (0..random(3) + 1).map(|_| (low + random(count)).to_string()).collect();
                    text.push_str(&format!(";{name}={}", values.join(",")));
                }
            };
            add("BYMONTH", 1, 12, &mut random);
            add("BYMONTHDAY", 1, 31, &mut random);
            add("BYYEARDAY", 1, 366, &mut random);
            add("BYHOUR", 0, 24, &mut random);
            // The naive search goes in steps of a minute.
            add("BYMINUTE", 0, 60, &mut random);
            if random(3) == 0 {
                text.push_str(&format!(";BYDAY={}", WEEKDAYS[random(7) as usize]));
            }
            let secondly = freq == "SECONDLY";
            let start = seconds("2024-01-01") + random(400) * DAY + random(1440) * 60;
            let after = start + random(40) * DAY;
            let (step, until) = if secondly { (1, after + DAY / 4) } else { (60, after + 60 * DAY) };
            let start = if secondly { after - random(100) } else { start };
            let found = Calendar::parse(&text).expect(&text).next(start, after);
            let wanted = naive(&text, start, after, step, until);
            assert_eq!(
                found.filter(|time| *time < until).map(shown),
                wanted.map(shown),
                "{text} from {}",
                shown(start)
            );
        }
    }
}
