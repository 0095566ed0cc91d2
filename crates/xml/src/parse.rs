//! The parser of paths: XPath 1.0, and of XQuery FLWOR, IF, quantifiers, ranges and constructors of elements.
//!
//! The parser reads characters, since the same ones are markup in a constructor and operators elsewhere.

use crate::chars::{name_length, push_unescaped};
use crate::error::{unparsed, wrong_path};
use crate::query::*;
use types::{Ora, Result};

/// Deepest nesting of an expression (X1).
const DEPTH_MAX: usize = 64;
/// Most operators, bound variables and WHERE clauses of an expression: the tree of `a + b + c` is as deep as it has
/// operators, and each clause is evaluated inside the one before (X1).
const OPERATORS_MAX: usize = 400;
/// Longest expression in bytes.
const LENGTH_MAX: usize = 1 << 20;

/// Namespaces known to an expression: prefix and name; the empty prefix is the default of elements.
pub type Namespaces = Vec<(String, String)>;

/// Parses the namespaces of EXTRACT and its relatives: `xmlns:p="…" xmlns="…"`.
///
/// # Errors
/// ORA-31013 for anything else.
pub fn parse_namespaces(text: &str) -> Result<Namespaces> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    let wrong = || Ora::new(31013);
    while !rest.is_empty() {
        let after = rest.strip_prefix("xmlns").ok_or_else(wrong)?;
        let (prefix, after) = match after.strip_prefix(':') {
            Some(after) => after.split_at(name_length(after)),
            None => ("", after),
        };
        let after = after.trim_start().strip_prefix('=').ok_or_else(wrong)?.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or_else(wrong)?;
        let (name, after) = after[1..].split_once(quote).ok_or_else(wrong)?;
        all.push((prefix.to_owned(), name.to_owned()));
        rest = after.trim_start();
    }
    Ok(all)
}

/// Parses an expression. `variables` are the names of external variables; `is_path`: errors are those of EXTRACT.
///
/// # Errors
/// ORA-19114 for a wrong expression, ORA-31011 if it `is_path`; ORA-19228 for an unknown variable.
pub fn parse(text: &str, variables: &[String], namespaces: Namespaces, is_path: bool) -> Result<Query> {
    let slots = variables.len();
    let scope = variables.iter().cloned().enumerate().map(|(slot, name)| (name, slot)).collect();
    let mut parser = Parser { text, at: 0, depth: 0, operators: 0, namespaces, scope, slots };
    let parsed = parser.whole();
    let root = match parsed {
        Err(e) if is_path && e.is(19114) => return Err(wrong_path(text)),
        parsed => parsed?,
    };
    Ok(Query { root, slots: parser.slots })
}

pub(crate) struct Parser<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    depth: usize,
    operators: usize,
    pub(crate) namespaces: Namespaces,
    /// Variables in scope, and their slots.
    pub(crate) scope: Vec<(String, usize)>,
    slots: usize,
}

pub(crate) type Parsed = Result<Expr>;

