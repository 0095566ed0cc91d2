//! Errors with Oracle's number, text and position.
//!
//! An [`Ora`] is one boxed word, so that a `Result<T>` stays small on the paths that never fail. Error texts are listed
//! once, in `messages` (V7). An error carries its text with arguments inserted, the byte offset in the statement if
//! there is one, and the lines stacked on it on its way up (`ORA-06512: at line 3`).

use crate::facility::Facility;
use crate::messages;
use std::fmt;

/// The result of an operation that a user, a disk or a peer can make fail.
pub type Result<T> = std::result::Result<T, Ora>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    facility: Facility,
    code: u32,
    message: String,
    position: Option<u32>,
    context: Vec<Ora>,
    full: Option<FullSegment>,
    /// [`Ora::begin_report`] has returned true.
    is_reported: bool,
}

/// A segment that cannot grow, whose name is added by [`Ora::name_segment`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct FullSegment {
    data_object: u32,
    blocks: u32,
    tablespace: String,
}

/// One error, as Oracle numbers and prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ora(Box<Inner>);

/// Most errors stacked under the first one.
const STACK_LINES_MAX: usize = 100;

impl Ora {
    /// Makes an `ORA-` error whose text has no arguments.
    #[cold]
    pub fn new(code: u32) -> Ora {
        Ora::make(Facility::Ora, code, &[])
    }

    /// Makes an `ORA-` error and inserts `args` for the `%s` of its text.
    #[cold]
    pub fn with(code: u32, args: &[&dyn fmt::Display]) -> Ora {
        Ora::make(Facility::Ora, code, args)
    }

    /// Makes a `PLS-` error.
    #[cold]
    pub fn pls(code: u32, args: &[&dyn fmt::Display]) -> Ora {
        Ora::make(Facility::Pls, code, args)
    }

    /// Makes an error of any facility. Missing arguments are left empty.
    #[cold]
    pub fn make(facility: Facility, code: u32, args: &[&dyn fmt::Display]) -> Ora {
        let message = match messages::template(facility, code) {
            Some(template) => fill(template, args),
            None => format!("Message {code} not found;  product=RDBMS; facility={}", facility.prefix()),
        };
        Ora::from_text(facility, code, message)
    }

    /// Makes an error with a given text: from a peer, or from `raise_application_error`.
    #[cold]
    pub fn from_text(facility: Facility, code: u32, message: impl Into<String>) -> Ora {
        Ora(Box::new(Inner {
            facility,
            code,
            message: message.into(),
            position: None,
            context: Vec::new(),
            full: None,
            is_reported: false,
        }))
    }

    /// Makes the error of `raise_application_error(-code, message)`; `code` is 20000 to 20999.
    #[cold]
    pub fn user(code: u32, message: impl Into<String>) -> Ora {
        Ora::from_text(Facility::Ora, code, message)
    }

    /// Makes ORA-00600 with `what` as its first argument: an invariant is broken.
    #[cold]
    pub fn internal(what: impl fmt::Display) -> Ora {
        Ora::with(600, &[&what])
    }

    /// Makes ORA-03001 for a construct that is parsed but not supported.
    #[cold]
    pub fn unsupported() -> Ora {
        Ora::new(3001)
    }

    /// Makes the error `code` (such as ORA-01653) for a segment whose name only the dictionary knows: see
    /// [`Ora::name_segment`].
    #[cold]
    pub fn full_segment(code: u32, data_object: u32, blocks: u32, tablespace: &str) -> Ora {
        let mut error = Ora::with(code, &[&"OBJECT", &data_object, &blocks, &tablespace]);
        error.0.full = Some(FullSegment { data_object, blocks, tablespace: tablespace.to_owned() });
        error
    }

    /// Adds owner and name to an error of [`Ora::full_segment`]; other errors are unchanged. A segment without a name
    /// is being created: ORA-01652.
    #[cold]
    #[must_use]
    pub fn name_segment(mut self, name: impl FnOnce(u32) -> Option<(String, String)>) -> Ora {
        let inner = &mut *self.0;
        let Some(full) = inner.full.take() else { return self };
        let named = match name(full.data_object) {
            Some((owner, name)) => Ora::with(inner.code, &[&owner, &name, &full.blocks, &full.tablespace]),
            None => Ora::with(1652, &[&full.blocks, &full.tablespace]),
        };
        inner.code = named.0.code;
        inner.message = named.0.message;
        self
    }

    /// Sets the byte offset in the statement, unless an inner layer has set it.
    #[must_use]
    pub fn at(mut self, position: u32) -> Ora {
        self.0.position.get_or_insert(position);
        self
    }

    /// Shifts the position by `base`, the offset of the parsed text in the whole statement.
    #[must_use]
    pub fn shifted(mut self, base: u32) -> Ora {
        if let Some(position) = &mut self.0.position {
            *position += base;
        }
        self
    }

