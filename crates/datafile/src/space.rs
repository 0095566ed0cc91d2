//! Adds, drops and changes tablespaces and files while the database is open.
//!
//! The caller holds the DD enqueue, so only one process at a time is here. A file is complete and on the device before
//! it gets its name (R19) and before the control file lists it, and is deleted only after the control file no longer
//! lists it: an interruption leaves at most a file without references.

use crate::control::{BackupEntry, Contents, ControlFile, FileEntry, GoneEntry, TablespaceEntry};
use crate::error::io_error;
use crate::files::too_many_files;
use crate::{DataFiles, TablespaceSpec, geometry};
use enqueue::{EnqueueType, Enqueues, LockMode, Timeout};
use os::file::{File, Found, OpenMode, sync_directory};
use process::Process;
use std::path::Path;
use types::{Facility, Ora, Rdba, Result, Scn};

/// A file to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its name: relative to the database directory, or an absolute path.
    pub name: String,
    /// Size in bytes; `None` reuses an existing file with its present size.
    pub bytes: Option<u64>,
    /// REUSE: an existing file of that name is overwritten.
    pub reuse: bool,
    /// Size in bytes up to which it may grow automatically; 0 when it may not.
    pub bytes_max: u64,
    /// Bytes of one growth step.
    pub step_bytes: u64,
}

/// Notes dropped files and tablespaces, and removes the oldest notes when there are too many.
fn remember(c: &mut ControlFile, gone: &[FileEntry], tablespaces: Vec<TablespaceEntry>, dropped_rba: u64) {
    c.gone_tablespaces.extend(tablespaces);
    c.gone.extend(gone.iter().map(|f| GoneEntry { dropped_rba, file: f.clone() }));
    let many = c.gone.len().saturating_sub(ControlFile::GONE_MAX);
    if let Some(last) = c.gone.drain(..many).map(|g| g.dropped_rba).max() {
        c.forgotten_rba = c.forgotten_rba.max(last);
    }
    let ControlFile { gone, gone_tablespaces, .. } = c;
    gone_tablespaces.retain(|t| gone.iter().any(|g| g.file.tablespace == t.number));
}

/// Removes files, and tablespaces with their last file; in ARCHIVELOG mode they are noted. Returns the files.
fn unlist(c: &mut ControlFile, numbers: &[u32], dropped_rba: u64) -> Vec<FileEntry> {
    let gone: Vec<FileEntry> = c.files.iter().filter(|f| numbers.contains(&f.file)).cloned().collect();
    c.files.retain(|f| !numbers.contains(&f.file));
    c.offline.retain(|o| !numbers.contains(&o.file));
    c.backups.retain(|b| !numbers.contains(&b.file));
    let left = |number: u32| c.files.iter().any(|f| f.tablespace == number);
    let empty: Vec<u32> = gone.iter().map(|f| f.tablespace).filter(|t| !left(*t)).collect();
    let went: Vec<TablespaceEntry> = c.tablespaces.iter().filter(|t| empty.contains(&t.number)).cloned().collect();
    c.tablespaces.retain(|t| !empty.contains(&t.number));
    if c.archivelog {
        remember(c, &gone, went, dropped_rba);
    }
    gone
}

impl DataFiles {
    /// Creates files for a tablespace and lists them in the control file, together with the tablespace if it is new.
    /// Redo before `created` does not belong to them. Returns their numbers.
    ///
    /// Waits: as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01119 when a file cannot be created (ORA-27038 below it when it exists), ORA-01537 for a file that the
    /// database already has, ORA-03214 for one that is too small, ORA-01144 for one that is too large, ORA-02236 as of
    /// [`require_name`], ORA-00059 when there are `db_files` files or all file numbers are taken; then none of the new
    /// files is left.
    pub fn add_files(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        tablespace: &TablespaceEntry,
        files: &[NewFile],
        created: (u64, Scn),
    ) -> Result<Vec<u32>> {
        let control = self.control()?;
        let (mut made, mut sizes): (Vec<FileEntry>, Vec<Vec<u32>>) = Default::default();
        for new in files {
            match self.add_one(&control, &mut made, tablespace, new) {
                Ok(further) => sizes.push(further),
                Err(e) => {
                    self.remove(&made);
                    return Err(e);
                }
            }
        }
        made.iter_mut().for_each(|entry| (entry.created_rba, entry.created_scn) = created);
        if let Err(e) = self.lay_and_list(p, enqueues, tablespace, &mut made, &sizes) {
            self.remove(&made);
            return Err(e);
        }
        made.iter().for_each(|entry| self.table.set(entry, tablespace, false));
        Ok(made.iter().map(|f| f.file).collect())
    }

