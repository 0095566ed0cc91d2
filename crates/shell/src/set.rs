//! `SET`: the words that give variables their values.

use crate::autotrace::Autotrace;
use crate::settings::{Allowed, Describing, KEPT, Markup, OutputFormat, Recsep, Settings, SqlCase, full_name, names};
use crate::text::parse_on_off;
use crate::titles::{illegal_format, is_number_format};

const ERRORLOGGING_USAGE: &str = "Usage: SET ERRORL[OGGING] { ON | OFF } [ TABLE [schema.]tablename ] \
                                  [ TRUNCATE ] [ IDENTIFIER identifier ]";

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

/// A character that can be switched off and on.
fn mark(value: &str, on: char) -> Option<char> {
    match parse_on_off(value) {
        Some(true) => Some(on),
        Some(false) => None,
        None => value.chars().next(),
    }
}

/// A character that must be neither a letter nor a digit nor blank.
fn sign(name: &str, value: &str) -> Result<char, String> {
    let mut chars = value.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if !c.is_alphanumeric() && !c.is_whitespace() => Ok(c),
        (Some(_), None) => Err("SP2-0272: Character cannot be alphanumeric or white-space".into()),
        _ => Err(format!("SP2-0271: {name} is not a valid option")),
    }
}

/// The action of the shell after `SET`, besides remembering.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The registered name of the program.
    pub appinfo: bool,
    /// The error log is new; whether its rows are to be removed.
    pub errorlogging: Option<bool>,
    /// The lines of SHOWMODE.
    pub shown: Vec<String>,
}

