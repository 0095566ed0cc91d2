//! Tablespaces and their files: CREATE, ALTER and DROP TABLESPACE, ALTER DATABASE of files.
//!
//! The dictionary has the list of tablespaces, the control file has their files and states. A new tablespace is
//! inserted into the control file before the dictionary's commit, and a dropped one removed after it, so a statement
//! that dies leaves at most a tablespace that the dictionary does not have (L10). [`forget_strangers`] removes it from
//! the control file when the database is opened, in SMON's rounds, or when the next tablespace is created.

use crate::files::{change, drop_files, files, require_unused};
use crate::host::Host;
use crate::work::{Work, by};
use datafile::{
    CheckpointEntry, Contents, ControlFile, DataFiles, FileEntry, NewFile, TablespaceEntry, part_blocks_min, part_sizes,
};
use dictionary::base::{Base, props, ts, tsq, user};
use dictionary::rows::{as_i64, as_text, as_u32, int, text};
use dictionary::*;
use sql::ast::*;
use std::path::Path;
use types::{ObjectId, Ora, Rdba, Result, Scn};

/// Bytes by which a file grows by default.
const STEP_BYTES: u64 = 1 << 20;

fn require(work: &Work<'_>, privileges: &[SystemPrivilege], pos: Pos) -> Result<()> {
    if privileges.iter().any(|p| work.names.has(*p)) { Ok(()) } else { Err(Ora::new(1031).at(pos.0)) }
}

/// The tablespace with that name. ORA-00959.
fn existing(work: &mut Work<'_>, name: &Ident) -> Result<TablespaceEntry> {
    let missing = || Ora::with(959, &[&name.name]).at(name.pos.0);
    let number = work.image.tablespace_named(&name.name).ok_or_else(missing)?;
    work.control()?.tablespace(number).cloned().ok_or_else(missing)
}

pub fn create(work: &mut Work<'_>, create: &CreateTablespace) -> Result<()> {
    let CreateTablespace {
        name: _,
        contents: _,
        bigfile,
        files,
        uniform: _,
        nologging,
        offline,
        block_size: _,
        retention,
        not_for_undo: _,
        pos: _,
    } = create;
    require(work, &[SystemPrivilege::CreateTablespace], create.pos)?;
    let name = &create.name;
    if work.image.tablespace_named(&name.name).is_some() {
        return Err(Ora::with(1543, &[&name.name]).at(name.pos.0));
    }
    crate::undo_tablespace::check_clauses(create)?;
    forget_strangers(work)?;
    let control = work.control()?;
    let block_size = control.block_size as u64;
    if let Some((_, pos)) = create.block_size.filter(|(size, _)| *size != block_size) {
        return Err(Ora::with(29339, &[&(create.block_size.map_or(0, |b| b.0))]).at(pos.0));
    }
    if files.is_empty() {
        return Err(Ora::new(2199).at(name.pos.0));
    }
    // A tablespace that does not say what it is has the default type; an undo or a temporary one, too.
    let is_bigfile = match bigfile {
        Some(said) => *said,
        None => work.property(DEFAULT_TYPE)? == BIGFILE,
    };
    if is_bigfile && files.len() > 1 {
        return Err(Ora::new(32774).at(files[1].pos.0));
    }
    let contents = match create.contents {
        TablespaceContents::Temporary => Contents::Temporary,
        TablespaceContents::Undo => Contents::Undo,
        TablespaceContents::Permanent => Contents::Permanent,
    };
    let entry = TablespaceEntry {
        number: next_number(&control, highest(work)?),
        name: name.name.clone(),
        extent_blocks: extent_blocks(create, contents, block_size)?,
        contents,
        is_offline: false,
        is_read_only: false,
        is_bigfile,
        is_nologging: *nologging,
        deletes_files: false,
        guarantees_retention: retention.is_some_and(|(on, _)| on),
    };
    let specs = file_specs(files, block_size, is_bigfile)?;
    add_files(work, &entry, &specs, files[0].pos)?;
    if contents == Contents::Undo {
        crate::undo_tablespace::make_segments(work, &entry).map_err(|e| e.at(name.pos.0))?;
    }
    let row = [int(entry.number), text(name.name.as_str()), int(contents as u32), int(block_size as i64), int(1)];
    work.change().insert(Base::Ts, &row)?;
    if *offline {
        take_offline(work, &entry)?;
    }
    Ok(())
}

