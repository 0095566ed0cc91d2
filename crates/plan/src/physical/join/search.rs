//! The search for a join order: which sets of parts are joined, and the costs of the methods.

use super::*;
use crate::block_names::ItemId;

/// Penalty of a method or an order that a hint excludes.
const UNWANTED: f64 = 1e12;
/// Penalty of an order that evades a hint.
const UNHEEDED: f64 = 1e9;
/// Number of search steps between checks for cancellation.
const CHECKED_EACH: Mask = 64;

impl Compiler<'_> {
    /// Finds the best plan of every set of parts that may be joined by itself.
    pub(super) fn all_sets(&self, graph: &Graph<'_>, whole: Mask, best: &mut HashMap<Mask, Best>) -> Result<()> {
        let most = 1usize << graph.nodes.len();
        let mut dense: Vec<Option<Best>> = vec![None; most];
        for (mask, found) in best.iter() {
            dense[*mask as usize] = Some(*found);
        }
        for mask in 1..most as Mask {
            if mask.count_ones() < 2 || !graph.is_allowed(mask) {
                continue;
            }
            if mask.is_multiple_of(CHECKED_EACH) {
                self.functions.check_cancel()?;
            }
            let mut rows = None;
            let mut left = (mask - 1) & mask;
            while left != 0 {
                let right = mask & !left;
                if let Some(left_best) = dense[left as usize] {
                    let right_best = dense[right as usize];
                    if let (Some(rows), Some(found)) = (rows, &dense[mask as usize])
                        && least_cost(&left_best, right_best.as_ref(), right.count_ones(), rows) >= found.cost
                    {
                        left = (left - 1) & mask;
                        continue;
                    }
                    self.consider(graph, (left, left_best), (right, right_best), &mut rows, &mut dense[mask as usize]);
                }
                left = (left - 1) & mask;
            }
        }
        let found = dense.into_iter().enumerate().filter_map(|(mask, found)| Some((mask as Mask, found?)));
        best.extend(found.filter(|(mask, _)| whole & mask == *mask));
        Ok(())
    }

    /// Joins the pair with the fewest result rows, until all parts are joined.
    pub(super) fn pairs_by_size(&self, graph: &Graph<'_>, whole: Mask, best: &mut HashMap<Mask, Best>) -> Result<()> {
        let mut sets: Vec<Mask> = best.keys().copied().filter(|m| m.count_ones() < 2).collect();
        sets.sort_unstable();
        let mut waiting: Vec<usize> = (0..graph.nodes.len()).filter(|part| !graph.nodes[*part].is_free()).collect();
        let mut products = false;
        // The result for a pair does not change between steps.
        let mut known: HashMap<(Mask, Mask, bool), Option<Best>> = HashMap::new();
        while sets.len() > 1 || !waiting.is_empty() {
            let mut found: Option<(Mask, Mask, Best)> = None;
            let pairs = sets.iter().flat_map(|l| sets.iter().map(move |r| (*l, *r)).filter(|(l, r)| l != r));
            let pairs = pairs.chain(sets.iter().flat_map(|l| waiting.iter().map(move |p| (*l, bit(*p)))));
            for (left, right) in pairs {
                if !products && !graph.is_allowed(left | right) {
                    continue;
                }
                let weighed = known.len() as Mask;
                let joined = match known.entry((left, right, products)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => {
                        if weighed.is_multiple_of(CHECKED_EACH) {
                            self.functions.check_cancel()?;
                        }
                        let mut joined = None;
                        let (left_best, right_best) = (best[&left], best.get(&right).copied());
                        if products {
                            self.weigh(graph, (left, left_best), (right, right_best), &mut None, &mut joined);
                        } else {
                            self.consider(graph, (left, left_best), (right, right_best), &mut None, &mut joined);
                        }
                        *place.insert(joined)
                    }
                };
                if let Some(joined) = joined
                    && found.as_ref().is_none_or(|(_, _, b)| (joined.rows, joined.cost) < (b.rows, b.cost))
                {
                    found = Some((left, right, joined));
                }
            }
            match found {
                Some((left, right, joined)) => {
                    sets.retain(|m| *m != left && *m != right);
                    waiting.retain(|p| bit(*p) != right);
                    sets.push(left | right);
                    best.insert(left | right, joined);
                    products = false;
                }
                // The rest is not connected, or its hinted order cannot be kept.
                None if !products => products = true,
                None => return Err(Ora::internal("cyclic dependencies among the parts of a join")),
            }
        }
        debug_assert!(sets == [whole]);
        Ok(())
    }

    /// Costs the methods of joining two sets, if they may be joined.
    pub(super) fn consider(
        &self,
        graph: &Graph<'_>,
        left: (Mask, Best),
        right: (Mask, Option<Best>),
        rows: &mut Option<f64>,
        best: &mut Option<Best>,
    ) {
        if graph.may_join(left.0, right.0) {
            self.weigh(graph, left, right, rows, best);
        }
    }

    pub(super) fn weigh(
        &self,
        graph: &Graph<'_>,
        (left, left_best): (Mask, Best),
        (right, right_best): (Mask, Option<Best>),
        rows: &mut Option<f64>,
        best: &mut Option<Best>,
    ) {
        let single = (right.count_ones() == 1).then(|| right.trailing_zeros() as usize);
        let node = single.map(|part| &graph.nodes[part]);
        if let Some(node) = node {
            if node.needs & !left != 0 {
                return;
            }
        } else if right_best.is_none() {
            return;
        }
        let alone = node.and_then(|node| node.alone.as_ref());
        let Some((right_rows, right_cost)) =
            right_best.map(|b| (b.rows, b.cost)).or_else(|| alone.map(|alone| (alone.rows, alone.cost)))
        else {
            return;
        };
        let join = graph.conditions(left, right, node);
        let out = *rows.get_or_insert_with(|| self.joined_rows(graph, left_best.rows, right_rows, node, &join));
        let allowed = graph.methods(right, node);
        // A hint for a method holds where its table is joined to others.
        let evaded = left.count_ones() == 1 && allowed.is_none() && graph.methods_of(left.trailing_zeros()).is_some();
        let mut offer = |method: Method, cost: f64| {
            let is_allowed = allowed.is_none_or(|methods| methods.contains(&method.kind()));
            // Methods excluded by hints are used only if no other is possible.
            let cost = if is_allowed { cost } else { cost + UNWANTED };
            let cost = if evaded { cost + UNHEEDED } else { cost };
            if best.as_ref().is_none_or(|b| cost < b.cost) {
                *best = Some(Best { rows: out, cost, how: How::Join { left, right, method } });
            }
        };
        let lateral = node.is_some_and(|node| node.lateral);
        let link = node.map(|node| node.link);
        let nulls = matches!(link, Some(Link::AntiNulls { .. }));
        let hashes = (nulls || join.on.iter().any(|c| c.is_key(right))) && !lateral;
        if hashes {
            let hinted = |name: &str| {
                node.is_some_and(|node| graph.hints.iter().any(|h| h.name == name && h.args.contains(&node.alias)))
            };
            let is_right = right_rows <= left_best.rows && !hinted("NO_SWAP_JOIN_INPUTS");
            let build = if is_right || hinted("SWAP_JOIN_INPUTS") { Side::Right } else { Side::Left };
            let (built, probing) = match build {
                Side::Right => (right_rows, left_best.rows),
                Side::Left => (left_best.rows, right_rows),
            };
            offer(Method::Hash(build), left_best.cost + right_cost + cost::hash_join(built, probing, out));
            let plain = !join.on.iter().any(|c| c.is_key(right) && c.is_padded());
            if !nulls && plain {
                let sorts = cost::sort(left_best.rows, 1) + cost::sort(right_rows, 1);
                offer(Method::Merge, left_best.cost + right_cost + sorts + out * cost::PER_ROW);
            }
        }
        // Rows sorted by the operand of an inequality can be found by position.
        if !hashes && !nulls && !lateral && !node.is_some_and(|node| node.unstable) {
            let ranges = ranges_of(&join.on, right);
            if !ranges.is_empty() {
                let share: f64 = ranges.iter().map(|(at, _)| self.share_of_join(graph, &join.on[*at].expr)).product();
                let sorts = cost::sort(left_best.rows, 1) + cost::sort(right_rows, 1);
                let met = left_best.rows * right_rows * share * cost::PER_PAIR;
                offer(Method::Merge, left_best.cost + right_cost + sorts + met + out * cost::PER_ROW);
            }
        }
        if let Some(part) = single
            && let Some(cost) = self.probe(graph, part, &join)
        {
            let weight = Cost::new(cost, 0.0);
            offer(Method::Probe, left_best.cost + cost::probe(left_best.rows, weight).total);
        }
        if let Some((rows, cost)) = node.and_then(|node| node.rerun) {
            let weight = Cost::new(cost, 0.0);
            offer(Method::Rerun, left_best.cost + cost::again(left_best.rows, weight, rows).total);
        }
        let again = cost::again(left_best.rows, Cost::new(right_cost, 0.0), right_rows).total + left_best.cost;
        if lateral || node.is_some_and(|node| node.unstable) {
            offer(Method::Again, again);
        } else {
            // An estimate of few rows may be wrong; a hash join costs little more and tolerates that.
            let compared = if hashes { right_rows.max(cost::DOUBTED_ROWS) } else { right_rows };
            let pairs =
                cost::buffered(left_best.rows, right_rows) + left_best.rows * (compared - right_rows) * cost::PER_PAIR;
            offer(Method::Buffered, left_best.cost + right_cost + pairs);
        }
    }

    /// The cost of probing one table through the conditions of a join, by an index, a rowid or a hash.
    pub(super) fn probe(&self, graph: &Graph<'_>, part: usize, join: &Conditions<'_>) -> Option<f64> {
        let PartKind::Leaf(id) = *graph.nodes[part].kind else { return None };
        let ItemKind::Table(table) = &self.items[id].kind else { return None };
        let key = (part, join.on.iter().map(|c| std::ptr::from_ref::<Cond>(c) as usize).collect());
        if let Some(known) = graph.probes.borrow().get(&key) {
            return *known;
        }
        let cost = self.probe_table(graph, (&graph.nodes[part], id, table), join).map(|choice| choice.cost);
        graph.probes.borrow_mut().insert(key, cost);
        cost
    }

    pub(super) fn probe_table(
        &self,
        graph: &Graph<'_>,
        (node, id, table): (&Member<'_>, ItemId, &std::rc::Rc<dictionary::TableDef>),
        join: &Conditions<'_>,
    ) -> Option<Choice> {
        let conds: Vec<Expr> = node.local.iter().chain(join.on.iter().map(|c| &c.expr)).cloned().collect();
        let columns = self.read_columns(id);
        let choice = self.choose_access(id, table, &conds, Some(&columns), graph.hints);
        // A path that uses only the table's own conditions is no better than the table's own plan.
        let uses_join = choice.used.iter().any(|at| *at >= node.local.len());
        (uses_join || !matches!(choice.access, Access::Full) && node.local.is_empty()).then_some(choice)
    }

    /// The number of result rows of a join.
    pub(super) fn joined_rows(
        &self,
        graph: &Graph<'_>,
        left: f64,
        right: f64,
        node: Option<&Member>,
        join: &Conditions<'_>,
    ) -> f64 {
        let link = node.map(|node| node.link);
        let mut share = 1.0;
        let mut by_table: HashMap<Mask, f64> = HashMap::new();
        for c in &join.on {
            let one = self.share_of_join(graph, &c.expr);
            if matches!(&c.expr.node, Node::Cmp(CmpOp::Eq, ..)) {
                *by_table.entry(c.mask).or_insert(1.0) *= one;
            } else {
                share *= one;
            }
        }
        // Several equalities between two tables are usually a key of one of them.
        for (mask, product) in by_table {
            let largest = parts_of(mask).map(|p| graph.nodes[p].raw_rows).fold(1.0, f64::max);
            share *= product.max(1.0 / largest.max(1.0));
        }
        let matches = left * right * share;
        let rows = match link {
            None | Some(Link::Inner) => matches,
            Some(Link::Left(_)) => matches.max(left),
            Some(Link::Semi(_)) => {
                left * self.share_met(graph, node, right, &join.on).unwrap_or(right * share).min(1.0)
            }
            Some(Link::Anti(_) | Link::AntiNulls { .. }) => {
                let met = self.share_met(graph, node, right, &join.on).unwrap_or(right * share);
                left * (1.0 - met).max(0.05)
            }
        };
        (rows * self.share_of_all(join.above.iter().map(|c| &c.expr))).max(1.0)
    }

    /// The share of rows with a match in a part of `rows` rows, from the values of a single key.
    pub(super) fn share_met(
        &self,
        graph: &Graph<'_>,
        node: Option<&Member<'_>>,
        right: f64,
        on: &[&Cond],
    ) -> Option<f64> {
        let node = node?;
        let mut equalities = on.iter().filter_map(|c| match &c.expr.node {
            Node::Cmp(CmpOp::Eq, _, a, b) => Some((&**a, &**b)),
            _ => None,
        });
        let ((a, b), None) = (equalities.next()?, equalities.next()) else { return None };
        let own = graph.nodes.iter().position(|other| std::ptr::eq(other, node))?;
        let (inside, outside) = if self.mask_of(a, &graph.owner) == bit(own) { (a, b) } else { (b, a) };
        let (inside, outside) = (self.distinct_values(inside)?, self.distinct_values(outside)?);
        let there = crate::estimate::distinct_after(inside, node.raw_rows.max(right), right);
        Some((there / outside.max(1.0)).min(1.0))
    }

    /// The share of row pairs that a condition keeps, given that its implications for each side have been checked
    /// there.
    pub(super) fn share_of_join(&self, graph: &Graph<'_>, c: &Expr) -> f64 {
        match &c.node {
            Node::Cmp(CmpOp::Eq, _, a, b) => match (&a.node, &b.node) {
                (Node::Reg(a), Node::Reg(b)) if graph.fixed.contains(a) && graph.fixed.contains(b) => 1.0,
                _ => self.share(c),
            },
            Node::Or(branches) => {
                let mut share = self.share(c);
                for part in parts_of(self.mask_of(c, &graph.owner)) {
                    let mut own = HashSet::new();
                    self.part_regs(graph.nodes[part].kind, &mut |r| {
                        own.insert(r);
                    });
                    if let Some(limit) = self.limit_of(branches, &own) {
                        share /= self.share(&limit).max(1e-6);
                    }
                }
                share.min(1.0)
            }
            _ => self.share(c),
        }
    }
}

/// A lower bound for the cost of joining two sets, from the number of parts on the right and the rows of the join,
/// without examining conditions.
pub(super) fn least_cost(left: &Best, right: Option<&Best>, right_parts: u32, rows: f64) -> f64 {
    // A single part may be probed by an index.
    let Some(right) = right.filter(|_| right_parts > 1) else { return left.cost };
    // The cost of a join of two inputs, as in `Compiler::weigh`.
    let is_right = right.rows <= left.rows;
    let (built, probing) = if is_right { (right.rows, left.rows) } else { (left.rows, right.rows) };
    let hashed = left.cost + right.cost + cost::hash_join(built, probing, rows);
    let sorts = cost::sort(left.rows, 1) + cost::sort(right.rows, 1);
    let merged = left.cost + right.cost + sorts + rows * cost::PER_ROW;
    let buffered = left.cost + right.cost + cost::buffered(left.rows, right.rows);
    hashed.min(merged).min(buffered)
}
