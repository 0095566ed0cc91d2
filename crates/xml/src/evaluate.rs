//! Evaluation of a parsed expression over documents.
//!
//! A sequence is a list of items. The steps of a path keep document order, which is the order of the numbers of nodes.
//! An evaluation counts the nodes it visits, asks from time to time whether the statement was cancelled, and bounds
//! the items and texts that it keeps (X3).

use crate::chars::push_escaped;
use crate::document::Document;
use crate::functions::{Here, call};
use crate::item::{Item, Source, boolean, check_text, many, too_large};
use crate::node::{Kind, NodeId};
use crate::query::*;
use std::cmp::Ordering;
use std::rc::Rc;
use types::{Ora, Result};

/// Most items of a sequence.
const ITEMS_MAX: usize = 1 << 20;
/// Bytes of the texts and documents that an evaluation makes, those that it drops again too.
const MADE_MAX: usize = 1 << 28;
/// Nodes visited between two checks for a cancelled statement.
const VISITS_BETWEEN_CHECKS: u32 = 1 << 12;
/// Bytes of a text that count as a visited node.
const BYTES_OF_A_VISIT: usize = 64;
/// Most items that the variables and loops of an expression hold.
const HELD_MAX: usize = ITEMS_MAX * 4;

/// Whether the statement may go on: ORA-01013 and others.
pub type Check<'a> = &'a mut dyn FnMut() -> Result<()>;

/// The values that an expression is evaluated with.
pub struct Evaluation<'a> {
    variables: Vec<Vec<Item>>,
    /// The number of the next document that is made.
    next_source: usize,
    check: Check<'a>,
    visits: u32,
    /// Bytes made so far.
    made: usize,
    /// Items of the loops that run.
    held: usize,
}

/// The context of an expression.
pub(crate) struct Context {
    pub(crate) item: Option<Item>,
    pub(crate) position: usize,
    pub(crate) size: usize,
}

impl Context {
    fn of(item: Item, position: usize, size: usize) -> Context {
        Context { item: Some(item), position, size }
    }
}

impl Query {
    /// Evaluates the expression for a context item and the values of the external variables, in their order.
    ///
    /// # Errors
    /// Errors of types (ORA-19279 and others), ORA-04030 for a result that is too large, and those of `check`.
    pub fn evaluate(&self, context: Option<Item>, variables: Vec<Vec<Item>>, check: Check<'_>) -> Result<Vec<Item>> {
        let of = |item: &Item| match item {
            Item::Node(source, _) => source.number + 1,
            _ => 0,
        };
        let next_source = context.iter().chain(variables.iter().flatten()).map(of).max().unwrap_or(0);
        let mut slots = variables;
        slots.resize(self.slots, Vec::new());
        let mut evaluation = Evaluation { variables: slots, next_source, check, visits: 0, made: 0, held: 0 };
        let size = usize::from(context.is_some());
        evaluation.eval(&self.root, &Context { item: context, position: size, size })
    }
}

