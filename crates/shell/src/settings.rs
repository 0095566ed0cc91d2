//! The variables of `SET`, and the output of `SHOW` for them.

use crate::autotrace::Autotrace;
use crate::html::Html;
use crate::text::parse_on_off;

/// The format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// Pages of columns, as SQL*Plus prints them.
    Text,
    /// `SET MARKUP CSV ON`.
    Csv,
    /// One JSON object a row.
    Json,
    /// `SET MARKUP HTML ON`.
    Html,
}

/// The treatment of a `dbms_output` line that is longer than the line size: `SET SERVEROUTPUT ON FORMAT …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Broken between words; blanks at the beginning are left out.
    WordWrapped,
    /// Broken at the end of the line.
    Wrapped,
    /// Cut at the end of the line.
    Truncated,
}

/// `BREAK ON column [SKIP n | SKIP PAGE] [DUPLICATES]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The column's name in upper case.
    pub column: String,
    /// Empty lines before a new value.
    pub skip: usize,
    /// A new value begins a new page.
    pub page: bool,
    /// Repeated values are printed.
    pub duplicates: bool,
}

/// The shell's variables, with SQL*Plus's defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    pub autocommit: bool,
    pub autoprint: bool,
    pub autotrace: Autotrace,
    /// The columns of `BREAK`, outermost first.
    pub breaks: Vec<Break>,
    /// The character that makes a following substitution character an ordinary one.
    pub escape: Option<char>,
    pub arraysize: u32,
    pub colsep: String,
    /// The substitution character, unless switched off.
    pub define: Option<char>,
    pub echo: bool,
    /// The least number of rows that is reported; `None` is off.
    pub feedback: Option<u64>,
    pub heading: bool,
    pub headsep: char,
    /// The look of pages under `SET MARKUP HTML ON`.
    pub html: Html,
    pub linesize: usize,
    pub long: usize,
    pub markup: Markup,
    pub newpage: usize,
    /// The session's NLS settings for printing dates and numbers.
    pub nls: types::Nls,
    pub null: String,
    pub numwidth: usize,
    pub numformat: String,
    pub pagesize: usize,
    pub pause: bool,
    pub serveroutput: bool,
    /// Bytes that `dbms_output` keeps of a call; `None`: unlimited.
    pub output_size: Option<u64>,
    pub output_format: OutputFormat,
    pub sqlblanklines: bool,
    pub sqlprompt: String,
    /// The character that ends SQL at the end of a line, unless switched off.
    pub sqlterminator: Option<char>,
    pub tab: bool,
    pub termout: bool,
    pub time: bool,
    pub timing: bool,
    pub trimout: bool,
    pub trimspool: bool,
    pub underline: Option<char>,
    pub verify: bool,
    pub wrap: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            autocommit: false,
            autoprint: false,
            autotrace: Autotrace::default(),
            breaks: Vec::new(),
            escape: None,
            arraysize: 15,
            colsep: " ".into(),
            define: Some('&'),
            echo: false,
            feedback: Some(6),
            heading: true,
            headsep: '|',
            html: Html::default(),
            linesize: 80,
            long: 80,
            markup: Markup::Text,
            newpage: 1,
            nls: types::Nls::default(),
            null: String::new(),
            numwidth: 10,
            numformat: String::new(),
            pagesize: 14,
            pause: false,
            serveroutput: false,
            output_size: None,
            output_format: OutputFormat::WordWrapped,
            sqlblanklines: false,
            sqlprompt: "SQL> ".into(),
            sqlterminator: Some(';'),
            tab: true,
            termout: true,
            time: false,
            timing: false,
            trimout: true,
            trimspool: false,
            underline: Some('-'),
            verify: true,
            wrap: true,
        }
    }
}

