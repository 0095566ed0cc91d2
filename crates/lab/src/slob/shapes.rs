//! Further plots: radar, distributions, stacked bars. Their colours are those of the page's series.

use crate::statistics::quantile;
use crate::svg::{escape, short, step};

/// Some figures under a name.
pub struct Named {
    pub name: String,
    pub colour: usize,
    pub figures: Vec<f64>,
}

fn open(width: f64, height: f64, title: &str) -> String {
    let title = escape(title);
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n<text class=\"title\" x=\"12\" y=\"18\">{title}</text>\n"
    )
}

/// The legend of some series.
pub fn legend(all: &[Named]) -> String {
    let mut out = String::from("<ul class=\"legend\">");
    for series in all {
        out.push_str(&format!(
            "<li><svg viewBox=\"0 0 26 10\"><line class=\"s{}\" x1=\"1\" x2=\"25\" y1=\"5\" y2=\"5\"/></svg>{}</li>",
            series.colour,
            escape(&series.name)
        ));
    }
    out.push_str("</ul>\n");
    out
}

/// An axis from a round number at or below the least figure to one at or above the greatest, in round steps.
fn axis(all: &[Named], from_zero: bool) -> (f64, f64, f64) {
    let figures = || all.iter().flat_map(|n| n.figures.iter().copied()).filter(|f| f.is_finite());
    let most = figures().fold(0.0, f64::max).max(1e-9);
    let least = if from_zero { 0.0 } else { figures().fold(most, f64::min) };
    let range = (most - least).max(most * 0.02);
    let by = step(range, 4.0);
    let from = (least / by).floor() * by;
    let to = (most / by).ceil() * by;
    (from, to.max(from + by), by)
}

/// Repeats around a circle, with the figure as the distance from the centre, which is not zero but the minimum of the
/// rings.
pub fn radar(title: &str, all: &[Named]) -> String {
    const W: f64 = 680.0;
    const H: f64 = 460.0;
    const CX: f64 = 340.0;
    const CY: f64 = 246.0;
    const R: f64 = 190.0;
    let (from, to, by) = axis(all, false);
    // A ring below the first tick keeps the smallest figures away from the centre.
    let from = from - by;
    let count = all.iter().map(|n| n.figures.len()).max().unwrap_or(0).max(3);
    let at = |n: usize, value: f64| {
        let angle = std::f64::consts::TAU * n as f64 / count as f64;
        let far = ((value - from) / (to - from)).clamp(0.0, 1.0) * R;
        (CX + far * angle.sin(), CY - far * angle.cos())
    };
    let mut out = open(W, H, title);
    let rings = ((to - from) / by).round() as usize;
    for ring in 1..=rings {
        let value = from + by * ring as f64;
        let corners: Vec<String> = (0..count).map(|n| at(n, value)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        out.push_str(&format!("<polygon class=\"grid\" fill=\"none\" points=\"{}\"/>", corners.join(" ")));
        let (x, y) = at(0, value);
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            x - 4.0,
            y + 4.0,
            short(value)
        ));
    }
    for n in 0..count {
        let (x, y) = at(n, to + (to - from) * 0.001);
        out.push_str(&format!("<line class=\"grid\" x1=\"{CX}\" y1=\"{CY}\" x2=\"{x:.1}\" y2=\"{y:.1}\"/>"));
        let angle = std::f64::consts::TAU * n as f64 / count as f64;
        let (x, y) = (CX + (R + 14.0) * angle.sin(), CY - (R + 14.0) * angle.cos() + 4.0);
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{}</text>\n",
            n + 1
        ));
    }
    for series in all {
        let points: Vec<String> =
            series.figures.iter().enumerate().map(|(n, v)| at(n, *v)).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        out.push_str(&format!(
            "<polygon class=\"s{}\" fill=\"none\" stroke-width=\"2\" points=\"{}\"><title>{}</title></polygon>\n",
            series.colour,
            points.join(" "),
            escape(&series.name)
        ));
    }
    out.push_str("</svg>\n");
    out + &legend(all)
}

