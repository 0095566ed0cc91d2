//! Small multiples: many small plots on the same axes, so that they differ only in the measured figures.

use crate::svg::{Series, bar, escape, marked, most, sample, short, step};

/// One plot of a grid.
pub struct Panel {
    pub title: String,
    /// A line below the title.
    pub note: String,
    pub series: Vec<Series>,
}

/// Plots that share their axes.
pub struct Grid<'a> {
    pub title: &'a str,
    pub y_label: &'a str,
    /// Logarithmic y axis.
    pub log: bool,
    /// A position on the x axis to mark.
    pub mark: Option<f64>,
    pub panels: Vec<Panel>,
}

const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 176.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 20.0;

/// The style of grids, beside the page's.
pub const STYLE: &str = "
.small{display:grid;grid-template-columns:repeat(5,1fr);gap:8px;margin:8px 0 4px}
@media(max-width:900px){.small{grid-template-columns:repeat(2,1fr)}}
.small figure{padding:6px}.small svg text{font-size:11px}.small svg text.title{font-size:13px}.small svg text.note{font-size:9.5px}
.small polyline{stroke-width:1.8}.mark{stroke:var(--soft);stroke-dasharray:2 3}
h3{font-size:15px;margin:26px 0 2px}
table{border-collapse:collapse;font-size:13.5px}th,td{padding:4px 12px 4px 0;text-align:right;border-bottom:1px solid var(--line)}
th:first-child,td:first-child{text-align:left}th{font-weight:600;color:var(--soft);vertical-align:bottom}
td.wrong{color:var(--wrong);font-weight:600}.warning{border-left:4px solid var(--wrong);padding:4px 12px;background:var(--panel)}
";

/// The axes of all panels.
struct Axes {
    x: (f64, f64),
    y: (f64, f64),
    log: bool,
}

impl Axes {
    fn of(grid: &Grid<'_>) -> Axes {
        let series = || grid.panels.iter().flat_map(|p| &p.series);
        let xs = || series().flat_map(|s| s.points.iter().map(|p| p.0));
        let ys = || series().flat_map(|s| s.points.iter().map(|p| p.1));
        let to = xs().fold(1.0, f64::max);
        let x = (xs().fold(to, f64::min), to);
        let most = most(&mut series());
        let y = if grid.log {
            let least = ys().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
            let from = if least.is_finite() { 10f64.powf(least.log10().floor()) } else { 1.0 };
            (from, 10f64.powf(most.max(from * 10.0).log10().ceil()))
        } else {
            let nice = step(most.max(1e-9), 4.0);
            (0.0, (most / nice).ceil().max(1.0) * nice)
        };
        Axes { x, y, log: grid.log }
    }

    fn x_at(&self, x: f64) -> f64 {
        let range = (self.x.1 - self.x.0).max(1e-9);
        LEFT + 6.0 + (x - self.x.0) / range * (WIDTH - LEFT - RIGHT - 12.0)
    }

    /// The position of a value, possibly outside the plot.
    fn place(&self, y: f64) -> f64 {
        let (from, to) = self.y;
        let part = match self.log {
            true => (y.max(from / 10.0) / from).ln() / (to / from).ln(),
            false => (y - from) / (to - from),
        };
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }

    fn y_at(&self, y: f64) -> f64 {
        self.place(y).clamp(TOP, HEIGHT - BOTTOM)
    }

    fn ticks(&self) -> Vec<f64> {
        let (from, to) = self.y;
        if self.log {
            let decades = (to / from).log10().round() as i32;
            let stride = (decades / 4).max(1);
            return (0..=decades).filter(|at| at % stride == 0).map(|at| from * 10f64.powi(at)).collect();
        }
        let step = step(to - from, 4.0);
        (0..=((to - from) / step).round() as usize).map(|at| from + step * at as f64).collect()
    }
}

