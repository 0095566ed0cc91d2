//! Texts of DBMS_METADATA: program units, views, sequences, synonyms, grants and comments.

use super::metadata_form::{Writer, sequence_options, texts};
use super::metadata_tables as tables;
use super::queries::quoted;
use crate::world::World;
use sql::lexer::{TokenKind, lex};
use types::Result;

/// The statements that create an object: empty if it does not exist, `None` for an unknown kind.
pub(super) fn statement<W: World>(
    w: &mut W,
    writer: &Writer,
    kind: &str,
    schema: &str,
    name: &str,
) -> Result<Option<String>> {
    Ok(Some(match kind {
        "TABLE" => tables::table(w, writer, schema, name)?,
        "INDEX" => {
            tables::indexes(w, writer, &format!("i.owner = {} and i.index_name = {}", quoted(schema), quoted(name)))?
        }
        "CONSTRAINT" => tables::alter_constraints(w, writer, schema, Err(name), false)?,
        "REF_CONSTRAINT" => tables::alter_constraints(w, writer, schema, Err(name), true)?,
        "VIEW" => view(w, writer, schema, name)?,
        "SEQUENCE" => sequence(w, writer, schema, name)?,
        "SYNONYM" => synonym(w, writer, schema, name)?,
        "PROCEDURE" | "FUNCTION" => unit(w, writer, schema, name, kind)?,
        "PACKAGE_SPEC" => unit(w, writer, schema, name, "PACKAGE")?,
        "PACKAGE_BODY" => unit(w, writer, schema, name, "PACKAGE BODY")?,
        "TYPE_SPEC" => unit(w, writer, schema, name, "TYPE")?,
        "TYPE_BODY" => unit(w, writer, schema, name, "TYPE BODY")?,
        "PACKAGE" | "TYPE" => {
            let mut all = if writer.form.specification { unit(w, writer, schema, name, kind)? } else { String::new() };
            if writer.form.body {
                let body = unit(w, writer, schema, name, &format!("{kind} BODY"))?;
                if !all.is_empty() && !body.is_empty() {
                    all.push('\n');
                }
                all.push_str(&body);
            }
            all
        }
        "TRIGGER" => trigger(w, writer, schema, name)?,
        "ROLE" if writer.views != "dba" => String::new(),
        "ROLE" => {
            let known = texts(w, &format!("select role from sys.dba_roles where role = {}", quoted(name)))?;
            if known.is_empty() {
                String::new()
            } else {
                format!("{}CREATE ROLE \"{name}\"{}", writer.line("   "), writer.end())
            }
        }
        _ => return Ok(None),
    }))
}

/// The statements for what depends on an object.
pub(super) fn dependent<W: World>(
    w: &mut W,
    writer: &Writer,
    kind: &str,
    schema: &str,
    name: &str,
) -> Result<Option<String>> {
    let (owner, object) = (quoted(schema), quoted(name));
    Ok(Some(match kind {
        // The indexes of keys come with their constraints.
        "INDEX" => tables::indexes(w, writer, &format!("i.table_owner = {owner} and i.table_name = {object}"))?,
        "CONSTRAINT" => tables::alter_constraints(w, writer, schema, Ok(name), false)?,
        "REF_CONSTRAINT" => tables::alter_constraints(w, writer, schema, Ok(name), true)?,
        "TRIGGER" => {
            let query = format!(
                "select owner, trigger_name from sys.{}_triggers where table_owner = {owner} and table_name = {object} \
                 order by 1, 2",
                writer.views
            );
            let mut all = Vec::new();
            for row in texts(w, &query)? {
                all.push(trigger(w, writer, &row[0], &row[1])?);
            }
            all.join("\n")
        }
        "COMMENT" => comments(w, writer, schema, name)?,
        "OBJECT_GRANT" => {
            let of = if writer.views == "dba" { "owner" } else { "table_schema" };
            object_grants(w, writer, &format!("{of} = {owner} and table_name = {object}"))?
        }
        _ => return Ok(None),
    }))
}

