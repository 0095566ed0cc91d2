//! Tablespaces, files, segments and extents: `v$tablespace`, `v$datafile`, `v$tempfile`, and the `x$` tables under the
//! catalog views `dba_tablespaces`, `dba_data_files`, `dba_free_space`, `dba_segments` and `dba_extents`.

use datafile::{Contents, ControlFile, FileEntry, TablespaceEntry};
use dictionary::base::{Base, clu, ind, indpart, tab, tabpart};
use dictionary::image::property;
use dictionary::rows::as_u32;
use types::{ObjectId, Rdba, Result, Value};

use crate::column::{Row, Type, Type::*, address, date_of_seconds, n, t, yes};
use crate::source::Source;

pub const TABLESPACE: &[(&str, Type)] = &[
    ("TS#", N),
    ("NAME", V(30)),
    ("INCLUDED_IN_DATABASE_BACKUP", V(3)),
    ("BIGFILE", V(3)),
    ("FLASHBACK_ON", V(3)),
    ("ENCRYPT_IN_BACKUP", V(3)),
    ("CON_ID", N),
];

pub const DATAFILE: &[(&str, Type)] = &[
    ("FILE#", N),
    ("CREATION_CHANGE#", N),
    ("TS#", N),
    ("RFILE#", N),
    ("STATUS", V(7)),
    ("ENABLED", V(10)),
    ("CHECKPOINT_CHANGE#", N),
    ("CHECKPOINT_TIME", D),
    ("LAST_CHANGE#", N),
    ("LAST_TIME", D),
    ("BYTES", N),
    ("BLOCKS", N),
    ("CREATE_BYTES", N),
    ("BLOCK_SIZE", N),
    ("NAME", V(513)),
    ("CON_ID", N),
];

/// The tablespaces of the control file.
pub const KCCTS: &[(&str, Type)] = &[
    ("TS#", N),
    ("NAME", V(30)),
    ("EXTENT_BLOCKS", N),
    ("CONTENTS", V(9)),
    ("STATUS", V(9)),
    ("BIGFILE", V(3)),
    ("LOGGING", V(9)),
    ("BLOCK_SIZE", N),
    ("RETENTION", V(11)),
];

/// The files of the control file, with their present sizes.
pub const KCCFE: &[(&str, Type)] = &[
    ("FILE#", N),
    ("TS#", N),
    ("TABLESPACE_NAME", V(30)),
    ("CONTENTS", V(9)),
    ("NAME", V(513)),
    ("BLOCKS", N),
    ("BYTES", N),
    ("AUTOEXTENSIBLE", V(3)),
    ("MAXBLOCKS", N),
    ("MAXBYTES", N),
    ("INCREMENT_BY", N),
    ("USER_BLOCKS", N),
    ("USER_BYTES", N),
    ("ONLINE_STATUS", V(7)),
    ("RFILE#", N),
];

/// Runs of free blocks.
pub const KTFBFE: &[(&str, Type)] =
    &[("TS#", N), ("TABLESPACE_NAME", V(30)), ("FILE#", N), ("BLOCK#", N), ("BLOCKS", N), ("BYTES", N), ("RFILE#", N)];

/// Segments with the contents of their headers. OBJ# is 0 and NAME is set for undo segments.
pub const KTSEG: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("DATAOBJ#", N),
    ("TS#", N),
    ("FILE#", N),
    ("BLOCK#", N),
    ("NAME", V(30)),
    ("BLOCKS", N),
    ("BYTES", N),
    ("EXTENTS", N),
    ("RFILE#", N),
];

/// Extents of segments.
pub const KTEXT: &[(&str, Type)] = &[
    ("OBJ#", N),
    ("TS#", N),
    ("NAME", V(30)),
    ("EXTENT_ID", N),
    ("FILE#", N),
    ("BLOCK#", N),
    ("BLOCKS", N),
    ("BYTES", N),
    ("RFILE#", N),
];

