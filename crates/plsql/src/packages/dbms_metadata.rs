//! DBMS_METADATA: the statements that create objects, from the dictionary.
//!
//! Users see their own objects, others need SELECT_CATALOG_ROLE: without it an object of another schema is ORA-31603.
//! The texts are in [`metadata`](super::metadata) and [`metadata_tables`](super::metadata_tables).

use super::metadata::{dependent, granted, statement};
use super::metadata_form::{Form, Writer};
use super::package::*;
use super::queries::rows;
use super::sql_names::NAME_MAX;
use crate::world::World;
use types::Result;

package! {
    "DBMS_METADATA",
    "package dbms_metadata is
       session_transform constant binary_integer := -1;
       invalid_argval exception; pragma exception_init(invalid_argval, -31600);
       object_not_found exception; pragma exception_init(object_not_found, -31603);
       object_not_found2 exception; pragma exception_init(object_not_found2, -31608);
       function get_ddl(object_type varchar2, name varchar2, schema varchar2 default null,
         version varchar2 default 'COMPATIBLE', model varchar2 default 'ORACLE', transform varchar2 default 'DDL')
         return clob;
       function get_dependent_ddl(object_type varchar2, base_object_name varchar2,
         base_object_schema varchar2 default null, version varchar2 default 'COMPATIBLE',
         model varchar2 default 'ORACLE', transform varchar2 default 'DDL', object_count number default 10000)
         return clob;
       function get_granted_ddl(object_type varchar2, grantee varchar2 default null,
         version varchar2 default 'COMPATIBLE', model varchar2 default 'ORACLE', transform varchar2 default 'DDL',
         object_count number default 10000) return clob;
       procedure set_transform_param(transform_handle number, name varchar2, value varchar2,
         object_type varchar2 default null);
       procedure set_transform_param(transform_handle number, name varchar2, value boolean default true,
         object_type varchar2 default null);
       procedure set_transform_param(transform_handle number, name varchar2, value number,
         object_type varchar2 default null);
     end;";
    "GET_DDL" 1 => get_ddl, "GET_DEPENDENT_DDL" 1 => get_dependent_ddl, "GET_GRANTED_DDL" 1 => get_granted_ddl,
    "SET_TRANSFORM_PARAM" 1 => set_text_param, "SET_TRANSFORM_PARAM" 2 => set_transform_param,
    "SET_TRANSFORM_PARAM" 3 => set_text_param,
}

fn invalid(value: &str, parameter: &str, function: &str) -> Ora {
    Ora::with(31600, &[&value, &parameter, &function])
}

/// Refuses a MODEL or TRANSFORM other than that of statements.
fn require_statements(a: &Args<'_>, at: usize, function: &str) -> Result<()> {
    for (at, name, wanted) in [(at, "MODEL", "ORACLE"), (at + 1, "TRANSFORM", "DDL")] {
        if !a.text(at).eq_ignore_ascii_case(wanted) {
            return Err(invalid(a.text(at), name, function));
        }
    }
    Ok(())
}

/// Whether the session sees the objects of all schemas.
fn sees_all<W: World>(w: &mut W) -> Result<bool> {
    let query = "select 1 from sys.session_roles where role = 'SELECT_CATALOG_ROLE' union all \
        select 1 from dual where sys_context('USERENV', 'CURRENT_USER') = 'SYS'";
    Ok(!rows(w, query)?.is_empty())
}

/// The form of the session's texts, and the views from which to read.
fn writer<W: World>(c: &mut Call<'_, W>, schema: &str) -> Result<Option<Writer>> {
    let form = c.s.with_own(|form: &mut Form| form.clone());
    let user = c.w.sys_context("USERENV", "CURRENT_USER")?;
    let is_own = matches!(&user, Value::Text(user) if user == schema);
    let views = if sees_all(c.w)? { "dba" } else { "all" };
    Ok((is_own || views == "dba").then_some(Writer { form, views }))
}

fn schema<W: World>(c: &Call<'_, W>, at: usize) -> String {
    c.a.optional_text(at).unwrap_or_else(|| c.w.schema())
}

fn get_ddl<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    require_statements(&c.a, 4, "GET_DDL")?;
    let (kind, name) = (c.a.text(0).to_uppercase(), c.a.text(1).to_owned());
    let is_public = kind == "SYNONYM" && c.a.text(2) == "PUBLIC";
    let schema = schema(c, 2);
    let missing = || Ora::with(31603, &[&name, &kind, &schema]);
    if name.len() > NAME_MAX || schema.len() > NAME_MAX {
        return Err(missing().into());
    }
    let writer = match writer(c, &schema)? {
        Some(writer) => writer,
        None if is_public => Writer { form: c.s.with_own(|form: &mut Form| form.clone()), views: "all" },
        None => return Err(missing().into()),
    };
    match statement(c.w, &writer, &kind, &schema, &name)? {
        None => Err(invalid(&kind, "OBJECT_TYPE", "GET_DDL").into()),
        Some(text) if text.is_empty() => Err(missing().into()),
        Some(text) => Ok(Value::text(text)),
    }
}

fn get_dependent_ddl<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    require_statements(&c.a, 4, "GET_DEPENDENT_DDL")?;
    let (kind, name) = (c.a.text(0).to_uppercase(), c.a.text(1).to_owned());
    let schema = schema(c, 2);
    let writer = writer(c, &schema)?.filter(|_| name.len() <= NAME_MAX);
    let Some(writer) = writer else { return Err(Ora::with(31608, &[&kind]).into()) };
    match dependent(c.w, &writer, &kind, &schema, &name)? {
        None => Err(invalid(&kind, "OBJECT_TYPE", "GET_DEPENDENT_DDL").into()),
        Some(text) if text.is_empty() => Err(Ora::with(31608, &[&kind]).into()),
        Some(text) => Ok(Value::text(text)),
    }
}

fn get_granted_ddl<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    require_statements(&c.a, 3, "GET_GRANTED_DDL")?;
    let kind = c.a.text(0).to_uppercase();
    let grantee = schema(c, 1);
    let Some(writer) = writer(c, &grantee)? else { return Err(Ora::with(31608, &[&kind]).into()) };
    match granted(c.w, &writer, &kind, &grantee)? {
        None => Err(invalid(&kind, "OBJECT_TYPE", "GET_GRANTED_DDL").into()),
        Some(text) if text.is_empty() => Err(Ora::with(31608, &[&kind]).into()),
        Some(text) => Ok(Value::text(text)),
    }
}

/// Only the transform of the session exists.
fn require_session(a: &Args<'_>) -> Result<()> {
    if a.integer(0) == Some(-1) {
        Ok(())
    } else {
        Err(invalid(&a.integer(0).unwrap_or(0).to_string(), "HANDLE", "SET_TRANSFORM_PARAM"))
    }
}

fn set_transform_param<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_session(&c.a)?;
    let (name, is_on) = (c.a.text(1).to_uppercase(), c.a.flag(2));
    if c.s.with_own(|form: &mut Form| form.set(&name, is_on)) {
        return Ok(());
    }
    Err(invalid(&name, "NAME", "SET_TRANSFORM_PARAM").into())
}

/// Parameters with texts and numbers, which remap and select, are not built.
fn set_text_param<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    require_session(&c.a)?;
    Err(invalid(&c.a.text(1).to_uppercase(), "NAME", "SET_TRANSFORM_PARAM").into())
}
