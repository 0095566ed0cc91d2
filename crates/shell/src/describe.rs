//! `DESCRIBE`: the columns of a table or view, the arguments of a procedure.

use client::Column;
use types::DataType;

use crate::shell::Shell;
use crate::text::left;

/// The deepest level of SET DESCRIBE DEPTH.
const DEPTH_MAX: u32 = 50;

impl Shell<'_> {
    pub(crate) fn describe(&mut self, name: &str) {
        let name = name.trim();
        if name.is_empty() {
            self.out.line("Usage: DESCRIBE [schema.]object[@db_link]");
            return;
        }
        let Some(session) = &mut self.session else {
            self.out.line("SP2-0640: Not connected");
            return;
        };
        match session.describe(&format!("select * from {name}")) {
            Ok(columns) => {
                let objects = columns.iter().any(|column| matches!(column.data_type, DataType::Named(_)));
                let names = if objects { self.type_names(name) } else { Vec::new() };
                self.describe_columns(&columns, &names);
                self.out.line("");
            }
            Err(e) if e.code() == 942 || e.code() == 4044 => {
                if self.describe_type(name) || self.describe_unit(name) {
                    return;
                }
                self.out.line("ERROR:");
                self.out.line(&format!("ORA-04043: object {name} does not exist"));
                self.out.line("");
                self.out.line("");
            }
            Err(e) => {
                self.out.line("ERROR:");
                self.out.line(&e.to_string());
                self.out.line("");
                self.out.line("");
            }
        }
    }
}

