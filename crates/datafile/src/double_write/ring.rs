//! The ring of batches: reserving, writing and finding them.

use super::heads::{BatchHead, COVER_MAX, HEAD_BYTES, Stamp};
use crate::error::io_error;
use os::blocks::{BLOCK_MAX, BlockFile, Blocks};
use os::file::File;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Facility, Ora, Result};

/// Number of batches of maximum length for which the smallest area has room.
const BATCHES_MIN: u64 = 8;
pub(super) const HEAD: usize = 0;
pub(super) const SAFE: usize = 1;
pub(super) const STUCK: usize = 2;
const SLOTS_USED: usize = 3;
pub(super) const SLOTS: usize = 8;
/// `STUCK`: a position + 1 in the lower bits, the count above.
const STUCK_SHIFT: u32 = 48;
pub(super) const STUCK_MASK: u64 = (1 << STUCK_SHIFT) - 1;
/// Bytes per read when batches are searched for.
const LOOK_BYTES: usize = 1 << 20;

/// The area of a database, open in this process and in those that it forks later.
pub(crate) struct DoubleWrite {
    pub(super) path: PathBuf,
    pub(super) file: BlockFile,
    /// Bytes of the ring.
    pub(super) ring: u64,
    pub(super) stamp: Stamp,
    pub(super) block_size: usize,
    pub(super) words: &'static [AtomicU64],
    /// Buffers in which batches are assembled: one for each writing thread.
    pub(super) scratch: Mutex<Vec<Blocks>>,
}

impl DoubleWrite {
    pub(super) fn slot(&self, slot: usize) -> &AtomicU64 {
        &self.words[SLOTS + slot]
    }

    /// Bytes of the smallest area.
    pub(super) fn bytes_min(block_size: usize) -> u64 {
        HEAD_BYTES as u64 + BATCHES_MIN * BatchHead::len_bytes(COVER_MAX, block_size)
    }

    pub(super) fn failed(&self, e: &os::OsError) -> Ora {
        area_failed(&self.path, e)
    }

    /// The position of a batch of `len` bytes reserved at `head`: a batch that would pass the end of the ring begins at
    /// its start.
    fn place(&self, head: u64, len: u64) -> u64 {
        if head % self.ring + len > self.ring { head.next_multiple_of(self.ring) } else { head }
    }

    fn offset(&self, position: u64) -> u64 {
        HEAD_BYTES as u64 + position % self.ring
    }

    /// Reserves space for a batch; `None` when the data files must be synced first.
    pub(super) fn reserve(&self, slot: usize, len: u64) -> Option<u64> {
        let used = &self.words[SLOTS_USED];
        used.fetch_max(slot as u64 + 1, Ordering::SeqCst);
        loop {
            let head = self.words[HEAD].load(Ordering::SeqCst);
            let at = self.place(head, len);
            if at + len > self.words[SAFE].load(Ordering::SeqCst) + self.ring {
                self.slot(slot).store(0, Ordering::SeqCst);
                return None;
            }
            // First the slot, then the head: see the module documentation.
            self.slot(slot).store(at + 1, Ordering::SeqCst);
            if self.words[HEAD].compare_exchange(head, at + len, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Some(at);
            }
        }
    }

    /// The position before which every batch is in place according to the operating system. Must be read before the
    /// sync that puts those blocks on the device.
    pub fn limit(&self) -> u64 {
        let head = self.words[HEAD].load(Ordering::SeqCst);
        let used = self.words[SLOTS_USED].load(Ordering::SeqCst) as usize;
        let busy = self.words[SLOTS..SLOTS + used].iter().map(|w| w.load(Ordering::SeqCst));
        let stuck = self.words[STUCK].load(Ordering::SeqCst) & STUCK_MASK;
        busy.chain([stuck]).filter(|at| *at > 0).fold(head, |limit, at| limit.min(at - 1))
    }

    /// Frees the ring up to `limit`: all batches before it are on the device in place.
    pub fn release(&self, limit: u64) {
        self.words[SAFE].fetch_max(limit, Ordering::SeqCst);
    }

    pub(super) fn safe(&self) -> u64 {
        self.words[SAFE].load(Ordering::SeqCst)
    }

