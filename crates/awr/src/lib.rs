//! The workload report: the activity of an instance between two snapshots, in the sections and the order of Oracle's
//! AWR report.
//!
//! All data comes from the `dba_hist_` views through a [`Source`] that runs queries, so the same code serves the
//! program, which is a client, and `dbms_workload_repository`, which runs inside the instance. Loading ([`Period`]),
//! the contents of sections ([`doc::Report`]) and printing ([`text`], [`html`]) are three steps: text and page have the
//! same rows.
//!
//! A figure is a difference of counters, or a quotient of two such differences. Figures that were not counted are not
//! shown: a section without rows says so.
#![forbid(unsafe_code)]

mod advice;
mod ash;
mod diff;
pub mod doc;
pub mod export;
pub mod html;
mod loader;
mod period;
mod sections;
mod source;
mod svg;
pub mod text;

pub use ash::{Filter, Origin, ash_report};
pub use doc::Format;
pub use period::{Period, Snapshot};
pub use source::Source;

use types::Result;

/// The report between two snapshots.
///
/// # Errors
/// ORA-20200 when a snapshot does not exist, the second is not later than the first, or the instance was started
/// between them; those of the queries.
pub fn report(source: &mut dyn Source, begin: i64, end: i64, format: Format) -> Result<String> {
    let period = Period::load(source, begin, end)?;
    let mut report = sections::build(&period);
    let seen = ash::Seen::kept(source, &period)?;
    report.add_samples(&seen);
    Ok(match format {
        Format::Text => text::render(&report),
        Format::Html => html::render(&report, &period),
    })
}

/// The report that compares two periods, each from one snapshot to a later one; the second may belong to another start
/// of the instance.
///
/// # Errors
/// As [`report`], for either period.
pub fn compare(source: &mut dyn Source, first: (i64, i64), second: (i64, i64), format: Format) -> Result<String> {
    let two = diff::Comparison::load(source, first, second)?;
    let report = diff::build(&two);
    Ok(match format {
        Format::Text => text::render(&report),
        Format::Html => html::render_compared(&report, &two),
    })
}