/// The statements for what a user or a role was granted.
pub(super) fn granted<W: World>(w: &mut W, writer: &Writer, kind: &str, grantee: &str) -> Result<Option<String>> {
    let to = quoted(grantee);
    let (line, end) = (writer.line("  "), writer.end());
    let admin = |row: &[String]| if row[1] == "YES" { " WITH ADMIN OPTION" } else { "" };
    let is_all = writer.views == "dba";
    let query = |all: &str, own: &str, column: &str| match is_all {
        true => format!("select {column}, admin_option from sys.{all} where grantee = {to} order by 1"),
        false => format!("select {column}, admin_option from sys.{own} where username = {to} order by 1"),
    };
    Ok(Some(match kind {
        "SYSTEM_GRANT" => {
            let granted = texts(w, &query("dba_sys_privs", "user_sys_privs", "privilege"))?;
            let one = |row: Vec<String>| format!("{line}GRANT {} TO \"{grantee}\"{}{end}", row[0], admin(&row));
            granted.into_iter().map(one).collect()
        }
        "ROLE_GRANT" => {
            let granted = texts(w, &query("dba_role_privs", "user_role_privs", "granted_role"))?;
            let line = writer.line("   ");
            let one = |row: Vec<String>| format!("{line}GRANT \"{}\" TO \"{grantee}\"{}{end}", row[0], admin(&row));
            granted.into_iter().map(one).collect()
        }
        "OBJECT_GRANT" => object_grants(w, writer, &format!("grantee = {to}"))?,
        _ => return Ok(None),
    }))
}

fn object_grants<W: World>(w: &mut W, writer: &Writer, condition: &str) -> Result<String> {
    let owner = if writer.views == "dba" { "owner" } else { "table_schema" };
    let query = format!(
        "select {owner}, table_name, privilege, grantee, grantable, type from sys.{}_tab_privs where {condition} \
         order by 4, 1, 2, 3",
        writer.views
    );
    let (line, end) = (writer.line("  "), writer.end());
    let one = |row: Vec<String>| {
        let option = if row[4] == "YES" { " WITH GRANT OPTION" } else { "" };
        let on =
            if row[5] == "DIRECTORY" { format!("DIRECTORY \"{}\"", row[1]) } else { writer.named(&row[0], &row[1]) };
        let to = if row[3] == "PUBLIC" { "PUBLIC".to_owned() } else { format!("\"{}\"", row[3]) };
        format!("{line}GRANT {} ON {on} TO {to}{option}{end}", row[2])
    };
    let mut all: String = texts(w, &query)?.into_iter().map(one).collect();
    let columns = format!(
        "select {owner}, table_name, column_name, privilege, grantee, grantable from sys.{}_col_privs where {condition} \
         order by 5, 1, 2, 4, 3",
        writer.views
    );
    for row in texts(w, &columns)? {
        let option = if row[5] == "YES" { " WITH GRANT OPTION" } else { "" };
        let to = if row[4] == "PUBLIC" { "PUBLIC".to_owned() } else { format!("\"{}\"", row[4]) };
        let on = writer.named(&row[0], &row[1]);
        all.push_str(&format!("{line}GRANT {} (\"{}\") ON {on} TO {to}{option}{end}", row[3], row[2]));
    }
    Ok(all)
}

fn comments<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    let of = format!("owner = {} and table_name = {} and comments is not null", quoted(schema), quoted(name));
    let named = writer.named(schema, name);
    let (line, end) = (writer.line("   "), writer.end());
    let mut all = String::new();
    let columns =
        format!("select c.column_name, c.comments from sys.{v}_col_comments c where {of} order by 1", v = writer.views);
    for row in texts(w, &columns)? {
        all.push_str(&format!("{line}COMMENT ON COLUMN {named}.\"{}\" IS {}{end}", row[0], quoted(&row[1])));
    }
    for row in texts(w, &format!("select comments from sys.{}_tab_comments where {of}", writer.views))? {
        all.push_str(&format!("{line}COMMENT ON TABLE {named}  IS {}{end}", quoted(&row[0])));
    }
    Ok(all)
}

