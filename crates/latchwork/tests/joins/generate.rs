//! Random tables and random queries over them, from a seed.

use super::reference::{Row, Tables};
use super::tree::{Aggregate, COLUMNS, Cond, Datum, Expr, From, INFINITY, JoinKind, KINDS, Kind, NAN, ONE, Op, Query};
use super::tree::{Select, SetKind, Statement, ViewKind};
use testing::Random;

/// Number of tables in a world.
pub const TABLES: usize = 10;

const TEXTS: [&str; 8] = ["a", "ab", "abc", "b", "ba", "b ", "c", "A"];
const CHARS: [&str; 6] = ["a", "ab", "abc", "b", "ba", "A"];
const PATTERNS: [&str; 8] = ["a%", "%b%", "_", "a_", "%", "b%", "ab%", "xx%b"];
/// The lengths of texts in the long column.
const LENGTHS: [usize; 4] = [1, 60, 300, 1_500];
const TAILS: [&str; 4] = ["", "a", "b", "ab"];

/// A world: the statements that create it, and its rows for the reference.
pub struct World {
    pub statements: Vec<String>,
    pub tables: Tables,
    /// Tables whose `id` is unique and never NULL.
    pub keyed: Vec<bool>,
}

pub fn world(r: &mut Random) -> World {
    let mut world = World { statements: Vec::new(), tables: Vec::new(), keyed: Vec::new() };
    for table in 0..TABLES {
        let keyed = r.percent(60);
        let key = if keyed { " primary key" } else { "" };
        let not_null = r.percent(20);
        let by_key = keyed && r.percent(15);
        world.statements.push(format!(
            "create table t{table} (id number{key}, n number, k number{}, c char(4), v varchar2(6), d date, \
             l varchar2(4000), b binary_double, s timestamp){}",
            if not_null { " not null" } else { "" },
            if by_key { " organization index" } else { "" }
        ));
        let count = match r.below(100) {
            0..=4 => 0,
            5..=8 => 1,
            9..=14 => 60 + r.below(90),
            _ => 5 + r.below(26),
        };
        // A row of an index-organised table must fit into half a block.
        let lengths = if by_key { &LENGTHS[..3] } else { &LENGTHS[..] };
        let (fractions, negatives) = (r.of(&[0, 0, 10, 40]), r.of(&[0, 5, 20]));
        let mut rows: Vec<Row> = Vec::new();
        let mut ids: Vec<i64> = (1..=40.max(count as i64 + 10)).collect();
        for _ in 0..count {
            let id = match keyed {
                true => ids.swap_remove(r.below(ids.len())),
                false => 1 + r.below(25) as i64,
            };
            let null = |r: &mut Random, percent, datum: Datum| if r.percent(percent) { Datum::Null } else { datum };
            let k = r.below(6) as i64 * ONE;
            let n = some_number(r, 12, fractions, negatives);
            let b = match r.below(20) {
                0 => NAN,
                1 => r.of(&[INFINITY, -INFINITY]),
                _ => some_number(r, 12, fractions, negatives),
            };
            let (d, s) = (some_day(r, fractions), some_day(r, fractions));
            let (c, v) = (format!("{:<4}", r.of(&CHARS)), r.of(&TEXTS).to_string());
            let l = format!("{}{}", "x".repeat(r.of(lengths)), r.of(&TAILS));
            let id_null = if keyed { 0 } else { 8 };
            rows.push(vec![
                null(r, id_null, Datum::Number(id * ONE)),
                null(r, 15, Datum::Number(n)),
                null(r, if not_null { 0 } else { 5 }, Datum::Number(k)),
                null(r, 15, Datum::Char(c)),
                null(r, 15, Datum::Text(v)),
                null(r, 15, Datum::Date(d)),
                null(r, 15, Datum::Text(l)),
                null(r, 15, Datum::Double(b)),
                null(r, 15, Datum::Timestamp(s)),
            ]);
        }
        for row in &rows {
            let values: Vec<String> = row
                .iter()
                .map(|datum| match datum {
                    Datum::Char(text) => format!("'{}'", text.trim_end()),
                    other => super::tree::literal(other),
                })
                .collect();
            world.statements.push(format!("insert into t{table} values ({})", values.join(", ")));
        }
        for (at, column) in COLUMNS.iter().enumerate().skip(usize::from(keyed)) {
            if r.percent(20) {
                let second = COLUMNS[(at + 1 + r.below(COLUMNS.len() - 1)) % COLUMNS.len()];
                let descends = if r.percent(15) { " desc" } else { "" };
                let second = if r.percent(40) { format!(", {second}") } else { String::new() };
                let columns = format!("{column}{descends}{second}");
                world.statements.push(format!("create index t{table}_{column} on t{table} ({columns})"));
            }
        }
        if r.percent(60) {
            world.statements.push(format!(
                "begin dbms_stats.gather_table_stats(user, 'T{table}', method_opt => 'for \
             all columns size skewonly'); end;"
            ));
        }
        world.tables.push(rows);
        world.keyed.push(keyed);
    }
    world.statements.push("commit".to_string());
    world
}

