//! Line plots as SVG, generated directly: a self-contained page needs no script and no font.

/// One line of a plot.
#[derive(Clone, Debug)]
pub struct Series {
    pub title: String,
    pub points: Vec<(f64, f64)>,
    /// Both ends of the 95 % interval at each point that has one: position, low, high.
    pub bars: Vec<(f64, f64, f64)>,
    /// Position in the palette.
    pub colour: usize,
    /// Position among the [markers](marker).
    pub marker: usize,
    /// From a publication: dashed, with hollow markers.
    pub published: bool,
    /// Predicted: dotted.
    pub foretold: bool,
}

impl Series {
    /// The line's classes.
    pub(crate) fn class(&self) -> String {
        let style = match (self.foretold, self.published) {
            (true, _) => " dotted",
            (false, true) => " dashed",
            (false, false) => "",
        };
        format!("s{}{style}", self.colour)
    }
}

/// Number of different markers.
pub const MARKERS: usize = 6;

/// The names of the markers in legends.
pub const MARKER_NAMES: [&str; MARKERS] =
    ["circles", "squares", "diamonds", "triangles", "triangles on a tip", "crosses"];

/// A marker's outline around a point; `size` is half of its width.
pub(crate) fn marker(kind: usize, x: f64, y: f64, size: f64) -> String {
    let corners: &[(f64, f64)] = match kind % MARKERS {
        0 => {
            return format!(
                "M{:.1},{y:.1}a{size},{size} 0 1 0 {2:.1},0a{size},{size} 0 1 0 {1:.1},0Z",
                x - size,
                -2.0 * size,
                2.0 * size
            );
        }
        1 => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
        2 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        3 => &[(0.0, -1.2), (1.15, 0.85), (-1.15, 0.85)],
        4 => &[(0.0, 1.2), (1.15, -0.85), (-1.15, -0.85)],
        _ => &[
            (-0.4, -1.2),
            (0.4, -1.2),
            (0.4, -0.4),
            (1.2, -0.4),
            (1.2, 0.4),
            (0.4, 0.4),
            (0.4, 1.2),
            (-0.4, 1.2),
            (-0.4, 0.4),
            (-1.2, 0.4),
            (-1.2, -0.4),
            (-0.4, -0.4),
        ],
    };
    let at: Vec<String> = corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx * size, y + dy * size)).collect();
    format!("M{}Z", at.join("L"))
}

/// A marker as an element, hollow for a published series.
pub(crate) fn marked(series: &Series, x: f64, y: f64, size: f64, title: &str) -> String {
    let hollow = if series.published { " hollow" } else { "" };
    let d = marker(series.marker, x, y, size);
    let title = if title.is_empty() { String::new() } else { format!("<title>{}</title>", escape(title)) };
    format!("<path class=\"m{}{hollow}\" d=\"{d}\">{title}</path>", series.colour)
}

/// An interval as a bar; an end outside of the plot has no cap.
pub(crate) fn bar(class: &str, x: f64, (low, high): (f64, f64), (top, bottom): (f64, f64), cap: f64) -> String {
    let ends = [low, high].map(|y| y.clamp(top, bottom));
    let mut d = format!("M{x:.1},{:.1}V{:.1}", ends[0], ends[1]);
    for (y, end) in [low, high].into_iter().zip(ends) {
        if (y - end).abs() < 0.05 {
            d.push_str(&format!("M{:.1},{end:.1}H{:.1}", x - cap, x + cap));
        }
    }
    format!("<path class=\"bar {class}\" d=\"{d}\"/>")
}

/// The greatest value that an axis has to show: the maximum of all points, and of interval ends as far as they do not
/// compress the points too much.
pub(crate) fn most(series: &mut dyn Iterator<Item = &Series>) -> f64 {
    let (mut points, mut bars) = (0.0, 0.0);
    for series in series {
        points = series.points.iter().map(|p| p.1).fold(points, f64::max);
        bars = series.bars.iter().map(|b| b.2).fold(bars, f64::max);
    }
    points.max(bars.min(1.2 * points))
}

/// A sample of a line for a legend.
pub(crate) fn sample(series: &Series) -> String {
    format!(
        "<svg viewBox=\"0 0 34 12\"><line class=\"{}\" x1=\"1\" x2=\"33\" y1=\"6\" y2=\"6\"/>{}</svg>",
        series.class(),
        marked(series, 17.0, 6.0, 3.4, "")
    )
}

/// A plot.
pub struct Plot<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    /// Logarithmic y axis; points at or below zero are drawn on the floor.
    pub log: bool,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 680.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

