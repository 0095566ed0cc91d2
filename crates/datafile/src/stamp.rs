//! Checkpoints in the headers of data files.
//!
//! The header of a file that was restored from an older copy shows its age, whatever the control file says; so does the
//! header of a file that is newer than the control file. A header is written only when every change before its
//! checkpoint is on the device, and before the control file gets the same checkpoint. The checkpoint is in the first
//! sector of the header, which the device writes atomically.

use crate::CheckpointEntry;
use crate::control::{Contents, ControlFile, FileEntry};
use crate::files::DataFiles;
use block::Image;
use block::file::FileCheckpoint;
use types::{Ora, Rdba, Result};

impl ControlFile {
    /// True when the header of the file gets the checkpoints of the database. Files that are offline, read-only,
    /// temporary or in backup mode keep their checkpoint.
    pub fn is_stamped(&self, f: &FileEntry) -> bool {
        let stays = |t: &crate::TablespaceEntry| t.is_offline || t.is_read_only || t.contents == Contents::Temporary;
        !f.is_offline && !self.is_copied(f.file) && !self.tablespace(f.tablespace).is_some_and(stays)
    }
}

impl DataFiles {
    /// The checkpoint in a file's header.
    ///
    /// # Errors
    /// Those of [`DataFiles::read_block`].
    pub fn file_checkpoint(&self, number: u32) -> Result<FileCheckpoint> {
        let mut image = Image::new(self.block_size());
        self.read_block(Rdba::new(number, 0), image.bytes_mut())?;
        Ok(block::file::checkpoint(&image.view()))
    }