    /// Creates a file, or the first part of a bigfile; returns the sizes of its later parts.
    fn add_one(
        &self,
        control: &ControlFile,
        made: &mut Vec<FileEntry>,
        tablespace: &TablespaceEntry,
        new: &NewFile,
    ) -> Result<Vec<u32>> {
        require_name(&new.name)?;
        let path = self.directory().join(&new.name);
        let mut all = control.files.iter().chain(made.iter());
        if all.any(|f| {
            self.directory().join(&f.name) == path || os::file::is_same(&self.directory().join(&f.name), &path)
        }) {
            return Err(Ora::with(1537, &[&path.display()]));
        }
        if new.reuse {
            self.require_reusable(&path)?;
        }
        let is_temporary = tablespace.contents == Contents::Temporary;
        let is_alike = |f: &&FileEntry| {
            control.tablespace(f.tablespace).map_or(tablespace.contents, |t| t.contents) == Contents::Temporary
        };
        let files = control.heads().chain(made.iter().filter(|f| f.is_head()));
        if files.filter(|f| is_alike(f) == is_temporary).count() >= self.files_max() as usize {
            return Err(too_many_files());
        }
        let number = control.free_number(made, false).ok_or_else(too_many_files)?;
        let size = self.block_size() as u64;
        let old_bytes = self.old_bytes(&path);
        let bytes = match (new.bytes, old_bytes) {
            (Some(bytes), _) => bytes,
            (None, Some(bytes)) if new.reuse => bytes,
            _ => return Err(Ora::with(1119, &[&path.display()]).because(no_size())),
        };
        let least = u64::from(geometry::blocks_min(self.block_size())) * size;
        if bytes < least {
            return Err(Ora::from_text(Facility::Ora, 3214, "File Size specified is smaller than minimum required"));
        }
        let (blocks, most) = (bytes.div_ceil(size), self.file_blocks_max(tablespace.is_bigfile));
        if blocks > most {
            return Err(Ora::with(1144, &[&blocks, &most]));
        }
        let sizes = if tablespace.is_bigfile {
            geometry::part_sizes(blocks, self.part_blocks(), geometry::blocks_min(self.block_size()))
        } else {
            vec![blocks as u32]
        };
        let spec = TablespaceSpec {
            name: tablespace.name.clone(),
            number: tablespace.number,
            contents: tablespace.contents,
            file_name: new.name.clone(),
            bytes: u64::from(sizes[0]) * size,
            bytes_max: if new.bytes_max > 0 { new.bytes_max.max(bytes) } else { 0 },
            step_bytes: new.step_bytes,
        };
        made.push(self.make_file(number, &spec, new.reuse)?);
        // The rest of a bigfile is allocated before the control file is held for its parts.
        let rest = sizes.iter().map(|blocks| u64::from(*blocks)).sum::<u64>() * size;
        let file = self.open_file(&made[made.len() - 1])?;
        self.lengthen(&file, rest).map_err(|e| self.not_made(new, &e))?;
        Ok(sizes[1..].to_vec())
    }

    /// The length of the file that REUSE takes without SIZE. One whose overwriting was interrupted is as long as its
    /// header says.
    fn old_bytes(&self, path: &Path) -> Option<u64> {
        let file = File::open(path, OpenMode::Read).ok()?;
        let len = file.len_bytes().ok()?;
        let mut block = block::Image::new(self.block_size());
        let header = file.read_at(block.bytes_mut(), 0).ok().and_then(|()| block::file::read(&block.view()));
        let is_cut = len <= self.block_size() as u64;
        let told = header.filter(|_| is_cut).map(|h| u64::from(h.blocks) * self.block_size() as u64);
        Some(told.unwrap_or(len))
    }

