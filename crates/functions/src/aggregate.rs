//! Aggregate functions as states: begun empty, stepped row by row, merged, finished.
//!
//! Sums of whole numbers run in a 128-bit word and never allocate; the rest are exact NUMBERs. DISTINCT is the
//! engine's: it steps only with values it has not seen. LISTAGG must be stepped in the order of its WITHIN GROUP
//! clause.

use std::cmp::Ordering;
use types::{DataType, Date, Nls, Number, Ora, Result, Timestamp, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    Median,
    Listagg,
    Variance(Spread),
    Stddev(Spread),
    Pair(PairKind),
}

/// What VARIANCE divides by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// n - 1, and 0 for one value.
    Default,
    /// n - 1, and NULL for one value.
    Sample,
    /// n.
    Population,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PairKind {
    CovarPop,
    CovarSamp,
    Corr,
}

/// An aggregate function.
#[derive(Debug)]
pub struct AggregateDef {
    /// The name, in upper case.
    pub name: &'static str,
    /// Fewest arguments; COUNT(*) has none.
    pub min_args: u8,
    /// Most arguments.
    pub max_args: u8,
    /// May have DISTINCT.
    pub distinct: bool,
    /// Takes WITHIN GROUP (ORDER BY …).
    pub within_group: bool,
    kind: Kind,
}

static AGGREGATES: &[AggregateDef] = &[
    def("AVG", 1, Kind::Avg),
    AggregateDef { distinct: false, ..def("CORR", 2, Kind::Pair(PairKind::Corr)) },
    AggregateDef { min_args: 0, ..def("COUNT", 1, Kind::Count) },
    AggregateDef { distinct: false, ..def("COVAR_POP", 2, Kind::Pair(PairKind::CovarPop)) },
    AggregateDef { distinct: false, ..def("COVAR_SAMP", 2, Kind::Pair(PairKind::CovarSamp)) },
    AggregateDef { min_args: 1, within_group: true, ..def("LISTAGG", 2, Kind::Listagg) },
    def("MAX", 1, Kind::Max),
    AggregateDef { distinct: false, ..def("MEDIAN", 1, Kind::Median) },
    def("MIN", 1, Kind::Min),
    def("STDDEV", 1, Kind::Stddev(Spread::Default)),
    AggregateDef { distinct: false, ..def("STDDEV_POP", 1, Kind::Stddev(Spread::Population)) },
    AggregateDef { distinct: false, ..def("STDDEV_SAMP", 1, Kind::Stddev(Spread::Sample)) },
    def("SUM", 1, Kind::Sum),
    def("VARIANCE", 1, Kind::Variance(Spread::Default)),
    AggregateDef { distinct: false, ..def("VAR_POP", 1, Kind::Variance(Spread::Population)) },
    AggregateDef { distinct: false, ..def("VAR_SAMP", 1, Kind::Variance(Spread::Sample)) },
];

const fn def(name: &'static str, args: u8, kind: Kind) -> AggregateDef {
    AggregateDef { name, min_args: args, max_args: args, distinct: true, within_group: false, kind }
}

/// Finds an aggregate function by its name, in any case.
pub fn aggregate(name: &str) -> Option<&'static AggregateDef> {
    AGGREGATES.iter().find(|def| def.name.eq_ignore_ascii_case(name))
}

impl AggregateDef {
    /// Checks the number of arguments.
    ///
    /// # Errors
    /// ORA-00909.
    pub fn check_args(&self, count: usize) -> Result<()> {
        if (usize::from(self.min_args)..=usize::from(self.max_args)).contains(&count) {
            Ok(())
        } else {
            Err(Ora::new(909))
        }
    }

