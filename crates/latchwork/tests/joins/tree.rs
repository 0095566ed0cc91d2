//! The queries of the workload as trees, and their SQL text.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Types of columns. A value is compared with values of its own type or of its [`Kind::partner`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Number,
    /// VARCHAR2: trailing blanks are significant.
    Text,
    /// CHAR: compared with a literal or a CHAR by blank-padding, with a VARCHAR2 without it.
    Char,
    Date,
    /// BINARY_DOUBLE, with NaN and the infinities.
    Double,
    Timestamp,
}

impl Kind {
    /// The other type that its values may be compared with.
    pub fn partner(self) -> Kind {
        match self {
            Kind::Number => Kind::Double,
            Kind::Double => Kind::Number,
            Kind::Text => Kind::Char,
            Kind::Char => Kind::Text,
            Kind::Date => Kind::Timestamp,
            Kind::Timestamp => Kind::Date,
        }
    }
}

/// The number 1 in [`Datum::Number`] and [`Datum::Double`], a day in [`Datum::Date`].
pub const ONE: i64 = 100;
/// NaN in [`Datum::Double`]: above all numbers, and equal to itself.
pub const NAN: i64 = i64::MAX;
/// Infinity in [`Datum::Double`].
pub const INFINITY: i64 = i64::MAX - 1;

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Datum {
    Null,
    /// In hundredths.
    Number(i64),
    Text(String),
    /// A value of a CHAR column with its blanks, or a literal.
    Char(String),
    /// Hundredths of days after 31 December 2023.
    Date(i64),
    /// In hundredths, or [`NAN`], [`INFINITY`] or the negative of the latter.
    Double(i64),
    /// Like a date.
    Timestamp(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Op {
    pub const ALL: [Op; 6] = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];

    fn text(self) -> &'static str {
        match self {
            Op::Eq => "=",
            Op::Ne => "<>",
            Op::Lt => "<",
            Op::Le => "<=",
            Op::Gt => ">",
            Op::Ge => ">=",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregate {
    Count,
    Sum,
    Min,
    Max,
}

#[derive(Clone, Debug)]
pub enum Expr {
    /// A column of the row source with this alias. Aliases are unique in a statement.
    Column(usize, usize),
    Literal(Datum),
    Add(Box<Expr>, Box<Expr>),
    Subtract(Box<Expr>, Box<Expr>),
    Multiply(Box<Expr>, Box<Expr>),
    Nvl(Box<Expr>, Box<Expr>),
    Case(Box<Cond>, Box<Expr>, Box<Expr>),
    /// COUNT(*) without an argument.
    Aggregate(Aggregate, Option<Box<Expr>>, bool),
    /// A subquery of one column and at most one row.
    Scalar(Box<Query>),
}

#[derive(Clone, Debug)]
pub enum Cond {
    Constant(bool),
    Compare(Op, Expr, Expr),
    Between(Expr, Expr, Expr),
    InList(Expr, Vec<Expr>, bool),
    Like(Expr, String, bool),
    IsNull(Expr, bool),
    And(Vec<Cond>),
    Or(Vec<Cond>),
    Not(Box<Cond>),
    Exists(Box<Query>, bool),
    In(Vec<Expr>, Box<Query>, bool),
    /// ANY, or ALL when set.
    Quantified(Op, Expr, Box<Query>, bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewKind {
    Inline,
    /// A WITH query of the statement, or of the enclosing view.
    With,
    /// A stored view.
    Named,
}

#[derive(Clone, Debug)]
pub enum From {
    Table(usize, usize),
    View(usize, Box<Query>, ViewKind),
    Join(Box<From>, Box<From>, JoinKind, Cond),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetKind {
    Union,
    UnionAll,
    Intersect,
    Minus,
}

#[derive(Clone, Debug)]
pub enum Query {
    Select(Box<Select>),
    Set(SetKind, Box<Query>, Box<Query>),
}

#[derive(Clone, Debug, Default)]
pub struct Select {
    pub distinct: bool,
    pub items: Vec<Expr>,
    pub from: Vec<From>,
    pub cond: Option<Cond>,
    pub group: Vec<Expr>,
    pub having: Option<Cond>,
    /// Outer joins are written with `(+)`.
    pub marks: bool,
    /// With `rownum <= 1000000`, which keeps all rows and prevents merging.
    pub rownum: bool,
}

/// A whole statement.
#[derive(Clone, Debug)]
pub struct Statement {
    pub query: Query,
    /// Columns of ORDER BY, from 0, and whether they descend.
    pub order: Vec<(usize, bool)>,
    /// Rows of FETCH FIRST; ORDER BY then names every column.
    pub first: Option<usize>,
}

impl Select {
    pub fn is_grouped(&self) -> bool {
        !self.group.is_empty() || self.having.is_some() || self.items.iter().any(Expr::has_aggregate)
    }
}

impl Query {
    /// The columns' number.
    pub fn width(&self) -> usize {
        match self {
            Query::Select(select) => select.items.len(),
            Query::Set(_, left, _) => left.width(),
        }
    }

    /// Collects the aliases that the query names, and those that it defines.
    pub fn aliases(&self, named: &mut BTreeSet<usize>, own: &mut BTreeSet<usize>) {
        match self {
            Query::Set(_, left, right) => {
                left.aliases(named, own);
                right.aliases(named, own);
            }
            Query::Select(select) => {
                for from in &select.from {
                    from.walk(named, own);
                }
                let conds = select.cond.iter().chain(&select.having);
                conds.for_each(|cond| cond.aliases(named, own));
                select.items.iter().chain(&select.group).for_each(|e| e.aliases(named, own));
            }
        }
    }

    /// Aliases of outer blocks.
    pub fn free(&self) -> BTreeSet<usize> {
        let (mut named, mut own) = (BTreeSet::new(), BTreeSet::new());
        self.aliases(&mut named, &mut own);
        named.difference(&own).copied().collect()
    }
}

impl From {
    /// Aliases of the rows that it returns.
    pub fn gives(&self, all: &mut Vec<usize>) {
        match self {
            From::Table(alias, _) | From::View(alias, ..) => all.push(*alias),
            From::Join(left, right, ..) => {
                left.gives(all);
                right.gives(all);
            }
        }
    }

    fn walk(&self, named: &mut BTreeSet<usize>, own: &mut BTreeSet<usize>) {
        match self {
            From::Table(alias, _) => drop(own.insert(*alias)),
            From::View(alias, query, _) => {
                own.insert(*alias);
                query.aliases(named, own);
            }
            From::Join(left, right, _, on) => {
                left.walk(named, own);
                right.walk(named, own);
                on.aliases(named, own);
            }
        }
    }
}

impl Expr {
    pub fn has_aggregate(&self) -> bool {
        match self {
            Expr::Aggregate(..) => true,
            Expr::Add(a, b) | Expr::Subtract(a, b) | Expr::Multiply(a, b) | Expr::Nvl(a, b) => {
                a.has_aggregate() || b.has_aggregate()
            }
            Expr::Case(_, a, b) => a.has_aggregate() || b.has_aggregate(),
            Expr::Column(..) | Expr::Literal(_) | Expr::Scalar(_) => false,
        }
    }

    fn aliases(&self, named: &mut BTreeSet<usize>, own: &mut BTreeSet<usize>) {
        match self {
            Expr::Column(alias, _) => drop(named.insert(*alias)),
            Expr::Literal(_) => {}
            Expr::Add(a, b) | Expr::Subtract(a, b) | Expr::Multiply(a, b) | Expr::Nvl(a, b) => {
                a.aliases(named, own);
                b.aliases(named, own);
            }
            Expr::Case(cond, a, b) => {
                cond.aliases(named, own);
                a.aliases(named, own);
                b.aliases(named, own);
            }
            Expr::Aggregate(_, of, _) => of.iter().for_each(|e| e.aliases(named, own)),
            Expr::Scalar(query) => query.aliases(named, own),
        }
    }
}

impl Cond {
    pub fn aliases(&self, named: &mut BTreeSet<usize>, own: &mut BTreeSet<usize>) {
        match self {
            Cond::Constant(_) => {}
            Cond::Compare(_, a, b) => {
                a.aliases(named, own);
                b.aliases(named, own);
            }
            Cond::Between(a, b, c) => [a, b, c].iter().for_each(|e| e.aliases(named, own)),
            Cond::InList(e, list, _) => {
                e.aliases(named, own);
                list.iter().for_each(|e| e.aliases(named, own));
            }
            Cond::Like(e, ..) | Cond::IsNull(e, _) => e.aliases(named, own),
            Cond::And(all) | Cond::Or(all) => all.iter().for_each(|c| c.aliases(named, own)),
            Cond::Not(of) => of.aliases(named, own),
            Cond::Exists(query, _) => query.aliases(named, own),
            Cond::In(row, query, _) => {
                row.iter().for_each(|e| e.aliases(named, own));
                query.aliases(named, own);
            }
            Cond::Quantified(_, e, query, _) => {
                e.aliases(named, own);
                query.aliases(named, own);
            }
        }
    }

    /// The conditions that AND joins.
    pub fn conjuncts(&self) -> Vec<&Cond> {
        match self {
            Cond::And(all) => all.iter().flat_map(|c| c.conjuncts()).collect(),
            other => vec![other],
        }
    }
}

/// Names of the columns of every table.
pub const COLUMNS: [&str; 9] = ["id", "n", "k", "c", "v", "d", "l", "b", "s"];
pub const KINDS: [Kind; 9] = [
    Kind::Number,
    Kind::Number,
    Kind::Number,
    Kind::Char,
    Kind::Text,
    Kind::Date,
    Kind::Text,
    Kind::Double,
    Kind::Timestamp,
];

/// Writes a statement. `hints` is called for each query block with the aliases of its row sources.
pub struct Printer<'a> {
    pub hints: &'a mut dyn FnMut(&[usize]) -> String,
    /// Statements that make the named views.
    pub views: Vec<String>,
    with: Vec<String>,
    /// Row sources that are views: their columns are named x1, x2 and so on.
    of_views: BTreeSet<usize>,
    /// The row source whose columns carry `(+)`.
    marked: Vec<usize>,
}

impl<'a> Printer<'a> {
    pub fn new(hints: &'a mut dyn FnMut(&[usize]) -> String) -> Printer<'a> {
        Printer { hints, views: Vec::new(), with: Vec::new(), of_views: BTreeSet::new(), marked: Vec::new() }
    }

    pub fn statement(&mut self, statement: &Statement) -> String {
        let mut text = self.query(&statement.query);
        if !statement.order.is_empty() {
            let column = |(at, descends): &(usize, bool)| format!("{}{}", at + 1, if *descends { " desc" } else { "" });
            let columns: Vec<String> = statement.order.iter().map(column).collect();
            let _ = write!(text, " order by {}", columns.join(", "));
        }
        if let Some(rows) = statement.first {
            let _ = write!(text, " fetch first {rows} rows only");
        }
        self.with_queries(text)
    }

    /// Puts the collected WITH queries before the text that names them.
    fn with_queries(&mut self, text: String) -> String {
        let with = std::mem::take(&mut self.with);
        if with.is_empty() { text } else { format!("with {} {text}", with.join(", ")) }
    }

    fn query(&mut self, query: &Query) -> String {
        match query {
            Query::Select(select) => self.select(select),
            Query::Set(kind, left, right) => {
                let word = match kind {
                    SetKind::Union => "union",
                    SetKind::UnionAll => "union all",
                    SetKind::Intersect => "intersect",
                    SetKind::Minus => "minus",
                };
                let (left, right) = (self.query(left), self.query(right));
                format!("({left}) {word} ({right})")
            }
        }
    }

    fn select(&mut self, select: &Select) -> String {
        let marked = std::mem::take(&mut self.marked);
        let mut aliases = Vec::new();
        select.from.iter().for_each(|from| from.gives(&mut aliases));
        let hint = (self.hints)(&aliases);
        let mut conds: Vec<String> = Vec::new();
        // The row sources first: they determine which aliases are views.
        let from: Vec<String> = select.from.iter().map(|from| self.from(from, select.marks, &mut conds)).collect();
        let items: Vec<String> =
            select.items.iter().enumerate().map(|(at, e)| format!("{} x{}", self.expr(e), at + 1)).collect();
        let mut text = format!("select {hint}{}{}", if select.distinct { "distinct " } else { "" }, items.join(", "));
        let _ = write!(text, " from {}", from.join(", "));
        if let Some(cond) = &select.cond {
            conds.push(self.cond(cond));
        }
        if select.rownum {
            conds.push("rownum <= 1000000".to_string());
        }
        if !conds.is_empty() {
            let _ = write!(text, " where {}", conds.join(" and "));
        }
        if !select.group.is_empty() {
            let group: Vec<String> = select.group.iter().map(|e| self.expr(e)).collect();
            let _ = write!(text, " group by {}", group.join(", "));
        }
        if let Some(having) = &select.having {
            let _ = write!(text, " having {}", self.cond(having));
        }
        self.marked = marked;
        text
    }

    fn from(&mut self, from: &From, marks: bool, conds: &mut Vec<String>) -> String {
        match from {
            From::Table(alias, table) => format!("t{table} a{alias}"),
            From::View(alias, query, kind) => {
                self.of_views.insert(*alias);
                // A stored view does not see the WITH queries of the statement that reads it.
                let around = (*kind == ViewKind::Named).then(|| std::mem::take(&mut self.with));
                let mut text = self.query(query);
                if let Some(around) = around {
                    text = self.with_queries(text);
                    self.with = around;
                }
                match kind {
                    ViewKind::Inline => format!("({text}) a{alias}"),
                    ViewKind::With => {
                        self.with.push(format!("w{alias} as ({text})"));
                        format!("w{alias} a{alias}")
                    }
                    ViewKind::Named => {
                        self.views.push(format!("create or replace view v{alias} as {text}"));
                        format!("v{alias} a{alias}")
                    }
                }
            }
            From::Join(left, right, kind, on) if marks => {
                let text = format!("{}, {}", self.from(left, true, conds), self.from(right, true, conds));
                match kind {
                    JoinKind::Left => right.gives(&mut self.marked),
                    JoinKind::Right => left.gives(&mut self.marked),
                    JoinKind::Inner | JoinKind::Full | JoinKind::Cross => {}
                }
                let on: Vec<String> = on.conjuncts().into_iter().map(|c| self.cond(c)).collect();
                conds.extend(on);
                self.marked.clear();
                text
            }
            From::Join(left, right, kind, on) => {
                let left = self.from(left, false, conds);
                let mut inner = self.from(right, false, conds);
                if matches!(**right, From::Join(..)) {
                    inner = format!("({inner})");
                }
                let word = match kind {
                    JoinKind::Inner => "join",
                    JoinKind::Left => "left join",
                    JoinKind::Right => "right join",
                    JoinKind::Full => "full join",
                    JoinKind::Cross => return format!("{left} cross join {inner}"),
                };
                format!("{left} {word} {inner} on {}", self.cond(on))
            }
        }
    }

    fn expr(&mut self, e: &Expr) -> String {
        match e {
            Expr::Column(alias, at) => {
                let mark = if self.marked.contains(alias) { "(+)" } else { "" };
                match self.of_views.contains(alias) {
                    true => format!("a{alias}.x{}{mark}", at + 1),
                    false => format!("a{alias}.{}{mark}", COLUMNS[*at]),
                }
            }
            Expr::Literal(datum) => literal(datum),
            Expr::Add(a, b) => format!("({} + {})", self.expr(a), self.expr(b)),
            Expr::Subtract(a, b) => format!("({} - {})", self.expr(a), self.expr(b)),
            Expr::Multiply(a, b) => format!("({} * {})", self.expr(a), self.expr(b)),
            Expr::Nvl(a, b) => format!("nvl({}, {})", self.expr(a), self.expr(b)),
            Expr::Case(cond, a, b) => {
                format!("case when {} then {} else {} end", self.cond(cond), self.expr(a), self.expr(b))
            }
            Expr::Aggregate(_, None, _) => "count(*)".to_string(),
            Expr::Aggregate(what, Some(of), distinct) => {
                let name = match what {
                    Aggregate::Count => "count",
                    Aggregate::Sum => "sum",
                    Aggregate::Min => "min",
                    Aggregate::Max => "max",
                };
                format!("{name}({}{})", if *distinct { "distinct " } else { "" }, self.expr(of))
            }
            Expr::Scalar(query) => format!("({})", self.query(query)),
        }
    }

    fn cond(&mut self, cond: &Cond) -> String {
        let not = |is: &bool| if *is { "not " } else { "" };
        match cond {
            Cond::Constant(true) => "1 = 1".to_string(),
            Cond::Constant(false) => "1 = 0".to_string(),
            Cond::Compare(op, a, b) => format!("{} {} {}", self.expr(a), op.text(), self.expr(b)),
            Cond::Between(a, b, c) => format!("{} between {} and {}", self.expr(a), self.expr(b), self.expr(c)),
            Cond::InList(e, list, negated) => {
                let list: Vec<String> = list.iter().map(|e| self.expr(e)).collect();
                format!("{} {}in ({})", self.expr(e), not(negated), list.join(", "))
            }
            Cond::Like(e, pattern, negated) => format!("{} {}like '{pattern}'", self.expr(e), not(negated)),
            Cond::IsNull(e, negated) => format!("{} is {}null", self.expr(e), not(negated)),
            Cond::And(all) => self.joined(all, " and "),
            Cond::Or(all) => self.joined(all, " or "),
            Cond::Not(of) => format!("not ({})", self.cond(of)),
            Cond::Exists(query, negated) => format!("{}exists ({})", not(negated), self.query(query)),
            Cond::In(row, query, negated) => {
                let row: Vec<String> = row.iter().map(|e| self.expr(e)).collect();
                let row = if row.len() == 1 { row[0].clone() } else { format!("({})", row.join(", ")) };
                format!("{row} {}in ({})", not(negated), self.query(query))
            }
            Cond::Quantified(op, e, query, all) => {
                let word = if *all { "all" } else { "any" };
                format!("{} {} {word} ({})", self.expr(e), op.text(), self.query(query))
            }
        }
    }

    fn joined(&mut self, all: &[Cond], by: &str) -> String {
        let all: Vec<String> = all.iter().map(|c| self.cond(c)).collect();
        format!("({})", all.join(by))
    }
}

/// A value as SQL.
pub fn literal(datum: &Datum) -> String {
    match datum {
        Datum::Null => "null".to_string(),
        Datum::Number(n) if *n < 0 => format!("({})", decimal(*n)),
        Datum::Number(n) => decimal(*n),
        Datum::Text(text) | Datum::Char(text) => quoted(text),
        Datum::Date(day) => format!("(date '2023-12-31' + {})", decimal(*day)),
        Datum::Timestamp(day) => format!("cast(date '2023-12-31' + {} as timestamp)", decimal(*day)),
        Datum::Double(NAN) => "binary_double_nan".to_string(),
        Datum::Double(INFINITY) => "binary_double_infinity".to_string(),
        Datum::Double(n) if *n == -INFINITY => "(-binary_double_infinity)".to_string(),
        Datum::Double(n) if *n < 0 => format!("({}d)", decimal(*n)),
        Datum::Double(n) => format!("{}d", decimal(*n)),
    }
}

/// A number of hundredths.
fn decimal(n: i64) -> String {
    let (sign, size) = (if n < 0 { "-" } else { "" }, n.unsigned_abs());
    match (size / 100, size % 100) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, part) => format!("{sign}{whole}.{part:02}"),
    }
}

/// A text in quotes; a run of equal letters at its start is written with RPAD.
fn quoted(text: &str) -> String {
    let first = text.chars().next().unwrap_or(' ');
    let rest = text.trim_start_matches(first);
    match text.len() - rest.len() {
        same if same < 40 => format!("'{text}'"),
        same => format!("rpad('{first}', {same}, '{first}') || '{rest}'"),
    }
}
