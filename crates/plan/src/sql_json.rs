//! The functions of SQL/JSON: their clauses become a definition of the crate `json`, which is a constant argument.

use crate::ir::*;
use crate::refusals::{invalid_identifier, unsupported};
use crate::resolve::Operands;
use crate::scope::*;
use crate::typing::*;
use json::{Function, Making, Operator, Otherwise, Wrapper};
use sql::ast::{self, ExprKind, JsonClauses, JsonOtherwise, JsonPath, JsonWrapper, TypeKind};
use types::image::{Image, Writer};
use types::{DataType, LenUnit, Nls, Ora, Result, Value};

/// The type of results without RETURNING.
const DEFAULT_TYPE: DataType = DataType::Varchar2 { len: 4000, unit: LenUnit::Byte };

impl Compiler<'_> {
    /// Resolves a function with clauses of SQL/JSON, other than an aggregate.
    pub fn json_call(&mut self, call: &ast::Call, clauses: &JsonClauses, pos: u32) -> Result<Expr> {
        if call.over.is_some() {
            return Err(Ora::new(30484).at(pos));
        }
        if let (Some(path), [], [table, column]) = (&clauses.path, &call.args[..], &call.name.parts[..]) {
            let found = self.json_dot(&table.name, &column.name, &path.text, pos)?;
            return found.ok_or_else(|| invalid_identifier(&call.name));
        }
        let name = call.name.last();
        match name {
            "JSON_OBJECT" | "JSON_ARRAY" => return self.json_made(name, call, clauses, pos),
            "JSON_EQUAL" => {
                let known = JsonClauses { formats: clauses.formats.clone(), ..JsonClauses::default() };
                if *clauses != known {
                    return Err(unsupported("clause of JSON_EQUAL", pos));
                }
                let args = self.json_inputs(call)?;
                return scalar(functions::JSON_EQUAL, args, DataType::Boolean, pos);
            }
            "JSON_MERGEPATCH" => {
                let plain = JsonClauses { on_error: None, ..clauses.clone() };
                let null_on_error = match &clauses.on_error {
                    None | Some(JsonOtherwise::Null) => true,
                    Some(JsonOtherwise::Error) => false,
                    Some(_) => return Err(Ora::new(40450).at(pos)),
                };
                let making = Making { null_on_error, ..making(&plain, false, Vec::new(), pos)? };
                let mut args = vec![constant(&making, pos)?];
                args.extend(self.json_inputs(call)?);
                return scalar(functions::JSON_MERGEPATCH, args, making.ty, pos);
            }
            _ => {}
        }
        let operator = match name {
            "JSON_VALUE" => Operator::Value,
            "JSON_EXISTS" => Operator::Exists,
            _ => Operator::Query,
        };
        let mut function = function(operator, clauses, pos)?;
        if name == "JSON_SERIALIZE" {
            function.scalars = true;
        }
        let input = call.args.first().ok_or_else(|| Ora::new(938).at(pos))?;
        let mut args = vec![self.json_input(&input.value)?, constant(&function, pos)?];
        self.json_passed(&call.args[1..], &mut args)?;
        scalar(functions::JSON, args, function.ty, pos)
    }

    /// `table.column.name…`; `None` if the name is no such field.
    pub fn json_field(&mut self, name: &ast::Name) -> Result<Option<Expr>> {
        let [table, column, _, ..] = &name.parts[..] else { return Ok(None) };
        let path = path_of(name, name.parts.len());
        self.json_dot(&table.name, &column.name, &path, name.pos.0)
    }

    /// `table.column.name.method()`; `None` if the call is no such field.
    pub fn json_method(&mut self, call: &ast::Call) -> Result<Option<Expr>> {
        let ([table, column, _, .., _], []) = (&call.name.parts[..], &call.args[..]) else { return Ok(None) };
        let last = call.name.parts.len() - 1;
        let method = match call.name.written(last) {
            written if *written == call.name.parts[last].name => written.to_lowercase(),
            written => written.to_owned(),
        };
        let path = format!("{}.{method}()", path_of(&call.name, last));
        self.json_dot(&table.name, &column.name, &path, call.name.pos.0)
    }

    /// A field of a column with a constraint IS JSON.
    fn json_dot(&mut self, table: &str, column: &str, path: &str, pos: u32) -> Result<Option<Expr>> {
        if !self.is_json_column(table, column) {
            return Ok(None);
        }
        let Some(input) = self.find_column(None, Some(table), column, pos)? else { return Ok(None) };
        let parsed = json::path::parse(path, &[]).map_err(|e| e.at(pos))?;
        let ty = parsed.method.and_then(|method| method.data_type()).unwrap_or(DEFAULT_TYPE);
        let mut function = Function::new(Operator::Dot, path.to_owned(), ty);
        function.wrapper = Wrapper::Conditional;
        scalar(functions::JSON, vec![input, constant(&function, pos)?], ty, pos).map(Some)
    }

    fn is_json_column(&self, alias: &str, column: &str) -> bool {
        for block in self.blocks.iter().rev() {
            if let Some(item) = block.items.iter().map(|id| &self.items[*id]).find(|item| item.alias == alias) {
                return matches!(&item.kind, ItemKind::Table(table) if has_json_check(table, column));
            }
            if block.opaque {
                break;
            }
        }
        false
    }

    /// A document: a text, a LOB or bytes.
    pub fn json_input(&mut self, e: &ast::Expr) -> Result<Expr> {
        let input = self.operand(e)?;
        match (class(&input.ty), input.ty) {
            (Class::Text | Class::Lob | Class::Raw, _) | (_, DataType::Blob) => Ok(input),
            _ => Err(inconsistent("-", type_name(&input.ty), e.pos.0)),
        }
    }

    fn json_inputs(&mut self, call: &ast::Call) -> Result<Vec<Expr>> {
        call.args.iter().map(|arg| self.json_input(&arg.value)).collect()
    }

    /// JSON_OBJECT and JSON_ARRAY.
    fn json_made(&mut self, name: &str, call: &ast::Call, clauses: &JsonClauses, pos: u32) -> Result<Expr> {
        let object = name == "JSON_OBJECT";
        let mut values = Vec::new();
        let mut formats = Vec::new();
        if let Some(ExprKind::Star) = call.args.first().map(|arg| &arg.value.kind) {
            values = self.json_columns_of_block(pos)?;
        } else {
            for (at, arg) in call.args.iter().enumerate() {
                if object && at % 2 == 0 {
                    values.push(self.json_key(&arg.value)?);
                } else {
                    let format = clauses.formats.get(formats.len()) == Some(&true);
                    formats.push(format || is_made(&arg.value));
                    values.push(self.json_value(&arg.value)?);
                }
            }
        }
        let making = making(clauses, object, formats, pos)?;
        let mut args = vec![constant(&making, pos)?];
        args.append(&mut values);
        let function = if object { functions::JSON_OBJECT } else { functions::JSON_ARRAY };
        scalar(function, args, making.ty, pos)
    }

    /// Keys and values of `JSON_OBJECT(*)`: all columns of the row sources.
    fn json_columns_of_block(&mut self, pos: u32) -> Result<Vec<Expr>> {
        let mut values = Vec::new();
        let depth = self.blocks.len() - 1;
        for item in self.block().items.clone() {
            if self.unreadable.contains(&item) {
                return Err(Ora::new(1031).at(pos));
            }
            for column in self.items[item].starred() {
                let name = self.items[item].columns[column].name.clone();
                let len = name.len() as u32;
                values.push(Expr::new(Node::Const(Value::Text(name)), text(len)));
                let value = self.joined_value(item, column);
                self.note_use(depth, &value, pos);
                values.push(check_value(value, pos)?);
            }
        }
        Ok(values)
    }

    fn json_key(&mut self, e: &ast::Expr) -> Result<Expr> {
        let key = self.operand(e)?;
        match class(&key.ty) {
            Class::Text => Ok(key),
            _ => Err(inconsistent("CHAR", type_name(&key.ty), e.pos.0)),
        }
    }

    /// A value that JSON is made of. A condition is true or false.
    fn json_value(&mut self, e: &ast::Expr) -> Result<Expr> {
        check_value(self.operand(e)?, e.pos.0)
    }

    /// The arguments of JSON_ARRAYAGG or JSON_OBJECTAGG: one text for each row.
    pub fn json_aggregated(&mut self, call: &ast::Call, clauses: &JsonClauses, pos: u32) -> Result<Vec<Expr>> {
        let object = call.name.last() == "JSON_OBJECTAGG";
        let value = call.args.last().ok_or_else(|| Ora::new(938).at(pos))?;
        let format = clauses.formats.first() == Some(&true) || is_made(&value.value);
        let making = making(clauses, object, vec![format], pos)?;
        let mut args = vec![constant(&making, pos)?];
        if object {
            args.push(self.json_key(&call.args[0].value)?);
        }
        args.push(self.json_value(&value.value)?);
        let function = if object { functions::JSON_MEMBER } else { functions::JSON_ITEM };
        Ok(vec![scalar(function, args, DataType::Clob, pos)?])
    }

    /// The value of JSON_ARRAYAGG or JSON_OBJECTAGG from the text that the aggregate made.
    pub fn json_finished(&mut self, call: &ast::Call, aggregate: Expr, pos: u32) -> Result<Expr> {
        let Some(clauses) = &call.json else { return Ok(aggregate) };
        let making = making(clauses, call.name.last() == "JSON_OBJECTAGG", Vec::new(), pos)?;
        scalar(functions::JSON_FINISH, vec![constant(&making, pos)?, aggregate], making.ty, pos)
    }

    /// The values of PASSING.
    fn json_passed(&mut self, passing: &[ast::Argument], args: &mut Vec<Expr>) -> Result<()> {
        for passed in passing {
            let value = self.operand(&passed.value)?;
            args.push(match class(&value.ty) {
                Class::Text | Class::Lob | Class::Number | Class::Boolean => value,
                Class::Double | Class::Float => convert(value, &number(), passed.value.pos.0)?,
                _ => return Err(unsupported("PASSING of this type", passed.value.pos.0)),
            });
        }
        Ok(())
    }

    /// The value of JSON_TABLE: its document, or the document and the values of PASSING as one value.
    pub fn json_table_input(&mut self, input: &ast::Expr, passing: &[ast::Argument]) -> Result<Expr> {
        let document = self.json_input(input)?;
        if passing.is_empty() {
            return Ok(document);
        }
        let mut args = vec![document];
        self.json_passed(passing, &mut args)?;
        crate::xml_values::packed(args, input.pos.0)
    }

    /// The columns of JSON_TABLE and its definition.
    pub fn json_table(&mut self, clauses: &JsonClauses, pos: u32) -> Result<(json::Table, Vec<(String, DataType)>)> {
        let error = match &clauses.on_error {
            None | Some(JsonOtherwise::Null) => false,
            Some(JsonOtherwise::Error) => true,
            Some(_) => return Err(Ora::new(40450).at(pos)),
        };
        if clauses.on_empty.is_some() || clauses.returning.is_some() {
            return Err(Ora::new(905).at(pos));
        }
        let mut names = Vec::new();
        let path = clauses.path.as_ref().map_or("$", |path| &path.text);
        let place = clauses.path.as_ref().map_or(pos, |path| path.pos.0);
        let level = level(path, place, &clauses.columns, (error, &clauses.passing), &mut names)?;
        let columns = u16::try_from(names.len()).map_err(|_| Ora::new(1792).at(pos))?;
        let variables = variables(&clauses.passing);
        Ok((json::Table { error, level, columns, variables }, names))
    }
}

