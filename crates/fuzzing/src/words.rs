//! Changes texts of a language word by word: the lexer refuses nearly all results of changes by bytes.

use fastrand::Rng;

/// Pieces to insert. Those that nest, quote, bind and comment come first.
const PIECES: &[&str] = &[
    "(",
    ")",
    ",",
    "'",
    "''",
    "\"",
    "--",
    "/*",
    "*/",
    ";",
    ":",
    ":1",
    ":v",
    "&",
    "||",
    "=",
    "<>",
    "(+)",
    ".",
    "..",
    "%",
    "@",
    "=>",
    ":=",
    "<<",
    ">>",
    "/*+",
    "q'[",
    "0",
    "1e400",
    "-1",
    "null",
    "select",
    "from",
    "where",
    "and",
    "or",
    "not",
    "in",
    "exists",
    "any",
    "all",
    "union",
    "minus",
    "with",
    "as",
    "recursive",
    "connect by",
    "prior",
    "level",
    "start with",
    "group by",
    "rollup",
    "cube",
    "grouping sets",
    "having",
    "order by",
    "nulls first",
    "fetch first",
    "offset",
    "for update",
    "of",
    "skip locked",
    "over",
    "partition by",
    "rows between",
    "unbounded preceding",
    "within group",
    "keep",
    "pivot",
    "unpivot",
    "lateral",
    "cross apply",
    "left join",
    "full join",
    "natural join",
    "using",
    "on",
    "case",
    "when",
    "then",
    "else",
    "end",
    "cast",
    "interval",
    "date",
    "timestamp",
    "year to month",
    "insert",
    "all",
    "into",
    "values",
    "update",
    "set",
    "delete",
    "merge",
    "matched",
    "returning",
    "bulk collect",
    "begin",
    "declare",
    "exception",
    "raise",
    "loop",
    "while",
    "for",
    "reverse",
    "exit when",
    "goto",
    "<<l>>",
    "if",
    "elsif",
    "end if",
    "end loop",
    "return",
    "is",
    "table of",
    "index by",
    "varchar2(10)",
    "number",
    "pls_integer",
    "%type",
    "%rowtype",
    "cursor",
    "open",
    "fetch",
    "close",
    "execute immediate",
    "procedure",
    "function",
    "pragma autonomous_transaction",
    "fuzz_t",
    "fuzz_u",
    "fuzz_v",
    "fuzz_p.f",
    "id",
    "name",
    "d",
    "n",
    "rownum",
    "rowid",
    "sysdate",
    "dual",
    "count(*)",
    "sum(n)",
    "listagg(name, ',')",
    "nvl(",
    "substr(",
    "regexp_replace(",
    "to_char(",
    "to_date(",
    "decode(",
    "xmlagg",
    "json_value(",
    "xmltable(",
    "xmlelement(",
    "sys_context('userenv', 'sid')",
    "é",
    "\u{0}",
];

/// The beginnings of words.
fn starts(text: &str) -> Vec<usize> {
    let mut out = vec![0];
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() != before.is_alphanumeric() || !c.is_alphanumeric() {
            out.push(at);
        }
        before = c;
    }
    out.push(text.len());
    out.dedup();
    out
}

/// A changed copy of one of the texts.
pub fn changed(random: &mut Rng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let pick = |random: &mut Rng| String::from_utf8_lossy(&corpus[random.usize(..corpus.len())]).into_owned();
    let mut text = pick(random);
    for _ in 0..random.usize(1..=4) {
        let places = starts(&text);
        let mut ends = [places[random.usize(..places.len())], places[random.usize(..places.len())]];
        ends.sort_unstable();
        let [from, to] = ends;
        match random.u8(..7) {
            0 => text.insert_str(from, &format!(" {} ", PIECES[random.usize(..PIECES.len())])),
            1 => text.replace_range(from..to, ""),
            2 => {
                let piece = text[from..to].to_string();
                text.insert_str(places[random.usize(..places.len())], &piece);
            }
            3 => text.truncate(from),
            4 => {
                let other = pick(random);
                let others = starts(&other);
                text.truncate(from);
                text.push_str(&other[others[random.usize(..others.len())]..]);
            }
            5 => {
                let depth = 1 << random.u8(..9);
                text.insert_str(to, &")".repeat(depth));
                text.insert_str(from, &"(".repeat(depth));
            }
            _ => {
                let next = places.iter().copied().find(|p| *p > from).unwrap_or(text.len());
                text.replace_range(from..next, PIECES[random.usize(..PIECES.len())]);
            }
        }
        // A text that only grows is slow, and finds nothing new.
        if text.len() > 8_000 {
            let cut = starts(&text).into_iter().rfind(|p| *p <= 4_000).unwrap_or(0);
            text.truncate(cut);
        }
    }
    text.into_bytes()
}
