//! Array DML: many rows of bind values for one statement.

use crate::error::{ClientError, ClientResult};
use crate::outcome::Part;
use crate::session::Client;
use net::local::{Array, Bind, BindRows, Done, Failure, MAX_REQUEST_LEN, Request};
use std::fmt;
use types::Value;

/// Largest number of bytes of rows in one request, unless a single row has more.
const ROWS_BYTES: usize = 4 << 20;

/// Bytes that a bind's description needs besides its name, and that a request needs besides everything else.
const ROOM: usize = 64;

/// The options of an array execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrayOptions {
    /// A failed row is noted, and the execution continues with the next row.
    pub batch_errors: bool,
    /// Count the rows that each execution changes.
    pub row_counts: bool,
}

/// The result of an array execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArrayOutcome {
    /// Executions done, including noted failures. It is the number of the first row that was not tried, or of the row
    /// that ended the array.
    pub executions: u64,
    /// Rows changed.
    pub rows: u64,
    /// Rows changed by each execution, if requested.
    pub counts: Vec<u64>,
    /// With batch errors: the executions that failed, from 0.
    pub errors: Vec<(u64, Failure)>,
    /// Values returned by executions: the execution, the bind, the value.
    pub returned: Vec<(u64, u16, Value)>,
    pub done: Done,
}

/// An array that ended early. The executions before the error stay done.
#[derive(Clone, Debug)]
pub struct ArrayError {
    pub error: ClientError,
    /// The result so far: `executions` is the number of the row that failed.
    pub done: Box<ArrayOutcome>,
}

impl fmt::Display for ArrayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (row {})", self.error, self.done.executions)
    }
}

impl std::error::Error for ArrayError {}

impl From<ArrayError> for ClientError {
    fn from(e: ArrayError) -> ClientError {
        e.error
    }
}

impl ArrayOutcome {
    fn add(&mut self, part: Part) {
        let first = self.executions;
        self.errors.extend(part.errors.into_iter().map(|(n, e)| (first + u64::from(n), e)));
        for (n, values) in part.returned {
            self.returned.extend(values.into_iter().map(|(bind, v)| (first + u64::from(n), bind, v)));
        }
        self.executions += u64::from(part.executed.executions);
        self.rows += part.executed.rows;
        self.counts.extend(part.executed.counts);
    }
}

impl Client {
    /// Runs a DML statement, or a block, once for each row: `binds` has names, directions and types, and a row has a
    /// value for each bind. Rows are sent together, as many as fit into a packet. Each execution is atomic, and those
    /// before a failed one stay. Rows are taken from the iterator as they are sent.
    ///
    /// # Errors
    /// The server's error for the first row that fails, or with batch errors an error that no row has caused; ORA-01013
    /// when the array was broken, also between two packets; [`ClientError::Protocol`] for a row longer than a packet,
    /// which is not sent.
    ///
    /// # Panics
    /// When a row has more or fewer values than there are binds, or there are no binds.
    pub fn execute_many<R: AsRef<[Value]>>(
        &mut self,
        sql: &str,
        binds: &[Bind],
        rows: impl IntoIterator<Item = R>,
        options: ArrayOptions,
    ) -> Result<ArrayOutcome, ArrayError> {
        assert!(!binds.is_empty(), "an array has binds");
        let mut all = ArrayOutcome::default();
        match self.try_many(sql, binds, rows.into_iter(), options, &mut all) {
            Ok(()) => Ok(all),
            Err(error) => Err(ArrayError { error, done: Box::new(all) }),
        }
    }

    fn try_many<R: AsRef<[Value]>>(
        &mut self,
        sql: &str,
        binds: &[Bind],
        mut rows: impl Iterator<Item = R>,
        options: ArrayOptions,
        all: &mut ArrayOutcome,
    ) -> ClientResult<()> {
        let array = Array {
            sql: sql.to_string(),
            binds: binds.iter().map(|b| Bind { value: Value::Null, ..b.clone() }).collect(),
            batch_errors: options.batch_errors,
            row_counts: options.row_counts,
            want_output: self.wants_output(),
        };
        let head: usize = binds.iter().map(|b| b.name.as_ref().map_or(0, String::len) + ROOM).sum();
        let most = MAX_REQUEST_LEN.saturating_sub(sql.len() + head + ROOM);
        let broken = self.breaks();
        let mut request = Request::ExecuteMany { array: Box::new(array), rows: BindRows::new(binds.len()) };
        let mut next = rows.next();
        while let Some(row) = next.take() {
            let Request::ExecuteMany { rows: packed, .. } = &mut request else { return Ok(()) };
            packed.clear();
            // A row longer than the limit is sent alone.
            if !packed.push(row.as_ref(), most) {
                return Err(ClientError::Protocol(net::local::WireError::LengthOutOfBounds));
            }
            next = rows.find(|row| !packed.push(row.as_ref(), most.min(ROWS_BYTES)));
            let mut part = Part::default();
            let outcome = self.call_many(&request, &mut part);
            all.add(part);
            all.done = outcome?.done;
            if next.is_some() && self.breaks() != broken {
                return Err(crate::session::broken());
            }
        }
        Ok(())
    }
}
