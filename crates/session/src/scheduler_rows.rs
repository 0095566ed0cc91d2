//! The rows of DBMS_SCHEDULER and the names of its objects.
//!
//! A job is read as a whole, changed, and written as a whole: [`Row`] is a row by the positions of its columns. All
//! statements are the instance's own, in the transaction of the caller.

use crate::core::Core;
use crate::recursive::recursive;
use crate::typed_name::dictionary_name;
use crate::world::number;
use dictionary::base::{scheduler_argument, scheduler_job};
use dictionary::rows::as_i64;
use exec::ExecCtx;
use sql::lexer::{TokenKind, lex};
use types::{Date, Moment, Ora, Result, TimeZone, Timestamp, Value};

/// The first number of a job of DBMS_SCHEDULER; DBMS_JOB has the numbers below.
const FIRST_NUMBER: i64 = 1 << 40;

/// Whether a job of the queue is one of DBMS_SCHEDULER.
pub fn is_scheduled(job: i64) -> bool {
    job >= FIRST_NUMBER
}

/// The longest name, in bytes.
const NAME_MAX: usize = 128;

/// Owner and name of an object of DBMS_SCHEDULER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub owner: String,
    pub name: String,
}

impl Name {
    /// The name that a caller wrote; `schema` is the owner of an unqualified one.
    ///
    /// # Errors
    /// ORA-27452.
    pub fn parse(text: &str, schema: &str) -> Result<Name> {
        let parts = parts_of(text).filter(|parts| parts.len() <= 2).ok_or_else(|| Ora::with(27452, &[&text]))?;
        Ok(match &parts[..] {
            [owner, name] => Name { owner: owner.clone(), name: name.clone() },
            _ => Name { owner: schema.to_owned(), name: parts.concat() },
        })
    }

    pub fn values(&self) -> [Value; 2] {
        [Value::text(self.owner.as_str()), Value::text(self.name.as_str())]
    }

    /// An error with the owner and the name as its arguments.
    pub fn error(&self, code: u32) -> Ora {
        Ora::with(code, &[&self.owner, &self.name])
    }
}

/// The parts of a name with points; `None` for a text that is no name.
pub fn parts_of(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut wants_name = true;
    for token in lex(text).tokens {
        let word = text.get(token.start as usize..token.end as usize).unwrap_or_default();
        match token.kind {
            TokenKind::Word | TokenKind::QuotedIdent if wants_name => {
                let name = dictionary_name(word);
                if name.is_empty() || name.len() > NAME_MAX {
                    return None;
                }
                parts.push(name);
            }
            TokenKind::Dot if !wants_name => {}
            TokenKind::End if !wants_name => return Some(parts),
            _ => return None,
        }
        wants_name = !wants_name;
    }
    None
}

/// The items of a list separated by commas; a comma in a quoted name separates nothing.
pub fn items_of(list: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let items = list.split(|c: char| {
        is_quoted ^= c == '"';
        c == ',' && !is_quoted
    });
    items.map(str::trim).collect()
}

/// A row by the positions of its columns.
#[derive(Clone, Debug)]
pub struct Row(pub Vec<Value>);

impl Row {
    pub fn text(&self, at: usize) -> &str {
        self.optional(at).unwrap_or_default()
    }

