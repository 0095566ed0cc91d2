//! Estimates from statistics: the selectivity of conditions, the number of pairs of a join, the number of groups.
//!
//! Pure functions: from a condition and the statistics of the columns in its registers they compute a share between 0
//! and 1. The rules are Oracle's. An equality uses the column's histogram, or 1/NDV. A range is interpolated between
//! the lowest and the highest value; outside, the share falls linearly to zero over the width of the range. An unknown
//! value counts as one of NDV values in an equality and as 5 % in a range. Conditions joined by AND multiply, except
//! that two bounds of one column are one range, and equalities on a column group are one equality on the group. NULLs
//! count: a comparison is true only for rows with a value.
//!
//! Rejected: exponential back-off for AND as in SQL Server, because plans are compared with Oracle's.

use crate::ir::{CmpOp, Compared, Expr, Node, Reg};
use crate::typing::{Class, class};
use dictionary::statistics::{cut, group_value, place_of_bytes};
use dictionary::{ColumnGroup, ColumnStatistics, Endpoint, Histogram, HistogramKind, TableStatistics, place_of};
use types::{DataType, LenUnit, Value};

/// Selectivity of a range with an unknown bound or with an expression as operand.
pub const RANGE: f64 = 0.05;
/// Selectivity of an equality with an expression as operand, or on a column without statistics.
pub const EQUALITY: f64 = 0.01;
/// Selectivity of LIKE with an unknown pattern, or a pattern that begins with a wildcard.
pub const LIKE: f64 = 0.05;
/// Selectivity of any other condition, including one with a subquery.
pub const UNKNOWN: f64 = 0.05;
/// Rows of a table without statistics whose blocks have not been counted.
pub const DEFAULT_ROWS: f64 = 2000.0;
/// Bytes of a row of a table without statistics.
pub const DEFAULT_ROW_BYTES: f64 = 100.0;
/// Rows of a collection in TABLE().
pub const COLLECTION_ROWS: f64 = 8168.0;
/// Default statistics of an index: levels above the leaves, leaves, distinct keys, clustering factor.
pub const DEFAULT_INDEX: (u32, f64, f64, f64) = (1, 25.0, 100.0, 800.0);

/// The statistics of the column in a register.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    /// Number of the row source: columns with the same number belong to one row.
    pub source: usize,
    /// The column's position in its table.
    pub position: usize,
    pub data_type: &'a DataType,
    pub nullable: bool,
    pub table: Option<&'a TableStatistics>,
    pub statistics: Option<&'a ColumnStatistics>,
}

impl Column<'_> {
    fn rows(&self) -> f64 {
        self.table.map_or(0.0, |table| table.rows as f64)
    }

    /// The share of rows that have a value.
    fn not_null(&self) -> f64 {
        match self.statistics {
            Some(s) if self.rows() > 0.0 => (1.0 - s.nulls as f64 / self.rows()).clamp(0.0, 1.0),
            _ => 1.0,
        }
    }

    /// Distinct values; 100 without statistics.
    fn distinct(&self) -> f64 {
        self.statistics.map_or(1.0 / EQUALITY, |s| (s.distinct as f64).max(1.0))
    }

    /// A value in the stored form of the column. `None` if the types do not allow it.
    fn stored(&self, value: &Value) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match (class(self.data_type), value) {
            (Class::Number, Value::Number(_))
            | (Class::Date, Value::Date(_))
            | (Class::Double, Value::Double(_))
            | (Class::Float, Value::Float(_))
            | (Class::Raw, Value::Raw(_))
            | (Class::IntervalYm, Value::IntervalYm(_))
            | (Class::IntervalDs, Value::IntervalDs(_)) => types::codec::encode(value, &mut bytes),
            (Class::Timestamp, Value::Timestamp(_)) => types::codec::encode_instant(value, &mut bytes),
            (Class::Text, Value::Text(text)) => {
                bytes.extend_from_slice(text.as_bytes());
                let missing = match self.data_type {
                    DataType::Char { len, unit: LenUnit::Byte } => (*len as usize).saturating_sub(bytes.len()),
                    DataType::Char { len, unit: LenUnit::Char } | DataType::Nchar { len } => {
                        (*len as usize).saturating_sub(text.chars().count())
                    }
                    _ => 0,
                };
                bytes.resize(bytes.len() + missing, b' ');
            }
            _ => return None,
        }
        Some(bytes)
    }
}

/// The value that a column is compared with, as known at plan time.
enum Known {
    /// NULL: every comparison is UNKNOWN.
    Null,
    Value(Value),
    /// Unknown: a bind that is not peeked, a column of another row source, an expression.
    Later,
}

/// The value of a bind that a column is compared with, if it is known.
pub type Peek<'a> = dyn Fn(usize, &Column<'_>, Compared) -> Option<Value> + 'a;

