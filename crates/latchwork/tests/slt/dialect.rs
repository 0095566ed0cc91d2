//! Rules over tokens that recognise records in other SQL dialects, with Oracle's answer and an equivalent in Oracle's
//! SQL.
//!
//! A rule sees only the statement: no file, no line, no answer.

/// A token of SQL with the place where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token<'a> {
    text: &'a str,
    kind: Kind,
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Text,
    Mark,
}

/// The result of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The name of the rule, for the summary.
    pub rule: &'static str,
    /// The possible errors in Oracle.
    pub errors: &'static [u32],
    /// The equivalent statement in Oracle's SQL, if there is one.
    pub oracle: Option<String>,
}

/// The rule of `DROP … IF EXISTS`.
pub const IF_EXISTS: &str = "IF EXISTS";
/// The rule for statements on an object that a refused CREATE would have made.
const ON_MISSING: &str = "on something that was refused";
/// The name under which divisions are reported that agree only when truncated.
pub const INTEGER_DIVISION: &str = "integer division";

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let bytes = sql.as_bytes();
    let (mut out, mut at, mut depth): (Vec<Token>, usize, usize) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let start = at;
        let c = bytes[at];
        let kind = match c {
            _ if c.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\'' | b'"' => {
                at += 1;
                while at < bytes.len() {
                    at += 1;
                    if bytes[at - 1] == c {
                        if bytes.get(at) != Some(&c) {
                            break;
                        }
                        at += 1;
                    }
                }
                if c == b'"' { Kind::Word } else { Kind::Text }
            }
            _ if c.is_ascii_digit() || (c == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) => {
                while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'.') {
                    at += 1;
                }
                Kind::Number
            }
            _ if c.is_ascii_alphabetic() || c == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || b"_$#".contains(&bytes[at])) {
                    at += 1;
                }
                Kind::Word
            }
            _ => {
                let two = sql.get(at..at + 2).unwrap_or("");
                at += if ["<=", ">=", "<>", "!=", "||", "==", "<<", ">>"].contains(&two) {
                    2
                } else {
                    sql[at..].chars().next().map_or(1, char::len_utf8)
                };
                Kind::Mark
            }
        };
        let text = &sql[start..at];
        if text == ")" {
            depth = depth.saturating_sub(1);
        }
        out.push(Token { text, kind, depth });
        if text == "(" {
            depth += 1;
        }
    }
    out
}

impl Token<'_> {
    fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }
}

fn any(tokens: &[Token], words: &[&str]) -> bool {
    tokens.iter().any(|t| words.iter().any(|w| t.kind == Kind::Word && t.is(w)))
}

/// The position of a sequence of words.
fn sequence(tokens: &[Token], words: &[&str]) -> Option<usize> {
    tokens.windows(words.len()).position(|w| w.iter().zip(words).all(|(t, word)| t.is(word)))
}

/// Returns the positions of `AS` between a table (or a parenthesis) in FROM and its alias.
fn table_aliases(tokens: &[Token]) -> Vec<usize> {
    let mut found = Vec::new();
    // For each depth, whether the tokens are inside a FROM clause.
    let mut from: Vec<bool> = Vec::new();
    for (i, t) in tokens.iter().enumerate() {
        from.truncate(t.depth + 1);
        from.resize(t.depth + 1, false);
        // A parenthesis in FROM around a join keeps the state outside of it.
        if t.text == "(" {
            from.push(from[t.depth] && !tokens.get(i + 1).is_some_and(|n| n.is("SELECT")));
        } else if t.is("FROM") && t.kind == Kind::Word {
            from[t.depth] = true;
        } else if t.kind == Kind::Word
            && ["SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "UNION", "ON", "SET"].iter().any(|w| t.is(w))
        {
            from[t.depth] = false;
        } else if t.is("JOIN") && t.kind == Kind::Word {
            from[t.depth] = true;
        } else if t.is("AS") && from[t.depth] && i > 0 {
            found.push(i);
        }
    }
    found
}

/// Joins tokens, separated by blanks.
fn join<'a>(tokens: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for t in tokens {
        if !(out.is_empty() || t == "." || out.ends_with('.')) {
            out.push(' ');
        }
        out.push_str(t);
    }
    out
}

