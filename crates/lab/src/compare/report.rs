//! A comparison as text, JSON, CSV and page.

use serde_json::json;

use super::judge::{Compared, Outcome, Verdict};
use super::side::{Figure, Key, Side};
use crate::html::{COLOURS, STYLE, style_of_series};
use crate::svg::{MARKERS, Plot, Series, escape};
use crate::text::{columns, thousands};

/// Cells in one run only that the text names before it counts the rest.
const NAMED_MAX: usize = 12;

/// The names of the two sides, for the reader.
pub struct Names<'a> {
    pub a: &'a str,
    pub b: &'a str,
}

/// A figure of a table: whole numbers from a hundred on, three digits below.
fn number(figure: f64) -> String {
    if !figure.is_finite() {
        return "-".into();
    }
    match figure.abs() {
        size if size >= 1e15 => format!("{figure:.3e}"),
        size if size >= 100.0 => thousands(figure),
        _ => format!("{figure:.3}"),
    }
}

/// A ratio; what is beyond a thousand is no news any more.
fn times(ratio: f64) -> String {
    match ratio {
        r if r.is_nan() => "-".into(),
        r if r >= 1000.0 => "> 1000".into(),
        r => format!("{r:.3}"),
    }
}

fn interval(ends: Option<(f64, f64)>) -> String {
    ends.map_or("-".into(), |(low, high)| format!("{} to {}", times(low), times(high)))
}

/// The sides' circumstances, a line for each experiment and side.
fn sides(names: &Names<'_>, a: &Side, b: &Side) -> String {
    let mut out = String::new();
    for (letter, name, side) in [("A", names.a, a), ("B", names.b, b)] {
        out.push_str(&format!("{letter}  {}\n", plain_name(name)));
        for (experiment, about) in &side.about {
            let date = crate::results::date_of(about.started);
            let machine = format!("{}, {} cores", about.cpu, about.cores);
            out.push_str(&format!("   {experiment}: version {}, {date}, {machine}\n", about.version));
        }
    }
    out
}

