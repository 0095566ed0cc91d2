//! `BREAK` and `COMPUTE`.

use crate::breaks::{Break, Compute, Function, On};
use crate::shell::Shell;
use crate::text::{quoted_words, words};
use crate::titles::abbreviates;

impl Shell<'_> {
    /// `BREAK [ON element [SKIP n | [SKIP] PAGE] [NODUPLICATES | DUPLICATES]]…`; a new definition replaces the old one.
    pub(crate) fn break_on(&mut self, rest: &str) {
        if rest.is_empty() {
            if self.settings.breaks.is_empty() {
                self.out.line("SP2-0015: no break(s) defined");
            }
            for (at, rule) in self.settings.breaks.clone().iter().enumerate() {
                let begin = if at == 0 { "break" } else { "     " };
                self.out.line(&format!("{begin} on {}", shown_break(rule)));
            }
            return;
        }
        match parse_breaks(rest) {
            Ok(breaks) => self.settings.breaks = breaks,
            Err(message) => self.out.line(&message),
        }
    }

    /// `COMPUTE [function [LABEL text]… OF column… ON element…]`. A new definition for a column and an element replaces
    /// the one before.
    pub(crate) fn compute(&mut self, rest: &str) {
        if rest.is_empty() {
            for compute in self.settings.computes.clone() {
                self.out.line(&shown_compute(&compute));
            }
            return;
        }
        match parse_compute(rest) {
            Ok(computes) => {
                for compute in computes {
                    let same = |known: &Compute| known.of == compute.of && known.on == compute.on;
                    match self.settings.computes.iter_mut().find(|known| same(known)) {
                        Some(known) => *known = compute,
                        None => self.settings.computes.push(compute),
                    }
                }
            }
            Err(message) => self.out.line(&message),
        }
    }
}

fn parse_breaks(text: &str) -> Result<Vec<Break>, String> {
    let all = words(text);
    let mut breaks: Vec<Break> = Vec::new();
    let mut rest = all.as_slice();
    while let Some((word, tail)) = rest.split_first() {
        rest = tail;
        let next = rest.first().map_or("", String::as_str);
        if word.eq_ignore_ascii_case("on") || word.eq_ignore_ascii_case("by") {
            // An expression may have blanks.
            let end = rest.iter().position(|word| ends_element(word)).unwrap_or(rest.len()).max(1);
            let Some(element) = rest.get(..end).filter(|_| !next.eq_ignore_ascii_case("on")) else {
                return Err(format!("SP2-0017: missing column name after {} keyword", word.to_uppercase()));
            };
            breaks.push(Break { on: On::parse(&element.concat()), skip: 0, page: false, duplicates: false });
            rest = &rest[end..];
            continue;
        }
        let Some(last) = breaks.last_mut() else {
            return Err("SP2-0016: break specification must start with ON/BY or ACROSS keyword".into());
        };
        match () {
            () if abbreviates(word, "skip", 3) && abbreviates(next, "page", 3) => {
                last.page = true;
                rest = &rest[1..];
            }
            () if abbreviates(word, "skip", 3) => {
                last.skip = match next.parse::<usize>() {
                    Ok(n) if n <= 50_000 => n,
                    Err(_) if next.is_empty() || ends_element(next) => 1,
                    _ => return Err("SP2-0019: invalid numeric argument to SKIP option".into()),
                };
                rest = &rest[usize::from(next.parse::<usize>().is_ok())..];
            }
            () if abbreviates(word, "page", 3) => last.page = true,
            () if abbreviates(word, "duplicates", 3) => last.duplicates = true,
            () if abbreviates(word, "noduplicates", 5) => last.duplicates = false,
            () => return Err(format!("SP2-0158: unknown BREAK option \"{word}\"")),
        }
    }
    Ok(breaks)
}

/// Whether a word cannot belong to the expression of a break.
fn ends_element(word: &str) -> bool {
    let keywords = [("on", 2), ("by", 2), ("skip", 3), ("page", 3), ("duplicates", 3), ("noduplicates", 5)];
    keywords.iter().any(|(full, least)| abbreviates(word, full, *least))
}

