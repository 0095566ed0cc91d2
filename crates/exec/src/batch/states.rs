//! The states of aggregates over batches: an array with an entry for each group.

use super::column::{Column, Data, Nulls, number_of, unexplained};
use super::eval::Expression;
use super::kernels::{self, Numbers, Rows};
use super::keys::KeyTable;
use super::node::Batch;
use crate::aggregate::{Acc, AggCode};
use crate::builder::Builder;
use crate::ctx::ExecCtx;
use plan::{Agg, AggKind, Reg};
use std::cmp::Ordering;
use types::{Number, Ora, Result, Value};

/// The action of an aggregate on a row.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// COUNT(*)
    Rows,
    Count,
    Sum,
    /// The comparison result by which another value replaces the best one.
    Extreme(Ordering),
    /// COUNT(DISTINCT)
    Distinct,
    /// Evaluated row by row into an accumulator.
    Row,
}

pub struct Function {
    pub code: AggCode,
    pub kind: Kind,
    pub arg: Option<Expression>,
    /// The function whose state it shares, possibly its own.
    pub state: usize,
}

/// The state of an aggregate: an entry for each group.
pub enum State {
    Counts(Vec<u64>),
    /// Sums at a scale, the numbers of values, and an upper bound of the magnitude of the greatest sum.
    Sums {
        sums: Vec<i64>,
        counts: Vec<u64>,
        scale: u8,
        bound: u128,
    },
    WideSums {
        sums: Vec<i128>,
        counts: Vec<u64>,
        scale: u8,
        bound: u128,
    },
    /// The best words so far, and the type of the column they come from.
    Words {
        best: Vec<i64>,
        seen: Vec<bool>,
        of: Words,
    },
    Distinct {
        values: Box<KeyTable>,
        counts: Vec<u64>,
    },
    Accs(Vec<Acc>),
}

#[derive(Clone, Copy, PartialEq)]
pub enum Words {
    Unknown,
    Number(u8),
    Date,
}

/// The aggregates over rows of those registers; `None` if one must be evaluated in its place.
pub fn functions(aggs: &[Agg], regs: &[Reg], b: &mut Builder<'_>) -> Option<Vec<Function>> {
    let mut all: Vec<Function> = Vec::with_capacity(aggs.len());
    for (n, agg) in aggs.iter().enumerate() {
        let code = AggCode::build(agg, b);
        let simple = agg.keep_last.is_none() && agg.order.is_empty() && agg.args.len() <= 1;
        let kind = match (agg.kind, agg.distinct) {
            _ if !simple => Kind::Row,
            (AggKind::CountStar, false) if agg.args.is_empty() => Kind::Rows,
            (AggKind::Count, false) => Kind::Count,
            (AggKind::Sum | AggKind::Avg, false) => Kind::Sum,
            (AggKind::Min, false) => Kind::Extreme(Ordering::Less),
            (AggKind::Max, false) => Kind::Extreme(Ordering::Greater),
            (AggKind::Count, true) => Kind::Distinct,
            _ => Kind::Row,
        };
        let mut arg = None;
        if kind == Kind::Row {
            // The orders are evaluated from registers, but must not need evaluation in their place either.
            let orders = code.order.codes();
            if code.args.iter().chain(orders).any(|code| super::reads::of_code(code).is_none()) {
                return None;
            }
        } else if let Some(code) = code.args.first() {
            arg = Some(Expression::new(code.clone(), regs)?);
        }
        // SUM and AVG of one column share a state.
        let slot = arg.as_ref().and_then(Expression::slot);
        let same = |f: &Function| f.kind == kind && slot.is_some() && f.arg.as_ref().and_then(Expression::slot) == slot;
        let state = match kind {
            Kind::Row | Kind::Distinct => n,
            Kind::Rows => all.iter().position(|f| f.kind == kind).unwrap_or(n),
            _ => all.iter().position(same).unwrap_or(n),
        };
        all.push(Function { code, kind, arg, state });
    }
    Some(all)
}

impl Function {
    /// An empty accumulator. SUM and AVG of one column share one.
    pub fn accumulator(&self) -> Acc {
        if self.kind == Kind::Sum { Acc::average() } else { self.code.start() }
    }
}

