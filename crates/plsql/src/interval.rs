//! Interval literals.

use types::{DataType, IntervalDs, IntervalYm, Ora, Result, Value};

/// `INTERVAL 'text' qualifier`.
pub fn literal(text: &str, qualifier: &str) -> Result<(Value, DataType)> {
    let bare: String = {
        let mut depth = 0;
        qualifier
            .chars()
            .filter(|c| {
                depth += i32::from(*c == '(');
                let keep = depth == 0;
                depth -= i32::from(*c == ')');
                keep
            })
            .collect()
    };
    let (from, to) = match bare.split_once(" TO ") {
        Some((a, b)) => (a.trim(), b.trim()),
        None => (bare.trim(), bare.trim()),
    };
    let negative = text.trim_start().starts_with('-');
    let body = text.trim().trim_start_matches(['-', '+']);
    let sign = if negative { "-" } else { "+" };
    let bad = || Ora::new(1867);
    if matches!(from, "YEAR" | "MONTH") {
        let full = match (from, to) {
            ("YEAR", "YEAR") => format!("{sign}{body}-0"),
            ("MONTH", _) => {
                let months: i64 = body.parse().map_err(|_| bad())?;
                format!("{sign}{}-{}", months / 12, months % 12)
            }
            _ => format!("{sign}{body}"),
        };
        let value: IntervalYm = types::format::interval_ym_from_text(&full)?;
        return Ok((Value::IntervalYm(value), DataType::IntervalYm { years: 9 }));
    }
    let full = match (from, to) {
        ("DAY", "DAY") => format!("{sign}{body} 00:00:00"),
        ("DAY", "HOUR") => format!("{sign}{body}:00:00"),
        ("DAY", "MINUTE") => format!("{sign}{body}:00"),
        ("DAY", _) => format!("{sign}{body}"),
        _ => {
            let (unit, rest): (u64, u64) = match from {
                "HOUR" => (3600, 60),
                "MINUTE" => (60, 1),
                "SECOND" => (1, 1),
                _ => return Err(bad()),
            };
            let mut seconds = 0u64;
            let mut scale = unit;
            let mut fraction = "0";
            for (i, part) in body.split(':').enumerate() {
                let whole = match part.split_once('.') {
                    Some((a, b)) => {
                        fraction = b;
                        a
                    }
                    None => part,
                };
                if i == 1 {
                    scale = if unit == 3600 { 60 } else { rest };
                } else if i == 2 {
                    scale = 1;
                }
                let n: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
                seconds = n.checked_mul(scale).and_then(|x| seconds.checked_add(x)).ok_or_else(bad)?;
            }
            let (d, s) = (seconds / 86400, seconds % 86400);
            format!("{sign}{d} {:02}:{:02}:{:02}.{fraction}", s / 3600, s / 60 % 60, s % 60)
        }
    };
    let value: IntervalDs = types::format::interval_ds_from_text(&full)?;
    Ok((Value::IntervalDs(value), DataType::IntervalDs { days: 9, digits: 9 }))
}
