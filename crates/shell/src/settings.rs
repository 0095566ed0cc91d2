//! The variables of `SET`, with their names and defaults.

use crate::autotrace::Autotrace;
use crate::breaks::{Break, Compute};
use crate::html::Html;
use crate::titles::Titles;
use std::collections::BTreeMap;

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

/// `SET RECSEP`: the rows after which a separator is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recsep {
    /// Rows of several lines.
    Wrapped,
    Each,
    Off,
}

/// `SET SQLCASE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlCase {
    Mixed,
    Lower,
    Upper,
}

/// `SET DESCRIBE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Describing {
    /// Levels of objects in objects; `None`: all.
    pub depth: Option<u32>,
    pub linenum: bool,
    pub indent: bool,
}

/// `SET ERRORLOGGING`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLogging {
    pub on: bool,
    /// The table, by default SPERRORLOG of the user.
    pub table: String,
    pub identifier: String,
}

/// The shell's variables, with SQL*Plus's defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Statements after which changes are committed; 0: never.
    pub autocommit: u64,
    pub autoprint: bool,
    pub autotrace: Autotrace,
    pub appinfo: bool,
    pub appinfo_text: String,
    pub blockterminator: Option<char>,
    /// The elements of `BREAK`.
    pub breaks: Vec<Break>,
    pub computes: Vec<Compute>,
    pub cmdsep: Option<char>,
    /// The character that ends the name of a variable.
    pub concat: Option<char>,
    pub copycommit: u64,
    pub copytypecheck: bool,
    pub describing: Describing,
    pub document: bool,
    pub editfile: String,
    pub embedded: bool,
    pub errorlogging: ErrorLogging,
    pub exitcommit: bool,
    /// Rows are counted and not printed.
    pub feedback_only: bool,
    pub feedback_sql_id: bool,
    /// Statements that are kept for `HISTORY`; 0: none.
    pub history: usize,
    /// Variables that only programs on Oracle's client libraries feel, or that have one value here.
    pub kept: BTreeMap<&'static str, String>,
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
    pub headsep: Option<char>,
    /// The look of pages under `SET MARKUP HTML ON`.
    pub html: Html,
    pub linesize: usize,
    pub long: usize,
    pub longchunksize: usize,
    pub markup: Markup,
    /// Empty lines before a page; 0 is a form feed, `None` nothing.
    pub newpage: Option<usize>,
    /// The session's NLS settings for printing dates and numbers.
    pub nls: types::Nls,
    pub null: String,
    pub numwidth: usize,
    pub numformat: String,
    pub pagesize: usize,
    pub pause: bool,
    pub pause_text: String,
    pub recsep: Recsep,
    pub recsepchar: char,
    pub serveroutput: bool,
    /// Bytes that `dbms_output` keeps of a call; `None`: unlimited.
    pub output_size: Option<u64>,
    pub output_format: OutputFormat,
    pub showmode: bool,
    pub sqlblanklines: bool,
    pub sqlcase: SqlCase,
    pub sqlcontinue: String,
    pub sqlnumber: bool,
    pub sqlprefix: char,
    pub sqlprompt: String,
    /// The character that ends SQL at the end of a line, unless switched off.
    pub sqlterminator: Option<char>,
    /// The ending of script names without one.
    pub suffix: String,
    pub tab: bool,
    pub termout: bool,
    pub time: bool,
    pub timing: bool,
    pub titles: Titles,
    pub trimout: bool,
    pub trimspool: bool,
    pub underline: Option<char>,
    pub verify: bool,
    pub wrap: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            autocommit: 0,
            autoprint: false,
            autotrace: Autotrace::default(),
            appinfo: false,
            appinfo_text: "SQL*Plus".into(),
            blockterminator: Some('.'),
            breaks: Vec::new(),
            computes: Vec::new(),
            cmdsep: None,
            concat: Some('.'),
            copycommit: 0,
            copytypecheck: true,
            describing: Describing { depth: Some(1), linenum: false, indent: true },
            document: true,
            editfile: "afiedt.buf".into(),
            embedded: false,
            errorlogging: ErrorLogging { on: false, table: "SPERRORLOG".into(), identifier: String::new() },
            exitcommit: true,
            feedback_only: false,
            feedback_sql_id: false,
            history: 0,
            kept: KEPT.iter().map(|(name, _, value, _)| (*name, value.to_string())).collect(),
            escape: None,
            arraysize: 15,
            colsep: " ".into(),
            define: Some('&'),
            echo: false,
            feedback: Some(6),
            heading: true,
            headsep: Some('|'),
            html: Html::default(),
            linesize: 80,
            long: 80,
            longchunksize: 80,
            markup: Markup::Text,
            newpage: Some(1),
            nls: types::Nls::default(),
            null: String::new(),
            numwidth: 10,
            numformat: String::new(),
            pagesize: 14,
            pause: false,
            pause_text: String::new(),
            recsep: Recsep::Wrapped,
            recsepchar: ' ',
            serveroutput: false,
            output_size: None,
            output_format: OutputFormat::WordWrapped,
            showmode: false,
            sqlblanklines: false,
            sqlcase: SqlCase::Mixed,
            sqlcontinue: "> ".into(),
            sqlnumber: true,
            sqlprefix: '#',
            sqlprompt: "SQL> ".into(),
            sqlterminator: Some(';'),
            suffix: "sql".into(),
            tab: true,
            termout: true,
            time: false,
            timing: false,
            titles: Titles::default(),
            trimout: true,
            trimspool: false,
            underline: Some('-'),
            verify: true,
            wrap: true,
        }
    }
}

