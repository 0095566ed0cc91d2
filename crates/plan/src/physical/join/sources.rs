//! The row sources of joins.

use super::*;

/// A join filter pays off for more probing rows than this, if at most this share of them has a match.
const FILTERED_ROWS: f64 = 5000.0;
const FILTERED_SHARE: f64 = 0.7;

impl Compiler<'_> {
    /// Builds the row source of a set from the best plan found.
    pub(super) fn build_join(
        &mut self,
        graph: &mut Graph<'_>,
        mask: Mask,
        best: &HashMap<Mask, Best>,
    ) -> Result<Source> {
        let (left, right, method) = match best[&mask].how {
            How::Alone(usize::MAX) => return Ok(Source::Dual),
            How::Alone(part) => {
                let node = &mut graph.nodes[part];
                return Ok(node.alone.take().expect("each part is joined once").source);
            }
            How::Join { left, right, method } => (left, right, method),
        };
        let left_source = self.build_join(graph, left, best)?;
        let single = (right.count_ones() == 1).then(|| right.trailing_zeros() as usize);
        let node = single.map(|part| &graph.nodes[part]);
        let join = graph.conditions(left, right, node);
        let keyed = join.on.iter().enumerate().filter_map(|(at, c)| Some((at, key_of(c, right)?)));
        let keys: Vec<(usize, JoinKey)> = keyed.collect();
        let ranges = if keys.is_empty() { ranges_of(&join.on, right) } else { Vec::new() };
        let on: Vec<Expr> = join.on.iter().map(|c| c.expr.clone()).collect();
        let above: Vec<Expr> = join.above.iter().map(|c| c.expr.clone()).collect();
        let done = join.done;
        let (kind, nulls) = match node.map(|node| node.link) {
            None | Some(Link::Inner) => (JoinKind::Inner, Vec::new()),
            Some(Link::Left(_)) => (JoinKind::Left, Vec::new()),
            Some(Link::Semi(_)) => (JoinKind::Semi, Vec::new()),
            Some(Link::Anti(_)) => (JoinKind::Anti, Vec::new()),
            Some(Link::AntiNulls { pairs, .. }) => (JoinKind::AntiNullAware, pairs.clone()),
        };
        let unstable = node.is_some_and(|node| node.unstable);
        let lateral = node.is_some_and(|node| node.lateral || node.unstable && !node.is_fixed);
        let local = node.map_or(Vec::new(), |node| node.local.clone());
        let mut at = 0;
        graph.conds.retain(|_| {
            at += 1;
            !done.contains(&(at - 1))
        });
        let rows = (best.get(&left).map_or(1.0, |b| b.rows), best[&mask].rows);
        if let Method::Hash(build) = method {
            let right_rows = match best.get(&right) {
                Some(right) => right.rows,
                None => node.and_then(|node| node.alone.as_ref()).map_or(0.0, |alone| alone.rows),
            };
            let right_source = self.build_join_side(graph, right, best)?;
            let keys =
                keys.into_iter().chain(nulls.into_iter().map(|(left, right)| {
                    (usize::MAX, JoinKey { left, right, padded: false, nulls: KeyNulls::Unknown })
                }));
            let mut source = hash_join(left_source, right_source, kind, build, on, keys.collect());
            source.set_rows(rows.1);
            let probing = if build == Side::Right { rows.0 } else { right_rows };
            if probing > FILTERED_ROWS && rows.1 < probing * FILTERED_SHARE {
                self.filter_probing_side(&mut source);
            }
            return Ok(filter(source, above));
        }
        let kind = if kind == JoinKind::AntiNullAware { JoinKind::Anti } else { kind };
        let on: Vec<Expr> = on.into_iter().chain(nulls.into_iter().map(|(a, b)| unknown_or_equal(a, b))).collect();
        let mut source = match method {
            Method::Hash(_) => unreachable!("made above"),
            Method::Merge => {
                let right_source = self.build_join_side(graph, right, best)?;
                merge_join(left_source, right_source, kind, on, (keys, ranges))
            }
            Method::Probe => {
                let part = single.expect("one table is probed");
                let conds = local.into_iter().chain(on).collect();
                let kind_of_part = graph.nodes[part].kind;
                let right_source = self.plan_part(kind_of_part, conds, graph.hints)?.source;
                loops(left_source, right_source, kind, false)
            }
            Method::Rerun => {
                let part = single.expect("one part is planned with known values");
                let kind_of_part = graph.nodes[part].kind;
                let conds = local.into_iter().chain(on).collect();
                let right_source = self.plan_part(kind_of_part, conds, graph.hints)?.source;
                loops(left_source, right_source, kind, true)
            }
            Method::Again => {
                let right_source = self.build_join_side(graph, right, best)?;
                loops(left_source, matching(right_source, on, rows), kind, lateral)
            }
            Method::Buffered => {
                let right_source = self.build_join_side(graph, right, best)?;
                let right_source = if unstable || cheap(&right_source) {
                    right_source
                } else {
                    let regs = produced(&right_source);
                    let rows = right_source.rows().unwrap_or(UNKNOWN_ROWS);
                    Source::Buffer { input: Box::new(right_source), regs, rows }
                };
                loops(left_source, matching(right_source, on, rows), kind, false)
            }
        };
        source.set_rows(rows.1);
        Ok(filter(source, above))
    }

    pub(super) fn build_join_side(
        &mut self,
        graph: &mut Graph<'_>,
        side: Mask,
        best: &HashMap<Mask, Best>,
    ) -> Result<Source> {
        if side.count_ones() == 1 {
            let node = &mut graph.nodes[side.trailing_zeros() as usize];
            return Ok(node.alone.take().expect("each part is joined once").source);
        }
        self.build_join(graph, side, best)
    }

    pub(super) fn plan_full(&mut self, left: &JoinSet, right: &JoinSet, on: &[Expr]) -> Result<Planned> {
        let mut owner = HashMap::new();
        for (side, set) in [(0, left), (1, right)] {
            self.set_regs(set, &mut |r| {
                owner.insert(r, side);
            });
        }
        let is_key = |(at, c): (usize, &Expr)| Some((at, self.hash_key(c, 2, &owner)?));
        let keys: Vec<_> = on.iter().enumerate().filter_map(is_key).collect();
        let (l, r) = (self.plan_set(left)?, self.plan_set(right)?);
        let rows = l.rows + r.rows;
        let cost = l.cost + r.cost + cost::hash_join(r.rows, l.rows, rows);
        let build = if r.rows <= l.rows { Side::Right } else { Side::Left };
        let source = hash_join(l.source, r.source, JoinKind::Full, build, on.to_vec(), keys);
        Ok(Planned::new(source, rows, cost))
    }

    /// The hash key of an equality with one side in each of two sets.
    pub(super) fn hash_key(&self, c: &Expr, right: Mask, owner: &HashMap<Reg, usize>) -> Option<JoinKey> {
        key_of(&self.cond(c.clone(), self.mask_of(c, owner), owner), right)
    }

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
