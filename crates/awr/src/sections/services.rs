//! Services: the activity of users and of background processes. There are only these two services.

use crate::Period;
use crate::doc::{Cell, Section, left, number, section};

pub fn sections(p: &Period) -> Vec<Section> {
    vec![statistics(p), classes(p)]
}

fn statistics(p: &Period) -> Section {
    let seconds = |us: u64| Cell::Decimal(us as f64 / 1e6, 0);
    // Waits for blocks are not counted by service.
    let row =
        |name: &str, time: u64, cpu: u64| vec![Cell::text(name), seconds(time), seconds(cpu), Cell::Null, Cell::Null];
    let rows = vec![row("SYS$USERS", p.db_time_us(), p.time_us("DB CPU")), row("SYS$BACKGROUND", 0, 0)];
    let columns = vec![
        left("Service Name", 28),
        number("DB Time (s)", 12),
        number("DB CPU (s)", 12),
        number("Physical|Reads (K)", 12),
        number("Logical|Reads (K)", 12),
    ];
    let notes = ["ordered by DB Time", "Reads are not counted by service"];
    section("Service Statistics", "This table displays services ordered by DB time", &notes, columns, rows)
}

fn classes(p: &Period) -> Section {
    const CLASSES: [&str; 4] = ["User I/O", "Concurrency", "Administrative", "Network"];
    let sums = |background: bool| {
        CLASSES.map(|class| {
            let of_class = p.events.iter().filter(|e| e.key[1] == class);
            of_class.fold((0, 0), |(waits, us), e| match background {
                true => (waits + e.added(0).saturating_sub(e.added(3)), us + e.added(2).saturating_sub(e.added(5))),
                false => (waits + e.added(3), us + e.added(5)),
            })
        })
    };
    let row = |name: &str, sums: [(u64, u64); 4]| {
        let mut row = vec![Cell::text(name)];
        sums.iter().for_each(|(waits, us)| row.extend([Cell::Count(*waits), Cell::Decimal(*us as f64 / 1e6, 0)]));
        row
    };
    let rows = vec![row("SYS$USERS", sums(false)), row("SYS$BACKGROUND", sums(true))];
    let columns = vec![
        left("Service Name", 14),
        number("User I/O|Total Wts", 9),
        number("User I/O|Wt Time", 8),
        number("Concurcy|Total Wts", 9),
        number("Concurcy|Wt Time", 8),
        number("Admin|Total Wts", 9),
        number("Admin|Wt Time", 7),
        number("Network|Total Wts", 9),
        number("Network|Wt Time", 7),
    ];
    let notes = [
        "Wait Class info for services in the Service Statistics section",
        "Total Waits and Time Waited (seconds) of the classes User I/O, Concurrency, Administrative, Network",
    ];
    let summary = "This table displays service wait class statistics";
    section("Service Wait Class Stats", summary, &notes, columns, rows)
}
