//! The receiver of rows that are not answered in packets.

use net::local;
use types::{DataType, Result, Scn, Value};

/// Takes what a query gives, one row after the other, so that no packet holds it on the way. An error of its own ends
/// the call like one of the query.
pub trait RowSink {
    /// The query has been executed, is open under this number and has these columns. False: the rows of this call are
    /// answered in packets.
    ///
    /// # Errors
    /// Columns that cannot be taken.
    fn columns(&mut self, number: u32, columns: Vec<local::Column>) -> Result<bool>;

    /// A row, with the session's settings; the bytes of all rows so far.
    ///
    /// # Errors
    /// A row that cannot be taken.
    fn row(&mut self, row: &[Value], nls: &types::Nls) -> Result<usize>;

    /// The rows that follow are those of that moment; [`Scn::MAX`]: LOBs that they lead to are read as they are.
    fn seen(&mut self, scn: Scn);

    /// Whether rows can be had as they are stored: the columns of a stored row that are the query's, and their types.
    fn takes_stored(&self, columns: &[(u16, DataType)]) -> bool;

    /// A stored row, as [`RowSink::row`].
    ///
    /// # Errors
    /// ORA-00600 for what is no row.
    fn stored(&mut self, row: &[u8], columns: &[(u16, DataType)]) -> Result<usize>;
}

/// The receiver of the rows of a call, where they are not answered in packets.
pub(crate) type Sink<'a> = Option<&'a mut dyn RowSink>;
