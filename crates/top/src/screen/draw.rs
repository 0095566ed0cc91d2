//! Draws the screen into a buffer, for any size from 40 by 10 on.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};

use super::{App, Theme, ZOOMS, chart};
use crate::plain::fitting;
use crate::sheet::{Cell, Pane, Sheet, Table, Target};
use crate::summary::{Summary, clock};

/// From this size on several tables are drawn side by side.
const WIDE: (u16, u16) = (150, 40);

const HELP: [&str; 17] = [
    "Up Down PgUp PgDn   select a line",
    "Enter               go into it: event, session, statement, latch",
    "Backspace Esc Left  go back",
    "Tab, 1 to 8         the next table, or a table by its number",
    "s                   sort by the next column, then in the table's own order",
    "w                   seconds that the tables average over: 1, 5, 15, 60, 300",
    "z                   samples that a column of the chart stands for",
    "f Space             freeze, and go on",
    "b                   count background processes as active, or not",
    "k                   kill the selected session; asks first",
    "q Ctrl-C            quit",
    "",
    "Active sessions are counted five times an interval: AAS is their average.",
    "WAITS/S, GETS/S and the like come from the instance's own counters.",
    "The dashed line is the number of processors.",
    "",
    "Any key goes back.",
];

fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn marked() -> Style {
    Style::new().add_modifier(Modifier::REVERSED)
}

/// Draws everything.
pub fn draw(app: &mut App, buf: &mut Buffer, theme: Theme) {
    let area = buf.area;
    if area.width < 40 || area.height < 10 {
        buf.set_stringn(0, 0, "The window is too small.", area.width as usize, Style::new());
        return;
    }
    let summary = Summary::of(app.model(), app.look);
    head(app, &summary, buf, area);
    let wide = area.width >= WIDE.0 && area.height >= WIDE.1;
    let in_sheet = !app.levels.is_empty();
    let chart_height = match area.height {
        0..=15 => 0,
        h if in_sheet && h < 40 => 0,
        h => (h / 3).clamp(5, 14),
    };
    let chart_area = Rect::new(0, 2, area.width, chart_height);
    if app.live.now().is_some() {
        chart::draw(buf, chart_area, app.model(), ZOOMS[app.zoom], app.look.background, &summary.by_class, theme);
    }
    let body = Rect::new(0, 2 + chart_height, area.width, area.height - chart_height - 3);
    match app.sheet() {
        _ if app.live.now().is_none() => nothing_yet(app, buf, body),
        Some(sheet) => draw_sheet(app, &sheet, buf, body, theme),
        None if wide => draw_grid(app, buf, body, theme),
        None => draw_tabs(app, buf, body, theme),
    }
    foot(app, buf, Rect::new(0, area.height - 1, area.width, 1));
    if app.help {
        popup(buf, &HELP.map(str::to_string), theme);
    } else if let Some(doomed) = &app.question {
        let lines = [
            format!("Kill session {},{}, {}?", doomed.sid, doomed.serial, doomed.who),
            "Its transaction is rolled back.".to_string(),
            String::new(),
            "y: kill it, any other key: cancel".to_string(),
        ];
        popup(buf, &lines, theme);
    }
}

fn nothing_yet(app: &App, buf: &mut Buffer, area: Rect) {
    let (first, second) = match &app.lost {
        Some(why) => (why.as_str(), "Trying again every second; q quits."),
        None => ("Connecting …", ""),
    };
    let y = area.y + area.height / 2;
    for (at, text) in [first, second].into_iter().enumerate() {
        let x = area.width.saturating_sub(text.chars().count() as u16) / 2;
        buf.set_stringn(x, y + at as u16, text, area.width as usize, bold());
    }
}