/// The names in PASSING.
fn variables(passing: &[ast::Ident]) -> Vec<String> {
    passing.iter().map(|name| name.name.clone()).collect()
}

/// A level of JSON_TABLE. The parser bounds the nesting.
fn level(
    path: &str,
    pos: u32,
    columns: &[ast::JsonColumn],
    (error, passing): (bool, &[ast::Ident]),
    names: &mut Vec<(String, DataType)>,
) -> Result<json::Level> {
    json::path::parse(path, &variables(passing)).map_err(|e| e.at(pos))?;
    let mut level = json::Level { path: path.to_owned(), columns: Vec::new(), nested: Vec::new() };
    for column in columns {
        let position = names.len() as u16;
        match column {
            ast::JsonColumn::Ordinality(name) => {
                names.push((name.name.clone(), DataType::NUMBER));
                level.columns.push((position, json::Column::Ordinality));
            }
            ast::JsonColumn::Value { name, exists, clauses } => {
                let query = clauses.format || clauses.wrapper.is_some();
                let operator = match (*exists, query) {
                    (true, _) => Operator::Exists,
                    (false, true) => Operator::Query,
                    (false, false) => Operator::Value,
                };
                let clauses = JsonClauses { passing: passing.to_vec(), ..(**clauses).clone() };
                let mut function = function(operator, &clauses, name.pos.0)?;
                if operator == Operator::Exists && function.ty == DataType::Boolean {
                    function.ty = DEFAULT_TYPE;
                }
                if error && function.on_error == Otherwise::Unset {
                    function.on_error = Otherwise::Error;
                }
                names.push((name.name.clone(), function.ty));
                level.columns.push((position, json::Column::Function(function)));
            }
            ast::JsonColumn::Nested { path, columns } => {
                level.nested.push(self::level(&path.text, path.pos.0, columns, (error, passing), names)?);
            }
        }
    }
    Ok(level)
}

