//! `BREAK` and `COMPUTE`: their definitions, and the figures that a report adds up.

use types::{Number, Value};

/// The column, row or report to which a break or a computation belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum On {
    /// The end of the report.
    Report,
    /// A change of a column or expression: its name in upper case.
    Column(String),
    /// Every row.
    Row,
}

impl On {
    /// From a word of the command.
    pub fn parse(word: &str) -> On {
        match word.to_ascii_uppercase().as_str() {
            "ROW" => On::Row,
            "REPORT" => On::Report,
            name => On::Column(name.to_string()),
        }
    }

    /// As `BREAK` and `COMPUTE` list it.
    pub fn shown(&self) -> &str {
        match self {
            On::Report => "report",
            On::Row => "row",
            On::Column(name) => name,
        }
    }
}

/// `BREAK ON element [SKIP n | SKIP PAGE] [DUPLICATES]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    pub on: On,
    /// Empty lines after the break.
    pub skip: usize,
    /// The break begins a new page.
    pub page: bool,
    /// Repeated values are printed.
    pub duplicates: bool,
}

/// A function of `COMPUTE`, in the order in which a report prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Function {
    Avg,
    Count,
    Minimum,
    Maximum,
    Number,
    Sum,
    Std,
    Variance,
}

/// Names, shortest abbreviations and labels.
const FUNCTIONS: &[(Function, &str, usize, &str)] = &[
    (Function::Avg, "avg", 3, "avg"),
    (Function::Count, "count", 3, "count"),
    (Function::Minimum, "minimum", 3, "minimum"),
    (Function::Maximum, "maximum", 3, "maximum"),
    (Function::Number, "number", 3, "number"),
    (Function::Sum, "sum", 3, "sum"),
    (Function::Std, "std", 3, "std"),
    (Function::Variance, "variance", 3, "variance"),
];

impl Function {
    /// The function of a word.
    pub fn parse(word: &str) -> Option<Function> {
        let found = FUNCTIONS.iter().find(|(_, full, least, _)| crate::titles::abbreviates(word, full, *least));
        found.map(|(function, ..)| *function)
    }

    /// Whether the function is of numbers only.
    pub fn is_arithmetic(self) -> bool {
        matches!(self, Function::Avg | Function::Sum | Function::Std | Function::Variance)
    }

    /// The label of its line unless LABEL gives another.
    pub fn label(self) -> &'static str {
        FUNCTIONS.iter().find(|(function, ..)| *function == self).map_or("", |(.., label)| label)
    }
}

/// Computations on one column at one break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compute {
    /// The functions with their labels, in the order of printing.
    pub functions: Vec<(Function, String)>,
    /// The computed column's name in upper case.
    pub of: String,
    pub on: On,
}

/// The figures of one column since the last break.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rows: u64,
    count: u64,
    sum: Number,
    squares: Number,
    least: Option<Value>,
    most: Option<Value>,
    /// A sum left the range of NUMBER.
    overflowed: bool,
}

impl Tally {
    /// Adds a row's value. `spreads`: STD or VARIANCE needs the sum of the squares.
    pub fn add(&mut self, value: &Value, spreads: bool) {
        self.rows += 1;
        if value.is_null() {
            return;
        }
        self.count += 1;
        // Infinity and NaN are no NUMBER.
        self.overflowed |= matches!(value, Value::Double(_) | Value::Float(_)) && number_of(value).is_none();
        if let Some(number) = number_of(value) {
            let squares = if spreads {
                number.mul(&number).and_then(|square| self.squares.add(&square))
            } else {
                Ok(Number::from(0))
            };
            match (self.sum.add(&number), squares) {
                (Ok(sum), Ok(squares)) => (self.sum, self.squares) = (sum, squares),
                _ => self.overflowed = true,
            }
        }
        if self.least.as_ref().is_none_or(|least| is_less(value, least)) {
            self.least = Some(value.clone());
        }
        if self.most.as_ref().is_none_or(|most| is_less(most, value)) {
            self.most = Some(value.clone());
        }
    }

    /// The value of a function; `Err` when it left the range of NUMBER.
    pub fn value(&self, function: Function) -> Result<Value, ()> {
        let count = Number::from_u64(self.count);
        let number = |result: types::Result<Number>| match result {
            Ok(number) if !self.overflowed => Ok(Value::Number(number)),
            _ => Err(()),
        };
        match function {
            Function::Count => Ok(Value::Number(count)),
            Function::Number => Ok(Value::Number(Number::from_u64(self.rows))),
            Function::Minimum => Ok(self.least.clone().unwrap_or(Value::Null)),
            Function::Maximum => Ok(self.most.clone().unwrap_or(Value::Null)),
            _ if self.count == 0 => Ok(Value::Null),
            Function::Sum => number(Ok(self.sum)),
            Function::Avg => number(self.sum.div(&count)),
            Function::Variance => number(self.variance()),
            Function::Std => number(self.variance().and_then(|variance| variance.sqrt())),
        }
    }

    fn variance(&self) -> types::Result<Number> {
        if self.count < 2 {
            return Ok(Number::from(0));
        }
        let mean_part = self.sum.mul(&self.sum)?.div(&Number::from_u64(self.count))?;
        let variance = self.squares.sub(&mean_part)?.div(&Number::from_u64(self.count - 1))?;
        // Rounding of the last digit may lead below zero.
        Ok(if variance.signum() < 0 { Number::from(0) } else { variance })
    }
}

fn number_of(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Double(x) => Number::from_f64(*x).ok(),
        Value::Float(x) => Number::from_f64(f64::from(*x)).ok(),
        _ => None,
    }
}

fn is_less(a: &Value, b: &Value) -> bool {
    match (number_of(a), number_of(b), a, b) {
        (Some(a), Some(b), ..) => a < b,
        (_, _, Value::Text(a), Value::Text(b)) => a < b,
        (_, _, Value::Date(a), Value::Date(b)) => a < b,
        (_, _, Value::Timestamp(a), Value::Timestamp(b)) => a < b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_leave_nulls_out() {
        let mut tally = Tally::default();
        for value in [Some(2), None, Some(4), Some(9)] {
            tally.add(&value.map_or(Value::Null, |n: i64| Value::Number(n.into())), true);
        }
        let all = [
            (Function::Avg, 5),
            (Function::Count, 3),
            (Function::Minimum, 2),
            (Function::Maximum, 9),
            (Function::Number, 4),
            (Function::Sum, 15),
            (Function::Variance, 13),
        ];
        for (function, wanted) in all {
            assert_eq!(tally.value(function), Ok(Value::Number(wanted.into())), "{function:?}");
        }
        assert_eq!(Tally::default().value(Function::Sum), Ok(Value::Null));
        let mut endless = Tally::default();
        endless.add(&Value::Double(f64::INFINITY), false);
        assert_eq!(endless.value(Function::Sum), Err(()));
        assert_eq!(Tally::default().value(Function::Count), Ok(Value::Number(0.into())));
    }

    #[test]
    fn functions_are_known_by_their_abbreviations() {
        assert_eq!(Function::parse("COU"), Some(Function::Count));
        assert_eq!(Function::parse("num"), Some(Function::Number));
        assert_eq!(Function::parse("varia"), Some(Function::Variance));
        assert_eq!(Function::parse("su"), None);
        assert_eq!(Function::parse("sums"), None);
    }
}
