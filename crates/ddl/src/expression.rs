//! Expressions that belong to a table: what may stand in a default, in a check, in a virtual column and in the key of
//! an index.
//!
//! They are worked out for whoever changes the table's rows, so none of them reads other rows, and a default and a
//! check call no functions of users. What others may add to a table (ALTER, INDEX) would run with its owner's
//! privileges.

use crate::virtual_column;
use crate::work::Work;
use dictionary::{ColumnDef, UserId};
use plan::Called;
use sql::ast::{self, ConstraintKind, ConstraintSpec, Expr, ExprKind, InSource, Name, UnaryOp};
use types::{DataType, Ora, Result};

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Default,
    Check,
    /// A virtual column, or the key of an index: made of its row alone. The error for what is not.
    Computed(u32),
}

impl Place {
    /// The error of what is not the same from one statement to the next.
    fn impure(self) -> Option<u32> {
        match self {
            Place::Default => None,
            Place::Check => Some(2436),
            Place::Computed(error) => Some(error),
        }
    }

    fn subquery(self) -> u32 {
        if self == Place::Default { 22818 } else { 2251 }
    }
}

/// Names that belong to a query's rows.
const PSEUDO: [&str; 3] = ["ROWNUM", "LEVEL", "ROWID"];

/// What an expression uses.
#[derive(Default)]
pub struct Used {
    /// Places of columns.
    pub columns: Vec<usize>,
    /// Functions that SQL does not have.
    pub functions: Vec<ast::Call>,
}

/// ORA-00904, with the whole name.
fn invalid(name: &Name) -> Ora {
    let path: Vec<String> = name.parts.iter().map(|part| format!("\"{}\"", part.name)).collect();
    Ora::with(904, &[&path.join(".")]).at(name.pos.0)
}

/// What an expression over one row of these columns uses.
///
/// # Errors
/// Those of what may not stand there.
pub fn used(place: Place, columns: &[ColumnDef], expr: &Expr) -> Result<Used> {
    let (mut used, mut bad) = (Used::default(), None);
    sql::visit_expr(expr, &mut |e| {
        if bad.is_none() {
            bad = look(place, columns, e, &mut used).err().map(|error| error.at(e.pos.0));
        }
    });
    bad.map_or(Ok(used), Err)
}

fn look(place: Place, columns: &[ColumnDef], e: &Expr, used: &mut Used) -> Result<()> {
    match &e.kind {
        ExprKind::Name(name) => name_in(place, columns, name, used),
        ExprKind::Call(call) => call_in(place, call, used),
        ExprKind::Subquery(_)
        | ExprKind::Exists(_)
        | ExprKind::Cursor(..)
        | ExprKind::CastMultiset { .. }
        | ExprKind::In { expr: _, source: InSource::Query(_), negated: _ }
        | ExprKind::Quantified { op: _, quantifier: _, left: _, right: InSource::Query(_) } => {
            Err(Ora::new(place.subquery()))
        }
        ExprKind::Bind(_) => Err(Ora::new(1027)),
        ExprKind::Unary { op: UnaryOp::Prior | UnaryOp::ConnectByRoot, expr: _ } => Err(Ora::new(976)),
        _ => Ok(()), // not a clause: the walk comes to their operands
    }
}

fn name_in(place: Place, columns: &[ColumnDef], name: &Name, used: &mut Used) -> Result<()> {
    let last = name.last();
    if let Some(at) = columns.iter().position(|c| c.name == last && !c.hidden) {
        return match place {
            Place::Default => Err(Ora::new(984)),
            Place::Computed(_) if columns[at].virtual_text.is_some() => Err(Ora::new(54012)),
            Place::Check | Place::Computed(_) => {
                if !used.columns.contains(&at) {
                    used.columns.push(at);
                }
                Ok(())
            }
        };
    }
    if name.as_simple().is_none() && matches!(last, "NEXTVAL" | "CURRVAL") {
        return if place == Place::Default { Ok(()) } else { Err(Ora::new(2287)) };
    }
    if name.as_simple().is_some_and(|simple| PSEUDO.contains(&simple)) {
        return Err(Ora::new(place.impure().unwrap_or(976)));
    }
    let call = ast::Call::new(name.clone());
    match (plan::called(&call), place) {
        // A function without parentheses.
        (Called::Unknown, Place::Check | Place::Computed(_)) => Err(invalid(name)),
        _ => call_in(place, &call, used),
    }
}