impl Parser<'_> {
    pub(crate) fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    #[cold]
    pub(crate) fn fail<T>(&self) -> Result<T> {
        Err(unparsed(self.rest()))
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Skips blanks and comments.
    pub(crate) fn blanks(&mut self) {
        loop {
            self.at += self.rest().len() - self.rest().trim_start().len();
            if !self.rest().starts_with("(:") {
                return;
            }
            self.at = self.rest().find(":)").map_or(self.text.len(), |end| self.at + end + 2);
        }
    }

    pub(crate) fn eat(&mut self, symbol: &str) -> bool {
        self.blanks();
        let is = self.rest().starts_with(symbol);
        if is {
            self.at += symbol.len();
        }
        is
    }

    pub(crate) fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { self.fail() }
    }

    /// Whether a word stands here that is not the beginning of a longer name.
    fn at_word(&mut self, word: &str) -> bool {
        self.blanks();
        self.rest().starts_with(word) && name_length(self.rest()) == word.len()
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is = self.at_word(word);
        if is {
            self.at += word.len();
        }
        is
    }

    /// Whether these two symbols or words follow each other.
    fn at_pair(&mut self, first: &str, second: &str) -> bool {
        if !self.at_word(first) {
            return false;
        }
        let at = self.at;
        self.at += first.len();
        self.blanks();
        let is = self.rest().starts_with(second);
        self.at = at;
        is
    }

    pub(crate) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return Err(Ora::with(4030, &[&DEPTH_MAX, &"qmxqtm", &"XQuery nesting"]));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Counts an operator.
    fn operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > OPERATORS_MAX {
            return Err(Ora::with(4030, &[&OPERATORS_MAX, &"qmxqtm", &"XQuery operators"]));
        }
        Ok(())
    }

    fn whole(&mut self) -> Parsed {
        if self.text.len() > LENGTH_MAX {
            return Err(Ora::with(4030, &[&self.text.len(), &"qmxqtm", &"XQuery text"]));
        }
        self.prolog()?;
        let parsed = self.expr()?;
        self.blanks();
        if self.rest().is_empty() { Ok(parsed) } else { self.fail() }
    }

    /// `declare namespace p = "…"; declare default element namespace "…";`
    fn prolog(&mut self) -> Result<()> {
        loop {
            if self.at_pair("xquery", "version") {
                self.at = self.rest().find(';').map_or(self.text.len(), |end| self.at + end + 1);
                continue;
            }
            if !self.at_pair("declare", "namespace") && !self.at_pair("declare", "default") {
                return Ok(());
            }
            self.eat_word("declare");
            let prefix = if self.eat_word("default") {
                if !self.eat_word("element") {
                    return self.fail();
                }
                String::new()
            } else {
                String::from("?")
            };
            if !self.eat_word("namespace") {
                return self.fail();
            }
            let prefix = match prefix.is_empty() {
                true => prefix,
                false => {
                    let name = self.name()?;
                    self.expect("=")?;
                    name
                }
            };
            let name = self.string()?;
            self.expect(";")?;
            self.namespaces.push((prefix, name));
        }
    }

    pub(crate) fn name(&mut self) -> Result<String> {
        self.blanks();
        let mut length = name_length(self.rest());
        // `a::b` is an axis; `p:*` is a test.
        if let Some(colons) = self.rest()[..length].find("::") {
            length = colons;
        }
        if length > 0 && self.rest()[..length].ends_with(':') {
            length -= 1;
        }
        let name = self.rest()[..length].to_owned();
        if name.is_empty() || name.starts_with(':') || name.matches(':').count() > 1 {
            return self.fail();
        }
        self.at += length;
        Ok(name)
    }

    pub(crate) fn string(&mut self) -> Result<String> {
        self.blanks();
        let Some(quote @ ('"' | '\'')) = self.peek() else { return self.fail() };
        let mut text = String::new();
        let mut at = self.at + 1;
        loop {
            let Some(end) = self.text[at..].find(quote) else { return self.fail() };
            push_unescaped(&self.text[at..at + end], &mut text);
            at += end + 1;
            if !self.text[at..].starts_with(quote) {
                self.at = at;
                return Ok(text);
            }
            text.push(quote);
            at += 1;
        }
    }

    /// Expressions with commas between them.
    pub(crate) fn expr(&mut self) -> Parsed {
        let first = self.single()?;
        if !self.eat(",") {
            return Ok(first);
        }
        let mut all = vec![first, self.single()?];
        while self.eat(",") {
            all.push(self.single()?);
        }
        Ok(Expr::Sequence(all))
    }

    pub(crate) fn single(&mut self) -> Parsed {
        self.nested(|p| {
            if p.at_pair("for", "$") || p.at_pair("let", "$") {
                return p.flwor();
            }
            if p.at_pair("some", "$") || p.at_pair("every", "$") {
                return p.quantified();
            }
            if p.at_pair("if", "(") {
                p.eat_word("if");
                p.expect("(")?;
                let test = p.expr()?;
                p.expect(")")?;
                if !p.eat_word("then") {
                    return p.fail();
                }
                let then = p.single()?;
                if !p.eat_word("else") {
                    return p.fail();
                }
                return Ok(Expr::If(Box::new([test, then, p.single()?])));
            }
            p.or()
        })
    }

    /// A variable after `$` that a clause binds.
    fn bound(&mut self) -> Result<(String, usize)> {
        self.operator()?;
        self.expect("$")?;
        let name = self.name()?;
        self.slots += 1;
        Ok((name, self.slots - 1))
    }

    fn flwor(&mut self) -> Parsed {
        let outer = self.scope.len();
        let mut clauses = Vec::new();
        loop {
            if self.at_pair("for", "$") {
                self.eat_word("for");
                loop {
                    let (name, slot) = self.bound()?;
                    let at = if self.eat_word("at") { Some(self.bound()?) } else { None };
                    if !self.eat_word("in") {
                        return self.fail();
                    }
                    let source = self.single()?;
                    self.scope.push((name, slot));
                    let position = at.map(|(name, slot)| {
                        self.scope.push((name, slot));
                        slot
                    });
                    clauses.push(Clause::For { slot, at: position, source });
                    if !self.eat(",") {
                        break;
                    }
                }
            } else if self.at_pair("let", "$") {
                self.eat_word("let");
                loop {
                    let (name, slot) = self.bound()?;
                    self.expect(":=")?;
                    let value = self.single()?;
                    self.scope.push((name, slot));
                    clauses.push(Clause::Let { slot, value });
                    if !self.eat(",") {
                        break;
                    }
                }
            } else if self.eat_word("where") {
                self.operator()?;
                clauses.push(Clause::Where(self.single()?));
            } else if self.at_pair("order", "by") || self.at_pair("stable", "order") {
                self.eat_word("stable");
                self.eat_word("order");
                self.eat_word("by");
                let mut keys = Vec::new();
                loop {
                    let key = self.single()?;
                    let descending = self.eat_word("descending");
                    if !descending {
                        self.eat_word("ascending");
                    }
                    keys.push((key, descending));
                    if !self.eat(",") {
                        break;
                    }
                }
                clauses.push(Clause::OrderBy(keys));
            } else if self.eat_word("return") {
                let result = Box::new(self.single()?);
                self.scope.truncate(outer);
                return Ok(Expr::Flwor { clauses, result });
            } else {
                return self.fail();
            }
        }
    }

    fn quantified(&mut self) -> Parsed {
        let outer = self.scope.len();
        let every = self.eat_word("every");
        if !every {
            self.eat_word("some");
        }
        let mut bindings = Vec::new();
        loop {
            let (name, slot) = self.bound()?;
            if !self.eat_word("in") {
                return self.fail();
            }
            bindings.push((slot, self.single()?));
            self.scope.push((name, slot));
            if !self.eat(",") {
                break;
            }
        }
        if !self.eat_word("satisfies") {
            return self.fail();
        }
        let test = Box::new(self.single()?);
        self.scope.truncate(outer);
        Ok(Expr::Quantified { every, bindings, test })
    }

    fn or(&mut self) -> Parsed {
        let mut left = self.and()?;
        while self.eat_word("or") {
            self.operator()?;
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parsed {
        let mut left = self.comparison()?;
        while self.eat_word("and") {
            self.operator()?;
            left = Expr::And(Box::new(left), Box::new(self.comparison()?));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Parsed {
        const SYMBOLS: [(&str, Compare); 6] = [
            ("!=", Compare::Ne),
            ("<=", Compare::Le),
            (">=", Compare::Ge),
            ("=", Compare::Eq),
            ("<", Compare::Lt),
            (">", Compare::Gt),
        ];
        const WORDS: [(&str, Compare); 6] = [
            ("eq", Compare::Eq),
            ("ne", Compare::Ne),
            ("lt", Compare::Lt),
            ("le", Compare::Le),
            ("gt", Compare::Gt),
            ("ge", Compare::Ge),
        ];
        let mut left = self.range()?;
        loop {
            let symbol = SYMBOLS.iter().find(|(symbol, _)| self.eat(symbol)).map(|(_, op)| (*op, false));
            let found = symbol.or_else(|| WORDS.iter().find(|(w, _)| self.eat_word(w)).map(|(_, op)| (*op, true)));
            let Some((op, value)) = found else { return Ok(left) };
            self.operator()?;
            left = Expr::Compare { op, value, left: Box::new(left), right: Box::new(self.range()?) };
        }
    }

    fn range(&mut self) -> Parsed {
        let left = self.sum()?;
        if self.eat_word("to") {
            return Ok(Expr::Range(Box::new(left), Box::new(self.sum()?)));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed {
        let mut left = self.product()?;
        loop {
            let op = match () {
                () if self.eat("+") => Arithmetic::Add,
                () if self.eat("-") => Arithmetic::Sub,
                () => return Ok(left),
            };
            self.operator()?;
            left = Expr::Arithmetic(op, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Parsed {
        let mut left = self.union()?;
        loop {
            let op = match () {
                () if self.eat("*") => Arithmetic::Mul,
                () if self.eat_word("div") => Arithmetic::Div,
                () if self.eat_word("idiv") => Arithmetic::WholeDiv,
                () if self.eat_word("mod") => Arithmetic::Mod,
                () => return Ok(left),
            };
            self.operator()?;
            left = Expr::Arithmetic(op, Box::new(left), Box::new(self.union()?));
        }
    }

    fn union(&mut self) -> Parsed {
        let mut left = self.unary()?;
        while (!self.rest().trim_start().starts_with("||") && self.eat("|")) || self.eat_word("union") {
            self.operator()?;
            left = Expr::Union(Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let mut negative = false;
        loop {
            if self.eat("-") {
                negative = !negative;
            } else if !self.eat("+") {
                break;
            }
        }
        let operand = self.path()?;
        Ok(if negative { Expr::Negate(Box::new(operand)) } else { operand })
    }
}