/// A number that no tablespace has, nor a dropped one that is remembered.
fn next_number(control: &ControlFile, highest: u32) -> u32 {
    let all = control.tablespaces.iter().chain(&control.gone_tablespaces).map(|t| t.number);
    all.max().unwrap_or(0).max(highest) + 1
}

/// Blocks of every extent; 0 when extents grow with the segment.
fn extent_blocks(create: &CreateTablespace, contents: Contents, block_size: u64) -> Result<u32> {
    let uniform = match (create.uniform, contents) {
        (None, Contents::Temporary) => Some(None),
        (uniform, _) => uniform,
    };
    let Some(size) = uniform else { return Ok(0) };
    let blocks = size.unwrap_or(1 << 20).div_ceil(block_size);
    if blocks < u64::from(block::segment::UNIT_BLOCKS) {
        return Err(Ora::with(3249, &[&block::segment::UNIT_BLOCKS]).at(create.pos.0));
    }
    let most = block::segment::extent_blocks_max(block_size as usize);
    let blocks = u32::try_from(blocks).unwrap_or(u32::MAX).min(most);
    Ok(blocks.next_multiple_of(block::segment::UNIT_BLOCKS))
}

/// The highest number in the dictionary.
fn highest(work: &mut Work<'_>) -> Result<u32> {
    let rows = work.select(Base::Ts, &|_| true)?;
    Ok(rows.iter().map(|row| as_u32(&row[ts::TS])).max().unwrap_or(0))
}

fn file_specs(specs: &[FileSpec], block_size: u64, is_bigfile: bool) -> Result<Vec<NewFile>> {
    let new = |spec: &FileSpec| {
        // Oracle-managed files would need a directory, and none is given.
        let FileSpec { name, size, reuse, autoextend, pos } = spec;
        let name = name.clone().ok_or_else(|| Ora::new(2199).at(pos.0))?;
        if name.is_empty() || name.contains('\n') {
            return Err(Ora::new(2236).at(pos.0));
        }
        let (bytes_max, step_bytes) =
            growth(autoextend.unwrap_or(Autoextend::Off), block_size, is_bigfile).map_err(|e| e.at(pos.0))?;
        Ok(NewFile { name, bytes: *size, reuse: *reuse, bytes_max, step_bytes })
    };
    specs.iter().map(new).collect()
}

/// MAXSIZE UNLIMITED of a bigfile, in blocks: Oracle's figure. The file numbers that are left for its parts limit its
/// growth.
const BIGFILE_BLOCKS_MAX: u64 = 4_294_967_293;

/// The largest size of a file, and its growth step, in bytes.
///
/// # Errors
/// ORA-03206 for a maximum that a file of the tablespace cannot have.
fn growth(autoextend: Autoextend, block_size: u64, is_bigfile: bool) -> Result<(u64, u64)> {
    match autoextend {
        Autoextend::Off => Ok((0, 0)),
        Autoextend::On { next, max } => {
            let most = if is_bigfile { BIGFILE_BLOCKS_MAX } else { u64::from(Rdba::MAX_BLOCK) + 1 };
            let blocks = max.map_or(most, |max| max.div_ceil(block_size));
            if blocks > most {
                return Err(Ora::with(3206, &[&blocks]));
            }
            Ok((max.unwrap_or(most * block_size), next.unwrap_or(STEP_BYTES).max(block_size)))
        }
    }
}

fn add_files(work: &mut Work<'_>, tablespace: &TablespaceEntry, specs: &[NewFile], pos: Pos) -> Result<()> {
    let parts = work.host.parts();
    let txns = parts.storage.heap.transactions();
    // Old redo of a file with the same number is before the present end of the redo on disk.
    let created = (txns.cache().redo_on_disk(), txns.current_scn());
    let enqueues = parts.dict.shared().enqueues();
    let numbers = txns.cache().files().add_files(parts.p, enqueues, tablespace, specs, created);
    work.files_made.extend(numbers.map_err(|e| e.at(pos.0))?);
    Ok(())
}

