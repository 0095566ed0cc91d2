//! The row sources of the chosen order.

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

    fn build_join_side(&mut self, graph: &mut Graph<'_>, side: Mask, best: &HashMap<Mask, Best>) -> Result<Source> {
        if side.count_ones() == 1 {
            let node = &mut graph.nodes[side.trailing_zeros() as usize];
            return Ok(node.alone.take().expect("each part is joined once").source);
        }
        self.build_join(graph, side, best)
    }
}
