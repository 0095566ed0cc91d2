//! Row sources of two joined inputs.

use super::*;

impl Compiler<'_> {
    /// Adds a filter of the keys to the probing side of a hash join, as close to the scan as rows may be dropped.
    pub(super) fn filter_probing_side(&mut self, join: &mut Source) {
        let Source::HashJoin { left, right, kind, build, keys, filters, .. } = join else { return };
        let (probing, side) = match build {
            Side::Right => (&mut **left, Side::Left),
            Side::Left => (&mut **right, Side::Right),
        };
        let drops = match side {
            Side::Left => matches!(kind, JoinKind::Inner | JoinKind::Semi),
            Side::Right => matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti),
        };
        if !drops || keys.is_empty() || keys.iter().any(|key| key.nulls != KeyNulls::Never) {
            return;
        }
        let of_side = |key: &JoinKey| Key {
            value: if side == Side::Left { key.left.clone() } else { key.right.clone() },
            padded: key.padded,
        };
        let id = self.filters;
        if add_filter(probing, id, keys.iter().map(of_side).collect()) {
            self.filters += 1;
            filters.push(BuiltFilter { id, keys: (0..keys.len()).collect() });
        }
    }
}

/// The condition that `c` is false or UNKNOWN.
pub(super) fn not_true(c: &Expr) -> Expr {
    let number = |n: i64| Expr::new(Node::Const(types::Value::Number(n.into())), types::DataType::NUMBER);
    let is_true =
        Expr::new(Node::Case(vec![(c.clone(), number(1))], Some(Box::new(number(0)))), types::DataType::NUMBER);
    let node = Node::Cmp(CmpOp::Eq, Compare::Plain, Box::new(is_true), Box::new(number(0)));
    Expr::new(node, types::DataType::Boolean)
}

/// The condition that two values are equal or that their comparison is UNKNOWN, as NOT IN needs it.
pub(super) fn unknown_or_equal(a: Expr, b: Expr) -> Expr {
    let boolean = types::DataType::Boolean;
    let is_null = |e: &Expr| Expr::new(Node::IsNull(Box::new(e.clone()), false), boolean);
    let nulls = [is_null(&a), is_null(&b)];
    let equal = Expr::new(Node::Cmp(CmpOp::Eq, Compare::Plain, Box::new(a), Box::new(b)), boolean);
    Expr::new(Node::Or(std::iter::once(equal).chain(nulls).collect()), boolean)
}

pub(super) fn started(planned: Planned, startup: Vec<Expr>) -> Planned {
    if startup.is_empty() {
        return planned;
    }
    let Planned { source, rows, cost } = planned;
    Planned::new(Source::Startup { input: Box::new(source), conds: startup, rows }, rows, cost)
}

pub(super) fn loops(left: Source, right: Source, kind: JoinKind, lateral: bool) -> Source {
    let right_regs = produced(&right);
    let (left, right, rows) = (Box::new(left), Box::new(right), UNKNOWN_ROWS);
    Source::NestedLoops { left, right, kind, right_regs, lateral, rows }
}

/// The right side of nested loops, with the join condition. `rows`: those of the left side and of the join.
pub(super) fn matching(right: Source, on: Vec<Expr>, rows: (f64, f64)) -> Source {
    let is_filtered = !on.is_empty();
    let mut source = filter(right, on);
    if is_filtered {
        source.set_rows(rows.1 / rows.0.max(1.0));
    }
    source
}

pub(super) fn hash_join(
    left: Source,
    right: Source,
    kind: JoinKind,
    build: Side,
    conds: Vec<Expr>,
    keys: Vec<(usize, JoinKey)>,
) -> Source {
    let (keys, residual) = keys_and_rest(conds, keys);
    let (left_regs, right_regs) = (produced(&left), produced(&right));
    let (left, right, filters) = (Box::new(left), Box::new(right), Vec::new());
    Source::HashJoin { left, right, kind, build, keys, residual, left_regs, right_regs, filters, rows: UNKNOWN_ROWS }
}

/// Parts of a join with the positions of their conditions.
pub(super) type Placed<T> = Vec<(usize, T)>;

pub(super) fn merge_join(
    left: Source,
    right: Source,
    kind: JoinKind,
    conds: Vec<Expr>,
    (keys, ranges): (Placed<JoinKey>, Placed<MergeRange>),
) -> Source {
    let used: Vec<usize> = keys.iter().map(|(at, _)| *at).chain(ranges.iter().map(|(at, _)| *at)).collect();
    let residual = conds.into_iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, c)| c).collect();
    let keys: Vec<JoinKey> = keys.into_iter().map(|(_, key)| key).collect();
    let ranges: Vec<MergeRange> = ranges.into_iter().map(|(_, range)| range).collect();
    let sorted = |source: Source, by: Vec<&Expr>| {
        let regs = produced(&source);
        let key = |expr: &Expr| SortKey { expr: expr.clone(), desc: false, nulls_first: false };
        let keys = by.into_iter().map(key).collect();
        let rows = source.rows().unwrap_or(UNKNOWN_ROWS);
        Source::Sort { input: Box::new(source), keys, regs, top: None, rows }
    };
    // If matching right rows begin at a bound, the bound rises with the left rows.
    let lower = ranges.iter().find(|r| matches!(r.op, CmpOp::Lt | CmpOp::Le)).or(ranges.first());
    let left = sorted(left, keys.iter().map(|key| &key.left).chain(lower.map(|r| &r.left)).collect());
    let base = ranges.first().map(|r| without_shift(&r.right));
    let right = sorted(right, keys.iter().map(|key| &key.right).chain(base).collect());
    let (left_regs, right_regs) = (produced(&left), produced(&right));
    let (left, right) = (Box::new(left), Box::new(right));
    Source::MergeJoin { left, right, kind, keys, ranges, residual, left_regs, right_regs, rows: UNKNOWN_ROWS }
}

