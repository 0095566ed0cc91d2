//! `COLUMN`.

use crate::layout::{ColumnFormat, Justify, Wrapping};
use crate::shell::Shell;
use crate::text::{parse_on_off, words};
use crate::titles::{illegal_format, is_format};

impl Shell<'_> {
    pub(crate) fn column(&mut self, rest: &str) {
        let all = words(rest);
        let Some((name, options)) = all.split_first() else {
            let mut names: Vec<&String> = self.formats.keys().collect();
            names.sort();
            let all: Vec<(String, ColumnFormat)> =
                names.into_iter().map(|name| (name.clone(), self.formats[name].clone())).collect();
            for (at, (name, format)) in all.iter().enumerate() {
                if at > 0 {
                    self.out.line("");
                }
                self.show_column(name, format);
            }
            return;
        };
        let key = name.to_uppercase();
        let mut format = self.formats.get(&key).cloned().unwrap_or_default();
        let mut at = options.iter();
        while let Some(option) = at.next() {
            let mut value = || at.next().cloned();
            match option.to_ascii_lowercase().as_str() {
                "cle" | "clear" => {
                    self.formats.remove(&key);
                    return;
                }
                o if o.starts_with("for") => {
                    let wanted = value().unwrap_or_default();
                    if !is_format(&wanted) {
                        self.out.line(&illegal_format(&wanted));
                        return;
                    }
                    format.format = Some(wanted);
                }
                o if o.starts_with("hea") => format.heading = value(),
                o if o.starts_with("jus") => {
                    format.justify = value().and_then(|v| match v.to_ascii_lowercase().chars().next() {
                        Some('l') => Some(Justify::Left),
                        Some('c') => Some(Justify::Center),
                        Some('r') => Some(Justify::Right),
                        _ => None,
                    });
                }
                "nopri" | "noprint" => format.hidden = true,
                "pri" | "print" => format.hidden = false,
                o if o.starts_with("new_v") => format.new_value = value(),
                o if o.starts_with("old_v") => format.old_value = value(),
                o if o.starts_with("ali") => format.alias = value(),
                o if o.starts_with("entmap") => match value().as_deref().and_then(parse_on_off) {
                    Some(on) => format.entmap = Some(on),
                    None => {
                        self.out.line("SP2-0265: entmap must be set ON or OFF");
                        return;
                    }
                },
                "nul" | "null" => format.null = value(),
                o if o.starts_with("like") => {
                    if let Some(other) = value().and_then(|v| self.formats.get(&v.to_uppercase())) {
                        format = other.clone();
                    }
                }
                o if o.starts_with("wra") => format.wrapping = Some(Wrapping::Wrapped),
                o if o.starts_with("wor") => format.wrapping = Some(Wrapping::WordWrapped),
                o if o.starts_with("tru") => format.wrapping = Some(Wrapping::Truncated),
                o if o.starts_with("fold_a") => format.fold_after = true,
                o if o.starts_with("fold_b") => format.fold_before = true,
                o if o.starts_with("newl") => format.newline = true,
                "on" => format.off = false,
                "off" => format.off = true,
                _ => {
                    self.out.line(&format!("SP2-0158: unknown COLUMN option \"{option}\""));
                    return;
                }
            }
        }
        if options.is_empty() {
            self.show_column(&key, &format);
        } else {
            self.formats.insert(key, format);
        }
    }

    pub(crate) fn show_column(&mut self, name: &str, format: &ColumnFormat) {
        if !self.formats.contains_key(name) {
            self.out.line(&format!("SP2-0046: COLUMN '{name}' not defined"));
            return;
        }
        self.out.line(&format!("COLUMN   {name} {}", if format.off { "OFF" } else { "ON" }));
        if let Some(heading) = &format.heading {
            let sep = self.settings.headsep.filter(|sep| heading.contains(*sep));
            let mark = sep.map_or_else(String::new, |sep| format!(" headsep '{sep}'"));
            self.out.line(&format!("HEADING  '{heading}'{mark}"));
        }
        for (what, value) in [
            ("ALIAS", &format.alias),
            ("FORMAT", &format.format),
            ("NEW_VALUE", &format.new_value),
            ("OLD_VALUE", &format.old_value),
            ("NULL", &format.null),
        ] {
            if let Some(value) = value {
                self.out.line(&format!("{what:<8} {value}"));
            }
        }
        for (what, is) in [
            ("NOPRINT", format.hidden),
            ("NEWLINE", format.newline),
            ("FOLD_BEFORE", format.fold_before),
            ("FOLD_AFTER", format.fold_after),
        ] {
            if is {
                self.out.line(what);
            }
        }
        match format.wrapping {
            Some(Wrapping::Wrapped) => self.out.line("WRAPPED"),
            Some(Wrapping::WordWrapped) => self.out.line("WORD_WRAPPED"),
            Some(Wrapping::Truncated) => self.out.line("TRUNCATE"),
            None => {}
        }
    }
}
