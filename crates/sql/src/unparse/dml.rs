//! INSERT, UPDATE, DELETE and MERGE.

use super::{Clause, List};
use crate::ast::*;
use std::fmt::{self, Display, Formatter};

impl Display for InsertTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)?;
        if self.columns.is_empty() { Ok(()) } else { write!(f, " ({})", List(&self.columns)) }
    }
}

impl Display for InsertInto {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, " INTO {}", self.target)?;
        match &self.values {
            Some(values) => write!(f, " VALUES ({})", List(values)),
            None => Ok(()),
        }
    }
}

impl Display for Returning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, " RETURNING {} {}", List(&self.exprs), self.into)
    }
}

/// RETURNING and LOG ERRORS.
fn tail(f: &mut Formatter<'_>, returning: &Option<Returning>, error_log: &Option<Box<ErrorLog>>) -> fmt::Result {
    returning.iter().try_for_each(|returning| returning.fmt(f))?;
    error_log.iter().try_for_each(|log| log.fmt(f))
}

impl Display for ErrorLog {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(" LOG ERRORS")?;
        self.table.iter().try_for_each(|table| write!(f, " INTO {table}"))?;
        self.tag.iter().try_for_each(|tag| write!(f, " ({tag})"))?;
        match self.limit {
            None => f.write_str(" REJECT LIMIT UNLIMITED"),
            Some(limit) => write!(f, " REJECT LIMIT {limit}"),
        }
    }
}

impl Display for Insert {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "INSERT{}", self.hints)?;
        match &self.kind {
            InsertKind::Single { target, source, returning, error_log } => {
                write!(f, " INTO {target}")?;
                match source {
                    InsertSource::Values(values) => write!(f, " VALUES ({})", List(values))?,
                    InsertSource::Record(record) => write!(f, " VALUES {record}")?,
                    InsertSource::Query(query) => write!(f, " {query}")?,
                }
                tail(f, returning, error_log)
            }
            InsertKind::Multi { first, branches, otherwise, query } => {
                f.write_str(if *first { " FIRST" } else { " ALL" })?;
                for branch in branches {
                    if let Some(when) = &branch.when {
                        write!(f, " WHEN {when} THEN")?;
                    }
                    branch.into.iter().try_for_each(|into| into.fmt(f))?;
                }
                if !otherwise.is_empty() {
                    f.write_str(" ELSE")?;
                    otherwise.iter().try_for_each(|into| into.fmt(f))?;
                }
                write!(f, " {query}")
            }
        }
    }
}

impl Display for Assignment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Assignment::Column { column, value } => write!(f, "{column} = {value}"),
            Assignment::Columns { columns, query, .. } => write!(f, "({}) = ({query})", List(columns)),
            Assignment::Row(value) => write!(f, "ROW = {value}"),
        }
    }
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "UPDATE{} {} SET {}", self.hints, self.table, List(&self.set))?;
        write!(f, "{}{}", Clause("WHERE", &self.filter), Clause("WHERE CURRENT OF", &self.current_of))?;
        tail(f, &self.returning, &self.error_log)
    }
}

impl Display for Delete {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "DELETE{} FROM {}", self.hints, self.table)?;
        write!(f, "{}{}", Clause("WHERE", &self.filter), Clause("WHERE CURRENT OF", &self.current_of))?;
        tail(f, &self.returning, &self.error_log)
    }
}

impl Display for Merge {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "MERGE{} INTO {} USING {} ON ({})", self.hints, self.target, self.source, self.on)?;
        if let Some(update) = &self.update {
            write!(f, " WHEN MATCHED THEN UPDATE SET {}", List(&update.set))?;
            write!(f, "{}{}", Clause("WHERE", &update.filter), Clause("DELETE WHERE", &update.delete))?;
        }
        if let Some(insert) = &self.insert {
            f.write_str(" WHEN NOT MATCHED THEN INSERT")?;
            if !insert.columns.is_empty() {
                write!(f, " ({})", List(&insert.columns))?;
            }
            write!(f, " VALUES ({}){}", List(&insert.values), Clause("WHERE", &insert.filter))?;
        }
        self.error_log.iter().try_for_each(|log| log.fmt(f))
    }
}
