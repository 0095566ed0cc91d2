//! Conditional compilation: the directives `$IF`, `$ERROR` and `$$name`.
//!
//! [`select`] replaces the directives and the text that they do not select by blanks, so every position in the result
//! is one in the source. `$$name` stays in the text and becomes [`ExprKind::Inquiry`]; its value may depend on the
//! line.
//!
//! The expressions of directives are static: literals, inquiry directives and constants of package specifications
//! (Database PL/SQL Language Reference, "Static Expressions").

use super::{PResult, Parser};
use crate::lexer::TokenKind;
use crate::plsql::ast::*;
use std::borrow::Cow;
use std::collections::HashMap;
use types::Ora;

/// The value of a static expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StaticValue {
    Null,
    Boolean(bool),
    Integer(i64),
    Text(String),
}

/// The names that a unit's directives may use.
pub trait Directives {
    /// The value of `$$name`, written in that line of the unit; NULL for an unknown name.
    fn inquiry(&mut self, name: &str, line: u32) -> StaticValue;
    /// The value of a constant of a package specification; `None` if there is no such static constant.
    ///
    /// # Errors
    /// Those of the dictionary.
    fn constant(&mut self, path: &[Ident]) -> Result<Option<StaticValue>, Ora>;
}

/// Deepest nesting of `$IF`.
const NESTING_MAX: usize = 1_000;

/// A directive whose `$END` has not been read.
struct Open {
    /// The text around it is selected.
    is_outer_selected: bool,
    /// A branch has been selected, or none may be.
    is_decided: bool,
    is_else_read: bool,
    is_error: bool,
}

/// The text that a unit's directives select, with blanks in place of everything else.
///
/// # Errors
/// PLS-00174 and PLS-00178 for an expression that is not static, PLS-00179 of `$ERROR`, PLS-00181, PLS-00103.
pub fn select<'t>(text: &'t str, with: &mut dyn Directives) -> Result<Cow<'t, str>, Ora> {
    if !has_directives(text) {
        return Ok(Cow::Borrowed(text));
    }
    let mut p = Parser::new(text);
    let mut out = text.as_bytes().to_vec();
    let mut open: Vec<Open> = Vec::new();
    let mut is_selected = true;
    let mut done = 0;
    while !p.at_end() {
        let token = p.token(0);
        let Some(word) = directive(&p) else {
            p.skip();
            continue;
        };
        if !is_selected {
            blank(&mut out, done, token.start);
        }
        match word.as_str() {
            "$IF" => {
                p.bump();
                if open.len() >= NESTING_MAX {
                    return Err(p.error_at(123, &["nesting too deep"], token.start));
                }
                let is_true = p.static_condition(is_selected, with)?;
                let is_outer_selected = is_selected;
                is_selected = is_selected && is_true;
                open.push(Open { is_outer_selected, is_decided: is_true, is_else_read: false, is_error: false });
            }
            "$ELSIF" | "$ELSE" => {
                let is_else = word == "$ELSE";
                let last = open.last().filter(|o| !o.is_else_read && !o.is_error).ok_or_else(|| p.misplaced())?;
                let is_asked = last.is_outer_selected && !last.is_decided;
                p.bump();
                let is_true = if is_else { is_asked } else { p.static_condition(is_asked, with)? };
                is_selected = is_asked && is_true;
                let last = open.last_mut().expect("found above");
                last.is_else_read = is_else;
                last.is_decided |= is_true;
            }
            "$ERROR" => {
                let at = p.bump();
                if is_selected {
                    let message = p.static_text(with)?;
                    if directive(&p).as_deref() != Some("$END") {
                        return Err(p.unexpected(&["$end"]));
                    }
                    return Err(p.error_at(179, &[&message], at));
                }
                let (is_outer_selected, is_decided) = (false, true);
                open.push(Open { is_outer_selected, is_decided, is_else_read: true, is_error: true });
            }
            "$END" => {
                let Some(last) = open.pop() else { return Err(p.misplaced()) };
                is_selected = last.is_outer_selected;
                p.bump();
            }
            // not a clause: other words after a dollar sign, and $THEN in the wrong place
            other => {
                if is_selected {
                    let code = if other == "$THEN" { return Err(p.misplaced()) } else { 181 };
                    return Err(p.error_at(code, &[other], token.start));
                }
                p.skip();
            }
        }
        done = p.previous_end();
        blank(&mut out, token.start, done);
    }
    if !open.is_empty() {
        return Err(p.unexpected(&["$end", "$else", "$elsif"]));
    }
    Ok(Cow::Owned(String::from_utf8(out).expect("whole tokens are replaced by blanks")))
}

