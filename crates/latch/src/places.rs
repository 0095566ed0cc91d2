//! The list of places that get latches and mutexes: `x$ksllw`, the WHERE of `v$latch_misses` and `v$latchholder`.

use crate::{LatchName, MutexKind};

/// What a place gets.
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

// name | meaning of "why" | what is got
places! {
    latch {
        NoLatch | "No latch" | "" | LatchWaitList;
        KslWaitList | "kslwlmod: wait list" | "latch" | LatchWaitList;
        KsuAllocateProcess | "ksucrp: allocate process" | "" | ProcessAllocation;
        KsuDeleteProcess | "ksudlp: delete process" | "process" | ProcessAllocation;
        KsuActivateProcess | "ksuapc" | "process" | OsProcessAllocation;
        KsuCreateSession | "ksucri: create session" | "" | SessionAllocation;
        KsuDeleteSession | "ksudlc: delete session" | "session" | SessionAllocation;
        KsuFoldStatistics | "ksuprc: fold statistics" | "session" | SessionAllocation;
        KsuIdle | "ksupuc: set busy" | "session" | SessionIdleBit;
        KsuBusy | "ksupuc: clear busy" | "session" | SessionIdleBit;
        KsuXfrSession | "ksuxds: not user session" | "session" | SessionSwitching;
        KskApplicationInfo | "kskfapp: set application info" | "session" | ClientApplicationInfo;
        KsaSendMessage | "ksaamb: after wakeup" | "message" | Messages;
        KsaReceiveMessage | "ksarcv" | "message" | Messages;
        KswPost | "kswpst: post" | "process" | PostWaitQueue;
        KsqGetEnqueue | "ksqgtl3" | "acquire sess-resource" | EnqueueHashChains;
        KsqCreateEnqueue | "ksqcmi: if lk mode requested" | "resource hash" | EnqueueHashChains;
        KsqConvertEnqueue | "ksqcnv" | "resource hash" | EnqueueHashChains;
        KsqReleaseEnqueue | "ksqrcl" | "resource addr" | EnqueueHashChains;
        KsqDeadlock | "ksqcmi: deadlock check" | "resource hash" | EnqueueHashChains;
        KsqScan | "ksqlrl: scan" | "resource hash" | EnqueueHashChains;
        KsqCleanup | "ksqdel: clean up behind a process" | "process" | EnqueueHashChains;
        KsqFreeResource | "ksqdel" | "resource addr" | Enqueues;
        KsqAllocateResource | "ksqies" | "resource addr" | Enqueues;
        KtaDmlAllocate | "ktaiam" | "object" | DmlLockAllocation;
        KtaDmlFree | "ktaidm" | "object" | DmlLockAllocation;
        KtcBeginTransaction | "ktcxbr" | "" | TransactionAllocation;
        KtcEndTransaction | "ktcccdel: remove from list" | "transaction" | TransactionAllocation;
        KturAllocateUndo | "kturbk" | "segment" | UndoGlobalData;
        KtudBind | "ktudba: KSLBEGIN" | "segment" | UndoGlobalData;
        KtucCommit | "ktucmt: commit" | "segment" | UndoGlobalData;
        KtuslExtend | "ktuxts: extend" | "segment" | UndoGlobalData;
        KdnNext | "kdnnxt: cached seq" | "object" | SequenceCache;
        KdnStore | "kdnssd" | "object" | SequenceCache;
        KqrFindParent | "kqrpre: find obj" | "cache id" | RowCacheObjects;
        KqrGetParent | "kqreqd: reget" | "cache id" | RowCacheObjects;
        KqrRelease | "kqreqd" | "cache id" | RowCacheObjects;
        KqrCreate | "kqrpad: new entry" | "cache id" | RowCacheObjects;
        KqrScan | "kqrso" | "cache id" | RowCacheObjects;
        KqrFree | "kqrcmt: clear flags" | "cache id" | RowCacheObjects;
        KglGetHandle | "kglhdgn: child:" | "latch" | LibraryCache;
        KglUnpin | "kglupc: child" | "latch" | LibraryCache;
        KglPin | "kglpnc: child" | "latch" | LibraryCache;
        KglFind | "kglhfn" | "latch" | LibraryCache;
        KglInsert | "kglhdgc: child:" | "latch" | LibraryCache;
        KglScan | "kglic" | "child" | LibraryCache;
        KglEvict | "kglobpn: evict" | "child" | LibraryCache;
        KglPinExecution | "kglpnp: child" | "heap 0" | LibraryCachePin;
        KglUnpinExecution | "kglupc" | "heap 0" | LibraryCachePin;
        KglLock | "kgllkal: child: multiinstance" | "latch" | LibraryCacheLock;
        KghAllocate | "kghalo" | "" | SharedPool;
        KghFree | "kghfre" | "" | SharedPool;
        KghUnpin | "kghupr1" | "chunk list" | SharedPool;
        KghScan | "kghfrunp: clatch: nowait" | "" | SharedPool;
        RcFind | "Result Cache: Serialization01" | "find" | ResultCache;
        RcRelease | "Result Cache: Serialization02" | "release" | ResultCache;
        RcCreate | "Result Cache: Serialization03" | "create" | ResultCache;
        RcAllocate | "Result Cache: Serialization04" | "chunk" | ResultCache;
        RcPublish | "Result Cache: Serialization05" | "publish" | ResultCache;
        RcFetch | "Result Cache: Serialization06" | "fetch" | ResultCache;
        RcDependency | "Result Cache: Serialization07" | "object" | ResultCache;
        RcInvalidate | "Result Cache: Serialization08" | "object" | ResultCache;
        RcFlush | "Result Cache: Serialization09" | "flush" | ResultCache;
        RcReport | "Result Cache: Serialization10" | "report" | ResultCache;
        RcBypass | "Result Cache: Serialization11" | "bypass" | ResultCache;
        RcEvict | "Result Cache: Serialization12" | "evict" | ResultCache;
        RcCleanup | "Result Cache: Serialization13" | "process" | ResultCache;
        RcScan | "Result Cache: Serialization14" | "block" | ResultCache;
        RcSoAllocate | "Result Cache: SO1" | "state object" | ResultCacheSo;
        RcSoFree | "Result Cache: SO2" | "state object" | ResultCacheSo;
        RcMbAllocate | "Result Cache: MB1" | "" | ResultCacheMb;
        KcbGetConsistent | "kcbgtcr: kslbegin excl" | "dba" | CacheBuffersChains;
        KcbGetConsistentShared | "kcbgtcr: kslbegin shared" | "dba" | CacheBuffersChains;
        KcbGetConsistentFast | "kcbgtcr: fast path" | "dba" | CacheBuffersChains;
        KcbGetConsistentPin | "kcbgtcr: fast path (cr pin)" | "dba" | CacheBuffersChains;
        KcbGetCurrent | "kcbgcur: fast path" | "dba" | CacheBuffersChains;
        KcbGetCurrentSlow | "kcbgcur" | "dba" | CacheBuffersChains;
        KcbRelease | "kcbrls: fast release" | "dba" | CacheBuffersChains;
        KcbReleaseSlow | "kcbrls" | "dba" | CacheBuffersChains;
        KcbChange | "kcbchg1: mod buffer" | "dba" | CacheBuffersChains;
        KcbNew | "kcbnew: new block" | "dba" | CacheBuffersChains;
        KcbExamine | "kcbget: exchange" | "dba" | CacheBuffersChains;
        KcbFindVictim | "kcbzgb: scan from tail. nowait" | "dba" | CacheBuffersChains;
        KcbLinkBuffer | "kcbzwb" | "dba" | CacheBuffersChains;
        KcbUnlinkBuffer | "kcbzar: KSLNBEGIN" | "dba" | CacheBuffersChains;
        KcbReadDone | "kcbzib: finish free bufs" | "dba" | CacheBuffersChains;
        KcbReadBegin | "kcbzib: multi-block read: nowait" | "dba" | CacheBuffersChains;
        KcbWriteBegin | "kcbbwlru: begin write" | "dba" | CacheBuffersChains;
        KcbWriteDone | "kcbbxsv: move to being written" | "dba" | CacheBuffersChains;
        KcbCloneCr | "kcbzcb: make CR" | "dba" | CacheBuffersChains;
        KcbInvalidate | "kcbnlc: drop range" | "dba" | CacheBuffersChains;
        KcbScanHeaders | "kcbo_exam_buf" | "buffer" | CacheBuffersChains;
        KcbPublish | "kcbapl: publish group" | "dba" | CacheBuffersChains;
        KcbCleanup | "kcbzdra: clean up behind a process" | "process" | CacheBuffersChains;
        KcbLruAllocate | "kcbzgws: get free buffer" | "set" | CacheBuffersLruChain;
        KcbLruMove | "kcbzgb: move to hot end" | "set" | CacheBuffersLruChain;
        KcbLruWrite | "kcbbic1" | "set" | CacheBuffersLruChain;
        KcbLruFree | "kcbzfb: to free list" | "set" | CacheBuffersLruChain;
        KcbHandles | "kcbzfs" | "" | CacheBufferHandles;
        KcbCheckpointLink | "kcbklbc: Link buffer into ckpt queue" | "set" | CheckpointQueue;
        KcbCheckpointUnlink | "kcbkubc: Unlink buffer from ckpt queue" | "set" | CheckpointQueue;
        KcbCheckpointScan | "kcbkllrba: compute lowest lrba" | "set" | CheckpointQueue;
        KcbActiveCheckpoint | "kcbklac" | "checkpoint" | ActiveCheckpointQueue;
        KcboLink | "kcbo_link_q" | "object" | ObjectQueueHeaderOperation;
        KcboUnlink | "kcbo_unlink_q" | "object" | ObjectQueueHeaderOperation;
        KcbTableScan | "kcbzal" | "" | CacheTableScan;
        KcbMultiblock | "kcbzibmlt: normal mbr" | "buffer header" | MultiblockReadObjects;
        KcbSimulatorLru | "kcbs_simulate: simulate set" | "set" | SimulatorLru;
        KcbSimulatorHash | "kcbsacc: lookup dba" | "dba" | SimulatorHash;
        KcrfRedoCopy | "kcrfwr" | "buffer" | RedoCopy;
        KcrfRedoAllocation | "kcrfwr: redo allocation 0" | "" | RedoAllocation;
        KcrfRedoWriting | "kcrfwcr" | "" | RedoWriting;
        KcmScn | "kcmgss" | "" | MostlyLatchFreeScn;
        KkjTakeJob | "kkjex: take job" | "job" | JsQueueStateObj;
        KkjJobDone | "kkjex: job done" | "job" | JsQueueStateObj;
        KkjSubmit | "kkjsub: submit" | "job" | JsQueueStateObj;
        KkjQueue | "kkjqueue" | "job" | JobWorkqParentLatch;
        KcfAdd | "kcfis_oss" | "file" | FileCacheLatch;
        KtsSpace | "ktsj_grabtask" | "segment" | SpaceBackgroundTask;
        KtstSort | "ktstallocext" | "extent" | SortExtentPool;
        KspSet | "kspgip: set parameter" | "parameter" | ParameterTableManagement;
        KspList | "kspget" | "parameter" | ParameterList;
        KuUserLock | "kupul: user lock" | "id" | UserLock;
        KsoFreeList | "kssadp" | "state object" | DmlStateObject;
        KsmSqlWorkarea | "qesmmIRegisterWorkArea" | "" | SqlMemoryWorkarea;
        TestExclusive | "test: exclusive" | "item" | TestUnit;
        TestSecond | "test: second child" | "item" | TestUnit;
        TestShare | "test: shared" | "item" | TestShared;
        TestVersioned | "test: versioned" | "item" | TestShared;
    }
    mutex {
        KqrMutexFind | "[19] kqrpre: find obj" | "cache id" | RowCache;
        KqrMutexReget | "[13] kqreqd: reget" | "cache id" | RowCache;
        KqrMutexScan | "[11] kqrScan" | "cache id" | RowCache;
        KqrMutexCreate | "[21] kqrpad: new entry" | "cache id" | RowCache;
        KglMutexGet | "kglhdgn1 62" | "idn" | LibraryCache;
        KglMutexPin | "kglpin1 4" | "idn" | LibraryCache;
        KglMutexPinAllocate | "kglpnal1 90" | "idn" | LibraryCache;
        KglMutexPinDelete | "kglpndl1 95" | "idn" | LibraryCache;
        KglMutexScan | "kglic1 49" | "idn" | LibraryCache;
        KksExecute | "kksfbc [KKSCHLFSP2]" | "idn" | CursorPin;
        KksRelease | "kksLockDelete [KKSCHLPIN6]" | "idn" | CursorPin;
        KksParse | "kkslce [KKSCHLPIN2]" | "idn" | CursorPin;
        KksParent | "kksfbc [KKSPRTLOC1]" | "idn" | CursorParent;
        KksChildren | "kkshGetNextChild [KKSHBKLOC1]" | "idn" | HashTable;
        KksInsert | "kkscsAddChildNode [KKSPRTLOC34]" | "idn" | CursorParent;
    }
}

impl Where {
    /// How many there are.
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

    /// What the number "why" means here; empty where it means nothing.
    #[must_use]
    pub fn label(self) -> &'static str {
        ROWS[self as usize].2
    }

    /// The number that waits for a mutex show of the place: the published one where the name begins with it, in
    /// brackets, or ends with it.
    #[must_use]
    pub fn location(self) -> u64 {
        let name = self.name();
        let first = name.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(number, _)| number);
        let last = name.rsplit_once(' ').map(|(_, number)| number);
        let published = first.or(last);
        published.and_then(|number| number.parse().ok()).unwrap_or(self as u64)
    }

    /// What is got here.
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
