//! Rows that name their own transaction.
//!
//! A layer whose rows move between blocks cannot use interested-transaction entries. Such a row names the transaction
//! that made it and the undo record of that change; the record holds the previous version. The functions here answer
//! for one version of one row whether a snapshot sees it, and read its undo record.

use crate::table::Fate;
use crate::undo::{decode_record, is_newer};
use crate::{Snapshot, Transactions, UndoRecord};
use process::Process;
use types::{Ora, Result, Scn, Uba, Xid};

/// The transaction that made a version of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// This transaction, in any state.
    Transaction(Xid),
    /// A transaction that committed at this SCN.
    Committed(Scn),
    /// A transaction that committed at or below this SCN.
    Before(Scn),
}

/// The visibility of a version for a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The snapshot sees this version.
    Visible,
    /// The snapshot sees an older one.
    Invisible,
    /// The transaction's slot was reused: [`Transactions::sight_by_undo`] may find its commit.
    Unknown,
    /// In state COMMITTING: ask again.
    Unsettled,
}

impl Transactions {
    /// The maker of a version, with the commit SCN in place of an ended transaction.
    pub fn settled(&self, maker: Maker) -> Maker {
        match maker {
            Maker::Transaction(xid) => match self.table().fate(xid) {
                Fate::Committed(scn) => Maker::Committed(scn),
                Fate::Before(scn) => Maker::Before(scn),
                Fate::Active | Fate::Unsettled => maker,
            },
            ended => ended,
        }
    }

    /// Whether a snapshot sees the version of a row that `maker` made with undo record `uba`.
    pub fn sight(&self, maker: Maker, uba: Uba, s: &Snapshot) -> Sight {
        let fate = match maker {
            Maker::Committed(scn) => Fate::Committed(scn),
            Maker::Before(scn) => Fate::Before(scn),
            Maker::Transaction(xid) if s.xid == Some(xid) => {
                return match s.own {
                    Some(own) if !is_newer(uba, own) => Sight::Visible,
                    _ => Sight::Invisible,
                };
            }
            Maker::Transaction(xid) => self.table().fate(xid),
        };
        match fate {
            Fate::Active => Sight::Invisible,
            Fate::Unsettled => Sight::Unsettled,
            Fate::Committed(scn) | Fate::Before(scn) if scn <= s.scn => Sight::Visible,
            Fate::Committed(_) => Sight::Invisible,
            Fate::Before(_) => Sight::Unknown,
        }
    }

    /// As [`Transactions::sight`] after [`Sight::Unknown`]: searches the undo. When that is gone the result is still
    /// unknown: ORA-01555.
    ///
    /// # Errors
    /// Those of reading undo, and ORA-01013.
    pub fn sight_by_undo(&self, p: &Process, maker: Maker, uba: Uba, s: &Snapshot) -> Result<Sight> {
        let mut bytes = Vec::new();
        let rec = self.undo_if_kept(p, maker, uba, &mut bytes)?;
        // A transaction commits above the SCN of each of its changes.
        if rec.as_ref().is_some_and(|rec| rec.scn >= s.scn) {
            return Ok(Sight::Invisible);
        }
        let xid = match (maker, rec) {
            (Maker::Transaction(xid), _) => xid,
            (_, Some(rec)) => rec.xid,
            (_, None) => return Ok(Sight::Unknown),
        };
        Ok(match self.ended(p, xid, s.scn)? {
            Some(Fate::Committed(scn) | Fate::Before(scn)) if scn <= s.scn => Sight::Visible,
            Some(Fate::Committed(_)) => Sight::Invisible,
            Some(Fate::Before(_) | Fate::Active | Fate::Unsettled) | None => Sight::Unknown,
        })
    }

    /// The SCN at or below which the maker committed, when that was before every open snapshot.
    pub fn ended_in_history(&self, maker: Maker) -> Option<Scn> {
        match self.settled(maker) {
            Maker::Transaction(_) => None,
            Maker::Committed(scn) | Maker::Before(scn) => {
                Some(scn).filter(|scn| self.table().is_before_snapshots(*scn))
            }
        }
    }

    /// Reads the undo record of a version into `bytes`; ORA-01555 when it is gone.
    ///
    /// Statistics: `consistent gets - examination`, `data blocks consistent reads - undo records applied`.
    /// # Errors
    /// ORA-01555, and those of reading.
    pub fn undo_of_version<'b>(
        &self,
        p: &Process,
        maker: Maker,
        uba: Uba,
        bytes: &'b mut Vec<u8>,
    ) -> Result<UndoRecord<'b>> {
        self.undo_if_kept(p, maker, uba, bytes)?.ok_or_else(|| self.version_too_old(p, maker, uba))
    }

    /// As [`Transactions::undo_of_version`], but `None` when the record is gone: `v$undostat.ssolderrcnt` does not
    /// count a search that goes on without the record.
    ///
    /// # Errors
    /// Those of reading.
    pub fn undo_if_kept<'b>(
        &self,
        p: &Process,
        maker: Maker,
        uba: Uba,
        bytes: &'b mut Vec<u8>,
    ) -> Result<Option<UndoRecord<'b>>> {
        if uba.is_none() || self.copy_undo(p, uba, bytes)?.is_none() {
            return Ok(None);
        }
        let rec = decode_record(uba, bytes)?;
        let same = match maker {
            Maker::Transaction(xid) => rec.xid == xid,
            Maker::Committed(scn) => match self.table().fate(rec.xid) {
                Fate::Committed(of) => of == scn,
                Fate::Before(bound) => bound >= scn,
                Fate::Active | Fate::Unsettled => false,
            },
            Maker::Before(_) => !self.is_active(rec.xid),
        };
        if !same {
            return Ok(None);
        }
        p.count(wait::Stat::DataBlocksConsistentReadsUndoRecordsApplied, 1);
        Ok(Some(rec))
    }

    /// ORA-01555 for a version of a row whose undo is gone. It names the undo segment of the transaction that made the
    /// version or, where the version has only the commit SCN, the segment that has overwritten the undo record.
    #[cold]
    pub fn version_too_old(&self, p: &Process, maker: Maker, uba: Uba) -> Ora {
        let usn = match maker {
            Maker::Transaction(xid) => Some(xid.usn),
            _ if uba.is_none() => None,
            _ => self.read_undo(p, uba.rdba, &mut |view| undo_usn(view)).ok().flatten().flatten(),
        };
        self.too_old_in(usn)
    }

    /// ORA-01555 for deleted rows that were purged: no undo segment is too small. Oracle leaves number and name empty
    /// where a LOB's old version is gone, which is not in an undo segment either.
    #[cold]
    pub fn rows_too_old(&self) -> Ora {
        self.too_old_in(None)
    }

    /// Waits a moment for a transaction in state COMMITTING.
    ///
    /// # Errors
    /// ORA-01013, ORA-00028.
    pub fn let_settle(&self, p: &Process) -> Result<()> {
        self.pause(p)
    }
}

/// The undo segment that uses an undo block, or used it last.
fn undo_usn(view: &block::BlockView<'_>) -> Option<u16> {
    (view.kind() == Some(block::BlockKind::Undo)).then(|| block::undo::UndoView::new(*view).xid().usn)
}
