//! Types and modes of enqueues.

use wait::Event;

types::numbered! {
    /// The mode of a lock.
    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LockMode: u32 {
        /// No lock, or no request.
        None = 0,
        /// N: null. Blocks no other mode.
        Null = 1,
        /// SS: sub-share, row share.
        SubShare = 2,
        /// SX: sub-exclusive, row exclusive.
        SubExclusive = 3,
        /// S: share.
        Share = 4,
        /// SSX: share sub-exclusive, share row exclusive.
        ShareSubExclusive = 5,
        /// X: exclusive.
        Exclusive = 6,
    }
}

use LockMode::{Exclusive, None, Null, Share, ShareSubExclusive, SubExclusive, SubShare};

impl LockMode {
    pub(crate) fn from_number(n: u32) -> Self {
        Self::from_code(n).unwrap_or(None)
    }

    /// True when two sessions may own a resource in these modes at the same time.
    #[must_use]
    pub fn goes_with(self, other: Self) -> bool {
        match (self.min(other), self.max(other)) {
            (None | Null, _) => true,
            (SubShare, mode) => mode != Exclusive,
            (SubExclusive, mode) => mode == SubExclusive,
            (Share, mode) => mode == Share,
            _ => false,
        }
    }

    /// The weakest mode that is as strong as both: SX and S together are SSX.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        match (self.min(other), self.max(other)) {
            (SubExclusive, Share) => ShareSubExclusive,
            (_, stronger) => stronger,
        }
    }
}

macro_rules! types {
    ($( $id:ident | $code:literal | $name:literal | $event:ident; )*) => {
        /// The type of an enqueue.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum EnqueueType { $( #[doc = concat!("`", $code, "`: ", $name)] $id ),* }

        const ROWS: &[(EnqueueType, &str, &str, Event)] = &[ $( (EnqueueType::$id, $code, $name, Event::$event) ),* ];
    };
}

types! {
    Tx | "TX" | "Transaction" | EnqTxRowLockContention;
    Tm | "TM" | "DML" | EnqTmContention;
    Rc | "RC" | "Result Cache: Enqueue" | EnqRcResultCacheContention;
    Dd | "DD" | "DDL" | EnqDdContention;
    Dx | "DX" | "Distributed Transaction" | EnqDxContention;
    Ul | "UL" | "User-defined" | EnqUlContention;
    Jq | "JQ" | "Job Queue" | EnqJqContention;
    Sq | "SQ" | "Sequence Cache" | EnqSqContention;
    Hw | "HW" | "Segment High Water Mark" | EnqHwContention;
    St | "ST" | "Space Transaction" | EnqStContention;
    Ts | "TS" | "Temporary Segment" | EnqTsContention;
    To | "TO" | "Temporary Object" | EnqToContention;
    Us | "US" | "Undo Segment" | EnqUsContention;
    Ci | "CI" | "Cross-Instance Call Invocation" | EnqCiContention;
    Cf | "CF" | "Controlfile Transaction" | EnqCfContention;
    Ro | "RO" | "Multiple Object Reuse" | EnqRoFastObjectReuse;
    Od | "OD" | "Online DDLs" | EnqOdContention;
    Pr | "PR" | "Process Startup" | EnqPrContention;
    Mr | "MR" | "Media Recovery" | EnqMrContention;
    Rt | "RT" | "Redo Thread" | EnqRtContention;
    Ss | "SS" | "Sort Segment" | EnqSsContention;
    Tt | "TT" | "Tablespace" | EnqTtContention;
}

impl EnqueueType {
    /// The number of types.
    pub(crate) const COUNT: usize = ROWS.len();

    /// All types.
    pub fn all() -> impl ExactSizeIterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    pub(crate) fn from_number(n: u32) -> Self {
        ROWS.get(n as usize).map_or(Self::Tx, |row| row.0)
    }

    /// The two letters: the column TYPE of `v$lock`.
    #[must_use]
    pub fn letters(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The name: the column NAME of `v$lock_type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        ROWS[self as usize].2
    }

    /// The two letters as a number: the upper half of P1.
    #[must_use]
    pub fn code(self) -> u32 {
        self.letters().bytes().fold(0, |code, b| code << 8 | u32::from(b))
    }

    /// The wait event of the type.
    #[must_use]
    pub fn event(self, mode: LockMode) -> Event {
        match (self, mode) {
            (Self::Tx, Exclusive) => Event::EnqTxRowLockContention,
            (Self::Tx, Share) => Event::EnqTxRowLockContention,
            (Self::Tx, _) => Event::EnqTxContention,
            _ => ROWS[self as usize].3,
        }
    }
}