    /// Removes the position, which refers to a text that the caller does not know.
    #[must_use]
    pub fn without_position(mut self) -> Ora {
        self.0.position = None;
        self
    }

    /// Stacks another error under this one, as ORA-06512 lines are stacked.
    #[must_use]
    pub fn because(mut self, next: Ora) -> Ora {
        self.0.context.push(next);
        self
    }

    /// Stacks `ORA-06512: at "WHERE", line N`, or `at line N` if `unit` is empty. A full stack takes no more: runaway
    /// recursion passes through thousands of places.
    #[must_use]
    pub fn at_line(self, unit: &str, line: u32) -> Ora {
        if self.0.context.len() >= STACK_LINES_MAX {
            return self;
        }
        let unit = if unit.is_empty() { String::new() } else { format!("\"{unit}\", ") };
        let place = Ora::with(6512, &[&unit, &line]);
        let mut error = self;
        let context = &mut error.0.context;
        // An error stacked under this one has its own places. Places of this error's origin stand above it, later ones
        // below.
        let kept = context.iter().position(|below| below.0.context.iter().any(|e| e.is(6512)));
        match kept {
            Some(at) if !context.iter().any(|e| e.is(6512)) => context.insert(at, place),
            _ => context.push(place),
        }
        error
    }

    /// Removes the name of a unit from its places in the stack: they read `at line N`.
    #[must_use]
    pub fn without_unit(mut self, unit: &str) -> Ora {
        let named = format!("at \"{unit}\", ");
        for place in self.0.context.iter_mut().filter(|place| place.is(6512)) {
            if let Some(line) = place.0.message.strip_prefix(&named) {
                place.0.message = format!("at {line}");
            }
        }
        self
    }

    /// Returns the facility that raised it.
    pub fn facility(&self) -> Facility {
        self.0.facility
    }

    /// Returns the number, without a sign.
    pub fn code(&self) -> u32 {
        self.0.code
    }

    /// Returns whether this is the `ORA-` error `code`.
    pub fn is(&self, code: u32) -> bool {
        self.0.facility == Facility::Ora && self.0.code == code
    }

    /// Whether the session was told to stop, or has too much memory; what it was doing is not to blame. ORA-00028,
    /// ORA-01013, ORA-04030, ORA-04036.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        [28, 1013, 4030, 4036].iter().any(|code| self.is(*code))
    }

    /// Whether the call must end, regardless of handlers and remaining rows: the session was killed, interrupted or
    /// lost, must release memory, or has used up a limit of its profile. ORA-00600 is not among these errors: it
    /// concerns one statement, and `WHEN OTHERS` handles it, as in Oracle.
    #[must_use]
    pub fn ends_call(&self) -> bool {
        [28, 603, 1012, 1013, 2392, 2393, 2394, 2395, 3106, 4036].iter().any(|code| self.is(*code))
    }

    /// Whether this is an internal error, ORA-00603 or ORA-01555 that nobody has reported yet; a second call for the
    /// error or a copy of it returns false. ORA-00600 without arguments and ORA-00603 without a cause were raised by a
    /// user's RAISE and are not internal errors.
    pub fn begin_report(&mut self) -> bool {
        let is_internal = self.is(600) && !self.0.message.contains("arguments: []");
        let is_lost = self.is(603) && self.0.context.iter().any(|e| !e.is(6512));
        (is_internal || is_lost || self.is(1555)) && !std::mem::replace(&mut self.0.is_reported, true)
    }

    /// Returns PL/SQL's SQLCODE: the negative number, but 100 for ORA-01403 and 1 for a user-defined exception.
    pub fn sqlcode(&self) -> i32 {
        match (self.0.facility, self.0.code) {
            (Facility::Ora, 1403) => 100,
            (Facility::Ora, 6510) => 1,
            (_, code) => -(code as i32),
        }
    }

    /// Returns the text without prefix and context.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the byte offset in the statement where the error was found.
    pub fn position(&self) -> Option<u32> {
        self.0.position
    }

    /// Returns the stacked errors, innermost first.
    pub fn context(&self) -> &[Ora] {
        &self.0.context
    }

    /// Returns the first line, `ORA-00942: table or view does not exist`, without the stacked errors.
    pub fn headline(&self) -> String {
        let mut line = String::new();
        self.write_headline(&mut line).expect("writing to a String does not fail");
        line
    }

    fn write_headline(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let inner = &*self.0;
        let (prefix, width) = (inner.facility.prefix(), inner.facility.width());
        write!(out, "{prefix}-{:0width$}: {}", inner.code, inner.message)
    }
}

