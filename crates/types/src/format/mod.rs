//! Format models: TO_CHAR, TO_NUMBER, TO_DATE, TO_TIMESTAMP, and the texts of intervals.

mod date;
mod date_in;
mod interval;
mod number;

pub use date::{
    date_to_char, follows_territory, longest as longest_date, names_its_date, names_its_zone, names_months_or_days,
    timestamp_of_digits, timestamp_to_char,
};
pub use date_in::{date_from_text, timestamp_from_text, timestamp_literal};
pub use interval::{interval_ds_from_text, interval_ds_to_text, interval_ym_from_text, interval_ym_to_text};
pub use number::{number_from_text, number_in_width, number_to_char};

/// Returns a number from 1 to 3999 in Roman numerals.
fn roman(mut n: u32) -> String {
    const NUMERALS: [(u32, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (value, numeral) in NUMERALS {
        while n >= value {
            text.push_str(numeral);
            n -= value;
        }
    }
    text
}