    pub fn optional(&self, at: usize) -> Option<&str> {
        match &self.0[at] {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn int(&self, at: usize) -> i64 {
        as_i64(&self.0[at]).unwrap_or(0)
    }

    pub fn flag(&self, at: usize) -> bool {
        self.int(at) == 1
    }

    /// A time in UTC.
    pub fn time(&self, at: usize) -> Option<Timestamp> {
        match &self.0[at] {
            Value::Timestamp(time) => Some(*time),
            _ => None,
        }
    }

    pub fn set(&mut self, at: usize, value: Value) {
        self.0[at] = value;
    }

    pub fn set_text(&mut self, at: usize, text: &str) {
        self.set(at, if text.is_empty() { Value::Null } else { Value::text(text) });
    }

    pub fn set_int(&mut self, at: usize, n: i64) {
        self.set(at, number(n));
    }

    pub fn set_time(&mut self, at: usize, time: Option<Timestamp>) {
        self.set(at, time.map_or(Value::Null, |time| Value::Timestamp(time.utc().round(6))));
    }

    /// The name in two columns; `None` without one.
    pub fn name(&self, owner: usize, name: usize) -> Option<Name> {
        Some(Name { owner: self.text(owner).to_owned(), name: self.optional(name)?.to_owned() })
    }
}

/// The name of a job.
pub fn job_name(job: &Row) -> Name {
    Name { owner: job.text(scheduler_job::OWNER).to_owned(), name: job.text(scheduler_job::NAME).to_owned() }
}

/// The present time in UTC, as the columns hold it.
pub fn now() -> Timestamp {
    let wall = os::clock::wall_ns();
    let (seconds, nanos) = ((wall / 1_000_000_000) as i64, (wall % 1_000_000_000) as u32);
    let date = Date::from_unix(seconds).or_else(|_| Date::from_unix(0)).expect("1970 is in range");
    Timestamp::new(date, nanos / 1000 * 1000)
}

/// The local time of a zone, in seconds since 1970.
pub fn local(time: &Timestamp, zone: TimeZone) -> i64 {
    time.instant() + i64::from(zone.seconds_at(time.instant()))
}

/// The moment of a local time; one that summer time skips is moved by an hour.
pub fn of_local(seconds: i64, zone: TimeZone) -> Result<Timestamp> {
    let utc = zone.to_utc(seconds, Moment::default()).or_else(|_| zone.to_utc(seconds + 3600, Moment::default()))?;
    Ok(Timestamp::new(Date::from_unix(utc)?, 0))
}

fn first(rows: Vec<Vec<Value>>) -> Option<Row> {
    rows.into_iter().next().map(Row)
}

/// A job by its name, locked.
pub fn job(core: &Core, cx: &mut ExecCtx<'_>, name: &Name) -> Result<Option<Row>> {
    let sql = "select * from sys.scheduler$_job where owner = :1 and name = :2 for update";
    recursive(core, cx, sql, &name.values()).map(first)
}

/// A job by its number, locked.
pub fn job_numbered(core: &Core, cx: &mut ExecCtx<'_>, n: i64) -> Result<Option<Row>> {
    let sql = "select * from sys.scheduler$_job where job = :1 for update";
    recursive(core, cx, sql, &[number(n)]).map(first)
}

pub fn program(core: &Core, cx: &mut ExecCtx<'_>, name: &Name) -> Result<Option<Row>> {
    let sql = "select * from sys.scheduler$_program where owner = :1 and name = :2";
    recursive(core, cx, sql, &name.values()).map(first)
}

pub fn schedule(core: &Core, cx: &mut ExecCtx<'_>, name: &Name) -> Result<Option<Row>> {
    let sql = "select * from sys.scheduler$_schedule where owner = :1 and name = :2";
    recursive(core, cx, sql, &name.values()).map(first)
}

/// Inserts a job.
pub fn insert_job(core: &Core, cx: &mut ExecCtx<'_>, row: &Row) -> Result<()> {
    let sql = "insert into sys.scheduler$_job values (:1, :2, :3, :4, :5, :6, :7, :8, :9, :10, :11, :12, :13, :14, \
         :15, :16, :17, :18, :19, :20, :21, :22, :23, :24, :25, :26, :27, :28, :29, :30, :31, :32, :33, :34, :35, :36, \
         :37, :38)";
    recursive(core, cx, sql, &row.0).map(drop)
}

/// Writes a job, by its number.
pub fn store_job(core: &Core, cx: &mut ExecCtx<'_>, row: &Row) -> Result<()> {
    let sql = "update sys.scheduler$_job set owner = :2, name = :3, creator = :4, schema = :5, program_owner = :6, \
         program_name = :7, kind = :8, action = :9, args = :10, schedule_owner = :11, schedule_name = :12, \
         start_date = :13, end_date = :14, tz = :15, repeat = :16, class = :17, enabled = :18, auto_drop = :19, \
         recovers = :20, state = :21, priority = :22, runs = :23, max_runs = :24, failures = :25, max_failures = :26, \
         last_start = :27, last_duration = :28, req_date = :29, next_run = :30, logging = :31, comments = :32, \
         nlsenv = :33, run_now = :34, sid = :35, serial = :36, stopper = :37, log_id = :38 where job = :1";
    recursive(core, cx, sql, &row.0).map(drop)
}

/// Deletes a job and the values of its arguments.
pub fn delete_job(core: &Core, cx: &mut ExecCtx<'_>, row: &Row) -> Result<()> {
    recursive(core, cx, "delete from sys.scheduler$_job where job = :1", &row.0[..1])?;
    let sql = "delete from sys.scheduler$_argument where owner = :1 and name = :2 and of_job = 1";
    recursive(core, cx, sql, &job_name(row).values()).map(drop)
}

/// An argument of a program or a job.
#[derive(Clone, Debug)]
pub struct Argument {
    pub position: i64,
    pub name: Option<String>,
    pub kind: String,
    /// `None`: it has no value.
    pub value: Option<Value>,
}

/// The arguments of a program, or the values of a job.
pub fn arguments(core: &Core, cx: &mut ExecCtx<'_>, of: &Name, of_job: bool) -> Result<Vec<Argument>> {
    let sql = "select * from sys.scheduler$_argument where owner = :1 and name = :2 and of_job = :3 order by position";
    let [owner, name] = of.values();
    let rows = recursive(core, cx, sql, &[owner, name, number(of_job.into())])?;
    let argument = |row: Vec<Value>| {
        let row = Row(row);
        Argument {
            position: row.int(scheduler_argument::POSITION),
            name: row.optional(scheduler_argument::ARGUMENT).map(str::to_owned),
            kind: row.text(scheduler_argument::TYPE).to_owned(),
            value: row.flag(scheduler_argument::HAS_VALUE).then(|| row.0[scheduler_argument::VALUE].clone()),
        }
    };
    Ok(rows.into_iter().map(argument).collect())
}

/// Replaces an argument by its position; without `argument` it is deleted.
pub fn put_argument(
    core: &Core,
    cx: &mut ExecCtx<'_>,
    (of, of_job): (&Name, bool),
    position: i64,
    argument: Option<&Argument>,
) -> Result<()> {
    let sql = "delete from sys.scheduler$_argument where owner = :1 and name = :2 and of_job = :3 and position = :4";
    let [owner, name] = of.values();
    let key = [owner, name, number(of_job.into()), number(position)];
    recursive(core, cx, sql, &key)?;
    let Some(argument) = argument else { return Ok(()) };
    let mut row = key.to_vec();
    row.push(argument.name.as_deref().map_or(Value::Null, Value::text));
    row.push(Value::text(argument.kind.as_str()));
    row.push(number(argument.value.is_some().into()));
    row.push(argument.value.clone().unwrap_or(Value::Null));
    recursive(core, cx, "insert into sys.scheduler$_argument values (:1, :2, :3, :4, :5, :6, :7, :8)", &row).map(drop)
}

/// The next value of a counter. The transaction keeps it locked: two that create objects come one after the other.
pub fn next_value(core: &Core, cx: &mut ExecCtx<'_>, counter: &str) -> Result<i64> {
    let key = [Value::text(counter)];
    recursive(core, cx, "update sys.scheduler$_global set value = value + 1 where name = :1", &key)?;
    let rows = recursive(core, cx, "select value from sys.scheduler$_global where name = :1", &key)?;
    rows.first().and_then(|row| as_i64(&row[0])).ok_or_else(|| Ora::with(27466, &[&counter]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_sql_reads_them() {
        let name = |text| Name::parse(text, "S").map(|n| format!("{}/{}", n.owner, n.name)).map_err(|e| e.code());
        assert_eq!(name("j1"), Ok("S/J1".into()));
        assert_eq!(name(" o . \"j,1\" "), Ok("O/j,1".into()));
        for wrong in ["", "a b", "a.", ".a", "a.b.c", "\"\"", "a;b", "'a'", &"x".repeat(129), "1"] {
            assert_eq!(name(wrong), Err(27452), "{wrong}");
        }
        assert_eq!(items_of("a, \"b,c\" ,d"), ["a", "\"b,c\"", "d"]);
    }
}
