//! Undo tablespaces of the workers: made, gone over to, left and dropped, while all others work.
//!
//! Nothing of them needs to be known: each statement is one that may be refused, because there is no such tablespace,
//! there is one already, or transactions have not ended in it.

use super::work::{Session, Step};

/// There is one already; there are as many as may be; there is none; it is in use.
const REFUSED: &[u32] = &[1543, 3001, 959, 30012, 30013];

impl Session<'_> {
    /// One statement on the worker's undo tablespace, or back to the first one of the database.
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