/// Estimates conditions of one statement.
pub struct Estimator<'a> {
    column: &'a dyn Fn(Reg) -> Option<Column<'a>>,
    bind: &'a Peek<'a>,
}

impl<'a> Estimator<'a> {
    /// `column` returns the statistics of the column in a register, or `None`. Binds are unknown.
    pub fn new(column: &'a dyn Fn(Reg) -> Option<Column<'a>>) -> Estimator<'a> {
        Estimator { column, bind: &|_, _, _| None }
    }

    /// Adds values of binds, from the execution that the statement is planned for. `bind` is called for each comparison
    /// of a column with a bind.
    #[must_use]
    pub fn peeking(self, bind: &'a Peek<'a>) -> Estimator<'a> {
        Estimator { bind, ..self }
    }

    /// The share of rows for which a condition is true.
    pub fn selectivity(&self, condition: &Expr) -> f64 {
        self.share(condition).clamp(0.0, 1.0)
    }

    /// The share of rows for which all conditions are true.
    pub fn conjunction<'c>(&self, conditions: impl IntoIterator<Item = &'c Expr>) -> f64 {
        let mut all = Vec::new();
        conditions.into_iter().for_each(|condition| flatten(condition, &mut all));
        self.all(&all).clamp(0.0, 1.0)
    }

    fn share(&self, condition: &Expr) -> f64 {
        match &condition.node {
            Node::Const(Value::Boolean(true)) => 1.0,
            Node::Const(_) => 0.0,
            Node::And(_) => self.conjunction([condition]),
            Node::Or(list) => list.iter().fold(0.0, |kept, c| {
                let more = self.selectivity(c);
                kept + more - kept * more
            }),
            Node::Not(c) => 1.0 - self.selectivity(c),
            Node::Cmp(op, _, left, right) => self.comparison(*op, left, right),
            Node::IsNull(value, negated) => self.is_null(value, *negated),
            Node::Like { value, pattern, escape, negated } => {
                let kept = self.like(value, pattern, escape.as_deref());
                if *negated { (self.not_null(value) - kept).max(0.0) } else { kept }
            }
            Node::InList { value, list, negated, .. } => {
                let kept = list.iter().map(|item| self.comparison(CmpOp::Eq, value, item)).sum::<f64>();
                let most = self.not_null(value);
                let kept = kept.min(most);
                if *negated { most - kept } else { kept }
            }
            Node::Exists(_) | Node::Quantified { .. } => UNKNOWN,
            Node::InSub { negated, .. } => {
                if *negated {
                    1.0 - UNKNOWN
                } else {
                    UNKNOWN
                }
            }
            Node::Reg(_) => 0.5,
            _ => UNKNOWN,
        }
    }

    /// The column that an expression consists of, if any.
    fn column_of(&self, expr: &Expr) -> Option<Column<'a>> {
        match &expr.node {
            Node::Reg(reg) => (self.column)(*reg),
            // A conversion inside a family of types keeps the order of the values.
            Node::Convert(inner) | Node::Cast(inner) if class(&inner.ty) == class(&expr.ty) => self.column_of(inner),
            _ => None,
        }
    }

    /// A value that is not compared with a column.
    fn value_of(&self, expr: &Expr) -> Known {
        known(expr, &|_| None)
    }

    /// A value that a column is compared with.
    fn value_for(&self, column: &Column<'_>, compared: Compared, expr: &Expr) -> Known {
        known(expr, &|n| (self.bind)(n, column, compared))
    }

    fn not_null(&self, expr: &Expr) -> f64 {
        self.column_of(expr).map_or(1.0, |column| column.not_null())
    }

    fn is_null(&self, value: &Expr, negated: bool) -> f64 {
        let nulls = match (self.column_of(value), &value.node) {
            (_, Node::Const(value)) => f64::from(u8::from(value.is_null())),
            (Some(column), _) if !column.nullable => 0.0,
            (Some(column), _) if column.statistics.is_some() => 1.0 - column.not_null(),
            _ => UNKNOWN,
        };
        if negated { 1.0 - nulls } else { nulls }
    }

    fn comparison(&self, op: CmpOp, left: &Expr, right: &Expr) -> f64 {
        match (self.column_of(left), self.column_of(right)) {
            (Some(a), Some(b)) => columns_compared(op, &a, &b),
            (Some(column), None) => self.compared(op, &column, right),
            (None, Some(column)) => self.compared(op.swap(), &column, left),
            (None, None) => match (self.value_of(left), self.value_of(right)) {
                (Known::Null, _) | (_, Known::Null) => 0.0,
                (Known::Value(a), Known::Value(b)) => constants_compared(op, &a, &b).unwrap_or(UNKNOWN),
                _ => match op {
                    CmpOp::Eq => EQUALITY,
                    CmpOp::Ne => 1.0 - EQUALITY,
                    _ => RANGE,
                },
            },
        }
    }

    /// The selectivity of a column compared with an expression that is not a column of a table.
    fn compared(&self, op: CmpOp, column: &Column<'_>, with: &Expr) -> f64 {
        compared(op, column, &self.value_for(column, Compared::By(op), with))
    }

    fn like(&self, value: &Expr, pattern: &Expr, escape: Option<&Expr>) -> f64 {
        let Some(column) = self.column_of(value) else { return LIKE };
        let escape = match escape.map(|e| self.value_of(e)) {
            None => None,
            Some(Known::Value(Value::Text(escape))) => escape.chars().next(),
            Some(_) => return LIKE * column.not_null(),
        };
        match self.value_for(&column, Compared::Like, pattern) {
            Known::Null => 0.0,
            Known::Value(Value::Text(pattern)) => liked(&column, &pattern, escape),
            _ => unknown_range(&column),
        }
    }

    /// The selectivity of the conditions of an AND.
    fn all(&self, conditions: &[&Expr]) -> f64 {
        let mut done = vec![false; conditions.len()];
        let mut kept = self.grouped(conditions, &mut done);
        for at in 0..conditions.len() {
            if !std::mem::replace(&mut done[at], true) {
                kept *= match self.bound(conditions[at]) {
                    Some(bound) => self.bounds(bound, &conditions[at + 1..], &mut done[at + 1..]),
                    None => self.selectivity(conditions[at]),
                };
            }
        }
        kept
    }

    /// The bound that a comparison sets on a column with a numeric place: register, whether it is a lower bound,
    /// operator and value.
    fn bound<'c>(&self, condition: &'c Expr) -> Option<(Reg, bool, CmpOp, &'c Expr)> {
        let Node::Cmp(op, _, left, right) = &condition.node else { return None };
        let reg = |e: &Expr| match e.node {
            Node::Reg(reg) if (self.column)(reg).is_some() => Some(reg),
            _ => None,
        };
        let (reg, op, value) = match (reg(left), reg(right)) {
            (Some(reg), None) => (reg, *op, &**right),
            (None, Some(reg)) => (reg, op.swap(), &**left),
            _ => return None,
        };
        let column = (self.column)(reg)?;
        let known = || !matches!(self.value_for(&column, Compared::By(op), value), Known::Null);
        match op {
            CmpOp::Gt | CmpOp::Ge if known() => Some((reg, true, op, value)),
            CmpOp::Lt | CmpOp::Le if known() => Some((reg, false, op, value)),
            _ => None,
        }
    }

    /// The selectivity of a bound, combined with an opposite bound among the conditions after it into one range.
    fn bounds(&self, first: (Reg, bool, CmpOp, &Expr), behind: &[&Expr], done: &mut [bool]) -> f64 {
        let (reg, below, op, value) = first;
        let Some(column) = (self.column)(reg) else { return RANGE };
        let other = (0..behind.len()).find_map(|at| {
            let found = self.bound(behind[at]).filter(|found| !done[at] && found.0 == reg && found.1 != below);
            found.map(|found| (at, found))
        });
        let Some((at, (.., other_op, other_value))) = other else { return self.compared(op, &column, value) };
        let known = |op, value| self.value_for(&column, Compared::By(op), value);
        match (known(op, value), known(other_op, other_value)) {
            (Known::Value(one), Known::Value(two)) => {
                done[at] = true;
                let closed = |op| matches!(op, CmpOp::Le | CmpOp::Ge);
                let (one, two) = ((&one, closed(op)), (&two, closed(other_op)));
                if below { range(&column, Some(one), Some(two)) } else { range(&column, Some(two), Some(one)) }
            }
            (Known::Later, Known::Later) => {
                done[at] = true;
                let one = unknown_range(&column);
                one * if column.distinct() < 20.0 { 1.0 / column.distinct() } else { RANGE }
            }
            // The opposite bound is multiplied in separately.
            _ => self.compared(op, &column, value),
        }
    }

    /// The selectivity of equalities covered by column groups. Marks the conditions that are covered.
    fn grouped(&self, conditions: &[&Expr], done: &mut [bool]) -> f64 {
        let mut equalities: Vec<Equality<'a>> = Vec::new();
        for (at, condition) in conditions.iter().enumerate() {
            let Node::Cmp(CmpOp::Eq, _, left, right) = &condition.node else { continue };
            let (column, value) = match (self.column_of(left), self.column_of(right)) {
                (Some(column), None) => (column, right),
                (None, Some(column)) => (column, left),
                _ => continue,
            };
            let again = |e: &Equality<'_>| e.column.source == column.source && e.column.position == column.position;
            // A value that does not occur in the column does not occur in the group either.
            let (inside, stored) = match self.value_for(&column, Compared::By(CmpOp::Eq), value) {
                Known::Value(value) => (!is_outside(&column, &value), column.stored(&value)),
                Known::Later => (true, None),
                Known::Null => (false, None),
            };
            if inside && column.table.is_some() && !equalities.iter().any(again) {
                equalities.push(Equality { at, column, stored });
            }
        }
        let mut kept = 1.0;
        while let Some((group, of)) = best_group(&equalities, done) {
            kept *= of_group(group, &of);
            of.iter().for_each(|e| done[e.at] = true);
        }
        kept
    }
}

