//! The data of the views, read without latches (L3); and the check of the invariants.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::reference::{HELD, STAGE};
use process::{Process, SessionStatus};

use crate::image::{LeftOut, LeftOutImage};
use crate::key::Key;
use crate::layout::{Child, Parent, state};
use crate::ledger::Ledgers;
use crate::pin::{BY_LATCH, BY_MUTEX, MARKS, PAUSED, Seen};
use crate::{Delta, Digest, Handle, LibraryCache, LineFigures, Namespace};

/// A row of `v$sqlarea`, or of `v$db_object_cache`.
#[derive(Clone, Debug)]
pub struct ParentRow {
    pub address: u64,
    pub digest: Digest,
    pub namespace: Namespace,
    /// The number of the copy of a hot statement; 0 is the statement itself.
    pub copy: u8,
    pub command: u32,
    /// The first 4000 bytes of the text; the name of an object that is not a statement.
    pub text: String,
    /// The owner, or the schema that parsed it first.
    pub owner: String,
    pub object: u32,
    pub loads: u64,
    pub invalidations: u64,
    pub kept: bool,
    pub hot: bool,
    pub stale: bool,
    pub first_load_s: u64,
    pub last_active_s: u64,
    /// By number.
    pub children: Vec<ChildRow>,
}

/// A row of `v$sql`.
#[derive(Clone, Debug)]
pub struct ChildRow {
    pub address: u64,
    pub number: u64,
    pub user: u32,
    pub schema: String,
    pub optimizer: u64,
    /// OBJECT_STATUS.
    pub status: &'static str,
    /// Bits of [`crate::Mismatch`].
    pub mismatch: u64,
    /// Why the child has no image.
    pub left_out: Option<LeftOut>,
    /// SHARABLE_MEM: the child and its image.
    pub memory_bytes: u64,
    pub loads: u64,
    pub invalidations: u64,
    pub first_load_s: u64,
    pub load_s: u64,
    pub last_active_s: u64,
    pub figures: Delta,
    pub plan_hash: u32,
    pub plan: Vec<u8>,
    /// The figures of its operations, by number; empty when no session has counted.
    pub run: Vec<LineFigures>,
    pub module: String,
    pub action: String,
    pub mode: String,
    /// USERS_EXECUTING.
    pub executing: u64,
    /// USERS_OPENING.
    pub opening: u64,
    /// IS_SHAREABLE.
    pub is_shareable: bool,
    /// Sharing by the values of binds.
    pub sharing: crate::SharingRow,
}

/// COMMAND_TYPE of blocks: PL/SQL and CALL.
const BLOCKS: [u64; 2] = [47, 170];

/// A shared cursor in `v$session`.
#[derive(Clone, Copy, Debug)]
pub struct SessionCursor {
    pub digest: Digest,
    /// The address of the statement.
    pub address: u64,
    /// Oracle's number of the statement's kind.
    pub command: u64,
    /// The number of the child.
    pub child: u64,
    /// SQL_EXEC_ID, and when the execution began, in monotonic nanoseconds, coarse.
    pub execution: [u64; 2],
    /// Its index among the children, for [`LibraryCache::plan_hash`].
    at: usize,
}

/// A row of `v$librarycache`.
#[derive(Clone, Copy, Debug)]
pub struct NamespaceRow {
    pub namespace: Namespace,
    pub gets: u64,
    pub get_hits: u64,
    pub pins: u64,
    pub pin_hits: u64,
    pub reloads: u64,
    pub invalidations: u64,
}

/// A row of `v$open_cursor`.
#[derive(Clone, Debug)]
pub struct OpenCursor {
    pub sid: u32,
    pub digest: Digest,
    pub address: u64,
    /// The first 60 bytes of the text.
    pub text: String,
    pub last_active_s: u64,
    /// Whether the cursor is closed and kept, rather than open.
    pub kept: bool,
    pub child: u64,
}

