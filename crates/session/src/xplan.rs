//! DBMS_XPLAN's text of a plan: the table, the sections, and the formats that select columns and sections.
//!
//! The layout is Oracle's, column by column. A column is printed if the format asks for it and at least one operation
//! has a value in it. Widths are fixed, except those of operations and names.

use exec::plan_rows::{self, PlanRow, hash};
use library_cache::{LineCounts, LineFigures};
use types::{DataType, Value};

/// A format: the columns and sections of a level, changed by single words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    is_basic: bool,
    rows: bool,
    bytes: bool,
    cost: bool,
    time: bool,
    predicates: bool,
    projection: bool,
    alias: bool,
    outline: bool,
    peeked: bool,
    note: bool,
    parallel: bool,
    partition: bool,
    /// IOSTATS: time, buffers, reads and writes of executions.
    io: bool,
    /// MEMSTATS: memory of work areas.
    memory: bool,
    /// LAST: figures of the last execution instead of all executions.
    last: bool,
}

/// The context of a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'a> {
    /// The plan is a cursor's: its first line has no estimates.
    pub is_cursor: bool,
    /// The figures of its operations, by number; empty if they were not counted.
    pub run: &'a [LineFigures],
}

const TYPICAL: Format = Format {
    is_basic: false,
    rows: true,
    bytes: true,
    cost: true,
    time: true,
    predicates: true,
    projection: false,
    alias: false,
    outline: false,
    peeked: false,
    note: true,
    parallel: true,
    partition: true,
    io: false,
    memory: false,
    last: false,
};

impl Format {
    /// Parses a format; `None` for an invalid one. Words add to a level (`+COST`, `COST`) or remove from it
    /// (`-PREDICATE`). ALLSTATS, IOSTATS and MEMSTATS without a level leave out bytes, cost and time.
    pub fn of(text: &str) -> Option<Format> {
        let text = text.to_uppercase();
        let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let is_level = |word: &&&str| matches!(**word, "BASIC" | "TYPICAL" | "SERIAL" | "ALL" | "ADVANCED");
        let mut levels = words.iter().filter(is_level);
        let level = levels.next();
        if levels.next().is_some() {
            return None;
        }
        let mut format = match level.copied() {
            Some("BASIC") => Format {
                is_basic: true,
                rows: false,
                bytes: false,
                cost: false,
                time: false,
                predicates: false,
                note: false,
                parallel: false,
                partition: false,
                ..TYPICAL
            },
            Some("SERIAL") => Format { parallel: false, ..TYPICAL },
            Some("ALL") => Format { projection: true, alias: true, ..TYPICAL },
            Some("ADVANCED") => Format { projection: true, alias: true, outline: true, peeked: true, ..TYPICAL },
            Some(_) => TYPICAL,
            None if words.iter().any(|word| matches!(*word, "ALLSTATS" | "IOSTATS" | "MEMSTATS")) => {
                Format { bytes: false, cost: false, time: false, ..TYPICAL }
            }
            None => TYPICAL,
        };
        for word in words.iter().filter(|word| !is_level(word)) {
            let (on, word) = match (word.strip_prefix('-'), word.strip_prefix('+')) {
                (Some(word), _) => (false, word),
                (_, Some(word)) => (true, word),
                _ => (true, *word),
            };
            match word {
                "ROWS" => format.rows = on,
                "BYTES" => format.bytes = on,
                "COST" => format.cost = on,
                "PREDICATE" => format.predicates = on,
                "PROJECTION" => format.projection = on,
                "ALIAS" => format.alias = on,
                "OUTLINE" => format.outline = on,
                "PEEKED_BINDS" => format.peeked = on,
                "NOTE" => format.note = on,
                "PARALLEL" => format.parallel = on,
                "PARTITION" => format.partition = on,
                "IOSTATS" => format.io = on,
                "MEMSTATS" => format.memory = on,
                "ALLSTATS" => (format.io, format.memory) = (on, on),
                "LAST" => format.last = on,
                // These have nothing to print.
                "REMOTE" | "ADAPTIVE" | "REPORT" | "HINT_REPORT" | "QBREGISTRY" => {}
                _ => return None,
            }
        }
        Some(format)
    }

    /// True when the format asks for figures of executions.
    pub fn measures(&self) -> bool {
        self.io || self.memory
    }

