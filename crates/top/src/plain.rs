//! One sample as text, JSON or CSV, for pipes and for simple terminals.

use serde_json::{Value as Json, json};

use crate::model::{CLASSES, Model};
use crate::sheet::{Cell, Pane, Table};
use crate::sheets::{Look, panes};
use crate::summary::{Summary, clock};

/// Lines of a table in text output.
const LINES: usize = 12;
const WIDTH: usize = 132;

/// A sample for people. `only` selects one pane, shown in full.
pub fn text(model: &Model, look: Look, only: Option<Pane>) -> String {
    let s = Summary::of(model, look);
    let mut out = format!(
        "{} on {}  {}  latches {}  up {}  at {}  over {:.0} s\n",
        s.facts.instance,
        s.facts.host,
        s.facts.version,
        s.facts.generation,
        s.up(),
        clock(s.wall_ms),
        s.seconds
    );
    let classes = CLASSES.iter().zip(s.by_class).filter(|(_, n)| *n > 0.0);
    let classes: Vec<String> = classes.map(|((name, _), n)| format!("{name} {n:.2}")).collect();
    out.push_str(&format!(
        "average active sessions {:.2} on {} processors  sessions {} ({} active)  {}\n{}\n",
        s.total(),
        s.facts.cpus,
        s.sessions,
        s.active,
        classes.join("  "),
        s.rates_text()
    ));
    for (pane, table) in panes(model, look) {
        match only {
            Some(one) if one != pane => continue,
            Some(_) => out.push_str(&table_text(&table, usize::MAX, WIDTH)),
            None => out.push_str(&table_text(&table, LINES, WIDTH)),
        }
    }
    out
}

/// A table in columns, under its title. Columns that do not fit are left out, those with the highest `spare` first.
pub fn table_text(table: &Table, lines: usize, width: usize) -> String {
    let mut out = format!("\n{}\n", table.title);
    if table.lines.is_empty() {
        out.push_str(&format!("  {}\n", table.none));
        return out;
    }
    let columns = fitting(table, width - 2);
    let row = |cells: &[String]| {
        let mut text = String::from(" ");
        for (at, width) in &columns {
            let cell: String = cells[*at].chars().take(*width).collect();
            let number = table.columns[*at].number;
            text.push_str(&if number { format!(" {cell:>width$}") } else { format!(" {cell:<width$}") });
        }
        text.trim_end().to_string() + "\n"
    };
    out.push_str(&row(&table.columns.iter().map(|c| c.title.to_string()).collect::<Vec<_>>()));
    for line in table.lines.iter().take(lines) {
        out.push_str(&row(&line.cells.iter().map(Cell::show).collect::<Vec<_>>()));
    }
    if table.lines.len() > lines {
        out.push_str(&format!("  and {} more\n", table.lines.len() - lines));
    }
    out
}

/// The columns that fit into `width`, with their widths: index in the table and characters. The column of width 0 takes
/// the rest, at least a third of the width if leaving out other columns can give it that.
pub fn fitting(table: &Table, width: usize) -> Vec<(usize, usize)> {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    let flexible = table.columns.iter().any(|c| c.width == 0);
    let least = if flexible { (width / 3).clamp(12, 40) } else { 0 };
    let fixed = |shown: &[usize]| shown.iter().map(|at| usize::from(table.columns[*at].width) + 1).sum::<usize>();
    while fixed(&shown) + least > width {
        let Some(spare) =
            shown.iter().copied().filter(|at| table.columns[*at].spare > 0).max_by_key(|at| table.columns[*at].spare)
        else {
            break;
        };
        shown.retain(|at| *at != spare);
    }
    let rest = width.saturating_sub(fixed(&shown));
    let size = |at: &usize| match table.columns[*at].width {
        0 => rest.max(8),
        w => usize::from(w),
    };
    shown.iter().map(|at| (*at, size(at))).collect()
}

/// A sample for programs: the summary, and each pane by name.
pub fn json(model: &Model, look: Look, only: Option<Pane>) -> Json {
    let mut all = Summary::of(model, look).json();
    if let Json::Object(fields) = &mut all {
        fields.insert("format".into(), json!("latchwork-top/1"));
        for (pane, table) in panes(model, look) {
            if only.is_none_or(|one| one == pane) {
                let other = fields.insert(pane.name().into(), table.json());
                debug_assert!(other.is_none(), "two fields of one name: {}", pane.name());
            }
        }
    }
    all
}

/// One pane as comma-separated values with a header.
pub fn csv(model: &Model, look: Look, pane: Pane) -> String {
    let quoted = |field: String| {
        let special = field.contains([',', '"', '\n', '\r']);
        if special { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
    };
    let raw = |cell: &Cell| match cell.json() {
        Json::Null => String::new(),
        Json::String(text) => quoted(text),
        other => other.to_string(),
    };
    let mut out = String::new();
    for (_, table) in panes(model, look).into_iter().filter(|(at, _)| *at == pane) {
        let head: Vec<&str> = table.columns.iter().map(|c| c.key).collect();
        out.push_str(&format!("{}\n", head.join(",")));
        for line in &table.lines {
            out.push_str(&format!("{}\n", line.cells.iter().map(raw).collect::<Vec<_>>().join(",")));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::{Line, figure, words};

    fn table() -> Table {
        Table {
            key: "t",
            title: "T".into(),
            columns: vec![
                figure("a", "A", 5, 0),
                words("b", "B", 0, 0),
                words("c", "C", 20, 2),
                figure("d", "D", 8, 1),
            ],
            lines: vec![Line {
                cells: vec![Cell::Count(1), Cell::text("what, \"now\""), Cell::Empty, Cell::Rate(2.5)],
                target: None,
                class: None,
            }],
            none: "none",
            ordered: false,
        }
    }

    #[test]
    fn columns_are_left_out_in_their_order_where_there_is_no_room() {
        let shown = |width| fitting(&table(), width).iter().map(|(at, _)| *at).collect::<Vec<_>>();
        assert_eq!(shown(100), [0, 1, 2, 3]);
        assert_eq!(shown(40), [0, 1, 3]);
        assert_eq!(shown(20), [0, 1]);
        assert_eq!(shown(3), [0, 1], "what cannot be spared stays");
        let wide: usize = fitting(&table(), 100).iter().map(|(_, w)| w + 1).sum();
        assert!(wide <= 101, "{wide}");
    }

    #[test]
    fn a_table_as_text() {
        let lines: Vec<String> = table_text(&table(), 5, 42).lines().map(str::to_string).collect();
        assert_eq!(
            lines,
            ["", "T", "      A B                               D", "      1 what, \"now\"                  2.50"]
        );
    }
}
