//! Named arguments of functions of STANDARD: the names of their parameters, and the defaults of those left out.

use sql::plsql::ast::{Argument, Expr, ExprKind, Pos};

/// The functions whose calls may name arguments, with the names of their parameters in STANDARD and the defaults: a
/// number, `null`, or nothing for a parameter without one.
const FUNCTIONS: &[(&str, &[(&str, &str)])] = &[
    ("INSTR", &[("STR1", ""), ("STR2", ""), ("POS", "1"), ("NTH", "1")]),
    ("REGEXP_COUNT", &[("SRCSTR", ""), ("PATTERN", ""), ("POSITION", "1"), ("MODIFIER", "null")]),
    (
        "REGEXP_INSTR",
        &[
            ("SRCSTR", ""),
            ("PATTERN", ""),
            ("POSITION", "1"),
            ("OCCURRENCE", "1"),
            ("RETURNPARAM", "0"),
            ("MODIFIER", "null"),
            ("SUBEXPRESSION", "0"),
        ],
    ),
    ("REGEXP_LIKE", &[("SRCSTR", ""), ("PATTERN", ""), ("MODIFIER", "null")]),
    (
        "REGEXP_REPLACE",
        &[
            ("SRCSTR", ""),
            ("PATTERN", ""),
            ("REPLACESTR", "null"),
            ("POSITION", "1"),
            ("OCCURRENCE", "0"),
            ("MODIFIER", "null"),
        ],
    ),
    (
        "REGEXP_SUBSTR",
        &[
            ("SRCSTR", ""),
            ("PATTERN", ""),
            ("POSITION", "1"),
            ("OCCURRENCE", "1"),
            ("MODIFIER", "null"),
            ("SUBEXPRESSION", "0"),
        ],
    ),
    ("REPLACE", &[("SRCSTR", ""), ("OLDSUB", ""), ("NEWSUB", "null")]),
];

/// The arguments of a call by place, up to the last one given; `None` if the call does not fit the function.
pub(super) fn by_place(function: &str, args: &[Argument], pos: Pos) -> Option<Vec<Expr>> {
    let (_, parameters) = FUNCTIONS.iter().find(|(name, _)| *name == function)?;
    let mut given: Vec<Option<&Expr>> = vec![None; parameters.len()];
    let mut named = false;
    for (at, arg) in args.iter().enumerate() {
        named |= arg.name.is_some();
        let place = match &arg.name {
            Some(name) => parameters.iter().position(|(parameter, _)| *parameter == name.name)?,
            None if named => return None, // after a named argument no other is by place
            None => at,
        };
        let slot = given.get_mut(place)?;
        if slot.replace(&arg.value).is_some() {
            return None;
        }
    }
    let count = given.iter().rposition(Option::is_some)? + 1;
    let of = |(slot, (_, default)): (Option<&Expr>, &(&str, &str))| match (slot, *default) {
        (Some(value), _) => Some(value.clone()),
        (None, "") => None,
        (None, "null") => Some(Expr { kind: ExprKind::Null, pos }),
        (None, number) => Some(Expr { kind: ExprKind::Number(number.to_owned()), pos }),
    };
    given.into_iter().zip(*parameters).take(count).map(of).collect()
}
