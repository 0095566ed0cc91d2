//! The structures in shared memory: parents, children, and the line of each process.
//!
//! A parent has the text of a statement (or the name of an object) and the list of its children. A child has the
//! properties that differ from its siblings', its figures and its plan. All fields are words; slots are referred to by
//! number, never by pointer.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::{Mutex, Versioned};
use sga::{SgaBuilder, SgaLayout, SgaSlice};

use crate::words::{load_bytes, load_text, now_s, store_bytes, store_name, store_text};
use crate::{Adaptive, Config, Delta, Digest, Env, NAME_BYTES_MAX, Namespace, PLAN_BYTES_MAX, TEXT_BYTES_MAX, sharing};

/// Largest number of objects noted as dependencies of a child; a child with more depends on every object.
pub(crate) const DEPENDS_MAX: usize = 15;
/// Largest number of hot statements.
pub(crate) const HOT_MAX: usize = 64;
/// Words of a chunk of an image.
const CHUNK_WORDS: usize = 31;
/// Bytes of a chunk of an image.
pub(crate) const CHUNK_BYTES: usize = CHUNK_WORDS * 8;
/// Chunks for each statement of the cache's size.
const CHUNKS_EACH: usize = 8;
/// Longest image, in chunks: the section that frees an image notes a change in each.
pub(crate) const CHUNKS_MOST: usize = 500;
/// Largest number of objects noted one by one.
pub(crate) const ANNOUNCED_MOST: usize = 15;
/// Units of a call that are noted by number.
pub(crate) const RUNNING_MOST: usize = 63;
/// Words of the bits that note further units.
pub(crate) const MORE_WORDS: usize = 32;
/// Units that one statement claims. For further ones it waits for no call.
pub(crate) const CLAIMED_MOST: usize = 63;
/// Entries of a process. A loop over more statements than that writes a shared line for each.
pub(crate) const LEDGER_ENTRIES: usize = 8;
/// Bytes kept of MODULE and ACTION.
const LABEL_BYTES: usize = 64;

/// A statement, or an object of another namespace. An unlinked parent belongs to the process that took it off the free
/// list.
#[repr(C, align(64))]
pub struct Parent {
    /// Changes with every statement in this slot; zero while the slot must not be read.
    pub(crate) life: AtomicU64,
    /// Next parent of the hash chain, or of the free list, plus one.
    pub(crate) chain: AtomicU64,
    /// The first child, plus one.
    pub(crate) children: AtomicU64,
    /// The number of the next child.
    pub(crate) next_number: AtomicU64,
    pub(crate) key: [AtomicU64; 2],
    /// [`About`].
    pub(crate) about: AtomicU64,
    /// Bytes kept of the text and of the owner's name, 16 bits each; bytes of the whole text.
    lengths: AtomicU64,
    /// The object number, for namespaces other than that of statements.
    pub(crate) object: AtomicU64,
    pub(crate) loads: AtomicU64,
    pub(crate) invalidations: AtomicU64,
    first_load_s: AtomicU64,
    pub(crate) last_active_s: AtomicU64,
    owner: [AtomicU64; NAME_BYTES_MAX / 8],
    /// `Library Cache` of the handle.
    pub(crate) handle: Mutex,
    /// `Cursor Parent`.
    pub(crate) parent: Mutex,
    /// `hash table` of the children.
    pub(crate) table: Mutex,
    text: [AtomicU64; TEXT_BYTES_MAX / 8],
}

