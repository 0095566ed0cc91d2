//! The report of the active session history: the activity of sessions between two moments, from samples in memory and
//! on disk.
//!
//! | part | purpose |
//! |---|---|
//! | [`Seen`] | loads samples and the names that go with them |
//! | [`sections`] | the contents of each section, here and at the end of the workload report |
//!
//! A sample stands for the time to the next one (USECS_PER_ROW): a sample in memory for `_ash_sampling_interval`, or
//! longer when a busy machine made the sampler miss its moment; a sample on disk for ten times that. The report shows
//! counts of samples and their quotients.

mod header;
mod sections;
mod seen;

pub(crate) use sections::slot_s;
pub use seen::{Filter, Origin, Seen};

use crate::doc::{Group, Report};
use crate::{Format, Source, html, text};
use types::{Result, Value};

/// The report of the samples between two dates of the database's clock.
///
/// # Errors
/// ORA-20200 when the second date is not later than the first; those of the queries.
pub fn ash_report(
    source: &mut dyn Source,
    begin: &Value,
    end: &Value,
    filter: &Filter,
    format: Format,
) -> Result<String> {
    let seen = Seen::between(source, begin, end, filter)?;
    let head = header::Header::load(source)?;
    let report = Report {
        heading: "ASH Report For",
        title: format!("ASH Report For {}/{}: {} to {}", head.database, head.instance, seen.begin, seen.end),
        running_head: format!("DB/Inst: {}/{}", head.database, head.instance),
        statements: seen.texts.iter().map(|(id, text)| (id.clone(), text.clone())).collect(),
        groups: vec![
            Group { title: "Report Summary", sections: vec![head.section(&seen, filter)] },
            Group { title: "Activity", sections: sections::all(&seen) },
        ],
        findings: Vec::new(),
    };
    Ok(match format {
        Format::Text => text::render(&report),
        Format::Html => html::render_seen(&report, &seen),
    })
}

impl Report {
    /// Adds the samples of the period to the workload report.
    pub(crate) fn add_samples(&mut self, seen: &Seen) {
        let group = Group { title: "Active Session History (ASH) Report", sections: sections::kept(seen) };
        self.groups.push(group);
        for (id, text) in &seen.texts {
            if !self.statements.iter().any(|(known, _)| known == id) {
                self.statements.push((id.clone(), text.clone()));
            }
        }
    }
}
