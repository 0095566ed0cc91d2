//! `SET MARKUP HTML`: results as tables of a web page, spool files as whole pages.

use crate::text::parse_on_off;
use types::escape;

const USAGE: &str = "Usage: SET MARKUP HTML [ON|OFF] [HEAD text] [BODY text] [TABLE text] [ENTMAP {ON|OFF}] \
                     [SPOOL {ON|OFF}] [PREFORMAT {ON|OFF}]";

/// The settings of `SET MARKUP HTML`; they are kept while it is off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Html {
    /// The contents of the page's head.
    pub head: String,
    /// Attributes of the page's body.
    pub body: String,
    /// Attributes of each table.
    pub table: String,
    /// Special characters of HTML are written as entities.
    pub entmap: bool,
    /// Spool files are complete pages.
    pub spool: bool,
    /// Results are text in `<pre>` instead of tables.
    pub preformat: bool,
}

impl Default for Html {
    fn default() -> Html {
        Html {
            head:
                "<style type='text/css'> body {font:10pt Arial,Helvetica,sans-serif; color:black; background:white;} \
                   table,tr,td {font:10pt Arial,Helvetica,sans-serif; padding:0px 4px;} \
                   th {font:bold 10pt Arial,Helvetica,sans-serif; padding:0px 4px;} </style>\
                   <title>SQL*Plus Report</title>"
                    .into(),
            body: String::new(),
            table: "border='1' width='90%' align='center' summary='Script output'".into(),
            entmap: true,
            spool: false,
            preformat: false,
        }
    }
}

impl Html {
    /// Sets the options after `SET MARKUP HTML`; returns whether they switch it on or off.
    ///
    /// # Errors
    /// The SP2 message of the first wrong word; nothing is set then.
    pub fn set(&mut self, words: &[String]) -> Result<Option<bool>, String> {
        let mut new = self.clone();
        let mut on = None;
        let mut rest = words.iter();
        if words.is_empty() {
            return Err(format!("SP2-0281: markup html missing set option\n{USAGE}"));
        }
        while let Some(word) = rest.next() {
            if let Some(state) = parse_on_off(word) {
                on = Some(state);
                continue;
            }
            let mut value = || rest.next().ok_or_else(|| format!("SP2-0281: {word} missing set option\n{USAGE}"));
            let state = |value: &String| {
                parse_on_off(value).ok_or_else(|| format!("SP2-0265: {} must be set ON or OFF", word.to_lowercase()))
            };
            match word.to_ascii_lowercase().as_str() {
                "head" => new.head = value()?.clone(),
                "body" => new.body = value()?.clone(),
                "table" => new.table = value()?.clone(),
                "entmap" | "entm" | "ent" => new.entmap = state(value()?)?,
                "spool" | "spo" => new.spool = state(value()?)?,
                "preformat" | "pre" | "preformatted" => new.preformat = state(value()?)?,
                _ => return Err(format!("SP2-0158: unknown SET markup html option \"{word}\"\n{USAGE}")),
            }
        }
        *self = new;
        Ok(on)
    }

    /// The beginning of a page.
    pub fn page_begins(&self) -> String {
        let gap = if self.body.is_empty() { "" } else { " " };
        format!("<html>\n<head>\n<meta charset=\"utf-8\">\n{}\n</head>\n<body{gap}{}>\n", self.head, self.body)
    }

    /// The end of a page.
    pub fn page_ends() -> &'static str {
        "</body>\n</html>\n"
    }

    /// The beginning of a table.
    pub fn table_begins(&self) -> String {
        let gap = if self.table.is_empty() { "" } else { " " };
        format!("<p>\n<table{gap}{}>\n", self.table)
    }

    /// A text in the form of the page.
    pub fn text(&self, text: &str) -> String {
        if self.entmap { escape::html(text) } else { text.to_string() }
    }

    /// A line of text outside results.
    pub fn line(&self, text: &str) -> String {
        format!("{}<br>\n", self.text(text))
    }

    /// A row of headings (`th`) or values (`td`), each with a flag for numbers, and with the column's own ENTMAP.
    pub fn row<'a>(&self, tag: &str, cells: impl Iterator<Item = (&'a str, bool, Option<bool>)>) -> String {
        let mut out = String::from("<tr>\n");
        for (cell, numeric, entmap) in cells {
            let attribute = match (tag, numeric) {
                ("th", _) => " scope=\"col\"",
                (_, true) => " align=\"right\"",
                _ => "",
            };
            let empty = cell.is_empty();
            out.push_str(&format!("<{tag}{attribute}>\n"));
            let text = if entmap.unwrap_or(self.entmap) { escape::html(cell) } else { cell.to_string() };
            out.push_str(&if empty { "&nbsp;".into() } else { text.replace('\n', "<br>\n") });
            out.push_str(&format!("\n</{tag}>\n"));
        }
        out.push_str("</tr>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        crate::text::words(line)
    }

    #[test]
    fn options_are_kept_while_it_is_off() {
        let mut html = Html::default();
        assert_eq!(
            html.set(&words("HEAD '<title>x</title>' BODY \"\" TABLE 'border=0' SPOOL ON ENTMAP OFF PREFORMAT OFF")),
            Ok(None)
        );
        assert_eq!(
            (html.head.as_str(), html.table.as_str(), html.spool, html.entmap),
            ("<title>x</title>", "border=0", true, false)
        );
        assert_eq!(html.set(&words("on")), Ok(Some(true)));
        assert_eq!(html.head, "<title>x</title>");
    }

    #[test]
    fn a_wrong_word_sets_nothing() {
        let mut html = Html::default();
        assert!(
            html.set(&words("SPOOL ON FRAME x"))
                .is_err_and(|e| e.starts_with("SP2-0158: unknown SET markup html option \"FRAME\""))
        );
        assert!(html.set(&words("SPOOL maybe")).is_err_and(|e| e.starts_with("SP2-0265")));
        assert!(html.set(&words("TABLE")).is_err_and(|e| e.starts_with("SP2-0281")));
        assert_eq!(html, Html::default());
    }

    #[test]
    fn values_cannot_be_taken_for_tags() {
        let html = Html::default();
        let row = html.row("td", [("<b>&\"", false, None), ("1", true, None), ("", false, None)].into_iter());
        assert_eq!(
            row,
            "<tr>\n<td>\n&lt;b&gt;&amp;&quot;\n</td>\n<td align=\"right\">\n1\n</td>\n<td>\n&nbsp;\n</td>\n</tr>\n"
        );
    }
}