fn call_in(place: Place, call: &ast::Call, used: &mut Used) -> Result<()> {
    match plan::called(call) {
        Called::Steady => Ok(()),
        Called::Varying => place.impure().map_or(Ok(()), |error| Err(Ora::new(error))),
        Called::Aggregate => Err(Ora::new(934)),
        Called::Window => Err(Ora::new(30483)),
        Called::Unknown if place == Place::Check => Err(invalid(&call.name)),
        Called::Unknown => {
            used.functions.push(call.clone());
            Ok(())
        }
    }
}

/// Whether a function that SQL does not have is DETERMINISTIC; none when there is no such function.
fn function(work: &mut Work<'_>, owner: UserId, call: &ast::Call) -> Result<Option<bool>> {
    let path: Vec<String> = call.name.parts.iter().map(|part| part.name.clone()).collect();
    work.host.function(owner, &path, call.args.len())
}

/// Looks at the default of a column of a table of `owner`.
///
/// # Errors
/// ORA-22818 for a subquery, ORA-00984 for a column, ORA-04044 for a function of PL/SQL, ORA-00932 for a value that the
/// column's type `ty` does not take, and those of compiling it.
pub fn check_default(
    work: &mut Work<'_>,
    owner: UserId,
    columns: &[ColumnDef],
    expr: &Expr,
    ty: &DataType,
) -> Result<()> {
    if let Some(call) = used(Place::Default, columns, expr)?.functions.into_iter().next() {
        let pos = call.name.pos.0;
        return Err(match function(work, owner, &call)? {
            Some(_) => Ora::new(4044).at(pos),
            None if call.args.is_empty() && call.name.as_simple().is_some() => Ora::new(984).at(pos),
            None => invalid(&call.name),
        });
    }
    let mut describe = |value: &str| {
        let query = sql::parse_query(&format!("select {value} from dual"))?;
        work.host.describe(&query, Some(owner)).map_err(|e| e.at(expr.pos.0))
    };
    let is = describe(&expr.to_string())?.first().map_or(DataType::Null, |d| d.data_type);
    // A number that never becomes a date is refused now, and not at the first row.
    if is.is_numeric() && ty.is_datetime() || is.is_datetime() && ty.is_numeric() {
        describe(&format!("cast({expr} as {ty})"))?;
    }
    Ok(())
}

/// Looks at the expression of a virtual column, or of an index's key, of a table of `owner`; `ty` is the type that a
/// virtual column is given.
///
/// # Errors
/// ORA-00904 for an unknown name, `impure` for what is not made of the row alone, ORA-02251 for a subquery, ORA-54012
/// for another virtual column, ORA-30553 for a function that is not DETERMINISTIC; those of compiling it.
pub fn check_computed(
    work: &mut Work<'_>,
    owner: UserId,
    columns: &[ColumnDef],
    expr: &Expr,
    ty: Option<&DataType>,
    impure: u32,
) -> Result<()> {
    for call in used(Place::Computed(impure), columns, expr)?.functions {
        match function(work, owner, &call)? {
            Some(true) => {}
            Some(false) => return Err(Ora::new(30553).at(call.name.pos.0)),
            None => return Err(invalid(&call.name)),
        }
    }
    let mut depends = virtual_column::depends_on_settings(work, owner, columns, ("", expr, ""))?;
    if let Some(ty) = ty.filter(|ty| ty.is_datetime() || ty.is_text()) {
        let from = virtual_column::type_of(work, owner, columns, expr)?;
        depends |= plan::conversion_depends_on_settings(&from, ty);
    }
    if depends { Err(Ora::new(impure).at(expr.pos.0)) } else { Ok(()) }
}

/// Looks at a check that stands beside a column's name.
///
/// # Errors
/// ORA-02438 when it is about another column.
pub fn check_inline(columns: &[ColumnDef], column: &str, spec: &ConstraintSpec) -> Result<()> {
    let ConstraintKind::Check { condition, text: _ } = &spec.kind else { return Ok(()) };
    let used = used(Place::Check, columns, condition)?;
    let is_other = used.columns.iter().any(|at| columns[*at].name != column);
    if is_other { Err(Ora::new(2438).at(spec.pos.0)) } else { Ok(()) }
}