impl fmt::Display for Ora {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_headline(f)?;
        for line in &self.0.context {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Ora {}

/// Returns whether the list has a text for this error.
pub fn is_listed(facility: Facility, code: u32) -> bool {
    messages::template(facility, code).is_some()
}

/// Returns the text of an `ORA-` error with its `%s` left empty, as SQLERRM(code) shows it.
pub fn bare_message(code: u32) -> Option<String> {
    messages::template(Facility::Ora, code).map(|template| fill(template, &[]))
}

fn fill(template: &str, args: &[&dyn fmt::Display]) -> String {
    use fmt::Write;
    let mut out = String::with_capacity(template.len() + 32);
    let mut args = args.iter();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(tail) = rest.strip_prefix("%s") {
            if let Some(arg) = args.next() {
                write!(out, "{arg}").expect("writing to a String does not fail");
            }
            rest = tail;
        } else {
            out.push('%');
            rest = rest.strip_prefix("%%").unwrap_or(&rest[1..]);
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_oracle_prints() {
        assert_eq!(Ora::new(942).to_string(), "ORA-00942: table or view does not exist");
        assert_eq!(
            Ora::with(1400, &[&"\"SCOTT\".\"EMP\".\"EMPNO\""]).to_string(),
            "ORA-01400: cannot insert NULL into (\"SCOTT\".\"EMP\".\"EMPNO\")"
        );
        assert_eq!(Ora::make(Facility::Sp2, 310, &[&"x.sql"]).to_string(), "SP2-0310: unable to open file \"x.sql\"");
        assert_eq!(Ora::pls(201, &[&"X"]).to_string(), "PLS-00201: identifier 'X' must be declared");
    }

    #[test]
    fn stacks_lines() {
        let e = Ora::new(1476).at_line("SCOTT.F", 3).at_line("", 1);
        assert_eq!(
            e.to_string(),
            "ORA-01476: divisor is equal to zero\nORA-06512: at \"SCOTT.F\", line 3\nORA-06512: at line 1"
        );
        assert_eq!(e.headline(), "ORA-01476: divisor is equal to zero");
    }

    #[test]
    fn the_name_of_a_unit_leaves_its_own_places() {
        let e = Ora::new(1476).at_line("SCOTT.F", 3).at_line("SCOTT.T", 2).without_unit("SCOTT.T");
        let lines =
            ["ORA-01476: divisor is equal to zero", "ORA-06512: at \"SCOTT.F\", line 3", "ORA-06512: at line 2"];
        assert_eq!(e.to_string(), lines.join("\n"));
    }

    #[test]
    fn a_stacked_error_stands_between_origin_and_path() {
        let kept = Ora::user(20010, "deep").at_line("S.A", 1).at_line("S.B", 3);
        let e = Ora::user(20011, "outer").because(kept).at_line("S.B", 4).at_line("", 1);
        let at = |unit: &str, line: u32| match unit {
            "" => format!("ORA-06512: at line {line}"),
            _ => format!("ORA-06512: at \"{unit}\", line {line}"),
        };
        let lines = ["ORA-20011: outer", &at("S.B", 4), "ORA-20010: deep", &at("S.A", 1), &at("S.B", 3), &at("", 1)];
        assert_eq!(e.to_string(), lines.join("\n"));
    }

    #[test]
    fn an_internal_error_is_one_incident() {
        let mut e = Ora::internal("broken");
        assert!(e.begin_report());
        let mut outer = e.clone().at_line("", 1);
        assert!(!e.begin_report() && !outer.begin_report());
        assert!(!Ora::new(600).begin_report(), "raised by a user");
        assert!(!Ora::new(603).at_line("", 1).begin_report(), "raised by a user");
        assert!(Ora::new(603).because(Ora::new(1578)).begin_report());
        assert!(!Ora::new(1578).begin_report());
        let mut e = Ora::new(1555);
        assert!(e.begin_report() && !e.begin_report());
    }

    #[test]
    fn a_stack_of_places_is_bounded() {
        let e = (0..10_000).fold(Ora::new(6500), |e, n| e.at_line("SYS.R", n));
        assert_eq!(e.to_string().lines().count(), 1 + STACK_LINES_MAX);
        assert!(e.to_string().ends_with("line 99"), "the innermost places are kept");
    }

    #[test]
    fn first_position_stays() {
        let e = Ora::new(904).at(7).at(0);
        assert_eq!(e.position(), Some(7));
        assert_eq!(e.shifted(10).position(), Some(17));
    }

    #[test]
    fn missing_arguments_are_empty_and_percent_is_kept() {
        assert_eq!(Ora::new(600).message(), format!("internal error code, arguments: {}", ["[]"; 12].join(", ")));
        assert!(Ora::pls(206, &[&"x"]).message().starts_with("%TYPE must"));
    }

    #[test]
    fn every_error_is_one_word() {
        assert_eq!(size_of::<Ora>(), size_of::<usize>());
    }
}
