//! The rules of a region, read in place from its TZif file (RFC 8536) without copying.

use crate::date::{DAY_SECONDS, Date};

/// A period of constant offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Seconds east of UTC.
    pub offset: i32,
    /// Whether it is summer time.
    pub summer: bool,
    /// The abbreviation: CET, CEST.
    pub name: &'static str,
    /// The first second since 1970, by UTC.
    pub from: i64,
    /// The second after the last.
    pub until: i64,
}

/// The yearly rule in the footer of the file.
#[derive(Clone, Copy, Debug)]
struct Tail {
    offset: i32,
    name: &'static str,
    summer: Option<Summer>,
}

#[derive(Clone, Copy, Debug)]
struct Summer {
    offset: i32,
    name: &'static str,
    begin: Day,
    end: Day,
}

/// A day of each year, and the second of it in the local time before the change.
#[derive(Clone, Copy, Debug)]
struct Day {
    rule: DayRule,
    second: i64,
}

#[derive(Clone, Copy, Debug)]
enum DayRule {
    /// A weekday (0 for Sunday) in week 1 to 5 of a month; 5 means the last.
    Weekday { month: u32, week: u32, day: u32 },
    /// The day from 1, without 29 February.
    Julian(i64),
    /// The day from 0.
    Zero(i64),
}

/// The rules of one region.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    times: &'static [u8],
    kinds: &'static [u8],
    types: &'static [u8],
    names: &'static [u8],
    tail: Option<Tail>,
}

impl Rules {
    /// Reads a file; `None` for an invalid file.
    pub fn new(file: &'static [u8]) -> Option<Rules> {
        let first = Counts::of(file)?;
        let rest = file.get(44 + first.len(4)?..)?;
        let counts = Counts::of(rest)?;
        let body = rest.get(44..)?;
        let (times, body) = body.split_at_checked(counts.times * 8)?;
        let (kinds, body) = body.split_at_checked(counts.times)?;
        let (types, body) = body.split_at_checked(counts.types * 6)?;
        let (names, _) = body.split_at_checked(counts.chars)?;
        let footer = rest.get(44 + counts.len(8)?..)?.strip_prefix(b"\n")?.strip_suffix(b"\n")?;
        let tail = Tail::read(std::str::from_utf8(footer).ok()?);
        (!types.is_empty()).then_some(Rules { times, kinds, types, names, tail })
    }

    fn count(&self) -> usize {
        self.kinds.len()
    }

    fn time(&self, n: usize) -> i64 {
        let bytes = self.times.get(n * 8..n * 8 + 8).and_then(|b| b.try_into().ok()).unwrap_or_default();
        i64::from_be_bytes(bytes)
    }

    /// Offset, daylight saving flag and abbreviation of one type of local time.
    fn kind(&self, kind: u8) -> (i32, bool, &'static str) {
        let at = usize::from(kind) * 6;
        let &[a, b, c, d, summer, name] = self.types.get(at..at + 6).unwrap_or(&[0; 6]) else { return (0, false, "") };
        let name = self.names.get(usize::from(name)..).unwrap_or_default();
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        (i32::from_be_bytes([a, b, c, d]), summer != 0, std::str::from_utf8(&name[..end]).unwrap_or_default())
    }

    /// The period that contains an instant.
    pub fn at(&self, utc: i64) -> Period {
        let count = self.count();
        // Number of changes not after the instant.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high) / 2;
            if self.time(middle) <= utc {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let from = if low == 0 { i64::MIN } else { self.time(low - 1) };
        if low == count
            && let Some(tail) = &self.tail
        {
            return tail.at(utc, from);
        }
        let kind = if low == 0 { 0 } else { self.kinds[low - 1] };
        let (offset, summer, name) = self.kind(kind);
        let until = if low == count { i64::MAX } else { self.time(low) };
        Period { offset, summer, name, from, until }
    }

    /// All abbreviations of the region, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let rules = *self;
        let kinds = (0..self.types.len() / 6).map(move |n| rules.kind(n as u8).2);
        let tail =
            self.tail.iter().flat_map(|t| [Some(t.name), t.summer.map(|s| s.name)]).flatten().collect::<Vec<_>>();
        kinds.chain(tail)
    }
}

struct Counts {
    utc: usize,
    standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    chars: usize,
}

impl Counts {
    fn of(header: &[u8]) -> Option<Counts> {
        if header.get(..4)? != b"TZif" || *header.get(4)? < b'2' {
            return None;
        }
        let n = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?) as usize);
        Some(Counts { utc: n(20)?, standard: n(24)?, leaps: n(28)?, times: n(32)?, types: n(36)?, chars: n(40)? })
    }

    fn len(&self, time: usize) -> Option<usize> {
        let sizes = [(self.times, time + 1), (self.types, 6), (self.chars, 1), (self.leaps, time + 4)];
        let sizes = sizes.iter().try_fold(0usize, |sum, (n, size)| sum.checked_add(n.checked_mul(*size)?))?;
        sizes.checked_add(self.standard)?.checked_add(self.utc)
    }
}