/// A number below `below`, in hundredths; the percentages of fractions and of negative numbers are given.
fn some_number(r: &mut Random, below: usize, fractions: usize, negatives: usize) -> i64 {
    let whole = r.below(below) as i64 * ONE;
    let n = if r.percent(fractions) { whole + r.of(&[1, 25, 50, 75]) } else { whole };
    if r.percent(negatives) { -n } else { n }
}

/// A day, or with the given percentage a quarter of one.
fn some_day(r: &mut Random, fractions: usize) -> i64 {
    let whole = (1 + r.below(20)) as i64 * ONE;
    if r.percent(fractions) { whole + r.of(&[25, 50, 75]) } else { whole }
}

/// A row source in scope: its alias, and the kinds of its columns.
type Source = (usize, Vec<Kind>);

pub struct Generator<'a> {
    r: &'a mut Random,
    keyed: &'a [bool],
    aliases: usize,
}

/// Maximum nesting of subqueries and views.
const DEPTH: usize = 3;

impl<'a> Generator<'a> {
    pub fn new(r: &'a mut Random, keyed: &'a [bool]) -> Generator<'a> {
        Generator { r, keyed, aliases: 0 }
    }

    pub fn statement(&mut self) -> Statement {
        let count = match self.r.below(10) {
            0 => 1,
            1..=5 => 2 + self.r.below(2),
            6..=7 => 4 + self.r.below(2),
            _ => 6 + self.r.below(5),
        };
        let query = self.query(count, &[], 0, None);
        let width = query.width();
        let (mut order, mut first) = (Vec::new(), None);
        if self.r.percent(25) {
            let all = self.r.percent(50);
            for at in 0..width {
                if all || self.r.percent(50) {
                    order.push((at, self.r.percent(40)));
                }
            }
            if order.len() == width && self.r.percent(60) {
                first = Some(1 + self.r.below(12));
            }
        }
        Statement { query, order, first }
    }

    fn alias(&mut self) -> usize {
        self.aliases += 1;
        self.aliases
    }

    /// A query over about `count` row sources; `kinds` sets the kinds of its columns.
    fn query(&mut self, count: usize, outer: &[Source], depth: usize, kinds: Option<&[Kind]>) -> Query {
        if self.r.percent(10) {
            let kinds = kinds.map(<[Kind]>::to_vec).unwrap_or_else(|| self.kinds());
            let kind = self.r.of(&[SetKind::Union, SetKind::UnionAll, SetKind::Intersect, SetKind::Minus]);
            let half = count.div_ceil(2);
            let left = self.select(half, outer, depth, Some(&kinds)).0;
            let right = self.select(half, outer, depth, Some(&kinds)).0;
            return Query::Set(kind, Box::new(Query::Select(left.into())), Box::new(Query::Select(right.into())));
        }
        Query::Select(self.select(count, outer, depth, kinds).0.into())
    }

    fn kinds(&mut self) -> Vec<Kind> {
        let count = 1 + self.r.below(3);
        (0..count).map(|_| self.kind()).collect()
    }

    fn kind(&mut self) -> Kind {
        match self.r.below(18) {
            0..=9 => Kind::Number,
            10 | 11 => Kind::Char,
            12 | 13 => Kind::Text,
            14 | 15 => Kind::Date,
            16 => Kind::Double,
            _ => Kind::Timestamp,
        }
    }

    /// A type that values of a type are compared with.
    fn comparable(&mut self, kind: Kind) -> Kind {
        if self.r.percent(8) { kind.partner() } else { kind }
    }

    /// A block, and the kinds of its columns.
    fn select(&mut self, count: usize, outer: &[Source], depth: usize, kinds: Option<&[Kind]>) -> (Select, Vec<Kind>) {
        let mut select = Select { marks: self.r.percent(20), ..Select::default() };
        let mut sources: Vec<Source> = Vec::new();
        let mut conds = Vec::new();
        let ansi = !select.marks && self.r.percent(40);
        for at in 0..count.max(1) {
            let (item, mut new) = self.item(count, depth, ansi && at > 0);
            let Some(joined) = (at > 0).then(|| self.r.below(100)) else {
                select.from.push(item);
                sources.append(&mut new);
                continue;
            };
            if ansi || (select.marks && joined < 60) {
                let left = select.from.pop().expect("the first row source");
                let is_one = !matches!(left, From::Join(..));
                let kind = match (joined, select.marks) {
                    (0..=14, true) if is_one => JoinKind::Right,
                    (_, true) => JoinKind::Left,
                    (0..=34, _) => JoinKind::Inner,
                    (35..=69, _) => JoinKind::Left,
                    (70..=79, _) => JoinKind::Right,
                    (80..=89, _) => JoinKind::Full,
                    (90..=92, _) => JoinKind::Cross,
                    _ => JoinKind::Left,
                };
                let mut within = Vec::new();
                left.gives(&mut within);
                let before: Vec<Source> = sources.iter().filter(|(a, _)| within.contains(a)).cloned().collect();
                // With `(+)`, a condition that names only one row source names the optional one.
                let on = match kind == JoinKind::Right && select.marks {
                    true => self.on(&new, &before, true),
                    false => self.on(&before, &new, select.marks),
                };
                select.from.push(From::Join(Box::new(left), Box::new(item), kind, on));
            } else {
                let on = self.on(&sources, &new, false);
                if joined < 96 {
                    conds.extend(on.conjuncts().into_iter().cloned());
                }
                select.from.push(item);
            }
            sources.append(&mut new);
        }
        for _ in 0..self.r.below(3) {
            conds.push(self.cond(&sources, outer, depth, 0));
        }
        if depth > 0 && !outer.is_empty() && self.r.percent(75) {
            conds.push(self.correlation(&sources, outer));
        }
        if !conds.is_empty() {
            select.cond = Some(Cond::And(conds));
        }
        let mut out = Vec::new();
        if self.r.percent(25) {
            self.group(&mut select, &sources, outer, depth, kinds, &mut out);
        } else {
            let wanted = kinds.map(<[Kind]>::to_vec).unwrap_or_else(|| self.kinds());
            for kind in wanted {
                select.items.push(self.expr(&sources, kind, depth));
                out.push(kind);
            }
            select.distinct = self.r.percent(15);
        }
        select.rownum = self.r.percent(4) && !select.is_grouped();
        (select, out)
    }

    fn group(
        &mut self,
        select: &mut Select,
        sources: &[Source],
        outer: &[Source],
        depth: usize,
        kinds: Option<&[Kind]>,
        out: &mut Vec<Kind>,
    ) {
        let whole = self.r.percent(15) && kinds.is_none_or(|kinds| !kinds.contains(&Kind::Char));
        if !whole {
            for _ in 0..1 + self.r.below(2) {
                let kind = self.kind();
                select.group.extend(self.column(sources, kind));
            }
        }
        let wanted = kinds.map(<[Kind]>::to_vec).unwrap_or_else(|| {
            let mut kinds = self.kinds();
            kinds.retain(|k| *k != Kind::Char);
            kinds.push(Kind::Number);
            kinds
        });
        for kind in wanted {
            let by_group: Vec<Expr> =
                select.group.iter().filter(|e| self.kind_of(e, sources) == kind).cloned().collect();
            let item = if !by_group.is_empty() && (kind == Kind::Char || self.r.percent(50)) {
                self.r.of(&by_group)
            } else if kind == Kind::Char {
                // Of CHAR columns only the grouping columns: joins do not depend on the type of an aggregate.
                match self.column(sources, Kind::Char) {
                    Some(column) => {
                        select.group.push(column.clone());
                        column
                    }
                    None => Expr::Literal(Datum::Null),
                }
            } else {
                self.aggregate(sources, kind)
            };
            select.items.push(item);
            out.push(kind);
        }
        // A block with a group and no aggregate is still grouped; one without both is not.
        if select.group.is_empty() && !select.items.iter().any(Expr::has_aggregate) {
            select.items[0] = self.aggregate(sources, out[0]);
        }
        if self.r.percent(30) {
            let aggregate = self.aggregate(sources, Kind::Number);
            let op = self.r.of(&Op::ALL);
            let against = match self.r.percent(25) && depth < DEPTH {
                true => self.scalar(outer, depth + 1),
                false => number(self.r.below(6) as i64),
            };
            select.having = Some(Cond::Compare(op, aggregate, against));
        }
    }

    fn aggregate(&mut self, sources: &[Source], kind: Kind) -> Expr {
        let of = |me: &mut Self, kind| Some(Box::new(me.column(sources, kind)?));
        if kind != Kind::Number {
            let what = self.r.of(&[Aggregate::Min, Aggregate::Max]);
            return match of(self, kind) {
                Some(of) => Expr::Aggregate(what, Some(of), false),
                // MIN of NULL would be a text.
                None => Expr::Aggregate(what, Some(Box::new(default_of(kind))), false),
            };
        }
        match self.r.below(5) {
            0 => Expr::Aggregate(Aggregate::Count, None, false),
            1 => {
                let any = self.kind();
                let (of, distinct) = (of(self, any), self.r.percent(40));
                let distinct = distinct && of.is_some();
                Expr::Aggregate(Aggregate::Count, of, distinct)
            }
            _ => match of(self, Kind::Number) {
                Some(of) => Expr::Aggregate(
                    self.r.of(&[Aggregate::Sum, Aggregate::Min, Aggregate::Max]),
                    Some(of),
                    self.r.percent(15),
                ),
                None => Expr::Aggregate(Aggregate::Count, None, false),
            },
        }
    }

    /// A row source of FROM.
    fn item(&mut self, count: usize, depth: usize, may_nest: bool) -> (From, Vec<Source>) {
        if may_nest && self.r.percent(6) {
            let (left, mut sources) = self.item(count, depth, false);
            let (right, more) = self.item(count, depth, false);
            let on = self.on(&sources, &more, false);
            sources.extend(more);
            let kind = self.r.of(&[JoinKind::Inner, JoinKind::Left, JoinKind::Full]);
            return (From::Join(Box::new(left), Box::new(right), kind, on), sources);
        }
        let alias = self.alias();
        let views = if count > 5 { 8 } else { 20 };
        if depth < DEPTH - 1 && self.r.percent(views) {
            let kinds = self.kinds();
            let inner = 1 + self.r.below(3);
            let query = self.query(inner, &[], depth + 1, Some(&kinds));
            let how = match self.r.below(10) {
                0 => ViewKind::With,
                1 => ViewKind::Named,
                _ => ViewKind::Inline,
            };
            return (From::View(alias, Box::new(query), how), vec![(alias, kinds)]);
        }
        (From::Table(alias, self.r.below(TABLES)), vec![(alias, KINDS.to_vec())])
    }

    /// A condition between row sources before and new ones.
    fn on(&mut self, before: &[Source], new: &[Source], simple: bool) -> Cond {
        let mut conds = Vec::new();
        // Without an equality, rows are found by the order of a column or by comparing all.
        let ranges = self.r.percent(12);
        if ranges || self.r.percent(8) {
            conds.extend(self.range(before, new));
        }
        let equalities = if ranges { 0 } else { 1 + usize::from(self.r.percent(25)) };
        for _ in 0..equalities {
            let kind = if self.r.percent(70) { Kind::Number } else { self.kind() };
            // One side of a `(+)` condition belongs to a single row source.
            let Some(mine) = self.column(new, kind) else { continue };
            let partner = self.comparable(kind);
            let Some(other) = self.column(before, partner) else { continue };
            let op = if self.r.percent(92) { Op::Eq } else { self.r.of(&Op::ALL) };
            let other = match partner == Kind::Number && self.r.percent(8) {
                true => Expr::Add(Box::new(other), Box::new(number(1))),
                false => other,
            };
            conds.push(if self.r.percent(50) {
                Cond::Compare(op, mine, other)
            } else {
                Cond::Compare(op, other, mine)
            });
        }
        if self.r.percent(20) {
            let kind = self.kind();
            if let Some(mine) = self.column(new, kind) {
                let value = self.literal(kind);
                let op = self.r.of(&Op::ALL);
                conds.push(Cond::Compare(op, mine, value));
            }
        }
        if !simple && self.r.percent(12) {
            let both: Vec<Source> = before.iter().chain(new).cloned().collect();
            conds.push(self.cond(&both, &[], DEPTH, 1));
        }
        if conds.is_empty() {
            // `(+)` needs at least one condition with the mark.
            let column = self.column(new, Kind::Number).or_else(|| self.column(new, new[0].1[0])).expect("a column");
            let kind = self.kind_of(&column, new);
            let value = default_of(kind);
            conds.push(Cond::Compare(Op::Le, column, value));
        }
        Cond::And(conds)
    }

    /// A band or an inequality between row sources before and new ones.
    fn range(&mut self, before: &[Source], new: &[Source]) -> Vec<Cond> {
        let kind = if self.r.percent(60) { Kind::Number } else { self.kind() };
        let partner = self.comparable(kind);
        let Some(mine) = self.column(new, kind) else { return Vec::new() };
        let Some(other) = self.column(before, partner) else { return Vec::new() };
        let (inner, outer) = match self.r.percent(50) {
            true => (mine.clone(), other.clone()),
            false => (other.clone(), mine.clone()),
        };
        let shifts = |e: &Expr| match e {
            Expr::Column(alias, at) => {
                before.iter().chain(new).any(|(a, kinds)| a == alias && matches!(kinds[*at], Kind::Number | Kind::Date))
            }
            _ => false,
        };
        let shifted = |me: &mut Self, e: &Expr, down: bool| {
            let by = Box::new(number(me.r.below(4) as i64));
            match down {
                _ if !shifts(e) || me.r.percent(30) => e.clone(),
                true => Expr::Subtract(Box::new(e.clone()), by),
                false => Expr::Add(Box::new(e.clone()), by),
            }
        };
        let op = self.r.of(&[Op::Lt, Op::Le, Op::Gt, Op::Ge]);
        match self.r.below(4) {
            0 => {
                let (low, high) = (shifted(self, &outer, true), shifted(self, &outer, false));
                vec![Cond::Between(inner, low, high)]
            }
            1 => {
                // Each limit separately, with the other row source's value between them.
                let (low, high) = (shifted(self, &inner, true), shifted(self, &inner, false));
                let (from, to) = (self.r.of(&[Op::Ge, Op::Gt]), self.r.of(&[Op::Le, Op::Lt]));
                vec![Cond::Compare(from, outer.clone(), low), Cond::Compare(to, outer, high)]
            }
            2 => {
                // From one column to another, like periods of validity.
                let Some(second) = self.column(before, partner) else { return Vec::new() };
                let (from, to) = (self.r.of(&[Op::Ge, Op::Gt]), self.r.of(&[Op::Le, Op::Lt]));
                vec![Cond::Compare(from, mine.clone(), other), Cond::Compare(to, mine, second)]
            }
            _ => vec![Cond::Compare(op, inner, shifted(self, &outer, op == Op::Gt))],
        }
    }

    fn correlation(&mut self, sources: &[Source], outer: &[Source]) -> Cond {
        for _ in 0..8 {
            let kind = if self.r.percent(75) { Kind::Number } else { self.kind() };
            let partner = self.comparable(kind);
            if let (Some(mine), Some(other)) = (self.column(sources, kind), self.column(outer, partner)) {
                let op = if self.r.percent(80) { Op::Eq } else { self.r.of(&Op::ALL) };
                return Cond::Compare(op, mine, other);
            }
        }
        Cond::Constant(true)
    }

    /// A condition over row sources; subqueries in it may name the `outer` ones.
    fn cond(&mut self, sources: &[Source], outer: &[Source], depth: usize, nested: usize) -> Cond {
        if nested < 2 && self.r.percent(22) {
            let parts = 2 + self.r.below(2);
            let parts: Vec<Cond> = (0..parts).map(|_| self.cond(sources, outer, depth, nested + 1)).collect();
            return match self.r.below(5) {
                0 => Cond::Not(Box::new(Cond::Or(parts))),
                1 => Cond::And(parts),
                2 => Cond::Not(Box::new(Cond::And(parts))),
                _ => Cond::Or(parts),
            };
        }
        if depth < DEPTH && self.r.percent(40) {
            return self.subquery_cond(sources, outer, depth);
        }
        let kind = self.kind();
        let e = self.expr(sources, kind, DEPTH);
        match self.r.below(9) {
            0 => Cond::IsNull(e, self.r.percent(50)),
            1 => {
                let (a, b) = (self.literal(kind), self.literal(kind));
                Cond::Between(e, a, b)
            }
            2 | 3 => {
                let count = 1 + self.r.below(4);
                let mut list: Vec<Expr> = (0..count).map(|_| self.literal(kind)).collect();
                if self.r.percent(10) {
                    list.push(Expr::Literal(Datum::Null));
                }
                Cond::InList(e, list, self.r.percent(35))
            }
            4 if matches!(kind, Kind::Text | Kind::Char) => {
                Cond::Like(e, self.r.of(&PATTERNS).to_string(), self.r.percent(35))
            }
            5 | 6 => {
                let partner = self.comparable(kind);
                let other = self.column(sources, partner).unwrap_or_else(|| default_of(kind));
                Cond::Compare(self.r.of(&Op::ALL), e, other)
            }
            _ => {
                let op = if self.r.percent(50) { Op::Eq } else { self.r.of(&Op::ALL) };
                let value = self.literal(kind);
                Cond::Compare(op, e, value)
            }
        }
    }

    fn subquery_cond(&mut self, sources: &[Source], outer: &[Source], depth: usize) -> Cond {
        let mut around: Vec<Source> = sources.to_vec();
        if self.r.percent(25) {
            around.extend(outer.iter().cloned());
        }
        let correlated = self.r.percent(70);
        let outer: &[Source] = if correlated { &around } else { &[] };
        let count = 1 + usize::from(self.r.percent(30));
        match self.r.below(12) {
            0..=3 => {
                let query = self.query(count, outer, depth + 1, None);
                Cond::Exists(Box::new(query), self.r.percent(45))
            }
            4..=6 => {
                let kinds: Vec<Kind> = (0..1 + usize::from(self.r.percent(15))).map(|_| self.kind()).collect();
                let row: Vec<Expr> = kinds.iter().map(|kind| self.expr(sources, *kind, DEPTH)).collect();
                let kinds: Vec<Kind> = kinds.iter().map(|kind| self.comparable(*kind)).collect();
                let query = self.query(count, outer, depth + 1, Some(&kinds));
                Cond::In(row, Box::new(query), self.r.percent(45))
            }
            7..=9 => {
                let kind = self.kind();
                let e = self.expr(sources, kind, DEPTH);
                let kind = self.comparable(kind);
                let query = self.query(count, outer, depth + 1, Some(&[kind]));
                let quantified = Cond::Quantified(self.r.of(&Op::ALL), e, Box::new(query), self.r.percent(50));
                if self.r.percent(25) { Cond::Not(Box::new(quantified)) } else { quantified }
            }
            _ => {
                let e = self.expr(sources, Kind::Number, DEPTH);
                let op = self.r.of(&Op::ALL);
                let scalar = self.scalar(outer, depth + 1);
                if self.r.percent(50) { Cond::Compare(op, e, scalar) } else { Cond::Compare(op, scalar, e) }
            }
        }
    }

    /// A subquery that returns one number: an aggregate over all its rows, or a row by its key.
    fn scalar(&mut self, outer: &[Source], depth: usize) -> Expr {
        let alias = self.alias();
        let table = self.r.below(TABLES);
        let sources: Vec<Source> = vec![(alias, KINDS.to_vec())];
        let mut select = Select { from: vec![From::Table(alias, table)], ..Select::default() };
        let by_key = self.keyed[table] && self.r.percent(40);
        let key = by_key.then(|| self.column(outer, Kind::Number)).flatten();
        let mut conds = Vec::new();
        match key {
            Some(key) => {
                conds.push(Cond::Compare(Op::Eq, Expr::Column(alias, 0), key));
                select.items.push(self.expr(&sources, Kind::Number, DEPTH));
            }
            None => {
                if !outer.is_empty() && self.r.percent(75) {
                    conds.push(self.correlation(&sources, outer));
                }
                if self.r.percent(40) {
                    conds.push(self.cond(&sources, outer, depth, 1));
                }
                select.items.push(self.aggregate(&sources, Kind::Number));
            }
        }
        if !conds.is_empty() {
            select.cond = Some(Cond::And(conds));
        }
        Expr::Scalar(Box::new(Query::Select(select.into())))
    }

    /// An expression of a kind. From `DEPTH` on it has no subqueries.
    fn expr(&mut self, sources: &[Source], kind: Kind, depth: usize) -> Expr {
        let Some(column) = self.column(sources, kind) else { return default_of(kind) };
        match self.r.below(20) {
            0 | 1 => match kind {
                Kind::Number | Kind::Date => {
                    let by = Box::new(number(1 + self.r.below(3) as i64));
                    match self.r.below(3) {
                        0 => Expr::Subtract(Box::new(column), by),
                        1 if kind == Kind::Number => Expr::Multiply(Box::new(column), by),
                        _ => Expr::Add(Box::new(column), by),
                    }
                }
                Kind::Text => Expr::Nvl(Box::new(column), Box::new(Expr::Literal(Datum::Char("b".into())))),
                Kind::Char | Kind::Double | Kind::Timestamp => column,
            },
            2 | 3 if kind == Kind::Number => {
                let other = self.literal(Kind::Number);
                Expr::Nvl(Box::new(column), Box::new(other))
            }
            4 if kind == Kind::Number => {
                let cond = self.cond(sources, &[], DEPTH, 2);
                let other = self.expr(sources, Kind::Number, DEPTH);
                Expr::Case(Box::new(cond), Box::new(column), Box::new(other))
            }
            5 if kind == Kind::Number => {
                let other = self.expr(sources, Kind::Number, DEPTH);
                Expr::Add(Box::new(column), Box::new(other))
            }
            6 if kind == Kind::Number && depth < DEPTH => self.scalar(sources, depth + 1),
            _ => column,
        }
    }

    fn column(&mut self, sources: &[Source], kind: Kind) -> Option<Expr> {
        let of = |(alias, kinds): &Source| {
            let alias = *alias;
            let at = move |(at, k): (usize, &Kind)| (*k == kind).then_some(Expr::Column(alias, at));
            kinds.iter().enumerate().filter_map(at).collect::<Vec<Expr>>()
        };
        let all: Vec<Expr> = sources.iter().flat_map(of).collect();
        (!all.is_empty()).then(|| self.r.of(&all))
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        Expr::Literal(match kind {
            Kind::Number => {
                let fractions = if self.r.percent(15) { 100 } else { 0 };
                Datum::Number(some_number(self.r, 13, fractions, 8))
            }
            Kind::Char => Datum::Char(self.r.of(&CHARS).to_string()),
            Kind::Text if self.r.percent(20) => {
                Datum::Char(format!("{}{}", "x".repeat(self.r.of(&LENGTHS)), self.r.of(&TAILS)))
            }
            Kind::Text => Datum::Char(self.r.of(&TEXTS).to_string()),
            Kind::Date => Datum::Date(some_day(self.r, 15)),
            Kind::Timestamp => Datum::Timestamp(some_day(self.r, 15)),
            Kind::Double => match self.r.below(12) {
                0 => Datum::Double(NAN),
                1 => Datum::Double(self.r.of(&[INFINITY, -INFINITY])),
                _ => Datum::Double(some_number(self.r, 13, 15, 8)),
            },
        })
    }

    fn kind_of(&self, e: &Expr, sources: &[Source]) -> Kind {
        match e {
            Expr::Column(alias, at) => {
                sources.iter().find(|(a, _)| a == alias).map_or(Kind::Number, |(_, kinds)| kinds[*at])
            }
            _ => Kind::Number,
        }
    }
}

fn number(n: i64) -> Expr {
    Expr::Literal(Datum::Number(n * ONE))
}

/// A value of a kind with the type of a column.
fn default_of(kind: Kind) -> Expr {
    match kind {
        Kind::Number => number(3),
        Kind::Date => Expr::Literal(Datum::Date(7 * ONE)),
        Kind::Double => Expr::Literal(Datum::Double(3 * ONE)),
        Kind::Timestamp => Expr::Literal(Datum::Timestamp(7 * ONE)),
        // NVL turns it into a VARCHAR2.
        Kind::Text => Expr::Nvl(
            Box::new(Expr::Literal(Datum::Char("b".into()))),
            Box::new(Expr::Literal(Datum::Char("c".into()))),
        ),
        Kind::Char => Expr::Literal(Datum::Char("b   ".into())),
    }
}
