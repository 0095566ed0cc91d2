//! Aggregate functions: one accumulator a group and function.

use crate::builder::Builder;
use crate::code::Code;
use crate::ctx::ExecCtx;
use crate::hash::{KeySet, push_part};
use crate::long_list::{LIST_BYTES_MAX, drop_beyond, truncated};
use crate::machine::Machine;
use crate::pairs::Pairs;
use crate::source::sort_keys::Keys;
use plan::{Agg, AggKind, Reg, SortKey};
use std::cmp::Ordering;
use types::sorting::sort_checked;
use types::{DataType, Date, Number, Ora, Result, Value};

/// Memory of an element of JSON_ARRAYAGG in addition to its text and the key of its order.
const ITEM_BYTES: usize = 64;

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
    /// NTH_VALUE counts from the end of the frame; the order of PERCENTILE_CONT and PERCENTILE_DISC is descending.
    pub from_last: bool,
    /// LISTAGG … ON OVERFLOW TRUNCATE: the indicator, and whether the number of values left out follows it.
    pub truncate: Option<(String, bool)>,
    /// The key of the hypothetical row of RANK and its kind.
    hypothetical: Option<Keys>,
    ty: DataType,
    /// COLLECT: the type of the elements.
    element: Option<DataType>,
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
            truncate: a.truncate.clone(),
            hypothetical: is_hypothetical(a).then(|| {
                let values = a.args.iter().zip(&a.order);
                let keys: Vec<SortKey> =
                    values.map(|(value, key)| SortKey { expr: value.clone(), ..key.clone() }).collect();
                Keys::build(&keys, b)
            }),
            ty: a.ty,
            element: a.args.first().filter(|_| a.kind == AggKind::Collect).map(|arg| arg.ty),
        }
    }

    /// An accumulator without rows.
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
            Median => Core::Values { values: Vec::new(), fraction: Some(half()) },
            PercentileCont | PercentileDisc => Core::Values { values: Vec::new(), fraction: None },
            Collect => Core::Elements(Vec::new()),
            StatsMode => Core::Values { values: Vec::new(), fraction: Some(Number::default()) },
            Corr | CovarPop | CovarSamp | RegrSlope | RegrIntercept | RegrCount | RegrR2 | RegrAvgx | RegrAvgy
            | RegrSxx | RegrSyy | RegrSxy => Core::Pairs(Box::default()),
            Rank | DenseRank | PercentRank | CumeDist if self.hypothetical.is_some() => {
                Core::Hypothetical(Box::default())
            }
            Listagg => Core::List { items: Vec::new(), separator: None, bytes: 0, kept: 0, left_out: 0 },
            JsonArray | JsonObject | Xml => Core::Json { items: Vec::new(), bytes: 0, held: 0, rows: false },
            _ => Core::Nothing,
        };
        Acc { core, seen: self.distinct.then(KeySet::default), best: None }
    }

    /// Whether two accumulators can be merged, so that a moving frame can reuse parts of its value.
    pub fn merges(&self) -> bool {
        use AggKind::*;
        let is_plain = !self.distinct && self.keep_last.is_none();
        let is_of_one = matches!(
            self.kind,
            CountStar | Count | Sum | Avg | Min | Max | StddevSamp | Stddev | StddevPop | VarSamp | Variance | VarPop
        );
        is_plain && (is_of_one || self.kind.is_of_pairs())
    }

    /// Whether the function is COUNT(*), which does not look at the values of a row.
    pub fn only_counts(&self) -> bool {
        self.kind == AggKind::CountStar && self.keep_last.is_none() && self.args.is_empty()
    }

    /// Adds the current row, and returns the bytes that the values of JSON_ARRAYAGG, JSON_OBJECTAGG or XMLAGG grew by.
    ///
    /// # Errors
    /// Those of the arguments; ORA-40478 for more than a LOB.
    pub fn add_measured(&self, acc: &mut Acc, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<usize> {
        let before = acc.held();
        self.add(acc, m, cx)?;
        Ok(acc.held() - before)
    }

    /// Adds the current row.
    pub fn add(&self, acc: &mut Acc, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        if let Some(last) = self.keep_last
            && !self.keeps(acc, last, m, cx)?
        {
            return Ok(());
        }
        if let Core::Hypothetical(rank) = &mut acc.core {
            return self.add_to_rank(rank, m, cx);
        }
        let Some(arg) = self.args.first() else {
            if let Core::Count(n) = &mut acc.core {
                *n += 1;
            }
            return Ok(());
        };
        let r = arg.eval(m, cx)?;
        if let Core::Json { rows, .. } = &mut acc.core {
            *rows = true;
        }
        // An element of a collection may be NULL.
        if m.value(r).is_null() && self.kind != AggKind::Collect {
            return Ok(());
        }
        if let Core::Json { items, bytes, held, .. } = &mut acc.core {
            let Value::Text(text) = m.value(r).clone() else { return Err(Ora::internal("JSON that is no text")) };
            let mut key = Vec::new();
            self.order.encode(m, cx, &mut key)?;
            *bytes += text.len() + 1;
            *held += text.len() + key.len() + ITEM_BYTES;
            if *bytes > functions::LOB_MAX {
                return Err(Ora::with(40478, &[&functions::LOB_MAX]));
            }
            items.push((key, text));
            return Ok(());
        }
        if let Some(seen) = &mut acc.seen {
            let mut key = Vec::new();
            push_part(m.value(r), &mut key);
            if !seen.insert(key) {
                return Ok(());
            }
        }
        if let Core::Elements(elements) = &mut acc.core {
            let mut value = m.value(r).clone();
            if let Some(ty) = self.element.filter(|_| !value.is_null()) {
                let assigned = ty.assign(&mut value, &cx.session.nls, &"");
                assigned.map_err(|e| if e.is(12899) { Ora::new(22814) } else { e })?;
            }
            let mut key = Vec::new();
            self.order.encode(m, cx, &mut key)?;
            elements.push((key, value));
            return Ok(());
        }
        if let Core::Pairs(pairs) = &mut acc.core {
            let y = m.value(r).to_number(&cx.session.nls)?;
            let Some(second) = self.args.get(1) else { return Ok(()) };
            let r = second.eval(m, cx)?;
            let x = m.value(r).to_number(&cx.session.nls)?;
            return y.zip(x).map_or(Ok(()), |(y, x)| pairs.add(&y, &x));
        }
        if let Core::List { items, separator, bytes, kept, left_out } = &mut acc.core {
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
            // The list has the same length in any order, so a list that is too long can end the statement here.
            let length = text.to_text(&cx.session.nls)?.map_or(0, |text| text.len());
            *bytes += separator.as_ref().filter(|_| !items.is_empty()).map_or(0, String::len) + length;
            if *bytes > functions::SQL_TEXT_MAX && self.truncate.is_none() {
                return Err(Ora::new(1489));
            }
            *kept += key.len() + length + size_of::<(Vec<u8>, Value)>();
            items.push((key, text));
            if *kept > LIST_BYTES_MAX {
                *left_out += drop_beyond(items, cx)?;
                *kept = 0;
            }
            return Ok(());
        }
        acc.core.take(m.value(r), cx)?;
        if let Core::Values { fraction: fraction @ None, .. } = &mut acc.core {
            let r = self.args[1].eval(m, cx)?;
            *fraction = Some(fraction_of(m.value(r), cx)?);
        }
        Ok(())
    }

    /// Counts a row for the rank of the hypothetical row.
    fn add_to_rank(&self, rank: &mut Hypothetical, m: &mut Machine, cx: &mut ExecCtx<'_>) -> Result<()> {
        let Some(hypothetical) = &self.hypothetical else { return Ok(()) };
        let mut key = Vec::new();
        self.order.encode(m, cx, &mut key)?;
        if rank.rows == 0 {
            hypothetical.encode(m, cx, &mut rank.key)?;
        }
        rank.rows += 1;
        match key.cmp(&rank.key) {
            Ordering::Less => {
                rank.before += 1;
                if self.kind == AggKind::DenseRank {
                    rank.keys.insert(key);
                }
            }
            Ordering::Equal => rank.equal += 1,
            Ordering::Greater => {}
        }
        Ok(())
    }

    /// KEEP: whether the row is among the first (or last) by its order. A better row discards the rows kept before.
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
    /// Memory of the values of a JSON aggregate.
    fn held(&self) -> usize {
        match &self.core {
            Core::Json { held, .. } => *held,
            _ => 0, // the others are charged by AGGREGATE_BYTES
        }
    }

    /// Adds a value that is not NULL, for an aggregate over plain values.
    pub fn take(&mut self, v: &Value, cx: &ExecCtx<'_>) -> Result<()> {
        self.core.take(v, cx)
    }

    /// Adds `values` whole numbers with this sum, for COUNT and SUM.
    pub fn take_sum(&mut self, sum: i64, values: u64) -> Result<()> {
        let number = Value::Number(Number::from_i64(sum));
        match &mut self.core {
            Core::Count(n) => *n += values,
            Core::Sum(sum) => add_to(sum, &number)?,
            Core::Avg(sum, n) => {
                add_to(sum, &number)?;
                *n += values;
            }
            _ => return Err(Ora::internal("sum of values for an aggregate that does not add")),
        }
        Ok(())
    }

    /// An empty accumulator for AVG, which SUM can use too.
    pub fn average() -> Acc {
        Acc { core: Core::Avg(None, 0), seen: None, best: None }
    }

    /// Sets the sum, the least or the greatest of the first `values` values.
    pub fn preset(&mut self, v: Value, values: u64) {
        match &mut self.core {
            Core::Sum(sum) => *sum = Some(v),
            Core::Avg(sum, n) => (*sum, *n) = (Some(v), values),
            Core::Extreme(best, _) => *best = v,
            _ => {}
        }
    }

    /// Copies the state of an aggregate that [`AggCode::merges`].
    pub fn copy(&self) -> Acc {
        Acc { core: self.core.clone(), seen: None, best: None }
    }

    /// Merges the accumulator of rows that come after the rows of this one.
    ///
    /// # Errors
    /// A sum out of range.
    pub fn merge(&mut self, later: &Acc, cx: &ExecCtx<'_>) -> Result<()> {
        match (&mut self.core, &later.core) {
            (Core::Count(n), Core::Count(more)) => *n += more,
            (Core::Sum(sum), Core::Sum(Some(more))) => add_to(sum, more)?,
            (Core::Avg(sum, n), Core::Avg(Some(more), count)) => {
                add_to(sum, more)?;
                *n += count;
            }
            (Core::Extreme(..), Core::Extreme(best, _)) if !best.is_null() => self.core.take(best, cx)?,
            (Core::Spread { n, sum, squares }, Core::Spread { n: count, sum: more, squares: more_squares }) => {
                *n += count;
                *sum = sum.add(more)?;
                *squares = squares.add(more_squares)?;
            }
            (Core::Pairs(pairs), Core::Pairs(more)) => pairs.merge(more)?,
            _ => {}
        }
        Ok(())
    }

    /// Counts rows without reading them.
    pub fn count(&mut self, rows: u64) {
        if let Core::Count(n) = &mut self.core {
            *n += rows;
        }
    }
}

