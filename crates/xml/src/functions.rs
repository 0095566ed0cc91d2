//! The functions of paths.

use crate::item::{Item, boolean, check_text, many, number_of};
use crate::node::Kind;
use types::{Ora, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Avg,
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    Data,
    DistinctValues,
    Empty,
    EndsWith,
    Exists,
    False,
    Floor,
    IndexOf,
    Last,
    LocalName,
    LowerCase,
    Max,
    Min,
    Name,
    NamespaceUri,
    NormalizeSpace,
    Not,
    Number,
    Position,
    Reverse,
    Root,
    Round,
    StartsWith,
    String,
    StringJoin,
    StringLength,
    Subsequence,
    Substring,
    SubstringAfter,
    SubstringBefore,
    Sum,
    Translate,
    True,
    UpperCase,
    WholeNumber,
}

const MANY: usize = usize::MAX;

/// Name, fewest and most arguments.
const FUNCTIONS: &[(&str, usize, usize, Function)] = {
    use Function::*;
    &[
        ("abs", 1, 1, Abs),
        ("avg", 1, 1, Avg),
        ("boolean", 1, 1, Boolean),
        ("ceiling", 1, 1, Ceiling),
        ("concat", 2, MANY, Concat),
        ("contains", 2, 2, Contains),
        ("count", 1, 1, Count),
        ("data", 1, 1, Data),
        ("distinct-values", 1, 1, DistinctValues),
        ("empty", 1, 1, Empty),
        ("ends-with", 2, 2, EndsWith),
        ("exists", 1, 1, Exists),
        ("false", 0, 0, False),
        ("floor", 1, 1, Floor),
        ("index-of", 2, 2, IndexOf),
        ("last", 0, 0, Last),
        ("local-name", 0, 1, LocalName),
        ("lower-case", 1, 1, LowerCase),
        ("max", 1, 1, Max),
        ("min", 1, 1, Min),
        ("name", 0, 1, Name),
        ("namespace-uri", 0, 1, NamespaceUri),
        ("normalize-space", 0, 1, NormalizeSpace),
        ("not", 1, 1, Not),
        ("number", 0, 1, Number),
        ("position", 0, 0, Position),
        ("reverse", 1, 1, Reverse),
        ("root", 0, 1, Root),
        ("round", 1, 1, Round),
        ("starts-with", 2, 2, StartsWith),
        ("string", 0, 1, String),
        ("string-join", 1, 2, StringJoin),
        ("string-length", 0, 1, StringLength),
        ("subsequence", 2, 3, Subsequence),
        ("substring", 2, 3, Substring),
        ("substring-after", 2, 2, SubstringAfter),
        ("substring-before", 2, 2, SubstringBefore),
        ("sum", 1, 1, Sum),
        ("translate", 3, 3, Translate),
        ("true", 0, 0, True),
        ("upper-case", 1, 1, UpperCase),
        ("xs:decimal", 1, 1, Number),
        ("xs:double", 1, 1, Number),
        ("xs:float", 1, 1, Number),
        ("xs:int", 1, 1, WholeNumber),
        ("xs:integer", 1, 1, WholeNumber),
        ("xs:string", 1, 1, String),
    ]
};

impl Function {
    pub(crate) fn find(name: &str, args: usize) -> Option<Function> {
        let fits = |(known, least, most, _): &&(&str, usize, usize, Function)| {
            *known == name && (*least..=*most).contains(&args)
        };
        FUNCTIONS.iter().find(fits).map(|(.., function)| *function)
    }

    pub(crate) fn is_known(name: &str) -> bool {
        FUNCTIONS.iter().any(|(known, ..)| *known == name)
    }
}

fn single(items: Vec<Item>) -> Result<Option<Item>> {
    if items.len() > 1 {
        return Err(many());
    }
    Ok(items.into_iter().next())
}

/// The place of a call: the context item, its position and the number of items.
pub(crate) struct Here<'a> {
    pub(crate) item: Option<&'a Item>,
    pub(crate) position: usize,
    pub(crate) size: usize,
}

