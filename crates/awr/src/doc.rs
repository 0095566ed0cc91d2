//! A report as data: sections of tables, independent of their presentation.

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Empty: a true zero, or a value that does not exist.
    Null,
    Text(String),
    /// A count.
    Count(u64),
    /// A number with this many decimals.
    Decimal(f64, usize),
    /// Bytes, shown in megabytes with two decimals.
    Megabytes(u64),
    /// A duration, shown with its unit: `10.33us`, `1.46ms`.
    Micros(f64),
    /// The id of a statement.
    SqlId(String),
}

impl Cell {
    /// A count; zero is empty.
    pub fn count(n: u64) -> Cell {
        if n == 0 { Cell::Null } else { Cell::Count(n) }
    }

    /// A text.
    pub fn text(t: impl Into<String>) -> Cell {
        Cell::Text(t.into())
    }

    /// A quotient in per cent; empty when either number is zero.
    pub fn percent(part: f64, whole: f64, decimals: usize) -> Cell {
        if whole == 0.0 || part == 0.0 { Cell::Null } else { Cell::Decimal(100.0 * part / whole, decimals) }
    }

    /// A quotient; empty when the divisor is zero.
    pub fn ratio(part: f64, whole: f64, decimals: usize) -> Cell {
        if whole == 0.0 { Cell::Null } else { Cell::Decimal(part / whole, decimals) }
    }

    /// Microseconds as seconds with decimals; zero is empty.
    pub fn seconds(us: u64, decimals: usize) -> Cell {
        if us == 0 { Cell::Null } else { Cell::Decimal(us as f64 / 1e6, decimals) }
    }

    /// The text of the cell.
    pub fn shown(&self) -> String {
        match self {
            Cell::Null => String::new(),
            Cell::Text(t) | Cell::SqlId(t) => t.clone(),
            Cell::Count(n) => grouped(&n.to_string()),
            Cell::Decimal(value, decimals) => decimal(*value, *decimals),
            Cell::Megabytes(bytes) => decimal(*bytes as f64 / f64::from(1 << 20), 2),
            Cell::Micros(us) => micros(*us),
        }
    }

    /// Whether the cell is right-justified.
    pub fn is_number(&self) -> bool {
        !matches!(self, Cell::Text(_) | Cell::SqlId(_))
    }
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with decimals, in groups of three digits; a number that rounds to zero is `.0`, with that many zeros.
pub fn decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "N/A".into();
    }
    let text = format!("{:.*}", decimals, value.abs());
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
    let sign = if value < 0.0 && text.bytes().any(|b| b.is_ascii_digit() && b != b'0') { "-" } else { "" };
    match fraction {
        Some(fraction) if whole == "0" && fraction.bytes().all(|b| b == b'0') => format!(".{fraction}"),
        Some(fraction) => format!("{sign}{}.{fraction}", grouped(whole)),
        None => format!("{sign}{}", grouped(whole)),
    }
}

/// A duration with its unit, three or four digits.
pub fn micros(us: f64) -> String {
    match us {
        us if us < 0.0 || !us.is_finite() => "N/A".into(),
        us if us < 1e-3 => "0ns".into(),
        us if us < 1.0 => format!("{:.2}ns", us * 1e3),
        us if us < 1e3 => format!("{us:.2}us"),
        us if us < 1e6 => format!("{:.2}ms", us / 1e3),
        us => format!("{:.2}s", us / 1e6),
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The heading; `|` marks where text may break it.
    pub head: &'static str,
    /// The width in text.
    pub width: usize,
    /// Left-justified: texts.
    pub left: bool,
    /// The treatment of wide texts, in text.
    pub long: Long,
}

/// The treatment of a text that is wider than its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Long {
    Cut,
    /// Continues on further lines; for the last column only.
    Wrap,
    /// Not a column in text: the texts stand under their rows, over the whole width.
    Below,
}

/// A column of numbers.
pub const fn number(head: &'static str, width: usize) -> Column {
    Column { head, width, left: false, long: Long::Cut }
}

/// A column of texts.
pub const fn left(head: &'static str, width: usize) -> Column {
    Column { head, width, left: true, long: Long::Cut }
}

/// A last column of texts that continue on further lines.
pub const fn wrapped(head: &'static str, width: usize) -> Column {
    Column { head, width, left: true, long: Long::Wrap }
}

/// Texts that stand under their rows.
pub const fn below(head: &'static str) -> Column {
    Column { head, width: 78, left: true, long: Long::Below }
}

/// Rows under headings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
}

/// The contents of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Table(Table),
    /// Formatted text, for the head of the report, with the same data as tables for the page.
    Verbatim {
        text: String,
        tables: Vec<Table>,
    },
}

/// A section.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub title: String,
    /// For the page: `This table displays …`.
    pub summary: &'static str,
    /// Lines about units, order and omissions.
    pub notes: Vec<String>,
    pub body: Body,
}

/// Sections that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub title: &'static str,
    pub sections: Vec<Section>,
}

/// A finding: a sentence about a figure, with the title of its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub text: String,
    pub section: &'static str,
}

/// A whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The first line.
    pub heading: &'static str,
    /// `AWR Report for DB: D, Inst: I, Snaps: a-b`.
    pub title: String,
    /// `DB/Inst: D/I  Snaps: a-b`, on the right of every title in text.
    pub running_head: String,
    pub groups: Vec<Group>,
    /// Texts of the statements that the report names, by id.
    pub statements: Vec<(String, String)>,
    /// The findings, for the page.
    pub findings: Vec<Finding>,
}

/// The presentation of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Eighty columns.
    Text,
    /// One self-contained page.
    Html,
}

/// A section with one table.
pub(crate) fn section(
    title: impl Into<String>,
    summary: &'static str,
    notes: &[&str],
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
) -> Section {
    let notes = notes.iter().map(|n| (*n).to_string()).collect();
    Section { title: title.into(), summary, notes, body: Body::Table(Table { columns, rows }) }
}

/// Sorts by a figure, the largest first, then by name.
pub(crate) fn by_most<T>(rows: &mut [T], figure: impl Fn(&T) -> u64, name: impl Fn(&T) -> String) {
    rows.sort_by_cached_key(|row| (std::cmp::Reverse(figure(row)), name(row)));
}

/// Average microseconds; zero without waits.
pub(crate) fn average_us(us: u64, waits: u64) -> Cell {
    if waits == 0 { Cell::Null } else { Cell::Micros(us as f64 / waits as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_reports_write_them() {
        assert_eq!(Cell::Count(1_234_567).shown(), "1,234,567");
        assert_eq!(Cell::Count(u64::from(u32::MAX) * 1000).shown(), "4,294,967,295,000");
        assert_eq!(Cell::Decimal(0.04, 1).shown(), ".0");
        assert_eq!(Cell::Decimal(0.5, 1).shown(), "0.5");
        assert_eq!(Cell::Decimal(-1234.56, 1).shown(), "-1,234.6");
        assert_eq!(Cell::Decimal(-0.001, 2).shown(), ".00");
        assert_eq!(Cell::Decimal(f64::NAN, 1).shown(), "N/A");
        assert_eq!(Cell::count(0).shown(), "");
        assert_eq!(Cell::percent(1.0, 0.0, 1), Cell::Null);
        assert_eq!(Cell::percent(1.0, 8.0, 1).shown(), "12.5");
        assert_eq!([10.33, 1460.0, 2.5e6, 0.25].map(micros), ["10.33us", "1.46ms", "2.50s", "250.00ns"]);
    }
}