impl ParentRow {
    /// The sum of the figures of all children.
    pub fn figures(&self) -> Delta {
        let mut all = Delta::default();
        self.children.iter().for_each(|child| all.add(&child.figures));
        all
    }

    /// Bytes of shared memory of the parent and its children.
    pub fn memory_bytes(&self) -> u64 {
        size_of::<Parent>() as u64 + self.children.iter().map(|child| child.memory_bytes).sum::<u64>()
    }
}

/// Bytes of shared memory of a statement with one child.
pub fn statement_bytes() -> u64 {
    (size_of::<Parent>() + size_of::<Child>()) as u64
}

/// Bytes of shared memory of a child's image and of the figures of its operations.
fn memory_of(child: &Child) -> usize {
    let chunks = crate::image::chunks_of(get(&child.image_bytes) as usize) + get(&child.run_lines) as usize;
    chunks * size_of::<crate::layout::Chunk>()
}

fn get(word: &AtomicU64) -> u64 {
    word.load(Ordering::Relaxed)
}

impl LibraryCache {
    /// All statements and other objects with their children. Takes no latch; an entry that is being replaced is left
    /// out.
    pub fn rows(&self) -> Vec<ParentRow> {
        // Before the figures of the children.
        let ledgers = Ledgers::read(self.ledgers);
        let (executing, opening) = self.users();
        let waits = self.waits_in_progress();
        let mut children: BTreeMap<(u64, u64), Vec<ChildRow>> = BTreeMap::new();
        for (at, child) in self.children_used().iter().enumerate() {
            let users = |of: &BTreeMap<usize, u64>| of.get(&at).copied().unwrap_or(0);
            if let Some((parent, mut row)) = self.child_row(at, child, &ledgers, [users(&executing), users(&opening)]) {
                row.figures.add(&waits.get(&at).copied().unwrap_or_default());
                children.entry(parent).or_default().push(row);
            }
        }
        let row = |(at, parent): (usize, &Parent)| {
            let life = parent.life.load(Ordering::Acquire);
            let mut row = self.parent_row(parent, life)?;
            row.children = children.remove(&(at as u64, life)).unwrap_or_default();
            row.children.sort_by_key(|child| child.number);
            row.last_active_s = row.children.iter().map(|child| child.last_active_s).fold(row.last_active_s, u64::max);
            Some(row)
        };
        self.parents_used().iter().enumerate().filter_map(row).collect()
    }

    /// All statements: the rows of `v$sqlarea`.
    pub fn statements(&self) -> impl Iterator<Item = ParentRow> {
        self.rows().into_iter().filter(|row| row.namespace == Namespace::SqlArea)
    }

    /// One statement, without its hot copies.
    pub fn statement(&self, digest: Digest) -> Option<ParentRow> {
        self.statements().find(|row| row.digest == digest && row.copy == 0)
    }

    /// The statement of a session's cursor, and the number of the child.
    pub fn identify(&self, handle: Handle) -> Option<(Digest, u64)> {
        let child = self.children.get(handle.child as usize)?;
        let parent = self.parents.get(get(&child.parent) as usize)?;
        let found = (parent.digest(), get(&child.number));
        fence(Ordering::Acquire);
        (get(&child.life) == handle.life).then_some(found)
    }

    /// The current cursor of a session, and the previous one. In a PL/SQL block the current cursor is the statement
    /// that runs inside it, or else the block itself. A cursor that is gone is `None`.
    pub fn session_cursors(&self, sid: u32) -> (Option<SessionCursor>, Option<SessionCursor>) {
        let Some(session) = self.all.session(sid) else { return (None, None) };
        let (now, before) = (get(&session.cursor), get(&session.previous_cursor));
        let executed = |words: &[AtomicU64; 2]| [get(&words[0]), get(&words[1])];
        let runs =
            |word: u64, of: &[AtomicU64; 2]| self.named(word, executed(of)).filter(|_| self.is_pinned(sid, word));
        let found = if now & PAUSED == 0 { runs(now, &session.execution) } else { None };
        let found = found.or_else(|| runs(get(&session.block), &session.block_execution));
        (found, self.named(before, executed(&session.previous_execution)))
    }

