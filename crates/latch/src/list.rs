//! The list of latch names.

use wait::Event;

use crate::Generation;
use Generation as G;

struct Row {
    id: LatchName,
    name: &'static str,
    level: u8,
    /// The first generation with shared gets; `None` when the latch is never shared.
    shared_since: Option<Generation>,
    /// Two children may be held at once, the second with the higher number.
    two_children: bool,
    event: Event,
    /// False for a name that no code gets: it appears only in `v$latchname`.
    is_got: bool,
}

macro_rules! since {
    (never) => {
        None
    };
    ($generation:ident) => {
        Some(Generation::$generation)
    };
}

macro_rules! is_got {
    () => {
        true
    };
    (name_only) => {
        false
    };
}

macro_rules! latches {
    ($( $id:ident | $name:literal | $level:literal | $since:ident | $two:literal | $event:ident $( | $mark:ident )?; )*) => {
        /// The name of a latch or of a set of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum LatchName { $( #[doc = concat!("`", $name, "`, level ", $level)] $id ),* }

        const ROWS: &[Row] = &[ $( Row {
            id: LatchName::$id, name: $name, level: $level, shared_since: since!($since), two_children: $two, event: Event::$event,
            is_got: is_got!($( $mark )?),
        } ),* ];
    };
}

// A willing-to-wait get only goes up in level; two children of one name only where the fifth column allows it. No code
// gets a latch that is marked `name_only`: the name is there for scripts that look it up. A test of the workspace holds
// the marks to the sources.
latches! {
    LatchWaitList | "latch wait list" | 16 | never | false | LatchFree | name_only;
    ProcessAllocation | "process allocation" | 14 | never | false | LatchFree;
    SessionAllocation | "session allocation" | 13 | never | false | LatchSessionAllocation;
    SessionSwitching | "session switching" | 12 | never | false | LatchFree | name_only;
    ProcessGroupCreation | "process group creation" | 15 | never | false | LatchFree | name_only;
    SessionIdleBit | "session idle bit" | 1 | never | false | LatchFree | name_only;
    ClientApplicationInfo | "client/application info" | 2 | never | false | LatchFree | name_only;
    CachedAttrList | "cached attr list" | 3 | never | false | LatchFree | name_only;
    ObjectStatsModification | "object stats modification" | 5 | never | false | LatchFree | name_only;
    PostWaitQueue | "post/wait queue" | 11 | V9_2 | false | LatchFree | name_only;
    Messages | "messages" | 10 | never | false | LatchMessages | name_only;
    Enqueues | "enqueues" | 9 | never | false | LatchFree;
    EnqueueHashChains | "enqueue hash chains" | 8 | never | true | LatchEnqueueHashChains;
    DmlLockAllocation | "dml lock allocation" | 7 | never | false | LatchFree | name_only;
    TransactionAllocation | "transaction allocation" | 6 | never | false | LatchFree | name_only;
    TransactionBranchAllocation | "transaction branch allocation" | 6 | never | false | LatchFree | name_only;
    UndoGlobalData | "undo global data" | 5 | V9_2 | false | LatchUndoGlobalData | name_only;
    InMemoryUndo | "In memory undo latch" | 2 | never | false | LatchInMemoryUndoLatch | name_only;
    SequenceCache | "sequence cache" | 4 | never | false | LatchFree;
    RowCacheObjects | "row cache objects" | 4 | never | false | LatchRowCacheObjects;
    LibraryCache | "library cache" | 5 | never | true | LatchLibraryCache;
    LibraryCacheLock | "library cache lock" | 6 | never | false | LatchLibraryCacheLock | name_only;
    LibraryCachePin | "library cache pin" | 6 | never | false | LatchLibraryCachePin;
    LibraryCacheLoadLock | "library cache load lock" | 5 | never | false | LatchFree | name_only;
    SharedPool | "shared pool" | 7 | never | false | LatchSharedPool;
    SharedPoolSimulator | "shared pool simulator" | 8 | never | false | LatchFree | name_only;
    ResultCache | "Result Cache: RC Latch" | 2 | V11_2_0_1 | false | LatchFree;
    ResultCacheSo | "Result Cache: SO Latch" | 3 | never | false | LatchFree;
    ResultCacheMb | "Result Cache: MB Latch" | 4 | never | false | LatchFree | name_only;
    CacheBuffersChains | "cache buffers chains" | 1 | V9_2 | true | LatchCacheBuffersChains;
    CacheBuffersLruChain | "cache buffers lru chain" | 2 | never | false | LatchCacheBuffersLruChain;
    CacheBufferHandles | "cache buffer handles" | 3 | never | false | LatchCacheBufferHandles | name_only;
    CheckpointQueue | "checkpoint queue latch" | 4 | never | false | LatchCheckpointQueueLatch;
    ActiveCheckpointQueue | "active checkpoint queue latch" | 5 | never | false | LatchFree | name_only;
    ObjectQueueHeaderOperation | "object queue header operation" | 4 | never | false | LatchObjectQueueHeaderOperation | name_only;
    ObjectQueueHeaderHeap | "object queue header heap" | 5 | never | false | LatchFree | name_only;
    CacheTableScan | "cache table scan latch" | 5 | never | false | LatchCacheTableScanLatch | name_only;
    MultiblockReadObjects | "multiblock read objects" | 3 | never | false | LatchFree | name_only;
    SimulatorLru | "simulator lru latch" | 6 | never | false | LatchFree | name_only;
    SimulatorHash | "simulator hash latch" | 5 | never | false | LatchFree | name_only;
    RedoCopy | "redo copy" | 4 | never | false | LatchRedoCopy | name_only;
    RedoAllocation | "redo allocation" | 5 | never | false | LatchRedoAllocation;
    RedoWriting | "redo writing" | 6 | never | false | LatchRedoWriting | name_only;
    ArchiveControl | "archive control" | 7 | never | false | LatchFree | name_only;
    LgwrNsWrite | "lgwr LWN SCN" | 7 | never | false | LatchFree | name_only;
    MostlyLatchFreeScn | "mostly latch-free SCN" | 8 | never | false | LatchFree | name_only;
    ConsistentRba | "Consistent RBA" | 7 | never | false | LatchFree | name_only;
    JsQueueStateObj | "JS queue state obj latch" | 6 | never | false | LatchFree | name_only;
    JobWorkqParentLatch | "job workq parent latch" | 7 | never | false | LatchFree | name_only;
    SpaceBackgroundTask | "space background task latch" | 3 | never | false | LatchFree | name_only;
    FileCacheLatch | "file cache latch" | 5 | never | false | LatchFree | name_only;
    SortExtentPool | "sort extent pool" | 5 | never | false | LatchFree | name_only;
    ListOfBlockAllocation | "list of block allocation" | 6 | never | false | LatchFree | name_only;
    UserLock | "user lock" | 7 | never | false | LatchFree | name_only;
    DmlStateObject | "state object free list" | 8 | never | false | LatchFree | name_only;
    ParameterTableManagement | "parameter table management" | 3 | never | false | LatchFree | name_only;
    ParameterList | "parameter list" | 4 | never | false | LatchFree | name_only;
    ActiveServiceList | "active service list" | 5 | never | false | LatchFree | name_only;
    OsProcessAllocation | "OS process allocation" | 15 | never | false | LatchFree | name_only;
    OsProcess | "OS process" | 12 | never | false | LatchFree | name_only;
    Statistics | "KSFS OFS ctx level parent latch" | 6 | never | false | LatchFree | name_only;
    SqlAreaEviction | "SQL memory manager latch" | 5 | never | false | LatchFree | name_only;
    SqlMemoryWorkarea | "SQL memory manager workarea list latch" | 6 | never | false | LatchFree | name_only;
    TestUnit | "ksuosstats global area" | 1 | never | true | LatchFree;
    TestShared | "shared server configuration" | 2 | V8_1_7 | true | LatchFree;
}

