//! Loops over columns.

use super::column::trim;
use super::column::{Column, Data, Nulls, POWERS, Span, WIDE_LIMIT, parts_of};
use plan::{ArithOp, CmpOp};
use std::cmp::Ordering;
use types::{Number, Value};

/// The rows to process: all, or an ascending list.
#[derive(Clone, Copy)]
pub enum Rows<'a> {
    All(usize),
    Some(&'a [u32]),
}

impl<'a> Rows<'a> {
    pub fn count(self) -> usize {
        match self {
            Rows::All(n) => n,
            Rows::Some(rows) => rows.len(),
        }
    }

    #[inline]
    pub fn each(self, mut f: impl FnMut(usize)) {
        match self {
            Rows::All(n) => (0..n).for_each(f),
            Rows::Some(rows) => rows.iter().for_each(|&r| f(r as usize)),
        }
    }

    pub fn to_vec(self) -> Vec<u32> {
        match self {
            Rows::All(n) => (0..n as u32).collect(),
            Rows::Some(rows) => rows.to_vec(),
        }
    }

    /// A value for each of `len` rows; only those of the listed rows have a meaning.
    #[inline]
    pub fn map<T: Clone + Default>(self, len: usize, f: impl Fn(usize) -> T) -> Vec<T> {
        match self {
            Rows::All(n) => {
                debug_assert_eq!(n, len);
                (0..n).map(f).collect()
            }
            Rows::Some(rows) => {
                let mut all = vec![T::default(); len];
                rows.iter().for_each(|&r| all[r as usize] = f(r as usize));
                all
            }
        }
    }

    /// Appends the listed rows that pass.
    #[inline]
    pub fn select(self, out: &mut Vec<u32>, test: impl Fn(usize) -> bool) {
        out.clear();
        out.resize(self.count(), 0);
        let mut kept = 0;
        self.each(|row| {
            out[kept] = row as u32;
            kept += usize::from(test(row));
        });
        out.truncate(kept);
    }
}