/// A child cursor: one version of a statement, shared by sessions.
#[repr(C, align(64))]
pub struct Child {
    /// Changes with every cursor in this slot; zero while the slot must not be read.
    pub(crate) life: AtomicU64,
    /// The next sibling, or the next of the free list, plus one.
    pub(crate) next: AtomicU64,
    pub(crate) parent: AtomicU64,
    pub(crate) number: AtomicU64,
    /// [`state`].
    pub(crate) state: AtomicU64,
    /// References in the designs with pin latches.
    pub(crate) references: AtomicU64,
    /// `Cursor Pin`.
    pub(crate) pin: Mutex,
    pub(crate) user: AtomicU64,
    pub(crate) schema: [AtomicU64; NAME_BYTES_MAX / 8],
    pub(crate) optimizer: AtomicU64,
    pub(crate) nls: AtomicU64,
    /// [`crate::Env::auth`].
    pub(crate) auth: AtomicU64,
    pub(crate) binds: AtomicU64,
    /// Why the sibling before it could not be shared: bits of [`crate::Mismatch`].
    pub(crate) mismatch: AtomicU64,
    pub(crate) loads: AtomicU64,
    pub(crate) invalidations: AtomicU64,
    pub(crate) first_load_s: AtomicU64,
    pub(crate) load_s: AtomicU64,
    pub(crate) last_active_s: AtomicU64,
    pub(crate) figures: Figures,
    /// The first chunk of the image plus one, 0 for none; the bytes of the image.
    pub(crate) image: AtomicU64,
    pub(crate) image_bytes: AtomicU64,
    /// The image that was left out: [`crate::image::LeftOutImage`].
    pub(crate) left_out: AtomicU64,
    /// The first chunk of the figures of the operations plus one, 0 for none; the number of operations.
    pub(crate) run: AtomicU64,
    pub(crate) run_lines: AtomicU64,
    /// The second from which on the child is not shared, because statistics of its plan have changed. 0: none.
    pub(crate) roll_s: AtomicU64,
    /// The edition whose image was found valid in a dictionary epoch: [`Known`].
    pub(crate) known: AtomicU64,
    /// Odd while the words below are being written.
    pub(crate) edition: AtomicU64,
    plan_hash: AtomicU64,
    /// Bytes of the plan, module, action and mode, 16 bits each.
    lengths: AtomicU64,
    /// Sharing by the values of binds.
    pub(crate) adaptive: sharing::Words,
    depends: [AtomicU64; DEPENDS_MAX + 1],
    module: [AtomicU64; LABEL_BYTES / 8],
    action: [AtomicU64; LABEL_BYTES / 8],
    mode: [AtomicU64; 2],
    plan: [AtomicU64; PLAN_BYTES_MAX / 8],
}

/// A piece of an image or of the figures. It is on the free list or in one chain of a child.
#[repr(C, align(64))]
pub struct Chunk {
    /// The next of the image, or of the free list, plus one.
    pub(crate) next: AtomicU64,
    pub(crate) words: [AtomicU64; CHUNK_WORDS],
}

/// The states of a linked child.
///
/// | state | set by | shared with |
/// |---|---|---|
/// | VALID | a load | sessions with the same environment |
/// | INVALID | DDL on what it depends on; a purge while it is pinned | nobody; loaded again in place when not pinned |
/// | OBSOLETE | a load that found it out of date and pinned | nobody; removed when its pins have ended |
/// | UNSHARED | a load for other bind values or with corrections | nobody |
pub(crate) mod state {
    pub const VALID: u64 = 1;
    pub const INVALID: u64 = 2;
    pub const OBSOLETE: u64 = 3;
    pub const UNSHARED: u64 = 4;
}

/// The figures of a cursor, without those that stand in the ledgers of processes ([`crate::ledger`]).
#[derive(Default)]
#[repr(C, align(64))]
pub struct Figures {
    words: [AtomicU64; Delta::WORDS],
}

/// The fixed part.
#[repr(C, align(64))]
pub struct Control {
    pub(crate) parents_free: AtomicU64,
    pub(crate) parents_fresh: AtomicU64,
    pub(crate) children_free: AtomicU64,
    pub(crate) children_fresh: AtomicU64,
    pub(crate) chunks_free: AtomicU64,
    pub(crate) chunks_fresh: AtomicU64,
    /// Chunks of images in use.
    pub(crate) chunks_used: AtomicU64,
    /// Chunks freed since start-up, for differences.
    pub(crate) chunks_freed: AtomicU64,
    pub(crate) life: AtomicU64,
    /// Where the next search for a victim begins.
    pub(crate) parent_hand: AtomicU64,
    pub(crate) child_hand: AtomicU64,
    pub(crate) hot_count: AtomicU64,
    pub(crate) hot: [[AtomicU64; 2]; HOT_MAX],
    /// Processes that have claimed units ([`crate::running`]).
    pub(crate) claimers: AtomicU64,
    /// INVALIDATIONS by namespace.
    pub(crate) invalidations: [AtomicU64; Namespace::COUNT],
}

