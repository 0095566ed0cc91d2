//! Blocks and objects: allocation, free list, insertion into the hash table, retirement and eviction.
//!
//! All functions run under the exclusive latch and change shared words through the [`Section`], so micro-undo takes
//! back the changes of a process that is killed in the middle.
//!
//! Eviction approximates least-recently-used: a hand moves round the objects and, of the next few that may be evicted,
//! takes an invalid one or the one unused for longest. A list in exact order of use would be written on every hit.

use std::sync::atomic::{AtomicU64, Ordering};

use latch::word::LifeWord;
use process::{Process, Section};
use types::{ObjectId, Scn};

use crate::key::Key;
use crate::layout::*;
use crate::{ResultCache, Statistic};

/// Evictable objects that the hand compares before it takes one.
const VICTIMS_COMPARED: usize = 8;

/// The description of the statement that a result is built for.
#[derive(Clone, Copy)]
pub struct Description<'a> {
    /// The text of the statement or function; the first 128 bytes are kept.
    pub name: &'a str,
    pub namespace: Namespace,
    /// The user number of the creator.
    pub creator: u32,
    pub column_count: u32,
}

/// A section that has freed blocks, or may have. The blocks must not be allocated and written before that is final,
/// since until then the death of the process restores the object that they belonged to. Dropping this value makes all
/// changes of the section final. Until then it borrows the section, so the compiler enforces the order (R3).
pub(crate) struct Freed<'s, 'a>(&'s mut Section<'a>);

impl Drop for Freed<'_, '_> {
    fn drop(&mut self) {
        self.0.checkpoint();
    }
}

impl ResultCache {
    /// The bucket of a hash value.
    pub(crate) fn bucket(&self, hash: u64) -> &AtomicU64 {
        &self.buckets[(hash & (self.buckets.len() as u64 - 1)) as usize]
    }

    /// Takes a free block, opens the next chunk, or evicts. `None` when every object is pinned or being built.
    ///
    /// After an eviction the earlier changes of the section are final. The words of the block except its link may be
    /// written at once: if the process dies, the block is free again.
    pub(crate) fn allocate(&self, p: &Process, section: &mut Section<'_>) -> Option<u64> {
        loop {
            let control = self.control;
            if let Some(id) = control.free.load(Ordering::Relaxed).checked_sub(1) {
                let next = &self.blocks[id as usize].words[word::NEXT];
                section.set(&control.free, next.load(Ordering::Relaxed));
                section.set(next, 0);
                self.note_used(section, 1);
                return Some(id);
            }
            let fresh = control.fresh.load(Ordering::Relaxed);
            if fresh < self.blocks.len() as u64 {
                if fresh.is_multiple_of(BLOCKS_PER_CHUNK) {
                    section.set(&control.chunks, fresh / BLOCKS_PER_CHUNK + 1);
                }
                section.set(&control.fresh, fresh + 1);
                self.note_used(section, 1);
                return Some(fresh);
            }
            if !self.evict_one(p, section) {
                return None;
            }
        }
    }

    fn note_used(&self, section: &Section<'_>, more: i64) {
        let used = &self.control.used_blocks;
        section.set(used, used.load(Ordering::Relaxed).wrapping_add_signed(more));
    }