/// The path of the fields in a name, up to the part `end`.
fn path_of(name: &ast::Name, end: usize) -> String {
    let quoted = |at| name.written(at).replace('\\', "\\\\").replace('"', "\\\"");
    (2..end).fold(String::from("$"), |path, at| format!("{path}.\"{}\"", quoted(at)))
}

/// Whether a table has a constraint that the column is JSON.
fn has_json_check(table: &dictionary::TableDef, column: &str) -> bool {
    table.constraints.iter().any(|constraint| {
        let dictionary::ConstraintKindDef::Check { text } = &constraint.kind else { return false };
        let Ok(condition) = sql::parse_condition(text) else { return false };
        let mut conjuncts = vec![&condition];
        while let Some(e) = conjuncts.pop() {
            match &e.kind {
                ExprKind::Binary { op: ast::BinaryOp::And, left, right } => conjuncts.extend([&**left, &**right]),
                ExprKind::Is { expr, test: ast::IsTest::Json(_), negated: false } => {
                    if matches!(&expr.kind, ExprKind::Name(name) if name.last() == column) {
                        return true;
                    }
                }
                _ => {} // not a clause: other conditions say nothing about the syntax of a column
            }
        }
        false
    })
}

/// Whether a value is JSON because of the function that makes it.
fn is_made(e: &ast::Expr) -> bool {
    const MAKERS: &[&str] = &[
        "JSON_OBJECT",
        "JSON_ARRAY",
        "JSON_OBJECTAGG",
        "JSON_ARRAYAGG",
        "JSON_QUERY",
        "JSON_MERGEPATCH",
        "JSON_SERIALIZE",
    ];
    match &e.kind {
        ExprKind::Call(call) => call.json.is_some() && call.name.as_simple().is_some_and(|n| MAKERS.contains(&n)),
        ExprKind::Subquery(query) => match &query.body {
            ast::QueryBody::Select(select) => match select.items.first().map(|item| &item.kind) {
                Some(ast::SelectItemKind::Expr { expr, alias: _, text: _ }) => is_made(expr),
                _ => false,
            },
            _ => false, // not a clause: the operands of a set operation need not agree
        },
        _ => false, // not a clause: anything else is a plain value
    }
}

