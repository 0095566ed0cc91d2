//! The parts of a join with the conditions that connect them.

use super::*;

/// Deepest nesting for which a join is planned a second time with known values; each level doubles the work.
const RERUNS_MAX: usize = 3;

impl Compiler<'_> {
    /// Splits a join into parts, conditions and the connections between them. Conditions without a part go to
    /// `startup`.
    pub(super) fn graph<'h>(&mut self, set: &'h JoinSet, more: &[Expr], startup: &mut Vec<Expr>) -> Result<Graph<'h>> {
        let mut owner = HashMap::new();
        for (i, part) in set.parts.iter().enumerate() {
            self.part_regs(&part.kind, &mut |r| {
                owner.insert(r, i);
            });
        }
        let mut nodes: Vec<Member<'h>> = Vec::new();
        for (i, part) in set.parts.iter().enumerate() {
            let own = bit(i);
            let inside = self.reads_of(&part.kind, &owner) & !own;
            let mut needs = inside;
            part.link.for_each(&mut |c| needs |= self.mask_of(c, &owner));
            needs &= !own;
            let (mut local, mut across) = (Vec::new(), Vec::new());
            if let Link::Left(on) | Link::Semi(on) | Link::Anti(on) | Link::AntiNulls { on, .. } = &part.link {
                for c in on {
                    let mask = self.mask_of(c, &owner);
                    if mask == own { local.push(c.clone()) } else { across.push(self.cond(c.clone(), mask, &owner)) }
                }
            }
            let alias = match part.kind {
                PartKind::Leaf(id) => self.items[id].alias.clone(),
                _ => String::new(),
            };
            nodes.push(Member {
                alias,
                needs,
                lateral: inside != 0 || self.is_collection(&part.kind),
                unstable: self.reads_again(&part.kind),
                is_fixed: self.is_fixed(&part.kind),
                local,
                across,
                alone: None,
                rerun: None,
                raw_rows: 0.0,
                kind: &part.kind,
                link: &part.link,
            });
        }
        let mut conds = Vec::new();
        for c in set.conds.iter().chain(more) {
            let mask = self.mask_of(c, &owner);
            match mask.count_ones() {
                0 if !c.has_subquery() => startup.push(c.clone()),
                0 if nodes.iter().any(Member::is_inner) => {
                    let first = nodes.iter_mut().find(|node| node.is_inner());
                    first.expect("just found").local.push(c.clone());
                }
                1 if nodes[mask.trailing_zeros() as usize].is_inner() => {
                    nodes[mask.trailing_zeros() as usize].local.push(c.clone());
                }
                _ => conds.push((c.clone(), mask)),
            }
        }
        for node in &mut nodes {
            let planned = self.plan_part(node.kind, node.local.clone(), &set.hints)?;
            node.raw_rows = self.raw_rows(node.kind).unwrap_or(planned.rows);
            node.alone = Some(planned);
            let is_join = matches!(node.kind, PartKind::Set(set) if nesting(set) < RERUNS_MAX);
            if is_join && !node.across.is_empty() && !node.lateral {
                let known = node.local.iter().chain(node.across.iter().map(|c| &c.expr)).cloned().collect();
                let planned = self.plan_part(node.kind, known, &set.hints)?;
                node.rerun = Some((planned.rows, planned.cost));
            }
        }
        let classes = equal_columns(&mut conds, &nodes, &owner);
        let conds =
            conds.into_iter().map(|(c, mask)| Cond { class: class_of(&classes, &c), ..self.cond(c, mask, &owner) });
        let conds = conds.collect();
        let fixed = nodes.iter().flat_map(|node| &node.local).filter_map(fixed_column).collect();
        let mut graph = Graph {
            fixed,
            neighbours: vec![0; nodes.len()],
            leading: leading(&set.hints, &nodes),
            hints: &set.hints,
            components: Vec::new(),
            probes: RefCell::default(),
            nodes,
            conds,
            owner,
        };
        graph.connect();
        Ok(graph)
    }

    /// The other parts whose columns a part reads: lateral references, collections of TABLE(), conditions inside it.
    pub(super) fn reads_of(&self, kind: &PartKind, owner: &HashMap<Reg, usize>) -> Mask {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Derived { lateral, .. } => {
                    lateral.iter().filter_map(|r| owner.get(r)).fold(0, |mask, &p| mask | bit(p))
                }
                ItemKind::Elements { value, .. } => self.mask_of(value, owner),
                _ => 0,
            },
            PartKind::Set(_) | PartKind::Full(_) => {
                let mut mask = 0;
                self.for_each_part_expr(kind, &mut |e| mask |= self.mask_of(e, owner));
                mask
            }
        }
    }

    pub(super) fn is_collection(&self, kind: &PartKind) -> bool {
        matches!(kind, PartKind::Leaf(id) if matches!(self.items[*id].kind, ItemKind::Elements { .. }))
    }

    pub(super) fn is_fixed(&self, kind: &PartKind) -> bool {
        matches!(kind, PartKind::Leaf(id) if matches!(self.items[*id].kind, ItemKind::Fixed { .. } | ItemKind::Dual))
    }

    /// Whether a part must be read again for each row, because it reads fixed tables or other changing values.
    pub(super) fn reads_again(&self, kind: &PartKind) -> bool {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Fixed { .. } | ItemKind::Elements { .. } => true,
                ItemKind::Derived { rel: Some(rel), lateral, .. } => !lateral.is_empty() || self.rel_reads_again(rel),
                _ => false,
            },
            PartKind::Set(set) => self.set_reads_again(set),
            PartKind::Full(full) => self.set_reads_again(&full.0) || self.set_reads_again(&full.1),
        }
    }

    pub(super) fn set_reads_again(&self, set: &JoinSet) -> bool {
        set.parts.iter().any(|p| self.reads_again(&p.kind))
    }

    pub(super) fn rel_reads_again(&self, rel: &Rel) -> bool {
        match rel {
            Rel::Join(set) => self.set_reads_again(set),
            Rel::Set { inputs, .. } => inputs.iter().any(|(input, _)| self.rel_reads_again(input)),
            Rel::Connect(c) => self.set_reads_again(&c.start) || self.set_reads_again(&c.child),
            other => other.input().is_some_and(|input| self.rel_reads_again(input)),
        }
    }

    pub(super) fn raw_rows(&self, kind: &PartKind) -> Option<f64> {
        match kind {
            PartKind::Leaf(id) => match &self.items[*id].kind {
                ItemKind::Table(table) => Some(crate::physical::access::size_of(table).0),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The conditions of one join.
pub(super) struct Conditions<'g> {
    /// Those that decide whether rows match.
    pub(super) on: Vec<&'g Cond>,
    /// Those of WHERE that are checked above an outer join.
    pub(super) above: Vec<&'g Cond>,
    /// Positions in the graph of the conditions of WHERE among them.
    pub(super) done: Vec<usize>,
}

impl Graph<'_> {
    pub(super) fn connect(&mut self) {
        let masks = self.conds.iter().map(|c| c.mask);
        let links = self.nodes.iter().enumerate().map(|(part, node)| node.needs | bit(part));
        for mask in masks.chain(links) {
            for part in parts_of(mask) {
                self.neighbours[part] |= mask & !bit(part);
            }
        }
        let mut left = (0..self.nodes.len()).fold(0, |mask, part| mask | bit(part));
        while left != 0 {
            let mut component = left & left.wrapping_neg();
            loop {
                let grown = parts_of(component).fold(component, |all, part| all | self.neighbours[part]);
                if grown == component {
                    break;
                }
                component = grown;
            }
            self.components.push(component);
            left &= !component;
        }
    }

    /// Whether hints allow this set of parts to be joined by itself.
    pub(super) fn is_allowed(&self, mask: Mask) -> bool {
        // A set must contain the first named parts, or be joined after them.
        let mut named: Mask = 0;
        for &part in &self.leading {
            if mask & bit(part) == 0 {
                break;
            }
            named |= bit(part);
        }
        let all = self.leading.iter().fold(0, |all, part| all | bit(*part));
        named & all == mask & all && (named == all || mask & !all == 0)
    }

    /// Whether two sets may be joined: a condition connects them, or neither is connected to any other part.
    pub(super) fn may_join(&self, left: Mask, right: Mask) -> bool {
        if !self.leading.is_empty() {
            // A hint for the order admits left-deep trees only: each part is joined to all earlier ones.
            if right.count_ones() > 1 {
                return false;
            }
            let next = self.leading.iter().position(|part| right == bit(*part));
            // The first named part is on the left of all others.
            if let Some(at) = next
                && (at == 0 || self.leading[..at].iter().any(|part| left & bit(*part) == 0))
            {
                return false;
            }
            if next.is_some() {
                return true;
            }
        }
        let near = parts_of(left).fold(0, |all, part| all | self.neighbours[part]);
        if near & right != 0 {
            return true;
        }
        let part = right.trailing_zeros() as usize;
        if right.count_ones() == 1 && !self.nodes[part].is_inner() && self.nodes[part].needs == 0 {
            return true;
        }
        let is_whole = |mask: Mask| self.components.iter().all(|c| c & mask == 0 || c & mask == *c);
        is_whole(left) && is_whole(right)
    }

    /// The conditions checked when two sets are joined.
    pub(super) fn conditions<'g>(&'g self, left: Mask, right: Mask, node: Option<&'g Member>) -> Conditions<'g> {
        let both = left | right;
        let mut join = Conditions { on: Vec::new(), above: Vec::new(), done: Vec::new() };
        let own = node.filter(|node| !node.is_inner());
        if let Some(node) = own {
            join.on.extend(&node.across);
        }
        let mut seen: Vec<usize> = Vec::new();
        for (at, c) in self.conds.iter().enumerate() {
            // A condition without parts contains a subquery: it is checked when the last part is joined.
            let now = match c.mask {
                0 => both.count_ones() as usize == self.nodes.len(),
                mask => mask & !both == 0 && mask & right != 0 && (mask & left != 0 || own.is_some()),
            };
            if !now {
                continue;
            }
            join.done.push(at);
            // One equality of a class decides all: inside each side they already hold.
            if own.is_none()
                && let Some(class) = c.class
            {
                if seen.contains(&class) {
                    continue;
                }
                seen.push(class);
            }
            if own.is_some() { join.above.push(c) } else { join.on.push(c) }
        }
        join
    }

    /// The join methods that hints demand for a part.
    pub(super) fn methods(&self, right: Mask, node: Option<&Member>) -> Option<&'static [Kind]> {
        let node = node?;
        if let Some(methods) = self.methods_of(right.trailing_zeros()) {
            return Some(methods);
        }
        // A query with a hinted order over fixed tables samples them: they must be read again for each row.
        let is_first = self.leading.first().is_some_and(|part| right == bit(*part));
        if node.unstable && !is_first && self.hints.iter().any(|h| h.name == "ORDERED") {
            return Some(&[Kind::Loops]);
        }
        None
    }

    pub(super) fn methods_of(&self, part: u32) -> Option<&'static [Kind]> {
        let node = self.nodes.get(part as usize)?;
        let hinted = |name: &str| self.hints.iter().any(|h| h.name == name && h.args.contains(&node.alias));
        if hinted("USE_NL") || hinted("USE_NL_WITH_INDEX") {
            return Some(&[Kind::Loops]);
        }
        if hinted("USE_HASH") {
            return Some(&[Kind::Hash]);
        }
        if hinted("USE_MERGE") {
            return Some(&[Kind::Merge]);
        }
        if hinted("NO_USE_HASH") {
            return Some(&[Kind::Loops, Kind::Merge]);
        }
        if hinted("NO_USE_NL") {
            return Some(&[Kind::Hash, Kind::Merge]);
        }
        None
    }
}

