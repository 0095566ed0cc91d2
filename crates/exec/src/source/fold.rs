//! Aggregates over a whole scan, computed from the bytes of the rows.
//!
//! `select sum(a), count(*) from t where b < 5` does not need the values of a row in registers, an expression tree, or
//! a check of types for each row. Stored values order as their bytes do, so a comparison with a constant compares
//! bytes; whole numbers are added as words. Anything else uses registers: [`Fold::build`] and [`Fold::start`] decide
//! that, and an aggregate that meets a number with a fraction continues number by number in its accumulator (E15).

use super::scan::Scan;
use crate::aggregate::{Acc, AggCode};
use crate::code::{Code, Cond};
use crate::ctx::ExecCtx;
use crate::machine::Machine;
use plan::{AggKind, CmpOp, Compare, Reg};
use std::cmp::Ordering;
use types::row::RowReader;
use types::{DataType, Number, Ora, Result, Value, codec};

/// Most columns of a row that are examined.
const COLUMNS_MAX: usize = 8;

/// `column op bound`; the bound is the same for all rows.
struct Test {
    /// Position among the wanted columns.
    column: usize,
    op: CmpOp,
    bound: Reg,
    /// The bound in stored form, and its first bytes as a word.
    stored: Vec<u8>,
    word: u64,
}

/// The step of an aggregate for each row that passed the filters.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// COUNT(*)
    Rows,
    /// COUNT of a column.
    Values(usize),
    /// SUM and AVG of a column.
    Sum(usize),
    /// MIN and MAX of a column: the comparison result by which another value replaces the best one.
    Extreme(usize, Ordering),
}

/// The state of an aggregate.
#[derive(Default)]
struct Running {
    sum: i64,
    values: u64,
    /// Whether values are added one by one, because one had a fraction or the sum overflowed.
    singly: bool,
    best: Option<Vec<u8>>,
}

/// A scan and the aggregates over it.
pub struct Fold {
    /// Positions in the row and types of the wanted columns, ascending.
    columns: Vec<(u16, DataType)>,
    tests: Vec<Test>,
    parts: Vec<Part>,
    running: Vec<Running>,
    value: Value,
}

impl Fold {
    /// The aggregates over the scan; `None` if they need values in registers. With `counts`, an additional accumulator
    /// counts the rows for [`Fold::rows`].
    pub fn build(scan: &Scan, aggs: &[AggCode], counts: bool) -> Option<Fold> {
        if !scan.gives_bytes() {
            return None;
        }
        let mut fold =
            Fold { columns: Vec::new(), tests: Vec::new(), parts: Vec::new(), running: Vec::new(), value: Value::Null };
        // The columns are collected first, so that their positions in the list are final.
        let regs = scan.filter().iter().map(|cond| columns_of(cond, scan)).collect::<Option<Vec<_>>>()?;
        let args = aggs.iter().map(|agg| argument_of(agg, scan)).collect::<Option<Vec<_>>>()?;
        let wanted = regs.iter().map(|(column, ..)| *column).chain(args.iter().flatten().copied());
        fold.columns.extend(wanted);
        fold.columns.sort_by_key(|(column, _)| *column);
        fold.columns.dedup_by_key(|(column, _)| *column);
        if fold.columns.len() > COLUMNS_MAX {
            return None;
        }
        let place = |(column, _): &(u16, DataType)| fold.columns.iter().position(|(c, _)| c == column);
        let tests = regs.iter().map(|(column, op, bound)| {
            Some(Test { column: place(column)?, op: *op, bound: *bound, stored: Vec::new(), word: 0 })
        });
        let tests = tests.collect::<Option<Vec<_>>>()?;
        let parts = aggs.iter().zip(&args).map(|(agg, column)| {
            let column = column.as_ref().map(place);
            Some(match (agg.kind, column) {
                (AggKind::CountStar, None) => Part::Rows,
                (AggKind::Count, Some(at)) => Part::Values(at?),
                (AggKind::Sum | AggKind::Avg, Some(at)) => Part::Sum(at?),
                (AggKind::Min, Some(at)) => Part::Extreme(at?, Ordering::Less),
                (AggKind::Max, Some(at)) => Part::Extreme(at?, Ordering::Greater),
                _ => return None,
            })
        });
        fold.parts = parts.collect::<Option<Vec<_>>>()?;
        fold.parts.extend(counts.then_some(Part::Rows));
        fold.tests = tests;
        Some(fold)
    }