    /// The outermost statement of a session's call, without the number and start of its execution.
    pub fn top_cursor(&self, sid: u32) -> Option<SessionCursor> {
        let top = get(&self.all.session(sid)?.top);
        self.named(top, [0, 0]).filter(|_| self.is_pinned(sid, top))
    }

    /// Whether the session's hint is right: the child is pinned in its row of words (L9).
    fn is_pinned(&self, sid: u32, what: u64) -> bool {
        let same = |word: u64| word & STAGE == HELD && word & !MARKS == what;
        self.cursors_of(sid).iter().any(|word| same(word.load(Ordering::Acquire)))
    }

    /// All cursors that a session executes, nested in one another, in no particular order.
    pub fn executing(&self, sid: u32) -> Vec<SessionCursor> {
        let words = self.cursors_of(sid).iter().map(|word| word.load(Ordering::Acquire));
        words.filter(|word| word & STAGE == HELD).filter_map(|word| self.named(word & !MARKS, [0, 0])).collect()
    }

    /// PLAN_HASH_VALUE of a child, if it is still the same child.
    pub fn plan_hash(&self, cursor: &SessionCursor) -> Option<u32> {
        let loaded = self.children.get(cursor.at)?.loaded()?;
        Some(loaded.plan_hash)
    }

    /// The statement that a session's word refers to.
    fn named(&self, word: u64, execution: [u64; 2]) -> Option<SessionCursor> {
        let seen = Seen::of(word)?;
        let child = self.children.get(seen.child)?;
        let life = child.life.load(Ordering::Acquire);
        let parent = self.parents.get(get(&child.parent) as usize)?;
        let found = SessionCursor {
            digest: parent.digest(),
            address: std::ptr::from_ref(parent) as u64,
            command: parent.about().command.into(),
            child: get(&child.number),
            execution,
            at: seen.child,
        };
        fence(Ordering::Acquire);
        (get(&child.life) == life && seen.is_life(life)).then_some(found)
    }

    fn parent_row(&self, parent: &Parent, life: u64) -> Option<ParentRow> {
        if life == 0 {
            return None;
        }
        let about = parent.about();
        let digest = parent.digest();
        let row = ParentRow {
            address: std::ptr::from_ref(parent) as u64,
            digest,
            namespace: Namespace::of(about.namespace),
            copy: about.copy,
            command: about.command.into(),
            text: parent.text(),
            owner: parent.owner(),
            object: get(&parent.object) as u32,
            loads: get(&parent.loads),
            invalidations: get(&parent.invalidations),
            kept: about.kept,
            hot: self.is_hot(digest),
            stale: about.stale,
            first_load_s: parent.first_load_s(),
            last_active_s: get(&parent.last_active_s),
            children: Vec::new(),
        };
        fence(Ordering::Acquire);
        (get(&parent.life) == life).then_some(row)
    }

    /// A child with its parent, and that parent's life.
    fn child_row(
        &self,
        at: usize,
        child: &Child,
        ledgers: &Ledgers,
        [executing, opening]: [u64; 2],
    ) -> Option<((u64, u64), ChildRow)> {
        let life = child.life.load(Ordering::Acquire);
        if life == 0 {
            return None;
        }
        let counted = ledgers.sum((at, life), &child.figures);
        let parent_at = get(&child.parent);
        let parent_life = self.parents.get(parent_at as usize)?.life.load(Ordering::Acquire);
        let loaded = child.loaded().unwrap_or_default();
        let row = ChildRow {
            address: std::ptr::from_ref(child) as u64,
            number: get(&child.number),
            user: get(&child.user) as u32,
            schema: child.schema(),
            optimizer: get(&child.optimizer),
            status: match get(&child.state) {
                state::VALID | state::UNSHARED => "VALID",
                state::INVALID => "INVALID_UNAUTH",
                _ => "OBSOLETE",
            },
            mismatch: get(&child.mismatch),
            left_out: LeftOutImage::of(child).why(),
            memory_bytes: (size_of::<Child>() + memory_of(child)) as u64,
            loads: get(&child.loads),
            invalidations: get(&child.invalidations),
            first_load_s: get(&child.first_load_s),
            load_s: get(&child.load_s),
            last_active_s: get(&child.last_active_s).max(counted.last_active_s),
            figures: counted.figures,
            plan_hash: loaded.plan_hash,
            plan: loaded.plan,
            run: self.run_of(child),
            module: loaded.module,
            action: loaded.action,
            mode: loaded.mode,
            executing,
            opening,
            is_shareable: get(&child.state) == state::VALID,
            sharing: child.adaptive.row(),
        };
        fence(Ordering::Acquire);
        (get(&child.life) == life).then_some(((parent_at, parent_life), row))
    }

