//! A change group of a transaction: every block change in it comes with its undo record (T1).
//!
//! Room for the undo is made in a separate group before this one is opened, so that this one pins only data blocks and
//! then the transaction's newest undo block. Every data block is pinned before the first [`Change::change`]. The
//! first undo block of a transaction is taken in the group of its first change, so a small transaction needs one group
//! for its changes.

use crate::scn_time::UndoEvent;
use crate::segment::BlockWanted;
use crate::session::Chain;
use crate::undo::{RECORD_ENTRY, RECORD_HEAD, UndoRecord, encode_record, op};
use crate::{Isolation, Transactions, Txn};
use block::{Data, Itl, data};
use buffer_cache::{BlockRef, ChangeGroup, give_way};
use process::Process;
use redo::Layer;
use types::{ObjectId, Ora, Rdba, Result, Scn, Uba, Xid};
use wait::Stat;

/// Most blocks that taking an undo block adds to a group: the undo header, the block with room, the head of the queue,
/// the new block, and for a new extent the segment header, an extent map with the map before it, a space map and two
/// bitmap blocks.
const UNDO_BLOCKS_MAX: usize = 10;

/// The result of [`Change::itl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItlGet {
    /// Number of this transaction's entry in the block.
    Got(u8),
    /// No entry is free and the block has no room for another: drop the group, wait for this transaction, and start
    /// again.
    Full(Xid),
}

/// A change group of a transaction. Dropping it without [`Change::commit`] has no effect on blocks.
pub struct Change<'a> {
    txns: &'a Transactions,
    p: &'a Process,
    t: &'a mut Txn,
    xid: Xid,
    group: ChangeGroup<'a>,
    /// The transaction's chain as it will be after publication.
    chain: Chain,
    undo_block: Option<BlockRef>,
    /// The first undo block of the transaction, if it is still to be taken in this group.
    wanted: Option<BlockWanted>,
    has_taken: bool,
    changed: Vec<(Rdba, u8)>,
    /// Entries taken in this group, with their previous contents.
    taken: Vec<(Rdba, u8, Itl)>,
    record: Vec<u8>,
}

impl Transactions {
    /// Opens a change group that will write at most `records` undo records with `data_bytes` of layer data together.
    ///
    /// No other group may be open in the process. Latches: none on entry or return.
    pub fn change<'a>(
        &'a self,
        p: &'a Process,
        t: &'a mut Txn,
        records: usize,
        data_bytes: usize,
    ) -> Result<Change<'a>> {
        Change::open(self, p, t, records, data_bytes)
    }
}

