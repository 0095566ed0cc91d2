//! The verdicts as text and as one page.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::judge::{Judged, Verdict};
use crate::claims::{Claim, Point, Side};
use crate::error::LabError;
use crate::files::write_file;
use crate::host;
use crate::html::STYLE;
use crate::results::{Host, date_of};
use crate::svg::escape;
use crate::text::{columns, thousands};

/// The name of the experiment in `results.json`.
pub const NAME: &str = "reproduce";

/// All verdicts of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reproduction {
    pub experiment: String,
    /// Seconds since 1970.
    pub started: u64,
    pub host: Host,
    pub version: String,
    /// The publications by experiment.
    pub publications: BTreeMap<String, String>,
    pub claims: Vec<Judged>,
    /// Whether the user stopped the run.
    pub stopped: bool,
}

const VERDICTS: [Verdict; 4] = [Verdict::Reproduced, Verdict::InDirection, Verdict::NotReproduced, Verdict::NotTested];

/// A figure with three digits, or whole from a thousand on.
fn number(figure: f64) -> String {
    match figure.abs() {
        size if size >= 1000.0 => thousands(figure),
        size if size >= 100.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        size if size >= 0.01 => format!("{figure:.3}"),
        _ => format!("{figure:.1e}"),
    }
}

/// The upper end of a range without one.
const NO_END: f64 = 1e9;

fn range((low, high): (f64, f64)) -> String {
    match high < NO_END {
        true => format!("{} to {}", number(low), number(high)),
        false => format!("{} or more", number(low)),
    }
}

fn point_text(point: &Point) -> String {
    let sessions = if point.sessions == 1 { "1 session".into() } else { format!("{} sessions", point.sessions) };
    let of = if point.of.is_empty() { String::new() } else { format!(" of {}", point.of) };
    format!("{}{of}, {} as {}, {sessions}", point.figure.unit(), point.variant, point.generation)
}

/// The rule of a claim in words.
pub fn rule_text(claim: &Claim) -> String {
    if let Some(count) = &claim.count {
        return format!("{}, {} as {}: exactly {}", count.law, count.variant, count.generation, number(count.is));
    }
    if let Some(rule) = &claim.ratio {
        let side = match rule.side {
            Side::Above => "; in direction with the whole interval above 1",
            Side::Below => "; in direction with the whole interval below 1",
            Side::Level => ", with the whole interval",
        };
        let within = range(rule.within);
        return format!("({}) / ({}): {within}{side}", point_text(&rule.of), point_text(&rule.to));
    }
    let figure = claim.figure.as_ref().map(|rule| (point_text(&rule.at), range(rule.within)));
    figure.map_or(String::new(), |(at, within)| format!("{at}: {within}, with the whole interval"))
}

impl Reproduction {
    pub fn new(
        started: u64,
        publications: BTreeMap<String, String>,
        mut claims: Vec<Judged>,
        stopped: bool,
    ) -> Reproduction {
        claims.sort_by(|a, b| a.source.cmp(&b.source));
        let version = env!("CARGO_PKG_VERSION").into();
        let experiment = NAME.into();
        Reproduction { experiment, started, host: host::describe(), version, publications, claims, stopped }
    }

    /// Whether no verdict is worse than the one that its manifest expects.
    pub fn is_as_expected(&self) -> bool {
        self.claims.iter().all(|claim| claim.as_expected)
    }

    fn sources(&self) -> Vec<&str> {
        let mut all: Vec<&str> = self.claims.iter().map(|c| c.source.as_str()).collect();
        all.dedup();
        all
    }

    /// The publications of a source's experiments.
    fn publications_of(&self, source: &str) -> String {
        let mut all: Vec<&str> = Vec::new();
        for claim in self.claims.iter().filter(|c| c.source == source) {
            if let Some(publication) = self.publications.get(&claim.experiment)
                && !all.contains(&publication.as_str())
            {
                all.push(publication);
            }
        }
        all.join("; ")
    }

    /// The notes and reasons of a source, each with its statements.
    fn notes_of(&self, source: &str) -> Vec<(&str, Vec<&str>)> {
        let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
        for claim in self.claims.iter().filter(|c| c.source == source && !c.note.is_empty()) {
            match all.iter_mut().find(|(note, _)| *note == claim.note) {
                Some((_, says)) => says.push(&claim.says),
                None => all.push((&claim.note, vec![&claim.says])),
            }
        }
        all
    }

