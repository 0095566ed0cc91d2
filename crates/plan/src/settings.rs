//! Whether a value depends on the session's time zone or date formats.
//!
//! Index keys, virtual columns and check conditions are the same for all sessions, so they must not depend on session
//! settings: a session with other settings would look for a row's entries in the wrong place. Check conditions may
//! depend on NLS_DATE_LANGUAGE and NLS_TERRITORY, as in Oracle: nothing looks for a row by them.
//!
//! NLS_NUMERIC_CHARACTERS is allowed, as in Oracle, although conversions between numbers and texts use it.

use crate::ir::*;
use types::{DataType, Value, Zone, format};

impl Plan {
    /// Whether an output column of a query depends on the session's time zone or date formats; with `language`, also on
    /// its date language and territory. Subqueries are not examined.
    pub fn depends_on_settings(&self, language: bool) -> bool {
        let PlanBody::Query(query) = &self.body else { return false };
        let mut depends = false;
        query.out.iter().for_each(|e| e.walk(&mut |e| depends |= node_depends(e) || language && follows_language(e)));
        depends
    }
}

/// Classes of types by their dependence on session settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// NULL and binds.
    Untyped,
    Text,
    /// DATE and TIMESTAMP.
    Plain,
    Zoned,
    Local,
    Other,
}

impl Kind {
    fn of(ty: &DataType) -> Kind {
        match ty {
            DataType::Null => Kind::Untyped,
            DataType::Date => Kind::Plain,
            DataType::Timestamp { zone, .. } => match zone {
                Zone::None => Kind::Plain,
                Zone::WithTimeZone => Kind::Zoned,
                Zone::WithLocalTimeZone => Kind::Local,
            },
            ty if ty.is_text() || matches!(ty, DataType::Clob | DataType::Long) => Kind::Text,
            _ => Kind::Other,
        }
    }

    fn is_datetime(self) -> bool {
        matches!(self, Kind::Plain | Kind::Zoned | Kind::Local)
    }

    fn has_place(self) -> bool {
        matches!(self, Kind::Zoned | Kind::Local)
    }
}

/// Whether a conversion depends on the session's time zone or date formats.
pub fn conversion_depends_on_settings(from: &DataType, to: &DataType) -> bool {
    let (from, to) = (Kind::of(from), Kind::of(to));
    match (from, to) {
        (from, to) if from == to => false,
        (from, Kind::Text) => from.is_datetime(),
        (Kind::Text, to) => to.is_datetime(),
        // A value with time zone has a local time and an instant; a value with local time zone has only an instant.
        (Kind::Zoned, Kind::Plain | Kind::Local) => false,
        (from, to) => from.is_datetime() && to.is_datetime(),
    }
}

fn node_depends(e: &Expr) -> bool {
    let kind = |e: &Expr| Kind::of(&e.ty);
    let is_shown = |e: &Expr| kind(e).is_datetime();
    match &e.node {
        Node::Convert(of) | Node::Cast(of) => conversion_depends_on_settings(&of.ty, &e.ty),
        Node::Concat(a, b) => is_shown(a) || is_shown(b),
        Node::Like { value, pattern, .. } => is_shown(value) || is_shown(pattern),
        Node::Cmp(_, _, a, b) => differ(&[kind(a), kind(b)]),
        Node::InList { value, list, .. } => list.iter().any(|item| differ(&[kind(value), kind(item)])),
        Node::Arith(op, a, b) => arithmetic_depends(*op, a, b),
        Node::Func(f, args) => function_depends(f.0.name, args),
        _ => false,
    }
}

/// Whether combining values of these types needs a conversion by session settings.
fn differ(kinds: &[Kind]) -> bool {
    let is_any = |is: fn(Kind) -> bool| kinds.iter().any(|kind| is(*kind));
    let datetimes = is_any(Kind::is_datetime);
    datetimes && (is_any(|kind| kind == Kind::Text) || is_any(Kind::has_place) && is_any(|kind| kind == Kind::Plain))
}

fn arithmetic_depends(op: ArithOp, a: &Expr, b: &Expr) -> bool {
    let (x, y) = (Kind::of(&a.ty), Kind::of(&b.ty));
    if op == ArithOp::Sub && x.is_datetime() && y.is_datetime() {
        return differ(&[x, y]);
    }
    // A difference in days and months is one of local times, a difference in seconds one of instants.
    let by_instant = |e: &Expr| matches!(e.ty, DataType::IntervalDs { .. });
    x == Kind::Local && !by_instant(b) || y == Kind::Local && !by_instant(a)
}