fn head(app: &App, s: &Summary, buf: &mut Buffer, area: Rect) {
    let width = area.width as usize;
    let state = if let Some(why) = app.lost.as_ref().filter(|_| app.live.now().is_some()) {
        format!(" GONE: {why} ")
    } else if let Some(s) = app.silent_s {
        format!(" NO ANSWER for {s} s: try latchwork hang ")
    } else if app.frozen.is_some() {
        format!(" FROZEN at {} ", clock(s.wall_ms))
    } else if app.ended {
        " END OF RECORDING ".to_string()
    } else {
        clock(s.wall_ms)
    };
    let left = if app.model().now().is_some() {
        format!(
            "latchwork top  {}@{}  {}  up {}  {} cpus  average over {:.0} s",
            s.facts.instance,
            s.facts.host,
            s.facts.generation,
            s.up(),
            s.facts.cpus,
            s.seconds
        )
    } else {
        "latchwork top".to_string()
    };
    buf.set_stringn(0, 0, &left, width, bold());
    let alarm = state.starts_with(' ');
    let state: String = state.chars().take(width).collect();
    if app.model().now().is_some() || alarm {
        let x = area.width - state.chars().count() as u16;
        let gap = if alarm { 0 } else { 2 };
        if alarm || left.chars().count() as u16 + gap <= x {
            buf.set_stringn(x, 0, &state, width, if alarm { marked() } else { Style::new() });
        }
    }
    if app.model().now().is_some() {
        let background = if app.look.background { " (with background)" } else { "" };
        let text = format!(
            "AAS {:.2}{background}  DB time {:.2}/s  sessions {} ({} active)  {}",
            s.total(),
            s.db_time_per_s,
            s.sessions,
            s.active,
            s.rates_text()
        );
        buf.set_stringn(0, 1, text, width, Style::new());
    }
}

fn foot(app: &App, buf: &mut Buffer, area: Rect) {
    if let Some(said) = &app.said {
        buf.set_stringn(area.x, area.y, said, area.width as usize, marked());
        return;
    }
    let keys = if app.levels.is_empty() {
        [
            ("Tab", "table"),
            ("Enter", "into"),
            ("s", "sort"),
            ("w", "window"),
            ("f", "freeze"),
            ("k", "kill"),
            ("?", "help"),
            ("q", "quit"),
        ]
    } else {
        [
            ("Bksp", "back"),
            ("Enter", "into"),
            ("Tab", "next list"),
            ("s", "sort"),
            ("f", "freeze"),
            ("k", "kill"),
            ("?", "help"),
            ("q", "quit"),
        ]
    };
    let mut x = area.x;
    for (key, does) in keys {
        let width = (key.len() + does.len() + 3) as u16;
        if x + width > area.right() {
            break;
        }
        x = buf.set_stringn(x, area.y, key, 8, bold()).0;
        x = buf.set_stringn(x + 1, area.y, does, 12, dim()).0 + 2;
    }
}

/// One table under a line of tabs.
fn draw_tabs(app: &mut App, buf: &mut Buffer, area: Rect, theme: Theme) {
    let mut x = area.x;
    for (at, pane) in Pane::ALL.into_iter().enumerate() {
        // All tabs fit into 80 columns only without a space behind each.
        let label = format!(" {} {}{}", at + 1, pane.title(), if area.width < 86 { "" } else { " " });
        let style = if pane == app.pane { marked() } else { Style::new() };
        x = buf.set_stringn(x, area.y, label, area.right().saturating_sub(x) as usize, style).0;
    }
    let table = app.table(app.pane);
    let list = Rect::new(area.x, area.y + 1, area.width, area.height.saturating_sub(1));
    app.page = usize::from(list.height.saturating_sub(2)).max(1);
    let at = app.cursor_place(app.pane, &targets(&table));
    draw_table(app, &table, buf, list, Some(at), theme);
}

/// Draws six tables side by side; the one with the keyboard focus is marked.
fn draw_grid(app: &mut App, buf: &mut Buffer, area: Rect, theme: Theme) {
    let last = if matches!(app.pane, Pane::Figures | Pane::Designs) { app.pane } else { Pane::Mutexes };
    let grid = [[Pane::Events, Pane::Sessions], [Pane::Statements, Pane::Latches], [Pane::Blockers, last]];
    let height = area.height / 3;
    let left = (area.width - 2) / 2;
    for (row, panes) in grid.into_iter().enumerate() {
        let y = area.y + row as u16 * height;
        let rows = if row == 2 { area.height - 2 * height } else { height };
        for (column, pane) in panes.into_iter().enumerate() {
            let x = if column == 0 { area.x } else { area.x + left + 2 };
            let width = if column == 0 { left } else { area.width - left - 2 };
            let number = Pane::ALL.iter().position(|p| *p == pane).unwrap_or(0) + 1;
            let focused = pane == app.pane;
            let table = app.table(pane);
            let title = format!(" {number} {} ", table.title);
            buf.set_stringn(x, y, title, width as usize, if focused { marked() } else { bold() });
            let list = Rect::new(x, y + 1, width, rows.saturating_sub(2));
            if focused {
                app.page = usize::from(list.height.saturating_sub(2)).max(1);
            }
            let at = focused.then(|| app.cursor_place(pane, &targets(&table)));
            draw_table(app, &table, buf, list, at, theme);
        }
    }
}

