//! Expressions as text, for the predicates shown in plans.

use crate::ir::*;
use crate::registers::ByWord;
use dictionary::{IndexDef, IndexKey};
use types::{DataType, Nls, Value};

/// Most bytes of a predicate.
pub(crate) const TEXT_MAX: usize = 4000;

/// Names of registers: columns, and expressions over them.
pub(crate) struct Names {
    regs: ByWord<Reg, String>,
    binds: Vec<String>,
}

impl Names {
    pub(crate) fn with(regs: ByWord<Reg, String>, binds: Vec<String>) -> Names {
        Names { regs, binds }
    }

    pub(crate) fn of(plan: &Plan) -> Names {
        let mut names = Names { regs: ByWord::default(), binds: plan.binds.clone() };
        for cte in &plan.ctes {
            names.learn(&cte.source);
        }
        for sub in &plan.subs {
            names.learn(&sub.source);
        }
        match &plan.body {
            PlanBody::Query(q) => names.learn(&q.source),
            PlanBody::InsertAll(i) => names.learn(&i.query.source),
            PlanBody::Insert(i) => {
                if let InsertSource::Query(q) = &i.source {
                    names.learn(&q.source);
                }
            }
            PlanBody::Update(u) => names.learn(&u.source),
            PlanBody::Delete(d) => names.learn(&d.source),
            PlanBody::Merge(m) => names.learn(&m.source),
            PlanBody::Instead(i) => i.query.iter().for_each(|query| names.learn(&query.source)),
        }
        names
    }

    fn learn(&mut self, source: &Source) {
        source.for_each_child(&mut |child| self.learn(child));
        match source {
            Source::Scan(scan) => {
                let alias = &scan.alias;
                self.regs.reserve(scan.columns.len() + 1);
                for (column, reg) in &scan.columns {
                    if let Some(def) = scan.table.columns.get(*column as usize) {
                        self.regs.insert(*reg, ["\"", alias, "\".\"", &def.name, "\""].concat());
                    }
                }
                if let Some(reg) = scan.rowid {
                    self.regs.insert(reg, format!("\"{alias}\".ROWID"));
                }
            }
            Source::Project { exprs, .. } => self.learn_all(exprs),
            Source::Count { reg: Some(reg), .. } => {
                self.regs.insert(*reg, "ROWNUM".into());
            }
            Source::Group { keys, aggs, .. } => {
                self.learn_all(keys);
                aggs.iter().for_each(|agg| self.learn_aggregate(agg));
            }
            Source::ConnectBy(c) => {
                self.regs.insert(c.level, "LEVEL".into());
                for (column, copy) in &c.prior {
                    if let Some(name) = self.regs.get(column).cloned() {
                        self.regs.insert(*copy, format!("PRIOR {name}"));
                    }
                }
            }
            _ => {}
        }
    }

    fn learn_all(&mut self, exprs: &[(Expr, Reg)]) {
        for (expr, reg) in exprs {
            if let Some(text) = self.text(expr) {
                self.regs.entry(*reg).or_insert(text);
            }
        }
    }

    fn learn_aggregate(&mut self, agg: &Agg) {
        let name = match agg.kind {
            AggKind::CountStar => "COUNT(*)",
            AggKind::Count => "COUNT",
            AggKind::Sum => "SUM",
            AggKind::Avg => "AVG",
            AggKind::Min => "MIN",
            AggKind::Max => "MAX",
            AggKind::Stddev => "STDDEV",
            AggKind::Variance => "VARIANCE",
            _ => return,
        };
        let text = match &agg.args[..] {
            [] => Some(name.to_string()),
            [arg] if agg.keep_last.is_none() => {
                let distinct = if agg.distinct { "DISTINCT " } else { "" };
                self.text(arg).map(|arg| format!("{name}({distinct}{arg})"))
            }
            _ => None,
        };
        if let Some(text) = text {
            self.regs.entry(agg.out).or_insert(text);
        }
    }

    /// The name of a register.
    pub(crate) fn reg(&self, reg: Reg) -> Option<&str> {
        self.regs.get(&reg).map(String::as_str)
    }