/// Removes tablespaces from the control file that the dictionary does not have, because a statement died half-way;
/// returns their names. Deletes the files of a tablespace that was dropped with its files; others stay. The caller
/// holds the DD enqueue, or is alone.
fn forget_strangers(work: &mut Work<'_>) -> Result<Vec<String>> {
    let control = work.control()?;
    let rows = work.select(Base::Ts, &|_| true)?;
    let known = |number: u32| rows.iter().any(|row| as_u32(&row[ts::TS]) == number);
    let strange: Vec<TablespaceEntry> = control.tablespaces.iter().filter(|t| !known(t.number)).cloned().collect();
    if strange.is_empty() {
        return Ok(Vec::new());
    }
    {
        // The commit of the drop was another session's, and may not be on disk; it is once the blocks that it changed
        // are.
        let parts = work.host.parts();
        parts.storage.heap.transactions().cache().checkpoint(parts.p)?;
    }
    let mut removed = Vec::new();
    for of in strange {
        crate::undo_tablespace::refuse_current(work, &of)?;
        let numbers: Vec<u32> = control.files.iter().filter(|f| f.tablespace == of.number).map(|f| f.file).collect();
        if of.contents == Contents::Temporary && require_unused(work.host, &numbers).is_err() {
            // A session took space of it when the fences of the dead statement were gone. A later call removes it.
            files(&work.host.parts()).refresh()?;
            continue;
        }
        drop_files(work.host, &numbers, of.deletes_files)?;
        removed.push(of.name);
    }
    Ok(removed)
}

/// Completes statements that died between their changes of the dictionary and of the control file; returns the names of
/// removed tablespaces. `None`: another session is running DDL, or has died in it and is not cleaned up yet, so nothing
/// was checked.
///
/// # Errors
/// Those of the dictionary and of the control file.
pub fn finish_drops(host: &mut dyn Host) -> Result<Option<Vec<String>>> {
    Work::run_unlocked(host, &mut |work| {
        let alone = work.hold(enqueue::EnqueueType::Dd, 1, enqueue::LockMode::Exclusive)?;
        if alone { forget_strangers(work).map(Some) } else { Ok(None) }
    })
}

pub fn drop_tablespace(work: &mut Work<'_>, drop: &DropObject) -> Result<()> {
    require(work, &[SystemPrivilege::DropTablespace], drop.pos)?;
    let name = Ident { name: drop.name.last().to_owned(), pos: drop.name.pos };
    let entry = existing(work, &name)?;
    refuse_needed(work, &entry, &name)?;
    let (tables, indexes, clusters) = objects_in(work, entry.number)?;
    let is_empty = tables.is_empty() && indexes.is_empty() && clusters.is_empty();
    if !drop.including && !is_empty {
        return Err(Ora::new(1549).at(name.pos.0));
    }
    work.hold_tablespace(entry.number, enqueue::LockMode::Exclusive).map_err(|e| e.at(name.pos.0))?;
    if entry.contents == Contents::Undo {
        crate::undo_tablespace::note_sequence(work, &entry)?;
    }
    work.dropped_tablespace = Some(entry.number);
    for table in tables {
        // It may have been dropped with a table of its cluster.
        if work.image.object(table).is_some() {
            crate::drop::table(work, table, drop.cascade, name.pos.0)?;
        }
    }
    for cluster in clusters {
        crate::drop::cluster_with_tables(work, cluster)?;
    }
    for index in indexes {
        if let Some(index) = work.image.index(index)? {
            let table = work.existing_table(index.table)?;
            if crate::drop::enforces(&table, index.object) {
                return Err(Ora::new(2429).at(name.pos.0));
            }
            work.lock(index.table)?;
            work.touch(index.table);
            crate::index_rows::remove(work, &index)?;
        }
    }
    let mine = move |row: &[types::Value]| as_u32(&row[ts::TS]) == entry.number;
    work.change().delete(Base::Ts, &mine)?;
    work.change().delete(Base::Tsq, &move |row| as_u32(&row[tsq::TS]) == entry.number)?;
    let control = work.control()?;
    let numbers: Vec<u32> = control.files.iter().filter(|f| f.tablespace == entry.number).map(|f| f.file).collect();
    if entry.contents == Contents::Temporary {
        require_unused(work.host, &numbers).map_err(|e| e.at(name.pos.0))?;
    }
    // If the statement dies after its commit, its successor knows the fate of the files.
    change(work.host, &entry, &mut |t| t.deletes_files = drop.and_files)?;
    work.files_to_drop = Some((numbers, drop.and_files));
    Ok(())
}

