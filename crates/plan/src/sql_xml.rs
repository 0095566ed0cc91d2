//! The functions of SQL/XML and the methods of XMLTYPE: each is an operation of the crate `functions`, or has its
//! clauses as a constant argument.

use crate::ir::*;
use crate::refusals::{invalid_identifier, unsupported};
use crate::resolve::Operands;
use crate::scope::*;
use crate::typing::*;
use crate::xml_values::{TEXT, operation, packed, parsed, whole};
use functions::{QuerySpec, XmlOp};
use sql::ast::{self, ExprKind, XmlClauses, XmlColumnKind, XmlIndent, XmlName};
use types::image::{Image, Writer};
use types::{DataType, Ora, Result, TypeId, Value};

/// The methods of XMLTYPE: name, fewest and most arguments, operation and type of the result.
const METHODS: &[(&str, usize, usize, XmlOp, DataType)] = &[
    ("GETCLOBVAL", 0, 2, XmlOp::Clob, DataType::Clob),
    ("GETSTRINGVAL", 0, 0, XmlOp::String, TEXT),
    ("GETNUMBERVAL", 0, 0, XmlOp::Number, DataType::NUMBER),
    ("GETROOTELEMENT", 0, 0, XmlOp::RootElement, TEXT),
    ("GETNAMESPACE", 0, 0, XmlOp::Namespace, TEXT),
    ("ISFRAGMENT", 0, 0, XmlOp::IsFragment, DataType::NUMBER),
    ("EXTRACT", 1, 2, XmlOp::Extract, DataType::Xml),
    ("EXISTSNODE", 1, 2, XmlOp::Exists, DataType::NUMBER),
];

/// The operation and type of a method for this number of arguments.
///
/// # Errors
/// ORA-00909 for a wrong number of arguments; ORA-03001 for a method that is not supported.
pub fn method(name: &str, args: usize, pos: u32) -> Result<Option<(XmlOp, DataType)>> {
    const REFUSED: &[&str] = &[
        "TRANSFORM",
        "TOOBJECT",
        "GETBLOBVAL",
        "ISSCHEMABASED",
        "ISSCHEMAVALID",
        "ISSCHEMAVALIDATED",
        "SCHEMAVALIDATE",
        "SETSCHEMAVALIDATED",
        "GETSCHEMAURL",
        "CREATESCHEMABASEDXML",
        "CREATENONSCHEMABASEDXML",
    ];
    if REFUSED.contains(&name) {
        return Err(unsupported("method of XMLTYPE", pos));
    }
    let Some((_, least, most, op, ty)) = METHODS.iter().find(|(known, ..)| *known == name) else { return Ok(None) };
    if !(*least..=*most).contains(&args) {
        return Err(Ora::new(909).at(pos));
    }
    Ok(Some((*op, *ty)))
}

/// Whether a name is one of a function that [`Compiler::xml_function`] resolves.
pub fn is_function(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "XMLTYPE",
        "EXTRACT",
        "EXTRACTVALUE",
        "EXISTSNODE",
        "XMLSEQUENCE",
        "XMLCONCAT",
        "XMLCOMMENT",
        "XMLCDATA",
        "DELETEXML",
        "UPDATEXML",
        "APPENDCHILDXML",
        "INSERTXMLBEFORE",
        "INSERTXMLAFTER",
        "INSERTCHILDXML",
    ];
    NAMES.contains(&name)
}

fn constant_text(text: &str) -> Expr {
    Expr::new(Node::Const(Value::text(text)), TEXT)
}

fn image(definition: &impl Image, pos: u32) -> Result<Expr> {
    let mut writer = Writer::new(Vec::new());
    definition.put(&mut writer);
    let bytes = writer.finish().ok_or_else(|| Ora::new(4030).at(pos))?;
    Ok(Expr::new(Node::Const(Value::Raw(bytes)), DataType::Raw { len: 2000 }))
}

fn call(name: &str, args: Vec<Expr>, ty: DataType, pos: u32) -> Result<Expr> {
    let (function, args, _) = crate::function_types::resolve(name, args, pos)?;
    Ok(Expr::new(Node::Func(function, args), ty))
}

fn is_text(e: &Expr) -> bool {
    matches!(class(&e.ty), Class::Text | Class::Lob)
}

