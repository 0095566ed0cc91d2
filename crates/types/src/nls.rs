//! What a session's language settings say about texts, numbers and dates.

use crate::Date;

/// Session settings that conversions between text and values need.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Nls {
    pub language: String,
    pub territory: String,
    pub currency: String,
    pub iso_currency: String,
    pub date_format: String,
    pub timestamp_format: String,
    pub timestamp_tz_format: String,
    pub date_language: String,
    pub decimal: char,
    pub group: char,
    pub sort: String,
    pub comp: String,
    pub length_semantics: crate::LenUnit,
    /// Session time zone: minutes east of UTC.
    pub zone_minutes: i16,
    /// The current date of the statement, for fields that a date format does not give.
    pub today: Date,
}
