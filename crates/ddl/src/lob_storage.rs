//! `LOB (c) STORE AS …`. A LOB is stored in its row, so the clause is checked and what would store it elsewhere is
//! refused.

use crate::work::{Work, no_column};
use dictionary::{Organization, TableDef};
use sql::ast::LobStorage;
use types::{Ora, Result};

/// Checks a clause for the table that it belongs to.
///
/// # Errors
/// ORA-00904 for a column that the table does not have, ORA-22853 for one that is no LOB, ORA-22850 for one that is
/// named twice; ORA-00959; ORA-03001 for COMPRESS, DEDUPLICATE and another tablespace than the table's.
pub fn check(work: &Work<'_>, table: &TableDef, lob: &LobStorage) -> Result<()> {
    for (nth, wanted) in lob.columns.iter().enumerate() {
        let (_, column) = table.column(&wanted.name).ok_or_else(|| no_column(wanted))?;
        if !plan::is_lob(&column.data_type) {
            return Err(Ora::new(22_853).at(wanted.pos.0));
        }
        if lob.columns[..nth].iter().any(|other| other.name == wanted.name) {
            return Err(Ora::new(22_850).at(wanted.pos.0));
        }
    }
    if let Some(name) = &lob.tablespace {
        let number = work.tablespace_number(name)?;
        let is_here = match &table.organization {
            Organization::Heap(segment) | Organization::Index(segment) => segment.tablespace == number,
            Organization::HashCluster { cluster, key_positions: _ } => cluster.segment.tablespace == number,
            Organization::Partitioned(of) => of.partitions.iter().all(|p| p.segment.tablespace == number),
            Organization::Fixed(_) => false,
        };
        if !is_here {
            return Err(Ora::unsupported().at(name.pos.0));
        }
    }
    lob.unsupported.map_or(Ok(()), |pos| Err(Ora::unsupported().at(pos.0)))
}

/// Checks the clauses of CREATE TABLE. ORA-22850 for a column in two of them.
pub fn check_all(work: &Work<'_>, table: &TableDef, lobs: &[LobStorage]) -> Result<()> {
    for (nth, lob) in lobs.iter().enumerate() {
        check(work, table, lob)?;
        let earlier = || lobs[..nth].iter().flat_map(|lob| &lob.columns);
        if let Some(twice) = lob.columns.iter().find(|column| earlier().any(|other| other.name == column.name)) {
            return Err(Ora::new(22_850).at(twice.pos.0));
        }
    }
    Ok(())
}
