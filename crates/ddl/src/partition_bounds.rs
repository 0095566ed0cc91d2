//! The bounds of partitions: constants of the types of the partitioning key's columns.

use crate::work::Work;
use dictionary::{ColumnDef, PartitionBound};
use sql::ast::{BoundValue, Expr, ExprKind, PartitionValues, UnaryOp};
use types::{Date, Ora, Result, Value, codec};

/// The columns of a partitioning key.
pub struct KeyColumns<'t> {
    /// The columns of the table.
    pub all: &'t [ColumnDef],
    /// The positions of those of the key.
    pub key: &'t [usize],
}

/// Most values of a list partition, and most bytes of a bound, as bytes and as text.
const VALUES_MAX: usize = 8192;
pub const BOUND_BYTES_MAX: usize = 32_767;

/// A bound, and HIGH_VALUE.
pub type Bound = (PartitionBound, String);

impl KeyColumns<'_> {
    fn column(&self, n: usize) -> &ColumnDef {
        &self.all[self.key[n]]
    }

    fn check_count(&self, given: usize, pos: u32) -> Result<()> {
        match given.cmp(&self.key.len()) {
            std::cmp::Ordering::Less => Err(Ora::new(14018).at(pos)),
            std::cmp::Ordering::Greater => Err(Ora::new(14017).at(pos)),
            std::cmp::Ordering::Equal => Ok(()),
        }
    }

    /// `VALUES LESS THAN (…)`.
    ///
    /// # Errors
    /// ORA-14017, ORA-14018, ORA-14019, and those of the conversion to a column's type.
    pub fn less_than(&self, work: &mut Work<'_>, values: &[BoundValue], pos: u32) -> Result<Bound> {
        self.check_count(values.len(), pos)?;
        let (mut key, mut texts, mut open) = (Vec::new(), Vec::new(), false);
        for (n, value) in values.iter().enumerate() {
            match value {
                BoundValue::MaxValue(_) => {
                    open = true;
                    texts.push("MAXVALUE".to_owned());
                }
                BoundValue::Default(pos) => return Err(Ora::new(14019).at(pos.0)),
                BoundValue::Expr(expr) => {
                    let value = constant(work, expr, self.column(n), 14019)?;
                    if value.is_null() {
                        return Err(Ora::new(14019).at(expr.pos.0));
                    }
                    texts.push(text_of(&value, expr));
                    // Columns behind MAXVALUE decide nothing.
                    if !open {
                        push(&value, &mut key);
                    }
                }
            }
        }
        let bound = if open { PartitionBound::max_value(key) } else { PartitionBound::Below(key) };
        Ok((bound, texts.join(", ")))
    }

    /// `VALUES (…)`.
    ///
    /// # Errors
    /// ORA-14308, ORA-14319, ORA-14312, and those of the conversion to a column's type.
    pub fn listed(&self, work: &mut Work<'_>, values: &[Vec<BoundValue>], pos: u32) -> Result<Bound> {
        if let [only] = values
            && let [BoundValue::Default(_)] = &only[..]
        {
            return Ok((PartitionBound::Default, "DEFAULT".into()));
        }
        if values.len() > VALUES_MAX {
            return Err(Ora::with(14116, &[&""]).at(pos));
        }
        let (mut keys, mut texts): (Vec<Vec<u8>>, Vec<String>) = (Vec::new(), Vec::new());
        for tuple in values {
            self.check_count(tuple.len(), tuple.first().map_or(pos, |value| value.pos().0))?;
            let (mut key, mut parts) = (Vec::new(), Vec::new());
            for (n, value) in tuple.iter().enumerate() {
                let expr = match value {
                    BoundValue::Expr(expr) => expr,
                    BoundValue::Default(pos) => return Err(Ora::new(14319).at(pos.0)),
                    BoundValue::MaxValue(pos) => return Err(Ora::new(14308).at(pos.0)),
                };
                let value = constant(work, expr, self.column(n), 14308)?;
                parts.push(text_of(&value, expr));
                push(&value, &mut key);
            }
            let text = if parts.len() == 1 { parts.remove(0) } else { format!("( {} )", parts.join(", ")) };
            if keys.contains(&key) {
                return Err(Ora::with(14312, &[&text, &""]).at(pos));
            }
            keys.push(key);
            texts.push(text);
        }
        Ok((PartitionBound::Keys(keys), texts.join(", ")))
    }

    /// The bound of a partition's description.
    ///
    /// # Errors
    /// ORA-14007 for a description of another method.
    pub fn bound(&self, work: &mut Work<'_>, values: &PartitionValues, range: bool, pos: u32) -> Result<Bound> {
        match (values, range) {
            (PartitionValues::LessThan(values), true) => self.less_than(work, values, pos),
            (PartitionValues::List(values), false) => self.listed(work, values, pos),
            _ => Err(Ora::new(14007).at(pos)),
        }
    }

    /// The key of `FOR (…)`.
    ///
    /// # Errors
    /// ORA-14017, ORA-14018.
    pub fn named(&self, work: &mut Work<'_>, values: &[Expr], pos: u32) -> Result<Vec<u8>> {
        self.check_count(values.len(), pos)?;
        let mut key = Vec::new();
        for (n, expr) in values.iter().enumerate() {
            let value = constant(work, expr, self.column(n), 14019)?;
            push(&value, &mut key);
        }
        Ok(key)
    }
}

