//! Objects and collections as texts, the form in which clients of the local protocol get them.
//!
//! The text of a value is the call of its constructor, as SQL*Plus prints it: `POINT(1, 2)`, `NUMBERS(1, NULL)`. Types
//! are named without their owners; texts, dates, times and bytes are in quotes, in the session's formats.

use crate::core::Core;
use crate::world::World;
use exec::{Column, ExecCtx};
use net::local;
use std::rc::Rc;
use types::{Composite, DataType, Nls, Ora, Result, TypeDef, TypeId, TypeShape, Value};

/// Whether one of the columns, or of their nested columns, has objects or collections.
pub(crate) fn has_objects(columns: &[Column]) -> bool {
    columns.iter().any(|c| matches!(c.ty, DataType::Named(_)) || has_objects(&c.nested))
}

/// The attributes of a column of objects, as its nested columns; none of a collection.
pub(crate) fn attributes(ty: DataType, core: &Core, nls: &Nls) -> Vec<local::Column> {
    let DataType::Named(id) = ty else { return Vec::new() };
    let Some(def) = core.plsql.type_def(id) else { return Vec::new() };
    let TypeShape::Object(attributes) = &def.shape else { return Vec::new() };
    let column = |name: &str, ty: DataType| local::Column {
        name: name.to_owned(),
        data_type: ty,
        nullable: true,
        display_size: ty.display_size(nls),
        nested: Vec::new(),
    };
    attributes.iter().map(|a| column(&a.name, a.ty)).collect()
}

/// Loads the types of a query's columns, so that they can be described.
///
/// # Errors
/// PLS-00904 for a type that the user may see and not execute, ORA-01031 for one that is hidden from the user; errors
/// of the dictionary.
pub(crate) fn load(columns: &[Column], core: &Core, cx: &mut ExecCtx<'_>) -> Result<()> {
    for column in columns {
        if let DataType::Named(id) = column.ty {
            definition(id, core, cx)?;
        }
        load(&column.nested, core, cx)?;
    }
    Ok(())
}

/// The row with its objects and collections as texts.
///
/// # Errors
/// As [`load`]; errors of the formats.
pub(crate) fn shown(row: &[Value], core: &Core, cx: &mut ExecCtx<'_>) -> Result<Vec<Value>> {
    let one = |value: &Value| match value {
        Value::Composite(composite) => {
            let mut text = String::new();
            write(composite, core, cx, &mut text)?;
            Ok(Value::Text(text))
        }
        other => Ok(other.clone()),
    };
    row.iter().map(one).collect()
}

/// Loads the definition of a type; the session may not have named the type yet.
fn definition(id: TypeId, core: &Core, cx: &mut ExecCtx<'_>) -> Result<Rc<TypeDef>> {
    let found = core.plsql.load_type(&mut World { cx: cx.reborrow(), core }, id)?;
    found.ok_or_else(|| Ora::new(1031))
}

fn write(composite: &Composite, core: &Core, cx: &mut ExecCtx<'_>, out: &mut String) -> Result<()> {
    let def = definition(composite.ty, core, cx)?;
    out.push_str(&def.name);
    out.push('(');
    for (at, part) in composite.parts.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        match part {
            part if part.is_null() => out.push_str("NULL"),
            Value::Composite(inner) => write(inner, core, cx, out)?,
            Value::Number(_) | Value::Double(_) | Value::Float(_) => part.write_text(&cx.session.nls, out)?,
            other => {
                let text = other.to_text(&cx.session.nls)?.unwrap_or_default();
                out.push('\'');
                out.push_str(&text.replace('\'', "''"));
                out.push('\'');
            }
        }
    }
    out.push(')');
    Ok(())
}
