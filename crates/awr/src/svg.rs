//! Plots of the page as inline SVG: no script, no font, no extra file.

use types::escape::html as escape;

/// The part of DB time that is neither CPU nor a wait: processes were ready to run without a CPU.
pub const WAITING_FOR_CPU: &str = "waiting for a CPU";

/// Colours of wait classes, `DB CPU` first; chosen to be distinguishable by most people.
const COLOURS: &[(&str, &str)] = &[
    ("DB CPU", "#15803d"),
    (WAITING_FOR_CPU, "#86c99a"),
    ("Concurrency", "#9f1239"),
    ("User I/O", "#1d4ed8"),
    ("System I/O", "#0891b2"),
    ("Commit", "#c2410c"),
    ("Configuration", "#7c5a12"),
    ("Application", "#b91c1c"),
    ("Administrative", "#6b7280"),
    ("Network", "#a16207"),
    ("Scheduler", "#4ade80"),
    ("Other", "#db2777"),
];

/// The colour of a class.
pub fn colour(class: &str) -> &'static str {
    COLOURS.iter().find(|(name, _)| *name == class).map_or("#475569", |(_, colour)| colour)
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 40.0;

/// A round number at or above a value: 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|lead| lead * power).find(|round| *round >= value).unwrap_or(value)
}

fn short(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{}G", trimmed(v / 1e9)),
        v if v >= 1e6 => format!("{}M", trimmed(v / 1e6)),
        v if v >= 1e3 => format!("{}k", trimmed(v / 1e3)),
        v => trimmed(v),
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn open(label: &str) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">", escape(label))
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64)) {
    out.push_str(&format!(
        "<line class=\"grid\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
        from.0, from.1, to.0, to.1
    ));
}

fn word(out: &mut String, at: (f64, f64), anchor: &str, text: &str) {
    let text = escape(text);
    out.push_str(&format!("<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{text}</text>", at.0, at.1));
}

/// Grid lines and numbers of a linear y axis up to `most`; returns the position of a value.
fn y_axis(out: &mut String, most: f64, unit: &str) -> impl Fn(f64) -> f64 + use<> {
    let place = move |value: f64| HEIGHT - BOTTOM - (value / most) * (HEIGHT - BOTTOM - TOP);
    for part in 0..=4 {
        let value = most * f64::from(part) / 4.0;
        line(out, (LEFT, place(value)), (WIDTH - RIGHT, place(value)));
        word(out, (LEFT - 6.0, place(value) + 4.0), "end", &format!("{}{unit}", short(value)));
    }
    place
}

/// An interval of time, and the height of each class in it.
pub struct Stack {
    pub from_s: f64,
    pub to_s: f64,
    pub classes: Vec<(String, f64)>,
}

/// A named line through points.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Stacked rectangles of the classes over time; the order of the classes is the same everywhere.
pub fn stacked(label: &str, bars: &[Stack], limit: Option<(f64, &str)>) -> String {
    let Some((first, last)) = bars.first().zip(bars.last()).map(|(a, b)| (a.from_s, b.to_s)) else {
        return String::new();
    };
    let highest = bars.iter().map(|b| b.classes.iter().map(|c| c.1).sum::<f64>()).fold(0.0, f64::max);
    let most = round_up(highest.max(limit.map_or(0.0, |(value, _)| value)));
    let x = |at: f64| LEFT + (at - first) / (last - first).max(1e-9) * (WIDTH - LEFT - RIGHT);
    let mut out = open(label);
    let y = y_axis(&mut out, most, "");
    for Stack { from_s: from, to_s: to, classes } in bars {
        let mut floor = 0.0;
        for (class, height) in classes.iter().filter(|c| c.1 > 0.0) {
            let (top, bottom) = (y(floor + height), y(floor));
            let title = format!("{class}: {} sessions", trimmed(*height));
            out.push_str(&format!(
                "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"><title>{}</title></rect>",
                x(*from),
                (x(*to) - x(*from) - 0.6).max(0.8),
                (bottom - top).max(0.2),
                colour(class),
                escape(&title)
            ));
            floor += height;
        }
    }
    if let Some((value, name)) = limit {
        let at = y(value);
        out.push_str(&format!(
            "<line class=\"limit\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\"/>",
            WIDTH - RIGHT
        ));
        let below = if at - 5.0 < TOP + 6.0 { 16.0 } else { -5.0 };
        word(&mut out, (WIDTH - RIGHT - 4.0, at + below), "end", name);
    }
    for part in 0..=4 {
        let at = first + (last - first) * f64::from(part) / 4.0;
        let anchor = ["start", "middle", "middle", "middle", "end"][part as usize];
        word(&mut out, (x(at), HEIGHT - BOTTOM + 18.0), anchor, &seconds(at - first));
    }
    word(&mut out, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0), "middle", "time since the first snapshot");
    out + "</svg>"
}

