//! Large integers, and the packed positions of CLUCOLS.

use crate::rows::as_u32;
use types::{Number, Rdba, Value};

/// The number for CLUCOLS from the positions (from 0) of a cluster key's columns.
pub fn cluster_columns(positions: &[usize]) -> Value {
    let packed = positions.iter().fold(0i128, |n, position| n * 10_000 + *position as i128 + 1);
    Value::Number(Number::from_i128(packed))
}

/// The positions from 0 in the decimal digits of CLUCOLS, four per column.
pub(super) fn as_text_digits(value: &Value) -> Vec<usize> {
    let Value::Number(n) = value else {
        return Vec::new();
    };
    let mut rest = big_number(n);
    let mut list = Vec::new();
    while rest > 0 {
        list.push((rest % 10_000 - 1).max(0) as usize);
        rest /= 10_000;
    }
    list.reverse();
    list
}

/// The text of KEYCOLS for the positions (from 0) of a partitioning key's columns.
pub fn partition_columns(positions: &[usize]) -> Value {
    Value::Text(positions.iter().map(|position| format!("{:04}", position + 1)).collect())
}

/// The positions in the text of KEYCOLS; `None` for another text.
pub(super) fn positions_of(text: &str) -> Option<Vec<usize>> {
    let position = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<usize>().ok()?.checked_sub(1);
    text.as_bytes().chunks(4).map(position).collect()
}

/// An integer of up to 38 digits.
pub fn big_number(n: &Number) -> i128 {
    match n.as_i64() {
        Some(small) => i128::from(small),
        None => n.to_string().parse().unwrap_or(if n.is_negative() { i128::MIN } else { i128::MAX }),
    }
}

pub(super) fn big(value: &Value) -> i128 {
    match value {
        Value::Number(n) => big_number(n),
        _ => 0,
    }
}

/// The segment header in two columns of a row.
pub(super) fn segment_header(row: &[Value], file: usize, block: usize) -> Rdba {
    let (file, block) = (as_u32(&row[file]), as_u32(&row[block]));
    if file == 0 || file > Rdba::MAX_FILE || block > Rdba::MAX_BLOCK { Rdba::NONE } else { Rdba::new(file, block) }
}