    /// Inserts a new object, owned and pinned by `p`, at the head of its hash chain.
    pub(crate) fn insert_new(
        &self,
        p: &Process,
        section: &mut Section<'_>,
        key: Key<'_>,
        about: Description<'_>,
        depends: &[ObjectId],
        snapshot: Scn,
    ) -> Option<u64> {
        let building = self.line(p).building.iter().find(|slot| slot.load(Ordering::Relaxed) == 0)?;
        let id = self.allocate(p, section)?;
        let head = &self.blocks[id as usize];
        let mut cut = about.name.len().min(NAME_BYTES_MAX);
        while !about.name.is_char_boundary(cut) {
            cut -= 1;
        }
        let name = &about.name.as_bytes()[..cut];
        for (at, value) in [
            (word::HASH, key.hash),
            (
                word::STATE,
                State::pack(Status::New, Kind::Result, about.namespace, depends.len(), key.bytes.len(), name.len()),
            ),
            (word::SCN, snapshot.0),
            (word::PINS, 1),
            (word::OWNER, p.number() as u64 + 1),
            (word::DATA_LEN, 0),
            (word::ROW_COUNT, 0),
            (word::BLOCK_COUNT, 1),
            (word::LAST, id + 1),
            (word::CREATED, self.wall_clock_s()),
            (word::BUILD_TIME_CS, 0),
            (word::CREATOR, about.creator as u64),
            (word::ROW_SIZE, 0),
            (word::SCANS, 0),
            (word::OBJECT_NO, 0),
            (word::COLUMN_COUNT, about.column_count as u64),
        ] {
            head.words[at].store(value, Ordering::Relaxed);
        }
        for pair in 0..DEPENDENCIES_MAX / 2 {
            let number = |i: usize| depends.get(i).map_or(0, |object| object.0 as u64);
            let both = number(2 * pair) | number(2 * pair + 1) << 32;
            head.words[word::DEPENDS + pair].store(both, Ordering::Relaxed);
        }
        head.copy_in(word::BODY * 8, key.bytes);
        head.copy_in(word::BODY * 8 + key.bytes.len(), name);
        section.set(&self.lives[id as usize].last_used, self.clock_cs());
        self.link(section, id);
        section.set(building, id + 1);
        Some(id)
    }

    /// Makes a block an object that can be found.
    pub(crate) fn link(&self, section: &Section<'_>, id: u64) {
        let head = &self.blocks[id as usize];
        let bucket = self.bucket(head.get(word::HASH));
        section.set(&head.words[word::CHAIN], bucket.load(Ordering::Relaxed));
        // `set` releases: a reader that sees the mark sees the words above.
        let life = &self.lives[id as usize];
        section.set(&life.word.0, life.word.next(LifeWord::LINKED));
        section.set(bucket, id + 1);
    }

    /// Removes an object from the hash table; its blocks are freed now or with its last pin. The section's changes so
    /// far become final together.
    pub(crate) fn retire<'s, 'a>(&self, section: &'s mut Section<'a>, id: u64) -> Freed<'s, 'a> {
        let head = &self.blocks[id as usize];
        let mut link: &AtomicU64 = self.bucket(head.get(word::HASH));
        loop {
            let next = link.load(Ordering::Relaxed).checked_sub(1).expect("a linked object is in its chain");
            if next == id {
                break;
            }
            link = &self.blocks[next as usize].words[word::CHAIN];
        }
        section.set(link, head.get(word::CHAIN));
        let life = &self.lives[id as usize];
        section.set(&life.word.0, life.word.next(LifeWord::RETIRED));
        LifeWord::ended();
        self.forget_dependents(section, head);
        if State::unpack(head.get(word::STATE)).kind == Kind::Dependency as u8 {
            let slot = self.slot(ObjectId(head.get(word::OBJECT_NO) as u32));
            section.set(&slot.object, 0);
        }
        self.free_if_retired(section, id)
    }

    /// Puts the blocks of a retired object without pins on the free list, in one splice. The section's changes so far
    /// become final together.
    pub(crate) fn free_if_retired<'s, 'a>(&self, section: &'s mut Section<'a>, id: u64) -> Freed<'s, 'a> {
        let head = &self.blocks[id as usize];
        let life = &self.lives[id as usize];
        if life.word.mark() != LifeWord::RETIRED || head.get(word::PINS) != 0 {
            return Freed(section);
        }
        let last = head.get(word::LAST).checked_sub(1).expect("an object has a last block");
        let count = head.get(word::BLOCK_COUNT);
        section.set(&life.word.0, life.word.next(LifeWord::NONE));
        section.set(&self.blocks[last as usize].words[word::NEXT], self.control.free.load(Ordering::Relaxed));
        section.set(&self.control.free, id + 1);
        self.note_used(section, -(count as i64));
        Freed(section)
    }

