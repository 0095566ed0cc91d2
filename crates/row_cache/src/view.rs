//! The data of the views, and the check of the invariants.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering, fence};

use latch::word::LifeWord;
use process::Process;

use crate::key::copy_hash;
use crate::layout::*;
use crate::{Cache, RowCache, add};

/// A row of `v$rowcache`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRow {
    pub cache: Cache,
    /// COUNT: entries.
    pub count: u64,
    /// USAGE: entries whose row is current.
    pub usage: u64,
    pub gets: u64,
    pub misses: u64,
    pub scans: u64,
    pub scan_misses: u64,
    pub scan_completes: u64,
    pub modifications: u64,
    pub flushes: u64,
}

/// A row of `v$rowcache_parent` or `v$rowcache_subordinate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectRow {
    pub index: u64,
    pub address: u64,
    pub cache: Cache,
    pub hash: u64,
    pub existent: bool,
    /// The process that loads it and holds its lock exclusively.
    pub owner: Option<u32>,
    /// 0, or the number of the copy.
    pub copy: u8,
    pub key: Vec<u8>,
}

impl RowCache {
    fn used(&self) -> &'static [RowObject] {
        let fresh = self.control.fresh.load(Ordering::Acquire) as usize;
        &self.objects[..fresh.min(self.objects.len())]
    }

    fn sum(&self, of: impl Fn(&RowProcess) -> &AtomicU64) -> u64 {
        self.processes.iter().map(|line| of(line).load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// The rows of `v$rowcache`, for caches of every generation. Takes no latch.
    pub fn cache_rows(&self) -> Vec<CacheRow> {
        let (mut counts, mut usages) = ([0; Cache::COUNT], [0; Cache::COUNT]);
        for object in self.used() {
            let life = object.life.read_begin();
            let state = State::unpack(object.state.load(Ordering::Acquire));
            let at = usize::from(state.cache);
            if LifeWord::mark_of(life) == LifeWord::LINKED && at < Cache::COUNT {
                let current = object.stamp.load(Ordering::Relaxed) == self.caches[at].state.load(Ordering::Relaxed);
                counts[at] += 1;
                usages[at] += u64::from(state.is_ready && current);
            }
        }
        let row = |cache: Cache| {
            let at = cache as usize;
            CacheRow {
                cache,
                count: counts[at],
                usage: usages[at],
                gets: self.sum(|l| &l.figures[at].gets),
                misses: self.sum(|l| &l.figures[at].misses),
                scans: self.sum(|l| &l.figures[at].scans),
                scan_misses: self.sum(|l| &l.figures[at].scan_misses),
                scan_completes: self.sum(|l| &l.figures[at].scan_completes),
                modifications: self.sum(|l| &l.figures[at].modifications),
                flushes: self.sum(|l| &l.figures[at].flushes),
            }
        };
        Cache::all().map(row).collect()
    }

    /// Gets and misses of one cache since start-up, by all processes.
    pub fn gets(&self, cache: Cache) -> (u64, u64) {
        (self.sum(|l| &l.figures[cache as usize].gets), self.sum(|l| &l.figures[cache as usize].misses))
    }

    /// Gets of the mutexes of buckets and objects since start-up, for tests.
    pub fn mutex_gets(&self) -> u64 {
        let (buckets, objects) = (self.buckets.iter().map(|b| &b.mutex), self.objects.iter().map(|o| &o.mutex));
        buckets.chain(objects).map(latch::Mutex::gets).sum()
    }

    /// Counts a read of all rows of a cache: SCANS and SCANCOMPLETES, and SCANMISSES when the rows had to be read from
    /// the dictionary.
    pub fn count_scan(&self, p: &Process, cache: Cache, missed: bool) {
        let figures = &self.line(p).figures[cache as usize];
        add(&figures.scans, 1);
        add(&figures.scan_completes, 1);
        add(&figures.scan_misses, missed.into());
    }

    /// The objects. Takes no latch; an object that changes meanwhile is left out.
    pub fn object_rows(&self) -> Vec<ObjectRow> {
        let rows = self.used().iter().enumerate().filter_map(|(index, object)| {
            let life = object.life.read_begin();
            let state = State::unpack(object.state.load(Ordering::Acquire));
            let row = ObjectRow {
                index: index as u64,
                address: std::ptr::from_ref(object) as u64,
                cache: Cache::from_index(state.cache.into())?,
                hash: object.hash.load(Ordering::Relaxed),
                existent: state.existent,
                owner: match object.owner.load(Ordering::Relaxed) as u32 {
                    0 => None,
                    owner => Some(owner),
                },
                copy: state.copy,
                key: object.key(&state),
            };
            fence(Ordering::Acquire); // as in `read_versioned`
            (LifeWord::mark_of(life) == LifeWord::LINKED && object.life.now() == life).then_some(row)
        });
        rows.collect()
    }

    /// Checks the invariants of the README. The cache must not change meanwhile.
    ///
    /// # Errors
    /// The broken invariant.
    pub fn assert_invariants(&self) -> Result<(), String> {
        let mut linked = HashSet::new();
        for cache in Cache::all() {
            let (first, mask) = self.chains[cache as usize];
            for n in 0..=mask {
                let bucket = &self.buckets[(first + n) as usize];
                let mut keys = HashSet::new();
                let mut link = bucket.head.load(Ordering::Relaxed);
                while let Some(id) = link.checked_sub(1) {
                    let object = self.objects.get(id as usize).ok_or(format!("a link to object {id}"))?;
                    if !linked.insert(id) {
                        return Err(format!("object {id} is in two chains, or its chain is a ring"));
                    }
                    self.check_linked(cache, id, object, std::ptr::from_ref(bucket))?;
                    let state = State::unpack(object.state.load(Ordering::Relaxed));
                    if !keys.insert((object.key(&state), state.copy)) {
                        return Err(format!("two objects of {} have the key of object {id}", cache.name()));
                    }
                    link = object.chain.load(Ordering::Relaxed);
                }
            }
        }
        let mut holders: HashMap<u64, u64> = HashMap::new();
        let held = self.processes.iter().flat_map(|line| &line.buckets).map(|word| word.load(Ordering::Relaxed));
        held.filter(|word| *word != 0).for_each(|word| *holders.entry(word & 0xffff_ffff).or_default() += 1);
        for (at, bucket) in (1..).zip(self.buckets) {
            let by = holders.get(&at).copied().unwrap_or(0);
            if bucket.state.load(Ordering::Relaxed) & PENDING != by {
                return Err(format!("bucket {at} is held pending by {by} processes and says otherwise"));
            }
        }
        let mut free = HashSet::new();
        let mut link = self.control.free.load(Ordering::Relaxed);
        while let Some(id) = link.checked_sub(1) {
            let object = self.objects.get(id as usize).ok_or(format!("a link to object {id}"))?;
            if object.life.mark() != LifeWord::NONE || linked.contains(&id) || !free.insert(id) {
                return Err(format!("object {id} is free and something else"));
            }
            link = object.chain.load(Ordering::Relaxed);
        }
        for (id, object) in self.used().iter().enumerate() {
            let id = id as u64;
            let pinned = object.life.mark() == LifeWord::RETIRED && object.pins.load(Ordering::Relaxed) > 0;
            if !linked.contains(&id) && !free.contains(&id) && !pinned {
                return Err(format!("object {id} is lost"));
            }
        }
        Ok(())
    }

    fn check_linked(&self, cache: Cache, id: u64, object: &RowObject, bucket: *const RowBucket) -> Result<(), String> {
        let state = State::unpack(object.state.load(Ordering::Relaxed));
        let hash = object.hash.load(Ordering::Relaxed);
        let key = object.key(&state);
        let right = copy_hash(crate::Key::new(cache, &key).hash(), state.copy);
        let is_loading = self.processes.iter().any(|l| l.loading.iter().any(|x| x.load(Ordering::Relaxed) == id + 1));
        if object.life.mark() != LifeWord::LINKED {
            return Err(format!("object {id} is in a chain and not linked"));
        }
        if state.cache != cache as u8 || hash != right || !std::ptr::eq(self.bucket(cache, hash), bucket) {
            return Err(format!("object {id} is in a wrong chain"));
        }
        if !state.is_ready && !is_loading {
            return Err(format!("object {id} is loaded by nobody"));
        }
        if state.is_ready && object.owner.load(Ordering::Relaxed) != 0 {
            return Err(format!("object {id} is ready and owned"));
        }
        Ok(())
    }
}
