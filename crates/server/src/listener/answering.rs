//! The answer to a call: its first packets may be on their way while the rest of it is made.

use super::line::Line;
use std::ops::{Deref, DerefMut};

/// Packets are sent ahead one first, then twice as many each time, up to so many.
const PACKETS_AHEAD_MAX: usize = 16;

/// Bytes of an answer that are sent ahead at a time, where packets could be longer.
const PART_MAX: usize = 16 << 10;

/// The bytes of an answer that have not been sent, and the connection that takes them.
pub struct Answering<'a> {
    bytes: &'a mut Vec<u8>,
    line: &'a mut Line,
    /// Bytes that have been sent ahead.
    gone: usize,
    /// Bytes of a part.
    part: usize,
    /// So many parts are waited for.
    parts: usize,
}

impl<'a> Answering<'a> {
    /// An answer that begins with nothing.
    pub fn new(bytes: &'a mut Vec<u8>, line: &'a mut Line) -> Answering<'a> {
        bytes.clear();
        let part = line.part_max().min(PART_MAX);
        Answering { bytes, line, gone: 0, part, parts: 1 }
    }

    /// Bytes of the answer so far.
    pub fn written(&self) -> usize {
        self.gone + self.bytes.len()
    }

    /// Whether a part of the answer has been sent ahead: what is written then stays written.
    pub fn has_begun(&self) -> bool {
        self.gone > 0
    }

    /// Sends what fills packets, once that is enough to be worth it. The rest of the answer follows in any case: a
    /// connection that takes nothing more now, or is over, is seen when the answer ends.
    pub fn send_ahead(&mut self) {
        if self.bytes.len() < self.parts * self.part {
            return;
        }
        let ready = self.bytes.len() / self.part * self.part;
        self.line.send_ahead(&self.bytes[..ready]);
        self.bytes.drain(..ready);
        self.gone += ready;
        self.parts = (2 * self.parts).min(PACKETS_AHEAD_MAX);
    }
}

impl Deref for Answering<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        self.bytes
    }
}

impl DerefMut for Answering<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        self.bytes
    }
}