fn refuse_needed(work: &mut Work<'_>, entry: &TablespaceEntry, name: &Ident) -> Result<()> {
    let at = |e: Ora| e.at(name.pos.0);
    if entry.number == datafile::tablespace::SYSTEM {
        return Err(at(Ora::new(1550)));
    }
    crate::undo_tablespace::refuse_in_use(work, entry).map_err(at)?;
    if work.property("DEFAULT_TEMP_TABLESPACE")? == name.name {
        return Err(at(Ora::new(12906)));
    }
    if work.property("DEFAULT_PERMANENT_TABLESPACE")? == name.name {
        return Err(at(Ora::new(12919)));
    }
    Ok(())
}

/// Tables, indexes of tables elsewhere, and clusters with their segment in the tablespace.
fn objects_in(work: &mut Work<'_>, tablespace: u32) -> Result<(Vec<ObjectId>, Vec<ObjectId>, Vec<ObjectId>)> {
    use dictionary::base::{clu, ind, indpart, tab, tabpart};
    use dictionary::image::property::{IND_LOCAL, TAB_PARTITIONED};
    let here = |column: usize| move |row: &[types::Value]| !row[column].is_null() && as_u32(&row[column]) == tablespace;
    let object = |rows: Vec<dictionary::rows::Row>, column: usize| -> Vec<ObjectId> {
        rows.iter().map(|row| ObjectId(as_u32(&row[column]))).collect()
    };
    let has = |row: &[types::Value], column: usize, bit: i64| as_i64(&row[column]).unwrap_or(0) & bit != 0;
    let plain = |row: &[types::Value]| here(tab::TS)(row) && !has(row, tab::PROPERTY, TAB_PARTITIONED);
    let mut tables = object(work.select(Base::Tab, &plain)?, tab::OBJ);
    // A partitioned table is in the tablespace if all of its partitions are.
    let mut partitioned = object(work.select(Base::Tabpart, &here(tabpart::TS))?, tabpart::BO);
    partitioned.sort_unstable();
    partitioned.dedup();
    for table in partitioned {
        let all = work.select_by(Base::Tabpart, by(tabpart::BO, table))?;
        if !all.iter().all(|row| here(tabpart::TS)(row)) {
            return Err(Ora::new(14404));
        }
        tables.push(table);
    }
    let clusters = object(work.select(Base::Clu, &here(clu::TS))?, clu::OBJ);
    let plain = |row: &[types::Value]| here(ind::TS)(row) && !has(row, ind::PROPERTY, IND_LOCAL);
    let indexes = work.select(Base::Ind, &plain)?;
    let elsewhere = indexes.into_iter().filter(|row| !tables.contains(&ObjectId(as_u32(&row[ind::BO])))).collect();
    let mut indexes = object(elsewhere, ind::OBJ);
    let mut local = object(work.select(Base::Indpart, &here(indpart::TS))?, indpart::BO);
    local.sort_unstable();
    local.dedup();
    for index in local {
        let of = work.select_by(Base::Ind, by(ind::OBJ, index))?;
        if of.iter().any(|row| tables.contains(&ObjectId(as_u32(&row[ind::BO])))) {
            continue;
        }
        let all = work.select_by(Base::Indpart, by(indpart::BO, index))?;
        if !all.iter().all(|row| here(indpart::TS)(row)) {
            return Err(Ora::new(14405));
        }
        indexes.push(index);
    }
    Ok((tables, indexes, clusters))
}