/// The value of the constant with that name in a package's specification; `None` if it is not static.
///
/// # Errors
/// Those of `with`.
pub fn static_constant(
    package: &Package,
    name: &str,
    text: &str,
    with: &mut dyn Directives,
) -> Result<Option<StaticValue>, Ora> {
    let mut within = Within { known: HashMap::new(), with };
    // A constant may be initialised by constants before it, so each is evaluated once, in order.
    for declaration in &package.declarations {
        let Declaration::Variable(variable) = declaration else { continue };
        let (true, Some(default)) = (variable.constant, &variable.default) else { continue };
        let is_wanted = variable.name.name == name;
        let value = match static_value(default, text, &mut within) {
            Err(e) if is_wanted => return Err(e),
            value => value.unwrap_or_default(),
        };
        let value = value.filter(|value| fits(&variable.ty, value));
        if is_wanted {
            return Ok(value);
        }
        if let Some(value) = value {
            within.known.insert(variable.name.name.clone(), value);
        }
    }
    Ok(None)
}

/// Whether a constant of that type has such a value.
fn fits(ty: &TypeRef, value: &StaticValue) -> bool {
    let TypeKind::Named { path, .. } = &ty.kind else { return false };
    let [ty] = path.as_slice() else { return false };
    match (ty.name.as_str(), value) {
        ("BOOLEAN" | "PLS_INTEGER" | "BINARY_INTEGER" | "VARCHAR2", StaticValue::Null) => true,
        ("BOOLEAN", value) => matches!(value, StaticValue::Boolean(_)),
        ("PLS_INTEGER" | "BINARY_INTEGER", value) => matches!(value, StaticValue::Integer(_)),
        ("VARCHAR2", value) => matches!(value, StaticValue::Text(_)),
        _ => false,
    }
}

/// The names in a package's specification: those of its earlier constants, too.
struct Within<'a> {
    known: HashMap<String, StaticValue>,
    with: &'a mut dyn Directives,
}

impl Directives for Within<'_> {
    fn inquiry(&mut self, name: &str, line: u32) -> StaticValue {
        self.with.inquiry(name, line)
    }

    fn constant(&mut self, path: &[Ident]) -> Result<Option<StaticValue>, Ora> {
        match path {
            [name] => Ok(self.known.get(&name.name).cloned()),
            path => self.with.constant(path),
        }
    }
}

/// The names and values of `plsql_ccflags`; `None` for a malformed list.
pub fn conditional_flags(list: &str) -> Option<Vec<(String, StaticValue)>> {
    let mut flags = Vec::new();
    if list.trim().is_empty() {
        return Some(flags);
    }
    let mut p = Parser::new(list);
    loop {
        let name = p.any_ident().ok()?.name;
        // `name:value` is a name and a bind for the lexer, unless the value has a sign.
        let value = match p.token(0).kind {
            TokenKind::Bind => p.take_bind()?,
            TokenKind::Colon => {
                p.skip();
                let sign = if p.at_symbol("-") { "-" } else { "" };
                if p.at_symbol("-") || p.at_symbol("+") {
                    p.skip();
                }
                format!("{sign}{}", p.take_number()?)
            }
            _ => return None,
        };
        let value = match value.as_str() {
            "TRUE" => StaticValue::Boolean(true),
            "FALSE" => StaticValue::Boolean(false),
            "NULL" => StaticValue::Null,
            number => StaticValue::Integer(number.parse::<i32>().ok()?.into()),
        };
        flags.push((name, value));
        if p.at_end() {
            return Some(flags);
        }
        p.expect_symbol(",").ok()?;
    }
}

/// Whether a text may have directives that select text. Cheap, for the many texts that have none.
fn has_directives(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().any(|(at, b)| {
        *b == b'$'
            && bytes.get(at + 1).is_some_and(|next| next.is_ascii_alphabetic())
            && !bytes[..at].last().is_some_and(|before| before.is_ascii_alphanumeric() || b"_$#".contains(before))
    })
}

