//! Changes of objects between the commit that makes them and the end of the cursors that depend on them.
//!
//! Cursors are marked invalid after the commit: a cursor compiled after the marks but before the commit would keep the
//! old definitions. A process that dies between its commit and the marks would leave valid cursors on changed objects,
//! and after a change of statistics alone nothing else would invalidate them. So the process notes the objects in its
//! line before it commits, and PMON marks the cursors in its place (L20). A note in the dictionary was rejected: every
//! soft parse would have to read it.

use std::sync::atomic::Ordering;

use process::Process;

use crate::LibraryCache;
use crate::layout::{ANNOUNCED_MOST, state};

/// In place of the number of objects: more than [`ANNOUNCED_MOST`], that is, all objects.
const ALL: u64 = u64::MAX;

/// The objects that a dead process was changing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announced {
    /// The cursors of these are invalid: their definitions or rows have changed, or their statistics with immediate
    /// effect.
    Objects(Vec<u32>),
    /// More objects than could be noted.
    All,
}

impl LibraryCache {
    /// Notes the objects whose cursors this process will invalidate after its commit, and the objects whose cursors it
    /// will end within the given number of seconds. An empty list removes the note.
    ///
    /// Writes the process's own line only. Latches: none.
    pub fn announce(&self, p: &Process, objects: &[u32], rolled: &[u32], period_s: u64) {
        let [count, words @ ..] = &self.line(p).announced;
        let number = objects.len() + rolled.len();
        if number > ANNOUNCED_MOST {
            return count.store(ALL, Ordering::Release);
        }
        let end = period_s.min(u64::from(u32::MAX) - 1) + 1;
        let at_once = objects.iter().map(|object| u64::from(*object));
        let later = rolled.iter().map(|object| u64::from(*object) | end << 32);
        words.iter().zip(at_once.chain(later)).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        count.store(number as u64, Ordering::Release);
    }

    /// Marks the cursors of the objects that a dead process has announced. PMON calls it after the end of the dead
    /// process's transaction, so that no cursor is compiled with the old definitions afterwards, and before it releases
    /// the enqueues under which the objects were changed.
    ///
    /// Latches: as [`Self::invalidate`].
    pub fn finish_announced(&self, p: &Process, dead: u32) -> Announced {
        let [count, words @ ..] = &self.lines[dead as usize - 1].announced;
        let number = count.load(Ordering::Acquire);
        if number == ALL {
            self.invalidate_all(p);
            count.store(0, Ordering::Relaxed);
            return Announced::All;
        }
        let mut objects = Vec::new();
        for word in words.iter().take(number as usize) {
            let word = word.load(Ordering::Relaxed);
            match (word as u32, word >> 32) {
                (object, 0) => objects.push(object),
                (object, end) => {
                    self.roll_out(p, &[object], end - 1);
                }
            }
        }
        if !objects.is_empty() {
            self.invalidate(p, &objects);
            self.invalidate_objects(p, &objects);
        }
        count.store(0, Ordering::Relaxed);
        Announced::Objects(objects)
    }

    fn invalidate_all(&self, p: &Process) {
        for (at, child) in self.children_used().iter().enumerate() {
            let life = child.life.load(Ordering::Acquire);
            if life != 0 && child.state.load(Ordering::Relaxed) == state::VALID {
                self.invalidate_child(p, at, life);
            }
        }
    }
}
