//! Text to path.

use super::{Comparison, Condition, FILTER_NESTING_MAX, Index, Method, Operand, Path, Step};
use types::{Number, Ora, Result};

/// Parses a path. `variables`: the names of the PASSING clause.
///
/// # Errors
/// ORA-40597 for a text that is not a path.
pub fn parse(text: &str, variables: &[String]) -> Result<Path> {
    let mut parser = Parser { text, at: 0, variables, depth: 0 };
    let path = parser.whole();
    path.map_err(|fault| {
        let detail = format!("\n{fault}");
        Ora::with(40597, &[&text, &detail, &(parser.at + 1)])
    })
}

/// The reason of an error.
type Fault = &'static str;
type Parsed<T> = std::result::Result<T, Fault>;

const END: Fault = "JZN-00209: Unexpected characters after end of path";
const START: Fault = "Missing leading '$' or '@' symbol";
const NAME: Fault = "Missing name after '.'";
const SUBSCRIPT: Fault = "Error in array subscript";
const FILTER: Fault = "Invalid filter condition";
const QUOTE: Fault = "Missing closing quote";
const METHOD: Fault = "Invalid item method";
const VARIABLE: Fault = "Variable is not in the PASSING clause";

struct Parser<'a> {
    text: &'a str,
    at: usize,
    variables: &'a [String],
    depth: u32,
}

fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

