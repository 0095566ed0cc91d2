//! The functions of SQL/XML and the methods of XMLTYPE. The planner calls them with an operation or with the clauses as
//! an image of a definition.

use crate::args::null;
use crate::context::{FnCtx, TextMax};
use crate::{LOB_MAX, SQL_TEXT_MAX};
use types::{DataType, Nls, Number, Ora, Result, TypeId, Value};
use xml::{Document, Edit, Item, Kind, NodeId, Serialization};

/// An operation over XML values, by its number in the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum XmlOp {
    /// XMLTYPE(text): a document. XMLPARSE (CONTENT …) when a second argument is 1.
    Parse,
    /// The text of a value where a VARCHAR2 is expected; NULL of NULL. Its longest length may follow, and 1 if that
    /// counts characters.
    Text,
    /// The methods getClobVal, getStringVal, getNumberVal, getRootElement, isFragment and getNamespace.
    Clob,
    String,
    Number,
    RootElement,
    IsFragment,
    Namespace,
    /// EXTRACT(value, path, namespaces), as a function and as a method.
    Extract,
    /// EXTRACTVALUE.
    Value,
    /// EXISTSNODE: 1 or 0.
    Exists,
    /// XMLSEQUENCE: the top nodes as a collection.
    Sequence,
    Concat,
    Comment,
    Cdata,
    /// XMLPI(name, text).
    Instruction,
    /// XMLROOT(value, version, standalone).
    Root,
    /// XMLSERIALIZE(value, 1 for DOCUMENT, indent or NULL).
    Serialize,
    /// The edits: value, path, namespaces, new value, 1 if that is XML; INSERTCHILDXML has a name at the end.
    Update,
    Delete,
    AppendChild,
    InsertChild,
    InsertBefore,
    InsertAfter,
    /// The row expression and the values of XMLTABLE as one value.
    Pack,
}

const OPS: [XmlOp; 25] = {
    use XmlOp::*;
    [
        Parse,
        Text,
        Clob,
        String,
        Number,
        RootElement,
        IsFragment,
        Namespace,
        Extract,
        Value,
        Exists,
        Sequence,
        Concat,
        Comment,
        Cdata,
        Instruction,
        Root,
        Serialize,
        Update,
        Delete,
        AppendChild,
        InsertChild,
        InsertBefore,
        InsertAfter,
        Pack,
    ]
};

impl XmlOp {
    /// The operation with that number.
    pub fn of(number: usize) -> Option<XmlOp> {
        OPS.get(number).copied()
    }

    /// The name of the function, for plans.
    pub fn word(self) -> &'static str {
        use XmlOp::*;
        match self {
            Parse => "XMLTYPE",
            Text | Clob | String | Number | RootElement | IsFragment | Namespace => "SYS_XMLTYPE2SQL",
            Extract => "EXTRACT",
            Value => "EXTRACTVALUE",
            Exists => "EXISTSNODE",
            Sequence => "XMLSEQUENCE",
            Concat => "XMLCONCAT",
            Comment => "XMLCOMMENT",
            Cdata => "XMLCDATA",
            Instruction => "XMLPI",
            Root => "XMLROOT",
            Serialize => "XMLSERIALIZE",
            Update => "UPDATEXML",
            Delete => "DELETEXML",
            AppendChild => "APPENDCHILDXML",
            InsertChild => "INSERTCHILDXML",
            InsertBefore => "INSERTXMLBEFORE",
            InsertAfter => "INSERTXMLAFTER",
            Pack => "XMLTABLE",
        }
    }
}

/// The text of a value; `None` for NULL. Bytes must be UTF-8.
fn input(value: &Value) -> Result<Option<&str>> {
    match value.content() {
        Value::Text(text) => Ok(Some(text)),
        Value::Raw(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(xml::failed(200, "could not convert from encoding UTF-8 to UTF-8", 1)),
        },
        Value::Null | Value::EmptyLob => Ok(None),
        other => Err(other.mismatch(&DataType::Xml)),
    }
}

fn text_at(args: &[Value], at: usize) -> Result<Option<&str>> {
    args.get(at).map_or(Ok(None), input)
}

fn is_one(args: &[Value], at: usize) -> bool {
    matches!(args.get(at), Some(Value::Number(n)) if n.signum() != 0)
}

