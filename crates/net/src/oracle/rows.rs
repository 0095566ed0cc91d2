//! The bind values of many executions, as the bytes of one message.
//!
//! The values are skipped once to find the end of the message (invariant 4), and decoded row by row when the statement
//! is executed.

use super::field::Reader;
use super::value::{self, BindRules, Shape};
use crate::local::WireResult;
use types::Value;

/// Rows of bind values that are complete but not decoded.
#[derive(Clone, Debug, Default)]
pub struct BindRows {
    message: Vec<u8>,
    at: usize,
    binds: Vec<Shape>,
    order: Vec<usize>,
    left: usize,
}

impl BindRows {
    /// The `rows` rows from byte `at` of a message, which [`value::skip_rows`] has skipped.
    pub fn new(message: Vec<u8>, at: usize, binds: &[Shape], rules: &BindRules, rows: usize) -> BindRows {
        BindRows { message, at, binds: binds.to_vec(), order: rules.order(binds), left: rows }
    }

    /// `rows` executions without binds.
    pub fn empty(rows: usize) -> BindRows {
        BindRows { left: rows, ..BindRows::default() }
    }

    /// The number of remaining rows.
    pub fn len(&self) -> usize {
        self.left
    }

    /// Whether no rows remain.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// The values of the next row in the order of the binds, in the buffers of `row`; values that are not sent are
    /// NULL. False at the end.
    ///
    /// # Errors
    /// [`WireError`](crate::local::WireError) for bytes that are invalid for their type; no row follows then.
    pub fn next_row(&mut self, row: &mut Vec<Value>) -> WireResult<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        let left = std::mem::take(&mut self.left);
        row.resize(self.binds.len(), Value::Null);
        if !self.order.is_empty() {
            let mut r = Reader::new(self.message.get(self.at..).unwrap_or_default());
            value::begin_row(&mut r)?;
            for &at in &self.order {
                value::read_into(&mut r, &self.binds[at], &mut row[at])?;
            }
            self.at += r.position();
        }
        self.left = left - 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::WireError;
    use crate::oracle::field::Writer;
    use types::{DataType, Number};

    fn shapes() -> Vec<Shape> {
        [DataType::NUMBER, DataType::TEXT, DataType::Date].iter().map(|t| value::of_type(t).unwrap().bound()).collect()
    }

    fn message(rows: &[Vec<Value>]) -> Vec<u8> {
        let mut out = vec![1, 2, 3];
        let mut w = Writer::new(&mut out);
        rows.iter().for_each(|row| value::write_row(&mut w, &shapes(), &BindRules::default(), row).unwrap());
        out
    }

    #[test]
    fn rows_come_back_one_by_one() {
        let row = |n: i64, text: &str| vec![Value::Number(Number::from_i64(n)), Value::text(text), Value::Null];
        let rows: Vec<_> = (0..5).map(|n| row(n, &"x".repeat([0, 1, 300, 3, 70_000][n as usize]))).collect();
        let bytes = message(&rows);
        let mut r = Reader::new(&bytes[3..]);
        value::skip_rows(&mut r, &shapes(), &BindRules::default(), 5).unwrap();
        r.finish().unwrap();
        let mut all = BindRows::new(bytes.clone(), 3, &shapes(), &BindRules::default(), 5);
        let mut got = Vec::new();
        for want in &rows {
            assert!(all.next_row(&mut got).unwrap());
            assert_eq!(&got, want);
        }
        assert!(!all.next_row(&mut got).unwrap() && all.is_empty());
        for cut in (3..bytes.len()).step_by(97) {
            let mut r = Reader::new(&bytes[3..cut]);
            assert_eq!(value::skip_rows(&mut r, &shapes(), &BindRules::default(), 5), Err(WireError::Truncated));
        }
    }

    #[test]
    fn an_invalid_value_ends_the_rows() {
        let good = vec![Value::Number(Number::from_i64(7)), Value::text("abc"), Value::Null];
        let mut bytes = message(&[good.clone(), good.clone(), good]);
        let bad = bytes.len() - 4;
        bytes[bad] = 0xff;
        value::skip_rows(&mut Reader::new(&bytes[3..]), &shapes(), &BindRules::default(), 3).unwrap();
        let mut all = BindRows::new(bytes, 3, &shapes(), &BindRules::default(), 3);
        let mut got = Vec::new();
        assert!(all.next_row(&mut got).unwrap() && all.next_row(&mut got).unwrap());
        assert!(all.next_row(&mut got).is_err());
        assert!(!all.next_row(&mut got).unwrap());
    }
}
