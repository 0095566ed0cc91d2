//! Bind variables: `VARIABLE`, `PRINT`, `EXECUTE`.

use crate::shell::{Shell, Variable};
use crate::text::{split_word, words};
use types::{DataType, Value};

impl Shell<'_> {
    pub(crate) fn exec(&mut self, rest: &str) {
        let text = rest.trim().trim_end_matches(';').trim_end();
        if text.is_empty() {
            self.out.line("SP2-0852: EXECUTE missing statement");
            return;
        }
        self.statement(&format!("BEGIN {text}; END;"));
    }

    pub(crate) fn variable(&mut self, rest: &str) {
        let (name, declared) = split_word(rest);
        if name.is_empty() || declared.is_empty() {
            let lines: Vec<String> = self
                .binds
                .iter()
                .filter(|(known, _)| name.is_empty() || known.eq_ignore_ascii_case(name))
                .flat_map(|(known, v)| {
                    [format!("variable   {known}"), format!("datatype   {}", v.declared), String::new()]
                })
                .collect();
            if lines.is_empty() {
                self.out.line("SP2-0568: No bind variables declared.");
            }
            for line in lines {
                self.out.line(&line);
            }
            return;
        }
        let (declared, initial) = match declared.split_once('=') {
            Some((d, v)) => (d.trim(), Some(v.trim().trim_matches('\'').to_string())),
            None => (declared, None),
        };
        let Some(data_type) = bind_type(declared) else {
            self.out
                .line("Usage: VAR[IABLE] [ <variable> [ NUMBER | CHAR | CHAR (n) | VARCHAR2 (n) | CLOB | REFCURSOR |");
            self.out.line("                    BINARY_FLOAT | BINARY_DOUBLE ] ]");
            return;
        };
        let value = match initial {
            Some(text) if matches!(data_type, DataType::Number { .. }) => {
                text.parse().map_or(Value::Null, Value::Number)
            }
            Some(text) if !text.is_empty() => Value::Text(text),
            _ => Value::Null,
        };
        let value = if data_type == DataType::Cursor { Value::Null } else { value };
        let variable = Variable { data_type, declared: declared.to_uppercase(), value, columns: Vec::new() };
        self.binds.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.binds.push((name.to_uppercase(), variable));
    }

    pub(crate) fn print(&mut self, rest: &str) {
        let named = words(rest);
        let chosen: Vec<(String, Variable)> = self
            .binds
            .iter()
            .filter(|(known, _)| {
                named.is_empty() || named.iter().any(|n| n.trim_start_matches(':').eq_ignore_ascii_case(known))
            })
            .cloned()
            .collect();
        for name in &named {
            let name = name.trim_start_matches(':');
            if !chosen.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                self.out.line(&format!("SP2-0552: Bind variable \"{}\" not declared.", name.to_uppercase()));
            }
        }
        for variable in chosen {
            self.print_variable(variable);
        }
    }
}

fn bind_type(declared: &str) -> Option<DataType> {
    let upper = declared.to_ascii_uppercase().replace(' ', "");
    let (name, size) = match upper.split_once('(') {
        Some((name, size)) => (name.to_string(), size.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()),
        None => (upper, None),
    };
    Some(match name.as_str() {
        "NUMBER" => DataType::NUMBER,
        "VARCHAR2" | "VARCHAR" | "NVARCHAR2" => text_type(size.unwrap_or(4000)),
        "CHAR" | "NCHAR" => text_type(size.unwrap_or(1)),
        "CLOB" => DataType::Clob,
        "BINARY_DOUBLE" => DataType::BinaryDouble,
        "BINARY_FLOAT" => DataType::BinaryFloat,
        "REFCURSOR" => DataType::Cursor,
        _ => return None,
    })
}

fn text_type(len: u32) -> DataType {
    DataType::Varchar2 { len, unit: types::LenUnit::Byte }
}