    /// Returns the type of the result for arguments of these types.
    ///
    /// # Errors
    /// ORA-00932 for something that is no number where one is needed.
    pub fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        let first = args.first().copied().unwrap_or(DataType::Null);
        match self.kind {
            Kind::Count => Ok(DataType::NUMBER),
            Kind::Min | Kind::Max if first.is_lob() => Err(Ora::with(932, &[&"-", &first.name()])),
            Kind::Min | Kind::Max => Ok(first),
            Kind::Listagg => Ok(DataType::TEXT),
            Kind::Median if first.is_datetime() => Ok(first),
            _ => {
                for t in args {
                    if t.is_datetime()
                        || t.is_interval()
                        || matches!(t, DataType::Raw { .. } | DataType::Rowid | DataType::Boolean)
                        || t.is_lob()
                    {
                        return Err(Ora::with(932, &[&"NUMBER", &t.name()]));
                    }
                }
                Ok(if matches!(first, DataType::BinaryDouble | DataType::BinaryFloat) {
                    first
                } else {
                    DataType::NUMBER
                })
            }
        }
    }

    /// Begins an empty group.
    pub fn start(&self) -> Aggregate {
        let state = match self.kind {
            Kind::Count => State::Count(0),
            Kind::Sum | Kind::Avg => State::Sum(Sum::default()),
            Kind::Min | Kind::Max => State::Extreme(Value::Null),
            Kind::Median => State::All(Vec::new()),
            Kind::Listagg => State::List { text: String::new(), any: false },
            Kind::Variance(_) | Kind::Stddev(_) => State::Squares(Sum::default(), Sum::default()),
            Kind::Pair(_) => State::Pairs(Default::default()),
        };
        Aggregate { kind: self.kind, state }
    }
}

/// The state of one group.
#[derive(Clone, Debug)]
pub struct Aggregate {
    kind: Kind,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Count(i64),
    Sum(Sum),
    Extreme(Value),
    All(Vec<Value>),
    List {
        text: String,
        any: bool,
    },
    /// The values and their squares.
    Squares(Sum, Sum),
    /// x, y, xy, xx, yy.
    Pairs([Sum; 5]),
}

/// An exact sum: whole numbers in a word, others in a NUMBER, doubles as they are.
#[derive(Clone, Debug, Default)]
struct Sum {
    count: i64,
    whole: i128,
    rest: Option<Number>,
    double: Option<f64>,
}

impl Sum {
    #[inline]
    fn step(&mut self, value: &Value, nls: &Nls) -> Result<()> {
        match value {
            Value::Null => return Ok(()),
            Value::Number(n) => self.add(n)?,
            Value::Double(x) => self.double = Some(self.double.unwrap_or(0.0) + x),
            Value::Float(x) => self.double = Some(self.double.unwrap_or(0.0) + f64::from(*x)),
            value => match value.to_number(nls)? {
                Some(n) => self.add(&n)?,
                None => return Ok(()),
            },
        }
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn add(&mut self, n: &Number) -> Result<()> {
        match n.as_i64() {
            Some(n) => self.whole += i128::from(n),
            None => {
                self.rest = Some(match &self.rest {
                    Some(rest) => rest.add(n)?,
                    None => *n,
                });
            }
        }
        Ok(())
    }

    fn merge(&mut self, other: &Sum) -> Result<()> {
        self.count += other.count;
        self.whole += other.whole;
        if let Some(rest) = &other.rest {
            self.add(rest)?;
        }
        if let Some(x) = other.double {
            self.double = Some(self.double.unwrap_or(0.0) + x);
        }
        Ok(())
    }

    fn total(&self) -> Result<Number> {
        let whole = Number::from_i128(self.whole);
        match &self.rest {
            Some(rest) => whole.add(rest),
            None => Ok(whole),
        }
    }

    fn value(&self) -> Result<Value> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        match self.double {
            Some(x) => Ok(Value::Double(x + self.total()?.to_f64())),
            None => self.total().map(Value::Number),
        }
    }

    fn mean(&self) -> Result<Value> {
        Ok(match self.value()? {
            Value::Number(total) => Value::Number(total.div(&Number::from_i64(self.count))?),
            Value::Double(x) => Value::Double(x / self.count as f64),
            value => value,
        })
    }
}

/// The longest text that LISTAGG makes.
const MAX_LIST: usize = 4000;