/// An equality of a column and a value.
struct Equality<'a> {
    /// Position of the condition.
    at: usize,
    column: Column<'a>,
    /// The value in the column's stored form, if known.
    stored: Option<Vec<u8>>,
}

/// The share of rows with these values in the columns of a group, in group order. Uses the group's histogram if all
/// values are known.
fn of_group(group: &ColumnGroup, of: &[&Equality<'_>]) -> f64 {
    let statistics = &group.statistics;
    let stored: Option<Vec<Option<&[u8]>>> = of.iter().map(|e| e.stored.as_deref().map(Some)).collect();
    match (&statistics.histogram, stored) {
        (Some(histogram), Some(stored)) => equal_in(statistics, histogram, &group_value(&stored)),
        _ => 1.0 / (statistics.distinct as f64).max(1.0),
    }
}

fn known(expr: &Expr, bind: &dyn Fn(usize) -> Option<Value>) -> Known {
    match &expr.node {
        Node::Const(Value::Null) => Known::Null,
        Node::Const(value) => Known::Value(value.clone()),
        Node::Bind(n) => match bind(*n) {
            Some(Value::Null) => Known::Null,
            Some(value) => Known::Value(value),
            None => Known::Later,
        },
        Node::Convert(inner) | Node::Cast(inner) if class(&inner.ty) == class(&expr.ty) => known(inner, bind),
        _ => Known::Later,
    }
}

/// The share of rows for which a column compares with a value in this way.
pub fn share_of_value(column: &Column<'_>, how: Compared, value: &Value) -> f64 {
    let share = match (how, value) {
        (_, Value::Null) => 0.0,
        (Compared::By(op), value) => compared(op, column, &Known::Value(value.clone())),
        (Compared::Like, Value::Text(pattern)) => liked(column, pattern, None),
        (Compared::Like, _) => unknown_range(column),
    };
    share.clamp(0.0, 1.0)
}

fn compared(op: CmpOp, column: &Column<'_>, value: &Known) -> f64 {
    match (op, value) {
        (CmpOp::Eq, value) => equal(column, value),
        (_, Known::Null) => 0.0,
        (CmpOp::Ne, value) => (column.not_null() - equal(column, value)).max(0.0),
        (_, Known::Later) => unknown_range(column),
        (CmpOp::Lt | CmpOp::Le, Known::Value(value)) => range(column, None, Some((value, op == CmpOp::Le))),
        (CmpOp::Gt | CmpOp::Ge, Known::Value(value)) => range(column, Some((value, op == CmpOp::Ge)), None),
    }
}

fn liked(column: &Column<'_>, pattern: &str, escape: Option<char>) -> f64 {
    let (prefix, rest) = like_prefix(pattern, escape);
    match rest {
        None => equal(column, &Known::Value(Value::Text(prefix))),
        Some("%") if prefix.is_empty() => column.not_null(),
        Some(_) if prefix.is_empty() => LIKE * column.not_null(),
        Some(_) => prefixed(column, prefix.as_bytes()),
    }
}

/// The largest column group all of whose columns have an equality that is not covered yet, with these equalities in
/// group order.
fn best_group<'e, 'a>(
    equalities: &'e [Equality<'a>],
    done: &[bool],
) -> Option<(&'a ColumnGroup, Vec<&'e Equality<'a>>)> {
    let mut best: Option<(&ColumnGroup, Vec<&Equality<'a>>)> = None;
    for first in equalities.iter().filter(|e| !done[e.at]) {
        for group in first.column.table.iter().flat_map(|table| &table.groups) {
            let of = |position: &usize| {
                let mine = |e: &&Equality<'_>| {
                    !done[e.at] && e.column.source == first.column.source && e.column.position == *position
                };
                equalities.iter().find(mine)
            };
            let Some(of) = group.columns.iter().map(of).collect::<Option<Vec<_>>>() else { continue };
            if of.len() > 1 && best.as_ref().is_none_or(|(_, have)| have.len() < of.len()) {
                best = Some((group, of));
            }
        }
    }
    best
}

