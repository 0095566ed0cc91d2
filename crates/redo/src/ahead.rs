//! Reading a log ahead of the process that parses its records.
//!
//! A start after a crash reads the log once, from one end to the other. Redo is written past the page cache, so no part
//! of it is cached, and reading it through the cache would only copy it. A few threads therefore read it directly and
//! wait for the device in turn: the device is always busy, and the parsing process does not wait for it.
//!
//! A buffer has room before its bytes for the beginning of a record that the previous buffer ends with: only such parts
//! are copied. Buffers return when no record in them is used any more.
//!
//! A failure here is not reported: the reader falls back to ordinary reads, which report it.

use os::blocks::{BlockFile, Blocks};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Room before the bytes of a chunk.
pub(crate) const ROOM: usize = 128 << 10;

/// Bytes read at a time: with the room before them they fill a large page.
pub(crate) const CHUNK: usize = (2 << 20) - ROOM;

/// Threads; each has one chunk that is being read or waits to be taken.
const THREADS: u64 = 4;

/// A buffer, and the number of bytes read into it.
type Chunk = (Blocks, usize);

struct Line {
    empty: SyncSender<Blocks>,
    full: Receiver<Chunk>,
    thread: JoinHandle<()>,
}

/// A file that is being read ahead.
pub(crate) struct Ahead {
    lines: Vec<Line>,
    spare: Vec<Blocks>,
    /// The position of the next chunk in the file, and its number.
    next: u64,
    turn: usize,
}

impl Ahead {
    /// Starts reading at the chunk that contains `position`, up to the one that contains `end`; `None` where that is
    /// not possible.
    pub fn start(path: &Path, position: u64, end: u64) -> Option<Ahead> {
        let file = Arc::new(BlockFile::open_to_read(path).ok().flatten()?);
        let first = position - position % CHUNK as u64;
        let end = end.min(file.len_bytes());
        let mut ahead = Ahead { lines: Vec::new(), spare: Vec::new(), next: first, turn: 0 };
        for n in 0..THREADS {
            let (empty, empties) = sync_channel::<Blocks>(1);
            let (filled, full) = sync_channel(1);
            let file = Arc::clone(&file);
            let read = move || {
                for at in (first + n * CHUNK as u64..end).step_by(CHUNK * THREADS as usize) {
                    let Ok(mut buffer) = empties.recv() else { return };
                    buffer.grow(ROOM + CHUNK);
                    let len = (file.len_bytes() - at).min(CHUNK as u64) as usize;
                    let got = file.read_at(&mut buffer, ROOM, len, at).unwrap_or(0);
                    if filled.send((buffer, got)).is_err() {
                        return;
                    }
                }
            };
            let thread = std::thread::Builder::new().name("redo ahead".into()).spawn(read).ok()?;
            let _ = empty.send(Blocks::default());
            ahead.lines.push(Line { empty, full, thread });
        }
        Some(ahead)
    }

    /// The position of the next chunk in the file.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The next chunk: a buffer with [`ROOM`] and then the bytes, and their number. `None` at the end of the file, and
    /// when a read failed.
    pub fn take(&mut self) -> Option<Chunk> {
        let line = &self.lines[self.turn];
        let chunk = line.full.recv().ok().filter(|(_, got)| *got > 0)?;
        let _ = line.empty.send(self.spare.pop().unwrap_or_default());
        self.turn = (self.turn + 1) % self.lines.len();
        self.next += CHUNK as u64;
        Some(chunk)
    }

    /// Returns a buffer that is no longer used.
    pub fn give(&mut self, buffer: Blocks) {
        if self.spare.len() < self.lines.len() {
            self.spare.push(buffer);
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        for Line { empty, full, thread } in self.lines.drain(..) {
            drop((empty, full));
            let _ = thread.join();
        }
    }
}