impl Aggregate {
    /// Takes in one row: the values of the arguments, none for COUNT(*).
    ///
    /// # Errors
    /// ORA-01722, ORA-01426; ORA-01489 when a list gets too long.
    #[inline]
    pub fn step(&mut self, args: &[Value], nls: &Nls) -> Result<()> {
        match &mut self.state {
            State::Count(n) => *n += i64::from(!args.first().is_some_and(Value::is_null)),
            State::Sum(sum) => sum.step(&args[0], nls)?,
            State::Extreme(best) => {
                let wanted = if self.kind == Kind::Min { Ordering::Less } else { Ordering::Greater };
                if !args[0].is_null() && (best.is_null() || args[0].sort_cmp(best) == wanted) {
                    best.set(&args[0]);
                }
            }
            State::All(values) => {
                if !args[0].is_null() {
                    values.push(number_or_date(&args[0], nls)?);
                }
            }
            State::List { text, any } => {
                if args[0].is_null() {
                    return Ok(());
                }
                if *any && let Some(delimiter) = args.get(1) {
                    delimiter.write_text(nls, text)?;
                }
                args[0].write_text(nls, text)?;
                *any = true;
                if text.len() > MAX_LIST {
                    return Err(Ora::new(1489));
                }
            }
            State::Squares(sum, squares) => {
                sum.step(&args[0], nls)?;
                if let Some(square) = product(&args[0], &args[0], nls)? {
                    squares.step(&square, nls)?;
                }
            }
            State::Pairs(sums) => step_pair(sums, args, nls)?,
        }
        Ok(())
    }

    /// Takes in the rows of another group of the same function, as if they came after this one's.
    ///
    /// # Errors
    /// As [`Aggregate::step`].
    pub fn merge(&mut self, other: &Aggregate, nls: &Nls) -> Result<()> {
        match (&mut self.state, &other.state) {
            (State::Count(n), State::Count(m)) => *n += m,
            (State::Sum(a), State::Sum(b)) => a.merge(b)?,
            (State::Extreme(_), State::Extreme(value)) => {
                let value = value.clone();
                self.step(&[value], nls)?;
            }
            (State::All(a), State::All(b)) => a.extend_from_slice(b),
            (State::Squares(a, aa), State::Squares(b, bb)) => {
                a.merge(b)?;
                aa.merge(bb)?;
            }
            (State::Pairs(a), State::Pairs(b)) => {
                for (x, y) in a.iter_mut().zip(b) {
                    x.merge(y)?;
                }
            }
            _ => return Err(Ora::internal("aggregate: states of different functions")),
        }
        Ok(())
    }

    /// Writes the result. The state stays as it is, so that a running aggregate can go on.
    ///
    /// # Errors
    /// ORA-01426.
    pub fn finish(&self, out: &mut Value) -> Result<()> {
        match &self.state {
            State::Count(n) => *out = Value::Number(Number::from_i64(*n)),
            State::Sum(sum) if self.kind == Kind::Avg => *out = sum.mean()?,
            State::Sum(sum) => *out = sum.value()?,
            State::Extreme(value) => out.set(value),
            State::All(values) => *out = median(values)?,
            State::List { text, .. } => out.set_text(text),
            State::Squares(sum, squares) => *out = self.spread(sum, squares)?,
            State::Pairs(sums) => *out = self.pair(sums)?,
        }
        Ok(())
    }

    /// (Σx² − (Σx)²/n) / divisor, and its root for STDDEV.
    fn spread(&self, sum: &Sum, squares: &Sum) -> Result<Value> {
        let (spread, root) = match self.kind {
            Kind::Stddev(spread) => (spread, true),
            Kind::Variance(spread) => (spread, false),
            _ => return Err(Ora::internal("aggregate: no spread")),
        };
        let divisor = match (spread, sum.count) {
            (_, 0) | (Spread::Sample, 1) => return Ok(Value::Null),
            (Spread::Default, 1) => return Ok(Value::Number(Number::ZERO)),
            (Spread::Population, n) => n,
            (_, n) => n - 1,
        };
        if sum.double.is_some() || squares.double.is_some() {
            let (s, q) = (as_double(&sum.value()?), as_double(&squares.value()?));
            let variance = ((q - s * s / sum.count as f64) / divisor as f64).max(0.0);
            return Ok(Value::Double(if root { variance.sqrt() } else { variance }));
        }
        let variance = self.deviation(sum, sum, squares)?.div(&Number::from_i64(divisor))?;
        let variance = if variance.is_negative() { Number::ZERO } else { variance };
        Ok(Value::Number(if root { variance.sqrt()? } else { variance }))
    }