    /// BASIC: the shortest title above the plan.
    pub fn is_basic(&self) -> bool {
        self.is_basic
    }
}

/// The line in place of a plan, for an invalid format.
pub fn invalid(format: &str, function: &str) -> String {
    format!("Error: format '{format}' not valid for DBMS_XPLAN.{function}()")
}

/// PLAN_HASH_VALUE, the table of operations and the sections below it.
pub fn display(rows: &[PlanRow], format: Format, around: Around<'_>) -> Vec<String> {
    let mut lines = vec![format!("Plan hash value: {}", hash(rows)), String::new()];
    table(rows, format, around, &mut lines);
    if format.alias {
        aliases(rows, &mut lines);
    }
    if format.outline {
        outline(rows, &mut lines);
    }
    if format.peeked && around.is_cursor {
        peeked(rows, &mut lines);
    }
    if format.predicates {
        predicates(rows, &mut lines);
    }
    if format.projection {
        let of = |row: &PlanRow| row.projection.clone();
        section("Column Projection Information (identified by operation id):", rows, &of, &mut lines);
    }
    let notes = notes(rows, format, around);
    if format.note && !notes.is_empty() {
        lines.extend([String::new(), "Note".into(), "-----".into()]);
        lines.extend(notes);
    }
    lines
}

/// A column of the table. Each cell is as wide as the heading.
struct Column {
    heading: String,
    cells: Vec<String>,
}

impl Column {
    fn new(heading: &str, cells: Vec<String>) -> Column {
        Column { heading: heading.into(), cells }
    }

    /// A column of figures; `None` when no operation has one.
    fn of_figures(heading: &str, rows: &[PlanRow], cell: &dyn Fn(&PlanRow) -> Option<String>) -> Option<Column> {
        let cells: Vec<Option<String>> = rows.iter().map(cell).collect();
        let width = heading.len();
        let padded = |cell: Option<String>| format!("{:>width$}", cell.unwrap_or_default());
        cells.iter().any(Option::is_some).then(|| Column::new(heading, cells.into_iter().map(padded).collect()))
    }
}

fn table(rows: &[PlanRow], format: Format, around: Around<'_>, lines: &mut Vec<String>) {
    let mut columns = vec![ids(rows, format), operations(rows), names(rows)];
    // The first line of a cursor has only the total cost.
    let expected = |row: &PlanRow| !(around.is_cursor && row.id == 0);
    let measures = format.measures();
    let named = |plain: &'static str, measured: &'static str| if measures { measured } else { plain };
    let figure = |heading, cell: &dyn Fn(&PlanRow) -> Option<String>| Column::of_figures(heading, rows, cell);
    let counts = |row: &PlanRow| counts_of(around.run, row, format).filter(|_| measures);
    columns.extend(figure(" Starts ", &|row| counts(row).map(|c| count(c.starts))));
    if format.rows {
        let rows = |row: &PlanRow| row.cardinality.filter(|_| expected(row)).map(count);
        columns.extend(figure(named(" Rows  ", " E-Rows "), &rows));
    }
    if format.bytes {
        let size = |row: &PlanRow| row.bytes.filter(|_| expected(row)).map(bytes);
        columns.extend(figure(named(" Bytes ", "E-Bytes"), &size));
    }
    if format.cost {
        let cost = |row: &PlanRow| {
            let cost = row.cost?;
            let share = if expected(row) { processor_share(cost, row.io_cost) } else { 100 };
            Some(format!("{:>7}{:>5}", count(cost), format!("({share})")))
        };
        columns.extend(figure(" Cost (%CPU)", &cost));
    }
    if format.time {
        let time = |row: &PlanRow| row.time.filter(|_| expected(row)).map(|s| format!("{} ", clock(s)));
        columns.extend(figure(named(" Time     ", " E-Time   "), &time));
    }
    if format.partition {
        let partition =
            |at: usize| move |row: &PlanRow| Some(format!("{} ", row.partitions[at])).filter(|text| text.len() > 1);
        columns.extend(figure(" Pstart", &partition(0)));
        columns.extend(figure(" Pstop ", &partition(1)));
    }
    if format.parallel {
        columns.extend(figure("    TQ  ", &|row| queue_of(&row.node)));
        columns.extend(figure("IN-OUT", &|row| way_of(&row.tag)));
        columns.extend(figure(" PQ Distrib ", &|row| distribution_of(&row.distribution)));
    }
    columns.extend(figure(" A-Rows ", &|row| counts(row).map(|c| count(c.rows))));
    if format.io {
        columns.extend(figure("   A-Time   ", &|row| counts(row).map(|c| elapsed(c.elapsed_us))));
        let mut worked = |heading, of: &dyn Fn(&LineCounts) -> u64| {
            let is_there = rows.iter().any(|row| counts(row).is_some_and(|c| of(&c) > 0));
            columns.extend(figure(heading, &|row| counts(row).filter(|_| is_there).map(|c| count(of(&c)))));
        };
        worked(" Buffers ", &|c| c.consistent_gets + c.current_gets);
        worked(" Reads  ", &|c| c.reads);
        worked(" Writes ", &|c| c.writes);
    }
    if format.memory {
        memory(rows, format, around, &mut columns);
    }
    let line = |cells: &dyn Fn(&Column) -> String| columns.iter().map(|c| format!("|{}", cells(c))).collect::<String>();
    let heading = format!("{}|", line(&|column| column.heading.clone()));
    let ruler = "-".repeat(heading.chars().count());
    lines.extend([ruler.clone(), heading, ruler.clone()]);
    lines.extend((0..rows.len()).map(|at| format!("{}|", line(&|column| column.cells[at].clone()))));
    lines.push(ruler);
}

