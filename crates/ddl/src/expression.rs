//! Expressions stored with a table: the rules for defaults, checks, virtual columns and keys of indexes.
//!
//! They are evaluated for every user who changes the table's rows, so none of them reads other rows, and defaults and
//! checks call no user functions. Otherwise an expression added by a user with ALTER or INDEX on the table would run
//! with its owner's privileges.

use crate::one_row;
use crate::work::Work;
use dictionary::{ColumnDef, UserId};
use plan::Called;
use sql::ast::{self, ConstraintKind, ConstraintSpec, Expr, ExprKind, InSource, Name, UnaryOp};
use types::{DataType, Ora, Result};

/// The place of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Default,
    Check,
    /// A virtual column, or the key of an index: it depends on its row alone. The error for other expressions.
    Computed(u32),
}

impl Place {
    /// The error of an expression whose value changes between statements.
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

/// Names that belong to the rows of a query.
const PSEUDO: [&str; 3] = ["ROWNUM", "LEVEL", "ROWID"];

/// The columns and functions in an expression.
#[derive(Default)]
pub struct Used {
    /// Positions of columns.
    pub columns: Vec<usize>,
    /// Functions that SQL does not define.
    pub functions: Vec<ast::Call>,
}

/// ORA-00904, with the whole name.
fn invalid(name: &Name) -> Ora {
    let path: Vec<String> = name.parts.iter().map(|part| format!("\"{}\"", part.name)).collect();
    Ora::with(904, &[&path.join(".")]).at(name.pos.0)
}

/// The columns and functions of an expression over one row of these columns.
///
/// # Errors
/// Those of expressions that are not allowed in this place.
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
        _ => Ok(()), // not a clause: the walk reaches their operands
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

/// Whether a user function is DETERMINISTIC; `None` when there is no such function.
fn function(work: &mut Work<'_>, owner: UserId, call: &ast::Call) -> Result<Option<bool>> {
    let path: Vec<String> = call.name.parts.iter().map(|part| part.name.clone()).collect();
    work.host.function(owner, &path, call.args.len())
}

/// Checks the default of a column of a table of `owner`.
///
/// # Errors
/// ORA-22818 for a subquery, ORA-00984 for a column, ORA-04044 for a PL/SQL function, ORA-00932 for a value that does
/// not convert to the column's type `ty`, and errors of its compilation.
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
    // A number that can never become a date is refused now, not at the first row.
    if is.is_numeric() && ty.is_datetime() || is.is_datetime() && ty.is_numeric() {
        describe(&format!("cast({expr} as {ty})"))?;
    }
    Ok(())
}

/// Checks the expression of a virtual column, or of an index's key, of a table of `owner`; `ty` is the declared type of
/// a virtual column.
///
/// # Errors
/// ORA-00904 for an unknown name, `impure` for an expression that depends on more than the row, ORA-02251 for a
/// subquery, ORA-54012 for another virtual column, ORA-30553 for a function that is not DETERMINISTIC; errors of its
/// compilation.
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
    let mut depends = one_row::depends_on_settings(work, owner, columns, ("", expr, ""), true)?;
    if let Some(ty) = ty.filter(|ty| ty.is_datetime() || ty.is_text()) {
        let from = one_row::type_of(work, owner, columns, expr)?;
        depends |= plan::conversion_depends_on_settings(&from, ty);
    }
    if depends { Err(Ora::new(impure).at(expr.pos.0)) } else { Ok(()) }
}

/// Checks an inline CHECK constraint of a column.
///
/// # Errors
/// ORA-02438 when it uses another column.
pub fn check_inline(columns: &[ColumnDef], column: &str, spec: &ConstraintSpec) -> Result<()> {
    let ConstraintKind::Check { condition, text: _ } = &spec.kind else { return Ok(()) };
    let used = used(Place::Check, columns, condition)?;
    let is_other = used.columns.iter().any(|at| columns[*at].name != column);
    if is_other { Err(Ora::new(2438).at(spec.pos.0)) } else { Ok(()) }
}
