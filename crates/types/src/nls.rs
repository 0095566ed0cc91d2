//! Language settings of a session for texts, numbers and dates.

use crate::datatype::LenUnit;
use crate::date::Date;
use crate::datetime::Timestamp;
use crate::error::Result;
use crate::language::{LANGUAGES, Language};
use crate::territory::{TERRITORIES, Territory};
use crate::zone::{Moment, TimeZone};

/// Session settings for conversions between text and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Nls {
    /// NLS_LANGUAGE.
    pub language: String,
    /// NLS_TERRITORY.
    pub territory: String,
    /// NLS_CURRENCY, the symbol for `L`.
    pub currency: String,
    /// NLS_DUAL_CURRENCY, the symbol for `U`.
    pub dual_currency: String,
    /// NLS_ISO_CURRENCY, the name of a territory.
    pub iso_territory: String,
    /// NLS_ISO_CURRENCY as its code, the symbol for `C`.
    pub iso_currency: String,
    /// NLS_DATE_FORMAT.
    pub date_format: String,
    /// NLS_TIMESTAMP_FORMAT.
    pub timestamp_format: String,
    /// NLS_TIMESTAMP_TZ_FORMAT.
    pub timestamp_tz_format: String,
    /// NLS_DATE_LANGUAGE.
    pub date_language: String,
    /// First of NLS_NUMERIC_CHARACTERS, the character for `D`.
    pub decimal: char,
    /// Second of NLS_NUMERIC_CHARACTERS, the character for `G`.
    pub group: char,
    /// NLS_SORT.
    pub sort: String,
    /// NLS_COMP.
    pub comp: String,
    /// NLS_LENGTH_SEMANTICS.
    pub length_semantics: LenUnit,
    /// The session's time zone.
    pub zone: TimeZone,
    /// ERROR_ON_OVERLAP_TIME.
    pub error_on_overlap: bool,
    /// The current date of the statement: the default of fields missing in a date format, and the century of RR.
    pub today: Date,
}

impl Default for Nls {
    /// The settings of AMERICAN_AMERICA at UTC, on 1 January 1970: the session sets `today` at each call.
    fn default() -> Nls {
        Nls {
            language: "AMERICAN".into(),
            territory: "AMERICA".into(),
            currency: "$".into(),
            dual_currency: "$".into(),
            iso_territory: "AMERICA".into(),
            iso_currency: "USD".into(),
            date_format: "DD-MON-RR".into(),
            timestamp_format: "DD-MON-RR HH.MI.SSXFF AM".into(),
            timestamp_tz_format: "DD-MON-RR HH.MI.SSXFF AM TZR".into(),
            date_language: "AMERICAN".into(),
            decimal: '.',
            group: ',',
            sort: "BINARY".into(),
            comp: "BINARY".into(),
            length_semantics: LenUnit::Byte,
            zone: TimeZone::UTC,
            error_on_overlap: false,
            today: Date::UNIX_EPOCH,
        }
    }
}

impl Nls {
    /// The names of months and days in NLS_DATE_LANGUAGE.
    pub fn names(&self) -> &'static Language {
        Language::named(&self.date_language).unwrap_or(&LANGUAGES[0])
    }

    /// Oracle's abbreviation of NLS_LANGUAGE.
    pub fn short_language(&self) -> &'static str {
        match self.language.as_str() {
            "ENGLISH" => "GB",
            "JAPANESE" => "JA",
            "KOREAN" => "KO",
            "SIMPLIFIED CHINESE" => "ZHS",
            "TRADITIONAL CHINESE" => "ZHT",
            _ => "US",
        }
    }

    /// The conventions of NLS_TERRITORY.
    pub fn place(&self) -> &'static Territory {
        Territory::named(&self.territory).unwrap_or(&TERRITORIES[0])
    }

    /// The choice between the two instants of a local time that occurs twice, if nothing else decides.
    pub fn moment(&self) -> Moment<'static> {
        Moment { only_once: self.error_on_overlap, abbreviation: None }
    }

    /// A timestamp without time zone is placed in the session's time zone; others are converted for display in the
    /// session.
    ///
    /// # Errors
    /// ORA-01878 and ORA-01883 for a local time of the session that is skipped or occurs twice.
    pub fn placed(&self, t: &Timestamp) -> Result<Timestamp> {
        match t.place() {
            crate::Place::Nowhere => Timestamp::in_zone(t.clock(), t.nanos, self.zone, self.moment()),
            _ => Ok(t.seen_in(self.zone)),
        }
    }
}

/// The ISO 4217 code of a territory's currency, by the territory's Oracle name; `None` for unknown names.
pub fn iso_currency(territory: &str) -> Option<&'static str> {
    if let Some(known) = Territory::named(territory.trim()) {
        return Some(known.iso_currency);
    }
    Some(match territory.trim().to_ascii_uppercase().as_str() {
        "PUERTO RICO" | "ECUADOR" | "EL SALVADOR" => "USD",
        "GREECE" | "LUXEMBOURG" => "EUR",
        _ => return None,
    })
}