    /// The conjunction of conditions; conditions without a text are omitted.
    pub(crate) fn all(&self, conds: &[Expr]) -> String {
        conds.iter().filter_map(|cond| self.text(cond)).collect::<Vec<_>>().join(" AND ")
    }

    /// The equalities of a join.
    pub(crate) fn equalities(&self, keys: &[JoinKey]) -> String {
        let pair = |key: &JoinKey| Some([&self.text(&key.left)?, "=", &self.text(&key.right)?].concat());
        keys.iter().filter_map(pair).collect::<Vec<_>>().join(" AND ")
    }

    /// A comparison of two expressions.
    pub(crate) fn comparison(&self, op: CmpOp, left: &Expr, right: &Expr) -> Option<String> {
        Some(format!("{}{}{}", self.text(left)?, of_comparison(op), self.text(right)?))
    }

    fn key_column(&self, scan: &Scan, index: &IndexDef, n: usize) -> Option<String> {
        match &index.columns.get(n)?.key {
            IndexKey::Column(at) => {
                Some(["\"", &scan.alias, "\".\"", &scan.table.columns.get(*at)?.name, "\""].concat())
            }
            IndexKey::Expression { text, .. } => Some(text.clone()),
        }
    }

    /// Equality of an index's columns from `from` on.
    pub(crate) fn keys(&self, scan: &Scan, index: &IndexDef, from: usize, keys: &[KeyPart]) -> String {
        let one = |(n, part): (usize, &KeyPart)| {
            let column = self.key_column(scan, index, from + n)?;
            let is = |key: &Key| Some([&column, "=", &self.text(&key.value)?].concat());
            match part {
                KeyPart::Is(key) => is(key),
                KeyPart::In(keys) => {
                    let all = keys.iter().map(is).collect::<Option<Vec<_>>>()?;
                    Some(format!("({})", all.join(" OR ")))
                }
            }
        };
        keys.iter().enumerate().filter_map(one).collect::<Vec<_>>().join(" AND ")
    }

    /// The conditions that an index is searched by.
    pub(crate) fn range(&self, scan: &Scan, range: &IndexRange) -> String {
        let equal = self.keys(scan, &range.index, range.skip, &range.prefix);
        let mut parts: Vec<String> = (!equal.is_empty()).then_some(equal).into_iter().collect();
        let Some(column) = self.key_column(scan, &range.index, range.skip + range.prefix.len()) else {
            return parts.join(" AND ");
        };
        for (bound, inclusive, exclusive) in [(&range.low, ">=", ">"), (&range.high, "<=", "<")] {
            if let Some((key, including)) = bound
                && let Some(text) = self.text(&key.value)
            {
                parts.push(format!("{column}{}{text}", if *including { inclusive } else { exclusive }));
            }
        }
        if let Some(pattern) = range.like.as_ref().and_then(|like| self.text(&like.pattern)) {
            parts.push(format!("{column} LIKE {pattern}"));
        }
        parts.join(" AND ")
    }

