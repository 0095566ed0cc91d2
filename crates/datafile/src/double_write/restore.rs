//! Blocks restored from their copies by a start after a crash.

use crate::control::{ControlFile, FileEntry};
use crate::files::DataFiles;
use block::BlockView;
use os::file::{File, OpenMode};
use std::collections::HashMap;
use types::{Rdba, Result};

/// A copy of a block in the area.
#[derive(Clone, Copy)]
struct Copy {
    rba: u64,
    /// The offset of the copy in the file.
    at: u64,
}

/// The blocks that a start wrote from their copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Torn blocks that were restored.
    pub torn: u64,
    /// Whole blocks that were written again, because it is unknown whether the device has them.
    pub again: u64,
    /// The newest redo address of a copy: the redo up to it was on disk before the copy was.
    pub newest: u64,
}

impl DataFiles {
    /// Restores blocks that a crash has torn from their copies, before any redo is applied. With `again`, also writes
    /// whole blocks that are not newer than their copy: the device may have lost writes that the operating system still
    /// shows. Repeating the call gives the same result.
    ///
    /// # Errors
    /// LWK-00063 when the area cannot be read, ORA-01114 when a block cannot be written.
    pub fn restore_torn(&self, control: &ControlFile, again: bool) -> Result<Restored> {
        let Some(area) = self.area.get() else { return Ok(Restored::default()) };
        let failed = |e: os::OsError| area.failed(&e);
        let reader = File::open(&area.path, OpenMode::Read).map_err(failed)?;
        let mut newest: HashMap<Rdba, Copy> = HashMap::new();
        let mut bytes = Vec::new();
        let batches = area.batches(&reader).map_err(failed)?;
        for head in batches.iter().filter(|b| b.announced >= control.checkpoint.rba) {
            bytes.resize(head.blocks.len() * self.block_size(), 0);
            reader.read_at(&mut bytes, area.copy_at(head, 0)).map_err(failed)?;
            for (n, (rdba, block)) in head.blocks.iter().zip(bytes.chunks(self.block_size())).enumerate() {
                let copy = Copy { rba: BlockView::of_bytes(block).rba(), at: area.copy_at(head, n) };
                let is_newer = newest.get(rdba).is_none_or(|other| other.rba < copy.rba);
                if is_newer && block::check(block, *rdba).is_ok() && copy.rba > 0 {
                    newest.insert(*rdba, copy);
                }
            }
        }
        let mut restored =
            Restored { newest: newest.values().map(|c| c.rba).max().unwrap_or(0), ..Restored::default() };
        for entry in &control.files {
            let mut copies: Vec<(Rdba, Copy)> =
                newest.iter().filter(|(at, _)| at.file() == entry.file).map(|(at, copy)| (*at, *copy)).collect();
            // Redo and copies from before the creation of the file belong to an earlier file with its number.
            copies.retain(|(_, copy)| copy.rba > entry.created_rba);
            copies.sort_unstable_by_key(|(at, _)| *at);
            self.restore_file(control, entry, &reader, &copies, again, &mut restored)?;
        }
        Ok(restored)
    }

    fn restore_file(
        &self,
        control: &ControlFile,
        entry: &FileEntry,
        reader: &File,
        copies: &[(Rdba, Copy)],
        again: bool,
        restored: &mut Restored,
    ) -> Result<()> {
        if copies.is_empty() || self.is_temporary(entry.file) {
            return Ok(());
        }
        // Another check reports missing files.
        let Ok(file) = self.open_file(entry) else { return Ok(()) };
        let failed = |at: Rdba| move |e: os::OsError| self.cannot_write(at, &e);
        let stays =
            entry.is_offline || control.tablespace(entry.tablespace).is_some_and(|t| t.is_offline || t.is_read_only);
        let (mut have, mut copy_bytes) = (vec![0; self.block_size()], vec![0; self.block_size()]);
        let mut is_changed = false;
        for (at, copy) in copies {
            let position = self.begin_of(entry.part) + u64::from(at.block()) * self.block_size() as u64;
            // A block beyond the end belongs to a time when the file was longer; redo that needs the block extends the
            // file.
            if file.read_at(&mut have, position).is_err() {
                continue;
            }
            let is_torn = block::check(&have, *at).is_err();
            let is_due = again && !stays && BlockView::of_bytes(&have).rba() <= copy.rba;
            if !is_torn && !is_due {
                continue;
            }
            reader.read_at(&mut copy_bytes, copy.at).map_err(failed(*at))?;
            file.write_at(&copy_bytes, position).map_err(failed(*at))?;
            faults::point("double-write-restored");
            is_changed = true;
            *(if is_torn { &mut restored.torn } else { &mut restored.again }) += 1;
        }
        // No checkpoint will sync a file that stays offline or read-only.
        if is_changed && stays && self.disk_sync() {
            file.sync().map_err(failed(Rdba::new(entry.file, 0)))?;
        }
        Ok(())
    }
}