pub(crate) fn control(s: &Source<'_>) -> Result<ControlFile> {
    s.shared.txns.cache().files().control()
}

fn contents(c: Contents) -> &'static str {
    match c {
        Contents::Permanent => "PERMANENT",
        Contents::Temporary => "TEMPORARY",
        Contents::Undo => "UNDO",
    }
}

fn status(entry: &TablespaceEntry) -> &'static str {
    match (entry.is_offline, entry.is_read_only) {
        (true, _) => "OFFLINE",
        (_, true) => "READ ONLY",
        _ => "ONLINE",
    }
}

pub fn tablespace(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let row = |e: &TablespaceEntry| {
        vec![n(e.number), t(&e.name), yes(true), yes(e.is_bigfile), yes(false), Value::Null, n(0u64)]
    };
    Ok(control.tablespaces.iter().map(row).collect())
}

pub fn kccts(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let row = |e: &TablespaceEntry| {
        vec![
            n(e.number),
            t(&e.name),
            n(e.extent_blocks),
            t(contents(e.contents)),
            t(status(e)),
            yes(e.is_bigfile),
            t(if e.is_nologging { "NOLOGGING" } else { "LOGGING" }),
            n(control.block_size as u64),
            t(match e.contents {
                Contents::Undo if e.guarantees_retention => "GUARANTEE",
                Contents::Undo => "NOGUARANTEE",
                _ => "NOT APPLY",
            }),
        ]
    };
    Ok(control.tablespaces.iter().map(row).collect())
}

/// The relative file number of the file of a bigfile tablespace.
pub(crate) const BIGFILE_RELATIVE: u32 = 1024;

/// The relative file number of a file.
fn relative(tablespace: Option<&TablespaceEntry>, file: u32) -> Value {
    n(if tablespace.is_some_and(|t| t.is_bigfile) { BIGFILE_RELATIVE } else { file })
}

/// The relative file number of a file of a tablespace.
pub(crate) fn relative_in(control: Option<&ControlFile>, tablespace: u32, file: u32) -> Value {
    relative(control.and_then(|c| c.tablespace(tablespace)), file)
}

/// The number of a file and the block in it as users see them.
pub(crate) fn shown(s: &Source<'_>, at: Rdba) -> (u32, u32) {
    s.shared.txns.cache().files().shown(at)
}

/// A file with its tablespace and its present size in blocks, of all its parts; the size is `None` when the file is
/// offline.
struct OpenFile<'c> {
    file: &'c FileEntry,
    tablespace: &'c TablespaceEntry,
    parts: Vec<&'c FileEntry>,
    blocks: Option<u64>,
}

fn files<'c>(s: &Source<'_>, control: &'c ControlFile) -> Vec<OpenFile<'c>> {
    let cache = s.shared.txns.cache();
    let mut list: Vec<OpenFile<'c>> = Vec::new();
    for file in control.heads() {
        let Some(tablespace) = control.tablespace(file.tablespace) else { continue };
        let parts = control.parts_of(file.file);
        let last = *parts.last().unwrap_or(&file);
        let in_last = match tablespace.contents {
            _ if tablespace.is_offline || file.is_offline => None,
            Contents::Temporary => cache.files().blocks(last.file).ok(),
            _ => s.shared.txns.space().file_blocks(s.p, last.file).ok(),
        };
        let before = u64::from(last.part) * u64::from(control.part_blocks.0);
        let blocks = in_last.map(|blocks| before + u64::from(blocks));
        list.push(OpenFile { file, tablespace, parts, blocks });
    }
    list.sort_unstable_by_key(|f| f.file.file);
    list
}

fn full_name(s: &Source<'_>, file: &FileEntry) -> Value {
    t(s.shared.txns.cache().files().directory().join(&file.name).display().to_string())
}