/// The value of a method.
///
/// # Errors
/// ORA-30625 for NULL.
fn own(args: &[Value]) -> Result<&str> {
    text_at(args, 0)?.ok_or_else(|| Ora::new(30625))
}

fn check_length(text: &str) -> Result<()> {
    if text.len() > LOB_MAX { Err(Ora::new(19011)) } else { Ok(()) }
}

/// A VARCHAR2 of a value's text.
fn set_string(ctx: &FnCtx<'_>, text: &str, code: u32, out: &mut Value) -> Result<()> {
    let most = if ctx.text_max == TextMax::Text { SQL_TEXT_MAX } else { 32_767 };
    if text.len() > most {
        return Err(Ora::new(code));
    }
    out.set_text(text);
    Ok(())
}

fn whole(n: usize, out: &mut Value) -> Result<()> {
    *out = Value::Number(Number::from_u64(n as u64));
    Ok(())
}

/// The items that a path selects.
fn selected(ctx: &mut FnCtx<'_>, text: &str, path: &str, namespaces: &str) -> Result<Vec<Item>> {
    let query = ctx.cache.xml.path(path, namespaces)?;
    let root = ctx.cache.xml.root(text)?;
    let session = ctx.session;
    query.evaluate(Some(root), Vec::new(), &mut || session.check_cancel())
}

