//! The storage stack of the instance: data files, buffer cache, and the functions registered between them.

use crate::apply::apply_table;
use crate::sizes::Sizes;
use crate::startup::{self, Told};
use btree::Btree;
use buffer_cache::{BufferCache, CacheConfig, CacheLayout};
use cluster::Clusters;
use datafile::{ControlFile, CreateDatabase, DataFiles, LogsOf, PartBlocks};
use dictionary::{Base, DictionaryConfig, DictionaryLayout, DictionaryShared, NewDictionary};
use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
use heap::Heap;
use latch::Generation;
use params::{Designs, InitParams, LogWriter, Param};
use process::{Process, Processes};
use redo::{LogConfig, LogLayout, NoRedo, RedoLog, RedoSink};
use row_cache::RowCache;
use sga::SgaBuilder;
use space::{Space, SpaceLayout};
use std::path::Path;
use std::sync::Arc;
use txn::{Moment, Transactions, TxnConfig, TxnLayout};
use types::{Date, Ora, Result, Scn};

/// The database's files before the cache exists.
pub struct Database {
    pub files: Arc<DataFiles>,
    /// The end of the redo, and the highest SCN in it.
    pub standing: startup::Standing,
    /// The files were made just now and hold no dictionary.
    pub is_new: bool,
    /// The number of the undo tablespace, when the parameters name it.
    pub undo_tablespace: Option<u32>,
}

