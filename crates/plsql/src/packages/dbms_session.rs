//! DBMS_SESSION.

use super::dbms_lock::sleep;
use super::package::*;
use crate::requests::ContextChange;
use crate::world::World;

package! {
    "DBMS_SESSION",
    "package dbms_session is
       procedure sleep(seconds number);
       procedure reset_package;
       procedure free_unused_user_memory;
       procedure set_nls(param varchar2, value varchar2);
       procedure set_role(role_cmd varchar2);
       procedure set_identifier(client_id varchar2);
       procedure clear_identifier;
       procedure set_context(namespace varchar2, attribute varchar2, value varchar2, username varchar2 default null,
         client_id varchar2 default null);
       procedure clear_context(namespace varchar2, client_id varchar2 default null, attribute varchar2 default null);
       procedure clear_all_context(namespace varchar2);
     end;";
    "SLEEP" 1 => sleep,
    "RESET_PACKAGE" 1 => reset_package,
    "FREE_UNUSED_USER_MEMORY" 1 => free_unused_user_memory,
    "SET_NLS" 1 => set_nls,
    "SET_ROLE" 1 => set_role,
    "SET_IDENTIFIER" 1 => set_identifier,
    "CLEAR_IDENTIFIER" 1 => clear_identifier,
    "SET_CONTEXT" 1 => set_context,
    "CLEAR_CONTEXT" 1 => clear_context,
    "CLEAR_ALL_CONTEXT" 1 => clear_all_context,
}

fn reset_package<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.s.reset_packages();
    Ok(())
}

fn free_unused_user_memory<W: World>(_: &mut Call<'_, W>) -> Run<()> {
    Ok(())
}

fn set_nls<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_nls(c.a.text(0), c.a.text(1))?;
    Ok(())
}

fn set_role<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_role(c.a.text(0))?;
    Ok(())
}

fn set_identifier<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_identifier(c.a.text(0));
    Ok(())
}

fn clear_identifier<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_identifier("");
    Ok(())
}

/// Owners and names of the units on the call stack.
fn callers<W: World>(c: &Call<'_, W>) -> Vec<(String, String)> {
    c.m.units_on_stack()
}

fn set_context<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let callers = callers(c);
    let (user, client) = (c.a.optional_text(3), c.a.optional_text(4));
    let (name, value) = (Some(c.a.text(1)), Some(c.a.text(2)));
    let (user, client) = (user.as_deref(), client.as_deref());
    c.w.change_context(&ContextChange { namespace: c.a.text(0), name, value, user, client, callers: &callers })?;
    Ok(())
}

fn clear_context<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let callers = callers(c);
    let (client, name) = (c.a.optional_text(1), c.a.optional_text(2));
    let (client, name) = (client.as_deref(), name.as_deref());
    let change = ContextChange { namespace: c.a.text(0), name, client, callers: &callers, ..ContextChange::default() };
    c.w.change_context(&change)?;
    Ok(())
}

fn clear_all_context<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let callers = callers(c);
    let change = ContextChange { namespace: c.a.text(0), callers: &callers, ..ContextChange::default() };
    c.w.change_context(&change)?;
    Ok(())
}