/// An operation.
pub(crate) fn operation(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let number = match args.first() {
        Some(Value::Number(n)) => n.to_i64().ok().and_then(|n| usize::try_from(n).ok()),
        _ => None,
    };
    let op = number.and_then(XmlOp::of).ok_or_else(|| Ora::internal("XML operation"))?;
    let args = &args[1..];
    match op {
        XmlOp::Parse => {
            let Some(text) = text_at(args, 0)? else { return null(out) };
            ctx.cache.xml.document(text, is_one(args, 1))?;
            check_length(text)?;
            out.set_text(text);
            Ok(())
        }
        XmlOp::Text => match text_at(args, 0)? {
            Some(text) => {
                let length = if is_one(args, 2) { text.chars().count() } else { text.len() };
                let most = match args.get(1) {
                    Some(Value::Number(n)) => n.to_i64().ok().and_then(|n| usize::try_from(n).ok()),
                    _ => None,
                };
                if most.is_some_and(|most| length > most) {
                    return Err(Ora::new(19011));
                }
                set_string(ctx, text, 19011, out)
            }
            None => null(out),
        },
        XmlOp::Clob => {
            out.set_text(own(args)?);
            Ok(())
        }
        XmlOp::String => set_string(ctx, own(args)?, 19011, out),
        XmlOp::Number => {
            let text = own(args)?;
            let document = ctx.cache.xml.document(text, true)?;
            let value = Value::text(document.value(document.root()).trim());
            *out = value.to_number(&Nls::default())?.map_or(Value::Null, Value::Number);
            Ok(())
        }
        XmlOp::RootElement | XmlOp::Namespace => {
            let document = ctx.cache.xml.document(own(args)?, true)?;
            match document.element().filter(|_| !document.has_fragment()) {
                Some(element) if op == XmlOp::RootElement => out.set_text(document.local_name(element)),
                Some(element) => out.set_text(document.namespace(element)),
                None => *out = Value::Null,
            }
            Ok(())
        }
        XmlOp::IsFragment => {
            let document = ctx.cache.xml.document(own(args)?, true)?;
            whole(usize::from(document.has_fragment()), out)
        }
        XmlOp::Extract => {
            let (Some(text), Some(path)) = (text_at(args, 0)?, text_at(args, 1)?) else { return null(out) };
            let items = selected(ctx, text, path, text_at(args, 2)?.unwrap_or(""))?;
            let written = out.text_buffer();
            for item in &items {
                item.push_xml(written);
                check_length(written)?;
            }
            out.normalize();
            Ok(())
        }
        XmlOp::Value => {
            let (Some(text), Some(path)) = (text_at(args, 0)?, text_at(args, 1)?) else { return null(out) };
            let items = selected(ctx, text, path, text_at(args, 2)?.unwrap_or(""))?;
            match &items[..] {
                [] => null(out),
                [item] if item.has_elements() => Err(Ora::new(19026)),
                [item] => {
                    let mut value = String::new();
                    item.push_text(&mut value);
                    set_string(ctx, &value, 1706, out)
                }
                _ => Err(Ora::new(19025)),
            }
        }
        XmlOp::Exists => {
            let (Some(text), Some(path)) = (text_at(args, 0)?, text_at(args, 1)?) else { return null(out) };
            let items = selected(ctx, text, path, text_at(args, 2)?.unwrap_or(""))?;
            whole(usize::from(!items.is_empty()), out)
        }
        XmlOp::Sequence => {
            let Some(text) = text_at(args, 0)? else { return null(out) };
            let document = ctx.cache.xml.document(text, true)?;
            let part = |node: NodeId| {
                let mut text = String::new();
                xml::push_node(&document, node, &mut text);
                Value::text(text)
            };
            let is_content = |n: &NodeId| document.kind(*n) != Kind::Text || !document.content(*n).trim().is_empty();
            let parts = document.children(document.root()).filter(is_content).map(part).collect();
            *out = Value::Composite(std::sync::Arc::new(types::Composite { ty: TypeId::XML_SEQUENCE, parts }));
            Ok(())
        }
        XmlOp::Concat => {
            let text = out.text_buffer();
            for value in args {
                text.push_str(xml::without_declaration(input(value)?.unwrap_or("")));
                check_length(text)?;
            }
            out.normalize();
            Ok(())
        }
        XmlOp::Comment => {
            let Some(text) = text_at(args, 0)? else { return null(out) };
            xml::comment(text, out.text_buffer())
        }
        XmlOp::Cdata => {
            let Some(text) = text_at(args, 0)? else { return null(out) };
            xml::check_characters(text)?;
            let parts = text.replace("]]>", "]]]]><![CDATA[>");
            out.set_text(&format!("<![CDATA[{parts}]]>"));
            Ok(())
        }
        XmlOp::Instruction => {
            let name = text_at(args, 0)?.unwrap_or("");
            xml::instruction(name, text_at(args, 1)?.unwrap_or(""), out.text_buffer())
        }
        XmlOp::Root => {
            let Some(text) = text_at(args, 0)? else { return null(out) };
            let version = text_at(args, 1)?.unwrap_or("1.0");
            if !version.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-')) {
                return Err(xml::failed(235, "invalid XML version", 1));
            }
            let standalone = match text_at(args, 2)? {
                Some(word) => format!(" standalone=\"{word}\""),
                None => String::new(),
            };
            let body = xml::without_declaration(text);
            out.set_text(&format!("<?xml version=\"{version}\"{standalone}?>\n{body}"));
            Ok(())
        }
        XmlOp::Serialize => {
            let Some(text) = text_at(args, 0)? else { return null(out) };
            let indent = match args.get(2) {
                Some(Value::Number(n)) => Some(n.to_i64().ok().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)),
                _ => None,
            };
            let serialization = Serialization { document: is_one(args, 1), indent: indent.map(|n| n.min(12)) };
            let mut document = Document::default();
            serialization.write(&mut document, text, out.text_buffer())?;
            let Value::Text(written) = &*out else { return Ok(()) };
            check_length(written)?;
            out.normalize();
            Ok(())
        }
        XmlOp::Update
        | XmlOp::Delete
        | XmlOp::AppendChild
        | XmlOp::InsertChild
        | XmlOp::InsertBefore
        | XmlOp::InsertAfter => edited(ctx, op, args, out),
        XmlOp::Pack => {
            let parts = args.to_vec();
            *out = Value::Composite(std::sync::Arc::new(types::Composite { ty: TypeId::XML_SEQUENCE, parts }));
            Ok(())
        }
    }
}