    /// By child, the number of sessions that execute it and of those that have it open.
    fn users(&self) -> (BTreeMap<usize, u64>, BTreeMap<usize, u64>) {
        let (mut executing, mut opening) = (BTreeMap::new(), BTreeMap::new());
        for (_, seen) in self.seen_cursors() {
            if seen.stage == HELD {
                *executing.entry(seen.child).or_default() += 1;
            }
            if !seen.kept {
                *opening.entry(seen.child).or_default() += 1;
            }
        }
        (executing, opening)
    }

    /// By child, the time of waits in progress, which no session has added to the figures yet. A wait belongs to the
    /// statement that runs and to the blocks around it.
    fn waits_in_progress(&self) -> BTreeMap<usize, Delta> {
        let mut waits: BTreeMap<usize, Delta> = BTreeMap::new();
        let now_ns = os::clock::now_ns();
        for (number, _) in self.all.live() {
            let (Some(session), Some(slot)) = (self.all.session(number), self.all.wait_slot(number)) else { continue };
            let wait = slot.view(now_ns).filter(|wait| wait.state == wait::WaitState::Waiting);
            let Some(wait) = wait.filter(|_| session.status() != SessionStatus::Inactive) else { continue };
            let charged = wait::CHARGED.map(|class| if class == wait.event.class() { wait.wait_us } else { 0 });
            let runs = get(&session.cursor);
            for word in self.cursors_of(number).iter().map(|word| word.load(Ordering::Acquire)) {
                let Some(seen) = Seen::of(word).filter(|seen| seen.stage == HELD) else { continue };
                let is_block = || self.named(word & !MARKS, [0, 0]).is_some_and(|c| BLOCKS.contains(&c.command));
                let is_there = || self.children.get(seen.child).is_some_and(|c| seen.is_life(get(&c.life)));
                if (word & !MARKS == runs && is_there()) || is_block() {
                    let all = waits.entry(seen.child).or_default();
                    all.elapsed_us += wait.wait_us;
                    all.add_waits(charged);
                }
            }
        }
        waits
    }

