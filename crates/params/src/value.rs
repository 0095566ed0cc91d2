//! Checking and normalising a parameter's value.
//!
//! Values are kept in the form of `v$parameter.value`: TRUE or FALSE, a decimal number of bytes, a word in the spelling
//! of its list. The user's text (`yes`, `64M`, `force`) is converted to this form once, here.

use crate::list::{Kind, Param, ParamDef};
use types::{Facility, Language, Ora, Result, Territory};

/// The longest value in bytes.
pub const MAX_VALUE_LEN: usize = 240;

/// Converts the user's text to the normal form (invariant 1).
///
/// # Errors
/// ORA-00096 for a word outside the parameter's list, ORA-00068 for a number outside its limits, ORA-02017 for text in
/// place of a number, ORA-01489 for a value longer than [`MAX_VALUE_LEN`] bytes.
pub fn normalise(def: &ParamDef, raw: &str) -> Result<String> {
    let raw = unquote(raw.trim());
    if raw.len() > MAX_VALUE_LEN {
        return Err(Ora::new(1489));
    }
    match def.kind {
        Kind::Boolean => match raw.to_ascii_uppercase().as_str() {
            "TRUE" | "YES" | "ON" | "1" => Ok("TRUE".into()),
            "FALSE" | "NO" | "OFF" | "0" => Ok("FALSE".into()),
            _ => Err(not_among(def, raw, &["TRUE", "FALSE"])),
        },
        Kind::Word(words) => word(def, raw, words),
        Kind::Integer { min, max } => number(def, raw, min, max),
        Kind::BigInteger { min, max } => number(def, raw, min, max),
        Kind::Text => Ok(raw.to_string()),
    }
}

fn word(def: &ParamDef, raw: &str, words: &[&str]) -> Result<String> {
    match words.iter().find(|w| w.eq_ignore_ascii_case(raw)) {
        Some(w) => Ok((*w).to_string()),
        // The design at start.
        None if raw.is_empty() && def.name.starts_with("_switch_") => Ok(String::new()),
        None => Err(not_among(def, raw, words)),
    }
}

fn number(def: &ParamDef, raw: &str, min: i64, max: i64) -> Result<String> {
    let n = parse_size(raw).ok_or_else(|| Ora::new(2017))?;
    // A default of -1 means "derived"; users cannot set it.
    if n < min || n > max {
        return Err(Ora::with(68, &[&n, &def.name, &min, &max]));
    }
    Ok(n.to_string())
}

fn not_among(def: &ParamDef, raw: &str, words: &[&str]) -> Ora {
    Ora::with(96, &[&raw, &def.name, &words.join(", ")])
}

/// Reads a whole number with an optional K, M, G or T (powers of 1024). `None` when it is not one or overflows.
pub fn parse_size(text: &str) -> Option<i64> {
    let text = text.trim();
    let (digits, shift) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 10),
        'm' | 'M' => (&text[..text.len() - 1], 20),
        'g' | 'G' => (&text[..text.len() - 1], 30),
        't' | 'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let n: i64 = digits.trim().parse().ok()?;
    n.checked_mul(1 << shift)
}

/// The value as in `v$parameter.display_value` and `SHOW PARAMETER`: sizes with their largest exact unit.
pub fn display(def: &ParamDef, value: &str) -> String {
    let Kind::BigInteger { .. } = def.kind else {
        return value.to_string();
    };
    let Ok(n) = value.parse::<i64>() else {
        return value.to_string();
    };
    for (unit, shift) in [("G", 30), ("M", 20), ("K", 10)] {
        if n > 0 && n % (1 << shift) == 0 {
            return format!("{}{unit}", n >> shift);
        }
    }
    n.to_string()
}

/// Removes one pair of quotes, as in an init file and in `ALTER SYSTEM SET x='y'`.
pub fn unquote(text: &str) -> &str {
    for q in ['\'', '"'] {
        if text.len() >= 2 && text.starts_with(q) && text.ends_with(q) {
            return &text[1..text.len() - 1];
        }
    }
    text
}