fn flatten<'c>(condition: &'c Expr, all: &mut Vec<&'c Expr>) {
    match &condition.node {
        Node::And(list) => list.iter().for_each(|c| flatten(c, all)),
        _ => all.push(condition),
    }
}

fn constants_compared(op: CmpOp, a: &Value, b: &Value) -> Option<f64> {
    let order = match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        _ => return None,
    };
    let holds = match op {
        CmpOp::Eq => order.is_eq(),
        CmpOp::Ne => order.is_ne(),
        CmpOp::Lt => order.is_lt(),
        CmpOp::Le => order.is_le(),
        CmpOp::Gt => order.is_gt(),
        CmpOp::Ge => order.is_ge(),
    };
    Some(f64::from(u8::from(holds)))
}

/// The selectivity of a comparison of two columns, of one row source or of two.
fn columns_compared(op: CmpOp, a: &Column<'_>, b: &Column<'_>) -> f64 {
    let values = a.not_null() * b.not_null();
    let same = a.source == b.source && a.position == b.position;
    match op {
        CmpOp::Eq | CmpOp::Le | CmpOp::Ge if same => a.not_null(),
        CmpOp::Ne | CmpOp::Lt | CmpOp::Gt if same => 0.0,
        CmpOp::Eq => equal_columns(a, b),
        CmpOp::Ne => (values - equal_columns(a, b)).max(0.0),
        _ => RANGE * values,
    }
}