/// The table queue of an operation: `:Q1000` is `Q1,00`.
fn queue_of(node: &str) -> Option<String> {
    let number = node.strip_prefix(":Q")?;
    let (group, queue) = number.split_at_checked(number.len().checked_sub(3)?)?;
    Some(format!("  Q{group},{} ", queue.get(1..)?))
}

/// The IN-OUT cell of an operation: the kind of its producers and consumers.
fn way_of(tag: &str) -> Option<String> {
    let way = match tag {
        "PARALLEL_TO_SERIAL" => "P->S",
        "PARALLEL_COMBINED_WITH_PARENT" => "PCWP",
        "PARALLEL_COMBINED_WITH_CHILD" => "PCWC",
        _ => return None,
    };
    Some(format!(" {way} "))
}

fn distribution_of(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| format!(" {:<11}", text.replace("RANDOM", "RAND")))
}

/// The counts of an operation, in the last execution or in all executions.
fn counts_of(run: &[LineFigures], row: &PlanRow, format: Format) -> Option<LineCounts> {
    let figures = run.get(row.id as usize)?;
    Some(if format.last { figures.last } else { figures.total })
}

/// Adds the columns of work areas.
fn memory(rows: &[PlanRow], format: Format, around: Around<'_>, columns: &mut Vec<Column>) {
    let area =
        |row: &PlanRow| around.run.get(row.id as usize).map(|figures| figures.area).filter(|area| area.all() > 0);
    let mut add = |heading, cell: &dyn Fn(&PlanRow) -> Option<String>| {
        columns.extend(Column::of_figures(heading, rows, cell));
    };
    add("  OMem ", &|row| area(row).map(|area| bytes(area.optimal_bytes)));
    add("  1Mem ", &|row| area(row).map(|area| bytes(area.onepass_bytes)));
    if format.last {
        add(" Used-Mem ", &|row| area(row).map(|a| format!("{:>6} ({})", bytes(a.last_bytes), a.last_passes)));
    } else {
        add("  O/1/M   ", &|row| area(row).map(|a| format!("{}/{}/{}", a.optimal, a.onepass, a.multipass)));
    }
    let temporary = |row: &PlanRow| {
        let area = area(row)?;
        let size = if format.last { area.last_temporary_bytes } else { area.most_temporary_bytes };
        (size > 0).then(|| bytes(size))
    };
    add(if format.last { " Used-Tmp" } else { " Max-Tmp " }, &temporary);
}

fn ids(rows: &[PlanRow], format: Format) -> Column {
    let id = |row: &PlanRow| {
        let is_told = format.predicates && !(row.access.is_empty() && row.filter.is_empty());
        format!("{}{:>3} ", if is_told { '*' } else { ' ' }, row.id)
    };
    Column::new(" Id  ", rows.iter().map(id).collect())
}

