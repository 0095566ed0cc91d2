//! The report of the active session history: what sessions were seen to do between two moments, from memory and from
//! disk.
//!
//! | part | what it does |
//! |---|---|
//! | [`Seen`] | loads samples and the names that go with them |
//! | [`sections`] | says what each section shows: here and at the end of the workload report |
//!
//! A sample stands for the time between two of them (USECS_PER_ROW): one of memory for `_ash_sampling_interval`, or
//! longer behind moments that a busy machine made the sampler miss; one of disk for ten times that. What is shown are
//! counts of samples, and quotients of such.

mod header;
mod sections;
mod seen;

pub(crate) use sections::slot_s;
pub use seen::{Filter, Origin, Seen};

use crate::doc::{Group, Report};
use crate::{Format, Source, html, text};
use types::{Result, Value};

/// The report of what was seen from one moment to another, dates of the database's clock.
///
/// # Errors
/// ORA-20200 when the second is not the later one; those of the queries.
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
    /// Adds to the workload report what sessions were seen to do in its period.
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