/// The rows of a group before and beside a hypothetical row.
#[derive(Clone, Default)]
struct Hypothetical {
    /// The key of the hypothetical row, once there is a row.
    key: Vec<u8>,
    rows: u64,
    before: u64,
    equal: u64,
    /// DENSE_RANK: the different keys before it.
    keys: KeySet,
}

impl Hypothetical {
    fn value(&self, kind: AggKind) -> Result<Number> {
        let whole = Number::from_u64;
        match kind {
            AggKind::DenseRank => Ok(whole(self.keys.len() as u64 + 1)),
            AggKind::PercentRank if self.rows == 0 => Ok(Number::default()),
            AggKind::PercentRank => whole(self.before).div(&whole(self.rows)),
            AggKind::CumeDist => whole(self.before + self.equal + 1).div(&whole(self.rows + 1)),
            _ => Ok(whole(self.before + 1)),
        }
    }
}

fn is_hypothetical(agg: &Agg) -> bool {
    use AggKind::*;
    matches!(agg.kind, Rank | DenseRank | PercentRank | CumeDist) && !agg.args.is_empty()
}

#[derive(Clone)]
enum Core {
    Count(u64),
    Sum(Option<Value>),
    Avg(Option<Value>, u64),
    /// MIN and MAX: the value so far, and the comparison result by which another value replaces it.
    Extreme(Value, Ordering),
    Spread {
        n: u64,
        sum: Number,
        squares: Number,
    },
    /// MEDIAN, PERCENTILE_CONT and PERCENTILE_DISC: the fraction of the rows before the result.
    Values {
        values: Vec<Value>,
        fraction: Option<Number>,
    },
    /// COLLECT: elements and the keys of their order.
    Elements(Vec<(Vec<u8>, Value)>),
    /// CORR, COVAR_ and REGR_ functions.
    Pairs(Box<Pairs>),
    /// RANK and its kind over a hypothetical row.
    Hypothetical(Box<Hypothetical>),
    List {
        items: Vec<(Vec<u8>, Value)>,
        separator: Option<String>,
        /// Length of the list in bytes.
        bytes: usize,
        /// Bytes of memory since values were last dropped, and the number of values dropped.
        kept: usize,
        left_out: usize,
    },
    /// JSON_ARRAYAGG, JSON_OBJECTAGG and XMLAGG: the texts of elements or members.
    Json {
        items: Vec<(Vec<u8>, String)>,
        /// Length of the text in bytes.
        bytes: usize,
        /// Memory of the texts and their keys.
        held: usize,
        /// Whether there was a row, even if all elements are absent.
        rows: bool,
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
            Core::Values { values, .. } => values.push(v.clone()),
            Core::Elements(_) | Core::Pairs(_) | Core::Hypothetical(_) => {}
            Core::List { .. } | Core::Json { .. } | Core::Nothing => {}
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
    /// The value of the aggregate over all rows added.
    pub fn finish(&mut self, agg: &AggCode, cx: &ExecCtx<'_>) -> Result<Value> {
        Ok(match &mut self.core {
            Core::Count(n) => Value::Number(Number::from_u64(*n)),
            Core::Sum(sum) => sum.clone().unwrap_or(Value::Null),
            Core::Avg(None, _) => Value::Null,
            Core::Avg(Some(sum), _) if agg.kind == AggKind::Sum => sum.clone(),
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
            Core::Values { values, .. } if agg.kind == AggKind::StatsMode => mode(values, cx)?,
            Core::Elements(elements) => {
                // The sort is stable: without an order the elements stay in the order of the rows.
                sort_checked(elements, |a, b| a.0.cmp(&b.0), &mut || cx.p.check_cancel())?;
                let DataType::Named(ty) = agg.ty else { return Err(Ora::internal("COLLECT without a type")) };
                let parts = elements.iter().map(|(_, value)| value.clone()).collect();
                Value::Composite(std::sync::Arc::new(types::Composite { ty, parts }))
            }
            Core::Pairs(pairs) => pairs.value(agg.kind)?,
            Core::Hypothetical(rank) => Value::Number(rank.value(agg.kind)?),
            Core::Values { values, fraction } => match fraction {
                Some(fraction) if !values.is_empty() => percentile(agg, values, fraction, cx)?,
                _ => Value::Null,
            },
            Core::List { items, separator, bytes, left_out, .. } => {
                sort_checked(items, |a, b| a.0.cmp(&b.0), &mut || cx.p.check_cancel())?;
                if let Some((indicator, count)) = agg.truncate.as_ref().filter(|_| *bytes > functions::SQL_TEXT_MAX) {
                    let separator = separator.as_deref().unwrap_or("");
                    return truncated(items, separator, indicator, count.then_some(*left_out), cx);
                }
                let mut text = String::new();
                for (i, (_, v)) in items.iter().enumerate() {
                    if i > 0 {
                        text.push_str(separator.as_deref().unwrap_or(""));
                    }
                    v.write_text(&cx.session.nls, &mut text)?;
                }
                Value::text(text)
            }
            Core::Json { rows: false, .. } => Value::Null,
            Core::Json { items, bytes, .. } => {
                sort_checked(items, |a, b| a.0.cmp(&b.0), &mut || cx.p.check_cancel())?;
                let (open, close, comma) = match agg.kind {
                    AggKind::JsonArray => ("[", "]", ","),
                    AggKind::JsonObject => ("{", "}", ","),
                    _ => ("", "", ""), // not a clause: XMLAGG puts its values one after another
                };
                let mut text = String::with_capacity(*bytes + 2);
                text.push_str(open);
                for (i, (_, item)) in items.iter().enumerate() {
                    if i > 0 {
                        text.push_str(comma);
                    }
                    text.push_str(if comma.is_empty() { xml::without_declaration(item) } else { item });
                }
                text.push_str(close);
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

/// The most frequent value; of several the least.
fn mode(values: &mut Vec<Value>, cx: &ExecCtx<'_>) -> Result<Value> {
    sort_checked(values, Value::sort_cmp, &mut || cx.p.check_cancel())?;
    let (mut best, mut most) = (Value::Null, 0);
    for run in values.chunk_by(|a, b| a.sort_cmp(b).is_eq()) {
        if run.len() > most {
            (best, most) = (run[0].clone(), run.len());
        }
    }
    Ok(best)
}

fn half() -> Number {
    Number::parse("0.5").expect("a number")
}

/// The first argument of PERCENTILE_CONT and PERCENTILE_DISC.
fn fraction_of(value: &Value, cx: &ExecCtx<'_>) -> Result<Number> {
    let fraction = value.to_number(&cx.session.nls)?.unwrap_or_default();
    if fraction.signum() < 0 || fraction > Number::from_i64(1) {
        return Err(Ora::with(1428, &[&fraction]));
    }
    Ok(fraction)
}

/// The value before which that fraction of the values stands.
fn percentile(agg: &AggCode, values: &mut Vec<Value>, fraction: &Number, cx: &ExecCtx<'_>) -> Result<Value> {
    sort_checked(values, Value::sort_cmp, &mut || cx.p.check_cancel())?;
    if agg.from_last {
        values.reverse();
    }
    let index = |n: &Number| n.as_i64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let count = Number::from_u64(values.len() as u64);
    if agg.kind == AggKind::PercentileDisc {
        let place = index(&fraction.mul(&count)?.ceil()).clamp(1, values.len());
        return Ok(values[place - 1].clone());
    }
    let place = fraction.mul(&count.sub(&Number::from_i64(1))?)?;
    let before = index(&place.floor());
    between(&values[before], &values[index(&place.ceil())], &place.sub(&Number::from_u64(before as u64))?)
}

/// Interpolates between two values.
fn between(low: &Value, high: &Value, part: &Number) -> Result<Value> {
    use plan::ArithOp::{Add, Mul, Sub};
    if part.signum() == 0 {
        return Ok(low.clone());
    }
    Ok(match (low, high) {
        (Value::Double(a), Value::Double(b)) => Value::Double(a + (b - a) * part.to_f64()),
        (Value::Float(a), Value::Float(b)) => Value::Float(a + (b - a) * part.to_f64() as f32),
        (Value::Number(a), Value::Number(b)) => {
            let rest = Number::from_i64(1).sub(part)?;
            Value::Number(a.mul(&rest)?.add(&b.mul(part)?)?)
        }
        (Value::Date(a), Value::Date(b)) => {
            let seconds = Number::from_i64(b.to_unix() - a.to_unix()).mul(part)?.round(0).as_i64();
            Value::Date(Date::from_unix(a.to_unix() + seconds.unwrap_or(0))?)
        }
        (low, high) => {
            let way = Mul.typed(&Sub.typed(high, low)?, &Value::Number(*part))?;
            Add.typed(low, &way)?
        }
    })
}
