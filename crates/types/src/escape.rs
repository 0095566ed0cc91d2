//! Text escaped for other languages, and for log and trace files.

/// A JSON string with its quotes.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Text for HTML or SVG, also inside a quoted attribute.
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character may not stand in a line: it would end the line, or act on the terminal of a reader.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// A text of a user, such as a name, in one line: with a blank for each control character.
pub fn one_line(text: &str) -> String {
    text.replace(is_control, " ")
}

/// A text with its line breaks, each line as [`one_line`]. A line that could be taken for a heading of a trace file or
/// for the time stamp of an entry in the alert log is indented.
pub fn lines(text: &str) -> String {
    let line = |line: &str| {
        let line = one_line(line.strip_suffix('\r').unwrap_or(line));
        let indent = if is_heading(&line) { " " } else { "" };
        format!("{indent}{line}")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

fn is_heading(line: &str) -> bool {
    let is_date = |line: &str| {
        let fits = |(c, form): (char, char)| if form == '0' { c.is_ascii_digit() } else { c == form };
        line.chars().count() > 10 && line.chars().zip("0000-00-00T".chars()).all(fits)
    };
    line.starts_with("***") || line.starts_with("-----") || is_date(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_users_cannot_be_taken_for_headings() {
        let text = "a\tb\u{1b}[2J\r\n*** x\n----- y\n2026-11-30T10:00:00+00:00\n2026-11-30";
        assert_eq!(lines(text), "a b [2J\n *** x\n ----- y\n 2026-11-30T10:00:00+00:00\n2026-11-30");
        assert_eq!(one_line("a\nb\u{2028}c\u{9b}"), "a b c ");
    }

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(json("a\"b\\\n\u{1}ü"), "\"a\\\"b\\\\\\n\\u0001ü\"");
        assert_eq!(html("<b a=\"1\">&ü'"), "&lt;b a=&quot;1&quot;&gt;&amp;ü'");
    }
}
