//! Frames: packets in the byte stream (invariant 1).
//!
//! ```text
//! | length u32, little-endian | body: `length` bytes, the first is the packet's tag |
//! ```
//! The length counts the body only and lies in 1 ..= the limit of the direction. A stream that breaks this cannot be
//! resynchronised and is closed.

use super::wire::{WireError, WireResult};

/// The longest packet that a server accepts from a client.
pub const MAX_REQUEST_LEN: usize = 16 << 20;

/// The longest packet that a client accepts from a server.
pub const MAX_REPLY_LEN: usize = 64 << 20;

/// Bytes of a frame before its body.
pub const FRAME_HEADER_LEN: usize = 4;

/// Collects bytes as they arrive and returns whole frames.
pub struct FrameBuffer {
    bytes: Vec<u8>,
    start: usize,
    max_len: usize,
}

impl FrameBuffer {
    /// A buffer for frames whose bodies are at most `max_len` bytes.
    pub fn new(max_len: usize) -> Self {
        Self { bytes: Vec::new(), start: 0, max_len }
    }

    /// Adds bytes from the socket.
    pub fn extend(&mut self, bytes: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > 64 << 10 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The body of the next whole frame, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// [`WireError::LengthOutOfBounds`] for a length of 0 or above the limit, even before the body has arrived.
    pub fn next_frame(&mut self) -> WireResult<Option<&[u8]>> {
        let rest = &self.bytes[self.start..];
        let Some(header) = rest.first_chunk::<FRAME_HEADER_LEN>() else {
            return Ok(None);
        };
        let len = u32::from_le_bytes(*header) as usize;
        if len == 0 || len > self.max_len {
            return Err(WireError::LengthOutOfBounds);
        }
        if rest.len() < FRAME_HEADER_LEN + len {
            return Ok(None);
        }
        let body = self.start + FRAME_HEADER_LEN;
        self.start = body + len;
        Ok(Some(&self.bytes[body..body + len]))
    }
}

/// Appends one frame whose body `write` makes.
pub fn write_frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; FRAME_HEADER_LEN]);
    write(out);
    let len = out.len() - at - FRAME_HEADER_LEN;
    let len = u32::try_from(len).expect("a packet is shorter than 4 GB");
    out[at..at + FRAME_HEADER_LEN].copy_from_slice(&len.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_assembled_from_any_pieces() {
        let mut stream = Vec::new();
        for body in [&b"a"[..], b"second", &[7; 3000]] {
            write_frame(&mut stream, |o| o.extend_from_slice(body));
        }
        for step in [1, 2, 3, 5, 1000, stream.len()] {
            let mut buffer = FrameBuffer::new(4000);
            let mut seen = Vec::new();
            for piece in stream.chunks(step) {
                buffer.extend(piece);
                while let Some(f) = buffer.next_frame().unwrap() {
                    seen.push(f.to_vec());
                }
            }
            assert_eq!(seen, [b"a".to_vec(), b"second".to_vec(), vec![7; 3000]]);
        }
    }

    #[test]
    fn a_length_out_of_bounds_is_refused_at_once() {
        for len in [0u32, 11, u32::MAX] {
            let mut buffer = FrameBuffer::new(10);
            buffer.extend(&len.to_le_bytes());
            assert_eq!(buffer.next_frame(), Err(WireError::LengthOutOfBounds));
        }
    }
}
