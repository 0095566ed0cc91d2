//! The workload report: what an instance did between two snapshots, in the sections that Oracle people know, in their
//! order.
//!
//! Everything comes from the `dba_hist_` views through a [`Source`] that runs queries, so the same code serves the
//! program, which is a client, and `dbms_workload_repository`, which runs inside. Loading ([`Period`]), what a section
//! says ([`doc::Report`]) and how it is printed ([`text`], [`html`]) are three steps: text and page have the same rows.
//!
//! A figure is a difference of counters, or a quotient of two. What was not counted is not shown: a section without
//! rows says so.
#![forbid(unsafe_code)]

mod advice;
mod ash;
mod diff;
pub mod doc;
pub mod export;
pub mod html;
mod period;
mod sections;
mod svg;
pub mod text;

pub use ash::{Filter, Origin, ash_report};
pub use period::{Period, Snapshot};

use types::{Result, Value};

/// Who runs queries for the report.
pub trait Source {
    /// The rows of a query; placeholders `:1`, `:2` … take `binds` in order.
    ///
    /// # Errors
    /// Those of the query.
    fn query(&mut self, sql: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>>;
}

impl<F: FnMut(&str, &[Value]) -> Result<Vec<Vec<Value>>>> Source for F {
    fn query(&mut self, sql: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        self(sql, binds)
    }
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Eighty columns.
    Text,
    /// One self-contained page.
    Html,
}

/// The report between two snapshots.
///
/// # Errors
/// ORA-20200 when a snapshot does not exist, is not the later one, or when the instance was started between them; those
/// of the queries.
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

/// The report that compares two periods, each from a snapshot to a later one; the second may be of another start of the
/// instance.
///
/// # Errors
/// As [`report`], for either period.
pub fn compare(source: &mut dyn Source, first: (i64, i64), second: (i64, i64), format: Format) -> Result<String> {
    let two = diff::Two::load(source, first, second)?;
    let report = diff::build(&two);
    Ok(match format {
        Format::Text => text::render(&report),
        Format::Html => html::render_compared(&report, &two),
    })
}