/// Refuses a value of a type without a form in JSON.
fn check_value(value: Expr, pos: u32) -> Result<Expr> {
    match value.ty {
        DataType::Xml
        | DataType::Named(_)
        | DataType::Cursor
        | DataType::Long
        | DataType::LongRaw
        | DataType::Bfile => Err(Ora::new(40654).at(pos)),
        _ => Ok(value),
    }
}

fn constant(definition: &impl Image, pos: u32) -> Result<Expr> {
    let mut writer = Writer::new(Vec::new());
    definition.put(&mut writer);
    let bytes = writer.finish().ok_or_else(|| Ora::new(40444).at(pos))?;
    Ok(Expr::new(Node::Const(Value::Raw(bytes)), DataType::Raw { len: 2000 }))
}

fn scalar(name: &str, args: Vec<Expr>, ty: DataType, pos: u32) -> Result<Expr> {
    let (function, args, _) = crate::function_types::resolve(name, args, pos)?;
    Ok(Expr::new(Node::Func(function, args), ty))
}

/// The type of RETURNING.
fn returned(clauses: &JsonClauses, default: DataType) -> Result<DataType> {
    let Some(ty) = &clauses.returning else { return Ok(default) };
    if let TypeKind::Varchar2 { length: None, unit: _, national } = ty.kind {
        return Ok(if national { DataType::Nvarchar2 { len: 2000 } } else { DEFAULT_TYPE });
    }
    if ty.kind == TypeKind::Boolean {
        return Ok(DataType::Boolean);
    }
    crate::written_types::data_type(ty)
}