impl Evaluation<'_> {
    fn visit(&mut self) -> Result<()> {
        self.visits = self.visits.wrapping_add(1);
        if self.visits.is_multiple_of(VISITS_BETWEEN_CHECKS) { (self.check)() } else { Ok(()) }
    }

    /// Visits the nodes inside items whose text is read.
    fn visit_all(&mut self, items: &[Item]) -> Result<()> {
        for item in items {
            let nodes = match item {
                Item::Node(source, node) => source.document.next(*node) - node,
                Item::Text(text) => (text.len() / BYTES_OF_A_VISIT) as u32,
                Item::Number(_) | Item::Boolean(_) => 0,
            };
            let until_check = VISITS_BETWEEN_CHECKS - self.visits % VISITS_BETWEEN_CHECKS;
            self.visits = self.visits.wrapping_add(nodes);
            if nodes >= until_check {
                (self.check)()?;
            }
        }
        Ok(())
    }

    /// Counts the bytes of a text or document that was made (X3).
    fn make(&mut self, bytes: usize) -> Result<()> {
        self.made += bytes;
        if self.made > MADE_MAX { Err(too_large("XQuery text", self.made)) } else { Ok(()) }
    }

    fn check_held(&self) -> Result<()> {
        let held = self.held + self.variables.iter().map(Vec::len).sum::<usize>();
        if held > HELD_MAX { Err(too_large("XQuery items", held)) } else { Ok(()) }
    }

    fn check_items(&self, n: usize) -> Result<()> {
        if n > ITEMS_MAX { Err(too_large("XQuery items", n)) } else { Ok(()) }
    }

    pub(crate) fn eval(&mut self, e: &Expr, cx: &Context) -> Result<Vec<Item>> {
        self.visit()?;
        Ok(match e {
            Expr::Text(text) => vec![Item::text(text)],
            Expr::Number(n) => vec![Item::Number(*n)],
            Expr::Variable(slot) => self.variables[*slot].clone(),
            Expr::Context => vec![cx.item.clone().ok_or_else(|| Ora::with(19112, &[&"XPDY0002: no context item"]))?],
            Expr::Root => match &cx.item {
                Some(Item::Node(source, _)) => vec![Item::Node(source.clone(), source.document.root())],
                _ => return Err(Ora::with(19112, &[&"XPDY0002: no context node"])),
            },
            Expr::Sequence(all) => {
                let mut items = Vec::new();
                for e in all {
                    items.append(&mut self.eval(e, cx)?);
                    self.check_items(items.len())?;
                }
                items
            }
            Expr::Or(a, b) => vec![Item::Boolean(self.truth(a, cx)? || self.truth(b, cx)?)],
            Expr::And(a, b) => vec![Item::Boolean(self.truth(a, cx)? && self.truth(b, cx)?)],
            Expr::Compare { op, value, left, right } => {
                let (left, right) = (self.eval(left, cx)?, self.eval(right, cx)?);
                if *value && (left.len() > 1 || right.len() > 1) {
                    return Err(many());
                }
                if *value && (left.is_empty() || right.is_empty()) {
                    return Ok(Vec::new());
                }
                vec![Item::Boolean(self.compared(*op, &left, &right)?)]
            }
            Expr::Arithmetic(op, a, b) => {
                let (a, b) = (self.eval(a, cx)?, self.eval(b, cx)?);
                self.visit_all(&a[..a.len().min(1)])?;
                self.visit_all(&b[..b.len().min(1)])?;
                match (&a[..], &b[..]) {
                    ([], _) | (_, []) => Vec::new(),
                    (_, [b, ..]) if *op == Arithmetic::WholeDiv && b.to_number() == 0.0 => {
                        return Err(Ora::with(19112, &[&"FOAR0001: division by zero"]));
                    }
                    ([a, ..], [b, ..]) => vec![Item::Number(arithmetic(*op, a.to_number(), b.to_number()))],
                }
            }
            Expr::Range(a, b) => {
                let (a, b) = (self.eval(a, cx)?, self.eval(b, cx)?);
                let ([a], [b]) = (&a[..], &b[..]) else { return Ok(Vec::new()) };
                let (a, b) = (a.to_number(), b.to_number());
                if a.fract() != 0.0 || b.fract() != 0.0 || a.is_nan() || b.is_nan() {
                    return Err(Ora::with(19112, &[&"FORG0001: invalid value for cast/constructor"]));
                }
                let count = (b - a + 1.0).max(0.0);
                self.check_items(count as usize)?;
                (0..count as usize).map(|n| Item::Number(a + n as f64)).collect()
            }
            Expr::Union(a, b) => {
                let mut items = self.eval(a, cx)?;
                items.append(&mut self.eval(b, cx)?);
                in_order(items)?
            }
            Expr::Negate(e) => {
                let items = self.eval(e, cx)?;
                items.first().map(|item| Item::Number(-item.to_number())).into_iter().collect()
            }
            Expr::Path(start, steps) => self.path(start, steps, cx)?,
            Expr::Filter(base, predicates) => {
                let mut items = self.eval(base, cx)?;
                for predicate in predicates {
                    items = self.filter(items, predicate)?;
                }
                items
            }
            Expr::Call(function, args) => {
                let mut values = Vec::with_capacity(args.len());
                for e in args {
                    values.push(self.eval(e, cx)?);
                }
                for items in &values {
                    self.visit_all(items)?;
                }
                if let (true, Some(item)) = (args.is_empty(), &cx.item) {
                    self.visit_all(std::slice::from_ref(item))?;
                }
                let here = Here { item: cx.item.as_ref(), position: cx.position, size: cx.size };
                let found = call(*function, values, &here)?;
                if let [Item::Text(text)] = &found[..] {
                    self.make(text.len())?;
                }
                found
            }
            Expr::If(parts) => {
                let [test, then, otherwise] = &**parts;
                let holds = self.truth(test, cx)?;
                self.eval(if holds { then } else { otherwise }, cx)?
            }
            Expr::Flwor { clauses, result } => self.flwor(clauses, result, cx)?,
            Expr::Quantified { every, bindings, test } => {
                vec![Item::Boolean(self.quantified(*every, bindings, test, cx)?)]
            }
            Expr::Element { name, attributes, content } => {
                let mut text = String::new();
                self.element(name, attributes, content, cx, &mut text)?;
                self.make(text.len())?;
                let mut document = Document::default();
                document.parse(&text, true)?;
                let element = document.element().ok_or_else(|| Ora::internal("constructor without an element"))?;
                self.next_source += 1;
                vec![Item::Node(Source::new(self.next_source - 1, Rc::new(document)), element)]
            }
        })
    }

    fn truth(&mut self, e: &Expr, cx: &Context) -> Result<bool> {
        Ok(boolean(&self.eval(e, cx)?))
    }

    /// Whether the comparison holds for some pair of items.
    fn compared(&mut self, op: Compare, left: &[Item], right: &[Item]) -> Result<bool> {
        for a in left {
            self.visit_all(std::slice::from_ref(a))?;
            for b in right {
                self.visit()?;
                self.visit_all(std::slice::from_ref(b))?;
                if compare(op, a, b) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn path(&mut self, start: &Expr, steps: &[Step], cx: &Context) -> Result<Vec<Item>> {
        let mut items = self.eval(start, cx)?;
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            let (axis, test, predicates) = match step {
                Step::Each(e) => {
                    items = self.each(items, e)?;
                    continue;
                }
                Step::Axis { axis, test, predicates } => (*axis, test, predicates),
            };
            // `//name` without predicates is one step to all descendants.
            if let (Axis::DescendantOrThis, Test::Node, []) = (axis, test, &predicates[..])
                && let Some(Step::Axis { axis: Axis::Child, test, predicates }) = steps.get(at)
                && predicates.is_empty()
            {
                at += 1;
                items = self.step(items, Axis::Descendant, test, &[])?;
            } else {
                items = self.step(items, axis, test, predicates)?;
            }
        }
        Ok(items)
    }

    /// The items of an expression for each of the nodes.
    fn each(&mut self, items: Vec<Item>, e: &Expr) -> Result<Vec<Item>> {
        let size = items.len();
        let mut out = Vec::new();
        for (item, position) in items.into_iter().zip(1..) {
            out.append(&mut self.eval(e, &Context::of(item, position, size))?);
            self.check_items(out.len())?;
        }
        if out.iter().all(Item::is_node) { in_order(out) } else { Ok(out) }
    }

    fn step(&mut self, items: Vec<Item>, axis: Axis, test: &Test, predicates: &[Expr]) -> Result<Vec<Item>> {
        let mut out: Vec<Item> = Vec::new();
        // Descendants of a node inside the one before are known already: `//*//*` reads each node once.
        let is_nested = matches!(axis, Axis::Descendant | Axis::DescendantOrThis) && predicates.is_empty();
        let mut read: Option<(usize, NodeId, NodeId)> = None;
        for item in items {
            let Item::Node(source, node) = item else {
                return Err(Ora::with(19112, &[&"XPTY0019: a step of a path begins at a value that is no node"]));
            };
            if is_nested {
                let is_inner = !matches!(source.document.kind(node), Kind::Attribute | Kind::Namespace);
                if is_inner
                    && read.is_some_and(|(number, begin, end)| number == source.number && begin <= node && node < end)
                {
                    continue;
                }
                read = Some((source.number, node, source.document.next(node)));
            }
            let mut nodes = Vec::new();
            self.axis(&source.document, node, axis, test, &mut nodes)?;
            let mut found: Vec<Item> = nodes.into_iter().map(|n| Item::Node(source.clone(), n)).collect();
            for predicate in predicates {
                found = self.filter(found, predicate)?;
            }
            out.append(&mut found);
            self.check_items(out.len())?;
        }
        in_order(out)
    }

    fn filter(&mut self, items: Vec<Item>, predicate: &Expr) -> Result<Vec<Item>> {
        if let Expr::Number(n) = predicate {
            let at = *n - 1.0;
            let kept = if at >= 0.0 && at.fract() == 0.0 { items.into_iter().nth(at as usize) } else { None };
            return Ok(kept.into_iter().collect());
        }
        let size = items.len();
        let mut out = Vec::new();
        for (item, position) in items.into_iter().zip(1..) {
            let found = self.eval(predicate, &Context::of(item.clone(), position, size))?;
            let holds = match &found[..] {
                [Item::Number(n)] => *n == position as f64,
                found => boolean(found),
            };
            if holds {
                out.push(item);
            }
        }
        Ok(out)
    }

    /// The nodes of an axis that pass the test, in the order of the axis.
    fn axis(&mut self, d: &Document, node: NodeId, axis: Axis, test: &Test, out: &mut Vec<NodeId>) -> Result<()> {
        let mut take = |ev: &mut Self, n: NodeId| -> Result<()> {
            ev.visit()?;
            if passes(d, n, axis, test) {
                out.push(n);
            }
            Ok(())
        };
        let is_inner = |n: &NodeId| !matches!(d.kind(*n), Kind::Attribute | Kind::Namespace);
        let has_siblings = is_inner(&node) && node != d.root();
        match axis {
            Axis::Child => d.children(node).try_for_each(|n| take(self, n)),
            Axis::Attribute => {
                d.attributes(node).filter(|n| d.kind(*n) == Kind::Attribute).try_for_each(|n| take(self, n))
            }
            Axis::This => take(self, node),
            Axis::Parent if node == d.root() => Ok(()),
            Axis::Parent => take(self, d.parent(node)),
            Axis::Descendant => (node + 1..d.next(node)).filter(is_inner).try_for_each(|n| take(self, n)),
            Axis::DescendantOrThis => {
                take(self, node)?;
                (node + 1..d.next(node)).filter(is_inner).try_for_each(|n| take(self, n))
            }
            Axis::Ancestor | Axis::AncestorOrThis => {
                let mut at = node;
                if axis == Axis::AncestorOrThis {
                    take(self, at)?;
                }
                while at != d.root() {
                    at = d.parent(at);
                    take(self, at)?;
                }
                Ok(())
            }
            Axis::FollowingSibling if has_siblings => {
                d.children(d.parent(node)).filter(|n| *n > node).try_for_each(|n| take(self, n))
            }
            Axis::PrecedingSibling if has_siblings => {
                let before: Vec<NodeId> = d.children(d.parent(node)).take_while(|n| *n < node).collect();
                before.into_iter().rev().try_for_each(|n| take(self, n))
            }
            Axis::FollowingSibling | Axis::PrecedingSibling => Ok(()),
            Axis::Following => (d.next(node)..d.next(d.root())).filter(is_inner).try_for_each(|n| take(self, n)),
            Axis::Preceding => {
                let is_before = |n: &NodeId| is_inner(n) && d.next(*n) <= node;
                (1..node).rev().filter(is_before).try_for_each(|n| take(self, n))
            }
        }
    }

    fn flwor(&mut self, clauses: &[Clause], result: &Expr, cx: &Context) -> Result<Vec<Item>> {
        let Some(order) = clauses.iter().position(|c| matches!(c, Clause::OrderBy(_))) else {
            let mut out = Vec::new();
            self.tuples(clauses, cx, &mut |ev| {
                out.append(&mut ev.eval(result, cx)?);
                ev.check_items(out.len())
            })?;
            return Ok(out);
        };
        let Clause::OrderBy(keys) = &clauses[order] else { return Err(Ora::internal("order of a FLWOR")) };
        if clauses[order + 1..].iter().any(|c| !matches!(c, Clause::Where(_))) {
            return Err(Ora::new(3001));
        }
        // The results of each tuple with its keys.
        let mut rows: Vec<(Vec<Option<Item>>, Vec<Item>)> = Vec::new();
        let mut kept = 0;
        self.tuples(&clauses[..order], cx, &mut |ev| {
            let mut values = Vec::with_capacity(keys.len());
            for (key, _) in keys {
                let found = ev.eval(key, cx)?;
                if found.len() > 1 {
                    return Err(many());
                }
                ev.visit_all(&found)?;
                let key = found.into_iter().next().map(Item::into_value);
                if let Some(Item::Text(text)) = &key {
                    ev.make(text.len())?;
                }
                values.push(key);
            }
            for clause in &clauses[order + 1..] {
                if let Clause::Where(test) = clause
                    && !ev.truth(test, cx)?
                {
                    return Ok(());
                }
            }
            let found = ev.eval(result, cx)?;
            kept += found.len() + 1;
            ev.check_items(kept)?;
            rows.push((values, found));
            Ok(())
        })?;
        rows.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).zip(keys);
            let orders = pairs.map(|((a, b), (_, descending))| {
                let order = key_order(a.as_ref(), b.as_ref());
                if *descending { order.reverse() } else { order }
            });
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
        Ok(rows.into_iter().flat_map(|(_, items)| items).collect())
    }

    /// Runs `done` for each tuple of bindings.
    fn tuples(
        &mut self,
        clauses: &[Clause],
        cx: &Context,
        done: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = clauses.split_first() else { return done(self) };
        match first {
            Clause::For { slot, at, source } => {
                let items = self.eval(source, cx)?;
                let held = items.len();
                self.held += held;
                self.check_held()?;
                for (item, position) in items.into_iter().zip(1u32..) {
                    self.variables[*slot] = vec![item];
                    if let Some(at) = at {
                        self.variables[*at] = vec![Item::Number(position.into())];
                    }
                    self.tuples(rest, cx, done)?;
                }
                self.held -= held;
                Ok(())
            }
            Clause::Let { slot, value } => {
                self.variables[*slot] = self.eval(value, cx)?;
                if self.variables[*slot].len() > ITEMS_MAX / 512 {
                    self.check_held()?;
                }
                self.tuples(rest, cx, done)
            }
            Clause::Where(test) => {
                if self.truth(test, cx)? {
                    self.tuples(rest, cx, done)?;
                }
                Ok(())
            }
            Clause::OrderBy(_) => self.tuples(rest, cx, done),
        }
    }

    fn quantified(&mut self, every: bool, bindings: &[(usize, Expr)], test: &Expr, cx: &Context) -> Result<bool> {
        let Some(((slot, source), rest)) = bindings.split_first() else { return self.truth(test, cx) };
        for item in self.eval(source, cx)? {
            self.variables[*slot] = vec![item];
            if self.quantified(every, rest, test, cx)? != every {
                return Ok(!every);
            }
        }
        Ok(every)
    }

    /// Appends a constructed element.
    fn element(
        &mut self,
        name: &str,
        attributes: &[(String, Vec<Part>)],
        content: &[Part],
        cx: &Context,
        out: &mut String,
    ) -> Result<()> {
        out.push('<');
        out.push_str(name);
        for (attribute, parts) in attributes {
            out.push_str(&format!(" {attribute}=\""));
            for part in parts {
                match part {
                    Part::Text(text) => push_value(text, out),
                    Part::Expr(e) => {
                        let items = self.eval(e, cx)?;
                        let texts: Vec<String> = items.iter().map(Item::to_text).collect();
                        push_escaped(&texts.join(" "), true, out);
                    }
                }
            }
            out.push('"');
        }
        if content.is_empty() {
            out.push_str("/>");
            return check_text(out.len());
        }
        out.push('>');
        let mut inner = String::new();
        for part in content {
            match part {
                Part::Text(text) => inner.push_str(text),
                Part::Expr(Expr::Element { name, attributes, content }) => {
                    self.element(name, attributes, content, cx, &mut inner)?;
                }
                Part::Expr(e) => {
                    let mut after_value = false;
                    for item in self.eval(e, cx)? {
                        let is_value = !item.is_node();
                        if is_value && after_value {
                            inner.push(' ');
                        }
                        after_value = is_value;
                        match &item {
                            // Attributes come before the content.
                            Item::Node(source, node) if source.document.kind(*node) == Kind::Attribute => {
                                out.pop();
                                out.push(' ');
                                out.push_str(source.document.source(*node));
                                out.push('>');
                            }
                            item => item.push_xml(&mut inner),
                        }
                        check_text(inner.len())?;
                    }
                }
            }
        }
        out.push_str(&inner);
        out.push_str(&format!("</{name}>"));
        check_text(out.len())
    }
}