fn view<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    let (owner, view) = (quoted(schema), quoted(name));
    let v = writer.views;
    let query = format!("select text, bequeath from sys.{v}_views where owner = {owner} and view_name = {view}");
    let Some(found) = texts(w, &query)?.into_iter().next() else { return Ok(String::new()) };
    let columns = format!(
        "select column_name from sys.{v}_tab_columns where owner = {owner} and table_name = {view} order by column_id"
    );
    let columns: Vec<String> = texts(w, &columns)?.into_iter().map(|row| format!("\"{}\"", row[0])).collect();
    let force = if writer.form.force { "FORCE " } else { "" };
    Ok(format!(
        "{}CREATE OR REPLACE {force}EDITIONABLE VIEW {} ({}){} AS {}{}{}",
        writer.line("  "),
        writer.named(schema, name),
        columns.join(", "),
        if found[1] == "CURRENT_USER" { " BEQUEATH CURRENT_USER" } else { "" },
        writer.line("  "),
        found[0],
        writer.end()
    ))
}

fn sequence<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    let query = format!(
        "select to_char(min_value), to_char(max_value), to_char(increment_by), to_char(last_number), cache_size, \
         order_flag, cycle_flag from sys.{}_sequences where sequence_owner = {} and sequence_name = {}",
        writer.views,
        quoted(schema),
        quoted(name)
    );
    let Some(row) = texts(w, &query)?.into_iter().next() else { return Ok(String::new()) };
    let (line, end) = (writer.line("   "), writer.end());
    Ok(format!(
        "{line}CREATE SEQUENCE  {}  {} NOKEEP  NOSCALE  GLOBAL {end}",
        writer.named(schema, name),
        sequence_options(&row)
    ))
}

fn synonym<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    let query = format!(
        "select table_owner, table_name from sys.{}_synonyms where owner = {} and synonym_name = {}",
        writer.views,
        quoted(schema),
        quoted(name)
    );
    let Some(row) = texts(w, &query)?.into_iter().next() else { return Ok(String::new()) };
    let target = if row[0].is_empty() { format!("\"{}\"", row[1]) } else { format!("\"{}\".\"{}\"", row[0], row[1]) };
    let (line, end) = (writer.line("  "), writer.end());
    let named = if schema == "PUBLIC" { format!("\"{name}\"") } else { writer.named(schema, name) };
    let public = if schema == "PUBLIC" { "PUBLIC " } else { "" };
    Ok(format!("{line}CREATE OR REPLACE EDITIONABLE {public}SYNONYM {named} FOR {target}{end}"))
}

/// The source of a unit, with its name qualified.
fn source<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str, kind: &str) -> Result<Option<String>> {
    let query = format!(
        "select text from sys.{}_source where owner = {} and name = {} and type = {} order by line",
        writer.views,
        quoted(schema),
        quoted(name),
        quoted(kind)
    );
    let lines = texts(w, &query)?;
    if lines.is_empty() {
        return Ok(None);
    }
    let whole: String = lines.into_iter().map(|mut row| row.swap_remove(0)).collect();
    // The words of the kind, then the name, perhaps with a schema.
    let tokens = lex(&whole).tokens;
    let mut at = kind.split(' ').count();
    let is_dot = |at: usize| tokens.get(at).is_some_and(|t| t.kind == TokenKind::Dot);
    if is_dot(at + 1) {
        at += 2;
    }
    let rest = tokens.get(at).map_or("", |t| &whole[t.end as usize..]);
    Ok(Some(format!("{kind} {} {}", writer.named(schema, name), rest.trim_start_matches(' '))))
}

fn unit<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str, kind: &str) -> Result<String> {
    let source = source(w, writer, schema, name, kind)?;
    // The line breaks of a source stay, whatever PRETTY says: there may be comments up to them.
    Ok(source.map_or_else(String::new, |source| {
        format!("{}CREATE OR REPLACE EDITIONABLE {}{}", writer.line("  "), source.trim_end(), writer.end_of_unit())
    }))
}

fn trigger<W: World>(w: &mut W, writer: &Writer, schema: &str, name: &str) -> Result<String> {
    let text = unit(w, writer, schema, name, "TRIGGER")?;
    if text.is_empty() {
        return Ok(text);
    }
    let query = format!(
        "select status from sys.{}_triggers where owner = {} and trigger_name = {}",
        writer.views,
        quoted(schema),
        quoted(name)
    );
    let is_disabled = texts(w, &query)?.first().is_some_and(|row| row[0] == "DISABLED");
    let state = if is_disabled { "DISABLE" } else { "ENABLE" };
    Ok(format!("{text}\nALTER TRIGGER {} {state}{}", writer.named(schema, name), writer.end()))
}