    /// The children with executions that they do not count, in order: their pins began in the versioned design.
    pub(crate) fn running(&self) -> Vec<usize> {
        let uncounted = self.seen_cursors().into_iter().filter(|(_, seen)| seen.stage == HELD && seen.kind == 0);
        uncounted.map(|(_, seen)| seen.child).collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// The cursors of all living processes whose children are still there.
    fn seen_cursors(&self) -> Vec<(u32, Seen)> {
        let mut all = Vec::new();
        for (number, _) in self.all.live() {
            for word in self.cursors_of(number) {
                let seen = Seen::of(word.load(Ordering::Acquire));
                let is_there = |seen: &Seen| self.children.get(seen.child).is_some_and(|c| seen.is_life(get(&c.life)));
                all.extend(seen.filter(is_there).map(|seen| (number, seen)));
            }
        }
        all
    }

    /// The rows of `v$open_cursor`.
    pub fn open_cursors(&self) -> Vec<OpenCursor> {
        let row = |(sid, seen): (u32, Seen)| {
            let child = &self.children[seen.child];
            let life = child.life.load(Ordering::Acquire);
            let parent = self.parents.get(get(&child.parent) as usize)?;
            let row = OpenCursor {
                sid,
                digest: parent.digest(),
                address: std::ptr::from_ref(parent) as u64,
                text: parent.text().chars().take(60).collect(),
                last_active_s: get(&child.last_active_s),
                kept: seen.kept,
                child: get(&child.number),
            };
            fence(Ordering::Acquire);
            (get(&child.life) == life && seen.is_life(life)).then_some(row)
        };
        self.seen_cursors().into_iter().filter_map(row).collect()
    }

    /// The numbers of open cursors of one process, and of closed cursors that it keeps.
    pub fn cursor_counts(&self, number: u32) -> (u64, u64) {
        let seen = self.cursors_of(number).iter().filter_map(|word| Seen::of(get(word)));
        seen.fold((0, 0), |(open, kept), seen| if seen.kept { (open, kept + 1) } else { (open + 1, kept) })
    }

    /// The rows of `v$librarycache`.
    pub fn namespaces(&self) -> Vec<NamespaceRow> {
        let row = |namespace: Namespace| {
            let n = namespace as usize;
            let sum = |of: fn(&crate::Line, usize) -> u64| self.lines.iter().map(|line| of(line, n)).sum();
            NamespaceRow {
                namespace,
                gets: sum(|line, n| get(&line.gets[n])),
                get_hits: sum(|line, n| get(&line.get_hits[n])),
                pins: sum(|line, n| get(&line.pins[n])),
                pin_hits: sum(|line, n| get(&line.pin_hits[n])),
                reloads: sum(|line, n| get(&line.reloads[n])),
                invalidations: get(&self.control.invalidations[n]),
            }
        };
        Namespace::ALL.into_iter().map(row).collect()
    }

    /// Gets of all mutexes since start-up: buckets and handles, parents, hash tables, pins.
    pub fn mutex_gets(&self) -> [u64; 4] {
        [
            self.buckets.iter().map(|b| b.mutex.gets()).sum::<u64>()
                + self.parents_used().iter().map(|p| p.handle.gets()).sum::<u64>(),
            self.parents_used().iter().map(|p| p.parent.gets()).sum(),
            self.parents_used().iter().map(|p| p.table.gets()).sum(),
            self.children_used().iter().map(|c| c.pin.gets()).sum(),
        ]
    }

    /// Checks the invariants while nothing changes.
    ///
    /// # Errors
    /// The broken invariant.
    pub fn assert_invariants(&self) -> Result<(), String> {
        let fresh = (get(&self.control.parents_fresh), get(&self.control.children_fresh));
        let (mut parents, mut children) = (HashSet::new(), HashSet::new());
        for bucket in 0..self.buckets.len() {
            let mut link = get(&self.buckets[bucket].head);
            while let Some(at) = link.checked_sub(1) {
                let parent = self.parents.get(at as usize).ok_or_else(|| format!("no parent {at}"))?;
                if !parents.insert(at) {
                    return Err(format!("parent {at} is in two places"));
                }
                if get(&parent.life) == 0 || self.bucket(&Key::of(parent)) != bucket {
                    return Err(format!("parent {at} is in bucket {bucket} by mistake"));
                }
                self.check_children(parent, at, &mut children)?;
                link = get(&parent.chain);
            }
        }
        free_list(&self.control.parents_free, fresh.0, &mut parents, |at| {
            let parent = &self.parents[at as usize];
            (&parent.chain, get(&parent.life))
        })?;
        let linked: Vec<u64> = children.iter().copied().collect();
        free_list(&self.control.children_free, fresh.1, &mut children, |at| {
            let child = &self.children[at as usize];
            (&child.next, get(&child.life))
        })?;
        let (counted, claimers) = self.claimers();
        if counted != claimers {
            return Err(format!("{claimers} processes have claimed units, {counted} are counted"));
        }
        self.check_images(&linked)
    }

    /// Checks that each chunk is free or belongs to one child (L12).
    fn check_images(&self, children: &[u64]) -> Result<(), String> {
        let mut chunks = HashSet::new();
        for at in children {
            let child = &self.children[*at as usize];
            let image = crate::image::chunks_of(get(&child.image_bytes) as usize) as u64;
            for (head, count) in [(&child.image, image), (&child.run, get(&child.run_lines))] {
                let mut link = get(head);
                for _ in 0..count {
                    let chunk = link.checked_sub(1).ok_or_else(|| format!("a chain of child {at} ends early"))?;
                    if !chunks.insert(chunk) {
                        return Err(format!("chunk {chunk} is in two chains"));
                    }
                    link = get(&self.chunks.get(chunk as usize).ok_or_else(|| format!("no chunk {chunk}"))?.next);
                }
            }
        }
        match get(&self.control.chunks_used) {
            used if used == chunks.len() as u64 => {}
            used => return Err(format!("{used} chunks are in use, and children have {}", chunks.len())),
        }
        free_list(&self.control.chunks_free, get(&self.control.chunks_fresh), &mut chunks, |at| {
            (&self.chunks[at as usize].next, 0)
        })
    }

    fn check_children(&self, parent: &Parent, at: u64, children: &mut HashSet<u64>) -> Result<(), String> {
        let mut link = get(&parent.children);
        let mut numbers = HashSet::new();
        while let Some(c) = link.checked_sub(1) {
            let child = self.children.get(c as usize).ok_or_else(|| format!("no child {c}"))?;
            if !children.insert(c) || !numbers.insert(get(&child.number)) {
                return Err(format!("child {c} is there twice"));
            }
            if get(&child.life) == 0 || get(&child.parent) != at || get(&child.number) >= get(&parent.next_number) {
                return Err(format!("child {c} is not a child of {at}"));
            }
            if !(state::VALID..=state::UNSHARED).contains(&get(&child.state)) {
                return Err(format!("child {c} is in no state"));
            }
            for (kind, pins) in [(BY_LATCH, get(&child.references)), (BY_MUTEX, child.pin.value())] {
                let noted = self.cursors.iter().filter_map(|word| Seen::of(get(word)));
                let is_it = |seen: &Seen| seen.child == c as usize && seen.stage != 0 && seen.kind == kind;
                let noted = noted.filter(is_it).count() as u64;
                if pins != noted {
                    return Err(format!("child {c} has {pins} pins of a kind, and {noted} are noted"));
                }
            }
            link = get(&child.next);
        }
        Ok(())
    }

    /// Whether a cursor's child is still there and its plan up to date.
    pub fn is_valid(&self, _p: &Process, handle: Handle) -> bool {
        self.valid_child(handle).is_some_and(|child| !child.has_rolled())
    }

    /// Whether that edition of a child is still there and its plan up to date.
    pub fn is_valid_edition(&self, edition: crate::Edition) -> bool {
        self.valid_child(edition.handle()).is_some() && self.edition_of(edition.handle()) == edition
    }

    fn valid_child(&self, handle: Handle) -> Option<&Child> {
        let child = self.children.get(handle.child as usize)?;
        (child.life.load(Ordering::Acquire) == handle.life && get(&child.state) == state::VALID).then_some(child)
    }
}

fn free_list<'a>(
    head: &AtomicU64,
    fresh: u64,
    found: &mut HashSet<u64>,
    slot: impl Fn(u64) -> (&'a AtomicU64, u64),
) -> Result<(), String> {
    let mut link = get(head);
    while let Some(at) = link.checked_sub(1) {
        let (next, life) = slot(at);
        if !found.insert(at) || life != 0 {
            return Err(format!("slot {at} is free by mistake"));
        }
        link = get(next);
    }
    match found.len() as u64 {
        n if n == fresh => Ok(()),
        n => Err(format!("{n} slots are linked or free, of {fresh}")),
    }
}