/// The current token in upper case if it is `$word`.
fn directive(p: &Parser<'_>) -> Option<String> {
    let token = p.token(0);
    let text = p.token_text(token);
    let is_it = matches!(token.kind, TokenKind::Error(_)) && text.starts_with('$') && !text.starts_with("$$");
    (is_it && text.len() > 1).then(|| text.to_uppercase())
}

fn blank(out: &mut [u8], start: Pos, end: Pos) {
    out[start as usize..end as usize].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
}

impl Parser<'_> {
    /// Takes the name of `$$name`, in upper case.
    pub(super) fn take_inquiry(&mut self) -> Option<String> {
        let token = self.token(0);
        let name = self.token_text(token).strip_prefix("$$").filter(|name| !name.is_empty())?;
        let is_it = matches!(token.kind, TokenKind::Error(_));
        is_it.then(|| {
            self.skip();
            name.to_uppercase()
        })
    }

    fn misplaced(&self) -> Ora {
        let token = self.token(0);
        let shown = format!("\"{}\"", self.token_text(token));
        self.error_at(103, &[&shown, &super::wrapped(super::STATEMENT_START)], token.start)
    }

    /// The condition of `$IF` or `$ELSIF` and `$THEN`; not evaluated unless it `is_asked`.
    fn static_condition(&mut self, is_asked: bool, with: &mut dyn Directives) -> PResult<bool> {
        if !is_asked {
            // Only its end matters.
            while !self.at_end() && directive(self).as_deref() != Some("$THEN") {
                self.skip();
            }
        }
        let is_true = match is_asked {
            false => false,
            true => {
                let pos = self.pos();
                let condition = self.expr()?;
                match static_value(&condition, self.text, with)? {
                    Some(StaticValue::Boolean(is_true)) => is_true,
                    Some(StaticValue::Null) => false,
                    _ => return Err(self.error_at(174, &[], pos)),
                }
            }
        };
        if directive(self).as_deref() != Some("$THEN") {
            return Err(self.unexpected(&["$then"]));
        }
        self.skip();
        Ok(is_true)
    }

    /// The message of `$ERROR`.
    fn static_text(&mut self, with: &mut dyn Directives) -> PResult<String> {
        let pos = self.pos();
        let message = self.expr()?;
        match static_value(&message, self.text, with)? {
            Some(StaticValue::Null) => Ok(String::new()),
            Some(StaticValue::Text(text)) => Ok(text),
            _ => Err(self.error_at(178, &[], pos)),
        }
    }
}