/// The class of an equality of two columns.
pub(super) fn class_of(classes: &[Vec<Reg>], c: &Expr) -> Option<usize> {
    let (a, b) = crate::rewrite::equal_columns(c)?;
    classes.iter().position(|class| class.contains(&a) && class.contains(&b))
}

/// Classes of columns of inner parts that conditions make equal. The implied equalities are added to the conditions, so
/// that all pairs of parts with a column of one class are connected.
pub(super) fn equal_columns(
    conds: &mut Vec<(Expr, Mask)>,
    nodes: &[Member],
    owner: &HashMap<Reg, usize>,
) -> Vec<Vec<Reg>> {
    let mut classes: Vec<Vec<(Reg, types::DataType)>> = Vec::new();
    for (c, _) in conds.iter() {
        let Some((a, b)) = crate::rewrite::equal_columns(c) else { continue };
        let is_inner = |r: &Reg| owner.get(r).is_some_and(|part| nodes[*part].is_inner());
        let Node::Cmp(_, _, left, right) = &c.node else { continue };
        if !is_inner(&a) || !is_inner(&b) {
            continue;
        }
        let mut class = vec![(a, left.ty), (b, right.ty)];
        let (touched, others): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|known| known.iter().any(|(r, _)| *r == a || *r == b));
        class.extend(touched.into_iter().flatten());
        class.sort_by_key(|(r, _)| *r);
        class.dedup_by_key(|(r, _)| *r);
        classes = others;
        classes.push(class);
    }
    for class in classes.iter().filter(|class| class.len() > 2) {
        for (at, (a, a_ty)) in class.iter().enumerate() {
            for (b, b_ty) in &class[at + 1..] {
                let mask = bit(owner[a]) | bit(owner[b]);
                let is_it = |c: &Expr| crate::rewrite::equal_columns(c).is_some_and(|p| p == (*a, *b) || p == (*b, *a));
                if mask.count_ones() == 2 && !conds.iter().any(|(c, _)| is_it(c)) {
                    let side = |r: &Reg, ty: &types::DataType| Box::new(Expr::new(Node::Reg(*r), *ty));
                    let eq = Node::Cmp(CmpOp::Eq, Compare::Plain, side(a, a_ty), side(b, b_ty));
                    conds.push((Expr::new(eq, types::DataType::Boolean), mask));
                }
            }
        }
    }
    // A part with two columns of a class does not imply their equality, so for such a class every equality is checked.
    let holds = |class: &Vec<(Reg, types::DataType)>| {
        let mut parts: Vec<usize> = class.iter().map(|(r, _)| owner[r]).collect();
        parts.sort_unstable();
        parts.windows(2).all(|pair| pair[0] != pair[1])
    };
    classes.into_iter().filter(holds).map(|class| class.into_iter().map(|(r, _)| r).collect()).collect()
}