impl LatchName {
    /// How many there are.
    pub const COUNT: usize = ROWS.len();

    /// All names in order of number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.id)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name of this number in the list, the inverse of [`Self`] `as usize`.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        ROWS.get(index).map(|row| row.id)
    }

    /// The name whose number is in the low seven bits of a latch's identity; the first name for an unknown number.
    #[inline]
    pub(crate) fn of_identity(identity: u32) -> Self {
        const NAMES: [LatchName; 128] = {
            let mut names = [LatchName::LatchWaitList; 128];
            let mut n = 0;
            while n < ROWS.len() {
                names[n] = ROWS[n].id;
                n += 1;
            }
            names
        };
        NAMES[(identity & 0x7f) as usize]
    }

    /// The name in the newest generation.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The name in a generation: what `v$latchname` shows.
    #[must_use]
    pub fn name_in(self, generation: Generation) -> &'static str {
        match self {
            Self::ResultCache if generation <= G::V11_1 => "Result Cache: Latch",
            _ => self.name(),
        }
    }

    /// The latch of this name in a generation.
    #[must_use]
    pub fn named(name: &str, generation: Generation) -> Option<Self> {
        Self::all().find(|n| n.name_in(generation) == name)
    }

    /// True when latches of this name exist in a generation; views leave the others out.
    #[must_use]
    pub fn exists_in(self, generation: Generation) -> bool {
        match self {
            Self::ResultCache | Self::ResultCacheSo => generation >= G::V11_1,
            Self::ResultCacheMb => generation >= G::V12_1,
            Self::TestUnit | Self::TestShared => false,
            _ => true,
        }
    }

    /// False for a name whose latches no code gets: `v$latchname` lists it, the views with counts do not.
    #[must_use]
    pub fn is_got(self) -> bool {
        self.row().is_got
    }

    /// The column LATCH#: the published number where one is known, otherwise the index in the list.
    #[must_use]
    pub fn number(self, generation: Generation) -> u32 {
        match (self, generation) {
            (Self::ResultCache, _) => 373,
            (Self::ResultCacheSo, _) => 374,
            (Self::ResultCacheMb, _) => 375,
            (Self::RowCacheObjects, G::V12_1) => 411,
            (Self::RowCacheObjects, G::V12_2 | G::V12_2HotCopies | G::Latchwork) => 506,
            _ => self as u32,
        }
    }

    /// The level: a process that holds a latch waits only for latches of a higher level.
    #[must_use]
    pub fn level(self) -> u8 {
        self.row().level
    }

    /// True when two children of the name may be held at once, got in order of their numbers.
    #[must_use]
    pub fn two_children(self) -> bool {
        self.row().two_children
    }

    /// True when shared gets are allowed in a generation; an exclusive-only latch treats them as exclusive.
    #[must_use]
    pub fn shared_capable(self, generation: Generation) -> bool {
        self.row().shared_since.is_some_and(|since| generation >= since)
    }

    /// True for the latches whose releaser posts a waiter even with exponential back-off (`_latch_wait_posting` = 1).
    #[must_use]
    pub fn posts_in_back_off(self) -> bool {
        matches!(self, Self::LibraryCache | Self::SharedPool)
    }

    /// The latch class: its row of `x$ksllclass`.
    #[must_use]
    pub fn class(self) -> usize {
        if self == Self::ProcessAllocation { 2 } else { 0 }
    }

    /// The event of its waits in a generation: `latch free` for all of them before 10g.
    #[must_use]
    pub fn event(self, generation: Generation) -> Event {
        if generation < G::V10_2 { Event::LatchFree } else { self.row().event }
    }

    /// The column HASH in a generation.
    #[must_use]
    pub fn hash(self, generation: Generation) -> u32 {
        latch_hash(self.name_in(generation))
    }
}