fn making(clauses: &JsonClauses, object: bool, json: Vec<bool>, pos: u32) -> Result<Making> {
    let JsonClauses {
        format: _, // of an input that is a document in any case
        path: _,   // these functions have none, and no columns
        columns: _,
        formats: _, // in `json`
        passing,
        returning,
        wrapper,
        pretty,
        ascii,
        truncate,
        scalars,
        on_error,
        on_empty,
        null_on_null,
        strict,
        unique_keys,
    } = clauses;
    let is_known = wrapper.is_none()
        && scalars.is_none()
        && on_error.is_none()
        && on_empty.is_none()
        && passing.is_empty()
        && !ascii
        && !truncate;
    if !is_known {
        return Err(unsupported("JSON clause", pos));
    }
    let ty = returned(clauses, DEFAULT_TYPE)?;
    if !matches!(ty, DataType::Varchar2 { .. } | DataType::Clob | DataType::Blob) {
        return Err(Ora::new(40449).at(returning.as_ref().map_or(0, |ty| ty.pos.0)));
    }
    Ok(Making {
        ty,
        keeps_nulls: null_on_null.unwrap_or(object),
        strict: *strict,
        unique_keys: *unique_keys,
        pretty: *pretty,
        null_on_error: false,
        json,
    })
}

fn function(operator: Operator, clauses: &JsonClauses, pos: u32) -> Result<Function> {
    let (path, place) = clauses.path.as_ref().map_or(("$", pos), |JsonPath { text, pos }| (text, pos.0));
    let variables = variables(&clauses.passing);
    let parsed = json::path::parse(path, &variables).map_err(|e| e.at(place))?;
    let of_method = parsed.method.and_then(|method| method.data_type());
    let default = match operator {
        Operator::Exists => DataType::Boolean,
        Operator::Value => of_method.unwrap_or(DEFAULT_TYPE),
        Operator::Query | Operator::Dot => DEFAULT_TYPE,
    };
    let ty = returned(clauses, default)?;
    let at = clauses.returning.as_ref().map_or(pos, |ty| ty.pos.0);
    let is_text = matches!(
        ty,
        DataType::Varchar2 { .. } | DataType::Char { .. } | DataType::Nvarchar2 { .. } | DataType::Nchar { .. }
    );
    let is_valid = match operator {
        Operator::Query | Operator::Dot => is_text || matches!(ty, DataType::Clob | DataType::Nclob | DataType::Blob),
        Operator::Exists => is_text || matches!(ty, DataType::Boolean | DataType::Number { .. }),
        Operator::Value => {
            is_text
                || matches!(ty, DataType::Clob | DataType::Nclob | DataType::Boolean)
                || matches!(
                    class(&ty),
                    Class::Number
                        | Class::Float
                        | Class::Double
                        | Class::Date
                        | Class::Timestamp
                        | Class::IntervalYm
                        | Class::IntervalDs
                )
        }
    };
    if !is_valid {
        return Err(Ora::new(40449).at(at));
    }
    if clauses.truncate && !is_text {
        return Err(Ora::new(40449).at(at));
    }
    let of_query = clauses.wrapper.is_some() || clauses.scalars.is_some() || clauses.pretty || clauses.ascii;
    let is_foreign = of_query && operator != Operator::Query;
    if is_foreign || clauses.strict || clauses.unique_keys || clauses.null_on_null.is_some() {
        return Err(unsupported("JSON clause", pos));
    }
    let mut function = Function::new(operator, path.to_owned(), ty);
    function.variables = variables;
    function.wrapper = match clauses.wrapper {
        None | Some(JsonWrapper::Without) => Wrapper::Without,
        Some(JsonWrapper::Conditional) => Wrapper::Conditional,
        Some(JsonWrapper::Unconditional) => Wrapper::Unconditional,
    };
    (function.pretty, function.ascii) = (clauses.pretty, clauses.ascii);
    function.truncate = clauses.truncate;
    function.scalars = clauses.scalars == Some(true);
    function.on_error = otherwise(clauses.on_error.as_ref(), operator, &ty, pos)?;
    function.on_empty = otherwise(clauses.on_empty.as_ref(), operator, &ty, pos)?;
    Ok(function)
}

