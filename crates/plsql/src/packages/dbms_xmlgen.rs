//! DBMS_XMLGEN: the rows of a query as XML.
//!
//! The query runs with the rights of the current user, as those of DBMS_SQL do.

use super::package::*;
use crate::world::{DynamicKind, World};
use std::collections::HashMap;
use types::{DataType, Nls, Result};

package! {
    "DBMS_XMLGEN",
    "package dbms_xmlgen is
       none constant number := 0;
       drop_nulls constant number := 0;
       null_attr constant number := 1;
       empty_tag constant number := 2;
       entity_encode constant number := 0;
       entity_decode constant number := 1;
       subtype ctxhandle is number;
       subtype ctxtype is number;
       function newcontext(query varchar2) return number;
       procedure setrowtag(ctx number, rowtagname varchar2);
       procedure setrowsettag(ctx number, rowsettagname varchar2);
       procedure setmaxrows(ctx number, maxrows number);
       procedure setskiprows(ctx number, skiprows number);
       procedure setnullhandling(ctx number, flag number);
       function getxml(ctx number, dtdorschema number default 0) return clob;
       function getxml(sqlquery varchar2, dtdorschema number default 0) return clob;
       function getxmltype(ctx number, dtdorschema number default 0) return xmltype;
       function getxmltype(sqlquery varchar2, dtdorschema number default 0) return xmltype;
       function getnumrowsprocessed(ctx number) return number;
       procedure closecontext(ctx number);
       function convert(xmldata varchar2, flag number default 0) return varchar2;
     end;";
    "NEWCONTEXT" 1 => new_context, "SETROWTAG" 1 => set_row_tag, "SETROWSETTAG" 1 => set_row_set_tag,
    "SETMAXROWS" 1 => set_max_rows, "SETSKIPROWS" 1 => set_skip_rows, "SETNULLHANDLING" 1 => set_null_handling,
    "GETXML" 1 => of_context, "GETXML" 2 => of_query, "GETXMLTYPE" 1 => of_context, "GETXMLTYPE" 2 => of_query,
    "GETNUMROWSPROCESSED" 1 => rows_processed, "CLOSECONTEXT" 1 => close_context, "CONVERT" 1 => convert,
}

/// The contexts of a session.
#[derive(Default)]
struct Contexts(HashMap<i64, Context>);

/// A query with its settings.
#[derive(Clone)]
struct Context {
    query: String,
    /// `None`: the rows have no element around them.
    row_tag: Option<String>,
    row_set_tag: Option<String>,
    /// Rows of one call.
    max_rows: Option<u64>,
    skip_rows: u64,
    nulls: Nulls,
    /// Rows that earlier calls have given.
    given: u64,
    last: u64,
}

/// The form of NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nulls {
    Dropped,
    Attribute,
    EmptyTag,
}

impl Context {
    fn new(query: &str) -> Context {
        Context {
            query: query.to_owned(),
            row_tag: Some("ROW".to_owned()),
            row_set_tag: Some("ROWSET".to_owned()),
            max_rows: None,
            skip_rows: 0,
            nulls: Nulls::Dropped,
            given: 0,
            last: 0,
        }
    }
}

/// Most contexts of a session.
const CONTEXTS_MAX: usize = 1000;

fn with_context<W: World, R>(c: &mut Call<'_, W>, f: impl FnOnce(&mut Context) -> R) -> Run<R> {
    let n = c.a.integer(0).unwrap_or(0);
    let found = c.s.with_own(|all: &mut Contexts| all.0.get_mut(&n).map(f));
    found.ok_or_else(|| Ora::with(19202, &[&""]).because(Ora::new(31011)).into())
}

fn new_context<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let query = c.a.text(0).to_owned();
    require_query(c.w, &query)?;
    let n = c.s.with_own(|all: &mut Contexts| {
        if all.0.len() >= CONTEXTS_MAX {
            return Err(Ora::new(1000));
        }
        let n = handle(|n| all.0.contains_key(&n))?;
        all.0.insert(n, Context::new(&query));
        Ok(n)
    })?;
    Ok(number(n))
}

fn set_row_tag<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let tag = tag(c)?;
    with_context(c, |context| context.row_tag = tag)
}

fn set_row_set_tag<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let tag = tag(c)?;
    with_context(c, |context| context.row_set_tag = tag)
}

fn tag<W: World>(c: &Call<'_, W>) -> Result<Option<String>> {
    let Some(tag) = c.a.optional_text(1) else { return Ok(None) };
    if xml::is_name(&tag) { Ok(Some(tag)) } else { Err(Ora::with(19202, &[&""]).because(Ora::new(31013))) }
}

/// A number of rows; a negative one means all.
fn count<W: World>(c: &Call<'_, W>) -> Option<u64> {
    c.a.integer(1).and_then(|n| u64::try_from(n).ok())
}

fn set_max_rows<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let rows = count(c);
    with_context(c, |context| context.max_rows = rows)
}