pub use types::escape::html as escape;

/// A short form of a number for an axis.
pub fn short(value: f64) -> String {
    let trim = |text: String| {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
    };
    match value.abs() {
        v if v >= 1e9 => trim(format!("{:.2}", value / 1e9)) + "G",
        v if v >= 1e6 => trim(format!("{:.2}", value / 1e6)) + "M",
        v if v >= 1e4 => trim(format!("{:.1}", value / 1e3)) + "k",
        v if v >= 10.0 || v == 0.0 => trim(format!("{value:.0}")),
        v if v >= 0.1 => trim(format!("{value:.2}")),
        v if v >= 0.001 => trim(format!("{value:.4}")),
        _ => format!("{value:.1e}"),
    }
}

/// A step of 1, 2 or 5 times a power of ten that divides a range into about `parts`.
pub(crate) fn step(range: f64, parts: f64) -> f64 {
    let raw = range / parts;
    let power = 10f64.powf(raw.log10().floor());
    let lead = raw / power;
    let nice = if lead <= 1.0 {
        1.0
    } else if lead <= 2.0 {
        2.0
    } else if lead <= 5.0 {
        5.0
    } else {
        10.0
    };
    nice * power
}

struct Scale {
    from: f64,
    to: f64,
    log: bool,
}

impl Scale {
    /// The position of a value, possibly outside the plot.
    fn place(&self, value: f64) -> f64 {
        let part = if self.log {
            let floor = self.from.ln();
            (value.max(self.from / 10.0).ln() - floor) / (self.to.ln() - floor)
        } else {
            (value - self.from) / (self.to - self.from)
        };
        HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)
    }

    /// The position of a point; a point below the plot is drawn on the floor.
    fn at(&self, value: f64) -> f64 {
        self.place(value).clamp(TOP, HEIGHT - BOTTOM)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let mut out = Vec::new();
            let mut tick = self.from;
            while tick <= self.to * 1.0001 {
                out.push(tick);
                tick *= 10.0;
            }
            return out;
        }
        let step = step(self.to - self.from, 6.0);
        let count = ((self.to - self.from) / step).floor() as usize;
        (0..=count).map(|at| self.from + step * at as f64).collect()
    }
}