/// The value of an expression; `None` if it is not static.
///
/// # Errors
/// PLS-00201 for a constant that does not exist, and those of `with`.
fn static_value(e: &Expr, text: &str, with: &mut dyn Directives) -> Result<Option<StaticValue>, Ora> {
    if os::stack::is_short() {
        return Err(crate::plsql::error::pls(123, &["nesting too deep"], e.pos));
    }
    let mut value = |e: &Expr| static_value(e, text, with);
    Ok(match &e.kind {
        ExprKind::Null => Some(StaticValue::Null),
        ExprKind::Boolean(is_true) => Some(StaticValue::Boolean(*is_true)),
        ExprKind::Number(digits) => digits.parse::<i32>().ok().map(|n| StaticValue::Integer(n.into())),
        ExprKind::String(s) if s.is_empty() => Some(StaticValue::Null),
        ExprKind::String(s) => Some(StaticValue::Text(s.clone())),
        ExprKind::Inquiry(name) => {
            let (line, _) = crate::plsql::line_column(text, e.pos);
            Some(with.inquiry(name, line))
        }
        ExprKind::Name(name) => match name.parts.as_slice() {
            [Part::Call(arguments)] if name.first.name == "TO_CHAR" && arguments.len() == 1 => {
                match value(&arguments[0].value)? {
                    Some(StaticValue::Integer(n)) => Some(StaticValue::Text(n.to_string())),
                    other => other,
                }
            }
            parts => {
                let mut path = vec![name.first.clone()];
                for part in parts {
                    let Part::Field(field) = part else { return Ok(None) };
                    path.push(field.clone());
                }
                let found = with.constant(&path)?;
                if found.is_none() && path.len() > 1 {
                    let shown = path.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
                    return Err(crate::plsql::error::pls(201, &[&shown], e.pos));
                }
                found
            }
        },
        ExprKind::IsNull { operand, negated } => {
            value(operand)?.map(|v| StaticValue::Boolean((v == StaticValue::Null) != *negated))
        }
        ExprKind::Unary { op, operand } => match (op, value(operand)?) {
            (_, Some(StaticValue::Null)) => Some(StaticValue::Null),
            (UnaryOp::Not, Some(StaticValue::Boolean(is_true))) => Some(StaticValue::Boolean(!is_true)),
            (UnaryOp::Minus, Some(StaticValue::Integer(n))) => integer(n.checked_neg()),
            (UnaryOp::Plus, Some(StaticValue::Integer(n))) => integer(Some(n)),
            _ => None,
        },
        ExprKind::Binary { op, left, right } => match (value(left)?, value(right)?) {
            (Some(left), Some(right)) => operation(*op, left, right),
            _ => None,
        },
        ExprKind::Between { operand, low, high, negated } => match (value(operand)?, value(low)?, value(high)?) {
            (Some(v), Some(low), Some(high)) => {
                let (above, below) = (operation(BinaryOp::Ge, v.clone(), low), operation(BinaryOp::Le, v, high));
                let both = above.zip(below).and_then(|(a, b)| operation(BinaryOp::And, a, b));
                both.map(|is| negate_if(is, *negated))
            }
            _ => None,
        },
        ExprKind::In { operand, list, negated } => {
            let Some(wanted) = value(operand)? else { return Ok(None) };
            let mut any = StaticValue::Boolean(false);
            for item in list {
                let is_it = value(item)?.and_then(|item| operation(BinaryOp::Eq, wanted.clone(), item));
                match is_it.and_then(|is_it| operation(BinaryOp::Or, any, is_it)) {
                    Some(so_far) => any = so_far,
                    None => return Ok(None),
                }
            }
            Some(negate_if(any, *negated))
        }
        // not a clause: no other expression is static
        _ => None,
    })
}

fn negate_if(value: StaticValue, negated: bool) -> StaticValue {
    match value {
        StaticValue::Boolean(is_true) => StaticValue::Boolean(is_true != negated),
        other => other,
    }
}

/// A result within the range of PLS_INTEGER.
fn integer(n: Option<i64>) -> Option<StaticValue> {
    n.filter(|n| i32::try_from(*n).is_ok()).map(StaticValue::Integer)
}

fn operation(op: BinaryOp, left: StaticValue, right: StaticValue) -> Option<StaticValue> {
    use StaticValue::{Boolean, Integer, Null, Text};
    let is_logical = matches!(op, BinaryOp::And | BinaryOp::Or);
    Some(match (left, right) {
        (left, right) if is_logical => {
            let truth = |v: &StaticValue| match v {
                Boolean(is_true) => Some(Some(*is_true)),
                Null => Some(None),
                Integer(_) | Text(_) => None,
            };
            let (left, right) = (truth(&left)?, truth(&right)?);
            let decides = op == BinaryOp::Or;
            match (left, right) {
                (Some(a), _) | (_, Some(a)) if a == decides => Boolean(decides),
                (Some(_), Some(_)) => Boolean(!decides),
                (None, _) | (_, None) => Null,
            }
        }
        (Null, other) | (other, Null) if op == BinaryOp::Concat => other,
        (Null, _) | (_, Null) => Null,
        (left, right) if op == BinaryOp::Concat => {
            let shown = |v: StaticValue| match v {
                Text(s) => Some(s),
                Integer(n) => Some(n.to_string()),
                Boolean(_) | Null => None,
            };
            Text(shown(left)? + &shown(right)?)
        }
        (Integer(a), Integer(b)) => match op {
            BinaryOp::Add => integer(a.checked_add(b))?,
            BinaryOp::Sub => integer(a.checked_sub(b))?,
            BinaryOp::Mul => integer(a.checked_mul(b))?,
            BinaryOp::Mod => integer(if b == 0 { Some(a) } else { a.checked_rem(b) })?,
            _ => Boolean(compared(op, a.cmp(&b))?),
        },
        (Text(a), Text(b)) => Boolean(compared(op, a.cmp(&b))?),
        (Boolean(a), Boolean(b)) if matches!(op, BinaryOp::Eq | BinaryOp::Ne) => {
            Boolean((a == b) == (op == BinaryOp::Eq))
        }
        _ => return None,
    })
}