impl State {
    pub fn start(f: &Function) -> State {
        match f.kind {
            Kind::Rows | Kind::Count => State::Counts(Vec::new()),
            Kind::Sum => State::Sums { sums: Vec::new(), counts: Vec::new(), scale: 0, bound: 0 },
            Kind::Extreme(_) => State::Words { best: Vec::new(), seen: Vec::new(), of: Words::Unknown },
            Kind::Distinct => State::Distinct { values: Box::new(KeyTable::new(2)), counts: Vec::new() },
            Kind::Row => State::Accs(Vec::new()),
        }
    }

    pub fn grow(&mut self, groups: usize, f: &Function) {
        match self {
            State::Counts(counts) | State::Distinct { counts, .. } => counts.resize(groups, 0),
            State::Sums { sums, counts, .. } => {
                sums.resize(groups, 0);
                counts.resize(groups, 0);
            }
            State::WideSums { sums, counts, .. } => {
                sums.resize(groups, 0);
                counts.resize(groups, 0);
            }
            State::Words { best, seen, .. } => {
                best.resize(groups, 0);
                seen.resize(groups, false);
            }
            State::Accs(accs) => accs.resize_with(groups, || f.accumulator()),
        }
    }

    pub fn count(&mut self, group_of: &[u32], rows: Rows<'_>, nulls: &Nulls) {
        let State::Counts(counts) = self else { return };
        match (nulls.any(), &mut counts[..]) {
            (false, [count]) => *count += rows.count() as u64,
            (false, counts) => rows.each(|row| counts[group_of[row] as usize] += 1),
            (true, counts) => rows.each(|row| counts[group_of[row] as usize] += u64::from(!nulls.is(row))),
        }
    }

    /// Adds the values of rows to their groups.
    #[expect(clippy::too_many_arguments, reason = "the parts of a grouping and what every evaluation gets")]
    pub fn take(
        &mut self,
        f: &Function,
        column: &Column,
        group_of: &[u32],
        rows: Rows<'_>,
        batch: &Batch,
        scalar: bool,
        cx: &mut ExecCtx<'_>,
    ) -> Result<()> {
        match f.kind {
            Kind::Rows | Kind::Count => {
                if let Data::Values(values) = &column.data {
                    let mut nulls = Nulls::default();
                    for (row, _) in values.iter().enumerate().filter(|(_, v)| v.is_null()) {
                        nulls.set(row, values.len());
                    }
                    self.count(group_of, rows, &nulls);
                } else {
                    self.count(group_of, rows, &column.nulls);
                }
                return Ok(());
            }
            Kind::Sum => {
                if self.sum(column, group_of, rows, scalar) {
                    return Ok(());
                }
            }
            Kind::Extreme(better) => {
                if self.improve(column, better, group_of, rows) {
                    return Ok(());
                }
            }
            Kind::Distinct => return self.take_distinct(column, group_of, rows, batch),
            Kind::Row => {}
        }
        self.settle(f)?;
        let State::Accs(accs) = self else { return Err(unexplained()) };
        let (mut value, mut done) = (Value::Null, Ok(()));
        rows.each(|row| {
            if done.is_ok() && !column.is_null(row) {
                done = column
                    .put(row, &batch.arena, &mut value)
                    .and_then(|()| accs[group_of[row] as usize].take(&value, cx));
            }
        });
        done
    }

