//! NLS settings: from parameters to what conversions need.

use params::{Param, SessionParams};
use types::Nls;

/// What a parameter stands for while nobody has set it: the values of AMERICAN_AMERICA.
pub fn effective(params: &SessionParams, param: Param) -> String {
    let value = params.get(param);
    if !value.is_empty() {
        return value;
    }
    match param {
        Param::NlsDateFormat => "DD-MON-RR",
        Param::NlsTimestampFormat => "DD-MON-RR HH.MI.SSXFF AM",
        Param::NlsTimestampTzFormat => "DD-MON-RR HH.MI.SSXFF AM TZR",
        Param::NlsTimeFormat => "HH.MI.SSXFF AM",
        Param::NlsTimeTzFormat => "HH.MI.SSXFF AM TZR",
        Param::NlsDateLanguage => "AMERICAN",
        Param::NlsNumericCharacters => ".,",
        Param::NlsCurrency | Param::NlsDualCurrency => "$",
        Param::NlsIsoCurrency => "AMERICA",
        Param::NlsSort => "BINARY",
        Param::NlsCalendar => "GREGORIAN",
        _ => "",
    }
    .to_string()
}

/// Puts the parameters into the settings; the time zone and the current date stay.
pub fn apply(params: &SessionParams, nls: &mut Nls) {
    let get = |p| effective(params, p);
    nls.language = get(Param::NlsLanguage);
    nls.territory = get(Param::NlsTerritory);
    nls.currency = get(Param::NlsCurrency);
    nls.iso_currency = types::iso_currency(&get(Param::NlsIsoCurrency)).unwrap_or("USD").to_owned();
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

/// Tries a new value of a parameter that is a format model.
///
/// # Errors
/// ORA-01821 and its like, when no date can be printed with it.
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

/// `ALTER SESSION SET time_zone`: minutes east of UTC for `+hh:mm`, `-hh:mm`, `LOCAL` or `DBTIMEZONE`.
pub fn zone_minutes(text: &str, local: i16) -> Option<i16> {
    match text.trim().to_ascii_uppercase().as_str() {
        "LOCAL" => return Some(local),
        "DBTIMEZONE" | "UTC" | "GMT" | "Z" => return Some(0),
        _ => {}
    }
    let text = text.trim();
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i16, i16) = (hours.parse().ok()?, minutes.parse().ok()?);
    let total = sign * (hours * 60 + minutes);
    ((0..60).contains(&minutes) && (-12 * 60..=14 * 60).contains(&total)).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zones_are_offsets_within_the_worlds() {
        for (text, want) in [
            ("+02:00", Some(120)),
            ("-03:30", Some(-210)),
            ("local", Some(60)),
            ("DBTIMEZONE", Some(0)),
            ("+15:00", None),
            ("+1:99", None),
            ("Mars", None),
        ] {
            assert_eq!(zone_minutes(text, 60), want, "{text}");
        }
    }
}