    /// `12 reproduced, 2 in direction, …`, without what does not occur.
    fn summary(&self) -> String {
        let counted = VERDICTS.map(|v| (self.claims.iter().filter(|c| c.verdict == v).count(), v));
        let parts: Vec<String> =
            counted.iter().filter(|(n, _)| *n > 0).map(|(n, v)| format!("{n} {}", v.text())).collect();
        let stopped = if self.stopped { "; the run was stopped" } else { "" };
        format!("{} statements: {}{stopped}", self.claims.len(), parts.join(", "))
    }

    /// Writes the verdicts and the page.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), LabError> {
        std::fs::create_dir_all(folder).map_err(|e| LabError::new(format!("{}: {e}", folder.display())))?;
        let json = serde_json::to_string_pretty(self).map_err(|e| LabError::new(e.to_string()))?;
        write_file(&folder.join("results.json"), &json)?;
        write_file(&folder.join("report.html"), &self.page())
    }

    /// The verdicts as a table.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for source in self.sources() {
            out.push_str(&format!("{source}: {}\n", self.publications_of(source)));
            let head = ["statement", "verdict", "published", "measured", "95 % interval", "rule"];
            let mut rows = vec![head.map(String::from).to_vec()];
            for claim in self.claims.iter().filter(|c| c.source == source) {
                let mark = if claim.as_expected { "" } else { " (!)" };
                rows.push(vec![
                    claim.says.clone(),
                    format!("{}{mark}", claim.verdict.text()),
                    claim.published.map_or("-".into(), number),
                    claim.measured.map_or("-".into(), number),
                    claim.ends.map_or("-".into(), range),
                    claim.within.map_or("exact".into(), range),
                ]);
            }
            out.push_str(&columns(&rows));
            for (note, says) in self.notes_of(source) {
                out.push_str(&match says[..] {
                    [one] => format!("  {one}: {note}\n"),
                    _ => format!("  {} statements: {note}\n", says.len()),
                });
            }
            out.push('\n');
        }
        out.push_str(&self.summary());
        if !self.is_as_expected() {
            out.push_str("\n(!) worse than the manifest expects");
        }
        out.push('\n');
        out
    }

    /// The page: a section for each source, with a picture for each ratio.
    pub fn page(&self) -> String {
        let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
        out.push_str(&format!(
            "<title>Published experiments, rerun</title><style>{STYLE}{OWN_STYLE}</style></head><body>\n"
        ));
        let machine = format!("{}, {} cores, Linux {}", self.host.cpu, self.host.cores, self.host.kernel);
        out.push_str(&format!(
            "<h1>Published experiments, rerun</h1>\n<p class=\"soft\">{}; Latchwork {}, {}</p>\n<p><strong>{}</strong></p>\n",
            escape(&machine),
            escape(&self.version),
            date_of(self.started),
            escape(&self.summary())
        ));
        out.push_str(ABOUT);
        for source in self.sources() {
            out.push_str(&format!(
                "<h2>{}</h2>\n<p class=\"soft\">{}</p>\n",
                escape(source),
                escape(&self.publications_of(source))
            ));
            self.claims.iter().filter(|c| c.source == source).for_each(|claim| out.push_str(&card(claim)));
        }
        out.push_str("</body></html>\n");
        out
    }
}

const OWN_STYLE: &str = "
.claim{border:1px solid var(--line);border-radius:8px;padding:12px 14px;margin:10px 0}
.claim p{margin:4px 0}.claim .says{font-weight:600}
.badge{float:right;margin-left:12px;padding:1px 10px;border-radius:10px;border:1px solid currentColor;font-size:13px;white-space:nowrap}
.reproduced{color:var(--c2)}.in-direction{color:var(--c9)}.not-reproduced{color:var(--wrong)}.not-tested{color:var(--soft)}
.claim svg{max-width:560px}.claim table{font-size:13px;border-spacing:0}.claim td{padding:1px 16px 1px 0;vertical-align:top}
.area{fill:var(--c2);opacity:.16}.own{stroke:var(--ink);stroke-width:2;fill:var(--ink)}.theirs{stroke:var(--c3);stroke-width:1.6;fill:var(--paper)}
";