    /// Adds numbers. False if that might not be exact; nothing was added then.
    pub fn sum(&mut self, column: &Column, group_of: &[u32], rows: Rows<'_>, scalar: bool) -> bool {
        if matches!(&column.data, Data::Values(v) if v.iter().all(Value::is_null)) {
            return true;
        }
        let Some(numbers) = Numbers::of_column(column) else { return false };
        if let State::Sums { sums, counts, scale, bound } = self {
            if let Numbers::Fixed(values, own) = numbers {
                let fresh = *bound == 0;
                if fresh {
                    *scale = own;
                }
                let most = numbers.most(rows).checked_mul(rows.count() as u128);
                if own == *scale
                    && let Some(most) = most.and_then(|most| bound.checked_add(most.max(1)))
                    && most < 1 << 63
                {
                    *bound = most;
                    add_words(values, &column.nulls, group_of, rows, sums, counts, scalar);
                    return true;
                }
            }
            *self = State::WideSums {
                sums: sums.iter().map(|n| i128::from(*n)).collect(),
                counts: std::mem::take(counts),
                scale: *scale,
                bound: *bound,
            };
        }
        let State::WideSums { sums, counts, scale, bound } = self else { return false };
        let own = numbers.scale();
        let power = |by: u8| 10u128.checked_pow(by.into());
        let common = own.max(*scale);
        let (Some(up_sum), Some(up)) = (power(common - *scale), power(common - own)) else { return false };
        let most = numbers.most(rows).checked_mul(up).and_then(|n| n.checked_mul(rows.count() as u128));
        let all = bound.checked_mul(up_sum).and_then(|n| n.checked_add(most?));
        let Some(all) = all.filter(|n| *n < super::column::WIDE_LIMIT.unsigned_abs()) else { return false };
        *bound = all.max(1);
        if up_sum > 1 {
            sums.iter_mut().for_each(|n| *n *= up_sum as i128);
            *scale = common;
        }
        rows.each(|row| {
            if !column.nulls.is(row) {
                let group = group_of[row] as usize;
                sums[group] += numbers.at(row) * up as i128;
                counts[group] += 1;
            }
        });
        true
    }

    /// Keeps the better of numbers or dates. False for other types, and for numbers of another scale.
    pub fn improve(&mut self, column: &Column, better: Ordering, group_of: &[u32], rows: Rows<'_>) -> bool {
        let State::Words { best, seen, of } = self else { return false };
        let own = match &column.data {
            Data::Fixed(_, scale) => Words::Number(*scale),
            Data::Date(_) => Words::Date,
            Data::Values(v) if v.iter().all(Value::is_null) => return true,
            _ => return false,
        };
        if *of == Words::Unknown {
            *of = own;
        }
        if *of != own {
            return false;
        }
        let mut take = |row: usize, word: i64| {
            if !column.nulls.is(row) {
                let group = group_of[row] as usize;
                if !seen[group] || word.cmp(&best[group]) == better {
                    (seen[group], best[group]) = (true, word);
                }
            }
        };
        match &column.data {
            Data::Fixed(words, _) => rows.each(|row| take(row, words[row])),
            // The last byte is zero, so shifting the word right by one bit loses nothing and clears the sign bit.
            Data::Date(words) => rows.each(|row| take(row, (words[row] >> 1) as i64)),
            _ => {}
        }
        true
    }

    pub fn take_distinct(&mut self, column: &Column, group_of: &[u32], rows: Rows<'_>, batch: &Batch) -> Result<()> {
        let State::Distinct { values, counts } = self else { return Err(unexplained()) };
        let groups = Column::new(Data::Fixed(group_of.iter().map(|n| i64::from(*n)).collect(), 0));
        values.load(&[&groups, column], batch.len, &batch.arena)?;
        rows.each(|row| {
            if !column.is_null(row)
                && let Err(place) = values.find(row)
            {
                values.add(row, place);
                counts[group_of[row] as usize] += 1;
            }
        });
        Ok(())
    }

    /// Converts the sums to accumulators.
    pub fn settle(&mut self, f: &Function) -> Result<()> {
        let start = |number: Option<Number>, count: u64| {
            let mut acc = f.accumulator();
            if let Some(number) = number {
                acc.preset(Value::Number(number), count);
            }
            acc
        };
        let accs = match self {
            State::Sums { sums, counts, scale, .. } => {
                let sums = sums.iter().zip(&*counts);
                sums.map(|(n, c)| start((*c > 0).then(|| number_of((*n).into(), *scale)), *c)).collect()
            }
            State::WideSums { sums, counts, scale, .. } => {
                sums.iter().zip(&*counts).map(|(n, c)| start((*c > 0).then(|| number_of(*n, *scale)), *c)).collect()
            }
            State::Words { best, seen, of } => {
                let mut accs = Vec::with_capacity(best.len());
                for (word, seen) in best.iter().zip(&*seen) {
                    let mut acc = f.accumulator();
                    if *seen {
                        acc.preset(value_of(*word, *of)?, 1);
                    }
                    accs.push(acc);
                }
                accs
            }
            _ => return Ok(()),
        };
        *self = State::Accs(accs);
        Ok(())
    }