    /// Σxy − Σx·Σy/n.
    fn deviation(&self, x: &Sum, y: &Sum, xy: &Sum) -> Result<Number> {
        xy.total()?.sub(&x.total()?.mul(&y.total()?)?.div(&Number::from_i64(x.count))?)
    }

    fn pair(&self, sums: &[Sum; 5]) -> Result<Value> {
        let [x, y, xy, xx, yy] = sums;
        let divisor = match (self.kind, x.count) {
            (_, 0) | (Kind::Pair(PairKind::CovarSamp | PairKind::Corr), 1) => return Ok(Value::Null),
            (Kind::Pair(PairKind::CovarSamp), n) => n - 1,
            (_, n) => n,
        };
        let together = self.deviation(x, y, xy)?;
        if self.kind != Kind::Pair(PairKind::Corr) {
            return together.div(&Number::from_i64(divisor)).map(Value::Number);
        }
        let both = self.deviation(x, x, xx)?.mul(&self.deviation(y, y, yy)?)?;
        if both.signum() <= 0 {
            return Ok(Value::Null);
        }
        together.div(&both.sqrt()?).map(Value::Number)
    }
}

fn step_pair(sums: &mut [Sum; 5], args: &[Value], nls: &Nls) -> Result<()> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(());
    }
    let (x, y) = (args[0].to_number(nls)?.unwrap_or_default(), args[1].to_number(nls)?.unwrap_or_default());
    for (sum, n) in sums.iter_mut().zip([x, y, x.mul(&y)?, x.mul(&x)?, y.mul(&y)?]) {
        sum.step(&Value::Number(n), nls)?;
    }
    Ok(())
}

fn product(a: &Value, b: &Value, nls: &Nls) -> Result<Option<Value>> {
    Ok(match (a, b) {
        (Value::Double(_) | Value::Float(_), _) => a.to_double(nls)?.map(|x| Value::Double(x * x)),
        _ => match (a.to_number(nls)?, b.to_number(nls)?) {
            (Some(a), Some(b)) => Some(Value::Number(a.mul(&b)?)),
            _ => None,
        },
    })
}

fn as_double(value: &Value) -> f64 {
    match value {
        Value::Double(x) => *x,
        Value::Number(n) => n.to_f64(),
        _ => f64::NAN,
    }
}

fn number_or_date(value: &Value, nls: &Nls) -> Result<Value> {
    Ok(match value {
        Value::Date(_) | Value::Timestamp(_) | Value::Double(_) | Value::Float(_) | Value::Number(_) => value.clone(),
        value => value.to_number(nls)?.map_or(Value::Null, Value::Number),
    })
}

/// The middle value, or what lies half-way between the two middle ones.
fn median(values: &[Value]) -> Result<Value> {
    if values.is_empty() {
        return Ok(Value::Null);
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(Value::sort_cmp);
    let (low, high) = (&sorted[(sorted.len() - 1) / 2], &sorted[sorted.len() / 2]);
    Ok(match (low, high) {
        (Value::Number(a), Value::Number(b)) => Value::Number(a.add(b)?.div(&Number::from_i64(2))?),
        (Value::Date(a), Value::Date(b)) => Value::Date(halfway(a, b)?),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            let gap = b.since(a).to_nanos() / 2;
            Value::Timestamp(Timestamp::add_ds(a, &types::IntervalDs::from_nanos(gap)?)?)
        }
        (a, b) => Value::Double((as_double_of(a) + as_double_of(b)) / 2.0),
    })
}

fn halfway(a: &Date, b: &Date) -> Result<Date> {
    a.add_seconds(b.seconds_since(a) / 2)
}

