//! Free resources and locks: each chain keeps some, in batches that it exchanges with a pool.
//!
//! A chain gets and releases slots under its own latch, which the caller holds anyway; the latch `enqueues` of the pool
//! is got once for a whole batch. A chain has a batch in use and a whole one, so alternating gets and releases do not
//! move a batch each time (the magazines of Bonwick and Adams, "Magazines and Vmem", 2001). A batch is moved by its
//! first slot, so the cost does not depend on its length.
//!
//! A batch moves under both latches, and the move becomes final before any other change of the section (invariant 12).
//!
//! Free slots of one chain are available to the others: when the pool is empty, all chains give their free slots back
//! and the request is tried again. Only when this yields no slot is the error raised (invariant 14).

use std::sync::atomic::{AtomicU64, Ordering};

use process::Section;

use crate::slots::{Pool, Slot, Stock};

/// Chains hold at most one of `HELD_BACK` slots unused.
pub(crate) const HELD_BACK: u32 = 2;

/// The most slots of a batch.
const BATCH_MOST: usize = 16;

/// All slots of one kind and the pool of the free ones.
#[derive(Debug)]
pub(crate) struct Slots<T: 'static> {
    pub(crate) all: &'static [T],
    pub(crate) pool: &'static Pool,
    /// Slots of a whole batch.
    batch: u32,
}

impl<T> Clone for Slots<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slots<T> {}

/// A slot number in the low half, a count in the high half.
fn packed(count: u32, first: u32) -> u64 {
    u64::from(count) << 32 | u64::from(first)
}

fn unpacked(word: &AtomicU64) -> (u32, u32) {
    let word = word.load(Ordering::Relaxed);
    ((word >> 32) as u32, word as u32)
}

impl<T: Slot> Slots<T> {
    /// Chooses the batch length so that two batches for each chain are at most half of all slots.
    pub(crate) fn new(all: &'static [T], pool: &'static Pool, chains: usize) -> Self {
        let room = all.len() / (chains * 2 * HELD_BACK as usize);
        Self { all, pool, batch: room.clamp(1, BATCH_MOST) as u32 }
    }

    pub(crate) fn slot(&self, n: u32) -> &'static T {
        &self.all[n as usize - 1]
    }

    /// Slots above this number were never used.
    pub(crate) fn used(&self) -> u32 {
        self.pool.used.load(Ordering::Acquire).min(self.all.len() as u32)
    }

    pub(crate) fn has_none(&self, stock: &Stock) -> bool {
        unpacked(&stock.open).0 == 0 && stock.whole.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn has_no_room(&self, stock: &Stock) -> bool {
        unpacked(&stock.open).0 >= self.batch && stock.whole.load(Ordering::Relaxed) != 0
    }

    /// Moves a batch from the pool to a chain without one; false when the pool is empty.
    pub(crate) fn fetch(&self, chain: &Section<'_>, pool: &Section<'_>, stock: &Stock) -> bool {
        let first = self.pool.batches.load(Ordering::Relaxed);
        if first != 0 {
            let (count, next) = unpacked(self.slot(first).batch());
            pool.set32(&self.pool.batches, next);
            chain.set(&stock.open, packed(count, first));
            return true;
        }
        let used = self.pool.used.load(Ordering::Relaxed);
        let count = self.batch.min(self.all.len() as u32 - used);
        if count == 0 {
            return false;
        }
        for n in used + 1..used + count {
            pool.set32(self.slot(n).next(), n + 1);
        }
        pool.set32(self.slot(used + count).next(), 0);
        pool.set32(&self.pool.used, used + count);
        chain.set(&stock.open, packed(count, used + 1));
        true
    }

    fn add_to_pool(&self, pool: &Section<'_>, count: u32, first: u32) {
        pool.set(self.slot(first).batch(), packed(count, self.pool.batches.load(Ordering::Relaxed)));
        pool.set32(&self.pool.batches, first);
    }

    /// Moves the whole batch of a chain to the pool.
    pub(crate) fn give_back(&self, chain: &Section<'_>, pool: &Section<'_>, stock: &Stock) {
        self.add_to_pool(pool, self.batch, stock.whole.load(Ordering::Relaxed));
        chain.set32(&stock.whole, 0);
    }

    /// Moves all free slots of a chain to the pool; returns their number.
    pub(crate) fn give_all_back(&self, chain: &Section<'_>, pool: &Section<'_>, stock: &Stock) -> u32 {
        let (mut count, first) = unpacked(&stock.open);
        if count > 0 {
            self.add_to_pool(pool, count, first);
            chain.set(&stock.open, 0);
        }
        if stock.whole.load(Ordering::Relaxed) != 0 {
            self.give_back(chain, pool, stock);
            count += self.batch;
        }
        count
    }

    /// Takes a free slot from a chain that has one.
    pub(crate) fn take(&self, chain: &Section<'_>, stock: &Stock) -> u32 {
        let (mut count, mut first) = unpacked(&stock.open);
        if count == 0 {
            (count, first) = (self.batch, stock.whole.load(Ordering::Relaxed));
            chain.set32(&stock.whole, 0);
        }
        chain.set(&stock.open, packed(count - 1, self.slot(first).next().load(Ordering::Relaxed)));
        first
    }

    /// Adds a slot to the free ones of a chain, which has room for it.
    pub(crate) fn put(&self, chain: &Section<'_>, stock: &Stock, n: u32) {
        let (mut count, mut first) = unpacked(&stock.open);
        if count >= self.batch {
            chain.set32(&stock.whole, first);
            (count, first) = (0, 0);
        }
        chain.set32(self.slot(n).next(), first);
        chain.set(&stock.open, packed(count + 1, n));
    }

    /// The free slots of a chain, for tests.
    #[cfg(test)]
    pub(crate) fn of_chain(&self, stock: &Stock) -> Vec<u32> {
        let (count, first) = unpacked(&stock.open);
        assert!(count <= self.batch);
        let mut free = self.of_batch(count, first);
        match stock.whole.load(Ordering::Relaxed) {
            0 => {}
            first => free.extend(self.of_batch(self.batch, first)),
        }
        free
    }

    /// The free slots of the pool, and those that were never used, for tests.
    #[cfg(test)]
    pub(crate) fn of_pool(&self) -> Vec<u32> {
        let mut free: Vec<u32> = (self.used() + 1..=self.all.len() as u32).collect();
        let mut batch = self.pool.batches.load(Ordering::Relaxed);
        while batch != 0 {
            let (count, next) = unpacked(self.slot(batch).batch());
            assert!(count > 0 && count <= self.batch, "batch of {count}");
            free.extend(self.of_batch(count, batch));
            assert!(free.len() <= self.all.len(), "a circle of batches");
            batch = next;
        }
        free
    }

    #[cfg(test)]
    fn of_batch(&self, count: u32, first: u32) -> Vec<u32> {
        let is_one = |n: u32| (n != 0).then_some(n);
        let next = |n: &u32| is_one(self.slot(*n).next().load(Ordering::Relaxed));
        let all: Vec<u32> = std::iter::successors(is_one(first), next).take(self.all.len() + 1).collect();
        assert_eq!(all.len(), count as usize, "a batch has as many as it says");
        all
    }
}