impl Plot<'_> {
    /// The plot as an SVG element; the page's style sheet defines the colours (`.s0`, `.s1`, …).
    pub fn svg(&self) -> String {
        let xs: Vec<f64> = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        let ys = || self.series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
        let x_most = xs.iter().copied().fold(1.0, f64::max);
        let x_least = xs.iter().copied().fold(x_most, f64::min).min(1.0);
        let most = most(&mut self.series.iter());
        let y = if self.log {
            let least = ys().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
            let from = if least.is_finite() { 10f64.powf(least.log10().floor()) } else { 1.0 };
            let to = 10f64.powf(most.max(from * 10.0).log10().ceil());
            Scale { from, to, log: true }
        } else {
            let nice = step(most.max(1e-9), 6.0);
            Scale { from: 0.0, to: (most / nice).ceil().max(1.0) * nice, log: false }
        };
        let x_at = |x: f64| {
            let range = (x_most - x_least).max(1e-9);
            LEFT + (x - x_least) / range * (WIDTH - LEFT - RIGHT)
        };
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n<text class=\"title\" x=\"{LEFT}\" y=\"18\">{}</text>\n",
            escape(self.title),
            escape(self.title)
        );
        for tick in y.ticks() {
            let at = y.at(tick);
            out.push_str(&format!(
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                short(tick)
            ));
        }
        let mut whole: Vec<i64> = xs.iter().map(|x| x.round() as i64).collect();
        whole.sort_unstable();
        whole.dedup();
        for x in whole {
            out.push_str(&format!(
                "<text class=\"tick\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{x}</text>\n",
                x_at(x as f64),
                HEIGHT - BOTTOM + 18.0
            ));
        }
        out.push_str(&format!(
            "<text class=\"label\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n<text class=\"label\" transform=\"translate(16,{:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 8.0,
            escape(self.x_label),
            (TOP + HEIGHT - BOTTOM) / 2.0,
            escape(self.y_label)
        ));
        // Measured lines are drawn over published ones.
        let mut series: Vec<&Series> = self.series.iter().collect();
        series.sort_by_key(|s| !s.published);
        for series in series {
            let class = series.class();
            for (x, low, high) in &series.bars {
                let ends = (y.place(*low), y.place(*high));
                out.push_str(&bar(&class, x_at(*x), ends, (TOP, HEIGHT - BOTTOM), 3.0));
            }
            let path: Vec<String> =
                series.points.iter().map(|(x, v)| format!("{:.1},{:.1}", x_at(*x), y.at(*v))).collect();
            out.push_str(&format!("<polyline class=\"{class}\" points=\"{}\"/>\n", path.join(" ")));
            for (x, v) in &series.points {
                let title = format!("{}: {} at {x}", series.title, short(*v));
                out.push_str(&marked(series, x_at(*x), y.at(*v), 3.4, &title));
            }
            out.push('\n');
        }
        out.push_str("</svg>\n");
        out
    }

    /// The legend as an HTML list.
    pub fn legend(&self) -> String {
        let mut out = String::from("<ul class=\"legend\">");
        for series in &self.series {
            out.push_str(&format!("<li>{}{}</li>", sample(series), escape(&series.title)));
        }
        out.push_str("</ul>\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_on_an_axis() {
        for (value, text) in
            [(0.0, "0"), (0.5, "0.5"), (5.0, "5"), (250.0, "250"), (12_500.0, "12.5k"), (3e6, "3M"), (1.25e9, "1.25G")]
        {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn every_point_lies_inside_the_plot() {
        for log in [false, true] {
            let points = vec![(1.0, 0.0), (2.0, 3.0), (12.0, 123_456.0)];
            let bars = vec![(12.0, 100_000.0, 140_000.0)];
            let line =
                Series { title: "a<b".into(), points, bars, colour: 0, marker: 1, published: false, foretold: false };
            let svg = Plot { title: "t&t", x_label: "x", y_label: "y", log, series: vec![line] }.svg();
            assert!(svg.contains("t&amp;t") && svg.contains("a&lt;b"));
            let line = svg.split("<polyline").nth(1).unwrap().split("points=\"").nth(1).unwrap();
            for point in line.split('"').next().unwrap().split(' ') {
                let y: f64 = point.split(',').nth(1).unwrap().parse().unwrap();
                assert!((TOP..=HEIGHT - BOTTOM).contains(&y), "{y}");
            }
        }
    }

    /// The interval of two repeats may be several times the figures: it must not compress the lines.
    #[test]
    fn an_interval_that_leaves_the_plot_is_cut_and_has_no_cap() {
        let line = |bars: Vec<(f64, f64, f64)>| Series {
            title: "a".into(),
            points: vec![(1.0, 100.0), (2.0, 90.0)],
            bars,
            colour: 0,
            marker: 0,
            published: false,
            foretold: false,
        };
        let svg = |bars| Plot { title: "t", x_label: "x", y_label: "y", log: false, series: vec![line(bars)] }.svg();
        let bar = |svg: &str| svg.split("class=\"bar s0\" d=\"").nth(1).unwrap().split('"').next().unwrap().to_string();
        let (whole, cut) = (svg(vec![(1.0, 95.0, 105.0)]), svg(vec![(1.0, -900.0, 1100.0)]));
        assert_eq!(bar(&whole).matches('H').count(), 2, "two caps: {}", bar(&whole));
        assert_eq!(bar(&cut).matches('H').count(), 0, "{}", bar(&cut));
        assert!(cut.contains(">120</text>") && !cut.contains(">150</text>"), "the axis ends behind the points: {cut}");
        let ends: Vec<f64> =
            bar(&cut).split(['M', 'V']).skip(1).map(|t| t.rsplit(',').next().unwrap().parse().unwrap()).collect();
        assert!(ends.iter().all(|y| (TOP..=HEIGHT - BOTTOM).contains(y)), "{ends:?}");
    }

    #[test]
    fn published_lines_are_dashed_and_hollow_and_markers_differ() {
        let mut line = Series {
            title: "a".into(),
            points: vec![],
            bars: vec![],
            colour: 3,
            marker: 0,
            published: true,
            foretold: false,
        };
        assert!(sample(&line).contains("class=\"s3 dashed\"") && sample(&line).contains("class=\"m3 hollow\""));
        line.published = false;
        assert!(!sample(&line).contains("dashed") && !sample(&line).contains("hollow"));
        let mut all: Vec<String> = (0..MARKERS).map(|kind| marker(kind, 10.0, 10.0, 3.0)).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), MARKERS);
    }

    #[test]
    fn an_empty_plot_is_no_panic() {
        let plot = Plot { title: "", x_label: "", y_label: "", log: true, series: vec![] };
        assert!(plot.svg().ends_with("</svg>\n"));
    }
}
