//! Texts of numbers, dates and intervals, and the format models for writing and reading them.

use crate::Target;
use types::format::{
    date_from_text, date_to_char, interval_ds_from_text, interval_ds_to_text, interval_ym_from_text,
    interval_ym_to_text, number_from_text, number_in_width, number_to_char, timestamp_from_text, timestamp_to_char,
};
use types::{Date, Nls, Number, Timestamp};

/// A value and a model, separated by a line end: TO_CHAR, TO_NUMBER, TO_DATE, TO_TIMESTAMP and the intervals.
pub const FORMATS: Target = Target { name: "formats", run: formats, seeds: format_seeds, is_text: false };

fn formats(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (value, model) = text.split_once('\n').unwrap_or((text, "FM999,990.00"));
    let nls = Nls::default();
    let mut out = String::new();
    let number = number_from_text(value, model, &nls).ok();
    if let Some(number) = number.or_else(|| Number::parse(value).ok()) {
        let _ = number_to_char(&number, model, &nls, &mut out);
        for width in [1, 5, 40] {
            out.clear();
            number_in_width(&number, width, &mut out);
            assert!(out.len() <= width.max(1), "{out:?} in {width}");
        }
        // Forty places have room for fewer digits than a number can have, so only a number that was printed once is
        // exact.
        let printed = Number::parse(&number.to_string()).expect("a number as it is printed");
        let again = Number::parse(&printed.to_string()).expect("a number as it is printed");
        assert_eq!(again, printed);
    }
    let usual = Date::new(2024, 2, 29, 13, 5, 59).expect("a date");
    let date = date_from_text(value, model, &nls).unwrap_or(usual);
    out.clear();
    if date_to_char(&date, model, &nls, &mut out).is_ok() {
        let _ = date_from_text(&out, model, &nls);
    }
    let usual = Timestamp::with_offset(date, 123_456_789, -150);
    let stamp = timestamp_from_text(value, model, &nls).unwrap_or(usual);
    out.clear();
    if timestamp_to_char(&stamp, model, &nls, &mut out).is_ok() {
        let _ = timestamp_from_text(&out, model, &nls);
    }
    let _ = types::TimeZone::parse(value);
    if let Ok(interval) = interval_ds_from_text(value) {
        out.clear();
        interval_ds_to_text(&interval, 9, 9, &mut out);
        assert_eq!(interval_ds_from_text(&out).ok(), Some(interval), "{out}");
    }
    if let Ok(interval) = interval_ym_from_text(value) {
        out.clear();
        interval_ym_to_text(&interval, 9, &mut out);
        assert_eq!(interval_ym_from_text(&out).ok(), Some(interval), "{out}");
    }
}

fn format_seeds() -> Vec<Vec<u8>> {
    let texts = [
        "1,234.50\n9G999D99",
        "-12.5\nS999.99EEEE",
        "42\nFMXXXX",
        "1999\nFMRN",
        "-7\n999PR",
        "5\n$099MI",
        "1e-130\n0.9",
        "99\nL99V9B",
        "12\nTM9",
        "29-FEB-24\nDD-MON-RR",
        "2024-02-29 13:05:59\nYYYY-MM-DD HH24:MI:SS",
        "2024-060 PM 01\nYYYY-DDD PM HH",
        "Thursday, 29th February 2024\nDay, DDth Month YYYY",
        "2460370 86399\nJ SSSSS",
        "24.123456789 +02:30\nRR.FF9 TZH:TZM",
        "x\n\"text\" Q WW IW IYYY CC SYYYY BC AD Y,YYY FXDD fmDy W D DDSPTH YEAR",
        "3 04:05:06.789\nDD",
        "P1DT2H3M4.5S\nYYYY",
        "-1-11\nYYYY-MM",
        "P1Y2M\nMM",
        "europe/berlin\nTZR",
    ];
    texts.iter().map(|t| t.as_bytes().to_vec()).collect()
}