/// The column that a condition equates with a constant.
pub(super) fn fixed_column(c: &Expr) -> Option<Reg> {
    let Node::Cmp(CmpOp::Eq, _, a, b) = &c.node else { return None };
    match (&a.node, &b.node) {
        (Node::Reg(r), Node::Const(_) | Node::Bind(_)) | (Node::Const(_) | Node::Bind(_), Node::Reg(r)) => Some(*r),
        _ => None,
    }
}

/// The nesting depth of joins inside a join.
pub(super) fn nesting(set: &JoinSet) -> usize {
    let inside = set.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Set(set) => Some(nesting(set) + 1),
        PartKind::Full(_) => Some(RERUNS_MAX),
        PartKind::Leaf(_) => None,
    });
    inside.max().unwrap_or(0)
}

/// The order that hints demand, as parts. A part that is named before a part it depends on is moved after it, so that a
/// hint never changes an answer (P11).
pub(super) fn leading(hints: &[ast::Hint], nodes: &[Member<'_>]) -> Vec<usize> {
    let mut wanted: Vec<usize> = if hints.iter().any(|h| h.name == "ORDERED") {
        (0..nodes.len()).collect()
    } else {
        match hints.iter().find(|h| h.name == "LEADING") {
            Some(h) => h.args.iter().filter_map(|a| nodes.iter().position(|n| n.alias == *a)).collect(),
            None => Vec::new(),
        }
    };
    let (mut order, mut there): (Vec<usize>, Mask) = (Vec::new(), 0);
    while let Some(at) = wanted
        .iter()
        .position(|part| nodes[*part].needs & !there == 0 && (nodes[*part].is_inner() || !order.is_empty()))
    {
        let part = wanted.remove(at);
        if there & bit(part) == 0 {
            there |= bit(part);
            order.push(part);
        }
    }
    order
}