/// An ON ERROR or ON EMPTY clause; each function has its own choice of them.
fn otherwise(clause: Option<&JsonOtherwise>, operator: Operator, ty: &DataType, pos: u32) -> Result<Otherwise> {
    let Some(clause) = clause else { return Ok(Otherwise::Unset) };
    Ok(match (clause, operator) {
        (JsonOtherwise::Error, _) => Otherwise::Error,
        (JsonOtherwise::Null, Operator::Value | Operator::Query | Operator::Dot) => Otherwise::Null,
        (JsonOtherwise::EmptyArray, Operator::Query) => Otherwise::EmptyArray,
        (JsonOtherwise::EmptyObject, Operator::Query) => Otherwise::EmptyObject,
        (JsonOtherwise::True, Operator::Exists) => Otherwise::True,
        (JsonOtherwise::False, Operator::Exists) => Otherwise::False,
        (JsonOtherwise::Default(minus, literal), Operator::Value) => {
            Otherwise::Default(default_value(*minus, literal, ty, pos)?)
        }
        _ => return Err(Ora::new(40450).at(pos)),
    })
}

fn default_value(minus: bool, literal: &ast::Literal, ty: &DataType, pos: u32) -> Result<Value> {
    let nls = Nls::default();
    let value = match literal {
        ast::Literal::Null => Value::Null,
        ast::Literal::Number(digits) => {
            let number = digits.parse::<types::Number>().map_err(|e| e.at(pos))?;
            Value::Number(if minus { number.neg() } else { number })
        }
        ast::Literal::String { text, national: _ } => Value::text(text.as_str()),
        ast::Literal::Date(text) => {
            Value::Date(types::format::date_from_text(text, "SYYYY-MM-DD", &nls).map_err(|e| e.at(pos))?)
        }
        ast::Literal::Timestamp(text) => {
            Value::Timestamp(types::format::timestamp_literal(text, &nls).map_err(|e| e.at(pos))?)
        }
        ast::Literal::BinaryFloat(_) | ast::Literal::BinaryDouble(_) | ast::Literal::Interval { .. } => {
            return Err(Ora::new(40452).at(pos));
        }
    };
    let invalid = |_: Ora| Ora::new(40452).at(pos);
    let converted = match class(ty) {
        Class::Number => value.to_number(&nls).map_err(invalid)?.map(Value::Number),
        Class::Double | Class::Float => value.to_number(&nls).map_err(invalid)?.map(Value::Number),
        Class::Date => value.to_date(&nls).map_err(invalid)?.map(Value::Date),
        Class::Timestamp => value.to_timestamp(&nls).map_err(invalid)?.map(Value::Timestamp),
        Class::Text | Class::Lob => value.to_text(&nls).map_err(invalid)?.map(|text| Value::text(text.into_owned())),
        _ => return Err(Ora::new(40452).at(pos)),
    };
    let Some(mut converted) = converted else { return Ok(Value::Null) };
    let length = length(ty) as usize;
    match &converted {
        Value::Text(text) if class(ty) == Class::Text => {
            if text.len() > length {
                return Err(Ora::new(40460).at(pos));
            }
        }
        Value::Text(_) => {}
        _ => ty.cast(&mut converted, &nls).map_err(|e| e.at(pos))?,
    }
    Ok(converted)
}
