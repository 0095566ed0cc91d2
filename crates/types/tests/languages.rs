//! Names of months and days in every language: what TO_CHAR writes, TO_DATE reads.

use types::format::{date_from_text, date_to_char, timestamp_to_char};
use types::{Date, LANGUAGES, Nls, TERRITORIES, Territory, Timestamp};

#[test]
fn names_are_read_as_they_are_written() {
    for language in &LANGUAGES {
        let nls = Nls { date_language: language.name.to_owned(), ..Nls::default() };
        for (month, day) in (1..=12).flat_map(|month| (1..=7).map(move |day| (month, day))) {
            let date = Date::from_ymd(2024, month, day).unwrap();
            for model in [
                "DD MONTH YYYY",
                "fmDD Month YYYY",
                "dd month yyyy",
                "DD MON YYYY",
                "fmdd-mon-yyyy",
                "Day DD.MM.YYYY",
                "DY DD.MM.YYYY",
                "day, dd month yyyy",
            ] {
                let mut text = String::new();
                date_to_char(&date, model, &nls, &mut text).unwrap();
                let back = date_from_text(&text, model, &nls);
                assert_eq!(back.as_ref().ok(), Some(&date), "{}: {text} by {model}: {back:?}", language.name);
            }
        }
    }
}

#[test]
fn texts_that_are_no_names_are_refused() {
    let texts = ["", "x", "ı", "İ", "ß", "1", "\u{301}", "🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀", "Febr\u{FB01}"];
    for language in &LANGUAGES {
        let nls = Nls { date_language: language.name.to_owned(), ..Nls::default() };
        for (text, model) in texts.iter().flat_map(|text| [(text, "MON"), (text, "DAY")]) {
            assert!(date_from_text(text, model, &nls).is_err(), "{}: {text} by {model}", language.name);
        }
    }
}

#[test]
fn weeks_of_a_territory_have_seven_days() {
    for territory in &TERRITORIES {
        let mut days: Vec<u32> = (1..=7).map(|day| territory.day_of_week(day)).collect();
        assert_eq!(days[territory.first_day as usize - 1], 1, "{}", territory.name);
        days.sort_unstable();
        assert_eq!(days, [1, 2, 3, 4, 5, 6, 7], "{}", territory.name);
        assert_eq!(territory.numeric_characters.chars().count(), 2, "{}", territory.name);
        let nls = Nls { territory: territory.name.to_owned(), ..Nls::default() };
        for model in [territory.date_format, territory.time_format] {
            let time = Timestamp::new(Date::from_ymd(2024, 3, 5).unwrap(), 0);
            timestamp_to_char(&time, model, &nls, &mut String::new()).unwrap();
        }
    }
    assert_eq!(Territory::named("the netherlands").map(|t| t.first_day), Some(2));
}
