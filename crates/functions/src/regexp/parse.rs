//! Compiles a pattern to a program for the matcher.

use types::{Ora, Result};

/// Ignore case.
pub const IGNORE_CASE: u8 = 1;
/// A period matches a newline too.
pub const DOT_ALL: u8 = 2;
/// `^` and `$` match at line boundaries.
pub const MULTI_LINE: u8 = 4;
/// White space in the pattern is ignored.
pub const EXTENDED: u8 = 8;

/// An instruction of a program.
#[derive(Clone, Debug)]
pub(super) enum Op {
    Char(char),
    Any,
    Set(Box<Set>),
    /// Continues at the first address, and at the second if that fails.
    Split(usize, usize),
    Jump(usize),
    /// Stores the position in the text.
    Save(usize),
    /// Stores the position at which a repetition begins, to check its progress.
    Mark(usize),
    /// Fails if the position has not moved since the mark.
    Moved(usize),
    LineStart,
    LineEnd,
    TextStart,
    /// The end of the text, or before a newline at the end.
    TextEnd,
    /// The very end.
    LastEnd,
    Back(usize),
    Done,
}

/// A bracket expression.
#[derive(Clone, Debug, Default)]
pub(super) struct Set {
    negated: bool,
    ranges: Vec<(char, char)>,
    classes: Vec<Class>,
}

/// A named class, or its complement.
#[derive(Clone, Copy, Debug)]
struct Class {
    test: fn(char) -> bool,
    negated: bool,
}

impl Set {
    pub fn holds(&self, c: char, ignore_case: bool) -> bool {
        let one = |c: char| {
            self.ranges.iter().any(|(a, b)| (*a..=*b).contains(&c))
                || self.classes.iter().any(|k| (k.test)(c) != k.negated)
        };
        let found = one(c) || (ignore_case && (c.to_lowercase().any(one) || c.to_uppercase().any(one)));
        found != self.negated
    }

    fn of(test: fn(char) -> bool, negated: bool) -> Set {
        Set { classes: vec![Class { test, negated }], ..Set::default() }
    }
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) struct Regexp {
    pub(super) program: Vec<Op>,
    /// Number of positions stored by `Save` and `Mark`.
    pub(super) slots: usize,
    pub(super) groups: usize,
    pub(super) flags: u8,
}

/// The tree of a pattern.
enum Node {
    Empty,
    One(Op),
    Cat(Vec<Node>),
    Either(Vec<Node>),
    Group(Box<Node>, usize),
    Repeat { body: Box<Node>, min: u32, max: Option<u32>, greedy: bool },
}

/// Greatest length of a program; large repetition counts reach it.
const MAX_PROGRAM: usize = 20_000;
/// Greatest length of a pattern.
const MAX_PATTERN: usize = 512;

impl Regexp {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// ORA-12725 to ORA-12733 for an invalid pattern.
    pub fn compile(pattern: &str, flags: u8) -> Result<Regexp> {
        let mut chars: Vec<char> = pattern.chars().collect();
        if chars.len() > MAX_PATTERN {
            return Err(Ora::new(12733));
        }
        if flags & EXTENDED != 0 {
            chars.retain(|c| !c.is_whitespace());
        }
        let mut parser = Parser { chars: &chars, at: 0, groups: 0 };
        let tree = parser.alternatives(0)?;
        if parser.at < chars.len() {
            return Err(Ora::new(12725));
        }
        let groups = parser.groups;
        let mut compiler = Compiler { program: Vec::new(), slots: 2 * (groups + 1) };
        compiler.push(Op::Save(0))?;
        compiler.node(&tree)?;
        compiler.push(Op::Save(1))?;
        compiler.push(Op::Done)?;
        let back = |op: &Op| matches!(op, Op::Back(n) if *n > groups);
        if compiler.program.iter().any(back) {
            return Err(Ora::new(12727));
        }
        Ok(Regexp { program: compiler.program, slots: compiler.slots, groups, flags })
    }

    pub(super) fn ignores_case(&self) -> bool {
        self.flags & IGNORE_CASE != 0
    }
}

struct Parser<'a> {
    chars: &'a [char],
    at: usize,
    groups: usize,
}