/// Appends the text of an attribute's value, which may have references, inside double quotes.
fn push_value(text: &str, out: &mut String) {
    out.push_str(&text.replace('"', "&quot;"));
}

fn passes(d: &Document, node: NodeId, axis: Axis, test: &Test) -> bool {
    let kind = d.kind(node);
    match test {
        Test::Node => true,
        Test::Text => matches!(kind, Kind::Text | Kind::Cdata),
        Test::Comment => kind == Kind::Comment,
        Test::Element => kind == Kind::Element,
        Test::Attribute => kind == Kind::Attribute,
        Test::Document => kind == Kind::Root,
        Test::Instruction(name) => kind == Kind::Instruction && name.as_ref().is_none_or(|name| d.name(node) == name),
        Test::Name { namespace, local } => {
            let principal = if axis == Axis::Attribute { Kind::Attribute } else { Kind::Element };
            kind == principal
                && local.as_ref().is_none_or(|local| d.local_name(node) == local)
                && namespace.as_ref().is_none_or(|namespace| d.namespace(node) == namespace)
        }
    }
}

/// Items in document order, each node once. A sequence that is in order already is not sorted.
fn in_order(mut items: Vec<Item>) -> Result<Vec<Item>> {
    let follows = |pair: &[Item]| pair[0].document_order(&pair[1]) == Some(Ordering::Less);
    if items.windows(2).all(follows) {
        return Ok(items);
    }
    if !items.iter().all(Item::is_node) {
        return Err(Ora::with(19112, &[&"XPTY0018: nodes and values in one path"]));
    }
    items.sort_by(|a, b| a.document_order(b).unwrap_or(Ordering::Equal));
    items.dedup_by(|a, b| a.document_order(b) == Some(Ordering::Equal));
    Ok(items)
}

