//! `BREAK`.

use crate::settings::Break;
use crate::shell::Shell;
use crate::text::words;

impl Shell<'_> {
    /// `BREAK [ON column [SKIP n | SKIP PAGE] [NODUPLICATES | DUPLICATES]]…`; `ON ROW` and `ON REPORT` print nothing by
    /// themselves.
    pub(crate) fn break_on(&mut self, rest: &str) {
        let all = words(rest);
        if all.is_empty() {
            let lines: Vec<String> = self.settings.breaks.iter().map(shown_break).collect();
            if lines.is_empty() {
                self.out.line("SP2-0045: no break(s) defined");
            }
            for line in lines {
                self.out.line(&line);
            }
            return;
        }
        let mut breaks: Vec<Break> = Vec::new();
        let mut at = all.iter().map(|word| word.to_ascii_lowercase());
        while let Some(word) = at.next() {
            let last = breaks.last_mut();
            match (word.as_str(), last) {
                ("on", _) => {
                    let column = at.next().unwrap_or_default().to_uppercase();
                    if column.is_empty() {
                        self.out.line("SP2-0266: internal error: BREAK ON needs a column");
                        return;
                    }
                    breaks.push(Break { column, skip: 0, page: false, duplicates: false });
                }
                (w, Some(last)) if w.starts_with("ski") => match at.next().as_deref() {
                    Some("page") => last.page = true,
                    Some(n) => match n.parse() {
                        Ok(n) => last.skip = n,
                        Err(_) => {
                            self.out.line("SP2-0038: Command BREAK SKIP needs a number of lines or PAGE");
                            return;
                        }
                    },
                    None => last.skip = 1,
                },
                ("page", Some(last)) => last.page = true,
                (w, Some(last)) if w.starts_with("dup") => last.duplicates = true,
                (w, Some(_)) if w.starts_with("nodup") => {}
                _ => {
                    self.out.line(&format!("SP2-0158: unknown BREAK option \"{word}\""));
                    return;
                }
            }
        }
        self.settings.breaks = breaks;
    }
}

fn shown_break(of: &Break) -> String {
    let skip = match (of.page, of.skip) {
        (true, _) => " page".to_string(),
        (_, 0) => String::new(),
        (_, n) => format!(" skip {n}"),
    };
    format!("break on {}{skip} {}", of.column.to_lowercase(), if of.duplicates { "dup" } else { "nodup" })
}