impl Tail {
    /// Reads `CET-1CEST,M3.5.0,M10.5.0/3`.
    fn read(text: &'static str) -> Option<Tail> {
        let mut r = TailReader(text);
        let (name, offset) = (r.name()?, -r.time()?);
        let mut tail = Tail { offset: offset as i32, name, summer: None };
        if r.0.is_empty() {
            return Some(tail);
        }
        let name = r.name()?;
        let summer = if r.0.starts_with(',') { offset + 3600 } else { -r.time()? };
        let (begin, end) = (r.day()?, r.day()?);
        tail.summer = Some(Summer { offset: summer as i32, name, begin, end });
        r.0.is_empty().then_some(tail)
    }

    fn at(&self, utc: i64, first: i64) -> Period {
        let standard = |from, until| Period { offset: self.offset, summer: false, name: self.name, from, until };
        let Some(s) = &self.summer else { return standard(first, i64::MAX) };
        let Ok(date) = Date::from_unix(utc) else { return standard(first, i64::MAX) };
        let year = date.fields().year;
        // Near a change of year, the local year may be the year before or after.
        let (mut from, mut into_summer) = (first, None);
        let mut until = i64::MAX;
        for year in year - 1..=year + 1 {
            let begin = (s.begin.in_year(year) - i64::from(self.offset), true);
            let end = (s.end.in_year(year) - i64::from(s.offset), false);
            let both = if begin.0 <= end.0 { [begin, end] } else { [end, begin] };
            for (at, summer) in both {
                if at <= utc {
                    (from, into_summer) = (at.max(first), Some(summer));
                } else {
                    until = until.min(at);
                }
            }
        }
        match into_summer {
            Some(true) => Period { offset: s.offset, summer: true, name: s.name, from, until },
            _ => standard(from, until),
        }
    }
}

impl Day {
    /// Seconds since 1970 in the region's local time.
    fn in_year(&self, year: i32) -> i64 {
        let first = |month| Date::from_ymd(year.clamp(1, 9999), month, 1).map_or(0, |d| d.to_unix());
        let day = match self.rule {
            DayRule::Zero(day) => first(1) + day * DAY_SECONDS,
            DayRule::Julian(day) => {
                let leaps = i64::from(day >= 60 && crate::date::days_in_month(year, 2) == 29);
                first(1) + (day - 1 + leaps) * DAY_SECONDS
            }
            DayRule::Weekday { month, week, day } => {
                let start = first(month);
                let weekday = Date::from_unix(start).map_or(1, |d| d.day_of_week()) - 1;
                let mut of_month = (day + 7 - weekday) % 7 + 7 * (week - 1);
                while of_month >= crate::date::days_in_month(year, month) {
                    of_month -= 7;
                }
                start + i64::from(of_month) * DAY_SECONDS
            }
        };
        day + self.second
    }
}

struct TailReader(&'static str);

impl TailReader {
    fn take(&mut self, len: usize) -> &'static str {
        let (head, rest) = self.0.split_at(len);
        self.0 = rest;
        head
    }

    fn eat(&mut self, c: char) -> bool {
        let rest = self.0.strip_prefix(c);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn name(&mut self) -> Option<&'static str> {
        if self.eat('<') {
            let name = self.take(self.0.find('>')?);
            self.eat('>');
            return Some(name);
        }
        let len = self.0.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.0.len());
        (len > 0).then(|| self.take(len))
    }

    fn number(&mut self) -> Option<i64> {
        let len = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
        self.take(len).parse().ok().filter(|n| *n < 1000)
    }

    /// `[+|-]h[:m[:s]]` in seconds.
    fn time(&mut self) -> Option<i64> {
        let sign = if self.eat('-') { -1 } else { 1 };
        self.eat('+');
        let mut seconds = self.number()? * 3600;
        for unit in [60, 1] {
            if self.eat(':') {
                seconds += self.number()? * unit;
            }
        }
        Some(sign * seconds)
    }

    fn day(&mut self) -> Option<Day> {
        if !self.eat(',') {
            return None;
        }
        let rule = if self.eat('M') {
            let month = self.number().filter(|n| (1..=12).contains(n))?;
            let week = self.eat('.').then(|| self.number())?.filter(|n| (1..=5).contains(n))?;
            let day = self.eat('.').then(|| self.number())?.filter(|n| *n < 7)?;
            DayRule::Weekday { month: month as u32, week: week as u32, day: day as u32 }
        } else if self.eat('J') {
            DayRule::Julian(self.number().filter(|n| (1..=365).contains(n))?)
        } else {
            DayRule::Zero(self.number().filter(|n| *n < 366)?)
        };
        let second = if self.eat('/') { self.time()? } else { 7200 };
        Some(Day { rule, second })
    }
}
