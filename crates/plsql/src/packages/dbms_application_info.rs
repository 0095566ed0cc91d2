//! DBMS_APPLICATION_INFO.

use super::package::*;
use crate::world::World;

package! {
    "DBMS_APPLICATION_INFO",
    "package dbms_application_info is
       procedure set_module(module_name varchar2, action_name varchar2);
       procedure set_action(action_name varchar2);
       procedure set_client_info(client_info varchar2);
       procedure read_module(module_name out varchar2, action_name out varchar2);
       procedure read_client_info(client_info out varchar2);
     end;";
    "SET_MODULE" 1 => set_module,
    "SET_ACTION" 1 => set_action,
    "SET_CLIENT_INFO" 1 => set_client_info,
    "READ_MODULE" 1 => read_module,
    "READ_CLIENT_INFO" 1 => read_client_info,
}

fn set_module<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (module, action) = (c.a.optional_text(0).unwrap_or_default(), c.a.optional_text(1).unwrap_or_default());
    c.w.set_application_info(Some(&module), Some(&action), None);
    Ok(())
}

fn set_action<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_application_info(None, Some(c.a.text(0)), None);
    Ok(())
}

fn set_client_info<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    c.w.set_application_info(None, None, Some(c.a.text(0)));
    Ok(())
}

fn read_module<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let (module, action) = (c.w.sys_context("USERENV", "MODULE")?, c.w.sys_context("USERENV", "ACTION")?);
    c.a.set(0, module);
    c.a.set(1, action);
    Ok(())
}

fn read_client_info<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let info = c.w.sys_context("USERENV", "CLIENT_INFO")?;
    c.a.set(0, info);
    Ok(())
}
