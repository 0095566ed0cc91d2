//! Expressions and data types.

use super::{Clause, List, Quoted, Text};
use crate::ast::*;
use std::fmt::{self, Display, Formatter};

/// An operand, in parentheses if it has operators.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use ExprKind::*;
        let wrap = matches!(
            self.0.kind,
            Unary { .. }
                | Binary { .. }
                | Quantified { .. }
                | Between { .. }
                | In { .. }
                | Like { .. }
                | Is { .. }
                | Member { .. }
                | Multiset { .. }
                | AtTimeZone { .. }
                | AsInterval { .. }
        );
        if wrap { write!(f, "({})", self.0) } else { self.0.fmt(f) }
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

/// `((a + b) + c) + d`: a left-associative chain may be long, so it is printed without recursion.
fn binary(expr: &Expr, f: &mut Formatter<'_>) -> fmt::Result {
    let (mut links, mut first) = (Vec::new(), expr);
    while let ExprKind::Binary { op, left, right } = &first.kind {
        links.push((*op, right));
        first = left;
    }
    (1..links.len()).try_for_each(|_| f.write_str("("))?;
    Operand(first).fmt(f)?;
    while let Some((op, right)) = links.pop() {
        write!(f, " {} {}", op.symbol(), Operand(right))?;
        if !links.is_empty() {
            f.write_str(")")?;
        }
    }
    Ok(())
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(literal) => literal.fmt(f),
            ExprKind::Name(name) => name.fmt(f),
            ExprKind::OuterJoined(expr) => write!(f, "{expr} (+)"),
            ExprKind::Bind(bind) => bind.fmt(f),
            ExprKind::Unary { op, expr } => write!(f, "{}{}", op.symbol(), Operand(expr)),
            ExprKind::Binary { .. } => binary(self, f),
            ExprKind::Quantified { op, quantifier, left, right } => {
                let word = if *quantifier == Quantifier::Any { "ANY" } else { "ALL" };
                write!(f, "{} {} {word} {right}", Operand(left), op.symbol())
            }
            ExprKind::Between { expr, low, high, negated } => {
                let (low, high) = (Operand(low), Operand(high));
                write!(f, "{} {}BETWEEN {low} AND {high}", Operand(expr), not(*negated))
            }
            ExprKind::In { expr, source, negated } => write!(f, "{} {}IN {source}", Operand(expr), not(*negated)),
            ExprKind::Like { kind, expr, pattern, escape, negated } => {
                let word = kind.word();
                write!(f, "{} {}{word} {}", Operand(expr), not(*negated), Operand(pattern))?;
                Clause("ESCAPE", &escape.as_deref().map(Operand)).fmt(f)
            }
            ExprKind::Is { expr, test, negated } => write!(f, "{} IS {}{test}", Operand(expr), not(*negated)),
            ExprKind::Member { expr, of, submultiset, negated } => {
                let word = if *submultiset { "SUBMULTISET" } else { "MEMBER" };
                write!(f, "{} {}{word} OF {}", Operand(expr), not(*negated), Operand(of))
            }
            ExprKind::Exists(query) => write!(f, "EXISTS ({query})"),
            ExprKind::Subquery(query) => write!(f, "({query})"),
            ExprKind::Cursor(query, _) => write!(f, "CURSOR ({query})"),
            ExprKind::Row(list) => write!(f, "({})", List(list)),
            ExprKind::Case(case) => case.fmt(f),
            ExprKind::Call(call) => call.fmt(f),
            ExprKind::Cast { expr, ty, default_on_error, format } => {
                write!(f, "CAST({expr} AS {ty}")?;
                if let Some(default) = default_on_error {
                    write!(f, " DEFAULT {default} ON CONVERSION ERROR")?;
                }
                format.iter().try_for_each(|expr| write!(f, ", {expr}"))?;
                f.write_str(")")
            }
            ExprKind::Treat { expr, ty } => write!(f, "TREAT({expr} AS {ty})"),
            ExprKind::CastMultiset { query, ty } => write!(f, "CAST(MULTISET ({query}) AS {ty})"),
            ExprKind::Extract { field, expr } => write!(f, "EXTRACT({} FROM {expr})", field.name()),
            ExprKind::Trim { side, chars, expr } => {
                let side = match side {
                    TrimSide::Both => "BOTH",
                    TrimSide::Leading => "LEADING",
                    TrimSide::Trailing => "TRAILING",
                };
                match chars {
                    Some(chars) => write!(f, "TRIM({side} {chars} FROM {expr})"),
                    None => write!(f, "TRIM({side} FROM {expr})"),
                }
            }
            ExprKind::AtTimeZone { expr, zone: Some(zone) } => {
                write!(f, "{} AT TIME ZONE {}", Operand(expr), Operand(zone))
            }
            ExprKind::AtTimeZone { expr, zone: None } => write!(f, "{} AT LOCAL", Operand(expr)),
            ExprKind::AsInterval { expr, qualifier } => write!(f, "{} {qualifier}", Operand(expr)),
            ExprKind::Field { base, field } => write!(f, "{}.{field}", Operand(base)),
            ExprKind::Apply { base, args } => write!(f, "{base}({})", List(args)),
            ExprKind::Multiset { op, distinct, left, right } => {
                let op = match op {
                    SetOp::Union => "UNION",
                    SetOp::Intersect => "INTERSECT",
                    SetOp::Minus => "EXCEPT",
                };
                let distinct = if *distinct { " DISTINCT" } else { "" };
                write!(f, "{} MULTISET {op}{distinct} {}", Operand(left), Operand(right))
            }
            ExprKind::Star => f.write_str("*"),
            ExprKind::Default => f.write_str("DEFAULT"),
        }
    }
}

