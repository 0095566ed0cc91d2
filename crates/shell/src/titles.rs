//! `TTITLE`, `BTITLE`, `REPHEADER`, `REPFOOTER`: what they are made of, and their lines on a page.
//!
//! A title has one of two forms. If its first word is a place (`LEFT`, `SKIP`, `COL` …), it is a list of places and
//! texts. Otherwise it is the old form: one text in the middle, under a line with the date and the number of the page.

use crate::substitute::Variables;
use crate::text::{right, title_words, width, words as words_of};
use types::{Date, Nls, Number};

/// More lines than a page can have are a slip.
const SKIP_MAX: usize = 50_000;
/// The widest line.
const COLUMN_MAX: usize = 32_767;

/// One part of a title.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Left,
    Center,
    Right,
    Column(usize),
    Tab(isize),
    Skip(usize),
    Bold,
    Format(String),
    Text(String),
    /// A word without quotes: `SQL.PNO`, a variable, or itself.
    Word(String),
}

/// A title as it was defined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Title {
    pub on: bool,
    /// `REPHEADER PAGE`, `REPFOOTER PAGE`: the title has a page of its own.
    pub own_page: bool,
    source: String,
    /// The text of the old form.
    old: Option<String>,
    parts: Vec<Part>,
}

/// The four titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Titles {
    pub top: Title,
    pub bottom: Title,
    pub header: Title,
    pub footer: Title,
}

/// The state that a title shows.
pub struct Facts<'f> {
    pub linesize: usize,
    pub headsep: Option<char>,
    pub numwidth: usize,
    pub nls: &'f Nls,
    pub page: u64,
    pub line: usize,
    pub user: &'f str,
    pub code: i64,
    pub now: Date,
    pub variables: &'f Variables,
}

impl Title {
    /// Parses the words after the command's name. `pages`: the word PAGE is known.
    ///
    /// # Errors
    /// The SP2 message.
    pub fn parse(source: &str, pages: bool) -> Result<Title, String> {
        let words = title_words(source);
        let mut title = Title { on: true, source: source.trim().to_string(), ..Title::default() };
        let mut rest = words.as_slice();
        if pages && rest.first().is_some_and(|(word, quoted)| !quoted && abbreviates(word, "page", 3)) {
            title.own_page = true;
            rest = &rest[1..];
        }
        let placed = rest.first().is_some_and(|(word, quoted)| !quoted && is_place(word));
        if !placed && !pages {
            title.old = Some(words_of(source).join(" "));
            return Ok(title);
        }
        while let Some(((word, quoted), tail)) = rest.split_first() {
            rest = tail;
            if *quoted {
                title.parts.push(Part::Text(word.clone()));
                continue;
            }
            let number = rest.first().filter(|(_, quoted)| !quoted).and_then(|(word, _)| word.parse::<i64>().ok());
            let part = match () {
                () if abbreviates(word, "left", 2) => Part::Left,
                () if abbreviates(word, "center", 2) => Part::Center,
                () if abbreviates(word, "right", 1) => Part::Right,
                () if abbreviates(word, "bold", 4) => Part::Bold,
                () if abbreviates(word, "skip", 1) => {
                    rest = &rest[usize::from(number.is_some())..];
                    let lines = usize::try_from(number.unwrap_or(1)).ok().filter(|n| *n <= SKIP_MAX);
                    Part::Skip(lines.ok_or_else(|| invalid_number("SKIP"))?)
                }
                () if abbreviates(word, "col", 3) => {
                    let column = number.and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= COLUMN_MAX);
                    rest = &rest[usize::from(number.is_some())..];
                    Part::Column(column.ok_or_else(|| invalid_number("COL"))?)
                }
                () if abbreviates(word, "tab", 3) => {
                    let most = COLUMN_MAX as i64;
                    let columns = number.filter(|n| (-most..=most).contains(n));
                    rest = &rest[usize::from(number.is_some())..];
                    Part::Tab(columns.ok_or_else(|| invalid_number("TAB"))? as isize)
                }
                () if abbreviates(word, "format", 3) => {
                    let format = rest.first().map_or("", |(format, _)| format.as_str());
                    if !is_format(format) {
                        return Err(illegal_format(format));
                    }
                    rest = &rest[1..];
                    Part::Format(format.to_string())
                }
                () => Part::Word(word.clone()),
            };
            title.parts.push(part);
        }
        Ok(title)
    }

    /// Whether nothing was ever defined.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// The output of `SHOW` and of the command without words.
    pub fn show(&self, name: &str, unset: &str) -> String {
        let state = if self.on { "ON" } else { "OFF" };
        if self.is_empty() {
            return format!("{name} {state} and is {unset}");
        }
        format!("{name} {state} and is the following {} characters:\n{}", width(&self.source), self.source)
    }

    /// The lines on a page. `dated`: the old form of a top title, with the date and the page.
    pub fn lines(&self, facts: &Facts<'_>, dated: bool) -> Vec<String> {
        if let Some(text) = &self.old {
            return old_form(text, facts, dated);
        }
        let mut canvas = Canvas::new(facts.linesize);
        let mut format: Option<&str> = None;
        for part in &self.parts {
            match part {
                Part::Left => canvas.align(Align::Left),
                Part::Center => canvas.align(Align::Center),
                Part::Right => canvas.align(Align::Right),
                Part::Column(n) => {
                    canvas.align(Align::Here);
                    canvas.at = n.saturating_sub(1);
                }
                Part::Tab(n) => {
                    canvas.align(Align::Here);
                    canvas.at = canvas.at.saturating_add_signed(*n);
                }
                Part::Skip(n) => canvas.skip(*n),
                Part::Bold => canvas.bold = true,
                Part::Format(f) => format = Some(f),
                Part::Text(text) => canvas.group.push_str(text),
                Part::Word(word) => canvas.group.push_str(&value_of(word, format, facts)),
            }
        }
        canvas.finish()
    }
}