fn targets(table: &Table) -> Vec<Option<Target>> {
    table.lines.iter().map(|line| line.target.clone()).collect()
}

/// Draws a table with its head; the selected line stays visible.
fn draw_table(app: &App, table: &Table, buf: &mut Buffer, area: Rect, selected: Option<usize>, theme: Theme) {
    if area.height < 2 || area.width < 10 {
        return;
    }
    if table.lines.is_empty() {
        let text = if app.model().has_ticks() { table.none } else { "The first sample is being taken." };
        buf.set_stringn(area.x + 2, area.y, text, area.width as usize - 2, dim());
        return;
    }
    let columns = fitting(table, area.width as usize - 2);
    draw_titles(app, table, &columns, buf, area, theme);
    let room = usize::from(area.height - 1);
    let first = selected.map_or(0, |at| (at + 1).saturating_sub(room));
    for (row, at) in (first..table.lines.len()).take(room).enumerate() {
        let place = Rect::new(area.x, area.y + 1 + row as u16, area.width, 1);
        draw_line(table, at, &columns, buf, place, selected == Some(at), theme);
    }
}

fn draw_titles(app: &App, table: &Table, columns: &[(usize, usize)], buf: &mut Buffer, area: Rect, theme: Theme) {
    let mut x = area.x + 2;
    for (at, width) in columns {
        let column = &table.columns[*at];
        let sorted = app.sorts.get(table.key) == Some(at) && !table.ordered;
        let mut title = column.title.to_string();
        if sorted && title.chars().count() < *width {
            title.push(if theme.unicode { '▼' } else { '*' });
        }
        let text = if column.number { format!("{title:>width$}") } else { format!("{title:<width$}") };
        let style = if sorted { bold().add_modifier(Modifier::UNDERLINED) } else { dim() };
        buf.set_stringn(x, area.y, text, area.right().saturating_sub(x) as usize, style);
        x += *width as u16 + 1;
    }
}

fn draw_line(
    table: &Table,
    at: usize,
    columns: &[(usize, usize)],
    buf: &mut Buffer,
    area: Rect,
    selected: bool,
    theme: Theme,
) {
    let line = &table.lines[at];
    if let Some(class) = line.class {
        buf.set_stringn(area.x, area.y, chart::sign_of(class, theme), 1, chart::style_of(class, theme));
    }
    let mut x = area.x + 2;
    for (column, width) in columns {
        let mut text = line.cells.get(*column).map_or(String::new(), Cell::show);
        if !theme.unicode {
            text = text.replace('└', "`").replace('…', ".");
        }
        let number = table.columns[*column].number;
        let text: String = text.chars().take(*width).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let text = if number { format!("{text:>width$}") } else { format!("{text:<width$}") };
        buf.set_stringn(x, area.y, text, area.right().saturating_sub(x) as usize, Style::new());
        x += *width as u16 + 1;
    }
    if selected {
        let row = Rect::new(area.x + 1, area.y, area.width - 1, 1);
        buf.set_style(row, marked());
    }
}