fn operations(rows: &[PlanRow]) -> Column {
    let text = |row: &PlanRow| {
        let gap = if row.options.is_empty() { "" } else { " " };
        format!(" {}{}{gap}{}", " ".repeat(row.depth as usize), row.operation, row.options)
    };
    padded(" Operation", rows.iter().map(text).collect(), "")
}

fn names(rows: &[PlanRow]) -> Column {
    padded(" Name", rows.iter().map(|row| format!(" {}", row.object)).collect(), " ")
}

/// A column with the width of its widest cell.
fn padded(heading: &str, cells: Vec<String>, closing: &str) -> Column {
    let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0).max(heading.len());
    let pad = |text: &str| format!("{text:width$}{closing}");
    Column { heading: pad(heading), cells: cells.iter().map(|cell| pad(cell)).collect() }
}

/// The section of query blocks and table aliases.
fn aliases(rows: &[PlanRow], lines: &mut Vec<String>) {
    let of = |row: &PlanRow| match (row.query_block.as_str(), row.alias.replace('"', "")) {
        ("", _) => String::new(),
        (block, alias) if alias.is_empty() => block.to_owned(),
        (block, alias) => format!("{block} / {alias}"),
    };
    section("Query Block Name / Object Alias (identified by operation id):", rows, &of, lines);
}

/// The section of the hints that force this plan, as a comment to paste into the statement.
fn outline(rows: &[PlanRow], lines: &mut Vec<String>) {
    let hints: Vec<String> = rows.iter().flat_map(|row| plan_rows::outline_of(&row.other)).collect();
    if hints.is_empty() {
        return;
    }
    lines.extend([String::new(), "Outline Data".into(), "-------------".into(), String::new(), "  /*+".into()]);
    let all = std::iter::once("BEGIN_OUTLINE_DATA".to_owned()).chain(hints).chain(["END_OUTLINE_DATA".to_owned()]);
    lines.extend(all.map(|hint| format!("      {hint}")));
    lines.push("  */".into());
}

/// The section of the bind values that the plan was made with, by position.
fn peeked(rows: &[PlanRow], lines: &mut Vec<String>) {
    let binds: Vec<_> = rows.iter().flat_map(|row| plan_rows::peeked_of(&row.other)).collect();
    if binds.is_empty() {
        return;
    }
    let title = "Peeked Binds (identified by position):";
    lines.extend([String::new(), title.to_string(), "-".repeat(title.len()), String::new()]);
    lines.extend(binds.iter().map(|bind| {
        let (ty, value) = printed(bind);
        format!("{:>4} - {} ({ty}): {value}", bind.position, bind.name)
    }));
}

/// The texts of a bind's type and value.
fn printed(bind: &plan_rows::PeekedBind) -> (String, String) {
    let (data_type, name) = match bind.type_number {
        2 => (DataType::NUMBER, "NUMBER".to_owned()),
        12 => (DataType::Date, "DATE".to_owned()),
        23 => (DataType::Raw { len: 2000 }, format!("RAW({})", bind.length)),
        _ => (DataType::TEXT, format!("VARCHAR2({}), CSID=873", bind.length)),
    };
    let Some(stored) = &bind.stored else { return (name, "(null)".to_owned()) };
    let mut value = Value::Null;
    let printed = match types::codec::decode_into(stored, &data_type, &mut value) {
        Ok(()) => match &value {
            Value::Text(text) => format!("'{text}'"),
            Value::Number(number) => number.to_string(),
            Value::Date(date) => {
                let f = date.fields();
                format!("{:02}/{:02}/{:04} {:02}:{:02}:{:02}", f.month, f.day, f.year, f.hour, f.minute, f.second)
            }
            // not a clause: bytes are printed as they are stored
            _ => stored.iter().map(|byte| format!("{byte:02X}")).collect(),
        },
        Err(_) => "(unprintable)".to_owned(),
    };
    (name, printed)
}

/// The section of predicates, by operation.
fn predicates(rows: &[PlanRow], lines: &mut Vec<String>) {
    let of = |row: &PlanRow| {
        let kinds = [("access", &row.access), ("filter", &row.filter)];
        let all = kinds.iter().filter(|(_, text)| !text.is_empty()).map(|(kind, text)| format!("{kind}({text})"));
        all.collect::<Vec<_>>().join("\n")
    };
    section("Predicate Information (identified by operation id):", rows, &of, lines);
}