/// Variables of SQL*Plus without effect here: accepted with any value.
const ACCEPTED: &[&str] = &[
    "appinfo",
    "blockterminator",
    "cmdsep",
    "compatibility",
    "concat",
    "copycommit",
    "copytypecheck",
    "describe",
    "editfile",
    "embedded",
    "errorlogging",
    "escchar",
    "exitcommit",
    "flagger",
    "flush",
    "history",
    "instance",
    "lobprefetch",
    "logsource",
    "longchunksize",
    "recsep",
    "recsepchar",
    "rowprefetch",
    "securedcol",
    "shiftinout",
    "showmode",
    "sqlcase",
    "sqlcontinue",
    "sqlnumber",
    "sqlpluscompatibility",
    "sqlprefix",
    "statementcache",
    "suffix",
    "xquery",
];

/// The variables with an effect: full name and shortest abbreviation.
const NAMES: &[(&str, &str)] = &[
    ("arraysize", "array"),
    ("autocommit", "auto"),
    ("autoprint", "autop"),
    ("autotrace", "autot"),
    ("colsep", "colsep"),
    ("define", "def"),
    ("echo", "echo"),
    ("escape", "esc"),
    ("feedback", "feed"),
    ("heading", "hea"),
    ("headsep", "heads"),
    ("linesize", "lin"),
    ("long", "long"),
    ("markup", "mark"),
    ("newpage", "newp"),
    ("null", "null"),
    ("numformat", "numf"),
    ("numwidth", "num"),
    ("pagesize", "pages"),
    ("pause", "pau"),
    ("scan", "scan"),
    ("serveroutput", "serverout"),
    ("space", "spa"),
    ("sqlblanklines", "sqlbl"),
    ("sqlprompt", "sqlp"),
    ("sqlterminator", "sqlt"),
    ("tab", "tab"),
    ("termout", "term"),
    ("time", "ti"),
    ("timing", "timi"),
    ("trimout", "trim"),
    ("trimspool", "trims"),
    ("underline", "und"),
    ("verify", "ver"),
    ("wrap", "wra"),
];

/// The full name of a variable given by its name or an abbreviation.
pub fn full_name(word: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase();
    // Any prefix from the shortest abbreviation on is accepted: "lines" and "pages" are common.
    NAMES.iter().find(|(full, short)| full.starts_with(&word) && word.len() >= short.len()).map(|(full, _)| *full)
}

fn is_accepted(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.len() >= 3 && ACCEPTED.iter().any(|name| name.starts_with(&word))
}

fn number(name: &str, value: &str, least: u64, most: u64) -> Result<u64, String> {
    match value.parse::<u64>() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        Ok(n) => Err(format!("SP2-0267: {name} option {n} out of range ({least} through {most})")),
        Err(_) => Err(format!("SP2-0268: {name} option not a valid number")),
    }
}

fn on_off(name: &str, value: &str) -> Result<bool, String> {
    parse_on_off(value).ok_or_else(|| format!("SP2-0265: {name} must be set ON or OFF"))
}

impl Settings {
    /// Sets variables from the words after `SET`: `name value [name value]…`.
    ///
    /// # Errors
    /// The SP2 message of the first wrong word; the variables before it are set.
    pub fn set(&mut self, words: &[String]) -> Result<(), String> {
        let mut rest = words;
        if rest.is_empty() {
            return Err("SP2-0281: SET missing set option\nUsage: SET { option value }".into());
        }
        while let Some((name, tail)) = rest.split_first() {
            if name.eq_ignore_ascii_case("markup") || name.eq_ignore_ascii_case("mark") {
                return self.set_markup(tail);
            }
            let Some(full) = full_name(name) else {
                if is_accepted(name) {
                    rest = tail.get(1..).unwrap_or_default();
                    continue;
                }
                return Err(format!("SP2-0158: unknown SET option \"{name}\""));
            };
            if full == "autotrace" {
                let usage = "SP2-0158: unknown SET autotrace option\n\
                             Usage: SET AUTOT[RACE] {OFF | ON | TRACE[ONLY]} [EXP[LAIN]] [STAT[ISTICS]]";
                let (wanted, taken) = Autotrace::parse(tail).ok_or(usage)?;
                self.autotrace = wanted;
                rest = &tail[taken..];
                continue;
            }
            let Some((value, tail)) = tail.split_first() else {
                return Err(format!("SP2-0281: {full} missing set option"));
            };
            self.set_one(full, value)?;
            rest = tail;
            if full == "serveroutput" {
                rest = self.set_output_options(tail)?;
            }
        }
        Ok(())
    }

