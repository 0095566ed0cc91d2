//! The answer to a call: its first packets may be on their way while the rest of it is made.

use super::line::Line;
use std::ops::{Deref, DerefMut};

/// Bytes that are worth being sent ahead; then twice as many each time, up to the second. The client is woken for each
/// part, which takes as long as some hundred short rows do.
const AHEAD_LEAST: usize = 32 << 10;
const AHEAD_MOST: usize = 256 << 10;

/// The bytes of an answer that have not been sent, and the connection that takes them.
pub struct Answering<'a> {
    bytes: &'a mut Vec<u8>,
    line: &'a mut Line,
    /// Bytes that have been sent ahead.
    gone: usize,
    /// Bytes of the answer in a full packet.
    packet: usize,
    /// So many bytes are waited for.
    least: usize,
}

impl<'a> Answering<'a> {
    /// An answer that begins with nothing.
    pub fn new(bytes: &'a mut Vec<u8>, line: &'a mut Line) -> Answering<'a> {
        bytes.clear();
        let packet = line.part_max();
        Answering { bytes, line, gone: 0, packet, least: AHEAD_LEAST }
    }

    /// Bytes of the answer so far.
    pub fn written(&self) -> usize {
        self.gone + self.bytes.len()
    }

    /// Whether a part of the answer has been sent ahead: what is written then stays written.
    pub fn has_begun(&self) -> bool {
        self.gone > 0
    }

    /// Sends what fills packets, or one that could be longer, once that is enough to be worth it. The rest of the
    /// answer follows in any case: a connection that takes nothing more now, or is over, is seen when the answer ends.
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
