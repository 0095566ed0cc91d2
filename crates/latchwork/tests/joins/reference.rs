//! The naive interpreter: nested loops over the tree with three-valued logic. It shares no code with the engine, has no
//! plan, and parses nothing.

use super::tree::{Aggregate, Cond, Datum, Expr, From, INFINITY, JoinKind, ONE, Op, Query, Select, SetKind, Statement};
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

pub type Row = Vec<Datum>;
pub type Tables = Vec<Vec<Row>>;

/// A query without an answer here: it would take too long, or the engine would raise an error.
#[derive(Debug)]
pub struct Stop;

type Answer<T> = Result<T, Stop>;

/// Rows of row sources by their aliases, those of outer blocks first.
type Scope = Vec<(usize, Rc<Row>)>;

pub struct Reference<'a> {
    tables: &'a Tables,
    /// Number of conditions that may still be evaluated.
    left: Cell<u64>,
    /// Rows of uncorrelated subqueries.
    kept: RefCell<HashMap<*const Query, Rc<Vec<Row>>>>,
}

/// The input of an expression: a row, or the rows of a group.
struct Place<'s> {
    scope: &'s Scope,
    group: Option<&'s [Scope]>,
}

impl<'a> Reference<'a> {
    pub fn new(tables: &'a Tables, steps: u64) -> Reference<'a> {
        Reference { tables, left: Cell::new(steps), kept: RefCell::new(HashMap::new()) }
    }

    pub fn statement(&self, statement: &Statement) -> Answer<Vec<Row>> {
        let mut rows = self.query(&statement.query, &Vec::new())?;
        if !statement.order.is_empty() {
            rows.sort_by(|a, b| ordered(a, b, &statement.order));
        }
        if let Some(first) = statement.first {
            rows.truncate(first);
        }
        Ok(rows)
    }

    fn step(&self) -> Answer<()> {
        let left = self.left.get().checked_sub(1).ok_or(Stop)?;
        self.left.set(left);
        Ok(())
    }

    fn query(&self, query: &Query, outer: &Scope) -> Answer<Vec<Row>> {
        match query {
            Query::Select(select) => self.select(select, outer),
            Query::Set(kind, left, right) => {
                let (mut left, right) = (self.query(left, outer)?, self.query(right, outer)?);
                let right_has = |row: &Row| right.contains(row);
                match kind {
                    SetKind::UnionAll => {
                        left.extend(right);
                        return Ok(left);
                    }
                    SetKind::Union => left.extend(right),
                    SetKind::Intersect => left.retain(right_has),
                    SetKind::Minus => left.retain(|row| !right_has(row)),
                }
                Ok(distinct(left))
            }
        }
    }

    /// Rows of a subquery; those of an uncorrelated one are kept.
    fn subquery(&self, query: &Query, outer: &Scope) -> Answer<Rc<Vec<Row>>> {
        if !query.free().is_empty() {
            return self.query(query, outer).map(Rc::new);
        }
        if let Some(rows) = self.kept.borrow().get(&std::ptr::from_ref(query)) {
            return Ok(Rc::clone(rows));
        }
        let rows = Rc::new(self.query(query, outer)?);
        self.kept.borrow_mut().insert(query, Rc::clone(&rows));
        Ok(rows)
    }

    fn select(&self, select: &Select, outer: &Scope) -> Answer<Vec<Row>> {
        let mut sources = Vec::new();
        for from in &select.from {
            sources.push(self.from(from, outer)?);
        }
        // A condition is evaluated as soon as its row sources have rows; that affects only the time.
        let mut conds: Vec<Vec<&Cond>> = vec![Vec::new(); select.from.len()];
        for cond in select.cond.iter().flat_map(Cond::conjuncts) {
            let (mut named, mut own) = (BTreeSet::new(), BTreeSet::new());
            cond.aliases(&mut named, &mut own);
            let mut place = 0;
            for (at, from) in select.from.iter().enumerate() {
                let mut gives = Vec::new();
                from.gives(&mut gives);
                if gives.iter().any(|alias| named.contains(alias)) {
                    place = at;
                }
            }
            conds[place].push(cond);
        }
        let mut found = Vec::new();
        self.nest(&sources, &conds, &mut outer.clone(), &mut found)?;
        let mut rows = Vec::new();
        if !select.is_grouped() {
            for scope in &found {
                rows.push(self.items(select, &Place { scope, group: None })?);
            }
        } else {
            for group in self.groups(select, found)? {
                let scope = group.first().unwrap_or(outer);
                let place = Place { scope, group: Some(&group) };
                let holds = match &select.having {
                    Some(having) => self.cond(having, &place)? == Some(true),
                    None => true,
                };
                if holds {
                    rows.push(self.items(select, &place)?);
                }
            }
        }
        Ok(if select.distinct { distinct(rows) } else { rows })
    }

    fn items(&self, select: &Select, place: &Place<'_>) -> Answer<Row> {
        select.items.iter().map(|e| self.expr(e, place)).collect()
    }

    fn groups(&self, select: &Select, found: Vec<Scope>) -> Answer<Vec<Vec<Scope>>> {
        if select.group.is_empty() {
            return Ok(vec![found]);
        }
        let mut groups: BTreeMap<Row, Vec<Scope>> = BTreeMap::new();
        for scope in found {
            let place = Place { scope: &scope, group: None };
            let key: Row = select.group.iter().map(|e| self.expr(e, &place)).collect::<Answer<Row>>()?;
            groups.entry(key).or_default().push(scope);
        }
        Ok(groups.into_values().collect())
    }

    fn nest(
        &self,
        sources: &[Vec<Scope>],
        conds: &[Vec<&Cond>],
        scope: &mut Scope,
        found: &mut Vec<Scope>,
    ) -> Answer<()> {
        let Some((rows, rest)) = sources.split_first() else {
            found.push(scope.clone());
            return Ok(());
        };
        for row in rows {
            self.step()?;
            let len = scope.len();
            scope.extend(row.iter().cloned());
            let mut holds = true;
            for cond in &conds[0] {
                holds = holds && self.cond(cond, &Place { scope, group: None })? == Some(true);
            }
            if holds {
                self.nest(rest, &conds[1..], scope, found)?;
            }
            scope.truncate(len);
        }
        Ok(())
    }

    fn from(&self, from: &From, outer: &Scope) -> Answer<Vec<Scope>> {
        match from {
            From::Table(alias, table) => {
                Ok(self.tables[*table].iter().map(|r| vec![(*alias, Rc::new(r.clone()))]).collect())
            }
            From::View(alias, query, _) => {
                let rows = self.subquery(query, outer)?;
                Ok(rows.iter().map(|r| vec![(*alias, Rc::new(r.clone()))]).collect())
            }
            From::Join(left, right, kind, on) => {
                let (lefts, rights) = (self.from(left, outer)?, self.from(right, outer)?);
                let mut rows = Vec::new();
                let mut seen = vec![false; rights.len()];
                for left_row in &lefts {
                    let mut matched = false;
                    for (at, right_row) in rights.iter().enumerate() {
                        self.step()?;
                        let mut scope = outer.clone();
                        scope.extend(left_row.iter().chain(right_row).cloned());
                        let holds = *kind == JoinKind::Cross
                            || self.cond(on, &Place { scope: &scope, group: None })? == Some(true);
                        if holds {
                            (matched, seen[at]) = (true, true);
                            rows.push(scope.split_off(outer.len()));
                        }
                    }
                    if !matched && matches!(kind, JoinKind::Left | JoinKind::Full) {
                        rows.push(left_row.iter().cloned().chain(nulls(right)).collect());
                    }
                }
                if matches!(kind, JoinKind::Right | JoinKind::Full) {
                    for right_row in rights.iter().zip(&seen).filter(|(_, seen)| !**seen).map(|(row, _)| row) {
                        rows.push(nulls(left).into_iter().chain(right_row.iter().cloned()).collect());
                    }
                }
                Ok(rows)
            }
        }
    }

    fn expr(&self, e: &Expr, place: &Place<'_>) -> Answer<Datum> {
        Ok(match e {
            Expr::Column(alias, at) => {
                let row = place.scope.iter().rev().find(|(a, _)| a == alias).ok_or(Stop)?;
                row.1.get(*at).cloned().ok_or(Stop)?
            }
            Expr::Literal(datum) => datum.clone(),
            Expr::Add(a, b) => match (self.expr(a, place)?, self.expr(b, place)?) {
                (Datum::Number(a), Datum::Number(b)) => Datum::Number(a + b),
                (Datum::Date(a), Datum::Number(b)) => Datum::Date(a + b),
                _ => Datum::Null,
            },
            Expr::Subtract(a, b) => match (self.expr(a, place)?, self.expr(b, place)?) {
                (Datum::Number(a), Datum::Number(b)) => Datum::Number(a - b),
                (Datum::Date(a), Datum::Number(b)) => Datum::Date(a - b),
                (Datum::Date(a), Datum::Date(b)) => Datum::Number(a - b),
                _ => Datum::Null,
            },
            Expr::Multiply(a, b) => match (self.expr(a, place)?, self.expr(b, place)?) {
                (Datum::Number(a), Datum::Number(b)) => {
                    let product = a.checked_mul(b).filter(|product| product % ONE == 0).ok_or(Stop)?;
                    Datum::Number(product / ONE)
                }
                _ => Datum::Null,
            },
            Expr::Nvl(a, b) => match self.expr(a, place)? {
                Datum::Null => match self.expr(b, place)? {
                    // NVL of texts is a VARCHAR2.
                    Datum::Char(text) => Datum::Text(text),
                    other => other,
                },
                Datum::Char(text) => Datum::Text(text),
                other => other,
            },
            Expr::Case(cond, a, b) => {
                let branch = if self.cond(cond, place)? == Some(true) { a } else { b };
                self.expr(branch, place)?
            }
            Expr::Aggregate(what, of, unique) => self.aggregate(*what, of.as_deref(), *unique, place)?,
            Expr::Scalar(query) => {
                let rows = self.subquery(query, place.scope)?;
                match rows.len() {
                    0 => Datum::Null,
                    1 => rows[0][0].clone(),
                    // ORA-01427.
                    _ => return Err(Stop),
                }
            }
        })
    }

    fn aggregate(&self, what: Aggregate, of: Option<&Expr>, unique: bool, place: &Place<'_>) -> Answer<Datum> {
        let group = place.group.ok_or(Stop)?;
        let Some(of) = of else { return Ok(Datum::Number(group.len() as i64 * ONE)) };
        let mut values = Vec::new();
        for scope in group {
            let value = self.expr(of, &Place { scope, group: None })?;
            if value != Datum::Null && !(unique && values.contains(&value)) {
                values.push(value);
            }
        }
        Ok(match what {
            Aggregate::Count => Datum::Number(values.len() as i64 * ONE),
            Aggregate::Min => values.into_iter().min().unwrap_or(Datum::Null),
            Aggregate::Max => values.into_iter().max().unwrap_or(Datum::Null),
            Aggregate::Sum if values.is_empty() => Datum::Null,
            Aggregate::Sum => {
                let number = |value: &Datum| if let Datum::Number(n) = value { Ok(*n) } else { Err(Stop) };
                Datum::Number(values.iter().map(number).sum::<Answer<i64>>()?)
            }
        })
    }

    fn cond(&self, cond: &Cond, place: &Place<'_>) -> Answer<Option<bool>> {
        self.step()?;
        let negate = |truth: Option<bool>, negated: bool| truth.map(|t| t != negated);
        Ok(match cond {
            Cond::Constant(is) => Some(*is),
            Cond::Compare(op, a, b) => compare(*op, &self.expr(a, place)?, &self.expr(b, place)?),
            Cond::Between(a, b, c) => {
                let (a, b, c) = (self.expr(a, place)?, self.expr(b, place)?, self.expr(c, place)?);
                and(compare(Op::Ge, &a, &b), compare(Op::Le, &a, &c))
            }
            Cond::InList(e, list, negated) => {
                let value = self.expr(e, place)?;
                let mut truth = Some(false);
                for item in list {
                    truth = or(truth, compare(Op::Eq, &value, &self.expr(item, place)?));
                }
                negate(truth, *negated)
            }
            Cond::Like(e, pattern, negated) => match self.expr(e, place)? {
                Datum::Text(text) | Datum::Char(text) => {
                    negate(Some(like(text.as_bytes(), pattern.as_bytes())), *negated)
                }
                _ => None,
            },
            Cond::IsNull(e, negated) => Some((self.expr(e, place)? == Datum::Null) != *negated),
            Cond::And(all) => {
                let mut truth = Some(true);
                for cond in all {
                    truth = and(truth, self.cond(cond, place)?);
                }
                truth
            }
            Cond::Or(all) => {
                let mut truth = Some(false);
                for cond in all {
                    truth = or(truth, self.cond(cond, place)?);
                }
                truth
            }
            Cond::Not(of) => negate(self.cond(of, place)?, true),
            Cond::Exists(query, negated) => Some(self.subquery(query, place.scope)?.is_empty() == *negated),
            Cond::In(row, query, negated) => {
                let values: Row = row.iter().map(|e| self.expr(e, place)).collect::<Answer<Row>>()?;
                let mut truth = Some(false);
                for other in self.subquery(query, place.scope)?.iter() {
                    let mut same = Some(true);
                    for (a, b) in values.iter().zip(other) {
                        same = and(same, compare(Op::Eq, a, b));
                    }
                    truth = or(truth, same);
                }
                negate(truth, *negated)
            }
            Cond::Quantified(op, e, query, all) => {
                let value = self.expr(e, place)?;
                let mut truth = Some(*all);
                for other in self.subquery(query, place.scope)?.iter() {
                    let holds = compare(*op, &value, &other[0]);
                    truth = if *all { and(truth, holds) } else { or(truth, holds) };
                }
                truth
            }
        })
    }
}

fn nulls(from: &From) -> Scope {
    match from {
        From::Table(alias, _) => vec![(*alias, Rc::new(vec![Datum::Null; super::tree::COLUMNS.len()]))],
        From::View(alias, query, _) => vec![(*alias, Rc::new(vec![Datum::Null; query.width()]))],
        From::Join(left, right, ..) => nulls(left).into_iter().chain(nulls(right)).collect(),
    }
}

fn distinct(rows: Vec<Row>) -> Vec<Row> {
    rows.into_iter().collect::<BTreeSet<Row>>().into_iter().collect()
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

fn compare(op: Op, a: &Datum, b: &Datum) -> Option<bool> {
    let order = match (a, b) {
        (Datum::Null, _) | (_, Datum::Null) => return None,
        (Datum::Number(a), Datum::Number(b)) | (Datum::Double(a), Datum::Double(b)) => a.cmp(b),
        // No number is as large as the representation of an infinity.
        (Datum::Number(a), Datum::Double(b)) | (Datum::Double(a), Datum::Number(b)) => {
            debug_assert!(a.abs().min(b.abs()) < INFINITY);
            a.cmp(b)
        }
        (Datum::Date(a) | Datum::Timestamp(a), Datum::Date(b) | Datum::Timestamp(b)) => a.cmp(b),
        (Datum::Char(a), Datum::Char(b)) => a.trim_end_matches(' ').cmp(b.trim_end_matches(' ')),
        (Datum::Text(a) | Datum::Char(a), Datum::Text(b) | Datum::Char(b)) => a.cmp(b),
        // The generator compares only comparable kinds.
        _ => return None,
    };
    Some(match op {
        Op::Eq => order == Ordering::Equal,
        Op::Ne => order != Ordering::Equal,
        Op::Lt => order == Ordering::Less,
        Op::Le => order != Ordering::Greater,
        Op::Gt => order == Ordering::Greater,
        Op::Ge => order != Ordering::Less,
    })
}

/// LIKE with `%` and `_`.
fn like(text: &[u8], pattern: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'%', rest)) => (0..=text.len()).any(|at| like(&text[at..], rest)),
        Some((b'_', rest)) => !text.is_empty() && like(&text[1..], rest),
        Some((byte, rest)) => text.first() == Some(byte) && like(&text[1..], rest),
    }
}

/// ORDER BY: NULL comes last when it ascends, first when it descends.
pub fn ordered(a: &Row, b: &Row, by: &[(usize, bool)]) -> Ordering {
    for (at, descends) in by {
        let order = match (&a[*at], &b[*at]) {
            (Datum::Null, Datum::Null) => Ordering::Equal,
            (Datum::Null, _) => Ordering::Greater,
            (_, Datum::Null) => Ordering::Less,
            (a, b) => a.cmp(b),
        };
        let order = if *descends { order.reverse() } else { order };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