    /// The file that REUSE is going to overwrite must be a data file, of this or another database: the name may be that
    /// of a log, of a control file, or of any other file that the database or its user needs (R18). Files of zeros are
    /// refused, too: a log and the double-write area are such files until their first use.
    ///
    /// # Errors
    /// ORA-01119 with LWK-00066.
    fn require_reusable(&self, path: &Path) -> Result<()> {
        let is_reusable = match os::file::find(path) {
            Found::Nothing => true,
            Found::Other => false,
            Found::File => {
                let mut block = block::Image::new(self.block_size());
                let read = File::open(path, OpenMode::Read).and_then(|f| f.read_some_at(block.bytes_mut(), 0));
                read.is_ok() && block::file::read(&block.view()).is_some()
            }
        };
        if is_reusable {
            return Ok(());
        }
        let text = "REUSE takes a data file, and this is another file";
        Err(Ora::with(1119, &[&path.display()]).because(Ora::from_text(Facility::Lwk, 66, text)))
    }

    /// ORA-01119 with the system's words.
    fn not_made(&self, new: &NewFile, e: &os::OsError) -> Ora {
        let why = io_error(27044, "unable to write the header block of file", e);
        Ora::with(1119, &[&self.directory().join(&new.name).display()]).because(why)
    }

    /// Lays down the later parts of new bigfiles, with these sizes, and lists the new files in the control file.
    ///
    /// Other bigfiles get parts at any time. A part is laid down with a free number before the control file is held. If
    /// the number is taken by then, the part gets another number and is laid down again.
    fn lay_and_list(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        tablespace: &TablespaceEntry,
        made: &mut Vec<FileEntry>,
        sizes: &[Vec<u32>],
    ) -> Result<()> {
        let heads = made.clone();
        loop {
            let control = self.control()?;
            made.retain(|f| f.is_head() || control.file(f.file).is_none());
            for (head, sizes) in heads.iter().zip(sizes) {
                self.lay_parts(&control, made, head, sizes)?;
            }
            faults::point("file-made");
            heads.iter().try_for_each(|entry| self.sync_folder_of(entry))?;
            let is_listed = self.change_control(p, enqueues, &mut |c| {
                if heads.iter().any(|entry| c.file(entry.file).is_some()) {
                    return Err(too_many_files());
                }
                if made.iter().any(|entry| c.file(entry.file).is_some()) {
                    return Ok(false);
                }
                if c.tablespace(tablespace.number).is_none() {
                    c.tablespaces.push(tablespace.clone());
                }
                // All their redo is behind the last checkpoint: recovery skips earlier redo for their numbers.
                for entry in made.iter_mut() {
                    entry.created_rba = entry.created_rba.max(c.checkpoint.rba);
                }
                c.files.extend(made.iter().cloned());
                Ok(true)
            })?;
            if is_listed {
                return Ok(());
            }
        }
    }

    /// Waits until the name of a new file is on the device.
    fn sync_folder_of(&self, entry: &FileEntry) -> Result<()> {
        let path = os::file::resolve(&self.path(&entry.name));
        sync_directory(path.parent().unwrap_or(self.directory())).map_err(|e| {
            Ora::with(1119, &[&path.display()]).because(io_error(27040, "file create error, unable to create file", &e))
        })
    }

    /// Lays down the later parts of a new bigfile with these sizes, except those that are among `made`.
    fn lay_parts(&self, c: &ControlFile, made: &mut Vec<FileEntry>, head: &FileEntry, sizes: &[u32]) -> Result<()> {
        for (part, blocks) in (1..).zip(sizes) {
            if made.iter().any(|f| (f.head(), f.part) == (head.file, part)) {
                continue;
            }
            let most = self.file_blocks_max(true);
            let file = c.free_number(made, true).ok_or_else(|| no_number(head.file, most))?;
            let (blocks_max, step) = (0, 0);
            let entry = FileEntry { file, blocks: *blocks, blocks_max, step, part, first: head.file, ..head.clone() };
            self.lay_part(&entry)?;
            made.push(entry);
        }
        Ok(())
    }

    /// The most blocks of a file.
    pub fn file_blocks_max(&self, is_bigfile: bool) -> u64 {
        let part = u64::from(Rdba::MAX_BLOCK) + 1;
        if is_bigfile { u64::from(Rdba::MAX_FILE) * u64::from(self.part_blocks()) } else { part }
    }