/// NUMBERs as words, or one number for all rows.
#[derive(Clone, Copy)]
pub enum Numbers<'a> {
    Fixed(&'a [i64], u8),
    Wide(&'a [i128], u8),
    One(i128, u8),
}

impl<'a> Numbers<'a> {
    pub fn of_column(column: &'a Column) -> Option<Numbers<'a>> {
        match &column.data {
            Data::Fixed(v, scale) => Some(Numbers::Fixed(v, *scale)),
            Data::Wide(v, scale) => Some(Numbers::Wide(v, *scale)),
            _ => None,
        }
    }

    pub fn of_value(v: &Value) -> Option<Numbers<'static>> {
        let Value::Number(n) = v else { return None };
        parts_of(n).map(|(n, scale)| Numbers::One(n, scale))
    }

    pub fn scale(self) -> u8 {
        match self {
            Numbers::Fixed(_, s) | Numbers::Wide(_, s) | Numbers::One(_, s) => s,
        }
    }

    #[inline]
    pub fn at(self, row: usize) -> i128 {
        match self {
            Numbers::Fixed(v, _) => v[row].into(),
            Numbers::Wide(v, _) => v[row],
            Numbers::One(n, _) => n,
        }
    }

    /// The greatest magnitude.
    pub fn most(self, rows: Rows<'_>) -> u128 {
        match (self, rows) {
            (Numbers::Fixed(v, _), Rows::All(n)) => {
                let (low, high) = v[..n].iter().fold((0i64, 0i64), |(low, high), &n| (low.min(n), high.max(n)));
                low.unsigned_abs().max(high.unsigned_abs()).into()
            }
            (Numbers::One(n, _), _) => n.unsigned_abs(),
            (numbers, rows) => {
                let mut most = 0;
                rows.each(|row| most = most.max(numbers.at(row).unsigned_abs()));
                most
            }
        }
    }
}

/// Magnitudes below this fit a signed word.
const WORD_LIMIT: u128 = 1 << 63;

fn power(by: u8) -> Option<u128> {
    10u128.checked_pow(by.into())
}

/// Sum, difference or product; `None` if it might not be exact, and for quotients.
pub fn arith(op: ArithOp, a: Numbers<'_>, b: Numbers<'_>, rows: Rows<'_>, len: usize) -> Option<Data> {
    let (most_a, most_b) = (a.most(rows), b.most(rows));
    let (scale, up_a, up_b, most) = match op {
        ArithOp::Add | ArithOp::Sub => {
            let scale = a.scale().max(b.scale());
            let (up_a, up_b) = (power(scale - a.scale())?, power(scale - b.scale())?);
            let most = most_a.checked_mul(up_a)?.checked_add(most_b.checked_mul(up_b)?)?;
            (scale, up_a, up_b, most.max(up_a).max(up_b))
        }
        ArithOp::Mul => (a.scale() + b.scale(), 1, 1, most_a.checked_mul(most_b)?.max(most_a).max(most_b)),
        ArithOp::Div => return None,
    };
    if scale > 38 || most >= WIDE_LIMIT.unsigned_abs() {
        return None;
    }
    if most < WORD_LIMIT {
        let (up_a, up_b) = (up_a as i64, up_b as i64);
        let data = match (a, b) {
            (Numbers::Fixed(a, _), Numbers::Fixed(b, _)) => {
                let (a, b) = (&a[..len], &b[..len]);
                words(op, rows, len, |row| a[row].wrapping_mul(up_a), |row| b[row].wrapping_mul(up_b))
            }
            (Numbers::Fixed(a, _), Numbers::One(b, _)) => {
                let (a, b) = (&a[..len], b as i64 * up_b);
                words(op, rows, len, |row| a[row].wrapping_mul(up_a), |_| b)
            }
            (Numbers::One(a, _), Numbers::Fixed(b, _)) => {
                let (a, b) = (a as i64 * up_a, &b[..len]);
                words(op, rows, len, |_| a, |row| b[row].wrapping_mul(up_b))
            }
            (a, b) => words(op, rows, len, |row| a.at(row) as i64 * up_a, |row| b.at(row) as i64 * up_b),
        };
        return Some(Data::Fixed(data, scale));
    }
    let (up_a, up_b) = (up_a as i128, up_b as i128);
    let wide = |row: usize| {
        let (a, b) = (a.at(row), b.at(row));
        match op {
            ArithOp::Add => a * up_a + b * up_b,
            ArithOp::Sub => a * up_a - b * up_b,
            _ => a * b,
        }
    };
    Some(Data::Wide(rows.map(len, wide), scale))
}

#[inline]
fn words(op: ArithOp, rows: Rows<'_>, len: usize, a: impl Fn(usize) -> i64, b: impl Fn(usize) -> i64) -> Vec<i64> {
    match op {
        ArithOp::Add => rows.map(len, |row| a(row).wrapping_add(b(row))),
        ArithOp::Sub => rows.map(len, |row| a(row).wrapping_sub(b(row))),
        _ => rows.map(len, |row| a(row).wrapping_mul(b(row))),
    }
}

/// Keeps the rows in which `a op b`; the caller has removed rows with NULL. False if the comparison is not possible
/// here.
pub fn compare_numbers(op: CmpOp, a: Numbers<'_>, b: Numbers<'_>, rows: Rows<'_>, out: &mut Vec<u32>) -> bool {
    let scale = a.scale().max(b.scale());
    let (Some(up_a), Some(up_b)) = (power(scale - a.scale()), power(scale - b.scale())) else { return false };
    match (a, b) {
        (Numbers::Fixed(a, _), Numbers::Fixed(b, _)) if up_a == 1 && up_b == 1 => {
            select_words(op, rows, out, |row| a[row], |row| b[row]);
            return true;
        }
        (Numbers::Fixed(a, _), Numbers::One(b, _)) if up_a == 1 => {
            if let Some(b) = i128::try_from(up_b).ok().and_then(|up| b.checked_mul(up))
                && let Ok(b) = i64::try_from(b)
            {
                select_words(op, rows, out, |row| a[row], |_| b);
                return true;
            }
        }
        (Numbers::One(..), Numbers::Fixed(..)) => return compare_numbers(op.swap(), b, a, rows, out),
        _ => {}
    }
    let product = |most: u128, up: u128| most.checked_mul(up).is_some_and(|n| n < i128::MAX as u128);
    if !product(a.most(rows), up_a) || !product(b.most(rows), up_b) {
        return false;
    }
    let (up_a, up_b) = (up_a as i128, up_b as i128);
    select_words(op, rows, out, |row| a.at(row) * up_a, |row| b.at(row) * up_b);
    true
}

/// Keeps the rows in which `a op b`.
#[inline]
pub fn select_words<T: Ord>(
    op: CmpOp,
    rows: Rows<'_>,
    out: &mut Vec<u32>,
    a: impl Fn(usize) -> T,
    b: impl Fn(usize) -> T,
) {
    match op {
        CmpOp::Eq => rows.select(out, |row| a(row) == b(row)),
        CmpOp::Ne => rows.select(out, |row| a(row) != b(row)),
        CmpOp::Lt => rows.select(out, |row| a(row) < b(row)),
        CmpOp::Le => rows.select(out, |row| a(row) <= b(row)),
        CmpOp::Gt => rows.select(out, |row| a(row) > b(row)),
        CmpOp::Ge => rows.select(out, |row| a(row) >= b(row)),
    }
}

/// Keeps the rows in which the order of two texts satisfies `op`.
#[inline]
pub fn select_ordered(op: CmpOp, rows: Rows<'_>, out: &mut Vec<u32>, order: impl Fn(usize) -> Ordering) {
    rows.select(out, |row| op.holds(order(row)));
}

/// A text that others are compared with; if `padded`, trailing blanks of either side are ignored.
pub struct SameText<'t> {
    text: &'t [u8],
    padded: bool,
    /// Its first bytes as a word, and a mask of the bytes in use.
    first: u64,
    mask: u64,
}