/// The hash of a latch name: the published one where known, otherwise a stable hash of the project.
#[must_use]
pub fn latch_hash(name: &str) -> u32 {
    match name {
        "Result Cache: Latch" => 1_545_889_529,
        "Result Cache: SO Latch" => 986_859_868,
        _ => wait::events::name_hash(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_numbers_and_hashes_are_unique_in_every_generation() {
        for g in Generation::ALL {
            let names: BTreeSet<_> = LatchName::all().map(|n| n.name_in(g)).collect();
            let numbers: BTreeSet<_> = LatchName::all().map(|n| n.number(g)).collect();
            let hashes: BTreeSet<_> = LatchName::all().map(|n| n.hash(g)).collect();
            let all = LatchName::COUNT;
            assert_eq!((names.len(), numbers.len(), hashes.len()), (all, all, all), "{g:?}");
        }
        for (n, name) in LatchName::all().enumerate() {
            assert_eq!(name as usize, n);
            assert!(name.level() <= 16);
        }
        const { assert!(LatchName::COUNT < 128, "a latch's identity keeps its name in seven bits") };
    }

    #[test]
    fn the_result_cache_latch_changed_its_name() {
        let (old, new) = (G::V11_1, G::V11_2_0_1);
        assert_eq!(LatchName::named("Result Cache: Latch", old), Some(LatchName::ResultCache));
        assert_eq!(LatchName::named("Result Cache: RC Latch", new), Some(LatchName::ResultCache));
        assert_eq!(LatchName::named("Result Cache: RC Latch", old), None);
        assert_eq!(LatchName::ResultCache.hash(old), 1_545_889_529);
        assert_eq!(LatchName::ResultCacheSo.hash(old), 986_859_868);
        assert_eq!(LatchName::ResultCache.number(old), 373);
    }
}