    /// Adds a part behind part `after`, the last one, of the bigfile `head`: the smallest part, empty, in the file and
    /// in the control file. Does nothing when another process has added it meanwhile. `created` tells the redo address
    /// and the SCN of this moment: redo before them does not belong to the part; it must neither wait nor generate
    /// redo. The caller keeps other processes from making the file smaller.
    ///
    /// The part is laid down under the enqueue TS of the file, and listed under the enqueue CF (R16). It joins a backup
    /// in progress.
    ///
    /// Waits: `enq: TS - contention`; as [`DataFiles::change_control`]. Latches: none on entry or return.
    ///
    /// # Errors
    /// ORA-01237 when the file cannot grow or no file number is left; those of [`DataFiles::change_control`].
    pub fn add_part(&self, p: &Process, head: u32, after: u32, created: &dyn Fn() -> (u64, Scn)) -> Result<()> {
        let first = self.control()?.file(head).cloned().ok_or_else(|| Ora::with(1157, &[&head]))?;
        self.alone_in(p, self.enqueues(), &[first], &mut || {
            while let Some((first, entry)) = self.lay_next(head, after)? {
                faults::point("part-made");
                if self.list_part(p, &first, entry, created)? {
                    break;
                }
            }
            Ok(())
        })?;
        faults::point("part-listed");
        self.repeat_control()
    }

    /// Lays down a part behind part `after`, unless that is no longer the last one. Returns the entries of the file and
    /// of the part, which has a free number.
    fn lay_next(&self, head: u32, after: u32) -> Result<Option<(FileEntry, FileEntry)>> {
        loop {
            let control = self.control()?;
            let first = control.file(head).ok_or_else(|| Ora::with(1157, &[&head]))?;
            if control.parts_of(head).last().map_or(0, |f| f.part) != after {
                return Ok(None);
            }
            let most = self.file_blocks_max(true);
            let entry = FileEntry {
                file: control.free_number(&[], true).ok_or_else(|| no_number(head, most))?,
                blocks: geometry::blocks_min(self.block_size()),
                blocks_max: 0,
                step: 0,
                part: after + 1,
                first: head,
                ..first.clone()
            };
            let file = self.open_for_part(&entry)?;
            // The name led to this file all the time between the two looks.
            if self.control()?.file(head) == Some(first) {
                faults::point("part-begun");
                self.lay_part_in(&file, &entry)?;
                return Ok(Some((first.clone(), entry)));
            }
        }
    }

    /// Lists a part that was laid down for the file of the entry `first`. False when the file has changed since, or the
    /// number of the part is taken.
    fn list_part(
        &self,
        p: &Process,
        first: &FileEntry,
        mut entry: FileEntry,
        created: &dyn Fn() -> (u64, Scn),
    ) -> Result<bool> {
        self.change_own_control(p, &mut |c| {
            let is_last = c.parts_of(first.file).last().is_some_and(|f| f.part + 1 == entry.part);
            if c.file(first.file) != Some(first) || !is_last || c.file(entry.file).is_some() {
                return Ok(false);
            }
            // An earlier part with the number may have come and gone since this one was laid down.
            let (rba, scn) = created();
            (entry.created_rba, entry.created_scn) = (rba.max(c.checkpoint.rba), scn);
            if let Some(b) = c.backups.iter().find(|b| b.file == first.file).copied() {
                c.backups.push(BackupEntry { file: entry.file, ..b });
            }
            c.files.push(entry.clone());
            Ok(true)
        })
    }

    /// Calls `f` while no other process adds parts to these files. A database without an instance has one process,
    /// which needs no lock.
    fn alone_in<R>(
        &self,
        p: &Process,
        enqueues: Option<&Enqueues>,
        heads: &[FileEntry],
        f: &mut dyn FnMut() -> Result<R>,
    ) -> Result<R> {
        let Some((first, rest)) = heads.split_first() else { return f() };
        let Some(all) = enqueues else { return f() };
        let (tablespace, file) = (first.tablespace.into(), Rdba::new(first.file, 0).0.into());
        let lock = all.get(p, EnqueueType::Ts, tablespace, file, LockMode::Exclusive, Timeout::Never)?;
        let done = self.alone_in(p, enqueues, rest, f);
        all.release(p, lock);
        done
    }

    /// Removes the last part of a bigfile from the control file, and the operating system's file ends where the part
    /// began. Nothing is in the part, the cache holds no buffer of it, and no redo that recovery may need changes it.
    /// The caller keeps other processes from adding a part. In ARCHIVELOG mode it is noted as dropped at `dropped_rba`.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-01237 when the system refuses to shorten the file: it is longer than
    /// needed.
    pub fn drop_part(&self, p: &Process, number: u32, dropped_rba: u64) -> Result<()> {
        let place = self.table.place(number);
        let file = self.file(place.head(number))?;
        let begin = self.begin_of(place.part());
        // The number is free once the part is unlisted, and its place with it. Another process gives the number to a
        // part of another file under the control file's enqueue.
        let enqueues = self.enqueues();
        self.change_control_then(p, enqueues, &mut |c| Ok(unlist(c, &[number], dropped_rba)), &mut |_| {
            faults::point("part-unlisted");
            self.table.forget(number);
            file.set_len(begin).map_err(|e| self.cannot_shrink(place.head(number), &e))
        })?;
        Ok(())
    }