impl Shell<'_> {
    /// The names of the types of a table's columns, by column.
    fn type_names(&mut self, table: &str) -> Vec<(String, String)> {
        let (owner, table) = match table.split_once('.') {
            Some((owner, table)) => (owner.to_uppercase(), table),
            None => (self.current_schema(), table),
        };
        let rows = self.rows_of(&format!(
            "select column_name, data_type from all_tab_columns where owner = '{}' and table_name = '{}'",
            owner.trim_matches('"').replace('\'', "''"),
            table.trim_matches('"').to_uppercase().replace('\'', "''")
        ));
        rows.iter().map(|row| (self.text(&row[0]), self.text(&row[1]))).collect()
    }

    /// Prints columns as `SET DESCRIBE` says: with their numbers, and the attributes of objects to some depth. `names`:
    /// the names of types, by column.
    fn describe_columns(&mut self, columns: &[Column], names: &[(String, String)]) {
        let settings = self.settings.describing;
        let numbers = if settings.linenum { 10 } else { 0 };
        let wide = self.settings.linesize.max(40 + numbers) - numbers;
        let type_wide = 28.min(wide / 2);
        let name_wide = wide.saturating_sub(type_wide + 11).min(128);
        let margin = " ".repeat(numbers);
        let out = &mut self.out;
        out.line(&format!("{margin} {} {} Type", left("Name", name_wide), left("Null?", 8)));
        out.line(&format!("{margin} {} {} {}", "-".repeat(name_wide), "-".repeat(8), "-".repeat(type_wide)));
        let deepest = settings.depth.unwrap_or(DEPTH_MAX).min(DEPTH_MAX) as usize;
        // The columns still to print of each level: a stack instead of recursion.
        let mut levels: Vec<std::slice::Iter<'_, Column>> = vec![columns.iter()];
        let mut number = 0;
        while let Some(level) = levels.last_mut() {
            let Some(column) = level.next() else {
                levels.pop();
                continue;
            };
            number += 1;
            let depth = levels.len();
            let margin = match (settings.linenum, depth) {
                (false, _) => String::new(),
                (true, 1) => format!("{number:>4}      "),
                (true, depth) => format!("{number:>4} {depth:>4} "),
            };
            let indent = if settings.indent { "  ".repeat(depth - 1) } else { String::new() };
            let null = if column.nullable { "" } else { "NOT NULL" };
            let named = matches!(column.data_type, DataType::Named(_)) && depth == 1;
            let known = names.iter().find(|(name, _)| named && *name == column.name);
            let kind = known.map_or_else(|| type_name(&column.data_type), |(_, kind)| kind.clone());
            let name = left(&format!("{indent}{}", column.name), name_wide);
            out.line(&format!("{margin} {name} {} {kind}", left(null, 8)));
            if depth < deepest && !column.nested.is_empty() && column.data_type != DataType::Cursor {
                levels.push(column.nested.iter());
            }
        }
    }

    /// Describes an object or collection type; false when there is none with that name.
    fn describe_type(&mut self, name: &str) -> bool {
        let source = self.source_of(name, "'TYPE'");
        let Some((_, source)) = source else { return false };
        let words = tokens(&source);
        let place = |word: &str| words.iter().position(|token| token == word);
        let collection = words.windows(2).position(|pair| pair[0] == "TABLE" && pair[1] == "OF");
        if let Some(at) = collection.or_else(|| place("VARRAY")).or_else(|| place("VARYING")) {
            let of = words[at..].iter().position(|token| token == "OF").map_or(words.len(), |of| at + of);
            let end = words.iter().rposition(|token| token != ";").map_or(words.len(), |last| last + 1);
            let element = words.get(of + 1..end).unwrap_or_default();
            let element = element.split(|token| token == "NOT").next().unwrap_or_default();
            let size: String = words[at..of].iter().skip_while(|token| *token != "(").cloned().collect();
            let limit = if collection.is_some() { "TABLE".to_string() } else { format!("VARRAY{size}") };
            let element = type_text(element);
            self.out.line(&format!(" {name} {limit} OF {element}"));
            if let Some(columns) = self.attributes(&element) {
                let names =
                    self.source_of(&element, "'TYPE'").map_or(Vec::new(), |(_, source)| attribute_types(&source));
                self.describe_columns(&columns, &names);
            }
            self.out.line("");
            return true;
        }
        let Some(columns) = self.attributes(name) else { return false };
        if let Some(at) = place("UNDER") {
            let parent: String = words[at + 1..].iter().take_while(|token| *token != "(").cloned().collect();
            self.out.line(&format!(" {name} extends {parent}"));
        }
        let end = words.iter().rposition(|token| token != ";").unwrap_or(0);
        if end > 1 && words[end] == "FINAL" && words[end - 1] == "NOT" {
            self.out.line(&format!(" {name} is NOT FINAL"));
        }
        self.describe_columns(&columns, &attribute_types(&source));
        for method in headers(&source) {
            self.out.line("");
            self.out.line("METHOD");
            self.out.line("------");
            let kind = if method.returns.is_some() { "FUNCTION" } else { "PROCEDURE" };
            let returns = method.returns.map_or_else(String::new, |kind| format!(" RETURNS {kind}"));
            let modifiers = method.modifiers.join(" ");
            self.out.line(format!(" {modifiers} {kind} {}{returns}", method.name).as_str());
            self.arguments(&method.arguments);
        }
        self.out.line("");
        true
    }

    /// The attributes of an object type.
    fn attributes(&mut self, name: &str) -> Option<Vec<Column>> {
        let session = self.session.as_mut()?;
        let columns = session.describe(&format!("select cast(null as {name}) from dual")).ok()?;
        let column = columns.into_iter().next()?;
        (matches!(column.data_type, DataType::Named(_)) && !column.nested.is_empty()).then_some(column.nested)
    }

    /// The kind and the source of a unit of these kinds.
    fn source_of(&mut self, name: &str, kinds: &str) -> Option<(String, String)> {
        let (owner, unit) = match name.split_once('.') {
            Some((owner, unit)) => (owner.to_uppercase(), unit),
            None => (self.current_schema(), name),
        };
        let rows = self.rows_of(&format!(
            "select type, text from all_source where owner = '{}' and name = '{}' and type in ({kinds}) order by line",
            owner.trim_matches('"').replace('\'', "''"),
            unit.trim_matches('"').to_uppercase().replace('\'', "''")
        ));
        let kind = self.text(&rows.first()?[0]);
        Some((kind, rows.iter().map(|row| self.text(&row[1]) + "\n").collect()))
    }

    /// Describes a procedure, function or package; false when there is none with that name.
    fn describe_unit(&mut self, name: &str) -> bool {
        let (owner, unit) = match name.split_once('.') {
            Some((owner, unit)) => (owner.to_uppercase(), unit),
            None => (self.current_schema(), name),
        };
        let found = self.source_of(name, "'PROCEDURE', 'FUNCTION', 'PACKAGE'");
        let kind = found.as_ref().map(|(kind, _)| kind.clone());
        let package = kind.as_deref().is_none_or(|kind| kind == "PACKAGE");
        let mut members = match found {
            Some((_, source)) => headers(&source),
            None if owner == "SYS" || !name.contains('.') => self.built_in(unit),
            None => Vec::new(),
        };
        if kind.is_none() && members.is_empty() {
            return false;
        }
        match package {
            true => members.sort_by(|a, b| a.name.cmp(&b.name)),
            false => members.truncate(1),
        }
        for member in members {
            let shown = if package { member.name.to_uppercase() } else { name.to_string() };
            match &member.returns {
                Some(kind) => self.out.line(&format!("FUNCTION {shown} RETURNS {kind}")),
                None => self.out.line(&format!("PROCEDURE {shown}")),
            }
            self.arguments(&member.arguments);
        }
        self.out.line("");
        true
    }

    /// The heads of a package of SYS whose source is not in the dictionary.
    fn built_in(&mut self, name: &str) -> Vec<Header> {
        let rows = self.rows_of(&format!(
            "select p.procedure_name, p.subprogram_id, a.position, a.argument_name, \
               nvl(a.pls_type, nvl2(a.type_subname, a.type_name || '.' || a.type_subname, a.type_name)), \
               a.in_out, a.defaulted \
             from all_procedures p left join all_arguments a on a.owner = p.owner and a.package_name = p.object_name \
               and a.object_name = p.procedure_name and a.subprogram_id = p.subprogram_id \
             where p.owner = 'SYS' and p.object_name = '{}' and p.procedure_name is not null \
             order by p.subprogram_id, a.sequence",
            name.trim_matches('"').to_uppercase().replace('\'', "''")
        ));
        let mut out: Vec<Header> = Vec::new();
        let mut last = String::new();
        for row in rows {
            let field: Vec<String> = row.iter().map(|value| self.text(value)).collect();
            let [name, id, position, argument, kind, mode, defaulted] = field.as_slice() else { continue };
            if out.is_empty() || *id != last {
                out.push(Header { name: name.clone(), modifiers: Vec::new(), arguments: Vec::new(), returns: None });
                last.clone_from(id);
            }
            let Some(header) = out.last_mut() else { continue };
            let kind = type_text(std::slice::from_ref(kind));
            let mode = match mode.as_str() {
                "OUT" => "OUT",
                "IN/OUT" => "IN/OUT",
                _ => "IN",
            };
            match position.as_str() {
                "" => {}
                "0" => header.returns = Some(kind),
                _ => header.arguments.push(Argument { name: argument.clone(), kind, mode, default: defaulted == "Y" }),
            }
        }
        out
    }

    fn arguments(&mut self, arguments: &[Argument]) {
        if arguments.is_empty() {
            return;
        }
        self.out.line(" Argument Name                  Type                    In/Out Default?");
        self.out.line(" ------------------------------ ----------------------- ------ --------");
        for a in arguments {
            let line = format!(
                " {} {} {} {}",
                left(&a.name, 30),
                left(&a.kind, 23),
                left(a.mode, 6),
                if a.default { "DEFAULT" } else { "" }
            );
            self.out.line(line.trim_end());
        }
    }
}

