//! The functions of SQL/JSON. The planner calls them with the clauses as an image of a definition of the crate `json`.

use crate::args::null;
use crate::context::FnCtx;
use json::{Item, Syntax};
use types::{Ora, Result, Value};

/// The text of a document; `None` for NULL. Bytes that are not UTF-8 are no JSON, nor is an empty LOB.
fn input(value: &Value) -> Option<&str> {
    match value.content() {
        Value::Text(text) => Some(text),
        Value::Raw(bytes) => Some(std::str::from_utf8(bytes).unwrap_or("")),
        Value::Null => None,
        _ => Some(""),
    }
}

/// JSON_VALUE, JSON_QUERY, JSON_EXISTS and JSON_SERIALIZE: the document and the clauses are followed by the values of
/// PASSING.
pub(crate) fn select(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(text) = input(&args[0]) else { return null(out) };
    let (function, document) = ctx.cache.json.function(&args[1])?;
    function.run(document, text, &args[2..], ctx.nls, out)
}

/// IS JSON: the document is followed by 1 for STRICT and by 1 for WITH UNIQUE KEYS, else 0.
pub(crate) fn is_json(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(text) = input(&args[0]) else { return null(out) };
    let is_set = |value: &Value| matches!(value, Value::Number(n) if n.signum() != 0);
    let syntax = Syntax { strict: is_set(&args[1]), unique_keys: is_set(&args[2]), scalars: false };
    *out = Value::Boolean(ctx.cache.json.document.parse(text, syntax).is_ok());
    Ok(())
}

/// JSON_OBJECT: the clauses are followed by keys and values in turn.
pub(crate) fn object(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let making = ctx.cache.json.making(&args[0])?;
    let text = out.text_buffer();
    text.push('{');
    let mut first = true;
    for (at, pair) in args[1..].chunks_exact(2).enumerate() {
        let item = Item { value: &pair[1], json: making.json.get(at) == Some(&true) };
        let before = text.len();
        if !first {
            text.push(',');
        }
        match json::write_member(&pair[0], item, making.keeps_nulls, ctx.nls, text)? {
            true => first = false,
            false => text.truncate(before),
        }
        check_length(text)?;
    }
    text.push('}');
    making.finish(out)
}

/// JSON_ARRAY: the clauses are followed by the values.
pub(crate) fn array(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let making = ctx.cache.json.making(&args[0])?;
    let text = out.text_buffer();
    text.push('[');
    let mut first = true;
    for (at, value) in args[1..].iter().enumerate() {
        let item = Item { value, json: making.json.get(at) == Some(&true) };
        let before = text.len();
        if !first {
            text.push(',');
        }
        match json::write_item(item, making.keeps_nulls, ctx.nls, text)? {
            true => first = false,
            false => text.truncate(before),
        }
        check_length(text)?;
    }
    text.push(']');
    making.finish(out)
}

fn check_length(text: &str) -> Result<()> {
    if text.len() > crate::LOB_MAX { Err(Ora::with(40478, &[&crate::LOB_MAX])) } else { Ok(()) }
}

/// An element of JSON_ARRAYAGG, from the clauses and the value; NULL if it is absent.
pub(crate) fn item(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let making = ctx.cache.json.making(&args[0])?;
    let item = Item { value: &args[1], json: making.json.first() == Some(&true) };
    json::write_item(item, making.keeps_nulls, ctx.nls, out.text_buffer())?;
    out.normalize();
    Ok(())
}

/// A member of JSON_OBJECTAGG, from the clauses, the key and the value; NULL if it is absent.
pub(crate) fn member(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let making = ctx.cache.json.making(&args[0])?;
    let item = Item { value: &args[2], json: making.json.first() == Some(&true) };
    json::write_member(&args[1], item, making.keeps_nulls, ctx.nls, out.text_buffer())?;
    out.normalize();
    Ok(())
}

/// The value of an aggregate from the text of all elements or members.
pub(crate) fn finish(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let making = ctx.cache.json.making(&args[0])?;
    out.set(&args[1]);
    making.finish(out)
}

/// JSON_MERGEPATCH, from the clauses, the document and the patch.
pub(crate) fn merge_patch(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let cache = &mut ctx.cache.json;
    let making = cache.making(&args[0])?;
    let (Some(target), Some(patch)) = (input(&args[1]), input(&args[2])) else { return null(out) };
    let parsed =
        cache.document.parse(target, Syntax::default()).and_then(|()| cache.other.parse(patch, Syntax::default()));
    let made = parsed.and_then(|()| {
        json::merge_patch(&cache.document, &cache.other, out.text_buffer());
        making.finish(out)
    });
    match made {
        Err(_) if making.null_on_error => null(out),
        made => made,
    }
}

/// JSON_EQUAL; texts that are not JSON are not equal.
pub(crate) fn equal(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let cache = &mut ctx.cache.json;
    let (Some(a), Some(b)) = (input(&args[0]), input(&args[1])) else { return null(out) };
    let parsed = cache.document.parse(a, Syntax::default()).and_then(|()| cache.other.parse(b, Syntax::default()));
    let is_equal =
        parsed.is_ok() && json::equal(&cache.document, cache.document.root(), &cache.other, cache.other.root());
    *out = Value::Boolean(is_equal);
    Ok(())
}
