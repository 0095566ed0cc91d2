//! Estimates: each rule on small statistics whose result can be computed by hand.

use dictionary::statistics::{ENDPOINT_BYTES, place_of_bytes};
use dictionary::{ColumnGroup, ColumnStatistics, Endpoint, Histogram, HistogramKind, TableStatistics};
use plan::estimate::{self, Column, Estimator, JoinColumn};
use plan::{CmpOp, Compare, Expr, Node, Reg};
use std::sync::Arc;
use types::{DataType, LenUnit, Number, Value};

const NUMBER: DataType = DataType::NUMBER;
const TEXT: DataType = DataType::Varchar2 { len: 100, unit: LenUnit::Byte };

fn stored(n: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    types::codec::encode(&Value::Number(Number::from_i64(n)), &mut bytes);
    bytes
}

/// A histogram of numbers: value, cumulative count, repeats.
fn numbers(kind: HistogramKind, all: &[(i64, u64, u64)]) -> Option<Arc<Histogram>> {
    let values: Vec<Vec<u8>> = all.iter().map(|(n, ..)| stored(*n)).collect();
    let endpoints = all.iter().zip(&values).map(|((n, cumulative, repeats), value)| Endpoint {
        value,
        place: *n as f64,
        cumulative: *cumulative,
        repeats: *repeats,
    });
    Some(Arc::new(Histogram::new(kind, endpoints)))
}

/// A table of 1,000 rows with columns, each at the position of its register.
struct Table {
    statistics: TableStatistics,
    columns: Vec<(DataType, Option<ColumnStatistics>)>,
}

impl Table {
    fn of(columns: Vec<(DataType, Option<ColumnStatistics>)>) -> Table {
        Table { statistics: TableStatistics::new(1000, 10, 100), columns }
    }

    fn column(&self, at: usize) -> Column<'_> {
        let (data_type, statistics) = &self.columns[at];
        let table = Some(&self.statistics);
        Column { source: 0, position: at, data_type, nullable: true, table, statistics: statistics.as_ref() }
    }

    fn share(&self, condition: &Expr) -> f64 {
        self.peeking(condition, &|_| None)
    }

    fn peeking(&self, condition: &Expr, bind: &dyn Fn(usize) -> Option<Value>) -> f64 {
        let resolve = |reg: Reg| ((reg as usize) < self.columns.len()).then(|| self.column(reg as usize));
        Estimator::new(&resolve).peeking(&|n, _, _| bind(n)).selectivity(condition)
    }
}

fn expr(node: Node, ty: DataType) -> Expr {
    Expr { node, ty }
}

fn reg(n: Reg) -> Expr {
    expr(Node::Reg(n), NUMBER)
}

fn int(n: i64) -> Expr {
    expr(Node::Const(Value::Number(Number::from_i64(n))), NUMBER)
}

fn text(s: &str) -> Expr {
    expr(Node::Const(Value::Text(s.into())), TEXT)
}

fn cmp(left: Expr, op: CmpOp, right: Expr) -> Expr {
    expr(Node::Cmp(op, Compare::Plain, Box::new(left), Box::new(right)), DataType::Boolean)
}

fn and(list: Vec<Expr>) -> Expr {
    expr(Node::And(list), DataType::Boolean)
}

fn like(value: Expr, pattern: &str) -> Expr {
    let (value, pattern) = (Box::new(value), Box::new(text(pattern)));
    expr(Node::Like { value, pattern, escape: None, negated: false }, DataType::Boolean)
}

fn in_list(value: Expr, list: Vec<Expr>, negated: bool) -> Expr {
    expr(Node::InList { value: Box::new(value), list, compare: Compare::Plain, negated }, DataType::Boolean)
}

#[track_caller]
fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-6, "{got} instead of {expected}");
}

/// Values 0 to 100, 50 of them; one row in five is NULL.
fn plain() -> Table {
    Table::of(vec![(NUMBER, Some(ColumnStatistics::new(50, 200, Some((0.0, 100.0)))))])
}

#[test]
fn an_equality_is_one_of_the_distinct_values_that_are_not_null() {
    let t = plain();
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(7))), 0.8 / 50.0);
    near(t.share(&cmp(int(7), CmpOp::Eq, reg(0))), 0.8 / 50.0);
    near(t.share(&cmp(reg(0), CmpOp::Eq, expr(Node::Bind(0), NUMBER))), 0.8 / 50.0);
    near(t.share(&cmp(reg(0), CmpOp::Ne, int(7))), 0.8 - 0.8 / 50.0);
    near(t.share(&cmp(reg(0), CmpOp::Eq, expr(Node::Const(Value::Null), NUMBER))), 0.0);
}