    /// Begins an execution. `None` if a bound does not have the type of its column, otherwise whether any row can pass.
    fn start(&mut self, m: &Machine) -> Option<bool> {
        self.running.clear();
        self.running.resize_with(self.parts.len(), Running::default);
        let mut any = true;
        for test in &mut self.tests {
            let bound = m.value(test.bound);
            test.stored.clear();
            match (bound, &self.columns[test.column].1) {
                (Value::Null, _) => any = false,
                (Value::Number(_), ty) if is_number(ty) => {}
                (Value::Date(_), DataType::Date) => {}
                (Value::Text(_), DataType::Varchar2 { .. } | DataType::Nvarchar2 { .. }) => {}
                _ => return None,
            }
            codec::encode(bound, &mut test.stored);
            test.word = word(&test.stored);
        }
        Some(any)
    }

    /// Rows added in the last run, if they are counted.
    pub fn rows(&self) -> u64 {
        self.running.last().map_or(0, |running| running.values)
    }

    /// Adds all rows of the opened scan to the accumulators. False if the aggregates need registers; nothing was done
    /// then.
    pub fn run(
        &mut self,
        scan: &mut Scan,
        aggs: &[AggCode],
        accs: &mut [Acc],
        m: &mut Machine,
        cx: &mut ExecCtx<'_>,
    ) -> Result<bool> {
        let Some(any) = self.start(m) else { return Ok(false) };
        if any {
            scan.each_row(m, cx, &mut |row, cx| self.take(row, accs, cx))?;
        }
        for ((part, running), (agg, acc)) in self.parts.iter().zip(&mut self.running).zip(aggs.iter().zip(accs)) {
            running.settle(acc)?;
            if let (Part::Extreme(at, _), Some(best)) = (part, running.best.take()) {
                codec::decode_into(&best, &self.columns[*at].1, &mut self.value)?;
                acc.take(&self.value, cx)?;
            }
            debug_assert!(!agg.distinct, "checked when it was built");
        }
        Ok(true)
    }

    /// Adds a row if it passes.
    #[inline]
    fn take(&mut self, row: &[u8], accs: &mut [Acc], cx: &ExecCtx<'_>) -> Result<()> {
        let mut seen: [Option<&[u8]>; COLUMNS_MAX] = [None; COLUMNS_MAX];
        let mut reader = RowReader::new(row).ok_or_else(damaged)?;
        let mut at = 0;
        for (place, (column, _)) in seen.iter_mut().zip(&self.columns) {
            while at < *column {
                reader.next_column().ok_or_else(damaged)?;
                at += 1;
            }
            *place = reader.next_column().ok_or_else(damaged)?.bytes();
            at += 1;
        }
        for test in &self.tests {
            // A comparison with NULL is not true.
            match seen[test.column] {
                Some(stored) if test.op.holds(test.order(stored)) => {}
                _ => return Ok(()),
            }
        }
        for ((part, running), acc) in self.parts.iter().zip(&mut self.running).zip(accs) {
            let (Part::Values(at) | Part::Sum(at) | Part::Extreme(at, _)) = part else {
                running.values += 1;
                continue;
            };
            let Some(stored) = seen[*at] else { continue };
            match part {
                Part::Extreme(_, better) => running.improve(stored, *better),
                Part::Sum(_) => running.add(stored, &self.columns[*at].1, &mut self.value, acc, cx)?,
                _ => running.values += 1,
            }
        }
        Ok(())
    }
}

impl Test {
    /// How a stored value compares with the bound.
    #[inline]
    fn order(&self, stored: &[u8]) -> Ordering {
        if stored.len() > 8 || self.stored.len() > 8 {
            return stored.cmp(&self.stored);
        }
        word(stored).cmp(&self.word).then(stored.len().cmp(&self.stored.len()))
    }
}

