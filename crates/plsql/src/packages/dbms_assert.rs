//! DBMS_ASSERT: checks of parts of dynamic SQL. Each returns its argument.

use super::package::*;
use super::queries::{quoted, rows};
use super::sql_names::{NAME_MAX, is_simple, parts_of};
use crate::world::World;
use types::Result;

package! {
    "DBMS_ASSERT",
    "package dbms_assert is
       function enquote_literal(str varchar2) return varchar2;
       function enquote_name(str varchar2, capitalize boolean default true) return varchar2;
       function noop(str varchar2) return varchar2;
       function noop(str clob) return clob;
       function qualified_sql_name(str varchar2) return varchar2;
       function schema_name(str varchar2) return varchar2;
       function simple_sql_name(str varchar2) return varchar2;
       function sql_object_name(str varchar2) return varchar2;
       invalid_schema_name exception; pragma exception_init(invalid_schema_name, -44001);
       invalid_object_name exception; pragma exception_init(invalid_object_name, -44002);
       invalid_sql_name exception; pragma exception_init(invalid_sql_name, -44003);
       invalid_qualified_sql_name exception; pragma exception_init(invalid_qualified_sql_name, -44004);
     end;";
    "ENQUOTE_LITERAL" 1 => enquote_literal, "ENQUOTE_NAME" 1 => enquote_name,
    "NOOP" 1 => noop, "NOOP" 2 => noop,
    "QUALIFIED_SQL_NAME" 1 => qualified_sql_name, "SCHEMA_NAME" 1 => schema_name,
    "SIMPLE_SQL_NAME" 1 => simple_sql_name, "SQL_OBJECT_NAME" 1 => sql_object_name,
}

fn noop<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    Ok(c.a.take(0))
}

/// Whether each quote in a text is followed by another one.
fn has_pairs(text: &str, quote: char) -> bool {
    text.split(quote).skip(1).collect::<Vec<_>>().chunks(2).all(|pair| pair.len() == 2 && pair[0].is_empty())
}

fn enquote_literal<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let text = c.a.text(0);
    let inner = match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(inner) => inner,
        None => text,
    };
    if !has_pairs(inner, '\'') {
        return Err(scalar::value_error("").into());
    }
    limited_text(format!("'{inner}'"))
}

fn enquote_name<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let text = c.a.text(0);
    let is_quoted = text.len() > 2 && text.starts_with('"') && text.ends_with('"');
    let inner = if is_quoted { &text[1..text.len() - 1] } else { text };
    if inner.is_empty() || inner.contains('"') {
        return Err(Ora::new(44003).into());
    }
    let capitalizes = !matches!(c.a.value(1), Value::Boolean(false));
    let name = if !is_quoted && capitalizes { inner.to_uppercase() } else { inner.to_owned() };
    limited_text(format!("\"{name}\""))
}

fn simple_sql_name<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    if is_simple(c.a.text(0).trim()) { Ok(c.a.take(0)) } else { Err(Ora::new(44003).into()) }
}

fn qualified_sql_name<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    if parts_of(c.a.text(0)).is_some() { Ok(c.a.take(0)) } else { Err(Ora::new(44004).into()) }
}

fn schema_name<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let query = format!("select 1 from sys.all_users where username = {}", quoted(c.a.text(0)));
    if c.a.text(0).len() > NAME_MAX || rows(c.w, &query)?.is_empty() {
        Err(Ora::new(44001).into())
    } else {
        Ok(c.a.take(0))
    }
}

fn sql_object_name<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let parts = parts_of(c.a.text(0)).filter(|name| name.link.is_none()).ok_or_else(|| Ora::new(44002))?;
    if is_object(c.w, &parts.names)? { Ok(c.a.take(0)) } else { Err(Ora::new(44002).into()) }
}

/// Whether an object with that name exists: the first part is an object of the schema or has a public synonym, or it is
/// a schema that has the second.
fn is_object<W: World>(w: &mut W, names: &[String]) -> Result<bool> {
    let schema = quoted(&w.schema());
    let own = |name: &str| {
        format!("select 1 from sys.all_objects where object_name = {} and owner in ({schema}, 'PUBLIC')", quoted(name))
    };
    match names {
        [name] => Ok(!rows(w, &own(name))?.is_empty()),
        [first, second, ..] => {
            let (owner, name) = (quoted(first), quoted(second));
            let of_owner = format!("select 1 from sys.all_objects where owner = {owner} and object_name = {name}");
            Ok(!rows(w, &of_owner)?.is_empty() || !rows(w, &own(first))?.is_empty())
        }
        [] => Ok(false),
    }
}
