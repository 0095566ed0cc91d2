//! Describing and explaining statements without a cursor.

use super::build::described;
use super::state::{Cursor, Described};
use crate::compile::plan_of;
use crate::ctx::ExecCtx;
use crate::host_functions::HostFunctions;
use dictionary::States;
use plan::BindType;
use plan::names::{Lookup, Notes, Noting, NotingFunctions};
use sql::ast::Statement;
use std::cell::RefCell;
use types::{Ora, Result};
use wait::Stat;

/// The changes that each column of a user's view allows; empty for another kind of object, or if the view cannot be
/// compiled.
///
/// # Errors
/// Those of the dictionary.
pub fn updatable_columns(
    cx: &mut ExecCtx<'_>,
    owner: dictionary::UserId,
    view: &str,
) -> Result<Vec<plan::UpdatableColumn>> {
    let catalog = cx.host.catalog()?;
    let names = catalog.as_owner(owner)?;
    let functions = HostFunctions::new(cx);
    match names.relation(None, view)? {
        Some(dictionary::Resolved::View(view)) if !view.catalog && view.owner_id == owner => {
            Ok(plan::updatable_columns(&view, &*names, &functions))
        }
        _ => Ok(Vec::new()),
    }
}

impl Cursor {
    /// Compiles a statement only to describe it.
    pub fn describe(cx: &mut ExecCtx<'_>, text: &str, binds: &[BindType]) -> Result<Described> {
        let statement = sql::parse_statement(text)?;
        Cursor::describe_parsed(cx, &statement, (sql::bind_names(text), binds))
    }

    /// As [`Cursor::describe`], for a parsed statement, such as a query inside DDL.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn describe_parsed(
        cx: &mut ExecCtx<'_>,
        statement: &Statement,
        names: (Vec<String>, &[BindType]),
    ) -> Result<Described> {
        cx.p.count(Stat::ParseCountDescribe, 1);
        let catalog = cx.host.catalog()?;
        let scn = cx.session.flashback;
        let functions = HostFunctions::new(cx);
        plan::describe(statement, &*catalog, &functions, &plan::NoVariables, names, scn).map(described)
    }

    /// As [`Cursor::describe`], for a static statement of PL/SQL: a name that is not a column may be one of
    /// `variables`. `functions` and `variables` have their own access to the call in progress.
    ///
    /// # Errors
    /// Those of compiling the statement, and of `variables`.
    pub fn describe_static(
        host: &dyn crate::Host,
        (text, binds): (&str, &[BindType]),
        scn: Option<types::Scn>,
        states: &RefCell<States>,
        functions: &dyn plan::Functions,
        variables: &dyn plan::Variables,
    ) -> Result<(Described, Vec<Lookup>)> {
        let statement = sql::parse_statement(text)?;
        let catalog = host.catalog()?;
        let binds = (sql::bind_names(text), binds);
        let notes = Notes::new(states);
        let plan = {
            let names = Noting::new(&*catalog, &notes);
            let functions = NotingFunctions { functions, notes: &notes };
            plan::describe(&statement, &names, &functions, variables, binds, scn)?
        };
        Ok((described(plan), notes.into_lookups()))
    }

    /// Whether the results of a query depend on the session's time zone or date formats; with `language`, also
    /// on its date language and territory.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn depends_on_settings(cx: &mut ExecCtx<'_>, statement: &Statement, language: bool) -> Result<bool> {
        Ok(plan_of(cx, statement, (Vec::new(), &[]), false, (None, &[]))?.0.depends_on_settings(language))
    }

    /// The plan as text.
    pub fn explain(cx: &mut ExecCtx<'_>, statement: &Statement) -> Result<String> {
        Ok(plan_of(cx, statement, (Vec::new(), &[]), false, (None, &[]))?.0.to_string())
    }

    /// The plan as the rows of PLAN_TABLE.
    ///
    /// # Errors
    /// Those of compiling the statement.
    pub fn plan_rows(cx: &mut ExecCtx<'_>, statement: &Statement) -> Result<Vec<plan::rows::PlanRow>> {
        let plan = plan_of(cx, statement, (Vec::new(), &[]), false, (None, &[]))?.0;
        let names = cx.host.catalog()?;
        for (object, owner) in &plan.below_views {
            if !names.allowed(*object, *owner, dictionary::ObjectPrivilege::Read)? {
                return Err(Ora::new(1039));
            }
        }
        Ok(plan.rows())
    }
}