/// Returns the foreign construct of a statement, if any.
pub fn classify(sql: &str) -> Option<Foreign> {
    let t = tokens(sql);
    let first = t.first()?;
    let foreign = |rule, errors, oracle| Some(Foreign { rule, errors, oracle });
    if first.is("REPLACE")
        || first.is("REINDEX")
        || first.is("PRAGMA")
        || first.is("VACUUM")
        || first.is("BEGIN") && t.len() < 3
    {
        return foreign("a statement of another language", &[900, 6550], None);
    }
    if first.is("INSERT") && t.get(1).is_some_and(|n| n.is("OR")) {
        return foreign("INSERT OR", &[925], None);
    }
    if first.is("CREATE") && any(&t[..t.len().min(4)], &["TRIGGER"]) {
        return trigger(&t);
    }
    if first.is("CREATE") && t.get(1).is_some_and(|n| n.is("TEMP") || n.is("TEMPORARY")) {
        return foreign("CREATE TEMPORARY", &[901, 905], None);
    }
    if first.is("DROP") && sequence(&t, &["IF", "EXISTS"]) == Some(2) {
        let oracle = join(t[..2].iter().chain(&t[4..]).map(|t| t.text));
        return foreign(IF_EXISTS, &[933], Some(oracle));
    }
    if first.is("CREATE") && t.get(1).is_some_and(|n| n.is("TABLE")) {
        return table(&t);
    }
    if first.is("UPDATE")
        && let Some(oracle) = twice_set(&t)
    {
        return foreign("a column set twice", &[957], Some(oracle));
    }
    if first.is("INSERT")
        && let Some(values) = t.iter().position(|t| t.is("VALUES"))
        && t[values..].windows(3).any(|w| w[0].text == ")" && w[0].depth == 0 && w[1].text == "," && w[2].text == "(")
    {
        return foreign("VALUES of many rows", &[933], None);
    }
    if let Some(rule) = expression(&t) {
        return Some(rule);
    }
    let aliases = table_aliases(&t);
    if !aliases.is_empty() {
        let errors: &[u32] = if aliases.iter().all(|&i| t[i].depth == 0) { &[933] } else { &[907, 933] };
        let oracle = join(t.iter().enumerate().filter(|(i, _)| !aliases.contains(i)).map(|(_, t)| t.text));
        return foreign("AS before a table alias", errors, Some(oracle));
    }
    if first.is("SELECT") && !t.iter().any(|t| t.depth == 0 && t.is("FROM")) {
        let end =
            t.iter().position(|t| t.depth == 0 && (t.is("ORDER") || t.is("WHERE") || t.is("UNION"))).unwrap_or(t.len());
        let plain = !t[..end].iter().any(|t| ["<", ">", "=", "<=", ">=", "<>", "!="].contains(&t.text) && t.depth == 0)
            && !any(&t[..end], &["IN", "IS", "LIKE", "BETWEEN", "NOT", "EXISTS"]);
        let oracle = plain.then(|| {
            join(t[..end].iter().map(|t| t.text).chain(["FROM", "DUAL"]).chain(t[end..].iter().map(|t| t.text)))
        });
        return foreign("SELECT without FROM", &[923, 936], oracle);
    }
    if first.is("SELECT") && select_without_from(&t) {
        return foreign("SELECT without FROM", &[923, 936], None);
    }
    if first.is("SELECT") && condition_in_list(&t) {
        return foreign("a condition in the select list", &[923, 936], None);
    }
    None
}

/// Returns the name of the object in a CREATE statement.
pub fn created(sql: &str) -> Option<String> {
    let t = tokens(sql);
    let kind = t.iter().position(|t| ["TABLE", "VIEW", "TRIGGER", "INDEX"].iter().any(|w| t.is(w)))?;
    (t[0].is("CREATE") && kind <= 3).then(|| t.get(kind + 1).map(|t| t.text.to_ascii_uppercase()))?
}

/// The name of the view in a CREATE VIEW statement.
pub fn created_view(sql: &str) -> Option<String> {
    let t = tokens(sql);
    (t.first()?.is("CREATE") && t.get(1)?.is("VIEW")).then(|| t.get(2).map(|t| t.text.to_ascii_uppercase()))?
}

/// The object that a DELETE or UPDATE changes.
pub fn changed(sql: &str) -> Option<String> {
    let t = tokens(sql);
    let name = match t.first()? {
        first if first.is("UPDATE") => t.get(1)?,
        first if first.is("DELETE") && t.get(1)?.is("FROM") => t.get(2)?,
        _ => return None,
    };
    Some(name.text.to_ascii_uppercase())
}

/// Whether a DROP or ALTER is for an object that a refused CREATE would have made.
pub fn on_missing(sql: &str, missing: &[String]) -> Option<Foreign> {
    let t = tokens(sql);
    let about = t.first()?.is("DROP") || t.first()?.is("ALTER");
    let named = t.get(2).is_some_and(|name| missing.contains(&name.text.to_ascii_uppercase()));
    (about && named).then_some(Foreign { rule: ON_MISSING, errors: &[4080, 942, 4043, 1418, 3001], oracle: None })
}