fn as_double_of(value: &Value) -> f64 {
    match value {
        Value::Float(x) => f64::from(*x),
        value => as_double(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, rows: &[Value]) -> Value {
        let mut state = aggregate(name).unwrap().start();
        let nls = Nls::default();
        for row in rows {
            state.step(std::slice::from_ref(row), &nls).unwrap();
        }
        let mut out = Value::Null;
        state.finish(&mut out).unwrap();
        // In two halves it is the same.
        if name != "LISTAGG" {
            let (a, b) = rows.split_at(rows.len() / 2);
            let mut halves = [a, b].map(|part| {
                let mut state = aggregate(name).unwrap().start();
                part.iter().for_each(|row| state.step(std::slice::from_ref(row), &nls).unwrap());
                state
            });
            let [left, right] = &mut halves;
            left.merge(right, &nls).unwrap();
            let mut merged = Value::Null;
            left.finish(&mut merged).unwrap();
            assert_eq!(merged, out, "{name} merged");
        }
        out
    }

    fn n(text: &str) -> Value {
        Value::Number(text.parse().unwrap())
    }

    #[test]
    fn results() {
        let rows = ["1", "2", "3", "4.5"].map(n);
        for (name, result) in [
            ("COUNT", "4"),
            ("SUM", "10.5"),
            ("AVG", "2.625"),
            ("MIN", "1"),
            ("MAX", "4.5"),
            ("MEDIAN", "2.5"),
            ("VAR_POP", "1.671875"),
            ("VARIANCE", "2.22916666666666666666666666666666666667"),
        ] {
            assert_eq!(run(name, &rows), n(result), "{name}");
        }
        let two = ["2", "4"].map(n);
        assert_eq!(run("STDDEV_POP", &two), n("1"));
        assert_eq!(run("VAR_SAMP", &two), n("2"));
    }

    #[test]
    fn null_and_empty() {
        for name in ["SUM", "AVG", "MIN", "MAX", "MEDIAN", "LISTAGG", "STDDEV", "VARIANCE", "VAR_SAMP", "VAR_POP"] {
            assert_eq!(run(name, &[]), Value::Null, "{name} of nothing");
            assert_eq!(run(name, &[Value::Null]), Value::Null, "{name} of NULL");
        }
        assert_eq!(run("COUNT", &[Value::Null, n("1")]), n("1"));
        assert_eq!(run("STDDEV", &[n("5")]), n("0"));
        assert_eq!(run("STDDEV_SAMP", &[n("5")]), Value::Null);
        let mut star = aggregate("count").unwrap().start();
        star.step(&[], &Nls::default()).unwrap();
        let mut out = Value::Null;
        star.finish(&mut out).unwrap();
        assert_eq!(out, n("1"));
    }

    #[test]
    fn sums_are_exact() {
        assert_eq!(run("SUM", &vec![n("0.1"); 10]), n("1"));
        let max = Value::Number(Number::from_i64(i64::MAX));
        assert_eq!(run("SUM", &[max.clone(), max]), n("18446744073709551614"));
        assert_eq!(run("SUM", &[Value::text("1"), Value::text("2")]), n("3"));
        assert_eq!(run("SUM", &[Value::Double(1.5), Value::Double(2.5)]), Value::Double(4.0));
    }

    #[test]
    fn lists() {
        let mut list = aggregate("LISTAGG").unwrap().start();
        let nls = Nls::default();
        for word in ["a", "", "b"] {
            list.step(&[Value::text(word), Value::text(",")], &nls).unwrap();
        }
        let mut out = Value::Null;
        list.finish(&mut out).unwrap();
        assert_eq!(out, Value::text("a,b"));
        let long = Value::text("x".repeat(3000));
        assert!(list.step(&[long.clone(), Value::Null], &nls).is_ok());
        assert!(list.step(&[long, Value::Null], &nls).unwrap_err().is(1489));
    }

    #[test]
    fn types() {
        assert!(aggregate("SUM").unwrap().return_type(&[DataType::Date]).unwrap_err().is(932));
        assert_eq!(aggregate("MAX").unwrap().return_type(&[DataType::Date]).unwrap(), DataType::Date);
        assert!(AGGREGATES.iter().all(|def| crate::lookup(def.name).is_none()));
        assert!(aggregate("SUM").unwrap().check_args(2).unwrap_err().is(909));
    }
}
