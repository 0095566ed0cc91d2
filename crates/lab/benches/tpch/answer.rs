//! Answers, and their comparison.

/// A column of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    /// An exact decimal number, as text.
    Exact(String),
    /// A floating-point number.
    Float(f64),
    Text(String),
}

pub type Rows = Vec<Vec<Cell>>;

/// Digits that are right in a quotient of an engine that rounds quotients early.
const QUOTIENT_DIGITS: usize = 15;
/// Relative tolerance of floating-point sums.
const FLOAT_TOLERANCE: f64 = 1e-9;

/// Compares two answers; `Err` describes the difference. Rows may come in any order that ORDER BY permits.
pub fn same(ours: &Rows, theirs: &Rows) -> Result<(), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} rows against {}", ours.len(), theirs.len()));
    }
    let mut left: Vec<&Vec<Cell>> = Vec::new();
    let mut right: Vec<&Vec<Cell>> = Vec::new();
    for (a, b) in ours.iter().zip(theirs) {
        if !same_row(a, b) {
            left.push(a);
            right.push(b);
        }
    }
    for row in left {
        let Some(at) = right.iter().position(|other| same_row(row, other)) else {
            return Err(format!("no such row: {row:?}, left {:?}", right.first()));
        };
        right.swap_remove(at);
    }
    Ok(())
}

fn same_row(a: &[Cell], b: &[Cell]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_cell(a, b))
}

fn same_cell(a: &Cell, b: &Cell) -> bool {
    match (a, b) {
        (Cell::Null, Cell::Null) => true,
        (Cell::Text(a), Cell::Text(b)) => a == b,
        (Cell::Exact(a), Cell::Exact(b)) => same_decimal(a, b),
        (Cell::Float(a), Cell::Exact(b)) | (Cell::Exact(b), Cell::Float(a)) => {
            b.parse().is_ok_and(|b: f64| close(*a, b, FLOAT_TOLERANCE))
        }
        (Cell::Float(a), Cell::Float(b)) => close(*a, *b, FLOAT_TOLERANCE),
        _ => false,
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1e-6)
}

/// Equal to the last digit or, if one of them has the many digits of a quotient, in the digits that both have.
fn same_decimal(a: &str, b: &str) -> bool {
    let ((neg_a, digits_a, point_a), (neg_b, digits_b, point_b)) = (parts(a), parts(b));
    if digits_a.is_empty() && digits_b.is_empty() {
        return true;
    }
    if (neg_a, &digits_a, point_a) == (neg_b, &digits_b, point_b) {
        return true;
    }
    let shorter = digits_a.len().min(digits_b.len());
    shorter >= QUOTIENT_DIGITS
        && a.parse::<f64>()
            .is_ok_and(|a| b.parse::<f64>().is_ok_and(|b| close(a, b, 10f64.powi(1 - QUOTIENT_DIGITS as i32))))
}

/// The sign, the digits without zeros at either end, and the position of the decimal point before them.
fn parts(text: &str) -> (bool, String, i32) {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse().unwrap_or(0)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_string();
    (negative && !digits.is_empty(), digits, whole.len() as i32 - leading as i32 + exponent)
}