/// A trigger of another dialect has no time before its event; a body that selects without INTO compiles with errors.
fn trigger(t: &[Token]) -> Option<Foreign> {
    let timed = any(&t[..t.len().min(8)], &["BEFORE", "AFTER", "INSTEAD"]);
    let errors: &'static [u32] = if timed { &[24344, 4079, 25002, 25001] } else { &[4071, 922] };
    Some(Foreign { rule: "CREATE TRIGGER", errors, oracle: None })
}

/// Types that Oracle does not have, and VARCHAR without a length.
fn table(t: &[Token]) -> Option<Foreign> {
    const UNKNOWN: [(&str, &str); 6] = [
        ("TEXT", "VARCHAR2(4000)"),
        ("BOOL", "NUMBER"),
        ("BIGINT", "INTEGER"),
        ("TINYINT", "INTEGER"),
        ("DOUBLE", "FLOAT"),
        ("DATETIME", "DATE"),
    ];
    let type_of = |i: usize| -> Option<&str> {
        // A type follows a column's name, which follows a comma or the parenthesis.
        let named = i >= 2
            && t[i].kind == Kind::Word
            && t[i].depth == 1
            && t[i - 1].kind == Kind::Word
            && (t[i - 2].text == "," || t[i - 2].text == "(");
        UNKNOWN.iter().find(|(name, _)| named && t[i].is(name)).map(|(_, oracle)| *oracle)
    };
    if (0..t.len()).any(|i| type_of(i).is_some()) {
        let oracle = join((0..t.len()).map(|i| type_of(i).unwrap_or(t[i].text)));
        return Some(Foreign { rule: "a type that Oracle does not have", errors: &[902, 907], oracle: Some(oracle) });
    }
    let bare = |i: usize| t[i].is("VARCHAR") && t[i].depth == 1 && t.get(i + 1).is_none_or(|n| n.text != "(");
    if (0..t.len()).any(bare) {
        let oracle = join((0..t.len()).map(|i| if bare(i) { "VARCHAR2(4000)" } else { t[i].text }));
        return Some(Foreign { rule: "VARCHAR without a length", errors: &[906], oracle: Some(oracle) });
    }
    None
}

/// `SET x = 1, x = 2`: in other languages the last one counts.
fn twice_set(t: &[Token]) -> Option<String> {
    let set = t.iter().position(|t| t.is("SET"))?;
    let end = t.iter().position(|t| t.depth == 0 && t.is("WHERE")).unwrap_or(t.len());
    let parts: Vec<&[Token]> = t[set + 1..end].split(|t| t.depth == 0 && t.text == ",").collect();
    let name = |part: &[Token]| part.first().map(|t| t.text.to_ascii_uppercase());
    let kept: Vec<&&[Token]> = parts
        .iter()
        .enumerate()
        .filter(|(i, p)| !parts[i + 1..].iter().any(|q| name(q) == name(p)))
        .map(|(_, p)| p)
        .collect();
    if kept.len() == parts.len() {
        return None;
    }
    let list = kept.iter().map(|p| join(p.iter().map(|t| t.text))).collect::<Vec<_>>().join(" , ");
    Some(format!("{} {list} {}", join(t[..=set].iter().map(|t| t.text)), join(t[end..].iter().map(|t| t.text))))
}

/// Operators and forms of expressions that Oracle does not have.
fn expression(t: &[Token]) -> Option<Foreign> {
    let foreign = |rule, errors| Some(Foreign { rule, errors, oracle: None });
    for (i, token) in t.iter().enumerate() {
        let next = t.get(i + 1);
        let behind = |text: &str| next.is_some_and(|n| n.text == text);
        match token.text {
            "==" => return foreign("==", &[936]),
            "%" | "&" | "~" | "<<" | ">>" if token.kind == Kind::Mark => {
                return foreign("an operator that Oracle does not have", &[911, 936, 933, 1745]);
            }
            _ => {}
        }
        if token.kind != Kind::Word {
            continue;
        }
        if token.is("IN") && behind("(") && t.get(i + 2).is_some_and(|n| n.text == ")") {
            return foreign("IN ()", &[936]);
        }
        if token.is("IN") && next.is_some_and(|n| n.kind == Kind::Word && !n.text.starts_with('"')) {
            return foreign("IN without parentheses", &[906, 920, 936, 933, 904]);
        }
        if token.is("LIMIT") && i > 0 && next.is_some_and(|n| n.kind == Kind::Number) {
            return foreign("LIMIT", &[933]);
        }
        if token.is("EXCEPT") && next.is_some_and(|n| n.is("SELECT") || n.is("ALL")) {
            return foreign("EXCEPT", &[933, 907]);
        }
        if (token.is("GLOB") || token.is("REGEXP") || token.is("DIV") || token.is("ISNULL") || token.is("NOTNULL"))
            && i > 0
            && t[i - 1].text != ","
            && t[i - 1].text != "."
            && !behind("(")
        {
            return foreign("an operator that Oracle does not have", &[920, 907, 933, 923]);
        }
        if token.is("INDEXED") && (behind("BY") || (i > 0 && t[i - 1].is("NOT"))) {
            return foreign("INDEXED BY", &[933, 907]);
        }
    }
    None
}