/// One parameter of a subprogram.
#[derive(Debug, PartialEq)]
struct Argument {
    name: String,
    kind: String,
    mode: &'static str,
    default: bool,
}

/// The head of a subprogram.
#[derive(Debug, PartialEq)]
struct Header {
    name: String,
    /// `MEMBER`, `STATIC`, `MAP` and the like before a method.
    modifiers: Vec<String>,
    arguments: Vec<Argument>,
    returns: Option<String>,
}

/// The names and types of the attributes that an object type's source declares.
fn attribute_types(source: &str) -> Vec<(String, String)> {
    let tokens = tokens(source);
    let Some(open) = tokens.iter().position(|token| token == "(") else { return Vec::new() };
    let end = closing(&tokens, open);
    let attributes = split_arguments(&tokens[open + 1..end]).into_iter().map(argument);
    attributes.map(|attribute| (attribute.name, attribute.kind)).collect()
}

/// The words before a method's FUNCTION or PROCEDURE.
const MODIFIERS: &[&str] =
    &["MEMBER", "STATIC", "CONSTRUCTOR", "MAP", "ORDER", "FINAL", "INSTANTIABLE", "OVERRIDING", "NOT"];

/// The heads of the subprograms that a source declares, in source order.
fn headers(source: &str) -> Vec<Header> {
    let tokens = tokens(source);
    let mut out = Vec::new();
    let mut at = 0;
    while at + 1 < tokens.len() {
        let function = tokens[at] == "FUNCTION";
        if !function && tokens[at] != "PROCEDURE" {
            at += 1;
            continue;
        }
        let name = tokens[at + 1].clone();
        let before = tokens[..at].iter().rposition(|t| !MODIFIERS.contains(&t.as_str())).map_or(0, |last| last + 1);
        let modifiers = tokens[before..at].to_vec();
        at += 2;
        let mut arguments = Vec::new();
        if tokens.get(at).is_some_and(|t| t == "(") {
            let end = closing(&tokens, at);
            arguments = split_arguments(&tokens[at + 1..end]).into_iter().map(argument).collect();
            at = end + 1;
        }
        let mut returns = None;
        if function && tokens.get(at).is_some_and(|t| t == "RETURN") {
            let from = at + 1;
            let stop = |t: &String| {
                [";", "IS", "AS", "DETERMINISTIC", "RESULT_CACHE", "PIPELINED", "AUTHID", "PARALLEL_ENABLE"]
                    .contains(&t.as_str())
            };
            let result = tokens[from..].starts_with(&["SELF".into(), "AS".into(), "RESULT".into()]);
            let len = tokens[from..].iter().position(stop).unwrap_or(tokens.len() - from);
            // Methods are separated by commas.
            let len = tokens[from..from + len].iter().position(|t| t == "," || t == ")").unwrap_or(len);
            let len = if result { 3 } else { len };
            returns = Some(type_text(&tokens[from..from + len]));
            at = from + len;
        }
        out.push(Header { name, modifiers, arguments, returns });
    }
    out
}

