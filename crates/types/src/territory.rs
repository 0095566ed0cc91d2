//! The territories of NLS_TERRITORY: the default formats, numeric characters, currencies and the first day of the week.

/// The conventions of a territory.
#[derive(Debug)]
pub struct Territory {
    /// Oracle's name of the territory.
    pub name: &'static str,
    /// The default of NLS_DATE_FORMAT.
    pub date_format: &'static str,
    /// The default of NLS_TIME_FORMAT, which also ends NLS_TIMESTAMP_FORMAT.
    pub time_format: &'static str,
    /// The default of NLS_NUMERIC_CHARACTERS.
    pub numeric_characters: &'static str,
    /// The default of NLS_CURRENCY.
    pub currency: &'static str,
    /// The ISO 4217 code of the currency.
    pub iso_currency: &'static str,
    /// The default of NLS_DUAL_CURRENCY.
    pub dual_currency: &'static str,
    /// The first day of the week; 1 is Sunday.
    pub first_day: u32,
}

impl Territory {
    /// The territory with this Oracle name, in any case; `None` for an unknown one.
    pub fn named(name: &str) -> Option<&'static Territory> {
        TERRITORIES.iter().find(|territory| territory.name.eq_ignore_ascii_case(name))
    }

    /// The models of DS, DL and TS. `None` where they are not known.
    pub fn long_formats(&self) -> Option<[&'static str; 3]> {
        Some(match self.name {
            "AMERICA" => ["FMMM/DD/RRRR", "FMDay, Month DD, YYYY", "HH:MI:SS AM"],
            "UNITED KINGDOM" => ["DD/MM/RRRR", "FMDD Month YYYY", "HH24:MI:SS"],
            "GERMANY" => ["DD.MM.RRRR", "FMDay, DD. Month YYYY", "HH24:MI:SS"],
            "FRANCE" => ["DD/MM/RRRR", "FMDay DD Month YYYY", "HH24:MI:SS"],
            _ => return None,
        })
    }

    /// D of a date: the number of a day, of which 1 is Sunday, in a week of this territory.
    pub fn day_of_week(&self, day: u32) -> u32 {
        (day + 7 - self.first_day) % 7 + 1
    }
}

const AM: &str = "HH.MI.SSXFF AM";
const H24: &str = "HH24:MI:SSXFF";
const DOTS: &str = "HH24.MI.SSXFF";

#[rustfmt::skip]
const fn territory(
    name: &'static str, date_format: &'static str, time_format: &'static str, numeric_characters: &'static str,
    [currency, iso_currency, dual_currency]: [&'static str; 3], first_day: u32,
) -> Territory {
    Territory { name, date_format, time_format, numeric_characters, currency, iso_currency, dual_currency, first_day }
}

/// The supported territories; the first is the default.
#[rustfmt::skip]
pub static TERRITORIES: [Territory; 29] = [
    territory("AMERICA", "DD-MON-RR", AM, ".,", ["$", "USD", "$"], 1),
    territory("UNITED KINGDOM", "DD-MON-RR", DOTS, ".,", ["£", "GBP", "€"], 2),
    territory("GERMANY", "DD.MM.RR", H24, ",.", ["€", "EUR", "€"], 2),
    territory("FRANCE", "DD/MM/RR", H24, ", ", ["€", "EUR", "€"], 2),
    territory("SPAIN", "DD/MM/RR", H24, ",.", ["€", "EUR", "€"], 2),
    territory("ITALY", "DD-MON-RR", H24, ",.", ["€", "EUR", "€"], 2),
    territory("SWITZERLAND", "DD.MM.RR", H24, ".'", ["SFr.", "CHF", "SFr."], 2),
    territory("AUSTRIA", "DD.MM.RR", H24, ",.", ["€", "EUR", "€"], 2),
    territory("THE NETHERLANDS", "DD-MM-RR", H24, ",.", ["€", "EUR", "€"], 2),
    territory("BELGIUM", "DD/MM/RR", H24, ",.", ["€", "EUR", "€"], 2),
    territory("IRELAND", "DD-MON-RR", H24, ".,", ["€", "EUR", "€"], 2),
    territory("SWEDEN", "RRRR-MM-DD", H24, ",.", ["Kr", "SEK", "€"], 2),
    territory("NORWAY", "DD.MM.RRRR", H24, ",.", ["kr", "NOK", "€"], 2),
    territory("DENMARK", "RR-MM-DD", H24, ",.", ["kr", "DKK", "€"], 2),
    territory("FINLAND", "DD.MM.RRRR", H24, ", ", ["€", "EUR", "€"], 2),
    territory("POLAND", "RR/MM/DD", H24, ", ", ["zł", "PLN", "€"], 2),
    territory("CZECH REPUBLIC", "DD.MM.RR", H24, ",.", ["Kč", "CZK", "€"], 2),
    territory("RUSSIA", "DD.MM.RR", H24, ", ", ["₽", "RUB", "₽"], 2),
    territory("UKRAINE", "DD.MM.RR", H24, ", ", ["грн.", "UAH", "грн."], 2),
    territory("TURKEY", "DD/MM/RRRR", H24, ",.", ["₺", "TRY", "₺"], 2),
    territory("BRAZIL", "DD/MM/RR", H24, ",.", ["R$", "BRL", "Cr$"], 1),
    territory("PORTUGAL", "RR.MM.DD", H24, ",.", ["€", "EUR", "€"], 2),
    territory("JAPAN", "RR-MM-DD", H24, ".,", ["¥", "JPY", "\\"], 1),
    territory("CHINA", "DD-MON-RR", AM, ".,", ["￥", "CNY", "￥"], 1),
    territory("KOREA", "RR/MM/DD", H24, ".,", ["₩", "KRW", "₩"], 1),
    territory("INDIA", "DD-MM-RR", H24, ".,", ["Rs", "INR", "Rs"], 1),
    territory("CANADA", "RR-MM-DD", H24, ".,", ["$", "CAD", "$"], 1),
    territory("MEXICO", "DD/MM/RR", H24, ".,", ["$", "MXN", "$"], 1),
    territory("AUSTRALIA", "DD/MON/RR", AM, ".,", ["$", "AUD", "$"], 1),
];
