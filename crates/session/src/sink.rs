//! The receiver of rows that do not go into packets of the local protocol.

use net::local;
use types::{DataType, Result, Scn, Value};

/// Takes the rows of a query one by one, without a packet between the query and the receiver. An error of the receiver
/// ends the call like an error of the query.
pub trait RowSink {
    /// Takes the number and the columns of a query after its execution. False: the rows of this call go into packets.
    ///
    /// # Errors
    /// Columns that the receiver cannot take.
    fn columns(&mut self, number: u32, columns: Vec<local::Column>) -> Result<bool>;

    /// Takes a row, with the session's NLS settings. Returns the bytes of all rows so far.
    ///
    /// # Errors
    /// A row that the receiver cannot take.
    fn row(&mut self, row: &[Value], nls: &types::Nls) -> Result<usize>;

    /// Sets the SCN as of which LOBs of the following rows are read; [`Scn::MAX`]: their present content is read.
    fn seen(&mut self, scn: Scn);

    /// True when the receiver takes stored rows. `columns`: the query's columns in the stored row, with their types.
    fn takes_stored(&self, columns: &[(u16, DataType)]) -> bool;

    /// Takes a stored row, as [`RowSink::row`] does.
    ///
    /// # Errors
    /// ORA-00600 for bytes that are no row.
    fn stored(&mut self, row: &[u8], columns: &[(u16, DataType)]) -> Result<usize>;
}

/// The receiver of the rows of a call; `None` when they go into packets.
pub(crate) type Sink<'a> = Option<&'a mut dyn RowSink>;
