//! NLS settings: from parameters to the values that conversions use.

use params::{Param, SessionParams};
use types::{LANGUAGES, Language, Nls, TERRITORIES, Territory, TimeZone};

/// The value of an NLS parameter; for a parameter that is not set, the value of the language or the territory. A
/// language or territory of the session hides the instance's values of the parameters that it determines.
pub fn effective(params: &SessionParams, param: Param) -> String {
    let sources = [Param::NlsLanguage, Param::NlsTerritory];
    let source = sources.into_iter().find(|source| source.derived().contains(&param));
    let is_hidden = params.own(param).is_none() && source.is_some_and(|source| params.own(source).is_some());
    let value = if is_hidden { String::new() } else { params.get(param) };
    let language = || Language::named(&params.get(Param::NlsLanguage)).unwrap_or(&LANGUAGES[0]).name;
    let territory = || Territory::named(&params.get(Param::NlsTerritory)).unwrap_or(&TERRITORIES[0]);
    match param {
        Param::NlsLanguage => return language().to_owned(),
        Param::NlsTerritory => return territory().name.to_owned(),
        Param::NlsDateLanguage if !value.is_empty() => {
            return Language::named(&value).map_or(value.as_str(), |language| language.name).to_owned();
        }
        _ if !value.is_empty() => return value,
        _ => {}
    }
    let place = territory();
    match param {
        Param::NlsDateFormat => place.date_format,
        Param::NlsTimestampFormat => return format!("{} {}", place.date_format, place.time_format),
        Param::NlsTimestampTzFormat => return format!("{} {} TZR", place.date_format, place.time_format),
        Param::NlsTimeFormat => place.time_format,
        Param::NlsTimeTzFormat => return format!("{} TZR", place.time_format),
        Param::NlsDateLanguage => language(),
        Param::NlsNumericCharacters => place.numeric_characters,
        Param::NlsCurrency => place.currency,
        Param::NlsDualCurrency => place.dual_currency,
        Param::NlsIsoCurrency => place.name,
        Param::NlsSort => "BINARY",
        Param::NlsCalendar => "GREGORIAN",
        _ => "",
    }
    .to_owned()
}

/// The settings that a job takes from the submitting session.
const OF_JOB: [Param; 14] = [
    Param::NlsLanguage,
    Param::NlsTerritory,
    Param::NlsCurrency,
    Param::NlsIsoCurrency,
    Param::NlsNumericCharacters,
    Param::NlsDateFormat,
    Param::NlsDateLanguage,
    Param::NlsSort,
    Param::NlsComp,
    Param::NlsDualCurrency,
    Param::NlsTimestampFormat,
    Param::NlsTimestampTzFormat,
    Param::NlsTimeFormat,
    Param::NlsTimeTzFormat,
];

/// The settings in the form of a job's NLS_ENV: a list of `NAME='value'`.
pub fn environment(params: &SessionParams) -> String {
    let one = |param: Param| {
        let value = effective(params, param);
        (!value.is_empty()).then(|| format!("{}='{}'", param.name().to_uppercase(), value.replace('\'', "''")))
    };
    OF_JOB.into_iter().filter_map(one).collect::<Vec<_>>().join(" ")
}

/// The names and quoted values in a text of [`environment`].
pub fn settings(environment: &str) -> Vec<(&str, &str)> {
    let mut list = Vec::new();
    let mut rest = environment.trim();
    while let Some((name, value)) = rest.split_once('=') {
        let mut quotes = value.match_indices('\'').map(|(at, _)| at).skip(1).peekable();
        let mut end = value.len();
        while let Some(at) = quotes.next() {
            // Two quotes stand for one quote in the value.
            if quotes.next_if_eq(&(at + 1)).is_none() {
                end = at + 1;
                break;
            }
        }
        list.push((name.trim(), &value[..end]));
        rest = value[end..].trim_start();
    }
    list
}