fn equal_columns(a: &Column<'_>, b: &Column<'_>) -> f64 {
    join_selectivity(&JoinColumn::whole(*a), &JoinColumn::whole(*b))
}

/// A factor for values outside the range of the column: 1 inside, falling to 0 at the distance of one range.
fn nearness(statistics: &ColumnStatistics, place: f64) -> f64 {
    let Some((low, high)) = statistics.range else { return 1.0 };
    let distance = (low - place).max(place - high);
    if distance <= 0.0 {
        1.0
    } else if high > low {
        (1.0 - distance / (high - low)).max(0.0)
    } else {
        0.0
    }
}

fn is_outside(column: &Column<'_>, value: &Value) -> bool {
    let (Some(statistics), Some(place)) = (column.statistics, place_of(value)) else { return false };
    statistics.range.is_some_and(|(low, high)| place < low || place > high)
}

/// The number of sampled rows that a histogram represents. A top-frequency histogram has buckets for part of them only.
fn sample_of(statistics: &ColumnStatistics, histogram: &Histogram) -> f64 {
    let total = histogram.total();
    match histogram.kind {
        HistogramKind::TopFrequency => total.max(statistics.sample) as f64,
        _ => total as f64,
    }
}

fn unknown_range(column: &Column<'_>) -> f64 {
    let few = if column.statistics.is_some() && column.distinct() < 20.0 { 1.0 / column.distinct() } else { 0.0 };
    RANGE.max(few) * column.not_null()
}

/// The share of rows that have one given value.
fn equal(column: &Column<'_>, value: &Known) -> f64 {
    if matches!(value, Known::Null) {
        return 0.0;
    }
    let Some(statistics) = column.statistics else { return without_statistics(column) };
    let Known::Value(value) = value else { return column.not_null() / column.distinct() };
    if statistics.distinct == 0 {
        return 0.0;
    }
    let near = place_of(value).map_or(1.0, |place| nearness(statistics, place));
    let share = match (&statistics.histogram, column.stored(value)) {
        (Some(histogram), Some(bytes)) => equal_in(statistics, histogram, &bytes),
        _ => statistics.density.max(0.0),
    };
    (share * near * column.not_null()).min(column.not_null())
}

fn without_statistics(column: &Column<'_>) -> f64 {
    match column.rows() {
        rows if rows > 0.0 => (1.0 / rows).clamp(EQUALITY, 1.0),
        _ => EQUALITY,
    }
}

/// The share of non-NULL rows with this value, by the histogram.
fn equal_in(statistics: &ColumnStatistics, histogram: &Histogram, bytes: &[u8]) -> f64 {
    let total = sample_of(statistics, histogram);
    if total <= 0.0 {
        return statistics.density;
    }
    let others = |popular_rows: f64, popular: f64| {
        let left = (1.0 - popular_rows / total).max(0.0) / (statistics.distinct as f64 - popular).max(1.0);
        if left > 0.0 { left } else { statistics.density }
    };
    match histogram.kind {
        HistogramKind::Frequency => match histogram.find(bytes) {
            Ok(at) => histogram.endpoint(at).repeats as f64 / total,
            Err(_) => 0.5 * histogram.endpoints().map(|e| e.repeats).min().unwrap_or(0) as f64 / total,
        },
        HistogramKind::TopFrequency => match histogram.find(bytes) {
            Ok(at) => histogram.endpoint(at).repeats as f64 / total,
            Err(_) => others(histogram.total() as f64, histogram.len() as f64),
        },
        HistogramKind::Hybrid => {
            let bucket = total / histogram.len().max(1) as f64;
            let popular = |e: &Endpoint<'_>| e.repeats as f64 > bucket;
            let (rows, many) = histogram
                .endpoints()
                .filter(popular)
                .fold((0.0, 0.0), |(rows, many), e| (rows + e.repeats as f64, many + 1.0));
            let rest = others(rows, many);
            match histogram.find(bytes).map(|at| histogram.endpoint(at)) {
                Ok(e) if popular(&e) => e.repeats as f64 / total,
                Ok(e) => rest.max(e.repeats as f64 / total),
                Err(_) => rest,
            }
        }
        HistogramKind::HeightBalanced => {
            let height = |at: usize| {
                let before = if at == 0 { 0 } else { histogram.endpoint(at - 1).cumulative };
                histogram.endpoint(at).cumulative.saturating_sub(before)
            };
            let (rows, many) = (0..histogram.len())
                .map(height)
                .filter(|height| *height > 1)
                .fold((0.0, 0.0), |(rows, many), height| (rows + height as f64, many + 1.0));
            match histogram.find(bytes) {
                Ok(at) if height(at) > 1 => height(at) as f64 / total,
                _ => others(rows, many),
            }
        }
        HistogramKind::None => statistics.density,
    }
}

