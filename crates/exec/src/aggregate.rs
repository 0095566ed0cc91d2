//! Aggregate functions: one accumulator a group and function.

use crate::code::{Builder, Code};
use crate::ctx::ExecCtx;
use crate::hash::{KeySet, push_part};
use crate::machine::Machine;
use crate::source::sort::Keys;
use plan::{Agg, AggKind, Reg};
use std::cmp::Ordering;
use types::sorting::sort_checked;
use types::{Date, Number, Ora, Result, Value};

/// An aggregate as the executor runs it.
pub struct AggCode {
    pub kind: AggKind,
    pub distinct: bool,
    pub args: Vec<Code>,
    pub order: Keys,
    pub keep_last: Option<bool>,
    pub keys: Vec<usize>,
    pub out: Reg,
    pub ignore_nulls: bool,
    /// NTH_VALUE counts from the end of the frame.
    pub from_last: bool,
}

impl AggCode {
    pub fn build(a: &Agg, b: &mut Builder<'_>) -> AggCode {
        AggCode {
            kind: a.kind,
            distinct: a.distinct,
            args: b.codes(&a.args),
            order: Keys::build(&a.order, b),
            keep_last: a.keep_last,
            keys: a.keys.clone(),
            out: a.out,
            ignore_nulls: a.ignore_nulls,
            from_last: a.from_last,
        }
    }

    /// An accumulator that has seen nothing.
    pub fn start(&self) -> Acc {
        use AggKind::*;
        let core = match self.kind {
            CountStar | Count => Core::Count(0),
            Sum => Core::Sum(None),
            Avg => Core::Avg(None, 0),
            Min => Core::Extreme(Value::Null, Ordering::Less),
            Max => Core::Extreme(Value::Null, Ordering::Greater),
            StddevSamp | Stddev | StddevPop | VarSamp | Variance | VarPop => {
                Core::Spread { n: 0, sum: Number::default(), squares: Number::default() }
            }
            Median => Core::Values(Vec::new()),
            Listagg => Core::List { items: Vec::new(), separator: None, bytes: 0 },
            _ => Core::Nothing,
        };
        Acc { core, seen: self.distinct.then(KeySet::default), best: None }
    }

    /// COUNT(*): what is in the rows does not matter.
    pub fn only_counts(&self) -> bool {
        self.kind == AggKind::CountStar && self.keep_last.is_none() && self.args.is_empty()
    }

    /// Takes the current row in.
    pub fn add(&self, acc: &mut Acc, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(last) = self.keep_last
            && !self.keeps(acc, last, m, cx)?
        {
            return Ok(());
        }
        let Some(arg) = self.args.first() else {
            if let Core::Count(n) = &mut acc.core {
                *n += 1;
            }
            return Ok(());
        };
        let r = arg.eval(m, cx)?;
        if m.value(r).is_null() {
            return Ok(());
        }
        if let Some(seen) = &mut acc.seen {
            let mut key = Vec::new();
            push_part(m.value(r), &mut key);
            if !seen.insert(key) {
                return Ok(());
            }
        }
        if let Core::List { items, separator, bytes } = &mut acc.core {
            let text = m.value(r).clone();
            let mut key = Vec::new();
            self.order.encode(m, cx, &mut key)?;
            if separator.is_none() {
                let mut s = String::new();
                if let Some(code) = self.args.get(1) {
                    let r = code.eval(m, cx)?;
                    m.value(r).write_text(&cx.session.nls, &mut s)?;
                }
                *separator = Some(s);
            }
            // The list is as long as its items, whatever their order: one that is too long ends the statement here.
            *bytes += separator.as_ref().filter(|_| !items.is_empty()).map_or(0, String::len);
            *bytes += text.to_text(&cx.session.nls)?.map_or(0, |text| text.len());
            if *bytes > functions::SQL_TEXT_MAX {
                return Err(Ora::new(1489));
            }
            items.push((key, text));
            return Ok(());
        }
        acc.core.take(m.value(r), cx)
    }

    /// KEEP: whether the row is among the first (or last) by its order; a better row drops what was kept.
    fn keeps(&self, acc: &mut Acc, last: bool, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<bool> {
        let mut key = Vec::new();
        self.order.encode(m, cx, &mut key)?;
        let better = match &acc.best {
            None => Ordering::Greater,
            Some(best) if last => key.cmp(best),
            Some(best) => best.cmp(&key),
        };
        match better {
            Ordering::Less => Ok(false),
            Ordering::Equal => Ok(true),
            Ordering::Greater => {
                *acc = self.start();
                acc.best = Some(key);
                Ok(true)
            }
        }
    }
}

/// The running state of one aggregate.
pub struct Acc {
    core: Core,
    seen: Option<KeySet>,
    best: Option<Vec<u8>>,
}

impl Acc {
    /// Takes in what an aggregate over plain values gets of a row, when it is not NULL.
    pub fn take(&mut self, v: &Value, cx: &ExecCtx<'_>) -> Result<()> {
        self.core.take(v, cx)
    }

    /// Takes in so many whole numbers, of which a COUNT wants only how many and a SUM only the sum.
    pub fn take_sum(&mut self, sum: i64, values: u64) -> Result<()> {
        let number = Value::Number(Number::from_i64(sum));
        match &mut self.core {
            Core::Count(n) => *n += values,
            Core::Sum(sum) => add_to(sum, &number)?,
            Core::Avg(sum, n) => {
                add_to(sum, &number)?;
                *n += values;
            }
            _ => return Err(Ora::internal("a sum for what does not add")),
        }
        Ok(())
    }