/// The inequalities by which a merge join may find rows of its right side, with their positions: one, or one for each
/// end of a band such as `a.x between b.y and b.y + 3`.
pub(super) fn ranges_of(on: &[&Cond], right: Mask) -> Vec<(usize, MergeRange)> {
    let mut all = on.iter().enumerate().filter_map(|(at, c)| Some((at, range_of(c, right)?)));
    let Some(first) = all.next() else { return Vec::new() };
    let takes_first = |range: &MergeRange| matches!(range.op, CmpOp::Gt | CmpOp::Ge);
    let second = all.find(|(_, range)| {
        takes_first(range) != takes_first(&first.1) && without_shift(&range.right) == without_shift(&first.1.right)
    });
    std::iter::once(first).chain(second).collect()
}

/// The merge range of an inequality with exactly one side in `right`.
pub(super) fn range_of(c: &Cond, right: Mask) -> Option<MergeRange> {
    let (Node::Cmp(op, _, a, b), Some((_, of_b))) = (&c.expr.node, c.bounds.filter(|_| c.is_range(right))) else {
        return None;
    };
    let mirrored = match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        other => *other,
    };
    let (op, left, right) = if of_b & right != 0 { (*op, a, b) } else { (mirrored, b, a) };
    Some(MergeRange { op, left: (**left).clone(), right: (**right).clone() })
}

/// The operand left after removing added or subtracted constants, which do not change the order of rows. Does not apply
/// to binary floating-point numbers, whose sums do not preserve order near infinities.
pub(super) fn without_shift(e: &Expr) -> &Expr {
    let is_same = |e: &Expr| matches!(e.node, Node::Const(_) | Node::Bind(_));
    let is_exact = !matches!(class(&e.ty), Class::Float | Class::Double);
    match &e.node {
        Node::Arith(ArithOp::Add, a, b) if is_exact && is_same(b) => without_shift(a),
        Node::Arith(ArithOp::Add, a, b) if is_exact && is_same(a) => without_shift(b),
        Node::Arith(ArithOp::Sub, a, b) if is_exact && is_same(b) => without_shift(a),
        _ => e,
    }
}

/// The keys of a join, and the other conditions.
pub(super) fn keys_and_rest(conds: Vec<Expr>, keys: Vec<(usize, JoinKey)>) -> (Vec<JoinKey>, Vec<Expr>) {
    let used: Vec<usize> = keys.iter().map(|(at, _)| *at).collect();
    let rest = conds.into_iter().enumerate().filter(|(i, _)| !used.contains(i)).map(|(_, c)| c).collect();
    (keys.into_iter().map(|(_, key)| key).collect(), rest)
}

/// Puts a join filter above the lowest row source that has all columns of its keys. False if no place below allows rows
/// to be dropped.
pub(super) fn add_filter(source: &mut Source, id: usize, keys: Vec<Key>) -> bool {
    let reads_all_of = |source: &Source| {
        let regs = produced(source);
        let mut all = true;
        keys.iter().for_each(|key| {
            key.value.walk(&mut |e| match e.node {
                Node::Reg(r) => all &= regs.binary_search(&r).is_ok(),
                Node::Scalar(_) | Node::Exists(_) | Node::InSub { .. } | Node::Quantified { .. } => all = false,
                _ => {}
            });
        });
        all
    };
    match source {
        Source::Scan(_) => {
            // A computed key might raise an error for a row that is never requested.
            if !reads_all_of(source) || !keys.iter().all(|key| matches!(key.value.node, Node::Reg(_))) {
                return false;
            }
            let rows = source.rows().unwrap_or(UNKNOWN_ROWS);
            let input = Box::new(std::mem::replace(source, Source::Empty));
            *source = Source::JoinFilter { input, id, keys, rows };
            true
        }
        Source::Filter { input, .. } | Source::JoinFilter { input, .. } => add_filter(input, id, keys),
        Source::Project { input, exprs, .. } => add_filter(input, id, within(keys, exprs)),
        Source::Group { input, keys: groups, sets, scalar: false, .. } if sets.len() == 1 => {
            let is_key = |key: &Key| matches!(key.value.node, Node::Reg(r) if groups.iter().any(|(_, g)| *g == r));
            keys.iter().all(is_key) && add_filter(input, id, within(keys, groups))
        }
        Source::HashJoin { left, right, kind, .. } => match kind {
            _ if reads_all_of(left) && *kind != JoinKind::Full => add_filter(left, id, keys),
            JoinKind::Inner if reads_all_of(right) => add_filter(right, id, keys),
            _ => false,
        },
        Source::NestedLoops { left, kind, .. } if *kind != JoinKind::Full && reads_all_of(left) => {
            add_filter(left, id, keys)
        }
        _ => false,
    }
}

/// Keys rewritten over the input of a row source that computes registers.
pub(super) fn within(mut keys: Vec<Key>, exprs: &[(Expr, Reg)]) -> Vec<Key> {
    let values = exprs.iter().map(|(e, r)| (*r, e.clone())).collect();
    keys.iter_mut().for_each(|key| crate::rewrite::values::substitute(&mut key.value, &values));
    keys
}

/// Whether a row source costs nothing to read again.
pub(super) fn cheap(source: &Source) -> bool {
    match source {
        Source::Dual | Source::Empty | Source::Cte { .. } | Source::Buffer { .. } => true,
        Source::Filter { input, .. } | Source::Startup { input, .. } => cheap(input),
        _ => false,
    }
}