/// UPDATEXML and the like: value, path, namespaces, new value, 1 if that is XML, name.
fn edited(ctx: &mut FnCtx<'_>, op: XmlOp, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(text) = text_at(args, 0)? else { return null(out) };
    let Some(path) = text_at(args, 1)? else { return Err(Ora::new(31013)) };
    let document = ctx.cache.xml.document(text, true)?;
    let items = selected(ctx, text, path, text_at(args, 2)?.unwrap_or(""))?;
    // Nodes that the path constructs are in no document.
    let nodes: Vec<NodeId> = items.iter().filter_map(|item| item.node_of(&document)).collect();
    let mut scalar = String::new();
    let new = match args.get(3) {
        None | Some(Value::Null) => None,
        Some(value) => {
            xml::value_text(value, ctx.nls, &mut scalar)?;
            Some(xml::without_declaration(&scalar))
        }
    };
    let xml = is_one(args, 4);
    let edit = match (op, new) {
        (XmlOp::Delete, _) => Edit::Delete,
        (XmlOp::Update, text) => Edit::Replace { text, xml },
        (_, None) => {
            out.set_text(text);
            return Ok(());
        }
        (XmlOp::InsertChild, Some(value)) => match text_at(args, 5)?.unwrap_or("").strip_prefix('@') {
            Some(name) => Edit::Attribute { name, value },
            None => Edit::Append(value),
        },
        (XmlOp::InsertBefore, Some(value)) => Edit::Before(value),
        (XmlOp::InsertAfter, Some(value)) => Edit::After(value),
        (_, Some(value)) => Edit::Append(value),
    };
    let written = xml::edit(&document, &nodes, &edit)?;
    check_length(&written)?;
    // The change must leave text that is well-formed (X4 of the crate `xml`).
    ctx.cache.xml.document(&written, true)?;
    out.set_text(&written);
    Ok(())
}

/// XMLELEMENT, XMLFOREST and XMLCOLATTVAL: the clauses are followed by the values.
pub(crate) fn make(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let making = ctx.cache.xml.making(&args[0])?;
    let text = out.text_buffer();
    xml::element(&making, &args[1..], ctx.nls, text)?;
    check_length(text)?;
    out.normalize();
    Ok(())
}

/// The items of a query: the clauses are followed by the values of PASSING.
fn queried(ctx: &mut FnCtx<'_>, args: &[Value]) -> Result<Option<Vec<Item>>> {
    let known = ctx.cache.xml.query(&args[0])?;
    let (spec, query) = &*known;
    let mut values = args[1..].iter().zip(&spec.xml);
    let context = match spec.context.then(|| values.next()).flatten() {
        Some((value, _)) => match input(value)? {
            Some(text) => Some(ctx.cache.xml.root(text)?),
            None => return Ok(None),
        },
        None => None,
    };
    let mut variables = Vec::with_capacity(spec.variables.len());
    for ((value, xml), number) in values.zip(1..) {
        variables.push(xml::items_of(value, *xml, number)?);
    }
    let session = ctx.session;
    query.evaluate(context, variables, &mut || session.check_cancel()).map(Some)
}

/// XMLQUERY (… RETURNING CONTENT).
pub(crate) fn query(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(items) = queried(ctx, args)? else { return null(out) };
    let text = out.text_buffer();
    let mut after_value = false;
    for item in &items {
        let is_value = !matches!(item, Item::Node(..));
        if is_value && after_value {
            text.push(' ');
        }
        after_value = is_value;
        item.push_xml(text);
        check_length(text)?;
    }
    out.normalize();
    Ok(())
}

/// XMLEXISTS.
pub(crate) fn query_exists(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Some(items) = queried(ctx, args)? else { return null(out) };
    *out = Value::Boolean(!items.is_empty());
    Ok(())
}

/// XMLCAST: the type, an image, and the value.
pub(crate) fn cast(ctx: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    let Value::Raw(bytes) = &args[0] else { return Err(Ora::internal("XMLCAST without a type")) };
    let ty: DataType = types::image::read(bytes, &types::image::NoObjects).map_err(|_| Ora::internal("XMLCAST"))?;
    let Some(text) = text_at(args, 1)? else { return null(out) };
    let document = ctx.cache.xml.document(text, true)?;
    let top = document.children(document.root());
    let items: Vec<Item> = top.map(|node| Item::Node(xml::Source::new(0, document.clone()), node)).collect();
    xml::cast(&items, &ty, ctx.nls, out)
}

/// An item of XMLAGG, or the value of an aggregate.
pub(crate) fn unchanged(_: &mut FnCtx<'_>, args: &[Value], out: &mut Value) -> Result<()> {
    match text_at(args, 0)? {
        Some(text) => out.set_text(xml::without_declaration(text)),
        None => *out = Value::Null,
    }
    Ok(())
}