    /// `[SIZE {n | UNLIMITED}] [FORMAT {WRAPPED | WORD_WRAPPED | TRUNCATED}]`; a missing one is reset to its default.
    /// Returns the words that follow.
    fn set_output_options<'w>(&mut self, words: &'w [String]) -> Result<&'w [String], String> {
        self.output_format = OutputFormat::WordWrapped;
        self.output_size = None;
        let mut rest = words;
        while let Some(pair) = rest.chunks(2).next() {
            let (what, value) = (pair[0].to_ascii_lowercase(), pair.get(1).map(|v| v.to_ascii_lowercase()));
            match (what.as_str(), value.as_deref()) {
                ("size", Some("unlimited" | "unl")) => self.output_size = None,
                ("size", Some(n)) => self.output_size = Some(number("size", n, 2000, 1_000_000)?),
                (w, Some(f)) if w.starts_with("for") => {
                    self.output_format = match f {
                        f if f.starts_with("wra") => OutputFormat::Wrapped,
                        f if f.starts_with("wor") => OutputFormat::WordWrapped,
                        f if f.starts_with("tru") => OutputFormat::Truncated,
                        _ => return Err(format!("SP2-0158: unknown SET option \"{f}\"")),
                    };
                }
                _ => break,
            }
            rest = &rest[2..];
        }
        Ok(rest)
    }

    /// The call that makes `dbms_output` keep lines for the shell.
    pub fn enable_output(&self) -> String {
        let size = self.output_size.map_or_else(|| "null".into(), |n| n.to_string());
        format!("begin dbms_output.enable({size}); end;")
    }

    fn set_one(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "arraysize" => self.arraysize = number(name, value, 1, 5000)? as u32,
            "autoprint" => self.autoprint = parse_on_off(value).unwrap_or(self.autoprint),
            "autocommit" => self.autocommit = parse_on_off(value).unwrap_or(value.parse::<u64>().is_ok()),
            "colsep" | "space" => {
                self.colsep =
                    if name == "space" { " ".repeat(number(name, value, 0, 10)? as usize) } else { value.to_string() }
            }
            "define" | "scan" => {
                self.define = match parse_on_off(value) {
                    Some(true) => Some('&'),
                    Some(false) => None,
                    None => value.chars().next(),
                }
            }
            "echo" => self.echo = on_off(name, value)?,
            "escape" => {
                self.escape = match parse_on_off(value) {
                    Some(true) => Some('\\'),
                    Some(false) => None,
                    None => value.chars().next(),
                }
            }
            "feedback" => {
                self.feedback = match parse_on_off(value) {
                    Some(true) => Some(1),
                    Some(false) => None,
                    None if value.eq_ignore_ascii_case("only") => Some(1),
                    None => match number(name, value, 0, 50000)? {
                        0 => None,
                        n => Some(n),
                    },
                }
            }
            "heading" => self.heading = on_off(name, value)?,
            "headsep" => self.headsep = value.chars().next().unwrap_or('|'),
            "linesize" => self.linesize = number(name, value, 1, 32767)? as usize,
            "long" => self.long = number(name, value, 1, 2_000_000_000)? as usize,
            "newpage" => {
                self.newpage =
                    if value.eq_ignore_ascii_case("none") { 0 } else { number(name, value, 0, 999)? as usize }
            }
            "null" => self.null = value.to_string(),
            "numformat" => self.numformat = value.to_string(),
            "numwidth" => self.numwidth = number(name, value, 2, 128)? as usize,
            "pagesize" => self.pagesize = number(name, value, 0, 50000)? as usize,
            "pause" => self.pause = parse_on_off(value).unwrap_or(false),
            "serveroutput" => self.serveroutput = on_off(name, value)?,
            "sqlblanklines" => self.sqlblanklines = on_off(name, value)?,
            "sqlprompt" => self.sqlprompt = value.to_string(),
            "sqlterminator" => {
                self.sqlterminator = match parse_on_off(value) {
                    Some(true) => Some(';'),
                    Some(false) => None,
                    None => value.chars().next(),
                }
            }
            "tab" => self.tab = on_off(name, value)?,
            "termout" => self.termout = on_off(name, value)?,
            "time" => self.time = on_off(name, value)?,
            "timing" => self.timing = on_off(name, value)?,
            "trimout" => self.trimout = on_off(name, value)?,
            "trimspool" => self.trimspool = on_off(name, value)?,
            "underline" => {
                self.underline = match parse_on_off(value) {
                    Some(true) => Some('-'),
                    Some(false) => None,
                    None => value.chars().next(),
                }
            }
            "verify" => self.verify = on_off(name, value)?,
            "wrap" => self.wrap = on_off(name, value)?,
            _ => unreachable!("every name of the list is set here"),
        }
        Ok(())
    }

    fn set_markup(&mut self, words: &[String]) -> Result<(), String> {
        let kind = words.first().map(|word| word.to_ascii_lowercase());
        let on = words.get(1).and_then(|word| parse_on_off(word));
        self.markup = match (kind.as_deref(), on) {
            (Some("html"), _) => match self.html.set(&words[1..])? {
                Some(true) => Markup::Html,
                Some(false) => Markup::Text,
                None => self.markup,
            },
            (Some("csv"), Some(true)) => Markup::Csv,
            (Some("json"), Some(true)) => Markup::Json,
            (Some("csv" | "json"), Some(false)) => Markup::Text,
            _ => {
                return Err(
                    "SP2-0281: markup missing set option\nUsage: SET MARKUP { HTML | CSV | JSON } { ON | OFF }".into(),
                );
            }
        };
        Ok(())
    }

    /// The output of `SHOW name`.
    pub fn show(&self, name: &str) -> Option<String> {
        let state = |on: bool| if on { "ON" } else { "OFF" };
        let full = full_name(name)?;
        Some(match full {
            "arraysize" => format!("arraysize {}", self.arraysize),
            "autocommit" => format!("autocommit {}", state(self.autocommit)),
            "autoprint" => format!("autoprint {}", state(self.autoprint)),
            "autotrace" => self.autotrace.show(),
            "colsep" | "space" => format!("colsep \"{}\"", self.colsep),
            "define" | "scan" => match self.define {
                Some(c) => format!("define \"{c}\" (hex {:x})", c as u32),
                None => "define OFF".into(),
            },
            "echo" => format!("echo {}", state(self.echo)),
            "feedback" => match self.feedback {
                Some(n) => format!("FEEDBACK ON for {n} or more rows SQL_ID OFF"),
                None => "feedback OFF SQL_ID OFF".into(),
            },
            "heading" => format!("heading {}", state(self.heading)),
            "headsep" => format!("headsep \"{}\" (hex {:x})", self.headsep, self.headsep as u32),
            "linesize" => format!("linesize {}", self.linesize),
            "long" => format!("long {}", self.long),
            "markup" => format!(
                "markup {}",
                match self.markup {
                    Markup::Text => "HTML OFF CSV OFF JSON OFF",
                    Markup::Csv => "CSV ON",
                    Markup::Json => "JSON ON",
                    Markup::Html => "HTML ON",
                }
            ),
            "newpage" => format!("newpage {}", self.newpage),
            "null" => format!("null \"{}\"", self.null),
            "numformat" => format!("numformat \"{}\"", self.numformat),
            "numwidth" => format!("numwidth {}", self.numwidth),
            "pagesize" => format!("pagesize {}", self.pagesize),
            "pause" => format!("PAUSE is {}", state(self.pause)),
            "escape" => match self.escape {
                Some(c) => format!("escape \"{c}\" (hex {:x})", c as u32),
                None => "escape OFF".into(),
            },
            "serveroutput" => format!("serveroutput {}", state(self.serveroutput)),
            "sqlblanklines" => format!("sqlblanklines {}", state(self.sqlblanklines)),
            "sqlterminator" => match self.sqlterminator {
                Some(c) => format!("sqlterminator \"{c}\" (hex {:x})", c as u32),
                None => "sqlterminator OFF".into(),
            },
            "sqlprompt" => format!("sqlprompt \"{}\"", self.sqlprompt),
            "tab" => format!("tab {}", state(self.tab)),
            "termout" => format!("termout {}", state(self.termout)),
            "time" => format!("time {}", state(self.time)),
            "timing" => format!("timing {}", state(self.timing)),
            "trimout" => format!("trimout {}", state(self.trimout)),
            "trimspool" => format!("trimspool {}", state(self.trimspool)),
            "underline" => match self.underline {
                Some(c) => format!("underline \"{c}\" (hex {:x})", c as u32),
                None => "underline OFF".into(),
            },
            "verify" => format!("verify {}", state(self.verify)),
            "wrap" => format!("wrap : lines will be {}", if self.wrap { "wrapped" } else { "truncated" }),
            _ => return None,
        })
    }

    /// The names in `SHOW ALL`.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(full, _)| *full).filter(|full| !matches!(*full, "scan" | "space"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words;

    fn set(settings: &mut Settings, line: &str) -> Result<(), String> {
        settings.set(&words(line))
    }

    #[test]
    fn several_variables_are_set_by_one_line_and_by_abbreviations() {
        let mut s = Settings::default();
        set(&mut s, "lines 200 pages 0 feed off").unwrap();
        assert_eq!((s.linesize, s.pagesize, s.feedback), (200, 0, None));
        set(&mut s, "feedback 1").unwrap();
        assert_eq!(s.feedback, Some(1));
        set(&mut s, "define #").unwrap();
        assert_eq!(s.define, Some('#'));
        set(&mut s, "serveroutput on size unlimited format wrapped feedback off").unwrap();
        assert!(s.serveroutput && s.feedback.is_none() && s.output_size.is_none());
        set(&mut s, "serveroutput on size 2000 tab off pages 7").unwrap();
        assert_eq!((s.output_size, s.tab, s.pagesize), (Some(2000), false, 7));
        set(&mut s, "longchunksize 2000 long 500 recsep off verify off").unwrap();
        assert_eq!((s.long, s.verify), (500, false));
        set(&mut s, "colsep '|'").unwrap();
        assert_eq!(s.colsep, "|");
    }

    #[test]
    fn a_wrong_name_or_value_is_told_and_changes_nothing() {
        let mut s = Settings::default();
        assert!(set(&mut s, "nonsense 1").unwrap_err().starts_with("SP2-0158"));
        assert!(set(&mut s, "linesize 0").unwrap_err().starts_with("SP2-0267"));
        assert!(set(&mut s, "linesize x").unwrap_err().starts_with("SP2-0268"));
        assert!(set(&mut s, "echo maybe").unwrap_err().starts_with("SP2-0265"));
        assert_eq!(s.linesize, 80);
    }

    #[test]
    fn every_name_can_be_shown() {
        let s = Settings::default();
        for name in Settings::names() {
            assert!(s.show(name).is_some(), "{name}");
        }
    }
}