impl<'t> SameText<'t> {
    pub fn new(text: &'t [u8], padded: bool) -> SameText<'t> {
        let text = if padded { trim(text) } else { text };
        let n = text.len().min(8);
        let mut first = [0; 8];
        first[..n].copy_from_slice(&text[..n]);
        let mask = if n == 8 { u64::MAX } else { (1 << (8 * n)) - 1 };
        SameText { text, padded, first: u64::from_le_bytes(first), mask }
    }

    #[inline]
    pub fn holds(&self, span: Span, arena: &[u8]) -> bool {
        if let Some(word) = arena.get(span.at as usize..).and_then(|rest| rest.first_chunk())
            && u64::from_le_bytes(*word) & self.mask != self.first
        {
            // The mismatch may lie after the end of a shorter value, which is not equal either.
            return false;
        }
        let value = span.of(arena);
        match value.strip_prefix(self.text) {
            Some(rest) if self.padded => rest.iter().all(|c| *c == b' '),
            Some(rest) => rest.is_empty(),
            None => false,
        }
    }
}

/// A pattern of LIKE without `_` and without an escape character.
pub struct Pattern<'p> {
    start: &'p [u8],
    middle: Vec<memchr::memmem::Finder<'p>>,
    /// `None` when there is no `%`.
    end: Option<&'p [u8]>,
}

impl<'p> Pattern<'p> {
    pub fn new(pattern: &'p str) -> Option<Pattern<'p>> {
        if pattern.contains('_') {
            return None;
        }
        let mut parts = pattern.split('%').map(str::as_bytes);
        let start = parts.next()?;
        let mut middle: Vec<&[u8]> = parts.collect();
        let end = middle.pop();
        let middle = middle.into_iter().filter(|part| !part.is_empty()).map(memchr::memmem::Finder::new).collect();
        Some(Pattern { start, middle, end })
    }

    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        let Some(end) = self.end else { return text == self.start };
        let Some(mut rest) = text.strip_prefix(self.start) else { return false };
        for finder in &self.middle {
            match finder.find(rest) {
                Some(at) => rest = &rest[at + finder.needle().len()..],
                None => return false,
            }
        }
        rest.ends_with(end)
    }
}