fn compare(op: Compare, a: &Item, b: &Item) -> bool {
    let holds = |order: Ordering| match op {
        Compare::Eq => order.is_eq(),
        Compare::Ne => order.is_ne(),
        Compare::Lt => order.is_lt(),
        Compare::Le => order.is_le(),
        Compare::Gt => order.is_gt(),
        Compare::Ge => order.is_ge(),
    };
    match (a, b) {
        (Item::Boolean(x), other) | (other, Item::Boolean(x)) => {
            let y = boolean(std::slice::from_ref(other));
            let order = x.cmp(&y);
            return holds(if matches!(a, Item::Boolean(_)) { order } else { order.reverse() });
        }
        (Item::Number(_), _) | (_, Item::Number(_)) => {
            let (x, y) = (a.to_number(), b.to_number());
            return match x.partial_cmp(&y) {
                Some(order) => holds(order),
                None => op == Compare::Ne,
            };
        }
        _ => {}
    }
    let is_order = !matches!(op, Compare::Eq | Compare::Ne);
    match is_order.then(|| a.to_number().partial_cmp(&b.to_number())).flatten() {
        Some(order) => holds(order),
        None => holds(a.to_text().cmp(&b.to_text())),
    }
}

/// The order of two keys; an empty one is the least.
fn key_order(a: Option<&Item>, b: Option<&Item>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => match a.to_number().partial_cmp(&b.to_number()) {
            Some(order) => order,
            None => a.to_text().cmp(&b.to_text()),
        },
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

fn arithmetic(op: Arithmetic, a: f64, b: f64) -> f64 {
    match op {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
        Arithmetic::Div => a / b,
        Arithmetic::WholeDiv => (a / b).trunc(),
        Arithmetic::Mod => a % b,
    }
}