/// `12 s`, `3.5 min`, `2 h`.
fn seconds(s: f64) -> String {
    match s {
        s if s >= 7200.0 => format!("{} h", trimmed(s / 3600.0)),
        s if s >= 120.0 => format!("{} min", trimmed(s / 60.0)),
        s => format!("{} s", trimmed(s)),
    }
}

/// Names with horizontal bars: name, class for the colour, value, and the text beside it.
pub fn bars(label: &str, rows: &[(String, String, f64, String)]) -> String {
    let most = rows.iter().map(|r| r.2).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let (step, names) = (24.0, 250.0);
    let height = step * rows.len() as f64 + 8.0;
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escape(label));
    for (at, (name, class, value, beside)) in rows.iter().enumerate() {
        let top = 4.0 + step * at as f64;
        let width = (value / most * (WIDTH - names - 130.0)).max(1.0);
        word(&mut out, (names - 8.0, top + 16.0), "end", name);
        out.push_str(&format!(
            "<rect x=\"{names}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{}\" fill=\"{}\"/>",
            top + 3.0,
            step - 6.0,
            colour(class)
        ));
        word(&mut out, (names + width + 6.0, top + 16.0), "start", beside);
    }
    out + "</svg>"
}

pub const SPIN: &str = "#1d4ed8";
pub const SLEEP: &str = "#9f1239";

/// Names with two figures side by side in one bar.
pub fn split(label: &str, rows: &[(String, [f64; 2])]) -> String {
    let most = rows.iter().map(|r| r.1[0] + r.1[1]).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let (step, names) = (24.0, 210.0);
    let height = step * rows.len() as f64 + 8.0;
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escape(label));
    for (at, (name, both)) in rows.iter().enumerate() {
        let top = 4.0 + step * at as f64;
        word(&mut out, (names - 8.0, top + 16.0), "end", name);
        let mut left = names;
        for (value, colour) in both.iter().zip([SPIN, SLEEP]) {
            let width = value / most * (WIDTH - names - 150.0);
            bar(&mut out, (left, top + 3.0), (width, step - 6.0), colour, &format!("{name}: {}", short(*value)));
            left += width;
        }
        let sum = (both[0] + both[1]).max(1.0);
        let beside = format!("{} ({:.0} % asleep)", short(both[0] + both[1]), 100.0 * both[1] / sum);
        word(&mut out, (left + 6.0, top + 16.0), "start", &beside);
    }
    out + "</svg>"
}

fn bar(out: &mut String, at: (f64, f64), size: (f64, f64), colour: &str, title: &str) {
    if size.0 > 0.0 {
        out.push_str(&format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"><title>{}</title></rect>",
            at.0,
            at.1,
            size.0.max(0.6),
            size.1,
            escape(title)
        ));
    }
}