impl Settings {
    /// Sets variables from the words after `SET`: `name value [name value]…`.
    ///
    /// # Errors
    /// The SP2 message of the first wrong word; the variables before it are set.
    pub fn set(&mut self, words: &[String], changes: &mut Changes) -> Result<(), String> {
        let mut rest = words;
        if rest.is_empty() {
            return Err("SP2-0281: SET missing set option\nUsage: SET { option value }".into());
        }
        while let Some((name, tail)) = rest.split_first() {
            let full = full_name(name).ok_or_else(|| format!("SP2-0158: unknown SET option \"{name}\""))?;
            let before = self.showmode.then(|| self.show(full)).flatten();
            rest = match full {
                "markup" => {
                    self.set_markup(tail)?;
                    &[]
                }
                "autotrace" => {
                    let usage = "SP2-0158: unknown SET autotrace option\n\
                                 Usage: SET AUTOT[RACE] {OFF | ON | TRACE[ONLY]} [EXP[LAIN]] [STAT[ISTICS]]";
                    let (wanted, taken) = Autotrace::parse(tail).ok_or(usage)?;
                    self.autotrace = wanted;
                    &tail[taken..]
                }
                "errorlogging" => self.set_errorlogging(tail, changes)?,
                "describe" => self.set_describing(tail)?,
                _ => {
                    let Some((value, tail)) = tail.split_first() else {
                        return Err(format!("SP2-0281: {full} missing set option"));
                    };
                    self.set_one(full, value)?;
                    changes.appinfo |= full == "appinfo";
                    match full {
                        "serveroutput" => self.set_output_options(tail)?,
                        "feedback" => self.set_feedback_options(value, tail),
                        _ => tail,
                    }
                }
            };
            if self.showmode
                && let Some(after) = self.show(full)
            {
                changes.shown.extend(before.map(|line| format!("old: {line}")));
                changes.shown.push(format!("new: {after}"));
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

    /// `ONLY` and `SQL_ID` of FEEDBACK, alone or after ON and a number of rows.
    fn set_feedback_options<'w>(&mut self, value: &str, words: &'w [String]) -> &'w [String] {
        self.feedback_only = value.eq_ignore_ascii_case("only");
        self.feedback_sql_id = value.eq_ignore_ascii_case("sql_id");
        let mut rest = words;
        while let Some((word, tail)) = rest.split_first() {
            if word.eq_ignore_ascii_case("only") {
                self.feedback_only = true;
            } else if word.eq_ignore_ascii_case("sql_id") {
                self.feedback_sql_id = true;
            } else {
                break;
            }
            rest = tail;
        }
        rest
    }

    /// `{ON | OFF} [TABLE name] [TRUNCATE] [IDENTIFIER text]`.
    fn set_errorlogging<'w>(&mut self, words: &'w [String], changes: &mut Changes) -> Result<&'w [String], String> {
        let wrong = |code: &str| format!("{code}\n{ERRORLOGGING_USAGE}");
        let mut rest = words.iter();
        let on = rest.next().ok_or_else(|| wrong("SP2-0281: errorlogging missing set option"))?;
        let mut log = self.errorlogging.clone();
        log.on = parse_on_off(on).ok_or_else(|| wrong("SP2-0265: errorlogging must be set ON or OFF"))?;
        if !log.on && rest.len() > 0 {
            return Err("SP2-1508: Invalid option for SET ERRORLOGGING OFF".into());
        }
        let mut truncate = false;
        while let Some(word) = rest.next() {
            match word.to_ascii_lowercase().as_str() {
                "table" => {
                    log.table = rest.next().cloned().ok_or_else(|| wrong("SP2-0281: table missing set option"))?;
                }
                "truncate" => truncate = true,
                "identifier" => {
                    log.identifier =
                        rest.next().cloned().ok_or_else(|| wrong("SP2-0281: identifier missing set option"))?;
                }
                _ => return Err(format!("SP2-1510: Invalid option {word} for SET ERRORLOGGING ON")),
            }
        }
        let plain = |c: char| c.is_alphanumeric() || "_$#.\"".contains(c);
        if log.table.is_empty() || !log.table.chars().all(plain) {
            return Err(wrong(&format!("SP2-0158: unknown SET errorlogging option \"{}\"", log.table)));
        }
        if log.on {
            changes.errorlogging = Some(truncate);
        }
        self.errorlogging = log;
        Ok(&[])
    }

    /// `[DEPTH {n | ALL}] [LINENUM {ON | OFF}] [INDENT {ON | OFF}]`.
    fn set_describing<'w>(&mut self, words: &'w [String]) -> Result<&'w [String], String> {
        let mut new: Describing = self.describing;
        let mut rest = words;
        while let Some((word, tail)) = rest.split_first() {
            let value = tail.first().map_or("", String::as_str);
            match word.to_ascii_lowercase().as_str() {
                "depth" if value.eq_ignore_ascii_case("all") => new.depth = None,
                "depth" => new.depth = Some(number("depth", value, 1, 50)? as u32),
                "linenum" => new.linenum = on_off("linenum", value)?,
                "indent" => new.indent = on_off("indent", value)?,
                _ => break,
            }
            rest = tail.get(1..).unwrap_or_default();
        }
        if rest.len() == words.len() {
            return Err("SP2-0281: describe missing set option\n\
                        Usage: SET DESCRIBE [ DEPTH { n | ALL } ] [ LINENUM { ON | OFF } ] [ INDENT { ON | OFF } ]"
                .into());
        }
        self.describing = new;
        Ok(rest)
    }

    /// The call that makes `dbms_output` keep lines for the shell.
    pub fn enable_output(&self) -> String {
        let size = self.output_size.map_or_else(|| "null".into(), |n| n.to_string());
        format!("begin dbms_output.enable({size}); end;")
    }

    fn set_one(&mut self, name: &'static str, value: &str) -> Result<(), String> {
        match name {
            "appinfo" => match parse_on_off(value) {
                Some(on) => self.appinfo = on,
                None => (self.appinfo, self.appinfo_text) = (true, value.to_string()),
            },
            "arraysize" => self.arraysize = number(name, value, 1, 5000)? as u32,
            "autoprint" => self.autoprint = on_off(name, value)?,
            "autocommit" => {
                self.autocommit = match parse_on_off(value) {
                    Some(on) => u64::from(on),
                    None if crate::titles::abbreviates(value, "immediate", 3) => 1,
                    None => number(name, value, 0, 2_000_000_000)?,
                }
            }
            "blockterminator" => {
                self.blockterminator = match parse_on_off(value) {
                    Some(true) => Some('.'),
                    Some(false) => None,
                    None => Some(sign(name, value)?),
                }
            }
            "cmdsep" => {
                self.cmdsep = match parse_on_off(value) {
                    Some(true) => Some(';'),
                    Some(false) => None,
                    None => Some(sign(name, value)?),
                }
            }
            "colsep" | "space" => {
                self.colsep =
                    if name == "space" { " ".repeat(number(name, value, 0, 10)? as usize) } else { value.to_string() }
            }
            "concat" => {
                self.concat = match parse_on_off(value) {
                    Some(true) => Some('.'),
                    Some(false) => None,
                    None => Some(sign(name, value)?),
                }
            }
            "copycommit" => self.copycommit = number(name, value, 0, 5000)?,
            "copytypecheck" => self.copytypecheck = on_off(name, value)?,
            "define" | "scan" => self.define = mark(value, '&'),
            "document" => self.document = on_off(name, value)?,
            "echo" => self.echo = on_off(name, value)?,
            "editfile" => self.editfile = value.to_string(),
            "embedded" => self.embedded = on_off(name, value)?,
            "escape" => self.escape = mark(value, '\\'),
            "exitcommit" => self.exitcommit = on_off(name, value)?,
            "feedback" => {
                self.feedback = match parse_on_off(value) {
                    Some(true) => Some(1),
                    Some(false) => None,
                    None if value.eq_ignore_ascii_case("only") => Some(1),
                    None if value.eq_ignore_ascii_case("sql_id") => self.feedback,
                    None => match number(name, value, 0, 50000)? {
                        0 => None,
                        n => Some(n),
                    },
                }
            }
            "heading" => self.heading = on_off(name, value)?,
            "headsep" => self.headsep = mark(value, '|'),
            "history" => {
                self.history = match parse_on_off(value) {
                    Some(true) => 100,
                    Some(false) => 0,
                    None => number(name, value, 0, 100_000)? as usize,
                }
            }
            "linesize" => self.linesize = number(name, value, 1, 32767)? as usize,
            "long" => self.long = number(name, value, 1, 2_000_000_000)? as usize,
            "longchunksize" => self.longchunksize = number(name, value, 1, 2_000_000_000)? as usize,
            "newpage" => {
                self.newpage = match value.eq_ignore_ascii_case("none") {
                    true => None,
                    false => Some(number(name, value, 0, 999)? as usize),
                }
            }
            "null" => self.null = value.to_string(),
            "numformat" if !value.is_empty() && !is_number_format(value) => return Err(illegal_format(value)),
            "numformat" => self.numformat = value.to_string(),
            "numwidth" => self.numwidth = number(name, value, 2, 128)? as usize,
            "pagesize" => self.pagesize = number(name, value, 0, 50000)? as usize,
            "pause" => match parse_on_off(value) {
                Some(on) => self.pause = on,
                None => self.pause_text = value.to_string(),
            },
            "recsep" => {
                self.recsep = match value.to_ascii_lowercase().as_str() {
                    "off" => Recsep::Off,
                    word if crate::titles::abbreviates(word, "wrapped", 2) => Recsep::Wrapped,
                    word if crate::titles::abbreviates(word, "each", 2) => Recsep::Each,
                    _ => return Err("SP2-0158: unknown SET recsep option".into()),
                }
            }
            "recsepchar" => self.recsepchar = value.chars().next().unwrap_or(' '),
            "serveroutput" => self.serveroutput = on_off(name, value)?,
            "showmode" => {
                self.showmode = match value.eq_ignore_ascii_case("both") {
                    true => true,
                    false => on_off(name, value)?,
                }
            }
            "sqlblanklines" => self.sqlblanklines = on_off(name, value)?,
            "sqlcase" => {
                self.sqlcase = match value.to_ascii_lowercase().as_str() {
                    word if crate::titles::abbreviates(word, "mixed", 3) => SqlCase::Mixed,
                    word if crate::titles::abbreviates(word, "lower", 2) => SqlCase::Lower,
                    word if crate::titles::abbreviates(word, "upper", 2) => SqlCase::Upper,
                    _ => return Err("SP2-0158: unknown SET sqlcase option".into()),
                }
            }
            "sqlcontinue" => self.sqlcontinue = value.to_string(),
            "sqlnumber" => self.sqlnumber = on_off(name, value)?,
            "sqlprefix" => self.sqlprefix = sign(name, value)?,
            "sqlprompt" => self.sqlprompt = value.to_string(),
            "sqlterminator" => self.sqlterminator = mark(value, ';'),
            "suffix" => self.suffix = value.to_string(),
            "tab" => self.tab = on_off(name, value)?,
            "termout" => self.termout = on_off(name, value)?,
            "time" => self.time = on_off(name, value)?,
            "timing" => self.timing = on_off(name, value)?,
            "trimout" => self.trimout = on_off(name, value)?,
            "trimspool" => self.trimspool = on_off(name, value)?,
            "underline" => self.underline = mark(value, '-'),
            "verify" => self.verify = on_off(name, value)?,
            "wrap" => self.wrap = on_off(name, value)?,
            _ => return self.keep(name, value),
        }
        Ok(())
    }

    /// Remembers the value of a variable without effect.
    fn keep(&mut self, name: &'static str, value: &str) -> Result<(), String> {
        let allowed = KEPT.iter().find(|(known, ..)| *known == name).map(|(.., allowed)| *allowed);
        let is = if name == "securedcol" || name == "statementcache" { "is " } else { "" };
        let text = match allowed {
            Some(Allowed::OnOff) => if on_off(name, value)? { "ON" } else { "OFF" }.to_string(),
            Some(Allowed::Number(most)) => number(name, value, 0, most)?.to_string(),
            Some(Allowed::Text) if name == "compatibility" => format!("version {}", value.to_uppercase()),
            Some(Allowed::Text) if name == "logsource" => format!("\"{value}\""),
            Some(Allowed::Text) | None => value.to_string(),
            Some(Allowed::Words(words)) => match words.iter().find(|word| word.eq_ignore_ascii_case(value)) {
                Some(&"LOCAL") => "\"local\"".to_string(),
                Some(word) => word.to_string(),
                None => return Err(format!("SP2-0042: SET {} {value} is not supported here.", name.to_uppercase())),
            },
        };
        self.kept.insert(name, format!("{is}{text}"));
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

    /// The commands that restore these settings: the contents of a file of `STORE SET`.
    pub fn stored(&self) -> Vec<String> {
        names().into_iter().filter_map(|name| self.as_command(name)).map(|text| format!("set {text}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words;

    fn set(settings: &mut Settings, line: &str) -> Result<(), String> {
        settings.set(&words(line), &mut Changes::default())
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
    fn stored_settings_restore_every_variable() {
        let mut changed = Settings::default();
        for line in [
            "linesize 132 pagesize 0 feedback off",
            "colsep '\"' null 'a b' numformat 999.99",
            "sqlprompt \"x y> \" define # escape on underline = headsep off",
            "recsep each recsepchar _ newpage none sqlcase upper blockterminator ! cmdsep on",
            "serveroutput on size 5000 format wrapped",
            "describe depth all linenum on indent off",
            "errorlogging on table x.y identifier 'one two'",
            "history 7 autocommit 3 flush off lobprefetch 10 appinfo 'mine' pause 'press' wrap off trimspool on",
        ] {
            set(&mut changed, line).unwrap();
        }
        let mut restored = Settings::default();
        for line in Settings::default().stored() {
            set(&mut restored, line.strip_prefix("set ").unwrap()).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        for line in changed.stored() {
            set(&mut restored, line.strip_prefix("set ").unwrap()).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        for name in names() {
            assert_eq!(restored.show(name), changed.show(name), "{name}");
        }
        assert_eq!(restored.colsep, "\"");
    }

    #[test]
    fn values_that_would_change_results_are_refused() {
        let mut s = Settings::default();
        for line in ["flagger entry", "instance here", "xquery ordering", "loboffset 2"] {
            assert!(set(&mut s, line).unwrap_err().starts_with("SP2-0042"), "{line}");
        }
        assert!(set(&mut s, "sqlprefix a").unwrap_err().starts_with("SP2-0272"));
        assert!(set(&mut s, "concat ab").is_err());
    }

    #[test]
    fn show_mode_tells_the_old_and_the_new_value() {
        let mut s = Settings::default();
        let mut changes = Changes::default();
        s.set(&words("showmode on"), &mut changes).unwrap();
        s.set(&words("linesize 100"), &mut changes).unwrap();
        assert_eq!(changes.shown, ["new: showmode BOTH", "old: linesize 80", "new: linesize 100"]);
    }

    #[test]
    fn every_name_can_be_shown() {
        let s = Settings::default();
        for name in names() {
            assert!(s.show(name).is_some(), "{name}");
        }
    }
}
