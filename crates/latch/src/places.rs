//! The list of places that get latches and mutexes: `x$ksllw`, the WHERE of `v$latch_misses` and `v$latchholder`.

use crate::LatchName;

/// The kind of object that a mutex belongs to: MUTEX_TYPE, and the events of its waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MutexKind {
    /// The parent of cursors.
    CursorParent,
    /// A cursor being executed.
    CursorPin,
    /// The hash table of a parent's children.
    HashTable,
    /// A library cache object or bucket.
    LibraryCache,
    /// A row cache object or bucket.
    RowCache,
}

impl MutexKind {
    /// The column MUTEX_TYPE.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CursorParent => "Cursor Parent",
            Self::CursorPin => "Cursor Pin",
            Self::HashTable => "hash table",
            Self::LibraryCache => "Library Cache",
            Self::RowCache => "Row Cache",
        }
    }
}

/// The latch or mutex that a place gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A latch of this name.
    Latch(LatchName),
    /// A mutex of this kind.
    Mutex(MutexKind),
}

macro_rules! places {
    (latch { $( $id:ident | $name:literal | $label:literal | $latch:ident; )* }
     mutex { $( $mid:ident | $mname:literal | $mlabel:literal | $kind:ident; )* }) => {
        /// A place in the program that gets latches or mutexes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Where {
            $( #[doc = concat!("`", $name, "`")] $id, )*
            $( #[doc = concat!("`", $mname, "`")] $mid, )*
        }

        const ROWS: &[(Where, &str, &str, Owner)] = &[
            $( (Where::$id, $name, $label, Owner::Latch(LatchName::$latch)), )*
            $( (Where::$mid, $mname, $mlabel, Owner::Mutex(MutexKind::$kind)), )*
        ];
    };
}

// name | meaning of "why" | latch or mutex. Some code gets at every place: a test of the workspace verifies it.
places! {
    latch {
        NoLatch | "No latch" | "" | LatchWaitList;
        KsuAllocateProcess | "ksucrp: allocate process" | "" | ProcessAllocation;
        KsuCreateSession | "ksucri: create session" | "" | SessionAllocation;
        KsuFoldStatistics | "ksuprc: fold statistics" | "session" | SessionAllocation;
        KsqGetEnqueue | "ksqgtl3" | "acquire sess-resource" | EnqueueHashChains;
        KsqConvertEnqueue | "ksqcnv" | "resource hash" | EnqueueHashChains;
        KsqReleaseEnqueue | "ksqrcl" | "resource addr" | EnqueueHashChains;
        KsqDeadlock | "ksqcmi: deadlock check" | "resource hash" | EnqueueHashChains;
        KsqScan | "ksqlrl: scan" | "resource hash" | EnqueueHashChains;
        KsqCleanup | "ksqdel: clean up behind a process" | "process" | EnqueueHashChains;
        KsqFreeResource | "ksqdel" | "resource addr" | Enqueues;
        KsqAllocateResource | "ksqies" | "resource addr" | Enqueues;
        KdnNext | "kdnnxt: cached seq" | "object" | SequenceCache;
        KdnStore | "kdnssd" | "object" | SequenceCache;
        KqrFindParent | "kqrpre: find obj" | "cache id" | RowCacheObjects;
        KqrGetParent | "kqreqd: reget" | "cache id" | RowCacheObjects;
        KqrRelease | "kqreqd" | "cache id" | RowCacheObjects;
        KqrCreate | "kqrpad: new entry" | "cache id" | RowCacheObjects;
        KqrScan | "kqrso" | "cache id" | RowCacheObjects;
        KqrFree | "kqrcmt: clear flags" | "cache id" | RowCacheObjects;
        KglGetHandle | "kglhdgn: child:" | "latch" | LibraryCache;
        KglPin | "kglpnc: child" | "latch" | LibraryCache;
        KglFind | "kglhfn" | "latch" | LibraryCache;
        KglInsert | "kglhdgc: child:" | "latch" | LibraryCache;
        KglScan | "kglic" | "child" | LibraryCache;
        KglEvict | "kglobpn: evict" | "child" | LibraryCache;
        KglPinExecution | "kglpnp: child" | "heap 0" | LibraryCachePin;
        KglUnpinExecution | "kglupc" | "heap 0" | LibraryCachePin;
        KghAllocate | "kghalo" | "" | SharedPool;
        KghFree | "kghfre" | "" | SharedPool;
        RcFind | "Result Cache: Serialization01" | "find" | ResultCache;
        RcRelease | "Result Cache: Serialization02" | "release" | ResultCache;
        RcAllocate | "Result Cache: Serialization04" | "chunk" | ResultCache;
        RcPublish | "Result Cache: Serialization05" | "publish" | ResultCache;
        RcDependency | "Result Cache: Serialization07" | "object" | ResultCache;
        RcInvalidate | "Result Cache: Serialization08" | "object" | ResultCache;
        RcFlush | "Result Cache: Serialization09" | "flush" | ResultCache;
        RcCleanup | "Result Cache: Serialization13" | "process" | ResultCache;
        RcSoAllocate | "Result Cache: SO1" | "state object" | ResultCacheSo;
        KcbGetConsistent | "kcbgtcr: kslbegin excl" | "dba" | CacheBuffersChains;
        KcbGetConsistentShared | "kcbgtcr: kslbegin shared" | "dba" | CacheBuffersChains;
        KcbGetConsistentPin | "kcbgtcr: fast path (cr pin)" | "dba" | CacheBuffersChains;
        KcbGetCurrent | "kcbgcur: fast path" | "dba" | CacheBuffersChains;
        KcbRelease | "kcbrls: fast release" | "dba" | CacheBuffersChains;
        KcbReleaseSlow | "kcbrls" | "dba" | CacheBuffersChains;
        KcbFindVictim | "kcbzgb: scan from tail. nowait" | "dba" | CacheBuffersChains;
        KcbLinkBuffer | "kcbzwb" | "dba" | CacheBuffersChains;
        KcbUnlinkBuffer | "kcbzar: KSLNBEGIN" | "dba" | CacheBuffersChains;
        KcbWriteBegin | "kcbbwlru: begin write" | "dba" | CacheBuffersChains;
        KcbWriteDone | "kcbbxsv: move to being written" | "dba" | CacheBuffersChains;
        KcbLruAllocate | "kcbzgws: get free buffer" | "set" | CacheBuffersLruChain;
        KcbLruWrite | "kcbbic1" | "set" | CacheBuffersLruChain;
        KcbLruFree | "kcbzfb: to free list" | "set" | CacheBuffersLruChain;
        KcbCheckpointLink | "kcbklbc: Link buffer into ckpt queue" | "set" | CheckpointQueue;
        KcbCheckpointUnlink | "kcbkubc: Unlink buffer from ckpt queue" | "set" | CheckpointQueue;
        KcbCheckpointScan | "kcbkllrba: compute lowest lrba" | "set" | CheckpointQueue;
        KcrfRedoAllocation | "kcrfwr: redo allocation 0" | "" | RedoAllocation;
        TestExclusive | "test: exclusive" | "item" | TestUnit;
        TestSecond | "test: second child" | "item" | TestUnit;
        TestShare | "test: shared" | "item" | TestShared;
        TestVersioned | "test: versioned" | "item" | TestShared;
    }
    mutex {
        KqrMutexFind | "[19] kqrpre: find obj" | "cache id" | RowCache;
        KqrMutexReget | "[13] kqreqd: reget" | "cache id" | RowCache;
        KqrMutexCreate | "[21] kqrpad: new entry" | "cache id" | RowCache;
        KglMutexGet | "kglhdgn1 62" | "idn" | LibraryCache;
        KglMutexPin | "kglpin1 4" | "idn" | LibraryCache;
        KglMutexPinDelete | "kglpndl1 95" | "idn" | LibraryCache;
        KksExecute | "kksfbc [KKSCHLFSP2]" | "idn" | CursorPin;
        KksParse | "kkslce [KKSCHLPIN2]" | "idn" | CursorPin;
        KksParent | "kksfbc [KKSPRTLOC1]" | "idn" | CursorParent;
        KksChildren | "kkshGetNextChild [KKSHBKLOC1]" | "idn" | HashTable;
        KksInsert | "kkscsAddChildNode [KKSPRTLOC34]" | "idn" | CursorParent;
    }
}

impl Where {
    /// Number of places.
    pub const COUNT: usize = ROWS.len();

    /// All places in order of number.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    /// The place of this number.
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        ROWS.get(index).map(|row| row.0)
    }

    /// Its name: the column WHERE, or LOCATION.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The meaning of the number "why" at this place; empty where it has none.
    #[must_use]
    pub fn label(self) -> &'static str {
        ROWS[self as usize].2
    }

    /// The number of the place in waits for a mutex: the published number where the name begins with it in brackets or
    /// ends with it.
    #[must_use]
    pub fn location(self) -> u64 {
        let name = self.name();
        let first = name.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(number, _)| number);
        let last = name.rsplit_once(' ').map(|(_, number)| number);
        let published = first.or(last);
        published.and_then(|number| number.parse().ok()).unwrap_or(self as u64)
    }

    /// False where the data that the latch or mutex protects are only read: another design needs no exclusive get here.
    #[must_use]
    pub fn changes(self) -> bool {
        use Where::*;
        !matches!(
            self,
            KsqScan
                | KqrFindParent
                | KqrGetParent
                | KqrRelease
                | KqrScan
                | KglGetHandle
                | KglPin
                | KglFind
                | KglScan
                | KglPinExecution
                | KglUnpinExecution
                | RcFind
                | RcRelease
                | KcbGetConsistent
                | KcbGetConsistentShared
                | KcbGetConsistentPin
                | KcbGetCurrent
                | KcbRelease
                | KcbReleaseSlow
                | KcbCheckpointScan
                | TestShare
                | TestVersioned
                | KqrMutexFind
                | KqrMutexReget
                | KglMutexGet
                | KglMutexPin
                | KglMutexPinDelete
                | KksExecute
                | KksParse
                | KksParent
                | KksChildren
        )
    }

    /// The latch or mutex that is got here.
    #[must_use]
    pub fn owner(self) -> Owner {
        ROWS[self as usize].3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn places_are_unique_and_numbers_are_places() {
        let names: BTreeSet<_> = Where::all().map(Where::name).collect();
        assert_eq!(names.len(), Where::COUNT);
        for (n, place) in Where::all().enumerate() {
            assert_eq!(place as usize, n);
        }
        assert_eq!((Where::KqrMutexFind.location(), Where::KqrMutexReget.location()), (19, 13));
        assert_eq!((Where::KglMutexGet.location(), Where::KglMutexPinDelete.location()), (62, 95));
        assert_eq!(Where::KksParse.location(), Where::KksParse as u64);
        const { assert!(Where::COUNT < 4096, "a hold keeps its place in twelve bits") };
    }
}
