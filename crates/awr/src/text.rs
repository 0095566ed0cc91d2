//! The report in eighty columns.

use crate::doc::{Body, Cell, Column, Long, Report, Section, Table};

/// Columns of a page.
const WIDTH: usize = 80;

/// Prints a report.
pub fn render(report: &Report) -> String {
    let mut out = format!("{}\n\n", report.heading);
    for section in report.groups.iter().flat_map(|group| &group.sections) {
        section_text(section, &report.running_head, &mut out);
    }
    out.push_str("End of Report\n");
    out
}

fn section_text(section: &Section, running_head: &str, out: &mut String) {
    let table = match &section.body {
        Body::Verbatim { text, .. } => {
            out.push_str(text);
            out.push('\n');
            return;
        }
        Body::Table(table) => table,
    };
    match WIDTH.checked_sub(section.title.len() + running_head.len()).filter(|gap| *gap > 0) {
        Some(gap) => out.push_str(&format!("{}{}{running_head}\n", section.title, " ".repeat(gap))),
        None => out.push_str(&format!("{}\n{}\n", section.title, "~".repeat(section.title.len()))),
    }
    if table.rows.is_empty() {
        out.push_str("\n                  No data exists for this section of the report.\n");
    } else {
        for note in &section.notes {
            out.push_str(&format!("-> {note}\n"));
        }
        out.push('\n');
        table_text(table, out);
    }
    out.push_str(&format!("          {}\n\n", "-".repeat(61)));
}

/// The headings, a ruler, and the rows.
pub fn table_text(table: &Table, out: &mut String) {
    let columns: Vec<&Column> = table.columns.iter().filter(|c| c.long != Long::Below).collect();
    let heads: Vec<Vec<&str>> = columns.iter().map(|c| c.head.split('|').collect()).collect();
    let depth = heads.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..depth {
        let words = heads.iter().zip(&columns).map(|(head, column)| {
            // Headings stand directly above the ruler: short ones begin lower.
            let word = (line + head.len()).checked_sub(depth).map_or("", |at| head[at]);
            set(word, column)
        });
        push_line(words, out);
    }
    push_line(columns.iter().map(|c| "-".repeat(c.width)), out);
    for row in &table.rows {
        row_text(row, &table.columns, out);
    }
}

fn row_text(row: &[Cell], columns: &[Column], out: &mut String) {
    let mut rest = String::new();
    let beside = row.iter().zip(columns).filter(|(_, column)| column.long != Long::Below);
    let cells: Vec<String> = beside
        .map(|(cell, column)| {
            let shown = cell.shown();
            if shown.chars().count() <= column.width {
                return set(&shown, column);
            }
            if !column.left {
                // A number is never cut: it is shortened to thousands, millions and so on (invariant 4).
                return set(&shortened(cell, column.width), column);
            }
            let (first, more) = split(&shown, column.width);
            if column.long == Long::Wrap {
                rest = more.to_string();
            }
            set(first, column)
        })
        .collect();
    push_line(cells, out);
    let before = columns[..columns.len() - 1].iter().filter(|c| c.long != Long::Below);
    let indent: usize = before.map(|c| c.width + 1).sum();
    let width = columns.last().map_or(WIDTH, |c| c.width);
    while !rest.is_empty() {
        let (first, more) = split(&rest, width);
        out.push_str(&format!("{}{first}\n", " ".repeat(indent)));
        rest = more.to_string();
    }
    for (cell, column) in row.iter().zip(columns).filter(|(_, column)| column.long == Long::Below) {
        let shown = cell.shown();
        let mut rest = shown.as_str();
        while !rest.is_empty() {
            let (first, more) = split(rest, column.width);
            out.push_str(&format!("{}\n", first.trim_end()));
            rest = more;
        }
        out.push('\n');
    }
}

/// The first `width` characters and the rest.
fn split(text: &str, width: usize) -> (&str, &str) {
    let at = text.char_indices().nth(width).map_or(text.len(), |(at, _)| at);
    text.split_at(at)
}

fn shortened(cell: &Cell, width: usize) -> String {
    let value = match cell {
        Cell::Count(n) => *n as f64,
        Cell::Decimal(value, _) => *value,
        Cell::Micros(us) => return micros_within(*us, width),
        other => return other.shown(),
    };
    for (unit, by) in [("", 1.0), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15)] {
        let text = format!("{}{unit}", crate::doc::decimal(value / by, 0));
        if text.len() <= width {
            return text;
        }
    }
    "#".repeat(width)
}

/// A duration with as many decimals as fit.
fn micros_within(us: f64, width: usize) -> String {
    let (value, unit) = match us {
        us if us < 1.0 => (us * 1e3, "ns"),
        us if us < 1e3 => (us, "us"),
        us if us < 1e6 => (us / 1e3, "ms"),
        us => (us / 1e6, "s"),
    };
    let shown = |decimals: usize| format!("{value:.decimals$}{unit}");
    (0..=2).rev().map(shown).find(|text| text.len() <= width).unwrap_or_else(|| "#".repeat(width))
}

fn set(word: &str, column: &Column) -> String {
    if column.left {
        format!("{word:<width$}", width = column.width)
    } else {
        format!("{word:>width$}", width = column.width)
    }
}

fn push_line(words: impl IntoIterator<Item = String>, out: &mut String) {
    let line: Vec<String> = words.into_iter().collect();
    out.push_str(line.join(" ").trim_end());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::{below, left, number, wrapped};

    #[test]
    fn headings_stand_on_the_ruler_and_long_texts_go_on() {
        let table = Table {
            columns: vec![left("Event", 10), number("Total|Waits", 7), below("SQL Text"), wrapped("Text", 6)],
            rows: vec![
                vec![Cell::text("read"), Cell::Count(12), Cell::text("select 1"), Cell::text("abcdefgh")],
                vec![Cell::text("a long name of an event"), Cell::Count(123_456_789), Cell::Null, Cell::Null],
            ],
        };
        let mut out = String::new();
        table_text(&table, &mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(
            lines,
            [
                "             Total",
                "Event        Waits Text",
                "---------- ------- ------",
                "read            12 abcdef",
                "                   gh",
                "select 1",
                "",
                "a long nam    123M",
                "",
            ]
        );
    }

    #[test]
    fn an_empty_section_keeps_its_title() {
        let section = Section {
            title: "Undo Segment Stats".into(),
            summary: "",
            notes: vec!["ordered".into()],
            body: Body::Table(Table { columns: vec![left("A", 3)], rows: Vec::new() }),
        };
        let mut out = String::new();
        section_text(&section, "DB/Inst: D/I  Snaps: 1-2", &mut out);
        assert!(out.starts_with("Undo Segment Stats") && out.lines().next().unwrap().len() == 80, "{out}");
        assert!(out.contains("No data exists for this section of the report.") && !out.contains("ordered"));
    }
}