pub fn alter(work: &mut Work<'_>, alter: &AlterTablespace) -> Result<()> {
    let AlterTablespace { name, action, pos } = alter;
    use TablespaceAction as A;
    require(work, &[SystemPrivilege::AlterTablespace], *pos)?;
    let entry = existing(work, name)?;
    let at = name.pos;
    match action {
        A::AddFiles { temp, files } => add_to(work, &entry, *temp, files),
        A::DropFile { temp, file } => drop_file(work, &entry, *temp, file),
        A::Rename(to) => rename(work, &entry, to),
        A::Offline => take_offline(work, &entry).map_err(|e| e.at(at.0)),
        A::Online => bring_online(work, &entry).map_err(|e| e.at(at.0)),
        A::ReadOnly => make_read_only(work, &entry).map_err(|e| e.at(at.0)),
        A::ReadWrite if !entry.is_read_only => Err(Ora::with(1646, &[&entry.name]).at(at.0)),
        A::ReadWrite => change(work.host, &entry, &mut |t| t.is_read_only = false),
        // The parser makes them statements of the instance.
        A::BeginBackup | A::EndBackup => Err(Ora::unsupported().at(pos.0)),
        A::Resize(bytes) => {
            let file = one_file(work, &entry, at)?;
            resize(work, file, *bytes)
        }
        A::Autoextend(to) => {
            let file = one_file(work, &entry, at)?;
            set_growth(work, file.file, *to)
        }
        A::Logging(_) if entry.contents == Contents::Undo => Err(Ora::new(30021).at(at.0)),
        A::Logging(on) => change(work.host, &entry, &mut |t| t.is_nologging = !on),
        A::Retention(on) => crate::undo_tablespace::set_retention(work, &entry, *on).map_err(|e| e.at(at.0)),
        A::Nothing => Ok(()),
    }
}

fn add_to(work: &mut Work<'_>, entry: &TablespaceEntry, temp: bool, specs: &[FileSpec]) -> Result<()> {
    let pos = specs.first().map_or(Pos(0), |s| s.pos);
    if temp != (entry.contents == Contents::Temporary) {
        return Err(Ora::new(if temp { 10615 } else { 3217 }).at(pos.0));
    }
    if entry.is_bigfile {
        return Err(Ora::new(32771).at(pos.0));
    }
    let block_size = work.control()?.block_size as u64;
    add_files(work, entry, &file_specs(specs, block_size, false)?, pos)
}

/// The control file's entry of a file. ORA-01516.
fn find_file(work: &mut Work<'_>, file: &FileRef, temp: bool) -> Result<FileEntry> {
    let control = work.control()?;
    let parts = work.host.parts();
    let directory = files(&parts).directory().to_owned();
    let is_temp = |f: &FileEntry| control.tablespace(f.tablespace).is_some_and(|t| t.contents == Contents::Temporary);
    let found = file_meant(&control, &directory, file).filter(|f| is_temp(f) == temp).cloned();
    found.ok_or_else(|| Ora::with(1516, &[&shown(file)]).at(file.pos().0))
}

/// The file that a statement names, by number or by name in or outside the database's `directory`. A later part of a
/// bigfile has no number for users.
pub fn file_meant<'c>(control: &'c ControlFile, directory: &Path, file: &FileRef) -> Option<&'c FileEntry> {
    match file {
        FileRef::Number(n, _) => control.heads().find(|f| u64::from(f.file) == *n),
        FileRef::Name(name, _) => control.heads().find(|f| directory.join(&f.name) == directory.join(name)),
    }
}

/// The file reference as written in the statement.
pub fn shown(file: &FileRef) -> String {
    match file {
        FileRef::Number(n, _) => n.to_string(),
        FileRef::Name(name, _) => name.clone(),
    }
}

fn drop_file(work: &mut Work<'_>, entry: &TablespaceEntry, temp: bool, file: &FileRef) -> Result<()> {
    let found = find_file(work, file, temp)?;
    let pos = file.pos().0;
    let control = work.control()?;
    let mine: Vec<&FileEntry> = control.heads().filter(|f| f.tablespace == entry.number).collect();
    if found.tablespace != entry.number {
        return Err(Ora::with(1516, &[&found.name]).at(pos));
    }
    match mine.as_slice() {
        [_] => return Err(Ora::with(3261, &[&entry.name]).at(pos)),
        [first, ..] if first.file == found.file => return Err(Ora::with(3263, &[&entry.name]).at(pos)),
        _ if found.is_offline => return Err(Ora::new(3264).at(pos)),
        _ => {}
    }
    require_empty(work, &found, temp).map_err(|e| e.at(pos))?;
    // After the commit, as with a tablespace: nothing needs the file any more.
    work.files_to_drop = Some((vec![found.file], true));
    Ok(())
}