/// The state of a file, and whether it needs media recovery.
pub(crate) fn online_status(
    s: &Source<'_>,
    control: &ControlFile,
    file: &FileEntry,
    tablespace: &TablespaceEntry,
) -> &'static str {
    let files = s.shared.txns.cache().files();
    match () {
        () if tablespace.number == datafile::tablespace::SYSTEM => "SYSTEM",
        () if file.is_offline && files.is_complete(control, file).is_ok_and(|complete| complete) => "OFFLINE",
        () if file.is_offline => "RECOVER",
        () if tablespace.is_offline && files.lacks_redo(control, file).is_ok_and(|lacks| lacks) => "RECOVER",
        () if tablespace.is_offline => "OFFLINE",
        () if files.is_away(file.file) => "RECOVER",
        () => "ONLINE",
    }
}

fn v_file(s: &Source<'_>, temporary: bool) -> Result<Vec<Row>> {
    let control = control(s)?;
    let size = control.block_size as u64;
    let row = |f: &OpenFile<'_>| {
        // A file that does not get the checkpoints of the database has its own in its header.
        let own = if control.is_stamped(f.file) {
            None
        } else {
            s.shared.txns.cache().files().closed_checkpoint(f.file).ok()
        };
        let at = own.map_or((control.checkpoint.scn.0, control.checkpoint.time_s), |own| (own.scn, own.time_s));
        let stop = control.stop_of(f.file.file);
        let enabled = if f.tablespace.is_read_only { "READ ONLY" } else { "READ WRITE" };
        let blocks = f.blocks.map_or(Value::Null, n);
        let bytes = f.blocks.map_or(Value::Null, |b| n(b * size));
        let created: u64 = f.parts.iter().map(|part| u64::from(part.blocks)).sum();
        vec![
            n(f.file.file),
            n(f.file.created_scn.0),
            n(f.file.tablespace),
            relative(Some(f.tablespace), f.file.file),
            t(online_status(s, &control, f.file, f.tablespace)),
            t(if f.blocks.is_none() { "DISABLED" } else { enabled }),
            if temporary { Value::Null } else { n(at.0) },
            if temporary { Value::Null } else { date_of_seconds(at.1.into()) },
            stop.map_or(Value::Null, |stop| n(stop.scn.0)),
            stop.map_or(Value::Null, |stop| date_of_seconds(stop.time_s.into())),
            bytes,
            blocks,
            n(created * size),
            n(size),
            full_name(s, f.file),
            n(0u64),
        ]
    };
    let all = files(s, &control);
    Ok(all.iter().filter(|f| (f.tablespace.contents == Contents::Temporary) == temporary).map(row).collect())
}

pub fn datafile(s: &Source<'_>) -> Result<Vec<Row>> {
    v_file(s, false)
}

pub fn tempfile(s: &Source<'_>) -> Result<Vec<Row>> {
    v_file(s, true)
}

pub fn kccfe(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let size = control.block_size as u64;
    let first = datafile::DataFiles::first_data_block_of(control.block_size);
    let row = |f: &OpenFile<'_>| {
        let grows = f.file.blocks_max > 0;
        let max = f.file.blocks_max;
        let in_bytes = |blocks: Option<u64>| blocks.map_or(Value::Null, |b| n(b * size));
        // Each part has a header and bitmaps of its own.
        let unit = u64::from(block::segment::UNIT_BLOCKS);
        let usable = |blocks: u64| blocks.saturating_sub(u64::from(first)) / unit * unit;
        let whole = f.parts.len().saturating_sub(1) as u64;
        let part_blocks = u64::from(control.part_blocks.0);
        let for_users = f.blocks.map(|b| whole * usable(part_blocks) + usable(b - whole * part_blocks));
        vec![
            n(f.file.file),
            n(f.file.tablespace),
            t(&f.tablespace.name),
            t(contents(f.tablespace.contents)),
            full_name(s, f.file),
            f.blocks.map_or(Value::Null, n),
            in_bytes(f.blocks),
            yes(grows),
            n(max),
            in_bytes(Some(max.into())),
            n(if grows { f.file.step } else { 0 }),
            for_users.map_or(Value::Null, n),
            in_bytes(for_users),
            t(online_status(s, &control, f.file, f.tablespace)),
            relative(Some(f.tablespace), f.file.file),
        ]
    };
    Ok(files(s, &control).iter().map(row).collect())
}

