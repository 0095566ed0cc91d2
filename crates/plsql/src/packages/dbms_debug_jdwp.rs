//! DBMS_DEBUG_JDWP.

use super::package::*;
use crate::world::World;

package! {
    "DBMS_DEBUG_JDWP",
    "package dbms_debug_jdwp is
       function current_session_id return pls_integer;
       function current_session_serial return pls_integer;
     end;";
    "CURRENT_SESSION_ID" 1 => current_session_id,
    "CURRENT_SESSION_SERIAL" 1 => current_session_serial,
}

fn current_session_id<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.w.sys_context("USERENV", "SID")?)
}

fn current_session_serial<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(number(c.w.session_serial()))
}