/// A hash bucket.
#[repr(C)]
pub struct Bucket {
    /// `Library Cache` of the bucket.
    pub(crate) mutex: Mutex,
    pub(crate) head: AtomicU64,
}

/// The counts of one process by namespace. They continue when another process takes the slot.
#[repr(C, align(64))]
pub struct Line {
    pub(crate) gets: [AtomicU64; Namespace::COUNT],
    pub(crate) get_hits: [AtomicU64; Namespace::COUNT],
    pub(crate) pins: [AtomicU64; Namespace::COUNT],
    pub(crate) pin_hits: [AtomicU64; Namespace::COUNT],
    pub(crate) reloads: [AtomicU64; Namespace::COUNT],
    /// The objects changed by the commit in progress: their count, and each ([`crate::announce`]).
    pub(crate) announced: [AtomicU64; 1 + ANNOUNCED_MOST],
    /// The stored units that the call in progress runs: their count, and each ([`crate::running`]).
    pub(crate) running: [AtomicU64; 1 + RUNNING_MOST],
    /// Bits for units beyond that list.
    pub(crate) more: [AtomicU64; MORE_WORDS],
    /// The units that the statement in progress defines: their count, and each.
    pub(crate) claimed: [AtomicU64; 1 + CLAIMED_MOST],
    /// The unit that the process waits for, and the purpose.
    pub(crate) awaited: AtomicU64,
}

/// The figures of one child, counted by one process, that are not part of the child's own yet.
#[repr(C, align(64))]
pub struct LedgerEntry {
    /// Odd during a move.
    pub(crate) version: AtomicU64,
    /// The child's number plus one; 0 for none.
    pub(crate) child: AtomicU64,
    /// The child's life. An entry of another life than the child's is worth nothing.
    pub(crate) life: AtomicU64,
    pub(crate) last_active_s: AtomicU64,
    pub(crate) figures: [AtomicU64; Delta::WORDS],
}

#[allow(unsafe_code)]
mod shared {
    use super::*;
    // SAFETY: `repr(C)`, atomics and mutexes (atomics too) only, valid for every bit pattern.
    unsafe impl SgaLayout for Parent {}
    // SAFETY: as above.
    unsafe impl SgaLayout for Child {}
    // SAFETY: as above.
    unsafe impl SgaLayout for Chunk {}
    // SAFETY: as above.
    unsafe impl SgaLayout for Control {}
    // SAFETY: as above.
    unsafe impl SgaLayout for Bucket {}
    // SAFETY: as above.
    unsafe impl SgaLayout for Line {}
    // SAFETY: as above.
    unsafe impl SgaLayout for LedgerEntry {}
}

/// Where the library cache lies in the SGA.
pub struct Layout {
    pub(crate) control: SgaSlice<Control>,
    pub(crate) parents: SgaSlice<Parent>,
    pub(crate) children: SgaSlice<Child>,
    pub(crate) chunks: SgaSlice<Chunk>,
    pub(crate) buckets: SgaSlice<Bucket>,
    pub(crate) latches: SgaSlice<Versioned>,
    pub(crate) pin_latches: SgaSlice<latch::Latch>,
    pub(crate) lines: SgaSlice<Line>,
    pub(crate) ledgers: SgaSlice<LedgerEntry>,
    pub(crate) cursors: SgaSlice<AtomicU64>,
    pub(crate) advice: cache_advice::ReuseLayout,
}

impl Layout {
    /// Reserves the areas.
    pub fn reserve(builder: &mut SgaBuilder, config: &Config) -> Layout {
        let parents = config.entries.max(16) as usize;
        let latches = config.latches.max(1) as usize;
        let processes = config.processes.max(1) as usize;
        Layout {
            control: builder.reserve("library cache: fixed", 1),
            parents: builder.reserve("library cache: statements", parents),
            children: builder.reserve("library cache: cursors", parents + parents / 2),
            chunks: builder.reserve("library cache: images", parents * CHUNKS_EACH),
            buckets: builder.reserve("library cache: hash table", (parents * 2).next_power_of_two()),
            latches: builder.reserve("library cache: latches", latches),
            pin_latches: builder.reserve("library cache: pin latches", latches),
            lines: builder.reserve("library cache: processes", processes),
            ledgers: builder.reserve("library cache: figures of processes", processes * LEDGER_ENTRIES),
            cursors: builder.reserve("library cache: open cursors", processes * config.cursors.max(8) as usize),
            advice: cache_advice::ReuseLayout::reserve(builder, "simulator of the shared pool", processes),
        }
    }
}

