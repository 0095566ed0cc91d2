//! The answer to a call: its first packets may be sent while the rest is produced (invariant 6).

use super::line::Line;
use std::ops::{Deref, DerefMut};

/// Bytes of the first part that is sent ahead; the size doubles with each part up to the second number. Each part wakes
/// the client, which takes as long as producing some hundred short rows.
const AHEAD_LEAST: usize = 32 << 10;
const AHEAD_MOST: usize = 256 << 10;

/// The unsent bytes of an answer, and the connection that takes them.
pub struct Answering<'a> {
    bytes: &'a mut Vec<u8>,
    line: &'a mut Line,
    /// Bytes that have been sent ahead.
    gone: usize,
    /// Bytes of the answer in a full packet.
    packet: usize,
    /// The size at which the next part is sent.
    least: usize,
}

impl<'a> Answering<'a> {
    /// An empty answer.
    pub fn new(bytes: &'a mut Vec<u8>, line: &'a mut Line) -> Answering<'a> {
        bytes.clear();
        let packet = line.part_max();
        Answering { bytes, line, gone: 0, packet, least: AHEAD_LEAST }
    }

    /// Bytes of the answer so far.
    pub fn written(&self) -> usize {
        self.gone + self.bytes.len()
    }

    /// Whether a part of the answer has been sent ahead and can no longer be changed.
    pub fn has_begun(&self) -> bool {
        self.gone > 0
    }

    /// Sends full packets, or one that could be longer, once the part is large enough. The rest of the answer follows
    /// in any case: a connection that is full or over is handled at the end of the answer.
    pub fn send_ahead(&mut self) {
        if self.bytes.len() < self.least {
            return;
        }
        let packets = self.bytes.len() / self.packet;
        let ready = if packets == 0 { self.bytes.len() } else { packets * self.packet };
        self.line.send_ahead(&self.bytes[..ready]);
        self.bytes.drain(..ready);
        self.gone += ready;
        self.least = (2 * self.least).min(AHEAD_MOST);
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
