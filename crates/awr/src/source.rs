//! Access to the `dba_hist_` views.

use types::{Result, Value};

/// Runs the queries of the report.
pub trait Source {
    /// The rows of a query; placeholders `:1`, `:2` … take `binds` in order.
    ///
    /// # Errors
    /// Those of the query.
    fn query(&mut self, sql: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>>;
}

impl<F: FnMut(&str, &[Value]) -> Result<Vec<Vec<Value>>>> Source for F {
    fn query(&mut self, sql: &str, binds: &[Value]) -> Result<Vec<Vec<Value>>> {
        self(sql, binds)
    }
}