    /// Lowers the dependents' count of each dependency of a published result that is removed.
    fn forget_dependents(&self, section: &Section<'_>, head: &RcBlock) {
        let state = State::unpack(head.get(word::STATE));
        if state.kind != Kind::Result as u8 || state.status != Some(Status::Published) {
            return;
        }
        let scn = head.get(word::SCN);
        for object in self.depends_of(head) {
            let slot = self.slot(object);
            let word = slot.object.load(Ordering::Relaxed);
            // The commit that invalidated a result has already lowered the count.
            if slot.last_change.load(Ordering::Relaxed) <= scn && word >> 32 > 0 {
                section.set(&slot.object, word - (1 << 32));
            }
        }
    }

    /// Frees one object without pins: an invalid one, or else one not used for long.
    fn evict_one(&self, p: &Process, section: &mut Section<'_>) -> bool {
        let blocks = self.blocks.len() as u64;
        let start = self.control.hand.load(Ordering::Relaxed) % blocks;
        let mut best: Option<(u64, u64)> = None;
        let mut compared = 0;
        let mut at = start;
        for _ in 0..blocks {
            if self.lives[at as usize].word.mark() == LifeWord::LINKED
                && let Some(used) = self.victim_age(at)
            {
                if best.is_none_or(|(_, best_used)| used < best_used) {
                    best = Some((at, used));
                }
                compared += 1;
                if used == 0 || compared == VICTIMS_COMPARED {
                    break;
                }
            }
            at = (at + 1) % blocks;
        }
        section.set(&self.control.hand, (at + 1) % blocks);
        let Some((id, used)) = best else {
            return false;
        };
        drop(self.retire(section, id));
        self.count(p, if used == 0 { Statistic::DeleteCountInvalid } else { Statistic::DeleteCountValid });
        true
    }

    /// Time of the last use of an evictable object; 0 for an invalid or empty one; `None` if it must stay.
    fn victim_age(&self, id: u64) -> Option<u64> {
        let head = &self.blocks[id as usize];
        let state = State::unpack(head.get(word::STATE));
        if head.get(word::PINS) != 0 || state.status == Some(Status::New) {
            return None;
        }
        if state.kind == Kind::Dependency as u8 {
            let slot = self.slot(ObjectId(head.get(word::OBJECT_NO) as u32));
            return (slot.object.load(Ordering::Relaxed) >> 32 == 0).then_some(1);
        }
        match state.status {
            Some(Status::Published) if self.depends_unchanged(head) => {
                Some(self.lives[id as usize].last_used.load(Ordering::Relaxed).max(2))
            }
            _ => Some(0),
        }
    }

    /// Frees every object that is neither pinned nor being built (`DBMS_RESULT_CACHE.FLUSH`). Returns how many.
    pub fn flush(&self, p: &Process) -> u64 {
        let mut freed = 0;
        // Results first: a dependency can be freed once no result needs it.
        for kind in [Kind::Result, Kind::Dependency] {
            for id in 0..self.control.fresh.load(Ordering::Relaxed) {
                if self.lives[id as usize].word.mark() != LifeWord::LINKED {
                    continue;
                }
                let mut section = p.lock(self.latch, latch::Where::RcFlush, id);
                let head = &self.blocks[id as usize];
                let state = State::unpack(head.get(word::STATE));
                if self.lives[id as usize].word.mark() == LifeWord::LINKED
                    && state.kind == kind as u8
                    && state.status != Some(Status::New)
                {
                    drop(self.retire(&mut section, id));
                    freed += 1;
                }
            }
        }
        freed
    }

