//! The page of a torture run: its tables, and the times of the starts as a plot.

use super::report::Torture;
use crate::html::{COLOURS, STYLE, style_of_series};
use crate::svg::{Plot, Series, escape};

/// The whole page.
pub fn page(result: &Torture) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    out.push_str(&format!(
        "<title>{}</title><style>{STYLE}{}</style></head><body>\n",
        escape(&result.title),
        style_of_series()
    ));
    out.push_str(&format!("<h1>{}</h1>\n<dl>", escape(&result.title)));
    let host = &result.host;
    let machine = format!("{}, {} cores, Linux {}", host.cpu, host.cores, host.kernel);
    for (name, value) in [("machine", &machine), ("version", &result.version)]
        .into_iter()
        .chain(result.parameters.iter().map(|(n, v)| (n.as_str(), v)))
    {
        out.push_str(&format!("<dt>{}</dt><dd>{}</dd>", escape(name), escape(value)));
    }
    out.push_str("</dl>\n<div class=\"tables\"><pre>");
    out.push_str(&escape(&result.table()));
    out.push_str("</pre></div>\n");
    if let Some(plot) = plot(result) {
        out.push_str(&plot);
    }
    out.push_str("</body></html>\n");
    out
}

/// Milliseconds of the starts after each kind of death, sorted, by percent of the starts.
fn plot(result: &Torture) -> Option<String> {
    let mut series = Vec::new();
    for row in result.rows.iter().filter(|r| r.start_ms.len() > 1) {
        let mut all = row.start_ms.clone();
        all.sort_by(f64::total_cmp);
        let last = (all.len() - 1) as f64;
        let points = all.iter().enumerate().map(|(at, ms)| (100.0 * at as f64 / last, *ms)).collect();
        let (colour, marker, title) = (series.len() % COLOURS, series.len(), row.kind.clone());
        series.push(Series { title, points, bars: Vec::new(), colour, marker, published: false, foretold: false });
    }
    if series.is_empty() {
        return None;
    }
    let plot =
        Plot { title: "Time of a start after a death", x_label: "% of the starts", y_label: "ms", log: false, series };
    Some(format!(
        "<h2>Recovery</h2><figure>{}{}<figcaption>From the start of the program to the open database.</figcaption></figure>\n",
        plot.svg(),
        plot.legend()
    ))
}