const ABOUT: &str = "<p>Each statement has a rule, written before the run: the quotient of two measured cells, a figure's \
range, or an exact count. <em>Reproduced</em>: the measured quotient lies in the range of the rule, on the published side of \
1 with its whole 95 % interval. <em>In direction</em>: on the published side with the whole interval, outside the range. \
<em>Not reproduced</em>: neither, or the interval is too wide to say. Shares of misses and sleeps \
have half an event added, so that none has a logarithm. In the pictures, which are logarithmic, the shaded area \
is the range of the rule, the hollow diamond the published figure, the dot the measured one with its interval; the line is \
1.</p>\n";

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::InDirection => "in-direction",
        Verdict::NotReproduced => "not-reproduced",
        Verdict::NotTested => "not-tested",
    }
}

fn card(claim: &Judged) -> String {
    let mut out = format!(
        "<div class=\"claim\"><span class=\"badge {}\">{}</span><p class=\"says\">{}</p><p class=\"soft\">Published: {}</p>\n",
        verdict_class(claim.verdict),
        claim.verdict.text(),
        escape(&claim.says),
        escape(&claim.published_text)
    );
    let cell = |name: &str, text: String| format!("<td><span class=\"soft\">{name}</span> {text}</td>");
    out.push_str("<table><tr>");
    out.push_str(&cell("published", claim.published.map_or("-".into(), number)));
    out.push_str(&cell("measured", claim.measured.map_or("-".into(), number)));
    out.push_str(&cell("interval", claim.ends.map_or("-".into(), range)));
    out.push_str(&cell("rule", claim.within.map_or("exact".into(), range)));
    out.push_str(&cell("experiment", escape(&claim.experiment)));
    out.push_str("</tr></table>\n");
    if claim.is_ratio {
        out.push_str(&picture(claim).unwrap_or_default());
    }
    if !claim.note.is_empty() {
        out.push_str(&format!("<p class=\"soft\">{}</p>\n", escape(&claim.note)));
    }
    out.push_str("</div>\n");
    out
}

/// Width and height of a picture.
const PICTURE: (f64, f64) = (560.0, 46.0);

/// A ratio's range, published and measured figure on a logarithmic axis. `None` without a positive figure.
fn picture(claim: &Judged) -> Option<String> {
    let (low, high) = claim.ends?;
    let (published, measured, within) = (claim.published?, claim.measured?, claim.within?);
    let shown: Vec<f64> = [low, high, published, measured, within.0, within.1, 1.0]
        .into_iter()
        .filter(|figure| *figure > 0.0 && *figure < NO_END)
        .collect();
    let least = shown.iter().copied().fold(f64::INFINITY, f64::min) / 1.3;
    let most = shown.iter().copied().fold(0.0, f64::max) * 1.3;
    let span = (most / least).ln();
    let (width, height) = PICTURE;
    let x = |figure: f64| ((figure.clamp(least, most) / least).ln() / span * (width - 20.0)) + 10.0;
    let y = height - 22.0;
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"published {}, measured {}, {}\">",
        number(published),
        number(measured),
        range((low, high))
    );
    let (from, to) = (x(within.0), x(within.1));
    out.push_str(&format!(
        "<rect class=\"area\" x=\"{from:.1}\" y=\"4\" width=\"{:.1}\" height=\"{:.1}\"/>",
        to - from,
        y + 4.0
    ));
    out.push_str(&format!(
        "<line class=\"grid\" x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"2\" y2=\"{1:.1}\"/>",
        x(1.0),
        y + 10.0
    ));
    out.push_str(&format!("<line class=\"own\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>", x(low), x(high)));
    out.push_str(&format!("<circle class=\"own\" cx=\"{:.1}\" cy=\"{y}\" r=\"4\"/>", x(measured)));
    let p = x(published);
    out.push_str(&format!("<path class=\"theirs\" d=\"M{p:.1} {:.1}l6 6l-6 6l-6 -6z\"/>", y - 18.0));
    let label = |figure: f64, anchor: &str| {
        let at = x(figure);
        format!("<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>", height - 2.0, number(figure))
    };
    out.push_str(&label(least * 1.0001, "start"));
    out.push_str(&label(most * 0.9999, "end"));
    if (x(1.0) - 10.0).min(width - 10.0 - x(1.0)) > 50.0 {
        out.push_str(&label(1.0, "middle"));
    }
    out.push_str("</svg>\n");
    Some(out)
}
