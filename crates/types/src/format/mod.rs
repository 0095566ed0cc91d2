//! Format models: TO_CHAR, TO_NUMBER, TO_DATE, TO_TIMESTAMP.

use crate::error::Result;
use crate::{Date, IntervalDs, IntervalYm, Nls, Number, Timestamp};

/// Appends TO_CHAR(n, format). ORA-01481 for a bad format.
pub fn number_to_char(_n: &Number, _format: &str, _nls: &Nls, _out: &mut String) -> Result<()> {
    todo!()
}
/// TO_NUMBER(text, format). ORA-01722, ORA-01481.
pub fn number_from_text(_text: &str, _format: &str, _nls: &Nls) -> Result<Number> {
    todo!()
}
/// Appends a number as SQL*Plus shows it in a column of `width` characters (SET NUMWIDTH), not padded; `#` when it does not fit.
pub fn number_in_width(_n: &Number, _width: usize, _out: &mut String) {
    todo!()
}
/// Appends TO_CHAR(date, format). ORA-01821, ORA-01801.
pub fn date_to_char(_date: &Date, _format: &str, _nls: &Nls, _out: &mut String) -> Result<()> {
    todo!()
}
/// Appends TO_CHAR(timestamp, format).
pub fn timestamp_to_char(_t: &Timestamp, _format: &str, _nls: &Nls, _out: &mut String) -> Result<()> {
    todo!()
}
/// TO_DATE(text, format).
pub fn date_from_text(_text: &str, _format: &str, _nls: &Nls) -> Result<Date> {
    todo!()
}
/// TO_TIMESTAMP(text, format); has an offset when the format has time zone elements.
pub fn timestamp_from_text(_text: &str, _format: &str, _nls: &Nls) -> Result<Timestamp> {
    todo!()
}
/// Appends `+00 00:00:00.000000` as SQL prints an INTERVAL DAY TO SECOND.
pub fn interval_ds_to_text(_i: &IntervalDs, _day_digits: u8, _second_digits: u8, _out: &mut String) {
    todo!()
}
/// Appends `+00-00`.
pub fn interval_ym_to_text(_i: &IntervalYm, _year_digits: u8, _out: &mut String) {
    todo!()
}
/// TO_DSINTERVAL.
pub fn interval_ds_from_text(_text: &str) -> Result<IntervalDs> {
    todo!()
}
/// TO_YMINTERVAL.
pub fn interval_ym_from_text(_text: &str) -> Result<IntervalYm> {
    todo!()
}