/// Whether `word` is `full` or an abbreviation of at least `least` letters.
pub fn abbreviates(word: &str, full: &str, least: usize) -> bool {
    word.len() >= least && word.len() <= full.len() && full.starts_with(&word.to_ascii_lowercase())
}

/// Whether a text is a format of COLUMN: `A` and a width, a number format, or the old word DATE.
pub fn is_format(text: &str) -> bool {
    match text.strip_prefix(['a', 'A']) {
        Some(digits) => digits.parse::<u16>().is_ok_and(|width| width > 0),
        None => text.eq_ignore_ascii_case("date") || is_number_format(text),
    }
}

pub fn is_number_format(text: &str) -> bool {
    let mut written = String::new();
    types::format::number_to_char(&Number::from(0), text, &Nls::default(), &mut written).is_ok()
}

pub fn illegal_format(text: &str) -> String {
    format!("SP2-0246: Illegal FORMAT string \"{text}\"")
}

fn is_place(word: &str) -> bool {
    [("left", 2), ("center", 2), ("right", 1), ("bold", 4), ("skip", 1), ("col", 3), ("tab", 3), ("format", 3)]
        .iter()
        .any(|(full, least)| abbreviates(word, full, *least))
}

fn invalid_number(option: &str) -> String {
    format!("SP2-0019: invalid numeric argument to {option} option")
}

/// The text of a word: a value of the shell, a variable's value, or the word.
fn value_of(word: &str, format: Option<&str>, facts: &Facts<'_>) -> String {
    let number = |n: i64| {
        let mut text = String::new();
        match format {
            Some(model) if types::format::number_to_char(&Number::from(n), model, facts.nls, &mut text).is_ok() => text,
            _ => right(&n.to_string(), facts.numwidth),
        }
    };
    match word.to_ascii_uppercase().as_str() {
        "SQL.PNO" => number(facts.page as i64),
        "SQL.LNO" => number(facts.line as i64),
        "SQL.SQLCODE" => number(facts.code),
        "SQL.RELEASE" => RELEASE.into(),
        "SQL.USER" => facts.user.to_string(),
        _ => match facts.variables.get(word) {
            Some(value) => value.to_string(),
            None => word.to_string(),
        },
    }
}

/// The release that scripts are told.
pub const RELEASE: &str = "1903000000";

/// `Mon Nov 30 … page    1`, the text in the middle, and an empty line; of a bottom title the text alone.
fn old_form(text: &str, facts: &Facts<'_>, dated: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if dated {
        let mut day = String::new();
        // An invalid model is impossible here.
        let _ = types::format::date_to_char(&facts.now, "Dy Mon DD", facts.nls, &mut day);
        let page = format!("page {:>4}", facts.page);
        lines.push(format!("{day}{}", right(&page, facts.linesize.saturating_sub(width(&day)))));
    }
    let pieces: Vec<&str> = match facts.headsep {
        Some(mark) => text.split(mark).collect(),
        None => vec![text],
    };
    for piece in pieces {
        let before = facts.linesize.saturating_sub(width(piece)) / 2;
        lines.push(format!("{}{piece}", " ".repeat(before)));
    }
    if dated {
        lines.push(String::new());
    }
    lines
}

#[derive(Clone, Copy)]
enum Align {
    Left,
    Center,
    Right,
    /// At the position that the last text ended at, or that COL or TAB chose.
    Here,
}