fn compared(op: BinaryOp, order: std::cmp::Ordering) -> Option<bool> {
    Some(match op {
        BinaryOp::Eq => order.is_eq(),
        BinaryOp::Ne => order.is_ne(),
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::Le => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        BinaryOp::Ge => order.is_ge(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Directives for Known {
        fn inquiry(&mut self, name: &str, line: u32) -> StaticValue {
            match name {
                "PLSQL_LINE" => StaticValue::Integer(line.into()),
                "YES" => StaticValue::Boolean(true),
                _ => StaticValue::Null,
            }
        }

        fn constant(&mut self, path: &[Ident]) -> Result<Option<StaticValue>, Ora> {
            Ok((path.len() == 2 && path[1].name == "VERSION").then_some(StaticValue::Integer(19)))
        }
    }

    fn selected(text: &str) -> String {
        match select(text, &mut Known) {
            Ok(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Err(e) => format!("{} at {}", e.headline(), e.position().unwrap_or(0)),
        }
    }

    #[test]
    fn branches_are_selected() {
        assert_eq!(selected("a $if 1 = 1 $then b $else c $end d"), "a b d");
        assert_eq!(selected("$if false $then b $elsif p.version >= 12 $then c $else d $end"), "c");
        assert_eq!(selected("$if $$no $then b $elsif $$yes $then c $elsif true $then x $end"), "c");
        assert_eq!(selected("$IF not $$yes $THEN b $if true $then x $else y $end $ELSE d $END"), "d");
        assert_eq!(selected("$if $$plsql_line = 1 $then a $end\n$if $$plsql_line = 2 $then b $end"), "a b");
        assert_eq!(selected("'$if' x$if \"$end\""), "'$if' x$if \"$end\"");
        assert_eq!(selected("$if 1 in (2, 1) and 3 between 2 and 4 and $$no is null $then a $end"), "a");
        assert_eq!(selected("$if false $then $error 'x' $end $else a $end"), "a");
    }

    #[test]
    fn selection_keeps_every_position() {
        let text = "x $if false $then é\n $else y $end z";
        let selected = select(text, &mut Known).unwrap();
        assert_eq!(selected.len(), text.len());
        assert_eq!(selected.find('y'), text.find('y'));
        assert_eq!(selected.find('z'), text.find('z'));
        assert_eq!(selected.find('\n'), text.find('\n'));
    }

    #[test]
    fn errors_of_directives() {
        assert_eq!(selected("$if 1 $then a $end"), "PLS-00174: a static boolean expression must be used at 4");
        assert_eq!(selected("$if x $then a $end"), "PLS-00174: a static boolean expression must be used at 4");
        assert_eq!(selected("$if p.q $then a $end"), "PLS-00201: identifier 'P.Q' must be declared at 4");
        assert_eq!(selected("a $error 'no ' || 'way' $end"), "PLS-00179: $ERROR: no way at 2");
        assert_eq!(selected("a $foo"), "PLS-00181: unsupported preprocessor directive '$FOO' at 2");
        assert!(selected("a $end").starts_with("PLS-00103: Encountered the symbol \"$end\""));
        assert!(selected("$if true $then a").starts_with("PLS-00103: Encountered the symbol \"end-of-file\""));
        assert!(selected("$if true a $end").starts_with("PLS-00103: Encountered the symbol \"A\""));
    }

    #[test]
    fn flags_have_names_and_values() {
        let flags = conditional_flags("a:true, B : 3,c:-4,d:null").unwrap();
        let names: Vec<&str> = flags.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "B", "C", "D"]);
        assert_eq!(flags[1].1, StaticValue::Integer(3));
        assert_eq!(flags[2].1, StaticValue::Integer(-4));
        for bad in ["a", "a:", "a:b", "a:1,", "a:99999999999", ":1", "a:'x'"] {
            assert_eq!(conditional_flags(bad), None, "{bad}");
        }
    }
}