    /// The values of the aggregate `f` for these groups.
    pub fn finish(
        &mut self,
        f: &Function,
        groups: &[u32],
        arena: &mut Vec<u8>,
        cx: &mut ExecCtx<'_>,
    ) -> Result<Column> {
        let average = f.code.kind == AggKind::Avg;
        let mut nulls = Nulls::default();
        Ok(match self {
            State::Counts(counts) | State::Distinct { counts, .. } => {
                Column::new(Data::Fixed(groups.iter().map(|n| counts[*n as usize] as i64).collect(), 0))
            }
            State::Sums { sums, counts, scale, .. } if !average => {
                for (row, _) in groups.iter().enumerate().filter(|(_, n)| counts[**n as usize] == 0) {
                    nulls.set(row, groups.len());
                }
                let data = Data::Fixed(groups.iter().map(|n| sums[*n as usize]).collect(), *scale);
                Column { data, nulls }
            }
            State::Words { best, seen, of: Words::Number(scale) } => {
                for (row, _) in groups.iter().enumerate().filter(|(_, n)| !seen[**n as usize]) {
                    nulls.set(row, groups.len());
                }
                let data = Data::Fixed(groups.iter().map(|n| best[*n as usize]).collect(), *scale);
                Column { data, nulls }
            }
            state => {
                let mut values = Vec::with_capacity(groups.len());
                for &n in groups {
                    values.push(state.value(f, n as usize, cx)?);
                }
                Column::of_values(values, arena)
            }
        })
    }

    /// The value of the aggregate for one group.
    pub fn value(&mut self, f: &Function, n: usize, cx: &mut ExecCtx<'_>) -> Result<Value> {
        let of_sum = |sum: Number, count: u64| match (count, f.code.kind) {
            (0, _) => Ok(Value::Null),
            (count, AggKind::Avg) => sum.div(&Number::from_u64(count)).map(Value::Number),
            _ => Ok(Value::Number(sum)),
        };
        match self {
            State::Counts(counts) | State::Distinct { counts, .. } => Ok(kernels::count(counts[n])),
            State::Sums { sums, counts, scale, .. } => of_sum(number_of(sums[n].into(), *scale), counts[n]),
            State::WideSums { sums, counts, scale, .. } => of_sum(number_of(sums[n], *scale), counts[n]),
            State::Words { best, seen, of } => {
                if seen[n] {
                    value_of(best[n], *of)
                } else {
                    Ok(Value::Null)
                }
            }
            State::Accs(accs) => accs[n].finish(&f.code, cx),
        }
    }
}

fn value_of(word: i64, of: Words) -> Result<Value> {
    match of {
        Words::Number(scale) => Ok(Value::Number(number_of(word.into(), scale))),
        Words::Date => super::column::date_of((word as u64) << 1).map(Value::Date),
        Words::Unknown => Err(Ora::internal("MIN or MAX without a value")),
    }
}

/// Adds words to the sums of their groups.
fn add_words(
    values: &[i64],
    nulls: &Nulls,
    group_of: &[u32],
    rows: Rows<'_>,
    sums: &mut [i64],
    counts: &mut [u64],
    scalar: bool,
) {
    match (nulls.any(), scalar, rows) {
        (false, true, Rows::All(len)) => {
            sums[0] += values[..len].iter().sum::<i64>();
            counts[0] += len as u64;
        }
        (false, ..) => rows.each(|row| {
            let group = group_of[row] as usize;
            sums[group] += values[row];
            counts[group] += 1;
        }),
        (true, ..) => rows.each(|row| {
            if !nulls.is(row) {
                let group = group_of[row] as usize;
                sums[group] += values[row];
                counts[group] += 1;
            }
        }),
    }
}