impl<'a> Change<'a> {
    pub(crate) fn open(
        txns: &'a Transactions,
        p: &'a Process,
        t: &'a mut Txn,
        records: usize,
        data_bytes: usize,
    ) -> Result<Change<'a>> {
        let xid = txns.begin(p, t)?;
        let bytes = records * RECORD_HEAD + data_bytes;
        let is_first = t.chain.last.is_none() && !std::mem::take(&mut t.takes_undo_first);
        let wanted = if is_first { txns.first_block_for(records, bytes) } else { None };
        if wanted.is_none() {
            txns.make_undo_room(p, t, records, bytes)?;
        }
        let chain = t.chain;
        let group = txns.cache().group(p);
        let (changed, taken, record, undo_block, has_taken) = (Vec::new(), Vec::new(), Vec::new(), None, false);
        Ok(Change { txns, p, t, xid, group, chain, undo_block, wanted, has_taken, changed, taken, record })
    }

    /// The transaction.
    pub fn xid(&self) -> Xid {
        self.xid
    }

    /// The group, for changes that need no undo (formatting a new block, space management).
    pub fn group(&mut self) -> &mut ChangeGroup<'a> {
        &mut self.group
    }

    /// Pins a block for change (`db block gets`). Waits: `buffer busy waits`, `db file sequential read`.
    pub fn current(&mut self, at: Rdba) -> Result<BlockRef> {
        debug_assert!(self.undo_block.is_none(), "data blocks are pinned before undo");
        self.group.current(at)
    }

    /// The private image of a pinned block, with this group's changes.
    pub fn view(&self, b: BlockRef) -> &[u8] {
        self.group.view(b)
    }

    /// The rows and entries of a pinned data block.
    pub fn data(&self, b: BlockRef) -> Data<'_> {
        Data::new(self.group.block(b))
    }

    /// Finds, takes or adds this transaction's entry in a data block. First cleans out the entries of committed
    /// transactions, so that their room and locks become free.
    ///
    /// # Errors
    /// ORA-08177 in a serializable transaction when every entry that could be taken has a later commit SCN and none can
    /// be added.
    pub fn itl(&mut self, b: BlockRef) -> Result<ItlGet> {
        self.clean_out(b)?;
        let d = self.data(b);
        let all = || (1..=d.itls() as u8).filter_map(|n| Some((n, d.itl(n)?)));
        if let Some((n, _)) = all().find(|(_, itl)| itl.xid == self.xid && !itl.is_committed()) {
            return Ok(ItlGet::Got(n));
        }
        let unused = all().find(|(_, itl)| itl.is_unused());
        // A serializable transaction never takes the entry of a transaction that committed after its snapshot (T15):
        // its readers stop at its own changes, and could no longer reach that commit through the entry's undo.
        let limit = self.serial_scn().unwrap_or(Scn::MAX);
        let may_go = |itl: &Itl| itl.is_committed() && itl.scn <= limit;
        let oldest = || all().filter(|(_, itl)| may_go(itl)).min_by_key(|(_, itl)| itl.scn);
        if let Some((n, _)) = unused.or_else(oldest) {
            self.take(b, n)?;
            return Ok(ItlGet::Got(n));
        }
        let count = d.itls();
        // Paid from bytes beyond all credits, since a rollback does not give the entry back (T13).
        if count < usize::from(self.txns.itl_max()) && d.usable_bytes(0) >= data::ITL_BYTES {
            let n = count as u8 + 1;
            self.apply(b, Layer::Transaction, op::ITL_ADD, &[n])?;
            self.take(b, n)?;
            return Ok(ItlGet::Got(n));
        }
        if all().any(|(_, itl)| itl.is_committed()) {
            return Err(Ora::new(8177));
        }
        let holder = all().map(|(_, itl)| itl.xid).find(|x| *x != self.xid);
        holder.map(ItlGet::Full).ok_or_else(|| Ora::internal("a data block without interested-transaction entries"))
    }

    /// The SCN that all statements of a serializable transaction read as of.
    pub fn serial_scn(&self) -> Option<Scn> {
        self.t.held.get().filter(|_| self.t.isolation == Isolation::Serializable)
    }

    fn take(&mut self, b: BlockRef, n: u8) -> Result<()> {
        let last_owner = self.data(b).itl(n).unwrap_or_default();
        self.taken.push((b.rdba(), n, last_owner));
        let mut cv = [n; 9];
        cv[1..].copy_from_slice(&self.xid.to_bits().to_le_bytes());
        self.apply(b, Layer::Transaction, op::ITL_TAKE, &cv)
    }

    /// Delayed block cleanout of a pinned block.
    fn clean_out(&mut self, b: BlockRef) -> Result<()> {
        for n in 1..=self.data(b).itls() as u8 {
            let Some(itl) = self.data(b).itl(n) else { break };
            if itl.is_unused() || itl.is_committed() || itl.xid == self.xid {
                continue;
            }
            if let Some(cv) = self.txns.cleanout_of(n, itl.xid) {
                self.apply(b, Layer::Transaction, op::ITL_CLEANOUT, &cv)?;
            }
        }
        Ok(())
    }

    /// The active transaction, other than this one, that holds entry `itl` of the block and so has locked the rows with
    /// that lock byte.
    pub fn itl_holder(&self, b: BlockRef, itl: u8) -> Option<Xid> {
        let entry = self.data(b).itl(itl)?;
        let held = !entry.is_unused() && !entry.is_committed() && entry.xid != self.xid;
        (held && self.txns.table().is_active(entry.xid)).then_some(entry.xid)
    }

    /// Writes the undo record (`undo`: op and data), points entry `itl` at it and applies `redo` (op and data) of
    /// `layer`.
    pub fn change(
        &mut self,
        b: BlockRef,
        itl: u8,
        object: ObjectId,
        layer: Layer,
        redo: (u8, &[u8]),
        undo: (u8, &[u8]),
    ) -> Result<Uba> {
        let at = b.rdba();
        let itl_before = self.before(b, itl)?;
        let uba = self.add_undo(UndoRecord {
            xid: self.xid,
            uba: Uba::NONE,
            prev: self.chain.newest,
            object,
            rdba: at,
            layer,
            op: undo.0,
            itl,
            scn: Scn::ZERO,
            itl_before,
            data: undo.1,
        })?;
        let mut cv = [itl; 1 + Uba::BYTES];
        cv[1..].copy_from_slice(&uba.to_bytes());
        self.apply(b, Layer::Transaction, op::ITL_POINT, &cv)?;
        self.apply(b, layer, redo.0, redo.1)?;
        if self.changed.last() != Some(&(at, itl)) {
            self.changed.push((at, itl));
        }
        Ok(uba)
    }

    /// Writes an undo record that belongs to no entry of a block, for changes a layer undoes logically.
    pub fn logical_undo(&mut self, object: ObjectId, layer: Layer, at: Rdba, undo: (u8, &[u8])) -> Result<Uba> {
        self.add_undo(UndoRecord {
            xid: self.xid,
            uba: Uba::NONE,
            prev: self.chain.newest,
            object,
            rdba: at,
            layer,
            op: undo.0,
            itl: 0,
            scn: Scn::ZERO,
            itl_before: Itl::default(),
            data: undo.1,
        })
    }

    /// The content that a rollback of the coming change must restore in the entry. An entry just taken goes back to its
    /// previous owner.
    fn before(&self, b: BlockRef, n: u8) -> Result<Itl> {
        let own = self.data(b).itl(n).filter(|itl| itl.xid == self.xid);
        let now = own.ok_or_else(|| Ora::internal("a change through an entry that was not taken"))?;
        let at = b.rdba();
        let taken = self.taken.iter().find(|(rdba, entry, _)| (*rdba, *entry) == (at, n));
        Ok(if now.uba.is_none() { taken.map_or(Itl::default(), |t| t.2) } else { now })
    }

    fn apply(&mut self, b: BlockRef, layer: Layer, op: u8, data: &[u8]) -> Result<()> {
        self.group.change(b, layer, op, data)
    }

    fn add_undo(&mut self, mut rec: UndoRecord<'_>) -> Result<Uba> {
        let bytes = RECORD_HEAD + rec.data.len();
        if let Some(ask) = self.wanted.take() {
            if self.group.blocks_left() < UNDO_BLOCKS_MAX {
                self.t.takes_undo_first = true;
                return Err(give_way());
            }
            match self.txns.take_undo_block(&mut self.group, self.xid, &self.chain, &ask) {
                Ok(Some(chain)) => self.chain = chain,
                // Retired blocks are searched for without a pinned data block.
                Err(e) if e.is(30036) => {
                    self.t.takes_undo_first = true;
                    return Err(give_way());
                }
                Ok(None) => return Err(Ora::internal("no undo block")),
                Err(e) => return Err(e),
            }
            self.has_taken = true;
        }
        if !self.chain.fits(1, bytes) {
            return Err(Ora::internal(format_args!("a change writes more undo than it asked for, by {bytes} bytes")));
        }
        let b = match self.undo_block {
            Some(b) => b,
            None => {
                let b = self.group.current(self.chain.last)?;
                self.undo_block = Some(b);
                b
            }
        };
        let uba = Uba { rdba: self.chain.last, seq: self.chain.seq, rec: self.chain.block_records as u8 };
        (rec.uba, rec.scn) = (uba, self.txns.current_scn());
        let mut record = std::mem::take(&mut self.record);
        encode_record(&mut record, &rec);
        let done = self.apply(b, Layer::Undo, op::APPEND, &record);
        self.record = record;
        done?;
        self.p.count(Stat::UndoChangeVectorSize, bytes as u64);
        self.chain.block_records += 1;
        // The last record may use the bytes that are otherwise reserved for its directory entry.
        self.chain.free_bytes = self.chain.free_bytes.saturating_sub(bytes + RECORD_ENTRY);
        self.chain.newest = uba;
        self.chain.records += 1;
        self.chain.bytes += bytes as u64;
        Ok(uba)
    }

    /// Publishes the group: all its changes at once, or none when the process dies before.
    ///
    /// # Errors
    /// The redo cannot be accepted: nothing has changed.
    pub fn commit(self) -> Result<()> {
        let Change { txns, t, xid, group, chain, changed, has_taken, .. } = self;
        group.commit(txns.current_scn())?;
        t.chain = chain;
        if has_taken {
            txns.times().count(UndoEvent::Taken);
        }
        for (at, itl) in changed {
            t.note_changed(at, itl, txns.cleanout_max());
        }
        if let Some(entry) = txns.table().entry(xid) {
            entry.note_undo(chain.newest, chain.records, chain.blocks.into());
        }
        Ok(())
    }
}
