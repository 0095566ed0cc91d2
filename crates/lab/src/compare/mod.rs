//! `lab compare`: two runs, or a run and a baseline file, cell by cell.
//!
//! Exit codes: 3 when a cell is slower beyond the limit with its whole interval; 2 for input that cannot be compared,
//! runs without a single cell that may be judged among them, so that a machine that was exchanged does not pass for
//! one without a regression; 0 otherwise.

mod judge;
mod report;
mod side;

use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::files::write_file;
use judge::{Rules, compare};
use report::Names;
use side::{Side, baseline_of, read_baseline};

/// Arguments of `lab compare`.
#[derive(clap::Args, Debug)]
pub struct CompareArguments {
    /// The run to compare with: its folder, or its results.json
    a: PathBuf,
    /// The run that is compared; left out with --baseline, or with --designs for two designs of one run
    b: Option<PathBuf>,
    /// Speed in percent that a cell may lose
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = limit)]
    limit: f64,
    /// Confidence of the intervals in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: f64,
    /// Widen the intervals so that all of them hold at once: for many cells, and for continuous integration
    #[arg(long)]
    together: bool,
    /// Compare one design of A with another of B, as 11.1,latchwork
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    designs: Vec<String>,
    /// Judge the cells although the machine or the parameters differ
    #[arg(long)]
    anyway: bool,
    /// Compare the run with this baseline file
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the baseline file from the run instead of comparing with it
    #[arg(long, requires = "baseline")]
    update: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print CSV, a line for each cell of both runs
    #[arg(long)]
    csv: bool,
    /// Also write a page with plots of the speed
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "Examples:
  latchwork lab compare results/before results/after
  latchwork lab compare results/before results/after --limit '3 %' --together --page difference.html
  latchwork lab compare results/run --designs 11.2.0.1,latchwork
  latchwork lab compare results/run --baseline bench/result-cache.baseline --update
  latchwork lab compare results/run --baseline bench/result-cache.baseline --limit 10 --together

Exit codes: 0, nothing is slower beyond the limit; 3, a cell is slower beyond the limit with its whole interval;
2, the input is wrong, or no cell can be judged (other machine, other parameters, single repeats).";

/// A percentage, with or without its sign.
fn share(text: &str, range: std::ops::Range<f64>) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim();
    let percent: f64 = number.parse().map_err(|_| format!("{text} is no percentage"))?;
    match range.contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err(format!("{text} is not from {} to below {}", range.start, range.end)),
    }
}

fn limit(text: &str) -> Result<f64, String> {
    share(text, 0.0..100.0)
}

fn confidence(text: &str) -> Result<f64, String> {
    share(text, 50.0..100.0)
}

/// Runs `lab compare`. Returns the exit code.
pub(crate) fn command(arguments: &CompareArguments) -> u8 {
    match outcome(arguments) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("latchwork lab compare: {e}");
            2
        }
    }
}

fn outcome(arguments: &CompareArguments) -> Result<u8, LabError> {
    let (a, b) = (&arguments.a, arguments.b.as_ref());
    match (&arguments.baseline, b) {
        (Some(file), None) if arguments.update => {
            update(file, &Side::read(a)?)?;
            Ok(0)
        }
        (Some(file), None) => judged(arguments, (file, read_baseline(file)?), (a, Side::read(a)?)),
        (Some(file), Some(b)) if arguments.update => {
            let of_b = Side::read(b)?;
            let code = judged(arguments, (a, Side::read(a)?), (b, of_b.clone()))?;
            update(file, &of_b)?;
            Ok(code)
        }
        (Some(_), Some(_)) => {
            Err(LabError::new("--baseline takes the place of a run: give one run, or --update as well".into()))
        }
        (None, Some(b)) => judged(arguments, (a, Side::read(a)?), (b, Side::read(b)?)),
        (None, None) if !arguments.designs.is_empty() => {
            let side = Side::read(a)?;
            judged(arguments, (a, side.clone()), (a, side))
        }
        (None, None) => {
            Err(LabError::new("give two runs, or one and --baseline FILE, or one and --designs A,B".into()))
        }
    }
}

fn update(file: &Path, side: &Side) -> Result<(), LabError> {
    write_file(file, &baseline_of(side))?;
    eprintln!("{}: {} cells written", file.display(), side.cells.len());
    let single = side.cells.values().filter(|figures| figures.len() < 2).count();
    if single > 0 {
        eprintln!("{single} of them have a single repeat and will not be judged: run with --repeat 2 or more");
    }
    Ok(())
}

/// Compares two sides, prints the comparison, and returns the exit code.
fn judged(arguments: &CompareArguments, a: (&Path, Side), b: (&Path, Side)) -> Result<u8, LabError> {
    let ((place_a, mut a), (place_b, mut b)) = (a, b);
    let (mut name_a, mut name_b) = (place_a.display().to_string(), place_b.display().to_string());
    match arguments.designs.as_slice() {
        [] => {}
        [of_a, of_b] => {
            let name = format!("{of_a} to {of_b}");
            a.only(of_a, &name);
            b.only(of_b, &name);
            (name_a, name_b) = (format!("{name_a}, {of_a}"), format!("{name_b}, {of_b}"));
        }
        _ => return Err(LabError::new("--designs takes two generations, as 11.1,latchwork".into())),
    }
    let CompareArguments { limit, confidence, together, anyway, .. } = *arguments;
    let outcome = compare(&a, &b, Rules { limit, confidence, together, anyway });
    if outcome.cells.is_empty() {
        return Err(LabError::new(format!("no cell is in both {name_a} and {name_b}")));
    }
    let names = Names { a: &name_a, b: &name_b };
    let text = match (arguments.json, arguments.csv) {
        (true, _) => report::json(&names, &outcome),
        (_, true) => report::csv(&outcome),
        _ => report::text(&names, &a, &b, &outcome),
    };
    print!("{text}");
    if let Some(page) = &arguments.page {
        write_file(page, &report::page(&names, &a, &b, &outcome))?;
    }
    if outcome.is_slower() {
        return Ok(3);
    }
    match outcome.judged() {
        0 => Err(LabError::new("no cell could be judged; the reasons are above (with --csv: run it without)".into())),
        _ => Ok(0),
    }
}