fn require_empty(work: &mut Work<'_>, file: &FileEntry, temp: bool) -> Result<()> {
    if temp {
        return require_unused(work.host, &[file.file]);
    }
    let parts = work.host.parts();
    let cache = parts.storage.heap.transactions().cache();
    // From here on no space of it is given out; the state is restored if the statement fails.
    cache.files().fence_writes(file.file);
    let (free, all) = parts.storage.heap.transactions().space().file_space(parts.p, file.file)?;
    let first = u64::from(DataFiles::first_data_block_of(cache.block_size())) * cache.block_size() as u64;
    let unit = u64::from(block::segment::UNIT_BLOCKS) * cache.block_size() as u64;
    if all - first - free >= unit { Err(Ora::new(3262)) } else { Ok(()) }
}

fn rename(work: &mut Work<'_>, entry: &TablespaceEntry, to: &Ident) -> Result<()> {
    if work.image.tablespace_named(&to.name).is_some() {
        return Err(Ora::with(1543, &[&to.name]).at(to.pos.0));
    }
    // The parameter file may name the current undo tablespace.
    let is_named = entry.contents == Contents::Undo && crate::undo_tablespace::is_current(work, entry);
    if entry.number == datafile::tablespace::SYSTEM || is_named {
        return Err(Ora::unsupported().at(to.pos.0));
    }
    let number = entry.number;
    work.change().update(Base::Ts, &move |row| as_u32(&row[ts::TS]) == number, &mut |row| {
        row[ts::NAME] = text(to.name.as_str());
    })?;
    let old = entry.name.clone();
    work.change().update(
        Base::Props,
        &|row| {
            let defaults = ["DEFAULT_TEMP_TABLESPACE", "DEFAULT_PERMANENT_TABLESPACE"];
            defaults.contains(&as_text(&row[props::NAME])) && as_text(&row[props::VALUE]) == old
        },
        &mut |row| row[props::VALUE] = text(to.name.as_str()),
    )?;
    change(work.host, entry, &mut |t| t.name = to.name.clone())
}