#[test]
fn equalities_outside_the_values_fall_to_zero_within_one_range() {
    let t = plain();
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(150))), 0.5 * 0.8 / 50.0);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(-25))), 0.75 * 0.8 / 50.0);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(200))), 0.0);
    near(t.share(&cmp(reg(0), CmpOp::Gt, int(150))), 0.5 * 0.8 / 50.0);
    near(t.share(&cmp(reg(0), CmpOp::Lt, int(-200))), 0.0);
}

#[test]
fn a_range_is_interpolated_and_closed_ends_take_their_value_in() {
    let t = plain();
    near(t.share(&cmp(reg(0), CmpOp::Lt, int(25))), 0.8 * 0.25);
    near(t.share(&cmp(reg(0), CmpOp::Le, int(25))), 0.8 * (0.25 + 0.02));
    near(t.share(&cmp(reg(0), CmpOp::Gt, int(25))), 0.8 * (0.75 - 0.02));
    near(t.share(&cmp(reg(0), CmpOp::Le, int(100))), 0.8);
    near(t.share(&cmp(reg(0), CmpOp::Ge, int(0))), 0.8);
    near(t.share(&cmp(reg(0), CmpOp::Gt, int(1000))), 0.0);
}

#[test]
fn two_bounds_of_a_column_are_one_range() {
    let t = plain();
    let both = vec![cmp(reg(0), CmpOp::Gt, int(25)), cmp(reg(0), CmpOp::Lt, int(75))];
    near(t.share(&and(both)), 0.8 * (0.75 - 0.27));
    let crossed = vec![cmp(reg(0), CmpOp::Gt, int(75)), cmp(reg(0), CmpOp::Lt, int(25))];
    near(t.share(&and(crossed)), 0.0);
    let unknown = |op, n| cmp(reg(0), op, expr(Node::Bind(n), NUMBER));
    near(t.share(&and(vec![unknown(CmpOp::Ge, 0), unknown(CmpOp::Le, 1)])), 0.8 * 0.05 * 0.05);
    near(t.share(&unknown(CmpOp::Ge, 0)), 0.8 * 0.05);
}

#[test]
fn a_peeked_bind_is_a_value() {
    let t = plain();
    let condition = cmp(reg(0), CmpOp::Lt, expr(Node::Bind(3), NUMBER));
    let bind = |n: usize| (n == 3).then(|| Value::Number(Number::from_i64(50)));
    near(t.peeking(&condition, &bind), 0.8 * 0.5);
    near(t.peeking(&condition, &|_| Some(Value::Null)), 0.0);
}

#[test]
fn a_frequency_histogram_knows_every_value() {
    let histogram = numbers(HistogramKind::Frequency, &[(1, 700, 0), (2, 900, 0), (5, 1000, 0)]);
    let statistics = ColumnStatistics { histogram, sample: 1000, ..ColumnStatistics::new(3, 0, Some((1.0, 5.0))) };
    let t = Table::of(vec![(NUMBER, Some(statistics))]);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(1))), 0.7);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(5))), 0.1);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(3))), 0.05);
    near(t.share(&cmp(reg(0), CmpOp::Le, int(1))), 0.7);
    near(t.share(&cmp(reg(0), CmpOp::Lt, int(5))), 0.9);
    near(t.share(&cmp(reg(0), CmpOp::Gt, int(1))), 0.3);
    near(t.share(&in_list(reg(0), vec![int(1), int(2)], false)), 0.9);
    near(t.share(&in_list(reg(0), vec![int(1), int(2)], true)), 0.1);
    // Between two values: half of the rarest value, not zero.
    let gap = vec![cmp(reg(0), CmpOp::Gt, int(2)), cmp(reg(0), CmpOp::Lt, int(5))];
    near(t.share(&and(gap)), 0.05);
}

