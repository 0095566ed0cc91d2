//! `SET` and `SHOW`.

use crate::classify::command_name;
use crate::layout::text_of;
use crate::set::Changes;
use crate::settings::names;
use crate::shell::Shell;
use crate::text::{left, split_word, words};
use crate::titles::RELEASE;

/// The lines of SHOW ALL that are no variables of SET.
const OTHERS: [&str; 10] =
    ["btitle", "lno", "pno", "release", "repfooter", "repheader", "spool", "sqlcode", "ttitle", "user"];

impl Shell<'_> {
    pub(crate) fn set(&mut self, rest: &str) {
        let before = (self.settings.serveroutput, self.settings.output_size);
        let traced = self.settings.autotrace;
        let mut changes = Changes::default();
        let done = self.settings.set(&words(rest), &mut changes);
        for line in &changes.shown {
            self.out.line(line);
        }
        if let Err(message) = done {
            self.out.line(&message);
        }
        self.history.truncate(if self.settings.history == 0 { 0 } else { self.history.len() });
        if changes.appinfo {
            self.register_application();
        }
        if let Some(truncate) = changes.errorlogging {
            self.begin_error_log(truncate);
        }
        self.out.muted = !self.settings.termout && self.scripts.is_reading();
        self.obey_markup();
        if traced != self.settings.autotrace {
            self.set_autotrace(self.settings.autotrace);
        }
        if before != (self.settings.serveroutput, self.settings.output_size)
            && let Some(session) = &mut self.session
        {
            session.set_want_output(self.settings.serveroutput);
            let call = if self.settings.serveroutput {
                self.settings.enable_output()
            } else {
                "begin dbms_output.disable; end;".into()
            };
            if let Err(e) = session.execute(&call, &[]) {
                self.out.line(&e.to_string());
            }
        }
    }

    pub(crate) fn show(&mut self, rest: &str) {
        let (word, tail) = split_word(rest);
        match word.to_ascii_lowercase().as_str() {
            "" => self.out.line("SP2-0281: SHOW missing option"),
            "all" => {
                let mut all = names();
                all.extend(OTHERS);
                all.sort_unstable();
                for name in all {
                    self.show(name);
                }
            }
            "user" => {
                let user = self.session.as_ref().map_or(String::new(), |s| s.welcome().user.clone());
                self.out.line(&format!("USER is \"{user}\""));
            }
            "release" | "rel" => self.out.line(&format!("release {RELEASE}")),
            "lno" => {
                let line = self.settings.pagesize.saturating_sub(self.page_end.left);
                self.out.line(&format!("lno {line}"));
            }
            "pno" => self.out.line(&format!("pno {}", self.page_end.page)),
            w if ["tti", "bti", "reph", "repf"].iter().any(|short| w.starts_with(short)) => {
                let full = command_name(w).unwrap_or("");
                match self.shown_title(full) {
                    Some(text) => self.out.line(&text),
                    None => self.out.line(&format!("SP2-0158: unknown SHOW option \"{word}\"")),
                }
            }
            "recyclebin" | "recyc" => self.show_recyclebin(tail.trim()),
            "sqlcode" => {
                let code = self.last_code;
                self.out.line(&format!("sqlcode {code}"));
            }
            "spool" | "spoo" => {
                let state = if self.out.spool_name().is_some() { "ON" } else { "OFF" };
                self.out.line(&format!("spool {state}"));
            }
            w if w.starts_with("param") => self.show_parameter(tail.trim()),
            w if w.starts_with("err") && !w.starts_with("errorl") => self.show_errors(tail.trim()),
            "sga" => self.show_sga(),
            "con_name" => self.out.line("\nCON_NAME\n------------------------------\nLATCHWORK"),
            other => match self.settings.show(other) {
                Some(text) => self.out.line(&text),
                None => self.out.line(&format!("SP2-0158: unknown SHOW option \"{word}\"")),
            },
        }
    }

    pub(crate) fn show_parameter(&mut self, like: &str) {
        let like = like.replace('\'', "''").to_lowercase();
        let rows = self.rows_or_error(&format!(
            "select name, decode(type, 1, 'boolean', 2, 'string', 3, 'integer', 6, 'big integer', 'string'), \
             display_value from v$parameter where lower(name) like '%{like}%' order by name"
        ));
        let Some(rows) = rows else { return };
        self.out.line("");
        self.out.line("NAME                                 TYPE        VALUE");
        self.out.line("------------------------------------ ----------- ------------------------------");
        for row in rows {
            let text = |at: usize| text_of(&row[at], &self.settings.nls);
            let line = format!("{} {} {}", left(&text(0), 36), left(&text(1), 11), text(2));
            self.out.line(line.trim_end());
        }
    }

    fn show_recyclebin(&mut self, name: &str) {
        let named = match name {
            "" => String::new(),
            name => format!(" and original_name = '{}'", name.to_uppercase().replace('\'', "''")),
        };
        let rows = self.rows_of(&format!(
            "select original_name, object_name, type, droptime from user_recyclebin where can_undrop = 'YES'{named} \
             order by original_name, droptime desc"
        ));
        if rows.is_empty() {
            return;
        }
        self.out.line("ORIGINAL NAME    RECYCLEBIN NAME                OBJECT TYPE  DROP TIME");
        self.out.line("---------------- ------------------------------ ------------ -------------------");
        for row in rows {
            let text: Vec<String> = row.iter().map(|value| self.text(value)).collect();
            let line = format!("{} {} {} {}", left(&text[0], 16), left(&text[1], 30), left(&text[2], 12), text[3]);
            self.out.line(line.trim_end());
        }
    }

    pub(crate) fn show_sga(&mut self) {
        let rows = self.rows_of("select name, value from v$sga");
        self.out.line("");
        for row in rows {
            self.out.line(&format!("{:<24} {:>12} bytes", self.text(&row[0]), self.text(&row[1])));
        }
    }

    pub(crate) fn show_errors(&mut self, rest: &str) {
        let mut named = words(rest);
        if named.len() >= 2 && named[0].eq_ignore_ascii_case("package") && named[1].eq_ignore_ascii_case("body") {
            named.remove(1);
            named[0] = "PACKAGE BODY".into();
        }
        let unit = match named.as_slice() {
            [kind, name, ..] => Some((kind.to_uppercase(), name.to_uppercase())),
            _ => self.last_unit.clone(),
        };
        let Some((kind, name)) = unit else {
            self.out.line("No errors.");
            return;
        };
        let rows = self.rows_of(&format!(
            "select line, position, text from user_errors where name = '{}' order by sequence",
            name.replace('\'', "''")
        ));
        if rows.is_empty() {
            self.out.line("No errors.");
            return;
        }
        self.out.line(&format!("Errors for {kind} {name}:"));
        self.out.line("");
        self.out.line("LINE/COL ERROR");
        self.out.line("-------- -----------------------------------------------------------------");
        for row in rows {
            let place = format!("{}/{}", self.text(&row[0]), self.text(&row[1]));
            let text = self.text(&row[2]);
            let lines = text.lines().flat_map(|line| crate::text::fold(line, 65, true));
            for (at, line) in lines.enumerate() {
                let place = if at == 0 { place.as_str() } else { "" };
                self.out.line(format!("{} {line}", left(place, 8)).trim_end());
            }
        }
    }
}