/// SUBSTR of ASCII texts from character `start`, at least 1; `None` if a text has other characters. `count`: number of
/// characters, at least one.
pub fn substr(
    spans: &[Span],
    nulls: &Nulls,
    arena: &[u8],
    (start, count): (usize, Option<usize>),
    rows: Rows<'_>,
) -> Option<Column> {
    let mut out = vec![Span::default(); spans.len()];
    let (mut none, mut plain) = (nulls.clone(), true);
    rows.each(|row| {
        let span = spans[row];
        if nulls.is(row) {
            return;
        }
        plain &= span.of(arena).is_ascii();
        let skip = (start as u32 - 1).min(span.len);
        let len = (span.len - skip).min(count.map_or(u32::MAX, |n| n as u32));
        if len == 0 {
            none.set(row, spans.len());
        }
        out[row] = Span { at: span.at + skip, len };
    });
    plain.then_some(Column { data: Data::Text(out), nulls: none })
}

/// A column of numbers at one common scale.
pub fn unify(parts: &[(Rows<'_>, Numbers<'_>, &Nulls)], len: usize) -> Option<Column> {
    let scale = parts.iter().map(|(_, numbers, _)| numbers.scale()).max().unwrap_or(0);
    let mut wide = false;
    for (rows, numbers, _) in parts {
        let most = numbers.most(*rows).checked_mul(power(scale - numbers.scale())?)?;
        if most >= WIDE_LIMIT.unsigned_abs() {
            return None;
        }
        wide |= most >= WORD_LIMIT;
    }
    let mut nulls = Nulls::default();
    let mut all = vec![0i128; if wide { len } else { 0 }];
    let mut words = vec![0i64; if wide { 0 } else { len }];
    for (rows, numbers, none) in parts {
        let up = power(scale - numbers.scale())? as i128;
        rows.each(|row| {
            if none.is(row) {
                nulls.set(row, len);
            }
            let n = numbers.at(row) * up;
            match wide {
                true => all[row] = n,
                false => words[row] = n as i64,
            }
        });
    }
    let data = if wide { Data::Wide(all, scale) } else { Data::Fixed(words, scale) };
    Some(Column { data, nulls })
}

/// A column that is NULL in all rows.
pub fn all_null(len: usize) -> Column {
    Column::new(Data::Values(vec![Value::Null; len]))
}

/// The negated numbers.
pub fn negate(data: &Data) -> Option<Data> {
    Some(match data {
        // The least word cannot be negated.
        Data::Fixed(v, scale) if !v.contains(&i64::MIN) => Data::Fixed(v.iter().map(|n| -n).collect(), *scale),
        Data::Wide(v, scale) => Data::Wide(v.iter().map(|n| -n).collect(), *scale),
        _ => return None,
    })
}

/// A field of dates as whole numbers.
pub fn date_field(words: &[u64], field: &str) -> Option<Data> {
    let of: fn(&u64) -> i64 = match field {
        "YEAR" => |word| {
            let [century, year, ..] = word.to_be_bytes();
            (i64::from(century) - 100) * 100 + i64::from(year) - 100
        },
        "MONTH" => |word| word.to_be_bytes()[2].into(),
        "DAY" => |word| word.to_be_bytes()[3].into(),
        _ => return None,
    };
    Some(Data::Fixed(words.iter().map(of).collect(), 0))
}

/// The value of a whole number of few digits.
pub fn small(v: &Value) -> Option<i64> {
    let Value::Number(n) = v else { return None };
    n.as_i64().filter(|n| n.unsigned_abs() < POWERS[9] as u64)
}

/// The number of rows as a NUMBER.
pub fn count(n: u64) -> Value {
    Value::Number(Number::from_u64(n))
}
