//! `TTITLE`, `BTITLE`, `REPHEADER` and `REPFOOTER`.

use crate::shell::Shell;
use crate::text::parse_on_off;
use crate::titles::Title;

impl Shell<'_> {
    /// Defines, switches or shows one of the four titles.
    pub(crate) fn title_command(&mut self, name: &str, rest: &str) {
        let pages = name.starts_with("rep");
        if rest.is_empty() {
            if let Some(shown) = self.shown_title(name) {
                self.out.line(&shown);
            }
            return;
        }
        let parsed = match parse_on_off(rest) {
            Some(on) => Ok(on),
            None => match Title::parse(rest, pages) {
                Ok(title) => {
                    *self.title_named(name) = title;
                    Ok(true)
                }
                Err(message) => Err(message),
            },
        };
        match parsed {
            Ok(on) => self.title_named(name).on = on,
            Err(message) => self.out.line(&message),
        }
    }

    /// The output of `SHOW TTITLE` and the like; `None`: no name of a title.
    pub(crate) fn shown_title(&mut self, name: &str) -> Option<String> {
        let unset = match name {
            "ttitle" | "btitle" => "the first few characters of the next SELECT statement",
            "repheader" | "repfooter" => "NULL",
            _ => return None,
        };
        Some(self.title_named(name).show(name, unset))
    }

    fn title_named(&mut self, name: &str) -> &mut Title {
        let titles = &mut self.settings.titles;
        match name {
            "ttitle" => &mut titles.top,
            "btitle" => &mut titles.bottom,
            "repheader" => &mut titles.header,
            _ => &mut titles.footer,
        }
    }
}