fn set_skip_rows<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let rows = count(c).unwrap_or(0);
    with_context(c, |context| context.skip_rows = rows)
}

fn set_null_handling<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let nulls = match c.a.integer(1) {
        Some(1) => Nulls::Attribute,
        Some(2) => Nulls::EmptyTag,
        _ => Nulls::Dropped,
    };
    with_context(c, |context| context.nulls = nulls)
}

fn rows_processed<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    with_context(c, |context| number(context.last as i64))
}

fn close_context<W: World>(c: &mut Call<'_, W>) -> Run<()> {
    let n = c.a.integer(0).unwrap_or(0);
    c.s.with_own(|all: &mut Contexts| all.0.remove(&n));
    Ok(())
}

fn of_query<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut context = Context::new(c.a.text(0));
    require_query(c.w, &context.query)?;
    Ok(generate(c.w, &mut context)?)
}

fn of_context<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut context = with_context(c, |context| context.clone())?;
    let value = generate(c.w, &mut context)?;
    with_context(c, |known| *known = context)?;
    Ok(value)
}

/// # Errors
/// ORA-19206 for anything but a query.
fn require_query<W: World>(w: &mut W, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        return Err(Ora::new(19206));
    }
    match w.dynamic_kind(text).map_err(failed)?.0 {
        DynamicKind::Query => Ok(()),
        DynamicKind::Dml | DynamicKind::Block | DynamicKind::Other => Err(Ora::new(19206)),
    }
}

/// ORA-19202 above an error of the query.
fn failed(e: Ora) -> Ora {
    if e.is_stop() { e } else { Ora::with(19202, &[&""]).because(e.without_position()) }
}

/// The rows as XML; NULL without any.
fn generate<W: World>(w: &mut W, context: &mut Context) -> Result<Value> {
    let mut cursor = w.open_cursor(&context.query, &[], false).map_err(failed)?;
    let written = written(w, &mut cursor, context);
    w.close_cursor(cursor);
    written.map_err(|e| if e.is(19011) { e } else { failed(e) })
}

fn written<W: World>(w: &mut W, cursor: &mut W::Cursor, context: &mut Context) -> Result<Value> {
    let columns: Vec<(String, bool)> =
        w.columns(cursor).iter().map(|c| (xml::escaped_name(&c.name), c.ty == DataType::Xml)).collect();
    w.execute(cursor)?;
    let nls = w.nls().clone();
    let mut out = String::from("<?xml version=\"1.0\"?>\n");
    if let Some(tag) = &context.row_set_tag {
        out.push_str(&format!("<{tag}"));
        if context.nulls == Nulls::Attribute {
            out.push_str(" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"");
        }
        out.push_str(">\n");
    }
    let (mut row, mut skipped, mut rows) = (Vec::new(), 0, 0u64);
    let skip = context.skip_rows + context.given;
    while context.max_rows.is_none_or(|most| rows < most) && w.fetch(cursor, &mut row)? {
        if skipped < skip {
            skipped += 1;
            continue;
        }
        rows += 1;
        if let Some(tag) = &context.row_tag {
            out.push_str(&format!(" <{tag}>\n"));
        }
        for (value, (name, xml)) in row.iter().zip(&columns) {
            push_column(value, name, *xml, context.nulls, &nls, &mut out)?;
        }
        if let Some(tag) = &context.row_tag {
            out.push_str(&format!(" </{tag}>\n"));
        }
        if out.len() > functions::LOB_MAX {
            return Err(Ora::new(19011));
        }
    }
    w.end_fetch(cursor);
    context.given += rows;
    context.last = rows;
    if rows == 0 {
        return Ok(Value::Null);
    }
    if let Some(tag) = &context.row_set_tag {
        out.push_str(&format!("</{tag}>\n"));
    }
    Ok(Value::Text(out))
}

fn push_column(value: &Value, name: &str, xml: bool, nulls: Nulls, nls: &Nls, out: &mut String) -> Result<()> {
    if value.is_null() {
        match nulls {
            Nulls::Dropped => {}
            Nulls::Attribute => out.push_str(&format!("  <{name} xsi:nil = \"true\"/>\n")),
            Nulls::EmptyTag => out.push_str(&format!("  <{name}/>\n")),
        }
        return Ok(());
    }
    let mut text = String::new();
    value.write_text(nls, &mut text)?;
    xml::check_characters(&text)?;
    out.push_str(&format!("  <{name}>"));
    match xml {
        true => out.push_str(xml::without_declaration(&text)),
        false => xml::push_escaped(&text, true, out),
    }
    out.push_str(&format!("</{name}>\n"));
    Ok(())
}

/// CONVERT: escapes a text, or resolves its references.
fn convert<W: World>(c: &mut Call<'_, W>) -> Run<Value> {
    let mut out = String::new();
    match c.a.integer(1) {
        Some(1) => xml::push_unescaped(c.a.text(0), &mut out),
        _ => xml::push_escaped(c.a.text(0), true, &mut out),
    }
    limited_text(out)
}
