//! Opens a database's files, and lays down again what an older copy of a file lacks.

use crate::DataFiles;
use crate::control::{Contents, ControlFile, FileEntry};
use crate::files::TablespaceSpec;
use crate::names::tablespace;
use os::file::{File, OpenMode};
use std::path::Path;
use types::{Ora, Result};

impl DataFiles {
    /// Opens the database in `directory`; also returns the contents of its control file. A user's file that is missing
    /// or foreign does not prevent the open: its use is an error until the next start. A file put back while the
    /// instance runs would not match the redo.
    ///
    /// # Errors
    /// ORA-00205 for the control file; for files of the dictionary, of undo and of temporary data ORA-01157 when one is
    /// missing, ORA-01122 or ORA-01200 when one does not belong to the database or is too short. For any file those of
    /// [`DataFiles::wait_for_dead_writes`].
    pub fn open(directory: &Path) -> Result<(DataFiles, ControlFile)> {
        let control = ControlFile::read(directory)?;
        let files = DataFiles::over(directory, &control);
        let mut entries: Vec<&FileEntry> = control.files.iter().collect();
        // The first part of a bigfile first: a temporary file that is missing is created with it.
        entries.sort_by_key(|f| f.part);
        for entry in entries {
            // Those of an instance that was killed (R10), also of a file that is offline or damaged: they must not
            // overwrite what is written from here on.
            if File::open(&files.path(&entry.name), OpenMode::Read).is_ok() {
                files.wait_for_dead_writes(0..usize::MAX, [entry.file])?;
            }
            if files.table.state(entry.file).is_offline() {
                continue;
            }
            let of = control.tablespace(entry.tablespace);
            let is_users =
                entry.tablespace != tablespace::SYSTEM && of.is_some_and(|t| t.contents == Contents::Permanent);
            let is_rolled = !control.is_kept(entry);
            let opened = files.open_or_remake(&control, entry);
            let opened = match opened.and_then(|()| files.require_own_life(&control, entry, is_rolled)) {
                Err(e) if is_rolled && files.lays_again(&control, entry, &e) => {
                    files.lay_part(entry).and_then(|()| files.open_or_remake(&control, entry))
                }
                opened => opened,
            };
            match opened {
                // A bigfile is missing as a whole.
                Err(_) if is_users => control.parts_of(entry.head()).iter().for_each(|f| files.table.miss(f.file)),
                done => done?,
            }
        }
        Ok((files, control))
    }

    /// Lays down the later parts of a file that is offline and was restored from a copy made before they were. Called
    /// before any part is rolled forward.
    ///
    /// # Errors
    /// ORA-01157, ORA-01237.
    pub fn lay_lost_parts(&self, control: &ControlFile, head: u32) -> Result<()> {
        for part in control.parts_of(head).into_iter().filter(|f| !f.is_head()) {
            if let Err(e) = self.open_file(part).and_then(|_| self.require_own_life(control, part, true))
                && self.lays_again(control, part, &e)
            {
                self.lay_part(part)?;
            }
        }
        Ok(())
    }

    /// Opens a file; a missing file of a temporary tablespace is created again.
    pub(crate) fn open_or_remake(&self, control: &ControlFile, entry: &FileEntry) -> Result<()> {
        let is_temporary = self.table.state(entry.file).is_temporary() && !self.is_read_only();
        if is_temporary && !entry.is_head() && self.open_file(entry).is_err() {
            // The file was created again with its first part.
            self.lay_part(entry)?;
        }
        if is_temporary && entry.is_head() && !os::file::exists(&self.path(&entry.name)) {
            let size = self.block_size() as u64;
            let name = control.tablespace(entry.tablespace).map_or("", |t| t.name.as_str());
            let spec = TablespaceSpec {
                name: name.to_owned(),
                number: entry.tablespace,
                contents: Contents::Temporary,
                file_name: entry.name.clone(),
                bytes: u64::from(entry.blocks) * size,
                bytes_max: u64::from(entry.blocks_max) * size,
                step_bytes: u64::from(entry.step) * size,
            };
            self.make_file(entry.file, &spec, false)?;
        }
        self.table.keep(entry.file, self.open_file(entry)?);
        Ok(())
    }

    /// True when a part that cannot be opened is to be laid down again: the file is a copy from before the part was
    /// made (R17).
    fn lays_again(&self, control: &ControlFile, entry: &FileEntry, why: &Ora) -> bool {
        (why.is(1122) || why.is(1200)) && self.copied_before(control, entry).is_some()
    }

    /// The checkpoint of the first part, if the recovery of the file begins before this later part was made: redo from
    /// its creation on makes everything in the part. `None` for a first part, and for a file of another incarnation,
    /// which is not recovered.
    fn copied_before(&self, control: &ControlFile, entry: &FileEntry) -> Option<u64> {
        let has = self.closed_checkpoint(control.file(entry.first)?).ok()?;
        let is_own = has.rba == 0 || has.incarnation == control.incarnation.number;
        (is_own && has.rba <= entry.created_rba).then_some(has.rba)
    }

    /// Checks that the place of a later part does not have an earlier part with the same number: that was removed, and
    /// the file is a copy from before. The header of a part has no checkpoint, or one behind its creation.
    ///
    /// The header of an earlier part may have no checkpoint either. A copy with such a header, from before the last
    /// checkpoint, counts as one with an earlier part if the file is going to be rolled forward (`is_rolled`). Where it
    /// has the present part after all, laying the part down again does no harm: its recovery begins at its creation in
    /// any case.
    fn require_own_life(&self, control: &ControlFile, entry: &FileEntry, is_rolled: bool) -> Result<()> {
        if entry.is_head() {
            return Ok(());
        }
        let is_older = |first: u64| is_rolled && first < control.checkpoint.rba;
        let is_earlier = match self.closed_checkpoint(entry)?.rba {
            0 => self.copied_before(control, entry).is_some_and(is_older),
            has => has < entry.created_rba,
        };
        if is_earlier { Err(Ora::with(1122, &[&entry.head()]).because(self.named(entry))) } else { Ok(()) }
    }
}
