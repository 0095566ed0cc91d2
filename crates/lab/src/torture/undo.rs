//! Undo tablespaces of the workers: created, switched to, left and dropped while all other workers work.
//!
//! Workers keep no record of them: each statement may be refused, because the tablespace does not exist, exists
//! already, or has transactions that have not ended.

use super::session::{Session, Step};

/// It exists already; the maximum number exists; it does not exist; it is in use.
const REFUSED: &[u32] = &[1543, 3001, 959, 30012, 30013];

impl Session<'_> {
    /// One statement on the worker's undo tablespace, or a switch back to the first one of the database.
    pub(super) fn undo(&mut self) -> Step<()> {
        let name = format!("undo_{}", self.mind.worker);
        let sql = match self.r.below(6) {
            0 | 1 => {
                let file = format!("'{name}.dbf' size 1536K reuse autoextend on next 512K maxsize 16M");
                format!("create undo tablespace {name} datafile {file}")
            }
            2 | 3 => format!("alter system set undo_tablespace = {name}"),
            4 => "alter system set undo_tablespace = undo".to_string(),
            _ => format!("drop tablespace {name} including contents and datafiles"),
        };
        self.run_unless(&sql, REFUSED)?;
        Ok(())
    }
}