pub fn ktfbfe(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = s.shared.txns.cache().files().control()?;
    let size = control.block_size as u64;
    let mut rows = Vec::new();
    for f in files(s, &control) {
        if f.blocks.is_none() || f.tablespace.contents == Contents::Temporary {
            continue;
        }
        for part in &f.parts {
            let Some(runs) = present(s.shared.txns.space().free_runs(s.p, part.file))? else { continue };
            rows.extend(runs.iter().map(|run| {
                let (file, block) = shown(s, run.start);
                vec![
                    n(f.file.tablespace),
                    t(&f.tablespace.name),
                    n(file),
                    n(block),
                    n(run.blocks),
                    n(u64::from(run.blocks) * size),
                    relative(Some(f.tablespace), file),
                ]
            }));
        }
    }
    Ok(rows)
}

/// A segment of the dictionary or of the transaction system.
pub(crate) struct Known {
    pub object: u32,
    pub tablespace: u32,
    pub header: Rdba,
    name: Option<String>,
}

pub(crate) fn known(s: &Source<'_>) -> Result<Vec<Known>> {
    let dictionary = s.instance.storage().dictionary;
    let mut list: Vec<Known> = Vec::new();
    for base in Base::ALL {
        let header = dictionary.base_heap(*base).header;
        list.push(Known { object: base.table().object.0, tablespace: 0, header, name: None });
    }
    let tables = [
        (Base::Tab, tab::OBJ, tab::TS, tab::FILE, tab::BLOCK),
        (Base::Ind, ind::OBJ, ind::TS, ind::FILE, ind::BLOCK),
        (Base::Clu, clu::OBJ, clu::TS, clu::FILE, clu::BLOCK),
        (Base::Tabpart, tabpart::OBJ, tabpart::TS, tabpart::FILE, tabpart::BLOCK),
        (Base::Indpart, indpart::OBJ, indpart::TS, indpart::FILE, indpart::BLOCK),
    ];
    for (base, object, tablespace, file, block) in tables {
        dictionary.scan_once(s.p, base, &mut |_, row| {
            // A table in a cluster or in the index of its primary key has no segment of its own.
            let elsewhere = base == Base::Tab
                && (!row[tab::BOBJ].is_null()
                    || as_u32(&row[tab::PROPERTY]) & property::TAB_INDEX_ORGANIZED as u32 != 0);
            let none = as_u32(&row[file]) == 0;
            if !elsewhere && !none {
                let header = Rdba::new(as_u32(&row[file]), as_u32(&row[block]));
                list.push(Known {
                    object: as_u32(&row[object]),
                    tablespace: as_u32(&row[tablespace]),
                    header,
                    name: None,
                });
            }
            Ok(())
        })?;
    }
    for undo in s.shared.txns.undo_segments() {
        list.push(Known { object: 0, tablespace: undo.tablespace, header: undo.header, name: Some(undo.name()) });
    }
    list.retain(|k| !k.header.is_none());
    Ok(list)
}

/// Calls `f` with every segment and its extents. Skips segments that were dropped meanwhile or whose file is offline or
/// missing.
///
/// # Errors
/// ORA-01578 for a damaged header: sums without the segment would be wrong.
fn with_extents(s: &Source<'_>, mut f: impl FnMut(&Known, ObjectId, &[block::Extent])) -> Result<()> {
    let segments = s.shared.txns.space();
    for k in known(s)? {
        let read = segments.object(s.p, k.header).and_then(|obj| Ok((obj, segments.extents(s.p, k.header)?)));
        if let Some((object, extents)) = present(read)? {
            f(&k, object, &extents);
        }
    }
    Ok(())
}