    /// Counts rows without looking at them.
    pub fn count(&mut self, rows: u64) {
        if let Core::Count(n) = &mut self.core {
            *n += rows;
        }
    }
}

enum Core {
    Count(u64),
    Sum(Option<Value>),
    Avg(Option<Value>, u64),
    /// MIN and MAX: the value so far, and how a better one compares with it.
    Extreme(Value, Ordering),
    Spread {
        n: u64,
        sum: Number,
        squares: Number,
    },
    Values(Vec<Value>),
    List {
        items: Vec<(Vec<u8>, Value)>,
        separator: Option<String>,
        /// Length of the list.
        bytes: usize,
    },
    Nothing,
}

impl Core {
    fn take(&mut self, v: &Value, cx: &ExecCtx<'_>) -> Result<()> {
        match self {
            Core::Count(n) => *n += 1,
            Core::Sum(sum) => add_to(sum, v)?,
            Core::Avg(sum, n) => {
                add_to(sum, v)?;
                *n += 1;
            }
            Core::Extreme(best, better) => {
                let replace = best.is_null() || v.compare(best, &cx.session.nls)? == Some(*better);
                if replace {
                    best.set(v);
                }
            }
            Core::Spread { n, sum, squares } => {
                if let Some(x) = v.to_number(&cx.session.nls)? {
                    *n += 1;
                    *sum = sum.add(&x)?;
                    *squares = squares.add(&x.mul(&x)?)?;
                }
            }
            Core::Values(values) => values.push(v.clone()),
            Core::List { .. } | Core::Nothing => {}
        }
        Ok(())
    }
}

fn add_to(sum: &mut Option<Value>, v: &Value) -> Result<()> {
    match (&mut *sum, v) {
        (Some(Value::Number(s)), Value::Number(x)) => {
            let sum = s.as_i64().zip(x.as_i64()).and_then(|(s, x)| s.checked_add(x));
            match sum {
                Some(n) => *s = Number::from_i64(n),
                None => *s = s.add(x)?,
            }
        }
        (None, _) => *sum = Some(v.clone()),
        (Some(s), _) => *s = plan::ArithOp::Add.typed(s, v)?,
    }
    Ok(())
}

impl Acc {
    /// The value of the aggregate over what was taken in.
    pub fn finish(&mut self, agg: &AggCode, cx: &ExecCtx<'_>) -> Result<Value> {
        Ok(match &mut self.core {
            Core::Count(n) => Value::Number(Number::from_u64(*n)),
            Core::Sum(sum) => sum.clone().unwrap_or(Value::Null),
            Core::Avg(None, _) => Value::Null,
            Core::Avg(Some(sum), n) => {
                let count = Number::from_u64(*n);
                match sum {
                    Value::Number(s) => Value::Number(s.div(&count)?),
                    Value::Double(d) => Value::Double(*d / *n as f64),
                    Value::Float(d) => Value::Float(*d / *n as f32),
                    other => plan::ArithOp::Div.typed(other, &Value::Number(count))?,
                }
            }
            Core::Extreme(best, _) => best.clone(),
            Core::Spread { n, sum, squares } => spread(agg.kind, *n, sum, squares)?,
            Core::Values(values) => median(values, cx)?,
            Core::List { items, separator, .. } => {
                sort_checked(items, |a, b| a.0.cmp(&b.0), &mut || cx.p.check_cancel())?;
                let mut text = String::new();
                for (i, (_, v)) in items.iter().enumerate() {
                    if i > 0 {
                        text.push_str(separator.as_deref().unwrap_or(""));
                    }
                    v.write_text(&cx.session.nls, &mut text)?;
                }
                Value::text(text)
            }
            Core::Nothing => Value::Null,
        })
    }
}

fn spread(kind: AggKind, n: u64, sum: &Number, squares: &Number) -> Result<Value> {
    use AggKind::*;
    if n == 0 {
        return Ok(Value::Null);
    }
    let population = matches!(kind, StddevPop | VarPop);
    if n == 1 && !population {
        // STDDEV and VARIANCE of one row are 0, the _SAMP forms NULL.
        let sample = matches!(kind, StddevSamp | VarSamp);
        return Ok(if sample { Value::Null } else { Value::Number(Number::default()) });
    }
    let count = Number::from_u64(n);
    let divisor = if population { count } else { Number::from_u64(n - 1) };
    let variance = squares.sub(&sum.mul(sum)?.div(&count)?)?.div(&divisor)?;
    let variance = if variance.signum() < 0 { Number::default() } else { variance };
    Ok(Value::Number(match kind {
        StddevSamp | Stddev | StddevPop => variance.sqrt()?,
        _ => variance,
    }))
}

fn median(values: &mut Vec<Value>, cx: &ExecCtx<'_>) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::Null);
    }
    sort_checked(values, Value::sort_cmp, &mut || cx.p.check_cancel())?;
    let (low, high) = (&values[(values.len() - 1) / 2], &values[values.len() / 2]);
    match (low, high) {
        (Value::Date(a), Value::Date(b)) => {
            let half = (b.to_unix() - a.to_unix()) / 2;
            Ok(Value::Date(Date::from_unix(a.to_unix() + half)?))
        }
        (a, b) => match (a.to_number(&cx.session.nls)?, b.to_number(&cx.session.nls)?) {
            (Some(a), Some(b)) => Ok(Value::Number(a.add(&b)?.div(&Number::from(2i64))?)),
            _ => Ok(Value::Null),
        },
    }
}
