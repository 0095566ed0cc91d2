//! Changes of objects between the commit that makes them and the end of the cursors that depend on them.
//!
//! Cursors are marked after the commit: a cursor that is compiled before the commit and after the marks would keep the
//! old definitions. A process that dies between commit and marks leaves cursors that nothing else ends when only
//! statistics have changed. So it notes the objects in its own line before it commits, and PMON ends their cursors. A
//! note in the dictionary was rejected: every soft parse would have to read it.

use std::sync::atomic::Ordering;

use process::Process;

use crate::LibraryCache;
use crate::layout::state;

/// Objects that are noted one by one.
pub(crate) const MOST: usize = 15;
/// Stands for the number of objects where they are more: all objects.
const ALL: u64 = u64::MAX;

/// The objects that a dead process was changing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announced {
    /// These: their definitions or rows, or their statistics at once.
    Objects(Vec<u32>),
    /// More than could be noted.
    All,
}

impl LibraryCache {
    /// Notes the objects whose cursors this process is going to make invalid, and those whose cursors it is going to
    /// let end within so many seconds, once its commit is done. No object takes the note away.
    ///
    /// Writes the process's own line only. Latches: none.
    pub fn announce(&self, p: &Process, objects: &[u32], rolled: &[u32], period_s: u64) {
        let [count, words @ ..] = &self.line(p).announced;
        let number = objects.len() + rolled.len();
        if number > MOST {
            return count.store(ALL, Ordering::Release);
        }
        let end = period_s.min(u64::from(u32::MAX) - 1) + 1;
        let at_once = objects.iter().map(|object| u64::from(*object));
        let later = rolled.iter().map(|object| u64::from(*object) | end << 32);
        words.iter().zip(at_once.chain(later)).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        count.store(number as u64, Ordering::Release);
    }

    /// Does what a dead process has announced, for PMON: behind the end of its transaction, so that no cursor is
    /// compiled with the old definitions afterwards, and before others get the locks that it changed them under.
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
        let used = self.control.children_fresh.load(Ordering::Acquire).min(self.children.len() as u64);
        for (at, child) in self.children[..used as usize].iter().enumerate() {
            let life = child.life.load(Ordering::Acquire);
            if life != 0 && child.state.load(Ordering::Relaxed) == state::VALID {
                self.invalidate_child(p, at, life);
            }
        }
    }
}