/// The languages of which the default of NLS_SORT is BINARY.
const OF_BINARY_SORT: [&str; 6] =
    ["AMERICAN", "ENGLISH", "JAPANESE", "KOREAN", "SIMPLIFIED CHINESE", "TRADITIONAL CHINESE"];

/// Checks NLS values that have a form of their own, or a list of supported values.
///
/// NLS_COMP may have any value: LINGUISTIC and ANSI compare by NLS_SORT, which is BINARY.
///
/// # Errors
/// ORA-12705, which names the supported value.
pub(crate) fn check_nls(param: Param, value: &str) -> Result<()> {
    let bad = || Err(Ora::new(12705));
    let only = |there: &str| {
        if value.eq_ignore_ascii_case(there) {
            return Ok(());
        }
        let base = Ora::new(12705);
        let name = param.name().to_uppercase();
        let text = format!("{}: {name} has only the value {there} in this instance", base.message());
        Err(Ora::from_text(Facility::Ora, 12705, text))
    };
    match param {
        Param::NlsNumericCharacters => {
            let c: Vec<char> = value.chars().collect();
            let fine = c.len() == 2 && c[0] != c[1] && c.iter().all(|c| !c.is_ascii_digit() && !"+-<>".contains(*c));
            if fine { Ok(()) } else { bad() }
        }
        Param::NlsDateLanguage if Language::named(value).is_some() => Ok(()),
        Param::NlsTerritory if Territory::named(value).is_some() => Ok(()),
        Param::NlsIsoCurrency if types::iso_currency(value).is_some() => Ok(()),
        Param::NlsLanguage if OF_BINARY_SORT.iter().any(|name| name.eq_ignore_ascii_case(value)) => Ok(()),
        Param::NlsLanguage if Language::named(value).is_some() => {
            let base = Ora::new(12705);
            let name = value.to_uppercase();
            let text = format!(
                "{}: NLS_LANGUAGE {name} needs a linguistic sort, which this instance lacks; set NLS_DATE_LANGUAGE",
                base.message()
            );
            Err(Ora::from_text(Facility::Ora, 12705, text))
        }
        Param::NlsLanguage | Param::NlsDateLanguage | Param::NlsTerritory | Param::NlsIsoCurrency => bad(),
        Param::NlsSort => only("BINARY"),
        Param::NlsCalendar => only("GREGORIAN"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn norm(p: Param, raw: &str) -> std::result::Result<String, u32> {
        normalise(p.def(), raw).map_err(|e| e.code())
    }

    #[test]
    fn values_take_the_form_the_view_shows() {
        for (p, raw, want) in [
            (Param::PrePageSga, "yes", Ok("TRUE")),
            (Param::PrePageSga, "maybe", Err(96)),
            (Param::DbCacheSize, "64M", Ok("67108864")),
            (Param::DbCacheSize, "'1g'", Ok("1073741824")),
            (Param::DbCacheSize, "9999999999T", Err(2017)),
            (Param::DbCacheSize, "x", Err(2017)),
            (Param::Processes, "5", Err(68)),
            (Param::Processes, "100", Ok("100")),
            (Param::ResultCacheMode, "force", Ok("FORCE")),
            (Param::ResultCacheMode, "auto", Err(96)),
            (Param::LatchGeneration, "11.2.0.3", Ok("11.2.0.3")),
            (Param::NlsDateFormat, "'YYYY-MM-DD'", Ok("YYYY-MM-DD")),
        ] {
            assert_eq!(norm(p, raw), want.map(str::to_string), "{p:?} = {raw}");
        }
    }

    #[test]
    fn sizes_show_their_largest_exact_unit() {
        let d = Param::DbCacheSize.def();
        for (v, want) in [("67108864", "64M"), ("1536", "1536"), ("2048", "2K"), ("0", "0")] {
            assert_eq!(display(d, v), want);
        }
        assert_eq!(display(Param::Processes.def(), "1024"), "1024");
    }
}