/// A section with a text for each operation that has one; left out when none has.
fn section(title: &str, rows: &[PlanRow], of: &dyn Fn(&PlanRow) -> String, lines: &mut Vec<String>) {
    let texts: Vec<(u32, String)> = rows.iter().map(|row| (row.id, of(row))).filter(|(_, t)| !t.is_empty()).collect();
    if texts.is_empty() {
        return;
    }
    lines.extend([String::new(), title.to_string(), "-".repeat(title.len()), String::new()]);
    for (id, text) in texts {
        let mut lead = format!("{id:>4} - ");
        for part in text.split('\n') {
            for (at, piece) in wrapped(part, TEXT_WIDTH).into_iter().enumerate() {
                let indent = if at == 0 { lead.clone() } else { " ".repeat(CONTINUED) };
                lines.push(format!("{indent}{piece}"));
            }
            lead = " ".repeat(lead.len());
        }
    }
}

/// The width of a text in a section, and the indent of its further lines.
const TEXT_WIDTH: usize = 71;
const CONTINUED: usize = 14;

/// A text in pieces of at most `width` characters, broken at blanks. A longer word is a piece of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for word in text.split(' ') {
        let last = pieces.len() - 1;
        let piece = &mut pieces[last];
        if piece.is_empty() {
            piece.push_str(word);
        } else if piece.chars().count() + 1 + word.chars().count() <= width {
            piece.push(' ');
            piece.push_str(word);
        } else {
            pieces.push(word.to_string());
        }
    }
    pieces
}

fn notes(rows: &[PlanRow], format: Format, around: Around<'_>) -> Vec<String> {
    let made = rows.iter().flat_map(|row| plan_rows::notes_of(&row.other)).map(|note| format!("   - {note}"));
    if !format.measures() || !around.run.is_empty() {
        return made.collect();
    }
    let missing = [
        "   - Warning: basic plan statistics not available. These are only collected when:",
        "       * hint 'gather_plan_statistics' is used for the statement or",
        "       * parameter 'statistics_level' is set to 'ALL', at session or system level",
    ]
    .map(String::from);
    made.chain(missing).collect()
}

/// A count, with a unit of thousands if it is long.
fn count(n: u64) -> String {
    scaled(n, 1000)
}

/// Bytes, with a unit of kibibytes if the number is long.
fn bytes(n: u64) -> String {
    scaled(n, 1024)
}

/// At most five digits, or four and a unit; truncated.
fn scaled(n: u64, step: u64) -> String {
    if n < 100_000 {
        return format!("{n} ");
    }
    let mut n = n / step;
    let mut units = ["K", "M", "G", "T"].into_iter();
    let mut unit = units.next().unwrap_or("");
    for next in units {
        if n < 10_000 {
            break;
        }
        (n, unit) = (n / step, next);
    }
    format!("{n}{unit}")
}

/// The share of processor time in a cost, in percent, rounded up.
fn processor_share(cost: u64, io: Option<u64>) -> u64 {
    let cpu = cost.saturating_sub(io.unwrap_or(cost));
    (100 * cpu).div_ceil(cost.max(1))
}

/// Microseconds as hours, minutes, seconds and hundredths, at least one hundredth.
fn elapsed(us: u64) -> String {
    let hundredths = (us / 10_000).max(1);
    format!("{}.{:02} ", clock(hundredths / 100), hundredths % 100)
}