/// Names with one bar for each of two periods, one above the other.
pub fn pairs(label: &str, rows: &[(String, String, [f64; 2])]) -> String {
    let most = rows.iter().map(|r| r.2[0].max(r.2[1])).fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    let (step, names) = (36.0, 250.0);
    let height = step * rows.len() as f64 + 8.0;
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escape(label));
    for (at, (name, class, both)) in rows.iter().enumerate() {
        let top = 4.0 + step * at as f64;
        word(&mut out, (names - 8.0, top + 21.0), "end", name);
        for (nth, value) in both.iter().enumerate() {
            let (y, width) = (top + 3.0 + 15.0 * nth as f64, value / most * (WIDTH - names - 90.0));
            bar(&mut out, (names, y), (width, 12.0), colour(class), name);
            word(&mut out, (names + width + 6.0, y + 10.5), "start", &trimmed(*value));
        }
    }
    out + "</svg>"
}

/// Many small figures as a strip of two rows: darker means more. With more figures than places, neighbours share a
/// place.
pub fn strip(label: &str, all: &[(u64, [f64; 2])]) -> String {
    const PLACES: usize = 256;
    if all.is_empty() {
        return String::new();
    }
    let each = all.len().div_ceil(PLACES);
    let places: Vec<&[(u64, [f64; 2])]> = all.chunks(each).collect();
    let width = (WIDTH - LEFT - RIGHT) / places.len() as f64;
    let mut out = format!("<svg viewBox=\"0 0 {WIDTH} 116\" role=\"img\" aria-label=\"{}\">", escape(label));
    for (n, (name, colour)) in [("gets", SPIN), ("misses", SLEEP)].into_iter().enumerate() {
        let sum = |place: &[(u64, [f64; 2])]| place.iter().map(|child| child.1[n]).sum::<f64>();
        let most = places.iter().map(|place| sum(place)).fold(0.0, f64::max);
        let top = 10.0 + 42.0 * n as f64;
        word(&mut out, (LEFT - 8.0, top + 21.0), "end", name);
        for (at, place) in places.iter().enumerate() {
            let value = sum(place);
            let share = if most > 0.0 { (value / most).sqrt() } else { 0.0 };
            let numbers = match place {
                [one] => format!("child {}", one.0),
                many => format!("children {} to {}", many[0].0, many[many.len() - 1].0),
            };
            out.push_str(&format!(
                "<rect x=\"{:.2}\" y=\"{top}\" width=\"{:.2}\" height=\"34\" fill=\"{colour}\" fill-opacity=\"{:.3}\"><title>{numbers}: {} {name}</title></rect>",
                LEFT + width * at as f64,
                width + 0.05,
                0.04 + 0.96 * share,
                short(value)
            ));
        }
    }
    let (first, last) = (all[0].0, all[all.len() - 1].0);
    word(&mut out, (LEFT, 108.0), "start", &format!("child {first}"));
    word(&mut out, (WIDTH - RIGHT, 108.0), "end", &format!("child {last}"));
    out + "</svg>"
}