fn function_depends(name: &str, args: &[Expr]) -> bool {
    let kinds: Vec<Kind> = args.iter().map(|a| Kind::of(&a.ty)).collect();
    let kind = |at: usize| kinds.get(at).copied().unwrap_or(Kind::Other);
    // The conversion of an argument by a function that takes a DATE.
    let as_date = |at: usize| matches!(kind(at), Kind::Text | Kind::Local);
    match name {
        "TO_CHAR" | "TO_NCHAR" => shown_depends(kind(0), args.get(1)),
        functions::TO_CHAR_OF_DIGITS => shown_depends(kind(0), args.get(3)),
        "TO_DATE" | "TO_TIMESTAMP" if args.len() == 1 && kind(0).is_datetime() => kind(0) == Kind::Local,
        "TO_TIMESTAMP_TZ" if args.len() == 1 && kind(0).is_datetime() => kind(0) != Kind::Zoned,
        "TO_DATE" | "TO_TIMESTAMP" => kind(0).is_datetime() || !is_complete(args.get(1), false),
        "TO_TIMESTAMP_TZ" => kind(0).is_datetime() || !is_complete(args.get(1), true),
        "EXTRACT" => kind(1) == Kind::Local,
        "SYS_EXTRACT_UTC" => matches!(kind(0), Kind::Plain | Kind::Text),
        "FROM_TZ" => as_date(0) || is_sessions_zone(args.get(1)),
        functions::AT_TIME_ZONE => {
            args.len() == 1 || matches!(kind(0), Kind::Plain | Kind::Text) || is_sessions_zone(args.get(1))
        }
        "ADD_MONTHS" | "LAST_DAY" | "NEXT_DAY" | "NEW_TIME" => as_date(0),
        "MONTHS_BETWEEN" => as_date(0) || as_date(1),
        // A text is converted to a number.
        "TRUNC" | "ROUND" => kind(0) == Kind::Local,
        "NVL" | "COALESCE" | "NULLIF" | "GREATEST" | "LEAST" => differ(&kinds),
        "NVL2" => differ(kinds.get(1..).unwrap_or_default()),
        "DECODE" => differ(&kinds),
        // These functions use the stored bytes.
        "DUMP" | "ORA_HASH" | "STANDARD_HASH" | "VSIZE" | "LNNVL" => false,
        // Other functions take texts and numbers.
        _ => kinds.iter().any(|kind| kind.is_datetime()),
    }
}

/// Whether the text of a value in this format depends on the settings.
fn shown_depends(kind: Kind, format: Option<&Expr>) -> bool {
    kind == Kind::Local || kind.is_datetime() && format.is_none()
}

/// Whether a value depends on NLS_DATE_LANGUAGE or NLS_TERRITORY.
fn follows_language(e: &Expr) -> bool {
    let Node::Func(f, args) = &e.node else { return false };
    let kind = |at: usize| args.get(at).map_or(Kind::Other, |a| Kind::of(&a.ty));
    let names = |format: usize| match args.get(format).map(|_| text_of(args.get(format))) {
        Some(Some(model)) => format::names_months_or_days(model) && !names_language(args.get(format + 1)),
        Some(None) => true,
        None => false,
    };
    let places = |format: usize| text_of(args.get(format)).is_some_and(format::follows_territory);
    match f.0.name {
        "TO_CHAR" | "TO_NCHAR" => kind(0).is_datetime() && (names(1) || places(1)),
        functions::TO_CHAR_OF_DIGITS => kind(0).is_datetime() && (names(3) || places(3)),
        "TO_DATE" | "TO_TIMESTAMP" | "TO_TIMESTAMP_TZ" => names(1) || places(1),
        "NEXT_DAY" => kind(1) == Kind::Text,
        "TRUNC" | "ROUND" => kind(0).is_datetime() && begins_weeks(args.get(1)),
        _ => false,
    }
}

/// The text of a constant.
fn text_of(e: Option<&Expr>) -> Option<&str> {
    match e.map(|e| &e.node) {
        Some(Node::Const(Value::Text(text))) => Some(text),
        _ => None,
    }
}

/// Whether the settings argument of a conversion gives the language of names.
fn names_language(settings: Option<&Expr>) -> bool {
    text_of(settings).is_some_and(|text| text.to_ascii_uppercase().contains("NLS_DATE_LANGUAGE"))
}

/// Whether the unit of TRUNC and ROUND may be the week of a territory.
fn begins_weeks(unit: Option<&Expr>) -> bool {
    unit.is_some() && text_of(unit).is_none_or(|unit| ["D", "DY", "DAY"].iter().any(|d| d.eq_ignore_ascii_case(unit)))
}

/// Whether a format contains year and month, and with `zone` the time zone: omitted fields come from the current date
/// and from the session.
fn is_complete(format: Option<&Expr>, zone: bool) -> bool {
    match format.map(|format| &format.node) {
        Some(Node::Const(Value::Text(model))) => {
            format::names_its_date(model) && (!zone || format::names_its_zone(model))
        }
        _ => false,
    }
}

fn is_sessions_zone(zone: Option<&Expr>) -> bool {
    match zone.map(|zone| &zone.node) {
        Some(Node::Const(Value::Text(name))) => name.trim().eq_ignore_ascii_case("SESSIONTIMEZONE"),
        _ => false,
    }
}