/// Calls a function with its evaluated arguments.
pub(crate) fn call(function: Function, mut args: Vec<Vec<Item>>, here: &Here<'_>) -> Result<Vec<Item>> {
    use Function::*;
    let one = |item: Item| Ok(vec![item]);
    // The argument, or the context item.
    if args.is_empty()
        && matches!(function, LocalName | Name | NamespaceUri | NormalizeSpace | Number | Root | String | StringLength)
    {
        let item = here.item.ok_or_else(|| Ora::with(19112, &[&"XPDY0002: no context item"]))?;
        args.push(vec![item.clone()]);
    }
    let given = args.len();
    let mut subject = || std::mem::take(&mut args[0]);
    // XPath 1.0 takes the first of several nodes as a text.
    let first_text = |items: &[Item]| items.first().map(Item::to_text).unwrap_or_default();
    let rounded = |items: Vec<Item>, f: fn(f64) -> f64| -> Result<Vec<Item>> {
        Ok(single(items)?.map(|item| Item::Number(f(item.to_number()))).into_iter().collect())
    };
    match function {
        True => one(Item::Boolean(true)),
        False => one(Item::Boolean(false)),
        Not => {
            let items = subject();
            one(Item::Boolean(!boolean(&items)))
        }
        Boolean => {
            let items = subject();
            one(Item::Boolean(boolean(&items)))
        }
        Empty => one(Item::Boolean(subject().is_empty())),
        Exists => one(Item::Boolean(!subject().is_empty())),
        Count => one(Item::Number(subject().len() as f64)),
        Last => one(Item::Number(here.size as f64)),
        Position => one(Item::Number(here.position as f64)),
        Abs => rounded(subject(), f64::abs),
        Floor => rounded(subject(), f64::floor),
        Ceiling => rounded(subject(), f64::ceil),
        Round => rounded(subject(), |x| (x + 0.5).floor()),
        Number => one(Item::Number(single(subject())?.map_or(f64::NAN, |item| item.to_number()))),
        WholeNumber => match single(subject())?.map(|item| item.to_number()) {
            Some(n) if n.is_finite() => one(Item::Number(n.trunc())),
            Some(_) => Err(Ora::with(19112, &[&"FORG0001: invalid value for cast/constructor"])),
            None => Ok(Vec::new()),
        },
        Sum | Avg => {
            let items = subject();
            let sum: f64 = items.iter().map(Item::to_number).sum();
            match (function, items.len()) {
                (Sum, _) => one(Item::Number(sum)),
                (_, 0) => Ok(Vec::new()),
                (_, n) => one(Item::Number(sum / n as f64)),
            }
        }
        Min | Max => {
            let items = subject();
            let keep = |a: f64, b: f64| if (function == Min) == (b < a) { b } else { a };
            let numbers: Vec<f64> = items.iter().map(Item::to_number).collect();
            if numbers.iter().any(|n| n.is_nan()) {
                let texts = items.iter().map(Item::to_text);
                let found = if function == Min { texts.min() } else { texts.max() };
                return Ok(found.map(|text| Item::text(&text)).into_iter().collect());
            }
            Ok(numbers.into_iter().reduce(keep).map(Item::Number).into_iter().collect())
        }
        Concat => {
            let mut out = std::string::String::new();
            for items in &args {
                out.push_str(&first_text(items));
                check_text(out.len())?;
            }
            one(Item::text(&out))
        }
        Contains => {
            let (a, b) = (first_text(&args[0]), first_text(&args[1]));
            one(Item::Boolean(a.contains(&b)))
        }
        StartsWith => {
            let (a, b) = (first_text(&args[0]), first_text(&args[1]));
            one(Item::Boolean(a.starts_with(&b)))
        }
        EndsWith => {
            let (a, b) = (first_text(&args[0]), first_text(&args[1]));
            one(Item::Boolean(a.ends_with(&b)))
        }
        SubstringBefore | SubstringAfter => {
            let (a, b) = (first_text(&args[0]), first_text(&args[1]));
            let (before, after) = a.split_once(b.as_str()).unwrap_or(("", ""));
            one(Item::text(if function == SubstringBefore { before } else { after }))
        }
        Substring => {
            let value = first_text(&args[0]);
            let at = |n: usize| (args[n].first().map_or(f64::NAN, Item::to_number) + 0.5).floor();
            let from = at(1);
            let to = if given > 2 { from + at(2) } else { f64::INFINITY };
            let is_in = |n: usize| n as f64 >= from && (n as f64) < to;
            let found: std::string::String =
                value.chars().zip(1..).filter(|(_, n)| is_in(*n)).map(|(c, _)| c).collect();
            one(Item::text(&found))
        }
        StringLength => {
            let items = subject();
            let text = items.first().map(Item::to_text).unwrap_or_default();
            one(Item::Number(text.chars().count() as f64))
        }
        String => match single(subject())? {
            Some(item) => one(Item::text(&item.to_text())),
            None => one(Item::text("")),
        },
        Data => {
            // A node inside another has its text again: `data(//*)` of a deep document is larger than the document.
            let mut bytes = 0;
            let mut values = Vec::new();
            for item in subject() {
                let value = item.into_value();
                if let Item::Text(text) = &value {
                    bytes += text.len();
                    check_text(bytes)?;
                }
                values.push(value);
            }
            Ok(values)
        }
        NormalizeSpace => {
            let items = subject();
            let text = items.first().map(Item::to_text).unwrap_or_default();
            one(Item::text(&text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")))
        }
        UpperCase => one(Item::text(&first_text(&args[0]).to_uppercase())),
        LowerCase => one(Item::text(&first_text(&args[0]).to_lowercase())),
        Translate => {
            let (value, from, to) = (first_text(&args[0]), first_text(&args[1]), first_text(&args[2]));
            let to: Vec<char> = to.chars().collect();
            let mut targets = std::collections::HashMap::new();
            for (at, c) in from.chars().enumerate() {
                targets.entry(c).or_insert_with(|| to.get(at).copied());
            }
            let mapped = |c: char| targets.get(&c).copied().unwrap_or(Some(c));
            let out: std::string::String = value.chars().filter_map(mapped).collect();
            one(Item::text(&out))
        }
        StringJoin => {
            let items = subject();
            let separator = if given > 1 { first_text(&args[1]) } else { std::string::String::new() };
            let mut out = std::string::String::new();
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(&separator);
                }
                item.push_text(&mut out);
                check_text(out.len())?;
            }
            one(Item::text(&out))
        }
        DistinctValues => {
            let mut seen = std::collections::HashSet::new();
            let mut bytes = 0;
            let mut out = Vec::new();
            for item in subject() {
                let text = item.to_text();
                if seen.insert(text.clone()) {
                    bytes += text.len();
                    check_text(bytes)?;
                    out.push(if item.is_node() { Item::text(&text) } else { item });
                }
            }
            Ok(out)
        }
        IndexOf => {
            let (items, wanted) = (subject(), first_text(&args[1]));
            let found = items.iter().zip(1..).filter(|(item, _)| item.to_text() == wanted);
            Ok(found.map(|(_, n)| Item::Number(f64::from(n))).collect())
        }
        Reverse => {
            let mut items = subject();
            items.reverse();
            Ok(items)
        }
        Subsequence => {
            let items = subject();
            let from = number_of(&first_text(&args[1]));
            let to = if given > 2 { from + number_of(&first_text(&args[2])) } else { f64::INFINITY };
            let is_in = |n: usize| n as f64 >= from && (n as f64) < to;
            Ok(items.into_iter().zip(1..).filter(|(_, n)| is_in(*n)).map(|(item, _)| item).collect())
        }
        Root => Ok(match single(subject())? {
            Some(Item::Node(source, _)) => {
                let root = source.document.root();
                vec![Item::Node(source, root)]
            }
            _ => Vec::new(),
        }),
        LocalName | Name | NamespaceUri => {
            let items = subject();
            let Some(Item::Node(source, node)) = items.first() else { return one(Item::text("")) };
            let document = &source.document;
            let has_name = matches!(document.kind(*node), Kind::Element | Kind::Attribute | Kind::Instruction);
            one(Item::text(match function {
                _ if !has_name => "",
                LocalName => document.local_name(*node),
                Name => document.name(*node),
                _ => document.namespace(*node),
            }))
        }
    }
}