/// Seconds as hours, minutes and seconds.
fn clock(s: u64) -> String {
    format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use library_cache::AreaCounts;

    #[test]
    fn figures_have_units_from_a_hundred_thousand_on() {
        let shown = [0, 99_999, 100_000, 918_843, 9_999_999, 10_000_000, 123_456_789_000].map(count);
        assert_eq!(shown, ["0 ", "99999 ", "100K", "918K", "9999K", "10M", "123G"]);
        assert_eq!([99_999, 102_400, 20_000_000].map(bytes), ["99999 ", "100K", "19M"]);
    }

    #[test]
    fn a_format_is_a_level_and_words() {
        let format = |text| Format::of(text).unwrap();
        assert_eq!(format(""), TYPICAL);
        assert_eq!(format("serial"), Format { parallel: false, ..TYPICAL });
        assert_eq!(format("typical -parallel"), format("serial"));
        assert_eq!(format("basic +rows +predicate"), Format { rows: true, predicates: true, ..format("BASIC") });
        assert_eq!(format("typical,-bytes -cost"), Format { bytes: false, cost: false, ..TYPICAL });
        let last = Format { io: true, memory: true, last: true, bytes: false, cost: false, time: false, ..TYPICAL };
        assert_eq!(format("allstats last"), last);
        assert_eq!(format("allstats last +cost"), Format { cost: true, ..last });
        assert_eq!(format("typical allstats last"), Format { bytes: true, cost: true, time: true, ..last });
        for wrong in ["ALLSTAT", "BASIC ALL", "TYPICAL +FOO", "+"] {
            assert_eq!(Format::of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_break_at_blanks() {
        assert_eq!(wrapped("a bb ccc", 4), ["a bb", "ccc"]);
        assert_eq!(wrapped("", 4), [""]);
        assert_eq!(wrapped("longer than that", 4), ["longer", "than", "that"]);
    }

    #[test]
    fn a_column_is_there_if_something_is_in_it() {
        let row = |id, operation: &str, cardinality, access: &str| PlanRow {
            id,
            depth: id,
            operation: operation.into(),
            cardinality,
            cost: Some(7),
            io_cost: Some(6),
            access: access.into(),
            ..PlanRow::default()
        };
        let rows = [row(0, "SELECT STATEMENT", Some(12), ""), row(1, "HASH JOIN", Some(12), "\"A\"=\"B\"")];
        let lines = display(&rows, TYPICAL, Around { is_cursor: true, run: &[] });
        assert_eq!(
            lines[2..],
            [
                "-----------------------------------------------------",
                "| Id  | Operation       | Name | Rows  | Cost (%CPU)|",
                "-----------------------------------------------------",
                "|   0 | SELECT STATEMENT|      |       |     7 (100)|",
                "|*  1 |  HASH JOIN      |      |    12 |     7  (15)|",
                "-----------------------------------------------------",
                "",
                "Predicate Information (identified by operation id):",
                "---------------------------------------------------",
                "",
                "   1 - access(\"A\"=\"B\")",
            ]
        );
        let area =
            AreaCounts { optimal_bytes: 9000, onepass_bytes: 900, last_bytes: 9000, optimal: 1, ..Default::default() };
        let counts = LineCounts { starts: 1, rows: 9, consistent_gets: 3, current_gets: 1, ..Default::default() };
        let figures = LineFigures { executions: 1, total: counts, last: counts, area };
        let run = [LineFigures { area: AreaCounts::default(), ..figures }, figures];
        let lines = display(&rows, Format::of("allstats last").unwrap(), Around { is_cursor: true, run: &run });
        assert_eq!(
            lines[3..7],
            [
                "| Id  | Operation       | Name | Starts | E-Rows | A-Rows |   A-Time   | Buffers |  OMem |  1Mem | Used-Mem |",
                "-------------------------------------------------------------------------------------------------------------",
                "|   0 | SELECT STATEMENT|      |      1 |        |      9 |00:00:00.01 |       4 |       |       |          |",
                "|*  1 |  HASH JOIN      |      |      1 |     12 |      9 |00:00:00.01 |       4 |  9000 |   900 | 9000  (0)|",
            ]
        );
        let lines = display(&rows, Format::of("allstats last").unwrap(), Around { is_cursor: true, run: &[] });
        assert_eq!(lines[3], "| Id  | Operation       | Name | E-Rows |");
        assert!(lines.iter().any(|line| line.starts_with("   - Warning: basic plan statistics not available.")));
    }

    #[test]
    fn operations_of_servers_have_their_queue() {
        assert_eq!(queue_of(":Q1000").as_deref(), Some("  Q1,00 "));
        assert_eq!(queue_of(":Q12003").as_deref(), Some("  Q12,03 "));
        assert_eq!([queue_of(""), queue_of(":Q1"), queue_of("Q1000")], [None, None, None]);
        assert_eq!(distribution_of("QC (RANDOM)").as_deref(), Some(" QC (RAND)  "));
    }

    #[test]
    fn the_share_of_the_processor_is_rounded_up() {
        assert_eq!(processor_share(4, Some(3)), 25);
        assert_eq!(processor_share(3, Some(2)), 34);
        assert_eq!(processor_share(0, Some(0)), 0);
        assert_eq!(processor_share(3, None), 0);
    }
}