    fn cannot_shrink(&self, number: u32, e: &os::OsError) -> Ora {
        Ora::with(1237, &[&self.shown_file(number)]).because(io_error(27059, "could not reduce file size", e))
    }

    fn remove(&self, files: &[FileEntry]) {
        for f in files {
            let _ = os::file::remove(&self.directory().join(&f.name));
        }
    }

    /// Removes files from the control file, and their tablespace with its last file. With `delete` the operating
    /// system's files are deleted too; a file that cannot be deleted is left. The cache holds no buffer of them. In
    /// ARCHIVELOG mode they are noted as dropped at `dropped_rba`, a redo address behind all their redo.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`].
    pub fn drop_files(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        numbers: &[u32],
        delete: bool,
        dropped_rba: u64,
    ) -> Result<()> {
        let mut unlist = |c: &mut ControlFile| Ok(unlist(c, numbers, dropped_rba));
        let control = self.control()?;
        let heads: Vec<FileEntry> = control.heads().filter(|f| numbers.contains(&f.file)).cloned().collect();
        let heads: Vec<FileEntry> = heads.into_iter().filter(|f| control.is_bigfile(f)).collect();
        // The file may be overwritten by another one from here on: no process may still lay down a part in it.
        let gone = self.alone_in(p, Some(enqueues), &heads, &mut || {
            self.change_control_then(p, Some(enqueues), &mut unlist, &mut |gone| {
                faults::point("file-unlisted");
                gone.iter().for_each(|f| self.table.forget(f.file));
                Ok(())
            })
        })?;
        if delete {
            self.remove(&gone);
            let _ = sync_directory(self.directory());
        }
        Ok(())
    }