/// The properties of a parent: the word `about`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub namespace: u8,
    /// The number of the copy of a hot statement; 0 is the statement itself.
    pub copy: u8,
    /// The command of a statement, or the TYPE# of another object.
    pub command: u16,
    /// DBMS_SHARED_POOL.KEEP.
    pub kept: bool,
    /// The entry of an object is out of date.
    pub stale: bool,
}

impl About {
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.namespace)
            | u64::from(self.copy) << 8
            | u64::from(self.command) << 16
            | u64::from(self.kept) << 32
            | u64::from(self.stale) << 33
    }

    pub(crate) fn unpack(word: u64) -> About {
        About {
            namespace: word as u8,
            copy: (word >> 8) as u8,
            command: (word >> 16) as u16,
            kept: word >> 32 & 1 != 0,
            stale: word >> 33 & 1 != 0,
        }
    }
}

/// The content that a load gives a cursor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Content<'a> {
    /// The rows of the plan, in the executor's format; left out when longer than [`PLAN_BYTES_MAX`].
    pub plan: &'a [u8],
    pub plan_hash: u32,
    /// The image that other sessions make the cursor of, in the executor's format. Empty: they compile the statement.
    pub image: &'a [u8],
    /// The objects that the plan depends on.
    pub depends: &'a [u32],
    pub module: &'a str,
    pub action: &'a str,
    /// OPTIMIZER_MODE.
    pub mode: &'a str,
    /// Sharing by the values of binds.
    pub adaptive: Adaptive<'a>,
    /// Why children of other users, schemas or rights could not be shared: bits of [`crate::Mismatch`].
    pub refused: u64,
}

/// The part of a cursor that a load replaces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loaded {
    pub plan: Vec<u8>,
    pub plan_hash: u32,
    pub module: String,
    pub action: String,
    pub mode: String,
}