/// Words in upper case, quoted names without their quotes, and single marks; comments are left out.
fn tokens(source: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skip = |len: Option<usize>, end: usize| len.map_or(rest.len(), |at| at + end);
        let len = if c.is_whitespace() {
            c.len_utf8()
        } else if rest.starts_with("--") {
            skip(rest.find('\n'), 1)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            skip(comment.find("*/"), 4)
        } else if c == '\'' || c == '"' {
            let len = skip(rest[1..].find(c), 2);
            out.push(rest[..len].trim_matches('"').to_string());
            len
        } else if c.is_alphanumeric() || c == '_' {
            let word = |c: char| c.is_alphanumeric() || "_$#".contains(c);
            let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
            out.push(rest[..len].to_uppercase());
            len
        } else {
            out.push(c.to_string());
            c.len_utf8()
        };
        rest = &rest[len..];
    }
    out
}

fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => depth += 1,
            ")" => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

fn split_arguments(tokens: &[String]) -> Vec<&[String]> {
    let mut depth = 0;
    tokens
        .split(|token| {
            match token.as_str() {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            depth == 0 && token == ","
        })
        .filter(|part| !part.is_empty())
        .collect()
}

fn argument(tokens: &[String]) -> Argument {
    let word = |at: usize| tokens.get(at).map_or("", String::as_str);
    let (mode, mut at) = match (word(1), word(2)) {
        ("IN", "OUT") => ("IN/OUT", 3),
        ("OUT", _) => ("OUT", 2),
        ("IN", _) => ("IN", 2),
        _ => ("IN", 1),
    };
    if word(at) == "NOCOPY" {
        at += 1;
    }
    let rest = tokens.get(at..).unwrap_or_default();
    let end = rest.iter().position(|t| t == "DEFAULT" || t == ":").unwrap_or(rest.len());
    Argument { name: word(0).to_string(), kind: type_text(&rest[..end]), mode, default: end < rest.len() }
}

/// The text of a type from its tokens, with blanks between words only; `INTEGER` becomes the type that it stands for.
fn type_text(tokens: &[String]) -> String {
    let mut out = String::new();
    for token in tokens {
        let worded = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        if worded(out.chars().last()) && worded(token.chars().next()) {
            out.push(' ');
        }
        out.push_str(token);
    }
    match out.as_str() {
        "INTEGER" | "INT" | "SMALLINT" => "NUMBER(38)".into(),
        "PLS_INTEGER" => "BINARY_INTEGER".into(),
        _ => out,
    }
}

/// A type as `DESCRIBE` prints it.
fn type_name(data_type: &DataType) -> String {
    data_type.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_their_words_before_them() {
        let source = "type person as object (name varchar2(20),
            map member function ranked return varchar2,
            member procedure move(self in out person, fee number default 0),
            static function of_name(n varchar2) return person,
            constructor function person(n varchar2) return self as result) not final;";
        let shown: Vec<String> = headers(source)
            .iter()
            .map(|h| format!("{} {} {}", h.modifiers.join(" "), h.name, h.returns.as_deref().unwrap_or("-")))
            .collect();
        assert_eq!(
            shown,
            [
                "MAP MEMBER RANKED VARCHAR2",
                "MEMBER MOVE -",
                "STATIC OF_NAME PERSON",
                "CONSTRUCTOR PERSON SELF AS RESULT"
            ]
        );
    }

    #[test]
    fn heads_of_subprograms_are_read_from_their_source() {
        let source = "package p is -- procedure no;
            g number := 0;
            procedure inc(p in number default f(1, 2), q in out nocopy varchar2);
            function get(r emp.sal%type) return varchar2 deterministic;
            procedure bare;
          end;";
        let shown: Vec<String> = headers(source)
            .iter()
            .map(|h| {
                let each = |a: &Argument| format!("{} {} {} {}", a.name, a.mode, a.kind, a.default);
                let arguments: Vec<String> = h.arguments.iter().map(each).collect();
                format!("{}({}) {}", h.name, arguments.join(", "), h.returns.as_deref().unwrap_or("-"))
            })
            .collect();
        assert_eq!(
            shown,
            ["INC(P IN NUMBER true, Q IN/OUT VARCHAR2 false) -", "GET(R IN EMP.SAL%TYPE false) VARCHAR2", "BARE() -"]
        );
    }
}
