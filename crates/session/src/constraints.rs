//! SET CONSTRAINTS, and the check of deferred constraints before a commit.

use crate::core::Core;
use dictionary::Catalog;
use exec::{ExecCtx, constraints};
use sql::ast::{Name, ParameterSetting, SetConstraints};
use types::{Ora, Result};

/// Checks the deferred constraints. Called before every commit, including the commits of DDL statements.
///
/// # Errors
/// ORA-02091, caused by the constraint's own error, after the transaction has been rolled back. Any other error leaves
/// the transaction open.
pub fn check_before_commit(core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
    if cx.session.constraints.is_clear() || cx.session.txn.xid().is_none() {
        return Ok(());
    }
    let Err(e) = constraints::check(&|_| true, cx) else { return Ok(()) };
    let ends = [1, 60, 2290, 2291, 2292].iter().any(|code| e.is(*code));
    if !ends {
        return Err(e);
    }
    core.rollback(cx.session)?;
    Err(Ora::new(2091).because(e))
}

/// SET CONSTRAINTS.
///
/// # Errors
/// ORA-02448, ORA-02447; with IMMEDIATE, the error of a constraint that does not hold: nothing is set then.
pub fn set(core: &Core, cx: &mut ExecCtx<'_>, s: &SetConstraints) -> Result<()> {
    let SetConstraints { names, deferred } = s;
    if names.is_empty() {
        if !*deferred {
            constraints::check(&|_| true, cx)?;
        }
        cx.session.constraints.set_all(*deferred);
        return Ok(());
    }
    let numbers = names.iter().map(|name| deferrable(core, name)).collect::<Result<Vec<u32>>>()?;
    if !*deferred {
        constraints::check(&|constraint| numbers.contains(&constraint), cx)?;
    }
    numbers.iter().for_each(|n| cx.session.constraints.set(*n, *deferred));
    Ok(())
}

/// The number of a constraint that may be deferred.
fn deferrable(core: &Core, name: &Name) -> Result<u32> {
    let missing = || Ora::new(2448).at(name.pos.0);
    let names = core.names()?;
    let image = names.image();
    let owner = match name.qualifier() {
        Some(owner) => image.user_named(owner).map(|u| u.id).ok_or_else(missing)?,
        None => names.schema().0,
    };
    let number = image.constraint_named(owner, name.last()).ok_or_else(missing)?;
    let table = image.constraint_table(number).ok_or_else(missing)?;
    // A user without access to the table must not learn of its constraints.
    let seen = image.object(table).and_then(|o| names.object(Some(&image.user_name(o.owner_id)), &o.name, 1));
    if seen.is_none() {
        return Err(missing());
    }
    let table = image.table(table)?.ok_or_else(missing)?;
    let constraint = table.constraints.iter().find(|c| c.id == number).ok_or_else(missing)?;
    if constraint.deferrable { Ok(number) } else { Err(Ora::new(2447).at(name.pos.0)) }
}

/// ALTER SESSION SET CONSTRAINTS.
///
/// # Errors
/// ORA-00922 for an unknown value; with IMMEDIATE, the error of a constraint that does not hold.
pub fn set_in_session(cx: &mut ExecCtx<'_>, s: &ParameterSetting) -> Result<()> {
    let deferred = match s.value.to_ascii_uppercase().as_str() {
        "IMMEDIATE" => Some(false),
        "DEFERRED" => Some(true),
        "DEFAULT" => None,
        _ => return Err(Ora::new(922).at(s.name.pos.0)),
    };
    if deferred == Some(false) {
        constraints::check(&|_| true, cx)?;
    }
    cx.session.constraints.set_session(deferred);
    Ok(())
}
