//! The sections of the report.

mod activity;
mod advisories;
mod caches;
mod findings;
mod io;
mod latches;
mod limits;
mod load;
mod memory;
mod segments;
mod services;
mod statements;
mod storage;
mod waits;

#[cfg(test)]
mod form;

pub use activity::ABSOLUTE;
pub use load::{efficiencies, foreground, load_lines};
pub use statements::named_in;

use crate::Period;
use crate::doc::{Group, Report};

/// Builds the report of a period.
pub fn build(p: &Period) -> Report {
    let groups = vec![
        Group { title: "Report Summary", sections: load::sections(p) },
        Group { title: "Wait Events Statistics", sections: [waits::sections(p), services::sections(p)].concat() },
        Group { title: "SQL Statistics", sections: statements::sections(p) },
        Group { title: "Instance Activity Statistics", sections: activity::sections(p) },
        Group { title: "IO Stats", sections: [io::sections(p), storage::io_sections(p)].concat() },
        Group {
            title: "Buffer Pool Statistics",
            sections: [storage::pool_sections(p), vec![limits::recovery(p)]].concat(),
        },
        Group { title: "Advisory Statistics", sections: advisories::sections(p) },
        Group { title: "Wait Statistics", sections: storage::wait_sections(p) },
        Group { title: "Undo Statistics", sections: storage::undo_sections(p) },
        Group { title: "Latch Statistics", sections: latches::sections(p) },
        Group { title: "Segment Statistics", sections: segments::sections(p) },
        Group { title: "Dictionary Cache Statistics", sections: caches::dictionary_sections(p) },
        Group { title: "Library Cache Statistics", sections: caches::library_sections(p) },
        Group { title: "Memory Statistics", sections: memory::sections(p) },
        Group { title: "Resource Limit Statistics", sections: vec![limits::resources(p)] },
        Group { title: "init.ora Parameters", sections: memory::parameter_sections(p) },
    ];
    let db_inst = format!("DB/Inst: {}/{}", p.db_name, p.instance);
    Report {
        heading: "WORKLOAD REPOSITORY report for",
        findings: findings::of(p),
        title: format!("AWR Report for DB: {}, Inst: {}, Snaps: {}-{}", p.db_name, p.instance, p.begin.id, p.end.id),
        running_head: format!("{db_inst}  Snaps: {}-{}", p.begin.id, p.end.id),
        statements: named_in(&groups, p),
        groups,
    }
}
