//! A sheet: the data about one target as tables, independent of drawing.
//!
//! The screen, the page, text, CSV and JSON show the same sheets, so that a figure means the same everywhere. A cell
//! keeps its number and unit; [`Cell::show`] is the only place where numbers become text for people (invariant 5).

use std::fmt;
use std::str::FromStr;

use serde_json::{Value as Json, json};

/// One of the main tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    Events,
    Sessions,
    Statements,
    Latches,
    Mutexes,
    Blockers,
    Figures,
    Designs,
}

impl Pane {
    pub const ALL: [Pane; 8] = [
        Pane::Events,
        Pane::Sessions,
        Pane::Statements,
        Pane::Latches,
        Pane::Mutexes,
        Pane::Blockers,
        Pane::Figures,
        Pane::Designs,
    ];

    /// The name in arguments, addresses and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Pane::Events => "events",
            Pane::Sessions => "sessions",
            Pane::Statements => "sql",
            Pane::Latches => "latches",
            Pane::Mutexes => "mutexes",
            Pane::Blockers => "blockers",
            Pane::Figures => "figures",
            Pane::Designs => "designs",
        }
    }

    /// The name on a tab.
    pub fn title(self) -> &'static str {
        match self {
            Pane::Events => "Events",
            Pane::Sessions => "Sessions",
            Pane::Statements => "SQL",
            Pane::Latches => "Latches",
            Pane::Mutexes => "Mutexes",
            Pane::Blockers => "Blockers",
            Pane::Figures => "Figures",
            Pane::Designs => "Designs",
        }
    }

    /// The pane `by` places to the right, with wrap-around.
    pub fn moved(self, by: isize) -> Pane {
        let at = Pane::ALL.iter().position(|pane| *pane == self).unwrap_or(0) as isize;
        Pane::ALL[(at + by).rem_euclid(Pane::ALL.len() as isize) as usize]
    }
}

/// The subject of a sheet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    Pane(Pane),
    /// A wait event, or the CPU when empty.
    Event(String),
    Session(u64, u64),
    Statement(String),
    Latch(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Pane(pane) => f.write_str(pane.name()),
            Target::Event(name) => write!(f, "event:{name}"),
            Target::Session(sid, serial) => write!(f, "session:{sid},{serial}"),
            Target::Statement(id) => write!(f, "sql:{id}"),
            Target::Latch(name) => write!(f, "latch:{name}"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        let unknown = || format!("unknown target: {text}");
        if let Some(pane) = Pane::ALL.into_iter().find(|pane| pane.name() == text) {
            return Ok(Target::Pane(pane));
        }
        let (kind, of) = text.split_once(':').ok_or_else(unknown)?;
        match kind {
            "event" => Ok(Target::Event(of.to_string())),
            "sql" => Ok(Target::Statement(of.to_string())),
            "latch" => Ok(Target::Latch(of.to_string())),
            "session" => {
                let (sid, serial) = of.split_once(',').ok_or_else(unknown)?;
                let number = |n: &str| n.parse().map_err(|_| unknown());
                Ok(Target::Session(number(sid)?, number(serial)?))
            }
            _ => Err(unknown()),
        }
    }
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Empty,
    Text(String),
    /// A whole number: a count, an identifier.
    Count(u64),
    /// A rate per second, or an average.
    Rate(f64),
    /// A share of a whole, 0 to 1.
    Share(f64),
    /// A time in microseconds.
    Micros(f64),
}

/// A number in a few characters: `0.42`, `17`, `1.3k`, `2.5M`.
pub fn short(n: f64) -> String {
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    if !n.is_finite() {
        return "-".into();
    }
    if n < 9.995 {
        return if n == 0.0 { "0".into() } else { format!("{n:.2}") };
    }
    if n < 999.5 {
        return format!("{n:.0}");
    }
    // 999.7k is shown as 1.00M rather than 1000k.
    let unit = units.into_iter().find(|(size, _)| n >= size * 0.9995).unwrap_or((1e3, "k"));
    let n = n / unit.0;
    if n < 9.995 {
        format!("{n:.2}{}", unit.1)
    } else if n < 99.95 {
        format!("{n:.1}{}", unit.1)
    } else {
        format!("{n:.0}{}", unit.1)
    }
}