/// Deepest nesting of groups.
const MAX_DEPTH: usize = 100;

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn alternatives(&mut self, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(Ora::new(12723));
        }
        let mut branches = vec![self.branch(depth)?];
        while self.take('|') {
            branches.push(self.branch(depth)?);
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Either(branches) })
    }

    fn branch(&mut self, depth: usize) -> Result<Node> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || (c == ')' && depth > 0) {
                break;
            }
            let atom = self.atom(depth)?;
            parts.push(self.repeated(atom)?);
        }
        Ok(if parts.is_empty() { Node::Empty } else { Node::Cat(parts) })
    }

    fn atom(&mut self, depth: usize) -> Result<Node> {
        let c = self.chars[self.at];
        self.at += 1;
        Ok(Node::One(match c {
            '.' => Op::Any,
            '^' => Op::LineStart,
            '$' => Op::LineEnd,
            '[' => Op::Set(Box::new(self.set()?)),
            '(' => {
                self.groups += 1;
                let group = self.groups;
                let body = self.alternatives(depth + 1)?;
                if !self.take(')') {
                    return Err(Ora::new(12725));
                }
                return Ok(Node::Group(Box::new(body), group));
            }
            ')' => return Err(Ora::new(12725)),
            '\\' => self.escape(),
            c => Op::Char(c),
        }))
    }

    fn escape(&mut self) -> Op {
        let Some(c) = self.peek() else { return Op::Char('\\') };
        self.at += 1;
        let class = |test: fn(char) -> bool, negated| Op::Set(Box::new(Set::of(test, negated)));
        match c {
            'd' | 'D' => class(|c| c.is_ascii_digit(), c == 'D'),
            'w' | 'W' => class(|c| c.is_alphanumeric() || c == '_', c == 'W'),
            's' | 'S' => class(char::is_whitespace, c == 'S'),
            'A' => Op::TextStart,
            'Z' => Op::TextEnd,
            'z' => Op::LastEnd,
            '1'..='9' => Op::Back(c as usize - '0' as usize),
            c => Op::Char(c),
        }
    }

    fn set(&mut self) -> Result<Set> {
        let unmatched = || Ora::new(12726);
        let mut set = Set { negated: self.take('^'), ..Set::default() };
        let start = self.at;
        loop {
            let c = self.peek().ok_or_else(unmatched)?;
            self.at += 1;
            if c == ']' && self.at > start + 1 {
                return Ok(set);
            }
            let from = match (c, self.peek()) {
                ('[', Some(':')) => {
                    set.classes.push(class(&self.named(':')?)?);
                    continue;
                }
                ('[', Some(kind @ ('=' | '.'))) => {
                    let name = self.named(kind)?;
                    let mut chars = name.chars();
                    match (chars.next(), chars.next()) {
                        (Some(c), None) => c,
                        _ => return Err(Ora::new(if kind == '=' { 12730 } else { 12731 })),
                    }
                }
                _ => c,
            };
            let ranged = self.peek() == Some('-') && self.chars.get(self.at + 1).is_some_and(|c| *c != ']');
            if !ranged {
                set.ranges.push((from, from));
                continue;
            }
            let to = self.chars[self.at + 1];
            self.at += 2;
            if to < from {
                return Err(Ora::new(12728));
            }
            set.ranges.push((from, to));
        }
    }

    /// Reads `:name:]` after the bracket.
    fn named(&mut self, kind: char) -> Result<String> {
        self.at += 1;
        let rest = &self.chars[self.at..];
        let len = rest.windows(2).position(|pair| pair == [kind, ']']).ok_or_else(|| Ora::new(12726))?;
        self.at += len + 2;
        Ok(rest[..len].iter().collect())
    }

    fn repeated(&mut self, mut node: Node) -> Result<Node> {
        loop {
            let (min, max) = match self.peek() {
                Some('*') => (0, None),
                Some('+') => (1, None),
                Some('?') => (0, Some(1)),
                Some('{') => match self.interval()? {
                    Some(bounds) => bounds,
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            self.at += 1;
            let greedy = !self.take('?');
            node = Node::Repeat { body: Box::new(node), min, max, greedy };
        }
    }

    /// Reads `{m}`, `{m,}` or `{m,n}` with its closing brace; any other brace is literal.
    fn interval(&mut self) -> Result<Option<(u32, Option<u32>)>> {
        let rest = &self.chars[self.at + 1..];
        let Some(len) = rest.iter().position(|c| *c == '}') else { return Ok(None) };
        let inner: String = rest[..len].iter().collect();
        let (min, max) = inner
            .split_once(',')
            .map_or((inner.as_str(), Some(inner.as_str())), |(a, b)| (a, (!b.is_empty()).then_some(b)));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(min) || !max.is_none_or(digits) {
            return Ok(None);
        }
        let read = |s: &str| s.parse::<u32>().ok().filter(|n| *n <= 4000).ok_or_else(|| Ora::new(12732));
        let (min, max) = (read(min)?, max.map(read).transpose()?);
        if max.is_some_and(|max| max < min) {
            return Err(Ora::new(12732));
        }
        self.at += len + 1;
        Ok(Some((min, max)))
    }
}

fn class(name: &str) -> Result<Class> {
    let test: fn(char) -> bool = match name {
        "alpha" => char::is_alphabetic,
        "digit" => |c| c.is_ascii_digit(),
        "alnum" => char::is_alphanumeric,
        "upper" => char::is_uppercase,
        "lower" => char::is_lowercase,
        "space" => char::is_whitespace,
        "blank" => |c| c == ' ' || c == '\t',
        "punct" => |c| c.is_ascii_punctuation(),
        "cntrl" => char::is_control,
        "print" => |c| !c.is_control(),
        "graph" => |c| !c.is_control() && !c.is_whitespace(),
        "xdigit" => |c| c.is_ascii_hexdigit(),
        _ => return Err(Ora::new(12729)),
    };
    Ok(Class { test, negated: false })
}

struct Compiler {
    program: Vec<Op>,
    slots: usize,
}

impl Compiler {
    fn push(&mut self, op: Op) -> Result<usize> {
        if self.program.len() >= MAX_PROGRAM {
            return Err(Ora::new(12733));
        }
        self.program.push(op);
        Ok(self.program.len() - 1)
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        match node {
            Node::Empty => {}
            Node::One(op) => {
                self.push(op.clone())?;
            }
            Node::Cat(parts) => {
                for part in parts {
                    self.node(part)?;
                }
            }
            Node::Either(branches) => self.either(branches)?,
            Node::Group(body, group) => {
                self.push(Op::Save(2 * group))?;
                self.node(body)?;
                self.push(Op::Save(2 * group + 1))?;
            }
            Node::Repeat { body, min, max, greedy } => self.repeat(body, *min, *max, *greedy)?,
        }
        Ok(())
    }

    fn either(&mut self, branches: &[Node]) -> Result<()> {
        let mut ends = Vec::new();
        for (i, branch) in branches.iter().enumerate() {
            if i + 1 == branches.len() {
                self.node(branch)?;
                break;
            }
            let split = self.push(Op::Split(0, 0))?;
            self.node(branch)?;
            ends.push(self.push(Op::Jump(0))?);
            self.program[split] = Op::Split(split + 1, self.program.len());
        }
        let end = self.program.len();
        for at in ends {
            self.program[at] = Op::Jump(end);
        }
        Ok(())
    }

    fn split(first: usize, second: usize, greedy: bool) -> Op {
        if greedy { Op::Split(first, second) } else { Op::Split(second, first) }
    }

    fn repeat(&mut self, body: &Node, min: u32, max: Option<u32>, greedy: bool) -> Result<()> {
        for _ in 0..min {
            self.node(body)?;
        }
        let Some(max) = max else {
            let mark = self.slots;
            self.slots += 1;
            let split = self.push(Op::Split(0, 0))?;
            self.push(Op::Mark(mark))?;
            self.node(body)?;
            self.push(Op::Moved(mark))?;
            self.push(Op::Jump(split))?;
            self.program[split] = Self::split(split + 1, self.program.len(), greedy);
            return Ok(());
        };
        let mut splits = Vec::new();
        for _ in min..max {
            splits.push(self.push(Op::Split(0, 0))?);
            self.node(body)?;
        }
        let end = self.program.len();
        for at in splits {
            self.program[at] = Self::split(at + 1, end, greedy);
        }
        Ok(())
    }
}