impl UnaryOp {
    /// The operator as printed before its operand.
    pub fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Plus => "+",
            UnaryOp::Minus => "-",
            UnaryOp::Not => "NOT ",
            UnaryOp::Prior => "PRIOR ",
            UnaryOp::ConnectByRoot => "CONNECT_BY_ROOT ",
        }
    }
}

impl LikeKind {
    fn word(self) -> &'static str {
        match self {
            LikeKind::Like => "LIKE",
            LikeKind::LikeC => "LIKEC",
            LikeKind::Like2 => "LIKE2",
            LikeKind::Like4 => "LIKE4",
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Number(text) => f.write_str(text),
            Literal::BinaryFloat(text) => write!(f, "{text}f"),
            Literal::BinaryDouble(text) => write!(f, "{text}d"),
            Literal::String { text, national } => write!(f, "{}{}", if *national { "N" } else { "" }, Text(text)),
            Literal::Date(text) => write!(f, "DATE {}", Text(text)),
            Literal::Timestamp(text) => write!(f, "TIMESTAMP {}", Text(text)),
            Literal::Interval { text, qualifier } => write!(f, "INTERVAL {} {qualifier}", Text(text)),
        }
    }
}

impl Display for IntervalQualifier {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.from.name())?;
        match (self.from_precision, self.to, self.fraction) {
            (Some(leading), None, Some(fraction)) => return write!(f, "({leading}, {fraction})"),
            (Some(leading), ..) => write!(f, "({leading})")?,
            _ => {}
        }
        if let Some(to) = self.to {
            write!(f, " TO {}", to.name())?;
            if let Some(fraction) = self.fraction {
                write!(f, "({fraction})")?;
            }
        }
        Ok(())
    }
}

impl Display for Bind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = |f: &mut Formatter<'_>, name: &str| {
            let bare = name.bytes().all(|byte| byte.is_ascii_digit()) || super::is_plain(name);
            if bare { write!(f, ":{name}") } else { write!(f, ":\"{name}\"") }
        };
        name(f, &self.name)?;
        self.indicator.iter().try_for_each(|indicator| name(f, indicator))
    }
}

impl Display for InSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            InSource::List(list) => write!(f, "({})", List(list)),
            InSource::Query(query) => write!(f, "({query})"),
            // A number or bind without parentheses is printed without them: with parentheses it would be a list.
            InSource::Expr(expr) => expr.fmt(f),
        }
    }
}