impl Grid<'_> {
    /// The grid with its heading and legend; empty when there are no figures.
    pub fn html(&self) -> String {
        if self.panels.iter().all(|p| p.series.iter().all(|s| s.points.is_empty())) {
            return String::new();
        }
        let axes = Axes::of(self);
        let mut out = format!("<h3>{}</h3>\n{}<div class=\"small\">\n", escape(self.title), self.legend());
        for panel in &self.panels {
            out.push_str(&format!("<figure>{}</figure>\n", self.svg(panel, &axes)));
        }
        out.push_str("</div>\n");
        out
    }

    /// Each line once, by its title; published ones last.
    fn legend(&self) -> String {
        let mut named: Vec<&Series> = Vec::new();
        for series in self.panels.iter().flat_map(|p| &p.series).filter(|s| !s.points.is_empty()) {
            if !named.iter().any(|n| n.title == series.title && n.published == series.published) {
                named.push(series);
            }
        }
        named.sort_by_key(|s| s.published);
        let mut out = String::from("<ul class=\"legend\">");
        for series in named {
            out.push_str(&format!("<li>{}{}</li>", sample(series), escape(&series.title)));
        }
        out.push_str(&format!("<li class=\"soft\">across: sessions; up: {}</li></ul>\n", escape(self.y_label)));
        out
    }

    fn svg(&self, panel: &Panel, axes: &Axes) -> String {
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}: {1}\">\n<text class=\"title\" x=\"4\" y=\"14\">{1}</text>\n",
            escape(self.title),
            escape(&panel.title)
        );
        if !panel.note.is_empty() {
            out.push_str(&format!("<text class=\"note\" x=\"4\" y=\"27\">{}</text>\n", escape(&panel.note)));
        }
        for tick in axes.ticks() {
            let y = axes.y_at(tick);
            out.push_str(&format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 4.0,
                y + 4.0,
                short(tick)
            ));
        }
        if let Some(mark) = self.mark.filter(|m| (axes.x.0..=axes.x.1).contains(m)) {
            let x = axes.x_at(mark);
            let bottom = HEIGHT - BOTTOM;
            out.push_str(&format!("<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"));
        }
        for x in self.marks_across() {
            out.push_str(&format!(
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{x}</text>",
                axes.x_at(x),
                HEIGHT - 5.0
            ));
        }
        out.push('\n');
        // Measured lines are drawn over published ones.
        let mut series: Vec<&Series> = panel.series.iter().collect();
        series.sort_by_key(|s| !s.published);
        series.into_iter().for_each(|series| draw(&mut out, series, axes));
        out.push_str("</svg>");
        out
    }

    /// The numbers along the x axis: the measured ones, as far as there is room.
    fn marks_across(&self) -> Vec<f64> {
        let points = self.panels.iter().flat_map(|p| &p.series).flat_map(|s| s.points.iter().map(|p| p.0));
        let mut all: Vec<f64> = points.collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let room = (all.last().copied().unwrap_or(1.0) - all.first().copied().unwrap_or(1.0)) / 9.0;
        let mut kept: Vec<f64> = Vec::new();
        // From the right, so that the greatest number is included.
        for x in all.into_iter().rev() {
            if kept.last().is_none_or(|last| last - x >= room) {
                kept.push(x);
            }
        }
        kept
    }
}

fn draw(out: &mut String, series: &Series, axes: &Axes) {
    let class = series.class();
    for (x, low, high) in &series.bars {
        let ends = (axes.place(*low), axes.place(*high));
        out.push_str(&bar(&class, axes.x_at(*x), ends, (TOP, HEIGHT - BOTTOM), 2.0));
    }
    let at: Vec<(f64, f64)> = series.points.iter().map(|(x, y)| (axes.x_at(*x), axes.y_at(*y))).collect();
    let path: Vec<String> = at.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    out.push_str(&format!("<polyline class=\"{class}\" points=\"{}\"/>", path.join(" ")));
    for ((x, y), (sessions, value)) in at.into_iter().zip(&series.points) {
        let title = format!("{}: {} at {sessions}", series.title, short(*value));
        out.push_str(&marked(series, x, y, 2.6, &title));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(title: &str, points: Vec<(f64, f64)>) -> Panel {
        let line =
            Series { title: "w".into(), points, bars: vec![], colour: 0, marker: 0, published: false, foretold: false };
        Panel { title: title.into(), note: String::new(), series: vec![line] }
    }

    /// The first point that a panel draws.
    fn first_point(html: &str, panel: usize) -> String {
        let svg = html.split("<figure>").nth(panel + 1).unwrap();
        let points = svg.split("<polyline").nth(1).unwrap().split("points=\"").nth(1).unwrap();
        points.split([' ', '"']).next().unwrap().to_string()
    }

    #[test]
    fn panels_share_their_axes() {
        for log in [false, true] {
            let panels =
                vec![panel("a", vec![(1.0, 10.0), (2.0, 10.0)]), panel("b<", vec![(1.0, 10.0), (12.0, 1000.0)])];
            let html = Grid { title: "t", y_label: "y", log, mark: Some(2.0), panels }.html();
            assert_eq!(first_point(&html, 0), first_point(&html, 1), "one value lies at one height");
            assert!(html.contains("b&lt;") && html.matches("class=\"mark\"").count() == 2);
        }
    }

    #[test]
    fn nothing_measured_draws_nothing() {
        let grid = Grid { title: "t", y_label: "y", log: true, mark: None, panels: vec![panel("a", vec![])] };
        assert!(grid.html().is_empty());
    }
}