/// The lines that a title draws.
struct Canvas {
    lines: Vec<String>,
    line: Vec<char>,
    /// The bold texts of the line: SQL*Plus shows them on three lines, one under the other.
    heavy: Vec<char>,
    linesize: usize,
    at: usize,
    align: Align,
    /// The texts since the last place.
    group: String,
    bold: bool,
}

impl Canvas {
    fn new(linesize: usize) -> Canvas {
        Canvas {
            lines: Vec::new(),
            line: Vec::new(),
            heavy: Vec::new(),
            linesize,
            at: 0,
            align: Align::Here,
            group: String::new(),
            bold: false,
        }
    }

    /// Draws the texts of the last place and begins another.
    fn align(&mut self, align: Align) {
        let text: Vec<char> = std::mem::take(&mut self.group).chars().collect();
        if !text.is_empty() {
            let start = match self.align {
                Align::Left => 0,
                Align::Center => self.linesize.saturating_sub(text.len()) / 2,
                Align::Right => self.linesize.saturating_sub(text.len()),
                Align::Here => self.at,
            };
            let end = start.saturating_add(text.len()).min(self.linesize);
            let bold = std::mem::take(&mut self.bold);
            for line in [Some(&mut self.line), bold.then_some(&mut self.heavy)].into_iter().flatten() {
                if line.len() < end {
                    line.resize(end, ' ');
                }
                for (place, c) in (start..end).zip(&text) {
                    line[place] = *c;
                }
            }
            self.at = end;
        }
        self.align = align;
    }

    fn skip(&mut self, lines: usize) {
        self.align(Align::Here);
        self.at = 0;
        for _ in 0..lines {
            self.end_line();
        }
    }

    fn end_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line).into_iter().collect());
        let heavy: String = std::mem::take(&mut self.heavy).into_iter().collect();
        if !heavy.is_empty() {
            self.lines.extend([heavy.clone(), heavy]);
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.align(Align::Here);
        if !self.line.is_empty() {
            self.end_line();
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str, dated: bool) -> Vec<String> {
        let mut variables = Variables::default();
        variables.define("dept", "RESEARCH");
        let nls = Nls::default();
        let facts = Facts {
            linesize: 40,
            headsep: Some('|'),
            numwidth: 10,
            nls: &nls,
            page: 3,
            line: 7,
            user: "SCOTT",
            code: 0,
            now: Date::from_ymd(2026, 11, 5).unwrap(),
            variables: &variables,
        };
        Title::parse(source, false).unwrap().lines(&facts, dated)
    }

    #[test]
    fn places_and_texts() {
        assert_eq!(lines("LEFT 'a' CENTER 'middle' RIGHT 'end'", false), ["a                middle              end"]);
        assert_eq!(lines("CENTER 'x' SKIP 2", false), ["                   x", ""]);
        assert_eq!(lines("SKIP 2 LEFT x", false), ["", "", "x"]);
        assert_eq!(lines("LEFT 'Page' SQL.PNO", false), ["Page         3"]);
        assert_eq!(lines("LEFT 'Page' FORMAT 999 SQL.PNO", false), ["Page   3"]);
        assert_eq!(lines("LEFT 'Dept ' dept ' by ' SQL.USER", false), ["Dept RESEARCH by SCOTT"]);
        assert_eq!(lines("COL 5 'five' TAB 2 'on' COL 1 'x'", false), ["x   five  on"]);
        assert_eq!(lines("LEFT '['dept'] 'dept SKIP 1'end'", false), ["[RESEARCH] RESEARCH", "end"]);
        assert_eq!(lines("LEFT 'ab' SKIP 0 COL 2 'z'", false), ["az"]);
        assert_eq!(lines("LEFT BOLD 'b' RIGHT 'r'", false), [&format!("b{}r", " ".repeat(38)), "b", "b"]);
    }

    #[test]
    fn the_old_form_has_the_date_and_the_page() {
        assert_eq!(
            lines("'One|Two'", true),
            ["Thu Nov 05                     page    3", "                  One", "                  Two", ""]
        );
        assert_eq!(lines("the end", false), ["                the end"]);
    }

    #[test]
    fn numbers_out_of_range_are_told() {
        for source in ["LEFT SKIP 1000000000 'x'", "COL 'x'", "COL 99999 x", "TAB -99999", "SKIP -1"] {
            assert!(Title::parse(source, false).unwrap_err().starts_with("SP2-0019"), "{source}");
        }
        for source in ["LEFT FORMAT", "LEFT FORMAT 9z9 SQL.PNO", "LEFT FORMAT a0 x"] {
            assert!(Title::parse(source, false).unwrap_err().starts_with("SP2-0246"), "{source}");
        }
    }
}