/// A bound of a range: the value, and whether it belongs to the range.
type End<'a> = (&'a Value, bool);

/// The share of rows between two bounds of a column.
fn range(column: &Column<'_>, low: Option<End<'_>>, high: Option<End<'_>>) -> f64 {
    let unknown = || [low, high].iter().flatten().map(|_| RANGE).product::<f64>() * column.not_null();
    let Some(statistics) = column.statistics else { return unknown() };
    if statistics.distinct == 0 {
        return 0.0;
    }
    let point = |end: End<'_>| Some((column.stored(end.0), place_of(end.0)?, end.1));
    let (low, high) = match (low.map(point), high.map(point)) {
        (Some(None), _) | (_, Some(None)) => return unknown(),
        (low, high) => (low.flatten(), high.flatten()),
    };
    between(column, statistics, low.as_ref(), high.as_ref()).unwrap_or_else(unknown) * column.not_null()
}

/// A bound in stored form if the type has one, its numeric place, and whether it belongs to the range.
type Point = (Option<Vec<u8>>, f64, bool);

/// The share of non-NULL rows between two points. `None` if the range of the column is unknown.
fn between(
    column: &Column<'_>,
    statistics: &ColumnStatistics,
    low: Option<&Point>,
    high: Option<&Point>,
) -> Option<f64> {
    let (lowest, highest) = statistics.range?;
    let one = 1.0 / column.distinct();
    if let (Some(low), Some(high)) = (low, high)
        && (low.1 > high.1 || low.0.as_ref().zip(high.0.as_ref()).is_some_and(|(low, high)| low > high))
    {
        return Some(0.0);
    }
    // The whole range lies outside the values of the column.
    let outside = low.filter(|low| low.1 > highest).or(high.filter(|high| high.1 < lowest));
    if let Some(outside) = outside {
        return Some(one * nearness(statistics, outside.1));
    }
    let below = |point: &Point, inclusive: bool| match (&statistics.histogram, &point.0) {
        (Some(histogram), Some(bytes)) => below_in(statistics, histogram, bytes, point.1, inclusive),
        _ => below_by_place(column, (lowest, highest), point.1, inclusive),
    };
    let from = low.map_or(0.0, |point| below(point, !point.2));
    let to = high.map_or(1.0, |point| below(point, point.2));
    let least = match &statistics.histogram {
        Some(h) if h.kind == HistogramKind::Frequency && h.total() > 0 => {
            0.5 * h.endpoints().map(|e| e.repeats).min().unwrap_or(0) as f64 / h.total() as f64
        }
        _ => one,
    };
    Some((to - from).max(least).min(1.0))
}

/// The share of values below a place, interpolated between the lowest and the highest.
fn below_by_place(column: &Column<'_>, (lowest, highest): (f64, f64), place: f64, inclusive: bool) -> f64 {
    let one = 1.0 / column.distinct();
    if place > highest || (place == highest && inclusive) {
        return 1.0;
    }
    if place < lowest {
        return 0.0;
    }
    if highest <= lowest {
        return if inclusive { 1.0 } else { 0.0 };
    }
    let share = (place - lowest) / (highest - lowest);
    // At the upper end, an open range excludes the highest value; elsewhere, a closed range includes its value.
    if place == highest {
        1.0 - one
    } else if inclusive {
        (share + one).min(1.0)
    } else {
        share
    }
}

