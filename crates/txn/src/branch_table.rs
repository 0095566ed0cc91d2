//! The entries of branches in the SGA.

use crate::session::Chain;
use process::Process;
use sga::{Sga, SgaBuilder, SgaSlice};
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Rdba, Uba, Xid};

/// The longest time that a branch waits for a session, for any time limit.
const LONGEST_S: u32 = 86_400;

/// Bytes of the identifier of a global transaction, and of that of a branch in it.
const PART_MAX: usize = 64;

/// Sessions that can leave one branch with changed rows of temporary tables. Further sessions lose those rows at once.
const TEMPORARY_OWNERS: usize = 2;

/// The format of the identifiers of transactions without a coordinator.
pub const SESSIONLESS: u32 = 0x004e_5c3e;

/// The identifier of a branch of a global transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalId {
    pub format: u32,
    pub(crate) gtrid: u8,
    pub(crate) bqual: u8,
    bytes: [u8; 2 * PART_MAX],
}

impl GlobalId {
    /// `None` when a part is longer than 64 bytes.
    pub fn new(format: u32, gtrid: &[u8], bqual: &[u8]) -> Option<GlobalId> {
        if gtrid.len() > PART_MAX || bqual.len() > PART_MAX {
            return None;
        }
        let mut bytes = [0; 2 * PART_MAX];
        bytes[..gtrid.len()].copy_from_slice(gtrid);
        bytes[gtrid.len()..gtrid.len() + bqual.len()].copy_from_slice(bqual);
        Some(GlobalId { format, gtrid: gtrid.len() as u8, bqual: bqual.len() as u8, bytes })
    }

    /// The identifier of the global transaction.
    pub fn gtrid(&self) -> &[u8] {
        &self.bytes[..usize::from(self.gtrid)]
    }

    /// The branch qualifier.
    pub fn bqual(&self) -> &[u8] {
        &self.bytes[usize::from(self.gtrid)..usize::from(self.gtrid) + usize::from(self.bqual)]
    }

    fn head(&self) -> u64 {
        u64::from(self.format) | u64::from(self.gtrid) << 32 | u64::from(self.bqual) << 40
    }

    /// The number of its DX enqueue.
    pub(crate) fn number(&self) -> u64 {
        let mix = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        self.bytes.iter().fold(0xcbf2_9ce4_8422_2325 ^ self.head(), mix)
    }
}

/// The states of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BranchState {
    Free = 0,
    Attached = 1,
    Idle = 2,
    Ending = 3,
    Prepared = 4,
    ForcedCommit = 5,
    ForcedRollback = 6,
    TimedOut = 7,
}

use BranchState::{Attached, Ending, ForcedCommit, ForcedRollback, Free, Idle, Prepared, TimedOut};

impl BranchState {
    pub(crate) fn of(word: u64) -> BranchState {
        [Free, Attached, Idle, Ending, Prepared, ForcedCommit, ForcedRollback, TimedOut][(word & 7) as usize]
    }
}

pub(crate) fn owner_of(word: u64) -> u32 {
    (word >> 8) as u32
}

sga::sga_struct! {
    /// A branch.
    pub struct BranchEntry {
        /// The state, and the owner above it.
        pub(crate) word: AtomicU64,
        /// Odd while the entry has an identifier; each change means another identifier or none.
        pub(crate) serial: AtomicU64,
        /// Format, and the lengths of the two parts.
        pub(crate) head: AtomicU64,
        pub(crate) id: [AtomicU64; 16],
        /// The local transaction; 0 before it has changed anything.
        pub(crate) xid: AtomicU64,
        /// Seconds for which it may wait for a session, and the end of that time in nanoseconds of the monotonic clock.
        pub(crate) timeout_s: AtomicU64,
        pub(crate) deadline_ns: AtomicU64,
        pub(crate) user: AtomicU64,
        /// Wall-clock nanoseconds since 1970 of its beginning and of its last change of state.
        pub(crate) began_ns: AtomicU64,
        pub(crate) changed_ns: AtomicU64,
        /// 1: found prepared at a start.
        pub(crate) in_doubt: AtomicU64,
        /// Isolation, and the flags of the session's transaction.
        pub(crate) terms: AtomicU64,
        pub(crate) chain: [AtomicU64; 9],
        /// Sessions that have left it with changed rows of temporary tables.
        pub(crate) temporary: [AtomicU64; TEMPORARY_OWNERS],
    }
}

