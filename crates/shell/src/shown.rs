//! The variables of `SET` as `SHOW` prints them and as `STORE SET` writes them.

use crate::settings::{Markup, OutputFormat, Recsep, Settings, SqlCase, full_name};

fn state(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

/// A character as SHOW prints it.
fn shown_mark(name: &str, mark: Option<char>) -> String {
    match mark {
        Some(c) => format!("{name} \"{c}\" (hex {:02x})", c as u32),
        None => format!("{name} OFF"),
    }
}

/// A text in quotes for a command.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

impl Settings {
    /// The output of `SHOW name`.
    pub fn show(&self, name: &str) -> Option<String> {
        let full = full_name(name)?;
        Some(match full {
            "appinfo" => format!("appinfo is {} and set to \"{}\"", state(self.appinfo), self.appinfo_text),
            "arraysize" => format!("arraysize {}", self.arraysize),
            "autocommit" => match self.autocommit {
                0 => "autocommit OFF".into(),
                1 => "autocommit IMMEDIATE".into(),
                n => format!("AUTOCOMMIT ON for every {n} DML statements"),
            },
            "autoprint" => format!("autoprint {}", state(self.autoprint)),
            "autotrace" => self.autotrace.show(),
            "blockterminator" => shown_mark(full, self.blockterminator),
            "cmdsep" => shown_mark(full, self.cmdsep),
            "colsep" | "space" => format!("colsep \"{}\"", self.colsep),
            "concat" => shown_mark(full, self.concat),
            "copycommit" => format!("copycommit {}", self.copycommit),
            "copytypecheck" => format!("COPYTYPECHECK is {}", state(self.copytypecheck)),
            "define" | "scan" => shown_mark("define", self.define),
            "describe" => {
                let depth = self.describing.depth.map_or_else(|| "ALL".into(), |n| n.to_string());
                let (linenum, indent) = (state(self.describing.linenum), state(self.describing.indent));
                format!("describe DEPTH {depth} LINENUM {linenum} INDENT {indent}")
            }
            "document" => format!("document {}", state(self.document)),
            "echo" => format!("echo {}", state(self.echo)),
            "editfile" => format!("editfile \"{}\"", self.editfile),
            "embedded" => format!("embedded {}", state(self.embedded)),
            "errorlogging" => match self.errorlogging.on {
                false => "errorlogging is OFF".into(),
                true => {
                    let log = &self.errorlogging;
                    let identifier = match log.identifier.as_str() {
                        "" => String::new(),
                        text => format!(" IDENTIFIER {text}"),
                    };
                    format!("errorlogging is ON TABLE {}{identifier}", log.table)
                }
            },
            "escape" => shown_mark(full, self.escape),
            "exitcommit" => format!("exitcommit {}", state(self.exitcommit)),
            "feedback" => {
                let sql_id = state(self.feedback_sql_id);
                match self.feedback {
                    _ if self.feedback_only => format!("feedback ONLY SQL_ID {sql_id}"),
                    Some(n) => format!("FEEDBACK ON for {n} or more rows SQL_ID {sql_id}"),
                    None => format!("feedback OFF SQL_ID {sql_id}"),
                }
            }
            "heading" => format!("heading {}", state(self.heading)),
            "headsep" => shown_mark(full, self.headsep),
            "history" => match self.history {
                0 => "history is OFF".into(),
                n => format!("history is ON and set to \"{n}\""),
            },
            "linesize" => format!("linesize {}", self.linesize),
            "long" => format!("long {}", self.long),
            "longchunksize" => format!("longchunksize {}", self.longchunksize),
            "markup" => format!(
                "markup {}",
                match self.markup {
                    Markup::Text => "HTML OFF CSV OFF JSON OFF",
                    Markup::Csv => "CSV ON",
                    Markup::Json => "JSON ON",
                    Markup::Html => "HTML ON",
                }
            ),
            "newpage" => format!("newpage {}", self.newpage.map_or_else(|| "NONE".into(), |n| n.to_string())),
            "null" => format!("null \"{}\"", self.null),
            "numformat" => format!("numformat \"{}\"", self.numformat),
            "numwidth" => format!("numwidth {}", self.numwidth),
            "pagesize" => format!("pagesize {}", self.pagesize),
            "pause" => match (self.pause, self.pause_text.as_str()) {
                (on, "") => format!("PAUSE is {}", state(on)),
                (on, text) => format!("PAUSE is {} and set to \"{text}\"", state(on)),
            },
            "recsep" => format!(
                "recsep {}",
                match self.recsep {
                    Recsep::Wrapped => "WRAP",
                    Recsep::Each => "EACH",
                    Recsep::Off => "OFF",
                }
            ),
            "recsepchar" => shown_mark(full, Some(self.recsepchar)),
            "serveroutput" => self.shown_output(),
            "showmode" => format!("showmode {}", if self.showmode { "BOTH" } else { "OFF" }),
            "sqlblanklines" => format!("sqlblanklines {}", state(self.sqlblanklines)),
            "sqlcase" => format!("sqlcase {}", self.case_name()),
            "sqlcontinue" => format!("sqlcontinue \"{}\"", self.sqlcontinue),
            "sqlnumber" => format!("sqlnumber {}", state(self.sqlnumber)),
            "sqlprefix" => shown_mark(full, Some(self.sqlprefix)),
            "sqlprompt" => format!("sqlprompt \"{}\"", self.sqlprompt),
            "sqlterminator" => shown_mark(full, self.sqlterminator),
            "suffix" => format!("suffix \"{}\"", self.suffix),
            "tab" => format!("tab {}", state(self.tab)),
            "termout" => format!("termout {}", state(self.termout)),
            "time" => format!("time {}", state(self.time)),
            "timing" => format!("timing {}", state(self.timing)),
            "trimout" => format!("trimout {}", state(self.trimout)),
            "trimspool" => format!("trimspool {}", state(self.trimspool)),
            "underline" => shown_mark(full, self.underline),
            "verify" => format!("verify {}", state(self.verify)),
            "wrap" => format!("wrap : lines will be {}", if self.wrap { "wrapped" } else { "truncated" }),
            _ => format!("{full} {}", self.kept.get(full)?),
        })
    }

    fn case_name(&self) -> &'static str {
        match self.sqlcase {
            SqlCase::Mixed => "MIXED",
            SqlCase::Lower => "LOWER",
            SqlCase::Upper => "UPPER",
        }
    }

    fn shown_output(&self) -> String {
        if !self.serveroutput {
            return "serveroutput OFF".into();
        }
        let size = self.output_size.map_or_else(|| "UNLIMITED".into(), |n| n.to_string());
        format!("serveroutput ON SIZE {size} FORMAT {}", self.output_name())
    }

    fn output_name(&self) -> &'static str {
        match self.output_format {
            OutputFormat::WordWrapped => "WORD_WRAPPED",
            OutputFormat::Wrapped => "WRAPPED",
            OutputFormat::Truncated => "TRUNCATED",
        }
    }

    /// The words after SET that give a variable its value.
    pub fn as_command(&self, name: &str) -> Option<String> {
        let mark = |mark: Option<char>| mark.map_or_else(|| "OFF".to_string(), |c| quoted(&c.to_string()));
        let value = match name {
            "appinfo" => format!("{} appinfo {}", quoted(&self.appinfo_text), state(self.appinfo)),
            "autocommit" => self.autocommit.to_string(),
            "autotrace" => self.autotrace.show().strip_prefix("autotrace ")?.to_string(),
            "blockterminator" => mark(self.blockterminator),
            "cmdsep" => mark(self.cmdsep),
            "colsep" => quoted(&self.colsep),
            "concat" => mark(self.concat),
            "copytypecheck" => state(self.copytypecheck).into(),
            "define" => mark(self.define),
            "editfile" => quoted(&self.editfile),
            "errorlogging" => {
                let log = &self.errorlogging;
                let identifier = match log.identifier.as_str() {
                    "" => String::new(),
                    text => format!(" IDENTIFIER {}", quoted(text)),
                };
                match log.on {
                    true => format!("ON TABLE {}{identifier}", log.table),
                    false => "OFF".into(),
                }
            }
            "escape" => mark(self.escape),
            "feedback" => {
                let only = if self.feedback_only { " ONLY" } else { "" };
                let sql_id = if self.feedback_sql_id { " SQL_ID" } else { "" };
                format!("{}{only}{sql_id}", self.feedback.unwrap_or(0))
            }
            "headsep" => mark(self.headsep),
            "history" => self.history.to_string(),
            "markup" => match self.markup {
                Markup::Text => "HTML OFF".into(),
                Markup::Csv => "CSV ON".into(),
                Markup::Json => "JSON ON".into(),
                Markup::Html => "HTML ON".into(),
            },
            "null" => quoted(&self.null),
            "numformat" => quoted(&self.numformat),
            "pause" if self.pause_text.is_empty() => state(self.pause).into(),
            "pause" => format!("{} pause {}", quoted(&self.pause_text), state(self.pause)),
            "recsepchar" => mark(Some(self.recsepchar)),
            "sqlcontinue" => quoted(&self.sqlcontinue),
            "sqlprefix" => mark(Some(self.sqlprefix)),
            "sqlprompt" => quoted(&self.sqlprompt),
            "sqlterminator" => mark(self.sqlterminator),
            "suffix" => quoted(&self.suffix),
            "underline" => mark(self.underline),
            "wrap" => state(self.wrap).into(),
            // Variables with one value, and those whose value here is a sentence.
            "compatibility" | "instance" | "logsource" | "securedcol" | "statementcache" | "xquery" => return None,
            _ => self.show(name)?.split_once(' ')?.1.to_string(),
        };
        Some(format!("{name} {value}"))
    }
}