    /// Writes a checkpoint into the headers of all files for which [`ControlFile::is_stamped`] holds, and waits until
    /// they are on the device. Every change before the checkpoint is there already. Missing files are skipped. A file
    /// that the control file lists as online again is stamped although it cannot be used yet. One process at a time:
    /// the caller holds the control file.
    ///
    /// # Errors
    /// ORA-01114 when a header cannot be written, ORA-01578 when one is damaged.
    pub fn stamp(&self, control: &ControlFile, at: &CheckpointEntry) -> Result<()> {
        // A part whose header has a checkpoint from before its creation counts as an earlier part: a file that was made
        // after this checkpoint was announced gets the next one.
        let is_due = |f: &&FileEntry| control.is_stamped(f) && f.created_rba <= at.rba;
        for f in control.files.iter().filter(is_due) {
            match self.stamp_file(f.file, control.incarnation.number, at) {
                Err(e) if e.is(376) => self.stamp_closed(control, f, at)?,
                Err(e) if e.is(1157) => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Writes the control file's checkpoint into the headers of a tablespace that was offline or read-only and becomes
    /// usable again. Its files kept an old checkpoint, and nothing was changed in them meanwhile. A file or part that
    /// was made behind the checkpoint gets the next one, as in [`DataFiles::stamp`].
    ///
    /// # Errors
    /// Those of opening the files; as [`DataFiles::stamp`].
    pub(crate) fn stamp_returning(&self, control: &ControlFile, tablespace: u32) -> Result<()> {
        let is_due = |f: &&FileEntry| !f.is_offline && f.created_rba <= control.checkpoint.rba;
        let returning = control.files.iter().filter(|f| f.tablespace == tablespace).filter(is_due);
        returning.into_iter().try_for_each(|f| {
            // No header goes back to an earlier checkpoint: the control file may not be written after it.
            let stop = control.stop_of(f.file).filter(|stop| stop.rba > control.checkpoint.rba);
            self.stamp_closed(control, f, stop.unwrap_or(&control.checkpoint))
        })
    }

    /// Writes a checkpoint into the header of a file that is not in use.
    pub(crate) fn stamp_closed(&self, control: &ControlFile, f: &FileEntry, at: &CheckpointEntry) -> Result<()> {
        let file = self.open_file(f)?;
        let mut image = Image::new(self.block_size());
        let failed = |e: os::OsError| {
            Ora::with(1114, &[&f.head(), &0]).because(crate::error::io_error(27072, "File I/O error", &e))
        };
        file.read_at(image.bytes_mut(), self.begin_of(f.part)).map_err(failed)?;
        put(&mut image, control.incarnation.number, at);
        file.write_at(&image.bytes()[..file.unit_bytes()], self.begin_of(f.part)).map_err(failed)?;
        self.sync_file(f.file, &file)
    }

    /// The checkpoint in the header of a file, in use or not.
    ///
    /// # Errors
    /// ORA-01157 when the file is missing, ORA-01122 and ORA-01200 when it is not the file of the control file; each
    /// with its name.
    pub fn closed_checkpoint(&self, f: &FileEntry) -> Result<FileCheckpoint> {
        let file = self.open_file(f)?;
        let mut image = Image::new(self.block_size());
        let failed = |e: os::OsError| {
            Ora::with(1115, &[&f.head(), &0]).because(crate::error::io_error(27072, "File I/O error", &e))
        };
        file.read_at(image.bytes_mut(), self.begin_of(f.part)).map_err(failed)?;
        Ok(block::file::checkpoint(&image.view()))
    }

    /// Writes a checkpoint into the header of one file, unless the header has a later one of the same incarnation.
    ///
    /// # Errors
    /// As [`DataFiles::stamp`]; ORA-01157 when it is missing.
    pub fn stamp_file(&self, number: u32, incarnation: u32, at: &CheckpointEntry) -> Result<()> {
        let mut image = Image::new(self.block_size());
        self.read_block(Rdba::new(number, 0), image.bytes_mut())?;
        let has = block::file::checkpoint(&image.view());
        if has.incarnation == incarnation && has.rba >= at.rba {
            return Ok(());
        }
        put(&mut image, incarnation, at);
        self.write_start(number, image.bytes())
    }
}

fn put(header: &mut Image, incarnation: u32, at: &CheckpointEntry) {
    let to = FileCheckpoint { rba: at.rba, incarnation, time_s: at.time_s, scn: at.scn.0 };
    block::file::set_checkpoint(header.bytes_mut(), &to);
    block::seal(header.bytes_mut());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackupEntry, CreateDatabase};
    use types::Scn;

    #[test]
    fn headers_follow_the_checkpoints_but_for_those_that_stay() {
        let dir = std::env::temp_dir().join(format!("latchwork-stamp-{}", os::process::own_id()));
        std::fs::create_dir_all(&dir).unwrap();
        let files = DataFiles::create(&dir, &CreateDatabase::usual("T", 5, 2048)).unwrap();
        let mut control = files.control().unwrap();
        control.incarnation.number = 3;
        let at = |rba| CheckpointEntry { rba, scn: Scn(rba), time_s: 9 };
        files.stamp(&control, &at(1000)).unwrap();
        let rbas = || -> Vec<u64> { (1..=4).map(|f| files.file_checkpoint(f).unwrap().rba).collect() };
        // The fourth file is the temporary one.
        assert_eq!(rbas(), [1000, 1000, 1000, 0]);
        control.backups.push(BackupEntry { file: 3, checkpoint: at(1000) });
        files.stamp(&control, &at(2000)).unwrap();
        assert_eq!(rbas(), [2000, 2000, 1000, 0]);
        control.backups.clear();
        files.stamp(&control, &at(1500)).unwrap();
        assert_eq!(rbas(), [2000, 2000, 1500, 0]);
        control.files[2].created_rba = 1601;
        files.stamp(&control, &at(1600)).unwrap();
        assert_eq!(rbas(), [2000, 2000, 1500, 0], "a file that was made later");
        control.incarnation.number = 4;
        files.stamp(&control, &at(1200)).unwrap();
        assert_eq!(
            files.file_checkpoint(1).unwrap(),
            FileCheckpoint { rba: 1200, incarnation: 4, time_s: 9, scn: 1200 }
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