/// Waits until no transaction has changes in the tablespace that it could still roll back, blocks further changes, and
/// writes the dirty buffers.
/// Returns the checkpoint behind them.
fn quiesce(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<CheckpointEntry> {
    let (mut objects, indexes, clusters) = objects_in(work, entry.number)?;
    for index in indexes {
        objects.extend(work.image.index(index)?.map(|index| index.table));
    }
    for cluster in clusters {
        objects.extend(work.image.cluster(cluster)?.map(|c| c.tables.clone()).unwrap_or_default());
    }
    for object in objects {
        work.lock_shared(object)?;
    }
    work.hold_tablespace(entry.number, enqueue::LockMode::Exclusive)?;
    let control = work.control()?;
    if let Some(f) = control.files.iter().find(|f| f.tablespace == entry.number && f.is_offline) {
        let named = files(&work.host.parts()).named(f);
        return Err(Ora::with(1191, &[&f.head()]).because(named));
    }
    let parts = work.host.parts();
    let cache = parts.storage.heap.transactions().cache();
    for file in control.files.iter().filter(|f| f.tablespace == entry.number) {
        cache.files().fence_writes(file.file);
    }
    let rba = cache.checkpoint(parts.p)?.rba.0;
    let time_s = (os::clock::wall_ns() / 1_000_000_000) as u32;
    Ok(CheckpointEntry { rba, scn: parts.storage.heap.transactions().current_scn(), time_s })
}

/// Takes a quiet tablespace offline or makes it read-only.
///
/// # Errors
/// ORA-01150 for a tablespace in backup mode; ORA-01191; those of [`DataFiles::close_tablespace`].
fn close(work: &mut Work<'_>, entry: &TablespaceEntry, f: &mut dyn FnMut(&mut TablespaceEntry)) -> Result<()> {
    let control = work.control()?;
    files(&work.host.parts()).require_no_backup(&control, entry.number)?;
    let at = quiesce(work, entry)?;
    let parts = work.host.parts();
    files(&parts).close_tablespace(parts.p, parts.dict.shared().enqueues(), entry.number, at, f)
}

/// Lifts the fences: the files again have the state of the control file.
fn unfence(work: &mut Work<'_>, done: Result<()>) -> Result<()> {
    let lifted = files(&work.host.parts()).refresh();
    done.and(lifted)
}

fn make_read_only(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    if entry.is_read_only {
        return Err(Ora::with(1644, &[&entry.name]));
    }
    if entry.number == datafile::tablespace::SYSTEM {
        return Err(Ora::from_text(types::Facility::Ora, 1643, "system tablespace can not be made read-only"));
    }
    if entry.contents != Contents::Permanent {
        return Err(Ora::new(if entry.contents == Contents::Temporary { 3217 } else { 30021 }));
    }
    if entry.is_offline {
        return Err(Ora::with(1539, &[&entry.name]));
    }
    let done = close(work, entry, &mut |t| t.is_read_only = true);
    unfence(work, done)
}

fn take_offline(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    if entry.number == datafile::tablespace::SYSTEM {
        return Err(Ora::new(1541));
    }
    if entry.contents != Contents::Permanent {
        return Err(Ora::new(if entry.contents == Contents::Temporary { 3217 } else { 30042 }));
    }
    if entry.is_offline {
        return Err(Ora::with(1539, &[&entry.name]));
    }
    let done = close(work, entry, &mut |t| t.is_offline = true).and_then(|()| {
        let numbers: Vec<u32> =
            work.control()?.files.iter().filter(|f| f.tablespace == entry.number).map(|f| f.file).collect();
        let parts = work.host.parts();
        parts.storage.heap.transactions().cache().discard(parts.p, &|at: Rdba| numbers.contains(&at.file()))
    });
    unfence(work, done)
}

fn bring_online(work: &mut Work<'_>, entry: &TablespaceEntry) -> Result<()> {
    if !entry.is_offline {
        return Err(Ora::with(1540, &[&entry.name]));
    }
    files(&work.host.parts()).check_files(entry.number)?;
    change(work.host, entry, &mut |t| t.is_offline = false)
}

/// The single file of a bigfile tablespace. ORA-32773.
fn one_file(work: &mut Work<'_>, entry: &TablespaceEntry, pos: Pos) -> Result<FileEntry> {
    if !entry.is_bigfile {
        return Err(Ora::with(32773, &[&entry.name]).at(pos.0));
    }
    let control = work.control()?;
    let found = control.heads().find(|f| f.tablespace == entry.number).cloned();
    found.ok_or_else(|| Ora::internal("a tablespace without a file"))
}

pub fn alter_files(work: &mut Work<'_>, alter: &AlterFiles) -> Result<()> {
    let AlterFiles { temp, files, action, pos } = alter;
    require(work, &[SystemPrivilege::AlterDatabase], *pos)?;
    for (at, file) in files.iter().enumerate() {
        let found = find_file(work, file, *temp)?;
        let done = match action {
            FileAction::Resize(bytes) => resize(work, found, *bytes),
            FileAction::Autoextend(to) => set_growth(work, found.file, *to),
            FileAction::Offline { drop } => crate::datafile_state::take_offline(work, &found, *drop),
            FileAction::Online => crate::datafile_state::bring_online(work, &found),
            FileAction::Recreate { names } => crate::datafile_state::recreate(work, &found, names.get(at)),
            FileAction::Rename { names } => crate::datafile_state::rename(work, &found, &names[at]),
            FileAction::Drop { .. } => {
                let of = work.control()?.tablespace(found.tablespace).cloned();
                let of = of.ok_or_else(|| Ora::internal("a file without a tablespace"))?;
                drop_file(work, &of, true, file)
            }
        };
        done.map_err(|e| e.at(file.pos().0))?;
    }
    Ok(())
}

fn set_growth(work: &mut Work<'_>, number: u32, to: Autoextend) -> Result<()> {
    let control = work.control()?;
    let block_size = control.block_size as u64;
    let is_bigfile = control.file(number).is_some_and(|f| control.is_bigfile(f));
    let (max, step) = growth(to, block_size, is_bigfile)?;
    let blocks = |bytes: u64| u32::try_from(bytes.div_ceil(block_size)).unwrap_or(u32::MAX);
    let parts = work.host.parts();
    let cache = parts.storage.heap.transactions().cache();
    let now = cache.files().blocks_in_all(&control, number)?;
    if max > 0 && u64::from(blocks(max)) < now {
        return Err(Ora::with(3206, &[&blocks(max)]));
    }
    cache.files().change_file(parts.p, parts.dict.shared().enqueues(), number, &mut |f| {
        f.blocks_max = blocks(max);
        f.step = blocks(step);
    })
}

fn resize(work: &mut Work<'_>, file: FileEntry, bytes: u64) -> Result<()> {
    let control = work.control()?;
    let temp = control.tablespace(file.tablespace).is_some_and(|t| t.contents == Contents::Temporary);
    let block_size = control.block_size as u64;
    let blocks = bytes.div_ceil(block_size);
    let parts = work.host.parts();
    let (cache, enqueues) = (parts.storage.heap.transactions().cache(), parts.dict.shared().enqueues());
    let files = cache.files();
    let most = files.file_blocks_max(control.is_bigfile(&file));
    if blocks > most {
        return Err(Ora::with(1144, &[&blocks, &most]));
    }
    let sizes = part_sizes(blocks, files.blocks_most(file.file), part_blocks_min(control.block_size));
    files.note_sizes(parts.p, enqueues, file.file, &sizes)?;
    if temp {
        return parts.storage.heap.transactions().space().temp().resize(parts.p, file.file, blocks);
    }
    let txns = parts.storage.heap.transactions();
    txns.space().resize_file(parts.p, file.file, blocks, &|| -> Scn { txns.current_scn() })
}

/// The property with the type of tablespaces that are created without BIGFILE or SMALLFILE.
const DEFAULT_TYPE: &str = "DEFAULT_TBS_TYPE";
const BIGFILE: &str = "BIGFILE";

/// ALTER DATABASE SET DEFAULT BIGFILE or SMALLFILE TABLESPACE: the type of tablespaces to come.
pub fn set_default_type(work: &mut Work<'_>, to: DefaultTablespaceType) -> Result<()> {
    let DefaultTablespaceType { bigfile, pos } = to;
    require(work, &[SystemPrivilege::AlterDatabase], pos)?;
    let is_it = |row: &[types::Value]| as_text(&row[props::NAME]) == DEFAULT_TYPE;
    let value = if bigfile { BIGFILE } else { "SMALLFILE" };
    work.change().update(Base::Props, &is_it, &mut |row| row[props::VALUE] = text(value))?;
    Ok(())
}

pub fn set_default(work: &mut Work<'_>, to: &DefaultTablespace) -> Result<()> {
    let DefaultTablespace { temporary, name: _, pos } = to;
    require(work, &[SystemPrivilege::AlterDatabase], *pos)?;
    let entry = existing(work, &to.name)?;
    if *temporary != (entry.contents == Contents::Temporary) || entry.contents == Contents::Undo {
        return Err(Ora::new(if *temporary { 10615 } else { 12910 }).at(to.name.pos.0));
    }
    let name = if *temporary { "DEFAULT_TEMP_TABLESPACE" } else { "DEFAULT_PERMANENT_TABLESPACE" };
    let old = work.property(name)?;
    work.change().update(Base::Props, &|row| as_text(&row[props::NAME]) == name, &mut |row| {
        row[props::VALUE] = text(entry.name.as_str());
    })?;
    // Users whose default was the old one get the new one.
    let Some(old) = work.image.tablespace_named(&old) else { return Ok(()) };
    let column = if *temporary { user::TEMPTS } else { user::DATATS };
    work.change().update(
        Base::User,
        &move |row| !row[column].is_null() && as_u32(&row[column]) == old,
        &mut |row| {
            row[column] = int(entry.number);
        },
    )?;
    Ok(())
}