/// The values of a list in HIGH_VALUE, as texts.
pub fn texts_of(high_value: &str) -> Vec<&str> {
    let (mut texts, mut from, mut quoted, mut depth) = (Vec::new(), 0, false, 0);
    for (at, c) in high_value.char_indices() {
        match c {
            '\'' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                texts.push(high_value[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    texts.push(high_value[from..].trim());
    texts
}

fn push(value: &Value, key: &mut Vec<u8>) {
    let mut stored = Vec::new();
    if !value.is_null() {
        codec::encode_instant(value, &mut stored);
    }
    codec::push_key_part((!value.is_null()).then_some(&stored[..]), false, key);
}

/// Functions that make a literal of a type that has none of its own.
const OF_LITERALS: [&str; 4] = ["TO_DATE", "TO_TIMESTAMP", "TO_NUMBER", "HEXTORAW"];

/// The value of an INTERVAL clause: a literal, or a function of the list of literals.
///
/// # Errors
/// ORA-14752.
pub fn interval_value(work: &mut Work<'_>, expr: &Expr) -> Result<Value> {
    let wrong = || Ora::new(14752).at(expr.pos.0);
    let known = match &expr.kind {
        ExprKind::Call(call) => {
            matches!(&call.name.parts[..], [only] if OF_INTERVALS.contains(&only.name.as_str()))
                && call.name.link.is_none()
                && call.args.iter().all(|arg| is_literal(&arg.value))
        }
        _ => is_literal(expr), // not a clause: any other expression is no call
    };
    if !known {
        return Err(wrong());
    }
    let query = sql::parse_query(&format!("select {expr} from dual"))?;
    let mut found = Value::Null;
    let done = work.host.rows(&query, None, &mut |_, row| {
        found = row.first().cloned().unwrap_or(Value::Null);
        Ok(())
    });
    done.map_err(|_| wrong()).map(|()| found)
}

/// Functions that make an interval.
const OF_INTERVALS: [&str; 5] = ["NUMTOYMINTERVAL", "NUMTODSINTERVAL", "TO_YMINTERVAL", "TO_DSINTERVAL", "TO_NUMBER"];

/// A literal, with a sign or not, or one of [`OF_LITERALS`] of literals.
fn is_constant(expr: &Expr) -> bool {
    if let ExprKind::Call(call) = &expr.kind {
        let is_known = matches!(&call.name.parts[..], [only] if OF_LITERALS.contains(&only.name.as_str()));
        return is_known && call.name.link.is_none() && call.args.iter().all(|arg| is_literal(&arg.value));
    }
    is_literal(expr)
}

fn is_literal(expr: &Expr) -> bool {
    if let ExprKind::Unary { op: UnaryOp::Plus | UnaryOp::Minus, expr } = &expr.kind {
        return matches!(expr.kind, ExprKind::Literal(_));
    }
    matches!(expr.kind, ExprKind::Literal(_))
}

/// Evaluates a bound and converts it to the type of its column; `wrong` is the error for an expression that is no
/// constant.
fn constant(work: &mut Work<'_>, expr: &Expr, column: &ColumnDef, wrong: u32) -> Result<Value> {
    if !is_constant(expr) {
        return Err(Ora::new(wrong).at(expr.pos.0));
    }
    let query = sql::parse_query(&format!("select {expr} from dual"))?;
    let (mut found, ty, name) = (Value::Null, column.data_type, column.name.clone());
    let done = work.host.rows(&query, None, &mut |parts, row| {
        found = row.first().cloned().unwrap_or(Value::Null);
        ty.assign(&mut found, parts.nls, &name)
    });
    match done {
        // A column or an unknown function.
        Err(e) if e.is(904) || e.is(984) => Err(Ora::new(wrong).at(expr.pos.0)),
        Err(e) if e.is(12899) || e.is(1438) => Err(Ora::new(14036).at(expr.pos.0)),
        Err(e) => Err(e.at(expr.pos.0)),
        Ok(()) => Ok(found),
    }
}

/// The bound that an interval computes, as HIGH_VALUE shows it.
pub fn computed_text(value: &Value) -> String {
    match value {
        Value::Timestamp(at) => {
            let mut text = format!("TIMESTAMP'{}", date_text(&at.clock()));
            if at.nanos > 0 {
                text.push_str(format!(".{:09}", at.nanos).trim_end_matches('0'));
            }
            text + "'"
        }
        value => plain_text(value).unwrap_or_default(),
    }
}

/// A value as HIGH_VALUE shows it: for most types a literal that does not depend on the settings of a session.
fn text_of(value: &Value, written: &Expr) -> String {
    plain_text(value).unwrap_or_else(|| written.to_string())
}

/// As [`text_of`]; `None` for types whose literal is shown as written.
fn plain_text(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => "NULL".into(),
        Value::Number(n) => n.to_string(),
        Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Date(date) => {
            format!("TO_DATE('{}', 'SYYYY-MM-DD HH24:MI:SS', 'NLS_CALENDAR=GREGORIAN')", date_text(date))
        }
        Value::Raw(bytes) => format!("HEXTORAW('{}')", bytes.iter().map(|b| format!("{b:02X}")).collect::<String>()),
        _ => return None,
    })
}

fn date_text(date: &Date) -> String {
    let f = date.fields();
    let sign = if f.year < 0 { '-' } else { ' ' };
    let year = f.year.unsigned_abs();
    format!("{sign}{year:04}-{:02}-{:02} {:02}:{:02}:{:02}", f.month, f.day, f.hour, f.minute, f.second)
}
