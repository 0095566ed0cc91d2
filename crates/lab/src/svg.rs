//! Line plots as SVG, written by hand: one self-contained page needs no script and no font of its own.

/// One line of a plot.
pub struct Series {
    pub title: String,
    pub points: Vec<(f64, f64)>,
    /// Least and greatest at each point, drawn as a bar; may be empty.
    pub bars: Vec<(f64, f64, f64)>,
    /// Place in the palette.
    pub colour: usize,
    pub dashed: bool,
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
    fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            let floor = self.from.ln();
            (value.max(self.from).ln() - floor) / (self.to.ln() - floor)
        } else {
            (value - self.from) / (self.to - self.from)
        };
        HEIGHT - BOTTOM - part.clamp(0.0, 1.05) * (HEIGHT - TOP - BOTTOM)
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
    /// The plot as an SVG element; colours come from the page's style sheet (`.s0`, `.s1`, …).
    pub fn svg(&self) -> String {
        let xs: Vec<f64> = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).collect();
        let ys = || {
            let points = self.series.iter().flat_map(|s| s.points.iter().map(|p| p.1));
            points.chain(self.series.iter().flat_map(|s| s.bars.iter().map(|b| b.2)))
        };
        let x_most = xs.iter().copied().fold(1.0, f64::max);
        let x_least = xs.iter().copied().fold(x_most, f64::min).min(1.0);
        let most = ys().fold(0.0, f64::max);
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
        for series in &self.series {
            let class = format!("s{}{}", series.colour, if series.dashed { " dashed" } else { "" });
            for (x, least, greatest) in &series.bars {
                out.push_str(&format!(
                    "<line class=\"bar {class}\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\"/>",
                    x_at(*x),
                    y.at(*least),
                    y.at(*greatest)
                ));
            }
            let path: Vec<String> =
                series.points.iter().map(|(x, v)| format!("{:.1},{:.1}", x_at(*x), y.at(*v))).collect();
            out.push_str(&format!("<polyline class=\"{class}\" points=\"{}\"/>\n", path.join(" ")));
            for (x, v) in &series.points {
                out.push_str(&format!(
                    "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>{}: {} at {x}</title></circle>",
                    x_at(*x),
                    y.at(*v),
                    escape(&series.title),
                    short(*v)
                ));
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
            let class = format!("s{}{}", series.colour, if series.dashed { " dashed" } else { "" });
            out.push_str(&format!(
                "<li><svg viewBox=\"0 0 26 10\"><line class=\"{class}\" x1=\"1\" x2=\"25\" y1=\"5\" y2=\"5\"/></svg>{}</li>",
                escape(&series.title)
            ));
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
            let series = vec![Series { title: "a<b".into(), points, bars, colour: 0, dashed: false }];
            let svg = Plot { title: "t&t", x_label: "x", y_label: "y", log, series }.svg();
            assert!(svg.contains("t&amp;t") && svg.contains("a&lt;b"));
            let numbers = svg.split("cy=\"").skip(1).map(|s| s.split('"').next().unwrap().parse::<f64>().unwrap());
            for y in numbers {
                assert!((0.0..=HEIGHT - BOTTOM + 0.1).contains(&y), "{y}");
            }
        }
    }

    #[test]
    fn an_empty_plot_is_no_panic() {
        let plot = Plot { title: "", x_label: "", y_label: "", log: true, series: vec![] };
        assert!(plot.svg().ends_with("</svg>\n"));
    }
}
