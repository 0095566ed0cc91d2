//! Bits of PROPERTY and FLAGS columns.

pub const TAB_TEMPORARY: i64 = 1;
pub const TAB_PRESERVE_ROWS: i64 = 2;
pub const TAB_INDEX_ORGANIZED: i64 = 4;
pub const TAB_CACHE: i64 = 8;
pub const TAB_READ_ONLY: i64 = 16;
pub const TAB_RESULT_CACHE_FORCE: i64 = 32;
pub const TAB_NOLOGGING: i64 = 64;
pub const TAB_MINIMIZE_RECORDS: i64 = 128;
pub const TAB_ROW_MOVEMENT: i64 = 256;
/// The table has triggers: without the bit TRIGGER$ is not read.
pub const TAB_TRIGGERS: i64 = 512;
/// The table is partitioned: PARTOBJ$ and TABPART$ describe it.
pub const TAB_PARTITIONED: i64 = 1024;
/// The table has the rows of a materialized view: SNAP$ describes it.
pub const TAB_MATERIALIZED: i64 = 2048;
pub const COL_HIDDEN: i64 = 1;
pub const COL_INVISIBLE: i64 = 2;
pub const COL_DEFAULT_ON_NULL: i64 = 4;
pub const COL_IDENTITY_ALWAYS: i64 = 8;
pub const COL_IDENTITY_ON_NULL: i64 = 16;
/// From this bit on: the place of a moved column.
pub const COL_MOVED_SHIFT: u32 = 16;
pub const IND_UNIQUE: i64 = 1;
pub const IND_REVERSE: i64 = 4;
pub const IND_FUNCTION_BASED: i64 = 16;
pub const IND_TEMPORARY: i64 = 32;
/// Created for a key constraint, with which it is dropped.
pub const IND_OF_KEY: i64 = 4096;
/// DISABLE STORAGE IN ROW, of the segment of a LOB column.
pub const IND_LOB_NOT_IN_ROW: i64 = 128;
/// TYPE# of such a segment in IND$.
pub const IND_TYPE_LOB: i64 = 8;
/// A local index: INDPART$ has its segments.
pub const IND_LOCAL: i64 = 64;
/// FLAGS of TAB$: the table has or had virtual columns. NULL for all other tables, so that the index has no entry
/// for them.
pub const HAS_VIRTUALS: i64 = 1;
/// Bits of FLAGS of IND$.
pub const IND_UNUSABLE: i64 = 1;
pub const IND_INVISIBLE: i64 = 2;
/// Being built by CREATE INDEX … ONLINE: changes of rows are entered, queries do not use it.
pub const IND_BUILDING: i64 = 4;
/// A function in its key was replaced or dropped, or ALTER INDEX … DISABLE was executed.
pub const IND_DISABLED: i64 = 8;
/// The values of FLAGS of IND$ for indexes that are being built.
pub fn building_flags() -> impl Iterator<Item = i64> {
    const ALL: i64 = IND_UNUSABLE | IND_INVISIBLE | IND_BUILDING | IND_DISABLED;
    (0..=ALL).filter(|flags| flags & IND_BUILDING != 0)
}

/// Bits of DEFER of CDEF$.
pub const CON_DEFERRABLE: i64 = 1;
pub const CON_INITIALLY_DEFERRED: i64 = 2;
pub const CON_VALIDATED: i64 = 4;
pub const CON_GENERATED: i64 = 8;
pub const CON_DISABLED: i64 = 16;
pub const CON_RELY: i64 = 32;
pub const VIEW_READ_ONLY: i64 = 1;
pub const VIEW_CHECK_OPTION: i64 = 2;
pub const VIEW_BEQUEATHS: i64 = 4;
/// The view has triggers.
pub const VIEW_TRIGGERS: i64 = 8;