/// A SELECT in parentheses whose parentheses hold no FROM.
fn select_without_from(t: &[Token]) -> bool {
    t.iter().enumerate().any(|(i, token)| {
        let inner = token.is("SELECT") && token.kind == Kind::Word && token.depth > 0;
        inner && !t[i..].iter().take_while(|n| n.depth >= token.depth).any(|n| n.depth == token.depth && n.is("FROM"))
    })
}

/// A comparison, or IN, IS, LIKE, BETWEEN, outside of CASE and parentheses before FROM.
fn condition_in_list(t: &[Token]) -> bool {
    let from = t.iter().position(|t| t.depth == 0 && t.is("FROM")).unwrap_or(t.len());
    let mut cases = 0usize;
    for token in t[..from].iter().filter(|t| t.depth == 0) {
        match token.text.to_ascii_uppercase().as_str() {
            "CASE" => cases += 1,
            "END" => cases = cases.saturating_sub(1),
            "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" | "IN" | "IS" | "LIKE" | "BETWEEN" | "EXISTS" | "AND"
            | "OR" | "NOT"
                if cases == 0 =>
            {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Replaces every division by its truncated form, as dialects with integer division define it; `None` without a
/// division.
///
/// `float_columns` are the columns whose type has a fraction: a division with one of them, or with a literal with a
/// decimal point, is kept.
pub fn cut_divisions(sql: &str, float_columns: &[String]) -> Option<String> {
    let t = tokens(sql);
    let fractional = |t: &Token| {
        (t.kind == Kind::Number && t.text.contains('.'))
            || (t.kind == Kind::Word && (float_columns.iter().any(|c| t.is(c)) || t.is("AVG")))
    };
    let slash = t.iter().position(|t| t.text == "/")?;
    let start = operand_start(&t, slash)?;
    let end = operand_end(&t, slash)?;
    if t[start..=end].iter().any(fractional) {
        return None;
    }
    let mut words: Vec<&str> = t.iter().map(|t| t.text).collect();
    words[slash] = "\u{0}";
    words.insert(end + 1, ")");
    words.insert(start, "TRUNC (");
    let marked = join(words);
    // Other divisions follow; finished ones are hidden from the search.
    let rest = cut_divisions(&marked.replace('\u{0}', "\u{1}"), float_columns).unwrap_or(marked);
    Some(rest.replace(['\u{0}', '\u{1}'], "/"))
}

/// The beginning of the left operand of a division: a chain of `*` and `\1` and primaries.
fn operand_start(t: &[Token], slash: usize) -> Option<usize> {
    let mut at = slash;
    loop {
        at = at.checked_sub(1)?;
        if t[at].text == ")" {
            let depth = t[at].depth;
            at = (0..at).rev().find(|&i| t[i].text == "(" && t[i].depth == depth)?;
            if at > 0
                && t[at - 1].kind == Kind::Word
                && !["SELECT", "WHERE", "AND", "OR", "NOT", "IN", "CASE", "WHEN", "THEN", "ELSE", "DISTINCT"]
                    .iter()
                    .any(|w| t[at - 1].is(w))
            {
                at -= 1;
            }
        } else if at >= 2 && t[at - 1].text == "." {
            at -= 2;
        }
        match at.checked_sub(1).map(|before| t[before].text) {
            Some("*" | "\u{1}") => at -= 1,
            _ => return Some(at),
        }
    }
}

fn operand_end(t: &[Token], slash: usize) -> Option<usize> {
    let mut at = slash + 1;
    while matches!(t.get(at)?.text, "-" | "+") {
        at += 1;
    }
    if t[at].kind == Kind::Word && t.get(at + 1).is_some_and(|n| n.text == ".") {
        at += 2;
    }
    if t[at].kind == Kind::Word && t.get(at + 1).is_some_and(|n| n.text == "(") {
        at += 1;
    }
    if t[at].text == "(" {
        let depth = t[at].depth;
        at = (at + 1..t.len()).find(|&i| t[i].text == ")" && t[i].depth == depth)?;
    }
    Some(at)
}

/// Returns the columns of a CREATE TABLE whose type has a fraction.
pub fn float_columns(sql: &str) -> Vec<String> {
    let t = tokens(sql);
    if !(t.first().is_some_and(|t| t.is("CREATE")) && t.get(1).is_some_and(|t| t.is("TABLE"))) {
        return Vec::new();
    }
    let float = |t: &Token| ["FLOAT", "REAL", "DOUBLE", "NUMERIC", "DECIMAL"].iter().any(|w| t.is(w));
    (1..t.len()).filter(|&i| t[i].depth == 1 && float(&t[i])).map(|i| t[i - 1].text.to_owned()).collect()
}

#[test]
fn what_is_oracles_language() {
    for legal in [
        "SELECT a FROM t1 WHERE b > 2 ORDER BY 1",
        "SELECT a AS x, count(*) AS n FROM t1 x GROUP BY a",
        "SELECT CASE WHEN a > 1 THEN 2 ELSE 3 END FROM t1",
        "SELECT (SELECT count(*) FROM t1 x WHERE x.b < t1.b) FROM t1",
        "SELECT CAST(a AS INTEGER) FROM t1 WHERE a IN (1, 2) AND b IN (SELECT c FROM t2)",
        "CREATE TABLE t1 (a INTEGER, text VARCHAR(8), c FLOAT)",
        "UPDATE t1 SET x = 1, y = 2 WHERE x = 3",
        "INSERT INTO t1 (a, b) VALUES (1, (2))",
        "SELECT replace(a, 'b') FROM t1",
        "SELECT extract(year FROM d) AS y FROM t1",
        "SELECT 1 FROM t1 WHERE 1 IN (SELECT (a) FROM t2)",
    ] {
        assert_eq!(classify(legal), None, "{legal}");
    }
    for (foreign, error, oracle) in [
        ("SELECT a FROM t1 AS x", 933, Some("SELECT a FROM t1 x")),
        (
            "SELECT (SELECT count(*) FROM t1 AS x WHERE x.b<t1.b) FROM t1",
            907,
            Some("SELECT ( SELECT count ( * ) FROM t1 x WHERE x.b < t1.b ) FROM t1"),
        ),
        ("SELECT 1", 923, Some("SELECT 1 FROM DUAL")),
        ("SELECT 1 IN (2)", 923, None),
        ("SELECT 1 FROM t1 WHERE 1 IN (SELECT 1)", 923, None),
        ("SELECT x IN () FROM t1", 936, None),
        ("SELECT x IS NULL FROM t1", 923, None),
        ("CREATE TABLE t (a TEXT, b INTEGER)", 902, Some("CREATE TABLE t ( a VARCHAR2(4000) , b INTEGER )")),
        ("UPDATE t1 SET x=3, x=4, x=5", 957, Some("UPDATE t1 SET x = 5 ")),
        ("INSERT INTO t VALUES (1), (2)", 933, None),
        ("REPLACE INTO t VALUES (1)", 900, None),
        ("SELECT a FROM t LIMIT 1", 933, None),
        ("DROP TABLE IF EXISTS t", 933, Some("DROP TABLE t")),
    ] {
        let found = classify(foreign).unwrap_or_else(|| panic!("{foreign}"));
        assert!(found.errors.contains(&error), "{foreign}: {found:?}");
        assert_eq!(found.oracle.as_deref(), oracle, "{foreign}");
    }
}

#[test]
fn divisions_are_cut() {
    for (sql, cut) in [
        ("SELECT (a+b)/5 FROM t", Some("SELECT TRUNC ( ( a + b ) / 5 ) FROM t")),
        ("SELECT a*b/c FROM t", Some("SELECT TRUNC ( a * b / c ) FROM t")),
        ("SELECT a/2/3 FROM t", Some("SELECT TRUNC ( TRUNC ( a / 2 ) / 3 ) FROM t")),
        ("SELECT abs(a)/t.b + 1 FROM t", Some("SELECT TRUNC ( abs ( a ) / t.b ) + 1 FROM t")),
        ("SELECT a/2.5 FROM t", None),
        ("SELECT f/2 FROM t", None),
        ("SELECT a FROM t", None),
    ] {
        assert_eq!(cut_divisions(sql, &["f".to_owned()]).as_deref(), cut, "{sql}");
    }
}