/// The share of values below a value, by the histogram.
fn below_in(statistics: &ColumnStatistics, histogram: &Histogram, bytes: &[u8], place: f64, inclusive: bool) -> f64 {
    let total = histogram.total() as f64;
    if total <= 0.0 {
        return 0.0;
    }
    let exact = matches!(histogram.kind, HistogramKind::Frequency | HistogramKind::TopFrequency);
    let rows = match histogram.find(bytes) {
        Ok(at) => {
            let endpoint = histogram.endpoint(at);
            if inclusive { endpoint.cumulative as f64 } else { (endpoint.cumulative - endpoint.repeats) as f64 }
        }
        Err(0) => 0.0,
        Err(at) if at == histogram.len() => total,
        Err(at) => {
            let (before, after) = (histogram.endpoint(at - 1), histogram.endpoint(at));
            let inner = (after.cumulative - before.cumulative).saturating_sub(after.repeats) as f64;
            let part = if exact || after.place <= before.place {
                0.0
            } else {
                ((place - before.place) / (after.place - before.place)).clamp(0.0, 1.0)
            };
            before.cumulative as f64 + inner * part
        }
    };
    let share = rows / total;
    if histogram.kind != HistogramKind::TopFrequency {
        return share;
    }
    // Values without a bucket are spread evenly over the range.
    let covered = total / sample_of(statistics, histogram).max(1.0);
    let even = match statistics.range {
        Some((low, high)) if high > low => ((place - low) / (high - low)).clamp(0.0, 1.0),
        _ => share,
    };
    share * covered + even * (1.0 - covered)
}

/// The literal prefix of a LIKE pattern, and the rest from its first wildcard on, if there is one.
pub fn like_prefix(pattern: &str, escape: Option<char>) -> (String, Option<&str>) {
    let mut prefix = String::new();
    let mut chars = pattern.char_indices();
    while let Some((at, c)) = chars.next() {
        if Some(c) == escape {
            match chars.next() {
                Some((_, c)) => prefix.push(c),
                None => break,
            }
        } else if matches!(c, '%' | '_') {
            return (prefix, Some(&pattern[at..]));
        } else {
            prefix.push(c);
        }
    }
    (prefix, None)
}

/// Least selectivity of a prefix without a histogram.
const PREFIX_LEAST: f64 = 0.002;

/// The share of rows whose value begins with these bytes.
fn prefixed(column: &Column<'_>, prefix: &[u8]) -> f64 {
    let Some(statistics) = column.statistics else { return LIKE * column.not_null() };
    if statistics.distinct == 0 {
        return 0.0;
    }
    let mut above = prefix.to_vec();
    while above.last() == Some(&0xFF) {
        above.pop();
    }
    if let Some(last) = above.last_mut() {
        *last += 1;
    }
    let point = |bytes: &[u8], inclusive| (Some(cut(bytes).to_vec()), place_of_bytes(bytes), inclusive);
    let (low, high) = (point(prefix, true), point(&above, false));
    let kept = between(column, statistics, Some(&low), Some(&high)).unwrap_or(LIKE);
    // Texts are not spread evenly between the least and the greatest value: few of all possible strings occur.
    let least = if statistics.histogram.is_none() { PREFIX_LEAST } else { 0.0 };
    kept.max(least) * column.not_null()
}

/// One side of a join: the column, and the share of its table's rows that remains.
#[derive(Clone, Copy, Debug)]
pub struct JoinColumn<'a> {
    pub column: Column<'a>,
    /// The share of rows that other conditions keep.
    pub kept: f64,
}

impl<'a> JoinColumn<'a> {
    /// A column of a table without other conditions.
    pub fn whole(column: Column<'a>) -> JoinColumn<'a> {
        JoinColumn { column, kept: 1.0 }
    }

    /// Distinct values among the remaining rows.
    fn distinct(&self) -> f64 {
        let rows = self.column.rows();
        distinct_after(self.column.distinct(), rows, rows * self.kept).max(1.0)
    }
}

/// The expected number of `distinct` values N that occur in `kept` of `rows` randomly chosen rows: N (1 - (1 - kept /
/// rows) ^ (rows / N)).
pub fn distinct_after(distinct: f64, rows: f64, kept: f64) -> f64 {
    if distinct <= 0.0 || rows <= 0.0 || kept >= rows {
        return distinct;
    }
    let share = (kept / rows).clamp(0.0, 1.0);
    (distinct * (1.0 - (1.0 - share).powf(rows / distinct))).min(kept).max(0.0)
}

/// The share of pairs of remaining rows in which the two columns are equal.
pub fn join_selectivity(left: &JoinColumn<'_>, right: &JoinColumn<'_>) -> f64 {
    let values = left.column.not_null() * right.column.not_null();
    let share = matched(&left.column, &right.column).unwrap_or_else(|| 1.0 / left.distinct().max(right.distinct()));
    (share * values).clamp(0.0, 1.0)
}

/// The share of pairs of values that are equal, by two frequency histograms.
fn matched(left: &Column<'_>, right: &Column<'_>) -> Option<f64> {
    if class(left.data_type) != class(right.data_type) {
        return None;
    }
    let histogram = |column: &Column<'_>| -> Option<(std::sync::Arc<Histogram>, f64)> {
        let statistics = column.statistics?;
        let histogram = statistics.histogram.as_ref()?;
        let counts = matches!(histogram.kind, HistogramKind::Frequency | HistogramKind::TopFrequency);
        (counts && histogram.total() > 0).then(|| (histogram.clone(), sample_of(statistics, histogram)))
    };
    let ((a, a_rows), (b, b_rows)) = (histogram(left)?, histogram(right)?);
    let both = a.endpoints().filter_map(|e| {
        let other = b.endpoint(b.find(e.value).ok()?);
        Some((e.repeats as f64 / a_rows) * (other.repeats as f64 / b_rows))
    });
    let share: f64 = both.sum();
    // Values without a bucket are rare. Without any common value, the sample is the more likely cause.
    Some(share.max(0.5 / (a_rows * b_rows)))
}