/// `None` for an error that other views report: a dropped segment, a file that is offline or missing.
pub(crate) fn present<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(e) if [8103, 376, 1157].into_iter().any(|code| e.is(code)) => Ok(None),
        read => read.map(Some),
    }
}

pub fn ktseg(s: &Source<'_>) -> Result<Vec<Row>> {
    let size = s.shared.txns.cache().block_size() as u64;
    let control = control(s)?;
    let mut rows = Vec::new();
    with_extents(s, |k, object, extents| {
        let (file, block) = shown(s, k.header);
        let blocks: u64 = extents.iter().map(|e| u64::from(e.blocks)).sum();
        rows.push(vec![
            n(k.object),
            n(object.0),
            n(k.tablespace),
            n(file),
            n(block),
            k.name.as_ref().map_or(Value::Null, t),
            n(blocks),
            n(blocks * size),
            n(extents.len() as u64),
            relative_in(Some(&control), k.tablespace, file),
        ]);
    })?;
    Ok(rows)
}

pub fn ktext(s: &Source<'_>) -> Result<Vec<Row>> {
    let size = s.shared.txns.cache().block_size() as u64;
    let control = control(s)?;
    let mut rows = Vec::new();
    with_extents(s, |k, _, extents| {
        rows.extend(extents.iter().enumerate().map(|(id, e)| {
            let (file, block) = shown(s, e.start);
            vec![
                n(k.object),
                n(k.tablespace),
                k.name.as_ref().map_or(Value::Null, t),
                n(id as u64),
                n(file),
                n(block),
                n(e.blocks),
                n(u64::from(e.blocks) * size),
                relative_in(Some(&control), k.tablespace, file),
            ]
        }));
    })?;
    Ok(rows)
}

/// `v$tempseg_usage` and `v$sort_usage`: a row for each session and file.
pub const TEMPSEG_USAGE: &[(&str, Type)] = &[
    ("USERNAME", V(128)),
    ("SESSION_ADDR", R(8)),
    ("SESSION_NUM", N),
    ("SQL_ID", V(13)),
    ("TABLESPACE", V(31)),
    ("CONTENTS", V(9)),
    ("SEGTYPE", V(9)),
    ("SEGFILE#", N),
    ("EXTENTS", N),
    ("BLOCKS", N),
];

pub fn tempseg_usage(s: &Source<'_>) -> Result<Vec<Row>> {
    let control = control(s)?;
    let tablespace = |file: u32| control.file(file).and_then(|f| control.tablespace(f.tablespace));
    let row = |u: space::TempUsage| {
        let slot = s.processes.session(u.process);
        vec![
            slot.map_or(Value::Null, |slot| t(slot.username.get())),
            address(s.session_address(u.process)),
            slot.map_or(Value::Null, |slot| n(slot.serial())),
            s.shared.library.session_cursors(u.process).0.map_or(Value::Null, |c| t(c.digest.sql_id())),
            tablespace(u.file).map_or(Value::Null, |e| t(&e.name)),
            t("TEMPORARY"),
            t("SORT"),
            n(u.file),
            n(u.extents),
            n(u64::from(u.extents) * u64::from(space::TEMP_EXTENT_BLOCKS)),
        ]
    };
    let mut usage: Vec<space::TempUsage> = Vec::new();
    for mut of in s.shared.txns.space().temp().usage() {
        of.file = s.shared.txns.cache().files().shown_file(of.file);
        match usage.iter_mut().find(|u| (u.process, u.file) == (of.process, of.file)) {
            Some(known) => known.extents += of.extents,
            None => usage.push(of),
        }
    }
    Ok(usage.into_iter().map(row).collect())
}