/// The place of the entries.
#[derive(Debug, Clone)]
pub(crate) struct BranchesLayout(SgaSlice<BranchEntry>);

impl BranchesLayout {
    /// One for each holder of enqueues.
    pub fn reserve(sga: &mut SgaBuilder, processes: u32) -> BranchesLayout {
        BranchesLayout(sga.reserve("global transactions", enqueue::holders_for(processes) as usize))
    }
}

/// The entries, as every process sees them.
pub(crate) struct Branches(&'static [BranchEntry]);

impl Branches {
    pub fn new(sga: &'static Sga, layout: &BranchesLayout) -> Branches {
        Branches(sga.slice(layout.0))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &'static BranchEntry)> + use<> {
        self.0.iter().enumerate().filter(|(_, e)| e.state() != Free)
    }

    pub(crate) fn find(&self, id: &GlobalId) -> Option<(usize, &'static BranchEntry)> {
        let head = id.head();
        self.all().find(|(_, e)| e.head.load(Ordering::Relaxed) == head && e.id() == Some(*id))
    }

    pub fn at(&self, n: usize) -> &'static BranchEntry {
        &self.0[n]
    }

    /// Claims an unused entry.
    pub(crate) fn claim(&self, p: &Process) -> Option<(usize, &'static BranchEntry)> {
        let found = self.0.iter().enumerate().find(|(_, e)| {
            let (free, claimed) = (word(0, Free), word(p.number(), Ending));
            e.word.load(Ordering::Relaxed) == free
                && e.word.compare_exchange(free, claimed, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        });
        faults::point("branch-claimed");
        found
    }

    /// Whether the user may have another branch.
    pub(crate) fn has_share(&self, user: u32, without_session: usize) -> bool {
        let (mut used, mut own, mut idle) = (0, 0, 0);
        for (_, e) in self.all() {
            let state = e.state();
            if matches!(state, Free | TimedOut) {
                continue;
            }
            let is_own = e.id().is_some() && e.user.load(Ordering::Relaxed) == u64::from(user);
            used += 1;
            own += usize::from(is_own);
            idle += usize::from(is_own && state != Attached);
        }
        own < self.0.len() - used && idle < without_session
    }
}

fn word(owner: u32, state: BranchState) -> u64 {
    u64::from(owner) << 8 | state as u64
}

impl BranchEntry {
    pub(crate) fn state(&self) -> BranchState {
        BranchState::of(self.word.load(Ordering::Acquire))
    }

    pub(crate) fn set(&self, owner: u32, state: BranchState) {
        self.changed_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
        self.word.store(word(owner, state), Ordering::SeqCst);
    }

    /// Frees the entry; called by its owner.
    pub(crate) fn free(&self) {
        if self.serial.load(Ordering::Relaxed) % 2 == 1 {
            self.serial.fetch_add(1, Ordering::SeqCst);
        }
        faults::point("branch-unnamed");
        self.xid.store(0, Ordering::Relaxed);
        self.set(0, Free);
    }

    /// The identifier at one moment; `None` for an entry without one, or when it changed during the read.
    pub(crate) fn id(&self) -> Option<GlobalId> {
        let serial = self.serial.load(Ordering::Acquire);
        let id = self.id_now();
        std::sync::atomic::fence(Ordering::Acquire);
        (serial % 2 == 1 && self.serial.load(Ordering::Relaxed) == serial).then_some(id)
    }

    fn id_now(&self) -> GlobalId {
        let head = self.head.load(Ordering::Relaxed);
        let mut id = GlobalId {
            format: head as u32,
            gtrid: ((head >> 32) as u8).min(PART_MAX as u8),
            bqual: ((head >> 40) as u8).min(PART_MAX as u8),
            bytes: [0; 2 * PART_MAX],
        };
        for (to, from) in id.bytes.chunks_exact_mut(8).zip(&self.id) {
            to.copy_from_slice(&from.load(Ordering::Relaxed).to_le_bytes());
        }
        id
    }

    pub(crate) fn set_id(&self, id: &GlobalId, terms: &BranchTerms) {
        // After the serial number that removed the previous identifier: readers check it.
        std::sync::atomic::fence(Ordering::Release);
        self.head.store(id.head(), Ordering::Relaxed);
        for (to, from) in self.id.iter().zip(id.bytes.chunks_exact(8)) {
            to.store(u64::from_le_bytes(from.try_into().unwrap_or_default()), Ordering::Relaxed);
        }
        self.timeout_s.store(terms.timeout_s.min(LONGEST_S).into(), Ordering::Relaxed);
        self.user.store(terms.user.into(), Ordering::Relaxed);
        self.began_ns.store(os::clock::wall_ns(), Ordering::Relaxed);
        self.in_doubt.store(0, Ordering::Relaxed);
        self.terms.store(0, Ordering::Relaxed);
        self.temporary.iter().for_each(|owner| owner.store(0, Ordering::Relaxed));
        self.put_chain(&Chain::default());
        self.serial.fetch_add(1, Ordering::SeqCst);
        faults::point("branch-named");
    }

    pub(crate) fn xid(&self) -> Option<Xid> {
        let bits = self.xid.load(Ordering::Acquire);
        (bits != 0).then(|| Xid::from_bits(bits))
    }

    pub(crate) fn put_chain(&self, c: &Chain) {
        let two = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
        let words = [
            two(c.first.0, c.last.0),
            two(c.before_last.0, c.seq),
            two(c.block_records.into(), c.free_bytes as u32),
            two(c.newest.rdba.0, c.newest.seq),
            two(c.slot_before.rdba.0, c.slot_before.seq),
            two(c.newest.rec.into(), c.slot_before.rec.into()),
            c.records,
            c.bytes,
            c.blocks.into(),
        ];
        self.chain.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
    }

    pub(crate) fn chain(&self) -> Chain {
        let w: [u64; 9] = std::array::from_fn(|n| self.chain[n].load(Ordering::Relaxed));
        let (high, low) = (|n: usize| (w[n] >> 32) as u32, |n: usize| w[n] as u32);
        Chain {
            first: Rdba(high(0)),
            last: Rdba(low(0)),
            before_last: Rdba(high(1)),
            seq: low(1),
            block_records: high(2) as u16,
            free_bytes: low(2) as usize,
            newest: Uba { rdba: Rdba(high(3)), seq: low(3), rec: high(5) as u8 },
            slot_before: Uba { rdba: Rdba(high(4)), seq: low(4), rec: low(5) as u8 },
            records: w[6],
            bytes: w[7],
            blocks: w[8] as u32,
        }
    }
}

/// The parameters of a new branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchTerms {
    /// Seconds for which it may wait for a session.
    pub timeout_s: u32,
    /// Number of the user that began it.
    pub user: u32,
}

/// A session, in an entry: its serial number, and its process below it.
pub(crate) fn session_word(p: &Process) -> u64 {
    p.serial() << 32 | u64::from(p.number())
}

/// Notes in the session that it has entered or left a branch.
pub(crate) fn note_distributed(p: &Process, id: Option<&GlobalId>) {
    let is = id.is_some_and(|id| id.format != SESSIONLESS);
    p.session().distributed.store(is.into(), Ordering::Relaxed);
}

/// Whether the session is in a branch that a coordinator ends.
pub(crate) fn is_distributed(p: &Process) -> bool {
    p.session().distributed.load(Ordering::Relaxed) != 0
}