impl Parser<'_> {
    fn whole(&mut self) -> Parsed<Path> {
        self.blanks();
        // The mode that the standard knows; the default.
        if self.word("lax") {
            self.blanks();
        }
        if !self.eat("$") {
            return Err(START);
        }
        let path = self.steps()?;
        self.blanks();
        if self.rest().is_empty() { Ok(path) } else { Err(END) }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// Takes a word, in any case, that no further letter follows.
    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let found = rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
            && !rest[word.len()..].starts_with(is_name_part);
        if found {
            self.at += word.len();
        }
        found
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Steps after `$` or `@`.
    fn steps(&mut self) -> Parsed<Path> {
        let mut path = Path::default();
        loop {
            let before = self.at;
            self.blanks();
            if self.eat("..") {
                self.blanks();
                path.steps.push(Step::Descendants(self.name()?));
            } else if self.eat(".") {
                self.blanks();
                if self.eat("*") {
                    path.steps.push(Step::Members);
                    continue;
                }
                let quoted = self.peek() == Some('"');
                let name = self.name()?;
                let behind = self.at;
                self.blanks();
                if !quoted && self.eat("(") {
                    self.blanks();
                    if !self.eat(")") {
                        return Err(METHOD);
                    }
                    path.method = Some(Method::parse(&name).ok_or(METHOD)?);
                    return Ok(path);
                }
                self.at = behind;
                path.steps.push(Step::Member(name));
            } else if self.eat("[") {
                path.steps.push(self.subscript()?);
            } else if self.eat("?") {
                self.blanks();
                if !self.eat("(") {
                    return Err(FILTER);
                }
                let condition = self.alternatives()?;
                self.blanks();
                if !self.eat(")") {
                    return Err(FILTER);
                }
                path.steps.push(Step::Filter(condition));
            } else {
                self.at = before;
                return Ok(path);
            }
        }
    }

    fn name(&mut self) -> Parsed<String> {
        if self.eat("\"") {
            return self.quoted('"');
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !is_name_part(c) && c != '$').unwrap_or(rest.len());
        if end == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(NAME);
        }
        let name = rest[..end].to_owned();
        self.at += end;
        Ok(name)
    }

    /// The rest of a text in quotes.
    fn quoted(&mut self, mark: char) -> Parsed<String> {
        let start = self.at;
        let mut escaped = false;
        loop {
            let c = self.peek().ok_or(QUOTE)?;
            self.at += c.len_utf8();
            if c == '\\' {
                escaped = true;
                self.at += self.peek().ok_or(QUOTE)?.len_utf8();
            } else if c == mark {
                return Ok(crate::strings::unescaped(&self.text[start..self.at - 1], escaped).into_owned());
            }
        }
    }

    /// The rest of `[…]`.
    fn subscript(&mut self) -> Parsed<Step> {
        self.blanks();
        if self.eat("*") {
            self.blanks();
            return if self.eat("]") { Ok(Step::AllElements) } else { Err(SUBSCRIPT) };
        }
        let mut ranges = Vec::new();
        loop {
            let from = self.index()?;
            self.blanks();
            let to = if self.word("to") { self.index()? } else { from };
            ranges.push((from, to));
            self.blanks();
            if self.eat("]") {
                return Ok(Step::Elements(ranges));
            }
            if !self.eat(",") {
                return Err(SUBSCRIPT);
            }
        }
    }

    fn index(&mut self) -> Parsed<Index> {
        self.blanks();
        if self.word("last") {
            self.blanks();
            return Ok(Index::FromLast(if self.eat("-") { self.whole_number()? } else { 0 }));
        }
        Ok(Index::FromFirst(self.whole_number()?))
    }

    fn whole_number(&mut self) -> Parsed<u32> {
        self.blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().map_err(|_| SUBSCRIPT)?;
        self.at += end;
        Ok(number)
    }

    fn alternatives(&mut self) -> Parsed<Condition> {
        let mut list = vec![self.conjunction()?];
        self.blanks();
        while self.eat("||") {
            list.push(self.conjunction()?);
            self.blanks();
        }
        Ok(if list.len() == 1 { list.remove(0) } else { Condition::Or(list) })
    }

    fn conjunction(&mut self) -> Parsed<Condition> {
        let mut list = vec![self.negation()?];
        self.blanks();
        while self.eat("&&") {
            list.push(self.negation()?);
            self.blanks();
        }
        Ok(if list.len() == 1 { list.remove(0) } else { Condition::And(list) })
    }

    fn negation(&mut self) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > FILTER_NESTING_MAX {
            return Err(FILTER);
        }
        self.blanks();
        let condition = if self.eat("!") {
            Condition::Not(Box::new(self.negation()?))
        } else if self.eat("(") {
            let inner = self.alternatives()?;
            self.blanks();
            if !self.eat(")") {
                return Err(FILTER);
            }
            inner
        } else if self.word("exists") {
            self.blanks();
            if !self.eat("(") {
                return Err(FILTER);
            }
            self.blanks();
            let Operand::Path(path) = self.operand()? else { return Err(FILTER) };
            self.blanks();
            if !self.eat(")") {
                return Err(FILTER);
            }
            Condition::Exists(path)
        } else {
            self.predicate()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn predicate(&mut self) -> Parsed<Condition> {
        const OPERATORS: &[(&str, Comparison)] = &[
            ("==", Comparison::Equal),
            ("!=", Comparison::NotEqual),
            ("<>", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
            ("=", Comparison::Equal),
        ];
        let left = self.operand()?;
        self.blanks();
        if let Some((token, comparison)) = OPERATORS.iter().find(|(token, _)| self.rest().starts_with(token)) {
            self.at += token.len();
            return Ok(Condition::Compare(*comparison, left, self.operand()?));
        }
        let comparison = if self.word("has") {
            self.blanks();
            if !self.word("substring") {
                return Err(FILTER);
            }
            Comparison::HasSubstring
        } else if self.word("starts") {
            self.blanks();
            if !self.word("with") {
                return Err(FILTER);
            }
            Comparison::StartsWith
        } else if self.word("like") {
            Comparison::Like
        } else if self.word("in") {
            self.blanks();
            if !self.eat("(") {
                return Err(FILTER);
            }
            let mut list = vec![self.operand()?];
            self.blanks();
            while self.eat(",") {
                list.push(self.operand()?);
                self.blanks();
            }
            return if self.eat(")") { Ok(Condition::In(left, list)) } else { Err(FILTER) };
        } else {
            return match left {
                Operand::Path(path) => Ok(Condition::Exists(path)),
                _ => Err(FILTER),
            };
        };
        Ok(Condition::Compare(comparison, left, self.operand()?))
    }

    fn operand(&mut self) -> Parsed<Operand> {
        self.blanks();
        if self.eat("@") {
            return Ok(Operand::Path(self.steps()?));
        }
        if self.eat("$") {
            let name = self.name()?;
            let at = self.variables.iter().position(|variable| *variable == name);
            return at.map(Operand::Variable).ok_or(VARIABLE);
        }
        for mark in ['"', '\''] {
            if self.peek() == Some(mark) {
                self.at += 1;
                return self.quoted(mark).map(Operand::Text);
            }
        }
        for (word, operand) in
            [("true", Operand::Boolean(true)), ("false", Operand::Boolean(false)), ("null", Operand::Null)]
        {
            if self.word(word) {
                return Ok(operand);
            }
        }
        let rest = self.rest();
        let is_part = |at: usize, c: char| match c {
            '0'..='9' | '.' | 'e' | 'E' => true,
            '-' | '+' => at == 0 || rest[..at].ends_with(['e', 'E']),
            _ => false,
        };
        let end = rest.char_indices().find(|(at, c)| !is_part(*at, *c)).map_or(rest.len(), |(at, _)| at);
        let number = Number::parse(&rest[..end]).map_err(|_| FILTER)?;
        self.at += end;
        Ok(Operand::Number(number))
    }
}
