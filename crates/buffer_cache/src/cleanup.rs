//! Cleaning after the death of a process.

use crate::BufferCache;
use crate::area::{GROUP_IDLE, GROUP_PUBLISHING, PIN_CHANGED, PIN_GROUP, PIN_KIND, PIN_SHARED, buffer_of};
use crate::header::*;
use process::Process;
use std::sync::atomic::Ordering;
use types::Rdba;

impl BufferCache {
    /// Releases everything that a dead process had in the cache: finishes its publication, or drops its pins.
    ///
    /// Called after the dead process's micro-undo was rolled back and its latches were freed; `number` is the dead
    /// process. Latches: `cache buffers chains` and `checkpoint queue latch`; none on return.
    pub fn clean_up(&self, p: &Process, number: u32) {
        let dead = number as usize - 1;
        let area = &self.areas[dead];
        self.let_go_of(area);
        let publishing = area.group.load(Ordering::Acquire) == GROUP_PUBLISHING;
        self.redo.settle_dead(p, number, publishing);
        let low_rba = area.group_rba.load(Ordering::Acquire);
        if publishing {
            self.publish(dead);
        }
        for (entry, word) in area.pins.iter().enumerate() {
            let pin = word.load(Ordering::Acquire);
            let Some(buffer) = buffer_of(pin).filter(|b| *b < self.headers.len()) else { continue };
            match pin & PIN_KIND {
                PIN_SHARED => self.drop_shared(p, dead, entry, buffer),
                PIN_GROUP if publishing && pin & PIN_CHANGED != 0 => {
                    self.drop_changed(p, dead, entry, buffer, low_rba);
                }
                _ if self.headers[buffer].state().is(READING) => self.abandon(p, dead, entry, buffer),
                _ => self.drop_exclusive(p, dead, entry, buffer),
            }
        }
        let is_written = |at: Rdba| {
            let mut buffers = area.writes.iter().filter_map(|w| buffer_of(w.load(Ordering::Acquire)));
            buffers.any(|b| self.headers.get(b).is_some_and(|h| h.block() == at))
        };
        // A late write of the dead process would overwrite what is written from here on.
        let files = area.writes.iter().filter_map(|w| buffer_of(w.load(Ordering::Acquire)));
        let files = files.filter_map(|b| self.headers.get(b)).map(|h| h.block().file());
        // After an error the instance ends, and its next start waits again before it restores the blocks.
        let _ = self.files.wait_for_dead_writes(dead..dead + 1, files);
        // The buffers are still marked, so no other process writes their blocks.
        self.files.finish_cover(dead, &mut |at| is_written(at));
        for word in &area.writes {
            if let Some(buffer) = buffer_of(word.load(Ordering::Acquire)).filter(|b| *b < self.headers.len()) {
                self.end_write(p, dead, word, buffer, false);
            }
        }
        area.writing_rba.store(0, Ordering::SeqCst);
        for word in &area.image_of {
            word.store(0, Ordering::Relaxed);
        }
        area.group_rba.store(0, Ordering::Release); // everything is marked dirty
        area.group.store(GROUP_IDLE, Ordering::Release);
        self.segment_statistics.leave(dead as u32 + 1);
    }
}