fn plain_name(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn table(cells: &[&Compared]) -> String {
    let head = ["cell", "sessions", "figure", "A", "B", "speed B/A", "interval", "verdict"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for cell in cells {
        rows.push(vec![
            cell.key.variant(),
            cell.key.sessions.to_string(),
            cell.key.figure.name().into(),
            number(cell.medians.0),
            number(cell.medians.1),
            cell.speed.map_or("-".into(), times),
            interval(cell.ends),
            cell.verdict.text().into(),
        ]);
    }
    columns(&rows)
}

fn experiments(outcome: &Outcome) -> Vec<&str> {
    let mut all: Vec<&str> = outcome.cells.iter().map(|c| c.key.experiment.as_str()).collect();
    all.dedup();
    all
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// The rule of the verdicts, in a sentence.
fn rule(outcome: &Outcome) -> String {
    let rules = &outcome.rules;
    let all = if rules.together { ", for all cells at once" } else { "" };
    format!(
        "A and B: medians of the repeats. Speed: geometric averages, above 1 B is faster, with the {} % interval{all}. Limit: {} %.",
        percent(rules.confidence),
        percent(rules.limit)
    )
}

/// The numbers of cells by verdict.
fn total(outcome: &Outcome) -> String {
    let of = |verdict| outcome.count(verdict);
    format!(
        "{} cells: {} slower beyond the limit, {} slower within it, {} without a difference, {} faster within it, {} faster beyond it, {} not judged.",
        outcome.cells.len(),
        of(Verdict::Slower),
        of(Verdict::SlowerWithinLimit),
        of(Verdict::NoDifferenceFound),
        of(Verdict::FasterWithinLimit),
        of(Verdict::Faster),
        of(Verdict::NotJudged)
    )
}

/// The limits of the figures, a line each.
fn reservations(outcome: &Outcome) -> Vec<String> {
    let mut out = Vec::new();
    for (experiment, reason) in &outcome.reasons {
        let effect = if outcome.rules.anyway { "judged anyway" } else { "not judged; --anyway judges" };
        out.push(format!("{experiment}: {effect}: {reason}"));
    }
    let single = outcome.cells.iter().filter(|c| c.repeats.0.min(c.repeats.1) < 2).count();
    if single > 0 {
        out.push(format!("{single} cells have a single repeat on one side: no interval, so no verdict"));
    }
    let wrong = outcome.cells.iter().filter(|c| c.speed.is_none()).count();
    if wrong > 0 {
        out.push(format!("{wrong} cells have a figure that is not above zero: no verdict"));
    }
    for (name, keys) in [("A", &outcome.only_a), ("B", &outcome.only_b)] {
        if keys.is_empty() {
            continue;
        }
        let named = |key: &Key| {
            format!("{} {}, {} sessions, {}", key.experiment, key.variant(), key.sessions, key.figure.name())
        };
        let listed: Vec<String> = keys.iter().take(NAMED_MAX).map(named).collect();
        let rest = keys.len().saturating_sub(NAMED_MAX);
        let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        out.push(format!("{} cells in {name} only: {}{rest}", keys.len(), listed.join("; ")));
    }
    out.extend(outcome.remarks.iter().cloned());
    let chance = outcome.by_chance();
    if outcome.judged() > 1 && !outcome.rules.together {
        out.push(format!(
            "with {} judged cells up to {chance:.1} are called slower by chance when nothing changed and the limit is 0; --together rules that out",
            outcome.judged()
        ));
    }
    out
}

/// The tables for a terminal.
pub fn text(names: &Names<'_>, a: &Side, b: &Side, outcome: &Outcome) -> String {
    let mut out = format!("{}{}\n", sides(names, a, b), rule(outcome));
    for experiment in experiments(outcome) {
        let own: Vec<&Compared> = outcome.cells.iter().filter(|c| c.key.experiment == experiment).collect();
        out.push_str(&format!("\n{experiment}\n\n{}", table(&own)));
    }
    out.push_str(&format!("\n{}\n", total(outcome)));
    for line in reservations(outcome) {
        out.push_str(&format!("- {line}\n"));
    }
    out
}

/// The comparison as JSON. A figure that is not there, or not finite, is null.
pub fn json(names: &Names<'_>, outcome: &Outcome) -> String {
    let key = |k: &Key| {
        json!({"experiment": k.experiment, "workload": k.workload, "generation": k.generation,
               "sessions": k.sessions, "figure": k.figure.name()})
    };
    let cell = |c: &Compared| {
        let mut of = key(&c.key);
        let more = json!({
            "repeats_a": c.repeats.0, "repeats_b": c.repeats.1, "median_a": c.medians.0, "median_b": c.medians.1,
            "speed": c.speed, "low": c.ends.map(|e| e.0), "high": c.ends.map(|e| e.1), "verdict": c.verdict,
        });
        if let (Some(of), serde_json::Value::Object(more)) = (of.as_object_mut(), more) {
            of.extend(more);
        }
        of
    };
    let all = json!({
        "a": names.a, "b": names.b,
        "limit": outcome.rules.limit, "confidence": outcome.rules.confidence, "together": outcome.rules.together,
        "slower": outcome.count(Verdict::Slower), "judged": outcome.judged(),
        "cells": outcome.cells.iter().map(cell).collect::<Vec<_>>(),
        "only_a": outcome.only_a.iter().map(key).collect::<Vec<_>>(),
        "only_b": outcome.only_b.iter().map(key).collect::<Vec<_>>(),
        "reservations": reservations(outcome),
    });
    format!("{all:#}\n")
}

/// The comparison as CSV, a line for each cell of both.
pub fn csv(outcome: &Outcome) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut out = String::from(
        "experiment,workload,generation,sessions,figure,repeats_a,repeats_b,median_a,median_b,speed,low,high,verdict\n",
    );
    for c in &outcome.cells {
        let figure = |f: Option<f64>| f.filter(|f| f.is_finite()).map(|f| f.to_string()).unwrap_or_default();
        let names = [&c.key.experiment, &c.key.workload, &c.key.generation].map(|name| quoted(name));
        let (low, high) = (figure(c.ends.map(|e| e.0)), figure(c.ends.map(|e| e.1)));
        let medians = format!("{},{}", figure(Some(c.medians.0)), figure(Some(c.medians.1)));
        let verdict = serde_json::to_value(c.verdict).ok();
        let verdict = verdict.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
        let (sessions, of, repeats) = (c.key.sessions, c.key.figure.name(), c.repeats);
        out.push_str(&format!(
            "{},{sessions},{of},{},{},{medians},{},{low},{high},{verdict}\n",
            names.join(","),
            repeats.0,
            repeats.1,
            figure(c.speed)
        ));
    }
    out
}

/// The comparison as a self-contained page: a plot of the speed for each experiment and figure, and the text.
pub fn page(names: &Names<'_>, a: &Side, b: &Side, outcome: &Outcome) -> String {
    let title = "Comparison of two runs";
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\"><title>{title}</title><style>{STYLE}{}</style></head><body>\n\
         <h1>{title}</h1>\n<p class=\"soft\">{}</p>\n<div class=\"plots\">\n",
        style_of_series(),
        escape(&total(outcome))
    );
    for experiment in experiments(outcome) {
        for figure in Figure::ALL {
            let of = |c: &&Compared| c.key.experiment == experiment && c.key.figure == figure;
            let cells: Vec<&Compared> = outcome.cells.iter().filter(of).collect();
            let title = format!("{experiment}: speed of B relative to A, by {}", figure.name());
            let plot =
                Plot { title: &title, x_label: "sessions", y_label: "speed B/A", log: false, series: series(&cells) };
            if !plot.series.is_empty() {
                out.push_str(&format!("<figure>{}{}</figure>\n", plot.svg(), plot.legend()));
            }
        }
    }
    out.push_str(&format!("</div>\n<pre>{}</pre>\n</body></html>\n", escape(&text(names, a, b, outcome))));
    out
}

/// A line for each variant.
fn series(cells: &[&Compared]) -> Vec<Series> {
    let mut out: Vec<Series> = Vec::new();
    for cell in cells {
        let Some(speed) = cell.speed.filter(|s| s.is_finite()) else { continue };
        let (title, at) = (cell.key.variant(), f64::from(cell.key.sessions));
        if out.last().is_none_or(|series| series.title != title) {
            let (colour, marker) = (out.len() % COLOURS, out.len() % MARKERS);
            out.push(Series { title, points: vec![], bars: vec![], colour, marker, published: false, foretold: false });
        }
        if let Some(series) = out.last_mut() {
            series.points.push((at, speed));
            series.bars.extend(cell.ends.filter(|(_, high)| high.is_finite()).map(|(low, high)| (at, low, high)));
        }
    }
    out
}