/// Copies the parameters into the settings, except the time zone and the current date.
pub fn apply(params: &SessionParams, nls: &mut Nls) {
    let get = |p| effective(params, p);
    nls.language = get(Param::NlsLanguage);
    nls.territory = get(Param::NlsTerritory);
    nls.currency = get(Param::NlsCurrency);
    nls.dual_currency = get(Param::NlsDualCurrency);
    nls.iso_territory = get(Param::NlsIsoCurrency).to_uppercase();
    nls.iso_currency = types::iso_currency(&nls.iso_territory).unwrap_or("USD").to_owned();
    nls.date_format = get(Param::NlsDateFormat);
    nls.timestamp_format = get(Param::NlsTimestampFormat);
    nls.timestamp_tz_format = get(Param::NlsTimestampTzFormat);
    nls.date_language = get(Param::NlsDateLanguage);
    nls.sort = get(Param::NlsSort);
    nls.comp = get(Param::NlsComp);
    let mut characters = get(Param::NlsNumericCharacters).chars().collect::<Vec<_>>().into_iter();
    nls.decimal = characters.next().unwrap_or('.');
    nls.group = characters.next().unwrap_or(',');
    nls.length_semantics = match get(Param::NlsLengthSemantics).as_str() {
        "CHAR" => types::LenUnit::Char,
        _ => types::LenUnit::Byte,
    };
}

/// Checks a new value of a parameter that is a format model, by printing a date with it.
///
/// # Errors
/// ORA-01821 and the other errors of format models.
pub fn check_format(name: &str, model: &str, nls: &Nls) -> types::Result<()> {
    let day = types::Date::UNIX_EPOCH;
    let mut text = String::new();
    match name.to_ascii_uppercase().as_str() {
        "NLS_DATE_FORMAT" => types::format::date_to_char(&day, model, nls, &mut text),
        "NLS_TIMESTAMP_FORMAT" => {
            types::format::timestamp_to_char(&types::Timestamp::new(day, 0), model, nls, &mut text)
        }
        "NLS_TIMESTAMP_TZ_FORMAT" => {
            types::format::timestamp_to_char(&types::Timestamp::with_offset(day, 0, 0), model, nls, &mut text)
        }
        _ => Ok(()),
    }
}

/// The time zone for `ALTER SESSION SET time_zone`: an offset, the name of a region, LOCAL or DBTIMEZONE.
///
/// # Errors
/// ORA-01882 for an unknown region, ORA-01874 and ORA-01875 for an offset out of range, ORA-01857 for an empty text.
pub fn time_zone(text: &str, local: TimeZone) -> types::Result<TimeZone> {
    match text.trim() {
        "" => Err(types::Ora::new(1857)),
        text if text.eq_ignore_ascii_case("LOCAL") => Ok(local),
        text if text.eq_ignore_ascii_case("DBTIMEZONE") => Ok(TimeZone::DATABASE),
        text => TimeZone::parse(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_written() {
        let text =
            "NLS_LANGUAGE='AMERICAN' NLS_DATE_FORMAT='YYYY \"o''clock = x\"' NLS_CURRENCY='''' NLS_SORT='BINARY'";
        let expected = [
            ("NLS_LANGUAGE", "'AMERICAN'"),
            ("NLS_DATE_FORMAT", "'YYYY \"o''clock = x\"'"),
            ("NLS_CURRENCY", "''''"),
            ("NLS_SORT", "'BINARY'"),
        ];
        assert_eq!(settings(text), expected);
        assert!(settings("").is_empty());
        assert_eq!(settings("A='b"), [("A", "'b")]);
    }

    #[test]
    fn time_zones_are_offsets_or_regions() {
        let local = TimeZone::Offset(60);
        for (text, want) in [
            ("+02:00", "+02:00"),
            ("-03:30", "-03:30"),
            ("local", "+01:00"),
            ("DBTIMEZONE", "+00:00"),
            ("Europe/berlin", "Europe/Berlin"),
            ("+15:00", "+15:00"),
            ("+16:00", "ORA-01874"),
            ("+1:99", "ORA-01875"),
            ("Mars", "ORA-01882"),
            (" ", "ORA-01857"),
        ] {
            let got = time_zone(text, local).map_or_else(|e| e.to_string()[..9].to_owned(), |z| z.to_string());
            assert_eq!(got, want, "{text}");
        }
    }
}
