//! The chart of active sessions: a column for each interval, the classes stacked.
//!
//! With colours a cell shows two steps, one in the foreground and one in the background; without, one step, with each
//! class as its letter.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use super::Theme;
use crate::model::{CLASSES, Model};
use crate::sheet::short;
use crate::summary::clock;

/// Colours of the classes in a terminal's own palette, so that they suit its background.
const COLOURS: [Color; CLASSES.len()] = [
    Color::Green,
    Color::LightGreen,
    Color::Blue,
    Color::Cyan,
    Color::Yellow,
    Color::Red,
    Color::Magenta,
    Color::LightYellow,
    Color::DarkGray,
    Color::LightCyan,
    Color::LightMagenta,
];

/// A class's style.
pub fn style_of(class: usize, theme: Theme) -> Style {
    if theme.colour { Style::new().fg(COLOURS[class.min(COLOURS.len() - 1)]) } else { Style::new() }
}

/// The sign of a class in lines and legends.
pub fn sign_of(class: usize, theme: Theme) -> String {
    if theme.colour && theme.unicode { "▌".into() } else { CLASSES[class].1.to_string() }
}

const AXIS: u16 = 6;
const LEGEND: u16 = 22;

/// A round number at or above `n`: 1, 2, 4, 6, 8 and so on in powers of ten.
fn round_up(n: f64) -> f64 {
    if n <= 1.0 {
        return 1.0;
    }
    let power = 10f64.powf(n.log10().floor());
    [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0].into_iter().map(|lead| lead * power).find(|r| *r >= n).unwrap_or(n)
}

/// The class at a height of a stack.
fn class_at(load: &[f64; CLASSES.len()], height: f64) -> Option<usize> {
    let mut sum = 0.0;
    load.iter().position(|n| {
        sum += n;
        sum > height
    })
}

/// Draws the chart into an area of at least four lines; `legend` has the averages of the window.
pub fn draw(
    buf: &mut Buffer,
    area: Rect,
    model: &Model,
    per: usize,
    background: bool,
    legend: &[f64; CLASSES.len()],
    theme: Theme,
) {
    if area.height < 4 || area.width < 20 {
        return;
    }
    let legend_width = if area.width >= 70 { LEGEND } else { 0 };
    let plot = Rect::new(area.x + AXIS, area.y, area.width - AXIS - legend_width, area.height - 1);
    let columns = model.columns(per, plot.width as usize, background);
    let highest = columns.iter().filter_map(|(_, load)| load.map(|l| l.iter().sum::<f64>())).fold(0.0, f64::max);
    let top = round_up(highest);
    axis(buf, area, plot, top, &columns, theme);
    let cpus = model.now().map_or(0, |now| now.facts.cpus) as f64;
    limit(buf, plot, top, cpus, theme);
    let shift = plot.width.saturating_sub(columns.len() as u16);
    for (at, (_, load)) in columns.iter().enumerate() {
        let x = plot.x + shift + at as u16;
        match load {
            Some(load) => column(buf, plot, x, load, top, theme),
            None => {
                buf[(x, plot.bottom() - 1)].set_symbol("?").set_style(Style::new().add_modifier(Modifier::DIM));
            }
        }
    }
    if legend_width > 0 {
        let place = Rect::new(plot.right() + 1, area.y, legend_width - 1, area.height);
        draw_legend(buf, place, legend, theme);
    }
}

fn column(buf: &mut Buffer, plot: Rect, x: u16, load: &[f64; CLASSES.len()], top: f64, theme: Theme) {
    let step = top / f64::from(plot.height);
    for row in 0..plot.height {
        let base = f64::from(row) * step;
        let y = plot.bottom() - 1 - row;
        if !(theme.colour && theme.unicode) {
            if let Some(class) = class_at(load, base + step * 0.5) {
                buf[(x, y)].set_char(CLASSES[class].1).set_style(style_of(class, theme));
            }
            continue;
        }
        let (low, high) = (class_at(load, base + step * 0.25), class_at(load, base + step * 0.75));
        let Some(low) = low else { continue };
        let cell = &mut buf[(x, y)];
        match high {
            Some(high) if high == low => cell.set_symbol("█").set_style(style_of(low, theme)),
            Some(high) => cell.set_symbol("▄").set_style(style_of(low, theme).bg(COLOURS[high])),
            None => cell.set_symbol("▄").set_style(style_of(low, theme)),
        };
    }
}

/// Draws the number of CPUs as a line: more active sessions than CPUs cannot all run.
fn limit(buf: &mut Buffer, plot: Rect, top: f64, cpus: f64, theme: Theme) {
    if cpus <= 0.0 || cpus > top {
        return;
    }
    let row = ((cpus / top * f64::from(plot.height)) as u16).min(plot.height - 1);
    let line = if theme.unicode { "┄" } else { "-" };
    for x in plot.x..plot.right() {
        buf[(x, plot.bottom() - 1 - row)].set_symbol(line).set_style(Style::new().add_modifier(Modifier::DIM));
    }
    let label = format!("{cpus:.0} cpu");
    buf.set_stringn(plot.x, plot.bottom() - 1 - row, label, 8, Style::new().add_modifier(Modifier::DIM));
}

fn axis(
    buf: &mut Buffer,
    area: Rect,
    plot: Rect,
    top: f64,
    columns: &[(u64, Option<[f64; CLASSES.len()]>)],
    theme: Theme,
) {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let label = |buf: &mut Buffer, row: u16, n: f64| {
        let n = if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") };
        buf.set_stringn(area.x, plot.y + row, format!("{n:>4}"), 4, dim);
    };
    label(buf, 0, top);
    if plot.height >= 6 {
        label(buf, plot.height / 2, top * f64::from(plot.height - plot.height / 2) / f64::from(plot.height));
    }
    let bar = if theme.unicode { "│" } else { "|" };
    for y in plot.y..plot.bottom() {
        buf[(plot.x - 1, y)].set_symbol(bar).set_style(dim);
    }
    buf.set_stringn(area.x, plot.bottom(), "  AAS", 5, dim);
    let Some((last, _)) = columns.last() else { return };
    let shift = plot.width.saturating_sub(columns.len() as u16);
    buf.set_stringn(plot.right().saturating_sub(8), plot.bottom(), clock(*last), 8, dim);
    for back in (20..plot.width.saturating_sub(8)).step_by(20) {
        let x = plot.width - 1 - back;
        if x >= shift
            && let Some((at, _)) = columns.get((x - shift) as usize)
        {
            buf.set_stringn(plot.x + x, plot.bottom(), clock(*at), 8, dim);
        }
    }
}

fn draw_legend(buf: &mut Buffer, area: Rect, load: &[f64; CLASSES.len()], theme: Theme) {
    // In stacking order, the lowest last.
    let mut shown: Vec<usize> = (0..CLASSES.len()).filter(|class| load[*class] >= 0.005).collect();
    shown.reverse();
    let room = area.height as usize;
    let more = shown.len().saturating_sub(room);
    shown.drain(..more);
    let from = area.bottom() - shown.len() as u16;
    for (at, class) in shown.into_iter().enumerate() {
        let y = from + at as u16;
        let sign = if theme.colour && theme.unicode { "█".to_string() } else { CLASSES[class].1.to_string() };
        buf.set_stringn(area.x, y, sign, 1, style_of(class, theme));
        let text = format!("{:<14}{:>5}", CLASSES[class].0, short(load[class]));
        buf.set_stringn(area.x + 2, y, text, area.width as usize - 2, Style::new());
    }
}