impl Display for IsTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            IsTest::Null => f.write_str("NULL"),
            IsTest::Float(test) => test.fmt(f),
            IsTest::Empty => f.write_str("EMPTY"),
            IsTest::ASet => f.write_str("A SET"),
            IsTest::Dangling => f.write_str("DANGLING"),
            IsTest::Json(JsonTest { strict, unique_keys }) => {
                f.write_str("JSON")?;
                f.write_str(if *strict { " STRICT" } else { "" })?;
                f.write_str(if *unique_keys { " WITH UNIQUE KEYS" } else { "" })
            }
            IsTest::OfType(types) => {
                f.write_str("OF TYPE (")?;
                for (i, (only, ty)) in types.iter().enumerate() {
                    write!(f, "{}{}{ty}", if i > 0 { ", " } else { "" }, if *only { "ONLY " } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("CASE")?;
        if let Some(operand) = &self.operand {
            write!(f, " {operand}")?;
        }
        for branch in &self.branches {
            write!(f, " WHEN {} THEN {}", branch.when, branch.then)?;
        }
        write!(f, "{} END", Clause("ELSE", &self.otherwise))
    }
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{} => {}", Quoted(&name.name), self.value),
            None => self.value.fmt(f),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let (Some("VALIDATE_CONVERSION"), [Argument { value, .. }]) = (self.name.as_simple(), &self.args[..])
            && let ExprKind::Cast { expr, ty, default_on_error: None, format } = &value.kind
        {
            write!(f, "{}({expr} AS {ty}", self.name)?;
            format.iter().try_for_each(|e| write!(f, ", {e}"))?;
            return f.write_str(")");
        }
        if let Some(clauses) = &self.json {
            if let (Some(path), []) = (&clauses.path, &self.args[..]) {
                return write!(f, "{}{}", self.name, path.text.trim_start_matches('$'));
            }
            return write!(f, "{}({})", self.name, super::json::JsonCall(self, clauses));
        }
        if let Some(clauses) = &self.xml {
            return write!(f, "{}({})", self.name, super::xml::XmlCall(self, clauses));
        }
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(f, "{}({distinct}", self.name)?;
        match (&self.default_on_error, &self.args[..]) {
            (Some(default), [first, rest @ ..]) => {
                write!(f, "{first} DEFAULT {default} ON CONVERSION ERROR")?;
                rest.iter().try_for_each(|arg| write!(f, ", {arg}"))?;
            }
            _ => write!(f, "{}", List(&self.args))?,
        }
        match &self.on_overflow {
            Some(Overflow::Error) => f.write_str(" ON OVERFLOW ERROR")?,
            Some(Overflow::Truncate { indicator, count }) => {
                f.write_str(" ON OVERFLOW TRUNCATE")?;
                indicator.iter().try_for_each(|e| write!(f, " {e}"))?;
                f.write_str(if *count { " WITH COUNT" } else { " WITHOUT COUNT" })?;
            }
            None => {}
        }
        f.write_str(")")?;
        if !self.within_group.is_empty() {
            write!(f, " WITHIN GROUP (ORDER BY {})", List(&self.within_group))?;
        }
        if let Some(keep) = &self.keep {
            let side = if keep.last { "LAST" } else { "FIRST" };
            write!(f, " KEEP (DENSE_RANK {side} ORDER BY {})", List(&keep.order_by))?;
        }
        if self.from_last {
            f.write_str(" FROM LAST")?;
        }
        match self.ignore_nulls {
            Some(true) => f.write_str(" IGNORE NULLS")?,
            Some(false) => f.write_str(" RESPECT NULLS")?,
            None => {}
        }
        match &self.over {
            Some(window) => write!(f, " OVER {window}"),
            None => Ok(()),
        }
    }
}

impl Display for Window {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            return name.fmt(f);
        }
        f.write_str("(")?;
        if !self.partition_by.is_empty() {
            write!(f, "PARTITION BY {}", List(&self.partition_by))?;
        }
        if !self.order_by.is_empty() {
            write!(f, " ORDER BY {}", List(&self.order_by))?;
        }
        if let Some(frame) = &self.frame {
            let unit = match frame.unit {
                FrameUnit::Rows => "ROWS",
                FrameUnit::Range => "RANGE",
                FrameUnit::Groups => "GROUPS",
            };
            match &frame.end {
                Some(end) => write!(f, " {unit} BETWEEN {} AND {end}", frame.start)?,
                None => write!(f, " {unit} {}", frame.start)?,
            }
        }
        f.write_str(")")
    }
}