/// The share of row pairs for which all these column pairs are equal. The columns of one side have at most as many
/// combinations as their column group has values, or as there are rows.
pub fn join_selectivity_of(pairs: &[(JoinColumn<'_>, JoinColumn<'_>)]) -> f64 {
    if let [(left, right)] = pairs {
        return join_selectivity(left, right);
    }
    let product: f64 = pairs.iter().map(|(left, right)| join_selectivity(left, right)).product();
    let side = |column: &JoinColumn<'_>| {
        (column.distinct(), column.column.rows() * column.kept, column.column.source, column.column.position)
    };
    let left: Vec<_> = pairs.iter().map(|(left, _)| side(left)).collect();
    let right: Vec<_> = pairs.iter().map(|(_, right)| side(right)).collect();
    let combinations = |side: &[(f64, f64, usize, usize)], table: Option<&TableStatistics>| {
        let one_table = side.windows(2).all(|two| two[0].2 == two[1].2);
        let product: f64 = side.iter().map(|(distinct, ..)| distinct).product();
        let positions: Vec<usize> = side.iter().map(|(.., position)| *position).collect();
        let group = table.filter(|_| one_table).and_then(|table| table.group_of(&positions));
        let rows = side.iter().map(|(_, rows, ..)| *rows).fold(f64::INFINITY, f64::min);
        let most = if one_table && rows > 0.0 { rows } else { f64::INFINITY };
        group.map_or(product, |group| product.min(group.statistics.distinct.max(1) as f64)).min(most)
    };
    let values: f64 = pairs.iter().map(|(l, r)| l.column.not_null() * r.column.not_null()).product();
    let (Some((first_left, first_right)), true) = (pairs.first(), pairs.len() > 1) else { return 1.0 };
    let most = combinations(&left, first_left.column.table).max(combinations(&right, first_right.column.table));
    product.max(values / most.max(1.0)).clamp(0.0, 1.0)
}

/// The share of left rows with an equal value on the right: a semijoin keeps them, an antijoin the others.
pub fn semi_selectivity(left: &JoinColumn<'_>, right: &JoinColumn<'_>) -> f64 {
    if right.column.table.is_some() && right.column.rows() * right.kept <= 0.0 {
        return 0.0;
    }
    let (one, two) = (left.distinct(), right.distinct());
    (left.column.not_null() * one.min(two) / one).clamp(0.0, 1.0)
}

/// The number of groups of `rows` rows by these keys; `None` is a key that is not a column of a table.
///
/// Distinct values multiply; each column after the first is divided by the square root of two, because columns are
/// seldom independent. A column group of all keys of a table is used instead if there is one.
pub fn groups(keys: &[Option<Column<'_>>], rows: f64) -> f64 {
    if keys.is_empty() || rows <= 1.0 {
        return rows.clamp(0.0, 1.0);
    }
    let mut product = 1.0;
    let mut first = true;
    let mut left: Vec<&Column<'_>> = Vec::new();
    let mut multiply = |values: f64| {
        product *= if std::mem::take(&mut first) { values } else { (values / std::f64::consts::SQRT_2).max(1.0) };
    };
    for key in keys {
        match key {
            Some(column) if !left.iter().any(|c| c.source == column.source && c.position == column.position) => {
                left.push(column);
            }
            Some(_) => {}
            // An expression is assumed to have a typical number of values.
            None => multiply((rows / 10.0).clamp(1.0, 100.0)),
        }
    }
    while let Some(column) = left.first().copied() {
        let of_table: Vec<usize> = left.iter().filter(|c| c.source == column.source).map(|c| c.position).collect();
        let group = column.table.and_then(|table| {
            let inside = |columns: &[usize]| columns.len() > 1 && columns.iter().all(|c| of_table.contains(c));
            table.groups.iter().filter(|g| inside(&g.columns)).max_by_key(|g| g.columns.len())
        });
        match group {
            Some(group) => {
                multiply(distinct_after(group.statistics.distinct as f64, column.rows(), rows));
                left.retain(|c| c.source != column.source || !group.columns.contains(&c.position));
            }
            None => {
                let null = if column.not_null() < 1.0 { 1.0 } else { 0.0 };
                multiply(distinct_after(column.distinct() + null, column.rows(), rows));
                left.remove(0);
            }
        }
    }
    product.clamp(1.0, rows)
}