impl Database {
    /// Opens the files in `dir`, or makes them. Files of a database that was not closed cleanly are rolled forward
    /// first; `tell` gets the progress.
    ///
    /// # Errors
    /// ORA-00058 when the block size asked for is not the database's; ORA-01113 when it was not closed cleanly and has
    /// no redo; errors of `datafile` and `recovery`.
    pub fn open_or_create(
        dir: &Path,
        init: &mut InitParams,
        ephemeral: bool,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<Database> {
        let sync = match init.get(Param::DiskSync) {
            "TRUE" => true,
            "FALSE" => false,
            _ => !ephemeral,
        };
        startup::name_control_files(dir, init)?;
        startup::remove_unfinished(dir)?;
        recovery::end_unfinished(dir);
        let has = |name| os::file::exists(&dir.join(name));
        if !has(datafile::CONTROL_FILE) && !has(datafile::CONTROL_COPY) {
            let name = init.get(Param::DbName).to_string();
            init.derive_names(&name);
            let mut spec = CreateDatabase::usual(&name, os::clock::wall_ns(), init.number(Param::DbBlockSize) as usize);
            limit_files(&mut spec, init);
            crate::undo_tablespace::name(&mut spec, init)?;
            spec.dictionary = Base::shape();
            spec.part_blocks = PartBlocks(init.number(Param::BigfilePartBlocks) as u32);
            let names = making_names(&spec, init);
            startup::refuse_without_control(dir, &names)?;
            startup::begin_making(dir, &names)?;
            spec.is_transient = ephemeral;
            let files = Arc::new(DataFiles::create(dir, &spec)?);
            files.set_disk_sync(sync);
            files.set_files_max(init.number(Param::DbFiles) as u32);
            create_logs(&files, init, ephemeral)?;
            open_area(&files, &mut files.control()?, init, ephemeral)?;
            bypass_cache(&files, init, tell)?;
            let standing = startup::Standing::of(&files.control()?);
            return Ok(Database { files, standing, is_new: true, undo_tablespace: None });
        }
        let (control, was_cut) = ControlFile::read_both(dir)?;
        require_dictionary(&control)?;
        if was_cut {
            control.write(dir)?;
            tell(Told::Alert(
                "A change of the control file was cut off between its two copies: the older one was written again",
            ));
        }
        let (files, mut control) = DataFiles::open(dir)?;
        files.set_disk_sync(sync);
        files.set_transient(ephemeral);
        files.set_files_max(init.number(Param::DbFiles) as u32);
        let (is, wanted) = (files.block_size(), init.number(Param::DbBlockSize) as usize);
        if is != wanted && !init.is_default(Param::DbBlockSize) {
            return Err(Ora::with(58, &[&is, &wanted]));
        }
        init.derive(Param::DbBlockSize, is);
        init.derive_names(&control.name);
        let undo_tablespace = crate::undo_tablespace::named(&control, init)?;
        if open_area(&files, &mut control, init, ephemeral)? {
            tell(Told::Alert(&format!(
                "The double-write area '{}' is missing, or is not that of this database: blocks that the crash has torn cannot be made whole",
                dir.join(datafile::DOUBLE_WRITE_FILE).display()
            )));
        }
        let standing = startup::recover(&files, control, init, tell)?;
        bypass_cache(&files, init, tell)?;
        Ok(Database { files: Arc::new(files), standing, is_new: false, undo_tablespace })
    }

    /// Opens the files in `dir` read-only.
    ///
    /// # Errors
    /// ORA-00205; ORA-01113 when the database was not closed cleanly, because its files are inconsistent before
    /// recovery.
    pub fn look_at(dir: &Path, init: &mut InitParams) -> Result<Database> {
        startup::name_control_files(dir, init)?;
        let (files, control) = DataFiles::open_read_only(dir)?;
        require_dictionary(&control)?;
        init.derive(Param::DbBlockSize, files.block_size());
        init.derive_names(&control.name);
        if !control.clean {
            return Err(Ora::with(1113, &[&1]));
        }
        let standing = startup::Standing::of(&control);
        Ok(Database { files: Arc::new(files), standing, is_new: false, undo_tablespace: None })
    }
}

/// The default size of a log file of a throw-away database, and the smallest default for a lasting one.
const LOG_FILE_BYTES: u64 = 64 << 20;

/// The largest default size of a log file.
const LOG_FILE_BYTES_MAX: u64 = 1 << 30;

/// By default a log file takes one part in `LOG_FILE_PART` of the free space of the file system.
const LOG_FILE_PART: u64 = 100;

/// The names of all files of a new database.
fn making_names(spec: &CreateDatabase, init: &InitParams) -> Vec<String> {
    let logs = (1..=init.number(Param::LogFiles)).map(|n| format!("redo{n:02}.log"));
    let area = std::iter::once(datafile::DOUBLE_WRITE_FILE.to_owned());
    spec.tablespaces.iter().map(|t| t.file_name.clone()).chain(logs).chain(area).collect()
}

/// The largest default size of a double-write area.
const AREA_BYTES: u64 = 64 << 20;

/// Opens the double-write area of a database that outlives its instance. True when a database that was not closed
/// cleanly had an area that is missing now.
fn open_area(files: &DataFiles, control: &mut ControlFile, init: &InitParams, ephemeral: bool) -> Result<bool> {
    if ephemeral {
        files.set_whole_blocks(false);
        return Ok(false);
    }
    let had_one = !control.clean && control.double_write != 0;
    let mut life = 0;
    let mut is_lost = false;
    // Copies that a crash has left are needed even if the parameter is FALSE now.
    if init.flag(Param::DoubleWrite) || had_one {
        let bytes = match init.number(Param::DoubleWriteSize) as u64 {
            0 => (startup::cache_bytes(init) / 4).min(AREA_BYTES),
            n => n,
        };
        let slots = crate::sizes::slots(init.number(Param::Processes) as usize);
        let name = datafile::DOUBLE_WRITE_FILE;
        let goes_on;
        (life, goes_on) = files.open_double_write(name, bytes, slots, control, os::clock::wall_ns())?;
        is_lost = had_one && !goes_on;
    }
    if control.double_write != life {
        control.double_write = life;
        control.write_as(files.directory(), files.disk_sync())?;
    }
    Ok(is_lost)
}

/// Has the data files read and written past the page cache, if `filesystemio_options` says so. Recovery before this
/// uses the page cache, which holds what its own memory does not.
fn bypass_cache(files: &DataFiles, init: &InitParams, tell: &mut dyn FnMut(Told<'_>)) -> Result<()> {
    if matches!(init.get(Param::FilesystemioOptions), "directIO" | "setall") {
        for path in files.bypass_cache()? {
            tell(Told::Alert(&format!(
                "Direct I/O is not available for file '{}': its blocks go through the page cache",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Creates the online logs. Logs of a throw-away database take no room before they are written. Logs of a lasting
/// database have room for minutes of redo, because each switch is a checkpoint, but take only a small part of the free
/// space.
fn create_logs(files: &DataFiles, init: &InitParams, ephemeral: bool) -> Result<()> {
    let bytes = match init.number(Param::LogFileSize) as u64 {
        0 if ephemeral => LOG_FILE_BYTES,
        0 => {
            let part = os::file::free_bytes(files.directory()).unwrap_or(0) / LOG_FILE_PART;
            (part >> 20 << 20).clamp(LOG_FILE_BYTES, LOG_FILE_BYTES_MAX)
        }
        n => n,
    };
    let how = redo::LogFiles { directory: files.directory(), sparse: ephemeral, sync: files.disk_sync() };
    let mut control = files.control()?;
    control.set_logs(redo::create_logs(&how, init.number(Param::LogFiles) as u32, bytes, control.scn)?);
    control.write_as(files.directory(), files.disk_sync())
}

/// Limits the sizes of data files as the parameters say. SYSTEM is not limited, so that the dictionary has room.
fn limit_files(spec: &mut CreateDatabase, init: &InitParams) {
    for t in &mut spec.tablespaces {
        let most = match t.number {
            datafile::tablespace::UNDO => init.number(Param::UndoFileMaxSize),
            datafile::tablespace::SYSTEM => 0,
            _ => init.number(Param::DataFileMaxSize),
        } as u64;
        if most > 0 {
            t.bytes = t.bytes.min(most);
            t.bytes_max = t.bytes_max.min(most);
        }
    }
}

/// The areas of the stack.
pub struct StorageLayout {
    cache: CacheLayout,
    space: SpaceLayout,
    cache_config: CacheConfig,
    log: LogLayout,
    log_config: LogConfig,
    enqueues: EnqueueLayout,
    txns: TxnLayout,
    txn_config: TxnConfig,
    dictionary: DictionaryLayout,
    rows: row_cache::Layout,
    rows_config: row_cache::Config,
}

/// The stack.
#[derive(Clone, Copy)]
pub struct Storage {
    pub cache: &'static Arc<BufferCache>,
    pub redo: &'static RedoLog,
    pub enqueues: &'static Enqueues,
    pub txns: &'static Transactions,
    pub heap: &'static Heap,
    pub clusters: &'static Clusters,
    pub btree: &'static Btree,
    pub dictionary: &'static DictionaryShared,
    pub rows: &'static RowCache,
}

/// The dictionary of a new database: no user has a password, so the first logon is `/ as sysdba`.
fn new_dictionary(database: &Database) -> Result<NewDictionary> {
    let control = database.files.control()?;
    Ok(NewDictionary {
        name: control.name.clone(),
        tablespaces: control.tablespaces.iter().map(|t| (t.number, t.name.clone(), t.contents as u32)).collect(),
        users_tablespace: datafile::tablespace::USERS,
        temporary_tablespace: datafile::tablespace::TEMP,
        block_size_bytes: control.block_size as u32,
        system: None,
        sys: None,
        now: now()?,
    })
}

/// Refuses a dictionary of another build, except one that only lacks WORD$: a start adds it, and no reader needs it.
fn require_dictionary(control: &ControlFile) -> Result<()> {
    match control.require_dictionary(Base::shape()) {
        // Computed only for a database of an earlier version: the shape takes half a millisecond of a start.
        Err(_) if control.dictionary == Base::shape_without_words() => Ok(()),
        is => is,
    }
}

/// The time of the machine, in its zone.
fn now() -> Result<Date> {
    let utc = (os::clock::wall_ns() / 1_000_000_000) as i64;
    Date::from_unix(utc + i64::from(os::clock::utc_offset_seconds(utc)))
}

impl StorageLayout {
    /// Reserves the areas.
    pub fn reserve(
        builder: &mut SgaBuilder,
        sizes: &Sizes,
        designs: &Designs,
        generation: Generation,
    ) -> StorageLayout {
        let mut config = CacheConfig::new(sizes.buffers, sizes.block_size, sizes.slots());
        config.generation = generation;
        config.working_sets = sizes.working_sets;
        config.design = crate::designs::chains(designs.cbc, generation);
        let enqueues = EnqueueConfig {
            resources: sizes.enqueue_resources as u32,
            locks: sizes.enqueue_locks as u32,
            ..EnqueueConfig::for_processes(sizes.slots() as u32)
        }
        .with_stock();
        let txn_config = TxnConfig {
            undo_segments: crate::sizes::UNDO_SEGMENTS as u32,
            undo_segments_max: crate::sizes::UNDO_SEGMENTS_MAX as u32,
            undo_segments_online_max: sizes.undo_segments_online_max as u32,
            slots_per_segment: sizes.transactions_per_segment as u32,
            distributed_lock_timeout_s: sizes.distributed_lock_timeout_s,
            ..TxnConfig::new(sizes.slots() as u32)
        };
        let log_config = LogConfig {
            buffer_bytes: sizes.log_buffer_bytes as usize,
            processes: sizes.slots(),
            leader: designs.log_writer == LogWriter::Leader,
        };
        let rows_config = row_cache_config(sizes, designs, generation);
        StorageLayout {
            rows: row_cache::Layout::reserve(builder, &rows_config),
            rows_config,
            log: LogLayout::reserve(builder, &log_config),
            log_config,
            cache: CacheLayout::reserve(builder, &config),
            space: SpaceLayout::reserve(builder, sizes.slots()),
            cache_config: config,
            enqueues: EnqueueLayout::reserve(builder, &enqueues),
            txns: TxnLayout::reserve(builder, &txn_config),
            txn_config,
            dictionary: DictionaryLayout::reserve(builder, &DictionaryConfig::default()),
        }
    }
}

fn row_cache_config(sizes: &Sizes, designs: &Designs, generation: Generation) -> row_cache::Config {
    row_cache::Config {
        objects: sizes.row_cache_objects,
        design: crate::designs::rows(designs.row_cache),
        processes: sizes.slots(),
        hot_copy_sleep_limit: sizes.row_cache_hot_copy_sleep_limit,
        hot_copies: sizes.row_cache_hot_copies.min(255) as u8,
        generation,
    }
}

impl Storage {
    /// Makes the stack. Run once, by the supervisor, before it forks (invariant 1).
    ///
    /// # Errors
    /// ORA-00205.
    pub fn create(processes: &'static Processes, layout: &StorageLayout, database: &Database) -> Result<Storage> {
        let apply = apply_table();
        let (sga, files) = (processes.sga(), Arc::clone(&database.files));
        let enqueues = Box::leak(Box::new(Enqueues::create(processes, &layout.enqueues)));
        let redo = RedoLog::create(processes, &layout.log, &layout.log_config, LogsOf::new(&files, enqueues))?;
        let redo: &'static RedoLog = Box::leak(Box::new(redo));
        let sink: Box<dyn RedoSink> = if files.is_read_only() { Box::new(NoRedo) } else { Box::new(redo) };
        let cache = BufferCache::create(sga, &layout.cache, &layout.cache_config, files, apply, sink);
        let cache: &'static Arc<BufferCache> = Box::leak(Box::new(Arc::new(cache)));
        // The cache's hook runs before the log's: it decides the fate of a dead process's redo record.
        BufferCache::register_with(cache, processes);
        RedoLog::register_with(redo, processes);
        DataFiles::register_with(&database.files, processes, enqueues);
        let space = Space::create(sga, &layout.space, cache);
        space.register_with(processes);
        let txns = Transactions::create(sga, &layout.txns, &layout.txn_config, &space, enqueues);
        txns.register_with(processes);
        let txns: &'static Transactions = Box::leak(Box::new(txns));
        let heap: &'static Heap = Box::leak(Box::new(Heap::new(txns)));
        let clusters = Box::leak(Box::new(Clusters::new(heap)));
        let btree = Box::leak(Box::new(Btree::new(txns)));
        let rows: &'static RowCache =
            Box::leak(Box::new(RowCache::create(processes, &layout.rows, &layout.rows_config)));
        rows.register_with(processes);
        let dictionary = DictionaryShared::create(sga, &layout.dictionary, heap, btree, enqueues).with_row_cache(rows);
        dictionary.register_with(processes);
        let dictionary = Box::leak(Box::new(dictionary));
        let storage = Storage { cache, redo, enqueues, txns, heap, clusters, btree, dictionary, rows };
        redo.set_checkpointer(Box::new(move |p| storage.checkpoint(p)));
        Ok(storage)
    }

    /// Makes a checkpoint: writes every change made so far to the data files, and notes that in the control file.
    ///
    /// # Errors
    /// A failed write.
    pub fn checkpoint(&self, p: &Process) -> Result<()> {
        let done = self.cache.checkpoint(p)?;
        self.redo.note_checkpoint(p, done.rba)
    }

    /// Opens the transaction tables, after making the undo segments of a new database, and rolls back the transactions
    /// that an unclean stop has left. Undo is kept for `retention_s` seconds.
    ///
    /// # Errors
    /// ORA-30012 when there are no undo segments, or none in the tablespace that the parameters name; errors from
    /// reading and writing blocks.
    pub fn open(&self, p: &Process, database: &Database, retention_s: u64) -> Result<()> {
        let standing = &database.standing;
        self.txns.advance_scn(standing.scn);
        if !database.files.is_read_only() {
            self.redo.set_end(standing.end, standing.scn);
            self.redo.open(p)?;
            if standing.wants_checkpoint {
                self.redo.want_checkpoint();
            }
        }
        if database.is_new {
            self.txns.create_undo_segments(p)?;
        }
        self.txns.open(p)?;
        if let Some(number) = database.undo_tablespace {
            self.txns.use_undo_tablespace(number)?;
        }
        if database.files.is_read_only() {
            return self.dictionary.open(p);
        }
        // A transaction that cannot be rolled back, because a block is missing, keeps its locks; PMON tries it again.
        let _ = self.txns.recover(p);
        if database.is_new {
            self.dictionary.create_database(p, &new_dictionary(database)?)?;
            // From here on the database exists: a creation that was interrupted before this point is begun again.
            self.checkpoint(p)?;
            self.mark_open(self.txns.current_scn())?;
            startup::end_making(database.files.directory());
        } else {
            self.dictionary.open(p)?;
            self.dictionary.add_words(p, now()?)?;
            self.cache.files().change_control(p, self.enqueues, &mut |c| {
                c.dictionary = Base::shape();
                Ok(())
            })?;
            self.dictionary.load_moments(p)?;
        }
        note_start(self.txns, retention_s);
        Ok(())
    }

    /// Notes in the control file that blocks may be newer in memory than on disk.
    ///
    /// # Errors
    /// ORA-00200, ORA-00205.
    pub fn mark_open(&self, scn: Scn) -> Result<()> {
        self.cache.files().set_clean(false, scn)
    }

    /// Writes every dirty block and notes that the database is closed.
    ///
    /// # Errors
    /// A failed write.
    pub fn shut_down(&self, p: &Process) -> Result<()> {
        self.txns.end_idle_branches(p, true);
        // A transaction that cannot be rolled back stays in its undo header, where the next start finds it.
        let _ = self.txns.recover(p);
        self.redo.force(p, self.redo.head())?;
        // File headers that a backup has kept back are updated by the last checkpoint.
        self.cache.files().change_control(p, self.enqueues, &mut |c| {
            c.backups.clear();
            Ok(())
        })?;
        self.checkpoint(p)?;
        self.cache.shut_down(p, self.txns.current_scn())
    }
}

/// Notes the present SCN and time at a start, and the retention of undo from then on.
fn note_start(txns: &Transactions, retention_s: u64) {
    txns.times().retain(os::clock::wall_ns() / 1000, retention_s);
    txns.times().note(Moment { time_us: os::clock::wall_ns() / 1000, scn: txns.current_scn() });
    txns.undo_intervals().note(os::clock::wall_ns() / 1_000_000_000, [0; 6], 0, txns.current_undo_tablespace());
}
