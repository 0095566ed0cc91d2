//! The parser of paths, continued: steps, tests and primary expressions.

use crate::chars::{is_name, name_length};
use crate::functions::Function;
use crate::parse::{Parsed, Parser};
use crate::query::*;
use types::{Ora, Result};

impl Parser<'_> {
    pub(crate) fn path(&mut self) -> Parsed {
        self.blanks();
        if self.rest().starts_with("//") {
            let steps = self.steps(Vec::new())?;
            return Ok(Expr::Path(Box::new(Expr::Root), steps));
        }
        if self.eat("/") {
            self.blanks();
            let begins = |c: char| name_length(&c.to_string()) > 0 || matches!(c, '*' | '@' | '.' | '(' | '$');
            if !self.peek().is_some_and(begins) {
                return Ok(Expr::Root);
            }
            let first = self.step()?;
            let steps = self.steps(vec![first])?;
            return Ok(Expr::Path(Box::new(Expr::Root), steps));
        }
        let first = self.step()?;
        if !self.rest().starts_with('/') {
            self.blanks();
        }
        if !self.rest().starts_with('/') {
            return Ok(match first {
                Step::Each(e) => e,
                axis => Expr::Path(Box::new(Expr::Context), vec![axis]),
            });
        }
        match first {
            Step::Each(e) => {
                let steps = self.steps(Vec::new())?;
                Ok(Expr::Path(Box::new(e), steps))
            }
            axis => {
                let steps = self.steps(vec![axis])?;
                Ok(Expr::Path(Box::new(Expr::Context), steps))
            }
        }
    }

    /// Further steps after `/` or `//`.
    fn steps(&mut self, mut steps: Vec<Step>) -> Result<Vec<Step>> {
        loop {
            if self.eat("//") {
                let (axis, test) = (Axis::DescendantOrThis, Test::Node);
                steps.push(Step::Axis { axis, test, predicates: Vec::new() });
            } else if !self.eat("/") {
                return Ok(steps);
            }
            steps.push(self.step()?);
        }
    }

    fn predicates(&mut self) -> Result<Vec<Expr>> {
        let mut all = Vec::new();
        while self.eat("[") {
            all.push(self.nested(Self::expr)?);
            self.expect("]")?;
        }
        Ok(all)
    }

    fn step(&mut self) -> Result<Step> {
        const AXES: [(&str, Axis); 12] = [
            ("child", Axis::Child),
            ("attribute", Axis::Attribute),
            ("self", Axis::This),
            ("parent", Axis::Parent),
            ("descendant", Axis::Descendant),
            ("descendant-or-self", Axis::DescendantOrThis),
            ("ancestor", Axis::Ancestor),
            ("ancestor-or-self", Axis::AncestorOrThis),
            ("following-sibling", Axis::FollowingSibling),
            ("preceding-sibling", Axis::PrecedingSibling),
            ("following", Axis::Following),
            ("preceding", Axis::Preceding),
        ];
        self.blanks();
        if self.eat("..") {
            let predicates = self.predicates()?;
            return Ok(Step::Axis { axis: Axis::Parent, test: Test::Node, predicates });
        }
        if self.eat("@") {
            return self.axis_step(Axis::Attribute);
        }
        let name = &self.rest()[..name_length(self.rest())];
        if let Some((word, _)) = name.split_once("::") {
            let Some((word, axis)) = AXES.iter().find(|(known, _)| *known == word) else { return self.fail() };
            self.at += word.len() + 2;
            return self.axis_step(*axis);
        }
        if !name.is_empty() {
            let length = name.len();
            let after = self.text[self.at + length..].trim_start();
            let is_call = after.starts_with('(') && !name.ends_with(':') && kind_test(name).is_none();
            let is_constructor = (name == "element" || name == "attribute") && after.starts_with('{');
            if !is_call && !is_constructor {
                return self.axis_step(Axis::Child);
            }
        } else if self.peek() == Some('*') {
            return self.axis_step(Axis::Child);
        }
        let primary = self.nested(Self::primary)?;
        let predicates = self.predicates()?;
        Ok(Step::Each(if predicates.is_empty() { primary } else { Expr::Filter(Box::new(primary), predicates) }))
    }

    fn axis_step(&mut self, axis: Axis) -> Result<Step> {
        let test = self.test(axis)?;
        let axis = if matches!(test, Test::Attribute) { Axis::Attribute } else { axis };
        Ok(Step::Axis { axis, test, predicates: self.predicates()? })
    }

    fn test(&mut self, axis: Axis) -> Result<Test> {
        if self.eat("*:") {
            return Ok(Test::Name { namespace: None, local: Some(self.name()?) });
        }
        if self.eat("*") {
            return Ok(Test::Name { namespace: None, local: None });
        }
        let name = self.name()?;
        if let Some(test) = kind_test(&name)
            && self.eat("(")
        {
            self.blanks();
            let argument = match self.peek() {
                Some(')') => None,
                Some('"' | '\'') => Some(self.string()?),
                Some('*') => {
                    self.at += 1;
                    None
                }
                _ => Some(self.name()?),
            };
            self.expect(")")?;
            return Ok(match (test, argument) {
                (Test::Instruction(_), name) => Test::Instruction(name),
                (Test::Element, Some(name)) => self.name_test(&name, true)?,
                (test, None) => test,
                _ => return self.fail(),
            });
        }
        if self.rest().starts_with(":*") {
            self.at += 2;
            let namespace = self.namespace(&name)?;
            return Ok(Test::Name { namespace: Some(namespace), local: None });
        }
        self.name_test(&name, axis != Axis::Attribute)
    }

    fn namespace(&self, prefix: &str) -> Result<String> {
        match self.namespaces.iter().rev().find(|(known, _)| known == prefix) {
            Some((_, name)) => Ok(name.clone()),
            None if prefix == "xml" => Ok("http://www.w3.org/XML/1998/namespace".to_owned()),
            None => Err(Ora::with(19280, &[&prefix])),
        }
    }

    fn name_test(&self, name: &str, is_element: bool) -> Result<Test> {
        let (namespace, local) = match name.split_once(':') {
            Some((prefix, local)) => (self.namespace(prefix)?, local),
            None if is_element => {
                let default = self.namespaces.iter().rev().find(|(prefix, _)| prefix.is_empty());
                (default.map(|(_, name)| name.clone()).unwrap_or_default(), name)
            }
            None => (String::new(), name),
        };
        Ok(Test::Name { namespace: Some(namespace), local: Some(local.to_owned()) })
    }

    fn primary(&mut self) -> Parsed {
        self.blanks();
        match self.peek() {
            Some('"' | '\'') => Ok(Expr::Text(self.string()?)),
            Some('$') => {
                self.at += 1;
                let name = self.name()?;
                match self.scope.iter().rev().find(|(known, _)| *known == name) {
                    Some((_, slot)) => Ok(Expr::Variable(*slot)),
                    None => Err(Ora::with(19228, &[&name])),
                }
            }
            Some('(') => {
                self.at += 1;
                if self.eat(")") {
                    return Ok(Expr::Sequence(Vec::new()));
                }
                let inner = self.expr()?;
                self.expect(")")?;
                // Parentheses keep the steps inside from the predicates after them.
                Ok(inner)
            }
            Some('.') if !self.rest()[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.at += 1;
                Ok(Expr::Context)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some('<') => self.element(),
            Some(_) if name_length(self.rest()) > 0 => self.call(),
            _ => self.fail(),
        }
    }

    fn number(&mut self) -> Parsed {
        let rest = self.rest();
        let mut length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        if rest[length..].starts_with(['e', 'E']) {
            let from = length + 1 + usize::from(rest[length + 1..].starts_with(['+', '-']));
            let digits = rest[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - from);
            length = if digits > 0 { from + digits } else { length };
        }
        match rest[..length].parse() {
            Ok(number) => {
                self.at += length;
                Ok(Expr::Number(number))
            }
            Err(_) => self.fail(),
        }
    }

    fn call(&mut self) -> Parsed {
        let start = self.at;
        let name = self.name()?;
        self.expect("(")?;
        let mut args = Vec::new();
        if !self.eat(")") {
            loop {
                args.push(self.single()?);
                if !self.eat(",") {
                    break;
                }
            }
            self.expect(")")?;
        }
        let plain = name.strip_prefix("fn:").unwrap_or(&name);
        match Function::find(plain, args.len()) {
            Some(function) => Ok(Expr::Call(function, args)),
            None if Function::is_known(plain) => {
                self.at = start;
                self.fail()
            }
            None => Err(Ora::with(19237, &[&name])),
        }
    }

    /// A constructor `<name attribute="{…}">…{…}…</name>`.
    fn element(&mut self) -> Parsed {
        self.nested(|p| {
            p.at += 1;
            let length = name_length(p.rest());
            let name = p.rest()[..length].to_owned();
            if !is_name(&name) {
                return p.fail();
            }
            p.at += length;
            let mut attributes = Vec::new();
            loop {
                p.blanks();
                if p.eat("/>") {
                    return Ok(Expr::Element { name, attributes, content: Vec::new() });
                }
                if p.eat(">") {
                    break;
                }
                let length = name_length(p.rest());
                if length == 0 {
                    return p.fail();
                }
                let attribute = p.rest()[..length].to_owned();
                p.at += length;
                p.expect("=")?;
                p.blanks();
                let Some(quote @ ('"' | '\'')) = p.peek() else { return p.fail() };
                p.at += 1;
                let value = p.parts(&[quote])?;
                p.at += 1;
                attributes.push((attribute, value));
            }
            let mut content = Vec::new();
            loop {
                content.extend(p.parts(&['<'])?);
                if p.rest().starts_with("</") {
                    p.at += 2;
                    if !p.rest().starts_with(&name) || name_length(p.rest()) != name.len() {
                        return p.fail();
                    }
                    p.at += name.len();
                    p.expect(">")?;
                    return Ok(Expr::Element { name, attributes, content });
                }
                content.push(Part::Expr(p.element()?));
            }
        })
    }

    /// Text and `{expressions}` up to an end character, which is not consumed.
    fn parts(&mut self, ends: &[char]) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else { return self.fail() };
            let doubled = self.rest()[c.len_utf8()..].starts_with(c);
            match c {
                '{' | '}' if doubled => {
                    text.push(c);
                    self.at += 2;
                }
                '{' => {
                    self.at += 1;
                    if !text.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                    }
                    parts.push(Part::Expr(self.nested(Self::expr)?));
                    self.expect("}")?;
                }
                '}' => return self.fail(),
                c if ends.contains(&c) => {
                    let is_blank = ends == ['<'] && text.trim().is_empty();
                    if !text.is_empty() && !is_blank {
                        parts.push(Part::Text(text));
                    }
                    return Ok(parts);
                }
                c => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }
}

fn kind_test(name: &str) -> Option<Test> {
    Some(match name {
        "node" => Test::Node,
        "text" => Test::Text,
        "comment" => Test::Comment,
        "processing-instruction" => Test::Instruction(None),
        "element" => Test::Element,
        "attribute" => Test::Attribute,
        "document-node" => Test::Document,
        _ => return None,
    })
}
