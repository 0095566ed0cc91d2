//! Segments by activity.

use crate::Period;
use crate::doc::{Cell, Section, decimal, left, number, section};
use crate::period::Segment;

/// Rows of a list.
const SHOWN: usize = 10;

/// A ranking of the segments.
struct Order {
    /// The title after `Segments by`.
    title: &'static str,
    summary: &'static str,
    head: &'static str,
    /// The index in [`Segment::figures`].
    figure: usize,
    /// The statistic of the whole instance and its title; without one, shares are relative to the sum of the segments
    /// in the snapshots.
    whole: Option<(&'static str, &'static str)>,
}

macro_rules! summary {
    ($by:literal, $head:literal) => {
        concat!(
            "This table displays top segments by ",
            $by,
            ". Owner, tablespace name, object type, ",
            $head,
            ", etc. are displayed for each segment"
        )
    };
}

const ORDERS: &[Order] = &[
    Order {
        title: "Logical Reads",
        summary: summary!("logical reads", "logical read"),
        head: "Logical|Reads",
        figure: 0,
        whole: Some(("session logical reads", "Logical Reads")),
    },
    Order {
        title: "Physical Reads",
        summary: summary!("physical reads", "physical reads"),
        head: "Physical|Reads",
        figure: 3,
        whole: Some(("physical reads", "Physical Reads")),
    },
    Order {
        title: "Physical Read Requests",
        summary: summary!("physical read requests", "physical read requests"),
        head: "Phys Read|Requests",
        figure: 5,
        whole: Some(("physical read IO requests", "Physical Read Requests")),
    },
    Order {
        title: "Physical Writes",
        summary: summary!("physical writes", "physical writes"),
        head: "Physical|Writes",
        figure: 4,
        whole: Some(("physical writes", "Physical Writes")),
    },
    Order {
        title: "Physical Write Requests",
        summary: summary!("physical write requests", "physical write requests"),
        head: "Phys Write|Requests",
        figure: 6,
        whole: Some(("physical write IO requests", "Physical Write Requests")),
    },
    Order {
        title: "Table Scans",
        summary: summary!("table scans", "table scans"),
        head: "Table|Scans",
        figure: 9,
        whole: None,
    },
    Order {
        title: "DB Blocks Changes",
        summary: summary!("database blocks changes", "db block changes"),
        head: "DB Block|Changes",
        figure: 2,
        whole: None,
    },
    Order {
        title: "Row Lock Waits",
        summary: summary!("row lock waits", "row lock waits"),
        head: "Row|Lock|Waits",
        figure: 8,
        whole: None,
    },
    Order {
        title: "ITL Waits",
        summary: summary!("ITL waits", "ITL waits"),
        head: "ITL|Waits",
        figure: 7,
        whole: None,
    },
    Order {
        title: "Buffer Busy Waits",
        summary: summary!("buffer busy waits", "buffer busy waits"),
        head: "Buffer|Busy|Waits",
        figure: 1,
        whole: None,
    },
];

pub fn sections(p: &Period) -> Vec<Section> {
    ORDERS.iter().map(|order| by(p, order)).collect()
}

fn by(p: &Period, order: &Order) -> Section {
    let figure = |s: &Segment| s.figures[order.figure];
    let captured: u64 = p.segments.iter().map(figure).sum();
    let whole = order.whole.map_or(captured, |(stat, _)| p.stat(stat));
    let mut all: Vec<&Segment> = p.segments.iter().filter(|s| figure(s) > 0).collect();
    all.sort_by_cached_key(|s| (std::cmp::Reverse(figure(s)), s.owner.clone(), s.name.clone(), s.tablespace.clone()));
    all.truncate(SHOWN);
    let row = |s: &&Segment| {
        vec![
            Cell::text(&s.owner),
            Cell::text(&s.tablespace),
            Cell::text(&s.name),
            Cell::text(&s.part),
            Cell::text(&s.kind),
            Cell::Count(figure(s)),
            Cell::percent(figure(s) as f64, whole as f64, 2),
        ]
    };
    let columns = vec![
        left("Owner", 10),
        left("Tablespace|Name", 10),
        left("Object Name", 20),
        left("Subobject|Name", 10),
        left("Obj.|Type", 5),
        number(order.head, 12),
        number(if order.whole.is_some() { "%Total" } else { "% of|Capture" }, 7),
    ];
    let notes = match order.whole {
        Some((_, what)) => [
            format!("Total {what}: {}", Cell::Count(whole).shown()),
            format!("Captured Segments account for {}% of Total", decimal(share(captured, whole), 1)),
        ],
        None => [
            format!("% of Capture shows the share of each segment in the {} of all", order.title.to_lowercase()),
            "  segments that the snapshots captured".to_string(),
        ],
    };
    let notes: Vec<&str> = notes.iter().map(String::as_str).collect();
    section(format!("Segments by {}", order.title), order.summary, &notes, columns, all.iter().map(row).collect())
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}