/// Every figure as a point, with the quartiles as a box and the median as a line, in one row for each name.
pub fn distributions(title: &str, unit: &str, all: &[Named]) -> String {
    const W: f64 = 680.0;
    const LEFT: f64 = 170.0;
    const RIGHT: f64 = 24.0;
    const TOP: f64 = 34.0;
    const ROW: f64 = 34.0;
    let bottom = TOP + ROW * all.len() as f64;
    let (from, to, by) = axis(all, false);
    let x_at = |value: f64| LEFT + (value - from) / (to - from) * (W - LEFT - RIGHT);
    let mut out = open(W, bottom + 44.0, title);
    for tick in 0..=((to - from) / by).round() as usize {
        let value = from + by * tick as f64;
        let x = x_at(value);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            bottom + 16.0,
            short(value)
        ));
    }
    out.push_str(&format!(
        "<text class=\"label\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        (LEFT + W - RIGHT) / 2.0,
        bottom + 36.0,
        escape(unit)
    ));
    for (place, series) in all.iter().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            LEFT - 10.0,
            y + 4.0,
            escape(&series.name)
        ));
        let mut sorted = series.figures.clone();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            continue;
        }
        let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| x_at(quantile(&sorted, part)));
        let class = series.colour;
        out.push_str(&format!(
            "<rect class=\"s{class}\" fill=\"none\" x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"18\"/><line class=\"s{class}\" stroke-width=\"3\" x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>\n",
            y - 9.0,
            (high - low).max(1.0),
            y - 9.0,
            y + 9.0
        ));
        for (n, value) in series.figures.iter().enumerate() {
            // A fixed offset for each repeat, the same in every row.
            let shift = ((n * 7) % 11) as f64 - 5.0;
            out.push_str(&format!(
                "<circle class=\"s{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.4\" fill-opacity=\"0.55\"/>",
                x_at(*value),
                y + shift
            ));
        }
        out.push('\n');
    }
    out.push_str("</svg>\n");
    out
}

/// A bar for each name, its figures stacked; `parts` names them.
pub fn stacked(title: &str, unit: &str, parts: &[String], all: &[Named]) -> String {
    const W: f64 = 680.0;
    const LEFT: f64 = 170.0;
    const RIGHT: f64 = 70.0;
    const TOP: f64 = 34.0;
    const ROW: f64 = 28.0;
    let bottom = TOP + ROW * all.len() as f64;
    let sums: Vec<Named> =
        all.iter().map(|n| Named { name: String::new(), colour: 0, figures: vec![n.figures.iter().sum()] }).collect();
    let (_, to, by) = axis(&sums, true);
    let long = |value: f64| value / to * (W - LEFT - RIGHT);
    let mut out = open(W, bottom + 44.0, title);
    for tick in 0..=(to / by).round() as usize {
        let value = by * tick as f64;
        let x = LEFT + long(value);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            bottom + 16.0,
            short(value)
        ));
    }
    out.push_str(&format!(
        "<text class=\"label\" x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        (LEFT + W - RIGHT) / 2.0,
        bottom + 36.0,
        escape(unit)
    ));
    for (place, bar) in all.iter().enumerate() {
        let y = TOP + ROW * place as f64 + 5.0;
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
            LEFT - 10.0,
            y + 13.0,
            escape(&bar.name)
        ));
        let mut x = LEFT;
        for (part, value) in bar.figures.iter().enumerate() {
            let name = parts.get(part).map_or("", String::as_str);
            out.push_str(&format!(
                "<rect class=\"f{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"18\"><title>{}: {}</title></rect>",
                part % 10,
                long(*value),
                escape(name),
                short(*value)
            ));
            x += long(*value);
        }
        let sum: f64 = bar.figures.iter().sum();
        out.push_str(&format!(
            "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            x + 6.0,
            y + 13.0,
            short(sum)
        ));
    }
    out.push_str("</svg>\n");
    if parts.len() > 1 {
        out.push_str("<ul class=\"legend\">");
        for (part, name) in parts.iter().enumerate() {
            out.push_str(&format!(
                "<li><svg viewBox=\"0 0 26 10\"><rect class=\"f{}\" width=\"26\" height=\"10\"/></svg>{}</li>",
                part % 10,
                escape(name)
            ));
        }
        out.push_str("</ul>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(figures: &[f64]) -> Named {
        Named { name: "a<b".into(), colour: 1, figures: figures.to_vec() }
    }

    #[test]
    fn shapes_stay_inside_and_escape_their_names() {
        let all = [named(&[1.0e6, 1.2e6, 0.9e6]), named(&[]), named(&[5.0])];
        let parts = ["x&y".to_string(), "z".to_string()];
        for svg in [radar("t&t", &all), distributions("t&t", "u", &all), stacked("t&t", "u", &parts, &all)] {
            assert!(
                svg.contains("t&amp;t") && svg.contains("a&lt;b") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
            for x in svg.split(" cx=\"").skip(1).map(|s| s.split('"').next().unwrap().parse::<f64>().unwrap()) {
                assert!((0.0..=680.0).contains(&x), "{x}");
            }
        }
        assert!(radar("", &[]).contains("</svg>") && distributions("", "", &[]).contains("</svg>"));
        assert!(stacked("", "", &[], &[]).contains("</svg>"));
    }

    #[test]
    fn an_axis_holds_its_figures_in_round_steps() {
        let (from, to, by) = axis(&[named(&[912_000.0, 1_040_000.0])], false);
        assert!(from <= 912_000.0 && to >= 1_040_000.0 && by == 50_000.0, "{from} {to} {by}");
        assert_eq!(axis(&[named(&[7.0])], true).0, 0.0);
    }
}