/// The values that a variable of [`KEPT`] may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    OnOff,
    /// A number up to this one.
    Number(u64),
    Text,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// Variables without effect here: name, shortest abbreviation, default, and the values that they may have. A value that
/// would change results, such as a dialect of FLAGGER, is refused.
pub const KEPT: &[(&str, &str, &str, Allowed)] = &[
    ("autorecovery", "autorecovery", "OFF", Allowed::OnOff),
    ("colinvisible", "colinvi", "OFF", Allowed::Words(&["OFF"])),
    ("compatibility", "com", "version NATIVE", Allowed::Text),
    ("escchar", "escchar", "OFF", Allowed::Words(&["OFF", "@", "?", "%"])),
    ("flagger", "flagger", "OFF", Allowed::Words(&["OFF"])),
    ("flush", "flu", "ON", Allowed::OnOff),
    ("instance", "instance", "\"local\"", Allowed::Words(&["LOCAL"])),
    ("loboffset", "lobof", "1", Allowed::Words(&["1"])),
    ("lobprefetch", "lobprefetch", "0", Allowed::Number(2_147_483_647)),
    ("logsource", "logsource", "\"\"", Allowed::Text),
    ("rowprefetch", "rowprefetch", "1", Allowed::Number(32_767)),
    ("securedcol", "securedcol", "is OFF", Allowed::OnOff),
    ("shiftinout", "shift", "INVISIBLE", Allowed::Words(&["INVISIBLE", "VISIBLE"])),
    ("sqlpluscompatibility", "sqlplusc", "19.0.0", Allowed::Text),
    ("statementcache", "statementc", "is 0", Allowed::Number(32_767)),
    ("xmloptimizationcheck", "xmlopt", "OFF", Allowed::OnOff),
    ("xquery", "xquery", "BASEURI \"\" CONTEXT \"\" NODE DEFAULT ORDERING DEFAULT", Allowed::Words(&[])),
];

/// The variables with an effect: full name and shortest abbreviation.
const NAMES: &[(&str, &str)] = &[
    ("appinfo", "appi"),
    ("arraysize", "array"),
    ("autocommit", "auto"),
    ("autoprint", "autop"),
    ("autotrace", "autot"),
    ("blockterminator", "blo"),
    ("cmdsep", "cmds"),
    ("colsep", "colsep"),
    ("concat", "con"),
    ("copycommit", "copyc"),
    ("copytypecheck", "copyt"),
    ("define", "def"),
    ("describe", "describe"),
    ("document", "doc"),
    ("echo", "echo"),
    ("editfile", "editf"),
    ("embedded", "emb"),
    ("errorlogging", "errorl"),
    ("escape", "esc"),
    ("exitcommit", "exitc"),
    ("feedback", "feed"),
    ("heading", "hea"),
    ("headsep", "heads"),
    ("history", "hist"),
    ("linesize", "lin"),
    ("long", "long"),
    ("longchunksize", "longc"),
    ("markup", "mark"),
    ("newpage", "newp"),
    ("null", "null"),
    ("numformat", "numf"),
    ("numwidth", "num"),
    ("pagesize", "pages"),
    ("pause", "pau"),
    ("recsep", "recsep"),
    ("recsepchar", "recsepc"),
    ("scan", "scan"),
    ("serveroutput", "serverout"),
    ("showmode", "show"),
    ("space", "spa"),
    ("sqlblanklines", "sqlbl"),
    ("sqlcase", "sqlc"),
    ("sqlcontinue", "sqlco"),
    ("sqlnumber", "sqln"),
    ("sqlprefix", "sqlpre"),
    ("sqlprompt", "sqlp"),
    ("sqlterminator", "sqlt"),
    ("suffix", "suf"),
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
    let kept = KEPT.iter().map(|(full, short, ..)| (*full, *short));
    let all = NAMES.iter().copied().chain(kept);
    // Any prefix from the shortest abbreviation on is accepted: "lines" and "pages" are common.
    all.clone()
        .find(|(full, _)| *full == word)
        .or_else(|| all.clone().find(|(full, short)| full.starts_with(&word) && word.len() >= short.len()))
        .map(|(full, _)| full)
}

/// The names in `SHOW ALL`.
pub fn names() -> Vec<&'static str> {
    let kept = KEPT.iter().map(|(full, ..)| *full);
    let mut all: Vec<&str> =
        NAMES.iter().map(|(full, _)| *full).chain(kept).filter(|full| !matches!(*full, "scan" | "space")).collect();
    all.sort_unstable();
    all
}
