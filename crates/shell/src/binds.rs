//! Bind variables: `VARIABLE`, `PRINT`, `EXECUTE`.

use crate::shell::{Shell, Variable};
use crate::text::{quoted_words, split_word, words};
use types::{DataType, LenUnit, Value};

const USAGE: [&str; 5] = [
    "Usage: VAR[IABLE] [ <variable> [ NUMBER | CHAR | CHAR (n [CHAR|BYTE]) |",
    "                    VARCHAR2 (n [CHAR|BYTE]) | NCHAR | NCHAR (n) |",
    "                    NVARCHAR2 (n) | CLOB | NCLOB | BLOB | BFILE",
    "                    REFCURSOR | BINARY_FLOAT | BINARY_DOUBLE ] ",
    "                    [ = value ] ]",
];

impl Shell<'_> {
    pub(crate) fn exec(&mut self, rest: &str) {
        let text = rest.trim().trim_end_matches(';').trim_end();
        if text.is_empty() {
            self.out.line("SP2-0852: EXECUTE missing statement");
            return;
        }
        self.statement(&format!("BEGIN {text}; END;"));
    }

    /// `VARIABLE [name [type [= value] | = value]]`.
    pub(crate) fn variable(&mut self, rest: &str) {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let (name, declared) = (&rest[..end], rest[end..].trim());
        let plain = |c: char| c.is_alphanumeric() || "_$#".contains(c);
        if !name.is_empty() && (!name.chars().all(plain) || name.starts_with(|c: char| c.is_ascii_digit())) {
            self.out.line(&format!("SP2-0553: Illegal variable name \"{name}\"."));
            return;
        }
        if declared.is_empty() {
            self.list_variables(name);
            return;
        }
        let (declared, initial) = match declared.split_once('=') {
            Some((declared, value)) => (declared.trim(), Some(value.trim())),
            None => (declared, None),
        };
        let known = self.binds.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut variable = match (declared, known) {
            ("", Some(at)) => self.binds[at].1.clone(),
            ("", None) => {
                self.out.line(&format!("SP2-0552: Bind variable \"{}\" not declared.", name.to_uppercase()));
                return;
            }
            _ => match bind_type(declared) {
                Ok(Some(data_type)) => {
                    let declared = declared.to_uppercase();
                    Variable { data_type, declared, value: Value::Null, columns: Vec::new() }
                }
                Ok(None) => {
                    USAGE.iter().for_each(|line| self.out.line(line));
                    return;
                }
                Err(message) => {
                    self.out.line(&message);
                    return;
                }
            },
        };
        if let Some(text) = initial {
            match initial_value(text, &variable) {
                Ok(value) => variable.value = value,
                Err(message) => {
                    self.out.line(&message);
                    return;
                }
            }
        }
        match known {
            Some(at) if declared.is_empty() => self.binds[at].1 = variable,
            _ => {
                self.binds.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
                self.binds.push((name.to_uppercase(), variable));
            }
        }
    }

    fn list_variables(&mut self, name: &str) {
        let lines: Vec<String> = self
            .binds
            .iter()
            .filter(|(known, _)| name.is_empty() || known.eq_ignore_ascii_case(name))
            .flat_map(|(known, v)| [format!("variable   {known}"), format!("datatype   {}", v.declared), String::new()])
            .collect();
        if lines.is_empty() {
            self.out.line("SP2-0568: No bind variables declared.");
        }
        for line in lines {
            self.out.line(&line);
        }
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

/// The type of a declaration; `None`: no type of VARIABLE.
fn bind_type(declared: &str) -> Result<Option<DataType>, String> {
    let upper = declared.to_ascii_uppercase();
    let (name, size) = match upper.split_once('(') {
        Some((name, size)) => match size.trim_end().strip_suffix(')') {
            Some(size) => (name.trim(), Some(size.trim())),
            None => return Ok(None),
        },
        None => (upper.trim(), None),
    };
    let (digits, unit) = match size.map(split_word) {
        None => (None, LenUnit::Byte),
        Some((digits, "" | "BYTE")) => (Some(digits), LenUnit::Byte),
        Some((digits, "CHAR")) => (Some(digits), LenUnit::Char),
        Some(_) => return Ok(None),
    };
    let len = match digits.map(str::parse::<u32>) {
        None => None,
        Some(Ok(len)) if len > 0 => Some(len),
        Some(_) => return Ok(None),
    };
    let limit = |len: u32, most: u32| match len > most {
        true => Err(format!("SP2-0676: Bind variable length cannot exceed {most} characters")),
        false => Ok(Some(DataType::Varchar2 { len, unit })),
    };
    match (name, len) {
        ("CHAR" | "NCHAR", len) => limit(len.unwrap_or(1), 2000),
        ("VARCHAR2" | "VARCHAR" | "NVARCHAR2", len) => limit(len.unwrap_or(4000), 32767),
        (_, Some(_)) => Ok(None),
        ("NUMBER", None) => Ok(Some(DataType::NUMBER)),
        ("CLOB", None) => Ok(Some(DataType::Clob)),
        ("NCLOB", None) => Ok(Some(DataType::Nclob)),
        ("BLOB", None) => Ok(Some(DataType::Blob)),
        ("BFILE", None) => Ok(Some(DataType::Bfile)),
        ("BINARY_DOUBLE", None) => Ok(Some(DataType::BinaryDouble)),
        ("BINARY_FLOAT", None) => Ok(Some(DataType::BinaryFloat)),
        ("REFCURSOR", None) => Ok(Some(DataType::Cursor)),
        _ => Ok(None),
    }
}

/// The value after `=`.
fn initial_value(text: &str, variable: &Variable) -> Result<Value, String> {
    let word = quoted_words(text).into_iter().next();
    let Some((text, _)) =
        word.filter(|(text, quoted)| !text.is_empty() && (*quoted || !text.eq_ignore_ascii_case("null")))
    else {
        return Ok(Value::Null);
    };
    let wrong = || format!("SP2-0425: \"{text}\" is not a valid {}", variable.declared);
    match variable.data_type {
        DataType::Number { .. } => text.parse().map(Value::Number).map_err(|_| wrong()),
        DataType::BinaryDouble => text.parse().map(Value::Double).map_err(|_| wrong()),
        DataType::BinaryFloat => text.parse().map(Value::Float).map_err(|_| wrong()),
        DataType::Varchar2 { len, unit } => {
            let size = if unit == LenUnit::Char { text.chars().count() } else { text.len() };
            if size > len as usize { Err(wrong()) } else { Ok(Value::Text(text)) }
        }
        DataType::Clob | DataType::Nclob => Ok(Value::Text(text)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations() {
        for (text, wanted) in [
            ("number", "NUMBER"),
            ("varchar2 ( 10 )", "VARCHAR2(10)"),
            ("char(3 char)", "VARCHAR2(3 CHAR)"),
            ("refcursor", "CURSOR"),
            ("nclob", "NCLOB"),
        ] {
            let data_type = bind_type(text).unwrap().unwrap();
            if wanted != "CURSOR" {
                assert_eq!(data_type.to_string(), wanted);
            }
        }
        for text in ["number(5)", "varchar2(", "varchar2(x)", "varchar2(0)", "date", "clob(3)", "char(3 words)"] {
            assert_eq!(bind_type(text), Ok(None), "{text}");
        }
        assert!(bind_type("char(2001)").unwrap_err().starts_with("SP2-0676"));
        assert!(bind_type("varchar2(32768)").unwrap_err().starts_with("SP2-0676"));
    }
}