/// The first eight bytes as a big-endian word, padded with zeros.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    if let Some(eight) = bytes.first_chunk() {
        return u64::from_be_bytes(*eight);
    }
    // Two overlapping reads; the common bytes agree.
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << (64 - 8 * n);
    }
    bytes.iter().enumerate().fold(0, |word, (i, byte)| word | u64::from(*byte) << (56 - 8 * i))
}

impl Running {
    #[inline]
    fn add(&mut self, stored: &[u8], ty: &DataType, value: &mut Value, acc: &mut Acc, cx: &ExecCtx<'_>) -> Result<()> {
        if !self.singly
            && let Some(n) = Number::decode_small(stored)
            && let Some(sum) = self.sum.checked_add(n)
        {
            (self.sum, self.values) = (sum, self.values + 1);
            return Ok(());
        }
        self.settle(acc)?;
        self.singly = true;
        codec::decode_into(stored, ty, value)?;
        acc.take(value, cx)
    }

    /// Adds the state to the accumulator.
    fn settle(&mut self, acc: &mut Acc) -> Result<()> {
        if self.values > 0 {
            acc.take_sum(self.sum, self.values)?;
            (self.sum, self.values) = (0, 0);
        }
        Ok(())
    }

    #[inline]
    fn improve(&mut self, stored: &[u8], better: Ordering) {
        match &mut self.best {
            Some(best) if stored.cmp(best.as_slice()) != better => {}
            Some(best) => {
                best.clear();
                best.extend_from_slice(stored);
            }
            None => self.best = Some(stored.to_vec()),
        }
    }
}

fn is_number(ty: &DataType) -> bool {
    matches!(ty, DataType::Number { .. } | DataType::Float { .. } | DataType::PlsInteger)
}

/// The column and the bound of a comparison whose other side does not depend on the scan.
fn columns_of(cond: &Cond, scan: &Scan) -> Option<((u16, DataType), CmpOp, Reg)> {
    let Cond::Cmp(op, how, Code::Reg(a), Code::Reg(b)) = cond else { return None };
    let (column, op, bound) = match (scan.column_of(*a), scan.column_of(*b)) {
        (Some(column), None) if !scan.makes(*b) => (column, *op, *b),
        (None, Some(column)) if !scan.makes(*a) => (column, turned(*op), *a),
        _ => return None,
    };
    let text = matches!(column.1, DataType::Varchar2 { .. } | DataType::Nvarchar2 { .. });
    let fits = is_number(&column.1) || column.1 == DataType::Date || text && *how != Compare::Padded;
    fits.then_some((column, op, bound))
}

/// The operator for swapped operands.
fn turned(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        same => same,
    }
}

/// The column that an aggregate reads, if any. The outer `None`: the aggregate needs registers.
fn argument_of(agg: &AggCode, scan: &Scan) -> Option<Option<(u16, DataType)>> {
    if agg.distinct || agg.keep_last.is_some() || agg.args.len() > 1 {
        return None;
    }
    match (agg.args.first(), agg.kind) {
        (None, AggKind::CountStar) => Some(None),
        (Some(Code::Reg(r)), AggKind::Count) => scan.column_of(*r).map(Some),
        (Some(Code::Reg(r)), AggKind::Sum | AggKind::Avg) => {
            scan.column_of(*r).filter(|(_, ty)| is_number(ty)).map(Some)
        }
        (Some(Code::Reg(r)), AggKind::Min | AggKind::Max) => {
            scan.column_of(*r).filter(|(_, ty)| is_number(ty) || *ty == DataType::Date).map(Some)
        }
        _ => None,
    }
}

fn damaged() -> Ora {
    Ora::internal("row bytes are damaged")
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Random;

    #[test]
    fn words_and_lengths_order_as_the_bytes_do() {
        let mut all: Vec<Vec<u8>> = vec![Vec::new()];
        let mut random = Random::new(88);
        for n in 0..2000usize {
            all.push((0..n % 11).map(|_| random.of(&[0, 1, 2, 255])).collect());
        }
        for pair in all.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let test = Test { column: 0, op: CmpOp::Lt, bound: 0, stored: b.clone(), word: word(b) };
            assert_eq!(test.order(a), a.cmp(b), "{a:?} {b:?}");
            assert_eq!(test.order(b), Ordering::Equal);
        }
    }
}
