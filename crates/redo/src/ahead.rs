//! Reading a log ahead of who takes its records apart.
//!
//! A log is read once, from one end to the other, at a start after a crash: the operating system has nothing of it,
//! since redo is written past its memory, and would only copy it. So it is read past that memory, by a few threads that
//! wait for the device in turn: the device has always something to do, and nobody else waits for it.
//!
//! A buffer has room before the bytes that were read, for the part of a record that the buffer before it ended with:
//! records are nowhere copied, but for that. Buffers come back when nobody looks at them any more.
//!
//! What goes wrong here is no error: who reads goes on in the ordinary way, which says what it is.

use os::blocks::{BlockFile, Blocks};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Room before the bytes that are read.
pub(crate) const ROOM: usize = 128 << 10;

/// Bytes read at a time: with the room before them they fill a large page.
pub(crate) const CHUNK: usize = (2 << 20) - ROOM;

/// Threads, each of which has one chunk on its way or waiting.
const THREADS: u64 = 4;

/// A buffer, and how many bytes were read into it.
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
    /// The place in the file of the next chunk, and its number.
    next: u64,
    turn: usize,
}

impl Ahead {
    /// Begins to read at the chunk that has `position` in it, and goes on to that which has `end`; `None` where it
    /// cannot be done.
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

    /// Where in the file the next chunk begins.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// The next chunk: a buffer with [`ROOM`] and then the bytes, and how many they are. `None` at the end of the file,
    /// and when they could not be read.
    pub fn take(&mut self) -> Option<Chunk> {
        let line = &self.lines[self.turn];
        let chunk = line.full.recv().ok().filter(|(_, got)| *got > 0)?;
        let _ = line.empty.send(self.spare.pop().unwrap_or_default());
        self.turn = (self.turn + 1) % self.lines.len();
        self.next += CHUNK as u64;
        Some(chunk)
    }

    /// A buffer that is needed no more.
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