fn parse_compute(text: &str) -> Result<Vec<Compute>, String> {
    let all = quoted_words(text);
    let mut functions: Vec<(Function, String)> = Vec::new();
    let mut rest = all.as_slice();
    while let Some(((word, quoted), tail)) = rest.split_first() {
        if !quoted && word.eq_ignore_ascii_case("of") {
            break;
        }
        rest = tail;
        if !quoted && abbreviates(word, "label", 3) {
            let (Some(last), Some(((label, _), tail))) = (functions.last_mut(), rest.split_first()) else {
                return Err(format!("SP2-0158: unknown COMPUTE option \"{word}\""));
            };
            last.1 = label.chars().take(500).collect();
            rest = tail;
            continue;
        }
        let function = Function::parse(word).filter(|_| !quoted);
        let function = function.ok_or_else(|| format!("SP2-0158: unknown COMPUTE option \"{word}\""))?;
        functions.retain(|(known, _)| *known != function);
        functions.push((function, function.label().to_string()));
    }
    functions.sort_by_key(|(function, _)| *function);
    let names: Vec<&str> = rest.iter().skip(1).map(|(word, _)| word.trim_matches(',')).collect();
    let on = names.iter().position(|word| word.eq_ignore_ascii_case("on"));
    let (of, on) = match on {
        Some(at) => (&names[..at], &names[at + 1..]),
        None => (names.as_slice(), &names[names.len()..]),
    };
    for (missing, keyword) in [(functions.is_empty() || of.is_empty(), "OF"), (on.is_empty(), "ON")] {
        if missing {
            return Err(format!("SP2-0017: missing column name after {keyword} keyword"));
        }
    }
    let mut computes = Vec::new();
    for on in on.iter().filter(|word| !word.is_empty()) {
        for of in of.iter().filter(|word| !word.is_empty()) {
            let functions = functions.clone();
            computes.push(Compute { functions, of: of.to_uppercase(), on: On::parse(on) });
        }
    }
    Ok(computes)
}

fn shown_break(rule: &Break) -> String {
    let skip = match (rule.page, rule.skip) {
        (true, _) => " page".to_string(),
        (_, 0) => String::new(),
        (_, n) => format!(" skip {n}"),
    };
    let name = rule.on.shown().to_lowercase();
    format!("{name}{skip} {}", if rule.duplicates { "dup" } else { "nodup" })
}

fn shown_compute(compute: &Compute) -> String {
    let functions: Vec<String> = compute
        .functions
        .iter()
        .map(|(function, label)| format!("{} LABEL '{}'", function.label(), label.replace('\'', "''")))
        .collect();
    format!("COMPUTE {} OF {} ON {}", functions.join(" "), compute.of, compute.on.shown().to_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breaks_have_elements_and_actions() {
        let breaks = parse_breaks("on report on sal + comm skip 2 dup on row skip page").unwrap();
        let shown: Vec<String> = breaks.iter().map(shown_break).collect();
        assert_eq!(shown, ["report nodup", "sal+comm skip 2 dup", "row page nodup"]);
        assert_eq!(parse_breaks("on a skip on b").unwrap()[0].skip, 1);
        for (text, code) in [
            ("skip 1", "SP2-0016"),
            ("on", "SP2-0017"),
            ("on on a", "SP2-0017"),
            ("on a skip x", "SP2-0019"),
            ("on a skip 99999999999999999999", "SP2-0019"),
            ("on a dup what", "SP2-0158"),
        ] {
            let message = parse_breaks(text).unwrap_err();
            assert!(message.starts_with(code), "{text}: {message}");
        }
    }

    #[test]
    fn computations_have_functions_columns_and_elements() {
        let computes = parse_compute("sum label 'It''s' avg of sal, comm on deptno report").unwrap();
        let shown: Vec<String> = computes.iter().map(shown_compute).collect();
        assert_eq!(
            shown,
            [
                "COMPUTE avg LABEL 'avg' sum LABEL 'It''s' OF SAL ON DEPTNO",
                "COMPUTE avg LABEL 'avg' sum LABEL 'It''s' OF COMM ON DEPTNO",
                "COMPUTE avg LABEL 'avg' sum LABEL 'It''s' OF SAL ON REPORT",
                "COMPUTE avg LABEL 'avg' sum LABEL 'It''s' OF COMM ON REPORT"
            ]
        );
        for text in
            ["sum", "sum of", "of sal on x", "sum of sal", "sum of sal on", "label x of a on b", "nothing of a on b"]
        {
            assert!(parse_compute(text).is_err(), "{text}");
        }
    }
}