impl Figures {
    /// Adds to one figure, by its place among the words of [`Delta`].
    pub(crate) fn add_word(&self, n: usize, more: u64) {
        if more > 0 {
            self.words[n].fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(crate) fn read(&self) -> Delta {
        Delta::of_words(std::array::from_fn(|n| self.words[n].load(Ordering::Relaxed)))
    }

    fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

impl Parent {
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_halves(self.key[0].load(Ordering::Relaxed), self.key[1].load(Ordering::Relaxed))
    }

    pub(crate) fn about(&self) -> About {
        About::unpack(self.about.load(Ordering::Relaxed))
    }

    /// Writes a statement, or an object with its number, into an unlinked parent.
    pub(crate) fn fill(&self, digest: Digest, text: &str, owner: &str, about: About, object: u32) {
        let (low, high) = digest.halves();
        self.key[0].store(low, Ordering::Relaxed);
        self.key[1].store(high, Ordering::Relaxed);
        let kept = store_text(&self.text, text) as u64;
        let owner = store_text(&self.owner, owner) as u64;
        self.lengths.store(kept | owner << 16 | (text.len().min(0xffff_ffff) as u64) << 32, Ordering::Relaxed);
        self.about.store(about.pack(), Ordering::Relaxed);
        let now = now_s();
        for (word, value) in [
            (&self.children, 0),
            (&self.next_number, 0),
            (&self.object, object.into()),
            // The loads of a statement are counted in its children.
            (&self.loads, u64::from(about.namespace != Namespace::SqlArea as u8)),
            (&self.invalidations, 0),
            (&self.first_load_s, now),
            (&self.last_active_s, now),
        ] {
            word.store(value, Ordering::Relaxed);
        }
        // Pairs with the Acquire load of the life by readers without a latch.
        fence(Ordering::Release);
    }

    pub(crate) fn text(&self) -> String {
        load_text(&self.text, self.lengths.load(Ordering::Relaxed) as u16 as usize)
    }

    pub(crate) fn owner(&self) -> String {
        load_text(&self.owner, (self.lengths.load(Ordering::Relaxed) >> 16) as u16 as usize)
    }

    pub(crate) fn first_load_s(&self) -> u64 {
        self.first_load_s.load(Ordering::Relaxed)
    }
}

impl Child {
    /// Begins a new life of an unlinked child.
    pub(crate) fn begin(&self, env: &Env<'_>, parent: u64, number: u64) {
        store_name(&self.schema, env.schema);
        let now = now_s();
        for (word, value) in [
            (&self.parent, parent),
            (&self.number, number),
            (&self.references, 0),
            (&self.user, u64::from(env.user)),
            (&self.optimizer, env.optimizer),
            (&self.nls, env.nls),
            (&self.auth, env.auth),
            (&self.binds, env.binds),
            (&self.mismatch, 0),
            (&self.loads, 0),
            (&self.invalidations, 0),
            (&self.first_load_s, now),
            (&self.last_active_s, now),
        ] {
            word.store(value, Ordering::Relaxed);
        }
        self.figures.clear();
    }

    /// Begins to write a load; returns the odd edition.
    pub(crate) fn begin_fill(&self) -> u64 {
        let odd = self.edition.load(Ordering::Relaxed) | 1;
        self.edition.store(odd, Ordering::Relaxed);
        fence(Ordering::Release); // pairs with the Acquire fences in `loaded` and `image`
        odd
    }

    /// Writes a load, except for the image. The caller keeps other writers out.
    pub(crate) fn fill(&self, content: &Content<'_>, odd: u64) {
        let plan = if content.plan.len() <= PLAN_BYTES_MAX { content.plan } else { &[] };
        store_bytes(&self.plan, plan);
        let (module, action) = (store_text(&self.module, content.module), store_text(&self.action, content.action));
        let mode = store_text(&self.mode, content.mode);
        let lengths = plan.len() | module << 16 | action << 32 | mode << 48;
        self.lengths.store(lengths as u64, Ordering::Relaxed);
        self.plan_hash.store(content.plan_hash.into(), Ordering::Relaxed);
        let count = if content.depends.len() > DEPENDS_MAX { u64::MAX } else { content.depends.len() as u64 };
        self.depends[0].store(count, Ordering::Relaxed);
        for (word, object) in self.depends[1..].iter().zip(content.depends) {
            word.store(u64::from(*object), Ordering::Relaxed);
        }
        self.adaptive.fill(&content.adaptive);
        self.roll_s.store(0, Ordering::Relaxed);
        self.load_s.store(now_s(), Ordering::Relaxed);
        self.edition.store(odd + 1, Ordering::Release); // pairs with the Acquire loads in `loaded` and `image`
    }

    /// Whether the second at which sharing ends has passed (L19).
    pub(crate) fn has_rolled(&self) -> bool {
        let end = self.roll_s.load(Ordering::Relaxed);
        end != 0 && now_s() >= end
    }

    /// PLAN_HASH_VALUE. The caller keeps writers out.
    pub(crate) fn plan_hash(&self) -> u32 {
        self.plan_hash.load(Ordering::Relaxed) as u32
    }

    /// The part that [`Self::fill`] wrote; `None` while it is being written.
    pub(crate) fn loaded(&self) -> Option<Loaded> {
        let before = self.edition.load(Ordering::Acquire);
        let lengths = self.lengths.load(Ordering::Relaxed);
        let length = |n: u32| (lengths >> (16 * n)) as u16 as usize;
        let loaded = Loaded {
            plan: load_bytes(&self.plan, length(0)),
            plan_hash: self.plan_hash.load(Ordering::Relaxed) as u32,
            module: load_text(&self.module, length(1)),
            action: load_text(&self.action, length(2)),
            mode: load_text(&self.mode, length(3)),
        };
        fence(Ordering::Acquire); // pairs with the Release fence in `fill`
        (before.is_multiple_of(2) && self.edition.load(Ordering::Relaxed) == before).then_some(loaded)
    }

    /// Whether the plan depends on one of these objects.
    pub(crate) fn depends_on(&self, objects: &[u32]) -> bool {
        let count = self.depends[0].load(Ordering::Relaxed);
        if count > DEPENDS_MAX as u64 {
            return true;
        }
        let own = &self.depends[1..1 + count as usize];
        own.iter().any(|d| objects.contains(&(d.load(Ordering::Relaxed) as u32)))
    }

    pub(crate) fn schema(&self) -> String {
        let bytes: Vec<u8> = self.schema.iter().flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect();
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }
}