impl Display for FrameBound {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(expr) => write!(f, "{} PRECEDING", Operand(expr)),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(expr) => write!(f, "{} FOLLOWING", Operand(expr)),
            FrameBound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

impl Display for DataTypeName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sized = |f: &mut Formatter<'_>, name: &str, length: Option<u32>| match length {
            Some(length) => write!(f, "{name}({length})"),
            None => f.write_str(name),
        };
        let text =
            |f: &mut Formatter<'_>, name: &str, length: Option<u32>, unit: Option<LengthUnit>| match (length, unit) {
                (Some(length), Some(LengthUnit::Byte)) => write!(f, "{name}({length} BYTE)"),
                (Some(length), Some(LengthUnit::Char)) => write!(f, "{name}({length} CHAR)"),
                (length, _) => sized(f, name, length),
            };
        match &self.kind {
            TypeKind::Number { precision: None, scale: None } => f.write_str("NUMBER"),
            TypeKind::Number { precision, scale } => {
                let scale = scale.unwrap_or(0);
                match precision {
                    Some(precision) => write!(f, "NUMBER({precision}, {scale})"),
                    None => write!(f, "NUMBER(*, {scale})"),
                }
            }
            TypeKind::Float { binary_precision } => sized(f, "FLOAT", *binary_precision),
            TypeKind::BinaryFloat => f.write_str("BINARY_FLOAT"),
            TypeKind::BinaryDouble => f.write_str("BINARY_DOUBLE"),
            TypeKind::Varchar2 { length, unit, national: false } => text(f, "VARCHAR2", *length, *unit),
            TypeKind::Varchar2 { length, unit, national: true } => text(f, "NVARCHAR2", *length, *unit),
            TypeKind::Char { length, unit, national: false } => text(f, "CHAR", *length, *unit),
            TypeKind::Char { length, unit, national: true } => text(f, "NCHAR", *length, *unit),
            TypeKind::Date => f.write_str("DATE"),
            TypeKind::Timestamp { precision, zone } => {
                sized(f, "TIMESTAMP", *precision)?;
                f.write_str(match zone {
                    ZoneKind::None => "",
                    ZoneKind::WithTimeZone => " WITH TIME ZONE",
                    ZoneKind::WithLocalTimeZone => " WITH LOCAL TIME ZONE",
                })
            }
            TypeKind::IntervalYearToMonth { precision } => {
                sized(f, "INTERVAL YEAR", *precision)?;
                f.write_str(" TO MONTH")
            }
            TypeKind::IntervalDayToSecond { day_precision, second_precision } => {
                sized(f, "INTERVAL DAY", *day_precision)?;
                sized(f, " TO SECOND", *second_precision)
            }
            TypeKind::Raw { length } => sized(f, "RAW", *length),
            TypeKind::Long => f.write_str("LONG"),
            TypeKind::LongRaw => f.write_str("LONG RAW"),
            TypeKind::Clob { national } => f.write_str(if *national { "NCLOB" } else { "CLOB" }),
            TypeKind::Blob => f.write_str("BLOB"),
            TypeKind::Bfile => f.write_str("BFILE"),
            TypeKind::Rowid => f.write_str("ROWID"),
            TypeKind::Urowid { length } => sized(f, "UROWID", *length),
            TypeKind::Json => f.write_str("JSON"),
            TypeKind::XmlType => f.write_str("XMLTYPE"),
            TypeKind::Boolean => f.write_str("BOOLEAN"),
            TypeKind::Named { name, args } if args.is_empty() => name.fmt(f),
            TypeKind::Named { name, args } => write!(f, "{name}({})", List(args)),
            TypeKind::Ref(name) => write!(f, "REF {name}"),
        }
    }
}