/// ORA-00932 for a value that is no XML.
fn check_xml(e: Expr, pos: u32) -> Result<Expr> {
    match e.ty == DataType::Xml || is_null(&e) {
        true => Ok(e),
        false => Err(inconsistent("SYS.XMLTYPE", type_name(&e.ty), pos)),
    }
}

/// Names and types of the columns of a row source.
type NamedColumns = Vec<(String, DataType)>;

impl Compiler<'_> {
    /// A function of SQL/XML by its name; `None` if it is none.
    pub fn xml_function(&mut self, name: &str, call: &ast::Call, pos: u32) -> Result<Option<Expr>> {
        let (op, least, most, ty) = match name {
            "XMLTYPE" => return self.xml_constructor(call, pos).map(Some),
            "EXTRACT" => (XmlOp::Extract, 2, 3, DataType::Xml),
            "EXTRACTVALUE" => (XmlOp::Value, 2, 3, TEXT),
            "EXISTSNODE" => (XmlOp::Exists, 2, 3, DataType::NUMBER),
            "XMLSEQUENCE" => (XmlOp::Sequence, 1, 1, DataType::Named(TypeId::XML_SEQUENCE)),
            "XMLCONCAT" => (XmlOp::Concat, 1, usize::MAX, DataType::Xml),
            "XMLCOMMENT" => (XmlOp::Comment, 1, 1, DataType::Xml),
            "XMLCDATA" => (XmlOp::Cdata, 1, 1, DataType::Xml),
            "DELETEXML" => (XmlOp::Delete, 2, 3, DataType::Xml),
            "UPDATEXML" => return self.xml_update(call, pos).map(Some),
            "APPENDCHILDXML" => (XmlOp::AppendChild, 3, 4, DataType::Xml),
            "INSERTXMLBEFORE" => (XmlOp::InsertBefore, 3, 4, DataType::Xml),
            "INSERTXMLAFTER" => (XmlOp::InsertAfter, 3, 4, DataType::Xml),
            "INSERTCHILDXML" => (XmlOp::InsertChild, 4, 5, DataType::Xml),
            "XMLTRANSFORM" | "SYS_XMLGEN" | "XMLPATCH" | "XMLDIFF" | "XMLISVALID" | "SYS_XMLAGG" => {
                return Err(unsupported("XML function", pos));
            }
            _ => return Ok(None),
        };
        if let Some(named) = call.args.iter().find_map(|a| a.name.as_ref()) {
            return Err(Ora::new(907).at(named.pos.0));
        }
        match call.args.len() {
            n if n < least => return Err(Ora::new(938).at(pos)),
            n if n > most => return Err(Ora::new(939).at(pos)),
            _ => {}
        }
        let mut args = Vec::new();
        for arg in &call.args {
            args.push((self.operand(&arg.value)?, arg.value.pos.0));
        }
        let text = |(e, pos): (Expr, u32)| convert(e, &TEXT, pos);
        let mut args = args.into_iter();
        let mut next = || args.next().ok_or_else(|| Ora::new(938).at(pos));
        let made = match op {
            XmlOp::Comment | XmlOp::Cdata => vec![text(next()?)?],
            XmlOp::Concat => args.map(|(e, pos)| check_xml(e, pos)).collect::<Result<_>>()?,
            XmlOp::Delete | XmlOp::Extract | XmlOp::Value | XmlOp::Exists | XmlOp::Sequence => {
                let (own, place) = next()?;
                let mut made = vec![check_xml(own, place)?];
                for rest in args {
                    made.push(text(rest)?);
                }
                made
            }
            _ => {
                // The edits: value, path, [name,] new value, [namespaces].
                let (own, place) = next()?;
                let own = check_xml(own, place)?;
                let path = text(next()?)?;
                let name = if op == XmlOp::InsertChild { Some(text(next()?)?) } else { None };
                let (new, place) = next()?;
                let xml = new.ty == DataType::Xml;
                let is_attribute = matches!(name.as_ref().map(|e| &e.node),
                    Some(Node::Const(Value::Text(name))) if name.starts_with('@'));
                let new = if is_attribute { new } else { check_xml(new, place)? };
                let namespaces = args.next().map(text).transpose()?.unwrap_or_else(null);
                let mut made = vec![own, path, namespaces, new, whole(u32::from(xml))];
                made.extend(name);
                made
            }
        };
        operation(op, made, ty, pos).map(Some)
    }

    /// `UPDATEXML(value, path, new value, …[, namespaces])`.
    fn xml_update(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        if call.args.len() < 3 {
            return Err(Ora::new(938).at(pos));
        }
        let mut args = Vec::new();
        for arg in &call.args {
            args.push((self.operand(&arg.value)?, arg.value.pos.0));
        }
        let namespaces = match args.len() % 2 {
            0 => args.pop().map(|(e, pos)| convert(e, &TEXT, pos)).transpose()?.unwrap_or_else(null),
            _ => null(),
        };
        let (own, place) = args.remove(0);
        let mut value = check_xml(own, place)?;
        for pair in args.chunks_exact(2) {
            let (path, new) = (convert(pair[0].0.clone(), &TEXT, pair[0].1)?, pair[1].0.clone());
            let xml = whole(u32::from(new.ty == DataType::Xml));
            value = operation(XmlOp::Update, vec![value, path, namespaces.clone(), new, xml], DataType::Xml, pos)?;
        }
        Ok(value)
    }

    /// `XMLTYPE(text)` and `XMLTYPE.createXML(text)`; the arguments after the text belong to schemas.
    fn xml_constructor(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        let [first, rest @ ..] = &call.args[..] else { return Err(Ora::new(938).at(pos)) };
        if !rest.is_empty() {
            return Err(unsupported("XML schema", pos));
        }
        if matches!(first.value.kind, ExprKind::Cursor(..)) {
            return Err(unsupported("XMLTYPE of a cursor", first.value.pos.0));
        }
        let value = self.operand(&first.value)?;
        if value.ty == DataType::Xml {
            return Ok(value);
        }
        if !is_text(&value) && value.ty != DataType::Blob {
            return Err(inconsistent("CHAR", type_name(&value.ty), first.value.pos.0));
        }
        parsed(value, pos)
    }

    /// `base.method(args)` of an XML value; `None` for another value.
    pub fn xml_method(&mut self, own: &Expr, name: &ast::Ident, args: &[ast::Argument]) -> Result<Option<Expr>> {
        let pos = name.pos.0;
        if own.ty != DataType::Xml {
            return Ok(None);
        }
        let Some((op, ty)) = method(&name.name, args.len(), pos)? else {
            return Err(invalid_identifier(&ast::Name::simple(name.clone())));
        };
        let mut made = vec![own.clone()];
        for arg in args {
            let e = self.operand(&arg.value)?;
            made.push(convert(e, &TEXT, arg.value.pos.0)?);
        }
        operation(op, made, ty, pos).map(Some)
    }

    /// `column.method(args)` with any qualification, and `XMLTYPE.createXML(text)`; `None` if the call is neither.
    pub fn xml_dotted(&mut self, call: &ast::Call) -> Result<Option<Expr>> {
        let pos = call.name.pos.0;
        let Some((last, prefix @ [_, ..])) = call.name.parts.split_last() else { return Ok(None) };
        let names: Vec<&str> = prefix.iter().map(|part| part.name.as_str()).collect();
        match (&names[..], last.name.as_str()) {
            (["XMLTYPE"] | ["SYS", "XMLTYPE"], "CREATEXML") | (["SYS"], "XMLTYPE") => {
                return self.xml_constructor(call, pos).map(Some);
            }
            _ => {}
        }
        if !METHODS.iter().any(|(known, ..)| *known == last.name) && last.name != "TRANSFORM" {
            return Ok(None);
        }
        let own = match &names[..] {
            [column] => self.find_column(None, None, column, pos)?,
            [table, column] => self.find_column(None, Some(table), column, pos)?,
            [owner, table, column] => self.find_column(Some(owner), Some(table), column, pos)?,
            _ => None,
        };
        match own {
            Some(own) => self.xml_method(&own, last, &call.args),
            None => Ok(None),
        }
    }

    /// Resolves a function with clauses of SQL/XML.
    pub fn xml_call(&mut self, call: &ast::Call, clauses: &XmlClauses, pos: u32) -> Result<Expr> {
        if call.over.is_some() {
            return Err(Ora::new(30484).at(pos));
        }
        let XmlClauses {
            name: _, // of `xml_made` and XMLPI
            escaping: _,
            attributes: _,
            names: _,
            document: _,   // of XMLPARSE and XMLSERIALIZE
            wellformed: _, // the text is checked all the same
            ty: _,
            indent: _,
            version: _, // then the version is an argument
            standalone: _,
            query: _,
            passing: _, // of `xml_passed`
            namespaces: _,
            columns: _, // of XMLTABLE
        } = clauses;
        match call.name.last() {
            "XMLELEMENT" | "XMLFOREST" | "XMLCOLATTVAL" => self.xml_made(call, clauses, pos),
            "XMLPARSE" => {
                let e = self.only_text(call, pos)?;
                let content = clauses.document == Some(false);
                operation(XmlOp::Parse, vec![e, whole(u32::from(content))], DataType::Xml, pos)
            }
            "XMLPI" => {
                let mut args = Vec::new();
                args.extend(clauses.name.as_ref().map(|name| constant_text(&name.name)));
                for arg in &call.args {
                    let e = self.operand(&arg.value)?;
                    args.push(convert(e, &TEXT, arg.value.pos.0)?);
                }
                operation(XmlOp::Instruction, args, DataType::Xml, pos)
            }
            "XMLROOT" => {
                let (first, rest) = call.args.split_first().ok_or_else(|| Ora::new(938).at(pos))?;
                let own = self.operand(&first.value)?;
                let own = check_xml(own, first.value.pos.0)?;
                let version = match rest.first() {
                    Some(arg) => {
                        let e = self.operand(&arg.value)?;
                        convert(e, &TEXT, arg.value.pos.0)?
                    }
                    None => null(),
                };
                let standalone =
                    clauses.standalone.map_or_else(null, |yes| constant_text(if yes { "yes" } else { "no" }));
                operation(XmlOp::Root, vec![own, version, standalone], DataType::Xml, pos)
            }
            "XMLSERIALIZE" => self.xml_serialized(call, clauses, pos),
            "XMLCAST" => {
                let [arg] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
                let ty = clauses.ty.as_ref().ok_or_else(|| Ora::new(905).at(pos))?;
                let ty = crate::written_types::data_type(ty)?;
                let own = self.operand(&arg.value)?;
                if own.ty != DataType::Xml && !is_null(&own) {
                    return crate::typing::convert(own, &ty, pos);
                }
                call_cast(own, ty, pos)
            }
            name => {
                let query = clauses.query.as_ref().ok_or_else(|| Ora::new(19102).at(pos))?;
                let (spec, mut args) = self.xml_passed(call, clauses, &query.text, query.pos.0)?;
                args.insert(0, image(&spec, pos)?);
                match name {
                    "XMLEXISTS" => self::call(functions::XML_QUERY_EXISTS, args, DataType::Boolean, pos),
                    _ => self::call(functions::XML_QUERY, args, DataType::Xml, pos),
                }
            }
        }
    }

    fn only_text(&mut self, call: &ast::Call, pos: u32) -> Result<Expr> {
        let [arg] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
        let e = self.operand(&arg.value)?;
        match is_text(&e) || e.ty == DataType::Blob {
            true => Ok(e),
            false => Err(inconsistent("CHAR", type_name(&e.ty), arg.value.pos.0)),
        }
    }

    /// The query and the values of PASSING: the context item comes first.
    fn xml_passed(
        &mut self,
        call: &ast::Call,
        clauses: &XmlClauses,
        text: &str,
        pos: u32,
    ) -> Result<(QuerySpec, Vec<Expr>)> {
        let from = call.args.len() - clauses.passing.len().min(call.args.len());
        let mut spec = QuerySpec {
            text: text.to_owned(),
            namespaces: clauses.namespaces.clone(),
            variables: Vec::new(),
            context: false,
            xml: Vec::new(),
        };
        let mut args = Vec::new();
        for (arg, name) in call.args[from..].iter().zip(&clauses.passing) {
            let place = arg.value.pos.0;
            let e = self.operand(&arg.value)?;
            let e = match class(&e.ty) {
                Class::Raw | Class::Rowid | Class::IntervalDs | Class::IntervalYm => convert(e, &TEXT, place)?,
                Class::Double | Class::Float => convert(e, &number(), place)?,
                Class::Other if e.ty != DataType::Xml => {
                    return Err(inconsistent("SYS.XMLTYPE", type_name(&e.ty), place));
                }
                _ => e,
            };
            let xml = e.ty == DataType::Xml;
            match name {
                Some(name) => {
                    spec.variables.push(name.name.clone());
                    spec.xml.push(xml);
                    args.push(e);
                }
                None => {
                    // A text as the context is taken as XML.
                    let e = if is_text(&e) { parsed(e, place)? } else { check_xml(e, place)? };
                    spec.context = true;
                    spec.xml.insert(0, true);
                    args.insert(0, e);
                }
            }
        }
        // The expression of XMLTABLE may be known only when it runs.
        if clauses.query.is_some() {
            xml::parse(&spec.text, &spec.variables, spec.namespaces.clone(), false).map_err(|e| e.at(pos))?;
        }
        Ok((spec, args))
    }

    /// XMLELEMENT, XMLFOREST and XMLCOLATTVAL.
    fn xml_made(&mut self, call: &ast::Call, clauses: &XmlClauses, pos: u32) -> Result<Expr> {
        let name = call.name.last();
        let mut given = call.args.iter();
        let mut args = Vec::new();
        let mut making = xml::Making {
            element: None,
            attributes: Vec::new(),
            contents: Vec::new(),
            escapes: clauses.escaping.unwrap_or(true),
            columns: name == "XMLCOLATTVAL",
        };
        if name == "XMLELEMENT" {
            making.element = Some(match &clauses.name {
                Some(name) => xml::Element::Named(xml::made_name(&name.name)),
                None => {
                    let arg = given.next().ok_or_else(|| Ora::new(938).at(pos))?;
                    let e = self.operand(&arg.value)?;
                    args.push(convert(e, &TEXT, arg.value.pos.0)?);
                    xml::Element::Evaluated
                }
            });
        }
        for (written, evaluated, value) in ast::named_values(&clauses.attributes, &mut given) {
            making.attributes.push(self.xml_value_name(written, evaluated, value, "XMLATTRIBUTES", &mut args)?);
            let e = self.xml_content(value)?.0;
            args.push(e);
        }
        if name == "XMLELEMENT" {
            for arg in given {
                let (e, xml) = self.xml_content(&arg.value)?;
                making.contents.push(xml::Content { name: None, xml });
                args.push(e);
            }
        } else {
            for (written, evaluated, value) in ast::named_values(&clauses.names, &mut given) {
                if evaluated.is_some() {
                    return Err(unsupported("AS EVALNAME", value.pos.0));
                }
                let own = self.xml_value_name(written, None, value, name, &mut args)?;
                let (e, xml) = self.xml_content(value)?;
                making.contents.push(xml::Content { name: own, xml });
                args.push(e);
            }
        }
        args.insert(0, image(&making, pos)?);
        self::call(functions::XML_MAKE, args, DataType::Xml, pos)
    }

    /// The name of a value; an evaluated one becomes an argument.
    fn xml_value_name(
        &mut self,
        written: &XmlName,
        evaluated: Option<&ast::Expr>,
        value: &ast::Expr,
        function: &str,
        args: &mut Vec<Expr>,
    ) -> Result<Option<String>> {
        match (written, evaluated) {
            (XmlName::Written(name), _) => Ok(Some(xml::made_name(name))),
            (_, Some(name)) => {
                let e = self.operand(name)?;
                args.push(convert(e, &TEXT, name.pos.0)?);
                Ok(None)
            }
            _ => match &value.kind {
                ExprKind::Name(name) => Ok(Some(xml::escaped_name(name.last()))),
                _ => Err(Ora::with(19208, &[&1, &function]).at(value.pos.0)),
            },
        }
    }

    /// A value inside an element, and whether it is XML.
    fn xml_content(&mut self, value: &ast::Expr) -> Result<(Expr, bool)> {
        let e = self.operand(value)?;
        let xml = e.ty == DataType::Xml;
        if class(&e.ty) == Class::Other && !xml {
            return Err(unsupported("XML of this type", value.pos.0));
        }
        Ok((e, xml))
    }

    fn xml_serialized(&mut self, call: &ast::Call, clauses: &XmlClauses, pos: u32) -> Result<Expr> {
        let [arg] = &call.args[..] else { return Err(Ora::new(909).at(pos)) };
        let own = self.operand(&arg.value)?;
        let own = check_xml(own, arg.value.pos.0)?;
        let ty = match &clauses.ty {
            Some(ty) => declared(ty)?,
            None => DataType::Clob,
        };
        let document = whole(u32::from(clauses.document == Some(true)));
        let indent = match clauses.indent {
            Some(XmlIndent::Size(size)) => whole(size),
            Some(XmlIndent::No) | None => null(),
        };
        let text = operation(XmlOp::Serialize, vec![own, document, indent], DataType::Clob, pos)?;
        match ty {
            DataType::Clob => Ok(text),
            DataType::Varchar2 { len, unit } => {
                let counts_characters = whole(u32::from(unit == types::LenUnit::Char));
                operation(XmlOp::Text, vec![text, whole(len), counts_characters], ty, pos)
            }
            DataType::Blob => Err(unsupported("XMLSERIALIZE AS BLOB", pos)),
            _ => Err(Ora::new(932).at(pos)),
        }
    }

    /// The value of XMLTABLE, which has the row expression and the values of PASSING, its definition and its columns.
    pub fn xml_table(
        &mut self,
        call: &ast::Call,
        clauses: &XmlClauses,
        pos: u32,
    ) -> Result<(Expr, XmlRows, NamedColumns)> {
        let first = call.args.first().ok_or_else(|| Ora::new(938).at(pos))?;
        let text = self.operand(&first.value)?;
        if !is_text(&text) {
            return Err(inconsistent("CHAR", type_name(&text.ty), first.value.pos.0));
        }
        let (spec, mut args) = self.xml_passed(call, clauses, "", pos)?;
        let mut names = Vec::new();
        let mut columns = Vec::new();
        for ast::XmlColumn { name: ident, kind } in &clauses.columns {
            let name = ident.name.clone();
            match kind {
                XmlColumnKind::Ordinality => {
                    names.push((name, DataType::NUMBER));
                    columns.push(xml::Column::Ordinality);
                }
                XmlColumnKind::Value { ty, path, default } => {
                    let of = declared(ty)?;
                    let path = path.as_ref().map_or_else(|| name.clone(), |path| path.text.clone());
                    let default = match default {
                        Some((minus, literal)) => self.xml_default(*minus, literal, &of, ident.pos.0)?,
                        None => Value::Null,
                    };
                    names.push((name, of));
                    columns.push(xml::Column::Value { path, ty: of, default });
                }
            }
        }
        if clauses.columns.is_empty() {
            names.push(("COLUMN_VALUE".to_owned(), DataType::Xml));
            columns.push(xml::Column::Value { path: ".".to_owned(), ty: DataType::Xml, default: Value::Null });
        }
        let table = xml::Table { namespaces: spec.namespaces, variables: spec.variables, columns };
        table.rows().map_err(|e| e.at(pos))?;
        if let Node::Const(Value::Text(text)) = &text.node {
            table.query(text).map_err(|e| e.at(first.value.pos.0))?;
        }
        args.insert(0, text);
        let value = packed(args, pos)?;
        Ok((value, XmlRows { table, context: spec.context, xml: spec.xml }, names))
    }

    fn xml_default(&mut self, minus: bool, literal: &ast::Literal, ty: &DataType, pos: u32) -> Result<Value> {
        let nls = types::Nls::default();
        let mut value = match literal {
            ast::Literal::Null => Value::Null,
            ast::Literal::Number(digits) => {
                let number = digits.parse::<types::Number>().map_err(|e| e.at(pos))?;
                Value::Number(if minus { number.neg() } else { number })
            }
            ast::Literal::String { text, national: _ } => Value::text(text.as_str()),
            _ => return Err(unsupported("DEFAULT of this type", pos)),
        };
        if *ty != DataType::Xml {
            ty.cast(&mut value, &nls).map_err(|e| e.at(pos))?;
        }
        Ok(value)
    }
}

/// A written type, where VARCHAR2 needs no length.
fn declared(ty: &ast::DataTypeName) -> Result<DataType> {
    if let ast::TypeKind::Varchar2 { length: None, unit: _, national: false } = ty.kind {
        return Ok(TEXT);
    }
    crate::written_types::data_type(ty)
}

fn call_cast(own: Expr, ty: DataType, pos: u32) -> Result<Expr> {
    call(functions::XML_CAST, vec![image(&ty, pos)?, own], ty, pos)
}