    /// Keeps the batch of a slot although its process continues with other batches.
    pub(super) fn keep(&self, slot: usize) {
        let at = self.slot(slot).load(Ordering::SeqCst);
        let _ = self.words[STUCK].fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| {
            let oldest = match old & STUCK_MASK {
                0 => at,
                before => before.min(at),
            };
            Some(((old >> STUCK_SHIFT) + 1) << STUCK_SHIFT | oldest)
        });
        self.slot(slot).store(0, Ordering::SeqCst);
    }

    /// Writes a batch at `position` and waits until it is on the device.
    pub(super) fn write(&self, head: &BatchHead, blocks: &[&[u8]], sync: bool) -> Result<()> {
        let len = BatchHead::len_bytes(blocks.len(), self.block_size) as usize;
        let kept = self.scratch.lock().ok().and_then(|mut kept| kept.pop());
        let mut scratch = kept.unwrap_or_default();
        scratch.grow(len);
        let bytes = &mut scratch.bytes_mut()[..len];
        head.put(&mut bytes[..HEAD_BYTES]);
        for (to, block) in bytes[HEAD_BYTES..].chunks_mut(self.block_size).zip(blocks) {
            to.copy_from_slice(block);
        }
        let written = self.file.write_at(&scratch, len, self.offset(head.position));
        if let Ok(mut kept) = self.scratch.lock() {
            kept.push(scratch);
        }
        written.map_err(|e| self.failed(&e))?;
        faults::point("double-write-copied");
        if sync {
            self.file.sync().map_err(|e| self.failed(&e))?;
        }
        faults::point("double-write-synced");
        Ok(())
    }

    /// The batch at `position`; `None` when there is none.
    pub(super) fn batch_at(&self, file: &File, position: u64) -> Option<BatchHead> {
        let mut bytes = [0; HEAD_BYTES];
        file.read_at(&mut bytes, self.offset(position)).ok()?;
        BatchHead::of(&bytes).filter(|head| head.position == position && head.stamp == self.stamp)
    }

    /// The batches of this life, the newest first.
    ///
    /// Heads are looked for at every place. A head does not say that the bytes of its batch are still there: when a
    /// process dies before it writes the batch for which it reserved space, the head of an older batch stays, and newer
    /// batches may begin inside the older one.
    pub(super) fn batches(&self, file: &File) -> os::OsResult<Vec<BatchHead>> {
        let (mut found, mut from) = (Vec::new(), HEAD_BYTES as u64);
        let end = HEAD_BYTES as u64 + self.ring;
        let mut chunk = vec![0; LOOK_BYTES];
        while let Some((begin, stretch_end)) = file.next_written(from)? {
            let mut at = begin.max(from).next_multiple_of(BLOCK_MAX as u64);
            let stretch_end = stretch_end.min(end);
            while at + HEAD_BYTES as u64 <= stretch_end {
                let len = LOOK_BYTES.min((end - at) as usize) / HEAD_BYTES * HEAD_BYTES;
                file.read_at(&mut chunk[..len], at)?;
                for bytes in chunk[..len].chunks_exact(HEAD_BYTES) {
                    let head = BatchHead::of(bytes).filter(|h| h.stamp == self.stamp && self.offset(h.position) == at);
                    found.extend(head.filter(|h| at + self.len_of(h) <= end));
                    at += HEAD_BYTES as u64;
                }
            }
            from = stretch_end.max(at);
            if from >= end {
                break;
            }
        }
        found.sort_unstable_by_key(|head| std::cmp::Reverse(head.position));
        // A head inside a newer batch is content of a block, not a head.
        let mut known: BTreeMap<u64, u64> = BTreeMap::new();
        found.retain(|head| {
            let at = self.offset(head.position);
            let is_inside = known.range(..=at).next_back().is_some_and(|(_, end)| at < *end);
            if !is_inside {
                known.insert(at, at + self.len_of(head));
            }
            !is_inside
        });
        Ok(found)
    }

    pub(super) fn len_of(&self, head: &BatchHead) -> u64 {
        BatchHead::len_bytes(head.blocks.len(), self.block_size)
    }

    /// The offset of copy `n` of a batch in the file.
    pub(super) fn copy_at(&self, head: &BatchHead, n: usize) -> u64 {
        self.offset(head.position) + (HEAD_BYTES + n * self.block_size) as u64
    }
}

pub(super) fn area_failed(path: &Path, e: &os::OsError) -> Ora {
    let text = format!("the double-write area '{}' cannot be used", path.display());
    Ora::from_text(Facility::Lwk, 63, text).because(io_error(27072, "File I/O error", e))
}
