//! Comparisons of columns with binds whose values a plan depends on.

use crate::estimate::{Column, UNKNOWN, share_of_value};
use crate::ir::{BindPredicate, Compared};
use crate::predicate::of_comparison;
use types::Value;

impl BindPredicate {
    /// The selectivity of the comparison for a value, by the table's statistics.
    pub fn share(&self, value: &Value) -> f64 {
        let Some(column) = self.table.columns.get(self.column) else { return UNKNOWN };
        let of = Column {
            source: 0,
            position: self.column,
            data_type: &column.data_type,
            nullable: column.nullable,
            table: self.table.statistics.as_ref(),
            statistics: column.statistics.as_ref(),
        };
        share_of_value(&of, self.how, value)
    }

    /// The operator and the bind's name, as in `v$sql_cs_selectivity`.
    pub fn label(&self, binds: &[String]) -> String {
        let operator = match self.how {
            Compared::By(op) => of_comparison(op),
            Compared::Like => "LIKE",
        };
        format!("{operator}{}", binds.get(self.bind).map_or("", String::as_str))
    }
}
