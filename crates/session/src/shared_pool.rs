//! DBMS_SHARED_POOL, and DBMS_XPLAN.DISPLAY_CURSOR.

use crate::core::Core;
use crate::xplan::{self, Around, Format};
use dictionary::{Catalog, ObjectDef};
use exec::objects;
use exec::plan_rows::decode;
use library_cache::{ChildRow, Digest, ParentRow};
use plsql::SharedPoolRequest;
use std::sync::Arc;
use types::{Composite, DataType, Ora, Result, TypeId, Value};

/// Runs a request of DBMS_SHARED_POOL.
///
/// # Errors
/// ORA-06570 for a missing cursor or a malformed hash; ORA-06564 for an object that does not exist.
pub fn shared_pool(core: &Core, request: &SharedPoolRequest) -> Result<()> {
    let (library, p) = (core.shared.library, &core.p);
    let hash = |text: &str| Digest::of_full_hash(text).ok_or_else(|| Ora::new(6570));
    let done = match request {
        SharedPoolRequest::MarkHot(text) => library.mark_hot(p, hash(text)?),
        SharedPoolRequest::UnmarkHot(text) => library.unmark_hot(p, hash(text)?),
        SharedPoolRequest::Keep(name, kept) if is_cursor(name) => library.set_kept(p, named(core, name)?, *kept),
        SharedPoolRequest::Keep(name, kept) => keep_object(core, name, *kept)?,
        SharedPoolRequest::Purge(name) if is_cursor(name) => library.purge(p, named(core, name)?),
        SharedPoolRequest::Purge(name) => purge_object(core, name)?,
    };
    if done { Ok(()) } else { Err(Ora::new(6570)) }
}

fn is_cursor(name: &str) -> bool {
    name.contains(',')
}

/// The owner of the object `[owner.]name`, and the definitions of the object and its body.
fn object(core: &Core, name: &str) -> Result<(String, Vec<ObjectDef>)> {
    let part = |text: &str| match text.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.to_string(),
        None => text.trim().to_uppercase(),
    };
    let names = core.names()?;
    let (owner, last) = match name.split_once('.') {
        Some((owner, last)) => (part(owner), part(last)),
        None => (names.schema().1, part(name)),
    };
    let parts = names.parts_of_unit(&owner, &last);
    if parts.is_empty() { Err(Ora::with(6564, &[&name])) } else { Ok((owner, parts)) }
}

/// Keeps an object in the library cache, after loading it if necessary; or stops keeping it.
fn keep_object(core: &Core, name: &str, kept: bool) -> Result<bool> {
    let (library, p) = (core.shared.library, &core.p);
    let (owner, parts) = object(core, name)?;
    for part in &parts {
        let code = part.kind as u8;
        if kept {
            objects::touch(p, library, code, &owner, &part.name, part.object.0);
        }
        if let Some((namespace, digest)) = objects::identity(code, &owner, &part.name) {
            library.set_object_kept(p, namespace, digest, kept);
        }
    }
    Ok(true)
}

fn purge_object(core: &Core, name: &str) -> Result<bool> {
    let (owner, parts) = object(core, name)?;
    for part in &parts {
        if let Some((namespace, digest)) = objects::identity(part.kind as u8, &owner, &part.name) {
            core.shared.library.purge_object(&core.p, namespace, digest);
        }
    }
    Ok(true)
}

/// The cursor of `address,hash_value`.
fn named(core: &Core, name: &str) -> Result<Digest> {
    let missing = || Ora::new(6570);
    let (address, hash) = name.split_once(',').ok_or_else(missing)?;
    let address = u64::from_str_radix(address.trim(), 16).map_err(|_| missing())?;
    let hash: u32 = hash.trim().parse().map_err(|_| missing())?;
    let is_it = |row: &ParentRow| row.address == address && row.digest.hash_value() == hash;
    core.shared.library.statements().find(is_it).map(|row| row.digest).ok_or_else(missing)
}