    /// Changes the entry of a tablespace: its name or its state. [`DataFiles::close_tablespace`] takes it offline.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-00959 for an unknown tablespace; ORA-01113 when it comes online and
    /// a file lacks redo.
    pub fn change_tablespace(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        number: u32,
        f: &mut dyn FnMut(&mut TablespaceEntry),
    ) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let entry = c.tablespaces.iter_mut().find(|t| t.number == number);
            let entry = entry.ok_or_else(|| Ora::with(959, &[&number]))?;
            let before = (entry.is_offline, entry.is_read_only);
            f(entry);
            let after = (entry.is_offline, entry.is_read_only);
            let comes_online = before.0 && !after.0;
            if comes_online {
                self.require_redo(c, number)?;
            }
            if before != (false, false) && after == (false, false) {
                self.stamp_returning(c, number)?;
            }
            if comes_online {
                let ControlFile { offline, files, .. } = c;
                let is_mine = |f: &FileEntry| f.tablespace == number && !f.is_offline;
                offline.retain(|o| !files.iter().any(|f| f.file == o.file && is_mine(f)));
            }
            Ok(())
        })?;
        faults::point("tablespace-changed");
        self.repeat_control()
    }

    /// Changes the entry of a file: its growth. Of a bigfile, that of its first part.
    ///
    /// # Errors
    /// Those of [`DataFiles::change_control`]; ORA-01157 for an unknown file.
    pub fn change_file(
        &self,
        p: &Process,
        enqueues: &Enqueues,
        number: u32,
        f: &mut dyn FnMut(&mut FileEntry),
    ) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            let entry = c.files.iter_mut().find(|entry| entry.file == number);
            f(entry.ok_or_else(|| Ora::with(1157, &[&number]))?);
            Ok(())
        })?;
        self.repeat_control()
    }

    /// Notes that a file is going to have parts of these sizes: opening checks that a file has at least the size in the
    /// control file.
    ///
    /// # Errors
    /// As [`DataFiles::change_file`].
    pub fn note_sizes(&self, p: &Process, enqueues: &Enqueues, head: u32, sizes: &[u32]) -> Result<()> {
        self.change_control(p, enqueues, &mut |c| {
            for f in c.files.iter_mut().filter(|f| f.head() == head) {
                f.blocks = sizes.get(f.part as usize).map_or(f.blocks, |size| f.blocks.min(*size));
            }
            Ok(())
        })?;
        self.repeat_control()
    }

    /// The size of a file in blocks, with all its parts, according to the operating system.
    ///
    /// # Errors
    /// As [`DataFiles::blocks`].
    pub fn blocks_in_all(&self, control: &ControlFile, head: u32) -> Result<u64> {
        let parts = control.parts_of(head);
        let last = parts.last().ok_or_else(|| Ora::with(1157, &[&head]))?;
        Ok(u64::from(last.part) * u64::from(self.part_blocks()) + u64::from(self.blocks(last.file)?))
    }

    /// Changes the name of a file, in the entries of all its parts.
    ///
    /// # Errors
    /// As [`DataFiles::change_file`]; ORA-02236 as of [`require_name`].
    pub fn rename_file(&self, p: &Process, enqueues: &Enqueues, head: u32, name: &str) -> Result<()> {
        require_name(name)?;
        self.change_control(p, enqueues, &mut |c| {
            if c.file(head).is_none() {
                return Err(Ora::with(1157, &[&head]));
            }
            c.files.iter_mut().filter(|f| f.head() == head).for_each(|f| name.clone_into(&mut f.name));
            Ok(())
        })?;
        self.repeat_control()
    }

    /// Creates a lost file with all its parts, empty, and lists it under the name `name`. If the control file cannot be
    /// changed, there is no file: it would prevent the next try.
    ///
    /// # Errors
    /// As [`DataFiles::make_again`] and [`DataFiles::rename_file`].
    pub fn replace_lost(&self, p: &Process, enqueues: &Enqueues, head: u32, name: &str) -> Result<()> {
        let control = self.control()?;
        let former = control.file(head).ok_or_else(|| Ora::with(1157, &[&head]))?;
        self.make_again(&control.parts_of(head), name)?;
        faults::point("file-made-again");
        if former.name == name {
            return Ok(());
        }
        self.rename_file(p, enqueues, head, name).inspect_err(|_| {
            // The error may have come when the name was in the control file already.
            if self.control().is_ok_and(|c| c.file(head).is_none_or(|f| f.name == former.name)) {
                let _ = os::file::remove(&self.directory().join(name));
            }
        })
    }

    /// Prevents changes of blocks of a file until [`DataFiles::refresh`].
    pub fn fence_writes(&self, number: u32) {
        self.table.fence(number, false);
        faults::point("file-fenced");
    }

    /// As [`DataFiles::fence_writes`]; also prevents reads of its blocks into the cache.
    pub fn fence_off(&self, number: u32) {
        self.table.fence(number, true);
        faults::point("file-fenced");
    }

    /// Checks that the files of a tablespace can be opened, before it comes online.
    ///
    /// # Errors
    /// ORA-01157, ORA-01122.
    pub fn check_files(&self, tablespace: u32) -> Result<()> {
        let control = self.control()?;
        control.files.iter().filter(|f| f.tablespace == tablespace).try_for_each(|f| self.open_file(f).map(drop))
    }

    /// Shortens a file, or the last part of a bigfile. The blocks beyond the new end are free and the cache holds no
    /// buffer of them.
    ///
    /// # Errors
    /// ORA-01157; ORA-01237 when the system refuses.
    pub fn shrink(&self, number: u32, blocks: u32) -> Result<()> {
        let file = self.file(number)?;
        let begin = self.begin_of(self.table.place(number).part());
        file.set_len(begin + u64::from(blocks) * self.block_size() as u64).map_err(|e| self.cannot_shrink(number, &e))
    }
}

/// Checks that a name can be in the control file, which has one line for each file.
///
/// # Errors
/// ORA-02236 for an empty name and for one with a control character.
pub fn require_name(name: &str) -> Result<()> {
    if name.is_empty() || name.contains(char::is_control) { Err(Ora::new(2236)) } else { Ok(()) }
}

/// ORA-01237 for a bigfile that cannot get a further part.
fn no_number(head: u32, most: u64) -> Ora {
    let text = format!("all file numbers are in use: data files have room for {most} blocks in all");
    Ora::with(1237, &[&head]).because(Ora::from_text(Facility::Lwk, 64, text))
}

fn no_size() -> Ora {
    Ora::from_text(Facility::Ora, 17610, "file does not exist and no size specified")
}