/// A time in a few characters: `12us`, `3.4ms`, `1.5s`, `2m05s`, `1h02m`.
pub fn duration(us: f64) -> String {
    let s = us / 1e6;
    match us {
        us if us < 999.5 => format!("{us:.0}us"),
        us if us < 9_995.0 => format!("{:.2}ms", us / 1e3),
        us if us < 99_950.0 => format!("{:.1}ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0}ms", us / 1e3),
        us if us < 59_950_000.0 => format!("{s:.1}s"),
        us if us < 3_600_000_000.0 => format!("{}m{:02}s", s as u64 / 60, s as u64 % 60),
        _ => format!("{}h{:02}m", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

impl Cell {
    /// A text; empty is [`Cell::Empty`].
    pub fn text(text: impl Into<String>) -> Cell {
        let text = text.into();
        if text.is_empty() { Cell::Empty } else { Cell::Text(text) }
    }

    /// A share of a whole; empty when the whole is zero.
    pub fn share(part: f64, whole: f64) -> Cell {
        if whole > 0.0 { Cell::Share(part / whole) } else { Cell::Empty }
    }

    /// The time for each of a number of things; empty when the number is zero.
    pub fn micros_each(us: u64, of: u64) -> Cell {
        if of > 0 { Cell::Micros(us as f64 / of as f64) } else { Cell::Empty }
    }

    /// The quotient of two counts; empty when the divisor is zero.
    pub fn each(n: u64, of: u64) -> Cell {
        if of > 0 { Cell::Rate(n as f64 / of as f64) } else { Cell::Empty }
    }

    /// The text for people.
    pub fn show(&self) -> String {
        match self {
            Cell::Empty => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Count(n) => n.to_string(),
            Cell::Rate(n) => short(*n),
            Cell::Share(part) => format!("{:.1}%", part * 100.0),
            Cell::Micros(us) => duration(*us),
        }
    }

    /// The value for programs; times in microseconds, shares from 0 to 1.
    pub fn json(&self) -> Json {
        // Three decimals: the figures are not more precise.
        let number = |n: f64| json!((n * 1000.0).round() / 1000.0);
        match self {
            Cell::Empty => Json::Null,
            Cell::Text(text) => json!(text),
            Cell::Count(n) => json!(n),
            Cell::Rate(n) | Cell::Micros(n) => number(*n),
            Cell::Share(n) => json!((n * 1e5).round() / 1e5),
        }
    }

    fn rank(&self) -> f64 {
        match self {
            Cell::Empty | Cell::Text(_) => f64::NEG_INFINITY,
            Cell::Count(n) => *n as f64,
            Cell::Rate(n) | Cell::Share(n) | Cell::Micros(n) => *n,
        }
    }
}

/// A column: its name for programs, its title for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    pub key: &'static str,
    pub title: &'static str,
    /// Numbers are right-justified.
    pub number: bool,
    /// The least width on a screen; 0 takes the rest.
    pub width: u16,
    /// Columns with the highest value are left out first when room is short; 0 never.
    pub spare: u8,
}

/// A column of text.
pub const fn words(key: &'static str, title: &'static str, width: u16, spare: u8) -> Column {
    Column { key, title, number: false, width, spare }
}

/// A column of numbers.
pub const fn figure(key: &'static str, title: &'static str, width: u16, spare: u8) -> Column {
    Column { key, title, number: true, width, spare }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub cells: Vec<Cell>,
    /// The target of Enter or a click.
    pub target: Option<Target>,
    /// The wait class that gives the colour.
    pub class: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub key: &'static str,
    pub title: String,
    pub columns: Vec<Column>,
    pub lines: Vec<Line>,
    /// The text when there are no lines.
    pub none: &'static str,
    /// Whether the order of the lines has a meaning, so that they are not sorted.
    pub ordered: bool,
}

impl Table {
    /// Sorts by a column, the largest number or the first word on top.
    pub fn sort(&mut self, column: usize) {
        if self.ordered || column >= self.columns.len() {
            return;
        }
        let number = self.columns[column].number;
        self.lines.sort_by(|a, b| {
            let (a, b) = (&a.cells[column], &b.cells[column]);
            if number { b.rank().total_cmp(&a.rank()) } else { a.show().cmp(&b.show()) }
        });
    }

    /// Lines as objects by column key.
    pub fn json(&self) -> Json {
        let line = |line: &Line| {
            let fields = self.columns.iter().zip(&line.cells);
            Json::Object(fields.map(|(column, cell)| (column.key.to_string(), cell.json())).collect())
        };
        Json::Array(self.lines.iter().map(line).collect())
    }
}

/// The data about a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    pub target: Target,
    pub title: String,
    /// Name and value of single facts.
    pub about: Vec<(&'static str, String)>,
    /// The text of a statement.
    pub text: String,
    pub tables: Vec<Table>,
    /// The requested data is still being read.
    pub waiting: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_change_their_meaning() {
        let shown: Vec<String> =
            [0.0, 0.004, 0.42, 9.99, 10.4, 999.4, 999.7, 1234.0, 99_960.0, 999_700.0, 2.5e6, 7e9, 3.2e12]
                .map(short)
                .to_vec();
        assert_eq!(
            shown,
            ["0", "0.00", "0.42", "9.99", "10", "999", "1.00k", "1.23k", "100k", "1.00M", "2.50M", "7.00G", "3.20T"]
        );
        assert_eq!(short(f64::NAN), "-");
    }

    #[test]
    fn times_have_their_unit() {
        let shown: Vec<String> =
            [0.0, 999.0, 1500.0, 42_000.0, 999_900.0, 61_000_000.0, 3_720_000_000.0].map(duration).to_vec();
        assert_eq!(shown, ["0us", "999us", "1.50ms", "42.0ms", "1.0s", "1m01s", "1h02m"]);
    }

    #[test]
    fn a_target_is_the_same_after_it_was_written_down() {
        let all = [
            Target::Pane(Pane::Statements),
            Target::Event("enq: TX - row lock contention".into()),
            Target::Event(String::new()),
            Target::Session(12, 34),
            Target::Statement("7mgsfc44trnr8".into()),
            Target::Latch("Result Cache: RC Latch".into()),
        ];
        for target in all {
            assert_eq!(target.to_string().parse(), Ok(target));
        }
        for wrong in ["", "session:12", "session:a,b", "nothing", "what:x", "session:-1,2"] {
            assert!(wrong.parse::<Target>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn panes_go_round() {
        assert_eq!(Pane::Events.moved(-1), Pane::Designs);
        assert_eq!(Pane::Designs.moved(1), Pane::Events);
    }

    #[test]
    fn sorting_puts_the_greatest_on_top_and_leaves_an_order_alone() {
        let line = |n: f64, name: &str| Line {
            cells: vec![Cell::text(name), if n < 0.0 { Cell::Empty } else { Cell::Rate(n) }],
            target: None,
            class: None,
        };
        let mut table = Table {
            key: "t",
            title: String::new(),
            columns: vec![words("name", "NAME", 4, 0), figure("n", "N", 4, 0)],
            lines: vec![line(-1.0, "b"), line(2.0, "c"), line(30.0, "a")],
            none: "",
            ordered: false,
        };
        let names = |t: &Table| t.lines.iter().map(|l| l.cells[0].show()).collect::<Vec<_>>().join("");
        table.sort(1);
        assert_eq!(names(&table), "acb");
        table.sort(0);
        assert_eq!(names(&table), "abc");
        table.sort(9);
        table.ordered = true;
        table.sort(1);
        assert_eq!(names(&table), "abc");
    }
}
