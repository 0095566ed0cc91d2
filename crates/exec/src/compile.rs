//! From the tree of a statement to its plan: the rights that resolve its names, and whether other sessions may use the
//! plan.

use crate::ctx::ExecCtx;
use crate::host_functions::HostFunctions;
use plan::names::{Lookup, Notes, Noting, NotingFunctions};
use plan::{BindType, Plan};
use sql::ast::Statement;
use std::rc::Rc;
use types::Result;

/// The plan of a statement and the look-ups it was made by; the executor's own statements note no look-ups. `values`:
/// the values of the binds, if known. `corrections`: corrections of estimates from an execution.
pub(crate) fn plan_of(
    cx: &mut ExecCtx<'_>,
    statement: &Statement,
    binds: (Vec<String>, &[BindType]),
    internal: bool,
    (values, corrections): (Option<&[types::Value]>, &[plan::Correction]),
) -> Result<(Plan, Vec<Lookup>)> {
    let catalog = cx.host.catalog()?;
    let flashback = cx.session.flashback;
    let optimizer = cx.session.options.planner;
    // A definition that is not yet in the dictionary has the number of the current one, but another state.
    let states = if may_share(cx) { Rc::clone(&cx.session.states) } else { Rc::default() };
    let functions = HostFunctions::new(cx);
    if internal {
        let sys = catalog.as_owner(dictionary::UserId::SYS)?;
        // The condition of a deferred constraint is evaluated with the rights of the table's owner, whatever session
        // commits.
        let owner = match table_of(statement).map(|name| sys.relation(name.qualifier(), name.last())).transpose()? {
            Some(Some(dictionary::Resolved::Table(table))) => table.owner_id,
            _ => dictionary::UserId::SYS,
        };
        let plan = plan::compile_for_owner(statement, &*sys, &functions, binds, owner)?;
        return Ok((plan, Vec::new()));
    }
    let notes = Notes::new(&states);
    let plan = {
        let names = Noting::new(&*catalog, &notes);
        let noting = NotingFunctions { functions: &functions, notes: &notes };
        // A sample has the current rows; DBMS_FLASHBACK reads older ones.
        let sampler = flashback.is_none().then_some(&functions as &dyn plan::Sampler);
        // Planning again with values is part of the earlier parse.
        let uses = values.is_none().then_some(&functions as &dyn plan::ColumnUses);
        let evidence = plan::Evidence { values, sampler, corrections, uses };
        plan::compile_with_evidence(statement, &names, &noting, binds, flashback, &optimizer, evidence)?
    };
    Ok((plan, notes.into_lookups()))
}

/// Whether other sessions may use what this session compiles. They may not under DBMS_FLASHBACK, whose moment is part
/// of the plan.
pub(crate) fn may_share(cx: &ExecCtx<'_>) -> bool {
    cx.session.flashback.is_none() && cx.host.may_share()
}

/// The table that a statement of the executor's own names.
fn table_of(statement: &Statement) -> Option<&sql::ast::Name> {
    let table = match statement {
        Statement::Query(q) => match &q.body {
            sql::ast::QueryBody::Select(select) => select.from.first()?,
            _ => return None,
        },
        Statement::Delete(d) => &d.table,
        Statement::Update(u) => &u.table,
        _ => return None,
    };
    match &table.kind {
        sql::ast::TableRefKind::Table(table) => Some(&table.name),
        _ => None,
    }
}