#[test]
fn values_without_a_bucket_share_what_popular_ones_leave() {
    // 1,000 rows: 5 has 400 of them, 20 other values share the rest.
    let hybrid = numbers(HistogramKind::Hybrid, &[(1, 10, 10), (5, 500, 400), (9, 700, 20), (20, 1000, 30)]);
    let with = |histogram, distinct| {
        let statistics =
            ColumnStatistics { histogram, sample: 1000, ..ColumnStatistics::new(distinct, 0, Some((1.0, 20.0))) };
        Table::of(vec![(NUMBER, Some(statistics))])
    };
    let t = with(hybrid, 21);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(5))), 0.4);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(7))), 0.6 / 20.0);
    near(t.share(&cmp(reg(0), CmpOp::Le, int(5))), 0.5);
    near(t.share(&cmp(reg(0), CmpOp::Lt, int(5))), 0.1);
    // Half of the bucket between 5 and 9, without the rows that are 9.
    near(t.share(&cmp(reg(0), CmpOp::Lt, int(7))), 0.5 + 0.18 / 2.0);

    let top = numbers(HistogramKind::TopFrequency, &[(1, 500, 0), (5, 990, 0)]);
    let t = with(top, 7);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(1))), 0.5);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(9))), 0.01 / 5.0);

    let balanced = numbers(HistogramKind::HeightBalanced, &[(1, 0, 0), (4, 1, 0), (5, 6, 0), (20, 10, 0)]);
    let t = with(balanced, 12);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(5))), 0.5);
    near(t.share(&cmp(reg(0), CmpOp::Eq, int(2))), 0.1 / 10.0);
}

#[test]
fn like_is_a_range_over_its_prefix() {
    let ends = (place_of_bytes(b"aa"), place_of_bytes(b"kz"));
    let t = Table::of(vec![(TEXT, Some(ColumnStatistics::new(100, 0, Some(ends))))]);
    let column = || expr(Node::Reg(0), TEXT);
    let expected = (place_of_bytes(b"c") - place_of_bytes(b"b")) / (ends.1 - ends.0);
    near(t.share(&like(column(), "b%")), expected);
    near(t.share(&like(column(), "b%x")), expected);
    near(t.share(&like(column(), "%x")), 0.05);
    near(t.share(&like(column(), "%")), 1.0);
    near(t.share(&like(column(), "ab")), 0.01);
    assert_eq!(estimate::like_prefix("a\\%b_c", Some('\\')), ("a%b".to_owned(), Some("_c")));
}

#[test]
fn a_text_longer_than_an_endpoint_is_found_by_its_beginning() {
    let long = "x".repeat(ENDPOINT_BYTES + 10);
    let endpoint = Endpoint { value: long.as_bytes(), place: 1.0, cumulative: 600, repeats: 0 };
    let histogram = Some(Arc::new(Histogram::new(HistogramKind::Frequency, [endpoint])));
    let statistics = ColumnStatistics { histogram, sample: 600, ..ColumnStatistics::new(1, 400, None) };
    let t = Table::of(vec![(TEXT, Some(statistics))]);
    near(t.share(&cmp(expr(Node::Reg(0), TEXT), CmpOp::Eq, text(&long))), 0.6);
}

#[test]
fn char_columns_compare_padded() {
    let char_type = DataType::Char { len: 3, unit: LenUnit::Byte };
    let endpoint = Endpoint { value: b"a  ", place: 1.0, cumulative: 10, repeats: 0 };
    let histogram = Some(Arc::new(Histogram::new(HistogramKind::Frequency, [endpoint])));
    let statistics = ColumnStatistics { histogram, sample: 10, ..ColumnStatistics::new(1, 0, None) };
    let t = Table::of(vec![(char_type, Some(statistics))]);
    near(t.share(&cmp(expr(Node::Reg(0), char_type), CmpOp::Eq, text("a"))), 1.0);
}

#[test]
fn nulls_and_logic() {
    let t = plain();
    let is_null = |negated| expr(Node::IsNull(Box::new(reg(0)), negated), DataType::Boolean);
    near(t.share(&is_null(false)), 0.2);
    near(t.share(&is_null(true)), 0.8);
    let (a, b) = (0.8 * 0.25, 0.2);
    let either = expr(Node::Or(vec![cmp(reg(0), CmpOp::Lt, int(25)), is_null(false)]), DataType::Boolean);
    near(t.share(&either), a + b - a * b);
    near(t.share(&expr(Node::Not(Box::new(is_null(false))), DataType::Boolean)), 0.8);
    near(t.share(&cmp(int(1), CmpOp::Eq, int(0))), 0.0);
    near(t.share(&cmp(int(1), CmpOp::Lt, int(2))), 1.0);
    // An expression of a column: 1 % and 5 %.
    let negative = || expr(Node::Neg(Box::new(reg(0))), NUMBER);
    near(t.share(&cmp(negative(), CmpOp::Eq, int(1))), 0.01);
    near(t.share(&cmp(negative(), CmpOp::Gt, int(1))), 0.05);
    let nothing = Table::of(vec![(NUMBER, None)]);
    near(nothing.share(&cmp(reg(0), CmpOp::Eq, int(1))), 0.01);
    near(nothing.share(&cmp(reg(0), CmpOp::Gt, int(1))), 0.05);
}

