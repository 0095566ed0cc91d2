//! Substitution variables: `&name`, `&&name`, `&1`, with `.` as the end of a name.

use std::collections::HashMap;

/// The characters of substitution.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Begins a variable.
    pub substitution: char,
    /// Before the mark makes it an ordinary character.
    pub escape: Option<char>,
    /// Ends a name and is left out: `SET CONCAT`.
    pub end: Option<char>,
}

/// The defined variables; names are folded to upper case.
#[derive(Default)]
pub struct Variables {
    values: HashMap<String, String>,
}

impl Variables {
    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(&name.to_uppercase()).map(String::as_str)
    }

    /// Defines a variable.
    pub fn define(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_uppercase(), value.to_string());
    }

    /// Forgets a variable; false when there was none.
    pub fn undefine(&mut self, name: &str) -> bool {
        self.values.remove(&name.to_uppercase()).is_some()
    }

    /// All variables in the order of their names.
    pub fn all(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<(&str, &str)> = self.values.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        all.sort_unstable();
        all
    }

    /// Replaces the variables of a line. `ask` supplies the value of an undefined variable (`None`: the input has
    /// ended). Returns `None` when nothing was replaced.
    ///
    /// # Errors
    /// The name of the variable that could not be replaced.
    pub fn replace(
        &mut self,
        line: &str,
        marks: Marks,
        ask: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<Option<String>, String> {
        let Marks { substitution: mark, escape, end: dot } = marks;
        if !line.contains(mark) {
            return Ok(None);
        }
        let mut out = String::with_capacity(line.len());
        let mut changed = false;
        let mut rest = line;
        while let Some(at) = rest.find(mark) {
            if let Some(escape) = escape
                && let Some(before) = rest[..at].strip_suffix(escape)
            {
                out.push_str(before);
                out.push(mark);
                rest = &rest[at + mark.len_utf8()..];
                changed = true;
                continue;
            }
            out.push_str(&rest[..at]);
            let after = &rest[at + mark.len_utf8()..];
            let (keep, after) = match after.strip_prefix(mark) {
                Some(after) => (true, after),
                None => (false, after),
            };
            let end =
                after.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$' || c == '#')).unwrap_or(after.len());
            let name = &after[..end];
            if name.is_empty() {
                out.push(mark);
                if keep {
                    out.push(mark);
                }
                rest = after;
                continue;
            }
            let value = match self.get(name) {
                Some(value) => value.to_string(),
                None => {
                    let value = ask(name).ok_or_else(|| name.to_string())?;
                    if keep {
                        self.define(name, &value);
                    }
                    value
                }
            };
            out.push_str(&value);
            changed = true;
            rest = &after[end..];
            rest = dot.and_then(|dot| rest.strip_prefix(dot)).unwrap_or(rest);
        }
        out.push_str(rest);
        Ok(changed.then_some(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(v: &mut Variables, line: &str) -> Result<Option<String>, String> {
        let marks = Marks { substitution: '&', escape: Some('\\'), end: Some('.') };
        v.replace(line, marks, &mut |name| (name == "ask").then(|| "asked".to_string()))
    }

    #[test]
    fn names_numbers_and_dots() {
        let mut v = Variables::default();
        v.define("1", "2000");
        v.define("tab", "emp");
        assert_eq!(replace(&mut v, "do_work(&1);").unwrap().unwrap(), "do_work(2000);");
        assert_eq!(replace(&mut v, "&TAB._x &tab..y").unwrap().unwrap(), "emp_x emp.y");
        assert_eq!(replace(&mut v, "a & b && c").unwrap(), None);
        assert_eq!(replace(&mut v, "no mark").unwrap(), None);
        assert_eq!(replace(&mut v, "a\\&tab &tab").unwrap().unwrap(), "a&tab emp");
    }

    #[test]
    fn an_undefined_variable_is_asked_for_and_kept_only_with_two_marks() {
        let mut v = Variables::default();
        assert_eq!(replace(&mut v, "<&ask>").unwrap().unwrap(), "<asked>");
        assert_eq!(v.get("ask"), None);
        assert_eq!(replace(&mut v, "<&&ask>").unwrap().unwrap(), "<asked>");
        assert_eq!(v.get("ASK"), Some("asked"));
        assert_eq!(replace(&mut v, "&other"), Err("other".into()));
    }
}