/// A part of a sheet, from top to bottom.
enum Item<'a> {
    Blank,
    Said(String),
    Title(&'a Table),
    Heads(&'a Table),
    None(&'a Table),
    /// A line of a table, and its index among all selectable lines.
    Line(&'a Table, usize, usize),
}

fn items<'a>(sheet: &'a Sheet, width: usize) -> Vec<Item<'a>> {
    let mut all = Vec::new();
    let about: Vec<String> = sheet.about.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    all.extend(wrapped(&about.join("   "), width).into_iter().map(Item::Said));
    if !sheet.text.is_empty() {
        all.push(Item::Blank);
        let lines = sheet.text.lines().flat_map(|line| wrapped(line, width));
        all.extend(lines.take(40).map(Item::Said));
    }
    let mut number = 0;
    for table in &sheet.tables {
        all.extend([Item::Blank, Item::Title(table)]);
        if table.lines.is_empty() {
            all.push(Item::None(table));
            continue;
        }
        all.push(Item::Heads(table));
        for at in 0..table.lines.len() {
            all.push(Item::Line(table, at, number));
            number += 1;
        }
    }
    if sheet.waiting {
        all.extend([Item::Blank, Item::Said("More is being read …".into())]);
    }
    all
}

/// A text in lines of at most `width` characters, broken between words if possible.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split_inclusive(' ') {
        let long = word.chars().count();
        if used > 0 && used + word.trim_end().chars().count() > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        for c in word.chars() {
            if used == width.max(1) {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += 1;
        }
        debug_assert!(long == 0 || used > 0);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

fn draw_sheet(app: &mut App, sheet: &Sheet, buf: &mut Buffer, area: Rect, theme: Theme) {
    let path: Vec<String> = app.levels.iter().map(|level| short_title(&level.target)).collect();
    let title = format!(" {} > {} ", app.pane.title(), path.join(" > "));
    buf.set_stringn(area.x, area.y, title, area.width as usize, marked());
    let area = Rect::new(area.x, area.y + 1, area.width, area.height.saturating_sub(1));
    let items = items(sheet, area.width.saturating_sub(4) as usize);
    let all: Vec<Option<Target>> = sheet.tables.iter().flat_map(targets).collect();
    let selected = app.levels.last().map_or(0, |level| level.cursor.place(&all));
    let room = area.height as usize;
    app.page = room.max(2) - 1;
    let at = items.iter().position(|item| matches!(item, Item::Line(_, _, n) if *n == selected)).unwrap_or(0);
    // The first line also makes the lines above it visible.
    let first =
        if selected == 0 && at < room { 0 } else { (at + 1).saturating_sub(room).max(at.saturating_sub(room / 2)) };
    for (row, item) in items.iter().skip(first).take(room).enumerate() {
        let place = Rect::new(area.x, area.y + row as u16, area.width, 1);
        let text = |buf: &mut Buffer, text: &str, style| {
            let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            buf.set_stringn(place.x + 2, place.y, clean, place.width as usize - 2, style);
        };
        match item {
            Item::Blank => {}
            Item::Said(said) => text(buf, said, Style::new()),
            Item::Title(table) => text(buf, &table.title, bold()),
            Item::None(table) => text(buf, table.none, dim()),
            Item::Heads(table) => {
                let columns = fitting(table, area.width as usize - 2);
                draw_titles(app, table, &columns, buf, place, theme);
            }
            Item::Line(table, line, number) => {
                let columns = fitting(table, area.width as usize - 2);
                draw_line(table, *line, &columns, buf, place, *number == selected, theme);
            }
        }
    }
}

fn short_title(target: &Target) -> String {
    match target {
        Target::Pane(pane) => pane.title().to_string(),
        Target::Event(name) if name.is_empty() => "CPU".into(),
        Target::Event(name) | Target::Latch(name) => name.clone(),
        Target::Session(sid, serial) => format!("session {sid},{serial}"),
        Target::Statement(id) => format!("SQL {id}"),
    }
}

/// Draws a box in the middle.
fn popup(buf: &mut Buffer, lines: &[String], theme: Theme) {
    let area = buf.area;
    let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0) as u16;
    let (width, height) = ((longest + 4).min(area.width), (lines.len() as u16 + 2).min(area.height));
    let at = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    let (corner, across, down) =
        if theme.unicode { (["┌", "┐", "└", "┘"], "─", "│") } else { (["+", "+", "+", "+"], "-", "|") };
    for y in at.y..at.bottom() {
        for x in at.x..at.right() {
            let edge_x = x == at.x || x == at.right() - 1;
            let edge_y = y == at.y || y == at.bottom() - 1;
            let symbol = match (edge_x, edge_y) {
                (true, true) => corner[usize::from(y != at.y) * 2 + usize::from(x != at.x)],
                (true, false) => down,
                (false, true) => across,
                (false, false) => " ",
            };
            buf[(x, y)].reset();
            buf[(x, y)].set_symbol(symbol);
        }
    }
    for (row, line) in lines.iter().enumerate().take(height.saturating_sub(2) as usize) {
        buf.set_stringn(at.x + 2, at.y + 1 + row as u16, line, width as usize - 4, Style::new());
    }
}