    /// Checks the structure (R1): every block is in exactly one object or free, chains contain the linked objects,
    /// counts agree.
    ///
    /// For tests and the clean-up tests after a death; the caller makes sure that nobody changes the cache meanwhile.
    /// # Errors
    /// The broken rule.
    pub fn assert_invariants(&self) -> Result<(), String> {
        let fresh = self.control.fresh.load(Ordering::Relaxed);
        let mut owner: Vec<Option<u64>> = vec![None; fresh as usize];
        let mut own = |id: u64, by: u64| -> Result<(), String> {
            let place = owner.get_mut(id as usize).ok_or(format!("block {id} was never handed out"))?;
            match place.replace(by) {
                None => Ok(()),
                Some(other) => Err(format!("block {id} belongs to {other} and to {by}")),
            }
        };
        let mut used = 0;
        let mut linked = 0;
        for id in 0..fresh {
            if self.lives[id as usize].word.mark() == LifeWord::NONE {
                continue;
            }
            linked += u64::from(self.lives[id as usize].word.mark() == LifeWord::LINKED);
            let head = &self.blocks[id as usize];
            let mut link = id + 1;
            let mut count = 0;
            while let Some(at) = link.checked_sub(1) {
                own(at, id)?;
                count += 1;
                if count == head.get(word::BLOCK_COUNT) {
                    if head.get(word::LAST) != at + 1 {
                        return Err(format!("object {id}: last block is not {at}"));
                    }
                    break;
                }
                link = self.blocks[at as usize].get(word::NEXT);
            }
            if count != head.get(word::BLOCK_COUNT) {
                return Err(format!("object {id} has {count} blocks of {}", head.get(word::BLOCK_COUNT)));
            }
            used += count;
        }
        let mut link = self.control.free.load(Ordering::Relaxed);
        let mut free = 0;
        while let Some(at) = link.checked_sub(1) {
            own(at, u64::MAX)?;
            free += 1;
            link = self.blocks[at as usize].get(word::NEXT);
        }
        if used + free != fresh {
            return Err(format!("{used} used and {free} free blocks of {fresh}"));
        }
        if used != self.control.used_blocks.load(Ordering::Relaxed) {
            return Err(format!("{used} used blocks, not as counted"));
        }
        let mut found = 0;
        for bucket in self.buckets {
            let mut link = bucket.load(Ordering::Relaxed);
            while let Some(at) = link.checked_sub(1) {
                if self.lives[at as usize].word.mark() != LifeWord::LINKED {
                    return Err(format!("block {at} is in a chain and no object"));
                }
                found += 1;
                if found > fresh {
                    return Err("a hash chain runs in a circle".into());
                }
                link = self.blocks[at as usize].get(word::CHAIN);
            }
        }
        if found != linked {
            return Err(format!("{linked} linked objects, {found} in the chains"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use enqueue::{EnqueueConfig, EnqueueLayout, Enqueues};
    use types::Scn;

    use super::*;
    use crate::{Config, Design, Key, Layout, Namespace, Opened, ResultBuffer};

    /// Rows may fill a block with any bytes, including bytes that look like the bookkeeping words of a later life.
    #[test]
    fn a_life_does_not_recur_for_any_contents_of_the_block() {
        let config = Config {
            max_size_bytes: 32 * 1024,
            max_result_percent: 100,
            timeout_ms: 1000,
            design: Design::Versioned,
            processes: 2,
        };
        let (all, (enqueues, layout)) = testing::instance(2, |b| {
            (EnqueueLayout::reserve(b, &EnqueueConfig::for_processes(2)), Layout::reserve(b, &config))
        });
        let enqueues = Enqueues::create(all, &enqueues);
        let cache = ResultCache::create(all, &layout, &config);
        testing::run_threads(all, 1, |p, _| {
            let about = Description { name: "", namespace: Namespace::Sql, creator: 0, column_count: 1 };
            let depends = [ObjectId(7)];
            cache.track(p, &depends, || Scn(1));
            let mut linked: HashMap<u64, u64> = HashMap::new();
            let mut reused = 0;
            // Small and large results alternate, so that a block is an object's first block at one time and holds only
            // rows at another.
            for n in 0..400u32 {
                let key = n.to_le_bytes();
                let mut buffer = ResultBuffer::new();
                let opened = cache.open(p, &enqueues, Key::new(&key), about, &depends, Scn(2), &mut buffer).unwrap();
                let Opened::Build(mut build) = opened else { panic!("nobody else builds") };
                cache.push(&mut build, &vec![1; if n % 2 == 0 { 9_000 } else { 100 }]);
                assert!(cache.publish(p, &enqueues, build));
                for (id, life) in cache.lives.iter().enumerate() {
                    let word = life.word.now();
                    if LifeWord::mark_of(word) == LifeWord::LINKED
                        && let Some(before) = linked.insert(id as u64, word)
                        && before != word
                    {
                        assert!(word > before, "block {id} was linked as {before:#x} and is again, as {word:#x}");
                        reused += 1;
                    }
                }
            }
            assert!(reused > 50, "blocks were reused {reused} times");
        });
    }
}