/// DBMS_XPLAN.DISPLAY_CURSOR: the lines of the plan of a cursor, or of all cursors of a statement when `child` is null.
/// A missing privilege and an invalid format are reported in the lines, as in Oracle's package.
///
/// # Errors
/// Those of the dictionary.
pub fn display_cursor(core: &Core, sql_id: Option<&str>, child: Option<i64>, format: &str) -> Result<Value> {
    let Some(format) = Format::of(format) else {
        return Ok(lines(TypeId::PLAN_LINES, vec![xplan::invalid(format, "DISPLAY_CURSOR")]));
    };
    // The session's own last statement needs no privilege. A statement named by its SQL_ID may belong to another user,
    // so the caller must be able to read the views.
    let names = core.names()?;
    let hidden = |view: &&str| names.relation(None, view).map(|found| found.is_none());
    if sql_id.is_some() {
        let plan = if format.measures() { "V$SQL_PLAN_STATISTICS_ALL" } else { "V$SQL_PLAN" };
        for view in ["V$SQL", plan] {
            if hidden(&view)? {
                return Ok(lines(TypeId::PLAN_LINES, vec![format!("User has no SELECT privilege on {view}")]));
            }
        }
    }
    let last = core.last_cursor.get();
    let wanted = |row: &ParentRow| match sql_id {
        Some(id) => row.digest.sql_id() == id,
        None => last.is_some_and(|(digest, _)| digest == row.digest),
    };
    let number = if sql_id.is_none() { last.map(|(_, number)| number as i64) } else { child };
    let found = core.shared.library.statements().find(wanted);
    let is_wanted = |child: &&ChildRow| number.is_none_or(|number| child.number as i64 == number);
    let mut text = Vec::new();
    if let Some(row) = &found {
        for child in row.children.iter().filter(is_wanted) {
            if !text.is_empty() {
                text.push(String::new());
            }
            text.extend(plan_of(row, child, format));
        }
    }
    if text.is_empty() {
        let id = sql_id.map_or_else(|| last.map_or(String::new(), |(digest, _)| digest.sql_id()), str::to_string);
        let number = number.unwrap_or(0);
        text.push(format!("SQL_ID: {id}, child number: {number} cannot be found"));
    }
    Ok(lines(TypeId::PLAN_LINES, text))
}

/// The lines of a cursor's statement and of its plan.
fn plan_of(row: &ParentRow, child: &ChildRow, format: Format) -> Vec<String> {
    let title = match format.is_basic() {
        true => "EXPLAINED SQL STATEMENT:".to_string(),
        false => format!("SQL_ID  {}, child number {}", row.digest.sql_id(), child.number),
    };
    let mut lines = vec![title.clone(), "-".repeat(title.len())];
    lines.extend(row.text.lines().flat_map(|line| xplan::wrapped(line, TEXT_WIDTH)));
    lines.push(String::new());
    match decode(&child.plan) {
        rows if rows.is_empty() => {
            lines.extend([format!("Plan hash value: {}", child.plan_hash), String::new()]);
            lines.push("The plan of this cursor is not kept.".into());
        }
        rows => lines.extend(xplan::display(&rows, format, Around { is_cursor: true, run: &child.run })),
    }
    lines
}

/// The width of a statement's text above its plan, in characters.
const TEXT_WIDTH: usize = 71;

/// Lines as a value of a built-in collection type, whose elements are objects with one attribute.
pub fn lines(ty: TypeId, lines: Vec<String>) -> Value {
    let element = match ty.built_in().and_then(|def| def.element()) {
        Some(DataType::Named(element)) => element,
        _ => ty,
    };
    let object = |line: String| Value::Composite(Arc::new(Composite { ty: element, parts: vec![Value::text(line)] }));
    Value::Composite(Arc::new(Composite { ty, parts: lines.into_iter().map(object).collect() }))
}