/// Latches as bubbles: name, gets, misses in per cent of gets, milliseconds of sleep.
pub fn bubbles(label: &str, latches: &[(String, f64, f64, f64)]) -> String {
    let Some(most_gets) = latches.iter().map(|l| l.1).reduce(f64::max) else { return String::new() };
    let (low, high) = (0.0, most_gets.max(10.0).log10().ceil());
    let x = |gets: f64| LEFT + (gets.max(1.0).log10() - low) / (high - low) * (WIDTH - LEFT - RIGHT - 40.0);
    let most_ms = latches.iter().map(|l| l.3).fold(0.0, f64::max).max(1e-9);
    let mut out = open(label);
    let y = y_axis(&mut out, round_up(latches.iter().map(|l| l.2).fold(0.0, f64::max)), "%");
    for power in 0..=high as i32 {
        let at = x(10f64.powi(power));
        line(&mut out, (at, TOP), (at, HEIGHT - BOTTOM));
        word(&mut out, (at, HEIGHT - BOTTOM + 16.0), "middle", &short(10f64.powi(power)));
    }
    for (name, gets, percent, ms) in latches {
        let radius = 4.0 + 22.0 * (ms / most_ms).sqrt();
        let title =
            format!("{name}: {} gets, {} % missed, {} ms asleep", short(*gets), trimmed(*percent), trimmed(*ms));
        out.push_str(&format!(
            "<circle class=\"bubble\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"><title>{}</title></circle>",
            x(*gets),
            y(*percent),
            escape(&title)
        ));
    }
    // The names of the most important latches, where they do not overlap.
    let mut named: Vec<&(String, f64, f64, f64)> = latches.iter().collect();
    named.sort_by(|a, b| (b.3, b.2).partial_cmp(&(a.3, a.2)).unwrap_or(std::cmp::Ordering::Equal));
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for (name, gets, percent, _) in named.into_iter().take(6) {
        let at = (x(*gets), y(*percent));
        if taken.iter().all(|t| (t.1 - at.1).abs() > 14.0 || (t.0 - at.0).abs() > 170.0) {
            let anchor = if at.0 > WIDTH * 0.6 { "end" } else { "start" };
            let shift = if anchor == "end" { -10.0 } else { 10.0 };
            word(&mut out, (at.0 + shift, at.1 - 6.0), anchor, name);
            taken.push(at);
        }
    }
    word(&mut out, ((LEFT + WIDTH) / 2.0, HEIGHT - 6.0), "middle", "gets (logarithmic); area: time asleep");
    out + "</svg>"
}

/// Distribution of waits by duration: points are microseconds and per cent of waits.
pub fn curves(label: &str, events: &[Curve]) -> String {
    let points = || events.iter().flat_map(|e| &e.points);
    let Some(longest) = points().map(|p| p.0).reduce(f64::max) else { return String::new() };
    let (low, high) = (0.0, longest.max(2.0).log2().ceil());
    let x = |us: f64| LEFT + (us.max(1.0).log2() - low) / (high - low) * (WIDTH - LEFT - RIGHT);
    let mut out = open(label);
    let y = y_axis(&mut out, round_up(points().map(|p| p.1).fold(0.0, f64::max)), "%");
    let step = ((high - low) / 8.0).ceil().max(1.0) as usize;
    for power in (0..=high as i32).step_by(step) {
        let us = 2f64.powi(power);
        word(&mut out, (x(us), HEIGHT - BOTTOM + 16.0), "middle", &crate::doc::micros(us).replace(".00", ""));
    }
    for (at, Curve { name, points }) in events.iter().enumerate() {
        for (us, share) in points {
            out.push_str(&format!("<circle class=\"d{at}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>", x(*us), y(*share)));
        }
        let path: Vec<String> = points.iter().map(|(us, share)| format!("{:.1},{:.1}", x(*us), y(*share))).collect();
        out.push_str(&format!(
            "<polyline class=\"c{at}\" points=\"{}\"><title>{}</title></polyline>",
            path.join(" "),
            escape(name)
        ));
    }
    word(&mut out, ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 6.0), "middle", "a wait took at most so long (logarithmic)");
    out + "</svg>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_on_round_numbers() {
        assert_eq!([0.0, 0.7, 1.0, 3.2, 47.0].map(round_up), [1.0, 1.0, 1.0, 5.0, 50.0]);
        assert_eq!([1500.0, 2e6, 0.25].map(short), ["1.5k", "2M", "0.25"]);
    }

    #[test]
    fn nothing_to_draw_draws_nothing_and_names_are_escaped() {
        assert_eq!((stacked("x", &[], None), bars("x", &[]), bubbles("x", &[]), curves("x", &[])), Default::default());
        let drawn = bars("a", &[("<b>".into(), "DB CPU".into(), 1.0, "1 s".into())]);
        assert!(drawn.contains("&lt;b&gt;") && !drawn.contains("<b>"), "{drawn}");
    }
}