    /// The text of an expression, cut to the width of the plan's column; `None` if part of it has no name. The cut
    /// bounds the work too: expressions of views that name a column twice double with each level.
    pub(crate) fn text(&self, e: &Expr) -> Option<String> {
        let mut text = self.whole(e)?;
        if text.len() > TEXT_MAX {
            let end = (0..=TEXT_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
        }
        Some(text)
    }

    fn whole(&self, e: &Expr) -> Option<String> {
        let list = |all: &[Expr]| all.iter().map(|e| self.text(e)).collect::<Option<Vec<_>>>();
        Some(match &e.node {
            Node::Const(value) => constant(value)?,
            Node::Reg(reg) => self.regs.get(reg)?.clone(),
            Node::Bind(n) => [":", self.binds.get(*n)?].concat(),
            Node::Special(special) => of_special(*special).into(),
            Node::Neg(a) => format!("(-{})", self.text(a)?),
            Node::Arith(op, a, b) => {
                let op = match op {
                    ArithOp::Add => '+',
                    ArithOp::Sub => '-',
                    ArithOp::Mul => '*',
                    ArithOp::Div => '/',
                };
                format!("{}{op}{}", self.operand(a)?, self.operand(b)?)
            }
            Node::Concat(a, b) => format!("{}||{}", self.text(a)?, self.text(b)?),
            Node::Func(f, args) if f.0.name.starts_with(functions::JSON) => self.json(f.0.name, args)?,
            Node::Func(f, args) if f.0.name.starts_with(functions::XML) => self.xml(f.0.name, args)?,
            Node::Func(f, args) => format!("{}({})", f.0.name, list(args)?.join(",")),
            Node::Call(f, args) => format!("\"{}\".\"{}\"({})", f.owner, f.name, list(args)?.join(",")),
            Node::Convert(a) | Node::Cast(a) => format!("{}({})", conversion(&e.ty), self.text(a)?),
            Node::OnError(a, b) => format!("{} DEFAULT {} ON CONVERSION ERROR", self.text(a)?, self.text(b)?),
            Node::Once(_, body) => self.text(body)?,
            Node::Operand => "…".into(),
            Node::Coalesce(args) => format!("COALESCE({})", list(args)?.join(",")),
            Node::SysContext(a, b) => format!("SYS_CONTEXT({},{})", self.text(a)?, self.text(b)?),
            Node::Case(arms, otherwise) => self.case(arms, otherwise.as_deref())?,
            Node::Cmp(op, _, a, b) => [&self.text(a)?, of_comparison(*op), &self.text(b)?].concat(),
            Node::And(args) => format!("({})", list(args)?.join(" AND ")),
            Node::Or(args) => format!("({})", list(args)?.join(" OR ")),
            Node::Not(a) => format!("NOT {}", self.operand(a)?),
            Node::IsNull(a, negated) => format!("{} IS {}NULL", self.text(a)?, not(*negated)),
            Node::Like { value, pattern, negated, .. } => {
                format!("{} {}LIKE {}", self.text(value)?, not(*negated), self.text(pattern)?)
            }
            Node::InList { value, list: all, negated, .. } => {
                format!("{} {}IN ({})", self.text(value)?, not(*negated), list(all)?.join(","))
            }
            Node::Scalar(_) => "(SELECT …)".into(),
            Node::Exists(_) => "EXISTS (SELECT …)".into(),
            Node::InSub { values, negated, single: true, .. } => {
                format!("({}){}(SELECT …)", list(values)?.join(","), if *negated { "<>" } else { "=" })
            }
            Node::InSub { values, negated, .. } => {
                format!("({}) {}IN (SELECT …)", list(values)?.join(","), not(*negated))
            }
            Node::Quantified { op, all, value, .. } => {
                let which = if *all { "ALL" } else { "ANY" };
                format!("{}{}{which} (SELECT …)", self.text(value)?, of_comparison(*op))
            }
            Node::Nextval(sequence) => format!("\"{}\".NEXTVAL", sequence.def.name),
            Node::Currval(sequence) => format!("\"{}\".CURRVAL", sequence.def.name),
        })
    }

    /// A function of SQL/XML, whose first argument is an operation or the clauses.
    fn xml(&self, name: &str, args: &[Expr]) -> Option<String> {
        let (first, rest) = args.split_first()?;
        let word = match (&first.node, name) {
            (Node::Const(Value::Number(n)), functions::XML) => {
                let op = n.to_i64().ok().and_then(|n| usize::try_from(n).ok()).and_then(functions::XmlOp::of)?;
                op.word()
            }
            (_, functions::XML_CAST) => "XMLCAST",
            (_, functions::XML_MAKE) => "XMLELEMENT",
            (_, functions::XML_QUERY) => "XMLQUERY",
            (_, functions::XML_QUERY_EXISTS) => "XMLEXISTS",
            _ => name.trim_start(), // not a clause: a function without an operation
        };
        let shown = rest.iter().map(|e| self.text(e)).collect::<Option<Vec<_>>>()?;
        Some(format!("{word}({})", shown.join(",")))
    }

    /// A function of SQL/JSON, whose clauses are an image.
    fn json(&self, name: &str, args: &[Expr]) -> Option<String> {
        let clauses = |e: &Expr| matches!(e.node, Node::Const(Value::Raw(_)));
        let input = self.text(args.first()?);
        let (Some(Node::Const(Value::Raw(image))), functions::JSON) = (args.get(1).map(|e| &e.node), name) else {
            if name == functions::JSON_IS {
                return Some(format!("{} IS JSON", input?));
            }
            let shown = args.iter().filter(|e| !clauses(e)).map(|e| self.text(e)).collect::<Option<Vec<_>>>()?;
            return Some(format!("{}({})", name.trim_start(), shown.join(",")));
        };
        let function: json::Function = types::image::read(image, &types::image::NoObjects).ok()?;
        let path = function.path.replace('\'', "''");
        let (word, otherwise) = match function.operator {
            json::Operator::Exists => return Some(format!("JSON_EXISTS({} FORMAT JSON , '{path}')", input?)),
            json::Operator::Value => ("JSON_VALUE", &function.on_error),
            json::Operator::Query | json::Operator::Dot => ("JSON_QUERY", &function.on_error),
        };
        let ty = match function.ty {
            DataType::Varchar2 { len, .. } => format!("VARCHAR2({len})"),
            ty => ty.name().to_owned(),
        };
        let error = match otherwise {
            json::Otherwise::Error => "ERROR",
            json::Otherwise::Default(_) => "DEFAULT",
            _ => "NULL", // not a clause: the default
        };
        Some(format!("{word}({} FORMAT JSON , '{path}' RETURNING {ty} {error} ON ERROR)", input?))
    }

    /// An operand, in parentheses when it is a sum.
    fn operand(&self, e: &Expr) -> Option<String> {
        let text = self.text(e)?;
        let is_sum = matches!(e.node, Node::Arith(..) | Node::Cmp(..) | Node::Concat(..));
        Some(if is_sum { format!("({text})") } else { text })
    }

    fn case(&self, arms: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Option<String> {
        let mut text = String::from("CASE");
        for (when, then) in arms {
            text.push_str(&format!(" WHEN {} THEN {}", self.text(when)?, self.text(then)?));
        }
        if let Some(e) = otherwise {
            text.push_str(&format!(" ELSE {}", self.text(e)?));
        }
        text.push_str(" END");
        Some(text)
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

pub(crate) fn of_comparison(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "=",
        CmpOp::Ne => "<>",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    }
}

fn of_special(special: Special) -> &'static str {
    match special {
        Special::Sysdate => "SYSDATE@!",
        Special::Systimestamp => "SYSTIMESTAMP(6)",
        Special::CurrentDate => "CURRENT_DATE",
        Special::CurrentTimestamp => "CURRENT_TIMESTAMP(6)",
        Special::LocalTimestamp => "LOCALTIMESTAMP(6)",
        Special::User => "USER@!",
        Special::Uid => "UID@!",
        Special::CurrentUid => "USERENV('SCHEMAID')",
        Special::SysGuid => "SYS_GUID()",
    }
}

/// The name of the function that performs an implicit conversion.
fn conversion(to: &DataType) -> &'static str {
    match to {
        DataType::Number { .. } | DataType::Float { .. } => "TO_NUMBER",
        DataType::Varchar2 { .. } | DataType::Char { .. } => "TO_CHAR",
        DataType::Date => "TO_DATE",
        DataType::Timestamp { .. } => "TO_TIMESTAMP",
        _ => "INTERNAL_FUNCTION",
    }
}

fn constant(value: &Value) -> Option<String> {
    let mut text = String::new();
    match value {
        Value::Null => return Some("NULL".into()),
        Value::Number(n) => return Some(n.to_string()),
        Value::Date(date) => {
            types::format::date_to_char(date, "SYYYY-MM-DD HH24:MI:SS", &Nls::default(), &mut text).ok()?;
            return Some(format!("TO_DATE('{text}', 'syyyy-mm-dd hh24:mi:ss')"));
        }
        other => other.write_text(&Nls::default(), &mut text).ok()?,
    }
    Some(format!("'{}'", text.replace('\'', "''")))
}