#[test]
fn a_column_group_answers_its_equalities_together() {
    let statistics = || Some(ColumnStatistics::new(10, 0, Some((0.0, 100.0))));
    let mut t = Table::of(vec![(NUMBER, statistics()), (NUMBER, statistics()), (NUMBER, statistics())]);
    let equal = |n: Reg, value| cmp(reg(n), CmpOp::Eq, int(value));
    near(t.share(&and(vec![equal(0, 1), equal(1, 1)])), 0.01);
    let group = ColumnStatistics::new(12, 0, None);
    t.statistics.groups = vec![ColumnGroup { name: "G".into(), columns: vec![1, 0], statistics: group }];
    near(t.share(&and(vec![equal(0, 1), equal(1, 1)])), 1.0 / 12.0);
    near(t.share(&and(vec![equal(0, 1), equal(2, 1), equal(1, 1)])), 0.1 / 12.0);
    // A value that does not occur, and a range, are not answered by the group.
    near(t.share(&and(vec![equal(0, 1), equal(1, 300)])), 0.0);
    near(t.share(&and(vec![equal(0, 1), cmp(reg(1), CmpOp::Lt, int(50))])), 0.1 * 0.5);
}

#[test]
fn a_join_is_one_of_the_larger_number_of_values() {
    let left = Table::of(vec![(NUMBER, Some(ColumnStatistics::new(100, 500, None)))]);
    let right = Table::of(vec![(NUMBER, Some(ColumnStatistics::new(20, 0, None)))]);
    let (l, r) = (JoinColumn::whole(left.column(0)), JoinColumn::whole(right.column(0)));
    near(estimate::join_selectivity(&l, &r), 0.5 / 100.0);
    near(estimate::semi_selectivity(&l, &r), 0.5 * 0.2);
    near(estimate::semi_selectivity(&r, &l), 1.0);
    // A filter leaves fewer distinct values: 100 (1 - 0.9 ^ 10).
    let filtered = JoinColumn { kept: 0.1, ..l };
    let values = 100.0 * (1.0 - 0.9f64.powi(10));
    near(estimate::join_selectivity(&filtered, &r), 0.5 / values);
    near(estimate::distinct_after(100.0, 1000.0, 1000.0), 100.0);
}

#[test]
fn frequency_histograms_of_a_join_are_matched() {
    let with = |all: &[(i64, u64, u64)], distinct| {
        let histogram = numbers(HistogramKind::Frequency, all);
        Table::of(vec![(
            NUMBER,
            Some(ColumnStatistics { histogram, sample: 1000, ..ColumnStatistics::new(distinct, 0, None) }),
        )])
    };
    let left = with(&[(1, 900, 0), (2, 1000, 0)], 2);
    let right = with(&[(1, 500, 0), (3, 1000, 0)], 2);
    let (l, r) = (JoinColumn::whole(left.column(0)), JoinColumn::whole(right.column(0)));
    near(estimate::join_selectivity(&l, &r), 0.9 * 0.5);
}

#[test]
fn a_join_of_many_columns_has_no_more_combinations_than_rows() {
    let columns = || vec![(NUMBER, Some(ColumnStatistics::new(500, 0, None))); 2];
    let (left, right) = (Table::of(columns()), Table::of(columns()));
    let pair = |at| (JoinColumn::whole(left.column(at)), JoinColumn::whole(right.column(at)));
    near(estimate::join_selectivity_of(&[pair(0), pair(1)]), 1.0 / 1000.0);
    near(estimate::join_selectivity_of(&[pair(0)]), 1.0 / 500.0);
    near(estimate::join_selectivity_of(&[]), 1.0);
}

#[test]
fn groups_multiply_and_end_at_the_rows() {
    let columns = || vec![(NUMBER, Some(ColumnStatistics::new(10, 0, None))); 2];
    let mut t = Table::of(columns());
    let root = std::f64::consts::SQRT_2;
    near(estimate::groups(&[Some(t.column(0))], 1000.0), 10.0);
    near(estimate::groups(&[Some(t.column(0)), Some(t.column(1))], 1000.0), 100.0 / root);
    near(estimate::groups(&[Some(t.column(0)), Some(t.column(0))], 1000.0), 10.0);
    assert!(estimate::groups(&[Some(t.column(0)), Some(t.column(1))], 4.0) <= 4.0);
    let group = ColumnStatistics::new(15, 0, None);
    t.statistics.groups = vec![ColumnGroup { name: "G".into(), columns: vec![0, 1], statistics: group }];
    near(estimate::groups(&[Some(t.column(0)), Some(t.column(1))], 1000.0), 15.0);
    near(estimate::groups(&[], 1000.0), 1.0);
}
